/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: RMP objects of the PRM. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "devx.h"
#include "log.h"
#include "prm/prm.h"
#include "util.h"
#include "verbs.h"

/* PRM, rmpc.state and wq.{wq_type, end_padding_mode}. */
enum { RMP_STATE_RDY = 1, WQ_TYPE_LINKED_LIST = 0, WQ_TYPE_CYCLIC = 1, END_PADDING_ALIGN = 1 };

enum {
	DATA_SEGMENT_BYTES = 16,
	NEXT_SEGMENT_BYTES = 16, /* head of a linked-list WQE */
	NEXT_INDEX_OFFSET = 2,	 /* bytes into it: be16, the successor's index */
	MIN_LINKED_WQE_BYTES = 32,
};

static doca_error_t check(const struct doca_verbs_srq_init_attr *attr,
			  const struct doca_verbs_device_attr *limits)
{
	if (!attr->pd || !attr->srq_wr || !attr->receive_max_sges ||
	    (attr->type != DOCA_VERBS_SRQ_TYPE_LINKED_LIST &&
	     attr->type != DOCA_VERBS_SRQ_TYPE_CONTIGUOUS)) {
		ENGINE_ERR("SRQ: pd %p, srq_wr %u, receive_max_sges %u, type %d", (void *)attr->pd,
			   attr->srq_wr, attr->receive_max_sges, (int)attr->type);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (attr->srq_wr > limits->max_srq_wr || attr->receive_max_sges > limits->max_srq_sge) {
		ENGINE_ERR("SRQ: %u WRs of %u SGEs, the device has %u of %u", attr->srq_wr,
			   attr->receive_max_sges, limits->max_srq_wr, limits->max_srq_sge);
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	return DOCA_SUCCESS;
}

static uint32_t wqe_bytes(const struct doca_verbs_srq_init_attr *attr)
{
	uint64_t bytes = (uint64_t)attr->receive_max_sges * DATA_SEGMENT_BYTES;

	if (attr->type == DOCA_VERBS_SRQ_TYPE_LINKED_LIST) {
		bytes += NEXT_SEGMENT_BYTES;
		if (bytes < MIN_LINKED_WQE_BYTES)
			bytes = MIN_LINKED_WQE_BYTES;
	}
	return (uint32_t)pow2_at_least(bytes);
}

/* Each WQE names its successor; the last one has none and names the first. */
static void chain(struct doca_verbs_srq *srq)
{
	for (uint32_t i = 0; i < srq->wqes; i++) {
		uint16_t next = htobe16((uint16_t)((i + 1) & (srq->wqes - 1)));

		memcpy(srq->memory.ring + (size_t)i * srq->wqe_bytes + NEXT_INDEX_OFFSET, &next,
		       sizeof(next));
	}
}

static doca_error_t get_memory(struct ibv_context *context,
			       const struct doca_verbs_srq_init_attr *attr,
			       struct doca_verbs_srq *srq)
{
	size_t ring_bytes = (size_t)srq->wqes * srq->wqe_bytes;
	struct umem_at dbr = attr->ring;

	dbr.offset += align_up(ring_bytes, CACHE_LINE_SIZE);
	return queue_memory_get(context, "SRQ", &attr->ring, &dbr, ring_bytes, &srq->memory);
}

static doca_error_t create_object(struct ibv_context *context,
				  const struct doca_verbs_srq_init_attr *attr,
				  struct doca_verbs_srq *srq)
{
	bool is_linked = attr->type == DOCA_VERBS_SRQ_TYPE_LINKED_LIST;
	uint8_t in[PRM_create_rmp_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *rmpc = PRM_PTR(create_rmp_in, in, rmpc), *wq = PRM_PTR(rmpc, rmpc, wq);
	struct mlx5dv_pd dv_pd = {0};
	struct mlx5dv_obj obj = {.pd = {.in = attr->pd, .out = &dv_pd}};
	doca_error_t status;
	int rc = rdma_get()->init_obj(&obj, MLX5DV_OBJ_PD);

	if (rc)
		return rdma_failed("mlx5dv_init_obj(PD)", rc);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_RMP);
	PRM_SET(rmpc, rmpc, state, RMP_STATE_RDY);
	PRM_SET(rmpc, rmpc, basic_cyclic_rcv_wqe, !is_linked);
	PRM_SET(wq, wq, wq_type, is_linked ? WQ_TYPE_LINKED_LIST : WQ_TYPE_CYCLIC);
	PRM_SET(wq, wq, end_padding_mode, END_PADDING_ALIGN);
	PRM_SET(wq, wq, pd, dv_pd.pdn);
	PRM_SET(wq, wq, log_wq_stride, ilog2(srq->wqe_bytes));
	PRM_SET(wq, wq, log_wq_sz, ilog2(srq->wqes));
	PRM_SET(wq, wq, wq_umem_valid, 1);
	PRM_SET(wq, wq, wq_umem_id, srq->memory.ring_umem_id);
	PRM_SET64(wq, wq, wq_umem_offset, srq->memory.ring_offset);
	PRM_SET(wq, wq, dbr_umem_valid, 1);
	PRM_SET(wq, wq, dbr_umem_id, srq->memory.dbr_umem_id);
	PRM_SET64(wq, wq, dbr_addr, srq->memory.dbr_offset);
	status = devx_create(context, "CREATE_RMP", in, sizeof(in), out, sizeof(out), &srq->devx);
	if (status == DOCA_SUCCESS)
		srq->srqn = PRM_GET(obj_out, out, number);
	return status;
}

doca_error_t doca_verbs_srq_create(struct ibv_context *context,
				   struct doca_verbs_srq_init_attr *attr,
				   struct doca_verbs_srq **srq)
{
	struct doca_verbs_device_attr limits;
	struct doca_verbs_srq *new_srq;
	doca_error_t status;

	if (!context || !attr || !srq)
		return DOCA_ERROR_INVALID_VALUE;
	status = device_query_limits(context, &limits);
	if (status == DOCA_SUCCESS)
		status = check(attr, &limits);
	if (status != DOCA_SUCCESS)
		return status;
	new_srq = calloc(1, sizeof(*new_srq));
	if (!new_srq)
		return DOCA_ERROR_NO_MEMORY;
	new_srq->wqe_bytes = wqe_bytes(attr);
	new_srq->wqes = (uint32_t)pow2_at_least(attr->srq_wr);
	status = get_memory(context, attr, new_srq);
	if (status == DOCA_SUCCESS && new_srq->memory.own_buffer &&
	    attr->type == DOCA_VERBS_SRQ_TYPE_LINKED_LIST)
		chain(new_srq);
	if (status == DOCA_SUCCESS)
		status = create_object(context, attr, new_srq);
	if (status != DOCA_SUCCESS) {
		queue_memory_put(&new_srq->memory);
		free(new_srq);
		return status;
	}
	*srq = new_srq;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *srq)
{
	doca_error_t status;

	if (!srq)
		return DOCA_ERROR_INVALID_VALUE;
	status = queue_drop(&srq->devx, "DESTROY_RMP", &srq->memory);
	if (status == DOCA_SUCCESS)
		free(srq);
	return status;
}

uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *srq)
{
	return srq ? srq->srqn : 0;
}

void doca_verbs_srq_get_wq(const struct doca_verbs_srq *srq, void **srq_buf,
			   uint32_t *srq_num_entries, uint32_t *rwqe_size_bytes)
{
	if (srq_buf)
		*srq_buf = srq ? srq->memory.ring : NULL;
	if (srq_num_entries)
		*srq_num_entries = srq ? srq->wqes : 0;
	if (rwqe_size_bytes)
		*rwqe_size_bytes = srq ? srq->wqe_bytes : 0;
}

void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *srq)
{
	return srq ? srq->memory.dbr : NULL;
}
