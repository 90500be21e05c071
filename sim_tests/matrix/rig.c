// SPDX-License-Identifier: BSD-3-Clause
#include "sim_tests/matrix/rig.h"

#include <endian.h>
#include <stdlib.h>

#include "emu/nicmodel/rc.h"
#include "emu/nicmodel/xorshift.h"
#include "sim_tests/harness.h"

enum {
	MX_POLL_MAX_US = 4, /* virtual time of a poll */
	MX_INDEX_MASK = 0xffffff,
};

static struct nm_cq *cq_of(const struct mx_rig *rig, const struct mx_queue *q)
{
	return (struct nm_cq *)nm_obj_get(rig->h->nic[0].nic, NM_OBJ_CQ, q->hx->scq->cqn);
}

/* The queue and its CQ as they are after `start` WQEs, each with a CQE, all done. */
static void begin_at(struct mx_rig *rig, struct mx_queue *q)
{
	struct nm_qp *qp = (struct nm_qp *)nm_obj_get(rig->h->nic[0].nic, NM_OBJ_QP, q->hx->qpn);
	struct rc_req *req = &qp->rc->req;
	struct nm_cq *cq = cq_of(rig, q);
	uint64_t start = rig->config.start;

	cr_assert(req->head == req->tail && req->pi == 0, "the queue has worked already");
	req->pi = req->fetched = req->next_idx = req->ci = (uint16_t)start;
	req->tail = req->una_seq = req->cur = req->head = req->sqd_seq = (uint32_t)start;
	/* As the NIC read it last: a sweep passes over a record that has not changed since. */
	q->hx->dbr[1] = qp->dbr.cache[1] = htobe32((uint16_t)start);
	nm_uar_saw_record(qp);
	cq->producer = cq->visible = (uint32_t)(start + rig->config.rsvd) & MX_INDEX_MASK;
	cq->consumer = cq->last_notified = cq->last_solicited = cq->visible;
}

static uint64_t *doorbell_of(struct mx_rig *rig, const struct mx_queue *q)
{
	uint32_t offset = rig->config.doorbell == MX_NO_DBR ? PRM_UAR_SQ_NO_DBR : PRM_UAR_BF;
	uint8_t *page = sim_uar(rig->h->sim, 0, q->hx->uar);

	return (uint64_t *)(void *)(page + offset);
}

static void fill_handle(struct mx_rig *rig, struct mx_queue *q)
{
	static const uint32_t handlers[MX_DOORBELLS] = {
		[MX_DB] = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
		[MX_BF] = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF,
		[MX_PROXY] = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY,
		[MX_NO_DBR] = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR,
		[MX_EMULATED] = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR,
	};
	const struct mx_rig_config *c = &rig->config;
	struct doca_gpu_dev_verbs_qp *d = &q->dev;

	d->sq_rsvd_index = d->sq_ready_index = d->sq_wqe_pi = c->start;
	d->sq_num = q->hx->qpn;
	d->sq_num_shift8 = q->hx->qpn << 8;
	d->sq_num_shift8_be = htobe32(d->sq_num_shift8);
	d->sq_wqe_num = (uint16_t)(1u << c->log_depth);
	d->sq_wqe_mask = (uint16_t)(d->sq_wqe_num - 1);
	d->sq_wqe_daddr = q->hx->sq;
	d->sq_dbrec = &q->hx->dbr[1];
	d->sq_db = c->doorbell == MX_PROXY ? &q->proxy_word : doorbell_of(rig, q);
	d->nic_handler = handlers[c->doorbell];
	/* a GPU's memory or the host's: the scope of the fences */
	d->mem_type =
		c->seed % 2 ? DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU : DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
	d->cq_sq.cqe_daddr = q->hx->scq->ring;
	d->cq_sq.cq_num = q->hx->scq->cqn;
	d->cq_sq.cqe_num = 1u << c->log_depth;
	d->cq_sq.cqe_mask = d->cq_sq.cqe_num - 1;
	d->cq_sq.dbrec = q->hx->scq->dbr;
	d->cq_sq.cqe_ci = c->start;
	d->cq_sq.cqe_size = 64;
	d->cq_sq.cqe_rsvd = c->rsvd;
	d->cq_sq.cqe_flags = q->hx->scq->collapsed ? GDAKIT_CQE_FLAG_COLLAPSED : 0;
	q->proxy_word = q->proxy_last = c->start;
}

/* A queue on nic 0, to nic 1 or to itself. */
static void queue_open(struct mx_rig *rig, struct mx_queue *q, bool to_itself, bool collapsed)
{
	const struct mx_rig_config *c = &rig->config;
	struct hx *h = rig->h;
	/* packet numbers have 24 bits and wrap with the rest */
	uint32_t psn = (uint32_t)c->start & MX_INDEX_MASK;
	struct hx_qp_attr attr = {
		.log_sq = c->log_depth,
		.no_rq = true,
		.no_dbr = c->doorbell == MX_NO_DBR,
		.log_sra = 4,
		.log_rra = 4,
		.sq_psn = psn,
		.rq_psn = psn,
		/* a page each, or one for all */
		.uar = c->seed % 5 == 4 ? 0 : hx_new(h, 0, PRM_CMD_ALLOC_UAR),
		.cq_snd = hx_cq_flags(h, 0, c->log_depth, collapsed, true),
		.cq_rcv = hx_cq(h, 0, 1),
	};
	struct hx_qp_attr peer = {.log_sra = 4, .log_rra = 4, .sq_psn = psn, .rq_psn = psn};

	q->hx = hx_qp(h, 0, &attr);
	hx_connect(q->hx, to_itself ? q->hx : hx_qp(h, 1, &peer));
	begin_at(rig, q);
	fill_handle(rig, q);
}

struct mx_rig *mx_rig_open(const struct mx_rig_config *config)
{
	struct mx_rig *rig = calloc(1, sizeof(*rig));
	struct hx_config hc = {
		.seed = config->seed,
		.copied = config->seed % 4 == 3,
		.serialise = config->seed % 4 >= 2,
		.shuffle = config->seed % 4 >= 2,
		.trains = true,
	};

	cr_assert_not_null(rig);
	rig->config = *config;
	rig->rng = xorshift32_seed(config->seed, 2654435761u);
	rig->h = hx_open(&hc);
	rig->local = hx_alloc(rig->h, config->bytes);
	rig->remote = hx_alloc(rig->h, config->bytes);
	rig->local_key = htobe32(
		hx_mkey(rig->h, 0, rig->h->nic[0].pd, rig->local, config->bytes, HX_ALL_RIGHTS));
	rig->remote_key = htobe32(
		hx_mkey(rig->h, 1, rig->h->nic[1].pd, rig->remote, config->bytes, HX_ALL_RIGHTS));
	queue_open(rig, &rig->main, false, config->collapsed);
	if (config->has_companion)
		queue_open(rig, &rig->companion, true, false);
	if (config->has_second)
		queue_open(rig, &rig->second, false, false);
	return rig;
}

void mx_rig_close(struct mx_rig *rig)
{
	hx_close(rig->h);
	free(rig);
}

static void ring(struct mx_rig *rig, struct mx_queue *q, uint64_t pi)
{
	__atomic_store_n(&q->hx->dbr[1], htobe32((uint16_t)pi), __ATOMIC_RELEASE);
	hx_register(rig->h, 0, q->hx->uar, PRM_UAR_BF, (uint32_t)(uint16_t)pi << 8,
		    q->hx->qpn << 8);
}

/* The host's part, as the proxy of the host library does it. */
static void proxy_step(struct mx_rig *rig, struct mx_queue *q)
{
	const uint64_t *word =
		rig->config.doorbell == MX_PROXY ? &q->proxy_word : &q->dev.sq_wqe_pi;
	uint64_t pi;

	if (!q->hx || (rig->config.doorbell != MX_PROXY && rig->config.doorbell != MX_EMULATED))
		return;
	pi = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	if (pi == q->proxy_last)
		return;
	if (pi < q->proxy_last)
		rig->fault = "the index for the proxy went back";
	q->proxy_last = pi;
	ring(rig, q, pi);
}

static uint64_t activity(const struct mx_rig *rig)
{
	const struct mx_queue *queues[] = {&rig->main, &rig->companion, &rig->second};
	uint64_t sum = sim_link_packets(rig->h->sim);

	for (uint32_t i = 0; i < 3; i++)
		sum += queues[i]->hx ? cq_of(rig, queues[i])->visible : 0;
	return sum;
}

int mx_rig_poll(void *arg)
{
	struct mx_rig *rig = arg;
	uint64_t before = activity(rig);

	proxy_step(rig, &rig->main);
	proxy_step(rig, &rig->companion);
	proxy_step(rig, &rig->second);
	hx_run(rig->h, (1 + xorshift32(&rig->rng) % MX_POLL_MAX_US) * SIM_US);
	return activity(rig) != before;
}

bool mx_rig_quiet(struct mx_rig *rig)
{
	return hx_quiet(rig->h);
}

uint32_t mx_rig_cqes(const struct mx_rig *rig, const struct mx_queue *queue)
{
	return (cq_of(rig, queue)->visible - (uint32_t)(rig->config.start + rig->config.rsvd)) &
	       MX_INDEX_MASK;
}

const char *mx_rig_diagnosis(const struct mx_rig *rig)
{
	const struct hx *h = rig->h;

	return h->diagnoses ? h->diagnosis[(h->diagnoses - 1) % HX_DIAGNOSES] : NULL;
}
