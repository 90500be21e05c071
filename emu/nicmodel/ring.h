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
/* Body first, then the last dword with one store. `slot`: 64 bytes that `space` mapped. 0; -EFAULT:
 * gone since. */
int nm_ring_store(const struct nm_space *space, uint8_t *slot, const uint8_t *bytes);

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
