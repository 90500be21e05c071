/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requester: what comes back. ACKs and NAKs, READ and atomic responses, and time-outs when nothing
 * does.
 *
 * An ACK is cumulative, but READs and atomics are acknowledged only by their own response: an ACK
 * beyond one says that the response was lost (implied NAK, IBTA 9.9.2.4.2), and the request is made
 * again from the first byte that is missing.
 */
#include "emu/nicmodel/rc.h"

#include <string.h>

/* RNR timer field to time (IBTA table 45). */
static const uint32_t rnr_timer_us[32] = {
	655360, 10,    20,    30,    40,    60,	    80,	    120,    160,    240,    320,
	480,	640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
	20480,	30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
};

static void progressed(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	req->progressed = true;
	req->implied = false;
	req->retry_left = qp->retry_count;
	req->rnr_left = qp->rnr_retry;
}

/*
 * WQEs that send nothing are done once they were passed: by this round, or by an earlier one if a
 * packet behind them was ever sent. What happens next is then about a WQE that sends.
 */
static void skip_passed(struct rc_req *req)
{
	bool sent = psn_diff(req->max_psn, req->una) > 0;

	while (req->una_seq != req->head) {
		const struct rc_swqe *w = rc_swqe_at(req, req->una_seq);

		if (w->npsn > 0 || w->syndrome ||
		    (!sent && (int32_t)(req->cur - req->una_seq) <= 0))
			return;
		req->una_seq++;
	}
}

/*
 * Everything before PSN p is acknowledged. False: a READ or atomic that has no response yet lies
 * before p.
 */
static bool ack_before(struct nm_qp *qp, uint32_t p)
{
	struct rc_req *req = &qp->rc->req;

	for (skip_passed(req); req->una_seq != req->head; skip_passed(req)) {
		struct rc_swqe *w = rc_swqe_at(req, req->una_seq);
		uint32_t end = psn_add(w->first_psn, w->npsn);

		if (w->npsn == 0 || psn_diff(p, req->una) <= 0)
			return true;
		if (rc_is_rd(w))
			return false;
		progressed(qp);
		if (psn_diff(p, end) < 0) {
			req->una = p;
			return true;
		}
		req->una = end;
		req->una_seq++;
	}
	return true;
}

static void go_back(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	skip_passed(req);
	if (req->una_seq == req->head)
		return;
	if (req->retry_left == 0) {
		nm_diagnose_wqe(qp->obj.nic, NM_DIAG_RETRY, qp->obj.number,
				rc_swqe_at(req, req->una_seq)->wqe_idx,
				"WQE %u: PSN 0x%06x was sent 1 + %u times to QP 0x%06x without an "
				"answer: retries "
				"exceeded",
				rc_swqe_at(req, req->una_seq)->wqe_idx, req->una, qp->retry_count,
				qp->remote_qpn);
		rc_req_fail(qp, req->una_seq, RC_CAUSE_RETRY);
		return;
	}
	req->retry_left--;
	rc_req_seek(qp);
	req->progressed = true; /* the timer starts again */
	nm_qp_schedule(qp);
}

static void implied_nak(struct nm_qp *qp, uint32_t psn)
{
	struct rc_req *req = &qp->rc->req;

	if (req->implied)
		return;
	nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
		    "an answer to PSN 0x%06x came, but a READ or atomic waits for PSN 0x%06x: its "
		    "response was "
		    "lost, it is asked for again",
		    psn, req->una);
	NM_COUNT(qp, implied_nak_seq_err, 1);
	req->implied = true;
	go_back(qp);
}

static void take_rnr(struct nm_qp *qp, uint8_t timer)
{
	struct rc_req *req = &qp->rc->req;

	if (req->una_seq == req->head)
		return;
	NM_COUNT(qp, rnr_naks, 1);
	if (qp->rnr_retry != 7) {
		if (req->rnr_left == 0) {
			nm_diagnose_wqe(qp->obj.nic, NM_DIAG_RNR_RETRY, qp->obj.number,
					rc_swqe_at(req, req->una_seq)->wqe_idx,
					"WQE %u: QP 0x%06x had no receive WQE 1 + %u times: RNR "
					"retries exceeded",
					rc_swqe_at(req, req->una_seq)->wqe_idx, qp->remote_qpn,
					qp->rnr_retry);
			NM_COUNT(qp, rnr_nak_retry_err, 1);
			rc_req_fail(qp, req->una_seq, RC_CAUSE_RNR_RETRY);
			return;
		}
		req->rnr_left--;
	}
	rc_req_seek(qp);
	req->rnr_timer = timer;
	req->progressed = true;
	nm_qp_schedule(qp);
}

static const struct {
	uint8_t syndrome;
	uint8_t cause;
	const char *name;
} fatal_naks[] = {
	{ROCE_NAK_INV_REQ, RC_CAUSE_NAK_INV_REQ, "invalid request"},
	{ROCE_NAK_ACCESS, RC_CAUSE_NAK_ACCESS, "remote access error"},
	{ROCE_NAK_OP, RC_CAUSE_NAK_OP, "remote operational error"},
	{ROCE_NAK_INV_RD, RC_CAUSE_NAK_INV_REQ, "invalid RD request"},
};

static void take_nak(struct nm_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct rc_req *req = &qp->rc->req;

	if (req->una_seq == req->head)
		return;
	if (syndrome == ROCE_NAK_SEQ) {
		NM_COUNT(qp, packet_seq_err, 1);
		go_back(qp);
		return;
	}
	for (size_t i = 0; i < sizeof(fatal_naks) / sizeof(fatal_naks[0]); i++) {
		if (fatal_naks[i].syndrome != syndrome)
			continue;
		nm_diagnose_wqe(qp->obj.nic, NM_DIAG_REFUSED, qp->obj.number,
				rc_swqe_at(req, req->una_seq)->wqe_idx,
				"WQE %u: QP 0x%06x refused PSN 0x%06x: %s",
				rc_swqe_at(req, req->una_seq)->wqe_idx, qp->remote_qpn, psn,
				fatal_naks[i].name);
		NM_COUNT(qp, req_remote_access_errors, syndrome == ROCE_NAK_ACCESS);
		NM_COUNT(qp, req_remote_invalid_request, syndrome == ROCE_NAK_INV_REQ);
		rc_req_fail(qp, req->una_seq, fatal_naks[i].cause);
		return;
	}
	nm_diagnose(qp->obj.nic, NM_DIAG_PACKET, qp->obj.number,
		    "AETH syndrome 0x%02x is not defined: dropped", syndrome);
}

static void take_ack(struct nm_qp *qp, uint8_t syndrome, uint32_t psn)
{
	uint8_t kind = syndrome & ROCE_AETH_KIND;
	bool nak = kind != 0;

	/* A NAK is about its PSN and acknowledges what is before it. */
	if (!ack_before(qp, nak ? psn : psn_add(psn, 1))) {
		implied_nak(qp, psn);
		return;
	}
	if (nak && psn_diff(psn, qp->rc->req.una) < 0)
		return; /* old */
	if (kind == ROCE_AETH_RNR)
		take_rnr(qp, syndrome & 0x1f);
	else if (nak)
		take_nak(qp, syndrome, psn);
}

/* The WQE at una_seq, decoded for the scatter list of its response. */
static void decode_response_wqe(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	char why[NM_WHY_MAX];

	if (req->rwr_valid && req->rwr_seq == req->una_seq)
		return;
	nm_wqe_decode(&req->ring, rc_swqe_at(req, req->una_seq)->wqe_idx, &req->rwr, why);
	req->rwr_valid = true;
	req->rwr_seq = req->una_seq;
	req->scatter = (struct rc_cursor){.ow = req->rwr.data_ow};
}

static uint32_t psns_of(const struct nm_packet *pkt)
{
	return pkt->segs ? pkt->segs : 1;
}

bool rc_ack_takes(const struct nm_qp *qp, uint32_t psn, uint32_t segs)
{
	struct rc_req *req = &qp->rc->req;
	const struct rc_swqe *w;

	/* Nothing is outstanding, as where there is no send queue at all. */
	if (req->una != psn || req->una_seq == req->head)
		return false;
	w = rc_swqe_at(req, req->una_seq);
	return w->kind == NM_WR_READ && (uint32_t)psn_diff(psn, w->first_psn) + segs <= w->npsn;
}

static bool response_fits(struct nm_qp *qp, const struct rc_swqe *w, const struct roce_bth *bth,
			  uint32_t psns, uint64_t off, uint32_t len)
{
	const struct roce_op *info = &roce_ops[bth->opcode];
	bool last = psn_add(bth->psn, psns) == psn_add(w->first_psn, w->npsn);
	uint32_t want = last ? (uint32_t)(w->len - off) : psns * qp->mtu;

	if (w->kind == NM_WR_ATOMIC)
		return (info->flags & RF_ATOMIC) && len == 0;
	return (info->flags & RF_READ) && last == ((info->flags & RF_LAST) != 0) && len == want;
}

static void response_done(struct nm_qp *qp, const struct rc_swqe *w, uint32_t psns)
{
	struct rc_req *req = &qp->rc->req;

	progressed(qp);
	req->una = psn_add(req->una, psns);
	if (req->una == psn_add(w->first_psn, w->npsn))
		req->una_seq++;
}

/* READ response or atomic ACK, by PSN the next one. */
static void take_response(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct rc_req *req = &qp->rc->req;
	struct rc_swqe *w = rc_swqe_at(req, req->una_seq);
	uint64_t off = (uint64_t)(uint32_t)psn_diff(bth->psn, w->first_psn) * qp->mtu;
	uint32_t len = pkt->payload_len;
	const void *bytes = NULL;
	uint8_t cause;
	uint64_t result;
	uint32_t half;

	if (w->syndrome)
		return;
	if (!response_fits(qp, w, bth, psns_of(pkt), off, len)) {
		nm_diagnose_wqe(
			qp->obj.nic, NM_DIAG_RESPONSE, qp->obj.number, w->wqe_idx,
			"WQE %u: %s of %u bytes for PSN 0x%06x is not the answer to %llu bytes "
			"from PSN "
			"0x%06x",
			w->wqe_idx, roce_ops[bth->opcode].name, len, bth->psn,
			(unsigned long long)w->len, w->first_psn);
		rc_req_fail(qp, req->una_seq, RC_CAUSE_BAD_RESP);
		return;
	}
	decode_response_wqe(qp);
	if (w->kind == NM_WR_ATOMIC) {
		result = prm_load64(pkt->hdr + ROCE_BTH_LEN + ROCE_AETH_LEN);
		half = (uint32_t)result;
		len = req->rwr.atomic_bytes;
		bytes = len == sizeof(half) ? (const void *)&half : &result;
	}
	if (len > 0 && !rc_scatter(qp, req->una_seq, off, pkt, bytes, len, &cause)) {
		rc_req_fail(qp, req->una_seq, cause);
		return;
	}
	response_done(qp, w, psns_of(pkt));
}

static void take_packet(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct rc_req *req = &qp->rc->req;
	const struct roce_op *info = &roce_ops[bth->opcode];
	uint32_t aeth = info->flags & RF_AETH ? prm_load32(pkt->hdr + ROCE_BTH_LEN) : 0;

	if (psn_diff(bth->psn, req->max_psn) >= 0) {
		nm_diagnose(qp->obj.nic, NM_DIAG_PACKET, qp->obj.number,
			    "%s for PSN 0x%06x, but only PSNs before 0x%06x were sent: dropped",
			    info->name, bth->psn, req->max_psn);
		return;
	}
	nm_qp_schedule(qp);
	if (!(info->flags & (RF_READ | RF_ATOMIC))) {
		take_ack(qp, (uint8_t)(aeth >> 24), bth->psn);
		return;
	}
	if (psn_diff(bth->psn, req->una) < 0)
		return; /* a response that came twice */
	if (!ack_before(qp, bth->psn) || req->una != bth->psn) {
		implied_nak(qp, bth->psn);
		return;
	}
	if (req->una_seq == req->head || !rc_is_rd(rc_swqe_at(req, req->una_seq))) {
		nm_diagnose(qp->obj.nic, NM_DIAG_PACKET, qp->obj.number,
			    "%s for PSN 0x%06x, which is no READ or atomic: dropped", info->name,
			    bth->psn);
		return;
	}
	take_response(qp, pkt, bth);
}

void rc_ack_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	take_packet(qp, pkt, bth);
	/* Now, so that the completion comes before that of a message behind this packet. */
	rc_complete_good(qp);
}

void rc_begin_waits(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint64_t now_ns = qp->rc->now_ns;

	if (req->link_retry_ns <= now_ns)
		req->link_retry_ns = 0;
	if (req->rnr_until_ns <= now_ns)
		req->rnr_until_ns = 0;
	if (req->rnr_timer != RC_RNR_NONE) {
		req->rnr_until_ns = now_ns + UINT64_C(1000) * rnr_timer_us[req->rnr_timer];
		req->rnr_timer = RC_RNR_NONE;
	}
}

/*
 * The answer is not due while the request lies on the link: a NIC takes what reaches it whatever
 * its host does, but a model's thread may not get the processor for long.
 */
static bool lies_on_link(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	struct rc_req *req = &qp->rc->req;

	if (!nic->ops.link_taken || !req->sent_mark ||
	    nic->ops.link_taken(nic->ops.ctx, &qp->route, qp->remote_qpn, req->sent_mark))
		return false;
	if (!req->held)
		nm_diagnose(
			nic, NM_DIAG_LOSS, qp->obj.number,
			"no answer to PSN 0x%06x, but the NIC of QP 0x%06x has not been running "
			"since it was sent (a stopped or starved process?): no time-out",
			req->una, qp->remote_qpn);
	req->held = true;
	return true;
}

/* Deadlines of the requester, at the end of a turn and when the QP's timer expired. */
void rc_timeout(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint64_t now_ns = qp->rc->now_ns;
	uint64_t t_ns = (UINT64_C(4096) << qp->ack_timeout) * RC_TIMEOUT_FACTOR;
	bool waiting = psn_diff(req->max_psn, req->una) > 0 && qp->ack_timeout != 0;

	if (!waiting) {
		req->deadline_ns = 0;
		req->progressed = false;
		return;
	}
	if (req->progressed || req->deadline_ns == 0) {
		uint64_t from_ns = req->rnr_until_ns > now_ns ? req->rnr_until_ns : now_ns;

		req->progressed = false;
		req->held = false;
		req->deadline_ns = from_ns + t_ns;
		return;
	}
	if (req->deadline_ns > now_ns)
		return;
	if (lies_on_link(qp)) {
		req->deadline_ns = now_ns + t_ns;
		return;
	}
	NM_COUNT(qp, local_ack_timeout_err, 1);
	nm_diagnose(qp->obj.nic, NM_DIAG_LOSS, qp->obj.number,
		    "no answer to PSN 0x%06x within %llu us: sent again, %u retries left", req->una,
		    (unsigned long long)(t_ns / 1000), req->retry_left);
	req->deadline_ns = now_ns + t_ns;
	req->implied = false;
	go_back(qp);
}
