// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the face answers: methods with their attributes, INVOKE_WRITE commands, kinds of objects.
 * Anything that is not in a table is refused so that libibverbs falls back or reports it (codec.c).
 *
 * Ids, types and sizes: rdma/ib_user_ioctl_cmds.h and rdma/mlx5_user_ioctl_cmds.h.
 */
#include "emu/uverbs/uv.h"

#define ANY_LEN UINT16_MAX

#define M true	/* mandatory */
#define O false /* optional */
#define IN(id_, must, lo, hi)                                                                      \
	{                                                                                          \
		.id = (id_), .type = UV_PTR_IN, .mandatory = (must), .min = (lo), .max = (hi)      \
	}
#define OUT(id_, must, lo, hi)                                                                     \
	{                                                                                          \
		.id = (id_), .type = UV_PTR_OUT, .mandatory = (must), .min = (lo), .max = (hi)     \
	}
#define IN_T(id_, must, type)  IN(id_, must, sizeof(type), sizeof(type))
#define OUT_T(id_, must, type) OUT(id_, must, sizeof(type), ANY_LEN)
#define IDR(id_, must, kind_)                                                                      \
	{                                                                                          \
		.id = (id_), .type = UV_IDR, .mandatory = (must), .kind = (kind_)                  \
	}
#define NEW(id_, kind_)                                                                            \
	{                                                                                          \
		.id = (id_), .type = UV_IDR_NEW, .mandatory = true, .kind = (kind_)                \
	}
#define KILL(id_, kind_)                                                                           \
	{                                                                                          \
		.id = (id_), .type = UV_IDR_DESTROY, .mandatory = true, .kind = (kind_)            \
	}
#define FD(id_, must)                                                                              \
	{                                                                                          \
		.id = (id_), .type = UV_FD, .mandatory = (must)                                    \
	}
#define FD_NEW(id_)                                                                                \
	{                                                                                          \
		.id = (id_), .type = UV_FD_NEW, .mandatory = true                                  \
	}
#define UHW_IN	IN(UVERBS_ATTR_UHW_IN, O, 0, ANY_LEN)
#define UHW_OUT OUT(UVERBS_ATTR_UHW_OUT, O, 0, ANY_LEN)

static const struct uv_attr_spec a_invoke_write[] = {
	IN(UVERBS_ATTR_CORE_IN, O, 0, ANY_LEN),
	OUT(UVERBS_ATTR_CORE_OUT, O, 0, ANY_LEN),
	IN(UVERBS_ATTR_WRITE_CMD, M, 4, 8),
	UHW_IN,
	UHW_OUT,
};
static const struct uv_attr_spec a_get_context[] = {
	OUT_T(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, O, uint32_t),
	OUT_T(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, O, uint64_t),
	UHW_IN,
	UHW_OUT,
};
static const struct uv_attr_spec a_query_context[] = {
	OUT_T(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, O, uint32_t),
	OUT_T(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, O, uint64_t),
	OUT(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, M, 4, ANY_LEN),
};
static const struct uv_attr_spec a_query_port[] = {
	IN_T(UVERBS_ATTR_QUERY_PORT_PORT_NUM, M, uint8_t),
	OUT(UVERBS_ATTR_QUERY_PORT_RESP, M, sizeof(struct ib_uverbs_query_port_resp), ANY_LEN),
};
static const struct uv_attr_spec a_query_gid_table[] = {
	IN_T(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, M, uint64_t),
	IN(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, O, 4, 8),
	OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, M, 0, ANY_LEN),
	OUT_T(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, M, uint64_t),
};
static const struct uv_attr_spec a_query_gid_entry[] = {
	IN_T(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, M, uint32_t),
	IN_T(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, M, uint32_t),
	IN(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, O, 4, 8),
	OUT(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, M, 16, ANY_LEN),
};
static const struct uv_attr_spec a_async_alloc[] = {
	FD_NEW(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)};
static const struct uv_attr_spec a_pd_destroy[] = {KILL(UVERBS_ATTR_DESTROY_PD_HANDLE, UV_PD)};
static const struct uv_attr_spec a_pd_query[] = {
	IDR(MLX5_IB_ATTR_QUERY_PD_HANDLE, M, UV_PD),
	OUT_T(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, M, uint32_t),
};
static const struct uv_attr_spec a_mr_destroy[] = {KILL(UVERBS_ATTR_DESTROY_MR_HANDLE, UV_MR)};
static const struct uv_attr_spec a_mr_query[] = {
	IDR(UVERBS_ATTR_QUERY_MR_HANDLE, M, UV_MR),
	OUT_T(UVERBS_ATTR_QUERY_MR_RESP_LKEY, M, uint32_t),
	OUT_T(UVERBS_ATTR_QUERY_MR_RESP_RKEY, M, uint32_t),
	OUT_T(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, M, uint64_t),
	OUT_T(UVERBS_ATTR_QUERY_MR_RESP_IOVA, O, uint64_t),
};
static const struct uv_attr_spec a_mr_advise[] = {
	IDR(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, M, UV_PD),
	IN(UVERBS_ATTR_ADVISE_MR_ADVICE, M, 4, 8),
	IN(UVERBS_ATTR_ADVISE_MR_FLAGS, M, 4, 8),
	IN(UVERBS_ATTR_ADVISE_MR_SGE_LIST, M, 16, ANY_LEN),
};
static const struct uv_attr_spec a_mr_reg_dmabuf[] = {
	NEW(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, UV_MR),
	IDR(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, M, UV_PD),
	IN_T(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, M, uint64_t),
	IN_T(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, M, uint64_t),
	IN_T(UVERBS_ATTR_REG_DMABUF_MR_IOVA, M, uint64_t),
	/* A number, not an FD attribute: a dma-buf is no object of this file. */
	IN_T(UVERBS_ATTR_REG_DMABUF_MR_FD, M, uint32_t),
	IN(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, M, 4, 8),
	OUT_T(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, M, uint32_t),
	OUT_T(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, M, uint32_t),
};
static const struct uv_attr_spec a_dm_alloc[] = {
	NEW(UVERBS_ATTR_ALLOC_DM_HANDLE, UV_DM),
	IN_T(UVERBS_ATTR_ALLOC_DM_LENGTH, M, uint64_t),
	IN_T(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, M, uint32_t),
	OUT_T(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, O, uint64_t),
	OUT_T(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, O, uint16_t),
	IN(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, O, 1, 8),
};
static const struct uv_attr_spec a_dm_free[] = {KILL(UVERBS_ATTR_FREE_DM_HANDLE, UV_DM)};
static const struct uv_attr_spec a_dm_query[] = {
	IDR(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, M, UV_DM),
	OUT_T(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, M, uint64_t),
	OUT_T(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, M, uint16_t),
	OUT_T(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, M, uint64_t),
};
static const struct uv_attr_spec a_dm_map_op[] = {
	IDR(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, M, UV_DM),
	IN_T(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, M, uint8_t),
	OUT_T(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, M, uint64_t),
	OUT_T(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, M, uint16_t),
};
static const struct uv_attr_spec a_dm_mr_reg[] = {
	NEW(UVERBS_ATTR_REG_DM_MR_HANDLE, UV_MR),
	IN_T(UVERBS_ATTR_REG_DM_MR_OFFSET, M, uint64_t),
	IN_T(UVERBS_ATTR_REG_DM_MR_LENGTH, M, uint64_t),
	IDR(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, M, UV_PD),
	IN(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, M, 4, 8),
	IDR(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, M, UV_DM),
	OUT_T(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, M, uint32_t),
	OUT_T(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, M, uint32_t),
};
static const struct uv_attr_spec a_mw_destroy[] = {KILL(UVERBS_ATTR_DESTROY_MW_HANDLE, UV_MW)};
static const struct uv_attr_spec a_ah_destroy[] = {KILL(UVERBS_ATTR_DESTROY_AH_HANDLE, UV_AH)};
static const struct uv_attr_spec a_cq_create[] = {
	NEW(UVERBS_ATTR_CREATE_CQ_HANDLE, UV_CQ),
	IN_T(UVERBS_ATTR_CREATE_CQ_CQE, M, uint32_t),
	IN_T(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, M, uint64_t),
	FD(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, O),
	IN_T(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, M, uint32_t),
	IN(UVERBS_ATTR_CREATE_CQ_FLAGS, O, 4, 8),
	OUT_T(UVERBS_ATTR_CREATE_CQ_RESP_CQE, M, uint32_t),
	FD(UVERBS_ATTR_CREATE_CQ_EVENT_FD, O),
	UHW_IN,
	UHW_OUT,
};
static const struct uv_attr_spec a_cq_destroy[] = {
	KILL(UVERBS_ATTR_DESTROY_CQ_HANDLE, UV_CQ),
	OUT_T(UVERBS_ATTR_DESTROY_CQ_RESP, M, struct ib_uverbs_destroy_cq_resp),
};
/* An indirection table has no kind here yet: given, it is refused as unknown and mandatory. A PD is
 * optional because an XRC target has none. */
static const struct uv_attr_spec a_qp_create[] = {
	NEW(UVERBS_ATTR_CREATE_QP_HANDLE, UV_QP),
	IDR(UVERBS_ATTR_CREATE_QP_PD_HANDLE, O, UV_PD),
	IDR(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, O, UV_XRCD),
	IDR(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, O, UV_SRQ),
	IDR(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, O, UV_CQ),
	IDR(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, O, UV_CQ),
	IN_T(UVERBS_ATTR_CREATE_QP_USER_HANDLE, M, uint64_t),
	IN_T(UVERBS_ATTR_CREATE_QP_CAP, M, struct ib_uverbs_qp_cap),
	IN(UVERBS_ATTR_CREATE_QP_TYPE, M, 4, 8),
	IN(UVERBS_ATTR_CREATE_QP_FLAGS, O, 4, 8),
	IN_T(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, O, uint32_t),
	FD(UVERBS_ATTR_CREATE_QP_EVENT_FD, O),
	OUT_T(UVERBS_ATTR_CREATE_QP_RESP_CAP, M, struct ib_uverbs_qp_cap),
	OUT_T(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, M, uint32_t),
	UHW_IN,
	UHW_OUT,
};
static const struct uv_attr_spec a_qp_destroy[] = {
	KILL(UVERBS_ATTR_DESTROY_QP_HANDLE, UV_QP),
	OUT_T(UVERBS_ATTR_DESTROY_QP_RESP, M, struct ib_uverbs_destroy_qp_resp),
};
static const struct uv_attr_spec a_srq_create[] = {
	NEW(UVERBS_ATTR_CREATE_SRQ_HANDLE, UV_SRQ),
	IDR(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, M, UV_PD),
	IDR(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, O, UV_XRCD),
	IDR(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, O, UV_CQ),
	IN_T(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, M, uint64_t),
	IN_T(UVERBS_ATTR_CREATE_SRQ_MAX_WR, M, uint32_t),
	IN_T(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, M, uint32_t),
	IN_T(UVERBS_ATTR_CREATE_SRQ_LIMIT, M, uint32_t),
	IN_T(UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, O, uint32_t),
	IN(UVERBS_ATTR_CREATE_SRQ_TYPE, M, 4, 8),
	FD(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, O),
	OUT_T(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, M, uint32_t),
	OUT_T(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, M, uint32_t),
	OUT_T(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, O, uint32_t),
	UHW_IN,
	UHW_OUT,
};
static const struct uv_attr_spec a_srq_destroy[] = {
	KILL(UVERBS_ATTR_DESTROY_SRQ_HANDLE, UV_SRQ),
	OUT_T(UVERBS_ATTR_DESTROY_SRQ_RESP, M, struct ib_uverbs_destroy_srq_resp),
};
static const struct uv_attr_spec a_xrcd_destroy[] = {
	KILL(UVERBS_ATTR_DESTROY_XRCD_HANDLE, UV_XRCD)};
static const struct uv_attr_spec a_uar_alloc[] = {
	NEW(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, UV_UAR),
	IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, M, 4, 8),
	OUT_T(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, M, uint64_t),
	OUT_T(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, M, uint32_t),
	OUT_T(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, M, uint32_t),
};
static const struct uv_attr_spec a_uar_destroy[] = {
	KILL(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, UV_UAR)};

static const struct uv_attr_spec a_var_alloc[] = {
	NEW(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, UV_VAR),
	OUT_T(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, M, uint64_t),
	OUT_T(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, M, uint32_t),
	OUT_T(MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, M, uint32_t),
};
static const struct uv_attr_spec a_var_destroy[] = {
	KILL(MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, UV_VAR)};
static const struct uv_attr_spec a_mlx5_query_port[] = {
	IN_T(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, M, uint32_t),
	OUT(MLX5_IB_ATTR_QUERY_PORT, M, sizeof(struct mlx5_ib_uapi_query_port), ANY_LEN),
};

#define MBOX_IN(id)  IN(id, M, PRM_cmd_in_SIZE, ANY_LEN)
#define MBOX_OUT(id) OUT(id, M, PRM_cmd_out_SIZE, ANY_LEN)
static const struct uv_attr_spec a_devx_other[] = {
	MBOX_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN),
	MBOX_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT),
};
static const struct uv_attr_spec a_devx_query_eqn[] = {
	IN_T(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, M, uint32_t),
	OUT_T(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, M, uint32_t),
};
static const struct uv_attr_spec a_devx_query_uar[] = {
	IN_T(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, M, uint32_t),
	OUT_T(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, M, uint32_t),
};
static const struct uv_attr_spec a_devx_obj_create[] = {
	NEW(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, UV_DEVX_OBJ),
	MBOX_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN),
	MBOX_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT),
};
static const struct uv_attr_spec a_devx_obj_destroy[] = {
	KILL(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, UV_DEVX_OBJ)};
static const struct uv_attr_spec a_devx_obj_modify[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, M, UV_ANY),
	MBOX_IN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN),
	MBOX_OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT),
};
static const struct uv_attr_spec a_devx_obj_query[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, M, UV_ANY),
	MBOX_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN),
	MBOX_OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT),
};
/* A dma-buf fd is optional in the ABI and always marked mandatory by libmlx5: without a spec it is
 * refused. */
static const struct uv_attr_spec a_devx_umem_reg[] = {
	NEW(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, UV_DEVX_UMEM),
	IN_T(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, M, uint64_t),
	IN_T(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, M, uint64_t),
	IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, O, 4, 8),
	IN_T(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, O, uint64_t),
	OUT_T(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, M, uint32_t),
};
static const struct uv_attr_spec a_devx_umem_dereg[] = {
	KILL(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, UV_DEVX_UMEM)};
static const struct uv_attr_spec a_devx_event_channel[] = {
	FD_NEW(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE),
	IN(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, M, 4, 8),
};
static const struct uv_attr_spec a_devx_cmd_channel[] = {
	FD_NEW(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE)};
static const struct uv_attr_spec a_devx_query_async[] = {
	IDR(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, M, UV_ANY),
	MBOX_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN),
	FD(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, M),
	IN_T(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, M, uint64_t),
	IN_T(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, M, uint16_t),
};
static const struct uv_attr_spec a_devx_subscribe[] = {
	FD(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, M),
	IDR(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, O, UV_ANY),
	IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, M, 2, 2 * 64),
	IN_T(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, O, uint64_t),
	IN_T(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, O, uint32_t),
};

#define METHOD(object_, method_, handler_, specs_)                                                 \
	{                                                                                          \
		.object = (object_), .method = (method_), .name = #method_, .handler = (handler_), \
		.specs = (specs_), .nspecs = sizeof(specs_) / sizeof((specs_)[0])                  \
	}
#define METHOD_EARLY(object_, method_, handler_, specs_)                                           \
	{                                                                                          \
		.object = (object_), .method = (method_), .name = #method_, .handler = (handler_), \
		.specs = (specs_), .nspecs = sizeof(specs_) / sizeof((specs_)[0]),                 \
		.without_ctx = true                                                                \
	}

const struct uv_method uv_methods[] = {
	METHOD_EARLY(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, uv_invoke_write,
		     a_invoke_write),
	METHOD_EARLY(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, uv_get_context,
		     a_get_context),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, uv_query_context,
	       a_query_context),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, uv_query_port, a_query_port),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, uv_query_gid_table,
	       a_query_gid_table),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, uv_query_gid_entry,
	       a_query_gid_entry),
	METHOD(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, uv_async_event_alloc,
	       a_async_alloc),
	METHOD(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, uv_destroy_handle, a_pd_destroy),
	METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, uv_pd_query, a_pd_query),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, uv_destroy_handle, a_mr_destroy),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, uv_mr_query, a_mr_query),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, uv_mr_advise, a_mr_advise),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, uv_mr_reg_dmabuf, a_mr_reg_dmabuf),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, uv_dm_mr_reg, a_dm_mr_reg),
	METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, uv_dm_alloc, a_dm_alloc),
	METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, uv_destroy_handle, a_dm_free),
	METHOD(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, uv_dm_query, a_dm_query),
	METHOD(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, uv_dm_map_op, a_dm_map_op),
	METHOD(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, uv_destroy_handle, a_mw_destroy),
	METHOD(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, uv_destroy_handle, a_ah_destroy),
	METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, uv_cq_create, a_cq_create),
	METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, uv_cq_destroy, a_cq_destroy),
	METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, uv_qp_create, a_qp_create),
	METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, uv_qp_destroy, a_qp_destroy),
	METHOD(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, uv_srq_create, a_srq_create),
	METHOD(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, uv_srq_destroy, a_srq_destroy),
	METHOD(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, uv_destroy_handle, a_xrcd_destroy),
	METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, uv_uar_alloc, a_uar_alloc),
	METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, uv_destroy_handle,
	       a_uar_destroy),
	METHOD(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, uv_var_alloc, a_var_alloc),
	METHOD(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, uv_destroy_handle,
	       a_var_destroy),
	METHOD(UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, uv_mlx5_query_port,
	       a_mlx5_query_port),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, uv_devx_other, a_devx_other),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, uv_devx_query_eqn,
	       a_devx_query_eqn),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, uv_devx_query_uar,
	       a_devx_query_uar),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, uv_devx_subscribe,
	       a_devx_subscribe),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, uv_devx_obj_create,
	       a_devx_obj_create),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, uv_destroy_handle,
	       a_devx_obj_destroy),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, uv_devx_obj_modify,
	       a_devx_obj_modify),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, uv_devx_obj_query,
	       a_devx_obj_query),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY,
	       uv_devx_obj_query_async, a_devx_query_async),
	METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
	       uv_devx_cmd_channel, a_devx_cmd_channel),
	METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, uv_devx_umem_reg,
	       a_devx_umem_reg),
	METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, uv_destroy_handle,
	       a_devx_umem_dereg),
	METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
	       uv_devx_event_channel, a_devx_event_channel),
};
const unsigned int uv_nmethods = sizeof(uv_methods) / sizeof(uv_methods[0]);

#define WRITE(cmd_, in_, out_, handler_)                                                           \
	{                                                                                          \
		IB_USER_VERBS_CMD_##cmd_, #cmd_, in_, out_, in_, handler_                          \
	}
#define WRITE_EX(cmd_, in_, known_, out_, handler_)                                                \
	{                                                                                          \
		IB_USER_VERBS_EX_CMD_##cmd_ | IB_USER_VERBS_CMD_FLAG_EXTENDED, "EX_" #cmd_, in_,   \
			out_, known_, handler_                                                     \
	}
#define SZ(type) sizeof(struct ib_uverbs_##type)

/* Variable tails (driver_data) travel as UHW_IN and UHW_OUT, so every core structure has its fixed
 * size. */
const struct uv_write uv_writes[] = {
	WRITE(QUERY_DEVICE, SZ(query_device), SZ(query_device_resp), uv_w_query_device),
	WRITE_EX(QUERY_DEVICE, SZ(ex_query_device), SZ(ex_query_device), SZ(query_device_resp),
		 uv_w_ex_query_device),
	WRITE(QUERY_PORT, SZ(query_port), SZ(query_port_resp), uv_w_query_port),
	WRITE(ALLOC_PD, SZ(alloc_pd), SZ(alloc_pd_resp), uv_w_alloc_pd),
	WRITE(REG_MR, SZ(reg_mr), SZ(reg_mr_resp), uv_w_reg_mr),
	WRITE(REREG_MR, SZ(rereg_mr), SZ(rereg_mr_resp), uv_w_rereg_mr),
	WRITE(ALLOC_MW, SZ(alloc_mw), SZ(alloc_mw_resp), uv_w_alloc_mw),
	WRITE(CREATE_AH, SZ(create_ah), SZ(create_ah_resp), uv_w_create_ah),
	WRITE(ATTACH_MCAST, SZ(attach_mcast), 0, uv_w_attach_mcast),
	WRITE(DETACH_MCAST, SZ(detach_mcast), 0, uv_w_detach_mcast),
	WRITE(CREATE_COMP_CHANNEL, SZ(create_comp_channel), SZ(create_comp_channel_resp),
	      uv_w_create_comp_channel),
	WRITE_EX(MODIFY_CQ, SZ(ex_modify_cq) - 4, SZ(ex_modify_cq), 0, uv_w_ex_modify_cq),
	WRITE(RESIZE_CQ, SZ(resize_cq), sizeof(uint32_t), uv_w_resize_cq),
	WRITE(MODIFY_QP, SZ(modify_qp), 0, uv_w_modify_qp),
	WRITE_EX(MODIFY_QP, SZ(modify_qp), SZ(ex_modify_qp), 0, uv_w_ex_modify_qp),
	WRITE(QUERY_QP, SZ(query_qp), SZ(query_qp_resp), uv_w_query_qp),
	WRITE(OPEN_QP, SZ(open_qp), SZ(create_qp_resp), uv_w_open_qp),
	WRITE(MODIFY_SRQ, SZ(modify_srq), 0, uv_w_modify_srq),
	WRITE(QUERY_SRQ, SZ(query_srq), SZ(query_srq_resp), uv_w_query_srq),
	WRITE(OPEN_XRCD, SZ(open_xrcd), SZ(open_xrcd_resp), uv_w_open_xrcd),
};
const unsigned int uv_nwrites = sizeof(uv_writes) / sizeof(uv_writes[0]);

const struct uv_kind_ops uv_kinds[UV_KINDS] = {
	[UV_PD] = {"protection domain", uv_pd_destroy},
	[UV_MR] = {"memory region", uv_mr_destroy},
	[UV_MW] = {"memory window", uv_mw_destroy},
	[UV_DM] = {"device memory", uv_dm_free},
	[UV_AH] = {"address handle", uv_ah_destroy},
	[UV_CQ] = {"completion queue", uv_cq_release},
	[UV_QP] = {"queue pair", uv_qp_release},
	[UV_SRQ] = {"shared receive queue", uv_srq_release},
	[UV_XRCD] = {"XRC domain", uv_xrcd_release},
	[UV_UAR] = {"UAR", uv_uar_release},
	[UV_VAR] = {"VAR", uv_var_release},
	[UV_DEVX_OBJ] = {"DevX object", uv_devx_obj_release},
	[UV_DEVX_UMEM] = {"DevX umem", uv_devx_umem_release},
};
