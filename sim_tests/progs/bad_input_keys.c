// SPDX-License-Identifier: BSD-3-Clause
/* Mistakes with memory windows and invalidation. What a bind gives is that of the UMR it is. */
#include "sim_tests/progs/bad_input.h"

#include <errno.h>
#include <string.h>

enum { PART = 8192, PART_LEN = 8192 };

/* Live for one scenario. */
static struct ibv_mr *mr;
static struct ibv_mw *mw;

static int give_back(int rc)
{
	/* A window goes before what it is bound to. */
	if (mw && ibv_dealloc_mw(mw))
		rc = bi_fail("ibv_dealloc_mw: %s", strerror(errno));
	if (mr && ibv_dereg_mr(mr))
		rc = bi_fail("ibv_dereg_mr: %s", strerror(errno));
	mw = NULL;
	mr = NULL;
	return rc;
}

static int open_keys(struct bi_rig *rig, struct ibv_pd *pd, enum ibv_mw_type type)
{
	static const struct vp_qp_opts defaults;

	mr = ibv_reg_mr(pd, rig->dst, BI_BYTES, BI_ALL_RIGHTS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(pd, type);
	if (!mr || !mw)
		return bi_fail("an MR and a window: %s", strerror(errno));
	return bi_pair_open(rig, &rig->victim, &defaults, &defaults);
}

static struct ibv_mw_bind_info part(struct bi_rig *rig, unsigned int access)
{
	return (struct ibv_mw_bind_info){.mr = mr,
					 .addr = (uintptr_t)rig->dst + PART,
					 .length = PART_LEN,
					 .mw_access_flags = access};
}

static struct ibv_send_wr bind_wr(struct bi_rig *rig, uint32_t rkey, unsigned int access)
{
	return (struct ibv_send_wr){
		.wr_id = BI_WR_BAD,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {.mw = mw, .rkey = rkey, .bind_info = part(rig, access)}};
}

/* Posts it at qp, whose CQ is cq. */
static int post_at(struct ibv_qp *qp, struct vp_cq *cq, struct ibv_send_wr *wr,
		   enum ibv_wc_status want, enum ibv_wc_status alt, const char *whose)
{
	struct ibv_send_wr *bad;

	errno = ibv_post_send(qp, wr, &bad);
	if (errno)
		return bi_fail("%s: ibv_post_send: %s", whose, strerror(errno));
	return bi_expect_wr(cq, qp, wr->wr_id, want, alt, whose);
}

static int bind_at_b(struct bi_rig *rig, uint32_t rkey, enum ibv_wc_status want)
{
	struct ibv_send_wr wr = bind_wr(rig, rkey, IBV_ACCESS_REMOTE_WRITE);
	struct bi_pair *v = &rig->victim;

	return post_at(v->b, &v->b_cq, &wr, want, 0, "bind's");
}

static int invalidate_at_b(struct bi_rig *rig, uint32_t rkey, enum ibv_wc_status want)
{
	struct ibv_send_wr wr = {.wr_id = BI_WR_BAD,
				 .opcode = IBV_WR_LOCAL_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = rkey};
	struct bi_pair *v = &rig->victim;

	return post_at(v->b, &v->b_cq, &wr, want, 0, "invalidation's");
}

static int write_through(struct bi_rig *rig, uint32_t rkey, uint64_t off, enum ibv_wc_status want)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	bi_write_wr(rig, &wr, &sge);
	wr.wr_id = BI_WR_BAD;
	wr.wr.rdma.remote_addr = (uintptr_t)rig->dst + PART + off;
	wr.wr.rdma.rkey = rkey;
	return post_at(v->a, &v->a_cq, &wr, want, 0, "write's");
}

/* A remote access that is refused: both ends, and the event. */
static int refused(struct bi_rig *rig, uint32_t rkey, uint64_t off)
{
	if (write_through(rig, rkey, off, IBV_WC_REM_ACCESS_ERR) ||
	    bi_expect_event(IBV_EVENT_QP_ACCESS_ERR, rig->victim.b))
		return -1;
	return bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_ERR);
}

/* The binder alone ends in ERR. */
static int binder_fails(struct bi_rig *rig)
{
	return bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_ERR);
}

static int bind_twice(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);

	if (!rc)
		rc = bind_at_b(rig, rkey, IBV_WC_SUCCESS);
	if (!rc)
		rc = bind_at_b(rig, ibv_inc_rkey(rkey), IBV_WC_MW_BIND_ERR);
	if (!rc)
		rc = binder_fails(rig);
	return give_back(rc);
}

/* Window and region are of a PD that the QP is not of. */
static int bind_other_pd(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->other_pd, IBV_MW_TYPE_2);

	if (!rc)
		rc = bind_at_b(rig, ibv_inc_rkey(mw->rkey), IBV_WC_MW_BIND_ERR);
	if (!rc)
		rc = binder_fails(rig);
	return give_back(rc);
}

static int invalidate_region(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);

	if (!rc)
		rc = invalidate_at_b(rig, mr->rkey, IBV_WC_MW_BIND_ERR);
	if (!rc)
		rc = binder_fails(rig);
	return give_back(rc);
}

static int invalidate_twice(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);

	if (!rc)
		rc = bind_at_b(rig, rkey, IBV_WC_SUCCESS);
	if (!rc)
		rc = invalidate_at_b(rig, rkey, IBV_WC_SUCCESS);
	if (!rc)
		rc = invalidate_at_b(rig, rkey, IBV_WC_MW_BIND_ERR);
	if (!rc)
		rc = binder_fails(rig);
	return give_back(rc);
}

static int window_past_end(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);

	if (!rc)
		rc = bind_at_b(rig, rkey, IBV_WC_SUCCESS);
	if (!rc)
		rc = write_through(rig, rkey, PART_LEN - BI_LEN, IBV_WC_SUCCESS);
	if (!rc)
		rc = refused(rig, rkey, PART_LEN - BI_LEN + 1);
	return give_back(rc);
}

static int window_invalidated(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);

	if (!rc)
		rc = bind_at_b(rig, rkey, IBV_WC_SUCCESS);
	if (!rc)
		rc = invalidate_at_b(rig, rkey, IBV_WC_SUCCESS);
	if (!rc)
		rc = refused(rig, rkey, 0);
	return give_back(rc);
}

/* Bound for reading: what it is bound to may be written all the same, but not through it. */
static int window_read_only(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr wr = bind_wr(rig, rkey, IBV_ACCESS_REMOTE_READ);
	struct bi_pair *v = &rig->victim;

	if (!rc)
		rc = post_at(v->b, &v->b_cq, &wr, IBV_WC_SUCCESS, 0, "bind's");
	if (!rc)
		rc = write_through(rig, mr->rkey, 0, IBV_WC_SUCCESS);
	if (!rc)
		rc = refused(rig, rkey, 0);
	return give_back(rc);
}

/* A window of type 2 belongs to the QP that bound it: here a, while b is asked. */
static int window_of_other_qp(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr wr = bind_wr(rig, rkey, IBV_ACCESS_REMOTE_WRITE);
	struct bi_pair *v = &rig->victim;

	if (!rc)
		rc = post_at(v->a, &v->a_cq, &wr, IBV_WC_SUCCESS, 0, "bind's");
	if (!rc)
		rc = refused(rig, rkey, 0);
	return give_back(rc);
}

static int window_unbound(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_1);

	if (!rc)
		rc = refused(rig, mw->rkey, 0);
	return give_back(rc);
}

/* IBTA 9.9.6.3, class J: the receive tells it; what the sender hears of it is a guess. */
static int send_that_invalidates_a_region(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);

	bi_write_wr(rig, &wr, &sge);
	wr.wr_id = BI_WR_BAD;
	wr.opcode = IBV_WR_SEND_WITH_INV;
	if (!rc)
		rc = bi_post_recv(rig, v->b, NULL, BI_LEN);
	if (!rc) {
		wr.invalidate_rkey = mr->rkey;
		rc = post_at(v->a, &v->a_cq, &wr, IBV_WC_REM_OP_ERR, IBV_WC_REM_INV_REQ_ERR,
			     "requester's");
	}
	if (!rc)
		rc = bi_expect_wr(&v->b_cq, v->b, BI_WR_RECV, IBV_WC_REM_INV_REQ_ERR,
				  IBV_WC_LOC_QP_OP_ERR, "receive's");
	if (!rc)
		rc = bi_expect_states(rig, IBV_QPS_ERR, IBV_QPS_ERR);
	return give_back(rc);
}

/* A bind is a list entry, and what that names is looked at when it is used: a guess, as no public
 * report says whether a ConnectX refuses the bind. */
static int window_past_region(struct bi_rig *rig)
{
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2);
	uint32_t rkey = rc ? 0 : ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr wr = bind_wr(rig, rkey, IBV_ACCESS_REMOTE_WRITE);
	struct bi_pair *v = &rig->victim;

	wr.bind_mw.bind_info.length = BI_BYTES;
	if (!rc)
		rc = post_at(v->b, &v->b_cq, &wr, IBV_WC_SUCCESS, 0, "bind's");
	if (!rc)
		rc = write_through(rig, rkey, BI_BYTES - PART - BI_LEN, IBV_WC_SUCCESS);
	if (!rc)
		rc = refused(rig, rkey, BI_BYTES - PART - BI_LEN + 1);
	return give_back(rc);
}

/* Refused by the library: type 2 is bound by ibv_post_send(), type 1 by ibv_bind_mw(). */
static int window_of_other_type(struct bi_rig *rig)
{
	struct bi_pair *v = &rig->victim;
	int rc = open_keys(rig, rig->pd, IBV_MW_TYPE_2), got;
	struct ibv_mw_bind bind = {.bind_info = part(rig, IBV_ACCESS_REMOTE_WRITE)};

	if (rc)
		return give_back(rc);
	got = ibv_bind_mw(v->b, mw, &bind);
	if (got != EINVAL)
		rc = bi_fail("ibv_bind_mw of a window of type 2 gave %s, expected EINVAL",
			     strerror(got));
	if (!rc)
		rc = bind_at_b(rig, ibv_inc_rkey(mw->rkey), IBV_WC_SUCCESS);
	if (!rc)
		rc = bi_expect_states(rig, IBV_QPS_RTS, IBV_QPS_RTS);
	return give_back(rc);
}

#define BIND_(name_, reason_) BI_RUN(name_, reason_, BI_STATUS(MW_BIND_ERR), 0)
#define REFUSED_(name_, reason_)                                                                   \
	BI_RUN(name_, reason_, BI_STATUS(REM_ACCESS_ERR), BI_EVENT(QP_ACCESS_ERR))
static const struct bi_case cases[] = {
	BIND_(bind_twice, "only a free key may be bound"),
	BIND_(bind_other_pd, "another PD"),
	BIND_(invalidate_region, "umr_en"),
	BIND_(invalidate_twice, "free already"),
	REFUSED_(window_past_end, "covers"),
	REFUSED_(window_invalidated, "key"),
	REFUSED_(window_read_only, "remote.?write"),
	REFUSED_(window_of_other_qp, "QP"),
	REFUSED_(window_unbound, "key"),
	REFUSED_(window_past_region, "covers"),
	BI_RUN(send_that_invalidates_a_region, "invalidate", 0, 0),
	BI_RUN(window_of_other_type, NULL, 0, 0),
};
const struct bi_subject bi_keys = BI_SUBJECT(cases);
