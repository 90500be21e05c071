/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two kernels play ping-pong: each writes the number of the round into the other's flag. The
 * program after it was ported: pingpong [PCI-ADDRESS], on the CPU without one.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doca_gpunetio_host.h"
#include "pingpong.h"

enum { ROUNDS = 100, DEPTH = 64 };

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
	gdakit_stream stream;
};

static const struct gdakit_rt *rt;     /* where kernels run */
static doca_gpu_verbs_service_t proxy; /* NULL: kernels ring the doorbell themselves */

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

#define OK(call) need((call) == DOCA_SUCCESS, #call)
#define RT(call) need((call) == 0, #call)

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
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = gpu, .ibpd = nic->pd, .sq_nwqe = DEPTH};

	OK(doca_gpu_verbs_create_qp_hl(&attr, &side->qp));
	RT(rt->host_alloc((void **)&side->flag, sizeof(*side->flag)));
	side->mr = ibv_reg_mr(nic->pd, side->flag, sizeof(*side->flag),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(side->mr != NULL, "ibv_reg_mr");
	RT(rt->stream_create(&side->stream));
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

static void start(const struct side *self, const struct side *other, bool serves, uint64_t *error)
{
	struct player p = {
		.remote = {(uintptr_t)other->flag, htonl(other->mr->rkey)},
		.flag = self->flag,
		.rounds = ROUNDS,
		.serves = serves,
		.error = error,
	};

	OK(doca_gpu_verbs_get_qp_dev(self->qp->qp_gverbs, &p.qp));
	if (self->qp->qp_gverbs->cpu_proxy) {
		if (!proxy)
			OK(doca_gpu_verbs_create_service(&proxy));
		OK(doca_gpu_verbs_service_monitor_qp(proxy, self->qp->qp_gverbs));
	}
	RT(GDAKIT_PICK(rt, pingpong)->play(self->stream, &p));
}

static void drop_side(struct side *side)
{
	OK(doca_gpu_verbs_destroy_qp_hl(side->qp));
	ibv_dereg_mr(side->mr);
	rt->host_free(side->flag);
	RT(rt->stream_destroy(side->stream));
}

int main(int argc, char **argv)
{
	const char *pci = argc > 1 ? argv[1] : NULL, *why = "";
	struct doca_gpu *gpu;
	struct nic nic = {0};
	struct side a, b;
	uint64_t *error;
	int failed;

	rt = gdakit_rt_open(pci ? "gpu" : "cpu", &why);
	need(rt != NULL, why);
	RT(rt->set_device(pci));
	OK(doca_gpu_create(pci ? pci : "cpu", &gpu));
	open_nic(&nic);
	make_side(&nic, gpu, &a);
	make_side(&nic, gpu, &b);
	connect_to(&nic, a.qp->qp, doca_verbs_qp_get_qpn(b.qp->qp));
	connect_to(&nic, b.qp->qp, doca_verbs_qp_get_qpn(a.qp->qp));
	RT(rt->host_alloc((void **)&error, sizeof(*error)));
	start(&b, &a, false, error);
	start(&a, &b, true, error);
	RT(rt->stream_synchronize(a.stream));
	RT(rt->stream_synchronize(b.stream));
	failed = *error != 0;
	if (failed)
		printf("round %llu failed\n", (unsigned long long)*error);
	else
		printf("%d rounds on the %s: flags are %llu and %llu\n", ROUNDS,
		       rt->is_gpu ? "GPU" : "CPU", (unsigned long long)*a.flag,
		       (unsigned long long)*b.flag);

	if (proxy)
		OK(doca_gpu_verbs_destroy_service(proxy));
	drop_side(&a);
	drop_side(&b);
	rt->host_free(error);
	OK(doca_gpu_destroy(gpu));
	ibv_dealloc_pd(nic.pd);
	ibv_close_device(nic.context);
	return failed;
}
