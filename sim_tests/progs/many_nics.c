// SPDX-License-Identifier: BSD-3-Clause
/*
 * All RDMA devices of the machine in one process: device i sends to device i + 1, the last one to
 * the first, and each completion is slept for on the channel of the device that it is of. Prints "N
 * devices, ok".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_tests/progs/vp.h"

enum { MAX_DEVICES = 16, MESSAGES = 20, BYTES = 10000, SOLICITED_DEPTH = 64 };

struct nic {
	struct vp_dev dev;
	struct ibv_pd *pd;
	struct vp_cq out_cq, in_cq;
	struct ibv_qp *out, *in;
	struct vp_dest out_dest, in_dest;
	struct ibv_mr *mr;
	uint8_t mem[2][BYTES]; /* sent; received */
};

static struct nic nics[MAX_DEVICES];
static const struct vp_qp_opts opts = {.send_wr = 1, .recv_wr = 1};

static int set_up(struct nic *n, const char *name)
{
	if (vp_open(&n->dev, name, 0))
		return -1;
	n->pd = ibv_alloc_pd(n->dev.ctx);
	if (!n->pd || vp_cq_open(&n->dev, &n->out_cq, SOLICITED_DEPTH, true) ||
	    vp_cq_open(&n->dev, &n->in_cq, SOLICITED_DEPTH, true))
		return -1;
	n->mr = ibv_reg_mr(n->pd, n->mem, sizeof(n->mem), IBV_ACCESS_LOCAL_WRITE);
	n->out = vp_qp_open(n->pd, &n->out_cq, &n->out_cq, &opts, NULL);
	n->in = vp_qp_open(n->pd, &n->in_cq, &n->in_cq, &opts, NULL);
	if (!n->mr || !n->out || !n->in)
		return -1;
	vp_qp_dest(&n->dev, n->out, &opts, &n->out_dest);
	vp_qp_dest(&n->dev, n->in, &opts, &n->in_dest);
	return 0;
}

/* The next completion there is good and of that QP. */
static int expect(struct vp_cq *cq, const struct ibv_qp *qp, const char *what)
{
	struct ibv_wc wc = {0};

	if (vp_next(cq, &wc, VP_WAIT_MS) == 1 && !wc.status && wc.qp_num == qp->qp_num)
		return 0;
	fprintf(stderr, "%s on QP 0x%x: %s\n", what, qp->qp_num, ibv_wc_status_str(wc.status));
	return -1;
}

static int send_one(struct nic *from, struct nic *to, uint32_t seed)
{
	struct ibv_sge out = {(uintptr_t)from->mem[0], BYTES, from->mr->lkey};
	struct ibv_sge in = {(uintptr_t)to->mem[1], BYTES, to->mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &out,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;

	vp_fill(from->mem[0], BYTES, seed);
	if (ibv_post_recv(to->in, &recv, &bad_recv) || ibv_post_send(from->out, &send, &bad_send))
		return -1;
	if (expect(&to->in_cq, to->in, "receive") || expect(&from->out_cq, from->out, "send"))
		return -1;
	if (vp_wrong(to->mem[1], BYTES, seed) < 0)
		return 0;
	fprintf(stderr, "message %u: wrong bytes\n", seed);
	return -1;
}

int main(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (!list || n < 1 || n > MAX_DEVICES) {
		fprintf(stderr, "%d devices, expected 1 to %d\n", n, MAX_DEVICES);
		return 1;
	}
	for (int i = 0; i < n; i++)
		if (set_up(&nics[i], ibv_get_device_name(list[i])))
			return 1;
	for (int i = 0; i < n; i++) {
		struct nic *to = &nics[(i + 1) % n];

		if (vp_qp_connect(&nics[i].dev, nics[i].out, &opts, &to->in_dest) ||
		    vp_qp_connect(&to->dev, to->in, &opts, &nics[i].out_dest))
			return 1;
	}
	for (int m = 0; m < MESSAGES; m++)
		for (int i = 0; i < n; i++)
			if (send_one(&nics[i], &nics[(i + 1) % n], (uint32_t)(m * n + i)))
				return 1;
	printf("%d devices, ok\n", n);
	return 0;
}
