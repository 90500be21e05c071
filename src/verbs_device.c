/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device can do. */
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "devx.h"
#include "log.h"
#include "prm/prm.h"
#include "verbs.h"

/* cmd_hca_cap.gid_table_size is a code (PRM); Ethernet ports have their own count in roce_cap. */
static uint32_t gid_table_entries(uint32_t code)
{
	return code <= 4 ? 8u << code : 0;
}

doca_error_t device_query_limits(struct ibv_context *context, struct doca_verbs_device_attr *attr)
{
	const struct rdma_ops *rdma = rdma_get();
	struct ibv_device_attr ibv;
	int rc;

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	memset(&ibv, 0, sizeof(ibv));
	rc = rdma->query_device(context, &ibv);
	if (rc)
		return rdma_failed("ibv_query_device", rc);
	memset(attr, 0, sizeof(*attr));
	attr->max_qp = (uint32_t)ibv.max_qp;
	attr->max_qp_wr = (uint32_t)ibv.max_qp_wr;
	attr->max_sge = (uint32_t)ibv.max_sge;
	attr->max_cq = (uint32_t)ibv.max_cq;
	attr->max_cqe = (uint32_t)ibv.max_cqe;
	attr->max_mr = (uint32_t)ibv.max_mr;
	attr->max_pd = (uint32_t)ibv.max_pd;
	attr->max_ah = (uint32_t)ibv.max_ah;
	attr->max_srq = (uint32_t)ibv.max_srq;
	attr->max_srq_wr = (uint32_t)ibv.max_srq_wr;
	attr->max_srq_sge = (uint32_t)ibv.max_srq_sge;
	attr->max_pkeys = ibv.max_pkeys;
	attr->phys_port_cnt = ibv.phys_port_cnt;
	attr->max_qp_rd_atom = (uint8_t)(ibv.max_qp_rd_atom > 255 ? 255 : ibv.max_qp_rd_atom);
	attr->max_qp_init_rd_atom =
		(uint8_t)(ibv.max_qp_init_rd_atom > 255 ? 255 : ibv.max_qp_init_rd_atom);
	return DOCA_SUCCESS;
}

/* Current capabilities of one type into out, a whole query_hca_cap_out. */
static doca_error_t query_cap(struct ibv_context *context, enum prm_cap_type type, const char *what,
			      uint8_t *out)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0};

	memset(out, 0, PRM_SIZE(query_hca_cap_out));
	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_HCA_CAP);
	PRM_SET(cmd_in, in, op_mod, (uint32_t)type << 1 | 1);
	return devx_general(context, what, in, sizeof(in), out, PRM_SIZE(query_hca_cap_out));
}

static doca_error_t query_general(struct ibv_context *context, uint8_t *out,
				  struct doca_verbs_device_attr *attr, bool *has_cap_2)
{
	const uint8_t *cap = PRM_CPTR(query_hca_cap_out, out, capability);
	doca_error_t status = query_cap(context, PRM_CAP_GENERAL, "QUERY_HCA_CAP general", out);
	uint32_t log_max_qp_sz;

	if (status != DOCA_SUCCESS)
		return status;
	attr->is_ethernet = PRM_GET(cmd_hca_cap, cap, port_type) == 1;
	attr->gid_table_size = gid_table_entries(PRM_GET(cmd_hca_cap, cap, gid_table_size));
	attr->has_rc = PRM_GET(cmd_hca_cap, cap, rc);
	attr->has_core_direct = PRM_GET(cmd_hca_cap, cap, cd);
	attr->has_rts2rts_dscp = PRM_GET(cmd_hca_cap, cap, rts2rts_qp_dscp);
	attr->max_send_wqe_bytes = PRM_GET(cmd_hca_cap, cap, max_wqe_sz_sq);
	attr->max_recv_wqe_bytes = PRM_GET(cmd_hca_cap, cap, max_wqe_sz_rq);
	log_max_qp_sz = PRM_GET(cmd_hca_cap, cap, log_max_qp_sz);
	/* The QP context has 4 bits for it, and a WQE's index 16 for two laps. */
	attr->max_sq_wqebbs = 1u << (log_max_qp_sz < 15 ? log_max_qp_sz : 15);
	*has_cap_2 = PRM_GET(cmd_hca_cap, cap, hca_cap_2);
	return DOCA_SUCCESS;
}

static doca_error_t query_roce(struct ibv_context *context, uint8_t *out,
			       struct doca_verbs_device_attr *attr)
{
	const uint8_t *cap = PRM_CPTR(query_hca_cap_out, out, capability);
	doca_error_t status = query_cap(context, PRM_CAP_ROCE, "QUERY_HCA_CAP RoCE", out);

	if (status != DOCA_SUCCESS)
		return status;
	attr->gid_table_size = PRM_GET(roce_cap, cap, roce_address_table_size);
	attr->min_udp_sport = (uint16_t)PRM_GET(roce_cap, cap, r_roce_min_src_udp_port);
	attr->max_udp_sport = (uint16_t)PRM_GET(roce_cap, cap, r_roce_max_src_udp_port);
	return DOCA_SUCCESS;
}

static doca_error_t query_general_2(struct ibv_context *context, uint8_t *out,
				    struct doca_verbs_device_attr *attr)
{
	const uint8_t *cap = PRM_CPTR(query_hca_cap_out, out, capability);
	doca_error_t status = query_cap(context, PRM_CAP_GENERAL_2, "QUERY_HCA_CAP general 2", out);

	if (status != DOCA_SUCCESS)
		return status;
	attr->send_dbr_mode_no_dbr_ext =
		(uint8_t)PRM_GET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext);
	return DOCA_SUCCESS;
}

doca_error_t device_query_all(struct ibv_context *context, struct doca_verbs_device_attr *attr)
{
	doca_error_t status = device_query_limits(context, attr);
	bool has_cap_2 = false;
	uint8_t *out;

	if (status != DOCA_SUCCESS)
		return status;
	out = malloc(PRM_SIZE(query_hca_cap_out));
	if (!out)
		return DOCA_ERROR_NO_MEMORY;
	status = query_general(context, out, attr, &has_cap_2);
	if (status == DOCA_SUCCESS && attr->is_ethernet)
		status = query_roce(context, out, attr);
	if (status == DOCA_SUCCESS && has_cap_2)
		status = query_general_2(context, out, attr);
	free(out);
	return status;
}

doca_error_t doca_verbs_query_device(struct ibv_context *context,
				     struct doca_verbs_device_attr **attr)
{
	struct doca_verbs_device_attr *new_attr;
	doca_error_t status;

	if (!context || !attr)
		return DOCA_ERROR_INVALID_VALUE;
	status = attr_new((void **)&new_attr, sizeof(*new_attr));
	if (status != DOCA_SUCCESS)
		return status;
	status = device_query_all(context, new_attr);
	if (status != DOCA_SUCCESS) {
		free(new_attr);
		return status;
	}
	*attr = new_attr;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *attr)
{
	return attr_delete(attr);
}
