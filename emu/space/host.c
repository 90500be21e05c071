// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>

#include "emu/space/move.h"
#include "emu/space/space.h"

static void *host_map(struct nm_space *space, uint64_t addr, uint64_t len, bool write)
{
	(void)space;
	(void)write;
	if (addr == 0 || addr + len < addr)
		return NULL;
	return (void *)(uintptr_t)addr;
}

static int host_submit(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	return space_move(dma);
}

/* Nothing is ever under way. */
static int host_poll(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
	return -EINVAL;
}

static void host_cancel(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
}

static const struct nm_space_ops host_ops = {
	.map = host_map,
	.copy = space_guarded_copy,
	.guarded = space_guarded,
	.submit = host_submit,
	.poll = host_poll,
	.cancel = host_cancel,
};

struct nm_space *space_host(void)
{
	static struct nm_space host = {.ops = &host_ops, .name = "host"};

	return &host;
}
