/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive WQEs of a shared queue. They form a list: a WQE names the one behind it, and software
 * links them again in the order in which it frees them, so the order is the list's and not the
 * ring's (PRM, SRQ). The link is read together with the WQE: software changes that of a WQE only
 * after it was consumed and freed again.
 */
#include "emu/nicmodel/srq.h"

#include <string.h>

static uint32_t size_of(const struct nm_srq *srq)
{
	return 1u << srq->log_size;
}

static uint32_t stride_of(const struct nm_srq *srq)
{
	return 1u << srq->log_stride;
}

/* Nothing more can be taken. Its QPs find out when they need a WQE. */
static void die(struct nm_srq *srq, const char *why)
{
	nm_diagnose(srq->obj.nic, NM_DIAG_SRQ, 0, "SRQ 0x%06x is in error: %s", srq->obj.number,
		    why);
	rc_xfer_cancel(&srq->xfer);
	srq->fetching = false;
	srq->dead = true;
	nm_eq_srq_event(srq->obj.nic, PRM_EVENT_SRQ_CATAS_ERROR, srq->obj.number);
}

/* `posted` from the record: 0, -EINPROGRESS, -EBADMSG. */
static int read_producer(struct nm_srq *srq)
{
	uint32_t word;
	int rc = nm_dbr_read(srq->obj.nic, &srq->dbr, 0, &word);

	if (rc == -EINPROGRESS)
		return rc;
	if (rc) {
		die(srq, "its doorbell record cannot be read");
		return -EBADMSG;
	}
	if ((uint16_t)(word - srq->taken) > size_of(srq)) {
		nm_diagnose(srq->obj.nic, NM_DIAG_PRODUCER, 0,
			    "SRQ 0x%06x: the record says %u WQEs were posted, but %u are taken and "
			    "the queue holds %u",
			    srq->obj.number, word & 0xffff, srq->taken, size_of(srq));
		die(srq, "its doorbell record is not one that its size allows");
		return -EBADMSG;
	}
	srq->posted = (uint16_t)word;
	return 0;
}

/* The WQE at the head into the NIC's memory: 0, -EINPROGRESS, -EBADMSG. `qp` asks. */
static int fetch(struct nm_srq *srq, struct nm_qp *qp)
{
	uint64_t off = (uint64_t)srq->head << srq->log_stride;
	uint32_t len = stride_of(srq);
	const void *ptr;
	int rc;

	if (srq->fetched)
		return 0;
	if (srq->fetching) {
		rc = rc_xfer_poll(&srq->xfer);
	} else if (srq->head >= size_of(srq)) {
		die(srq, "the WQE before names one that is not in the queue as the next");
		return -EBADMSG;
	} else {
		ptr = nm_mem_ptr(&srq->mem, off, len);
		rc = ptr ? rc_ring_copy(qp, &srq->mem, ptr, off, srq->wqe, len)
			 : rc_xfer_ring(qp, &srq->xfer, &srq->mem, off, srq->wqe, len);
	}
	srq->fetching = rc == -EINPROGRESS;
	srq->fetched = rc == 0;
	if (rc && rc != -EINPROGRESS) {
		die(srq, "its memory cannot be read");
		return -EBADMSG;
	}
	return rc;
}

static void observe(const struct nm_srq *srq, const struct nm_qp *qp)
{
	struct nm_event ev = {
		.kind = NM_EV_FETCH,
		.qpn = qp->obj.number,
		.fetch = {.receive = true,
			  .wqe_idx = srq->taken,
			  .slot = srq->head,
			  .wqe = srq->wqe,
			  .len = stride_of(srq)},
	};

	if (nm_watched(srq->obj.nic, NM_EV_FETCH))
		nm_observe(srq->obj.nic, &ev);
}

/* ---- the limit ---- */

static void busy(struct nm_srq *srq)
{
	if (srq->busy)
		return;
	srq->busy = true;
	srq->busy_next = srq->obj.nic->busy_srqs;
	srq->obj.nic->busy_srqs = srq;
}

static void not_busy(struct nm_srq *srq)
{
	struct nm_srq **at = &srq->obj.nic->busy_srqs;

	while (*at && *at != srq)
		at = &(*at)->busy_next;
	if (*at)
		*at = srq->busy_next;
	srq->busy = false;
}

/* What the NIC knows of may be old: the record decides. */
static void check_limit(struct nm_srq *srq)
{
	if (srq->dead || !srq->limit || (uint16_t)(srq->posted - srq->taken) >= srq->limit)
		return;
	if (read_producer(srq) == -EINPROGRESS) {
		busy(srq);
		return;
	}
	if (srq->dead || (uint16_t)(srq->posted - srq->taken) >= srq->limit)
		return;
	srq->limit = 0;
	nm_eq_srq_event(srq->obj.nic, PRM_EVENT_SRQ_RQ_LIMIT, srq->obj.number);
}

void nm_srq_arm(struct nm_srq *srq, uint16_t limit)
{
	srq->limit = limit;
	check_limit(srq);
}

bool nm_srqs_progress(struct nm_nic *nic)
{
	struct nm_srq *list = nic->busy_srqs;
	bool moved = false;

	nic->busy_srqs = NULL;
	while (list) {
		struct nm_srq *srq = list;

		list = srq->busy_next;
		srq->busy = false;
		check_limit(srq);
		moved |= !srq->busy;
	}
	return moved;
}

void nm_srqs_cq_died(const struct nm_cq *cq)
{
	const struct nm_table *table = &cq->obj.nic->table[NM_OBJ_SRQ];

	for (uint32_t i = 0; i < table->cap; i++) {
		struct nm_srq *srq = (struct nm_srq *)table->slot[i];

		if (srq && srq->cq == cq && !srq->dead)
			die(srq, "its CQ is in error");
	}
}

/* ---- for the responder ---- */

static int take(struct nm_srq *srq, struct nm_qp *qp)
{
	const uint8_t *segs = srq->cyclic ? srq->wqe : srq->wqe + NM_SRQ_NEXT_SEG;
	struct rc_recv to = {
		.wqe_idx = (uint16_t)(srq->cyclic ? srq->taken : srq->head),
		.pdn = srq->pdn,
		.cq = srq->cq ? srq->cq : qp->cq_rcv,
		.user_index = srq->cq ? srq->user_index : qp->user_index,
		.srq = srq,
	};
	int rc = 0;

	if (srq->dead)
		return -EBADMSG;
	if (srq->taken == srq->posted)
		rc = read_producer(srq);
	if (rc)
		return rc;
	if (srq->taken == srq->posted)
		return -EAGAIN;
	rc = fetch(srq, qp);
	if (rc)
		return rc;
	observe(srq, qp);
	rc_recv_bind(qp, &to, segs, (uint32_t)(srq->wqe + stride_of(srq) - segs));
	srq->taken++;
	srq->head = srq->cyclic ? srq->taken & (size_of(srq) - 1) : prm_load32(srq->wqe) & 0xffff;
	srq->fetched = false;
	check_limit(srq);
	return 0;
}

static int shared_take(struct nm_qp *qp)
{
	struct nm_srq *srq =
		(struct nm_srq *)nm_obj_get(qp->obj.nic, NM_OBJ_SRQ, qp->rc->resp.srqn);

	/* A connection's own queue is in use as long as it lives; XRC's was looked up for this
	 * packet. */
	assert(srq);
	return take(srq, qp);
}

static void shared_cancel(struct nm_qp *qp)
{
	(void)qp; /* what is under way is the queue's, and for whoever comes next */
}

/* What no message took stays for the other QPs (IBTA 10.2.9.4). */
static void shared_flush(struct nm_qp *qp, uint32_t *left)
{
	struct rc_resp *resp = &qp->rc->resp;

	if (resp->recv.have && *left > 0) {
		rc_fail_recv(qp, RC_CAUSE_FLUSH);
		(*left)--;
	}
	if (resp->last_wqe_told)
		return;
	resp->last_wqe_told = true;
	qp->rc->moved = true;
	nm_eq_qp_event(qp->obj.nic, PRM_EVENT_SRQ_LAST_WQE, qp->obj.number);
}

const struct rc_recv_ops rc_recv_shared = {
	.take = shared_take, .cancel = shared_cancel, .flush = shared_flush};

void nm_srq_detach(struct nm_srq *srq)
{
	const struct nm_table *table = &srq->obj.nic->table[NM_OBJ_QP];

	for (uint32_t i = 0; i < table->cap; i++) {
		struct nm_qp *qp = (struct nm_qp *)table->slot[i];

		if (!qp || !qp->rc || !qp->rc->resp.recv.have || qp->rc->resp.recv.srq != srq)
			continue;
		qp->rc->resp.recv.have = false;
		qp->rc->resp.recv_lost = true;
	}
	rc_xfer_cancel(&srq->xfer);
	not_busy(srq);
}
