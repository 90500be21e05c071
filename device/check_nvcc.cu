/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instantiates the whole device API for nvcc; nothing here is run. ci/check-nvcc.sh compiles it for
 * every architecture that we name.
 */
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_counter.cuh"

namespace
{

using rsm = enum doca_gpu_dev_verbs_resource_sharing_mode;
using nic = enum doca_gpu_dev_verbs_nic_handler;
using exec = enum doca_gpu_dev_verbs_exec_scope;
using sync_scope = enum doca_gpu_dev_verbs_sync_scope;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;
constexpr auto DUMP = DOCA_GPUNETIO_VERBS_MCST_ENABLED;
constexpr auto BLOCK = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED;

struct args {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_addr raddr, laddr;
	size_t size;
	uint64_t *out;
	uint32_t code_opt;
};

template <rsm R, nic N, exec E>
__global__ void operations(args a)
{
	doca_gpu_dev_verbs_ticket_t t;
	int status = 0;

	doca_gpu_dev_verbs_put<R, N, E>(a.qp, a.raddr, a.laddr, a.size, &t, a.code_opt);
	doca_gpu_dev_verbs_put<R, N, E>(a.qp, a.raddr, a.laddr, a.size, a.code_opt);
	doca_gpu_dev_verbs_p<uint8_t, R, N, E>(a.qp, a.raddr, 1, &t, a.code_opt);
	doca_gpu_dev_verbs_p<uint64_t, R, N, E>(a.qp, a.raddr, 1, a.code_opt);
	doca_gpu_dev_verbs_put_signal<ADD, R, N, E>(a.qp, a.raddr, a.laddr, a.size, a.raddr,
						    a.laddr, 1, &t, a.code_opt);
	doca_gpu_dev_verbs_put_signal<ADD, R, N, E>(a.qp, a.raddr, a.laddr, a.size, a.raddr,
						    a.laddr, 1, a.code_opt);
	doca_gpu_dev_verbs_p_signal<uint32_t, ADD, R, N>(a.qp, a.raddr, 7, a.raddr, a.laddr, 1, &t,
							 a.code_opt);
	doca_gpu_dev_verbs_p_signal<uint32_t, ADD, R, N>(a.qp, a.raddr, 7, a.raddr, a.laddr, 1,
							 a.code_opt);
	doca_gpu_dev_verbs_signal<ADD, R, N, E>(a.qp, a.raddr, a.laddr, 1, &t, a.code_opt);
	doca_gpu_dev_verbs_signal<ADD, R, N>(a.qp, a.raddr, a.laddr, 1, a.code_opt);
	status |= doca_gpu_dev_verbs_get<R, N, E>(a.qp, a.raddr, a.laddr, a.size, a.laddr, &t,
						  a.code_opt);
	status |= doca_gpu_dev_verbs_get<R, N, E, DUMP, BLOCK>(a.qp, a.raddr, a.laddr, a.size,
							       a.laddr, &t, a.code_opt);
	status |= doca_gpu_dev_verbs_get_wait<R, N, DUMP>(a.qp, a.laddr, t);
	status |= doca_gpu_dev_verbs_get_wait<R, N>(a.qp, a.laddr);
	status |= doca_gpu_dev_verbs_wait<R, N>(a.qp, t);
	status |= doca_gpu_dev_verbs_wait<R, N>(a.qp);
	status |= doca_gpu_dev_verbs_wait_until<R, N>(a.qp, t, a.size);
	status |= doca_gpu_dev_verbs_wait_until<R, N>(a.qp, a.size);
	status |= doca_gpu_dev_verbs_get_wait_until<R, N, DUMP>(a.qp, a.laddr, t, a.size);
	status |= doca_gpu_dev_verbs_get_wait_until<R, N>(a.qp, a.laddr, a.size);
	doca_gpu_dev_verbs_mcst<R, N>(a.qp, a.laddr, &t);
	doca_gpu_dev_verbs_fence<R, N>(a.qp);
	*a.out = static_cast<uint64_t>(status) + t;
}

template <rsm R, nic N>
__global__ void named_scopes(args a)
{
	doca_gpu_dev_verbs_ticket_t t;

	doca_gpu_dev_verbs_put_thread<R, N>(a.qp, a.raddr, a.laddr, a.size, &t);
	doca_gpu_dev_verbs_put_warp<R, N>(a.qp, a.raddr, a.laddr, a.size, &t);
	doca_gpu_dev_verbs_p_thread<uint16_t, R, N>(a.qp, a.raddr, 1, &t);
	doca_gpu_dev_verbs_p_warp<uint16_t, R, N>(a.qp, a.raddr, 1, &t);
	doca_gpu_dev_verbs_put_signal_thread<ADD, R, N>(a.qp, a.raddr, a.laddr, a.size, a.raddr,
							a.laddr, 1, &t);
	doca_gpu_dev_verbs_put_signal_warp<ADD, R, N>(a.qp, a.raddr, a.laddr, a.size, a.raddr,
						      a.laddr, 1, &t);
	doca_gpu_dev_verbs_signal_thread<ADD, R, N>(a.qp, a.raddr, a.laddr, 1, &t);
	doca_gpu_dev_verbs_signal_warp<ADD, R, N>(a.qp, a.raddr, a.laddr, 1, &t);
	doca_gpu_dev_verbs_get_thread<R, N>(a.qp, a.raddr, a.laddr, a.size, a.laddr, &t);
	doca_gpu_dev_verbs_get_warp<R, N>(a.qp, a.raddr, a.laddr, a.size, a.laddr, &t);
	*a.out = t;
}

template <rsm R, sync_scope S>
__global__ void low_level(args a)
{
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(a.qp);
	uint64_t i = doca_gpu_dev_verbs_reserve_wq_slots<R>(a.qp, 2, a.code_opt);
	int status = doca_gpu_dev_verbs_wait_until_slot_available<R>(a.qp, i);

	doca_gpu_dev_common_mark_wqes_ready<R>(a.qp->sq_ready_index, i, i);
	doca_gpu_dev_verbs_mark_wqes_ready<R>(a.qp, i, i);
	doca_gpu_dev_verbs_mark_wqes_ready<R, DOCA_GPUNETIO_VERBS_QP_SQ,
					   DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST>(a.qp, i, i);
	doca_gpu_dev_verbs_update_dbr<S>(a.qp, static_cast<uint32_t>(i), a.code_opt);
	doca_gpu_dev_verbs_ring_db<S>(a.qp, i, a.code_opt);
	doca_gpu_dev_common_ring_db<S>(a.qp->sq_db, a.qp->sq_num_shift8_be, i, a.code_opt);
	doca_gpu_dev_verbs_ring_proxy<R>(a.qp, i);
	doca_gpu_dev_verbs_submit_db<R, S>(a.qp, i, a.code_opt);
	doca_gpu_dev_verbs_submit_db_no_dbr<R, S>(a.qp, i, a.code_opt);
	doca_gpu_dev_verbs_submit_proxy<R, S>(a.qp, i, a.code_opt);
	doca_gpu_dev_verbs_submit<R, S>(a.qp, i, a.code_opt);
	status |= doca_gpu_dev_verbs_poll_one_cq_at<R>(cq, i);
	status |= doca_gpu_dev_verbs_poll_cq_at<R>(cq, i);
	status |= doca_gpu_dev_verbs_poll_cq<R>(cq, 3);
	status |= doca_gpu_dev_verbs_poll_cq_collapsed_at<R>(a.qp, i);
	status |= doca_gpu_dev_verbs_reserve_wq_slots_until<R>(a.qp, 2, a.out, a.size);
	status |= doca_gpu_dev_verbs_wait_until_slot_available_until<R>(a.qp, i, a.size);
	status |= doca_gpu_dev_common_mark_wqes_ready_until<R>(a.qp->sq_ready_index, i, i, a.size);
	status |= doca_gpu_dev_verbs_mark_wqes_ready_until<R>(a.qp, i, i, a.size);
	status |= doca_gpu_dev_verbs_poll_cq_at_until<R>(cq, i, a.size);
	status |= doca_gpu_dev_verbs_poll_cq_until<R>(cq, 3, a.size);
	status |= doca_gpu_dev_verbs_poll_cq_collapsed_at_until<R>(a.qp, i, a.size);
	status |= doca_gpu_dev_verbs_lock_until<R>(&a.qp->sq_lock, a.size);
	doca_gpu_dev_verbs_fence_acquire<S>();
	doca_gpu_dev_verbs_fence_release<S>();
	doca_gpu_dev_verbs_lock<R>(&a.qp->sq_lock);
	i += doca_gpu_dev_verbs_atomic_max<uint64_t, R, true>(a.out, i);
	i += doca_gpu_dev_verbs_atomic_add<uint64_t, R>(a.out, i);
	i += doca_gpu_dev_verbs_atomic_read<uint64_t, R>(a.out);
	i += doca_gpu_dev_verbs_load_relaxed<R>(a.out);
	doca_gpu_dev_verbs_unlock<R>(&a.qp->sq_lock);
	*a.out = static_cast<uint64_t>(status) + i;
}

template <rsm R, nic N>
__global__ void counters(args a)
{
	struct doca_gpu_dev_verbs_qp *qps[2] = {a.qp, a.qp + 1};
	uint64_t prods[2] = {1, 2};

	doca_gpu_dev_verbs_put_counter<R, N>(a.qp, a.raddr, a.laddr, a.size, a.qp + 1, a.raddr,
					     a.laddr, 1, a.code_opt);
	doca_gpu_dev_verbs_p_counter<uint64_t, R, N>(a.qp, a.raddr, 5, a.qp + 1, a.raddr, a.laddr,
						     1);
	doca_gpu_dev_verbs_put_signal_counter<ADD, R, N>(a.qp, a.raddr, a.laddr, a.size, a.raddr,
							 a.laddr, 1, a.qp + 1, a.raddr, a.laddr, 1);
	doca_gpu_dev_verbs_signal_counter<ADD, R, N>(a.qp, a.raddr, a.laddr, 1, a.qp + 1, a.raddr,
						     a.laddr, 1);
	doca_gpu_dev_verbs_get_counter<R, N>(a.qp, a.raddr, a.laddr, a.size, a.qp + 1, a.raddr,
					     a.laddr, 1);
	doca_gpu_dev_verbs_submit_multi_qps<2, R>(qps, prods, a.code_opt);
	doca_gpu_dev_verbs_submit_db_multi_qps<2, R>(qps, prods, a.code_opt);
	doca_gpu_dev_verbs_submit_db_multi_qps_no_dbr<2, R>(qps, prods, a.code_opt);
	doca_gpu_dev_verbs_submit_proxy_multi_qps<2, R>(qps, prods);
}

struct alignas(16) aligned_wqe {
	struct doca_gpu_dev_verbs_wqe wqe;
};

template <rsm R, sync_scope S>
__global__ void blue_flame(args a)
{
	GDAKIT_SHARED(aligned_wqe, w);

	doca_gpu_dev_verbs_wqe_prepare_nop(a.qp, &w.wqe, 1,
					   DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
	doca_gpu_dev_verbs_submit_bf<R, S>(a.qp, 2, &w.wqe, a.code_opt);
	doca_gpu_dev_verbs_submit_bf_warp<R, S>(a.qp, 2, &w.wqe, a.code_opt);
}

__global__ void builders(args a)
{
	constexpr auto F = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
	struct doca_gpu_dev_verbs_qp *qp = a.qp;
	struct doca_gpu_dev_verbs_wqe *w = doca_gpu_dev_verbs_get_wqe_ptr(qp, 3);
	uint64_t seg[2] = {1, 2};
	uint32_t r = a.raddr.key, l = a.laddr.key;

	doca_gpu_dev_verbs_store_wqe_seg(a.out, seg);
	doca_gpu_dev_verbs_wqe_prepare_nop(qp, w, 1, F);
	doca_gpu_dev_verbs_wqe_prepare_write(qp, w, 1, 8, F, 0, 1, r, 2, l, 3);
	doca_gpu_dev_verbs_wqe_prepare_write(qp, w, 1, 8, F, 0, 1, r, 2, l, 3, 4, l, 5);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(qp, w, 1, F, 1, r, 8);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(qp, w, 8ull);
	doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, w, 1, F, 1, r,
						 reinterpret_cast<uint64_t>(a.out), 20);
	doca_gpu_dev_verbs_wqe_prepare_read(qp, w, 1, F, 1, r, 2, l, 3);
	doca_gpu_dev_verbs_wqe_prepare_read(qp, w, 1, F, 1, r, 2, l, 3, 4, l, 5);
	doca_gpu_dev_verbs_wqe_prepare_atomic(qp, w, 1, 0x12, F, 1, r, 2, l, 8, 3, 4);
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext(qp, w, w + 1, 1, 0x14, F, 1, r, 2, l, 3, 4, 5, 6,
						  7, 8);
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
		qp, w, w + 1, 1, 0x14, F, 1, r, 2, l, 3, 4, 5, 6, 7, 8);
	doca_gpu_dev_verbs_wqe_prepare_wait(qp, w, 1, F, 1, 2);
	doca_gpu_dev_verbs_wqe_prepare_dump(qp, w, 1, F, 1, l, 1);
}

__global__ void helpers(args a)
{
	uint64_t x = doca_gpu_dev_verbs_query_globaltimer() + doca_gpu_dev_verbs_get_lane_id();

	x += doca_gpu_dev_verbs_bswap16(static_cast<uint16_t>(x));
	x += doca_gpu_dev_verbs_isaligned(a.out, 8);
	x += doca_gpu_dev_verbs_load_relaxed_sys_global(a.out);
	x += doca_gpu_dev_verbs_load_relaxed_sys_global(reinterpret_cast<uint32_t *>(a.out));
	x += doca_gpu_dev_verbs_load_relaxed_sys_global(reinterpret_cast<uint8_t *>(a.out));
	x += doca_gpu_dev_verbs_div_ceil_aligned_pow2(x, 30);
	x += doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits(x, 30);
	doca_gpu_dev_verbs_memcpy_data(a.out, a.out + 8, x);
	doca_gpu_dev_verbs_memcpy_aligned_data(a.out, a.out + 8, x);
	doca_gpu_dev_verbs_memcpy_inl_aligned_data(a.out, a.out + 8, x);
	x += doca_gpu_dev_verbs_cq_update_dbrec<true>(&a.qp->cq_sq, 1);
	x += doca_gpu_dev_verbs_cq_update_dbrec<false>(&a.qp->cq_sq, 1);
	GDAKIT_SHARED(uint64_t[32], words);
	GDAKIT_DYNAMIC_SHARED(uint64_t, more);
	words[x % 32] = more[x % 32] = x;
	__syncthreads();
	gdakit_store_release_sys(a.out,
				 words[(x + 1) % 32] + more[3] + gdakit_load_acquire_sys(a.out));
}

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto WARP = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
constexpr auto S_SYS = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS;
constexpr auto S_GPU = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
constexpr auto S_CTA = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA;
constexpr auto S_THREAD = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD;

} // namespace

/* Taking part in a host function instantiates them. */
extern "C" int gdakit_check_nvcc(gdakit_stream s, const void *arg)
{
	const args &a = *static_cast<const args *>(arg);
	int error = 0;

	error |= GDAKIT_LAUNCH((operations<EXCLUSIVE, AUTO, THREAD>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH((operations<GPU, AUTO, THREAD>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH((operations<CTA, AUTO, WARP>), 1, 32, 0, s, a);
	error |= GDAKIT_LAUNCH((operations<GPU, AUTO, WARP>), 1, 32, 0, s, a);
	error |= GDAKIT_LAUNCH((named_scopes<GPU, AUTO>), 1, 32, 0, s, a);
	error |= GDAKIT_LAUNCH((counters<GPU, AUTO>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH((blue_flame<GPU, S_GPU>), 1, 32, 0, s, a);
	error |= GDAKIT_LAUNCH((low_level<EXCLUSIVE, S_SYS>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH((low_level<CTA, S_CTA>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH((low_level<GPU, S_GPU>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH((low_level<GPU, S_THREAD>), 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH(builders, 1, 1, 0, s, a);
	error |= GDAKIT_LAUNCH(helpers, 1, 32, 256, s, a);
	return error;
}
