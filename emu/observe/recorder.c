// SPDX-License-Identifier: BSD-3-Clause
#include "emu/observe/recorder.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/space/space.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian");

enum { TEXT_MAX = 65536 };

struct blob {
	const void *p;
	uint32_t len;
};

/* A record before it is in the file. */
struct draft {
	struct rec_head head;
	const void *body;
	uint32_t fixed;
	unsigned int nblobs;
	struct blob blobs[REC_BLOBS];
	const struct nm_packet *packet; /* whose payload is the last blob, if not NULL */
	uint8_t *to;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint32_t thread_id(void)
{
	static _Thread_local __attribute__((tls_model("initial-exec"))) pid_t tid;

	if (!tid)
		tid = gettid();
	return (uint32_t)tid;
}

static uint32_t keep(uint64_t len, uint32_t max)
{
	return len < max ? (uint32_t)len : max;
}

static void put_payload(uint8_t *to, const struct nm_packet *pkt, uint32_t len)
{
	for (unsigned int i = 0; i < pkt->niov && len; i++) {
		uint32_t n = keep(pkt->payload[i].iov_len, len);

		memcpy(to, pkt->payload[i].iov_base, n);
		to += n;
		len -= n;
	}
}

/*
 * Under the guard: the payload may be memory that the program has unmapped, and the file may have
 * been cut by somebody. The length, stored last, makes it a record.
 */
static void write_draft(void *arg)
{
	const struct draft *d = arg;
	uint8_t *p = d->to + sizeof(d->head);

	memcpy(d->to + sizeof(d->head.len), (const uint8_t *)&d->head + sizeof(d->head.len),
	       sizeof(d->head) - sizeof(d->head.len));
	memcpy(p, d->body, d->fixed);
	p += d->fixed;
	for (unsigned int i = 0; i < d->nblobs; i++) {
		if (d->packet && i + 1 == d->nblobs)
			put_payload(p, d->packet, d->blobs[i].len);
		else if (d->blobs[i].len)
			memcpy(p, d->blobs[i].p, d->blobs[i].len);
		p += d->blobs[i].len;
	}
	atomic_signal_fence(memory_order_seq_cst);
	*(volatile uint32_t *)(void *)d->to = d->head.len;
}

/* 0; -EFAULT: a payload or the file is not there; -ENOSPC: the file has ended. */
static int append(struct recorder *r, struct draft *d)
{
	uint32_t len = (uint32_t)sizeof(d->head) + d->fixed;

	for (unsigned int i = 0; i < d->nblobs; i++)
		len += d->blobs[i].len;
	d->head.len = (len + REC_ALIGN - 1) & ~(uint32_t)(REC_ALIGN - 1);
	d->to = mapfile_reserve(&r->file, d->head.len);
	if (!d->to)
		return -ENOSPC;
	if (space_guarded(write_draft, d))
		return -EFAULT;
	r->tx_at = d->head.kind == REC_TX ? r->file.pos : UINT64_MAX;
	mapfile_commit(&r->file, d->head.len);
	r->events++;
	return 0;
}

static void append_or_end(struct recorder *r, struct draft *d)
{
	if (append(r, d) == -EFAULT && !r->file.why[0])
		snprintf(r->file.why, sizeof(r->file.why),
			 "%s: it was cut while it was written: the recording ends there",
			 r->file.path);
}

/* ---- one function a kind of event ---- */

static void on_command(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	const char *why = ev->why ? ev->why : "";
	struct rec_command c = {
		.opcode = ev->command.opcode,
		.uid = ev->command.uid,
		.status = ev->command.status,
		.syndrome = ev->command.syndrome,
		.in_len = (uint32_t)ev->command.in_len,
		.out_len = (uint32_t)ev->command.out_len,
		.in_kept = keep(ev->command.in_len, REC_MAILBOX_MAX),
		.out_kept = keep(ev->command.out_len, REC_MAILBOX_MAX),
		.why_len = keep(strlen(why), NM_WHY_MAX),
	};

	d->head.kind = REC_COMMAND;
	d->body = &c;
	d->fixed = sizeof(c);
	d->nblobs = 3;
	d->blobs[0] = (struct blob){ev->command.in, c.in_kept};
	d->blobs[1] = (struct blob){ev->command.out, c.out_kept};
	d->blobs[2] = (struct blob){why, c.why_len};
	append_or_end(r, d);
}

static void on_doorbell(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	struct rec_doorbell b = {.uar_page = ev->doorbell.uar_page,
				 .offset = ev->doorbell.offset,
				 .value = ev->doorbell.value,
				 .fate = ev->verdict};

	d->head.kind = REC_DOORBELL;
	d->body = &b;
	d->fixed = sizeof(b);
	append_or_end(r, d);
}

struct record_read {
	const void *from;
	uint32_t word;
};

static void read_word(void *arg)
{
	struct record_read *rr = arg;

	memcpy(&rr->word, rr->from, sizeof(rr->word));
}

/* Only looks at doorbell records: what else is moved shows in packets, WQEs and CQEs. */
static void on_dma(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	const struct nm_dma *dma = ev->dma.dma;
	struct rec_dbr b = {.addr = dma->segs[0].addr};
	struct record_read rr = {0};

	if (dma->purpose != NM_DMA_DBR)
		return;
	rr.from = ev->dma.space->ops->map(ev->dma.space, b.addr, sizeof(rr.word), false);
	if (rr.from && !space_guarded(read_word, &rr)) {
		b.value = __builtin_bswap32(rr.word);
		b.known = 1;
	}
	d->head.kind = REC_DBR;
	d->body = &b;
	d->fixed = sizeof(b);
	append_or_end(r, d);
}

static void on_fetch(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	struct rec_fetch f = {.wqe_idx = ev->fetch.wqe_idx,
			      .receive = ev->fetch.receive,
			      .slot = ev->fetch.slot,
			      .len = (uint32_t)ev->fetch.len,
			      .kept = keep(ev->fetch.len, REC_WQE_MAX)};

	d->head.kind = REC_FETCH;
	d->body = &f;
	d->fixed = sizeof(f);
	d->nblobs = 1;
	d->blobs[0] = (struct blob){ev->fetch.wqe, f.kept};
	append_or_end(r, d);
}

static void on_packet(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	const struct nm_packet *pkt = ev->packet;
	const struct nm_route *route = &pkt->route;
	struct rec_packet p = {
		.udp_sport = route->udp_sport,
		.slid = route->slid,
		.dlid = route->dlid,
		.tclass = route->tclass,
		.hop_limit = route->hop_limit,
		.flow_label = route->flow_label,
		.fate = ev->verdict,
		.payload_len = pkt->payload_len,
		.hdr_len = keep(pkt->hdr_len, NM_PKT_HDR_MAX),
		.payload_kept = keep(pkt->payload_len, r->payload_max),
	};

	memcpy(p.sgid, route->sgid, 16);
	memcpy(p.dgid, route->dgid, 16);
	d->head.kind = ev->kind == NM_EV_TX ? REC_TX : REC_RX;
	d->body = &p;
	d->fixed = sizeof(p);
	d->nblobs = 2;
	d->blobs[0] = (struct blob){pkt->hdr, p.hdr_len};
	d->blobs[1] = (struct blob){NULL, p.payload_kept};
	d->packet = pkt;
	if (append(r, d) != -EFAULT)
		return;
	p.gone = 1;
	p.payload_kept = 0;
	d->blobs[1].len = 0;
	append_or_end(r, d);
}

struct clearing {
	void *at;
	size_t len;
};

static void clear(void *arg)
{
	const struct clearing *c = arg;

	memset(c->at, 0, c->len);
}

/* It was not sent after all: as if it had not been seen. */
static void on_unsent(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	struct clearing c = {.len = r->file.pos - r->tx_at};

	(void)d;
	(void)ev;
	if (r->tx_at == UINT64_MAX)
		return;
	c.at = mapfile_rewind(&r->file, c.len);
	(void)space_guarded(clear, &c); /* a file that was cut is noticed at the next record */
	r->tx_at = UINT64_MAX;
	r->events--;
}

static void on_cqe(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	struct rec_cqe c = {.cqn = ev->cqe.cqn, .index = ev->cqe.index, .fate = ev->verdict};

	memcpy(c.cqe, ev->cqe.cqe, sizeof(c.cqe));
	d->head.kind = REC_CQE;
	d->body = &c;
	d->fixed = sizeof(c);
	append_or_end(r, d);
}

static void on_eqe(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	struct rec_eqe e = {.eqn = ev->eqe.eqn, .fate = ev->verdict};

	memcpy(e.eqe, ev->eqe.eqe, sizeof(e.eqe));
	d->head.kind = REC_EQE;
	d->body = &e;
	d->fixed = sizeof(e);
	append_or_end(r, d);
}

static void on_state(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	struct rec_state s = {.from = ev->state.from, .to = ev->state.to};

	d->head.kind = REC_STATE;
	d->body = &s;
	d->fixed = sizeof(s);
	append_or_end(r, d);
}

static void on_diagnosis(struct recorder *r, struct draft *d, const struct nm_event *ev)
{
	const char *why = ev->why ? ev->why : "";
	struct rec_diagnosis g = {.len = keep(strlen(why), NM_WHY_MAX)};

	d->head.kind = REC_DIAGNOSIS;
	d->body = &g;
	d->fixed = sizeof(g);
	d->nblobs = 1;
	d->blobs[0] = (struct blob){why, g.len};
	append_or_end(r, d);
}

static void (*const handlers[NM_EV_KINDS])(struct recorder *r, struct draft *d,
					   const struct nm_event *ev) = {
	[NM_EV_COMMAND] = on_command,
	[NM_EV_DOORBELL] = on_doorbell,
	[NM_EV_FETCH] = on_fetch,
	[NM_EV_DMA] = on_dma,
	[NM_EV_TX] = on_packet,
	[NM_EV_UNSENT] = on_unsent,
	[NM_EV_RX] = on_packet,
	[NM_EV_CQE] = on_cqe,
	[NM_EV_EQE] = on_eqe,
	[NM_EV_STATE] = on_state,
	[NM_EV_DIAGNOSIS] = on_diagnosis,
};

static void on_event(void *ctx, const struct nm_event *ev)
{
	struct recorder_nic *n = ctx;
	struct draft d = {.head = {.nic = n->index,
				   .time_ns = ev->time_ns,
				   .tid = thread_id(),
				   .qpn = ev->qpn}};

	if (handlers[ev->kind])
		handlers[ev->kind](n->recorder, &d, ev);
}

/* ---- the run ---- */

int recorder_open(struct recorder *r, const char *pattern, uint32_t payload_max)
{
	const struct rec_file_header h = {
		.magic = REC_MAGIC,
		.order = REC_ORDER,
		.version = REC_VERSION,
		.len = sizeof(h),
		.realtime_ns = now_ns(CLOCK_REALTIME),
		.monotonic_ns = now_ns(CLOCK_MONOTONIC),
		.pid = (uint32_t)getpid(),
	};
	void *to;
	int ret;

	memset(r, 0, sizeof(*r));
	r->tx_at = UINT64_MAX;
	r->payload_max = payload_max < NM_MTU_MAX ? payload_max : NM_MTU_MAX;
	ret = mapfile_open(&r->file, pattern);
	if (ret)
		return ret;
	to = mapfile_reserve(&r->file, sizeof(h));
	if (!to)
		return -ENOSPC;
	memcpy(to, &h, sizeof(h));
	mapfile_commit(&r->file, sizeof(h));
	return 0;
}

void recorder_text(struct recorder *r, const char *key, const char *value)
{
	struct rec_text t = {.key_len = keep(strlen(key), TEXT_MAX),
			     .value_len = keep(strlen(value), TEXT_MAX)};
	struct draft d = {
		.head = {.kind = REC_TEXT, .time_ns = now_ns(CLOCK_MONOTONIC), .tid = thread_id()},
		.body = &t,
		.fixed = sizeof(t),
		.nblobs = 2,
		.blobs = {{key, t.key_len}, {value, t.value_len}},
	};

	append_or_end(r, &d);
}

enum { BUILD_ID_MAX = 64, NT_GNU_BUILD_ID_ = 3 };

/* Hex of the build-id note in one segment of notes (elf(5)); "" if it has none. */
static void find_build_id(const uint8_t *p, size_t len, char hex[2 * BUILD_ID_MAX + 1])
{
	while (len >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		size_t name, desc;

		memcpy(&note, p, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > len - sizeof(note) || desc > len - sizeof(note) - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID_ && note.n_namesz == 4 &&
		    !memcmp(p + sizeof(note), "GNU", 4) && note.n_descsz <= BUILD_ID_MAX) {
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(hex + 2 * i, 3, "%02x", p[sizeof(note) + name + i]);
			return;
		}
		p += sizeof(note) + name + desc;
		len -= sizeof(note) + name + desc;
	}
}

struct library_walk {
	struct recorder *r;
	uint64_t loads;
};

static int on_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library_walk *walk = arg;
	char value[PATH_MAX + 2 * BUILD_ID_MAX + 8], hex[2 * BUILD_ID_MAX + 1] = "";
	char self[PATH_MAX] = "";
	const char *path = info->dlpi_name;

	(void)size;
	walk->loads = info->dlpi_adds;
	if (walk->loads == walk->r->libraries)
		return 1;
	if (!path || !*path) {
		ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

		self[n > 0 ? n : 0] = '\0';
		path = self;
	}
	for (unsigned int i = 0; i < info->dlpi_phnum && !hex[0]; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			find_build_id((const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
				      info->dlpi_phdr[i].p_memsz, hex);
	snprintf(value, sizeof(value), "%s %s", path, hex[0] ? hex : "-");
	recorder_text(walk->r, "library", value);
	return 0;
}

void recorder_libraries(struct recorder *r)
{
	struct library_walk walk = {.r = r};

	dl_iterate_phdr(on_library, &walk);
	r->libraries = walk.loads;
}

struct nm_observer *recorder_add(struct recorder *r, const struct nm_config *config,
				 const uint8_t gid[16])
{
	struct recorder_nic *n = &r->nic[r->nnics];
	struct rec_nic b = {
		.node_guid = config->node_guid,
		.device_id = config->device_id,
		.lid = config->lid,
		.ethernet = config->link_is_ethernet,
		.port_mtu = config->port_mtu,
		.qpn_prefix = config->qpn_prefix,
	};
	struct draft d = {.head = {.kind = REC_NIC,
				   .nic = (uint16_t)r->nnics,
				   .time_ns = now_ns(CLOCK_MONOTONIC),
				   .tid = thread_id()},
			  .body = &b,
			  .fixed = sizeof(b)};

	if (r->nnics == RECORDER_NICS)
		return NULL;
	snprintf(b.name, sizeof(b.name), "%s", config->name ? config->name : "");
	memcpy(b.gid, gid, sizeof(b.gid));
	memcpy(b.mac, config->mac, sizeof(b.mac));
	append_or_end(r, &d);
	*n = (struct recorder_nic){.recorder = r, .index = (uint16_t)r->nnics++};
	n->observer.ctx = n;
	n->observer.event = on_event;
	for (unsigned int kind = 0; kind < NM_EV_KINDS; kind++)
		n->observer.mask |= handlers[kind] ? 1u << kind : 0;
	return &n->observer;
}

void recorder_close(struct recorder *r)
{
	struct rec_end e = {.events = r->events};
	struct draft d = {
		.head = {.kind = REC_END, .time_ns = now_ns(CLOCK_MONOTONIC), .tid = thread_id()},
		.body = &e,
		.fixed = sizeof(e)};

	append_or_end(r, &d);
	mapfile_close(&r->file);
}
