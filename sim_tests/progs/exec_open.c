// SPDX-License-Identifier: BSD-3-Clause
/*
 * Executes itself with the device open and a QP alive, a few times: each life finds as many
 * descriptors as the first, and a device that works. Prints "ok".
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_tests/progs/vp.h"

enum { LIVES = 4 };

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A WRITE of a QP to itself. */
static int use_device(void)
{
	static uint8_t mem[128];
	struct vp_qp_opts opts = {.send_wr = 1};
	struct vp_dest self;
	struct vp_dev dev;
	struct vp_cq cq;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	if (vp_open(&dev, NULL, 0))
		return -1;
	pd = ibv_alloc_pd(dev.ctx);
	if (!pd || vp_cq_open(&dev, &cq, 16, true))
		return -1;
	mr = ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	qp = vp_qp_open(pd, &cq, &cq, &opts, NULL);
	if (!mr || !qp)
		return -1;
	vp_qp_dest(&dev, qp, &opts, &self);
	if (vp_qp_connect(&dev, qp, &opts, &self))
		return -1;
	vp_fill(mem, 64, 7);
	sge = (struct ibv_sge){(uintptr_t)mem, 64, mr->lkey};
	wr.wr.rdma.remote_addr = (uintptr_t)mem + 64;
	wr.wr.rdma.rkey = mr->rkey;
	if (ibv_post_send(qp, &wr, &bad) || vp_next(&cq, &wc, VP_WAIT_MS) != 1 || wc.status)
		return -1;
	return vp_wrong(mem + 64, 64, 7) < 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int life = argc > 1 ? atoi(argv[1]) : 0, fds = argc > 2 ? atoi(argv[2]) : open_fds();
	char next[16], count[16];

	if (open_fds() != fds) {
		fprintf(stderr, "life %d begins with %d descriptors, the first one did with %d\n",
			life, open_fds(), fds);
		return 1;
	}
	if (use_device())
		return 1;
	if (life == LIVES) {
		puts("ok");
		return 0;
	}
	snprintf(next, sizeof(next), "%d", life + 1);
	snprintf(count, sizeof(count), "%d", fds);
	execl("/proc/self/exe", argv[0], next, count, (char *)NULL);
	perror("exec");
	return 1;
}
