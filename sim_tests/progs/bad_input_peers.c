// SPDX-License-Identifier: BSD-3-Clause
/* Steps and mailboxes that are refused, a program's own step to ERR, and peers that go away. */
#include "sim_tests/progs/bad_input.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw_tests/common/oob.h"

/* ---- states and mailboxes ---- */

static int reset_to_rts(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int rc;

	if (bi_pair_open(rig, &rig->victim, &defaults, &defaults))
		return -1;
	rc = ibv_modify_qp(rig->victim.a, &attr, IBV_QP_STATE);
	if (rc)
		return bi_fail("ibv_modify_qp to RESET: %s", strerror(rc));
	attr.qp_state = IBV_QPS_RTS;
	rc = ibv_modify_qp(rig->victim.a, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (rc != EINVAL)
		return bi_fail("ibv_modify_qp from RESET to RTS gave %d (%s), expected EINVAL", rc,
			       strerror(rc));
	return bi_expect_state(rig->victim.a, IBV_QPS_RESET, "the");
}

/* A program's own step to ERR flushes what is posted, and what is posted later. */
static int modify_to_err(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_sge sge = {(uintptr_t)rig->dst, 64, rig->dst_mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge write_sge;
	int rc;

	if (bi_pair_open(rig, &rig->victim, &defaults, &defaults))
		return -1;
	rc = ibv_post_recv(rig->victim.b, &recv, &bad_recv);
	if (!rc)
		rc = ibv_modify_qp(rig->victim.b, &attr, IBV_QP_STATE);
	if (!rc)
		rc = ibv_modify_qp(rig->victim.a, &attr, IBV_QP_STATE);
	bi_write_wr(rig, &wr, &write_sge);
	if (!rc)
		rc = ibv_post_send(rig->victim.a, &wr, &bad);
	if (rc)
		return bi_fail("posting or ibv_modify_qp to ERR: %s", strerror(rc));
	if (bi_expect(&rig->victim.b_cq, IBV_WC_WR_FLUSH_ERR, 0, "receive's"))
		return -1;
	return bi_expect(&rig->victim.a_cq, IBV_WC_WR_FLUSH_ERR, 0, "send's");
}

/* Mailbox fields by the PRM: opcode in bytes 0-1; out: status in byte 0, syndrome in bytes 4-7. */
#define PRM_CREATE_CQ	  0x400
#define PRM_BAD_PARAM	  0x3
#define PRM_BAD_RESOURCE  0x5
#define PRM_BAD_RES_STATE 0x9
#define CQC_LOG_SIZE_BYTE (0x10 + 0x0c) /* create_cq_in.cqc, dword 3: log_cq_size in bits 28:24 */

static int bad_mailbox(struct bi_rig *rig)
{
	uint8_t in[272] = {PRM_CREATE_CQ >> 8, PRM_CREATE_CQ & 0xff}, out[16] = {0};
	struct mlx5dv_devx_obj *obj;

	in[CQC_LOG_SIZE_BYTE] = 31;
	errno = 0;
	obj = mlx5dv_devx_obj_create(rig->dev.ctx, in, sizeof(in), out, sizeof(out));
	if (obj) {
		mlx5dv_devx_obj_destroy(obj);
		return bi_fail("CREATE_CQ with 2^31 entries was accepted");
	}
	if (errno != EREMOTEIO || (out[0] != PRM_BAD_PARAM && out[0] != PRM_BAD_RESOURCE))
		return bi_fail("CREATE_CQ with 2^31 entries: errno %d status 0x%x, expected %d and "
			       "0x%x or 0x%x",
			       errno, out[0], EREMOTEIO, PRM_BAD_PARAM, PRM_BAD_RESOURCE);
	return 0;
}

static int short_mailbox(struct bi_rig *rig)
{
	uint8_t in[16] = {PRM_CREATE_CQ >> 8, PRM_CREATE_CQ & 0xff}, out[16] = {0};
	struct mlx5dv_devx_obj *obj;

	errno = 0;
	obj = mlx5dv_devx_obj_create(rig->dev.ctx, in, sizeof(in), out, sizeof(out));
	if (obj) {
		mlx5dv_devx_obj_destroy(obj);
		return bi_fail("CREATE_CQ of 16 bytes was accepted");
	}
	return errno ? 0 : bi_fail("CREATE_CQ of 16 bytes failed without errno");
}

/* ---- peers that go away ---- */

static const struct vp_qp_opts impatient = {
	.strict = true, .timeout = 10, .retry_cnt = 2, .rnr_retry = 1, .min_rnr_timer = 1};

static int peer_destroyed(struct bi_rig *rig)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	if (bi_pair_open(rig, &rig->victim, &impatient, &impatient))
		return -1;
	ibv_destroy_qp(rig->victim.b);
	rig->victim.b = NULL;
	bi_write_wr(rig, &wr, &sge);
	errno = ibv_post_send(rig->victim.a, &wr, &bad);
	if (errno)
		return bi_fail("ibv_post_send: %s", strerror(errno));
	if (bi_expect(&rig->victim.a_cq, IBV_WC_RETRY_EXC_ERR, 0, "requester's"))
		return -1;
	return bi_expect_state(rig->victim.a, IBV_QPS_ERR, "requester's");
}

struct meeting {
	struct vp_dest dest;
	uint64_t addr;
	uint32_t rkey, unused;
};

/* One QP of this process, connected to the one of the other process over sock. */
static int meet(struct bi_rig *rig, int sock, struct meeting *theirs)
{
	struct meeting mine = {.addr = (uintptr_t)rig->dst, .rkey = rig->dst_mr->rkey};
	struct bi_pair *v = &rig->victim;
	/* The other process may have to wait for its turn: 8 times 134 ms for an answer. */
	struct vp_qp_opts opts = {.strict = true,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 1,
				  .min_rnr_timer = 1,
				  .send_wr = 16};

	if (vp_cq_open(&rig->dev, &v->a_cq, 64, false))
		return -1;
	v->a = vp_qp_open(rig->pd, &v->a_cq, &v->a_cq, &opts, NULL);
	if (!v->a)
		return -1;
	vp_qp_dest(&rig->dev, v->a, &opts, &mine.dest);
	if (oob_swap(sock, &mine, theirs, sizeof(mine), "queue pair"))
		return -1;
	return vp_qp_connect(&rig->dev, v->a, &opts, &theirs->dest);
}

int bi_serve(struct bi_rig *rig)
{
	int sock = oob_accept((uint16_t)rig->port, 60000);
	struct meeting theirs;
	char order;

	if (sock < 0 || meet(rig, sock, &theirs) || oob_send(sock, "r", 1, "ready"))
		return 2;
	if (oob_recv(sock, &order, 1, "the order to die"))
		return 2;
	return kill(getpid(), SIGKILL);
}

static int write_to(struct bi_rig *rig, const struct meeting *theirs)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	bi_write_wr(rig, &wr, &sge);
	wr.wr.rdma.remote_addr = theirs->addr;
	wr.wr.rdma.rkey = theirs->rkey;
	errno = ibv_post_send(rig->victim.a, &wr, &bad);
	return errno ? bi_fail("ibv_post_send: %s", strerror(errno)) : 0;
}

static int kill_peer(struct bi_rig *rig, int sock)
{
	struct meeting theirs;
	char ready;

	if (meet(rig, sock, &theirs) || oob_recv(sock, &ready, 1, "ready"))
		return -1;
	if (write_to(rig, &theirs) ||
	    bi_expect(&rig->victim.a_cq, IBV_WC_SUCCESS, 0, "first request's"))
		return -1;
	if (oob_send(sock, "d", 1, "the order to die") ||
	    oob_recv_optional(sock, &ready, 1, "nothing"))
		return -1;
	if (write_to(rig, &theirs) ||
	    bi_expect(&rig->victim.a_cq, IBV_WC_RETRY_EXC_ERR, 0, "requester's"))
		return -1;
	return bi_expect_state(rig->victim.a, IBV_QPS_ERR, "requester's");
}

static pid_t start_server(int port)
{
	char number[8];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(number, sizeof(number), "%d", port);
	execl("/proc/self/exe", "bad_input", "-S", "-p", number, NULL);
	_exit(127);
}

static int peer_killed(struct bi_rig *rig)
{
	pid_t pid = rig->peer ? 0 : start_server(rig->port);
	int sock, rc = -1, status;

	if (pid < 0)
		return bi_fail("fork: %s", strerror(errno));
	sock = oob_connect(rig->peer ? rig->peer : "127.0.0.1", (uint16_t)rig->port, 20000);
	if (sock >= 0) {
		rc = kill_peer(rig, sock);
		close(sock);
	}
	if (pid) {
		kill(pid, SIGKILL); /* already dead, unless something above failed */
		waitpid(pid, &status, 0);
	}
	return rc;
}

#define GONE_ BI_STATUS(RETRY_EXC_ERR)
static const struct bi_case cases[] = {
	BI_RUN(reset_to_rts, "RTS|state|transition", 0, 0),
	BI_RUN(modify_to_err, NULL, BI_STATUS(WR_FLUSH_ERR), 0),
	BI_RUN(bad_mailbox, "log_cq_size|CREATE_CQ", 0, 0),
	BI_RUN(short_mailbox, "CREATE_CQ|length|bytes|short", 0, 0),
	BI_RUN(peer_destroyed, "retr|answer|ACK", GONE_, 0),
	BI_RUN(peer_killed, "retr|answer|ACK", GONE_, 0),
};
const struct bi_subject bi_peers = BI_SUBJECT(cases);
