/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys over other keys: memory windows, lists and interleaved layouts (PRM, KLM; the interleaved
 * form as libmlx5 builds it for mlx5dv_wr_mr_interleaved).
 *
 *     list           {bytes 4, key 4, va 8} each; entries add up
 *     interleaved    {bytes of a round 4, 0x400 4, rounds 4, 0 2, entries 2},
 *                    then {stride 2, bytes 2, key 4, va 8} each
 *     KSM            like a list, but every entry has the size of a page
 *
 * Entries are decoded when they change and looked up by bisection. What they name is looked up at
 * each access: a key may go while a list names it.
 */
#include <stdlib.h>

#include "emu/nicmodel/nm_obj.h"

enum {
	KLM_BYTES = 16,
	KLM_LOOKUPS = 1 << 17,	 /* keys looked up for one question */
	KLM_INTERLEAVED = 0x400, /* where a list's first entry has its key: no key is that small */
};

static void add(struct nm_mkey *m, uint32_t len, uint32_t key, uint64_t va, uint32_t stride)
{
	if (!len)
		return; /* lists are padded to 64 bytes */
	m->klm[m->nklm++] = (struct nm_klm){
		.off = m->klm_len, .va = va, .key = key, .len = len, .stride = stride};
	m->klm_len += len;
}

static const char *decode_interleaved(struct nm_mkey *m)
{
	const uint8_t *head = m->xlt;
	uint32_t n = prm_load32(head + 12) & 0xffff;

	if (n >= m->xlt_octwords)
		return "an interleaved layout with more entries than the key has room for";
	m->klm_rounds = prm_load32(head + 8);
	for (uint32_t i = 1; i <= n; i++) {
		const uint8_t *e = m->xlt + (size_t)i * KLM_BYTES;
		uint32_t shape = prm_load32(e);

		add(m, shape & 0xffff, prm_load32(e + 4), prm_load64(e + 8), shape >> 16);
	}
	if (m->klm_len != prm_load32(head))
		return "an interleaved layout whose entries do not add up to a round";
	return NULL;
}

const char *nm_klm_decode(struct nm_mkey *m)
{
	bool ksm = m->mode == PRM_MKC_MODE_KSM;
	uint32_t log_page = PRM_GET(mkc, m->mkc, log_page_size);

	m->nklm = 0;
	m->klm_len = 0;
	m->klm_rounds = 1;
	if (ksm && log_page > 31)
		return "entries of more than 2 GiB";
	if (!m->klm)
		m->klm = calloc(m->xlt_octwords ? m->xlt_octwords : 1, sizeof(*m->klm));
	if (!m->klm)
		return "no memory for its entries";
	if (!ksm && m->xlt_octwords && prm_load32(m->xlt + 4) == KLM_INTERLEAVED)
		return decode_interleaved(m);
	for (uint32_t i = 0; i < m->xlt_octwords && m->klm_len < m->len; i++) {
		const uint8_t *e = m->xlt + (size_t)i * KLM_BYTES;

		add(m, ksm ? UINT32_C(1) << log_page : prm_load32(e), prm_load32(e + 4),
		    prm_load64(e + 8), 0);
	}
	return NULL;
}

bool nm_klm_piece(const struct nm_mkey *mkey, uint64_t va, struct nm_klm *piece)
{
	uint64_t off = va - mkey->start, round = 0;
	uint32_t lo = 0, hi = mkey->nklm;
	const struct nm_klm *e;

	if (!mkey->klm_len)
		return false;
	if (mkey->klm_rounds != 1) {
		round = off / mkey->klm_len;
		off %= mkey->klm_len;
	}
	if (off >= mkey->klm_len || round >= mkey->klm_rounds)
		return false;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (mkey->klm[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	e = &mkey->klm[lo];
	*piece = *e;
	piece->va += round * e->stride + (off - e->off);
	piece->len -= (uint32_t)(off - e->off);
	return true;
}

static bool names(const struct nm_mkey *list, const struct nm_mkey *mkey, int depth,
		  uint32_t *budget)
{
	for (uint32_t i = 0; i < list->nklm; i++) {
		const struct nm_mkey *inner = (struct nm_mkey *)nm_obj_get(
			list->obj.nic, NM_OBJ_MKEY, list->klm[i].key >> 8);

		/* Garbage may nest in circles: what takes too long is treated as if it were named.
		 */
		if (inner == mkey || !*budget)
			return true;
		(*budget)--;
		if (inner && nm_mkey_is_list(inner) && depth + 1 < NM_KLM_DEPTH &&
		    names(inner, mkey, depth + 1, budget))
			return true;
	}
	return false;
}

bool nm_klm_names(const struct nm_mkey *list, const struct nm_mkey *mkey)
{
	uint32_t budget = KLM_LOOKUPS;

	return nm_mkey_is_list(list) && names(list, mkey, 0, &budget);
}
