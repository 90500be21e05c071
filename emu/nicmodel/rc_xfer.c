/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of the transport: resumable, and cancelled when their key is destroyed. */
#include "emu/nicmodel/rc.h"

#include <assert.h>

static int start(struct nm_qp *qp, struct rc_xfer *x, struct nm_space *space)
{
	int rc;

	x->space = space;
	x->lost = false;
	rc = nm_dma_start(qp->obj.nic, space, &x->dma);
	x->busy = rc == -EINPROGRESS;
	return rc;
}

int rc_xfer_key(struct nm_qp *qp, struct rc_xfer *x, enum nm_purpose purpose, bool to_space,
		struct nm_mkey *mkey, uint64_t va, void *local, uint32_t len)
{
	int nsegs;

	assert(!x->busy);
	nsegs = nm_mkey_segs(mkey, va, len, x->dma.segs, NM_DMA_MAX_SEGS);
	if (nsegs < 0)
		return -EFAULT;
	x->dma.purpose = purpose;
	x->dma.to_space = to_space;
	x->dma.nsegs = (uint32_t)nsegs;
	x->dma.local = local;
	x->dma.len = len;
	x->mkey = mkey;
	return start(qp, x, nm_mkey_space(mkey));
}

int rc_xfer_ring(struct nm_qp *qp, struct rc_xfer *x, uint64_t off, void *local, uint32_t len)
{
	int nsegs;

	assert(!x->busy);
	nsegs = nm_mem_segs(&qp->mem, off, len, x->dma.segs, NM_DMA_MAX_SEGS);
	if (nsegs < 0)
		return -EFAULT;
	x->dma.purpose = NM_DMA_WQE;
	x->dma.to_space = false;
	x->dma.nsegs = (uint32_t)nsegs;
	x->dma.local = local;
	x->dma.len = len;
	x->mkey = NULL;
	return start(qp, x, qp->mem.space);
}

int rc_xfer_poll(struct rc_xfer *x)
{
	int rc;

	if (x->lost) {
		x->lost = false;
		return -EFAULT;
	}
	assert(x->busy);
	rc = x->space->ops->poll(x->space, &x->dma);
	x->busy = rc == -EINPROGRESS;
	return rc;
}

void rc_xfer_cancel(struct rc_xfer *x)
{
	if (x->busy)
		x->space->ops->cancel(x->space, &x->dma);
	x->busy = false;
	x->lost = false;
}
