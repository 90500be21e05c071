/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits with a deadline, against a NIC that says nothing, one that has answered and one that has
 * failed. A deadline of 0 is over at once: what a call says then does not depend on time.
 */
#include <criterion/criterion.h>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "device_run.h"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto DUMP = DOCA_GPUNETIO_VERBS_MCST_ENABLED;
constexpr auto LD_ST = DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST;
constexpr auto CAS = DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS;
constexpr auto SQ = DOCA_GPUNETIO_VERBS_QP_SQ;

static uint64_t memory[2];

static void put(toy_nic *nic, int n)
{
	for (int i = 0; i < n; i++)
		doca_gpu_dev_verbs_put<GPU>(&nic->qp, at_remote(&memory[0]), at_local(&memory[1]),
					    8);
}

/* What each wait says about WQE 0 (or the only one), in one order. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM>
static std::vector<int> ask_all(toy_nic *nic, uint64_t deadline_ns)
{
	struct doca_gpu_dev_verbs_qp *qp = &nic->qp;
	struct doca_gpu_dev_verbs_cq *cq = &qp->cq_sq;

	return {
		doca_gpu_dev_verbs_poll_cq_at_until<RSM>(cq, 0, deadline_ns),
		doca_gpu_dev_verbs_wait_until<RSM>(qp, 0, deadline_ns),
		doca_gpu_dev_verbs_wait_until<RSM>(qp, deadline_ns),
		doca_gpu_dev_verbs_get_wait_until<RSM>(qp, at_local(&memory[0]), 0, deadline_ns),
		doca_gpu_dev_verbs_get_wait_until<RSM>(qp, at_local(&memory[0]), deadline_ns),
		/* WQE 0 frees the slot of WQE 4 */
		doca_gpu_dev_verbs_wait_until_slot_available_until<RSM>(qp, 4, deadline_ns),
	};
}

Test(device_deadline, a_silent_nic_is_a_time_out_for_every_wait_and_changes_nothing)
{
	toy_nic nic(4);

	put(&nic, 1);
	struct doca_gpu_dev_verbs_qp before = nic.qp;

	for (int status : ask_all<EXCLUSIVE>(&nic, 0))
		cr_assert_eq(status, -ETIMEDOUT);
	for (int status : ask_all<CTA>(&nic, 0))
		cr_assert_eq(status, -ETIMEDOUT);
	for (int status : ask_all<GPU>(&nic, doca_gpu_dev_verbs_query_globaltimer() + 1000))
		cr_assert_eq(status, -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_until<GPU>(&nic.qp.cq_sq, 1, 0), -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at_until<GPU>(&nic.qp, 0, 0), -ETIMEDOUT);
	cr_assert_eq(memcmp(&before, &nic.qp, sizeof(before)), 0);
}

Test(device_deadline, a_completion_that_is_there_counts_however_late_the_look)
{
	toy_nic nic(4);

	nic.move_data = false;
	put(&nic, 1);
	nic.poll();
	for (int status : ask_all<GPU>(&nic, 0))
		cr_assert_eq(status, 0);
	put(&nic, 1);
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_until<GPU>(&nic.qp.cq_sq, 1, 0), 0);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_until<GPU>(&nic.qp.cq_sq, 0, 0), 0);
}

Test(device_deadline, an_error_cqe_is_an_error_for_every_wait)
{
	toy_nic nic(4);

	nic.fail_at = 0;
	put(&nic, 1);
	nic.poll();
	for (int status : ask_all<GPU>(&nic, 0))
		cr_assert_eq(status, -EIO);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_until<GPU>(&nic.qp.cq_sq, 1, 0), -EIO);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at_until<GPU>(&nic.qp, 0, 0), -EIO);
}

Test(device_deadline, a_collapsed_cq_has_deadlines_too)
{
	toy_nic nic(4);

	nic.collapsed = true;
	nic.move_data = false;
	nic.qp.cq_sq.cqe_flags = GDAKIT_CQE_FLAG_COLLAPSED;
	put(&nic, 2);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at_until<EXCLUSIVE>(&nic.qp, 0, 0),
		     -ETIMEDOUT);
	nic.budget = 1;
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at_until<EXCLUSIVE>(&nic.qp, 0, 0), 0);
	cr_assert_eq(doca_gpu_dev_verbs_wait_until<EXCLUSIVE>(&nic.qp, 1, 0), -ETIMEDOUT);
}

Test(device_deadline, a_get_that_timed_out_leaves_its_dump_to_be_waited_for)
{
	toy_nic nic(4);
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_get<GPU>(&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
				    at_local(&memory[1]), &ticket);
	cr_assert_eq((doca_gpu_dev_verbs_get_wait_until<GPU, AUTO, DUMP>(
			     &nic.qp, at_local(&memory[1]), ticket, 0)),
		     -ETIMEDOUT);
	cr_assert_eq(nic.qp.sq_ready_index, 2, "the DUMP is posted");
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_wait_until<GPU>(&nic.qp, 0), 0);
	expect_no_fault(nic);
}

Test(device_deadline, a_reservation_that_times_out_takes_nothing)
{
	toy_nic nic(4);
	uint64_t first = 77;

	nic.move_data = false;
	put(&nic, 3);
	cr_assert_eq(doca_gpu_dev_verbs_reserve_wq_slots_until<GPU>(&nic.qp, 2, &first, 0),
		     -ETIMEDOUT);
	cr_assert_eq(nic.qp.sq_rsvd_index, 3);
	cr_assert_eq(doca_gpu_dev_verbs_reserve_wq_slots_until<GPU>(&nic.qp, 1, &first, 0), 0,
		     "one slot is free");
	cr_assert_eq(first, 3);
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_reserve_wq_slots_until<EXCLUSIVE>(&nic.qp, 2, &first, 0),
		     0);
	cr_assert_eq(first, 4);
	cr_assert_eq(doca_gpu_dev_verbs_reserve_wq_slots_until<GPU>(&nic.qp, 0, &first, 0), 0);
	cr_assert_eq(nic.qp.sq_rsvd_index, 6);
}

__global__ void reserve_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t *first)
{
	for (int i = 0; i < 4; i++)
		if (doca_gpu_dev_verbs_reserve_wq_slots_until<GPU>(
			    qp, 1 + threadIdx.x % 2, &first[threadIdx.x * 4 + i], ~0ull) != 0)
			first[threadIdx.x * 4 + i] = ~0ull;
}

Test(device_deadline, reservations_with_deadlines_do_not_overlap)
{
	toy_nic nic(256);
	uint64_t first[128];
	std::vector<int> owners(192);

	run_kernel(1, 32, 5, reserve_until, &nic.qp, &first[0]);
	for (int i = 0; i < 128; i++)
		for (uint64_t j = 0; j < 1 + (uint64_t)(i / 4 % 2); j++)
			owners.at(first[i] + j)++;
	for (int n : owners)
		cr_assert_eq(n, 1);
	cr_assert_eq(nic.qp.sq_rsvd_index, 192);
}

Test(device_deadline, a_turn_that_does_not_come_is_a_time_out_and_may_be_waited_for_again)
{
	toy_nic nic(4);

	doca_gpu_dev_verbs_reserve_wq_slots<GPU>(&nic.qp, 3);
	cr_assert_eq(doca_gpu_dev_verbs_mark_wqes_ready_until<GPU>(&nic.qp, 1, 1, 0), -ETIMEDOUT);
	cr_assert_eq((doca_gpu_dev_verbs_mark_wqes_ready_until<CTA, SQ, LD_ST>(&nic.qp, 2, 2, 0)),
		     -ETIMEDOUT);
	cr_assert_eq((doca_gpu_dev_common_mark_wqes_ready_until<GPU, CAS>(nic.qp.sq_ready_index, 1,
									  1, 0)),
		     -ETIMEDOUT);
	cr_assert_eq(nic.qp.sq_ready_index, 0);
	cr_assert_eq(doca_gpu_dev_verbs_mark_wqes_ready<GPU>(&nic.qp, 0, 0), 0);
	cr_assert_eq(doca_gpu_dev_verbs_mark_wqes_ready_until<GPU>(&nic.qp, 1, 1, 0), 0);
	cr_assert_eq(
		(doca_gpu_dev_common_mark_wqes_ready_until<CTA>(nic.qp.sq_ready_index, 2, 2, 0)),
		0);
	cr_assert_eq(nic.qp.sq_ready_index, 3);
}

Test(device_deadline, a_lock_that_is_held_is_a_time_out)
{
	int lock = 1;

	cr_assert_eq(doca_gpu_dev_verbs_lock_until<GPU>(&lock, 0), -ETIMEDOUT);
	cr_assert_eq(lock, 1);
	doca_gpu_dev_verbs_unlock<GPU>(&lock);
	cr_assert_eq(doca_gpu_dev_verbs_lock_until<CTA>(&lock, 0), 0);
	cr_assert_eq(lock, 1);
	cr_assert_eq(doca_gpu_dev_verbs_lock_until<EXCLUSIVE>(&lock, 0), 0);
}

/* On a failed queue nobody waits for ever for a thread that reserved and never came. */
Test(device_deadline, a_turn_on_a_failed_queue_is_given_up)
{
	toy_nic nic(16);
	doca_gpu_dev_verbs_ticket_t ticket;

	nic.fail_at = 0;
	put(&nic, 1);
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, 0), -EIO);
	doca_gpu_dev_verbs_reserve_wq_slots<GPU>(&nic.qp, 2); /* and never filled */
	cr_assert_eq(doca_gpu_dev_verbs_mark_wqes_ready<GPU>(&nic.qp, 2, 2), -EIO);
	doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
				    &ticket);
	cr_assert_eq(ticket, 3);
	cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, ticket), -EIO);
	cr_assert_eq(nic.qp.sq_ready_index, 1);
	cr_assert_eq(nic.doorbell, 0);
}
