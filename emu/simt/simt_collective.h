/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warp collectives and the block barrier, as kernel code calls them (through simt_cuda.h).
 *
 * A collective completes when every lane of its mask that has not exited has called it with the
 * same mask and operation; the last to arrive computes all results. As on a GPU, a lane outside its
 * own mask or two different operations under one mask are errors of the program; here they end the
 * launch with SIMT_ERR_COLLECTIVE.
 */
#ifndef SIMT_COLLECTIVE_H
#define SIMT_COLLECTIVE_H

#include <stdint.h>

enum simt_op : uint8_t {
	SIMT_OP_NONE, /* not at a collective */
	SIMT_OP_SYNC,
	SIMT_OP_SHFL_IDX,
	SIMT_OP_SHFL_UP,
	SIMT_OP_SHFL_DOWN,
	SIMT_OP_SHFL_XOR,
	SIMT_OP_BALLOT,
	SIMT_OP_ANY,
	SIMT_OP_ALL,
	SIMT_OP_MATCH_ANY,
	SIMT_OP_MATCH_ALL, /* the common mask, or 0 */
	SIMT_OP_ADD,
	SIMT_OP_MIN_U,
	SIMT_OP_MAX_U,
	SIMT_OP_MIN_S,
	SIMT_OP_MAX_S,
	SIMT_OP_AND,
	SIMT_OP_OR,
	SIMT_OP_XOR,
};

namespace simt
{
struct meeting_entry {
	uint64_t value;
	uint32_t mask;
	uint32_t arg; /* shuffles: source lane, delta or lane mask */
	uint8_t width;
	simt_op op;
};
} // namespace simt

enum simt_barrier_vote : uint8_t {
	SIMT_BARRIER_COUNT,
	SIMT_BARRIER_AND,
	SIMT_BARRIER_OR,
};

extern "C" {
uint64_t simt_collective(enum simt_op op, uint32_t mask, uint64_t value, uint32_t arg,
			 uint32_t width);
/* All threads of the block; returns the vote over `predicate`. */
uint32_t simt_barrier(enum simt_barrier_vote vote, int predicate);
}

#endif /* SIMT_COLLECTIVE_H */
