/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WAIT: a send queue stands still until a CQ's producer counter has passed an index (PRM,
 * cross-channel). The CQ may be any of the NIC; collapsed ones count as well.
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>

void rc_wait_end(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	struct nm_qp **at;

	if (!req->waiting_on)
		return;
	at = &req->waiting_on->waiters;
	while (*at != qp)
		at = &(*at)->rc->req.wait_next;
	*at = req->wait_next;
	req->wait_next = NULL;
	req->waiting_on = NULL;
}

int rc_wait(struct nm_qp *qp, uint32_t cqn, uint32_t index)
{
	struct rc_req *req = &qp->rc->req;
	struct nm_cq *cq = (struct nm_cq *)nm_obj_get(qp->obj.nic, NM_OBJ_CQ, cqn);

	rc_wait_end(qp);
	if (!cq)
		return -EPERM;
	/* Both counters have 24 bits, as PSNs have. */
	if (psn_diff(cq->visible & ROCE_PSN_MASK, psn_add(index, 1)) >= 0)
		return 0;
	req->waiting_on = cq;
	req->wait_next = cq->waiters;
	cq->waiters = qp;
	return -EAGAIN;
}

void nm_cq_wake_waiters(struct nm_cq *cq)
{
	while (cq->waiters) {
		struct nm_qp *qp = cq->waiters;

		assert(qp->rc->req.waiting_on == cq);
		rc_wait_end(qp);
		nm_qp_schedule(qp);
	}
}
