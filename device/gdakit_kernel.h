/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First include of a kernel source that nvcc and the CPU's compiler both compile. It brings the
 *CUDA built-ins and hides what differs:
 *
 *	#include "gdakit_kernel.h"
 *	#include "doca_gpunetio_dev_verbs_onesided.cuh"
 *	#include "my_kernels.h"		// struct my_kernels, GDAKIT_DECLARE_KERNELS(my_kernels, my)
 *
 *	namespace {			// both objects may end in one program
 *	template <int N> __global__ void kernel(struct my_args a)
 *	{
 *		GDAKIT_SHARED(uint32_t[32], sums);
 *		...
 *	}
 *	int launch(gdakit_stream s, const struct my_args *a)
 *	{
 *		return GDAKIT_LAUNCH(kernel<4>, dim3(2), dim3(256), 0, s, *a);
 *	}
 *	}
 *	extern "C" const struct my_kernels GDAKIT_KERNELS(my) = {launch};
 *
 * In CMake, gdakit_kernels(TARGET my_kernels.cu) compiles it for the CPU and, where nvcc is there,
 * for the GPU, into TARGET.
 *
 * Rules for both: kernels take trivially copyable arguments; threads talk through atomics, the
 * primitives and the functions below, never through plain variables in a loop (the CPU executor
 * gives way only there).
 */
#ifndef GDAKIT_KERNEL_H
#define GDAKIT_KERNEL_H

#include <stdint.h>
#include "gdakit_rt.h"

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#define GDAKIT_KERNELS(name) name##_cuda

#define GDAKIT_SHARED(type, name)                                                                  \
	using name##_type = type;                                                                  \
	__shared__ name##_type name
#define GDAKIT_DYNAMIC_SHARED(type, name)                                                          \
	extern __shared__ uint64_t gdakit_dynamic_shared[];                                        \
	type *name = reinterpret_cast<type *>(gdakit_dynamic_shared)

/* Queue kernel(args...); 0 or a cudaError_t. The macro keeps the kernel's template arguments. */
template <typename... P, typename... A>
static inline int gdakit_launch(void (*kernel)(P...), const char *, dim3 grid, dim3 block,
				size_t shared_bytes, gdakit_stream stream, A &&...args)
{
	kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream)>>>(
		static_cast<P>(args)...);
	return static_cast<int>(cudaGetLastError());
}

#else /* the CPU */

#include "simt_cuda.h"

#define GDAKIT_KERNELS(name) name##_cpu

#define GDAKIT_SHARED(type, name)                                                                  \
	using name##_type = type;                                                                  \
	static char name##_site;                                                                   \
	name##_type &name =                                                                        \
		*static_cast<name##_type *>(simt_shared_var(&name##_site, sizeof(name##_type)))
#define GDAKIT_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(simt_dynamic_shared())

template <typename... P, typename... A>
static inline int gdakit_launch(void (*kernel)(P...), const char *name, dim3 grid, dim3 block,
				size_t shared_bytes, gdakit_stream stream, A &&...args)
{
	simt_launch_config cfg = {};

	cfg.grid = grid;
	cfg.block = block;
	cfg.shared_bytes = shared_bytes;
	cfg.stream = static_cast<simt_stream *>(stream);
	cfg.name = name;
	return simt_launch_kernel(cfg, kernel, std::forward<A>(args)...);
}

#endif

/* GDAKIT_LAUNCH((kernel<a, b>), grid, block, shared_bytes, stream, args...): parentheses where the
 * kernel's name has a comma. */
#define GDAKIT_LAUNCH(kernel, ...) gdakit_launch(kernel, #kernel, __VA_ARGS__)

#include "gdakit_primitives.cuh"

/* Flags that kernels and their host share (host_alloc), and the body of a waiting loop. */
__device__ static __forceinline__ uint32_t gdakit_load_acquire_sys(const uint32_t *p)
{
	return gdakit_ld<uint32_t, GDAKIT_ACQUIRE, GDAKIT_SCOPE_SYS>(p);
}

__device__ static __forceinline__ uint64_t gdakit_load_acquire_sys(const uint64_t *p)
{
	return gdakit_ld<uint64_t, GDAKIT_ACQUIRE, GDAKIT_SCOPE_SYS>(p);
}

__device__ static __forceinline__ void gdakit_store_release_sys(uint32_t *p, uint32_t v)
{
	gdakit_st<uint32_t, GDAKIT_RELEASE, GDAKIT_SCOPE_SYS>(p, v);
}

__device__ static __forceinline__ void gdakit_store_release_sys(uint64_t *p, uint64_t v)
{
	gdakit_st<uint64_t, GDAKIT_RELEASE, GDAKIT_SCOPE_SYS>(p, v);
}

#endif /* GDAKIT_KERNEL_H */
