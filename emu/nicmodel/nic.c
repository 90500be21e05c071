/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC as a whole: create, the main loop, timers, observers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/cq.h"

enum {
	NM_POLL_NS =
		1000,	/* transfers under way and nothing else to do: look again after so long */
	NM_ROUNDS = 16, /* rounds in one progress, where time stands still (virtual clock) */
	NM_UAR_PAGES_MIN = 2,
};

/* Numbers and most objects of each type. Index 1 of the mkeys is not used: key 0x100 ends a scatter
 * list. */
static const struct {
	uint32_t first, limit;
} nm_numbers[NM_OBJ_TYPES] = {
	[NM_OBJ_PD] = {1, 1 << 15},
	[NM_OBJ_UAR] = {1, 0 /* config */},
	[NM_OBJ_TD] = {1, 1 << 10},
	[NM_OBJ_UCTX] = {1, 1 << 8},
	[NM_OBJ_UMEM] = {1, 1 << 16},
	[NM_OBJ_MKEY] = {0x100, 1 << 20},
	[NM_OBJ_EQ] = {1, 63},
	[NM_OBJ_CQ] = {0x80, 1 << 16},
	[NM_OBJ_QP] = {0x100, NM_RESERVED_QPN_FIRST - 0x100},
	[NM_OBJ_SRQ] = {1, 1 << 15},
	[NM_OBJ_XRCD] = {1, 1 << 15},
	[NM_OBJ_QCOUNTER] = {1, 255},
	[NM_OBJ_MEMIC] = {1, 1 << 12},
	[NM_OBJ_RESERVED_QPN] = {0, NM_RESERVED_QPN_RUNS},
};

static const char *config_fault(const struct nm_config *config, const struct nm_ops *ops)
{
	if (!config->uar_base || config->uar_pages < NM_UAR_PAGES_MIN)
		return "a NIC needs memory for at least 2 UAR pages (page 0 is not handed out)";
	if (config->uar_first >= config->uar_pages)
		return "the first UAR page that is handed out is not one of them";
	if ((uintptr_t)config->uar_base % PRM_UAR_PAGE_SIZE)
		return "the memory of the UAR pages is not aligned to 4096 bytes";
	if (config->memic_pages && (uintptr_t)config->memic_base % PRM_UAR_PAGE_SIZE)
		return "the device memory is not aligned to 4096 bytes";
	if (config->port_mtu < 1 || config->port_mtu > 5)
		return "the port MTU is 1 to 5 (256 to 4096 bytes)";
	if (config->qpn_prefix & ~UINT32_C(0xff0000))
		return "the prefix of QP numbers is their bits 23:16";
	if (!ops->now_ns || !ops->link_send)
		return "a NIC needs a clock and a link";
	return NULL;
}

static struct nm_nic *no_memory(const char **why)
{
	if (why)
		*why = "out of memory";
	errno = ENOMEM;
	return NULL;
}

struct nm_nic *nm_nic_create(const struct nm_config *config, const struct nm_ops *ops,
			     const char **why)
{
	const char *fault = config_fault(config, ops);
	struct nm_nic *nic;

	if (why)
		*why = fault;
	if (fault) {
		errno = EINVAL;
		return NULL;
	}
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return no_memory(why);
	nic->config = *config;
	nic->ops = *ops;
	snprintf(nic->name, sizeof(nic->name), "%s", config->name ? config->name : "nic");
	nic->config.name = nic->name;
	for (int type = 0; type < NM_OBJ_TYPES; type++) {
		nic->table[type].first = nm_numbers[type].first;
		nic->table[type].limit = nm_numbers[type].limit;
	}
	if (config->uar_first)
		nic->table[NM_OBJ_UAR].first = config->uar_first;
	nic->table[NM_OBJ_UAR].limit = config->uar_pages - nic->table[NM_OBJ_UAR].first;
	nic->table[NM_OBJ_QP].first |= config->qpn_prefix;
	nic->table[NM_OBJ_SRQ].first |= config->qpn_prefix;
	nm_null_mkey_init(nic);
	nm_memic_init(nic);
	nic->run_tail = &nic->run_head;
	nic->hot_uars = calloc(config->uar_pages, sizeof(struct nm_uar *));
	nic->cold_uars = calloc(config->uar_pages, sizeof(struct nm_uar *));
	if (!nic->hot_uars || !nic->cold_uars) {
		free(nic->hot_uars);
		free(nic->cold_uars);
		free(nic);
		return no_memory(why);
	}
	return nic;
}

void nm_nic_reset(struct nm_nic *nic)
{
	void (*event)(void *, uint32_t, uint32_t, const uint8_t *) = nic->ops.event;

	nic->ops.event = NULL;
	nm_obj_free_owned(nic, 0, true);
	nic->ops.event = event;
	nm_caps_reset(nic);
	nm_pages_reset(nic);
	nic->gid_valid = false;
	nic->port_cap_mask = 0;
	memset(nic->gid, 0, sizeof(nic->gid));
}

void nm_nic_destroy(struct nm_nic *nic)
{
	if (!nic)
		return;
	nic->observers = NULL;
	nic->fault = NULL;
	nic->point_mask = 0;
	nic->ops.event = NULL;
	nm_obj_free_owned(nic, 0, true);
	nm_caps_reset(nic);
	nm_pages_reset(nic);
	for (int type = 0; type < NM_OBJ_TYPES; type++) {
		assert(nic->table[type].count == 0);
		free(nic->table[type].slot);
	}
	assert(!nic->busy_cqs && !nic->held_cqs && !nic->busy_eqs && !nic->busy_srqs &&
	       !nic->run_head && !nic->ntimers);
	assert(!nic->nhot && !nic->ncold);
	free(nic->hot_uars);
	free(nic->cold_uars);
	free(nic->timers);
	free(nic);
}

const struct nm_config *nm_nic_config(const struct nm_nic *nic)
{
	return &nic->config;
}

const struct nm_counters *nm_nic_counters(const struct nm_nic *nic)
{
	return &nic->counters;
}

/* ---- observers and faults ---- */

static void points_update(struct nm_nic *nic)
{
	nic->point_mask = nic->fault ? nic->fault->mask : 0;
	for (struct nm_observer *o = nic->observers; o; o = o->next)
		nic->point_mask |= o->mask;
}

void nm_nic_add_observer(struct nm_nic *nic, struct nm_observer *obs)
{
	struct nm_observer **at = &nic->observers;

	while (*at)
		at = &(*at)->next;
	obs->next = NULL;
	*at = obs;
	points_update(nic);
}

void nm_nic_remove_observer(struct nm_nic *nic, struct nm_observer *obs)
{
	struct nm_observer **at = &nic->observers;

	while (*at && *at != obs)
		at = &(*at)->next;
	if (*at)
		*at = obs->next;
	points_update(nic);
}

void nm_nic_set_fault(struct nm_nic *nic, struct nm_fault *fault)
{
	nic->fault = fault;
	points_update(nic);
}

enum nm_verdict nm_fault_at(struct nm_nic *nic, struct nm_event *ev)
{
	ev->nic = nic;
	ev->time_ns = nm_now(nic);
	if (!nic->fault || !(nic->fault->mask & (1u << ev->kind)))
		return NM_PASS;
	return nic->fault->at(nic->fault->ctx, ev);
}

void nm_observe(struct nm_nic *nic, struct nm_event *ev)
{
	ev->nic = nic;
	ev->time_ns = nm_now(nic);
	for (struct nm_observer *o = nic->observers, *next; o; o = next) {
		next = o->next;
		if (o->mask & (1u << ev->kind))
			o->event(o->ctx, ev);
	}
}

/* The fault first: observers see what happens, not what would have. */
enum nm_verdict nm_point(struct nm_nic *nic, struct nm_event *ev)
{
	enum nm_verdict verdict = nm_fault_at(nic, ev);

	ev->verdict = verdict;
	nm_observe(nic, ev);
	return verdict;
}

static __attribute__((format(printf, 3, 0))) void diagnose(struct nm_nic *nic, struct nm_event *ev,
							   const char *fmt, va_list ap)
{
	char why[NM_WHY_MAX];

	if (!nm_watched(nic, NM_EV_DIAGNOSIS))
		return;
	vsnprintf(why, sizeof(why), fmt, ap);
	ev->why = why;
	nm_observe(nic, ev);
	ev->why = NULL; /* it ends with this call */
}

void nm_diagnose(struct nm_nic *nic, enum nm_diag code, uint32_t qpn, const char *fmt, ...)
{
	struct nm_event ev = {.kind = NM_EV_DIAGNOSIS, .qpn = qpn, .diagnosis = {.code = code}};
	va_list ap;

	va_start(ap, fmt);
	diagnose(nic, &ev, fmt, ap);
	va_end(ap);
}

void nm_diagnose_wqe(struct nm_nic *nic, enum nm_diag code, uint32_t qpn, uint16_t wqe_idx,
		     const char *fmt, ...)
{
	struct nm_event ev = {
		.kind = NM_EV_DIAGNOSIS,
		.qpn = qpn,
		.diagnosis = {.code = code, .has_wqe = true, .wqe_idx = wqe_idx},
	};
	va_list ap;

	va_start(ap, fmt);
	diagnose(nic, &ev, fmt, ap);
	va_end(ap);
}

/* ---- run list ---- */

void nm_qp_schedule(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;

	if (qp->runnable)
		return;
	qp->runnable = true;
	qp->run_next = NULL;
	qp->run_at = nic->run_tail;
	*nic->run_tail = qp;
	nic->run_tail = &qp->run_next;
	nic->nrun++;
}

void nm_qp_schedule_first(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;

	nm_qp_unschedule(qp);
	qp->runnable = true;
	qp->run_next = nic->run_head;
	qp->run_at = &nic->run_head;
	if (nic->run_head)
		nic->run_head->run_at = &qp->run_next;
	else
		nic->run_tail = &qp->run_next;
	nic->run_head = qp;
	nic->nrun++;
}

void nm_qp_unschedule(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;

	if (!qp->runnable)
		return;
	assert(*qp->run_at == qp);
	*qp->run_at = qp->run_next;
	if (qp->run_next)
		qp->run_next->run_at = qp->run_at;
	else
		nic->run_tail = qp->run_at;
	nic->nrun--;
	qp->runnable = false;
}

static struct nm_qp *run_pop(struct nm_nic *nic)
{
	struct nm_qp *qp = nic->run_head;

	if (qp)
		nm_qp_unschedule(qp);
	return qp;
}

/* Each QP that is runnable now once, so that one busy QP does not starve the others. */
static bool run_round(struct nm_nic *nic, uint64_t deadline_ns)
{
	uint64_t now_ns = nm_now(nic);
	bool moved = false;

	for (uint32_t turns = nic->nrun; turns && nic->run_head; turns--) {
		moved |= nm_qp_progress(run_pop(nic), now_ns, deadline_ns);
		now_ns = nm_now(nic);
		if (now_ns >= deadline_ns)
			break;
	}
	return moved;
}

/* ---- timers: a binary heap ---- */

int nm_timer_reserve(struct nm_nic *nic, uint32_t qps)
{
	uint32_t cap = nic->timer_cap ? nic->timer_cap : 64;
	struct nm_qp **timers;

	if (qps <= nic->timer_cap)
		return 0;
	while (cap < qps)
		cap *= 2;
	timers = realloc(nic->timers, cap * sizeof(struct nm_qp *));
	if (!timers)
		return -ENOMEM;
	nic->timers = timers;
	nic->timer_cap = cap;
	return 0;
}

static void heap_put(struct nm_nic *nic, uint32_t slot, struct nm_qp *qp)
{
	nic->timers[slot] = qp;
	qp->timer_slot = slot;
}

static void heap_up(struct nm_nic *nic, uint32_t slot)
{
	struct nm_qp *qp = nic->timers[slot];

	while (slot && nic->timers[(slot - 1) / 2]->timer_ns > qp->timer_ns) {
		heap_put(nic, slot, nic->timers[(slot - 1) / 2]);
		slot = (slot - 1) / 2;
	}
	heap_put(nic, slot, qp);
}

static void heap_down(struct nm_nic *nic, uint32_t slot)
{
	struct nm_qp *qp = nic->timers[slot];

	for (;;) {
		uint32_t child = 2 * slot + 1;

		if (child + 1 < nic->ntimers &&
		    nic->timers[child + 1]->timer_ns < nic->timers[child]->timer_ns)
			child++;
		if (child >= nic->ntimers || nic->timers[child]->timer_ns >= qp->timer_ns)
			break;
		heap_put(nic, slot, nic->timers[child]);
		slot = child;
	}
	heap_put(nic, slot, qp);
}

static void timer_disarm(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	uint32_t slot = qp->timer_slot;
	struct nm_qp *last = nic->timers[--nic->ntimers];

	qp->timer_ns = UINT64_MAX;
	if (last == qp)
		return;
	heap_put(nic, slot, last);
	heap_up(nic, slot);
	heap_down(nic, last->timer_slot);
}

void nm_qp_timer_set(struct nm_qp *qp, uint64_t at_ns)
{
	struct nm_nic *nic = qp->obj.nic;
	bool armed = qp->timer_ns != UINT64_MAX;

	if (at_ns == UINT64_MAX) {
		if (armed)
			timer_disarm(qp);
		return;
	}
	qp->timer_ns = at_ns;
	if (!armed) {
		assert(nic->ntimers < nic->timer_cap);
		heap_put(nic, nic->ntimers++, qp);
	}
	heap_up(nic, qp->timer_slot);
	heap_down(nic, qp->timer_slot);
}

static bool timers_expire(struct nm_nic *nic, uint64_t now_ns)
{
	bool moved = false;

	/* A handler may arm its timer again, but not in the past: one turn a QP and call. */
	for (uint32_t turns = nic->ntimers; turns && nic->ntimers; turns--) {
		struct nm_qp *qp = nic->timers[0];

		if (qp->timer_ns > now_ns)
			break;
		timer_disarm(qp);
		nm_qp_timer(qp, now_ns);
		moved = true;
	}
	return moved;
}

/* ---- the main loop ---- */

bool nm_nic_has_work(const struct nm_nic *nic)
{
	return nic->new_queue || nic->run_head || nic->busy_cqs || nic->busy_eqs;
}

struct nm_progress nm_nic_progress(struct nm_nic *nic, uint64_t budget_ns)
{
	struct nm_progress p = {.worked = false, .next_ns = UINT64_MAX};
	uint64_t deadline_ns = nm_now(nic) + (budget_ns < NM_SLICE_NS ? budget_ns : NM_SLICE_NS);
	uint64_t now_ns;

	nic->new_queue = false;
	for (int round = 0; round < NM_ROUNDS; round++) {
		uint64_t sweep_ns = UINT64_MAX;
		bool moved;

		now_ns = nm_now(nic);
		moved = nm_doorbell_poll(nic, now_ns, &sweep_ns);
		moved |= timers_expire(nic, now_ns);
		moved |= run_round(nic, deadline_ns);
		moved |= nm_cqs_progress(nic);
		moved |= nm_srqs_progress(nic);
		moved |= nm_eqs_progress(nic);
		p.worked |= moved;
		nic->idle = !moved;
		p.next_ns = sweep_ns;
		if (!moved || nm_now(nic) >= deadline_ns)
			break;
	}
	now_ns = nm_now(nic);
	if (nic->ntimers && nic->timers[0]->timer_ns < p.next_ns)
		p.next_ns = nic->timers[0]->timer_ns;
	if (nic->held_cqs && nm_cqs_held_until(nic) < p.next_ns)
		p.next_ns = nm_cqs_held_until(nic);
	if ((nic->run_head || nic->busy_cqs || nic->busy_eqs || nic->busy_srqs) &&
	    now_ns + NM_POLL_NS < p.next_ns)
		p.next_ns = now_ns + NM_POLL_NS;
	return p;
}
