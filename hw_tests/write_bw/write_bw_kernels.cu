// SPDX-License-Identifier: BSD-3-Clause
/*
 * write_bw's kernel: the low level that put() stands on. Each thread reserves slots, writes the
 * WQEs itself, marks them ready, rings once for all of them and waits for the last.
 */
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "hw_tests/common/bw_device.cuh"

namespace
{

constexpr auto GPU_SHARED = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;

/* Posts count requests; the index of the last. */
__device__ uint64_t post(struct doca_gpu_dev_verbs_qp *qp, const struct bw_args &args,
			 uint32_t count)
{
	struct doca_gpu_dev_verbs_addr local = bw_slot(args, args.local);
	struct doca_gpu_dev_verbs_addr remote = bw_slot(args, args.remote);
	uint64_t first = doca_gpu_dev_verbs_reserve_wq_slots<GPU_SHARED>(qp, count);

	for (uint64_t idx = first; idx < first + count; idx++)
		doca_gpu_dev_verbs_wqe_prepare_write(
			qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, static_cast<uint16_t>(idx)),
			static_cast<uint16_t>(idx), DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
			DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, remote.addr, remote.key,
			local.addr, local.key, args.size);
	doca_gpu_dev_verbs_mark_wqes_ready<GPU_SHARED>(qp, first, first + count - 1);
	doca_gpu_dev_verbs_submit<GPU_SHARED>(qp, first + count);
	return first + count - 1;
}

__global__ void write_thread(struct bw_args args)
{
	struct doca_gpu_dev_verbs_qp *qp = bw_qp(args);
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	uint32_t left = args.iters / args.threads;

	while (left) {
		uint32_t count = left < args.post_list ? left : args.post_list;
		int rc = doca_gpu_dev_verbs_poll_cq_at<GPU_SHARED>(cq, post(qp, args, count));

		if (rc) {
			bw_fail(args, rc);
			break;
		}
		left -= count;
	}
}

int launch_thread(gdakit_stream stream, const struct bw_args *args)
{
	return GDAKIT_LAUNCH(write_thread, bw_grid(args), bw_block(args), 0, stream, *args);
}

} // namespace

extern "C" const struct bw_kernels GDAKIT_KERNELS(write_bw);
extern "C" const struct bw_kernels GDAKIT_KERNELS(write_bw) = {launch_thread, nullptr};
