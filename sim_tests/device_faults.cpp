/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults that GPUNetIO's device code has and ours must not, as far as no other test is about them;
 * docs/compatibility.md lists all of them with their tests.
 */
#include <criterion/criterion.h>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "device_run.h"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto PROXY = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;

/* Numbers of the accesses that matter, in the order in which they came. */
struct watched {
	toy_nic *nic;
	int now = 0;
	int last_wqe_write = 0, first_release = 0, sys_release = 0, ready = 0, record = 0;
	int word_stores = 0;

	explicit watched(toy_nic *nic_) : nic(nic_)
	{
		simt_set_mem_observer(
			[](void *ctx, const struct simt_access *a) {
				static_cast<watched *>(ctx)->see(a);
			},
			this);
	}

	~watched()
	{
		simt_set_mem_observer(nullptr, nullptr);
	}

	void see(const struct simt_access *a)
	{
		now++;
		if (a->kind == SIMT_ACCESS_WEAK_WRITE)
			last_wqe_write = now;
		if (a->kind == SIMT_ACCESS_FENCE && a->order == SIMT_RELEASE) {
			if (first_release == 0)
				first_release = now;
			if (sys_release == 0 && a->scope == SIMT_SCOPE_SYS)
				sys_release = now;
		}
		if (a->addr == &nic->qp.sq_ready_index && a->kind == SIMT_ACCESS_RMW)
			ready = now;
		if (a->addr == nic->qp.sq_dbrec)
			record = now;
		word_stores += a->addr == &nic->proxy_word;
	}
};

Test(device_faults, inline_data_is_written_through_the_same_stores_and_before_the_release)
{
	toy_nic nic(4);
	uint64_t target;
	watched w(&nic);

	doca_gpu_dev_verbs_p<uint64_t, GPU>(&nic.qp, at_remote(&target), 7);
	cr_assert(w.last_wqe_write != 0 && w.last_wqe_write < w.first_release);
	cr_assert_lt(w.first_release, w.record);
	/* header and data apart: the data, too, is seen as a store to the WQE */
	int before = w.last_wqe_write;

	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(
		&nic.qp, doca_gpu_dev_verbs_get_wqe_ptr(&nic.qp, 1), (uint32_t)9);
	cr_assert_gt(w.last_wqe_write, before);
}

Test(device_faults, payload_outside_the_gpu_is_released_to_the_system_before_it_is_handed_on)
{
	toy_nic nic(4);
	uint64_t from, to;
	watched w(&nic);

	doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&to), at_local(&from), 8);
	cr_assert_eq(w.sys_release, 0, "nothing lies outside the GPU");
	doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&to), at_local(&from), 8,
				    GDAKIT_GPU_CODE_OPT_HOST_PAYLOAD);
	cr_assert(w.sys_release != 0 && w.sys_release < w.ready);
}

Test(device_faults, a_proxy_is_told_once)
{
	toy_nic nic(4, 0, PROXY);
	uint64_t from, to;
	watched w(&nic);

	doca_gpu_dev_verbs_put<EXCLUSIVE>(&nic.qp, at_remote(&to), at_local(&from), 8);
	cr_assert_eq(w.word_stores, 1);
	doca_gpu_dev_verbs_put<GPU>(&nic.qp, at_remote(&to), at_local(&from), 8);
	cr_assert_eq(w.word_stores, 2);
}

Test(device_faults, a_collapsed_wait_of_one_owner_behind_a_proxy_comes_back)
{
	toy_nic nic(4, 0, PROXY);

	nic.collapsed = true;
	nic.move_data = false;
	/* without CPU_PROXY_UPDATE_PI */
	doca_gpu_dev_verbs_put<EXCLUSIVE>(&nic.qp, at_remote(&nic), at_local(&nic), 8);
	nic.poll();
	cr_assert_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at_until<EXCLUSIVE>(&nic.qp, 0, 0), 0);
}

template <unsigned int BYTES>
struct odd_value {
	uint8_t byte[BYTES];
};

template <unsigned int BYTES>
static void check_value()
{
	toy_nic nic(4);
	odd_value<BYTES> value;
	uint8_t target[32];

	memset(target, 0xee, sizeof(target));
	for (unsigned int i = 0; i < BYTES; i++)
		value.byte[i] = (uint8_t)(i * 3 + 1);
	doca_gpu_dev_verbs_p<odd_value<BYTES>, GPU>(&nic.qp, at_remote(target), value);
	nic.poll();
	expect_no_fault(nic);
	cr_assert_eq(memcmp(target, value.byte, BYTES), 0);
	for (unsigned int i = BYTES; i < sizeof(target); i++)
		cr_assert_eq(target[i], 0xee, "byte %u behind a value of %u", i, BYTES);
}

Test(device_faults, a_value_of_any_size_arrives_whole_and_no_more)
{
	check_value<1>();
	check_value<3>();
	check_value<5>();
	check_value<7>();
	check_value<8>();
	check_value<12>();
	check_value<13>();
	check_value<16>();
	check_value<28>();
}
