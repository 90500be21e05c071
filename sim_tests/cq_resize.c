/* SPDX-License-Identifier: BSD-3-Clause */
/* MODIFY_CQ: resizing as libmlx5 expects it, and moderation that holds events back. */
#include "sim_tests/cmd_rig.h"

enum { RESIZE = 1, OLD_RING = 0, RECORD = 4, NEW_RING = 8, PERIOD_US = 50, US = 1000 };

static const struct rig_cq four = {.log_size = 2, .ring_page = OLD_RING, .dbr_page = RECORD};

static void push(struct rig *rig, uint32_t cqn, uint16_t counter)
{
	struct nm_cqe cqe = {.opcode = PRM_CQE_REQ, .qpn = 0x2a0101, .wqe_counter = counter};

	cr_assert_eq(nm_cq_push(rig_cq_of(rig, cqn), &cqe), 0);
	rig_settle(rig);
}

static const uint8_t *slot(struct rig *rig, uint32_t page, uint32_t index)
{
	return rig_page(rig, page) + 64 * (size_t)index;
}

static uint32_t counter_at(const uint8_t *cqe)
{
	return prm_load32(cqe + PRM_CQE_WQE_COUNTER) >> 16;
}

static uint8_t resize(struct rig *rig, uint32_t cqn, uint32_t log_size)
{
	uint8_t *cqc = PRM_PTR(modify_cq_in, rig->in, cq_context);

	rig_begin(rig, PRM_CMD_MODIFY_CQ, RESIZE);
	PRM_SET(modify_cq_in, rig->in, cqn, cqn);
	PRM_SET(modify_cq_in, rig->in, field_select, 7);
	PRM_SET(cqc, cqc, log_cq_size, log_size);
	prm_store64(rig->in + PRM_modify_cq_in_pas_OFF, (uintptr_t)rig_page(rig, NEW_RING));
	return rig_command(rig, 0x110 + 8, 0x10);
}

RIG_TEST(cq_resize, the_old_ring_ends_with_a_resize_entry_and_the_new_one_goes_on_an_index_later)
{
	uint32_t cqn = rig_cq(rig, &four);

	push(rig, cqn, 10);
	push(rig, cqn, 11);
	cr_assert_eq(resize(rig, cqn, 3), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(slot(rig, OLD_RING, 2)[PRM_CQE_OP_OWN] >> 4, PRM_CQE_RESIZE_CQ,
		     "there before the command has returned");
	cr_expect_eq(slot(rig, OLD_RING, 2)[PRM_CQE_OP_OWN] & 1, 0, "first lap");
	push(rig, cqn, 12);
	cr_expect_eq(counter_at(slot(rig, NEW_RING, 3)), 12, "index 3 of the new ring");
	cr_expect_eq(counter_at(slot(rig, OLD_RING, 3)), 0, "the old ring is left alone");
}

RIG_TEST(cq_resize, the_owner_bit_follows_the_new_size)
{
	uint32_t cqn = rig_cq(rig, &four);

	for (uint16_t n = 0; n < 5; n++) {
		push(rig, cqn, n);
		prm_store32(rig_page(rig, RECORD), n + 1u);
	}
	cr_assert_eq(resize(rig, cqn, 1), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(slot(rig, OLD_RING, 1)[PRM_CQE_OP_OWN] & 1, 1, "index 5 of 4 entries");
	push(rig, cqn, 77);
	cr_expect_eq(counter_at(slot(rig, NEW_RING, 0)), 77, "index 6 of 2 entries");
	cr_expect_eq(slot(rig, NEW_RING, 0)[PRM_CQE_OP_OWN] & 1, 1, "lap 3");
}

RIG_TEST(cq_resize, what_is_not_consumed_must_fit)
{
	uint32_t cqn = rig_cq(rig, &four);

	push(rig, cqn, 0);
	push(rig, cqn, 1);
	cr_expect_eq(resize(rig, cqn, 1), PRM_STATUS_BAD_SIZE_OUTS);
	push(rig, cqn, 2);
	cr_expect_eq(counter_at(slot(rig, OLD_RING, 2)), 2, "the old ring is still in use");
	push(rig, cqn, 3);
	cr_expect_eq(resize(rig, cqn, 4), PRM_STATUS_BAD_SIZE_OUTS,
		     "no room for the entry that ends the old ring");
	prm_store32(rig_page(rig, RECORD), 4);
	cr_expect_eq(resize(rig, cqn, 1), PRM_STATUS_OK, "%s", rig->why);
}

RIG_TEST(cq_resize, a_resize_raises_no_event_and_the_next_cqe_does)
{
	uint32_t cqn = rig_cq(rig, &four);

	prm_store32(rig_page(rig, RECORD) + 4, 0);
	nm_cq_check_arm(rig_cq_of(rig, cqn));
	rig_settle(rig);
	cr_assert_eq(resize(rig, cqn, 3), PRM_STATUS_OK, "%s", rig->why);
	rig_settle(rig);
	cr_expect_eq(rig->events, 0);
	push(rig, cqn, 0);
	cr_expect_eq(rig->events, 1);
}

RIG_TEST(cq_resize, query_tells_the_new_size_and_other_fields_stay)
{
	uint32_t cqn = rig_cq(rig, &four);
	const uint8_t *out = PRM_CPTR(query_cq_out, rig->out, cq_context);

	cr_assert_eq(resize(rig, cqn, 5), PRM_STATUS_OK, "%s", rig->why);
	cr_assert_eq(rig_number(rig, PRM_CMD_QUERY_CQ, cqn), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(cqc, out, log_cq_size), 5);
	cr_expect_eq(PRM_GET(cqc, out, producer_counter), 1);
	cr_expect_eq(PRM_GET64(cqc, out, dbr_addr), (uintptr_t)rig_page(rig, RECORD));
}

RIG_TEST(cq_resize, a_collapsed_cq_and_wrong_fields_are_refused)
{
	struct rig_cq collapsed = four;
	uint32_t cqn = rig_cq(rig, &four);

	cr_expect_eq(resize(rig, cqn, 23), PRM_STATUS_BAD_PARAM, "too large");
	collapsed.collapsed = true;
	cqn = rig_cq(rig, &collapsed);
	cr_expect_eq(resize(rig, cqn, 3), PRM_STATUS_BAD_PARAM);
}

/* ---- moderation ---- */

static void moderate(struct rig *rig, uint32_t cqn, uint32_t period_us, uint32_t count)
{
	uint8_t *cqc = PRM_PTR(modify_cq_in, rig->in, cq_context);

	rig_begin(rig, PRM_CMD_MODIFY_CQ, 0);
	PRM_SET(modify_cq_in, rig->in, cqn, cqn);
	PRM_SET(modify_cq_in, rig->in, field_select, 3);
	PRM_SET(cqc, cqc, cq_period, period_us);
	PRM_SET(cqc, cqc, cq_max_count, count);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
}

static void arm(struct rig *rig, uint32_t cqn, uint32_t word)
{
	prm_store32(rig_page(rig, RECORD) + 4, word);
	nm_cq_check_arm(rig_cq_of(rig, cqn));
	rig_settle(rig);
}

static const struct rig_cq sixteen = {.log_size = 4, .ring_page = OLD_RING, .dbr_page = RECORD};

/* A CQ that has just told of CQE 0, and is armed for the next. */
static uint32_t moderated_cq(struct rig *rig, uint32_t count)
{
	uint32_t cqn = rig_cq(rig, &sixteen);

	rig->now_ns = 1000000;
	moderate(rig, cqn, PERIOD_US, count);
	arm(rig, cqn, 0);
	push(rig, cqn, 0);
	cr_assert_eq(rig->events, 1, "long after the last one: at once");
	arm(rig, cqn, 1u << 28 | 1);
	return cqn;
}

RIG_TEST(cq_moderation, an_event_comes_with_the_last_of_so_many_cqes)
{
	uint32_t cqn = moderated_cq(rig, 3);

	push(rig, cqn, 1);
	push(rig, cqn, 2);
	cr_expect_eq(rig->events, 1, "held back");
	push(rig, cqn, 3);
	cr_expect_eq(rig->events, 2);
}

RIG_TEST(cq_moderation, an_event_comes_when_the_period_ends)
{
	uint32_t cqn = moderated_cq(rig, 100);
	struct nm_progress p;

	push(rig, cqn, 1);
	cr_expect_eq(rig->events, 1);
	p = nm_nic_progress(rig->nic, NM_SLICE_NS);
	cr_expect_leq(p.next_ns, rig->now_ns + PERIOD_US * US, "the owner is told when");
	rig->now_ns += PERIOD_US * US;
	rig_settle(rig);
	cr_expect_eq(rig->events, 2);
}

RIG_TEST(cq_moderation, a_period_or_a_count_of_0_holds_nothing_back)
{
	uint32_t cqn = moderated_cq(rig, 100);

	moderate(rig, cqn, PERIOD_US, 0);
	push(rig, cqn, 1);
	cr_expect_eq(rig->events, 2);
	moderate(rig, cqn, 0, 100);
	arm(rig, cqn, 2u << 28 | 2);
	push(rig, cqn, 2);
	cr_expect_eq(rig->events, 3);
}

RIG_TEST(cq_moderation, a_cq_with_an_event_held_back_can_be_destroyed)
{
	uint32_t cqn = moderated_cq(rig, 100);

	push(rig, cqn, 1);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_CQ, cqn), PRM_STATUS_OK, "%s", rig->why);
	rig->now_ns += PERIOD_US * US;
	rig_settle(rig);
	cr_expect_eq(rig->events, 1);
}
