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

enum nm_key_fault nm_mkey_check(struct nm_nic *nic, uint32_t key, uint64_t va, uint64_t len,
				uint8_t need, uint32_t pdn, uint32_t qpn, struct nm_mkey **mkey,
				char *why)
{
	struct nm_mkey *m;

	*mkey = NULL;
	if (why)
		why[0] = '\0';
	if (!len)
		return NM_KEY_OK;
#define MKEY_FAULT_(fault, ...)                                                                    \
	do {                                                                                       \
		if (why)                                                                           \
			snprintf(why, NM_WHY_MAX, __VA_ARGS__);                                    \
		return fault;                                                                      \
	} while (0)
	m = (struct nm_mkey *)nm_obj_get(nic, NM_OBJ_MKEY, key >> 8);
	if (!m)
		MKEY_FAULT_(NM_KEY_UNKNOWN,
			    "mkey 0x%x does not exist, access at 0x%llx length %llu for %s", key,
			    (unsigned long long)va, (unsigned long long)len, right_name(need));
	if (m->tag != (key & 0xff))
		MKEY_FAULT_(NM_KEY_TAG,
			    "mkey 0x%x has the tag 0x%02x by now, it was used with 0x%02x",
			    m->obj.number << 8 | m->tag, m->tag, key & 0xff);
	if (m->free)
		MKEY_FAULT_(NM_KEY_FREE, "mkey 0x%x is free (not bound to memory)", key);
	if (m->pdn != pdn)
		MKEY_FAULT_(NM_KEY_PD, "mkey 0x%x belongs to PD 0x%x, the QP to PD 0x%x", key,
			    m->pdn, pdn);
	if (m->qpn != NM_ANY_QPN && m->qpn != qpn)
		MKEY_FAULT_(NM_KEY_QPN, "mkey 0x%x is for QP 0x%x only, QP 0x%x used it", key,
			    m->qpn, qpn);
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
#undef MKEY_FAULT_
	*mkey = m;
	return NM_KEY_OK;
}

int nm_mkey_segs(const struct nm_mkey *mkey, uint64_t va, uint64_t len, struct nm_seg *segs,
		 uint32_t max)
{
	if (mkey->mode == PRM_MKC_MODE_MTT)
		return nm_mem_segs(&mkey->mem, va - mkey->start, len, segs, max);
	if (!max)
		return -E2BIG;
	segs[0] = (struct nm_seg){.addr = va, .len = len};
	return 1;
}

struct nm_space *nm_mkey_space(const struct nm_mkey *mkey)
{
	return mkey->mode == PRM_MKC_MODE_MTT ? mkey->mem.space : mkey->space;
}

void *nm_mkey_ptr(const struct nm_mkey *mkey, uint64_t va, uint64_t len)
{
	if (mkey->mode == PRM_MKC_MODE_MTT)
		return nm_mem_ptr(&mkey->mem, va - mkey->start, len);
	return mkey->space->ops->map(mkey->space, va, len, true);
}
