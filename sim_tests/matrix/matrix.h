/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix: every function of the device API, times scope, sharing, threads, depth, doorbell,
 * first index and seed. A cell is one launch over the model; afterwards all memory, all counters
 * and all tickets are what they must be.
 *
 * A function's row is a struct with a device part, run<sharing, scope>(), and a host part that says
 * what one call does to memory (expect) and how many WQEs and CQEs it makes. mx_function_of() makes
 * the table's entry out of it.
 */
#ifndef MATRIX_H
#define MATRIX_H

#include <cstring>
#include <vector>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_counter.cuh"
#include "sim_tests/matrix/rig.h"

constexpr auto MX_EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto MX_CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto MX_GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto MX_AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto MX_THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto MX_WARP = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
constexpr auto MX_ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;

using mx_sharing = enum doca_gpu_dev_verbs_resource_sharing_mode;
using mx_scope = enum doca_gpu_dev_verbs_exec_scope;
using mx_ticket = doca_gpu_dev_verbs_ticket_t;

/* How a thread waits for what it posted. */
enum mx_wait_mode { MX_WAIT_TICKET, MX_WAIT_POLL, MX_WAIT_POLL_ONE, MX_WAIT_ALL, MX_WAIT_MODES };

/* A kernel's arguments. Each call has a slice of `stride` bytes at both ends. */
struct mx_args {
	struct doca_gpu_dev_verbs_qp *qp, *companion, *second;
	uint8_t *local, *remote;
	uint32_t local_key, remote_key; /* big endian */
	uint32_t stride, size_max;	/* bytes; the last 8 of a slice are nobody's */
	uint64_t *old;			/* of nic 0: three words a call, where atomics put theirs */
	uint64_t *signal;		/* of nic 1 */
	uint64_t *counter;		/* of nic 0 */
	uint64_t signal_val, counter_val;
	uint32_t threads, calls; /* calls of each thread */
	bool is_warp;
	uint32_t seed;
	uint32_t wait_every; /* calls */
	enum mx_wait_mode wait_mode;
	bool skip_ring, skip_check; /* code_opt */
	uint32_t *turn;		    /* EXCLUSIVE: whose it is */
	mx_ticket *tickets;	    /* one a call */
	int *status;		    /* one a thread */
};

/* One call. */
struct mx_op {
	uint32_t n, thread, call;
	uint32_t size; /* bytes; 0 now and then */
	uint32_t code_opt;
	uint8_t *local, *remote;
	uint64_t *old;
};

__host__ __device__ static inline uint32_t mx_hash(uint32_t a, uint32_t b)
{
	uint32_t x = (a + 0x9e3779b9u) * 0x85ebca6bu ^ (b + 1) * 0xc2b2ae35u;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	return x ^ x >> 13;
}

__host__ __device__ static inline uint32_t mx_size(const mx_args &a, uint32_t n)
{
	uint32_t h = mx_hash(a.seed, n);
	uint32_t small = a.size_max < 64 ? a.size_max : 64;

	if (h % 16 == 0)
		return 0;
	return h % 16 == 1 ? a.size_max : 1 + (h >> 8) % small;
}

__host__ __device__ static inline mx_op mx_op_of(const mx_args &a, uint32_t thread, uint32_t call)
{
	mx_op op;

	op.n = thread * a.calls + call;
	op.thread = thread;
	op.call = call;
	op.size = mx_size(a, op.n);
	op.code_opt = a.skip_check ? DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK : 0;
	if (a.skip_ring && call % 3 != 2 && call != a.calls - 1)
		op.code_opt |= DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING;
	op.local = a.local + static_cast<size_t>(op.n) * a.stride;
	op.remote = a.remote + static_cast<size_t>(op.n) * a.stride;
	op.old = a.old + 3 * static_cast<size_t>(op.n);
	return op;
}

/* --- the device side --- */

__device__ static inline struct doca_gpu_dev_verbs_addr mx_remote(const mx_args &a, const void *p)
{
	return doca_gpu_dev_verbs_addr{reinterpret_cast<uint64_t>(p), a.remote_key};
}

__device__ static inline struct doca_gpu_dev_verbs_addr mx_local(const mx_args &a, const void *p)
{
	return doca_gpu_dev_verbs_addr{reinterpret_cast<uint64_t>(p), a.local_key};
}

/* The low-level protocol: n WQEs, build(wqe, index, number) fills each. */
template <mx_sharing S, typename Build>
__device__ static inline uint64_t mx_build(struct doca_gpu_dev_verbs_qp *qp, uint32_t n,
					   uint32_t code_opt, Build build)
{
	uint64_t first = doca_gpu_dev_verbs_reserve_wq_slots<S>(qp, n, code_opt);

	for (uint32_t i = 0; i < n; i++)
		build(doca_gpu_dev_verbs_get_wqe_ptr(qp, static_cast<uint16_t>(first + i)),
		      static_cast<uint16_t>(first + i), i);
	doca_gpu_dev_verbs_mark_wqes_ready<S>(qp, first, first + n - 1);
	return first;
}

template <mx_sharing S, typename Build>
__device__ static inline mx_ticket mx_post(struct doca_gpu_dev_verbs_qp *qp, uint32_t n,
					   uint32_t code_opt, Build build)
{
	uint64_t first = mx_build<S>(qp, n, code_opt, build);

	doca_gpu_dev_verbs_submit<S>(qp, first + n, code_opt);
	return first + n - 1;
}

template <mx_sharing S>
__device__ static inline int mx_wait_for(struct doca_gpu_dev_verbs_qp *qp, mx_ticket ticket,
					 enum mx_wait_mode mode)
{
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	int status;

	switch (mode) {
	case MX_WAIT_POLL:
		return doca_gpu_dev_verbs_poll_cq_at<S>(cq, ticket);
	case MX_WAIT_POLL_ONE:
		while ((status = doca_gpu_dev_verbs_poll_one_cq_at<S>(cq, ticket)) == EBUSY)
			gdakit_pause();
		return status;
	case MX_WAIT_ALL:
		return doca_gpu_dev_verbs_wait<S>(qp);
	default:
		return doca_gpu_dev_verbs_wait<S>(qp, ticket);
	}
}

/* EXCLUSIVE queues change hands: one thread, or one warp, at a time. */
__device__ static inline void mx_take_turn(const mx_args &a, uint32_t unit)
{
	while (atomicCAS(a.turn, unit, unit) != unit)
		gdakit_pause();
	__threadfence();
}

__device__ static inline void mx_pass_turn(const mx_args &a, uint32_t unit)
{
	__threadfence();
	atomicExch(a.turn, unit + 1);
}

/* The highest of a warp's tickets. */
__device__ static inline mx_ticket mx_last_of_warp(mx_ticket ticket)
{
	for (int step = 1; step < 32; step *= 2) {
		mx_ticket other = __shfl_xor_sync(0xffffffff, ticket, step);

		ticket = other > ticket ? other : ticket;
	}
	return ticket;
}

template <typename F, mx_sharing S, mx_scope E>
__device__ static inline int mx_calls(const mx_args &a, uint32_t thread)
{
	/* a warp that has the queue to itself still has one user at a time */
	constexpr bool lane0_waits = E == MX_WARP && S == MX_EXCLUSIVE;
	int status = 0;

	for (uint32_t call = 0; call < a.calls; call++) {
		mx_op op = mx_op_of(a, thread, call);
		mx_ticket ticket = 0;

		status |= F::template run<S, E>(a, op, &ticket);
		a.tickets[op.n] = ticket;
		if (F::waits_itself ||
		    (call % a.wait_every != a.wait_every - 1 && call != a.calls - 1))
			continue;
		if (lane0_waits)
			ticket = mx_last_of_warp(ticket);
		if (!lane0_waits || thread % 32 == 0)
			status |= F::template wait<S>(a, ticket);
		if (E == MX_WARP)
			__syncwarp();
	}
	return status;
}

template <typename F, mx_sharing S, mx_scope E>
__global__ void mx_kernel(mx_args a)
{
	const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
	constexpr bool is_warp = E == MX_WARP;
	const uint32_t unit = is_warp ? thread / 32 : thread;
	const bool leads = !is_warp || thread % 32 == 0;

	if (S == MX_EXCLUSIVE && leads)
		mx_take_turn(a, unit);
	if (is_warp)
		__syncwarp();
	a.status[thread] = mx_calls<F, S, E>(a, thread);
	if (is_warp)
		__syncwarp();
	if (S == MX_EXCLUSIVE && leads)
		mx_pass_turn(a, unit);
}

/* --- the host side --- */

/* What memory must be afterwards. */
struct mx_image {
	std::vector<uint8_t> local, remote;	       /* all slices */
	uint64_t signals = 0, counts = 0;	       /* additions to the two words */
	std::vector<uint32_t> signal_old, counter_old; /* which words of `old` got an old value */

	uint8_t *local_of(const mx_args &a, const mx_op &op)
	{
		return local.data() + static_cast<size_t>(op.n) * a.stride;
	}
	uint8_t *remote_of(const mx_args &a, const mx_op &op)
	{
		return remote.data() + static_cast<size_t>(op.n) * a.stride;
	}
	void put(const mx_args &a, const mx_op &op, uint32_t bytes)
	{
		memcpy(remote_of(a, op), local_of(a, op), bytes);
	}
	void get(const mx_args &a, const mx_op &op, uint32_t bytes)
	{
		memcpy(local_of(a, op), remote_of(a, op), bytes);
	}
	void signal(const mx_op &op)
	{
		signals++;
		signal_old.push_back(3 * op.n);
	}
	void count(const mx_op &op)
	{
		counts++;
		counter_old.push_back(3 * op.n + 1);
	}
};

/* What a row may leave as it is. */
struct mx_row {
	static constexpr bool has_thread = true, has_warp = false;
	static constexpr bool has_companion = false, has_second = false, is_collapsed = false;
	static constexpr bool waits_itself = false;
	static constexpr bool is_exclusive = false;   /* only for one thread at a time */
	static constexpr bool lane0_only = false;     /* a call of the whole warp, lane 0's slice */
	static constexpr bool rings_itself = false;   /* has no SKIP_DB_RINGING */
	static constexpr bool needs_register = false; /* writes WQEs to the register */
	static constexpr bool loose_tickets = false;  /* they do not cover all WQEs */
	static constexpr uint32_t log_depth_min = 1;

	static uint32_t wqes(const mx_args &, const mx_op &)
	{
		return 1;
	}
	static uint32_t cqes(const mx_args &, const mx_op &, uint32_t wqes)
	{
		return wqes;
	}
	template <mx_sharing S>
	__device__ static int wait(const mx_args &a, mx_ticket ticket)
	{
		return mx_wait_for<S>(a.qp, ticket, a.wait_mode);
	}
};

using mx_kernel_fn = void (*)(mx_args);

struct mx_function {
	const char *name;
	bool scopes[2]; /* thread, warp */
	bool has_companion, has_second, is_collapsed, waits_itself, is_exclusive, lane0_only,
		rings_itself, needs_register, loose_tickets;
	uint32_t log_depth_min;
	mx_kernel_fn kernels[2][3]; /* by scope and sharing */
	void (*expect)(mx_image &image, const mx_args &a, const mx_op &op);
	uint32_t (*wqes)(const mx_args &a, const mx_op &op);
	uint32_t (*cqes)(const mx_args &a, const mx_op &op, uint32_t wqes);
};

template <typename F, mx_sharing S, mx_scope E>
static mx_kernel_fn mx_kernel_of()
{
	if constexpr ((E == MX_THREAD ? F::has_thread : F::has_warp) &&
		      (S == MX_EXCLUSIVE || !F::is_exclusive))
		return mx_kernel<F, S, E>;
	else
		return nullptr;
}

template <typename F>
static mx_function mx_function_of(const char *name)
{
	return mx_function{
		name,
		{F::has_thread, F::has_warp},
		F::has_companion,
		F::has_second,
		F::is_collapsed,
		F::waits_itself,
		F::is_exclusive,
		F::lane0_only,
		F::rings_itself,
		F::needs_register,
		F::loose_tickets,
		F::log_depth_min,
		{{mx_kernel_of<F, MX_EXCLUSIVE, MX_THREAD>(), mx_kernel_of<F, MX_CTA, MX_THREAD>(),
		  mx_kernel_of<F, MX_GPU, MX_THREAD>()},
		 {mx_kernel_of<F, MX_EXCLUSIVE, MX_WARP>(), mx_kernel_of<F, MX_CTA, MX_WARP>(),
		  mx_kernel_of<F, MX_GPU, MX_WARP>()}},
		F::expect,
		F::wqes,
		F::cqes,
	};
}

/* The rows of each file. */
void mx_add_put(std::vector<mx_function> *table);
void mx_add_get(std::vector<mx_function> *table);
void mx_add_counter(std::vector<mx_function> *table);
void mx_add_wqe(std::vector<mx_function> *table);
void mx_add_queue(std::vector<mx_function> *table);

#endif
