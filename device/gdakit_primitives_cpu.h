/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CPU twin of gdakit_primitives.cuh: the same functions as calls of the executor (emu/simt),
 * which sees order and scope of each. Included by gdakit_primitives.cuh only.
 */
#ifndef GDAKIT_PRIMITIVES_CPU_H
#define GDAKIT_PRIMITIVES_CPU_H

#include "simt_cuda.h"

#define DOCA_GPUNETIO_VERBS_HAS_STORE_RELAXED_MMIO 1

/* The enums have the same order on both sides. */
static_assert((int)GDAKIT_RELAXED == (int)SIMT_RELAXED &&
		      (int)GDAKIT_ACQUIRE == (int)SIMT_ACQUIRE &&
		      (int)GDAKIT_RELEASE == (int)SIMT_RELEASE &&
		      (int)GDAKIT_ACQ_REL == (int)SIMT_ACQ_REL,
	      "orders");
static_assert((int)GDAKIT_SCOPE_THREAD == (int)SIMT_SCOPE_THREAD &&
		      (int)GDAKIT_SCOPE_CTA == (int)SIMT_SCOPE_CTA &&
		      (int)GDAKIT_SCOPE_GPU == (int)SIMT_SCOPE_GPU &&
		      (int)GDAKIT_SCOPE_SYS == (int)SIMT_SCOPE_SYS,
	      "scopes");

static inline uint32_t gdakit_lane_id(void)
{
	return simt_lane_id();
}

static inline uint64_t gdakit_globaltimer_ns(void)
{
	return simt_clock_ns();
}

static inline void gdakit_pause(void)
{
	simt_spin();
}

static inline void gdakit_sleep_ns(uint32_t)
{
	simt_spin();
}

static inline uint32_t gdakit_bswap32(uint32_t x)
{
	return __builtin_bswap32(x);
}

template <typename T>
static inline T gdakit_ldg(const T *p)
{
	return *p;
}

template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
static inline T gdakit_ld(const T *p)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(O == GDAKIT_RELAXED || O == GDAKIT_ACQUIRE, "a load cannot release");
	return simt_ld(p, (simt_order)O, (simt_scope)S);
}

static inline uint8_t gdakit_ld_relaxed_sys_u8(const uint8_t *p)
{
	return simt_ld(p, SIMT_RELAXED, SIMT_SCOPE_SYS);
}

template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
static inline void gdakit_st(T *p, T v)
{
	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
	static_assert(O == GDAKIT_RELAXED || O == GDAKIT_RELEASE, "a store cannot acquire");
	simt_st(p, v, (simt_order)O, (simt_scope)S);
}

/* With scope THREAD these are plain code on a GPU: a load and a store here, so that two threads
 * that wrongly share "exclusive" data do collide. */
template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
static inline T gdakit_atomic_add(T *p, T v)
{
	if (S == GDAKIT_SCOPE_THREAD) {
		T old = simt_ld(p, SIMT_RELAXED, SIMT_SCOPE_THREAD);

		simt_st(p, (T)(old + v), SIMT_RELAXED, SIMT_SCOPE_THREAD);
		return old;
	}
	return simt_rmw(p, SIMT_RMW_ADD, v, (simt_order)O, (simt_scope)S);
}

template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
static inline T gdakit_atomic_max(T *p, T v)
{
	static_assert(static_cast<T>(-1) > static_cast<T>(0), "unsigned");
	if (S == GDAKIT_SCOPE_THREAD) {
		T old = simt_ld(p, SIMT_RELAXED, SIMT_SCOPE_THREAD);

		simt_st(p, v > old ? v : old, SIMT_RELAXED, SIMT_SCOPE_THREAD);
		return old;
	}
	return simt_rmw(p, SIMT_RMW_MAX, v, (simt_order)O, (simt_scope)S);
}

template <gdakit_order O, gdakit_scope S, bool G = false>
static inline void gdakit_raise(uint64_t *p, uint64_t v)
{
	gdakit_atomic_max<uint64_t, O, S, G>(p, v);
}

template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
static inline T gdakit_atomic_exch(T *p, T v)
{
	static_assert(S != GDAKIT_SCOPE_THREAD, "an owner needs no exchange");
	return simt_rmw(p, SIMT_RMW_XCHG, v, (simt_order)O, (simt_scope)S);
}

template <typename T, gdakit_order O, gdakit_scope S, bool G = false>
static inline T gdakit_atomic_cas(T *p, T expected, T desired)
{
	static_assert(S != GDAKIT_SCOPE_THREAD, "an owner needs no compare-and-swap");
	return simt_cas(p, expected, desired, (simt_order)O, (simt_scope)S);
}

template <gdakit_scope S>
static inline void gdakit_fence_acquire(void)
{
	simt_fence((simt_scope)S, SIMT_ACQUIRE);
}

template <gdakit_scope S>
static inline void gdakit_fence_release(void)
{
	simt_fence((simt_scope)S, SIMT_RELEASE);
}

template <gdakit_scope S>
static inline void gdakit_fence_acq_rel(void)
{
	simt_fence((simt_scope)S, SIMT_ACQ_REL);
}

static inline void gdakit_mmio_st64(uint64_t *p, uint64_t v)
{
	simt_mmio_store64(p, v);
}

static inline void gdakit_bf_st64(uint64_t *p, uint64_t v)
{
	simt_mmio_store64(p, v);
}

#define DOCA_GPUNETIO_VERBS_HAS_TMA_COPY 1
static inline void gdakit_bf_copy64(uint64_t *bf, const void *shared_wqe)
{
	/* the word that names QP and index comes last: whoever sees it finds the rest */
	for (int i = 7; i >= 0; i--) {
		uint64_t w;

		memcpy(&w, static_cast<const char *>(shared_wqe) + 8 * i, sizeof(w));
		simt_mmio_store64(bf + i, w);
	}
}

static inline void gdakit_st_wqe_seg(void *p, uint64_t low, uint64_t high)
{
	uint64_t seg[2] = {low, high};

	simt_weak_write(p, seg, sizeof(seg));
}

static inline void gdakit_st_wqe_word(void *p, uint32_t v)
{
	simt_weak_write(p, &v, sizeof(v));
}

#endif /* GDAKIT_PRIMITIVES_CPU_H */
