// SPDX-License-Identifier: BSD-3-Clause
/*
 * Mistakes on unreliable services. A send that fails stops the send queue alone (SQE, IBTA
 * 10.3.1.5) and RTS follows; what is wrong at the receiver the sender does not hear of.
 */
#include "sim_tests/progs/bad_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { QKEY = 0x1234, DEPTH = 16, SRQ_DEPTH = 8, GRH = 40 };

/* ---- pairs of any service ---- */

#define PORT  (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define PATH  (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESP  (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define REQ   (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define SQPSN (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* Which attributes each step to RTS takes; an XRC target's are those of RC, less what it drops. */
static const struct {
	enum ibv_qp_type type;
	int to_init, to_rtr, to_rts;
} ladders[] = {
	{IBV_QPT_RC, PORT | IBV_QP_ACCESS_FLAGS, PATH | RESP, SQPSN | REQ},
	{IBV_QPT_UC, PORT | IBV_QP_ACCESS_FLAGS, PATH, SQPSN},
	{IBV_QPT_UD, PORT | IBV_QP_QKEY, IBV_QP_STATE, SQPSN},
	{IBV_QPT_XRC_SEND, PORT | IBV_QP_ACCESS_FLAGS, PATH | RESP, SQPSN | REQ},
	{IBV_QPT_XRC_RECV, PORT | IBV_QP_ACCESS_FLAGS, PATH | RESP, SQPSN | REQ},
};

static int climb(struct bi_rig *rig, struct ibv_qp *qp, uint32_t peer)
{
	bool ethernet = rig->dev.port.link_layer == IBV_LINK_LAYER_ETHERNET;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = rig->dev.port.active_mtu,
		.dest_qp_num = peer,
		.max_rd_atomic = 8,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 1,
		.ah_attr = {.port_num = 1, .dlid = rig->dev.port.lid, .is_global = ethernet},
	};
	size_t n = 0;
	int rc;

	while (ladders[n].type != qp->qp_type)
		n++;
	attr.ah_attr.grh.dgid = rig->dev.gid;
	attr.ah_attr.grh.sgid_index = (uint8_t)rig->dev.gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	rc = ibv_modify_qp(qp, &attr, ladders[n].to_init);
	attr.qp_state = IBV_QPS_RTR;
	if (!rc)
		rc = ibv_modify_qp(qp, &attr, ladders[n].to_rtr);
	attr.qp_state = IBV_QPS_RTS;
	if (!rc)
		rc = ibv_modify_qp(qp, &attr, ladders[n].to_rts);
	return rc ? bi_fail("a QP of type %d to RTS: %s", qp->qp_type, strerror(rc)) : 0;
}

static int open_srq(struct bi_rig *rig, struct bi_pair *p, bool xrc)
{
	struct ibv_xrcd_init_attr domain = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							 IBV_XRCD_INIT_ATTR_OFLAGS,
					    .fd = -1,
					    .oflags = O_CREAT};
	struct ibv_srq_init_attr_ex init = {
		.attr = {.max_wr = SRQ_DEPTH, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = rig->pd,
		.cq = p->b_cq.cq,
	};

	if (xrc) {
		p->xrcd = ibv_open_xrcd(rig->dev.ctx, &domain);
		if (!p->xrcd)
			return bi_fail("ibv_open_xrcd: %s", strerror(errno));
		init.xrcd = p->xrcd;
		init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	}
	p->srq = ibv_create_srq_ex(rig->dev.ctx, &init);
	return p->srq ? 0 : bi_fail("ibv_create_srq_ex: %s", strerror(errno));
}

static struct ibv_qp *open_end(struct bi_rig *rig, struct bi_pair *p, enum ibv_qp_type type,
			       struct vp_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = cq->cq,
		.recv_cq = cq->cq,
		.srq = srq,
		.cap = {.max_send_wr = DEPTH, .max_send_sge = 1, .max_inline_data = 64},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = rig->pd,
	};

	if (type == IBV_QPT_XRC_SEND) {
		init.recv_cq = NULL;
	} else if (type == IBV_QPT_XRC_RECV) {
		init = (struct ibv_qp_init_attr_ex){
			.qp_type = type, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = p->xrcd};
	} else if (!srq) {
		init.cap.max_recv_wr = DEPTH;
		init.cap.max_recv_sge = 1;
	}
	return ibv_create_qp_ex(rig->dev.ctx, &init);
}

static int open_ah(struct bi_rig *rig, struct bi_pair *p)
{
	struct ibv_ah_attr attr = {.port_num = 1,
				   .dlid = rig->dev.port.lid,
				   .is_global =
					   rig->dev.port.link_layer == IBV_LINK_LAYER_ETHERNET};

	attr.grh.dgid = rig->dev.gid;
	attr.grh.sgid_index = (uint8_t)rig->dev.gid_index;
	attr.grh.hop_limit = 64;
	p->ah = ibv_create_ah(rig->pd, &attr);
	return p->ah ? 0 : bi_fail("ibv_create_ah: %s", strerror(errno));
}

int bi_pair_of(struct bi_rig *rig, struct bi_pair *p, enum ibv_qp_type type, bool shared)
{
	bool xrc = type == IBV_QPT_XRC_SEND;

	memset(p, 0, sizeof(*p));
	if (vp_cq_open(&rig->dev, &p->a_cq, 64, false) ||
	    vp_cq_open(&rig->dev, &p->b_cq, 64, false))
		return -1;
	if ((shared || xrc) && open_srq(rig, p, xrc))
		return -1;
	p->a = open_end(rig, p, type, &p->a_cq, NULL);
	p->b = open_end(rig, p, xrc ? IBV_QPT_XRC_RECV : type, &p->b_cq, xrc ? NULL : p->srq);
	if (!p->a || !p->b)
		return bi_fail("ibv_create_qp_ex: %s", strerror(errno));
	if (type == IBV_QPT_UD && open_ah(rig, p))
		return -1;
	return climb(rig, p->a, p->b->qp_num) || climb(rig, p->b, p->a->qp_num) ? -1 : 0;
}

/* ---- sends that fail ---- */

static void send_wr(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge, uint32_t len)
{
	bi_write_wr(rig, wr, sge);
	sge->length = len;
	wr->opcode = IBV_WR_SEND;
	if (!rig->victim.ah)
		return;
	wr->wr.ud.ah = rig->victim.ah;
	wr->wr.ud.remote_qpn = rig->victim.b->qp_num;
	wr->wr.ud.remote_qkey = QKEY;
}

static int receives(struct bi_rig *rig, const char *whose)
{
	struct bi_pair *v = &rig->victim;

	return bi_expect_wr(&v->b_cq, v->b, BI_WR_RECV, IBV_WC_SUCCESS, 0, whose);
}

/* After the mistake: SQE, what is posted is flushed, and RTS makes it work again. */
static int comes_back(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int rc;

	if (bi_expect_states(rig, IBV_QPS_SQE, IBV_QPS_RTS))
		return -1;
	send_wr(rig, &wr, &sge, 64);
	wr.wr_id = BI_WR_AFTER;
	if (bi_post(rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_AFTER, IBV_WC_WR_FLUSH_ERR, 0, "request's in SQE"))
		return -1;
	rc = ibv_modify_qp(v->a, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
	if (rc)
		return bi_fail("ibv_modify_qp from SQE to RTS: %s", strerror(rc));
	if (bi_post_recv(rig, v->b, NULL, BI_LEN) || bi_post(rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_AFTER, IBV_WC_SUCCESS, 0, "request's after RTS") ||
	    receives(rig, "receive's after RTS"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
}

/* The spoiled request, and a good one behind it. */
static int fails(struct bi_rig *rig, struct ibv_send_wr *wr, enum ibv_wc_status want)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr after;
	struct ibv_sge sge;

	send_wr(rig, &after, &sge, 64);
	after.send_flags = 0;
	after.wr_id = BI_WR_AFTER;
	wr->wr_id = BI_WR_BAD;
	wr->next = &after;
	if (bi_post(rig, wr) || bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, want, 0, "requester's") ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_AFTER, IBV_WC_WR_FLUSH_ERR, 0, "next request's"))
		return -1;
	return comes_back(rig);
}

static int send_with_key(struct bi_rig *rig, enum ibv_qp_type type)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, type, false))
		return -1;
	send_wr(rig, &wr, &sge, 1024);
	sge.lkey ^= 0x00345600;
	return fails(rig, &wr, IBV_WC_LOC_PROT_ERR);
}

static int uc_wrong_lkey(struct bi_rig *rig)
{
	return send_with_key(rig, IBV_QPT_UC);
}

static int ud_wrong_lkey(struct bi_rig *rig)
{
	return send_with_key(rig, IBV_QPT_UD);
}

/* No operation of the service, which libmlx5 leaves to the device to say. */
static int uc_read(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_UC, false))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	wr.opcode = IBV_WR_RDMA_READ;
	return fails(rig, &wr, IBV_WC_LOC_QP_OP_ERR);
}

static int ud_longer_than_mtu(struct bi_rig *rig)
{
	uint32_t mtu = 128u << rig->dev.port.active_mtu;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_UD, false))
		return -1;
	send_wr(rig, &wr, &sge, mtu + 1);
	return fails(rig, &wr, IBV_WC_LOC_LEN_ERR);
}

/* ---- what the sender does not hear of ---- */

/* A good send that the receiver drops: its receive serves the next one. */
static int dropped(struct bi_rig *rig, struct ibv_send_wr *bad)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	bad->wr_id = BI_WR_BAD;
	if (bi_post_recv(rig, v->b, NULL, 1024 + GRH) || bi_post(rig, bad) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, IBV_WC_SUCCESS, 0, "dropped request's"))
		return -1;
	send_wr(rig, &wr, &sge, 64);
	if (bi_post(rig, &wr) || bi_expect(&v->a_cq, IBV_WC_SUCCESS, 0, "next request's") ||
	    receives(rig, "receive's") || bi_expect_none(&v->b_cq, "receiver's"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
}

static int ud_wrong_qkey(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_UD, false))
		return -1;
	send_wr(rig, &wr, &sge, 64);
	wr.wr.ud.remote_qkey ^= 1;
	return dropped(rig, &wr);
}

static int ud_to_nobody(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_UD, false))
		return -1;
	send_wr(rig, &wr, &sge, 64);
	wr.wr.ud.remote_qpn = rig->victim.b->qp_num + 64;
	return dropped(rig, &wr);
}

static int uc_wrong_rkey(struct bi_rig *rig)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, &rig->victim, IBV_QPT_UC, false))
		return -1;
	bi_write_wr(rig, &wr, &sge);
	wr.wr.rdma.rkey ^= 0x00345600;
	return dropped(rig, &wr);
}

/* No receive WQE: dropped, too, and no RNR. */
static int ud_without_receive(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (bi_pair_of(rig, v, IBV_QPT_UD, false))
		return -1;
	send_wr(rig, &wr, &sge, 64);
	wr.wr_id = BI_WR_BAD;
	if (bi_post(rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, IBV_WC_SUCCESS, 0, "requester's"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
}

/* ---- receives that fail: the receiver alone ends in ERR ---- */

static int receive_fails(struct bi_rig *rig, enum ibv_qp_type type, uint32_t lkey, uint32_t len,
			 enum ibv_wc_status want)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_sge to = {(uintptr_t)rig->dst, len, lkey}, sge;
	struct ibv_recv_wr recv = {.wr_id = BI_WR_BAD, .sg_list = &to, .num_sge = 1}, *bad;
	struct ibv_send_wr wr;

	if (bi_pair_of(rig, v, type, false))
		return -1;
	errno = ibv_post_recv(v->b, &recv, &bad);
	if (errno || bi_post_recv(rig, v->b, NULL, 1024 + GRH))
		return bi_fail("ibv_post_recv: %s", strerror(errno));
	send_wr(rig, &wr, &sge, 64);
	if (bi_post(rig, &wr) || bi_expect(&v->a_cq, IBV_WC_SUCCESS, 0, "sender's") ||
	    bi_expect_wr(&v->b_cq, v->b, BI_WR_BAD, want, 0, "receive's") ||
	    bi_expect_wr(&v->b_cq, v->b, BI_WR_RECV, IBV_WC_WR_FLUSH_ERR, 0, "next receive's"))
		return -1;
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_ERR);
}

static int uc_receive_wrong_lkey(struct bi_rig *rig)
{
	return receive_fails(rig, IBV_QPT_UC, rig->dst_mr->lkey ^ 0x00345600, 1024,
			     IBV_WC_LOC_PROT_ERR);
}

static int ud_receive_wrong_lkey(struct bi_rig *rig)
{
	return receive_fails(rig, IBV_QPT_UD, rig->dst_mr->lkey ^ 0x00345600, 1024,
			     IBV_WC_LOC_PROT_ERR);
}

/* The usual mistake: the 40 bytes of the GRH are forgotten. */
static int ud_receive_without_grh(struct bi_rig *rig)
{
	return receive_fails(rig, IBV_QPT_UD, rig->dst_mr->lkey, 64, IBV_WC_LOC_LEN_ERR);
}

#define SQE_(name_, reason_, status_)                                                              \
	BI_RUN(name_, reason_, BI_STATUS(status_) | BI_STATUS(WR_FLUSH_ERR), 0)
static const struct bi_case cases[] = {
	SQE_(uc_wrong_lkey, "key.*|SQER", LOC_PROT_ERR),
	SQE_(ud_wrong_lkey, "key.*|SQER", LOC_PROT_ERR),
	SQE_(uc_read, "opcode", LOC_QP_OP_ERR),
	SQE_(ud_longer_than_mtu, "MTU", LOC_LEN_ERR),
	BI_RUN(ud_wrong_qkey, "Q_Key", 0, 0),
	BI_RUN(ud_to_nobody, "does not exist", 0, 0),
	BI_RUN(uc_wrong_rkey, "key", 0, 0),
	BI_RUN(ud_without_receive, "receive WQE.*dropped", 0, 0),
	SQE_(uc_receive_wrong_lkey, "key", LOC_PROT_ERR),
	SQE_(ud_receive_wrong_lkey, "key", LOC_PROT_ERR),
	SQE_(ud_receive_without_grh, "holds 64", LOC_LEN_ERR),
};
const struct bi_subject bi_services = BI_SUBJECT(cases);
