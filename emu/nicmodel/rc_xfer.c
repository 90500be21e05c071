/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of the transport: resumable, and cancelled when their key is destroyed. */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int rc_copy(const struct nm_space *space, void *to, const void *from, uint32_t len)
{
	if (space->ops->copy)
		return space->ops->copy(to, from, len);
	memmove(to, from, len); /* a program may send itself what overlaps */
	return 0;
}

struct touch_args {
	const uint8_t *bytes;
	uint32_t len;
};

enum { TOUCH_STEP = 4096 }; /* no page is smaller */

static NM_MAY_FAULT void touch_fn(void *arg)
{
	const struct touch_args *a = arg;

	for (uint32_t off = 0; off < a->len; off += TOUCH_STEP)
		(void)*(const volatile uint8_t *)(a->bytes + off);
	(void)*(const volatile uint8_t *)(a->bytes + a->len - 1);
}

bool rc_there(const struct nm_space *space, const void *ptr, uint32_t len)
{
	struct touch_args args = {.bytes = ptr, .len = len};

	return !space->ops->guarded || space->ops->guarded(touch_fn, &args) == 0;
}

int rc_copy_payload(const struct nm_space *space, void *to, const struct nm_packet *pkt,
		    const void *bytes, uint32_t off, uint32_t len)
{
	uint8_t *out = to;
	int rc = 0;

	if (bytes)
		return rc_copy(space, out, (const uint8_t *)bytes + off, len);
	if (pkt->pull)
		return pkt->pull(pkt, off, to, len);
	for (uint32_t i = 0; i < pkt->niov && len > 0 && rc == 0; i++) {
		uint32_t have = (uint32_t)pkt->payload[i].iov_len;
		uint32_t n;

		if (off >= have) {
			off -= have;
			continue;
		}
		n = have - off < len ? have - off : len;
		rc = rc_copy(space, out, (const uint8_t *)pkt->payload[i].iov_base + off, n);
		out += n;
		len -= n;
		off = 0;
	}
	return rc;
}

int rc_ring_copy(struct nm_qp *qp, const struct nm_mem *ring, const void *from, uint64_t off,
		 void *to, uint32_t len)
{
	if (nm_touch_mem(qp->obj.nic, qp->obj.number, NM_DMA_WQE, false, ring, off, len))
		return -EFAULT;
	return rc_copy(ring->space, to, from, len);
}

int rc_touch_gather(struct nm_qp *qp, const struct nm_mkey *mkey, uint64_t va, const void *ptr,
		    uint32_t len)
{
	if (nm_touch_key(qp->obj.nic, qp->obj.number, NM_DMA_GATHER, false, mkey, va, len))
		return -EFAULT;
	return rc_there(nm_mkey_space(mkey, va), ptr, len) ? 0 : -EFAULT;
}

/*
 * A transfer has its descriptor only while it is under way: it is larger than all else that a QP
 * keeps, and memory that is mapped needs none. False: no memory.
 */
static bool begin(struct nm_qp *qp, struct rc_xfer *x, enum nm_purpose purpose, bool to_space,
		  struct nm_mkey *mkey)
{
	assert(!x->busy && !x->dma);
	x->dma = malloc(sizeof(*x->dma));
	if (!x->dma)
		return false;
	x->dma->purpose = purpose;
	x->dma->to_space = to_space;
	x->qp = qp;
	x->mkey = mkey;
	x->left = 0;
	x->lost = false;
	return true;
}

static void end(struct rc_xfer *x)
{
	nm_link_del(&x->link);
	free(x->dma);
	x->dma = NULL;
	x->busy = false;
}

/* Parts of what is left, one after the other: a list of keys may be in more pieces than a transfer
 * has segments, and in several spaces. */
static int run_parts(struct rc_xfer *x)
{
	int rc = 0;

	while (rc == 0 && x->left) {
		uint64_t took;

		x->dma->nsegs = nm_mkey_part(x->mkey, x->va, x->left, x->dma->segs, NM_DMA_MAX_SEGS,
					     &took, &x->space);
		if (!x->dma->nsegs) {
			rc = -EFAULT;
			break;
		}
		x->dma->local = x->local;
		x->dma->len = took;
		x->dma->priv = NULL;
		x->va += took;
		x->local += took;
		x->left -= (uint32_t)took;
		rc = nm_dma_start(x->qp->obj.nic, x->qp->obj.number, x->space, x->dma);
	}
	x->busy = rc == -EINPROGRESS;
	if (!x->busy)
		end(x);
	return rc;
}

int rc_xfer_key(struct nm_qp *qp, struct rc_xfer *x, enum nm_purpose purpose, bool to_space,
		struct nm_mkey *mkey, uint64_t va, void *local, uint32_t len)
{
	int rc;

	if (!begin(qp, x, purpose, to_space, mkey))
		return -EFAULT;
	x->va = va;
	x->local = local;
	x->left = len;
	rc = run_parts(x);
	if (x->busy)
		nm_link_add(&qp->obj.nic->key_xfers, &x->link);
	return rc;
}

int rc_xfer_ring(struct nm_qp *qp, struct rc_xfer *x, const struct nm_mem *ring, uint64_t off,
		 void *local, uint32_t len)
{
	int nsegs, rc;

	if (!begin(qp, x, NM_DMA_WQE, false, NULL))
		return -EFAULT;
	nsegs = nm_mem_segs(ring, off, len, x->dma->segs, NM_DMA_MAX_SEGS);
	if (nsegs < 0) {
		end(x);
		return -EFAULT;
	}
	x->dma->nsegs = (uint32_t)nsegs;
	x->dma->local = local;
	x->dma->len = len;
	x->dma->priv = NULL;
	x->space = ring->space;
	rc = nm_dma_start(qp->obj.nic, qp->obj.number, x->space, x->dma);
	x->busy = rc == -EINPROGRESS;
	if (!x->busy)
		end(x);
	return rc;
}

int rc_xfer_poll(struct rc_xfer *x)
{
	int rc;

	if (x->lost) {
		x->lost = false;
		return -EFAULT;
	}
	assert(x->busy);
	rc = x->space->ops->poll(x->space, x->dma);
	if (rc == 0 && x->left)
		return run_parts(x);
	if (rc != -EINPROGRESS)
		end(x);
	return rc;
}

void rc_xfer_cancel(struct rc_xfer *x)
{
	if (x->busy) {
		x->space->ops->cancel(x->space, x->dma);
		end(x);
	}
	x->lost = false;
}

void nm_qp_forget_mkey(struct nm_nic *nic, struct nm_mkey *mkey)
{
	struct nm_link *next;

	for (struct nm_link *l = nic->key_xfers; l; l = next) {
		struct rc_xfer *x = NM_OF(l, struct rc_xfer, link);

		next = l->next;
		if (x->mkey != mkey && !nm_klm_names(x->mkey, mkey))
			continue;
		rc_xfer_cancel(x);
		x->lost = true;
		nm_qp_schedule(x->qp);
	}
}
