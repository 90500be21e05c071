// SPDX-License-Identifier: BSD-3-Clause
/*
 * The world: one lock, one thread, one link.
 *
 * The thread repeats { take packets, let every NIC work for a slice, push packets out } under the
 * lock, and between two rounds lets go of it for commands. When a round found nothing it sleeps
 * (wait.c).
 */
#include "emu/world/world.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/link/route.h"
#include "emu/space/space.h"
#include "emu/fds/thread.h"
#include "emu/world/world_priv.h"

enum {
	RX_BUDGET = 64,		/* packets of one round */
	HOUSEKEEP_NS = 1000000, /* guard and verbose, while awake */
	GIVE_WAY_NS = 1000000,	/* longest single wait for callers to finish */
	GIVE_WAY_ROUNDS = 8,
	TRAP_IDLE_NS = 300000000,
	TRAPPED_SLEEP_NS = 20000000, /* a child of fork() may ring unseen */
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- what a NIC asks of its owner ---- */

static uint64_t nic_now_ns(void *ctx)
{
	(void)ctx;
	return clock_ns();
}

static int nic_link_send(void *ctx, struct nm_packet *pkt)
{
	struct world_nic *n = ctx;
	struct link *link = n->world->link;

	return link->ops->send(link, &n->port, pkt);
}

static void nic_link_recall(void *ctx)
{
	struct world_nic *n = ctx;
	struct link *link = n->world->link;

	if (link->ops->recall)
		link->ops->recall(link, &n->port);
}

static bool nic_link_taken(void *ctx, const struct nm_route *route, uint32_t dqpn, uint64_t mark)
{
	struct world_nic *n = ctx;
	struct link *link = n->world->link;

	return !link->ops->taken || link->ops->taken(link, &n->port, route, dqpn, mark);
}

static void nic_event(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	struct world_nic *n = ctx;

	if (n->event)
		n->event(n->event_ctx, eqn, intr, eqe);
}

static void port_rx(void *ctx, struct nm_packet *pkt)
{
	nm_nic_receive(((struct world_nic *)ctx)->nic, pkt);
}

static void port_diag(void *ctx, const char *why)
{
	struct world_nic *n = ctx;

	if (n->world->config.verbose)
		verbose_print(&n->verbose, 0, why);
}

/* ---- the lock ---- */

static void enter(struct world *w)
{
	atomic_fetch_add(&w->callers, 1);
	pthread_mutex_lock(&w->lock);
}

/*
 * What a caller did may be work for the NIC (a QP at RTS whose WQEs were posted before, a flush) or
 * end the trap (a queue on a new UAR page): then a sleeping thread looks at once, and often for a
 * while. Most commands are neither, and need not wait for it.
 */
static void leave(struct world *w, bool work)
{
	if (work)
		w->last_work_ns = clock_ns();
	if (atomic_fetch_sub(&w->callers, 1) == 1)
		pthread_cond_signal(&w->calm);
	pthread_mutex_unlock(&w->lock);
	if (work)
		waiter_kick(&w->waiter);
}

/*
 * A mutex is not fair: the thread, which takes it again at once, would win over a caller that has
 * to be woken. So it waits until no caller is left, but not for ever: callers in a loop must not
 * stop the NIC.
 */
static void give_way(struct world *w)
{
	struct timespec until;

	for (unsigned int i = 0; i < GIVE_WAY_ROUNDS && atomic_load(&w->callers); i++) {
		uint64_t ns = clock_ns() + GIVE_WAY_NS;

		until.tv_sec = (time_t)(ns / 1000000000);
		until.tv_nsec = (long)(ns % 1000000000);
		pthread_cond_timedwait(&w->calm, &w->lock, &until);
	}
}

/* ---- the thread ---- */

struct round {
	bool worked;
	uint64_t next_ns;
};

static void tick(struct world *w)
{
	uint64_t now = w->nclocks ? htobe64(clock_ns()) : 0;

	for (unsigned int i = 0; i < w->nclocks; i++)
		__atomic_store_n(w->clocks[i], now, __ATOMIC_RELAXED);
}

static struct round one_round(struct world *w)
{
	struct round r = {.worked = false, .next_ns = UINT64_MAX};

	tick(w);
	if (w->link->ops->poll(w->link, RX_BUDGET))
		r.worked = true;
	for (uint32_t i = 0; i < w->nnics; i++) {
		struct nm_progress p = nm_nic_progress(w->nics[i]->nic, NM_SLICE_NS);

		r.worked |= p.worked;
		if (p.next_ns < r.next_ns)
			r.next_ns = p.next_ns;
		/* A command waits for one NIC's slice, however many there are. */
		if (i + 1 < w->nnics)
			give_way(w);
	}
	w->link->ops->flush(w->link);
	return r;
}

static void housekeep(struct world *w)
{
	space_guard_renew();
	for (uint32_t i = 0; i < w->nnics && w->config.verbose; i++)
		verbose_settle(&w->nics[i]->verbose, false);
}

/*
 * Idle for long: traps the doorbells, once; without the lock, because looking for the mappings
 * takes a while. What rang before the trap was there is found by the round that follows. True if
 * the thread is to look again at once.
 */
static bool try_trap(struct world *w)
{
	struct trap_uars uars[WORLD_MAX_NICS + WORLD_MAX_CLOCKS];
	unsigned int nuars = w->nnics;
	bool armed;

	if (w->trap.armed || w->trap_failed || !atomic_load(&w->trappable))
		return false;
	for (uint32_t i = 0; i < nuars; i++)
		uars[i] = w->nics[i]->uars;
	/* Our own mappings as well: the thread's store must not wait for the thread. */
	for (uint32_t i = 0; i < w->nclocks; i++)
		uars[nuars++] = (struct trap_uars){.start = (uintptr_t)w->clocks[i],
						   .len = WORLD_CLOCK_BYTES};
	pthread_mutex_unlock(&w->lock);
	armed = trap_arm(&w->trap, uars, nuars);
	pthread_mutex_lock(&w->lock);
	w->trap_failed = !armed;
	return armed;
}

static void end_trap(struct world *w)
{
	trap_disarm(&w->trap);
	w->trap_failed = false;
}

static unsigned int collect_fds(struct world *w, struct waiter_fd *fds)
{
	unsigned int nfds = 0;

	for (uint32_t i = 0; i < w->nnics; i++) {
		const struct link_port *port = &w->nics[i]->port;

		if (port->fd >= 0)
			fds[nfds++] = (struct waiter_fd){.fd = port->fd, .out = port->blocked};
	}
	if (w->link->fd >= 0)
		fds[nfds++] = (struct waiter_fd){.fd = w->link->fd};
	if (w->trap.armed)
		fds[nfds++] = (struct waiter_fd){.fd = w->trap.fd};
	return nfds;
}

/* With the lock; without it while asleep. */
static void rest(struct world *w, const struct round *r, uint64_t now_ns)
{
	struct waiter_fd fds[WAITER_MAX_FDS];
	uint64_t idle_ns = now_ns - w->last_work_ns;
	uint64_t sleep_ns = waiter_backoff_ns(idle_ns);
	unsigned int nfds;
	bool woken, trapped;

	if (idle_ns < TRAP_IDLE_NS || !atomic_load(&w->trappable))
		end_trap(w);
	else if (try_trap(w))
		return;
	if (w->trap.armed)
		sleep_ns = w->trapped_sleep_ns;
	else if (spinner_turn(&w->spinner, idle_ns, now_ns))
		return;
	if (sleep_ns == 0 || r->next_ns <= now_ns)
		return;
	if (r->next_ns - now_ns < sleep_ns)
		sleep_ns = r->next_ns - now_ns;
	if (w->link->ops->doze && !w->link->ops->doze(w->link, true))
		return;
	nfds = collect_fds(w, fds);
	pthread_mutex_unlock(&w->lock);
	woken = waiter_sleep(&w->waiter, fds, nfds, sleep_ns);
	trapped = woken && w->trap.armed;
	if (trapped)
		end_trap(w);
	pthread_mutex_lock(&w->lock);
	if (w->link->ops->doze)
		w->link->ops->doze(w->link, false);
	w->link->attention |= woken;
	if (trapped)
		w->last_work_ns = clock_ns(); /* the store is on its way: look often */
}

static void *world_thread(void *arg)
{
	struct world *w = arg;
	uint64_t housekept_ns = 0;

	waiter_tune_thread();
	pthread_mutex_lock(&w->lock);
	while (!atomic_load(&w->stop)) {
		struct round r = one_round(w);
		uint64_t now_ns = clock_ns();

		if (now_ns - housekept_ns >= HOUSEKEEP_NS) {
			housekeep(w);
			housekept_ns = now_ns;
		}
		if (r.worked)
			w->last_work_ns = now_ns;
		else
			rest(w, &r, now_ns);
		give_way(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int start_thread(struct world *w)
{
	int err = nic_thread_start(&w->thread, "gdakit-nic", 0, world_thread, w);

	if (!err)
		w->running = true;
	return err;
}

/* ---- public ---- */

static bool init_sync(struct world *w)
{
	pthread_condattr_t attr;

	if (!waiter_init(&w->waiter))
		return false;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->calm, &attr);
	pthread_condattr_destroy(&attr);
	return true;
}

static struct link *create_link(const struct world_config *config, int wake_fd, const char **why)
{
	static const struct link_local_config local = {.guard = space_guarded};
	struct link *link;

	if (config->wire == WORLD_WIRE_UDP) {
		struct link_udp_config udp = {.host = config->host, .guard = space_guarded};

		return link_udp_create(&udp, why);
	}
	if (config->wire == WORLD_WIRE_AUTO || config->wire == WORLD_WIRE_SHM) {
		struct link_shm_config shm = {.host = config->host,
					      .fabric = config->fabric,
					      .wake_fd = wake_fd,
					      .forced = config->wire == WORLD_WIRE_SHM,
					      .guard = space_guarded};

		return link_shm_create(&shm, why);
	}
	link = link_local_create(&local);
	if (!link)
		*why = "no memory for the local link";
	return link;
}

struct world *world_create(const struct world_config *config, const char **why)
{
	const char *ignored;
	struct world *w;

	if (!why)
		why = &ignored;
	w = calloc(1, sizeof(*w));
	if (!w) {
		*why = "no memory for a world";
		return NULL;
	}
	w->config = *config;
	w->config.host = NULL; /* the caller's; the link keeps what it needs */
	w->config.fabric = NULL;
	if (!init_sync(w)) {
		*why = "no eventfd";
		free(w);
		return NULL;
	}
	w->link = create_link(config, w->waiter.event_fd, why);
	if (!w->link) {
		waiter_fini(&w->waiter);
		free(w);
		return NULL;
	}
	w->last_work_ns = clock_ns();
	w->trap.fd = -1;
	w->trapped_sleep_ns = TRAPPED_SLEEP_NS;
	spinner_init(&w->spinner, clock_ns);
	atomic_init(&w->trappable, config->trap_doorbells && trap_init(&w->trap));
	return w;
}

static void free_nic(struct world_nic *n)
{
	struct world *w = n->world;

	if (n->port.link)
		w->link->ops->detach(w->link, &n->port);
	if (n->nic) {
		if (w->config.verbose) {
			verbose_settle(&n->verbose, true);
			nm_nic_remove_observer(n->nic, &n->verbose.observer);
		}
		nm_nic_destroy(n->nic);
	}
	free(n);
}

void world_destroy(struct world *w)
{
	if (w->abandoned) {
		free(w);
		return;
	}
	if (w->running) {
		atomic_store(&w->stop, true);
		waiter_kick(&w->waiter);
		pthread_join(w->thread, NULL);
	}
	trap_fini(&w->trap);
	for (uint32_t i = 0; i < w->nnics; i++)
		free_nic(w->nics[i]);
	w->link->ops->destroy(w->link);
	waiter_fini(&w->waiter);
	pthread_cond_destroy(&w->calm);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Under the lock. */
static struct world_nic *make_nic(struct world *w, const char *host, const struct nm_config *config,
				  const char **why)
{
	struct world_nic *n = calloc(1, sizeof(*n));
	struct nm_config mine = *config;
	const struct nm_ops ops = {
		.ctx = n,
		.now_ns = nic_now_ns,
		.link_send = nic_link_send,
		.link_recall = nic_link_recall,
		.link_taken = nic_link_taken,
		.event = nic_event,
	};
	int err;

	if (!n) {
		*why = "no memory for a NIC";
		return NULL;
	}
	n->world = w;
	n->uars.start = (uintptr_t)config->uar_base;
	n->uars.len = (uint64_t)config->uar_pages * 4096;
	snprintf(n->name, sizeof(n->name), "%s", config->name ? config->name : "nic");
	n->port = (struct link_port){
		.host = host, .rx = port_rx, .diag = port_diag, .ctx = n, .fd = -1};
	err = w->link->ops->attach(w->link, &n->port, why);
	n->port.host = NULL; /* the caller's */
	if (err) {
		free(n);
		errno = -err;
		return NULL;
	}
	mine.name = n->name;
	mine.lid = n->port.id.lid;
	mine.qpn_prefix = (uint32_t)n->port.id.slot << 16;
	n->nic = nm_nic_create(&mine, &ops, why);
	if (!n->nic) {
		free_nic(n);
		return NULL;
	}
	verbose_init(&n->verbose, n->name, STDERR_FILENO, nic_now_ns, n);
	if (w->config.verbose)
		nm_nic_add_observer(n->nic, &n->verbose.observer);
	return n;
}

struct world_nic *world_add_nic(struct world *w, const struct nm_config *config,
				world_event_fn event, void *event_ctx, const char **why)
{
	return world_add_nic_at(w, NULL, config, event, event_ctx, why);
}

struct world_nic *world_add_nic_at(struct world *w, const char *host,
				   const struct nm_config *config, world_event_fn event,
				   void *event_ctx, const char **why)
{
	struct world_nic *n = NULL;
	const char *ignored;
	int err;

	if (!why)
		why = &ignored;
	*why = NULL;
	enter(w);
	if (w->nnics == WORLD_MAX_NICS) {
		*why = "a world holds at most 16 NICs";
		errno = ENOSPC;
		goto out;
	}
	n = make_nic(w, host, config, why);
	if (!n)
		goto out;
	n->event = event;
	n->event_ctx = event_ctx;
	w->nics[w->nnics++] = n;
	err = w->running ? 0 : start_thread(w);
	if (err) {
		w->nnics--;
		free_nic(n);
		n = NULL;
		*why = "no thread for the NIC";
		errno = err;
	}
out:
	leave(w, true);
	return n;
}

void world_nic_gid(struct world_nic *n, uint8_t gid[16])
{
	memcpy(gid, n->port.id.gid, 16);
}

uint16_t world_nic_lid(struct world_nic *n)
{
	return n->port.id.lid;
}

uint16_t world_host_lid(const char *host)
{
	struct link_host h;

	return link_host_parse(host, &h) ? link_host_lid(h) : 0;
}

struct nm_nic *world_nic_model(struct world_nic *n)
{
	return n->nic;
}

uint8_t world_command(struct world_nic *n, const struct nm_cmd_ctx *ctx, const void *in,
		      size_t in_len, void *out, size_t out_len, char *why)
{
	struct world *w = n->world;
	uint64_t sent;
	uint8_t status;

	enter(w);
	sent = nm_nic_counters(n->nic)->tx_packets;
	status = nm_nic_command(n->nic, ctx, in, in_len, out, out_len, why);
	if (nm_nic_counters(n->nic)->tx_packets != sent) /* the last ACK of a QP that ends */
		w->link->ops->flush(w->link);
	leave(w, nm_nic_has_work(n->nic));
	return status;
}

bool world_clock_add(struct world *w, uint64_t *page)
{
	bool room;

	enter(w);
	room = w->nclocks < WORLD_MAX_CLOCKS;
	if (room)
		w->clocks[w->nclocks++] = page;
	tick(w);
	leave(w, true);
	return room;
}

void world_clock_remove(struct world *w, uint64_t *page)
{
	enter(w);
	for (unsigned int i = 0; i < w->nclocks; i++)
		if (w->clocks[i] == page)
			w->clocks[i] = w->clocks[--w->nclocks];
	leave(w, true);
}

void world_locked(struct world *w, void (*fn)(void *arg), void *arg)
{
	enter(w);
	fn(arg);
	leave(w, true);
}

bool world_peek(struct world *w, void (*fn)(void *arg), void *arg, uint64_t timeout_us)
{
	struct timespec until;
	uint64_t ns;
	bool locked;

	/* ThreadSanitizer knows no pthread_mutex_clocklock(). */
	clock_gettime(CLOCK_REALTIME, &until);
	ns = (uint64_t)until.tv_nsec + timeout_us * 1000;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	atomic_fetch_add(&w->callers, 1);
	locked = pthread_mutex_timedlock(&w->lock, &until) == 0;
	if (locked)
		fn(arg);
	if (atomic_fetch_sub(&w->callers, 1) == 1)
		pthread_cond_signal(&w->calm);
	if (locked)
		pthread_mutex_unlock(&w->lock);
	return locked;
}

void world_doorbells_unseen(struct world *w)
{
	if (atomic_exchange(&w->trappable, false))
		waiter_kick(&w->waiter);
}

void world_abandon(struct world *w)
{
	/*
	 * The lock and the NICs are as the parent's thread left them in mid-step: only descriptors
	 * are closed, which the parent does not notice, so that its addresses are free again when
	 * it ends.
	 */
	w->abandoned = true;
	w->running = false;
	if (w->config.wire == WORLD_WIRE_UDP)
		link_udp_abandon(w->link);
	else if (w->config.wire != WORLD_WIRE_LOCAL)
		link_shm_abandon(w->link);
	trap_fini(&w->trap);
	waiter_fini(&w->waiter);
}
