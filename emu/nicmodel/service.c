// SPDX-License-Identifier: BSD-3-Clause
/* What differs between the transport services (IBTA 9.2): one row each, and no test of a QP's
 * type anywhere else. */
#include "emu/nicmodel/rc.h"

static const struct nm_service services[] = {
	[PRM_QP_ST_RC] =
		{
			.name = "RC",
			.opcode_base = 0x00,
			.reliable = true,
			.connected = true,
			.send = rc_send_data,
			.request = rc_req_run,
			.respond = rc_resp_run,
			.reply = rc_reply_run,
			.timeout = rc_timeout,
			.receive = rc_receive,
			.refused = rc_refused,
			.not_ready = rc_not_ready,
		},
};

const struct nm_service *nm_service_of(uint8_t st)
{
	if (st >= sizeof(services) / sizeof(services[0]) || !services[st].name)
		return NULL;
	return &services[st];
}
