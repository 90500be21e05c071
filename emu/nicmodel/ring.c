/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CQEs and EQEs on their way into a ring that can only be copied to, or that must wait for its
 * doorbell record.
 *
 * Entries leave in order, one transfer at a time, each as {first 60 bytes, last dword}: the space
 * moves segments in order, so a reader that sees the last dword sees the rest, and entries appear
 * in the order of their indices.
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/ring.h"

enum { NM_ENTRY = 64, NM_ENTRY_TAIL = 4, NM_BATCH = NM_DMA_MAX_SEGS / 2 };

struct nm_ring_writer *nm_ring_create(void)
{
	struct nm_ring_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->tail = &w->head;
	return w;
}

static void ring_pop(struct nm_ring_writer *w)
{
	struct nm_ring_entry *e = w->head;

	w->head = e->next;
	if (!w->head)
		w->tail = &w->head;
	free(e);
}

void nm_ring_destroy(struct nm_ring_writer *w, struct nm_space *space)
{
	if (!w)
		return;
	if (w->in_flight)
		space->ops->cancel(space, &w->dma);
	while (w->head)
		ring_pop(w);
	free(w);
}

int nm_ring_append(struct nm_ring_writer *w, const struct nm_ring_entry *entry)
{
	struct nm_ring_entry *e = malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = *entry;
	e->next = NULL;
	*w->tail = e;
	w->tail = &e->next;
	return 0;
}

int nm_ring_store(struct nm_nic *nic, const struct nm_mem *mem, uint64_t off,
		  enum nm_purpose purpose, const uint8_t *bytes)
{
	const struct nm_space *space = mem->space;
	uint8_t *slot = nm_mem_ptr(mem, off, NM_ENTRY);
	uint32_t last;

	if (!slot)
		return -ENOTSUP;
	if (nm_touch_mem(nic, 0, purpose, true, mem, off, NM_ENTRY))
		return -EFAULT;
	if (!space->ops->copy)
		memcpy(slot, bytes, NM_ENTRY - NM_ENTRY_TAIL);
	else if (space->ops->copy(slot, bytes, NM_ENTRY - NM_ENTRY_TAIL))
		return -EFAULT;
	memcpy(&last, bytes + NM_ENTRY - NM_ENTRY_TAIL, sizeof(last));
	/* Same page as the body, which is there. Release: who sees the owner bit sees the body and
	 * the payload that was written before. */
	__atomic_store_n((uint32_t *)(void *)(slot + NM_ENTRY - NM_ENTRY_TAIL), last,
			 __ATOMIC_RELEASE);
	return 0;
}

static int ring_start(struct nm_nic *nic, struct nm_ring_writer *w, const struct nm_mem *mem,
		      enum nm_purpose purpose, uint32_t most)
{
	struct nm_dma *dma = &w->dma;

	*dma = (struct nm_dma){.purpose = purpose, .to_space = true, .local = w->local};
	w->in_flight = 0;
	for (struct nm_ring_entry *e = w->head; e && w->in_flight < most && w->in_flight < NM_BATCH;
	     e = e->next) {
		/* An entry is aligned to its size, so it lies in one page and each part is one
		 * segment. */
		if (nm_mem_segs(mem, e->off, NM_ENTRY - NM_ENTRY_TAIL, &dma->segs[dma->nsegs], 1) !=
			    1 ||
		    nm_mem_segs(mem, e->off + NM_ENTRY - NM_ENTRY_TAIL, NM_ENTRY_TAIL,
				&dma->segs[dma->nsegs + 1], 1) != 1)
			return -EFAULT;
		memcpy(w->local[w->in_flight], e->bytes, NM_ENTRY);
		dma->nsegs += 2;
		dma->len += NM_ENTRY;
		w->in_flight++;
	}
	return nm_dma_start(nic, 0, mem->space, dma);
}

int nm_ring_write(struct nm_nic *nic, struct nm_ring_writer *w, const struct nm_mem *mem,
		  enum nm_purpose purpose, uint32_t most, nm_ring_done_fn done, void *ctx)
{
	int moved = 0;
	int rc;

	while (w->head && !w->in_flight && most) {
		rc = nm_ring_store(nic, mem, w->head->off, purpose, w->head->bytes);
		if (rc == -ENOTSUP)
			break;
		if (rc)
			return rc;
		done(ctx, w->head);
		ring_pop(w);
		moved++;
		most--;
	}
	if (!w->head || (!w->in_flight && !most))
		return moved;
	rc = w->in_flight ? mem->space->ops->poll(mem->space, &w->dma)
			  : ring_start(nic, w, mem, purpose, most);
	if (rc == -EINPROGRESS)
		return moved;
	for (uint32_t n = w->in_flight; n && !rc; n--) {
		done(ctx, w->head);
		ring_pop(w);
		moved++;
	}
	w->in_flight = 0;
	return rc ? rc : moved;
}
