// SPDX-License-Identifier: BSD-3-Clause
/*
 * Message rate of one process against its own NIC: small WRITEs on a QP that is connected to
 * itself.
 *
 *   bench_inproc [-d DEVICE] [-x GID] [-n MESSAGES] [-s BYTES] [-b BATCH] [-t DEPTH]
 *
 * Posts BATCH requests per ibv_post_send(), the last one signaled, and keeps up to DEPTH in flight.
 * Prints "messages N size S batch B: R M/s" and checks the bytes of the last message.
 *
 *   bench_inproc --idle
 *
 * Leaves the NIC alone for a while, then posts one request; 20 times. Prints "idle CPU P %" (CPU
 * time of the whole process, in the part of each pause that comes after its first second) and
 * "worst wake T us" (post to completion).
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sim_tests/progs/vp.h"

#define BATCH_MAX 256
#define BUF_BYTES 1048576

#define PAUSES	       20
#define PAUSE_QUIET_MS 1000 /* before CPU time is counted */
#define PAUSE_COUNT_MS 200  /* while it is counted */

static struct {
	const char *device;
	int gid_index;
	uint64_t messages;
	uint32_t size, batch, depth;
	bool idle;
} opt = {.messages = 2000000, .size = 8, .batch = 32, .depth = 512};

static uint8_t src[BUF_BYTES], dst[BUF_BYTES];
static struct vp_dev dev;
static struct vp_cq cq;
static struct ibv_qp *qp;
static struct ibv_mr *src_mr, *dst_mr;

/* BATCH requests linked into one list, the same for every post. */
static void build(struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){(uintptr_t)src, opt.size, src_mr->lkey};
	for (uint32_t i = 0; i < opt.batch; i++) {
		wr[i] = (struct ibv_send_wr){
			.sg_list = sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i + 1 == opt.batch ? IBV_SEND_SIGNALED : 0,
			.next = i + 1 == opt.batch ? NULL : &wr[i + 1],
		};
		wr[i].wr.rdma.remote_addr = (uintptr_t)dst;
		wr[i].wr.rdma.rkey = dst_mr->rkey;
	}
}

static int measure(double *seconds)
{
	static struct ibv_send_wr wr[BATCH_MAX];
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint64_t posted = 0, done = 0;
	int64_t start_us = vp_now_us();

	build(wr, &sge);
	while (done < opt.messages) {
		while (posted < opt.messages && posted - done + opt.batch <= opt.depth) {
			errno = ibv_post_send(qp, wr, &bad);
			if (errno) {
				perror("ibv_post_send");
				return -1;
			}
			posted += opt.batch;
		}
		if (vp_next(&cq, &wc, VP_WAIT_MS) != 1 || wc.status) {
			fprintf(stderr, "completion after %llu messages: %s\n",
				(unsigned long long)done,
				wc.status ? ibv_wc_status_str(wc.status) : "none");
			return -1;
		}
		done += opt.batch;
	}
	*seconds = (double)(vp_now_us() - start_us) / 1e6;
	return 0;
}

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

static int measure_idle(void)
{
	struct ibv_send_wr wr[BATCH_MAX], *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;
	double spent_us = 0, counted_us = 0;
	int64_t worst_us = 0;

	opt.batch = 1;
	build(wr, &sge);
	for (int i = 0; i < PAUSES; i++) {
		int64_t start_us;
		double before_us;

		sleep_ms(PAUSE_QUIET_MS);
		start_us = vp_now_us();
		before_us = cpu_us();
		sleep_ms(PAUSE_COUNT_MS);
		spent_us += cpu_us() - before_us;
		counted_us += (double)(vp_now_us() - start_us);
		start_us = vp_now_us();
		errno = ibv_post_send(qp, wr, &bad);
		if (errno || vp_next(&cq, &wc, VP_WAIT_MS) != 1 || wc.status) {
			fprintf(stderr, "request after a pause: no completion, or an error\n");
			return -1;
		}
		if (vp_now_us() - start_us > worst_us)
			worst_us = vp_now_us() - start_us;
	}
	printf("idle CPU %.3f %%\nworst wake %lld us\n", 100 * spent_us / counted_us,
	       (long long)worst_us);
	return 0;
}

static int set_up(struct ibv_pd **pd)
{
	struct vp_qp_opts opts = {.send_wr = opt.depth};
	struct vp_dest self;

	if (vp_open(&dev, opt.device, opt.gid_index))
		return -1;
	*pd = ibv_alloc_pd(dev.ctx);
	if (!*pd || vp_cq_open(&dev, &cq, (int)opt.depth, false))
		return -1;
	src_mr = ibv_reg_mr(*pd, src, sizeof(src), 0);
	dst_mr =
		ibv_reg_mr(*pd, dst, sizeof(dst), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	qp = vp_qp_open(*pd, &cq, &cq, &opts, NULL);
	if (!src_mr || !dst_mr || !qp)
		return -1;
	vp_qp_dest(&dev, qp, &opts, &self);
	return vp_qp_connect(&dev, qp, &opts, &self);
}

static const struct argp_option options[] = {
	{"ib-dev", 'd', "NAME", 0, "RDMA device (the first)", 0},
	{"gid-index", 'x', "N", 0, "GID index (0)", 0},
	{"iters", 'n', "N", 0, "messages (2000000)", 0},
	{"size", 's', "BYTES", 0, "of a message, 1..1048576 (8)", 0},
	{"batch", 'b', "N", 0, "requests per post, 1..256 (32)", 0},
	{"tx-depth", 't', "N", 0, "requests in flight (512)", 0},
	{"idle", 'i', 0, 0, "CPU time and wake-up of an idle NIC instead", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'd':
		opt.device = arg;
		break;
	case 'x':
		opt.gid_index = atoi(arg);
		break;
	case 'n':
		opt.messages = strtoull(arg, NULL, 0);
		break;
	case 's':
		opt.size = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'b':
		opt.batch = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 't':
		opt.depth = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'i':
		opt.idle = true;
		break;
	case ARGP_KEY_END:
		if (opt.size < 1 || opt.size > BUF_BYTES || opt.batch < 1 ||
		    opt.batch > BATCH_MAX || opt.depth < opt.batch || !opt.messages)
			argp_error(state, "size %u, batch %u, depth %u: out of range", opt.size,
				   opt.batch, opt.depth);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, NULL, "message rate within one process",
					 0,	  0,	 0};
	struct ibv_pd *pd;
	double seconds = 0;
	ssize_t at;

	argp_parse(&argp, argc, argv, 0, 0, 0);
	opt.messages = (opt.messages + opt.batch - 1) / opt.batch * opt.batch;
	vp_fill(src, opt.size, 3);
	if (set_up(&pd) || (opt.idle ? measure_idle() : measure(&seconds)))
		return 2;
	at = vp_wrong(dst, opt.size, 3);
	if (at >= 0)
		printf("byte %zd is 0x%02x, expected 0x%02x\n", at, dst[at], src[at]);
	else if (!opt.idle)
		printf("messages %llu size %u batch %u: %.3f M/s\n",
		       (unsigned long long)opt.messages, opt.size, opt.batch,
		       (double)opt.messages / seconds / 1e6);
	ibv_destroy_qp(qp);
	vp_cq_close(&cq);
	ibv_dereg_mr(src_mr);
	ibv_dereg_mr(dst_mr);
	ibv_dealloc_pd(pd);
	vp_close(&dev);
	return at >= 0;
}
