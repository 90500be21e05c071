// SPDX-License-Identifier: BSD-3-Clause
/* put_bw's kernel: each thread (or each warp) puts its message and waits for it, over and over. */
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "hw_tests/common/bw_device.cuh"

namespace
{

constexpr auto GPU_SHARED = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;

__global__ void put_thread(struct bw_args args)
{
	struct doca_gpu_dev_verbs_qp *qp = bw_qp(args);
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = bw_thread(); i < args.iters; i += args.threads) {
		doca_gpu_dev_verbs_put<GPU_SHARED, AUTO, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
			qp, bw_slot(args, args.remote), bw_slot(args, args.local), args.size,
			&ticket);
		int rc = doca_gpu_dev_verbs_poll_cq_at<GPU_SHARED>(cq, ticket);

		if (rc) {
			bw_fail(args, rc);
			break;
		}
	}
}

/* One call per warp; the last lane's request has the highest index, so its completion is all's. */
__global__ void put_warp(struct bw_args args)
{
	struct doca_gpu_dev_verbs_qp *qp = bw_qp(args);
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	uint32_t lane = doca_gpu_dev_verbs_get_lane_id();
	doca_gpu_dev_verbs_ticket_t ticket;
	int rc;

	for (uint32_t i = bw_thread(); i < args.iters; i += args.threads) {
		doca_gpu_dev_verbs_put<GPU_SHARED, AUTO, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(
			qp, bw_slot(args, args.remote), bw_slot(args, args.local), args.size,
			&ticket);
		rc = 0;
		if (lane == BW_WARP - 1)
			rc = doca_gpu_dev_verbs_poll_cq_at<GPU_SHARED>(cq, ticket);
		if (rc)
			bw_fail(args, rc);
		rc = __shfl_sync(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK, rc, BW_WARP - 1);
		if (rc)
			break;
	}
}

int launch_thread(gdakit_stream stream, const struct bw_args *args)
{
	return GDAKIT_LAUNCH(put_thread, bw_grid(args), bw_block(args), 0, stream, *args);
}

int launch_warp(gdakit_stream stream, const struct bw_args *args)
{
	return GDAKIT_LAUNCH(put_warp, bw_grid(args), bw_block(args), 0, stream, *args);
}

} // namespace

extern "C" const struct bw_kernels GDAKIT_KERNELS(put_bw);
extern "C" const struct bw_kernels GDAKIT_KERNELS(put_bw) = {launch_thread, launch_warp};
