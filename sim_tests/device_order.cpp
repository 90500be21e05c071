/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of what the headers do, as the executor's observer sees it: a release of sufficient
 * scope between a WQE and whatever tells the NIC about it, and an acquire after a CQE.
 */
#include <criterion/criterion.h>
#include <vector>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "device_toy_nic.h"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto CTA = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;

/* Accesses in order; run outside a kernel, on this thread. */
struct recording {
	std::vector<simt_access> log;

	recording()
	{
		simt_set_mem_observer(
			[](void *ctx, const struct simt_access *a) {
				static_cast<recording *>(ctx)->log.push_back(*a);
			},
			this);
	}

	~recording()
	{
		simt_set_mem_observer(nullptr, nullptr);
	}

	/* index of the n-th access of that kind to `addr` (NULL: any), or -1 */
	int find(simt_access_kind kind, const void *addr, int from = 0)
	{
		for (size_t i = (size_t)from; i < log.size(); i++)
			if (log[i].kind == kind && (addr == nullptr || log[i].addr == addr))
				return (int)i;
		return -1;
	}

	int find_last(simt_access_kind kind)
	{
		for (size_t i = log.size(); i-- > 0;)
			if (log[i].kind == kind)
				return (int)i;
		return -1;
	}

	/* a release (or acquire) fence of at least that scope strictly between two accesses */
	bool fence_between(int from, int to, simt_order order, simt_scope scope)
	{
		for (int i = from + 1; i < to; i++)
			if (log[(size_t)i].kind == SIMT_ACCESS_FENCE &&
			    (log[(size_t)i].order == order ||
			     log[(size_t)i].order == SIMT_ACQ_REL) &&
			    log[(size_t)i].scope >= scope)
				return true;
		return false;
	}
};

template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM>
static void put_one(toy_nic *nic)
{
	static uint64_t local, remote;
	doca_gpu_dev_verbs_ticket_t ticket;
	struct doca_gpu_dev_verbs_addr raddr = {(uint64_t)&remote, htobe32(toy_nic::rkey)};
	struct doca_gpu_dev_verbs_addr laddr = {(uint64_t)&local, htobe32(toy_nic::lkey)};

	doca_gpu_dev_verbs_put<RSM>(&nic->qp, raddr, laddr, 8, &ticket);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RSM>
static void check_put(enum doca_gpu_dev_verbs_mem_type mem_type, simt_scope scope)
{
	toy_nic nic(4);
	recording r;

	nic.qp.mem_type = mem_type;
	put_one<RSM>(&nic);
	int wqe = r.find_last(SIMT_ACCESS_WEAK_WRITE);
	int record = r.find(SIMT_ACCESS_ST, nic.qp.sq_dbrec);
	int doorbell = r.find(SIMT_ACCESS_MMIO_ST, nic.qp.sq_db);

	cr_assert(wqe >= 0 && record > wqe && doorbell > record, "WQE, record, doorbell: %d %d %d",
		  wqe, record, doorbell);
	cr_assert_eq(r.find(SIMT_ACCESS_MMIO_ST, nullptr, doorbell + 1), -1, "one doorbell");
	cr_assert(r.fence_between(wqe, record, SIMT_RELEASE, scope));
	cr_assert(r.fence_between(record, doorbell, SIMT_RELEASE, scope));
}

Test(device_order, a_ring_in_gpu_memory_is_released_to_the_gpu_before_record_and_doorbell)
{
	check_put<EXCLUSIVE>(DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU, SIMT_SCOPE_GPU);
	check_put<CTA>(DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU, SIMT_SCOPE_GPU);
	check_put<GPU>(DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU, SIMT_SCOPE_GPU);
}

Test(device_order, a_ring_elsewhere_is_released_to_the_system)
{
	check_put<EXCLUSIVE>(DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST, SIMT_SCOPE_SYS);
	check_put<CTA>(DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST, SIMT_SCOPE_SYS);
	check_put<GPU>(DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST, SIMT_SCOPE_SYS);
	check_put<GPU>(DOCA_GPUNETIO_VERBS_MEM_TYPE_AUTO, SIMT_SCOPE_SYS);
}

Test(device_order, the_proxy_is_told_after_a_system_wide_release)
{
	toy_nic nic(4, 0, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	recording r;

	put_one<GPU>(&nic);
	int wqe = r.find_last(SIMT_ACCESS_WEAK_WRITE);
	int word = r.find(SIMT_ACCESS_RMW, &nic.proxy_word);

	cr_assert(wqe >= 0 && word > wqe);
	cr_assert(r.fence_between(wqe, word, SIMT_RELEASE, SIMT_SCOPE_SYS));
	cr_assert_eq(r.log[(size_t)word].scope, SIMT_SCOPE_SYS);
	cr_assert_eq(r.find(SIMT_ACCESS_MMIO_ST, nullptr), -1, "only the host rings");
	cr_assert_eq(nic.proxy_word, 1);
}

Test(device_order, scope_sys_on_submit_widens_the_release)
{
	toy_nic nic(4);
	recording r;

	doca_gpu_dev_verbs_submit<EXCLUSIVE, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(&nic.qp, 1);
	int doorbell = r.find(SIMT_ACCESS_MMIO_ST, nic.qp.sq_db);

	cr_assert(r.fence_between(-1, doorbell, SIMT_RELEASE, SIMT_SCOPE_SYS));
}

Test(device_order, a_completion_is_acquired_from_the_system_before_it_is_reported)
{
	toy_nic nic(4);

	nic.move_data = false;
	put_one<GPU>(&nic);
	while (nic.poll() != 0)
		;
	recording r;

	cr_assert_eq(doca_gpu_dev_verbs_poll_one_cq_at<GPU>(&nic.qp.cq_sq, 0), 0);
	int cqe = r.find(SIMT_ACCESS_LD, nic.cqe(0) + 60);
	int known = r.find(SIMT_ACCESS_RMW, &nic.qp.cq_sq.cqe_ci);

	cr_assert(cqe >= 0 && known > cqe);
	cr_assert(r.fence_between(cqe, known, SIMT_ACQUIRE, SIMT_SCOPE_SYS));
	/* who reads cqe_ci instead of the CQE gets it handed on */
	cr_assert_eq(r.log[(size_t)known].order, SIMT_RELEASE);
	cr_assert_eq(r.log[(size_t)known].scope, SIMT_SCOPE_GPU);
}

template <enum doca_gpu_dev_verbs_qp_ready_mode MODE>
static void check_ready()
{
	uint64_t ready = 5;
	recording r;

	doca_gpu_dev_common_mark_wqes_ready<CTA, MODE>(ready, 5, 7);
	cr_assert_eq(ready, 8);
	int last = (int)r.log.size() - 1;
	bool by_cas = MODE == DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS;
	int publish = by_cas ? r.find(SIMT_ACCESS_RMW, &ready) : r.find(SIMT_ACCESS_ST, &ready);

	cr_assert(publish >= 0);
	if (by_cas) {
		cr_assert(r.fence_between(-1, publish, SIMT_RELEASE, SIMT_SCOPE_CTA));
		cr_assert(r.fence_between(publish, last + 1, SIMT_ACQUIRE, SIMT_SCOPE_CTA));
	} else {
		/* acquire from the predecessor first, so that the release carries it along */
		int seen = r.find(SIMT_ACCESS_LD, &ready);

		cr_assert(r.fence_between(seen, publish, SIMT_ACQUIRE, SIMT_SCOPE_CTA));
		cr_assert_eq(r.log[(size_t)publish].order, SIMT_RELEASE);
	}
}

Test(device_order, handing_over_ready_wqes_passes_on_what_earlier_threads_wrote)
{
	check_ready<DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>();
	check_ready<DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST>();
	check_ready<DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>();
}

Test(device_order, a_lock_acquires_and_its_release_releases)
{
	int lock = 0;
	recording r;

	doca_gpu_dev_verbs_lock<GPU>(&lock);
	cr_assert_eq(lock, 1);
	cr_assert(r.fence_between(r.find(SIMT_ACCESS_RMW, &lock), (int)r.log.size(), SIMT_ACQUIRE,
				  SIMT_SCOPE_GPU));
	doca_gpu_dev_verbs_unlock<GPU>(&lock);
	cr_assert_eq(lock, 0);
	cr_assert_eq(r.log.back().order, SIMT_RELEASE);
	cr_assert_eq(r.log.back().scope, SIMT_SCOPE_GPU);
}
