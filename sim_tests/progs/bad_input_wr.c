// SPDX-License-Identifier: BSD-3-Clause
/*
 * One work request of RC with one mistake. What each must give is what a ConnectX gives: IBTA 1.4
 * chapter 9.9 and 10.10.3 for the completion, rdma-core's tests for RWQE failures (the sender sees
 * a remote operation error). Two answers are allowed where no public source settles which one mlx5
 * gives.
 */
#include "sim_tests/progs/bad_input.h"

#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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
	sge->lkey = extra(rig->other_pd, rig->src, BI_BYTES, BI_ALL_RIGHTS)->lkey;
}

static void other_pd_remote(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.rkey = extra(rig->other_pd, rig->dst, BI_BYTES, BI_ALL_RIGHTS)->rkey;
}

static void gone_mr_local(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)wr;
	sge->lkey = extra(rig->pd, rig->src, BI_BYTES, BI_ALL_RIGHTS)->lkey;
	bi_drop_key();
}

static void gone_mr_remote(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)sge;
	wr->wr.rdma.rkey = extra(rig->pd, rig->dst, BI_BYTES, BI_ALL_RIGHTS)->rkey;
	bi_drop_key();
}

/* A registered buffer whose mapping the program then removed. */
static struct ibv_mr *unmapped(struct bi_rig *rig)
{
	void *buf =
		mmap(NULL, BI_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	extra(rig->pd, buf, BI_BYTES, BI_ALL_RIGHTS);
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

/* Its responder, that is: the options of b. */
static void qp_no_remote_write(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)wr, (void)sge;
}

static void qp_no_remote_read(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	(void)rig, (void)sge;
	wr->opcode = IBV_WR_RDMA_READ;
}

static void qp_no_remote_atomic(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	sge->length = 8;
	wr->opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr->wr.atomic.remote_addr = (uintptr_t)rig->dst;
	wr->wr.atomic.rkey = rig->dst_mr->rkey;
}

static void no_remote_atomic(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	qp_no_remote_atomic(rig, wr, sge);
	wr->wr.atomic.rkey =
		extra(rig->pd, rig->dst, BI_BYTES,
		      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
			->rkey;
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

/* ---- the table ---- */

#define WR(name_, reason_, status_, ...)                                                           \
	{                                                                                          \
		.name = #name_, .reason = reason_, .spoil = name_, .want = IBV_WC_##status_,       \
		__VA_ARGS__                                                                        \
	}
/* The responder refused: it is in ERR as well, and says so. */
#define ACCESS(name_, reason_)                                                                     \
	WR(name_, reason_, REM_ACCESS_ERR, .b_fails = true, .events = BI_EVENT(QP_ACCESS_ERR))
#define RIGHT(name_, reason_, rights_)                                                             \
	WR(name_, reason_, REM_INV_REQ_ERR, .alt = IBV_WC_REM_ACCESS_ERR, .b_fails = true,         \
	   .events = BI_EVENT(QP_REQ_ERR), .b_opts = {.access = (rights_)})
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
#define RAW(name_, reason_) BI_RUN(name_, reason_, BI_STATUS(LOC_QP_OP_ERR), 0)

static const struct bi_case cases[] = {
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
	ACCESS(no_remote_atomic, "atomic"),
	ACCESS(other_pd_remote, "PD|pd"),
	ACCESS(gone_mr_remote, "key"),
	WR(unmapped_remote, "memory|fault|mapped", REM_OP_ERR, .alt = IBV_WC_REM_ACCESS_ERR,
	   .b_fails = true, .events = BI_EVENT(QP_ACCESS_ERR)),
	RIGHT(qp_no_remote_write, "write", -1),
	RIGHT(qp_no_remote_read, "read", IBV_ACCESS_REMOTE_WRITE),
	RIGHT(qp_no_remote_atomic, "atomic", IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
	WR(odd_atomic, "align|multiple", REM_INV_REQ_ERR, .b_fails = true,
	   .events = BI_EVENT(QP_REQ_ERR)),
	WR(receive_too_short, "receive|RWQE|recv", REM_INV_REQ_ERR, .b_fails = true,
	   .recv_want = IBV_WC_LOC_LEN_ERR, .recv_len = 64),
	WR(receive_wrong_lkey, "key", REM_OP_ERR, .b_fails = true, .recv_want = IBV_WC_LOC_PROT_ERR,
	   .recv_len = BI_LEN, .recv_bad_key = true),
	RNR("rnr_retry_0", 0, as_send),
	RNR("rnr_retry_1", 1, as_send),
	RNR("rnr_write_imm", 1, as_write_imm),
	RAW(bad_opcode, "opcode"),
	RAW(too_few_segments, "segment|ds"),
	RAW(no_segments, "segment|ds"),
	BI_RUN(wrong_wqe_index, "index|idx", 0, 0),
};
const struct bi_subject bi_wr = BI_SUBJECT(cases);
