/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From doorbells to WQEs in the NIC's copy of the send queue.
 *
 * The producer index is the cyclic maximum of what the doorbell record and the doorbells say, both
 * bounded by the ring: libmlx5 rings with the first index of its last WQE and has the rest in
 * the record, GPUNetIO rings with the producer index before it writes the record.
 */
#include "emu/nicmodel/rc.h"

#include <string.h>

void rc_req_candidate(struct nm_qp *qp, uint16_t index, const char *from)
{
	struct rc_req *req = &qp->rc->req;
	uint16_t ahead = (uint16_t)(index - req->ci);
	uint16_t known = (uint16_t)(req->pi - req->ci);

	/* In the upper half the index is behind: an older doorbell, seen late. */
	if (ahead >= 0x8000 && ahead > req->ring.bbs)
		return;
	if (ahead > req->ring.bbs) {
		nm_diagnose(qp->obj.nic, NM_DIAG_PRODUCER, qp->obj.number,
			    "%s says producer index %u, but the oldest WQE that is not done is %u "
			    "and the "
			    "ring has %u WQEBBs: ignored",
			    from, index, req->ci, req->ring.bbs);
		return;
	}
	if (ahead > known)
		req->pi = index;
}

void rc_req_look(struct nm_qp *qp, bool sweep)
{
	struct rc_req *req = &qp->rc->req;

	/* What is being read was perhaps read before the program wrote it. */
	req->db_again = req->db_reading;
	req->db_seen = true;
	nm_uar_ask_record(qp);
	if (sweep) {
		req->sweep_again = req->peeking;
		req->sweep = true;
	}
	nm_qp_schedule(qp);
}

/* First octoword of a slot that nobody rang for: 0, -EINPROGRESS, -EFAULT. */
static int peek(struct nm_qp *qp, uint16_t wqe_idx)
{
	struct rc_req *req = &qp->rc->req;
	uint64_t off = (uint64_t)(wqe_idx & (req->ring.bbs - 1)) * PRM_WQEBB_SIZE;
	int rc;

	if (req->flat)
		return rc_ring_copy(qp, &qp->mem, req->flat + off, qp->sq_off + off, req->peek,
				    sizeof(req->peek));
	if (req->peeking) {
		rc = rc_xfer_poll(&req->fetch);
	} else {
		if (req->fetch.busy)
			return -EINPROGRESS;
		rc = rc_xfer_ring(qp, &req->fetch, &qp->mem, qp->sq_off + off, req->peek,
				  sizeof(req->peek));
	}
	req->peeking = rc == -EINPROGRESS;
	return rc;
}

/*
 * WQEs whose doorbell another ring overwrote before it was seen: without a record, the slots
 * themselves say that they are posted, by their index and QPN.
 */
static int sweep_slots(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint16_t before;

	for (;;) {
		/* a doorbell may have filled the ring while a slot was being read: that read still
		 * has to end, it is in the way of all others */
		bool is_full = (uint16_t)(req->pi - req->ci) >= req->ring.bbs;
		int rc = is_full && !req->peeking ? 0 : peek(qp, req->pi);
		uint32_t ds = req->peek[7] & 0x3f;

		if (rc == -EINPROGRESS)
			return rc;
		if (is_full || rc || (uint16_t)(prm_load32(req->peek) >> 8) != req->pi ||
		    prm_load32(req->peek + 4) >> 8 != qp->obj.number || ds == 0)
			break;
		before = req->pi;
		rc_req_candidate(qp, (uint16_t)(req->pi + (ds + 3) / NM_WQEBB_OCTOWORDS),
				 "a swept slot");
		if (req->pi == before)
			break; /* it claims more than the ring has */
		qp->rc->moved = true;
	}
	req->sweep = req->sweep_again;
	req->sweep_again = false;
	return 0;
}

/* 0, -EINPROGRESS. */
static int read_record(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t word;
	int rc = nm_dbr_read(qp->obj.nic, &qp->dbr, 1, &word);

	req->db_reading = rc == -EINPROGRESS;
	if (rc == -EINPROGRESS)
		return rc;
	req->db_seen = req->db_again;
	req->db_again = false;
	nm_uar_saw_record(qp);
	if (rc) {
		nm_diagnose(qp->obj.nic, NM_DIAG_MEMORY, qp->obj.number,
			    "the doorbell record at 0x%llx cannot be read",
			    (unsigned long long)qp->dbr.addr);
		qp->rc->fatal = true;
		req->db_seen = false;
		return 0;
	}
	/* The kernel's driver writes more than 16 bits. */
	rc_req_candidate(qp, (uint16_t)word, "the doorbell record");
	return 0;
}

int rc_req_dbr(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	int rc = 0;

	/* Twice at most: nothing rings in between. */
	if (qp->no_dbr) {
		while (rc == 0 && req->sweep)
			rc = sweep_slots(qp);
		return rc;
	}
	while (rc == 0 && req->db_seen)
		rc = read_record(qp);
	return rc;
}

/* More WQEBBs into the copy, up to pi: 0, -EINPROGRESS, -EFAULT. */
static int fetch_more(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t slot = req->fetched & (req->ring.bbs - 1);
	uint32_t n = (uint16_t)(req->pi - req->fetched);
	uint64_t off = (uint64_t)slot * PRM_WQEBB_SIZE;
	int rc;

	if (req->fetch_bbs) {
		rc = rc_xfer_poll(&req->fetch);
	} else {
		if (req->fetch.busy)
			return -EINPROGRESS; /* a peek */
		if (n > RC_FETCH_BBS)
			n = RC_FETCH_BBS;
		if (n > req->ring.bbs - slot)
			n = req->ring.bbs - slot;
		if (req->flat) {
			rc = rc_ring_copy(qp, &qp->mem, req->flat + off, qp->sq_off + off,
					  req->ring.base + off, n * PRM_WQEBB_SIZE);
			if (rc == 0)
				req->fetched = (uint16_t)(req->fetched + n);
			return rc;
		}
		req->fetch_bbs = (uint16_t)n;
		rc = rc_xfer_ring(qp, &req->fetch, &qp->mem, qp->sq_off + off, req->ring.base + off,
				  n * PRM_WQEBB_SIZE);
	}
	if (rc == -EINPROGRESS)
		return rc;
	if (rc == 0)
		req->fetched = (uint16_t)(req->fetched + req->fetch_bbs);
	req->fetch_bbs = 0;
	qp->rc->moved = true;
	return rc;
}

/* What is in the copy is not what was posted, or not yet: again later, for a bounded time. True:
 * give up. */
static bool refetch(struct nm_qp *qp, uint32_t bbs)
{
	struct rc_req *req = &qp->rc->req;
	uint64_t now_ns = qp->rc->now_ns;

	if (!req->refetch_since)
		req->refetch_since = now_ns;
	if (now_ns - req->refetch_since < RC_REFETCH_LIMIT_NS) {
		req->refetch_ns = now_ns + RC_REFETCH_NS;
		req->fetched = req->next_idx;
		return false;
	}
	nm_diagnose_wqe(
		qp->obj.nic, NM_DIAG_WQE_INDEX, qp->obj.number, req->next_idx,
		"the WQE in slot %u was to have index %u and lie before producer index %u; for "
		"%u us it has index %u and %u WQEBBs: executed as it is",
		req->next_idx & (req->ring.bbs - 1), req->next_idx, req->pi,
		(unsigned int)(RC_REFETCH_LIMIT_NS / 1000), nm_wqe_index(&req->ring, req->next_idx),
		bbs);
	return true;
}

static void observe_fetch(struct nm_qp *qp, uint32_t bbs)
{
	struct rc_req *req = &qp->rc->req;
	uint8_t wqe[64 * NM_OCTOWORD];
	struct nm_event ev = {
		.kind = NM_EV_FETCH,
		.qpn = qp->obj.number,
		.fetch = {.wqe_idx = req->next_idx,
			  .slot = req->next_idx & (req->ring.bbs - 1),
			  .wqe = wqe,
			  .len = bbs * PRM_WQEBB_SIZE},
	};

	for (uint32_t ow = 0; ow < bbs * NM_WQEBB_OCTOWORDS; ow++)
		memcpy(wqe + ow * NM_OCTOWORD, nm_wqe_octoword(&req->ring, req->next_idx, ow),
		       NM_OCTOWORD);
	nm_observe(qp->obj.nic, &ev);
}

int rc_req_fetch(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t posted = (uint16_t)(req->pi - req->next_idx);
	uint32_t bbs = 1;
	bool as_it_is = false;
	int rc;

	if (posted == 0)
		return -EAGAIN;
	if (req->refetch_ns > qp->rc->now_ns)
		return -EAGAIN;
	req->refetch_ns = 0;
	for (;;) {
		uint32_t have = (uint16_t)(req->fetched - req->next_idx);

		if (have > 0) {
			bbs = nm_wqe_bbs(&req->ring, req->next_idx);
			if (!as_it_is &&
			    (nm_wqe_index(&req->ring, req->next_idx) != req->next_idx ||
			     bbs > posted)) {
				as_it_is = refetch(qp, bbs);
				if (!as_it_is)
					return -EAGAIN;
			}
			if (bbs > posted)
				bbs = posted;
		}
		if (have >= bbs)
			break;
		rc = fetch_more(qp);
		if (rc)
			return rc;
	}
	req->refetch_since = 0;
	if (nm_watched(qp->obj.nic, NM_EV_FETCH))
		observe_fetch(qp, bbs);
	return 0;
}
