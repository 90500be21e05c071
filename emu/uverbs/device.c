// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the device and its port are. Limits come from the NIC's own capabilities, so a program is
 * told what the model can do; the rest is what a ConnectX-7 answers. Meaning of each field: the ABI
 * headers and the manual pages ibv_query_device_ex(3), ibv_query_port(3).
 */
#include <stdlib.h>
#include <string.h>

#include "emu/uverbs/uv.h"

#define GEN(f) PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), f)

enum {
	MELLANOX_OUI = 0x02c9,
	CTRL_SEG = 16,
	RADDR_SEG = 16,
	DATA_SEG = 16,
	MAX_READ_SGE = 30, /* what mlx5 announces for RDMA READ */
	MTU_4096 = 5,
	PORT_ACTIVE = 4,
	PHYS_LINK_UP = 5,
	LINK_LAYER_IB = 1,
	LINK_LAYER_ETHERNET = 2,
	WIDTH_4X = 2,
	SPEED_NDR = 128, /* 100 Gb/s a lane: four lanes make a 400 Gb/s port */
	ATOMIC_CAP_HCA = 1,
	MAX_VL_15 = 5,
};

/* enum ib_device_cap_flags of the verbs ABI */
enum device_cap_flags {
	CAP_BAD_PKEY_CNTR = 1 << 1,
	CAP_BAD_QKEY_CNTR = 1 << 2,
	CAP_CHANGE_PHY_PORT = 1 << 5,
	CAP_PORT_ACTIVE_EVENT = 1 << 10,
	CAP_SYS_IMAGE_GUID = 1 << 11,
	CAP_RC_RNR_NAK_GEN = 1 << 12,
	CAP_MEM_WINDOWS = IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B,
	CAP_XRC = 1 << 20,
	CAP_BLOCK_MULTICAST_LOOPBACK = 1 << 22,
};

/* "28.39.1002" as the three fields of fw_ver. */
static uint64_t fw_version(void)
{
	unsigned int major = 0, minor = 0, sub = 0;

	if (sscanf(UV_FW_VER, "%u.%u.%u", &major, &minor, &sub) != 3)
		return 0;
	return (uint64_t)major << 32 | (uint64_t)minor << 16 | sub;
}

static uint32_t max_sge(void)
{
	uint32_t rq = GEN(max_wqe_sz_rq) / DATA_SEG;
	uint32_t sq = (GEN(max_wqe_sz_sq) - CTRL_SEG - RADDR_SEG) / DATA_SEG;

	return rq < sq ? rq : sq;
}

static void fill_base(struct ib_uverbs_query_device_resp *r)
{
	const void *atomic = uv_cap(UV_CAP_ATOMIC);

	r->fw_ver = fw_version();
	r->node_guid = htobe64(uv_identity()->node_guid);
	r->sys_image_guid = r->node_guid;
	r->max_mr_size = UINT64_MAX;
	r->page_size_cap = ~UINT64_C(0xfff); /* 4 KiB and every larger power of two */
	r->vendor_id = MELLANOX_OUI;
	r->vendor_part_id = uv_model()->device_id;
	r->max_qp = 1u << GEN(log_max_qp);
	r->max_qp_wr = 1u << GEN(log_max_qp_sz);
	r->device_cap_flags = CAP_CHANGE_PHY_PORT | CAP_PORT_ACTIVE_EVENT | CAP_SYS_IMAGE_GUID |
			      CAP_RC_RNR_NAK_GEN | (GEN(pkv) ? CAP_BAD_PKEY_CNTR : 0u) |
			      (GEN(qkv) ? CAP_BAD_QKEY_CNTR : 0u) |
			      (GEN(block_lb_mc) ? CAP_BLOCK_MULTICAST_LOOPBACK : 0u);
	if (GEN(imaicl)) {
		r->device_cap_flags |= CAP_MEM_WINDOWS;
		r->max_mw = 1u << GEN(log_max_mkey);
	}
	r->max_sge = max_sge();
	r->max_sge_rd = MAX_READ_SGE;
	r->max_cq = 1u << GEN(log_max_cq);
	r->max_cqe = (1u << GEN(log_max_cq_sz)) - 1;
	r->max_mr = 1u << GEN(log_max_mkey);
	r->max_pd = 1u << GEN(log_max_pd);
	r->max_qp_rd_atom = 1u << GEN(log_max_ra_req_qp);
	r->max_qp_init_rd_atom = 1u << GEN(log_max_ra_res_qp);
	r->max_res_rd_atom = r->max_qp * r->max_qp_rd_atom;
	if (PRM_GET(atomic_caps, atomic, atomic_operations))
		r->atomic_cap = ATOMIC_CAP_HCA;
	r->max_ah = INT32_MAX;
	r->max_pkeys = 128;
	r->local_ca_ack_delay = (uint8_t)GEN(local_ca_ack_delay);
	r->phys_port_cnt = 1;
	r->max_mcast_grp = 1u << GEN(log_max_mcg);
	r->max_mcast_qp_attach = GEN(max_qp_mcg);
	r->max_total_mcast_qp_attach = r->max_mcast_grp;
	r->max_srq = 1u << GEN(log_max_srq);
	r->max_srq_wr = uv_max_srq_wr();
	r->max_srq_sge = uv_max_srq_sge();
	if (GEN(xrc))
		r->device_cap_flags |= CAP_XRC;
}

int uv_w_query_device(struct uv_req *req, const void *core_in, void *core_out)
{
	(void)req;
	(void)core_in;
	fill_base(core_out);
	return 0;
}

/* enum mlx5_ib_cqe_comp_res_format of the ABI */
enum cqe_formats { FORMAT_HASH = 1 << 0, FORMAT_CSUM = 1 << 1, FORMAT_CSUM_STRIDX = 1 << 2 };

static void fill_cqe_forms(struct mlx5_ib_query_device_resp *r)
{
	if (GEN(cqe_compression)) {
		r->cqe_comp_caps.max_num = GEN(cqe_compression_max_num);
		r->cqe_comp_caps.supported_format =
			FORMAT_HASH | FORMAT_CSUM |
			(GEN(mini_cqe_resp_stride_index) ? FORMAT_CSUM_STRIDX : 0u);
	}
	if (GEN(cqe_compression_128))
		r->flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP;
	if (GEN(cqe_128_always))
		r->flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD;
}

/* What mlx5 adds: of its offloads none are there. */
static int fill_mlx5(struct uv_req *req)
{
	struct mlx5_ib_query_device_resp r = {.response_length = sizeof(r)};

	fill_cqe_forms(&r);
	if (uv_len(req, UVERBS_ATTR_UHW_OUT) < sizeof(r))
		r.response_length = (uint32_t)uv_len(req, UVERBS_ATTR_UHW_OUT);
	return uv_out(req, UVERBS_ATTR_UHW_OUT, &r, sizeof(r));
}

int uv_w_ex_query_device(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_ex_query_device *in = core_in;
	struct ib_uverbs_ex_query_device_resp *r = core_out;

	if (in->comp_mask || in->reserved)
		return uv_refuse(EINVAL, "EX_QUERY_DEVICE: comp_mask 0x%x, expected 0",
				 in->comp_mask);
	fill_base(&r->base);
	r->response_length = sizeof(*r);
	if (req->write_out_len < sizeof(*r))
		r->response_length = (uint32_t)req->write_out_len;
	r->hca_core_clock = GEN(device_frequency_khz);
	r->device_cap_flags_ex = r->base.device_cap_flags;
	r->max_dm_size = PRM_GET(device_mem_cap, uv_cap(UV_CAP_DEVICE_MEM), max_memic_size);
	if (GEN(cq_moderation)) {
		r->cq_moderation_caps.max_cq_moderation_count = UINT16_MAX;
		r->cq_moderation_caps.max_cq_moderation_period = 0xfff;
	}
	return fill_mlx5(req);
}

/* ---- port ---- */

static int check_port(uint32_t port)
{
	return port == UV_PORT ? 0 : uv_refuse(EINVAL, "port %u, expected %u", port, UV_PORT);
}

static void fill_port(struct ib_uverbs_query_port_resp *r)
{
	bool eth = uv_link_is_ethernet();

	r->state = PORT_ACTIVE;
	r->max_mtu = MTU_4096;
	r->active_mtu = MTU_4096;
	r->gid_tbl_len = UV_GID_TABLE_LEN;
	r->pkey_tbl_len = 1;
	r->max_msg_sz = 1u << GEN(log_max_msg);
	r->active_width = WIDTH_4X;
	r->active_speed = SPEED_NDR;
	r->phys_state = PHYS_LINK_UP;
	r->link_layer = eth ? LINK_LAYER_ETHERNET : LINK_LAYER_IB;
	r->port_cap_flags = IB_UVERBS_PCF_CM_SUP;
	if (eth) {
		r->port_cap_flags |= IB_UVERBS_PCF_IP_BASED_GIDS;
		r->flags = IB_UVERBS_QPF_GRH_REQUIRED;
	} else {
		r->lid = uv_identity()->lid;
		r->sm_lid = 1;
		r->max_vl_num = MAX_VL_15;
		r->subnet_timeout = 18;
	}
}

int uv_w_query_port(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_query_port *in = core_in;
	int ret = check_port(in->port_num);

	(void)req;
	if (!ret)
		fill_port(core_out);
	return ret;
}

int uv_query_port(struct uv_req *req)
{
	struct ib_uverbs_query_port_resp_ex r = {0};
	uint8_t port;
	int ret;

	ret = uv_in(req, UVERBS_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port));
	if (!ret)
		ret = check_port(port);
	if (ret)
		return ret;
	fill_port(&r.legacy_resp);
	return uv_out(req, UVERBS_ATTR_QUERY_PORT_RESP, &r, sizeof(r));
}

/* No embedded switch: of all that a program may ask, the vport's number and its vhca's are known.
 */
int uv_mlx5_query_port(struct uv_req *req)
{
	const struct mlx5_ib_uapi_query_port r = {.flags = MLX5_IB_UAPI_QUERY_PORT_VPORT};
	int ret = check_port((uint32_t)uv_in_u64(req, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, 0));

	return ret ? ret : uv_out(req, MLX5_IB_ATTR_QUERY_PORT, &r, sizeof(r));
}

/* ---- GID table: the first entry has the GID, so index 0 works for every program ---- */

static void fill_gid(struct ib_uverbs_gid_entry *e)
{
	memset(e, 0, sizeof(*e));
	memcpy(e->gid, uv_identity()->gid, 16);
	e->gid_index = 0;
	e->port_num = UV_PORT;
	e->gid_type = uv_link_is_ethernet() ? IB_UVERBS_GID_TYPE_ROCE_V2 : IB_UVERBS_GID_TYPE_IB;
	e->netdev_ifindex =
		uv_link_is_ethernet() ? 1 : 0; /* lo: the address block is on loopback */
}

int uv_query_gid_table(struct uv_req *req)
{
	uint64_t size = uv_in_u64(req, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 0), n = 1;
	struct ib_uverbs_gid_entry e;
	int ret;

	if (uv_in_u64(req, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0))
		return uv_refuse(EINVAL, "QUERY_GID_TABLE: no flags are defined");
	if (size < sizeof(e.gid) || size > sizeof(e))
		return uv_refuse(EINVAL, "QUERY_GID_TABLE: entries of %llu bytes, expected %zu",
				 (unsigned long long)size, sizeof(e));
	if (uv_len(req, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES) < size)
		return uv_refuse(EINVAL, "QUERY_GID_TABLE: no room for %u entry", UV_GIDS);
	fill_gid(&e);
	ret = uv_out(req, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, &e, size);
	return ret ? ret : uv_out(req, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &n, sizeof(n));
}

int uv_query_gid_entry(struct uv_req *req)
{
	uint32_t port = (uint32_t)uv_in_u64(req, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 0);
	uint32_t index =
		(uint32_t)uv_in_u64(req, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, UINT32_MAX);
	struct ib_uverbs_gid_entry e;
	int ret = check_port(port);

	if (ret)
		return ret;
	if (uv_in_u64(req, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0))
		return uv_refuse(EINVAL, "QUERY_GID_ENTRY: no flags are defined");
	if (index >= UV_GIDS && index < UV_GID_TABLE_LEN)
		return -ENODATA; /* an empty entry, which programs look for and pass over */
	if (index >= UV_GID_TABLE_LEN)
		return uv_refuse(EINVAL, "GID index %u, the table has %u entries", index,
				 UV_GID_TABLE_LEN);
	fill_gid(&e);
	return uv_out(req, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &e, sizeof(e));
}

int uv_check_sgid(const char *command, uint32_t index)
{
	if (index < UV_GIDS)
		return 0;
	if (index < UV_GID_TABLE_LEN)
		return uv_refuse(ENODATA,
				 "%s: the source GID table has none at index %u, only the "
				 "first %u have one",
				 command, index, UV_GIDS);
	return uv_refuse(EINVAL, "%s: source GID index %u, the table has %u entries", command,
			 index, UV_GID_TABLE_LEN);
}
