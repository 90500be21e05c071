/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carriers of packets between NICs.
 *
 * A link has ports, one a NIC. A port's address is a GID (the simulated host), a slot on that host,
 * and a LID for the InfiniBand link layer. The slot is bits 23:16 of every QPN of the NIC, so
 * BTH.DQPN and the destination GID (or LID) say where a packet goes; nothing needs a table of QPs
 * or a daemon.
 *
 * Guarded by the lock of the world that owns the link; only a port's fd may be polled outside of
 * it.
 */
#ifndef GDAKIT_LINK_H
#define GDAKIT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

struct link;

/* A packet for the port. Valid during the call. May be called from within the link's send. */
typedef void (*link_rx_fn)(void *ctx, struct nm_packet *pkt);
/* A packet that could not be taken, and why, for the port's owner to print. May be NULL. */
typedef void (*link_diag_fn)(void *ctx, const char *why);
/* Runs fn with memory faults caught: 0 or -EFAULT (see space_guarded). NULL: called directly. */
typedef int (*link_guard_fn)(void (*fn)(void *arg), void *arg);

struct link_identity {
	uint8_t gid[16]; /* IPv4-mapped */
	uint8_t slot;	 /* QPN bits 23:16 */
	uint16_t lid;	 /* what dlid/slid mean on this link */
};

struct link_port {
	struct link *link;
	const char *host; /* UDP: "127.A.B", the port's own block; NULL: the link's. Read in attach
			     only */
	struct link_identity id;
	link_rx_fn rx;
	link_diag_fn diag;
	void *ctx;
	bool unplugged; /* what it sends and what it is sent vanishes */
	int fd;		/* its socket, for poll(2); -1: none */
	bool blocked;	/* packets wait because the socket is full: poll for POLLOUT */
	void *priv;	/* the link's own */
	struct link_port *next;
};

struct link_ops {
	/* Fills port->id and makes the port reachable. 0 or -errno with *why. */
	int (*attach)(struct link *link, struct link_port *port, const char **why);
	void (*detach)(struct link *link, struct link_port *port);
	/*
	 * Sends one packet or one train: 0; -EAGAIN: full, try again after the next flush or poll;
	 * -EFAULT: the payload's memory is gone. The payload may be overwritten after return. A
	 * packet that no port of this host or wire can take is lost silently, as on a wire.
	 */
	int (*send)(struct link *link, struct link_port *port, struct nm_packet *pkt);
	/* Pushes out what send gathered. False: some is left (a socket is full). */
	bool (*flush)(struct link *link);
	/* Delivers packets that have arrived, at most `budget` of a queue or socket; returns how
	 * many. */
	uint32_t (*poll)(struct link *link, uint32_t budget);
	/*
	 * Before its owner sleeps, and after; may be NULL. False: something has arrived, do not
	 * sleep.
	 */
	bool (*doze)(struct link *link, bool asleep);
	/*
	 * nm_ops.link_taken of a packet that the port sent; may be NULL, if send marks none.
	 */
	bool (*taken)(struct link *link, struct link_port *port, const struct nm_route *route,
		      uint32_t dqpn, uint64_t mark);
	/*
	 * The memory that stable payload (nm_packet.stable) of the port's packets lies in is its
	 * program's again: what is still on its way is lost. May be NULL.
	 */
	void (*recall)(struct link *link, struct link_port *port);
	void (*destroy)(struct link *link);
};

struct link_counters {
	uint64_t sent, received; /* packets */
	uint64_t dropped;	 /* on purpose, or with nobody to take them */
	uint64_t malformed;	 /* received, refused */
	uint64_t overflowed;	 /* lost because a receive buffer was full */
};

struct link {
	const struct link_ops *ops;
	struct link_port *ports;
	struct link_counters counters;
	link_guard_fn guard;
	int fd;		/* readable when the link itself has something to do; -1: never */
	bool attention; /* set by the owner when it was */
};

/* ---- local: NICs of one owner ---- */

struct link_local_config {
	bool serialise; /* encode to bytes with ICRC, queue, decode; else by reference at once */
	uint32_t seed;
	uint32_t drop_permille, dup_permille, reorder_permille; /* serialise only */
	bool shuffle;		/* serialise only: flows overtake each other */
	uint32_t queue_packets; /* serialise only: 0: 256 */
	link_guard_fn guard;
};

/* Ports get GID ::ffff:127.64.<slot>.1, slot 0, 1, ... and LID 0x4000 + slot. NULL: no memory. */
struct link *link_local_create(const struct link_local_config *config);

/* ---- UDP: RoCEv2 datagrams between processes ---- */

struct link_udp_config {
	const char *host;    /* "127.A.B": the block of this simulated host; 1 <= A <= 191 */
	uint16_t port;	     /* 0: 4791 */
	bool through_socket; /* tests: packets between two ports of this link use the sockets too */
	link_guard_fn guard;
};

/*
 * A port is a socket bound to 127.A.B.(1 + slot), its GID ::ffff:127.A.B.1, its LID A << 8 | B; the
 * slot is the first address of its block that bind() grants. docs/wire.md has the format. NULL with
 * *why.
 */
struct link *link_udp_create(const struct link_udp_config *config, const char **why);
/* In a forked child: closes the sockets, touches nothing else. */
void link_udp_abandon(struct link *link);

/* ---- shared memory between processes of one machine, UDP to all others ---- */

struct link_shm_config {
	const char *host;    /* as for UDP, which also holds the slots */
	uint16_t udp_port;   /* likewise */
	const char *fabric;  /* who has the same may meet; NULL: the user's number */
	int wake_fd;	     /* an eventfd that wakes the owner; the owner's, and told to peers */
	bool forced;	     /* whom shared memory does not reach is not reached */
	bool through_socket; /* tests: as for UDP */
	link_guard_fn guard;
};

/*
 * A port is as one of the UDP link, and listens on an abstract Unix socket as well. The owner polls
 * link->fd beside the ports' and wake_fd. NULL with *why and errno.
 */
struct link *link_shm_create(const struct link_shm_config *config, const char **why);
void link_shm_abandon(struct link *link);

#endif
