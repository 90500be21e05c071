/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_QP, QUERY_QP, DESTROY_QP, and what of a context the data path needs decoded. */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/srq.h"

enum {
	NM_LOG_SQ_MAX = 15,	   /* log_max_qp_sz, WQEBBs and receive entries alike */
	NM_LOG_RQ_STRIDE_UNIT = 4, /* qpc.log_rq_stride counts from 16 bytes */
	NM_PAGE_OFFSET_UNITS = 64, /* page_offset counts 64ths of a page */
	NM_MTU_RAW = 7,
	NM_SPORT_BASE = 0xc000,
};

/* ---- decoding ---- */

/* Symmetric for both ends, so that one flow keeps its path: the flow label, or the two QPNs, folded
 * to 14 bits. */
static uint16_t route_sport(const struct nm_qp *qp, uint32_t flow_label)
{
	uint32_t fl = flow_label;

	if (!fl) {
		uint64_t v = (uint64_t)qp->obj.number * qp->remote_qpn;

		v ^= v >> 20;
		v ^= v >> 40;
		fl = v & 0xfffff;
	}
	return (uint16_t)(((fl & 0x3fff) ^ (fl >> 14)) | NM_SPORT_BASE);
}

static void decode_mac(uint8_t mac[6], const uint8_t *ads)
{
	uint32_t hi = PRM_GET(ads, ads, rmac_47_32);

	mac[0] = (uint8_t)(hi >> 8);
	mac[1] = (uint8_t)hi;
	memcpy(mac + 2, PRM_CPTR(ads, ads, rmac_31_0), 4);
}

static void decode_route(struct nm_qp *qp)
{
	const struct nm_nic *nic = qp->obj.nic;
	const uint8_t *ads = PRM_CPTR(qpc, qp->qpc, primary_address_path);
	bool global = nic->config.link_is_ethernet || PRM_GET(ads, ads, grh);
	struct nm_route *r = &qp->route;

	memset(r, 0, sizeof(*r));
	memcpy(r->sgid, nic->gid, sizeof(r->sgid));
	memcpy(r->smac, nic->config.mac, sizeof(r->smac));
	decode_mac(r->dmac, ads);
	if (global)
		memcpy(r->dgid, PRM_CPTR(ads, ads, rgid_rip), sizeof(r->dgid));
	r->dlid = (uint16_t)PRM_GET(ads, ads, rlid);
	r->slid = nic->config.lid;
	r->no_grh = !global;
	if (!nic->config.link_is_ethernet)
		r->sl = (uint8_t)PRM_GET(ads, ads, sl);
	r->hop_limit = (uint8_t)PRM_GET(ads, ads, hop_limit);
	r->flow_label = PRM_GET(ads, ads, flow_label);
	r->tclass = (uint8_t)PRM_GET(ads, ads, tclass);
	if (nic->config.link_is_ethernet)
		r->tclass = (uint8_t)(PRM_GET(ads, ads, dscp) << 2 | PRM_GET(ads, ads, ecn));
	r->udp_sport = (uint16_t)PRM_GET(ads, ads, udp_sport);
	if (!r->udp_sport)
		r->udp_sport = route_sport(qp, r->flow_label);
}

void nm_qp_decode(struct nm_qp *qp)
{
	const uint8_t *qpc = qp->qpc;
	const uint8_t *ads = PRM_CPTR(qpc, qpc, primary_address_path);
	uint32_t mtu = PRM_GET(qpc, qpc, mtu);

	/* A datagram knows no path. */
	if (!qp->service->connected)
		mtu = qp->obj.nic->config.port_mtu;
	qp->mtu = mtu >= 1 && mtu <= 5 ? 128u << mtu : NM_MTU_MAX;
	qp->remote_qpn = PRM_GET(qpc, qpc, remote_qpn);
	qp->qkey = PRM_GET(qpc, qpc, q_key);
	qp->retry_count = (uint8_t)PRM_GET(qpc, qpc, retry_count);
	qp->rnr_retry = (uint8_t)PRM_GET(qpc, qpc, rnr_retry);
	qp->ack_timeout = (uint8_t)PRM_GET(ads, ads, ack_timeout);
	qp->min_rnr_nak = (uint8_t)PRM_GET(qpc, qpc, min_rnr_nak);
	qp->log_ack_req_freq = (uint8_t)PRM_GET(qpc, qpc, log_ack_req_freq);
	qp->max_rd_atomic = 1u << PRM_GET(qpc, qpc, log_sra_max);
	qp->max_dest_rd_atomic = 1u << PRM_GET(qpc, qpc, log_rra_max);
	qp->rre = PRM_GET(qpc, qpc, rre);
	qp->rwe = PRM_GET(qpc, qpc, rwe);
	qp->rae = PRM_GET(qpc, qpc, rae) && PRM_GET(qpc, qpc, atomic_mode);
	qp->log_msg_max = (uint8_t)PRM_GET(qpc, qpc, log_msg_max);
	decode_route(qp);
	nm_qp_choose_set(qp);
}

/* ---- CREATE_QP ---- */

static uint8_t qp_service(struct nm_cmd *c, struct nm_qp *qp)
{
	qp->st = (uint8_t)PRM_GET(qpc, qp->qpc, st);
	qp->rq_type = (uint8_t)PRM_GET(qpc, qp->qpc, rq_type);
	qp->service = nm_service_of(qp->st);
	if (!qp->service)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "service type %u is not modelled (nor advertised)", qp->st);
	if (qp->service->driver_only && c->uid)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_PRIVILEGE,
				   "a %s QP is the driver's, user context %u asks for one",
				   qp->service->name, c->uid);
	if (qp->rq_type == PRM_RQ_CRQ || qp->rq_type > PRM_RQ_NONE)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_UNMODELLED,
				   "rq_type %u; a queue of its own (0), a shared one (1) or none "
				   "(3) are modelled",
				   qp->rq_type);
	if (qp->service->srq_by_packet && qp->rq_type == PRM_RQ_REGULAR)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "an %s QP has no receive queue of its own (rq_type 0)",
				   qp->service->name);
	if (PRM_GET(create_qp_in, c->in, input_qpn))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "input_qpn is 0x%x; the device chooses the number",
				   PRM_GET(create_qp_in, c->in, input_qpn));
	if (PRM_GET(qpc, qp->qpc, send_dbr_mode) > 1)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "send_dbr_mode %u; 0 (record) and 1 (no record) exist",
				   PRM_GET(qpc, qp->qpc, send_dbr_mode));
	if (PRM_GET(qpc, qp->qpc, send_dbr_mode) == 1 && !nm_cap_has_no_dbr(c->nic))
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "send_dbr_mode 1 (no record): this device has no "
				   "send_dbr_mode_no_dbr_ext, a ConnectX-8 has");
	return PRM_STATUS_OK;
}

static uint8_t qp_geometry(struct nm_cmd *c, struct nm_qp *qp)
{
	uint64_t rq_bytes;

	qp->has_sq = !PRM_GET(qpc, qp->qpc, no_sq);
	qp->has_rq = qp->rq_type == PRM_RQ_REGULAR;
	/* An initiator receives nothing, a target has what its packets name. */
	qp->uses_srq = qp->service->srq_by_packet ? !qp->has_sq : qp->rq_type == PRM_RQ_SRQ;
	qp->no_dbr = PRM_GET(qpc, qp->qpc, send_dbr_mode) == 1;
	qp->log_sq_size = qp->has_sq ? (uint8_t)PRM_GET(qpc, qp->qpc, log_sq_size) : 0;
	qp->log_rq_size = qp->has_rq ? (uint8_t)PRM_GET(qpc, qp->qpc, log_rq_size) : 0;
	qp->rq_stride_log = (uint8_t)(PRM_GET(qpc, qp->qpc, log_rq_stride) + NM_LOG_RQ_STRIDE_UNIT);
	static_assert(NM_LOG_SQ_MAX == 15, "the four bits of both size fields");
	rq_bytes = qp->has_rq ? UINT64_C(1) << (qp->log_rq_size + qp->rq_stride_log) : 0;
	/* The send queue starts at a whole WQEBB behind the receive queue. */
	qp->sq_off = (uint32_t)((rq_bytes + PRM_WQEBB_SIZE - 1) / PRM_WQEBB_SIZE * PRM_WQEBB_SIZE);
	if (!qp->has_sq && !qp->has_rq && !qp->uses_srq)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "neither a send nor a receive queue");
	return PRM_STATUS_OK;
}

/* One that only receives from a shared queue has no ring, doorbell or record. */
static bool qp_has_rings(const struct nm_qp *qp)
{
	return qp->has_sq || qp->has_rq;
}

static uint8_t qp_ring(struct nm_cmd *c, struct nm_qp *qp)
{
	uint32_t log_page = PRM_GET(qpc, qp->qpc, log_page_size) + NM_LOG_ADAPTER_PAGE;
	uint64_t len = qp->has_sq ? qp->sq_off + ((uint64_t)PRM_WQEBB_SIZE << qp->log_sq_size)
				  : UINT64_C(1) << (qp->log_rq_size + qp->rq_stride_log);
	struct nm_cmd_region r = {
		.what = "QP",
		.umem_valid = PRM_GET(create_qp_in, c->in, wq_umem_valid),
		.umem_id = PRM_GET(create_qp_in, c->in, wq_umem_id),
		.umem_off = PRM_GET64(create_qp_in, c->in, wq_umem_offset),
		.pas_off = PRM_create_qp_in_pas_OFF,
		.log_page = (uint8_t)log_page,
		.page_off = ((uint64_t)PRM_GET(qpc, qp->qpc, page_offset) << log_page) /
			    NM_PAGE_OFFSET_UNITS,
		.len = len};
	uint8_t status;

	if (!qp_has_rings(qp))
		return PRM_STATUS_OK;
	status = nm_cmd_region(c, &r, &qp->mem, &qp->umem);
	for (uint32_t n = 0; !status && n < qp->mem.next; n++) {
		if (qp->mem.ext[n].addr % PRM_WQEBB_SIZE)
			return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
					   "the rings at 0x%llx are not aligned to 64 bytes",
					   (unsigned long long)qp->mem.ext[n].addr);
	}
	return status;
}

/* What a QP without a queue of its own takes its WQEs from. */
static uint8_t qp_shared(struct nm_cmd *c, struct nm_qp *qp)
{
	uint8_t status;

	if (qp->service->srq_by_packet) {
		qp->xrcd = (struct nm_xrcd *)nm_cmd_use(c, NM_OBJ_XRCD, PRM_GET(qpc, qp->qpc, xrcd),
							&status);
		return status;
	}
	qp->srq = (struct nm_srq *)nm_cmd_use(c, NM_OBJ_SRQ, PRM_GET(qpc, qp->qpc, srqn_rmpn_xrqn),
					      &status);
	if (qp->srq && qp->srq->kind == NM_SRQ_XRC)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				   "SRQ 0x%x is one of XRC, the QP is %s", qp->srq->obj.number,
				   qp->service->name);
	return status;
}

/* Where it receives from and where that completes: with XRC the queue of each packet says. */
static uint8_t qp_receives(struct nm_cmd *c, struct nm_qp *qp)
{
	uint8_t status = qp->uses_srq ? qp_shared(c, qp) : PRM_STATUS_OK;

	if (!status && (qp->has_rq || qp->srq))
		qp->cq_rcv = (struct nm_cq *)nm_cmd_use(c, NM_OBJ_CQ,
							PRM_GET(qpc, qp->qpc, cqn_rcv), &status);
	return status;
}

static uint8_t qp_objects(struct nm_cmd *c, struct nm_qp *qp)
{
	uint8_t status;

	qp->user_index = PRM_GET(qpc, qp->qpc, user_index);
	if (qp->service->any_pd) { /* the driver names none */
		qp->pdn = NM_PDN_ANY;
	} else {
		qp->pdn = PRM_GET(qpc, qp->qpc, pd);
		qp->pd = (struct nm_pd *)nm_cmd_use(c, NM_OBJ_PD, qp->pdn, &status);
		if (!qp->pd)
			return status;
	}
	if (qp_has_rings(qp)) {
		qp->uar = (struct nm_uar *)nm_cmd_use(c, NM_OBJ_UAR,
						      PRM_GET(qpc, qp->qpc, uar_page), &status);
		if (!qp->uar)
			return status;
	}
	if (qp->has_sq) {
		qp->cq_snd = (struct nm_cq *)nm_cmd_use(c, NM_OBJ_CQ,
							PRM_GET(qpc, qp->qpc, cqn_snd), &status);
		if (!qp->cq_snd)
			return status;
	}
	return qp_receives(c, qp);
}

/* QUERY_QP answers with a valid MTU in every state, so a new QP has its port's. */
static void qp_defaults(struct nm_qp *qp)
{
	uint32_t mtu = PRM_GET(qpc, qp->qpc, mtu);

	qp->timer_ns = UINT64_MAX;
	qp->state = PRM_QP_RST;
	PRM_SET(qpc, qp->qpc, state, PRM_QP_RST);
	if (!(mtu >= 1 && mtu <= 5) && mtu != NM_MTU_RAW)
		PRM_SET(qpc, qp->qpc, mtu, qp->obj.nic->config.port_mtu);
}

static uint8_t qp_build(struct nm_cmd *c, struct nm_qp *qp)
{
	uint8_t status;

	qp->obj.nic = c->nic;
	memcpy(qp->qpc, PRM_CPTR(create_qp_in, c->in, qpc), sizeof(qp->qpc));
	status = qp_service(c, qp);
	if (!status)
		status = qp_geometry(c, qp);
	if (!status)
		status = qp_objects(c, qp);
	if (!status)
		status = qp_ring(c, qp);
	/* Without a record for the send queue a QP that receives still has one. */
	if (!status && qp_has_rings(qp))
		status = nm_cmd_dbr(c, PRM_GET(qpc, qp->qpc, dbr_umem_valid),
				    PRM_GET(qpc, qp->qpc, dbr_umem_id),
				    PRM_GET64(qpc, qp->qpc, dbr_addr), &qp->dbr, &qp->dbr_umem);
	if (!status && nm_timer_reserve(c->nic, c->nic->table[NM_OBJ_QP].count + 1))
		status = nm_cmd_no_memory(c);
	if (!status && qp->uar && nm_uar_reserve_qp(qp->uar))
		status = nm_cmd_no_memory(c);
	return status ? status : nm_cmd_publish(c, &qp->obj, NM_OBJ_QP);
}

static void qp_undo(struct nm_qp *qp)
{
	nm_dbr_fini(&qp->dbr);
	nm_mem_fini(&qp->mem);
	nm_cmd_umem_put(qp->umem);
	nm_cmd_umem_put(qp->dbr_umem);
}

static void qp_link(struct nm_qp *qp)
{
	if (qp->pd)
		qp->pd->obj.users++;
	if (qp->cq_snd) {
		qp->cq_snd->obj.users++;
		nm_link_add(&qp->cq_snd->snd_qps, &qp->snd_link);
	}
	if (qp->cq_rcv) {
		qp->cq_rcv->obj.users++;
		nm_link_add(&qp->cq_rcv->rcv_qps, &qp->rcv_link);
	}
	if (qp->srq)
		qp->srq->obj.users++;
	if (qp->xrcd)
		qp->xrcd->obj.users++;
	if (!qp->uar)
		return;
	qp->uar->obj.users++;
	nm_uar_add_qp(qp);
}

static void qp_leave_uar(struct nm_qp *qp)
{
	nm_uar_remove_qp(qp);
	nm_uar_put(qp->uar);
}

static void qp_unlink(struct nm_qp *qp)
{
	if (qp->uar)
		qp_leave_uar(qp);
	nm_link_del(&qp->snd_link);
	nm_link_del(&qp->rcv_link);
	if (qp->xrcd)
		qp->xrcd->obj.users--;
	if (qp->srq)
		qp->srq->obj.users--;
	if (qp->cq_rcv)
		qp->cq_rcv->obj.users--;
	if (qp->cq_snd)
		qp->cq_snd->obj.users--;
	if (qp->pd)
		qp->pd->obj.users--;
}

uint8_t nm_cmd_create_qp(struct nm_cmd *c)
{
	struct nm_qp *qp = calloc(1, sizeof(*qp));
	uint8_t status;

	if (!qp)
		return nm_cmd_no_memory(c);
	status = qp_build(c, qp);
	if (!status) {
		qp_defaults(qp);
		nm_qp_decode(qp);
		if (nm_qp_attach(qp)) {
			nm_obj_remove(c->nic, &qp->obj);
			status = nm_cmd_no_memory(c);
		}
	}
	if (status) {
		qp_undo(qp);
		free(qp);
		return status;
	}
	qp_link(qp);
	return PRM_STATUS_OK;
}

/* ---- the rest ---- */

uint8_t nm_cmd_query_qp(struct nm_cmd *c)
{
	uint8_t status;
	struct nm_qp *qp =
		(struct nm_qp *)nm_cmd_own(c, NM_OBJ_QP, PRM_GET(obj_in, c->in, number), &status);
	uint8_t *qpc = PRM_PTR(query_qp_out, c->out, qpc);

	if (!qp)
		return status;
	memcpy(qpc, qp->qpc, sizeof(qp->qpc));
	PRM_SET(qpc, qpc, state, qp->state);
	nm_qp_fill_query(qp, qpc);
	return PRM_STATUS_OK;
}

void nm_qp_free(struct nm_obj *obj)
{
	struct nm_qp *qp = (struct nm_qp *)obj;

	nm_mcast_forget_qp(qp);
	nm_qp_detach(qp);
	nm_qp_unschedule(qp);
	nm_qp_timer_set(qp, UINT64_MAX);
	if (qp->cq_snd)
		nm_cq_forget_qp(qp->cq_snd, obj->number);
	if (qp->cq_rcv)
		nm_cq_forget_qp(qp->cq_rcv, obj->number);
	qp_unlink(qp);
	qp_undo(qp);
	nm_plain_free(obj);
}

static void end_qp(struct nm_obj *obj)
{
	nm_qp_leave((struct nm_qp *)obj);
	nm_qp_free(obj);
}

uint8_t nm_cmd_destroy_qp(struct nm_cmd *c)
{
	return nm_cmd_end(c, NM_OBJ_QP, PRM_GET(obj_in, c->in, number), end_qp);
}
