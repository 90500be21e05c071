// SPDX-License-Identifier: BSD-3-Clause
/*
 * Identifiers of the connection manager: what each command does in each state (IBTA 12.9, 12.11;
 * rdma_cm(7)). The thread of cm_peer.c brings the other end's messages.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/uverbs/cm.h"

enum {
	AF_IB_ = 27,	       /* AF_IB of linux/socket.h */
	UDP_QKEY = 0x01234567, /* RDMA_UDP_QKEY of the kernel's rdma_cm */
	MCAST_QPN = 0xffffff,
	OPTION_BYTES_MAX = 4,
};

static const char *const state_names[] = {
	[CM_IDLE] = "idle",
	[CM_BOUND] = "bound",
	[CM_LISTEN] = "listening",
	[CM_ADDR_DONE] = "address resolved",
	[CM_ROUTE_DONE] = "route resolved",
	[CM_REQ_SENT] = "connecting",
	[CM_REP_RECEIVED] = "answered",
	[CM_REQ_RECEIVED] = "requested",
	[CM_REP_SENT] = "accepted",
	[CM_CONNECTED] = "connected",
	[CM_DREQ_SENT] = "disconnecting",
	[CM_CLOSED] = "closed",
};

static uint32_t last_handle;

const char *cm_state_name(const struct cm_id *id)
{
	return state_names[id->state];
}

bool cm_is_ud(const struct cm_id *id)
{
	return id->ps == RDMA_PS_UDP || id->ps == RDMA_PS_IPOIB || id->qp_type == IB_UVERBS_QPT_UD;
}

static int wrong_state(const struct cm_cmd *cmd, const struct cm_id *id, const char *expected)
{
	return uv_refuse(EINVAL, "rdma_cm %s: identifier %u is %s, expected %s", cmd->name,
			 id->handle, state_names[id->state], expected);
}

/* ---- life ---- */

struct cm_id *cm_id_find(const struct cm_cmd *cmd, uint32_t handle, int *err)
{
	for (struct cm_id *id = cm_ids; id; id = id->next) {
		/* One whose request was not read has no number yet that a program can know. */
		if (id->handle != handle || id->listen_id)
			continue;
		if (id->file == cmd->file)
			return id;
		*err = uv_refuse(EINVAL, "rdma_cm %s: identifier %u belongs to another channel",
				 cmd->name, handle);
		return NULL;
	}
	*err = uv_refuse(ENOENT, "rdma_cm %s: no identifier %u", cmd->name, handle);
	return NULL;
}

struct cm_id *cm_id_new(struct cm_file *file, uint16_t ps, uint8_t qp_type, uint64_t uid)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	last_handle++;
	*id = (struct cm_id){
		.next = cm_ids,
		.file = file,
		.handle = last_handle,
		.uid = uid,
		.ps = ps,
		.qp_type = qp_type,
		.device = -1,
		.listener = -1,
		.peer = -1,
		.qkey = UDP_QKEY,
		/* Different for each, so that a packet of an earlier connection misses. */
		.psn = (last_handle * 2654435761u ^ (uint32_t)getpid()) & 0xffffff,
	};
	cm_ids = id;
	return id;
}

/* The listener is going: requests that nobody has read are refused. */
static void drop_requests(struct cm_id *listener)
{
	struct cm_id *id = cm_ids;

	while (id) {
		struct cm_id *next = id->next;

		if (id->listen_id == listener)
			id->listen_id = NULL;
		id = next;
	}
}

/* Tells the other end as ib_destroy_cm_id() would. */
static void part(struct cm_id *id)
{
	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REP_RECEIVED:
	case CM_REQ_RECEIVED:
	case CM_REP_SENT:
		cm_send_simple(id, CM_MSG_REJ, CM_REJ_CONSUMER);
		break;
	case CM_CONNECTED:
		cm_send_simple(id, CM_MSG_DREQ, 0);
		break;
	default:
		break;
	}
}

void cm_id_free(struct cm_id *id)
{
	struct cm_id **p = &cm_ids;

	part(id);
	drop_requests(id);
	while (*p && *p != id)
		p = &(*p)->next;
	if (*p)
		*p = id->next;
	while (id->groups) {
		struct cm_mcast *m = id->groups;

		id->groups = m->next;
		free(m);
	}
	if (id->listener >= 0)
		cm_watched_close(id->listener);
	if (id->peer >= 0)
		cm_watched_close(id->peer);
	free(id);
}

static uint8_t type_of_space(uint16_t ps)
{
	return ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IB_UVERBS_QPT_UD : IB_UVERBS_QPT_RC;
}

CM_HANDLER(cm_create_id)
{
	const struct rdma_ucm_create_id *c = in;
	struct rdma_ucm_create_id_resp *resp = cmd->out;
	struct cm_id *id;
	uint8_t type = c->qp_type;

	if (c->ps != RDMA_PS_TCP && c->ps != RDMA_PS_UDP && c->ps != RDMA_PS_IPOIB &&
	    c->ps != RDMA_PS_IB)
		return uv_refuse(EINVAL, "rdma_cm CREATE_ID: port space 0x%x is none of rdma_cm(7)",
				 c->ps);
	if (c->ps != RDMA_PS_IB)
		type = type_of_space(c->ps);
	id = cm_id_new(cmd->file, c->ps, type, c->uid);
	if (!id)
		return -ENOMEM;
	resp->id = id->handle;
	return 0;
}

CM_HANDLER(cm_destroy_id)
{
	const struct rdma_ucm_destroy_id *c = in;
	struct rdma_ucm_destroy_id_resp *resp = cmd->out;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	cm_events_withdraw(id, cmd->fd);
	resp->events_reported = id->events_reported;
	cm_id_free(id);
	return 0;
}

CM_HANDLER(cm_migrate_id)
{
	const struct rdma_ucm_migrate_id *c = in;
	struct rdma_ucm_migrate_resp *resp = cmd->out;
	struct cm_cmd old = *cmd;
	int err;
	struct cm_id *id;

	old.file = cm_file_of_fd((int)c->fd);
	if (!old.file)
		return uv_refuse(EINVAL, "rdma_cm MIGRATE_ID: descriptor %u is no event channel",
				 c->fd);
	id = cm_id_find(&old, c->id, &err);
	if (!id)
		return err;
	resp->events_reported = id->events_reported;
	if (old.file != cmd->file)
		cm_events_move(id, (int)c->fd, cmd->file);
	id->file = cmd->file;
	return 0;
}

/* ---- addresses ---- */

/* Copies what is an IP address; an unspecified one of AF_IB means any. */
static int take_addr(const struct cm_cmd *cmd, const void *from, size_t len,
		     struct sockaddr_in6 *to, struct cm_addr *addr)
{
	struct sockaddr_storage sa = {0};

	*addr = (struct cm_addr){.kind = CM_ADDR_BAD};
	memcpy(&sa, from, len < sizeof(sa) ? len : sizeof(sa));
	memset(to, 0, sizeof(*to));
	if (sa.ss_family == AF_IB_) {
		static const uint8_t none[16];

		/* struct sockaddr_ib: family, pkey, flow info, address. */
		if (memcmp((uint8_t *)&sa + 8, none, sizeof(none)) != 0)
			return uv_refuse(ENODEV,
					 "rdma_cm %s: AF_IB addresses are not those of a RoCE "
					 "port",
					 cmd->name);
		*addr = (struct cm_addr){.kind = CM_ADDR_ANY};
		to->sin6_family = AF_INET;
		return 0;
	}
	cm_addr_of((struct sockaddr *)&sa, addr);
	if (addr->kind == CM_ADDR_BAD)
		return uv_refuse(EAFNOSUPPORT,
				 "rdma_cm %s: address family %u, expected IPv4 or IPv6", cmd->name,
				 sa.ss_family);
	memcpy(to, &sa, sa.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(*to));
	return 0;
}

static int bind_to(const struct cm_cmd *cmd, struct cm_id *id, const void *sa, size_t len)
{
	struct cm_addr addr;
	int ret, device = -1;

	if (id->state != CM_IDLE)
		return wrong_state(cmd, id, "idle");
	ret = take_addr(cmd, sa, len, &id->src, &addr);
	if (ret)
		return ret;
	if (addr.kind != CM_ADDR_ANY) {
		device = cm_device_of(&addr);
		if (device < 0)
			return uv_refuse(addr.kind == CM_ADDR_ELSEWHERE ? EADDRNOTAVAIL : ENODEV,
					 "rdma_cm %s: no device of this host has that address",
					 cmd->name);
	}
	ret = cm_port_claim(id->ps, &addr.port, &id->listener);
	if (ret)
		return uv_refuse(-ret, "rdma_cm %s: port %u: %s", cmd->name, addr.port,
				 strerror(-ret));
	id->device = device;
	id->port = addr.port;
	cm_set_port(&id->src, addr.port);
	id->state = CM_BOUND;
	return 0;
}

CM_HANDLER(cm_bind_ip)
{
	const struct rdma_ucm_bind_ip *c = in;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	return id ? bind_to(cmd, id, &c->addr, sizeof(c->addr)) : err;
}

CM_HANDLER(cm_bind)
{
	const struct rdma_ucm_bind *c = in;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	if (c->addr_size > sizeof(c->addr))
		return uv_refuse(EINVAL, "rdma_cm BIND: address of %u bytes, at most %zu",
				 c->addr_size, sizeof(c->addr));
	return bind_to(cmd, id, &c->addr, c->addr_size);
}

static int resolve(struct cm_cmd *cmd, uint32_t handle, const void *src, size_t src_len,
		   const void *dst, size_t dst_len)
{
	struct cm_addr addr;
	sa_family_t family;
	int ret;
	struct cm_id *id = cm_id_find(cmd, handle, &ret);

	if (!id)
		return ret;
	memcpy(&family, src, sizeof(family));
	if (id->state == CM_IDLE) {
		struct sockaddr_in any = {.sin_family = AF_INET};

		ret = src_len && family ? bind_to(cmd, id, src, src_len)
					: bind_to(cmd, id, &any, sizeof(any));
		if (ret)
			return ret;
	}
	if (id->state != CM_BOUND)
		return wrong_state(cmd, id, "idle or bound");
	ret = take_addr(cmd, dst, dst_len, &id->dst, &addr);
	if (ret)
		return ret;
	if (addr.kind == CM_ADDR_ELSEWHERE) {
		uv_say("rdma_cm %s: the destination is not on this machine: no route", cmd->name);
		cm_event_put(id, CM_ADDR_ERROR, -EHOSTUNREACH, NULL);
		return 0;
	}
	if (id->device < 0) {
		id->device = 0;
		cm_sockaddr_of(0, id->port, &id->src);
	}
	id->state = CM_ADDR_DONE;
	cm_event_put(id, CM_ADDR_RESOLVED, 0, NULL);
	return 0;
}

CM_HANDLER(cm_resolve_ip)
{
	const struct rdma_ucm_resolve_ip *c = in;

	return resolve(cmd, c->id, &c->src_addr, sizeof(c->src_addr), &c->dst_addr,
		       sizeof(c->dst_addr));
}

CM_HANDLER(cm_resolve_addr)
{
	const struct rdma_ucm_resolve_addr *c = in;

	if (c->src_size > sizeof(c->src_addr) || !c->dst_size || c->dst_size > sizeof(c->dst_addr))
		return uv_refuse(EINVAL,
				 "rdma_cm RESOLVE_ADDR: addresses of %u and %u bytes, at most %zu",
				 c->src_size, c->dst_size, sizeof(c->dst_addr));
	return resolve(cmd, c->id, &c->src_addr, c->src_size, &c->dst_addr, c->dst_size);
}

CM_HANDLER(cm_resolve_route)
{
	const struct rdma_ucm_resolve_route *c = in;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	if (id->state != CM_ADDR_DONE)
		return wrong_state(cmd, id, "address resolved");
	id->state = CM_ROUTE_DONE;
	cm_event_put(id, CM_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

/* ---- messages ---- */

static void message(const struct cm_id *id, uint8_t type, struct cm_msg *msg)
{
	struct cm_device dev;

	cm_device(id->device < 0 ? 0 : (unsigned int)id->device, &dev);
	*msg = (struct cm_msg){
		.magic = CM_MSG_MAGIC,
		.version = CM_MSG_VERSION,
		.type = type,
		.qp_type = id->qp_type,
		.qpn = id->qpn,
		.qkey = id->qkey,
		.psn = id->psn,
		.mtu = 5,
		.lid = dev.lid,
		.from = id->src,
		.to = id->dst,
	};
	memcpy(msg->gid, dev.id.gid, sizeof(msg->gid));
}

void cm_send_simple(struct cm_id *id, uint8_t type, uint32_t status)
{
	struct cm_msg msg;

	if (id->peer < 0)
		return;
	message(id, type, &msg);
	msg.status = status;
	(void)cm_peer_send(id->peer, &msg); /* if it is gone, its socket says so */
}

static int add_private(const struct cm_cmd *cmd, struct cm_msg *msg, const void *data, size_t len)
{
	if (len > cm_msg_private_len(msg->type))
		return uv_refuse(
			EINVAL, "rdma_cm %s: %zu bytes of private data, a %s has room for %u",
			cmd->name, len, cm_msg_name(msg->type), cm_msg_private_len(msg->type));
	memcpy(msg->private_data, data, len);
	msg->private_len = (uint16_t)len;
	return 0;
}

static void take_params(struct cm_id *id, struct cm_msg *msg, const struct rdma_ucm_conn_param *p,
			const struct rdma_ucm_ece *ece)
{
	id->qpn = p->qp_num & 0xffffff;
	if (cm_is_ud(id) && p->qkey)
		id->qkey = p->qkey;
	id->responder_resources = p->responder_resources;
	id->initiator_depth = p->initiator_depth;
	msg->qpn = id->qpn;
	msg->qkey = id->qkey;
	msg->srq = p->srq;
	msg->flow_control = p->flow_control;
	msg->responder_resources = p->responder_resources;
	msg->initiator_depth = p->initiator_depth;
	msg->retry_count = p->retry_count;
	msg->rnr_retry_count = p->rnr_retry_count;
	msg->ece_vendor = ece->vendor_id;
	msg->ece_attr = ece->attr_mod;
}

void cm_try_connect(struct cm_id *id)
{
	struct cm_addr to;

	cm_addr_of((const struct sockaddr *)&id->dst, &to);
	id->peer = cm_peer_connect(&to, id->ps);
	if (id->peer >= 0 && !cm_watch(id->peer, CM_WATCH_PEER, id->handle) &&
	    !cm_peer_send(id->peer, &id->request)) {
		id->give_up_ns = 0;
		return;
	}
	if (id->peer >= 0)
		cm_watched_close(id->peer);
	id->peer = -1;
	if (cm_now_ns() < id->give_up_ns)
		return;
	uv_say("rdma_cm CONNECT: nobody listens on port %u there", to.port);
	id->give_up_ns = 0;
	id->state = CM_CLOSED;
	if (cm_is_ud(id))
		cm_event_put(id, CM_UNREACHABLE, -EINVAL, NULL);
	else
		cm_event_put(id, CM_REJECTED, CM_REJ_INVALID_SERVICE_ID, NULL);
}

CM_HANDLER(cm_connect)
{
	const struct rdma_ucm_connect *c = in;
	int ret;
	struct cm_id *id = cm_id_find(cmd, c->id, &ret);

	if (!id)
		return ret;
	if (!c->conn_param.valid)
		return uv_refuse(EINVAL, "rdma_cm CONNECT: the parameters are not marked valid");
	if (id->state != CM_ROUTE_DONE)
		return wrong_state(cmd, id, "route resolved");
	message(id, cm_is_ud(id) ? CM_MSG_SIDR_REQ : CM_MSG_REQ, &id->request);
	take_params(id, &id->request, &c->conn_param, &c->ece);
	ret = add_private(cmd, &id->request, c->conn_param.private_data,
			  c->conn_param.private_data_len);
	if (ret)
		return ret;
	id->retry_count = c->conn_param.retry_count & 7;
	id->rnr_retry_count = c->conn_param.rnr_retry_count & 7;
	id->state = CM_REQ_SENT;
	id->give_up_ns = cm_now_ns() + CM_PATIENCE_MS * UINT64_C(1000000);
	cm_try_connect(id);
	return 0;
}

CM_HANDLER(cm_listen)
{
	const struct rdma_ucm_listen *c = in;
	struct sockaddr_in any = {.sin_family = AF_INET};
	int ret;
	struct cm_id *id = cm_id_find(cmd, c->id, &ret);

	if (!id)
		return ret;
	if (id->state == CM_IDLE) {
		ret = bind_to(cmd, id, &any, sizeof(any));
		if (ret)
			return ret;
	}
	if (id->state != CM_BOUND)
		return wrong_state(cmd, id, "idle or bound");
	if (listen(id->listener,
		   c->backlog && c->backlog < SOMAXCONN ? (int)c->backlog : SOMAXCONN))
		return -errno;
	ret = cm_watch(id->listener, CM_WATCH_LISTENER, id->handle);
	if (ret)
		return ret;
	id->listener_on = true;
	id->state = CM_LISTEN;
	return 0;
}

/* An active end says that its QP is ready; a passive one answers a request. */
CM_HANDLER(cm_accept)
{
	const struct rdma_ucm_accept *c = in;
	struct cm_msg msg;
	int ret;
	struct cm_id *id = cm_id_find(cmd, c->id, &ret);

	if (!id)
		return ret;
	if (id->state == CM_REP_RECEIVED) {
		cm_send_simple(id, CM_MSG_RTU, 0);
		id->state = CM_CONNECTED;
		return 0;
	}
	if (id->state != CM_REQ_RECEIVED)
		return wrong_state(cmd, id, "requested or answered");
	if (!c->conn_param.valid)
		return uv_refuse(EINVAL, "rdma_cm ACCEPT: the parameters are not marked valid");
	message(id, cm_is_ud(id) ? CM_MSG_SIDR_REP : CM_MSG_REP, &msg);
	take_params(id, &msg, &c->conn_param, &c->ece);
	id->rnr_retry_count = c->conn_param.rnr_retry_count & 7;
	ret = add_private(cmd, &msg, c->conn_param.private_data, c->conn_param.private_data_len);
	if (ret)
		return ret;
	if (cm_peer_send(id->peer, &msg))
		return uv_refuse(ECONNRESET, "rdma_cm ACCEPT: the other end is gone");
	id->uid = c->uid;
	id->state = cm_is_ud(id) ? CM_CLOSED : CM_REP_SENT;
	return 0;
}

CM_HANDLER(cm_reject)
{
	const struct rdma_ucm_reject *c = in;
	struct cm_msg msg;
	int ret;
	struct cm_id *id = cm_id_find(cmd, c->id, &ret);

	if (!id)
		return ret;
	if (id->state != CM_REQ_RECEIVED && id->state != CM_REP_RECEIVED)
		return wrong_state(cmd, id, "requested or answered");
	message(id, cm_is_ud(id) ? CM_MSG_SIDR_REP : CM_MSG_REJ, &msg);
	msg.status = c->reason ? c->reason : CM_REJ_CONSUMER;
	ret = add_private(cmd, &msg, c->private_data, c->private_data_len);
	if (ret)
		return ret;
	(void)cm_peer_send(id->peer, &msg);
	id->state = CM_CLOSED;
	return 0;
}

CM_HANDLER(cm_disconnect)
{
	const struct rdma_ucm_disconnect *c = in;
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	switch (id->state) {
	case CM_REP_SENT:
	case CM_CONNECTED:
		cm_send_simple(id, CM_MSG_DREQ, 0);
		id->state = CM_DREQ_SENT;
		return 0;
	case CM_DREQ_SENT:
	case CM_CLOSED:
		return 0;
	default:
		return wrong_state(cmd, id, "connected");
	}
}

CM_HANDLER(cm_notify)
{
	const struct rdma_ucm_notify *c = in;
	enum { COMM_EST = 4 }; /* enum ib_event_type */
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	if (c->event != COMM_EST)
		return 0;
	if (id->state == CM_REP_SENT) {
		id->state = CM_CONNECTED;
		cm_event_put(id, CM_ESTABLISHED, 0, NULL);
	}
	return 0;
}

CM_HANDLER(cm_set_option)
{
	static const struct {
		uint32_t level, name, len;
	} options[] = {
		{RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1},
	};
	const struct rdma_ucm_set_option *c = in;
	uint8_t value[OPTION_BYTES_MAX];
	int err;
	struct cm_id *id = cm_id_find(cmd, c->id, &err);

	if (!id)
		return err;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].level != c->level || options[i].name != c->optname)
			continue;
		if (c->optlen != options[i].len)
			return uv_refuse(EINVAL, "rdma_cm SET_OPTION: %u bytes, expected %u",
					 c->optlen, options[i].len);
		err = uv_copy_in(value, c->optval, c->optlen);
		if (!err && c->optname == RDMA_OPTION_ID_TOS)
			id->tos = value[0];
		if (!err && c->optname == RDMA_OPTION_ID_ACK_TIMEOUT)
			id->ack_timeout = value[0] & 31; /* a field of 5 bits */
		return err;
	}
	return uv_refuse(ENOSYS, "rdma_cm SET_OPTION: level %u, option %u is not emulated",
			 c->level, c->optname);
}

/* ---- multicast ---- */

/* RoCE v2 maps a group's IPv4 address as any other (rdma_cm of the kernel). */
static bool group_gid(const struct sockaddr_in6 *sa, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (sa->sin6_family == AF_INET6) {
		memcpy(gid, &sa->sin6_addr, 16);
		return gid[0] == 0xff;
	}
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &((const struct sockaddr_in *)sa)->sin_addr, 4);
	return sa->sin6_family == AF_INET && (gid[12] & 0xf0) == 0xe0;
}

static int join(struct cm_cmd *cmd, uint32_t handle, uint64_t uid, const void *addr, size_t len)
{
	struct rdma_ucm_create_id_resp *resp = cmd->out;
	struct rdma_ucm_event_resp ev = {0};
	struct sockaddr_in6 sa = {0};
	struct cm_mcast *group;
	uint8_t gid[16];
	int err;
	struct cm_id *id = cm_id_find(cmd, handle, &err);

	if (!id)
		return err;
	if (id->device < 0 || !cm_is_ud(id))
		return uv_refuse(EINVAL, "rdma_cm %s: identifier %u is no UD one with a device",
				 cmd->name, handle);
	memcpy(&sa, addr, len < sizeof(sa) ? len : sizeof(sa));
	if (!group_gid(&sa, gid))
		return uv_refuse(EINVAL, "rdma_cm %s: the address is no multicast group",
				 cmd->name);
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->uid = uid;
	group->handle = ++last_handle;
	group->next = id->groups;
	id->groups = group;
	resp->id = group->handle;
	ev.param.ud.qp_num = MCAST_QPN;
	ev.param.ud.qkey = id->qkey;
	cm_fill_ah(id, gid, 0xc000, &ev.param.ud.ah_attr);
	cm_event_put_group(id, group, &ev);
	return 0;
}

CM_HANDLER(cm_join_ip_mcast)
{
	const struct rdma_ucm_join_ip_mcast *c = in;

	return join(cmd, c->id, c->uid, &c->addr, sizeof(c->addr));
}

CM_HANDLER(cm_join_mcast)
{
	const struct rdma_ucm_join_mcast *c = in;

	if (c->addr_size > sizeof(c->addr))
		return uv_refuse(EINVAL, "rdma_cm JOIN_MCAST: address of %u bytes, at most %zu",
				 c->addr_size, sizeof(c->addr));
	return join(cmd, c->id, c->uid, &c->addr, c->addr_size);
}

CM_HANDLER(cm_leave_mcast)
{
	const struct rdma_ucm_destroy_id *c = in;
	struct rdma_ucm_destroy_id_resp *resp = cmd->out;

	for (struct cm_id *id = cm_ids; id; id = id->next) {
		struct cm_mcast **p = &id->groups;

		if (id->file != cmd->file)
			continue;
		while (*p && (*p)->handle != c->id)
			p = &(*p)->next;
		if (*p) {
			struct cm_mcast *m = *p;

			resp->events_reported = m->events_reported;
			*p = m->next;
			free(m);
			return 0;
		}
	}
	return uv_refuse(ENOENT, "rdma_cm LEAVE_MCAST: no group %u", c->id);
}
