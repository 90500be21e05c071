/* SPDX-License-Identifier: BSD-3-Clause */
/* The command interface itself: lengths, unknown commands, privileges, faults, observers. */
#include "sim_tests/cmd_rig.h"

RIG_TEST(cmd_basics, an_unknown_opcode_is_bad_op)
{
	rig_begin(rig, 0xbee, 0);
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_BAD_OP);
	cr_expect_eq(PRM_GET(cmd_out, rig->out, syndrome), NM_SYND_OPCODE);
	cr_expect(strstr(rig->why, "0xbee"), "%s", rig->why);
}

RIG_TEST(cmd_basics, every_known_command_refuses_a_mailbox_of_the_head_alone_or_answers)
{
#define OPCODE_(name, opcode) opcode,
	static const uint16_t opcodes[] = {PRM_COMMANDS(OPCODE_)};

	for (size_t n = 0; n < sizeof(opcodes) / sizeof(opcodes[0]); n++) {
		rig_begin(rig, opcodes[n], 0);
		rig_command(rig, 0x10, 0x10); /* the rig checks status, sentence and bounds */
	}
}

RIG_TEST(cmd_basics, short_mailboxes_are_refused)
{
	rig_begin(rig, PRM_CMD_CREATE_QP, 0);
	for (size_t len = 0; len < 0x110; len += 4)
		cr_expect_eq(rig_command(rig, len, 0x10), PRM_STATUS_BAD_INP_LEN, "length %zu",
			     len);
	rig_begin(rig, PRM_CMD_ALLOC_PD, 0);
	cr_expect_eq(rig_command(rig, 0x10, 0x08), PRM_STATUS_BAD_OUTP_LEN);
	cr_expect_eq(rig_command(rig, 0x10, 0), PRM_STATUS_BAD_OUTP_LEN);
	cr_expect_eq(rig->nic->table[NM_OBJ_PD].count, 0, "nothing was made");
}

RIG_TEST(cmd_basics, the_rest_of_a_long_output_is_zero)
{
	rig_begin(rig, PRM_CMD_ALLOC_PD, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x100), PRM_STATUS_OK);
	for (size_t n = 0x0c; n < 0x100; n++)
		cr_expect_eq(rig->out[n], 0);
}

RIG_TEST(cmd_basics, a_refusal_leaves_nothing_but_status_and_syndrome)
{
	rig_begin(rig, PRM_CMD_DEALLOC_PD, 0);
	PRM_SET(obj_in, rig->in, number, 0x777);
	cr_expect_eq(rig_command(rig, 0x10, 0x20), PRM_STATUS_BAD_RES);
	for (size_t n = 8; n < 0x20; n++)
		cr_expect_eq(rig->out[n], 0);
}

RIG_TEST(cmd_basics, commands_of_the_driver_are_refused_to_user_contexts)
{
	rig->uid = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	rig_begin(rig, PRM_CMD_CREATE_UCTX, 0);
	cr_expect_eq(rig_command(rig, 0x40, 0x10), PRM_STATUS_BAD_OP);
	cr_expect_eq(PRM_GET(cmd_out, rig->out, syndrome), NM_SYND_PRIVILEGE);
	rig_begin(rig, PRM_CMD_SET_ROCE_ADDRESS, 0);
	cr_expect_eq(rig_command(rig, 0x30, 0x10), PRM_STATUS_BAD_OP);
}

RIG_TEST(cmd_basics, a_user_context_that_does_not_exist_is_refused)
{
	rig->uid = 17;
	rig_begin(rig, PRM_CMD_ALLOC_PD, 0);
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_BAD_RES);
}

RIG_TEST(cmd_basics, the_uid_in_the_mailbox_does_not_count)
{
	uint16_t uid = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	uint32_t pd;

	rig_begin(rig, PRM_CMD_ALLOC_PD, 0);
	PRM_SET(cmd_in, rig->in, uid, uid);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK);
	pd = rig_out_number(rig);
	cr_expect_eq(nm_obj_get(rig->nic, NM_OBJ_PD, pd)->uid, 0);
}

static enum nm_verdict fail_always(void *ctx, struct nm_event *ev)
{
	(*(int *)ctx)++;
	cr_expect_eq(ev->command.opcode, PRM_CMD_ALLOC_PD);
	return NM_FAIL;
}

RIG_TEST(cmd_basics, an_injected_failure_is_int_err_and_does_nothing)
{
	int calls = 0;
	struct nm_fault fault = {.ctx = &calls, .mask = 1u << NM_EV_COMMAND, .at = fail_always};

	nm_nic_set_fault(rig->nic, &fault);
	rig_begin(rig, PRM_CMD_ALLOC_PD, 0);
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_INT_ERR);
	nm_nic_set_fault(rig->nic, NULL);
	cr_expect_eq(calls, 1);
	cr_expect_eq(rig->nic->table[NM_OBJ_PD].count, 0);
	rig_alloc(rig, PRM_CMD_ALLOC_PD);
}

struct seen {
	int count;
	uint8_t status;
	uint16_t opcode;
	bool has_reason;
};

static void note_command(void *ctx, const struct nm_event *ev)
{
	struct seen *s = ctx;

	s->count++;
	s->status = ev->command.status;
	s->opcode = ev->command.opcode;
	s->has_reason = ev->why != NULL;
}

RIG_TEST(cmd_basics, an_observer_sees_each_command_once_with_its_outcome)
{
	struct seen seen = {0};
	struct nm_observer obs = {.ctx = &seen, .mask = 1u << NM_EV_COMMAND, .event = note_command};

	nm_nic_add_observer(rig->nic, &obs);
	rig_alloc(rig, PRM_CMD_ALLOC_PD);
	cr_expect_eq(seen.count, 1);
	cr_expect_eq(seen.opcode, PRM_CMD_ALLOC_PD);
	cr_expect_not(seen.has_reason);
	rig_number(rig, PRM_CMD_DEALLOC_PD, 0x999);
	cr_expect_eq(seen.count, 2);
	cr_expect_eq(seen.status, PRM_STATUS_BAD_RES);
	cr_expect(seen.has_reason);
	nm_nic_remove_observer(rig->nic, &obs);
	rig_alloc(rig, PRM_CMD_ALLOC_PD);
	cr_expect_eq(seen.count, 2);
}

Test(cmd_basics, every_syndrome_has_a_text_and_its_own_number)
{
#define NUMBER_(name, number, text) number,
	static const uint32_t numbers[] = {NM_SYNDROMES(NUMBER_)};

	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		cr_expect_not_null(nm_syndrome_text(numbers[n]));
		for (size_t m = 0; m < n; m++)
			cr_expect_neq(numbers[n], numbers[m]);
	}
	cr_expect_null(nm_syndrome_text(0x123));
}

Test(cmd_basics, a_nic_without_what_it_needs_is_refused_with_the_reason)
{
	struct nm_config config = {.port_mtu = 5};
	struct nm_ops ops = {0};
	const char *why = NULL;

	cr_expect_null(nm_nic_create(&config, &ops, &why));
	cr_expect_not_null(why);
	cr_expect_null(nm_nic_create(&config, &ops, NULL));
}
