/* SPDX-License-Identifier: BSD-3-Clause */
/* Send WQEs: bytes to work requests, and every way in which they can be wrong. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nicmodel/wqe.h"
#include "prm/prm.h"

enum { BBS = 4 };

struct fixture {
	uint8_t bytes[BBS * 64];
	struct nm_sq_ring ring;
	uint16_t idx;
	struct nm_wr wr;
	char why[NM_WHY_MAX];
};

static void begin(struct fixture *f, uint16_t idx, uint8_t opcode, uint32_t ds, uint8_t flags)
{
	memset(f, 0, sizeof(*f));
	f->ring = (struct nm_sq_ring){f->bytes, BBS, PRM_QP_ST_RC};
	f->idx = idx;
	prm_store32(nm_wqe_octoword(&f->ring, idx, 0), 0x09000000u | (uint32_t)idx << 8 | opcode);
	prm_store32(nm_wqe_octoword(&f->ring, idx, 0) + 4, 0x123456u << 8 | 0xc0 | ds);
	nm_wqe_octoword(&f->ring, idx, 0)[11] = flags;
}

static void data(struct fixture *f, uint32_t ow, uint32_t count, uint32_t lkey, uint64_t va)
{
	uint8_t *seg = nm_wqe_octoword(&f->ring, f->idx, ow);

	prm_store32(seg, count);
	prm_store32(seg + 4, lkey);
	prm_store64(seg + 8, va);
}

static uint8_t decode(struct fixture *f)
{
	return nm_wqe_decode(&f->ring, f->idx, &f->wr, f->why);
}

Test(wqe_decode, control_segment_fields)
{
	struct fixture f;

	begin(&f, 7, PRM_WQE_SEND_IMM, 2, 2 << 5 | 3 << 2 | 2);
	prm_store32(nm_wqe_octoword(&f.ring, 7, 0) + 12, 0x11223344);
	data(&f, 1, 100, 5, 6);
	cr_assert_eq(decode(&f), 0, "%s", f.why);
	cr_assert_eq(f.wr.kind, NM_WR_SEND);
	cr_assert(f.wr.imm_valid);
	cr_assert_eq(f.wr.imm, 0x11223344);
	cr_assert_eq(f.wr.opmod, 9);
	cr_assert_eq(f.wr.ds, 2, "the two bits above ds are not part of it");
	cr_assert_eq(f.wr.nbb, 1);
	cr_assert_eq(f.wr.fence, NM_FENCE);
	cr_assert_eq(f.wr.ce, NM_CE_ALWAYS_EQE);
	cr_assert(f.wr.se);
	cr_assert_eq(f.wr.idx_seen, 7);
	cr_assert_eq(f.wr.qpn_seen, 0x123456);
	cr_assert_eq(f.wr.len, 100);
}

Test(wqe_decode, a_wqe_wraps_at_any_octoword)
{
	struct fixture f;

	for (uint16_t idx = 0; idx < BBS; idx++) {
		struct nm_sge sge;
		uint32_t ow;

		begin(&f, idx, PRM_WQE_RDMA_WRITE, 16, 0);
		prm_store64(nm_wqe_octoword(&f.ring, idx, 1), 0x1122334455667788);
		prm_store32(nm_wqe_octoword(&f.ring, idx, 1) + 8, 0x99aabbcc);
		for (uint32_t i = 2; i < 16; i++)
			data(&f, i, i, i + 100, i + 1000);
		cr_assert_eq(decode(&f), 0, "%s", f.why);
		cr_assert_eq(f.wr.raddr, 0x1122334455667788);
		cr_assert_eq(f.wr.rkey, 0x99aabbcc);
		cr_assert_eq(f.wr.nsge, 14);
		cr_assert_eq(f.wr.nbb, 4);
		ow = f.wr.data_ow;
		for (uint32_t i = 2; i < 16; i++) {
			ow = nm_wqe_sge(&f.ring, &f.wr, ow, &sge);
			cr_assert_eq(sge.len, i);
			cr_assert_eq(sge.lkey, i + 100);
			cr_assert_eq(sge.va, i + 1000);
		}
	}
}

Test(wqe_decode, inline_bytes_wrap_too)
{
	struct fixture f;
	struct nm_sge sge;
	uint8_t out[100];

	begin(&f, 3, PRM_WQE_SEND, 8, 0);
	prm_store32(nm_wqe_octoword(&f.ring, 3, 1), 0x80000000u | 100);
	for (uint32_t i = 0; i < 100; i++)
		nm_wqe_octoword(&f.ring, 3, 1 + (4 + i) / 16)[(4 + i) % 16] = (uint8_t)i;
	cr_assert_eq(decode(&f), 0, "%s", f.why);
	cr_assert_eq(f.wr.len, 100);
	cr_assert_eq(nm_wqe_sge(&f.ring, &f.wr, 1, &sge), 8);
	nm_wqe_inline(&f.ring, &f.wr, &sge, 0, out, 100);
	for (uint32_t i = 0; i < 100; i++)
		cr_assert_eq(out[i], i);
	nm_wqe_inline(&f.ring, &f.wr, &sge, 37, out, 20);
	cr_assert_eq(out[0], 37);
	cr_assert_eq(out[19], 56);
}

Test(wqe_decode, inline_and_pointers_may_mix)
{
	struct fixture f;

	begin(&f, 0, PRM_WQE_RDMA_WRITE, 6, 0);
	prm_store32(nm_wqe_octoword(&f.ring, 0, 2), 0x80000000u | 12);
	data(&f, 3, 1000, 1, 2);
	prm_store32(nm_wqe_octoword(&f.ring, 0, 4), 0x80000000u | 13);
	cr_assert_eq(decode(&f), 0, "%s", f.why);
	cr_assert_eq(f.wr.len, 1025);
	cr_assert_eq(f.wr.nsge, 3);
}

Test(wqe_decode, a_count_of_zero_is_two_gigabytes)
{
	struct fixture f;

	begin(&f, 0, PRM_WQE_SEND, 2, 0);
	cr_assert_eq(decode(&f), 0);
	cr_assert_eq(f.wr.len, UINT64_C(1) << 31);
	begin(&f, 0, PRM_WQE_SEND, 1, 0);
	cr_assert_eq(decode(&f), 0);
	cr_assert_eq(f.wr.len, 0, "no segment is no bytes");
}

Test(wqe_decode, a_nop_may_have_anything_behind_it)
{
	struct fixture f;

	begin(&f, 0, PRM_WQE_NOP, 15, 0);
	memset(f.bytes + 16, 0xff, 200);
	cr_assert_eq(decode(&f), 0);
	cr_assert_eq(f.wr.kind, NM_WR_NOP);
	cr_assert_eq(f.wr.nbb, 4);
	cr_assert_eq(f.wr.len, 0);
}

Test(wqe_decode, atomics)
{
	struct fixture f;

	begin(&f, 0, PRM_WQE_ATOMIC_CS, 4, 0);
	prm_store64(nm_wqe_octoword(&f.ring, 0, 2), 11);
	prm_store64(nm_wqe_octoword(&f.ring, 0, 2) + 8, 22);
	data(&f, 3, 8, 1, 2);
	cr_assert_eq(decode(&f), 0, "%s", f.why);
	cr_assert_eq(f.wr.swap_add, 11);
	cr_assert_eq(f.wr.compare, 22);
	data(&f, 3, 9, 1, 2);
	cr_assert_eq(decode(&f), PRM_SYND_LOCAL_QP_OP);
}

Test(wqe_decode, what_is_wrong_is_named)
{
	static const struct {
		uint8_t opcode;
		uint32_t ds;
		uint32_t first_count; /* of the octoword behind the fixed segments */
		const char *why;
	} rows[] = {
		{0x7e, 4, 0, "opcode 0x7e"},
		{PRM_WQE_RDMA_WRITE, 0, 0, "ds is 0"},
		{PRM_WQE_RDMA_WRITE, 1, 0, "takes at least 2"},
		{PRM_WQE_RDMA_READ, 1, 0, "takes at least 2"},
		{PRM_WQE_ATOMIC_FA, 3, 0, "returns 8 bytes"},
		{PRM_WQE_NOP, 0, 0, "ds is 0"},
		{PRM_WQE_RDMA_WRITE, 3, 0x80000000u | 13, "ends at octoword 4"},
		{PRM_WQE_RDMA_WRITE, 3, 0x800003ffu, "ends at octoword"},
		{PRM_WQE_RDMA_READ, 3, 0x80000004u, "inline data"},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;

		begin(&f, 0, rows[i].opcode, rows[i].ds, 0);
		data(&f, 2, rows[i].first_count, 0, 0);
		cr_assert_eq(decode(&f), PRM_SYND_LOCAL_QP_OP, "row %u", i);
		cr_assert_not_null(strstr(f.why, rows[i].why), "row %u: %s", i, f.why);
		cr_assert_geq(f.wr.nbb, 1);
	}
}
