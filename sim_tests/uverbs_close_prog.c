// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that leaves a QP and an MR alive: after ibv_close_device() its memory is its own again,
 * whatever a peer still sends. Runs under `gdakit run` or on a ConnectX. Exit code 0: so it is.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BYTES = 1 << 16,
	DEPTH = 512,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	PATTERN_SENT = 0x11,
	PATTERN_KEPT = 0x55,
	ROUNDS = 20,
};

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
};

static bool expect(bool ok, const char *what)
{
	if (!ok)
		printf("FAIL %s\n", what);
	return ok;
}

static bool open_end(struct ibv_device *dev, struct end *e, void *mem)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = DEPTH, .max_send_sge = 1}};

	e->ctx = ibv_open_device(dev);
	if (!expect(e->ctx && !ibv_query_gid(e->ctx, 1, 0, &e->gid), "a device opens"))
		return false;
	e->pd = ibv_alloc_pd(e->ctx);
	e->cq = ibv_create_cq(e->ctx, DEPTH, NULL, NULL, 0);
	if (!expect(e->pd && e->cq, "PD and CQ"))
		return false;
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	e->mr = ibv_reg_mr(e->pd, mem, BYTES, ACCESS);
	return expect(e->qp && e->mr, "QP and MR");
}

static bool connect_to(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_1024,
				  .dest_qp_num = peer->qp->qp_num,
				  .max_dest_rd_atomic = 1,
				  .min_rnr_timer = 12,
				  .ah_attr = {.is_global = 1,
					      .port_num = 1,
					      .grh = {.dgid = peer->gid, .hop_limit = 64}}};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = 12, .retry_cnt = 1, .max_rd_atomic = 1};

	return expect(!ibv_modify_qp(e->qp, &init,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS) &&
			      !ibv_modify_qp(e->qp, &rtr,
					     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						     IBV_QP_MAX_DEST_RD_ATOMIC |
						     IBV_QP_MIN_RNR_TIMER) &&
			      !ibv_modify_qp(e->qp, &rts,
					     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						     IBV_QP_MAX_QP_RD_ATOMIC),
		      "a QP connects");
}

static bool post_write(struct end *from, const struct end *to)
{
	struct ibv_sge sge = {(uintptr_t)from->mr->addr, BYTES, from->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)to->mr->addr, to->mr->rkey}};
	struct ibv_send_wr *bad;

	return !ibv_post_send(from->qp, &wr, &bad);
}

/* Waits for `n` completions; false: they did not come within a minute. */
static bool wait_for(struct end *e, int n)
{
	time_t until = time(NULL) + 60;
	struct ibv_wc wc;

	while (n > 0 && time(NULL) < until)
		n -= ibv_poll_cq(e->cq, 1, &wc);
	return n <= 0;
}

static bool one_round(struct ibv_device *dev, uint8_t *source, uint8_t *target)
{
	struct end from = {0}, to = {0};
	bool same = true;

	memset(source, PATTERN_SENT, BYTES);
	if (!open_end(dev, &from, source) || !open_end(dev, &to, target) ||
	    !connect_to(&to, &from) || !connect_to(&from, &to))
		return false;
	for (int i = 0; i < DEPTH; i++)
		if (!expect(post_write(&from, &to), "a write is posted"))
			return false;
	if (!expect(wait_for(&from, 1), "the first arrives"))
		return false;
	if (!expect(!ibv_close_device(to.ctx), "the device closes, whatever lives on it"))
		return false;
	memset(target, PATTERN_KEPT, BYTES);
	if (!expect(wait_for(&from, DEPTH - 1), "each write has an end"))
		return false;
	for (int i = 0; i < BYTES; i++)
		same &= target[i] == PATTERN_KEPT;
	ibv_close_device(from.ctx);
	return expect(same, "closed, the device has let go of the memory");
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	uint8_t *mem = aligned_alloc(BYTES, (size_t)2 * BYTES);
	bool ok = expect(list && list[0] && mem, "a device and memory");

	for (int i = 0; ok && i < ROUNDS; i++)
		ok = one_round(list[0], mem, mem + BYTES);
	if (ok)
		printf("ok\n");
	return !ok;
}
