// SPDX-License-Identifier: BSD-3-Clause
/*
 * Commands of shared receive queues and XRC domains. Three families say the same with different
 * contexts: RMP (what a driver makes of a plain SRQ), XRC_SRQ, and SRQ, which older drivers use.
 * Each is read into one struct srq_request.
 */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/srq.h"

enum { NM_PAGE_OFFSET_UNITS = 64 }; /* page_offset counts 64ths of a page */

struct srq_request {
	enum nm_srq_kind kind;
	const char *name;
	const uint8_t *ctx; /* ctx_len bytes */
	size_t ctx_len;
	uint32_t log_size, log_stride; /* log2 of WQEs, bytes */
	bool cyclic;
	uint32_t pdn, cqn, xrcdn, user_index;
	uint16_t limit;
	uint64_t dbr_addr;
	bool dbr_umem_valid;
	uint32_t dbr_umem_id;
	uint32_t log_page, page_units; /* of the page list: log2 of 4 KiB pages, 64ths of a page */
	struct nm_cmd_region ring;
};

/* ---- create ---- */

static uint8_t srq_geometry(struct nm_cmd *c, const struct srq_request *r)
{
	/* A next segment and one of data, or one of data alone. */
	const uint32_t least = NM_LOG_SRQ_STRIDE_MIN + (r->cyclic ? 0u : 1u);

	if (r->log_size > NM_LOG_SRQ_MAX)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "2^%u WQEs, at most 2^%d", r->log_size, NM_LOG_SRQ_MAX);
	if (r->log_stride < least || r->log_stride > NM_LOG_SRQ_STRIDE_MAX)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "WQEs of 2^%u bytes, expected 2^%u to 2^%d", r->log_stride,
				   least, NM_LOG_SRQ_STRIDE_MAX);
	if (r->log_page + NM_LOG_ADAPTER_PAGE > NM_LOG_PAGE_MAX)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "pages of 2^%u bytes, at most 2^%d",
				   r->log_page + NM_LOG_ADAPTER_PAGE, NM_LOG_PAGE_MAX);
	if (r->limit > 1u << r->log_size)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "limit (lwm) %u of %u WQEs", r->limit, 1u << r->log_size);
	return PRM_STATUS_OK;
}

static uint8_t srq_objects(struct nm_cmd *c, struct nm_srq *srq, const struct srq_request *r)
{
	uint8_t status;

	srq->pd = (struct nm_pd *)nm_cmd_use(c, NM_OBJ_PD, r->pdn, &status);
	if (!srq->pd || r->kind != NM_SRQ_XRC)
		return status;
	srq->xrcd = (struct nm_xrcd *)nm_cmd_use(c, NM_OBJ_XRCD, r->xrcdn, &status);
	if (!srq->xrcd)
		return status;
	srq->cq = (struct nm_cq *)nm_cmd_use(c, NM_OBJ_CQ, r->cqn, &status);
	return status;
}

static uint8_t srq_build(struct nm_cmd *c, struct nm_srq *srq, struct srq_request *r)
{
	uint8_t status = srq_geometry(c, r);

	srq->obj.nic = c->nic;
	srq->kind = r->kind;
	srq->pdn = r->pdn;
	srq->user_index = r->user_index;
	srq->log_size = (uint8_t)r->log_size;
	srq->log_stride = (uint8_t)r->log_stride;
	srq->cyclic = r->cyclic;
	assert(r->ctx_len <= sizeof(srq->ctx));
	memcpy(srq->ctx, r->ctx, r->ctx_len);
	if (!status)
		status = srq_objects(c, srq, r);
	if (status)
		return status;
	r->ring.what = r->name;
	r->ring.log_page = (uint8_t)(r->log_page + NM_LOG_ADAPTER_PAGE);
	r->ring.page_off = ((uint64_t)r->page_units << r->ring.log_page) / NM_PAGE_OFFSET_UNITS;
	r->ring.len = UINT64_C(1) << (r->log_size + r->log_stride);
	status = nm_cmd_region(c, &r->ring, &srq->mem, &srq->umem);
	if (!status)
		status = nm_cmd_dbr(c, r->dbr_umem_valid, r->dbr_umem_id, r->dbr_addr, &srq->dbr,
				    &srq->dbr_umem);
	return status ? status : nm_cmd_publish(c, &srq->obj, NM_OBJ_SRQ);
}

static void srq_undo(struct nm_srq *srq)
{
	nm_dbr_fini(&srq->dbr);
	nm_mem_fini(&srq->mem);
	nm_cmd_umem_put(srq->umem);
	nm_cmd_umem_put(srq->dbr_umem);
}

static uint8_t srq_create(struct nm_cmd *c, struct srq_request *r)
{
	struct nm_srq *srq = calloc(1, sizeof(*srq));
	uint8_t status;

	if (!srq)
		return nm_cmd_no_memory(c);
	status = srq_build(c, srq, r);
	if (status) {
		srq_undo(srq);
		free(srq);
		return status;
	}
	srq->pd->obj.users++;
	if (srq->cq)
		srq->cq->obj.users++;
	if (srq->xrcd)
		srq->xrcd->obj.users++;
	/* Where the XRC queue's number is its user index, it is known only now. */
	if (r->kind == NM_SRQ_XRC && PRM_GET(xrc_srqc, r->ctx, user_index_equal_xrc_srqn))
		srq->user_index = srq->obj.number;
	if (r->limit)
		nm_srq_arm(srq, r->limit);
	return PRM_STATUS_OK; /* NOLINT(clang-analyzer-unix.Malloc): the table holds it */
}

uint8_t nm_cmd_create_rmp(struct nm_cmd *c)
{
	const uint8_t *ctx = PRM_CPTR(create_rmp_in, c->in, rmpc);
	const uint8_t *wq = PRM_CPTR(rmpc, ctx, wq);
	struct srq_request r = {
		.kind = NM_SRQ_RMP,
		.name = "RMP",
		.ctx = ctx,
		.ctx_len = PRM_rmpc_SIZE,
		.log_size = PRM_GET(wq, wq, log_wq_sz),
		.log_stride = PRM_GET(wq, wq, log_wq_stride),
		.cyclic = PRM_GET(rmpc, ctx, basic_cyclic_rcv_wqe),
		.pdn = PRM_GET(wq, wq, pd),
		.limit = (uint16_t)PRM_GET(wq, wq, lwm),
		.dbr_addr = PRM_GET64(wq, wq, dbr_addr),
		.dbr_umem_valid = PRM_GET(wq, wq, dbr_umem_valid),
		.dbr_umem_id = PRM_GET(wq, wq, dbr_umem_id),
		.log_page = PRM_GET(wq, wq, log_wq_pg_sz),
		.page_units = PRM_GET(wq, wq, page_offset),
		.ring = {.pas_off = PRM_create_rmp_in_pas_OFF,
			 .umem_valid = PRM_GET(wq, wq, wq_umem_valid),
			 .umem_id = PRM_GET(wq, wq, wq_umem_id),
			 .umem_off = PRM_GET64(wq, wq, wq_umem_offset)},
	};

	if (PRM_GET(wq, wq, wq_type) > PRM_WQ_CYCLIC)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "wq_type %u; a linked list (0) and cyclic (1) are modelled",
				   PRM_GET(wq, wq, wq_type));
	if (PRM_GET(rmpc, ctx, state) != PRM_RMP_RDY)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "state %u, expected RDY (%d)", PRM_GET(rmpc, ctx, state),
				   PRM_RMP_RDY);
	return srq_create(c, &r);
}

uint8_t nm_cmd_create_srq(struct nm_cmd *c)
{
	const uint8_t *ctx = PRM_CPTR(create_srq_in, c->in, srq_context_entry);
	struct srq_request r = {
		.kind = NM_SRQ_BASIC,
		.name = "SRQ",
		.ctx = ctx,
		.ctx_len = PRM_srqc_SIZE,
		.log_size = PRM_GET(srqc, ctx, log_srq_size),
		.log_stride = PRM_GET(srqc, ctx, log_rq_stride) + NM_LOG_SRQ_STRIDE_MIN,
		.pdn = PRM_GET(srqc, ctx, pd),
		.limit = (uint16_t)PRM_GET(srqc, ctx, lwm),
		.dbr_addr = PRM_GET64(srqc, ctx, dbr_addr),
		.log_page = PRM_GET(srqc, ctx, log_page_size),
		.page_units = PRM_GET(srqc, ctx, page_offset),
		.ring = {.pas_off = PRM_create_srq_in_pas_OFF},
	};

	return srq_create(c, &r);
}

uint8_t nm_cmd_create_xrc_srq(struct nm_cmd *c)
{
	const uint8_t *ctx = PRM_CPTR(create_xrc_srq_in, c->in, xrc_srq_context_entry);
	struct srq_request r = {
		.kind = NM_SRQ_XRC,
		.name = "XRC SRQ",
		.ctx = ctx,
		.ctx_len = PRM_xrc_srqc_SIZE,
		.log_size = PRM_GET(xrc_srqc, ctx, log_xrc_srq_size),
		.log_stride = PRM_GET(xrc_srqc, ctx, log_rq_stride) + NM_LOG_SRQ_STRIDE_MIN,
		.cyclic = PRM_GET(xrc_srqc, ctx, basic_cyclic_rcv_wqe),
		.pdn = PRM_GET(xrc_srqc, ctx, pd),
		.cqn = PRM_GET(xrc_srqc, ctx, cqn),
		.xrcdn = PRM_GET(xrc_srqc, ctx, xrcd),
		.user_index = PRM_GET(xrc_srqc, ctx, user_index),
		.limit = (uint16_t)PRM_GET(xrc_srqc, ctx, lwm),
		.dbr_addr = (uint64_t)PRM_GET(xrc_srqc, ctx, db_record_addr_h) << 32 |
			    PRM_GET(xrc_srqc, ctx, db_record_addr_l) << 2,
		.log_page = PRM_GET(xrc_srqc, ctx, log_page_size),
		.page_units = PRM_GET(xrc_srqc, ctx, page_offset),
		.ring = {.pas_off = PRM_create_xrc_srq_in_pas_OFF},
	};

	if (PRM_GET(create_xrc_srq_in, c->in, xrc_srq_umem_valid) ||
	    PRM_GET(xrc_srqc, ctx, dbr_umem_valid))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "an XRC SRQ in a umem; a page list is modelled");
	return srq_create(c, &r);
}

/* ---- the rest ---- */

/* A command names a queue of its own family: the others' numbers are of the same range. */
static struct nm_srq *srq_own(struct nm_cmd *c, enum nm_srq_kind kind, uint8_t *status)
{
	static const char *const names[] = {"an RMP", "an SRQ", "an XRC SRQ"};
	struct nm_srq *srq =
		(struct nm_srq *)nm_cmd_own(c, NM_OBJ_SRQ, PRM_GET(obj_in, c->in, number), status);

	if (!srq || srq->kind == kind)
		return srq;
	*status = nm_cmd_fail(c, PRM_STATUS_BAD_RES, NM_SYND_NO_OBJECT, "0x%x is %s, expected %s",
			      srq->obj.number, names[srq->kind], names[kind]);
	return NULL;
}

void nm_srq_free(struct nm_obj *obj)
{
	struct nm_srq *srq = (struct nm_srq *)obj;

	nm_srq_detach(srq);
	if (srq->xrcd)
		srq->xrcd->obj.users--;
	if (srq->cq)
		srq->cq->obj.users--;
	srq->pd->obj.users--;
	srq_undo(srq);
	nm_plain_free(obj);
}

static uint8_t srq_destroy(struct nm_cmd *c, enum nm_srq_kind kind)
{
	uint8_t status;
	struct nm_srq *srq = srq_own(c, kind, &status);

	return srq ? nm_cmd_end(c, NM_OBJ_SRQ, srq->obj.number, nm_srq_free) : status;
}

uint8_t nm_cmd_destroy_rmp(struct nm_cmd *c)
{
	return srq_destroy(c, NM_SRQ_RMP);
}

uint8_t nm_cmd_destroy_srq(struct nm_cmd *c)
{
	return srq_destroy(c, NM_SRQ_BASIC);
}

uint8_t nm_cmd_destroy_xrc_srq(struct nm_cmd *c)
{
	return srq_destroy(c, NM_SRQ_XRC);
}

static uint8_t srq_arm(struct nm_cmd *c, enum nm_srq_kind kind, uint32_t limit)
{
	uint8_t status;
	struct nm_srq *srq = srq_own(c, kind, &status);

	if (!srq)
		return status;
	if (limit > 1u << srq->log_size)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "limit (lwm) %u of %u WQEs", limit, 1u << srq->log_size);
	nm_srq_arm(srq, (uint16_t)limit);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_modify_rmp(struct nm_cmd *c)
{
	const uint8_t *ctx = PRM_CPTR(modify_rmp_in, c->in, rmpc);
	const uint8_t *mask = PRM_CPTR(modify_rmp_in, c->in, bitmask);
	uint8_t status;

	if (!srq_own(c, NM_SRQ_RMP, &status))
		return status;
	if (PRM_GET(modify_rmp_in, c->in, rmp_state) != PRM_RMP_RDY ||
	    PRM_GET(rmpc, ctx, state) != PRM_RMP_RDY)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "state %u to %u; only RDY to RDY (%d) is modelled",
				   PRM_GET(modify_rmp_in, c->in, rmp_state),
				   PRM_GET(rmpc, ctx, state), PRM_RMP_RDY);
	if (!PRM_GET(rmp_bitmask, mask, lwm))
		return PRM_STATUS_OK;
	return srq_arm(c, NM_SRQ_RMP, PRM_GET(wq, PRM_CPTR(rmpc, ctx, wq), lwm));
}

static uint8_t arm_op_mod(struct nm_cmd *c, uint16_t known)
{
	if (c->op_mod == known)
		return PRM_STATUS_OK;
	return nm_cmd_fail(c, PRM_STATUS_BAD_OP, NM_SYND_OP_MOD, "op_mod %u, expected %u",
			   c->op_mod, known);
}

uint8_t nm_cmd_arm_rq(struct nm_cmd *c)
{
	uint8_t status = arm_op_mod(c, PRM_ARM_SRQ);

	return status ? status : srq_arm(c, NM_SRQ_BASIC, PRM_GET(arm_rq_in, c->in, lwm));
}

uint8_t nm_cmd_arm_xrc_srq(struct nm_cmd *c)
{
	uint8_t status = arm_op_mod(c, PRM_ARM_SRQ);

	return status ? status : srq_arm(c, NM_SRQ_XRC, PRM_GET(arm_rq_in, c->in, lwm));
}

/* ---- query ---- */

static uint32_t srq_left(const struct nm_srq *srq)
{
	return (uint16_t)(srq->posted - srq->taken);
}

uint8_t nm_cmd_query_rmp(struct nm_cmd *c)
{
	uint8_t *ctx = PRM_PTR(query_rmp_out, c->out, rmp_context);
	uint8_t *wq = PRM_PTR(rmpc, ctx, wq);
	uint8_t status;
	const struct nm_srq *srq = srq_own(c, NM_SRQ_RMP, &status);

	if (!srq)
		return status;
	memcpy(ctx, srq->ctx, PRM_rmpc_SIZE);
	PRM_SET(rmpc, ctx, state, srq->dead ? PRM_RMP_ERR : PRM_RMP_RDY);
	PRM_SET(wq, wq, lwm, srq->limit);
	PRM_SET(wq, wq, hw_counter, srq->taken);
	PRM_SET(wq, wq, sw_counter, srq->posted);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_srq(struct nm_cmd *c)
{
	uint8_t *ctx = PRM_PTR(query_srq_out, c->out, srq_context_entry);
	uint8_t status;
	const struct nm_srq *srq = srq_own(c, NM_SRQ_BASIC, &status);

	if (!srq)
		return status;
	memcpy(ctx, srq->ctx, PRM_srqc_SIZE);
	PRM_SET(srqc, ctx, state, srq->dead ? PRM_SRQ_ERROR : PRM_SRQ_GOOD);
	PRM_SET(srqc, ctx, lwm, srq->limit);
	PRM_SET(srqc, ctx, wqe_cnt, srq_left(srq));
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_xrc_srq(struct nm_cmd *c)
{
	uint8_t *ctx = PRM_PTR(query_xrc_srq_out, c->out, xrc_srq_context_entry);
	uint8_t status;
	const struct nm_srq *srq = srq_own(c, NM_SRQ_XRC, &status);

	if (!srq)
		return status;
	memcpy(ctx, srq->ctx, PRM_xrc_srqc_SIZE);
	PRM_SET(xrc_srqc, ctx, state, srq->dead ? PRM_SRQ_ERROR : PRM_SRQ_GOOD);
	PRM_SET(xrc_srqc, ctx, lwm, srq->limit);
	PRM_SET(xrc_srqc, ctx, wqe_cnt, srq_left(srq));
	return PRM_STATUS_OK;
}

/* ---- XRC domains ---- */

uint8_t nm_cmd_alloc_xrcd(struct nm_cmd *c)
{
	struct nm_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	uint8_t status;

	if (!xrcd)
		return nm_cmd_no_memory(c);
	status = nm_cmd_publish(c, &xrcd->obj, NM_OBJ_XRCD);
	if (status)
		free(xrcd);
	return status; /* NOLINT(clang-analyzer-unix.Malloc): the table holds it */
}

uint8_t nm_cmd_dealloc_xrcd(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_XRCD, PRM_GET(obj_in, c->in, number), nm_plain_free);
}
