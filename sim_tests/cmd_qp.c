/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_QP and the state machine: geometry, refusals, which field is taken when. */
#include "sim_tests/cmd_rig.h"

#define ADS(qpc) ((uint8_t *)(qpc) + PRM_qpc_primary_address_path_OFF)

static uint8_t *in_qpc(struct rig *rig)
{
	return PRM_PTR(modify_qp_in, rig->in, qpc);
}

static struct nm_qp *qp_of(struct rig *rig, uint32_t qpn)
{
	struct nm_qp *qp = (struct nm_qp *)nm_obj_get(rig->nic, NM_OBJ_QP, qpn);

	cr_assert_not_null(qp);
	return qp;
}

static void modify_begin(struct rig *rig, uint16_t opcode, uint32_t qpn, uint32_t mask)
{
	rig_begin(rig, opcode, 0);
	PRM_SET(modify_qp_in, rig->in, qpn, qpn);
	PRM_SET(modify_qp_in, rig->in, opt_param_mask, mask);
}

static uint8_t modify(struct rig *rig)
{
	return rig_command(rig, 0x110, 0x10);
}

static uint8_t to_init(struct rig *rig, uint32_t qpn)
{
	modify_begin(rig, PRM_CMD_RST2INIT_QP, qpn, 0);
	PRM_SET(qpc, in_qpc(rig), rwe, 1);
	PRM_SET(qpc, in_qpc(rig), rre, 1);
	PRM_SET(qpc, in_qpc(rig), rae, 1);
	PRM_SET(qpc, in_qpc(rig), atomic_mode, 1);
	PRM_SET(qpc, in_qpc(rig), pm_state, 3);
	PRM_SET(ads, ADS(in_qpc(rig)), vhca_port_num, 1);
	return modify(rig);
}

static void rtr_mailbox(struct rig *rig, uint32_t qpn)
{
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 2};
	uint8_t *qpc = in_qpc(rig);

	modify_begin(rig, PRM_CMD_INIT2RTR_QP, qpn, 0);
	PRM_SET(qpc, qpc, mtu, 3);
	PRM_SET(qpc, qpc, log_msg_max, 30);
	PRM_SET(qpc, qpc, remote_qpn, 0x2b0155);
	PRM_SET(qpc, qpc, next_rcv_psn, 0xabcdef);
	PRM_SET(qpc, qpc, log_rra_max, 4);
	PRM_SET(qpc, qpc, min_rnr_nak, 12);
	PRM_SET(ads, ADS(qpc), hop_limit, 64);
	PRM_SET(ads, ADS(qpc), dscp, 10);
	PRM_SET(ads, ADS(qpc), rmac_47_32, 0x0200);
	PRM_SET(ads, ADS(qpc), rmac_31_0, 0x11223344);
	memcpy(PRM_PTR(ads, ADS(qpc), rgid_rip), gid, sizeof(gid));
}

static uint8_t to_rtr(struct rig *rig, uint32_t qpn)
{
	rtr_mailbox(rig, qpn);
	return modify(rig);
}

static uint8_t to_rts(struct rig *rig, uint32_t qpn)
{
	modify_begin(rig, PRM_CMD_RTR2RTS_QP, qpn, 0);
	PRM_SET(qpc, in_qpc(rig), next_send_psn, 0x123456);
	PRM_SET(qpc, in_qpc(rig), retry_count, 7);
	PRM_SET(qpc, in_qpc(rig), rnr_retry, 6);
	PRM_SET(qpc, in_qpc(rig), log_sra_max, 3);
	PRM_SET(ads, ADS(in_qpc(rig)), ack_timeout, 14);
	return modify(rig);
}

static const uint8_t *query(struct rig *rig, uint32_t qpn)
{
	cr_assert_eq(rig_number(rig, PRM_CMD_QUERY_QP, qpn), PRM_STATUS_OK, "%s", rig->why);
	return PRM_CPTR(query_qp_out, rig->out, qpc);
}

/* ---- creation ---- */

RIG_TEST(cmd_qp, the_number_carries_the_prefix_of_its_process)
{
	struct rig_qp qp;

	rig_qp(rig, &qp);
	cr_expect_eq(qp.qpn >> 16, 0x2a);
	cr_expect_geq(qp.qpn & 0xffff, 0x100);
}

RIG_TEST(cmd_qp, the_send_queue_lies_behind_the_receive_queue)
{
	struct rig_qp q;
	struct nm_qp *qp;

	rig_qp(rig, &q);
	qp = qp_of(rig, q.qpn);
	cr_expect_eq(qp->sq_off, 16 * 64);
	cr_expect_eq(qp->mem.len, 16 * 64 + 64 * 64);
	cr_expect_eq(qp->rq_stride_log, 6);
	cr_expect(qp->has_sq && qp->has_rq && !qp->no_dbr);
}

RIG_TEST(cmd_qp, a_tiny_receive_queue_takes_a_whole_wqebb)
{
	struct rig_qp q;
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);

	rig_qp(rig, &q);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	PRM_SET(qpc, qpc, log_rq_size, 0);
	PRM_SET(qpc, qpc, log_rq_stride, 0);
	cr_assert_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(qp_of(rig, rig_out_number(rig))->sq_off, 64);
}

RIG_TEST(cmd_qp, without_a_receive_queue_the_send_queue_starts_at_zero)
{
	struct rig_qp q;
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);

	rig_qp(rig, &q);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_NONE);
	PRM_SET(qpc, qpc, cqn_rcv, 0x777777); /* not looked at */
	cr_assert_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(qp_of(rig, rig_out_number(rig))->sq_off, 0);
	cr_expect_null(qp_of(rig, rig_out_number(rig))->cq_rcv);
}

RIG_TEST(cmd_qp, without_a_send_queue_its_cq_is_not_looked_at)
{
	struct rig_qp q;
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);

	rig_qp(rig, &q);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	PRM_SET(qpc, qpc, no_sq, 1);
	PRM_SET(qpc, qpc, cqn_snd, 0x777777);
	cr_assert_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_null(qp_of(rig, rig_out_number(rig))->cq_snd);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_NONE);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_PARAM, "neither queue");
}

/* What the GPUNetIO host library sends: umems, offsets, the no-record mode, 16 octets of answer. */
RIG_TEST(cmd_qp, rings_and_records_may_lie_in_umems)
{
	struct rig_qp q;
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);
	uint32_t ring, dbr, qpn;

	rig_qp(rig, &q);
	ring = rig_umem(rig, 10, 2, 0);
	dbr = rig_umem(rig, 12, 1, 0x10);
	rig_begin(rig, PRM_CMD_CREATE_QP, 0);
	PRM_SET(qpc, qpc, pd, q.pd);
	PRM_SET(qpc, qpc, uar_page, q.uar);
	PRM_SET(qpc, qpc, cqn_snd, q.cqn);
	PRM_SET(qpc, qpc, log_sq_size, 6);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_NONE);
	PRM_SET(qpc, qpc, send_dbr_mode, 1);
	PRM_SET(qpc, qpc, dbr_umem_valid, 1);
	PRM_SET(qpc, qpc, dbr_umem_id, dbr);
	PRM_SET64(qpc, qpc, dbr_addr, 0x30);
	PRM_SET(create_qp_in, rig->in, wq_umem_valid, 1);
	PRM_SET(create_qp_in, rig->in, wq_umem_id, ring);
	rig->nic->config.device_id = PRM_DEVICE_CONNECTX7;
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_PARAM, "it has no such mode");
	rig->nic->config.device_id = PRM_DEVICE_CONNECTX8;
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	qpn = rig_out_number(rig);
	cr_expect(qp_of(rig, qpn)->no_dbr);
	cr_expect_eq(qp_of(rig, qpn)->dbr.addr, (uintptr_t)rig_page(rig, 12) + 0x40);
	cr_expect_eq(qp_of(rig, qpn)->mem.ext[0].addr, (uintptr_t)rig_page(rig, 10));
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, ring), PRM_STATUS_RES_BUSY);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, dbr), PRM_STATUS_RES_BUSY);
	cr_expect_eq(to_init(rig, qpn), PRM_STATUS_OK);
	cr_expect_eq(qp_of(rig, qpn)->dbr.addr, (uintptr_t)rig_page(rig, 12) + 0x40,
		     "a modify with dbr_addr 0 does not move the record");
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_QP, qpn), PRM_STATUS_OK);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, ring), PRM_STATUS_OK);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, dbr), PRM_STATUS_OK);
}

RIG_TEST(cmd_qp, what_is_not_modelled_or_does_not_exist_is_refused_and_leaves_nothing)
{
	struct rig_qp q;
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);
	uint32_t users;

	rig_qp(rig, &q);
	users = rig_cq_of(rig, q.cqn)->obj.users;
	static const uint8_t other_services[] = {PRM_QP_ST_DCI, 4 /* MLX */, PRM_QP_ST_RAW};
	for (size_t n = 0; n < sizeof(other_services); n++) {
		rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
		PRM_SET(qpc, qpc, st, other_services[n]);
		cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_PARAM);
	}
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_SRQ);
	PRM_SET(qpc, qpc, srqn_rmpn_xrqn, 0x99);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_RES);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_CRQ);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_PARAM);
	rig_qp_mailbox(rig, q.pd + 1, q.uar, q.cqn, 5, 7);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_RES);
	rig_qp_mailbox(rig, q.pd, q.uar + 7, q.cqn, 5, 7);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_RES);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn + 1, 5, 7);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_RES);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	cr_expect_eq(rig_command(rig, 0x118, 0x10), PRM_STATUS_BAD_INP_LEN, "one page of two");
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	PRM_SET64(qpc, qpc, dbr_addr, 0x1004);
	cr_expect_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_BAD_PARAM);
	cr_expect_eq(rig->nic->table[NM_OBJ_QP].count, 1);
	cr_expect_eq(rig_cq_of(rig, q.cqn)->obj.users, users);
}

RIG_TEST(cmd_qp, a_new_qp_reports_reset_and_a_valid_mtu)
{
	struct rig_qp q;
	const uint8_t *qpc;

	rig_qp(rig, &q);
	qpc = query(rig, q.qpn);
	cr_expect_eq(PRM_GET(qpc, qpc, state), PRM_QP_RST);
	cr_expect_eq(PRM_GET(qpc, qpc, mtu), 5);
	cr_expect_eq(PRM_GET(qpc, qpc, user_index), 0x1234);
}

/* ---- transitions ---- */

RIG_TEST(cmd_qp, the_way_to_rts_takes_what_each_step_requires)
{
	struct rig_qp q;
	struct nm_qp *qp;
	const uint8_t *qpc;

	rig_qp(rig, &q);
	qp = qp_of(rig, q.qpn);
	cr_assert_eq(to_init(rig, q.qpn), PRM_STATUS_OK, "%s", rig->why);
	cr_expect(qp->rwe && qp->rre && qp->rae, "rights are taken without a mask bit");
	cr_assert_eq(to_rtr(rig, q.qpn), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(qp->mtu, 1024);
	cr_expect_eq(qp->remote_qpn, 0x2b0155);
	cr_expect_eq(qp->max_dest_rd_atomic, 16);
	cr_expect_eq(qp->min_rnr_nak, 12);
	cr_expect_eq(qp->route.dgid[15], 2);
	cr_expect_eq(qp->route.sgid[15], 1);
	cr_expect_eq(qp->route.dmac[5], 0x44);
	cr_expect_eq(qp->route.smac[5], 0x55);
	cr_expect_eq(qp->route.hop_limit, 64);
	cr_expect_eq(qp->route.tclass, 10 << 2);
	cr_expect_geq(qp->route.udp_sport, 0xc000);
	cr_assert_eq(to_rts(rig, q.qpn), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(qp->retry_count, 7);
	cr_expect_eq(qp->rnr_retry, 6);
	cr_expect_eq(qp->ack_timeout, 14);
	cr_expect_eq(qp->max_rd_atomic, 8);
	qpc = query(rig, q.qpn);
	cr_expect_eq(PRM_GET(qpc, qpc, state), PRM_QP_RTS);
	cr_expect_eq(PRM_GET(qpc, qpc, mtu), 3);
	cr_expect_eq(PRM_GET(qpc, qpc, next_send_psn), 0x123456);
	cr_expect_eq(PRM_GET(qpc, qpc, next_rcv_psn), 0xabcdef);
	cr_expect_eq(PRM_GET(ads, ADS(qpc), vhca_port_num), 1, "INIT2RTR did not clear the port");
}

static const struct {
	uint16_t opcode;
	uint8_t from;
} legal[] = {
	{PRM_CMD_RST2INIT_QP, 1 << PRM_QP_RST},
	{PRM_CMD_INIT2INIT_QP, 1 << PRM_QP_INIT},
	{PRM_CMD_INIT2RTR_QP, 1 << PRM_QP_INIT},
	{PRM_CMD_RTR2RTS_QP, 1 << PRM_QP_RTR},
	{PRM_CMD_RTS2RTS_QP, 1 << PRM_QP_RTS},
	{PRM_CMD_SQERR2RTS_QP, 0},
	{PRM_CMD_SQD_RTS_QP, 0},
};

static void drive(struct rig *rig, uint32_t qpn, uint8_t state)
{
	cr_assert_eq(rig_number(rig, PRM_CMD_QP_2RST, qpn), PRM_STATUS_OK, "%s", rig->why);
	if (state == PRM_QP_RST)
		return;
	if (state == PRM_QP_ERR) {
		cr_assert_eq(rig_number(rig, PRM_CMD_QP_2ERR, qpn), PRM_STATUS_OK, "%s", rig->why);
		return;
	}
	cr_assert_eq(to_init(rig, qpn), PRM_STATUS_OK, "%s", rig->why);
	if (state >= PRM_QP_RTR)
		cr_assert_eq(to_rtr(rig, qpn), PRM_STATUS_OK, "%s", rig->why);
	if (state >= PRM_QP_RTS)
		cr_assert_eq(to_rts(rig, qpn), PRM_STATUS_OK, "%s", rig->why);
}

RIG_TEST(cmd_qp, a_command_in_a_wrong_state_changes_nothing)
{
	static const uint8_t states[] = {PRM_QP_RST, PRM_QP_INIT, PRM_QP_RTR, PRM_QP_RTS,
					 PRM_QP_ERR};
	struct rig_qp q;

	rig_qp(rig, &q);
	for (size_t s = 0; s < sizeof(states); s++) {
		for (size_t n = 0; n < sizeof(legal) / sizeof(legal[0]); n++) {
			drive(rig, q.qpn, states[s]);
			rtr_mailbox(rig, q.qpn);
			PRM_SET(cmd_in, rig->in, opcode, legal[n].opcode);
			if (legal[n].from & 1 << states[s]) {
				cr_expect_eq(modify(rig), PRM_STATUS_OK, "%s", rig->why);
				continue;
			}
			cr_expect_eq(modify(rig), PRM_STATUS_BAD_RES_STATE, "0x%x in %u",
				     legal[n].opcode, states[s]);
			cr_expect_eq(qp_of(rig, q.qpn)->state, states[s]);
		}
	}
}

RIG_TEST(cmd_qp, an_optional_field_without_its_bit_is_ignored)
{
	struct rig_qp q;
	struct nm_qp *qp;

	rig_qp(rig, &q);
	qp = qp_of(rig, q.qpn);
	drive(rig, q.qpn, PRM_QP_INIT);
	rtr_mailbox(rig, q.qpn); /* rights are 0 in it */
	cr_assert_eq(modify(rig), PRM_STATUS_OK);
	cr_expect(qp->rwe && qp->rre && qp->rae);
	modify_begin(rig, PRM_CMD_RTR2RTS_QP, q.qpn, PRM_OPTPAR_RWE | PRM_OPTPAR_RNR_TIMEOUT);
	PRM_SET(qpc, in_qpc(rig), min_rnr_nak, 3);
	cr_assert_eq(modify(rig), PRM_STATUS_OK);
	cr_expect_not(qp->rwe, "its bit is set");
	cr_expect(qp->rre, "its bit is not");
	cr_expect_eq(qp->min_rnr_nak, 3);
	modify_begin(rig, PRM_CMD_RTS2RTS_QP, q.qpn, 0);
	cr_assert_eq(modify(rig), PRM_STATUS_OK);
	cr_expect_eq(qp->min_rnr_nak, 3);
	cr_expect_eq(qp->remote_qpn, 0x2b0155);
	cr_expect_eq(qp->retry_count, 0, "as RTR2RTS said");
}

RIG_TEST(cmd_qp, rts2rts_moves_the_dscp_and_keeps_the_address)
{
	struct rig_qp q;
	struct nm_qp *qp;

	rig_qp(rig, &q);
	qp = qp_of(rig, q.qpn);
	drive(rig, q.qpn, PRM_QP_RTS);
	modify_begin(rig, PRM_CMD_RTS2RTS_QP, q.qpn, PRM_OPTPAR_DSCP | PRM_OPTPAR_SGID_INDEX);
	PRM_SET(ads, ADS(in_qpc(rig)), dscp, 46);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_eq(qp->route.tclass, 46 << 2);
	cr_expect_eq(qp->route.dgid[15], 2);
	cr_expect_eq(qp->route.dmac[5], 0x44);
}

RIG_TEST(cmd_qp, senseless_values_are_refused_and_leave_the_state)
{
	struct rig_qp q;
	struct nm_qp *qp;

	rig_qp(rig, &q);
	qp = qp_of(rig, q.qpn);
	drive(rig, q.qpn, PRM_QP_INIT);
	rtr_mailbox(rig, q.qpn);
	PRM_SET(qpc, in_qpc(rig), mtu, 0);
	cr_expect_eq(modify(rig), PRM_STATUS_BAD_PARAM);
	PRM_SET(qpc, in_qpc(rig), mtu, 6);
	cr_expect_eq(modify(rig), PRM_STATUS_BAD_PARAM);
	PRM_SET(qpc, in_qpc(rig), mtu, 3);
	PRM_SET(ads, ADS(in_qpc(rig)), src_addr_index, 3);
	cr_expect_eq(modify(rig), PRM_STATUS_BAD_PARAM);
	cr_expect_eq(qp->state, PRM_QP_INIT);
	cr_expect_eq(qp->remote_qpn, 0, "nothing of a refused command is kept");
	cr_expect_eq(to_rtr(rig, q.qpn), PRM_STATUS_OK);
}

static uint16_t sport_towards(struct rig *rig, uint32_t qpn, uint32_t remote_qpn, uint16_t given)
{
	drive(rig, qpn, PRM_QP_INIT);
	rtr_mailbox(rig, qpn);
	PRM_SET(qpc, in_qpc(rig), remote_qpn, remote_qpn);
	PRM_SET(ads, ADS(in_qpc(rig)), udp_sport, given);
	cr_assert_eq(modify(rig), PRM_STATUS_OK, "%s", rig->why);
	return qp_of(rig, qpn)->route.udp_sport;
}

RIG_TEST(cmd_qp, both_ends_choose_the_same_source_port)
{
	struct rig_qp q;
	uint32_t peer;

	rig_qp(rig, &q);
	rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
	cr_assert_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_OK, "%s", rig->why);
	peer = rig_out_number(rig);
	cr_expect_eq(sport_towards(rig, q.qpn, peer, 0), sport_towards(rig, peer, q.qpn, 0));
	cr_expect_neq(sport_towards(rig, q.qpn, peer, 0), sport_towards(rig, q.qpn, peer + 1, 0));
	cr_expect_geq(sport_towards(rig, q.qpn, peer, 0), 0xc000);
	cr_expect_eq(sport_towards(rig, q.qpn, peer, 0xdead), 0xdead, "a given port is used");
}

RIG_TEST(cmd_qp, reset_and_error_are_reached_from_everywhere)
{
	static const uint8_t states[] = {PRM_QP_RST, PRM_QP_INIT, PRM_QP_RTR, PRM_QP_RTS,
					 PRM_QP_ERR};
	struct rig_qp q;

	rig_qp(rig, &q);
	for (size_t n = 0; n < sizeof(states); n++) {
		drive(rig, q.qpn, states[n]);
		cr_expect_eq(rig_number(rig, PRM_CMD_QP_2ERR, q.qpn), PRM_STATUS_OK);
		cr_expect_eq(qp_of(rig, q.qpn)->state, PRM_QP_ERR);
		drive(rig, q.qpn, states[n]);
		cr_expect_eq(rig_number(rig, PRM_CMD_QP_2RST, q.qpn), PRM_STATUS_OK);
		cr_expect_eq(qp_of(rig, q.qpn)->state, PRM_QP_RST);
	}
}

RIG_TEST(cmd_qp, a_qp_can_be_destroyed_in_every_state)
{
	static const uint8_t states[] = {PRM_QP_RST, PRM_QP_INIT, PRM_QP_RTR, PRM_QP_RTS,
					 PRM_QP_ERR};
	struct rig_qp q;

	rig_qp(rig, &q);
	for (size_t n = 0; n < sizeof(states); n++) {
		rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
		cr_assert_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_OK, "%s", rig->why);
		uint32_t qpn = rig_out_number(rig);
		drive(rig, qpn, states[n]);
		cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_QP, qpn), PRM_STATUS_OK);
		cr_expect_eq(rig_number(rig, PRM_CMD_QUERY_QP, qpn), PRM_STATUS_BAD_RES);
		rig_settle(rig);
	}
	cr_expect_eq(rig->nic->table[NM_OBJ_QP].count, 1);
}

RIG_TEST(cmd_qp, the_nic_may_go_with_everything_in_it)
{
	struct rig_qp q;

	rig_qp(rig, &q);
	drive(rig, q.qpn, PRM_QP_RTS);
	rig_umem(rig, 20, 1, 0);
	/* rig_close destroys the NIC; the sanitizers watch */
}

/* ---- timers and the run list ---- */

RIG_TEST(cmd_qp, timers_are_ordered_and_can_be_moved_and_disarmed)
{
	enum { MANY = 40 };
	struct rig_qp q;
	struct nm_qp *qp[MANY];
	uint64_t last = 0;

	rig_qp(rig, &q);
	for (int n = 0; n < MANY; n++) {
		rig_qp_mailbox(rig, q.pd, q.uar, q.cqn, 5, 7);
		cr_assert_eq(rig_command(rig, 0x120, 0x10), PRM_STATUS_OK, "%s", rig->why);
		qp[n] = qp_of(rig, rig_out_number(rig));
		nm_qp_timer_set(qp[n], 1000000 + (uint64_t)(n * 7919 % 101));
	}
	for (int n = 0; n < MANY; n += 3)
		nm_qp_timer_set(qp[n], 1000000 + (uint64_t)(n * 104729 % 97));
	for (int n = 1; n < MANY; n += 5)
		nm_qp_timer_set(qp[n], UINT64_MAX);
	cr_expect_eq(nm_nic_progress(rig->nic, NM_SLICE_NS).next_ns, rig->nic->timers[0]->timer_ns);
	while (rig->nic->ntimers) {
		struct nm_qp *first = rig->nic->timers[0];

		cr_expect_geq(first->timer_ns, last);
		last = first->timer_ns;
		nm_qp_timer_set(first, UINT64_MAX);
	}
}
