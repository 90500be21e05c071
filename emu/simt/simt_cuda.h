/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA C++ built-ins for kernels compiled for the CPU: qualifiers, indices, collectives,
 * atomics, clocks. Include it where nvcc would have included its own (gdakit_kernel.h does).
 *
 * Differences: __activemask() names the lanes that come to it within two rounds of the scheduler,
 * so the seed decides who has diverged; __nanosleep and the clocks give way first and do not
 * promise a duration; shared variables are declared with GDAKIT_SHARED (gdakit_kernel.h).
 *
 * Outside a kernel (a test that runs device code as a plain function) the caller is lane 0 of a
 * warp of one.
 */
#ifndef SIMT_CUDA_H
#define SIMT_CUDA_H

#if defined(__CUDACC__)
#error "simt_cuda.h is for the CPU; nvcc has the real built-ins"
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tuple>
#include <type_traits>
#include <utility>

#include "simt.h"
#include "simt_collective.h"
#include "simt_mem.h"

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#ifndef __noinline__
#define __noinline__ __attribute__((noinline))
#endif
#define __launch_bounds__(...)
#define __restrict__ __restrict

using dim3 = simt_dim3;

/* Written by the scheduler at each switch, never by kernels; a launch stays on one OS thread. */
struct simt_dim3_pod {
	uint32_t x, y, z;
};
extern __thread simt_dim3_pod simt_thread_idx, simt_block_idx, simt_block_dim, simt_grid_dim;
#define threadIdx simt_thread_idx
#define blockIdx  simt_block_idx
#define blockDim  simt_block_dim
#define gridDim	  simt_grid_dim
constexpr int warpSize = 32;

extern "C" {
uint32_t simt_lane_id(void);
uint64_t simt_clock_ns(void);
/* The lanes of the caller's warp that come to `site` within two rounds of the scheduler. */
uint32_t simt_active_lanes(const void *site);
/* The block's variable that `site` names, made at first use, filled with 0xcb. */
void *simt_shared_var(const void *site, size_t size);
void *simt_dynamic_shared(void);
}

/* --- barriers, votes, shuffles --- */

static inline void __syncthreads(void)
{
	simt_barrier(SIMT_BARRIER_COUNT, 0);
}

static inline int __syncthreads_count(int predicate)
{
	return (int)simt_barrier(SIMT_BARRIER_COUNT, predicate);
}

static inline int __syncthreads_and(int predicate)
{
	return (int)simt_barrier(SIMT_BARRIER_AND, predicate);
}

static inline int __syncthreads_or(int predicate)
{
	return (int)simt_barrier(SIMT_BARRIER_OR, predicate);
}

static inline void __syncwarp(unsigned mask = 0xffffffff)
{
	simt_collective(SIMT_OP_SYNC, mask, 0, 0, 32);
}

template <typename T>
static inline T simt_shfl(simt_op op, unsigned mask, T value, uint32_t arg, int width)
{
	uint64_t bits = simt_collective(op, mask, simt_bits(value), arg, (uint32_t)width);
	T out;

	memcpy(&out, &bits, sizeof(out));
	return out;
}

template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int source_lane, int width = 32)
{
	return simt_shfl(SIMT_OP_SHFL_IDX, mask, value, (uint32_t)source_lane, width);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
	return simt_shfl(SIMT_OP_SHFL_UP, mask, value, delta, width);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
	return simt_shfl(SIMT_OP_SHFL_DOWN, mask, value, delta, width);
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32)
{
	return simt_shfl(SIMT_OP_SHFL_XOR, mask, value, (uint32_t)lane_mask, width);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
	return (unsigned)simt_collective(SIMT_OP_BALLOT, mask, predicate != 0, 0, 32);
}

static inline int __any_sync(unsigned mask, int predicate)
{
	return (int)simt_collective(SIMT_OP_ANY, mask, predicate != 0, 0, 32);
}

static inline int __all_sync(unsigned mask, int predicate)
{
	return (int)simt_collective(SIMT_OP_ALL, mask, predicate != 0, 0, 32);
}

template <typename T>
static inline unsigned __match_any_sync(unsigned mask, T value)
{
	return (unsigned)simt_collective(SIMT_OP_MATCH_ANY, mask, simt_bits(value), 0, 32);
}

template <typename T>
static inline unsigned __match_all_sync(unsigned mask, T value, int *predicate)
{
	unsigned m = (unsigned)simt_collective(SIMT_OP_MATCH_ALL, mask, simt_bits(value), 0, 32);

	*predicate = m != 0;
	return m;
}

/* Signed values travel sign-extended, so that one 64-bit comparison serves all. */
template <typename T>
static inline T simt_reduce(simt_op op, unsigned mask, T value)
{
	static_assert(sizeof(T) == 4, "__reduce_*_sync takes int or unsigned");
	uint64_t v = std::is_signed<T>::value ? (uint64_t)(int64_t)value : (uint64_t)value;

	return (T)simt_collective(op, mask, v, 0, 32);
}

template <typename T>
static inline T __reduce_max_sync(unsigned mask, T value)
{
	return simt_reduce(std::is_signed<T>::value ? SIMT_OP_MAX_S : SIMT_OP_MAX_U, mask, value);
}

template <typename T>
static inline T __reduce_min_sync(unsigned mask, T value)
{
	return simt_reduce(std::is_signed<T>::value ? SIMT_OP_MIN_S : SIMT_OP_MIN_U, mask, value);
}

template <typename T>
static inline T __reduce_add_sync(unsigned mask, T value)
{
	return simt_reduce(SIMT_OP_ADD, mask, value);
}

static inline unsigned __reduce_and_sync(unsigned mask, unsigned value)
{
	return simt_reduce(SIMT_OP_AND, mask, value);
}

static inline unsigned __reduce_or_sync(unsigned mask, unsigned value)
{
	return simt_reduce(SIMT_OP_OR, mask, value);
}

static inline unsigned __reduce_xor_sync(unsigned mask, unsigned value)
{
	return simt_reduce(SIMT_OP_XOR, mask, value);
}

/* An address of its own for each place that it is inlined into: lanes there are at one instruction.
 */
static __forceinline__ const void *simt_pc(void)
{
	const void *pc;

#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
#elif defined(__aarch64__)
	__asm__ volatile("adr %0, ." : "=r"(pc));
#else
	pc = __builtin_return_address(0);
#endif
	return pc;
}

static __forceinline__ unsigned __activemask(void)
{
	return simt_active_lanes(simt_pc());
}

/* --- fences and atomics (relaxed, as CUDA's are) --- */

static inline void __threadfence_block(void)
{
	simt_fence(SIMT_SCOPE_CTA, SIMT_SC);
}

static inline void __threadfence(void)
{
	simt_fence(SIMT_SCOPE_GPU, SIMT_SC);
}

static inline void __threadfence_system(void)
{
	simt_fence(SIMT_SCOPE_SYS, SIMT_SC);
}

/* atomicAdd(p, v), atomicAdd_block, atomicAdd_system: v converts to the pointer's type. */
#define SIMT_ATOMIC(name, op, suffix, scope)                                                       \
	template <typename T, typename V>                                                          \
	static inline T atomic##name##suffix(T *p, V v)                                            \
	{                                                                                          \
		return simt_rmw(p, op, (T)v, SIMT_RELAXED, scope);                                 \
	}
#define SIMT_ATOMICS(name, op)                                                                     \
	SIMT_ATOMIC(name, op, , SIMT_SCOPE_GPU)                                                    \
	SIMT_ATOMIC(name, op, _block, SIMT_SCOPE_CTA)                                              \
	SIMT_ATOMIC(name, op, _system, SIMT_SCOPE_SYS)

SIMT_ATOMICS(Add, SIMT_RMW_ADD)
SIMT_ATOMICS(Exch, SIMT_RMW_XCHG)
SIMT_ATOMICS(Min, SIMT_RMW_MIN)
SIMT_ATOMICS(Max, SIMT_RMW_MAX)
SIMT_ATOMICS(And, SIMT_RMW_AND)
SIMT_ATOMICS(Or, SIMT_RMW_OR)
SIMT_ATOMICS(Xor, SIMT_RMW_XOR)

template <typename T, typename V>
static inline T atomicSub(T *p, V v)
{
	return simt_rmw(p, SIMT_RMW_ADD, (T)(0 - (T)v), SIMT_RELAXED, SIMT_SCOPE_GPU);
}

#define SIMT_ATOMIC_CAS(suffix, scope)                                                             \
	template <typename T, typename A, typename B>                                              \
	static inline T atomicCAS##suffix(T *p, A expected, B desired)                             \
	{                                                                                          \
		return simt_cas(p, (T)expected, (T)desired, SIMT_RELAXED, scope);                  \
	}
SIMT_ATOMIC_CAS(, SIMT_SCOPE_GPU)
SIMT_ATOMIC_CAS(_block, SIMT_SCOPE_CTA)
SIMT_ATOMIC_CAS(_system, SIMT_SCOPE_SYS)

#undef SIMT_ATOMIC
#undef SIMT_ATOMICS
#undef SIMT_ATOMIC_CAS

/* --- the rest --- */

static inline void __nanosleep(unsigned)
{
	simt_spin();
}

static inline long long clock64(void)
{
	return (long long)simt_clock_ns();
}

template <typename T>
static inline T __ldg(const T *p)
{
	return *p;
}

static inline int __popc(unsigned v)
{
	return __builtin_popcount(v);
}

static inline int __popcll(unsigned long long v)
{
	return __builtin_popcountll(v);
}

static inline int __ffs(int v)
{
	return __builtin_ffs(v);
}

static inline int __clz(int v)
{
	return v == 0 ? 32 : __builtin_clz((unsigned)v);
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
	uint64_t both = (uint64_t)high << 32 | low;

	return (unsigned)(both >> (shift & 31));
}

/* --- launching --- */

/*
 * Queue `kernel(args...)` on the CPU executor; the arguments are copied. Returns a SIMT_* code.
 */
template <typename... P, typename... A>
static inline int simt_launch_kernel(const simt_launch_config &cfg, void (*kernel)(P...),
				     A &&...args)
{
	struct call {
		void (*kernel)(P...);
		std::tuple<typename std::decay<P>::type...> args;
	};
	call *c = new call{kernel, {static_cast<P>(std::forward<A>(args))...}};
	int error = simt_launch(
		&cfg,
		[](void *arg) {
			call *self = static_cast<call *>(arg);

			std::apply(self->kernel, self->args);
		},
		c, [](void *arg) { delete static_cast<call *>(arg); });

	if (error != SIMT_SUCCESS)
		delete c;
	return error;
}

#endif /* SIMT_CUDA_H */
