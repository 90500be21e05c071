// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory of the program, which is our own: addresses come from it and may be wrong, so nothing here
 * dereferences one before it has been checked.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/space/space.h"
#include "emu/uverbs/uv.h"

enum { PAGE_SHIFT = 12, PAGES_SHIFT_MAX = 31, PROBE_PAGES = 16 };

/* A wrong address is EFAULT and not SIGSEGV, as if a kernel copied; under the guard, because a
 * system call for each attribute would be most of what a verb costs. */
int uv_copy_in(void *dst, uint64_t src, size_t len)
{
	if (!len)
		return 0;
	return src ? space_guarded_copy(dst, (const void *)(uintptr_t)src, len) : -EFAULT;
}

int uv_copy_out(uint64_t dst, const void *src, size_t len)
{
	if (!len)
		return 0;
	return dst ? space_guarded_copy((void *)(uintptr_t)dst, src, len) : -EFAULT;
}

/* ---- is it mapped? ---- */

struct probe {
	uint64_t addr, end;
	bool write;
};

/* Touches each page as pinning it would; a write that changes nothing. */
static NM_MAY_FAULT void probe_fn(void *arg)
{
	const struct probe *p = arg;

	for (uint64_t at = p->addr; at < p->end; at = (at | ((1 << PAGE_SHIFT) - 1)) + 1) {
		uint8_t *byte = (uint8_t *)(uintptr_t)at;

		if (p->write)
			__atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
		else
			(void)*(volatile uint8_t *)byte;
	}
}

/* True: all of it is there. False: it may be, the list of mappings knows. */
static bool probe_range(uint64_t addr, uint64_t len, bool write)
{
	struct probe p = {.addr = addr, .end = addr + len, .write = write};

	return len <= (uint64_t)PROBE_PAGES << PAGE_SHIFT && addr >= 1 << PAGE_SHIFT &&
	       space_guarded(probe_fn, &p) == 0;
}

/* A line of /proc/self/maps: "start-end rwxp ...". */
struct map_line {
	uint64_t start, end;
	char prot[5];
};

/*
 * Looks at one line. Returns 1 when the range is covered, 0 to go on, -EFAULT when it cannot be.
 * *at: what is covered so far.
 */
static int range_step(const struct map_line *m, uint64_t *at, uint64_t end, bool write)
{
	if (m->end <= *at)
		return 0;
	if (m->start > *at)
		return uv_refuse(EFAULT,
				 "memory at 0x%" PRIx64 " is not mapped (range ends at 0x%" PRIx64
				 ")",
				 *at, end);
	if (m->prot[0] != 'r' || (write && m->prot[1] != 'w'))
		return uv_refuse(EFAULT, "memory at 0x%" PRIx64 " is mapped '%s', wanted '%s'", *at,
				 m->prot, write ? "rw" : "r");
	*at = m->end;
	return *at >= end;
}

int uv_range_check(uint64_t addr, uint64_t len, bool write)
{
	struct map_line m;
	uint64_t at = addr;
	char *line = NULL;
	size_t cap = 0;
	int ret = 0;
	FILE *f;

	if (addr + len < addr)
		return uv_refuse(EINVAL, "range 0x%" PRIx64 " length 0x%" PRIx64 " wraps", addr,
				 len);
	if (probe_range(addr, len, write))
		return 0;
	f = fopen("/proc/self/maps", "re");
	if (!f)
		return 0; /* no /proc: the NIC will find out at the first access */
	while (!ret && getline(&line, &cap, f) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &m.start, &m.end, m.prot) == 3)
			ret = range_step(&m, &at, addr + len, write);
	if (!ret)
		ret = uv_refuse(EFAULT, "memory at 0x%" PRIx64 " is not mapped", at);
	free(line);
	fclose(f);
	return ret < 0 ? ret : 0;
}

struct uv_pages uv_pages_of(uint64_t addr, uint64_t len, uint64_t same, unsigned int offset_bits)
{
	struct uv_pages best = {0};

	for (unsigned int shift = PAGE_SHIFT; shift <= PAGES_SHIFT_MAX; shift++) {
		uint64_t mask = (UINT64_C(1) << shift) - 1;
		uint64_t offset = addr & mask;
		struct uv_pages p = {(uint8_t)shift, addr - offset, offset,
				     ((addr & mask) + len + mask) >> shift};

		/* Larger pages only make the conditions harder to meet. */
		if (shift > PAGE_SHIFT) {
			if (((addr ^ same) & mask) || !p.first)
				break;
			if (offset_bits < shift &&
			    (offset & ((UINT64_C(1) << (shift - offset_bits)) - 1)))
				break;
		}
		best = p;
		if (p.count == 1)
			break;
	}
	return best;
}

void uv_pages_fill(const struct uv_pages *pages, void *pas)
{
	for (uint64_t i = 0; i < pages->count; i++)
		prm_store64((uint8_t *)pas + 8 * i, pages->first + (i << pages->shift));
}
