/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/space/space.h"
#include "sim_tests/cmd_rig.h"

static uint64_t rig_now(void *ctx)
{
	return ((struct rig *)ctx)->now_ns;
}

static int rig_send(void *ctx, struct nm_packet *pkt)
{
	(void)ctx;
	(void)pkt;
	return 0; /* a wire that leads nowhere */
}

static void rig_event(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	struct rig *rig = ctx;
	uint32_t slot = rig->events++ % RIG_EVENTS;

	rig->event[slot].eqn = eqn;
	rig->event[slot].intr = intr;
	memcpy(rig->event[slot].eqe, eqe, 64);
}

static void rig_diagnosis(void *ctx, const struct nm_event *ev)
{
	struct rig *rig = ctx;

	rig->diagnoses++;
	snprintf(rig->diagnosis, sizeof(rig->diagnosis), "%s", ev->why);
}

void rig_open_config(struct rig *rig, bool copied, void (*change)(struct nm_config *config))
{
	struct nm_config config = {.name = "rig",
				   .device_id = PRM_DEVICE_CONNECTX8,
				   .node_guid = 0x0002c90300112233,
				   .mac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55},
				   .lid = 7,
				   .link_is_ethernet = true,
				   .port_mtu = 5,
				   .qpn_prefix = 0x2a0000,
				   .uar_pages = RIG_UAR_PAGES};
	struct nm_ops ops = {
		.ctx = rig, .now_ns = rig_now, .link_send = rig_send, .event = rig_event};
	struct space_copy_config copy = {.seed = 1, .min_polls = 1, .max_polls = 4};
	const char *why;

	memset(rig, 0, sizeof(*rig));
	rig->copied = copied;
	rig->now_ns = 1000;
	rig->uar = aligned_alloc(RIG_PAGE, (size_t)RIG_UAR_PAGES * RIG_PAGE);
	rig->memory = aligned_alloc(RIG_PAGE, (size_t)RIG_MEM_PAGES * RIG_PAGE);
	memset(rig->uar, 0, (size_t)RIG_UAR_PAGES * RIG_PAGE);
	memset(rig->memory, 0, (size_t)RIG_MEM_PAGES * RIG_PAGE);
	rig->space = copied ? space_copy_create(&copy) : space_host();
	cr_assert_not_null(rig->space);
	config.uar_base = rig->uar;
	if (change)
		change(&config);
	rig->nic = nm_nic_create(&config, &ops, &why);
	cr_assert_not_null(rig->nic, "%s", why);
	rig->observer = (struct nm_observer){
		.ctx = rig, .mask = 1u << NM_EV_DIAGNOSIS, .event = rig_diagnosis};
	nm_nic_add_observer(rig->nic, &rig->observer);
}

void rig_open(struct rig *rig, bool copied)
{
	rig_open_config(rig, copied, NULL);
	/* ::ffff:127.0.0.1 */
	rig_begin(rig, PRM_CMD_SET_ROCE_ADDRESS, 0);
	prm_store32(PRM_PTR(roce_address_in, rig->in, roce_address) + 8, 0xffff);
	prm_store32(PRM_PTR(roce_address_in, rig->in, roce_address) + 12, 0x7f000001);
	PRM_SET(roce_addr, PRM_PTR(roce_address_in, rig->in, roce_address), roce_version, 2);
	cr_assert_eq(rig_command(rig, 0x30, 0x10), PRM_STATUS_OK, "%s", rig->why);
}

void rig_close(struct rig *rig)
{
	nm_nic_destroy(rig->nic);
	if (rig->copied) {
		cr_expect_eq(space_copy_pending(rig->space), 0);
		space_copy_destroy(rig->space);
	}
	free(rig->uar);
	free(rig->memory);
	free(rig);
}

void rig_begin(struct rig *rig, uint16_t opcode, uint16_t op_mod)
{
	memset(rig->in, 0, sizeof(rig->in));
	PRM_SET(cmd_in, rig->in, opcode, opcode);
	PRM_SET(cmd_in, rig->in, op_mod, op_mod);
}

uint8_t rig_command(struct rig *rig, size_t in_len, size_t out_len)
{
	struct nm_cmd_ctx ctx = {.uid = rig->uid, .space = rig->space};
	uint8_t status;

	cr_assert(in_len <= sizeof(rig->in) && out_len <= sizeof(rig->out));
	memset(rig->out, 0xa5, sizeof(rig->out));
	status = nm_nic_command(rig->nic, &ctx, rig->in, in_len, rig->out, out_len, rig->why);
	if (out_len >= 8)
		cr_expect_eq(status, PRM_GET(cmd_out, rig->out, status));
	cr_expect_eq(rig->why[0] != '\0', status != PRM_STATUS_OK,
		     "a sentence and a status go together");
	if (out_len < sizeof(rig->out))
		cr_expect_eq(rig->out[out_len], 0xa5, "wrote beyond the output mailbox");
	return status;
}

uint8_t rig_number(struct rig *rig, uint16_t opcode, uint32_t number)
{
	rig_begin(rig, opcode, 0);
	PRM_SET(obj_in, rig->in, number, number);
	return rig_command(rig, 0x10, 0x110);
}

uint32_t rig_out_number(const struct rig *rig)
{
	return PRM_GET(obj_out, rig->out, number);
}

uint32_t rig_alloc(struct rig *rig, uint16_t opcode)
{
	rig_begin(rig, opcode, 0);
	cr_assert_eq(rig_command(rig, 0x40, 0x10), PRM_STATUS_OK, "%s", rig->why);
	return rig_out_number(rig);
}

uint32_t rig_umem(struct rig *rig, uint32_t first, uint32_t pages, uint32_t page_off)
{
	uint8_t *umem = PRM_PTR(create_umem_in, rig->in, umem);

	rig_begin(rig, PRM_CMD_CREATE_UMEM, 0);
	PRM_SET64(umem, umem, num_of_mtt, pages);
	PRM_SET(umem, umem, page_offset, page_off);
	for (uint32_t n = 0; n < pages; n++)
		prm_store64(PRM_PTR(create_umem_in, rig->in, mtt) + 8 * n,
			    (uintptr_t)rig_page(rig, first + n) | 3);
	cr_assert_eq(rig_command(rig, 0x30 + 8 * pages, 0x10), PRM_STATUS_OK, "%s", rig->why);
	return rig_out_number(rig);
}

uint32_t rig_eq(struct rig *rig, uint64_t mask)
{
	uint8_t *eqc = PRM_PTR(create_eq_in, rig->in, eq_context);

	rig_begin(rig, PRM_CMD_CREATE_EQ, 0);
	PRM_SET(eqc, eqc, oi, 1);
	PRM_SET(eqc, eqc, intr, 5);
	PRM_SET64(create_eq_in, rig->in, event_bitmask, mask);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	return rig_out_number(rig);
}

static void rig_pas(struct rig *rig, uint32_t off, uint32_t page, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++)
		prm_store64(rig->in + off + 8 * n, (uintptr_t)rig_page(rig, page + n));
}

void rig_cq_mailbox(struct rig *rig, const struct rig_cq *cq, uint32_t eqn, uint32_t uar)
{
	uint8_t *cqc = PRM_PTR(create_cq_in, rig->in, cq_context);

	rig_begin(rig, PRM_CMD_CREATE_CQ, 0);
	PRM_SET(cqc, cqc, log_cq_size, cq->log_size);
	PRM_SET(cqc, cqc, cqe_sz, cq->cqe_sz);
	PRM_SET(cqc, cqc, cc, cq->collapsed);
	PRM_SET(cqc, cqc, oi, cq->oi);
	PRM_SET(cqc, cqc, uar_page, uar);
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, eqn);
	PRM_SET64(cqc, cqc, dbr_addr, (uintptr_t)rig_page(rig, cq->dbr_page));
	prm_store32(rig_page(rig, cq->dbr_page) + 4, NM_CQ_ARM_SENTINEL);
	rig_pas(rig, PRM_create_cq_in_pas_OFF, cq->ring_page, 4);
}

uint32_t rig_cq(struct rig *rig, const struct rig_cq *cq)
{
	uint32_t eqn = rig_eq(rig, 1u << PRM_EVENT_CQ_ERROR);
	uint32_t uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR);

	rig_cq_mailbox(rig, cq, eqn, uar);
	cr_assert_eq(rig_command(rig, 0x110 + 8 * 4, 0x10), PRM_STATUS_OK, "%s", rig->why);
	return rig_out_number(rig);
}

struct nm_cq *rig_cq_of(struct rig *rig, uint32_t cqn)
{
	struct nm_cq *cq = (struct nm_cq *)nm_obj_get(rig->nic, NM_OBJ_CQ, cqn);

	cr_assert_not_null(cq);
	return cq;
}

void rig_qp_mailbox(struct rig *rig, uint32_t pd, uint32_t uar, uint32_t cqn, uint32_t ring_page,
		    uint32_t dbr_page)
{
	uint8_t *qpc = PRM_PTR(create_qp_in, rig->in, qpc);

	rig_begin(rig, PRM_CMD_CREATE_QP, 0);
	PRM_SET(qpc, qpc, pd, pd);
	PRM_SET(qpc, qpc, uar_page, uar);
	PRM_SET(qpc, qpc, user_index, 0x1234);
	PRM_SET(qpc, qpc, log_sq_size, 6);
	PRM_SET(qpc, qpc, log_rq_size, 4);
	PRM_SET(qpc, qpc, log_rq_stride, 2);
	PRM_SET(qpc, qpc, cqn_snd, cqn);
	PRM_SET(qpc, qpc, cqn_rcv, cqn);
	PRM_SET64(qpc, qpc, dbr_addr, (uintptr_t)rig_page(rig, dbr_page));
	rig_pas(rig, PRM_create_qp_in_pas_OFF, ring_page, 2);
}

void rig_qp(struct rig *rig, struct rig_qp *qp)
{
	struct rig_cq cq = {.log_size = 6, .ring_page = 0, .dbr_page = 4};

	qp->pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	qp->uar = rig_alloc(rig, PRM_CMD_ALLOC_UAR);
	qp->cqn = rig_cq(rig, &cq);
	rig_qp_mailbox(rig, qp->pd, qp->uar, qp->cqn, 5, 7);
	cr_assert_eq(rig_command(rig, 0x110 + 16, 0x10), PRM_STATUS_OK, "%s", rig->why);
	qp->qpn = rig_out_number(rig);
}

void rig_settle(struct rig *rig)
{
	for (int quiet = 0, n = 0; quiet < 20 && n < 10000; n++) {
		quiet = nm_nic_progress(rig->nic, NM_SLICE_NS).worked ? 0 : quiet + 1;
		rig->now_ns += 100;
	}
}
