// SPDX-License-Identifier: BSD-3-Clause
/* Queue pairs of the engine, and how they are connected: the attributes of upstream's examples. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "hw_tests/common/hwt.h"
#include "hw_tests/common/oob.h"

#define HOP_LIMIT	255
#define ACK_TIMEOUT	14 /* 67 ms */
#define RETRY_CNT	7
#define RNR_RETRY	1
#define MIN_RNR_TIMER	1
#define QPN_MAX		0xffffffu
#define LID_UNICAST_MAX 0xbfffu

static int start_proxy(struct hwt *h)
{
	for (uint32_t i = 0; i < h->qp_count; i++) {
		if (!h->gverbs[i]->cpu_proxy)
			continue;
		if (!h->proxy && hwt_check("doca_gpu_verbs_create_service",
					   doca_gpu_verbs_create_service(&h->proxy)))
			return -1;
		if (hwt_check("doca_gpu_verbs_service_monitor_qp",
			      doca_gpu_verbs_service_monitor_qp(h->proxy, h->gverbs[i])))
			return -1;
	}
	return 0;
}

int hwt_create_qps(struct hwt *h, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct doca_gpu_verbs_qp_init_attr_hl attr = {
			.gpu_dev = h->gpu,
			.ibpd = h->pd,
			.sq_nwqe = HWT_SQ_DEPTH,
			.nic_handler = h->opt->handler,
			.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT,
			.send_dbr_mode_ext = h->opt->dbr_mode,
		};

		if (hwt_check("doca_gpu_verbs_create_qp_hl",
			      doca_gpu_verbs_create_qp_hl(&attr, &h->qp[i])))
			return -1;
		h->gverbs[i] = h->qp[i]->qp_gverbs;
		h->qp_count = i + 1;
	}
	if (hwt_check("doca_gpu_verbs_export_multi_qps_dev",
		      doca_gpu_verbs_export_multi_qps_dev(h->gpu, h->gverbs, count, &h->qps_dev)))
		return -1;
	return start_proxy(h);
}

struct step {
	const char *name;
	enum doca_verbs_qp_state to;
	int mask;
};

static const struct step steps[] = {
	{"doca_verbs_qp_modify to INIT", DOCA_VERBS_QP_STATE_INIT,
	 DOCA_VERBS_QP_ATTR_PKEY_INDEX | DOCA_VERBS_QP_ATTR_PORT_NUM |
		 DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE | DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ},
	{"doca_verbs_qp_modify to RTR", DOCA_VERBS_QP_STATE_RTR,
	 DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM | DOCA_VERBS_QP_ATTR_PATH_MTU |
		 DOCA_VERBS_QP_ATTR_AH_ATTR | DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER},
	{"doca_verbs_qp_modify to RTS", DOCA_VERBS_QP_STATE_RTS,
	 DOCA_VERBS_QP_ATTR_SQ_PSN | DOCA_VERBS_QP_ATTR_ACK_TIMEOUT | DOCA_VERBS_QP_ATTR_RETRY_CNT |
		 DOCA_VERBS_QP_ATTR_RNR_RETRY},
};

static enum doca_verbs_mtu_size mtu(const struct hwt *h)
{
	return (enum doca_verbs_mtu_size)(h->port.active_mtu - IBV_MTU_256 +
					  DOCA_VERBS_MTU_SIZE_256_BYTES);
}

static void fill_qp_attr(struct hwt *h, struct doca_verbs_qp_attr *attr, uint32_t qpn)
{
	doca_verbs_qp_attr_set_path_mtu(attr, mtu(h));
	doca_verbs_qp_attr_set_rq_psn(attr, 0);
	doca_verbs_qp_attr_set_sq_psn(attr, 0);
	doca_verbs_qp_attr_set_port_num(attr, 1);
	doca_verbs_qp_attr_set_pkey_index(attr, 0);
	doca_verbs_qp_attr_set_ack_timeout(attr, ACK_TIMEOUT);
	doca_verbs_qp_attr_set_retry_cnt(attr, RETRY_CNT);
	doca_verbs_qp_attr_set_rnr_retry(attr, RNR_RETRY);
	doca_verbs_qp_attr_set_min_rnr_timer(attr, MIN_RNR_TIMER);
	doca_verbs_qp_attr_set_allow_remote_write(attr, 1);
	doca_verbs_qp_attr_set_allow_remote_read(attr, 1);
	doca_verbs_qp_attr_set_allow_remote_atomic(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	doca_verbs_qp_attr_set_dest_qp_num(attr, qpn);
}

static void fill_ah_attr(struct hwt *h, struct doca_verbs_ah_attr *ah, const union ibv_gid *gid,
			 uint32_t lid)
{
	bool ib = h->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	struct doca_verbs_gid remote;

	memcpy(remote.raw, gid->raw, sizeof(remote.raw));
	doca_verbs_ah_attr_set_gid(ah, remote);
	doca_verbs_ah_attr_set_addr_type(ah, ib ? DOCA_VERBS_ADDR_TYPE_IB_NO_GRH
						: DOCA_VERBS_ADDR_TYPE_IPv4);
	doca_verbs_ah_attr_set_dlid(ah, lid);
	doca_verbs_ah_attr_set_sl(ah, 0);
	doca_verbs_ah_attr_set_sgid_index(ah, (uint8_t)h->opt->gid_index);
	doca_verbs_ah_attr_set_hop_limit(ah, HOP_LIMIT);
}

/* The library's error, printed. */
static doca_error_t connect_qp(struct hwt *h, struct doca_verbs_qp *qp, uint32_t qpn,
			       const union ibv_gid *gid, uint32_t lid)
{
	struct doca_verbs_qp_attr *attr = NULL;
	struct doca_verbs_ah_attr *ah = NULL;
	const char *what = "doca_verbs_qp_attr_create";
	doca_error_t error = doca_verbs_qp_attr_create(&attr);

	if (!error) {
		what = "doca_verbs_ah_attr_create";
		error = doca_verbs_ah_attr_create(h->ctx, &ah);
	}
	if (!error) {
		fill_ah_attr(h, ah, gid, lid);
		fill_qp_attr(h, attr, qpn);
		doca_verbs_qp_attr_set_ah_attr(attr, ah);
	}
	for (size_t i = 0; !error && i < sizeof(steps) / sizeof(steps[0]); i++) {
		what = steps[i].name;
		doca_verbs_qp_attr_set_next_state(attr, steps[i].to);
		error = doca_verbs_qp_modify(qp, attr,
					     steps[i].mask | DOCA_VERBS_QP_ATTR_NEXT_STATE);
	}
	hwt_check(what, error);
	if (ah)
		doca_verbs_ah_attr_destroy(ah);
	if (attr)
		doca_verbs_qp_attr_destroy(attr);
	return error;
}

int hwt_connect_qp(struct hwt *h, struct doca_verbs_qp *qp, uint32_t qpn, const union ibv_gid *gid,
		   uint32_t lid)
{
	return connect_qp(h, qp, qpn, gid, lid) ? -1 : 0;
}

/* What the other half of the exchange says of one QP. */
struct peer {
	uint32_t qpn, lid;
	union ibv_gid gid;
};

static int fail_peer(const struct peer *peer, doca_error_t error, const char *expected)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &peer->gid, gid, sizeof(gid));
	fprintf(stderr,
		"exchange: %s: the peer sent QP number 0x%x, GID %s, LID 0x%x; expected %s (is the "
		"peer this program's other half?)\n",
		hwt_error_name(error), peer->qpn, gid, peer->lid, expected);
	return -1;
}

/* Whether anything but a queue pair's data came, as from a stranger at the port. */
static int check_peer(const struct hwt *h, const struct peer *peer)
{
	static const union ibv_gid none;
	bool ib = h->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	const char *what = NULL;

	if (!peer->qpn || peer->qpn > QPN_MAX)
		what = "a QP number of 1..0xffffff";
	else if (ib && (!peer->lid || peer->lid > LID_UNICAST_MAX))
		what = "a LID of 1..0xbfff, as this port is InfiniBand";
	else if (!ib && !memcmp(&peer->gid, &none, sizeof(none)))
		what = "a GID, as this port is Ethernet";
	return what ? fail_peer(peer, DOCA_ERROR_INVALID_VALUE, what) : 0;
}

static int swap_peer(struct hwt *h, uint32_t idx, struct peer *peer)
{
	uint32_t qpn = doca_verbs_qp_get_qpn(h->qp[idx]->qp), lid = h->port.lid;

	if (oob_swap(h->sock, &qpn, &peer->qpn, sizeof(qpn),
		     "QP number (does the peer have as many QPs, -q?)") ||
	    oob_swap(h->sock, &h->gid, &peer->gid, sizeof(h->gid), "GID") ||
	    oob_swap(h->sock, &lid, &peer->lid, sizeof(lid), "LID"))
		return -1;
	return check_peer(h, peer);
}

int hwt_connect(struct hwt *h)
{
	for (uint32_t i = 0; i < h->qp_count; i++) {
		struct peer peer;
		doca_error_t error;

		if (swap_peer(h, i, &peer))
			return -1;
		error = connect_qp(h, h->qp[i]->qp, peer.qpn, &peer.gid, peer.lid);
		if (error)
			return fail_peer(&peer, error, "one that this port can be connected to");
	}
	return 0;
}
