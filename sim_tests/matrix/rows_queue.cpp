// SPDX-License-Identifier: BSD-3-Clause
/* Rows: the ways to announce WQEs and to learn that they are done. */
#include "sim_tests/matrix/matrix.h"

namespace
{

/* A WRITE of size + 1 bytes. */
__device__ static void build_write(const mx_args &a, const mx_op &op,
				   struct doca_gpu_dev_verbs_wqe *wqe, uint64_t idx)
{
	doca_gpu_dev_verbs_wqe_prepare_write(
		a.qp, wqe, static_cast<uint16_t>(idx), DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
		GDAKIT_CQ_UPDATE, 0, reinterpret_cast<uint64_t>(op.remote), a.remote_key,
		reinterpret_cast<uint64_t>(op.local), a.local_key, op.size + 1);
}

struct one_write : mx_row {
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size + 1);
	}
};

/* The WQE goes to the register as well, by one thread. */
struct bf : one_write {
	static constexpr bool needs_register = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		alignas(16) struct doca_gpu_dev_verbs_wqe copy = {};
		uint64_t idx =
			mx_build<S>(a.qp, 1, op.code_opt,
				    [&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t i, uint32_t) {
					    build_write(a, op, wqe, i);
					    build_write(a, op, &copy, i);
				    });

		doca_gpu_dev_verbs_submit_bf<S>(a.qp, idx + 1, &copy, op.code_opt);
		*ticket = idx;
		return 0;
	}
};

/* The same by a warp: lane 0's WQE. */
struct bf_warp : one_write {
	static constexpr bool has_thread = false, has_warp = true;
	static constexpr bool needs_register = true, lane0_only = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		uint64_t idx = 0;

		if (op.thread % 32 == 0)
			idx = mx_build<S>(a.qp, 1, op.code_opt,
					  [&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t i,
					      uint32_t) { build_write(a, op, wqe, i); });
		idx = __shfl_sync(0xffffffff, idx, 0);
		__syncwarp();
		doca_gpu_dev_verbs_submit_bf_warp<S>(
			a.qp, idx + 1,
			doca_gpu_dev_verbs_get_wqe_ptr(a.qp, static_cast<uint16_t>(idx)),
			op.code_opt);
		*ticket = idx;
		return 0;
	}
};

/* The ready counter by load and store instead of compare-and-swap. */
struct ready_ld_st : one_write {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		uint64_t idx = doca_gpu_dev_verbs_reserve_wq_slots<S>(a.qp, 1, op.code_opt);

		build_write(a, op, doca_gpu_dev_verbs_get_wqe_ptr(a.qp, static_cast<uint16_t>(idx)),
			    idx);
		doca_gpu_dev_verbs_mark_wqes_ready<S, DOCA_GPUNETIO_VERBS_QP_SQ,
						   DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST>(a.qp, idx,
											 idx);
		doca_gpu_dev_verbs_submit<S, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(a.qp, idx + 1,
										 op.code_opt);
		*ticket = idx;
		return 0;
	}
};

/* Each step with a deadline that does not come. */
struct deadline : one_write {
	static constexpr bool waits_itself = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		const uint64_t until_ns = doca_gpu_dev_verbs_query_globaltimer() + 600000000000ull;
		uint64_t idx = 0;
		int status = doca_gpu_dev_verbs_reserve_wq_slots_until<S>(a.qp, 1, &idx, until_ns);

		build_write(a, op, doca_gpu_dev_verbs_get_wqe_ptr(a.qp, static_cast<uint16_t>(idx)),
			    idx);
		status |= doca_gpu_dev_verbs_mark_wqes_ready_until<S>(a.qp, idx, idx, until_ns);
		doca_gpu_dev_verbs_submit<S>(a.qp, idx + 1, op.code_opt);
		*ticket = idx;
		return status | doca_gpu_dev_verbs_wait_until<S>(a.qp, idx, until_ns);
	}
};

/* --- learning what is done --- */

template <mx_sharing S>
__device__ static void put_one(const mx_args &a, const mx_op &op, uint32_t code_opt,
			       mx_ticket *ticket)
{
	doca_gpu_dev_verbs_put<S>(a.qp, mx_remote(a, op.remote), mx_local(a, op.local), op.size,
				  ticket, code_opt);
}

struct one_put : mx_row {
	static constexpr bool rings_itself = true;

	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size);
	}
};

/* The next `count` after those known. */
struct poll_cq : one_put {
	static constexpr bool is_exclusive = true, waits_itself = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(a.qp);

		put_one<S>(a, op, op.code_opt, ticket);
		if (op.call % 3 != 0 && op.call != a.calls - 1)
			return doca_gpu_dev_verbs_poll_cq<S>(cq, 0);
		return doca_gpu_dev_verbs_poll_cq<S>(
			cq, static_cast<uint32_t>(*ticket + 1 - cq->cqe_ci));
	}
};

/* A 24-bit consumer index for the doorbell record. */
struct update_dbrec : one_put {
	static constexpr bool is_exclusive = true, waits_itself = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(a.qp);
		int status;

		put_one<S>(a, op, op.code_opt, ticket);
		status = doca_gpu_dev_verbs_poll_cq_at<S>(cq, *ticket);
		/* the CQE of this WQE is consumed by hand, and the 64-bit index put back */
		cq->cqe_ci = *ticket;
		uint32_t ci = doca_gpu_dev_verbs_cq_update_dbrec<false>(cq, 1);

		status |= ci != ((*ticket + 1) & DOCA_GPUNETIO_VERBS_CQE_CI_MASK);
		status |= cq->cqe_ci != ci;
		status |= *cq->dbrec != doca_gpu_dev_verbs_bswap32(ci);
		cq->cqe_ci = *ticket + 1;
		return status;
	}
};

struct poll_collapsed : one_put {
	static constexpr bool is_collapsed = true, waits_itself = true;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		put_one<S>(a, op, op.code_opt, ticket);
		return op.call % 2 && op.call != a.calls - 1
			       ? 0
			       : doca_gpu_dev_verbs_poll_cq_collapsed_at<S>(a.qp, *ticket);
	}
};

/* All other ways to wait, on a collapsed CQ. */
struct put_collapsed : one_put {
	static constexpr bool is_collapsed = true, has_warp = true, rings_itself = false;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		doca_gpu_dev_verbs_put<S, MX_AUTO, E>(a.qp, mx_remote(a, op.remote),
						      mx_local(a, op.local), op.size, ticket,
						      op.code_opt);
		return 0;
	}
};

} // namespace

void mx_add_queue(std::vector<mx_function> *table)
{
	table->push_back(mx_function_of<bf>("submit_bf"));
	table->push_back(mx_function_of<bf_warp>("submit_bf_warp"));
	table->push_back(mx_function_of<ready_ld_st>("ready_ld_st"));
	table->push_back(mx_function_of<deadline>("deadline"));
	table->push_back(mx_function_of<poll_cq>("poll_cq"));
	table->push_back(mx_function_of<update_dbrec>("cq_update_dbrec"));
	table->push_back(mx_function_of<poll_collapsed>("poll_collapsed"));
	table->push_back(mx_function_of<put_collapsed>("put_collapsed"));
}
