// SPDX-License-Identifier: BSD-3-Clause
/*
 * parity SCENARIO: a program for a recording. It uses what every GPUNetIO 2.0 has, one call after
 * the other from one thread, so that what it does to a NIC depends on the library and its device
 * code alone. Golden recordings are of this program over upstream's (sim_tests/golden).
 *
 * The kernel runs on the CPU; both ends of each connection are in this process.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/doca_gpunetio_high_level.h"
#include "host/doca_verbs.h"
#include "sim_tests/parity/parity.h"

enum { SQ_DEPTH = 64, LIMIT_MS = 20000, ALIGNMENT = 4096 };

struct scenario {
	const char *name;
	enum doca_gpu_dev_verbs_nic_handler handler;
	enum doca_gpu_verbs_send_dbr_mode_ext dbr;
	bool collapsed, group;
	enum parity_op first, last;
};

static const struct scenario scenarios[] = {
	{"doorbell", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false, false, PARITY_PUT, PARITY_WRITE},
	{"auto", DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false, false, PARITY_PUT, PARITY_PUT},
	{"no-dbr", DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW, false, false, PARITY_PUT, PARITY_WRITE},
	{"proxy", DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false, false, PARITY_PUT, PARITY_WRITE},
	{"collapsed", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, true, false, PARITY_WRITE_LAST,
	 PARITY_WRITE_LAST},
	{"group", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false, true, PARITY_PUT_COUNTER,
	 PARITY_GET_COUNTER},
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

struct parity {
	const struct scenario *scenario;
	const struct gdakit_rt *rt;
	gdakit_stream stream;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct doca_gpu *gpu;
	struct ibv_mr *local, *remote;
	/* the kernel's QPs, and their peers */
	struct doca_gpu_verbs_qp_hl *main, *companion, *peer[2];
	struct doca_gpu_verbs_qp_group_hl *group;
	uint64_t writes;
};

static void die(const char *what, int error)
{
	fprintf(stderr, "parity: %s: error %d\n", what, error);
	exit(1);
}

static void must(const char *what, doca_error_t error)
{
	if (error)
		die(what, (int)error);
}

static void open_device(struct parity *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		die("no RDMA device", errno);
	p->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!p->ctx)
		die("ibv_open_device", errno);
	p->pd = ibv_alloc_pd(p->ctx);
	if (!p->pd || ibv_query_port(p->ctx, 1, &p->port) || ibv_query_gid(p->ctx, 1, 0, &p->gid))
		die("PD, port or GID", errno);
}

static struct ibv_mr *memory(struct parity *p, int fill)
{
	uint8_t *bytes = aligned_alloc(ALIGNMENT, PARITY_BYTES);
	struct ibv_mr *mr;

	if (!bytes)
		die("memory", ENOMEM);
	memset(bytes, fill, PARITY_BYTES);
	mr = ibv_reg_mr(p->pd, bytes, PARITY_BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die("ibv_reg_mr", errno);
	return mr;
}

static void free_memory(struct ibv_mr *mr)
{
	void *bytes = mr->addr;

	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr", errno);
	free(bytes);
}

static void create_qps(struct parity *p)
{
	const struct scenario *s = p->scenario;
	struct doca_gpu_verbs_qp_init_attr_hl attr = {.gpu_dev = p->gpu,
						      .ibpd = p->pd,
						      .sq_nwqe = SQ_DEPTH,
						      .nic_handler = s->handler,
						      .send_dbr_mode_ext = s->dbr,
						      .cq_collapsed = s->collapsed};

	if (s->group) {
		must("create_qp_group_hl", doca_gpu_verbs_create_qp_group_hl(&attr, &p->group));
		p->main = &p->group->qp_main;
		p->companion = &p->group->qp_companion;
	} else {
		must("create_qp_hl", doca_gpu_verbs_create_qp_hl(&attr, &p->main));
	}
	for (int i = 0; i < (s->group ? 2 : 1); i++)
		must("create_qp_hl", doca_gpu_verbs_create_qp_hl(&attr, &p->peer[i]));
}

static const struct {
	enum doca_verbs_qp_state to;
	int mask;
} steps[] = {
	{DOCA_VERBS_QP_STATE_INIT, DOCA_VERBS_QP_ATTR_PKEY_INDEX | DOCA_VERBS_QP_ATTR_PORT_NUM |
					   DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
					   DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ},
	{DOCA_VERBS_QP_STATE_RTR, DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM |
					  DOCA_VERBS_QP_ATTR_PATH_MTU | DOCA_VERBS_QP_ATTR_AH_ATTR |
					  DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER |
					  DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC},
	{DOCA_VERBS_QP_STATE_RTS,
	 DOCA_VERBS_QP_ATTR_SQ_PSN | DOCA_VERBS_QP_ATTR_ACK_TIMEOUT | DOCA_VERBS_QP_ATTR_RETRY_CNT |
		 DOCA_VERBS_QP_ATTR_RNR_RETRY | DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC},
};

static void fill_qp_attr(struct doca_verbs_qp_attr *attr, uint32_t qpn)
{
	must("path_mtu", doca_verbs_qp_attr_set_path_mtu(attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
	must("rq_psn", doca_verbs_qp_attr_set_rq_psn(attr, 0x123));
	must("sq_psn", doca_verbs_qp_attr_set_sq_psn(attr, 0x123));
	must("port_num", doca_verbs_qp_attr_set_port_num(attr, 1));
	must("ack_timeout", doca_verbs_qp_attr_set_ack_timeout(attr, 14));
	must("retry_cnt", doca_verbs_qp_attr_set_retry_cnt(attr, 7));
	must("rnr_retry", doca_verbs_qp_attr_set_rnr_retry(attr, 6));
	must("min_rnr_timer", doca_verbs_qp_attr_set_min_rnr_timer(attr, 12));
	must("remote_write", doca_verbs_qp_attr_set_allow_remote_write(attr, 1));
	must("remote_read", doca_verbs_qp_attr_set_allow_remote_read(attr, 1));
	must("remote_atomic",
	     doca_verbs_qp_attr_set_allow_remote_atomic(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC));
	must("max_rd_atomic", doca_verbs_qp_attr_set_max_rd_atomic(attr, 16));
	must("max_dest_rd_atomic", doca_verbs_qp_attr_set_max_dest_rd_atomic(attr, 16));
	must("dest_qp_num", doca_verbs_qp_attr_set_dest_qp_num(attr, qpn));
}

static void connect_to(struct parity *p, struct doca_verbs_qp *qp, struct doca_verbs_qp *peer)
{
	const bool ib = p->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_ah_attr *ah;
	struct doca_verbs_gid gid;

	memcpy(gid.raw, p->gid.raw, sizeof(gid.raw));
	must("qp_attr_create", doca_verbs_qp_attr_create(&attr));
	must("ah_attr_create", doca_verbs_ah_attr_create(p->ctx, &ah));
	must("ah gid", doca_verbs_ah_attr_set_gid(ah, gid));
	must("ah type", doca_verbs_ah_attr_set_addr_type(ah, ib ? DOCA_VERBS_ADDR_TYPE_IB_NO_GRH
								: DOCA_VERBS_ADDR_TYPE_IPv4));
	must("ah dlid", doca_verbs_ah_attr_set_dlid(ah, ib ? p->port.lid : 0));
	must("ah sgid_index", doca_verbs_ah_attr_set_sgid_index(ah, 0));
	must("ah hop_limit", doca_verbs_ah_attr_set_hop_limit(ah, 64));
	must("ah traffic_class", doca_verbs_ah_attr_set_traffic_class(ah, 96));
	fill_qp_attr(attr, doca_verbs_qp_get_qpn(peer));
	must("ah_attr", doca_verbs_qp_attr_set_ah_attr(attr, ah));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		must("next_state", doca_verbs_qp_attr_set_next_state(attr, steps[i].to));
		must("qp_modify",
		     doca_verbs_qp_modify(qp, attr, steps[i].mask | DOCA_VERBS_QP_ATTR_NEXT_STATE));
	}
	must("ah_attr_destroy", doca_verbs_ah_attr_destroy(ah));
	must("qp_attr_destroy", doca_verbs_qp_attr_destroy(attr));
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits for the kernel, and is its proxy meanwhile. */
static void finish_kernel(struct parity *p)
{
	const bool proxy = p->scenario->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
	const int64_t limit_ms = now_ms() + LIMIT_MS;
	int error;

	while ((error = p->rt->stream_query(p->stream)) == GDAKIT_RT_NOT_READY) {
		if (now_ms() > limit_ms)
			die("the kernel does not end: operation", (int)p->scenario->first);
		if (proxy)
			must("cpu_proxy_progress",
			     doca_gpu_verbs_cpu_proxy_progress(p->main->qp_gverbs, NULL));
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
	if (!error)
		error = p->rt->stream_synchronize(p->stream);
	if (error)
		die(p->rt->error_string(error), error);
}

/* The bytes that the NIC writes are waited for where no completion can be. */
static void wait_for_byte(const volatile uint8_t *byte, uint8_t value)
{
	const int64_t limit_ms = now_ms() + LIMIT_MS;

	while (*byte != value) {
		if (now_ms() > limit_ms)
			die("no data, but", *byte);
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
}

/* What each operation leaves in the other memory; GETs leave theirs here. */
static void check(const struct parity *p, enum parity_op op)
{
	const uint8_t *remote = p->remote->addr, *local = p->local->addr;
	static uint64_t signal_sum, count;
	uint64_t got[2];

	signal_sum += (op == PARITY_SIGNAL) * 3 + (op == PARITY_PUT_SIGNAL) * 5 +
		      (op == PARITY_P_SIGNAL) * 7 + (op == PARITY_SIGNAL_COUNTER) * 9;
	count += op >= PARITY_PUT_COUNTER;
	memcpy(got, remote + PARITY_AT_SIGNAL, sizeof(got));
	if (got[0] != signal_sum || got[1] != count)
		die("the signal's or counter's value is wrong after operation", (int)op);
	if (op == PARITY_P4 && memcmp(remote + PARITY_AT_DATA, "\x44\x33\x22\x11", 4) != 0)
		die("p<uint32_t> did not arrive", 0);
	if (op == PARITY_P8 &&
	    memcmp(remote + PARITY_AT_DATA, "\x88\x77\x66\x55\x44\x33\x22\x11", 8))
		die("p<uint64_t> did not arrive", 0);
	if (op != PARITY_PUT && op != PARITY_PUT_SIGNAL && op != PARITY_WRITE && op != PARITY_GET &&
	    op != PARITY_GET_WAIT && op != PARITY_PUT_COUNTER && op != PARITY_GET_COUNTER)
		return;
	if (memcmp(remote + PARITY_AT_DATA, local + PARITY_AT_DATA, PARITY_MESSAGE) != 0)
		die("bytes differ after operation", (int)op);
}

static struct doca_gpu_dev_verbs_qp *device_qp(struct doca_gpu_verbs_qp_hl *qp)
{
	struct doca_gpu_dev_verbs_qp *dev = NULL;

	if (qp)
		must("get_qp_dev", doca_gpu_verbs_get_qp_dev(qp->qp_gverbs, &dev));
	return dev;
}

static void play(struct parity *p)
{
	const struct parity_kernels *k = GDAKIT_PICK(p->rt, parity);
	struct parity_args args = {.qp = device_qp(p->main),
				   .companion = device_qp(p->companion),
				   .remote = (uintptr_t)p->remote->addr,
				   .local = (uintptr_t)p->local->addr,
				   .rkey_be = htobe32(p->remote->rkey),
				   .lkey_be = htobe32(p->local->lkey)};

	for (unsigned int op = p->scenario->first; op <= p->scenario->last; op++) {
		/* a collapsed CQ has the newest completion only: several, one after the other */
		for (int i = 0; i < (op == PARITY_WRITE_LAST ? 3 : 1); i++) {
			memset((uint8_t *)p->local->addr + PARITY_AT_DATA, (int)op + 16 * i + 1,
			       PARITY_MESSAGE);
			args.op = (enum parity_op)op;
			args.wqe_idx = p->writes++;
			if (k->launch(p->stream, &args))
				die("launch", 0);
			finish_kernel(p);
			if (op == PARITY_WRITE_LAST)
				wait_for_byte((uint8_t *)p->remote->addr + PARITY_AT_DATA +
						      PARITY_MESSAGE - 1,
					      (uint8_t)(op + 16 * (unsigned int)i + 1));
			check(p, args.op);
		}
	}
}

static void set_up(struct parity *p)
{
	const char *why = "";

	p->rt = gdakit_rt_open("cpu", &why);
	if (!p->rt || p->rt->stream_create(&p->stream))
		die(why, 0);
	must("doca_gpu_create", doca_gpu_create("cpu", &p->gpu));
	open_device(p);
	p->local = memory(p, 0x5a);
	p->remote = memory(p, 0);
	create_qps(p);
	connect_to(p, p->main->qp, p->peer[0]->qp);
	connect_to(p, p->peer[0]->qp, p->main->qp);
	if (p->companion) {
		connect_to(p, p->companion->qp, p->peer[1]->qp);
		connect_to(p, p->peer[1]->qp, p->companion->qp);
	}
}

static void tear_down(struct parity *p)
{
	if (p->group)
		must("destroy_qp_group_hl", doca_gpu_verbs_destroy_qp_group_hl(p->group));
	else
		must("destroy_qp_hl", doca_gpu_verbs_destroy_qp_hl(p->main));
	for (int i = 0; i < 2; i++)
		if (p->peer[i])
			must("destroy_qp_hl", doca_gpu_verbs_destroy_qp_hl(p->peer[i]));
	free_memory(p->local);
	free_memory(p->remote);
	if (ibv_dealloc_pd(p->pd) || ibv_close_device(p->ctx))
		die("PD or device", errno);
	must("doca_gpu_destroy", doca_gpu_destroy(p->gpu));
	p->rt->stream_destroy(p->stream);
}

int main(int argc, char **argv)
{
	struct parity p = {0};

	for (int i = 0; i < SCENARIOS && argc == 2; i++)
		if (!strcmp(argv[1], scenarios[i].name))
			p.scenario = &scenarios[i];
	if (!p.scenario) {
		fprintf(stderr, "Usage: parity SCENARIO, one of:");
		for (int i = 0; i < SCENARIOS; i++)
			fprintf(stderr, " %s", scenarios[i].name);
		fputs("\n", stderr);
		return 64;
	}
	set_up(&p);
	play(&p);
	tear_down(&p);
	puts("parity: all bytes are right");
	return 0;
}
