/* SPDX-License-Identifier: BSD-3-Clause */
/* SEND and the receive queue. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

static struct hx_wr send_wr(const struct hx_pair *p, uint32_t len)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_SEND,
		.flags = HX_SIGNALED,
		.nsge = len > 0,
		.sge = {{p->amem, len, p->akey}},
	};
}

HX_TEST(rc_send, every_size_arrives_with_its_length)
{
	static const uint32_t sizes[] = {0, 1, 1023, 1024, 1025, 4096, 65536, 65537, (1 << 20) + 3};
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct hx_sge sge = {p.bmem, 2 << 20, p.bkey};
		struct hx_wr wr = send_wr(&p, sizes[i]);
		uint16_t recv = hx_recv(p.b, &sge, 1);
		uint8_t cqe[64];

		hx_fill(p.amem, sizes[i], i);
		memset(p.bmem, 0xee, sizes[i] + 1);
		wr.opcode = i % 2 ? PRM_WQE_SEND_IMM : PRM_WQE_SEND;
		wr.imm = i;
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_opcode(cqe), i % 2 ? PRM_CQE_RESP_SEND_IMM : PRM_CQE_RESP_SEND);
		cr_assert_eq(cqe_bytes(cqe), sizes[i]);
		cr_assert_eq(cqe_idx(cqe), recv);
		cr_assert_eq(cqe_qpn(cqe), p.b->qpn);
		if (i % 2)
			cr_assert_eq(cqe_imm(cqe), i);
		cr_assert(hx_is(p.bmem, sizes[i], i));
		cr_assert_eq(p.bmem[sizes[i]], 0xee);
	}
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_send, a_message_fills_the_segments_in_order)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge[3] = {{p.bmem, 100, p.bkey},
				{p.bmem + 4096, 3000, p.bkey},
				{p.bmem + 16384, 4000, p.bkey}};
	struct hx_wr wr = send_wr(&p, 5000);

	hx_fill(p.amem, 5000, 2);
	hx_recv(p.b, sge, 3);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_assert_eq(memcmp(p.bmem, p.amem, 100), 0);
	cr_assert_eq(memcmp(p.bmem + 4096, p.amem + 100, 3000), 0);
	cr_assert_eq(memcmp(p.bmem + 16384, p.amem + 3100, 1900), 0);
	cr_assert_eq(p.bmem[100], 0);
	cr_assert_eq(p.bmem[4096 + 3000], 0);
	cr_assert_eq(p.bmem[16384 + 1900], 0);
}

HX_TEST(rc_send, receive_wqes_are_used_in_order_round_the_ring)
{
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t round = 0; round < 50; round++) {
		struct hx_sge sge = {p.bmem + 64 * (round % 8), 64, p.bkey};
		struct hx_wr wr = send_wr(&p, 64);
		uint16_t recv = hx_recv(p.b, &sge, 1);

		hx_fill(p.amem, 64, round);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
		HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, recv);
		cr_assert(hx_is(p.bmem + 64 * (round % 8), 64, round));
	}
}

HX_TEST(rc_send, without_a_receive_wqe_the_sender_waits_and_tries_again)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge = {p.bmem, 8192, p.bkey};
	struct hx_wr wr = send_wr(&p, 5000);
	uint8_t cqe[64];

	hx_fill(p.amem, 5000, 7);
	hx_post(p.a, &wr);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 300 * SIM_US);
	cr_assert_not(hx_poll(p.a->scq, cqe));
	cr_assert_geq(h->nic[1].rnrs, 2);
	cr_assert_eq(h->nic[1].naks, 0, "a sequence NAK for what an RNR NAK refused");
	hx_recv(p.b, &sge, 1);
	HX_OK(p.a->scq, 0);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_assert(hx_is(p.bmem, 5000, 7));
	hx_recv(p.b, &sge, 1);
	HX_OK(p.a->scq, p.a->last_idx);
}

HX_TEST(rc_send, the_rnr_timer_is_the_receivers)
{
	/* 14: 1.28 ms. Half of it later nothing may have been tried again. */
	struct hx_pair p = hx_pair_of(h, NULL, &(struct hx_qp_attr){.min_rnr = 14}, 1 << 20);
	struct hx_wr wr = send_wr(&p, 10);

	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 640 * SIM_US);
	cr_assert_eq(h->nic[1].rnrs, 1);
	hx_run(h, 1000 * SIM_US);
	cr_assert_eq(h->nic[1].rnrs, 2);
}

HX_TEST(rc_send, rnr_retries_run_out)
{
	for (int8_t retries = -1; retries < 4; retries += 2) {
		struct hx_pair p =
			hx_pair_of(h, &(struct hx_qp_attr){.rnr_retry = retries}, NULL, 1 << 20);
		struct hx_wr wr = send_wr(&p, 10);
		uint32_t before = h->nic[1].rnrs;

		hx_post(p.a, &wr);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_RNR_RETRY_EXC, 0);
		HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, 1);
		cr_assert_eq(h->nic[1].rnrs - before, retries < 0 ? 1u : retries + 1u);
		cr_assert_eq(hx_query_state(p.a), PRM_QP_ERR);
		cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
	}
}

HX_TEST(rc_send, a_write_with_immediate_needs_a_receive_wqe_too)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge = {p.bmem + 65536, 64, p.bkey};
	struct hx_wr wr = send_wr(&p, 5000);
	uint8_t cqe[64];

	hx_fill(p.amem, 5000, 7);
	wr.opcode = PRM_WQE_RDMA_WRITE_IMM;
	wr.raddr = p.bmem;
	wr.rkey = p.bkey;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 200 * SIM_US);
	cr_assert_not(hx_poll(p.a->scq, cqe));
	hx_recv(p.b, &sge, 1);
	HX_OK(p.a->scq, 0);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_WR_IMM, 0);
	cr_assert(hx_is(p.bmem, 5000, 7));
}

HX_TEST(rc_send, too_long_a_message_is_an_error_on_both_sides)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge = {p.bmem, 2000, p.bkey};
	struct hx_wr wr = send_wr(&p, 2001);

	hx_recv(p.b, &sge, 1);
	hx_recv(p.b, &sge, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_INVAL_REQ, 0);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_LENGTH, 0);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_WR_FLUSH, 1);
	cr_assert_eq(p.bmem[2000], 0);
}

HX_TEST(rc_send, a_receive_wqe_with_a_bad_key_is_a_remote_operation_error)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge = {p.bmem, 2000, p.bkey ^ 1};
	struct hx_wr wr = send_wr(&p, 100);

	hx_recv(p.b, &sge, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_OP, 0);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_PROT, 0);
	cr_assert_eq(p.bmem[0], 0);
}

HX_TEST(rc_send, a_zero_length_message_takes_a_receive_wqe_without_segments)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = send_wr(&p, 0);

	hx_recv(p.b, NULL, 0);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
}

HX_TEST(rc_send, receive_wqes_posted_before_rtr_are_used)
{
	struct hx_qp *a = hx_qp(h, 0, NULL);
	struct hx_qp *b = hx_qp(h, 1, NULL);
	struct hx_wr wr = {.opcode = PRM_WQE_SEND, .flags = HX_SIGNALED};

	cr_assert_eq(hx_to_init(b), 0);
	hx_recv(b, NULL, 0);
	cr_assert_eq(hx_to_init(a), 0);
	cr_assert_eq(hx_to_rtr(b, a), 0);
	cr_assert_eq(hx_to_rtr(a, b), 0);
	cr_assert_eq(hx_to_rts(a), 0);
	hx_post(a, &wr);
	hx_ring(a);
	HX_OK(a->scq, 0);
	HX_RECV(b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_assert_eq(hx_event_count(h, PRM_EVENT_COMM_EST, b->qpn), 1);
}
