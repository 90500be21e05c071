/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that take a part of a large copy: payload that comes through pipes, one of them for each
 * (shm_pipe.c).
 *
 * Work is cut into slices that whoever is there claims, the owner among them: it never waits for a
 * helper that has not begun, and returns when every slice is done. So nothing goes on behind the
 * owner's back, and a team without threads does the same work. After work a helper looks for more
 * for some tens of microseconds, then sleeps until it is called.
 *
 * One owner; all functions are the owner's.
 */
#ifndef GDAKIT_LINK_SHM_TEAM_H
#define GDAKIT_LINK_SHM_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SHM_HELPERS_MAX = 1,	/* how many threads: the one knob, with the next */
	SHM_CPUS_A_HELPER = 4,	/* CPUs that the process may use, for each; fewer: none */
	SHM_SLICES_MAX = 65535, /* of one piece of work */
};

struct shm_team {
	unsigned int size;    /* helpers that it may have */
	unsigned int started; /* threads that there are */
	bool tried;	      /* to start them */
	uint64_t rest_until_ns;
	pthread_t threads[SHM_HELPERS_MAX];
	void (*slice)(void *arg, unsigned int i); /* the work; good while slices are left */
	void *arg;
	_Alignas(64) _Atomic uint64_t ticket; /* generation, slices, the next to be claimed */
	_Atomic bool stop;
	_Alignas(64) _Atomic uint32_t left; /* slices that are not done; a futex */
	_Atomic bool owner_waits;
	_Alignas(64) _Atomic uint32_t calls; /* a futex on which helpers sleep */
	_Atomic uint32_t asleep;
	_Atomic uint32_t awake;
};

/* Helpers that suit the CPUs this thread may use: 0 to SHM_HELPERS_MAX. */
unsigned int shm_team_suits(void);

/* Without threads as yet. NULL: no memory, or helpers is 0. helpers: SHM_HELPERS_MAX at most. */
struct shm_team *shm_team_create(unsigned int helpers);
/* Ends the threads. NULL: nothing. Not in the child of a fork, which has none. */
void shm_team_destroy(struct shm_team *team);

/*
 * More work is to be expected: wakes who sleeps, and the first time starts the threads. Where none
 * can be started the team goes on without; likewise for a while after a helper kept the owner
 * waiting, because there is no processor for it.
 */
void shm_team_call(struct shm_team *team);
/* Who would take a slice now, the owner among them. 1: it is alone. */
unsigned int shm_team_hands(struct shm_team *team);
/*
 * Runs slice(arg, i) once for each i below `slices` (1 to SHM_SLICES_MAX), on any of the threads,
 * and returns when all are done: what they wrote is seen then.
 */
void shm_team_run(struct shm_team *team, unsigned int slices, void (*slice)(void *, unsigned int),
		  void *arg);

#endif
