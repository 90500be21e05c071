/* SPDX-License-Identifier: BSD-3-Clause */
/* Doorbells: whose index they carry, which may be lost, and which mean nothing. */
#include "sim_tests/harness.h"

static struct hx_wr write_wr(const struct hx_pair *p, uint32_t i)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_RDMA_WRITE,
		.flags = HX_SIGNALED,
		.raddr = p->bmem + 64 * i,
		.rkey = p->bkey,
		.nsge = 1,
		.sge = {{p->amem + 64 * i, 64, p->akey}},
	};
}

static uint16_t post(struct hx_pair *p, uint32_t i)
{
	struct hx_wr wr = write_wr(p, i);

	return hx_post(p->a, &wr);
}

static void set_record(struct hx_qp *qp, uint32_t value)
{
	__atomic_store_n(&qp->dbr[1], htobe32(value), __ATOMIC_RELEASE);
}

static void expect_nothing(struct hx *h, struct hx_cq *cq)
{
	uint8_t cqe[64];

	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(cq, cqe), "CQE of WQE %u", cqe_idx(cqe));
}

/* libmlx5: the doorbell has the last WQE's first index, the record the producer index. */
HX_TEST(doorbell_rings, the_record_says_more_than_the_doorbell)
{
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < 3; i++)
		post(&p, i);
	set_record(p.a, p.a->sq_pi);
	hx_register(h, 0, p.a->uar, PRM_UAR_BF, 2u << 8, p.a->qpn << 8);
	for (uint16_t i = 0; i < 3; i++)
		HX_OK(p.a->scq, i);
}

/* GPUNetIO: the doorbell has the producer index, the record follows. */
HX_TEST(doorbell_rings, the_doorbell_says_more_than_the_record)
{
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < 3; i++)
		post(&p, i);
	hx_register(h, 0, p.a->uar, PRM_UAR_BF, 3u << 8, p.a->qpn << 8);
	for (uint16_t i = 0; i < 3; i++)
		HX_OK(p.a->scq, i);
	/* The second ring and the record change nothing. */
	set_record(p.a, 3);
	hx_register(h, 0, p.a->uar, PRM_UAR_BF, 3u << 8, p.a->qpn << 8);
	expect_nothing(h, p.a->scq);
}

HX_TEST(doorbell_rings, more_than_sixteen_bits_of_an_index_are_ignored)
{
	struct hx_pair p = hx_pair(h, NULL);

	post(&p, 0);
	set_record(p.a, 0x70001); /* the kernel's driver does not mask it */
	hx_register(h, 0, p.a->uar, PRM_UAR_BF, 0x35000100, p.a->qpn << 8 | 0x3f);
	HX_OK(p.a->scq, 0);
	expect_nothing(h, p.a->scq);
}

HX_TEST(doorbell_rings, every_register_of_the_page_rings)
{
	struct hx_pair p = hx_pair(h, NULL);
	uint32_t i = 0;

	for (uint32_t offset = PRM_UAR_BF; offset < 4096; offset += 0x100) {
		uint16_t idx = post(&p, i++);

		set_record(p.a, p.a->sq_pi);
		hx_register(h, 0, p.a->uar, offset, (uint32_t)idx << 8, p.a->qpn << 8);
		HX_OK(p.a->scq, idx);
	}
}

HX_TEST(doorbell_rings, a_blueflame_write_counts_as_a_ring)
{
	struct hx_pair p = hx_pair(h, NULL);
	uint64_t *bf = (uint64_t *)(void *)((uint8_t *)sim_uar(h->sim, 0, p.a->uar) + PRM_UAR_BF);

	post(&p, 0);
	set_record(p.a, 1);
	memcpy(bf + 1, p.a->sq + 8, 56);
	__atomic_store_n(bf, *(uint64_t *)(void *)p.a->sq, __ATOMIC_RELEASE);
	HX_OK(p.a->scq, 0);
}

/* A ring overwritten by another QP's before it was seen: the record brings it back. */
HX_TEST(doorbell_rings, a_ring_lost_on_a_shared_page_is_made_good_by_the_record)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_pair q = hx_pair(h, NULL);

	cr_assert_eq(p.a->uar, q.a->uar);
	post(&p, 0);
	post(&q, 0);
	hx_ring(p.a);
	q.a->bf = PRM_UAR_BF;
	hx_ring(q.a); /* same register, same moment */
	HX_OK(q.a->scq, 0);
	HX_OK(p.a->scq, 0);
}

HX_TEST(doorbell_rings, without_a_record_a_lost_ring_is_made_good_by_the_slots)
{
	struct hx_qp_attr attr = {.no_dbr = true};
	struct hx_pair p = hx_pair_of(h, &attr, NULL, 1 << 16);
	struct hx_pair q = hx_pair_of(h, &attr, NULL, 1 << 16);

	for (uint32_t i = 0; i < 3; i++)
		post(&p, i);
	post(&q, 0);
	hx_ring_pi(p.a);
	hx_ring_pi(q.a);
	HX_OK(q.a->scq, 0);
	for (uint16_t i = 0; i < 3; i++)
		HX_OK(p.a->scq, i);
	cr_assert_eq(p.a->dbr[1], 0);
}

/* Callers without a lock ring out of order: the older one comes last. */
HX_TEST(doorbell_rings, an_older_index_does_not_take_the_producer_back)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.no_dbr = true}, NULL, 1 << 16);

	for (uint32_t i = 0; i < 4; i++)
		post(&p, i);
	hx_register(h, 0, p.a->uar, PRM_UAR_SQ_NO_DBR, 4u << 8, p.a->qpn << 8);
	HX_OK(p.a->scq, 0);
	hx_register(h, 0, p.a->uar, PRM_UAR_SQ_NO_DBR, 2u << 8, p.a->qpn << 8);
	for (uint16_t i = 1; i < 4; i++)
		HX_OK(p.a->scq, i);
	expect_nothing(h, p.a->scq);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(doorbell_rings, without_a_record_slots_of_the_last_lap_are_not_taken)
{
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.no_dbr = true, .log_sq = 2}, NULL, 1 << 16);

	for (uint32_t i = 0; i < 11; i++) {
		uint16_t idx = post(&p, i % 4);

		hx_ring_pi(p.a);
		HX_OK(p.a->scq, idx);
	}
	expect_nothing(h, p.a->scq);
}

HX_TEST(doorbell_rings, a_swept_slot_that_claims_more_than_the_ring_ends_the_sweep)
{
	struct hx_qp_attr attr = {.no_dbr = true, .log_sq = 2};
	struct hx_pair p = hx_pair_of(h, &attr, NULL, 1 << 16);
	struct hx_wr nop = {.opcode = PRM_WQE_NOP, .flags = HX_SIGNALED};

	for (uint16_t i = 0; i < 3; i++)
		cr_assert_eq(hx_post(p.a, &nop), i);
	nop.ds = 16; /* four WQEBBs, one is left */
	cr_assert_eq(hx_post(p.a, &nop), 3);
	p.a->sq_pi = 1;
	hx_ring_pi(p.a);
	hx_run(h, SIM_MS);
	for (uint16_t i = 0; i < 3; i++)
		HX_OK(p.a->scq, i);
}

/* Its program may be writing it: only a ring, or a long silence, says that it is whole. */
HX_TEST(doorbell_rings, alone_without_a_record_a_slot_that_nobody_rang_for_waits)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.no_dbr = true}, NULL, 1 << 16);
	uint8_t cqe[64];

	post(&p, 0);
	hx_ring_pi(p.a);
	HX_OK(p.a->scq, 0);
	post(&p, 1);
	hx_run(h, 100 * SIM_MS);
	cr_assert_not(hx_poll(p.a->scq, cqe), "CQE of WQE %u", cqe_idx(cqe));
	hx_run(h, 150 * SIM_MS);
	HX_OK(p.a->scq, 1);
}

HX_TEST(doorbell_rings, a_number_that_names_no_qp_is_harmless)
{
	static const uint32_t numbers[] = {0, 0x123456, 0xffffff};
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < 3; i++) {
		hx_register(h, 0, p.a->uar, PRM_UAR_BF, 1u << 8, numbers[i] << 8);
		cr_assert(hx_quiet(h));
		cr_assert_eq(h->diagnoses, i + 1);
		cr_assert(hx_diagnosed(h, "names QP"));
	}
	post(&p, 0);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
}

HX_TEST(doorbell_rings, an_index_beyond_the_ring_is_refused)
{
	struct hx_pair p = hx_pair(h, NULL);

	post(&p, 0);
	hx_register(h, 0, p.a->uar, PRM_UAR_BF, 65u << 8, p.a->qpn << 8); /* a ring of 64 */
	expect_nothing(h, p.a->scq);
	cr_assert(hx_diagnosed(h, "says producer index 65"));
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
}

HX_TEST(doorbell_rings, a_full_ring_is_served_round_the_sixteen_bits)
{
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.log_sq = 4, .log_cq = 5}, NULL, 1 << 16);

	for (uint32_t i = 0; i < 65536 / 16 + 3; i++) {
		uint16_t first = p.a->sq_pi;

		for (uint32_t j = 0; j < 16; j++) {
			struct hx_wr wr = {.opcode = PRM_WQE_NOP, .flags = HX_SIGNALED};

			hx_post(p.a, &wr);
		}
		hx_ring(p.a);
		for (uint16_t j = 0; j < 16; j++)
			HX_OK(p.a->scq, (uint16_t)(first + j));
	}
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

/* Rings in host memory may trail the doorbell: the WQE is looked at again. */
HX_TEST(doorbell_rings, a_wqe_that_comes_after_its_doorbell_is_awaited)
{
	struct hx_pair p = hx_pair(h, NULL);
	uint8_t wqe[64];

	post(&p, 0);
	memcpy(wqe, p.a->sq, 64);
	memset(p.a->sq, 0xff, 64);
	hx_ring(p.a);
	hx_run(h, 20 * SIM_US);
	memcpy(p.a->sq, wqe, 64);
	HX_OK(p.a->scq, 0);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(doorbell_rings, a_wqe_of_another_index_is_executed_with_a_diagnosis)
{
	struct hx_pair p = hx_pair(h, NULL);

	post(&p, 0);
	p.a->sq[2] = 77;
	hx_fill(p.amem, 64, 1);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_is(p.bmem, 64, 1));
	cr_assert(hx_diagnosed(h, "was to have index 0"));
}

HX_TEST(doorbell_rings, wqes_posted_before_rts_are_sent_then)
{
	struct hx_qp *a = hx_qp(h, 0, NULL);
	struct hx_qp *b = hx_qp(h, 1, NULL);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE, .flags = HX_SIGNALED};

	cr_assert_eq(hx_to_init(a), 0);
	cr_assert_eq(hx_to_init(b), 0);
	cr_assert_eq(hx_to_rtr(a, b), 0);
	cr_assert_eq(hx_to_rtr(b, a), 0);
	cr_assert_eq(hx_to_rts(b), 0);
	hx_post(a, &wr);
	set_record(a, 1); /* and no doorbell at all */
	expect_nothing(h, a->scq);
	cr_assert_eq(hx_to_rts(a), 0);
	HX_OK(a->scq, 0);
}

HX_TEST(doorbell_rings, a_ring_in_reset_does_nothing)
{
	struct hx_qp *a = hx_qp(h, 0, NULL);

	hx_register(h, 0, a->uar, PRM_UAR_BF, 1u << 8, a->qpn << 8);
	expect_nothing(h, a->scq);
	cr_assert(hx_diagnosed(h, "RESET"));
}

/* What a face traps comes by the call instead of the register. */
HX_TEST(doorbell_rings, a_trapped_doorbell_is_the_same)
{
	struct hx_pair p = hx_pair(h, NULL);

	post(&p, 0);
	nm_nic_doorbell(h->nic[0].nic, p.a->uar, PRM_UAR_BF,
			(uint64_t)(1u << 8) << 32 | p.a->qpn << 8);
	HX_OK(p.a->scq, 0);
	nm_nic_doorbell(h->nic[0].nic, p.a->uar, 0x123, 5);
	nm_nic_doorbell(h->nic[0].nic, 9999, PRM_UAR_BF, 5);
	cr_assert_eq(h->diagnoses, 2);
}

/*
 * Without a record, a sweep reads slots that nobody rang for; here it comes each time just when the
 * next doorbell fills the ring.
 */
HX_TEST(doorbell_rings, a_doorbell_that_fills_the_ring_during_a_sweep_is_served)
{
	const struct hx_qp_attr attr = {.no_dbr = true, .log_sq = 1};
	struct hx_pair p = hx_pair_of(h, &attr, NULL, 1 << 16);

	struct hx_qp *other =
		hx_qp(h, 0, &attr); /* alone on its page ours would be swept much later */

	hx_connect(other, other);
	for (uint32_t i = 0; i < 600; i++) {
		uint16_t first = post(&p, 0);

		post(&p, 1);
		hx_ring_pi(p.a);
		HX_OK(p.a->scq, first);
		HX_OK(p.a->scq, (uint16_t)(first + 1));
		hx_run(h, (30 + i % 30) * SIM_US);
	}
}
