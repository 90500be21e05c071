// SPDX-License-Identifier: BSD-3-Clause
/* Mistakes with shared receive queues, of RC and of XRC, and what the queue itself reports. */
#include "sim_tests/progs/bad_input.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

enum { SRQ_WQES = 8 };

static void request(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge,
		    enum ibv_wr_opcode opcode)
{
	bi_write_wr(rig, wr, sge);
	wr->opcode = opcode;
	wr->wr_id = BI_WR_BAD;
	if (rig->victim.xrcd)
		ibv_get_srq_num(rig->victim.srq, &wr->qp_type.xrc.remote_srqn);
}

/* The request fails, and so does the QP that sent it. */
static int requester_fails(struct bi_rig *rig, struct ibv_send_wr *wr, enum ibv_wc_status want,
			   enum ibv_wc_status alt)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr after;
	struct ibv_sge sge;

	request(rig, &after, &sge, IBV_WR_RDMA_WRITE);
	after.send_flags = 0;
	after.wr_id = BI_WR_AFTER;
	wr->next = &after;
	if (bi_post(rig, wr) || bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, want, alt, "requester's"))
		return -1;
	return bi_expect_wr(&v->a_cq, v->a, BI_WR_AFTER, IBV_WC_WR_FLUSH_ERR, 0, "next request's");
}

/* What the queue still has serves another QP; the one that failed flushed none of it. */
static int queue_lives(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;

	return bi_expect_none(&v->b_cq, "the shared queue's");
}

/* ---- RC ---- */

static int srq_empty(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_RC, true))
		return -1;
	request(rig, &wr, &sge, IBV_WR_SEND);
	if (requester_fails(rig, &wr, IBV_WC_RNR_RETRY_EXC_ERR, 0))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_RTS);
}

static int srq_receive_too_short(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, v, IBV_QPT_RC, true) || bi_post_recv(rig, NULL, v->srq, 64) ||
	    bi_post_recv(rig, NULL, v->srq, 64))
		return -1;
	request(rig, &wr, &sge, IBV_WR_SEND);
	if (requester_fails(rig, &wr, IBV_WC_REM_INV_REQ_ERR, 0) ||
	    bi_expect_wr(&v->b_cq, v->b, BI_WR_RECV, IBV_WC_LOC_LEN_ERR, 0, "receive's") ||
	    bi_expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, v->b) || queue_lives(rig))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_ERR);
}

/* A program's own step to ERR: nothing of the queue is flushed, the event says that it may go. */
static int srq_last_wqe(struct bi_rig *rig)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct bi_pair *v = &rig->victim;
	int rc;

	if (bi_pair_of(rig, v, IBV_QPT_RC, true) || bi_post_recv(rig, NULL, v->srq, 64))
		return -1;
	rc = ibv_modify_qp(v->b, &attr, IBV_QP_STATE);
	if (rc)
		return bi_fail("ibv_modify_qp to ERR: %s", strerror(rc));
	if (bi_expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, v->b) || queue_lives(rig))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_ERR);
}

/* Once, when fewer than the limit are left; then it is disarmed. */
static int srq_limit(struct bi_rig *rig)
{
	struct ibv_srq_attr attr = {.srq_limit = 3};
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, v, IBV_QPT_RC, true))
		return -1;
	for (int i = 0; i < 4; i++)
		if (bi_post_recv(rig, NULL, v->srq, BI_LEN))
			return -1;
	errno = ibv_modify_srq(v->srq, &attr, IBV_SRQ_LIMIT);
	if (errno)
		return bi_fail("ibv_modify_srq: %s", strerror(errno));
	for (int i = 0; i < 3; i++) {
		request(rig, &wr, &sge, IBV_WR_SEND);
		if (bi_post(rig, &wr) || bi_expect(&v->a_cq, IBV_WC_SUCCESS, 0, "sender's") ||
		    bi_expect(&v->b_cq, IBV_WC_SUCCESS, 0, "receive's"))
			return -1;
		if (i == 1 && bi_expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, v->srq))
			return -1;
	}
	errno = ibv_query_srq(v->srq, &attr);
	if (errno || attr.srq_limit)
		return bi_fail("the limit reads %u after its event, expected 0", attr.srq_limit);
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
}

/* A record that claims more WQEs than the queue has. */
static int srq_broken(struct bi_rig *rig)
{
	struct mlx5dv_srq dv = {0};
	struct mlx5dv_obj obj = {.srq = {.out = &dv}};
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, v, IBV_QPT_RC, true))
		return -1;
	obj.srq.in = v->srq;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ))
		return bi_fail("mlx5dv_init_obj");
	__atomic_store_n(dv.dbrec, htobe32(100 * SRQ_WQES), __ATOMIC_RELEASE);
	request(rig, &wr, &sge, IBV_WR_SEND);
	if (requester_fails(rig, &wr, IBV_WC_REM_OP_ERR, 0) ||
	    bi_expect_event(IBV_EVENT_SRQ_ERR, v->srq) ||
	    bi_expect_event(IBV_EVENT_QP_FATAL, v->b) ||
	    bi_expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, v->b))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_ERR);
}

/* ---- XRC ---- */

static int xrc_fails(struct bi_rig *rig, struct ibv_send_wr *wr, enum ibv_wc_status want,
		     enum ibv_wc_status alt, enum ibv_event_type event)
{
	struct bi_pair *v = &rig->victim;

	if (requester_fails(rig, wr, want, alt) || bi_expect_event(event, v->b) ||
	    bi_expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, v->b))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_ERR);
}

static int xrc_wrong_rkey(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_XRC_SEND, false))
		return -1;
	request(rig, &wr, &sge, IBV_WR_RDMA_WRITE);
	wr.wr.rdma.rkey ^= 0x00345600;
	return xrc_fails(rig, &wr, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR);
}

static int xrc_wrong_srq(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_XRC_SEND, false))
		return -1;
	request(rig, &wr, &sge, IBV_WR_SEND);
	wr.qp_type.xrc.remote_srqn ^= 0x345;
	return xrc_fails(rig, &wr, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR, IBV_EVENT_QP_REQ_ERR);
}

static int xrc_wrong_lkey(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_XRC_SEND, false))
		return -1;
	request(rig, &wr, &sge, IBV_WR_SEND);
	sge.lkey ^= 0x00345600;
	if (requester_fails(rig, &wr, IBV_WC_LOC_PROT_ERR, 0))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_RTS);
}

static int xrc_srq_empty(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_XRC_SEND, false))
		return -1;
	request(rig, &wr, &sge, IBV_WR_SEND);
	if (requester_fails(rig, &wr, IBV_WC_RNR_RETRY_EXC_ERR, 0))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_RTS);
}

#define FLUSH	 BI_STATUS(WR_FLUSH_ERR)
#define LAST_WQE BI_EVENT(QP_LAST_WQE_REACHED)
static const struct bi_case cases[] = {
	BI_RUN(srq_empty, "RNR|receive", BI_STATUS(RNR_RETRY_EXC_ERR) | FLUSH, 0),
	BI_RUN(srq_receive_too_short, "receive WQE",
	       BI_STATUS(REM_INV_REQ_ERR) | BI_STATUS(LOC_LEN_ERR) | FLUSH, LAST_WQE),
	BI_RUN(srq_last_wqe, NULL, 0, LAST_WQE),
	BI_RUN(srq_limit, NULL, 0, BI_EVENT(SRQ_LIMIT_REACHED)),
	BI_RUN(srq_broken, "SRQ 0x.*record", BI_STATUS(REM_OP_ERR) | FLUSH,
	       BI_EVENT(SRQ_ERR) | BI_EVENT(QP_FATAL) | LAST_WQE),
	BI_RUN(xrc_wrong_rkey, "key", BI_STATUS(REM_ACCESS_ERR) | FLUSH,
	       BI_EVENT(QP_ACCESS_ERR) | LAST_WQE),
	BI_RUN(xrc_wrong_srq, "SRQ", FLUSH, BI_EVENT(QP_REQ_ERR) | LAST_WQE),
	BI_RUN(xrc_wrong_lkey, "key", BI_STATUS(LOC_PROT_ERR) | FLUSH, 0),
	BI_RUN(xrc_srq_empty, "RNR|receive", BI_STATUS(RNR_RETRY_EXC_ERR) | FLUSH, 0),
};
const struct bi_subject bi_shared = BI_SUBJECT(cases);
