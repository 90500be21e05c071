// SPDX-License-Identifier: BSD-3-Clause
/* Completion queues and their channels; and the UAR pages that queues ring. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/uverbs/uv.h"

enum {
	CQ_MODIFY_PERIOD = 1 << 0,
	CQ_MODIFY_COUNT = 1 << 1,
	CQ_RESIZE_FIELDS = 7, /* log_cq_size, page_offset, log_page_size */
	CQ_OP_MOD_RESIZE = 1,
	CQE_SZ_128_PAD = 2, /* cqc.cqe_sz */
	IB_CQ_MODERATE = 1 << 0,
	CQ_DRV_FLAGS = MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD |
		       MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
		       MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS,
	CQ_FLAGS = IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN,
};

/* ---- channels ---- */

int uv_w_create_comp_channel(struct uv_req *req, const void *core_in, void *core_out)
{
	struct ib_uverbs_create_comp_channel_resp *out = core_out;
	int fd;

	(void)core_in;
	if (!uv_events_open(req->ctx, UV_EVENTS_COMP, 0, &fd))
		return errno ? -errno : -ENOMEM;
	out->fd = (uint32_t)fd;
	return 0;
}

int uv_async_event_alloc(struct uv_req *req)
{
	struct uv_event_file *f;
	int fd, ret;

	f = uv_events_open(req->ctx, UV_EVENTS_ASYNC, 0, &fd);
	if (!f)
		return errno ? -errno : -ENOMEM;
	ret = uv_set_fd(req, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, fd);
	if (ret)
		close(fd);
	else if (!req->ctx->async)
		req->ctx->async = f;
	return ret;
}

/* ---- create ---- */

struct cq_request {
	uint32_t entries; /* a power of two */
	uint32_t flags;
	uint32_t vector;
	struct mlx5_ib_create_cq drv;
};

static uint32_t log2_ceil(uint32_t v)
{
	uint32_t log = 0;

	while ((UINT64_C(1) << log) < v)
		log++;
	return log;
}

/* One format of the ABI -> cqc.mini_cqe_res_format (PRM); -1: none, or several. */
static int mini_format(uint8_t format)
{
	static const struct {
		uint8_t abi;
		uint8_t hw;
	} formats[] = {{1, 0}, {2, 1}, {4, 3}}; /* hash, checksum, checksum and stride index */

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].abi == format)
			return formats[i].hw;
	return -1;
}

static int parse(struct uv_req *req, struct cq_request *r)
{
	uint32_t cqe = (uint32_t)uv_in_u64(req, UVERBS_ATTR_CREATE_CQ_CQE, 0);
	uint32_t max = 1u << PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), log_max_cq_sz);

	r->flags = (uint32_t)uv_in_u64(req, UVERBS_ATTR_CREATE_CQ_FLAGS, 0);
	r->vector = (uint32_t)uv_in_u64(req, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	if (uv_in(req, UVERBS_ATTR_UHW_IN, &r->drv, sizeof(r->drv)))
		return uv_refuse(EINVAL, "CQ_CREATE without the mlx5 request");
	if (r->flags & ~(uint32_t)CQ_FLAGS)
		return uv_refuse(EINVAL, "CQ_CREATE: flags 0x%x, unknown bits 0x%x", r->flags,
				 r->flags & ~(uint32_t)CQ_FLAGS);
	if (r->vector >= UV_COMP_VECTORS)
		return uv_refuse(EINVAL, "CQ_CREATE: completion vector %u, the device has %u",
				 r->vector, UV_COMP_VECTORS);
	if (!cqe || cqe >= max)
		return uv_refuse(EINVAL, "CQ_CREATE: %u entries, expected 1 to %u", cqe, max - 1);
	r->entries = 1u << log2_ceil(cqe + 1);
	if (r->drv.cqe_size != 64 && r->drv.cqe_size != 128)
		return uv_refuse(EINVAL, "CQ_CREATE: CQEs of %u bytes, expected 64 or 128",
				 r->drv.cqe_size);
	if (r->drv.flags & ~(uint32_t)CQ_DRV_FLAGS)
		return uv_refuse(EINVAL, "CQ_CREATE: mlx5 flags 0x%x, unknown bits 0x%x",
				 r->drv.flags, r->drv.flags & ~(uint32_t)CQ_DRV_FLAGS);
	if (r->drv.cqe_comp_en && mini_format(r->drv.cqe_comp_res_format) < 0)
		return uv_refuse(EINVAL,
				 "CQ_CREATE: format %u of compressed CQEs, expected 1, 2 or 4",
				 r->drv.cqe_comp_res_format);
	if (r->drv.flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD && r->drv.cqe_size != 128)
		return uv_refuse(EINVAL, "CQ_CREATE: padding of CQEs of %u bytes, expected 128",
				 r->drv.cqe_size);
	if (r->drv.flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS)
		return uv_refuse(EOPNOTSUPP,
				 "CQ_CREATE: the device stamps with its free-running clock only");
	if (r->drv.db_addr & 7)
		return uv_refuse(
			EINVAL, "CQ_CREATE: doorbell record at 0x%" PRIx64 " is not 8-byte aligned",
			(uint64_t)r->drv.db_addr);
	return uv_range_check(r->drv.db_addr, 8, true);
}

static void fill_cqc(const struct cq_request *r, const struct uv_pages *pages, uint8_t *cqc)
{
	if (r->drv.flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD)
		PRM_SET(cqc, cqc, cqe_sz, CQE_SZ_128_PAD);
	else
		PRM_SET(cqc, cqc, cqe_sz, r->drv.cqe_size == 128);
	if (r->drv.cqe_comp_en) {
		PRM_SET(cqc, cqc, cqe_comp_en, 1);
		PRM_SET(cqc, cqc, mini_cqe_res_format,
			(uint32_t)mini_format(r->drv.cqe_comp_res_format));
	}
	PRM_SET(cqc, cqc, oi, !!(r->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN));
	PRM_SET(cqc, cqc, log_cq_size, log2_ceil(r->entries));
	PRM_SET(cqc, cqc, uar_page,
		r->drv.flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX ? r->drv.uar_page_index
								      : uv_kernel_uar());
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, uv_eqn(r->vector));
	PRM_SET(cqc, cqc, log_page_size, pages->shift - 12u);
	PRM_SET(cqc, cqc, page_offset, (uint32_t)(pages->offset >> (pages->shift - 6)));
	PRM_SET64(cqc, cqc, dbr_addr, r->drv.db_addr);
}

static int create_in_nic(struct uv_ctx *ctx, struct uv_cq *cq, const struct cq_request *r)
{
	const uint64_t bytes = (uint64_t)r->entries * r->drv.cqe_size;
	const struct uv_pages pages =
		uv_pages_of(r->drv.buf_addr, bytes, r->drv.buf_addr, UV_RING_OFFSET);
	const size_t len = PRM_create_cq_in_SIZE + 8 * pages.count;
	uint8_t out[PRM_obj_out_SIZE] = {0};
	uint8_t *in;
	int ret;

	ret = uv_range_check(r->drv.buf_addr, bytes, true);
	if (ret)
		return ret;
	if (pages.offset & ((UINT64_C(1) << (pages.shift - 6)) - 1))
		return uv_refuse(EINVAL, "CQ_CREATE: ring at 0x%" PRIx64 " is not 64-byte aligned",
				 (uint64_t)r->drv.buf_addr);
	in = calloc(1, len);
	if (!in)
		return -ENOMEM;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_CQ);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	fill_cqc(r, &pages, PRM_PTR(create_cq_in, in, cq_context));
	uv_pages_fill(&pages, PRM_PTR(create_cq_in, in, pas));
	ret = uv_command(ctx->uid, "CREATE_CQ", in, len, out, sizeof(out));
	free(in);
	if (!ret)
		cq->obj.num = PRM_GET(obj_out, out, number);
	return ret;
}

/*
 * The library's first arm may equal what the record holds already (all zero), so it could not be
 * seen: from here on any change is an arm. It is done before the NIC looks at the record for the
 * first time, and the library cannot arm before create has returned.
 */
int uv_cq_arm_sentinel(uint64_t arm_addr)
{
	const uint32_t word = NM_CQ_ARM_SENTINEL;

	return uv_copy_out(arm_addr, &word, sizeof(word));
}

static int answer(struct uv_req *req, const struct uv_cq *cq)
{
	const struct mlx5_ib_create_cq_resp drv = {.cqn = cq->obj.num};
	const uint32_t cqe = cq->entries - 1;
	int ret;

	ret = uv_out(req, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
	return ret ? ret : uv_set_handle(req, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->obj.handle);
}

static int event_files(struct uv_req *req, struct uv_event_route *route, uint16_t async_attr)
{
	int fd = uv_fd(req, async_attr);

	route->async = req->ctx->async;
	if (fd < 0)
		return 0;
	route->async = uv_events_find(req->ctx, UV_EVENTS_ASYNC, fd);
	return route->async
		       ? 0
		       : uv_refuse(EBADF, "fd %d is not an asynchronous event file of this context",
				   fd);
}

int uv_cq_create(struct uv_req *req)
{
	int channel = uv_fd(req, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	struct cq_request r;
	struct uv_cq *cq;
	int ret = parse(req, &r);

	if (ret)
		return ret;
	cq = uv_obj_new(req->ctx, UV_CQ, sizeof(*cq), NULL, 0);
	if (!cq)
		return -ENOMEM;
	cq->entries = r.entries;
	cq->cqe_size = (uint8_t)r.drv.cqe_size;
	cq->route.user_handle = uv_in_u64(req, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 0);
	ret = event_files(req, &cq->route, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
	if (!ret && channel >= 0) {
		cq->route.comp = uv_events_find(req->ctx, UV_EVENTS_COMP, channel);
		if (!cq->route.comp)
			ret = uv_refuse(
				EBADF,
				"CQ_CREATE: fd %d is not a completion channel of this context",
				channel);
	}
	if (!ret)
		ret = uv_cq_arm_sentinel(r.drv.db_addr + UV_CQ_ARM_OFFSET);
	if (!ret)
		ret = create_in_nic(req->ctx, cq, &r);
	if (ret) {
		uv_obj_free(req->ctx, &cq->obj);
		return ret;
	}
	uv_events_add_cq(&cq->route, cq->obj.num);
	ret = answer(req, cq);
	if (ret)
		uv_obj_destroy(req->ctx, &cq->obj);
	return ret;
}

/* ---- destroy, modify ---- */

static int destroy_in_nic(struct uv_ctx *ctx, struct uv_obj *obj)
{
	return uv_command_simple(ctx->uid, "DESTROY_CQ", PRM_CMD_DESTROY_CQ, obj->num, NULL);
}

int uv_cq_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	struct uv_cq *cq = (struct uv_cq *)obj;
	uint32_t comp, async;
	int ret = destroy_in_nic(ctx, obj);

	if (ret)
		return ret;
	uv_events_unsubscribe(obj);
	uv_events_remove_cq(&cq->route, &comp, &async);
	return 0;
}

int uv_cq_destroy(struct uv_req *req)
{
	struct uv_cq *cq = (struct uv_cq *)uv_obj(req, UVERBS_ATTR_DESTROY_CQ_HANDLE);
	struct ib_uverbs_destroy_cq_resp resp;
	int ret;

	if (cq->obj.users)
		return uv_refuse(EBUSY, "CQ 0x%x is used by %u queue pairs", cq->obj.num,
				 cq->obj.users);
	ret = destroy_in_nic(req->ctx, &cq->obj);
	if (ret)
		return ret;
	uv_events_unsubscribe(&cq->obj);
	uv_events_remove_cq(&cq->route, &resp.comp_events_reported, &resp.async_events_reported);
	uv_obj_free(req->ctx, &cq->obj);
	return uv_out(req, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}

int uv_w_ex_modify_cq(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_ex_modify_cq *m = core_in;
	uint8_t in[PRM_modify_cq_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};
	uint8_t *cqc = PRM_PTR(modify_cq_in, in, cq_context);
	struct uv_obj *obj = uv_obj_find(req->ctx, m->cq_handle);

	(void)core_out;
	if (!obj || obj->kind != UV_CQ)
		return uv_refuse(EINVAL, "EX_MODIFY_CQ: handle %u is not a completion queue",
				 m->cq_handle);
	if (m->attr_mask != IB_CQ_MODERATE)
		return uv_refuse(EOPNOTSUPP, "EX_MODIFY_CQ: attr_mask 0x%x, expected 0x%x",
				 m->attr_mask, IB_CQ_MODERATE);
	if (m->attr.cq_period > 0xfff)
		return uv_refuse(EINVAL, "EX_MODIFY_CQ: period %u us, at most 4095",
				 m->attr.cq_period);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_MODIFY_CQ);
	PRM_SET(cmd_in, in, uid, req->ctx->uid);
	PRM_SET(modify_cq_in, in, cqn, obj->num);
	PRM_SET(modify_cq_in, in, field_select, CQ_MODIFY_PERIOD | CQ_MODIFY_COUNT);
	PRM_SET(cqc, cqc, cq_period, m->attr.cq_period);
	PRM_SET(cqc, cqc, cq_max_count, m->attr.cq_count);
	return uv_command(req->ctx->uid, "MODIFY_CQ", in, sizeof(in), out, sizeof(out));
}

static int resize_in_nic(struct uv_ctx *ctx, const struct uv_cq *cq, uint64_t buf, uint32_t entries)
{
	const uint64_t bytes = (uint64_t)entries * cq->cqe_size;
	const struct uv_pages pages = uv_pages_of(buf, bytes, buf, UV_RING_OFFSET);
	const size_t len = PRM_modify_cq_in_SIZE + 8 * pages.count;
	uint8_t out[PRM_cmd_out_SIZE] = {0}, *in, *cqc;
	int ret = uv_range_check(buf, bytes, true);

	if (ret)
		return ret;
	in = calloc(1, len);
	if (!in)
		return -ENOMEM;
	cqc = PRM_PTR(modify_cq_in, in, cq_context);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_MODIFY_CQ);
	PRM_SET(cmd_in, in, op_mod, CQ_OP_MOD_RESIZE);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	PRM_SET(modify_cq_in, in, cqn, cq->obj.num);
	PRM_SET(modify_cq_in, in, field_select, CQ_RESIZE_FIELDS);
	PRM_SET(cqc, cqc, log_cq_size, log2_ceil(entries));
	PRM_SET(cqc, cqc, log_page_size, pages.shift - 12u);
	PRM_SET(cqc, cqc, page_offset, (uint32_t)(pages.offset >> (pages.shift - 6)));
	uv_pages_fill(&pages, PRM_PTR(modify_cq_in, in, pas));
	ret = uv_command(ctx->uid, "MODIFY_CQ", in, len, out, sizeof(out));
	free(in);
	return ret;
}

int uv_w_resize_cq(struct uv_req *req, const void *core_in, void *core_out)
{
	const uint32_t max = 1u << PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), log_max_cq_sz);
	const struct ib_uverbs_resize_cq *in = core_in;
	struct uv_obj *obj = uv_obj_find(req->ctx, in->cq_handle);
	struct ib_uverbs_resize_cq_resp *out = core_out;
	struct uv_cq *cq = (struct uv_cq *)obj;
	struct mlx5_ib_resize_cq drv;
	uint32_t entries;
	int ret;

	if (!obj || obj->kind != UV_CQ)
		return uv_refuse(EINVAL, "RESIZE_CQ: handle %u is not a completion queue",
				 in->cq_handle);
	if (uv_in(req, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv)) || drv.reserved0 || drv.reserved1)
		return uv_refuse(EINVAL, "RESIZE_CQ without the mlx5 request");
	if (!in->cqe || in->cqe >= max)
		return uv_refuse(EINVAL, "RESIZE_CQ: %u entries, expected 1 to %u", in->cqe,
				 max - 1);
	if (drv.cqe_size != cq->cqe_size || drv.buf_addr & (PRM_CQE_SIZE - 1))
		return uv_refuse(EINVAL,
				 "RESIZE_CQ: CQEs of %u bytes at 0x%" PRIx64
				 ", expected %u as before, 64-byte aligned",
				 drv.cqe_size, (uint64_t)drv.buf_addr, cq->cqe_size);
	entries = 1u << log2_ceil(in->cqe + 1);
	ret = entries == cq->entries ? 0 : resize_in_nic(req->ctx, cq, drv.buf_addr, entries);
	if (ret)
		return ret;
	cq->entries = entries;
	out->cqe = entries - 1;
	return 0;
}

/* ---- UAR ---- */

/* Round robin: a page that was given back may be used by a queue for a while. */
static int take_slot(struct uv_ctx *ctx)
{
	for (unsigned int n = 0; n < UV_CTX_UARS; n++) {
		unsigned int i = ctx->next_uar_slot++ % UV_CTX_UARS;
		uint64_t bit = UINT64_C(1) << (i % 64);

		if (ctx->uar_slots[i / 64] & bit)
			continue;
		ctx->uar_slots[i / 64] |= bit;
		return (int)i;
	}
	return -ENOSPC;
}

static void give_slot(struct uv_ctx *ctx, uint32_t slot)
{
	ctx->uar_slots[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
}

static int answer_uar(struct uv_req *req, const struct uv_uar *uar)
{
	const uint64_t offset = (uint64_t)uar->slot * PRM_UAR_PAGE_SIZE;
	const uint32_t length = PRM_UAR_PAGE_SIZE;
	int ret;

	ret = uv_out(req, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	if (!ret)
		ret = uv_out(req, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	if (!ret)
		ret = uv_out(req, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->obj.num,
			     sizeof(uar->obj.num));
	return ret ? ret : uv_set_handle(req, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, uar->obj.handle);
}

int uv_uar_alloc(struct uv_req *req)
{
	uint64_t type = uv_in_u64(req, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, 0);
	struct uv_ctx *ctx = req->ctx;
	struct uv_uar *uar;
	int slot, ret;

	/* Write-combining or not is one and the same to memory. */
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return uv_refuse(EOPNOTSUPP,
				 "UAR_OBJ_ALLOC: type %" PRIu64 ", expected 0 (BlueFlame) or 1",
				 type);
	slot = take_slot(ctx);
	if (slot < 0)
		return uv_refuse(ENOSPC, "UAR_OBJ_ALLOC: this context has all of its %u pages",
				 UV_CTX_UARS);
	uar = uv_obj_new(ctx, UV_UAR, sizeof(*uar), NULL, 0);
	if (!uar) {
		give_slot(ctx, (uint32_t)slot);
		return -ENOMEM;
	}
	uar->slot = (uint32_t)slot;
	ret = uv_command_simple(ctx->uid, "ALLOC_UAR", PRM_CMD_ALLOC_UAR, 0, &uar->obj.num);
	if (ret) {
		give_slot(ctx, uar->slot);
		uv_obj_free(ctx, &uar->obj);
		return ret;
	}
	ret = uv_uar_bind(req->fd, uar->obj.num, uar->slot);
	if (!ret)
		ret = answer_uar(req, uar);
	if (ret)
		uv_obj_destroy(ctx, &uar->obj);
	return ret;
}

/* The page stays where it is: a queue may use it still. It is replaced when the NIC gives its
 * number out again. */
int uv_uar_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	int ret = uv_command_simple(ctx->uid, "DEALLOC_UAR", PRM_CMD_DEALLOC_UAR, obj->num, NULL);

	if (!ret)
		give_slot(ctx, ((struct uv_uar *)obj)->slot);
	return ret;
}
