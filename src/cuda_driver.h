/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver and GDRCopy, loaded when first needed. Only the driver is used, no runtime: it
 * comes with the GPU and shares the primary context with the program's runtime. Prototypes and
 * numbers are those that NVIDIA documents for the CUDA driver API (the _v2 entry points) and for
 * gdrapi.h.
 */
#ifndef GDAKIT_CUDA_DRIVER_H
#define GDAKIT_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result;    /* CUresult */
typedef int cuda_device;    /* CUdevice */
typedef uintptr_t cuda_ptr; /* CUdeviceptr on 64-bit machines */

enum {
	CUDA_OK = 0,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_HOST_MEMORY_ALREADY_REGISTERED = 712,

	CUDA_ATTR_GPUDIRECT_RDMA_WRITES_ORDERING = 118,
	CUDA_ATTR_DMA_BUF_SUPPORTED = 124,

	CUDA_HOST_REGISTER_PORTABLE = 1,
	CUDA_HOST_REGISTER_DEVICEMAP = 2,
	CUDA_HOST_REGISTER_IOMEMORY = 4,

	CUDA_POINTER_ATTR_MEMORY_TYPE = 2,
	CUDA_POINTER_ATTR_SYNC_MEMOPS = 6,
	CUDA_MEMORY_TYPE_DEVICE = 2,
	CUDA_RANGE_HANDLE_DMA_BUF_FD = 1,
	CUDA_STREAM_NON_BLOCKING = 1,
};

/* X(required, member, symbol, arguments) */
#define CUDA_SYMBOLS(X)                                                                            \
	X(true, Init, cuInit, (unsigned int flags))                                                \
	X(true, DeviceGetCount, cuDeviceGetCount, (int *count))                                    \
	X(true, DeviceGetByPCIBusId, cuDeviceGetByPCIBusId, (cuda_device * dev, const char *id))   \
	X(true, DeviceGetAttribute, cuDeviceGetAttribute, (int *v, int attr, cuda_device dev))     \
	X(true, PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **ctx, cuda_device dev))         \
	X(true, PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (cuda_device dev))                \
	X(true, CtxGetCurrent, cuCtxGetCurrent, (void **ctx))                                      \
	X(true, CtxGetDevice, cuCtxGetDevice, (cuda_device * dev))                                 \
	X(true, CtxPushCurrent, cuCtxPushCurrent_v2, (void *ctx))                                  \
	X(true, CtxPopCurrent, cuCtxPopCurrent_v2, (void **ctx))                                   \
	X(true, CtxSynchronize, cuCtxSynchronize, (void))                                          \
	X(true, StreamCreate, cuStreamCreate, (void **stream, unsigned int flags))                 \
	X(true, StreamDestroy, cuStreamDestroy_v2, (void *stream))                                 \
	X(true, StreamSynchronize, cuStreamSynchronize, (void *stream))                            \
	X(true, MemAlloc, cuMemAlloc_v2, (cuda_ptr * ptr, size_t size))                            \
	X(true, MemFree, cuMemFree_v2, (cuda_ptr ptr))                                             \
	X(true, Memcpy, cuMemcpy, (cuda_ptr dst, cuda_ptr src, size_t size))                       \
	X(true, MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                             \
	  (void *dst, cuda_ptr src, size_t size, void *stream))                                    \
	X(true, MemsetD8, cuMemsetD8_v2, (cuda_ptr dst, unsigned char byte, size_t size))          \
	X(true, MemHostRegister, cuMemHostRegister_v2, (void *p, size_t size, unsigned int flags)) \
	X(true, MemHostUnregister, cuMemHostUnregister, (void *p))                                 \
	X(true, MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                             \
	  (cuda_ptr * ptr, void *p, unsigned int flags))                                           \
	X(true, PointerGetAttribute, cuPointerGetAttribute, (void *value, int attr, cuda_ptr ptr)) \
	X(true, PointerSetAttribute, cuPointerSetAttribute,                                        \
	  (const void *value, int attr, cuda_ptr ptr))                                             \
	X(false, MemGetHandleForAddressRange, cuMemGetHandleForAddressRange,                       \
	  (void *handle, cuda_ptr ptr, size_t size, int type, unsigned long long flags))           \
	X(false, GetErrorName, cuGetErrorName, (cuda_result result, const char **name))

#define CUDA_MEMBER_(required, member, symbol, args) cuda_result(*member) args;
struct cuda_ops {
	CUDA_SYMBOLS(CUDA_MEMBER_)
};

typedef struct {
	unsigned long h;
} gdr_handle;

struct gdr_ops {
	void *(*open)(void);
	int (*pin_buffer)(void *gdr, unsigned long addr, size_t size, uint64_t token,
			  uint32_t va_space, gdr_handle *handle);
	int (*unpin_buffer)(void *gdr, gdr_handle handle);
	int (*map)(void *gdr, gdr_handle handle, void **va, size_t size);
	int (*unmap)(void *gdr, gdr_handle handle, void *va, size_t size);
	void *gdr; /* the open driver */
};

/*
 * The driver, initialised, with at least one device; NULL where there is none. GDRCopy, open; NULL
 * where it is missing or DOCA_GPUNETIO_DISABLE_GDRCOPY is set to a number other than 0. Both
 * thread-safe, decided once per process.
 */
const struct cuda_ops *cuda_get(void);
const struct gdr_ops *gdr_get(void);

/* Tests put their own tables in place, or take them away again with NULL. */
void cuda_inject(const struct cuda_ops *cuda, const struct gdr_ops *gdr);

/* "CUDA_ERROR_..." or the number. */
const char *cuda_error_name(cuda_result result, char *buf, size_t size);

#endif
