// SPDX-License-Identifier: BSD-3-Clause
#include "sim_tests/harness_srq.h"

static uint8_t log_size(const struct hx_srq_attr *attr)
{
	return attr->log_size ? attr->log_size : 3;
}

static void rmp(struct hx *h, uint32_t pd, const struct hx_srq_attr *attr, void *dbr)
{
	uint8_t *ctx = PRM_PTR(create_rmp_in, h->in, rmpc);
	uint8_t *wq = PRM_PTR(rmpc, ctx, wq);

	PRM_SET(rmpc, ctx, state, PRM_RMP_RDY);
	PRM_SET(rmpc, ctx, basic_cyclic_rcv_wqe, attr->cyclic);
	PRM_SET(wq, wq, wq_type, attr->cyclic ? PRM_WQ_CYCLIC : PRM_WQ_LINKED_LIST);
	PRM_SET(wq, wq, pd, pd);
	PRM_SET(wq, wq, log_wq_sz, log_size(attr));
	PRM_SET(wq, wq, log_wq_stride, 6);
	PRM_SET64(wq, wq, dbr_addr, (uintptr_t)dbr);
}

static void basic(struct hx *h, uint32_t pd, const struct hx_srq_attr *attr, void *dbr)
{
	uint8_t *ctx = PRM_PTR(create_srq_in, h->in, srq_context_entry);

	PRM_SET(srqc, ctx, log_srq_size, log_size(attr));
	PRM_SET(srqc, ctx, log_rq_stride, 2);
	PRM_SET(srqc, ctx, pd, pd);
	PRM_SET64(srqc, ctx, dbr_addr, (uintptr_t)dbr);
}

static void xrc(struct hx *h, uint32_t pd, uint32_t nic, const struct hx_srq_attr *attr, void *dbr)
{
	uint8_t *ctx = PRM_PTR(create_xrc_srq_in, h->in, xrc_srq_context_entry);

	PRM_SET(xrc_srqc, ctx, log_xrc_srq_size, log_size(attr));
	PRM_SET(xrc_srqc, ctx, log_rq_stride, 2);
	PRM_SET(xrc_srqc, ctx, pd, pd);
	PRM_SET(xrc_srqc, ctx, xrcd, attr->xrcd);
	PRM_SET(xrc_srqc, ctx, cqn, attr->cq ? attr->cq->cqn : 0);
	PRM_SET(xrc_srqc, ctx, user_index, HX_XRC_USER_INDEX | nic);
	PRM_SET(xrc_srqc, ctx, db_record_addr_h, (uint32_t)((uintptr_t)dbr >> 32));
	PRM_SET(xrc_srqc, ctx, db_record_addr_l, (uint32_t)(uintptr_t)dbr >> 2);
}

size_t hx_srq_mailbox(struct hx *h, uint32_t nic, const struct hx_srq_attr *attr, void *ring,
		      void *dbr)
{
	uint32_t pd = attr->pd ? attr->pd : h->nic[nic].pd;
	uint64_t len = (uint64_t)HX_SRQ_STRIDE << log_size(attr);
	uint32_t pages = (uint32_t)((len + HX_PAGE - 1) / HX_PAGE);

	memset(h->in, 0, sizeof(h->in));
	PRM_SET(cmd_in, h->in, opcode, attr->create);
	if (attr->create == PRM_CMD_CREATE_RMP)
		rmp(h, pd, attr, dbr);
	else if (attr->create == PRM_CMD_CREATE_SRQ)
		basic(h, pd, attr, dbr);
	else
		xrc(h, pd, nic, attr, dbr);
	/* All three have their pages at the same place. */
	for (uint32_t i = 0; i < pages; i++)
		prm_store64(PRM_PTR(create_rmp_in, h->in, pas) + 8 * (size_t)i,
			    (uintptr_t)ring + (uint64_t)i * HX_PAGE);
	return PRM_create_rmp_in_SIZE + 8 * (size_t)pages;
}

struct hx_srq *hx_srq(struct hx *h, uint32_t nic, const struct hx_srq_attr *attr)
{
	struct hx_srq *srq = hx_alloc(h, sizeof(*srq));
	size_t len;

	*srq = (struct hx_srq){.h = h, .nic = nic};
	if (attr)
		srq->attr = *attr;
	if (!srq->attr.create)
		srq->attr.create = PRM_CMD_CREATE_RMP;
	srq->size = 1u << log_size(&srq->attr);
	srq->tail = srq->size - 1;
	srq->ring = hx_alloc(h, (uint64_t)HX_SRQ_STRIDE * srq->size);
	srq->dbr = hx_alloc(h, 8);
	for (uint32_t i = 0; !srq->attr.cyclic && i < srq->size; i++)
		hx_srq_link(srq, i, (uint16_t)(i + 1 == srq->size ? 0 : i + 1));
	len = hx_srq_mailbox(h, nic, &srq->attr, srq->ring, srq->dbr);
	cr_assert_eq(hx_command(h, nic, len), PRM_STATUS_OK, "%s", h->why);
	srq->number = PRM_GET(obj_out, h->out, number);
	return srq;
}

void hx_srq_link(struct hx_srq *srq, uint32_t idx, uint16_t next)
{
	prm_store32(srq->ring + (size_t)idx * HX_SRQ_STRIDE, next);
}

static void put_data(uint8_t *seg, const struct hx_sge *sge)
{
	prm_store32(seg, sge->len);
	prm_store32(seg + 4, sge->lkey);
	prm_store64(seg + 8, (uintptr_t)sge->addr);
}

uint16_t hx_srq_recv(struct hx_srq *srq, const struct hx_sge *sge, uint8_t nsge)
{
	uint32_t idx = srq->attr.cyclic ? srq->posted % srq->size : srq->head;
	uint8_t *wqe = srq->ring + (size_t)idx * HX_SRQ_STRIDE;
	uint32_t at = srq->attr.cyclic ? 0 : 16;

	if (!srq->attr.cyclic) {
		cr_assert_neq(srq->head, srq->tail, "the queue is full");
		srq->head = prm_load32(wqe) & 0xffff;
	}
	cr_assert(at + nsge * 16u <= HX_SRQ_STRIDE);
	for (uint32_t i = 0; i < nsge; i++, at += 16)
		put_data(wqe + at, &sge[i]);
	if (at < HX_SRQ_STRIDE)
		put_data(wqe + at, &(struct hx_sge){.lkey = PRM_LKEY_TERMINATOR});
	srq->posted++;
	__atomic_store_n(&srq->dbr[0], htobe32(srq->posted), __ATOMIC_RELEASE);
	return (uint16_t)idx;
}

void hx_srq_free(struct hx_srq *srq, uint16_t idx)
{
	hx_srq_link(srq, srq->tail, idx);
	srq->tail = idx;
}

uint8_t hx_srq_arm(struct hx_srq *srq, uint16_t limit)
{
	struct hx *h = srq->h;
	uint8_t *rmpc = PRM_PTR(modify_rmp_in, h->in, rmpc);

	memset(h->in, 0, 0x110);
	PRM_SET(obj_in, h->in, number, srq->number);
	if (srq->attr.create == PRM_CMD_CREATE_RMP) {
		PRM_SET(cmd_in, h->in, opcode, PRM_CMD_MODIFY_RMP);
		PRM_SET(modify_rmp_in, h->in, rmp_state, PRM_RMP_RDY);
		PRM_SET(rmp_bitmask, PRM_PTR(modify_rmp_in, h->in, bitmask), lwm, 1);
		PRM_SET(rmpc, rmpc, state, PRM_RMP_RDY);
		PRM_SET(wq, PRM_PTR(rmpc, rmpc, wq), lwm, limit);
	} else {
		PRM_SET(cmd_in, h->in, opcode,
			srq->attr.create == PRM_CMD_CREATE_SRQ ? PRM_CMD_ARM_RQ
							       : PRM_CMD_ARM_XRC_SRQ);
		PRM_SET(cmd_in, h->in, op_mod, PRM_ARM_SRQ);
		PRM_SET(arm_rq_in, h->in, lwm, limit);
	}
	return hx_command(h, srq->nic, 0x110);
}

/* The commands of a family by the one that creates. */
static uint16_t command_of(const struct hx_srq *srq, uint16_t rmp, uint16_t basic, uint16_t xrc)
{
	return srq->attr.create == PRM_CMD_CREATE_RMP	? rmp
	       : srq->attr.create == PRM_CMD_CREATE_SRQ ? basic
							: xrc;
}

uint8_t hx_srq_destroy(struct hx_srq *srq)
{
	return hx_destroy(
		srq->h, srq->nic,
		command_of(srq, PRM_CMD_DESTROY_RMP, PRM_CMD_DESTROY_SRQ, PRM_CMD_DESTROY_XRC_SRQ),
		srq->number);
}

void hx_srq_query(struct hx_srq *srq, uint32_t *state, uint32_t *limit)
{
	struct hx *h = srq->h;
	const uint8_t *rmpc = PRM_PTR(query_rmp_out, h->out, rmp_context);
	const uint8_t *srqc = PRM_PTR(query_srq_out, h->out, srq_context_entry);

	cr_assert_eq(hx_destroy(h, srq->nic,
				command_of(srq, PRM_CMD_QUERY_RMP, PRM_CMD_QUERY_SRQ,
					   PRM_CMD_QUERY_XRC_SRQ),
				srq->number),
		     PRM_STATUS_OK, "%s", h->why);
	if (srq->attr.create == PRM_CMD_CREATE_RMP) {
		*state = PRM_GET(rmpc, rmpc, state);
		*limit = PRM_GET(wq, PRM_CPTR(rmpc, rmpc, wq), lwm);
		return;
	}
	*state = PRM_GET(srqc, srqc, state); /* where an XRC SRQ has them, too */
	*limit = PRM_GET(srqc, srqc, lwm);
}
