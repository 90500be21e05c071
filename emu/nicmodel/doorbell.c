/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbells: the registers of the UAR pages that queues use.
 *
 * A page is plain memory that programs write. A ring is taken by exchanging the register with zero,
 * so none is seen twice; but a second ring may overwrite the first before it is seen. Each ring
 * names its queue, which is served first; a while later all other queues of the page are looked at
 * by their records. Layout of the page: PRM, UAR page format. The BlueFlame area may take a whole
 * WQE: its first 8 bytes are those of a doorbell, and the WQE is in the ring as well, so it counts
 * as a ring.
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>

enum {
	SWEEP_NS = 50000,
	BF_STEP = 0x100,
	BF_END = PRM_UAR_PAGE_SIZE,
	DOORBELLS_PER_POLL =
		4, /* of one register: a program that rings without end starves nobody */
};

void nm_uar_use(struct nm_nic *nic, struct nm_uar *uar)
{
	for (struct nm_uar *u = nic->active_uars; u; u = u->active_next) {
		if (u == uar)
			return;
	}
	uar->active_next = nic->active_uars;
	nic->active_uars = uar;
}

/* The page stays on the list as long as another queue uses it. */
void nm_uar_unuse(struct nm_nic *nic, struct nm_uar *uar)
{
	struct nm_uar **at = &nic->active_uars;

	if (uar->qps || uar->cqs)
		return;
	while (*at && *at != uar)
		at = &(*at)->active_next;
	assert(*at == uar);
	*at = uar->active_next;
	uar->sweep_ns = 0;
}

/* ---- what a ring means ---- */

static void ring_sq(struct nm_nic *nic, struct nm_uar *uar, uint32_t offset, uint64_t value)
{
	/* Only 16 bits of the index count: GPUNetIO lets more of its counter through. */
	uint16_t index = (uint16_t)(value >> 40);
	uint32_t qpn = (uint32_t)value >> 8;
	struct nm_qp *qp = (struct nm_qp *)nm_obj_get(nic, NM_OBJ_QP, qpn);

	if (!qp || !qp->rc || !qp->has_sq) {
		nm_diagnose(nic, qpn,
			    "the doorbell 0x%016llx at offset 0x%x of UAR page %u names QP 0x%06x, "
			    "which %s: "
			    "ignored",
			    (unsigned long long)value, offset, uar->obj.number, qpn,
			    qp ? "has no send queue" : "does not exist");
		return;
	}
	if (qp->uar != uar)
		nm_diagnose(nic, qpn,
			    "QP 0x%06x belongs to UAR page %u, its doorbell was rung on page %u",
			    qpn, qp->uar->obj.number, uar->obj.number);
	if (qp->state == PRM_QP_RST) {
		nm_diagnose(nic, qpn, "the doorbell of QP 0x%06x was rung in RESET: ignored", qpn);
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
		nm_diagnose(nic, 0,
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
		nm_diagnose(nic, 0,
			    "a write of 0x%016llx to offset 0x%x of UAR page %u, %s: ignored",
			    (unsigned long long)value, offset, uar_page,
			    uar ? "where no doorbell is" : "which is not allocated");
		return;
	}
	if (ring(nic, uar, offset, value) && !uar->sweep_ns)
		uar->sweep_ns = nm_now(nic) + SWEEP_NS;
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

static bool poll_page(struct nm_nic *nic, struct nm_uar *uar)
{
	bool rang = false;

	rang |= poll_register(nic, uar, PRM_UAR_SQ_NO_DBR, take64);
	for (uint32_t offset = PRM_UAR_BF; offset < BF_END; offset += BF_STEP)
		rang |= poll_register(nic, uar, offset, take64);
	rang |= poll_register(nic, uar, PRM_UAR_CQ_ARM, take64);
	rang |= poll_register(nic, uar, PRM_UAR_EQ_ARM, take32);
	rang |= poll_register(nic, uar, PRM_UAR_EQ_CI, take32);
	return rang;
}

/* Rings that others have overwritten: the records know. */
static void sweep(struct nm_uar *uar)
{
	for (struct nm_qp *qp = uar->qps; qp; qp = qp->uar_next) {
		if (!qp->rc || !qp->has_sq || qp->state == PRM_QP_RST)
			continue;
		rc_req_look(qp, true);
	}
	for (struct nm_cq *cq = uar->cqs; cq; cq = cq->uar_next)
		nm_cq_check_arm(cq);
}

bool nm_doorbell_poll(struct nm_nic *nic, uint64_t now_ns, uint64_t *next_ns)
{
	bool rang = false;

	for (struct nm_uar *uar = nic->active_uars; uar; uar = uar->active_next) {
		if (poll_page(nic, uar)) {
			rang = true;
			if (!uar->sweep_ns)
				uar->sweep_ns = now_ns + SWEEP_NS;
		}
		if (uar->sweep_ns && uar->sweep_ns <= now_ns) {
			uar->sweep_ns = 0;
			sweep(uar);
		}
		if (uar->sweep_ns && uar->sweep_ns < *next_ns)
			*next_ns = uar->sweep_ns;
	}
	return rang;
}
