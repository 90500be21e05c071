/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA WRITE: every size, MTU and way to describe the data; what arrives is what was sent. */
#include "sim_tests/harness.h"

/* A write of the pair's buffer: `len` bytes from a at `off` to b at `off`. */
static struct hx_wr write_wr(const struct hx_pair *p, uint64_t off, uint32_t len)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_RDMA_WRITE,
		.flags = HX_SIGNALED,
		.raddr = p->bmem + off,
		.rkey = p->bkey,
		.nsge = len > 0,
		.sge = {{p->amem + off, len, p->akey}},
	};
}

HX_TEST(rc_write, every_size_arrives_and_nothing_beside_it)
{
	static const uint32_t sizes[] = {0, 1, 1023, 1024, 1025, 4096, 65536, 65537, (1 << 20) + 3};
	struct hx_pair p = hx_pair(h, NULL);

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct hx_wr wr = write_wr(&p, 64, sizes[i]);
		uint8_t cqe[64];

		hx_fill(p.amem, p.len, i);
		memset(p.bmem, 0xee, p.len);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		cr_assert(hx_wait(p.a->scq, cqe, SIM_S), "size %u", sizes[i]);
		cr_assert_eq(cqe_opcode(cqe), PRM_CQE_REQ);
		cr_assert_eq(cqe_wqe_opcode(cqe), PRM_WQE_RDMA_WRITE);
		cr_assert_eq(cqe_qpn(cqe), p.a->qpn);
		cr_assert_eq(cqe_idx(cqe), p.a->last_idx);
		cr_assert_eq(memcmp(p.amem + 64, p.bmem + 64, sizes[i]), 0, "size %u", sizes[i]);
		cr_assert_eq(p.bmem[63], 0xee);
		cr_assert_eq(p.bmem[64 + sizes[i]], 0xee);
	}
	cr_expect_eq(h->diagnoses, 0, "%s", h->diagnosis[0]);
}
