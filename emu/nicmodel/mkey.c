/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory keys on the data path: is this access allowed, and where does it go. */
#include <errno.h>
#include <stdio.h>

#include "emu/nicmodel/nm_obj.h"

enum { NM_ANY_QPN = 0xffffff };

static const struct {
	uint8_t right;
	const char *name;
} nm_right_names[] = {
	{NM_ACC_LR, "local read"},   {NM_ACC_LW, "local write"}, {NM_ACC_RR, "remote read"},
	{NM_ACC_RW, "remote write"}, {NM_ACC_A, "atomic"},
};

/* "remote write", or the first of several. */
static const char *right_name(uint8_t rights)
{
	for (size_t n = 0; n < sizeof(nm_right_names) / sizeof(nm_right_names[0]); n++) {
		if (rights & nm_right_names[n].right)
			return nm_right_names[n].name;
	}
	return "no right";
}

/* Compared as va - start <= len - n, since a key may reach the end of the address space. */
static bool mkey_covers(const struct nm_mkey *mkey, uint64_t va, uint64_t len)
{
	uint64_t off = va - mkey->start;

	if (mkey->length64)
		return len == 0 || va <= UINT64_MAX - (len - 1);
	return va >= mkey->start && off <= mkey->len && len <= mkey->len - off;
}

#define MKEY_FAULT_(fault, ...)                                                                    \
	do {                                                                                       \
		if (why)                                                                           \
			snprintf(why, NM_WHY_MAX, __VA_ARGS__);                                    \
		return fault;                                                                      \
	} while (0)

/* A question about one range; lists ask it again about the keys that they name. */
struct ask {
	struct nm_nic *nic;
	uint32_t pdn, qpn;
	char *why;
	uint32_t budget; /* pieces of lists that it may still look at */
	int depth;
};

enum { KLM_PIECES = 1 << 17 };

static enum nm_key_fault check_list(struct ask *ask, const struct nm_mkey *m, uint64_t va,
				    uint64_t len, uint8_t need);

/* The key alone: does it exist, and is it this user's. */
static enum nm_key_fault check_user(const struct ask *ask, uint32_t key, const struct nm_mkey *m)
{
	char *why = ask->why;

	if (m->tag != (key & 0xff))
		MKEY_FAULT_(NM_KEY_TAG,
			    "mkey 0x%x has the tag 0x%02x by now, it was used with 0x%02x",
			    m->obj.number << 8 | m->tag, m->tag, key & 0xff);
	if (m->free)
		MKEY_FAULT_(NM_KEY_FREE, "mkey 0x%x is free (not bound to memory)", key);
	if (m->pdn != ask->pdn && !m->any_pd && ask->pdn != NM_PDN_ANY)
		MKEY_FAULT_(NM_KEY_PD, "mkey 0x%x belongs to PD 0x%x, the QP to PD 0x%x", key,
			    m->pdn, ask->pdn);
	if (m->qpn != NM_ANY_QPN && m->qpn != ask->qpn)
		MKEY_FAULT_(NM_KEY_QPN, "mkey 0x%x is for QP 0x%x only, QP 0x%x used it", key,
			    m->qpn, ask->qpn);
	return NM_KEY_OK;
}

static struct nm_mkey *find(struct nm_nic *nic, uint32_t key)
{
	struct nm_obj *obj = nm_obj_get(nic, NM_OBJ_MKEY, key >> 8);

	if (!obj && key == NM_NULL_MKEY)
		obj = &nic->null_mkey.obj;
	return (struct nm_mkey *)obj;
}

static enum nm_key_fault check(struct ask *ask, uint32_t key, uint64_t va, uint64_t len,
			       uint8_t need, struct nm_mkey **mkey)
{
	struct nm_mkey *m = find(ask->nic, key);
	enum nm_key_fault fault;
	char *why = ask->why;

	if (!m)
		MKEY_FAULT_(NM_KEY_UNKNOWN,
			    "mkey 0x%x does not exist, access at 0x%llx length %llu for %s", key,
			    (unsigned long long)va, (unsigned long long)len, right_name(need));
	fault = check_user(ask, key, m);
	if (fault)
		return fault;
	if ((m->access & need) != need)
		MKEY_FAULT_(NM_KEY_RIGHT,
			    "mkey 0x%x does not allow %s, access at 0x%llx length %llu", key,
			    right_name((uint8_t)(need & ~m->access)), (unsigned long long)va,
			    (unsigned long long)len);
	if (!mkey_covers(m, va, len))
		MKEY_FAULT_(
			NM_KEY_BOUNDS,
			"mkey 0x%x covers [0x%llx, 0x%llx), access at 0x%llx length %llu for %s",
			key, (unsigned long long)m->start, (unsigned long long)(m->start + m->len),
			(unsigned long long)va, (unsigned long long)len, right_name(need));
	*mkey = m;
	return nm_mkey_is_list(m) ? check_list(ask, m, va, len, need) : NM_KEY_OK;
}

/*
 * What a list names is used on behalf of its user: remote rights are the list's to give, the keys
 * below it need the local ones (a window gives remote rights to a region that has none).
 */
static uint8_t need_below(uint8_t need)
{
	uint8_t below = need & (NM_ACC_LR | NM_ACC_LW);

	if (need & (NM_ACC_RR | NM_ACC_A))
		below |= NM_ACC_LR;
	if (need & (NM_ACC_RW | NM_ACC_A))
		below |= NM_ACC_LW;
	return below;
}

static enum nm_key_fault check_list(struct ask *ask, const struct nm_mkey *m, uint64_t va,
				    uint64_t len, uint8_t need)
{
	enum nm_key_fault fault = NM_KEY_OK;
	char *why = ask->why;

	if (ask->depth == NM_KLM_DEPTH)
		MKEY_FAULT_(NM_KEY_LIST, "keys over keys nest deeper than %d", NM_KLM_DEPTH);
	ask->depth++;
	while (len && !fault) {
		struct nm_mkey *inner;
		struct nm_klm e;
		uint64_t n;

		if (!ask->budget || !nm_klm_piece(m, va, &e))
			MKEY_FAULT_(NM_KEY_LIST,
				    ask->budget ? "the list of mkey index 0x%x ends before 0x%llx"
						: "mkey index 0x%x is in too many pieces at 0x%llx",
				    m->obj.number, (unsigned long long)va);
		ask->budget--;
		n = e.len < len ? e.len : len;
		fault = check(ask, e.key, e.va, n, need_below(need), &inner);
		va += n;
		len -= n;
	}
	ask->depth--;
	return fault;
}

enum nm_key_fault nm_mkey_check(struct nm_nic *nic, uint32_t key, uint64_t va, uint64_t len,
				uint8_t need, uint32_t pdn, uint32_t qpn, struct nm_mkey **mkey,
				char *why)
{
	struct ask ask = {.nic = nic, .pdn = pdn, .qpn = qpn, .why = why, .budget = KLM_PIECES};
	enum nm_key_fault fault;

	*mkey = NULL;
	if (why)
		why[0] = '\0';
	if (!len)
		return NM_KEY_OK;
	fault = check(&ask, key, va, len, need, mkey);
	if (fault)
		*mkey = NULL;
	return fault;
}

int nm_mkey_invalidate(struct nm_nic *nic, uint32_t key, uint32_t pdn, uint32_t qpn, char *why)
{
	const struct ask ask = {.nic = nic, .pdn = pdn, .qpn = qpn, .why = why};
	struct nm_mkey *m = find(nic, key);

	if (!m || check_user(&ask, key, m)) {
		if (!m)
			snprintf(why, NM_WHY_MAX, "mkey 0x%x does not exist", key);
		return -EPERM;
	}
	if (!m->en_rinval) {
		snprintf(why, NM_WHY_MAX, "mkey 0x%x is not one that a peer may invalidate", key);
		return -EPERM;
	}
	PRM_SET(mkc, m->mkc, free, 1);
	m->free = true;
	nm_qp_forget_mkey(nic, m);
	return 0;
}

/* ---- where it is ---- */

struct parts {
	struct nm_seg *segs;
	uint32_t count, max;
	uint64_t took;
	struct nm_space *space;
	int depth;
};

/* False: stop here. */
static bool take_parts(const struct nm_mkey *m, uint64_t va, uint64_t len, struct parts *p)
{
	struct nm_space *space = m->mem.space ? m->mem.space : m->space;
	uint64_t took = 0;
	int n;

	if (nm_mkey_is_list(m)) {
		bool all = p->depth < NM_KLM_DEPTH;

		for (p->depth++; all && len; va += took, len -= took) {
			const struct nm_mkey *inner = NULL;
			struct nm_klm e;

			if (nm_klm_piece(m, va, &e))
				inner = find(m->obj.nic, e.key);
			took = inner && e.len < len ? e.len : len;
			all = inner && take_parts(inner, e.va, took, p);
		}
		p->depth--;
		return all;
	}
	if (p->count == p->max || (p->space && p->space != space))
		return false;
	if (m->mode == PRM_MKC_MODE_PA) {
		p->segs[p->count++] = (struct nm_seg){.addr = va, .len = len};
		took = len;
	} else {
		n = nm_mem_part(&m->mem, va - m->start, len, p->segs + p->count, p->max - p->count,
				&took);
		if (n < 0)
			return false;
		p->count += (uint32_t)n;
	}
	p->space = space;
	p->took += took;
	return took == len;
}

uint32_t nm_mkey_part(const struct nm_mkey *mkey, uint64_t va, uint64_t len, struct nm_seg *segs,
		      uint32_t max, uint64_t *took, struct nm_space **space)
{
	struct parts p = {.segs = segs, .max = max};

	take_parts(mkey, va, len, &p);
	*took = p.took;
	*space = p.space;
	return p.count;
}

int nm_mkey_segs(const struct nm_mkey *mkey, uint64_t va, uint64_t len, struct nm_seg *segs,
		 uint32_t max)
{
	struct nm_space *space;
	uint64_t took;
	uint32_t count = nm_mkey_part(mkey, va, len, segs, max, &took, &space);

	return took == len ? (int)count : -E2BIG;
}

/* The key without a list that holds va, and its va there; NULL: there is none. */
static const struct nm_mkey *leaf_of(const struct nm_mkey *m, uint64_t *va, uint64_t len)
{
	for (int depth = 0; m && nm_mkey_is_list(m); depth++) {
		struct nm_klm e;

		if (depth == NM_KLM_DEPTH || !nm_klm_piece(m, *va, &e) || e.len < len)
			return NULL;
		*va = e.va;
		m = find(m->obj.nic, e.key);
	}
	return m;
}

struct nm_space *nm_mkey_space(const struct nm_mkey *mkey, uint64_t va)
{
	const struct nm_mkey *m = leaf_of(mkey, &va, 1);

	if (!m)
		return NULL;
	return m->mode == PRM_MKC_MODE_PA ? m->space : m->mem.space;
}

void *nm_mkey_ptr(const struct nm_mkey *mkey, uint64_t va, uint64_t len)
{
	const struct nm_mkey *m = leaf_of(mkey, &va, len);

	if (!m)
		return NULL;
	if (m->mode != PRM_MKC_MODE_PA)
		return nm_mem_ptr(&m->mem, va - m->start, len);
	return m->space->ops->map(m->space, va, len, true);
}

/* ---- the null key: reads give zeroes, writes go nowhere (ibv_alloc_null_mr) ---- */

static void *null_map(struct nm_space *space, uint64_t addr, uint64_t len, bool write)
{
	(void)space;
	(void)addr;
	(void)len;
	(void)write;
	return NULL;
}

static int null_submit(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	if (!dma->to_space)
		memset(dma->local, 0, dma->len);
	return 0;
}

/* Nothing is ever under way. */
static int null_poll(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
	return -EINVAL;
}

static void null_cancel(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
}

void nm_null_mkey_init(struct nm_nic *nic)
{
	static const struct nm_space_ops ops = {
		.map = null_map, .submit = null_submit, .poll = null_poll, .cancel = null_cancel};
	static struct nm_space space = {.ops = &ops, .name = "null"};

	nic->null_mkey = (struct nm_mkey){
		.obj = {.type = NM_OBJ_MKEY, .number = NM_NULL_MKEY >> 8, .nic = nic},
		.access = NM_ACC_LR | NM_ACC_LW,
		.mode = PRM_MKC_MODE_PA,
		.length64 = true,
		.any_pd = true,
		.qpn = NM_ANY_QPN,
		.space = &space,
	};
}
