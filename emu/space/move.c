// SPDX-License-Identifier: BSD-3-Clause
#include "emu/space/move.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "emu/space/space.h"

/*
 * A word that the program polls or rings: one access, never torn. Release and acquire, because what
 * was written before it must be seen by whoever sees it (CQE body before its last dword, WQE before
 * doorbell record).
 */
static void move_word4(void *dst, const void *src, bool to_space)
{
	uint32_t v;

	if (to_space) {
		memcpy(&v, src, sizeof(v));
		__atomic_store_n((uint32_t *)dst, v, __ATOMIC_RELEASE);
	} else {
		v = __atomic_load_n((const uint32_t *)src, __ATOMIC_ACQUIRE);
		memcpy(dst, &v, sizeof(v));
	}
}

static void move_word8(void *dst, const void *src, bool to_space)
{
	uint64_t v;

	if (to_space) {
		memcpy(&v, src, sizeof(v));
		__atomic_store_n((uint64_t *)dst, v, __ATOMIC_RELEASE);
	} else {
		v = __atomic_load_n((const uint64_t *)src, __ATOMIC_ACQUIRE);
		memcpy(dst, &v, sizeof(v));
	}
}

static void move_segs(void *arg)
{
	const struct nm_dma *dma = arg;
	uint8_t *local = dma->local;

	for (uint32_t i = 0; i < dma->nsegs; i++) {
		uint64_t addr = dma->segs[i].addr, len = dma->segs[i].len;
		void *mem = (void *)(uintptr_t)addr;
		void *dst = dma->to_space ? mem : local;
		const void *src = dma->to_space ? local : mem;

		if (len == 4 && addr % 4 == 0)
			move_word4(dst, src, dma->to_space);
		else if (len == 8 && addr % 8 == 0)
			move_word8(dst, src, dma->to_space);
		else
			memcpy(dst, src, len);
		/* Write segments become visible in order, also where the next one is a memcpy. */
		if (dma->to_space && i + 1 < dma->nsegs)
			atomic_thread_fence(memory_order_release);
		local += len;
	}
}

int space_move(const struct nm_dma *dma)
{
	uint64_t sum = 0;

	if (dma->nsegs > NM_DMA_MAX_SEGS)
		return -EINVAL;
	for (uint32_t i = 0; i < dma->nsegs; i++) {
		const struct nm_seg *seg = &dma->segs[i];

		if (seg->len > dma->len - sum)
			return -EINVAL;
		if (seg->len && seg->addr + seg->len < seg->addr)
			return -EFAULT;
		sum += seg->len;
	}
	if (sum != dma->len)
		return -EINVAL;
	return space_guarded(move_segs, (void *)(uintptr_t)dma);
}
