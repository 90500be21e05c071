/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of the bandwidth programs share. Include after gdakit_kernel.h. */
#ifndef HWT_BW_DEVICE_CUH
#define HWT_BW_DEVICE_CUH

#include "hw_tests/common/bw_kernels.h"

#define BW_BLOCK_GPU 256u
#define BW_WARP	     32u

/* Blocks of 256 threads where they come out even, else of one warp. */
static inline dim3 bw_block(const struct bw_args *args)
{
	return dim3(args->threads % BW_BLOCK_GPU ? BW_WARP : BW_BLOCK_GPU);
}

static inline dim3 bw_grid(const struct bw_args *args)
{
	return dim3(args->threads / bw_block(args).x);
}

__device__ static inline uint32_t bw_thread(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline struct doca_gpu_dev_verbs_qp *bw_qp(const struct bw_args &args)
{
	return args.qps + bw_thread() / BW_WARP % args.qp_count;
}

/* The address of this thread's message. */
__device__ static inline struct doca_gpu_dev_verbs_addr bw_slot(const struct bw_args &args,
								struct doca_gpu_dev_verbs_addr base)
{
	base.addr += static_cast<uint64_t>(bw_thread()) * args.size;
	return base;
}

__device__ static inline void bw_fail(const struct bw_args &args, int error)
{
	args.status->thread = bw_thread();
	args.status->error = error;
	atomicAdd(&args.status->failed, 1u);
}

#endif
