// SPDX-License-Identifier: BSD-3-Clause
/* Rows: get, DUMP, and what waits for them. */
#include "sim_tests/matrix/matrix.h"

namespace
{

constexpr auto DUMP = DOCA_GPUNETIO_VERBS_MCST_ENABLED;
constexpr auto NO_DUMP = DOCA_GPUNETIO_VERBS_MCST_DISABLED;
constexpr auto BLOCKING = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED;

struct get : mx_row {
	static constexpr bool has_warp = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		return doca_gpu_dev_verbs_get<S, MX_AUTO, E>(
			a.qp, mx_remote(a, op.remote), mx_local(a, op.local), op.size,
			mx_local(a, op.local), ticket, op.code_opt);
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.get(a, op, op.size);
	}
};

/* With a DUMP behind it, waited for inside: the data is there when it returns. */
struct get_blocking : get {
	static constexpr bool waits_itself = true;
	static constexpr bool loose_tickets = true; /* a warp has one DUMP, lane 0's */

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		int status = doca_gpu_dev_verbs_get<S, MX_AUTO, E, DUMP, BLOCKING>(
			a.qp, mx_remote(a, op.remote), mx_local(a, op.local), op.size,
			mx_local(a, op.local), ticket, op.code_opt);

		return status != 0 ? status : memcmp(op.local, op.remote, op.size) != 0;
	}
	static uint32_t wqes(const mx_args &a, const mx_op &op)
	{
		return 1 + (!a.is_warp || op.thread % 32 == 0);
	}
};

/* get_wait(), with and without DUMP, for a ticket or for everything. */
struct get_wait : mx_row {
	static constexpr bool waits_itself = true;
	static constexpr bool loose_tickets = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		struct doca_gpu_dev_verbs_addr daddr = mx_local(a, op.local);
		int status;

		doca_gpu_dev_verbs_get<S>(a.qp, mx_remote(a, op.remote), mx_local(a, op.local),
					  op.size, daddr, ticket, op.code_opt);
		if (op.call % 4 == 0)
			status =
				doca_gpu_dev_verbs_get_wait<S, MX_AUTO, DUMP>(a.qp, daddr, *ticket);
		else if (op.call % 4 == 1)
			status = doca_gpu_dev_verbs_get_wait<S, MX_AUTO, NO_DUMP>(a.qp, daddr,
										  *ticket);
		else if (op.call % 4 == 2)
			status = doca_gpu_dev_verbs_get_wait<S, MX_AUTO, DUMP>(a.qp, daddr);
		else
			status = doca_gpu_dev_verbs_get_wait<S, MX_AUTO, NO_DUMP>(a.qp, daddr);
		return status != 0 ? status : memcmp(op.local, op.remote, op.size) != 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.get(a, op, op.size);
	}
	static uint32_t wqes(const mx_args &, const mx_op &op)
	{
		return op.call % 2 == 0 ? 2 : 1;
	}
};

struct mcst : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		doca_gpu_dev_verbs_mcst<S>(a.qp, mx_local(a, op.local), ticket, op.code_opt);
		return 0;
	}
	static void expect(mx_image &, const mx_args &, const mx_op &)
	{
	}
};

} // namespace

void mx_add_get(std::vector<mx_function> *table)
{
	table->push_back(mx_function_of<get>("get"));
	table->push_back(mx_function_of<get_blocking>("get_blocking"));
	table->push_back(mx_function_of<get_wait>("get_wait"));
	table->push_back(mx_function_of<mcst>("mcst"));
}
