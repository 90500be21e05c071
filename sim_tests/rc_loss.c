/* SPDX-License-Identifier: BSD-3-Clause */
/* A wire that loses, repeats and reorders: every byte arrives, every atomic counts once. */
#include "sim_tests/harness.h"

#include "emu/nicmodel/roce.h"

enum { ROUNDS = 60, SLOT = 16384 };

struct expected {
	uint8_t opcode;
	uint32_t len;
};

/* Slots of a's memory are written, slots of b's are read, and a counter goes up. */
static struct expected post_one(struct hx *h, struct hx_pair *p, uint32_t i, uint32_t *rng)
{
	struct hx_wr wr = {.flags = HX_SIGNALED, .rkey = p->bkey, .nsge = 1};
	uint64_t off = (uint64_t)i * SLOT;
	uint32_t len;

	(void)h;
	*rng = *rng * 1664525u + 1013904223u;
	len = 1 + (*rng >> 8) % (SLOT - 1);
	switch (*rng >> 30) {
	case 0:
	case 1:
		wr.opcode = PRM_WQE_RDMA_WRITE;
		wr.raddr = p->bmem + off;
		wr.sge[0] = (struct hx_sge){p->amem + off, len, p->akey};
		hx_fill(p->amem + off, len, i);
		break;
	case 2:
		wr.opcode = PRM_WQE_RDMA_READ;
		wr.raddr = p->bmem + off;
		wr.sge[0] = (struct hx_sge){p->amem + off, len, p->akey};
		hx_fill(p->bmem + off, len, i);
		break;
	default:
		wr.opcode = PRM_WQE_ATOMIC_FA;
		wr.raddr = p->bmem + p->len - 8;
		wr.swap_add = 1;
		wr.sge[0] = (struct hx_sge){p->amem + off, 8, p->akey};
		break;
	}
	hx_post(p->a, &wr);
	return (struct expected){wr.opcode, len};
}

static void lossy(bool copied, uint32_t seed, uint32_t drop, uint32_t dup, uint32_t reorder)
{
	struct hx_config config = {.copied = copied,
				   .serialise = true,
				   .seed = seed,
				   .drop_permille = drop,
				   .dup_permille = dup,
				   .reorder_permille = reorder,
				   .shuffle = true};
	struct hx *h = hx_open(&config);
	struct hx_qp_attr attr = {
		.timeout = 8, .log_sq = 8, .sq_psn = 0xffff00, .rq_psn = 0xffff00};
	struct hx_pair p = hx_pair_of(h, &attr, &attr, (ROUNDS + 1) * SLOT);
	struct expected want[ROUNDS];
	uint32_t rng = seed;
	uint64_t count = 0, got;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		want[i] = post_one(h, &p, i, &rng);
		if (i % 7 == 0)
			hx_ring(p.a);
	}
	hx_ring(p.a);
	for (uint16_t i = 0; i < ROUNDS; i++) {
		uint64_t off = (uint64_t)i * SLOT;
		uint32_t len = want[i].len;

		HX_OK(p.a->scq, i);
		if (want[i].opcode == PRM_WQE_ATOMIC_FA) {
			memcpy(&got, p.amem + off, 8);
			cr_assert_eq(got, count, "seed %u", seed);
			count++;
		} else {
			cr_assert(hx_is(p.bmem + off, len, i), "seed %u, WQE %u", seed, i);
			cr_assert(hx_is(p.amem + off, len, i), "seed %u, WQE %u", seed, i);
		}
	}
	memcpy(&got, p.bmem + p.len - 8, 8);
	cr_assert_eq(got, count, "seed %u", seed);
	hx_close(h);
}

Test(rc_loss, one_packet_in_fifty_is_lost)
{
	for (uint32_t seed = 1; seed <= 20; seed++)
		lossy(seed % 2, seed, 20, 0, 0);
}

Test(rc_loss, packets_come_twice)
{
	for (uint32_t seed = 1; seed <= 20; seed++)
		lossy(seed % 2, seed, 0, 50, 0);
}

Test(rc_loss, packets_overtake_each_other)
{
	for (uint32_t seed = 1; seed <= 20; seed++)
		lossy(seed % 2, seed, 0, 0, 30);
}

Test(rc_loss, everything_at_once)
{
	for (uint32_t seed = 100; seed <= 140; seed++)
		lossy(seed % 2, seed, 10, 10, 10);
}

/* A retry begins at the packet that is missing, not at the message's first. */
HX_TEST(rc_loss, a_retry_resumes_in_the_middle_of_a_message)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.timeout = 8});
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem, 10 * 1024, p.akey}}};

	hx_fill(p.amem, 10 * 1024, 1);
	hx_drop(h, 0, ROCE_WRITE_LAST, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_is(p.bmem, 10 * 1024, 1));
	/* Nothing but the last packet may have asked for an ACK, so the message is sent whole or
	 * from an ACK on. */
	cr_assert_leq(h->nic[0].packets[ROCE_WRITE_FIRST], 2);
	h->nic[0].packets[ROCE_WRITE_FIRST] = 0;
	hx_drop(h, 0, ROCE_WRITE_MIDDLE, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, p.a->last_idx);
	/* The NAK for the second packet acknowledges the first. */
	cr_assert_eq(h->nic[0].packets[ROCE_WRITE_FIRST], 1);
	cr_assert_eq(h->nic[1].naks, 1);
}

HX_TEST(rc_loss, a_lost_ack_is_sent_again_for_a_repeated_request)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.timeout = 8});
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem, 100, p.akey}}};

	hx_drop(h, 1, ROCE_ACK, 2);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert_eq(h->nic[0].packets[ROCE_WRITE_ONLY], 3);
	cr_assert_eq(nm_nic_counters(h->nic[1].nic)->duplicate_request, 2);
	cr_assert_eq(nm_nic_counters(h->nic[0].nic)->local_ack_timeout_err, 2);
}

/* As where the receiver's process is stopped, or gets no processor: a NIC would have answered. */
HX_TEST(rc_loss, what_the_receiver_has_not_taken_from_the_link_does_not_time_out)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.timeout = 8, .retry = 1});
	const struct nm_counters *counters = nm_nic_counters(h->nic[0].nic);
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem, 100, p.akey}}};
	uint8_t cqe[64];

	sim_unplug(h->sim, 1, true);
	sim_hold(h->sim, true);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(h, 1000 * UINT64_C(1000000)); /* a second, of 2 ms each time */
	cr_assert_not(hx_poll(p.a->scq, cqe));
	cr_assert_eq(counters->local_ack_timeout_err, 0);
	/* It runs again, finds what was sent, and the link loses the answer: that is a time-out. */
	sim_hold(h->sim, false);
	HX_ERR(p.a->scq, PRM_SYND_RETRY_EXC, 0);
	cr_assert_eq(counters->local_ack_timeout_err, 2);
}

/* A message received twice must not take two receive WQEs. */
HX_TEST(rc_loss, a_repeated_send_is_received_once)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.timeout = 8});
	struct hx_wr wr = {.opcode = PRM_WQE_SEND,
			   .flags = HX_SIGNALED,
			   .nsge = 1,
			   .sge = {{p.amem, 100, p.akey}}};
	struct hx_sge sge = {p.bmem, 100, p.bkey};
	uint8_t cqe[64];

	hx_recv(p.b, &sge, 1);
	hx_recv(p.b, &sge, 1);
	hx_drop(h, 1, ROCE_ACK, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_assert(hx_quiet(h));
	cr_assert_not(hx_poll(p.b->rcq, cqe));
}
