// SPDX-License-Identifier: BSD-3-Clause
/* What a program asks of an identifier: addresses, the path, the attributes with which to modify
 * its QP (rdma_cm's rdma_init_qp_attr). */
#include <netinet/in.h>
#include <string.h>

#include "emu/uverbs/cm.h"

enum {
	MTU_4096 = 5,
	RATE_400_GBPS = 21, /* enum ib_rate */
	PACKET_LIFETIME = 18,
	HOP_LIMIT = 64,
	ACK_TIMEOUT = 14, /* 4.096 us * 2^14: 67 ms */
	AF_IB_ = 27,
};

/* The GID of the other end: as it said itself, else that of the address. */
static void remote_gid(const struct cm_id *id, uint8_t gid[16], uint16_t *lid)
{
	struct cm_addr to;
	struct cm_device dev;

	if (id->have_remote) {
		memcpy(gid, id->remote.gid, 16);
		*lid = id->remote.lid;
		return;
	}
	cm_addr_of((const struct sockaddr *)&id->dst, &to);
	cm_device(0, &dev);
	if (to.kind == CM_ADDR_HOST) {
		uv_identity_of_block(&dev.id, to.a, to.b);
		dev.lid = dev.id.lid;
	}
	memcpy(gid, dev.id.gid, 16);
	*lid = dev.lid;
}

void cm_fill_ah(const struct cm_id *id, const uint8_t dgid[16], uint16_t dlid,
		struct ib_uverbs_ah_attr *ah)
{
	memcpy(ah->grh.dgid, dgid, 16);
	ah->grh.sgid_index = UV_GID_INDEX_CM;
	ah->grh.hop_limit = HOP_LIMIT;
	ah->grh.traffic_class = id->tos;
	ah->is_global = 1;
	ah->dlid = dlid;
	ah->port_num = UV_PORT;
}

/* ---- addresses and paths ---- */

struct ends {
	struct cm_device dev;
	uint8_t dgid[16];
	uint16_t dlid;
};

static void ends_of(const struct cm_id *id, struct ends *e)
{
	cm_device(id->device < 0 ? 0 : (unsigned int)id->device, &e->dev);
	remote_gid(id, e->dgid, &e->dlid);
}

static void query_addr(struct cm_cmd *cmd, const struct cm_id *id)
{
	struct rdma_ucm_query_addr_resp r = {0};
	struct ends e;

	ends_of(id, &e);
	memcpy(&r.src_addr, &id->src, sizeof(id->src));
	memcpy(&r.dst_addr, &id->dst, sizeof(id->dst));
	r.src_size = (uint16_t)cm_addr_len(&id->src);
	r.dst_size = (uint16_t)cm_addr_len(&id->dst);
	r.ibdev_index = UINT32_MAX; /* devices that sysfs shows have none: found by their GUID */
	if (id->device >= 0) {
		r.node_guid = htobe64(e.dev.id.node_guid);
		r.port_num = UV_PORT;
		r.pkey = htobe16(UV_PKEY);
	}
	memcpy(cmd->out, &r, sizeof(r) < cmd->out_len ? sizeof(r) : cmd->out_len);
}

static void put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* struct sockaddr_ib: family 0, pkey 2, flow 4, address 8, service id 24, its mask 32, scope 40. */
static void put_sockaddr_ib(void *to, const uint8_t gid[16], uint16_t ps, uint16_t port)
{
	uint8_t *p = to;
	const uint16_t family = AF_IB_;

	memcpy(p, &family, sizeof(family));
	put16(p + 2, UV_PKEY);
	memcpy(p + 8, gid, 16);
	/* IBTA Annex A11.2.2: service ID of an IP port */
	prm_store64(p + 24, (uint64_t)ps << 16 | port);
	memset(p + 32, 0xff, 8);
}

static void query_gid(struct cm_cmd *cmd, const struct cm_id *id)
{
	enum { SOCKADDR_IB_LEN = 48 };
	struct rdma_ucm_query_addr_resp r = {.src_size = SOCKADDR_IB_LEN,
					     .dst_size = SOCKADDR_IB_LEN};
	struct ends e;

	ends_of(id, &e);
	put_sockaddr_ib(&r.src_addr, e.dev.id.gid, id->ps, cm_port(&id->src));
	put_sockaddr_ib(&r.dst_addr, e.dgid, id->ps, cm_port(&id->dst));
	r.ibdev_index = UINT32_MAX;
	if (id->device >= 0) {
		r.node_guid = htobe64(e.dev.id.node_guid);
		r.port_num = UV_PORT;
		r.pkey = htobe16(UV_PKEY);
	}
	memcpy(cmd->out, &r, sizeof(r) < cmd->out_len ? sizeof(r) : cmd->out_len);
}

/* A path record as on the wire (IBTA 15.2.5.16): 64 bytes. */
static void put_path(uint8_t *p, const struct cm_id *id, const struct ends *e)
{
	memcpy(p + 8, e->dgid, 16);
	memcpy(p + 24, e->dev.id.gid, 16);
	put16(p + 40, e->dlid);
	put16(p + 42, e->dev.lid);
	prm_store32(p + 44, HOP_LIMIT);
	p[48] = id->tos;
	p[49] = 0x80 | 1; /* reversible, one path */
	put16(p + 50, UV_PKEY);
	p[54] = 2 << 6 | MTU_4096; /* 2: exactly */
	p[55] = 2 << 6 | RATE_400_GBPS;
	p[56] = 2 << 6 | PACKET_LIFETIME;
}

static bool has_route(const struct cm_id *id)
{
	return id->device >= 0 && id->state >= CM_ROUTE_DONE;
}

static void query_path(struct cm_cmd *cmd, const struct cm_id *id)
{
	struct rdma_ucm_query_path_resp *r = cmd->out;
	struct ends e;

	if (!has_route(id) || cmd->out_len < sizeof(*r) + sizeof(r->path_data[0]))
		return;
	ends_of(id, &e);
	r->num_paths = 1;
	r->path_data[0].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	put_path((uint8_t *)r->path_data[0].path_rec, id, &e);
}

CM_HANDLER(cm_query)
{
	static void (*const queries[])(struct cm_cmd * cmd, const struct cm_id *id) = {
		[RDMA_USER_CM_QUERY_ADDR] = query_addr,
		[RDMA_USER_CM_QUERY_PATH] = query_path,
		[RDMA_USER_CM_QUERY_GID] = query_gid,
	};
	const struct rdma_ucm_query *c = in;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	if (c->option >= sizeof(queries) / sizeof(queries[0]))
		return uv_refuse(ENOSYS, "rdma_cm QUERY: option %u is none that is emulated",
				 c->option);
	queries[c->option](cmd, id);
	return 0;
}

static void fill_route(struct ib_user_path_rec *p, const struct cm_id *id, const struct ends *e)
{
	memcpy(p->dgid, e->dgid, 16);
	memcpy(p->sgid, e->dev.id.gid, 16);
	p->dlid = htobe16(e->dlid);
	p->slid = htobe16(e->dev.lid);
	p->reversible = 1;
	p->mtu = MTU_4096;
	p->mtu_selector = 2;
	p->pkey = htobe16(UV_PKEY);
	p->hop_limit = HOP_LIMIT;
	p->traffic_class = id->tos;
	p->numb_path = 1;
	p->rate_selector = 2;
	p->rate = RATE_400_GBPS;
	p->packet_life_time_selector = 2;
	p->packet_life_time = PACKET_LIFETIME;
}

CM_HANDLER(cm_query_route)
{
	const struct rdma_ucm_query *c = in;
	struct rdma_ucm_query_route_resp r = {0};
	struct ends e;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	ends_of(id, &e);
	r.src_addr = id->src;
	r.dst_addr = id->dst;
	r.ibdev_index = UINT32_MAX;
	if (id->device >= 0) {
		r.node_guid = htobe64(e.dev.id.node_guid);
		r.port_num = UV_PORT;
		fill_route(&r.ib_route[0], id, &e);
		r.num_paths = has_route(id);
	}
	memcpy(cmd->out, &r, sizeof(r) < cmd->out_len ? sizeof(r) : cmd->out_len);
	return 0;
}

/* ---- attributes of a QP ---- */

static bool is_rc(const struct cm_id *id)
{
	return id->qp_type == IB_UVERBS_QPT_RC || id->qp_type == IB_UVERBS_QPT_XRC_INI ||
	       id->qp_type == IB_UVERBS_QPT_XRC_TGT;
}

static int attr_init(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	enum { REMOTE_WRITE = 1 << 1, REMOTE_READ = 1 << 2, REMOTE_ATOMIC = 1 << 3 };

	a->qp_attr_mask = UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT;
	a->port_num = UV_PORT;
	if (cm_is_ud(id)) {
		a->qp_attr_mask |= UV_QP_QKEY;
		a->qkey = id->qkey;
		return 0;
	}
	a->qp_attr_mask |= UV_QP_ACCESS;
	/* Before a connection nothing is known of what the other end will do. */
	if (id->have_remote || id->state >= CM_REQ_SENT)
		a->qp_access_flags =
			REMOTE_WRITE | (id->responder_resources ? REMOTE_READ | REMOTE_ATOMIC : 0u);
	return 0;
}

static int attr_rtr(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	uint8_t gid[16];
	uint16_t lid;

	a->qp_attr_mask = UV_QP_STATE;
	if (cm_is_ud(id))
		return 0;
	if (!id->have_remote)
		return uv_refuse(EINVAL, "rdma_cm INIT_QP_ATTR: RTR, but the other end has not "
					 "answered");
	a->qp_attr_mask |= UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN;
	remote_gid(id, gid, &lid);
	cm_fill_ah(id, gid, lid, &a->ah_attr);
	a->path_mtu = id->remote.mtu;
	a->dest_qp_num = id->remote.qpn;
	a->rq_psn = id->remote.psn;
	if (is_rc(id)) {
		a->qp_attr_mask |= UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER;
		a->max_dest_rd_atomic = id->responder_resources;
	}
	return 0;
}

static int attr_rts(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = UV_QP_STATE | UV_QP_SQ_PSN;
	a->sq_psn = cm_is_ud(id) ? 0 : id->psn;
	if (is_rc(id) && !cm_is_ud(id)) {
		a->qp_attr_mask |=
			UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_MAX_RD_ATOMIC;
		a->timeout = id->ack_timeout ? id->ack_timeout : ACK_TIMEOUT;
		a->retry_cnt = id->retry_count;
		a->rnr_retry =
			id->have_remote ? id->remote.rnr_retry_count & 7 : id->rnr_retry_count;
		a->max_rd_atomic = id->initiator_depth;
	}
	return 0;
}

static int attr_err(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	(void)id;
	a->qp_attr_mask = UV_QP_STATE;
	return 0;
}

CM_HANDLER(cm_init_qp_attr)
{
	static int (*const fill[UV_QPS])(const struct cm_id *id, struct ib_uverbs_qp_attr *a) = {
		[UV_QPS_INIT] = attr_init,
		[UV_QPS_RTR] = attr_rtr,
		[UV_QPS_RTS] = attr_rts,
		[UV_QPS_ERR] = attr_err,
	};
	const struct rdma_ucm_init_qp_attr *c = in;
	struct ib_uverbs_qp_attr *a = cmd->out;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	if (id->device < 0)
		return uv_refuse(EINVAL, "rdma_cm INIT_QP_ATTR: identifier %u has no device",
				 id->handle);
	if (c->qp_state >= UV_QPS || !fill[c->qp_state])
		return uv_refuse(EINVAL,
				 "rdma_cm INIT_QP_ATTR: state %u, expected INIT, RTR, RTS or "
				 "ERR",
				 c->qp_state);
	a->qp_state = c->qp_state;
	a->cur_qp_state = c->qp_state;
	return fill[c->qp_state](id, a);
}
