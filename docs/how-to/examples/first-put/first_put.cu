// SPDX-License-Identifier: BSD-3-Clause
#include "gdakit_kernel.h" // first: CUDA's built-ins, on a GPU or on the CPU
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "first_put.h"

namespace
{
/* One thread writes to the other side's memory and waits until it is there. */
__global__ void put_and_wait(struct first_put_args args)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>(
		args.qp, args.remote, args.local, args.bytes, &ticket);
	*args.result = doca_gpu_dev_verbs_poll_cq_at<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>(
		doca_gpu_dev_verbs_qp_get_cq_sq(args.qp), ticket);
}

int launch(gdakit_stream stream, const struct first_put_args *args)
{
	return GDAKIT_LAUNCH(put_and_wait, dim3(1), dim3(1), 0, stream, *args);
}
} // namespace

extern "C" const struct first_put_kernels GDAKIT_KERNELS(first_put) = {launch};
