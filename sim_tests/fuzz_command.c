/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: a program that sends commands without sense, writes into its memory and rings
 * doorbells.
 *
 * The NIC's only memory is an arena between two guard regions, half of it mapped and half of it
 * copy-only; an access outside of it ends the process. The wire leads back to the NIC. The input is
 * a list of steps; a step is a byte that says what, a byte of switches, and bytes that are XORed
 * over a mailbox that would be good, so that one changed field is as likely as a wholly random
 * mailbox.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/nicmodel/nm.h"
#include "prm/prm.h"

enum {
	PAGE = 4096,
	ARENA_PAGES = 64,
	UAR_PAGES = 8,
	MEMIC_PAGES = 4,
	STEPS = 200,
	KINDS = 11,
	POOL = 16,
	IN_MAX = 0x110 + 16 * 8,
	RANDOM_MAX = 96,
	SRQ_WQES = 8,
	RQ_BYTES = 8 * 64,
	SQ_BBS = 8,
};

static const uintptr_t arena_at = 0x20000000;

#define OPCODE_(name, opcode) opcode,
static const uint16_t opcodes[] = {PRM_COMMANDS(OPCODE_)};

struct input {
	const uint8_t *at;
	size_t left;
};

/* Numbers that CREATE answered, newest last, a list for each kind. */
struct pool {
	uint32_t number[POOL];
	uint32_t count;
};

struct fuzz {
	struct nm_nic *nic;
	struct nm_space space;
	uint64_t now_ns;
	uint8_t *arena, *uar;
	struct pool pool[KINDS];
	uint16_t uid;
	uint32_t qp_page; /* of the newest QP's rings; its record is two pages on */
	uint32_t pi, rq_pi;
	uint32_t srq_page; /* of the newest shared receive queue; record as above */
	uint32_t srq_pi;
};

enum kind { PD, UAR, UCTX, UMEM, MKEY, EQ, CQ, QP, SRQ, XRCD, OTHER };

static const struct {
	uint16_t opcode;
	enum kind kind;
} creators[] = {
	{PRM_CMD_ALLOC_PD, PD},	     {PRM_CMD_ALLOC_UAR, UAR},	    {PRM_CMD_CREATE_UCTX, UCTX},
	{PRM_CMD_CREATE_UMEM, UMEM}, {PRM_CMD_CREATE_MKEY, MKEY},   {PRM_CMD_CREATE_EQ, EQ},
	{PRM_CMD_CREATE_CQ, CQ},     {PRM_CMD_CREATE_QP, QP},	    {PRM_CMD_CREATE_RMP, SRQ},
	{PRM_CMD_CREATE_SRQ, SRQ},   {PRM_CMD_CREATE_XRC_SRQ, SRQ}, {PRM_CMD_ALLOC_XRCD, XRCD},
};

static const struct {
	uint16_t opcode;
	enum kind kind;
} users[] = {
	{PRM_CMD_DEALLOC_PD, PD},     {PRM_CMD_DEALLOC_UAR, UAR},     {PRM_CMD_DESTROY_UCTX, UCTX},
	{PRM_CMD_DESTROY_UMEM, UMEM}, {PRM_CMD_DESTROY_MKEY, MKEY},   {PRM_CMD_QUERY_MKEY, MKEY},
	{PRM_CMD_DESTROY_EQ, EQ},     {PRM_CMD_QUERY_EQ, EQ},	      {PRM_CMD_DESTROY_CQ, CQ},
	{PRM_CMD_QUERY_CQ, CQ},	      {PRM_CMD_MODIFY_CQ, CQ},	      {PRM_CMD_DESTROY_QP, QP},
	{PRM_CMD_QUERY_QP, QP},	      {PRM_CMD_RST2INIT_QP, QP},      {PRM_CMD_INIT2INIT_QP, QP},
	{PRM_CMD_INIT2RTR_QP, QP},    {PRM_CMD_RTR2RTS_QP, QP},	      {PRM_CMD_RTS2RTS_QP, QP},
	{PRM_CMD_QP_2ERR, QP},	      {PRM_CMD_QP_2RST, QP},	      {PRM_CMD_DESTROY_RMP, SRQ},
	{PRM_CMD_DESTROY_SRQ, SRQ},   {PRM_CMD_DESTROY_XRC_SRQ, SRQ}, {PRM_CMD_QUERY_RMP, SRQ},
	{PRM_CMD_QUERY_SRQ, SRQ},     {PRM_CMD_QUERY_XRC_SRQ, SRQ},   {PRM_CMD_MODIFY_RMP, SRQ},
	{PRM_CMD_ARM_RQ, SRQ},	      {PRM_CMD_ARM_XRC_SRQ, SRQ},     {PRM_CMD_DEALLOC_XRCD, XRCD},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* ---- the arena as a space: its lower half maps, its upper half is copied, late ---- */

static bool inside(const struct fuzz *f, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - (uintptr_t)f->arena;

	return addr >= (uintptr_t)f->arena && off <= ARENA_PAGES * PAGE &&
	       len <= ARENA_PAGES * PAGE - off;
}

static struct fuzz *fuzz_of(struct nm_space *space)
{
	return (struct fuzz *)((uint8_t *)space - offsetof(struct fuzz, space));
}

static void *arena_map(struct nm_space *space, uint64_t addr, uint64_t len, bool write)
{
	(void)write;
	if (!inside(fuzz_of(space), addr, len) || addr + len > arena_at + ARENA_PAGES * PAGE / 2)
		return NULL;
	return (void *)(uintptr_t)addr;
}

static int arena_poll(struct nm_space *space, struct nm_dma *dma)
{
	uint8_t *local = dma->local;

	for (uint32_t n = 0; n < dma->nsegs; n++) {
		const struct nm_seg *s = &dma->segs[n];

		if (!inside(fuzz_of(space), s->addr, s->len))
			return -EFAULT;
		if (dma->to_space)
			memcpy((void *)(uintptr_t)s->addr, local, s->len);
		else
			memcpy(local, (void *)(uintptr_t)s->addr, s->len);
		local += s->len;
	}
	return 0;
}

static int arena_submit(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
	return -EINPROGRESS;
}

static void arena_cancel(struct nm_space *space, struct nm_dma *dma)
{
	(void)space;
	(void)dma;
}

static const struct nm_space_ops arena_ops = {
	.map = arena_map, .submit = arena_submit, .poll = arena_poll, .cancel = arena_cancel};

/* ---- the NIC's surroundings ---- */

static uint64_t fuzz_now(void *ctx)
{
	return ((struct fuzz *)ctx)->now_ns;
}

static int fuzz_send(void *ctx, struct nm_packet *pkt)
{
	struct fuzz *f = ctx;

	nm_nic_receive(f->nic, pkt);
	return 0;
}

static void fuzz_event(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	volatile uint8_t sum = eqe[63];

	(void)ctx;
	(void)eqn;
	(void)intr;
	(void)sum;
}

static void observe(void *ctx, const struct nm_event *ev)
{
	(void)ctx;
	if (ev->kind == NM_EV_DIAGNOSIS && (!ev->why || strlen(ev->why) >= NM_WHY_MAX))
		abort();
}

/* ---- mailboxes ---- */

static uint32_t newest(const struct fuzz *f, enum kind kind, uint8_t back)
{
	const struct pool *p = &f->pool[kind];

	return p->count ? p->number[(p->count - 1 - back % (p->count < POOL ? p->count : POOL)) %
				    POOL]
			: 0;
}

static void pages(uint8_t *list, uint32_t first, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++)
		prm_store64(list + 8 * n, arena_at + (uint64_t)((first + n) % ARENA_PAGES) * PAGE);
}

/* The same queue in the words of three families: SRQ_WQES of 64 bytes, its record two pages on. */
static void good_srq(struct fuzz *f, uint16_t opcode, uint32_t first, uint8_t *in)
{
	uint64_t dbr = arena_at + (uint64_t)((first + 2) % ARENA_PAGES) * PAGE;
	uint8_t *rmpc = PRM_PTR(create_rmp_in, in, rmpc);
	uint8_t *wq = PRM_PTR(rmpc, rmpc, wq);
	uint8_t *srqc = PRM_PTR(create_srq_in, in, srq_context_entry);

	pages(PRM_PTR(create_rmp_in, in, pas), first, 1);
	if (opcode == PRM_CMD_CREATE_RMP) {
		PRM_SET(rmpc, rmpc, state, PRM_RMP_RDY);
		PRM_SET(wq, wq, pd, newest(f, PD, 0));
		PRM_SET(wq, wq, log_wq_sz, 3);
		PRM_SET(wq, wq, log_wq_stride, 6);
		PRM_SET64(wq, wq, dbr_addr, dbr);
		return;
	}
	/* Those of an XRC SRQ lie where an SRQ's do. */
	PRM_SET(srqc, srqc, log_srq_size, 3);
	PRM_SET(srqc, srqc, log_rq_stride, 2);
	PRM_SET(srqc, srqc, pd, newest(f, PD, 0));
	PRM_SET(srqc, srqc, cqn, newest(f, CQ, 0));
	PRM_SET(srqc, srqc, xrcd, newest(f, XRCD, 0));
	PRM_SET64(srqc, srqc, dbr_addr, dbr);
}

/* Instead of a receive queue, where there is one. */
static void share_srq(struct fuzz *f, uint8_t switches, uint8_t *qpc)
{
	if (!f->pool[SRQ].count || !(switches & 0x40))
		return;
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_SRQ);
	PRM_SET(qpc, qpc, srqn_rmpn_xrqn, newest(f, SRQ, 0));
	if (!f->pool[XRCD].count || !(switches & 0x20))
		return;
	PRM_SET(qpc, qpc, st, PRM_QP_ST_XRC);
	PRM_SET(qpc, qpc, xrcd, newest(f, XRCD, 0));
	PRM_SET(qpc, qpc, no_sq, switches >> 4 & 1);
}

static void good_create(struct fuzz *f, uint16_t opcode, uint8_t switches, uint8_t *in)
{
	uint32_t first = switches % ARENA_PAGES; /* decides whether it maps */
	uint8_t *c = in + 0x10;

	switch (opcode) {
	case PRM_CMD_CREATE_UMEM:
		PRM_SET64(umem, c, num_of_mtt, 4);
		pages(PRM_PTR(create_umem_in, in, mtt), first, 4);
		break;
	case PRM_CMD_CREATE_MKEY:
		PRM_SET(mkc, c, access_mode_1_0, PRM_MKC_MODE_MTT);
		prm_store32(c, prm_load32(c) | 0x7c00); /* all rights */
		if (switches & 0x80) { /* over other keys; the list is the page list's bytes */
			PRM_SET(mkc, c, access_mode_1_0, PRM_MKC_MODE_KLM);
			PRM_SET(mkc, c, umr_en, switches >> 5 & 1);
			PRM_SET(mkc, c, translations_octword_size, 8);
		}
		PRM_SET(mkc, c, qpn, 0xffffff);
		PRM_SET(mkc, c, pd, newest(f, PD, 0));
		PRM_SET64(mkc, c, start_addr, arena_at);
		PRM_SET64(mkc, c, len, 8 * PAGE);
		PRM_SET(mkc, c, log_page_size, 12);
		if (switches == 0x40) { /* of device memory */
			PRM_SET(mkc, c, access_mode_1_0, PRM_MKC_MODE_MEMIC & 3);
			PRM_SET(mkc, c, access_mode_4_2, PRM_MKC_MODE_MEMIC >> 2);
			PRM_SET64(mkc, c, start_addr, NM_MEMIC_START);
			PRM_SET64(mkc, c, len, 64);
		}
		PRM_SET(create_mkey_in, in, translations_octword_actual_size, 4);
		pages(PRM_PTR(create_mkey_in, in, klm_pas_mtt), first, 8);
		break;
	case PRM_CMD_ALLOC_MEMIC:
		PRM_SET64(alloc_memic_in, in, range_start_addr, NM_MEMIC_START);
		PRM_SET(alloc_memic_in, in, range_size, MEMIC_PAGES * PAGE);
		PRM_SET(alloc_memic_in, in, memic_size, 64 * (switches % 64 + 1));
		break;
	case PRM_CMD_DEALLOC_MEMIC:
		PRM_SET64(dealloc_memic_in, in, memic_start_addr,
			  NM_MEMIC_START + 64 * (switches % 64));
		PRM_SET(dealloc_memic_in, in, memic_size, 64 * (switches % 64 + 1));
		break;
	case PRM_CMD_CREATE_EQ:
		PRM_SET(eqc, c, oi, switches & 1);
		PRM_SET(eqc, c, log_eq_size, 4);
		PRM_SET64(create_eq_in, in, event_bitmask, UINT64_MAX);
		pages(PRM_PTR(create_eq_in, in, pas), first, 1);
		break;
	case PRM_CMD_CREATE_CQ:
		PRM_SET(cqc, c, log_cq_size, 4);
		PRM_SET(cqc, c, oi, switches & 1);
		PRM_SET(cqc, c, cc, switches >> 1 & 1);
		PRM_SET(cqc, c, uar_page, newest(f, UAR, 0));
		PRM_SET(cqc, c, c_eqn_or_apu_element, newest(f, EQ, 0));
		PRM_SET64(cqc, c, dbr_addr,
			  arena_at + (uint64_t)((first + 1) % ARENA_PAGES) * PAGE);
		pages(PRM_PTR(create_cq_in, in, pas), first, 2);
		break;
	case PRM_CMD_CREATE_QP:
		c = PRM_PTR(create_qp_in, in, qpc);
		PRM_SET(qpc, c, pd, newest(f, PD, 0));
		PRM_SET(qpc, c, uar_page, newest(f, UAR, 0));
		PRM_SET(qpc, c, cqn_snd, newest(f, CQ, 0));
		PRM_SET(qpc, c, cqn_rcv, newest(f, CQ, switches & 1));
		PRM_SET(qpc, c, log_sq_size, 3);
		PRM_SET(qpc, c, log_rq_size, 3);
		PRM_SET(qpc, c, log_rq_stride, 2);
		PRM_SET64(qpc, c, dbr_addr,
			  arena_at + (uint64_t)((first + 2) % ARENA_PAGES) * PAGE);
		pages(PRM_PTR(create_qp_in, in, pas), first, 1);
		share_srq(f, switches, c);
		break;
	case PRM_CMD_CREATE_RMP:
	case PRM_CMD_CREATE_SRQ:
	case PRM_CMD_CREATE_XRC_SRQ:
		good_srq(f, opcode, first, in);
		break;
	case PRM_CMD_MODIFY_RMP:
		PRM_SET(modify_rmp_in, in, rmp_state, PRM_RMP_RDY);
		PRM_SET(rmpc, PRM_PTR(modify_rmp_in, in, rmpc), state, PRM_RMP_RDY);
		PRM_SET(rmp_bitmask, PRM_PTR(modify_rmp_in, in, bitmask), lwm, 1);
		PRM_SET(wq, PRM_PTR(rmpc, PRM_PTR(modify_rmp_in, in, rmpc), wq), lwm,
			switches >> 4 & 7);
		break;
	case PRM_CMD_ARM_RQ:
	case PRM_CMD_ARM_XRC_SRQ:
		PRM_SET(cmd_in, in, op_mod, PRM_ARM_SRQ);
		PRM_SET(arm_rq_in, in, lwm, switches >> 4 & 7);
		break;
	default:
		break;
	}
}

/* A context that every transition can use: the QP talks to itself. */
static void good_modify(uint32_t qpn, uint8_t *in)
{
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	uint8_t *qpc = PRM_PTR(modify_qp_in, in, qpc);
	uint8_t *ads = PRM_PTR(qpc, qpc, primary_address_path);

	PRM_SET(qpc, qpc, rre, 1);
	PRM_SET(qpc, qpc, rwe, 1);
	PRM_SET(qpc, qpc, rae, 1);
	PRM_SET(qpc, qpc, atomic_mode, 1);
	PRM_SET(qpc, qpc, mtu, 1);
	PRM_SET(qpc, qpc, log_msg_max, 30);
	PRM_SET(qpc, qpc, remote_qpn, qpn);
	PRM_SET(qpc, qpc, log_rra_max, 2);
	PRM_SET(qpc, qpc, log_sra_max, 2);
	PRM_SET(qpc, qpc, retry_count, 1);
	PRM_SET(ads, ads, ack_timeout, 10);
	memcpy(PRM_PTR(ads, ads, rgid_rip), gid, sizeof(gid));
}

static void command(struct fuzz *f, uint16_t opcode, uint8_t switches, uint8_t changes,
		    struct input *input)
{
	struct nm_cmd_ctx ctx = {.uid = switches & 0x80 ? f->uid : 0, .space = &f->space};
	uint8_t in[IN_MAX] = {0}, out[0x1010];
	size_t in_len = changes & 0x80 ? (size_t)take(input) * 2 : IN_MAX;
	size_t out_len = changes & 0x40 ? take(input) : sizeof(out);
	char why[NM_WHY_MAX];

	PRM_SET(cmd_in, in, opcode, opcode);
	PRM_SET(cmd_in, in, op_mod, opcode == PRM_CMD_QUERY_HCA_CAP ? switches : 0);
	good_create(f, opcode, switches, in);
	for (size_t n = 0; n < sizeof(users) / sizeof(users[0]); n++) {
		if (users[n].opcode != opcode)
			continue;
		PRM_SET(obj_in, in, number, newest(f, users[n].kind, switches & 0x0f));
		if (users[n].kind == QP)
			good_modify(newest(f, QP, switches & 0x0f), in);
	}
	for (int n = 0; n < (changes & 7); n++) {
		size_t at = (size_t)(take(input) | take(input) << 8) % IN_MAX;

		in[at] ^= take(input);
	}
	if (in_len > IN_MAX)
		in_len = IN_MAX;
	/* Exact copies, so that the sanitizer sees a read or write beyond. */
	uint8_t *exact_in = malloc(in_len ? in_len : 1), *exact_out = malloc(out_len ? out_len : 1);
	memcpy(exact_in, in, in_len);
	if (!nm_nic_command(f->nic, &ctx, exact_in, in_len, exact_out, out_len, why) &&
	    out_len >= 16) {
		for (size_t n = 0; n < sizeof(creators) / sizeof(creators[0]); n++) {
			struct pool *p = &f->pool[creators[n].kind];

			if (in_len >= 4 && prm_load32(exact_in) >> 16 == creators[n].opcode)
				p->number[p->count++ % POOL] = PRM_GET(obj_out, exact_out, number);
		}
		f->uid = (uint16_t)newest(f, UCTX, 0);
		if (opcode == PRM_CMD_CREATE_QP) {
			f->qp_page = switches;
			f->pi = f->rq_pi = 0;
		}
		if (opcode == PRM_CMD_CREATE_RMP || opcode == PRM_CMD_CREATE_SRQ ||
		    opcode == PRM_CMD_CREATE_XRC_SRQ) {
			f->srq_page = switches;
			f->srq_pi = 0;
		}
	}
	free(exact_in);
	free(exact_out);
}

static void step_command(struct fuzz *f, struct input *input)
{
	uint16_t opcode = opcodes[take(input) % (sizeof(opcodes) / sizeof(opcodes[0]))];
	uint8_t switches = take(input);

	command(f, opcode, switches, take(input), input);
}

/* A QP that is connected to itself, so that the data path is one step away. */
static void good_start(struct fuzz *f, uint8_t page)
{
	static const struct {
		uint16_t opcode;
		uint8_t page;
	} way[] = {
		{PRM_CMD_ALLOC_PD, 0},	  {PRM_CMD_ALLOC_UAR, 0},    {PRM_CMD_CREATE_EQ, 15},
		{PRM_CMD_CREATE_CQ, 8},	  {PRM_CMD_CREATE_MKEY, 16}, {PRM_CMD_CREATE_QP, 4},
		{PRM_CMD_RST2INIT_QP, 0}, {PRM_CMD_INIT2RTR_QP, 0},  {PRM_CMD_RTR2RTS_QP, 0},
	};
	struct input none = {NULL, 0};

	for (size_t n = 0; n < sizeof(way) / sizeof(way[0]); n++) {
		bool creates = way[n].page != 0;

		command(f, way[n].opcode,
			creates ? (uint8_t)((page & 0x3f) + way[n].page) & 0x7f : 0, 0, &none);
	}
	if (f->pool[QP].count != 1)
		abort();
}

static void step_memory(struct fuzz *f, struct input *in)
{
	uint32_t at = (uint32_t)(take(in) | take(in) << 8 | take(in) << 16) % (ARENA_PAGES * PAGE);

	for (uint8_t n = take(in) % RANDOM_MAX; n && at < ARENA_PAGES * PAGE; n--)
		f->arena[at++] = take(in);
}

static uint8_t *arena_page(struct fuzz *f, uint32_t page)
{
	return f->arena + (size_t)(page % ARENA_PAGES) * PAGE;
}

static void xor_bytes(uint8_t *at, size_t len, uint8_t count, struct input *in)
{
	while (count--) {
		uint8_t *byte = at + take(in) % len;

		*byte ^= take(in);
	}
}

/* A send WQE that would be good, but for some bytes, into the newest QP's ring; then the record and
 * the register. */
static void step_post(struct fuzz *f, struct input *in)
{
	static const uint8_t wqe_opcodes[] = {
		PRM_WQE_RDMA_WRITE, PRM_WQE_RDMA_WRITE_IMM, PRM_WQE_SEND,      PRM_WQE_SEND_IMM,
		PRM_WQE_RDMA_READ,  PRM_WQE_ATOMIC_CS,	    PRM_WQE_ATOMIC_FA, PRM_WQE_NOP};
	uint8_t what = take(in), changes = take(in);
	uint8_t opcode = wqe_opcodes[what & 7];
	bool send = opcode == PRM_WQE_SEND || opcode == PRM_WQE_SEND_IMM;
	bool atomic = opcode == PRM_WQE_ATOMIC_CS || opcode == PRM_WQE_ATOMIC_FA;
	uint8_t *wqe = arena_page(f, f->qp_page) + RQ_BYTES + 64 * (f->pi % SQ_BBS);
	uint8_t *data = wqe + 16 + (send ? 0 : 16) + (atomic ? 16 : 0);
	uint8_t *uar = f->uar + (size_t)(newest(f, UAR, 0) % UAR_PAGES) * PAGE + PRM_UAR_BF;
	uint32_t key = newest(f, MKEY, 0) << 8;

	memset(wqe, 0, 64);
	prm_store32(wqe, (uint32_t)(f->pi & 0xffff) << 8 | opcode);
	prm_store32(wqe + 4, newest(f, QP, 0) << 8 | (uint32_t)((data - wqe) / 16 + 1));
	prm_store32(wqe + 8, 8);
	if (!send) {
		prm_store64(wqe + 16, arena_at + 8 * (uint64_t)take(in));
		prm_store32(wqe + 24, key);
	}
	prm_store32(data, atomic ? 8 : (uint32_t)take(in) << (what >> 5));
	prm_store32(data + 4, key);
	prm_store64(data + 8, arena_at + 64 * (uint64_t)take(in));
	xor_bytes(wqe, 64, changes & 3, in);
	f->pi++;
	prm_store32(arena_page(f, f->qp_page + 2) + 4, f->pi & 0xffff);
	memcpy(uar, wqe, 8);
}

/* The same in a shared queue, as a list. */
static void post_shared(struct fuzz *f, uint8_t changes, struct input *in)
{
	for (uint32_t n = 0; n < SRQ_WQES; n++) {
		uint8_t *wqe = arena_page(f, f->srq_page) + 64 * (size_t)n;

		prm_store32(wqe, (n + 1) % SRQ_WQES);
		prm_store32(wqe + 16, 1u << (changes >> 4));
		prm_store32(wqe + 20, newest(f, MKEY, 0) << 8);
		prm_store64(wqe + 24, arena_at + 0x100 * (uint64_t)n);
		prm_store32(wqe + 32, 0);
		prm_store32(wqe + 36, PRM_LKEY_TERMINATOR);
	}
	xor_bytes(arena_page(f, f->srq_page), 64 * SRQ_WQES, changes & 3, in);
	f->srq_pi += take(in) % (SRQ_WQES + 1);
	prm_store32(arena_page(f, f->srq_page + 2), f->srq_pi & 0xffff);
}

/* Receive WQEs: one data segment each, ended by the terminator. */
static void step_post_receive(struct fuzz *f, struct input *in)
{
	uint8_t changes = take(in);

	if ((changes & 8) && f->pool[SRQ].count) {
		post_shared(f, changes, in);
		return;
	}
	for (uint32_t n = 0; n < RQ_BYTES / 64; n++) {
		uint8_t *wqe = arena_page(f, f->qp_page) + 64 * n;

		prm_store32(wqe, 1u << (changes >> 4));
		prm_store32(wqe + 4, newest(f, MKEY, 0) << 8);
		prm_store64(wqe + 8, arena_at + 0x100 * n);
		prm_store32(wqe + 16, 0);
		prm_store32(wqe + 20, PRM_LKEY_TERMINATOR);
	}
	xor_bytes(arena_page(f, f->qp_page), RQ_BYTES, changes & 3, in);
	f->rq_pi += take(in) % (RQ_BYTES / 64 + 1);
	prm_store32(arena_page(f, f->qp_page + 2), f->rq_pi & 0xffff);
}

static void step_doorbell(struct fuzz *f, struct input *in)
{
	static const uint16_t offsets[] = {PRM_UAR_CQ_ARM,    PRM_UAR_EQ_ARM, PRM_UAR_EQ_CI,
					   PRM_UAR_SQ_NO_DBR, PRM_UAR_BF,     PRM_UAR_BF + 0x100};
	uint32_t page = take(in) % UAR_PAGES;
	uint32_t offset = offsets[take(in) % (sizeof(offsets) / sizeof(offsets[0]))];
	uint8_t *reg = f->uar + (size_t)page * PAGE + offset;
	uint8_t *record = f->arena + (size_t)(take(in) % ARENA_PAGES) * PAGE;
	uint8_t pi = take(in);

	prm_store32(record, take(in));
	prm_store32(record + 4, pi);
	prm_store32(reg, offset < PRM_UAR_SQ_NO_DBR ? pi : (uint32_t)pi << 8);
	prm_store32(reg + 4, offset < PRM_UAR_SQ_NO_DBR ? newest(f, CQ, 0) : newest(f, QP, 0) << 8);
}

static void step_time(struct fuzz *f, struct input *in)
{
	static const uint64_t skips_ns[] = {100, 60000, 5000000, 10000000000};

	f->now_ns += skips_ns[take(in) & 3];
	for (int n = 0; n < 20; n++) {
		if (!nm_nic_progress(f->nic, NM_SLICE_NS).worked)
			f->now_ns += 1000;
	}
}

static uint8_t *guarded(uintptr_t at, size_t len)
{
	uint8_t *p = mmap((void *)(at - PAGE), len + 2 * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, len, PROT_READ | PROT_WRITE))
		abort();
	return p + PAGE;
}

static void setup(struct fuzz *f)
{
	static uint8_t *arena, *uar, *memic;
	struct nm_config config = {.name = "fuzz",
				   .mac = {2, 0, 0, 0, 0, 1},
				   .link_is_ethernet = true,
				   .port_mtu = 3,
				   .qpn_prefix = 0x10000,
				   .uar_pages = UAR_PAGES,
				   .memic_pages = MEMIC_PAGES};
	struct nm_ops ops = {
		.ctx = f, .now_ns = fuzz_now, .link_send = fuzz_send, .event = fuzz_event};
	struct nm_cmd_ctx ctx = {.space = &f->space};
	uint8_t in[0x30] = {0}, out[0x10];
	const char *why;

	if (!arena) {
		arena = guarded(arena_at, ARENA_PAGES * PAGE);
		uar = guarded(arena_at + 0x1000000, UAR_PAGES * PAGE);
		memic = guarded(arena_at + 0x2000000, MEMIC_PAGES * PAGE);
	}
	memset(arena, 0, ARENA_PAGES * PAGE);
	memset(uar, 0, UAR_PAGES * PAGE);
	f->arena = arena;
	f->uar = uar;
	f->now_ns = 1000;
	f->space = (struct nm_space){.ops = &arena_ops, .name = "arena"};
	config.uar_base = uar;
	config.memic_base = memic;
	f->nic = nm_nic_create(&config, &ops, &why);
	if (!f->nic) {
		fprintf(stderr, "fuzz_command: %s\n", why);
		abort();
	}
	PRM_SET(cmd_in, in, opcode, PRM_CMD_SET_ROCE_ADDRESS);
	prm_store32(in + 0x18, 0xffff);
	prm_store32(in + 0x1c, 0x7f000001);
	PRM_SET(roce_addr, PRM_PTR(roce_address_in, in, roce_address), roce_version, 2);
	if (nm_nic_command(f->nic, &ctx, in, sizeof(in), out, sizeof(out), NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct fuzz *, struct input *) = {
		step_command, step_command,	 step_command,	step_memory, step_post,
		step_post,    step_post_receive, step_doorbell, step_time,   step_time};
	struct nm_observer obs = {.mask = ~0u, .event = observe};
	struct input in = {data, size};
	struct fuzz f = {0};

	setup(&f);
	nm_nic_add_observer(f.nic, &obs);
	if (take(&in) & 1)
		good_start(&f, take(&in));
	for (int n = 0; n < STEPS && in.left; n++)
		step[take(&in) % (sizeof(step) / sizeof(step[0]))](&f, &in);
	step_time(&f, &in);
	nm_nic_destroy(f.nic);
	return 0;
}
