/* SPDX-License-Identifier: BSD-3-Clause */
/* SQD: what has begun is finished, what has not waits and may be changed. */
#include "emu/nicmodel/roce.h"
#include "sim_tests/harness.h"

static uint16_t post_write(struct hx_pair *p, uint32_t at, uint32_t len)
{
	return hx_post(p->a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
					     .flags = HX_SIGNALED,
					     .raddr = p->bmem + at,
					     .rkey = p->bkey,
					     .nsge = 1,
					     .sge = {{p->amem + at, len, p->akey}}});
}

static bool first_byte_arrived(void *arg)
{
	return *(const uint8_t *)arg != 0;
}

enum { BIG = 1 << 20 };

/* A long WRITE under way, two short ones behind it, and SQD. */
static struct hx_pair drain(struct hx *h)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.mtu = 1});

	memset(p.amem, 0x77, p.len);
	post_write(&p, 0, BIG);
	post_write(&p, BIG, 100);
	post_write(&p, 2 * BIG, 100);
	hx_ring(p.a);
	cr_assert(sim_run_until(h->sim, first_byte_arrived, p.bmem, SIM_S));
	cr_assert_eq(hx_modify(p.a, PRM_CMD_RTS2SQD_QP), 0, "%s", h->why);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_SQ_DRAINING);
	return p;
}

static void expect_drained(struct hx *h, struct hx_pair *p)
{
	HX_OK(p->a->scq, 0);
	cr_assert(hx_quiet(h));
	cr_assert_eq(hx_query_state(p->a), PRM_QP_SQD);
	cr_assert_eq(hx_event_count(h, PRM_EVENT_SQ_DRAINED, p->a->qpn), 1);
	cr_assert_eq(p->bmem[BIG - 1], 0x77);
	cr_assert_eq(p->bmem[BIG], 0, "a WQE began in SQD");
}

HX_TEST(rc_sqd, what_has_begun_is_finished_and_the_rest_waits_for_rts)
{
	struct hx_pair p = drain(h);

	expect_drained(h, &p);
	post_write(&p, 3 * BIG, 100);
	hx_ring(p.a);
	cr_assert(hx_quiet(h));
	cr_assert_eq(p.bmem[3 * BIG], 0, "a doorbell in SQD");
	cr_assert_eq(hx_modify(p.a, PRM_CMD_SQD_RTS_QP), 0, "%s", h->why);
	HX_OK(p.a->scq, 1);
	HX_OK(p.a->scq, 2);
	HX_OK(p.a->scq, 3);
	cr_assert_eq(p.bmem[BIG], 0x77);
	cr_assert_eq(p.bmem[3 * BIG + 99], 0x77);
	cr_assert_eq(hx_event_count(h, PRM_EVENT_SQ_DRAINED, p.a->qpn), 1);
}

HX_TEST(rc_sqd, a_wqe_that_is_cancelled_in_sqd_is_not_executed)
{
	struct hx_pair p = drain(h);

	expect_drained(h, &p);
	p.a->sq[64 * 1] = 0; /* opmod and opcode: NOP, with its old segments */
	p.a->sq[64 * 1 + 3] = 0;
	cr_assert_eq(hx_modify(p.a, PRM_CMD_SQD_RTS_QP), 0);
	HX_OK(p.a->scq, 1);
	HX_OK(p.a->scq, 2);
	cr_assert_eq(p.bmem[BIG], 0);
	cr_assert_eq(p.bmem[2 * BIG], 0x77);
}

HX_TEST(rc_sqd, an_idle_queue_drains_at_once_and_still_receives)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint8_t cqe[64];

	cr_assert_eq(hx_modify(p.a, PRM_CMD_RTS2SQD_QP), 0);
	cr_assert(hx_quiet(h));
	cr_assert_eq(hx_query_state(p.a), PRM_QP_SQD);
	hx_recv(p.a, &(struct hx_sge){p.amem, 100, p.akey}, 1);
	hx_post(p.b, &(struct hx_wr){.opcode = PRM_WQE_SEND,
				     .flags = HX_SIGNALED,
				     .nsge = 1,
				     .sge = {{p.bmem, 100, p.bkey}}});
	hx_ring(p.b);
	HX_OK(p.b->scq, 0);
	HX_RECV(p.a->rcq, PRM_CQE_RESP_SEND, 0);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_RTS2SQD_QP), PRM_STATUS_BAD_RES_STATE);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_QP_2ERR), 0);
	cr_assert_not(hx_poll(p.a->scq, cqe));
}

HX_TEST(rc_sqd, a_packet_that_was_lost_is_sent_again_in_sqd)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.timeout = 8}, NULL, 1 << 16);

	memset(p.amem, 0x55, 100);
	hx_drop(h, 0, ROCE_WRITE_ONLY, 1);
	post_write(&p, 0, 100);
	hx_ring(p.a);
	hx_run(h, 10000);
	cr_assert_eq(p.bmem[0], 0);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_RTS2SQD_QP), 0);
	HX_OK(p.a->scq, 0);
	cr_assert_eq(p.bmem[0], 0x55);
	cr_assert(hx_quiet(h));
	cr_assert_eq(hx_event_count(h, PRM_EVENT_SQ_DRAINED, p.a->qpn), 1);
}

static uint8_t change_retries(struct hx_qp *qp, uint32_t retries)
{
	struct hx *h = qp->h;
	uint8_t *qpc = PRM_PTR(modify_qp_in, h->in, qpc);

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_SQD2SQD_QP);
	PRM_SET(modify_qp_in, h->in, qpn, qp->qpn);
	PRM_SET(modify_qp_in, h->in, opt_param_mask, PRM_OPTPAR_RETRY_COUNT);
	PRM_SET(qpc, qpc, retry_count, retries);
	return hx_command(h, qp->nic, 0x110);
}

HX_TEST(rc_sqd, attributes_change_in_sqd_once_it_has_drained)
{
	struct hx_pair p = drain(h);

	cr_assert_eq(change_retries(p.a, 3), PRM_STATUS_BAD_RES_STATE, "it is draining");
	expect_drained(h, &p);
	cr_assert_eq(change_retries(p.a, 3), 0, "%s", h->why);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_SQD);
	cr_assert_eq(PRM_GET(qpc, PRM_PTR(query_qp_out, h->out, qpc), retry_count), 3);
	cr_assert_eq(change_retries(p.b, 3), PRM_STATUS_BAD_RES_STATE, "it is in RTS");
}
