/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers that do not end: what the program does meanwhile must not be lost, and nobody may wait
 * for them for ever.
 */
#include "sim_tests/harness.h"

#include <errno.h>

#include "emu/nicmodel/roce.h"

enum { STASHES = 8, PEEK_LEN = 16 };

/* The copy-only space of a harness, with transfers that are held by their purpose. */
static struct {
	const struct nm_space_ops *real;
	struct nm_space_ops ops;
	uint32_t held;		/* 1 << enum nm_purpose */
	bool held_writes;	/* only those to the space */
	uint32_t held_len;	/* only of this length; 0: of any */
	uint32_t polls;		/* of held ones */
	uint32_t writes, reads; /* of atomics, submitted */
	struct {
		struct nm_dma *dma;
		uint8_t bytes[64];
	} stash[STASHES]; /* what a held read saw when it began */
} slow;

static bool is_held(const struct nm_dma *dma)
{
	return (slow.held & 1u << dma->purpose) && (!slow.held_len || slow.held_len == dma->len) &&
	       (dma->to_space || !slow.held_writes);
}

static int slow_submit(struct nm_space *space, struct nm_dma *dma)
{
	int rc = slow.real->submit(space, dma);

	slow.writes += dma->purpose == NM_DMA_ATOMIC && dma->to_space;
	slow.reads += dma->purpose == NM_DMA_ATOMIC && !dma->to_space;
	if (!is_held(dma) || dma->to_space || rc != -EINPROGRESS)
		return rc;
	for (uint32_t i = 0; i < STASHES; i++) {
		if (slow.stash[i].dma)
			continue;
		cr_assert_eq(dma->nsegs, 1);
		cr_assert_leq(dma->len, sizeof(slow.stash[i].bytes));
		slow.stash[i].dma = dma;
		memcpy(slow.stash[i].bytes, (void *)(uintptr_t)dma->segs[0].addr, dma->len);
		return rc;
	}
	cr_assert_fail("more held reads than %u", STASHES);
	return rc;
}

static int slow_poll(struct nm_space *space, struct nm_dma *dma)
{
	int rc;

	if (is_held(dma)) {
		slow.polls++;
		return -EINPROGRESS;
	}
	rc = slow.real->poll(space, dma);
	for (uint32_t i = 0; i < STASHES && rc == 0; i++) {
		if (slow.stash[i].dma != dma)
			continue;
		memcpy(dma->local, slow.stash[i].bytes, dma->len);
		slow.stash[i].dma = NULL;
	}
	return rc;
}

static void slow_cancel(struct nm_space *space, struct nm_dma *dma)
{
	for (uint32_t i = 0; i < STASHES; i++) {
		if (slow.stash[i].dma == dma)
			slow.stash[i].dma = NULL;
	}
	slow.real->cancel(space, dma);
}

static struct hx *open_slow(void)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 3, .copied = true});

	slow.real = h->space->ops;
	slow.ops = *slow.real;
	slow.ops.submit = slow_submit;
	slow.ops.poll = slow_poll;
	slow.ops.cancel = slow_cancel;
	h->space->ops = &slow.ops;
	return h;
}

static void close_slow(struct hx *h)
{
	slow.held = 0;
	h->space->ops = slow.real;
	hx_close(h);
}

static struct hx_wr write_wr(const struct hx_pair *p)
{
	return (struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
			      .flags = HX_SIGNALED,
			      .raddr = p->bmem,
			      .rkey = p->bkey,
			      .nsge = 1,
			      .sge = {{p->amem, 64, p->akey}}};
}

/* libmlx5 rings with the last WQE's first index: only the record has what is behind it. */
Test(rc_held, a_ring_while_the_record_is_read_is_not_lost)
{
	struct hx *h = open_slow();
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = write_wr(&p);

	hx_run(h, SIM_MS);
	slow.held = 1u << NM_DMA_DBR;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, SIM_MS); /* beyond the sweep */
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, SIM_MS);
	cr_assert_gt(slow.polls, 0);
	slow.held = 0;
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	close_slow(h);
}

/* Without a record: the ring was overwritten by q's, and the slot was peeked at before. */
Test(rc_held, a_sweep_during_a_peek_looks_again)
{
	struct hx *h = open_slow();
	struct hx_qp_attr attr = {.no_dbr = true};
	struct hx_pair p = hx_pair_of(h, &attr, NULL, 1 << 16);
	struct hx_pair q = hx_pair_of(h, &attr, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	hx_run(h, SIM_MS);
	slow.held = 1u << NM_DMA_WQE;
	slow.held_len = PEEK_LEN;
	wr = write_wr(&q);
	hx_post(q.a, &wr);
	hx_ring_pi(q.a);
	hx_run(h, SIM_MS);
	cr_assert_gt(slow.polls, 0);
	wr = write_wr(&p);
	hx_post(p.a, &wr);
	hx_ring_pi(q.a);
	hx_run(h, SIM_MS);
	slow.held = 0;
	HX_OK(q.a->scq, 0);
	HX_OK(p.a->scq, 0);
	close_slow(h);
}

/* How a QP leaves: no CQE of it may appear when the command has returned. */
static const uint16_t leaves[] = {PRM_CMD_QP_2RST, PRM_CMD_DESTROY_QP};

static void leave(struct hx_qp *qp, uint16_t opcode)
{
	if (opcode == PRM_CMD_DESTROY_QP)
		cr_assert_eq(hx_destroy(qp->h, qp->nic, opcode, qp->qpn), 0);
	else
		cr_assert_eq(hx_modify(qp, opcode), 0);
}

Test(rc_held, a_qp_leaves_though_its_cqe_never_arrives)
{
	struct hx *h = open_slow();
	uint8_t cqe[64];

	for (uint32_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		struct hx_pair p = hx_pair(h, NULL);
		struct hx_wr wr = write_wr(&p);

		slow.held = 1u << NM_DMA_CQE;
		hx_post(p.a, &wr);
		hx_ring(p.a);
		hx_run(h, SIM_MS);
		cr_assert_gt(slow.polls, 0);
		slow.polls = 0;
		leave(p.a, leaves[i]);
		cr_assert_leq(slow.polls, 20000, "%u polls in one command", slow.polls);
		slow.held = 0;
		cr_assert(hx_quiet(h));
		cr_assert_not(hx_poll(p.a->scq, cqe));
		cr_assert_eq(hx_event_count(h, PRM_EVENT_CQ_ERROR, p.a->scq->cqn), 1);
	}
	close_slow(h);
}

/* A write under way of another QP's CQE is not waited for; what is behind it goes. */
Test(rc_held, a_qp_leaves_a_shared_cq_without_waiting_for_others)
{
	struct hx *h = open_slow();

	for (uint32_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		struct hx_qp_attr attr = {.cq_snd = hx_cq(h, 0, 4)};
		struct hx_pair p = hx_pair_of(h, &attr, NULL, 1 << 16);
		struct hx_pair q = hx_pair_of(h, &attr, NULL, 1 << 16);
		struct hx_pair r = hx_pair_of(h, &attr, NULL, 1 << 16);
		struct hx_wr wr = write_wr(&p);
		uint8_t cqe[64];

		slow.held = 1u << NM_DMA_CQE;
		hx_post(p.a, &wr);
		hx_ring(p.a);
		hx_run(h, SIM_MS);
		wr = write_wr(&q);
		hx_post(q.a, &wr);
		hx_ring(q.a);
		hx_run(h, SIM_MS);
		wr = write_wr(&r);
		hx_post(r.a, &wr);
		hx_ring(r.a);
		hx_run(h, SIM_MS);
		slow.polls = 0;
		leave(q.a, leaves[i]);
		cr_assert_eq(slow.polls, 0);
		slow.held = 0;
		cr_assert(hx_wait(attr.cq_snd, cqe, SIM_MS));
		cr_assert_eq(cqe_qpn(cqe), p.a->qpn);
		cr_assert(hx_wait(attr.cq_snd, cqe, SIM_MS));
		cr_assert_eq(cqe_qpn(cqe), r.a->qpn);
		cr_assert(hx_quiet(h));
		cr_assert_not(hx_poll(attr.cq_snd, cqe));
	}
	close_slow(h);
}

/* Of four QPs with an atomic on one word: where the first one's is under way for ever, and what
 * frees the others. */
enum way_out {
	OWNER_2RST,
	OWNER_2ERR,
	OWNER_DESTROYED,
	OWNER_KEY_DESTROYED,
	WAITER_DESTROYED, /* and then the owner */
	WAITER_KEY_DESTROYED,
	WAYS_OUT
};

static void post_add(struct hx_pair *p)
{
	struct hx_wr wr = {.opcode = PRM_WQE_ATOMIC_FA,
			   .flags = HX_SIGNALED,
			   .raddr = p->bmem,
			   .rkey = p->bkey,
			   .swap_add = 1,
			   .nsge = 1,
			   .sge = {{p->amem, 8, p->akey}}};

	hx_post(p->a, &wr);
	hx_ring(p->a);
	hx_run(p->a->h, SIM_MS);
}

static void take_way_out(enum way_out way, struct hx_pair *p)
{
	struct hx *h = p[0].a->h;

	switch (way) {
	case OWNER_2RST:
		cr_assert_eq(hx_modify(p[0].b, PRM_CMD_QP_2RST), 0);
		return;
	case OWNER_2ERR:
		cr_assert_eq(hx_modify(p[0].b, PRM_CMD_QP_2ERR), 0);
		return;
	case OWNER_KEY_DESTROYED:
		cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_MKEY, p[0].bkey >> 8), 0);
		return;
	case WAITER_KEY_DESTROYED:
		cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_MKEY, p[2].bkey >> 8), 0);
		hx_run(h, SIM_MS);
		break;
	case WAITER_DESTROYED:
		cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, p[2].b->qpn), 0);
		break;
	default:
		break;
	}
	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, p[0].b->qpn), 0);
}

static void atomics_wait_for_one(struct hx *h, enum way_out way, bool writing)
{
	struct hx_qp_attr attr = {.timeout_never = true};
	struct hx_pair p[4];
	uint32_t reads, writes;
	uint64_t sum;

	for (uint32_t q = 0; q < 4; q++) {
		p[q] = hx_pair_of(h, &attr, NULL, HX_PAGE);
		p[q].bmem = p[0].bmem;
		p[q].bkey = hx_mkey(h, 1, h->nic[1].pd, p[q].bmem, HX_PAGE, HX_ALL_RIGHTS);
	}
	reads = slow.reads;
	writes = slow.writes;
	slow.held = 1u << NM_DMA_ATOMIC;
	slow.held_writes = writing;
	for (uint32_t q = 0; q < 4; q++)
		post_add(&p[q]);
	cr_assert_eq(slow.reads - reads, 1, "way %d", way);
	cr_assert_eq(slow.writes - writes, writing, "way %d", way);
	take_way_out(way, p);
	hx_run(h, SIM_MS);
	cr_assert_eq(slow.reads - reads, 2, "way %d: the next one, and only it", way);
	slow.held = 0;
	slow.held_writes = false;
	HX_OK(p[1].a->scq, 0);
	if (way == WAITER_KEY_DESTROYED)
		HX_ERR(p[2].a->scq, PRM_SYND_REMOTE_ACCESS, 0);
	else if (way != WAITER_DESTROYED)
		HX_OK(p[2].a->scq, 0);
	HX_OK(p[3].a->scq, 0);
	memcpy(&sum, p[0].bmem, sizeof(sum));
	cr_assert_leq(sum - (way >= WAITER_DESTROYED ? 2 : 3), writing ? 1 : 0, "way %d: %llu", way,
		      (unsigned long long)sum);
}

Test(rc_held, an_atomic_that_never_ends_frees_the_others_when_its_qp_or_key_goes)
{
	struct hx *h = open_slow();

	for (int way = 0; way < WAYS_OUT; way++) {
		atomics_wait_for_one(h, way, false);
		atomics_wait_for_one(h, way, true);
	}
	close_slow(h);
}
