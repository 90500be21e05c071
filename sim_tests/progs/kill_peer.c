// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes to a peer, and is written to, until the peer is gone: for tests that kill one of the two.
 *
 *   kill_peer -p PORT [HOST]     server, or client of HOST
 *
 * Prints "connected" once both write, and at the end "peer gone: STATUS". Exit code 0 if that
 * status is one that a dead peer gives (retry exceeded, or flush behind it) and all that was made
 * could be destroyed; 1 otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw_tests/common/oob.h"
#include "sim_tests/progs/vp.h"

enum { BYTES = 8192, DEPTH = 8 };

static uint8_t src[BYTES], dst[BYTES];

struct hello {
	struct vp_dest dest;
	uint64_t addr;
	uint32_t rkey;
};

struct side {
	struct vp_dev dev;
	struct vp_cq cq;
	struct ibv_pd *pd;
	struct ibv_mr *src_mr, *dst_mr;
	struct ibv_qp *qp;
	struct hello peer;
};

static int set_up(struct side *s, int sock)
{
	/* Found dead after about a second: sooner, a peer that only waits for a core would seem so.
	 */
	struct vp_qp_opts opts = {.send_wr = DEPTH};
	struct hello mine = {.addr = (uintptr_t)dst};

	if (vp_open(&s->dev, NULL, 0))
		return -1;
	s->pd = ibv_alloc_pd(s->dev.ctx);
	if (!s->pd || vp_cq_open(&s->dev, &s->cq, 2 * DEPTH, false))
		return -1;
	s->src_mr = ibv_reg_mr(s->pd, src, sizeof(src), 0);
	s->dst_mr = ibv_reg_mr(s->pd, dst, sizeof(dst),
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s->qp = vp_qp_open(s->pd, &s->cq, &s->cq, &opts, NULL);
	if (!s->src_mr || !s->dst_mr || !s->qp)
		return -1;
	vp_qp_dest(&s->dev, s->qp, &opts, &mine.dest);
	mine.rkey = s->dst_mr->rkey;
	if (oob_swap(sock, &mine, &s->peer, sizeof(mine), "queue pair") ||
	    vp_qp_connect(&s->dev, s->qp, &opts, &s->peer.dest))
		return -1;
	return oob_swap(sock, &(char){'r'}, &(char){0}, 1, "ready");
}

static int post(struct side *s)
{
	struct ibv_sge sge = {(uintptr_t)src, BYTES, s->src_mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.wr.rdma.remote_addr = s->peer.addr;
	wr.wr.rdma.rkey = s->peer.rkey;
	return ibv_post_send(s->qp, &wr, &bad);
}

/* Until a completion is bad, whose status it returns; -1: none came. */
static int write_on(struct side *s)
{
	struct ibv_wc wc;

	for (int i = 0; i < DEPTH; i++)
		if (post(s))
			return -1;
	for (;;) {
		if (vp_next(&s->cq, &wc, VP_WAIT_MS) != 1)
			return -1;
		if (wc.status)
			return wc.status;
		if (post(s))
			return -1;
	}
}

static int tear_down(struct side *s)
{
	struct ibv_wc wc;
	int left = DEPTH - 1;

	/* All that was posted comes back. */
	while (left && vp_next(&s->cq, &wc, VP_WAIT_MS) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR)
		left--;
	if (left) {
		fprintf(stderr, "%d requests were not flushed\n", left);
		return -1;
	}
	return ibv_destroy_qp(s->qp) || ibv_dereg_mr(s->src_mr) || ibv_dereg_mr(s->dst_mr) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct side side = {0};
	int opt, port = 0, sock, status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((opt = getopt(argc, argv, "p:")) != -1)
		if (opt == 'p')
			port = atoi(optarg);
	sock = optind < argc ? oob_connect(argv[optind], (uint16_t)port, 20000)
			     : oob_accept((uint16_t)port, 20000);
	if (sock < 0 || set_up(&side, sock))
		return 1;
	puts("connected");
	status = write_on(&side);
	printf("peer gone: %s\n", status < 0 ? "no completion" : ibv_wc_status_str(status));
	if (status != IBV_WC_RETRY_EXC_ERR && status != IBV_WC_WR_FLUSH_ERR)
		return 1;
	return tear_down(&side) ? 1 : 0;
}
