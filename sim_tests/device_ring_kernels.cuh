/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the ring tests, for the CPU executor (device_ring.cpp) and a GPU (device_ring_gpu.cu).
 */
#ifndef DEVICE_RING_KERNELS_CUH
#define DEVICE_RING_KERNELS_CUH

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto WARP = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;

struct put_args {
	struct doca_gpu_dev_verbs_qp *qp;
	uint8_t *local, *remote;
	uint32_t rkey, lkey; /* big endian */
	uint32_t ops, size;
	uint32_t *failed;
};

/* Each thread puts `ops` slices of its own and waits for every third and the last. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM, enum doca_gpu_dev_verbs_exec_scope ES>
__global__ void put_kernel(put_args a)
{
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
	doca_gpu_dev_verbs_ticket_t ticket = 0;

	for (uint32_t i = 0; i < a.ops; i++) {
		size_t at = (size_t)(thread * a.ops + i) * a.size;
		struct doca_gpu_dev_verbs_addr raddr = {(uint64_t)(a.remote + at), a.rkey};
		struct doca_gpu_dev_verbs_addr laddr = {(uint64_t)(a.local + at), a.lkey};

		doca_gpu_dev_verbs_put<RSM, AUTO, ES>(a.qp, raddr, laddr, a.size, &ticket);
		if (i % 3 != 2 && i != a.ops - 1)
			continue;
		/* an exclusive QP has one user at a time, in a warp too: the last lane's ticket
		 * covers all */
		bool all_wait = ES == THREAD || RSM != EXCLUSIVE;

		if (ES == WARP)
			ticket = __shfl_sync(0xffffffff, ticket,
					     all_wait ? (int)threadIdx.x % 32 : 31);
		if ((all_wait || threadIdx.x % 32 == 0) &&
		    doca_gpu_dev_verbs_wait<RSM>(a.qp, ticket) != 0)
			atomicAdd(a.failed, 1);
		if (ES == WARP)
			__syncwarp();
	}
}

/* Low-level use without ready counter, as upstream's write_bw does: threads build, one submits. */
struct batch_args {
	struct doca_gpu_dev_verbs_qp *qp;
	uint64_t *local, *remote;
	uint32_t rkey, lkey; /* big endian */
	uint32_t rounds;
	int *status;
};

__global__ void batch_kernel(batch_args a)
{
	uint64_t base = a.qp->sq_wqe_pi;
	uint32_t t = threadIdx.x;

	for (uint32_t r = 0; r < a.rounds; r++) {
		uint64_t idx = base + r * blockDim.x + t;

		doca_gpu_dev_verbs_wqe_prepare_write(
			a.qp, doca_gpu_dev_verbs_get_wqe_ptr(a.qp, (uint16_t)idx), (uint16_t)idx,
			DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
			DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0,
			(uint64_t)(a.remote + r * blockDim.x + t), a.rkey,
			(uint64_t)(a.local + r * blockDim.x + t), a.lkey, 8);
		__syncthreads();
		if (t == blockDim.x - 1)
			doca_gpu_dev_verbs_submit<EXCLUSIVE, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>(
				a.qp, idx + 1,
				DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI);
		__syncthreads();
	}
	if (t == blockDim.x - 1)
		*a.status = doca_gpu_dev_verbs_poll_cq_at<EXCLUSIVE>(
			doca_gpu_dev_verbs_qp_get_cq_sq(a.qp), base + a.rounds * blockDim.x - 1);
}

/* Every one-sided operation, by 32 threads: counter ends at 32 * 1001001. */
struct ops_memory {
	uint64_t data[64], remote[64], values[64], counter, old[64], fetched[64];
};

template <enum doca_gpu_dev_verbs_exec_scope ES>
__global__ void all_operations(struct doca_gpu_dev_verbs_qp *qp, ops_memory *m, uint32_t rkey,
			       uint32_t lkey, int *status)
{
	uint32_t t = threadIdx.x;
	doca_gpu_dev_verbs_ticket_t ticket;
	int failed = 0;
	constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;

	doca_gpu_dev_verbs_put_signal<ADD, GPU, AUTO, ES>(
		qp, doca_gpu_dev_verbs_addr{(uint64_t)(m->remote + t), rkey},
		doca_gpu_dev_verbs_addr{(uint64_t)(m->data + t), lkey}, 8,
		doca_gpu_dev_verbs_addr{(uint64_t)(&m->counter), rkey},
		doca_gpu_dev_verbs_addr{(uint64_t)(m->old + t), lkey}, 1, &ticket);
	failed |= doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
	doca_gpu_dev_verbs_p<uint64_t, GPU, AUTO, ES>(
		qp, doca_gpu_dev_verbs_addr{(uint64_t)(m->values + t), rkey}, t * 3 + 1ull,
		&ticket);
	failed |= doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
	doca_gpu_dev_verbs_signal<ADD, GPU, AUTO, ES>(
		qp, doca_gpu_dev_verbs_addr{(uint64_t)(&m->counter), rkey},
		doca_gpu_dev_verbs_addr{(uint64_t)(m->old + t), lkey}, 1000, &ticket);
	failed |= doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
	failed |= doca_gpu_dev_verbs_get<GPU, AUTO, ES, DOCA_GPUNETIO_VERBS_MCST_ENABLED,
					 DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED>(
		qp, doca_gpu_dev_verbs_addr{(uint64_t)(m->values + t), rkey},
		doca_gpu_dev_verbs_addr{(uint64_t)(m->fetched + t), lkey}, 8,
		doca_gpu_dev_verbs_addr{(uint64_t)(&m->old), lkey}, &ticket);
	doca_gpu_dev_verbs_p_signal<uint16_t, ADD, GPU>(
		qp, doca_gpu_dev_verbs_addr{(uint64_t)(m->remote + t), rkey}, (uint16_t)0x4242,
		doca_gpu_dev_verbs_addr{(uint64_t)(&m->counter), rkey},
		doca_gpu_dev_verbs_addr{(uint64_t)(m->old + t), lkey}, 1000000);
	failed |= doca_gpu_dev_verbs_get_wait<GPU, AUTO, DOCA_GPUNETIO_VERBS_MCST_ENABLED>(
		qp, doca_gpu_dev_verbs_addr{(uint64_t)(&m->old), lkey});
	failed |= doca_gpu_dev_verbs_wait<GPU>(qp);
	status[t] = failed;
}

#endif /* DEVICE_RING_KERNELS_CUH */
