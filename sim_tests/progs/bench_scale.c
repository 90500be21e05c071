// SPDX-License-Identifier: BSD-3-Clause
/*
 * What many of everything costs, on RC queue pairs of one process that are connected to themselves.
 * Each line is a measure and is printed as "NAME VALUE UNIT"; ratios are of stretches that take
 * turns.
 *
 * - bench_scale qps [-n QPS]: creates and connects QPS QPs; batches of 16 WRITEs of 8 bytes on all
 * in turn against those on one; memory and idle CPU time
 * - bench_scale uars [-n UARS]: a QP on each of UARS pages of its own (thread domains); CPU time
 * while all are idle, and the rate on one against that of another process that has no more than one
 * - bench_scale mr [-n TIMES]: ibv_reg_mr() and ibv_dereg_mr() of 4 KiB
 *
 *   -d DEVICE, -x GID INDEX
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sim_tests/progs/vp.h"

enum {
	WRITE_BYTES = 8,
	TURNS = 25,   /* of two stretches that are compared */
	TURN_MS = 60, /* length of one */
	BATCH = 16,
	DEPTH = 4,	 /* batches in flight of one QP */
	ALL_DEPTH = 256, /* and of many */
	CQ_DEPTH = 4096,
	QUIET_MS = 1500, /* the NIC comes to rest */
	COUNT_MS = 1000, /* while CPU time is counted */
	IDLE_QPS_FEW = 10,
};

static struct {
	const char *device, *what;
	int gid_index;
	uint32_t count;
} opt;

static uint8_t src[4096], dst[4096];
static struct vp_dev dev;
static struct ibv_pd *pd;
static struct vp_cq cq;
static struct ibv_mr *src_mr, *dst_mr;
static struct ibv_qp **qps;
static uint32_t nqps;

static void sleep_ms(int ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

static double cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Percent of a core that this process takes while it does nothing. */
static double idle_percent(void)
{
	int64_t start_us;
	double before_us;

	sleep_ms(QUIET_MS);
	start_us = vp_now_us();
	before_us = cpu_us();
	sleep_ms(COUNT_MS);
	return 100 * (cpu_us() - before_us) / (double)(vp_now_us() - start_us);
}

/* Resident memory, KiB. */
static double resident_kib(void)
{
	unsigned long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static int set_up(void)
{
	qps = calloc(opt.count + 100, sizeof(*qps)); /* as long as the process */
	if (!qps || vp_open(&dev, opt.device, opt.gid_index))
		return -1;
	pd = ibv_alloc_pd(dev.ctx);
	if (!pd || vp_cq_open(&dev, &cq, CQ_DEPTH, false))
		return -1;
	src_mr = ibv_reg_mr(pd, src, sizeof(src), 0);
	dst_mr = ibv_reg_mr(pd, dst, sizeof(dst), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return src_mr && dst_mr ? 0 : -1;
}

/* ---- QPs ---- */

static struct ibv_qp *add_qp(struct ibv_pd *of)
{
	struct vp_qp_opts opts = {.send_wr = DEPTH * BATCH, .recv_wr = 1};
	struct vp_dest self;
	struct ibv_qp *qp = vp_qp_open(of, &cq, &cq, &opts, NULL);

	if (!qp)
		return NULL;
	vp_qp_dest(&dev, qp, &opts, &self);
	if (vp_qp_connect(&dev, qp, &opts, &self))
		return NULL;
	qps[nqps++] = qp;
	return qp;
}

static int add_qps(uint32_t n)
{
	while (n--)
		if (!add_qp(pd))
			return -1;
	return 0;
}

/* BATCH WRITEs, the last one signaled, and one doorbell. */
static int post(struct ibv_qp *qp)
{
	struct ibv_sge sge = {(uintptr_t)src, WRITE_BYTES, src_mr->lkey};
	struct ibv_send_wr wr[BATCH], *bad;

	for (int i = 0; i < BATCH; i++) {
		wr[i] = (struct ibv_send_wr){
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i + 1 == BATCH ? IBV_SEND_SIGNALED : 0,
			.next = i + 1 == BATCH ? NULL : &wr[i + 1],
		};
		wr[i].wr.rdma.remote_addr = (uintptr_t)dst;
		wr[i].wr.rdma.rkey = dst_mr->rkey;
	}
	errno = ibv_post_send(qp, wr, &bad);
	if (!errno)
		return 0;
	perror("ibv_post_send");
	return -1;
}

/*
 * Batches on the first n QPs in turn, as many in flight as `flight`: until limit_us have passed,
 * and not more than `batches`. *rate: messages a microsecond. 0 or -1.
 */
static int stretch(uint32_t n, uint32_t flight, int64_t limit_us, uint32_t batches, double *rate)
{
	int64_t start_us = vp_now_us();
	uint32_t posted = 0, done = 0;
	struct ibv_wc wc;

	for (;;) {
		bool more = posted < batches && vp_now_us() - start_us < limit_us;

		while (more && posted < batches && posted - done < flight)
			if (post(qps[posted++ % n]))
				return -1;
		if (done == posted)
			break;
		if (vp_next(&cq, &wc, VP_WAIT_MS) != 1 || wc.status) {
			fprintf(stderr, "a WRITE of %u QPs: %s\n", n,
				wc.status ? ibv_wc_status_str(wc.status) : "no completion");
			return -1;
		}
		done++;
	}
	*rate = (double)done * BATCH / (double)(vp_now_us() - start_us);
	return 0;
}

static int one_turn(uint32_t n, uint32_t flight, double *rate)
{
	return stretch(n, flight, TURN_MS * 1000, UINT32_MAX, rate);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *of)
{
	qsort(of, TURNS, sizeof(*of), by_value);
	return of[TURNS / 2];
}

/* One QP as full as it can be, against all of them in turn. */
static int compare(double *one_rate, double *all_rate)
{
	double one[TURNS], all[TURNS];

	for (int i = 0; i < TURNS; i++)
		if (one_turn(1, DEPTH, &one[i]) || one_turn(nqps, ALL_DEPTH, &all[i]))
			return -1;
	*one_rate = median(one);
	*all_rate = median(all);
	return 0;
}

/* ---- measures ---- */

static int measure_qps(void)
{
	double before_kib = resident_kib(), kib, one, all, few_idle, us;
	int64_t start_us;

	if (set_up() || add_qps(IDLE_QPS_FEW))
		return -1;
	few_idle = idle_percent();
	kib = resident_kib();
	start_us = vp_now_us();
	if (add_qps(opt.count - nqps))
		return -1;
	us = (double)(vp_now_us() - start_us) / (opt.count - IDLE_QPS_FEW);
	printf("nic %.0f KiB, resident, with %d QPs\n", kib - before_kib, IDLE_QPS_FEW);
	printf("create_and_connect %.1f us a QP\n", us);
	printf("resident_idle %.2f KiB a QP\n",
	       (resident_kib() - kib) / (opt.count - IDLE_QPS_FEW));
	printf("idle_few %.3f %% of a core\n", few_idle);
	printf("idle_all %.3f %% of a core\n", idle_percent());
	/* Each of them once, then some. */
	if (stretch(nqps, ALL_DEPTH, INT64_MAX, nqps, &all) || compare(&one, &all))
		return -1;
	printf("rate_one %.3f M/s\nrate_all %.3f M/s\nrate_ratio %.3f of one\n", one, all,
	       all / one);
	printf("resident_used %.2f KiB a QP\n",
	       (resident_kib() - kib) / (opt.count - IDLE_QPS_FEW));
	printf("resident %.0f KiB\n", resident_kib());
	return 0;
}

/*
 * The other process of the comparison: one QP on one page. It runs a stretch for each byte that it
 * is told, and answers with its rate.
 */
static int serve_alone(int told, int answer)
{
	double rate;
	char go;

	if (set_up() || !add_qp(pd))
		return -1;
	while (read(told, &go, 1) == 1)
		if (one_turn(1, DEPTH, &rate) || write(answer, &rate, sizeof(rate)) != sizeof(rate))
			return -1;
	return 0;
}

/* Its NIC rests while ours works, and the other way round. */
static int turn_alone(int tell, int answer, double *rate)
{
	return write(tell, "g", 1) == 1 && read(answer, rate, sizeof(*rate)) == sizeof(*rate) ? 0
											      : -1;
}

static int add_pages(void)
{
	struct ibv_parent_domain_init_attr attr = {.pd = pd};
	struct ibv_td_init_attr td_attr = {0};

	for (uint32_t i = 0; i < opt.count; i++) {
		struct ibv_pd *own;

		attr.td = ibv_alloc_td(dev.ctx, &td_attr);
		own = attr.td ? ibv_alloc_parent_domain(dev.ctx, &attr) : NULL;
		if (!own || !add_qp(own)) {
			fprintf(stderr, "page %u: %s\n", i, strerror(errno));
			return -1;
		}
	}
	return 0;
}

static int measure_uars(void)
{
	double alone[TURNS], among[TURNS], mid[2];
	int tell[2], answer[2];
	pid_t pid;

	if (pipe(tell) || pipe(answer))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(tell[1]); /* ours, so that the end of the parent is the end */
		_exit(serve_alone(tell[0], answer[1]) ? 1 : 0);
	}
	close(answer[1]);
	if (pid < 0 || set_up() || add_pages())
		return -1;
	printf("idle %.3f %% of a core\n", idle_percent());
	for (int turn = 0; turn < TURNS; turn++)
		if (turn_alone(tell[1], answer[0], &alone[turn]) ||
		    one_turn(1, DEPTH, &among[turn]))
			return -1;
	mid[0] = median(alone);
	mid[1] = median(among);
	printf("rate_alone %.3f M/s\nrate_among %.3f M/s\nrate_ratio %.3f of alone\n", mid[0],
	       mid[1], mid[1] / mid[0]);
	return 0;
}

static int measure_mr(void)
{
	static uint8_t page[4096] __attribute__((aligned(4096)));
	double before_us;
	int64_t start_us;

	if (set_up() || add_qps(IDLE_QPS_FEW))
		return -1;
	memset(page, 1, sizeof(page));
	sleep_ms(QUIET_MS);
	start_us = vp_now_us();
	before_us = cpu_us();
	for (uint32_t i = 0; i < opt.count; i++) {
		struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page),
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

		if (!mr || ibv_dereg_mr(mr)) {
			perror("ibv_reg_mr");
			return -1;
		}
	}
	printf("reg_dereg %.3f us\n", (double)(vp_now_us() - start_us) / opt.count);
	printf("reg_dereg_cpu %.3f us\n", (cpu_us() - before_us) / opt.count);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
	uint32_t count, least;
} measures[] = {
	{"qps", measure_qps, 1000, IDLE_QPS_FEW + 1},
	{"uars", measure_uars, 1024, 1},
	{"mr", measure_mr, 20000, 1},
};

static const struct argp_option options[] = {
	{"ib-dev", 'd', "NAME", 0, "RDMA device (the first)", 0},
	{"gid-index", 'x', "N", 0, "GID index (0)", 0},
	{"count", 'n', "N", 0, "how many", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'd':
		opt.device = arg;
		return 0;
	case 'x':
		opt.gid_index = atoi(arg);
		return 0;
	case 'n':
		opt.count = (uint32_t)strtoul(arg, NULL, 0);
		return 0;
	case ARGP_KEY_ARG:
		if (opt.what)
			argp_usage(state);
		opt.what = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "qps|uars|mr",
	.doc = "What many of everything costs.",
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		if (strcmp(measures[i].name, opt.what) != 0)
			continue;
		if (opt.count < measures[i].least)
			opt.count = measures[i].count;
		return measures[i].run() ? 1 : 0;
	}
	fprintf(stderr, "'%s' is not qps, uars or mr\n", opt.what);
	return 1;
}
