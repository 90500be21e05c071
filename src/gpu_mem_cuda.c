/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU memory through the CUDA driver. */
#include <assert.h>
#include <errno.h>

#include "cuda_driver.h"
#include "gpu_mem.h"
#include "log.h"

/*
 * Calls run in the caller's context if that belongs to this GPU, so that a program with a context
 * of its own sees its memory there; else in the GPU's primary context, which the CUDA runtime uses
 * as well.
 */
struct scope {
	const struct cuda_ops *cuda;
	bool pushed;
};

static doca_error_t failed(cuda_result rc, const char *what)
{
	char text[32];

	ENGINE_ERR("%s: %s", what, cuda_error_name(rc, text, sizeof(text)));
	return rc == CUDA_OUT_OF_MEMORY ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

static doca_error_t enter(const struct gpu_mem *mem, struct scope *scope)
{
	void *current = NULL;
	cuda_device device = -1;
	cuda_result rc;

	scope->cuda = cuda_get();
	scope->pushed = false;
	assert(scope->cuda); /* a CUDA gpu_mem exists only where the driver was found */
	if (scope->cuda->CtxGetCurrent(&current) == CUDA_OK && current) {
		if (mem->device < 0)
			return DOCA_SUCCESS;
		if (scope->cuda->CtxGetDevice(&device) == CUDA_OK && device == mem->device)
			return DOCA_SUCCESS;
	}
	rc = scope->cuda->CtxPushCurrent(mem->context);
	if (rc != CUDA_OK)
		return failed(rc, "cuCtxPushCurrent");
	scope->pushed = true;
	return DOCA_SUCCESS;
}

static void leave(struct scope *scope)
{
	void *popped;

	if (scope->pushed)
		scope->cuda->CtxPopCurrent(&popped);
}

static doca_error_t cuda_open(struct gpu_mem *mem, const char *bus_id)
{
	const struct cuda_ops *cuda = cuda_get();
	doca_error_t status;
	struct scope scope;
	cuda_result rc;
	int value = 0;

	rc = cuda->DeviceGetByPCIBusId(&mem->device, bus_id);
	if (rc != CUDA_OK) {
		ENGINE_ERR("no GPU at PCI address \"%s\"", bus_id);
		return DOCA_ERROR_NOT_FOUND;
	}
	rc = cuda->DeviceGetAttribute(&value, CUDA_ATTR_DMA_BUF_SUPPORTED, mem->device);
	mem->has_dmabuf = rc == CUDA_OK && value && cuda->MemGetHandleForAddressRange;
	mem->can_map_cpu = gdr_get() != NULL;

	rc = cuda->PrimaryCtxRetain(&mem->context, mem->device);
	if (rc != CUDA_OK) {
		failed(rc, "cuDevicePrimaryCtxRetain");
		return DOCA_ERROR_INITIALIZATION;
	}
	status = enter(mem, &scope);
	if (status == DOCA_SUCCESS) {
		rc = cuda->StreamCreate(&mem->stream, CUDA_STREAM_NON_BLOCKING);
		leave(&scope);
		if (rc == CUDA_OK)
			return DOCA_SUCCESS;
		failed(rc, "cuStreamCreate");
	}
	cuda->PrimaryCtxRelease(mem->device);
	return DOCA_ERROR_INITIALIZATION;
}

static void cuda_close(struct gpu_mem *mem)
{
	const struct cuda_ops *cuda = cuda_get();
	struct scope scope;

	if (enter(mem, &scope) == DOCA_SUCCESS) {
		cuda->StreamDestroy(mem->stream);
		leave(&scope);
	}
	cuda->PrimaryCtxRelease(mem->device);
}

static doca_error_t cuda_alloc(struct gpu_mem *mem, size_t size, size_t alignment,
			       struct gpu_mem_block *block)
{
	static const unsigned int one = 1;
	doca_error_t status;
	struct scope scope;
	cuda_ptr base = 0;
	cuda_result rc;

	if (size > SIZE_MAX - alignment)
		return DOCA_ERROR_NO_MEMORY;
	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->MemAlloc(&base, size + alignment);
	if (rc != CUDA_OK) {
		status = failed(rc, "cuMemAlloc");
		goto out;
	}
	block->base = (void *)base;
	block->gpu = (void *)((base + alignment - 1) & ~((cuda_ptr)alignment - 1));
	block->cpu = NULL;
	block->size = size;
	/* The NIC reads and writes this memory beside CUDA: copies must not be left in flight. */
	rc = scope.cuda->PointerSetAttribute(&one, CUDA_POINTER_ATTR_SYNC_MEMOPS,
					     (cuda_ptr)block->gpu);
	if (rc != CUDA_OK) {
		status = failed(rc, "cuPointerSetAttribute(SYNC_MEMOPS)");
		scope.cuda->MemFree(base);
	}
out:
	leave(&scope);
	return status;
}

static doca_error_t cuda_map_cpu(struct gpu_mem *mem, struct gpu_mem_block *block)
{
	const struct gdr_ops *gdr = gdr_get();
	gdr_handle handle;
	int rc;

	(void)mem;
	if (!gdr)
		return DOCA_ERROR_NOT_SUPPORTED;
	rc = gdr->pin_buffer(gdr->gdr, (unsigned long)block->gpu, block->size, 0, 0, &handle);
	if (rc) {
		ENGINE_ERR("gdr_pin_buffer of %zu bytes: error %d", block->size, rc);
		return rc == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
	}
	rc = gdr->map(gdr->gdr, handle, &block->cpu, block->size);
	if (rc) {
		ENGINE_ERR("gdr_map of %zu bytes: error %d", block->size, rc);
		gdr->unpin_buffer(gdr->gdr, handle);
		block->cpu = NULL;
		return rc == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
	}
	block->mapping = handle.h;
	return DOCA_SUCCESS;
}

static void cuda_free(struct gpu_mem *mem, struct gpu_mem_block *block)
{
	const struct gdr_ops *gdr = gdr_get();
	struct scope scope;
	cuda_result rc;

	if (block->cpu && gdr) {
		gdr_handle handle = {block->mapping};

		gdr->unmap(gdr->gdr, handle, block->cpu, block->size);
		gdr->unpin_buffer(gdr->gdr, handle);
	}
	if (enter(mem, &scope) != DOCA_SUCCESS)
		return;
	rc = scope.cuda->MemFree((cuda_ptr)block->base);
	if (rc != CUDA_OK)
		failed(rc, "cuMemFree");
	leave(&scope);
}

static doca_error_t cuda_host_register(struct gpu_mem *mem, void *addr, size_t size, bool is_io,
				       void **gpu)
{
	unsigned int flags = CUDA_HOST_REGISTER_PORTABLE | CUDA_HOST_REGISTER_DEVICEMAP |
			     (is_io ? CUDA_HOST_REGISTER_IOMEMORY : 0);
	doca_error_t status;
	struct scope scope;
	cuda_ptr ptr = 0;
	cuda_result rc;
	bool registered;

	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->MemHostRegister(addr, size, flags);
	registered = rc == CUDA_OK;
	if (rc != CUDA_OK && rc != CUDA_HOST_MEMORY_ALREADY_REGISTERED) {
		status = failed(rc, is_io ? "cuMemHostRegister of a doorbell page"
					  : "cuMemHostRegister of host memory");
		goto out;
	}
	rc = scope.cuda->MemHostGetDevicePointer(&ptr, addr, 0);
	if (rc != CUDA_OK) {
		status = failed(rc, "cuMemHostGetDevicePointer");
		if (registered)
			scope.cuda->MemHostUnregister(addr);
		goto out;
	}
	*gpu = (void *)ptr;
	/* Somebody else's registration is not ours to undo. */
	if (!registered)
		status = DOCA_ERROR_ALREADY_EXIST;
out:
	leave(&scope);
	return status;
}

static doca_error_t cuda_host_unregister(struct gpu_mem *mem, void *addr)
{
	doca_error_t status;
	struct scope scope;
	cuda_result rc;

	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->MemHostUnregister(addr);
	if (rc != CUDA_OK)
		status = failed(rc, "cuMemHostUnregister");
	leave(&scope);
	return status;
}

static bool cuda_is_device_memory(struct gpu_mem *mem, const void *ptr)
{
	unsigned int type = 0;
	struct scope scope;
	cuda_result rc;

	if (enter(mem, &scope) != DOCA_SUCCESS)
		return false;
	rc = scope.cuda->PointerGetAttribute(&type, CUDA_POINTER_ATTR_MEMORY_TYPE, (cuda_ptr)ptr);
	leave(&scope);
	/* Memory that CUDA never heard of is an error to it, and the host's. */
	return rc == CUDA_OK && type == CUDA_MEMORY_TYPE_DEVICE;
}

static doca_error_t cuda_copy(struct gpu_mem *mem, void *dst, const void *src, size_t size)
{
	doca_error_t status;
	struct scope scope;
	cuda_result rc;

	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->Memcpy((cuda_ptr)dst, (cuda_ptr)src, size);
	if (rc != CUDA_OK)
		status = failed(rc, "cuMemcpy");
	leave(&scope);
	return status;
}

static doca_error_t cuda_peek(struct gpu_mem *mem, void *dst, const void *src, size_t size)
{
	doca_error_t status;
	struct scope scope;
	cuda_result rc;

	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->MemcpyDtoHAsync(dst, (cuda_ptr)src, size, mem->stream);
	if (rc == CUDA_OK)
		rc = scope.cuda->StreamSynchronize(mem->stream);
	if (rc != CUDA_OK)
		status = failed(rc, "cuMemcpyDtoHAsync");
	leave(&scope);
	return status;
}

static doca_error_t cuda_fill(struct gpu_mem *mem, void *dst, uint8_t byte, size_t size)
{
	doca_error_t status;
	struct scope scope;
	cuda_result rc;

	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->MemsetD8((cuda_ptr)dst, byte, size);
	if (rc != CUDA_OK)
		status = failed(rc, "cuMemsetD8");
	leave(&scope);
	return status;
}

static doca_error_t cuda_dmabuf_fd(struct gpu_mem *mem, void *gpu, size_t size, int *fd)
{
	doca_error_t status;
	struct scope scope;
	cuda_result rc;

	if (!mem->has_dmabuf)
		return DOCA_ERROR_NOT_SUPPORTED;
	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->MemGetHandleForAddressRange(fd, (cuda_ptr)gpu, size,
						     CUDA_RANGE_HANDLE_DMA_BUF_FD, 0);
	if (rc != CUDA_OK) {
		failed(rc, "cuMemGetHandleForAddressRange");
		status = DOCA_ERROR_NOT_SUPPORTED;
	}
	leave(&scope);
	return status;
}

static doca_error_t cuda_sync(struct gpu_mem *mem)
{
	doca_error_t status;
	struct scope scope;
	cuda_result rc;

	status = enter(mem, &scope);
	if (status != DOCA_SUCCESS)
		return status;
	rc = scope.cuda->CtxSynchronize();
	if (rc != CUDA_OK)
		status = failed(rc, "cuCtxSynchronize");
	leave(&scope);
	return status;
}

const struct gpu_mem_ops gpu_mem_cuda_ops = {
	.name = "CUDA",
	.open = cuda_open,
	.close = cuda_close,
	.alloc = cuda_alloc,
	.map_cpu = cuda_map_cpu,
	.free = cuda_free,
	.host_register = cuda_host_register,
	.host_unregister = cuda_host_unregister,
	.is_device_memory = cuda_is_device_memory,
	.copy = cuda_copy,
	.peek = cuda_peek,
	.fill = cuda_fill,
	.dmabuf_fd = cuda_dmabuf_fd,
	.sync = cuda_sync,
};
