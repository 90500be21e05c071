// SPDX-License-Identifier: BSD-3-Clause
/* Memory of a guest: a window of address space in which each byte of it has its own place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "emu/space/move.h"
#include "emu/space/space.h"

enum { GUEST_PAGE = 4096 };

struct range {
	uint64_t addr, len;
	bool mapped; /* else it came without a file: it is known, and has no bytes */
};

struct guest_space {
	struct nm_space space;
	uint8_t *base; /* SPACE_GUEST_BYTES of address space; no access where nothing is mapped */
	struct range ranges[SPACE_GUEST_RANGES];
	uint32_t nranges;
};

static bool inside(uint64_t addr, uint64_t len)
{
	return addr <= SPACE_GUEST_BYTES && len <= SPACE_GUEST_BYTES - addr;
}

/* What is not mapped faults when it is touched, which the guard turns into -EFAULT. */
static void *guest_map(struct nm_space *space, uint64_t addr, uint64_t len, bool write)
{
	(void)write;
	return inside(addr, len) ? ((struct guest_space *)space)->base + addr : NULL;
}

static int guest_submit(struct nm_space *space, struct nm_dma *dma)
{
	struct guest_space *g = (struct guest_space *)space;
	struct nm_dma here = *dma;

	if (dma->nsegs > NM_DMA_MAX_SEGS)
		return -EINVAL;
	for (uint32_t i = 0; i < dma->nsegs; i++) {
		if (!inside(dma->segs[i].addr, dma->segs[i].len))
			return -EFAULT;
		here.segs[i].addr += (uintptr_t)g->base;
	}
	return space_move(&here);
}

/* Nothing is ever under way. */
static int guest_poll(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
	return -EINVAL;
}

static void guest_cancel(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
}

static const struct nm_space_ops guest_ops = {
	.map = guest_map,
	.copy = space_guarded_copy,
	.guarded = space_guarded,
	.submit = guest_submit,
	.poll = guest_poll,
	.cancel = guest_cancel,
};

static void *reserve(void *at, uint64_t len)
{
	return mmap(at, len, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

struct nm_space *space_guest_create(void)
{
	struct guest_space *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->space = (struct nm_space){.ops = &guest_ops, .name = "guest"};
	g->base = reserve(NULL, SPACE_GUEST_BYTES);
	if (g->base == MAP_FAILED) {
		free(g);
		return NULL;
	}
	return &g->space;
}

void space_guest_destroy(struct nm_space *space)
{
	struct guest_space *g = (struct guest_space *)space;

	if (!g)
		return;
	munmap(g->base, SPACE_GUEST_BYTES);
	free(g);
}

static bool page_aligned(uint64_t v)
{
	return v % GUEST_PAGE == 0;
}

static bool overlaps(const struct range *r, uint64_t addr, uint64_t len)
{
	return addr < r->addr + r->len && r->addr < addr + len;
}

/* Does the file have these bytes? What it loses later the guard meets. */
static bool file_has(int fd, uint64_t off, uint64_t len)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 &&
	       off <= (uint64_t)st.st_size && len <= (uint64_t)st.st_size - off;
}

int space_guest_map(struct nm_space *space, uint64_t addr, uint64_t len, int fd, uint64_t off,
		    bool write)
{
	struct guest_space *g = (struct guest_space *)space;
	int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;

	if (!len || addr + len < addr || !page_aligned(addr | len | off))
		return -EINVAL;
	if (fd >= 0 && !inside(addr, len))
		return -ENOSPC;
	for (uint32_t i = 0; i < g->nranges; i++) {
		if (overlaps(&g->ranges[i], addr, len))
			return -EEXIST;
	}
	if (g->nranges == SPACE_GUEST_RANGES)
		return -ENOSPC;
	if (fd >= 0) {
		if (!file_has(fd, off, len))
			return -EINVAL;
		if (mmap(g->base + addr, len, prot, MAP_SHARED | MAP_FIXED, fd, (off_t)off) ==
		    MAP_FAILED) {
			int err = errno;

			reserve(g->base + addr, len);
			return -err;
		}
	}
	g->ranges[g->nranges++] = (struct range){.addr = addr, .len = len, .mapped = fd >= 0};
	return 0;
}

static void forget(struct guest_space *g, uint32_t i)
{
	const struct range r = g->ranges[i];

	g->ranges[i] = g->ranges[--g->nranges];
	if (r.mapped)
		reserve(g->base + r.addr, r.len);
}

int space_guest_unmap(struct nm_space *space, uint64_t addr, uint64_t len)
{
	struct guest_space *g = (struct guest_space *)space;

	for (uint32_t i = 0; i < g->nranges; i++) {
		if (g->ranges[i].addr != addr || g->ranges[i].len != len)
			continue;
		forget(g, i);
		return 0;
	}
	return -ENOENT;
}

void space_guest_unmap_all(struct nm_space *space)
{
	struct guest_space *g = (struct guest_space *)space;

	while (g->nranges)
		forget(g, g->nranges - 1);
}

int space_guest_copy(struct nm_space *space, uint64_t addr, void *local, uint64_t len,
		     bool to_guest)
{
	struct guest_space *g = (struct guest_space *)space;

	if (!inside(addr, len))
		return -EFAULT;
	return to_guest ? space_guarded_copy(g->base + addr, local, len)
			: space_guarded_copy(local, g->base + addr, len);
}
