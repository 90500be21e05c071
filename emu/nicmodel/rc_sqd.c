/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQD: the send queue drains (IBTA 10.3.1.6). WQEs of which a packet was ever sent, and what lies
 * before them, are finished, with all repetitions; no other begins. Then the program is told, and
 * may change attributes and WQEs; with RTS the queue goes on behind the last one that began.
 */
#include "emu/nicmodel/rc.h"

static bool begun(const struct rc_req *req, uint32_t seq)
{
	const struct rc_swqe *w = &req->wq[seq & (req->ring.bbs - 1)];

	return w->npsn > 0 && psn_diff(req->max_psn, w->first_psn) > 0;
}

void rc_sqd_enter(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	req->sqd_seq = req->cur;
	for (uint32_t seq = req->cur; seq != req->head; seq++) {
		if (begun(req, seq))
			req->sqd_seq = seq + 1;
	}
	req->sqd_drained = false;
	nm_qp_schedule(qp);
}

bool rc_sqd_holds(const struct nm_qp *qp)
{
	const struct rc_req *req = &qp->rc->req;

	return qp->state == PRM_QP_SQD && (int32_t)(req->cur - req->sqd_seq) >= 0;
}

void rc_sqd_check(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	if (qp->state != PRM_QP_SQD || req->sqd_drained || req->tail != req->sqd_seq)
		return;
	req->sqd_drained = true;
	nm_eq_qp_event(qp->obj.nic, PRM_EVENT_SQ_DRAINED, qp->obj.number);
}

bool rc_sqd_drained(const struct nm_qp *qp)
{
	return qp->state == PRM_QP_SQD && qp->rc->req.sqd_drained;
}

/* What was decoded or fetched and did not begin is fetched again: the program may have changed it
 * (mlx5dv_qp_cancel_posted_send_wrs makes NOPs of WQEs). */
void rc_sqd_leave(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	if (!qp->has_sq)
		return;
	if (req->head != req->sqd_seq) {
		const struct rc_swqe *w = rc_swqe_at(req, req->sqd_seq);

		req->next_idx = w->wqe_idx;
		req->next_psn = w->first_psn;
		req->head = req->sqd_seq;
		req->wr_valid = false;
		rc_gather_reset(qp);
	}
	rc_wait_end(qp);
	rc_xfer_cancel(&req->fetch);
	req->fetch_bbs = 0;
	req->peeking = false;
	req->fetched = req->next_idx;
	rc_req_look(qp, true);
}
