/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring protocol end to end against the toy NIC: every sharing mode and both execution scopes,
 * on rings shorter than a warp and longer than all requests, across the wrap of the 16-bit index,
 * by doorbell and through the proxy, with the NIC as a thread and polled by the scheduler.
 */
#include <criterion/criterion.h>

#include "gdakit_kernel.h"
#include "device_ring_kernels.cuh"
#include "device_toy_nic.h"

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

		cr_assert_eq(
			simt_launch_kernel(cfg, kernel,
					   put_args{&nic->qp, local.data(), remote.data(),
						    htobe32(toy_nic::rkey), htobe32(toy_nic::lkey),
						    ops, size, &failed}),
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

			cr_assert_eq(
				simt_launch_kernel(cfg, batch_kernel,
						   batch_args{&nic.qp, local.data(), remote.data(),
							      htobe32(toy_nic::rkey),
							      htobe32(toy_nic::lkey), 8, &status}),
				SIMT_SUCCESS);
			cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
		}
		simt_stream_destroy(cfg.stream);
		cr_assert_eq(status, 0);
		cr_assert_eq(nic.faults.load(), 0, "%s", nic.first_fault.c_str());
		cr_assert(local == remote);
	}
}
