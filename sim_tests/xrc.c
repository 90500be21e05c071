// SPDX-License-Identifier: BSD-3-Clause
/* XRC: requests that name the shared receive queue they are for. */
#include "sim_tests/harness_srq.h"

enum { MSG = 2504, XRC_BASE = 0xa0 };

struct xrc {
	uint32_t xrcd, pd; /* of the target's side */
	struct hx_cq *cq[2];
	struct hx_srq *srq[2]; /* both of xrcd; keys of pd */
	struct hx_qp *ini, *tgt;
	uint8_t *amem, *bmem;
	uint32_t akey, bkey;
};

static struct xrc xrc_of(struct hx *h, const struct hx_qp_attr *attr)
{
	struct xrc x = {.xrcd = hx_new(h, 1, PRM_CMD_ALLOC_XRCD),
			.pd = hx_new(h, 1, PRM_CMD_ALLOC_PD)};
	struct hx_qp_attr a = attr ? *attr : (struct hx_qp_attr){0}, b;

	a.st = PRM_QP_ST_XRC;
	b = a;
	b.xrcd = x.xrcd;
	for (uint32_t i = 0; i < 2; i++) {
		struct hx_srq_attr srq = {.create = PRM_CMD_CREATE_XRC_SRQ,
					  .pd = x.pd,
					  .xrcd = x.xrcd,
					  .cq = x.cq[i] = hx_cq(h, 1, 6)};

		x.srq[i] = hx_srq(h, 1, &srq);
	}
	x.ini = hx_qp(h, 0, &a);
	x.tgt = hx_qp(h, 1, &b);
	hx_connect(x.ini, x.tgt);
	x.amem = hx_alloc(h, 8 * MSG);
	x.bmem = hx_alloc(h, 8 * MSG);
	x.akey = hx_mkey(h, 0, h->nic[0].pd, x.amem, 8 * MSG, HX_ALL_RIGHTS);
	x.bkey = hx_mkey(h, 1, x.pd, x.bmem, 8 * MSG, HX_ALL_RIGHTS);
	return x;
}

static struct xrc xrc(struct hx *h)
{
	return xrc_of(h, NULL);
}

static uint16_t recv(struct xrc *x, uint32_t srq, uint32_t slot)
{
	return hx_srq_recv(x->srq[srq],
			   &(struct hx_sge){x->bmem + (size_t)slot * MSG, MSG, x->bkey}, 1);
}

/* An operation on the local buffer (to or from slot 1 of the peer's) for this SRQ. */
static uint16_t post(struct xrc *x, uint8_t opcode, uint32_t srqn, uint32_t len)
{
	uint16_t idx = hx_post(x->ini, &(struct hx_wr){.opcode = opcode,
						       .flags = HX_SIGNALED,
						       .imm = 0x77,
						       .srqn = srqn,
						       .raddr = x->bmem + MSG,
						       .rkey = x->bkey,
						       .swap_add = 5,
						       .nsge = 1,
						       .sge = {{x->amem, len, x->akey}}});

	hx_ring(x->ini);
	return idx;
}

HX_TEST(xrc, a_send_takes_a_wqe_of_the_queue_it_names_and_completes_on_that_queues_cq)
{
	struct xrc x = xrc(h);

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t to = 1 - i;
		uint8_t cqe[64];

		recv(&x, to, i);
		hx_fill(x.amem, MSG, 30 + i);
		HX_OK(x.ini->scq, post(&x, PRM_WQE_SEND_IMM, x.srq[to]->number, MSG));
		cr_assert(hx_wait(x.cq[to], cqe, SIM_S));
		cr_expect_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND_IMM);
		cr_expect_eq(cqe_idx(cqe), 0);
		cr_expect_eq(cqe_imm(cqe), 0x77);
		cr_expect_eq(cqe_bytes(cqe), MSG);
		cr_expect_eq(cqe_qpn(cqe), x.tgt->qpn);
		cr_expect_eq(prm_load32(cqe + 32) & 0xffffff, HX_XRC_USER_INDEX | 1u,
			     "the queue's user index");
		cr_expect(hx_is(x.bmem + (size_t)i * MSG, MSG, 30 + i));
	}
}

HX_TEST(xrc, write_read_and_atomics_use_keys_of_the_queues_pd)
{
	struct xrc x = xrc(h);
	uint64_t *word = (uint64_t *)(void *)(x.bmem + MSG);

	hx_fill(x.amem, MSG, 1);
	HX_OK(x.ini->scq, post(&x, PRM_WQE_RDMA_WRITE, x.srq[0]->number, MSG));
	cr_expect(hx_is(x.bmem + MSG, MSG, 1));
	hx_fill(x.bmem + MSG, MSG, 2);
	HX_OK(x.ini->scq, post(&x, PRM_WQE_RDMA_READ, x.srq[1]->number, MSG));
	cr_expect(hx_is(x.amem, MSG, 2));
	*word = 100;
	HX_OK(x.ini->scq, post(&x, PRM_WQE_ATOMIC_FA, x.srq[0]->number, 8));
	cr_expect_eq(*word, 105);
	cr_expect_eq(*(uint64_t *)(void *)x.amem, 100);
	recv(&x, 1, 0);
	HX_OK(x.ini->scq, post(&x, PRM_WQE_RDMA_WRITE_IMM, x.srq[1]->number, MSG));
	HX_RECV(x.cq[1], PRM_CQE_RESP_WR_IMM, 0);
	cr_expect_eq(h->nic[0].packets[XRC_BASE + 0x0c], 1, "READ request of XRC");
	cr_expect_gt(h->nic[1].packets[XRC_BASE + 0x11], 0, "ACK of XRC");
}

HX_TEST(xrc, a_key_of_another_pd_than_the_queues_is_refused)
{
	struct xrc x = xrc(h);
	uint16_t idx;

	x.bkey = hx_mkey(h, 1, h->nic[1].pd, x.bmem, 8 * MSG, HX_ALL_RIGHTS);
	idx = post(&x, PRM_WQE_RDMA_WRITE, x.srq[0]->number, MSG);
	HX_ERR(x.ini->scq, PRM_SYND_REMOTE_ACCESS, idx);
}

HX_TEST(xrc, an_empty_queue_answers_rnr_while_the_other_goes_on)
{
	struct xrc x = xrc(h);
	uint16_t idx = post(&x, PRM_WQE_SEND, x.srq[0]->number, MSG);

	recv(&x, 1, 0);
	hx_run(h, 100 * SIM_US);
	recv(&x, 0, 1);
	HX_OK(x.ini->scq, idx);
	HX_RECV(x.cq[0], PRM_CQE_RESP_SEND, 0);
	HX_OK(x.ini->scq, post(&x, PRM_WQE_SEND, x.srq[1]->number, MSG));
	HX_RECV(x.cq[1], PRM_CQE_RESP_SEND, 0);
}

HX_TEST(xrc, losses_are_repaired_as_in_rc)
{
	struct xrc x = xrc(h);

	recv(&x, 0, 0);
	hx_fill(x.amem, MSG, 4);
	hx_drop(h, 0, XRC_BASE + 0x01, 1);
	hx_drop(h, 1, XRC_BASE + 0x11, 1);
	HX_OK(x.ini->scq, post(&x, PRM_WQE_SEND, x.srq[0]->number, MSG));
	HX_RECV(x.cq[0], PRM_CQE_RESP_SEND, 0);
	cr_expect(hx_is(x.bmem, MSG, 4));
	hx_drop(h, 1, XRC_BASE + 0x0f, 1);
	HX_OK(x.ini->scq, post(&x, PRM_WQE_RDMA_READ, x.srq[0]->number, MSG));
}

/* ---- two directions ---- */

/*
 * Posts the next message of the way back as soon as it sees one arrive, as a program would. That
 * one is sent when the first of the way back has left, so that its ACK comes just before.
 */
struct reaction {
	struct nm_observer observer;
	struct xrc *x;
	struct hx_qp *back;
	struct hx_wr wr;
	uint32_t cqn;
	bool begun, armed, sent, acked;
	bool acked_first;
};

static void react(void *ctx, const struct nm_event *ev)
{
	struct reaction *r = ctx;

	if (ev->kind == NM_EV_CQE && r->armed && ev->cqe.cqn == r->cqn) {
		r->armed = false;
		hx_post(r->back, &r->wr);
		hx_ring(r->back);
	} else if (ev->kind == NM_EV_TX && !r->begun) {
		r->begun = true;
		post(r->x, PRM_WQE_SEND, r->x->srq[0]->number, 8);
	} else if (ev->kind == NM_EV_TX && !r->armed && !r->sent) {
		r->acked |= ev->packet->hdr[0] == XRC_BASE + 0x11;
		r->sent = ev->packet->hdr[0] == XRC_BASE + 0x04;
		r->acked_first = r->acked;
	}
}

HX_TEST(xrc, the_ack_of_a_message_leaves_before_the_answer_that_its_completion_brings)
{
	struct xrc x = xrc(h);
	struct hx_srq_attr srq_attr = {.create = PRM_CMD_CREATE_XRC_SRQ,
				       .xrcd = hx_new(h, 0, PRM_CMD_ALLOC_XRCD),
				       .cq = hx_cq(h, 0, 6)};
	struct hx_srq *srq = hx_srq(h, 0, &srq_attr);
	struct hx_qp *back = hx_qp(h, 1, &(struct hx_qp_attr){.st = PRM_QP_ST_XRC});
	struct hx_qp *tgt =
		hx_qp(h, 0, &(struct hx_qp_attr){.st = PRM_QP_ST_XRC, .xrcd = srq_attr.xrcd});
	uint32_t key = hx_mkey(h, 1, h->nic[1].pd, x.bmem, MSG, HX_ALL_RIGHTS);
	struct reaction r = {
		.x = &x,
		.back = back,
		.cqn = x.cq[0]->cqn,
		.wr = {.opcode = PRM_WQE_SEND,
		       .srqn = srq->number,
		       .nsge = 1,
		       .sge = {{x.bmem, 8, key}}},
	};

	hx_connect(back, tgt);
	for (uint32_t i = 0; i < 4; i++)
		hx_srq_recv(srq, &(struct hx_sge){x.amem + MSG, 8, x.akey}, 1);
	recv(&x, 0, 1);
	r.observer = (struct nm_observer){
		.ctx = &r, .mask = 1u << NM_EV_CQE | 1u << NM_EV_TX, .event = react};
	nm_nic_add_observer(h->nic[1].nic, &r.observer);
	hx_post(back, &r.wr);
	hx_ring(back);
	r.armed = true;
	hx_quiet(h);
	nm_nic_remove_observer(h->nic[1].nic, &r.observer);
	cr_expect(r.sent && r.acked_first);
}

/* ---- who may name what ---- */

static void refused(struct hx *h, struct xrc *x, uint32_t srqn, const char *why)
{
	uint16_t idx = post(x, PRM_WQE_SEND, srqn, MSG);

	HX_ERR(x->ini->scq, PRM_SYND_REMOTE_INVAL_REQ, idx);
	hx_run(h, SIM_MS);
	cr_expect(hx_diagnosed(h, why), "%s", why);
	cr_expect_eq(hx_query_state(x->tgt), PRM_QP_ERR);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_WQ_INVAL_REQ_ERROR, x->tgt->qpn), 1);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_LAST_WQE, x->tgt->qpn), 1);
}

HX_TEST(xrc, a_queue_of_another_domain_is_refused)
{
	struct xrc x = xrc(h);
	struct hx_srq_attr attr = {.create = PRM_CMD_CREATE_XRC_SRQ,
				   .xrcd = hx_new(h, 1, PRM_CMD_ALLOC_XRCD),
				   .cq = x.cq[0]};
	struct hx_srq *other = hx_srq(h, 1, &attr);

	hx_srq_recv(other, &(struct hx_sge){x.bmem, MSG, x.bkey}, 1);
	refused(h, &x, other->number, "it is of another XRC domain");
}

HX_TEST(xrc, a_plain_queue_is_refused)
{
	struct xrc x = xrc(h);
	struct hx_srq *plain = hx_srq(h, 1, NULL);

	hx_srq_recv(plain, &(struct hx_sge){x.bmem, MSG, x.bkey}, 1);
	refused(h, &x, plain->number, "it is not one of XRC");
}

HX_TEST(xrc, a_queue_that_does_not_exist_is_refused)
{
	struct xrc x = xrc(h);

	refused(h, &x, 0x765432, "it does not exist");
}

HX_TEST(xrc, a_queue_that_is_destroyed_in_the_middle_of_a_message_refuses_the_rest)
{
	struct xrc x = xrc(h);
	uint16_t idx;

	recv(&x, 0, 0);
	hx_drop(h, 0, XRC_BASE + 0x02, 2); /* SEND last */
	idx = post(&x, PRM_WQE_SEND, x.srq[0]->number, MSG);
	hx_run(h, 50 * SIM_US);
	cr_assert_eq(hx_srq_destroy(x.srq[0]), PRM_STATUS_OK, "%s", h->why);
	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_CQ, x.cq[0]->cqn), PRM_STATUS_OK, "%s",
		     h->why);
	HX_ERR(x.ini->scq, PRM_SYND_REMOTE_INVAL_REQ, idx);
	cr_expect(hx_diagnosed(h, "that of the message under way was destroyed"));
}

HX_TEST(xrc, requests_to_an_initiator_and_of_rc_to_a_target_are_dropped)
{
	struct hx_qp_attr attr = {.retry = -1, .timeout = 1};
	struct xrc x = xrc_of(h, &attr);
	struct hx_qp_attr ini = {.st = PRM_QP_ST_XRC, .retry = -1, .timeout = 1};
	struct hx_qp_attr rc = {.retry = -1, .timeout = 1};
	struct hx_qp *a = hx_qp(h, 0, &ini), *b = hx_qp(h, 1, &ini), *c = hx_qp(h, 0, &rc);
	uint16_t idx;

	hx_connect(a, b);
	idx = hx_post(a, &(struct hx_wr){.opcode = PRM_WQE_SEND,
					 .flags = HX_SIGNALED,
					 .srqn = x.srq[0]->number,
					 .nsge = 1,
					 .sge = {{x.amem, 8, x.akey}}});
	hx_ring(a);
	HX_ERR(a->scq, PRM_SYND_RETRY_EXC, idx);
	cr_expect(hx_diagnosed(h, "for an XRC QP that is no target"));
	cr_assert_eq(hx_to_init(c), 0);
	cr_assert_eq(hx_to_rtr(c, x.tgt), 0);
	cr_assert_eq(hx_to_rts(c), 0);
	idx = hx_post(c, &(struct hx_wr){.opcode = PRM_WQE_SEND,
					 .flags = HX_SIGNALED,
					 .nsge = 1,
					 .sge = {{x.amem, 8, x.akey}}});
	hx_ring(c);
	HX_ERR(c->scq, PRM_SYND_RETRY_EXC, idx);
	cr_expect_eq(hx_query_state(x.tgt), PRM_QP_RTS);
}

/* ---- commands ---- */

HX_TEST(xrc, domains_and_queues_in_use_stay)
{
	struct xrc x = xrc(h);

	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DEALLOC_XRCD, x.xrcd), PRM_STATUS_RES_BUSY);
	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_CQ, x.cq[0]->cqn), PRM_STATUS_RES_BUSY);
	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, x.tgt->qpn), PRM_STATUS_OK);
	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DEALLOC_XRCD, x.xrcd), PRM_STATUS_RES_BUSY);
	for (uint32_t i = 0; i < 2; i++)
		cr_assert_eq(hx_srq_destroy(x.srq[i]), PRM_STATUS_OK);
	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DEALLOC_XRCD, x.xrcd), PRM_STATUS_OK);
}

static uint8_t create_qp(struct hx *h, uint8_t st, uint8_t rq_type, uint32_t srqn, uint32_t xrcd)
{
	uint8_t *qpc = PRM_PTR(create_qp_in, h->in, qpc);

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_QP);
	PRM_SET(qpc, qpc, st, st);
	PRM_SET(qpc, qpc, pd, h->nic[1].pd);
	PRM_SET(qpc, qpc, no_sq, 1);
	PRM_SET(qpc, qpc, rq_type, rq_type);
	PRM_SET(qpc, qpc, srqn_rmpn_xrqn, srqn);
	PRM_SET(qpc, qpc, xrcd, xrcd);
	return hx_command(h, 1, 0x110);
}

HX_TEST(xrc, create_qp_checks_what_it_receives_from)
{
	struct xrc x = xrc(h);

	cr_expect_eq(create_qp(h, PRM_QP_ST_XRC, PRM_RQ_REGULAR, 0, x.xrcd), PRM_STATUS_BAD_PARAM,
		     "no queue of its own");
	cr_expect_eq(create_qp(h, PRM_QP_ST_XRC, PRM_RQ_SRQ, 0, x.xrcd + 9), PRM_STATUS_BAD_RES);
	cr_expect_eq(create_qp(h, PRM_QP_ST_XRC, PRM_RQ_CRQ, 0, x.xrcd), PRM_STATUS_BAD_PARAM);
	cr_expect_eq(create_qp(h, PRM_QP_ST_XRC, PRM_RQ_SRQ, 0, x.xrcd), PRM_STATUS_OK, "%s",
		     h->why);
	cr_expect_eq(create_qp(h, PRM_QP_ST_RC, PRM_RQ_SRQ, 0x999, 0), PRM_STATUS_BAD_RES);
	cr_expect_eq(create_qp(h, PRM_QP_ST_RC, PRM_RQ_SRQ, x.srq[0]->number, 0),
		     PRM_STATUS_BAD_PARAM, "a queue of XRC");
}
