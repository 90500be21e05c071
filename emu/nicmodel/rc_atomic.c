/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder: atomics. Executed once, with the CPU's own atomic instructions where the word is
 * mapped, so that programs and kernels may use theirs on it; the result is kept for replay
 * (rc_reply.c).
 *
 * Where memory can only be copied, an atomic is two transfers. One QP of the NIC at a time is
 * between them, the others wait in the order in which they came (nm_nic.atomic_first); so atomics
 * of this NIC are atomic with respect to each other, as a ConnectX's are (IBV_ATOMIC_HCA).
 */
#include "emu/nicmodel/rc.h"

#include <string.h>

enum { STAGE_NEW, STAGE_CHECKED, STAGE_CHANGED };

void rc_atomic_parse(struct rc_atomic *a, uint8_t opcode, const uint8_t *hdr)
{
	bool masked = opcode == ROCE_MASKED_COMPARE_SWAP || opcode == ROCE_MASKED_FETCH_ADD;

	a->add = opcode == ROCE_FETCH_ADD || opcode == ROCE_MASKED_FETCH_ADD;
	a->bytes = masked ? prm_load32(hdr) : 8;
	hdr += masked ? 4 : 0;
	a->operand = prm_load64(hdr);
	a->compare = prm_load64(hdr + 8);
	a->swap_mask = masked ? prm_load64(hdr + 16) : UINT64_MAX;
	a->compare_mask = masked ? prm_load64(hdr + 24) : a->add ? 0 : UINT64_MAX;
}

static uint64_t changed(const struct rc_atomic *a, uint64_t old)
{
	uint64_t stop = a->compare_mask;

	/* Below each stop bit as usual; the stop bit itself without its carry. */
	if (a->add)
		return ((old & ~stop) + (a->operand & ~stop)) ^ ((old ^ a->operand) & stop);
	if ((old ^ a->compare) & a->compare_mask)
		return old;
	return (old & ~a->swap_mask) | (a->operand & a->swap_mask);
}

/* ---- one QP at a time ---- */

static bool my_turn(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	struct rc_resp *resp = &qp->rc->resp;

	if (!resp->atomic_queued) {
		resp->atomic_queued = true;
		resp->atomic_next = NULL;
		if (nic->atomic_last)
			nic->atomic_last->rc->resp.atomic_next = qp;
		else
			nic->atomic_first = qp;
		nic->atomic_last = qp;
	}
	return nic->atomic_first == qp;
}

void rc_atomic_leave(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	struct rc_resp *resp = &qp->rc->resp;
	struct nm_qp **at = &nic->atomic_first, *before = NULL;

	if (!resp->atomic_queued)
		return;
	while (*at != qp) {
		before = *at;
		at = &before->rc->resp.atomic_next;
	}
	*at = resp->atomic_next;
	if (nic->atomic_last == qp)
		nic->atomic_last = before;
	resp->atomic_queued = false;
	resp->atomic_next = NULL;
}

/* ---- mapped: the CPU's atomics ---- */

NM_MAY_FAULT static uint64_t change64(const struct rc_atomic *a, uint64_t *word)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(word, &old, changed(a, old), false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
	return old;
}

NM_MAY_FAULT static uint64_t change32(const struct rc_atomic *a, uint32_t *word)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(word, &old, (uint32_t)changed(a, old), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return old;
}

struct change {
	const struct rc_atomic *atomic;
	void *word;
	uint64_t old;
};

static void change_word(void *arg)
{
	struct change *c = arg;

	c->old =
		c->atomic->bytes == 8 ? change64(c->atomic, c->word) : change32(c->atomic, c->word);
}

static int change_mapped(const struct rc_op *op, const struct nm_space *space, void *word,
			 uint64_t *old)
{
	struct change c = {.atomic = &op->atomic, .word = word};
	int rc = 0;

	/* Aligned here as it is for the peer? */
	if ((uintptr_t)word % op->atomic.bytes)
		return -EFAULT;
	if (space->ops->guarded)
		rc = space->ops->guarded(change_word, &c);
	else
		change_word(&c);
	*old = c.old;
	return rc;
}

/* ---- copied: two transfers ---- */

static uint64_t load(const uint8_t *p, uint32_t bytes)
{
	uint64_t value;
	uint32_t half;

	if (bytes == 8) {
		memcpy(&value, p, sizeof(value));
		return value;
	}
	memcpy(&half, p, sizeof(half));
	return half;
}

static void store(uint8_t *p, uint32_t bytes, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	if (bytes == 8)
		memcpy(p, &value, sizeof(value));
	else
		memcpy(p, &half, sizeof(half));
}

/*
 * Read, change, write through transfers, of one QP at a time. The old value waits behind the word
 * in the operation's buffer.
 */
static int change_copied(struct nm_qp *qp, struct rc_op *op, struct nm_mkey *mkey, uint64_t *old)
{
	struct rc_xfer *x = &qp->rc->resp.xfer;
	uint32_t bytes = op->atomic.bytes;
	uint8_t *kept = op->bytes + 8;
	int rc;

	if (!my_turn(qp))
		return -EINPROGRESS;
	if (op->stage == STAGE_CHECKED) {
		rc = op->moving ? rc_xfer_poll(x)
				: rc_xfer_key(qp, x, NM_DMA_ATOMIC, false, mkey, op->va, op->bytes,
					      bytes);
		op->moving = rc == -EINPROGRESS;
		if (rc)
			return rc;
		memcpy(kept, op->bytes, bytes);
		store(op->bytes, bytes, changed(&op->atomic, load(kept, bytes)));
		op->stage = STAGE_CHANGED;
	}
	rc = op->moving ? rc_xfer_poll(x)
			: rc_xfer_key(qp, x, NM_DMA_ATOMIC, true, mkey, op->va, op->bytes, bytes);
	op->moving = rc == -EINPROGRESS;
	*old = load(kept, bytes);
	return rc;
}

/* ---- the operation ---- */

static int check(struct nm_qp *qp, struct rc_op *op)
{
	if (!qp->rae) {
		rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
			  "the QP does not allow remote atomics (rae is 0)");
		return -ECANCELED;
	}
	if (op->va % op->atomic.bytes != 0) {
		rc_refuse(qp, op->psn, ROCE_NAK_INV_REQ, RC_CAUSE_RECV_INV_REQ,
			  "an atomic of %u bytes at 0x%llx, which is not a multiple of %u",
			  op->atomic.bytes, (unsigned long long)op->va, op->atomic.bytes);
		return -ECANCELED;
	}
	op->stage = STAGE_CHECKED;
	return 0;
}

static int change(struct nm_qp *qp, struct rc_op *op, struct nm_mkey *mkey, uint64_t *old)
{
	void *word = nm_mkey_ptr(mkey, op->va, op->atomic.bytes);

	if (word && nm_touch_key(qp->obj.nic, qp->obj.number, NM_DMA_ATOMIC, true, mkey, op->va,
				 op->atomic.bytes))
		return -EFAULT;
	if (word)
		return change_mapped(op, nm_mkey_space(mkey, op->va), word, old);
	if (op->pkt)
		return -EINPROGRESS; /* to the queue, where the operation has a buffer */
	return change_copied(qp, op, mkey, old);
}

static int execute(struct nm_qp *qp, struct rc_op *op)
{
	struct nm_mkey *mkey;
	char why[NM_WHY_MAX];
	struct rc_rd *rd;
	uint64_t old = 0;
	int rc;

	if (op->stage == STAGE_NEW && check(qp, op))
		return -ECANCELED;
	if (nm_mkey_check(qp->obj.nic, op->rkey, op->va, op->atomic.bytes, NM_ACC_A, op->pdn,
			  qp->obj.number, &mkey, why) != NM_KEY_OK) {
		rc_xfer_cancel(&qp->rc->resp.xfer);
		rc_refuse(qp, op->psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS, "%s", why);
		return -ECANCELED;
	}
	rc = change(qp, op, mkey, &old);
	if (rc == -EINPROGRESS)
		return rc;
	if (rc) {
		rc_refuse(qp, op->psn, ROCE_NAK_ACCESS, RC_CAUSE_RECV_ACCESS,
			  "the memory behind key 0x%08x at 0x%llx cannot be used for an atomic",
			  op->rkey, (unsigned long long)op->va);
		return -ECANCELED;
	}
	rd = rc_rd_take(qp, op);
	if (!rd)
		return -ECANCELED;
	NM_COUNT(qp, rx_atomic_requests, 1);
	rd->result = old;
	return 0;
}

int rc_exec_atomic(struct nm_qp *qp, struct rc_op *op)
{
	int rc = execute(qp, op);

	if (rc != -EINPROGRESS)
		rc_atomic_leave(qp);
	return rc;
}
