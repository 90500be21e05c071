/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: creation, query, getters. verbs_qp_modify.c moves them between states. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devx.h"
#include "log.h"
#include "prm/prm.h"
#include "util.h"
#include "verbs.h"

enum {
	SEGMENT_BYTES = 16, /* of a WQE: control, remote address, data */
	INLINE_HEADER_BYTES = 4,
	SEND_WQE_HEAD_BYTES = 2 * SEGMENT_BYTES, /* control and remote address */
};

/* Bytes of the largest send WQE, before rounding to blocks. 64-bit: the inputs are the caller's. */
static uint64_t send_wqe_bytes(const struct doca_verbs_qp_init_attr *init)
{
	uint64_t sge = SEND_WQE_HEAD_BYTES + (uint64_t)init->send_max_sges * SEGMENT_BYTES, inl = 0;

	if (init->max_inline_data)
		inl = SEND_WQE_HEAD_BYTES +
		      align_up((uint64_t)INLINE_HEADER_BYTES + init->max_inline_data,
			       SEGMENT_BYTES);
	return sge > inl ? sge : inl;
}

static doca_error_t size_sq(struct doca_verbs_qp *qp)
{
	struct doca_verbs_qp_init_attr *init = &qp->init;
	uint64_t wqe_bytes, wqebbs;

	if (!init->sq_wr)
		return DOCA_SUCCESS;
	if (!init->send_cq || !init->send_max_sges) {
		ENGINE_ERR("QP with sq_wr %u needs a send CQ and send_max_sges", init->sq_wr);
		return DOCA_ERROR_INVALID_VALUE;
	}
	wqe_bytes = send_wqe_bytes(init);
	if (wqe_bytes > qp->caps.max_send_wqe_bytes) {
		ENGINE_ERR("send WQE of %llu bytes (%u SGEs, %u inline): the device takes %u",
			   (unsigned long long)wqe_bytes, init->send_max_sges,
			   init->max_inline_data, qp->caps.max_send_wqe_bytes);
		return DOCA_ERROR_INVALID_VALUE;
	}
	wqe_bytes = align_up(wqe_bytes, PRM_WQEBB_SIZE);
	assert(wqe_bytes >= PRM_WQEBB_SIZE);
	wqebbs = pow2_at_least(wqe_bytes * init->sq_wr) / PRM_WQEBB_SIZE;
	if (wqebbs > qp->caps.max_sq_wqebbs) {
		ENGINE_ERR("sq_wr %u needs %llu blocks of 64 bytes: the device has %u", init->sq_wr,
			   (unsigned long long)wqebbs, qp->caps.max_sq_wqebbs);
		return DOCA_ERROR_INVALID_VALUE;
	}
	qp->sq_wqebbs = (uint32_t)wqebbs;
	/* Rounding gave more than was asked for; the query tells. */
	init->sq_wr = (uint32_t)(wqebbs * PRM_WQEBB_SIZE / wqe_bytes);
	if (init->max_inline_data)
		init->max_inline_data =
			(uint32_t)wqe_bytes - SEND_WQE_HEAD_BYTES - INLINE_HEADER_BYTES;
	return DOCA_SUCCESS;
}

static doca_error_t size_rq(struct doca_verbs_qp *qp)
{
	struct doca_verbs_qp_init_attr *init = &qp->init;
	uint64_t wqe_bytes, ring_bytes;

	if ((init->rq_wr || init->srq) && !init->receive_cq) {
		ENGINE_ERR("QP that receives needs a receive CQ");
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (!init->rq_wr || init->srq)
		return DOCA_SUCCESS;
	if (init->rq_wr > qp->caps.max_qp_wr || !init->receive_max_sges) {
		ENGINE_ERR("rq_wr %u (device: %u) needs receive_max_sges (is %u)", init->rq_wr,
			   qp->caps.max_qp_wr, init->receive_max_sges);
		return DOCA_ERROR_INVALID_VALUE;
	}
	wqe_bytes = pow2_at_least(init->receive_max_sges) * SEGMENT_BYTES;
	if (wqe_bytes > qp->caps.max_recv_wqe_bytes) {
		ENGINE_ERR("receive WQE of %llu bytes: the device takes %u",
			   (unsigned long long)wqe_bytes, qp->caps.max_recv_wqe_bytes);
		return DOCA_ERROR_INVALID_VALUE;
	}
	ring_bytes = pow2_at_least(wqe_bytes * init->rq_wr);
	if (ring_bytes < PRM_WQEBB_SIZE)
		ring_bytes = PRM_WQEBB_SIZE;
	qp->rwqe_bytes = (uint32_t)wqe_bytes;
	qp->rq_wqes = (uint32_t)(ring_bytes / wqe_bytes);
	qp->sq_offset = (uint32_t)ring_bytes;
	init->rq_wr = qp->rq_wqes;
	init->receive_max_sges = (uint32_t)(wqe_bytes / SEGMENT_BYTES);
	return DOCA_SUCCESS;
}

static doca_error_t check_modes(const struct doca_verbs_qp *qp)
{
	const struct doca_verbs_qp_init_attr *init = &qp->init;
	bool no_dbr = init->send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT;

	if (!init->pd || init->qp_type != DOCA_VERBS_QP_TYPE_RC) {
		ENGINE_ERR("QP: pd %p, type %u; expected a PD and type RC", (void *)init->pd,
			   init->qp_type);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (no_dbr && init->emulate_no_dbr_ext) {
		ENGINE_ERR("QP: emulate_no_dbr_ext contradicts send_dbr_mode NO_DBR_EXT");
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (no_dbr && !qp->caps.send_dbr_mode_no_dbr_ext) {
		ENGINE_ERR("QP: the device cannot do without doorbell record");
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	return DOCA_SUCCESS;
}

static doca_error_t get_pdn(struct ibv_pd *pd, uint32_t *pdn)
{
	const struct rdma_ops *rdma = rdma_get();
	struct mlx5dv_pd dv_pd = {0};
	struct mlx5dv_obj obj = {.pd = {.in = pd, .out = &dv_pd}};
	int rc = rdma->init_obj(&obj, MLX5DV_OBJ_PD);

	if (rc)
		return rdma_failed("mlx5dv_init_obj(PD)", rc > 0 ? rc : errno);
	*pdn = dv_pd.pdn;
	return DOCA_SUCCESS;
}

static void fill_queues(const struct doca_verbs_qp *qp, uint8_t *qpc)
{
	const struct doca_verbs_qp_init_attr *init = &qp->init;

	if (qp->sq_wqebbs) {
		PRM_SET(qpc, qpc, log_sq_size, ilog2(qp->sq_wqebbs));
		PRM_SET(qpc, qpc, cqn_snd, init->send_cq->cqn);
	} else {
		PRM_SET(qpc, qpc, no_sq, 1);
	}
	if (init->srq) {
		PRM_SET(qpc, qpc, rq_type, PRM_RQ_SRQ);
		PRM_SET(qpc, qpc, srqn_rmpn_xrqn, init->srq->srqn);
	} else if (qp->rq_wqes) {
		PRM_SET(qpc, qpc, rq_type, PRM_RQ_REGULAR);
		PRM_SET(qpc, qpc, log_rq_size, ilog2(qp->rq_wqes));
		PRM_SET(qpc, qpc, log_rq_stride, ilog2(qp->rwqe_bytes / SEGMENT_BYTES));
	} else {
		PRM_SET(qpc, qpc, rq_type, PRM_RQ_NONE);
	}
	if (init->srq || qp->rq_wqes)
		PRM_SET(qpc, qpc, cqn_rcv, init->receive_cq->cqn);
}

static doca_error_t create_object(struct doca_verbs_qp *qp)
{
	const struct doca_verbs_qp_init_attr *init = &qp->init;
	uint8_t in[PRM_create_qp_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *qpc = PRM_PTR(create_qp_in, in, qpc);
	doca_error_t status;
	uint32_t pdn = 0;

	status = get_pdn(init->pd, &pdn);
	if (status != DOCA_SUCCESS)
		return status;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_QP);
	PRM_SET64(create_qp_in, in, wq_umem_offset, qp->memory.ring_offset);
	PRM_SET(create_qp_in, in, wq_umem_id, qp->memory.ring_umem_id);
	PRM_SET(create_qp_in, in, wq_umem_valid, 1);
	PRM_SET(qpc, qpc, st, PRM_QP_ST_RC);
	PRM_SET(qpc, qpc, pd, pdn);
	PRM_SET(qpc, qpc, uar_page, qp->uar->devx->page_id);
	PRM_SET(qpc, qpc, user_index, init->user_index);
	PRM_SET(qpc, qpc, send_dbr_mode, (uint32_t)init->send_dbr_mode);
	PRM_SET(qpc, qpc, dbr_umem_valid, 1);
	PRM_SET(qpc, qpc, dbr_umem_id, qp->memory.dbr_umem_id);
	PRM_SET64(qpc, qpc, dbr_addr, qp->memory.dbr_offset);
	/* Devices without the capability execute WAIT on any QP and refuse the bit. */
	PRM_SET(qpc, qpc, cd_master, init->core_direct_master && qp->caps.has_core_direct);
	fill_queues(qp, qpc);
	status = devx_create(qp->context, "CREATE_QP", in, sizeof(in), out, sizeof(out), &qp->devx);
	if (status == DOCA_SUCCESS)
		qp->qpn = PRM_GET(obj_out, out, number);
	return status;
}

static void release(struct doca_verbs_qp *qp)
{
	queue_memory_put(&qp->memory);
	if (qp->own_uar)
		doca_verbs_uar_destroy(qp->own_uar);
	free(qp);
}

static doca_error_t build(struct doca_verbs_qp *qp)
{
	static const enum doca_verbs_uar_allocation_type uar_order[2] = {
		DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE};
	doca_error_t status = device_query_all(qp->context, &qp->caps);
	size_t ring_bytes;

	if (status == DOCA_SUCCESS)
		status = check_modes(qp);
	if (status == DOCA_SUCCESS)
		status = size_rq(qp);
	if (status == DOCA_SUCCESS)
		status = size_sq(qp);
	if (status != DOCA_SUCCESS)
		return status;
	ring_bytes = qp->sq_offset + (size_t)qp->sq_wqebbs * PRM_WQEBB_SIZE;
	if (!ring_bytes && !qp->init.srq) {
		ENGINE_ERR("QP: neither sq_wr nor rq_wr nor an SRQ");
		return DOCA_ERROR_INVALID_VALUE;
	}
	status = queue_memory_get(qp->context, "QP", &qp->init.ring, &qp->init.dbr, ring_bytes,
				  &qp->memory);
	if (status == DOCA_SUCCESS)
		status = uar_get(qp->context, qp->init.external_uar, uar_order, &qp->uar,
				 &qp->own_uar);
	if (status == DOCA_SUCCESS)
		status = create_object(qp);
	return status;
}

doca_error_t doca_verbs_qp_create(struct ibv_context *context,
				  struct doca_verbs_qp_init_attr *init_attr,
				  struct doca_verbs_qp **qp)
{
	struct doca_verbs_qp *new_qp;
	doca_error_t status;

	if (!context || !init_attr || !qp)
		return DOCA_ERROR_INVALID_VALUE;
	new_qp = calloc(1, sizeof(*new_qp));
	if (!new_qp)
		return DOCA_ERROR_NO_MEMORY;
	new_qp->context = context;
	new_qp->init = *init_attr;
	new_qp->state = DOCA_VERBS_QP_STATE_RST;
	status = build(new_qp);
	if (status != DOCA_SUCCESS) {
		release(new_qp);
		return status;
	}
	ENGINE_INFO("QP 0x%x: SQ %u blocks, RQ %u WQEs, UAR 0x%x", new_qp->qpn, new_qp->sq_wqebbs,
		    new_qp->rq_wqes, new_qp->uar->devx->page_id);
	*qp = new_qp;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_destroy(struct doca_verbs_qp *qp)
{
	doca_error_t status;

	if (!qp)
		return DOCA_ERROR_INVALID_VALUE;
	status = queue_drop(&qp->devx, "DESTROY_QP", &qp->memory);
	if (status == DOCA_SUCCESS)
		release(qp);
	return status;
}

doca_error_t qp_query_context(struct doca_verbs_qp *qp, uint8_t *qpc, size_t qpc_size)
{
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_query_qp_out_SIZE] = {0};
	doca_error_t status;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(obj_in, in, number, qp->qpn);
	status = devx_query(qp->devx, "QUERY_QP", in, sizeof(in), out, sizeof(out));
	if (status == DOCA_SUCCESS)
		memcpy(qpc, PRM_CPTR(query_qp_out, out, qpc),
		       qpc_size < PRM_SIZE(qpc) ? qpc_size : PRM_SIZE(qpc));
	return status;
}

/* The firmware's states have two more names than the library's: see doca_verbs_qp_query(). */
static doca_error_t read_state(uint32_t raw, enum doca_verbs_qp_state *state)
{
	static const uint8_t table[] = {
		[PRM_QP_RST] = DOCA_VERBS_QP_STATE_RST,	 [PRM_QP_INIT] = DOCA_VERBS_QP_STATE_INIT,
		[PRM_QP_RTR] = DOCA_VERBS_QP_STATE_RTR,	 [PRM_QP_RTS] = DOCA_VERBS_QP_STATE_RTS,
		[PRM_QP_SQER] = DOCA_VERBS_QP_STATE_ERR, [PRM_QP_SQD] = DOCA_VERBS_QP_STATE_RTS,
		[PRM_QP_ERR] = DOCA_VERBS_QP_STATE_ERR,
	};

	if (raw >= sizeof(table)) {
		ENGINE_ERR("QUERY_QP: state %u has no name", raw);
		return DOCA_ERROR_UNEXPECTED;
	}
	*state = (enum doca_verbs_qp_state)table[raw];
	return DOCA_SUCCESS;
}

/* A QP that was never connected has no MTU yet; the firmware reports 0 or what it likes. */
static doca_error_t read_mtu(uint32_t raw, bool is_connected, enum doca_verbs_mtu_size *mtu)
{
	static const enum doca_verbs_mtu_size table[8] = {
		[1] = DOCA_VERBS_MTU_SIZE_256_BYTES, [2] = DOCA_VERBS_MTU_SIZE_512_BYTES,
		[3] = DOCA_VERBS_MTU_SIZE_1K_BYTES,  [4] = DOCA_VERBS_MTU_SIZE_2K_BYTES,
		[5] = DOCA_VERBS_MTU_SIZE_4K_BYTES,  [7] = DOCA_VERBS_MTU_SIZE_RAW_ETHERNET,
	};

	if ((raw == 0 || raw == 6) && is_connected) {
		ENGINE_ERR("QUERY_QP: MTU code %u of a connected QP has no name", raw);
		return DOCA_ERROR_UNEXPECTED;
	}
	*mtu = table[raw & 7]; /* 0 and 6 read as 256 bytes */
	return DOCA_SUCCESS;
}

static void read_path(const uint8_t *path, enum doca_verbs_addr_type type,
		      struct doca_verbs_ah_attr *ah)
{
	ah->addr_type = type;
	ah->dlid = PRM_GET(ads, path, rlid);
	ah->sl = (uint8_t)PRM_GET(ads, path, sl);
	ah->sgid_index = (uint8_t)PRM_GET(ads, path, src_addr_index);
	ah->static_rate = (uint8_t)PRM_GET(ads, path, stat_rate);
	ah->hop_limit = (uint8_t)PRM_GET(ads, path, hop_limit);
	ah->traffic_class = (uint8_t)PRM_GET(ads, path, tclass);
	memcpy(ah->gid.raw, PRM_CPTR(ads, path, rgid_rip), sizeof(ah->gid.raw));
}

static void read_attr(const struct doca_verbs_qp *qp, const uint8_t *qpc,
		      struct doca_verbs_qp_attr *attr)
{
	const uint8_t *path = PRM_CPTR(qpc, qpc, primary_address_path);

	attr->rq_psn = PRM_GET(qpc, qpc, next_rcv_psn);
	attr->sq_psn = PRM_GET(qpc, qpc, next_send_psn);
	attr->dest_qp_num = PRM_GET(qpc, qpc, remote_qpn);
	attr->pkey_index = (uint16_t)PRM_GET(ads, path, pkey_index);
	attr->port_num = (uint16_t)PRM_GET(ads, path, vhca_port_num);
	attr->ack_timeout = (uint16_t)PRM_GET(ads, path, ack_timeout);
	attr->retry_cnt = (uint16_t)PRM_GET(qpc, qpc, retry_count);
	attr->rnr_retry = (uint16_t)PRM_GET(qpc, qpc, rnr_retry);
	attr->min_rnr_timer = (uint16_t)PRM_GET(qpc, qpc, min_rnr_nak);
	attr->allow_remote_write = (int)PRM_GET(qpc, qpc, rwe);
	attr->allow_remote_read = (int)PRM_GET(qpc, qpc, rre);
	attr->allow_remote_atomic =
		PRM_GET(qpc, qpc, rae) ? qp->allow_atomic : DOCA_VERBS_QP_ATOMIC_MODE_NONE;
	attr->max_rd_atomic = (uint8_t)(1u << PRM_GET(qpc, qpc, log_sra_max));
	attr->max_dest_rd_atomic = (uint8_t)(1u << PRM_GET(qpc, qpc, log_rra_max));
	if (attr->ah_attr)
		read_path(path, qp->addr_type, attr->ah_attr);
}

doca_error_t doca_verbs_qp_query(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr,
				 struct doca_verbs_qp_init_attr *init_attr)
{
	uint8_t qpc[PRM_qpc_SIZE];
	doca_error_t status;
	uint32_t raw_state;

	if (!qp || !attr || !init_attr)
		return DOCA_ERROR_INVALID_VALUE;
	status = qp_query_context(qp, qpc, sizeof(qpc));
	if (status != DOCA_SUCCESS)
		return status;
	raw_state = PRM_GET(qpc, qpc, state);
	status = read_state(raw_state, &attr->current_state);
	if (status == DOCA_SUCCESS)
		status = read_mtu(PRM_GET(qpc, qpc, mtu),
				  raw_state >= PRM_QP_RTR && raw_state != PRM_QP_ERR,
				  &attr->path_mtu);
	if (status != DOCA_SUCCESS)
		return status;
	attr->next_state = attr->current_state;
	read_attr(qp, qpc, attr);
	*init_attr = qp->init;
	init_attr->user_index = PRM_GET(qpc, qpc, user_index);
	return DOCA_SUCCESS;
}

void doca_verbs_qp_get_wq(const struct doca_verbs_qp *qp, void **sq_buf, uint32_t *sq_num_entries,
			  void **rq_buf, uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes)
{
	if (sq_buf)
		*sq_buf = qp && qp->sq_wqebbs ? qp->memory.ring + qp->sq_offset : NULL;
	if (sq_num_entries)
		*sq_num_entries = qp ? qp->sq_wqebbs : 0;
	if (rq_buf)
		*rq_buf = qp && qp->rq_wqes ? qp->memory.ring : NULL;
	if (rq_num_entries)
		*rq_num_entries = qp ? qp->rq_wqes : 0;
	if (rwqe_size_bytes)
		*rwqe_size_bytes = qp ? qp->rwqe_bytes : 0;
}

void *doca_verbs_qp_get_dbr_addr(const struct doca_verbs_qp *qp)
{
	return qp ? qp->memory.dbr : NULL;
}

void *doca_verbs_qp_get_uar_addr(const struct doca_verbs_qp *qp)
{
	void *reg = NULL;

	if (!qp)
		return NULL;
	if (qp->init.send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT)
		doca_verbs_uar_dbr_less_addr_get(qp->uar, &reg);
	else
		doca_verbs_uar_reg_addr_get(qp->uar, &reg);
	return reg;
}

uint32_t doca_verbs_qp_get_qpn(const struct doca_verbs_qp *qp)
{
	return qp ? qp->qpn : 0;
}

enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_get_send_dbr_mode(const struct doca_verbs_qp *qp)
{
	return qp ? qp->init.send_dbr_mode : DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID;
}

bool doca_verbs_qp_get_emulate_no_dbr_ext(const struct doca_verbs_qp *qp)
{
	return qp && qp->init.emulate_no_dbr_ext;
}
