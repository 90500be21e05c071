/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot paths alone, a kernel for each: ci/sass compiles them and counts their instructions.
 * Nothing here is run.
 */
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto WARP = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
constexpr auto SIGNAL_ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;

struct hot_args {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_addr raddr, laddr;
	uint32_t size;
	doca_gpu_dev_verbs_ticket_t *ticket;
};

/* One put, its doorbell (record or none, or a proxy: the QP says) and its ticket. */
#define HOT_PUT(name, sharing, scope)                                                              \
	extern "C" __global__ void name(hot_args a)                                                \
	{                                                                                          \
		doca_gpu_dev_verbs_ticket_t t;                                                     \
		doca_gpu_dev_verbs_put<sharing, AUTO, scope>(a.qp, a.raddr, a.laddr, a.size, &t);  \
		a.ticket[threadIdx.x] = t;                                                         \
	}

HOT_PUT(put_thread_exclusive, EXCLUSIVE, THREAD)
HOT_PUT(put_thread_cta, CTA, THREAD)
HOT_PUT(put_thread_gpu, GPU, THREAD)
HOT_PUT(put_warp_cta, CTA, WARP)
HOT_PUT(put_warp_gpu, GPU, WARP)

extern "C" __global__ void p_thread_gpu(hot_args a)
{
	doca_gpu_dev_verbs_ticket_t t;

	doca_gpu_dev_verbs_p<uint64_t, GPU>(a.qp, a.raddr, a.size, &t);
	a.ticket[threadIdx.x] = t;
}

extern "C" __global__ void signal_thread_gpu(hot_args a)
{
	doca_gpu_dev_verbs_ticket_t t;

	doca_gpu_dev_verbs_signal<SIGNAL_ADD, GPU>(a.qp, a.raddr, a.laddr, 1, &t);
	a.ticket[threadIdx.x] = t;
}

extern "C" __global__ void wait_gpu(hot_args a)
{
	a.ticket[0] = static_cast<uint64_t>(doca_gpu_dev_verbs_wait<GPU>(a.qp, a.size));
}

extern "C" __global__ void poll_cq_at_gpu(hot_args a)
{
	a.ticket[0] = static_cast<uint64_t>(
		doca_gpu_dev_verbs_poll_cq_at<GPU>(doca_gpu_dev_verbs_qp_get_cq_sq(a.qp), a.size));
}

/* The doorbells alone. */
#define HOT_SUBMIT(name, function, sharing)                                                        \
	extern "C" __global__ void name(hot_args a)                                                \
	{                                                                                          \
		function<sharing>(a.qp, a.size);                                                   \
	}

HOT_SUBMIT(submit_db_exclusive, doca_gpu_dev_verbs_submit_db, EXCLUSIVE)
HOT_SUBMIT(submit_db_gpu, doca_gpu_dev_verbs_submit_db, GPU)
HOT_SUBMIT(submit_no_dbr_gpu, doca_gpu_dev_verbs_submit_db_no_dbr, GPU)
HOT_SUBMIT(submit_proxy_gpu, doca_gpu_dev_verbs_submit_proxy, GPU)

struct alignas(16) hot_wqe {
	struct doca_gpu_dev_verbs_wqe wqe;
};

extern "C" __global__ void submit_bf_gpu(hot_args a)
{
	GDAKIT_SHARED(hot_wqe, w);

	doca_gpu_dev_verbs_submit_bf<GPU>(a.qp, a.size, &w.wqe);
}

extern "C" __global__ void submit_bf_warp_gpu(hot_args a)
{
	doca_gpu_dev_verbs_submit_bf_warp<GPU>(
		a.qp, a.size, doca_gpu_dev_verbs_get_wqe_ptr(a.qp, static_cast<uint16_t>(a.size)));
}
