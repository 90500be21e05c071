/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a world lets the scheduler drive its NICs: a callback that runs on the stream's thread when
 * every fibre of the running kernel only spins, and now and then while they work. Optional: a world
 * with threads of its own attaches nothing.
 */
#ifndef SIMT_ATTACH_H
#define SIMT_ATTACH_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Does a bounded slice of work (20 us at most) and returns how much it did, 0 for nothing. It runs
 * outside any fibre, one call at a time over all streams, and must not launch, synchronise, attach
 * or detach.
 */
typedef int (*simt_poll_fn)(void *ctx);

/** Add a callback. SIMT_ERR_NO_MEMORY when the table (16 entries) is full. */
int simt_attach(simt_poll_fn fn, void *ctx);

/** Remove it again. When this returns, the callback is not running and will not be called. */
int simt_detach(simt_poll_fn fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* SIMT_ATTACH_H */
