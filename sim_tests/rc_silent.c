/* SPDX-License-Identifier: BSD-3-Clause */
/* WQEs that send nothing: NOP, DUMP, WAIT. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

static void expect_nothing(struct hx *h, struct hx_cq *cq)
{
	uint8_t cqe[64];

	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(cq, cqe), "CQE of WQE %u", cqe_idx(cqe));
}

static struct hx_wr write_wr(const struct hx_pair *p)
{
	return (struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
			      .flags = HX_SIGNALED,
			      .raddr = p->bmem,
			      .rkey = p->bkey,
			      .nsge = 1,
			      .sge = {{p->amem, 3000, p->akey}}};
}

HX_TEST(rc_silent, a_nop_completes_in_its_turn_and_sends_nothing)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr nop = {.opcode = PRM_WQE_NOP, .flags = HX_SIGNALED, .ds = 15};
	struct hx_wr wr = write_wr(&p);
	uint64_t packets;

	memset(p.a->sq, 0xff, 4096); /* old segments behind it */
	hx_post(p.a, &wr);
	hx_post(p.a, &nop);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	HX_OK(p.a->scq, 5);
	packets = nm_nic_counters(h->nic[0].nic)->tx_packets;
	hx_post(p.a, &nop);
	hx_ring(p.a);
	HX_OK(p.a->scq, 6);
	cr_assert_eq(nm_nic_counters(h->nic[0].nic)->tx_packets, packets);
}

HX_TEST(rc_silent, a_nop_waits_for_what_is_before_it)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr nop = {.opcode = PRM_WQE_NOP, .flags = HX_SIGNALED};
	struct hx_wr wr = write_wr(&p);

	sim_unplug(h->sim, 1, true);
	wr.flags = 0;
	hx_post(p.a, &wr);
	hx_post(p.a, &nop);
	hx_ring(p.a);
	expect_nothing(h, p.a->scq);
	sim_unplug(h->sim, 1, false);
	HX_OK(p.a->scq, 1);
}

HX_TEST(rc_silent, a_dump_reads_what_its_key_allows)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr dump = {.opcode = PRM_WQE_DUMP,
			     .flags = HX_SIGNALED,
			     .nsge = 1,
			     .sge = {{p.amem, 1, p.akey}}};

	hx_post(p.a, &dump);
	dump.sge[0].lkey ^= 1;
	hx_post(p.a, &dump);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, 1);
}

/* The last ACK packet that the NIC was to send, kept back. */
static enum nm_verdict keep_back(void *ctx, struct nm_event *ev)
{
	struct nm_packet *kept = ctx;

	if (ev->packet->hdr[0] != ROCE_ACK)
		return NM_PASS;
	*kept = *ev->packet;
	return NM_DROP;
}

/* An RNR NAK takes the sender back; while it waits, an answer to what is behind the NOP comes. */
HX_TEST(rc_silent, a_refusal_behind_a_nop_is_not_the_nops_though_the_sender_went_back)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr nop = {.opcode = PRM_WQE_NOP, .flags = HX_SIGNALED};
	struct hx_wr wr = write_wr(&p);
	struct nm_packet nak = {0}, rnr;
	struct nm_fault fault = {.ctx = &nak, .mask = 1u << NM_EV_TX, .at = keep_back};

	nm_nic_set_fault(h->nic[1].nic, &fault);
	wr.sge[0].len = 100;
	hx_post(p.a, &wr);
	hx_post(p.a, &nop);
	wr.rkey ^= 1;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, SIM_MS);
	cr_assert_eq(nak.hdr[12], ROCE_NAK_ACCESS);
	rnr = nak;
	rnr.hdr[12] = ROCE_AETH_RNR | 14; /* 1.28 ms */
	prm_store32(rnr.hdr + 8, (prm_load32(nak.hdr + 8) - 1) & ROCE_PSN_MASK);
	nm_nic_receive(h->nic[0].nic, &rnr);
	nm_nic_receive(h->nic[0].nic, &nak);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 2);
	nm_nic_set_fault(h->nic[1].nic, &h->nic[1].fault);
}

/* The pattern of a counter: one QP's completions release the other's WQEs. */
HX_TEST(rc_silent, a_wait_holds_the_queue_until_the_cqe_is_there)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);
	struct hx_wr wait = {.opcode = PRM_WQE_WAIT,
			     .flags = HX_SIGNALED,
			     .wait_index = 1,
			     .wait_cqn = p.a->scq->cqn};
	struct hx_wr behind = write_wr(&q);

	hx_post(q.a, &wait);
	hx_post(q.a, &behind);
	hx_ring(q.a);
	expect_nothing(h, q.a->scq);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	expect_nothing(h, q.a->scq);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(q.a->scq, 0);
	HX_OK(q.a->scq, 1);
	/* What has been produced already is not waited for. */
	wait.wait_index = 0;
	hx_post(q.a, &wait);
	hx_ring(q.a);
	HX_OK(q.a->scq, 2);
}

HX_TEST(rc_silent, a_wait_may_be_flushed_reset_and_destroyed)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_pair r = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_cq *cq = hx_cq(h, 0, 4);
	struct hx_wr wait = {.opcode = PRM_WQE_WAIT, .flags = HX_SIGNALED, .wait_cqn = cq->cqn};

	hx_post(p.a, &wait);
	hx_post(q.a, &wait);
	hx_post(r.a, &wait);
	hx_ring(p.a);
	hx_run(h, 10 * SIM_US);
	hx_ring(q.a);
	hx_run(h, 10 * SIM_US);
	hx_ring(r.a);
	hx_run(h, 10 * SIM_US);
	cr_assert_eq(hx_modify(q.a, PRM_CMD_QP_2ERR), 0);
	HX_ERR(q.a->scq, PRM_SYND_WR_FLUSH, 0);
	cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_QP, p.a->qpn), 0);
	cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_CQ, cq->cqn), 0);
	HX_ERR(r.a->scq, PRM_SYND_LOCAL_QP_OP, 0);
	cr_assert(hx_diagnosed(h, "WAIT names CQ"));
}
