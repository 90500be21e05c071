// SPDX-License-Identifier: BSD-3-Clause
/*
 * The scenarios of bad_input. What each must give is what a ConnectX gives: IBTA 1.4 chapter 9.9
 * and 10.10.3 for the completion, rdma-core's tests for RWQE failures (the sender sees a remote
 * operation error). Two answers are allowed where no public source settles which one mlx5 gives.
 */
#include "sim_tests/progs/bad_input.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw_tests/common/oob.h"

#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)
#define TOO_LONG ((1u << 30) + 1) /* one byte above log_max_msg = 30 */

/* ---- one work request, spoiled ---- */

static void wrong_lkey(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)wr;
	sge->lkey ^= 0x00345600;
}

static void stale_lkey(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)wr;
	sge->lkey ^= 0x55;
}

static void local_past_end(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)wr;
	sge->addr = (uintptr_t)rig->src + BI_BYTES - BI_LEN + 1;
}

static void wrong_rkey(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)sge;
	wr->wr.rdma.rkey ^= 0x00345600;
}

static void remote_past_end(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.remote_addr = (uintptr_t)rig->dst + BI_BYTES - BI_LEN + 1;
}

static void remote_before_start(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.remote_addr = (uintptr_t)rig->dst - 1;
}

/* Keys that live for one scenario; they are dropped when the next one needs one. */
static struct ibv_mr *extra_mr;

void bi_drop_key(void)
{
	if (extra_mr)
		ibv_dereg_mr(extra_mr);
	extra_mr = NULL;
}

static struct ibv_mr *extra(struct ibv_pd *pd, void *buf, size_t len, int access)
{
	bi_drop_key();
	extra_mr = ibv_reg_mr(pd, buf, len, access);
	if (!extra_mr) {
		perror("ibv_reg_mr");
		exit(2);
	}
	return extra_mr;
}

static void no_remote_write(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.rkey =
		extra(rig->pd, rig->dst, BI_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)
			->rkey;
}

static void no_remote_read(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.rkey =
		extra(rig->pd, rig->dst, BI_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
			->rkey;
}

static void no_local_write(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	wr->opcode = IBV_WR_RDMA_READ;
	sge->lkey = extra(rig->pd, rig->src, BI_BYTES, 0)->lkey;
}

static void other_pd_local(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)wr;
	sge->lkey = extra(rig->other_pd, rig->src, BI_BYTES, ALL_RIGHTS)->lkey;
}

static void other_pd_remote(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.rkey = extra(rig->other_pd, rig->dst, BI_BYTES, ALL_RIGHTS)->rkey;
}

static void gone_mr_local(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)wr;
	sge->lkey = extra(rig->pd, rig->src, BI_BYTES, ALL_RIGHTS)->lkey;
	bi_drop_key();
}

static void gone_mr_remote(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.rkey = extra(rig->pd, rig->dst, BI_BYTES, ALL_RIGHTS)->rkey;
	bi_drop_key();
}

/* A registered buffer whose mapping the program then removed. */
static struct ibv_mr *unmapped(struct bi_rig *rig)
{
	void *buf =
		mmap(NULL, BI_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	extra(rig->pd, buf, BI_BYTES, ALL_RIGHTS);
	munmap(buf, BI_BYTES);
	return extra_mr;
}

static void unmapped_local(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)wr;
	sge->lkey = unmapped(rig)->lkey;
	sge->addr = (uintptr_t)extra_mr->addr;
}

static void unmapped_remote(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.rkey = unmapped(rig)->rkey;
	wr->wr.rdma.remote_addr = (uintptr_t)extra_mr->addr;
}

static void qp_no_remote_write(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)wr, (void)sge;
}

static void as_send(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)sge;
	wr->opcode = IBV_WR_SEND;
}

static void receive_too_short(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	as_send(rig, wr, sge);
}

static void receive_wrong_lkey(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	as_send(rig, wr, sge);
}

static void as_write_imm(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)sge;
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void odd_atomic(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	sge->length = 8;
	wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr->wr.atomic.remote_addr = (uintptr_t)rig->dst + 4;
	wr->wr.atomic.rkey = rig->dst_mr->rkey;
	wr->wr.atomic.compare_add = 1;
}

static void too_long(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	static void *buf;

	(void)wr;
	if (!buf)
		buf = mmap(NULL, TOO_LONG, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	sge->addr = (uintptr_t)buf;
	sge->length = TOO_LONG;
	sge->lkey = extra(rig->pd, buf, TOO_LONG, 0)->lkey;
}

/* ---- work requests that libibverbs would not build ---- */

struct raw_wqe {
	uint8_t opcode, ds;
	uint16_t idx;
};

/* Writes one WQE at the start of a fresh send queue and rings, as mlx5 hardware wants it. */
static int post_raw(struct bi_rig *rig, const struct raw_wqe *raw)
{
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {.in = rig->victim.a, .out = &dv}};
	struct mlx5_wqe_ctrl_seg *ctrl;
	struct mlx5_wqe_raddr_seg *raddr;
	struct mlx5_wqe_data_seg *data;
	union {
		uint32_t words[2];
		uint64_t value;
	} doorbell;

	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP))
		return bi_fail("mlx5dv_init_obj");
	ctrl = dv.sq.buf;
	raddr = (void *)(ctrl + 1);
	data = (void *)(raddr + 1);
	mlx5dv_set_ctrl_seg(ctrl, raw->idx, raw->opcode, 0, rig->victim.a->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, raw->ds, 0, 0);
	raddr->raddr = htobe64((uintptr_t)rig->dst);
	raddr->rkey = htobe32(rig->dst_mr->rkey);
	raddr->reserved = 0;
	mlx5dv_set_data_seg(data, BI_LEN, rig->src_mr->lkey, (uintptr_t)rig->src);
	/* What libmlx5 rings with: the control segment's first words, with the index of slot 0. */
	doorbell.words[0] = htobe32(raw->opcode);
	doorbell.words[1] = ctrl->qpn_ds;
	__atomic_store_n(&dv.dbrec[MLX5_SND_DBR], htobe32(1), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n((uint64_t *)dv.bf.reg, doorbell.value, __ATOMIC_RELEASE);
	return 0;
}

static int run_raw(struct bi_rig *rig, const struct raw_wqe *raw)
{
	static const struct vp_qp_opts defaults;

	if (bi_pair_open(rig, &rig->victim, &defaults, &defaults) || post_raw(rig, raw))
		return -1;
	if (bi_expect(&rig->victim.a_cq, IBV_WC_LOC_QP_OP_ERR, 0, "requester's"))
		return -1;
	if (bi_expect_state(rig->victim.a, IBV_QPS_ERR, "requester's"))
		return -1;
	return bi_expect_state(rig->victim.b, IBV_QPS_RTS, "responder's");
}

static int bad_opcode(struct bi_rig *rig)
{
	return run_raw(rig, &(struct raw_wqe){.opcode = 0x3e, .ds = 3});
}

static int too_few_segments(struct bi_rig *rig)
{
	return run_raw(rig, &(struct raw_wqe){.opcode = MLX5_OPCODE_RDMA_WRITE, .ds = 1});
}

static int no_segments(struct bi_rig *rig)
{
	return run_raw(rig, &(struct raw_wqe){.opcode = MLX5_OPCODE_RDMA_WRITE, .ds = 0});
}

/* Slot 0 of a fresh queue with the index of another lap: the NIC does what the slot says. */
static int wrong_wqe_index(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	static const struct raw_wqe raw = {.opcode = MLX5_OPCODE_RDMA_WRITE, .ds = 3, .idx = 7};

	if (bi_pair_open(rig, &rig->victim, &defaults, &defaults) || post_raw(rig, &raw))
		return -1;
	if (bi_expect(&rig->victim.a_cq, IBV_WC_SUCCESS, 0, "requester's"))
		return -1;
	return bi_expect_state(rig->victim.a, IBV_QPS_RTS, "requester's");
}

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
	struct vp_qp_opts opts = impatient;

	opts.send_wr = 16;
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

/* ---- the table ---- */

#define WR(name_, reason_, status_, ...)                                                           \
	{                                                                                          \
		.name = #name_, .reason = reason_, .spoil = name_, .want = IBV_WC_##status_,       \
		__VA_ARGS__                                                                        \
	}
/* The responder refused: it is in ERR as well, and says so. */
#define ACCESS(name_, reason_)                                                                     \
	WR(name_, reason_, REM_ACCESS_ERR, .b_fails = true, .event = IBV_EVENT_QP_ACCESS_ERR)
#define RUN(name_, reason_)                                                                        \
	{                                                                                          \
		.name = #name_, .reason = reason_, .run = name_                                    \
	}
#define RNR(name_, retries_, spoil_)                                                               \
	{                                                                                          \
		.name = name_, .reason = "RNR|receive", .spoil = spoil_,                           \
		.want = IBV_WC_RNR_RETRY_EXC_ERR, .a_opts = {                                      \
			.strict = true,                                                            \
			.timeout = 14,                                                             \
			.retry_cnt = 7,                                                            \
			.rnr_retry = (retries_),                                                   \
			.min_rnr_timer = 1                                                         \
		}                                                                                  \
	}

const struct bi_case bi_cases[] = {
	WR(wrong_lkey, "key", LOC_PROT_ERR),
	WR(stale_lkey, "key", LOC_PROT_ERR),
	WR(local_past_end, "covers", LOC_PROT_ERR),
	WR(no_local_write, "local.?write", LOC_PROT_ERR),
	WR(other_pd_local, "PD|pd", LOC_PROT_ERR),
	WR(gone_mr_local, "key", LOC_PROT_ERR),
	WR(unmapped_local, "memory|fault|mapped", LOC_PROT_ERR),
	WR(too_long, "long|length|1073741825", LOC_LEN_ERR),
	ACCESS(wrong_rkey, "key"),
	ACCESS(remote_past_end, "covers"),
	ACCESS(remote_before_start, "covers"),
	ACCESS(no_remote_write, "remote.?write"),
	ACCESS(no_remote_read, "remote.?read"),
	ACCESS(other_pd_remote, "PD|pd"),
	ACCESS(gone_mr_remote, "key"),
	WR(unmapped_remote, "memory|fault|mapped", REM_OP_ERR, .alt = IBV_WC_REM_ACCESS_ERR,
	   .b_fails = true),
	WR(qp_no_remote_write, "write", REM_INV_REQ_ERR, .alt = IBV_WC_REM_ACCESS_ERR,
	   .b_fails = true, .b_opts = {.access = -1}),
	WR(odd_atomic, "align|multiple", REM_INV_REQ_ERR, .b_fails = true),
	WR(receive_too_short, "receive|RWQE|recv", REM_INV_REQ_ERR, .b_fails = true,
	   .recv_want = IBV_WC_LOC_LEN_ERR, .recv_len = 64),
	WR(receive_wrong_lkey, "key", REM_OP_ERR, .b_fails = true, .recv_want = IBV_WC_LOC_PROT_ERR,
	   .recv_len = BI_LEN, .recv_bad_key = true),
	RNR("rnr_retry_0", 0, as_send),
	RNR("rnr_retry_1", 1, as_send),
	RNR("rnr_write_imm", 1, as_write_imm),
	RUN(bad_opcode, "opcode"),
	RUN(too_few_segments, "segment|ds"),
	RUN(no_segments, "segment|ds"),
	RUN(wrong_wqe_index, "index|idx"),
	RUN(reset_to_rts, "RTS|state|transition"),
	RUN(modify_to_err, NULL),
	RUN(bad_mailbox, "log_cq_size|CREATE_CQ"),
	RUN(short_mailbox, "CREATE_CQ|length|bytes|short"),
	RUN(peer_destroyed, "retr|answer|ACK"),
	RUN(peer_killed, "retr|answer|ACK"),
};
const size_t bi_case_count = sizeof(bi_cases) / sizeof(bi_cases[0]);
