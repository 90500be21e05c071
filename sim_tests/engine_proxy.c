/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU proxy: one step, and the service. */
#include <criterion/criterion.h>
#include <endian.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "engine_fake.h"
#include "export.h"
#include "host/doca_gpunetio_high_level.h"

enum { DEPTH = 64 };

static struct doca_gpu *gpu;

static void start(void)
{
	fake_reset();
	cr_assert_eq(doca_gpu_create("cpu", &gpu), DOCA_SUCCESS);
}

static void stop(void)
{
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	cr_assert_eq(fake.objects + fake.umems + fake.uars, 0);
	cr_assert_eq(fake.blocks, 0);
}

TestSuite(engine_proxy, .init = start, .fini = stop);

static struct doca_gpu_verbs_qp_hl *make_hl(enum doca_gpu_dev_verbs_nic_handler handler,
					    enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {.gpu_dev = gpu,
						      .ibpd = &fake_pd,
						      .sq_nwqe = DEPTH,
						      .nic_handler = handler,
						      .send_dbr_mode_ext = ext};
	struct doca_gpu_verbs_qp_hl *hl = NULL;

	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_SUCCESS);
	return hl;
}

#define HANDLER(name) DOCA_GPUNETIO_VERBS_NIC_HANDLER_##name
#define MODE(name)    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_##name

static void rang(const struct doca_gpu_verbs_qp *qp, uint32_t pi)
{
	const uint8_t *reg = (const uint8_t *)qp->sq_db;

	cr_assert_eq(be32_at(reg, 0), (pi & 0xffff) << 8, "an index of 16 bits");
	cr_assert_eq(be32_at(reg, 4), doca_verbs_qp_get_qpn(qp->qp) << 8, "QPN");
}

Test(engine_proxy, a_step_rings_what_the_kernel_published_and_nothing_else)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(CPU_PROXY), MODE(VALID_DBR));
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;
	bool progressed = true;

	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(NULL, &progressed),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, &progressed), DOCA_SUCCESS);
	cr_assert_not(progressed);
	cr_assert_eq(*qp->sq_db, 0, "no doorbell without work");
	*qp->qp_cpu->sq_db = 5; /* as the kernel does: qp->sq_db is the shared word */
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, &progressed), DOCA_SUCCESS);
	cr_assert(progressed);
	rang(qp, 5);
	cr_assert_eq(be32toh(*qp->sq_dbrec), 5);
	*qp->sq_db = 0;
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, &progressed), DOCA_SUCCESS);
	cr_assert_not(progressed);
	cr_assert_eq(*qp->sq_db, 0, "once");
	*qp->qp_cpu->sq_db = 0x123456789;
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, NULL), DOCA_SUCCESS);
	rang(qp, 0x6789);
	cr_assert_eq(be32toh(*qp->sq_dbrec), 0x6789, "a record has 16 bits");
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_proxy, a_long_index_stays_in_its_field_of_the_register)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(CPU_PROXY), MODE(VALID_DBR));
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;

	*qp->qp_cpu->sq_db = 0x12345;
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, NULL), DOCA_SUCCESS);
	cr_assert_eq(be32_at((const uint8_t *)qp->sq_db, 0), 0x234500);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_proxy, without_record_only_the_register_is_written)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(CPU_PROXY), MODE(NO_DBR_HW));
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;

	*qp->qp_cpu->sq_db = 9;
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, NULL), DOCA_SUCCESS);
	rang(qp, 9);
	cr_assert_eq((uintptr_t)qp->sq_db & 0xfff, 0x600);
	cr_assert_eq(*qp->sq_dbrec, 0);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_proxy, an_emulated_mode_with_full_proxy_keeps_its_word)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(CPU_PROXY), MODE(NO_DBR_SW_EMULATED));
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;
	struct doca_gpu_dev_verbs_qp *dev;

	cr_assert_eq(doca_gpu_verbs_get_qp_dev(qp, &dev), DOCA_SUCCESS);
	cr_assert_eq(dev->sq_db, qp->cpu_db, "the kernel's word is the proxy's");
	*dev->sq_db = 3;
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, NULL), DOCA_SUCCESS);
	rang(qp, 3);
	cr_assert_eq(be32toh(*qp->sq_dbrec), 3, "an ordinary QP has a record");
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
	cr_assert_eq(gpu->allocation_count, 0);
}

Test(engine_proxy, the_record_follows_a_kernel_that_rings_itself)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(NO_DBR_SW_EMULATED));
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;
	struct doca_gpu_dev_verbs_qp *dev;
	bool progressed = false;

	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, NULL), DOCA_ERROR_BAD_STATE,
		     "no handle, nothing to follow");
	cr_assert_eq(doca_gpu_verbs_get_qp_dev(qp, &dev), DOCA_SUCCESS);
	dev->sq_wqe_pi = 7;
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qp, &progressed), DOCA_SUCCESS);
	cr_assert(progressed);
	rang(qp, 7);
	cr_assert_eq(be32toh(*qp->sq_dbrec), 7);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_proxy, a_qp_without_proxy_has_none)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(GPU_SM_DB), MODE(VALID_DBR));
	doca_gpu_verbs_service_t service;

	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(hl->qp_gverbs, NULL),
		     DOCA_ERROR_NOT_SUPPORTED);
	cr_assert_eq(doca_gpu_verbs_create_service(&service), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_service_monitor_qp(service, hl->qp_gverbs),
		     DOCA_ERROR_NOT_SUPPORTED);
	cr_assert_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

/* Waits until the register shows pi; a bound so that a failure ends. */
static bool wait_for_ring(const struct doca_gpu_verbs_qp *qp, uint32_t pi)
{
	static const struct timespec nap = {.tv_nsec = 1000000};

	for (int i = 0; i < 20000; i++) {
		uint64_t reg = __atomic_load_n(qp->sq_db, __ATOMIC_ACQUIRE);

		if (be32_at((const uint8_t *)&reg, 0) == (pi & 0xffff) << 8)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

Test(engine_proxy, a_service_rings_for_all_its_qps_until_they_leave)
{
	struct doca_gpu_verbs_qp_hl *hl[4];
	doca_gpu_verbs_service_t service, other;

	cr_assert_eq(doca_gpu_verbs_create_service(NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_create_service(&service), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_create_service(&other), DOCA_SUCCESS);
	for (int i = 0; i < 4; i++) {
		hl[i] = make_hl(HANDLER(CPU_PROXY), MODE(VALID_DBR));
		cr_assert_eq(doca_gpu_verbs_service_monitor_qp(service, hl[i]->qp_gverbs),
			     DOCA_SUCCESS);
	}
	cr_assert_eq(doca_gpu_verbs_service_monitor_qp(other, hl[0]->qp_gverbs),
		     DOCA_ERROR_ALREADY_EXIST);
	for (uint32_t pi = 1; pi <= 20; pi++) {
		for (int i = 0; i < 4; i++)
			__atomic_store_n(hl[i]->qp_gverbs->cpu_db, pi, __ATOMIC_RELEASE);
		for (int i = 0; i < 4; i++)
			cr_assert(wait_for_ring(hl[i]->qp_gverbs, pi), "QP %d, index %u", i, pi);
	}
	/* One leaves by being destroyed; the others are served on. */
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl[1]), DOCA_SUCCESS);
	__atomic_store_n(hl[3]->qp_gverbs->cpu_db, 21, __ATOMIC_RELEASE);
	cr_assert(wait_for_ring(hl[3]->qp_gverbs, 21));
	cr_assert_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_service_monitor_qp(other, hl[0]->qp_gverbs), DOCA_SUCCESS,
		     "free for another service");
	cr_assert_eq(doca_gpu_verbs_destroy_service(other), DOCA_SUCCESS);
	doca_gpu_verbs_destroy_qp_hl(hl[0]);
	doca_gpu_verbs_destroy_qp_hl(hl[2]);
	doca_gpu_verbs_destroy_qp_hl(hl[3]);
}

Test(engine_proxy, a_service_without_work_sleeps)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(CPU_PROXY), MODE(VALID_DBR));
	doca_gpu_verbs_service_t service;

	cr_assert_eq(doca_gpu_verbs_create_service(&service), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_service_monitor_qp(service, hl->qp_gverbs), DOCA_SUCCESS);
	for (int i = 0; i < 20000 && !__atomic_load_n(&fake.naps, __ATOMIC_RELAXED); i++)
		nanosleep(&nap, NULL);
	cr_assert_gt(__atomic_load_n(&fake.naps, __ATOMIC_RELAXED), 0);
	cr_assert_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

struct stepper {
	struct doca_gpu_verbs_qp *qp;
	unsigned int rang;
	atomic_bool *stop;
};

static void *step_until_stopped(void *arg)
{
	struct stepper *s = arg;
	bool progressed;

	while (!atomic_load(s->stop)) {
		cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(s->qp, &progressed), DOCA_SUCCESS);
		s->rang += progressed;
		sched_yield();
	}
	return NULL;
}

Test(engine_proxy, two_threads_ring_each_index_once)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(CPU_PROXY), MODE(VALID_DBR));
	atomic_bool stop = false;
	struct stepper s[2] = {{hl->qp_gverbs, 0, &stop}, {hl->qp_gverbs, 0, &stop}};
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, step_until_stopped, &s[i]), 0);
	for (uint32_t pi = 1; pi <= 100; pi++) {
		__atomic_store_n(hl->qp_gverbs->cpu_db, pi, __ATOMIC_RELEASE);
		cr_assert(wait_for_ring(hl->qp_gverbs, pi));
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	cr_assert_eq(s[0].rang + s[1].rang, 100);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}
