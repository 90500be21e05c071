/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the executor: grid, block, warp, lane, and the scheduler that runs a grid on one OS
 * thread. Nothing here is locked: a grid belongs to its stream's thread.
 */
#ifndef SIMT_SCHED_H
#define SIMT_SCHED_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simt.h"
#include "simt_collective.h"
#include "simt_fiber.h"
#include "simt_park.h"

namespace simt
{

constexpr uint32_t warp_size = 32;
constexpr uint32_t max_block_threads = 1024;

struct block;
struct grid;

enum class lane_state : uint8_t {
	runnable,
	at_collective, /* waits in its warp's meeting */
	at_barrier,    /* waits in its block's barrier */
	parked,	       /* waits for memory to change (simt_park.h) */
	at_site,       /* gathers with the lanes that come to the same instruction */
	exited,
};

/* One CUDA thread. */
struct lane {
	context ctx;
	block *blk = nullptr;
	uint32_t tid = 0; /* linear index in the block; lane id = tid % 32 */
	lane_state state = lane_state::runnable;
	bool queued = false; /* is in the grid's run list */
	/* What the lane said at its collective, and what it gets back */
	meeting_entry entry;
	uint64_t result = 0;
	look_list looks;
	parking park;
	const void *site = nullptr; /* where it gathers */
	uint32_t gathers_since = 0; /* rounds */
};

struct shared_var {
	const void *site;
	std::unique_ptr<uint64_t[]> mem;
};

struct block {
	grid *g = nullptr;
	uint32_t index = 0; /* linear */
	simt_dim3 idx{0, 0, 0};
	uint32_t threads = 0;
	uint32_t alive = 0;
	std::vector<lane> lanes;
	/* barrier: those who wait, and what they voted */
	uint32_t barrier_waiting = 0;
	uint32_t barrier_count = 0; /* predicates that were true */
	uint32_t barrier_result[3] = {};
	std::vector<shared_var> shared;
	std::unique_ptr<uint64_t[]> dynamic_shared;
};

/* Who runs, for onlookers on other threads: see simt_stream_synchronize. */
struct heartbeat {
	std::atomic<uint64_t> switches{0};
	std::atomic<uint32_t> block{0}, thread{0};
	std::atomic<bool> in_kernel{false}; /* a lane runs, not the scheduler */
};

struct grid {
	simt_launch_config cfg;
	simt_kernel_fn fn;
	void *arg;
	uint64_t rng;
	context *sched; /* the stream thread's own context */
	stack_pool *stacks;
	heartbeat *beat;
	std::vector<std::unique_ptr<block>> blocks; /* resident ones */
	std::vector<lane *> run;		    /* may hold lanes that no longer run */
	parking_lot lot;
	std::vector<lane *> gathering; /* at_site */
	uint32_t next_block = 0;
	uint32_t block_count = 0;
	uint32_t resident_threads = 0;
	uint64_t progress = 0; /* stores, finished collectives, exits */
	uint32_t preempt_in = 0;
	int error = SIMT_SUCCESS;
	std::string error_text;
	simt_launch_stats stats = {};
};

/* The lane that runs on this OS thread now; NULL outside kernels. */
extern __thread lane *current_lane;

/* Run a whole grid on the calling OS thread. Returns SIMT_SUCCESS or what went wrong (also printed,
 * with the threads concerned, on stderr). */
int grid_run(const simt_launch_config &cfg, simt_kernel_fn fn, void *arg, stack_pool *stacks,
	     heartbeat *beat, simt_launch_stats *stats);

/* A number below n, from the grid's seed. */
uint32_t random_below(grid *g, uint32_t n);
/* Give way to the scheduler; returns when the current lane is picked again. */
void lane_yield();
/* Current lane waits in `state` until lane_wake. */
void lane_block(lane_state state);
void lane_wake(lane *l);
/* Record the grid's first error; the scheduler stops at its next turn. */
void grid_fail(grid *g, int error, const std::string &text);
/* After `l` arrived or exited: complete what can be completed. */
void warp_check(block *b, uint32_t warp);
void barrier_check(block *b);
/* "block (1,0,0) thread (3,0,0)" */
std::string lane_name(const lane *l);

/* Calls every attached poll callback once; returns the work that they report. */
int attach_poll();

} // namespace simt

#endif /* SIMT_SCHED_H */
