/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requester: WQEs become packets.
 *
 * One WQE at a time is `cur`; it sends until the window, the link, a fence or the turn stops it.
 * Retransmission is go-back-N: `cur` and snd_psn return to the oldest unacknowledged PSN, and the
 * packet that had this PSN is made again, wherever in its message it lies (IBTA 9.9.2.4.1).
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Opcodes of a message's packets: middle, last, first, only (first = 2, last = 1). */
static const uint8_t write_opcodes[4] = {ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST, ROCE_WRITE_FIRST,
					 ROCE_WRITE_ONLY};
static const uint8_t send_opcodes[4] = {ROCE_SEND_MIDDLE, ROCE_SEND_LAST, ROCE_SEND_FIRST,
					ROCE_SEND_ONLY};

void rc_req_start(struct nm_qp *qp, uint32_t psn)
{
	struct rc_req *req = &qp->rc->req;

	req->una = psn;
	req->snd_psn = psn;
	req->max_psn = psn;
	req->next_psn = psn;
	req->retry_left = qp->retry_count;
	req->rnr_left = qp->rnr_retry;
	req->rnr_timer = RC_RNR_NONE;
	rc_req_look(qp, true); /* WQEs may have been posted in RTR */
}

void rc_req_seek(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	req->cur = req->una_seq;
	req->snd_psn = req->una;
	req->wr_valid = false;
	req->rd_out = 0;
	for (uint32_t seq = req->tail; seq != req->head; seq++) {
		struct rc_swqe *w = rc_swqe_at(req, seq);

		if ((int32_t)(seq - req->una_seq) >= 0)
			w->issued = false;
		req->rd_out += w->issued;
	}
}

void rc_req_fail(struct nm_qp *qp, uint32_t seq, uint8_t cause)
{
	struct rc_swqe *w = rc_swqe_at(&qp->rc->req, seq);

	assert(cause != RC_CAUSE_NONE && cause < RC_CAUSES);
	if (w->syndrome)
		return;
	w->syndrome = rc_errors[cause].syndrome;
	w->cause = cause;
	nm_qp_schedule(qp);
}

static uint32_t packets_of(const struct nm_qp *qp, uint64_t len)
{
	return len == 0 ? 1 : (uint32_t)((len + qp->mtu - 1) / qp->mtu);
}

/* Decodes the WQE at next_idx into a new entry at head. */
static void append(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	struct rc_swqe *w = rc_swqe_at(req, req->head);
	uint32_t posted = (uint16_t)(req->pi - req->next_idx);
	uint8_t log_msg_max = qp->log_msg_max && qp->log_msg_max < NM_MSG_MAX_LOG ? qp->log_msg_max
										  : NM_MSG_MAX_LOG;
	char why[NM_WHY_MAX] = "";
	uint8_t cause = RC_CAUSE_NONE;
	struct nm_wr *wr = &req->wr;

	if (nm_wqe_decode(&req->ring, req->next_idx, wr, why)) {
		cause = RC_CAUSE_WQE;
	} else if (wr->nbb > posted) {
		cause = RC_CAUSE_WQE;
		snprintf(why, sizeof(why), "WQE %u: ds %u takes %u WQEBBs, %u are posted",
			 wr->wqe_idx, wr->ds, wr->nbb, posted);
	} else if (wr->len > UINT64_C(1) << log_msg_max) {
		cause = RC_CAUSE_LENGTH;
		snprintf(why, sizeof(why), "WQE %u: message of %llu bytes, the QP allows 2^%u",
			 wr->wqe_idx, (unsigned long long)wr->len, log_msg_max);
	} else if (wr->qpn_seen != qp->obj.number) {
		nm_diagnose_wqe(
			qp->obj.nic, NM_DIAG_WQE_QPN, qp->obj.number, wr->wqe_idx,
			"WQE %u names QP 0x%06x in its control segment: executed all the same",
			wr->wqe_idx, wr->qpn_seen);
	}
	*w = (struct rc_swqe){
		.len = wr->len,
		.first_psn = req->next_psn,
		.wqe_idx = req->next_idx,
		.nbb = wr->nbb > posted ? (uint8_t)posted : wr->nbb,
		.opcode = wr->opcode,
		.kind = wr->kind,
		.ce = wr->ce,
		.fence = wr->fence,
		.se = wr->se,
	};
	if (wr->kind >= NM_WR_SEND && !cause)
		w->npsn = wr->kind == NM_WR_ATOMIC ? 1 : packets_of(qp, wr->len);
	req->next_psn = psn_add(req->next_psn, w->npsn);
	req->next_idx = (uint16_t)(req->next_idx + w->nbb);
	req->wr_valid = true;
	req->wr_seq = req->head;
	req->head++;
	NM_COUNT(qp, wqes, 1);
	rc_gather_reset(qp);
	if (cause) {
		nm_diagnose_wqe(qp->obj.nic, NM_DIAG_WQE, qp->obj.number, wr->wqe_idx, "%s", why);
		rc_req_fail(qp, req->head - 1, cause);
	}
}

/* cur's WQE decoded: 0; -EAGAIN: nothing posted; -EINPROGRESS. */
static int current_wqe(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	char why[NM_WHY_MAX];
	int rc;

	if (req->cur == req->head) {
		rc = rc_req_fetch(qp);
		if (rc == -EFAULT) {
			nm_diagnose_wqe(qp->obj.nic, NM_DIAG_MEMORY, qp->obj.number, req->next_idx,
					"the send queue's memory cannot be read at WQE %u",
					req->next_idx);
			qp->rc->fatal = true;
			return -EAGAIN;
		}
		if (rc)
			return rc;
		append(qp);
	} else if (!req->wr_valid || req->wr_seq != req->cur) {
		nm_wqe_decode(&req->ring, rc_swqe_at(req, req->cur)->wqe_idx, &req->wr, why);
		req->wr_valid = true;
		req->wr_seq = req->cur;
		rc_gather_reset(qp);
	}
	return 0;
}

/* May a WQE that has sent nothing yet begin? */
static bool may_begin(struct nm_qp *qp, const struct rc_swqe *w)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t span = (uint32_t)psn_diff(w->first_psn, req->una) + w->npsn;

	switch (w->fence) {
	case NM_FENCE:
	case NM_FENCE_BOTH:
		if (req->rd_out > 0)
			return false;
		break;
	case NM_FENCE_STRONG:
		if (req->tail != req->cur)
			return false;
		break;
	default:
		break;
	}
	if (rc_is_rd(w) && req->rd_out >= qp->max_rd_atomic)
		return false;
	return span < RC_PSN_SPAN;
}

/* In the last packet of the n bytes that begin with this PSN. */
static bool ask_for_ack(const struct nm_qp *qp, uint32_t psn, uint32_t n, bool last)
{
	uint32_t every = UINT32_C(1) << qp->log_ack_req_freq;
	uint32_t psns = n > qp->mtu ? (n + qp->mtu - 1) / qp->mtu : 1;

	if (every > RC_ACK_EVERY)
		every = RC_ACK_EVERY;
	return last || (psn & (every - 1)) + psns >= every;
}

/* 0, or why it was not sent; -EPERM: the WQE failed. */
int rc_send_data(struct nm_qp *qp, struct rc_swqe *w, uint64_t off)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t window = RC_WINDOW - (uint32_t)psn_diff(req->snd_psn, req->una);
	uint32_t n = rc_train_len(qp, w->len - off, window);
	bool first = off == 0, is_write = w->kind == NM_WR_WRITE, last, imm, inval;
	uint8_t cause = RC_CAUSE_NONE;
	uint8_t opcode, *ext;
	int rc;

	if (first && (w->len > qp->mtu || req->wr.nsge > 1) &&
	    !rc_check_sges(qp, &req->wr, NM_ACC_LR, &cause)) {
		rc_req_fail(qp, req->cur, cause);
		return -EPERM;
	}
	rc = rc_gather(qp, off, &n, &cause);
	if (rc == -EPERM)
		rc_req_fail(qp, req->cur, cause);
	if (rc)
		return rc;
	last = off + n == w->len;
	imm = last && req->wr.imm_valid;
	inval = last && req->wr.inval;
	opcode = (uint8_t)((is_write ? write_opcodes : send_opcodes)[first * 2 + last] + imm);
	if (inval)
		opcode = first ? ROCE_SEND_ONLY_INV : ROCE_SEND_LAST_INV;
	ext = rc_packet(qp, opcode, last && w->se && (imm || !is_write), n,
			qp->service->reliable && ask_for_ack(qp, req->snd_psn, n, last),
			req->snd_psn);
	rc_train(qp);
	qp->obj.nic->tx.stable = qp->service->reliable && !req->through_bounce;
	if (is_write && first) {
		roce_reth_put(ext, req->wr.raddr, req->wr.rkey, (uint32_t)w->len);
		ext += ROCE_RETH_LEN;
	}
	if (imm || inval)
		prm_store32(ext, req->wr.imm);
	rc = rc_send(qp);
	if (rc == -EFAULT) {
		rc_req_fail(qp, req->cur, RC_CAUSE_MEMORY);
		return -EPERM;
	}
	if (rc == 0)
		req->snd_psn = psn_add(req->snd_psn, rc_tx_psns(qp));
	return rc;
}

static int send_read(struct nm_qp *qp, struct rc_swqe *w, uint64_t off)
{
	struct rc_req *req = &qp->rc->req;
	uint8_t cause;
	uint8_t *ext;
	int rc;

	if (!rc_check_sges(qp, &req->wr, NM_ACC_LW, &cause)) {
		rc_req_fail(qp, req->cur, cause);
		return -EPERM;
	}
	qp->obj.nic->tx.niov = 0;
	ext = rc_packet(qp, ROCE_READ_REQUEST, false, 0, true, req->snd_psn);
	roce_reth_put(ext, req->wr.raddr + off, req->wr.rkey, (uint32_t)(w->len - off));
	rc = rc_send(qp);
	if (rc == 0)
		req->snd_psn = psn_add(w->first_psn, w->npsn);
	return rc;
}

/* Opcode on the wire of each atomic WQE. */
static const struct {
	uint8_t wqe, wire;
	bool masked;
} atomic_opcodes[] = {
	{PRM_WQE_ATOMIC_CS, ROCE_COMPARE_SWAP, false},
	{PRM_WQE_ATOMIC_FA, ROCE_FETCH_ADD, false},
	{PRM_WQE_ATOMIC_MASKED_CS, ROCE_MASKED_COMPARE_SWAP, true},
	{PRM_WQE_ATOMIC_MASKED_FA, ROCE_MASKED_FETCH_ADD, true},
};

static int send_atomic(struct nm_qp *qp, struct rc_swqe *w)
{
	struct rc_req *req = &qp->rc->req;
	const struct nm_wr *wr = &req->wr;
	uint32_t i = 0;
	uint8_t cause;
	uint8_t *ext;
	int rc;

	if (!rc_check_sges(qp, wr, NM_ACC_LW, &cause)) {
		rc_req_fail(qp, req->cur, cause);
		return -EPERM;
	}
	while (atomic_opcodes[i].wqe != w->opcode)
		i++;
	qp->obj.nic->tx.niov = 0;
	ext = rc_packet(qp, atomic_opcodes[i].wire, false, 0, true, req->snd_psn);
	prm_store64(ext, wr->raddr);
	prm_store32(ext + 8, wr->rkey);
	ext += 12;
	if (atomic_opcodes[i].masked) {
		prm_store32(ext, wr->atomic_bytes);
		ext += 4;
		prm_store64(ext + 16, wr->swap_mask);
		prm_store64(ext + 24, wr->compare_mask);
	}
	prm_store64(ext, wr->swap_add);
	prm_store64(ext + 8, w->opcode == PRM_WQE_ATOMIC_FA ? 0 : wr->compare);
	rc = rc_send(qp);
	if (rc == 0)
		req->snd_psn = psn_add(req->snd_psn, 1);
	return rc;
}

/* A WQE that sends nothing: NOP, DUMP, WAIT, UMR. Done once everything before it is. */
static int pass_silent(struct nm_qp *qp, struct rc_swqe *w)
{
	struct rc_req *req = &qp->rc->req;
	uint8_t cause = RC_CAUSE_WQE;
	int rc = 0;

	if (w->kind == NM_WR_DUMP && !rc_check_sges(qp, &req->wr, NM_ACC_LR, &cause))
		rc = -EPERM;
	if (w->kind == NM_WR_WAIT) {
		rc = rc_wait(qp, req->wr.wait_cqn, req->wr.wait_index);
		if (rc == -EPERM)
			nm_diagnose_wqe(qp->obj.nic, NM_DIAG_WQE, qp->obj.number, w->wqe_idx,
					"WQE %u: WAIT names CQ 0x%06x, which does not exist",
					w->wqe_idx, req->wr.wait_cqn);
	}
	if (w->kind == NM_WR_UMR && !w->executed) {
		rc = rc_umr(qp, &cause);
		w->executed = rc == 0;
	}
	if (rc == -EPERM)
		rc_req_fail(qp, req->cur, cause);
	return rc;
}

static int send_packet(struct nm_qp *qp, struct rc_swqe *w)
{
	struct rc_req *req = &qp->rc->req;
	uint64_t off = (uint64_t)(uint32_t)psn_diff(req->snd_psn, w->first_psn) * qp->mtu;
	int rc;

	switch (w->kind) {
	case NM_WR_WRITE:
	case NM_WR_SEND:
		if (psn_diff(req->snd_psn, req->una) >= RC_WINDOW)
			return -EAGAIN;
		return qp->service->send(qp, w, off);
	case NM_WR_READ:
	case NM_WR_ATOMIC:
		rc = w->kind == NM_WR_READ ? send_read(qp, w, off) : send_atomic(qp, w);
		if (rc == 0) {
			w->issued = true;
			req->rd_out++;
		}
		return rc;
	default:
		return pass_silent(qp, w);
	}
}

/* One packet or train, or one silent WQE. 0: go on; else stop for now. */
int rc_req_step(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	struct rc_swqe *w;
	int rc;

	/* An ACK may have come for what is just being sent again. */
	if ((int32_t)(req->cur - req->una_seq) < 0 || psn_diff(req->snd_psn, req->una) < 0)
		rc_req_seek(qp);
	if (rc_sqd_holds(qp))
		return -EAGAIN;
	rc = current_wqe(qp);
	if (rc)
		return rc;
	w = rc_swqe_at(req, req->cur);
	if (w->syndrome)
		return -EAGAIN;
	if (req->snd_psn == w->first_psn && !may_begin(qp, w))
		return -EAGAIN;
	rc = send_packet(qp, w);
	if (rc)
		return rc;
	qp->rc->moved = true;
	if (psn_diff(req->snd_psn, req->max_psn) > 0)
		req->max_psn = req->snd_psn;
	if (req->snd_psn == psn_add(w->first_psn, w->npsn))
		req->cur++;
	return 0;
}

void rc_req_turn(struct nm_qp *qp, int (*step)(struct nm_qp *qp))
{
	int rc = rc_req_dbr(qp);

	if (rc == -EINPROGRESS)
		qp->rc->polling = true;
	if (rc_landings_run(qp))
		qp->rc->polling = true;
	if (!qp->rc->req.rnr_until_ns && !qp->rc->req.link_retry_ns) {
		for (uint32_t i = 0; i < RC_TURN; i++) {
			rc = step(qp);
			if (rc || rc_turn_over(qp, i))
				break;
			i += rc_tx_psns(qp) - 1;
		}
		if (rc == 0)
			nm_qp_schedule(qp);
		else if (rc == -EINPROGRESS)
			qp->rc->polling = true;
	}
	rc_complete(qp);
}

void rc_req_run(struct nm_qp *qp)
{
	rc_req_turn(qp, rc_req_step);
}
