/* SPDX-License-Identifier: BSD-3-Clause */
/* Bringing the NICs of this process up and down: between context.c and face.c. Face lock held for
 * all. */
#ifndef GDAKIT_UVERBS_FACE_H
#define GDAKIT_UVERBS_FACE_H

#include "emu/uverbs/uv.h"

int uv_nic_start(void); /* the one entered: 0 if it runs already; else -errno, said */
/* The clock's page of a context: the NIC's thread writes the time there from now on. False: there
 * are too many. */
bool uv_clock_add(uint64_t *page);
void uv_clock_remove(uint64_t *page);
/* pages.c: the pages of a context's file, before the program can map them, and at its end. */
void uv_pages_start(struct uv_ctx *ctx, int memfd);
void uv_pages_stop(struct uv_ctx *ctx);
void uv_nic_abandon(void); /* after fork() in the child */

/* observe.c: watches a NIC as the environment says; its world ends; the process ends, in whatever
 * thread (no NIC is watched afterwards); after fork() in the child. Any thread may call the first
 * three, the face's lock held or not. */
void uv_observe(struct world *w, struct world_nic *n);
void uv_observe_end(void);
void uv_observe_exit(void);
void uv_observe_abandon(void);

#endif
