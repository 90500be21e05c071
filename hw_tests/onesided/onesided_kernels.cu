// SPDX-License-Identifier: BSD-3-Clause
/* One kernel for each one-sided call; thread scope. */
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "hw_tests/onesided/onesided_kernels.h"

namespace
{

constexpr auto GPU_SHARED = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto CTA_SHARED = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;
constexpr auto BLOCKING = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED;
constexpr auto NO_MCST = DOCA_GPUNETIO_VERBS_MCST_DISABLED;

typedef enum doca_gpu_dev_verbs_resource_sharing_mode sharing;

struct place {
	struct doca_gpu_dev_verbs_addr local, remote, signal_local, signal_remote;
	uint64_t value;
};

__device__ struct place place_of(const struct os_args &args)
{
	uint64_t t = blockIdx.x * blockDim.x + threadIdx.x;
	struct place p = {args.local, args.remote, args.signal_local, args.signal_remote,
			  args.value};

	p.local.addr += t * args.size;
	p.remote.addr += t * args.size;
	p.signal_local.addr += t * sizeof(uint64_t);
	return p;
}

template <sharing MODE>
__device__ void settle(const struct os_args &args, doca_gpu_dev_verbs_ticket_t ticket)
{
	int rc = doca_gpu_dev_verbs_poll_cq_at<MODE>(doca_gpu_dev_verbs_qp_get_cq_sq(args.qp),
						     ticket);

	if (!rc)
		return;
	args.result->error = rc;
	atomicAdd(&args.result->failed, 1u);
}

template <sharing MODE>
__global__ void put(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_put<MODE, AUTO, THREAD>(args.qp, p.remote, p.local, args.size,
							   &ticket);
		settle<MODE>(args, ticket);
	}
}

__global__ void put_wait(struct os_args args)
{
	struct place p = place_of(args);

	for (uint32_t i = 0; i < args.rounds; i++)
		doca_gpu_dev_verbs_put<GPU_SHARED, AUTO, THREAD>(args.qp, p.remote, p.local,
								 args.size);
	doca_gpu_dev_verbs_wait<GPU_SHARED, AUTO>(args.qp);
}

/* Quarters of the message; only the last put rings, for all. One thread. */
__global__ void put_late_ring(struct os_args args)
{
	struct place p = place_of(args);
	uint64_t quarter = args.size / 4;
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < 4; i++) {
		doca_gpu_dev_verbs_put<GPU_SHARED, AUTO, THREAD>(
			args.qp, p.remote, p.local, i == 3 ? args.size - 3 * quarter : quarter,
			&ticket,
			i == 3 ? DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT
			       : DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING);
		p.remote.addr += quarter;
		p.local.addr += quarter;
	}
	settle<GPU_SHARED>(args, ticket);
}

template <typename T>
__global__ void put_value(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;
	uint64_t t = blockIdx.x * blockDim.x + threadIdx.x;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_p<T, GPU_SHARED, AUTO, THREAD>(
			args.qp, p.remote, static_cast<T>(p.value + t), &ticket);
		settle<GPU_SHARED>(args, ticket);
	}
}

__global__ void put_signal(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_put_signal<ADD, GPU_SHARED, AUTO, THREAD>(
			args.qp, p.remote, p.local, args.size, p.signal_remote, p.signal_local,
			p.value, &ticket);
		settle<GPU_SHARED>(args, ticket);
	}
}

__global__ void put_value_signal(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;
	uint64_t t = blockIdx.x * blockDim.x + threadIdx.x;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_p_signal<uint64_t, ADD, GPU_SHARED, AUTO>(
			args.qp, p.remote, p.value + t, p.signal_remote, p.signal_local, p.value,
			&ticket);
		settle<GPU_SHARED>(args, ticket);
	}
}

__global__ void signal(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_signal<ADD, GPU_SHARED, AUTO, THREAD>(
			args.qp, p.signal_remote, p.signal_local, p.value, &ticket);
		settle<GPU_SHARED>(args, ticket);
	}
}

__global__ void get(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_get<GPU_SHARED, AUTO, THREAD>(args.qp, p.remote, p.local,
								 args.size, p.local, &ticket);
		settle<GPU_SHARED>(args, ticket);
	}
}

__global__ void get_blocking(struct os_args args)
{
	struct place p = place_of(args);
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < args.rounds; i++) {
		doca_gpu_dev_verbs_get<GPU_SHARED, AUTO, THREAD, NO_MCST, BLOCKING>(
			args.qp, p.remote, p.local, args.size, p.local, &ticket);
		settle<GPU_SHARED>(args, ticket);
	}
}

/* A WRITE of message `i`, into its slot of the ring. */
__device__ struct doca_gpu_dev_verbs_wqe *prepare_write(const struct os_args &args, uint64_t idx,
							uint32_t i)
{
	struct doca_gpu_dev_verbs_wqe *wqe =
		doca_gpu_dev_verbs_get_wqe_ptr(args.qp, static_cast<uint16_t>(idx));

	doca_gpu_dev_verbs_wqe_prepare_write(
		args.qp, wqe, static_cast<uint16_t>(idx), DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
		DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, args.remote.addr + i * args.size,
		args.remote.key, args.local.addr + i * args.size, args.local.key,
		static_cast<uint32_t>(args.size));
	return wqe;
}

/* What the copy engine reads lies in shared memory, aligned to 16 bytes. */
struct alignas(16) bf_copy {
	uint64_t words[8];
};

/* One thread. */
__global__ void write_bf(struct os_args args)
{
	GDAKIT_SHARED(bf_copy, copy);

	for (uint32_t i = 0; i < args.rounds; i++) {
		uint64_t idx = doca_gpu_dev_verbs_reserve_wq_slots<GPU_SHARED>(args.qp, 1);
		struct doca_gpu_dev_verbs_wqe *wqe = prepare_write(args, idx, 0);

		memcpy(&copy, wqe, sizeof(copy));
		doca_gpu_dev_verbs_mark_wqes_ready<GPU_SHARED>(args.qp, idx, idx);
		doca_gpu_dev_verbs_submit_bf<GPU_SHARED>(
			args.qp, idx + 1, reinterpret_cast<struct doca_gpu_dev_verbs_wqe *>(&copy));
		settle<GPU_SHARED>(args, idx);
	}
}

/* 32 threads, which post together; one message after the other. */
__global__ void write_bf_warp(struct os_args args)
{
	GDAKIT_SHARED(uint64_t[1], first);
	struct doca_gpu_dev_verbs_wqe *wqe;
	uint64_t idx;

	for (uint32_t i = 0; i < args.threads * args.rounds; i++) {
		if (threadIdx.x == 0) {
			idx = doca_gpu_dev_verbs_reserve_wq_slots<GPU_SHARED>(args.qp, 1);
			prepare_write(args, idx, i % args.threads);
			doca_gpu_dev_verbs_mark_wqes_ready<GPU_SHARED>(args.qp, idx, idx);
			first[0] = idx;
		}
		__syncthreads();
		idx = first[0];
		wqe = doca_gpu_dev_verbs_get_wqe_ptr(args.qp, static_cast<uint16_t>(idx));
		doca_gpu_dev_verbs_submit_bf_warp<GPU_SHARED>(args.qp, idx + 1, wqe);
		settle<GPU_SHARED>(args, idx);
		__syncthreads();
	}
}

typedef void (*kernel_fn)(struct os_args);

kernel_fn const kernels[OS_OPS] = {
	put<GPU_SHARED>,
	put_wait,
	put<EXCLUSIVE>,
	put<CTA_SHARED>,
	put_late_ring,
	put_value<uint8_t>,
	put_value<uint16_t>,
	put_value<uint32_t>,
	put_value<uint64_t>,
	put_signal,
	put_value_signal,
	signal,
	get,
	get_blocking,
	write_bf,
	write_bf_warp,
};

int launch(enum os_op op, gdakit_stream stream, const struct os_args *args)
{
	return GDAKIT_LAUNCH(kernels[op], dim3(1), dim3(args->threads), 0, stream, *args);
}

} // namespace

extern "C" const struct os_kernels GDAKIT_KERNELS(onesided);
extern "C" const struct os_kernels GDAKIT_KERNELS(onesided) = {launch};
