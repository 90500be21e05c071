/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory in a GPU's place. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpu_mem.h"
#include "cuda_driver.h"
#include "log.h"

/* [domain:]bus:device[.function], all hexadecimal. */
static bool is_pci_address(const char *s)
{
	unsigned int colons = 0, dots = 0, digits = 0;

	for (; *s; s++) {
		if (isxdigit((unsigned char)*s)) {
			digits++;
			continue;
		}
		if (!digits || dots)
			return false;
		if (*s == ':')
			colons++;
		else if (*s == '.')
			dots++;
		else
			return false;
		digits = 0;
	}
	return digits && (colons == 1 || colons == 2);
}

static doca_error_t host_open(struct gpu_mem *mem, const char *bus_id)
{
	if (strcasecmp(bus_id, "cpu") != 0 && !is_pci_address(bus_id)) {
		ENGINE_ERR("GPU \"%s\": expected a PCI address or \"cpu\"", bus_id);
		return DOCA_ERROR_NOT_FOUND;
	}
	mem->is_host = true;
	mem->can_map_cpu = true;
	return DOCA_SUCCESS;
}

static void host_close(struct gpu_mem *mem)
{
	(void)mem;
}

static doca_error_t host_alloc(struct gpu_mem *mem, size_t size, size_t alignment,
			       struct gpu_mem_block *block)
{
	(void)mem;
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	if (posix_memalign(&block->base, alignment, size))
		return DOCA_ERROR_NO_MEMORY;
	block->gpu = block->base;
	block->cpu = NULL;
	block->size = size;
	return DOCA_SUCCESS;
}

static doca_error_t host_map_cpu(struct gpu_mem *mem, struct gpu_mem_block *block)
{
	(void)mem;
	block->cpu = block->gpu;
	return DOCA_SUCCESS;
}

static void host_free(struct gpu_mem *mem, struct gpu_mem_block *block)
{
	(void)mem;
	free(block->base);
}

static doca_error_t host_register(struct gpu_mem *mem, void *addr, size_t size, bool is_io,
				  void **gpu)
{
	(void)mem, (void)size, (void)is_io;
	*gpu = addr;
	return DOCA_SUCCESS;
}

static doca_error_t host_unregister(struct gpu_mem *mem, void *addr)
{
	(void)mem, (void)addr;
	return DOCA_SUCCESS;
}

static bool host_is_device_memory(struct gpu_mem *mem, const void *ptr)
{
	(void)mem, (void)ptr;
	return false;
}

static doca_error_t host_copy(struct gpu_mem *mem, void *dst, const void *src, size_t size)
{
	(void)mem;
	memcpy(dst, src, size);
	return DOCA_SUCCESS;
}

static doca_error_t host_fill(struct gpu_mem *mem, void *dst, uint8_t byte, size_t size)
{
	(void)mem;
	memset(dst, byte, size);
	return DOCA_SUCCESS;
}

static doca_error_t host_dmabuf_fd(struct gpu_mem *mem, void *gpu, size_t size, int *fd)
{
	(void)mem, (void)gpu, (void)size, (void)fd;
	return DOCA_ERROR_NOT_SUPPORTED;
}

static doca_error_t host_sync(struct gpu_mem *mem)
{
	(void)mem;
	return DOCA_SUCCESS;
}

const struct gpu_mem_ops gpu_mem_host_ops = {
	.name = "host memory",
	.open = host_open,
	.close = host_close,
	.alloc = host_alloc,
	.map_cpu = host_map_cpu,
	.free = host_free,
	.host_register = host_register,
	.host_unregister = host_unregister,
	.is_device_memory = host_is_device_memory,
	.copy = host_copy,
	.peek = host_copy,
	.fill = host_fill,
	.dmabuf_fd = host_dmabuf_fd,
	.sync = host_sync,
};

doca_error_t gpu_mem_open(struct gpu_mem *mem, const char *bus_id)
{
	memset(mem, 0, sizeof(*mem));
	mem->ops = &gpu_mem_host_ops;
	if (strcasecmp(bus_id, "cpu") != 0 && cuda_get())
		mem->ops = &gpu_mem_cuda_ops;
	return mem->ops->open(mem, bus_id);
}

void gpu_mem_current(struct gpu_mem *mem)
{
	const struct cuda_ops *cuda = cuda_get();
	void *context = NULL;

	memset(mem, 0, sizeof(*mem));
	mem->ops = &gpu_mem_host_ops;
	mem->is_host = true;
	if (!cuda || cuda->CtxGetCurrent(&context) != CUDA_OK || !context)
		return;
	mem->ops = &gpu_mem_cuda_ops;
	mem->is_host = false;
	mem->context = context;
	mem->device = -1; /* any context will do */
}
