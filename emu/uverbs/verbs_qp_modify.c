// SPDX-License-Identifier: BSD-3-Clause
/*
 * MODIFY_QP: which attributes a transition needs and allows (IBTA 11.2.5.2, table of QP state
 * transition properties), and the command that it becomes (PRM, QP commands and opt_param_mask).
 */
#include <inttypes.h>
#include <string.h>

#include "emu/uverbs/verbs_qp.h"

enum { RC, UC, UD, XRC_INI, XRC_TGT, TYPES };

/* Attributes of one transition, beside the new state, which is always allowed. */
struct transition {
	uint8_t from, to; /* enum uv_qp_state */
	uint16_t opcode;
	const char *name;
	uint32_t required[TYPES], optional[TYPES]; /* enum uv_qp_attr */
	uint32_t optpar[TYPES]; /* bits of opt_param_mask that this command looks at */
};

#define ACCESS_BITS (PRM_OPTPAR_RRE | PRM_OPTPAR_RAE | PRM_OPTPAR_RWE)
#define CONNECT	    (UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN)
#define ALT	    (UV_QP_ALT_PATH)

static const struct transition transitions[] = {
	{UV_QPS_RESET,
	 UV_QPS_INIT,
	 PRM_CMD_RST2INIT_QP,
	 "RST2INIT_QP",
	 {UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS,
	  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_QKEY,
	  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS,
	  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS},
	 {0},
	 {0}},
	{UV_QPS_INIT,
	 UV_QPS_INIT,
	 PRM_CMD_INIT2INIT_QP,
	 "INIT2INIT_QP",
	 {0},
	 {UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS,
	  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_QKEY,
	  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS,
	  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS},
	 {ACCESS_BITS | PRM_OPTPAR_PKEY | PRM_OPTPAR_PRI_PORT,
	  PRM_OPTPAR_RWE | PRM_OPTPAR_PKEY | PRM_OPTPAR_PRI_PORT,
	  PRM_OPTPAR_PKEY | PRM_OPTPAR_QKEY | PRM_OPTPAR_PRI_PORT,
	  ACCESS_BITS | PRM_OPTPAR_PKEY | PRM_OPTPAR_PRI_PORT,
	  ACCESS_BITS | PRM_OPTPAR_PKEY | PRM_OPTPAR_PRI_PORT}},
	{UV_QPS_INIT,
	 UV_QPS_RTR,
	 PRM_CMD_INIT2RTR_QP,
	 "INIT2RTR_QP",
	 {CONNECT | UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER, CONNECT, 0, CONNECT,
	  CONNECT | UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER},
	 {ALT | UV_QP_ACCESS | UV_QP_PKEY_INDEX, ALT | UV_QP_ACCESS | UV_QP_PKEY_INDEX,
	  UV_QP_PKEY_INDEX | UV_QP_QKEY, ALT | UV_QP_ACCESS | UV_QP_PKEY_INDEX,
	  ALT | UV_QP_ACCESS | UV_QP_PKEY_INDEX},
	 {ACCESS_BITS | PRM_OPTPAR_PKEY, PRM_OPTPAR_RWE | PRM_OPTPAR_PKEY,
	  PRM_OPTPAR_PKEY | PRM_OPTPAR_QKEY, ACCESS_BITS | PRM_OPTPAR_PKEY,
	  ACCESS_BITS | PRM_OPTPAR_PKEY}},
	{UV_QPS_RTR,
	 UV_QPS_RTS,
	 PRM_CMD_RTR2RTS_QP,
	 "RTR2RTS_QP",
	 {UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_SQ_PSN | UV_QP_MAX_RD_ATOMIC,
	  UV_QP_SQ_PSN, UV_QP_SQ_PSN,
	  UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_SQ_PSN | UV_QP_MAX_RD_ATOMIC,
	  UV_QP_TIMEOUT | UV_QP_SQ_PSN},
	 {ALT | UV_QP_ACCESS | UV_QP_MIN_RNR_TIMER | UV_QP_PATH_MIG,
	  ALT | UV_QP_ACCESS | UV_QP_PATH_MIG, UV_QP_QKEY, ALT | UV_QP_ACCESS | UV_QP_PATH_MIG,
	  ALT | UV_QP_ACCESS | UV_QP_MIN_RNR_TIMER | UV_QP_PATH_MIG},
	 {ACCESS_BITS | PRM_OPTPAR_PM_STATE | PRM_OPTPAR_RNR_TIMEOUT,
	  PRM_OPTPAR_RWE | PRM_OPTPAR_PM_STATE, PRM_OPTPAR_QKEY,
	  ACCESS_BITS | PRM_OPTPAR_PM_STATE | PRM_OPTPAR_RNR_TIMEOUT,
	  ACCESS_BITS | PRM_OPTPAR_PM_STATE | PRM_OPTPAR_RNR_TIMEOUT}},
	{UV_QPS_RTS,
	 UV_QPS_RTS,
	 PRM_CMD_RTS2RTS_QP,
	 "RTS2RTS_QP",
	 {0},
	 {ALT | UV_QP_ACCESS | UV_QP_MIN_RNR_TIMER | UV_QP_PATH_MIG,
	  ALT | UV_QP_ACCESS | UV_QP_PATH_MIG, UV_QP_QKEY, ALT | UV_QP_ACCESS | UV_QP_PATH_MIG,
	  ALT | UV_QP_ACCESS | UV_QP_MIN_RNR_TIMER | UV_QP_PATH_MIG},
	 {ACCESS_BITS | PRM_OPTPAR_PM_STATE | PRM_OPTPAR_RNR_TIMEOUT,
	  PRM_OPTPAR_RWE | PRM_OPTPAR_PM_STATE,
	  PRM_OPTPAR_QKEY | PRM_OPTPAR_SRQN | PRM_OPTPAR_CQN_RCV,
	  ACCESS_BITS | PRM_OPTPAR_PM_STATE | PRM_OPTPAR_RNR_TIMEOUT,
	  ACCESS_BITS | PRM_OPTPAR_PM_STATE | PRM_OPTPAR_RNR_TIMEOUT}},
	{UV_QPS_SQE,
	 UV_QPS_RTS,
	 PRM_CMD_SQERR2RTS_QP,
	 "SQERR2RTS_QP",
	 {0},
	 {0, UV_QP_ACCESS, UV_QP_QKEY},
	 {0, PRM_OPTPAR_RWE, PRM_OPTPAR_QKEY}},
};

/* From every state (to ERR from all but RESET), with no attribute. */
static const struct transition to_reset = {
	.to = UV_QPS_RESET, .opcode = PRM_CMD_QP_2RST, .name = "2RST_QP"};
static const struct transition to_error = {
	.to = UV_QPS_ERR, .opcode = PRM_CMD_QP_2ERR, .name = "2ERR_QP"};

static const char *const state_names[UV_QPS] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

static const struct {
	uint32_t attr;
	const char *name;
	uint32_t optpar;
} attrs[] = {
	{UV_QP_STATE, "state", 0},
	{UV_QP_CUR_STATE, "cur_state", 0},
	{UV_QP_EN_SQD_NOTIFY, "en_sqd_async_notify", 0},
	{UV_QP_ACCESS, "access_flags", ACCESS_BITS},
	{UV_QP_PKEY_INDEX, "pkey_index", PRM_OPTPAR_PKEY},
	{UV_QP_PORT, "port", PRM_OPTPAR_PRI_PORT},
	{UV_QP_QKEY, "qkey", PRM_OPTPAR_QKEY},
	{UV_QP_AV, "ah_attr", PRM_OPTPAR_PRIMARY_ADDR},
	{UV_QP_PATH_MTU, "path_mtu", 0},
	{UV_QP_TIMEOUT, "timeout", PRM_OPTPAR_ACK_TIMEOUT},
	{UV_QP_RETRY_CNT, "retry_cnt", PRM_OPTPAR_RETRY_COUNT},
	{UV_QP_RNR_RETRY, "rnr_retry", PRM_OPTPAR_RNR_RETRY},
	{UV_QP_RQ_PSN, "rq_psn", 0},
	{UV_QP_MAX_RD_ATOMIC, "max_rd_atomic", PRM_OPTPAR_SRA_MAX},
	{UV_QP_ALT_PATH, "alt_path", PRM_OPTPAR_ALT_ADDR},
	{UV_QP_MIN_RNR_TIMER, "min_rnr_timer", PRM_OPTPAR_RNR_TIMEOUT},
	{UV_QP_SQ_PSN, "sq_psn", 0},
	{UV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", PRM_OPTPAR_RRA_MAX | ACCESS_BITS},
	{UV_QP_PATH_MIG, "path_mig_state", PRM_OPTPAR_PM_STATE},
	{UV_QP_CAP, "cap", 0},
	{UV_QP_DEST_QPN, "dest_qp_num", 0},
	{UV_QP_RATE_LIMIT, "rate_limit", 0},
};
static const char *state_name(uint8_t state)
{
	return state < UV_QPS ? state_names[state] : "unknown";
}

enum { NATTRS = sizeof(attrs) / sizeof(attrs[0]) };

static const char *attr_name(uint32_t mask)
{
	for (unsigned int i = 0; i < NATTRS; i++)
		if (attrs[i].attr & mask)
			return attrs[i].name;
	return "an unknown attribute";
}

/* Column of the table, and service type. */
static const struct {
	uint8_t type; /* enum ib_uverbs_qp_type */
	uint8_t st;
	uint32_t ignored; /* enum uv_qp_attr: XRC programs give both ends all that RC takes */
} columns[TYPES] = {
	[RC] = {IB_UVERBS_QPT_RC, PRM_QP_ST_RC, 0},
	[UC] = {IB_UVERBS_QPT_UC, PRM_QP_ST_UC, 0},
	[UD] = {IB_UVERBS_QPT_UD, PRM_QP_ST_UD, 0},
	[XRC_INI] = {IB_UVERBS_QPT_XRC_INI, PRM_QP_ST_XRC,
		     UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER},
	[XRC_TGT] = {IB_UVERBS_QPT_XRC_TGT, PRM_QP_ST_XRC,
		     UV_QP_MAX_RD_ATOMIC | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY},
};

static unsigned int type_of(const struct uv_qp *qp)
{
	unsigned int n = 0;

	while (columns[n].type != qp->type) {
		n++;
		assert(n < TYPES);
	}
	return n;
}

static const struct transition *find_transition(uint8_t from, uint8_t to)
{
	if (to == UV_QPS_RESET)
		return &to_reset;
	if (to == UV_QPS_ERR)
		return from == UV_QPS_RESET ? NULL : &to_error;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	return NULL;
}

/* The state that the QP is in may be said on the way to RTS, where it may have changed by itself
 * (IBTA table 94; Linux: qp_state_table). */
static uint32_t takes_cur_state(const struct transition *t, unsigned int type)
{
	if (t->to != UV_QPS_RTS || (t->from == UV_QPS_SQE && type != UC && type != UD))
		return 0;
	return UV_QP_CUR_STATE;
}

static int check_mask(const struct uv_qp *qp, const struct transition *t, uint32_t mask)
{
	const unsigned int type = type_of(qp);
	const uint32_t always = UV_QP_STATE | takes_cur_state(t, type);
	const uint32_t missing = t->required[type] & ~mask;
	const uint32_t excess = mask & ~(t->required[type] | t->optional[type] | always);

	if (missing)
		return uv_refuse(EINVAL, "MODIFY_QP 0x%x: %s needs %s (mask 0x%x, missing 0x%x)",
				 qp->obj.num, t->name, attr_name(missing), mask, missing);
	if (excess)
		return uv_refuse(
			EINVAL, "MODIFY_QP 0x%x: %s does not take %s (mask 0x%x, not allowed 0x%x)",
			qp->obj.num, t->name, attr_name(excess), mask, excess);
	return 0;
}

static int check_address(const struct ib_uverbs_qp_dest *d)
{
	if (d->port_num != UV_PORT)
		return uv_refuse(EINVAL, "MODIFY_QP: the address names port %u, expected %u",
				 d->port_num, UV_PORT);
	if (!d->is_global && uv_link_is_ethernet())
		return uv_refuse(EINVAL, "MODIFY_QP: the address has no GRH, but the port is RoCE");
	return d->is_global ? uv_check_sgid("MODIFY_QP", d->sgid_index) : 0;
}

static int check_values(const struct ib_uverbs_modify_qp *m)
{
	const void *cap = uv_cap(UV_CAP_GENERAL);
	const uint32_t max_init = 1u << PRM_GET(cmd_hca_cap, cap, log_max_ra_req_qp);
	const uint32_t max_dest = 1u << PRM_GET(cmd_hca_cap, cap, log_max_ra_res_qp);
	const uint32_t mask = m->attr_mask;

	if ((mask & UV_QP_PORT) && m->port_num != UV_PORT)
		return uv_refuse(EINVAL, "MODIFY_QP: port %u, expected %u", m->port_num, UV_PORT);
	if ((mask & UV_QP_PKEY_INDEX) && m->pkey_index)
		return uv_refuse(EINVAL, "MODIFY_QP: P_Key index %u, the table has 1 entry",
				 m->pkey_index);
	if ((mask & UV_QP_PATH_MTU) && (m->path_mtu < 1 || m->path_mtu > 5))
		return uv_refuse(EINVAL, "MODIFY_QP: path_mtu %u, expected 1 (256) to 5 (4096)",
				 m->path_mtu);
	if ((mask & UV_QP_MAX_RD_ATOMIC) && m->max_rd_atomic > max_init)
		return uv_refuse(EINVAL, "MODIFY_QP: max_rd_atomic %u, at most %u",
				 m->max_rd_atomic, max_init);
	if ((mask & UV_QP_MAX_DEST_RD_ATOMIC) && m->max_dest_rd_atomic > max_dest)
		return uv_refuse(EINVAL, "MODIFY_QP: max_dest_rd_atomic %u, at most %u",
				 m->max_dest_rd_atomic, max_dest);
	if (mask & UV_QP_ALT_PATH)
		return uv_refuse(EOPNOTSUPP, "MODIFY_QP: alternate paths are not emulated");
	return mask & UV_QP_AV ? check_address(&m->dest) : 0;
}

/* mlx5_ib writes these into fields that are narrower than what a program gives, and says nothing.
 */
static void say_what_is_cut(const struct ib_uverbs_modify_qp *m)
{
	const struct {
		uint32_t attr;
		const char *name;
		uint8_t value, max;
	} fields[] = {
		{UV_QP_RETRY_CNT, "retry_cnt", m->retry_cnt, 7},
		{UV_QP_RNR_RETRY, "rnr_retry", m->rnr_retry, 7},
		{UV_QP_TIMEOUT, "timeout", m->timeout, 31},
		{UV_QP_MIN_RNR_TIMER, "min_rnr_timer", m->min_rnr_timer, 31},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if ((m->attr_mask & fields[i].attr) && fields[i].value > fields[i].max)
			uv_say("MODIFY_QP: %s %u is above %u: the driver makes %u of it",
			       fields[i].name, fields[i].value, fields[i].max,
			       fields[i].value & fields[i].max);
}

/* ---- the context of the command ---- */

/* RoCEv2 source port: both ends compute the same (IBTA annex A17; Linux:
 * rdma_flow_label_to_udp_sport). */
static uint16_t udp_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn)
{
	uint64_t v = (uint64_t)lqpn * rqpn;
	uint32_t fl = flow_label & 0xfffff;

	if (!fl) {
		v ^= v >> 20;
		v ^= v >> 40;
		fl = (uint32_t)(v & 0xfffff);
	}
	return (uint16_t)((((fl & 0x03fff) ^ ((fl & 0xfc000) >> 14))) | 0xc000);
}

static void set_address(const struct uv_qp *qp, const struct ib_uverbs_modify_qp *m, uint8_t *ads)
{
	const struct ib_uverbs_qp_dest *d = &m->dest;
	uint8_t mac[6];

	if (d->is_global) {
		memcpy(PRM_PTR(ads, ads, rgid_rip), d->dgid, sizeof(d->dgid));
		PRM_SET(ads, ads, src_addr_index, d->sgid_index);
		PRM_SET(ads, ads, hop_limit, d->hop_limit);
		PRM_SET(ads, ads, tclass, d->traffic_class);
		PRM_SET(ads, ads, flow_label, d->flow_label & 0xfffff);
	}
	PRM_SET(ads, ads, stat_rate, d->static_rate & 0xf);
	PRM_SET(ads, ads, vhca_port_num, d->port_num);
	if (!uv_link_is_ethernet()) {
		PRM_SET(ads, ads, grh, !!d->is_global);
		PRM_SET(ads, ads, rlid, d->dlid);
		PRM_SET(ads, ads, mlid, d->src_path_bits & 0x7f);
		PRM_SET(ads, ads, sl, d->sl & 0xf);
		return;
	}
	uv_gid_to_mac(d->dgid, mac);
	PRM_SET(ads, ads, rmac_47_32, (uint32_t)(mac[0] << 8 | mac[1]));
	PRM_SET(ads, ads, rmac_31_0, prm_load32(mac + 2));
	PRM_SET(ads, ads, eth_prio, d->sl & 7);
	PRM_SET(ads, ads, dscp, d->traffic_class >> 2);
	PRM_SET(ads, ads, udp_sport, udp_sport(d->flow_label, qp->obj.num, qp->remote_qpn));
}

static uint32_t log2_ceil(uint32_t n)
{
	return n > 1 ? 32 - (uint32_t)__builtin_clz(n - 1) : 0;
}

/*
 * Rights of the responder. With no responder resources for reads and atomics only writes are left;
 * atomics are the 8-byte ones of IBTA.
 */
static void set_access(struct uv_qp *qp, const struct ib_uverbs_modify_qp *m, uint8_t *qpc)
{
	uint32_t access;

	if (m->attr_mask & UV_QP_ACCESS)
		qp->access = m->qp_access_flags;
	if (m->attr_mask & UV_QP_MAX_DEST_RD_ATOMIC)
		qp->max_dest_rd_atomic = m->max_dest_rd_atomic;
	access = qp->access;
	if (!qp->max_dest_rd_atomic)
		access &= IB_UVERBS_ACCESS_REMOTE_WRITE;
	PRM_SET(qpc, qpc, rwe, !!(access & IB_UVERBS_ACCESS_REMOTE_WRITE));
	PRM_SET(qpc, qpc, rre, !!(access & IB_UVERBS_ACCESS_REMOTE_READ));
	PRM_SET(qpc, qpc, rae, !!(access & IB_UVERBS_ACCESS_REMOTE_ATOMIC));
	PRM_SET(qpc, qpc, atomic_mode, access & IB_UVERBS_ACCESS_REMOTE_ATOMIC ? 1 : 0);
}

static void fill_transport(const struct uv_qp *qp, const struct ib_uverbs_modify_qp *m,
			   uint8_t *qpc)
{
	uint8_t *ads = PRM_PTR(qpc, qpc, primary_address_path);
	const uint32_t mask = m->attr_mask;

	PRM_SET(qpc, qpc, pm_state, 3); /* migrated: no alternate path */
	PRM_SET(qpc, qpc, log_msg_max, PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), log_max_msg));
	if (mask & UV_QP_PATH_MTU)
		PRM_SET(qpc, qpc, mtu, m->path_mtu);
	else if (type_of(qp) == UD)
		PRM_SET(qpc, qpc, mtu, 5);
	if (mask & UV_QP_DEST_QPN)
		PRM_SET(qpc, qpc, remote_qpn, m->dest_qp_num & 0xffffff);
	if (mask & UV_QP_PKEY_INDEX)
		PRM_SET(ads, ads, pkey_index, m->pkey_index);
	if (mask & UV_QP_PORT)
		PRM_SET(ads, ads, vhca_port_num, m->port_num);
	if (mask & UV_QP_AV)
		set_address(qp, m, ads);
	if (mask & UV_QP_TIMEOUT)
		PRM_SET(ads, ads, ack_timeout, m->timeout & 31u);
	if (mask & UV_QP_RETRY_CNT)
		PRM_SET(qpc, qpc, retry_count, m->retry_cnt & 7u);
	if (mask & UV_QP_RNR_RETRY)
		PRM_SET(qpc, qpc, rnr_retry, m->rnr_retry & 7u);
	if (mask & UV_QP_SQ_PSN)
		PRM_SET(qpc, qpc, next_send_psn, m->sq_psn & 0xffffff);
	if (mask & UV_QP_RQ_PSN)
		PRM_SET(qpc, qpc, next_rcv_psn, m->rq_psn & 0xffffff);
	if (mask & UV_QP_MAX_RD_ATOMIC)
		PRM_SET(qpc, qpc, log_sra_max, log2_ceil(m->max_rd_atomic));
	if (mask & UV_QP_MAX_DEST_RD_ATOMIC)
		PRM_SET(qpc, qpc, log_rra_max, log2_ceil(m->max_dest_rd_atomic));
	if (mask & UV_QP_MIN_RNR_TIMER)
		PRM_SET(qpc, qpc, min_rnr_nak, m->min_rnr_timer & 31u);
	if (mask & UV_QP_QKEY)
		PRM_SET(qpc, qpc, q_key, m->qkey);
}

static uint32_t optpar_of(uint32_t mask)
{
	uint32_t bits = 0;

	for (unsigned int i = 0; i < NATTRS; i++)
		if (attrs[i].attr & mask)
			bits |= attrs[i].optpar;
	return bits;
}

static int command(struct uv_qp *qp, const struct ib_uverbs_modify_qp *m,
		   const struct transition *t)
{
	uint8_t in[PRM_modify_qp_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};
	uint8_t *qpc = PRM_PTR(modify_qp_in, in, qpc);

	PRM_SET(cmd_in, in, opcode, t->opcode);
	PRM_SET(cmd_in, in, uid, qp->uid);
	PRM_SET(modify_qp_in, in, qpn, qp->obj.num);
	if (t != &to_reset && t != &to_error) {
		PRM_SET(modify_qp_in, in, opt_param_mask,
			optpar_of(m->attr_mask) & t->optpar[type_of(qp)]);
		PRM_SET(qpc, qpc, st, columns[type_of(qp)].st);
		if (m->attr_mask & UV_QP_DEST_QPN)
			qp->remote_qpn = m->dest_qp_num & 0xffffff;
		fill_transport(qp, m, qpc);
		if (m->attr_mask & (UV_QP_ACCESS | UV_QP_MAX_DEST_RD_ATOMIC))
			set_access(qp, m, qpc);
	}
	return uv_command(qp->uid, t->name, in, sizeof(in), out, sizeof(out));
}

static int answer_modify(struct uv_req *req)
{
	struct mlx5_ib_modify_qp_resp drv = {.response_length = sizeof(drv)};

	if (uv_len(req, UVERBS_ATTR_UHW_OUT) < sizeof(drv))
		drv.response_length = (uint32_t)uv_len(req, UVERBS_ATTR_UHW_OUT);
	return uv_out(req, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
}

static int modify(struct uv_req *req, const struct ib_uverbs_modify_qp *given)
{
	struct uv_qp *qp = (struct uv_qp *)uv_obj_find(req->ctx, given->qp_handle);
	struct ib_uverbs_modify_qp taken = *given, *m = &taken;
	const struct transition *t;
	uint8_t qpc[PRM_qpc_SIZE];
	struct uv_qp before;
	uint8_t from, to;
	int ret;

	if (!qp || qp->obj.kind != UV_QP)
		return uv_refuse(EINVAL, "MODIFY_QP: handle %u is not a queue pair", m->qp_handle);
	m->attr_mask &= ~columns[type_of(qp)].ignored;
	/* Somebody else may have a handle of it, too. */
	if (qp->target && !uv_qp_query_context(qp->uid, qp->obj.num, qpc))
		qp->state = uv_qp_state_of_prm((uint8_t)PRM_GET(qpc, qpc, state));
	from = m->attr_mask & UV_QP_CUR_STATE ? m->cur_qp_state : qp->state;
	to = m->attr_mask & UV_QP_STATE ? m->qp_state : from;
	if (from >= UV_QPS || to >= UV_QPS)
		return uv_refuse(
			EINVAL, "MODIFY_QP 0x%x: from %s (%u) to %s (%u), expected states below %u",
			qp->obj.num, state_name(from), from, state_name(to), to, UV_QPS);
	t = find_transition(from, to);
	if (!t)
		return uv_refuse(EINVAL, "MODIFY_QP 0x%x: no transition from %s to %s", qp->obj.num,
				 state_names[from], state_names[to]);
	ret = check_mask(qp, t, m->attr_mask);
	if (!ret)
		ret = check_values(m);
	if (ret)
		return ret;
	if (from == UV_QPS_RESET && to == UV_QPS_RESET)
		return answer_modify(req);
	say_what_is_cut(m);
	before = *qp;
	ret = command(qp, m, t);
	if (ret) {
		qp->access = before.access;
		qp->max_dest_rd_atomic = before.max_dest_rd_atomic;
		qp->remote_qpn = before.remote_qpn;
		return ret;
	}
	qp->state = to;
	return answer_modify(req);
}

int uv_w_modify_qp(struct uv_req *req, const void *core_in, void *core_out)
{
	(void)core_out;
	return modify(req, core_in);
}

int uv_w_ex_modify_qp(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_ex_modify_qp *in = core_in;
	struct ib_uverbs_ex_modify_qp_resp *out = core_out;

	if (in->base.attr_mask & UV_QP_RATE_LIMIT)
		return uv_refuse(EOPNOTSUPP, "EX_MODIFY_QP: packet pacing is not emulated");
	out->response_length = sizeof(*out);
	return modify(req, &in->base);
}
