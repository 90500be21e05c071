/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that hold no queue: numbers, owners, uses, umems, UAR pages, user contexts. */
#include <errno.h>

#include "sim_tests/cmd_rig.h"

static const struct {
	uint16_t alloc, dealloc;
	enum nm_obj_type type;
} plain[] = {
	{PRM_CMD_ALLOC_PD, PRM_CMD_DEALLOC_PD, NM_OBJ_PD},
	{PRM_CMD_ALLOC_UAR, PRM_CMD_DEALLOC_UAR, NM_OBJ_UAR},
	{PRM_CMD_ALLOC_TRANSPORT_DOMAIN, PRM_CMD_DEALLOC_TRANSPORT_DOMAIN, NM_OBJ_TD},
	{PRM_CMD_ALLOC_Q_COUNTER, PRM_CMD_DEALLOC_Q_COUNTER, NM_OBJ_QCOUNTER},
};

enum { PLAIN = sizeof(plain) / sizeof(plain[0]) };

RIG_TEST(cmd_objects, what_was_allocated_can_be_freed_once)
{
	for (int n = 0; n < PLAIN; n++) {
		uint32_t number = rig_alloc(rig, plain[n].alloc);

		cr_expect_not_null(nm_obj_get(rig->nic, plain[n].type, number));
		cr_expect_eq(rig_number(rig, plain[n].dealloc, number), PRM_STATUS_OK, "%s",
			     rig->why);
		cr_expect_null(nm_obj_get(rig->nic, plain[n].type, number));
		cr_expect_eq(rig_number(rig, plain[n].dealloc, number), PRM_STATUS_BAD_RES);
	}
}

RIG_TEST(cmd_objects, a_number_is_not_reused_at_once)
{
	uint32_t first = rig_alloc(rig, PRM_CMD_ALLOC_PD);

	cr_assert_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, first), PRM_STATUS_OK);
	for (int n = 0; n < 100; n++) {
		uint32_t next = rig_alloc(rig, PRM_CMD_ALLOC_PD);

		cr_expect_neq(next, first);
		cr_assert_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, next), PRM_STATUS_OK);
	}
}

RIG_TEST(cmd_objects, a_full_table_says_so_and_recovers)
{
	uint32_t last = 0;

	for (int n = 0; n < RIG_UAR_PAGES - 1; n++)
		last = rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	rig_begin(rig, PRM_CMD_ALLOC_UAR, 0);
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_NO_RES_ERR);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_UAR, last), PRM_STATUS_OK);
	cr_expect_eq(rig_alloc(rig, PRM_CMD_ALLOC_UAR), last);
}

RIG_TEST(cmd_objects, thousands_of_objects_keep_their_numbers)
{
	enum { MANY = 5000 };
	static uint32_t number[MANY];

	for (int n = 0; n < MANY; n++)
		number[n] = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	for (int n = 0; n < MANY; n += 2)
		cr_assert_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, number[n]), PRM_STATUS_OK);
	for (int n = 0; n < MANY; n++)
		cr_expect_eq(nm_obj_get(rig->nic, NM_OBJ_PD, number[n]) != NULL, n % 2 == 1);
}

RIG_TEST(cmd_objects, an_object_of_another_user_context_cannot_be_named)
{
	uint16_t a = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	uint16_t b = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	uint32_t pd;

	cr_expect_neq(a, b);
	rig->uid = a;
	pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	rig->uid = b;
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, pd), PRM_STATUS_BAD_RES);
	cr_expect(strstr(rig->why, "belongs to user context"), "%s", rig->why);
	rig->uid = 0;
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, pd), PRM_STATUS_OK, "the driver may");
}

RIG_TEST(cmd_objects, the_end_of_a_user_context_ends_its_objects_and_no_others)
{
	uint16_t uid = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	uint32_t kept = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	struct rig_qp qp;

	rig->uid = uid;
	rig_qp(rig, &qp);
	rig_umem(rig, 10, 2, 0);
	rig->uid = 0;
	rig_begin(rig, PRM_CMD_DESTROY_UCTX, 0);
	PRM_SET(destroy_uctx_in, rig->in, uid, uid);
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK, "%s", rig->why);
	for (int type = 0; type < NM_OBJ_TYPES; type++)
		cr_expect_eq(rig->nic->table[type].count, type == NM_OBJ_PD ? 1 : 0, "type %d",
			     type);
	cr_expect_not_null(nm_obj_get(rig->nic, NM_OBJ_PD, kept));
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_BAD_RES);
}

RIG_TEST(cmd_objects, what_the_driver_still_uses_outlives_its_user_context)
{
	uint16_t uid = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	struct rig_cq cq = {.log_size = 2, .ring_page = 0, .dbr_page = 4};
	uint32_t eqn = rig_eq(rig, 0), uar, cqn;

	rig->uid = uid;
	uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	rig->uid = 0;
	rig_cq_mailbox(rig, &cq, eqn, uar);
	cr_assert_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cqn = rig_out_number(rig);
	rig_begin(rig, PRM_CMD_DESTROY_UCTX, 0);
	PRM_SET(destroy_uctx_in, rig->in, uid, uid);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK, "%s", rig->why);
	nm_nic_progress(rig->nic, NM_SLICE_NS);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_UAR, uar), PRM_STATUS_BAD_RES);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_CQ, cqn), PRM_STATUS_OK);
	cr_expect_eq(rig->nic->table[NM_OBJ_UAR].count, 0);
}

RIG_TEST(cmd_objects, what_is_in_use_is_busy_until_its_users_are_gone)
{
	struct rig_qp qp;

	rig_qp(rig, &qp);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, qp.pd), PRM_STATUS_RES_BUSY);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_CQ, qp.cqn), PRM_STATUS_RES_BUSY);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_EQ, rig_cq_of(rig, qp.cqn)->eqn),
		     PRM_STATUS_RES_BUSY);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_QP, qp.qpn), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_CQ, qp.cqn), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, qp.pd), PRM_STATUS_OK, "%s", rig->why);
}

RIG_TEST(cmd_objects, a_uar_page_lives_as_long_as_a_queue_uses_it)
{
	struct rig_qp qp;

	rig_qp(rig, &qp);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_UAR, qp.uar), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_UAR, qp.uar), PRM_STATUS_BAD_RES,
		     "it has no name any more");
	for (int n = 0; n < RIG_UAR_PAGES - 3; n++)
		cr_expect_neq(rig_alloc(rig, PRM_CMD_ALLOC_UAR), qp.uar, "and is not handed out");
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_QP, qp.qpn), PRM_STATUS_OK);
	cr_expect_eq(rig_alloc(rig, PRM_CMD_ALLOC_UAR), qp.uar, "until its last queue is gone");
}

RIG_TEST(cmd_objects, a_new_uar_page_holds_no_ring_of_its_last_owner)
{
	uint32_t page = rig_alloc(rig, PRM_CMD_ALLOC_UAR);

	rig_number(rig, PRM_CMD_DEALLOC_UAR, page);
	memset(rig->uar + (size_t)page * RIG_PAGE, 0xff, RIG_PAGE);
	for (int n = 0; n < RIG_UAR_PAGES - 1; n++)
		rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	for (int n = 0; n < RIG_PAGE; n++)
		cr_assert_eq(rig->uar[(size_t)page * RIG_PAGE + (size_t)n], 0);
}

/* ---- umems ---- */

RIG_TEST(cmd_objects, a_umem_covers_its_pages_from_its_offset)
{
	uint32_t id = rig_umem(rig, 8, 3, 0x40);
	struct nm_umem *umem = (struct nm_umem *)nm_obj_get(rig->nic, NM_OBJ_UMEM, id);
	struct nm_seg seg;

	cr_expect_eq(umem->mem.len, 3 * RIG_PAGE - 0x40);
	cr_expect_eq(umem->mem.next, 1, "adjacent pages are one extent");
	cr_expect_eq(nm_mem_segs(&umem->mem, 0x100, 8, &seg, 1), 1);
	cr_expect_eq(seg.addr, (uintptr_t)rig_page(rig, 8) + 0x140,
		     "flags in the low bits are ignored");
}

RIG_TEST(cmd_objects, a_umem_needs_as_many_pages_as_it_says)
{
	uint8_t *umem = PRM_PTR(create_umem_in, rig->in, umem);

	rig_begin(rig, PRM_CMD_CREATE_UMEM, 0);
	PRM_SET64(umem, umem, num_of_mtt, 3);
	cr_expect_eq(rig_command(rig, 0x30 + 2 * 8, 0x10), PRM_STATUS_BAD_PARAM);
	PRM_SET64(umem, umem, num_of_mtt, 0);
	cr_expect_eq(rig_command(rig, 0x30 + 2 * 8, 0x10), PRM_STATUS_BAD_PARAM);
	PRM_SET64(umem, umem, num_of_mtt, UINT64_MAX);
	cr_expect_eq(rig_command(rig, 0x30 + 2 * 8, 0x10), PRM_STATUS_BAD_PARAM);
	PRM_SET64(umem, umem, num_of_mtt, 2);
	PRM_SET(umem, umem, page_offset, RIG_PAGE);
	cr_expect_eq(rig_command(rig, 0x30 + 2 * 8, 0x10), PRM_STATUS_BAD_PARAM,
		     "the offset is in the first page");
	PRM_SET(umem, umem, page_offset, 0);
	cr_expect_eq(rig_command(rig, 0x30 + 2 * 8, 0x10), PRM_STATUS_OK, "%s", rig->why);
}

RIG_TEST(cmd_objects, pages_that_do_not_touch_are_extents_of_their_own)
{
	uint8_t pas[3 * 8];
	struct nm_mem mem, window;
	struct nm_seg segs[4];

	prm_store64(pas, (uintptr_t)rig_page(rig, 2));
	prm_store64(pas + 8, (uintptr_t)rig_page(rig, 9));
	prm_store64(pas + 16, (uintptr_t)rig_page(rig, 10));
	cr_assert_eq(nm_mem_init(&mem, rig->space, pas, 3, 12, 0x10, 3 * RIG_PAGE - 0x10), 0);
	cr_expect_eq(mem.next, 2);
	cr_expect_eq(nm_mem_segs(&mem, RIG_PAGE - 0x20, 0x40, segs, 4), 2);
	cr_expect_eq(segs[0].addr, (uintptr_t)rig_page(rig, 2) + RIG_PAGE - 0x10);
	cr_expect_eq(segs[0].len, 0x10);
	cr_expect_eq(segs[1].addr, (uintptr_t)rig_page(rig, 9));
	cr_expect_eq(segs[1].len, 0x30);
	cr_expect_eq(nm_mem_segs(&mem, RIG_PAGE - 0x20, 0x40, segs, 1), -E2BIG);
	cr_expect_eq(nm_mem_segs(&mem, 0, mem.len + 1, segs, 4), -EINVAL);
	cr_expect_eq(nm_mem_segs(&mem, mem.len, 0, segs, 4), 0);
	cr_expect_null(nm_mem_ptr(&mem, RIG_PAGE - 0x20, 0x40), "crosses extents");
	cr_expect_eq(nm_mem_ptr(&mem, RIG_PAGE, 8) != NULL, !rig->copied);
	cr_assert_eq(nm_mem_window(&window, &mem, RIG_PAGE, 2 * RIG_PAGE - 0x10), 0);
	cr_expect_eq(window.next, 1);
	cr_expect_eq(window.ext[0].addr, (uintptr_t)rig_page(rig, 9) + 0x10);
	nm_mem_fini(&window);
	cr_expect_eq(nm_mem_window(&window, &mem, 1, mem.len), -EINVAL);
	nm_mem_fini(&mem);
	cr_expect_eq(nm_mem_init(&mem, rig->space, pas, 3, 12, 1, 3 * RIG_PAGE), -EINVAL,
		     "one byte too many");
	cr_expect_eq(nm_mem_init(&mem, rig->space, pas, 3, 12, 1, UINT64_MAX), -EINVAL);
}

RIG_TEST(cmd_objects, a_doorbell_record_reads_both_words_mapped_or_not)
{
	struct nm_dbr dbr;
	uint32_t value = 0;
	int rc;

	prm_store32(rig_page(rig, 0), 0x11);
	prm_store32(rig_page(rig, 0) + 4, 0x22);
	cr_expect_eq(nm_dbr_init(&dbr, rig->space, (uintptr_t)rig_page(rig, 0) + 4), -EINVAL);
	cr_assert_eq(nm_dbr_init(&dbr, rig->space, (uintptr_t)rig_page(rig, 0)), 0);
	while ((rc = nm_dbr_read(rig->nic, &dbr, 1, &value)) == -EINPROGRESS)
		cr_expect(rig->copied);
	cr_expect_eq(rc, 0);
	cr_expect_eq(value, 0x22);
	prm_store32(rig_page(rig, 0), 0x33);
	while (nm_dbr_read(rig->nic, &dbr, 0, &value) == -EINPROGRESS)
		;
	cr_expect_eq(value, 0x33, "a later read is a new read");
	nm_dbr_read(rig->nic, &dbr, 0, &value);
	nm_dbr_fini(&dbr); /* with a read under way */
}

RIG_TEST(cmd_objects, two_readers_of_a_record_do_not_take_each_others_answers)
{
	struct nm_dbr dbr;
	uint32_t a = 0, b = 0;
	int rc_a = -EINPROGRESS, rc_b = -EINPROGRESS;

	prm_store32(rig_page(rig, 0), 1);
	prm_store32(rig_page(rig, 0) + 4, 2);
	cr_assert_eq(nm_dbr_init(&dbr, rig->space, (uintptr_t)rig_page(rig, 0)), 0);
	for (int n = 0; n < 100 && (rc_a || rc_b); n++) {
		if (rc_a)
			rc_a = nm_dbr_read(rig->nic, &dbr, 1, &a);
		for (int poll = 0; poll < 3; poll++) /* the other one asks all the time */
			rc_b = nm_dbr_read(rig->nic, &dbr, 0, &b);
	}
	cr_expect_eq(rc_a, 0);
	cr_expect_eq(a, 2);
	nm_dbr_fini(&dbr);
}

RIG_TEST(cmd_objects, a_read_of_a_record_is_not_older_than_its_first_call)
{
	struct nm_dbr dbr;
	uint32_t value = 0;
	int rc = -EINPROGRESS;

	cr_assert_eq(nm_dbr_init(&dbr, rig->space, (uintptr_t)rig_page(rig, 0)), 0);
	nm_dbr_read(rig->nic, &dbr, 0,
		    &value); /* one reader's transfer is under way, perhaps done inside */
	prm_store32(rig_page(rig, 0) + 4, 7);
	for (int n = 0; n < 100 && rc; n++)
		rc = nm_dbr_read(rig->nic, &dbr, 1, &value);
	cr_expect_eq(rc, 0);
	cr_expect_eq(value, 7);
	nm_dbr_fini(&dbr);
}

static uint8_t general(struct rig *rig, uint16_t opcode, uint16_t type, uint32_t id, uint32_t range)
{
	rig_begin(rig, opcode, type);
	PRM_SET(general_obj_in, rig->in, obj_id, id);
	PRM_SET(general_obj_in, rig->in, log_obj_range, range);
	return rig_command(rig, 0x10, 0x10);
}

RIG_TEST(cmd_objects, reserved_qpns_come_in_runs_that_no_qp_gets)
{
	const uint16_t type = PRM_OBJ_TYPE_RESERVED_QPN;
	uint32_t first, second;
	struct rig_qp qp;

	rig_qp(rig, &qp);
	cr_assert_eq(general(rig, PRM_CMD_CREATE_GENERAL_OBJECT, type, 0, NM_LOG_RESERVED_QPNS),
		     PRM_STATUS_OK, "%s", rig->why);
	first = PRM_GET(general_obj_out, rig->out, obj_id);
	cr_expect_eq(first & 0xff0000, qp.qpn & 0xff0000, "numbers of this NIC");
	cr_expect_geq(first, (qp.qpn & 0xff0000) + rig->nic->table[NM_OBJ_QP].limit + 0x100);
	cr_assert_eq(general(rig, PRM_CMD_CREATE_GENERAL_OBJECT, type, 0, NM_LOG_RESERVED_QPNS),
		     PRM_STATUS_OK);
	second = PRM_GET(general_obj_out, rig->out, obj_id);
	cr_expect(second >= first + (1u << NM_LOG_RESERVED_QPNS) ||
		  first >= second + (1u << NM_LOG_RESERVED_QPNS));
	cr_expect_eq(general(rig, PRM_CMD_DESTROY_GENERAL_OBJECT, type, first + 1, 0),
		     PRM_STATUS_BAD_RES, "inside of a run");
	cr_expect_eq(general(rig, PRM_CMD_DESTROY_GENERAL_OBJECT, type, qp.qpn, 0),
		     PRM_STATUS_BAD_RES, "a QP");
	cr_expect_eq(general(rig, PRM_CMD_DESTROY_GENERAL_OBJECT, type, first, 0), PRM_STATUS_OK);
	cr_expect_eq(general(rig, PRM_CMD_DESTROY_GENERAL_OBJECT, type, first, 0),
		     PRM_STATUS_BAD_RES, "twice");
}

RIG_TEST(cmd_objects, there_is_an_end_of_reserved_qpns_and_of_other_general_objects)
{
	const uint16_t type = PRM_OBJ_TYPE_RESERVED_QPN;

	cr_expect_eq(general(rig, PRM_CMD_CREATE_GENERAL_OBJECT, type, 0, 3), PRM_STATUS_BAD_PARAM);
	cr_expect_eq(general(rig, PRM_CMD_CREATE_GENERAL_OBJECT, 0x0c, 0, 0), PRM_STATUS_BAD_PARAM,
		     "a DEK");
	for (int n = 0; n < NM_RESERVED_QPN_RUNS; n++) {
		cr_assert_eq(
			general(rig, PRM_CMD_CREATE_GENERAL_OBJECT, type, 0, NM_LOG_RESERVED_QPNS),
			PRM_STATUS_OK);
		cr_assert_leq(PRM_GET(general_obj_out, rig->out, obj_id) & 0xffff,
			      0x10000 - (1 << NM_LOG_RESERVED_QPNS));
	}
	cr_expect_eq(general(rig, PRM_CMD_CREATE_GENERAL_OBJECT, type, 0, NM_LOG_RESERVED_QPNS),
		     PRM_STATUS_NO_RES_ERR);
}
