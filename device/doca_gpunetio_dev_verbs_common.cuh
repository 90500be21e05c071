/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, common part: fences and atomics by the policy enums, byte order, small copies.
 *
 * Names and template parameters are GPUNetIO 2.0.1's. What differs in behaviour is listed in
 * docs/compatibility.md. Everything here is for device code: no errors, no ownership; a pointer
 * must be aligned to its type.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH
#define DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The primitives bring the CUDA qualifiers where nvcc does not. */
#include "gdakit_primitives.cuh"

#if defined(__has_include) && __has_include("../common/doca_gpunetio_verbs_dev.h")
#include "../common/doca_gpunetio_verbs_dev.h" /* as installed */
#else
#include "common/doca_gpunetio_verbs_dev.h" /* in the source tree */
#endif

/* rdma-core's names for opcodes and segments, which kernels use too. Define GDAKIT_NO_MLX5DV where
 * a program has such names of its own. */
#if !defined(GDAKIT_NO_MLX5DV) && defined(__has_include)
#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#endif
#endif

/* The scope of the primitives that a policy asks for. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
constexpr gdakit_scope gdakit_sync_scope =
	sync_scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS   ? GDAKIT_SCOPE_SYS
	: sync_scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU ? GDAKIT_SCOPE_GPU
	: sync_scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA ? GDAKIT_SCOPE_CTA
							   : GDAKIT_SCOPE_THREAD;

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
constexpr gdakit_scope gdakit_sharing_scope =
	resource_sharing_mode == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
		? GDAKIT_SCOPE_THREAD
	: resource_sharing_mode == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA ? GDAKIT_SCOPE_CTA
										 : GDAKIT_SCOPE_GPU;

/* A word of a QP or CQ that others may change: those structures are in global memory. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ uint64_t gdakit_load_state(const uint64_t *p)
{
	return gdakit_ld<uint64_t, GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>,
			 true>(p);
}

/** The GPU's global clock in nanoseconds. */
__device__ static __forceinline__ uint64_t doca_gpu_dev_verbs_query_globaltimer()
{
	return gdakit_globaltimer_ns();
}

/** Index of the calling thread in its warp, 0 to 31. */
__device__ static __forceinline__ unsigned int doca_gpu_dev_verbs_get_lane_id()
{
	return gdakit_lane_id();
}

__device__ static __forceinline__ uint32_t doca_gpu_dev_verbs_bswap32(uint32_t x)
{
	return gdakit_bswap32(x);
}

__device__ static __forceinline__ uint64_t doca_gpu_dev_verbs_bswap64(uint64_t x)
{
	return static_cast<uint64_t>(gdakit_bswap32(static_cast<uint32_t>(x))) << 32 |
	       gdakit_bswap32(static_cast<uint32_t>(x >> 32));
}

__device__ static __forceinline__ uint16_t doca_gpu_dev_verbs_bswap16(uint16_t x)
{
	return static_cast<uint16_t>(x << 8 | x >> 8);
}

/** One 8-byte store to a device register. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_store_relaxed_mmio(uint64_t *ptr,
									     uint64_t val)
{
	gdakit_mmio_st64(ptr, val);
}

/** What other agents released in that scope is visible to the accesses that follow. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void doca_gpu_dev_verbs_fence_acquire()
{
	gdakit_fence_acquire<gdakit_sync_scope<sync_scope>>();
}

/** What this thread did or saw is visible in that scope before the stores that follow. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void doca_gpu_dev_verbs_fence_release()
{
	gdakit_fence_release<gdakit_sync_scope<sync_scope>>();
}

#if defined(DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE)
__device__ static __forceinline__ void doca_gpu_dev_verbs_async_store_release(uint32_t *ptr,
									      uint32_t val)
{
	gdakit_st_async_release(ptr, val);
}

/** For doorbells: the 8-byte form stores to a device register. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_async_store_release(uint64_t *ptr,
									      uint64_t val)
{
	gdakit_mmio_st64_async_release(ptr, val);
}
#endif

/** `alignment` is a power of two. */
__device__ static __forceinline__ bool doca_gpu_dev_verbs_isaligned(void *ptr, size_t alignment)
{
	return (reinterpret_cast<uintptr_t>(ptr) & (alignment - 1)) == 0;
}

/** Copy in 4-, 2- and 1-byte steps; both ends 4-byte aligned. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_memcpy_aligned_data(void *dst, void *src,
									      size_t bytes)
{
	uint8_t *d = static_cast<uint8_t *>(dst);
	const uint8_t *s = static_cast<const uint8_t *>(src);

	for (; bytes >= 4; bytes -= 4, d += 4, s += 4)
		*reinterpret_cast<uint32_t *>(d) = *reinterpret_cast<const uint32_t *>(s);
	for (; bytes > 0; bytes--)
		*d++ = *s++;
}

/** Copy any number of bytes at any alignment, by words where both ends allow it. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_memcpy_data(void *dst, void *src,
								      size_t bytes)
{
	uint8_t *d = static_cast<uint8_t *>(dst);
	const uint8_t *s = static_cast<const uint8_t *>(src);

	if (((reinterpret_cast<uintptr_t>(d) | reinterpret_cast<uintptr_t>(s)) & 7) == 0)
		for (; bytes >= 8; bytes -= 8, d += 8, s += 8)
			*reinterpret_cast<uint64_t *>(d) = *reinterpret_cast<const uint64_t *>(s);
	for (; bytes > 0; bytes--)
		*d++ = *s++;
}

/** Copy whole T's; `bytes` is rounded down to a multiple of sizeof(T). */
template <typename T>
__device__ static __forceinline__ void doca_gpu_dev_verbs_memcpy_inl_aligned_data(T *dst, T *src,
										  size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(T); i++)
		dst[i] = src[i];
}

/** *ptr = max(*ptr, val) for unsigned T; returns the old value. */
template <typename T, enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  bool need_fence_acquire = false>
__device__ static __forceinline__ T doca_gpu_dev_verbs_atomic_max(T *ptr, T val)
{
	return gdakit_atomic_max < T, need_fence_acquire ? GDAKIT_ACQUIRE : GDAKIT_RELAXED,
	       gdakit_sharing_scope < resource_sharing_mode >> (ptr, val);
}

/** *ptr += val; returns the old value. */
template <typename T, enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ T doca_gpu_dev_verbs_atomic_add(T *ptr, T val)
{
	return gdakit_atomic_add<T, GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>>(
		ptr, val);
}

template <typename T, enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ T doca_gpu_dev_verbs_atomic_read(T *ptr)
{
	return gdakit_ld<T, GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>>(ptr);
}

/* --- time --- */

/*
 * How long a wait without deadline may last, in nanoseconds; 0: for ever. Define it before the
 * first include to change it. A NIC answers within its transport's retries, seconds at most; a wait
 * that is still there after minutes (the QP was destroyed, the NIC is gone, a thread that reserved
 * slots never filled them) returns -ETIMEDOUT, so that a kernel always ends.
 */
#ifndef GDAKIT_STALL_LIMIT_NS
#define GDAKIT_STALL_LIMIT_NS 300000000000ull
#endif

/* What a waiting loop knows of time. With a deadline (of query_globaltimer) the clock is looked at
 * in each turn, without one in each 1024th. */
template <bool has_deadline>
struct gdakit_patience {
	uint64_t deadline_ns;
	uint32_t turns;
};

__device__ static __forceinline__ struct gdakit_patience<true>
gdakit_patience_until(uint64_t deadline_ns) {
	return gdakit_patience<true>{deadline_ns, 0};
}

__device__ static __forceinline__ struct gdakit_patience<false>
gdakit_patience_default(void) {
	return gdakit_patience<false>{0, 0};
}

template <bool has_deadline>
__device__ static __forceinline__ bool
gdakit_patience_is_over(struct gdakit_patience<has_deadline> &p)
{
	constexpr uint64_t limit_ns = GDAKIT_STALL_LIMIT_NS;

	p.turns++;
	if constexpr (has_deadline) {
		return gdakit_globaltimer_ns() >= p.deadline_ns;
	} else {
		if (limit_ns == 0 || p.turns % 1024 != 0)
			return false;
		uint64_t now_ns = gdakit_globaltimer_ns();

		if (p.deadline_ns == 0)
			p.deadline_ns = now_ns + limit_ns;
		return now_ns >= p.deadline_ns;
	}
}

/** Spin lock, 0 is free. Not recursive; lanes of one warp may contend (needs sm_70). */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void doca_gpu_dev_verbs_lock(int *lock)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;

	if constexpr (scope == GDAKIT_SCOPE_THREAD) {
		gdakit_st<int, GDAKIT_RELAXED, scope>(lock, 1);
	} else {
		while (gdakit_atomic_cas<int, GDAKIT_RELAXED, scope>(lock, 0, 1) != 0)
			gdakit_pause();
		gdakit_fence_acquire<scope>();
	}
}

/** The same until the clock of query_globaltimer() shows deadline_ns: 0, or -ETIMEDOUT without the
 * lock. Tries once at least. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int doca_gpu_dev_verbs_lock_until(int *lock, uint64_t deadline_ns)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;
	struct gdakit_patience<true> patience = gdakit_patience_until(deadline_ns);

	if constexpr (scope == GDAKIT_SCOPE_THREAD) {
		gdakit_st<int, GDAKIT_RELAXED, scope>(lock, 1);
	} else {
		while (gdakit_atomic_cas<int, GDAKIT_RELAXED, scope>(lock, 0, 1) != 0) {
			if (gdakit_patience_is_over(patience))
				return -ETIMEDOUT;
			gdakit_pause();
		}
		gdakit_fence_acquire<scope>();
	}
	return 0;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void doca_gpu_dev_verbs_unlock(int *lock)
{
	gdakit_st<int, GDAKIT_RELEASE, gdakit_sharing_scope<resource_sharing_mode>>(lock, 0);
}

__device__ static __forceinline__ uint8_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint8_t *ptr)
{
	return gdakit_ld_relaxed_sys_u8(ptr);
}

__device__ static __forceinline__ uint32_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint32_t *ptr)
{
	return gdakit_ld<uint32_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS>(ptr);
}

__device__ static __forceinline__ uint64_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint64_t *ptr)
{
	return gdakit_ld<uint64_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS>(ptr);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ uint64_t doca_gpu_dev_verbs_load_relaxed(uint64_t *ptr)
{
	return gdakit_ld<uint64_t, GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>>(
		ptr);
}

/** ceil(x / 2^shift), shift up to 63. */
__device__ static __forceinline__ uint64_t
doca_gpu_dev_verbs_div_ceil_aligned_pow2(uint64_t x, unsigned int denominator_shift)
{
	return (x >> denominator_shift) + ((x & ((1ULL << denominator_shift) - 1)) != 0);
}

/** The same with a 32-bit result, shift 1 to 31. */
__device__ static __forceinline__ uint32_t
doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits(uint64_t x, int denominator_shift)
{
	return static_cast<uint32_t>(x >> denominator_shift) +
	       ((x & ((1ULL << denominator_shift) - 1)) != 0);
}

#endif /* DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH */
