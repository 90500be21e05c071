/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands for what holds no queue: PD, UAR, transport domain, counter set, user context, umem. */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

static uint8_t plain_alloc(struct nm_cmd *c, enum nm_obj_type type, size_t size)
{
	struct nm_obj *obj = calloc(1, size);
	uint8_t status;

	if (!obj)
		return nm_cmd_no_memory(c);
	status = nm_cmd_publish(c, obj, type);
	if (status)
		free(obj);
	return status;
}

static uint32_t in_number(const struct nm_cmd *c)
{
	return PRM_GET(obj_in, c->in, number);
}

void nm_plain_free(struct nm_obj *obj)
{
	nm_obj_remove(obj->nic, obj);
	free(obj);
}

void nm_qcounter_free(struct nm_obj *obj)
{
	nm_qcounter_forget(obj->nic, (struct nm_qcounter *)obj);
	nm_plain_free(obj);
}

/* ---- PD, transport domain, counter set ---- */

void nm_pd_free(struct nm_obj *obj)
{
	nm_plain_free(obj);
}

uint8_t nm_cmd_alloc_pd(struct nm_cmd *c)
{
	return plain_alloc(c, NM_OBJ_PD, sizeof(struct nm_pd));
}

uint8_t nm_cmd_dealloc_pd(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_PD, in_number(c), nm_pd_free);
}

uint8_t nm_cmd_alloc_td(struct nm_cmd *c)
{
	return plain_alloc(c, NM_OBJ_TD, sizeof(struct nm_obj));
}

uint8_t nm_cmd_dealloc_td(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_TD, in_number(c), nm_plain_free);
}

uint8_t nm_cmd_alloc_q_counter(struct nm_cmd *c)
{
	return plain_alloc(c, NM_OBJ_QCOUNTER, sizeof(struct nm_qcounter));
}

uint8_t nm_cmd_dealloc_q_counter(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_QCOUNTER, in_number(c) & 0xff, nm_qcounter_free);
}

/* ---- UAR pages ---- */

void nm_uar_free(struct nm_obj *obj)
{
	nm_obj_remove(obj->nic, obj);
	free(((struct nm_uar *)obj)->qps);
	free(obj);
}

void nm_uar_put(struct nm_uar *uar)
{
	assert(uar->obj.users);
	if (!--uar->obj.users && uar->freed)
		nm_uar_free(&uar->obj);
}

uint8_t nm_cmd_alloc_uar(struct nm_cmd *c)
{
	struct nm_uar *uar = calloc(1, sizeof(*uar));
	uint8_t status;

	if (!uar)
		return nm_cmd_no_memory(c);
	status = nm_cmd_publish(c, &uar->obj, NM_OBJ_UAR);
	if (status) {
		free(uar);
		return status;
	}
	uar->page =
		(uint8_t *)c->nic->config.uar_base + (size_t)uar->obj.number * PRM_UAR_PAGE_SIZE;
	memset(uar->page, 0,
	       PRM_UAR_PAGE_SIZE); /* no ring of its last owner may be taken for a new one */
	return PRM_STATUS_OK;
}

/* A page that queues still use leaves with the last of them; until then nobody can name it. */
uint8_t nm_cmd_dealloc_uar(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_uar *uar = (struct nm_uar *)nm_cmd_own(c, NM_OBJ_UAR, in_number(c), &status);

	if (!uar)
		return status;
	if (uar->obj.users)
		uar->freed = true;
	else
		nm_uar_free(&uar->obj);
	return PRM_STATUS_OK;
}

/* ---- user contexts ---- */

uint8_t nm_cmd_create_uctx(struct nm_cmd *c)
{
	return plain_alloc(c, NM_OBJ_UCTX, sizeof(struct nm_obj));
}

uint8_t nm_cmd_destroy_uctx(struct nm_cmd *c)
{
	uint16_t uid = (uint16_t)PRM_GET(destroy_uctx_in, c->in, uid);
	uint8_t status;
	struct nm_obj *obj = nm_cmd_own(c, NM_OBJ_UCTX, uid, &status);

	if (!obj)
		return status;
	nm_obj_free_owned(c->nic, uid, false);
	nm_plain_free(obj);
	return PRM_STATUS_OK;
}

/* ---- umems ---- */

void nm_umem_free(struct nm_obj *obj)
{
	nm_mem_fini(&((struct nm_umem *)obj)->mem);
	nm_plain_free(obj);
}

uint8_t nm_cmd_create_umem(struct nm_cmd *c)
{
	const uint8_t *ctx = PRM_CPTR(create_umem_in, c->in, umem);
	uint64_t pages = PRM_GET64(umem, ctx, num_of_mtt);
	uint64_t room = (c->in_len - PRM_create_umem_in_mtt_OFF) / 8;
	uint32_t page_off = PRM_GET(umem, ctx, page_offset);
	uint32_t log_page = PRM_GET(umem, ctx, log_page_size) + NM_LOG_ADAPTER_PAGE;
	struct nm_cmd_region r = {.what = "umem", .pas_off = PRM_create_umem_in_mtt_OFF};
	struct nm_umem *umem, *none;
	uint8_t status;

	if (!pages || pages > room)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PAGES,
				   "num_of_mtt is %llu, the mailbox holds %llu pages",
				   (unsigned long long)pages, (unsigned long long)room);
	if (log_page > NM_LOG_PAGE_MAX || pages > UINT64_MAX >> log_page ||
	    (uint64_t)page_off >> log_page)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "%llu pages of 2^%u bytes from offset %u",
				   (unsigned long long)pages, log_page, page_off);
	r.log_page = (uint8_t)log_page;
	r.page_off = page_off;
	r.len = (pages << log_page) - page_off;
	umem = calloc(1, sizeof(*umem));
	if (!umem)
		return nm_cmd_no_memory(c);
	status = nm_cmd_region(c, &r, &umem->mem, &none);
	if (!status)
		status = nm_cmd_publish(c, &umem->obj, NM_OBJ_UMEM);
	if (status) {
		nm_mem_fini(&umem->mem);
		free(umem);
	}
	return status;
}

uint8_t nm_cmd_destroy_umem(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_UMEM, in_number(c), nm_umem_free);
}
