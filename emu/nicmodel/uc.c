// SPDX-License-Identifier: BSD-3-Clause
/*
 * Unreliable connection, responder: which packets make a message (IBTA 9.8.2.2).
 *
 * A gap in the PSNs loses the message it falls into, and nobody is told; the next packet that
 * begins a message is taken whatever its PSN is. The receive WQE of a lost message serves the next
 * one.
 */
#include "emu/nicmodel/rc.h"

/* What is wrong with the packet, for its place in the message is right; NULL: nothing. */
static const char *malformed(const struct nm_qp *qp, const struct rc_op *op)
{
	uint16_t flags = op->info->flags;

	if (!(flags & RF_LAST) && op->len != op->npsn * qp->mtu)
		return "only the last packet of a message may be shorter than the path MTU";
	if (op->len > op->npsn * qp->mtu)
		return "it is longer than the path MTU";
	if ((flags & RF_LAST) && !(flags & RF_FIRST) && op->len == 0)
		return "the last packet of a long message is empty";
	return NULL;
}

/* Does the packet belong to a message that may still be whole? Opens and closes messages. */
static bool in_message(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint16_t flags = op->info->flags;
	bool gap = op->psn != resp->epsn;
	bool lost = resp->open && (gap || (flags & RF_FIRST) || !(flags & resp->open));

	if (gap)
		NM_COUNT(qp, out_of_sequence, 1);
	if (lost)
		nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
			    "%s with PSN 0x%06x came in the middle of a message, PSN 0x%06x was "
			    "expected: the message is lost",
			    op->info->name, op->psn, resp->epsn);
	resp->epsn = psn_add(op->psn, op->npsn);
	if (lost)
		resp->open = 0;
	if (!(flags & RF_FIRST) && !resp->open) {
		if (!lost && !resp->silent)
			nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
				    "%s with PSN 0x%06x continues no message: dropped, and so is "
				    "what follows until a message begins",
				    op->info->name, op->psn);
		resp->silent = true;
		return false;
	}
	resp->silent = false;
	if (flags & RF_FIRST)
		resp->message++;
	resp->open = flags & RF_LAST ? 0 : flags & (RF_SEND | RF_WRITE);
	return true;
}

void uc_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_op op;
	const char *why;

	if (resp->dead)
		return;
	rc_established(qp);
	rc_op_parse(qp, pkt, bth, &op);
	nm_qp_schedule(qp);
	if (!in_message(qp, &op))
		return;
	op.message = resp->message;
	why = malformed(qp, &op);
	if (why) {
		nm_diagnose(qp->obj.nic, NM_DIAG_PACKET, qp->obj.number,
			    "%s of %u bytes: %s: the message is lost", op.info->name, op.len, why);
		ur_lose(qp, &op);
		return;
	}
	ur_accept(qp, &op);
}
