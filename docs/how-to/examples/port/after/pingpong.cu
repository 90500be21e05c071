// SPDX-License-Identifier: BSD-3-Clause
#include "gdakit_kernel.h" // first: CUDA's built-ins, on a GPU or on the CPU
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "pingpong.h"

namespace
{ // the GPU's and the CPU's object end up in one program
__device__ bool wait_for_round(const struct player &p, uint64_t round)
{
	while (gdakit_load_acquire_sys(p.flag) < round)
		if (gdakit_load_acquire_sys(p.error))
			return false;
	return true;
}

__global__ void play(struct player p)
{
	for (uint64_t round = 1; round <= p.rounds; round++) {
		doca_gpu_dev_verbs_ticket_t ticket;

		if (!p.serves && !wait_for_round(p, round))
			return;
		doca_gpu_dev_verbs_p<uint64_t>(p.qp, p.remote, round, &ticket);
		if (doca_gpu_dev_verbs_wait(p.qp, ticket)) {
			gdakit_store_release_sys(p.error, round);
			return;
		}
		if (p.serves && !wait_for_round(p, round))
			return;
	}
}

int launch(gdakit_stream stream, const struct player *p)
{
	return GDAKIT_LAUNCH(play, dim3(1), dim3(1), 0, stream, *p);
}
} // namespace

extern "C" const struct pingpong_kernels GDAKIT_KERNELS(pingpong) = {launch};
