/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may touch what: rights of QPs and keys, protection domains, bounds, at both ends. */
#include "sim_tests/harness.h"

#include <sys/mman.h>

enum op { WRITE, READ, FA, SEND };
static const uint8_t opcodes[] = {PRM_WQE_RDMA_WRITE, PRM_WQE_RDMA_READ, PRM_WQE_ATOMIC_FA,
				  PRM_WQE_SEND};

static struct hx_wr wr_of(const struct hx_pair *p, enum op op, uint32_t len)
{
	return (struct hx_wr){
		.opcode = opcodes[op],
		.flags = HX_SIGNALED,
		.raddr = p->bmem,
		.rkey = p->bkey,
		.nsge = 1,
		.sge = {{p->amem, op == FA ? 8 : len, p->akey}},
	};
}

static void expect(struct hx_pair *p, const struct hx_wr *wr, uint8_t syndrome)
{
	uint16_t idx = hx_post(p->a, wr);

	hx_ring(p->a);
	if (syndrome)
		HX_ERR(p->a->scq, syndrome, idx);
	else
		HX_OK(p->a->scq, idx);
}

HX_TEST(rc_rights, a_qp_without_the_right_refuses_the_operation)
{
	for (enum op op = WRITE; op <= FA; op++) {
		struct hx_qp_attr b = {
			.no_rwe = op == WRITE, .no_rre = op == READ, .no_rae = op == FA};
		struct hx_pair p = hx_pair_of(h, NULL, &b, 1 << 16);
		struct hx_wr wr = wr_of(&p, op, 100);

		memset(p.amem, 0x11, 100);
		memset(p.bmem, 0x22, 100);
		expect(&p, &wr, PRM_SYND_REMOTE_INVAL_REQ);
		cr_assert_eq(p.amem[0], 0x11);
		cr_assert_eq(p.bmem[0], 0x22);
		cr_assert_eq(hx_query_state(p.a), PRM_QP_ERR);
		cr_assert(hx_quiet(h));
		cr_assert_eq(hx_query_state(p.b), PRM_QP_ERR);
		cr_assert_eq(hx_event_count(h, PRM_EVENT_WQ_INVAL_REQ_ERROR, p.b->qpn), 1);
	}
}

HX_TEST(rc_rights, a_remote_key_without_the_right_is_an_access_error)
{
	static const uint8_t right[] = {HX_RW, HX_RR, HX_A};

	for (enum op op = WRITE; op <= FA; op++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_wr wr = wr_of(&p, op, 100);

		memset(p.amem, 0x11, 100);
		memset(p.bmem, 0x22, 100);
		wr.rkey = hx_mkey(h, 1, h->nic[1].pd, p.bmem, p.len, HX_ALL_RIGHTS & ~right[op]);
		expect(&p, &wr, PRM_SYND_REMOTE_ACCESS);
		cr_assert_eq(p.amem[0], 0x11);
		cr_assert_eq(p.bmem[0], 0x22);
		cr_assert(hx_quiet(h));
		cr_assert_eq(hx_event_count(h, PRM_EVENT_WQ_ACCESS_ERROR, p.b->qpn), 1);
		cr_assert(hx_diagnosed(h, "does not allow"));
	}
}

HX_TEST(rc_rights, a_local_key_without_the_right_is_a_protection_error)
{
	for (enum op op = WRITE; op <= FA; op++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_wr wr = wr_of(&p, op, 100);
		uint8_t need = op == WRITE ? HX_LR : HX_LW;

		memset(p.amem, 0x11, 100);
		memset(p.bmem, 0x22, 100);
		wr.sge[0].lkey = hx_mkey(h, 0, h->nic[0].pd, p.amem, p.len, HX_ALL_RIGHTS & ~need);
		expect(&p, &wr, PRM_SYND_LOCAL_PROT);
		cr_assert_eq(p.amem[0], 0x11);
		cr_assert_eq(p.bmem[0], 0x22);
		cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS, "the peer heard of it");
	}
}

HX_TEST(rc_rights, a_key_of_another_pd_is_refused_at_both_ends)
{
	for (enum op op = WRITE; op <= FA; op++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_wr wr = wr_of(&p, op, 100);

		wr.sge[0].lkey =
			hx_mkey(h, 0, hx_new(h, 0, PRM_CMD_ALLOC_PD), p.amem, p.len, HX_ALL_RIGHTS);
		expect(&p, &wr, PRM_SYND_LOCAL_PROT);
		wr = wr_of(&q, op, 100);
		wr.rkey =
			hx_mkey(h, 1, hx_new(h, 1, PRM_CMD_ALLOC_PD), q.bmem, q.len, HX_ALL_RIGHTS);
		expect(&q, &wr, PRM_SYND_REMOTE_ACCESS);
		cr_assert(hx_diagnosed(h, "belongs to PD"));
	}
}

HX_TEST(rc_rights, the_low_byte_of_a_key_counts)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = wr_of(&p, WRITE, 100);

	wr.rkey ^= 1;
	expect(&p, &wr, PRM_SYND_REMOTE_ACCESS);
	wr = wr_of(&q, WRITE, 100);
	wr.sge[0].lkey ^= 0x80;
	expect(&q, &wr, PRM_SYND_LOCAL_PROT);
}

/* One byte before the first, one behind the last; and exactly the whole is fine. */
HX_TEST(rc_rights, remote_bounds_are_exact)
{
	for (enum op op = WRITE; op <= READ; op++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_wr wr = wr_of(&p, op, 5000);

		wr.rkey = hx_mkey(h, 1, h->nic[1].pd, p.bmem + 100, 5000, HX_ALL_RIGHTS);
		wr.raddr = p.bmem + 100;
		expect(&p, &wr, 0);
		wr.raddr = p.bmem + 99;
		memset(p.bmem, 0, p.len);
		memset(p.amem, 0x33, p.len);
		expect(&p, &wr, PRM_SYND_REMOTE_ACCESS);
		cr_assert_eq(p.bmem[100], 0, "the first packet of a refused message was written");
		wr = wr_of(&q, op, 5000);
		wr.rkey = hx_mkey(h, 1, h->nic[1].pd, q.bmem + 100, 5000, HX_ALL_RIGHTS);
		wr.raddr = q.bmem + 101;
		expect(&q, &wr, PRM_SYND_REMOTE_ACCESS);
	}
}

HX_TEST(rc_rights, local_bounds_are_exact)
{
	for (enum op op = WRITE; op <= SEND; op++) {
		struct hx_pair p, q;
		struct hx_wr wr;

		if (op == FA)
			continue;
		p = hx_pair_of(h, NULL, NULL, 1 << 16);
		q = hx_pair_of(h, NULL, NULL, 1 << 16);
		wr = wr_of(&p, op, 5000);
		wr.sge[0].lkey = hx_mkey(h, 0, h->nic[0].pd, p.amem + 100, 5000, HX_ALL_RIGHTS);
		wr.sge[0].addr = p.amem + 100;
		if (op == SEND)
			hx_recv(p.b, &(struct hx_sge){p.bmem, 5000, p.bkey}, 1);
		expect(&p, &wr, 0);
		wr.sge[0].addr = p.amem + 99;
		expect(&p, &wr, PRM_SYND_LOCAL_PROT);
		wr = wr_of(&q, op, 5000);
		wr.sge[0].lkey = hx_mkey(h, 0, h->nic[0].pd, q.amem + 100, 5000, HX_ALL_RIGHTS);
		wr.sge[0].addr = q.amem + 101;
		expect(&q, &wr, PRM_SYND_LOCAL_PROT);
	}
}

HX_TEST(rc_rights, a_bad_second_segment_sends_nothing_of_the_first)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = wr_of(&p, WRITE, 5000);

	memset(p.amem, 0x44, p.len);
	wr.nsge = 2;
	wr.sge[1] = (struct hx_sge){p.amem, 100, 0xffffff00};
	expect(&p, &wr, PRM_SYND_LOCAL_PROT);
	cr_assert(hx_quiet(h));
	cr_assert_eq(p.bmem[0], 0);
}

HX_TEST(rc_rights, a_destroyed_key_is_refused)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = wr_of(&p, WRITE, 5000);

	expect(&p, &wr, 0);
	cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_MKEY, p.bkey >> 8), 0);
	expect(&p, &wr, PRM_SYND_REMOTE_ACCESS);
}

static bool first_byte_arrived(void *arg)
{
	return *(const uint8_t *)arg != 0;
}

/* After the command has returned the NIC does not touch the memory, even in the middle of a
 * message. */
HX_TEST(rc_rights, a_key_destroyed_under_a_message_ends_it)
{
	for (int side = 0; side < 2; side++) {
		struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.mtu = 1});
		struct hx_wr wr = wr_of(&p, WRITE, 4 << 20);
		uint8_t cqe[64];

		hx_fill(p.amem, p.len, side);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		cr_assert(sim_run_until(h->sim, first_byte_arrived, p.bmem, SIM_S));
		cr_assert_not(hx_poll(p.a->scq, cqe));
		cr_assert_eq(hx_destroy(h, (uint32_t)side, PRM_CMD_DESTROY_MKEY,
					(side ? p.bkey : p.akey) >> 8),
			     0);
		if (side == 1)
			memset(p.bmem, 0, p.len);
		HX_ERR(p.a->scq, side ? PRM_SYND_REMOTE_ACCESS : PRM_SYND_LOCAL_PROT, 0);
		cr_assert(hx_quiet(h));
		for (uint64_t i = 0; side == 1 && i < p.len; i++)
			cr_assert_eq(p.bmem[i], 0, "byte %llu was written after the key was gone",
				     (unsigned long long)i);
	}
}

HX_TEST(rc_rights, a_zero_length_message_needs_no_key)
{
	for (enum op op = WRITE; op <= READ; op++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct hx_wr wr = wr_of(&p, op, 0);

		wr.nsge = 0;
		wr.rkey = 0x12345678;
		wr.raddr = NULL;
		expect(&p, &wr, 0);
	}
}

HX_TEST(rc_rights, other_qps_go_on)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct hx_wr wr = wr_of(&p, WRITE, 100);

	wr.rkey = 0x100;
	expect(&p, &wr, PRM_SYND_REMOTE_ACCESS);
	wr = wr_of(&q, WRITE, 100);
	expect(&q, &wr, 0);
}

/* A program may unmap what a key still names; hardware has pinned the pages, we must at least
 * survive. */
HX_TEST(rc_rights, memory_that_is_gone_ends_the_message_not_the_process)
{
	for (enum op op = WRITE; op <= FA; op++) {
		for (int side = 0; side < 2; side++) {
			struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
			struct hx_wr wr = wr_of(&p, op, 5000);
			uint8_t cqe[64];

			cr_assert_eq(mprotect(side ? p.bmem : p.amem, p.len, PROT_NONE), 0);
			hx_post(p.a, &wr);
			hx_ring(p.a);
			cr_assert(hx_wait(p.a->scq, cqe, SIM_S), "operation %d, side %d", op, side);
			cr_assert_eq(cqe_syndrome(cqe),
				     side ? PRM_SYND_REMOTE_ACCESS : PRM_SYND_LOCAL_PROT);
			cr_assert_eq(
				mprotect(side ? p.bmem : p.amem, p.len, PROT_READ | PROT_WRITE), 0);
		}
	}
}
