/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetch-and-add, compare-and-swap: exactly once, whatever is lost. */
#include "sim_tests/harness.h"

#include <sys/mman.h>

#include "emu/nicmodel/roce.h"

static struct hx_wr atomic_wr(const struct hx_pair *p, uint8_t opcode, uint64_t swap_add,
			      uint64_t compare)
{
	return (struct hx_wr){
		.opcode = opcode,
		.flags = HX_SIGNALED,
		.raddr = p->bmem,
		.rkey = p->bkey,
		.swap_add = swap_add,
		.compare = compare,
		.nsge = 1,
		.sge = {{p->amem, 8, p->akey}},
	};
}

static uint64_t word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint64_t do_atomic(struct hx_pair *p, uint8_t opcode, uint64_t swap_add, uint64_t compare)
{
	struct hx_wr wr = atomic_wr(p, opcode, swap_add, compare);
	uint16_t idx = hx_post(p->a, &wr);

	hx_ring(p->a);
	HX_OK(p->a->scq, idx);
	return word(p->amem);
}

HX_TEST(rc_atomic, fetch_and_add_returns_the_old_value)
{
	struct hx_pair p = hx_pair(h, NULL);

	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, 5, 0), 0);
	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, UINT64_C(0x100000000), 0), 5);
	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, UINT64_MAX, 0), UINT64_C(0x100000005));
	cr_assert_eq(word(p.bmem), UINT64_C(0x100000004));
	cr_assert_eq(word(p.bmem + 8), 0);
}

HX_TEST(rc_atomic, compare_and_swap_swaps_only_what_is_equal)
{
	struct hx_pair p = hx_pair(h, NULL);

	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_CS, 42, 1), 0);
	cr_assert_eq(word(p.bmem), 0);
	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_CS, 42, 0), 0);
	cr_assert_eq(word(p.bmem), 42);
	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_CS, 7, 42), 42);
	cr_assert_eq(word(p.bmem), 7);
}

HX_TEST(rc_atomic, many_outstanding_ones_all_count_once)
{
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < 30; i++) {
		struct hx_wr wr = atomic_wr(&p, PRM_WQE_ATOMIC_FA, 1, 0);

		wr.sge[0].addr = p.amem + 8 * i;
		hx_post(p.a, &wr);
	}
	hx_ring(p.a);
	for (uint16_t i = 0; i < 30; i++) {
		HX_OK(p.a->scq, i);
		cr_assert_eq(word(p.amem + 8 * i), i);
	}
	cr_assert_eq(word(p.bmem), 30);
}

HX_TEST(rc_atomic, a_lost_answer_is_replayed_not_repeated)
{
	struct hx_pair p = hx_pair(h, NULL);

	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, 10, 0), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		hx_drop(h, 1, ROCE_ATOMIC_ACK, i);
		cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, 10, 0), 10 * i);
		cr_assert_eq(word(p.bmem), 10 * (i + 1));
	}
	cr_assert_geq(nm_nic_counters(h->nic[1].nic)->duplicate_request, 6);
}

HX_TEST(rc_atomic, a_request_that_came_twice_counts_once)
{
	struct hx_pair p = hx_pair(h, NULL);

	h->nic[0].dup[ROCE_FETCH_ADD] = 1;
	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, 10, 0), 0);
	cr_assert(hx_quiet(h));
	cr_assert_eq(word(p.bmem), 10);
	cr_assert_eq(do_atomic(&p, PRM_WQE_ATOMIC_FA, 10, 0), 10);
}

HX_TEST(rc_atomic, a_misaligned_one_is_an_invalid_request)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = atomic_wr(&p, PRM_WQE_ATOMIC_FA, 1, 0);

	wr.raddr = p.bmem + 4;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_INVAL_REQ, 0);
	cr_assert_eq(word(p.bmem), 0);
	cr_assert(hx_diagnosed(h, "not a multiple of 8"));
}

HX_TEST(rc_atomic, the_result_needs_eight_bytes)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = atomic_wr(&p, PRM_WQE_ATOMIC_FA, 1, 0);

	wr.sge[0].len = 4;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_QP_OP, 0);
	cr_assert_eq(word(p.bmem), 0);
}

static uint64_t do_masked(struct hx_pair *p, struct hx_wr *wr)
{
	uint16_t idx;

	wr->flags = HX_SIGNALED;
	wr->raddr = p->bmem;
	wr->rkey = p->bkey;
	wr->nsge = 1;
	wr->sge[0] = (struct hx_sge){p->amem, wr->opmod == 8 ? 4 : 8, p->akey};
	idx = hx_post(p->a, wr);
	hx_ring(p->a);
	HX_OK(p->a->scq, idx);
	return word(p->amem);
}

static void set_word(uint8_t *p, uint64_t value)
{
	memcpy(p, &value, 8);
}

HX_TEST(rc_atomic, a_masked_add_stops_its_carries)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = {.opcode = PRM_WQE_ATOMIC_MASKED_FA,
			   .opmod = 9,
			   .swap_add = 0x0000000100000001,
			   .compare_mask = 0x8000000080000000};

	set_word(p.bmem, 0x00000005ffffffff);
	cr_assert_eq(do_masked(&p, &wr), 0x00000005ffffffff);
	cr_assert_eq(word(p.bmem), 0x0000000600000000);
	wr.compare_mask = 0;
	set_word(p.bmem, 0x00000005ffffffff);
	do_masked(&p, &wr);
	cr_assert_eq(word(p.bmem), 0x0000000700000000);
}

HX_TEST(rc_atomic, a_masked_swap_looks_at_some_bits_and_changes_some)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = {.opcode = PRM_WQE_ATOMIC_MASKED_CS,
			   .opmod = 9,
			   .swap_add = 0x1111111111111111,
			   .swap_mask = 0x00000000ffff0000,
			   .compare = 0xaa,
			   .compare_mask = 0xff};

	set_word(p.bmem, 0x22222222222222ab);
	cr_assert_eq(do_masked(&p, &wr), 0x22222222222222ab);
	cr_assert_eq(word(p.bmem), 0x22222222222222ab);
	set_word(p.bmem, 0x22222222222222aa);
	cr_assert_eq(do_masked(&p, &wr), 0x22222222222222aa);
	cr_assert_eq(word(p.bmem), 0x22222222111122aa);
}

HX_TEST(rc_atomic, four_bytes_leave_the_other_four_alone)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr add = {.opcode = PRM_WQE_ATOMIC_MASKED_FA, .opmod = 8, .swap_add = 2};
	struct hx_wr swap = {.opcode = PRM_WQE_ATOMIC_MASKED_CS,
			     .opmod = 8,
			     .swap_add = 7,
			     .swap_mask = 0xffffffff,
			     .compare = 1,
			     .compare_mask = 0xffffffff};

	set_word(p.bmem, 0x33333333ffffffff);
	set_word(p.amem, 0x4444444444444444);
	cr_assert_eq(do_masked(&p, &add), 0x44444444ffffffff);
	cr_assert_eq(word(p.bmem), 0x3333333300000001);
	cr_assert_eq(do_masked(&p, &swap), 0x4444444400000001);
	cr_assert_eq(word(p.bmem), 0x3333333300000007);
}

HX_TEST(rc_atomic, a_lost_answer_of_a_masked_one_is_replayed)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr add = {.opcode = PRM_WQE_ATOMIC_MASKED_FA, .opmod = 9, .swap_add = 3};

	hx_drop(h, 1, ROCE_ATOMIC_ACK, 2);
	cr_assert_eq(do_masked(&p, &add), 0);
	cr_assert_eq(word(p.bmem), 3);
	cr_assert_eq(do_masked(&p, &add), 3);
}

/* Each with its own QP, all on one word: none is lost, and no two see the same value. */
HX_TEST(rc_atomic, several_qps_count_on_one_word)
{
	enum { QPS = 4, EACH = 20 };
	struct hx_pair p[QPS];
	bool seen[QPS * EACH] = {false};

	for (uint32_t q = 0; q < QPS; q++) {
		p[q] = hx_pair(h, NULL);
		p[q].bmem = p[0].bmem;
		p[q].bkey = p[0].bkey;
	}
	for (uint32_t q = 0; q < QPS; q++) {
		for (uint32_t i = 0; i < EACH; i++) {
			struct hx_wr wr = atomic_wr(&p[q], PRM_WQE_ATOMIC_FA, 1, 0);

			wr.sge[0].addr = p[q].amem + 8 * i;
			hx_post(p[q].a, &wr);
		}
		hx_ring(p[q].a);
	}
	for (uint32_t q = 0; q < QPS; q++) {
		for (uint16_t i = 0; i < EACH; i++) {
			uint64_t old;

			HX_OK(p[q].a->scq, i);
			old = word(p[q].amem + 8 * i);
			cr_assert_lt(old, QPS * EACH);
			cr_assert_not(seen[old], "two saw %llu", (unsigned long long)old);
			seen[old] = true;
		}
	}
	cr_assert_eq(word(p[0].bmem), QPS * EACH);
}

/* Registered, and then made read-only or unmapped: hardware refuses, the program lives. */
HX_TEST(rc_atomic, memory_that_lost_its_write_permission_is_a_refusal)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = atomic_wr(&p, PRM_WQE_ATOMIC_FA, 1, 0);

	cr_assert_eq(mprotect(p.bmem, HX_PAGE, PROT_READ), 0);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 0);
	cr_assert(hx_diagnosed(h, "cannot be used for an atomic"));
	cr_assert_eq(word(p.bmem), 0);
	cr_assert_eq(mprotect(p.bmem, HX_PAGE, PROT_READ | PROT_WRITE), 0);
}

HX_TEST(rc_atomic, four_bytes_without_access_are_a_refusal)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = atomic_wr(&p, PRM_WQE_ATOMIC_MASKED_FA, 1, 0);

	wr.opmod = 8;
	wr.sge[0].len = 4;
	cr_assert_eq(mprotect(p.bmem, HX_PAGE, PROT_NONE), 0);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 0);
	cr_assert_eq(mprotect(p.bmem, HX_PAGE, PROT_READ | PROT_WRITE), 0);
}
