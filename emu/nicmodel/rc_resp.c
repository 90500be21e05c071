/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder: which request packets are accepted.
 *
 * Order of checks (IBTA 9.7.4): PSN, opcode sequence, length of the packet; then, when the packet
 * is executed (rc_exec.c), rights, receive WQE, key. An accepted packet is executed at once, or, if
 * memory can only be copied to, queued with its payload; what comes behind it waits in the same
 * queue, so that memory, CQEs, ACKs and NAKs keep the order of the PSNs.
 */
#include "emu/nicmodel/srq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void rc_resp_start(struct nm_qp *qp, uint32_t psn)
{
	struct rc_resp *resp = &qp->rc->resp;

	resp->epsn = psn;
	resp->xpsn = psn;
	resp->msn = 0;
	resp->srqn = qp->srq ? qp->srq->obj.number : 0;
}

/* ---- the queue ---- */

static void release(struct rc_resp *resp, struct rc_op *op)
{
	if (op->room > NM_MTU_MAX) { /* a train's: too large to keep */
		free(op);
		return;
	}
	op->next = resp->queue_free;
	resp->queue_free = op;
}

static void discard_queue(struct rc_resp *resp)
{
	while (resp->queue) {
		struct rc_op *op = resp->queue;

		resp->queue = op->next;
		release(resp, op);
	}
	resp->queue_tail = &resp->queue;
	resp->nqueue = 0;
}

void rc_resp_drop(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	rc_xfer_cancel(&resp->xfer);
	rc_atomic_leave(qp);
	qp->rc->recv_ops->cancel(qp);
	rc_xfer_cancel(&resp->rd_xfer);
	discard_queue(resp);
	for (uint32_t i = 0; i < resp->nrds; i++)
		resp->rds[i] = (struct rc_rd){0};
	resp->bounce_npsn = 0;
	resp->nak_due = false;
	resp->ack_due = false;
}

static bool copy_payload(const struct nm_packet *pkt, uint8_t *to)
{
	if (pkt->pull)
		return pkt->payload_len == 0 || pkt->pull(pkt, 0, to, pkt->payload_len) == 0;
	for (uint32_t i = 0; i < pkt->niov; i++) {
		memcpy(to, pkt->payload[i].iov_base, pkt->payload[i].iov_len);
		to += pkt->payload[i].iov_len;
	}
	return true;
}

/* What it takes of RC_QUEUE_MAX. */
static uint32_t queue_cost(const struct nm_qp *qp, const struct rc_op *op)
{
	return op->len > qp->mtu ? op->len / qp->mtu : 1;
}

bool rc_enqueue(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t len = op->len - op->pre_len;
	uint32_t room = len > NM_MTU_MAX ? len : NM_MTU_MAX;
	struct rc_op *copy = room > NM_MTU_MAX ? NULL : resp->queue_free;

	if (resp->nqueue + queue_cost(qp, op) > RC_QUEUE_MAX)
		return false;
	if (copy)
		resp->queue_free = copy->next;
	else
		copy = malloc(sizeof(*copy) + room);
	if (!copy)
		return false;
	*copy = *op;
	copy->next = NULL;
	copy->bytes = (uint8_t *)(copy + 1);
	copy->room = room;
	if (!copy_payload(op->pkt, copy->bytes)) {
		release(resp, copy);
		return false;
	}
	copy->pkt = NULL;
	*resp->queue_tail = copy;
	resp->queue_tail = &copy->next;
	resp->nqueue += queue_cost(qp, op);
	return true;
}

void rc_dequeue(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_op *op = resp->queue;

	resp->queue = op->next;
	if (!resp->queue)
		resp->queue_tail = &resp->queue;
	resp->nqueue -= queue_cost(qp, op);
	release(resp, op);
}

static void executed(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;

	resp->xpsn = psn_add(op->psn, op->npsn);
	if (op->info->flags & RF_LAST) {
		resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
		NM_COUNT(qp, rx_messages, 1);
	}
	/* READs and atomics are acknowledged by their response. */
	if (op->ackreq && !(op->info->flags & (RF_READ | RF_ATOMIC)))
		resp->ack_due = true;
}

static void run_queue(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	for (uint32_t i = 0; i < RC_TURN && resp->queue; i++) {
		struct rc_op *op = resp->queue;
		int rc = rc_exec(qp, op);

		if (rc == -EINPROGRESS) {
			qp->rc->polling = true;
			return;
		}
		qp->rc->moved = true;
		if (rc) {
			discard_queue(resp);
			return;
		}
		executed(qp, op);
		rc_dequeue(qp);
	}
	if (resp->queue) {
		nm_qp_schedule(qp);
	} else if (resp->overflow && !resp->silent) {
		/* Packets were dropped for want of room; now there is some. */
		resp->overflow = false;
		resp->silent = true;
		resp->nak_due = true;
		resp->nak_syndrome = ROCE_NAK_SEQ;
	}
}

void rc_resp_run(struct nm_qp *qp)
{
	run_queue(qp);
	rc_reply_run(qp);
}

/* ---- packets ---- */

static void duplicate_rd(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;

	for (uint32_t i = 0; i < resp->nrds; i++) {
		struct rc_rd *rd = &resp->rds[i];
		int32_t at = psn_diff(op->psn, rd->psn);

		if (!rd->valid || at < 0 || (uint32_t)at >= rd->npsn ||
		    rd->atomic != ((op->info->flags & RF_ATOMIC) != 0))
			continue;
		if (!rd->atomic && (op->rkey != rd->rkey || at + op->npsn > rd->npsn ||
				    op->va != rd->va + (uint64_t)(uint32_t)at * qp->mtu))
			break;
		rd->pending = true;
		rd->replay = true;
		rd->from_psn = op->psn;
		rd->cur_psn = op->psn;
		rd->end_psn = psn_add(op->psn, op->npsn);
		return;
	}
	nm_diagnose(
		qp->obj.nic, NM_DIAG_PACKET, qp->obj.number,
		"a repeated %s with PSN 0x%06x is none of the last %u READs and atomics: dropped",
		op->info->name, op->psn, resp->nrds);
}

/* A PSN that was accepted before (IBTA 9.7.5.1.2). */
static void duplicate(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;

	NM_COUNT(qp, duplicate_request, 1);
	if (psn_diff(op->psn, resp->xpsn) >= 0)
		return; /* its first copy is in the queue and will be answered */
	if (op->info->flags & (RF_READ | RF_ATOMIC))
		duplicate_rd(qp, op);
	else
		resp->ack_due = true;
}

static void out_of_sequence(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;

	NM_COUNT(qp, out_of_sequence, 1);
	if (resp->silent)
		return;
	nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
		    "%s with PSN 0x%06x came, PSN 0x%06x was expected: NAK sequence error",
		    op->info->name, op->psn, resp->epsn);
	resp->silent = true;
	resp->nak_due = true;
	resp->nak_syndrome = ROCE_NAK_SEQ;
}

/* What is wrong with the packet's opcode or length; NULL: nothing (IBTA 9.7.4.1.4, 9.7.4.1.6). */
static const char *malformed(const struct nm_qp *qp, const struct rc_op *op)
{
	uint16_t flags = op->info->flags;
	uint8_t open = qp->rc->resp.open;

	if ((flags & RF_FIRST) && open)
		return "a new message begins before the one under way has ended";
	if (!(flags & RF_FIRST) && !(flags & open))
		return "it continues a message that did not begin";
	if ((flags & RF_PAYLOAD) && !(flags & RF_LAST) && op->len != op->npsn * qp->mtu)
		return "only the last packet of a message may be shorter than the path MTU";
	if ((flags & RF_PAYLOAD) && op->len > op->npsn * qp->mtu)
		return "it is longer than the path MTU";
	if ((flags & RF_LAST) && !(flags & RF_FIRST) && op->len == 0)
		return "the last packet of a long message is empty";
	if ((flags & RF_ATOMIC) && op->atomic.bytes != 4 && op->atomic.bytes != 8)
		return "an atomic of neither 4 nor 8 bytes";
	if ((flags & RF_READ) && op->dma_len > 1u << 31)
		return "a READ of more than 2 GiB";
	return NULL;
}

void rc_op_parse(const struct nm_qp *qp, const struct nm_packet *pkt, const struct roce_bth *bth,
		 struct rc_op *op)
{
	const uint8_t *ext = pkt->hdr + ROCE_BTH_LEN;

	*op = (struct rc_op){
		.info = &roce_ops[bth->opcode],
		.opcode = bth->opcode,
		.se = bth->se,
		.ackreq = bth->ackreq,
		.psn = bth->psn,
		.npsn = pkt->segs ? pkt->segs : 1,
		.src_qpn = qp->remote_qpn,
		.len = pkt->payload_len,
		.pdn = qp->pdn,
		.pkt = pkt,
	};
	if (op->info->flags & RF_XRC) {
		op->srqn = prm_load32(ext) & 0xffffff;
		ext += ROCE_XRC_LEN;
	}
	if (op->info->flags & RF_ATOMIC) {
		op->va = prm_load64(ext);
		op->rkey = prm_load32(ext + 8);
		rc_atomic_parse(&op->atomic, (uint8_t)(bth->opcode - qp->service->opcode_base),
				ext + 12);
	} else if ((op->info->flags & RF_READ) ||
		   (op->info->flags & (RF_WRITE | RF_FIRST)) == (RF_WRITE | RF_FIRST)) {
		op->va = prm_load64(ext);
		op->rkey = prm_load32(ext + 8);
		op->dma_len = prm_load32(ext + 12);
		ext += ROCE_RETH_LEN;
	}
	if (op->info->flags & (RF_IMM | RF_INV))
		op->imm = prm_load32(ext);
	if ((op->info->flags & RF_READ) && op->dma_len > qp->mtu)
		op->npsn = (uint32_t)(((uint64_t)op->dma_len + qp->mtu - 1) / qp->mtu);
}

/* Its payload was gone when it was to be moved: as if the wire had lost it. */
static void lost(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;

	nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
		    "the payload of %s with PSN 0x%06x is gone: taken as lost", op->info->name,
		    op->psn);
	resp->epsn = op->psn;
	resp->open = op->prev_open;
	resp->silent = true;
	resp->nak_due = true;
	resp->nak_syndrome = ROCE_NAK_SEQ;
}

static void accept(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	int rc = -EINPROGRESS;

	op->bad = malformed(qp, op);
	op->prev_open = resp->open;
	resp->epsn = psn_add(op->psn, op->npsn);
	resp->open = op->info->flags & RF_LAST ? 0 : op->info->flags & (RF_SEND | RF_WRITE);
	resp->silent = false;
	resp->nak_due = false; /* what it would ask for has come */
	if (!resp->queue)
		rc = rc_exec(qp, op);
	if (rc == 0) {
		executed(qp, op);
	} else if (rc == -ENODATA) {
		lost(qp, op);
	} else if (rc == -EINPROGRESS && !rc_enqueue(qp, op)) {
		resp->epsn = op->psn;
		resp->open = op->prev_open;
		resp->overflow = true;
	}
}

void rc_established(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	if (resp->established)
		return;
	resp->established = true;
	if (qp->state == PRM_QP_RTR)
		nm_eq_qp_event(qp->obj.nic, PRM_EVENT_COMM_EST, qp->obj.number);
}

void rc_resp_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_op op;
	int32_t ahead;

	if (resp->dead)
		return;
	rc_established(qp);
	rc_op_parse(qp, pkt, bth, &op);
	ahead = psn_diff(op.psn, resp->epsn);
	if (ahead < 0)
		duplicate(qp, &op);
	else if (ahead > 0)
		out_of_sequence(qp, &op);
	else
		accept(qp, &op);
	nm_qp_schedule(qp);
}
