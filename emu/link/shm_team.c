// SPDX-License-Identifier: BSD-3-Clause
#include "emu/link/shm_team.h"

#include <assert.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/thread.h"

enum {
	SPIN_NS = 50000,  /* a helper looks for more work so long; a sleep costs about as much */
	SPIN_TURNS = 512, /* between two looks at the clock */
	RELAX_EVERY = 64,
	LATE_TURNS = 65536,  /* of the owner, before it sleeps too: the helper has no processor */
	REST_NS = 100000000, /* without helpers after that */
	STACK_BYTES = 64 * 1024,
	SLICES_SHIFT = 16,
	GENERATION_SHIFT = 32,
};

static_assert(ATOMIC_INT_LOCK_FREE == 2, "futexes are 32-bit words");

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Now and then only: where a hypervisor watches for loops of the instruction, as it does for locks,
 * each in a row costs more than what is waited for.
 */
static void relax(unsigned int turn)
{
#if defined(__x86_64__) || defined(__i386__)
	if (turn % RELAX_EVERY == 0)
		__builtin_ia32_pause();
#else
	(void)turn;
#endif
}

/* Returns at once if the word has another value, and now and then without a reason. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int threads)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

/* ---- slices ---- */

/*
 * Claims a slice and does it. False: there is none. Who has claimed one may read the work: it
 * stays as it is until the slice is done.
 */
static bool do_one(struct shm_team *t)
{
	uint64_t ticket = atomic_load_explicit(&t->ticket, memory_order_acquire);

	do {
		if ((uint16_t)ticket == (uint16_t)(ticket >> SLICES_SHIFT))
			return false;
	} while (!atomic_compare_exchange_weak(&t->ticket, &ticket, ticket + 1));
	t->slice(t->arg, (uint16_t)ticket);
	/* The last one says so, then looks whether the owner sleeps; the owner the other way. */
	if (atomic_fetch_sub(&t->left, 1) == 1 && atomic_load(&t->owner_waits))
		futex_wake(&t->left, 1);
	return true;
}

/* For slices that helpers have begun. */
static void await_helpers(struct shm_team *t)
{
	uint32_t left;

	for (unsigned int i = 0; i < LATE_TURNS; i++) {
		if (!atomic_load_explicit(&t->left, memory_order_acquire))
			return;
		relax(i);
	}
	atomic_store(&t->owner_waits, true);
	while ((left = atomic_load(&t->left)) != 0)
		futex_wait(&t->left, left);
	atomic_store(&t->owner_waits, false);
	t->rest_until_ns = now_ns() + REST_NS;
}

void shm_team_run(struct shm_team *t, unsigned int slices, void (*slice)(void *, unsigned int),
		  void *arg)
{
	uint64_t generation = (atomic_load(&t->ticket) >> GENERATION_SHIFT) + 1;

	assert(slices > 0 && slices <= SHM_SLICES_MAX);
	t->slice = slice;
	t->arg = arg;
	atomic_store_explicit(&t->left, slices, memory_order_relaxed);
	atomic_store(&t->ticket, generation << GENERATION_SHIFT | (uint64_t)slices << SLICES_SHIFT);
	while (do_one(t))
		;
	await_helpers(t);
}

static bool rests(struct shm_team *t)
{
	if (t->rest_until_ns && now_ns() >= t->rest_until_ns)
		t->rest_until_ns = 0;
	return t->rest_until_ns != 0;
}

unsigned int shm_team_hands(struct shm_team *t)
{
	return rests(t) ? 1 : 1 + atomic_load_explicit(&t->awake, memory_order_relaxed);
}

/* ---- helpers ---- */

static void look_for_work(struct shm_team *t)
{
	uint64_t until_ns = now_ns() + SPIN_NS;

	while (!atomic_load_explicit(&t->stop, memory_order_relaxed) && now_ns() < until_ns) {
		for (unsigned int i = 0; i < SPIN_TURNS; i++) {
			if (do_one(t)) {
				until_ns = now_ns() + SPIN_NS;
				break;
			}
			relax(i);
		}
	}
}

static void *helper(void *arg)
{
	struct shm_team *t = arg;

	while (!atomic_load(&t->stop)) {
		uint32_t calls = atomic_load(&t->calls);

		atomic_fetch_add(&t->awake, 1);
		look_for_work(t);
		atomic_fetch_sub(&t->awake, 1);
		atomic_fetch_add(&t->asleep, 1);
		futex_wait(&t->calls, calls); /* a call since then: not at all */
	}
	return NULL;
}

static void start(struct shm_team *t)
{
	t->tried = true;
	while (t->started < t->size &&
	       !nic_thread_start(&t->threads[t->started], "gdakit-copy", STACK_BYTES, helper, t))
		t->started++;
}

static void wake_all(struct shm_team *t)
{
	atomic_fetch_add(&t->calls, 1);
	futex_wake(&t->calls, SHM_HELPERS_MAX);
}

void shm_team_call(struct shm_team *t)
{
	if (rests(t))
		return;
	if (!t->tried)
		start(t);
	if (atomic_load_explicit(&t->asleep, memory_order_relaxed) &&
	    atomic_exchange(&t->asleep, 0))
		wake_all(t);
}

/* ---- teams ---- */

unsigned int shm_team_suits(void)
{
	cpu_set_t set;
	unsigned int cpus =
		sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
	unsigned int helpers = cpus / SHM_CPUS_A_HELPER;

	return helpers < SHM_HELPERS_MAX ? helpers : SHM_HELPERS_MAX;
}

struct shm_team *shm_team_create(unsigned int helpers)
{
	struct shm_team *t;

	assert(helpers <= SHM_HELPERS_MAX);
	if (!helpers)
		return NULL;
	t = aligned_alloc(_Alignof(struct shm_team), sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct shm_team){.size = helpers};
	return t;
}

void shm_team_destroy(struct shm_team *t)
{
	if (!t)
		return;
	atomic_store(&t->stop, true);
	wake_all(t);
	for (unsigned int i = 0; i < t->started; i++)
		pthread_join(t->threads[i], NULL);
	free(t);
}
