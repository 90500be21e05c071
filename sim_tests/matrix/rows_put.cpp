// SPDX-License-Identifier: BSD-3-Clause
/* Rows: put, p, signals, and what orders and waits. */
#include "sim_tests/matrix/matrix.h"

namespace
{

struct put : mx_row {
	static constexpr bool has_warp = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		doca_gpu_dev_verbs_put<S, MX_AUTO, E>(a.qp, mx_remote(a, op.remote),
						      mx_local(a, op.local), op.size, ticket,
						      op.code_opt);
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
	}
};

struct put_signal : mx_row {
	static constexpr bool has_warp = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		doca_gpu_dev_verbs_put_signal<MX_ADD, S, MX_AUTO, E>(
			a.qp, mx_remote(a, op.remote), mx_local(a, op.local), op.size,
			mx_remote(a, a.signal), mx_local(a, op.old), a.signal_val, ticket,
			op.code_opt);
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
		image.signal(op);
	}
	static uint32_t wqes(const mx_args &, const mx_op &op)
	{
		return op.size == 0 ? 1 : 2;
	}
};

struct signal : mx_row {
	static constexpr bool has_warp = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		doca_gpu_dev_verbs_signal<MX_ADD, S, MX_AUTO, E>(a.qp, mx_remote(a, a.signal),
								 mx_local(a, op.old), a.signal_val,
								 ticket, op.code_opt);
		return 0;
	}
	static void expect(mx_image &image, const mx_args &, const mx_op &op)
	{
		image.signal(op);
	}
};

/* --- values of all sizes; the type follows the call, the same in all lanes --- */

template <uint32_t N>
struct value_of {
	uint8_t bytes[N];
};
constexpr uint32_t value_sizes[] = {1, 2, 4, 8, 12, 28};

static uint32_t value_size(const mx_op &op)
{
	return value_sizes[op.call % 6];
}

template <typename Post>
__device__ static void by_value_size(const mx_op &op, Post post)
{
	switch (op.call % 6) {
	case 0:
		return post(static_cast<uint8_t *>(op.local));
	case 1:
		return post(reinterpret_cast<uint16_t *>(op.local));
	case 2:
		return post(reinterpret_cast<uint32_t *>(op.local));
	case 3:
		return post(reinterpret_cast<uint64_t *>(op.local));
	case 4:
		return post(reinterpret_cast<value_of<12> *>(op.local));
	default:
		return post(reinterpret_cast<value_of<28> *>(op.local));
	}
}

struct p : mx_row {
	static constexpr bool has_warp = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		by_value_size(op, [&](auto *value) {
			using T = std::remove_pointer_t<decltype(value)>;

			doca_gpu_dev_verbs_p<T, S, MX_AUTO, E>(a.qp, mx_remote(a, op.remote),
							       *value, ticket, op.code_opt);
		});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, value_size(op));
	}
};

struct p_signal : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		by_value_size(op, [&](auto *value) {
			using T = std::remove_pointer_t<decltype(value)>;

			doca_gpu_dev_verbs_p_signal<T, MX_ADD, S, MX_AUTO>(
				a.qp, mx_remote(a, op.remote), *value, mx_remote(a, a.signal),
				mx_local(a, op.old), a.signal_val, ticket, op.code_opt);
		});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, value_size(op));
		image.signal(op);
	}
	static uint32_t wqes(const mx_args &, const mx_op &)
	{
		return 2;
	}
};

/* put; fence; signal: when the signal is there, so is the data. */
struct fence : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		mx_ticket data;

		doca_gpu_dev_verbs_put<S>(a.qp, mx_remote(a, op.remote), mx_local(a, op.local),
					  op.size, &data, op.code_opt);
		doca_gpu_dev_verbs_fence<S>(a.qp);
		doca_gpu_dev_verbs_signal<MX_ADD, S>(a.qp, mx_remote(a, a.signal),
						     mx_local(a, op.old), a.signal_val, ticket,
						     op.code_opt);
		if (doca_gpu_dev_verbs_wait<S>(a.qp, *ticket) != 0)
			return -EIO;
		return memcmp(op.local, op.remote, op.size) != 0 || data >= *ticket;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
		image.signal(op);
	}
	static uint32_t wqes(const mx_args &, const mx_op &)
	{
		return 2;
	}
	static constexpr bool loose_tickets = true; /* others post between the two */
};

/* Nobody rings but wait(), which finds WQEs that nobody announced. */
struct unannounced : mx_row {
	static constexpr bool waits_itself = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		doca_gpu_dev_verbs_put<S>(a.qp, mx_remote(a, op.remote), mx_local(a, op.local),
					  op.size, ticket,
					  DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING);
		if (op.call % a.wait_every != 0 && op.call != a.calls - 1)
			return 0;
		return op.call % 2 ? doca_gpu_dev_verbs_wait<S>(a.qp, *ticket)
				   : doca_gpu_dev_verbs_wait<S>(a.qp);
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
	}
};

} // namespace

void mx_add_put(std::vector<mx_function> *table)
{
	table->push_back(mx_function_of<put>("put"));
	table->push_back(mx_function_of<put_signal>("put_signal"));
	table->push_back(mx_function_of<signal>("signal"));
	table->push_back(mx_function_of<p>("p"));
	table->push_back(mx_function_of<p_signal>("p_signal"));
	table->push_back(mx_function_of<fence>("fence"));
	table->push_back(mx_function_of<unannounced>("wait"));
}
