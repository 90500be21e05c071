/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's payload: out of the memory that a WQE's data segments name, and READ and atomic
 * responses into it.
 *
 * Mapped memory travels by reference. Where a space can only copy, or a packet would need too many
 * pieces, a chunk of the message is collected in a buffer first. Keys are checked for each piece
 * when it is moved, so a key that is destroyed under a message ends it.
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The segment that holds message byte cur->off; cur moves forward over segments that end before it.
 */
static void find(const struct nm_sq_ring *ring, const struct nm_wr *wr, struct rc_cursor *cur,
		 struct nm_sge *sge)
{
	uint32_t after = nm_wqe_sge(ring, wr, cur->ow, sge);

	while (cur->off - cur->seg_off >= sge->len && after < wr->ds) {
		cur->seg_off += sge->len;
		cur->ow = after;
		after = nm_wqe_sge(ring, wr, cur->ow, sge);
	}
	assert(cur->off - cur->seg_off < sge->len);
}

static void rewind_to(struct rc_cursor *cur, const struct nm_wr *wr, uint64_t off)
{
	cur->ow = wr->data_ow;
	cur->seg_off = 0;
	cur->off = off;
}

static void seek(struct rc_cursor *cur, const struct nm_wr *wr, uint64_t off)
{
	if (cur->ow < wr->data_ow || off < cur->seg_off)
		rewind_to(cur, wr, off);
	cur->off = off;
}

/* Checks [va, va+len) of a data segment; NULL with the sentence told. */
static struct nm_mkey *check_piece(struct nm_qp *qp, uint16_t wqe_idx, uint32_t lkey, uint64_t va,
				   uint64_t len, uint8_t need)
{
	struct nm_mkey *mkey = NULL;
	char why[NM_WHY_MAX];

	if (nm_mkey_check(qp->obj.nic, lkey, va, len, need, qp->pdn, qp->obj.number, &mkey, why) ==
	    NM_KEY_OK)
		return mkey;
	nm_diagnose_wqe(qp->obj.nic, NM_DIAG_KEY, qp->obj.number, wqe_idx, "WQE %u: %s", wqe_idx,
			why);
	return NULL;
}

bool rc_check_sges(struct nm_qp *qp, const struct nm_wr *wr, uint8_t need, uint8_t *cause)
{
	uint32_t ow = wr->data_ow;

	for (uint32_t i = 0; i < wr->nsge; i++) {
		struct nm_sge sge;

		ow = nm_wqe_sge(&qp->rc->req.ring, wr, ow, &sge);
		if (sge.is_inline || sge.len == 0)
			continue;
		if (!check_piece(qp, wr->wqe_idx, sge.lkey, sge.va, sge.len, need)) {
			*cause = RC_CAUSE_LKEY;
			return false;
		}
	}
	return true;
}

void rc_gather_reset(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	rc_xfer_cancel(&req->fill_xfer);
	rc_umr_drop(qp);
	req->through_bounce = false;
	req->bounce_len = 0;
	req->bounce_want = 0;
	req->bounce_moving = 0;
	rewind_to(&req->gather, &req->wr, 0);
}

static void add_iov(struct nm_packet *pkt, const void *base, uint32_t len)
{
	pkt->payload[pkt->niov].iov_base = (void *)(uintptr_t)base;
	pkt->payload[pkt->niov].iov_len = len;
	pkt->niov++;
}

/* Inline bytes lie in the ring copy; only the ring's end can cut them in two. */
static void add_inline(const struct nm_sq_ring *ring, const struct nm_wr *wr,
		       const struct nm_sge *sge, uint32_t off, uint32_t len, struct nm_packet *pkt)
{
	uint32_t at = 4 + off;
	const uint8_t *from =
		nm_wqe_octoword(ring, wr->wqe_idx, sge->ow + at / NM_OCTOWORD) + at % NM_OCTOWORD;
	uint64_t room = (uint64_t)(ring->base + (uint64_t)ring->bbs * PRM_WQEBB_SIZE - from);

	if (room >= len) {
		add_iov(pkt, from, len);
	} else {
		add_iov(pkt, from, (uint32_t)room);
		add_iov(pkt, ring->base, len - (uint32_t)room);
	}
}

/* By reference: 0; -EPERM; -EFAULT; -ENOTSUP: some of it is not mapped, or it is in too many
 * pieces. */
static int gather_iov(struct nm_qp *qp, uint64_t off, uint32_t n)
{
	struct rc_req *req = &qp->rc->req;
	struct nm_packet *pkt = &qp->obj.nic->tx;

	seek(&req->gather, &req->wr, off);
	while (n > 0) {
		struct nm_sge sge;
		uint32_t skip, len;

		find(&req->ring, &req->wr, &req->gather, &sge);
		skip = (uint32_t)(req->gather.off - req->gather.seg_off);
		len = sge.len - skip < n ? sge.len - skip : n;
		if (pkt->niov + 2 > NM_PKT_MAX_IOV)
			return -ENOTSUP;
		if (sge.is_inline) {
			add_inline(&req->ring, &req->wr, &sge, skip, len, pkt);
		} else {
			struct nm_mkey *mkey = check_piece(qp, req->wr.wqe_idx, sge.lkey,
							   sge.va + skip, len, NM_ACC_LR);
			void *ptr;

			if (!mkey)
				return -EPERM;
			ptr = nm_mkey_ptr(mkey, sge.va + skip, len);
			if (!ptr)
				return -ENOTSUP;
			if (rc_touch_gather(qp, mkey, sge.va + skip, ptr, len))
				return -EFAULT;
			add_iov(pkt, ptr, len);
		}
		req->gather.off += len;
		n -= len;
	}
	return 0;
}

/* One more piece into the buffer: 0, -EINPROGRESS, -EPERM, -EFAULT. */
static int fill_piece(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;
	uint8_t *to = req->bounce + req->bounce_len;
	struct nm_sge sge;
	struct nm_mkey *mkey;
	uint32_t skip, len;
	void *ptr;

	find(&req->ring, &req->wr, &req->fill, &sge);
	skip = (uint32_t)(req->fill.off - req->fill.seg_off);
	len = req->bounce_want - req->bounce_len;
	if (len > sge.len - skip)
		len = sge.len - skip;
	req->bounce_moving = len;
	if (sge.is_inline) {
		nm_wqe_inline(&req->ring, &req->wr, &sge, skip, to, len);
		return 0;
	}
	mkey = check_piece(qp, req->wr.wqe_idx, sge.lkey, sge.va + skip, len, NM_ACC_LR);
	if (!mkey)
		return -EPERM;
	ptr = nm_mkey_ptr(mkey, sge.va + skip, len);
	if (ptr && nm_touch_key(qp->obj.nic, qp->obj.number, NM_DMA_GATHER, false, mkey,
				sge.va + skip, len))
		return -EFAULT;
	if (ptr)
		return rc_copy(nm_mkey_space(mkey, sge.va + skip), to, ptr, len);
	return rc_xfer_key(qp, &req->fill_xfer, NM_DMA_GATHER, false, mkey, sge.va + skip, to, len);
}

static int fill(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	while (req->bounce_len < req->bounce_want) {
		int rc = req->bounce_moving ? rc_xfer_poll(&req->fill_xfer) : fill_piece(qp);

		if (rc == -EINPROGRESS)
			return rc;
		if (rc) {
			req->bounce_moving = 0;
			return rc;
		}
		qp->rc->moved = true;
		req->bounce_len += req->bounce_moving;
		req->fill.off += req->bounce_moving;
		req->bounce_moving = 0;
	}
	return 0;
}

/* [off, off+n) is in the buffer, or will be: 0, -EINPROGRESS, -EPERM, -EFAULT, -ENOMEM. */
static int gather_bounce(struct nm_qp *qp, uint64_t off, uint32_t n)
{
	struct rc_req *req = &qp->rc->req;
	int rc;

	if (!req->bounce)
		req->bounce = malloc(RC_CHUNK);
	if (!req->bounce)
		return -ENOMEM;
	if (req->bounce_want == 0 || off < req->bounce_off ||
	    off + n > req->bounce_off + req->bounce_want) {
		uint64_t left = req->wr.len - off;

		assert(!req->fill_xfer.busy);
		seek(&req->fill, &req->wr, off);
		req->bounce_off = off;
		req->bounce_len = 0;
		req->bounce_want = left < RC_CHUNK ? (uint32_t)left : RC_CHUNK;
	}
	rc = fill(qp);
	if (rc == 0)
		add_iov(&qp->obj.nic->tx, req->bounce + (off - req->bounce_off), n);
	else if (rc != -EINPROGRESS)
		req->bounce_want = 0;
	return rc;
}

int rc_gather(struct nm_qp *qp, uint64_t off, uint32_t *n, uint8_t *cause)
{
	struct rc_req *req = &qp->rc->req;
	struct nm_packet *pkt = &qp->obj.nic->tx;
	int rc = -ENOTSUP;

	pkt->niov = 0;
	if (*n == 0)
		return 0;
	if (!req->through_bounce)
		rc = gather_iov(qp, off, *n);
	if (rc == -ENOTSUP && *n > qp->mtu) {
		*n = qp->mtu;
		pkt->niov = 0;
		if (!req->through_bounce)
			rc = gather_iov(qp, off, *n);
	}
	if (rc == -ENOTSUP) {
		if (!req->through_bounce)
			rewind_to(&req->fill, &req->wr, 0);
		req->through_bounce = true;
		pkt->niov = 0;
		rc = gather_bounce(qp, off, *n);
	}
	if (rc == 0 || rc == -EINPROGRESS)
		return rc;
	if (rc == -EFAULT)
		nm_diagnose_wqe(qp->obj.nic, NM_DIAG_MEMORY, qp->obj.number, req->wr.wqe_idx,
				"WQE %u: the memory of its data segments is gone", req->wr.wqe_idx);
	*cause = rc == -EPERM ? RC_CAUSE_LKEY : RC_CAUSE_MEMORY;
	return -EPERM;
}

/* ---- responses ---- */

/* A piece that its space cannot take at once. */
static bool land(struct nm_qp *qp, const struct nm_space *space, uint32_t seq, uint32_t lkey,
		 uint64_t va, const struct nm_packet *pkt, const void *bytes, uint32_t off,
		 uint32_t len)
{
	struct rc_req *req = &qp->rc->req;
	struct rc_landing *l = req->landings_free;

	if (l)
		req->landings_free = l->next;
	else
		l = malloc(sizeof(*l));
	if (!l)
		return false;
	l->next = NULL;
	l->seq = seq;
	l->lkey = lkey;
	l->va = va;
	l->len = len;
	/* Our own memory or the packet's, which the link vouches for; the key's space guards
	 * either. */
	if (rc_copy_payload(space, l->bytes, pkt, bytes, off, len)) {
		l->next = req->landings_free;
		req->landings_free = l;
		return false;
	}
	*req->landings_tail = l;
	req->landings_tail = &l->next;
	req->nlandings++;
	rc_swqe_at(req, seq)->landing++;
	return true;
}

bool rc_scatter(struct nm_qp *qp, uint32_t seq, uint64_t off, const struct nm_packet *pkt,
		const void *bytes, uint32_t len, uint8_t *cause)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t done = 0;

	seek(&req->scatter, &req->rwr, off);
	while (done < len) {
		struct nm_mkey *mkey;
		struct nm_sge sge;
		uint32_t skip, n;
		void *ptr;

		find(&req->ring, &req->rwr, &req->scatter, &sge);
		skip = (uint32_t)(req->scatter.off - req->scatter.seg_off);
		n = sge.len - skip < len - done ? sge.len - skip : len - done;
		mkey = check_piece(qp, req->rwr.wqe_idx, sge.lkey, sge.va + skip, n, NM_ACC_LW);
		if (!mkey) {
			*cause = RC_CAUSE_LKEY;
			return false;
		}
		/* Behind pieces that still wait, everything waits: memory changes in order. */
		ptr = req->nlandings ? NULL : nm_mkey_ptr(mkey, sge.va + skip, n);
		if (!ptr && n > qp->mtu) {
			n = qp->mtu;
			ptr = req->nlandings ? NULL : nm_mkey_ptr(mkey, sge.va + skip, n);
		}
		if (ptr ? nm_touch_key(qp->obj.nic, qp->obj.number, NM_DMA_SCATTER, true, mkey,
				       sge.va + skip, n) ||
				    rc_copy_payload(nm_mkey_space(mkey, sge.va + skip), ptr, pkt,
						    bytes, done, n)
			: !land(qp, nm_mkey_space(mkey, sge.va + skip), seq, sge.lkey,
				sge.va + skip, pkt, bytes, done, n)) {
			*cause = RC_CAUSE_MEMORY;
			return false;
		}
		req->scatter.off += n;
		done += n;
	}
	return true;
}

static void landing_done(struct rc_req *req)
{
	struct rc_landing *l = req->landings;

	req->landings = l->next;
	if (!req->landings)
		req->landings_tail = &req->landings;
	req->nlandings--;
	l->next = req->landings_free;
	req->landings_free = l;
}

bool rc_landings_run(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	while (req->landings) {
		struct rc_landing *l = req->landings;
		struct rc_swqe *w = rc_swqe_at(req, l->seq);
		struct nm_mkey *mkey;
		uint8_t cause = RC_CAUSE_MEMORY;
		int rc;

		if (req->land_xfer.busy || req->land_xfer.lost) {
			rc = rc_xfer_poll(&req->land_xfer);
		} else {
			mkey = check_piece(qp, w->wqe_idx, l->lkey, l->va, l->len, NM_ACC_LW);
			cause = mkey ? cause : RC_CAUSE_LKEY;
			rc = mkey ? rc_xfer_key(qp, &req->land_xfer, NM_DMA_SCATTER, true, mkey,
						l->va, l->bytes, l->len)
				  : -EFAULT;
		}
		if (rc == -EINPROGRESS)
			return true;
		assert(w->landing > 0);
		w->landing--;
		if (rc)
			rc_req_fail(qp, l->seq, cause);
		landing_done(req);
		qp->rc->moved = true;
	}
	return false;
}

void rc_landings_drop(struct nm_qp *qp)
{
	struct rc_req *req = &qp->rc->req;

	rc_xfer_cancel(&req->land_xfer);
	while (req->landings) {
		rc_swqe_at(req, req->landings->seq)->landing = 0;
		landing_done(req);
	}
}
