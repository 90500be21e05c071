/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory (MEMIC): ALLOC_MEMIC and DEALLOC_MEMIC, for the driver. It lies in the BAR, where
 * programs map it; keys of their own access mode make it a target of RDMA. Loads and stores that
 * act on it are no business of the model: a face that can make them says so (nm_config.memic_ops),
 * and MODIFY_MEMIC, which gives out addresses for them in the BAR, is not there.
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

/* ---- the space ---- */

static void *memic_map(struct nm_space *space, uint64_t addr, uint64_t len, bool write)
{
	const struct nm_memic_space *m = (const struct nm_memic_space *)space;
	uint64_t off = addr - NM_MEMIC_START;

	(void)write;
	if (addr < NM_MEMIC_START || off > m->len || len > m->len - off)
		return NULL;
	return m->base + off;
}

static int memic_submit(struct nm_space *space, struct nm_dma *dma)
{
	uint8_t *local = dma->local;

	for (uint32_t i = 0; i < dma->nsegs; i++) {
		const struct nm_seg *seg = &dma->segs[i];
		void *ptr = memic_map(space, seg->addr, seg->len, true);

		if (!ptr)
			return -EFAULT;
		memmove(dma->to_space ? ptr : local, dma->to_space ? local : ptr, seg->len);
		local += seg->len;
	}
	return 0;
}

/* Nothing is ever under way. */
static int memic_poll(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
	return -EINVAL;
}

static void memic_cancel(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
}

void nm_memic_init(struct nm_nic *nic)
{
	static const struct nm_space_ops ops = {.map = memic_map,
						.submit = memic_submit,
						.poll = memic_poll,
						.cancel = memic_cancel};

	nic->memic = (struct nm_memic_space){
		.space = {.ops = &ops, .name = "device memory"},
		.base = nic->config.memic_base,
		.len = (uint64_t)nic->config.memic_pages * PRM_UAR_PAGE_SIZE,
	};
}

/* ---- who has what ---- */

/* The allocation that [start, start+len) touches first; NULL: it is free. */
static const struct nm_memic *touched(struct nm_nic *nic, uint64_t start, uint64_t len)
{
	const struct nm_table *t = &nic->table[NM_OBJ_MEMIC];
	const struct nm_memic *first = NULL;

	for (uint32_t slot = 0; slot < t->cap; slot++) {
		const struct nm_memic *m = (struct nm_memic *)t->slot[slot];

		if (m && m->start < start + len && start < m->start + m->len &&
		    (!first || m->start < first->start))
			first = m;
	}
	return first;
}

struct nm_memic *nm_memic_find(struct nm_nic *nic, uint64_t start, uint64_t len)
{
	const struct nm_table *t = &nic->table[NM_OBJ_MEMIC];

	for (uint32_t slot = 0; slot < t->cap; slot++) {
		struct nm_memic *m = (struct nm_memic *)t->slot[slot];

		if (m && start >= m->start && start - m->start <= m->len &&
		    len <= m->len - (start - m->start))
			return m;
	}
	return NULL;
}

/* The lowest free place in [start, end), aligned; `end` if there is none. */
static uint64_t place(struct nm_nic *nic, uint64_t start, uint64_t end, uint64_t len,
		      uint64_t align)
{
	uint64_t at = (start + align - 1) / align * align;

	while (at < end && len <= end - at) {
		const struct nm_memic *m = touched(nic, at, len);

		if (!m)
			return at;
		at = (m->start + m->len + align - 1) / align * align;
	}
	return end;
}

uint8_t nm_cmd_alloc_memic(struct nm_cmd *c)
{
	const struct nm_memic_space *all = &c->nic->memic;
	uint64_t start = PRM_GET64(alloc_memic_in, c->in, range_start_addr);
	uint64_t size = PRM_GET(alloc_memic_in, c->in, range_size);
	uint64_t len = PRM_GET(alloc_memic_in, c->in, memic_size);
	uint32_t log_align = PRM_GET(alloc_memic_in, c->in, log_memic_addr_alignment);
	uint64_t unit = UINT64_C(1) << NM_LOG_MEMIC_UNIT;
	struct nm_memic *m;
	uint64_t at;

	if (!len || len % unit || len > all->len / 2)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "memic_size 0x%llx; a multiple of 64 bytes up to 0x%llx",
				   (unsigned long long)len, (unsigned long long)all->len / 2);
	if (log_align)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "log_memic_addr_alignment %u; log_max_memic_addr_alignment is 0",
				   log_align);
	if (start < NM_MEMIC_START || start - NM_MEMIC_START > all->len ||
	    size > all->len - (start - NM_MEMIC_START))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_RANGE,
				   "[0x%llx, + 0x%llx) is not in the device memory",
				   (unsigned long long)start, (unsigned long long)size);
	at = place(c->nic, start, start + size, len, unit);
	if (at == start + size)
		return nm_cmd_fail(c, PRM_STATUS_NO_RES_ERR, NM_SYND_TABLE_FULL,
				   "no 0x%llx bytes are free in that range",
				   (unsigned long long)len);
	m = calloc(1, sizeof(*m));
	if (!m)
		return nm_cmd_no_memory(c);
	m->start = at;
	m->len = len;
	if (nm_obj_add(c->nic, &m->obj, NM_OBJ_MEMIC, c->uid)) {
		free(m);
		return nm_cmd_no_memory(c);
	}
	PRM_SET64(alloc_memic_out, c->out, memic_start_addr, at);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_dealloc_memic(struct nm_cmd *c)
{
	uint64_t start = PRM_GET64(dealloc_memic_in, c->in, memic_start_addr);
	uint64_t len = PRM_GET(dealloc_memic_in, c->in, memic_size);
	struct nm_memic *m = nm_memic_find(c->nic, start, len);

	if (!m || m->start != start || m->len != len)
		return nm_cmd_fail(c, PRM_STATUS_BAD_RES, NM_SYND_NO_OBJECT,
				   "[0x%llx, + 0x%llx) was not allocated so",
				   (unsigned long long)start, (unsigned long long)len);
	if (m->obj.users)
		return nm_cmd_busy(c, &m->obj);
	nm_plain_free(&m->obj);
	return PRM_STATUS_OK;
}
