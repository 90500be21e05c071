/* SPDX-License-Identifier: BSD-3-Clause */
/* For datagrams: address vectors and groups. */
#include "sim_tests/harness.h"

uint8_t hx_mcg(struct hx_qp *qp, uint16_t opcode, const uint8_t gid[16])
{
	struct hx *h = qp->h;

	memset(h->in, 0, 0x20);
	PRM_SET(cmd_in, h->in, opcode, opcode);
	PRM_SET(mcg_in, h->in, qpn, qp->qpn);
	memcpy(PRM_PTR(mcg_in, h->in, multicast_gid), gid, 16);
	return hx_command(h, qp->nic, 0x20);
}

struct hx_av hx_av(const struct hx_qp *peer)
{
	struct hx *h = peer->h;
	struct hx_av av = {.qkey = peer->attr.qkey, .dqpn = peer->qpn, .hop_limit = 64};

	if (h->config.infiniband) {
		av.rlid = sim_lid(h->sim, peer->nic);
		return av;
	}
	av.rlid = 0xc123;
	av.grh = true;
	sim_gid(h->sim, peer->nic, av.rgid);
	sim_mac(h->sim, peer->nic, av.rmac);
	return av;
}

void hx_to_ready(struct hx_qp *qp)
{
	cr_assert_eq(hx_to_init(qp), 0, "%s", qp->h->why);
	cr_assert_eq(hx_to_rtr(qp, qp), 0, "%s", qp->h->why);
	cr_assert_eq(hx_to_rts(qp), 0, "%s", qp->h->why);
	hx_run(qp->h, 20 * SIM_US);
}
