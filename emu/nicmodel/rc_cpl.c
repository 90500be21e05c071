/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions of the send queue, strictly in order, and the flush of both queues in ERR, or of the
 * send queue in SQER.
 *
 * Syndromes: enum prm_cqe_syndrome. Vendor codes: what public reports of ConnectX error CQEs show,
 * where there is one.
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>

const struct rc_error rc_errors[RC_CAUSES] = {
	[RC_CAUSE_FLUSH] = {PRM_SYND_WR_FLUSH, 0xf9,
			    "public dumps: nvidia/nccl, linux-nvme/nvme-cli"},
	[RC_CAUSE_WQE] = {PRM_SYND_LOCAL_QP_OP, 0x68, "public dump: openucx/ucx"},
	[RC_CAUSE_LENGTH] = {PRM_SYND_LOCAL_LENGTH, 0x00, "guess"},
	[RC_CAUSE_LKEY] = {PRM_SYND_LOCAL_PROT, 0x52, "public dump: openucx/ucx"},
	[RC_CAUSE_MEMORY] = {PRM_SYND_LOCAL_PROT, 0x51, "public dump: openucx/ucx"},
	[RC_CAUSE_BIND] = {PRM_SYND_MW_BIND, 0x00, "guess"},
	[RC_CAUSE_RETRY] = {PRM_SYND_RETRY_EXC, 0x81, "public dumps: openucx/ucx, nvidia/nccl"},
	[RC_CAUSE_RNR_RETRY] = {PRM_SYND_RNR_RETRY_EXC, 0x87, "guess"},
	[RC_CAUSE_NAK_INV_REQ] = {PRM_SYND_REMOTE_INVAL_REQ, 0x8a, "public dump: openucx/ucx"},
	[RC_CAUSE_NAK_ACCESS] = {PRM_SYND_REMOTE_ACCESS, 0x88, "public dump: openucx/ucx"},
	[RC_CAUSE_NAK_OP] = {PRM_SYND_REMOTE_OP, 0x89, "public dump: openucx/ucx"},
	[RC_CAUSE_BAD_RESP] = {PRM_SYND_BAD_RESP, 0x00, "guess"},
	[RC_CAUSE_RECV_LENGTH] = {PRM_SYND_LOCAL_LENGTH, 0x00, "guess"},
	[RC_CAUSE_RECV_LKEY] = {PRM_SYND_LOCAL_PROT, 0x52, "guess, as for a send WQE"},
	[RC_CAUSE_RECV_WQE] = {PRM_SYND_LOCAL_QP_OP, 0xd6, "public report on a receive queue"},
	[RC_CAUSE_RECV_INV_REQ] = {PRM_SYND_REMOTE_INVAL_REQ, 0x8a, "guess, as for a send WQE"},
	[RC_CAUSE_RECV_ACCESS] = {PRM_SYND_REMOTE_ACCESS, 0x88, "guess, as for a send WQE"},
	[RC_CAUSE_RECV_INVALIDATE] = {PRM_SYND_REMOTE_INVAL_REQ, 0x8a,
				      "IBTA 9.9.6.3, class J; the vendor code is a guess"},
};

void rc_push(struct nm_cq *cq, const struct nm_cqe *cqe)
{
	/* A full or broken CQ tells its QPs itself. */
	if (cq)
		(void)nm_cq_push(cq, cqe);
}

void rc_push_recv_error(struct nm_qp *qp, struct nm_cq *cq, uint32_t user_index, uint16_t wqe_idx,
			uint8_t cause)
{
	rc_push(cq, &(struct nm_cqe){
			    .opcode = PRM_CQE_RESP_ERR,
			    .solicited = true,
			    .qpn = qp->obj.number,
			    .user_index = user_index,
			    .wqe_counter = wqe_idx,
			    .syndrome = rc_errors[cause].syndrome,
			    .vendor_err = rc_errors[cause].vendor_err,
		    });
}

void rc_fail_recv(struct nm_qp *qp, uint8_t cause)
{
	struct rc_recv *recv = &qp->rc->resp.recv;

	rc_push_recv_error(qp, recv->cq, recv->user_index, recv->wqe_idx, cause);
	recv->have = false;
}

/* The codes that the program will see, and how sure we are of them. */
void rc_tell_error(struct nm_qp *qp, const char *queue, uint16_t wqe_idx, uint8_t cause,
		   const char *to)
{
	nm_diagnose(qp->obj.nic, NM_DIAG_ERROR, qp->obj.number,
		    "%s WQE %u completes with syndrome 0x%02x, vendor code 0x%02x (%s); the QP "
		    "goes to %s",
		    queue, wqe_idx, rc_errors[cause].syndrome, rc_errors[cause].vendor_err,
		    rc_errors[cause].source, to);
}

static void push_send_error(struct nm_qp *qp, const struct rc_swqe *w, uint8_t cause)
{
	struct rc_req *req = &qp->rc->req;

	if (w->ce == NM_CE_FIRST_ERROR && req->error_reported)
		return;
	req->error_reported = true;
	if (cause != RC_CAUSE_FLUSH)
		rc_tell_error(qp, "send", w->wqe_idx, cause,
			      qp->service->reliable ? "ERR" : "SQER");
	rc_push(qp->cq_snd, &(struct nm_cqe){
				    .opcode = PRM_CQE_REQ_ERR,
				    .solicited = true,
				    .qpn = qp->obj.number,
				    .user_index = qp->user_index,
				    .wqe_opcode = w->opcode,
				    .wqe_counter = w->wqe_idx,
				    .syndrome = rc_errors[cause].syndrome,
				    .vendor_err = rc_errors[cause].vendor_err,
			    });
}

static void push_send_done(struct nm_qp *qp, const struct rc_swqe *w)
{
	if (w->ce < NM_CE_ALWAYS)
		return;
	rc_push(qp->cq_snd, &(struct nm_cqe){
				    .opcode = PRM_CQE_REQ,
				    .solicited = w->se,
				    .qpn = qp->obj.number,
				    .user_index = qp->user_index,
				    .wqe_opcode = w->opcode,
				    .wqe_counter = w->wqe_idx,
				    .byte_cnt = (uint32_t)w->len,
			    });
}

static void pop(struct nm_qp *qp, const struct rc_swqe *w)
{
	struct rc_req *req = &qp->rc->req;

	if (w->issued) {
		assert(req->rd_out > 0);
		req->rd_out--;
	}
	assert(w->wqe_idx == req->ci);
	req->ci = (uint16_t)(req->ci + w->nbb);
	req->tail++;
	if ((int32_t)(req->una_seq - req->tail) < 0)
		req->una_seq = req->tail;
	if ((int32_t)(req->cur - req->tail) < 0)
		req->cur = req->tail;
}

void rc_complete_good(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	while (req->tail != req->head) {
		struct rc_swqe *w = rc_swqe_at(req, req->tail);

		if (w->landing || w->syndrome)
			break;
		/* What sends nothing is acknowledged as soon as it was passed. */
		if (req->tail == req->una_seq && w->npsn == 0 &&
		    (int32_t)(req->cur - req->tail) > 0)
			req->una_seq++;
		if (req->tail == req->una_seq)
			break;
		push_send_done(qp, w);
		NM_COUNT(qp, tx_messages, 1);
		pop(qp, w);
		qp->rc->moved = true;
		/* A fence or max_rd_atomic may have held the next one. */
		if (req->cur != req->head || req->next_idx != req->pi)
			nm_qp_schedule(qp);
	}
}

void rc_complete(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	struct rc_swqe *w;

	rc_complete_good(qp);
	w = rc_swqe_at(req, req->tail);
	if (req->tail == req->head || w->landing || !w->syndrome)
		return;
	push_send_error(qp, w, w->cause);
	pop(qp, w);
	/* IBTA 10.3.1.5: without acknowledgements only the send queue stops. */
	nm_qp_enter(qp, qp->service->reliable ? PRM_QP_ERR : PRM_QP_SQER);
}

static void flush_decoded(struct nm_qp *qp, uint32_t *left)
{
	struct rc_req *req = &qp->rc->req;

	while (req->tail != req->head && *left > 0) {
		struct rc_swqe *w = rc_swqe_at(req, req->tail);

		push_send_error(qp, w, RC_CAUSE_FLUSH);
		pop(qp, w);
		(*left)--;
		qp->rc->moved = true;
	}
}

/* WQEs that were posted but not looked at: only their control segment matters. */
static int flush_posted(struct nm_qp *qp, uint32_t *left)
{
	struct rc_req *req = &qp->rc->req;

	while (*left > 0) {
		uint32_t posted = (uint16_t)(req->pi - req->next_idx);
		char why[NM_WHY_MAX];
		struct nm_wr wr;
		int rc = rc_req_fetch(qp);

		if (rc == -EFAULT)
			req->pi = req->next_idx;
		if (rc)
			return rc;
		nm_wqe_decode(&req->ring, req->next_idx, &wr, why);
		if (wr.nbb > posted)
			wr.nbb = (uint8_t)posted;
		push_send_error(qp,
				&(struct rc_swqe){
					.wqe_idx = req->next_idx, .opcode = wr.opcode, .ce = wr.ce},
				RC_CAUSE_FLUSH);
		req->next_idx = (uint16_t)(req->next_idx + wr.nbb);
		req->ci = req->next_idx;
		(*left)--;
		qp->rc->moved = true;
	}
	return 0;
}

static void flush_sends(struct nm_qp *qp, uint32_t *left)
{
	struct rc_req *req = &qp->rc->req;
	int rc;

	if (!qp->has_sq)
		return;
	flush_decoded(qp, left);
	rc = rc_req_dbr(qp);
	if (rc == 0 && req->tail == req->head)
		rc = flush_posted(qp, left);
	if (rc == -EINPROGRESS)
		qp->rc->polling = true;
	if (*left == 0)
		nm_qp_schedule(qp);
}

void rc_flush_run(struct nm_qp *qp)
{
	uint32_t left = RC_TURN;

	flush_sends(qp, &left);
	qp->rc->recv_ops->flush(qp, &left);
	if (left == 0)
		nm_qp_schedule(qp);
}

void rc_flush_sends(struct nm_qp *qp)
{
	uint32_t left = RC_TURN;

	flush_sends(qp, &left);
}

void rc_sqer_leave(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t left = req->head - req->tail;

	flush_decoded(qp, &left);
	req->una = req->snd_psn;
	req->next_psn = req->snd_psn;
	req->una_seq = req->tail;
	req->cur = req->tail;
	req->error_reported = false;
	rc_req_look(qp, true);
}
