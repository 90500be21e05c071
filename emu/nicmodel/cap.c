/* SPDX-License-Identifier: BSD-3-Clause */
/* QUERY_HCA_CAP, SET_HCA_CAP: capabilities out of the device's table, plus what its port decides.
 */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

enum { NM_CAP_BYTES = PRM_cmd_hca_cap_SIZE, NM_CAP_CURRENT = 1 };

/* Types that exist and of which nothing is modelled read as all zero, as on a device without the
 * feature. */
static bool cap_type_exists(uint16_t type)
{
	return type < NM_CAP_TYPES;
}

static void cap_from_rows(uint8_t *cap, uint16_t type, const struct nm_cap_row *rows, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		const struct nm_cap_row *r = &rows[n];

		if (r->type == type)
			prm_set(cap, r->off, r->hi, r->lo, r->value);
	}
}

static void cap_from_table(const struct nm_nic *nic, uint8_t *cap, uint16_t type)
{
	cap_from_rows(cap, type, nm_cap_connectx7, nm_cap_connectx7_rows);
	if (nic->config.device_id == PRM_DEVICE_CONNECTX8)
		cap_from_rows(cap, type, nm_cap_connectx8, nm_cap_connectx8_rows);
}

bool nm_cap_has_no_dbr(const struct nm_nic *nic)
{
	uint8_t cap[NM_CAP_BYTES] = {0};

	cap_from_table(nic, cap, PRM_CAP_GENERAL_2);
	return PRM_GET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext);
}

static void cap_general_of_port(const struct nm_nic *nic, uint8_t *cap)
{
	bool eth = nic->config.link_is_ethernet;

	PRM_SET(cmd_hca_cap, cap, port_type, eth);
	PRM_SET(cmd_hca_cap, cap, roce, eth);
	PRM_SET(cmd_hca_cap, cap, ib_virt, !eth);
	PRM_SET(cmd_hca_cap, cap, device_memory, nic->config.memic_pages > 0);
}

/* Half of it in one piece at most, as ConnectX says. */
static void cap_memic(const struct nm_nic *nic, uint8_t *cap)
{
	if (!nic->memic.len)
		return;
	PRM_SET(device_mem_cap, cap, memic, 1);
	PRM_SET(device_mem_cap, cap, log_min_memic_alloc_size, NM_LOG_MEMIC_UNIT);
	PRM_SET64(device_mem_cap, cap, memic_bar_start_addr, NM_MEMIC_START);
	PRM_SET(device_mem_cap, cap, memic_bar_size, (uint32_t)nic->memic.len);
	PRM_SET(device_mem_cap, cap, max_memic_size, (uint32_t)nic->memic.len / 2);
	if (!nic->config.memic_ops)
		return;
	PRM_SET(device_mem_cap, cap, memic_operations, 3);
	PRM_SET(device_mem_cap, cap, memic_increment_sizes, 1);
	PRM_SET(device_mem_cap, cap, memic_test_and_set_sizes, 1);
}

static void cap_fill(const struct nm_nic *nic, uint8_t *cap, uint16_t type)
{
	cap_from_table(nic, cap, type);
	if (type == PRM_CAP_GENERAL)
		cap_general_of_port(nic, cap);
	if (type == PRM_CAP_DEVICE_MEMORY)
		cap_memic(nic, cap);
}

/* Bit 0 of op_mod asks for the current values: what the driver has set, else the greatest. */
uint8_t nm_cmd_query_hca_cap(struct nm_cmd *c)
{
	uint16_t type = c->op_mod >> 1;
	uint8_t cap[NM_CAP_BYTES] = {0};
	size_t room = c->out_len - PRM_query_hca_cap_out_capability_OFF;

	if (!cap_type_exists(type))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_OP_MOD,
				   "op_mod 0x%x: no capability type 0x%x", c->op_mod, type);
	if ((c->op_mod & NM_CAP_CURRENT) && c->nic->set_cap[type])
		memcpy(cap, c->nic->set_cap[type], sizeof(cap));
	else
		cap_fill(c->nic, cap, type);
	memcpy(PRM_PTR(query_hca_cap_out, c->out, capability), cap,
	       room < sizeof(cap) ? room : sizeof(cap));
	return PRM_STATUS_OK;
}

/* Of the atomic ones there is one to set, and the driver leaves all others zero. */
static void cap_take(const struct nm_nic *nic, uint8_t *kept, const uint8_t *cap, uint16_t type)
{
	if (type != PRM_CAP_ATOMIC) {
		memcpy(kept, cap, NM_CAP_BYTES);
		return;
	}
	memset(kept, 0, NM_CAP_BYTES);
	cap_fill(nic, kept, type);
	PRM_SET(atomic_caps, kept, atomic_req_8B_endianness_mode,
		PRM_GET(atomic_caps, cap, atomic_req_8B_endianness_mode));
}

/*
 * What the driver sets is remembered and comes back as the current value; nothing in the model
 * depends on it. A field of the profile may be lowered, not raised.
 */
uint8_t nm_cmd_set_hca_cap(struct nm_cmd *c)
{
	uint16_t type = c->op_mod >> 1;
	const uint8_t *cap = c->in + PRM_query_hca_cap_out_capability_OFF;
	uint8_t most[NM_CAP_BYTES] = {0}, **kept;

	if (!cap_type_exists(type) || (c->op_mod & NM_CAP_CURRENT))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_OP_MOD,
				   "op_mod 0x%x: no capability type 0x%x", c->op_mod, type);
	cap_from_table(c->nic, most, type);
	for (size_t n = 0; n < nm_cap_connectx7_rows; n++) {
		const struct nm_cap_row *r = &nm_cap_connectx7[n];
		uint32_t asked = prm_get(cap, r->off, r->hi, r->lo);
		uint32_t has = prm_get(most, r->off, r->hi, r->lo);

		if (r->type == type && asked > has)
			return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
					   "%s is %u, the device has at most %u", r->field, asked,
					   has);
	}
	kept = &c->nic->set_cap[type];
	if (!*kept)
		*kept = malloc(NM_CAP_BYTES);
	if (!*kept)
		return nm_cmd_no_memory(c);
	cap_take(c->nic, *kept, cap, type);
	return PRM_STATUS_OK;
}

void nm_caps_reset(struct nm_nic *nic)
{
	for (int type = 0; type < NM_CAP_TYPES; type++) {
		free(nic->set_cap[type]);
		nic->set_cap[type] = NULL;
	}
}
