// SPDX-License-Identifier: BSD-3-Clause
#include "gdakit_kernel.h" // first: CUDA's built-ins, on a GPU or on the CPU
#include "hello.h"

namespace
{ // the GPU's and the CPU's object end up in one program
__global__ void sum(struct hello_args args)
{
	GDAKIT_SHARED(uint32_t, total);

	if (threadIdx.x == 0)
		total = 0;
	__syncthreads();
	atomicAdd(&total, threadIdx.x);
	__syncthreads();
	if (threadIdx.x == 0)
		args.sums[blockIdx.x] = total;
}

int launch(gdakit_stream stream, const struct hello_args *args)
{
	return GDAKIT_LAUNCH(sum, dim3(2), dim3(64), 0, stream, *args);
}
} // namespace

extern "C" const struct hello_kernels GDAKIT_KERNELS(hello) = {launch};
