// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two kernels play ping-pong: each writes the number of the round into the other's flag. A program
 * for an NVIDIA GPU and a ConnectX, before it was ported: pingpong PCI-ADDRESS.
 */
#include <arpa/inet.h>
#include <cuda_runtime.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "doca_gpunetio_host.h"

enum { ROUNDS = 100, DEPTH = 64 };

struct player {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_addr remote; /* the other's flag */
	uint64_t *flag;			       /* one's own, written by the NIC */
	uint64_t rounds;
	bool serves;
};

__device__ static void wait_for_round(const struct player &p, uint64_t round)
{
	while (*(volatile uint64_t *)p.flag < round)
		;
}

__global__ void play(struct player p)
{
	for (uint64_t round = 1; round <= p.rounds; round++) {
		doca_gpu_dev_verbs_ticket_t ticket;

		if (!p.serves)
			wait_for_round(p, round);
		doca_gpu_dev_verbs_p<uint64_t>(p.qp, p.remote, round, &ticket);
		doca_gpu_dev_verbs_wait(p.qp, ticket);
		if (p.serves)
			wait_for_round(p, round);
	}
}

struct nic {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	union ibv_gid gid;
};

struct side {
	struct doca_gpu_verbs_qp_hl *qp;
	uint64_t *flag;
	struct ibv_mr *mr;
	cudaStream_t stream;
};

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

#define OK(call)   need((call) == DOCA_SUCCESS, #call)
#define CUDA(call) need((call) == cudaSuccess, #call)

static void open_nic(struct nic *nic)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(list && list[0], "an RDMA device (gdakit run gives every program one)");
	nic->context = ibv_open_device(list[0]);
	need(nic->context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	nic->pd = ibv_alloc_pd(nic->context);
	need(nic->pd != NULL, "ibv_alloc_pd");
	need(ibv_query_port(nic->context, 1, &nic->port) == 0, "ibv_query_port");
	need(ibv_query_gid(nic->context, 1, 0, &nic->gid) == 0, "ibv_query_gid");
}

static void make_side(const struct nic *nic, struct doca_gpu *gpu, struct side *side)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {};

	attr.gpu_dev = gpu;
	attr.ibpd = nic->pd;
	attr.sq_nwqe = DEPTH;
	OK(doca_gpu_verbs_create_qp_hl(&attr, &side->qp));
	CUDA(cudaHostAlloc((void **)&side->flag, sizeof(*side->flag), cudaHostAllocMapped));
	*side->flag = 0;
	side->mr = ibv_reg_mr(nic->pd, side->flag, sizeof(*side->flag),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(side->mr != NULL, "ibv_reg_mr");
	CUDA(cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking));
}

static void connect_to(const struct nic *nic, struct doca_verbs_qp *qp, uint32_t qpn)
{
	bool is_ib = nic->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	struct doca_verbs_ah_attr *ah;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_gid gid;

	memcpy(gid.raw, nic->gid.raw, sizeof(gid.raw));
	OK(doca_verbs_ah_attr_create(nic->context, &ah));
	OK(doca_verbs_ah_attr_set_addr_type(ah, is_ib ? DOCA_VERBS_ADDR_TYPE_IB_NO_GRH
						      : DOCA_VERBS_ADDR_TYPE_IPv4));
	OK(doca_verbs_ah_attr_set_gid(ah, gid));
	OK(doca_verbs_ah_attr_set_dlid(ah, nic->port.lid));
	OK(doca_verbs_ah_attr_set_hop_limit(ah, 64));
	OK(doca_verbs_qp_attr_create(&attr));
	OK(doca_verbs_qp_attr_set_ah_attr(attr, ah));
	OK(doca_verbs_qp_attr_set_port_num(attr, 1));
	OK(doca_verbs_qp_attr_set_dest_qp_num(attr, qpn));
	OK(doca_verbs_qp_attr_set_path_mtu(attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
	OK(doca_verbs_qp_attr_set_ack_timeout(attr, 14));
	OK(doca_verbs_qp_attr_set_retry_cnt(attr, 7));
	OK(doca_verbs_qp_attr_set_rnr_retry(attr, 7));
	OK(doca_verbs_qp_attr_set_allow_remote_write(attr, 1));

	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT));
	OK(doca_verbs_qp_modify(qp, attr,
				DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_PKEY_INDEX |
					DOCA_VERBS_QP_ATTR_PORT_NUM |
					DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
					DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ));
	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR));
	OK(doca_verbs_qp_modify(qp, attr,
				DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_RQ_PSN |
					DOCA_VERBS_QP_ATTR_DEST_QP_NUM |
					DOCA_VERBS_QP_ATTR_PATH_MTU | DOCA_VERBS_QP_ATTR_AH_ATTR |
					DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER));
	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS));
	OK(doca_verbs_qp_modify(qp, attr,
				DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_SQ_PSN |
					DOCA_VERBS_QP_ATTR_ACK_TIMEOUT |
					DOCA_VERBS_QP_ATTR_RETRY_CNT |
					DOCA_VERBS_QP_ATTR_RNR_RETRY));
	OK(doca_verbs_qp_attr_destroy(attr));
	OK(doca_verbs_ah_attr_destroy(ah));
}

static void start(const struct side *self, const struct side *other, bool serves)
{
	struct player p = {};

	p.remote.addr = (uintptr_t)other->flag;
	p.remote.key = htonl(other->mr->rkey);
	p.flag = self->flag;
	p.rounds = ROUNDS;
	p.serves = serves;
	OK(doca_gpu_verbs_get_qp_dev(self->qp->qp_gverbs, &p.qp));
	play<<<1, 1, 0, self->stream>>>(p);
	CUDA(cudaGetLastError());
}

int main(int argc, char **argv)
{
	struct doca_gpu *gpu;
	struct nic nic = {};
	struct side a, b;

	need(argc == 2, "usage: pingpong PCI-ADDRESS");
	OK(doca_gpu_create(argv[1], &gpu));
	open_nic(&nic);
	make_side(&nic, gpu, &a);
	make_side(&nic, gpu, &b);
	connect_to(&nic, a.qp->qp, doca_verbs_qp_get_qpn(b.qp->qp));
	connect_to(&nic, b.qp->qp, doca_verbs_qp_get_qpn(a.qp->qp));
	start(&b, &a, false);
	start(&a, &b, true);
	CUDA(cudaStreamSynchronize(a.stream));
	CUDA(cudaStreamSynchronize(b.stream));
	printf("%d rounds\n", ROUNDS);
	return 0;
}
