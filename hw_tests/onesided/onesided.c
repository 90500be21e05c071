// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every one-sided call of the device API within one process: two QPs of one device, connected to
 * each other; a kernel on the first, memory behind the second. Checks every byte, every counter and
 * every value that an atomic returned. A line per case, then "N passed, N failed".
 *
 *	onesided [-d DEVICE] [-x GID] [-g ADDRESS|gpu|cpu] [-H WHO] [-T SECONDS]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_tests/common/hwt.h"
#include "hw_tests/onesided/onesided_kernels.h"

GDAKIT_DECLARE_KERNELS(os_kernels, onesided);

#define BYTES (4u << 20)
#define GUARD 0xa5
#define WORDS 64u /* return buffer of the signals */
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct test {
	const char *name;
	enum os_op op;
	uint32_t threads, rounds;
	uint32_t size;
	uint64_t value;
};

static const struct test tests[] = {
	{"put", OS_PUT, 1, 1, 0, 0},
	{"put", OS_PUT, 1, 1, 1, 0},
	{"put", OS_PUT, 1, 1, 4095, 0},
	{"put", OS_PUT, 1, 1, 4096, 0},
	{"put", OS_PUT, 1, 1, 4097, 0},
	{"put", OS_PUT, 1, 3, (1u << 20) + 3, 0},
	{"put, 64 threads", OS_PUT, 64, 50, 61, 0},
	{"put and wait", OS_PUT_WAIT, 1, 20, 1000, 0},
	{"put and wait, 64 threads", OS_PUT_WAIT, 64, 20, 1000, 0},
	{"put, exclusive", OS_PUT_EXCLUSIVE, 1, 100, 777, 0},
	{"put, one ring for four", OS_PUT_LATE_RING, 1, 1, 10001, 0},
	{"put, shared by a block", OS_PUT_CTA, 64, 50, 777, 0},
	{"put, more than the queue holds", OS_PUT, 32, 150, 8, 0},
	{"p 1 byte", OS_P8, 16, 5, 1, 0x11},
	{"p 2 bytes", OS_P16, 16, 5, 2, 0x1122},
	{"p 4 bytes", OS_P32, 16, 5, 4, 0x11223344},
	{"p 8 bytes", OS_P64, 16, 5, 8, 0x1122334455667788},
	{"put_signal", OS_PUT_SIGNAL, 1, 1, 4097, 1},
	{"put_signal of nothing", OS_PUT_SIGNAL, 1, 1, 0, 5},
	{"put_signal, 32 threads", OS_PUT_SIGNAL, 32, 10, 300, 3},
	{"p_signal, 16 threads", OS_P_SIGNAL, 16, 5, 8, 0x100000001},
	{"signal", OS_SIGNAL, 1, 1, 0, 0xffffffffffffffff},
	{"signal, 64 threads", OS_SIGNAL, 64, 20, 0, 7},
	{"get", OS_GET, 1, 1, 1, 0},
	{"get", OS_GET, 1, 1, 4097, 0},
	{"get", OS_GET, 1, 2, (1u << 20) + 3, 0},
	{"get, 32 threads", OS_GET, 32, 10, 333, 0},
	{"get, blocking", OS_GET_BLOCKING, 1, 3, 65537, 0},
	{"write, BlueFlame", OS_WRITE_BF, 1, 20, 300, 0},
	{"write, BlueFlame by a warp", OS_WRITE_BF_WARP, 32, 2, 64, 0},
};

static struct {
	struct hwt h;
	const struct os_kernels *kernels;
	struct hwt_mem local, words;	/* the kernel's side */
	struct hwt_mem remote, counter; /* the other side */
	struct os_result *result;
	uint8_t *scratch;
} rig;

static int complain(const char *what, uint64_t at, uint64_t got, uint64_t want)
{
	printf("     %s %llu: 0x%llx, expected 0x%llx\n", what, (unsigned long long)at,
	       (unsigned long long)got, (unsigned long long)want);
	return -1;
}

static bool is_get(const struct test *t)
{
	return t->op == OS_GET || t->op == OS_GET_BLOCKING;
}

/* A QP has such a register, or kernels must not write to it so. */
static bool runs(const struct test *t)
{
	return (t->op != OS_WRITE_BF && t->op != OS_WRITE_BF_WARP) ||
	       rig.h.opt->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;
}

static bool is_p(const struct test *t)
{
	return (t->op >= OS_P8 && t->op <= OS_P64) || t->op == OS_P_SIGNAL;
}

static bool has_signal(const struct test *t)
{
	return t->op == OS_PUT_SIGNAL || t->op == OS_P_SIGNAL || t->op == OS_SIGNAL;
}

/* Pattern on the side that is read, guard bytes on the side that is written. */
static int lay_out(const struct test *t, uint32_t idx)
{
	const struct gdakit_rt *rt = rig.h.rt;

	hwt_fill(rig.scratch, BYTES, idx + 1, 0);
	memset(rig.remote.ptr, GUARD, BYTES);
	memset(rig.counter.ptr, 0, sizeof(uint64_t));
	if (is_get(t)) {
		memcpy(rig.remote.ptr, rig.scratch, BYTES);
		memset(rig.scratch, GUARD, BYTES);
	}
	if (rt->fill(rig.words.ptr, GUARD, WORDS * sizeof(uint64_t)))
		return -1;
	return rt->copy(rig.local.ptr, rig.scratch, BYTES);
}

static uint8_t expected(const struct test *t, uint32_t idx, size_t i)
{
	uint64_t value = t->value + (t->size ? i / t->size : 0);

	if (i >= (size_t)t->threads * t->size || t->op == OS_SIGNAL)
		return GUARD;
	if (is_p(t))
		return (uint8_t)(value >> 8 * (i % t->size));
	return hwt_pattern(idx + 1, 0, i);
}

static int check_bytes(const struct test *t, uint32_t idx)
{
	const uint8_t *mem = rig.remote.ptr;

	if (is_get(t)) {
		if (rig.h.rt->copy(rig.scratch, rig.local.ptr, BYTES))
			return -1;
		mem = rig.scratch;
	}
	for (size_t i = 0; i < BYTES; i++) {
		if (mem[i] != expected(t, idx, i))
			return complain("byte", i, mem[i], expected(t, idx, i));
	}
	return 0;
}

/* The sum at the target; and each returned value is one that the counter once had. */
static int check_signal(const struct test *t)
{
	uint64_t count = (uint64_t)t->threads * t->rounds, words[WORDS], sum;

	memcpy(&sum, rig.counter.ptr, sizeof(sum));
	if (sum != count * t->value)
		return complain("counter after", count, sum, count * t->value);
	if (rig.h.rt->copy(words, rig.words.ptr, sizeof(words)))
		return -1;
	for (uint32_t i = 0; i < t->threads; i++) {
		uint64_t steps = words[i] / t->value;

		if (words[i] % t->value || steps >= count)
			return complain("returned word", i, words[i], (count - 1) * t->value);
		for (uint32_t j = 0; j < i; j++) {
			if (words[j] == words[i])
				return complain("word returned twice", i, words[i], ~words[i]);
		}
	}
	return 0;
}

static int run(const struct test *t, uint32_t idx)
{
	struct os_args args = {
		.qp = rig.h.qps_dev,
		.threads = t->threads,
		.rounds = t->rounds,
		.size = t->size,
		.value = t->value,
		.local = {(uintptr_t)rig.local.ptr, htobe32(rig.local.mr->lkey)},
		.remote = {(uintptr_t)rig.remote.ptr, htobe32(rig.remote.mr->rkey)},
		.signal_local = {(uintptr_t)rig.words.ptr, htobe32(rig.words.mr->lkey)},
		.signal_remote = {(uintptr_t)rig.counter.ptr, htobe32(rig.counter.mr->rkey)},
		.result = rig.result,
	};
	int rc;

	memset(rig.result, 0, sizeof(*rig.result));
	if (lay_out(t, idx))
		return -1;
	rc = rig.kernels->launch(t->op, rig.h.stream, &args);
	if (rc) {
		printf("     launch: %s\n", rig.h.rt->error_string(rc));
		return -1;
	}
	if (hwt_wait_kernel(&rig.h, t->name))
		return -1;
	if (rig.result->failed)
		return complain("calls in error", rig.result->failed, (uint64_t)rig.result->error,
				0);
	if (check_bytes(t, idx))
		return -1;
	return has_signal(t) ? check_signal(t) : 0;
}

/* The two QPs name each other. */
static int connect_qps(void)
{
	struct hwt *h = &rig.h;
	uint32_t qpn0 = doca_verbs_qp_get_qpn(h->qp[0]->qp),
		 qpn1 = doca_verbs_qp_get_qpn(h->qp[1]->qp);

	if (hwt_connect_qp(h, h->qp[0]->qp, qpn1, &h->gid, h->port.lid))
		return -1;
	return hwt_connect_qp(h, h->qp[1]->qp, qpn0, &h->gid, h->port.lid);
}

static int set_up(const struct hwt_options *opt)
{
	struct hwt *h = &rig.h;

	if (hwt_open(h, opt))
		return -1;
	rig.kernels = GDAKIT_PICK(h->rt, onesided);
	if (!rig.kernels) {
		fprintf(stderr, "onesided: built without a kernel for the %s\n", h->rt->name);
		return -1;
	}
	rig.scratch = malloc(BYTES);
	if (!rig.scratch || h->rt->host_alloc((void **)&rig.result, sizeof(*rig.result)))
		return -1;
	if (hwt_mem_gpu(h, &rig.local, BYTES, IBV_ACCESS_LOCAL_WRITE) ||
	    hwt_mem_gpu(h, &rig.words, WORDS * sizeof(uint64_t), IBV_ACCESS_LOCAL_WRITE) ||
	    hwt_mem_host(h, &rig.remote, BYTES, ALL_RIGHTS) ||
	    hwt_mem_host(h, &rig.counter, sizeof(uint64_t), ALL_RIGHTS))
		return -1;
	return hwt_create_qps(h, 2) ? -1 : connect_qps();
}

static void tear_down(void)
{
	hwt_mem_free(&rig.h, &rig.local);
	hwt_mem_free(&rig.h, &rig.words);
	hwt_mem_free(&rig.h, &rig.remote);
	hwt_mem_free(&rig.h, &rig.counter);
	if (rig.result)
		rig.h.rt->host_free(rig.result);
	free(rig.scratch);
	hwt_close(&rig.h);
}

int main(int argc, char **argv)
{
	struct hwt_options opt;
	uint32_t passed = 0, failed = 0;

	hwt_parse(&opt, HWT_ONESIDED, argc, argv,
		  "Every one-sided call of the device API, checked within one process.");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (set_up(&opt)) {
		tear_down();
		return HWT_EXIT_SETUP;
	}
	printf("kernel: %s\n", rig.h.kernel_on);
	for (uint32_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		int rc;

		if (!runs(&tests[i]))
			continue;
		rc = run(&tests[i], i);
		failed += rc != 0;
		passed += rc == 0;
		printf("%s %s, %u B\n", rc ? "FAIL" : "PASS", tests[i].name, tests[i].size);
	}
	tear_down();
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? HWT_EXIT_WRONG : HWT_EXIT_OK;
}
