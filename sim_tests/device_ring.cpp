/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring protocol end to end against the toy NIC: every sharing mode and both execution scopes,
 * on rings shorter than a warp and longer than all requests, across the wrap of the 16-bit index,
 * by doorbell and through the proxy, with the NIC as a thread and polled by the scheduler.
 */
#include <criterion/criterion.h>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "device_toy_nic.h"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto WARP = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;

struct put_args {
	struct doca_gpu_dev_verbs_qp *qp;
	uint8_t *local, *remote;
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
		struct doca_gpu_dev_verbs_addr raddr = {(uint64_t)(a.remote + at),
							htobe32(toy_nic::rkey)};
		struct doca_gpu_dev_verbs_addr laddr = {(uint64_t)(a.local + at),
							htobe32(toy_nic::lkey)};

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

typedef void (*put_kernel_fn)(put_args);

static void run_puts(toy_nic *nic, put_kernel_fn kernel, dim3 grid, dim3 block, uint32_t ops,
		     bool own_thread, uint64_t seed = 1)
{
	const uint32_t size = 24, threads = grid.x * block.x;
	std::vector<uint8_t> local(threads * ops * size), remote(local.size());
	uint64_t start = nic->qp.sq_rsvd_index;
	uint32_t failed = 0;
	simt_launch_config cfg = {};

	for (size_t i = 0; i < local.size(); i++)
		local[i] = (uint8_t)(i * 7 + i / 251);
	cfg.grid = grid;
	cfg.block = block;
	cfg.seed = seed;
	cfg.watchdog_ms = 20000;
	cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
	{
		toy_driver driver(nic, own_thread);

		cr_assert_eq(simt_launch_kernel(cfg, kernel,
						put_args{&nic->qp, local.data(), remote.data(), ops,
							 size, &failed}),
			     SIMT_SUCCESS);
		cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
	}
	simt_stream_destroy(cfg.stream);
	cr_assert_eq(nic->faults.load(), 0, "depth %u start %llu: %s", nic->depth,
		     (unsigned long long)start, nic->first_fault.c_str());
	cr_assert_eq(failed, 0);
	cr_assert(local == remote, "depth %u start %llu: data differs", nic->depth,
		  (unsigned long long)start);
	cr_assert_eq(nic->next - start, (uint64_t)threads * ops, "one WQE for each put");
	cr_assert_eq(nic->qp.sq_rsvd_index, nic->next);
	cr_assert_eq(nic->qp.sq_ready_index, nic->next);
	cr_assert_eq(nic->qp.sq_wqe_pi, nic->next);
	cr_assert_eq(nic->qp.cq_sq.cqe_ci, nic->next);
	cr_assert_eq(nic->qp.sq_lock, 0);
	cr_assert_leq(nic->rung, nic->next - start);
}

#if defined(__SANITIZE_THREAD__) /* many times slower: the corners only */
static const uint32_t depths[] = {2, 64};
static const uint64_t seeds = 10;
#else
static const uint32_t depths[] = {2, 64, 1024};
static const uint64_t seeds = 60;
#endif
/* at zero, just before the 16-bit index wraps, and before the CQ counter's 24 bits do */
static const uint64_t starts[] = {0, 65536 - 40, (1u << 24) - 40};

static void run_matrix(put_kernel_fn kernel, dim3 grid, dim3 block, uint32_t ops,
		       enum doca_gpu_dev_verbs_nic_handler handler)
{
	for (uint32_t depth : depths)
		for (uint64_t start : starts) {
			toy_nic polled(depth, start / depth * depth, handler);
			toy_nic threaded(depth, start, handler);

			run_puts(&polled, kernel, grid, block, ops, false);
			run_puts(&threaded, kernel, grid, block, ops, true);
		}
}

constexpr auto DB = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
constexpr auto PROXY = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
constexpr auto NO_DBR = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;

Test(device_ring, thread_scope_exclusive)
{
	run_matrix(put_kernel<EXCLUSIVE, THREAD>, 1, 1, 200, DB);
}

Test(device_ring, thread_scope_shared_by_a_block)
{
	run_matrix(put_kernel<CTA, THREAD>, 1, 48, 5, DB);
}

Test(device_ring, thread_scope_shared_by_the_gpu)
{
	run_matrix(put_kernel<GPU, THREAD>, 3, 16, 5, DB);
}

Test(device_ring, warp_scope_exclusive)
{
	run_matrix(put_kernel<EXCLUSIVE, WARP>, 1, 32, 7, DB);
}

Test(device_ring, warp_scope_shared_by_a_block)
{
	run_matrix(put_kernel<CTA, WARP>, 1, 64, 5, DB);
}

Test(device_ring, warp_scope_shared_by_the_gpu)
{
	run_matrix(put_kernel<GPU, WARP>, 2, 64, 4, DB);
}

Test(device_ring, through_the_proxy_by_threads_and_warps)
{
	run_matrix(put_kernel<EXCLUSIVE, THREAD>, 1, 1, 100, PROXY);
	run_matrix(put_kernel<GPU, THREAD>, 2, 16, 5, PROXY);
	run_matrix(put_kernel<GPU, WARP>, 2, 32, 4, PROXY);
}

Test(device_ring, without_a_doorbell_record)
{
	run_matrix(put_kernel<GPU, THREAD>, 2, 16, 5, NO_DBR);
}

Test(device_ring, many_seeds_of_the_shared_modes)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		toy_nic a(8, 65530), b(8, 65530);

		run_puts(&a, put_kernel<GPU, THREAD>, 2, 8, 6, false, seed);
		run_puts(&b, put_kernel<CTA, WARP>, 1, 64, 3, false, seed);
	}
}

/* Low-level use without ready counter, as upstream's write_bw does: threads build, one submits. */
struct batch_args {
	struct doca_gpu_dev_verbs_qp *qp;
	uint64_t *local, *remote;
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
			(uint64_t)(a.remote + r * blockDim.x + t), htobe32(toy_nic::rkey),
			(uint64_t)(a.local + r * blockDim.x + t), htobe32(toy_nic::lkey), 8);
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

Test(device_ring, one_thread_submits_what_a_block_built)
{
	for (auto handler : {DB, PROXY}) {
		toy_nic nic(1024, 65500, handler);
		std::vector<uint64_t> local(512), remote(512);
		simt_launch_config cfg = {};
		int status = 1;

		for (size_t i = 0; i < local.size(); i++)
			local[i] = i * i + 1;
		cfg.block = dim3(64);
		cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
		{
			toy_driver driver(&nic, true);

			cr_assert_eq(simt_launch_kernel(cfg, batch_kernel,
							batch_args{&nic.qp, local.data(),
								   remote.data(), 8, &status}),
				     SIMT_SUCCESS);
			cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
		}
		simt_stream_destroy(cfg.stream);
		cr_assert_eq(status, 0);
		cr_assert_eq(nic.faults.load(), 0, "%s", nic.first_fault.c_str());
		cr_assert(local == remote);
	}
}
