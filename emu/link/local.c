// SPDX-License-Identifier: BSD-3-Clause
/*
 * The link between NICs of one owner. By reference: send delivers at once, the payload is not
 * copied. Serialising: every packet becomes a frame of exactly its size on the heap (so that a
 * sanitizer sees each byte read beyond it), waits in a queue, may be lost, doubled or overtaken as
 * a seed decides, and is decoded at its receiver.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/link/link.h"
#include "emu/link/route.h"
#include "emu/nicmodel/roce_wire.h"
#include "emu/nicmodel/xorshift.h"

enum { LOCAL_HOST_A = 64, LOCAL_QUEUE_DEFAULT = 256 };

struct local_frame {
	struct link_port *to; /* NULL: the port has left */
	uint32_t dqpn;
	uint8_t from_slot;
	uint16_t sport;
	uint16_t slid, dlid; /* an Ethernet frame has no place for them */
	size_t len;
	uint8_t bytes[];
};

struct local_link {
	struct link link;
	struct link_local_config config;
	uint32_t rng;
	uint32_t count;
	struct local_frame **queue; /* [0, count), oldest first */
};

static struct local_link *to_local(struct link *link)
{
	return (struct local_link *)link;
}

static bool chance(struct local_link *ll, uint32_t permille)
{
	return permille && xorshift32(&ll->rng) % 1000 < permille;
}

static struct link_host host_of_slot(uint8_t slot)
{
	return (struct link_host){.a = LOCAL_HOST_A, .b = slot};
}

static struct link_port *port_of_slot(const struct link *link, uint8_t slot)
{
	for (struct link_port *p = link->ports; p; p = p->next) {
		if (p->id.slot == slot)
			return p;
	}
	return NULL;
}

static int local_attach(struct link *link, struct link_port *port, const char **why)
{
	for (unsigned int slot = 0; slot < LINK_SLOTS; slot++) {
		if (port_of_slot(link, (uint8_t)slot))
			continue;
		port->link = link;
		port->fd = -1;
		port->id.slot = (uint8_t)slot;
		port->id.lid = link_host_lid(host_of_slot((uint8_t)slot));
		link_host_gid(host_of_slot((uint8_t)slot), port->id.gid);
		port->next = link->ports;
		link->ports = port;
		return 0;
	}
	*why = "all 253 slots of the local link are taken";
	return -ENOSPC;
}

static void local_detach(struct link *link, struct link_port *port)
{
	struct local_link *ll = to_local(link);
	struct link_port **p = &link->ports;

	while (*p && *p != port)
		p = &(*p)->next;
	if (*p)
		*p = port->next;
	for (uint32_t i = 0; i < ll->count; i++) {
		if (ll->queue[i]->to == port)
			ll->queue[i]->to = NULL;
	}
}

static void deliver(struct link *link, struct link_port *to, struct nm_packet *pkt)
{
	link->counters.received += pkt->segs > 1 ? pkt->segs : 1;
	to->rx(to->ctx, pkt);
}

struct encode_args {
	const struct nm_packet *pkt;
	uint8_t *buf;
	int result;
};

static void encode_fn(void *arg)
{
	struct encode_args *a = arg;

	a->result = nm_roce_encode(a->pkt, a->buf, NM_ROCE_FRAME_MAX);
}

static int enqueue(struct local_link *ll, struct link_port *from, struct link_port *to,
		   const struct nm_packet *pkt)
{
	uint8_t buf[NM_ROCE_FRAME_MAX];
	struct encode_args args = {.pkt = pkt, .buf = buf, .result = 0};
	struct local_frame *frame;

	if (ll->link.guard) {
		if (ll->link.guard(encode_fn, &args))
			return -EFAULT;
	} else {
		encode_fn(&args);
	}
	assert(args.result > 0 && "the NIC built a packet that no wire can carry");
	frame = malloc(sizeof(*frame) + (size_t)args.result);
	if (!frame)
		return -EAGAIN;
	frame->to = to;
	frame->dqpn = (uint32_t)pkt->hdr[5] << 16 | (uint32_t)pkt->hdr[6] << 8 | pkt->hdr[7];
	frame->from_slot = from->id.slot;
	frame->sport = pkt->route.udp_sport;
	frame->slid = pkt->route.slid;
	frame->dlid = pkt->route.dlid;
	frame->len = (size_t)args.result;
	memcpy(frame->bytes, buf, frame->len);
	assert(ll->count < ll->config.queue_packets);
	ll->queue[ll->count++] = frame;
	return 0;
}

/* One packet through the queue, as the seed wants it. */
static int serialise(struct local_link *ll, struct link_port *from, struct link_port *to,
		     const struct nm_packet *pkt)
{
	int err;

	if (chance(ll, ll->config.drop_permille)) {
		ll->link.counters.dropped++;
		return 0;
	}
	err = enqueue(ll, from, to, pkt);
	if (!err && ll->count < ll->config.queue_packets && chance(ll, ll->config.dup_permille))
		err = enqueue(ll, from, to, pkt);
	return err;
}

/* A train as the packets that it is; what does not find room is lost. */
static int serialise_train(struct local_link *ll, struct link_port *from, struct link_port *to,
			   const struct nm_packet *train)
{
	int err = 0;

	for (uint32_t i = 0; i < train->segs && !err; i++) {
		struct nm_packet pkt;

		if (ll->count >= ll->config.queue_packets)
			ll->link.counters.dropped++;
		else if (nm_train_segment(train, i, &pkt))
			err = serialise(ll, from, to, &pkt);
	}
	return err;
}

static int send_to(struct local_link *ll, struct link_port *from, struct link_port *to,
		   struct nm_packet *pkt)
{
	if (from->unplugged || to->unplugged) {
		ll->link.counters.dropped += pkt->segs > 1 ? pkt->segs : 1;
		return 0;
	}
	link_complete_route(&pkt->route, host_of_slot(from->id.slot), host_of_slot(to->id.slot));
	if (!ll->config.serialise) {
		deliver(&ll->link, to, pkt);
		return 0;
	}
	return pkt->segs > 1 ? serialise_train(ll, from, to, pkt) : serialise(ll, from, to, pkt);
}

/* A copy for each port, the sender's too: its own QPs may be in the group. */
static int send_to_all(struct local_link *ll, struct link_port *from, struct nm_packet *pkt)
{
	for (struct link_port *to = ll->link.ports; to; to = to->next) {
		struct nm_packet copy = *pkt;
		int err;

		if (ll->config.serialise && ll->count >= ll->config.queue_packets)
			return 0; /* the rest is lost, as at a full switch */
		err = send_to(ll, from, to, &copy);
		if (err)
			return err;
	}
	return 0;
}

static int local_send(struct link *link, struct link_port *port, struct nm_packet *pkt)
{
	struct local_link *ll = to_local(link);
	struct link_host dst;
	struct link_port *to;
	uint32_t segs = pkt->segs > 1 ? pkt->segs : 1;
	uint8_t slot;

	/* A train waits until all of it fits, or nothing is before it. */
	if (ll->config.serialise && ll->count && ll->count + segs > ll->config.queue_packets)
		return -EAGAIN;
	link->counters.sent += segs;
	if (link_is_multicast(pkt))
		return send_to_all(ll, port, pkt);
	to = link_destination(pkt, &dst, &slot) ? port_of_slot(link, slot) : NULL;
	if (!to || link_host_lid(dst) != to->id.lid) {
		link->counters.dropped += segs;
		return 0;
	}
	return send_to(ll, port, to, pkt);
}

static bool local_flush(struct link *link)
{
	(void)link;
	return true;
}

static bool same_flow(const struct local_frame *x, const struct local_frame *y)
{
	return x->to == y->to && x->from_slot == y->from_slot && x->dqpn == y->dqpn &&
	       x->sport == y->sport;
}

/* Which frame goes next: the oldest; the oldest of a random flow; or any. */
static uint32_t pick(struct local_link *ll)
{
	uint32_t any, i;

	if (chance(ll, ll->config.reorder_permille))
		return xorshift32(&ll->rng) % ll->count;
	if (!ll->config.shuffle)
		return 0;
	any = xorshift32(&ll->rng) % ll->count;
	for (i = 0; i < any; i++) {
		if (same_flow(ll->queue[i], ll->queue[any]))
			break;
	}
	return i;
}

static void decode_and_deliver(struct local_link *ll, struct local_frame *frame)
{
	struct link_port *to = frame->to;
	struct nm_packet pkt;
	char why[NM_WHY_MAX];

	if (!to || to->unplugged) {
		ll->link.counters.dropped++;
		return;
	}
	if (nm_roce_decode(frame->bytes, frame->len, &pkt, why)) {
		ll->link.counters.malformed++;
		if (to->diag)
			to->diag(to->ctx, why);
		return;
	}
	pkt.route.slid = frame->slid;
	pkt.route.dlid = frame->dlid;
	deliver(&ll->link, to, &pkt);
}

static uint32_t local_poll(struct link *link, uint32_t budget)
{
	struct local_link *ll = to_local(link);
	uint32_t done;

	for (done = 0; done < budget && ll->count; done++) {
		uint32_t i = pick(ll);
		struct local_frame *frame = ll->queue[i];

		ll->count--;
		memmove(&ll->queue[i], &ll->queue[i + 1],
			(ll->count - i) * sizeof(struct local_frame *));
		decode_and_deliver(ll, frame);
		free(frame);
	}
	return done;
}

static void local_destroy(struct link *link)
{
	struct local_link *ll = to_local(link);

	for (uint32_t i = 0; i < ll->count; i++)
		free(ll->queue[i]);
	free(ll->queue);
	free(ll);
}

static const struct link_ops local_ops = {
	.attach = local_attach,
	.detach = local_detach,
	.send = local_send,
	.flush = local_flush,
	.poll = local_poll,
	.destroy = local_destroy,
};

struct link *link_local_create(const struct link_local_config *config)
{
	struct local_link *ll = calloc(1, sizeof(*ll));

	if (!ll)
		return NULL;
	ll->link.ops = &local_ops;
	ll->link.fd = -1;
	ll->link.guard = config->guard;
	ll->config = *config;
	if (!ll->config.queue_packets)
		ll->config.queue_packets = LOCAL_QUEUE_DEFAULT;
	ll->rng = xorshift32_seed(config->seed, 2654435761u);
	if (config->serialise) {
		ll->queue = calloc(ll->config.queue_packets, sizeof(struct local_frame *));
		if (!ll->queue) {
			free(ll);
			return NULL;
		}
	}
	return &ll->link;
}
