/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * General objects (PRM, CREATE_GENERAL_OBJECT): one pair of commands for many types, told apart by
 * obj_type, which lies where other commands have op_mod. The capability general_obj_types names
 * the types that there are.
 *
 * RESERVED_QPN: a run of QPNs that no QP of this device gets, for connections whose real QP has no
 * number that its peer may know (libmlx5: mlx5dv_reserved_qpn_alloc). The runs lie past the numbers
 * of the QP table, so the data path never meets them.
 */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

/* number of an object <-> first QPN of its run */
static uint32_t run_base(const struct nm_nic *nic)
{
	return nic->config.qpn_prefix | NM_RESERVED_QPN_FIRST;
}

static uint8_t reserved_qpn_create(struct nm_cmd *c)
{
	uint32_t log_range = PRM_GET(general_obj_in, c->in, log_obj_range);
	struct nm_obj *obj;
	uint8_t status;

	if (log_range != NM_LOG_RESERVED_QPNS)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "RESERVED_QPN: log_obj_range is %u, expected %d", log_range,
				   NM_LOG_RESERVED_QPNS);
	obj = calloc(1, sizeof(*obj));
	if (!obj)
		return nm_cmd_no_memory(c);
	status = nm_cmd_publish(c, obj, NM_OBJ_RESERVED_QPN);
	if (status) {
		free(obj);
		return status;
	}
	PRM_SET(general_obj_out, c->out, obj_id,
		run_base(c->nic) + (obj->number << NM_LOG_RESERVED_QPNS));
	return PRM_STATUS_OK;
}

static uint8_t reserved_qpn_destroy(struct nm_cmd *c)
{
	uint32_t qpn = PRM_GET(general_obj_in, c->in, obj_id);
	uint32_t off = qpn - run_base(c->nic); /* wraps to a number that no object has */

	if (off & ((1u << NM_LOG_RESERVED_QPNS) - 1))
		return nm_cmd_fail(c, PRM_STATUS_BAD_RES, NM_SYND_NO_OBJECT,
				   "RESERVED_QPN: no run begins at 0x%x", qpn);
	return nm_cmd_end(c, NM_OBJ_RESERVED_QPN, off >> NM_LOG_RESERVED_QPNS, nm_plain_free);
}

static const struct {
	uint16_t type;
	uint8_t (*create)(struct nm_cmd *c);
	uint8_t (*destroy)(struct nm_cmd *c);
} general_types[] = {
	{PRM_OBJ_TYPE_RESERVED_QPN, reserved_qpn_create, reserved_qpn_destroy},
};

static uint8_t run(struct nm_cmd *c, bool create)
{
	for (size_t n = 0; n < sizeof(general_types) / sizeof(general_types[0]); n++) {
		if (general_types[n].type == c->op_mod)
			return (create ? general_types[n].create : general_types[n].destroy)(c);
	}
	return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
			   "general objects of type 0x%x are not modelled (nor advertised)",
			   c->op_mod);
}

uint8_t nm_cmd_create_general(struct nm_cmd *c)
{
	return run(c, true);
}

uint8_t nm_cmd_destroy_general(struct nm_cmd *c)
{
	return run(c, false);
}
