/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets made by hand: what a responder or requester must refuse, drop, or answer. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

struct forged {
	struct nm_packet pkt;
	uint8_t payload[NM_MTU_MAX];
};

/* A packet for b as a would send it. */
static void forge(struct hx_pair *p, struct forged *f, uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct hx *h = p->a->h;

	memset(f, 0, sizeof(*f));
	roce_bth_put(f->pkt.hdr, opcode, false, len, p->b->qpn, true, psn);
	f->pkt.hdr_len = roce_ops[opcode].hdr_len;
	f->pkt.payload_len = len;
	f->pkt.niov = len > 0;
	f->pkt.payload[0] = (struct iovec){f->payload, len};
	memset(f->payload, 0x77, len);
	sim_gid(h->sim, 0, f->pkt.route.sgid);
	sim_gid(h->sim, 1, f->pkt.route.dgid);
}

static void reth(struct hx_pair *p, struct forged *f, uint32_t len)
{
	roce_reth_put(f->pkt.hdr + ROCE_BTH_LEN, (uintptr_t)p->bmem, p->bkey, len);
}

static void deliver(struct hx_pair *p, struct forged *f)
{
	nm_nic_receive(p->a->h->nic[1].nic, &f->pkt);
	cr_assert(hx_quiet(p->a->h));
}

/* What is not for the QP changes nothing: no answer, no memory, no state. */
HX_TEST(rc_packet, strangers_are_dropped)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct forged f;
	uint32_t told = 0;

	for (int what = 0; what < 7; what++) {
		forge(&p, &f, ROCE_WRITE_ONLY, 0, 100);
		reth(&p, &f, 100);
		switch (what) {
		case 0: /* partition key */
			f.pkt.hdr[2] = 0x12;
			break;
		case 1: /* source address */
			f.pkt.route.sgid[15] ^= 1;
			break;
		case 2: /* number of the QP */
			f.pkt.hdr[7] ^= 0x80;
			break;
		case 3: /* opcode of another transport */
			f.pkt.hdr[0] = 0x64;
			break;
		case 4: /* header too short for the opcode */
			f.pkt.hdr_len -= 4;
			break;
		case 5: /* not even a BTH */
			f.pkt.hdr_len = 8;
			break;
		default: /* payload where none belongs */
			forge(&p, &f, ROCE_READ_REQUEST, 0, 4);
			break;
		}
		deliver(&p, &f);
		cr_assert_gt(h->diagnoses, told, "case %d: dropped without a word", what);
		told = h->diagnoses;
		cr_assert_eq(h->nic[1].acks + h->nic[1].naks, 0, "case %d", what);
		cr_assert_eq(p.bmem[0], 0, "case %d", what);
		cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
	}
}

HX_TEST(rc_packet, requests_out_of_their_sequence_are_invalid)
{
	static const uint8_t sequences[][2] = {
		{ROCE_WRITE_MIDDLE, 0xff},
		{ROCE_WRITE_LAST, 0xff},
		{ROCE_SEND_LAST, 0xff},
		{ROCE_WRITE_FIRST, ROCE_WRITE_FIRST},
		{ROCE_WRITE_FIRST, ROCE_WRITE_ONLY},
		{ROCE_WRITE_FIRST, ROCE_SEND_MIDDLE},
		{ROCE_WRITE_FIRST, ROCE_READ_REQUEST},
		{ROCE_SEND_LAST_INV, 0xff},
	};

	for (uint32_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		uint32_t naks = h->nic[1].naks;
		struct forged f;

		for (uint32_t j = 0; j < 2 && sequences[i][j] != 0xff; j++) {
			forge(&p, &f, sequences[i][j], j,
			      sequences[i][j] == ROCE_READ_REQUEST ? 0 : 1024);
			if (roce_ops[sequences[i][j]].hdr_len >= ROCE_BTH_LEN + ROCE_RETH_LEN)
				reth(&p, &f, 4096);
			deliver(&p, &f);
		}
		cr_assert_eq(h->nic[1].naks - naks, 1, "sequence %u", i);
		cr_assert_eq(hx_query_state(p.b), PRM_QP_ERR, "sequence %u", i);
		cr_assert_eq(hx_event_count(h, PRM_EVENT_WQ_INVAL_REQ_ERROR, p.b->qpn), 1);
		h->events = 0;
	}
}

HX_TEST(rc_packet, lengths_that_do_not_fit_are_invalid)
{
	static const struct {
		uint8_t opcode;
		uint32_t len, dma_len;
	} rows[] = {
		{ROCE_WRITE_ONLY, 100, 101},	{ROCE_WRITE_ONLY, 100, 99},
		{ROCE_WRITE_ONLY, 1025, 1025},	{ROCE_WRITE_FIRST, 1000, 5000},
		{ROCE_WRITE_FIRST, 1024, 1024}, {ROCE_WRITE_FIRST, 2048, 5000},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct forged f;

		forge(&p, &f, rows[i].opcode, 0, rows[i].len);
		reth(&p, &f, rows[i].dma_len);
		deliver(&p, &f);
		cr_assert_eq(hx_query_state(p.b), PRM_QP_ERR, "row %u", i);
		cr_assert_eq(p.bmem[0], 0, "row %u", i);
	}
}

HX_TEST(rc_packet, only_one_nak_says_what_was_expected)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct forged f;

	for (uint32_t psn = 5; psn < 10; psn++) {
		forge(&p, &f, ROCE_WRITE_ONLY, psn, 8);
		reth(&p, &f, 8);
		deliver(&p, &f);
	}
	cr_assert_eq(h->nic[1].naks, 1);
	cr_assert_eq(p.bmem[0], 0);
	/* In sequence again, and then another gap: another NAK. */
	forge(&p, &f, ROCE_WRITE_ONLY, 0, 8);
	reth(&p, &f, 8);
	deliver(&p, &f);
	cr_assert_eq(p.bmem[0], 0x77);
	forge(&p, &f, ROCE_WRITE_ONLY, 7, 8);
	reth(&p, &f, 8);
	deliver(&p, &f);
	cr_assert_eq(h->nic[1].naks, 2);
	cr_assert_eq(nm_nic_counters(h->nic[1].nic)->out_of_sequence, 6);
}

HX_TEST(rc_packet, an_ack_for_what_was_never_sent_is_dropped)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE, .flags = HX_SIGNALED};
	struct forged f;
	uint8_t cqe[64];

	sim_unplug(h->sim, 0, true);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 40 * SIM_US);
	memset(&f, 0, sizeof(f));
	for (uint32_t psn = 1; psn < 0x800000; psn += 0x100000) {
		roce_bth_put(f.pkt.hdr, ROCE_ACK, false, 0, p.a->qpn, false, psn);
		roce_aeth_put(f.pkt.hdr + ROCE_BTH_LEN, ROCE_AETH_ACK, 0);
		f.pkt.hdr_len = ROCE_BTH_LEN + ROCE_AETH_LEN;
		sim_gid(h->sim, 1, f.pkt.route.sgid);
		nm_nic_receive(h->nic[0].nic, &f.pkt);
	}
	hx_run(h, 40 * SIM_US);
	cr_assert_not(hx_poll(p.a->scq, cqe));
	cr_assert(hx_diagnosed(h, "were sent: dropped"));
	roce_bth_put(f.pkt.hdr, ROCE_ACK, false, 0, p.a->qpn, false, 0);
	nm_nic_receive(h->nic[0].nic, &f.pkt);
	HX_OK(p.a->scq, 0);
}

HX_TEST(rc_packet, a_response_that_does_not_fit_its_read_is_a_bad_response)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_READ,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem, 100, p.akey}}};
	struct forged f;

	sim_unplug(h->sim, 0, true);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 40 * SIM_US);
	forge(&p, &f, ROCE_READ_RESP_ONLY, 0, 104);
	prm_store32(f.pkt.hdr + 4, p.a->qpn);
	sim_gid(h->sim, 1, f.pkt.route.sgid);
	nm_nic_receive(h->nic[0].nic, &f.pkt);
	HX_ERR(p.a->scq, PRM_SYND_BAD_RESP, 0);
	cr_assert_eq(p.amem[100], 0);
}

static void lid_routed(struct hx *h)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem, 5000, p.akey}}};

	hx_fill(p.amem, 5000, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_is(p.bmem, 5000, 1));
}

Test(rc_packet, ports_of_the_infiniband_link_layer_route_by_lid)
{
	hx_with(&(struct hx_config){.infiniband = true}, lid_routed);
	hx_with(&(struct hx_config){.infiniband = true, .serialise = true}, lid_routed);
}
