/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside emu/world: the world's struct, how it sleeps, and what it prints. */
#ifndef GDAKIT_WORLD_PRIV_H
#define GDAKIT_WORLD_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "emu/link/link.h"
#include "emu/world/world.h"

/* ---- verbose.c: diagnoses to stderr. Guarded by the world's lock. ---- */

enum { VERBOSE_RECENT = 8, VERBOSE_LINE_MAX = 512 };

/* A line that was printed a moment ago: the same one again is counted, not printed. */
struct verbose_line {
	char text[VERBOSE_LINE_MAX];
	uint64_t printed_ns;
	uint64_t repeats;
};

struct verbose {
	const char *name; /* of the NIC */
	int fd;
	uint64_t (*now_ns)(void *ctx);
	void *now_ctx;
	struct verbose_line recent[VERBOSE_RECENT];
	unsigned int next;
	struct nm_observer observer;
};

/* Prepares `v` and its observer; name is kept by reference. */
void verbose_init(struct verbose *v, const char *name, int fd, uint64_t (*now_ns)(void *ctx),
		  void *now_ctx);
/* One sentence; qpn 0: about no QP. */
void verbose_print(struct verbose *v, uint32_t qpn, const char *why);
/* Prints counts of lines that are due; call now and then. With `all`, whatever is left. */
void verbose_settle(struct verbose *v, bool all);

/* ---- wait.c: how the thread sleeps ---- */

struct waiter {
	int event_fd;
	_Atomic bool asleep;
	_Atomic bool kicked;
};

bool waiter_init(struct waiter *wt);
void waiter_fini(struct waiter *wt);
void waiter_kick(struct waiter *wt);
struct waiter_fd {
	int fd;
	bool out; /* also until it can be written */
};

/* Most descriptors of one sleep: a socket a NIC, the link's, and the trap's. */
enum { WAITER_MAX_FDS = 18 };

/* Sleeps until a kick, until one of the descriptors is ready, or at most timeout_ns. False: the
 * time is over. */
bool waiter_sleep(struct waiter *wt, const struct waiter_fd *fds, unsigned int nfds,
		  uint64_t timeout_ns);
/* How long to sleep when nothing has happened for idle_ns; 0: look again at once. */
uint64_t waiter_backoff_ns(uint64_t idle_ns);
/*
 * Whether to look again at once instead of sleeping, where cores are to spare. One thread. The
 * functions are those of the system; a test has its own.
 */
struct spinner {
	uint64_t (*now_ns)(void);
	void (*yield)(void);
	unsigned int (*cpus)(void); /* that this process may use */
	bool spare;
	uint32_t turns;
	uint64_t looked_ns; /* when `spare` was found; 0: never */
	uint64_t crowded_until_ns, penalty_ns;
};

void spinner_init(struct spinner *s, uint64_t (*now_ns)(void));
/* True: look again; a moment has been spent, or the core been offered to others. */
bool spinner_turn(struct spinner *s, uint64_t idle_ns, uint64_t now_ns);

/* Asks the kernel for short time slices and exact timers for the calling thread; it is fine if it
 * refuses. */
void waiter_tune_thread(void);

/* ---- trap.c: write protection of the program's UAR mappings. The NIC's thread alone calls it.
 * ---- */

enum { TRAP_MAX_RANGES = 8192 };

struct trap_uars {
	uint64_t start, len; /* bytes, page aligned */
};

struct trap {
	int fd;		    /* readable when a store has been caught; -1: not available */
	_Atomic bool armed; /* written by the thread */
	unsigned int nranges, cap;
	struct trap_uars *ranges; /* of the program, registered at the last arm; cap allocated */
};

/* False: the kernel does not offer it. */
bool trap_init(struct trap *t);
void trap_fini(struct trap *t);
/*
 * Protects all of the program's mappings of the files behind the given UAR memory. False: there are
 * none, or not all of them can be protected; then none is. After true the doorbells must be looked
 * at once more: one may have rung before.
 */
bool trap_arm(struct trap *t, const struct trap_uars *uars, unsigned int nuars);
/* Lets the stores through again. */
void trap_disarm(struct trap *t);

/* ---- world.c ---- */

enum { WORLD_MAX_NICS = 16, WORLD_MAX_CLOCKS = 64, WORLD_CLOCK_BYTES = 4096 };

struct world_nic {
	struct world *world;
	struct nm_nic *nic;
	struct link_port port;
	world_event_fn event;
	void *event_ctx;
	char name[16];
	struct trap_uars uars;
	struct verbose verbose;
};

struct world {
	struct world_config config;
	pthread_mutex_t lock; /* guards the NICs, the link and everything below but `waiter` and the
				 atomics */
	pthread_cond_t calm;  /* no caller waits for the lock */
	_Atomic uint32_t callers; /* inside world_command or world_locked, waiting or working */
	_Atomic bool stop;
	struct waiter waiter;
	struct spinner spinner; /* the thread's */
	struct link *link;
	struct world_nic *nics[WORLD_MAX_NICS];
	uint32_t nnics;
	uint64_t *clocks[WORLD_MAX_CLOCKS];
	unsigned int nclocks;
	pthread_t thread;
	bool running;
	bool abandoned;
	uint64_t last_work_ns;
	_Atomic bool
		trappable; /* doorbells may be trapped: config, until world_doorbells_unseen() */
	struct trap trap;  /* the thread's */
	bool trap_failed;  /* not tried again before there has been work */
	uint64_t trapped_sleep_ns; /* longest sleep while the doorbells are trapped */
};

#endif
