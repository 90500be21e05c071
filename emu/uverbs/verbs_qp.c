// SPDX-License-Identifier: BSD-3-Clause
/* Queue pairs: create, query, destroy. Transitions are in verbs_qp_modify.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/uverbs/verbs_qp.h"

enum {
	QPC_LOG_RQ_STRIDE_MIN = 4, /* the field counts from 16 bytes */
	QP_FLAGS_KNOWN =
		IB_UVERBS_QP_CREATE_SQ_SIG_ALL | IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
};

struct qp_request {
	uint8_t type;
	uint32_t flags;
	struct uv_obj *pd, *send_cq, *recv_cq, *srq, *xrcd;
	struct ib_uverbs_qp_cap cap;
	struct mlx5_ib_create_qp drv;
	uint64_t rq_bytes, sq_bytes;
};

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static uint32_t log2_of(uint32_t pow2)
{
	return (uint32_t)__builtin_ctz(pow2);
}

/* enum ib_uverbs_qp_type -> qpc.st; -1: not emulated */
static int service_type(uint8_t type)
{
	switch (type) {
	case IB_UVERBS_QPT_RC:
		return PRM_QP_ST_RC;
	case IB_UVERBS_QPT_UC:
		return PRM_QP_ST_UC;
	case IB_UVERBS_QPT_UD:
		return PRM_QP_ST_UD;
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_XRC_TGT:
		return PRM_QP_ST_XRC;
	default:
		return -1;
	}
}

/* Sizes of the two rings as the library laid them out. */
static int check_geometry(struct qp_request *r)
{
	const uint32_t max = 1u << PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), log_max_qp_sz);
	const struct mlx5_ib_create_qp *d = &r->drv;

	if (d->sq_wqe_count && (!is_pow2(d->sq_wqe_count) || d->sq_wqe_count > max))
		return uv_refuse(EINVAL,
				 "QP_CREATE: %u send WQE blocks, expected a power of two up to %u",
				 d->sq_wqe_count, max);
	if (d->rq_wqe_count && (!is_pow2(d->rq_wqe_count) || d->rq_wqe_count > max))
		return uv_refuse(EINVAL,
				 "QP_CREATE: %u receive WQEs, expected a power of two up to %u",
				 d->rq_wqe_count, max);
	if (d->rq_wqe_count && (d->rq_wqe_shift < QPC_LOG_RQ_STRIDE_MIN ||
				d->rq_wqe_shift > QPC_LOG_RQ_STRIDE_MIN + 7))
		return uv_refuse(
			EINVAL,
			"QP_CREATE: receive WQEs of 1 << %u bytes, expected 1 << 4 to 1 << 11",
			d->rq_wqe_shift);
	if (d->db_addr & 7)
		return uv_refuse(
			EINVAL, "QP_CREATE: doorbell record at 0x%" PRIx64 " is not 8-byte aligned",
			(uint64_t)d->db_addr);
	r->rq_bytes = (uint64_t)d->rq_wqe_count << (d->rq_wqe_count ? d->rq_wqe_shift : 0);
	r->sq_bytes = (uint64_t)d->sq_wqe_count * PRM_WQEBB_SIZE;
	if (d->buf_addr & (PRM_WQEBB_SIZE - 1))
		return uv_refuse(EINVAL,
				 "QP_CREATE: rings at 0x%" PRIx64 " are not 64-byte aligned",
				 (uint64_t)d->buf_addr);
	if (r->rq_bytes + r->sq_bytes) {
		int ret = uv_range_check(d->buf_addr, r->rq_bytes + r->sq_bytes, false);

		if (ret)
			return ret;
	}
	return uv_range_check(d->db_addr, 8, false);
}

/* What a QP that posts WQEs needs. */
static int check_uses(struct qp_request *r)
{
	const bool xrc = r->type == IB_UVERBS_QPT_XRC_INI;

	if (!r->pd)
		return uv_refuse(EINVAL, "QP_CREATE: the PD is missing");
	if (!r->send_cq || (!xrc && !r->recv_cq))
		return uv_refuse(EINVAL, "QP_CREATE: %s CQ is missing",
				 r->send_cq ? "receive" : "send");
	if (xrc && r->drv.rq_wqe_count)
		return uv_refuse(EINVAL, "QP_CREATE: XRC_INI with %u receive WQEs",
				 r->drv.rq_wqe_count);
	if (r->srq && (xrc || r->drv.rq_wqe_count))
		return uv_refuse(EINVAL, "QP_CREATE: %s with a shared receive queue",
				 xrc ? "XRC_INI" : "receive WQEs");
	if (r->srq && ((struct uv_srq *)r->srq)->type != IB_UVERBS_SRQT_BASIC)
		return uv_refuse(EINVAL, "QP_CREATE: the shared receive queue is one of XRC");
	return check_geometry(r);
}

static int parse(struct uv_req *req, struct qp_request *r)
{
	const uint32_t no = MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_TYPE_DCI;
	int ret;

	r->type = (uint8_t)uv_in_u64(req, UVERBS_ATTR_CREATE_QP_TYPE, 0);
	r->flags = (uint32_t)uv_in_u64(req, UVERBS_ATTR_CREATE_QP_FLAGS, 0);
	r->pd = uv_obj(req, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	r->send_cq = uv_obj(req, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	r->recv_cq = uv_obj(req, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	r->srq = uv_obj(req, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	r->xrcd = uv_obj(req, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);
	ret = uv_in(req, UVERBS_ATTR_CREATE_QP_CAP, &r->cap, sizeof(r->cap));
	if (!ret)
		ret = uv_in(req, UVERBS_ATTR_UHW_IN, &r->drv, sizeof(r->drv));
	if (ret)
		return uv_refuse(EINVAL, "QP_CREATE without the mlx5 request");
	if (service_type(r->type) < 0)
		return uv_refuse(
			EOPNOTSUPP,
			"QP_CREATE: QP type %s (%u) is not emulated, only RC, UC and UD are",
			uv_name_of_qp_type(r->type), r->type);
	if (r->flags & ~(uint32_t)QP_FLAGS_KNOWN)
		return uv_refuse(EOPNOTSUPP, "QP_CREATE: flags 0x%x are not emulated", r->flags);
	if (r->drv.flags & no)
		return uv_refuse(EOPNOTSUPP,
				 "QP_CREATE: mlx5 flags 0x%x are not emulated (WQE signature, DC)",
				 r->drv.flags & no);
	if (r->type == IB_UVERBS_QPT_XRC_TGT)
		return r->xrcd ? 0 : uv_refuse(EINVAL, "QP_CREATE: XRC_TGT without a domain");
	if (!(r->drv.flags & MLX5_QP_FLAG_UAR_PAGE_INDEX))
		return uv_refuse(EOPNOTSUPP,
				 "QP_CREATE: without a UAR page of its own (old library)");
	return check_uses(r);
}

static void fill_qpc(const struct qp_request *r, const struct uv_pages *pages, uint8_t *qpc)
{
	const struct mlx5_ib_create_qp *d = &r->drv;

	PRM_SET(qpc, qpc, st, (uint32_t)service_type(r->type));
	PRM_SET(qpc, qpc, pm_state, UV_PM_STATE_MIGRATED);
	PRM_SET(qpc, qpc, block_lb_mc, !!(r->flags & IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK));
	PRM_SET(qpc, qpc, pd, r->pd->num);
	PRM_SET(qpc, qpc, uar_page, d->bfreg_index);
	PRM_SET(qpc, qpc, user_index, d->uidx & 0xffffff);
	if (d->sq_wqe_count)
		PRM_SET(qpc, qpc, log_sq_size, log2_of(d->sq_wqe_count));
	else
		PRM_SET(qpc, qpc, no_sq, 1);
	if (d->rq_wqe_count) {
		PRM_SET(qpc, qpc, log_rq_size, log2_of(d->rq_wqe_count));
		PRM_SET(qpc, qpc, log_rq_stride, d->rq_wqe_shift - QPC_LOG_RQ_STRIDE_MIN);
		PRM_SET(qpc, qpc, rq_type, PRM_RQ_REGULAR);
	} else if (r->srq) {
		PRM_SET(qpc, qpc, rq_type, PRM_RQ_SRQ);
		PRM_SET(qpc, qpc, srqn_rmpn_xrqn, r->srq->num);
	} else {
		PRM_SET(qpc, qpc, rq_type, PRM_RQ_NONE);
	}
	PRM_SET(qpc, qpc, cqn_snd, r->send_cq->num);
	PRM_SET(qpc, qpc, cqn_rcv, r->recv_cq ? r->recv_cq->num : 0);
	PRM_SET64(qpc, qpc, dbr_addr, d->db_addr);
	if (!pages->count)
		return;
	PRM_SET(qpc, qpc, log_page_size, pages->shift - 12u);
	PRM_SET(qpc, qpc, page_offset, (uint32_t)(pages->offset >> (pages->shift - 6)));
	/* cs_req and cs_res stay 0: inline scatter to the CQE is not offered by the capabilities.
	 */
}

static int create_in_nic(struct uv_ctx *ctx, struct uv_qp *qp, const struct qp_request *r)
{
	uint8_t out[PRM_obj_out_SIZE] = {0};
	struct uv_pages pages = {0};
	uint8_t *in;
	size_t len;
	int ret;

	if (r->rq_bytes + r->sq_bytes)
		pages = uv_pages_of(r->drv.buf_addr, r->rq_bytes + r->sq_bytes, r->drv.buf_addr,
				    UV_RING_OFFSET);
	len = PRM_create_qp_in_SIZE + 8 * pages.count;
	in = calloc(1, len);
	if (!in)
		return -ENOMEM;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_QP);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	fill_qpc(r, &pages, PRM_PTR(create_qp_in, in, qpc));
	uv_pages_fill(&pages, PRM_PTR(create_qp_in, in, pas));
	ret = uv_command(ctx->uid, "CREATE_QP", in, len, out, sizeof(out));
	free(in);
	if (!ret)
		qp->obj.num = PRM_GET(obj_out, out, number);
	return ret;
}

static int answer(struct uv_req *req, const struct uv_qp *qp)
{
	/* No static BlueFlame register was taken: the library named its own UAR page. */
	const struct mlx5_ib_create_qp_resp drv = {.bfreg_index = UINT32_MAX};
	int ret;

	ret = uv_out(req, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->cap, sizeof(qp->cap));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->obj.num,
			     sizeof(qp->obj.num));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
	return ret ? ret : uv_set_handle(req, UVERBS_ATTR_CREATE_QP_HANDLE, qp->obj.handle);
}

int uv_qp_create(struct uv_req *req)
{
	int async = uv_fd(req, UVERBS_ATTR_CREATE_QP_EVENT_FD);
	struct qp_request r;
	struct uv_qp *qp;
	int ret = parse(req, &r);

	if (ret)
		return ret;
	qp = uv_obj_new(req->ctx, UV_QP, sizeof(*qp),
			r.type == IB_UVERBS_QPT_XRC_TGT
				? (struct uv_obj *[]){r.xrcd, NULL, NULL, NULL}
				: (struct uv_obj *[]){r.pd, r.send_cq, r.recv_cq, r.srq},
			UV_MAX_USES);
	if (!qp)
		return -ENOMEM;
	qp->type = r.type;
	qp->uid = req->ctx->uid;
	/* What there is, not what was asked for (mlx5_ib answers so). */
	qp->cap = r.cap;
	qp->cap.max_recv_wr = r.drv.rq_wqe_count;
	qp->cap.max_recv_sge = r.drv.rq_wqe_count ? (1u << r.drv.rq_wqe_shift) / 16 : 0;
	qp->sig_all = r.flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	qp->route.user_handle = uv_in_u64(req, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0);
	qp->route.async =
		async < 0 ? req->ctx->async : uv_events_find(req->ctx, UV_EVENTS_ASYNC, async);
	if (async >= 0 && !qp->route.async)
		ret = uv_refuse(
			EBADF, "QP_CREATE: fd %d is not an asynchronous event file of this context",
			async);
	if (!ret)
		ret = r.type == IB_UVERBS_QPT_XRC_TGT ? uv_target_open(qp, r.xrcd, 0)
						      : create_in_nic(req->ctx, qp, &r);
	if (ret) {
		uv_obj_free(req->ctx, &qp->obj);
		return ret;
	}
	uv_events_add_qp(&qp->route, qp->obj.num);
	ret = answer(req, qp);
	if (ret)
		uv_obj_destroy(req->ctx, &qp->obj);
	return ret;
}

/* ---- destroy ---- */

/* A driver resets a QP before it destroys it, so that nothing is in flight. */
int uv_qp_destroy_in_nic(uint16_t uid, uint32_t qpn)
{
	int ret = uv_command_simple(uid, "2RST_QP", PRM_CMD_QP_2RST, qpn, NULL);

	if (ret)
		uv_say("QP 0x%x is destroyed without a reset", qpn);
	return uv_command_simple(uid, "DESTROY_QP", PRM_CMD_DESTROY_QP, qpn, NULL);
}

static int destroy_in_nic(struct uv_qp *qp)
{
	return qp->target ? uv_target_close(qp) : uv_qp_destroy_in_nic(qp->uid, qp->obj.num);
}

int uv_qp_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	struct uv_qp *qp = (struct uv_qp *)obj;
	uint32_t async;
	int ret = destroy_in_nic(qp);

	(void)ctx;
	if (ret)
		return ret;
	uv_events_unsubscribe(obj);
	uv_events_remove_qp(&qp->route, &async);
	uv_groups_forget(qp);
	return 0;
}

int uv_qp_destroy(struct uv_req *req)
{
	struct uv_qp *qp = (struct uv_qp *)uv_obj(req, UVERBS_ATTR_DESTROY_QP_HANDLE);
	struct ib_uverbs_destroy_qp_resp resp;
	int ret;

	if (qp->obj.users)
		return uv_refuse(EBUSY, "QP 0x%x is used by %u other objects", qp->obj.num,
				 qp->obj.users);
	if (qp->groups)
		return uv_refuse(EBUSY, "QP 0x%x is in a multicast group", qp->obj.num);
	ret = destroy_in_nic(qp);
	if (ret)
		return ret;
	uv_events_unsubscribe(&qp->obj);
	uv_events_remove_qp(&qp->route, &resp.events_reported);
	uv_obj_free(req->ctx, &qp->obj);
	return uv_out(req, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}

/* ---- query ---- */

/* enum prm_qp_state -> enum uv_qp_state */
uint8_t uv_qp_state_of_prm(uint8_t prm)
{
	static const uint8_t table[] = {
		[PRM_QP_RST] = UV_QPS_RESET, [PRM_QP_INIT] = UV_QPS_INIT,
		[PRM_QP_RTR] = UV_QPS_RTR,   [PRM_QP_RTS] = UV_QPS_RTS,
		[PRM_QP_SQER] = UV_QPS_SQE,  [PRM_QP_SQD] = UV_QPS_SQD,
		[PRM_QP_ERR] = UV_QPS_ERR,   [PRM_QP_SQ_DRAINING] = UV_QPS_SQD,
	};

	return prm < sizeof(table) ? table[prm] : UV_QPS_ERR;
}

int uv_qp_query_context(uint16_t uid, uint32_t qpn, uint8_t qpc[PRM_qpc_SIZE])
{
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_query_qp_out_SIZE] = {0};
	int ret;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(cmd_in, in, uid, uid);
	PRM_SET(obj_in, in, number, qpn);
	ret = uv_command(uid, "QUERY_QP", in, sizeof(in), out, sizeof(out));
	if (!ret)
		memcpy(qpc, PRM_PTR(query_qp_out, out, qpc), PRM_qpc_SIZE);
	return ret;
}

static void fill_dest(const uint8_t *ads, struct ib_uverbs_qp_dest *d)
{
	const bool grh = uv_link_is_ethernet() || PRM_GET(ads, ads, grh);

	d->dlid = (uint16_t)PRM_GET(ads, ads, rlid);
	d->sl = (uint8_t)(uv_link_is_ethernet() ? PRM_GET(ads, ads, eth_prio)
						: PRM_GET(ads, ads, sl));
	d->src_path_bits = (uint8_t)PRM_GET(ads, ads, mlid);
	d->static_rate = (uint8_t)PRM_GET(ads, ads, stat_rate);
	d->port_num = (uint8_t)PRM_GET(ads, ads, vhca_port_num);
	d->is_global = grh;
	if (!grh)
		return;
	memcpy(d->dgid, PRM_CPTR(ads, ads, rgid_rip), sizeof(d->dgid));
	d->flow_label = PRM_GET(ads, ads, flow_label);
	d->sgid_index = (uint8_t)PRM_GET(ads, ads, src_addr_index);
	d->hop_limit = (uint8_t)PRM_GET(ads, ads, hop_limit);
	d->traffic_class = (uint8_t)PRM_GET(ads, ads, tclass);
}

static uint32_t access_of(const uint8_t *qpc)
{
	return (PRM_GET(qpc, qpc, rre) ? IB_UVERBS_ACCESS_REMOTE_READ : 0u) |
	       (PRM_GET(qpc, qpc, rwe) ? IB_UVERBS_ACCESS_REMOTE_WRITE : 0u) |
	       (PRM_GET(qpc, qpc, rae) ? IB_UVERBS_ACCESS_REMOTE_ATOMIC : 0u);
}

int uv_w_query_qp(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_query_qp *in = core_in;
	struct ib_uverbs_query_qp_resp *r = core_out;
	struct uv_qp *qp = (struct uv_qp *)uv_obj_find(req->ctx, in->qp_handle);
	uint8_t qpc[PRM_qpc_SIZE];
	const uint8_t *ads = PRM_CPTR(qpc, qpc, primary_address_path);
	int ret;

	if (!qp || qp->obj.kind != UV_QP)
		return uv_refuse(EINVAL, "QUERY_QP: handle %u is not a queue pair", in->qp_handle);
	ret = uv_qp_query_context(qp->uid, qp->obj.num, qpc);
	if (ret)
		return ret;
	qp->state = uv_qp_state_of_prm((uint8_t)PRM_GET(qpc, qpc, state));
	r->qp_state = r->cur_qp_state = qp->state;
	r->sq_draining = PRM_GET(qpc, qpc, state) == PRM_QP_SQ_DRAINING;
	r->path_mtu = (uint8_t)PRM_GET(qpc, qpc, mtu);
	r->path_mig_state = PRM_GET(qpc, qpc, pm_state) == UV_PM_STATE_MIGRATED ? 0 : 1;
	r->qkey = PRM_GET(qpc, qpc, q_key);
	r->rq_psn = PRM_GET(qpc, qpc, next_rcv_psn);
	r->sq_psn = PRM_GET(qpc, qpc, next_send_psn);
	r->dest_qp_num = PRM_GET(qpc, qpc, remote_qpn);
	r->qp_access_flags = access_of(qpc);
	if (qp->type != IB_UVERBS_QPT_UD)
		fill_dest(ads, &r->dest);
	r->pkey_index = (uint16_t)PRM_GET(ads, ads, pkey_index);
	r->port_num = (uint8_t)PRM_GET(ads, ads, vhca_port_num);
	r->timeout = (uint8_t)PRM_GET(ads, ads, ack_timeout);
	r->max_rd_atomic = (uint8_t)(1u << PRM_GET(qpc, qpc, log_sra_max));
	r->max_dest_rd_atomic = (uint8_t)(1u << PRM_GET(qpc, qpc, log_rra_max));
	r->min_rnr_timer = (uint8_t)PRM_GET(qpc, qpc, min_rnr_nak);
	r->retry_cnt = (uint8_t)PRM_GET(qpc, qpc, retry_count);
	r->rnr_retry = (uint8_t)PRM_GET(qpc, qpc, rnr_retry);
	r->max_send_wr = qp->cap.max_send_wr;
	r->max_recv_wr = qp->cap.max_recv_wr;
	r->max_send_sge = qp->cap.max_send_sge;
	r->max_recv_sge = qp->cap.max_recv_sge;
	r->max_inline_data = qp->cap.max_inline_data;
	r->sq_sig_all = qp->sig_all;
	return 0;
}
