/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: CQEs, ownership, overrun, arming.
 *
 * A CQE becomes visible in producer order, and its event (if the queue is armed for it) is written
 * after it is visible. Where ring and record are mapped all of this happens inside nm_cq_push().
 * Otherwise the CQE waits in cq->writer and nm_cqs_progress() brings it in.
 *
 * Two indices: `producer` counts what was pushed, `visible` what the program can see.
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/cq.h"
#include "emu/nicmodel/ring.h"

enum {
	NM_INDEX_MASK = 0xffffff, /* producer and consumer counters have 24 bits */
	NM_ARM_SOLICITED = 1 << 24,
	NM_CQ_OVERRUN = 1, /* syndromes of the CQ error event */
	NM_CQ_ACCESS = 2,
	NM_QUIET_POLLS = 10000, /* of a write that a leaving QP waits for: about 10 ms */
};

static uint32_t index_after(uint32_t a, uint32_t b) /* how far a is ahead of b, cyclic */
{
	return (a - b) & NM_INDEX_MASK;
}

static bool index_ahead(uint32_t a, uint32_t b)
{
	uint32_t d = index_after(a, b);

	return d > 0 && d <= NM_INDEX_MASK / 2;
}

static void cq_busy(struct nm_cq *cq)
{
	if (cq->busy)
		return;
	cq->busy = true;
	cq->busy_next = cq->obj.nic->busy_cqs;
	cq->obj.nic->busy_cqs = cq;
}

static void cq_die(struct nm_cq *cq, uint8_t syndrome)
{
	struct nm_nic *nic = cq->obj.nic;

	if (cq->dead)
		return;
	nm_diagnose(
		nic, syndrome == NM_CQ_OVERRUN ? NM_DIAG_CQ_OVERRUN : NM_DIAG_MEMORY, 0,
		syndrome == NM_CQ_OVERRUN
			? "CQ 0x%x: overrun: %u CQEs are not consumed (consumer index 0x%x) and "
			  "another one is due"
			: "CQ 0x%x: its ring is unreachable (%u entries, consumer index 0x%x)",
		cq->obj.number, 1u << cq->log_size, cq->consumer);
	cq->dead = true;
	cq->doomed = true;
	cq_busy(cq);
	nm_eq_cq_error(nic, cq->obj.number, syndrome);
}

/* ---- arming ---- */

static void cq_let_go(struct nm_cq *cq)
{
	struct nm_cq **at = &cq->obj.nic->held_cqs;

	if (!cq->held)
		return;
	while (*at != cq)
		at = &(*at)->held_next;
	*at = cq->held_next;
	cq->held = 0;
}

static void cq_fire(struct nm_cq *cq)
{
	cq_let_go(cq);
	cq->fired_ns = nm_now(cq->obj.nic);
	if (cq->arm_state != PRM_CQ_ST_ALWAYS_ARMED)
		cq->arm_state = PRM_CQ_ST_FIRED;
	cq->last_notified = cq->visible;
	nm_eq_completion(cq->obj.nic, cq->eqn, cq->obj.number);
}

/*
 * Moderation (PRM, CQ context: cq_period, cq_max_count, cq_period_mode, scqe_break_moderation_en):
 * an armed queue's event waits until so many CQEs have come or so long a time has passed, whichever
 * is first: since the last event, or (mode 1) since the last CQE. Guess: if either is 0 nothing is
 * held back.
 */
static bool cq_hold(struct nm_cq *cq, bool solicited)
{
	struct nm_nic *nic = cq->obj.nic;
	uint64_t now_ns, since_ns;

	if (!cq->mod_period_ns || !cq->mod_count || (solicited && cq->mod_break))
		return false;
	now_ns = nm_now(nic);
	since_ns = cq->mod_from_cqe ? now_ns : cq->fired_ns;
	if (!cq->held) {
		cq->held_until_ns = since_ns + cq->mod_period_ns;
		cq->held_next = nic->held_cqs;
		nic->held_cqs = cq;
	} else if (cq->mod_from_cqe) {
		cq->held_until_ns = since_ns + cq->mod_period_ns;
	}
	cq->held++;
	return cq->held < cq->mod_count && cq->held_until_ns > now_ns;
}

uint64_t nm_cqs_held_until(const struct nm_nic *nic)
{
	uint64_t first_ns = UINT64_MAX;

	for (const struct nm_cq *cq = nic->held_cqs; cq; cq = cq->held_next)
		if (cq->held_until_ns < first_ns)
			first_ns = cq->held_until_ns;
	return first_ns;
}

static bool cqs_fire_late(struct nm_nic *nic)
{
	struct nm_cq *next;
	bool moved = false;
	uint64_t now_ns;

	if (!nic->held_cqs)
		return false;
	now_ns = nm_now(nic);
	for (struct nm_cq *cq = nic->held_cqs; cq; cq = next) {
		next = cq->held_next;
		if (cq->held_until_ns > now_ns)
			continue;
		cq_fire(cq);
		moved = true;
	}
	return moved;
}

/* Has the program been told of this CQE already? `count`: the producer counter behind it. */
static bool cq_notified(const struct nm_cq *cq, uint32_t count)
{
	return ((cq->visible - count) & NM_INDEX_MASK) >=
	       ((cq->visible - cq->last_notified) & NM_INDEX_MASK);
}

/*
 * The sequence number in the word is not compared: a late arm costs at most one event too many, a
 * suppressed one hangs a program. A qualifying CQE that the program has neither consumed nor been
 * told of fires at once, which makes poll-then-arm race free. One that it was told of does not fire
 * again: programs arm between the event and the poll (perftest with -e), and then take the next
 * event for the next CQE.
 */
void nm_cq_arm(struct nm_cq *cq, uint32_t word)
{
	uint32_t ci = word & NM_INDEX_MASK;
	bool solicited = (word & NM_ARM_SOLICITED) != 0;
	uint32_t newest = solicited ? cq->last_se : cq->visible;
	bool due =
		(!solicited || cq->any_se) && index_ahead(newest, ci) && !cq_notified(cq, newest);

	/* The doorbell of an arm that the record has shown already, and that has fired since. */
	if (word == cq->arm_seen && cq->arm_state == PRM_CQ_ST_FIRED)
		return;
	cq->arm_seen = word;
	if (cq->dead || cq->arm_state == PRM_CQ_ST_ALWAYS_ARMED)
		return;
	if (due)
		cq_fire(cq);
	else if (!solicited)
		cq->arm_state = PRM_CQ_ST_ARMED;
	else if (cq->arm_state != PRM_CQ_ST_ARMED)
		cq->arm_state = PRM_CQ_ST_SOLICITED_ARMED;
}

static void cq_read_arm(struct nm_cq *cq)
{
	uint32_t word;
	int rc = nm_dbr_read(cq->obj.nic, &cq->dbr, 1, &word);

	cq->arm_pending = rc == -EINPROGRESS;
	if (cq->arm_pending)
		cq_busy(cq);
	else if (!rc && word != cq->arm_seen)
		nm_cq_arm(cq, word);
}

/* Any change of the arm word is an arm: whoever hands out the record fills it with a word no
 * program writes. */
void nm_cq_check_arm(struct nm_cq *cq)
{
	cq->arm_again = cq->arm_pending;
	if (!cq->arm_pending)
		cq_read_arm(cq);
}

/* ---- CQEs ---- */

/* A RESIZE_CQ entry tells the library where the old ring ends: nobody waits for it. */
static bool entry_is_resize(const struct nm_ring_entry *e)
{
	return e->bytes[PRM_CQE_OP_OWN] >> 4 == PRM_CQE_RESIZE_CQ;
}

static void cq_appeared(struct nm_cq *cq, const struct nm_ring_entry *e)
{
	bool solicited = e->solicited;

	cq->visible = (cq->visible + 1) & NM_INDEX_MASK;
	if (cq->waiters)
		nm_cq_wake_waiters(cq);
	/* So that a queue that is only polled does not lap it. */
	if (index_after(cq->visible, cq->last_notified) > NM_INDEX_MASK / 2)
		cq->last_notified = (cq->visible - NM_INDEX_MASK / 2) & NM_INDEX_MASK;
	if (solicited) {
		cq->last_se = cq->visible;
		cq->last_solicited = cq->visible;
		cq->any_se = true;
	}
	if (entry_is_resize(e))
		return;
	if (cq->arm_state == PRM_CQ_ST_ARMED || cq->arm_state == PRM_CQ_ST_ALWAYS_ARMED ||
	    (cq->arm_state == PRM_CQ_ST_SOLICITED_ARMED && solicited)) {
		if (!cq_hold(cq, solicited))
			cq_fire(cq);
	}
}

static void cq_entry_done(void *ctx, const struct nm_ring_entry *entry)
{
	cq_appeared(ctx, entry);
}

static bool cqe_is_error(uint8_t opcode)
{
	return opcode == PRM_CQE_REQ_ERR || opcode == PRM_CQE_RESP_ERR;
}

/* Everything but the owner bit (PRM, CQE formats). Error CQEs have no timestamp and always carry
 * SE. */
static void cqe_pack(const struct nm_cq *cq, const struct nm_cqe *cqe, uint8_t *b)
{
	bool error = cqe_is_error(cqe->opcode);
	bool requester = cqe->opcode == PRM_CQE_REQ || cqe->opcode == PRM_CQE_REQ_ERR;

	memset(b, 0, PRM_CQE_SIZE);
	prm_store32(b + PRM_CQE_UIDX, cqe->user_index & NM_INDEX_MASK);
	prm_store32(b + PRM_CQE_SOP_QPN,
		    (requester ? (uint32_t)cqe->wqe_opcode << 24 : 0) | (cqe->qpn & NM_INDEX_MASK));
	b[PRM_CQE_WQE_COUNTER] = (uint8_t)(cqe->wqe_counter >> 8);
	b[PRM_CQE_WQE_COUNTER + 1] = (uint8_t)cqe->wqe_counter;
	if (error) {
		b[PRM_CQE_VENDOR_SYND] = cqe->vendor_err;
		b[PRM_CQE_SYNDROME] = cqe->syndrome;
	} else {
		b[PRM_CQE_SLID] = (uint8_t)(cqe->slid >> 8);
		b[PRM_CQE_SLID + 1] = (uint8_t)cqe->slid;
		prm_store32(b + PRM_CQE_FLAGS_RQPN,
			    (uint32_t)cqe->src_flags << 24 | (cqe->src_qpn & NM_INDEX_MASK));
		prm_store32(b + PRM_CQE_IMM, cqe->imm);
		prm_store32(b + PRM_CQE_BYTE_CNT, cqe->byte_cnt);
		prm_store64(b + PRM_CQE_TIMESTAMP, nm_now(cq->obj.nic));
	}
	b[PRM_CQE_OP_OWN] = (uint8_t)(cqe->opcode << 4 | (cqe->solicited || error) << 1);
}

/* Slot and owner bit of an entry: the bit flips with each lap, the first lap writes 0. */
static void entry_place(const struct nm_cq *cq, struct nm_ring_entry *e, uint32_t index)
{
	uint32_t slot = cq->collapsed ? 0 : index & ((1u << cq->log_size) - 1);

	e->index = index;
	/* In a 128-byte CQE the 64 bytes that matter are the second half. */
	e->off = (uint64_t)slot * cq->cqe_sz + cq->cqe_sz - PRM_CQE_SIZE;
	e->bytes[PRM_CQE_OP_OWN] =
		(uint8_t)((e->bytes[PRM_CQE_OP_OWN] & ~1u) | ((index >> cq->log_size) & 1));
}

/* CQEs that fit before the ring is full, by the consumer index last read. */
static uint32_t cq_room(const struct nm_cq *cq, uint32_t index)
{
	uint32_t size = 1u << cq->log_size;
	uint32_t used = index_after(index, cq->consumer);

	if (cq->overrun_ignore || cq->collapsed || used > NM_INDEX_MASK / 2)
		return UINT32_MAX; /* a consumer index ahead of the producer says nothing about room
				    */
	return used < size ? size - used : 0;
}

/* Room for `index` after a look at the record if it seemed full. 0 with *rc -EINPROGRESS: not known
 * yet. */
static uint32_t cq_room_fresh(struct nm_cq *cq, uint32_t index, int *rc)
{
	uint32_t room = cq_room(cq, index);
	uint32_t ci;

	*rc = 0;
	if (room)
		return room;
	*rc = nm_dbr_read(cq->obj.nic, &cq->dbr, 0, &ci);
	if (*rc)
		return 0;
	cq->consumer = ci & NM_INDEX_MASK;
	return cq_room(cq, index);
}

/* Ring and record mapped. */
static int cq_write_now(struct nm_cq *cq, const struct nm_ring_entry *e)
{
	int rc;

	if (!cq_room_fresh(cq, e->index, &rc)) {
		cq_die(cq, rc ? NM_CQ_ACCESS : NM_CQ_OVERRUN);
		return rc ? rc : -ENOSPC;
	}
	rc = nm_ring_store(cq->obj.nic, &cq->mem, e->off, NM_DMA_CQE, e->bytes);
	assert(rc != -ENOTSUP);
	if (rc) {
		cq_die(cq, NM_CQ_ACCESS);
		return rc;
	}
	cq->producer = (cq->producer + 1) & NM_INDEX_MASK;
	cq_appeared(cq, e);
	return 0;
}

int nm_cq_push(struct nm_cq *cq, const struct nm_cqe *cqe)
{
	struct nm_nic *nic = cq->obj.nic;
	struct nm_ring_entry e = {.qpn = cqe->qpn,
				  .solicited = cqe->solicited || cqe_is_error(cqe->opcode)};

	assert(cqe->opcode <= PRM_CQE_INVALID);
	if (cq->dead)
		return -ENOSPC;
	cqe_pack(cq, cqe, e.bytes);
	entry_place(cq, &e, cq->producer);
	if (nm_watched(nic, NM_EV_CQE)) {
		struct nm_event ev = {
			.kind = NM_EV_CQE,
			.qpn = cqe->qpn,
			.cqe = {.cqn = cq->obj.number, .index = cq->producer, .cqe = e.bytes}};

		if (nm_point(nic, &ev) == NM_DROP)
			return 0;
	}
	nm_count_cqe(nic, cqe->qpn, cqe->opcode, cqe->syndrome);
	if (!cq->writer)
		return cq_write_now(cq, &e);
	if (nm_ring_append(cq->writer, &e)) {
		cq_die(cq, NM_CQ_ACCESS);
		return -ENOMEM;
	}
	cq->producer = (cq->producer + 1) & NM_INDEX_MASK;
	cq_busy(cq);
	return 0;
}

/* Queued CQEs into the ring, as far as the record leaves room. */
static bool cq_write_queued(struct nm_cq *cq)
{
	struct nm_ring_writer *w = cq->writer;
	uint32_t room = UINT32_MAX;
	int rc = 0;

	if (cq->dead || !w || !w->head)
		return false;
	if (!w->in_flight)
		room = cq_room_fresh(cq, w->head->index, &rc);
	if (rc == -EINPROGRESS)
		return false;
	if (!room) {
		cq_die(cq, rc ? NM_CQ_ACCESS : NM_CQ_OVERRUN);
		return true;
	}
	rc = nm_ring_write(cq->obj.nic, w, &cq->mem, NM_DMA_CQE, room, cq_entry_done, cq);
	if (rc < 0)
		cq_die(cq, NM_CQ_ACCESS);
	return rc != 0;
}

bool nm_cq_progress(struct nm_cq *cq)
{
	bool moved = cq_write_queued(cq);

	if (cq->arm_pending) {
		cq_read_arm(cq);
		moved |= !cq->arm_pending;
		if (!cq->arm_pending && cq->arm_again)
			nm_cq_check_arm(cq);
	}
	if (cq->doomed) {
		cq->doomed = false;
		nm_qp_cq_died(cq);
		moved = true;
	}
	return moved;
}

static bool cq_has_work(const struct nm_cq *cq)
{
	return cq->doomed || cq->arm_pending || (!cq->dead && cq->writer && cq->writer->head);
}

bool nm_cqs_progress(struct nm_nic *nic)
{
	struct nm_cq *list = nic->busy_cqs;
	bool moved = cqs_fire_late(nic);

	/* Taken off first: progress may push to any CQ, which puts it on the new list. */
	nic->busy_cqs = NULL;
	while (list) {
		struct nm_cq *cq = list;

		list = cq->busy_next;
		cq->busy = false;
		moved |= nm_cq_progress(cq);
		if (cq_has_work(cq))
			cq_busy(cq);
	}
	return moved;
}

/* ---- a QP leaves ---- */

/*
 * Lets the transfer under way end, as it carries an entry of the QP, which may be half written and
 * cannot be taken back. The command that waits here holds up the whole NIC: where the space does
 * not answer, the CQ is as good as gone.
 */
static void cq_quiesce(struct nm_cq *cq)
{
	for (int n = 0; cq->writer->in_flight; n++) {
		int rc = nm_ring_write(cq->obj.nic, cq->writer, &cq->mem, NM_DMA_CQE, 0,
				       cq_entry_done, cq);

		if (rc >= 0 && n < NM_QUIET_POLLS)
			continue;
		if (cq->writer->in_flight)
			cq->mem.space->ops->cancel(cq->mem.space, &cq->writer->dma);
		cq->writer->in_flight = 0;
		cq_die(cq, NM_CQ_ACCESS);
		return;
	}
}

static bool cq_writes_entry_of(const struct nm_cq *cq, uint32_t qpn)
{
	const struct nm_ring_entry *e = cq->writer->head;

	for (uint32_t n = cq->writer->in_flight; n; n--, e = e->next) {
		if (e->qpn == qpn)
			return true;
	}
	return false;
}

void nm_cq_forget_qp(struct nm_cq *cq, uint32_t qpn)
{
	struct nm_ring_entry **at;
	uint32_t index;

	if (!cq->writer || cq->dead)
		return;
	if (cq_writes_entry_of(cq, qpn))
		cq_quiesce(cq);
	if (cq->dead)
		return;
	at = &cq->writer->head;
	for (uint32_t n = cq->writer->in_flight; n; n--)
		at = &(*at)->next;
	index = *at ? (*at)->index : cq->producer;
	while (*at) {
		struct nm_ring_entry *e = *at;

		if (e->qpn == qpn) {
			*at = e->next;
			free(e);
			continue;
		}
		entry_place(cq, e, index);
		index = (index + 1) & NM_INDEX_MASK;
		at = &e->next;
	}
	cq->writer->tail = at;
	cq->producer = index;
}

/* ---- commands ---- */

/* Does some slot of the ring, or the record, have no pointer? */
static bool needs_writer(const struct nm_cq *cq, const struct nm_mem *mem, uint8_t log_size)
{
	uint64_t slots = cq->collapsed ? 1 : UINT64_C(1) << log_size;
	bool mapped = mem->flat || (mem->next > 0 && nm_mem_ptr(mem, 0, PRM_CQE_SIZE));

	/* Every page of a space that maps one page of the ring is expected to be mapped; be sure.
	 */
	for (uint64_t n = 0; mapped && !mem->flat && n < slots; n++)
		mapped = nm_mem_ptr(mem, n * cq->cqe_sz, cq->cqe_sz) != NULL;
	return !mapped || !cq->dbr.flat;
}

int nm_cq_start(struct nm_cq *cq)
{
	if (needs_writer(cq, &cq->mem, cq->log_size)) {
		cq->writer = nm_ring_create();
		if (!cq->writer)
			return -ENOMEM;
	}
	cq->arm_state = cq->always_armed ? PRM_CQ_ST_ALWAYS_ARMED : 0;
	cq->arm_seen = NM_CQ_ARM_SENTINEL;
	if (cq->dbr.flat && !cq->obj.nic->config.doorbells_trapped) {
		/* A record that is not there fails when it is needed. */
		(void)nm_dbr_read(cq->obj.nic, &cq->dbr, 1, &cq->arm_seen);
	}
	return 0;
}

/* ---- resizing ---- */

/* CQEs that the program has not consumed, by its record as it is now; -EFAULT: that is gone. */
static int cq_outstanding(struct nm_cq *cq, uint32_t *count)
{
	int rc = -EINPROGRESS;
	uint32_t ci = 0;

	for (int n = 0; rc == -EINPROGRESS && n < NM_QUIET_POLLS; n++)
		rc = nm_dbr_read(cq->obj.nic, &cq->dbr, 0, &ci);
	if (rc)
		return -EFAULT;
	cq->consumer = ci & NM_INDEX_MASK;
	*count = index_after(cq->producer, cq->consumer);
	return 0;
}

/* Everything that was pushed into the ring, before the command that asks for it ends. */
static int cq_write_out(struct nm_cq *cq)
{
	for (int n = 0; cq->writer && cq->writer->head && !cq->dead; n++) {
		if (n >= NM_QUIET_POLLS) {
			cq_die(cq, NM_CQ_ACCESS);
			break;
		}
		cq_write_queued(cq);
	}
	return cq->dead ? -EFAULT : 0;
}

/*
 * The entry that ends the old ring is visible there before the command completes; the next CQE is
 * written to the new ring, one index on. The library copies what it had not consumed (libmlx5's
 * and mlx5_ib's resize of a CQ).
 */
int nm_cq_resize(struct nm_cq *cq, struct nm_mem *mem, uint8_t log_size)
{
	const struct nm_cqe end = {.opcode = PRM_CQE_RESIZE_CQ};
	struct nm_ring_writer *writer = NULL;
	struct nm_mem old = cq->mem;
	uint32_t outstanding;
	int rc;

	if (cq->dead)
		return -EFAULT;
	rc = cq_outstanding(cq, &outstanding);
	if (rc)
		return rc;
	/* Room for the entry in the old ring, and in the new one for all and it. */
	if (outstanding >= 1u << cq->log_size || outstanding >= 1u << log_size)
		return -ENOSPC;
	if (!cq->writer && needs_writer(cq, mem, log_size)) {
		writer = nm_ring_create();
		if (!writer)
			return -ENOMEM;
	}
	rc = nm_cq_push(cq, &end);
	if (!rc)
		rc = cq_write_out(cq);
	if (rc) {
		nm_ring_destroy(writer, mem->space);
		return rc;
	}
	if (writer)
		cq->writer = writer;
	cq->mem = *mem;
	cq->log_size = log_size;
	*mem = old;
	return 0;
}

void nm_cq_stop(struct nm_cq *cq)
{
	struct nm_cq **at = &cq->obj.nic->busy_cqs;

	while (*at && *at != cq)
		at = &(*at)->busy_next;
	if (*at)
		*at = cq->busy_next;
	cq->busy = false;
	cq_let_go(cq);
	nm_ring_destroy(cq->writer, cq->mem.space);
	cq->writer = NULL;
}
