/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every architecture-specific instruction that the device headers use, and nothing else: loads,
 * stores, atomics and fences with order and scope, the doorbell store, a WQE segment's store.
 *
 * Here for nvcc, in PTX (ISA 8.5 and later; memory consistency model, sections "scope" and
 * "operation types"); in gdakit_primitives_cpu.h for the CPU, one for one. Each asm is volatile and
 * clobbers memory: the compiler moves no access across it, so the order in the source is the order
 * of the instructions.
 *
 * Scope THREAD means plain code for data that one thread owns.
 */
#ifndef GDAKIT_PRIMITIVES_CUH
#define GDAKIT_PRIMITIVES_CUH

#include <stddef.h>
#include <stdint.h>

enum gdakit_order { GDAKIT_RELAXED, GDAKIT_ACQUIRE, GDAKIT_RELEASE, GDAKIT_ACQ_REL };
enum gdakit_scope { GDAKIT_SCOPE_THREAD, GDAKIT_SCOPE_CTA, GDAKIT_SCOPE_GPU, GDAKIT_SCOPE_SYS };

#if !defined(__CUDACC__)
#include "gdakit_primitives_cpu.h"
#else

/* st.mmio came with PTX 8.2, the one-sided fences with 8.6 for sm_90. */
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1202
#define DOCA_GPUNETIO_VERBS_HAS_STORE_RELAXED_MMIO 1
#define GDAKIT_PTX_MMIO				   "st.mmio.relaxed.sys.global.b64"
#else
#define GDAKIT_PTX_MMIO "st.relaxed.sys.global.b64"
#endif
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208 && __CUDA_ARCH__ >= 900
#define DOCA_GPUNETIO_VERBS_HAS_FENCE_ACQUIRE_RELEASE_PTX 1
#define GDAKIT_PTX_FENCE_ACQUIRE			  "fence.acquire."
#define GDAKIT_PTX_FENCE_RELEASE			  "fence.release."
#else
#define GDAKIT_PTX_FENCE_ACQUIRE "fence.acq_rel."
#define GDAKIT_PTX_FENCE_RELEASE "fence.acq_rel."
#endif
#if __CUDA_ARCH__ >= 1000
#define DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE 1
#endif

__device__ static __forceinline__ uint32_t gdakit_lane_id(void)
{
	uint32_t id;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(id)::"memory");
	return id;
}

__device__ static __forceinline__ uint64_t gdakit_globaltimer_ns(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}

/* Body of a waiting loop. Hardware schedules warps by itself. */
__device__ static __forceinline__ void gdakit_pause(void)
{
}

/* Body of a waiting loop whose end is not expected before `ns`. */
__device__ static __forceinline__ void gdakit_sleep_ns(uint32_t ns)
{
	__nanosleep(ns);
}

__device__ static __forceinline__ uint32_t gdakit_bswap32(uint32_t x)
{
	return __byte_perm(x, 0, 0x0123);
}

/* Through the read-only cache: for what no one writes while a kernel runs. Integers, enums,
 * pointers. */
template <typename T>
__device__ static __forceinline__ T gdakit_ldg(const T *p)
{
	if constexpr (__is_enum(T)) {
		static_assert(sizeof(T) == 4, "an enum of four bytes");
		return static_cast<T>(__ldg(reinterpret_cast<const unsigned int *>(p)));
	} else {
		return __ldg(p);
	}
}

template <typename T>
__device__ static __forceinline__ T *gdakit_ldg(T *const *p)
{
	return reinterpret_cast<T *>(__ldg(reinterpret_cast<const unsigned long long *>(p)));
}

/*
 * One statement per order, scope, space and width; if constexpr keeps exactly one.
 *
 * G says that the address is in global memory. It matters: an atomic on an address of any kind
 * carries code for shared memory along, a loop for 64 bits.
 */
#define GDAKIT_PTX_SCOPES(X, ORDER, order)                                                         \
	GDAKIT_PTX_SPACES(X, ORDER, order, GDAKIT_SCOPE_CTA, "cta")                                \
	GDAKIT_PTX_SPACES(X, ORDER, order, GDAKIT_SCOPE_GPU, "gpu")                                \
	GDAKIT_PTX_SPACES(X, ORDER, order, GDAKIT_SCOPE_SYS, "sys")
#define GDAKIT_PTX_SPACES(X, ORDER, order, SCOPE, scope)                                           \
	X(ORDER, order, SCOPE, scope, false)                                                       \
	X(ORDER, order, SCOPE, scope ".global", true)

#define GDAKIT_PTX_LD32(ORDER, order, SCOPE, scope, GLOBAL)                                        \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL)                                     \
		asm volatile("ld." order "." scope ".b32 %0, [%1];"                                \
			     : "=r"(v32)                                                           \
			     : "l"(p)                                                              \
			     : "memory");
#define GDAKIT_PTX_LD64(ORDER, order, SCOPE, scope, GLOBAL)                                        \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL)                                     \
		asm volatile("ld." order "." scope ".b64 %0, [%1];"                                \
			     : "=l"(v64)                                                           \
			     : "l"(p)                                                              \
			     : "memory");

/* Load 4 or 8 bytes, relaxed or acquire. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ T gdakit_ld(const T *p)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(O == GDAKIT_RELAXED || O == GDAKIT_ACQUIRE, "a load cannot release");
	if constexpr (S == GDAKIT_SCOPE_THREAD) {
		return *p;
	} else if constexpr (sizeof(T) == 4) {
		uint32_t v32 = 0;
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_LD32, GDAKIT_RELAXED, "relaxed")
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_LD32, GDAKIT_ACQUIRE, "acquire")
		return static_cast<T>(v32);
	} else {
		uint64_t v64 = 0;
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_LD64, GDAKIT_RELAXED, "relaxed")
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_LD64, GDAKIT_ACQUIRE, "acquire")
		return static_cast<T>(v64);
	}
}

__device__ static __forceinline__ uint8_t gdakit_ld_relaxed_sys_u8(const uint8_t *p)
{
	uint16_t v;

	asm volatile("ld.relaxed.sys.global.b8 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
	return static_cast<uint8_t>(v);
}

#define GDAKIT_PTX_ST32(ORDER, order, SCOPE, scope, GLOBAL)                                        \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL)                                     \
		asm volatile("st." order "." scope ".b32 [%0], %1;" ::"l"(p),                      \
			     "r"(static_cast<uint32_t>(v))                                         \
			     : "memory");
#define GDAKIT_PTX_ST64(ORDER, order, SCOPE, scope, GLOBAL)                                        \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL)                                     \
		asm volatile("st." order "." scope ".b64 [%0], %1;" ::"l"(p),                      \
			     "l"(static_cast<uint64_t>(v))                                         \
			     : "memory");

/* Store 4 or 8 bytes, relaxed or release. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ void gdakit_st(T *p, T v)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(O == GDAKIT_RELAXED || O == GDAKIT_RELEASE, "a store cannot acquire");
	if constexpr (S == GDAKIT_SCOPE_THREAD) {
		*p = v;
	} else if constexpr (sizeof(T) == 4) {
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_ST32, GDAKIT_RELAXED, "relaxed")
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_ST32, GDAKIT_RELEASE, "release")
	} else {
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_ST64, GDAKIT_RELAXED, "relaxed")
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_ST64, GDAKIT_RELEASE, "release")
	}
}

#define GDAKIT_PTX_ATOM(ORDER, order, SCOPE, scope, GLOBAL)                                        \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL && sizeof(T) == 4)                   \
		asm volatile("atom." order "." scope "." GDAKIT_PTX_OP "32 %0, [%1], %2;"          \
			     : "=r"(old32)                                                         \
			     : "l"(p), "r"(static_cast<uint32_t>(v))                               \
			     : "memory");                                                          \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL && sizeof(T) == 8)                   \
		asm volatile("atom." order "." scope "." GDAKIT_PTX_OP "64 %0, [%1], %2;"          \
			     : "=l"(old64)                                                         \
			     : "l"(p), "l"(static_cast<uint64_t>(v))                               \
			     : "memory");
#define GDAKIT_PTX_ATOMS                                                                           \
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_ATOM, GDAKIT_RELAXED, "relaxed")                              \
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_ATOM, GDAKIT_ACQUIRE, "acquire")                              \
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_ATOM, GDAKIT_RELEASE, "release")                              \
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_ATOM, GDAKIT_ACQ_REL, "acq_rel")

/* *p += v; returns the old value. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ T gdakit_atomic_add(T *p, T v)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	if constexpr (S == GDAKIT_SCOPE_THREAD) {
		T old = *p;

		*p = old + v;
		return old;
	} else {
		uint32_t old32 = 0;
		uint64_t old64 = 0;
#define GDAKIT_PTX_OP "add.u"
		GDAKIT_PTX_ATOMS
#undef GDAKIT_PTX_OP
		return sizeof(T) == 4 ? static_cast<T>(old32) : static_cast<T>(old64);
	}
}

/* *p = max(*p, v), unsigned; returns the old value. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ T gdakit_atomic_max(T *p, T v)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(static_cast<T>(-1) > static_cast<T>(0), "unsigned");
	if constexpr (S == GDAKIT_SCOPE_THREAD) {
		T old = *p;

		*p = v > old ? v : old;
		return old;
	} else {
		uint32_t old32 = 0;
		uint64_t old64 = 0;
#define GDAKIT_PTX_OP "max.u"
		GDAKIT_PTX_ATOMS
#undef GDAKIT_PTX_OP
		return sizeof(T) == 4 ? static_cast<T>(old32) : static_cast<T>(old64);
	}
}

#define GDAKIT_PTX_RED_MAX(ORDER, order, SCOPE, scope, GLOBAL)                                     \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL)                                     \
		asm volatile("red." order "." scope ".max.u64 [%0], %1;" ::"l"(p), "l"(v)          \
			     : "memory");

/* *p = max(*p, v) where nobody asks for the old value: nothing comes back. */
template <gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ void gdakit_raise(uint64_t *p, uint64_t v)
{
	static_assert(O == GDAKIT_RELAXED || O == GDAKIT_RELEASE, "nothing comes back to acquire");
	if constexpr (S == GDAKIT_SCOPE_THREAD) {
		*p = v > *p ? v : *p;
	} else {
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_RED_MAX, GDAKIT_RELAXED, "relaxed")
		GDAKIT_PTX_SCOPES(GDAKIT_PTX_RED_MAX, GDAKIT_RELEASE, "release")
	}
}

/* *p = v; returns the old value. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ T gdakit_atomic_exch(T *p, T v)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(S != GDAKIT_SCOPE_THREAD, "an owner needs no exchange");
	uint32_t old32 = 0;
	uint64_t old64 = 0;
#define GDAKIT_PTX_OP "exch.b"
	GDAKIT_PTX_ATOMS
#undef GDAKIT_PTX_OP
	return sizeof(T) == 4 ? static_cast<T>(old32) : static_cast<T>(old64);
}

#define GDAKIT_PTX_CAS(ORDER, order, SCOPE, scope, GLOBAL)                                         \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL && sizeof(T) == 4)                   \
		asm volatile("atom." order "." scope ".cas.b32 %0, [%1], %2, %3;"                  \
			     : "=r"(old32)                                                         \
			     : "l"(p), "r"(static_cast<uint32_t>(expected)),                       \
			       "r"(static_cast<uint32_t>(desired))                                 \
			     : "memory");                                                          \
	if constexpr (O == ORDER && S == SCOPE && G == GLOBAL && sizeof(T) == 8)                   \
		asm volatile("atom." order "." scope ".cas.b64 %0, [%1], %2, %3;"                  \
			     : "=l"(old64)                                                         \
			     : "l"(p), "l"(static_cast<uint64_t>(expected)),                       \
			       "l"(static_cast<uint64_t>(desired))                                 \
			     : "memory");

/* If *p == expected then *p = desired; returns the old value. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
__device__ static __forceinline__ T gdakit_atomic_cas(T *p, T expected, T desired)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(S != GDAKIT_SCOPE_THREAD, "an owner needs no compare-and-swap");
	uint32_t old32 = 0;
	uint64_t old64 = 0;

	GDAKIT_PTX_SCOPES(GDAKIT_PTX_CAS, GDAKIT_RELAXED, "relaxed")
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_CAS, GDAKIT_ACQUIRE, "acquire")
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_CAS, GDAKIT_RELEASE, "release")
	GDAKIT_PTX_SCOPES(GDAKIT_PTX_CAS, GDAKIT_ACQ_REL, "acq_rel")
	return sizeof(T) == 4 ? static_cast<T>(old32) : static_cast<T>(old64);
}

template <gdakit_scope S>
__device__ static __forceinline__ void gdakit_fence_acquire(void)
{
	if constexpr (S == GDAKIT_SCOPE_CTA)
		asm volatile(GDAKIT_PTX_FENCE_ACQUIRE "cta;" ::: "memory");
	else if constexpr (S == GDAKIT_SCOPE_GPU)
		asm volatile(GDAKIT_PTX_FENCE_ACQUIRE "gpu;" ::: "memory");
	else if constexpr (S == GDAKIT_SCOPE_SYS)
		asm volatile(GDAKIT_PTX_FENCE_ACQUIRE "sys;" ::: "memory");
	else
		asm volatile("" ::: "memory");
}

template <gdakit_scope S>
__device__ static __forceinline__ void gdakit_fence_release(void)
{
	if constexpr (S == GDAKIT_SCOPE_CTA)
		asm volatile(GDAKIT_PTX_FENCE_RELEASE "cta;" ::: "memory");
	else if constexpr (S == GDAKIT_SCOPE_GPU)
		asm volatile(GDAKIT_PTX_FENCE_RELEASE "gpu;" ::: "memory");
	else if constexpr (S == GDAKIT_SCOPE_SYS)
		asm volatile(GDAKIT_PTX_FENCE_RELEASE "sys;" ::: "memory");
	else
		asm volatile("" ::: "memory");
}

/* Both in one: a relaxed load before it acquires, a relaxed store after it releases. */
template <gdakit_scope S>
__device__ static __forceinline__ void gdakit_fence_acq_rel(void)
{
	if constexpr (S == GDAKIT_SCOPE_CTA)
		asm volatile("fence.acq_rel.cta;" ::: "memory");
	else if constexpr (S == GDAKIT_SCOPE_GPU)
		asm volatile("fence.acq_rel.gpu;" ::: "memory");
	else if constexpr (S == GDAKIT_SCOPE_SYS)
		asm volatile("fence.acq_rel.sys;" ::: "memory");
	else
		asm volatile("" ::: "memory");
}

/* A doorbell: one 8-byte store to a device register, never merged or repeated. */
__device__ static __forceinline__ void gdakit_mmio_st64(uint64_t *p, uint64_t v)
{
	asm volatile(GDAKIT_PTX_MMIO " [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* 8 of the 64 bytes of a BlueFlame write: ordinary stores, so that those of a warp go out as one.
 */
__device__ static __forceinline__ void gdakit_bf_st64(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

#if __CUDA_ARCH__ >= 900
#define DOCA_GPUNETIO_VERBS_HAS_TMA_COPY 1
/* All 64 bytes of a WQE in shared memory to a BlueFlame register, as one transaction of the copy
 * engine. Before it, our own stores to the WQE must be visible to that engine; after it, the engine
 * must have read the WQE before the caller may change it. */
__device__ static __forceinline__ void gdakit_bf_copy64(uint64_t *bf, const void *shared_wqe)
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(bf),
		     "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared_wqe)))
		     : "memory");
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
	asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
#endif

/* 16 bytes of a WQE, 16-byte aligned; streaming, as only the NIC will read them. */
__device__ static __forceinline__ void gdakit_st_wqe_seg(void *p, uint64_t low, uint64_t high)
{
	asm volatile("st.weak.cs.v2.b64 [%0], {%1, %2};" ::"l"(p), "l"(low), "l"(high) : "memory");
}

/* 4 bytes of a WQE: inline data that does not start on a segment. */
__device__ static __forceinline__ void gdakit_st_wqe_word(void *p, uint32_t v)
{
	asm volatile("st.weak.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

#if defined(DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE)
/* Stores that release system-wide by themselves and do not stall the thread. */
__device__ static __forceinline__ void gdakit_st_async_release(uint32_t *p, uint32_t v)
{
	asm volatile("st.async.release.sys.global.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ static __forceinline__ void gdakit_mmio_st64_async_release(uint64_t *p, uint64_t v)
{
	asm volatile("st.async.mmio.release.sys.global.b64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
#endif

#endif /* __CUDACC__ */

#endif /* GDAKIT_PRIMITIVES_CUH */
