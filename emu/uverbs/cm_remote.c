// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the other end of a connection says: the state and the event that follow from each message
 * (IBTA 12.9.7, 12.11). Called by the thread of cm_peer.c.
 */
#include <string.h>

#include "emu/fds/fds.h"
#include "emu/uverbs/cm.h"

static void conn_event(struct rdma_ucm_event_resp *ev, const struct cm_msg *msg)
{
	struct rdma_ucm_conn_param *p = &ev->param.conn;

	memcpy(p->private_data, msg->private_data, sizeof(p->private_data));
	p->private_data_len = (uint8_t)cm_msg_private_len(msg->type);
	p->qp_num = msg->qpn;
	p->srq = msg->srq;
	/* Each side sees the other's resources as its own depth (ib_cm's event parameters). */
	p->responder_resources = msg->initiator_depth;
	p->initiator_depth = msg->responder_resources;
	p->flow_control = msg->flow_control;
	p->retry_count = msg->retry_count & 7;
	p->rnr_retry_count = msg->rnr_retry_count & 7;
	ev->ece.vendor_id = msg->ece_vendor;
	ev->ece.attr_mod = msg->ece_attr;
}

static void ud_event(const struct cm_id *id, struct rdma_ucm_event_resp *ev,
		     const struct cm_msg *msg)
{
	struct rdma_ucm_ud_param *p = &ev->param.ud;

	memcpy(p->private_data, msg->private_data, sizeof(p->private_data));
	p->private_data_len = (uint8_t)cm_msg_private_len(msg->type);
	p->qp_num = msg->qpn;
	p->qkey = msg->qkey;
	cm_fill_ah(id, msg->gid, msg->lid, &p->ah_attr);
}

/* The device of this host that the request is for; -1: none, or not the listener's. */
static int device_wanted(const struct cm_id *listener, const struct cm_msg *msg)
{
	struct cm_addr to;
	int device;

	cm_addr_of((const struct sockaddr *)&msg->to, &to);
	device = cm_device_of(&to);
	if (listener->device >= 0 && to.kind == CM_ADDR_MACHINE)
		return listener->device;
	return listener->device < 0 || listener->device == device ? device : -1;
}

static void refuse_request(int peer, const struct cm_msg *req, uint32_t reason)
{
	struct cm_msg msg = {.magic = CM_MSG_MAGIC,
			     .version = CM_MSG_VERSION,
			     .type = req->type == CM_MSG_REQ ? CM_MSG_REJ : CM_MSG_SIDR_REP,
			     .mtu = 5,
			     .status = reason};

	(void)cm_peer_send(peer, &msg);
	fds_close(peer);
}

void cm_on_request(struct cm_id *listener, int peer, const struct cm_msg *msg)
{
	const int device = device_wanted(listener, msg);
	struct rdma_ucm_event_resp ev = {0};
	struct cm_id *id;

	if (device < 0 || (msg->type == CM_MSG_SIDR_REQ) != cm_is_ud(listener)) {
		refuse_request(peer, msg, CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	id = cm_id_new(listener->file, listener->ps, msg->qp_type, 0);
	if (!id || cm_watch(peer, CM_WATCH_PEER, id->handle)) {
		if (id)
			cm_id_free(id);
		refuse_request(peer, msg, CM_REJ_CONSUMER);
		return;
	}
	id->state = CM_REQ_RECEIVED;
	id->peer = peer;
	id->device = device;
	id->listen_id = listener;
	cm_sockaddr_of((unsigned int)device, listener->port, &id->src);
	id->dst = msg->from;
	id->remote = *msg;
	id->have_remote = true;
	/* Until its own are known: what the other end can take and give. */
	id->responder_resources = msg->initiator_depth;
	id->initiator_depth = msg->responder_resources;
	id->retry_count = msg->retry_count & 7;
	id->rnr_retry_count = msg->rnr_retry_count & 7;
	if (cm_is_ud(id))
		ud_event(id, &ev, msg);
	else
		conn_event(&ev, msg);
	cm_event_put_request(listener, id, &ev);
}

static void on_rep(struct cm_id *id, const struct cm_msg *msg)
{
	struct rdma_ucm_event_resp ev = {0};

	id->remote = *msg;
	id->have_remote = true;
	if (cm_is_ud(id)) {
		ud_event(id, &ev, msg);
		id->state = msg->status ? CM_CLOSED : CM_CONNECTED;
		cm_event_put(id, msg->status ? CM_UNREACHABLE : CM_ESTABLISHED,
			     msg->status ? (int32_t)msg->status : 0, &ev);
		return;
	}
	conn_event(&ev, msg);
	id->state = CM_REP_RECEIVED;
	cm_event_put(id, CM_CONNECT_RESPONSE, 0, &ev);
}

static void on_rej(struct cm_id *id, const struct cm_msg *msg)
{
	struct rdma_ucm_event_resp ev = {0};

	conn_event(&ev, msg);
	id->state = CM_CLOSED;
	cm_event_put(id, CM_REJECTED, (int32_t)msg->status, &ev);
}

static void on_rtu(struct cm_id *id, const struct cm_msg *msg)
{
	(void)msg;
	id->state = CM_CONNECTED;
	cm_event_put(id, CM_ESTABLISHED, 0, NULL);
}

static void on_dreq(struct cm_id *id, const struct cm_msg *msg)
{
	(void)msg;
	cm_send_simple(id, CM_MSG_DREP, 0);
	id->state = CM_CLOSED;
	cm_event_put(id, CM_DISCONNECTED, 0, NULL);
}

static void on_drep(struct cm_id *id, const struct cm_msg *msg)
{
	(void)msg;
	id->state = CM_CLOSED;
	cm_event_put(id, CM_DISCONNECTED, 0, NULL);
}

#define IN(state) (1u << (state))

void cm_on_message(struct cm_id *id, const struct cm_msg *msg)
{
	static const struct {
		uint8_t type;
		uint32_t states;
		void (*act)(struct cm_id *id, const struct cm_msg *msg);
	} acts[] = {
		{CM_MSG_REP, IN(CM_REQ_SENT), on_rep},
		{CM_MSG_SIDR_REP, IN(CM_REQ_SENT), on_rep},
		{CM_MSG_REJ,
		 IN(CM_REQ_SENT) | IN(CM_REP_RECEIVED) | IN(CM_REQ_RECEIVED) | IN(CM_REP_SENT),
		 on_rej},
		{CM_MSG_RTU, IN(CM_REP_SENT), on_rtu},
		{CM_MSG_DREQ, IN(CM_REP_SENT) | IN(CM_CONNECTED) | IN(CM_DREQ_SENT), on_dreq},
		{CM_MSG_DREP, IN(CM_DREQ_SENT), on_drep},
	};

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (acts[i].type == msg->type && (acts[i].states & IN(id->state))) {
			acts[i].act(id, msg);
			return;
		}
	}
	uv_say("rdma_cm: a %s for identifier %u, which is %s: ignored", cm_msg_name(msg->type),
	       id->handle, cm_state_name(id));
}

void cm_on_hangup(struct cm_id *id)
{
	cm_watched_close(id->peer);
	id->peer = -1;
	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REP_RECEIVED:
	case CM_REQ_RECEIVED:
	case CM_REP_SENT:
		id->state = CM_CLOSED;
		cm_event_put(id, CM_UNREACHABLE, -ETIMEDOUT, NULL);
		break;
	case CM_CONNECTED:
	case CM_DREQ_SENT:
		/* As when a DREQ is not answered, and when keep-alives end. */
		id->state = CM_CLOSED;
		if (!cm_is_ud(id))
			cm_event_put(id, CM_DISCONNECTED, 0, NULL);
		break;
	default:
		break;
	}
}
