/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that post together: lanes of a warp share one reservation and one doorbell, warps share
 * doorbells, and the result is as if each thread had posted alone.
 */
#include <criterion/criterion.h>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_counter.cuh"
#include "device_run.h"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;
constexpr auto SKIP_DB = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING;
constexpr auto DB = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
constexpr auto NO_DBR = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
constexpr auto PROXY = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;

static int poll_nic(void *nic)
{
	return static_cast<toy_nic *>(nic)->poll();
}

struct group_memory {
	uint64_t from[64], to[64], count, old[64];
	doca_gpu_dev_verbs_ticket_t ticket[64];
	int status[64];

	group_memory()
	{
		memset(this, 0, sizeof(*this));
		for (uint64_t i = 0; i < 64; i++) {
			from[i] = i * 3 + 1;
			status[i] = 1;
		}
	}
};

/* --- one warp --- */

template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM>
__global__ void put_once(struct doca_gpu_dev_verbs_qp *qp, group_memory *m)
{
	uint32_t t = threadIdx.x;

	doca_gpu_dev_verbs_put<RSM>(qp, at_remote(&m->to[t]), at_local(&m->from[t]), 8,
				    &m->ticket[t]);
	m->status[t] = doca_gpu_dev_verbs_wait<RSM>(qp, m->ticket[t]);
}

/* Read-modify-writes of two counters of the QP. */
struct rmw_count {
	const struct doca_gpu_dev_verbs_qp *qp;
	int reserve = 0, ready = 0;

	explicit rmw_count(const struct doca_gpu_dev_verbs_qp *qp_) : qp(qp_)
	{
		simt_set_mem_observer(
			[](void *ctx, const struct simt_access *a) {
				rmw_count *c = static_cast<rmw_count *>(ctx);

				if (a->kind != SIMT_ACCESS_RMW)
					return;
				c->reserve += a->addr == &c->qp->sq_rsvd_index;
				c->ready += a->addr == &c->qp->sq_ready_index;
			},
			this);
	}

	~rmw_count()
	{
		simt_set_mem_observer(nullptr, nullptr);
	}
};

template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM>
static void check_one_doorbell(enum doca_gpu_dev_verbs_nic_handler handler, uint64_t start)
{
	toy_nic nic(64, start, handler);
	group_memory m;

	simt_attach(poll_nic, &nic);
	{
		rmw_count rmw(&nic.qp);

		run_kernel(1, 32, 1, put_once<RSM>, &nic.qp, &m);
		cr_assert_eq(rmw.reserve, 1, "one reservation, not %d", rmw.reserve);
		cr_assert_eq(rmw.ready, 1, "one ready update, not %d", rmw.ready);
	}
	simt_detach(poll_nic, &nic);
	expect_no_fault(nic);
	cr_assert_eq(nic.rung, 1, "one doorbell, not %llu", (unsigned long long)nic.rung);
	for (uint64_t t = 0; t < 32; t++) {
		cr_assert_eq(m.ticket[t], start + t, "lanes post in order");
		cr_assert_eq(m.status[t], 0);
		cr_assert_eq(m.to[t], m.from[t]);
	}
}

Test(device_group, the_threads_of_a_warp_share_a_reservation_and_a_doorbell)
{
	for (auto handler : {DB, NO_DBR, PROXY}) {
		check_one_doorbell<GPU>(handler, 65520);
		check_one_doorbell<CTA>(handler, (1ull << 63) - 16);
	}
}

__global__ void put_to_two(struct doca_gpu_dev_verbs_qp *a, struct doca_gpu_dev_verbs_qp *b,
			   group_memory *m)
{
	uint32_t t = threadIdx.x;
	struct doca_gpu_dev_verbs_qp *qp = t % 3 == 0 ? a : b;

	doca_gpu_dev_verbs_put<GPU>(qp, at_remote(&m->to[t]), at_local(&m->from[t]), 8,
				    &m->ticket[t]);
	m->status[t] = doca_gpu_dev_verbs_wait<GPU>(qp, m->ticket[t]);
}

Test(device_group, lanes_with_different_qps_group_by_qp)
{
	toy_nic a(16, 100), b(16, 200);
	group_memory m;
	uint64_t next_a = 100, next_b = 200;

	simt_attach(poll_nic, &a);
	simt_attach(poll_nic, &b);
	run_kernel(1, 32, 1, put_to_two, &a.qp, &b.qp, &m);
	simt_detach(poll_nic, &a);
	simt_detach(poll_nic, &b);
	expect_no_fault(a);
	expect_no_fault(b);
	cr_assert_eq(a.rung, 1);
	cr_assert_eq(b.rung, 2, "21 WQEs on a ring of 16: two batches");
	for (uint64_t t = 0; t < 32; t++) {
		cr_assert_eq(m.ticket[t], t % 3 == 0 ? next_a++ : next_b++);
		cr_assert_eq(m.status[t], 0);
		cr_assert_eq(m.to[t], m.from[t]);
	}
}

__global__ void put_diverged(struct doca_gpu_dev_verbs_qp *qp, group_memory *m)
{
	uint32_t t = threadIdx.x;

	if (t < 11) {
		for (uint32_t i = 0; i <= t % 3; i++)
			doca_gpu_dev_verbs_put<GPU>(qp, at_remote(&m->to[t]), at_local(&m->from[t]),
						    8, &m->ticket[t]);
	} else if (t < 30) {
		doca_gpu_dev_verbs_put_signal<ADD, GPU>(
			qp, at_remote(&m->to[t]), at_local(&m->from[t]), 8, at_remote(&m->count),
			at_local(&m->old[t]), 1, &m->ticket[t]);
	} else {
		return; /* lanes that never post */
	}
	m->status[t] = doca_gpu_dev_verbs_wait<GPU>(qp, m->ticket[t]);
}

/* Whoever runs together under a seed: nobody waits for those who are elsewhere. */
Test(device_group, diverged_lanes_post_in_groups_of_their_own)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		toy_nic nic(seed % 2 ? 64 : 2);
		group_memory m;

		simt_attach(poll_nic, &nic);
		run_kernel(1, 32, seed, put_diverged, &nic.qp, &m);
		simt_detach(poll_nic, &nic);
		expect_no_fault(nic);
		cr_assert_eq(nic.next, 4 * 1 + 4 * 2 + 3 * 3 + 2 * 19);
		cr_assert_eq(m.count, 19);
		for (uint32_t t = 0; t < 30; t++) {
			cr_assert_eq(m.status[t], 0);
			cr_assert_eq(m.to[t], m.from[t]);
			for (uint32_t u = 0; u < t; u++)
				cr_assert_neq(m.ticket[t], m.ticket[u]);
		}
	}
}

__global__ void put_sizes(struct doca_gpu_dev_verbs_qp *qp, group_memory *m)
{
	uint32_t t = threadIdx.x;

	doca_gpu_dev_verbs_put<GPU>(qp, at_remote(nullptr), at_local(nullptr),
				    ((size_t)(t % 3) << 30) + t + 1, &m->ticket[t]);
	m->status[t] = doca_gpu_dev_verbs_wait<GPU>(qp, m->ticket[t]);
}

Test(device_group, lanes_may_bring_different_numbers_of_messages)
{
	toy_nic nic(4);
	group_memory m;
	uint64_t next = 0;
	size_t at = 0;

	nic.move_data = false;
	simt_attach(poll_nic, &nic);
	run_kernel(1, 32, 1, put_sizes, &nic.qp, &m);
	simt_detach(poll_nic, &nic);
	expect_no_fault(nic);
	for (uint32_t t = 0; t < 32; t++) {
		next += t % 3 + 1;
		cr_assert_eq(m.ticket[t], next - 1, "a lane's last message");
		cr_assert_eq(m.status[t], 0);
		for (uint32_t i = 0; i < t % 3; i++)
			cr_assert_eq(nic.lengths[at++], 1u << 30);
		cr_assert_eq(nic.lengths[at++], t + 1);
	}
}

__global__ void put_options(struct doca_gpu_dev_verbs_qp *qp, group_memory *m)
{
	uint32_t t = threadIdx.x;

	doca_gpu_dev_verbs_put<GPU>(qp, at_remote(&m->to[t]), at_local(&m->from[t]), 8,
				    &m->ticket[t], t < 8 ? SKIP_DB : 0);
}

/* The lanes that ring come after those that do not, in every order of the two groups. */
Test(device_group, lanes_with_different_options_do_not_share_them)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		toy_nic nic(64);
		group_memory m;

		run_kernel(1, 32, seed, put_options, &nic.qp, &m);
		nic.poll();
		expect_no_fault(nic);
		cr_assert_eq(nic.rung, 1);
		for (uint32_t t = 0; t < 32; t++)
			if (t >= 8)
				cr_assert_lt(m.ticket[t], nic.announced);
		cr_assert_eq(nic.qp.sq_ready_index, 32);
	}
}

__global__ void put_each_its_own(struct doca_gpu_dev_verbs_qp *qps, group_memory *m)
{
	uint32_t t = threadIdx.x;

	doca_gpu_dev_verbs_put<EXCLUSIVE>(&qps[t], at_remote(&m->to[t]), at_local(&m->from[t]), 8,
					  &m->ticket[t]);
}

Test(device_group, lanes_with_exclusive_qps_have_nothing_to_share)
{
	toy_nic a(4), b(4), c(4);
	struct doca_gpu_dev_verbs_qp qps[3] = {a.qp, b.qp, c.qp};
	group_memory m;

	run_kernel(1, 3, 1, put_each_its_own, &qps[0], &m);
	for (toy_nic *nic : {&a, &b, &c}) {
		nic->poll();
		expect_no_fault(*nic);
		cr_assert_eq(nic->next, 1);
	}
}

__global__ void put_counted(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_qp *other,
			    group_memory *m)
{
	uint32_t t = threadIdx.x;

	doca_gpu_dev_verbs_put_counter<GPU>(qp, at_remote(&m->to[t]), at_local(&m->from[t]), 8,
					    other, at_remote(&m->count), at_local(&m->old[t]), 1);
	m->status[t] = doca_gpu_dev_verbs_wait<GPU>(other);
}

Test(device_group, counted_operations_of_a_warp_ring_each_queue_once)
{
	toy_nic main(64), companion(64);
	group_memory m;

	companion.awaited = &main;
	simt_attach(poll_nic, &main);
	simt_attach(poll_nic, &companion);
	run_kernel(1, 32, 1, put_counted, &main.qp, &companion.qp, &m);
	simt_detach(poll_nic, &main);
	simt_detach(poll_nic, &companion);
	expect_no_fault(main);
	expect_no_fault(companion);
	cr_assert_eq(m.count, 32);
	cr_assert_eq(main.rung, 1);
	cr_assert_eq(companion.rung, 1);
}

/* --- many warps --- */

/* Nobody waits, so nobody but the posters can ring. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM, enum doca_gpu_dev_verbs_exec_scope ES>
__global__ void put_and_leave(struct doca_gpu_dev_verbs_qp *qp, group_memory *m, uint32_t ops)
{
	uint32_t t = threadIdx.x % 64;

	for (uint32_t i = 0; i < ops; i++)
		doca_gpu_dev_verbs_put<RSM, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, ES>(
			qp, at_remote(&m->to[t]), at_local(&m->from[t]), 8);
}

/* The same by hand: reserve, build, mark ready, submit. */
__global__ void submit_and_leave(struct doca_gpu_dev_verbs_qp *qp, group_memory *m, uint32_t ops)
{
	uint32_t t = threadIdx.x % 64;

	for (uint32_t i = 0; i < ops; i++) {
		uint64_t idx = doca_gpu_dev_verbs_reserve_wq_slots<GPU>(qp, 1);

		doca_gpu_dev_verbs_wqe_prepare_write(
			qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)idx), (uint16_t)idx,
			DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
			DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, (uint64_t)&m->to[t],
			htobe32(toy_nic::rkey), (uint64_t)&m->from[t], htobe32(toy_nic::lkey), 8);
		doca_gpu_dev_verbs_mark_wqes_ready<GPU>(qp, idx, idx);
		if ((t + i) % 5 == 0)
			doca_gpu_dev_verbs_put<GPU>(qp, at_remote(&m->to[t]), at_local(&m->from[t]),
						    8);
		doca_gpu_dev_verbs_submit<GPU>(qp, idx + 1);
	}
}

typedef void (*leave_kernel)(struct doca_gpu_dev_verbs_qp *, group_memory *, uint32_t);

static void check_all_announced(leave_kernel kernel, dim3 grid, dim3 block,
				enum doca_gpu_dev_verbs_nic_handler handler, uint64_t seed)
{
	toy_nic nic(1024, 65500, handler);
	group_memory m;

	simt_attach(poll_nic, &nic);
	run_kernel(grid, block, seed, kernel, &nic.qp, &m, 3u);
	simt_detach(poll_nic, &nic);
	while (nic.poll() != 0)
		;
	expect_no_fault(nic);
	cr_assert_eq(nic.next, nic.qp.sq_rsvd_index, "seed %llu: %llu of %llu announced",
		     (unsigned long long)seed, (unsigned long long)(nic.next - 65500),
		     (unsigned long long)(nic.qp.sq_rsvd_index - 65500));
	cr_assert_eq(nic.qp.sq_wqe_pi, nic.next);
	cr_assert_eq(nic.qp.sq_lock, 0);
}

#if defined(__SANITIZE_THREAD__) /* many times slower */
static const uint64_t seeds = 10;
#else
static const uint64_t seeds = 100;
#endif

/* A request left to who holds the lock is never lost, and no doorbell goes back. */
Test(device_group, a_doorbell_left_to_another_thread_is_rung)
{
	constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
	constexpr auto WARP = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;

	for (uint64_t seed = 1; seed <= seeds; seed++)
		for (auto handler : {DB, NO_DBR, PROXY}) {
			/* one thread a warp: as many who submit as can be */
			check_all_announced(put_and_leave<GPU, THREAD>, 24, 1, handler, seed);
			check_all_announced(put_and_leave<GPU, THREAD>, 2, 64, handler, seed);
			check_all_announced(put_and_leave<CTA, WARP>, 1, 96, handler, seed);
			check_all_announced(submit_and_leave, 4, 6, handler, seed);
		}
}

/* The straight path, as docs/sass.md lists it. */
Test(device_group, a_put_of_a_warp_costs_what_the_docs_say)
{
	toy_nic nic(64);
	group_memory m;
	static int kinds[SIMT_ACCESS_WEAK_WRITE + 1];

	memset(kinds, 0, sizeof(kinds));
	simt_set_mem_observer(
		[](void *, const struct simt_access *a) {
			/* a fence for one thread is no instruction */
			kinds[a->kind] +=
				a->kind != SIMT_ACCESS_FENCE || a->scope != SIMT_SCOPE_THREAD;
		},
		nullptr);
	run_kernel(1, 32, 1, put_and_leave<GPU, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>, &nic.qp, &m,
		   1u);
	simt_set_mem_observer(nullptr, nullptr);
	cr_assert_eq(kinds[SIMT_ACCESS_RMW], 5, "reserve, ready, ask, index, leave");
	cr_assert_eq(kinds[SIMT_ACCESS_LD], 3, "two indices and the error word");
	cr_assert_eq(kinds[SIMT_ACCESS_FENCE], 4);
	cr_assert_eq(kinds[SIMT_ACCESS_WEAK_WRITE], 32 * 3, "three segments a lane");
	cr_assert_eq(kinds[SIMT_ACCESS_ST], 1, "the record");
	cr_assert_eq(kinds[SIMT_ACCESS_MMIO_ST], 1, "the doorbell");
}

/* 64 warps post while the NIC looks away. */
Test(device_group, many_warps_ring_at_most_once_each)
{
	toy_nic nic(4096);
	group_memory m;
	static uint64_t stores;

	stores = 0;
	simt_set_mem_observer(
		[](void *ctx, const struct simt_access *a) {
			stores += a->kind == SIMT_ACCESS_MMIO_ST && a->addr == ctx;
		},
		nic.qp.sq_db);
	run_kernel(64, 32, 3, put_and_leave<GPU, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>, &nic.qp,
		   &m, 1u);
	simt_set_mem_observer(nullptr, nullptr);
	nic.budget = 4096;
	nic.poll();
	expect_no_fault(nic);
	cr_assert_eq(nic.next, 64 * 32);
	cr_assert_leq(stores, 64, "%llu doorbells for 64 warps", (unsigned long long)stores);
}

Test(device_group, who_finds_another_ringing_leaves_its_request_and_goes)
{
	constexpr auto SS = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;

	for (auto handler : {DB, NO_DBR, PROXY}) {
		toy_nic nic(64, 65533, handler);
		group_memory m;

		nic.qp.sq_lock = 1; /* another thread rings just now */
		for (int i = 0; i < 5; i++)
			doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&m.to[i]),
						    at_local(&m.from[i]), 8);
		nic.poll();
		cr_assert_eq(nic.announced, 65533, "left to that thread");
		cr_assert_eq(nic.qp.sq_lock, 6);
		gdakit_ring_for_others<GPU, SS>(&nic.qp, 65533, gdakit_qp_ring_way(&nic.qp));
		nic.poll();
		cr_assert_eq(nic.announced, 65538, "which serves all five");
		cr_assert_eq(nic.rung, 1);
		cr_assert_eq(nic.qp.sq_lock, 0);
		expect_no_fault(nic);
	}
}

/* --- several queues at once --- */

__global__ void submit_crosswise(struct doca_gpu_dev_verbs_qp *a, struct doca_gpu_dev_verbs_qp *b)
{
	for (uint64_t i = 1; i <= 20; i++) {
		bool swap = (threadIdx.x + blockIdx.x) % 2;
		struct doca_gpu_dev_verbs_qp *qps[2] = {swap ? a : b, swap ? b : a};
		uint64_t prods[2] = {i, i};

		doca_gpu_dev_verbs_submit_multi_qps<2, GPU>(qps, prods);
	}
}

Test(device_group, two_submitters_of_the_same_queues_in_different_order_do_not_block)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		toy_nic a(64), b(64);

		run_kernel(2, 2, seed, submit_crosswise, &a.qp, &b.qp);
		cr_assert_eq(a.qp.sq_wqe_pi, 20);
		cr_assert_eq(b.qp.sq_wqe_pi, 20);
		cr_assert_eq(a.doorbell, doca_gpu_dev_verbs_prepare_db(&a.qp, 20));
		cr_assert_eq(b.doorbell, doca_gpu_dev_verbs_prepare_db(&b.qp, 20));
	}
}
