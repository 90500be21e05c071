/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an exported QP after its export: why it failed, and how it starts again. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "host/mlx5_prm.h"
#include "log.h"
#include "prm/prm.h"
#include "util.h"

_Static_assert(sizeof(struct mlx5_err_cqe_ex) == PRM_CQE_SIZE, "layout is the PRM's");

/*
 * The first cause among the error completions of one QP: flushes only follow it, so another
 * syndrome wins. Which of several others came first a ring does not tell.
 */
static void find_error(const struct mlx5_err_cqe_ex *ring, uint32_t entries, uint32_t qpn,
		       struct doca_gpu_verbs_qp_error_info *info)
{
	for (uint32_t i = 0; i < entries; i++) {
		const struct mlx5_err_cqe_ex *cqe = &ring[i];
		bool is_first = info->syndrome == 0;

		if (cqe->op_own >> 4 != PRM_CQE_REQ_ERR ||
		    (be32toh(cqe->s_wqe_opcode_qpn) & 0xffffff) != qpn)
			continue;
		if (!is_first &&
		    (info->syndrome != PRM_SYND_WR_FLUSH || cqe->syndrome == PRM_SYND_WR_FLUSH))
			continue;
		info->syndrome = cqe->syndrome;
		info->vendor_err_synd = cqe->vendor_err_synd;
		info->hw_err_synd = cqe->hw_err_synd;
		info->hw_synd_type = cqe->hw_synd_type;
		info->wqe_counter = be16toh(cqe->wqe_counter);
	}
}

doca_error_t doca_gpu_verbs_query_last_error(struct doca_gpu_verbs_qp *qp,
					     struct doca_gpu_verbs_qp_error_info *error_info)
{
	const struct doca_gpu_dev_verbs_cq *cq;
	uint8_t qpc[PRM_qpc_SIZE];
	struct gpu_mem *mem;
	doca_error_t status;
	uint32_t state;
	void *ring;

	if (!qp || !error_info)
		return DOCA_ERROR_INVALID_VALUE;
	memset(error_info, 0, sizeof(*error_info));
	status = qp_query_context(qp->qp, qpc, sizeof(qpc));
	if (status != DOCA_SUCCESS)
		return status;
	state = PRM_GET(qpc, qpc, state);
	error_info->has_error = state == PRM_QP_ERR || state == PRM_QP_SQER;
	if (!error_info->has_error)
		return DOCA_SUCCESS;

	/* Kernels may still run, so the ring is read beside them. Its reason is a bonus: no error
	 * if absent. */
	cq = &qp->qp_cpu->cq_sq;
	mem = &qp->gpu_dev->mem;
	ring = malloc((size_t)cq->cqe_num * PRM_CQE_SIZE);
	if (ring && mem->ops->peek(mem, ring, cq->cqe_daddr, (size_t)cq->cqe_num * PRM_CQE_SIZE) ==
			    DOCA_SUCCESS)
		find_error(ring, cq->cqe_num, qp->qp->qpn, error_info);
	free(ring);
	return DOCA_SUCCESS;
}

/*
 * A CQ ring whose next entry is number next. An entry is new when its owner bit is that of the lap,
 * so each one gets the other bit of the lap in which the NIC will write it.
 */
static void make_ring_stale(uint8_t *ring, uint32_t entries, uint64_t next)
{
	unsigned int log_entries = ilog2(entries);

	memset(ring, 0xff, (size_t)entries * PRM_CQE_SIZE);
	for (uint32_t i = 0; i < entries; i++) {
		uint64_t index =
			next + ((i - next) & (entries - 1)); /* first one >= next in slot i */
		uint8_t owner = (uint8_t)(index >> log_entries & 1);

		ring[(size_t)i * PRM_CQE_SIZE + PRM_CQE_SIZE - 1] =
			(uint8_t)(PRM_CQE_INVALID << 4 | (owner ^ 1));
	}
}

/* next: the number that the CQ's next entry will have. */
static doca_error_t reset_cq(struct gpu_mem *mem, struct doca_gpu_dev_verbs_cq *cq, uint64_t next)
{
	size_t bytes = (size_t)cq->cqe_num * PRM_CQE_SIZE;
	uint8_t *ring = malloc(bytes);
	doca_error_t status;

	if (!ring)
		return DOCA_ERROR_NO_MEMORY;
	cq->cqe_ci = 0;
	cq->cqe_rsvd = next; /* the NIC's counter goes on: a CQ is not reset with its QP */
	cq->cqe_err_synd = 0;
	cq->cqe_err_idx_inv = 0;
	make_ring_stale(ring, cq->cqe_num, next);
	status = mem->ops->copy(mem, cq->cqe_daddr, ring, bytes);
	free(ring);
	return status;
}

static doca_error_t reset_sq(struct gpu_mem *mem, struct exported_qp *e)
{
	struct doca_gpu_dev_verbs_qp *image = e->pub.qp_cpu;

	image->sq_wqe_pi = 0;
	image->sq_rsvd_index = 0;
	image->sq_ready_index = 0;
	image->sq_lock = 0;
	e->pub.sq_wqe_pi_last = 0;
	if (e->proxy == PROXY_FULL)
		*e->pub.cpu_db = 0;
	if (e->proxy == PROXY_NONE) {
		doca_error_t status =
			mem->ops->fill(mem, image->sq_dbrec, 0, sizeof(*image->sq_dbrec));

		if (status != DOCA_SUCCESS)
			return status;
	} else {
		*e->pub.sq_dbrec = 0; /* a record that a proxy keeps is host memory */
	}
	return mem->ops->fill(mem, image->sq_wqe_daddr, 0,
			      (size_t)image->sq_wqe_num * PRM_WQEBB_SIZE);
}

doca_error_t doca_gpu_verbs_reset_tracking_and_memory(struct doca_gpu_verbs_qp *qp_gverbs)
{
	struct doca_gpu_dev_verbs_qp dev;
	struct gpu_mem *mem;
	doca_error_t status;

	if (!qp_gverbs)
		return DOCA_ERROR_INVALID_VALUE;
	if (!qp_gverbs->qp_gpu) {
		ENGINE_ERR("reset: the QP has no device handle");
		return DOCA_ERROR_BAD_STATE;
	}
	mem = &qp_gverbs->gpu_dev->mem;
	status = mem->ops->copy(mem, &dev, qp_gverbs->qp_gpu, sizeof(dev));
	if (status == DOCA_SUCCESS)
		/* Both from the device handle, which is written last: a reset can be tried again.
		 */
		status = reset_cq(mem, &qp_gverbs->qp_cpu->cq_sq,
				  dev.cq_sq.cqe_rsvd + dev.sq_rsvd_index);
	if (status == DOCA_SUCCESS)
		status = reset_sq(mem, exported(qp_gverbs));
	if (status == DOCA_SUCCESS)
		status = mem->ops->copy(mem, qp_gverbs->qp_gpu, qp_gverbs->qp_cpu, sizeof(dev));
	if (status == DOCA_SUCCESS)
		status = mem->ops->sync(mem);
	return status;
}
