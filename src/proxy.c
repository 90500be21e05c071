/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CPU proxy: rings doorbells for kernels that cannot. A step compares the producer index that
 * the kernel published with the last one rung, and does what the PRM asks of a poster: the doorbell
 * record first, then the register. A service is a thread that steps many QPs.
 */
#include <assert.h>
#include <endian.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "export.h"
#include "log.h"

enum {
	IDLE_STEPS_BEFORE_SLEEP = 2000, /* rounds without work that only yield */
	IDLE_SLEEP_MIN_US = 20,		/* doubles while nothing comes ... */
	IDLE_SLEEP_MAX_US = 1000,	/* ... up to what a first doorbell may wait */
};

/* ---- One step ---- */

/*
 * The NIC reads the record when it sees the doorbell: the record must be in memory by then.
 * Register pages are mapped uncached or write-combining, which ordinary release ordering does not
 * cover.
 */
static inline void record_before_register(void)
{
#if defined(__x86_64__)
	__asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb st" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/*
 * The doorbell's 8 bytes, as they lie in memory: be32 index << 8, be32 QPN << 8. The index is the
 * WQE's of 16 bits, like the one in the control segment that a poster rings with (PRM, Doorbell
 * Ring); above it lies another field.
 */
static uint64_t doorbell(uint32_t pi, uint32_t qpn_shift8_be)
{
	return (uint64_t)qpn_shift8_be << 32 | htobe32((pi & DOCA_GPUNETIO_VERBS_WQE_PI_MASK) << 8);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "doorbell() puts the index first");

static bool step(struct exported_qp *e, const uint64_t *index)
{
	struct doca_gpu_verbs_qp *qp = &e->pub;
	/* Acquire: the WQEs below the index were written before it was. */
	uint32_t pi = (uint32_t)__atomic_load_n(index, __ATOMIC_ACQUIRE);

	if (pi == (uint32_t)qp->sq_wqe_pi_last)
		return false;
	if (e->writes_record)
		__atomic_store_n(qp->sq_dbrec, htobe32(pi & DOCA_GPUNETIO_VERBS_WQE_PI_MASK),
				 __ATOMIC_RELEASE);
	record_before_register();
	__atomic_store_n(qp->sq_db, doorbell(pi, qp->sq_num_shift8_be), __ATOMIC_RELAXED);
	qp->sq_wqe_pi_last = pi;
	return true;
}

/* A step by whoever comes first; a second thread at the same time has nothing to do. */
static bool try_step(struct exported_qp *e)
{
	bool progressed = false;
	uint64_t *index;

	if (atomic_flag_test_and_set_explicit(&e->is_stepping, memory_order_acquire))
		return false;
	index = __atomic_load_n(&e->pub.cpu_db, __ATOMIC_ACQUIRE);
	if (index)
		progressed = step(e, index);
	atomic_flag_clear_explicit(&e->is_stepping, memory_order_release);
	return progressed;
}

doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp_cpu,
					       bool *out_progressed)
{
	struct exported_qp *e = exported(qp_cpu);
	bool progressed;

	if (!qp_cpu)
		return DOCA_ERROR_INVALID_VALUE;
	if (e->proxy == PROXY_NONE)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!__atomic_load_n(&qp_cpu->cpu_db, __ATOMIC_ACQUIRE))
		return DOCA_ERROR_BAD_STATE;
	progressed = try_step(e);
	if (out_progressed)
		*out_progressed = progressed;
	return DOCA_SUCCESS;
}

/* ---- The service ---- */

struct proxy_service {
	pthread_t thread;
	pthread_mutex_t lock; /* guards qps and the QPs' service and next */
	struct exported_qp *qps;
	atomic_uint waiting; /* callers that want the lock: the thread lets them have it */
	atomic_bool stop;
};

static pthread_mutex_t membership_lock = PTHREAD_MUTEX_INITIALIZER; /* a QP's service pointer */

static void lock_service(struct proxy_service *s)
{
	atomic_fetch_add(&s->waiting, 1);
	pthread_mutex_lock(&s->lock);
	atomic_fetch_sub(&s->waiting, 1);
}

static bool step_all(struct proxy_service *s)
{
	bool progressed = false;

	pthread_mutex_lock(&s->lock);
	for (struct exported_qp *e = s->qps; e; e = e->next)
		progressed |= try_step(e);
	pthread_mutex_unlock(&s->lock);
	return progressed;
}

static void *run_service(void *arg)
{
	struct proxy_service *s = arg;
	long sleep_us = IDLE_SLEEP_MIN_US;
	unsigned int idle = 0;

	while (!atomic_load(&s->stop)) {
		while (atomic_load(&s->waiting))
			sched_yield();
		if (step_all(s)) {
			idle = 0;
			sleep_us = IDLE_SLEEP_MIN_US;
		} else if (++idle < IDLE_STEPS_BEFORE_SLEEP) {
			sched_yield();
		} else {
			nanosleep(&(struct timespec){.tv_nsec = sleep_us * 1000}, NULL);
			sleep_us =
				sleep_us < IDLE_SLEEP_MAX_US / 2 ? sleep_us * 2 : IDLE_SLEEP_MAX_US;
		}
	}
	return NULL;
}

doca_error_t doca_gpu_verbs_create_service(doca_gpu_verbs_service_t *out_service)
{
	struct proxy_service *s;
	int rc;

	if (!out_service)
		return DOCA_ERROR_INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return DOCA_ERROR_NO_MEMORY;
	pthread_mutex_init(&s->lock, NULL);
	rc = pthread_create(&s->thread, NULL, run_service, s);
	if (rc) {
		ENGINE_ERR("proxy service: pthread_create: error %d", rc);
		pthread_mutex_destroy(&s->lock);
		free(s);
		return DOCA_ERROR_OPERATING_SYSTEM;
	}
	*out_service = s;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_service_monitor_qp(doca_gpu_verbs_service_t service,
					       struct doca_gpu_verbs_qp *qp)
{
	struct proxy_service *s = service;
	struct exported_qp *e = exported(qp);
	doca_error_t status = DOCA_SUCCESS;

	if (!s || !qp)
		return DOCA_ERROR_INVALID_VALUE;
	if (e->proxy == PROXY_NONE)
		return DOCA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&membership_lock);
	if (e->service) {
		status = DOCA_ERROR_ALREADY_EXIST;
	} else {
		lock_service(s);
		e->service = s;
		e->next = s->qps;
		s->qps = e;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&membership_lock);
	return status;
}

void proxy_forget(struct exported_qp *qp)
{
	struct exported_qp **link;
	struct proxy_service *s;

	pthread_mutex_lock(&membership_lock);
	s = qp->service;
	if (s) {
		lock_service(s);
		for (link = &s->qps; *link != qp; link = &(*link)->next)
			assert(*link); /* a QP with a service is in its list */
		*link = qp->next;
		qp->service = NULL;
		qp->next = NULL;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&membership_lock);
}

doca_error_t doca_gpu_verbs_destroy_service(doca_gpu_verbs_service_t service)
{
	struct proxy_service *s = service;

	if (!s)
		return DOCA_ERROR_INVALID_VALUE;
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&membership_lock);
	while (s->qps) {
		struct exported_qp *e = s->qps;

		s->qps = e->next;
		e->service = NULL;
		e->next = NULL;
	}
	pthread_mutex_unlock(&membership_lock);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return DOCA_SUCCESS;
}
