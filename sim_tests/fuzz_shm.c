// SPDX-License-Identifier: BSD-3-Clause
/*
 * A hostile peer in shared memory: it writes what it likes into both rings, at any moment. Whatever
 * it does, packets that are taken point into the ring (or name places of the peer), have lengths
 * that agree, and what we send stays inside of ours.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/link/shm_ring.h"
#include "emu/nicmodel/roce_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct shm_ring in, out;
static const uint8_t *script;
static size_t left;

static uint64_t next(unsigned int bytes)
{
	uint64_t v = 0;
	size_t n = bytes < left ? bytes : left;

	memcpy(&v, script, n);
	script += n;
	left -= n;
	return v;
}

/* Bytes of the script over what lies at the cursor: the peer, while we work. */
static void scribble(struct shm_ring *ring)
{
	uint32_t at = (uint32_t)next(1) * 8, n = (uint32_t)next(1);

	if (n > left)
		n = (uint32_t)left;
	memcpy(ring->entries + (ring->pos & (SHM_RING_BYTES - 1)) + at, script, n);
	script += n;
	left -= n;
}

static void look_at(const struct nm_packet *pkt, const struct shm_told *told)
{
	static uint8_t copy[NM_TRAIN_MAX];
	struct nm_packet one;
	size_t sum = 0;

	assert(pkt->hdr_len == NM_ROCE_BTH_LEN + nm_roce_ext_len(pkt->hdr[0]));
	for (unsigned int i = 0; i < pkt->niov; i++) {
		const uint8_t *base = pkt->payload[i].iov_base;
		size_t len = pkt->payload[i].iov_len;

		sum += len;
		assert(sum <= NM_TRAIN_MAX);
		if (told->pulls)
			continue;
		assert(base >= in.entries && base + len <= in.entries + 2 * SHM_RING_BYTES);
		memcpy(copy, base, len);
	}
	assert(sum == pkt->payload_len);
	assert((uint64_t)told->piped[0] + told->piped[1] <= (told->pulls ? sum : 0));
	assert(pkt->segs > 1 ? nm_train_ok(pkt) : pkt->payload_len <= NM_MTU_MAX);
	for (uint32_t i = 0; i < pkt->segs; i++) {
		assert(nm_train_segment(pkt, i, &one));
		assert(one.payload_len && one.payload_len <= pkt->seg_len);
	}
	(void)nm_roce_bytes(pkt);
}

static void consume(void)
{
	struct nm_packet pkt;
	struct shm_told told = {0};
	const char *why = NULL;
	int len;

	atomic_store(&in.head->head, in.pos + (next(3) & ~UINT64_C(7)));
	for (int i = 0; i < 64; i++) {
		scribble(&in);
		len = shm_ring_next(&in, &pkt, &told, &why);
		if (len < 0)
			assert(why && in.broken);
		if (len <= 0)
			break;
		assert((uint32_t)len <= SHM_RING_BYTES && len % 8 == 0);
		scribble(&in); /* what was taken is a snapshot */
		look_at(&pkt, &told);
		shm_ring_took(&in, (uint32_t)len);
	}
	shm_ring_give_back(&in);
	in.broken = false;
}

static void produce(void)
{
	static uint8_t payload[NM_TRAIN_MAX];
	uint32_t len = (uint32_t)next(2);
	struct nm_packet pkt = {.hdr = {0x0a},
				.hdr_len = 28,
				.payload_len = len,
				.niov = 1,
				.payload = {{payload, len}}};
	uint64_t before = out.pos;
	struct shm_told told = {.pulls = next(1) & 1};
	int rc;

	if (told.pulls)
		told.piped[0] = (uint32_t)next(1);
	if (next(1) & 1)
		atomic_store(&out.head->tail, next(1) & 1 ? out.pos - next(3) : next(8));
	rc = shm_ring_put(&out, &pkt, &told, NULL);
	assert(rc == 0 || rc == -EAGAIN || rc == -EPROTO);
	assert(rc == 0 ? out.pos > before && out.pos - before < SHM_RING_BYTES : out.pos == before);
	if (rc == -EPROTO) {
		out.broken = false;
		out.limit = out.pos + SHM_RING_BYTES;
	}
	shm_ring_show(&out);
}

static void open_ring(struct shm_ring *ring)
{
	int fd = shm_ring_create();

	assert(fd >= 0);
	if (shm_ring_map(ring, fd))
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!in.head) {
		open_ring(&in);
		open_ring(&out);
	}
	script = data;
	left = size;
	/* Every input meets the same rings, some of them close to the end of the memory. */
	in.pos = in.shown = SHM_RING_BYTES - next(2) * 8 % SHM_RING_BYTES;
	out.pos = out.shown = in.pos;
	out.limit = out.pos + SHM_RING_BYTES;
	while (left)
		next(1) & 1 ? consume() : produce();
	return 0;
}
