/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libcuda.so.1 with one device, at 0000:3b:00.0, whose memory is the host's: enough for the
 * engine to load a driver at run time on a machine that has none. What an address is can be asked:
 * device memory lies in one arena.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/cuda_driver.h"

enum { ARENA_BYTES = 16 << 20, NOT_FOUND = 101 };

static _Alignas(65536) uint8_t arena[ARENA_BYTES];
static size_t used;
static int device_context;

#define CU(name, args)                                                                             \
	__attribute__((visibility("default"))) cuda_result name args;                              \
	cuda_result name args

CU(cuInit, (unsigned int flags))
{
	(void)flags;
	return CUDA_OK;
}

CU(cuDeviceGetCount, (int *count))
{
	*count = 1;
	return CUDA_OK;
}

CU(cuDeviceGetByPCIBusId, (cuda_device * dev, const char *id))
{
	*dev = 0;
	return strcmp(id, "0000:3b:00.0") ? NOT_FOUND : CUDA_OK;
}

CU(cuDeviceGetAttribute, (int *v, int attr, cuda_device dev))
{
	(void)attr, (void)dev;
	*v = 0;
	return CUDA_OK;
}

CU(cuDevicePrimaryCtxRetain, (void **ctx, cuda_device dev))
{
	(void)dev;
	*ctx = &device_context;
	return CUDA_OK;
}

CU(cuDevicePrimaryCtxRelease_v2, (cuda_device dev))
{
	(void)dev;
	return CUDA_OK;
}

CU(cuCtxGetCurrent, (void **ctx))
{
	*ctx = &device_context;
	return CUDA_OK;
}

CU(cuCtxGetDevice, (cuda_device * dev))
{
	*dev = 0;
	return CUDA_OK;
}

CU(cuCtxPushCurrent_v2, (void *ctx))
{
	(void)ctx;
	return CUDA_OK;
}

CU(cuCtxPopCurrent_v2, (void **ctx))
{
	*ctx = &device_context;
	return CUDA_OK;
}

CU(cuCtxSynchronize, (void))
{
	return CUDA_OK;
}

CU(cuStreamCreate, (void **stream, unsigned int flags))
{
	(void)flags;
	*stream = &device_context;
	return CUDA_OK;
}

CU(cuStreamDestroy_v2, (void *stream))
{
	(void)stream;
	return CUDA_OK;
}

CU(cuStreamSynchronize, (void *stream))
{
	(void)stream;
	return CUDA_OK;
}

CU(cuMemAlloc_v2, (cuda_ptr * ptr, size_t size))
{
	if (size > sizeof(arena) - used)
		return CUDA_OUT_OF_MEMORY;
	*ptr = (cuda_ptr)(arena + used);
	used += (size + 255) & ~(size_t)255;
	return CUDA_OK;
}

CU(cuMemFree_v2, (cuda_ptr ptr))
{
	(void)ptr;
	return CUDA_OK;
}

CU(cuMemcpy, (cuda_ptr dst, cuda_ptr src, size_t size))
{
	memcpy((void *)dst, (void *)src, size);
	return CUDA_OK;
}

CU(cuMemcpyDtoHAsync_v2, (void *dst, cuda_ptr src, size_t size, void *stream))
{
	(void)stream;
	memcpy(dst, (void *)src, size);
	return CUDA_OK;
}

CU(cuMemsetD8_v2, (cuda_ptr dst, unsigned char byte, size_t size))
{
	memset((void *)dst, byte, size);
	return CUDA_OK;
}

CU(cuMemHostRegister_v2, (void *p, size_t size, unsigned int flags))
{
	(void)p, (void)size, (void)flags;
	return CUDA_OK;
}

CU(cuMemHostUnregister, (void *p))
{
	(void)p;
	return CUDA_OK;
}

CU(cuMemHostGetDevicePointer_v2, (cuda_ptr * ptr, void *p, unsigned int flags))
{
	(void)flags;
	*ptr = (cuda_ptr)p;
	return CUDA_OK;
}

CU(cuPointerGetAttribute, (void *value, int attr, cuda_ptr ptr))
{
	unsigned int is_device = ptr - (cuda_ptr)arena < sizeof(arena);

	(void)attr;
	*(unsigned int *)value = is_device ? CUDA_MEMORY_TYPE_DEVICE : 1;
	return CUDA_OK;
}

CU(cuPointerSetAttribute, (const void *value, int attr, cuda_ptr ptr))
{
	(void)value, (void)attr, (void)ptr;
	return CUDA_OK;
}
