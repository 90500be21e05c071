/* SPDX-License-Identifier: BSD-3-Clause */
/* Arming and events: when a completion event is written, and that it never comes before its CQE. */
#include "sim_tests/cmd_rig.h"

enum { SOLICITED = 1 << 24 };

static const struct rig_cq shape = {.log_size = 4, .ring_page = 0, .dbr_page = 4};

static void push(struct rig *rig, uint32_t cqn, bool solicited)
{
	struct nm_cqe cqe = {.opcode = PRM_CQE_RESP_SEND, .qpn = 0x2a0100, .solicited = solicited};

	cr_assert_eq(nm_cq_push(rig_cq_of(rig, cqn), &cqe), 0);
	rig_settle(rig);
}

/* What a program does: the word into the record, then the doorbell, which makes the NIC look. */
static void arm(struct rig *rig, uint32_t cqn, uint32_t word)
{
	prm_store32(rig_page(rig, 4) + 4, word);
	nm_cq_check_arm(rig_cq_of(rig, cqn));
	rig_settle(rig);
}

RIG_TEST(cq_arm, without_an_arm_no_event)
{
	uint32_t cqn = rig_cq(rig, &shape);

	push(rig, cqn, true);
	cr_expect_eq(rig->events, 0);
}

RIG_TEST(cq_arm, one_event_for_an_arm_and_then_none)
{
	uint32_t cqn = rig_cq(rig, &shape);

	arm(rig, cqn, 0);
	cr_expect_eq(rig->events, 0);
	push(rig, cqn, false);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 1);
	cr_expect_eq(rig->event[0].eqe[1], PRM_EVENT_COMP);
	cr_expect_eq(prm_load32(rig->event[0].eqe + 0x38), cqn);
	cr_expect_eq(rig->event[0].eqn, rig_cq_of(rig, cqn)->eqn);
	cr_expect_eq(rig->event[0].intr, 5);
	arm(rig, cqn, 1u << 28 | 2);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 2);
}

RIG_TEST(cq_arm, the_first_arm_is_all_zero_and_counts)
{
	uint32_t cqn = rig_cq(rig, &shape);

	arm(rig, cqn, 0);
	cr_expect_eq(rig_cq_of(rig, cqn)->arm_state, PRM_CQ_ST_ARMED);
}

RIG_TEST(cq_arm, an_unchanged_record_is_no_arm)
{
	uint32_t cqn = rig_cq(rig, &shape);

	nm_cq_check_arm(rig_cq_of(rig, cqn));
	rig_settle(rig);
	cr_expect_eq(rig_cq_of(rig, cqn)->arm_state, 0);
	arm(rig, cqn, 0);
	push(rig, cqn, false);
	nm_cq_check_arm(rig_cq_of(rig, cqn));
	rig_settle(rig);
	cr_expect_eq(rig_cq_of(rig, cqn)->arm_state, PRM_CQ_ST_FIRED);
	cr_expect_eq(rig->events, 1);
}

RIG_TEST(cq_arm, a_cqe_that_is_already_there_fires_at_once)
{
	uint32_t cqn = rig_cq(rig, &shape);

	push(rig, cqn, false);
	arm(rig, cqn, 0);
	cr_expect_eq(rig->events, 1);
	arm(rig, cqn, 1u << 28 | 1);
	cr_expect_eq(rig->events, 1, "it was consumed meanwhile");
	cr_expect_eq(rig_cq_of(rig, cqn)->arm_state, PRM_CQ_ST_ARMED);
}

RIG_TEST(cq_arm, a_cqe_that_was_told_of_does_not_fire_again)
{
	uint32_t cqn = rig_cq(rig, &shape);

	arm(rig, cqn, 0);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 1);
	arm(rig, cqn, 1u << 28);
	cr_expect_eq(rig->events, 1, "armed between the event and the poll");
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 2);
	push(rig, cqn, false);
	arm(rig, cqn, 2u << 28);
	cr_expect_eq(rig->events, 3, "one that came while the queue was not armed");
}

RIG_TEST(cq_arm, a_doorbell_later_than_its_record_does_not_arm_twice)
{
	uint32_t cqn = rig_cq(rig, &shape);

	arm(rig, cqn, 0);
	push(rig, cqn, false);
	nm_cq_arm(rig_cq_of(rig, cqn), 0);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 1);
}

RIG_TEST(cq_arm, an_arm_during_the_read_of_an_earlier_one_is_not_lost)
{
	uint32_t cqn = rig_cq(rig, &shape);
	struct nm_cq *cq = rig_cq_of(rig, cqn);

	for (uint32_t n = 1; n <= 50; n++) {
		nm_cq_check_arm(cq); /* an unchanged record, read late where it is copied */
		if (n % 2)
			nm_nic_progress(rig->nic, NM_SLICE_NS);
		prm_store32(rig_page(rig, 4) + 4, (n & 3) << 28 | (n - 1));
		prm_store32(rig_page(rig, 4), n - 1);
		nm_cq_check_arm(cq);
		rig_settle(rig);
		cr_assert_eq(cq->arm_state, PRM_CQ_ST_ARMED, "arm %u", n);
		push(rig, cqn, false);
		cr_assert_eq(rig->events, n);
	}
}

RIG_TEST(cq_arm, a_queue_that_was_only_polled_for_long_arms_like_a_new_one)
{
	struct rig_cq one = {.log_size = 4, .oi = true, .ring_page = 0, .dbr_page = 4};
	uint32_t cqn = rig_cq(rig, &one);
	struct nm_cq *cq = rig_cq_of(rig, cqn);
	struct nm_cqe cqe = {.opcode = PRM_CQE_RESP_SEND, .qpn = 0x2a0100, .solicited = true};

	if (rig->copied)
		return; /* the same code, but 16 million transfers */
	for (uint32_t n = 0; n < 0xffffff; n++)
		nm_cq_push(cq, &cqe);
	cqe.solicited = false;
	nm_cq_push(cq, &cqe);
	nm_cq_push(cq, &cqe);
	cr_expect_eq(rig->events, 0);
	arm(rig, cqn, SOLICITED | 0xfffffe);
	cr_expect_eq(rig->events, 1, "a solicited CQE that nobody was told of");
}

RIG_TEST(cq_arm, a_solicited_arm_waits_for_a_solicited_cqe)
{
	uint32_t cqn = rig_cq(rig, &shape);

	arm(rig, cqn, SOLICITED);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 0);
	push(rig, cqn, true);
	cr_expect_eq(rig->events, 1);
	arm(rig, cqn, 1u << 28 | SOLICITED | 2);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 1, "the solicited one before the consumer index does not count");
}

RIG_TEST(cq_arm, a_solicited_cqe_behind_the_consumer_index_fires_at_once)
{
	uint32_t cqn = rig_cq(rig, &shape);

	push(rig, cqn, true);
	push(rig, cqn, false);
	arm(rig, cqn, SOLICITED);
	cr_expect_eq(rig->events, 1);
}

RIG_TEST(cq_arm, an_error_counts_as_solicited)
{
	uint32_t cqn = rig_cq(rig, &shape);
	struct nm_cqe cqe = {
		.opcode = PRM_CQE_REQ_ERR, .qpn = 0x2a0100, .syndrome = PRM_SYND_WR_FLUSH};

	arm(rig, cqn, SOLICITED);
	nm_cq_push(rig_cq_of(rig, cqn), &cqe);
	rig_settle(rig);
	cr_expect_eq(rig->events, 1);
	cr_expect_eq(rig->nic->counters.req_cqe_flush_error, 1);
}

RIG_TEST(cq_arm, any_over_solicited_upgrades_and_not_back)
{
	uint32_t cqn = rig_cq(rig, &shape);

	arm(rig, cqn, SOLICITED);
	arm(rig, cqn, 0);
	cr_expect_eq(rig_cq_of(rig, cqn)->arm_state, PRM_CQ_ST_ARMED);
	arm(rig, cqn, 1u << 28 | SOLICITED);
	cr_expect_eq(rig_cq_of(rig, cqn)->arm_state, PRM_CQ_ST_ARMED);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 1);
}

RIG_TEST(cq_arm, the_word_of_a_doorbell_arms_like_the_record)
{
	uint32_t cqn = rig_cq(rig, &shape);

	nm_cq_arm(rig_cq_of(rig, cqn), 0);
	push(rig, cqn, false);
	cr_expect_eq(rig->events, 1);
}

RIG_TEST(cq_arm, the_event_comes_after_its_cqe)
{
	uint32_t cqn = rig_cq(rig, &shape);
	struct nm_cqe cqe = {.opcode = PRM_CQE_RESP_SEND, .qpn = 0x2a0100};

	memset(rig_page(rig, 0), 0xf0, RIG_PAGE);
	arm(rig, cqn, 0);
	nm_cq_push(rig_cq_of(rig, cqn), &cqe);
	for (int n = 0; n < 100 && !rig->events; n++)
		nm_nic_progress(rig->nic, NM_SLICE_NS);
	cr_expect_eq(rig->events, 1);
	cr_expect_eq(rig_page(rig, 0)[63], 0x20, "visible before the event was told");
}

RIG_TEST(cq_arm, query_tells_the_state)
{
	uint32_t cqn = rig_cq(rig, &shape);
	const uint8_t *cqc = PRM_CPTR(query_cq_out, rig->out, cq_context);

	arm(rig, cqn, SOLICITED);
	rig_number(rig, PRM_CMD_QUERY_CQ, cqn);
	cr_expect_eq(PRM_GET(cqc, cqc, st), PRM_CQ_ST_SOLICITED_ARMED);
	push(rig, cqn, true);
	rig_number(rig, PRM_CMD_QUERY_CQ, cqn);
	cr_expect_eq(PRM_GET(cqc, cqc, st), PRM_CQ_ST_FIRED);
	cr_expect_eq(PRM_GET(cqc, cqc, last_notified_index), 1);
	cr_expect_eq(PRM_GET(cqc, cqc, last_solicit_index), 1);
}

/* ---- event queues with a ring ---- */

static uint32_t eq_ring(struct rig *rig, uint8_t log_size, uint64_t mask, bool oi)
{
	uint8_t *eqc = PRM_PTR(create_eq_in, rig->in, eq_context);

	memset(rig_page(rig, 30), 0xff, RIG_PAGE); /* owner 1, as a driver prepares it */
	rig_begin(rig, PRM_CMD_CREATE_EQ, 0);
	PRM_SET(eqc, eqc, log_eq_size, log_size);
	PRM_SET(eqc, eqc, oi, oi);
	PRM_SET64(create_eq_in, rig->in, event_bitmask, mask);
	prm_store64(PRM_PTR(create_eq_in, rig->in, pas), (uintptr_t)rig_page(rig, 30));
	cr_assert_eq(rig_command(rig, 0x118, 0x10), PRM_STATUS_OK, "%s", rig->why);
	return PRM_GET(create_eq_out, rig->out, eqn);
}

RIG_TEST(cq_arm, eqes_go_into_the_ring_with_an_owner_bit_that_flips)
{
	uint32_t eqn = eq_ring(rig, 2, UINT64_C(1) << PRM_EVENT_COMM_EST, false);

	for (uint32_t n = 0; n < 7; n++) {
		uint8_t *eqe = rig_page(rig, 30) + 64 * (n % 4);

		nm_eq_qp_event(rig->nic, PRM_EVENT_COMM_EST, 0x2a0100 + n);
		rig_settle(rig);
		cr_expect_eq(eqe[1], PRM_EVENT_COMM_EST);
		cr_expect_eq(prm_load32(eqe + 0x38), 0x2a0100 + n);
		cr_expect_eq(eqe[0x34 + 3], 0, "a QP");
		cr_expect_eq(eqe[63] & 1, n / 4);
		nm_eq_doorbell(rig->nic, eqn << 24 | (n + 1));
	}
	cr_expect_eq(rig->events, 7);
	rig_begin(rig, PRM_CMD_QUERY_EQ, 0);
	PRM_SET(destroy_eq_in, rig->in, eq_number, eqn);
	cr_assert_eq(rig_command(rig, 0x10, 0x50), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(eqc, PRM_CPTR(query_eq_out, rig->out, eq_context), producer_counter),
		     7);
	cr_expect_eq(PRM_GET(eqc, PRM_CPTR(query_eq_out, rig->out, eq_context), consumer_counter),
		     7);
}

RIG_TEST(cq_arm, an_event_goes_to_the_eqs_that_asked_for_its_type)
{
	uint32_t fatal = rig_eq(rig, UINT64_C(1) << PRM_EVENT_WQ_CATAS_ERROR);

	rig_eq(rig, UINT64_C(1) << PRM_EVENT_CQ_ERROR);
	nm_eq_qp_event(rig->nic, PRM_EVENT_WQ_CATAS_ERROR, 0x2a0100);
	cr_expect_eq(rig->events, 1);
	cr_expect_eq(rig->event[0].eqn, fatal);
}

RIG_TEST(cq_arm, a_full_eq_loses_events_and_says_so)
{
	eq_ring(rig, 1, UINT64_C(1) << PRM_EVENT_COMM_EST, false);
	for (uint32_t n = 0; n < 3; n++)
		nm_eq_qp_event(rig->nic, PRM_EVENT_COMM_EST, n);
	rig_settle(rig);
	cr_expect_eq(rig->events, 2);
	cr_expect_eq(rig->diagnoses, 1);
	cr_expect(strstr(rig->diagnosis, "is lost"), "%s", rig->diagnosis);
}

RIG_TEST(cq_arm, an_eq_without_pages_must_ignore_overrun)
{
	uint8_t *eqc = PRM_PTR(create_eq_in, rig->in, eq_context);

	rig_begin(rig, PRM_CMD_CREATE_EQ, 0);
	PRM_SET(eqc, eqc, log_eq_size, 2);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_INP_LEN);
	PRM_SET(eqc, eqc, oi, 1);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK);
}
