// SPDX-License-Identifier: BSD-3-Clause
/* Shared receive queues: the list, its counters, its limit, its end. */
#include "sim_tests/harness_srq.h"

enum { MSG = 256, PEERS = 3 };

/* PEERS connections from NIC 0 to QPs of NIC 1 that share a queue and a CQ. */
struct shared {
	struct hx_srq *srq;
	struct hx_cq *rcq;
	struct hx_qp *a[PEERS], *b[PEERS];
	uint8_t *amem, *bmem; /* MSG bytes a message */
	uint32_t akey, bkey;
};

static struct shared shared_of(struct hx *h, const struct hx_srq_attr *attr,
			       const struct hx_qp_attr *qp_attr)
{
	struct shared s = {.srq = hx_srq(h, 1, attr), .rcq = hx_cq(h, 1, 8)};
	struct hx_qp_attr a = qp_attr ? *qp_attr : (struct hx_qp_attr){0};
	struct hx_qp_attr b = a;

	b.srqn = s.srq->number;
	b.cq_rcv = s.rcq;
	a.no_rq = true;
	for (uint32_t i = 0; i < PEERS; i++) {
		s.a[i] = hx_qp(h, 0, &a);
		s.b[i] = hx_qp(h, 1, &b);
		hx_connect(s.a[i], s.b[i]);
	}
	s.amem = hx_alloc(h, 64 * MSG);
	s.bmem = hx_alloc(h, 64 * MSG);
	s.akey = hx_mkey(h, 0, h->nic[0].pd, s.amem, 64 * MSG, HX_ALL_RIGHTS);
	s.bkey = hx_mkey(h, 1, h->nic[1].pd, s.bmem, 64 * MSG, HX_ALL_RIGHTS);
	return s;
}

static struct shared shared(struct hx *h)
{
	return shared_of(h, NULL, NULL);
}

/* Into slot `slot` of bmem. */
static uint16_t post(struct shared *s, uint32_t slot)
{
	return hx_srq_recv(s->srq, &(struct hx_sge){s->bmem + (size_t)slot * MSG, MSG, s->bkey}, 1);
}

static uint16_t send(struct shared *s, uint32_t from, uint32_t seed)
{
	uint8_t *mem = s->amem + (size_t)(seed % 64) * MSG;
	uint16_t idx;

	hx_fill(mem, MSG, seed);
	idx = hx_post(s->a[from], &(struct hx_wr){.opcode = PRM_WQE_SEND,
						  .flags = HX_SIGNALED,
						  .nsge = 1,
						  .sge = {{mem, MSG, s->akey}}});
	hx_ring(s->a[from]);
	return idx;
}

HX_TEST(rc_srq, messages_of_all_its_qps_take_its_wqes_in_order)
{
	struct shared s = shared(h);

	for (uint32_t i = 0; i < PEERS; i++)
		cr_assert_eq(post(&s, i), i);
	for (uint32_t i = 0; i < PEERS; i++) {
		uint32_t from = PEERS - 1 - i;
		uint8_t cqe[64];

		HX_OK(s.a[from]->scq, send(&s, from, 10 + i));
		cr_assert(hx_wait(s.rcq, cqe, SIM_S));
		cr_expect_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND);
		cr_expect_eq(cqe_idx(cqe), i, "wqe_counter is the index in the queue");
		cr_expect_eq(cqe_qpn(cqe), s.b[from]->qpn);
		cr_expect_eq(prm_load32(cqe + 32) & 0xffffff, 0xabc001u, "the QP's user index");
		cr_expect(hx_is(s.bmem + (size_t)i * MSG, MSG, 10 + i));
	}
}

HX_TEST(rc_srq, the_order_is_that_of_the_list_as_software_links_it)
{
	struct shared s = shared(h);
	static const uint16_t freed[] = {2, 0, 1};

	for (uint32_t i = 0; i < 3; i++)
		post(&s, i);
	for (uint16_t i = 0; i < 3; i++) {
		send(&s, 0, i);
		HX_RECV(s.rcq, PRM_CQE_RESP_SEND, i);
	}
	for (uint32_t i = 0; i < 3; i++)
		hx_srq_free(s.srq, freed[i]);
	/* Four more of the first lap, then those in the order in which they were freed. */
	for (uint32_t i = 3; i < 3 + 7; i++) {
		uint16_t want = i < 8 ? (uint16_t)i : freed[i - 8];

		cr_assert_eq(post(&s, i), want);
		send(&s, i % PEERS, i);
		HX_RECV(s.rcq, PRM_CQE_RESP_SEND, want);
		cr_expect(hx_is(s.bmem + (size_t)i * MSG, MSG, i));
		hx_srq_free(s.srq, want);
	}
}

HX_TEST(rc_srq, many_messages_at_once_each_get_a_wqe_of_their_own)
{
	struct hx_srq_attr attr = {.log_size = 6};
	struct shared s = shared_of(h, &attr, NULL);
	uint32_t seen = 0;
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 48; i++)
		post(&s, i);
	for (uint32_t i = 0; i < 48; i++) {
		send(&s, i % PEERS, i);
	}
	for (uint32_t i = 0; i < 48; i++) {
		cr_assert(hx_wait(s.rcq, cqe, SIM_S));
		cr_expect_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND);
		cr_expect_eq(cqe_bytes(cqe), MSG);
		cr_assert(cqe_idx(cqe) < 48);
		seen++;
	}
	cr_expect_eq(seen, 48);
	cr_expect_eq(h->nic[1].rnrs, 0);
}

HX_TEST(rc_srq, a_cyclic_one_is_taken_in_ring_order_and_counts_on)
{
	struct hx_srq_attr attr = {.cyclic = true, .log_size = 2};
	struct shared s = shared_of(h, &attr, NULL);

	for (uint16_t i = 0; i < 10; i++) {
		post(&s, i);
		send(&s, i % PEERS, i);
		HX_RECV(s.rcq, PRM_CQE_RESP_SEND, i);
		cr_expect(hx_is(s.bmem + (size_t)i * MSG, MSG, i));
	}
}

HX_TEST(rc_srq, an_empty_one_answers_rnr_and_what_is_posted_later_is_taken)
{
	struct shared s = shared(h);
	uint16_t idx = send(&s, 1, 7);

	hx_run(h, 100 * SIM_US);
	cr_expect_gt(h->nic[1].rnrs, 0);
	cr_assert_eq(post(&s, 4), 0);
	HX_OK(s.a[1]->scq, idx);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	cr_expect(hx_is(s.bmem + 4 * MSG, MSG, 7));
}

HX_TEST(rc_srq, write_with_immediate_takes_one)
{
	struct shared s = shared(h);
	uint16_t idx;
	uint8_t cqe[64];

	post(&s, 0);
	hx_fill(s.amem, MSG, 5);
	idx = hx_post(s.a[0], &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE_IMM,
					      .flags = HX_SIGNALED,
					      .imm = 0x1234,
					      .raddr = s.bmem + MSG,
					      .rkey = s.bkey,
					      .nsge = 1,
					      .sge = {{s.amem, MSG, s.akey}}});
	hx_ring(s.a[0]);
	HX_OK(s.a[0]->scq, idx);
	cr_assert(hx_wait(s.rcq, cqe, SIM_S));
	cr_expect_eq(cqe_opcode(cqe), PRM_CQE_RESP_WR_IMM);
	cr_expect_eq(cqe_imm(cqe), 0x1234);
	cr_expect(hx_is(s.bmem + MSG, MSG, 5));
}

/* ---- limit ---- */

static void limit_of(struct hx *h, uint16_t create)
{
	struct hx_srq_attr attr = {.create = create};
	struct shared s = shared_of(h, &attr, NULL);
	uint32_t state, limit;

	for (uint32_t i = 0; i < 5; i++)
		post(&s, i);
	cr_assert_eq(hx_srq_arm(s.srq, 3), PRM_STATUS_OK, "%s", h->why);
	hx_quiet(h);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_RQ_LIMIT, s.srq->number), 0);
	for (uint16_t i = 0; i < 2; i++) {
		send(&s, i, i);
		HX_RECV(s.rcq, PRM_CQE_RESP_SEND, i);
	}
	hx_quiet(h);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_RQ_LIMIT, s.srq->number), 0,
		     "3 are left, not fewer");
	hx_srq_query(s.srq, &state, &limit);
	cr_expect_eq(limit, 3);
	for (uint16_t i = 2; i < 4; i++) {
		send(&s, 0, i);
		HX_RECV(s.rcq, PRM_CQE_RESP_SEND, i);
	}
	hx_quiet(h);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_RQ_LIMIT, s.srq->number), 1, "once");
	hx_srq_query(s.srq, &state, &limit);
	cr_expect_eq(limit, 0, "it is to be armed again");
}

HX_TEST(rc_srq, the_limit_event_of_an_rmp_comes_once_when_fewer_are_left)
{
	limit_of(h, PRM_CMD_CREATE_RMP);
}

HX_TEST(rc_srq, the_limit_event_of_an_srq_comes_once_when_fewer_are_left)
{
	limit_of(h, PRM_CMD_CREATE_SRQ);
}

HX_TEST(rc_srq, a_limit_that_is_not_met_when_it_is_set_gives_its_event_at_once)
{
	struct shared s = shared(h);

	post(&s, 0);
	cr_assert_eq(hx_srq_arm(s.srq, 2), PRM_STATUS_OK);
	hx_quiet(h);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_RQ_LIMIT, s.srq->number), 1);
}

HX_TEST(rc_srq, what_the_record_says_counts_for_the_limit_not_what_was_read_before)
{
	struct shared s = shared(h);

	post(&s, 0);
	post(&s, 1);
	send(&s, 0, 1);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	for (uint32_t i = 2; i < 6; i++)
		post(&s, i);
	cr_assert_eq(hx_srq_arm(s.srq, 4), PRM_STATUS_OK);
	send(&s, 0, 1);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 1);
	hx_quiet(h);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_RQ_LIMIT, s.srq->number), 0, "4 are left");
}

/* ---- ends ---- */

HX_TEST(rc_srq, a_qp_that_enters_error_says_that_it_holds_no_wqe_and_leaves_the_queue_to_others)
{
	struct shared s = shared(h);
	uint8_t cqe[64];

	post(&s, 0);
	cr_assert_eq(hx_modify(s.b[0], PRM_CMD_QP_2ERR), PRM_STATUS_OK);
	hx_run(h, 5 * SIM_MS);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_LAST_WQE, s.b[0]->qpn), 1, "once");
	cr_expect(!hx_poll(s.rcq, cqe), "nothing was flushed");
	send(&s, 1, 3);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	cr_expect(hx_is(s.bmem, MSG, 3));
}

HX_TEST(rc_srq, the_wqe_of_a_message_that_never_ended_is_flushed_to_its_qp)
{
	struct hx_qp_attr attr = {.mtu = 1};
	struct shared s = shared_of(h, NULL, &attr);

	hx_srq_recv(s.srq, &(struct hx_sge){s.bmem, 16 * MSG, s.bkey}, 1);
	hx_drop(h, 0, 0x02, 1000); /* SEND last */
	hx_post(s.a[0], &(struct hx_wr){.opcode = PRM_WQE_SEND,
					.flags = HX_SIGNALED,
					.nsge = 1,
					.sge = {{s.amem, 16 * MSG, s.akey}}});
	hx_ring(s.a[0]);
	hx_run(h, 50 * SIM_US);
	cr_assert_eq(hx_modify(s.b[0], PRM_CMD_QP_2ERR), PRM_STATUS_OK);
	HX_RECV_ERR(s.rcq, PRM_SYND_WR_FLUSH, 0);
	hx_run(h, SIM_MS);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_LAST_WQE, s.b[0]->qpn), 1);
}

HX_TEST(rc_srq, a_read_of_its_wqe_that_was_begun_for_a_qp_serves_another_when_that_one_ends)
{
	struct shared s = shared(h);

	for (uint32_t i = 0; i < 3; i++)
		post(&s, i);
	/* Stopped and destroyed at every moment of the way. */
	send(&s, 0, 1);
	hx_run(h, (h->config.seed * 7 % 23) * 100);
	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, s.b[0]->qpn), PRM_STATUS_OK);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t cqe[64];
		uint16_t idx = send(&s, 1, 20 + i);

		HX_OK(s.a[1]->scq, idx);
		cr_assert(hx_wait(s.rcq, cqe, SIM_S));
		if (cqe_qpn(cqe) == s.b[0]->qpn) /* it was faster */
			cr_assert(hx_wait(s.rcq, cqe, SIM_S));
		cr_expect_eq(cqe_qpn(cqe), s.b[1]->qpn);
		cr_expect(hx_is(s.bmem + (size_t)cqe_idx(cqe) * MSG, MSG, 20 + i));
	}
}

HX_TEST(rc_srq, it_cannot_be_destroyed_while_a_qp_uses_it)
{
	struct shared s = shared(h);

	cr_expect_eq(hx_srq_destroy(s.srq), PRM_STATUS_RES_BUSY);
	for (uint32_t i = 0; i < PEERS; i++)
		cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, s.b[i]->qpn), PRM_STATUS_OK);
	cr_expect_eq(hx_srq_destroy(s.srq), PRM_STATUS_OK, "%s", h->why);
	cr_expect_eq(hx_srq_destroy(s.srq), PRM_STATUS_BAD_RES);
}

HX_TEST(rc_srq, it_can_be_destroyed_while_its_record_is_read_for_the_limit)
{
	struct hx_srq *srq = hx_srq(h, 1, NULL);

	hx_srq_recv(srq, NULL, 0);
	cr_assert_eq(hx_srq_arm(srq, 4), PRM_STATUS_OK);
	cr_expect_eq(hx_srq_destroy(srq), PRM_STATUS_OK, "%s", h->why);
	hx_quiet(h);
}

/* ---- what software may get wrong ---- */

static void broken(struct hx *h, struct shared *s, const char *why)
{
	uint32_t state, limit;
	uint16_t idx = send(s, 2, 1);

	HX_ERR(s->a[2]->scq, PRM_SYND_REMOTE_OP, idx);
	hx_run(h, SIM_MS);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_CATAS_ERROR, s->srq->number), 1);
	cr_expect(hx_diagnosed(h, why), "%s", why);
	cr_expect_eq(hx_query_state(s->b[2]), PRM_QP_ERR);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_WQ_CATAS_ERROR, s->b[2]->qpn), 1,
		     "the request was right: this side failed");
	cr_expect_eq(hx_query_state(s->b[1]), PRM_QP_RTS, "others find out when they need one");
	hx_srq_query(s->srq, &state, &limit);
	cr_expect_eq(state, PRM_RMP_ERR);
	idx = send(s, 1, 1);
	HX_ERR(s->a[1]->scq, PRM_SYND_REMOTE_OP, idx);
	hx_run(h, SIM_MS);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_CATAS_ERROR, s->srq->number), 1, "once");
}

HX_TEST(rc_srq, a_record_that_counts_more_than_fit_is_a_catastrophic_error)
{
	struct shared s = shared(h);

	s.srq->dbr[0] = htobe32(9);
	broken(h, &s, "says 9 WQEs were posted, but 0 are taken and the queue holds 8");
}

HX_TEST(rc_srq, a_record_that_runs_backwards_is_a_catastrophic_error)
{
	struct shared s = shared(h);

	post(&s, 0);
	send(&s, 0, 1);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	s.srq->dbr[0] = 0;
	broken(h, &s, "says 0 WQEs were posted");
}

HX_TEST(rc_srq, a_link_out_of_the_queue_is_a_catastrophic_error_when_it_is_followed)
{
	struct shared s = shared(h);

	post(&s, 0);
	post(&s, 1);
	hx_srq_link(s.srq, 0, 0xfff0);
	send(&s, 0, 6);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_SRQ_CATAS_ERROR, s.srq->number), 0);
	broken(h, &s, "names one that is not in the queue");
}

HX_TEST(rc_srq, a_list_that_bites_its_tail_gives_a_wqe_again_and_no_more)
{
	struct shared s = shared(h);

	post(&s, 0);
	post(&s, 1);
	hx_srq_link(s.srq, 0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		send(&s, i, i);
		HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	}
	send(&s, 2, 2);
	hx_run(h, 100 * SIM_US);
	cr_expect_gt(h->nic[1].rnrs, 0, "two were posted");
}

HX_TEST(rc_srq, a_key_of_another_pd_fails_the_qp_and_not_the_queue)
{
	struct shared s = shared(h);
	uint32_t pd = hx_new(h, 1, PRM_CMD_ALLOC_PD);
	uint32_t key = hx_mkey(h, 1, pd, s.bmem, MSG, HX_ALL_RIGHTS);
	uint16_t idx;

	hx_srq_recv(s.srq, &(struct hx_sge){s.bmem, MSG, key}, 1);
	post(&s, 1);
	idx = send(&s, 0, 1);
	HX_ERR(s.a[0]->scq, PRM_SYND_REMOTE_OP, idx);
	HX_RECV_ERR(s.rcq, PRM_SYND_LOCAL_PROT, 0);
	send(&s, 1, 9);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 1);
	cr_expect(hx_is(s.bmem + MSG, MSG, 9));
}

HX_TEST(rc_srq, its_keys_are_of_its_own_pd_not_of_the_qps)
{
	uint32_t pd = hx_new(h, 1, PRM_CMD_ALLOC_PD);
	struct hx_srq_attr attr = {.pd = pd};
	struct shared s = shared_of(h, &attr, NULL);
	uint32_t key = hx_mkey(h, 1, pd, s.bmem, MSG, HX_ALL_RIGHTS);

	hx_srq_recv(s.srq, &(struct hx_sge){s.bmem, MSG, key}, 1);
	send(&s, 0, 11);
	HX_RECV(s.rcq, PRM_CQE_RESP_SEND, 0);
	cr_expect(hx_is(s.bmem, MSG, 11));
}

/* ---- commands ---- */

HX_TEST(rc_srq, create_refuses_what_is_out_of_range_and_leaves_nothing)
{
	struct hx_srq_attr attr = {.create = PRM_CMD_CREATE_RMP};
	uint8_t *ring = hx_alloc(h, HX_PAGE), *dbr = hx_alloc(h, 8);
	uint8_t *ctx = PRM_PTR(create_rmp_in, h->in, rmpc);
	uint8_t *wq = PRM_PTR(rmpc, ctx, wq);
	size_t len = hx_srq_mailbox(h, 1, &attr, ring, dbr);

	PRM_SET(wq, wq, log_wq_sz, 16);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM);
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	PRM_SET(wq, wq, log_wq_stride, 4);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM, "a next segment and no data");
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	PRM_SET(wq, wq, log_wq_stride, 12);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM);
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	PRM_SET(wq, wq, lwm, 9);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM);
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	PRM_SET(rmpc, ctx, state, 0);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM);
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	PRM_SET(wq, wq, pd, 0x777);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_RES);
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	cr_expect_eq(hx_command(h, 1, len - 8), PRM_STATUS_BAD_INP_LEN, "no page");
	hx_srq_mailbox(h, 1, &attr, ring, dbr + 4);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM, "record not aligned");
	attr.create = PRM_CMD_CREATE_SRQ;
	hx_srq_mailbox(h, 1, &attr, ring, dbr);
	PRM_SET(srqc, PRM_PTR(create_srq_in, h->in, srq_context_entry), log_page_size, 63);
	cr_expect_eq(hx_command(h, 1, len), PRM_STATUS_BAD_PARAM);
	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DEALLOC_PD, h->nic[1].pd), PRM_STATUS_OK,
		     "nothing was left behind that uses it");
}

HX_TEST(rc_srq, a_command_of_another_family_does_not_take_its_number)
{
	struct hx_srq *srq = hx_srq(h, 1, NULL);

	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_SRQ, srq->number), PRM_STATUS_BAD_RES);
	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_XRC_SRQ, srq->number), PRM_STATUS_BAD_RES);
	cr_expect_eq(hx_destroy(h, 1, PRM_CMD_QUERY_SRQ, srq->number), PRM_STATUS_BAD_RES);
	cr_expect_eq(hx_srq_arm(srq, 9), PRM_STATUS_BAD_PARAM, "8 WQEs");
	cr_expect_eq(hx_srq_destroy(srq), PRM_STATUS_OK);
}
