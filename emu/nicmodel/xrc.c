// SPDX-License-Identifier: BSD-3-Clause
/*
 * Extended reliable connection: a reliable connection in one direction, whose every request names
 * the shared receive queue that it is for. The target's QP has neither PD nor receive queue: those
 * of the named queue count, for remote keys too, and it must be of the QP's domain.
 */
#include "emu/nicmodel/srq.h"

#include <stdio.h>

/* NULL: nothing is wrong with naming it; else what. */
static const char *wrong_with(const struct nm_qp *qp, const struct rc_op *op,
			      const struct nm_srq *srq)
{
	if (!(op->info->flags & RF_FIRST) && op->srqn != qp->rc->resp.srqn)
		return "its message began for another one";
	if (qp->rc->resp.recv_lost)
		return "that of the message under way was destroyed";
	if (!srq)
		return "it does not exist";
	if (srq->kind != NM_SRQ_XRC)
		return "it is not one of XRC";
	if (srq->xrcd != qp->xrcd)
		return "it is of another XRC domain";
	return NULL;
}

/*
 * Looked up each time: a queue may be destroyed while a target's QP lives, in the middle of a
 * message too. That the NAK is "invalid request" is a guess.
 */
int xrc_admit(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	const struct nm_srq *srq =
		(const struct nm_srq *)nm_obj_get(qp->obj.nic, NM_OBJ_SRQ, op->srqn);
	const char *wrong = wrong_with(qp, op, srq);

	if (!wrong) {
		resp->srqn = op->srqn;
		op->pdn = srq->pdn;
		return 0;
	}
	rc_xfer_cancel(&resp->xfer);
	rc_atomic_leave(qp);
	op->moving = false;
	rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ, "%s names SRQ 0x%06x: %s",
		  op->info->name, op->srqn, wrong);
	return -ECANCELED;
}

void xrc_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	bool response = (roce_ops[bth->opcode].flags & RF_RESP) != 0;

	if (response ? qp->has_sq : qp->xrcd != NULL) {
		rc_receive(qp, pkt, bth);
		/* The ACK of a message before what its completion makes the program post on the
		 * initiator beside it, as within a QP of RC (qp.c). */
		if (!response)
			nm_qp_schedule_first(qp);
	} else {
		nm_diagnose(qp->obj.nic, NM_DIAG_PACKET, qp->obj.number,
			    "%s with PSN 0x%06x for an XRC QP that %s: dropped",
			    roce_ops[bth->opcode].name, bth->psn,
			    response ? "sends nothing" : "is no target");
	}
}
