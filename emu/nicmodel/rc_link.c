/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the transport and the link: packets out, and in with the checks that come before any
 * QP's. */
#include "emu/nicmodel/rc.h"

#include <string.h>

#include "emu/nicmodel/roce_wire.h"

uint8_t *rc_packet(struct nm_qp *qp, uint8_t opcode, bool se, uint32_t payload_len, bool ackreq,
		   uint32_t psn)
{
	struct nm_packet *pkt = &qp->obj.nic->tx;

	opcode = (uint8_t)(qp->service->opcode_base + opcode);
	pkt->route = qp->route;
	pkt->hdr_len = roce_ops[opcode].hdr_len;
	pkt->payload_len = payload_len;
	pkt->segs = 0;
	pkt->stable = false;
	pkt->mark = 0;
	roce_bth_put(pkt->hdr, opcode, se, payload_len, qp->remote_qpn, ackreq, psn);
	if (!(roce_ops[opcode].flags & RF_XRC))
		return pkt->hdr + ROCE_BTH_LEN;
	prm_store32(pkt->hdr + ROCE_BTH_LEN, qp->rc->req.wr.xrc_srqn);
	return pkt->hdr + ROCE_BTH_LEN + ROCE_XRC_LEN;
}

/* Somebody is to see each packet and each piece of its payload. */
static bool packets_watched(const struct nm_nic *nic)
{
	return nm_watched(nic, NM_EV_TX) || nm_watched(nic, NM_EV_RX) || nm_watched(nic, NM_EV_DMA);
}

uint32_t rc_train_len(const struct nm_qp *qp, uint64_t left, uint32_t window)
{
	uint32_t segs = window < NM_TRAIN_SEGS ? window : NM_TRAIN_SEGS;
	uint32_t len;

	if (left <= qp->mtu || packets_watched(qp->obj.nic))
		return left < qp->mtu ? (uint32_t)left : qp->mtu;
	len = segs * qp->mtu < NM_TRAIN_MAX ? segs * qp->mtu : NM_TRAIN_MAX;
	return left < len ? (uint32_t)left : len;
}

void rc_train(struct nm_qp *qp)
{
	struct nm_packet *pkt = &qp->obj.nic->tx;

	if (pkt->payload_len <= qp->mtu)
		return;
	pkt->segs = (uint16_t)((pkt->payload_len + qp->mtu - 1) / qp->mtu);
	pkt->seg_len = (uint16_t)qp->mtu;
}

/* A request whose PSN has been on the wire. */
static bool sent_before(const struct nm_qp *qp, const struct nm_packet *pkt)
{
	struct roce_bth bth;

	roce_bth_get(pkt->hdr, &bth);
	return !(roce_ops[bth.opcode].flags & RF_RESP) &&
	       psn_diff(bth.psn, qp->rc->req.max_psn) < 0;
}

/* Only datagrams go to groups. */
static bool to_multicast(const struct nm_qp *qp, const struct nm_packet *pkt)
{
	return !qp->service->connected &&
	       (prm_load32(pkt->hdr + 4) & 0xffffff) == ROCE_QPN_MULTICAST;
}

static int send_once(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	struct nm_packet *pkt = &qp->obj.nic->tx;
	int rc = nic->ops.link_send(nic->ops.ctx, pkt);

	if (rc == -EAGAIN) {
		qp->rc->req.link_retry_ns = qp->rc->now_ns + RC_LINK_RETRY_NS;
	} else if (rc == 0) {
		if (!(roce_ops[pkt->hdr[0]].flags & RF_RESP))
			qp->rc->req.sent_mark = pkt->mark;
		NM_COUNT(qp, tx_packets, rc_tx_psns(qp));
		NM_COUNT(qp, tx_bytes, nm_roce_bytes(pkt));
		if (to_multicast(qp, pkt))
			NM_COUNT(qp, tx_multicast_packets, 1);
		if (sent_before(qp, pkt))
			NM_COUNT(qp, tx_retransmits, rc_tx_psns(qp));
	}
	return rc;
}

int rc_send(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	struct nm_event ev = {.kind = NM_EV_TX, .qpn = qp->obj.number, .packet = &qp->obj.nic->tx};
	enum nm_verdict verdict;
	int rc;

	if (!nm_watched(nic, NM_EV_TX))
		return send_once(qp);
	verdict = nm_point(nic, &ev);
	if (verdict == NM_DROP)
		return 0;
	rc = send_once(qp);
	if (rc == 0 && verdict == NM_DUP)
		(void)send_once(qp);
	if (rc && nm_watched(nic, NM_EV_UNSENT)) {
		ev.kind = NM_EV_UNSENT;
		nm_observe(nic, &ev);
	}
	return rc;
}

/* What is wrong with the packet before any QP is looked at; NULL: nothing. */
static const char *malformed(const struct nm_packet *pkt)
{
	const struct roce_op *info;
	uint64_t len = 0;

	if (pkt->hdr_len < ROCE_BTH_LEN || pkt->hdr_len > NM_PKT_HDR_MAX)
		return "header length is not that of any packet";
	if (roce_ops[pkt->hdr[0]].flags == 0)
		return "opcode is unknown";
	info = &roce_ops[pkt->hdr[0]];
	if (pkt->hdr_len != info->hdr_len)
		return "header length is not that of its opcode";
	if (pkt->segs > 1)
		return nm_train_ok(pkt) ? NULL : "its lengths are not those of a train";
	if (pkt->niov > NM_PKT_MAX_IOV || pkt->payload_len > NM_MTU_MAX)
		return "payload is longer than any MTU";
	for (uint32_t i = 0; i < pkt->niov; i++)
		len += pkt->payload[i].iov_len;
	if (len != pkt->payload_len)
		return "payload length differs from its pieces";
	if (pkt->payload_len > 0 && !(info->flags & RF_PAYLOAD))
		return "opcode carries no payload, but there is some";
	return NULL;
}

/* A connected QP hears only its peer (IBTA 9.6.1.5). */
static bool from_peer(const struct nm_qp *qp, const struct nm_packet *pkt)
{
	static const uint8_t none[16];

	if (memcmp(qp->route.dgid, none, sizeof(none)) == 0)
		return pkt->route.slid == qp->route.dlid;
	return memcmp(qp->route.dgid, pkt->route.sgid, sizeof(none)) == 0;
}

static bool state_receives(const struct nm_qp *qp, bool response)
{
	switch (qp->state) {
	case PRM_QP_RTS:
	case PRM_QP_SQD:
	case PRM_QP_SQER:
		return true;
	case PRM_QP_RTR:
		return !response;
	default:
		return false;
	}
}

/* May the QP take the packet? Says why not. */
static bool acceptable(struct nm_qp *qp, const struct nm_packet *pkt, const struct roce_bth *bth)
{
	const struct roce_op *info = &roce_ops[bth->opcode];
	struct nm_nic *nic = qp->obj.nic;

	if (info->st != qp->st || !state_receives(qp, (info->flags & RF_RESP) != 0)) {
		nm_diagnose(nic, NM_DIAG_PACKET, qp->obj.number,
			    "%s with PSN 0x%06x for a QP in state %u of service %s: dropped",
			    info->name, bth->psn, qp->state, qp->service->name);
		return false;
	}
	if ((bth->pkey & 0x7fff) != (ROCE_PKEY & 0x7fff)) {
		nm_diagnose(nic, NM_DIAG_PACKET, qp->obj.number,
			    "%s with partition key 0x%04x, expected 0x%04x: dropped", info->name,
			    bth->pkey, ROCE_PKEY);
		return false;
	}
	if (qp->service->connected && !from_peer(qp, pkt)) {
		nm_diagnose(
			nic, NM_DIAG_PACKET, qp->obj.number,
			"%s with PSN 0x%06x comes from another address than the peer's: dropped",
			info->name, bth->psn);
		return false;
	}
	return true;
}

/* The port has counted it; each QP that it is for does. */
static void deliver(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	NM_COUNT_QP(qp, rx_packets, pkt->segs > 1 ? pkt->segs : 1);
	NM_COUNT_QP(qp, rx_bytes, nm_roce_bytes(pkt));
	qp->service->receive(qp, pkt, bth);
}

/* What the QP sent itself and, by its context, will not hear. */
static bool own_multicast(const struct nm_qp *qp, const struct nm_packet *pkt)
{
	const struct nm_nic *nic = qp->obj.nic;

	return PRM_GET(qpc, qp->qpc, block_lb_mc) && (roce_ops[pkt->hdr[0]].st == PRM_QP_ST_UD) &&
	       (prm_load32(pkt->hdr + ROCE_BTH_LEN + 4) & 0xffffff) == qp->obj.number &&
	       memcmp(pkt->route.sgid, nic->gid, sizeof(nic->gid)) == 0;
}

/* A group that nobody here has joined is none of our business. */
static void to_group(struct nm_nic *nic, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct nm_mcast *at = NULL;
	struct nm_qp *qp;

	while (nm_mcast_next(nic, pkt->route.dgid, &at, &qp)) {
		if (own_multicast(qp, pkt) || !acceptable(qp, pkt, bth))
			continue;
		NM_COUNT_QP(qp, rx_multicast_packets, 1);
		deliver(qp, pkt, bth);
	}
}

void rc_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth)
{
	if (roce_ops[bth->opcode].flags & RF_RESP)
		rc_ack_receive(qp, pkt, bth);
	else
		rc_resp_receive(qp, pkt, bth);
}

static void receive_point(struct nm_nic *nic, struct nm_packet *pkt);

/* A train of the QP's own MTU that comes when it is expected is taken as it is. */
static bool takes_whole(const struct nm_qp *qp, const struct nm_packet *pkt,
			const struct roce_bth *bth)
{
	if (!qp->service->connected || pkt->seg_len != qp->mtu)
		return false;
	return roce_ops[bth->opcode].flags & RF_RESP ? rc_ack_takes(qp, bth->psn, pkt->segs)
						     : bth->psn == qp->rc->resp.epsn;
}

static void receive_cut(struct nm_nic *nic, const struct nm_packet *train)
{
	for (uint32_t i = 0; i < train->segs; i++) {
		struct nm_packet pkt;

		if (nm_train_segment(train, i, &pkt))
			receive_point(nic, &pkt);
	}
}

static void count_received(struct nm_nic *nic, const struct nm_packet *pkt)
{
	nic->counters.rx_packets += pkt->segs > 1 ? pkt->segs : 1;
	nic->counters.rx_bytes += nm_roce_bytes(pkt);
}

static void to_one(struct nm_nic *nic, struct nm_packet *pkt, const struct roce_bth *bth)
{
	struct nm_qp *qp = (struct nm_qp *)nm_obj_get(nic, NM_OBJ_QP, bth->dqpn);

	if (!qp)
		nm_diagnose(nic, NM_DIAG_PACKET, bth->dqpn,
			    "%s for QP 0x%06x, which does not exist: dropped",
			    roce_ops[bth->opcode].name, bth->dqpn);
	else if (!acceptable(qp, pkt, bth))
		qp = NULL;
	if (qp && pkt->segs > 1 && !takes_whole(qp, pkt, bth)) {
		receive_cut(nic, pkt);
		return;
	}
	count_received(nic, pkt);
	if (qp)
		deliver(qp, pkt, bth);
}

static void receive_once(struct nm_nic *nic, struct nm_packet *pkt)
{
	const char *wrong = malformed(pkt);
	struct roce_bth bth;

	if (wrong) {
		nic->counters.rx_packets++;
		nm_diagnose(nic, NM_DIAG_PACKET, 0,
			    "a packet of opcode 0x%02x, header %u, payload %u: %s: dropped",
			    pkt->hdr[0], pkt->hdr_len, pkt->payload_len, wrong);
		return;
	}
	roce_bth_get(pkt->hdr, &bth);
	if (bth.dqpn == ROCE_QPN_MULTICAST && pkt->segs < 2) {
		count_received(nic, pkt);
		nic->counters.rx_multicast_packets++;
		to_group(nic, pkt, &bth);
	} else {
		to_one(nic, pkt, &bth);
	}
}

static void receive_point(struct nm_nic *nic, struct nm_packet *pkt)
{
	struct nm_event ev = {.kind = NM_EV_RX, .packet = pkt};
	enum nm_verdict verdict = NM_PASS;

	if (nm_watched(nic, NM_EV_RX)) {
		ev.qpn = pkt->hdr_len >= ROCE_BTH_LEN ? prm_load32(pkt->hdr + 4) & 0xffffff : 0;
		verdict = nm_point(nic, &ev);
	}
	if (verdict == NM_DROP)
		return;
	receive_once(nic, pkt);
	if (verdict == NM_DUP)
		receive_once(nic, pkt);
}

/* Observers look at payload through its pieces. */
static bool bring_payload(struct nm_packet *pkt, uint8_t *bytes)
{
	if (pkt->payload_len && pkt->pull(pkt, 0, bytes, pkt->payload_len))
		return false;
	pkt->pull = NULL;
	pkt->niov = pkt->payload_len > 0;
	pkt->payload[0] = (struct iovec){.iov_base = bytes, .iov_len = pkt->payload_len};
	return true;
}

void nm_nic_receive(struct nm_nic *nic, struct nm_packet *pkt)
{
	bool whole = pkt->segs < 2 || !packets_watched(nic) || malformed(pkt) != NULL;
	uint8_t bytes[NM_MTU_MAX];
	struct nm_packet one;

	if (whole && (!pkt->pull || !packets_watched(nic))) {
		receive_point(nic, pkt);
		return;
	}
	for (uint32_t i = 0; i < (whole ? 1u : pkt->segs); i++) {
		if (whole)
			one = *pkt;
		else if (!nm_train_segment(pkt, i, &one))
			return;
		if (!one.pull || (one.payload_len <= sizeof(bytes) && bring_payload(&one, bytes)))
			receive_point(nic, &one);
	}
}
