/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbells: the registers of the UAR pages that queues use.
 *
 * A page is plain memory that programs write. A ring is taken by exchanging the register with zero,
 * so none is seen twice; but a second ring may overwrite the first before it is seen. Each ring
 * names its queue, which is served first; a while later all other queues of the page are looked at
 * by their records. Pages that ring are hot and looked at each time; where there are many, those
 * that have been silent for a while are looked at in turn, each within a millisecond. Layout of the
 * page: PRM, UAR page format. The BlueFlame area may take a whole WQE: its first 8 bytes are those
 * of a doorbell, and the WQE is in the ring as well, so it counts as a ring.
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <stdlib.h>

enum {
	SWEEP_NS = 50000,
	SWEEP_COST_NS =
		200, /* a queue: sweeps that find nothing take a tenth of the time at most */
	SWEEP_FRUITFUL = 256, /* one lost ring among so many queues: the next sweep comes soon */
	SWEEP_ALONE_NS = 200000000, /* see sweep_delay_ns() */
	SWEEP_STEP = 64,   /* queues at a time, so that who rings meanwhile does not wait */
	SWEEP_AHEAD = 8,   /* records on their way into the cache */
	SWEEP_LOSING = 16, /* sweeps at the next idle moment, after one that found a lost ring */
	HOT_MIN = 16,	   /* pages that are looked at each time, however quiet */
	HOT_NS = 5000000,  /* a page that has not rung for so long becomes cold */
	COLD_NS = 1000000, /* in which every cold page is looked at once */
	BF_STEP = 0x100,
	BF_END = PRM_UAR_PAGE_SIZE,
	DOORBELLS_PER_POLL =
		4, /* of one register: a program that rings without end starves nobody */
};

/* ---- which pages are looked at ---- */

static void place(struct nm_uar **list, uint32_t *count, struct nm_uar *uar)
{
	uar->place = *count;
	list[(*count)++] = uar;
}

static void displace(struct nm_uar **list, uint32_t *count, struct nm_uar *uar)
{
	struct nm_uar *last = list[--*count];

	assert(list[uar->place] == uar);
	last->place = uar->place;
	list[uar->place] = last;
}

static void warm_up(struct nm_nic *nic, struct nm_uar *uar)
{
	displace(nic->cold_uars, &nic->ncold, uar);
	place(nic->hot_uars, &nic->nhot, uar);
	uar->hot = true;
}

static void cool_down(struct nm_nic *nic, struct nm_uar *uar)
{
	displace(nic->hot_uars, &nic->nhot, uar);
	place(nic->cold_uars, &nic->ncold, uar);
	uar->hot = false;
}

static void use(struct nm_nic *nic, struct nm_uar *uar)
{
	nic->new_queue = true;
	uar->rang_ns = nm_now(nic); /* it is about to */
	if (uar->active)
		return;
	uar->active = uar->hot = true;
	uar->sweep_after_ns = SWEEP_NS;
	place(nic->hot_uars, &nic->nhot, uar);
}

/* The page is looked at as long as another queue uses it. */
static void unuse(struct nm_nic *nic, struct nm_uar *uar)
{
	if (uar->nqps || uar->cqs)
		return;
	assert(uar->active);
	if (uar->hot)
		displace(nic->hot_uars, &nic->nhot, uar);
	else
		displace(nic->cold_uars, &nic->ncold, uar);
	uar->active = uar->hot = uar->sweeping = false;
	uar->sweep_ns = 0;
}

int nm_uar_reserve_qp(struct nm_uar *uar)
{
	uint32_t cap = uar->qps_cap ? 2 * uar->qps_cap : 4;
	struct nm_swept *qps;

	if (uar->nqps < uar->qps_cap)
		return 0;
	qps = realloc(uar->qps, cap * sizeof(*qps));
	if (!qps)
		return -ENOMEM;
	uar->qps = qps;
	uar->qps_cap = cap;
	return 0;
}

void nm_uar_add_qp(struct nm_qp *qp)
{
	struct nm_uar *uar = qp->uar;
	bool alike = qp->has_sq && !qp->no_dbr && qp->dbr.flat;

	assert(uar->nqps < uar->qps_cap);
	qp->uar_place = uar->nqps++;
	uar->qps[qp->uar_place] = (struct nm_swept){.record = alike ? qp->dbr.flat + 1 : NULL,
						    .space = qp->dbr.space,
						    .qp = qp,
						    .seen = qp->dbr.cache[1]};
	use(qp->obj.nic, uar);
}

static void move_swept(struct nm_uar *uar, uint32_t to, uint32_t from)
{
	uar->qps[to] = uar->qps[from];
	uar->qps[to].qp->uar_place = to;
}

void nm_uar_remove_qp(struct nm_qp *qp)
{
	struct nm_uar *uar = qp->uar;
	uint32_t hole = qp->uar_place;

	assert(uar->qps[hole].qp == qp);
	/* What a sweep has not seen stays behind the place that it has reached. */
	if (hole < uar->sweep_qp) {
		move_swept(uar, hole, --uar->sweep_qp);
		hole = uar->sweep_qp;
	}
	move_swept(uar, hole, --uar->nqps);
	unuse(qp->obj.nic, uar);
}

void nm_uar_ask_record(struct nm_qp *qp)
{
	if (qp->uar)
		qp->uar->qps[qp->uar_place].asked = true;
}

void nm_uar_saw_record(struct nm_qp *qp)
{
	struct nm_swept *swept = &qp->uar->qps[qp->uar_place];

	swept->seen = qp->dbr.cache[1];
	swept->asked = false;
}

void nm_uar_add_cq(struct nm_cq *cq)
{
	nm_link_add(&cq->uar->cqs, &cq->uar_link);
	use(cq->obj.nic, cq->uar);
}

void nm_uar_remove_cq(struct nm_cq *cq)
{
	struct nm_uar *uar = cq->uar;

	if (uar->sweep_cq == &cq->uar_link)
		uar->sweep_cq = cq->uar_link.next;
	nm_link_del(&cq->uar_link);
	unuse(cq->obj.nic, uar);
}

static bool is_alone_without_record(const struct nm_uar *uar)
{
	return uar->nqps == 1 && uar->qps[0].qp->no_dbr;
}

/*
 * What a sweep finds without a record is a slot that names the queue, and that may be one that its
 * program is just writing. Where queues overwrite each other's rings there is nothing better. A
 * queue that has its page to itself loses a ring only to an older one of its own, from callers that
 * ring out of order; it is swept when nobody has rung for so long that no writer can be half-way.
 */
static uint64_t sweep_delay_ns(const struct nm_uar *uar)
{
	return is_alone_without_record(uar) ? SWEEP_ALONE_NS : uar->sweep_after_ns;
}

/* A sweep is due a while after this ring, unless one is due already. */
static void rang(struct nm_uar *uar, uint64_t now_ns)
{
	uar->rang_ns = now_ns;
	if (!uar->sweep_ns || is_alone_without_record(uar))
		uar->sweep_ns = now_ns + sweep_delay_ns(uar);
}

/* ---- what a ring means ---- */

static void ring_sq(struct nm_nic *nic, struct nm_uar *uar, uint32_t offset, uint64_t value)
{
	/* Only 16 bits of the index count: GPUNetIO lets more of its counter through. */
	uint16_t index = (uint16_t)(value >> 40);
	uint32_t qpn = (uint32_t)value >> 8;
	struct nm_qp *qp = (struct nm_qp *)nm_obj_get(nic, NM_OBJ_QP, qpn);

	if (!qp || !qp->rc || !qp->has_sq) {
		nm_diagnose(nic, NM_DIAG_DOORBELL_TARGET, qpn,
			    "the doorbell 0x%016llx at offset 0x%x of UAR page %u names QP 0x%06x, "
			    "which %s: "
			    "ignored",
			    (unsigned long long)value, offset, uar->obj.number, qpn,
			    qp ? "has no send queue" : "does not exist");
		return;
	}
	if (qp->uar != uar)
		nm_diagnose(nic, NM_DIAG_DOORBELL_PAGE, qpn,
			    "QP 0x%06x belongs to UAR page %u, its doorbell was rung on page %u",
			    qpn, qp->uar->obj.number, uar->obj.number);
	if (qp->state == PRM_QP_RST) {
		nm_diagnose(nic, NM_DIAG_DOORBELL_STATE, qpn,
			    "the doorbell of QP 0x%06x was rung in RESET: ignored", qpn);
		return;
	}
	rc_req_candidate(qp, index, "the doorbell");
	rc_req_look(qp, false);
}

static void ring_cq(struct nm_nic *nic, struct nm_uar *uar, uint32_t offset, uint64_t value)
{
	uint32_t cqn = (uint32_t)value & 0xffffff;
	struct nm_cq *cq = (struct nm_cq *)nm_obj_get(nic, NM_OBJ_CQ, cqn);

	if (!cq) {
		nm_diagnose(nic, NM_DIAG_DOORBELL_TARGET, 0,
			    "the doorbell 0x%016llx at offset 0x%x of UAR page %u arms CQ 0x%06x, "
			    "which does "
			    "not exist: ignored",
			    (unsigned long long)value, offset, uar->obj.number, cqn);
		return;
	}
	nm_cq_arm(cq, (uint32_t)(value >> 32));
}

/* False: the fault hook wants that nobody rang. */
static bool ring(struct nm_nic *nic, struct nm_uar *uar, uint32_t offset, uint64_t value)
{
	struct nm_event ev = {
		.kind = NM_EV_DOORBELL,
		.qpn = offset >= PRM_UAR_SQ_NO_DBR ? (uint32_t)value >> 8 : 0,
		.doorbell = {.uar_page = uar->obj.number, .offset = offset, .value = value},
	};

	if (nm_watched(nic, NM_EV_DOORBELL) && nm_point(nic, &ev) == NM_DROP)
		return false;
	nic->counters.doorbells++;
	switch (offset) {
	case PRM_UAR_CQ_ARM:
		ring_cq(nic, uar, offset, value);
		break;
	case PRM_UAR_EQ_ARM:
	case PRM_UAR_EQ_CI:
		nm_eq_doorbell(nic, (uint32_t)(value >> 32));
		break;
	default:
		ring_sq(nic, uar, offset, value);
		break;
	}
	return true;
}

void nm_nic_doorbell(struct nm_nic *nic, uint32_t uar_page, uint32_t offset, uint64_t value)
{
	struct nm_uar *uar = (struct nm_uar *)nm_obj_get(nic, NM_OBJ_UAR, uar_page);
	bool known = offset == PRM_UAR_CQ_ARM || offset == PRM_UAR_EQ_ARM ||
		     offset == PRM_UAR_EQ_CI || offset == PRM_UAR_SQ_NO_DBR ||
		     (offset >= PRM_UAR_BF && offset < BF_END && offset % 8 == 0);

	if (!uar || !known) {
		nm_diagnose(nic, NM_DIAG_DOORBELL_PLACE, 0,
			    "a write of 0x%016llx to offset 0x%x of UAR page %u, %s: ignored",
			    (unsigned long long)value, offset, uar_page,
			    uar ? "where no doorbell is" : "which is not allocated");
		return;
	}
	if (ring(nic, uar, offset, value) && uar->active && !nic->config.doorbells_trapped)
		rang(uar, nm_now(nic));
}

/* ---- the registers ---- */

/* Takes what is in an 8-byte register; false: nothing. */
static bool take64(struct nm_uar *uar, uint32_t offset, uint64_t *value)
{
	uint64_t *reg = (uint64_t *)(void *)(uar->page + offset);

	if (__atomic_load_n(reg, __ATOMIC_RELAXED) == 0)
		return false;
	*value = be64toh(__atomic_exchange_n(reg, 0, __ATOMIC_ACQUIRE));
	return true;
}

static bool take32(struct nm_uar *uar, uint32_t offset, uint64_t *value)
{
	uint32_t *reg = (uint32_t *)(void *)(uar->page + offset);

	if (__atomic_load_n(reg, __ATOMIC_RELAXED) == 0)
		return false;
	*value = (uint64_t)be32toh(__atomic_exchange_n(reg, 0, __ATOMIC_ACQUIRE)) << 32;
	return true;
}

static bool poll_register(struct nm_nic *nic, struct nm_uar *uar, uint32_t offset,
			  bool (*take)(struct nm_uar *, uint32_t, uint64_t *))
{
	bool rang = false;
	uint64_t value;

	for (uint32_t i = 0; i < DOORBELLS_PER_POLL && take(uar, offset, &value); i++)
		rang |= ring(nic, uar, offset, value);
	return rang;
}

/* Is there anything in the page's registers? All loads together: most pages are silent. */
static bool any_register(const struct nm_uar *uar)
{
	uint64_t all = __atomic_load_n((uint64_t *)(void *)(uar->page + PRM_UAR_SQ_NO_DBR),
				       __ATOMIC_RELAXED);

	for (uint32_t offset = PRM_UAR_BF; offset < BF_END; offset += BF_STEP)
		all |= __atomic_load_n((uint64_t *)(void *)(uar->page + offset), __ATOMIC_RELAXED);
	all |= __atomic_load_n((uint64_t *)(void *)(uar->page + PRM_UAR_CQ_ARM), __ATOMIC_RELAXED);
	all |= __atomic_load_n((uint32_t *)(void *)(uar->page + PRM_UAR_EQ_ARM), __ATOMIC_RELAXED);
	all |= __atomic_load_n((uint32_t *)(void *)(uar->page + PRM_UAR_EQ_CI), __ATOMIC_RELAXED);
	return all != 0;
}

static bool poll_page(struct nm_nic *nic, struct nm_uar *uar)
{
	bool any = false;

	if (!any_register(uar))
		return false;
	any |= poll_register(nic, uar, PRM_UAR_SQ_NO_DBR, take64);
	for (uint32_t offset = PRM_UAR_BF; offset < BF_END; offset += BF_STEP)
		any |= poll_register(nic, uar, offset, take64);
	any |= poll_register(nic, uar, PRM_UAR_CQ_ARM, take64);
	any |= poll_register(nic, uar, PRM_UAR_EQ_ARM, take32);
	any |= poll_register(nic, uar, PRM_UAR_EQ_CI, take32);
	return any;
}

void nm_uar_take(struct nm_qp *qp)
{
	if (qp->uar && poll_page(qp->obj.nic, qp->uar))
		rang(qp->uar, nm_now(qp->obj.nic));
	if (qp->rc && qp->has_sq)
		(void)rc_req_dbr(qp);
}

/* ---- rings that others have overwritten: the records know ---- */

static bool sq_sweepable(const struct nm_qp *qp)
{
	return qp->rc && qp->has_sq && qp->state != PRM_QP_RST;
}

/* A stretch of a sweep: queues whose record is as it was when it was last read. */
struct silent_sqs {
	const struct nm_swept *volatile at; /* where it ends, also if the record there is gone */
	const struct nm_swept *end;
	struct nm_space *space; /* of all their records */
};

static NM_MAY_FAULT void silent_qps(void *arg)
{
	struct silent_sqs *s = arg;
	const struct nm_swept *end = s->end;

	for (const struct nm_swept *at = s->at; at < end; at++) {
		s->at = at;
		if (end - at > SWEEP_AHEAD)
			__builtin_prefetch((const void *)(uintptr_t)at[SWEEP_AHEAD].record);
		if (!at->record || at->space != s->space)
			return;
		if (!at->asked && *at->record != at->seen)
			return;
	}
	s->at = end;
}

/* Passes queues of silent records; *left of them at most. An observer of memory accesses gets to
 * see each look. */
static void skip_silent_qps(struct nm_uar *uar, uint32_t *left)
{
	const struct nm_swept *from = &uar->qps[uar->sweep_qp];
	uint32_t n = uar->nqps - uar->sweep_qp;
	struct silent_sqs s = {.at = from, .space = from->space};

	if (!from->record || nm_watched(uar->obj.nic, NM_EV_DMA))
		return;
	s.end = from + (n < *left ? n : *left);
	if (s.space->ops->guarded)
		(void)s.space->ops->guarded(silent_qps, &s);
	else
		silent_qps(&s);
	n = (uint32_t)(s.at - from);
	uar->sweep_qp += n;
	uar->swept += n;
	*left -= n;
}

static void sweep_qps(struct nm_uar *uar, uint32_t *left)
{
	while (uar->sweep_qp < uar->nqps && *left) {
		const struct nm_swept *swept;

		skip_silent_qps(uar, left);
		if (uar->sweep_qp == uar->nqps || !*left)
			return;
		swept = &uar->qps[uar->sweep_qp++];
		uar->swept++;
		(*left)--;
		if (!sq_sweepable(swept->qp))
			continue;
		uar->found += swept->record && !swept->asked;
		rc_req_look(swept->qp, true);
	}
}

/* The same for arms; most programs have few CQs. */
struct silent_cqs {
	struct nm_link *volatile at;
	struct nm_space *space;
	uint32_t left; /* queues at most */
};

static NM_MAY_FAULT void silent_cqs(void *arg)
{
	struct silent_cqs *s = arg;

	while (s->at && s->left) {
		struct nm_link *l = s->at;
		const struct nm_cq *cq = NM_OF(l, const struct nm_cq, uar_link);

		if (!cq->dbr.flat || cq->dbr.space != s->space ||
		    be32toh(cq->dbr.flat[1]) != cq->arm_seen)
			return;
		s->at = l->next;
		s->left--;
	}
}

static void skip_silent_cqs(struct nm_uar *uar, uint32_t *left)
{
	const struct nm_cq *cq = NM_OF(uar->sweep_cq, struct nm_cq, uar_link);
	struct silent_cqs s = {.at = uar->sweep_cq, .space = cq->dbr.space, .left = *left};

	if (!s.space || nm_watched(uar->obj.nic, NM_EV_DMA))
		return;
	if (s.space->ops->guarded)
		(void)s.space->ops->guarded(silent_cqs, &s);
	else
		silent_cqs(&s);
	for (; uar->sweep_cq != s.at; uar->sweep_cq = uar->sweep_cq->next) {
		uar->swept++;
		(*left)--;
	}
}

static void sweep_cqs(struct nm_uar *uar, uint32_t *left)
{
	while (uar->sweep_cq && *left) {
		struct nm_cq *cq;

		skip_silent_cqs(uar, left);
		if (!uar->sweep_cq || !*left)
			return;
		cq = NM_OF(uar->sweep_cq, struct nm_cq, uar_link);
		uar->sweep_cq = uar->sweep_cq->next;
		uar->swept++;
		(*left)--;
		nm_cq_check_arm(cq);
	}
}

/*
 * When the next sweep comes. Where many queues share a page and keep losing rings to each other,
 * sweeps are what serves them, one after the other; where they are silent, looking at them all is
 * nearly all that the NIC would do, so the next sweep comes the later the more they are.
 */
static void sweep_done(struct nm_uar *uar, uint64_t now_ns)
{
	uint64_t quiet_ns = (uint64_t)uar->swept * SWEEP_COST_NS;

	uar->sweeping = false;
	uar->sweep_qp = 0;
	uar->sweep_after_ns = uar->found * SWEEP_FRUITFUL >= uar->swept || quiet_ns < SWEEP_NS
				      ? SWEEP_NS
				      : quiet_ns;
	if (uar->found)
		uar->losing = SWEEP_LOSING;
	else if (uar->losing)
		uar->losing--;
	/* Who overwrote a ring rang, so without a ring since it began nothing was lost. */
	if (uar->sweep_ns)
		uar->sweep_ns = now_ns + sweep_delay_ns(uar);
}

/* A part of a sweep. */
static void sweep(struct nm_uar *uar, uint64_t now_ns)
{
	uint32_t left = SWEEP_STEP;

	if (!uar->sweeping) {
		uar->sweeping = true;
		uar->sweep_qp = 0;
		uar->sweep_cq = uar->cqs;
		uar->swept = uar->found = 0;
		uar->sweep_ns = 0; /* a ring from now on asks for another one */
	}
	sweep_qps(uar, &left);
	sweep_cqs(uar, &left);
	if (uar->sweep_qp == uar->nqps && !uar->sweep_cq)
		sweep_done(uar, now_ns);
}

/* At its time; where rings are being lost, as soon as there is nothing else to do. */
static bool sweep_due(const struct nm_uar *uar, uint64_t now_ns)
{
	if (!uar->sweep_ns)
		return false;
	return uar->sweep_ns <= now_ns || (uar->losing && uar->obj.nic->idle);
}

/* A page that is looked at: true if it rang. */
static bool look(struct nm_nic *nic, struct nm_uar *uar, uint64_t now_ns, uint64_t *next_ns)
{
	bool any = poll_page(nic, uar);

	if (any)
		rang(uar, now_ns);
	if (uar->sweeping || sweep_due(uar, now_ns))
		sweep(uar, now_ns);
	if (uar->sweeping)
		*next_ns = now_ns;
	else if (uar->sweep_ns && uar->sweep_ns < *next_ns)
		*next_ns = uar->sweep_ns;
	return any;
}

/* As many cold pages as the time since the last ones asks for. */
static bool look_at_cold(struct nm_nic *nic, uint64_t now_ns, uint64_t *next_ns)
{
	uint64_t since_ns = now_ns - nic->cold_ns;
	uint64_t due = since_ns < COLD_NS ? nic->ncold * since_ns / COLD_NS : nic->ncold;
	bool any = false;

	/* The part of a page that is due stays due. */
	if (due == nic->ncold)
		nic->cold_ns = now_ns;
	else
		nic->cold_ns += due * COLD_NS / nic->ncold;
	while (due-- && nic->ncold) {
		struct nm_uar *uar;

		if (nic->next_cold >= nic->ncold)
			nic->next_cold = 0;
		uar = nic->cold_uars[nic->next_cold];
		if (look(nic, uar, now_ns, next_ns)) {
			any = true;
			warm_up(nic, uar); /* another page takes its place */
		} else {
			nic->next_cold++;
		}
	}
	return any;
}

bool nm_doorbell_poll(struct nm_nic *nic, uint64_t now_ns, uint64_t *next_ns)
{
	bool any = false;

	if (nic->config.doorbells_trapped)
		return false;
	for (uint32_t i = 0; i < nic->nhot;) {
		struct nm_uar *uar = nic->hot_uars[i];

		any |= look(nic, uar, now_ns, next_ns);
		if (nic->nhot > HOT_MIN && now_ns - uar->rang_ns > HOT_NS && !uar->sweep_ns &&
		    !uar->sweeping)
			cool_down(nic, uar);
		else
			i++;
	}
	return look_at_cold(nic, now_ns, next_ns) || any;
}
