/* SPDX-License-Identifier: BSD-3-Clause */
/* Counted operations with a companion QP, several QPs at once, and BlueFlame. */
#include <criterion/criterion.h>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_counter.cuh"
#include "device_run.h"

constexpr auto EXCLUSIVE = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
constexpr auto GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;

/* A main and a companion queue; polled together. */
struct toy_pair {
	toy_nic main, companion;

	explicit toy_pair(uint32_t depth, uint64_t start = 0, uint32_t companion_depth = 0)
	    : main(depth, start), companion(companion_depth != 0 ? companion_depth : depth, start)
	{
		companion.awaited = &main;
	}

	static int poll(void *ctx)
	{
		toy_pair *p = static_cast<toy_pair *>(ctx);

		return p->main.poll() + p->companion.poll();
	}
};

struct memory {
	uint64_t data[32], remote[32], values[32], fetched[32], signal, old[32], count;
};

__global__ void counted(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_qp *companion,
			memory *m, int *status)
{
	uint32_t t = threadIdx.x;
	auto count = at_remote(&m->count), old = at_local(&m->old[t]);

	doca_gpu_dev_verbs_put_counter<GPU>(qp, at_remote(&m->remote[t]), at_local(&m->data[t]), 8,
					    companion, count, old, 1);
	doca_gpu_dev_verbs_p_counter<uint64_t, GPU>(qp, at_remote(&m->values[t]), t + 7ull,
						    companion, count, old, 10);
	doca_gpu_dev_verbs_put_signal_counter<ADD, GPU>(
		qp, at_remote(&m->remote[t]), at_local(&m->data[t]), 8, at_remote(&m->signal), old,
		1, companion, count, old, 100);
	doca_gpu_dev_verbs_signal_counter<ADD, GPU>(qp, at_remote(&m->signal), old, 1000, companion,
						    count, old, 1000);
	doca_gpu_dev_verbs_get_counter<GPU>(qp, at_remote(&m->values[t]), at_local(&m->fetched[t]),
					    8, companion, count, old, 10000);
	status[t] = doca_gpu_dev_verbs_wait<GPU>(companion) | doca_gpu_dev_verbs_wait<GPU>(qp);
}

Test(device_counter, every_counted_operation_counts_once)
{
	for (uint32_t depth : {2u, 256u}) {
		toy_pair pair(depth, 65500);
		memory m = {};
		int status[32];
		simt_launch_config cfg = {};

		for (uint64_t i = 0; i < 32; i++)
			m.data[i] = i * 5 + 3;
		cfg.block = dim3(32);
		cfg.watchdog_ms = 20000;
		cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
		simt_attach(toy_pair::poll, &pair);
		cr_assert_eq(simt_launch_kernel(cfg, counted, &pair.main.qp, &pair.companion.qp, &m,
						status),
			     SIMT_SUCCESS);
		cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
		simt_detach(toy_pair::poll, &pair);
		simt_stream_destroy(cfg.stream);
		cr_assert_eq(pair.main.faults.load(), 0, "%s", pair.main.first_fault.c_str());
		cr_assert_eq(pair.companion.faults.load(), 0, "%s",
			     pair.companion.first_fault.c_str());
		cr_assert_eq(m.count, 32 * 11111);
		cr_assert_eq(m.signal, 32 * 1001);
		for (uint64_t t = 0; t < 32; t++) {
			cr_assert_eq(status[t], 0);
			cr_assert_eq(m.remote[t], t * 5 + 3);
			cr_assert_eq(m.fetched[t], t + 7);
		}
	}
}

__global__ void counted_unannounced(struct doca_gpu_dev_verbs_qp *qp,
				    struct doca_gpu_dev_verbs_qp *companion, memory *m, int *status)
{
	for (uint32_t t = 0; t < 32; t++)
		doca_gpu_dev_verbs_put_counter<GPU>(
			qp, at_remote(&m->remote[t]), at_local(&m->data[t]), 8, companion,
			at_remote(&m->count), at_local(&m->old[t]), 1,
			DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING);
	*status = doca_gpu_dev_verbs_wait<GPU>(companion);
}

Test(device_counter, a_full_companion_does_not_wait_for_what_nobody_announced)
{
	toy_pair pair(64, 0, 2);
	memory m = {};
	int status = -1;
	simt_launch_config cfg = {};

	cfg.watchdog_ms = 5000;
	cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
	simt_attach(toy_pair::poll, &pair);
	cr_assert_eq(simt_launch_kernel(cfg, counted_unannounced, &pair.main.qp, &pair.companion.qp,
					&m, &status),
		     SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
	simt_detach(toy_pair::poll, &pair);
	simt_stream_destroy(cfg.stream);
	cr_assert_eq(status, 0);
	cr_assert_eq(m.count, 32);
}

Test(device_counter, the_counter_waits_for_the_operation_also_after_a_reset)
{
	toy_pair pair(16);
	memory m = {};

	/* the main QP was reset after 40 CQEs: its CQ counts on */
	pair.main.qp.cq_sq.cqe_rsvd = 40;
	doca_gpu_dev_verbs_put_counter<EXCLUSIVE>(&pair.main.qp, at_remote(&m.remote[0]),
						  at_local(&m.data[0]), 8, &pair.companion.qp,
						  at_remote(&m.count), at_local(&m.old[0]), 1);
	for (int i = 0; i < 5; i++)
		pair.companion.poll();
	cr_assert_eq(m.count, 0, "counted before the put was done");
	pair.main.poll();
	pair.companion.poll();
	cr_assert_eq(m.count, 1);
	cr_assert_eq(pair.companion.faults.load(), 0, "%s", pair.companion.first_fault.c_str());
}

Test(device_counter, several_qps_are_announced_each_in_its_way)
{
	toy_nic a(4), b(4, 0, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	struct doca_gpu_dev_verbs_qp *qps[2] = {&a.qp, &b.qp};
	uint64_t prods[2] = {1, 2};

	doca_gpu_dev_verbs_submit_multi_qps<2, GPU>(qps, prods);
	cr_assert_eq(a.doorbell, doca_gpu_dev_verbs_prepare_db(&a.qp, 1));
	cr_assert_eq(b.proxy_word, 2);
}

/* --- BlueFlame --- */

struct blue_flame {
	toy_nic nic{4, 0, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF};
	alignas(64) uint64_t reg[8] = {};
	alignas(16) struct doca_gpu_dev_verbs_wqe wqe;

	blue_flame()
	{
		nic.qp.sq_db = reg;
		for (size_t i = 0; i < sizeof(wqe); i++)
			wqe.inl_data[i] = (uint8_t)(i + 1);
	}

	/* the register holds the WQE, and over its first word the doorbell that came last */
	void check()
	{
		cr_assert_eq(memcmp(reg + 1, wqe.inl_data + 8, 56), 0);
		cr_assert_eq(reg[0], doca_gpu_dev_verbs_prepare_db(&nic.qp, 1));
		cr_assert_eq(nic.dbrec[1], htobe32(1));
		cr_assert_eq(nic.qp.sq_wqe_pi, 1);
		cr_assert_eq(nic.qp.sq_lock, 0);
	}
};

struct stores {
	blue_flame *bf;
	int order = 0, record = 0, first_word = 0, last_other_word = 0;
	bool fence_after_record = false;
};

static void watch(void *ctx, const struct simt_access *a)
{
	stores *s = static_cast<stores *>(ctx);

	s->order++;
	if (a->addr == s->bf->nic.qp.sq_dbrec && a->kind == SIMT_ACCESS_ST)
		s->record = s->order;
	else if (a->kind == SIMT_ACCESS_FENCE && a->order == SIMT_RELEASE && s->record != 0 &&
		 s->last_other_word == 0)
		s->fence_after_record = true;
	else if (a->addr == s->bf->reg && s->first_word == 0)
		s->first_word = s->order;
	else if (a->kind == SIMT_ACCESS_MMIO_ST && a->addr > s->bf->reg)
		s->last_other_word = s->order;
}

Test(device_counter, a_blue_flame_write_follows_the_record_and_ends_with_its_first_word)
{
	blue_flame bf;
	stores s;

	s.bf = &bf;
	simt_set_mem_observer(watch, &s);
	doca_gpu_dev_verbs_submit_bf<EXCLUSIVE>(&bf.nic.qp, 1, &bf.wqe);
	simt_set_mem_observer(nullptr, nullptr);
	bf.check();
	cr_assert(s.record != 0 && s.fence_after_record && s.last_other_word > s.record);
	cr_assert_gt(s.first_word, s.last_other_word);
}

__global__ void submit_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe)
{
	doca_gpu_dev_verbs_submit_bf_warp<GPU>(qp, 1, wqe);
	/* the second time nothing is new */
	doca_gpu_dev_verbs_submit_bf_warp<GPU>(qp, 1, wqe);
}

Test(device_counter, a_warp_writes_a_blue_flame_register_together)
{
	blue_flame bf;
	simt_launch_config cfg = {};

	cfg.block = dim3(32);
	cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
	cr_assert_eq(simt_launch_kernel(cfg, submit_warp, &bf.nic.qp, &bf.wqe), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
	simt_stream_destroy(cfg.stream);
	bf.check();
}

Test(device_counter, submit_on_a_blue_flame_qp_rings_the_doorbell)
{
	blue_flame bf;

	doca_gpu_dev_verbs_submit<GPU>(&bf.nic.qp, 1);
	cr_assert_eq(bf.reg[0], doca_gpu_dev_verbs_prepare_db(&bf.nic.qp, 1));
	cr_assert_eq(bf.reg[1], 0);
}
