/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that WQEs change: memory windows, lists of keys, invalidation from here and from afar. */
#include "emu/nicmodel/nm_obj.h"
#include "emu/nicmodel/roce.h"
#include "emu/nicmodel/wqe.h"
#include "sim_tests/harness.h"

enum { ANY_QPN = 0xffffff, ROOM = 512 /* octowords of a list's key */ };
enum {
	MASK_LEN = 1 << 0,
	MASK_START = 1 << 6,
	MASK_KEY = 1 << 13,
	MASK_QPN = 1 << 14,
	MASK_LR = 1 << 17,
	MASK_LW = 1 << 18,
	MASK_RR = 1 << 19,
	MASK_RW = 1 << 20,
	MASK_A = 1 << 21,
	MASK_FREE = 1 << 29,
	MASK_RIGHTS = MASK_LR | MASK_LW | MASK_RR | MASK_RW | MASK_A,
	MASK_BIND = MASK_FREE | MASK_KEY | MASK_LEN | MASK_START | MASK_RIGHTS,
};

static uint32_t free_key(struct hx *h, uint32_t nic, uint32_t pd)
{
	return hx_free_key(h, nic, pd, ROOM);
}

/* Bytes behind the control segment, filled as libmlx5 does. */
struct umr {
	uint8_t bytes[61 * 16];
	uint32_t key, nklm;
	uint8_t flags;
	uint64_t mask;
	bool by_pointer;
	uint8_t *mkc;
	uint8_t *klm;
};

static void umr_init(struct umr *u, uint32_t key, uint8_t flags, uint64_t mask)
{
	memset(u, 0, sizeof(*u));
	u->key = key;
	u->flags = flags;
	u->mask = mask;
	u->mkc = u->bytes + 3 * 16;
	u->klm = u->bytes + 7 * 16;
	PRM_SET(mkc, u->mkc, qpn, ANY_QPN);
}

static void umr_klm(struct umr *u, uint32_t len, uint32_t key, const void *va)
{
	uint8_t *e = u->klm + 16 * (size_t)u->nklm++;

	prm_store32(e, len);
	prm_store32(e + 4, key);
	prm_store64(e + 8, (uintptr_t)va);
}

static void umr_rights(struct umr *u, uint8_t rights)
{
	PRM_SET(mkc, u->mkc, lr, (rights & HX_LR) != 0);
	PRM_SET(mkc, u->mkc, lw, (rights & HX_LW) != 0);
	PRM_SET(mkc, u->mkc, rr, (rights & HX_RR) != 0);
	PRM_SET(mkc, u->mkc, rw, (rights & HX_RW) != 0);
	PRM_SET(mkc, u->mkc, a, (rights & HX_A) != 0);
}

static uint16_t umr_post(struct hx_qp *qp, struct umr *u)
{
	uint32_t octwords = (u->nklm + 3) / 4 * 4;
	struct hx_wr wr = {
		.opcode = PRM_WQE_UMR,
		.flags = HX_SIGNALED,
		.imm = u->key,
		.raw = u->bytes,
		.raw_ow = (uint8_t)(7 + (u->by_pointer ? 1 : octwords)),
	};

	u->bytes[0] = u->flags | NM_UMR_XLT_OFFSET | (u->by_pointer ? 0 : NM_UMR_INLINE);
	prm_store32(u->bytes + 4, octwords << 16);
	prm_store64(u->bytes + 8, u->mask);
	return hx_post(qp, &wr);
}

/* Binds a type 2 window to this QP; the new key. */
static uint32_t bind_window(struct hx_qp *qp, uint32_t window, uint8_t new_tag, uint32_t region,
			    const void *at, uint64_t len, uint8_t rights)
{
	struct umr u;

	umr_init(&u, window, NM_UMR_NEED_FREE, MASK_BIND | MASK_QPN);
	PRM_SET(mkc, u.mkc, qpn, qp->qpn);
	PRM_SET(mkc, u.mkc, mkey_7_0, new_tag);
	PRM_SET64(mkc, u.mkc, start_addr, (uintptr_t)at);
	PRM_SET64(mkc, u.mkc, len, len);
	umr_rights(&u, rights);
	umr_klm(&u, (uint32_t)len, region, at);
	umr_post(qp, &u);
	hx_ring(qp);
	return (window & ~0xffu) | new_tag;
}

static uint16_t invalidate(struct hx_qp *qp, uint32_t key)
{
	struct umr u;
	uint16_t idx;

	umr_init(&u, key, NM_UMR_CHECK_QPN, MASK_FREE | MASK_KEY | MASK_QPN);
	PRM_SET(mkc, u.mkc, free, 1);
	idx = umr_post(qp, &u);
	hx_ring(qp);
	return idx;
}

/* One WQE of `a` about len bytes at `at` of the peer through `key`. */
static void remote(struct hx_pair *p, uint8_t opcode, uint32_t key, const void *at, uint32_t len,
		   uint8_t syndrome)
{
	struct hx_wr wr = {.opcode = opcode,
			   .flags = HX_SIGNALED,
			   .raddr = at,
			   .rkey = key,
			   .nsge = 1,
			   .sge = {{p->amem, len, p->akey}}};
	uint16_t idx = hx_post(p->a, &wr);

	hx_ring(p->a);
	if (syndrome)
		HX_ERR(p->a->scq, syndrome, idx);
	else
		HX_OK(p->a->scq, idx);
}

struct window {
	struct hx_pair p;
	uint32_t region, window, key;
	uint8_t *at;
};
enum { WIN_AT = 5000, WIN_LEN = 10000 };

/* A window of b over a part of a region without remote rights. */
static struct window window(struct hx *h, uint8_t rights)
{
	struct window w = {.p = hx_pair_of(h, NULL, NULL, 1 << 16)};

	w.region = hx_mkey(h, 1, h->nic[1].pd, w.p.bmem, w.p.len, HX_LR | HX_LW);
	w.window = free_key(h, 1, h->nic[1].pd);
	w.at = w.p.bmem + WIN_AT;
	w.key = bind_window(w.p.b, w.window, 0x12, w.region, w.at, WIN_LEN, rights);
	HX_OK(w.p.b->scq, w.p.b->last_idx);
	return w;
}

HX_TEST(rc_umr, a_window_gives_remote_rights_to_its_part_of_a_region)
{
	struct window w = window(h, HX_LR | HX_RW | HX_RR | HX_A);

	hx_fill(w.p.amem, WIN_LEN, 5);
	remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, WIN_LEN, 0);
	cr_assert(hx_is(w.at, WIN_LEN, 5));
	memset(w.p.amem, 0, WIN_LEN);
	remote(&w.p, PRM_WQE_RDMA_READ, w.key, w.at, WIN_LEN, 0);
	cr_assert(hx_is(w.p.amem, WIN_LEN, 5));
	remote(&w.p, PRM_WQE_ATOMIC_FA, w.key, w.at, 8, 0);
	remote(&w.p, PRM_WQE_RDMA_WRITE, w.region, w.at, 8, PRM_SYND_REMOTE_ACCESS);
}

HX_TEST(rc_umr, a_windows_bounds_are_exact)
{
	for (int side = 0; side < 2; side++) {
		struct window w = window(h, HX_LR | HX_RW);

		remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, side ? w.at + 1 : w.at - 1, WIN_LEN,
		       PRM_SYND_REMOTE_ACCESS);
	}
}

HX_TEST(rc_umr, a_window_has_the_rights_of_its_binding)
{
	static const struct {
		uint8_t opcode, lacks;
	} rows[] = {
		{PRM_WQE_RDMA_WRITE, HX_RW}, {PRM_WQE_RDMA_READ, HX_RR}, {PRM_WQE_ATOMIC_FA, HX_A}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct window w = window(h, (uint8_t)(HX_ALL_RIGHTS & ~rows[i].lacks));

		remote(&w.p, rows[i].opcode, w.key, w.at, 8, PRM_SYND_REMOTE_ACCESS);
		cr_assert(hx_diagnosed(h, "does not allow"));
	}
}

/* The region below needs the local right: who may not write here gives nobody a right to. */
HX_TEST(rc_umr, a_window_cannot_give_what_its_region_has_not)
{
	struct window w = window(h, HX_LR | HX_RW);
	uint32_t readonly = hx_mkey(h, 1, h->nic[1].pd, w.p.bmem, w.p.len, HX_LR | HX_RW);
	uint32_t key =
		bind_window(w.p.b, free_key(h, 1, h->nic[1].pd), 1, readonly, w.at, 100, HX_RW);

	HX_OK(w.p.b->scq, w.p.b->last_idx);
	remote(&w.p, PRM_WQE_RDMA_WRITE, key, w.at, 100, PRM_SYND_REMOTE_ACCESS);
}

HX_TEST(rc_umr, a_type_2_window_is_of_its_qp_alone)
{
	struct window w = window(h, HX_LR | HX_RW);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);

	remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, 0);
	remote(&q, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, PRM_SYND_REMOTE_ACCESS);
	cr_assert(hx_diagnosed(h, "only"));
}

/* The device does not look at what a binding names: that shows when it is used. */
HX_TEST(rc_umr, a_binding_beyond_its_region_fails_where_it_is_used)
{
	struct window w = window(h, HX_LR | HX_RW);
	uint8_t *end = w.p.bmem + w.p.len;
	uint32_t key = bind_window(w.p.b, free_key(h, 1, h->nic[1].pd), 1, w.region, end - 100, 200,
				   HX_RW);

	HX_OK(w.p.b->scq, w.p.b->last_idx);
	remote(&w.p, PRM_WQE_RDMA_WRITE, key, end - 100, 100, 0);
	remote(&w.p, PRM_WQE_RDMA_WRITE, key, end - 100, 101, PRM_SYND_REMOTE_ACCESS);
}

HX_TEST(rc_umr, a_bound_window_is_not_bound_again)
{
	struct window w = window(h, HX_LR | HX_RW);

	bind_window(w.p.b, w.key, 0x13, w.region, w.at, 100, HX_RW);
	HX_ERR(w.p.b->scq, PRM_SYND_MW_BIND, w.p.b->last_idx);
	cr_assert_eq(hx_query_state(w.p.b), PRM_QP_ERR);
	cr_assert(hx_diagnosed(h, "only a free key may be bound"));
}

HX_TEST(rc_umr, a_window_of_another_pd_is_a_bind_error)
{
	struct window w = window(h, HX_LR | HX_RW);
	uint32_t other = free_key(h, 1, hx_new(h, 1, PRM_CMD_ALLOC_PD));

	bind_window(w.p.b, other, 1, w.region, w.at, 100, HX_RW);
	HX_ERR(w.p.b->scq, PRM_SYND_MW_BIND, w.p.b->last_idx);
}

HX_TEST(rc_umr, a_region_of_another_pd_is_refused_below_a_window)
{
	struct window w = window(h, HX_LR | HX_RW);
	uint32_t other =
		hx_mkey(h, 1, hx_new(h, 1, PRM_CMD_ALLOC_PD), w.p.bmem, w.p.len, HX_LR | HX_LW);
	uint32_t key = bind_window(w.p.b, free_key(h, 1, h->nic[1].pd), 1, other, w.at, 100, HX_RW);

	HX_OK(w.p.b->scq, w.p.b->last_idx);
	remote(&w.p, PRM_WQE_RDMA_WRITE, key, w.at, 100, PRM_SYND_REMOTE_ACCESS);
	cr_assert(hx_diagnosed(h, "belongs to PD"));
}

HX_TEST(rc_umr, an_invalidated_window_is_refused_and_may_be_bound_again)
{
	struct window w = window(h, HX_LR | HX_RW);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint32_t again;

	remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, 0);
	HX_OK(w.p.b->scq, invalidate(w.p.b, w.key));
	again = bind_window(q.b, w.window, 0x14, w.region, w.at, 100, HX_RW);
	HX_OK(q.b->scq, q.b->last_idx);
	remote(&q, PRM_WQE_RDMA_WRITE, again, w.at, 100, 0);
	remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, PRM_SYND_REMOTE_ACCESS);
}

HX_TEST(rc_umr, a_window_is_invalidated_once)
{
	struct window w = window(h, HX_LR | HX_RW);

	HX_OK(w.p.b->scq, invalidate(w.p.b, w.key));
	HX_ERR(w.p.b->scq, PRM_SYND_MW_BIND, invalidate(w.p.b, w.key));
}

HX_TEST(rc_umr, another_qp_cannot_invalidate_a_window)
{
	struct window w = window(h, HX_LR | HX_RW);
	struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);

	HX_ERR(q.b->scq, PRM_SYND_MW_BIND, invalidate(q.b, w.key));
	remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, 0);
}

/* ---- SEND with invalidate ---- */

static uint16_t send_inval(struct hx_pair *p, uint32_t key, uint32_t len)
{
	struct hx_wr wr = {.opcode = PRM_WQE_SEND_INVAL,
			   .flags = HX_SIGNALED,
			   .imm = key,
			   .nsge = 1,
			   .sge = {{p->amem, len, p->akey}}};
	uint16_t idx;

	hx_recv(p->b, &(struct hx_sge){p->bmem, 5000, p->bkey}, 1);
	idx = hx_post(p->a, &wr);
	hx_ring(p->a);
	return idx;
}

static void recv_inval(struct hx_cq *cq, uint32_t key, uint32_t len)
{
	uint8_t cqe[64];

	cr_assert(hx_wait(cq, cqe, SIM_S));
	cr_assert_eq(cqe_opcode(cqe), PRM_CQE_RESP_SEND_INV);
	cr_assert_eq(cqe_imm(cqe), key);
	cr_assert_eq(cqe_bytes(cqe), len);
}

HX_TEST(rc_umr, a_send_invalidates_the_peers_window_before_its_completion)
{
	static const uint32_t lens[] = {100, 5000};

	for (int i = 0; i < 2; i++) {
		struct window w = window(h, HX_LR | HX_RW);
		uint16_t idx;

		hx_fill(w.p.amem, lens[i], 9);
		idx = send_inval(&w.p, w.key, lens[i]);
		recv_inval(w.p.b->rcq, w.key, lens[i]);
		cr_assert(hx_is(w.p.bmem, lens[i], 9));
		HX_OK(w.p.a->scq, idx);
		bind_window(w.p.b, w.window, 0x15, w.region, w.at, 100, HX_RW);
		HX_OK(w.p.b->scq, w.p.b->last_idx);
		remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, PRM_SYND_REMOTE_ACCESS);
	}
}

HX_TEST(rc_umr, what_a_send_cannot_invalidate_is_an_error_at_both_ends)
{
	for (int what = 0; what < 3; what++) {
		struct window w = window(h, HX_LR | HX_RW);
		struct hx_pair q = hx_pair_of(h, NULL, NULL, 1 << 16);
		/* a region; a key that is none; a window of another QP */
		uint32_t keys[] = {w.region, 0xabcdef00, w.key};
		uint16_t idx = send_inval(&q, keys[what], 100);

		HX_ERR(q.a->scq, PRM_SYND_REMOTE_OP, idx);
		HX_RECV_ERR(q.b->rcq, PRM_SYND_REMOTE_INVAL_REQ, 0);
		cr_assert(hx_quiet(h));
		cr_assert_eq(hx_query_state(q.b), PRM_QP_ERR);
		remote(&w.p, PRM_WQE_RDMA_WRITE, w.key, w.at, 100, 0);
	}
}

/* ---- lists ---- */

/* Post only: what follows in the same ring of the doorbell sees the list. */
static uint32_t post_list(struct hx_qp *qp, struct umr *u, uint32_t key, uint64_t len)
{
	u->key = key;
	u->mask = MASK_FREE | MASK_LEN | MASK_RIGHTS;
	PRM_SET64(mkc, u->mkc, len, len);
	umr_rights(u, HX_ALL_RIGHTS);
	umr_post(qp, u);
	return key;
}

static void write_of(struct hx_pair *p, const void *at, uint32_t len, uint32_t lkey, uint32_t rkey,
		     const void *raddr, uint8_t opcode)
{
	hx_post(p->a, &(struct hx_wr){.opcode = opcode,
				      .flags = HX_SIGNALED,
				      .raddr = raddr,
				      .rkey = rkey,
				      .nsge = 1,
				      .sge = {{at, len, lkey}}});
}

HX_TEST(rc_umr, a_list_of_keys_gathers_and_scatters)
{
	static const uint32_t lens[] = {1, 4096, 3, 777, 1024, 2000, 8192, 5};
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	struct umr u;
	uint32_t key = free_key(h, 0, h->nic[0].pd), total = 0;
	uint8_t *straight = hx_alloc(h, 1 << 15);

	umr_init(&u, 0, 0, 0);
	hx_fill(p.amem, p.len, 3);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const uint8_t *at = p.amem + 100 + 13 * i + 2 * total;

		memcpy(straight + total, at, lens[i]);
		umr_klm(&u, lens[i], p.akey, at);
		total += lens[i];
	}
	post_list(p.a, &u, key, total);
	write_of(&p, (void *)0, total, key, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, p.a->last_idx);
	cr_assert_eq(memcmp(p.bmem, straight, total), 0);
	memset(p.amem, 0, p.len);
	write_of(&p, (void *)0, total, key, p.bkey, p.bmem, PRM_WQE_RDMA_READ);
	hx_ring(p.a);
	HX_OK(p.a->scq, p.a->last_idx);
	total = 0;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		cr_assert_eq(memcmp(p.amem + 100 + 13 * i + 2 * total, straight + total, lens[i]),
			     0, "piece %zu", i);
		total += lens[i];
	}
	/* In the middle of the list, as the target of the peer, and an atomic across a border. */
	hx_fill(p.bmem, 3000, 4);
	hx_post(p.b, &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
				     .flags = HX_SIGNALED,
				     .raddr = (void *)4096,
				     .rkey = key,
				     .nsge = 1,
				     .sge = {{p.bmem, 1805, p.bkey}}});
	hx_post(p.b, &(struct hx_wr){.opcode = PRM_WQE_ATOMIC_FA,
				     .flags = HX_SIGNALED,
				     .raddr = (void *)4096,
				     .rkey = key,
				     .swap_add = 0,
				     .nsge = 1,
				     .sge = {{p.bmem + 4000, 8, p.bkey}}});
	hx_ring(p.b);
	HX_OK(p.b->scq, 0);
	HX_OK(p.b->scq, p.b->last_idx);
	cr_assert_eq(memcmp(p.bmem + 4000, p.bmem, 8), 0);
}

/* 53 entries of 100 bytes, by pointer and twice: one transfer has 64 segments. */
HX_TEST(rc_umr, a_list_may_be_longer_than_a_transfer_and_lie_in_memory)
{
	enum { N = 200, PIECE = 37 };
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint8_t *list = hx_alloc(h, N * 16);
	uint32_t list_key = hx_mkey(h, 0, h->nic[0].pd, list, N * 16, HX_LR);
	uint32_t key = free_key(h, 0, h->nic[0].pd);
	struct umr u;

	hx_fill(p.amem, p.len, 8);
	umr_init(&u, 0, 0, 0);
	u.by_pointer = true;
	umr_klm(&u, N * 16, list_key, list);
	u.nklm = N;
	for (uint32_t i = 0; i < N; i++) {
		prm_store32(list + 16 * i, PIECE);
		prm_store32(list + 16 * i + 4, p.akey);
		prm_store64(list + 16 * i + 8, (uintptr_t)(p.amem + (N - 1 - i) * 50));
	}
	post_list(p.a, &u, key, N * PIECE);
	write_of(&p, NULL, N * PIECE, key, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, p.a->last_idx);
	for (uint32_t i = 0; i < N; i++)
		cr_assert_eq(memcmp(p.bmem + i * PIECE, p.amem + (N - 1 - i) * 50, PIECE), 0,
			     "piece %u", i);
	cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_MKEY, list_key >> 8), 0);
	memset(p.amem, 0, p.len);
	write_of(&p, NULL, N * PIECE, key, p.bkey, p.bmem, PRM_WQE_RDMA_READ);
	hx_ring(p.a);
	HX_OK(p.a->scq, p.a->last_idx);
	for (uint32_t i = 0; i < N; i++)
		cr_assert_eq(memcmp(p.bmem + i * PIECE, p.amem + (N - 1 - i) * 50, PIECE), 0);
}

HX_TEST(rc_umr, an_interleaved_layout_repeats_with_its_strides)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint32_t key = free_key(h, 0, h->nic[0].pd);
	struct umr u;

	umr_init(&u, 0, 0, 0);
	hx_fill(p.amem, p.len, 6);
	umr_klm(&u, 24, 0x400, NULL); /* a round of 16 + 8 bytes */
	prm_store32(u.klm + 8, 100);  /* rounds */
	prm_store32(u.klm + 12, 2);   /* entries */
	umr_klm(&u, 20u << 16 | 16, p.akey, p.amem);
	umr_klm(&u, 30u << 16 | 8, p.akey, p.amem + 8000);
	post_list(p.a, &u, key, 2400);
	write_of(&p, NULL, 2400, key, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, p.a->last_idx);
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(memcmp(p.bmem + i * 24, p.amem + i * 20, 16), 0);
		cr_assert_eq(memcmp(p.bmem + i * 24 + 16, p.amem + 8000 + i * 30, 8), 0);
	}
}

HX_TEST(rc_umr, lists_nest_but_not_for_ever)
{
	for (uint32_t depth = 2; depth <= NM_KLM_DEPTH + 1; depth++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		uint32_t key = p.akey;
		bool fits = depth <= NM_KLM_DEPTH;
		struct umr u;

		hx_fill(p.amem, p.len, depth);
		for (uint32_t i = 0; i < depth; i++) {
			umr_init(&u, 0, 0, 0);
			umr_klm(&u, 100, key, i ? NULL : p.amem);
			umr_klm(&u, 100, key, i ? (void *)100 : p.amem + 100);
			key = post_list(p.a, &u, free_key(h, 0, h->nic[0].pd), 200);
			hx_ring(p.a);
			HX_OK(p.a->scq, p.a->last_idx);
		}
		write_of(&p, NULL, 200, key, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
		hx_ring(p.a);
		if (!fits) {
			HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, p.a->last_idx);
			cr_assert(hx_diagnosed(h, "nest deeper"));
			continue;
		}
		HX_OK(p.a->scq, p.a->last_idx);
		cr_assert(hx_is(p.bmem, 200, depth));
	}
}

HX_TEST(rc_umr, a_list_that_names_itself_or_ends_early_is_refused)
{
	for (int what = 0; what < 3; what++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		uint32_t key = free_key(h, 0, h->nic[0].pd);
		struct umr u;

		umr_init(&u, 0, 0, 0);
		umr_klm(&u, 100, what == 0 ? key : p.akey, what == 0 ? NULL : p.amem);
		umr_klm(&u, 100, what == 1 ? 0x12345600 : p.akey, p.amem);
		post_list(p.a, &u, key, 300);
		write_of(&p, NULL, what == 2 ? 201 : 200, key, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
		hx_ring(p.a);
		HX_OK(p.a->scq, 0);
		HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, p.a->last_idx);
		cr_assert(hx_quiet(h));
		cr_assert_eq(p.bmem[0], 0);
	}
}

static bool first_byte_arrived(void *arg)
{
	return *(const uint8_t *)arg != 0;
}

/* A key that is destroyed, or a window that is invalidated, under a long WRITE through it. */
HX_TEST(rc_umr, a_key_that_goes_under_a_message_ends_it)
{
	for (int what = 0; what < 2; what++) {
		struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.mtu = 1});
		uint32_t region = hx_mkey(h, 1, h->nic[1].pd, p.bmem, p.len, HX_LR | HX_LW);
		uint32_t window = free_key(h, 1, h->nic[1].pd);
		uint32_t key = bind_window(p.b, window, 1, region, p.bmem, 4 << 20, HX_RW);
		uint8_t cqe[64];

		HX_OK(p.b->scq, 0);
		hx_fill(p.amem, p.len, 7);
		write_of(&p, p.amem, 4 << 20, p.akey, key, p.bmem, PRM_WQE_RDMA_WRITE);
		hx_ring(p.a);
		cr_assert(sim_run_until(h->sim, first_byte_arrived, p.bmem, SIM_S));
		cr_assert_not(hx_poll(p.a->scq, cqe));
		if (what == 0)
			cr_assert_eq(hx_destroy(h, 1, PRM_CMD_DESTROY_MKEY, region >> 8), 0);
		else
			HX_OK(p.b->scq, invalidate(p.b, key));
		memset(p.bmem, 0, p.len);
		HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, p.a->last_idx);
		cr_assert(hx_quiet(h));
		for (uint64_t i = 0; i < p.len; i++)
			cr_assert_eq(p.bmem[i], 0, "byte %llu was written after the key was gone",
				     (unsigned long long)i);
	}
}

/* ---- the WQE ---- */

HX_TEST(rc_umr, a_umr_takes_effect_once_though_what_is_before_it_is_sent_again)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint32_t window = free_key(h, 0, h->nic[0].pd);

	hx_drop(h, 0, ROCE_WRITE_ONLY, 1);
	write_of(&p, p.amem, 100, p.akey, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
	bind_window(p.a, window, 1, p.akey, p.amem, 100, HX_RW);
	write_of(&p, p.amem, 100, p.akey, p.bkey, p.bmem, PRM_WQE_RDMA_WRITE);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	HX_OK(p.a->scq, p.a->last_idx);
}

HX_TEST(rc_umr, a_umr_that_is_none_ends_the_qp)
{
	enum { SHORT_DS, NO_KEY, NOT_UMR, NO_ROOM, BSF, SHORT_LIST, BAD_LIST_KEY, WRAPS, CASES };
	static const uint8_t syndromes[CASES] = {
		[SHORT_DS] = PRM_SYND_LOCAL_QP_OP,    [NO_KEY] = PRM_SYND_MW_BIND,
		[NOT_UMR] = PRM_SYND_MW_BIND,	      [NO_ROOM] = PRM_SYND_MW_BIND,
		[BSF] = PRM_SYND_LOCAL_QP_OP,	      [SHORT_LIST] = PRM_SYND_LOCAL_QP_OP,
		[BAD_LIST_KEY] = PRM_SYND_LOCAL_PROT, [WRAPS] = PRM_SYND_MW_BIND,
	};

	for (int what = 0; what < CASES; what++) {
		struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
		struct umr u;
		struct hx_wr wr = {.opcode = PRM_WQE_UMR, .raw = u.bytes, .raw_ow = 11};

		umr_init(&u, 0, 0, 0);
		wr.imm = what == NO_KEY	   ? 0x12345600
			 : what == NOT_UMR ? p.akey
					   : free_key(h, 0, h->nic[0].pd);
		u.bytes[0] = what == BSF ? NM_UMR_INLINE : NM_UMR_INLINE | NM_UMR_XLT_OFFSET;
		prm_store32(u.bytes + 4, 4u << 16 | (what == NO_ROOM ? ROOM - 3 : what == BSF));
		prm_store64(u.bytes + 8, MASK_FREE | MASK_LEN | MASK_START);
		PRM_SET64(mkc, u.mkc, len, 2);
		PRM_SET64(mkc, u.mkc, start_addr, what == WRAPS ? UINT64_MAX : 0);
		if (what == SHORT_DS)
			wr.ds = 11;
		if (what == SHORT_LIST || what == BAD_LIST_KEY)
			u.bytes[0] = NM_UMR_XLT_OFFSET;
		umr_klm(&u, what == SHORT_LIST ? 63 : 64,
			what == BAD_LIST_KEY ? 0x99999900 : p.akey, p.amem);
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_ERR(p.a->scq, syndromes[what], 0);
		cr_assert_eq(hx_query_state(p.a), PRM_QP_ERR, "case %d", what);
	}
}

HX_TEST(rc_umr, the_null_key_reads_zeroes_and_swallows_writes)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 16);
	uint16_t idx;

	hx_fill(p.amem, p.len, 1);
	hx_fill(p.bmem, p.len, 2);
	hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
				     .flags = HX_SIGNALED,
				     .raddr = p.bmem,
				     .rkey = p.bkey,
				     .nsge = 3,
				     .sge = {{p.amem, 1000, p.akey},
					     {NULL, 3000, NM_NULL_MKEY},
					     {p.amem + 1000, 1000, p.akey}}});
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	cr_assert(hx_is(p.bmem, 1000, 1));
	for (int i = 1000; i < 4000; i++)
		cr_assert_eq(p.bmem[i], 0);
	cr_assert_eq(memcmp(p.bmem + 4000, p.amem + 1000, 1000), 0);
	hx_recv(p.b, (struct hx_sge[]){{NULL, 1500, NM_NULL_MKEY}, {p.bmem, 1500, p.bkey}}, 2);
	idx = hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_SEND,
					   .flags = HX_SIGNALED,
					   .nsge = 1,
					   .sge = {{p.amem, 3000, p.akey}}});
	hx_ring(p.a);
	HX_OK(p.a->scq, idx);
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_assert_eq(memcmp(p.bmem, p.amem + 1500, 1500), 0);
	remote(&p, PRM_WQE_RDMA_READ, NM_NULL_MKEY, NULL, 100, PRM_SYND_REMOTE_ACCESS);
}
