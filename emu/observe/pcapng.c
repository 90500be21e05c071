// SPDX-License-Identifier: BSD-3-Clause
#include "emu/observe/pcapng.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "emu/nicmodel/roce_wire.h"
#include "emu/space/space.h"

/* Block types and option codes: pcapng, sections 3.5, 4.1, 4.2, 4.3. */
enum {
	SHB = 0x0a0d0d0a,
	IDB = 1,
	EPB = 6,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_TSRESOL = 9,
	EPB_FLAGS = 2,
	OPT_COMMENT = 1,
	LINKTYPE_ETHERNET = 1,
	MAGIC = 0x1a2b3c4d,
	NANOSECONDS = 9,
	FILLER_MIN = 12,
};

/* A block under construction; words are in the writer's byte order, which MAGIC tells. */
struct block {
	uint8_t bytes[NM_ROCE_FRAME_MAX + PCAPNG_COMMENT_MAX + 512];
	uint32_t len;
};

static void put32(struct block *b, uint32_t v)
{
	memcpy(b->bytes + b->len, &v, sizeof(v));
	b->len += (uint32_t)sizeof(v);
}

static void put16(struct block *b, uint16_t v)
{
	memcpy(b->bytes + b->len, &v, sizeof(v));
	b->len += (uint32_t)sizeof(v);
}

static void pad(struct block *b)
{
	while (b->len % 4)
		b->bytes[b->len++] = 0;
}

static void begin(struct block *b, uint32_t type)
{
	b->len = 0;
	put32(b, type);
	put32(b, 0); /* length, in the end */
}

static void option(struct block *b, uint16_t code, const void *value, size_t len)
{
	if (len > PCAPNG_COMMENT_MAX)
		len = PCAPNG_COMMENT_MAX;
	put16(b, code);
	put16(b, (uint16_t)len);
	memcpy(b->bytes + b->len, value, len);
	b->len += (uint32_t)len;
	pad(b);
}

static void end(struct block *b)
{
	put32(b, 0); /* end of options */
	put32(b, b->len + 4);
	memcpy(b->bytes + 4, &b->len, 4);
	assert(b->len % 4 == 0 && b->len <= sizeof(b->bytes));
}

struct store {
	uint8_t *to;
	uint32_t room; /* bytes from `to` to the end of what is allocated */
	const struct block *b;
};

static void store32(uint8_t *to, uint32_t v)
{
	memcpy(to, &v, sizeof(v));
}

/*
 * First the filler behind the block, then the block's body, then its first two words in one store:
 * they are the old filler's, so at no instruction is there anything else than a chain of blocks.
 */
static void write_block(void *arg)
{
	const struct store *s = arg;
	uint32_t rest = s->room - s->b->len;
	uint64_t head;

	store32(s->to + s->b->len, PCAPNG_FILLER);
	store32(s->to + s->b->len + 4, rest);
	store32(s->to + s->room - 4, rest);
	memcpy(s->to + 8, s->b->bytes + 8, s->b->len - 8);
	memcpy(&head, s->b->bytes, sizeof(head));
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(s->to, &head, sizeof(head));
}

static int append(struct pcapng *p, const struct block *b)
{
	struct store s = {.b = b};

	s.to = mapfile_reserve(&p->file, b->len + FILLER_MIN);
	if (!s.to)
		return -ENOSPC;
	s.room = (uint32_t)mapfile_room(&p->file);
	if (space_guarded(write_block, &s)) {
		snprintf(p->file.why, sizeof(p->file.why),
			 "%s: it was cut while it was written: the capture ends there",
			 p->file.path);
		return -EFAULT;
	}
	mapfile_commit(&p->file, b->len);
	return 0;
}

static void write_filler(void *arg)
{
	const struct store *s = arg;
	const uint32_t head[2] = {PCAPNG_FILLER, s->room};

	memcpy(s->to, head, sizeof(head));
	store32(s->to + s->room - 4, s->room);
}

/* The packet of the last TX was not sent. */
static void take_back(struct pcapng *p)
{
	struct store s = {.to = NULL};

	if (p->tx_at == UINT64_MAX)
		return;
	s.to = mapfile_rewind(&p->file, p->file.pos - p->tx_at);
	s.room = (uint32_t)mapfile_room(&p->file);
	(void)space_guarded(write_filler,
			    &s); /* a file that was cut is noticed at the next block */
	p->tx_at = UINT64_MAX;
}

/* ---- frames ---- */

static bool is_zero(const uint8_t *p, size_t len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

/* InfiniBand without GRH goes by LID: host 127.A.B has LID A << 8 | B (docs/wire.md). */
static void address_of_lid(uint8_t gid[16], uint16_t lid)
{
	const uint8_t of[16] = {[10] = 0xff, 0xff, 127, (uint8_t)(lid >> 8), (uint8_t)lid, 1};

	if (is_zero(gid, 16))
		memcpy(gid, of, sizeof(of));
}

/* 02:00 and the IPv4 address, as the model's ports have. */
static void mac_of_address(uint8_t mac[6], const uint8_t gid[16])
{
	if (!is_zero(mac, 6))
		return;
	mac[0] = 0x02;
	memcpy(mac + 2, gid + 12, 4);
}

struct frame {
	struct nm_packet pkt;
	uint8_t *to;
	size_t cap;
	int len;
};

static void encode(void *arg)
{
	struct frame *f = arg;

	f->len = nm_roce_encode(&f->pkt, f->to, f->cap);
}

static void complete(struct nm_route *route)
{
	address_of_lid(route->sgid, route->slid);
	address_of_lid(route->dgid, route->dlid);
	mac_of_address(route->smac, route->sgid);
	mac_of_address(route->dmac, route->dgid);
	if (!route->hop_limit)
		route->hop_limit = 64;
}

int pcapng_packet(struct pcapng *p, uint32_t interface, uint64_t time_ns,
		  enum pcapng_direction direction, const struct nm_packet *pkt, const char *comment)
{
	const uint64_t at_ns = time_ns + p->realtime_offset_ns;
	const uint32_t flags = direction;
	struct block b;
	struct frame f = {.pkt = *pkt, .cap = NM_ROCE_FRAME_MAX};

	begin(&b, EPB);
	put32(&b, interface);
	put32(&b, (uint32_t)(at_ns >> 32));
	put32(&b, (uint32_t)at_ns);
	f.to = b.bytes + b.len + 8;
	complete(&f.pkt.route);
	if (space_guarded(encode, &f))
		return -EFAULT;
	if (f.len < 0)
		return -EINVAL;
	put32(&b, (uint32_t)f.len);
	put32(&b, (uint32_t)f.len);
	b.len += (uint32_t)f.len;
	pad(&b);
	option(&b, EPB_FLAGS, &flags, sizeof(flags));
	if (comment)
		option(&b, OPT_COMMENT, comment, strlen(comment));
	end(&b);
	return append(p, &b);
}

/* ---- the observer ---- */

static const char *const fates[] = {
	[NM_DROP] = "dropped by an injected fault: it never arrived",
	[NM_DUP] = "doubled by an injected fault",
};

/* Its memory is gone, or it is no packet at all: what is left of it. */
static void without_payload(struct pcapng_nic *n, const struct nm_event *ev,
			    enum pcapng_direction direction, const char *why)
{
	struct nm_packet bare = *ev->packet;

	bare.niov = 0;
	bare.payload_len = 0;
	(void)pcapng_packet(n->pcap, n->interface, ev->time_ns, direction, &bare, why);
}

static void on_event(void *ctx, const struct nm_event *ev)
{
	struct pcapng_nic *n = ctx;
	struct pcapng *p = n->pcap;
	bool sent = ev->kind == NM_EV_TX;
	enum pcapng_direction direction = sent ? PCAPNG_OUTBOUND : PCAPNG_INBOUND;
	const char *comment =
		ev->verdict == NM_DROP || ev->verdict == NM_DUP ? fates[ev->verdict] : NULL;
	uint64_t at = p->file.pos;
	int ret;

	if (ev->kind == NM_EV_UNSENT) {
		take_back(p);
		return;
	}
	ret = pcapng_packet(p, n->interface, ev->time_ns, direction, ev->packet, comment);
	if (ret == -EFAULT && !p->file.why[0])
		without_payload(n, ev, direction, "the payload's memory cannot be read");
	p->tx_at = sent && p->file.pos != at ? at : UINT64_MAX;
}

/* ---- the file ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int pcapng_open(struct pcapng *p, const char *pattern, const char *application)
{
	struct block b;
	int ret;

	memset(p, 0, sizeof(*p));
	p->tx_at = UINT64_MAX;
	p->realtime_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	ret = mapfile_open(&p->file, pattern);
	if (ret)
		return ret;
	begin(&b, SHB);
	put32(&b, MAGIC);
	put16(&b, 1);
	put16(&b, 0);
	put32(&b, UINT32_MAX); /* the section's length: not given */
	put32(&b, UINT32_MAX);
	option(&b, SHB_USERAPPL, application, strlen(application));
	end(&b);
	return append(p, &b);
}

struct nm_observer *pcapng_add(struct pcapng *p, const char *name, const char *description)
{
	const uint8_t resolution = NANOSECONDS;
	struct pcapng_nic *n = &p->nic[p->nnics];
	struct block b;

	if (p->nnics == PCAPNG_NICS)
		return NULL;
	begin(&b, IDB);
	put16(&b, LINKTYPE_ETHERNET);
	put16(&b, 0);
	put32(&b, 0); /* no limit of the captured length */
	option(&b, IF_NAME, name, strlen(name));
	option(&b, IF_DESCRIPTION, description, strlen(description));
	option(&b, IF_TSRESOL, &resolution, 1);
	end(&b);
	if (append(p, &b))
		return NULL;
	*n = (struct pcapng_nic){.pcap = p, .interface = p->nnics++};
	n->observer =
		(struct nm_observer){.ctx = n,
				     .mask = 1u << NM_EV_TX | 1u << NM_EV_UNSENT | 1u << NM_EV_RX,
				     .event = on_event};
	return &n->observer;
}

void pcapng_close(struct pcapng *p)
{
	mapfile_close(&p->file);
}
