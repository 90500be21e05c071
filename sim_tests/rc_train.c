/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of many packets that travel as trains, and what cuts them. */
#include <errno.h>
#include <sys/mman.h>

#include "emu/nicmodel/roce_wire.h"
#include "sim_tests/harness.h"

enum { MTU = 1024, BIG = 300 * MTU + 77 };

static struct hx_pair open_pair(struct hx *h, const struct hx_qp_attr *attr)
{
	return hx_pair_of(h, attr, attr, 4 << 20);
}

static uint16_t write_all(struct hx_pair *p, uint32_t len, uint8_t opcode)
{
	uint16_t idx;

	idx = hx_post(p->a, &(struct hx_wr){.opcode = opcode,
					    .flags = HX_SIGNALED,
					    .imm = 0x11223344,
					    .raddr = p->bmem,
					    .rkey = p->bkey,
					    .nsge = 1,
					    .sge = {{p->amem, len, p->akey}}});
	hx_ring(p->a);
	return idx;
}

static void expect_write(struct hx *h, struct hx_pair *p, uint32_t len, uint32_t seed)
{
	uint16_t idx;

	hx_fill(p->amem, len, seed);
	memset(p->bmem, 0, len + 1);
	idx = write_all(p, len, PRM_WQE_RDMA_WRITE);
	HX_OK(p->a->scq, idx);
	cr_assert(hx_is(p->bmem, len, seed));
	cr_assert_eq(p->bmem[len], 0);
	(void)h;
}

static void writes(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);

	for (uint32_t len = MTU - 1; len < 70 * MTU; len += MTU / 2 + 1)
		expect_write(h, &p, len, len);
	expect_write(h, &p, BIG, 5);
}

static void reads(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);

	for (uint32_t len = MTU - 1; len < BIG; len += 13 * MTU + 1) {
		uint16_t idx;

		hx_fill(p.bmem, len, len);
		idx = hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_READ,
						   .flags = HX_SIGNALED,
						   .raddr = p.bmem,
						   .rkey = p.bkey,
						   .nsge = 2,
						   .sge = {{p.amem, 700, p.akey},
							   {p.amem + 700, len - 700, p.akey}}});
		hx_ring(p.a);
		HX_OK(p.a->scq, idx);
		cr_assert(hx_is(p.amem, len, len));
	}
}

static void sends(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	uint8_t cqe[64];

	for (uint32_t len = MTU + 1; len < BIG; len += 17 * MTU + 3) {
		uint16_t ridx, idx;

		hx_fill(p.amem, len, len);
		ridx = hx_recv(p.b,
			       (struct hx_sge[]){{p.bmem, 1500, p.bkey},
						 {p.bmem + 1500, 1, p.bkey},
						 {p.bmem + 1501, BIG, p.bkey}},
			       3);
		idx = write_all(&p, len, PRM_WQE_SEND_IMM);
		HX_OK(p.a->scq, idx);
		cr_assert(hx_wait(p.b->rcq, cqe, 100 * SIM_MS));
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND_IMM);
		cr_assert_eq(cqe_idx(cqe), ridx);
		cr_assert_eq(cqe_bytes(cqe), len);
		cr_assert_eq(cqe_imm(cqe), 0x11223344);
		cr_assert(hx_is(p.bmem, len, len));
	}
}

/* By reference, cut for the wire, over copied memory, and with losses. */
static const struct hx_config ways[] = {
	{.trains = true, .seed = 1},
	{.trains = true, .seed = 2, .serialise = true, .shuffle = true},
	{.trains = true, .seed = 3, .copied = true},
	{.trains = true, .seed = 4, .copied = true, .serialise = true, .shuffle = true},
	{.trains = true, .seed = 5, .serialise = true, .drop_permille = 5, .dup_permille = 10},
	{.trains = true,
	 .seed = 6,
	 .copied = true,
	 .serialise = true,
	 .drop_permille = 3,
	 .reorder_permille = 20},
};

static void each_way(hx_body body)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		hx_with(&ways[i], body);
}

Test(rc_train, writes_of_all_lengths_arrive_however_their_packets_travel)
{
	each_way(writes);
}

Test(rc_train, reads_of_all_lengths_arrive_however_their_packets_travel)
{
	each_way(reads);
}

Test(rc_train, sends_fill_their_receive_segments_however_their_packets_travel)
{
	each_way(sends);
}

/* ---- what is seen ---- */

struct seen {
	uint32_t packets, trains, bytes;
};

static void count(void *ctx, const struct nm_event *ev)
{
	struct seen *s = ctx;

	s->packets++;
	s->trains += ev->packet->segs > 1;
	s->bytes += ev->packet->payload_len;
}

static void observed(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	struct seen rx = {0};
	struct nm_observer o = {.ctx = &rx, .mask = 1u << NM_EV_RX, .event = count};

	nm_nic_add_observer(h->nic[1].nic, &o);
	expect_write(h, &p, 100 * MTU, 3);
	nm_nic_remove_observer(h->nic[1].nic, &o);
	cr_assert_eq(rx.packets, 100);
	cr_assert_eq(rx.trains, 0);
	cr_assert_eq(rx.bytes, 100 * MTU);
	cr_assert_eq(nm_nic_counters(h->nic[0].nic)->tx_packets, 100);
}

Test(rc_train, an_observer_of_the_receiver_sees_each_packet_though_the_sender_makes_trains)
{
	hx_with(&ways[0], observed);
}

static void counters(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	const struct nm_counters *a, *b = nm_nic_counters(h->nic[1].nic);

	a = nm_nic_counters(h->nic[0].nic);
	expect_write(h, &p, 100 * MTU, 3);
	cr_assert_eq(a->tx_packets, 100);
	cr_assert_eq(b->rx_packets, 100);
	cr_assert_eq(a->tx_bytes, b->rx_bytes);
	cr_assert_eq(a->tx_bytes, 100 * (MTU + 12) + 16, "100 BTHs and one RETH");
}

Test(rc_train, counters_count_packets_and_bytes_as_the_wire_would)
{
	hx_with(&ways[0], counters);
	hx_with(&ways[1], counters);
}

/* ---- errors ---- */

static void short_receive(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	uint16_t ridx = hx_recv(p.b, &(struct hx_sge){p.bmem, 20 * MTU, p.bkey}, 1);
	uint16_t idx = write_all(&p, 50 * MTU, PRM_WQE_SEND);

	HX_ERR(p.a->scq, PRM_SYND_REMOTE_INVAL_REQ, idx);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_LENGTH, ridx);
}

Test(rc_train, a_message_longer_than_its_receive_buffer_is_a_length_error)
{
	hx_with(&ways[0], short_receive);
	hx_with(&ways[2], short_receive);
}

static void no_receive(struct hx *h)
{
	struct hx_qp_attr attr = {.rnr_retry = 7};
	struct hx_pair p = open_pair(h, &attr);
	uint16_t idx, ridx;

	hx_fill(p.amem, 50 * MTU, 9);
	idx = write_all(&p, 50 * MTU, PRM_WQE_SEND);
	hx_run(h, 200 * SIM_US);
	ridx = hx_recv(p.b, &(struct hx_sge){p.bmem, 50 * MTU, p.bkey}, 1);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, ridx);
	HX_OK(p.a->scq, idx);
	cr_assert(hx_is(p.bmem, 50 * MTU, 9));
}

Test(rc_train, a_message_that_meets_no_receive_wqe_comes_again)
{
	each_way(no_receive);
}

static void gone(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	uint8_t *mem =
		mmap(NULL, 64 * MTU, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t key = hx_mkey(h, 0, h->nic[0].pd, mem, 64 * MTU, HX_ALL_RIGHTS);
	uint16_t idx;

	cr_assert_eq(munmap(mem + 16 * MTU, 4 * MTU), 0, "a page in the middle");
	idx = hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
					   .flags = HX_SIGNALED,
					   .raddr = p.bmem,
					   .rkey = p.bkey,
					   .nsge = 1,
					   .sge = {{mem, 64 * MTU, key}}});
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, idx);
	munmap(mem, 64 * MTU);
}

Test(rc_train, memory_that_is_gone_in_the_middle_is_the_senders_error)
{
	hx_with(&ways[0], gone);
	hx_with(&ways[1], gone);
}

static int nothing_there(const struct nm_packet *pkt, uint32_t off, void *to, uint32_t len)
{
	(void)pkt;
	(void)off;
	(void)to;
	(void)len;
	return -ENODATA;
}

static void pulled(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	struct nm_packet pkt = {
		.route = {.slid = sim_lid(h->sim, 0), .dlid = sim_lid(h->sim, 1)},
		.hdr_len = 28,
		.segs = 4,
		.seg_len = MTU,
		.payload_len = 4 * MTU,
		.niov = 1,
		.payload = {{NULL, 4 * MTU}},
		.pull = nothing_there,
	};

	sim_gid(h->sim, 0, pkt.route.sgid);
	sim_gid(h->sim, 1, pkt.route.dgid);
	pkt.hdr[0] = 0x0a;
	pkt.hdr[2] = pkt.hdr[3] = 0xff;
	prm_store32(pkt.hdr + 4, p.b->qpn);
	prm_store32(pkt.hdr + 8, 0x80000000u);
	prm_store64(pkt.hdr + 12, (uintptr_t)p.bmem);
	prm_store32(pkt.hdr + 20, p.bkey);
	prm_store32(pkt.hdr + 24, 4 * MTU);
	nm_nic_receive(h->nic[1].nic, &pkt);
	hx_run(h, SIM_MS);
	cr_assert(h->config.copied || hx_diagnosed(h, "is gone: taken as lost"));
	expect_write(h, &p, 10 * MTU, 4);
}

Test(rc_train, payload_that_cannot_be_pulled_is_a_lost_packet_and_no_error)
{
	hx_with(&ways[0], pulled);
	hx_with(&ways[2], pulled);
}

static void unasked(struct hx *h)
{
	struct hx_pair p = open_pair(h, NULL);
	static uint8_t bytes[4 * MTU];
	struct nm_packet pkt = {
		.route = {.slid = sim_lid(h->sim, 0), .dlid = sim_lid(h->sim, 1)},
		.hdr = {0x10, 0x40, 0xff, 0xff},
		.hdr_len = 16,
		.segs = 4,
		.seg_len = MTU,
		.payload_len = 4 * MTU,
		.niov = 1,
		.payload = {{bytes, 4 * MTU}},
	};

	sim_gid(h->sim, 0, pkt.route.sgid);
	sim_gid(h->sim, 1, pkt.route.dgid);
	prm_store32(pkt.hdr + 4, p.b->qpn);
	nm_nic_receive(h->nic[1].nic, &pkt);
	hx_run(h, SIM_MS);
	cr_assert_eq(nm_nic_counters(h->nic[1].nic)->rx_packets, 4);
	expect_write(h, &p, 10 * MTU, 4);
}

Test(rc_train, responses_that_nobody_asked_for_are_dropped_one_by_one)
{
	hx_with(&ways[0], unasked);
}

/* ---- how a train is cut ---- */

static const struct {
	uint8_t whole, first, middle, last;
	uint8_t whole_ext, first_ext, last_ext; /* bytes behind the BTH */
} cut[] = {
	{0x04, 0x00, 0x01, 0x02, 0, 0, 0},   {0x05, 0x00, 0x01, 0x03, 4, 0, 4},
	{0x00, 0x00, 0x01, 0x01, 0, 0, 0},   {0x02, 0x01, 0x01, 0x02, 0, 0, 0},
	{0x03, 0x01, 0x01, 0x03, 4, 0, 4},   {0x0a, 0x06, 0x07, 0x08, 16, 16, 0},
	{0x0b, 0x06, 0x07, 0x09, 20, 16, 4}, {0x06, 0x06, 0x07, 0x07, 16, 16, 0},
	{0x09, 0x07, 0x07, 0x09, 4, 0, 4},   {0x10, 0x0d, 0x0e, 0x0f, 4, 4, 4},
	{0x0d, 0x0d, 0x0e, 0x0e, 4, 4, 0},   {0x0f, 0x0e, 0x0e, 0x0f, 4, 0, 4},
	{0x2b, 0x26, 0x27, 0x29, 20, 16, 4},
};

Test(rc_train, each_kind_of_message_is_cut_into_the_packets_of_the_standard)
{
	static uint8_t bytes[4 * MTU];

	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		struct nm_packet train = {.hdr_len = (uint8_t)(12 + cut[i].whole_ext),
					  .segs = 3,
					  .seg_len = MTU,
					  .payload_len = 2 * MTU + 5,
					  .niov = 2,
					  .payload = {{bytes, 1500}, {bytes + 2000, 553}}};
		struct nm_packet pkt;

		memset(train.hdr, 0xe0, sizeof(train.hdr));
		for (uint8_t b = 0; b < cut[i].whole_ext; b++)
			train.hdr[12 + b] = b;
		train.hdr[0] = cut[i].whole;
		prm_store32(train.hdr + 8, 0x80ffffff);
		cr_assert(nm_train_ok(&train), "0x%02x", cut[i].whole);
		cr_assert(nm_train_segment(&train, 0, &pkt));
		cr_assert_eq(pkt.hdr[0], cut[i].first);
		cr_assert_eq(pkt.hdr_len, 12 + cut[i].first_ext);
		cr_assert_arr_eq(pkt.hdr + 12, train.hdr + 12, cut[i].first_ext);
		cr_assert_eq(prm_load32(pkt.hdr + 8), 0x00ffffff);
		cr_assert(nm_train_segment(&train, 1, &pkt));
		cr_assert_eq(pkt.hdr[0], cut[i].middle);
		cr_assert_eq(pkt.hdr_len, 12);
		cr_assert_eq(prm_load32(pkt.hdr + 8), 0, "PSNs wrap");
		cr_assert_eq(pkt.niov, 2);
		cr_assert_eq(pkt.payload[0].iov_len, 476);
		cr_assert_eq((uint8_t *)pkt.payload[1].iov_base, bytes + 2000);
		cr_assert(nm_train_segment(&train, 2, &pkt));
		cr_assert_eq(pkt.hdr[0], cut[i].last);
		cr_assert_eq(pkt.hdr_len, 12 + cut[i].last_ext);
		cr_assert_arr_eq(pkt.hdr + 12, train.hdr + 12 + cut[i].whole_ext - cut[i].last_ext,
				 cut[i].last_ext);
		cr_assert_eq(prm_load32(pkt.hdr + 8), 0x80000001);
		cr_assert_eq(pkt.payload_len, 5);
		cr_assert_eq((pkt.hdr[1] >> 4) & 3, 3);
		cr_assert_not(nm_train_segment(&train, 3, &pkt));
		train.payload_len = 3 * MTU + 1;
		cr_assert_not(nm_train_ok(&train));
		train.payload_len = 2 * MTU;
		cr_assert_not(nm_train_ok(&train));
	}
}
