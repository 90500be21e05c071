// SPDX-License-Identifier: BSD-3-Clause
/*
 * RoCEv2 in UDP datagrams over the loopback network: a port is a socket, and its address is its
 * identity (docs/wire.md).
 *
 * The kernel makes the IP and UDP headers, yet the ICRC covers them. What it will put there is
 * fixed by the socket's mode: not connected, path MTU discovery on, so that every datagram leaves
 * with DF set and identification 0 (an unfragmentable datagram of a socket without a peer needs
 * none). sim_tests/link_capture.c checks this against captured packets.
 *
 * Payload is gathered into a frame buffer when a packet is sent. The copy is what makes the ICRC
 * true: a program may write to its buffer between the checksum and the system call, and READ
 * responses of memory that is being polled do so all the time.
 *
 * Datagrams of one size for one address leave as one message that the kernel cuts (UDP_SEGMENT),
 * and arrive as one (UDP_GRO): each still has its own BTH and ICRC, but the way through the network
 * stack is paid once. A kernel without either gets and gives single datagrams.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/link/link.h"
#include "emu/link/neighbours.h"
#include "emu/link/route.h"
#include "emu/nicmodel/roce_wire.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* linux/udp.h, since Linux 4.18 */
#endif
#ifndef UDP_GRO
#define UDP_GRO 104 /* since Linux 5.0 */
#endif

enum {
	UDP_BATCH = 64,	   /* messages of one system call */
	UDP_RX_BATCH = 16, /* likewise, received; each may be as long as a datagram can be */
	UDP_FRAME = (NM_ROCE_UDP_PAYLOAD_MAX + 63) & ~63,
	UDP_TX_BYTES = 2 * NM_TRAIN_SEGS * UDP_FRAME,
	UDP_RX_FRAME = 65536,
	UDP_MESSAGE_MAX = 65507, /* bytes of a message, however it is cut */
	UDP_CUTS_MAX = 64,	 /* datagrams of one message: UDP_MAX_SEGMENTS of older kernels */
	UDP_BUFFER = 64 << 20,	 /* bytes of socket buffer asked for */
	UDP_TTL = 64,		 /* what the kernel sets */
	UDP_NEIGHBOURS_MS = 10,	 /* for how long the list of ports is taken to be true */
	UDP_HOLD_MS = 10000,	 /* for how long unread datagrams say that nobody reads */
	UDP_CONTROL = 96,	 /* bytes for TOS, the size of a cut and the overflow count */
};

/* One message: datagrams of `size` bytes, the last one perhaps shorter. */
struct udp_run {
	uint16_t size, cuts;
	uint8_t tclass;
	bool closed; /* its last datagram is shorter */
};

struct udp_tx {
	struct mmsghdr msgs[UDP_BATCH];
	struct iovec iov[UDP_BATCH];
	struct sockaddr_in to[UDP_BATCH];
	struct udp_run runs[UDP_BATCH];
	_Alignas(8) uint8_t control[UDP_BATCH][UDP_CONTROL];
	uint32_t head, count; /* [head, count) wait to be sent */
	uint32_t used;	      /* bytes of `frames` */
	bool no_cuts;	      /* the kernel does not cut */
	bool checksum;	      /* the socket's mode: UDP checksums are made */
	uint8_t frames[UDP_TX_BYTES];
};

struct udp_rx {
	struct mmsghdr msgs[UDP_RX_BATCH];
	struct iovec iov[UDP_RX_BATCH];
	struct sockaddr_in from[UDP_RX_BATCH];
	_Alignas(8) uint8_t control[UDP_RX_BATCH][UDP_CONTROL];
	uint8_t frames[UDP_RX_BATCH][UDP_RX_FRAME];
	uint32_t overflows; /* the kernel's counter, as last seen */
};

struct udp_port {
	struct link_host host; /* its block */
	struct udp_tx tx;
	struct udp_rx rx;
};

struct udp_link {
	struct link link;
	struct link_host host; /* of ports that name none */
	uint16_t udp_port;
	bool through_socket;
	/* multicast */
	struct link_neighbour neighbours[LINK_NEIGHBOURS_MAX];
	uint32_t nneighbours;
	uint64_t neighbours_ms; /* when they were listed; 0: never */
};

static struct udp_link *to_udp(struct link *link)
{
	return (struct udp_link *)link;
}

static struct link_host host_of(const struct link_port *port)
{
	return ((const struct udp_port *)port->priv)->host;
}

static struct sockaddr_in address(const struct udp_link *ul, struct link_host host, uint8_t slot)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(ul->udp_port)};

	sin.sin_addr.s_addr =
		htonl(127u << 24 | (uint32_t)host.a << 16 | (uint32_t)host.b << 8 | (1u + slot));
	return sin;
}

static void set_mapped(uint8_t gid[16], struct in_addr addr)
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &addr.s_addr, 4);
}

/* ---- ports ---- */

static const char bad_host[] = "the host block is not 127.A.B with A in 1..191 and B in 0..255";

static void set_buffer(int fd, int force, int plain)
{
	int bytes = UDP_BUFFER;

	/* Beyond the system's limit needs CAP_NET_ADMIN; without it, what the limit allows. */
	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes));
}

static int open_socket(const char **why)
{
	int on = 1, pmtu = IP_PMTUDISC_DO;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) {
		*why = "no UDP socket";
		return -errno;
	}
	if (setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu))) {
		int err = -errno;

		close(fd);
		*why = "the UDP socket refuses path MTU discovery, so the ICRC would not be true";
		return err;
	}
	setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)); /* RoCEv2: UDP checksum 0 */
	setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
	setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	return fd;
}

/* The first slot whose address is free; the bind is the claim, and ends with the process. */
static int claim_slot(const struct udp_link *ul, struct link_host host, int fd, uint8_t *slot,
		      const char **why)
{
	for (unsigned int s = 0; s < LINK_SLOTS; s++) {
		struct sockaddr_in sin = address(ul, host, (uint8_t)s);

		if (!bind(fd, (struct sockaddr *)&sin, sizeof(sin))) {
			*slot = (uint8_t)s;
			return 0;
		}
		if (errno != EADDRINUSE) {
			*why = "bind to the host's loopback address failed";
			return -errno;
		}
	}
	*why = "all 253 slots of this simulated host are taken";
	return -ENOSPC;
}

static void init_batches(struct udp_port *up)
{
	for (unsigned int i = 0; i < UDP_BATCH; i++)
		up->tx.msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &up->tx.to[i],
			.msg_namelen = sizeof(up->tx.to[i]),
			.msg_iov = &up->tx.iov[i],
			.msg_iovlen = 1,
		};
	for (unsigned int i = 0; i < UDP_RX_BATCH; i++)
		up->rx.iov[i] =
			(struct iovec){.iov_base = up->rx.frames[i], .iov_len = UDP_RX_FRAME};
}

static int udp_attach(struct link *link, struct link_port *port, const char **why)
{
	struct udp_link *ul = to_udp(link);
	struct udp_port *up = calloc(1, sizeof(*up));
	int fd, err;

	if (!up) {
		*why = "no memory for a port";
		return -ENOMEM;
	}
	up->host = ul->host;
	if (port->host && !link_host_parse(port->host, &up->host)) {
		*why = bad_host;
		free(up);
		return -EINVAL;
	}
	fd = open_socket(why);
	if (fd < 0) {
		free(up);
		return fd;
	}
	err = claim_slot(ul, up->host, fd, &port->id.slot, why);
	if (err) {
		close(fd);
		free(up);
		return err;
	}
	init_batches(up);
	link_host_gid(up->host, port->id.gid);
	port->id.lid = link_host_lid(up->host);
	port->fd = fds_own(fd);
	port->priv = up;
	port->link = link;
	port->next = link->ports;
	link->ports = port;
	return 0;
}

static void udp_detach(struct link *link, struct link_port *port)
{
	struct link_port **p = &link->ports;

	while (*p && *p != port)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = port->next;
	if (port->fd >= 0)
		fds_close(port->fd);
	port->fd = -1;
	free(port->priv);
	port->priv = NULL;
}

/* ---- sending ---- */

static struct link_port *own_port(const struct link *link, struct link_host host, uint8_t slot)
{
	for (struct link_port *p = link->ports; p; p = p->next) {
		if (p->id.slot == slot && host_of(p).a == host.a && host_of(p).b == host.b)
			return p;
	}
	return NULL;
}

static void add_control(struct msghdr *msg, int level, int type, const void *value, size_t len)
{
	struct cmsghdr *cmsg =
		(struct cmsghdr *)((uint8_t *)msg->msg_control + msg->msg_controllen);

	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), value, len);
	msg->msg_controllen += CMSG_SPACE(len);
}

/* TOS and, for more than one datagram, where to cut. */
static void set_control(struct udp_tx *tx, uint32_t i)
{
	struct msghdr *msg = &tx->msgs[i].msg_hdr;
	const struct udp_run *run = &tx->runs[i];
	int tos = run->tclass;

	msg->msg_control = NULL;
	msg->msg_controllen = 0;
	if (!tos && run->cuts < 2)
		return;
	msg->msg_control = tx->control[i];
	memset(tx->control[i], 0, UDP_CONTROL);
	if (tos)
		add_control(msg, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	if (run->cuts > 1)
		add_control(msg, IPPROTO_UDP, UDP_SEGMENT, &run->size, sizeof(run->size));
}

/*
 * The kernel cuts only where it also makes UDP checksums; a RoCEv2 datagram has none, so they are
 * on only while there is something to cut (on the loopback network nobody computes them).
 */
static void set_checksum(struct udp_tx *tx, int fd)
{
	bool cuts = false;
	int off;

	for (uint32_t i = tx->head; i < tx->count; i++)
		cuts |= tx->runs[i].cuts > 1;
	off = !cuts;
	if (cuts != tx->checksum && !setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &off, sizeof(off)))
		tx->checksum = cuts;
}

/* The message at `head` as single datagrams, from now on always. */
static bool send_uncut(struct link *link, struct udp_tx *tx, int fd)
{
	struct udp_run *run = &tx->runs[tx->head];
	struct iovec *iov = &tx->iov[tx->head];

	tx->no_cuts = true;
	while (run->cuts) {
		size_t n = iov->iov_len < run->size ? iov->iov_len : run->size;

		if (sendto(fd, iov->iov_base, n, MSG_DONTWAIT | MSG_NOSIGNAL,
			   (struct sockaddr *)&tx->to[tx->head], sizeof(tx->to[0])) < 0) {
			if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
				return false;
			link->counters.dropped++;
		}
		iov->iov_base = (uint8_t *)iov->iov_base + n;
		iov->iov_len -= n;
		run->cuts--;
	}
	tx->head++;
	return true;
}

/* True if all that waited has been sent. */
static bool flush_port(struct link *link, struct link_port *port)
{
	struct udp_tx *tx = &((struct udp_port *)port->priv)->tx;

	port->blocked = false;
	for (uint32_t i = tx->head; i < tx->count; i++)
		set_control(tx, i);
	if (tx->head < tx->count)
		set_checksum(tx, port->fd);
	while (tx->head < tx->count) {
		int n = sendmmsg(port->fd, tx->msgs + tx->head, tx->count - tx->head,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			tx->head += (uint32_t)n;
		} else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
			port->blocked = true;
			return false;
		} else if (errno != EINTR && tx->runs[tx->head].cuts > 1) {
			if (!send_uncut(link, tx, port->fd)) {
				port->blocked = true;
				return false;
			}
		} else if (errno != EINTR) {
			/* This one cannot be sent (a firewall, say): lost, as on a wire. */
			link->counters.dropped++;
			tx->head++;
		}
	}
	tx->head = tx->count = tx->used = 0;
	return true;
}

struct encode_args {
	const struct nm_packet *pkt;
	const struct nm_roce_ip *ip;
	uint8_t *buf;
	int result;
};

static void encode_fn(void *arg)
{
	struct encode_args *a = arg;

	a->result = nm_roce_encode_udp(a->pkt, a->ip, a->buf, UDP_FRAME);
}

/* The datagram behind `used` becomes part of the last message, or one of its own. */
static void append(struct udp_tx *tx, const struct sockaddr_in *to, uint8_t tclass, uint32_t len)
{
	struct udp_run *run = tx->count > tx->head ? &tx->runs[tx->count - 1] : NULL;
	uint32_t i = tx->count;

	if (run && !tx->no_cuts && !run->closed && run->tclass == tclass && len <= run->size &&
	    run->cuts < UDP_CUTS_MAX && tx->iov[i - 1].iov_len + len <= UDP_MESSAGE_MAX &&
	    memcmp(&tx->to[i - 1], to, sizeof(*to)) == 0) {
		run->cuts++;
		run->closed = len < run->size;
		tx->iov[i - 1].iov_len += len;
	} else {
		tx->count++;
		tx->to[i] = *to;
		tx->iov[i] = (struct iovec){.iov_base = tx->frames + tx->used, .iov_len = len};
		tx->runs[i] = (struct udp_run){.size = (uint16_t)len, .cuts = 1, .tclass = tclass};
	}
	tx->used += len;
}

/* There is room. 0, -EFAULT. */
static int enqueue(struct udp_link *ul, struct link_port *port, const struct nm_packet *pkt,
		   const struct sockaddr_in *to)
{
	struct udp_tx *tx = &((struct udp_port *)port->priv)->tx;
	struct nm_roce_ip ip = {.df = true, .sport = ul->udp_port, .dport = ul->udp_port};
	struct encode_args args = {.pkt = pkt, .ip = &ip, .buf = tx->frames + tx->used};
	struct sockaddr_in src = address(ul, host_of(port), port->id.slot);

	set_mapped(ip.src, src.sin_addr);
	set_mapped(ip.dst, to->sin_addr);
	if (ul->link.guard) {
		if (ul->link.guard(encode_fn, &args))
			return -EFAULT;
	} else {
		encode_fn(&args);
	}
	assert(args.result > 0 && "the NIC built a packet that no wire can carry");
	append(tx, to, pkt->route.tclass, (uint32_t)args.result);
	return 0;
}

static int enqueue_all(struct udp_link *ul, struct link_port *port, const struct nm_packet *pkt,
		       const struct sockaddr_in *to)
{
	struct nm_packet one;
	int err = 0;

	if (pkt->segs < 2)
		return enqueue(ul, port, pkt, to);
	for (uint32_t i = 0; i < pkt->segs && !err; i++) {
		if (nm_train_segment(pkt, i, &one))
			err = enqueue(ul, port, &one, to);
	}
	return err;
}

static bool has_room(const struct udp_tx *tx, uint32_t segs)
{
	return tx->count + segs <= UDP_BATCH && tx->used + segs * UDP_FRAME <= UDP_TX_BYTES;
}

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void list_neighbours(struct udp_link *ul)
{
	uint64_t now_ms = clock_ms();

	if (ul->neighbours_ms && now_ms - ul->neighbours_ms < UDP_NEIGHBOURS_MS)
		return;
	ul->nneighbours = link_neighbours(ul->udp_port, ul->neighbours, LINK_NEIGHBOURS_MAX);
	ul->neighbours_ms = now_ms;
}

/* The headers grow by the group's GID: the datagram's own address is that of one receiver. */
static void put_mgid(struct nm_packet *pkt)
{
	assert(pkt->hdr_len + NM_ROCE_GID_LEN <= NM_PKT_HDR_MAX);
	memcpy(pkt->hdr + pkt->hdr_len, pkt->route.dgid, NM_ROCE_GID_LEN);
	pkt->hdr_len = (uint8_t)(pkt->hdr_len + NM_ROCE_GID_LEN);
}

static void take_mgid(struct nm_packet *pkt)
{
	if (!nm_roce_for_group(pkt->hdr))
		return;
	assert(pkt->hdr_len > NM_ROCE_GID_LEN);
	pkt->hdr_len = (uint8_t)(pkt->hdr_len - NM_ROCE_GID_LEN);
	memcpy(pkt->route.dgid, pkt->hdr + pkt->hdr_len, NM_ROCE_GID_LEN);
}

/*
 * A copy for each port of this machine, as a datagram of its own: multicast on the loopback network
 * would need a route that programs do not have. A full socket loses the rest.
 */
static int send_to_all(struct udp_link *ul, struct link_port *port, const struct nm_packet *pkt)
{
	struct udp_tx *tx = &((struct udp_port *)port->priv)->tx;
	struct nm_packet wire = *pkt;

	put_mgid(&wire);
	list_neighbours(ul);
	for (uint32_t i = 0; i < ul->nneighbours; i++) {
		const struct link_neighbour *to = &ul->neighbours[i];
		struct link_port *own = own_port(&ul->link, to->host, to->slot);
		struct nm_packet copy = *pkt;
		struct sockaddr_in addr;
		int err;

		if (own && !ul->through_socket) {
			link_complete_route(&copy.route, host_of(port), to->host);
			ul->link.counters.received++;
			own->rx(own->ctx, &copy);
			continue;
		}
		if (!has_room(tx, 1) && !flush_port(&ul->link, port)) {
			ul->link.counters.dropped++;
			return 0;
		}
		addr = address(ul, to->host, to->slot);
		err = enqueue(ul, port, &wire, &addr);
		if (err)
			return err;
	}
	return 0;
}

static int udp_send(struct link *link, struct link_port *port, struct nm_packet *pkt)
{
	struct udp_link *ul = to_udp(link);
	struct udp_tx *tx = &((struct udp_port *)port->priv)->tx;
	uint32_t segs = pkt->segs > 1 ? pkt->segs : 1;
	struct link_port *own = NULL;
	struct sockaddr_in to;
	struct link_host dst;
	uint8_t slot;

	if (link_is_multicast(pkt) && !port->unplugged) {
		link->counters.sent++;
		return send_to_all(ul, port, pkt);
	}
	if (!link_destination(pkt, &dst, &slot) || slot >= LINK_SLOTS || port->unplugged) {
		link->counters.sent += segs;
		link->counters.dropped += segs;
		return 0;
	}
	if (!ul->through_socket)
		own = own_port(link, dst, slot);
	if (!own && !has_room(tx, segs) && !flush_port(link, port))
		return -EAGAIN;
	link->counters.sent += segs;
	if (!own) {
		to = address(ul, dst, slot);
		pkt->mark = clock_ms();
		return enqueue_all(ul, port, pkt, &to);
	}
	link_complete_route(&pkt->route, host_of(port), dst);
	link->counters.received += segs;
	own->rx(own->ctx, pkt);
	return 0;
}

/*
 * The mark is the time of sending, in ms. Whose datagrams the unread ones are is not known: those
 * of others may hold a time-out back as well, so not for ever.
 */
static bool udp_taken(struct link *link, struct link_port *port, const struct nm_route *route,
		      uint32_t dqpn, uint64_t mark)
{
	struct udp_link *ul = to_udp(link);
	struct link_host dst;

	(void)port;
	if (!link_host_of_route(route, &dst) || clock_ms() - mark > UDP_HOLD_MS)
		return true;
	list_neighbours(ul);
	for (uint32_t i = 0; i < ul->nneighbours; i++) {
		const struct link_neighbour *to = &ul->neighbours[i];

		if (to->slot == (uint8_t)(dqpn >> 16) && to->host.a == dst.a && to->host.b == dst.b)
			return !to->waits;
	}
	return true;
}

static bool udp_flush(struct link *link)
{
	bool all = true;

	for (struct link_port *p = link->ports; p; p = p->next)
		all &= flush_port(link, p);
	return all;
}

/* ---- receiving ---- */

/* TOS of the message, the size of its datagrams, and whether the socket has lost any before it. */
static void read_control(struct link *link, struct link_port *port, struct msghdr *msg,
			 uint8_t *tos, size_t *cut)
{
	struct udp_rx *rx = &((struct udp_port *)port->priv)->rx;
	uint32_t lost;
	int size;

	*tos = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			*tos = *CMSG_DATA(c);
		} else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			memcpy(&size, CMSG_DATA(c), sizeof(size));
			if (size > 0)
				*cut = (size_t)size;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
			memcpy(&lost, CMSG_DATA(c), sizeof(lost));
			link->counters.overflowed += lost - rx->overflows;
			if (lost != rx->overflows && port->diag)
				port->diag(port->ctx, "the receive buffer of the UDP socket was "
						      "full: datagrams were lost");
			rx->overflows = lost;
		}
	}
}

static void refuse(struct link *link, struct link_port *port, const char *why)
{
	link->counters.malformed++;
	if (port->diag)
		port->diag(port->ctx, why);
}

static void hand_over(struct udp_link *ul, struct link_port *port, struct nm_packet *pkt)
{
	if (!pkt->hdr_len)
		return;
	ul->link.counters.received += pkt->segs > 1 ? pkt->segs : 1;
	port->rx(port->ctx, pkt);
	pkt->hdr_len = 0;
}

static uint32_t psn_of(const struct nm_packet *pkt)
{
	return (uint32_t)pkt->hdr[9] << 16 | (uint32_t)pkt->hdr[10] << 8 | pkt->hdr[11];
}

/* A packet from within a message of the reliable connection: SEND, WRITE, READ response. */
static bool is_middle(uint8_t opcode)
{
	return opcode == 0x01 || opcode == 0x07 || opcode == 0x0e;
}

/*
 * The next packet of a message is joined to those before it, so that they travel on as the train
 * that they once were. One that asks for an ACK is a train's last.
 */
static bool join(struct nm_packet *train, const struct nm_packet *pkt)
{
	uint32_t segs = train->segs ? train->segs : 1;

	if (!train->hdr_len || !is_middle(pkt->hdr[0]) || memcmp(train->hdr, pkt->hdr, 8) != 0 ||
	    (train->hdr[8] & 0x80) || psn_of(pkt) != ((psn_of(train) + segs) & 0xffffff) ||
	    !pkt->payload_len || pkt->payload_len % 4 ||
	    pkt->payload_len * segs != train->payload_len || segs >= NM_PKT_MAX_IOV ||
	    train->payload_len + pkt->payload_len > NM_TRAIN_MAX)
		return false;
	train->hdr[8] = pkt->hdr[8];
	train->seg_len = (uint16_t)pkt->payload_len;
	train->segs = (uint16_t)(segs + 1);
	train->payload[train->niov++] = pkt->payload[0];
	train->payload_len += pkt->payload_len;
	return true;
}

/* One datagram; `train` holds what came before it and is not handed over yet. */
static void deliver(struct udp_link *ul, struct link_port *port, const struct nm_roce_ip *ip,
		    struct link_host src, const uint8_t *bytes, size_t len, struct nm_packet *train)
{
	struct nm_packet pkt;
	char why[NM_WHY_MAX];

	if (nm_roce_decode_udp(ip, bytes, len, &pkt, why)) {
		hand_over(ul, port, train);
		refuse(&ul->link, port, why);
		return;
	}
	if (join(train, &pkt))
		return;
	hand_over(ul, port, train);
	take_mgid(&pkt);
	link_complete_route(&pkt.route, src, host_of(port));
	*train = pkt;
}

static void take(struct udp_link *ul, struct link_port *port, unsigned int i)
{
	struct udp_rx *rx = &((struct udp_port *)port->priv)->rx;
	struct msghdr *msg = &rx->msgs[i].msg_hdr;
	struct sockaddr_in own = address(ul, host_of(port), port->id.slot);
	struct nm_roce_ip ip = {
		.df = true, .ttl = UDP_TTL, .dport = ul->udp_port, .mgid_in_header = true};
	size_t len = rx->msgs[i].msg_len, cut = len, off = 0;
	struct nm_packet train;
	struct link_host src;
	uint8_t gid[16];

	train.hdr_len = 0; /* empty */
	train.segs = 0;
	read_control(&ul->link, port, msg, &ip.tos, &cut);
	if (msg->msg_flags & MSG_TRUNC) {
		refuse(&ul->link, port, "a datagram longer than any RoCEv2 packet");
		return;
	}
	ip.sport = ntohs(rx->from[i].sin_port);
	set_mapped(ip.src, rx->from[i].sin_addr);
	set_mapped(ip.dst, own.sin_addr);
	memcpy(gid, ip.src, sizeof(gid));
	gid[15] = 1; /* whichever slot it came from, the host's GID is the first address */
	if (!link_host_of_gid(gid, &src)) {
		refuse(&ul->link, port, "a datagram from an address outside of 127.0.0.0/8");
		return;
	}
	do {
		size_t n = len - off < cut ? len - off : cut;

		deliver(ul, port, &ip, src, rx->frames[i] + off, n, &train);
		off += n;
	} while (off < len);
	hand_over(ul, port, &train);
}

static uint32_t poll_port(struct udp_link *ul, struct link_port *port, uint32_t budget)
{
	struct udp_rx *rx = &((struct udp_port *)port->priv)->rx;
	unsigned int want = budget < UDP_RX_BATCH ? budget : UDP_RX_BATCH;
	int n;

	for (unsigned int i = 0; i < want; i++)
		rx->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_namelen = sizeof(rx->from[i]),
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->control[i],
			.msg_controllen = UDP_CONTROL,
		};
	n = recvmmsg(port->fd, rx->msgs, want, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n && !port->unplugged; i++)
		take(ul, port, (unsigned int)i);
	return n > 0 ? (uint32_t)n : 0;
}

static uint32_t udp_poll(struct link *link, uint32_t budget)
{
	uint32_t done = 0;

	for (struct link_port *p = link->ports; p; p = p->next)
		done += poll_port(to_udp(link), p, budget);
	return done;
}

/* ---- the link ---- */

static void udp_destroy(struct link *link)
{
	while (link->ports)
		udp_detach(link, link->ports);
	free(link);
}

static const struct link_ops udp_ops = {
	.attach = udp_attach,
	.detach = udp_detach,
	.send = udp_send,
	.flush = udp_flush,
	.taken = udp_taken,
	.poll = udp_poll,
	.destroy = udp_destroy,
};

struct link *link_udp_create(const struct link_udp_config *config, const char **why)
{
	struct udp_link *ul = calloc(1, sizeof(*ul));

	if (!ul) {
		*why = "no memory for the UDP link";
		return NULL;
	}
	if (!link_host_parse(config->host, &ul->host)) {
		*why = bad_host;
		free(ul);
		errno = EINVAL;
		return NULL;
	}
	ul->link.ops = &udp_ops;
	ul->link.fd = -1;
	ul->link.guard = config->guard;
	ul->udp_port = config->port ? config->port : NM_ROCE_UDP_PORT;
	ul->through_socket = config->through_socket;
	return &ul->link;
}

void link_udp_abandon(struct link *link)
{
	for (struct link_port *p = link->ports; p; p = p->next) {
		fds_close(p->fd);
		p->fd = -1;
	}
}
