/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens when something is not as usual: error CQEs, empty and huge transfers, doorbells left
 * to later, collapsed CQs. And the operations other than put.
 */
#include <criterion/criterion.h>

#include "device_ring_kernels.cuh"
#include "device_run.h"

constexpr auto SKIP_DB = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;

/* Run `kernel(args)` on `block` threads beside the NIC. */
template <typename... P, typename... A>
static void run(toy_nic *nic, bool own_thread, dim3 block, void (*kernel)(P...), A... args)
{
	simt_launch_config cfg = {};

	cfg.block = block;
	cfg.watchdog_ms = 20000;
	cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
	{
		toy_driver driver(nic, own_thread);

		cr_assert_eq(simt_launch_kernel(cfg, kernel, args...), SIMT_SUCCESS);
		cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
	}
	simt_stream_destroy(cfg.stream);
	cr_assert_eq(nic->faults.load(), 0, "%s", nic->first_fault.c_str());
}

/* --- error CQEs --- */

__global__ void put_many(struct doca_gpu_dev_verbs_qp *qp, uint64_t *memory, uint32_t ops,
			 int *status)
{
	doca_gpu_dev_verbs_ticket_t ticket = 0;
	uint32_t t = threadIdx.x;

	for (uint32_t i = 0; i < ops; i++)
		doca_gpu_dev_verbs_put<GPU>(qp, at_remote(memory + t), at_local(memory + 64 + t), 8,
					    &ticket);
	status[t] = doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
}

/* 32 threads post 25 laps of a ring that fails in its third: nobody hangs, all are told. */
Test(device_errors, a_failed_queue_lets_every_waiter_go_with_an_error)
{
	for (bool own_thread : {false, true}) {
		toy_nic nic(16);
		std::vector<uint64_t> memory(128);
		int status[32];

		nic.fail_at = 40;
		run(&nic, own_thread, 32, put_many, &nic.qp, memory.data(), 13u, status);
		for (int s : status)
			cr_assert_eq(s, -EIO);
		cr_assert_eq(~nic.qp.cq_sq.cqe_err_idx_inv, 40, "the first failed WQE");
		cr_assert_eq(nic.qp.cq_sq.cqe_err_synd & 0xff, 0x13, "and why");
		cr_assert_eq(nic.qp.cq_sq.cqe_err_synd >> 28, DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR);
	}
}

/* The NIC may be about to flush slots of the ring; puts after the error leave them alone. */
Test(device_errors, a_put_on_a_failed_queue_writes_and_rings_nothing)
{
	toy_nic nic(4);
	uint64_t memory[2];
	uint8_t ring[4 * 64];
	doca_gpu_dev_verbs_ticket_t ticket;

	nic.fail_at = 1;
	for (int i = 0; i < 4; i++)
		doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&memory[0]), at_local(&memory[1]),
					    8);
	while (nic.poll() != 0)
		;
	/* slot 0 is free, the rest failed: the next but one finds out */
	doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8);
	nic.poll();
	memcpy(ring, nic.qp.sq_wqe_daddr, sizeof(ring));
	for (int i = 0; i < 9; i++) {
		doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
					    &ticket);
		cr_assert_eq(nic.doorbell, 0);
		cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, ticket), -EIO);
	}
	cr_assert_eq(memcmp(ring, nic.qp.sq_wqe_daddr, sizeof(ring)), 0);
	cr_assert_eq(nic.qp.sq_ready_index, 14);
}

Test(device_errors, what_completed_before_the_error_stays_complete)
{
	toy_nic nic(64);
	uint64_t memory[2];
	doca_gpu_dev_verbs_ticket_t ticket;

	nic.fail_at = 10;
	nic.budget = 64;
	for (int i = 0; i < 20; i++)
		doca_gpu_dev_verbs_put<EXCLUSIVE>(&nic.qp, at_remote(&memory[0]),
						  at_local(&memory[1]), 8, &ticket);
	while (nic.poll() != 0)
		;
	/* the last first, then down: none may change the others' answer */
	for (uint64_t i = 20; i-- > 0;)
		cr_assert_eq(doca_gpu_dev_verbs_poll_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, i),
			     i < 10 ? 0 : -EIO, "WQE %llu", (unsigned long long)i);
	cr_assert_eq(~nic.qp.cq_sq.cqe_err_idx_inv, 10);
	cr_assert_eq(nic.qp.cq_sq.cqe_ci, 10);
}

Test(device_errors, responder_and_signature_errors_are_errors)
{
	for (uint8_t opcode :
	     {DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR, DOCA_GPUNETIO_IB_MLX5_CQE_SIG_ERR}) {
		toy_nic nic(4);
		uint64_t memory[2];

		nic.fail_at = 0;
		nic.fail_opcode = opcode;
		doca_gpu_dev_verbs_put<EXCLUSIVE>(&nic.qp, at_remote(&memory[0]),
						  at_local(&memory[1]), 8);
		nic.poll();
		cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, 0), -EIO);
	}
}

Test(device_errors, an_invalid_cqe_with_the_right_owner_is_no_completion)
{
	toy_nic nic(4);

	memset(nic.cqe(0) + 60, 0, 4);
	nic.cqe(0)[63] = 0xf0;
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<GPU>(&nic.qp.cq_sq, 0), EBUSY);
}

Test(device_errors, a_stale_cqe_with_the_right_owner_is_no_completion)
{
	toy_nic nic(4);

	nic.cqe(1)[60] = 0; /* counter 0 in slot 1 */
	nic.cqe(1)[61] = 0;
	nic.cqe(1)[63] = 0x00;
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<GPU>(&nic.qp.cq_sq, 1), EBUSY);
}

/* A reset QP starts at WQE 0 while the CQ goes on: cqe_rsvd is the distance. */
Test(device_errors, a_cq_that_outlived_a_reset_is_read_at_its_own_position)
{
	toy_nic nic(4);

	nic.qp.cq_sq.cqe_rsvd = 6; /* CQE 6: slot 2, second lap, owner 1 */
	memset(nic.cqe(2) + 60, 0, 4);
	nic.cqe(2)[63] = 0x00;
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<GPU>(&nic.qp.cq_sq, 0), EBUSY);
	nic.cqe(2)[63] = 0x01;
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<GPU>(&nic.qp.cq_sq, 0), 0);
}

Test(device_errors, a_poller_more_than_a_lap_behind_catches_up_alone)
{
	toy_nic nic(8);
	uint64_t memory[2];

	for (int lap = 0; lap < 5; lap++) {
		/* without availability checks nobody else polls */
		for (int i = 0; i < 8; i++)
			doca_gpu_dev_verbs_put<EXCLUSIVE>(
				&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
				DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK);
		while (nic.poll() != 0)
			;
		if (lap == 0)
			cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<GPU>(&nic.qp.cq_sq, 8),
				     EBUSY);
		if (lap % 2 == 0) /* every other lap: two laps behind would be an overrun */
			cr_assert_eq(doca_gpu_dev_verbs_poll_cq_at<GPU>(&nic.qp.cq_sq, 8 * lap + 7),
				     0);
		else
			cr_assert_eq(doca_gpu_dev_verbs_poll_cq<GPU>(&nic.qp.cq_sq, 8), 0);
		cr_assert_eq(nic.qp.cq_sq.cqe_ci, 8u * (lap + 1));
	}
}

/* Half of the first lap's CQEs are overwritten and nobody has looked at any of them. */
Test(device_errors, a_first_look_in_the_second_lap_finds_the_first_complete)
{
	toy_nic nic(8);
	uint64_t memory[2];

	nic.budget = 12;
	for (int i = 0; i < 12; i++) {
		if (i == 8)
			nic.poll();
		doca_gpu_dev_verbs_put<EXCLUSIVE>(
			&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
			DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK);
	}
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, 11), EBUSY);
	cr_assert_eq(nic.qp.cq_sq.cqe_ci, 8, "the look itself caught up");
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, 11), 0);
}

/* --- sizes --- */

template <enum doca_gpu_dev_verbs_exec_scope ES>
__global__ void empty_transfers(struct doca_gpu_dev_verbs_qp *qp, uint64_t *memory, int *status)
{
	doca_gpu_dev_verbs_ticket_t put, get;

	/* odd lanes have something to say, even ones nothing */
	size_t size = threadIdx.x % 2 * 8;

	doca_gpu_dev_verbs_put<GPU, AUTO, ES>(qp, at_remote(memory), at_local(memory + 1), size,
					      &put);
	doca_gpu_dev_verbs_get<GPU, AUTO, ES>(qp, at_remote(memory), at_local(memory + 1), size,
					      at_local(memory), &get);
	status[threadIdx.x] = doca_gpu_dev_verbs_wait<GPU>(qp, put) |
			      doca_gpu_dev_verbs_get_wait<GPU>(qp, at_local(memory), get);
}

Test(device_errors, an_empty_transfer_is_a_nop_in_either_scope)
{
	for (auto kernel : {empty_transfers<THREAD>, empty_transfers<WARP>}) {
		toy_nic nic(16);
		uint64_t memory[2] = {};
		int status[32];
		size_t nops = 0;

		run(&nic, false, 32, kernel, &nic.qp, memory, status);
		for (int s : status)
			cr_assert_eq(s, 0);
		for (uint8_t op : nic.opcodes)
			nops += op == DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP;
		cr_assert_eq(nic.opcodes.size(), 64);
		cr_assert_eq(nops, 32);
	}
}

template <enum doca_gpu_dev_verbs_exec_scope ES>
__global__ void huge_put(struct doca_gpu_dev_verbs_qp *qp, size_t size, int *status)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put<GPU, AUTO, ES>(qp, at_remote(nullptr), at_local(nullptr), size,
					      &ticket);
	status[threadIdx.x] = doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
}

/* 5 GiB + 3: six messages for each, on a ring of four slots */
Test(device_errors, a_huge_transfer_is_cut_at_1_gib_in_either_scope)
{
	const size_t size = (5ull << 30) + 3;

	for (uint32_t threads : {1u, 32u}) {
		toy_nic nic(4);
		int status[32];

		nic.move_data = false;
		run(&nic, false, threads, threads == 1 ? huge_put<THREAD> : huge_put<WARP>, &nic.qp,
		    size, status);
		cr_assert_eq(nic.lengths.size(), 6 * threads);
		for (size_t i = 0; i < nic.lengths.size(); i++)
			cr_assert_eq(nic.lengths[i], i % 6 == 5 ? 3u : 1u << 30);
		for (uint32_t t = 0; t < threads; t++)
			cr_assert_eq(status[t], 0);
	}
}

/* --- doorbells left to later --- */

__global__ void silent_puts(struct doca_gpu_dev_verbs_qp *qp, uint64_t *memory, uint32_t ops,
			    int *status)
{
	doca_gpu_dev_verbs_ticket_t ticket = 0;

	for (uint32_t i = 0; i < ops; i++)
		doca_gpu_dev_verbs_put<GPU>(qp, at_remote(memory), at_local(memory + 1), 8, &ticket,
					    SKIP_DB);
	status[threadIdx.x] = doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
}

/* Nobody ever rings; three laps and a wait at the end still get through. */
Test(device_errors, waiting_for_unannounced_wqes_rings_for_them)
{
	for (auto handler : {DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
			     DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY}) {
		toy_nic nic(16, 65530, handler);
		uint64_t memory[2] = {1, 2};
		int status[8];

		run(&nic, false, 8, silent_puts, &nic.qp, memory, 7u, status);
		for (int s : status)
			cr_assert_eq(s, 0);
		cr_assert_eq(nic.next - 65530, 56);
		cr_assert_lt(nic.rung, 56, "batches, not one ring each");
	}
}

Test(device_errors, skip_db_ringing_announces_nothing)
{
	for (auto handler : {DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
			     DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY}) {
		toy_nic nic(16, 0, handler);
		uint64_t memory[2];

		doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
					    SKIP_DB);
		nic.poll();
		cr_assert_eq(nic.announced, 0);
		cr_assert_eq(nic.qp.sq_ready_index, 1);
		doca_gpu_dev_verbs_submit<GPU>(&nic.qp, 1);
		nic.poll();
		cr_assert_eq(nic.announced, 1);
	}
}

/* A caller that names the wrong handler does not ring the proxy's word as a doorbell. */
Test(device_errors, the_qps_own_handler_decides_how_it_is_rung)
{
	toy_nic proxy(4, 0, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY), db(4);
	constexpr auto SS = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;

	doca_gpu_dev_verbs_submit<GPU, SS, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB>(&proxy.qp, 1);
	cr_assert_eq(proxy.proxy_word, 1);
	doca_gpu_dev_verbs_submit<GPU, SS, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY>(&db.qp, 1);
	cr_assert_eq(db.doorbell, (uint64_t)htobe32(toy_nic::qpn << 8) << 32 | htobe32(1u << 8));
}

/* --- collapsed CQs --- */

__global__ void collapsed_puts(struct doca_gpu_dev_verbs_qp *qp, uint64_t *memory, uint32_t ops,
			       int *status)
{
	doca_gpu_dev_verbs_ticket_t ticket = 0;

	for (uint32_t i = 0; i < ops; i++)
		doca_gpu_dev_verbs_put<GPU>(qp, at_remote(memory), at_local(memory + 1), 8,
					    &ticket);
	status[threadIdx.x] = doca_gpu_dev_verbs_poll_cq_collapsed_at<GPU>(qp, ticket);
}

Test(device_errors, a_collapsed_cq_marked_as_such_serves_puts_and_waits)
{
	for (auto handler :
	     {DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY})
		for (bool own_thread : {false, true}) {
			toy_nic nic(16, 65530, handler);
			uint64_t memory[2] = {1, 2};
			int status[8];

			nic.collapsed = true;
			nic.qp.cq_sq.cqe_flags = GDAKIT_CQE_FLAG_COLLAPSED;
			run(&nic, own_thread, 8, collapsed_puts, &nic.qp, memory, 9u, status);
			for (int s : status)
				cr_assert_eq(s, 0);
			cr_assert_eq(nic.qp.cq_sq.cqe_ci, 65530 + 72);
		}
}

Test(device_errors, a_collapsed_poll_takes_an_index_not_a_count)
{
	toy_nic nic(16);
	uint64_t memory[2];

	nic.collapsed = true;
	nic.budget = 1;
	for (int i = 0; i < 3; i++)
		doca_gpu_dev_verbs_put<EXCLUSIVE>(&nic.qp, at_remote(&memory[0]),
						  at_local(&memory[1]), 8);
	nic.poll();
	nic.qp.cq_sq.cqe_flags = GDAKIT_CQE_FLAG_COLLAPSED;
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, 0), 0);
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, 1), EBUSY);
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at<EXCLUSIVE>(&nic.qp, 1), 0);
	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<EXCLUSIVE>(&nic.qp.cq_sq, 2), EBUSY);
}

/* Another thread's WQE 5 completed before we could see that sq_wqe_pi had moved beyond 3. */
Test(device_errors, a_collapsed_cqe_newer_than_our_producer_index_is_read_again)
{
	toy_nic nic(16);
	uint64_t pi = 3;
	uint32_t nap_ns = 0;

	memset(nic.cqe(0) + 60, 0, 4);
	nic.cqe(0)[61] = 5;
	cr_assert_eq(gdakit_cq_poll<GPU>(&nic.qp.cq_sq, 2, true, &pi, &nap_ns), EBUSY);
	cr_assert_eq(nic.qp.cq_sq.cqe_ci, 0);
	pi = 6;
	cr_assert_eq(gdakit_cq_poll<GPU>(&nic.qp.cq_sq, 2, true, &pi, &nap_ns), 0);
	cr_assert_eq(nic.qp.cq_sq.cqe_ci, 6);
}

Test(device_errors, a_collapsed_cq_reports_errors)
{
	toy_nic nic(16);
	uint64_t memory[2];

	nic.collapsed = true;
	nic.fail_at = 1;
	for (int i = 0; i < 3; i++)
		doca_gpu_dev_verbs_put<EXCLUSIVE>(&nic.qp, at_remote(&memory[0]),
						  at_local(&memory[1]), 8);
	while (nic.poll() != 0)
		;
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at<EXCLUSIVE>(&nic.qp, 2), -EIO);
}

/* --- the other operations --- */

template <enum doca_gpu_dev_verbs_exec_scope ES>
static void check_operations()
{
	toy_nic nic(64, 65500);
	ops_memory m = {};
	int status[32];

	for (uint64_t i = 0; i < 64; i++)
		m.data[i] = 0x1111111111110000 + i;
	run(&nic, ES == WARP, 32, all_operations<ES>, &nic.qp, &m, htobe32(toy_nic::rkey),
	    htobe32(toy_nic::lkey), status);
	cr_assert_eq(m.counter, 32 * 1001001);
	for (uint64_t t = 0; t < 32; t++) {
		cr_assert_eq(status[t], 0);
		cr_assert_eq(m.remote[t], 0x1111111111114242);
		cr_assert_eq(m.values[t], t * 3 + 1);
		cr_assert_eq(m.fetched[t], t * 3 + 1);
	}
}

Test(device_errors, every_operation_in_thread_scope)
{
	check_operations<THREAD>();
}

Test(device_errors, every_operation_in_warp_scope)
{
	check_operations<WARP>();
}
