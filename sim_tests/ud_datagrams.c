/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams: addresses, keys, what lies before the payload, what is dropped and what is an error.
 */
#include "sim_tests/harness.h"
#include "sim_tests/harness_srq.h"

#include "emu/nicmodel/roce.h"
#include "emu/nicmodel/roce_wire.h"

enum { GRH = 40, MTU = 1024, QKEY = 0x11111111 };

struct peers {
	struct hx_qp *a, *b;
	uint8_t *amem, *bmem;
	uint32_t akey, bkey;
};

static struct peers peers_on(struct hx *h, uint32_t nic_b)
{
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UD, .qkey = QKEY};
	struct peers p = {.a = hx_qp(h, 0, &attr), .b = hx_qp(h, nic_b, &attr)};

	p.amem = hx_alloc(h, 1 << 16);
	p.bmem = hx_alloc(h, 1 << 16);
	p.akey = hx_mkey(h, 0, p.a->attr.pd, p.amem, 1 << 16, HX_ALL_RIGHTS);
	p.bkey = hx_mkey(h, nic_b, p.b->attr.pd, p.bmem, 1 << 16, HX_ALL_RIGHTS);
	hx_to_ready(p.a);
	hx_to_ready(p.b);
	return p;
}

static uint16_t post(struct peers *p, const struct hx_av *av, uint32_t len)
{
	struct hx_wr wr = {.opcode = PRM_WQE_SEND,
			   .flags = HX_SIGNALED,
			   .av = av,
			   .nsge = len > 0,
			   .sge = {{p->amem, len, p->akey}}};
	uint16_t idx = hx_post(p->a, &wr);

	hx_ring(p->a);
	return idx;
}

static uint16_t recv_len(struct peers *p, uint32_t len)
{
	return hx_recv(p->b, &(struct hx_sge){p->bmem, len, p->bkey}, 1);
}

HX_TEST(ud_datagrams, a_datagram_arrives_behind_forty_bytes)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint8_t cqe[64];

	for (uint32_t len = 0; len <= 4096; len += 1024) {
		uint16_t rq = recv_len(&p, GRH + 4096);

		hx_fill(p.amem, len, len);
		HX_OK(p.a->scq, post(&p, &av, len));
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND);
		cr_assert_eq(cqe_idx(cqe), rq);
		cr_assert_eq(cqe_bytes(cqe), GRH + len, "the GRH counts");
		cr_assert_eq(cqe_qpn(cqe), p.b->qpn);
		cr_assert_eq(prm_load32(cqe + 24) & 0xffffff, p.a->qpn, "source QPN");
		cr_assert_eq(cqe[24] >> 4, 1, "GRH in the buffer");
		cr_assert_eq(cqe[24] & 0xf, 8 | 2, "UDP over IPv4");
		cr_assert(hx_is(p.bmem + GRH, len, len));
	}
	cr_assert_eq(h->nic[1].packets[ROCE_ACK], 0);
}

HX_TEST(ud_datagrams, the_forty_bytes_are_zeros_and_an_ipv4_header)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	const uint8_t *ip = p.bmem + 20;
	uint8_t gid[16], cqe[64];
	uint32_t sum = 0;

	av.tclass = 0x62;
	av.hop_limit = 17;
	memset(p.bmem, 0xcc, GRH);
	recv_len(&p, GRH + 256);
	post(&p, &av, 99);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	for (uint32_t i = 0; i < 20; i++)
		cr_assert_eq(p.bmem[i], 0);
	cr_assert_eq(ip[0], 0x45);
	cr_assert_eq(ip[1], 0x62, "TOS");
	cr_assert_eq(ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + 100 + 4, "IP to ICRC, padded");
	cr_assert_eq(ip[8], 17, "TTL");
	cr_assert_eq(ip[9], 17, "UDP");
	for (uint32_t i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	cr_assert_eq(((sum & 0xffff) + (sum >> 16)) & 0xffff, 0xffff, "checksum");
	sim_gid(h->sim, 0, gid);
	cr_assert_arr_eq(ip + 12, gid + 12, 4, "source");
	sim_gid(h->sim, 1, gid);
	cr_assert_arr_eq(ip + 16, gid + 12, 4, "destination");
}

HX_TEST(ud_datagrams, immediate_inline_and_solicited_travel)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	struct hx_wr wr = {.opcode = PRM_WQE_SEND_IMM,
			   .flags = HX_SIGNALED | HX_SOLICITED,
			   .imm = 0xcafe,
			   .av = &av,
			   .inline_data = "forty-two bytes that lie in the WQE itself",
			   .inline_len = 43};
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 100; i++) { /* at every place of the ring, so that some wrap */
		recv_len(&p, GRH + 64);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND_IMM);
		cr_assert_eq(cqe_imm(cqe), 0xcafe);
		cr_assert_eq(cqe[63] & 2, 2, "solicited");
		cr_assert_str_eq((char *)p.bmem + GRH, wr.inline_data);
		memset(p.bmem, 0, 128);
	}
}

HX_TEST(ud_datagrams, a_wrong_q_key_is_dropped)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint8_t cqe[64];

	recv_len(&p, GRH + 256);
	av.qkey ^= 1;
	HX_OK(p.a->scq, post(&p, &av, 10));
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(p.b->rcq, cqe));
	cr_assert(hx_diagnosed(h, "Q_Key"));
	cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
}

/* IBTA 10.2.5: with its highest bit set, the QP's own Q_Key goes instead. */
HX_TEST(ud_datagrams, a_q_key_with_its_high_bit_means_the_qps_own)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint8_t cqe[64];

	recv_len(&p, GRH + 256);
	av.qkey = 0x80010000;
	HX_OK(p.a->scq, post(&p, &av, 10));
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_bytes(cqe), GRH + 10);
}

HX_TEST(ud_datagrams, longer_than_the_mtu_is_a_local_length_error)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);

	recv_len(&p, 1 << 14);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_LENGTH, post(&p, &av, 4097));
	cr_assert(hx_quiet(h));
	cr_assert_eq(h->nic[0].packets[ROCE_BASE_UD + ROCE_SEND_ONLY], 0);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_SQER);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_SQERR2RTS_QP), 0, "%s", h->why);
	HX_OK(p.a->scq, post(&p, &av, 4096));
}

HX_TEST(ud_datagrams, a_receive_wqe_that_is_too_small_completes_in_error)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint16_t rq = recv_len(&p, GRH + 99);

	HX_OK(p.a->scq, post(&p, &av, 100));
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_LENGTH, rq);
	cr_assert_eq(hx_query_state(p.b), PRM_QP_ERR);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_RTS);
}

HX_TEST(ud_datagrams, without_a_receive_wqe_a_datagram_is_dropped_and_counted)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint8_t cqe[64];

	HX_OK(p.a->scq, post(&p, &av, 100));
	cr_assert(hx_quiet(h));
	cr_assert_eq(nm_nic_counters(h->nic[1].nic)->out_of_buffer, 1);
	recv_len(&p, GRH + 100);
	post(&p, &av, 7);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_bytes(cqe), GRH + 7);
}

HX_TEST(ud_datagrams, a_receive_wqe_with_a_bad_key_completes_in_error)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint16_t rq = hx_recv(p.b, &(struct hx_sge){p.bmem, 4096, p.bkey ^ 1}, 1);

	post(&p, &av, 100);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_PROT, rq);
}

/* The GRH and the payload over segments that cut both. */
HX_TEST(ud_datagrams, scatter_and_gather_lists_cut_anywhere)
{
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UD, .qkey = QKEY, .log_rq_stride = 9};
	struct peers p = peers_on(h, 1);
	struct hx_qp *b = hx_qp(h, 1, &attr);
	struct hx_av av = hx_av(b);
	struct hx_wr wr = {.opcode = PRM_WQE_SEND, .flags = HX_SIGNALED, .av = &av, .nsge = 40};
	struct hx_sge to[20];
	uint8_t cqe[64];

	hx_to_ready(b);
	hx_fill(p.amem, 40 * 16, 5);
	for (uint32_t i = 0; i < 40; i++)
		wr.sge[i] = (struct hx_sge){p.amem + (size_t)i * 16, 16, p.akey};
	for (uint32_t i = 0; i < 20; i++)
		to[i] = (struct hx_sge){p.bmem + (size_t)i * 100, 35, p.bkey};
	hx_recv(b, to, 20);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, p.a->last_idx);
	cr_assert(hx_wait(b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_bytes(cqe), GRH + 640);
	for (uint32_t i = 0; i < 640; i++) {
		uint32_t at = GRH + i;

		cr_assert_eq(p.bmem[at / 35 * 100 + at % 35], p.amem[i], "byte %u", i);
	}
}

HX_TEST(ud_datagrams, reach_qps_of_the_same_nic_and_itself)
{
	struct peers p = peers_on(h, 0);
	struct hx_av to_b = hx_av(p.b), to_a = hx_av(p.a);
	uint8_t cqe[64];

	recv_len(&p, GRH + 8);
	hx_recv(p.a, &(struct hx_sge){p.amem, GRH + 8, p.akey}, 1);
	post(&p, &to_b, 8);
	post(&p, &to_a, 8);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert(hx_wait(p.a->rcq, cqe, SIM_S));
	cr_assert_eq(prm_load32(cqe + 24) & 0xffffff, p.a->qpn);
}

/* Nobody is there, or nothing that an address can be: the sender's completion is good, or says so.
 */
HX_TEST(ud_datagrams, garbage_addresses_reach_nobody_and_harm_nothing)
{
	for (uint32_t i = 0; i < 40; i++) {
		struct peers p = peers_on(h, 1);
		struct hx_av av = hx_av(p.b);
		uint8_t cqe[64];

		recv_len(&p, GRH + 64);
		for (uint32_t n = 0; n < 16; n++)
			av.rgid[n] = (uint8_t)((i + 3) * 0x9d + n * 0x35);
		av.rgid[0] = i == 0 ? 0xff : av.rgid[0]; /* a group that nobody joined */
		av.dqpn = i % 2 ? 0xffffff : av.dqpn;
		av.rlid = (uint16_t)(i * 0x1357);
		av.sl = (uint8_t)(i & 0xf);
		post(&p, &av, 64);
		cr_assert(hx_wait(p.a->scq, cqe, SIM_S));
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_REQ, "address %u", i);
		cr_assert(hx_quiet(h));
		cr_assert_not(hx_poll(p.b->rcq, cqe));
	}
}

HX_TEST(ud_datagrams, address_vectors_that_cannot_be_are_errors_of_their_wqe)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct peers p = peers_on(h, 1);
		struct hx_av av = hx_av(p.b);
		struct hx_wr wr = {.opcode = PRM_WQE_SEND, .flags = HX_SIGNALED, .av = &av};

		switch (i) {
		case 0: /* too short for Ethernet */
			av.compact = true;
			break;
		case 1: /* a source that the port does not have */
			av.sgid_index = 0xfd;
			break;
		case 2: /* says 48 bytes, has 16 */
			wr.ds = 2;
			break;
		default: /* not even a first part */
			wr.ds = 1;
			break;
		}
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_LOCAL_QP_OP, 0);
	}
}

HX_TEST(ud_datagrams, rdma_and_invalidation_are_no_operations_of_this_service)
{
	static const uint8_t opcodes[] = {PRM_WQE_RDMA_WRITE, PRM_WQE_RDMA_READ, PRM_WQE_ATOMIC_FA,
					  PRM_WQE_SEND_INVAL};

	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		struct peers p = peers_on(h, 1);
		struct hx_wr wr = {.opcode = opcodes[i], .flags = HX_SIGNALED, .ds = 4};

		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_LOCAL_QP_OP, 0);
	}
}

HX_TEST(ud_datagrams, other_services_packets_are_not_for_a_datagram_qp)
{
	struct peers p = peers_on(h, 1);
	struct nm_packet pkt = {.hdr_len = ROCE_BTH_LEN};
	uint8_t cqe[64];

	recv_len(&p, GRH + 64);
	sim_gid(h->sim, 0, pkt.route.sgid);
	sim_gid(h->sim, 1, pkt.route.dgid);
	for (uint32_t base = ROCE_BASE_RC; base <= ROCE_BASE_UC; base += ROCE_BASE_UC) {
		roce_bth_put(pkt.hdr, (uint8_t)(base + ROCE_SEND_ONLY), false, 0, p.b->qpn, false,
			     0);
		nm_nic_receive(h->nic[1].nic, &pkt);
	}
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(p.b->rcq, cqe));
	cr_assert(hx_diagnosed(h, "of service UD: dropped"));
}

HX_TEST(ud_datagrams, a_shared_receive_queue_serves_them_too)
{
	struct hx_srq *srq = hx_srq(h, 1, NULL);
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UD, .qkey = QKEY, .srqn = srq->number};
	struct peers p = peers_on(h, 1);
	struct hx_qp *qps[2] = {hx_qp(h, 1, &attr), hx_qp(h, 1, &attr)};
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 4; i++)
		hx_srq_recv(srq, &(struct hx_sge){p.bmem + (size_t)i * 256, 256, p.bkey}, 1);
	hx_to_ready(qps[0]);
	hx_to_ready(qps[1]);
	for (uint32_t i = 0; i < 4; i++) {
		struct hx_av av = hx_av(qps[i & 1]);

		hx_fill(p.amem, 100, i);
		HX_OK(p.a->scq, post(&p, &av, 100));
		cr_assert(hx_wait(qps[i & 1]->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_bytes(cqe), GRH + 100);
		cr_assert(hx_is(p.bmem + (size_t)cqe_idx(cqe) * 256 + GRH, 100, i));
	}
}

/* ---- InfiniBand ---- */

static void by_lid(struct hx *h)
{
	struct peers p = peers_on(h, 1);
	struct hx_av av = hx_av(p.b);
	uint8_t cqe[64], gid[16];

	for (uint32_t i = 0; i < 3; i++) {
		bool grh = i == 2;

		av.compact = i == 0;
		av.grh = grh;
		av.sl = 5;
		av.tclass = 0x28;
		if (grh)
			sim_gid(h->sim, 1, av.rgid);
		memset(p.bmem, 0xcc, GRH);
		recv_len(&p, GRH + 64);
		hx_fill(p.amem, 64, i);
		HX_OK(p.a->scq, post(&p, &av, 64));
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S), "case %u", i);
		cr_assert(hx_is(p.bmem + GRH, 64, i));
		cr_assert_eq(cqe_bytes(cqe), GRH + 64);
		cr_assert_eq(cqe[22] << 8 | cqe[23], sim_lid(h->sim, 0), "source LID");
		cr_assert_eq(cqe[24], (grh ? 0x10 : 0) | 5, "GRH and SL, case %u", i);
		if (!grh)
			continue;
		cr_assert_eq(prm_load32(p.bmem) >> 20, 0x628, "version, class");
		/* Frames carry it as RoCEv2 over IPv4, which has no flow label. */
		cr_assert_eq(prm_load32(p.bmem) & 0xfffff, h->config.serialise ? 0 : 0x12345);
		cr_assert_eq(p.bmem[4] << 8 | p.bmem[5], 12 + 8 + 64 + 4, "BTH to ICRC");
		cr_assert_eq(p.bmem[6], 0x1b, "next header");
		sim_gid(h->sim, 0, gid);
		cr_assert_arr_eq(p.bmem + 8, gid, 16);
		cr_assert_arr_eq(p.bmem + 24, av.rgid, 16);
	}
}
Test(ud_datagrams, on_infiniband_by_lid_with_and_without_a_grh)
{
	struct hx_config config = {.seed = 9, .infiniband = true};

	hx_with(&config, by_lid);
	config.serialise = true;
	hx_with(&config, by_lid);
	config.copied = true;
	hx_with(&config, by_lid);
}

/* ---- multicast ---- */

static const uint8_t group_v4[16] = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3};
static const uint8_t group_v6[16] = {0xff, 0x12, 0xa0, 0x1b, 0xff, [15] = 7};

static void expect_at(struct hx_qp *qp, struct peers *p, const uint8_t *mem, bool expected)
{
	uint8_t cqe[64];

	(void)p;
	cr_assert_eq(hx_poll(qp->rcq, cqe), expected);
	if (expected)
		cr_assert(hx_is(mem + GRH, 100, 4));
}

static void multicast_to(struct hx *h, const uint8_t group[16])
{
	const uint64_t sent = nm_nic_counters(h->nic[0].nic)->tx_multicast_packets + 2;
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UD, .qkey = QKEY};
	struct peers p = peers_on(h, 1);
	struct hx_qp *b2 = hx_qp(h, 1, &attr);
	struct hx_av av = hx_av(p.b);

	hx_to_ready(b2);
	memcpy(av.rgid, group, 16);
	av.grh = true;
	av.dqpn = 0xffffff;
	av.rlid = h->config.infiniband ? 0xc001 : av.rlid;
	hx_fill(p.amem, 100, 4);
	cr_assert_eq(hx_mcg(p.b, PRM_CMD_ATTACH_TO_MCG, group), 0, "%s", h->why);
	cr_assert_eq(hx_mcg(b2, PRM_CMD_ATTACH_TO_MCG, group), 0);
	cr_assert_eq(hx_mcg(p.a, PRM_CMD_ATTACH_TO_MCG, group), 0);
	cr_assert_eq(hx_mcg(p.a, PRM_CMD_ATTACH_TO_MCG, group), 0, "twice is once");
	for (uint32_t round = 0; round < 2; round++) {
		memset(p.bmem, 0, 1024);
		hx_recv(p.a, &(struct hx_sge){p.amem + 4096, 200, p.akey}, 1);
		recv_len(&p, 200);
		hx_recv(b2, &(struct hx_sge){p.bmem + 512, 200, p.bkey}, 1);
		HX_OK(p.a->scq, post(&p, &av, 100));
		cr_assert(hx_quiet(h));
		expect_at(p.a, &p, p.amem + 4096, true);
		expect_at(p.b, &p, p.bmem, round == 0);
		expect_at(b2, &p, p.bmem + 512, true);
		if (round == 0)
			cr_assert_eq(hx_mcg(p.b, PRM_CMD_DETACH_FROM_MCG, group), 0);
	}
	for (int i = 0; i < 2; i++) {
		const struct nm_counters *n = nm_nic_counters(h->nic[i].nic);

		cr_assert_eq(n->tx_multicast_packets, i == 0 ? sent : 0);
		cr_assert_eq(n->rx_multicast_packets, sent, "NIC %d", i);
		cr_assert_leq(n->rx_multicast_packets, n->rx_packets);
	}
	cr_assert_neq(hx_mcg(p.b, PRM_CMD_DETACH_FROM_MCG, group), 0, "it is not attached");
	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, b2->qpn), 0);
	post(&p, &av, 100);
	cr_assert(hx_quiet(h));
}
HX_TEST(ud_datagrams, a_multicast_reaches_who_is_attached_and_the_sender_too)
{
	multicast_to(h, group_v4);
	multicast_to(h, group_v6);
}
static void infiniband_multicast(struct hx *h)
{
	multicast_to(h, group_v6);
}
Test(ud_datagrams, a_multicast_on_infiniband)
{
	hx_with(&(struct hx_config){.seed = 3, .infiniband = true, .serialise = true},
		infiniband_multicast);
}

HX_TEST(ud_datagrams, a_qp_that_blocks_its_own_multicasts_hears_those_of_others)
{
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UD, .qkey = QKEY, .block_lb_mc = true};
	struct peers p = peers_on(h, 0);
	struct hx_qp *deaf = hx_qp(h, 0, &attr);
	struct hx_av av = hx_av(p.b);
	uint8_t cqe[64];

	hx_to_ready(deaf);
	memcpy(av.rgid, group_v6, 16);
	av.dqpn = 0xffffff;
	cr_assert_eq(hx_mcg(deaf, PRM_CMD_ATTACH_TO_MCG, group_v6), 0);
	hx_recv(deaf, &(struct hx_sge){p.bmem, 200, p.bkey}, 1);
	p.a = deaf;
	HX_OK(deaf->scq, post(&p, &av, 10));
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(deaf->rcq, cqe));
	p.a = p.b;
	HX_OK(p.b->scq, post(&p, &av, 11));
	cr_assert(hx_wait(deaf->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_bytes(cqe), GRH + 11);
}

HX_TEST(ud_datagrams, only_datagram_qps_join_and_only_groups)
{
	struct peers p = peers_on(h, 1);
	struct hx_qp *rc = hx_qp(h, 0, NULL);
	uint8_t gid[16];

	sim_gid(h->sim, 0, gid);
	cr_assert_eq(hx_mcg(p.a, PRM_CMD_ATTACH_TO_MCG, gid), PRM_STATUS_BAD_PARAM);
	cr_assert_eq(hx_mcg(rc, PRM_CMD_ATTACH_TO_MCG, group_v6), PRM_STATUS_BAD_PARAM);
	for (uint32_t i = 0; i < 4096; i++) {
		memcpy(gid, group_v6, 16);
		gid[14] = (uint8_t)(i >> 8);
		gid[15] = (uint8_t)i;
		cr_assert_eq(hx_mcg(p.a, PRM_CMD_ATTACH_TO_MCG, gid), 0);
	}
	gid[13] = 1;
	cr_assert_eq(hx_mcg(p.a, PRM_CMD_ATTACH_TO_MCG, gid), PRM_STATUS_NO_RES_ERR);
}
