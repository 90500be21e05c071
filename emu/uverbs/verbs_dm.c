// SPDX-License-Identifier: BSD-3-Clause
/*
 * Device memory: pages of the NIC that a program maps through its command descriptor, and regions
 * over them. An allocation has pages to itself, as with mlx5_ib; the page number that the program
 * is told is one of the descriptor's file as well as of the device memory.
 */
#include <inttypes.h>
#include <string.h>

#include "emu/uverbs/uv.h"

enum { DM_UNIT = 64, DM_PAGE = 4096, MKEY_ANY_QPN = 0xffffff, DM_ALIGN_LOG = 6 };

static uint64_t bar_start(void)
{
	return PRM_GET64(device_mem_cap, uv_cap(UV_CAP_DEVICE_MEM), memic_bar_start_addr);
}

/* ALLOC_MEMIC in just the pages that were taken; as the driver, whose memory it is. */
static int alloc_in_nic(struct uv_dm *dm)
{
	uint8_t in[PRM_alloc_memic_in_SIZE] = {0}, out[PRM_alloc_memic_out_SIZE] = {0};
	int ret;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_ALLOC_MEMIC);
	PRM_SET64(alloc_memic_in, in, range_start_addr, bar_start() + (uint64_t)dm->page * DM_PAGE);
	PRM_SET(alloc_memic_in, in, range_size, dm->pages * DM_PAGE);
	PRM_SET(alloc_memic_in, in, memic_size, (uint32_t)dm->size);
	ret = uv_command(0, "ALLOC_MEMIC", in, sizeof(in), out, sizeof(out));
	dm->addr = PRM_GET64(alloc_memic_out, out, memic_start_addr);
	return ret;
}

static int free_in_nic(const struct uv_dm *dm)
{
	uint8_t in[PRM_dealloc_memic_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};

	PRM_SET(cmd_in, in, opcode, PRM_CMD_DEALLOC_MEMIC);
	PRM_SET64(dealloc_memic_in, in, memic_start_addr, dm->addr);
	PRM_SET(dealloc_memic_in, in, memic_size, (uint32_t)dm->size);
	return uv_command(0, "DEALLOC_MEMIC", in, sizeof(in), out, sizeof(out));
}

static int check_alloc(struct uv_req *req, uint64_t length)
{
	const uint64_t max = PRM_GET(device_mem_cap, uv_cap(UV_CAP_DEVICE_MEM), max_memic_size);
	const uint64_t align = uv_in_u64(req, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 0);
	const uint64_t type =
		uv_in_u64(req, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, MLX5_IB_UAPI_DM_TYPE_MEMIC);

	if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC)
		return uv_refuse(EOPNOTSUPP,
				 "DM_ALLOC: type %" PRIu64 ", expected 0 (MEMIC); memory for flow "
				 "steering is not emulated",
				 type);
	if (!length || length > max)
		return uv_refuse(EINVAL, "DM_ALLOC: length %" PRIu64 ", expected up to %" PRIu64,
				 length, max);
	if (align > DM_ALIGN_LOG)
		return uv_refuse(EINVAL, "DM_ALLOC: alignment 1 << %" PRIu64 ", at most 1 << %u",
				 align, DM_ALIGN_LOG);
	return 0;
}

static int make(struct uv_req *req, struct uv_dm *dm)
{
	int page = uv_memic_take(dm->pages), ret;

	if (page < 0)
		return uv_refuse(ENOMEM, "DM_ALLOC: no %u pages of device memory are free",
				 dm->pages);
	dm->page = (uint32_t)page;
	ret = uv_memic_bind(req->fd, dm->page, dm->pages);
	if (!ret)
		ret = alloc_in_nic(dm);
	if (ret)
		uv_memic_give(dm->page, dm->pages);
	return ret;
}

static int answer_place(struct uv_req *req, const struct uv_dm *dm, uint16_t offset_attr,
			uint16_t page_attr)
{
	const uint64_t offset = dm->addr % DM_PAGE;
	const uint16_t page = (uint16_t)dm->page;
	int ret = uv_out(req, offset_attr, &offset, sizeof(offset));

	return ret ? ret : uv_out(req, page_attr, &page, sizeof(page));
}

int uv_dm_alloc(struct uv_req *req)
{
	const uint64_t length = uv_in_u64(req, UVERBS_ATTR_ALLOC_DM_LENGTH, 0);
	struct uv_dm *dm;
	int ret = check_alloc(req, length);

	if (ret)
		return ret;
	dm = uv_obj_new(req->ctx, UV_DM, sizeof(*dm), NULL, 0);
	if (!dm)
		return -ENOMEM;
	dm->length = length;
	dm->size = (length + DM_UNIT - 1) / DM_UNIT * DM_UNIT;
	dm->pages = (uint32_t)((dm->size + DM_PAGE - 1) / DM_PAGE);
	ret = make(req, dm);
	if (ret) {
		uv_obj_free(req->ctx, &dm->obj);
		return ret;
	}
	ret = answer_place(req, dm, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
			   MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX);
	if (!ret)
		ret = uv_set_handle(req, UVERBS_ATTR_ALLOC_DM_HANDLE, dm->obj.handle);
	if (ret)
		uv_obj_destroy(req->ctx, &dm->obj);
	return ret;
}

int uv_dm_free(struct uv_ctx *ctx, struct uv_obj *obj)
{
	const struct uv_dm *dm = (struct uv_dm *)obj;
	int ret = free_in_nic(dm);

	(void)ctx;
	if (!ret)
		uv_memic_give(dm->page, dm->pages);
	return ret;
}

int uv_dm_query(struct uv_req *req)
{
	const struct uv_dm *dm = (struct uv_dm *)uv_obj(req, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE);
	int ret = answer_place(req, dm, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
			       MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX);

	return ret ? ret
		   : uv_out(req, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &dm->length,
			    sizeof(dm->length));
}

int uv_dm_map_op(struct uv_req *req)
{
	const struct uv_dm *dm =
		(struct uv_dm *)uv_obj(req, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE);
	const uint8_t op = (uint8_t)uv_in_u64(req, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, 0);
	const uint64_t offset = dm->addr % DM_PAGE;
	const uint16_t page = uv_memic_op_page(op, dm->page);
	int ret = uv_memic_op_map(req->ctx, op, uv_memic());

	if (ret)
		return uv_refuse(-ret, "DM_MAP_OP_ADDR: operation %u, expected 0 or 1 (on x86-64)",
				 op);
	ret = uv_out(req, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, &offset, sizeof(offset));
	return ret ? ret
		   : uv_out(req, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, &page, sizeof(page));
}

/* ---- regions ---- */

static int check_region(const struct uv_dm *dm, const struct uv_mr *mr)
{
	const uint32_t known = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
			       IB_UVERBS_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_OPTIONAL_RANGE;
	int ret = uv_check_access(mr->access);

	if (ret)
		return ret;
	if (!(mr->access & IB_UVERBS_ACCESS_ZERO_BASED) || (mr->access & ~known))
		return uv_refuse(EINVAL,
				 "DM_MR_REG: access 0x%x, expected zero-based, and only bits of "
				 "0x%x",
				 mr->access, known);
	if (mr->start > dm->length || mr->length > dm->length - mr->start)
		return uv_refuse(EINVAL,
				 "DM_MR_REG: [%" PRIu64 ", + %" PRIu64
				 ") of device memory of %" PRIu64 " bytes",
				 mr->start, mr->length, dm->length);
	return 0;
}

/* By the driver: start_addr names memory of the device, which no user context may. */
static int create_mkey(struct uv_mr *mr, const struct uv_dm *dm, uint32_t pdn)
{
	uint8_t in[PRM_create_mkey_in_SIZE] = {0}, out[PRM_create_mkey_out_SIZE] = {0};
	uint8_t *mkc = PRM_PTR(create_mkey_in, in, mkc);
	int ret;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_MKEY);
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_MEMIC & 3);
	PRM_SET(mkc, mkc, access_mode_4_2, PRM_MKC_MODE_MEMIC >> 2);
	PRM_SET(mkc, mkc, lr, 1);
	PRM_SET(mkc, mkc, lw, !!(mr->access & IB_UVERBS_ACCESS_LOCAL_WRITE));
	PRM_SET(mkc, mkc, rr, !!(mr->access & IB_UVERBS_ACCESS_REMOTE_READ));
	PRM_SET(mkc, mkc, rw, !!(mr->access & IB_UVERBS_ACCESS_REMOTE_WRITE));
	PRM_SET(mkc, mkc, a, !!(mr->access & IB_UVERBS_ACCESS_REMOTE_ATOMIC));
	PRM_SET(mkc, mkc, qpn, MKEY_ANY_QPN);
	PRM_SET(mkc, mkc, mkey_7_0, mr->tag);
	PRM_SET(mkc, mkc, pd, pdn);
	PRM_SET64(mkc, mkc, start_addr, dm->addr + mr->start);
	PRM_SET64(mkc, mkc, len, mr->length);
	ret = uv_command(0, "CREATE_MKEY", in, sizeof(in), out, sizeof(out));
	mr->obj.num = PRM_GET(create_mkey_out, out, mkey_index);
	mr->key = mr->obj.num << 8 | mr->tag;
	return ret;
}

int uv_dm_mr_reg(struct uv_req *req)
{
	struct uv_obj *pd = uv_obj(req, UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
	struct uv_obj *dm = uv_obj(req, UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
	struct uv_mr *mr = uv_obj_new(req->ctx, UV_MR, sizeof(*mr), (struct uv_obj *[]){pd, dm}, 2);
	int ret;

	if (!mr)
		return -ENOMEM;
	mr->start = uv_in_u64(req, UVERBS_ATTR_REG_DM_MR_OFFSET, 0);
	mr->length = uv_in_u64(req, UVERBS_ATTR_REG_DM_MR_LENGTH, 0);
	mr->access = (uint32_t)uv_in_u64(req, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 0);
	mr->tag = uv_next_tag();
	ret = check_region((struct uv_dm *)dm, mr);
	if (!ret)
		ret = create_mkey(mr, (struct uv_dm *)dm, pd->num);
	if (ret) {
		uv_obj_free(req->ctx, &mr->obj);
		return ret;
	}
	ret = uv_out(req, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &mr->key, sizeof(mr->key));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &mr->key, sizeof(mr->key));
	if (!ret)
		ret = uv_set_handle(req, UVERBS_ATTR_REG_DM_MR_HANDLE, mr->obj.handle);
	if (ret)
		uv_obj_destroy(req->ctx, &mr->obj);
	return ret;
}
