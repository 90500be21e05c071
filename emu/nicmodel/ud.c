// SPDX-License-Identifier: BSD-3-Clause
/*
 * Unreliable datagram (IBTA 9.8.3): a WQE is one packet, and says itself where it goes.
 *
 * The receive WQE gets 40 bytes before the payload: the GRH that the packet had, or what stands
 * for it in RoCEv2 (an IPv6 header; an IPv4 header in the last 20 bytes). A datagram for nobody, of
 * another Q_Key or without a receive WQE is dropped; one that does not fit is an error of the
 * receive WQE.
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <string.h>

#include "emu/nicmodel/roce_wire.h"

enum {
	UD_SPORT = 0xc000,	  /* of an address vector that names none */
	UD_OWN_QKEY = INT32_MIN,  /* bit 31: the QP's own Q_Key is sent (IBTA 10.2.5) */
	UD_CQE_GRH = 1 << 4,	  /* in the buffer */
	UD_CQE_ROCE_UDP = 1 << 3, /* RoCE: SL's place holds the kind of header */
	UD_CQE_ROCE_V6 = 1,
	UD_CQE_ROCE_V4 = 2,
};

/* ---- requester ---- */

/* NULL, or what is wrong with the address vector. */
static const char *route_of(const struct nm_nic *nic, const struct nm_av *av, struct nm_route *r)
{
	bool ethernet = nic->config.link_is_ethernet;

	memset(r, 0, sizeof(*r));
	memcpy(r->sgid, nic->gid, sizeof(r->sgid));
	memcpy(r->smac, nic->config.mac, sizeof(r->smac));
	memcpy(r->dmac, av->rmac, sizeof(r->dmac));
	r->slid = nic->config.lid;
	r->udp_sport = UD_SPORT;
	if (ethernet && !av->ext)
		return "its address vector has 16 bytes and no GID, on an Ethernet port";
	if (av->grh && !av->ext)
		return "its address vector has 16 bytes and says that it has a GRH";
	if ((ethernet || av->grh) && av->sgid_index != 0)
		return "its address vector names a source GID that the port does not have";
	if (ethernet && av->rlid)
		r->udp_sport = av->rlid;
	if (!ethernet) {
		r->dlid = av->rlid;
		r->sl = av->sl;
	}
	r->no_grh = !ethernet && !av->grh;
	if (r->no_grh)
		return NULL;
	memcpy(r->dgid, av->rgid, sizeof(r->dgid));
	r->tclass = av->tclass;
	r->hop_limit = av->hop_limit;
	r->flow_label = av->flow_label;
	return NULL;
}

/* 0; -EPERM: the WQE failed. */
static int check(struct nm_qp *qp, const struct rc_swqe *w, struct nm_route *route)
{
	const char *why = route_of(qp->obj.nic, &qp->rc->req.wr.av, route);

	if (why) {
		nm_diagnose_wqe(qp->obj.nic, NM_DIAG_WQE, qp->obj.number, w->wqe_idx, "WQE %u: %s",
				w->wqe_idx, why);
		rc_req_fail(qp, qp->rc->req.cur, RC_CAUSE_WQE);
		return -EPERM;
	}
	if (w->len > qp->mtu) {
		nm_diagnose_wqe(qp->obj.nic, NM_DIAG_WQE, qp->obj.number, w->wqe_idx,
				"WQE %u: a datagram of %llu bytes, the port's MTU is %u",
				w->wqe_idx, (unsigned long long)w->len, qp->mtu);
		rc_req_fail(qp, qp->rc->req.cur, RC_CAUSE_LENGTH);
		return -EPERM;
	}
	return 0;
}

int ud_send(struct nm_qp *qp, struct rc_swqe *w, uint64_t off)
{
	struct rc_req *req = &qp->rc->req;
	const struct nm_av *av = &req->wr.av;
	uint8_t opcode = req->wr.imm_valid ? ROCE_SEND_ONLY_IMM : ROCE_SEND_ONLY;
	uint8_t cause = RC_CAUSE_NONE;
	uint32_t len = (uint32_t)w->len;
	struct nm_route route;
	uint8_t *ext;
	int rc = check(qp, w, &route);

	(void)off;
	if (rc)
		return rc;
	rc = rc_gather(qp, 0, &len, &cause);
	if (rc == -EPERM)
		rc_req_fail(qp, req->cur, cause);
	if (rc)
		return rc;
	ext = rc_packet(qp, opcode, w->se, len, false, req->snd_psn);
	qp->obj.nic->tx.route = route;
	roce_bth_set_dqpn(qp->obj.nic->tx.hdr, av->dqpn);
	prm_store32(ext, av->qkey & (uint32_t)UD_OWN_QKEY ? qp->qkey : av->qkey);
	prm_store32(ext + 4, qp->obj.number & 0xffffff);
	if (req->wr.imm_valid)
		prm_store32(ext + ROCE_DETH_LEN, req->wr.imm);
	rc = rc_send(qp);
	if (rc == -EFAULT) {
		rc_req_fail(qp, req->cur, RC_CAUSE_MEMORY);
		return -EPERM;
	}
	if (rc == 0)
		req->snd_psn = psn_add(req->snd_psn, 1);
	return rc;
}

/* ---- responder ---- */

/* The byte of the CQE above the source QPN: GRH and SL, or GRH and the kind of RoCE header. */
static uint8_t cqe_flags(const struct nm_nic *nic, const struct nm_route *route)
{
	if (!nic->config.link_is_ethernet)
		return (uint8_t)((route->no_grh ? 0 : UD_CQE_GRH) | (route->sl & 0xf));
	return (uint8_t)(UD_CQE_GRH | UD_CQE_ROCE_UDP |
			 (nm_roce_is_ipv4(route) ? UD_CQE_ROCE_V4 : UD_CQE_ROCE_V6));
}

static void parse(const struct nm_nic *nic, const struct nm_packet *pkt, const struct roce_bth *bth,
		  struct rc_op *op)
{
	const uint8_t *deth = pkt->hdr + ROCE_BTH_LEN;

	*op = (struct rc_op){
		.info = &roce_ops[bth->opcode],
		.opcode = bth->opcode,
		.se = bth->se,
		.psn = bth->psn,
		.npsn = 1,
		.pre_len = NM_ROCE_GRH_LEN,
		.len = NM_ROCE_GRH_LEN + pkt->payload_len,
		.pkt = pkt,
		.src_qpn = prm_load32(deth + 4) & 0xffffff,
		.cqe_flags = cqe_flags(nic, &pkt->route),
		.slid = nic->config.link_is_ethernet ? 0 : pkt->route.slid,
	};
	if (op->info->flags & RF_IMM)
		op->imm = prm_load32(deth + ROCE_DETH_LEN);
	static_assert(sizeof(op->pre) == NM_ROCE_GRH_LEN, "the GRH stands before the payload");
	nm_roce_grh(pkt, nic->config.link_is_ethernet, op->pre);
}

void ud_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct nm_nic *nic = qp->obj.nic;
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t qkey = prm_load32(pkt->hdr + ROCE_BTH_LEN);
	struct rc_op op;

	if (resp->dead)
		return;
	if (qkey != qp->qkey) {
		nm_diagnose(nic, NM_DIAG_Q_KEY, qp->obj.number,
			    "a datagram from QP 0x%06x has Q_Key 0x%08x, the QP's is 0x%08x: "
			    "dropped",
			    prm_load32(pkt->hdr + ROCE_BTH_LEN + 4) & 0xffffff, qkey, qp->qkey);
		return;
	}
	if (pkt->segs > 1 || pkt->payload_len > qp->mtu) {
		nm_diagnose(nic, NM_DIAG_PACKET, qp->obj.number,
			    "a datagram of %u bytes, the port's MTU is %u: dropped",
			    pkt->payload_len, qp->mtu);
		return;
	}
	parse(nic, pkt, bth, &op);
	op.message = ++resp->message;
	ur_accept(qp, &op);
	nm_qp_schedule(qp);
}
