/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder: an accepted packet changes memory.
 *
 * rc_exec() may be called many times for one packet: whatever must not happen twice is kept in the
 * operation (stage, done) or is done last.
 */
#include "emu/nicmodel/rc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_NEW, STAGE_CHECKED, STAGE_RECV };

static enum nm_diag refusal_of(uint8_t nak)
{
	return nak == ROCE_NAK_ACCESS	 ? NM_DIAG_REQUEST_ACCESS
	       : nak == ROCE_NAK_INV_REQ ? NM_DIAG_REQUEST_INVALID
					 : NM_DIAG_REQUEST_OP;
}

void rc_refuse(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause, const char *fmt, ...)
{
	char why[NM_WHY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	nm_diagnose(qp->obj.nic, refusal_of(nak), qp->obj.number,
		    "the request with PSN 0x%06x is refused: %s", psn, why);
	qp->service->refused(qp, psn, nak, cause);
}

void rc_refused(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause)
{
	struct rc_resp *resp = &qp->rc->resp;

	resp->dead = true;
	resp->nak_due = true;
	resp->nak_syndrome = nak;
	resp->nak_psn = psn;
	resp->cause = cause;
	/* IBTA 11.6.3.2: what the request asks for is wrong, or this side could not do it. */
	resp->event = nak == ROCE_NAK_ACCESS ? PRM_EVENT_WQ_ACCESS_ERROR
		      : nak == ROCE_NAK_OP   ? PRM_EVENT_WQ_CATAS_ERROR
					     : PRM_EVENT_WQ_INVAL_REQ_ERROR;
	NM_COUNT(qp, resp_remote_access_errors, nak == ROCE_NAK_ACCESS);
	nm_qp_schedule(qp);
}

void rc_not_ready(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;

	resp->epsn = op->psn;
	resp->open = op->prev_open;
	resp->silent = true;
	resp->nak_due = true;
	resp->nak_syndrome = ROCE_AETH_RNR | (qp->min_rnr_nak & 0x1f);
	resp->nak_psn = op->psn;
}

static int not_ready(struct nm_qp *qp, const struct rc_op *op)
{
	nm_diagnose(qp->obj.nic, NM_DIAG_NO_RECEIVE, qp->obj.number,
		    "%s with PSN 0x%06x needs a receive WQE, and all that were posted are used: %s",
		    op->info->name, op->psn, qp->service->reliable ? "RNR NAK" : "dropped");
	NM_COUNT(qp, out_of_buffer, 1);
	qp->service->not_ready(qp, op);
	return -ECANCELED;
}

static int take_recv(struct nm_qp *qp, const struct rc_op *op)
{
	int rc = rc_recv_take(qp);

	if (rc == -EAGAIN)
		return not_ready(qp, op);
	if (rc == -EBADMSG) {
		rc_refuse(qp, op->psn, ROCE_NAK_OP, RC_CAUSE_RECV_WQE,
			  "the receive queue cannot be read");
		return -ECANCELED;
	}
	return rc;
}

/* Much of a train goes in one piece where that is mapped, and else a packet's worth at a time. */
static uint32_t piece(const struct nm_qp *qp, const struct rc_op *op, const struct nm_mkey *mkey,
		      uint64_t va, uint32_t len)
{
	if (op->done < op->pre_len) /* it lies elsewhere */
		return op->pre_len - op->done < len ? op->pre_len - op->done : len;
	if (len <= qp->mtu || (!op->moving && nm_mkey_ptr(mkey, va, len)))
		return len;
	return qp->mtu;
}

/* Bytes [done, done+len) of the operation to va of a checked key: 0, -EINPROGRESS, -EFAULT,
 * -ENODATA. */
static int place(struct nm_qp *qp, struct rc_op *op, struct nm_mkey *mkey, uint64_t va,
		 uint32_t len)
{
	struct rc_resp *resp = &qp->rc->resp;
	bool pre = op->done < op->pre_len;
	uint8_t *bytes = pre ? op->pre : op->bytes;
	uint32_t off = pre ? op->done : op->done - op->pre_len;
	void *ptr;
	int rc;

	if (op->moving) {
		rc = rc_xfer_poll(&resp->xfer);
	} else {
		ptr = nm_mkey_ptr(mkey, va, len);
		if (ptr &&
		    nm_touch_key(qp->obj.nic, qp->obj.number, NM_DMA_SCATTER, true, mkey, va, len))
			return -EFAULT;
		if (ptr)
			return rc_copy_payload(nm_mkey_space(mkey, va), ptr, op->pkt, bytes, off,
					       len);
		if (op->pkt)
			return -EINPROGRESS; /* to the queue, where the payload is the operation's
						own */
		rc = rc_xfer_key(qp, &resp->xfer, NM_DMA_SCATTER, true, mkey, va, bytes + off, len);
	}
	op->moving = rc == -EINPROGRESS;
	return rc;
}

static struct nm_mkey *check(struct nm_qp *qp, uint32_t pdn, uint32_t key, uint64_t va,
			     uint64_t len, uint8_t need, char *why)
{
	struct nm_mkey *mkey = NULL;

	if (nm_mkey_check(qp->obj.nic, key, va, len, need, pdn, qp->obj.number, &mkey, why) !=
	    NM_KEY_OK)
		return NULL;
	return mkey;
}

static void push_recv(struct nm_qp *qp, const struct rc_op *op, uint8_t opcode, uint32_t byte_cnt)
{
	struct rc_resp *resp = &qp->rc->resp;

	rc_push(resp->recv.cq, &(struct nm_cqe){
				       .opcode = opcode,
				       .solicited = op->se,
				       .qpn = qp->obj.number,
				       .user_index = resp->recv.user_index,
				       .wqe_counter = resp->recv.wqe_idx,
				       .byte_cnt = byte_cnt,
				       .imm = op->imm,
				       .src_qpn = op->src_qpn,
				       .src_flags = op->cqe_flags,
				       .slid = op->slid,
			       });
	resp->recv.have = false;
}

/* ---- SEND ---- */

/* The payload into the receive WQE's segments. */
static int scatter_recv(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_recv *recv = &qp->rc->resp.recv;
	char why[NM_WHY_MAX];

	while (op->done < op->len) {
		uint32_t room = recv->sges[recv->sge].len - recv->sge_off;
		uint32_t n = room < op->len - op->done ? room : op->len - op->done;
		uint64_t va = recv->sges[recv->sge].va + recv->sge_off;
		struct nm_mkey *mkey;
		int rc;

		if (n == 0) {
			recv->sge++;
			recv->sge_off = 0;
			continue;
		}
		mkey = op->moving ? NULL
				  : check(qp, recv->pdn, recv->sges[recv->sge].lkey, va, n,
					  NM_ACC_LW, why);
		if (!mkey && !op->moving) {
			rc_refuse(qp, op->psn, ROCE_NAK_OP, RC_CAUSE_RECV_LKEY,
				  "receive WQE %u: %s", recv->wqe_idx, why);
			return -ECANCELED;
		}
		n = piece(qp, op, mkey, va, n);
		rc = place(qp, op, mkey, va, n);
		if (rc == -EINPROGRESS || rc == -ENODATA)
			return rc;
		if (rc) {
			rc_refuse(qp, op->psn, ROCE_NAK_OP, RC_CAUSE_RECV_LKEY,
				  "receive WQE %u: its memory is gone", recv->wqe_idx);
			return -ECANCELED;
		}
		op->done += n;
		recv->sge_off += n;
	}
	return 0;
}

/*
 * The message is there; its key must go before its completion says so. What cannot be invalidated
 * is an error of class J (IBTA 9.9.6.3); that the requester hears of it as of an operational error
 * is a guess.
 */
static int invalidate(struct nm_qp *qp, const struct rc_op *op)
{
	char why[NM_WHY_MAX];

	if (!nm_mkey_invalidate(qp->obj.nic, op->imm, op->pdn, qp->obj.number, why))
		return 0;
	rc_refuse(qp, op->psn, ROCE_NAK_OP, RC_CAUSE_RECV_INVALIDATE,
		  "%s cannot invalidate key 0x%08x: %s", op->info->name, op->imm, why);
	return -ECANCELED;
}

/* From its receive WQE's first byte, also if a message that was lost has been there (UC). */
static int begin_send(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_recv *recv = &qp->rc->resp.recv;

	recv->got = 0;
	recv->sge = 0;
	recv->sge_off = 0;
	return take_recv(qp, op);
}

static int exec_send(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_recv *recv = &qp->rc->resp.recv;
	uint32_t off;
	uint8_t sge;
	uint64_t got;
	int rc;

	if (op->stage == STAGE_NEW) {
		rc = op->info->flags & RF_FIRST ? begin_send(qp, op) : 0;
		if (rc)
			return rc;
		got = recv->got + op->len;
		if (got > recv->total) {
			NM_COUNT(qp, resp_local_length_error, 1);
			rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_LENGTH,
				  "receive WQE %u holds %llu bytes, the message has at least %llu",
				  recv->wqe_idx, (unsigned long long)recv->total,
				  (unsigned long long)got);
			return -ECANCELED;
		}
		op->stage = STAGE_RECV;
	}
	sge = recv->sge;
	off = recv->sge_off;
	rc = scatter_recv(qp, op);
	if (rc == -ENODATA) {
		recv->sge = sge;
		recv->sge_off = off;
	}
	if (rc)
		return rc;
	if ((op->info->flags & RF_INV) && invalidate(qp, op))
		return -ECANCELED;
	recv->got += op->len;
	if (op->info->flags & RF_LAST)
		push_recv(qp, op,
			  op->info->flags & RF_IMM   ? PRM_CQE_RESP_SEND_IMM
			  : op->info->flags & RF_INV ? PRM_CQE_RESP_SEND_INV
						     : PRM_CQE_RESP_SEND,
			  (uint32_t)recv->got);
	return 0;
}

/* ---- WRITE ---- */

static int begin_write(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	char why[NM_WHY_MAX];

	if (!qp->rwe) {
		rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
			  "the QP does not allow remote writes (rwe is 0)");
		return -ECANCELED;
	}
	if (op->dma_len > 0 && !check(qp, op->pdn, op->rkey, op->va, op->dma_len, NM_ACC_RW, why)) {
		rc_refuse(qp, op->psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS, "%s", why);
		return -ECANCELED;
	}
	NM_COUNT(qp, rx_write_requests, 1);
	resp->w_va = op->va;
	resp->w_rkey = op->rkey;
	resp->w_len = op->dma_len;
	resp->w_left = op->dma_len;
	return 0;
}

static int place_write(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	char why[NM_WHY_MAX];

	while (op->done < op->len) {
		uint64_t va = resp->w_va + op->done;
		uint32_t n = op->len - op->done;
		struct nm_mkey *mkey = NULL;
		int rc;

		if (!op->moving) {
			mkey = check(qp, op->pdn, resp->w_rkey, va, n, NM_ACC_RW, why);
			if (!mkey) {
				rc_refuse(qp, op->psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS, "%s",
					  why);
				return -ECANCELED;
			}
		}
		n = piece(qp, op, mkey, va, n);
		rc = place(qp, op, mkey, va, n);
		if (rc == -EFAULT) {
			rc_refuse(qp, op->psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS,
				  "the memory behind key 0x%08x at 0x%llx is gone", resp->w_rkey,
				  (unsigned long long)va);
			return -ECANCELED;
		}
		if (rc)
			return rc;
		op->done += n;
	}
	return 0;
}

static int exec_write(struct nm_qp *qp, struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	bool last = (op->info->flags & RF_LAST) != 0;
	int rc;

	if (op->stage == STAGE_NEW) {
		rc = op->info->flags & RF_FIRST ? begin_write(qp, op) : 0;
		if (rc)
			return rc;
		if (last ? op->len != resp->w_left : op->len >= resp->w_left) {
			rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
				  "%s of %u bytes, but %llu of the %llu bytes of the message are "
				  "left",
				  op->info->name, op->len, (unsigned long long)resp->w_left,
				  (unsigned long long)resp->w_len);
			return -ECANCELED;
		}
		op->stage = STAGE_CHECKED;
	}
	if (op->stage == STAGE_CHECKED && (op->info->flags & RF_IMM)) {
		rc = take_recv(qp, op);
		if (rc)
			return rc;
		op->stage = STAGE_RECV;
	}
	rc = place_write(qp, op);
	if (rc)
		return rc;
	resp->w_va += op->len;
	resp->w_left -= op->len;
	if (op->info->flags & RF_IMM)
		push_recv(qp, op, PRM_CQE_RESP_WR_IMM, (uint32_t)resp->w_len);
	return 0;
}

/* ---- READ and atomics ---- */

struct rc_rd *rc_rd_take(struct nm_qp *qp, const struct rc_op *op)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_rd *rd;

	if (!resp->rds) {
		resp->nrds = qp->max_dest_rd_atomic ? qp->max_dest_rd_atomic : 1;
		resp->rds = calloc(resp->nrds, sizeof(*resp->rds));
		if (!resp->rds)
			resp->nrds = 0;
	}
	rd = resp->nrds ? &resp->rds[resp->rd_next] : NULL;

	if (!rd || (rd->pending && !rd->replay)) {
		rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
			  "more than %u READs and atomics are outstanding", resp->nrds);
		return NULL;
	}
	if (resp->bounce_rd == resp->rd_next) {
		rc_xfer_cancel(&resp->rd_xfer);
		resp->bounce_npsn = 0;
	}
	resp->rd_next = (resp->rd_next + 1) % resp->nrds;
	*rd = (struct rc_rd){
		.valid = true,
		.pending = true,
		.atomic = (op->info->flags & RF_ATOMIC) != 0,
		.psn = op->psn,
		.npsn = op->npsn,
		.from_psn = op->psn,
		.cur_psn = op->psn,
		.end_psn = psn_add(op->psn, op->npsn),
		.va = op->va,
		.rkey = op->rkey,
		.pdn = op->pdn,
		.len = op->dma_len,
		.msn = (resp->msn + 1) & ROCE_PSN_MASK,
	};
	return rd;
}

static int exec_read(struct nm_qp *qp, struct rc_op *op)
{
	char why[NM_WHY_MAX];

	if (!qp->rre) {
		rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
			  "the QP does not allow remote reads (rre is 0)");
		return -ECANCELED;
	}
	if (op->dma_len > 0 && !check(qp, op->pdn, op->rkey, op->va, op->dma_len, NM_ACC_RR, why)) {
		rc_refuse(qp, op->psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS, "%s", why);
		return -ECANCELED;
	}
	NM_COUNT(qp, rx_read_requests, 1);
	return rc_rd_take(qp, op) ? 0 : -ECANCELED;
}

int rc_exec(struct nm_qp *qp, struct rc_op *op)
{
	uint16_t flags = op->info->flags;

	if (op->bad) {
		rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
			  "%s of %u bytes: %s", op->info->name, op->len, op->bad);
		return -ECANCELED;
	}
	if (qp->service->admit && qp->service->admit(qp, op))
		return -ECANCELED;
	if (flags & RF_SEND)
		return exec_send(qp, op);
	if (flags & RF_WRITE)
		return exec_write(qp, op);
	if (flags & RF_READ)
		return exec_read(qp, op);
	return rc_exec_atomic(qp, op);
}
