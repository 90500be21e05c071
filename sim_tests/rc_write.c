/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA WRITE: every size, MTU and way to describe the data; what arrives is what was sent. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

/* A write of the pair's buffer: `len` bytes from a at `off` to b at `off`. */
static struct hx_wr write_wr(const struct hx_pair *p, uint64_t off, uint32_t len)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_RDMA_WRITE,
		.flags = HX_SIGNALED,
		.raddr = p->bmem + off,
		.rkey = p->bkey,
		.nsge = len > 0,
		.sge = {{p->amem + off, len, p->akey}},
	};
}

static void write_and_compare(struct hx *h, struct hx_pair *p, uint64_t off, uint32_t len,
			      uint32_t seed)
{
	struct hx_wr wr = write_wr(p, off, len);
	uint8_t cqe[64];

	(void)h;
	hx_fill(p->amem, off + len + 1, seed);
	memset(p->bmem, 0xee, off + len + 1);
	hx_post(p->a, &wr);
	hx_ring(p->a);
	cr_assert(hx_wait(p->a->scq, cqe, SIM_S), "size %u", len);
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_REQ);
	cr_assert_eq(cqe_wqe_opcode(cqe), PRM_WQE_RDMA_WRITE);
	cr_assert_eq(cqe_qpn(cqe), p->a->qpn);
	cr_assert_eq(cqe_idx(cqe), p->a->last_idx);
	cr_assert_eq(memcmp(p->amem + off, p->bmem + off, len), 0, "size %u", len);
	cr_assert_eq(p->bmem[off - 1], 0xee);
	cr_assert_eq(p->bmem[off + len], 0xee);
}

HX_TEST(rc_write, every_size_arrives_and_nothing_beside_it)
{
	static const uint32_t sizes[] = {0,    1,    2,	    3,	   1023,  1024,
					 1025, 4096, 65535, 65536, 65537, (1 << 20) + 3};
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		write_and_compare(h, &p, 61, sizes[i], i);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_write, every_mtu_cuts_at_its_size)
{
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.mtu = mtu},
					      &(struct hx_qp_attr){.mtu = mtu}, 1 << 20);
		uint32_t bytes = 128u << mtu;
		uint32_t before = h->nic[0].packets[ROCE_WRITE_ONLY];

		write_and_compare(h, &p, 1, bytes - 1, mtu);
		write_and_compare(h, &p, 1, bytes, mtu);
		cr_expect_eq(h->nic[0].packets[ROCE_WRITE_ONLY] - before, 2);
		before = h->nic[0].packets[ROCE_WRITE_FIRST];
		write_and_compare(h, &p, 1, bytes + 1, mtu);
		write_and_compare(h, &p, 1, bytes * 3 + 5, mtu);
		cr_expect_eq(h->nic[0].packets[ROCE_WRITE_FIRST] - before, 2);
	}
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_write, psn_wraps_inside_a_message)
{
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.sq_psn = 0xfffffd, .rq_psn = 77},
			   &(struct hx_qp_attr){.sq_psn = 77, .rq_psn = 0xfffffd}, 1 << 20);

	write_and_compare(h, &p, 5, 6 * 1024 + 1, 1);
	write_and_compare(h, &p, 5, 100, 2);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_write, many_pieces_make_one_message)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 58};
	uint64_t at = 0;

	hx_fill(p.amem, p.len, 9);
	for (uint32_t i = 0; i < wr.nsge; i++) {
		wr.sge[i] = (struct hx_sge){p.amem + (57 - i) * 4096, 1 + i * 37 % 200, p.akey};
	}
	for (int round = 0; round < 12;
	     round++) { /* 15 WQEBBs each: it wraps inside several times */
		uint16_t idx = hx_post(p.a, &wr);

		memset(p.bmem, 0, 1 << 16);
		hx_ring(p.a);
		HX_OK(p.a->scq, idx);
		at = 0;
		for (uint32_t i = 0; i < wr.nsge; i++) {
			cr_assert_eq(memcmp(p.bmem + at, wr.sge[i].addr, wr.sge[i].len), 0,
				     "piece %u", i);
			at += wr.sge[i].len;
		}
		cr_assert_eq(p.bmem[at], 0);
	}
}

HX_TEST(rc_write, inline_bytes_may_wrap_in_the_ring)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.log_sq = 3}, NULL, 1 << 16);
	uint8_t data[400];

	for (uint32_t len = 0; len < 400; len += 13) {
		struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
				   .flags = HX_SIGNALED,
				   .raddr = p.bmem + 3,
				   .rkey = p.bkey,
				   .inline_data = data,
				   .inline_len = len};
		uint16_t idx;

		hx_fill(data, sizeof(data), len);
		memset(p.bmem, 0, 1024);
		idx = hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, idx);
		cr_assert(hx_is(p.bmem + 3, len, len), "length %u", len);
		cr_assert_eq(p.bmem[3 + len], 0);
	}
}

HX_TEST(rc_write, only_signaled_wqes_complete_and_in_order)
{
	struct hx_pair p = hx_pair(h, NULL);
	uint16_t want[200];
	uint32_t signaled = 0;
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 500; i++) {
		struct hx_wr wr = write_wr(&p, 64 * (i % 100) + 64, 1 + i % 64);
		uint16_t idx;

		wr.flags = i % 5 == 4 ? HX_SIGNALED : 0;
		idx = hx_post(p.a, &wr);
		if (i % 5 == 4)
			want[signaled++] = idx;
		if (i % 10 == 9) {
			hx_ring(p.a);
			HX_OK(p.a->scq, want[i / 5 - 1]);
			HX_OK(p.a->scq, want[i / 5]);
		}
	}
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(p.a->scq, cqe));
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_write, immediate_takes_a_receive_wqe_and_scatters_nothing_there)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_sge sge = {p.bmem + (1 << 20), 4096, p.bkey};
	struct hx_wr wr = write_wr(&p, 64, 3000);
	uint8_t cqe[64];
	uint16_t recv;

	hx_fill(p.amem, 1 << 16, 4);
	wr.opcode = PRM_WQE_RDMA_WRITE_IMM;
	wr.imm = 0xcafef00d;
	recv = hx_recv(p.b, &sge, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_WR_IMM);
	cr_assert_eq(cqe_imm(cqe), 0xcafef00d);
	cr_assert_eq(cqe_bytes(cqe), 3000);
	cr_assert_eq(cqe_idx(cqe), recv);
	cr_assert_eq(memcmp(p.bmem + 64, p.amem + 64, 3000), 0);
	cr_assert_eq(p.bmem[1 << 20], 0);
}

HX_TEST(rc_write, a_qp_may_be_connected_to_itself)
{
	struct hx_qp *qp = hx_qp(h, 0, NULL);
	uint8_t *mem = hx_alloc(h, 1 << 20);
	uint32_t key = hx_mkey(h, 0, h->nic[0].pd, mem, 1 << 20, HX_ALL_RIGHTS);

	hx_connect(qp, qp);
	hx_fill(mem, 1 << 19, 3);
	for (uint32_t i = 0; i < 100; i++) {
		struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
				   .flags = HX_SIGNALED,
				   .raddr = mem + (1 << 19) + i * 5000,
				   .rkey = key,
				   .nsge = 1,
				   .sge = {{mem + i * 5000, 5000, key}}};
		uint16_t idx = hx_post(qp, &wr);

		hx_ring(qp);
		HX_OK(qp->scq, idx);
	}
	cr_assert_eq(memcmp(mem, mem + (1 << 19), 500000), 0);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_write, acks_are_coalesced)
{
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < 60; i++) {
		struct hx_wr wr = write_wr(&p, 64, 8);

		hx_post(p.a, &wr);
	}
	hx_ring(p.a);
	for (uint16_t i = 0; i < 60; i++)
		HX_OK(p.a->scq, i);
	cr_assert_gt(h->nic[1].acks, 0);
	cr_assert_leq(h->nic[1].acks, 60);
	cr_expect_eq(h->nic[0].packets[ROCE_WRITE_ONLY], 60);
}

/* Byte i of a key over reversed pages. */
static uint8_t *reversed(uint8_t *base, uint64_t len, uint64_t i)
{
	return base + (len / HX_PAGE - 1 - i / HX_PAGE) * HX_PAGE + i % HX_PAGE;
}

HX_TEST(rc_write, pages_of_a_key_may_lie_anywhere)
{
	static const uint8_t opcodes[] = {PRM_WQE_RDMA_WRITE, PRM_WQE_RDMA_READ, PRM_WQE_SEND};
	enum { LEN = 64 * HX_PAGE, OFF = 1000, N = 50 * HX_PAGE + 77 };
	struct hx_pair p =
		hx_pair_of(h, &(struct hx_qp_attr){.mtu = 5}, &(struct hx_qp_attr){.mtu = 5}, LEN);
	uint32_t akey = hx_mkey_reversed(h, 0, h->nic[0].pd, p.amem, LEN, HX_ALL_RIGHTS);
	uint32_t bkey = hx_mkey_reversed(h, 1, h->nic[1].pd, p.bmem, LEN, HX_ALL_RIGHTS);

	for (uint32_t i = 0; i < 3; i++) {
		struct hx_wr wr = {.opcode = opcodes[i],
				   .flags = HX_SIGNALED,
				   .raddr = p.bmem + OFF,
				   .rkey = bkey,
				   .nsge = 1,
				   .sge = {{p.amem + OFF, N, akey}}};
		uint8_t *from = opcodes[i] == PRM_WQE_RDMA_READ ? p.bmem : p.amem;
		uint8_t *to = from == p.amem ? p.bmem : p.amem;

		hx_fill(from, LEN, i);
		memset(to, 0, LEN);
		hx_recv(p.b, &(struct hx_sge){p.bmem + OFF, N, bkey}, 1);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
		for (uint64_t j = 0; j < N; j++)
			cr_assert_eq(*reversed(to, LEN, OFF + j), *reversed(from, LEN, OFF + j),
				     "operation %u, byte %llu", i, (unsigned long long)j);
		cr_assert_eq(*reversed(to, LEN, OFF - 1), 0);
		cr_assert_eq(*reversed(to, LEN, OFF + N), 0);
	}
}
