// SPDX-License-Identifier: BSD-3-Clause
/*
 * Shared receive queues. As mlx5_ib does, a plain one becomes an RMP and one of XRC an XRC SRQ; the
 * size of queue and WQE follows from what the program asked for, as libmlx5 has laid it out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/uverbs/uv.h"

enum {
	SRQ_ATTR_MAX_WR = 1 << 0, /* enum ib_srq_attr_mask of the verbs ABI */
	SRQ_ATTR_LIMIT = 1 << 1,
	NEXT_SEG = 16,
	DATA_SEG = 16,
	LOG_STRIDE_MIN = 5,	 /* libmlx5: no WQE is smaller than 32 bytes */
	SRQC_LOG_STRIDE_MIN = 4, /* srqc.log_rq_stride counts from 16 bytes */
	WQ_PAGE_OFFSET_MAX = 31, /* wq.page_offset has 5 bits, of 64ths of a page */
	LOG_SMALL_PAGE = 12,
	SMALL_PAGE = 1 << LOG_SMALL_PAGE,
};

struct srq_request {
	uint8_t type; /* enum ib_uverbs_srq_type */
	struct uv_obj *pd, *xrcd, *cq;
	uint32_t max_wr, max_sge;
	uint32_t log_size, log_stride;
	struct mlx5_ib_create_srq drv;
	struct uv_pages pages;
};

static uint32_t log2_ceil(uint32_t v)
{
	uint32_t log = 0;

	while ((UINT64_C(1) << log) < v)
		log++;
	return log;
}

uint32_t uv_max_srq_wr(void)
{
	return (1u << PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), log_max_srq_sz)) - 1;
}

/* One entry of a receive WQE is the link. */
uint32_t uv_max_srq_sge(void)
{
	return PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), max_wqe_sz_rq) / DATA_SEG - 1;
}

/* ---- create ---- */

/* In 64ths of a page. */
static uint32_t page_offset(const struct uv_pages *p)
{
	return (uint32_t)(p->offset >> (p->shift - 6));
}

/*
 * Large pages make a short list, but leave the queue perhaps in the second half of its first one,
 * which an RMP's context has no bits for: then the smallest.
 */
static void choose_pages(struct srq_request *r, uint64_t bytes)
{
	const uint64_t addr = r->drv.buf_addr, offset = addr & (SMALL_PAGE - 1);

	r->pages = uv_pages_of(addr, bytes, addr, UV_RING_OFFSET);
	if (r->type == IB_UVERBS_SRQT_BASIC && page_offset(&r->pages) > WQ_PAGE_OFFSET_MAX)
		r->pages = (struct uv_pages){
			.shift = LOG_SMALL_PAGE,
			.first = addr - offset,
			.offset = offset,
			.count = (offset + bytes + SMALL_PAGE - 1) >> LOG_SMALL_PAGE,
		};
}

static int check_geometry(struct srq_request *r)
{
	const struct mlx5_ib_create_srq *d = &r->drv;
	uint64_t bytes;
	int ret;

	if (r->max_wr > uv_max_srq_wr())
		return uv_refuse(EINVAL, "SRQ_CREATE: %u WQEs, at most %u", r->max_wr,
				 uv_max_srq_wr());
	if (r->max_sge > uv_max_srq_sge())
		return uv_refuse(EINVAL, "SRQ_CREATE: %u SGEs, at most %u", r->max_sge,
				 uv_max_srq_sge());
	r->log_size = log2_ceil(r->max_wr + 1);
	r->log_stride = log2_ceil(NEXT_SEG + r->max_sge * DATA_SEG);
	if (r->log_stride < LOG_STRIDE_MIN)
		r->log_stride = LOG_STRIDE_MIN;
	bytes = UINT64_C(1) << (r->log_size + r->log_stride);
	if (d->db_addr & 7)
		return uv_refuse(EINVAL,
				 "SRQ_CREATE: doorbell record at 0x%" PRIx64
				 " is not 8-byte aligned",
				 (uint64_t)d->db_addr);
	ret = uv_range_check(d->db_addr, 8, false);
	if (!ret)
		ret = uv_range_check(d->buf_addr, bytes, false);
	if (ret)
		return ret;
	if (d->buf_addr & (PRM_WQEBB_SIZE - 1))
		return uv_refuse(EINVAL,
				 "SRQ_CREATE: queue at 0x%" PRIx64 " is not 64-byte aligned",
				 (uint64_t)d->buf_addr);
	choose_pages(r, bytes);
	return 0;
}

static int parse(struct uv_req *req, struct srq_request *r)
{
	r->type = (uint8_t)uv_in_u64(req, UVERBS_ATTR_CREATE_SRQ_TYPE, 0);
	r->pd = uv_obj(req, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE);
	r->xrcd = uv_obj(req, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE);
	r->cq = uv_obj(req, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE);
	r->max_wr = (uint32_t)uv_in_u64(req, UVERBS_ATTR_CREATE_SRQ_MAX_WR, 0);
	r->max_sge = (uint32_t)uv_in_u64(req, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 0);
	if (uv_in(req, UVERBS_ATTR_UHW_IN, &r->drv, sizeof(r->drv)))
		return uv_refuse(EINVAL, "SRQ_CREATE without the mlx5 request");
	if (r->type != IB_UVERBS_SRQT_BASIC && r->type != IB_UVERBS_SRQT_XRC)
		return uv_refuse(
			EOPNOTSUPP,
			"SRQ_CREATE: type %u is not emulated (%s); basic (%d) and XRC (%d) "
			"are",
			r->type, r->type == IB_UVERBS_SRQT_TM ? "tag matching" : "unknown",
			IB_UVERBS_SRQT_BASIC, IB_UVERBS_SRQT_XRC);
	if (r->drv.flags)
		return uv_refuse(EOPNOTSUPP,
				 "SRQ_CREATE: mlx5 flags 0x%x are not emulated (WQE signature)",
				 r->drv.flags);
	if (r->type == IB_UVERBS_SRQT_XRC && (!r->xrcd || !r->cq))
		return uv_refuse(EINVAL, "SRQ_CREATE: XRC without %s",
				 r->xrcd ? "a CQ" : "an XRC domain");
	return check_geometry(r);
}

static int fill_rmp(const struct srq_request *r, uint8_t *in)
{
	uint8_t *ctx = PRM_PTR(create_rmp_in, in, rmpc);
	uint8_t *wq = PRM_PTR(rmpc, ctx, wq);

	if (page_offset(&r->pages) > WQ_PAGE_OFFSET_MAX)
		return uv_refuse(EINVAL,
				 "SRQ_CREATE: queue at 0x%" PRIx64
				 " lies in the second half of a page, which an RMP cannot say",
				 (uint64_t)r->drv.buf_addr);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_RMP);
	PRM_SET(rmpc, ctx, state, PRM_RMP_RDY);
	PRM_SET(wq, wq, wq_type, PRM_WQ_LINKED_LIST);
	PRM_SET(wq, wq, pd, r->pd->num);
	PRM_SET(wq, wq, log_wq_sz, r->log_size);
	PRM_SET(wq, wq, log_wq_stride, r->log_stride);
	PRM_SET64(wq, wq, dbr_addr, r->drv.db_addr);
	PRM_SET(wq, wq, log_wq_pg_sz, r->pages.shift - 12u);
	PRM_SET(wq, wq, page_offset, page_offset(&r->pages));
	uv_pages_fill(&r->pages, PRM_PTR(create_rmp_in, in, pas));
	return 0;
}

static int fill_xrc(const struct srq_request *r, uint8_t *in)
{
	uint8_t *ctx = PRM_PTR(create_xrc_srq_in, in, xrc_srq_context_entry);

	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_XRC_SRQ);
	PRM_SET(xrc_srqc, ctx, log_xrc_srq_size, r->log_size);
	PRM_SET(xrc_srqc, ctx, log_rq_stride, r->log_stride - SRQC_LOG_STRIDE_MIN);
	PRM_SET(xrc_srqc, ctx, xrcd, r->xrcd->num);
	PRM_SET(xrc_srqc, ctx, cqn, r->cq->num);
	PRM_SET(xrc_srqc, ctx, user_index, r->drv.uidx & 0xffffff);
	PRM_SET(xrc_srqc, ctx, pd, r->pd->num);
	PRM_SET(xrc_srqc, ctx, log_page_size, r->pages.shift - 12u);
	PRM_SET(xrc_srqc, ctx, page_offset, page_offset(&r->pages));
	PRM_SET(xrc_srqc, ctx, db_record_addr_h, (uint32_t)(r->drv.db_addr >> 32));
	PRM_SET(xrc_srqc, ctx, db_record_addr_l, (uint32_t)r->drv.db_addr >> 2);
	uv_pages_fill(&r->pages, PRM_PTR(create_xrc_srq_in, in, pas));
	return 0;
}

/* What the two types send. The mailboxes of both have their pages at the same place. */
static const struct srq_ops {
	const char *create, *destroy;
	int (*fill)(const struct srq_request *r, uint8_t *in);
	uint16_t destroy_opcode;
} srq_ops[] = {
	[IB_UVERBS_SRQT_BASIC] = {"CREATE_RMP", "DESTROY_RMP", fill_rmp, PRM_CMD_DESTROY_RMP},
	[IB_UVERBS_SRQT_XRC] = {"CREATE_XRC_SRQ", "DESTROY_XRC_SRQ", fill_xrc,
				PRM_CMD_DESTROY_XRC_SRQ},
};
static_assert((int)PRM_create_rmp_in_pas_OFF == (int)PRM_create_xrc_srq_in_pas_OFF,
	      "pages of both");

static int create_in_nic(struct uv_ctx *ctx, struct uv_srq *srq, const struct srq_request *r)
{
	size_t len = PRM_create_rmp_in_SIZE + 8 * r->pages.count;
	uint8_t out[PRM_obj_out_SIZE] = {0};
	uint8_t *in = calloc(1, len);
	int ret;

	if (!in)
		return -ENOMEM;
	ret = srq_ops[r->type].fill(r, in);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	if (!ret)
		ret = uv_command(ctx->uid, srq_ops[r->type].create, in, len, out, sizeof(out));
	free(in);
	if (!ret)
		srq->obj.num = PRM_GET(obj_out, out, number);
	return ret;
}

static int answer(struct uv_req *req, const struct uv_srq *srq)
{
	const struct mlx5_ib_create_srq_resp drv = {.srqn = srq->obj.num};
	int ret;

	ret = uv_out(req, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr, sizeof(srq->max_wr));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge,
			     sizeof(srq->max_sge));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->obj.num,
			     sizeof(srq->obj.num));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
	return ret ? ret : uv_set_handle(req, UVERBS_ATTR_CREATE_SRQ_HANDLE, srq->obj.handle);
}

int uv_srq_create(struct uv_req *req)
{
	int async = uv_fd(req, UVERBS_ATTR_CREATE_SRQ_EVENT_FD);
	struct srq_request r = {0};
	struct uv_srq *srq;
	int ret = parse(req, &r);

	if (ret)
		return ret;
	srq = uv_obj_new(req->ctx, UV_SRQ, sizeof(*srq), (struct uv_obj *[]){r.pd, r.xrcd, r.cq},
			 3);
	if (!srq)
		return -ENOMEM;
	srq->type = r.type;
	srq->max_wr = (1u << r.log_size) - 1;
	srq->max_sge = r.max_sge;
	srq->route.user_handle = uv_in_u64(req, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 0);
	srq->route.async =
		async < 0 ? req->ctx->async : uv_events_find(req->ctx, UV_EVENTS_ASYNC, async);
	if (async >= 0 && !srq->route.async)
		ret = uv_refuse(EBADF,
				"SRQ_CREATE: fd %d is not an asynchronous event file of this "
				"context",
				async);
	if (!ret)
		ret = create_in_nic(req->ctx, srq, &r);
	if (ret) {
		uv_obj_free(req->ctx, &srq->obj);
		return ret;
	}
	uv_events_add_srq(&srq->route, srq->obj.num);
	ret = answer(req, srq);
	if (ret)
		uv_obj_destroy(req->ctx, &srq->obj);
	return ret;
}

/* ---- destroy ---- */

static int destroy_in_nic(struct uv_ctx *ctx, struct uv_srq *srq, uint32_t *events)
{
	const struct srq_ops *ops = &srq_ops[srq->type];
	int ret =
		uv_command_simple(ctx->uid, ops->destroy, ops->destroy_opcode, srq->obj.num, NULL);

	if (ret)
		return ret;
	uv_events_unsubscribe(&srq->obj);
	uv_events_remove_srq(&srq->route, events);
	return 0;
}

int uv_srq_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	uint32_t events;

	return destroy_in_nic(ctx, (struct uv_srq *)obj, &events);
}

int uv_srq_destroy(struct uv_req *req)
{
	struct uv_srq *srq = (struct uv_srq *)uv_obj(req, UVERBS_ATTR_DESTROY_SRQ_HANDLE);
	struct ib_uverbs_destroy_srq_resp resp;
	int ret;

	if (srq->obj.users)
		return uv_refuse(EBUSY, "SRQ 0x%x is used by %u other objects", srq->obj.num,
				 srq->obj.users);
	ret = destroy_in_nic(req->ctx, srq, &resp.events_reported);
	if (ret)
		return ret;
	uv_obj_free(req->ctx, &srq->obj);
	return uv_out(req, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}

/* ---- modify, query ---- */

static struct uv_srq *find(struct uv_req *req, uint32_t handle)
{
	struct uv_obj *obj = uv_obj_find(req->ctx, handle);

	if (obj && obj->kind == UV_SRQ)
		return (struct uv_srq *)obj;
	uv_say("%s: handle %u is not a shared receive queue", req->name, handle);
	return NULL;
}

static int arm(struct uv_ctx *ctx, const struct uv_srq *srq, uint32_t limit)
{
	uint8_t in[PRM_modify_rmp_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};
	uint8_t *rmpc = PRM_PTR(modify_rmp_in, in, rmpc);

	PRM_SET(cmd_in, in, uid, ctx->uid);
	PRM_SET(obj_in, in, number, srq->obj.num);
	if (srq->type == IB_UVERBS_SRQT_XRC) {
		PRM_SET(cmd_in, in, opcode, PRM_CMD_ARM_XRC_SRQ);
		PRM_SET(cmd_in, in, op_mod, PRM_ARM_SRQ);
		PRM_SET(arm_rq_in, in, lwm, limit);
		return uv_command(ctx->uid, "ARM_XRC_SRQ", in, sizeof(in), out, sizeof(out));
	}
	PRM_SET(cmd_in, in, opcode, PRM_CMD_MODIFY_RMP);
	PRM_SET(modify_rmp_in, in, rmp_state, PRM_RMP_RDY);
	PRM_SET(rmp_bitmask, PRM_PTR(modify_rmp_in, in, bitmask), lwm, 1);
	PRM_SET(rmpc, rmpc, state, PRM_RMP_RDY);
	PRM_SET(wq, PRM_PTR(rmpc, rmpc, wq), lwm, limit);
	return uv_command(ctx->uid, "MODIFY_RMP", in, sizeof(in), out, sizeof(out));
}

int uv_w_modify_srq(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_modify_srq *in = core_in;
	struct uv_srq *srq = find(req, in->srq_handle);

	(void)core_out;
	if (!srq)
		return -EINVAL;
	if (in->attr_mask & SRQ_ATTR_MAX_WR)
		return uv_refuse(EINVAL, "MODIFY_SRQ: the driver does not resize a queue");
	if (!(in->attr_mask & SRQ_ATTR_LIMIT))
		return 0;
	if (in->srq_limit > srq->max_wr)
		return uv_refuse(EINVAL, "MODIFY_SRQ: limit %u of %u WQEs", in->srq_limit,
				 srq->max_wr);
	return arm(req->ctx, srq, in->srq_limit);
}

int uv_w_query_srq(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_query_srq *in = core_in;
	struct ib_uverbs_query_srq_resp *r = core_out;
	uint8_t cmd[PRM_obj_in_SIZE] = {0}, out[PRM_query_rmp_out_SIZE] = {0};
	struct uv_srq *srq = find(req, in->srq_handle);
	bool xrc;
	int ret;

	if (!srq)
		return -EINVAL;
	xrc = srq->type == IB_UVERBS_SRQT_XRC;
	PRM_SET(cmd_in, cmd, opcode, xrc ? PRM_CMD_QUERY_XRC_SRQ : PRM_CMD_QUERY_RMP);
	PRM_SET(cmd_in, cmd, uid, req->ctx->uid);
	PRM_SET(obj_in, cmd, number, srq->obj.num);
	ret = uv_command(req->ctx->uid, xrc ? "QUERY_XRC_SRQ" : "QUERY_RMP", cmd, sizeof(cmd), out,
			 sizeof(out));
	if (ret)
		return ret;
	r->max_wr = srq->max_wr;
	r->max_sge = srq->max_sge;
	r->srq_limit =
		xrc ? PRM_GET(xrc_srqc, PRM_PTR(query_xrc_srq_out, out, xrc_srq_context_entry), lwm)
		    : PRM_GET(wq, PRM_PTR(rmpc, PRM_PTR(query_rmp_out, out, rmp_context), wq), lwm);
	return 0;
}
