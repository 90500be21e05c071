/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors: the first one, the flush behind it, retries that run out, a peer that is gone, CQs that
 * die. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

static struct hx_wr write_wr(const struct hx_pair *p)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_RDMA_WRITE,
		.raddr = p->bmem,
		.rkey = p->bkey,
		.nsge = 1,
		.sge = {{p->amem, 5000, p->akey}},
	};
}

static void expect_nothing(struct hx *h, struct hx_cq *cq)
{
	uint8_t cqe[64];

	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(cq, cqe), "CQE opcode %u of WQE %u", cqe_opcode(cqe), cqe_idx(cqe));
}

HX_TEST(rc_error, every_wqe_behind_the_first_error_is_flushed_signaled_or_not)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = write_wr(&p);
	uint16_t idx[20];
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 20; i++) {
		wr.flags = i % 3 == 0 ? HX_SIGNALED : 0;
		wr.rkey = i == 4 ? p.bkey ^ 1 : p.bkey;
		idx[i] = hx_post(p.a, &wr);
	}
	hx_ring(p.a);
	HX_OK(p.a->scq, idx[0]);
	HX_OK(p.a->scq, idx[3]);
	cr_assert(hx_wait(p.a->scq, cqe, SIM_S));
	cr_assert_eq(cqe_syndrome(cqe), PRM_SYND_REMOTE_ACCESS);
	cr_assert_eq(cqe_vendor(cqe), 0x88);
	cr_assert_eq(cqe_idx(cqe), idx[4]);
	cr_assert_eq(cqe_qpn(cqe), p.a->qpn);
	cr_assert_eq(cqe[63] & 2, 2, "an error CQE is solicited");
	for (uint32_t i = 5; i < 20; i++) {
		cr_assert(hx_wait(p.a->scq, cqe, SIM_S));
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_REQ_ERR);
		cr_assert_eq(cqe_syndrome(cqe), PRM_SYND_WR_FLUSH);
		cr_assert_eq(cqe_vendor(cqe), 0xf9);
		cr_assert_eq(cqe_idx(cqe), idx[i]);
	}
	expect_nothing(h, p.a->scq);
	/* Posted in ERR: flushed too. */
	idx[0] = hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, idx[0]);
	expect_nothing(h, p.a->scq);
}

HX_TEST(rc_error, receive_wqes_are_flushed_and_later_ones_too)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge = {p.bmem, 64, p.bkey};

	for (uint32_t i = 0; i < 5; i++)
		hx_recv(p.b, &sge, 1);
	cr_assert_eq(hx_modify(p.b, PRM_CMD_QP_2ERR), 0);
	for (uint16_t i = 0; i < 5; i++)
		HX_RECV_ERR(p.b->rcq, PRM_SYND_WR_FLUSH, i);
	expect_nothing(h, p.b->rcq);
	hx_recv(p.b, &sge, 1);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_WR_FLUSH, 5);
}

HX_TEST(rc_error, a_qp_taken_to_err_flushes_what_is_under_way)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = write_wr(&p);

	sim_unplug(h->sim, 1, true);
	for (uint32_t i = 0; i < 6; i++)
		hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 5 * SIM_US);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_QP_2ERR), 0);
	for (uint16_t i = 0; i < 6; i++)
		HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, i);
	expect_nothing(h, p.a->scq);
	cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
}

HX_TEST(rc_error, after_reset_nothing_is_written_any_more)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = write_wr(&p);
	struct hx_sge sge = {p.amem, 64, p.akey};
	uint8_t cqe[64];

	wr.flags = HX_SIGNALED;
	for (uint32_t i = 0; i < 20; i++)
		hx_post(p.a, &wr);
	hx_recv(p.a, &sge, 1);
	hx_ring(p.a);
	hx_run(h, 3 * SIM_US);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_QP_2RST), 0);
	while (hx_poll(p.a->scq, cqe))
		;
	expect_nothing(h, p.a->scq);
	expect_nothing(h, p.a->rcq);
	/* And it begins anew at index 0. */
	memset(p.a->dbr, 0, 8);
	p.a->sq_pi = 0;
	p.a->rq_pi = 0;
	cr_assert_eq(hx_modify(p.b, PRM_CMD_QP_2RST), 0);
	memset(p.b->dbr, 0, 8);
	hx_connect(p.a, p.b);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	expect_nothing(h, p.a->scq);
}

/* A program that has its last message destroys the QP at once, perhaps before the NIC's turn is
 * over. */
HX_TEST(rc_error, what_was_received_is_acknowledged_though_the_qp_ends)
{
	for (uint32_t how = 0; how < 3; how++) {
		struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.retry = 1, .timeout = 8});
		struct hx_sge sge = {p.bmem, 4096, p.bkey};
		struct hx_wr wr = {.opcode = PRM_WQE_SEND,
				   .flags = HX_SIGNALED,
				   .nsge = 1,
				   .sge = {{p.amem, 100, p.akey}}};
		uint8_t cqe[64];

		hx_recv(p.b, &sge, 1);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		if (how == 0)
			cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, p.b->qpn), 0);
		else
			cr_assert_eq(hx_modify(p.b, how == 1 ? PRM_CMD_QP_2RST : PRM_CMD_QP_2ERR),
				     0);
		HX_OK(p.a->scq, 0);
	}
}

HX_TEST(rc_error, a_silent_peer_costs_all_retries)
{
	for (int8_t retry = -1; retry <= 3; retry += 2) {
		struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.retry = retry, .timeout = 8},
					      NULL, 1 << 16);
		struct hx_wr wr = write_wr(&p);
		uint32_t sent = h->nic[0].packets[ROCE_WRITE_ONLY];
		uint64_t t_ns = UINT64_C(4096) << 8, from_ns = sim_now_ns(h->sim), took_ns;
		uint32_t tries = retry < 0 ? 1 : (uint32_t)retry + 1;

		wr.sge[0].len = 10;
		sim_unplug(h->sim, 1, true);
		hx_post(p.a, &wr);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_RETRY_EXC, 0);
		took_ns = sim_now_ns(h->sim) - from_ns;
		HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, 1);
		cr_assert_geq(took_ns, tries * t_ns);
		cr_assert_leq(took_ns, tries * 4 * t_ns + 200 * SIM_US);
		cr_assert_eq(h->nic[0].packets[ROCE_WRITE_ONLY] - sent, 2 * tries);
		cr_assert(hx_diagnosed(h, "retries exceeded"));
		sim_unplug(h->sim, 1, false);
	}
}

HX_TEST(rc_error, a_timeout_of_zero_waits_for_ever)
{
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.timeout_never = true}, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	wr.flags = HX_SIGNALED;
	sim_unplug(h->sim, 1, true);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 5 * SIM_S);
	expect_nothing(h, p.a->scq);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_RTS);
}

HX_TEST(rc_error, progress_gives_all_retries_back)
{
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.retry = 1, .timeout = 8}, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	wr.flags = HX_SIGNALED;
	wr.sge[0].len = 10;
	for (uint16_t i = 0; i < 10; i++) {
		hx_drop(h, 0, ROCE_WRITE_ONLY, 1);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, i);
	}
}

HX_TEST(rc_error, a_destroyed_peer_is_silent)
{
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.retry = 1, .timeout = 8}, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_QP, p.b->qpn), 0, "%s", h->why);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_RETRY_EXC, 0);
	cr_assert(hx_diagnosed(h, "does not exist"));
}

HX_TEST(rc_error, a_wqe_that_is_none_is_a_qp_operation_error)
{
	static const struct {
		uint8_t opcode, ds;
		const char *why;
	} bad[] = {
		{0x3f, 0, "opcode 0x3f"},	    {PRM_WQE_LOCAL_INVAL, 0, "opcode 0x1b"},
		{PRM_WQE_RDMA_WRITE, 1, "ds is 1"}, {PRM_WQE_ATOMIC_FA, 2, "ds is 2"},
		{PRM_WQE_UMR, 7, "ds is 7"},
	};

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_wr wr = write_wr(&p);

		hx_post(p.a, &wr);
		wr.opcode = bad[i].opcode;
		wr.ds = bad[i].ds;
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_LOCAL_QP_OP, 1);
		cr_assert(hx_diagnosed(h, bad[i].why), "%s", bad[i].why);
	}
}

HX_TEST(rc_error, too_long_a_message_is_a_local_length_error)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.log_msg_max = 12}, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	wr.flags = HX_SIGNALED;
	wr.sge[0].len = 4096;
	hx_post(p.a, &wr);
	wr.sge[0].len = 4097;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_LENGTH, 1);
}

/* A byte count of 0 is 2 GiB, which no message may have. */
HX_TEST(rc_error, a_data_segment_of_length_zero_is_two_gigabytes)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	wr.sge[0].len = 0;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_LENGTH, 0);
	cr_assert(hx_diagnosed(h, "2147483648"));
}

HX_TEST(rc_error, an_overrun_cq_takes_its_qps_to_err)
{
	struct hx_cq *cq = hx_cq(h, 0, 2);
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.cq_snd = cq}, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	wr.flags = HX_SIGNALED;
	for (uint32_t i = 0; i < 6; i++)
		hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert(hx_quiet(h));
	cr_assert_eq(hx_event_count(h, PRM_EVENT_CQ_ERROR, cq->cqn), 1);
	cr_assert_eq(hx_event_count(h, PRM_EVENT_WQ_CATAS_ERROR, p.a->qpn), 1);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_ERR);
	cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
}

HX_TEST(rc_error, ce_zero_reports_errors_only_and_ce_one_the_first)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = write_wr(&p);

	wr.flags = 0;
	hx_post(p.a, &wr);
	wr.flags = 1 << 2;
	wr.rkey = 0;
	hx_post(p.a, &wr);
	hx_post(p.a, &wr);
	wr.flags = 0;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 1);
	HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, 3);
	expect_nothing(h, p.a->scq);
}
