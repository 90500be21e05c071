/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory operations of kernel code, with the order and the scope that CUDA gives them. Every one
 * goes through here, so that a tool can watch (simt_set_mem_observer) and the scheduler can
 * preempt.
 *
 * What the CPU does is at least as strong as what is asked: loads acquire and stores release, for
 * everybody, because the other side may be an OS thread (a NIC, a host). Whether a scope is wide
 * enough is for the observer to judge. Called outside a kernel (a test that runs device code as a
 * plain function), they work without the scheduler.
 */
#ifndef SIMT_MEM_H
#define SIMT_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum simt_scope {
	SIMT_SCOPE_THREAD,
	SIMT_SCOPE_CTA,
	SIMT_SCOPE_GPU,
	SIMT_SCOPE_SYS,
};

enum simt_order {
	SIMT_RELAXED,
	SIMT_ACQUIRE,
	SIMT_RELEASE,
	SIMT_ACQ_REL,
	SIMT_SC,
};

enum simt_access_kind {
	SIMT_ACCESS_LD,		/* strong load */
	SIMT_ACCESS_ST,		/* strong store */
	SIMT_ACCESS_RMW,	/* atomic read-modify-write */
	SIMT_ACCESS_FENCE,	/* no address */
	SIMT_ACCESS_MMIO_ST,	/* store to a device register */
	SIMT_ACCESS_WEAK_WRITE, /* unordered bulk store: a WQE segment */
};

struct simt_access {
	enum simt_access_kind kind;
	enum simt_order order;
	enum simt_scope scope;
	uint32_t size; /* bytes */
	void *addr;
	const void *value; /* what is about to be stored; NULL for loads, RMW and fences */
};

extern "C" {

/*
 * Called before each access, on the stream's thread, in the accessing fibre: the old bytes can
 * still be read. Must not touch memory through this header. Set it while no kernel runs; NULL
 * removes it.
 */
typedef void (*simt_mem_observer_fn)(void *ctx, const struct simt_access *access);
void simt_set_mem_observer(simt_mem_observer_fn fn, void *ctx);

extern simt_mem_observer_fn simt_mem_observer;
void simt_mem_notify(const struct simt_access *access);

/* Scheduler hooks, after the access. A load or a failing compare-and-swap that goes round a loop
 * without news gives way until memory changes (simt_park.h); a store is progress; each may preempt.
 * Values are zero-extended; `wanted` is what the compare-and-swap compares with. */
void simt_note_load(const void *addr, uint32_t size, uint64_t value);
void simt_note_cas(const void *addr, uint32_t size, uint64_t value, uint64_t wanted);
void simt_note_store(const void *addr, uint64_t value);
/* The body of a loop that waits: give way to the others. */
void simt_spin(void);

} /* extern "C" */

static inline void simt_observe(enum simt_access_kind kind, void *addr, uint32_t size,
				const void *value, enum simt_order order, enum simt_scope scope)
{
	if (__builtin_expect(simt_mem_observer != nullptr, 0)) {
		struct simt_access access = {kind, order, scope, size, addr, value};

		simt_mem_notify(&access);
	}
}

template <typename T>
static inline uint64_t simt_bits(T v)
{
	uint64_t bits = 0;

	static_assert(sizeof(T) <= sizeof(bits), "at most 8 bytes");
	memcpy(&bits, &v, sizeof(v));
	return bits;
}

template <typename T>
static inline T simt_ld(const T *p, enum simt_order order, enum simt_scope scope)
{
	simt_observe(SIMT_ACCESS_LD, const_cast<T *>(p), sizeof(T), nullptr, order, scope);
	T v;

	__atomic_load(p, &v, __ATOMIC_ACQUIRE);
	simt_note_load(p, sizeof(T), simt_bits(v));
	return v;
}

template <typename T>
static inline void simt_st(T *p, T v, enum simt_order order, enum simt_scope scope)
{
	simt_observe(SIMT_ACCESS_ST, p, sizeof(T), &v, order, scope);
	__atomic_store(p, &v, __ATOMIC_RELEASE);
	simt_note_store(p, simt_bits(v));
}

/* Store to a device register, not to be split, merged or repeated. */
static inline void simt_mmio_store64(uint64_t *p, uint64_t v)
{
	simt_observe(SIMT_ACCESS_MMIO_ST, p, sizeof(v), &v, SIMT_RELAXED, SIMT_SCOPE_SYS);
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
	simt_note_store(p, v);
}

/* Unordered store of n bytes: 4, or 8-byte aligned and a multiple of 8. Word by word, so that a
 * reader that comes too early sees old or new words. */
static inline void simt_weak_write(void *p, const void *src, uint32_t n)
{
	simt_observe(SIMT_ACCESS_WEAK_WRITE, p, n, src, SIMT_RELAXED, SIMT_SCOPE_THREAD);
	if (n == sizeof(uint32_t)) {
		uint32_t w;

		memcpy(&w, src, sizeof(w));
		__atomic_store_n(static_cast<uint32_t *>(p), w, __ATOMIC_RELAXED);
		return;
	}
	for (uint32_t i = 0; i < n; i += 8) {
		uint64_t w;

		memcpy(&w, static_cast<const char *>(src) + i, sizeof(w));
		__atomic_store_n(reinterpret_cast<uint64_t *>(static_cast<char *>(p) + i), w,
				 __ATOMIC_RELAXED);
	}
}

static inline void simt_fence(enum simt_scope scope, enum simt_order order)
{
	simt_observe(SIMT_ACCESS_FENCE, nullptr, 0, nullptr, order, scope);
#if defined(__SANITIZE_THREAD__)
	/* ThreadSanitizer does not model fences; the accesses themselves acquire and release */
	__asm__ volatile("" ::: "memory");
#else
	if (scope != SIMT_SCOPE_THREAD)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

enum simt_rmw_op {
	SIMT_RMW_XCHG,
	SIMT_RMW_ADD,
	SIMT_RMW_AND,
	SIMT_RMW_OR,
	SIMT_RMW_XOR,
	SIMT_RMW_MIN,
	SIMT_RMW_MAX,
};

template <typename T>
static inline T simt_rmw_apply(enum simt_rmw_op op, T old, T v)
{
	switch (op) {
	case SIMT_RMW_XCHG:
		return v;
	case SIMT_RMW_ADD:
		return static_cast<T>(old + v);
	case SIMT_RMW_AND:
		return static_cast<T>(old & v);
	case SIMT_RMW_OR:
		return static_cast<T>(old | v);
	case SIMT_RMW_XOR:
		return static_cast<T>(old ^ v);
	case SIMT_RMW_MIN:
		return v < old ? v : old;
	case SIMT_RMW_MAX:
		return v > old ? v : old;
	}
	return old;
}

/* Atomically *p = op(*p, v) for integers; returns the old value. */
template <typename T>
static inline T simt_rmw(T *p, enum simt_rmw_op op, T v, enum simt_order order,
			 enum simt_scope scope)
{
	simt_observe(SIMT_ACCESS_RMW, p, sizeof(T), nullptr, order, scope);
	T old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
	T next = simt_rmw_apply(op, old, v);

	while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		next = simt_rmw_apply(op, old, v);
	if (next == old)
		simt_note_load(p, sizeof(T), simt_bits(old)); /* changed nothing: a poll */
	else
		simt_note_store(p, simt_bits(next));
	return old;
}

/* Atomically: if *p == expected then *p = desired; returns the old value. */
template <typename T>
static inline T simt_cas(T *p, T expected, T desired, enum simt_order order, enum simt_scope scope)
{
	simt_observe(SIMT_ACCESS_RMW, p, sizeof(T), nullptr, order, scope);
	T old = expected;

	if (__atomic_compare_exchange_n(p, &old, desired, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		simt_note_store(p, simt_bits(desired));
	else
		simt_note_cas(p, sizeof(T), simt_bits(old), simt_bits(expected));
	return old;
}

#endif /* SIMT_MEM_H */
