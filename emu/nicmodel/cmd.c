/* SPDX-License-Identifier: BSD-3-Clause */
/* The command executor: a table of commands, and what all handlers share. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "emu/nicmodel/cmd.h"

struct cmd_row {
	uint16_t opcode;
	bool privileged; /* uid 0 only */
	uint16_t min_in, min_out;
	nm_cmd_fn run;
	const char *name;
};

#define ROW_(op, priv, in, out, fn)                                                                \
	{                                                                                          \
		PRM_CMD_##op, priv, in, out, nm_cmd_##fn, #op                                      \
	}

/* Lengths: PRM, command reference; what a handler reads beyond them it checks itself. */
static const struct cmd_row cmd_table[] = {
	ROW_(QUERY_HCA_CAP, false, 0x10, 0x10, query_hca_cap),
	ROW_(SET_HCA_CAP, true, 0x110, 0x10, set_hca_cap),
	ROW_(ENABLE_HCA, true, 0x10, 0x10, enable_hca),
	ROW_(DISABLE_HCA, true, 0x10, 0x10, disable_hca),
	ROW_(INIT_HCA, true, 0x10, 0x10, init_hca),
	ROW_(TEARDOWN_HCA, true, 0x10, 0x10, teardown_hca),
	ROW_(QUERY_PAGES, true, 0x10, 0x10, query_pages),
	ROW_(MANAGE_PAGES, true, 0x10, 0x10, manage_pages),
	ROW_(QUERY_ADAPTER, false, 0x10, 0x110, query_adapter),
	ROW_(QUERY_ISSI, true, 0x10, 0x70, query_issi),
	ROW_(SET_ISSI, true, 0x10, 0x10, set_issi),
	ROW_(CREATE_MKEY, false, 0x110, 0x10, create_mkey),
	ROW_(QUERY_MKEY, false, 0x10, 0x50, query_mkey),
	ROW_(DESTROY_MKEY, false, 0x10, 0x10, destroy_mkey),
	ROW_(QUERY_SPECIAL_CONTEXTS, false, 0x10, 0x14, query_special_contexts),
	ROW_(ALLOC_MEMIC, true, 0x20, 0x10, alloc_memic),
	ROW_(DEALLOC_MEMIC, true, 0x20, 0x10, dealloc_memic),
	ROW_(CREATE_EQ, false, 0x60, 0x10, create_eq),
	ROW_(DESTROY_EQ, false, 0x10, 0x10, destroy_eq),
	ROW_(QUERY_EQ, false, 0x10, 0x50, query_eq),
	ROW_(CREATE_CQ, false, 0x110, 0x10, create_cq),
	ROW_(DESTROY_CQ, false, 0x10, 0x10, destroy_cq),
	ROW_(QUERY_CQ, false, 0x10, 0x50, query_cq),
	ROW_(MODIFY_CQ, false, 0x50, 0x10, modify_cq),
	ROW_(CREATE_QP, false, 0x110, 0x10, create_qp),
	ROW_(DESTROY_QP, false, 0x10, 0x10, destroy_qp),
	ROW_(RST2INIT_QP, false, 0x100, 0x10, modify_qp),
	ROW_(INIT2RTR_QP, false, 0x100, 0x10, modify_qp),
	ROW_(RTR2RTS_QP, false, 0x100, 0x10, modify_qp),
	ROW_(RTS2RTS_QP, false, 0x100, 0x10, modify_qp),
	ROW_(SQERR2RTS_QP, false, 0x100, 0x10, modify_qp),
	ROW_(QP_2ERR, false, 0x10, 0x10, modify_qp),
	ROW_(QP_2RST, false, 0x10, 0x10, modify_qp),
	ROW_(RTS2SQD_QP, false, 0x10, 0x10, modify_qp),
	ROW_(SQD2SQD_QP, false, 0x100, 0x10, modify_qp),
	ROW_(SQD_RTS_QP, false, 0x100, 0x10, modify_qp),
	ROW_(INIT2INIT_QP, false, 0x100, 0x10, modify_qp),
	ROW_(QUERY_QP, false, 0x10, 0x100, query_qp),
	ROW_(MAD_IFC, true, 0x110, 0x110, mad_ifc),
	ROW_(CREATE_SRQ, false, 0x110, 0x10, create_srq),
	ROW_(DESTROY_SRQ, false, 0x10, 0x10, destroy_srq),
	ROW_(QUERY_SRQ, false, 0x10, 0x50, query_srq),
	ROW_(ARM_RQ, false, 0x10, 0x10, arm_rq),
	ROW_(CREATE_XRC_SRQ, false, 0x110, 0x10, create_xrc_srq),
	ROW_(DESTROY_XRC_SRQ, false, 0x10, 0x10, destroy_xrc_srq),
	ROW_(QUERY_XRC_SRQ, false, 0x10, 0x50, query_xrc_srq),
	ROW_(ARM_XRC_SRQ, false, 0x10, 0x10, arm_xrc_srq),
	ROW_(QUERY_VPORT_STATE, false, 0x10, 0x10, query_vport_state),
	ROW_(QUERY_NIC_VPORT_CONTEXT, false, 0x10, 0x110, query_nic_vport_context),
	ROW_(QUERY_ROCE_ADDRESS, false, 0x10, 0x30, query_roce_address),
	ROW_(SET_ROCE_ADDRESS, true, 0x30, 0x10, set_roce_address),
	ROW_(QUERY_HCA_VPORT_CONTEXT, false, 0x10, 0x210, query_hca_vport_context),
	ROW_(MODIFY_HCA_VPORT_CONTEXT, true, 0x60, 0x10, modify_hca_vport_context),
	ROW_(QUERY_HCA_VPORT_GID, false, 0x10, 0x20, query_hca_vport_gid),
	ROW_(QUERY_HCA_VPORT_PKEY, false, 0x10, 0x14, query_hca_vport_pkey),
	ROW_(QUERY_Q_COUNTER, false, 0x20, 0x100, query_q_counter),
	ROW_(ALLOC_Q_COUNTER, false, 0x10, 0x10, alloc_q_counter),
	ROW_(DEALLOC_Q_COUNTER, false, 0x10, 0x10, dealloc_q_counter),
	ROW_(ALLOC_PD, false, 0x10, 0x10, alloc_pd),
	ROW_(DEALLOC_PD, false, 0x10, 0x10, dealloc_pd),
	ROW_(ALLOC_UAR, false, 0x10, 0x10, alloc_uar),
	ROW_(DEALLOC_UAR, false, 0x10, 0x10, dealloc_uar),
	ROW_(ACCESS_REG, false, 0x10, 0x10, access_reg),
	ROW_(ATTACH_TO_MCG, false, 0x20, 0x10, attach_to_mcg),
	ROW_(DETACH_FROM_MCG, false, 0x20, 0x10, detach_from_mcg),
	ROW_(ALLOC_XRCD, false, 0x10, 0x10, alloc_xrcd),
	ROW_(DEALLOC_XRCD, false, 0x10, 0x10, dealloc_xrcd),
	ROW_(ALLOC_TRANSPORT_DOMAIN, false, 0x10, 0x10, alloc_td),
	ROW_(DEALLOC_TRANSPORT_DOMAIN, false, 0x10, 0x10, dealloc_td),
	ROW_(CREATE_RMP, false, 0x110, 0x10, create_rmp),
	ROW_(MODIFY_RMP, false, 0x110, 0x10, modify_rmp),
	ROW_(DESTROY_RMP, false, 0x10, 0x10, destroy_rmp),
	ROW_(QUERY_RMP, false, 0x10, 0x110, query_rmp),
	ROW_(CREATE_GENERAL_OBJECT, false, 0x10, 0x10, create_general),
	ROW_(DESTROY_GENERAL_OBJECT, false, 0x10, 0x10, destroy_general),
	ROW_(CREATE_UCTX, true, 0x20, 0x10, create_uctx),
	ROW_(DESTROY_UCTX, true, 0x10, 0x10, destroy_uctx),
	ROW_(CREATE_UMEM, false, 0x30, 0x10, create_umem),
	ROW_(DESTROY_UMEM, false, 0x10, 0x10, destroy_umem),
};

#define CMD_NAME_(name, opcode) {opcode, #name},
static const struct {
	uint16_t opcode;
	const char *name;
} cmd_names[] = {PRM_COMMANDS(CMD_NAME_)};

#define SYND_TEXT_(name, number, text) {number, text},
static const struct {
	uint32_t number;
	const char *text;
} synd_texts[] = {NM_SYNDROMES(SYND_TEXT_)};

static const char *const obj_names[NM_OBJ_TYPES] = {
	[NM_OBJ_PD] = "PD",
	[NM_OBJ_UAR] = "UAR page",
	[NM_OBJ_TD] = "transport domain",
	[NM_OBJ_UCTX] = "UCTX",
	[NM_OBJ_UMEM] = "umem",
	[NM_OBJ_MKEY] = "mkey index",
	[NM_OBJ_EQ] = "EQ",
	[NM_OBJ_CQ] = "CQ",
	[NM_OBJ_QP] = "QP",
	[NM_OBJ_SRQ] = "SRQ",
	[NM_OBJ_XRCD] = "XRC domain",
	[NM_OBJ_QCOUNTER] = "counter set",
	[NM_OBJ_MEMIC] = "device memory",
	[NM_OBJ_RESERVED_QPN] = "run of reserved QPNs",
};

enum { NM_CMD_HEAD = 16 }; /* bytes of the shortest mailbox, either way */

const char *nm_syndrome_text(uint32_t syndrome)
{
	for (size_t n = 0; n < sizeof(synd_texts) / sizeof(synd_texts[0]); n++) {
		if (synd_texts[n].number == syndrome)
			return synd_texts[n].text;
	}
	return NULL;
}

static const struct cmd_row *cmd_find(uint16_t opcode)
{
	for (size_t n = 0; n < sizeof(cmd_table) / sizeof(cmd_table[0]); n++) {
		if (cmd_table[n].opcode == opcode)
			return &cmd_table[n];
	}
	return NULL;
}

static const char *cmd_name(uint16_t opcode)
{
	for (size_t n = 0; n < sizeof(cmd_names) / sizeof(cmd_names[0]); n++) {
		if (cmd_names[n].opcode == opcode)
			return cmd_names[n].name;
	}
	return "unknown command";
}

uint8_t nm_cmd_fail(struct nm_cmd *c, uint8_t status, uint32_t syndrome, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(c->why, sizeof(c->why), "%s: ", c->name);

	assert(status != PRM_STATUS_OK && n > 0 && (size_t)n < sizeof(c->why));
	va_start(ap, fmt);
	vsnprintf(c->why + n, sizeof(c->why) - (size_t)n, fmt, ap);
	va_end(ap);
	c->syndrome = syndrome;
	return status;
}

static uint8_t cmd_lengths(struct nm_cmd *c, const struct cmd_row *row)
{
	if (c->in_len < row->min_in)
		return nm_cmd_fail(c, PRM_STATUS_BAD_INP_LEN, NM_SYND_IN_LEN,
				   "the input mailbox has %zu bytes, at least %u are needed",
				   c->in_len, row->min_in);
	if (c->out_len < row->min_out)
		return nm_cmd_fail(c, PRM_STATUS_BAD_OUTP_LEN, NM_SYND_OUT_LEN,
				   "the output mailbox has %zu bytes, at least %u are needed",
				   c->out_len, row->min_out);
	return PRM_STATUS_OK;
}

static uint8_t cmd_run(struct nm_cmd *c)
{
	const struct cmd_row *row;
	uint8_t status;

	if (c->in_len < NM_CMD_HEAD)
		return nm_cmd_fail(c, PRM_STATUS_BAD_INP_LEN, NM_SYND_IN_LEN,
				   "an input mailbox of %zu bytes; the head alone has %d",
				   c->in_len, NM_CMD_HEAD);
	c->opcode = (uint16_t)PRM_GET(cmd_in, c->in, opcode);
	c->op_mod = (uint16_t)PRM_GET(cmd_in, c->in, op_mod);
	c->name = cmd_name(c->opcode);
	row = cmd_find(c->opcode);
	if (!row)
		return nm_cmd_fail(c, PRM_STATUS_BAD_OP, NM_SYND_OPCODE,
				   "opcode 0x%x is not supported", c->opcode);
	if (row->privileged && c->uid)
		return nm_cmd_fail(c, PRM_STATUS_BAD_OP, NM_SYND_PRIVILEGE,
				   "a command of the driver, issued by user context %u", c->uid);
	if (c->uid && !nm_obj_get(c->nic, NM_OBJ_UCTX, c->uid))
		return nm_cmd_fail(c, PRM_STATUS_BAD_RES, NM_SYND_NO_OBJECT,
				   "user context %u does not exist", c->uid);
	status = cmd_lengths(c, row);
	return status ? status : row->run(c);
}

static uint8_t cmd_run_faulty(struct nm_cmd *c, struct nm_event *ev)
{
	if (nm_fault_at(c->nic, ev) == NM_FAIL)
		return nm_cmd_fail(c, PRM_STATUS_INT_ERR, NM_SYND_FAULT,
				   "failed by the fault hook");
	return cmd_run(c);
}

static void cmd_event(struct nm_cmd *c, uint8_t status, struct nm_event *ev)
{
	ev->kind = NM_EV_COMMAND;
	ev->command.opcode = c->opcode;
	ev->command.uid = c->uid;
	ev->command.in = c->in;
	ev->command.in_len = c->in_len;
	ev->command.out = c->out;
	ev->command.out_len = c->out_len;
	ev->command.status = status;
	ev->command.syndrome = c->syndrome;
	ev->why = c->why[0] ? c->why : NULL;
}

uint8_t nm_nic_command(struct nm_nic *nic, const struct nm_cmd_ctx *ctx, const void *in,
		       size_t in_len, void *out, size_t out_len, char *why)
{
	struct nm_cmd c = {.nic = nic,
			   .space = ctx->space,
			   .uid = ctx->uid,
			   .name = "command",
			   .in = in,
			   .in_len = in_len,
			   .out = out,
			   .out_len = out_len};
	uint8_t status;

	memset(out, 0, out_len);
	if (nm_watched(nic, NM_EV_COMMAND)) {
		struct nm_event ev = {0};

		if (in_len >= NM_CMD_HEAD)
			c.opcode = (uint16_t)PRM_GET(cmd_in, c.in, opcode);
		c.name = cmd_name(c.opcode);
		cmd_event(&c, PRM_STATUS_OK, &ev);
		status = cmd_run_faulty(&c, &ev);
	} else {
		status = cmd_run(&c);
	}
	if (status) /* what a handler wrote before it refused is not an answer */
		memset(out, 0, out_len);
	if (out_len >= 8) {
		PRM_SET(cmd_out, out, status, status);
		PRM_SET(cmd_out, out, syndrome, c.syndrome);
	}
	if (nm_watched(nic, NM_EV_COMMAND)) {
		struct nm_event ev = {0};

		cmd_event(&c, status, &ev);
		nm_observe(nic, &ev);
	}
	if (why)
		snprintf(why, NM_WHY_MAX, "%s", status ? c.why : "");
	return status;
}

/* ---- objects by number ---- */

static bool obj_gone(const struct nm_obj *obj)
{
	return !obj || (obj->type == NM_OBJ_UAR && ((const struct nm_uar *)obj)->freed);
}

static struct nm_obj *obj_fail(struct nm_cmd *c, enum nm_obj_type type, uint32_t number,
			       uint8_t *status)
{
	const struct nm_obj *obj = nm_obj_get(c->nic, type, number);

	if (obj_gone(obj))
		*status = nm_cmd_fail(c, PRM_STATUS_BAD_RES, NM_SYND_NO_OBJECT,
				      "%s 0x%x does not exist", obj_names[type], number);
	else
		*status =
			nm_cmd_fail(c, PRM_STATUS_BAD_RES, NM_SYND_NO_OBJECT,
				    "%s 0x%x belongs to user context %u, user context %u named it",
				    obj_names[type], number, obj->uid, c->uid);
	return NULL;
}

struct nm_obj *nm_cmd_own(struct nm_cmd *c, enum nm_obj_type type, uint32_t number, uint8_t *status)
{
	struct nm_obj *obj = nm_obj_find(c->nic, type, number, c->uid);

	*status = PRM_STATUS_OK;
	return obj_gone(obj) ? obj_fail(c, type, number, status) : obj;
}

struct nm_obj *nm_cmd_use(struct nm_cmd *c, enum nm_obj_type type, uint32_t number, uint8_t *status)
{
	struct nm_obj *obj = nm_obj_get(c->nic, type, number);

	*status = PRM_STATUS_OK;
	if (!obj_gone(obj) && !obj->uid &&
	    (type == NM_OBJ_EQ || type == NM_OBJ_UAR || type == NM_OBJ_XRCD))
		return obj;
	return nm_cmd_own(c, type, number, status);
}

uint8_t nm_cmd_no_memory(struct nm_cmd *c)
{
	return nm_cmd_fail(c, PRM_STATUS_NO_RES_ERR, NM_SYND_MEMORY, "out of memory");
}

uint8_t nm_cmd_publish(struct nm_cmd *c, struct nm_obj *obj, enum nm_obj_type type)
{
	int err = nm_obj_add(c->nic, obj, type, c->uid);

	if (err == -ENOMEM)
		return nm_cmd_no_memory(c);
	if (err)
		return nm_cmd_fail(c, PRM_STATUS_NO_RES_ERR, NM_SYND_TABLE_FULL,
				   "all %u numbers of the type %s are in use",
				   c->nic->table[type].limit, obj_names[type]);
	PRM_SET(obj_out, c->out, number, obj->number);
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_busy(struct nm_cmd *c, const struct nm_obj *obj)
{
	return nm_cmd_fail(c, PRM_STATUS_RES_BUSY, NM_SYND_IN_USE,
			   "%s 0x%x is still used by %u object%s", obj_names[obj->type],
			   obj->number, obj->users, obj->users == 1 ? "" : "s");
}

uint8_t nm_cmd_end(struct nm_cmd *c, enum nm_obj_type type, uint32_t number,
		   void (*end)(struct nm_obj *))
{
	uint8_t status;
	struct nm_obj *obj = nm_cmd_own(c, type, number, &status);

	if (!obj)
		return status;
	if (obj->users)
		return nm_cmd_busy(c, obj);
	end(obj);
	return PRM_STATUS_OK;
}

/* ---- memory of queues ---- */

void nm_cmd_umem_put(struct nm_umem *umem)
{
	if (!umem)
		return;
	assert(umem->obj.users);
	umem->obj.users--;
}

static uint8_t region_window(struct nm_cmd *c, const struct nm_cmd_region *r, struct nm_mem *mem,
			     struct nm_umem **umem)
{
	uint8_t status;
	struct nm_umem *u = (struct nm_umem *)nm_cmd_own(c, NM_OBJ_UMEM, r->umem_id, &status);
	int err;

	if (!u)
		return status;
	err = nm_mem_window(mem, &u->mem, r->umem_off, r->len);
	if (err == -EINVAL)
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_PARAM, NM_SYND_RANGE,
			"%s: %llu bytes at offset 0x%llx do not fit into umem 0x%x of %llu bytes",
			r->what, (unsigned long long)r->len, (unsigned long long)r->umem_off,
			r->umem_id, (unsigned long long)u->mem.len);
	if (err)
		return nm_cmd_no_memory(c);
	u->obj.users++;
	*umem = u;
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_region(struct nm_cmd *c, const struct nm_cmd_region *r, struct nm_mem *mem,
		      struct nm_umem **umem)
{
	size_t room = c->in_len > r->pas_off ? (c->in_len - r->pas_off) / 8 : 0;
	int err;

	*umem = NULL;
	memset(mem, 0, sizeof(*mem));
	if (r->umem_valid)
		return region_window(c, r, mem, umem);
	if (!c->space)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
				   "%s: a page list, but its issuer has no memory", r->what);
	err = nm_mem_init(mem, c->space, c->in + r->pas_off, (uint32_t)room, r->log_page,
			  r->page_off, r->len);
	if (err == -EINVAL)
		return nm_cmd_fail(
			c, PRM_STATUS_BAD_INP_LEN, NM_SYND_PAGES,
			"%s: %llu bytes from offset %llu need more pages of 2^%u bytes than the "
			"%zu in the mailbox",
			r->what, (unsigned long long)r->len, (unsigned long long)r->page_off,
			r->log_page, room);
	return err ? nm_cmd_no_memory(c) : PRM_STATUS_OK;
}

uint8_t nm_cmd_dbr(struct nm_cmd *c, bool umem_valid, uint32_t umem_id, uint64_t addr,
		   struct nm_dbr *dbr, struct nm_umem **umem)
{
	struct nm_space *space = c->space;
	struct nm_umem *u = NULL;
	struct nm_seg seg;
	uint8_t status;

	*umem = NULL;
	if (umem_valid) {
		u = (struct nm_umem *)nm_cmd_own(c, NM_OBJ_UMEM, umem_id, &status);
		if (!u)
			return status;
		if (nm_mem_segs(&u->mem, addr, 8, &seg, 1) != 1)
			return nm_cmd_fail(
				c, PRM_STATUS_BAD_PARAM, NM_SYND_RANGE,
				"the doorbell record at offset 0x%llx is not inside umem 0x%x of "
				"%llu bytes",
				(unsigned long long)addr, umem_id, (unsigned long long)u->mem.len);
		space = u->mem.space;
		addr = seg.addr;
	}
	if (nm_dbr_init(dbr, space, addr))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
				   "the doorbell record at 0x%llx is not aligned to 8 bytes",
				   (unsigned long long)addr);
	if (u)
		u->obj.users++;
	*umem = u;
	return PRM_STATUS_OK;
}

/* ---- the end of objects ---- */

/* Users go before what they use. */
static const struct {
	enum nm_obj_type type;
	void (*free)(struct nm_obj *obj);
} free_order[NM_OBJ_TYPES] = {
	{NM_OBJ_QP, nm_qp_free},
	{NM_OBJ_SRQ, nm_srq_free},
	{NM_OBJ_XRCD, nm_plain_free},
	{NM_OBJ_CQ, nm_cq_free},
	{NM_OBJ_EQ, nm_eq_free},
	{NM_OBJ_MKEY, nm_mkey_free},
	{NM_OBJ_UMEM, nm_umem_free},
	{NM_OBJ_UAR, nm_uar_free},
	{NM_OBJ_PD, nm_pd_free},
	{NM_OBJ_TD, nm_plain_free},
	{NM_OBJ_QCOUNTER, nm_qcounter_free},
	{NM_OBJ_RESERVED_QPN, nm_plain_free},
	{NM_OBJ_MEMIC, nm_plain_free},
	{NM_OBJ_UCTX, nm_plain_free},
};

/* What the driver's objects still use outlives its user context and is the driver's from then on.
 */
static void obj_orphan(struct nm_obj *obj)
{
	obj->uid = 0;
	if (obj->type == NM_OBJ_UAR)
		((struct nm_uar *)obj)->freed = true;
}

void nm_obj_free_owned(struct nm_nic *nic, uint16_t uid, bool all)
{
	for (size_t order = 0; order < NM_OBJ_TYPES; order++) {
		enum nm_obj_type type = free_order[order].type;
		struct nm_table *t = &nic->table[type];

		for (uint32_t slot = 0; slot < t->cap && t->count; slot++) {
			struct nm_obj *obj = t->slot[slot];

			if (!obj || (!all && (obj->uid != uid || type == NM_OBJ_UCTX)))
				continue;
			assert(!all || !obj->users);
			if (!obj->users)
				free_order[order].free(obj);
			else
				obj_orphan(obj);
		}
	}
}
