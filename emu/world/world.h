/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who drives a NIC: here a thread in real time, joined to others by a wire.
 *
 * A world owns NICs, the one lock that serialises them, the thread that makes them progress, and
 * the link that carries their packets. Faces call world_command(); everything else happens on the
 * world's thread. All functions may be called from any thread unless said.
 */
#ifndef GDAKIT_WORLD_H
#define GDAKIT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

struct world;
struct world_nic;

enum world_wire {
	WORLD_WIRE_LOCAL, /* NICs of this world only, by reference */
	WORLD_WIRE_UDP,	  /* RoCEv2 in UDP datagrams, port 4791 */
	WORLD_WIRE_AUTO,  /* shared memory to processes of this machine, UDP to others */
	WORLD_WIRE_SHM,	  /* shared memory alone */
};

struct world_config {
	enum world_wire wire;
	bool verbose; /* diagnoses to stderr, a sentence a line */
	/* UDP: this host's address block, as claimed by the launcher ("127.64.0"). Read in create
	 * only. */
	const char *host;
	/* Shared memory: who has the same name may meet; NULL: the user's. Read in create only. */
	const char *fabric;
	/*
	 * All doorbells are stores of this process's threads through shared mappings of the files
	 * that lie at uar_base, and not through uar_base itself: an idle NIC may write-protect
	 * those mappings and sleep until one is written to. False: it looks at them, at least every
	 * millisecond.
	 */
	bool trap_doorbells;
};

/* NULL with errno; *why (if not NULL) points to a static or thread-local sentence. */
struct world *world_create(const struct world_config *config, const char **why);
/* Stops the thread, destroys the NICs, closes the sockets. Nobody else may be inside a call. */
void world_destroy(struct world *w);

/* Called on the world's thread (or in world_command), under the lock: note it and return. */
typedef void (*world_event_fn)(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe);

/*
 * Adds a NIC. The world fills in the identity that the wire decides: qpn_prefix, the LID, and the
 * GID that world_nic_gid() returns; the rest comes from `config`. Starts the thread if it does not
 * run. NULL with errno and *why.
 */
struct world_nic *world_add_nic(struct world *w, const struct nm_config *config,
				world_event_fn event, void *event_ctx, const char **why);
/* The same for a NIC in a host block of its own ("127.64.1"), not the world's; UDP only. */
struct world_nic *world_add_nic_at(struct world *w, const char *host,
				   const struct nm_config *config, world_event_fn event,
				   void *event_ctx, const char **why);
/* The NIC's only GID (index 0, RoCE v2): 16 bytes, IPv4-mapped. */
void world_nic_gid(struct world_nic *n, uint8_t gid[16]);
/* The NIC's LID, whatever its link layer; the one of the whole host (host 127.A.B: A << 8 | B). */
uint16_t world_nic_lid(struct world_nic *n);
/* The LID of a host block ("127.64.0": 0x4000); 0: not the name of one. */
uint16_t world_host_lid(const char *host);
struct nm_nic *world_nic_model(struct world_nic *n);

/*
 * nm_nic_command() under the lock. A command waits for at most the slice that the NIC's thread is
 * in; the thread gives way to commands before it takes the next. Afterwards the thread is awake
 * if the command was work for it.
 */
uint8_t world_command(struct world_nic *n, const struct nm_cmd_ctx *ctx, const void *in,
		      size_t in_len, void *out, size_t out_len, char *why);
/* Runs fn under the lock, with the NIC at rest. fn must not call the world. Like a command, it
 * wakes the NIC's thread. */
void world_locked(struct world *w, void (*fn)(void *arg), void *arg);

/*
 * Like world_locked() for who only looks, or attaches an observer: the NIC's thread is not woken,
 * and does not look at its doorbells more often because of it. False: the lock was not to be had
 * within timeout_us, fn was not called (a process may exit while one of its threads holds it).
 */
bool world_peek(struct world *w, void (*fn)(void *arg), void *arg, uint64_t timeout_us);

/*
 * From now on somebody rings whose stores no page protection of this process catches (a GPU, for
 * which a UAR page was registered): trap_doorbells no longer holds. Cheap; may be called again.
 */
void world_doorbells_unseen(struct world *w);

/*
 * The NICs' clock (nanoseconds, CLOCK_MONOTONIC) as a page that a program maps: the thread stores
 * the time at `page`, 8 bytes, big-endian, whenever it looks for work: within a millisecond, or
 * within 20 where it sleeps on trapped doorbells. The page may lie in a file whose other mappings
 * are trapped. False: there are WORLD_MAX_CLOCKS already.
 */
bool world_clock_add(struct world *w, uint64_t *page);
/* When this returns the page is written no more. */
void world_clock_remove(struct world *w, uint64_t *page);

/* After fork() in the child: forget the parent's thread and sockets without touching its NICs. */
void world_abandon(struct world *w);

#endif
