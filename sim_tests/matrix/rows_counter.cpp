// SPDX-License-Identifier: BSD-3-Clause
/* Rows: operations that the companion queue counts, and several queues at once. */
#include "sim_tests/matrix/matrix.h"

namespace
{

/* Counted operations return no ticket: each waits for everything, on both queues. */
struct counted : mx_row {
	static constexpr bool has_companion = true;
	static constexpr bool loose_tickets = true;

	template <mx_sharing S>
	__device__ static int wait(const mx_args &a, mx_ticket)
	{
		return doca_gpu_dev_verbs_wait<S>(a.companion) | doca_gpu_dev_verbs_wait<S>(a.qp);
	}
};

#define COUNTER_ARGS(op)                                                                           \
	a.companion, mx_local(a, a.counter), mx_local(a, (op).old + 1), a.counter_val, (op).code_opt

struct put_counter : counted {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *)
	{
		doca_gpu_dev_verbs_put_counter<S>(a.qp, mx_remote(a, op.remote),
						  mx_local(a, op.local), op.size, COUNTER_ARGS(op));
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
		image.count(op);
	}
};

struct p_counter : counted {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *)
	{
		uint64_t value;

		memcpy(&value, op.local, sizeof(value));
		doca_gpu_dev_verbs_p_counter<uint64_t, S>(a.qp, mx_remote(a, op.remote), value,
							  COUNTER_ARGS(op));
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, 8);
		image.count(op);
	}
};

struct put_signal_counter : counted {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *)
	{
		doca_gpu_dev_verbs_put_signal_counter<MX_ADD, S>(
			a.qp, mx_remote(a, op.remote), mx_local(a, op.local), op.size,
			mx_remote(a, a.signal), mx_local(a, op.old), a.signal_val,
			COUNTER_ARGS(op));
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
		image.signal(op);
		image.count(op);
	}
	static uint32_t wqes(const mx_args &, const mx_op &op)
	{
		return op.size == 0 ? 1 : 2;
	}
};

struct signal_counter : counted {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *)
	{
		doca_gpu_dev_verbs_signal_counter<MX_ADD, S>(a.qp, mx_remote(a, a.signal),
							     mx_local(a, op.old), a.signal_val,
							     COUNTER_ARGS(op));
		return 0;
	}
	static void expect(mx_image &image, const mx_args &, const mx_op &op)
	{
		image.signal(op);
		image.count(op);
	}
};

/* When the counter has counted a get, its data is there. */
struct get_counter : counted {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *)
	{
		doca_gpu_dev_verbs_get_counter<S>(a.qp, mx_remote(a, op.remote),
						  mx_local(a, op.local), op.size, COUNTER_ARGS(op));
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.get(a, op, op.size);
		image.count(op);
	}
};

/* A WRITE on one queue and an addition on another, announced together. */
struct multi_qps : mx_row {
	static constexpr bool has_second = true;
	static constexpr bool loose_tickets = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		struct doca_gpu_dev_verbs_qp *qps[2] = {a.qp, a.second};
		uint64_t prods[2];

		prods[0] =
			mx_build<S>(
				a.qp, 1, op.code_opt,
				[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
					doca_gpu_dev_verbs_wqe_prepare_write(
						a.qp, wqe, idx,
						DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
						GDAKIT_CQ_UPDATE, 0,
						reinterpret_cast<uint64_t>(op.remote), a.remote_key,
						reinterpret_cast<uint64_t>(op.local), a.local_key,
						op.size + 1);
				}) +
			1;
		prods[1] = mx_build<S>(
				   a.second, 1, op.code_opt,
				   [&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
					   doca_gpu_dev_verbs_wqe_prepare_atomic(
						   a.second, wqe, idx,
						   DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA,
						   GDAKIT_CQ_UPDATE,
						   reinterpret_cast<uint64_t>(a.signal),
						   a.remote_key, reinterpret_cast<uint64_t>(op.old),
						   a.local_key, 8, a.signal_val, 0);
				   }) +
			   1;
		doca_gpu_dev_verbs_submit_multi_qps<2, S>(qps, prods, op.code_opt);
		*ticket = prods[0] - 1;
		return 0;
	}
	template <mx_sharing S>
	__device__ static int wait(const mx_args &a, mx_ticket ticket)
	{
		return doca_gpu_dev_verbs_wait<S>(a.second) |
		       mx_wait_for<S>(a.qp, ticket, a.wait_mode);
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size + 1);
		image.signal(op);
	}
};

} // namespace

void mx_add_counter(std::vector<mx_function> *table)
{
	table->push_back(mx_function_of<put_counter>("put_counter"));
	table->push_back(mx_function_of<p_counter>("p_counter"));
	table->push_back(mx_function_of<put_signal_counter>("put_signal_counter"));
	table->push_back(mx_function_of<signal_counter>("signal_counter"));
	table->push_back(mx_function_of<get_counter>("get_counter"));
	table->push_back(mx_function_of<multi_qps>("multi_qps"));
}
