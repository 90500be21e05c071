// SPDX-License-Identifier: BSD-3-Clause
/*
 * Packets between processes of one machine through shared memory, and over UDP to whom that does
 * not reach (docs/wire.md).
 *
 * Each port also has a UDP socket: it is the claim of the slot, and the other way. A packet goes
 * into the ring of whoever listens under the name of its destination. Small payload is copied
 * through the ring; the receiver pulls a large one out of our memory, if that stays as it is until
 * the acknowledgement (nm_packet.stable).
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/fds/size.h"
#include "emu/link/shm.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* since Linux 5.1 */
#endif

enum {
	SHM_PAGE = 4096,
	SHM_ABSENT_NS = 100000000,    /* before we look again for somebody who was not there */
	SHM_SERVE_EVERY = 64,	      /* polls between two looks at the sockets */
	SHM_UDP_EVERY = 16,	      /* likewise at a UDP socket on which nothing comes */
	SHM_PULL_PAUSE = 256,	      /* payloads that are copied after one could not be pulled */
	SHM_DRAIN_BYTES = 256 * 1024, /* of payload in one go, before others have a turn */
};

static struct shm_link *to_shm(struct link *link)
{
	return (struct shm_link *)link;
}

static struct shm_port *port_of(const struct link_port *port)
{
	return port->priv;
}

/* ---- ports ---- */

static void udp_rx(void *ctx, struct nm_packet *pkt)
{
	struct shm_port *sp = ctx;

	sp->outer->link->counters.received += pkt->segs > 1 ? pkt->segs : 1;
	sp->outer->rx(sp->outer->ctx, pkt);
}

static void udp_diag(void *ctx, const char *why)
{
	struct shm_port *sp = ctx;

	if (sp->outer->diag)
		sp->outer->diag(sp->outer->ctx, why);
}

static int shm_attach(struct link *link, struct link_port *port, const char **why)
{
	struct shm_link *sl = to_shm(link);
	struct shm_port *sp = calloc(1, sizeof(*sp));
	int err;

	if (!sp) {
		*why = "no memory for a port";
		return -ENOMEM;
	}
	sp->outer = port;
	sp->udp = (struct link_port){
		.host = port->host, .rx = udp_rx, .diag = udp_diag, .ctx = sp, .fd = -1};
	err = sl->udp->ops->attach(sl->udp, &sp->udp, why);
	if (err) {
		free(sp);
		return err;
	}
	port->id = sp->udp.id;
	port->fd = sp->udp.fd;
	port->priv = sp;
	port->link = link;
	link_host_of_gid(port->id.gid, &sp->host);
	err = shm_listen(sl, sp, why);
	if (err && sl->forced) {
		sl->udp->ops->detach(sl->udp, &sp->udp);
		free(sp);
		port->priv = NULL;
		port->link = NULL;
		return err;
	}
	if (err)
		shm_say(sp, "%s (%s): packets for this process come over UDP", *why,
			strerror(-err));
	port->next = link->ports;
	link->ports = port;
	return 0;
}

static void forget_port(struct shm_link *sl, const struct link_port *port)
{
	for (unsigned int i = 0; i < SHM_BUCKETS; i++) {
		struct shm_tx **at = &sl->tx[i];

		while (*at) {
			struct shm_tx *tx = *at;

			if (tx->from != port) {
				at = &tx->next;
				continue;
			}
			*at = tx->next;
			shm_tx_close(sl, tx);
			free(tx);
		}
	}
	for (struct shm_rx *rx = sl->rx; rx; rx = rx->next) {
		if (rx->to == port->priv)
			shm_rx_close(sl, rx, NULL);
	}
	shm_reap(sl);
}

static void shm_detach(struct link *link, struct link_port *port)
{
	struct shm_link *sl = to_shm(link);
	struct link_port **p = &link->ports;

	while (*p && *p != port)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = port->next;
	forget_port(sl, port);
	shm_watch_end(sl, &port_of(port)->listener);
	sl->udp->ops->detach(sl->udp, &port_of(port)->udp);
	free(port->priv);
	port->priv = NULL;
	port->fd = -1;
}

/* ---- sending ---- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct shm_tx **bucket_of(struct shm_link *sl, struct link_host host, uint8_t slot)
{
	return &sl->tx[(slot ^ host.b ^ host.a * 31u) % SHM_BUCKETS];
}

/* NULL: nothing was ever sent there. */
static struct shm_tx *known_tx(struct shm_link *sl, const struct link_port *from,
			       struct link_host host, uint8_t slot)
{
	struct shm_tx *tx = *bucket_of(sl, host, slot);

	while (tx && !(tx->slot == slot && tx->host.b == host.b && tx->host.a == host.a &&
		       tx->from == from))
		tx = tx->next;
	return tx;
}

static struct shm_tx *find_tx(struct shm_link *sl, const struct link_port *from,
			      struct link_host host, uint8_t slot)
{
	struct shm_tx **bucket = bucket_of(sl, host, slot);
	struct shm_tx *tx = known_tx(sl, from, host, slot);

	if (tx)
		return tx;
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return NULL;
	tx->watch = (struct shm_watch){.kind = SHM_TX, .fd = -1};
	tx->wake_fd = -1;
	tx->from = from;
	tx->host = host;
	tx->slot = slot;
	tx->next = *bucket;
	*bucket = tx;
	return tx;
}

/* Connected, or made so: 0; -errno. */
static int reach(struct shm_link *sl, struct shm_tx *tx)
{
	int err;

	if (tx->watch.fd >= 0)
		return 0;
	if (now_ns() < tx->absent_until_ns)
		return -ECONNREFUSED;
	err = shm_connect(sl, tx);
	if (!err)
		return 0;
	tx->absent_until_ns = now_ns() + SHM_ABSENT_NS;
	if ((sl->forced || err != -ECONNREFUSED) && !tx->told)
		shm_say(port_of(tx->from),
			"host 127.%u.%u slot %u is not reached through shared memory in fabric "
			"'%s': %s%s",
			tx->host.a, tx->host.b, tx->slot, sl->fabric,
			err == -ECONNREFUSED ? "no process listens there" : strerror(-err),
			sl->forced ? "; its packets are lost (--wire shm)" : "");
	tx->told = true;
	return err;
}

static bool may_pull(struct shm_tx *tx, const struct nm_packet *pkt)
{
	uint32_t failures;

	if (!pkt->stable || !tx->can_pull || pkt->payload_len < SHM_PULL_MIN)
		return false;
	failures = atomic_load_explicit(&tx->ring.head->pull_failures, memory_order_relaxed);
	if (failures != tx->pull_failures) {
		tx->pull_failures = failures;
		tx->pull_pause = SHM_PULL_PAUSE;
	}
	if (!tx->pull_pause)
		return true;
	tx->pull_pause--;
	return false;
}

static int put(struct shm_link *sl, struct shm_tx *tx, const struct nm_packet *pkt)
{
	struct shm_told told = {.pulls = may_pull(tx, pkt)};
	int err = 0;

	if (told.pulls && !tx->outlet.asked)
		shm_ask_pipes(tx);
	if (told.pulls && shm_ring_has_room(&tx->ring))
		err = shm_tx_pipe(tx, pkt, told.piped);
	if (!err)
		err = shm_ring_put(&tx->ring, pkt, &told, sl->link.guard);
	if (!err && (told.piped[0] || told.piped[1]))
		shm_tx_piped(tx);
	if (err == -EPROTO) {
		shm_say(port_of(tx->from),
			"host 127.%u.%u slot %u spoilt the cursor of our ring: disconnected",
			tx->host.a, tx->host.b, tx->slot);
		sl->link.counters.dropped += pkt->segs > 1 ? pkt->segs : 1;
		shm_tx_close(sl, tx);
		return 0; /* lost */
	}
	if (!err && !tx->dirty) {
		tx->dirty = true;
		tx->dirty_next = sl->dirty;
		sl->dirty = tx;
	}
	return err;
}

static struct link_port *own_port(const struct shm_link *sl, struct link_host host, uint8_t slot)
{
	for (struct link_port *p = sl->link.ports; p; p = p->next) {
		const struct shm_port *sp = port_of(p);

		if (p->id.slot == slot && sp->host.a == host.a && sp->host.b == host.b)
			return p;
	}
	return NULL;
}

static int send_udp(struct shm_link *sl, struct link_port *port, struct nm_packet *pkt)
{
	struct shm_port *sp = port_of(port);
	int err = sl->udp->ops->send(sl->udp, &sp->udp, pkt);

	pkt->mark = 0; /* shm_taken() knows the rings */
	port->blocked = sp->udp.blocked;
	return err;
}

static int shm_send(struct link *link, struct link_port *port, struct nm_packet *pkt)
{
	struct shm_link *sl = to_shm(link);
	uint32_t segs = pkt->segs > 1 ? pkt->segs : 1;
	struct link_port *own;
	struct link_host dst;
	struct shm_tx *tx;
	uint8_t slot;
	int err;

	if (link_is_multicast(pkt) && !port->unplugged) {
		link->counters.sent++;
		return send_udp(sl, port, pkt);
	}
	if (!link_destination(pkt, &dst, &slot) || slot >= LINK_SLOTS || port->unplugged) {
		link->counters.sent += segs;
		link->counters.dropped += segs;
		return 0;
	}
	own = own_port(sl, dst, slot);
	if (own && !sl->through_socket) {
		link_complete_route(&pkt->route, port_of(port)->host, dst);
		link->counters.sent += segs;
		link->counters.received += segs;
		own->rx(own->ctx, pkt);
		return 0;
	}
	tx = own ? NULL : find_tx(sl, port, dst, slot);
	if (tx && !reach(sl, tx)) {
		err = put(sl, tx, pkt);
		pkt->mark = tx->watch.fd >= 0 ? tx->ring.pos : 0;
	} else if (tx && sl->forced) {
		link->counters.dropped += segs;
		err = 0;
	} else {
		err = send_udp(sl, port, pkt);
	}
	if (err != -EAGAIN)
		link->counters.sent += segs;
	return err;
}

/* A connection that has ended, because the receiver has, holds nothing. */
static bool shm_taken(struct link *link, struct link_port *port, const struct nm_route *route,
		      uint32_t dqpn, uint64_t mark)
{
	struct shm_link *sl = to_shm(link);
	struct link_host dst;
	struct shm_tx *tx;

	if (!link_host_of_route(route, &dst))
		return true;
	tx = known_tx(sl, port, dst, (uint8_t)(dqpn >> 16));
	return !tx || tx->watch.fd < 0 || shm_ring_taken(&tx->ring, mark);
}

/* Who sleeps is woken; who does not will look. */
static void show(struct shm_tx *tx)
{
	if (!shm_ring_show(&tx->ring) || !tx->welcomed)
		return;
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&tx->status->asleep))
		shm_wake(tx);
}

static bool shm_flush(struct link *link)
{
	struct shm_link *sl = to_shm(link);
	bool all = sl->udp->ops->flush(sl->udp);

	while (sl->dirty) {
		struct shm_tx *tx = sl->dirty;

		sl->dirty = tx->dirty_next;
		tx->dirty = false;
		show(tx);
	}
	for (struct link_port *p = link->ports; p; p = p->next)
		p->blocked = port_of(p)->udp.blocked;
	return all;
}

static void shm_recall(struct link *link, struct link_port *port)
{
	struct shm_link *sl = to_shm(link);

	for (unsigned int i = 0; i < SHM_BUCKETS; i++) {
		for (struct shm_tx *tx = sl->tx[i]; tx; tx = tx->next) {
			if (tx->from == port && tx->watch.fd >= 0 && tx->can_pull)
				shm_ring_void(&tx->ring);
		}
	}
}

/* ---- receiving ---- */

uint32_t shm_drain(struct shm_link *sl, struct shm_rx *rx, uint32_t budget)
{
	struct link_port *port = rx->to->outer;
	uint32_t done, bytes = 0;

	for (done = 0; done < budget && (bytes < SHM_DRAIN_BYTES || budget == UINT32_MAX); done++) {
		struct nm_packet pkt;
		const char *why = NULL;
		struct shm_told told = {0};
		int len = shm_ring_next(&rx->ring, &pkt, &told, &why);

		if (len > 0 && (told.piped[0] || told.piped[1]) && rx->pipes[0] < 0) {
			why = "payload in pipes that there are not";
			len = -EPROTO;
		}
		if (len < 0)
			shm_rx_close(sl, rx, why);
		if (len <= 0)
			break;
		if (told.pulls) {
			pkt.pull = shm_pull;
			pkt.pull_ctx = rx;
			memcpy(rx->piped, told.piped, sizeof(rx->piped));
		}
		bytes += pkt.payload_len;
		if (!port->unplugged) {
			link_complete_route(&pkt.route, rx->host, rx->to->host);
			sl->link.counters.received += pkt.segs > 1 ? pkt.segs : 1;
			port->rx(port->ctx, &pkt);
		}
		if (told.pulls && rx->watch.fd >= 0 && !shm_rx_skip(rx)) {
			shm_rx_close(sl, rx, "less into its pipes than it said");
			break;
		}
		shm_ring_took(&rx->ring, (uint32_t)len);
	}
	shm_ring_give_back(&rx->ring);
	return done;
}

static uint32_t shm_poll(struct link *link, uint32_t budget)
{
	struct shm_link *sl = to_shm(link);
	uint32_t done = 0, datagrams = 0;

	/* A system call each time would double what an empty look costs. */
	if (link->attention || sl->udp_busy || sl->polls % SHM_UDP_EVERY == 0)
		datagrams = sl->udp->ops->poll(sl->udp, budget);
	sl->udp_busy = datagrams > 0;
	if (link->attention || sl->polls++ % SHM_SERVE_EVERY == 0) {
		link->attention = false;
		shm_serve(sl);
	}
	for (struct shm_rx *rx = sl->rx; rx; rx = rx->next) {
		if (rx->greeted && rx->watch.fd >= 0)
			done += shm_drain(sl, rx, budget);
	}
	shm_reap(sl);
	if (!done)
		sl->pull_row = 0;
	return done + datagrams;
}

static bool something_waits(const struct shm_link *sl)
{
	for (const struct shm_rx *rx = sl->rx; rx; rx = rx->next) {
		if (rx->greeted && shm_ring_waits(&rx->ring))
			return true;
	}
	return false;
}

/*
 * The sleeper says that it sleeps and then looks at the rings; a sender shows its packet and then
 * looks whether we sleep. Both in the one total order of seq_cst: at least one sees the other.
 */
static bool shm_doze(struct link *link, bool asleep)
{
	struct shm_link *sl = to_shm(link);

	atomic_store(&sl->status->asleep, asleep);
	if (!asleep)
		return true;
	atomic_thread_fence(memory_order_seq_cst);
	if (!something_waits(sl))
		return true;
	atomic_store(&sl->status->asleep, false);
	return false;
}

/* ---- the link ---- */

static void close_status(struct shm_link *sl)
{
	if (sl->status)
		munmap(sl->status, SHM_PAGE);
	sl->status = NULL;
	fds_close(sl->status_fd);
	sl->status_fd = -1;
}

static void shm_destroy(struct link *link)
{
	struct shm_link *sl = to_shm(link);

	while (link->ports)
		shm_detach(link, link->ports);
	shm_team_destroy(sl->team);
	sl->udp->ops->destroy(sl->udp);
	close_status(sl);
	fds_close(sl->epoll_fd);
	free(sl);
}

static const struct link_ops shm_ops = {
	.attach = shm_attach,
	.detach = shm_detach,
	.send = shm_send,
	.flush = shm_flush,
	.poll = shm_poll,
	.destroy = shm_destroy,
	.doze = shm_doze,
	.taken = shm_taken,
	.recall = shm_recall,
};

/* Those who send to us may read it, but not write. */
static bool open_status(struct shm_link *sl)
{
	void *p;

	sl->status_fd = fds_own(memfd_create("gdakit-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (sl->status_fd < 0 || fds_set_size(sl->status_fd, SHM_PAGE))
		return false;
	p = mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, sl->status_fd, 0);
	if (p == MAP_FAILED)
		return false;
	sl->status = p;
	if (fcntl(sl->status_fd, F_ADD_SEALS,
		  F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return true;
	return fcntl(sl->status_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

static bool fabric_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < SHM_FABRIC_MAX && !strchr(name, '/');
}

struct link *link_shm_create(const struct link_shm_config *config, const char **why)
{
	struct link_udp_config udp = {.host = config->host,
				      .port = config->udp_port,
				      .through_socket = config->through_socket,
				      .guard = config->guard};
	struct shm_link *sl = calloc(1, sizeof(*sl));
	char user[SHM_FABRIC_MAX];

	if (!sl) {
		*why = "no memory for the shared-memory link";
		return NULL;
	}
	snprintf(user, sizeof(user), "u%u", (unsigned int)geteuid());
	snprintf(sl->fabric, sizeof(sl->fabric), "%s", config->fabric ? config->fabric : user);
	sl->link.ops = &shm_ops;
	sl->link.guard = config->guard;
	sl->link.fd = sl->status_fd = -1;
	sl->forced = config->forced;
	sl->through_socket = config->through_socket;
	sl->wake_fd = config->wake_fd;
	sl->epoll_fd = -1;
	*why = "a fabric's name has 1 to 47 bytes and no slash";
	errno = EINVAL;
	if (config->fabric && !fabric_ok(config->fabric))
		goto failed;
	*why = "no epoll descriptor, memory or random bytes for the shared-memory link";
	sl->epoll_fd = fds_own(epoll_create1(EPOLL_CLOEXEC));
	if (sl->epoll_fd < 0 || !open_status(sl) ||
	    getrandom(sl->cookie, sizeof(sl->cookie), 0) != (ssize_t)sizeof(sl->cookie))
		goto failed;
	sl->udp = link_udp_create(&udp, why);
	if (!sl->udp)
		goto failed;
	sl->link.fd = sl->epoll_fd;
	sl->team = shm_team_create(shm_team_suits());
	shm_allow_pull();
	return &sl->link;
failed:
	close_status(sl);
	fds_close(sl->epoll_fd);
	free(sl);
	return NULL;
}

static void close_fd(int *fd)
{
	fds_close(*fd);
	*fd = -1;
}

void link_shm_abandon(struct link *link)
{
	struct shm_link *sl = to_shm(link);

	/* Only closed, not taken out of epoll: that set is the parent's as well. */
	for (struct link_port *p = link->ports; p; p = p->next) {
		close_fd(&port_of(p)->listener.fd);
		p->fd = -1;
	}
	for (unsigned int i = 0; i < SHM_BUCKETS; i++) {
		for (struct shm_tx *tx = sl->tx[i]; tx; tx = tx->next) {
			close_fd(&tx->watch.fd);
			close_fd(&tx->wake_fd);
			shm_tx_no_pipes(tx);
		}
	}
	for (struct shm_rx *rx = sl->rx; rx; rx = rx->next) {
		close_fd(&rx->watch.fd);
		shm_rx_no_pipes(rx);
		sl->dead_rx = true;
	}
	link_udp_abandon(sl->udp);
	close_fd(&sl->status_fd);
	close_fd(&sl->epoll_fd);
	sl->link.fd = -1;
}
