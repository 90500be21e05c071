/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory: given out by commands, used by RDMA through keys of its own. */
#include "emu/nicmodel/nm_obj.h"
#include "sim_tests/harness.h"

enum { TAG = 0x3c, PAGES = 16 /* of a simulated NIC */ };

static uint8_t alloc(struct hx *h, uint32_t nic, uint64_t range, uint32_t range_size, uint32_t size,
		     uint64_t *at)
{
	uint8_t status;

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_ALLOC_MEMIC);
	PRM_SET64(alloc_memic_in, h->in, range_start_addr, range);
	PRM_SET(alloc_memic_in, h->in, range_size, range_size);
	PRM_SET(alloc_memic_in, h->in, memic_size, size);
	status = hx_command(h, nic, 0x20);
	*at = PRM_GET64(alloc_memic_out, h->out, memic_start_addr);
	return status;
}

static uint8_t dealloc(struct hx *h, uint32_t nic, uint64_t at, uint32_t size)
{
	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_DEALLOC_MEMIC);
	PRM_SET64(dealloc_memic_in, h->in, memic_start_addr, at);
	PRM_SET(dealloc_memic_in, h->in, memic_size, size);
	return hx_command(h, nic, 0x20);
}

static uint8_t make_key(struct hx *h, uint32_t nic, uint64_t at, uint64_t len, uint32_t *key)
{
	uint8_t *mkc = PRM_PTR(create_mkey_in, h->in, mkc);
	uint8_t status;

	memset(h->in, 0, 0x110);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_MKEY);
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_MEMIC & 3);
	PRM_SET(mkc, mkc, access_mode_4_2, PRM_MKC_MODE_MEMIC >> 2);
	PRM_SET(mkc, mkc, lr, 1);
	PRM_SET(mkc, mkc, lw, 1);
	PRM_SET(mkc, mkc, rr, 1);
	PRM_SET(mkc, mkc, rw, 1);
	PRM_SET(mkc, mkc, a, 1);
	PRM_SET(mkc, mkc, qpn, 0xffffff);
	PRM_SET(mkc, mkc, mkey_7_0, TAG);
	PRM_SET(mkc, mkc, pd, h->nic[nic].pd);
	PRM_SET64(mkc, mkc, start_addr, at);
	PRM_SET64(mkc, mkc, len, len);
	status = hx_command(h, nic, 0x110);
	*key = PRM_GET(create_mkey_out, h->out, mkey_index) << 8 | TAG;
	return status;
}

static void one(struct hx_pair *p, uint8_t opcode, uint32_t rkey, uint64_t offset, uint32_t len,
		uint8_t syndrome)
{
	uint16_t idx = hx_post(p->a, &(struct hx_wr){.opcode = opcode,
						     .flags = HX_SIGNALED,
						     .raddr = (void *)(uintptr_t)offset,
						     .rkey = rkey,
						     .swap_add = 5,
						     .nsge = 1,
						     .sge = {{p->amem, len, p->akey}}});

	hx_ring(p->a);
	if (syndrome)
		HX_ERR(p->a->scq, syndrome, idx);
	else
		HX_OK(p->a->scq, idx);
}

HX_TEST(rc_memic, a_peer_writes_reads_and_counts_in_device_memory)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint32_t key;
	uint64_t at;

	cr_assert_eq(alloc(h, 1, NM_MEMIC_START, PAGES * 4096, 10240, &at), 0, "%s", h->why);
	cr_assert_eq(make_key(h, 1, at + 64, 10000, &key), 0, "%s", h->why);
	hx_fill(p.amem, 10000, 3);
	one(&p, PRM_WQE_RDMA_WRITE, key, 0, 10000, 0);
	memset(p.amem, 0, 10000);
	one(&p, PRM_WQE_RDMA_READ, key, 0, 10000, 0);
	cr_assert(hx_is(p.amem, 10000, 3));
	one(&p, PRM_WQE_ATOMIC_FA, key, 8, 8, 0);
	one(&p, PRM_WQE_RDMA_WRITE, key, 1, 10000, PRM_SYND_REMOTE_ACCESS);
}

HX_TEST(rc_memic, device_memory_is_a_source_and_receives_messages)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint32_t akey, bkey;
	uint64_t at;
	uint16_t idx;

	cr_assert_eq(alloc(h, 0, NM_MEMIC_START, 8192, 8192, &at), 0);
	cr_assert_eq(make_key(h, 0, at, 8192, &akey), 0);
	cr_assert_eq(alloc(h, 1, NM_MEMIC_START + 8192, 8192, 8192, &at), 0);
	cr_assert_eq(at, NM_MEMIC_START + 8192);
	cr_assert_eq(make_key(h, 1, at, 8192, &bkey), 0);
	hx_fill(p.bmem, 5000, 4);
	hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_READ,
				     .raddr = p.bmem,
				     .rkey = p.bkey,
				     .nsge = 1,
				     .sge = {{NULL, 5000, akey}}});
	hx_recv(p.b, &(struct hx_sge){(void *)16, 5000, bkey}, 1);
	idx = hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_SEND,
					   .flags = HX_SIGNALED | HX_FENCE,
					   .nsge = 1,
					   .sge = {{NULL, 5000, akey}}});
	hx_ring(p.a);
	HX_OK(p.a->scq, idx);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	one(&p, PRM_WQE_RDMA_READ, bkey, 16, 5000, 0);
	cr_assert(hx_is(p.amem, 5000, 4));
}

HX_TEST(rc_memic, what_is_in_use_stays_and_what_is_not_there_is_refused)
{
	const uint32_t all = PAGES * 4096;
	uint64_t at, other;
	uint32_t key;

	cr_assert_neq(alloc(h, 0, NM_MEMIC_START, all, 0, &at), 0);
	cr_assert_neq(alloc(h, 0, NM_MEMIC_START, all, 100, &at), 0, "no multiple of 64");
	cr_assert_neq(alloc(h, 0, NM_MEMIC_START, all, all / 2 + 64, &at), 0);
	cr_assert_neq(alloc(h, 0, NM_MEMIC_START - 64, all, 64, &at), 0);
	cr_assert_neq(alloc(h, 0, NM_MEMIC_START + 64, all, 64, &at), 0);
	cr_assert_neq(alloc(h, 0, UINT64_MAX - 63, 128, 64, &at), 0);
	cr_assert_eq(alloc(h, 0, NM_MEMIC_START, 4096, 4032, &at), 0);
	cr_assert_eq(alloc(h, 0, NM_MEMIC_START, 4096, 64, &other), 0);
	cr_assert_eq(other, at + 4032, "behind the first");
	cr_assert_neq(alloc(h, 0, NM_MEMIC_START, 4096, 64, &other), 0, "the page is full");
	cr_assert_neq(make_key(h, 0, at, 4033, &key), 0, "over two pieces");
	cr_assert_neq(make_key(h, 0, at - 1, 2, &key), 0);
	cr_assert_neq(make_key(h, 0, at + 8192, 64, &key), 0, "nobody's");
	cr_assert_eq(make_key(h, 0, at, 4032, &key), 0);
	cr_assert_eq(dealloc(h, 0, at, 4032), PRM_STATUS_RES_BUSY);
	cr_assert_neq(dealloc(h, 0, at + 64, 64), 0);
	cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_MKEY, key >> 8), 0);
	cr_assert_eq(dealloc(h, 0, at, 4032), 0);
	cr_assert_eq(alloc(h, 0, NM_MEMIC_START, 4096, 4032, &other), 0);
	cr_assert_eq(other, at);
}
