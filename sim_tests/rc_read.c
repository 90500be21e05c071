/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA READ: responses, their limits and their loss. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

static struct hx_wr read_wr(const struct hx_pair *p, uint64_t off, uint32_t len)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_RDMA_READ,
		.flags = HX_SIGNALED,
		.raddr = p->bmem + off,
		.rkey = p->bkey,
		.nsge = len > 0,
		.sge = {{p->amem + off, len, p->akey}},
	};
}

static void read_and_compare(struct hx_pair *p, uint64_t off, uint32_t len, uint32_t seed)
{
	struct hx_wr wr = read_wr(p, off, len);
	uint8_t cqe[64];

	hx_fill(p->bmem, off + len + 1, seed);
	memset(p->amem, 0xee, off + len + 1);
	hx_post(p->a, &wr);
	hx_ring(p->a);
	cr_assert(hx_wait(p->a->scq, cqe, SIM_S), "size %u", len);
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_REQ, "size %u syndrome %u", len, cqe_syndrome(cqe));
	cr_assert_eq(cqe_wqe_opcode(cqe), PRM_WQE_RDMA_READ);
	cr_assert_eq(cqe_bytes(cqe), len);
	cr_assert_eq(memcmp(p->amem + off, p->bmem + off, len), 0, "size %u", len);
	cr_assert_eq(p->amem[off - 1], 0xee);
	cr_assert_eq(p->amem[off + len], 0xee);
}

HX_TEST(rc_read, every_size_arrives_and_nothing_beside_it)
{
	static const uint32_t sizes[] = {0, 1, 1023, 1024, 1025, 4096, 65536, 65537, (1 << 20) + 3};
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		read_and_compare(&p, 61, sizes[i], i);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_read, every_mtu_cuts_at_its_size)
{
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.mtu = mtu},
					      &(struct hx_qp_attr){.mtu = mtu}, 1 << 20);
		uint32_t bytes = 128u << mtu;

		read_and_compare(&p, 1, bytes - 1, mtu);
		read_and_compare(&p, 1, bytes, mtu);
		read_and_compare(&p, 1, bytes + 1, mtu);
		read_and_compare(&p, 1, 5 * bytes, mtu);
	}
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_read, a_read_consumes_the_psns_of_its_responses_across_the_wrap)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.sq_psn = 0xfffffe},
				      &(struct hx_qp_attr){.rq_psn = 0xfffffe}, 1 << 20);

	read_and_compare(&p, 1, 5 * 1024, 1);
	read_and_compare(&p, 1, 7, 2);
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_read, data_is_scattered_over_several_segments)
{
	struct hx_pair p = hx_pair(h, NULL);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_READ,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 30};
	uint64_t at = 0;

	hx_fill(p.bmem, 1 << 16, 8);
	for (uint32_t i = 0; i < 30; i++)
		wr.sge[i] = (struct hx_sge){p.amem + i * 8192, 1 + i * 113 % 1500, p.akey};
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	for (uint32_t i = 0; i < 30; i++) {
		cr_assert_eq(memcmp(wr.sge[i].addr, p.bmem + at, wr.sge[i].len), 0);
		cr_assert_eq(((const uint8_t *)wr.sge[i].addr)[wr.sge[i].len], 0);
		at += wr.sge[i].len;
	}
}

HX_TEST(rc_read, no_more_than_the_agreed_number_is_outstanding)
{
	/* The requester keeps to 1, the responder would take 1: a second one would be refused. */
	struct hx_qp_attr attr = {.log_sra = 0xff, .log_rra = 0xff};
	struct hx_pair p = hx_pair(h, &attr);

	hx_fill(p.bmem, 1 << 20, 5);
	for (uint32_t i = 0; i < 20; i++) {
		struct hx_wr wr = read_wr(&p, i * 5000, 5000);

		hx_post(p.a, &wr);
	}
	hx_ring(p.a);
	for (uint16_t i = 0; i < 20; i++)
		HX_OK(p.a->scq, i);
	cr_assert(hx_is(p.amem, 100000, 5));
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}

HX_TEST(rc_read, more_than_the_responder_agreed_to_is_an_invalid_request)
{
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.log_sra = 4},
				      &(struct hx_qp_attr){.log_rra = 0xff}, 4 << 20);
	uint8_t cqe[64];
	bool refused = false;

	for (uint32_t i = 0; i < 8; i++) {
		struct hx_wr wr = read_wr(&p, 0, 1 << 20);

		hx_post(p.a, &wr);
	}
	hx_ring(p.a);
	while (!refused) {
		cr_assert(hx_wait(p.a->scq, cqe, SIM_S));
		refused = cqe_opcode(cqe) == PRM_CQE_REQ_ERR;
	}
	/* Whether the NAK or the loss of the responses behind it is seen first, it is an error of
	 * this WQE. */
	cr_assert(cqe_syndrome(cqe) == PRM_SYND_REMOTE_INVAL_REQ ||
		  cqe_syndrome(cqe) == PRM_SYND_RETRY_EXC);
	cr_assert(hx_diagnosed(h, "more than 1 READs and atomics"));
}

HX_TEST(rc_read, a_fenced_write_sends_what_the_read_brought)
{
	for (uint32_t fence = 2; fence <= 4; fence++) {
		struct hx_pair p = hx_pair(h, NULL);
		struct hx_wr rd = read_wr(&p, 0, 100000);
		struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
				   .flags = (uint8_t)(HX_SIGNALED | fence << 5),
				   .raddr = p.bmem + (1 << 20),
				   .rkey = p.bkey,
				   .nsge = 1,
				   .sge = {{p.amem, 100000, p.akey}}};

		hx_fill(p.bmem, 100000, fence);
		hx_post(p.a, &rd);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, 0);
		HX_OK(p.a->scq, 1);
		cr_assert(hx_is(p.bmem + (1 << 20), 100000, fence), "fence %u", fence);
	}
}

HX_TEST(rc_read, lost_responses_are_asked_for_again)
{
	static const uint8_t opcodes[] = {ROCE_READ_RESP_FIRST, ROCE_READ_RESP_MIDDLE,
					  ROCE_READ_RESP_LAST, ROCE_READ_RESP_ONLY};
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < 4; i++) {
		hx_drop(h, 1, opcodes[i], 1);
		read_and_compare(&p, 1, i == 3 ? 100 : 20000, i);
		cr_expect_eq(h->nic[1].drop[opcodes[i]], 0);
	}
}

HX_TEST(rc_read, a_lost_request_is_sent_again)
{
	struct hx_pair p = hx_pair(h, NULL);

	hx_drop(h, 0, ROCE_READ_REQUEST, 1);
	read_and_compare(&p, 1, 20000, 1);
	cr_expect_eq(h->nic[0].packets[ROCE_READ_REQUEST], 2);
}

/* The ACK of the write behind it shows at once that the response is lost. */
HX_TEST(rc_read, an_ack_beyond_a_read_is_an_implied_nak)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.timeout_never = true});
	struct hx_wr rd = read_wr(&p, 0, 100);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem + 4096,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem + 4096, 10, p.akey}}};

	hx_fill(p.bmem, 100, 1);
	hx_drop(h, 1, ROCE_READ_RESP_ONLY, 1);
	hx_post(p.a, &rd);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	cr_assert(hx_is(p.amem, 100, 1));
	cr_assert_eq(nm_nic_counters(h->nic[0].nic)->implied_nak_seq_err, 1);
}
