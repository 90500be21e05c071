/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing 64-byte entries into rings: at once through a pointer, or queued for a copy-only space.
 */
#ifndef GDAKIT_NM_RING_H
#define GDAKIT_NM_RING_H

#include "emu/nicmodel/nm_obj.h"

struct nm_ring_writer *nm_ring_create(void); /* NULL: no memory */
/* Ends the transfer under way and forgets what waits. NULL is fine. */
void nm_ring_destroy(struct nm_ring_writer *w, struct nm_space *space);
int nm_ring_append(struct nm_ring_writer *w,
		   const struct nm_ring_entry *entry); /* copies; 0, -ENOMEM */
/* An entry at `off` of a ring: body first, then the last dword with one store. 0; -EFAULT: its
 * memory is gone; -ENOTSUP: that slot is not mapped. */
int nm_ring_store(struct nm_nic *nic, const struct nm_mem *mem, uint64_t off,
		  enum nm_purpose purpose, const uint8_t *bytes);

/* Told of each entry after it became visible, in order. */
typedef void (*nm_ring_done_fn)(void *ctx, const struct nm_ring_entry *entry);
/*
 * Moves what can be moved, at most `most` entries not yet in flight. Returns how many became
 * visible, or -EFAULT: the ring's memory is gone (what was queued stays queued; the owner gives the
 * ring up).
 */
int nm_ring_write(struct nm_nic *nic, struct nm_ring_writer *w, const struct nm_mem *mem,
		  enum nm_purpose purpose, uint32_t most, nm_ring_done_fn done, void *ctx);

#endif
