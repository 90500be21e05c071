/* SPDX-License-Identifier: BSD-3-Clause */
/* Unreliable connection: what arrives, what is lost without a word, what is an error (IBTA 9.8.2).
 */
#include "sim_tests/harness.h"
#include "sim_tests/harness_srq.h"

#include "emu/nicmodel/roce.h"

enum { MTU = 1024, LEN = 5 * MTU + 100 };

static struct hx_pair uc_pair(struct hx *h)
{
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UC, .sq_psn = 0xfffffe, .rq_psn = 0xfffffe};

	return hx_pair(h, &attr);
}

static struct hx_wr send_wr(const struct hx_pair *p, uint32_t off, uint32_t len)
{
	return (struct hx_wr){.opcode = PRM_WQE_SEND,
			      .flags = HX_SIGNALED,
			      .nsge = 1,
			      .sge = {{p->amem + off, len, p->akey}}};
}

static struct hx_wr write_wr(const struct hx_pair *p, uint32_t off, uint32_t len)
{
	struct hx_wr wr = send_wr(p, off, len);

	wr.opcode = PRM_WQE_RDMA_WRITE;
	wr.raddr = p->bmem + off;
	wr.rkey = p->bkey;
	return wr;
}

static uint16_t recv_at(const struct hx_pair *p, uint32_t off, uint32_t len)
{
	return hx_recv(p->b, &(struct hx_sge){p->bmem + off, len, p->bkey}, 1);
}

HX_TEST(uc_messages, send_and_write_arrive_and_complete_without_an_ack)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr wr = send_wr(&p, 0, LEN);
	uint16_t rq = recv_at(&p, 0, LEN);
	uint8_t cqe[64];

	hx_fill(p.amem, 2 * LEN, 7);
	wr.opcode = PRM_WQE_SEND_IMM;
	wr.imm = 0x11223344;
	hx_post(p.a, &wr);
	wr = write_wr(&p, LEN, LEN);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND_IMM);
	cr_assert_eq(cqe_idx(cqe), rq);
	cr_assert_eq(cqe_imm(cqe), 0x11223344);
	cr_assert_eq(cqe_bytes(cqe), LEN);
	cr_assert_eq(prm_load32(cqe + 24), p.a->qpn);
	cr_assert(hx_quiet(h));
	cr_assert(hx_is(p.bmem, 2 * LEN, 7));
	cr_assert_eq(h->nic[1].packets[ROCE_ACK], 0);
	cr_assert_eq(h->nic[0].packets[ROCE_BASE_UC + ROCE_SEND_FIRST], 1);
	cr_assert_eq(h->nic[0].packets[ROCE_BASE_UC + ROCE_WRITE_MIDDLE], 4);
}

HX_TEST(uc_messages, write_with_immediate_takes_a_receive_wqe)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr wr = write_wr(&p, 0, LEN);
	uint16_t rq = recv_at(&p, 0, 0x100);
	uint8_t cqe[64];

	hx_fill(p.amem, LEN, 3);
	wr.opcode = PRM_WQE_RDMA_WRITE_IMM;
	wr.imm = 5;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_WR_IMM);
	cr_assert_eq(cqe_idx(cqe), rq);
	cr_assert_eq(cqe_bytes(cqe), LEN);
	cr_assert(hx_is(p.bmem, LEN, 3));
}

/* Whichever packet of the first message is lost, the second one arrives in the same WQE. */
HX_TEST(uc_messages, a_lost_packet_loses_its_message_and_no_other)
{
	static const uint8_t lost[] = {ROCE_SEND_FIRST, ROCE_SEND_MIDDLE, ROCE_SEND_LAST};

	for (uint32_t i = 0; i < sizeof(lost); i++) {
		struct hx_pair p = uc_pair(h);
		struct hx_wr first = send_wr(&p, 0, 3 * MTU);
		struct hx_wr second = send_wr(&p, LEN, 2 * MTU + 1);
		uint16_t rq = recv_at(&p, 0, LEN);
		uint8_t cqe[64];

		hx_fill(p.amem, 3 * MTU, 8);
		hx_fill(p.amem + LEN, 2 * MTU + 1, 9);
		hx_drop(h, 0, ROCE_BASE_UC + lost[i], 1);
		hx_post(p.a, &first);
		hx_post(p.a, &second);
		hx_ring(p.a);
		HX_OK(p.a->scq, 0);
		HX_OK(p.a->scq, 1);
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S), "case %u", i);
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND);
		cr_assert_eq(cqe_idx(cqe), rq, "case %u: the WQE serves again", i);
		cr_assert_eq(cqe_bytes(cqe), 2 * MTU + 1);
		cr_assert(hx_is(p.bmem, 2 * MTU + 1, 9), "case %u", i);
		cr_assert(hx_quiet(h));
		cr_assert_not(hx_poll(p.b->rcq, cqe), "case %u", i);
		cr_assert_eq(hx_query_state(p.a), PRM_QP_RTS);
		cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
	}
}

HX_TEST(uc_messages, a_message_of_one_packet_that_is_lost_is_simply_missing)
{
	struct hx_pair p = uc_pair(h);
	uint8_t cqe[64];

	recv_at(&p, 0, LEN);
	recv_at(&p, 0, LEN);
	hx_drop(h, 0, ROCE_BASE_UC + ROCE_SEND_ONLY, 1);
	for (uint32_t i = 0; i < 3; i++) {
		struct hx_wr wr = send_wr(&p, 0, 10 + i);

		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, (uint16_t)i);
	}
	for (uint32_t i = 1; i < 3; i++) {
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_bytes(cqe), 10 + i);
	}
}

HX_TEST(uc_messages, without_a_receive_wqe_a_message_is_dropped_and_counted)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr wr = send_wr(&p, 0, LEN);
	uint8_t cqe[64];

	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_quiet(h));
	cr_assert_eq(nm_nic_counters(h->nic[1].nic)->out_of_buffer, 1);
	cr_assert(hx_diagnosed(h, "needs a receive WQE"));
	recv_at(&p, 0, LEN);
	wr.sge[0].len = 3;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_bytes(cqe), 3);
	cr_assert_eq(h->nic[1].packets[ROCE_ACK], 0, "no RNR NAK");
}

HX_TEST(uc_messages, a_refused_key_drops_the_write_and_both_qps_stay_up)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr wr = write_wr(&p, 0, LEN);

	hx_fill(p.amem, LEN, 1);
	wr.rkey ^= 0xff;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_quiet(h));
	cr_assert_eq(p.bmem[0], 0);
	cr_assert_eq(p.bmem[4 * MTU], 0);
	wr.rkey ^= 0xff;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert(hx_quiet(h));
	cr_assert(hx_is(p.bmem, LEN, 1));
	cr_assert_eq(hx_query_state(p.b), PRM_QP_RTS);
	cr_assert_eq(h->events, 0);
}

HX_TEST(uc_messages, a_receive_wqe_that_is_too_small_drops_the_message_and_serves_the_next)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr wr = send_wr(&p, 0, 2 * MTU);
	uint16_t rq = recv_at(&p, 0, MTU);
	uint8_t cqe[64];

	hx_post(p.a, &wr);
	wr.sge[0].len = MTU;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND);
	cr_assert_eq(cqe_idx(cqe), rq);
	cr_assert_eq(cqe_bytes(cqe), MTU);
	cr_assert_eq(nm_nic_counters(h->nic[1].nic)->resp_local_length_error, 1);
}

HX_TEST(uc_messages, a_receive_wqe_with_a_bad_key_is_an_error_of_the_receiver_alone)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr wr = send_wr(&p, 0, 100);
	uint16_t rq = hx_recv(p.b, &(struct hx_sge){p.bmem, 100, p.bkey ^ 1}, 1);

	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_PROT, rq);
	cr_assert_eq(hx_query_state(p.b), PRM_QP_ERR);
	cr_assert_eq(hx_query_state(p.a), PRM_QP_RTS);
}

HX_TEST(uc_messages, read_and_atomics_are_no_operations_of_this_service)
{
	static const uint8_t opcodes[] = {PRM_WQE_RDMA_READ, PRM_WQE_ATOMIC_CS, PRM_WQE_ATOMIC_FA};

	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		struct hx_pair p = uc_pair(h);
		struct hx_wr wr = write_wr(&p, 0, 8);

		wr.opcode = opcodes[i];
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_LOCAL_QP_OP, 0);
		cr_assert_eq(hx_query_state(p.a), PRM_QP_SQER);
	}
}

/* IBTA 10.3.1.5: SQEr. The three messages behind the one that fails are flushed, two of them
 * already in the ring. */
HX_TEST(uc_messages, a_failed_send_stops_the_send_queue_alone_until_rts)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr good = send_wr(&p, 0, 3 * MTU), bad = send_wr(&p, 0, 3 * MTU);
	uint8_t cqe[64];

	bad.sge[0].lkey ^= 0x100;
	for (uint32_t round = 0; round < 3; round++) {
		uint16_t first, rq = hx_recv(p.a, &(struct hx_sge){p.amem, LEN, p.akey}, 1);
		struct hx_wr back = send_wr(&p, 0, 2 * MTU);

		first = hx_post(p.a, &bad);
		hx_post(p.a, &good);
		hx_post(p.a, &good);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, first);
		HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, (uint16_t)(first + 1));
		HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, (uint16_t)(first + 2));
		cr_assert_eq(hx_query_state(p.a), PRM_QP_SQER);
		hx_post(p.a, &good);
		hx_ring(p.a);
		HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, p.a->last_idx);
		/* It receives all the while. */
		back.sge[0] = (struct hx_sge){p.bmem, 2 * MTU, p.bkey};
		hx_post(p.b, &back);
		hx_ring(p.b);
		HX_OK(p.b->scq, p.b->last_idx);
		cr_assert(hx_wait(p.a->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_idx(cqe), rq);
		cr_assert_eq(cqe_bytes(cqe), 2 * MTU);
		cr_assert_eq(hx_modify(p.a, PRM_CMD_SQERR2RTS_QP), 0, "%s", h->why);
		hx_recv(p.b, &(struct hx_sge){p.bmem, LEN, p.bkey}, 1);
		hx_fill(p.amem, 3 * MTU, round);
		hx_post(p.a, &good);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		cr_assert(hx_is(p.bmem, 3 * MTU, round));
	}
	cr_assert_neq(hx_modify(p.a, PRM_CMD_SQERR2RTS_QP), 0, "it is in RTS");
}

HX_TEST(uc_messages, what_was_not_flushed_yet_when_rts_came_is_sent_or_flushed_in_order)
{
	struct hx_pair p = uc_pair(h);
	struct hx_wr good = write_wr(&p, 0, MTU), bad = write_wr(&p, 0, MTU);
	uint8_t cqe[64];

	bad.sge[0].lkey ^= 0x100;
	hx_post(p.a, &bad);
	for (uint32_t i = 1; i < 30; i++)
		hx_post(p.a, &good);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, 0);
	(void)hx_modify(p.a, PRM_CMD_SQERR2RTS_QP);
	for (uint32_t i = 1; i < 30; i++) {
		cr_assert(hx_wait(p.a->scq, cqe, SIM_S), "WQE %u", i);
		cr_assert_eq(cqe_idx(cqe), i);
	}
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(p.a->scq, cqe));
}

/* What the program writes after the completion does not travel. */
HX_TEST(uc_messages, a_completed_buffer_is_the_programs_again)
{
	struct hx_pair p = uc_pair(h);

	for (uint32_t i = 0; i < 20; i++) {
		struct hx_wr wr = write_wr(&p, 0, LEN);

		wr.raddr = p.bmem + (size_t)i * LEN;
		hx_fill(p.amem, LEN, i);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, (uint16_t)i);
		memset(p.amem, 0xee, LEN);
	}
	cr_assert(hx_quiet(h));
	for (uint32_t i = 0; i < 20; i++)
		cr_assert(hx_is(p.bmem + (size_t)i * LEN, LEN, i), "message %u", i);
}

HX_TEST(uc_messages, what_is_posted_before_rts_and_after_err_completes)
{
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UC};
	struct hx_pair p = {.a = hx_qp(h, 0, &attr), .b = hx_qp(h, 1, &attr)};
	struct hx_wr wr = {.opcode = PRM_WQE_NOP, .flags = HX_SIGNALED};

	cr_assert_eq(hx_to_init(p.a), 0);
	cr_assert_eq(hx_to_rtr(p.a, p.b), 0);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert_eq(hx_to_rts(p.a), 0);
	HX_OK(p.a->scq, 0);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_QP_2ERR), 0);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, 1);
}

/* A wire that loses a tenth: every completion at the receiver is of a message that is whole. */
static void lossy_body(struct hx *h)
{
	struct hx_pair p = uc_pair(h);
	uint32_t got = 0;
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 300; i++) {
		uint32_t len = 1 + i * 37 % LEN;
		struct hx_wr wr = send_wr(&p, 0, len);

		if (p.b->rq_pi - got < 8)
			recv_at(&p, 0, LEN);
		wr.opcode = PRM_WQE_SEND_IMM;
		wr.imm = i;
		hx_fill(p.amem, len, i);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
		cr_assert(hx_quiet(h));
		while (hx_poll(p.b->rcq, cqe)) {
			cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND_IMM);
			cr_assert_eq(cqe_imm(cqe), i);
			cr_assert_eq(cqe_bytes(cqe), len);
			cr_assert(hx_is(p.bmem, len, i));
			got++;
		}
	}
	cr_assert_gt(got, 100);
	cr_assert_lt(got, 299);
}
Test(uc_messages, on_a_lossy_wire_only_whole_messages_complete)
{
	struct hx_config config = {.seed = 5, .serialise = true, .drop_permille = 100};

	hx_with(&config, lossy_body);
	config.copied = true;
	hx_with(&config, lossy_body);
}

/* Messages as trains (nm_packet), whole where they are expected and cut where they are not. */
static void trains_body(struct hx *h)
{
	const struct hx_qp_attr attr = {.st = PRM_QP_ST_UC};
	struct hx_pair p = hx_pair_of(h, &attr, &attr, 4 << 20);
	uint8_t cqe[64];

	for (uint32_t len = MTU; len < 200 * MTU; len += 7 * MTU + 13) {
		struct hx_wr wr = send_wr(&p, 0, len);

		hx_fill(p.amem, len, len);
		recv_at(&p, 0, 200 * MTU);
		hx_post(p.a, &wr);
		wr = write_wr(&p, 1 << 20, len);
		hx_post(p.a, &wr);
		hx_fill(p.amem + (1 << 20), len, ~len);
		hx_ring(p.a);
		HX_OK(p.a->scq, (uint16_t)(p.a->last_idx - 1));
		HX_OK(p.a->scq, p.a->last_idx);
		cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
		cr_assert_eq(cqe_bytes(cqe), len);
		cr_assert(hx_quiet(h));
		cr_assert(hx_is(p.bmem, len, len));
		cr_assert(hx_is(p.bmem + (1 << 20), len, ~len));
	}
}
Test(uc_messages, long_messages_travel_as_trains)
{
	for (uint32_t i = 0; i < 4; i++)
		hx_with(
			&(struct hx_config){
				.seed = i, .trains = true, .copied = i & 1, .serialise = i & 2},
			trains_body);
}

HX_TEST(uc_messages, a_shared_receive_queue_serves_them_too)
{
	struct hx_srq *srq = hx_srq(h, 1, NULL);
	const struct hx_qp_attr plain = {.st = PRM_QP_ST_UC};
	const struct hx_qp_attr shared = {.st = PRM_QP_ST_UC, .srqn = srq->number};
	struct hx_pair p = hx_pair_of(h, &plain, &shared, 1 << 16);
	struct hx_wr wr = send_wr(&p, 0, 3 * MTU);
	uint8_t cqe[64];

	for (uint32_t i = 0; i < 2; i++)
		hx_srq_recv(srq, &(struct hx_sge){p.bmem, 4 * MTU, p.bkey}, 1);
	hx_drop(h, 0, ROCE_BASE_UC + ROCE_SEND_MIDDLE, 1);
	hx_fill(p.amem, 3 * MTU, 8);
	hx_post(p.a, &wr);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert(hx_wait(p.b->rcq, cqe, SIM_S));
	cr_assert_eq(cqe_bytes(cqe), 3 * MTU);
	cr_assert(hx_is(p.bmem, 3 * MTU, 8));
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(p.b->rcq, cqe));
}
