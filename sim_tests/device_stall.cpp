/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC that never answers, and no deadline: everything ends after the stall limit, which is one
 * nanosecond here, so after some turns of each loop.
 */
#include <criterion/criterion.h>

#define GDAKIT_STALL_LIMIT_NS 1ull
#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "device_run.h"

constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;

static uint64_t memory[2];

static doca_gpu_dev_verbs_ticket_t put(toy_nic *nic)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put<GPU>(&nic->qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
				    &ticket);
	return ticket;
}

Test(device_stall, a_wait_ends_and_may_be_repeated)
{
	toy_nic nic(4);
	struct doca_gpu_dev_verbs_cq *cq = &nic.qp.cq_sq;
	doca_gpu_dev_verbs_ticket_t ticket = put(&nic);

	cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, ticket), -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_wait<EXCLUSIVE>(&nic.qp), -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_get_wait<GPU>(&nic.qp, at_local(&memory[0]), ticket),
		     -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_at<GPU>(cq, ticket), -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq<GPU>(cq, 1), -ETIMEDOUT);
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at<GPU>(&nic.qp, ticket), -ETIMEDOUT);
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, ticket), 0);
	expect_no_fault(nic);
}

/* The slot may still be the NIC's: nothing is written, and nobody announces the hole. */
Test(device_stall, a_put_that_finds_no_slot_gives_the_queue_up)
{
	toy_nic nic(2);
	uint8_t ring[2 * 64];

	put(&nic);
	put(&nic);
	memcpy(ring, nic.qp.sq_wqe_daddr, sizeof(ring));
	uint64_t doorbell = nic.doorbell;
	doca_gpu_dev_verbs_ticket_t ticket = put(&nic);

	cr_assert_eq(ticket, 2);
	cr_assert_eq(memcmp(ring, nic.qp.sq_wqe_daddr, sizeof(ring)), 0);
	cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, ticket), -EIO);
	cr_assert_eq(~nic.qp.cq_sq.cqe_err_idx_inv, 0, "nothing had completed");
	/* now the NIC does answer: too late for new WQEs, their ring has a hole */
	nic.poll();
	put(&nic);
	doca_gpu_dev_verbs_submit<GPU>(&nic.qp, 4);
	nic.poll();
	cr_assert_eq(nic.announced, 2);
	cr_assert_eq(memcmp(ring, nic.qp.sq_wqe_daddr, sizeof(ring)), 0);
	cr_assert(nic.doorbell == 0 || nic.doorbell == doorbell);
	expect_no_fault(nic);
}

Test(device_stall, a_turn_that_never_comes_ends)
{
	toy_nic nic(8);

	doca_gpu_dev_verbs_reserve_wq_slots<GPU>(&nic.qp, 1); /* and never filled */
	cr_assert_eq(doca_gpu_dev_common_mark_wqes_ready<GPU>(nic.qp.sq_ready_index, 1, 1),
		     -ETIMEDOUT);
	cr_assert_eq(nic.qp.cq_sq.cqe_err_idx_inv, 0);
	doca_gpu_dev_verbs_ticket_t ticket = put(&nic);

	cr_assert_eq(doca_gpu_dev_verbs_wait<GPU>(&nic.qp, ticket), -EIO);
	cr_assert_eq(nic.doorbell, 0, "the hole is not announced");
}

__global__ void put_a_lot(struct doca_gpu_dev_verbs_qp *qp, int *status)
{
	doca_gpu_dev_verbs_ticket_t ticket = 0;

	for (int i = 0; i < 5; i++)
		doca_gpu_dev_verbs_put<GPU>(qp, at_remote(&memory[0]), at_local(&memory[1]), 8,
					    &ticket);
	status[blockIdx.x * blockDim.x + threadIdx.x] = doca_gpu_dev_verbs_wait<GPU>(qp, ticket);
}

Test(device_stall, a_whole_kernel_on_a_dead_nic_comes_to_its_end)
{
	toy_nic nic(16);
	int status[96];

	run_kernel(2, 48, 1, put_a_lot, &nic.qp, &status[0]);
	for (int s : status)
		cr_assert(s == -EIO || s == -ETIMEDOUT);
}
