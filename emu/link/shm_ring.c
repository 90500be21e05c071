// SPDX-License-Identifier: BSD-3-Clause
#include "emu/link/shm_ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "emu/fds/size.h"
#include "emu/nicmodel/roce_wire.h"

/* What the field of the flow label holds besides: InfiniBand's service level, and that there was no
 * GRH. */
#define SHM_NO_GRH 0x80000000u
enum { SHM_FLOW_LABEL = 0xfffff, SHM_SL_SHIFT = 24, SHM_SL = 0xf };
enum { SHM_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static_assert(sizeof(struct shm_ring_head) <= SHM_RING_HEAD, "");
static_assert(sizeof(struct shm_entry) == 24, "part of the format");
static_assert(sizeof(struct shm_place) == 16, "part of the format");
static_assert((SHM_RING_BYTES & (SHM_RING_BYTES - 1)) == 0, "positions are masked");
static_assert(SHM_RING_BYTES >= 4 * NM_TRAIN_MAX, "a ring holds several trains");

static uint32_t pad8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* ---- memory ---- */

int shm_ring_create(void)
{
	int fd = memfd_create("gdakit-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	if (!fds_set_size(fd, SHM_RING_HEAD + SHM_RING_BYTES) && !fcntl(fd, F_ADD_SEALS, SHM_SEALS))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* A file of another kind, or of a changing size, would turn an access into a SIGBUS. */
static bool is_sound(int fd)
{
	struct statfs fs;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 &&
	       (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW) &&
	       !fstat(fd, &st) && st.st_size == SHM_RING_HEAD + SHM_RING_BYTES &&
	       !fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC;
}

/* The entries twice, one after the other: none ever wraps. */
int shm_ring_map(struct shm_ring *ring, int fd)
{
	size_t all = SHM_RING_HEAD + 2 * SHM_RING_BYTES;
	uint8_t *base;

	if (!is_sound(fd))
		return -EPROTO;
	base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	if (mmap(base, SHM_RING_HEAD + SHM_RING_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(base + SHM_RING_HEAD + SHM_RING_BYTES, SHM_RING_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, SHM_RING_HEAD) == MAP_FAILED) {
		int err = -errno;

		munmap(base, all);
		return err;
	}
	*ring = (struct shm_ring){.head = (struct shm_ring_head *)(void *)base,
				  .entries = base + SHM_RING_HEAD,
				  .limit = SHM_RING_BYTES};
	return 0;
}

void shm_ring_unmap(struct shm_ring *ring)
{
	if (ring->head)
		munmap(ring->head, SHM_RING_HEAD + 2 * SHM_RING_BYTES);
	ring->head = NULL;
}

static bool in_pipes(const struct shm_told *told)
{
	return told->pulls && (told->piped[0] || told->piped[1]);
}

/* ---- producer ---- */

static bool has_room(struct shm_ring *ring, uint32_t len)
{
	uint64_t tail;

	if (ring->pos + len <= ring->limit)
		return true;
	tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire);
	if (ring->pos - tail > SHM_RING_BYTES)
		ring->broken = true;
	else
		ring->limit = tail + SHM_RING_BYTES;
	return !ring->broken && ring->pos + len <= ring->limit;
}

/* Jumps to the begin of the memory. What follows has room there: nearly all of the lap is free. */
static void lap_early(struct shm_ring *ring)
{
	uint32_t at = (uint32_t)(ring->pos & (SHM_RING_BYTES - 1));
	struct shm_entry e = {.len = SHM_RING_BYTES - at};
	uint64_t tail;

	if (at < SHM_RING_LAP || e.len < sizeof(e))
		return;
	tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire);
	if (ring->pos - tail > SHM_RING_EMPTY)
		return;
	memcpy(ring->entries + at, &e, sizeof(e));
	ring->pos += e.len;
	ring->limit = tail + SHM_RING_BYTES;
}

bool shm_ring_has_room(struct shm_ring *ring)
{
	return has_room(ring, (uint32_t)sizeof(struct shm_entry) + NM_PKT_HDR_MAX +
				      NM_PKT_MAX_IOV * (uint32_t)sizeof(struct shm_place) +
				      (uint32_t)sizeof(((struct shm_told *)0)->piped));
}

struct gather_args {
	const struct nm_packet *pkt;
	uint8_t *to;
};

static void gather_fn(void *arg)
{
	const struct gather_args *a = arg;
	uint8_t *to = a->to;

	for (unsigned int i = 0; i < a->pkt->niov; i++) {
		memcpy(to, a->pkt->payload[i].iov_base, a->pkt->payload[i].iov_len);
		to += a->pkt->payload[i].iov_len;
	}
}

static void put_places(const struct nm_packet *pkt, const struct shm_told *told, uint8_t *to)
{
	for (unsigned int i = 0; i < pkt->niov; i++) {
		struct shm_place place = {.addr = (uintptr_t)pkt->payload[i].iov_base,
					  .len = pkt->payload[i].iov_len};

		memcpy(to + i * sizeof(place), &place, sizeof(place));
	}
	if (in_pipes(told))
		memcpy(to + pkt->niov * sizeof(struct shm_place), told->piped, sizeof(told->piped));
}

static uint32_t body_len(const struct nm_packet *pkt, const struct shm_told *told)
{
	if (!told->pulls)
		return pad8(pkt->payload_len);
	return pkt->niov * (uint32_t)sizeof(struct shm_place) +
	       (in_pipes(told) ? (uint32_t)sizeof(told->piped) : 0);
}

int shm_ring_put(struct shm_ring *ring, const struct nm_packet *pkt, const struct shm_told *told,
		 int (*guard)(void (*fn)(void *arg), void *arg))
{
	struct shm_entry e = {
		.len = (uint32_t)sizeof(e) + pad8(pkt->hdr_len) + body_len(pkt, told),
		.payload_len = pkt->payload_len,
		.flow_label = (pkt->route.flow_label & SHM_FLOW_LABEL) |
			      (uint32_t)(pkt->route.sl & SHM_SL) << SHM_SL_SHIFT |
			      (pkt->route.no_grh ? SHM_NO_GRH : 0),
		.segs = pkt->segs > 1 ? pkt->segs : 0,
		.seg_len = pkt->segs > 1 ? pkt->seg_len : 0,
		.udp_sport = pkt->route.udp_sport,
		.hdr_len = pkt->hdr_len,
		.pulls = told->pulls ? pkt->niov : 0,
		.piped = in_pipes(told),
		.tclass = pkt->route.tclass,
		.hop_limit = pkt->route.hop_limit,
	};
	struct gather_args args = {.pkt = pkt};
	uint8_t *to;

	lap_early(ring);
	to = ring->entries + (ring->pos & (SHM_RING_BYTES - 1));
	args.to = to + sizeof(e) + pad8(pkt->hdr_len);
	if (!has_room(ring, e.len))
		return ring->broken ? -EPROTO : -EAGAIN;
	memcpy(to, &e, sizeof(e));
	memcpy(to + sizeof(e), pkt->hdr, pkt->hdr_len);
	if (told->pulls) {
		put_places(pkt, told, args.to);
	} else if (pkt->payload_len && guard) {
		if (guard(gather_fn, &args))
			return -EFAULT;
	} else if (pkt->payload_len) {
		gather_fn(&args);
	}
	ring->pos += e.len;
	return 0;
}

bool shm_ring_show(struct shm_ring *ring)
{
	if (ring->shown == ring->pos)
		return false;
	ring->shown = ring->pos;
	atomic_store_explicit(&ring->head->head, ring->pos, memory_order_release);
	return true;
}

bool shm_ring_taken(const struct shm_ring *ring, uint64_t mark)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_relaxed);

	/* A tail beyond what was put is no cursor: it holds nobody up. */
	return mark > ring->pos || tail >= mark;
}

void shm_ring_void(struct shm_ring *ring)
{
	atomic_store(&ring->head->void_before, ring->pos);
}

/* ---- consumer ---- */

bool shm_ring_waits(const struct shm_ring *ring)
{
	return !ring->broken &&
	       atomic_load_explicit(&ring->head->head, memory_order_relaxed) != ring->pos;
}

bool shm_ring_is_void(const struct shm_ring *ring)
{
	/* What was pulled was read before this. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&ring->head->void_before) > ring->pos;
}

/* Once and for all: the producer may write to it again at any time. */
static void snapshot(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Requests whose payload the producer keeps until it is acknowledged: SEND and WRITE of RC and XRC.
 */
static bool may_pull(uint8_t opcode)
{
	uint8_t code = opcode & 0x1f, group = opcode & 0xe0;

	return (group == 0x00 || group == 0xa0) && (code <= 0x0b || code == 0x16 || code == 0x17);
}

static const char *take_piped(const struct shm_entry *e, const uint8_t *counts,
			      struct shm_told *told)
{
	snapshot(told->piped, counts, sizeof(told->piped));
	return (uint64_t)told->piped[0] + told->piped[1] <= e->payload_len
		       ? NULL
		       : "more in its pipes than a payload has";
}

static const char *take_payload(const struct shm_entry *e, uint8_t *body, uint32_t len,
				struct nm_packet *pkt, struct shm_told *told)
{
	uint32_t places = e->pulls * (uint32_t)sizeof(struct shm_place);
	uint64_t sum = 0;

	*told = (struct shm_told){.pulls = e->pulls > 0};
	if (e->piped > (e->pulls > 0))
		return "payload in pipes of which there are no places";
	if (!e->pulls) {
		if (len != pad8(e->payload_len))
			return "an entry's length differs from its payload's";
		pkt->niov = e->payload_len > 0;
		pkt->payload[0] = (struct iovec){.iov_base = body, .iov_len = e->payload_len};
		return NULL;
	}
	if (e->pulls > NM_PKT_MAX_IOV || len != places + (e->piped ? sizeof(told->piped) : 0))
		return "an entry's length differs from that of its places";
	if (!may_pull(pkt->hdr[0]))
		return "payload to be pulled in a packet whose payload may change";
	for (uint32_t i = 0; i < e->pulls; i++) {
		struct shm_place place;

		snapshot(&place, body + i * sizeof(place), sizeof(place));
		if (place.len > NM_TRAIN_MAX)
			return "a place is longer than any payload";
		pkt->payload[i] = (struct iovec){.iov_base = (void *)(uintptr_t)place.addr,
						 .iov_len = place.len};
		sum += place.len;
	}
	pkt->niov = e->pulls;
	if (sum != e->payload_len)
		return "the places add up to another length";
	return e->piped ? take_piped(e, body + places, told) : NULL;
}

static const char *take_entry(const struct shm_entry *e, uint8_t *at, struct nm_packet *pkt,
			      struct shm_told *told)
{
	uint32_t before = (uint32_t)sizeof(*e) + pad8(e->hdr_len);
	const char *wrong;

	if (e->hdr_len < NM_ROCE_BTH_LEN || e->hdr_len > NM_PKT_HDR_MAX || before > e->len)
		return "a header that is longer than its entry, or shorter than a BTH";
	if (e->payload_len > NM_TRAIN_MAX)
		return "payload longer than any train's";
	snapshot(pkt->hdr, at + sizeof(*e), e->hdr_len);
	if (e->hdr_len != NM_ROCE_BTH_LEN + nm_roce_ext_len(pkt->hdr[0]))
		return "a header whose length is not that of its opcode";
	pkt->hdr_len = e->hdr_len;
	pkt->payload_len = e->payload_len;
	pkt->segs = e->segs;
	pkt->seg_len = e->seg_len;
	pkt->stable = false;
	pkt->pull = NULL;
	pkt->pull_ctx = NULL;
	wrong = take_payload(e, at + before, e->len - before, pkt, told);
	if (wrong)
		return wrong;
	if (e->segs ? !nm_train_ok(pkt) : e->payload_len > NM_MTU_MAX)
		return "payload longer than any MTU, or not that of a train";
	memset(&pkt->route, 0, sizeof(pkt->route));
	pkt->route.tclass = e->tclass;
	pkt->route.hop_limit = e->hop_limit;
	pkt->route.flow_label = e->flow_label & SHM_FLOW_LABEL;
	pkt->route.sl = e->flow_label >> SHM_SL_SHIFT & SHM_SL;
	pkt->route.no_grh = (e->flow_label & SHM_NO_GRH) != 0;
	pkt->route.udp_sport = e->udp_sport;
	return NULL;
}

/* An entry that is all there: its length. 0: nothing is there. */
static int take_head(const struct shm_ring *ring, struct shm_entry *e)
{
	uint64_t head = atomic_load_explicit(&ring->head->head, memory_order_acquire);
	uint64_t have = head - ring->pos;

	if (have == 0)
		return 0;
	if (have > SHM_RING_BYTES || have < sizeof(*e))
		return -ERANGE;
	snapshot(e, ring->entries + (ring->pos & (SHM_RING_BYTES - 1)), sizeof(*e));
	return e->len >= sizeof(*e) && e->len % 8 == 0 && e->len <= have ? (int)e->len : -EPROTO;
}

static bool begins_again(const struct shm_ring *ring, const struct shm_entry *e)
{
	return e->hdr_len == 0 && ((ring->pos + e->len) & (SHM_RING_BYTES - 1)) == 0;
}

int shm_ring_next(struct shm_ring *ring, struct nm_packet *pkt, struct shm_told *told,
		  const char **why)
{
	struct shm_entry e;
	int len = ring->broken ? 0 : take_head(ring, &e);

	if (len > 0 && begins_again(ring, &e)) {
		ring->pos += e.len;
		len = take_head(ring, &e);
	}
	if (len == 0)
		return 0;
	if (len > 0)
		*why = take_entry(&e, ring->entries + (ring->pos & (SHM_RING_BYTES - 1)), pkt,
				  told);
	else
		*why = len == -ERANGE ? "the producer's cursor is impossible"
				      : "an entry that does not end where the producer's cursor is";
	if (!*why)
		return len;
	ring->broken = true;
	return -EPROTO;
}

void shm_ring_took(struct shm_ring *ring, uint32_t len)
{
	ring->pos += len;
}

void shm_ring_give_back(struct shm_ring *ring)
{
	if (ring->shown == ring->pos)
		return;
	ring->shown = ring->pos;
	atomic_store_explicit(&ring->head->tail, ring->pos, memory_order_release);
}
