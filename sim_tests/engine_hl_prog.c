/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine on a device, with no kernel: two high-level QPs of one device, connected to each
 * other, and the CPU in the GPU's place. It fills WQEs through the exported handle as a kernel
 * would, rings, polls the CQE, breaks the QP, asks why, resets it and goes on. Runs under `gdakit
 * run` and on a ConnectX whose queues may lie in host memory. Exit code 0: everything was as
 * expected; 1: the sentence says what was not; 77: no device.
 */
#include <endian.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "host/doca_gpunetio_high_level.h"
#include "host/doca_verbs.h"

enum { DEPTH = 64, BUFFER_BYTES = 8192, POLL_TIMEOUT_S = 20, SKIPPED = 77 };

#define CHECK(condition, ...)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);            \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t rc_ = (call);                                                         \
		CHECK(rc_ == DOCA_SUCCESS, "doca error %d", (int)rc_);                             \
	} while (0)

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct doca_gpu *gpu;
	struct ibv_mr *mr;
	uint8_t *buffer;
};

struct end {
	struct doca_gpu_verbs_qp_hl *hl;
	struct doca_gpu_verbs_qp *exported;
	struct doca_gpu_dev_verbs_qp *dev;
	uint64_t posted; /* WQEs since the last reset */
};

static void open_device(struct device *d)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0]) {
		printf("no RDMA device\n");
		exit(SKIPPED);
	}
	d->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	CHECK(d->context, "ibv_open_device");
	d->pd = ibv_alloc_pd(d->context);
	CHECK(d->pd, "ibv_alloc_pd");
	CHECK(ibv_query_port(d->context, 1, &d->port) == 0, "ibv_query_port");
	CHECK(ibv_query_gid(d->context, 1, 0, &d->gid) == 0, "ibv_query_gid");
	OK(doca_gpu_create("cpu", &d->gpu));
	d->buffer = aligned_alloc(4096, BUFFER_BYTES);
	d->mr = ibv_reg_mr(d->pd, d->buffer, BUFFER_BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	CHECK(d->mr, "ibv_reg_mr");
}

static struct end make_end(struct device *d, enum doca_gpu_dev_verbs_nic_handler handler)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = d->gpu, .ibpd = d->pd, .sq_nwqe = DEPTH, .nic_handler = handler};
	struct end e = {0};

	OK(doca_gpu_verbs_create_qp_hl(&attr, &e.hl));
	e.exported = e.hl->qp_gverbs;
	OK(doca_gpu_verbs_get_qp_dev(e.exported, &e.dev));
	return e;
}

static void connect_end(struct device *d, struct end *e, uint32_t dest_qpn)
{
	bool is_ib = d->port.link_layer != IBV_LINK_LAYER_ETHERNET;
	struct doca_verbs_ah_attr *ah;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_gid gid;
	int next = DOCA_VERBS_QP_ATTR_NEXT_STATE;

	memcpy(gid.raw, d->gid.raw, sizeof(gid.raw));
	OK(doca_verbs_ah_attr_create(d->context, &ah));
	OK(doca_verbs_ah_attr_set_addr_type(ah, is_ib ? DOCA_VERBS_ADDR_TYPE_IB_NO_GRH
						      : DOCA_VERBS_ADDR_TYPE_IPv4));
	OK(doca_verbs_ah_attr_set_gid(ah, gid));
	OK(doca_verbs_ah_attr_set_dlid(ah, d->port.lid));
	OK(doca_verbs_ah_attr_set_hop_limit(ah, 255));
	OK(doca_verbs_qp_attr_create(&attr));
	OK(doca_verbs_qp_attr_set_ah_attr(attr, ah));
	OK(doca_verbs_qp_attr_set_path_mtu(attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
	OK(doca_verbs_qp_attr_set_dest_qp_num(attr, dest_qpn));
	OK(doca_verbs_qp_attr_set_port_num(attr, 1));
	OK(doca_verbs_qp_attr_set_ack_timeout(attr, 14));
	OK(doca_verbs_qp_attr_set_retry_cnt(attr, 7));
	OK(doca_verbs_qp_attr_set_rnr_retry(attr, 1));
	OK(doca_verbs_qp_attr_set_min_rnr_timer(attr, 1));
	OK(doca_verbs_qp_attr_set_allow_remote_write(attr, 1));
	OK(doca_verbs_qp_attr_set_allow_remote_read(attr, 1));
	OK(doca_verbs_qp_attr_set_allow_remote_atomic(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC));

	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT));
	OK(doca_verbs_qp_modify(e->hl->qp, attr,
				next | DOCA_VERBS_QP_ATTR_PKEY_INDEX | DOCA_VERBS_QP_ATTR_PORT_NUM |
					DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
					DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ));
	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR));
	OK(doca_verbs_qp_modify(e->hl->qp, attr,
				next | DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM |
					DOCA_VERBS_QP_ATTR_PATH_MTU | DOCA_VERBS_QP_ATTR_AH_ATTR |
					DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER));
	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS));
	OK(doca_verbs_qp_modify(e->hl->qp, attr,
				next | DOCA_VERBS_QP_ATTR_SQ_PSN | DOCA_VERBS_QP_ATTR_ACK_TIMEOUT |
					DOCA_VERBS_QP_ATTR_RETRY_CNT |
					DOCA_VERBS_QP_ATTR_RNR_RETRY));
	OK(doca_verbs_qp_attr_destroy(attr));
	OK(doca_verbs_ah_attr_destroy(ah));
}

static enum doca_verbs_qp_state query_state(struct end *e, uint32_t *dest_qpn)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_qp_attr *attr;
	enum doca_verbs_qp_state state;

	OK(doca_verbs_qp_init_attr_create(&init));
	OK(doca_verbs_qp_attr_create(&attr));
	OK(doca_verbs_qp_query(e->hl->qp, attr, init));
	state = doca_verbs_qp_attr_get_current_state(attr);
	*dest_qpn = doca_verbs_qp_attr_get_dest_qp_num(attr);
	OK(doca_verbs_qp_attr_destroy(attr));
	OK(doca_verbs_qp_init_attr_destroy(init));
	return state;
}

static void check_exported(struct end *e)
{
	struct doca_gpu_dev_verbs_qp *q = e->dev;

	CHECK(q->sq_num == doca_verbs_qp_get_qpn(e->hl->qp), "QPN 0x%x", q->sq_num);
	CHECK(be32toh(q->sq_num_shift8_be) == q->sq_num << 8, "swapped QPN");
	CHECK(q->sq_wqe_num == DEPTH && q->sq_wqe_mask == DEPTH - 1, "depth %u", q->sq_wqe_num);
	CHECK(q->cq_sq.cqe_num == DEPTH && q->cq_sq.cqe_size == 64, "CQ of %u", q->cq_sq.cqe_num);
	CHECK(q->sq_db && q->sq_dbrec && q->sq_wqe_daddr && q->cq_sq.cqe_daddr,
	      "an address is NULL");
	CHECK(q->cq_sq.cqe_daddr[63] == 0xf1, "CQE 0 reads 0x%02x", q->cq_sq.cqe_daddr[63]);
}

/* One RDMA WRITE WQE with a completion, and the doorbell as the handle's handler wants it. */
static void post_write(struct device *d, struct end *e, uint64_t to, uint64_t from, uint32_t bytes,
		       uint32_t rkey)
{
	struct doca_gpu_dev_verbs_qp *q = e->dev;
	uint64_t idx = e->posted++;
	struct doca_gpu_dev_verbs_wqe wqe = {0};

	wqe.rw_cseg.opmod_idx_opcode =
		htobe32((uint32_t)(idx & 0xffff) << 8 | DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE);
	wqe.rw_cseg.qpn_ds = q->sq_num_shift8_be_3ds;
	wqe.rw_cseg.fm_ce_se = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
	wqe.rw_rseg.raddr = htobe64(to);
	wqe.rw_rseg.rkey = htobe32(rkey);
	wqe.rw_dseg0.byte_count = htobe32(bytes);
	wqe.rw_dseg0.lkey = htobe32(d->mr->lkey);
	wqe.rw_dseg0.addr = htobe64(from);
	memcpy(q->sq_wqe_daddr + (idx & q->sq_wqe_mask) * 64, &wqe, sizeof(wqe));
	q->sq_rsvd_index = q->sq_ready_index = q->sq_wqe_pi = e->posted;

	if (q->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY) {
		bool rang = false;

		__atomic_store_n(q->sq_db, e->posted, __ATOMIC_RELEASE);
		OK(doca_gpu_verbs_cpu_proxy_progress(e->exported, &rang));
		CHECK(rang, "the proxy saw no work");
		return;
	}
	__atomic_store_n(q->sq_dbrec, htobe32(e->posted & 0xffff), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(q->sq_db,
			 (uint64_t)q->sq_num_shift8_be << 32 |
				 htobe32((uint32_t)(e->posted & 0xffff) << 8),
			 __ATOMIC_RELEASE);
}

/* The CQE of the last WQE posted; its opcode. */
static uint8_t poll_cqe(struct end *e)
{
	struct doca_gpu_dev_verbs_cq *cq = &e->dev->cq_sq;
	uint64_t idx = cq->cqe_rsvd + e->posted - 1;
	const uint8_t *cqe = cq->cqe_daddr + (idx & cq->cqe_mask) * 64;
	static const struct timespec nap = {.tv_nsec = 50000};
	uint8_t owner = idx / cq->cqe_num & 1, op_own;
	time_t end = time(NULL) + POLL_TIMEOUT_S;

	do {
		op_own = __atomic_load_n(&cqe[63], __ATOMIC_ACQUIRE);
		if ((op_own & 1) == owner && op_own >> 4 != DOCA_GPUNETIO_IB_MLX5_CQE_INVALID) {
			uint16_t counter = (uint16_t)(cqe[60] << 8 | cqe[61]);

			CHECK(counter == ((e->posted - 1) & 0xffff), "CQE of WQE %u", counter);
			return op_own >> 4;
		}
		nanosleep(&nap, NULL);
	} while (time(NULL) < end);
	CHECK(0, "no CQE %llu within %d s: op_own 0x%02x", (unsigned long long)idx, POLL_TIMEOUT_S,
	      op_own);
	return 0;
}

/* count writes of bytes each, every one compared. */
static void write_and_compare(struct device *d, struct end *e, unsigned int count, uint32_t bytes)
{
	uint8_t *from = d->buffer, *to = d->buffer + BUFFER_BYTES / 2;

	for (unsigned int i = 0; i < count; i++) {
		for (uint32_t b = 0; b < bytes; b++)
			from[b] = (uint8_t)(b * 7 + i);
		memset(to, 0xee, BUFFER_BYTES / 2);
		post_write(d, e, (uintptr_t)to, (uintptr_t)from, bytes, d->mr->rkey);
		CHECK(poll_cqe(e) == DOCA_GPUNETIO_IB_MLX5_CQE_REQ, "write %u failed", i);
		CHECK(memcmp(from, to, bytes) == 0, "write %u of %u bytes differs", i, bytes);
		CHECK(bytes == BUFFER_BYTES / 2 || to[bytes] == 0xee, "write %u wrote too much", i);
	}
}

static void break_and_reset(struct device *d, struct end *a, struct end *b)
{
	struct doca_gpu_verbs_qp_error_info info;
	struct doca_verbs_qp_attr *attr;

	OK(doca_gpu_verbs_query_last_error(a->exported, &info));
	CHECK(!info.has_error, "error before there is one");
	post_write(d, a, (uintptr_t)d->buffer, (uintptr_t)d->buffer, 8, d->mr->rkey ^ 0x5500);
	CHECK(poll_cqe(a) == DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR, "a write with a wrong rkey worked");
	OK(doca_gpu_verbs_query_last_error(a->exported, &info));
	CHECK(info.has_error && info.syndrome == 0x13, "syndrome 0x%x, expected remote access 0x13",
	      info.syndrome);
	CHECK(info.wqe_counter == (int)((a->posted - 1) & 0xffff), "error names WQE %d",
	      info.wqe_counter);

	OK(doca_verbs_qp_attr_create(&attr));
	OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RST));
	OK(doca_verbs_qp_modify(a->hl->qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE));
	OK(doca_verbs_qp_modify(b->hl->qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE));
	OK(doca_verbs_qp_attr_destroy(attr));
	OK(doca_gpu_verbs_reset_tracking_and_memory(a->exported));
	OK(doca_gpu_verbs_reset_tracking_and_memory(b->exported));
	a->posted = b->posted = 0;
	connect_end(d, a, b->dev->sq_num);
	connect_end(d, b, a->dev->sq_num);
}

static void run_pair(struct device *d, enum doca_gpu_dev_verbs_nic_handler handler)
{
	struct end a = make_end(d, handler), b = make_end(d, handler);
	uint32_t dest;

	check_exported(&a);
	check_exported(&b);
	connect_end(d, &a, b.dev->sq_num);
	connect_end(d, &b, a.dev->sq_num);
	CHECK(query_state(&a, &dest) == DOCA_VERBS_QP_STATE_RTS && dest == b.dev->sq_num,
	      "A is not connected to B");
	CHECK(query_state(&b, &dest) == DOCA_VERBS_QP_STATE_RTS && dest == a.dev->sq_num,
	      "B is not connected to A");
	write_and_compare(d, &a, 3 * DEPTH + 5, 100); /* past the ring's end, thrice */
	write_and_compare(d, &b, 2, BUFFER_BYTES / 2);
	break_and_reset(d, &a, &b);
	write_and_compare(d, &a, DEPTH + 9, 64);
	break_and_reset(d, &a, &b);
	write_and_compare(d, &a, DEPTH + 1, 1500);
	OK(doca_gpu_verbs_destroy_qp_hl(a.hl));
	OK(doca_gpu_verbs_destroy_qp_hl(b.hl));
}

/* What the library can make besides, so that a device sees every mailbox it sends. */
static void make_the_rest(struct device *d)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = d->gpu, .ibpd = d->pd, .sq_nwqe = DEPTH, .cq_collapsed = true};
	struct doca_gpu_verbs_qp_group_hl *group;
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_cq_attr *cq_attr;
	struct doca_verbs_qp *qp;
	struct doca_verbs_cq *cq;

	OK(doca_gpu_verbs_create_qp_group_hl(&attr, &group));
	OK(doca_gpu_verbs_destroy_qp_group_hl(group));

	/* Memory and doorbell page of the library's own, and a receive queue. */
	OK(doca_verbs_cq_attr_create(&cq_attr));
	OK(doca_verbs_cq_attr_set_cq_size(cq_attr, DEPTH));
	OK(doca_verbs_cq_create(d->context, cq_attr, &cq));
	OK(doca_verbs_qp_init_attr_create(&init));
	OK(doca_verbs_qp_init_attr_set_pd(init, d->pd));
	OK(doca_verbs_qp_init_attr_set_send_cq(init, cq));
	OK(doca_verbs_qp_init_attr_set_receive_cq(init, cq));
	OK(doca_verbs_qp_init_attr_set_sq_wr(init, DEPTH));
	OK(doca_verbs_qp_init_attr_set_rq_wr(init, DEPTH));
	OK(doca_verbs_qp_init_attr_set_send_max_sges(init, 2));
	OK(doca_verbs_qp_init_attr_set_receive_max_sges(init, 2));
	OK(doca_verbs_qp_create(d->context, init, &qp));
	OK(doca_verbs_qp_destroy(qp));
	OK(doca_verbs_cq_destroy(cq));
	OK(doca_verbs_qp_init_attr_destroy(init));
	OK(doca_verbs_cq_attr_destroy(cq_attr));
}

int main(void)
{
	struct device d = {0};

	open_device(&d);
	run_pair(&d, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	run_pair(&d, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	make_the_rest(&d);
	ibv_dereg_mr(d.mr);
	free(d.buffer);
	OK(doca_gpu_destroy(d.gpu));
	ibv_dealloc_pd(d.pd);
	ibv_close_device(d.context);
	printf("engine: two QPs, doorbell and proxy, error and reset: ok\n");
	return 0;
}
