/* SPDX-License-Identifier: BSD-3-Clause */
/* QP state transitions and what they send; offsets are the PRM's, as in engine_verbs.c. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine_verbs.h"

TestSuite(engine_modify, .init = fake_reset, .fini = nothing_lives);

#define A(name) DOCA_VERBS_QP_ATTR_##name
enum {
	NEXT = A(NEXT_STATE),
	INIT_MASK = A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ),
	RTR_MASK = A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR) | A(MIN_RNR_TIMER),
	RTS_MASK = A(SQ_PSN) | A(ACK_TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY),
};

struct link {
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp *qp;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_ah_attr *ah;
};

static struct link make_link(enum doca_verbs_addr_type type)
{
	static const struct doca_verbs_gid gid = {
		{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2}};
	struct link l;

	fake.is_ethernet = type == DOCA_VERBS_ADDR_TYPE_IPv4 || type == DOCA_VERBS_ADDR_TYPE_IPv6;
	l.cq = make_cq(64);
	l.qp = make_qp(l.cq);
	cr_assert_eq(doca_verbs_qp_attr_create(&l.attr), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_ah_attr_create(fake_pd.context, &l.ah), DOCA_SUCCESS);
	doca_verbs_ah_attr_set_gid(l.ah, gid);
	doca_verbs_ah_attr_set_addr_type(l.ah, type);
	doca_verbs_ah_attr_set_dlid(l.ah, 0x1234);
	doca_verbs_ah_attr_set_sl(l.ah, 5);
	doca_verbs_ah_attr_set_sgid_index(l.ah, 3);
	doca_verbs_ah_attr_set_static_rate(l.ah, 2);
	doca_verbs_ah_attr_set_hop_limit(l.ah, 64);
	doca_verbs_ah_attr_set_traffic_class(l.ah, 0x68);
	doca_verbs_qp_attr_set_ah_attr(l.attr, l.ah);
	doca_verbs_qp_attr_set_path_mtu(l.attr, DOCA_VERBS_MTU_SIZE_4K_BYTES);
	doca_verbs_qp_attr_set_rq_psn(l.attr, 0x1a2b3c4d);
	doca_verbs_qp_attr_set_sq_psn(l.attr, 0x123456);
	doca_verbs_qp_attr_set_port_num(l.attr, 1);
	doca_verbs_qp_attr_set_pkey_index(l.attr, 2);
	doca_verbs_qp_attr_set_dest_qp_num(l.attr, 0xa1b2c3);
	doca_verbs_qp_attr_set_allow_remote_write(l.attr, 1);
	doca_verbs_qp_attr_set_allow_remote_read(l.attr, 1);
	doca_verbs_qp_attr_set_allow_remote_atomic(l.attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	doca_verbs_qp_attr_set_ack_timeout(l.attr, 14);
	doca_verbs_qp_attr_set_retry_cnt(l.attr, 7);
	doca_verbs_qp_attr_set_rnr_retry(l.attr, 6);
	doca_verbs_qp_attr_set_min_rnr_timer(l.attr, 12);
	doca_verbs_qp_attr_set_max_rd_atomic(l.attr, 16);
	doca_verbs_qp_attr_set_max_dest_rd_atomic(l.attr, 8);
	return l;
}

static doca_error_t move(struct link *l, enum doca_verbs_qp_state next, int mask)
{
	doca_verbs_qp_attr_set_next_state(l->attr, next);
	return doca_verbs_qp_modify(l->qp, l->attr, mask | NEXT);
}

static void drop_link(struct link *l)
{
	doca_verbs_qp_attr_destroy(l->attr);
	doca_verbs_ah_attr_destroy(l->ah);
	cr_assert_eq(doca_verbs_qp_destroy(l->qp), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_cq_destroy(l->cq), DOCA_SUCCESS);
}

Test(engine_modify, rst2init_mailbox)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	in = fake_input(RST2INIT);
	cr_assert_eq(fake.command[RST2INIT].size, 272);
	cr_assert_eq(be32_at(in, 8), doca_verbs_qp_get_qpn(l.qp));
	cr_assert_eq(be32_at(in, 0x10), 0, "nothing is optional");
	cr_assert_eq(be32_at(in, QPC) >> 11 & 3, 3, "pm_state migrated");
	cr_assert_eq(be32_at(in, PATH) & 0xffff, 2, "pkey_index");
	cr_assert_eq(in[PATH + 0x25], 1, "port");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 13 & 7, 7, "rre, rwe, rae");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 16 & 0xf, 1, "atomic_mode");
	drop_link(&l);
}

Test(engine_modify, init2rtr_mailbox_on_infiniband)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK | A(MAX_DEST_RD_ATOMIC)),
		     DOCA_SUCCESS);
	in = fake_input(INIT2RTR);
	cr_assert_eq(in[QPC + 8] >> 5, 5, "MTU 4096");
	cr_assert_eq(in[QPC + 8] & 0x1f, 30, "log_msg_max");
	cr_assert_eq(be32_at(in, QPC + 0x14) & 0xffffff, 0xa1b2c3, "remote QPN");
	cr_assert_eq(be32_at(in, QPC + 0x94), 12u << 24 | 0x2b3c4d, "min_rnr_nak, PSN of 24 bits");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 21 & 7, 3, "log_rra_max");
	cr_assert_eq(be32_at(in, PATH + 4), 0x1234, "LID, no GRH");
	cr_assert_eq(in[PATH + 0x24] & 0xf, 5, "SL");
	cr_assert_eq(in[PATH + 0x25], 1, "port");
	cr_assert_eq(be32_at(in, PATH + 8) >> 8 & 0xf, 2, "static rate");
	cr_assert_eq(be64_at(in, PATH + 0x18), 0, "no GID");
	cr_assert_eq(be32_at(in, 0x10), 1 << 2, "atomics are wanted");
	drop_link(&l);
}

Test(engine_modify, init2rtr_mailbox_on_infiniband_with_grh)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	in = fake_input(INIT2RTR);
	cr_assert_eq(be32_at(in, PATH + 4), 1u << 23 | 0x1234, "GRH and LID");
	cr_assert_eq(be64_at(in, PATH + 0x10), 0xfe80000000000000);
	cr_assert_eq(be64_at(in, PATH + 0x18), 0x0908070605040302);
	cr_assert_eq(in[PATH + 9], 3, "sgid_index");
	cr_assert_eq(in[PATH + 0xb], 64, "hop limit");
	cr_assert_eq(be32_at(in, PATH + 0xc) >> 20 & 0xff, 0x68, "traffic class");
	drop_link(&l);
}

Test(engine_modify, init2rtr_mailbox_on_ethernet)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IPv4);
	const uint8_t *in;
	uint32_t sport;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	in = fake_input(INIT2RTR);
	cr_assert_eq(be32_at(in, PATH + 0x24) & 0xffff, 0x0211, "MAC, first two bytes");
	cr_assert_eq(be32_at(in, PATH + 0x28), 0x22334455, "MAC, last four bytes");
	cr_assert_eq(be64_at(in, PATH + 0x18), 0x0908070605040302, "GID");
	cr_assert_eq(in[PATH + 0x21] & 0x3f, 0x68 >> 2, "DSCP");
	sport = be32_at(in, PATH + 0x20) & 0xffff;
	cr_assert_geq(sport, 0xc000, "UDP source port within the device's range");
	cr_assert_eq(be32_at(in, PATH + 4), 0, "no LID");
	cr_assert_eq(in[PATH + 0x24] >> 4 & 7, 5, "priority");
	cr_assert_eq(fake.last_ah.is_global, 1);
	cr_assert_eq(fake.last_ah.port_num, 1);
	cr_assert_eq(fake.last_ah.grh.sgid_index, 3);
	cr_assert_eq(be32_at(fake_input(0x760), 8) >> 16, 3, "QUERY_ROCE_ADDRESS of that GID");
	drop_link(&l);
}

Test(engine_modify, connecting_leaves_the_programs_random_numbers_alone)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IPv4);
	int expected;

	srand(7);
	expected = rand();
	srand(7);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	cr_assert_eq(rand(), expected);
	drop_link(&l);
}

Test(engine_modify, roce_v1_has_no_udp_port)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IPv6);

	fake.roce_version = 0;
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(INIT2RTR), PATH + 0x20), 0);
	drop_link(&l);
}

Test(engine_modify, rtr2rts_and_later_mailboxes)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, A(ALLOW_REMOTE_WRITE) | A(PKEY_INDEX)),
		     DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(INIT2INIT), 0x10), 1 << 3 | 1 << 4 | 1 << 2,
		     "rwe, pkey, rae");
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK | A(MAX_QP_RD_ATOMIC)),
		     DOCA_SUCCESS);
	in = fake_input(RTR2RTS);
	cr_assert_eq(be32_at(in, QPC + 0x78), 0x123456, "PSN");
	cr_assert_eq(in[PATH + 8] >> 3, 14, "ack_timeout");
	cr_assert_eq(be32_at(in, QPC + 0x70), 4u << 21 | 7 << 16 | 6 << 13, "log_sra_max, retries");

	doca_verbs_qp_attr_set_allow_remote_write(l.attr, 0);
	doca_verbs_qp_attr_set_min_rnr_timer(l.attr, 20);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, A(ALLOW_REMOTE_WRITE) | A(MIN_RNR_TIMER)),
		     DOCA_SUCCESS);
	in = fake_input(RTS2RTS);
	cr_assert_eq(be32_at(in, 0x10), 1 << 3 | 1 << 6 | 1 << 2, "rwe, RNR timer, rae");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 13 & 7, 5, "rre stays, rwe goes");
	cr_assert_eq(in[QPC + 0x94], 20);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_ERR, 0), DOCA_SUCCESS);
	cr_assert_eq(fake.command[TO_ERR].size, 16);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RST, 0), DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(TO_RST), 8), doca_verbs_qp_get_qpn(l.qp));
	drop_link(&l);
}

/* Each transition: every required bit is needed, no foreign bit is taken. */
static void walk_mask(struct link *l, enum doca_verbs_qp_state next, int required, int optional,
		      uint32_t opcode)
{
	unsigned int before = fake.command[opcode].count;

	for (int bit = 0; bit < 18; bit++) {
		int b = 1 << bit;

		if (b & (A(NEXT_STATE) | A(CURRENT_STATE)))
			continue;
		if (required & b)
			cr_assert_eq(move(l, next, required & ~b), DOCA_ERROR_INVALID_VALUE,
				     "opcode 0x%x without bit %d", opcode, bit);
		else if (!(optional & b))
			cr_assert_eq(move(l, next, required | b), DOCA_ERROR_INVALID_VALUE,
				     "opcode 0x%x with bit %d", opcode, bit);
	}
	cr_assert_eq(fake.command[opcode].count, before, "nothing wrong reached the firmware");
	cr_assert_eq(move(l, next, required | optional), DOCA_SUCCESS);
	cr_assert_eq(fake.command[opcode].count, before + 1);
}

Test(engine_modify, masks_are_taken_exactly)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	int rights = A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ);

	walk_mask(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK, 0, RST2INIT);
	walk_mask(&l, DOCA_VERBS_QP_STATE_INIT, 0, INIT_MASK, INIT2INIT);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK,
		  A(PKEY_INDEX) | rights | A(MAX_DEST_RD_ATOMIC), INIT2RTR);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK,
		  A(MIN_RNR_TIMER) | A(ALLOW_REMOTE_WRITE) | A(MAX_QP_RD_ATOMIC), RTR2RTS);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RTS, 0, rights | A(MIN_RNR_TIMER) | A(AH_ATTR), RTS2RTS);
	walk_mask(&l, DOCA_VERBS_QP_STATE_ERR, 0, 0, TO_ERR);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RST, 0, 0, TO_RST);
	drop_link(&l);
}

Test(engine_modify, only_legal_transitions_reach_the_firmware)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(move(&l, (enum doca_verbs_qp_state)5, 0), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	/* A state that the caller claims counts. */
	doca_verbs_qp_attr_set_current_state(l.attr, DOCA_VERBS_QP_STATE_RTR);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK | A(CURRENT_STATE)), DOCA_SUCCESS);
	/* A refused command leaves the handle's state alone. */
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RST, 0), DOCA_SUCCESS);
	fake.fail_at = fake.calls + 1;
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_ERROR_DRIVER);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	drop_link(&l);
}

Test(engine_modify, values_out_of_range_are_refused)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);

	doca_verbs_qp_attr_set_port_num(l.attr, 2);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_ERROR_INVALID_VALUE,
		     "port");
	doca_verbs_qp_attr_set_port_num(l.attr, 1);
	doca_verbs_qp_attr_set_pkey_index(l.attr, 128);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_ERROR_INVALID_VALUE,
		     "one past the last pkey");
	doca_verbs_qp_attr_set_pkey_index(l.attr, 127);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);

	doca_verbs_qp_attr_set_dest_qp_num(l.attr, 0x1000000);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE, "QPN");
	doca_verbs_qp_attr_set_dest_qp_num(l.attr, 1);
	doca_verbs_qp_attr_set_path_mtu(l.attr, DOCA_VERBS_MTU_SIZE_RAW_ETHERNET);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE, "MTU");
	doca_verbs_qp_attr_set_path_mtu(l.attr, DOCA_VERBS_MTU_SIZE_1K_BYTES);
	doca_verbs_ah_attr_set_sgid_index(l.ah, 8);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE,
		     "GID index");
	doca_verbs_ah_attr_set_sgid_index(l.ah, 7);
	doca_verbs_ah_attr_set_sl(l.ah, 16);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE, "SL");
	doca_verbs_ah_attr_set_sl(l.ah, 0);
	doca_verbs_ah_attr_set_addr_type(l.ah, DOCA_VERBS_ADDR_TYPE_IPv4);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE,
		     "an IPv4 peer on InfiniBand");
	doca_verbs_ah_attr_set_addr_type(l.ah, DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	doca_verbs_qp_attr_set_max_dest_rd_atomic(l.attr, 32);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK | A(MAX_DEST_RD_ATOMIC)),
		     DOCA_ERROR_INVALID_VALUE, "more atomics than the device has");
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	doca_verbs_qp_attr_set_retry_cnt(l.attr, 8);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK), DOCA_ERROR_INVALID_VALUE,
		     "retry_cnt");
	drop_link(&l);
}

Test(engine_modify, a_mask_with_ah_but_no_ah_is_refused)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	struct doca_verbs_qp_attr *bare;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	doca_verbs_qp_attr_create(&bare);
	doca_verbs_qp_attr_set_next_state(bare, DOCA_VERBS_QP_STATE_RTR);
	cr_assert_eq(doca_verbs_qp_modify(l.qp, bare, RTR_MASK | NEXT), DOCA_ERROR_INVALID_VALUE);
	doca_verbs_qp_attr_destroy(bare);
	drop_link(&l);
}

Test(engine_modify, query_reads_every_state)
{
	static const struct {
		uint32_t raw, mtu;
		enum doca_verbs_qp_state state;
		doca_error_t status;
	} rows[] = {
		{0, 0, DOCA_VERBS_QP_STATE_RST, DOCA_SUCCESS},
		{1, 0, DOCA_VERBS_QP_STATE_INIT, DOCA_SUCCESS},
		{2, 3, DOCA_VERBS_QP_STATE_RTR, DOCA_SUCCESS},
		{3, 5, DOCA_VERBS_QP_STATE_RTS, DOCA_SUCCESS},
		{3, 6, DOCA_VERBS_QP_STATE_RTS, DOCA_ERROR_UNEXPECTED},
		{4, 1, DOCA_VERBS_QP_STATE_ERR, DOCA_SUCCESS},
		{5, 1, DOCA_VERBS_QP_STATE_RTS, DOCA_SUCCESS},
		{6, 0, DOCA_VERBS_QP_STATE_ERR, DOCA_SUCCESS},
		{7, 1, DOCA_VERBS_QP_STATE_RST, DOCA_ERROR_UNEXPECTED},
	};
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	struct doca_verbs_qp_init_attr *init;

	doca_verbs_qp_init_attr_create(&init);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake.qp_state = rows[i].raw;
		fake.qp_mtu = rows[i].mtu;
		cr_assert_eq(doca_verbs_qp_query(l.qp, l.attr, init), rows[i].status, "row %zu", i);
		if (rows[i].status == DOCA_SUCCESS)
			cr_assert_eq(doca_verbs_qp_attr_get_current_state(l.attr), rows[i].state);
	}
	fake.qp_state = 3;
	fake.qp_mtu = 4;
	cr_assert_eq(doca_verbs_qp_query(l.qp, l.attr, init), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_qp_attr_get_path_mtu(l.attr), DOCA_VERBS_MTU_SIZE_2K_BYTES);
	cr_assert_eq(doca_verbs_qp_attr_get_dest_qp_num(l.attr), 0xabcdef);
	cr_assert_eq(doca_verbs_qp_attr_get_allow_remote_write(l.attr), 1);
	cr_assert_eq(doca_verbs_qp_init_attr_get_user_index(init), 0x77);
	cr_assert_eq(doca_verbs_qp_init_attr_get_sq_wr(init), 64);
	cr_assert_eq(doca_verbs_qp_init_attr_get_send_cq(init), l.cq);
	doca_verbs_qp_init_attr_destroy(init);
	drop_link(&l);
}
