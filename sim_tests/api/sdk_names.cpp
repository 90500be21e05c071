/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DOCA SDK's and rdma-core's spellings beside GPUNetIO's, as programs use them: compiled for
 * the CPU and, by ci/check-nvcc.sh, for the GPU; with rdma-core's header before ours (MLX5DV_FIRST)
 * and after.
 */
#ifdef MLX5DV_FIRST
#include <infiniband/mlx5dv.h>
#endif
#ifdef __CUDACC__
#include "doca_gpunetio_device.h"
#else
#include "gdakit_kernel.h"
#include "doca_gpunetio_device.h"
#endif
#include <infiniband/mlx5dv.h>

#include <type_traits>

namespace
{

/* The flags keep their type: builders take the enum. */
static_assert(std::is_same<decltype(DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE),
			   enum doca_gpu_dev_verbs_wqe_ctrl_flags>::value,
	      "an alias of an enumerator has its enum");
static_assert(DOCA_GPUNETIO_MLX5_OPCODE_RDMA_WRITE == DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, "");
static_assert(static_cast<int>(MLX5_OPCODE_RDMA_WRITE) == DOCA_GPUNETIO_MLX5_OPCODE_RDMA_WRITE, "");
static_assert(static_cast<int>(MLX5_OPCODE_ATOMIC_FA) == DOCA_GPUNETIO_MLX5_OPCODE_ATOMIC_FA, "");
static_assert(DOCA_GPUNETIO_MLX5_WQE_SQ_SHIFT == 6, "");
static_assert(static_cast<int>(MLX5_SND_DBR) == DOCA_GPUNETIO_MLX5_SND_DBR, "");
static_assert(sizeof(struct doca_gpu_dev_verbs_wqe_ctrl_seg) == sizeof(struct mlx5_wqe_ctrl_seg),
	      "");
static_assert(sizeof(struct doca_gpunetio_ib_mlx5_cqe64) == sizeof(struct mlx5_cqe64), "");
static_assert(static_cast<int>(MLX5_CQE_REQ_ERR) == DOCA_GPUNETIO_MLX5_CQE_REQ_ERR, "");

/* A WRITE in each spelling, and one by hand from rdma-core's segments. */
__global__ void write_three_ways(struct doca_gpu_dev_verbs_qp *qp, uint64_t raddr, uint32_t rkey,
				 uint64_t laddr, uint32_t lkey, uint32_t bytes)
{
	uint64_t idx = doca_gpu_dev_verbs_reserve_wq_slots(qp, 3);
	struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, idx);
	alignas(16) struct doca_gpu_dev_verbs_wqe_ctrl_seg cseg = {};
	alignas(16) struct mlx5_wqe_data_seg dseg = {};
	uint64_t *words;
	void *segs[2] = {&cseg, &dseg};

	doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, idx, MLX5_OPCODE_RDMA_WRITE,
					     DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, raddr,
					     rkey, laddr, lkey, bytes);
	wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, idx + 1);
	doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, idx + 1, DOCA_GPUNETIO_MLX5_OPCODE_RDMA_WRITE,
					     DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE, 0, raddr, rkey,
					     laddr, lkey, bytes);
	wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, idx + 2);
	cseg.opmod_idx_opcode = doca_gpu_dev_verbs_bswap32(
		static_cast<uint32_t>(idx + 2) << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT |
		DOCA_GPUNETIO_MLX5_OPCODE_RDMA_WRITE);
	cseg.qpn_ds = qp->sq_num_shift8_be_3ds;
	cseg.fm_ce_se = DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE;
	dseg.byte_count = doca_gpu_dev_verbs_bswap32(bytes);
	dseg.lkey = lkey;
	dseg.addr = doca_gpu_dev_verbs_bswap64(laddr);
	words = reinterpret_cast<uint64_t *>(wqe);
	doca_gpu_dev_verbs_store_wqe_seg(words, static_cast<uint64_t *>(segs[0]));
	doca_gpu_dev_verbs_store_wqe_seg(words + 4, static_cast<uint64_t *>(segs[1]));
	doca_gpu_dev_verbs_mark_wqes_ready(qp, idx, idx + 2);
	doca_gpu_dev_verbs_submit(qp, idx + 3);
}

} // namespace

/* Somebody must take it, or it is never instantiated. */
void (*const gdakit_api_write_three_ways)(struct doca_gpu_dev_verbs_qp *, uint64_t, uint32_t,
					  uint64_t, uint32_t, uint32_t) = write_three_ways;
