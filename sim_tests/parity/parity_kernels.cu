// SPDX-License-Identifier: BSD-3-Clause
/*
 * parity's kernel: one thread, one call of the device API, and the wait for it. It uses what every
 * GPUNetIO 2.0 has, so that it compiles over upstream's headers as well.
 */
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "doca_gpunetio_dev_verbs_counter.cuh"
#include "sim_tests/parity/parity.h"

namespace
{

constexpr auto ALONE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;
constexpr auto DUMP = DOCA_GPUNETIO_VERBS_MCST_ENABLED;

__device__ doca_gpu_dev_verbs_addr remote(const parity_args &a, uint64_t at)
{
	return doca_gpu_dev_verbs_addr{a.remote + at, a.rkey_be};
}

__device__ doca_gpu_dev_verbs_addr local(const parity_args &a, uint64_t at)
{
	return doca_gpu_dev_verbs_addr{a.local + at, a.lkey_be};
}

/* A WRITE by hand: its index. */
__device__ uint64_t post_write(const parity_args &a, uint64_t wqe_idx)
{
	doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(a.qp, (uint16_t)wqe_idx);

	doca_gpu_dev_verbs_wqe_prepare_write(
		a.qp, wqe, (uint16_t)wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
		DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, a.remote + PARITY_AT_DATA, a.rkey_be,
		a.local + PARITY_AT_DATA, a.lkey_be, PARITY_MESSAGE);
	return wqe_idx;
}

/* Operations with a ticket. */
__device__ void post(const parity_args &a, doca_gpu_dev_verbs_ticket_t *ticket)
{
	switch (a.op) {
	case PARITY_PUT:
		doca_gpu_dev_verbs_put<ALONE, AUTO, THREAD>(a.qp, remote(a, PARITY_AT_DATA),
							    local(a, PARITY_AT_DATA),
							    PARITY_MESSAGE, ticket);
		break;
	case PARITY_PUT_EMPTY:
		doca_gpu_dev_verbs_put<ALONE, AUTO, THREAD>(a.qp, remote(a, PARITY_AT_DATA),
							    local(a, PARITY_AT_DATA), 0, ticket);
		break;
	case PARITY_P4:
		doca_gpu_dev_verbs_p<uint32_t, ALONE, AUTO, THREAD>(a.qp, remote(a, PARITY_AT_DATA),
								    0x11223344, ticket);
		break;
	case PARITY_P8:
		doca_gpu_dev_verbs_p<uint64_t, ALONE, AUTO, THREAD>(a.qp, remote(a, PARITY_AT_DATA),
								    0x1122334455667788, ticket);
		break;
	case PARITY_SIGNAL:
		doca_gpu_dev_verbs_signal<ADD, ALONE, AUTO, THREAD>(
			a.qp, remote(a, PARITY_AT_SIGNAL), local(a, PARITY_AT_OLD), 3, ticket);
		break;
	case PARITY_PUT_SIGNAL:
		doca_gpu_dev_verbs_put_signal<ADD, ALONE, AUTO, THREAD>(
			a.qp, remote(a, PARITY_AT_DATA), local(a, PARITY_AT_DATA), PARITY_MESSAGE,
			remote(a, PARITY_AT_SIGNAL), local(a, PARITY_AT_OLD), 5, ticket);
		break;
	case PARITY_P_SIGNAL:
		doca_gpu_dev_verbs_p_signal<uint32_t, ADD, ALONE, AUTO>(
			a.qp, remote(a, PARITY_AT_DATA), 0x55667788, remote(a, PARITY_AT_SIGNAL),
			local(a, PARITY_AT_OLD), 7, ticket);
		break;
	case PARITY_GET:
		doca_gpu_dev_verbs_get<ALONE, AUTO, THREAD>(
			a.qp, remote(a, PARITY_AT_DATA), local(a, PARITY_AT_DATA), PARITY_MESSAGE,
			local(a, PARITY_AT_OLD), ticket);
		break;
	default:
		break;
	}
}

__device__ void post_counter(const parity_args &a)
{
	const auto at = remote(a, PARITY_AT_DATA), from = local(a, PARITY_AT_DATA);
	const auto count = remote(a, PARITY_AT_COUNTER), old = local(a, PARITY_AT_OLD);

	switch (a.op) {
	case PARITY_PUT_COUNTER:
		doca_gpu_dev_verbs_put_counter<ALONE, AUTO>(a.qp, at, from, PARITY_MESSAGE,
							    a.companion, count, old, 1);
		break;
	case PARITY_P_COUNTER:
		doca_gpu_dev_verbs_p_counter<uint32_t, ALONE, AUTO>(a.qp, at, 0x99aabbcc,
								    a.companion, count, old, 1);
		break;
	case PARITY_SIGNAL_COUNTER:
		doca_gpu_dev_verbs_signal_counter<ADD, ALONE, AUTO>(
			a.qp, remote(a, PARITY_AT_SIGNAL), old, 9, a.companion, count, old, 1);
		break;
	default:
		doca_gpu_dev_verbs_get_counter<ALONE, AUTO>(a.qp, at, from, PARITY_MESSAGE,
							    a.companion, count, old, 1);
		break;
	}
}

__global__ void parity(parity_args a)
{
	doca_gpu_dev_verbs_ticket_t ticket = 0;

	if (a.op >= PARITY_PUT_COUNTER) {
		post_counter(a);
		doca_gpu_dev_verbs_wait<ALONE, AUTO>(a.companion);
	} else if (a.op == PARITY_WRITE_LAST) {
		/* the host waits for the bytes: the function to poll such a CQ counts otherwise
		 * there */
		ticket = post_write(a, a.wqe_idx);
		doca_gpu_dev_verbs_submit<ALONE>(
			a.qp, ticket + 1, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI);
	} else if (a.op == PARITY_WRITE) {
		ticket = post_write(a, doca_gpu_dev_verbs_reserve_wq_slots<ALONE>(a.qp, 1));
		doca_gpu_dev_verbs_mark_wqes_ready<ALONE>(a.qp, ticket, ticket);
		doca_gpu_dev_verbs_submit<ALONE>(a.qp, ticket + 1);
		doca_gpu_dev_verbs_poll_cq_at<ALONE>(doca_gpu_dev_verbs_qp_get_cq_sq(a.qp), ticket);
	} else if (a.op == PARITY_GET_WAIT) {
		doca_gpu_dev_verbs_get<ALONE, AUTO, THREAD>(
			a.qp, remote(a, PARITY_AT_DATA), local(a, PARITY_AT_DATA), PARITY_MESSAGE,
			local(a, PARITY_AT_OLD), &ticket);
		doca_gpu_dev_verbs_get_wait<ALONE, AUTO, DUMP>(a.qp, local(a, PARITY_AT_OLD),
							       ticket);
	} else {
		post(a, &ticket);
		doca_gpu_dev_verbs_wait<ALONE, AUTO>(a.qp, ticket);
	}
}

int launch(gdakit_stream stream, const parity_args *args)
{
	return GDAKIT_LAUNCH(parity, dim3(1), dim3(1), 0, stream, *args);
}

} // namespace

extern "C" const struct parity_kernels GDAKIT_KERNELS(parity);
extern "C" const struct parity_kernels GDAKIT_KERNELS(parity) = {launch};
