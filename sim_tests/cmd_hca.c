// SPDX-License-Identifier: BSD-3-Clause
/* What a kernel's driver does with the function before and after it uses it; and what only its QPs
 * and keys do. */
#include "emu/nicmodel/wqe.h"
#include "sim_tests/cmd_rig.h"

#include <stdlib.h>
#include <string.h>

/* As RIG_TEST, for a NIC that `change` has configured. */
#define RIG_TEST_OF(suite, change, name)                                                           \
	static void name##_body(struct rig *rig);                                                  \
	static void name##_run(bool copied)                                                        \
	{                                                                                          \
		struct rig *rig = calloc(1, sizeof(*rig));                                         \
		rig_open_config(rig, copied, change);                                              \
		name##_body(rig);                                                                  \
		rig_close(rig);                                                                    \
	}                                                                                          \
	Test(suite, name##_mapped)                                                                 \
	{                                                                                          \
		name##_run(false);                                                                 \
	}                                                                                          \
	Test(suite, name##_copied)                                                                 \
	{                                                                                          \
		name##_run(true);                                                                  \
	}                                                                                          \
	static void name##_body(struct rig *rig)

static uint32_t pages_wanted(struct rig *rig, uint16_t when)
{
	rig_begin(rig, PRM_CMD_QUERY_PAGES, when);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK);
	return PRM_GET(query_pages_out, rig->out, num_pages);
}

static uint8_t give(struct rig *rig, uint32_t count, uint32_t said, uint64_t first)
{
	rig_begin(rig, PRM_CMD_MANAGE_PAGES, PRM_PAGES_GIVE);
	PRM_SET(manage_pages_in, rig->in, input_num_entries, said);
	for (uint32_t i = 0; i < count; i++)
		prm_store64(rig->in + 0x10 + 8 * (size_t)i, first + (uint64_t)i * RIG_PAGE);
	return rig_command(rig, 0x10 + 8 * (size_t)count, 0x10);
}

static uint32_t take(struct rig *rig, uint32_t count, size_t room)
{
	rig_begin(rig, PRM_CMD_MANAGE_PAGES, PRM_PAGES_TAKE);
	PRM_SET(manage_pages_in, rig->in, input_num_entries, count);
	cr_assert_eq(rig_command(rig, 0x10, 0x10 + 8 * room), PRM_STATUS_OK);
	return PRM_GET(manage_pages_out, rig->out, output_num_entries);
}

RIG_TEST(cmd_hca, pages_are_asked_for_kept_and_given_back)
{
	cr_assert_gt(pages_wanted(rig, PRM_PAGES_BOOT), 0);
	cr_assert_eq(pages_wanted(rig, PRM_PAGES_REGULAR), 0);
	cr_assert_eq(give(rig, 40, 40, 0x10000000), PRM_STATUS_OK);
	cr_assert_eq(pages_wanted(rig, PRM_PAGES_BOOT), 0);
	cr_assert_gt(pages_wanted(rig, PRM_PAGES_INIT), 0);
	cr_assert_eq(take(rig, 39, 100), 39);
	cr_assert_eq(prm_load64(rig->out + 0x10), 0x10000000 + 39 * RIG_PAGE, "the last one first");
	cr_assert_eq(take(rig, 39, 100), 1, "there are no more");
	cr_assert_eq(prm_load64(rig->out + 0x10), 0x10000000);
	cr_assert_eq(take(rig, 39, 100), 0);
}

RIG_TEST(cmd_hca, pages_are_checked)
{
	cr_assert_eq(give(rig, 2, 3, 0x1000), PRM_STATUS_BAD_INP_LEN, "fewer than it says");
	cr_assert_eq(give(rig, 0, UINT32_MAX, 0), PRM_STATUS_BAD_INP_LEN);
	cr_assert_eq(give(rig, 2, 2, 0x1008), PRM_STATUS_BAD_PARAM, "not aligned");
	cr_assert_eq(take(rig, UINT32_MAX, 4), 0, "nothing of it was kept");
	cr_assert_eq(give(rig, 8, 8, 0x1000), PRM_STATUS_OK);
	cr_assert_eq(take(rig, UINT32_MAX, 4), 4, "as many as the answer has room for");
	rig_begin(rig, PRM_CMD_MANAGE_PAGES, 7);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_BAD_PARAM);
	rig_begin(rig, PRM_CMD_QUERY_PAGES, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_BAD_PARAM);
	PRM_SET(query_pages_in, rig->in, function_id, 1);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_BAD_PARAM);
}

/* ---- capabilities that the driver sets ---- */

enum { MAXIMUM = 0, CURRENT = 1, CAP_BYTES = 0x100 };

static const uint8_t *cap_of(struct rig *rig, uint16_t which)
{
	rig_begin(rig, PRM_CMD_QUERY_HCA_CAP, PRM_CAP_GENERAL << 1 | which);
	cr_assert_eq(rig_command(rig, 0x10, 0x10 + CAP_BYTES), PRM_STATUS_OK);
	return rig->out + 0x10;
}

RIG_TEST(cmd_hca, capabilities_that_were_set_are_the_current_ones)
{
	uint8_t cap[CAP_BYTES];
	uint32_t most;

	memcpy(cap, cap_of(rig, CURRENT), sizeof(cap));
	most = PRM_GET(cmd_hca_cap, cap, log_max_qp);
	PRM_SET(cmd_hca_cap, cap, log_max_qp, most - 1);
	rig_begin(rig, PRM_CMD_SET_HCA_CAP, PRM_CAP_GENERAL << 1);
	memcpy(rig->in + 0x10, cap, sizeof(cap));
	cr_assert_eq(rig_command(rig, 0x10 + CAP_BYTES, 0x10), PRM_STATUS_OK);
	cr_assert_eq(PRM_GET(cmd_hca_cap, cap_of(rig, CURRENT), log_max_qp), most - 1);
	cr_assert_eq(PRM_GET(cmd_hca_cap, cap_of(rig, MAXIMUM), log_max_qp), most);
	nm_nic_reset(rig->nic);
	cr_assert_eq(PRM_GET(cmd_hca_cap, cap_of(rig, CURRENT), log_max_qp), most);
}

RIG_TEST(cmd_hca, of_the_atomic_capabilities_one_is_set)
{
	rig_begin(rig, PRM_CMD_SET_HCA_CAP, PRM_CAP_ATOMIC << 1);
	PRM_SET(atomic_caps, rig->in + 0x10, atomic_req_8B_endianness_mode, 1);
	cr_assert_eq(rig_command(rig, 0x10 + CAP_BYTES, 0x10), PRM_STATUS_OK);
	rig_begin(rig, PRM_CMD_QUERY_HCA_CAP, PRM_CAP_ATOMIC << 1 | CURRENT);
	cr_assert_eq(rig_command(rig, 0x10, 0x10 + CAP_BYTES), PRM_STATUS_OK);
	cr_assert_eq(PRM_GET(atomic_caps, rig->out + 0x10, atomic_req_8B_endianness_mode), 1);
	cr_assert_gt(PRM_GET(atomic_caps, rig->out + 0x10, atomic_operations), 0,
		     "the driver left them zero");
}

RIG_TEST(cmd_hca, no_capability_is_raised_above_the_devices)
{
	uint8_t cap[CAP_BYTES];

	memcpy(cap, cap_of(rig, CURRENT), sizeof(cap));
	PRM_SET(cmd_hca_cap, cap, log_max_qp, PRM_GET(cmd_hca_cap, cap, log_max_qp) + 1);
	rig_begin(rig, PRM_CMD_SET_HCA_CAP, PRM_CAP_GENERAL << 1);
	memcpy(rig->in + 0x10, cap, sizeof(cap));
	cr_assert_eq(rig_command(rig, 0x10 + CAP_BYTES, 0x10), PRM_STATUS_BAD_PARAM);
	PRM_SET(cmd_in, rig->in, op_mod, 0x30 << 1);
	cr_assert_eq(rig_command(rig, 0x10 + CAP_BYTES, 0x10), PRM_STATUS_BAD_PARAM,
		     "no such type");
}

/* ---- the end ---- */

RIG_TEST(cmd_hca, teardown_and_reset_end_all_objects)
{
	struct rig_qp qp;

	for (int round = 0; round < 2; round++) {
		rig_qp(rig, &qp);
		if (round == 0) {
			rig_begin(rig, PRM_CMD_TEARDOWN_HCA, 0);
			cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK);
		} else {
			nm_nic_reset(rig->nic);
		}
		cr_assert_eq(rig_number(rig, PRM_CMD_DESTROY_QP, qp.qpn), PRM_STATUS_BAD_RES);
		cr_assert_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, qp.pd), PRM_STATUS_BAD_RES);
	}
}

/* ---- ports ---- */

static void use_infiniband(struct nm_config *config)
{
	config->link_is_ethernet = false;
}

static uint32_t port_caps(struct rig *rig)
{
	const uint8_t *v = PRM_CPTR(query_hca_vport_context_out, rig->out, hca_vport_context);

	rig_begin(rig, PRM_CMD_QUERY_HCA_VPORT_CONTEXT, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x210), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(hca_vport_context, v, vport_state), 4, "what mlx5_ib takes for it");
	return PRM_GET(hca_vport_context, v, cap_mask1);
}

RIG_TEST_OF(cmd_hca, use_infiniband, the_driver_sets_bits_of_the_port)
{
	enum { CM_SUPPORTED = 1 << 16, SL_MAPPING = 1 << 6 };
	uint8_t *v = PRM_PTR(modify_hca_vport_context_in, rig->in, hca_vport_context);

	cr_assert_eq(port_caps(rig), 0);
	rig_begin(rig, PRM_CMD_MODIFY_HCA_VPORT_CONTEXT, 0);
	PRM_SET(hca_vport_context, v, cap_mask1, CM_SUPPORTED | SL_MAPPING);
	PRM_SET(hca_vport_context, v, cap_mask1_field_select, CM_SUPPORTED);
	cr_assert_eq(rig_command(rig, 0x210, 0x10), PRM_STATUS_OK);
	cr_assert_eq(port_caps(rig), CM_SUPPORTED, "the selected ones");
	rig_begin(rig, PRM_CMD_MODIFY_HCA_VPORT_CONTEXT, 0);
	PRM_SET(hca_vport_context, v, cap_mask1_field_select, SL_MAPPING);
	cr_assert_eq(rig_command(rig, 0x210, 0x10), PRM_STATUS_BAD_PARAM);
}

RIG_TEST_OF(cmd_hca, use_infiniband, the_gid_table_has_empty_entries)
{
	rig_begin(rig, PRM_CMD_QUERY_HCA_VPORT_GID, 0);
	prm_store32(rig->in + 0x0c, 7);
	cr_assert_eq(rig_command(rig, 0x10, 0x20), PRM_STATUS_OK);
	cr_assert_eq(prm_load64(rig->out + 0x10) | prm_load64(rig->out + 0x18), 0);
	prm_store32(rig->in + 0x0c, 8);
	cr_assert_eq(rig_command(rig, 0x10, 0x20), PRM_STATUS_BAD_PARAM);
}

RIG_TEST(cmd_hca, a_mad_is_answered_that_nothing_is_supported)
{
	rig_begin(rig, PRM_CMD_MAD_IFC, 3);
	rig->in[0x10 + 3] = 1; /* Get */
	rig->in[0x10 + 200] = 0x77;
	cr_assert_eq(rig_command(rig, 0x110, 0x110), PRM_STATUS_OK);
	cr_assert_eq(rig->out[0x10 + 3], 0x81, "GetResp");
	cr_assert_eq(rig->out[0x10 + 5], 0x0c, "method and attribute not supported");
	cr_assert_eq(rig->out[0x10 + 200], 0x77);
}

static uint8_t reg(struct rig *rig, uint32_t id, uint16_t op_mod)
{
	rig_begin(rig, PRM_CMD_ACCESS_REG, op_mod);
	PRM_SET(access_register_in, rig->in, register_id, id);
	return rig_command(rig, 0x110, 0x110);
}

RIG_TEST(cmd_hca, registers_that_a_driver_reads_and_writes)
{
	enum { WRITE = 0, READ = 1 };

	cr_assert_eq(reg(rig, 0x7004, WRITE), PRM_STATUS_OK);
	cr_assert_eq(reg(rig, 0x7004, READ), PRM_STATUS_BAD_OP, "HOST_ENDIANNESS tells nothing");
	cr_assert_eq(reg(rig, 0x5003, WRITE), PRM_STATUS_BAD_OP, "the MTU is as it is");
	cr_assert_eq(reg(rig, 0x500f, READ), PRM_STATUS_OK);
	cr_assert_eq(rig->out[0x10 + 0x07] & 0xf, 15, "lanes 0 to 14");
	cr_assert_eq(reg(rig, 0x6001, READ), PRM_STATUS_OK);
	cr_assert_eq(memcmp(rig->out + 0x10, "gdakit ", 7), 0);
	cr_assert_eq(reg(rig, 0x5004, READ), PRM_STATUS_OK);
}

/* ---- doorbells that are handed over ---- */

static void trap(struct nm_config *config)
{
	config->doorbells_trapped = true;
	config->uar_first = 5;
}

RIG_TEST_OF(cmd_hca, trap, where_doorbells_are_handed_over_a_record_arms_nothing)
{
	const struct rig_cq with = {.log_size = 4, .ring_page = 0, .dbr_page = 8};
	struct nm_cq *cq;
	uint32_t cqn;

	cqn = rig_cq(rig, &with);
	cq = rig_cq_of(rig, cqn);
	cr_assert_eq(cq->uar->obj.number, 5, "the first page that is handed out");
	prm_store32(rig->memory + 8 * RIG_PAGE + 4, 2u << 28);
	prm_store64(cq->uar->page + PRM_UAR_CQ_ARM, cqn);
	rig->now_ns += 10000000;
	rig_settle(rig);
	cr_assert_eq(cq->arm_state, 0, "neither the record nor the page");
	nm_nic_doorbell(rig->nic, 5, PRM_UAR_CQ_ARM, (uint64_t)0 << 32 | cqn);
	rig_settle(rig);
	cr_assert_eq(cq->arm_state, PRM_CQ_ST_ARMED, "even where the arm is all zero");
}

RIG_TEST(cmd_hca, command_events_go_to_who_asks)
{
	uint32_t eqn;

	rig_eq(rig, 1 << PRM_EVENT_PORT_CHANGE);
	cr_assert(!nm_nic_command_events(rig->nic));
	nm_nic_command_done(rig->nic, 4);
	cr_assert_eq(rig->events, 0);
	eqn = rig_eq(rig, 1 << PRM_EVENT_COMMAND);
	cr_assert(nm_nic_command_events(rig->nic));
	nm_nic_command_done(rig->nic, 4);
	cr_assert_eq(rig->events, 1);
	cr_assert_eq(rig->event[0].eqn, eqn);
	cr_assert_eq(rig->event[0].eqe[PRM_EQE_TYPE], PRM_EVENT_COMMAND);
	cr_assert_eq(prm_load32(rig->event[0].eqe + PRM_EQE_DATA), 4);
}

/* ---- the driver's own QPs ---- */

static uint8_t qp_of(struct rig *rig, struct rig_qp *with, uint8_t st, uint32_t pd)
{
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);

	rig_qp_mailbox(rig, pd, with->uar, with->cqn, 10, 14);
	PRM_SET(qpc, qpc, st, st);
	return rig_command(rig, PRM_create_qp_in_pas_OFF + 8 * 2, 0x10);
}

RIG_TEST(cmd_hca, the_driver_has_qps_of_its_own)
{
	struct rig_qp qp;
	uint16_t uid;

	rig_qp(rig, &qp);
	cr_assert_eq(qp_of(rig, &qp, PRM_QP_ST_QP0, qp.pd), PRM_STATUS_OK);
	cr_assert_eq(qp_of(rig, &qp, PRM_QP_ST_QP1, qp.pd), PRM_STATUS_OK);
	cr_assert_eq(qp_of(rig, &qp, PRM_QP_ST_UMR, 0), PRM_STATUS_OK, "it names no PD");
	cr_assert_eq(rig_number(rig, PRM_CMD_DESTROY_QP, rig_out_number(rig)), PRM_STATUS_OK);
	cr_assert_eq(qp_of(rig, &qp, 11, qp.pd), PRM_STATUS_BAD_PARAM, "not modelled");
	uid = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	rig->uid = uid;
	cr_assert_eq(qp_of(rig, &qp, PRM_QP_ST_UMR, 0), PRM_STATUS_BAD_PARAM, "not a user's");
	cr_assert_eq(qp_of(rig, &qp, PRM_QP_ST_QP1, qp.pd), PRM_STATUS_BAD_PARAM);
	rig->uid = 0;
}

enum { KEY_PAGE = 20, WQE_OCTWORDS = 12, UMR_LEN = 1 << 0, UMR_START = 1 << 6, UMR_PD = 1 << 7 };

static uint32_t free_key(struct rig *rig, uint32_t pd)
{
	uint8_t *mkc = PRM_PTR(create_mkey_in, rig->in, mkc);

	rig_begin(rig, PRM_CMD_CREATE_MKEY, 0);
	PRM_SET(mkc, mkc, free, 1);
	PRM_SET(mkc, mkc, umr_en, 1);
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_MTT);
	PRM_SET(mkc, mkc, log_page_size, 12);
	PRM_SET(mkc, mkc, translations_octword_size, 1);
	PRM_SET(mkc, mkc, pd, pd);
	PRM_SET(mkc, mkc, qpn, 0xffffff);
	cr_assert_eq(rig_command(rig, PRM_create_mkey_in_klm_pas_mtt_OFF, 0x10), PRM_STATUS_OK);
	return rig_out_number(rig) << 8;
}

/* The key becomes one page of rig->memory, in another PD; entries come in units of four. */
static void post_umr(struct rig *rig, uint32_t qpn, uint32_t key, uint32_t pd, uint32_t sq_off)
{
	uint8_t *wqe = rig_page(rig, 10) + sq_off, *mkc = wqe + 64;

	memset(wqe, 0, WQE_OCTWORDS * 16);
	prm_store32(wqe, PRM_WQE_UMR);
	prm_store32(wqe + 4, qpn << 8 | WQE_OCTWORDS);
	wqe[11] = 8; /* a CQE */
	prm_store32(wqe + 12, key);
	wqe[16] = NM_UMR_INLINE;
	prm_store32(wqe + 20, 4 << 16);
	prm_store64(wqe + 24, UMR_LEN | UMR_START | UMR_PD | 1 << 17 | 1 << 29);
	PRM_SET(mkc, mkc, lr, 1);
	PRM_SET(mkc, mkc, pd, pd);
	PRM_SET64(mkc, mkc, start_addr, 0x7000);
	PRM_SET64(mkc, mkc, len, RIG_PAGE);
	prm_store64(wqe + 128, (uintptr_t)rig_page(rig, KEY_PAGE));
	prm_store32(rig_page(rig, 14) + 4, 3);
}

static void to_rts(struct rig *rig, uint32_t qpn)
{
	static const uint16_t steps[] = {PRM_CMD_RST2INIT_QP, PRM_CMD_INIT2RTR_QP,
					 PRM_CMD_RTR2RTS_QP};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint8_t *qpc = PRM_PTR(modify_qp_in, rig->in, qpc);

		rig_begin(rig, steps[i], 0);
		PRM_SET(modify_qp_in, rig->in, qpn, qpn);
		PRM_SET(qpc, qpc, mtu, 3);
		cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK);
	}
}

RIG_TEST_OF(cmd_hca, use_infiniband, a_qp_of_the_driver_moves_a_key_to_another_pd)
{
	uint32_t mine, other, key, umr_qpn;
	struct nm_mkey *found;
	char why[NM_WHY_MAX];
	struct rig_qp qp;

	rig_qp(rig, &qp);
	mine = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	other = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	key = free_key(rig, mine);
	cr_assert_eq(qp_of(rig, &qp, PRM_QP_ST_UMR, 0), PRM_STATUS_OK);
	umr_qpn = rig_out_number(rig);
	to_rts(rig, umr_qpn);
	post_umr(rig, umr_qpn, key, other, 16 * 64);
	nm_nic_doorbell(rig->nic, qp.uar, PRM_UAR_BF, (uint64_t)3 << 40 | (uint64_t)umr_qpn << 8);
	rig_settle(rig);
	cr_assert_eq(
		nm_mkey_check(rig->nic, key, 0x7000, RIG_PAGE, NM_ACC_LR, other, 1, &found, why),
		NM_KEY_OK, "%s (%s)", why, rig->diagnosis);
	cr_assert_eq(nm_mkey_check(rig->nic, key, 0x7000, 1, NM_ACC_LR, mine, 1, &found, why),
		     NM_KEY_PD);
	cr_assert_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, other), PRM_STATUS_RES_BUSY,
		     "the key uses it now");
	cr_assert_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, mine), PRM_STATUS_OK);
}
