// SPDX-License-Identifier: BSD-3-Clause
/* gdakit trace-diff: which fields mean the same although their values differ, and which do not
 * count. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nicmodel/roce.h"
#include "tools/trace.h"

#define NUMBER(space)                                                                              \
	{                                                                                          \
		ROLE_NUMBER, SPACE_##space, 0                                                      \
	}
#define KEY                                                                                        \
	{                                                                                          \
		ROLE_NUMBER, SPACE_KEY, KEY_SHIFT                                                  \
	}
#define IS(role)                                                                                   \
	{                                                                                          \
		ROLE_##role, SPACE_NONE, 0                                                         \
	}

/* By the last part of a name. Names that are not here are ROLE_EXACT. */
static const struct {
	const char *name;
	struct field_role role;
} roles[] = {
	/* objects */
	{"qp", NUMBER(QP)},
	{"qpn", NUMBER(QP)},
	{"input_qpn", NUMBER(QP)},
	{"remote_qpn", NUMBER(QP)},
	{"dqpn", NUMBER(QP)},
	{"src_qpn", NUMBER(QP)},
	{"deth_sqpn", NUMBER(QP)},
	{"names_qp", NUMBER(QP)},
	{"cqn", NUMBER(CQ)},
	{"cqn_snd", NUMBER(CQ)},
	{"cqn_rcv", NUMBER(CQ)},
	{"cq_err_cqn", NUMBER(CQ)},
	{"eqn", NUMBER(EQ)},
	{"eq_number", NUMBER(EQ)},
	{"c_eqn_or_apu_element", NUMBER(EQ)},
	{"pd", NUMBER(PD)},
	{"uar", NUMBER(UAR)},
	{"uar_page", NUMBER(UAR)},
	{"umem_id", NUMBER(UMEM)},
	{"wq_umem_id", NUMBER(UMEM)},
	{"cq_umem_id", NUMBER(UMEM)},
	{"dbr_umem_id", NUMBER(UMEM)},
	{"mkey_umem_id", NUMBER(UMEM)},
	{"mkey_index", NUMBER(KEY)},
	{"lkey", KEY},
	{"rkey", KEY},
	{"srqn_rmpn_xrqn", NUMBER(RQ)},
	{"srq_number", NUMBER(RQ)},
	{"rmpn", NUMBER(RQ)},
	{"xrcd", NUMBER(XRCD)},
	{"uid", NUMBER(UID)},
	{"counter_set_id", NUMBER(COUNTERS)},
	{"obj_id", NUMBER(OTHER)},
	{"next_send_psn", NUMBER(PSN)},
	{"next_rcv_psn", NUMBER(PSN)},
	{"last_acked_psn", NUMBER(PSN)},
	/* where a program's memory happens to be; how a region's pages are told follows from it */
	{"va", IS(ADDRESS)},
	{"addr", IS(IGNORED)},
	{"start_addr", IS(SET)},
	{"memic_start_addr", IS(SET)},
	{"db_record_addr_h", IS(IGNORED)},
	{"db_record_addr_l", IS(IGNORED)},
	{"pas", IS(IGNORED)},
	{"mtt", IS(IGNORED)},
	{"klm_pas_mtt", IS(IGNORED)},
	{"num_of_mtt", IS(IGNORED)},
	{"page_offset", IS(IGNORED)},
	{"log_page_size", IS(IGNORED)},
	{"translations_octword_size", IS(IGNORED)},
	{"translations_octword_actual_size", IS(IGNORED)},
	/* who and where a host is */
	{"name", IS(IGNORED)},
	{"qpn_prefix", IS(IGNORED)},
	{"gid", IS(IGNORED)},
	{"mac", IS(IGNORED)},
	{"node_guid", IS(IGNORED)},
	{"port_guid", IS(IGNORED)},
	{"system_image_guid", IS(IGNORED)},
	{"permanent_address", IS(IGNORED)},
	{"source_l3_address", IS(IGNORED)},
	{"source_mac_47_32", IS(IGNORED)},
	{"source_mac_31_0", IS(IGNORED)},
	{"multicast_gid", IS(SET)},
	{"rgid", IS(SET)},
	{"rgid_rip", IS(SET)},
	{"rmac_47_32", IS(IGNORED)},
	{"rmac_31_0", IS(IGNORED)},
	{"lid", IS(SET)},
	{"rlid", IS(SET)},
	{"slid", IS(SET)},
	{"dlid", IS(SET)},
	{"sm_lid", IS(SET)},
	/* random, or a matter of time */
	{"mkey_7_0", IS(IGNORED)},
	{"udp_sport", IS(SET)},
	{"psn", IS(PSN)},
	{"ackreq", IS(IGNORED)},
	{"register", IS(IGNORED)},
	{"why", IS(WORDS)},
};

static bool is(const struct rec_event *ev, unsigned int kind)
{
	return ev->head.kind == kind;
}

static const char *text_of(const struct field_list *l, const char *name)
{
	const struct field *f = field_find(l, name, 0);

	return f ? field_text(l, f) : "";
}

/* An immediate that this opcode does not carry is whatever was in the program's memory. */
static bool has_immediate(const struct rec_event *ev, const struct field_list *l)
{
	const char *op = text_of(l, is(ev, REC_FETCH) ? "ctrl.op" : "op");

	return strstr(op, "IMM") || strstr(op, "INV") || strstr(op, "UMR");
}

static const struct {
	uint16_t first, last;
	enum space space;
} command_spaces[] = {
	{PRM_CMD_CREATE_MKEY, PRM_CMD_DESTROY_MKEY, SPACE_KEY},
	{PRM_CMD_CREATE_EQ, PRM_CMD_QUERY_EQ, SPACE_EQ},
	{PRM_CMD_CREATE_CQ, PRM_CMD_MODIFY_CQ, SPACE_CQ},
	{PRM_CMD_CREATE_QP, PRM_CMD_SQD2SQD_QP, SPACE_QP},
	{PRM_CMD_CREATE_SRQ, PRM_CMD_ARM_XRC_SRQ, SPACE_RQ},
	{PRM_CMD_QUERY_Q_COUNTER, PRM_CMD_QUERY_Q_COUNTER, SPACE_COUNTERS},
	{PRM_CMD_ALLOC_Q_COUNTER, PRM_CMD_DEALLOC_Q_COUNTER, SPACE_COUNTERS},
	{PRM_CMD_ALLOC_PD, PRM_CMD_DEALLOC_PD, SPACE_PD},
	{PRM_CMD_ALLOC_UAR, PRM_CMD_DEALLOC_UAR, SPACE_UAR},
	{PRM_CMD_ALLOC_XRCD, PRM_CMD_DEALLOC_XRCD, SPACE_XRCD},
	{PRM_CMD_CREATE_RMP, PRM_CMD_QUERY_RMP, SPACE_RQ},
	{PRM_CMD_CREATE_UCTX, PRM_CMD_DESTROY_UCTX, SPACE_UID},
	{PRM_CMD_CREATE_UMEM, PRM_CMD_DESTROY_UMEM, SPACE_UMEM},
};

enum space space_of_command(uint16_t opcode)
{
	for (size_t i = 0; i < sizeof(command_spaces) / sizeof(command_spaces[0]); i++)
		if (opcode >= command_spaces[i].first && opcode <= command_spaces[i].last)
			return command_spaces[i].space;
	return SPACE_OTHER;
}

bool field_is_answer(const struct field_list *l, const struct field *f)
{
	const char *name = field_name(l, f);

	return !strncmp(name, "out.", 4) || !strcmp(name, "out_len");
}

/* A field of the same structure: `sibling` in the place of the last part of f's name. */
static const struct field *sibling_of(const struct field_list *l, const struct field *f,
				      const char *sibling)
{
	const char *name = field_name(l, f), *dot = strrchr(name, '.');
	char other[FIELD_PREFIX_MAX + 32];
	int n = snprintf(other, sizeof(other), "%.*s%s", dot ? (int)(dot + 1 - name) : 0, name,
			 sibling);

	return n < (int)sizeof(other) ? field_find(l, other, (uint32_t)(f - l->v) + 1) : NULL;
}

const struct field *field_key(const struct field_list *l, const struct field *f, bool *remote)
{
	const struct field *key = sibling_of(l, f, "rkey");

	*remote = key != NULL;
	return key ? key : sibling_of(l, f, "lkey");
}

/* A mailbox with a list of pages is as long as they are many. */
static bool has_pages(const struct field_list *l)
{
	return field_find(l, "in.body.pas", 0) || field_find(l, "in.body.mtt", 0) ||
	       field_find(l, "in.body.klm_pas_mtt", 0);
}

static struct field_role special(const struct rec_event *ev, const struct field_list *l,
				 const struct field *f, const char *last, struct field_role role)
{
	if (is(ev, REC_COMMAND)) {
		const uint16_t opcode = ev->command->opcode;

		if (!strcmp(last, "number"))
			return (struct field_role){ROLE_NUMBER, space_of_command(opcode), 0};
		if (!strcmp(last, "in_len") && has_pages(l))
			return (struct field_role)IS(IGNORED);
	}
	/* What a peer asks for is ours. */
	if (!strcmp(last, "rkey") && !is(ev, REC_RX))
		role.space = SPACE_PEER_KEY;
	/* Within a UMEM a record has an offset, which the program chose. */
	if (!strcmp(last, "dbr_addr"))
		return sibling_of(l, f, "dbr_umem_valid") ? role : (struct field_role)IS(SET);
	if (!strcmp(last, "imm") && (is(ev, REC_FETCH) || is(ev, REC_CQE)) && !has_immediate(ev, l))
		return (struct field_role)IS(IGNORED);
	if ((is(ev, REC_TX) || is(ev, REC_RX)) && (!strcmp(last, "from") || !strcmp(last, "to")))
		return (struct field_role)IS(IGNORED);
	/* How many WQEs one ring announces, and how many requests one acknowledgement, is time's.
	 */
	if (is(ev, REC_DOORBELL) && !strcmp(last, "index"))
		return (struct field_role)IS(IGNORED);
	if ((is(ev, REC_DBR) && !strcmp(last, "value")) ||
	    (!strcmp(last, "msn") && !strcmp(text_of(l, "op"), "ACK")))
		return (struct field_role)IS(IGNORED);
	return role;
}

struct field_role field_role(const struct rec_event *ev, const struct field_list *l,
			     const struct field *f)
{
	const char *name = field_name(l, f), *dot = strrchr(name, '.');
	struct field_role role = IS(EXACT);

	name = dot ? dot + 1 : name;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(roles[i].name, name))
			role = roles[i].role;
	return special(ev, l, f, name, role);
}

void what_of(const struct rec_event *ev, const struct field_list *l, char what[WHAT_MAX])
{
	const struct field *op_mod;

	switch (ev->head.kind) {
	case REC_COMMAND:
		op_mod = field_find(l, "in.head.op_mod", 0);
		snprintf(what, WHAT_MAX, "%s%s%s", text_of(l, "command"), op_mod ? ":" : "",
			 op_mod ? field_text(l, op_mod) : "");
		break;
	case REC_FETCH:
		snprintf(what, WHAT_MAX, "%s",
			 ev->fetch->receive ? "receive" : text_of(l, "ctrl.op"));
		break;
	case REC_TX:
	case REC_RX:
		snprintf(what, WHAT_MAX, "%s_%s", text_of(l, "service"), text_of(l, "op"));
		break;
	case REC_CQE:
		snprintf(what, WHAT_MAX, "%s", text_of(l, "op"));
		break;
	case REC_EQE:
		snprintf(what, WHAT_MAX, "%s", text_of(l, "event"));
		break;
	case REC_STATE:
		snprintf(what, WHAT_MAX, "%s_to_%s", text_of(l, "from"), text_of(l, "to"));
		break;
	default:
		snprintf(what, WHAT_MAX, "-");
		break;
	}
	for (char *p = what; *p; p++)
		if (isspace((unsigned char)*p))
			*p = '_';
}
