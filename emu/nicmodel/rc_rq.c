/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP's own receive queue: no doorbell register, the record says how many WQEs were ever posted
 * (PRM, receive queue); they are consumed in the order of the ring.
 */
#include "emu/nicmodel/rc.h"

/* rq_pi from the record: 0, -EINPROGRESS, -EFAULT. */
static int read_producer(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t word;
	int rc = nm_dbr_read(qp->obj.nic, &qp->dbr, 0, &word);

	if (rc)
		return rc;
	if ((uint16_t)(word - resp->rq_ci) > 1u << qp->log_rq_size) {
		nm_diagnose(qp->obj.nic, NM_DIAG_PRODUCER, qp->obj.number,
			    "the record says %u receive WQEs were posted, but %u are consumed and "
			    "the ring "
			    "holds %u: ignored",
			    word & 0xffff, resp->rq_ci, 1u << qp->log_rq_size);
		return 0;
	}
	resp->rq_pi = (uint16_t)word;
	return 0;
}

static int fetch(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t slot = resp->rq_ci & ((1u << qp->log_rq_size) - 1);
	uint32_t len = 1u << qp->rq_stride_log;
	uint64_t off = (uint64_t)slot << qp->rq_stride_log;
	const void *ptr;
	int rc;

	if (resp->rq_fetching) {
		rc = rc_xfer_poll(&resp->rq_xfer);
	} else {
		ptr = nm_mem_ptr(&qp->mem, off, len);
		if (ptr)
			return rc_ring_copy(qp, &qp->mem, ptr, off, resp->rwqe, len);
		rc = rc_xfer_ring(qp, &resp->rq_xfer, &qp->mem, off, resp->rwqe, len);
	}
	resp->rq_fetching = rc == -EINPROGRESS;
	return rc;
}

static void observe(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct nm_event ev = {
		.kind = NM_EV_FETCH,
		.qpn = qp->obj.number,
		.fetch = {.receive = true,
			  .wqe_idx = resp->rq_ci,
			  .slot = resp->rq_ci & ((1u << qp->log_rq_size) - 1),
			  .wqe = resp->rwqe,
			  .len = 1u << qp->rq_stride_log},
	};

	if (nm_watched(qp->obj.nic, NM_EV_FETCH))
		nm_observe(qp->obj.nic, &ev);
}

static int own_take(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_recv to = {.pdn = qp->pdn, .cq = qp->cq_rcv, .user_index = qp->user_index};
	int rc;

	if (resp->rq_ci == resp->rq_pi) {
		rc = read_producer(qp);
		if (rc)
			return rc == -EINPROGRESS ? rc : -EBADMSG;
		if (resp->rq_ci == resp->rq_pi)
			return -EAGAIN;
	}
	rc = fetch(qp);
	if (rc)
		return rc == -EINPROGRESS ? rc : -EBADMSG;
	observe(qp);
	to.wqe_idx = resp->rq_ci;
	rc_recv_bind(qp, &to, resp->rwqe, 1u << qp->rq_stride_log);
	resp->rq_ci++;
	return 0;
}

static void own_cancel(struct nm_qp *qp)
{
	rc_xfer_cancel(&qp->rc->resp.rq_xfer);
	qp->rc->resp.rq_fetching = false;
}

static void own_flush(struct nm_qp *qp, uint32_t *left)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t word;
	int rc;

	/* One that a broken message holds is flushed first. */
	if (resp->recv.have)
		resp->rq_ci = resp->recv.wqe_idx;
	resp->recv.have = false;
	if (resp->rq_ci == resp->rq_pi) {
		if (qp->rc->now_ns < resp->flush_poll_ns)
			return;
		rc = nm_dbr_read(qp->obj.nic, &qp->dbr, 0, &word);
		if (rc == -EINPROGRESS) {
			qp->rc->polling = true;
			return;
		}
		if (rc == 0 && (uint16_t)(word - resp->rq_ci) <= 1u << qp->log_rq_size)
			resp->rq_pi = (uint16_t)word;
		resp->flush_poll_ns = qp->rc->now_ns + RC_ERR_RQ_POLL_NS;
	}
	while (resp->rq_ci != resp->rq_pi && *left > 0) {
		rc_push_recv_error(qp, qp->cq_rcv, qp->user_index, resp->rq_ci, RC_CAUSE_FLUSH);
		resp->rq_ci++;
		(*left)--;
		qp->rc->moved = true;
	}
}

const struct rc_recv_ops rc_recv_own = {.take = own_take, .cancel = own_cancel, .flush = own_flush};
