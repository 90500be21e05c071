/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modify commands of a QP, as two tables: which command leads from which states to which, and
 * which fields of the given context it takes: always, or only if its bit of opt_param_mask is set.
 * A field that a command does not take is ignored: programs send rights in INIT2RTR with an empty
 * mask and mean nothing by it.
 */
#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/rc.h"

#define ST_(state) (1u << PRM_QP_##state)

enum qp_step {
	RST2INIT,
	INIT2INIT,
	INIT2RTR,
	RTR2RTS,
	RTS2RTS,
	SQERR2RTS,
	RTS2SQD,
	SQD2SQD,
	SQD2RTS,
	TO_ERR,
	TO_RST
};
#define ON_(step) (1u << (step))

/* PRM, QP state diagram; IBTA 10.3.1. The numbers of the commands into and in SQD are those of the
 * first mlx5 drivers; later ones do not use them. */
static const struct qp_step_row {
	uint16_t opcode;
	uint8_t from; /* set of enum prm_qp_state */
	uint8_t to;
	bool has_context;
} step_table[] = {
	[RST2INIT] = {PRM_CMD_RST2INIT_QP, ST_(RST), PRM_QP_INIT, true},
	[INIT2INIT] = {PRM_CMD_INIT2INIT_QP, ST_(INIT), PRM_QP_INIT, true},
	[INIT2RTR] = {PRM_CMD_INIT2RTR_QP, ST_(INIT), PRM_QP_RTR, true},
	[RTR2RTS] = {PRM_CMD_RTR2RTS_QP, ST_(RTR), PRM_QP_RTS, true},
	[RTS2RTS] = {PRM_CMD_RTS2RTS_QP, ST_(RTS), PRM_QP_RTS, true},
	[SQERR2RTS] = {PRM_CMD_SQERR2RTS_QP, ST_(SQER), PRM_QP_RTS, true},
	[RTS2SQD] = {PRM_CMD_RTS2SQD_QP, ST_(RTS), PRM_QP_SQD, false},
	[SQD2SQD] = {PRM_CMD_SQD2SQD_QP, ST_(SQD), PRM_QP_SQD, true},
	[SQD2RTS] = {PRM_CMD_SQD_RTS_QP, ST_(SQD), PRM_QP_RTS, true},
	[TO_ERR] = {PRM_CMD_QP_2ERR, 0x7f, PRM_QP_ERR, false},
	[TO_RST] = {PRM_CMD_QP_2RST, 0x7f, PRM_QP_RST, false},
};

/* Of opt_param_mask_95_32 (rdma-core: mlx5dv_modify_qp_udp_sport). */
#define OPTPAR_UDP_SPORT (UINT64_C(1) << 34)

struct qp_field {
	uint16_t off; /* in the qpc */
	uint8_t hi, lo;
	uint16_t always;   /* steps that take it */
	uint16_t optional; /* steps that take it with its bit */
	uint64_t optpar;   /* bits 31:0 opt_param_mask, above it opt_param_mask_95_32 */
};

#define QPC_(f) PRM_qpc_##f##_OFF, PRM_qpc_##f##_HI, PRM_qpc_##f##_LO
#define ADS_(f)                                                                                    \
	PRM_qpc_primary_address_path_OFF + PRM_ads_##f##_OFF, PRM_ads_##f##_HI, PRM_ads_##f##_LO

#define RIGHTS_OPT_                                                                                \
	(ON_(INIT2INIT) | ON_(INIT2RTR) | ON_(RTR2RTS) | ON_(RTS2RTS) | ON_(SQERR2RTS) |           \
	 ON_(SQD2SQD) | ON_(SQD2RTS))
#define RTS_OPT_ (ON_(RTS2RTS) | ON_(SQERR2RTS) | ON_(SQD2SQD) | ON_(SQD2RTS))
#define AV_(f)                                                                                     \
	{                                                                                          \
		ADS_(f), ON_(INIT2RTR), RTS_OPT_, PRM_OPTPAR_PRIMARY_ADDR                          \
	}

/*
 * `always`: what the verbs require at the transition (IBTA table 94); `optional`: what mlx5_ib's
 * tables honour, with DSCP and SGID_INDEX as the GPUNetIO host library sends them.
 */
static const struct qp_field field_table[] = {
	{QPC_(rre), ON_(RST2INIT), RIGHTS_OPT_, PRM_OPTPAR_RRE},
	{QPC_(rwe), ON_(RST2INIT), RIGHTS_OPT_, PRM_OPTPAR_RWE},
	{QPC_(rae), ON_(RST2INIT), RIGHTS_OPT_, PRM_OPTPAR_RAE},
	{QPC_(atomic_mode), ON_(RST2INIT), RIGHTS_OPT_, PRM_OPTPAR_RAE},
	{QPC_(pm_state), ON_(RST2INIT), ON_(RTR2RTS) | RTS_OPT_, PRM_OPTPAR_PM_STATE},
	{QPC_(counter_set_id), ON_(RST2INIT), RTS_OPT_, PRM_OPTPAR_COUNTER_SET},
	{QPC_(q_key), ON_(RST2INIT), ON_(INIT2INIT) | ON_(INIT2RTR) | ON_(RTR2RTS) | RTS_OPT_,
	 PRM_OPTPAR_QKEY},
	{ADS_(pkey_index), ON_(RST2INIT), ON_(INIT2INIT) | ON_(INIT2RTR), PRM_OPTPAR_PKEY},
	{ADS_(vhca_port_num), ON_(RST2INIT), ON_(INIT2INIT), PRM_OPTPAR_PRI_PORT},
	AV_(fl),
	AV_(free_ar),
	AV_(grh),
	AV_(mlid),
	AV_(rlid),
	AV_(stat_rate),
	AV_(hop_limit),
	AV_(tclass),
	AV_(flow_label),
	AV_(f_dscp),
	AV_(f_ecn),
	AV_(f_eth_prio),
	AV_(ecn),
	AV_(dei),
	AV_(eth_prio),
	AV_(sl),
	AV_(rmac_47_32),
	AV_(rmac_31_0),
	{ADS_(src_addr_index), ON_(INIT2RTR), RTS_OPT_,
	 PRM_OPTPAR_SGID_INDEX | PRM_OPTPAR_PRIMARY_ADDR},
	{ADS_(udp_sport), ON_(INIT2RTR), RTS_OPT_, OPTPAR_UDP_SPORT | PRM_OPTPAR_PRIMARY_ADDR},
	{ADS_(dscp), ON_(INIT2RTR), RTS_OPT_, PRM_OPTPAR_DSCP | PRM_OPTPAR_PRIMARY_ADDR},
	{QPC_(mtu), ON_(INIT2RTR), 0, 0},
	{QPC_(log_msg_max), ON_(INIT2RTR), 0, 0},
	{QPC_(remote_qpn), ON_(INIT2RTR), 0, 0},
	{QPC_(next_rcv_psn), ON_(INIT2RTR), 0, 0},
	{QPC_(log_rra_max), ON_(INIT2RTR), RTS_OPT_, PRM_OPTPAR_RRA_MAX},
	{QPC_(min_rnr_nak), ON_(INIT2RTR), ON_(RTR2RTS) | RTS_OPT_, PRM_OPTPAR_RNR_TIMEOUT},
	{ADS_(ack_timeout), ON_(RTR2RTS), RTS_OPT_, PRM_OPTPAR_ACK_TIMEOUT},
	{QPC_(next_send_psn), ON_(RTR2RTS), 0, 0},
	{QPC_(retry_count), ON_(RTR2RTS), RTS_OPT_, PRM_OPTPAR_RETRY_COUNT},
	{QPC_(rnr_retry), ON_(RTR2RTS), RTS_OPT_, PRM_OPTPAR_RNR_RETRY},
	{QPC_(log_sra_max), ON_(RTR2RTS), RTS_OPT_, PRM_OPTPAR_SRA_MAX},
	{QPC_(log_ack_req_freq), ON_(RTR2RTS), 0, 0},
};

/* The remote address is 16 raw bytes and follows the rest of the address vector. */
static bool takes_rgid(enum qp_step step, uint64_t mask)
{
	return step == INIT2RTR || ((RTS_OPT_ & ON_(step)) && (mask & PRM_OPTPAR_PRIMARY_ADDR));
}

static uint64_t opt_mask(const struct nm_cmd *c)
{
	uint64_t mask = PRM_GET(modify_qp_in, c->in, opt_param_mask);

	if (c->in_len >= PRM_SIZE(modify_qp_in))
		mask |= PRM_GET64(modify_qp_in, c->in, opt_param_mask_95_32) << 32;
	return mask;
}

static const char *const state_names[] = {"RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR"};

static bool step_find(uint16_t opcode, enum qp_step *step)
{
	for (size_t n = 0; n < sizeof(step_table) / sizeof(step_table[0]); n++) {
		if (step_table[n].opcode == opcode) {
			*step = (enum qp_step)n;
			return true;
		}
	}
	return false;
}

static void fields_take(uint8_t *to, const uint8_t *from, enum qp_step step, uint64_t mask)
{
	const uint16_t rgid = PRM_qpc_primary_address_path_OFF + PRM_ads_rgid_rip_OFF;

	for (size_t n = 0; n < sizeof(field_table) / sizeof(field_table[0]); n++) {
		const struct qp_field *f = &field_table[n];

		if ((f->always & ON_(step)) || ((f->optional & ON_(step)) && (mask & f->optpar)))
			prm_set(to, f->off, f->hi, f->lo, prm_get(from, f->off, f->hi, f->lo));
	}
	if (takes_rgid(step, mask))
		memcpy(to + rgid, from + rgid, PRM_ads_rgid_rip_BYTES);
}

/* Only what the transition just took is looked at: the rest is from an earlier, checked command. */
static uint8_t context_check(struct nm_cmd *c, const struct nm_service *service, const uint8_t *qpc,
			     enum qp_step step)
{
	const struct nm_config *config = &c->nic->config;
	const uint8_t *ads = PRM_CPTR(qpc, qpc, primary_address_path);
	uint32_t mtu = PRM_GET(qpc, qpc, mtu);

	if (PRM_GET(ads, ads, vhca_port_num) > 1)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "port %u; the device has port 1",
				   PRM_GET(ads, ads, vhca_port_num));
	if (PRM_GET(ads, ads, pkey_index) != 0)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "pkey_index %u; the table has one valid entry, 0",
				   PRM_GET(ads, ads, pkey_index));
	if (step < INIT2RTR)
		return PRM_STATUS_OK;
	if (service->connected && (mtu < 1 || mtu > config->port_mtu))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "mtu %u (1: 256 bytes ... 5: 4096); the port's is %u", mtu,
				   config->port_mtu);
	if (PRM_GET(ads, ads, src_addr_index) != 0)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "source address index %u; the table has one entry, 0",
				   PRM_GET(ads, ads, src_addr_index));
	if (config->link_is_ethernet && !c->nic->gid_valid)
		return nm_cmd_fail(c, PRM_STATUS_BAD_SYS_STATE, NM_SYND_STATE,
				   "the port has no address yet (SET_ROCE_ADDRESS)");
	if (PRM_GET(qpc, qpc, log_msg_max) > 31)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD, "log_msg_max %u",
				   PRM_GET(qpc, qpc, log_msg_max));
	return PRM_STATUS_OK;
}

/* BAD_RES_STATE for a wrong state is a guess; BAD_QP_STATE is kept for what an answer to MADs says.
 */
uint8_t nm_cmd_modify_qp(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_qp *qp = (struct nm_qp *)nm_cmd_own(c, NM_OBJ_QP,
						      PRM_GET(modify_qp_in, c->in, qpn), &status);
	uint8_t qpc[PRM_qpc_SIZE];
	enum qp_step step;

	if (!qp)
		return status;
	if (!step_find(c->opcode, &step))
		return nm_cmd_fail(c, PRM_STATUS_BAD_OP, NM_SYND_OPCODE, "not a transition");
	assert(qp->state <= PRM_QP_ERR);
	if (step == SQD2SQD && !rc_sqd_drained(qp))
		return nm_cmd_fail(c, PRM_STATUS_BAD_RES_STATE, NM_SYND_STATE,
				   "QP 0x%x has not drained yet", qp->obj.number);
	if (!(step_table[step].from & (1u << qp->state)))
		return nm_cmd_fail(c, PRM_STATUS_BAD_RES_STATE, NM_SYND_STATE,
				   "QP 0x%x is in state %s", qp->obj.number,
				   state_names[qp->state]);
	if (step_table[step].has_context) {
		memcpy(qpc, qp->qpc, sizeof(qpc));
		fields_take(qpc, PRM_CPTR(modify_qp_in, c->in, qpc), step, opt_mask(c));
		status = context_check(c, qp->service, qpc, step);
		if (status)
			return status;
		memcpy(qp->qpc, qpc, sizeof(qpc));
		nm_qp_decode(qp);
	}
	if (step_table[step].to == PRM_QP_RST || step_table[step].to == PRM_QP_ERR)
		nm_qp_acknowledge(qp);
	nm_qp_enter(qp, step_table[step].to);
	if (step == TO_RST) {
		assert(qp->state == PRM_QP_RST);
		if (qp->cq_snd)
			nm_cq_forget_qp(qp->cq_snd, qp->obj.number);
		if (qp->cq_rcv)
			nm_cq_forget_qp(qp->cq_rcv, qp->obj.number);
	}
	return PRM_STATUS_OK;
}
