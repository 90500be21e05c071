// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the services without acknowledgements (UC, UD) share.
 *
 * Requester: a packet that the link took is done, so una follows snd_psn and a WQE completes when
 * its last packet has left. Responder: a message that cannot be executed is dropped, unless the
 * reason lies in the receive WQE itself (nm_service.fatal).
 */
#include "emu/nicmodel/rc.h"

/* One packet, and it counts as acknowledged. */
static int step(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	int rc = rc_req_step(qp);

	if (rc)
		return rc;
	req->una = req->snd_psn;
	req->una_seq = req->cur;
	return 0;
}

void ur_request(struct nm_qp *qp)
{
	rc_req_turn(qp, step);
}

void ur_refused(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause)
{
	struct rc_resp *resp = &qp->rc->resp;

	(void)psn;
	(void)nak;
	if (!(qp->service->fatal & 1u << cause))
		return;
	resp->dead = true;
	resp->cause = cause;
	resp->event = PRM_EVENT_WQ_CATAS_ERROR;
	nm_qp_schedule(qp);
}

void ur_not_ready(struct nm_qp *qp, const struct rc_op *op)
{
	(void)qp;
	(void)op;
}

/* 0: done or dropped; -EINPROGRESS. */
static int execute(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	int rc;

	if (resp->lost_valid && op->message == resp->lost_message)
		return 0;
	rc = rc_exec(qp, op);
	if (rc == -EINPROGRESS)
		return rc;
	if (rc)
		ur_lose(qp, op);
	else if (op->info->flags & RF_LAST)
		NM_COUNT(qp, rx_messages, 1);
	return 0;
}

void ur_lose(struct nm_qp *qp, const struct rc_op *op)
{
	qp->rc->resp.lost_message = op->message;
	qp->rc->resp.lost_valid = true;
}

void ur_accept(struct nm_qp *qp, struct rc_op *op)
{
	int rc = -EINPROGRESS;

	if (!qp->rc->resp.queue)
		rc = execute(qp, op);
	if (rc == -EINPROGRESS && !rc_enqueue(qp, op)) {
		nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
			    "%s with PSN 0x%06x finds %u packets waiting for memory: dropped",
			    op->info->name, op->psn, qp->rc->resp.nqueue);
		ur_lose(qp, op);
	}
}

void ur_respond(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	for (uint32_t i = 0; i < RC_TURN && resp->queue && !resp->dead; i++) {
		if (execute(qp, resp->queue) == -EINPROGRESS) {
			qp->rc->polling = true;
			return;
		}
		qp->rc->moved = true;
		rc_dequeue(qp);
	}
	if (resp->dead)
		rc_report_fatal(qp);
	else if (resp->queue)
		nm_qp_schedule(qp);
}
