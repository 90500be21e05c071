/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_scenarios.h"

#include <unistd.h>

#include "common/doca_gpunetio_verbs_dev.h"

#define HANDLER(name) DOCA_GPUNETIO_VERBS_NIC_HANDLER_##name
#define MODE(name)    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_##name
#define REG(name)     DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_##name
#define A(name)	      DOCA_VERBS_QP_ATTR_##name
#define STATE(name)   DOCA_VERBS_QP_STATE_##name

#define TRY(call)                                                                                  \
	do {                                                                                       \
		scenario_before(#call);                                                            \
		if (scenario_after(#call, (call)))                                                 \
			scenario_expect((call) == DOCA_SUCCESS, "a second try succeeds: " #call);  \
	} while (0)

/* ---- Parts ---- */

static void move(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr,
		 enum doca_verbs_qp_state next, int mask)
{
	TRY(doca_verbs_qp_attr_set_next_state(attr, next));
	TRY(doca_verbs_qp_modify(qp, attr, mask | A(NEXT_STATE)));
}

/* Up to RTS, connected with itself, and on to the error state and back to RST. */
static void live(const struct scenario_device *d, struct doca_verbs_qp *qp)
{
	struct doca_verbs_qp_init_attr *init = NULL;
	struct doca_verbs_qp_attr *attr = NULL;
	struct doca_verbs_ah_attr *ah = NULL;

	TRY(doca_verbs_ah_attr_create(d->context, &ah));
	TRY(doca_verbs_qp_attr_create(&attr));
	TRY(doca_verbs_qp_init_attr_create(&init));
	TRY(doca_verbs_ah_attr_set_addr_type(ah, d->addr_type));
	TRY(doca_verbs_ah_attr_set_gid(ah, d->gid));
	TRY(doca_verbs_ah_attr_set_dlid(ah, d->dlid));
	TRY(doca_verbs_ah_attr_set_hop_limit(ah, 64));
	TRY(doca_verbs_qp_attr_set_ah_attr(attr, ah));
	TRY(doca_verbs_qp_attr_set_port_num(attr, 1));
	TRY(doca_verbs_qp_attr_set_path_mtu(attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
	TRY(doca_verbs_qp_attr_set_dest_qp_num(attr, doca_verbs_qp_get_qpn(qp)));
	TRY(doca_verbs_qp_attr_set_ack_timeout(attr, 14));
	TRY(doca_verbs_qp_attr_set_retry_cnt(attr, 7));
	move(qp, attr, STATE(INIT),
	     A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ));
	move(qp, attr, STATE(RTR),
	     A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR) | A(MIN_RNR_TIMER));
	move(qp, attr, STATE(RTS), A(SQ_PSN) | A(ACK_TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY));
	move(qp, attr, STATE(RTS), A(ALLOW_REMOTE_WRITE) | A(AH_ATTR));
	move(qp, attr, STATE(ERR), 0);
	TRY(doca_verbs_qp_query(qp, attr, init));
	move(qp, attr, STATE(RST), 0);
	TRY(doca_verbs_qp_init_attr_destroy(init));
	TRY(doca_verbs_qp_attr_destroy(attr));
	TRY(doca_verbs_ah_attr_destroy(ah));
}

static struct doca_gpu_verbs_qp_hl *make_hl(const struct scenario_device *d, struct doca_gpu *gpu,
					    const struct scenario_variant *v)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = gpu,
		.ibpd = d->pd,
		.sq_nwqe = SCENARIO_DEPTH,
		.nic_handler = v->handler,
		.mreg_type = v->reg_type,
		.send_dbr_mode_ext = v->ext,
		.cq_collapsed = v->collapsed,
	};
	struct doca_gpu_verbs_qp_hl *hl = NULL;

	TRY(doca_gpu_verbs_create_qp_hl(&attr, &hl));
	return hl;
}

static struct doca_gpu *open_gpu(const struct scenario_device *d)
{
	struct doca_gpu *gpu = NULL;

	TRY(doca_gpu_create(d->gpu_name, &gpu));
	return gpu;
}

/* ---- Scenarios ---- */

static void gpu_memory(const struct scenario_device *d, const struct scenario_variant *v)
{
	static const enum doca_gpu_mem_type types[] = {
		DOCA_GPU_MEM_TYPE_GPU, DOCA_GPU_MEM_TYPE_GPU_CPU, DOCA_GPU_MEM_TYPE_CPU_GPU};
	struct doca_gpu *gpu = open_gpu(d);
	void *dev[3] = {0}, *cpu;
	int fd = -1;

	(void)v;
	for (int i = 0; i < 3; i++)
		TRY(doca_gpu_mem_alloc(gpu, 8192, 4096, types[i], &dev[i], &cpu));
	if (d->has_dmabuf) {
		TRY(doca_gpu_dmabuf_fd(gpu, dev[0], 8192, &fd));
		close(fd);
	}
	for (int i = 0; i < 3; i++)
		TRY(doca_gpu_mem_free(gpu, dev[i]));
	TRY(doca_gpu_destroy(gpu));
}

static void high_level_qp(const struct scenario_device *d, const struct scenario_variant *v)
{
	struct doca_gpu *gpu = open_gpu(d);
	struct doca_gpu_verbs_qp_hl *hl = make_hl(d, gpu, v);
	struct doca_gpu_verbs_qp_error_info info;
	struct doca_gpu_dev_verbs_qp *dev = NULL, image;

	live(d, hl->qp);
	TRY(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &dev));
	TRY(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
	if (hl->qp_gverbs->cpu_proxy)
		TRY(doca_gpu_verbs_cpu_proxy_progress(hl->qp_gverbs, NULL));
	dev->sq_rsvd_index = 5; /* as if a kernel had posted: played GPU memory is the host's */
	TRY(doca_gpu_verbs_reset_tracking_and_memory(hl->qp_gverbs));
	image = *dev;
	scenario_expect(image.sq_rsvd_index == 0 && image.cq_sq.cqe_rsvd == 5,
			"a reset that was tried again counts its completions once");
	TRY(doca_gpu_verbs_destroy_qp_hl(hl));
	TRY(doca_gpu_destroy(gpu));
}

static void qp_group_and_list(const struct scenario_device *d, const struct scenario_variant *v)
{
	struct doca_gpu *gpu = open_gpu(d);
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = gpu, .ibpd = d->pd, .sq_nwqe = SCENARIO_DEPTH};
	struct doca_gpu_verbs_qp_hl *members[2];
	struct doca_gpu_verbs_qp_group_hl *group = NULL;
	struct doca_gpu_dev_verbs_qp *flat = NULL;

	(void)v;
	TRY(doca_gpu_verbs_create_qp_group_hl(&attr, &group));
	members[0] = &group->qp_main;
	members[1] = &group->qp_companion;
	TRY(doca_gpu_verbs_qp_flat_list_create_hl(members, 2, &flat));
	TRY(doca_gpu_verbs_qp_flat_list_destroy_hl(flat));
	TRY(doca_gpu_verbs_destroy_qp_group_hl(group));
	TRY(doca_gpu_destroy(gpu));
}

static void several_qps(const struct scenario_device *d, const struct scenario_variant *v)
{
	struct scenario_variant proxied = {.handler = HANDLER(CPU_PROXY)};
	struct scenario_variant recorded = {.ext = MODE(NO_DBR_SW_EMULATED)};
	struct doca_gpu *gpu = open_gpu(d);
	struct doca_gpu_verbs_qp_hl *hl[3];
	struct doca_gpu_verbs_qp *qps[3];
	struct doca_gpu_dev_verbs_qp *array = NULL;

	hl[0] = make_hl(d, gpu, v);
	hl[1] = make_hl(d, gpu, &proxied);
	hl[2] = make_hl(d, gpu, d->maps_gpu_memory ? &recorded : v);
	for (int i = 0; i < 3; i++)
		qps[i] = hl[i]->qp_gverbs;
	TRY(doca_gpu_verbs_export_multi_qps_dev(gpu, qps, 3, &array));
	TRY(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, array));
	for (int i = 0; i < 3; i++)
		TRY(doca_gpu_verbs_destroy_qp_hl(hl[i]));
	TRY(doca_gpu_destroy(gpu));
}

static void proxy_service(const struct scenario_device *d, const struct scenario_variant *v)
{
	struct scenario_variant proxied = {.handler = HANDLER(CPU_PROXY)};
	struct doca_gpu *gpu = open_gpu(d);
	struct doca_gpu_verbs_qp_hl *hl = make_hl(d, gpu, &proxied);
	doca_gpu_verbs_service_t service = NULL;

	(void)v;
	TRY(doca_gpu_verbs_create_service(&service));
	TRY(doca_gpu_verbs_service_monitor_qp(service, hl->qp_gverbs));
	TRY(doca_gpu_verbs_destroy_qp_hl(hl));
	TRY(doca_gpu_verbs_destroy_service(service));
	TRY(doca_gpu_destroy(gpu));
}

static void shared_receive_queues(const struct scenario_device *d, const struct scenario_variant *v)
{
	static const enum doca_verbs_srq_type types[] = {DOCA_VERBS_SRQ_TYPE_LINKED_LIST,
							 DOCA_VERBS_SRQ_TYPE_CONTIGUOUS};
	struct doca_verbs_srq_init_attr *attr = NULL;
	struct doca_verbs_srq *srq[2] = {0};

	(void)v;
	TRY(doca_verbs_srq_init_attr_create(&attr));
	TRY(doca_verbs_srq_init_attr_set_pd(attr, d->pd));
	TRY(doca_verbs_srq_init_attr_set_srq_wr(attr, SCENARIO_DEPTH));
	TRY(doca_verbs_srq_init_attr_set_receive_max_sges(attr, 1));
	for (int i = 0; i < 2; i++) {
		TRY(doca_verbs_srq_init_attr_set_type(attr, types[i]));
		TRY(doca_verbs_srq_create(d->context, attr, &srq[i]));
	}
	TRY(doca_verbs_srq_init_attr_destroy(attr));
	for (int i = 0; i < 2; i++)
		TRY(doca_verbs_srq_destroy(srq[i]));
}

/* Queues in memory of the caller's, on a doorbell page of the caller's. */
struct placed {
	void *memory;
	struct doca_verbs_umem *umem;
	struct doca_verbs_uar *uar;
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp *qp;
};

enum { CQ_RING = 0, SQ_RING = 4096, RECORDS = 8192, PLACED_BYTES = 12288 };

static void make_placed_cq(const struct scenario_device *d, struct placed *p)
{
	struct doca_verbs_cq_attr *attr = NULL;

	TRY(doca_verbs_cq_attr_create(&attr));
	TRY(doca_verbs_cq_attr_set_cq_size(attr, SCENARIO_DEPTH));
	TRY(doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN));
	TRY(doca_verbs_cq_attr_set_external_umem(attr, p->umem, CQ_RING));
	TRY(doca_verbs_cq_attr_set_external_dbr_umem(attr, p->umem, RECORDS));
	TRY(doca_verbs_cq_attr_set_external_uar(attr, p->uar));
	TRY(doca_verbs_cq_create(d->context, attr, &p->cq));
	TRY(doca_verbs_cq_attr_destroy(attr));
}

static void make_placed_qp(const struct scenario_device *d, struct placed *p)
{
	struct doca_verbs_qp_init_attr *init = NULL;

	TRY(doca_verbs_qp_init_attr_create(&init));
	TRY(doca_verbs_qp_init_attr_set_pd(init, d->pd));
	TRY(doca_verbs_qp_init_attr_set_send_cq(init, p->cq));
	TRY(doca_verbs_qp_init_attr_set_sq_wr(init, SCENARIO_DEPTH));
	TRY(doca_verbs_qp_init_attr_set_send_max_sges(init, 1));
	TRY(doca_verbs_qp_init_attr_set_external_umem(init, p->umem, SQ_RING));
	TRY(doca_verbs_qp_init_attr_set_external_dbr_umem(init, p->umem, RECORDS + 64));
	TRY(doca_verbs_qp_init_attr_set_external_uar(init, p->uar));
	TRY(doca_verbs_qp_create(d->context, init, &p->qp));
	TRY(doca_verbs_qp_init_attr_destroy(init));
}

static void placed_queues(const struct scenario_device *d, const struct scenario_variant *v)
{
	struct doca_gpu *gpu = open_gpu(d);
	struct doca_gpu_verbs_qp *exported = NULL;
	struct doca_gpu_dev_verbs_qp *dev = NULL;
	struct placed p = {0};
	uint64_t *reg = NULL;
	void *db = NULL, *cpu = NULL;
	bool can;

	(void)v;
	/* Host memory, so that a proxy could keep the record. */
	TRY(doca_gpu_mem_alloc(gpu, PLACED_BYTES, 4096, DOCA_GPU_MEM_TYPE_CPU_GPU, &p.memory,
			       &cpu));
	TRY(doca_verbs_umem_create(d->context, cpu, PLACED_BYTES, 1, -1, 0, &p.umem));
	TRY(doca_verbs_uar_create(d->context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &p.uar));
	TRY(doca_verbs_uar_reg_addr_get(p.uar, &db));
	TRY(doca_gpu_verbs_can_gpu_register_uar(db, &can));
	make_placed_cq(d, &p);
	make_placed_qp(d, &p);
	live(d, p.qp);
	TRY(doca_gpu_verbs_export_qp(gpu, p.qp, HANDLER(AUTO), NULL, p.cq, MODE(VALID_DBR),
				     &exported));
	TRY(doca_gpu_verbs_get_qp_dev(exported, &dev));
	TRY(doca_gpu_verbs_export_uar(db, &reg));
	TRY(doca_gpu_verbs_unexport_uar(reg));
	TRY(doca_gpu_verbs_unexport_qp(gpu, exported));
	TRY(doca_verbs_qp_destroy(p.qp));
	TRY(doca_verbs_cq_destroy(p.cq));
	TRY(doca_verbs_uar_destroy(p.uar));
	TRY(doca_verbs_umem_destroy(p.umem));
	TRY(doca_gpu_mem_free(gpu, p.memory));
	TRY(doca_gpu_destroy(gpu));
}

/* Queues in memory of the library's, each on a doorbell page of its own. */
static void own_queues(const struct scenario_device *d, const struct scenario_variant *v)
{
	struct doca_verbs_device_attr *device = NULL;
	struct doca_verbs_qp_init_attr *init = NULL;
	struct doca_verbs_cq_attr *attr = NULL;
	struct doca_verbs_cq *cq = NULL;
	struct doca_verbs_qp *qp = NULL;

	(void)v;
	TRY(doca_verbs_query_device(d->context, &device));
	TRY(doca_verbs_device_attr_free(device));
	TRY(doca_verbs_cq_attr_create(&attr));
	TRY(doca_verbs_cq_attr_set_cq_size(attr, SCENARIO_DEPTH));
	TRY(doca_verbs_cq_create(d->context, attr, &cq));
	TRY(doca_verbs_cq_attr_destroy(attr));
	TRY(doca_verbs_qp_init_attr_create(&init));
	TRY(doca_verbs_qp_init_attr_set_pd(init, d->pd));
	TRY(doca_verbs_qp_init_attr_set_send_cq(init, cq));
	TRY(doca_verbs_qp_init_attr_set_receive_cq(init, cq));
	TRY(doca_verbs_qp_init_attr_set_sq_wr(init, SCENARIO_DEPTH));
	TRY(doca_verbs_qp_init_attr_set_rq_wr(init, SCENARIO_DEPTH));
	TRY(doca_verbs_qp_init_attr_set_send_max_sges(init, 1));
	TRY(doca_verbs_qp_init_attr_set_receive_max_sges(init, 1));
	TRY(doca_verbs_qp_create(d->context, init, &qp));
	TRY(doca_verbs_qp_init_attr_destroy(init));
	live(d, qp);
	TRY(doca_verbs_qp_destroy(qp));
	TRY(doca_verbs_cq_destroy(cq));
}

const struct scenario scenarios[] = {
	{"gpu memory", gpu_memory, false},
	{"high-level QP", high_level_qp, true},
	{"QP group and flat list", qp_group_and_list, false},
	{"several QPs in one array", several_qps, false},
	{"proxy service", proxy_service, false},
	{"shared receive queues", shared_receive_queues, false},
	{"queues in the caller's memory", placed_queues, false},
	{"queues in the library's memory", own_queues, false},
};
const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

/* ---- Variants ---- */

static bool can_be(const struct scenario_device *d, const struct scenario_variant *v)
{
	if (v->handler == HANDLER(GPU_SM_BF) && v->ext != MODE(VALID_DBR))
		return false;
	if (v->ext == MODE(NO_DBR_HW) && !d->has_no_dbr)
		return false;
	if (v->ext == MODE(NO_DBR_SW_EMULATED) && !d->maps_gpu_memory)
		return false;
	return v->reg_type != REG(CUDA_DMABUF) || d->has_dmabuf;
}

void scenario_each_variant(const struct scenario *s, const struct scenario_device *d,
			   void (*once)(void *ctx, const struct scenario *s,
					const struct scenario_variant *v),
			   void *ctx)
{
	static const enum doca_gpu_dev_verbs_nic_handler handlers[] = {
		HANDLER(AUTO), HANDLER(CPU_PROXY), HANDLER(GPU_SM_DB), HANDLER(GPU_SM_BF)};
	enum { HANDLERS = 4, MODES = 3, REG_TYPES = 3, COLLAPSED = 2 };
	int count = s->has_variants ? HANDLERS * MODES * REG_TYPES * COLLAPSED : 1;

	for (int i = 0; i < count; i++) {
		struct scenario_variant v = {
			.handler = handlers[i % HANDLERS],
			.ext = (enum doca_gpu_verbs_send_dbr_mode_ext)(i / HANDLERS % MODES),
			.reg_type = (enum doca_gpu_verbs_mem_reg_type)(i / HANDLERS / MODES %
								       REG_TYPES),
			.collapsed = i / HANDLERS / MODES / REG_TYPES,
		};

		if (can_be(d, &v))
			once(ctx, s, &v);
	}
}
