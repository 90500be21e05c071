/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void observe(void *ctx, const struct nm_event *ev)
{
	struct hx_observer_ctx *o = ctx;
	struct hx *h = o->h;
	struct hx_nic *n = &h->nic[o->nic];

	if (ev->kind == NM_EV_DIAGNOSIS) {
		snprintf(h->diagnosis[h->diagnoses++ % HX_DIAGNOSES], NM_WHY_MAX, "%s", ev->why);
		if (getenv("HX_VERBOSE"))
			fprintf(stderr, "%llu nic%u %06x: %s\n",
				(unsigned long long)sim_now_ns(h->sim), o->nic, ev->qpn, ev->why);
		return;
	}
	n->packets[ev->packet->hdr[0]]++;
	if (ev->packet->hdr[0] == 0x11) {
		uint8_t kind = ev->packet->hdr[12] >> 5;

		n->acks += kind == 0;
		n->rnrs += kind == 1;
		n->naks += kind == 3;
	}
	if (getenv("HX_VERBOSE"))
		fprintf(stderr, "%llu nic%u sends %02x psn %06x len %u aeth %02x\n",
			(unsigned long long)sim_now_ns(h->sim), o->nic, ev->packet->hdr[0],
			prm_load32(ev->packet->hdr + 8) & 0xffffff, ev->packet->payload_len,
			ev->packet->hdr_len > 12 ? ev->packet->hdr[12] : 0);
}

static enum nm_verdict lose(void *ctx, struct nm_event *ev)
{
	struct hx_nic *n = ctx;
	uint8_t opcode = ev->packet->hdr[0];

	if (n->drop[opcode]) {
		n->drop[opcode]--;
		return NM_DROP;
	}
	if (n->dup[opcode]) {
		n->dup[opcode]--;
		return NM_DUP;
	}
	return NM_PASS;
}

void hx_drop(struct hx *h, uint32_t nic, uint8_t bth_opcode, uint32_t n)
{
	h->nic[nic].drop[bth_opcode] = n;
}

static void on_event(void *ctx, uint32_t nic, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	struct hx *h = ctx;
	struct hx_event *e = &h->event[h->events % HX_EVENTS];

	(void)eqn;
	(void)intr;
	if (eqe[1] == PRM_EVENT_COMP)
		return;
	e->nic = nic;
	e->type = eqe[1];
	e->number = prm_load32(eqe + (eqe[1] == PRM_EVENT_CQ_ERROR ? 0x20 : 0x38)) & 0xffffff;
	h->events++;
}

static void open_nic(struct hx *h, uint32_t i)
{
	struct hx_nic *n = &h->nic[i];
	uint8_t *addr = PRM_PTR(roce_address_in, h->in, roce_address);
	uint8_t mac[6];

	n->nic = sim_nic(h->sim, i);
	h->observer_ctx[i] = (struct hx_observer_ctx){.h = h, .nic = i};
	h->observer[i] = (struct nm_observer){.ctx = &h->observer_ctx[i],
					      .mask = 1u << NM_EV_DIAGNOSIS |
						      (h->config.trains ? 0 : 1u << NM_EV_TX),
					      .event = observe};
	nm_nic_add_observer(n->nic, &h->observer[i]);
	n->fault = (struct nm_fault){.ctx = n, .mask = 1u << NM_EV_TX, .at = lose};
	if (!h->config.trains)
		nm_nic_set_fault(n->nic, &n->fault);
	if (!h->config.infiniband) {
		memset(h->in, 0, sizeof(h->in));
		PRM_SET(cmd_in, h->in, opcode, PRM_CMD_SET_ROCE_ADDRESS);
		sim_gid(h->sim, i, PRM_PTR(roce_addr, addr, source_l3_address));
		sim_mac(h->sim, i, mac);
		PRM_SET(roce_addr, addr, source_mac_47_32, (uint32_t)(mac[0] << 8 | mac[1]));
		PRM_SET(roce_addr, addr, source_mac_31_0, prm_load32(mac + 2));
		PRM_SET(roce_addr, addr, roce_version, 2);
		cr_assert_eq(hx_command(h, i, 0x30), PRM_STATUS_OK, "%s", h->why);
	}
	n->pd = hx_new(h, i, PRM_CMD_ALLOC_PD);
	n->uar = hx_new(h, i, PRM_CMD_ALLOC_UAR);
	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_EQ);
	PRM_SET(eqc, PRM_PTR(create_eq_in, h->in, eq_context), oi, 1);
	PRM_SET64(create_eq_in, h->in, event_bitmask, 0xffffffff);
	cr_assert_eq(hx_command(h, i, 0x110), PRM_STATUS_OK, "%s", h->why);
	n->eqn = PRM_GET(obj_out, h->out, number) & 0xff;
}

struct hx *hx_open(const struct hx_config *config)
{
	struct hx *h = calloc(1, sizeof(*h));
	struct space_copy_config copy = {.seed = config->seed, .min_polls = 1, .max_polls = 4};

	cr_assert_not_null(h);
	h->config = *config;
	if (!h->config.nics)
		h->config.nics = 2;
	h->sim = sim_create(&(struct sim_config){
		.device_id = PRM_DEVICE_CONNECTX8, /* which has all that is modelled */
		.nics = h->config.nics,
		.seed = config->seed,
		.serialise = config->serialise,
		.infiniband = config->infiniband,
		.port_mtu = config->port_mtu,
		.drop_permille = config->drop_permille,
		.dup_permille = config->dup_permille,
		.reorder_permille = config->reorder_permille,
		.shuffle = config->shuffle,
		.event = on_event,
		.event_ctx = h,
	});
	cr_assert_not_null(h->sim);
	h->space = config->copied ? space_copy_create(&copy) : space_host();
	cr_assert_not_null(h->space);
	h->arena = mmap(NULL, HX_ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(h->arena, MAP_FAILED);
	for (uint32_t i = 0; i < h->config.nics; i++)
		open_nic(h, i);
	return h;
}

void hx_close(struct hx *h)
{
	sim_destroy(h->sim);
	if (h->config.copied) {
		cr_expect_eq(space_copy_pending(h->space), 0, "transfers outlive their NIC");
		space_copy_destroy(h->space);
	}
	munmap(h->arena, HX_ARENA);
	free(h);
}

void hx_with(const struct hx_config *config, hx_body body)
{
	const char *seed = getenv("HX_SEED");
	struct hx_config mine = *config;
	struct hx *h;

	if (seed)
		mine.seed += (uint32_t)strtoul(seed, NULL, 0);
	h = hx_open(&mine);
	body(h);
	hx_close(h);
}

bool hx_diagnosed(const struct hx *h, const char *text)
{
	uint32_t n = h->diagnoses < HX_DIAGNOSES ? h->diagnoses : HX_DIAGNOSES;

	for (uint32_t i = 0; i < n; i++) {
		if (strstr(h->diagnosis[i], text))
			return true;
	}
	return false;
}

uint32_t hx_event_count(const struct hx *h, uint32_t type, uint32_t number)
{
	uint32_t count = 0;

	cr_assert(h->events <= HX_EVENTS);
	for (uint32_t i = 0; i < h->events; i++)
		count += h->event[i].type == type && h->event[i].number == number;
	return count;
}

void *hx_alloc(struct hx *h, uint64_t len)
{
	void *p = h->arena + h->arena_used;

	/* A page that belongs to nobody between two allocations. */
	h->arena_used += (len + HX_PAGE - 1) / HX_PAGE * HX_PAGE + HX_PAGE;
	cr_assert(h->arena_used <= HX_ARENA);
	return p;
}

static uint8_t pattern(uint64_t i, uint32_t seed)
{
	uint64_t x =
		(i / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) + seed * UINT64_C(0xd1342543de82ef95);

	return (uint8_t)(x >> (8 * (i % 8)));
}

void hx_fill(void *p, uint64_t len, uint32_t seed)
{
	for (uint64_t i = 0; i < len; i++)
		((uint8_t *)p)[i] = pattern(i, seed);
}

bool hx_is(const void *p, uint64_t len, uint32_t seed)
{
	for (uint64_t i = 0; i < len; i++) {
		if (((const uint8_t *)p)[i] != pattern(i, seed)) {
			fprintf(stderr, "byte %llu is 0x%02x, expected 0x%02x\n",
				(unsigned long long)i, ((const uint8_t *)p)[i], pattern(i, seed));
			return false;
		}
	}
	return true;
}

/* ---- commands ---- */

uint8_t hx_command(struct hx *h, uint32_t nic, size_t in_len)
{
	struct nm_cmd_ctx ctx = {.space = h->space};

	return nm_nic_command(h->nic[nic].nic, &ctx, h->in, in_len, h->out, 0x110, h->why);
}

uint32_t hx_new(struct hx *h, uint32_t nic, uint16_t opcode)
{
	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, opcode);
	cr_assert_eq(hx_command(h, nic, 0x10), PRM_STATUS_OK, "%s", h->why);
	return PRM_GET(obj_out, h->out, number);
}

uint8_t hx_destroy(struct hx *h, uint32_t nic, uint16_t opcode, uint32_t number)
{
	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, opcode);
	PRM_SET(obj_in, h->in, number, number);
	return hx_command(h, nic, 0x10);
}

static uint32_t put_pas(uint8_t *at, const void *p, uint64_t len)
{
	uint64_t first = (uintptr_t)p / HX_PAGE * HX_PAGE;
	uint32_t n = (uint32_t)(((uintptr_t)p + len + HX_PAGE - 1 - first) / HX_PAGE);

	for (uint32_t i = 0; i < n; i++)
		prm_store64(at + 8 * (size_t)i, first + (uint64_t)i * HX_PAGE);
	return n;
}

static void reverse_pas(uint8_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint64_t low = prm_load64(at + 8 * (size_t)i);

		prm_store64(at + 8 * (size_t)i, prm_load64(at + 8 * (size_t)(n - 1 - i)));
		prm_store64(at + 8 * (size_t)(n - 1 - i), low);
	}
}

static uint32_t make_mkey(struct hx *h, uint32_t nic, uint32_t pd, void *p, uint64_t len,
			  uint8_t rights, bool reversed)
{
	static uint8_t tag = 0x51;
	uint8_t *mkc = PRM_PTR(create_mkey_in, h->in, mkc);
	uint32_t n;

	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_MKEY);
	n = put_pas(PRM_PTR(create_mkey_in, h->in, klm_pas_mtt), p, len);
	cr_assert(n <= 4096);
	if (reversed)
		reverse_pas(PRM_PTR(create_mkey_in, h->in, klm_pas_mtt), n);
	PRM_SET(create_mkey_in, h->in, pg_access, 1);
	PRM_SET(create_mkey_in, h->in, translations_octword_actual_size, (n + 1) / 2);
	PRM_SET(mkc, mkc, translations_octword_size, (n + 1) / 2);
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_MTT);
	PRM_SET(mkc, mkc, lr, (rights & HX_LR) != 0);
	PRM_SET(mkc, mkc, lw, (rights & HX_LW) != 0);
	PRM_SET(mkc, mkc, rr, (rights & HX_RR) != 0);
	PRM_SET(mkc, mkc, rw, (rights & HX_RW) != 0);
	PRM_SET(mkc, mkc, a, (rights & HX_A) != 0);
	PRM_SET(mkc, mkc, qpn, 0xffffff);
	PRM_SET(mkc, mkc, mkey_7_0, tag);
	PRM_SET(mkc, mkc, pd, pd);
	PRM_SET64(mkc, mkc, start_addr, (uintptr_t)p);
	PRM_SET64(mkc, mkc, len, len);
	PRM_SET(mkc, mkc, log_page_size, 12);
	cr_assert_eq(hx_command(h, nic, 0x110 + 8 * (((size_t)n + 1) & ~(size_t)1)), PRM_STATUS_OK,
		     "%s", h->why);
	return PRM_GET(create_mkey_out, h->out, mkey_index) << 8 | tag++;
}

uint32_t hx_mkey(struct hx *h, uint32_t nic, uint32_t pd, void *p, uint64_t len, uint8_t rights)
{
	return make_mkey(h, nic, pd, p, len, rights, false);
}

uint32_t hx_free_key(struct hx *h, uint32_t nic, uint32_t pd, uint32_t octwords)
{
	enum { TAG = 0x77 };
	uint8_t *mkc = PRM_PTR(create_mkey_in, h->in, mkc);

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_MKEY);
	PRM_SET(mkc, mkc, free, 1);
	PRM_SET(mkc, mkc, umr_en, 1);
	PRM_SET(mkc, mkc, lr, 1);
	PRM_SET(mkc, mkc, en_rinval, 1);
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_KLM);
	PRM_SET(mkc, mkc, qpn, 0xffffff);
	PRM_SET(mkc, mkc, mkey_7_0, TAG);
	PRM_SET(mkc, mkc, pd, pd);
	PRM_SET(mkc, mkc, translations_octword_size, octwords);
	cr_assert_eq(hx_command(h, nic, 0x110), PRM_STATUS_OK, "%s", h->why);
	return PRM_GET(create_mkey_out, h->out, mkey_index) << 8 | TAG;
}

uint32_t hx_mkey_reversed(struct hx *h, uint32_t nic, uint32_t pd, void *p, uint64_t len,
			  uint8_t rights)
{
	cr_assert_eq((uintptr_t)p % HX_PAGE, 0);
	cr_assert_eq(len % HX_PAGE, 0);
	return make_mkey(h, nic, pd, p, len, rights, true);
}

struct hx_cq *hx_cq_flags(struct hx *h, uint32_t nic, uint8_t log_size, bool collapsed, bool oi)
{
	uint8_t *cqc = PRM_PTR(create_cq_in, h->in, cq_context);
	struct hx_cq *cq = hx_alloc(h, sizeof(*cq));
	uint64_t len = UINT64_C(64) << log_size;
	uint32_t n;

	*cq = (struct hx_cq){
		.h = h, .nic = nic, .size = 1u << log_size, .collapsed = collapsed, .oi = oi};
	cq->ring = hx_alloc(h, len);
	cq->dbr = hx_alloc(h, 8);
	for (uint32_t i = 0; i < cq->size; i++)
		cq->ring[i * 64 + 63] = 0xf0;
	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_CQ);
	PRM_SET(cqc, cqc, log_cq_size, log_size);
	PRM_SET(cqc, cqc, cc, collapsed);
	PRM_SET(cqc, cqc, oi, oi);
	PRM_SET(cqc, cqc, uar_page, h->nic[nic].uar);
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, h->nic[nic].eqn);
	PRM_SET64(cqc, cqc, dbr_addr, (uintptr_t)cq->dbr);
	n = put_pas(PRM_PTR(create_cq_in, h->in, pas), cq->ring, len);
	cr_assert_eq(hx_command(h, nic, 0x110 + 8 * (size_t)n), PRM_STATUS_OK, "%s", h->why);
	cq->cqn = PRM_GET(obj_out, h->out, number);
	return cq;
}

struct hx_cq *hx_cq(struct hx *h, uint32_t nic, uint8_t log_size)
{
	return hx_cq_flags(h, nic, log_size, false, false);
}

static void default_u8(uint8_t *v, uint8_t value)
{
	if (*v == 0)
		*v = value;
	else if (*v == 0xff)
		*v = 0;
}

static void default_attr(struct hx *h, uint32_t nic, struct hx_qp_attr *a)
{
	default_u8(&a->log_sq, 6);
	default_u8(&a->log_rq, 4);
	default_u8(&a->log_rq_stride, 6);
	default_u8(&a->mtu, 3);
	default_u8(&a->timeout, 14);
	default_u8(&a->min_rnr, 1);
	default_u8(&a->log_sra, 2);
	default_u8(&a->log_rra, 2);
	default_u8(&a->log_msg_max, 30);
	default_u8(&a->log_cq, 8);
	a->retry = a->retry == 0 ? 7 : a->retry < 0 ? 0 : a->retry;
	a->rnr_retry = a->rnr_retry == 0 ? 7 : a->rnr_retry < 0 ? 0 : a->rnr_retry;
	if (a->timeout_never)
		a->timeout = 0;
	if (!a->pd)
		a->pd = h->nic[nic].pd;
	if (!a->uar)
		a->uar = h->nic[nic].uar;
}

struct hx_qp *hx_qp(struct hx *h, uint32_t nic, const struct hx_qp_attr *attr)
{
	uint8_t *qpc = PRM_PTR(create_qp_in, h->in, qpc);
	struct hx_qp *qp = hx_alloc(h, sizeof(*qp));
	uint64_t rq_len, len;
	uint32_t n;

	*qp = (struct hx_qp){.h = h, .nic = nic, .bf = PRM_UAR_BF};
	if (attr)
		qp->attr = *attr;
	default_attr(h, nic, &qp->attr);
	qp->uar = qp->attr.uar;
	qp->sq_size = 1u << qp->attr.log_sq;
	qp->rq_size = qp->attr.no_rq || qp->attr.srqn || qp->attr.st == PRM_QP_ST_XRC
			      ? 0
			      : 1u << qp->attr.log_rq;
	rq_len = (uint64_t)qp->rq_size << qp->attr.log_rq_stride;
	rq_len = (rq_len + 63) / 64 * 64;
	len = rq_len + (uint64_t)qp->sq_size * 64;
	qp->rq = hx_alloc(h, len);
	qp->sq = qp->rq + rq_len;
	qp->dbr = hx_alloc(h, 8);
	qp->scq = qp->attr.cq_snd ? qp->attr.cq_snd : hx_cq(h, nic, qp->attr.log_cq);
	qp->rcq = qp->attr.cq_rcv ? qp->attr.cq_rcv : hx_cq(h, nic, qp->attr.log_cq);
	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_QP);
	PRM_SET(qpc, qpc, st, qp->attr.st);
	PRM_SET(qpc, qpc, block_lb_mc, qp->attr.block_lb_mc);
	PRM_SET(qpc, qpc, pd, qp->attr.pd);
	PRM_SET(qpc, qpc, uar_page, qp->uar);
	PRM_SET(qpc, qpc, user_index, 0xabc000 | nic);
	PRM_SET(qpc, qpc, log_sq_size, qp->attr.log_sq);
	PRM_SET(qpc, qpc, send_dbr_mode, qp->attr.no_dbr);
	PRM_SET(qpc, qpc, cqn_snd, qp->scq->cqn);
	PRM_SET(qpc, qpc, cqn_rcv, qp->rcq->cqn);
	PRM_SET(qpc, qpc, srqn_rmpn_xrqn, qp->attr.srqn);
	PRM_SET(qpc, qpc, xrcd, qp->attr.xrcd);
	PRM_SET(qpc, qpc, no_sq, qp->attr.xrcd != 0);
	if (!qp->rq_size) {
		PRM_SET(qpc, qpc, rq_type, qp->attr.no_rq ? PRM_RQ_NONE : PRM_RQ_SRQ);
	} else {
		PRM_SET(qpc, qpc, log_rq_size, qp->attr.log_rq);
		PRM_SET(qpc, qpc, log_rq_stride, qp->attr.log_rq_stride - 4u);
	}
	PRM_SET64(qpc, qpc, dbr_addr, (uintptr_t)qp->dbr);
	n = put_pas(PRM_PTR(create_qp_in, h->in, pas), qp->rq, len);
	cr_assert_eq(hx_command(h, nic, 0x110 + 8 * (size_t)n), PRM_STATUS_OK, "%s", h->why);
	qp->qpn = PRM_GET(obj_out, h->out, number);
	return qp;
}

static uint8_t *begin_modify(struct hx_qp *qp, uint16_t opcode)
{
	struct hx *h = qp->h;

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, opcode);
	PRM_SET(modify_qp_in, h->in, qpn, qp->qpn);
	return PRM_PTR(modify_qp_in, h->in, qpc);
}

uint8_t hx_modify(struct hx_qp *qp, uint16_t opcode)
{
	begin_modify(qp, opcode);
	return hx_command(qp->h, qp->nic, 0x110);
}

uint8_t hx_to_init(struct hx_qp *qp)
{
	uint8_t *qpc = begin_modify(qp, PRM_CMD_RST2INIT_QP);

	PRM_SET(qpc, qpc, rwe, !qp->attr.no_rwe);
	PRM_SET(qpc, qpc, rre, !qp->attr.no_rre);
	PRM_SET(qpc, qpc, rae, !qp->attr.no_rae);
	PRM_SET(qpc, qpc, atomic_mode, 1);
	PRM_SET(qpc, qpc, q_key, qp->attr.qkey);
	PRM_SET(ads, PRM_PTR(qpc, qpc, primary_address_path), vhca_port_num, 1);
	return hx_command(qp->h, qp->nic, 0x110);
}

uint8_t hx_to_rtr(struct hx_qp *qp, const struct hx_qp *peer)
{
	struct hx *h = qp->h;
	uint8_t *qpc = begin_modify(qp, PRM_CMD_INIT2RTR_QP);
	uint8_t *ads = PRM_PTR(qpc, qpc, primary_address_path);
	uint8_t mac[6];

	PRM_SET(qpc, qpc, mtu, qp->attr.mtu);
	PRM_SET(qpc, qpc, log_msg_max, qp->attr.log_msg_max);
	PRM_SET(qpc, qpc, remote_qpn, peer->qpn);
	PRM_SET(qpc, qpc, next_rcv_psn, qp->attr.rq_psn);
	PRM_SET(qpc, qpc, log_rra_max, qp->attr.log_rra);
	PRM_SET(qpc, qpc, min_rnr_nak, qp->attr.min_rnr);
	PRM_SET(ads, ads, hop_limit, 64);
	PRM_SET(ads, ads, udp_sport, 0xc001);
	PRM_SET(ads, ads, vhca_port_num, 1);
	if (h->config.infiniband) {
		PRM_SET(ads, ads, rlid, sim_lid(h->sim, peer->nic));
	} else {
		PRM_SET(ads, ads, grh, 1);
		sim_gid(h->sim, peer->nic, PRM_PTR(ads, ads, rgid_rip));
		sim_mac(h->sim, peer->nic, mac);
		PRM_SET(ads, ads, rmac_47_32, (uint32_t)(mac[0] << 8 | mac[1]));
		PRM_SET(ads, ads, rmac_31_0, prm_load32(mac + 2));
	}
	return hx_command(h, qp->nic, 0x110);
}

uint8_t hx_to_rts(struct hx_qp *qp)
{
	uint8_t *qpc = begin_modify(qp, PRM_CMD_RTR2RTS_QP);

	PRM_SET(qpc, qpc, next_send_psn, qp->attr.sq_psn);
	PRM_SET(ads, PRM_PTR(qpc, qpc, primary_address_path), ack_timeout, qp->attr.timeout);
	PRM_SET(qpc, qpc, retry_count, (uint32_t)qp->attr.retry);
	PRM_SET(qpc, qpc, rnr_retry, (uint32_t)qp->attr.rnr_retry);
	PRM_SET(qpc, qpc, log_sra_max, qp->attr.log_sra);
	PRM_SET(qpc, qpc, log_ack_req_freq, qp->attr.log_ack_freq);
	return hx_command(qp->h, qp->nic, 0x110);
}

void hx_connect(struct hx_qp *a, struct hx_qp *b)
{
	struct hx_qp *qps[2] = {a, b};
	uint32_t n = a == b ? 1 : 2;

	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(hx_to_init(qps[i]), 0, "%s", a->h->why);
		cr_assert_eq(hx_to_rtr(qps[i], qps[n - 1 - i]), 0, "%s", a->h->why);
	}
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(hx_to_rts(qps[i]), 0, "%s", a->h->why);
	/* The look at the record that RTS brings is over: from now on only doorbells count. */
	hx_run(a->h, 20 * SIM_US);
}

uint8_t hx_query_state(struct hx_qp *qp)
{
	struct hx *h = qp->h;

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(obj_in, h->in, number, qp->qpn);
	cr_assert_eq(hx_command(h, qp->nic, 0x10), PRM_STATUS_OK, "%s", h->why);
	return (uint8_t)PRM_GET(qpc, PRM_PTR(query_qp_out, h->out, qpc), state);
}

/* ---- posting ---- */

static uint8_t *octoword(struct hx_qp *qp, uint32_t ow)
{
	return qp->sq + ((uint32_t)qp->sq_pi * 4 + ow) % (qp->sq_size * 4) * 16;
}

static void put_data(uint8_t *seg, const struct hx_sge *sge)
{
	prm_store32(seg, sge->len);
	prm_store32(seg + 4, sge->lkey);
	prm_store64(seg + 8, (uintptr_t)sge->addr);
}

static uint32_t put_inline(struct hx_qp *qp, uint32_t ow, const void *data, uint32_t len)
{
	prm_store32(octoword(qp, ow), 0x80000000u | len);
	for (uint32_t i = 0; i < len; i++)
		octoword(qp, ow + (4 + i) / 16)[(4 + i) % 16] = ((const uint8_t *)data)[i];
	return ow + (4 + len + 15) / 16;
}

static uint32_t put_masked(struct hx_qp *qp, uint32_t ow, const struct hx_wr *wr)
{
	bool cs = wr->opcode == PRM_WQE_ATOMIC_MASKED_CS;
	uint8_t *seg = octoword(qp, ow++);

	if (wr->opmod == 8) {
		prm_store32(seg, (uint32_t)wr->swap_add);
		prm_store32(seg + 4, (uint32_t)(cs ? wr->compare : wr->compare_mask));
		prm_store32(seg + 8, (uint32_t)wr->swap_mask);
		prm_store32(seg + 12, (uint32_t)(cs ? wr->compare_mask : 0));
		return ow;
	}
	prm_store64(seg, wr->swap_add);
	prm_store64(seg + 8, cs ? wr->compare : wr->compare_mask);
	if (!cs)
		return ow;
	seg = octoword(qp, ow++);
	prm_store64(seg, wr->swap_mask);
	prm_store64(seg + 8, wr->compare_mask);
	return ow;
}

/* What is reserved is filled with garbage. */
static uint32_t put_av(struct hx_qp *qp, uint32_t ow, const struct hx_av *av)
{
	uint8_t *seg = octoword(qp, ow++);

	prm_store32(seg, av->qkey);
	prm_store32(seg + 4, 0xdeadbeef);
	prm_store32(seg + 8, (av->compact ? 0x55000000u : 0xd5000000u) | av->dqpn);
	seg[12] = (uint8_t)(0x30 | av->sl);
	seg[13] = 0;
	seg[14] = (uint8_t)(av->rlid >> 8);
	seg[15] = (uint8_t)av->rlid;
	if (av->compact)
		return ow;
	seg = octoword(qp, ow++);
	prm_store32(seg, 0xdeadbeef);
	memcpy(seg + 4, av->rmac, 6);
	seg[10] = av->tclass;
	seg[11] = av->hop_limit;
	prm_store32(seg + 12, 0x80000000u | (uint32_t)av->grh << 30 |
				      (uint32_t)av->sgid_index << 20 | 0x12345);
	memcpy(octoword(qp, ow++), av->rgid, 16);
	return ow;
}

uint16_t hx_post(struct hx_qp *qp, const struct hx_wr *wr)
{
	bool masked =
		wr->opcode == PRM_WQE_ATOMIC_MASKED_CS || wr->opcode == PRM_WQE_ATOMIC_MASKED_FA;
	bool atomic = masked || wr->opcode == PRM_WQE_ATOMIC_CS || wr->opcode == PRM_WQE_ATOMIC_FA;
	bool rdma = atomic || wr->opcode == PRM_WQE_RDMA_WRITE ||
		    wr->opcode == PRM_WQE_RDMA_WRITE_IMM || wr->opcode == PRM_WQE_RDMA_READ;
	uint8_t *ctrl = octoword(qp, 0);
	uint16_t idx = qp->sq_pi;
	uint32_t ow = 1;

	for (uint32_t i = 0; i < wr->raw_ow; i++)
		memcpy(octoword(qp, ow++), (const uint8_t *)wr->raw + 16 * (size_t)i, 16);
	if (wr->av)
		ow = put_av(qp, ow, wr->av);
	if (qp->attr.st == PRM_QP_ST_XRC)
		prm_store32(octoword(qp, ow++), wr->srqn);
	if (rdma) {
		uint8_t *raddr = octoword(qp, ow++);

		prm_store64(raddr, (uintptr_t)wr->raddr);
		prm_store32(raddr + 8, wr->rkey);
		prm_store32(raddr + 12, 0xdeadbeef); /* reserved: anything */
	}
	if (masked) {
		ow = put_masked(qp, ow, wr);
	} else if (atomic) {
		uint8_t *seg = octoword(qp, ow++);

		prm_store64(seg, wr->swap_add);
		prm_store64(seg + 8, wr->compare);
	}
	if (wr->opcode == PRM_WQE_WAIT) {
		uint8_t *seg = octoword(qp, ow++);

		prm_store64(seg, 0xdeadbeefdeadbeef); /* reserved: anything */
		prm_store32(seg + 8, wr->wait_index);
		prm_store32(seg + 12, wr->wait_cqn);
	}
	if (wr->inline_data)
		ow = put_inline(qp, ow, wr->inline_data, wr->inline_len);
	for (uint32_t i = 0; i < wr->nsge; i++)
		put_data(octoword(qp, ow++), &wr->sge[i]);
	cr_assert(ow < 64);
	if (wr->ds)
		ow = wr->ds;
	prm_store32(ctrl, (uint32_t)wr->opmod << 24 | (uint32_t)idx << 8 | wr->opcode);
	prm_store32(ctrl + 4, qp->qpn << 8 | ow);
	prm_store32(ctrl + 8, 0xa5a5a500u | wr->flags);
	prm_store32(ctrl + 12, wr->imm);
	qp->last_idx = idx;
	qp->sq_pi = (uint16_t)(qp->sq_pi + (ow + 3) / 4);
	return idx;
}

void hx_register(struct hx *h, uint32_t nic, uint32_t uar, uint32_t offset, uint32_t hi,
		 uint32_t lo)
{
	uint8_t *reg = (uint8_t *)sim_uar(h->sim, nic, uar) + offset;
	uint64_t value;

	prm_store32(&value, hi);
	prm_store32((uint8_t *)&value + 4, lo);
	__atomic_store_n((uint64_t *)(void *)reg, value, __ATOMIC_RELEASE);
}

void hx_ring(struct hx_qp *qp)
{
	__atomic_store_n(&qp->dbr[1], htobe32(qp->sq_pi), __ATOMIC_RELEASE);
	hx_register(qp->h, qp->nic, qp->uar, qp->bf,
		    (uint32_t)qp->last_idx << 8 | PRM_WQE_RDMA_WRITE, qp->qpn << 8 | 3);
	qp->bf ^= 0x100;
}

void hx_ring_pi(struct hx_qp *qp)
{
	hx_register(qp->h, qp->nic, qp->uar, PRM_UAR_SQ_NO_DBR, (uint32_t)qp->sq_pi << 8,
		    qp->qpn << 8);
}

uint16_t hx_recv(struct hx_qp *qp, const struct hx_sge *sge, uint8_t nsge)
{
	uint32_t stride = 1u << qp->attr.log_rq_stride;
	uint8_t *wqe = qp->rq + (size_t)(qp->rq_pi % qp->rq_size) * stride;

	cr_assert(nsge * 16u <= stride);
	for (uint32_t i = 0; i < nsge; i++)
		put_data(wqe + i * 16, &sge[i]);
	if (nsge * 16u < stride)
		put_data(wqe + nsge * 16u, &(struct hx_sge){.lkey = PRM_LKEY_TERMINATOR});
	qp->rq_pi++;
	__atomic_store_n(&qp->dbr[0], htobe32(qp->rq_pi), __ATOMIC_RELEASE);
	return (uint16_t)(qp->rq_pi - 1);
}

/* ---- completions ---- */

static bool cqe_there(void *arg)
{
	struct hx_cq *cq = arg;
	const uint8_t *cqe = cq->ring + (size_t)(cq->ci % cq->size) * 64;

	return cqe[63] >> 4 != PRM_CQE_INVALID && (cqe[63] & 1) == (cq->ci / cq->size & 1);
}

bool hx_poll(struct hx_cq *cq, uint8_t cqe[64])
{
	if (!cqe_there(cq))
		return false;
	memcpy(cqe, cq->ring + (size_t)(cq->ci % cq->size) * 64, 64);
	cq->ci++;
	__atomic_store_n(&cq->dbr[0], htobe32(cq->ci & 0xffffff), __ATOMIC_RELEASE);
	return true;
}

bool hx_wait(struct hx_cq *cq, uint8_t cqe[64], uint64_t max_ns)
{
	return sim_run_until(cq->h->sim, cqe_there, cq, max_ns) && hx_poll(cq, cqe);
}

bool hx_quiet(struct hx *h)
{
	/* Longer than the sweep behind a doorbell; shorter, since QPs in ERR look at their RQ now
	 * and then. */
	return sim_run_idle(h->sim, 60 * SIM_US, 10 * SIM_S);
}

void hx_run(struct hx *h, uint64_t ns)
{
	sim_run_ns(h->sim, ns);
}

static const char *last_why(const struct hx *h)
{
	return h->diagnoses ? h->diagnosis[(h->diagnoses - 1) % HX_DIAGNOSES] : "no diagnosis";
}

void hx_expect(struct hx_cq *cq, uint8_t opcode, uint16_t idx, const char *file, int line)
{
	uint8_t cqe[64] = {0};

	cr_assert(hx_wait(cq, cqe, 20 * SIM_S), "%s:%d: no CQE (%s)", file, line, last_why(cq->h));
	cr_assert_eq(cqe_opcode(cqe), opcode,
		     "%s:%d: CQE opcode %u, expected %u, syndrome 0x%02x (%s)", file, line,
		     cqe_opcode(cqe), opcode, cqe_syndrome(cqe), last_why(cq->h));
	cr_assert_eq(cqe_idx(cqe), idx, "%s:%d: CQE of WQE %u, expected %u", file, line,
		     cqe_idx(cqe), idx);
}

void hx_expect_error(struct hx_cq *cq, uint8_t opcode, uint8_t syndrome, uint16_t idx,
		     const char *file, int line)
{
	uint8_t cqe[64] = {0};

	cr_assert(hx_wait(cq, cqe, 20 * SIM_S), "%s:%d: no CQE (%s)", file, line, last_why(cq->h));
	cr_assert_eq(cqe_opcode(cqe), opcode, "%s:%d: CQE opcode %u, expected %u", file, line,
		     cqe_opcode(cqe), opcode);
	cr_assert_eq(cqe_syndrome(cqe), syndrome, "%s:%d: syndrome 0x%02x, expected 0x%02x (%s)",
		     file, line, cqe_syndrome(cqe), syndrome, last_why(cq->h));
	cr_assert_eq(cqe_idx(cqe), idx, "%s:%d: CQE of WQE %u, expected %u", file, line,
		     cqe_idx(cqe), idx);
	cr_assert_eq(prm_load32(cqe + 32) & 0xffffff, 0xabc000u | cq->nic, "%s:%d: user index",
		     file, line);
}

struct hx_pair hx_pair_of(struct hx *h, const struct hx_qp_attr *a, const struct hx_qp_attr *b,
			  uint64_t len)
{
	struct hx_pair p = {.len = len};

	p.a = hx_qp(h, 0, a);
	p.b = hx_qp(h, h->config.nics > 1, b);
	p.amem = hx_alloc(h, len);
	p.bmem = hx_alloc(h, len);
	p.akey = hx_mkey(h, 0, p.a->attr.pd, p.amem, len, HX_ALL_RIGHTS);
	p.bkey = hx_mkey(h, p.b->nic, p.b->attr.pd, p.bmem, len, HX_ALL_RIGHTS);
	hx_connect(p.a, p.b);
	return p;
}

struct hx_pair hx_pair(struct hx *h, const struct hx_qp_attr *attr)
{
	return hx_pair_of(h, attr, attr, 4 << 20);
}
