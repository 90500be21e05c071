// SPDX-License-Identifier: BSD-3-Clause
#include "sim_tests/progs/vp.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t vp_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void vp_fill(uint8_t *buf, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = vp_pattern(seed, i);
}

ssize_t vp_wrong(const uint8_t *buf, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] != vp_pattern(seed, i))
			return (ssize_t)i;
	}
	return -1;
}

ssize_t vp_not(const uint8_t *buf, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] != value)
			return (ssize_t)i;
	}
	return -1;
}

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return -1;
}

int vp_open(struct vp_dev *dev, const char *name, int gid_index)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_device *found = NULL;

	memset(dev, 0, sizeof(*dev));
	if (!list)
		return fail("ibv_get_device_list");
	for (int i = 0; i < n && !found; i++) {
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			found = list[i];
	}
	if (found)
		dev->ctx = ibv_open_device(found);
	else
		fprintf(stderr, "no RDMA device named '%s' among the %d of this machine\n",
			name ? name : "(any)", n);
	if (found && !dev->ctx)
		fail("ibv_open_device");
	ibv_free_device_list(list);
	if (!dev->ctx)
		return -1;
	dev->gid_index = gid_index;
	if (ibv_query_port(dev->ctx, 1, &dev->port))
		return fail("ibv_query_port");
	if (ibv_query_gid(dev->ctx, 1, gid_index, &dev->gid))
		return fail("ibv_query_gid");
	return 0;
}

void vp_close(struct vp_dev *dev)
{
	if (dev->ctx)
		ibv_close_device(dev->ctx);
	dev->ctx = NULL;
}

int vp_cq_open(struct vp_dev *dev, struct vp_cq *cq, int depth, bool event)
{
	memset(cq, 0, sizeof(*cq));
	if (event) {
		cq->chan = ibv_create_comp_channel(dev->ctx);
		if (!cq->chan)
			return fail("ibv_create_comp_channel");
	}
	cq->cq = ibv_create_cq(dev->ctx, depth, NULL, cq->chan, 0);
	if (!cq->cq)
		return fail("ibv_create_cq");
	if (event && ibv_req_notify_cq(cq->cq, 0))
		return fail("ibv_req_notify_cq");
	return 0;
}

void vp_cq_close(struct vp_cq *cq)
{
	if (cq->cq && ibv_destroy_cq(cq->cq))
		fail("ibv_destroy_cq");
	if (cq->chan && ibv_destroy_comp_channel(cq->chan))
		fail("ibv_destroy_comp_channel");
	memset(cq, 0, sizeof(*cq));
}

/* Sleeps for an event and arms again. 1 an event, 0 none in time, -1. */
static int wait_event(struct vp_cq *cq, int timeout_ms)
{
	struct pollfd p = {.fd = cq->chan->fd, .events = POLLIN};
	struct ibv_cq *which;
	void *context;
	int n = poll(&p, 1, timeout_ms);

	if (n <= 0)
		return n && errno != EINTR ? fail("poll of the completion channel") : 0;
	if (ibv_get_cq_event(cq->chan, &which, &context))
		return fail("ibv_get_cq_event");
	if (which != cq->cq) {
		fprintf(stderr, "completion channel: event for CQ %p, expected %p\n", (void *)which,
			(void *)cq->cq);
		return -1;
	}
	cq->events++;
	ibv_ack_cq_events(cq->cq, 1);
	return ibv_req_notify_cq(cq->cq, 0) ? fail("ibv_req_notify_cq") : 1;
}

int vp_next(struct vp_cq *cq, struct ibv_wc *wc, int timeout_ms)
{
	int64_t end_us = vp_now_us() + (int64_t)timeout_ms * 1000;

	for (;;) {
		int n = ibv_poll_cq(cq->cq, 1, wc);
		int64_t left_us = end_us - vp_now_us();

		if (n < 0)
			return fail("ibv_poll_cq");
		if (n > 0 || left_us <= 0)
			return n;
		if (!cq->chan)
			sched_yield();
		else if (wait_event(cq, (int)(left_us / 1000) + 1) < 0)
			return -1;
	}
}

static int access_of(const struct vp_qp_opts *opts)
{
	if (opts->access < 0)
		return 0;
	return opts->access ? opts->access
			    : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				      IBV_ACCESS_REMOTE_ATOMIC;
}

static uint32_t at_least(uint32_t value, uint32_t min)
{
	return value > min ? value : min;
}

struct ibv_qp *vp_qp_open(struct ibv_pd *pd, struct vp_cq *send_cq, struct vp_cq *recv_cq,
			  const struct vp_qp_opts *opts, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send_cq->cq,
		.recv_cq = recv_cq->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = at_least(opts->send_wr, 1),
			.max_recv_wr = at_least(opts->recv_wr, 1),
			.max_send_sge = at_least(opts->sges, 1),
			.max_recv_sge = at_least(opts->sges, 1),
			.max_inline_data = opts->inline_len},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = (unsigned)access_of(opts),
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp) {
		fail("ibv_create_qp");
		return NULL;
	}
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (errno) {
		fail("ibv_modify_qp to INIT");
		ibv_destroy_qp(qp);
		return NULL;
	}
	if (cap)
		*cap = init.cap;
	return qp;
}

void vp_qp_dest(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		struct vp_dest *out)
{
	memset(out, 0, sizeof(*out));
	out->qpn = qp->qp_num;
	out->psn = opts->psn;
	out->lid = dev->port.lid;
	out->mtu = opts->mtu ? opts->mtu : (uint32_t)dev->port.active_mtu;
	memcpy(out->gid, dev->gid.raw, sizeof(out->gid));
}

static int to_rtr(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		  const struct vp_dest *dest)
{
	bool ethernet = dev->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	uint32_t mtu = opts->mtu ? opts->mtu : (uint32_t)dev->port.active_mtu;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)(dest->mtu < mtu ? dest->mtu : mtu),
		.dest_qp_num = dest->qpn,
		.rq_psn = dest->psn,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = opts->strict ? opts->min_rnr_timer : 1,
		.ah_attr = {.dlid = (uint16_t)dest->lid, .port_num = 1, .is_global = ethernet},
	};

	if (ethernet) {
		memcpy(attr.ah_attr.grh.dgid.raw, dest->gid, sizeof(dest->gid));
		attr.ah_attr.grh.sgid_index = (uint8_t)dev->gid_index;
		attr.ah_attr.grh.hop_limit = 64;
	}
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
	return errno ? fail("ibv_modify_qp to RTR") : 0;
}

int vp_qp_ready(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		const struct vp_dest *dest)
{
	return to_rtr(dev, qp, opts, dest);
}

int vp_qp_connect(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		  const struct vp_dest *dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = opts->strict ? opts->timeout : 14,
		.retry_cnt = opts->strict ? opts->retry_cnt : 7,
		.rnr_retry = opts->strict ? opts->rnr_retry : 7,
		.sq_psn = opts->psn,
		.max_rd_atomic = 8,
	};

	if (to_rtr(dev, qp, opts, dest))
		return -1;
	errno = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return errno ? fail("ibv_modify_qp to RTS") : 0;
}

int vp_qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	errno = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	return errno ? fail("ibv_query_qp") : (int)attr.qp_state;
}
