/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_MKEY, QUERY_MKEY, DESTROY_MKEY; keys of every access mode. */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

enum {
	NM_MKEY_LOG_PAGE_MAX = 31,     /* 5 bits of log_page_size, as the driver uses them */
	NM_KLM_OCTWORDS_MAX = 1 << 16, /* log_max_klm_list_size */
	NM_MTT_OCTWORDS_MAX = 1 << 20, /* of a page list that WQEs change */
	NM_OCTWORD = 16,
	NM_XLT_UNIT = 4, /* octwords in which translation entries are written (PRM, UMR) */
};

static const struct {
	uint8_t right;
	uint8_t lo; /* bit of the first dword of the context */
} mkc_rights[] = {
	{NM_ACC_A, PRM_mkc_a_LO},   {NM_ACC_RW, PRM_mkc_rw_LO}, {NM_ACC_RR, PRM_mkc_rr_LO},
	{NM_ACC_LW, PRM_mkc_lw_LO}, {NM_ACC_LR, PRM_mkc_lr_LO},
};

void nm_mkey_decode(struct nm_mkey *m)
{
	const uint8_t *mkc = m->mkc;
	uint32_t word = prm_load32(mkc);

	m->access = 0;
	for (size_t n = 0; n < sizeof(mkc_rights) / sizeof(mkc_rights[0]); n++) {
		if (word >> mkc_rights[n].lo & 1)
			m->access |= mkc_rights[n].right;
	}
	m->mode = (uint8_t)(PRM_GET(mkc, mkc, access_mode_4_2) << 2 |
			    PRM_GET(mkc, mkc, access_mode_1_0));
	m->tag = (uint8_t)PRM_GET(mkc, mkc, mkey_7_0);
	m->free = PRM_GET(mkc, mkc, free);
	m->umr_en = PRM_GET(mkc, mkc, umr_en);
	m->en_rinval = PRM_GET(mkc, mkc, en_rinval);
	m->length64 = PRM_GET(mkc, mkc, length64);
	m->pdn = PRM_GET(mkc, mkc, pd);
	m->qpn = PRM_GET(mkc, mkc, qpn);
	m->start = m->mode == PRM_MKC_MODE_MEMIC ? 0 : PRM_GET64(mkc, mkc, start_addr);
	m->len = PRM_GET64(mkc, mkc, len);
}

/* From entries that WQEs wrote. The first page's offset is in the low bits of start. */
static const char *pages_translate(struct nm_mkey *m)
{
	uint32_t log_page = PRM_GET(mkc, m->mkc, log_page_size);
	uint64_t page_off;

	if (log_page < NM_LOG_ADAPTER_PAGE || log_page > NM_MKEY_LOG_PAGE_MAX)
		return "log_page_size is not from 12 to 31";
	page_off = m->start & ((UINT64_C(1) << log_page) - 1);
	nm_mem_fini(&m->mem);
	switch (nm_mem_init(&m->mem, m->space, m->xlt, m->xlt_octwords * 2, (uint8_t)log_page,
			    page_off, m->len)) {
	case 0:
		return NULL;
	case -EINVAL:
		return "the key has fewer pages than its length takes";
	default:
		return "no memory for its pages";
	}
}

const char *nm_mkey_translate(struct nm_mkey *m)
{
	if (m->free)
		return NULL;
	if (nm_mkey_is_list(m))
		return nm_klm_decode(m);
	return m->mode == PRM_MKC_MODE_MTT && m->xlt ? pages_translate(m) : NULL;
}

static uint8_t mkey_check(struct nm_cmd *c, const struct nm_mkey *m)
{
	if (m->mode > PRM_MKC_MODE_KSM && m->mode != PRM_MKC_MODE_MEMIC)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "access mode %u; physical (0), page-list (1), KLM (2), KSM (3) "
				   "and device-memory (5) keys are modelled",
				   m->mode);
	if (PRM_GET(mkc, m->mkc, bsf_en))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "a key with signature or encryption (bsf_en)");
	if ((m->mode == PRM_MKC_MODE_PA || m->mode == PRM_MKC_MODE_MEMIC) && c->uid)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PRIVILEGE,
				   "user context %u may not make a key of %s", c->uid,
				   m->mode == PRM_MKC_MODE_PA ? "physical addresses"
							      : "device memory");
	if (m->mode == PRM_MKC_MODE_PA && !c->space)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
				   "its issuer has no memory");
	if (m->mode == PRM_MKC_MODE_MTT && m->length64 && !m->free)
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
			"length64 with a page list: no list describes the whole address space");
	if (nm_mkey_is_list(m) && m->length64)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "length64 with a list of keys");
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

/*
 * Room for the translation of a key that WQEs change or that is a list, with what the mailbox
 * gives of it.
 */
static uint8_t mkey_entries(struct nm_cmd *c, struct nm_mkey *m)
{
	uint32_t max = nm_mkey_is_list(m) ? NM_KLM_OCTWORDS_MAX : NM_MTT_OCTWORDS_MAX;
	uint32_t given = PRM_GET(create_mkey_in, c->in, translations_octword_actual_size);
	uint64_t room = c->in_len - PRM_create_mkey_in_klm_pas_mtt_OFF;
	const char *fault;

	m->xlt_octwords = PRM_GET(mkc, m->mkc, translations_octword_size);
	if (m->xlt_octwords < given)
		m->xlt_octwords = given;
	if (m->xlt_octwords > max)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "translations_octword_size is %u, at most %u", m->xlt_octwords,
				   max);
	if ((uint64_t)given * NM_OCTWORD > room)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PAGES,
				   "%u entries of 16 bytes in a mailbox with room for %llu", given,
				   (unsigned long long)room / NM_OCTWORD);
	/* mlx5_ib's WQEs always write whole units, however few pages they mean. */
	m->xlt_octwords = (m->xlt_octwords + NM_XLT_UNIT - 1) / NM_XLT_UNIT * NM_XLT_UNIT;
	m->xlt = calloc(m->xlt_octwords ? m->xlt_octwords : 1, NM_OCTWORD);
	if (!m->xlt)
		return nm_cmd_no_memory(c);
	if (m->free)
		return PRM_STATUS_OK;
	memcpy(m->xlt, PRM_CPTR(create_mkey_in, c->in, klm_pas_mtt), (size_t)given * NM_OCTWORD);
	fault = nm_mkey_translate(m);
	return fault ? nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PAGES, "%s", fault)
		     : PRM_STATUS_OK;
}

/* start_addr says where the device memory is; its addresses in WQEs count from 0, as mlx5_ib asks
 * of who registers it (IBV_ACCESS_ZERO_BASED). */
static uint8_t mkey_memic(struct nm_cmd *c, struct nm_mkey *m)
{
	uint64_t first = PRM_GET64(mkc, m->mkc, start_addr);
	uint64_t page = first & ~(uint64_t)(PRM_UAR_PAGE_SIZE - 1);
	uint64_t count = (first - page + m->len + PRM_UAR_PAGE_SIZE - 1) / PRM_UAR_PAGE_SIZE;
	uint8_t *pas;
	int err;

	m->memic = nm_memic_find(c->nic, first, m->len);
	if (!m->memic)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_RANGE,
				   "[0x%llx, + 0x%llx) is not in one piece of device memory",
				   (unsigned long long)first, (unsigned long long)m->len);
	pas = calloc(count + 1, 8);
	if (!pas)
		return nm_cmd_no_memory(c);
	for (uint64_t i = 0; i < count; i++)
		prm_store64(pas + 8 * i, page + i * PRM_UAR_PAGE_SIZE);
	err = nm_mem_init(&m->mem, &c->nic->memic.space, pas, (uint32_t)count, NM_LOG_ADAPTER_PAGE,
			  first - page, m->len);
	free(pas);
	if (err)
		return nm_cmd_no_memory(c);
	m->memic->obj.users++;
	return PRM_STATUS_OK;
}

static uint8_t mkey_translation(struct nm_cmd *c, struct nm_mkey *m)
{
	bool umem = PRM_GET(create_mkey_in, c->in, mkey_umem_valid);

	if (nm_mkey_is_list(m) || (m->mode == PRM_MKC_MODE_MTT && m->umr_en && !umem))
		return mkey_entries(c, m);
	if (m->free || m->mode == PRM_MKC_MODE_PA)
		return PRM_STATUS_OK;
	return m->mode == PRM_MKC_MODE_MEMIC ? mkey_memic(c, m) : mkey_pages(c, m);
}

/* A driver may ask for the index that a key had before: it makes the key anew with other memory. */
static uint8_t mkey_publish(struct nm_cmd *c, struct nm_mkey *m)
{
	uint32_t index = PRM_GET(create_mkey_in, c->in, mkey_index);

	if (!index)
		return nm_cmd_publish(c, &m->obj, NM_OBJ_MKEY);
	if (nm_obj_add_at(c->nic, &m->obj, NM_OBJ_MKEY, c->uid, index))
		return nm_cmd_fail(c, PRM_STATUS_IX_ERR, NM_SYND_FIELD,
				   "mkey index 0x%x is in use or was never given", index);
	PRM_SET(obj_out, c->out, number, index);
	return PRM_STATUS_OK;
}

static void mkey_undo(struct nm_mkey *m)
{
	nm_cmd_umem_put(m->umem);
	if (m->memic)
		m->memic->obj.users--;
	nm_mem_fini(&m->mem);
	free(m->xlt);
	free(m->klm);
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
	memcpy(m->mkc, mkc, sizeof(m->mkc));
	nm_mkey_decode(m);
	m->obj.nic = c->nic;
	m->space = c->space;
	status = mkey_check(c, m);
	if (!status)
		status = mkey_translation(c, m);
	if (!status)
		status = mkey_publish(c, m);
	if (status) {
		mkey_undo(m);
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
	mkey_undo(m);
	nm_plain_free(obj);
}

uint8_t nm_cmd_destroy_mkey(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_MKEY, PRM_GET(obj_in, c->in, number), nm_mkey_free);
}
