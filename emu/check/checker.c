// SPDX-License-Identifier: BSD-3-Clause
#include "emu/check/checker.h"

#include <endian.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/nicmodel/cq.h"
#include "emu/nicmodel/wqe.h"
#include "emu/space/space.h"
#include "prm/prm.h"

enum {
	INDEX_MASK = 0xffffff, /* of CQs */
	PRINTED = 2,	       /* findings of one rule and queue that are written out */
	CTRL_DS = 7,	       /* bytes of the control segment: octowords, in bits 5:0 */
	CTRL_CE = 11,	       /* fm_ce_se */
	QPS = 64,	       /* at a time, at the end */
};

struct counted {
	uint32_t printed, more;
};

/* A QP, as far as it has been seen; number 0 is for what concerns none. */
struct queue {
	uint32_t qpn; /* first: the key */
	uint8_t st;
	bool reused; /* it was reset: the ring may hold WQEs of its earlier life */
	uint32_t peer;
	uint32_t bbs;	       /* 0: nothing was fetched yet */
	uint8_t *copies;       /* of the ring, as the NIC fetched it */
	uint16_t done;	       /* first WQEBB whose completion the program has not been told of */
	uint16_t fetched;      /* one behind the last WQEBB that is in `copies` */
	uint32_t unsigned_bbs; /* fetched since the last WQE that asks for a CQE */
	bool has_error;	       /* its first error completion: */
	uint32_t error_cqn, error_index;
	struct counted counted[RULES];
};

/* A CQ's consumer index as it was when a CQE was last written. */
struct consumer {
	uint32_t cqn; /* first: the key */
	uint32_t index;
	struct counted counted[RULES];
};

struct checker {
	struct nm_observer observer;
	struct findings *findings;
	char nic_name[64];
	void *queues, *consumers; /* tsearch() */
	struct queue *last;	  /* most events follow one of the same QP */
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The one with this key; made, of `size` bytes, if it is not there. NULL: no memory. */
static void *find_or_make(void **root, uint32_t key, size_t size)
{
	void **node = tfind(&key, root, by_number), *made;

	if (node)
		return *node;
	made = calloc(1, size);
	if (!made)
		return NULL;
	memcpy(made, &key, sizeof(key));
	node = tsearch(made, root, by_number);
	if (node)
		return made;
	free(made);
	return NULL;
}

static struct queue *queue_of(struct checker *c, struct nm_nic *nic, uint32_t qpn)
{
	struct nm_qp_info info;
	struct queue *q;

	if (c->last && c->last->qpn == qpn)
		return c->last;
	q = find_or_make(&c->queues, qpn, sizeof(*q));
	if (!q)
		return NULL;
	if (nm_nic_qps(nic, qpn, &info, 1) && info.qpn == qpn) {
		q->st = info.st;
		q->peer = info.remote_qpn;
	}
	c->last = q;
	return q;
}

/* The ring is empty again. */
static void empty(struct queue *q)
{
	free(q->copies);
	q->copies = NULL;
	q->bbs = 0;
	q->unsigned_bbs = 0;
	q->has_error = false;
}

static void forget(struct checker *c, struct queue *q)
{
	tdelete(q, &c->queues, by_number);
	c->last = NULL;
	empty(q);
	free(q);
}

/* ---- saying it ---- */

/* ---- the program's memory, which may be gone ---- */

static bool read_word(const volatile uint32_t *from, uint32_t *value)
{
	uint32_t word;

	if (!from || space_guarded_copy(&word, (const void *)(uintptr_t)from, sizeof(word)))
		return false;
	*value = be32toh(word);
	return true;
}

static bool read_slot(const struct nm_sq_view *view, uint16_t index, uint8_t bb[PRM_WQEBB_SIZE])
{
	return view->ring &&
	       !space_guarded_copy(bb,
				   view->ring + (size_t)(index & (view->bbs - 1)) * PRM_WQEBB_SIZE,
				   PRM_WQEBB_SIZE);
}

/* ---- saying it ---- */

/* The WQEBB of that index: as it was fetched, else as it lies in the ring now. */
static bool find_bb(const struct queue *q, const struct nm_sq_view *view, uint16_t index,
		    uint8_t bb[PRM_WQEBB_SIZE])
{
	uint16_t age = (uint16_t)(q->fetched - index);

	if (!q->bbs || !age || age > q->bbs)
		return read_slot(view, index, bb);
	memcpy(bb, q->copies + (size_t)(index & (q->bbs - 1)) * PRM_WQEBB_SIZE, PRM_WQEBB_SIZE);
	return true;
}

/* What is known of the WQE at wqe_idx, into the finding: bytes in `wqe`, meaning in `text`. */
static void describe(const struct queue *q, const struct nm_sq_view *view, uint16_t wqe_idx,
		     uint8_t wqe[FINDING_WQE_MAX], char text[FINDING_TEXT_MAX], struct finding *g)
{
	uint32_t bbs = 1;

	for (uint32_t i = 0; i < bbs && i < view->bbs; i++) {
		if (!find_bb(q, view, (uint16_t)(wqe_idx + i), wqe + (size_t)i * PRM_WQEBB_SIZE))
			return;
		if (i == 0)
			bbs = ((wqe[CTRL_DS] & 0x3fu) + NM_WQEBB_OCTOWORDS - 1) /
			      NM_WQEBB_OCTOWORDS;
		g->wqe_len = (i + 1) * PRM_WQEBB_SIZE;
	}
	g->has_wqe = true;
	g->wqe_idx = wqe_idx;
	g->slot = wqe_idx & (view->bbs - 1);
	g->wqe = wqe;
	finding_wqe_text(text, FINDING_TEXT_MAX, q->st, q->qpn, wqe_idx, wqe, g->wqe_len);
	g->wqe_text = text;
}

static bool is_new(struct counted *counted)
{
	if (counted->printed < PRINTED) {
		counted->printed++;
		return true;
	}
	counted->more++;
	return false;
}

static void fire(struct checker *c, struct nm_nic *nic, enum rule_number rule, struct queue *q,
		 const uint16_t *wqe_idx, const char *what)
{
	struct nm_sq_view view;
	struct finding g = {
		.rule = rule, .nic = c->nic_name, .qpn = q->qpn, .peer_qpn = q->peer, .st = q->st};
	uint8_t wqe[FINDING_WQE_MAX];
	char text[FINDING_TEXT_MAX];

	if (!is_new(&q->counted[rule]))
		return;
	g.what = what;
	if (wqe_idx && nm_nic_sq(nic, q->qpn, &view))
		describe(q, &view, *wqe_idx, wqe, text, &g);
	findings_put(c->findings, &g);
}

static void fire_cq(struct checker *c, enum rule_number rule, struct consumer *k, const char *what)
{
	const struct finding g = {.rule = rule, .nic = c->nic_name, .cqn = k->cqn, .what = what};

	if (is_new(&k->counted[rule]))
		findings_put(c->findings, &g);
}

/* ---- send queues ---- */

static bool begin(struct queue *q, struct nm_nic *nic, uint16_t wqe_idx)
{
	struct nm_sq_view view;

	if (q->bbs)
		return true;
	if (!nm_nic_sq(nic, q->qpn, &view))
		return false;
	q->copies = malloc((size_t)view.bbs * PRM_WQEBB_SIZE);
	if (!q->copies)
		return false;
	q->bbs = view.bbs;
	q->done = q->fetched = wqe_idx;
	return true;
}

static void on_fetch(struct checker *c, const struct nm_event *ev)
{
	struct queue *q = queue_of(c, ev->nic, ev->qpn);
	uint32_t bbs = (uint32_t)(ev->fetch.len / PRM_WQEBB_SIZE);
	const uint8_t *wqe = ev->fetch.wqe;
	char what[FINDING_TEXT_MAX];

	if (ev->fetch.receive || !q || !begin(q, ev->nic, ev->fetch.wqe_idx))
		return;
	for (uint32_t i = 0; i < bbs; i++)
		memcpy(q->copies +
			       (size_t)((ev->fetch.wqe_idx + i) & (q->bbs - 1)) * PRM_WQEBB_SIZE,
		       wqe + (size_t)i * PRM_WQEBB_SIZE, PRM_WQEBB_SIZE);
	q->fetched = (uint16_t)(ev->fetch.wqe_idx + bbs);
	if (((wqe[CTRL_CE] >> 2) & 3) >= NM_CE_ALWAYS) {
		q->unsigned_bbs = 0;
		return;
	}
	q->unsigned_bbs += bbs;
	if (q->unsigned_bbs < q->bbs)
		return;
	snprintf(what, sizeof(what),
		 "expected a WQE with ce set among each %u WQEBBs, the size of the ring; none of "
		 "the "
		 "last %u WQEBBs has it",
		 q->bbs, q->unsigned_bbs);
	fire(c, ev->nic, RULE_NO_SIGNAL, q, &ev->fetch.wqe_idx, what);
	q->unsigned_bbs = 0;
}

/* Where two WQEBBs differ first: the byte, or -1. */
static int differs(const uint8_t *a, const uint8_t *b)
{
	for (int i = 0; i < (int)PRM_WQEBB_SIZE; i++)
		if (a[i] != b[i])
			return i;
	return -1;
}

/*
 * The program is about to be told that WQE `wqe_idx` and all before it are done: until now it must
 * not have touched them.
 */
static void compare_slots(struct checker *c, struct queue *q, struct nm_nic *nic, uint16_t wqe_idx)
{
	const struct nm_sq_ring ring = {.base = q->copies, .bbs = q->bbs, .st = q->st};
	struct nm_sq_view view;
	uint16_t end;

	if (!q->bbs || (uint16_t)(q->fetched - wqe_idx) > q->bbs || !nm_nic_sq(nic, q->qpn, &view))
		return;
	end = (uint16_t)(wqe_idx + nm_wqe_bbs(&ring, wqe_idx));
	if ((uint16_t)(end - q->done) >= 0x8000)
		return; /* behind the last one */
	if ((uint16_t)(end - q->done) > q->bbs)
		q->done = end; /* not seen whole */
	for (; q->done != end; q->done++) {
		const uint8_t *was = q->copies + (size_t)(q->done & (q->bbs - 1)) * PRM_WQEBB_SIZE;
		uint8_t bb[PRM_WQEBB_SIZE];
		char what[FINDING_TEXT_MAX];
		uint16_t idx = q->done;
		int at;

		if (!read_slot(&view, q->done, bb)) {
			q->done = end;
			return;
		}
		at = differs(was, bb);
		if (at < 0)
			continue;
		snprintf(what, sizeof(what),
			 "slot %u was fetched as WQE index %u and its completion is not written "
			 "yet; "
			 "byte %d was 0x%02x then and is 0x%02x now, its control segment reads "
			 "%08x %08x",
			 idx & (q->bbs - 1), idx, at, was[at], bb[at], prm_load32(bb),
			 prm_load32(bb + 4));
		fire(c, nic, RULE_SLOT_CHANGED, q, &idx, what);
	}
}

/* What is left behind when nobody will ring any more. */
static void check_unrung(struct checker *c, struct nm_nic *nic, struct queue *q,
			 const struct nm_sq_view *view)
{
	char what[FINDING_TEXT_MAX];
	uint8_t bb[PRM_WQEBB_SIZE];
	uint32_t record;

	if (!view->no_dbr && read_word(view->record ? &view->record[1] : NULL, &record)) {
		uint16_t ahead = (uint16_t)(record - view->pi);

		if (ahead && ahead <= view->bbs) {
			snprintf(
				what, sizeof(what),
				"the doorbell record says producer index %u, the last one that the "
				"NIC was told is %u: %u WQEBBs were never rung for",
				record & 0xffff, view->pi, ahead);
			fire(c, nic, RULE_NOT_RUNG, q, NULL, what);
			return;
		}
		if (ahead >= 0x8000) {
			snprintf(what, sizeof(what),
				 "the last doorbell says producer index %u, the record still %u",
				 view->pi, record & 0xffff);
			fire(c, nic, RULE_RECORD_BEHIND, q, NULL, what);
		}
	}
	if (q->reused || !read_slot(view, view->pi, bb) || !(bb[CTRL_DS] & 0x3f) ||
	    (uint16_t)(prm_load32(bb) >> 8) != view->pi || prm_load32(bb + 4) >> 8 != q->qpn)
		return;
	snprintf(what, sizeof(what),
		 "slot %u holds a WQE of index %u for this QP, and the producer index that the NIC "
		 "was "
		 "told is %u",
		 view->pi & (view->bbs - 1), view->pi, view->pi);
	fire(c, nic, RULE_NOT_RUNG, q, NULL, what);
}

static void check_unread(struct checker *c, struct nm_nic *nic, struct queue *q)
{
	struct nm_cq_view cq;
	char what[FINDING_TEXT_MAX];
	uint32_t consumer;

	if (!q->has_error || !nm_nic_cq(nic, q->error_cqn, &cq) || cq.collapsed ||
	    cq.overrun_ignore || !read_word(cq.record, &consumer))
		return;
	if (((q->error_index - consumer) & INDEX_MASK) > INDEX_MASK / 2)
		return; /* behind the consumer */
	snprintf(
		what, sizeof(what),
		"the error CQE of this QP is entry %u of CQ 0x%x, whose consumer index is still %u",
		q->error_index, q->error_cqn, consumer & INDEX_MASK);
	fire(c, nic, RULE_ERROR_UNREAD, q, NULL, what);
}

static void check_end(struct checker *c, struct queue *q, struct nm_nic *nic)
{
	struct nm_sq_view view;

	if (nm_nic_sq(nic, q->qpn, &view))
		check_unrung(c, nic, q, &view);
	check_unread(c, nic, q);
}

static void sum_up(struct checker *c, const struct counted counted[RULES], uint32_t number,
		   const char *what)
{
	for (unsigned int i = 1; i < RULES; i++) {
		char line[128];
		int n;

		if (!counted[i].more)
			continue;
		n = snprintf(line, sizeof(line), "gdakit: R%02u: %u more like this on %s 0x%x\n", i,
			     counted[i].more, what, number);
		(void)!write(c->findings->people, line, (size_t)n);
	}
}

static void on_state(struct checker *c, const struct nm_event *ev)
{
	struct queue *q = queue_of(c, ev->nic, ev->qpn);
	struct nm_qp_info info;

	if (!q)
		return;
	if (ev->state.to == PRM_QP_RTR && nm_nic_qps(ev->nic, ev->qpn, &info, 1))
		q->peer = info.remote_qpn;
	if (ev->state.to != PRM_QP_RST && ev->state.to != NM_QP_GONE)
		return;
	if (ev->state.from != PRM_QP_RST && ev->state.from != PRM_QP_INIT)
		check_end(c, q, ev->nic);
	if (ev->state.to == PRM_QP_RST) {
		q->reused = true;
		empty(q);
		return;
	}
	sum_up(c, q->counted, q->qpn, "QP");
	forget(c, q);
}

/* ---- completions ---- */

static void check_consumer(struct checker *c, const struct nm_event *ev)
{
	struct consumer *k = find_or_make(&c->consumers, ev->cqe.cqn, sizeof(*k));
	struct nm_cq_view cq;
	char what[FINDING_TEXT_MAX];
	uint32_t consumer, ahead;

	if (!k || !nm_nic_cq(ev->nic, ev->cqe.cqn, &cq) || cq.collapsed || cq.overrun_ignore ||
	    !read_word(cq.record, &consumer))
		return;
	consumer &= INDEX_MASK;
	ahead = (consumer - cq.producer) & INDEX_MASK;
	if (ahead && ahead <= INDEX_MASK / 2) {
		snprintf(what, sizeof(what),
			 "the record says consumer index %u, the producer's is %u", consumer,
			 cq.producer);
		fire_cq(c, RULE_CONSUMER_AHEAD, k, what);
	}
	ahead = (k->index - consumer) & INDEX_MASK;
	if (ahead && ahead <= INDEX_MASK / 2) {
		snprintf(what, sizeof(what), "the record said consumer index %u, now it says %u",
			 k->index, consumer);
		fire_cq(c, RULE_CONSUMER_BACK, k, what);
	}
	k->index = consumer;
}

static void on_cqe(struct checker *c, const struct nm_event *ev)
{
	const uint8_t *cqe = ev->cqe.cqe;
	uint8_t opcode = cqe[PRM_CQE_OP_OWN] >> 4;
	struct queue *q = queue_of(c, ev->nic, ev->qpn);
	uint16_t wqe_idx = (uint16_t)(cqe[PRM_CQE_WQE_COUNTER] << 8 | cqe[PRM_CQE_WQE_COUNTER + 1]);

	check_consumer(c, ev);
	if (!q || !q->qpn)
		return;
	if (opcode == PRM_CQE_REQ)
		compare_slots(c, q, ev->nic, wqe_idx);
	if ((opcode == PRM_CQE_REQ_ERR || opcode == PRM_CQE_RESP_ERR) && !q->has_error &&
	    cqe[PRM_CQE_SYNDROME] != PRM_SYND_WR_FLUSH) {
		q->has_error = true;
		q->error_cqn = ev->cqe.cqn;
		q->error_index = ev->cqe.index;
	}
}

/* ---- the rest ---- */

static void on_diagnosis(struct checker *c, const struct nm_event *ev)
{
	enum rule_number rule = rule_of(ev->diagnosis.code);
	struct queue *q;

	if (rule == RULE_NONE)
		return;
	q = queue_of(c, ev->nic, ev->qpn);
	if (q)
		fire(c, ev->nic, rule, q, ev->diagnosis.has_wqe ? &ev->diagnosis.wqe_idx : NULL,
		     ev->why ? ev->why : "");
}

static void (*const handlers[NM_EV_KINDS])(struct checker *c, const struct nm_event *ev) = {
	[NM_EV_FETCH] = on_fetch,
	[NM_EV_CQE] = on_cqe,
	[NM_EV_STATE] = on_state,
	[NM_EV_DIAGNOSIS] = on_diagnosis,
};

static void on_event(void *ctx, const struct nm_event *ev)
{
	if (handlers[ev->kind])
		handlers[ev->kind](ctx, ev);
}

struct checker *checker_new(struct findings *findings, const char *nic_name)
{
	struct checker *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->findings = findings;
	snprintf(c->nic_name, sizeof(c->nic_name), "%s", nic_name);
	c->observer.ctx = c;
	c->observer.event = on_event;
	for (unsigned int kind = 0; kind < NM_EV_KINDS; kind++)
		c->observer.mask |= handlers[kind] ? 1u << kind : 0;
	return c;
}

struct nm_observer *checker_observer(struct checker *c)
{
	return &c->observer;
}

static void free_queue(void *q)
{
	free(((struct queue *)q)->copies);
	free(q);
}

void checker_abandon(struct checker *c)
{
	tdestroy(c->queues, free_queue);
	tdestroy(c->consumers, free);
	free(c);
}

static void end_consumer(const void *node, VISIT visit, void *arg)
{
	const struct consumer *k = *(struct consumer *const *)node;

	if (visit == preorder || visit == leaf)
		sum_up(arg, k->counted, k->cqn, "CQ");
}

void checker_end(struct checker *c, struct nm_nic *nic)
{
	struct nm_qp_info infos[QPS];
	struct queue *nobody;
	uint32_t from = 0, n;

	do {
		n = nm_nic_qps(nic, from, infos, QPS);
		for (uint32_t i = 0; i < n; i++) {
			struct queue *q = queue_of(c, nic, infos[i].qpn);

			from = infos[i].qpn + 1;
			if (!q)
				continue;
			if (infos[i].state != PRM_QP_RST && infos[i].state != PRM_QP_INIT)
				check_end(c, q, nic);
			sum_up(c, q->counted, q->qpn, "QP");
		}
	} while (n == QPS);
	twalk_r(c->consumers, end_consumer, c);
	nobody = queue_of(c, nic, 0);
	if (nobody)
		sum_up(c, nobody->counted, 0, "no queue,");
	checker_abandon(c);
}
