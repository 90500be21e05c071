// SPDX-License-Identifier: BSD-3-Clause
/* What differs between the transport services (IBTA 9.2): one row each, and no test of a QP's
 * type anywhere else. */
#include "emu/nicmodel/rc.h"

#define RECV_WQE_FAULTS (1u << RC_CAUSE_RECV_LKEY | 1u << RC_CAUSE_RECV_WQE)

/* Acknowledged and repeated; who receives is each row's own. */
#define RELIABLE_                                                                                  \
	.reliable = true, .connected = true, .send = rc_send_data, .request = rc_req_run,          \
	.respond = rc_resp_run, .reply = rc_reply_run, .timeout = rc_timeout,                      \
	.refused = rc_refused, .not_ready = rc_not_ready

/* A buffer that is too small: fatal as seen of ConnectX; IBTA 9.8.3 would drop. */
#define DATAGRAMS_                                                                                 \
	.opcode_base = ROCE_BASE_UD, .wqe_st = PRM_QP_ST_UD,                                       \
	.fatal = RECV_WQE_FAULTS | 1u << RC_CAUSE_RECV_LENGTH, .send = ud_send,                    \
	.request = ur_request, .respond = ur_respond, .receive = ud_receive,                       \
	.refused = ur_refused, .not_ready = ur_not_ready

static const struct nm_service services[] = {
	[PRM_QP_ST_RC] =
		{
			.name = "RC",
			.opcode_base = ROCE_BASE_RC,
			.wqe_st = PRM_QP_ST_RC,
			RELIABLE_,
			.receive = rc_receive,
		},
	[PRM_QP_ST_UC] =
		{
			.name = "UC",
			.opcode_base = ROCE_BASE_UC,
			.wqe_st = PRM_QP_ST_UC,
			.connected = true,
			.fatal = RECV_WQE_FAULTS,
			.send = rc_send_data,
			.request = ur_request,
			.respond = ur_respond,
			.receive = uc_receive,
			.refused = ur_refused,
			.not_ready = ur_not_ready,
		},
	[PRM_QP_ST_UD] = {.name = "UD", DATAGRAMS_},
	/* Queue pairs 0 and 1 (IBTA 13.5): datagrams as the driver sends them; no MAD comes. */
	[PRM_QP_ST_QP0] = {.name = "QP0", DATAGRAMS_, .driver_only = true},
	[PRM_QP_ST_QP1] = {.name = "QP1", DATAGRAMS_, .driver_only = true},
	/* Connected to nobody: its WQEs change keys. */
	[PRM_QP_ST_UMR] =
		{
			.name = "UMR",
			.opcode_base = ROCE_BASE_RC,
			.wqe_st = PRM_QP_ST_UMR,
			RELIABLE_,
			.receive = rc_receive,
			.driver_only = true,
			.any_pd = true,
		},
	[PRM_QP_ST_XRC] =
		{
			.name = "XRC",
			.opcode_base = ROCE_BASE_XRC,
			.wqe_st = PRM_QP_ST_XRC,
			RELIABLE_,
			.srq_by_packet = true,
			.receive = xrc_receive,
			.admit = xrc_admit,
		},
};

const struct nm_service *nm_service_of(uint8_t st)
{
	if (st >= sizeof(services) / sizeof(services[0]) || !services[st].name)
		return NULL;
	return &services[st];
}
