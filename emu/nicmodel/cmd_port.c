/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of the device and its one port: adapter, vport, GID and P_Key tables, registers,
 * counters. */
#include <stdio.h>

#include "emu/nicmodel/cmd.h"

enum {
	NM_ISSI = 1,	       /* interface step sequence id that the driver selects */
	NM_VENDOR = 0x02c9,    /* IEEE OUI of the vendor whose interface this is */
	NM_PORT_UP = 1,	       /* QUERY_VPORT_STATE */
	NM_IB_PORT_ACTIVE = 4, /* IBTA PortInfo.PortState, PortPhysicalState */
	NM_IB_PHYS_LINKUP = 5,
	NM_IB_SUBNET_TIMEOUT = 18,
	/* IBTA PortInfo.CapabilityMask that a driver sets: IsSM, IsSNMP, IsDeviceManagement,
	   IsVendorClass, IsCommunicationManagement */
	NM_IB_CAP_MASK_SETTABLE = 1 << 1 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19,
	NM_PKEY_DEFAULT = 0xffff,
	NM_GID_ENTRIES = 8,    /* as the capability tells; the first one is used */
	NM_VL_0_TO_14 = 15,    /* PVLC */
	NM_REG_NODE_DESC = 64, /* bytes */
	NM_REG_ENDIANNESS = 16,
	NM_L3_IPV4 = 0,
	NM_L3_IPV6 = 1,
	NM_ROCE_V2 = 2,
	NM_RESD_LKEY = 0,    /* no reserved key is modelled */
	NM_ETH_HEADERS = 18, /* Ethernet header and one VLAN tag around the port's MTU */
	NM_ROCE_OVERHEAD =
		1500 - 1024, /* what the netdev MTU has to spare for RoCE headers, at least */
};

static uint32_t port_mtu_bytes(const struct nm_nic *nic)
{
	return 128u << nic->config.port_mtu;
}

static uint64_t port_guid(const struct nm_nic *nic)
{
	return nic->config.node_guid;
}

/* ---- device ---- */

uint8_t nm_cmd_query_adapter(struct nm_cmd *c)
{
	static const char psid[16] = "GDK0000000001";
	uint8_t *block = PRM_PTR(query_adapter_out, c->out, query_adapter_struct);

	PRM_SET(query_adapter_param_block, block, ieee_vendor_id, NM_VENDOR);
	PRM_SET(query_adapter_param_block, block, vsd_vendor_id, NM_VENDOR);
	memcpy(PRM_PTR(query_adapter_param_block, block, vsd_contd_psid), psid, sizeof(psid));
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_issi(struct nm_cmd *c)
{
	PRM_SET(query_issi_out, c->out, current_issi, NM_ISSI);
	PRM_SET(query_issi_out, c->out, supported_issi_dw0, 1u << 0 | 1u << NM_ISSI);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_set_issi(struct nm_cmd *c)
{
	uint32_t issi = prm_load32(c->in + 0x08) & 0xffff;

	if (issi != NM_ISSI)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "issi %u; %d is supported", issi, NM_ISSI);
	return PRM_STATUS_OK;
}

/* null_mkey, the hole in an implicit ODP region, is not modelled; its capability is 0. */
uint8_t nm_cmd_query_special_contexts(struct nm_cmd *c)
{
	PRM_SET(query_special_contexts_out, c->out, dump_fill_mkey, NM_NULL_MKEY);
	PRM_SET(query_special_contexts_out, c->out, resd_lkey, NM_RESD_LKEY);
	if (c->out_len >= PRM_SIZE(query_special_contexts_out))
		PRM_SET(query_special_contexts_out, c->out, terminate_scatter_list_mkey,
			PRM_LKEY_TERMINATOR);
	return PRM_STATUS_OK;
}

/*
 * A MAD that the port answers itself (IBTA 13.4). No attribute of any class is modelled: the port
 * tells of itself by the vport commands, and a driver asks by MADs only what is not there.
 */
uint8_t nm_cmd_mad_ifc(struct nm_cmd *c)
{
	enum { MAD_METHOD = 3, MAD_STATUS = 4, METHOD_RESPONSE = 0x80, UNSUPPORTED = 3 << 2 };
	uint8_t *mad = PRM_PTR(mad_ifc_out, c->out, response_mad_packet);

	memcpy(mad, PRM_CPTR(mad_ifc_in, c->in, mad), PRM_mad_ifc_in_mad_BYTES);
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	mad[MAD_STATUS] = 0;
	mad[MAD_STATUS + 1] = UNSUPPORTED;
	return PRM_STATUS_OK;
}

/* ---- vport ---- */

uint8_t nm_cmd_query_vport_state(struct nm_cmd *c)
{
	PRM_SET(query_vport_state_out, c->out, admin_state, NM_PORT_UP);
	PRM_SET(query_vport_state_out, c->out, state, NM_PORT_UP);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_nic_vport_context(struct nm_cmd *c)
{
	const struct nm_nic *nic = c->nic;
	uint8_t *v = PRM_PTR(query_nic_vport_context_out, c->out, nic_vport_context);

	PRM_SET(nic_vport_context, v, roce_en, nic->config.link_is_ethernet);
	PRM_SET(nic_vport_context, v, mtu, port_mtu_bytes(nic) + NM_ROCE_OVERHEAD);
	PRM_SET64(nic_vport_context, v, system_image_guid, nic->config.node_guid);
	PRM_SET64(nic_vport_context, v, port_guid, port_guid(nic));
	PRM_SET64(nic_vport_context, v, node_guid, nic->config.node_guid);
	memcpy(PRM_PTR(nic_vport_context, v, permanent_address) + 2, nic->config.mac,
	       sizeof(nic->config.mac));
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_hca_vport_context(struct nm_cmd *c)
{
	const struct nm_nic *nic = c->nic;
	uint8_t *v = PRM_PTR(query_hca_vport_context_out, c->out, hca_vport_context);

	if (nic->config.link_is_ethernet)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD, "the port is Ethernet");
	PRM_SET(hca_vport_context, v, port_physical_state, NM_IB_PHYS_LINKUP);
	PRM_SET(hca_vport_context, v, port_state, NM_IB_PORT_ACTIVE);
	PRM_SET(hca_vport_context, v, vport_state, NM_IB_PORT_ACTIVE);
	PRM_SET64(hca_vport_context, v, system_image_guid, nic->config.node_guid);
	PRM_SET64(hca_vport_context, v, port_guid, port_guid(nic));
	PRM_SET64(hca_vport_context, v, node_guid, nic->config.node_guid);
	PRM_SET(hca_vport_context, v, lid, nic->config.lid);
	PRM_SET(hca_vport_context, v, cap_mask1, nic->port_cap_mask);
	PRM_SET(hca_vport_context, v, cap_mask1_field_select, NM_IB_CAP_MASK_SETTABLE);
	PRM_SET(hca_vport_context, v, subnet_timeout, NM_IB_SUBNET_TIMEOUT);
	PRM_SET(hca_vport_context, v, sm_lid, 1);
	return PRM_STATUS_OK;
}

/* The bits of the capability mask that the driver selects; nothing else of a port is settable. */
uint8_t nm_cmd_modify_hca_vport_context(struct nm_cmd *c)
{
	const uint8_t *v = PRM_CPTR(modify_hca_vport_context_in, c->in, hca_vport_context);
	uint32_t select = PRM_GET(hca_vport_context, v, cap_mask1_field_select);
	uint32_t mask = PRM_GET(hca_vport_context, v, cap_mask1);

	if (c->nic->config.link_is_ethernet)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD, "the port is Ethernet");
	if (PRM_GET(hca_vport_context, v, field_select))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "field_select 0x%x; the capability mask alone can be set",
				   PRM_GET(hca_vport_context, v, field_select));
	if (select & ~(uint32_t)NM_IB_CAP_MASK_SETTABLE)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "cap_mask1_field_select 0x%x; 0x%x can be set", select,
				   NM_IB_CAP_MASK_SETTABLE);
	c->nic->port_cap_mask = (c->nic->port_cap_mask & ~select) | (mask & select);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_hca_vport_gid(struct nm_cmd *c)
{
	uint32_t index = prm_load32(c->in + 0x0c) & 0xffff;

	if (index >= NM_GID_ENTRIES && index != 0xffff) /* 0xffff: the whole table */
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "gid_index %u; the table has %d entries", index, NM_GID_ENTRIES);
	PRM_SET(query_hca_vport_gid_out, c->out, gids_num, 1);
	if (index != 0 && index != 0xffff)
		return PRM_STATUS_OK; /* empty */
	memcpy(PRM_PTR(query_hca_vport_gid_out, c->out, gid), c->nic->gid, sizeof(c->nic->gid));
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_query_hca_vport_pkey(struct nm_cmd *c)
{
	uint32_t index = PRM_GET(query_hca_vport_pkey_in, c->in, pkey_index);

	if (index == 0 || index == 0xffff)
		prm_store32(PRM_PTR(query_hca_vport_pkey_out, c->out, pkey), NM_PKEY_DEFAULT);
	return PRM_STATUS_OK; /* entries beyond the first are invalid, that is 0 */
}

/* ---- RoCE address table: one entry ---- */

static uint8_t roce_index(struct nm_cmd *c)
{
	uint32_t index = PRM_GET(roce_address_in, c->in, roce_address_index);

	if (index)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "roce_address_index %u; the table has one entry, 0", index);
	return PRM_STATUS_OK;
}

static bool gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

uint8_t nm_cmd_query_roce_address(struct nm_cmd *c)
{
	const struct nm_nic *nic = c->nic;
	uint8_t *a = PRM_PTR(roce_address_out, c->out, roce_address);
	uint8_t status = roce_index(c);

	if (status || !nic->gid_valid)
		return status;
	memcpy(PRM_PTR(roce_addr, a, source_l3_address), nic->gid, sizeof(nic->gid));
	PRM_SET(roce_addr, a, source_mac_47_32,
		(uint32_t)nic->config.mac[0] << 8 | nic->config.mac[1]);
	PRM_SET(roce_addr, a, source_mac_31_0, prm_load32(nic->config.mac + 2));
	PRM_SET(roce_addr, a, roce_l3_type, gid_is_ipv4(nic->gid) ? NM_L3_IPV4 : NM_L3_IPV6);
	PRM_SET(roce_addr, a, roce_version, NM_ROCE_V2);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_set_roce_address(struct nm_cmd *c)
{
	static const uint8_t none[16];
	const uint8_t *a = PRM_CPTR(roce_address_in, c->in, roce_address);
	const uint8_t *gid = PRM_CPTR(roce_addr, a, source_l3_address);
	uint8_t status = roce_index(c);

	if (status)
		return status;
	if (memcmp(gid, none, sizeof(none)) != 0 &&
	    PRM_GET(roce_addr, a, roce_version) != NM_ROCE_V2)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "roce_version %u; RoCE v2 (2) is modelled (and advertised)",
				   PRM_GET(roce_addr, a, roce_version));
	memcpy(c->nic->gid, gid, sizeof(c->nic->gid));
	c->nic->gid_valid = memcmp(gid, none, sizeof(none)) != 0; /* all zero clears the entry */
	return PRM_STATUS_OK;
}

/* ---- registers ---- */

/* A 400 Gb/s port: 400GAUI-4 or 4X NDR (PRM, PTYS). */
enum {
	NM_EXT_ETH_400G = 1 << 16,
	NM_IB_WIDTH_4X = 1 << 2,
	NM_IB_NDR = 1 << 7,
	NM_PROTO_IB = 1,
	NM_PROTO_ETH = 4
};

static void reg_ptys(const struct nm_nic *nic, uint8_t *r)
{
	PRM_SET(ptys_reg, r, local_port, 1);
	if (nic->config.link_is_ethernet) {
		PRM_SET(ptys_reg, r, proto_mask, NM_PROTO_ETH);
		PRM_SET(ptys_reg, r, ext_eth_proto_capability, NM_EXT_ETH_400G);
		PRM_SET(ptys_reg, r, ext_eth_proto_admin, NM_EXT_ETH_400G);
		PRM_SET(ptys_reg, r, ext_eth_proto_oper, NM_EXT_ETH_400G);
		return;
	}
	PRM_SET(ptys_reg, r, proto_mask, NM_PROTO_IB);
	PRM_SET(ptys_reg, r, ib_link_width_capability, NM_IB_WIDTH_4X);
	PRM_SET(ptys_reg, r, ib_proto_capability, NM_IB_NDR);
	PRM_SET(ptys_reg, r, ib_link_width_admin, NM_IB_WIDTH_4X);
	PRM_SET(ptys_reg, r, ib_proto_admin, NM_IB_NDR);
	PRM_SET(ptys_reg, r, ib_link_width_oper, NM_IB_WIDTH_4X);
	PRM_SET(ptys_reg, r, ib_proto_oper, NM_IB_NDR);
}

static void reg_pmtu(const struct nm_nic *nic, uint8_t *r)
{
	uint32_t mtu = port_mtu_bytes(nic);

	if (nic->config.link_is_ethernet)
		mtu += NM_ROCE_OVERHEAD + NM_ETH_HEADERS;
	PRM_SET(pmtu_reg, r, local_port, 1);
	PRM_SET(pmtu_reg, r, max_mtu, mtu);
	PRM_SET(pmtu_reg, r, admin_mtu, mtu);
	PRM_SET(pmtu_reg, r, oper_mtu, mtu);
}

static void reg_pvlc(const struct nm_nic *nic, uint8_t *r)
{
	(void)nic;
	PRM_SET(pvlc_reg, r, local_port, 1);
	PRM_SET(pvlc_reg, r, vl_hw_cap, NM_VL_0_TO_14);
	PRM_SET(pvlc_reg, r, vl_admin, NM_VL_0_TO_14);
	PRM_SET(pvlc_reg, r, vl_operational, NM_VL_0_TO_14);
}

/* The node description of IBTA's NodeDescription, 64 characters. */
static void reg_node_desc(const struct nm_nic *nic, uint8_t *r)
{
	snprintf((char *)r, NM_REG_NODE_DESC, "gdakit %s", nic->name);
}

/* Writes are accepted where they change nothing that is modelled. */
static const struct {
	uint16_t id;
	uint16_t bytes;
	void (*read)(const struct nm_nic *nic, uint8_t *r); /* NULL: cannot be read */
	bool writable;
	const char *name;
} registers[] = {
	{0x5003, PRM_pmtu_reg_SIZE, reg_pmtu, false, "PMTU"},
	{0x5004, PRM_ptys_reg_SIZE, reg_ptys, false, "PTYS"},
	{0x500f, PRM_pvlc_reg_SIZE, reg_pvlc, false, "PVLC"},
	{0x6001, NM_REG_NODE_DESC, reg_node_desc, true, "NODE_DESC"},
	{0x7004, NM_REG_ENDIANNESS, NULL, true, "HOST_ENDIANNESS"},
};

uint8_t nm_cmd_access_reg(struct nm_cmd *c)
{
	enum { ACCESS_REG_WRITE = 0, ACCESS_REG_READ = 1 };
	uint32_t id = PRM_GET(access_register_in, c->in, register_id);
	size_t room = c->out_len - PRM_SIZE(access_register_out);

	for (size_t n = 0; n < sizeof(registers) / sizeof(registers[0]); n++) {
		if (registers[n].id != id)
			continue;
		if (c->op_mod == ACCESS_REG_WRITE && registers[n].writable)
			return PRM_STATUS_OK;
		if (c->op_mod != ACCESS_REG_READ || !registers[n].read)
			return nm_cmd_fail(
				c, PRM_STATUS_BAD_OP, NM_SYND_OP_MOD,
				"register %s cannot be %s (op_mod %u)", registers[n].name,
				c->op_mod == ACCESS_REG_READ ? "read" : "written", c->op_mod);
		if (room < registers[n].bytes)
			return nm_cmd_fail(
				c, PRM_STATUS_BAD_OUTP_LEN, NM_SYND_OUT_LEN,
				"register %s has %u bytes, the output mailbox room for %zu",
				registers[n].name, registers[n].bytes, room);
		registers[n].read(c->nic, PRM_PTR(access_register_out, c->out, register_data));
		return PRM_STATUS_OK;
	}
	return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
			   "register 0x%x is not modelled", id);
}

/* ---- counters ---- */

#define COUNTER_(f)                                                                                \
	{                                                                                          \
		offsetof(struct nm_counters, f), PRM_query_q_counter_out_##f##_OFF                 \
	}

static const struct {
	size_t from;
	uint16_t to;
} q_counters[] = {
	COUNTER_(rx_write_requests),
	COUNTER_(rx_read_requests),
	COUNTER_(rx_atomic_requests),
	COUNTER_(out_of_buffer),
	COUNTER_(out_of_sequence),
	COUNTER_(duplicate_request),
	COUNTER_(rnr_nak_retry_err),
	COUNTER_(packet_seq_err),
	COUNTER_(implied_nak_seq_err),
	COUNTER_(local_ack_timeout_err),
	COUNTER_(resp_local_length_error),
	COUNTER_(resp_cqe_error),
	COUNTER_(req_cqe_error),
	COUNTER_(req_remote_invalid_request),
	COUNTER_(req_remote_access_errors),
	COUNTER_(resp_remote_access_errors),
	COUNTER_(resp_cqe_flush_error),
	COUNTER_(req_cqe_flush_error),
};

uint8_t nm_cmd_query_q_counter(struct nm_cmd *c)
{
	uint32_t set = PRM_GET(query_q_counter_in, c->in, counter_set_id);
	const struct nm_counters *counters = &c->nic->no_set;
	uint8_t status = PRM_STATUS_OK;

	/* Set 0 is what QPs use that name none. */
	if (set) {
		struct nm_obj *obj = nm_cmd_own(c, NM_OBJ_QCOUNTER, set, &status);

		if (!obj)
			return status;
		counters = &((struct nm_qcounter *)obj)->counters;
	}
	for (size_t n = 0; n < sizeof(q_counters) / sizeof(q_counters[0]); n++) {
		uint64_t value;

		memcpy(&value, (const uint8_t *)counters + q_counters[n].from, sizeof(value));
		prm_store32(c->out + q_counters[n].to, (uint32_t)value);
	}
	return PRM_STATUS_OK;
}
