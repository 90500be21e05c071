/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVIDIA's DOCA SDK, where the user names one: with DOCA_SDK_LIB_PATH set to the directory of its
 * libraries, libdoca_common.so, libdoca_verbs.so and libdoca_gpunetio.so are loaded from there when
 * first needed, and GPU objects and their memory are the SDK's. Verbs objects stay this library's:
 * the SDK makes them on a doca_dev, which the interface of GPUNetIO 2.0 does not have.
 */
#ifndef GDAKIT_SDK_H
#define GDAKIT_SDK_H

#include <stddef.h>

#include "host/doca_gpunetio.h"

enum sdk_library { SDK_COMMON, SDK_VERBS, SDK_GPUNETIO, SDK_LIBRARIES };

/* X(library, return type, member, symbol, arguments); a GPU is the SDK's own object. All are
 * required. */
#define SDK_SYMBOLS(X)                                                                             \
	X(SDK_COMMON, const char *, version_runtime, doca_version_runtime, (void))                 \
	X(SDK_GPUNETIO, doca_error_t, gpu_create, doca_gpu_create,                                 \
	  (const char *bus_id, void **gpu))                                                        \
	X(SDK_GPUNETIO, doca_error_t, gpu_destroy, doca_gpu_destroy, (void *gpu))                  \
	X(SDK_GPUNETIO, doca_error_t, mem_alloc, doca_gpu_mem_alloc,                               \
	  (void *gpu, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,                 \
	   void **memptr_gpu, void **memptr_cpu))                                                  \
	X(SDK_GPUNETIO, doca_error_t, mem_free, doca_gpu_mem_free, (void *gpu, void *memptr_gpu))  \
	X(SDK_GPUNETIO, doca_error_t, dmabuf_fd, doca_gpu_dmabuf_fd,                               \
	  (void *gpu, void *memptr_gpu, size_t size, int *fd))

#define SDK_MEMBER_(library, ret, member, symbol, args) ret(*member) args;
struct sdk_ops {
	SDK_SYMBOLS(SDK_MEMBER_)
};

/*
 * The SDK's functions, or NULL: DOCA_SDK_LIB_PATH is unset or empty, or what it names cannot be
 * used. The latter is said on stderr, always, with the library, the symbol or the version; then
 * this library does the work itself. Decided once per process; never unloaded. Thread-safe.
 */
const struct sdk_ops *sdk_get(void);

#endif
