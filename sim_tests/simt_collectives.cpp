/* SPDX-License-Identifier: BSD-3-Clause */
/* Warp collectives and block barriers of the CPU executor. */
#include <criterion/criterion.h>
#include <vector>

#include "gdakit_kernel.h"

static int run(simt_launch_config cfg, void (*kernel)(uint32_t *), uint32_t *out)
{
	simt_stream *s;

	cr_assert_eq(simt_stream_create(&s), SIMT_SUCCESS);
	cfg.stream = s;
	cr_assert_eq(simt_launch_kernel(cfg, kernel, out), SIMT_SUCCESS);
	int error = simt_stream_synchronize(s);

	simt_stream_destroy(s);
	return error;
}

static simt_launch_config shape(dim3 grid, dim3 block)
{
	simt_launch_config cfg = {};

	cfg.grid = grid;
	cfg.block = block;
	cfg.name = "test";
	return cfg;
}

static void shuffles(uint32_t *out)
{
	uint32_t l = threadIdx.x;
	uint32_t *mine = out + l * 8;

	mine[0] = __shfl_sync(0xffffffff, l * 10, 5);
	mine[1] = __shfl_up_sync(0xffffffff, l, 3);
	mine[2] = __shfl_down_sync(0xffffffff, l, 3);
	mine[3] = __shfl_xor_sync(0xffffffff, l, 1);
	mine[4] = __shfl_sync(0xffffffff, l, 2, 8);
	mine[5] = __shfl_up_sync(0xffffffff, l, 3, 8);
	mine[6] = (uint32_t)(__shfl_sync(0xffffffff, (uint64_t)l << 40, 9) >> 40);
	mine[7] = (uint32_t)__shfl_sync(0xffffffff, (double)l, 4);
}

Test(simt_collectives, shuffles_read_the_lane_that_cuda_names)
{
	std::vector<uint32_t> out(32 * 8);

	cr_assert_eq(run(shape(1, 32), shuffles, out.data()), SIMT_SUCCESS);
	for (uint32_t l = 0; l < 32; l++) {
		uint32_t *mine = &out[l * 8];

		cr_expect_eq(mine[0], 50);
		cr_expect_eq(mine[1], l < 3 ? l : l - 3);
		cr_expect_eq(mine[2], l > 28 ? l : l + 3);
		cr_expect_eq(mine[3], l ^ 1);
		cr_expect_eq(mine[4], (l & ~7u) + 2);
		cr_expect_eq(mine[5], l % 8 < 3 ? l : l - 3);
		cr_expect_eq(mine[6], 9);
		cr_expect_eq(mine[7], 4);
	}
}

static void votes(uint32_t *out)
{
	uint32_t l = threadIdx.x;
	uint32_t *mine = out + l * 8;
	int same;

	mine[0] = __ballot_sync(0xffffffff, l % 3 == 0);
	mine[1] = (uint32_t)__any_sync(0xffffffff, l == 31);
	mine[2] = (uint32_t)__all_sync(0xffffffff, l != 31);
	mine[3] = __match_any_sync(0xffffffff, l / 4);
	mine[4] = __match_all_sync(0xffffffff, 7u, &same) == 0xffffffff && same;
	mine[5] = __match_all_sync(0xffffffff, l, &same) == 0 && !same;
	mine[6] = __reduce_add_sync(0xffffffff, l);
	mine[7] = (uint32_t)__reduce_min_sync(0xffffffff, (int)l - 16);
}

Test(simt_collectives, votes_matches_and_reductions)
{
	std::vector<uint32_t> out(32 * 8);

	cr_assert_eq(run(shape(1, 32), votes, out.data()), SIMT_SUCCESS);
	for (uint32_t l = 0; l < 32; l++) {
		uint32_t *mine = &out[l * 8];

		cr_expect_eq(mine[0], 0x49249249);
		cr_expect_eq(mine[1], 1);
		cr_expect_eq(mine[2], 0);
		cr_expect_eq(mine[3], 0xfu << (l & ~3u));
		cr_expect_eq(mine[4], 1);
		cr_expect_eq(mine[5], 1);
		cr_expect_eq(mine[6], 496);
		cr_expect_eq((int)mine[7], -16);
	}
}

static void divergent_halves(uint32_t *out)
{
	uint32_t l = threadIdx.x;

	/* two groups of one warp meet separately and any number of times */
	if (l < 16) {
		for (int i = 0; i < 5; i++)
			out[l] += __reduce_max_sync(0x0000ffff, l);
	} else {
		out[l] = __reduce_max_sync(0xffff0000, l);
	}
	__syncwarp();
	out[32 + l] = out[l ^ 31];
}

Test(simt_collectives, halves_of_a_warp_meet_separately)
{
	std::vector<uint32_t> out(64);

	cr_assert_eq(run(shape(1, 32), divergent_halves, out.data()), SIMT_SUCCESS);
	for (uint32_t l = 0; l < 32; l++) {
		cr_expect_eq(out[l], l < 16 ? 75 : 31);
		cr_expect_eq(out[32 + l], l < 16 ? 31 : 75);
	}
}

static void exited_lanes(uint32_t *out)
{
	uint32_t l = threadIdx.x;

	if (l >= 20)
		return;
	out[l] = __ballot_sync(0xffffffff, 1);
	__syncthreads();
	out[32 + l] = (uint32_t)__syncthreads_count(l % 2 == 0);
}

Test(simt_collectives, exited_lanes_are_not_waited_for)
{
	std::vector<uint32_t> out(64);

	cr_assert_eq(run(shape(1, 32), exited_lanes, out.data()), SIMT_SUCCESS);
	for (uint32_t l = 0; l < 20; l++) {
		cr_expect_eq(out[l] & 0xfffff & 1u << l, 1u << l);
		cr_expect_eq(out[32 + l], 10);
	}
}

static void shared_sum(uint32_t *out)
{
	GDAKIT_SHARED(uint32_t[256], part);
	uint32_t t = threadIdx.x;

	part[t] = t + blockIdx.x * 1000;
	__syncthreads();
	for (uint32_t half = blockDim.x / 2; half > 0; half /= 2) {
		if (t < half)
			part[t] += part[t + half];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

Test(simt_collectives, each_block_has_its_shared_memory_and_barrier)
{
	std::vector<uint32_t> out(40);

	cr_assert_eq(run(shape(40, 256), shared_sum, out.data()), SIMT_SUCCESS);
	for (uint32_t b = 0; b < 40; b++)
		cr_expect_eq(out[b], 255 * 128 + b * 1000 * 256);
}

static void dynamic_shared(uint32_t *out)
{
	GDAKIT_DYNAMIC_SHARED(uint32_t, words);

	words[threadIdx.x] = threadIdx.x;
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

Test(simt_collectives, dynamic_shared_memory_belongs_to_a_block)
{
	std::vector<uint32_t> out(128);
	simt_launch_config cfg = shape(2, 64);

	cfg.shared_bytes = 64 * sizeof(uint32_t);
	cr_assert_eq(run(cfg, dynamic_shared, out.data()), SIMT_SUCCESS);
	for (uint32_t i = 0; i < 128; i++)
		cr_expect_eq(out[i], 63 - i % 64);
}

static void barrier_votes(uint32_t *out)
{
	uint32_t t = threadIdx.x;

	out[t] = (uint32_t)__syncthreads_count(t < 40) * 100 +
		 (uint32_t)__syncthreads_and(t < 40) * 10 + (uint32_t)__syncthreads_or(t == 3);
}

Test(simt_collectives, barriers_count_and_vote)
{
	std::vector<uint32_t> out(64);

	cr_assert_eq(run(shape(1, 64), barrier_votes, out.data()), SIMT_SUCCESS);
	for (uint32_t t = 0; t < 64; t++)
		cr_expect_eq(out[t], 4001);
}

static void mixed_operations(uint32_t *out)
{
	if (threadIdx.x == 0)
		*out = __ballot_sync(0xffffffff, 1);
	else
		__syncwarp();
}

Test(simt_collectives, two_operations_under_one_mask_are_an_error)
{
	uint32_t out = 0;

	cr_assert_eq(run(shape(1, 32), mixed_operations, &out), SIMT_ERR_COLLECTIVE);
}

static void foreign_mask(uint32_t *)
{
	__syncwarp(1); /* lanes 1 to 31 are not in it */
}

Test(simt_collectives, a_mask_without_the_caller_is_an_error)
{
	uint32_t out = 0;

	cr_assert_eq(run(shape(1, 32), foreign_mask, &out), SIMT_ERR_COLLECTIVE);
}

/* Two functions, not alike: a compiler makes one instruction of two equal places. */
static __noinline__ uint32_t active_here(void)
{
	return __activemask();
}

static __noinline__ uint32_t inactive_there(void)
{
	return ~__activemask();
}

static void active_lanes(uint32_t *out)
{
	uint32_t l = threadIdx.x;

	out[l] = __activemask();
	__syncwarp();
	out[32 + l] = l < 10 ? active_here() : inactive_there();
	/* whatever the mask is, its lanes can meet under it, any number of times */
	for (int i = 0; i < 3; i++) {
		uint32_t mask = __activemask();

		out[64 + l] += __reduce_add_sync(mask, 1u) == (uint32_t)__popc(mask);
		if ((l + (uint32_t)i) % 3 == 0)
			__nanosleep(1);
	}
}

Test(simt_collectives, active_lanes_are_those_that_come_together)
{
	std::vector<uint32_t> out(96);

	cr_assert_eq(run(shape(1, 32), active_lanes, out.data()), SIMT_SUCCESS);
	for (uint32_t l = 0; l < 32; l++) {
		cr_expect_eq(out[l], 0xffffffff, "all start together");
		cr_expect_eq(out[32 + l], 0x3ffu, "two places, two masks");
		cr_expect_eq(out[64 + l], 3);
	}
}

Test(simt_collectives, a_lone_thread_is_its_own_warp)
{
	std::vector<uint32_t> out(96);

	cr_assert_eq(run(shape(1, 1), active_lanes, out.data()), SIMT_SUCCESS);
	cr_expect_eq(out[0], 1);
	/* as is device code that a test calls outside a kernel */
	uint32_t mask = __activemask();

	cr_expect_eq(mask, 1);
	cr_expect_eq(__match_any_sync(mask, 77ull), 1);
	cr_expect_eq(__shfl_sync(mask, 5, 0), 5);
	cr_expect_eq(__ballot_sync(mask, 3), 1);
	__syncwarp(mask);
}
