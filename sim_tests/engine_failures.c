/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call that the library makes of rdma-core, CUDA, GDRCopy, the allocator and pthread_create
 * fails once, in each scenario and variant of engine_scenarios.c. The call of the library in which
 * that happens says which kind of failure it was and leaves nothing behind; made again it succeeds,
 * also if it is one that destroys; and at the end nothing lives. Then the same with all calls
 * failing from one on, until the library says so: what it cannot give back then stays with the
 * driver.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine_fake.h"
#include "engine_scenarios.h"

enum { MAX_CALLS = 2000 }; /* of one scenario: a bound */

/* ---- What the library may answer ---- */

/* How a failure of a call below is reported; the default is DRIVER, and NO_MEMORY for ENOMEM. */
static const struct report {
	const char *call, *within; /* of the library: the beginning of its text, NULL: any */
	doca_error_t status;
} reports[] = {
	{"malloc", NULL, DOCA_ERROR_NO_MEMORY},
	{"calloc", NULL, DOCA_ERROR_NO_MEMORY},
	{"posix_memalign", NULL, DOCA_ERROR_NO_MEMORY},
	{"tsearch", NULL, DOCA_ERROR_NO_MEMORY},
	{"pthread_create", NULL, DOCA_ERROR_OPERATING_SYSTEM},
	{"DeviceGetByPCIBusId", NULL, DOCA_ERROR_NOT_FOUND},
	{"PrimaryCtxRetain", NULL, DOCA_ERROR_INITIALIZATION},
	{"StreamCreate", NULL, DOCA_ERROR_INITIALIZATION},
	{"CtxPushCurrent", "doca_gpu_create", DOCA_ERROR_INITIALIZATION},
	{"MemGetHandleForAddressRange", NULL, DOCA_ERROR_NOT_SUPPORTED},
};

/* Where a failure is no failure of the whole, and why. */
static const struct second_way {
	const char *call, *within;
} second_ways[] = {
	/* Another kind of doorbell page will do. */
	{"alloc_uar", "doca_gpu_verbs_create_qp"},
	{"alloc_uar", "doca_verbs_cq_create"},
	{"alloc_uar", "doca_verbs_qp_create"},
	/* Without a dma-buf, GPU memory is registered by address. */
	{"MemGetHandleForAddressRange", "doca_gpu_verbs_create_qp"},
	{"umem_reg_ex", "doca_gpu_verbs_create_qp"},
	{"calloc", "doca_gpu_verbs_create_qp"},		/* the struct of that registration */
	{"CtxPushCurrent", "doca_gpu_verbs_create_qp"}, /* for that dma-buf */
	/* A register that the GPU cannot map is the proxy's. */
	{"MemHostRegister", "doca_gpu_verbs_create_qp"},
	{"MemHostGetDevicePointer", "doca_gpu_verbs_create_qp"},
	{"MemHostRegister", "doca_gpu_verbs_export_qp"},
	{"MemHostGetDevicePointer", "doca_gpu_verbs_export_qp"},
	{"CtxPushCurrent", "doca_gpu_verbs_export_qp"},
	{"MemHostRegister", "doca_gpu_verbs_can_gpu_register_uar"},
	{"MemHostGetDevicePointer", "doca_gpu_verbs_can_gpu_register_uar"},
	{"CtxPushCurrent", "doca_gpu_verbs_can_gpu_register_uar"},
	/* Memory of which CUDA says nothing is the host's. */
	{"PointerGetAttribute", NULL},
	/* No context is current, or none of this GPU: the GPU's own is pushed. */
	{"CtxGetCurrent", NULL},
	{"CtxGetDevice", NULL},
	/* That there is an error is known without the CQ's reason. */
	{"malloc", "doca_gpu_verbs_query_last_error"},
	{"CtxPushCurrent", "doca_gpu_verbs_query_last_error"},
	{"MemcpyDtoHAsync", "doca_gpu_verbs_query_last_error"},
	{"StreamSynchronize", "doca_gpu_verbs_query_last_error"},
	/* What is given back for good is gone for the library, whatever the driver says. */
	{"destroy_ah", NULL},
	{"MemFree", NULL},
	{"MemHostUnregister", NULL},
	{"PrimaryCtxRelease", NULL},
	{"StreamDestroy", NULL},
	{"gdr_unmap", NULL},
	{"gdr_unpin_buffer", NULL},
	{"CtxPushCurrent", "doca_gpu_destroy"},
	{"CtxPushCurrent", "doca_gpu_mem_free"},
	{"CtxPushCurrent", "doca_gpu_verbs_destroy"},
	{"CtxPushCurrent", "doca_gpu_verbs_unexport"},
	{"CtxPushCurrent", "doca_gpu_verbs_qp_flat_list_destroy"},
};

static bool begins(const char *text, const char *with)
{
	return !with || strncmp(text, with, strlen(with)) == 0;
}

static bool has_second_way(const char *call, const char *within)
{
	for (size_t i = 0; i < sizeof(second_ways) / sizeof(second_ways[0]); i++)
		if (strcmp(second_ways[i].call, call) == 0 && begins(within, second_ways[i].within))
			return true;
	return false;
}

static doca_error_t expected_report(const char *call, const char *within)
{
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (strcmp(reports[i].call, call) == 0 && begins(within, reports[i].within))
			return reports[i].status;
	return fake.fail_errno == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

static bool gives_back(const char *within)
{
	return strstr(within, "_destroy") || strstr(within, "_unexport") ||
	       strstr(within, "_mem_free");
}

/* ---- What lives ---- */

struct living {
	int objects, umems, uars, ahs, blocks, descriptor;
	int allocations, registrations, mappings, contexts, streams, depth;
};

static struct living count_the_living(void)
{
	int next = dup(STDERR_FILENO); /* the first free descriptor */

	close(next);
	return (struct living){fake.objects,
			       fake.umems,
			       fake.uars,
			       fake.ahs,
			       fake.blocks,
			       next,
			       fake_cuda.allocations,
			       fake_cuda.registrations,
			       fake_cuda.mappings,
			       fake_cuda.contexts,
			       fake_cuda.streams,
			       fake_cuda.depth};
}

static void expect_living(const struct living *want, const char *where, const char *failed)
{
	static const char *const name[] = {"objects",	  "umems",	   "UARs",
					   "AHs",	  "blocks",	   "descriptors",
					   "allocations", "registrations", "mappings",
					   "contexts",	  "streams",	   "pushed contexts"};
	struct living now = count_the_living();
	int a[12], b[12];

	_Static_assert(sizeof(now) == sizeof(a), "a name for each");
	memcpy(a, want, sizeof(a));
	memcpy(b, &now, sizeof(b));
	for (int i = 0; i < 12; i++)
		cr_expect_eq(a[i], b[i], "%s, %s failed: %+d %s", where, failed, b[i] - a[i],
			     name[i]);
}

/* ---- One run ---- */

static struct {
	const struct scenario *scenario;
	const char *call;	/* of the library, under way */
	const char *failed;	/* below it */
	struct living at_start; /* of the call */
	bool is_done;		/* the failure has been; nothing more is told to fail */
	bool goes_on;		/* all calls after the first failure fail too */
	bool may_keep;		/* CUDA could not be reached to give something back */
	unsigned int points;	/* failures in all runs */
} run;

void scenario_before(const char *call)
{
	run.call = call;
	run.at_start = count_the_living();
}

void scenario_expect(bool holds, const char *what)
{
	cr_expect(holds, "%s: not so: %s (%s failed)", run.scenario->name, what, run.failed);
}

/* After a failure with more behind it: whether to call again, now that nothing fails any more. */
static bool may_go_on(const char *call, doca_error_t status)
{
	if (status == DOCA_SUCCESS)
		return false;
	fake.fail_at = 0;
	return strncmp(call, "doca_gpu_verbs_unexport_uar", 27) != 0;
}

bool scenario_after(const char *call, doca_error_t status)
{
	const char *failed = fake.failed;

	if (!failed || run.is_done) {
		/* Memory of a queue that a failed clean-up left to the NIC is still the GPU's. */
		if (run.goes_on && status == DOCA_ERROR_INVALID_VALUE &&
		    fake.objects + fake.umems && strncmp(call, "doca_gpu_destroy", 16) == 0)
			return false;
		cr_expect_eq(status, DOCA_SUCCESS, "%s: %s: error %d and nothing failed",
			     run.scenario->name, call, (int)status);
		return false;
	}
	run.is_done = status != DOCA_SUCCESS || !run.goes_on;
	if (run.failed != failed)
		run.points++;
	run.failed = failed;
	if (run.goes_on)
		return may_go_on(call, status);
	run.may_keep = (gives_back(call) || status == DOCA_SUCCESS) &&
		       strcmp(failed, "CtxPushCurrent") == 0;
	if (status == DOCA_SUCCESS) {
		cr_expect(has_second_way(failed, call), "%s: %s: success, but %s failed",
			  run.scenario->name, call, failed);
		return false;
	}
	cr_expect_eq(status, expected_report(failed, call), "%s: %s: error %d for a failed %s",
		     run.scenario->name, call, (int)status, failed);
	/* What had no second try because it is gone. */
	if (strncmp(call, "doca_gpu_verbs_unexport_uar", 27) == 0)
		return false;
	if (!gives_back(call))
		expect_living(&run.at_start, call, failed);
	return true;
}

/* ---- All of them ---- */

static struct scenario_device device;

static void run_one(const struct scenario *s, const struct scenario_variant *v, unsigned int n,
		    int error)
{
	fake_obey();
	run.is_done = run.may_keep = false;
	run.scenario = s;
	run.failed = "nothing";
	fake.fail_errno = error;
	fake.fail_kinds = FAKE_ALL;
	fake.calls = 0;
	fake.fail_at = n;
	fake.fails_on = run.goes_on;
	fake.qp_state = 6; /* ERR: the CQ is asked for the reason */
	fake.qp_mtu = 1;
	s->run(&device, v);
	fake.fail_kinds = FAKE_RDMA;
}

static void once(void *ctx, const struct scenario *s, const struct scenario_variant *v)
{
	int error = *(const int *)ctx;
	struct living before;
	unsigned int n;

	for (n = 1; n < MAX_CALLS; n++) {
		before = count_the_living();
		run_one(s, v, n, error);
		if (run.may_keep)
			cr_expect_leq(fake_cuda_sweep(), 1, "%s: CUDA keeps one thing", s->name);
		expect_living(&before, s->name, run.failed);
		if (!fake.failed)
			break; /* past the last call */
	}
	cr_assert_lt(n, MAX_CALLS);
}

static void all_fail_in_turn(void)
{
	static const int errors[] = {EINVAL, ENOMEM};

	for (size_t e = 0; e < 2; e++)
		for (size_t i = 0; i < scenario_count; i++)
			scenario_each_variant(&scenarios[i], &device, once, (void *)&errors[e]);
	printf("engine_failures: %u points\n", run.points);
}

static void set_up(const char *gpu_name, bool is_ethernet, const struct gdr_ops *gdr)
{
	bool is_host = strcmp(gpu_name, "cpu") == 0;

	fake_reset();
	memset(&fake_cuda, 0, sizeof(fake_cuda));
	fake.no_libraries = true;
	fake.is_ethernet = is_ethernet;
	fake_cuda.has_dmabuf = true;
	cuda_inject(is_host ? NULL : &fake_cuda_ops, gdr);
	device = (struct scenario_device){
		.context = fake_pd.context,
		.pd = &fake_pd,
		.gpu_name = gpu_name,
		.addr_type =
			is_ethernet ? DOCA_VERBS_ADDR_TYPE_IPv4 : DOCA_VERBS_ADDR_TYPE_IB_NO_GRH,
		.dlid = 1,
		.has_no_dbr = true,
		.maps_gpu_memory = is_host || gdr,
		.has_dmabuf = !is_host,
	};
}

Test(engine_failures, each_call_below_fails_in_turn_on_host_memory)
{
	set_up("cpu", false, NULL);
	all_fail_in_turn();
	cr_assert_geq(run.points, 1500);
}

Test(engine_failures, each_call_below_fails_in_turn_on_a_gpu_with_gdrcopy)
{
	set_up("0000:17:00.0", true, &fake_gdr_ops);
	all_fail_in_turn();
	cr_assert_geq(run.points, 1500);
}

Test(engine_failures, each_call_below_fails_in_turn_on_a_gpu_without_gdrcopy)
{
	set_up("0000:17:00.0", false, NULL);
	all_fail_in_turn();
	cr_assert_geq(run.points, 1500);
}

/* ---- All calls fail from one on ---- */

void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void once_and_on(void *ctx, const struct scenario *s, const struct scenario_variant *v)
{
	struct living before, now;
	unsigned int n;

	(void)ctx;
	if (v->collapsed || v->reg_type != DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT)
		return; /* the calls are the same */
	for (n = 1; n < MAX_CALLS; n++) {
		before = count_the_living();
		run_one(s, v, n, EINVAL);
		fake_cuda_sweep();
		now = count_the_living();
		cr_expect_eq(now.descriptor, before.descriptor);
		cr_expect_geq(now.objects + now.umems, before.objects + before.umems);
		if (now.objects + now.umems == before.objects + before.umems) {
			cr_expect_eq(now.uars, before.uars,
				     "%s, from %s on: a page that no queue needs", s->name,
				     run.failed);
			cr_expect_eq(now.blocks, before.blocks,
				     "%s, from %s on: memory that no queue needs", s->name,
				     run.failed);
		}
		/* The NIC's share is lost; the next one starts afresh. */
		fake_forget();
		if (!fake.failed)
			break;
	}
	cr_assert_lt(n, MAX_CALLS);
}

static void all_fail_from_one_on(void)
{
	run.goes_on = true;
	if (__lsan_disable)
		__lsan_disable(); /* a queue that the NIC keeps, keeps its memory */
	for (size_t i = 0; i < scenario_count; i++)
		scenario_each_variant(&scenarios[i], &device, once_and_on, NULL);
	if (__lsan_enable)
		__lsan_enable();
	printf("engine_failures: %u points from which on all fails\n", run.points);
	cr_assert_geq(run.points, 300);
}

Test(engine_failures, from_each_call_on_all_fail_on_host_memory)
{
	set_up("cpu", false, NULL);
	all_fail_from_one_on();
}

Test(engine_failures, from_each_call_on_all_fail_on_a_gpu)
{
	set_up("0000:17:00.0", true, &fake_gdr_ops);
	all_fail_from_one_on();
}
