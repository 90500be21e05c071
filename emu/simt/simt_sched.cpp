/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler: rounds over the runnable lanes, each round in an order drawn from the seed.
 *
 * A round in which no lane stored, finished a collective or exited is idle: all of them wait for
 * the outside. Then the attached worlds are polled; if they did nothing either, the core is offered
 * to others, first by sched_yield, later by short naps. Without that a spinning kernel starves the
 * NIC's thread on a small machine.
 */
#include "simt_sched.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sched.h>

#include "simt_cuda.h"
#include "simt_mem.h"

__thread simt_dim3_pod simt_thread_idx, simt_block_idx, simt_block_dim, simt_grid_dim;

namespace simt
{

__thread lane *current_lane;

#if defined(__SANITIZE_THREAD__)
static constexpr uint32_t default_max_threads = 256; /* a fibre costs ThreadSanitizer megabytes */
#else
static constexpr uint32_t default_max_threads = 8192;
#endif
static constexpr uint32_t preempt_range = 32; /* memory operations between preemptions, at most */
static constexpr uint32_t yields_before_nap = 64; /* idle rounds that only yield the core */
static constexpr uint32_t nap_min_ns = 5000;
static constexpr uint32_t nap_max_ns = 50000;
static constexpr uint32_t rounds_per_poll = 64; /* attached worlds are polled at least so often */

static uint64_t now_ns()
{
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* xorshift64*: small, fast, never zero. */
static uint64_t next_random(grid *g)
{
	g->rng ^= g->rng >> 12;
	g->rng ^= g->rng << 25;
	g->rng ^= g->rng >> 27;
	return g->rng * 0x2545f4914f6cdd1dull;
}

uint32_t random_below(grid *g, uint32_t n)
{
	return (uint32_t)(((next_random(g) >> 32) * n) >> 32);
}

static simt_dim3_pod unflatten(uint32_t i, const simt_dim3 &d)
{
	return simt_dim3_pod{i % d.x, i / d.x % d.y, i / d.x / d.y};
}

std::string lane_name(const lane *l)
{
	const grid *g = l->blk->g;
	simt_dim3_pod t = unflatten(l->tid, g->cfg.block);
	char text[128];

	snprintf(text, sizeof(text), "block (%u,%u,%u) thread (%u,%u,%u)", l->blk->idx.x,
		 l->blk->idx.y, l->blk->idx.z, t.x, t.y, t.z);
	return text;
}

void grid_fail(grid *g, int error, const std::string &text)
{
	if (g->error != SIMT_SUCCESS)
		return;
	g->error = error;
	g->error_text = text;
}

/* --- the lane's side --- */

void lane_yield()
{
	lane *l = current_lane;

	context_switch(&l->ctx, l->blk->g->sched);
}

void lane_block(lane_state state)
{
	current_lane->state = state;
	lane_yield();
}

void lane_wake(lane *l)
{
	l->state = lane_state::runnable;
	if (!l->queued) {
		l->queued = true;
		l->blk->g->run.push_back(l);
	}
}

static void lane_entry(void *arg)
{
	lane *l = static_cast<lane *>(arg);
	grid *g = l->blk->g;

	g->fn(g->arg);
	l->state = lane_state::exited;
	context_exit(&l->ctx, g->sched);
}

/* --- the scheduler's side --- */

static void lane_resume(grid *g, lane *l)
{
	block *b = l->blk;

	current_lane = l;
	simt_thread_idx = unflatten(l->tid, g->cfg.block);
	simt_block_idx = simt_dim3_pod{b->idx.x, b->idx.y, b->idx.z};
	g->preempt_in = 1 + random_below(g, preempt_range);
	g->stats.switches++;
	g->beat->block.store(b->index, std::memory_order_relaxed);
	g->beat->thread.store(l->tid, std::memory_order_relaxed);
	g->beat->in_kernel.store(true, std::memory_order_relaxed);
	context_switch(g->sched, &l->ctx);
	g->beat->switches.store(g->stats.switches, std::memory_order_relaxed);
	g->beat->in_kernel.store(false, std::memory_order_relaxed);
	current_lane = nullptr;
}

static void lane_retire(grid *g, lane *l)
{
	block *b = l->blk;

	g->stacks->put(context_destroy(&l->ctx));
	b->alive--;
	g->progress++;
	/* those who waited for this lane need not any more */
	warp_check(b, l->tid / warp_size);
	barrier_check(b);
}

static int block_admit(grid *g)
{
	std::unique_ptr<block> b(new block);
	uint32_t threads = g->cfg.block.x * g->cfg.block.y * g->cfg.block.z;
	simt_dim3_pod idx = unflatten(g->next_block, g->cfg.grid);

	b->g = g;
	b->index = g->next_block;
	b->idx = simt_dim3(idx.x, idx.y, idx.z);
	b->threads = b->alive = threads;
	b->lanes = std::vector<lane>(threads);
	if (g->cfg.shared_bytes > 0)
		b->dynamic_shared.reset(new uint64_t[(g->cfg.shared_bytes + 7) / 8]);
	for (uint32_t i = 0; i < threads; i++) {
		lane *l = &b->lanes[i];
		stack s = g->stacks->get();

		if (s.base == nullptr) {
			for (uint32_t j = 0; j < i; j++) /* none of them has run */
				g->stacks->put(context_destroy(&b->lanes[j].ctx));
			return SIMT_ERR_NO_MEMORY;
		}
		l->blk = b.get();
		l->tid = i;
		context_create(&l->ctx, s, lane_entry, l);
	}
	for (lane &l : b->lanes)
		lane_wake(&l);
	g->next_block++;
	g->resident_threads += threads;
	g->blocks.push_back(std::move(b));
	return SIMT_SUCCESS;
}

/* Fill up to the limit; one block is always let in. A block that does not fit into memory waits for
 * others to end, and fails the launch when there are none. */
static void blocks_admit(grid *g)
{
	uint32_t threads = g->cfg.block.x * g->cfg.block.y * g->cfg.block.z;

	while (g->next_block < g->block_count &&
	       (g->blocks.empty() || g->resident_threads + threads <= g->cfg.max_threads)) {
		int error = block_admit(g);

		if (error != SIMT_SUCCESS) {
			if (g->blocks.empty())
				grid_fail(g, error, "no memory for the stacks of one block");
			return;
		}
	}
}

static void blocks_retire(grid *g)
{
	for (size_t i = 0; i < g->blocks.size();) {
		if (g->blocks[i]->alive == 0) {
			g->resident_threads -= g->blocks[i]->threads;
			g->blocks[i] = std::move(g->blocks.back());
			g->blocks.pop_back();
		} else {
			i++;
		}
	}
}

/* One turn for each lane that was runnable when the round began. */
static void round_run(grid *g)
{
	size_t n = g->run.size();

	for (size_t i = 0; i < n && g->error == SIMT_SUCCESS; i++) {
		std::swap(g->run[i], g->run[i + random_below(g, (uint32_t)(n - i))]);
		lane *l = g->run[i];

		if (l->state != lane_state::runnable)
			continue;
		lane_resume(g, l);
		if (l->state == lane_state::exited)
			lane_retire(g, l);
	}
	/* drop those that do not run any more; lanes woken in this round stay at the end */
	size_t kept = 0;
	for (lane *l : g->run) {
		l->queued = l->state == lane_state::runnable;
		if (l->queued)
			g->run[kept++] = l;
	}
	g->run.resize(kept);
}

/* The lanes of `l`'s warp that gather where it does. */
static uint32_t gathered_mask(const lane *l)
{
	uint32_t first = l->tid - l->tid % warp_size, mask = 0;

	for (uint32_t i = 0; i < warp_size && first + i < l->blk->threads; i++)
		mask |= (uint32_t)(l->blk->lanes[first + i].site == l->site) << i;
	return mask;
}

/*
 * Lanes that came to one instruction go on together. They wait for each other for a round after
 * the one in which the first of them came: those who were together before (at a collective, in a
 * loop that waits) need not have their turns in the same round. Nobody is waited for who cannot
 * run.
 */
static void gatherings_finish(grid *g)
{
	bool is_last_call = g->run.empty();
	std::vector<lane *> ready;

	for (lane *l : g->gathering)
		if (++l->gathers_since > 1 || is_last_call)
			ready.push_back(l);
	for (lane *l : ready) {
		if (l->site == nullptr)
			continue; /* went with another */
		uint32_t mask = gathered_mask(l), first = l->tid - l->tid % warp_size;

		for (uint32_t i = 0; i < warp_size; i++) {
			if (!(mask >> i & 1))
				continue;
			lane *other = &l->blk->lanes[first + i];

			other->site = nullptr;
			other->result = mask;
			g->progress++;
			lane_wake(other);
		}
	}
	size_t kept = 0;
	for (lane *l : g->gathering)
		if (l->site != nullptr)
			g->gathering[kept++] = l;
	g->gathering.resize(kept);
}

static void idle_wait(grid *g, uint32_t idle_rounds)
{
	if (idle_rounds < yields_before_nap) {
		sched_yield();
		return;
	}
	uint32_t grown = nap_min_ns * (1 + (idle_rounds - yields_before_nap) / 16);
	timespec nap = {0, (long)(grown < nap_max_ns ? grown : nap_max_ns)};

	g->stats.naps++;
	nanosleep(&nap, nullptr);
}

/* "3 at __syncthreads, 2 at a warp collective; first: block ..." */
static std::string waiting_text(grid *g)
{
	uint32_t count[6] = {};
	const lane *first = nullptr;
	char text[256];

	for (auto &b : g->blocks)
		for (lane &l : b->lanes) {
			count[(size_t)l.state]++;
			if (first == nullptr && l.state != lane_state::exited)
				first = &l;
		}
	snprintf(text, sizeof(text),
		 "%u threads at __syncthreads, %u at a warp collective, %u at memory, %u running, "
		 "%u exited; "
		 "first waiting: %s",
		 count[(size_t)lane_state::at_barrier], count[(size_t)lane_state::at_collective],
		 count[(size_t)lane_state::parked], count[(size_t)lane_state::runnable],
		 count[(size_t)lane_state::exited],
		 first != nullptr ? lane_name(first).c_str() : "none");
	return text;
}

/* What the lanes keep reading, for the message of the watchdog. */
static std::string spinning_text(grid *g)
{
	char text[128];

	for (const auto &b : g->blocks)
		for (const lane &l : b->lanes) {
			if (l.state == lane_state::exited || l.looks.count == 0)
				continue;
			const look &k = l.looks.at[0];

			snprintf(text, sizeof(text), "; %s keeps reading %p = %#llx",
				 lane_name(&l).c_str(), k.addr, (unsigned long long)k.value);
			return text;
		}
	return "";
}

/* Looks after those who wait for memory: at once when nobody else can run, else now and then, the
 * rarer the more they are. True if one of them has news. */
static bool waiters_serve(grid *g, uint32_t *rounds)
{
	if (!g->run.empty() && *rounds < rounds_per_poll + g->lot.lanes.size())
		return false;
	*rounds = 0;
	return lot_scan(g);
}

static void rounds_run(grid *g)
{
	uint32_t idle = 0, since_poll = 0, since_scan = 0;
	uint64_t idle_since_ns = 0;

	while (g->error == SIMT_SUCCESS) {
		uint64_t before = g->progress;

		blocks_admit(g);
		if (g->blocks.empty() || g->error != SIMT_SUCCESS)
			return;
		if (g->run.empty() && g->lot.lanes.empty() && g->gathering.empty()) {
			grid_fail(g, SIMT_ERR_DEADLOCK, waiting_text(g));
			return;
		}
		round_run(g);
		gatherings_finish(g);
		blocks_retire(g);
		bool is_idle = g->progress == before, has_news = false;
		int polled = 0;

		since_scan++;
		if (is_idle || ++since_poll >= rounds_per_poll) {
			polled = attach_poll();
			since_poll = 0;
			has_news = waiters_serve(g, &since_scan);
		}
		if (g->progress != before || polled > 0) {
			idle = 0;
			continue;
		}
		g->stats.idle_rounds++;
		if (idle++ == 0)
			idle_since_ns = now_ns();
		else if (g->cfg.watchdog_ms != 0 &&
			 now_ns() - idle_since_ns > g->cfg.watchdog_ms * 1000000ull)
			grid_fail(g, SIMT_ERR_TIMEOUT, waiting_text(g) + spinning_text(g));
		if (!has_news)
			idle_wait(g, idle);
	}
}

/* Lanes of a failed grid are left where they stand: their stacks are taken away, destructors on
 * them do not run. */
static void grid_abandon(grid *g)
{
	for (auto &b : g->blocks)
		for (lane &l : b->lanes)
			if (l.state != lane_state::exited)
				g->stacks->put(context_destroy(&l.ctx));
	fprintf(stderr, "simt: kernel %s: %s: %s\n", g->cfg.name != nullptr ? g->cfg.name : "?",
		simt_strerror(g->error), g->error_text.c_str());
}

static uint64_t env_u64(const char *name, uint64_t fallback)
{
	const char *text = std::getenv(name);

	return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 0) : fallback;
}

int grid_run(const simt_launch_config &cfg, simt_kernel_fn fn, void *arg, stack_pool *stacks,
	     heartbeat *beat, simt_launch_stats *stats)
{
	context self;
	grid g;

	g.cfg = cfg;
	g.fn = fn;
	g.arg = arg;
	if (g.cfg.seed == 0)
		g.cfg.seed = env_u64("GDAKIT_SIMT_SEED", 1);
	if (g.cfg.watchdog_ms == 0)
		g.cfg.watchdog_ms = (uint32_t)env_u64("GDAKIT_SIMT_WATCHDOG_MS", 0);
	if (g.cfg.max_threads == 0)
		g.cfg.max_threads = default_max_threads;
	/* spread small seeds; the state must not be 0 */
	g.rng = (g.cfg.seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	g.sched = &self;
	g.stacks = stacks;
	g.beat = beat;
	g.block_count = cfg.grid.x * cfg.grid.y * cfg.grid.z;
	context_adopt_thread(&self);
	simt_block_dim = simt_dim3_pod{cfg.block.x, cfg.block.y, cfg.block.z};
	simt_grid_dim = simt_dim3_pod{cfg.grid.x, cfg.grid.y, cfg.grid.z};
	rounds_run(&g);
	if (g.error != SIMT_SUCCESS)
		grid_abandon(&g);
	*stats = g.stats;
	return g.error;
}

} // namespace simt

/* --- hooks of simt_mem.h --- */

using namespace simt;

simt_mem_observer_fn simt_mem_observer;
static void *simt_mem_observer_ctx;

void simt_set_mem_observer(simt_mem_observer_fn fn, void *ctx)
{
	simt_mem_observer_ctx = ctx;
	simt_mem_observer = fn;
}

void simt_mem_notify(const struct simt_access *access)
{
	simt_mem_observer(simt_mem_observer_ctx, access);
}

static void maybe_preempt(lane *l)
{
	if (--l->blk->g->preempt_in == 0)
		lane_yield();
}

void simt_note_load(const void *addr, uint32_t size, uint64_t value)
{
	lane *l = current_lane;

	if (l != nullptr &&
	    !park_looked(l, look{addr, value, 0, 0, static_cast<uint8_t>(size), false}))
		maybe_preempt(l);
}

void simt_note_cas(const void *addr, uint32_t size, uint64_t value, uint64_t wanted)
{
	lane *l = current_lane;

	if (l != nullptr &&
	    !park_looked(l, look{addr, value, wanted, 0, static_cast<uint8_t>(size), true}))
		maybe_preempt(l);
}

void simt_note_store(const void *addr, uint64_t value)
{
	lane *l = current_lane;

	if (l == nullptr)
		return;
	park_stored(l, addr, value);
	l->blk->g->progress++;
	maybe_preempt(l);
}

void simt_spin(void)
{
	lane *l = current_lane;

	if (l == nullptr)
		sched_yield();
	else if (l->park.came_back) /* this round of its loop has waited already */
		l->park.came_back = false;
	else
		lane_yield();
}

/* --- shared memory --- */

void *simt_shared_var(const void *site, size_t size)
{
	if (current_lane == nullptr) {
		fprintf(stderr, "simt: shared memory used outside a kernel\n");
		abort();
	}
	block *b = current_lane->blk;

	for (shared_var &v : b->shared)
		if (v.site == site)
			return v.mem.get();
	/* shared memory starts with garbage on a GPU; garbage that is easy to recognise here */
	b->shared.push_back(
		shared_var{site, std::unique_ptr<uint64_t[]>(new uint64_t[(size + 7) / 8])});
	memset(b->shared.back().mem.get(), 0xcb, (size + 7) / 8 * 8);
	return b->shared.back().mem.get();
}

void *simt_dynamic_shared(void)
{
	if (current_lane == nullptr) {
		fprintf(stderr, "simt: shared memory used outside a kernel\n");
		abort();
	}
	return current_lane->blk->dynamic_shared.get();
}

uint32_t simt_lane_id(void)
{
	return current_lane != nullptr ? current_lane->tid % warp_size : 0;
}

uint32_t simt_active_lanes(const void *site)
{
	lane *l = current_lane;

	if (l == nullptr)
		return 1;
	if (l->tid % warp_size == 0 && l->tid + 1 == l->blk->threads)
		return 1; /* nobody to gather with */
	l->site = site;
	l->gathers_since = 0;
	l->blk->g->gathering.push_back(l);
	lane_block(lane_state::at_site);
	return (uint32_t)l->result;
}

uint64_t simt_clock_ns(void)
{
	/* a loop that waits for the clock waits for the others as well */
	simt_spin();
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
