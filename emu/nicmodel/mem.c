/* SPDX-License-Identifier: BSD-3-Clause */
/* Page lists become extents; extents become pointers where the space can map them, else segments.
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/nm_obj.h"

enum {
	NM_PAGE_FLAGS = 0xfff
}; /* low bits of a page address are flags (MTT: present for read, for write) */

/* Appends [addr, addr+len) at region offset `off`, growing the last extent where the bus addresses
 * touch. */
static void mem_append(struct nm_mem *mem, uint64_t off, uint64_t addr, uint64_t len)
{
	struct nm_extent *last = mem->next ? &mem->ext[mem->next - 1] : NULL;

	if (last && last->addr + last->len == addr) {
		last->len += len;
		return;
	}
	mem->ext[mem->next++] = (struct nm_extent){.off = off, .addr = addr, .len = len};
}

static void mem_map(struct nm_mem *mem)
{
	struct nm_extent *shrunk =
		realloc(mem->ext, (mem->next ? mem->next : 1) * sizeof(*mem->ext));

	if (shrunk)
		mem->ext = shrunk;
	for (uint32_t n = 0; n < mem->next; n++) {
		struct nm_extent *e = &mem->ext[n];

		e->ptr = mem->space->ops->map(mem->space, e->addr, e->len, true);
	}
	mem->flat = mem->next == 1 ? mem->ext[0].ptr : NULL;
}

int nm_mem_init(struct nm_mem *mem, struct nm_space *space, const void *pas, uint32_t npas,
		uint8_t log_page, uint64_t page_off, uint64_t len)
{
	uint64_t page = UINT64_C(1) << log_page;
	uint64_t off = 0;

	memset(mem, 0, sizeof(*mem));
	if (!space || log_page >= 64 || page_off >= page)
		return -EINVAL;
	if (len && (len > UINT64_MAX - page_off || ((page_off + len - 1) >> log_page) >= npas))
		return -EINVAL;
	mem->ext = calloc(npas ? npas : 1, sizeof(*mem->ext));
	if (!mem->ext)
		return -ENOMEM;
	mem->space = space;
	mem->len = len;
	for (uint32_t n = 0; off < len; n++) {
		uint64_t addr =
			prm_load64((const uint8_t *)pas + 8 * (size_t)n) & ~(uint64_t)NM_PAGE_FLAGS;
		uint64_t skip = n ? 0 : page_off;
		uint64_t chunk = page - skip < len - off ? page - skip : len - off;

		mem_append(mem, off, addr + skip, chunk);
		off += chunk;
	}
	mem_map(mem);
	return 0;
}

/* Index of the extent that holds offset `off` < mem->len. */
static uint32_t mem_find(const struct nm_mem *mem, uint64_t off)
{
	uint32_t lo = 0, hi = mem->next;

	assert(off < mem->len);
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (mem->ext[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static bool mem_inside(const struct nm_mem *mem, uint64_t off, uint64_t len)
{
	return off <= mem->len && len <= mem->len - off;
}

int nm_mem_window(struct nm_mem *mem, const struct nm_mem *of, uint64_t off, uint64_t len)
{
	uint64_t done = 0;

	memset(mem, 0, sizeof(*mem));
	if (!mem_inside(of, off, len))
		return -EINVAL;
	mem->ext = calloc(of->next ? of->next : 1, sizeof(*mem->ext));
	if (!mem->ext)
		return -ENOMEM;
	mem->space = of->space;
	mem->len = len;
	for (uint32_t n = len ? mem_find(of, off) : 0; done < len; n++) {
		const struct nm_extent *e = &of->ext[n];
		uint64_t skip = off + done - e->off;
		uint64_t chunk = e->len - skip < len - done ? e->len - skip : len - done;

		mem_append(mem, done, e->addr + skip, chunk);
		done += chunk;
	}
	mem_map(mem);
	return 0;
}

void nm_mem_fini(struct nm_mem *mem)
{
	free(mem->ext);
	memset(mem, 0, sizeof(*mem));
}

void *nm_mem_ptr(const struct nm_mem *mem, uint64_t off, uint64_t len)
{
	const struct nm_extent *e;

	if (!mem_inside(mem, off, len))
		return NULL;
	if (mem->flat)
		return mem->flat + off;
	if (off == mem->len)
		return NULL; /* an empty range at the end lies in no extent */
	e = &mem->ext[mem_find(mem, off)];
	if (!e->ptr || len > e->len - (off - e->off))
		return NULL;
	return e->ptr + (off - e->off);
}

int nm_mem_part(const struct nm_mem *mem, uint64_t off, uint64_t len, struct nm_seg *segs,
		uint32_t max, uint64_t *took)
{
	uint32_t count = 0;

	*took = 0;
	if (!mem_inside(mem, off, len))
		return -EINVAL;
	for (uint32_t n = len ? mem_find(mem, off) : 0; *took < len && count < max; n++) {
		const struct nm_extent *e = &mem->ext[n];
		uint64_t skip = off + *took - e->off;
		uint64_t left = len - *took;
		uint64_t chunk = e->len - skip < left ? e->len - skip : left;

		segs[count++] = (struct nm_seg){.addr = e->addr + skip, .len = chunk};
		*took += chunk;
	}
	return (int)count;
}

int nm_mem_segs(const struct nm_mem *mem, uint64_t off, uint64_t len, struct nm_seg *segs,
		uint32_t max)
{
	uint64_t took;
	int count = nm_mem_part(mem, off, len, segs, max, &took);

	return count >= 0 && took < len ? -E2BIG : count;
}

/* ---- the points of NM_EV_DMA ---- */

static int dma_point(struct nm_nic *nic, uint32_t qpn, struct nm_space *space,
		     const struct nm_dma *dma)
{
	struct nm_event ev = {.kind = NM_EV_DMA, .qpn = qpn, .dma = {.dma = dma, .space = space}};

	return nm_point(nic, &ev) == NM_FAIL ? -EFAULT : 0;
}

int nm_dma_start(struct nm_nic *nic, uint32_t qpn, struct nm_space *space, struct nm_dma *dma)
{
	if (nm_watched(nic, NM_EV_DMA) && dma_point(nic, qpn, space, dma))
		return -EFAULT;
	return space->ops->submit(space, dma);
}

int nm_touch_mem_watched(struct nm_nic *nic, uint32_t qpn, enum nm_purpose purpose, bool to_space,
			 const struct nm_mem *mem, uint64_t off, uint64_t len)
{
	struct nm_dma dma = {.purpose = purpose, .to_space = to_space, .nsegs = 1, .len = len};

	/* What has a pointer is one segment. */
	if (nm_mem_segs(mem, off, len, dma.segs, 1) != 1)
		return -EFAULT;
	return dma_point(nic, qpn, mem->space, &dma);
}

int nm_touch_key_watched(struct nm_nic *nic, uint32_t qpn, enum nm_purpose purpose, bool to_space,
			 const struct nm_mkey *mkey, uint64_t va, uint64_t len)
{
	struct nm_dma dma = {.purpose = purpose, .to_space = to_space, .nsegs = 1, .len = len};

	if (nm_mkey_segs(mkey, va, len, dma.segs, 1) != 1)
		return -EFAULT;
	return dma_point(nic, qpn, nm_mkey_space(mkey, va), &dma);
}

/* ---- doorbell records ---- */

int nm_dbr_init(struct nm_dbr *dbr, struct nm_space *space, uint64_t addr)
{
	memset(dbr, 0, sizeof(*dbr));
	if (addr % 8 || !space)
		return -EINVAL;
	dbr->space = space;
	dbr->addr = addr;
	dbr->flat = space->ops->map(space, addr, 8, false);
	return 0;
}

static int dbr_start(struct nm_nic *nic, struct nm_dbr *dbr)
{
	if (!dbr->dma)
		dbr->dma = malloc(sizeof(*dbr->dma));
	if (!dbr->dma)
		return -EFAULT;
	*dbr->dma = (struct nm_dma){
		.purpose = NM_DMA_DBR,
		.nsegs = 1,
		.segs = {{.addr = dbr->addr, .len = sizeof(dbr->incoming)}},
		.local = dbr->incoming,
		.len = sizeof(dbr->incoming),
	};
	dbr->asked = dbr->waiting;
	dbr->waiting = 0;
	return nm_dma_start(nic, 0, dbr->space, dbr->dma);
}

static void dbr_arrived(struct nm_dbr *dbr, int rc)
{
	dbr->busy = rc == -EINPROGRESS;
	if (dbr->busy)
		return;
	if (!rc) {
		memcpy(dbr->cache, dbr->incoming, sizeof(dbr->cache));
		dbr->ready |= dbr->asked;
	}
	dbr->asked = 0;
}

/* Copy-only: the two words have readers of their own, and neither may take what the other waits
 * for. */
static int dbr_transfer(struct nm_nic *nic, struct nm_dbr *dbr, uint8_t bit)
{
	int rc;

	if (!(dbr->asked & bit))
		dbr->waiting |= bit;
	rc = dbr->busy ? dbr->space->ops->poll(dbr->space, dbr->dma) : dbr_start(nic, dbr);
	dbr_arrived(dbr, rc);
	if (rc || (dbr->ready & bit))
		return rc;
	rc = dbr_start(nic, dbr); /* that was an older read */
	dbr_arrived(dbr, rc);
	return rc;
}

static int dbr_touch(struct nm_nic *nic, const struct nm_dbr *dbr, unsigned int word)
{
	struct nm_dma dma = {
		.purpose = NM_DMA_DBR,
		.nsegs = 1,
		.segs = {{.addr = dbr->addr + 4 * (uint64_t)word, .len = 4}},
		.len = 4,
	};

	return dma_point(nic, 0, dbr->space, &dma);
}

/* Acquire: the WQEs or CQ slots that the record speaks of are read after it. */
static int dbr_load(struct nm_nic *nic, struct nm_dbr *dbr, unsigned int word, uint32_t *value)
{
	uint32_t be;

	if (nm_watched(nic, NM_EV_DMA) && dbr_touch(nic, dbr, word))
		return -EFAULT;
	if (!dbr->space->ops->copy) {
		be = __atomic_load_n(&dbr->flat[word], __ATOMIC_ACQUIRE);
		dbr->cache[word] = be;
		*value = be32toh(be);
		return 0;
	}
	if (dbr->space->ops->copy(&be, (const uint32_t *)dbr->flat + word, sizeof(be)))
		return -EFAULT;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	dbr->cache[word] = be;
	*value = be32toh(be);
	return 0;
}

int nm_dbr_read(struct nm_nic *nic, struct nm_dbr *dbr, unsigned int word, uint32_t *value)
{
	uint8_t bit = (uint8_t)(1u << word);
	int rc = 0;

	assert(word < 2);
	if (!dbr->space)
		return -EFAULT;
	if (dbr->flat)
		return dbr_load(nic, dbr, word, value);
	if (!(dbr->ready & bit))
		rc = dbr_transfer(nic, dbr, bit);
	if (rc)
		return rc;
	dbr->ready &= (uint8_t)~bit;
	*value = be32toh(dbr->cache[word]);
	return 0;
}

void nm_dbr_fini(struct nm_dbr *dbr)
{
	if (dbr->busy)
		dbr->space->ops->cancel(dbr->space, dbr->dma);
	free(dbr->dma);
	memset(dbr, 0, sizeof(*dbr));
}
