/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of completion and event queues. */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/cq.h"

enum {
	NM_LOG_CQ_MAX = 22, /* as the capability tells */
	NM_LOG_EQ_MAX = 22,
	NM_CQE_SZ_128 = 1, /* cqc.cqe_sz: 0 is 64, 1 is 128, 2 is 128 with padding */
	NM_CQE_SZ_128_PAD = 2,
	NM_CQ_OP_MOD_RESIZE = 1,
	NM_CQ_STATUS_OVERFLOW = 9, /* cqc.status */
	NM_PAGE_OFFSET_UNITS = 64, /* page_offset counts 64ths of a page */
	NM_CQ_PERIOD_FROM_CQE = 1, /* cqc.cq_period_mode: the timer restarts with each CQE */
	NM_NS_PER_US = 1000,
};

/* MODIFY_CQ field_select (PRM: bits of the fields that a plain modify may change). */
enum { NM_CQ_RESIZE_FIELDS = 7 }; /* resize: log_cq_size, page_offset, log_page_size */
enum { NM_CQ_SEL_PERIOD = 1, NM_CQ_SEL_COUNT = 2, NM_CQ_SEL_OI = 4, NM_CQ_SEL_PERIOD_MODE = 16 };

/* ---- EQ ---- */

static uint8_t eq_ring(struct nm_cmd *c, struct nm_eq *eq)
{
	uint32_t log_page = PRM_GET(eqc, eq->eqc, log_page_size) + NM_LOG_ADAPTER_PAGE;
	struct nm_cmd_region r = {
		.what = "EQ",
		.pas_off = PRM_create_eq_in_pas_OFF,
		.log_page = (uint8_t)log_page,
		.page_off = ((uint64_t)PRM_GET(eqc, eq->eqc, page_offset) << log_page) /
			    NM_PAGE_OFFSET_UNITS,
		.len = (uint64_t)PRM_EQE_SIZE << eq->log_size};
	struct nm_umem *none;

	if (c->in_len <= r.pas_off && eq->overrun_ignore)
		return PRM_STATUS_OK; /* no ring: events go to the owner alone */
	if (r.page_off % PRM_EQE_SIZE)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "page_offset puts the ring %llu bytes into a page",
				   (unsigned long long)r.page_off);
	return nm_cmd_region(c, &r, &eq->mem, &none);
}

static uint8_t eq_build(struct nm_cmd *c, struct nm_eq *eq)
{
	uint8_t status;

	eq->obj.nic = c->nic;
	memcpy(eq->eqc, PRM_CPTR(create_eq_in, c->in, eq_context), sizeof(eq->eqc));
	eq->log_size = (uint8_t)PRM_GET(eqc, eq->eqc, log_eq_size);
	eq->overrun_ignore = PRM_GET(eqc, eq->eqc, oi);
	eq->intr = PRM_GET(eqc, eq->eqc, intr);
	eq->event_mask = PRM_GET64(create_eq_in, c->in, event_bitmask);
	if (eq->log_size > NM_LOG_EQ_MAX)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "log_eq_size is %u, at most %d", eq->log_size, NM_LOG_EQ_MAX);
	status = eq_ring(c, eq);
	if (status)
		return status;
	if (nm_eq_start(eq))
		return nm_cmd_no_memory(c);
	return nm_cmd_publish(c, &eq->obj, NM_OBJ_EQ);
}

static void eq_undo(struct nm_eq *eq)
{
	nm_eq_stop(eq);
	nm_mem_fini(&eq->mem);
}

uint8_t nm_cmd_create_eq(struct nm_cmd *c)
{
	struct nm_eq *eq = calloc(1, sizeof(*eq));
	uint8_t status;

	if (!eq)
		return nm_cmd_no_memory(c);
	status = eq_build(c, eq);
	if (status) {
		eq_undo(eq);
		free(eq);
	}
	return status; /* NOLINT(clang-analyzer-unix.Malloc): the table holds it */
}

uint8_t nm_cmd_query_eq(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_eq *eq = (struct nm_eq *)nm_cmd_own(
		c, NM_OBJ_EQ, PRM_GET(destroy_eq_in, c->in, eq_number), &status);
	uint8_t *eqc = PRM_PTR(query_eq_out, c->out, eq_context);

	if (!eq)
		return status;
	memcpy(eqc, eq->eqc, sizeof(eq->eqc));
	PRM_SET(eqc, eqc, consumer_counter, eq->consumer);
	PRM_SET(eqc, eqc, producer_counter, eq->producer);
	return PRM_STATUS_OK;
}

void nm_eq_free(struct nm_obj *obj)
{
	eq_undo((struct nm_eq *)obj);
	nm_plain_free(obj);
}

uint8_t nm_cmd_destroy_eq(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_EQ, PRM_GET(destroy_eq_in, c->in, eq_number), nm_eq_free);
}

/* ---- CQ ---- */

static uint8_t cq_geometry(struct nm_cmd *c, struct nm_cq *cq)
{
	uint32_t cqe_sz = PRM_GET(cqc, cq->cqc, cqe_sz);

	cq->log_size = (uint8_t)PRM_GET(cqc, cq->cqc, log_cq_size);
	cq->cqe_sz = cqe_sz ? 128 : 64;
	cq->collapsed = PRM_GET(cqc, cq->cqc, cc);
	cq->overrun_ignore = PRM_GET(cqc, cq->cqc, oi);
	cq->always_armed = PRM_GET(cqc, cq->cqc, always_armed_cq);
	cq->eqn = PRM_GET(cqc, cq->cqc, c_eqn_or_apu_element);
	if (cq->log_size > NM_LOG_CQ_MAX)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "log_cq_size is %u, at most %d", cq->log_size, NM_LOG_CQ_MAX);
	if (cqe_sz != 0 && cqe_sz != NM_CQE_SZ_128 && cqe_sz != NM_CQE_SZ_128_PAD)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "cqe_sz is %u; 0 (64 bytes), 1 and 2 (128 bytes) exist", cqe_sz);
	return PRM_STATUS_OK;
}

/* What the data path needs of the moderation fields. */
static void cq_moderation(struct nm_cq *cq)
{
	cq->mod_period_ns = (uint64_t)PRM_GET(cqc, cq->cqc, cq_period) * NM_NS_PER_US;
	cq->mod_count = PRM_GET(cqc, cq->cqc, cq_max_count);
	cq->mod_from_cqe = PRM_GET(cqc, cq->cqc, cq_period_mode) == NM_CQ_PERIOD_FROM_CQE;
	cq->mod_break = PRM_GET(cqc, cq->cqc, scqe_break_moderation_en);
}

/* The ring of 1 << log_size entries that the mailbox describes: MODIFY_CQ has page list and umem
 * where CREATE_CQ has them. */
static uint8_t cq_ring(struct nm_cmd *c, const struct nm_cq *cq, uint8_t log_size,
		       struct nm_mem *mem, struct nm_umem **umem)
{
	const uint8_t *cqc = PRM_CPTR(create_cq_in, c->in, cq_context);
	uint32_t log_page = PRM_GET(cqc, cqc, log_page_size) + NM_LOG_ADAPTER_PAGE;
	struct nm_cmd_region r = {
		.what = "CQ",
		.umem_valid = PRM_GET(create_cq_in, c->in, cq_umem_valid),
		.umem_id = PRM_GET(create_cq_in, c->in, cq_umem_id),
		.umem_off = PRM_GET64(create_cq_in, c->in, cq_umem_offset),
		.pas_off = PRM_create_cq_in_pas_OFF,
		.log_page = (uint8_t)log_page,
		.page_off = ((uint64_t)PRM_GET(cqc, cqc, page_offset) << log_page) /
			    NM_PAGE_OFFSET_UNITS,
		/* A collapsed CQ has one entry whatever its size says. */
		.len = cq->collapsed ? cq->cqe_sz : (uint64_t)cq->cqe_sz << log_size};
	uint8_t status = nm_cmd_region(c, &r, mem, umem);

	for (uint32_t n = 0; !status && n < mem->next; n++) {
		if (mem->ext[n].addr % cq->cqe_sz)
			return nm_cmd_fail(
				c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
				"the ring at 0x%llx is not aligned to its entries of %u bytes",
				(unsigned long long)mem->ext[n].addr, cq->cqe_sz);
	}
	return status;
}

static uint8_t cq_build(struct nm_cmd *c, struct nm_cq *cq)
{
	uint32_t uar_page;
	uint8_t status;

	cq->obj.nic = c->nic;
	memcpy(cq->cqc, PRM_CPTR(create_cq_in, c->in, cq_context), sizeof(cq->cqc));
	status = cq_geometry(c, cq);
	if (status)
		return status;
	cq->eq = (struct nm_eq *)nm_cmd_use(c, NM_OBJ_EQ, cq->eqn, &status);
	if (!cq->eq)
		return status;
	uar_page = PRM_GET(cqc, cq->cqc, uar_page);
	cq->uar = (struct nm_uar *)nm_cmd_use(c, NM_OBJ_UAR, uar_page, &status);
	if (!cq->uar)
		return status;
	cq_moderation(cq);
	status = cq_ring(c, cq, cq->log_size, &cq->mem, &cq->umem);
	if (!status)
		status = nm_cmd_dbr(c, PRM_GET(cqc, cq->cqc, dbr_umem_valid),
				    PRM_GET(cqc, cq->cqc, dbr_umem_id),
				    PRM_GET64(cqc, cq->cqc, dbr_addr), &cq->dbr, &cq->dbr_umem);
	if (status)
		return status;
	if (nm_cq_start(cq))
		return nm_cmd_no_memory(c);
	return nm_cmd_publish(c, &cq->obj, NM_OBJ_CQ);
}

static void cq_undo(struct nm_cq *cq)
{
	nm_cq_stop(cq);
	nm_dbr_fini(&cq->dbr);
	nm_mem_fini(&cq->mem);
	nm_cmd_umem_put(cq->umem);
	nm_cmd_umem_put(cq->dbr_umem);
}

uint8_t nm_cmd_create_cq(struct nm_cmd *c)
{
	struct nm_cq *cq = calloc(1, sizeof(*cq));
	uint8_t status;

	if (!cq)
		return nm_cmd_no_memory(c);
	status = cq_build(c, cq);
	if (status) {
		cq_undo(cq);
		free(cq);
		return status;
	}
	cq->eq->obj.users++;
	cq->uar->obj.users++;
	nm_uar_add_cq(cq);
	return PRM_STATUS_OK;
}

static uint32_t cq_number(const struct nm_cmd *c)
{
	return PRM_GET(obj_in, c->in, number);
}

uint8_t nm_cmd_query_cq(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_cq *cq = (struct nm_cq *)nm_cmd_own(c, NM_OBJ_CQ, cq_number(c), &status);
	uint8_t *cqc = PRM_PTR(query_cq_out, c->out, cq_context);
	uint32_t ci;

	if (!cq)
		return status;
	if (cq->dbr.flat && !nm_dbr_read(c->nic, &cq->dbr, 0, &ci))
		cq->consumer = ci & 0xffffff;
	memcpy(cqc, cq->cqc, sizeof(cq->cqc));
	PRM_SET(cqc, cqc, status, cq->dead ? NM_CQ_STATUS_OVERFLOW : 0);
	PRM_SET(cqc, cqc, st, cq->arm_state);
	PRM_SET(cqc, cqc, last_notified_index, cq->last_notified);
	PRM_SET(cqc, cqc, last_solicit_index, cq->last_solicited);
	PRM_SET(cqc, cqc, consumer_counter, cq->consumer);
	PRM_SET(cqc, cqc, producer_counter, cq->producer);
	return PRM_STATUS_OK;
}

static uint8_t resize_refused(struct nm_cmd *c, const struct nm_cq *cq, uint8_t log_size, int err)
{
	if (err == -ENOMEM)
		return nm_cmd_no_memory(c);
	if (err == -ENOSPC)
		return nm_cmd_fail(c, PRM_STATUS_BAD_SIZE_OUTS, NM_SYND_STATE,
				   "CQ 0x%x: %u CQEs are not consumed, and one more entry must fit "
				   "into %u entries before and %u after",
				   cq->obj.number, (cq->producer - cq->consumer) & 0xffffff,
				   1u << cq->log_size, 1u << log_size);
	return nm_cmd_fail(c, PRM_STATUS_BAD_RES_STATE, NM_SYND_STATE,
			   "CQ 0x%x has failed, or its ring or record cannot be reached",
			   cq->obj.number);
}

static uint8_t cq_resize(struct nm_cmd *c, struct nm_cq *cq)
{
	const uint8_t *cqc = PRM_CPTR(modify_cq_in, c->in, cq_context);
	uint32_t log_size = PRM_GET(cqc, cqc, log_cq_size);
	uint32_t select = PRM_GET(modify_cq_in, c->in, field_select);
	struct nm_umem *umem = NULL;
	struct nm_mem mem = {0};
	uint8_t status;
	int err;

	if (select != NM_CQ_RESIZE_FIELDS || log_size > NM_LOG_CQ_MAX || cq->collapsed)
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
			"resize of %s CQ 0x%x: field_select 0x%x, expected 7; log_cq_size "
			"%u, at most %d",
			cq->collapsed ? "the collapsed" : "the", cq->obj.number, select, log_size,
			NM_LOG_CQ_MAX);
	status = cq_ring(c, cq, (uint8_t)log_size, &mem, &umem);
	if (status) {
		nm_mem_fini(&mem);
		nm_cmd_umem_put(umem);
		return status;
	}
	err = nm_cq_resize(cq, &mem, (uint8_t)log_size);
	if (!err) {
		struct nm_umem *old = cq->umem;

		cq->umem = umem;
		umem = old;
		PRM_SET(cqc, cq->cqc, log_cq_size, log_size);
		PRM_SET(cqc, cq->cqc, log_page_size, PRM_GET(cqc, cqc, log_page_size));
		PRM_SET(cqc, cq->cqc, page_offset, PRM_GET(cqc, cqc, page_offset));
	}
	nm_mem_fini(&mem);
	nm_cmd_umem_put(umem);
	return err ? resize_refused(c, cq, (uint8_t)log_size, err) : PRM_STATUS_OK;
}

uint8_t nm_cmd_modify_cq(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_cq *cq = (struct nm_cq *)nm_cmd_own(c, NM_OBJ_CQ, cq_number(c), &status);
	const uint8_t *cqc = PRM_CPTR(modify_cq_in, c->in, cq_context);
	uint32_t select = PRM_GET(modify_cq_in, c->in, field_select);
	const uint32_t known =
		NM_CQ_SEL_PERIOD | NM_CQ_SEL_COUNT | NM_CQ_SEL_OI | NM_CQ_SEL_PERIOD_MODE;

	if (!cq)
		return status;
	if (c->op_mod == NM_CQ_OP_MOD_RESIZE)
		return cq_resize(c, cq);
	if (c->op_mod || (select & ~known))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "op_mod %u, field_select 0x%x", c->op_mod, select);
	if (select & NM_CQ_SEL_PERIOD)
		PRM_SET(cqc, cq->cqc, cq_period, PRM_GET(cqc, cqc, cq_period));
	if (select & NM_CQ_SEL_COUNT)
		PRM_SET(cqc, cq->cqc, cq_max_count, PRM_GET(cqc, cqc, cq_max_count));
	if (select & NM_CQ_SEL_PERIOD_MODE)
		PRM_SET(cqc, cq->cqc, cq_period_mode, PRM_GET(cqc, cqc, cq_period_mode));
	if (select & NM_CQ_SEL_OI) {
		cq->overrun_ignore = PRM_GET(cqc, cqc, oi);
		PRM_SET(cqc, cq->cqc, oi, cq->overrun_ignore);
	}
	cq_moderation(cq);
	return PRM_STATUS_OK;
}

void nm_cq_free(struct nm_obj *obj)
{
	struct nm_cq *cq = (struct nm_cq *)obj;

	nm_cq_wake_waiters(cq);
	nm_uar_remove_cq(cq);
	nm_uar_put(cq->uar);
	assert(cq->eq->obj.users);
	cq->eq->obj.users--;
	cq_undo(cq);
	nm_plain_free(obj);
}

uint8_t nm_cmd_destroy_cq(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_CQ, cq_number(c), nm_cq_free);
}
