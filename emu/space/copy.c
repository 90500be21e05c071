// SPDX-License-Identifier: BSD-3-Clause
/*
 * The copy-only space. A transfer needs no record of its own: what is known about it fits into
 * nm_dma.priv, as the polls still to come and the poll at which the bytes move.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/xorshift.h"
#include "emu/space/move.h"
#include "emu/space/space.h"

struct copy_space {
	struct nm_space space;
	struct space_copy_config config;
	uint32_t rng;
	uint32_t pending;
};

/* nm_dma.priv of a transfer under way: never NULL. */
enum {
	COPY_LEFT_SHIFT = 0,  /* polls until it completes, 1.. */
	COPY_MOVE_SHIFT = 14, /* `left` at which the bytes move */
	COPY_BUSY_SHIFT = 28,
	COPY_FIELD_MASK = (1 << 14) - 1,
	COPY_MAX_POLLS = COPY_FIELD_MASK,
};

static struct copy_space *to_copy(struct nm_space *space)
{
	return (struct copy_space *)space;
}

static void set_priv(struct nm_dma *dma, uint32_t left, uint32_t move_at)
{
	dma->priv = (void *)(((uintptr_t)left << COPY_LEFT_SHIFT) |
			     ((uintptr_t)move_at << COPY_MOVE_SHIFT) |
			     ((uintptr_t)1 << COPY_BUSY_SHIFT));
}

static void *copy_map(struct nm_space *space, uint64_t addr, uint64_t len, bool write)
{
	(void)space;
	(void)addr;
	(void)len;
	(void)write;
	return NULL;
}

static bool all_inside(const struct copy_space *cs, const struct nm_dma *dma)
{
	if (cs->config.lo == 0 && cs->config.hi == 0)
		return true;
	for (uint32_t i = 0; i < dma->nsegs && i < NM_DMA_MAX_SEGS; i++) {
		uint64_t addr = dma->segs[i].addr, len = dma->segs[i].len;

		if (addr < cs->config.lo || addr > cs->config.hi || len > cs->config.hi - addr)
			return false;
	}
	return true;
}

static int copy_submit(struct nm_space *space, struct nm_dma *dma)
{
	struct copy_space *cs = to_copy(space);
	uint32_t span = cs->config.max_polls - cs->config.min_polls + 1;
	uint32_t left = cs->config.min_polls + xorshift32(&cs->rng) % span;

	if (!all_inside(cs, dma))
		return -EFAULT;
	if (left == 0)
		return space_move(dma);
	set_priv(dma, left, 1 + xorshift32(&cs->rng) % left);
	cs->pending++;
	return -EINPROGRESS;
}

static int copy_poll(struct nm_space *space, struct nm_dma *dma)
{
	struct copy_space *cs = to_copy(space);
	uintptr_t priv = (uintptr_t)dma->priv;
	uint32_t left = (priv >> COPY_LEFT_SHIFT) & COPY_FIELD_MASK;
	uint32_t move_at = (priv >> COPY_MOVE_SHIFT) & COPY_FIELD_MASK;

	assert(priv >> COPY_BUSY_SHIFT == 1 && "poll of a transfer that is not under way");
	assert(cs->pending > 0);
	if (left == move_at) {
		int err = space_move(dma);

		if (err) {
			dma->priv = NULL;
			cs->pending--;
			return err;
		}
	}
	if (left > 1) {
		set_priv(dma, left - 1, move_at);
		return -EINPROGRESS;
	}
	dma->priv = NULL;
	cs->pending--;
	return 0;
}

static void copy_cancel(struct nm_space *space, struct nm_dma *dma)
{
	struct copy_space *cs = to_copy(space);

	assert((uintptr_t)dma->priv >> COPY_BUSY_SHIFT == 1 &&
	       "cancel of a transfer not under way");
	assert(cs->pending > 0);
	dma->priv = NULL;
	cs->pending--;
}

static const struct nm_space_ops copy_ops = {
	.map = copy_map,
	.submit = copy_submit,
	.poll = copy_poll,
	.cancel = copy_cancel,
};

struct nm_space *space_copy_create(const struct space_copy_config *config)
{
	struct copy_space *cs;

	if (config->min_polls > config->max_polls || config->max_polls > COPY_MAX_POLLS) {
		errno = EINVAL;
		return NULL;
	}
	cs = calloc(1, sizeof(*cs));
	if (!cs)
		return NULL;
	cs->space.ops = &copy_ops;
	cs->space.name = "copy";
	cs->config = *config;
	cs->rng = xorshift32_seed(config->seed, 2654435761u);
	return &cs->space;
}

uint32_t space_copy_pending(const struct nm_space *space)
{
	return ((const struct copy_space *)space)->pending;
}

void space_copy_destroy(struct nm_space *space)
{
	free(space);
}
