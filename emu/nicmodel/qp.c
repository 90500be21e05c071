/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP's life: its transport state, its states, its turns and its timer. */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_STEPS = 8 }; /* between two looks at the clock */

static void empty_lists(struct nm_rc *rc)
{
	rc->req.landings_tail = &rc->req.landings;
	rc->resp.queue_tail = &rc->resp.queue;
}

static void free_parts(struct nm_rc *rc)
{
	free(rc->req.ring.base);
	free(rc->req.wq);
	free(rc->req.bounce);
	free(rc->resp.bounce);
	free(rc->resp.rds);
	free(rc->resp.rwqe);
	free(rc->resp.recv.sges);
	free(rc);
}

int nm_qp_attach(struct nm_qp *qp)
{
	struct nm_rc *rc = calloc(1, sizeof(*rc));
	struct rc_req *req;

	if (!rc)
		return -ENOMEM;
	rc->qp = qp;
	rc->recv_ops = qp->has_rq ? &rc_recv_own : qp->uses_srq ? &rc_recv_shared : &rc_recv_none;
	empty_lists(rc);
	req = &rc->req;
	req->rnr_timer = RC_RNR_NONE;
	if (qp->has_sq) {
		req->ring.bbs = 1u << qp->log_sq_size;
		req->ring.st = qp->service->wqe_st;
		/* Written before they are read; not cleared, so what is never used costs no memory.
		 */
		req->ring.base = malloc((size_t)req->ring.bbs * PRM_WQEBB_SIZE);
		req->wq = malloc(req->ring.bbs * sizeof(*req->wq));
		if (!req->ring.base || !req->wq) {
			free_parts(rc);
			return -ENOMEM;
		}
		req->flat =
			nm_mem_ptr(&qp->mem, qp->sq_off, (uint64_t)req->ring.bbs * PRM_WQEBB_SIZE);
	}
	if (qp->has_rq) {
		rc->resp.rwqe = malloc(UINT64_C(1) << qp->rq_stride_log);
		if (!rc->resp.rwqe) {
			free_parts(rc);
			return -ENOMEM;
		}
	}
	qp->rc = rc;
	return 0;
}

static void recall(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	const struct rc_req *req = &qp->rc->req;

	if (nic->ops.link_recall && psn_diff(req->max_psn, req->una) > 0)
		nic->ops.link_recall(nic->ops.ctx);
}

static void cancel_sends(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	recall(qp);
	rc_wait_end(qp);
	rc_xfer_cancel(&req->fetch);
	req->peeking = false;
	req->fetch_bbs = 0;
	req->fetched = req->next_idx;
	rc_gather_reset(qp);
	req->wr_valid = false;
	req->rwr_valid = false;
	rc_landings_drop(qp);
}

static void cancel_transfers(struct nm_qp *qp)
{
	cancel_sends(qp);
	rc_resp_drop(qp);
}

void nm_qp_detach(struct nm_qp *qp)
{
	struct nm_rc *rc = qp->rc;

	if (!rc)
		return;
	cancel_transfers(qp);
	nm_qp_unschedule(qp);
	nm_qp_timer_set(qp, UINT64_MAX);
	while (rc->req.landings_free) {
		struct rc_landing *l = rc->req.landings_free;

		rc->req.landings_free = l->next;
		free(l);
	}
	while (rc->resp.queue_free) {
		struct rc_op *op = rc->resp.queue_free;

		rc->resp.queue_free = op->next;
		free(op);
	}
	free_parts(rc);
	qp->rc = NULL;
}

/* ---- states ---- */

/* Everything to the beginning, but for what is allocated. */
static void reset(struct nm_qp *qp)
{
	struct nm_rc *rc = qp->rc;
	struct rc_req *req = &rc->req;
	struct rc_resp *resp = &rc->resp;
	struct nm_space *dbr_space = qp->dbr.space;
	uint64_t dbr_addr = qp->dbr.addr;

	cancel_transfers(qp);
	if (qp->cq_snd)
		nm_cq_forget_qp(qp->cq_snd, qp->obj.number);
	if (qp->cq_rcv)
		nm_cq_forget_qp(qp->cq_rcv, qp->obj.number);
	*req = (struct rc_req){.ring = req->ring,
			       .flat = req->flat,
			       .wq = req->wq,
			       .bounce = req->bounce,
			       .landings_free = req->landings_free};
	*resp = (struct rc_resp){
		.queue_free = resp->queue_free,
		.rds = resp->rds,
		.nrds = resp->nrds,
		.bounce = resp->bounce,
		.rwqe = resp->rwqe,
		.recv = {.sges = resp->recv.sges, .sge_room = resp->recv.sge_room}};
	empty_lists(rc);
	req->rnr_timer = RC_RNR_NONE;
	rc->fatal = false;
	/* A read of the record that is under way would bring the old indices. */
	if (dbr_space) {
		nm_dbr_fini(&qp->dbr);
		(void)nm_dbr_init(&qp->dbr, dbr_space, dbr_addr);
		nm_uar_saw_record(qp);
	}
	nm_qp_unschedule(qp);
	nm_qp_timer_set(qp, UINT64_MAX);
}

static void start_responder(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	free(resp->rds); /* perhaps of another number; made when the first READ comes */
	resp->rds = NULL;
	resp->nrds = 0;
	resp->rd_next = 0;
	rc_resp_start(qp, PRM_GET(qpc, qp->qpc, next_rcv_psn));
}

static void start_send_flush(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	cancel_sends(qp);
	req->deadline_ns = 0;
	req->sent_mark = 0;
	req->rnr_until_ns = 0;
	req->rnr_timer = RC_RNR_NONE;
	req->link_retry_ns = 0;
	req->refetch_since = 0;
	req->refetch_ns = 0;
	rc_req_look(qp, true);
	nm_qp_schedule(qp);
}

static void start_flush(struct nm_qp *qp)
{
	start_send_flush(qp);
	rc_resp_drop(qp);
	qp->rc->resp.flush_poll_ns = 0;
}

static void tell_state(struct nm_qp *qp, uint8_t from, uint8_t to)
{
	struct nm_event ev = {
		.kind = NM_EV_STATE, .qpn = qp->obj.number, .state = {.from = from, .to = to}};

	if (nm_watched(qp->obj.nic, NM_EV_STATE))
		nm_observe(qp->obj.nic, &ev);
}

static void set_state(struct nm_qp *qp, uint8_t to)
{
	uint8_t from = qp->state;

	qp->state = to;
	tell_state(qp, from, to);
}

void nm_qp_acknowledge(struct nm_qp *qp)
{
	if (!qp->rc)
		return;
	nm_uar_take(qp);
	rc_reply_leave(qp);
}

void nm_qp_leave(struct nm_qp *qp)
{
	nm_qp_acknowledge(qp);
	tell_state(qp, qp->state, NM_QP_GONE);
}

void nm_qp_enter(struct nm_qp *qp, uint8_t to)
{
	uint8_t from = qp->state;

	set_state(qp, to);
	switch (to) {
	case PRM_QP_RST:
		reset(qp);
		break;
	case PRM_QP_RTR:
		if (from != PRM_QP_RTR)
			start_responder(qp);
		break;
	case PRM_QP_RTS:
		if (from == PRM_QP_RTR && qp->has_sq)
			rc_req_start(qp, PRM_GET(qpc, qp->qpc, next_send_psn));
		if (from == PRM_QP_SQD)
			rc_sqd_leave(qp);
		if (from == PRM_QP_SQER)
			rc_sqer_leave(qp);
		nm_qp_schedule(qp);
		break;
	case PRM_QP_SQD:
		if (from != PRM_QP_SQD)
			rc_sqd_enter(qp);
		break;
	case PRM_QP_SQER:
		start_send_flush(qp);
		break;
	case PRM_QP_ERR:
		if (from != PRM_QP_ERR)
			start_flush(qp);
		break;
	default:
		break;
	}
}

void rc_error_enter(struct nm_qp *qp)
{
	nm_qp_enter(qp, PRM_QP_ERR);
}

/* ---- turns ---- */

bool rc_turn_over(const struct nm_qp *qp, uint32_t steps)
{
	return (qp->obj.nic->tx.segs > 1 || steps % TURN_STEPS == TURN_STEPS - 1) &&
	       nm_now(qp->obj.nic) >= qp->rc->deadline_ns;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return b_ns != 0 && b_ns < a_ns ? b_ns : a_ns;
}

static void set_timer(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint64_t at_ns = UINT64_MAX;

	at_ns = earlier(at_ns, req->deadline_ns);
	at_ns = earlier(at_ns, req->rnr_until_ns);
	at_ns = earlier(at_ns, req->link_retry_ns);
	at_ns = earlier(at_ns, req->refetch_ns);
	if (qp->state == PRM_QP_ERR)
		at_ns = earlier(at_ns, qp->rc->resp.flush_poll_ns);
	/* A timer that is too early does no harm; moving it for each packet would cost. */
	if (at_ns < qp->timer_ns || (at_ns == UINT64_MAX && qp->timer_ns != UINT64_MAX))
		nm_qp_timer_set(qp, at_ns);
}

static bool requests(const struct nm_qp *qp)
{
	return qp->state == PRM_QP_RTS || qp->state == PRM_QP_SQD;
}

bool nm_qp_progress(struct nm_qp *qp, uint64_t now_ns, uint64_t deadline_ns)
{
	const struct nm_service *service = qp->service;
	struct nm_rc *rc = qp->rc;

	rc->now_ns = now_ns;
	rc->deadline_ns = deadline_ns;
	rc->moved = false;
	rc->polling = false;
	rc_begin_waits(qp);
	if (rc->fatal && qp->state != PRM_QP_RST && qp->state != PRM_QP_ERR) {
		rc->fatal = false;
		nm_eq_qp_event(qp->obj.nic, PRM_EVENT_WQ_CATAS_ERROR, qp->obj.number);
		rc_error_enter(qp);
	}
	switch (qp->state) {
	case PRM_QP_RTS:
	case PRM_QP_SQD:
		/* Completions in the order in which their packets came, and the ACK of a message
		 * before what its completion made the program post: ib_send_lat -e relies on both.
		 */
		if (service->reply)
			service->reply(qp);
		if (qp->has_sq && requests(qp))
			service->request(qp);
		if (requests(qp))
			service->respond(qp);
		if (service->timeout && qp->has_sq && requests(qp))
			service->timeout(qp);
		rc_sqd_check(qp);
		break;
	case PRM_QP_SQER:
		rc_flush_sends(qp);
		service->respond(qp);
		break;
	case PRM_QP_RTR:
		service->respond(qp);
		break;
	case PRM_QP_ERR:
		rc_flush_run(qp);
		break;
	default:
		break;
	}
	set_timer(qp);
	if (rc->polling)
		nm_qp_schedule(qp);
	return rc->moved;
}

void nm_qp_timer(struct nm_qp *qp, uint64_t now_ns)
{
	(void)now_ns; /* its turn looks at all deadlines */
	nm_qp_schedule(qp);
}

/* ---- for the commands ---- */

void nm_qp_fill_query(const struct nm_qp *qp, void *qpc)
{
	const struct nm_rc *rc = qp->rc;

	PRM_SET(qpc, qpc, state, qp->state);
	if (!rc || qp->state == PRM_QP_RST)
		return;
	if (qp->state == PRM_QP_SQD && !rc_sqd_drained(qp))
		PRM_SET(qpc, qpc, state, PRM_QP_SQ_DRAINING);
	PRM_SET(qpc, qpc, hw_sq_wqebb_counter, rc->req.ci);
	PRM_SET(qpc, qpc, sw_sq_wqebb_counter, rc->req.pi);
	PRM_SET(qpc, qpc, hw_rq_counter, rc->resp.rq_ci);
	PRM_SET(qpc, qpc, sw_rq_counter, rc->resp.rq_pi);
	if (qp->state < PRM_QP_RTR)
		return;
	PRM_SET(qpc, qpc, next_rcv_psn, rc->resp.epsn);
	PRM_SET(qpc, qpc, rmsn, rc->resp.msn);
	if (qp->state < PRM_QP_RTS)
		return;
	PRM_SET(qpc, qpc, next_send_psn, rc->req.snd_psn);
	PRM_SET(qpc, qpc, last_acked_psn, psn_add(rc->req.una, ROCE_PSN_MASK));
	PRM_SET(qpc, qpc, cur_retry_count, rc->req.retry_left & 7);
	PRM_SET(qpc, qpc, cur_rnr_retry, rc->req.rnr_left & 7);
}

static void doom(struct nm_qp *qp)
{
	if (!qp->rc)
		return;
	qp->rc->fatal = true;
	nm_qp_schedule(qp);
}

void nm_qp_cq_died(struct nm_cq *cq)
{
	for (struct nm_link *l = cq->snd_qps; l; l = l->next)
		doom(NM_OF(l, struct nm_qp, snd_link));
	for (struct nm_link *l = cq->rcv_qps; l; l = l->next)
		doom(NM_OF(l, struct nm_qp, rcv_link));
	nm_srqs_cq_died(cq);
}
