/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QP state transitions. One table says which transitions exist, which attributes each takes and
 * what the firmware is told about the optional ones (PRM, optional parameters of the QP modify
 * commands); one function per group of attributes writes the QP context.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "devx.h"
#include "log.h"
#include "prm/prm.h"
#include "util.h"
#include "verbs.h"

#define BIT(name) DOCA_VERBS_QP_ATTR_##name

enum {
	STATE_BITS = BIT(NEXT_STATE) | BIT(CURRENT_STATE),
	RIGHT_BITS = BIT(ALLOW_REMOTE_WRITE) | BIT(ALLOW_REMOTE_READ),
	INIT_BITS = BIT(PKEY_INDEX) | BIT(PORT_NUM) | RIGHT_BITS,
	PSN_MASK = 0xffffff,
	LOG_MSG_MAX = 30, /* longest message: 2^30 bytes */
	PM_STATE_MIGRATED = 3,
	ROCE_V2 = 2,
};

enum anything { ANY = -1 };

struct transition {
	int from; /* enum doca_verbs_qp_state, or ANY */
	int to;
	enum prm_cmd_opcode opcode;
	const char *name;
	int required, optional; /* mask bits besides STATE_BITS */
	uint32_t optpar;	/* what opt_param_mask may say; 0: the command has no such field */
};

static const struct transition transitions[] = {
	{ANY, DOCA_VERBS_QP_STATE_RST, PRM_CMD_QP_2RST, "2RST_QP", 0, 0, 0},
	{ANY, DOCA_VERBS_QP_STATE_ERR, PRM_CMD_QP_2ERR, "2ERR_QP", 0, 0, 0},
	{DOCA_VERBS_QP_STATE_RST, DOCA_VERBS_QP_STATE_INIT, PRM_CMD_RST2INIT_QP, "RST2INIT_QP",
	 INIT_BITS, 0, 0},
	{DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_INIT, PRM_CMD_INIT2INIT_QP, "INIT2INIT_QP",
	 0, INIT_BITS,
	 PRM_OPTPAR_RRE | PRM_OPTPAR_RAE | PRM_OPTPAR_RWE | PRM_OPTPAR_PKEY | PRM_OPTPAR_PRI_PORT},
	{DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_STATE_RTR, PRM_CMD_INIT2RTR_QP, "INIT2RTR_QP",
	 BIT(RQ_PSN) | BIT(DEST_QP_NUM) | BIT(PATH_MTU) | BIT(AH_ATTR) | BIT(MIN_RNR_TIMER),
	 BIT(PKEY_INDEX) | RIGHT_BITS | BIT(MAX_DEST_RD_ATOMIC),
	 PRM_OPTPAR_RRE | PRM_OPTPAR_RAE | PRM_OPTPAR_RWE | PRM_OPTPAR_PKEY},
	{DOCA_VERBS_QP_STATE_RTR, DOCA_VERBS_QP_STATE_RTS, PRM_CMD_RTR2RTS_QP, "RTR2RTS_QP",
	 BIT(SQ_PSN) | BIT(ACK_TIMEOUT) | BIT(RETRY_CNT) | BIT(RNR_RETRY),
	 BIT(MIN_RNR_TIMER) | BIT(ALLOW_REMOTE_WRITE) | BIT(MAX_QP_RD_ATOMIC),
	 PRM_OPTPAR_RAE | PRM_OPTPAR_RWE | PRM_OPTPAR_RNR_TIMEOUT},
	{DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_STATE_RTS, PRM_CMD_RTS2RTS_QP, "RTS2RTS_QP", 0,
	 RIGHT_BITS | BIT(MIN_RNR_TIMER) | BIT(AH_ATTR),
	 PRM_OPTPAR_RRE | PRM_OPTPAR_RAE | PRM_OPTPAR_RWE | PRM_OPTPAR_RNR_TIMEOUT |
		 PRM_OPTPAR_SGID_INDEX | PRM_OPTPAR_DSCP},
};

/* Highest value of an attribute, where that does not depend on the device. */
#define FIELD(name)                                                                                \
	offsetof(struct doca_verbs_qp_attr, name), sizeof(((struct doca_verbs_qp_attr *)0)->name)
static const struct limit {
	int bit;
	const char *name;
	size_t offset, size;
	uint32_t max;
} limits[] = {
	{BIT(NEXT_STATE), "next_state", FIELD(next_state), DOCA_VERBS_QP_STATE_ERR},
	{BIT(CURRENT_STATE), "current_state", FIELD(current_state), DOCA_VERBS_QP_STATE_ERR},
	{BIT(PATH_MTU), "path_mtu", FIELD(path_mtu), DOCA_VERBS_MTU_SIZE_4K_BYTES},
	{BIT(DEST_QP_NUM), "dest_qp_num", FIELD(dest_qp_num), 0xffffff},
	{BIT(ACK_TIMEOUT), "ack_timeout", FIELD(ack_timeout), 31},
	{BIT(RETRY_CNT), "retry_cnt", FIELD(retry_cnt), 7},
	{BIT(RNR_RETRY), "rnr_retry", FIELD(rnr_retry), 7},
	{BIT(MIN_RNR_TIMER), "min_rnr_timer", FIELD(min_rnr_timer), 31},
};

/* A transition under way: what to send. */
struct modify {
	struct doca_verbs_qp *qp;
	const struct doca_verbs_qp_attr *attr;
	const struct transition *t;
	int mask;
	uint32_t optpar;
	uint8_t in[PRM_modify_qp_in_SIZE];
	uint8_t *qpc, *path;
};

static bool in_range(const char *name, uint32_t value, uint32_t min, uint32_t max)
{
	if (value >= min && value <= max)
		return true;
	ENGINE_ERR("modify QP: %s is %u, expected %u..%u", name, value, min, max);
	return false;
}

static doca_error_t check_ah(const struct doca_verbs_qp *qp, const struct doca_verbs_ah_attr *ah)
{
	if (!ah) {
		ENGINE_ERR("modify QP: AH_ATTR is in the mask, ah_attr is NULL");
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (!in_range("addr_type", ah->addr_type, 0, DOCA_VERBS_ADDR_TYPE_IB_NO_GRH) ||
	    !in_range("dlid", ah->dlid, 0, 0xffff) || !in_range("sl", ah->sl, 0, 15) ||
	    !in_range("static_rate", ah->static_rate, 0, 15))
		return DOCA_ERROR_INVALID_VALUE;
	if (ah->sgid_index >= qp->caps.gid_table_size) {
		ENGINE_ERR("modify QP: sgid_index %u, the port has %u GIDs", ah->sgid_index,
			   qp->caps.gid_table_size);
		return DOCA_ERROR_INVALID_VALUE;
	}
	return DOCA_SUCCESS;
}

static doca_error_t check_values(const struct doca_verbs_qp *qp,
				 const struct doca_verbs_qp_attr *attr, int mask)
{
	const struct doca_verbs_device_attr *caps = &qp->caps;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		uint32_t value = 0;

		memcpy(&value, (const uint8_t *)attr + limits[i].offset, limits[i].size);
		if ((mask & limits[i].bit) && !in_range(limits[i].name, value, 0, limits[i].max))
			return DOCA_ERROR_INVALID_VALUE;
	}
	if ((mask & BIT(PKEY_INDEX)) && attr->pkey_index >= caps->max_pkeys) {
		ENGINE_ERR("modify QP: pkey_index %u, the port has %u", attr->pkey_index,
			   caps->max_pkeys);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if ((mask & BIT(PORT_NUM)) && !in_range("port_num", attr->port_num, 1, caps->phys_port_cnt))
		return DOCA_ERROR_INVALID_VALUE;
	if ((mask & BIT(MAX_QP_RD_ATOMIC)) &&
	    !in_range("max_rd_atomic", attr->max_rd_atomic, 1, caps->max_qp_init_rd_atom))
		return DOCA_ERROR_INVALID_VALUE;
	if ((mask & BIT(MAX_DEST_RD_ATOMIC)) &&
	    !in_range("max_dest_rd_atomic", attr->max_dest_rd_atomic, 1, caps->max_qp_rd_atom))
		return DOCA_ERROR_INVALID_VALUE;
	if (attr->allow_remote_atomic != DOCA_VERBS_QP_ATOMIC_MODE_NONE &&
	    attr->allow_remote_atomic != DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC &&
	    attr->allow_remote_atomic != DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES) {
		ENGINE_ERR("modify QP: allow_remote_atomic %d is unknown",
			   (int)attr->allow_remote_atomic);
		return DOCA_ERROR_INVALID_VALUE;
	}
	return mask & BIT(AH_ATTR) ? check_ah(qp, attr->ah_attr) : DOCA_SUCCESS;
}

static const struct transition *find_transition(int from, int to)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if ((t->from == ANY || t->from == from) && t->to == to)
			return t;
	}
	ENGINE_ERR("modify QP: no transition from state %d to %d", from, to);
	return NULL;
}

static doca_error_t check_mask(const struct transition *t, int mask)
{
	int missing, excess;

	mask &= ~STATE_BITS;
	missing = t->required & ~mask;
	excess = mask & ~(t->required | t->optional);
	if (!missing && !excess)
		return DOCA_SUCCESS;
	ENGINE_ERR("%s: attribute mask 0x%x lacks 0x%x and has 0x%x too many", t->name, mask,
		   missing, excess);
	return DOCA_ERROR_INVALID_VALUE;
}

/* ---- Groups of attributes ---- */

/*
 * Tells the firmware that an optional parameter is meant, where this command takes it as optional.
 */
static void mark(struct modify *m, uint32_t optpar)
{
	m->optpar |= optpar & m->t->optpar;
}

/*
 * Rights go into every command as they stand, marked where this call changes them. Atomics have no
 * mask bit: a mode in the attributes means that it is wanted.
 */
static void set_rights(struct modify *m)
{
	struct doca_verbs_qp *qp = m->qp;
	bool write = m->mask & BIT(ALLOW_REMOTE_WRITE) ? m->attr->allow_remote_write != 0
						       : qp->allow_write;
	bool read =
		m->mask & BIT(ALLOW_REMOTE_READ) ? m->attr->allow_remote_read != 0 : qp->allow_read;
	enum doca_verbs_qp_atomic_type atomic =
		m->attr->allow_remote_atomic ? m->attr->allow_remote_atomic : qp->allow_atomic;

	PRM_SET(qpc, m->qpc, rwe, write);
	PRM_SET(qpc, m->qpc, rre, read);
	PRM_SET(qpc, m->qpc, rae, atomic != DOCA_VERBS_QP_ATOMIC_MODE_NONE);
	PRM_SET(qpc, m->qpc, atomic_mode, (uint32_t)atomic);
	if (m->mask & BIT(ALLOW_REMOTE_WRITE))
		mark(m, PRM_OPTPAR_RWE);
	if (m->mask & BIT(ALLOW_REMOTE_READ))
		mark(m, PRM_OPTPAR_RRE);
	if (m->attr->allow_remote_atomic)
		mark(m, PRM_OPTPAR_RAE);
}

static void set_init(struct modify *m)
{
	uint16_t port = m->mask & BIT(PORT_NUM) ? m->attr->port_num : m->qp->port_num;

	PRM_SET(qpc, m->qpc, pm_state, PM_STATE_MIGRATED);
	PRM_SET(ads, m->path, vhca_port_num, port);
	if (m->mask & BIT(PORT_NUM))
		mark(m, PRM_OPTPAR_PRI_PORT);
	if (m->mask & BIT(PKEY_INDEX)) {
		PRM_SET(ads, m->path, pkey_index, m->attr->pkey_index);
		mark(m, PRM_OPTPAR_PKEY);
	}
}

static void set_rnr_timer(struct modify *m)
{
	if (!(m->mask & BIT(MIN_RNR_TIMER)))
		return;
	PRM_SET(qpc, m->qpc, min_rnr_nak, m->attr->min_rnr_timer);
	mark(m, PRM_OPTPAR_RNR_TIMEOUT);
}

/* The peer's MAC address: rdma-core asks the kernel's neighbour table when it makes an address
 * handle. */
static doca_error_t set_rmac(struct modify *m)
{
	const struct doca_verbs_ah_attr *ah = m->attr->ah_attr;
	const struct rdma_ops *rdma = rdma_get();
	struct ibv_ah_attr ibv_attr = {
		.port_num = (uint8_t)m->qp->port_num,
		.is_global = 1,
		.sl = ah->sl,
		.grh = {.sgid_index = ah->sgid_index,
			.hop_limit = ah->hop_limit,
			.traffic_class = ah->traffic_class},
	};
	struct mlx5dv_ah dv_ah = {0};
	struct mlx5dv_obj obj = {.ah = {.out = &dv_ah}};
	struct ibv_ah *ibv_ah;
	int rc;

	memcpy(ibv_attr.grh.dgid.raw, ah->gid.raw, sizeof(ah->gid.raw));
	ibv_ah = rdma->create_ah(m->qp->init.pd, &ibv_attr);
	if (!ibv_ah)
		return rdma_failed("ibv_create_ah: no route to the peer's GID", errno);
	obj.ah.in = ibv_ah;
	rc = rdma->init_obj(&obj, MLX5DV_OBJ_AH);
	if (rc == 0) {
		const uint8_t *mac = dv_ah.av->rmac;

		PRM_SET(ads, m->path, rmac_47_32, (uint32_t)mac[0] << 8 | mac[1]);
		PRM_SET(ads, m->path, rmac_31_0,
			(uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 |
				mac[5]);
	}
	rdma->destroy_ah(ibv_ah);
	return rc ? rdma_failed("mlx5dv_init_obj(AH)", rc > 0 ? rc : errno) : DOCA_SUCCESS;
}

static doca_error_t query_roce_version(struct modify *m, uint32_t *version)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0}, out[PRM_roce_address_out_SIZE] = {0};
	doca_error_t status;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_ROCE_ADDRESS);
	PRM_SET(roce_address_in, in, roce_address_index, m->attr->ah_attr->sgid_index);
	status = devx_general(m->qp->context, "QUERY_ROCE_ADDRESS", in, sizeof(in), out,
			      sizeof(out));
	if (status == DOCA_SUCCESS)
		*version = PRM_GET(roce_addr, PRM_CPTR(roce_address_out, out, roce_address),
				   roce_version);
	return status;
}

/*
 * A source port per pair of QPs, so that switches spread flows; the same pair gets the same port.
 */
static uint16_t udp_sport(const struct doca_verbs_device_attr *caps, uint32_t qpn,
			  uint32_t dest_qpn)
{
	uint64_t mix = (uint64_t)qpn << 24 | dest_qpn;
	uint32_t range;

	if (caps->max_udp_sport < caps->min_udp_sport)
		return caps->min_udp_sport;
	range = (uint32_t)(caps->max_udp_sport - caps->min_udp_sport) + 1;
	mix *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio: spreads neighbouring numbers */
	return (uint16_t)(caps->min_udp_sport + (mix >> 40) % range);
}

static doca_error_t set_roce(struct modify *m)
{
	const struct doca_verbs_ah_attr *ah = m->attr->ah_attr;
	doca_error_t status;
	uint32_t version = 0;

	status = set_rmac(m);
	if (status == DOCA_SUCCESS)
		status = query_roce_version(m, &version);
	if (status != DOCA_SUCCESS)
		return status;
	PRM_SET(ads, m->path, eth_prio, ah->sl & 7);
	if (version >= ROCE_V2) {
		PRM_SET(ads, m->path, udp_sport,
			udp_sport(&m->qp->caps, m->qp->qpn, m->attr->dest_qp_num));
		PRM_SET(ads, m->path, dscp, ah->traffic_class >> 2);
	}
	return DOCA_SUCCESS;
}

static bool is_roce(const struct doca_verbs_ah_attr *ah)
{
	return ah->addr_type == DOCA_VERBS_ADDR_TYPE_IPv4 ||
	       ah->addr_type == DOCA_VERBS_ADDR_TYPE_IPv6;
}

static doca_error_t set_path(struct modify *m)
{
	const struct doca_verbs_ah_attr *ah = m->attr->ah_attr;

	if (is_roce(ah) != m->qp->caps.is_ethernet) {
		ENGINE_ERR("addr_type %d does not fit the port, which is %s", (int)ah->addr_type,
			   m->qp->caps.is_ethernet ? "Ethernet" : "InfiniBand");
		return DOCA_ERROR_INVALID_VALUE;
	}
	PRM_SET(ads, m->path, vhca_port_num, m->qp->port_num);
	PRM_SET(ads, m->path, stat_rate, ah->static_rate);
	PRM_SET(ads, m->path, tclass, ah->traffic_class);
	if (ah->addr_type != DOCA_VERBS_ADDR_TYPE_IB_NO_GRH) {
		memcpy(PRM_PTR(ads, m->path, rgid_rip), ah->gid.raw, sizeof(ah->gid.raw));
		PRM_SET(ads, m->path, hop_limit, ah->hop_limit);
		PRM_SET(ads, m->path, src_addr_index, ah->sgid_index);
	}
	if (is_roce(ah))
		return set_roce(m);
	PRM_SET(ads, m->path, rlid, ah->dlid);
	PRM_SET(ads, m->path, sl, ah->sl);
	PRM_SET(ads, m->path, grh, ah->addr_type == DOCA_VERBS_ADDR_TYPE_IB_GRH);
	return DOCA_SUCCESS;
}

/* ---- Commands ---- */

static doca_error_t fill_init(struct modify *m)
{
	set_rights(m);
	set_init(m);
	return DOCA_SUCCESS;
}

static doca_error_t fill_rtr(struct modify *m)
{
	const struct doca_verbs_qp_attr *attr = m->attr;

	set_rights(m);
	set_rnr_timer(m);
	PRM_SET(qpc, m->qpc, next_rcv_psn, attr->rq_psn & PSN_MASK);
	PRM_SET(qpc, m->qpc, remote_qpn, attr->dest_qp_num);
	PRM_SET(qpc, m->qpc, log_msg_max, LOG_MSG_MAX);
	PRM_SET(qpc, m->qpc, mtu, (uint32_t)attr->path_mtu + 1); /* PRM counts from 1 */
	if (m->mask & BIT(PKEY_INDEX)) {
		PRM_SET(ads, m->path, pkey_index, attr->pkey_index);
		mark(m, PRM_OPTPAR_PKEY);
	}
	if (m->mask & BIT(MAX_DEST_RD_ATOMIC))
		PRM_SET(qpc, m->qpc, log_rra_max, ilog2(attr->max_dest_rd_atomic));
	return set_path(m);
}

static doca_error_t fill_rts(struct modify *m)
{
	const struct doca_verbs_qp_attr *attr = m->attr;

	set_rights(m);
	set_rnr_timer(m);
	PRM_SET(qpc, m->qpc, next_send_psn, attr->sq_psn & PSN_MASK);
	PRM_SET(ads, m->path, ack_timeout, attr->ack_timeout);
	PRM_SET(qpc, m->qpc, retry_count, attr->retry_cnt);
	PRM_SET(qpc, m->qpc, rnr_retry, attr->rnr_retry);
	if (m->mask & BIT(MAX_QP_RD_ATOMIC))
		PRM_SET(qpc, m->qpc, log_sra_max, ilog2(attr->max_rd_atomic));
	return DOCA_SUCCESS;
}

static doca_error_t fill_rts2rts(struct modify *m)
{
	const struct doca_verbs_ah_attr *ah = m->attr->ah_attr;
	doca_error_t status;
	uint32_t version = 0;

	set_rights(m);
	set_rnr_timer(m);
	if (!(m->mask & BIT(AH_ATTR)))
		return DOCA_SUCCESS;
	PRM_SET(ads, m->path, src_addr_index, ah->sgid_index);
	mark(m, PRM_OPTPAR_SGID_INDEX);
	if (!m->qp->caps.is_ethernet || !m->qp->caps.has_rts2rts_dscp)
		return DOCA_SUCCESS;
	status = query_roce_version(m, &version);
	if (status == DOCA_SUCCESS && version >= ROCE_V2) {
		PRM_SET(ads, m->path, dscp, ah->traffic_class >> 2);
		mark(m, PRM_OPTPAR_DSCP);
	}
	return status;
}

static doca_error_t fill(struct modify *m)
{
	switch (m->t->opcode) {
	case PRM_CMD_RST2INIT_QP:
	case PRM_CMD_INIT2INIT_QP:
		return fill_init(m);
	case PRM_CMD_INIT2RTR_QP:
		return fill_rtr(m);
	case PRM_CMD_RTR2RTS_QP:
		return fill_rts(m);
	case PRM_CMD_RTS2RTS_QP:
		return fill_rts2rts(m);
	default:
		return DOCA_SUCCESS; /* to RST and ERR: the QP's number is all */
	}
}

/* The handle remembers what the NIC now has. */
static void remember(const struct modify *m)
{
	struct doca_verbs_qp *qp = m->qp;

	qp->state = (enum doca_verbs_qp_state)m->t->to;
	if (qp->state == DOCA_VERBS_QP_STATE_RST) {
		qp->allow_write = qp->allow_read = false;
		qp->allow_atomic = DOCA_VERBS_QP_ATOMIC_MODE_NONE;
		return;
	}
	if (m->mask & BIT(PORT_NUM))
		qp->port_num = m->attr->port_num;
	if (m->mask & BIT(ALLOW_REMOTE_WRITE))
		qp->allow_write = m->attr->allow_remote_write != 0;
	if (m->mask & BIT(ALLOW_REMOTE_READ))
		qp->allow_read = m->attr->allow_remote_read != 0;
	if (m->mask & BIT(AH_ATTR))
		qp->addr_type = m->attr->ah_attr->addr_type;
	if (qp->state != DOCA_VERBS_QP_STATE_ERR && m->attr->allow_remote_atomic)
		qp->allow_atomic = m->attr->allow_remote_atomic;
}

doca_error_t doca_verbs_qp_modify(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr,
				  int attr_mask)
{
	struct modify m = {.qp = qp, .attr = attr, .mask = attr_mask};
	doca_error_t status;
	size_t in_size;
	int from, to;

	if (!qp || !attr)
		return DOCA_ERROR_INVALID_VALUE;
	status = check_values(qp, attr, attr_mask);
	if (status != DOCA_SUCCESS)
		return status;
	from = attr_mask & BIT(CURRENT_STATE) ? (int)attr->current_state : (int)qp->state;
	to = attr_mask & BIT(NEXT_STATE) ? (int)attr->next_state : from;
	m.t = find_transition(from, to);
	if (!m.t || check_mask(m.t, attr_mask) != DOCA_SUCCESS)
		return DOCA_ERROR_INVALID_VALUE;

	m.qpc = PRM_PTR(modify_qp_in, m.in, qpc);
	m.path = PRM_PTR(qpc, m.qpc, primary_address_path);
	status = fill(&m);
	if (status != DOCA_SUCCESS)
		return status;
	PRM_SET(cmd_in, m.in, opcode, m.t->opcode);
	PRM_SET(modify_qp_in, m.in, qpn, qp->qpn);
	PRM_SET(modify_qp_in, m.in, opt_param_mask, m.optpar);
	in_size = m.t->from == ANY ? PRM_SIZE(cmd_in) : sizeof(m.in);
	status = devx_modify(qp->devx, m.t->name, m.in, in_size);
	if (status != DOCA_SUCCESS)
		return status;
	remember(&m);
	ENGINE_INFO("QP 0x%x: %s", qp->qpn, m.t->name);
	return DOCA_SUCCESS;
}
