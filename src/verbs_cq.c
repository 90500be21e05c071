/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devx.h"
#include "log.h"
#include "prm/prm.h"
#include "util.h"
#include "verbs.h"

void cq_init_ring(void *ring, uint32_t entries)
{
	uint8_t *cqe = ring;

	memset(ring, 0, (size_t)entries * PRM_CQE_SIZE);
	for (uint32_t i = 0; i < entries; i++, cqe += PRM_CQE_SIZE)
		cqe[PRM_CQE_SIZE - 1] =
			PRM_CQE_INVALID << 4 | 1; /* op_own: no opcode, HW's owner bit */
}

static doca_error_t check(const struct doca_verbs_cq_attr *attr, uint32_t max_cqe)
{
	if (!is_pow2(attr->cq_size) || attr->cq_size > max_cqe) {
		ENGINE_ERR("cq_size %u: expected a power of two up to %u", attr->cq_size, max_cqe);
		return DOCA_ERROR_INVALID_VALUE;
	}
	return DOCA_SUCCESS;
}

static doca_error_t create_object(struct ibv_context *context,
				  const struct doca_verbs_cq_attr *attr, struct doca_verbs_cq *cq)
{
	const struct rdma_ops *rdma = rdma_get();
	uint8_t in[PRM_create_cq_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *cqc = PRM_PTR(create_cq_in, in, cq_context);
	doca_error_t status;
	uint32_t eqn = 0;
	int rc;

	rc = rdma->query_eqn(context, 0, &eqn);
	if (rc)
		return rdma_failed("mlx5dv_devx_query_eqn", rc > 0 ? rc : errno);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_CQ);
	PRM_SET64(create_cq_in, in, cq_umem_offset, cq->memory.ring_offset);
	PRM_SET(create_cq_in, in, cq_umem_id, cq->memory.ring_umem_id);
	PRM_SET(create_cq_in, in, cq_umem_valid, 1);
	PRM_SET(cqc, cqc, cc, attr->cq_collapsed);
	PRM_SET(cqc, cqc, oi, attr->cq_overrun == DOCA_VERBS_CQ_ENABLE_OVERRUN);
	PRM_SET(cqc, cqc, log_cq_size, ilog2(attr->cq_size));
	PRM_SET(cqc, cqc, uar_page, cq->uar->devx->page_id);
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, eqn);
	PRM_SET(cqc, cqc, dbr_umem_valid, 1);
	PRM_SET(cqc, cqc, dbr_umem_id, cq->memory.dbr_umem_id);
	PRM_SET64(cqc, cqc, dbr_addr, cq->memory.dbr_offset);
	status = devx_create(context, "CREATE_CQ", in, sizeof(in), out, sizeof(out), &cq->devx);
	if (status == DOCA_SUCCESS)
		cq->cqn = PRM_GET(obj_out, out, number);
	return status;
}

static void release(struct doca_verbs_cq *cq)
{
	queue_memory_put(&cq->memory);
	if (cq->own_uar)
		doca_verbs_uar_destroy(cq->own_uar);
	free(cq);
}

doca_error_t doca_verbs_cq_create(struct ibv_context *context, struct doca_verbs_cq_attr *attr,
				  struct doca_verbs_cq **cq)
{
	static const enum doca_verbs_uar_allocation_type uar_order[2] = {
		DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME};
	struct doca_verbs_device_attr limits;
	struct doca_verbs_cq *new_cq;
	doca_error_t status;

	if (!context || !attr || !cq)
		return DOCA_ERROR_INVALID_VALUE;
	status = device_query_limits(context, &limits);
	if (status == DOCA_SUCCESS)
		status = check(attr, limits.max_cqe);
	if (status != DOCA_SUCCESS)
		return status;
	new_cq = calloc(1, sizeof(*new_cq));
	if (!new_cq)
		return DOCA_ERROR_NO_MEMORY;
	new_cq->entries = attr->cq_size;
	new_cq->is_collapsed = attr->cq_collapsed;
	status = queue_memory_get(context, "CQ", &attr->ring, &attr->dbr,
				  (size_t)attr->cq_size * PRM_CQE_SIZE, &new_cq->memory);
	if (status == DOCA_SUCCESS && new_cq->memory.own_buffer)
		cq_init_ring(new_cq->memory.ring, new_cq->entries);
	if (status == DOCA_SUCCESS)
		status = uar_get(context, attr->external_uar, uar_order, &new_cq->uar,
				 &new_cq->own_uar);
	if (status == DOCA_SUCCESS)
		status = create_object(context, attr, new_cq);
	if (status != DOCA_SUCCESS) {
		release(new_cq);
		return status;
	}
	ENGINE_INFO("CQ 0x%x: %u entries", new_cq->cqn, new_cq->entries);
	*cq = new_cq;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_cq_destroy(struct doca_verbs_cq *cq)
{
	doca_error_t status;

	if (!cq)
		return DOCA_ERROR_INVALID_VALUE;
	status = queue_drop(&cq->devx, "DESTROY_CQ", &cq->memory);
	if (status == DOCA_SUCCESS)
		release(cq);
	return status;
}

void doca_verbs_cq_get_wq(struct doca_verbs_cq *cq, void **cq_buf, uint32_t *cq_num_entries,
			  uint8_t *cq_entry_size)
{
	if (cq_buf)
		*cq_buf = cq ? cq->memory.ring : NULL;
	if (cq_num_entries)
		*cq_num_entries = cq ? cq->entries : 0;
	if (cq_entry_size)
		*cq_entry_size = cq ? PRM_CQE_SIZE : 0;
}

void doca_verbs_cq_get_dbr_addr(struct doca_verbs_cq *cq, uint64_t **uar_db_reg, uint32_t **ci_dbr,
				uint32_t **arm_dbr)
{
	if (uar_db_reg)
		*uar_db_reg = cq ? cq->uar->devx->reg_addr : NULL;
	if (ci_dbr)
		*ci_dbr = cq ? &cq->memory.dbr[0] : NULL;
	if (arm_dbr)
		*arm_dbr = cq ? &cq->memory.dbr[1] : NULL;
}

uint32_t doca_verbs_cq_get_cqn(const struct doca_verbs_cq *cq)
{
	return cq ? cq->cqn : 0;
}
