// SPDX-License-Identifier: BSD-3-Clause
/*
 * Queues that are too small, posts that the library refuses, ends that disagree, and the event of a
 * connection that is used before it is told.
 */
#include "sim_tests/progs/bad_input.h"

#include <errno.h>
#include <string.h>

/* ---- a CQ that nobody empties ---- */

enum { SEND_WRS = 16 };

/* A ring has one entry more than it says. The CQ and every QP on it are lost; both are told. */
static int cq_overrun(struct bi_rig *rig)
{
	static const struct vp_qp_opts opts = {.send_wr = SEND_WRS};
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct vp_dest dest;

	if (vp_cq_open(&rig->dev, &v->a_cq, 1, false))
		return -1;
	v->a = vp_qp_open(rig->pd, &v->a_cq, &v->a_cq, &opts, NULL);
	if (!v->a)
		return -1;
	vp_qp_dest(&rig->dev, v->a, &opts, &dest);
	if (vp_qp_connect(&rig->dev, v->a, &opts, &dest))
		return -1;
	for (int i = 0; i < v->a_cq.cq->cqe + 2; i++) {
		bi_write_wr(rig, &wr, &sge);
		if (bi_post(rig, &wr))
			return -1;
	}
	if (bi_expect_event(IBV_EVENT_CQ_ERR, v->a_cq.cq) ||
	    bi_expect_event(IBV_EVENT_QP_FATAL, v->a))
		return -1;
	return bi_expect_state(v->a, IBV_QPS_ERR, "the CQ's");
}

/* ---- posts that the library refuses ---- */

static int works(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	bi_write_wr(rig, &wr, &sge);
	wr.wr_id = BI_WR_AFTER;
	if (bi_post(rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_AFTER, IBV_WC_SUCCESS, 0, "next request's"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
}

static int refused(int got, int want, const char *what)
{
	return got == want ? 0
			   : bi_fail("%s gave %s, expected %s", what,
				     got ? strerrorname_np(got) : "0", strerrorname_np(want));
}

static int inline_too_long(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr, *bad = NULL;
	struct ibv_sge sge;

	if (bi_pair_open(rig, v, &defaults, &defaults))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	wr.send_flags |= IBV_SEND_INLINE;
	if (refused(ibv_post_send(v->a, &wr, &bad), ENOMEM, "4096 inline bytes"))
		return -1;
	if (bad != &wr)
		return bi_fail("bad_wr is not the request that was refused");
	return works(rig);
}

static int too_many_sges(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge[64];

	if (bi_pair_open(rig, v, &defaults, &defaults))
		return -1;
	bi_write_wr(rig, &wr, sge);
	for (size_t i = 1; i < sizeof(sge) / sizeof(sge[0]); i++)
		sge[i] = sge[0];
	wr.num_sge = sizeof(sge) / sizeof(sge[0]);
	if (refused(ibv_post_send(v->a, &wr, &bad), ENOMEM, "64 SGEs"))
		return -1;
	return works(rig);
}

/* Requests that wait for a receive fill the send queue; they complete when one is there. */
static int send_queue_full(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	int rc = 0, posted;

	if (bi_pair_open(rig, v, &defaults, &defaults))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	wr.opcode = IBV_WR_SEND;
	sge.length = 8;
	for (posted = 0; !rc && posted < 1024; posted++)
		rc = ibv_post_send(v->a, &wr, &bad);
	if (refused(rc, ENOMEM, "one request more than the queue holds"))
		return -1;
	for (int i = 0; i < posted - 1; i++) {
		if (bi_post_recv(rig, v->b, NULL, 8) ||
		    bi_expect(&v->b_cq, IBV_WC_SUCCESS, 0, "receive's") ||
		    bi_expect(&v->a_cq, IBV_WC_SUCCESS, 0, "request's"))
			return -1;
	}
	return works(rig);
}

static int receive_queue_full(struct bi_rig *rig)
{
	static const struct vp_qp_opts defaults;
	struct bi_pair *v = &rig->victim;
	struct ibv_sge sge = {(uintptr_t)rig->dst, 64, rig->dst_mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;
	int rc = 0;

	if (bi_pair_open(rig, v, &defaults, &defaults))
		return -1;
	for (int i = 0; !rc && i < 1024; i++)
		rc = ibv_post_recv(v->b, &recv, &bad);
	if (refused(rc, ENOMEM, "one receive more than the queue holds"))
		return -1;
	return works(rig);
}

/* ---- ends that disagree ---- */

/* Connects both, each with an MTU of its own and, if wanted, another PSN than the peer expects. */
static int disagree(struct bi_rig *rig, uint32_t a_mtu, uint32_t b_mtu)
{
	struct vp_qp_opts a = {.send_wr = 16, .mtu = a_mtu}, b = {.send_wr = 16, .mtu = b_mtu};
	struct bi_pair *v = &rig->victim;
	struct vp_dest a_dest, b_dest;

	if (vp_cq_open(&rig->dev, &v->a_cq, 64, false) ||
	    vp_cq_open(&rig->dev, &v->b_cq, 64, false))
		return -1;
	v->a = vp_qp_open(rig->pd, &v->a_cq, &v->a_cq, &a, NULL);
	v->b = vp_qp_open(rig->pd, &v->b_cq, &v->b_cq, &b, NULL);
	if (!v->a || !v->b)
		return -1;
	vp_qp_dest(&rig->dev, v->a, &a, &a_dest);
	vp_qp_dest(&rig->dev, v->b, &b, &b_dest);
	/* vp_qp_connect() takes the smaller of the two. */
	a_dest.mtu = b_mtu;
	b_dest.mtu = a_mtu;
	return vp_qp_connect(&rig->dev, v->a, &a, &b_dest) ||
			       vp_qp_connect(&rig->dev, v->b, &b, &a_dest)
		       ? -1
		       : 0;
}

/* A response in pieces that are not of this end's size. */
static int read_with_other_mtu(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (disagree(rig, IBV_MTU_1024, IBV_MTU_512))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr_id = BI_WR_BAD;
	if (bi_post(rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, IBV_WC_BAD_RESP_ERR, 0, "requester's"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_RTS);
}

/* A request in such pieces. */
static int write_with_other_mtu(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (disagree(rig, IBV_MTU_512, IBV_MTU_1024))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	wr.wr_id = BI_WR_BAD;
	if (bi_post(rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, IBV_WC_REM_INV_REQ_ERR, 0, "requester's") ||
	    bi_expect_event(IBV_EVENT_QP_REQ_ERR, v->b))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_ERR);
}

/* ---- events that are none of an error ---- */

/* b is in RTR when the first request comes, and stays there until it is told. */
static int comm_est(struct bi_rig *rig)
{
	static const struct vp_qp_opts opts = {.send_wr = 16};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 1};
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct vp_dest a_dest, b_dest;

	if (vp_cq_open(&rig->dev, &v->a_cq, 64, false) ||
	    vp_cq_open(&rig->dev, &v->b_cq, 64, false))
		return -1;
	v->a = vp_qp_open(rig->pd, &v->a_cq, &v->a_cq, &opts, NULL);
	v->b = vp_qp_open(rig->pd, &v->b_cq, &v->b_cq, &opts, NULL);
	if (!v->a || !v->b)
		return -1;
	vp_qp_dest(&rig->dev, v->a, &opts, &a_dest);
	vp_qp_dest(&rig->dev, v->b, &opts, &b_dest);
	if (vp_qp_connect(&rig->dev, v->a, &opts, &b_dest) ||
	    vp_qp_ready(&rig->dev, v->b, &opts, &a_dest))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	if (bi_post(rig, &wr) || bi_expect(&v->a_cq, IBV_WC_SUCCESS, 0, "requester's") ||
	    bi_expect_event(IBV_EVENT_COMM_EST, v->b) ||
	    bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTR))
		return -1;
	errno = ibv_modify_qp(v->b, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (errno)
		return bi_fail("ibv_modify_qp to RTS: %s", strerror(errno));
	bi_write_wr(rig, &wr, &sge);
	if (bi_post(rig, &wr) || bi_expect(&v->a_cq, IBV_WC_SUCCESS, 0, "requester's"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
}

static const struct bi_case cases[] = {
	BI_RUN(cq_overrun, "overrun", 0, BI_EVENT(CQ_ERR) | BI_EVENT(QP_FATAL)),
	BI_RUN(inline_too_long, NULL, 0, 0),
	BI_RUN(too_many_sges, NULL, 0, 0),
	BI_RUN(send_queue_full, "receive", 0, 0),
	BI_RUN(receive_queue_full, NULL, 0, 0),
	BI_RUN(read_with_other_mtu, "is not the answer", BI_STATUS(BAD_RESP_ERR), 0),
	BI_RUN(write_with_other_mtu, "refused", BI_STATUS(REM_INV_REQ_ERR), BI_EVENT(QP_REQ_ERR)),
	BI_RUN(comm_est, NULL, 0, BI_EVENT(COMM_EST)),
};
const struct bi_subject bi_limits = BI_SUBJECT(cases);
