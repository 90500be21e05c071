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
#include <sys/uio.h>
#include <unistd.h>

#include "emu/uverbs/uv.h"

enum { PAGE_SHIFT = 12, PAGES_SHIFT_MAX = 31 };

/*
 * The kernel copies, so a wrong address is EFAULT and not SIGSEGV. Where a container forbids
 * process_vm_*() even on oneself, trust the program as a plain library would.
 */
static int copy(void *local, uint64_t remote, size_t len, bool out)
{
	struct iovec l = {local, len}, r = {(void *)(uintptr_t)remote, len};
	ssize_t n;

	if (!len)
		return 0;
	n = out ? process_vm_writev(getpid(), &l, 1, &r, 1, 0)
		: process_vm_readv(getpid(), &l, 1, &r, 1, 0);
	if (n == (ssize_t)len)
		return 0;
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		if (!remote)
			return -EFAULT;
		memcpy(out ? r.iov_base : local, out ? local : r.iov_base, len);
		return 0;
	}
	return -EFAULT;
}

int uv_copy_in(void *dst, uint64_t src, size_t len)
{
	return copy(dst, src, len, false);
}

int uv_copy_out(uint64_t dst, const void *src, size_t len)
{
	return copy((void *)(uintptr_t)src, dst, len, true);
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
