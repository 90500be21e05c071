/* SPDX-License-Identifier: BSD-3-Clause */
#include "simt_collective.h"

#include <cstdio>
#include <cstdlib>

#include "simt_sched.h"

namespace simt
{

static lane *lane_or_die(const char *what)
{
	if (current_lane == nullptr) {
		fprintf(stderr, "simt: %s called outside a kernel\n", what);
		abort();
	}
	return current_lane;
}

static lane *warp_lane(block *b, uint32_t warp, uint32_t i)
{
	uint32_t tid = warp * warp_size + i;

	return tid < b->threads ? &b->lanes[tid] : nullptr;
}

/* Outside a kernel: what a collective gives the only lane of a warp. */
static uint64_t lone_result(simt_op op, uint32_t mask, uint64_t value)
{
	if (mask != 1) {
		fprintf(stderr, "simt: a warp collective of mask %#x outside a kernel\n", mask);
		abort();
	}
	switch (op) {
	case SIMT_OP_BALLOT:
	case SIMT_OP_ANY:
	case SIMT_OP_ALL:
		return value != 0;
	case SIMT_OP_MATCH_ANY:
	case SIMT_OP_MATCH_ALL:
		return 1;
	default:
		return value;
	}
}

/* Lanes of `mask` that are still there. */
static uint32_t alive_mask(block *b, uint32_t warp, uint32_t mask)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < warp_size; i++) {
		lane *l = warp_lane(b, warp, i);

		if ((mask >> i & 1) && l != nullptr && l->state != lane_state::exited)
			alive |= 1u << i;
	}
	return alive;
}

/* The lane that a shuffle reads, or `self` where CUDA keeps the own value. */
static uint32_t shuffle_source(const meeting_entry &e, uint32_t self)
{
	uint32_t segment = self & ~(uint32_t)(e.width - 1);
	int32_t last = (int32_t)(segment + e.width - 1);
	int32_t source = (int32_t)self;

	switch (e.op) {
	case SIMT_OP_SHFL_IDX:
		source = (int32_t)(segment + (e.arg & (e.width - 1u)));
		break;
	case SIMT_OP_SHFL_UP:
		source = (int32_t)self - (int32_t)e.arg;
		break;
	case SIMT_OP_SHFL_DOWN:
		source = (int32_t)(self + e.arg);
		break;
	case SIMT_OP_SHFL_XOR:
		/* may reach into an earlier segment, never into a later one (CUDA guide, shfl) */
		source = (int32_t)(self ^ e.arg);
		return source <= last ? (uint32_t)source : self;
	default:
		break;
	}
	return source >= (int32_t)segment && source <= last ? (uint32_t)source : self;
}

static uint64_t fold(simt_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case SIMT_OP_ADD:
		return a + b;
	case SIMT_OP_MIN_U:
		return b < a ? b : a;
	case SIMT_OP_MAX_U:
		return b > a ? b : a;
	case SIMT_OP_MIN_S:
		return (int64_t)b < (int64_t)a ? b : a;
	case SIMT_OP_MAX_S:
		return (int64_t)b > (int64_t)a ? b : a;
	case SIMT_OP_AND:
		return a & b;
	case SIMT_OP_OR:
		return a | b;
	case SIMT_OP_XOR:
		return a ^ b;
	default:
		return a;
	}
}

/* What is the same for all lanes: votes and reductions. */
static uint64_t warp_result(block *b, uint32_t warp, uint32_t alive, simt_op op)
{
	uint32_t ballot = 0;
	uint64_t folded = 0;
	bool first = true, same = true;
	uint64_t value0 = 0;

	for (uint32_t i = 0; i < warp_size; i++) {
		if (!(alive >> i & 1))
			continue;
		uint64_t v = warp_lane(b, warp, i)->entry.value;

		ballot |= (uint32_t)(v != 0) << i;
		folded = first ? v : fold(op, folded, v);
		value0 = first ? v : value0;
		same = same && v == value0;
		first = false;
	}
	switch (op) {
	case SIMT_OP_BALLOT:
		return ballot;
	case SIMT_OP_ANY:
		return ballot != 0;
	case SIMT_OP_ALL:
		return ballot == alive;
	case SIMT_OP_MATCH_ALL:
		return same ? alive : 0;
	default:
		return folded;
	}
}

static uint64_t lane_result(block *b, uint32_t warp, uint32_t alive, uint32_t self, uint64_t common)
{
	const meeting_entry &e = warp_lane(b, warp, self)->entry;
	uint32_t match = 0;

	switch (e.op) {
	case SIMT_OP_SYNC:
		return 0;
	case SIMT_OP_SHFL_IDX:
	case SIMT_OP_SHFL_UP:
	case SIMT_OP_SHFL_DOWN:
	case SIMT_OP_SHFL_XOR: {
		uint32_t source = shuffle_source(e, self);

		/* a lane that is not there has no value: CUDA leaves it undefined, we keep ours */
		return alive >> source & 1 ? warp_lane(b, warp, source)->entry.value : e.value;
	}
	case SIMT_OP_MATCH_ANY:
		for (uint32_t i = 0; i < warp_size; i++)
			if (alive >> i & 1 && warp_lane(b, warp, i)->entry.value == e.value)
				match |= 1u << i;
		return match;
	default:
		return common;
	}
}

/* Has every lane of `alive` arrived with this mask? -1: two operations meet under one mask. */
static int meeting_complete(block *b, uint32_t warp, uint32_t alive, const meeting_entry &e)
{
	for (uint32_t i = 0; i < warp_size; i++) {
		if (!(alive >> i & 1))
			continue;
		lane *l = warp_lane(b, warp, i);

		if (l->entry.op == SIMT_OP_NONE || l->entry.mask != e.mask)
			return 0;
		if (l->entry.op != e.op)
			return -1;
	}
	return 1;
}

static void meeting_finish(block *b, uint32_t warp, uint32_t alive, simt_op op)
{
	uint64_t common = warp_result(b, warp, alive, op);

	for (uint32_t i = 0; i < warp_size; i++)
		if (alive >> i & 1)
			warp_lane(b, warp, i)->result = lane_result(b, warp, alive, i, common);
	for (uint32_t i = 0; i < warp_size; i++) {
		if (!(alive >> i & 1))
			continue;
		lane *l = warp_lane(b, warp, i);

		l->entry.op = SIMT_OP_NONE;
		if (l->state == lane_state::at_collective)
			lane_wake(l);
	}
	b->g->progress++;
}

void warp_check(block *b, uint32_t warp)
{
	for (uint32_t i = 0; i < warp_size; i++) {
		lane *l = warp_lane(b, warp, i);

		if (l == nullptr || l->entry.op == SIMT_OP_NONE)
			continue;
		uint32_t alive = alive_mask(b, warp, l->entry.mask);
		int complete = meeting_complete(b, warp, alive, l->entry);

		if (complete < 0)
			grid_fail(b->g, SIMT_ERR_COLLECTIVE,
				  lane_name(l) +
					  ": lanes of one mask call different warp collectives");
		else if (complete > 0)
			meeting_finish(b, warp, alive, l->entry.op);
	}
}

void barrier_check(block *b)
{
	if (b->barrier_waiting == 0 || b->barrier_waiting < b->alive)
		return;
	b->barrier_result[SIMT_BARRIER_COUNT] = b->barrier_count;
	b->barrier_result[SIMT_BARRIER_AND] = b->barrier_count == b->barrier_waiting;
	b->barrier_result[SIMT_BARRIER_OR] = b->barrier_count != 0;
	b->barrier_waiting = 0;
	b->barrier_count = 0;
	for (lane &l : b->lanes)
		if (l.state == lane_state::at_barrier)
			lane_wake(&l);
	b->g->progress++;
}

} // namespace simt

using namespace simt;

uint64_t simt_collective(enum simt_op op, uint32_t mask, uint64_t value, uint32_t arg,
			 uint32_t width)
{
	lane *l = current_lane;

	if (l == nullptr)
		return lone_result(op, mask, value);
	uint32_t self = l->tid % warp_size;
	uint32_t warp = l->tid / warp_size;

	if (!(mask >> self & 1) || width == 0 || width > warp_size || (width & (width - 1)) != 0) {
		grid_fail(l->blk->g, SIMT_ERR_COLLECTIVE,
			  lane_name(l) +
				  ": a warp collective wants a mask with the calling lane in "
				  "it and a width of 1, 2, 4, 8, 16 or 32");
		lane_block(lane_state::at_collective); /* the grid ends: not resumed */
		return 0;
	}
	l->entry = meeting_entry{value, mask, arg, (uint8_t)width, op};
	warp_check(l->blk, warp);
	if (l->entry.op != SIMT_OP_NONE)
		lane_block(lane_state::at_collective);
	return l->result;
}

uint32_t simt_barrier(enum simt_barrier_vote vote, int predicate)
{
	lane *l = lane_or_die("__syncthreads");
	block *b = l->blk;

	b->barrier_waiting++;
	b->barrier_count += predicate != 0;
	if (b->barrier_waiting < b->alive)
		lane_block(lane_state::at_barrier);
	else
		barrier_check(b);
	return b->barrier_result[vote];
}
