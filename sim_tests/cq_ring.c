/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: layout, ownership, order, overrun, collapsed queues, creation. */
#include <errno.h>
#include <sys/mman.h>

#include "sim_tests/cmd_rig.h"

static const struct rig_cq small = {.log_size = 2, .ring_page = 0, .dbr_page = 4};
static const struct nm_cqe good = {.opcode = PRM_CQE_REQ,
				   .qpn = 0x2a0101,
				   .user_index = 0x1234,
				   .wqe_opcode = PRM_WQE_RDMA_READ,
				   .wqe_counter = 0xbeef,
				   .byte_cnt = 4096};

static void push(struct rig *rig, uint32_t cqn, uint16_t counter)
{
	struct nm_cqe cqe = good;

	cqe.wqe_counter = counter;
	cr_assert_eq(nm_cq_push(rig_cq_of(rig, cqn), &cqe), 0);
}

static uint8_t *slot(struct rig *rig, uint32_t index)
{
	return rig_page(rig, 0) + 64 * (size_t)index;
}

static uint16_t counter_at(const uint8_t *cqe)
{
	return (uint16_t)(prm_load32(cqe + 60) >> 16);
}

static void consume(struct rig *rig, uint32_t ci)
{
	prm_store32(rig_page(rig, 4), ci);
}

RIG_TEST(cq_ring, a_good_cqe_has_its_fields_where_the_prm_has_them)
{
	uint32_t cqn = rig_cq(rig, &small);
	const uint8_t *cqe = slot(rig, 0);

	rig->now_ns = 0x123456789abc;
	cr_assert_eq(nm_cq_push(rig_cq_of(rig, cqn), &good), 0);
	rig_settle(rig);
	cr_expect_eq(prm_load32(cqe + 32), 0x1234, "user index");
	cr_expect_eq(prm_load32(cqe + 44), 4096, "byte count");
	cr_expect_eq(prm_load64(cqe + 48), 0x123456789abc, "timestamp");
	cr_expect_eq(prm_load32(cqe + 56), 0x102a0101, "WQE opcode and QPN");
	cr_expect_eq(counter_at(cqe), 0xbeef);
	cr_expect_eq(cqe[63], 0x00, "opcode REQ, no SE, owner 0 in the first lap");
}

RIG_TEST(cq_ring, a_receive_cqe_carries_immediate_and_sender)
{
	uint32_t cqn = rig_cq(rig, &small);
	struct nm_cqe cqe = {.opcode = PRM_CQE_RESP_SEND_IMM,
			     .solicited = true,
			     .qpn = 0x2a0101,
			     .user_index = 7,
			     .wqe_opcode = 0xff,
			     .imm = 0x01020304,
			     .src_qpn = 0x2a0102,
			     .byte_cnt = 5};

	nm_cq_push(rig_cq_of(rig, cqn), &cqe);
	rig_settle(rig);
	cr_expect_eq(prm_load32(slot(rig, 0) + 36), 0x01020304);
	cr_expect_eq(prm_load32(slot(rig, 0) + 24) & 0xffffff, 0x2a0102);
	cr_expect_eq(prm_load32(slot(rig, 0) + 56), 0x002a0101,
		     "no WQE opcode on the receive side");
	cr_expect_eq(slot(rig, 0)[63], 0x32, "opcode 3, SE");
}

RIG_TEST(cq_ring, an_error_cqe_has_syndromes_se_and_no_timestamp)
{
	uint32_t cqn = rig_cq(rig, &small);
	struct nm_cqe cqe = good;

	cqe.opcode = PRM_CQE_REQ_ERR;
	cqe.syndrome = PRM_SYND_REMOTE_ACCESS;
	cqe.vendor_err = 0x88;
	nm_cq_push(rig_cq_of(rig, cqn), &cqe);
	rig_settle(rig);
	cr_expect_eq(slot(rig, 0)[54], 0x88);
	cr_expect_eq(slot(rig, 0)[55], PRM_SYND_REMOTE_ACCESS);
	cr_expect_eq(prm_load64(slot(rig, 0) + 48) >> 16, 0);
	cr_expect_eq(prm_load32(slot(rig, 0) + 32), 0x1234, "user index in error CQEs too");
	cr_expect_eq(prm_load32(slot(rig, 0) + 56), 0x102a0101);
	cr_expect_eq(slot(rig, 0)[63], 0xd2);
	cr_expect_eq(rig->nic->counters.req_cqe_error, 1);
	cr_expect_eq(rig->nic->counters.req_cqe_flush_error, 0);
}

RIG_TEST(cq_ring, the_owner_bit_flips_with_each_lap)
{
	uint32_t cqn = rig_cq(rig, &small);

	for (uint16_t n = 0; n < 13; n++) {
		push(rig, cqn, n);
		rig_settle(rig);
		cr_expect_eq(slot(rig, n % 4)[63] & 1, n / 4 % 2, "CQE %u", n);
		cr_expect_eq(counter_at(slot(rig, n % 4)), n);
		consume(rig, n + 1u);
	}
	cr_expect_eq(rig_cq_of(rig, cqn)->producer, 13);
}

RIG_TEST(cq_ring, cqes_appear_in_the_order_of_their_indices)
{
	struct rig_cq big = {.log_size = 8, .ring_page = 0, .dbr_page = 4};
	uint32_t cqn = rig_cq(rig, &big);
	uint32_t seen = 0;

	memset(rig_page(rig, 0), 0xf0, 4 * RIG_PAGE);
	for (uint16_t n = 0; n < 200; n++)
		push(rig, cqn, n);
	for (int n = 0; n < 10000 && seen < 200; n++) {
		uint32_t valid = 0;

		nm_nic_progress(rig->nic, NM_SLICE_NS);
		while (valid < 200 && slot(rig, valid)[63] == 0x00)
			valid++;
		for (uint32_t later = valid; later < 200; later++)
			cr_assert_eq(slot(rig, later)[63], 0xf0, "%u before %u", later, valid);
		seen = valid;
	}
	cr_expect_eq(seen, 200);
	for (uint16_t n = 0; n < 200; n++)
		cr_expect_eq(counter_at(slot(rig, n)), n);
}

RIG_TEST(cq_ring, a_128_byte_cqe_is_its_second_half)
{
	struct rig_cq wide = {.log_size = 2, .cqe_sz = 1, .ring_page = 0, .dbr_page = 4};
	uint32_t cqn = rig_cq(rig, &wide);

	memset(rig_page(rig, 0), 0xf0, 512);
	push(rig, cqn, 1);
	push(rig, cqn, 2);
	rig_settle(rig);
	cr_expect_eq(counter_at(rig_page(rig, 0) + 64), 1);
	cr_expect_eq(counter_at(rig_page(rig, 0) + 128 + 64), 2);
	cr_expect_eq(rig_page(rig, 0)[63], 0xf0, "the first half is left alone");
}

RIG_TEST(cq_ring, a_collapsed_cq_writes_one_slot_and_counts_on)
{
	struct rig_cq one = {
		.log_size = 2, .collapsed = true, .oi = true, .ring_page = 0, .dbr_page = 4};
	uint32_t cqn = rig_cq(rig, &one);

	for (uint16_t n = 0; n < 9; n++)
		push(rig, cqn, n);
	rig_settle(rig);
	cr_expect_eq(counter_at(slot(rig, 0)), 8);
	cr_expect_eq(prm_load32(slot(rig, 1) + 60), 0);
	cr_expect_eq(rig_cq_of(rig, cqn)->producer, 9);
}

RIG_TEST(cq_ring, a_full_cq_dies_with_an_event_and_takes_no_more)
{
	uint32_t cqn = rig_cq(rig, &small);
	struct nm_cq *cq = rig_cq_of(rig, cqn);

	for (uint16_t n = 0; n < 4; n++)
		push(rig, cqn, n);
	nm_cq_push(cq, &good);
	rig_settle(rig);
	cr_expect(cq->dead);
	cr_expect_eq(rig->events, 1);
	cr_expect_eq(rig->event[0].eqe[1], PRM_EVENT_CQ_ERROR);
	cr_expect_eq(prm_load32(rig->event[0].eqe + 0x20), cqn);
	cr_expect_eq(rig->event[0].eqe[0x2b], 1, "syndrome: overrun");
	cr_expect_eq(counter_at(slot(rig, 0)), 0, "what was there is not overwritten");
	cr_expect_eq(nm_cq_push(cq, &good), -ENOSPC);
	cr_expect_gt(rig->diagnoses, 0);
	cr_assert_eq(rig_number(rig, PRM_CMD_QUERY_CQ, cqn), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(cqc, PRM_CPTR(query_cq_out, rig->out, cq_context), status), 9);
}

RIG_TEST(cq_ring, a_consumer_index_seen_late_is_no_overrun)
{
	uint32_t cqn = rig_cq(rig, &small);

	for (uint16_t n = 0; n < 100; n++) {
		push(rig, cqn, n);
		rig_settle(rig);
		consume(rig, n); /* always one behind */
	}
	cr_expect_not(rig_cq_of(rig, cqn)->dead);
}

RIG_TEST(cq_ring, overrun_ignore_overwrites)
{
	struct rig_cq oi = {.log_size = 2, .oi = true, .ring_page = 0, .dbr_page = 4};
	uint32_t cqn = rig_cq(rig, &oi);

	for (uint16_t n = 0; n < 9; n++)
		push(rig, cqn, n);
	rig_settle(rig);
	cr_expect_not(rig_cq_of(rig, cqn)->dead);
	cr_expect_eq(counter_at(slot(rig, 0)), 8);
}

RIG_TEST(cq_ring, overrun_counts_modulo_24_bits)
{
	uint32_t cqn = rig_cq(rig, &small);
	struct nm_cq *cq = rig_cq_of(rig, cqn);

	cq->producer = cq->visible = cq->consumer = 0xfffffe;
	consume(rig, 0xfffffe);
	for (uint16_t n = 0; n < 4; n++)
		push(rig, cqn, n);
	rig_settle(rig);
	cr_expect_not(cq->dead);
	cr_expect_eq(cq->producer, 2);
	nm_cq_push(cq, &good);
	rig_settle(rig);
	cr_expect(cq->dead);
}

static enum nm_verdict drop(void *ctx, struct nm_event *ev)
{
	(void)ctx;
	(void)ev;
	return NM_DROP;
}

RIG_TEST(cq_ring, a_dropped_cqe_has_never_been)
{
	struct nm_fault fault = {.mask = 1u << NM_EV_CQE, .at = drop};
	uint32_t cqn = rig_cq(rig, &small);

	nm_nic_set_fault(rig->nic, &fault);
	push(rig, cqn, 1);
	nm_nic_set_fault(rig->nic, NULL);
	push(rig, cqn, 2);
	rig_settle(rig);
	cr_expect_eq(counter_at(slot(rig, 0)), 2);
	cr_expect_eq(rig_cq_of(rig, cqn)->producer, 1);
}

RIG_TEST(cq_ring, queued_cqes_of_a_forgotten_qp_never_appear_and_the_others_close_up)
{
	struct rig_cq big = {.log_size = 6, .ring_page = 0, .dbr_page = 4};
	uint32_t cqn = rig_cq(rig, &big);
	struct nm_cq *cq = rig_cq_of(rig, cqn);
	struct nm_cqe other = good;
	uint32_t mine = 0;

	other.qpn = 0x2a0200;
	memset(rig_page(rig, 0), 0xf0, RIG_PAGE);
	for (uint16_t n = 0; n < 30; n++) {
		other.wqe_counter = n;
		nm_cq_push(cq, &other);
		push(rig, cqn, n);
		if (n == 10)
			nm_nic_progress(rig->nic, NM_SLICE_NS);
	}
	nm_cq_forget_qp(cq, other.qpn);
	for (uint32_t n = 0; n < cq->visible; n++)
		mine += (prm_load32(slot(rig, n) + 56) & 0xffffff) != other.qpn;
	rig_settle(rig);
	for (uint32_t n = cq->visible; n < 64; n++)
		cr_expect_eq(slot(rig, n)[63], 0xf0);
	for (uint32_t n = 0, next = 0; n < cq->visible; n++) {
		if ((prm_load32(slot(rig, n) + 56) & 0xffffff) == other.qpn)
			continue;
		cr_expect_eq(counter_at(slot(rig, n)), next);
		cr_expect_eq(slot(rig, n)[63] & 1, 0);
		next++;
	}
	cr_expect_eq(cq->visible, cq->producer);
	if (!rig->copied)
		cr_expect_eq(cq->visible, 60, "nothing waits in a mapped ring");
	else
		cr_expect_lt(cq->visible, 60);
}

/* A page that is there when the queue is made and gone when it is used. */
static uint8_t *gone_page(void)
{
	uint8_t *page =
		mmap(NULL, RIG_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(page, MAP_FAILED);
	return page;
}

RIG_TEST(cq_ring, a_ring_that_was_unmapped_kills_the_cq_and_not_the_nic)
{
	uint32_t eqn = rig_eq(rig, 1u << PRM_EVENT_CQ_ERROR),
		 uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	uint8_t *ring = gone_page();
	struct rig_cq cq = small;
	uint32_t cqn;

	rig_cq_mailbox(rig, &cq, eqn, uar);
	prm_store64(PRM_PTR(create_cq_in, rig->in, pas), (uintptr_t)ring);
	cr_assert_eq(rig_command(rig, 0x110 + 8, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cqn = rig_out_number(rig);
	push(rig, cqn, 1);
	rig_settle(rig);
	munmap(ring, RIG_PAGE);
	nm_cq_push(rig_cq_of(rig, cqn), &good);
	rig_settle(rig);
	cr_expect(rig_cq_of(rig, cqn)->dead);
	cr_expect_eq(rig->events, 1);
	cr_expect_eq(rig->event[0].eqe[0x2b], 2, "syndrome: access");
	rig_alloc(rig, PRM_CMD_ALLOC_PD);
}

RIG_TEST(cq_ring, a_record_that_was_unmapped_kills_a_cq_that_needs_it)
{
	uint32_t eqn = rig_eq(rig, 1u << PRM_EVENT_CQ_ERROR),
		 uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	uint8_t *record = gone_page();
	struct rig_cq cq = small;
	uint32_t cqn;

	rig_cq_mailbox(rig, &cq, eqn, uar);
	PRM_SET64(cqc, PRM_PTR(create_cq_in, rig->in, cq_context), dbr_addr, (uintptr_t)record);
	cr_assert_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cqn = rig_out_number(rig);
	munmap(record, RIG_PAGE);
	nm_cq_check_arm(rig_cq_of(rig, cqn));
	rig_settle(rig);
	for (uint16_t n = 0; n < 5; n++)
		nm_cq_push(rig_cq_of(rig, cqn), &good);
	rig_settle(rig);
	cr_expect(rig_cq_of(rig, cqn)->dead);
	rig_alloc(rig, PRM_CMD_ALLOC_PD);
}

/* ---- commands ---- */

RIG_TEST(cq_ring, a_cq_over_umems_uses_offsets)
{
	uint32_t eqn = rig_eq(rig, 0), uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	uint32_t ring = rig_umem(rig, 0, 1, 0), dbr = rig_umem(rig, 4, 1, 0);
	uint8_t *cqc = PRM_PTR(create_cq_in, rig->in, cq_context);
	struct rig_cq cq = small;
	uint32_t cqn;

	rig_cq_mailbox(rig, &cq, eqn, uar);
	PRM_SET(create_cq_in, rig->in, cq_umem_valid, 1);
	PRM_SET(create_cq_in, rig->in, cq_umem_id, ring);
	PRM_SET64(create_cq_in, rig->in, cq_umem_offset, 0x100);
	PRM_SET(cqc, cqc, dbr_umem_valid, 1);
	PRM_SET(cqc, cqc, dbr_umem_id, dbr);
	PRM_SET64(cqc, cqc, dbr_addr, 0x40);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cqn = rig_out_number(rig);
	cr_expect_eq(rig_cq_of(rig, cqn)->dbr.addr, (uintptr_t)rig_page(rig, 4) + 0x40);
	push(rig, cqn, 3);
	rig_settle(rig);
	cr_expect_eq(counter_at(rig_page(rig, 0) + 0x100), 3);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, ring), PRM_STATUS_RES_BUSY);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_CQ, cqn), PRM_STATUS_OK);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, ring), PRM_STATUS_OK);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, dbr), PRM_STATUS_OK);
}

RIG_TEST(cq_ring, what_does_not_fit_is_refused_and_leaves_nothing)
{
	uint32_t eqn = rig_eq(rig, 0), uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR),
		 umem = rig_umem(rig, 0, 1, 0);
	uint8_t *cqc = PRM_PTR(create_cq_in, rig->in, cq_context);
	struct rig_cq cq = small;

	rig_cq_mailbox(rig, &cq, eqn + 1, uar);
	cr_expect_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_BAD_RES, "EQ");
	rig_cq_mailbox(rig, &cq, eqn, uar + 1);
	cr_expect_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_BAD_RES, "UAR");
	rig_cq_mailbox(rig, &cq, eqn, uar);
	PRM_SET(cqc, cqc, log_cq_size, 23);
	cr_expect_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_BAD_PARAM, "size");
	PRM_SET(cqc, cqc, log_cq_size, 10);
	cr_expect_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_BAD_INP_LEN, "pages");
	rig_cq_mailbox(rig, &cq, eqn, uar);
	PRM_SET64(cqc, cqc, dbr_addr, (uintptr_t)rig_page(rig, 4) + 4);
	cr_expect_eq(rig_command(rig, 0x130, 0x10), PRM_STATUS_BAD_PARAM, "record alignment");
	rig_cq_mailbox(rig, &cq, eqn, uar);
	PRM_SET(create_cq_in, rig->in, cq_umem_valid, 1);
	PRM_SET(create_cq_in, rig->in, cq_umem_id, umem);
	PRM_SET64(create_cq_in, rig->in, cq_umem_offset, RIG_PAGE - 0xc0);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_PARAM, "umem range");
	PRM_SET64(create_cq_in, rig->in, cq_umem_offset, UINT64_MAX - 0x3f);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_PARAM, "offset wraps");
	PRM_SET64(create_cq_in, rig->in, cq_umem_offset, 0x20);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_PARAM, "entry alignment");
	PRM_SET64(create_cq_in, rig->in, cq_umem_offset, 0);
	PRM_SET(cqc, cqc, dbr_umem_valid, 1);
	PRM_SET(cqc, cqc, dbr_umem_id, umem);
	PRM_SET64(cqc, cqc, dbr_addr, RIG_PAGE - 4);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_PARAM, "record range");
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, umem), PRM_STATUS_OK,
		     "no use of it is left: %s", rig->why);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_EQ, eqn), PRM_STATUS_OK);
	cr_expect_eq(rig->nic->table[NM_OBJ_CQ].count, 0);
}

RIG_TEST(cq_ring, moderation_reads_back)
{
	uint32_t cqn = rig_cq(rig, &small);
	uint8_t *in = PRM_PTR(modify_cq_in, rig->in, cq_context);
	const uint8_t *out = PRM_CPTR(query_cq_out, rig->out, cq_context);

	rig_begin(rig, PRM_CMD_MODIFY_CQ, 0);
	PRM_SET(modify_cq_in, rig->in, cqn, cqn);
	PRM_SET(modify_cq_in, rig->in, field_select, 3);
	PRM_SET(cqc, in, cq_period, 16);
	PRM_SET(cqc, in, cq_max_count, 8);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cr_assert_eq(rig_number(rig, PRM_CMD_QUERY_CQ, cqn), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(cqc, out, cq_period), 16);
	cr_expect_eq(PRM_GET(cqc, out, cq_max_count), 8);
	cr_expect_eq(PRM_GET(cqc, out, log_cq_size), 2);
}

RIG_TEST(cq_ring, query_tells_the_counters)
{
	uint32_t cqn = rig_cq(rig, &small);
	const uint8_t *out = PRM_CPTR(query_cq_out, rig->out, cq_context);

	push(rig, cqn, 0);
	push(rig, cqn, 1);
	rig_settle(rig);
	cr_assert_eq(rig_number(rig, PRM_CMD_QUERY_CQ, cqn), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(cqc, out, producer_counter), 2);
	cr_expect_eq(PRM_GET(cqc, out, status), 0);
}

RIG_TEST(cq_ring, destroying_a_cq_with_cqes_under_way_touches_memory_no_more)
{
	uint32_t cqn = rig_cq(rig, &small);

	push(rig, cqn, 1);
	nm_nic_progress(rig->nic, NM_SLICE_NS);
	push(rig, cqn, 2);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_CQ, cqn), PRM_STATUS_OK);
	memset(rig_page(rig, 0), 0x77, RIG_PAGE);
	rig_settle(rig);
	for (int n = 0; n < RIG_PAGE; n++)
		cr_assert_eq(rig_page(rig, 0)[n], 0x77);
}
