/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor's scheduler: seeds, spinning, many blocks, deadlocks. */
#include <criterion/criterion.h>
#include <atomic>
#include <vector>

#include "gdakit_kernel.h"
#include "simt_attach.h"

static simt_launch_config shape(dim3 grid, dim3 block, simt_stream *s)
{
	simt_launch_config cfg = {};

	cfg.grid = grid;
	cfg.block = block;
	cfg.stream = s;
	cfg.name = "test";
	return cfg;
}

static simt_stream *new_stream()
{
	simt_stream *s;

	cr_assert_eq(simt_stream_create(&s), SIMT_SUCCESS);
	return s;
}

/* The order in which threads take tickets shows the schedule. */
static void take_tickets(uint32_t *next, uint32_t *order)
{
	for (int i = 0; i < 4; i++)
		order[atomicAdd(next, 1)] = blockIdx.x * blockDim.x + threadIdx.x;
}

static std::vector<uint32_t> schedule(uint64_t seed)
{
	simt_stream *s = new_stream();
	simt_launch_config cfg = shape(4, 32, s);
	std::vector<uint32_t> order(4 * 32 * 4);
	uint32_t next = 0;

	cfg.seed = seed;
	cr_assert_eq(simt_launch_kernel(cfg, take_tickets, &next, order.data()), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	simt_stream_destroy(s);
	return order;
}

Test(simt_scheduler, a_seed_fixes_the_schedule)
{
	cr_assert(schedule(7) == schedule(7));
	cr_assert(schedule(8) == schedule(8));
}

Test(simt_scheduler, another_seed_gives_another_schedule)
{
	cr_assert(schedule(7) != schedule(8));
}

static void indices(uint32_t *seen)
{
	uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);

	seen[block * 24 + thread]++;
}

Test(simt_scheduler, every_thread_of_a_3d_grid_runs_once)
{
	simt_stream *s = new_stream();
	std::vector<uint32_t> seen(2 * 3 * 4 * 24);

	cr_assert_eq(
		simt_launch_kernel(shape(dim3(2, 3, 4), dim3(4, 3, 2), s), indices, seen.data()),
		SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	simt_stream_destroy(s);
	for (uint32_t n : seen)
		cr_assert_eq(n, 1);
}

static void count(uint32_t *n)
{
	atomicAdd(n, 1);
}

Test(simt_scheduler, more_blocks_than_fit_run_one_after_another)
{
	simt_stream *s = new_stream();
	simt_launch_config cfg = shape(3000, 64, s);
	uint32_t n = 0;

	cfg.max_threads = 256;
	cr_assert_eq(simt_launch_kernel(cfg, count, &n), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	simt_stream_destroy(s);
	cr_assert_eq(n, 3000 * 64);
}

/* Blocks pass a token around: every one spins until its turn. */
static void pass_token(uint32_t *token)
{
	uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;

	while (gdakit_load_acquire_sys(token) != me)
		;
	gdakit_store_release_sys(token, me + 1);
}

Test(simt_scheduler, spinning_threads_give_way_to_each_other)
{
	simt_stream *s = new_stream();
	uint32_t token = 0;

	cr_assert_eq(simt_launch_kernel(shape(8, 64, s), pass_token, &token), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	simt_stream_destroy(s);
	cr_assert_eq(token, 512);
}

static void lock_and_count(int *lock, uint32_t *n)
{
	for (int i = 0; i < 10; i++) {
		while (atomicCAS(lock, 0, 1) != 0)
			;
		uint32_t v = __atomic_load_n(n, __ATOMIC_RELAXED);

		__nanosleep(100); /* give way inside the critical section */
		__atomic_store_n(n, v + 1, __ATOMIC_RELAXED);
		atomicExch(lock, 0);
	}
}

Test(simt_scheduler, a_spin_lock_excludes)
{
	simt_stream *s = new_stream();
	int lock = 0;
	uint32_t n = 0;

	cr_assert_eq(simt_launch_kernel(shape(2, 48, s), lock_and_count, &lock, &n), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	simt_stream_destroy(s);
	cr_assert_eq(n, 960);
}

/* A queue: each thread waits for its turn by compare-and-swap. */
static void take_turns(uint64_t *turn)
{
	uint64_t me = blockIdx.x * blockDim.x + threadIdx.x;

	while (atomicCAS(turn, me, me + 1) != me)
		gdakit_pause();
}

Test(simt_scheduler, of_many_who_wait_for_their_turn_only_the_next_one_runs)
{
	simt_stream *s = new_stream();
	simt_launch_stats stats;
	uint64_t turn = 0;

	cr_assert_eq(simt_launch_kernel(shape(4, 256, s), take_turns, &turn), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(turn, 1024);
	cr_assert_eq(simt_stream_last_stats(s, &stats), SIMT_SUCCESS);
	cr_assert_lt(stats.switches, 1024 * 10, "%llu switches",
		     (unsigned long long)stats.switches);
	simt_stream_destroy(s);
}

/* Waits for what is not in memory, beside a word that never changes. */
static void wait_for_less(uint32_t *word, uint32_t *ended)
{
	long long end = clock64() + 1000;

	while (gdakit_load_acquire_sys(word) == 0 && clock64() < end)
		;
	for (int i = 0; i < 20 && gdakit_load_acquire_sys(word) == 0; i++)
		;
	atomicAdd(ended, 1);
}

Test(simt_scheduler, a_wait_that_a_clock_or_a_counter_ends_does_end)
{
	simt_stream *s = new_stream();
	uint32_t word = 0, ended = 0;

	cr_assert_eq(simt_launch_kernel(shape(2, 40, s), wait_for_less, &word, &ended),
		     SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(ended, 80);
	simt_stream_destroy(s);
}

/* The last thread changes the word that all wait for with an ordinary store that nobody sees. */
static void wait_for_byte(uint32_t *word, uint32_t *ended)
{
	if (threadIdx.x == blockDim.x - 1) {
		for (int i = 0; i < 100; i++)
			__nanosleep(100);
		__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	}
	while (gdakit_load_acquire_sys(word) == 0)
		;
	atomicAdd(ended, 1);
}

Test(simt_scheduler, a_store_that_is_no_simt_operation_ends_a_wait)
{
	simt_stream *s = new_stream();
	uint32_t word = 0, ended = 0;

	cr_assert_eq(simt_launch_kernel(shape(1, 100, s), wait_for_byte, &word, &ended),
		     SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(ended, 100);
	simt_stream_destroy(s);
}

static void half_barrier(uint32_t *)
{
	if (threadIdx.x < 16)
		__syncthreads();
	else
		__syncwarp(); /* waits for lanes 0 to 15, which wait for us */
}

Test(simt_scheduler, a_deadlock_ends_the_launch_with_an_error)
{
	simt_stream *s = new_stream();
	uint32_t n = 0;

	cr_assert_eq(simt_launch_kernel(shape(2, 32, s), half_barrier, &n), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_ERR_DEADLOCK);
	/* the stream is usable again */
	cr_assert_eq(simt_launch_kernel(shape(2, 32, s), count, &n), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(n, 64);
	simt_stream_destroy(s);
}

static void spin_forever(uint32_t *flag)
{
	while (gdakit_load_acquire_sys(flag) == 0)
		;
}

Test(simt_scheduler, the_watchdog_ends_a_kernel_that_only_spins)
{
	simt_stream *s = new_stream();
	simt_launch_config cfg = shape(1, 32, s);
	uint32_t flag = 0;

	cfg.watchdog_ms = 50;
	cr_assert_eq(simt_launch_kernel(cfg, spin_forever, &flag), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_ERR_TIMEOUT);
	simt_stream_destroy(s);
}

Test(simt_scheduler, a_spinning_kernel_sleeps_and_leaves_the_core_to_others)
{
	simt_stream *s = new_stream();
	simt_launch_config cfg = shape(1, 32, s);
	simt_launch_stats stats;
	uint32_t flag = 0;

	cfg.watchdog_ms = 50;
	cr_assert_eq(simt_launch_kernel(cfg, spin_forever, &flag), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_ERR_TIMEOUT);
	cr_assert_eq(simt_stream_last_stats(s, &stats), SIMT_SUCCESS);
	cr_assert_gt(stats.naps, 0);
	simt_stream_destroy(s);
}

struct world {
	uint32_t *flag;
	int polls;
};

/* A world without a thread of its own: it acts when the scheduler has nothing else to do. */
static int poll_world(void *ctx)
{
	world *w = static_cast<world *>(ctx);

	if (++w->polls == 10)
		__atomic_store_n(w->flag, 1, __ATOMIC_RELEASE);
	return w->polls <= 10;
}

Test(simt_scheduler, an_attached_world_is_polled_when_all_threads_spin)
{
	simt_stream *s = new_stream();
	uint32_t flag = 0;
	world w = {&flag, 0};

	cr_assert_eq(simt_attach(poll_world, &w), SIMT_SUCCESS);
	cr_assert_eq(simt_launch_kernel(shape(1, 4, s), spin_forever, &flag), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(simt_detach(poll_world, &w), SIMT_SUCCESS);
	cr_assert_geq(w.polls, 10);
	int polls = w.polls;

	cr_assert_eq(simt_launch_kernel(shape(1, 4, s), spin_forever, &flag), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(w.polls, polls, "a detached world is not called");
	simt_stream_destroy(s);
}

static void deep(uint32_t *out)
{
	volatile char big[40000];

	for (size_t i = 0; i < sizeof(big); i += 512)
		big[i] = (char)i;
	*out = (uint32_t)big[512];
}

Test(simt_scheduler, a_thread_has_a_stack_of_useful_size)
{
	simt_stream *s = new_stream();
	uint32_t out = 1;

	cr_assert_eq(simt_launch_kernel(shape(1, 1, s), deep, &out), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(out, 0);
	simt_stream_destroy(s);
}
