/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder: what is sent. READ responses and atomic ACKs in the order of their requests, then the
 * NAK or the (cumulative) ACK: an ACK that overtook a response would tell the requester that the
 * response is lost.
 */
#include "emu/nicmodel/rc.h"

#include <stdlib.h>
#include <string.h>

/* Collects PSNs from cur_psn on in the buffer: 0, -EINPROGRESS, -EFAULT. */
static int fill_bounce(struct nm_qp *qp, uint32_t index, struct nm_mkey *mkey)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_rd *rd = &resp->rds[index];
	uint64_t off = (uint64_t)(uint32_t)psn_diff(rd->cur_psn, rd->psn) * qp->mtu;
	uint32_t left = (uint32_t)psn_diff(rd->end_psn, rd->cur_psn);
	uint32_t npsn = RC_CHUNK / qp->mtu < left ? RC_CHUNK / qp->mtu : left;
	uint64_t len = (uint64_t)npsn * qp->mtu;

	if (len > rd->len - off)
		len = rd->len - off;
	resp->bounce_psn = rd->cur_psn;
	resp->bounce_rd = index;
	resp->bounce_npsn = npsn;
	if (!resp->bounce)
		resp->bounce = malloc(RC_CHUNK);
	if (!resp->bounce)
		return -EFAULT;
	return rc_xfer_key(qp, &resp->rd_xfer, NM_DMA_GATHER, false, mkey, rd->va + off,
			   resp->bounce, (uint32_t)len);
}

/* Where the n bytes of cur_psn are: 0, -EINPROGRESS, -EFAULT. */
static int read_bytes(struct nm_qp *qp, uint32_t index, struct nm_mkey *mkey, uint64_t off,
		      uint32_t n, void **bytes)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_rd *rd = &resp->rds[index];
	int32_t at;
	int rc = 0;

	*bytes = nm_mkey_ptr(mkey, rd->va + off, n);
	if (*bytes)
		return rc_touch_gather(qp, mkey, rd->va + off, *bytes, n);
	at = psn_diff(rd->cur_psn, resp->bounce_psn);
	if (resp->rd_xfer.busy || resp->rd_xfer.lost)
		rc = rc_xfer_poll(&resp->rd_xfer);
	if (rc == -EINPROGRESS)
		return rc;
	if (rc && resp->bounce_rd != index)
		rc = 0; /* it was for another one, which will find out itself */
	if (rc == 0 && (resp->bounce_npsn == 0 || resp->bounce_rd != index || at < 0 ||
			(uint32_t)at >= resp->bounce_npsn)) {
		rc = fill_bounce(qp, index, mkey);
		at = 0;
	}
	if (rc && rc != -EINPROGRESS)
		resp->bounce_npsn = 0;
	*bytes = resp->bounce ? resp->bounce + (uint64_t)(uint32_t)at * qp->mtu : NULL;
	return rc;
}

/* Bytes of the next response or train of them; the answer to a part of a READ ends on an MTU. */
static uint32_t response_len(const struct nm_qp *qp, const struct rc_rd *rd, uint64_t off)
{
	uint32_t psns = (uint32_t)psn_diff(rd->end_psn, rd->cur_psn);
	uint64_t left = rd->len - off, most = (uint64_t)psns * qp->mtu;

	return rc_train_len(qp, left < most ? left : most, psns);
}

/* One READ response or train of them: 0, -EINPROGRESS, -EAGAIN, -ECANCELED. */
static int send_read_response(struct nm_qp *qp, uint32_t index)
{
	struct rc_rd *rd = &qp->rc->resp.rds[index];
	uint64_t off = (uint64_t)(uint32_t)psn_diff(rd->cur_psn, rd->psn) * qp->mtu;
	uint32_t n = response_len(qp, rd, off);
	bool first = rd->cur_psn == rd->from_psn, last;
	static const uint8_t opcodes[4] = {ROCE_READ_RESP_MIDDLE, ROCE_READ_RESP_LAST,
					   ROCE_READ_RESP_FIRST, ROCE_READ_RESP_ONLY};
	struct nm_packet *pkt = &qp->obj.nic->tx;
	uint64_t va = rd->va + off;
	struct nm_mkey *mkey = NULL;
	char why[NM_WHY_MAX];
	void *bytes = NULL;
	uint8_t *ext;
	int rc = 0;

	if (n > 0) {
		if (nm_mkey_check(qp->obj.nic, rd->rkey, va, n, NM_ACC_RR, rd->pdn, qp->obj.number,
				  &mkey, why) != NM_KEY_OK) {
			rc_refuse(qp, rd->cur_psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS, "%s",
				  why);
			return -ECANCELED;
		}
		if (n > qp->mtu && !nm_mkey_ptr(mkey, va, n))
			n = qp->mtu;
		rc = read_bytes(qp, index, mkey, off, n, &bytes);
	}
	if (rc == -EINPROGRESS)
		return rc;
	pkt->niov = n > 0;
	pkt->payload[0] = (struct iovec){.iov_base = bytes, .iov_len = n};
	last = psn_add(rd->cur_psn, n > qp->mtu ? (n + qp->mtu - 1) / qp->mtu : 1) == rd->end_psn;
	if (rc == 0) {
		ext = rc_packet(qp, opcodes[first * 2 + last], false, n, false, rd->cur_psn);
		rc_train(qp);
		if (first || last)
			roce_aeth_put(ext, ROCE_AETH_ACK, rd->msn);
		rc = rc_send(qp);
	}
	if (rc == -EFAULT) {
		rc_refuse(qp, rd->cur_psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS,
			  "the memory behind key 0x%08x at 0x%llx is gone", rd->rkey,
			  (unsigned long long)va);
		return -ECANCELED;
	}
	return rc;
}

static int send_atomic_ack(struct nm_qp *qp, uint32_t index)
{
	struct rc_rd *rd = &qp->rc->resp.rds[index];
	uint8_t *ext;

	qp->obj.nic->tx.niov = 0;
	ext = rc_packet(qp, ROCE_ATOMIC_ACK, false, 0, false, rd->psn);
	roce_aeth_put(ext, ROCE_AETH_ACK, rd->msn);
	prm_store64(ext + ROCE_AETH_LEN, rd->result);
	return rc_send(qp);
}

/* All entries that wait, the oldest first. 0: none is left. */
static int send_rds(struct nm_qp *qp, uint32_t *budget)
{
	struct rc_resp *resp = &qp->rc->resp;

	for (uint32_t i = 0; i < resp->nrds; i++) {
		uint32_t index = (resp->rd_next + i) % resp->nrds;
		struct rc_rd *rd = &resp->rds[index];

		while (rd->pending) {
			int rc;

			if (*budget == 0)
				return -EAGAIN;
			rc = rd->atomic ? send_atomic_ack(qp, index)
					: send_read_response(qp, index);
			if (rc)
				return rc;
			*budget -= *budget < rc_tx_psns(qp) ? *budget : rc_tx_psns(qp);
			if (rc_turn_over(qp, *budget))
				*budget = 0;
			qp->rc->moved = true;
			rd->cur_psn = psn_add(rd->cur_psn, rc_tx_psns(qp));
			if (rd->cur_psn == rd->end_psn)
				rd->pending = false;
		}
	}
	return 0;
}

static bool nak_is_fatal(uint8_t syndrome)
{
	return syndrome >= ROCE_NAK_INV_REQ;
}

static int send_aeth(struct nm_qp *qp, uint8_t syndrome, uint32_t psn)
{
	uint8_t *ext;

	qp->obj.nic->tx.niov = 0;
	ext = rc_packet(qp, ROCE_ACK, false, 0, false, psn);
	roce_aeth_put(ext, syndrome, qp->rc->resp.msn);
	return rc_send(qp);
}

void rc_report_fatal(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	if (resp->recv.have) {
		rc_tell_error(qp, "receive", resp->recv.wqe_idx, resp->cause, "ERR");
		rc_fail_recv(qp, resp->cause);
	} else {
		nm_eq_qp_event(qp->obj.nic, resp->event, qp->obj.number);
	}
	rc_error_enter(qp);
}

static int send_nak(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint8_t syndrome = resp->nak_syndrome;
	int rc;

	if (syndrome == ROCE_NAK_SEQ) {
		if (resp->queue)
			return 0; /* it would acknowledge what is not executed */
		resp->nak_psn = resp->epsn;
	}
	rc = send_aeth(qp, syndrome, resp->nak_psn);
	if (rc)
		return rc;
	resp->nak_due = false;
	resp->ack_due = false;
	qp->rc->moved = true;
	if (nak_is_fatal(syndrome))
		rc_report_fatal(qp);
	return 0;
}

void rc_reply_run(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t budget = RC_TURN;
	int rc;

	if (qp->rc->req.link_retry_ns)
		return;
	rc = send_rds(qp, &budget);
	if (rc == -EINPROGRESS)
		qp->rc->polling = true;
	if (rc == -EAGAIN && budget == 0)
		nm_qp_schedule(qp);
	if (rc == -ECANCELED)
		nm_qp_schedule(qp);
	if (rc && rc != -ECANCELED)
		return;
	if (resp->nak_due) {
		send_nak(qp);
	} else if (resp->ack_due) {
		if (send_aeth(qp, ROCE_AETH_ACK, psn_add(resp->xpsn, ROCE_PSN_MASK)) == 0) {
			resp->ack_due = false;
			qp->rc->moved = true;
		}
	}
}

/*
 * The program may have seen the completion of a message in the middle of a turn, and do away with
 * the QP before its end. A ConnectX has acknowledged by then.
 */
void rc_reply_leave(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;

	if (!resp->ack_due || resp->nak_due || qp->rc->req.link_retry_ns)
		return;
	for (uint32_t i = 0; i < resp->nrds; i++)
		if (resp->rds[i].pending)
			return; /* an ACK would pass over it */
	(void)send_aeth(qp, ROCE_AETH_ACK, psn_add(resp->xpsn, ROCE_PSN_MASK));
	resp->ack_due = false;
}
