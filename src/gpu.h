/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library's files share about GPUs. */
#ifndef GDAKIT_GPU_H
#define GDAKIT_GPU_H

#include <pthread.h>

#include "gpu_mem.h"
#include "host/doca_gpunetio.h"
#include "sdk.h"

struct doca_gpu {
	struct gpu_mem mem;	   /* constant after create */
	const struct sdk_ops *sdk; /* whose memory the program gets; NULL: ours */
	void *sdk_gpu;		   /* own: the SDK's object for this GPU */
	pthread_mutex_t lock;	   /* guards the two below */
	void *allocations;	   /* tsearch tree of struct allocation, by GPU address */
	size_t allocation_count;
};

/*
 * Doorbell registers mapped for a GPU. Counted by page: two registers of one page share a mapping.
 * can_map tries and undoes; its error is a lack of memory, which says nothing of the register.
 * Thread-safe.
 */
doca_error_t uar_map(struct gpu_mem *mem, void *reg, uint64_t **gpu);
doca_error_t uar_unmap(const uint64_t *gpu);
doca_error_t uar_can_map(struct gpu_mem *mem, void *reg, bool *can);

#endif
