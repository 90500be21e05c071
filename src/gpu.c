/* SPDX-License-Identifier: BSD-3-Clause */
/* struct doca_gpu and its memory. */
#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/doca_gpunetio_verbs_def.h"
#include "gpu.h"
#include "log.h"
#include "util.h"

struct allocation {
	struct gpu_mem_block block; /* block.gpu is the key */
	bool is_host;		    /* pinned host memory: base came from posix_memalign */
	bool is_registered;	    /* this library mapped it for the GPU */
	bool is_sdk;		    /* from the DOCA SDK's allocator */
};

static int compare(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct allocation *)a)->block.gpu;
	uintptr_t y = (uintptr_t)((const struct allocation *)b)->block.gpu;

	return (x > y) - (x < y);
}

/* A GPU of this machine is the SDK's as well, where there is one. */
static doca_error_t open_sdk(struct doca_gpu *gpu, const char *gpu_bus_id)
{
	doca_error_t status;

	gpu->sdk = gpu->mem.is_host ? NULL : sdk_get();
	if (!gpu->sdk)
		return DOCA_SUCCESS;
	status = gpu->sdk->gpu_create(gpu_bus_id, &gpu->sdk_gpu);
	if (status != DOCA_SUCCESS)
		ENGINE_ERR("the DOCA SDK's doca_gpu_create(\"%s\"): error %d", gpu_bus_id,
			   (int)status);
	return status;
}

doca_error_t doca_gpu_create(const char *gpu_bus_id, struct doca_gpu **gpu_dev)
{
	struct doca_gpu *gpu;
	doca_error_t status;

	if (!gpu_bus_id || !gpu_dev) {
		ENGINE_ERR("doca_gpu_create: NULL argument");
		return DOCA_ERROR_INVALID_VALUE;
	}
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return DOCA_ERROR_NO_MEMORY;
	status = gpu_mem_open(&gpu->mem, gpu_bus_id);
	if (status != DOCA_SUCCESS) {
		free(gpu);
		return status;
	}
	status = open_sdk(gpu, gpu_bus_id);
	if (status != DOCA_SUCCESS) {
		gpu->mem.ops->close(&gpu->mem);
		free(gpu);
		return status;
	}
	pthread_mutex_init(&gpu->lock, NULL);
	ENGINE_INFO("GPU %s: %s, dma-buf %d, CPU mapping %d", gpu_bus_id, gpu->mem.ops->name,
		    gpu->mem.has_dmabuf, gpu->mem.can_map_cpu);
	*gpu_dev = gpu;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_destroy(struct doca_gpu *gpu_dev)
{
	size_t count;

	if (!gpu_dev)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gpu_dev->lock);
	count = gpu_dev->allocation_count;
	pthread_mutex_unlock(&gpu_dev->lock);
	if (count) {
		ENGINE_ERR("GPU still has %zu allocations: free them first", count);
		return DOCA_ERROR_INVALID_VALUE;
	}
	assert(!gpu_dev->allocations);
	if (gpu_dev->sdk) {
		doca_error_t status = gpu_dev->sdk->gpu_destroy(gpu_dev->sdk_gpu);

		if (status != DOCA_SUCCESS) {
			ENGINE_ERR("the DOCA SDK's doca_gpu_destroy: error %d", (int)status);
			return status;
		}
	}
	gpu_dev->mem.ops->close(&gpu_dev->mem);
	pthread_mutex_destroy(&gpu_dev->lock);
	free(gpu_dev);
	return DOCA_SUCCESS;
}

/* Zeroed host pages that the GPU has mapped. */
static doca_error_t alloc_pinned(struct gpu_mem *mem, size_t size, size_t alignment,
				 struct allocation *a)
{
	doca_error_t status;

	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	if (posix_memalign(&a->block.base, alignment, size))
		return DOCA_ERROR_NO_MEMORY;
	memset(a->block.base, 0, size);
	status = mem->ops->host_register(mem, a->block.base, size, false, &a->block.gpu);
	if (status != DOCA_SUCCESS && status != DOCA_ERROR_ALREADY_EXIST) {
		free(a->block.base);
		return status;
	}
	a->is_host = true;
	a->is_registered = status == DOCA_SUCCESS;
	a->block.cpu = a->block.base;
	a->block.size = size;
	return DOCA_SUCCESS;
}

static doca_error_t alloc_gpu(struct gpu_mem *mem, size_t size, size_t alignment, bool map,
			      struct allocation *a)
{
	doca_error_t status = mem->ops->alloc(mem, size, alignment, &a->block);

	if (status != DOCA_SUCCESS || !map)
		return status;
	status = mem->ops->map_cpu(mem, &a->block);
	if (status != DOCA_SUCCESS)
		mem->ops->free(mem, &a->block);
	return status;
}

static doca_error_t alloc_sdk(const struct doca_gpu *gpu, size_t size, size_t alignment,
			      enum doca_gpu_mem_type mtype, struct allocation *a)
{
	doca_error_t status = gpu->sdk->mem_alloc(gpu->sdk_gpu, size, alignment, mtype,
						  &a->block.gpu, &a->block.cpu);

	if (status != DOCA_SUCCESS) {
		ENGINE_ERR("the DOCA SDK's doca_gpu_mem_alloc of %zu bytes: error %d", size,
			   (int)status);
		return status;
	}
	a->is_sdk = true;
	a->block.size = size;
	return DOCA_SUCCESS;
}

static doca_error_t release(struct doca_gpu *gpu, struct allocation *a)
{
	struct gpu_mem *mem = &gpu->mem;
	doca_error_t status = DOCA_SUCCESS;

	if (a->is_sdk) {
		status = gpu->sdk->mem_free(gpu->sdk_gpu, a->block.gpu);
	} else if (a->is_host) {
		if (a->is_registered)
			status = mem->ops->host_unregister(mem, a->block.base);
		free(a->block.base);
	} else {
		mem->ops->free(mem, &a->block);
	}
	free(a);
	return status;
}

static doca_error_t remember(struct doca_gpu *gpu, struct allocation *a)
{
	struct allocation **node;

	pthread_mutex_lock(&gpu->lock);
	node = tsearch(a, &gpu->allocations, compare);
	assert(!node || *node == a); /* no two live allocations share an address */
	if (node)
		gpu->allocation_count++;
	pthread_mutex_unlock(&gpu->lock);
	return node ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

static doca_error_t check_alloc(size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
				bool has_cpu)
{
	if (!size || (alignment && !is_pow2(alignment))) {
		ENGINE_ERR("size %zu, alignment %zu: expected a size and a power of two", size,
			   alignment);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (mtype != DOCA_GPU_MEM_TYPE_GPU && mtype != DOCA_GPU_MEM_TYPE_GPU_CPU &&
	    mtype != DOCA_GPU_MEM_TYPE_CPU_GPU) {
		ENGINE_ERR("unknown memory type %d", (int)mtype);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (mtype != DOCA_GPU_MEM_TYPE_GPU && !has_cpu) {
		ENGINE_ERR("memory type %d needs memptr_cpu", (int)mtype);
		return DOCA_ERROR_INVALID_VALUE;
	}
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_mem_alloc(struct doca_gpu *gpu_dev, size_t size, size_t alignment,
				enum doca_gpu_mem_type mtype, void **memptr_gpu, void **memptr_cpu)
{
	struct gpu_mem *mem;
	struct allocation *a;
	doca_error_t status;

	if (!gpu_dev || !memptr_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	status = check_alloc(size, alignment, mtype, memptr_cpu != NULL);
	if (status != DOCA_SUCCESS)
		return status;
	mem = &gpu_dev->mem;
	if (!alignment)
		alignment = host_page_size();
	if (mtype == DOCA_GPU_MEM_TYPE_GPU_CPU && alignment < DOCA_GPUNETIO_VERBS_PAGE_SIZE)
		alignment = DOCA_GPUNETIO_VERBS_PAGE_SIZE; /* what GDRCopy pins */
	if (mtype == DOCA_GPU_MEM_TYPE_GPU_CPU && !mem->can_map_cpu && !gpu_dev->sdk) {
		ENGINE_WARN("no GDRCopy: GPU_CPU memory comes from the host");
		mtype = DOCA_GPU_MEM_TYPE_CPU_GPU;
	}

	a = calloc(1, sizeof(*a));
	if (!a)
		return DOCA_ERROR_NO_MEMORY;
	if (gpu_dev->sdk)
		status = alloc_sdk(gpu_dev, size, alignment, mtype, a);
	else if (mtype == DOCA_GPU_MEM_TYPE_CPU_GPU)
		status = alloc_pinned(mem, size, alignment, a);
	else
		status = alloc_gpu(mem, size, alignment, mtype == DOCA_GPU_MEM_TYPE_GPU_CPU, a);
	if (status != DOCA_SUCCESS) {
		free(a);
		return status;
	}
	status = remember(gpu_dev, a);
	if (status != DOCA_SUCCESS) {
		release(gpu_dev, a);
		return status;
	}
	*memptr_gpu = a->block.gpu;
	/*
	 * Upstream's callers pass one variable for both pointers of host memory, so cpu comes last.
	 */
	if (memptr_cpu)
		*memptr_cpu = a->block.cpu;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_mem_free(struct doca_gpu *gpu, void *memptr_gpu)
{
	struct allocation key = {.block.gpu = memptr_gpu}, **node, *a = NULL;

	if (!gpu || !memptr_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gpu->lock);
	node = tfind(&key, &gpu->allocations, compare);
	if (node) {
		a = *node;
		tdelete(&key, &gpu->allocations, compare);
		gpu->allocation_count--;
	}
	pthread_mutex_unlock(&gpu->lock);
	if (!a) {
		ENGINE_ERR("%p is not an allocation of this GPU", memptr_gpu);
		return DOCA_ERROR_INVALID_VALUE;
	}
	/* As cudaFree does at the end of a program, a driver that is gone is no error of the
	 * caller's. */
	release(gpu, a);
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size,
				int *dmabuf_fd)
{
	if (!gpu_dev || !memptr_gpu || !size || !dmabuf_fd)
		return DOCA_ERROR_INVALID_VALUE;
	if (gpu_dev->sdk)
		return gpu_dev->sdk->dmabuf_fd(gpu_dev->sdk_gpu, memptr_gpu, size, dmabuf_fd);
	return gpu_dev->mem.ops->dmabuf_fd(&gpu_dev->mem, memptr_gpu, size, dmabuf_fd);
}
