/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the shared-memory link share: links, pairs of them, packets. */
#ifndef GDAKIT_TEST_LINK_SHM_RIG_H
#define GDAKIT_TEST_LINK_SHM_RIG_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "emu/link/route.h"
#include "emu/link/shm.h"
#include "emu/space/space.h"
#include "sim_tests/link_packets.h"

/* Names of their own, so that tests that run at the same time do not meet. */
static char host_a[32], host_b[32], fabric[32];

static inline void name_all(void)
{
	unsigned int n = (unsigned int)getpid();

	snprintf(host_a, sizeof(host_a), "127.%u.%u", 100 + n % 40, n / 40 % 256);
	snprintf(host_b, sizeof(host_b), "127.%u.%u", 140 + n % 40, n / 40 % 256);
	snprintf(fabric, sizeof(fabric), "test%u", n);
	signal(SIGPIPE, SIG_IGN); /* threads of a NIC block it */
}

static inline int wake_fd_of(const struct link *link)
{
	return ((const struct shm_link *)link)->wake_fd;
}

/* Without assertions: children of a fork have no framework. NULL with *why. */
static inline struct link *try_make_link(const char *host, const char *in, bool forced,
					 const char **why)
{
	return link_shm_create(&(struct link_shm_config){.host = host,
							 .fabric = in,
							 .wake_fd = eventfd(0, EFD_NONBLOCK),
							 .forced = forced,
							 .guard = space_guarded},
			       why);
}

static inline struct link *make_link_in(const char *host, const char *in, bool forced)
{
	const char *why = NULL;
	struct link *link = try_make_link(host, in, forced, &why);

	cr_assert_not_null(link, "%s", why);
	return link;
}

static inline struct link *make_link(const char *host)
{
	return make_link_in(host, fabric, true);
}

static inline void free_link(struct link *link)
{
	int fd = wake_fd_of(link);

	link->ops->destroy(link);
	close(fd);
}

static inline struct sink *make_sink(struct link *link)
{
	struct sink *s = malloc(sizeof(*s));
	const char *why = NULL;

	cr_assert_eq(sink_attach(link, s, &why), 0, "%s: %s", why, strerror(errno));
	return s;
}

static inline void free_sink(struct sink *s)
{
	if (s->port.link)
		s->port.link->ops->detach(s->port.link, &s->port);
	free(s);
}

/* As a world does, but for its thread. */
static inline void turn(struct link *link)
{
	link->ops->flush(link);
	link->attention = true;
	link->ops->poll(link, 64);
}

static inline void receive(struct link *from, struct link *to, struct sink *s, uint32_t count)
{
	for (int tries = 0; tries < 2000 && s->count < count; tries++) {
		turn(from);
		turn(to);
	}
	cr_assert_eq(s->count, count);
}

struct pair {
	struct link *x, *y;
	struct sink *a, *b;
};

static inline struct pair open_pair(void)
{
	struct pair p = {.x = make_link(host_a), .y = make_link(host_b)};

	p.a = make_sink(p.x);
	p.b = make_sink(p.y);
	return p;
}

static inline void close_pair(struct pair *p)
{
	free_sink(p->a);
	free_sink(p->b);
	free_link(p->x);
	free_link(p->y);
}

static inline struct shm_rx *first_rx(const struct pair *p)
{
	return ((struct shm_link *)p->y)->rx;
}

/* A WRITE ONLY of `len` bytes, as one packet or train of 1024-byte packets. */
static inline struct nm_packet write_to(const struct link_port *to, uint32_t psn, void *payload,
					uint32_t len)
{
	struct nm_packet pkt = packet_to(to, 0x1234, psn, payload, len);

	pkt.hdr[0] = 0x0a;
	pkt.hdr_len = 28;
	pkt.stable = true;
	if (len > 1024) {
		pkt.segs = (uint16_t)((len + 1023) / 1024);
		pkt.seg_len = 1024;
	}
	return pkt;
}

static inline void fill(uint8_t *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((i * 29 + seed) ^ i >> 8);
}

/* The connection stands and is welcomed, so that payload may be told by its place. */
static inline void settle(struct pair *p)
{
	struct nm_packet pkt = write_to(&p->b->port, 0, NULL, 0);

	cr_assert_eq(p->x->ops->send(p->x, &p->a->port, &pkt), 0);
	receive(p->x, p->y, p->b, 1);
	turn(p->x);
}

/* What we send, but for the connection's state. NULL: nothing was sent to anybody. */
static inline struct shm_tx *first_tx(const struct link *link)
{
	const struct shm_link *sl = (const struct shm_link *)link;

	for (unsigned int i = 0; i < SHM_BUCKETS; i++) {
		if (sl->tx[i])
			return sl->tx[i];
	}
	return NULL;
}

/* Large payload goes through pipes from now on; or, for this connection, never. */
static inline void settle_pipes(struct pair *p)
{
	settle(p);
	shm_ask_pipes(first_tx(p->x));
	turn(p->y);
	turn(p->x);
	cr_assert(first_tx(p->x)->outlet.open);
}

static inline void settle_without_pipes(struct pair *p)
{
	settle(p);
	first_tx(p->x)->outlet.asked = true;
}

static inline unsigned int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline void until_senders_are(struct link *link, uint32_t want)
{
	const struct shm_link *sl = (const struct shm_link *)link;

	for (int i = 0; i < 1000 && sl->nrx != want; i++) {
		struct pollfd pfd = {.fd = link->fd, .events = POLLIN};

		turn(link);
		if (sl->nrx != want)
			poll(&pfd, 1, 10);
	}
	cr_assert_eq(sl->nrx, want);
}

#endif
