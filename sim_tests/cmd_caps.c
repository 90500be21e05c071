/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities and port: what programs ask before they make anything. */
#include "sim_tests/cmd_rig.h"

static const uint8_t *query_cap(struct rig *rig, uint16_t op_mod)
{
	rig_begin(rig, PRM_CMD_QUERY_HCA_CAP, op_mod);
	cr_assert_eq(rig_command(rig, 0x10, 0x1010), PRM_STATUS_OK, "%s", rig->why);
	return PRM_CPTR(query_hca_cap_out, rig->out, capability);
}

RIG_TEST(cmd_caps, the_gpunetio_host_library_gets_its_three_answers)
{
	const uint8_t *cap = query_cap(rig, 0x01);

	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, port_type), 1);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, rc), 1);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, hca_cap_2), 1);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, max_wqe_sz_sq), 1024);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, max_wqe_sz_rq), 512);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, log_max_qp_sz), 15);
	cap = query_cap(rig, 0x09);
	cr_expect_eq(PRM_GET(roce_cap, cap, r_roce_min_src_udp_port), 0xc000);
	cr_expect_eq(PRM_GET(roce_cap, cap, r_roce_max_src_udp_port), 0xffff);
	cr_expect_eq(PRM_GET(roce_cap, cap, roce_address_table_size), 1);
	cap = query_cap(rig, 0x41);
	cr_expect_eq(PRM_GET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext), 1);
}

RIG_TEST(cmd_caps, a_connectx7_needs_the_doorbell_record_and_a_connectx8_does_not)
{
	const uint8_t *cap;

	rig->nic->config.device_id = PRM_DEVICE_CONNECTX7;
	cap = query_cap(rig, 0x41);
	cr_expect_eq(PRM_GET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext), 0);
	rig->nic->config.device_id = PRM_DEVICE_CONNECTX8;
	cap = query_cap(rig, 0x41);
	cr_expect_eq(PRM_GET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext), 1);
}

RIG_TEST(cmd_caps, current_and_maximum_are_the_same)
{
	uint8_t current[0x1010];

	for (uint16_t type = 0; type < 0x30; type++) {
		query_cap(rig, (uint16_t)(type << 1 | 1));
		memcpy(current, rig->out, sizeof(current));
		query_cap(rig, (uint16_t)(type << 1));
		cr_expect_eq(memcmp(current, rig->out, sizeof(current)), 0, "type 0x%x", type);
	}
}

RIG_TEST(cmd_caps, what_is_not_modelled_is_not_advertised)
{
	const uint8_t *cap = query_cap(rig, 0x01);

	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, dct), 0);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, pg), 0);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, eth_net_offloads), 0);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, device_memory), 0, "this NIC was given none");
}

RIG_TEST(cmd_caps, keys_over_keys_and_windows_are_advertised)
{
	const uint8_t *cap = query_cap(rig, 0x01);

	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, imaicl), 1);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, log_max_klm_list_size), 16);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, max_indirection), NM_KLM_DEPTH);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, dump_fill_mkey), 1);
	rig_begin(rig, PRM_CMD_QUERY_SPECIAL_CONTEXTS, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x20), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(query_special_contexts_out, rig->out, dump_fill_mkey), NM_NULL_MKEY);
}

RIG_TEST(cmd_caps, atomics_are_of_4_and_8_bytes_in_host_order)
{
	const uint8_t *cap = query_cap(rig, PRM_CAP_ATOMIC << 1 | 1);

	cr_expect_eq(PRM_GET(atomic_caps, cap, atomic_operations), 0xf);
	cr_expect_eq(PRM_GET(atomic_caps, cap, atomic_size_qp), 0xc);
	cr_expect_eq(PRM_GET(atomic_caps, cap, atomic_req_8B_endianness_mode), 1);
}

RIG_TEST(cmd_caps, an_unknown_type_is_refused_and_a_short_answer_is_cut)
{
	rig_begin(rig, PRM_CMD_QUERY_HCA_CAP, 0x7ffe);
	cr_expect_eq(rig_command(rig, 0x10, 0x1010), PRM_STATUS_BAD_PARAM);
	rig_begin(rig, PRM_CMD_QUERY_HCA_CAP, 0x01);
	cr_expect_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK);
	cr_expect_eq(rig_command(rig, 0x10, 0x30), PRM_STATUS_OK);
}

static void use_infiniband(struct nm_config *config)
{
	config->link_is_ethernet = false;
}

Test(cmd_caps, an_infiniband_port_says_so_and_still_answers_for_roce)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const uint8_t *cap, *port;

	rig_open_config(rig, false, use_infiniband);
	cap = query_cap(rig, 0x01);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, port_type), 0);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, roce), 0);
	cr_expect_eq(PRM_GET(cmd_hca_cap, cap, ib_virt), 1);
	query_cap(rig, 0x09);
	rig_begin(rig, PRM_CMD_QUERY_HCA_VPORT_CONTEXT, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x210), PRM_STATUS_OK);
	port = PRM_CPTR(query_hca_vport_context_out, rig->out, hca_vport_context);
	cr_expect_eq(PRM_GET(hca_vport_context, port, lid), 7);
	cr_expect_eq(PRM_GET(hca_vport_context, port, port_state), 4);
	rig_begin(rig, PRM_CMD_QUERY_HCA_VPORT_PKEY, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x14), PRM_STATUS_OK);
	cr_expect_eq(prm_load32(rig->out + 0x10), 0xffff);
	PRM_SET(query_hca_vport_pkey_in, rig->in, pkey_index, 1);
	cr_assert_eq(rig_command(rig, 0x10, 0x14), PRM_STATUS_OK);
	cr_expect_eq(prm_load32(rig->out + 0x10), 0, "one valid entry");
	rig_close(rig);
}

RIG_TEST(cmd_caps, the_port_is_up_and_has_the_configured_names)
{
	const uint8_t *v;

	rig_begin(rig, PRM_CMD_QUERY_VPORT_STATE, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x10), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(query_vport_state_out, rig->out, state), 1);
	rig_begin(rig, PRM_CMD_QUERY_NIC_VPORT_CONTEXT, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x110), PRM_STATUS_OK);
	v = PRM_CPTR(query_nic_vport_context_out, rig->out, nic_vport_context);
	cr_expect_eq(PRM_GET64(nic_vport_context, v, node_guid), 0x0002c90300112233);
	cr_expect_eq(PRM_GET(nic_vport_context, v, roce_en), 1);
	cr_expect(PRM_GET(nic_vport_context, v, mtu) >= 4096);
	cr_expect_eq(memcmp(PRM_CPTR(nic_vport_context, v, permanent_address) + 2,
			    rig->nic->config.mac, 6),
		     0);
	rig_begin(rig, PRM_CMD_QUERY_ADAPTER, 0);
	cr_expect_eq(rig_command(rig, 0x10, 0x110), PRM_STATUS_OK);
}

RIG_TEST(cmd_caps, the_roce_address_reads_back_and_has_one_entry)
{
	const uint8_t *a = PRM_CPTR(roce_address_out, rig->out, roce_address);

	rig_begin(rig, PRM_CMD_QUERY_ROCE_ADDRESS, 0);
	cr_assert_eq(rig_command(rig, 0x10, 0x30), PRM_STATUS_OK);
	cr_expect_eq(a[0x1b], 2, "RoCE v2, where the host library reads it");
	cr_expect_eq(PRM_GET(roce_addr, a, roce_l3_type), 0);
	cr_expect_eq(prm_load32(PRM_CPTR(roce_addr, a, source_l3_address) + 12), 0x7f000001);
	cr_expect_eq(PRM_GET(roce_addr, a, source_mac_47_32), 0x0211);
	cr_expect_eq(PRM_GET(roce_addr, a, source_mac_31_0), 0x22334455);
	PRM_SET(roce_address_in, rig->in, roce_address_index, 1);
	cr_expect_eq(rig_command(rig, 0x10, 0x30), PRM_STATUS_BAD_PARAM);
}

RIG_TEST(cmd_caps, the_speed_register_reads_and_does_not_write)
{
	const uint8_t *r = PRM_CPTR(access_register_out, rig->out, register_data);

	rig_begin(rig, PRM_CMD_ACCESS_REG, 1);
	PRM_SET(access_register_in, rig->in, register_id, 0x5004);
	cr_assert_eq(rig_command(rig, 0x50, 0x50), PRM_STATUS_OK, "%s", rig->why);
	cr_expect_neq(PRM_GET(ptys_reg, r, ext_eth_proto_oper), 0);
	cr_expect_eq(rig_command(rig, 0x50, 0x4c), PRM_STATUS_BAD_OUTP_LEN);
	PRM_SET(cmd_in, rig->in, op_mod, 0);
	cr_expect_eq(rig_command(rig, 0x50, 0x50), PRM_STATUS_BAD_OP);
	PRM_SET(access_register_in, rig->in, register_id, 0x9999);
	cr_expect_eq(rig_command(rig, 0x50, 0x50), PRM_STATUS_BAD_PARAM);
}

RIG_TEST(cmd_caps, counters_are_read_by_set)
{
	uint32_t set = rig_alloc(rig, PRM_CMD_ALLOC_Q_COUNTER);
	struct nm_qcounter *counted =
		(struct nm_qcounter *)nm_obj_get(rig->nic, NM_OBJ_QCOUNTER, set);

	counted->counters.out_of_sequence = 0x123456789;
	rig_begin(rig, PRM_CMD_QUERY_Q_COUNTER, 0);
	PRM_SET(query_q_counter_in, rig->in, counter_set_id, set);
	cr_assert_eq(rig_command(rig, 0x20, 0x100), PRM_STATUS_OK);
	cr_expect_eq(PRM_GET(query_q_counter_out, rig->out, out_of_sequence), 0x23456789);
	PRM_SET(query_q_counter_in, rig->in, counter_set_id, set + 1);
	cr_expect_eq(rig_command(rig, 0x20, 0x100), PRM_STATUS_BAD_RES);
}
