/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose doings are known, for run_observe.sh to look at from outside:
 *
 *   observed writes N     N WRITEs from a QP to itself, each with a completion; prints "qp QPN" and
 *                         "cqes N"
 *   observed rnr          a SEND that finds no receive: RNR retries exceeded
 *   observed timeout      a WRITE to a QP that does not exist: retries exceeded
 *   observed fork N       as writes, then a child opens the device for itself and does the same
 *   observed stay N       as writes, then prints "ready" and sleeps until it is killed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_tests/progs/vp.h"

enum { BYTES = 3000, DEPTH = 64 };

static struct vp_dev dev;
static struct vp_cq cq;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static uint8_t buf[2 * BYTES];

/* A QP connected to itself, or to a number that nobody has. */
static int open_qp(bool nobody)
{
	const struct vp_qp_opts opts = {.send_wr = DEPTH,
					.recv_wr = 1,
					.sges = 1,
					.strict = true,
					.timeout = 8,
					.retry_cnt = 1,
					.rnr_retry = 1,
					.min_rnr_timer = 1};
	struct vp_dest dest;

	if (vp_open(&dev, NULL, 0) || vp_cq_open(&dev, &cq, DEPTH, false))
		return -1;
	pd = ibv_alloc_pd(dev.ctx);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
		: NULL;
	qp = mr ? vp_qp_open(pd, &cq, &cq, &opts, NULL) : NULL;
	if (!qp)
		return -1;
	vp_qp_dest(&dev, qp, &opts, &dest);
	if (nobody)
		dest.qpn ^= 0x800;
	return vp_qp_connect(&dev, qp, &opts, &dest);
}

static int one(enum ibv_wr_opcode opcode, struct ibv_wc *wc)
{
	struct ibv_sge sge = {.addr = (uintptr_t)buf, .length = BYTES, .lkey = mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {.remote_addr = (uintptr_t)buf + BYTES,
					     .rkey = mr->rkey}},
			   *bad;

	return ibv_post_send(qp, &wr, &bad) || vp_next(&cq, wc, VP_WAIT_MS) != 1 ? -1 : 0;
}

static int writes(unsigned long n)
{
	struct ibv_wc wc;
	unsigned long cqes = 0;

	if (open_qp(false))
		return 1;
	for (unsigned long i = 0; i < n; i++) {
		if (one(IBV_WR_RDMA_WRITE, &wc) || wc.status)
			return 1;
		cqes++;
	}
	printf("pid %d\nqp %u\ncqes %lu\n", (int)getpid(), qp->qp_num, cqes);
	fflush(stdout);
	return 0;
}

static int failing(bool nobody, enum ibv_wc_status want)
{
	struct ibv_wc wc;

	if (open_qp(nobody) || one(nobody ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, &wc))
		return 1;
	if (wc.status != want)
		fprintf(stderr, "status %s, expected %s\n", ibv_wc_status_str(wc.status),
			ibv_wc_status_str(want));
	return wc.status != want;
}

static int forked(unsigned long n)
{
	int status;
	pid_t pid;

	if (writes(n))
		return 1;
	pid = fork();
	if (!pid)
		exit(writes(n));
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	return writes(n); /* the parent's NIC has not noticed */
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	if (!strcmp(what, "writes"))
		return writes(n);
	if (!strcmp(what, "rnr"))
		return failing(false, IBV_WC_RNR_RETRY_EXC_ERR);
	if (!strcmp(what, "timeout"))
		return failing(true, IBV_WC_RETRY_EXC_ERR);
	if (!strcmp(what, "fork"))
		return forked(n);
	if (strcmp(what, "stay") != 0 || writes(n))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
