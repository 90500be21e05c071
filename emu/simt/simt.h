/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simt: runs CUDA-style kernels on the CPU. Host interface, C and C++.
 *
 * Every CUDA thread is a fibre. A stream is one OS thread that runs its launches in order; a launch
 * returns before the kernel's first instruction, so a persistent kernel and its host make progress
 * side by side. Within a launch one fibre runs at a time, picked by a generator that the seed
 * starts: a kernel that nothing outside feeds runs the same way for the same seed.
 *
 * Fibres give way where they touch shared memory (simt_mem.h), at collectives, clocks and
 * __nanosleep; one that waits for memory to change is set aside until it does. A fibre that spins
 * on an ordinary variable never gives way: use the atomics.
 *
 * Functions are thread safe unless they say otherwise and return 0 or a SIMT_ERR_* code.
 */
#ifndef SIMT_H
#define SIMT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum simt_error {
	SIMT_SUCCESS = 0,
	SIMT_ERR_INVALID,   /* an argument is out of range */
	SIMT_ERR_NO_MEMORY, /* no memory for stacks or shared memory */
	SIMT_ERR_NOT_READY, /* simt_stream_query: work is left */
	SIMT_ERR_DEADLOCK,  /* every thread waits at a barrier or collective that cannot complete */
	SIMT_ERR_COLLECTIVE, /* a warp collective was used against its rules */
	SIMT_ERR_TIMEOUT,    /* no thread made progress for watchdog_ms */
	SIMT_ERR_MAX
};

/** A constant sentence for an error code; never NULL. */
const char *simt_strerror(int error);

struct simt_stream;

struct simt_dim3 {
	uint32_t x, y, z;
#ifdef __cplusplus
	constexpr simt_dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
#endif
};

struct simt_launch_config {
	struct simt_dim3 grid;	    /* blocks, each at least 1 */
	struct simt_dim3 block;	    /* threads, each at least 1, product at most 1024 */
	size_t shared_bytes;	    /* dynamic shared memory of a block */
	struct simt_stream *stream; /* NULL: the default stream */
	uint64_t seed;		    /* 0: GDAKIT_SIMT_SEED, else 1 */
	uint32_t max_threads;	    /* resident threads, whole blocks; 0: 8192 */
	uint32_t watchdog_ms; /* fail after that long without progress; 0: GDAKIT_SIMT_WATCHDOG_MS,
			       * else never: a persistent kernel may wait for its host for hours */
	const char *name;     /* for messages; a string that outlives the launch, or NULL */
};

typedef void (*simt_kernel_fn)(void *arg);

/**
 * Queue a kernel: `fn(arg)` runs once per thread of the grid. `free_arg(arg)` (may be NULL) runs
 * after the last thread, also when the launch fails later, but not when this call returns an error.
 * SIMT_ERR_INVALID for a bad shape, SIMT_ERR_NO_MEMORY. Errors of the kernel itself are kept by the
 * stream and returned, once, by the next simt_stream_synchronize.
 */
int simt_launch(const struct simt_launch_config *config, simt_kernel_fn fn, void *arg,
		void (*free_arg)(void *));

/** Create a stream. The caller owns it. */
int simt_stream_create(struct simt_stream **stream);
/** Wait for the stream's work, then free it. NULL is not allowed (nor the default stream). */
int simt_stream_destroy(struct simt_stream *stream);
/** Wait until all queued work is done; returns and clears the first error since the last call. */
int simt_stream_synchronize(struct simt_stream *stream);
/** SIMT_SUCCESS when idle, SIMT_ERR_NOT_READY while work is left. Keeps a pending error. */
int simt_stream_query(struct simt_stream *stream);
/** Queue a call of `fn(arg)` on the stream's thread (event records, host callbacks). */
int simt_stream_host_call(struct simt_stream *stream, void (*fn)(void *), void *arg);

/** What the last finished launch of a stream did; for tests and tuning. */
struct simt_launch_stats {
	uint64_t switches;    /* times a fibre was resumed */
	uint64_t idle_rounds; /* rounds in which all runnable fibres only spun */
	uint64_t naps;	      /* idle rounds that slept instead of yielding the core */
};
int simt_stream_last_stats(struct simt_stream *stream, struct simt_launch_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* SIMT_H */
