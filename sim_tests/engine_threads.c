/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine promises to several threads: memory of one GPU, doorbell pages, and the proxy
 * beside creation, device handles and destruction. A plain program, so that it runs under
 * ThreadSanitizer, where Criterion does not. Exit code 0: all as expected.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "engine_fake.h"
#include "export.h"
#include "host/doca_gpunetio_high_level.h"
#include "log.h"

enum { THREADS = 3, ROUNDS = 300, DEPTH = 16 };

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static struct doca_gpu *gpu;
static uint64_t page[512] __attribute__((aligned(4096)));

static void in_threads(void *(*fn)(void *))
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, fn, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void *allocate(void *arg)
{
	void *dev[8], *cpu;

	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 8; i++) {
			CHECK(doca_gpu_mem_alloc(gpu, 64 + (size_t)i, 0, DOCA_GPU_MEM_TYPE_CPU_GPU,
						 &dev[i], &cpu) == DOCA_SUCCESS);
			memset(cpu, i, 64);
		}
		for (int i = 0; i < 8; i++)
			CHECK(doca_gpu_mem_free(gpu, dev[i]) == DOCA_SUCCESS);
	}
	return NULL;
}

static void *map_registers(void *arg)
{
	uint64_t *a, *b;

	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(uar_map(&gpu->mem, &page[256], &a) == DOCA_SUCCESS);
		CHECK(uar_map(&gpu->mem, &page[288], &b) == DOCA_SUCCESS);
		CHECK(b == a + 32);
		CHECK(uar_unmap(b) == DOCA_SUCCESS);
		CHECK(uar_unmap(a) == DOCA_SUCCESS);
	}
	return NULL;
}

struct kernel {
	struct doca_gpu_verbs_qp *qp;
	atomic_bool stop;
};

/* Publishes indices, and steps the proxy beside the service: either may win. */
static void *post(void *arg)
{
	struct kernel *k = arg;
	uint64_t pi = 0;

	while (!atomic_load(&k->stop)) {
		__atomic_store_n(k->qp->cpu_db, ++pi, __ATOMIC_RELEASE);
		CHECK(doca_gpu_verbs_cpu_proxy_progress(k->qp, NULL) == DOCA_SUCCESS);
		sched_yield();
	}
	return NULL;
}

static struct doca_gpu_verbs_qp_hl *make_hl(enum doca_gpu_dev_verbs_nic_handler handler,
					    enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {.gpu_dev = gpu,
						      .ibpd = &fake_pd,
						      .sq_nwqe = DEPTH,
						      .nic_handler = handler,
						      .send_dbr_mode_ext = ext};
	struct doca_gpu_verbs_qp_hl *hl = NULL;

	CHECK(doca_gpu_verbs_create_qp_hl(&attr, &hl) == DOCA_SUCCESS);
	return hl;
}

/* QPs come, get and lose device handles, and go while the service steps them and a busy one. */
static void proxy_beside_changes(void)
{
	struct doca_gpu_verbs_qp_hl *busy =
		make_hl(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY,
			DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR);
	struct kernel k = {.qp = busy->qp_gverbs};
	doca_gpu_verbs_service_t service;
	pthread_t kernel;

	CHECK(doca_gpu_verbs_create_service(&service) == DOCA_SUCCESS);
	CHECK(doca_gpu_verbs_service_monitor_qp(service, k.qp) == DOCA_SUCCESS);
	CHECK(pthread_create(&kernel, NULL, post, &k) == 0);
	for (int round = 0; round < ROUNDS / 3; round++) {
		struct doca_gpu_verbs_qp_hl *hl =
			make_hl(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
				DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED);
		struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;
		struct doca_gpu_dev_verbs_qp *array;

		CHECK(doca_gpu_verbs_service_monitor_qp(service, qp) == DOCA_SUCCESS);
		CHECK(doca_gpu_verbs_export_multi_qps_dev(gpu, &qp, 1, &array) == DOCA_SUCCESS);
		__atomic_store_n(&array[0].sq_wqe_pi, 1, __ATOMIC_RELEASE);
		CHECK(doca_gpu_verbs_unexport_multi_qps_dev(gpu, &qp, 1, array) == DOCA_SUCCESS);
		CHECK(doca_gpu_verbs_destroy_qp_hl(hl) == DOCA_SUCCESS);
	}
	atomic_store(&k.stop, true);
	pthread_join(kernel, NULL);
	CHECK(doca_gpu_verbs_destroy_service(service) == DOCA_SUCCESS);
	CHECK(doca_gpu_verbs_destroy_qp_hl(busy) == DOCA_SUCCESS);
}

/* ---- the log ---- */

enum { LOG_LINES = 200 };

static void *write_log(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOG_LINES; i++)
		ENGINE_LOG(LOG_EMERG, "line %d of a thread", i);
	return NULL;
}

/* Lines of several threads stay whole. */
static void log_lines(void)
{
	FILE *file = tmpfile();
	int old = dup(STDERR_FILENO), count = 0;
	char line[256];

	CHECK(file && old >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	in_threads(write_log);
	fflush(stderr);
	CHECK(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		int year, number, end = 0;

		CHECK(sscanf(line,
			     "%4d-%*2d-%*2d %*2d:%*2d:%*2d [EMERG] [engine_threads.c]: %*d: "
			     "write_log(): line %d of a thread%n",
			     &year, &number, &end) == 2);
		CHECK(end > 0 && line[end] == '\n');
		count++;
	}
	CHECK(count == THREADS * LOG_LINES);
	fclose(file);
}

int main(void)
{
	fake_reset();
	log_lines();
	CHECK(doca_gpu_create("cpu", &gpu) == DOCA_SUCCESS);
	in_threads(allocate);
	in_threads(map_registers);
	proxy_beside_changes();
	CHECK(fake.objects == 0 && fake.umems == 0 && fake.uars == 0);
	CHECK(doca_gpu_destroy(gpu) == DOCA_SUCCESS);
	printf("engine: threads ok\n");
	return 0;
}
