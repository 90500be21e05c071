/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the shared-memory link: connections of one direction each, made by the sender. */
#ifndef GDAKIT_LINK_SHM_H
#define GDAKIT_LINK_SHM_H

#include <sys/types.h>

#include "emu/link/link.h"
#include "emu/link/route.h"
#include "emu/link/shm_ring.h"
#include "emu/link/shm_team.h"

enum {
	SHM_FABRIC_MAX = 48, /* bytes of a fabric's name, with the 0 */
	SHM_BUCKETS = 256,
	SHM_RX_MAX = 1024, /* senders that a process listens to */
	SHM_COOKIE = 16,
	SHM_SHARE_MIN = 32768, /* payload of which two threads may move a part each */
	SHM_ON_WAY_MAX = 16,
};

/* What an event of the link's epoll descriptor is about. */
struct shm_watch {
	enum { SHM_LISTENER, SHM_TX, SHM_RX } kind;
	int fd; /* -1: closed, to be freed */
};

struct shm_port {
	struct shm_watch listener;
	struct link_port *outer;
	struct link_port udp; /* holds the slot, and carries what has no other way */
	struct link_host host;
};

/* Payload that lies in pipes. */
struct shm_on_way {
	uint64_t mark; /* until the ring is taken so far */
	uint32_t slots[SHM_PIPES];
};

/* The sender's ends of the pipes of a connection. */
struct shm_outlet {
	bool asked, open;
	int fds[SHM_PIPES];
	uint32_t slots;		  /* that each has */
	uint32_t used[SHM_PIPES]; /* of them */
	uint32_t want[SHM_PIPES]; /* by the payload that was put last */
	uint32_t first, count;	  /* of `way` */
	struct shm_on_way way[SHM_ON_WAY_MAX];
};

/* Somebody we send to; or who was not there when we looked last. */
struct shm_tx {
	struct shm_watch watch; /* fd -1: not connected */
	struct shm_tx *next;	/* of the bucket */
	struct shm_tx *dirty_next;
	const struct link_port *from;
	struct link_host host;
	uint8_t slot;
	bool dirty;    /* on the list of those with packets that are not shown */
	bool welcomed; /* status, wake_fd and can_pull are known */
	bool can_pull;
	bool told; /* that nobody is there */
	struct shm_ring ring;
	const struct shm_status *status;
	int wake_fd;
	struct shm_outlet outlet;
	uint32_t pull_failures; /* as last seen */
	uint32_t pull_pause;	/* payloads that are copied before the next one is told by place */
	uint64_t absent_until_ns;
};

/* Somebody who sends to us. */
struct shm_rx {
	struct shm_watch watch;
	struct shm_rx *next;
	struct shm_port *to;
	bool greeted;
	struct shm_ring ring;
	struct link_host host;
	pid_t pid; /* in our PID namespace; 0: not in it */
	uint64_t cookie_addr;
	uint8_t cookie[SHM_COOKIE];
	bool pull_told;		   /* that pulling failed */
	int pipes[SHM_PIPES];	   /* -1: not asked for */
	uint32_t piped[SHM_PIPES]; /* bytes of the packet at hand that are still in them */
};

/* A page that a process shows those who send to it. They cannot write to it. */
struct shm_status {
	_Atomic uint32_t asleep; /* wake it (eventfd) after showing it a packet */
};

struct shm_link {
	struct link link;
	struct link *udp;
	bool forced; /* no packets over UDP */
	bool through_socket;
	char fabric[SHM_FABRIC_MAX];
	int epoll_fd, wake_fd;
	int status_fd;
	struct shm_status *status;
	uint8_t cookie[SHM_COOKIE]; /* at this address of this process, and nowhere else */
	struct shm_tx *tx[SHM_BUCKETS];
	struct shm_tx *dirty;
	struct shm_rx *rx;
	uint32_t nrx;
	uint32_t polls;
	struct shm_team *team; /* pulls payload; NULL: this thread alone */
	uint64_t pull_row;     /* bytes that it could share since nothing was there */
	bool udp_busy;	       /* datagrams came with the last look */
	bool dead_rx;	       /* some of the list are closed */
};

/* ---- shm_conn.c ---- */

/* Listens for senders to the port. 0 or -errno with *why. */
int shm_listen(struct shm_link *sl, struct shm_port *port, const char **why);
/* Connects and greets: 0; -ECONNREFUSED: nobody listens; -errno. */
int shm_connect(struct shm_link *sl, struct shm_tx *tx);
void shm_tx_close(struct shm_link *sl, struct shm_tx *tx);
/* Answers what has come on sockets; packets of senders that have gone are delivered first. */
void shm_serve(struct shm_link *sl);
void shm_rx_close(struct shm_link *sl, struct shm_rx *rx, const char *why);
/* Frees what was closed. Not while packets are delivered. */
void shm_reap(struct shm_link *sl);
void shm_watch_add(struct shm_link *sl, struct shm_watch *watch);
void shm_watch_end(struct shm_link *sl, struct shm_watch *watch);
void shm_wake(const struct shm_tx *tx);
void shm_say(const struct shm_port *port, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The pipes of the connection, please. */
void shm_ask_pipes(struct shm_tx *tx);

/* ---- shm_pipe.c ---- */

/* The connection's pipes are the sender's now. */
void shm_tx_take_pipes(struct shm_tx *tx, const int fds[SHM_PIPES]);
void shm_tx_no_pipes(struct shm_tx *tx);
/*
 * Gives payload to the pipes, as much as they take: `piped` bytes each, often none. 0; -EAGAIN:
 * they are full. Then the entry is put, and shm_tx_piped() called.
 */
int shm_tx_pipe(struct shm_tx *tx, const struct nm_packet *pkt, uint32_t piped[SHM_PIPES]);
void shm_tx_piped(struct shm_tx *tx);
/* False: there are none to be had. The outlets are the caller's to send and close. */
bool shm_rx_make_pipes(struct shm_rx *rx, int outlets[SHM_PIPES]);
void shm_rx_no_pipes(struct shm_rx *rx);
/*
 * All `len` bytes of the packet at hand, if all are in the pipes; with a team by two threads.
 * False: they are not, or some cannot be written to `to`.
 */
bool shm_rx_read(struct shm_rx *rx, struct shm_team *team, void *to, uint32_t len);
/* Throws away what was not read of the packet at hand. False: it was not there. */
bool shm_rx_skip(struct shm_rx *rx);

/* ---- shm.c ---- */

/* Delivers what lies in the ring, at most `budget` entries; how many. */
uint32_t shm_drain(struct shm_link *sl, struct shm_rx *rx, uint32_t budget);
/* ---- shm_pull.c ---- */

/* nm_packet.pull of packets of a struct shm_rx. */
int shm_pull(const struct nm_packet *pkt, uint32_t off, void *to, uint32_t len);
/* Can the sender's memory be read? Tries it. */
bool shm_can_pull(const struct shm_rx *rx);
/* So that peers may read our memory where the kernel asks for it (Yama). */
void shm_allow_pull(void);

#endif
