/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel writes 4096 bytes into memory that only the NIC connects it with: first_put [wrong-key]
 * on the CPU, first_put PCI-ADDRESS on that GPU.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doca_gpunetio_host.h"
#include "first_put.h"

enum { BYTES = 4096, DEPTH = 64 };

struct nic {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	union ibv_gid gid;
};

/* One end of a connection: a queue pair, and memory with a key. */
struct side {
	struct doca_gpu_verbs_qp_hl *qp;
	uint8_t *memory;
	struct ibv_mr *mr;
};

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

#define OK(call) need((call) == DOCA_SUCCESS, #call)

/* 1. The NIC: plain rdma-core. */
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

/* 2. A queue pair whose rings a kernel can reach, and memory that the NIC may read and write. */
static void make_side(const struct nic *nic, const struct gdakit_rt *rt, struct doca_gpu *gpu,
		      struct side *side)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = gpu, .ibpd = nic->pd, .sq_nwqe = DEPTH};

	OK(doca_gpu_verbs_create_qp_hl(&attr, &side->qp));
	need(rt->host_alloc((void **)&side->memory, BYTES) == 0, "host_alloc");
	side->mr = ibv_reg_mr(nic->pd, side->memory, BYTES,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(side->mr != NULL, "ibv_reg_mr");
}

/* 3. From RESET to ready-to-send, towards the queue pair qpn of this very NIC. */
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

/* 4. The kernel puts, from a's memory into b's. Returns what it reports. */
static int run_kernel(const struct gdakit_rt *rt, const struct side *a, const struct side *b,
		      uint32_t wrong)
{
	struct first_put_args args = {
		.local = {(uintptr_t)a->memory, htonl(a->mr->lkey)},
		.remote = {(uintptr_t)b->memory, htonl(b->mr->rkey ^ wrong)},
		.bytes = BYTES,
	};
	doca_gpu_verbs_service_t proxy = NULL;
	int rc, result;

	OK(doca_gpu_verbs_get_qp_dev(a->qp->qp_gverbs, &args.qp));
	/* Where a kernel cannot reach the NIC's doorbell, a thread of the library rings it. */
	if (a->qp->qp_gverbs->cpu_proxy) {
		OK(doca_gpu_verbs_create_service(&proxy));
		OK(doca_gpu_verbs_service_monitor_qp(proxy, a->qp->qp_gverbs));
	}
	need(rt->host_alloc((void **)&args.result, sizeof(*args.result)) == 0, "host_alloc");
	rc = GDAKIT_PICK(rt, first_put)->launch(NULL, &args);
	if (!rc)
		rc = rt->stream_synchronize(NULL);
	need(rc == 0, rt->error_string(rc));
	result = *args.result;
	rt->host_free(args.result);
	if (proxy)
		OK(doca_gpu_verbs_destroy_service(proxy));
	return result;
}

static void drop_side(const struct gdakit_rt *rt, struct side *side)
{
	OK(doca_gpu_verbs_destroy_qp_hl(side->qp));
	ibv_dereg_mr(side->mr);
	rt->host_free(side->memory);
}

int main(int argc, char **argv)
{
	uint32_t wrong = argc > 1 && !strcmp(argv[1], "wrong-key") ? 0x100 : 0;
	const char *pci = argc > 1 && !wrong ? argv[1] : NULL, *why = "";
	const struct gdakit_rt *rt = gdakit_rt_open(pci ? "gpu" : "cpu", &why);
	struct doca_gpu *gpu;
	struct nic nic = {0};
	struct side a, b;
	int result, right;

	need(rt != NULL, why);
	need(rt->set_device(pci) == 0, "set_device");
	OK(doca_gpu_create(pci ? pci : "cpu", &gpu));
	open_nic(&nic);
	make_side(&nic, rt, gpu, &a);
	make_side(&nic, rt, gpu, &b);
	connect_to(&nic, a.qp->qp, doca_verbs_qp_get_qpn(b.qp->qp));
	connect_to(&nic, b.qp->qp, doca_verbs_qp_get_qpn(a.qp->qp));

	for (int i = 0; i < BYTES; i++)
		a.memory[i] = (uint8_t)(i * 7);
	result = run_kernel(rt, &a, &b, wrong);
	right = memcmp(a.memory, b.memory, BYTES) == 0;
	printf("kernel on the %s, NIC %s: put of %d bytes returned %d\n",
	       rt->is_gpu ? "GPU" : "CPU", ibv_get_device_name(nic.context->device), BYTES, result);
	printf("the other side has %s\n", right ? "all of them" : "something else");

	drop_side(rt, &a);
	drop_side(rt, &b);
	OK(doca_gpu_destroy(gpu));
	ibv_dealloc_pd(nic.pd);
	ibv_close_device(nic.context);
	return result || !right;
}
