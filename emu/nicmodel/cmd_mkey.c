/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_MKEY, QUERY_MKEY, DESTROY_MKEY: physical and page-list keys. */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

enum { NM_MKEY_LOG_PAGE_MAX = 31 }; /* 5 bits of log_page_size, as the driver uses them */

static const struct {
	uint8_t right;
	uint8_t lo; /* bit of the first dword of the context */
} mkc_rights[] = {
	{NM_ACC_A, PRM_mkc_a_LO},   {NM_ACC_RW, PRM_mkc_rw_LO}, {NM_ACC_RR, PRM_mkc_rr_LO},
	{NM_ACC_LW, PRM_mkc_lw_LO}, {NM_ACC_LR, PRM_mkc_lr_LO},
};

static void mkey_decode(struct nm_mkey *m, const uint8_t *mkc)
{
	uint32_t word = prm_load32(mkc);

	memcpy(m->mkc, mkc, sizeof(m->mkc));
	for (size_t n = 0; n < sizeof(mkc_rights) / sizeof(mkc_rights[0]); n++) {
		if (word >> mkc_rights[n].lo & 1)
			m->access |= mkc_rights[n].right;
	}
	m->mode = (uint8_t)(PRM_GET(mkc, mkc, access_mode_4_2) << 2 |
			    PRM_GET(mkc, mkc, access_mode_1_0));
	m->tag = (uint8_t)PRM_GET(mkc, mkc, mkey_7_0);
	m->free = PRM_GET(mkc, mkc, free);
	m->length64 = PRM_GET(mkc, mkc, length64);
	m->pdn = PRM_GET(mkc, mkc, pd);
	m->qpn = PRM_GET(mkc, mkc, qpn);
	m->start = PRM_GET64(mkc, mkc, start_addr);
	m->len = PRM_GET64(mkc, mkc, len);
}

static uint8_t mkey_check(struct nm_cmd *c, const struct nm_mkey *m)
{
	if (m->mode != PRM_MKC_MODE_PA && m->mode != PRM_MKC_MODE_MTT)
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
			"access mode %u; physical (0) and page-list (1) keys are modelled",
			m->mode);
	if (m->mode == PRM_MKC_MODE_PA && c->uid)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PRIVILEGE,
				   "user context %u may not make a key of physical addresses",
				   c->uid);
	if (m->mode == PRM_MKC_MODE_PA && !c->space)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
				   "its issuer has no memory");
	if (m->mode == PRM_MKC_MODE_MTT && m->length64 && !m->free)
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
			"length64 with a page list: no list describes the whole address space");
	if (!m->length64 && m->len && m->start > UINT64_MAX - (m->len - 1))
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
			"start 0x%llx with length 0x%llx passes the end of the address space",
			(unsigned long long)m->start, (unsigned long long)m->len);
	return PRM_STATUS_OK;
}

/*
 * The page list: page n holds the addresses of (start >> L) + n, so the low L bits of start are the
 * offset in the first page. Over a umem the key starts at the given byte of it.
 */
static uint8_t mkey_pages(struct nm_cmd *c, struct nm_mkey *m)
{
	uint32_t log_page = PRM_GET(mkc, m->mkc, log_page_size);
	uint64_t octwords = PRM_GET(create_mkey_in, c->in, translations_octword_actual_size);
	uint64_t page_off = m->start & ((UINT64_C(1) << log_page) - 1);
	struct nm_cmd_region r = {.what = "mkey",
				  .umem_valid = PRM_GET(create_mkey_in, c->in, mkey_umem_valid),
				  .umem_id = PRM_GET(create_mkey_in, c->in, mkey_umem_id),
				  .umem_off = PRM_GET64(create_mkey_in, c->in, mkey_umem_offset),
				  .pas_off = PRM_create_mkey_in_klm_pas_mtt_OFF,
				  .log_page = (uint8_t)log_page,
				  .page_off = page_off,
				  .len = m->len};

	if (m->free || m->mode == PRM_MKC_MODE_PA)
		return PRM_STATUS_OK;
	if (r.umem_valid)
		return nm_cmd_region(c, &r, &m->mem, &m->umem);
	if (log_page < NM_LOG_ADAPTER_PAGE || log_page > NM_MKEY_LOG_PAGE_MAX)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "log_page_size is %u, from 12 to 31 is possible", log_page);
	if (m->len && (page_off + m->len - 1) >> log_page >= octwords * 2)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PAGES,
				   "%llu bytes from offset 0x%llx need more pages of 2^%u bytes "
				   "than the %llu of "
				   "translations_octword_actual_size",
				   (unsigned long long)m->len, (unsigned long long)page_off,
				   log_page, (unsigned long long)octwords * 2);
	return nm_cmd_region(c, &r, &m->mem, &m->umem);
}

uint8_t nm_cmd_create_mkey(struct nm_cmd *c)
{
	const uint8_t *mkc = PRM_CPTR(create_mkey_in, c->in, mkc);
	struct nm_mkey *m;
	struct nm_obj *pd;
	uint8_t status;

	pd = nm_cmd_use(c, NM_OBJ_PD, PRM_GET(mkc, mkc, pd), &status);
	if (!pd)
		return status;
	m = calloc(1, sizeof(*m));
	if (!m)
		return nm_cmd_no_memory(c);
	mkey_decode(m, mkc);
	m->space = c->space;
	status = mkey_check(c, m);
	if (!status)
		status = mkey_pages(c, m);
	if (!status)
		status = nm_cmd_publish(c, &m->obj, NM_OBJ_MKEY);
	if (status) {
		nm_cmd_umem_put(m->umem);
		nm_mem_fini(&m->mem);
		free(m);
		return status;
	}
	pd->users++;
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_mkey(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_mkey *m = (struct nm_mkey *)nm_cmd_own(c, NM_OBJ_MKEY,
							 PRM_GET(obj_in, c->in, number), &status);

	if (m)
		memcpy(PRM_PTR(query_mkey_out, c->out, mkc), m->mkc, sizeof(m->mkc));
	return status;
}

void nm_mkey_free(struct nm_obj *obj)
{
	struct nm_mkey *m = (struct nm_mkey *)obj;
	struct nm_obj *pd = nm_obj_get(obj->nic, NM_OBJ_PD, m->pdn);

	nm_qp_forget_mkey(obj->nic, m);
	assert(pd && pd->users);
	pd->users--;
	nm_cmd_umem_put(m->umem);
	nm_mem_fini(&m->mem);
	nm_plain_free(obj);
}

uint8_t nm_cmd_destroy_mkey(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_MKEY, PRM_GET(obj_in, c->in, number), nm_mkey_free);
}
