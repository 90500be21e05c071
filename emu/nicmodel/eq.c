/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues. An EQE is written into the ring (if the queue has one) and handed to the owner, who
 * raises whatever stands for an interrupt. A queue made with overrun_ignore and without pages has
 * no ring: the owner sees its events alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/cq.h"
#include "emu/nicmodel/ring.h"

enum { NM_EQ_INDEX_MASK = 0xffffff };

static void eq_busy(struct nm_eq *eq)
{
	if (eq->busy)
		return;
	eq->busy = true;
	eq->busy_next = eq->obj.nic->busy_eqs;
	eq->obj.nic->busy_eqs = eq;
}

static void eq_tell(struct nm_eq *eq, const uint8_t *eqe)
{
	struct nm_ops *ops = &eq->obj.nic->ops;

	if (ops->event)
		ops->event(ops->ctx, eq->obj.number, eq->intr, eqe);
}

static void eq_entry_done(void *ctx, const struct nm_ring_entry *entry)
{
	eq_tell(ctx, entry->bytes);
}

static void eq_put(struct nm_eq *eq, struct nm_ring_entry *e)
{
	uint32_t size = 1u << eq->log_size;
	uint32_t used = (eq->producer - eq->consumer) & NM_EQ_INDEX_MASK;
	int rc;

	if (used >= size && !eq->overrun_ignore) {
		nm_diagnose(eq->obj.nic, NM_DIAG_EQ_FULL, 0,
			    "EQ %u: full (%u entries, consumer index 0x%x): event 0x%02x is lost",
			    eq->obj.number, size, eq->consumer, e->bytes[PRM_EQE_TYPE]);
		return;
	}
	e->off = (uint64_t)(eq->producer & (size - 1)) * PRM_EQE_SIZE;
	e->bytes[PRM_EQE_OWNER] = (uint8_t)((eq->producer >> eq->log_size) & 1);
	eq->producer = (eq->producer + 1) & NM_EQ_INDEX_MASK;
	rc = eq->writer ? nm_ring_append(eq->writer, e)
			: nm_ring_store(eq->obj.nic, &eq->mem, e->off, NM_DMA_EQE, e->bytes);
	assert(rc != -ENOTSUP); /* without a writer the whole ring is mapped */
	if (rc == -EFAULT) {
		nm_diagnose(eq->obj.nic, NM_DIAG_MEMORY, 0,
			    "EQ %u: its ring is unreachable: event 0x%02x is lost", eq->obj.number,
			    e->bytes[PRM_EQE_TYPE]);
	} else if (rc) {
		nm_diagnose(eq->obj.nic, NM_DIAG_EQ_FULL, 0,
			    "EQ %u: no memory: event 0x%02x is lost", eq->obj.number,
			    e->bytes[PRM_EQE_TYPE]);
	} else if (eq->writer) {
		eq_busy(eq);
	} else {
		eq_tell(eq, e->bytes);
	}
}

static void eq_push(struct nm_eq *eq, struct nm_ring_entry *e)
{
	struct nm_nic *nic = eq->obj.nic;

	if (nm_watched(nic, NM_EV_EQE)) {
		struct nm_event ev = {.kind = NM_EV_EQE,
				      .eqe = {.eqn = eq->obj.number, .eqe = e->bytes}};

		if (nm_point(nic, &ev) == NM_DROP)
			return;
	}
	if (eq->mem.len)
		eq_put(eq, e);
	else
		eq_tell(eq, e->bytes);
}

static void eqe_init(struct nm_ring_entry *e, uint8_t type)
{
	memset(e, 0, sizeof(*e));
	e->bytes[PRM_EQE_TYPE] = type;
}

void nm_eq_completion(struct nm_nic *nic, uint32_t eqn, uint32_t cqn)
{
	struct nm_eq *eq = (struct nm_eq *)nm_obj_get(nic, NM_OBJ_EQ, eqn);
	struct nm_ring_entry e;

	assert(eq); /* the CQ holds a use of it */
	eqe_init(&e, PRM_EVENT_COMP);
	prm_store32(e.bytes + PRM_EQE_NUMBER, cqn);
	eq_push(eq, &e);
}

/* To every EQ that asked for this type. */
static void eq_async(struct nm_nic *nic, const struct nm_ring_entry *e)
{
	const struct nm_table *t = &nic->table[NM_OBJ_EQ];
	uint64_t bit = UINT64_C(1) << e->bytes[PRM_EQE_TYPE];

	for (uint32_t n = 0; n < t->cap; n++) {
		struct nm_eq *eq = (struct nm_eq *)t->slot[n];
		struct nm_ring_entry copy = *e;

		if (eq && (eq->event_mask & bit))
			eq_push(eq, &copy);
	}
}

/* Of what an event is about (PRM, affiliated event). */
enum eqe_resource { EQE_QP = 0, EQE_SRQ = 2 };

static void queue_event(struct nm_nic *nic, uint8_t type, enum eqe_resource what, uint32_t number)
{
	struct nm_ring_entry e;

	assert(type < 64);
	eqe_init(&e, type);
	e.bytes[PRM_EQE_RES_TYPE + 3] = (uint8_t)what;
	prm_store32(e.bytes + PRM_EQE_NUMBER, number);
	eq_async(nic, &e);
}

void nm_eq_qp_event(struct nm_nic *nic, uint8_t type, uint32_t qpn)
{
	queue_event(nic, type, EQE_QP, qpn);
}

void nm_eq_srq_event(struct nm_nic *nic, uint8_t type, uint32_t srqn)
{
	queue_event(nic, type, EQE_SRQ, srqn);
}

void nm_eq_cq_error(struct nm_nic *nic, uint32_t cqn, uint8_t syndrome)
{
	struct nm_ring_entry e;

	eqe_init(&e, PRM_EVENT_CQ_ERROR);
	prm_store32(e.bytes + PRM_EQE_DATA, cqn);
	e.bytes[PRM_EQE_CQ_ERR_SYNDROME] = syndrome;
	eq_async(nic, &e);
}

bool nm_nic_command_events(const struct nm_nic *nic)
{
	const struct nm_table *t = &nic->table[NM_OBJ_EQ];

	for (uint32_t n = 0; n < t->cap; n++) {
		const struct nm_eq *eq = (const struct nm_eq *)t->slot[n];

		if (eq && (eq->event_mask & UINT64_C(1) << PRM_EVENT_COMMAND))
			return true;
	}
	return false;
}

void nm_nic_command_done(struct nm_nic *nic, uint32_t entries)
{
	struct nm_ring_entry e;

	eqe_init(&e, PRM_EVENT_COMMAND);
	prm_store32(e.bytes + PRM_EQE_DATA, entries);
	eq_async(nic, &e);
}

void nm_eq_doorbell(struct nm_nic *nic, uint32_t value)
{
	struct nm_eq *eq = (struct nm_eq *)nm_obj_get(nic, NM_OBJ_EQ, value >> 24);

	if (eq)
		eq->consumer = value & NM_EQ_INDEX_MASK;
	else
		nm_diagnose(nic, NM_DIAG_DOORBELL_TARGET, 0,
			    "EQ doorbell 0x%08x names EQ %u, which does not exist", value,
			    value >> 24);
}

bool nm_eq_progress(struct nm_eq *eq)
{
	int rc;

	if (!eq->writer || !eq->writer->head)
		return false;
	rc = nm_ring_write(eq->obj.nic, eq->writer, &eq->mem, NM_DMA_EQE, UINT32_MAX, eq_entry_done,
			   eq);
	if (rc >= 0)
		return rc > 0;
	nm_diagnose(eq->obj.nic, NM_DIAG_MEMORY, 0,
		    "EQ %u: its ring is unreachable: events are lost", eq->obj.number);
	nm_ring_destroy(eq->writer, eq->mem.space);
	eq->writer = nm_ring_create();
	return true;
}

bool nm_eqs_progress(struct nm_nic *nic)
{
	struct nm_eq *list = nic->busy_eqs;
	bool moved = false;

	nic->busy_eqs = NULL;
	while (list) {
		struct nm_eq *eq = list;

		list = eq->busy_next;
		eq->busy = false;
		moved |= nm_eq_progress(eq);
		if (eq->writer && eq->writer->head)
			eq_busy(eq);
	}
	return moved;
}

int nm_eq_start(struct nm_eq *eq)
{
	if (!eq->mem.len || eq->mem.flat)
		return 0;
	eq->writer = nm_ring_create();
	return eq->writer ? 0 : -ENOMEM;
}

void nm_eq_stop(struct nm_eq *eq)
{
	struct nm_eq **at = &eq->obj.nic->busy_eqs;

	while (*at && *at != eq)
		at = &(*at)->busy_next;
	if (*at)
		*at = eq->busy_next;
	eq->busy = false;
	nm_ring_destroy(eq->writer, eq->mem.space);
	eq->writer = NULL;
}
