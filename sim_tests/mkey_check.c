/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory keys: creation, and every reason why an access through one is refused. */
#include <errno.h>

#include "sim_tests/cmd_rig.h"

enum {
	ALL_RIGHTS = NM_ACC_LR | NM_ACC_LW | NM_ACC_RR | NM_ACC_RW | NM_ACC_A,
	ANY_QPN = 0xffffff,
	TAG = 0x5a
};

struct key_spec {
	uint32_t pd;
	uint64_t start, len;
	uint32_t pages, first_page; /* of rig->memory */
	uint8_t rights;
	uint8_t mode;
	bool free;
};

static void key_mailbox(struct rig *rig, const struct key_spec *k)
{
	uint8_t *mkc = PRM_PTR(create_mkey_in, rig->in, mkc);

	rig_begin(rig, PRM_CMD_CREATE_MKEY, 0);
	PRM_SET(mkc, mkc, access_mode_1_0, k->mode);
	PRM_SET(mkc, mkc, lr, (k->rights & NM_ACC_LR) != 0);
	PRM_SET(mkc, mkc, lw, (k->rights & NM_ACC_LW) != 0);
	PRM_SET(mkc, mkc, rr, (k->rights & NM_ACC_RR) != 0);
	PRM_SET(mkc, mkc, rw, (k->rights & NM_ACC_RW) != 0);
	PRM_SET(mkc, mkc, a, (k->rights & NM_ACC_A) != 0);
	PRM_SET(mkc, mkc, free, k->free);
	PRM_SET(mkc, mkc, qpn, ANY_QPN);
	PRM_SET(mkc, mkc, mkey_7_0, TAG);
	PRM_SET(mkc, mkc, pd, k->pd);
	PRM_SET64(mkc, mkc, start_addr, k->start);
	PRM_SET64(mkc, mkc, len, k->len);
	PRM_SET(mkc, mkc, log_page_size, 12);
	PRM_SET(create_mkey_in, rig->in, translations_octword_actual_size, (k->pages + 1) / 2);
	for (uint32_t n = 0; n < k->pages; n++)
		prm_store64(PRM_PTR(create_mkey_in, rig->in, klm_pas_mtt) + 8 * n,
			    (uintptr_t)rig_page(rig, k->first_page + n) | 3);
}

static uint8_t key_create(struct rig *rig, const struct key_spec *k)
{
	key_mailbox(rig, k);
	return rig_command(rig, 0x110 + 8 * k->pages, 0x10);
}

/* The key, tag included. */
static uint32_t key_make(struct rig *rig, const struct key_spec *k)
{
	cr_assert_eq(key_create(rig, k), PRM_STATUS_OK, "%s", rig->why);
	return PRM_GET(create_mkey_out, rig->out, mkey_index) << 8 | TAG;
}

static enum nm_key_fault check(struct rig *rig, uint32_t key, uint64_t va, uint64_t len,
			       uint8_t need, uint32_t pd)
{
	struct nm_mkey *mkey;
	enum nm_key_fault fault;

	fault = nm_mkey_check(rig->nic, key, va, len, need, pd, 0x2a0100, &mkey, rig->why);
	cr_expect_eq(rig->why[0] != '\0', fault != NM_KEY_OK);
	cr_expect_eq(mkey != NULL, fault == NM_KEY_OK && len);
	return fault;
}

static const struct key_spec typical = {.start = 0x10040,
					.len = 0x2000,
					.pages = 3,
					.first_page = 8,
					.rights = ALL_RIGHTS,
					.mode = PRM_MKC_MODE_MTT};

static uint32_t key_typical(struct rig *rig, uint32_t *pd)
{
	struct key_spec k = typical;

	k.pd = *pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	return key_make(rig, &k);
}

RIG_TEST(mkey_check, bounds_are_exact_at_both_ends)
{
	uint32_t pd, key = key_typical(rig, &pd);

	cr_expect_eq(check(rig, key, 0x10040, 0x2000, NM_ACC_LR, pd), NM_KEY_OK);
	cr_expect_eq(check(rig, key, 0x10040, 0x2001, NM_ACC_LR, pd), NM_KEY_BOUNDS);
	cr_expect_eq(check(rig, key, 0x1003f, 1, NM_ACC_LR, pd), NM_KEY_BOUNDS);
	cr_expect_eq(check(rig, key, 0x1203f, 1, NM_ACC_LR, pd), NM_KEY_OK);
	cr_expect_eq(check(rig, key, 0x12040, 1, NM_ACC_LR, pd), NM_KEY_BOUNDS);
	cr_expect(strstr(rig->why, "covers [0x10040, 0x12040), access at 0x12040 length 1"), "%s",
		  rig->why);
	cr_expect_eq(check(rig, key, 0x10040, UINT64_MAX, NM_ACC_LR, pd), NM_KEY_BOUNDS);
	cr_expect_eq(check(rig, key, UINT64_MAX, 0x20000, NM_ACC_LR, pd), NM_KEY_BOUNDS,
		     "va + length wraps");
}

RIG_TEST(mkey_check, a_length_of_zero_needs_no_key)
{
	cr_expect_eq(check(rig, 0xdead00, 0, 0, ALL_RIGHTS, 0), NM_KEY_OK);
}

RIG_TEST(mkey_check, each_right_is_its_own)
{
	static const uint8_t rights[] = {NM_ACC_LR, NM_ACC_LW, NM_ACC_RR, NM_ACC_RW, NM_ACC_A};
	struct key_spec k = typical;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	for (size_t have = 0; have < sizeof(rights); have++) {
		uint32_t key;

		k.rights = rights[have];
		key = key_make(rig, &k);
		for (size_t need = 0; need < sizeof(rights); need++)
			cr_expect_eq(check(rig, key, k.start, 8, rights[need], k.pd),
				     have == need ? NM_KEY_OK : NM_KEY_RIGHT);
		cr_expect_eq(check(rig, key, k.start, 8, ALL_RIGHTS, k.pd), NM_KEY_RIGHT);
	}
}

RIG_TEST(mkey_check, index_tag_pd_and_qp_must_fit)
{
	uint32_t pd, key = key_typical(rig, &pd);
	struct nm_mkey *m = (struct nm_mkey *)nm_obj_get(rig->nic, NM_OBJ_MKEY, key >> 8);

	cr_expect_eq(check(rig, key + 0x100, 0x10040, 8, NM_ACC_LR, pd), NM_KEY_UNKNOWN);
	cr_expect_eq(check(rig, key ^ 1, 0x10040, 8, NM_ACC_LR, pd), NM_KEY_TAG);
	cr_expect_eq(check(rig, key, 0x10040, 8, NM_ACC_LR, pd + 1), NM_KEY_PD);
	m->qpn = 0x2a0101;
	cr_expect_eq(check(rig, key, 0x10040, 8, NM_ACC_LR, pd), NM_KEY_QPN);
	m->qpn = 0x2a0100;
	cr_expect_eq(check(rig, key, 0x10040, 8, NM_ACC_LR, pd), NM_KEY_OK);
}

RIG_TEST(mkey_check, a_free_key_gives_no_access)
{
	struct key_spec k = {
		.len = 0x1000, .rights = ALL_RIGHTS, .mode = PRM_MKC_MODE_MTT, .free = true};
	uint32_t key;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	key = key_make(rig, &k);
	cr_expect_eq(check(rig, key, 0, 8, NM_ACC_LR, k.pd), NM_KEY_FREE);
}

RIG_TEST(mkey_check, a_destroyed_key_is_gone)
{
	uint32_t pd, key = key_typical(rig, &pd);

	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_MKEY, key >> 8), PRM_STATUS_OK);
	cr_expect_eq(check(rig, key, 0x10040, 8, NM_ACC_LR, pd), NM_KEY_UNKNOWN);
	cr_expect_eq(rig_number(rig, PRM_CMD_DEALLOC_PD, pd), PRM_STATUS_OK,
		     "it used the PD no longer: %s", rig->why);
}

RIG_TEST(mkey_check, the_low_bits_of_the_start_are_the_offset_in_the_first_page)
{
	uint32_t pd, key = key_typical(rig, &pd);
	struct nm_mkey *m = (struct nm_mkey *)nm_obj_get(rig->nic, NM_OBJ_MKEY, key >> 8);
	struct nm_seg seg;
	void *p;

	cr_assert_eq(nm_mkey_segs(m, 0x10040, 0x2000, &seg, 1), 1);
	cr_expect_eq(seg.addr, (uintptr_t)rig_page(rig, 8) + 0x40);
	p = nm_mkey_ptr(m, 0x11000, 64);
	cr_expect_eq(p, rig->copied ? NULL : (void *)rig_page(rig, 9));
	cr_expect_eq(nm_mkey_space(m, 0x10040), rig->space);
}

RIG_TEST(mkey_check, a_key_may_reach_the_end_of_the_address_space)
{
	struct key_spec k = typical;
	uint32_t key;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	k.start = UINT64_MAX - 0xfff;
	k.len = 0x1000;
	k.pages = 1;
	key = key_make(rig, &k);
	cr_expect_eq(check(rig, key, UINT64_MAX, 1, NM_ACC_LR, k.pd), NM_KEY_OK);
	cr_expect_eq(check(rig, key, UINT64_MAX, 2, NM_ACC_LR, k.pd), NM_KEY_BOUNDS);
	cr_expect_eq(check(rig, key, 0, 1, NM_ACC_LR, k.pd), NM_KEY_BOUNDS);
	k.len = 0x1001;
	cr_expect_eq(key_create(rig, &k), PRM_STATUS_BAD_PARAM);
}

RIG_TEST(mkey_check, iova_zero_makes_addresses_offsets)
{
	struct key_spec k = typical;
	struct nm_seg seg;
	uint32_t key;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	k.start = 0;
	key = key_make(rig, &k);
	cr_expect_eq(check(rig, key, 0x1ff8, 8, NM_ACC_LR, k.pd), NM_KEY_OK);
	cr_expect_eq(nm_mkey_segs((struct nm_mkey *)nm_obj_get(rig->nic, NM_OBJ_MKEY, key >> 8),
				  0x1008, 8, &seg, 1),
		     1);
	cr_expect_eq(seg.addr, (uintptr_t)rig_page(rig, 9) + 8);
}

RIG_TEST(mkey_check, a_page_list_shorter_than_the_key_is_refused)
{
	struct key_spec k = typical;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	k.pages = 2; /* 0x2000 bytes from offset 0x40 touch 3 */
	cr_expect_eq(key_create(rig, &k), PRM_STATUS_BAD_PARAM);
	key_mailbox(rig, &k);
	PRM_SET(create_mkey_in, rig->in, translations_octword_actual_size, 2);
	cr_expect_eq(rig_command(rig, 0x110 + 8 * 2, 0x10), PRM_STATUS_BAD_INP_LEN,
		     "the mailbox ends too soon");
}

RIG_TEST(mkey_check, physical_keys_are_for_the_driver)
{
	struct key_spec k = {.rights = ALL_RIGHTS, .mode = PRM_MKC_MODE_PA};
	uint16_t uid = (uint16_t)rig_alloc(rig, PRM_CMD_CREATE_UCTX);
	struct nm_seg seg;
	uint32_t key;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	key_mailbox(rig, &k);
	PRM_SET(mkc, PRM_PTR(create_mkey_in, rig->in, mkc), length64, 1);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	key = PRM_GET(create_mkey_out, rig->out, mkey_index) << 8 | TAG;
	cr_expect_eq(check(rig, key, (uintptr_t)rig_page(rig, 1), 64, NM_ACC_LW, k.pd), NM_KEY_OK);
	cr_expect_eq(nm_mkey_segs((struct nm_mkey *)nm_obj_get(rig->nic, NM_OBJ_MKEY, key >> 8),
				  0x1008, 8, &seg, 1),
		     1);
	cr_expect_eq(seg.addr, 0x1008);
	rig->uid = uid;
	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	cr_expect_eq(key_create(rig, &k), PRM_STATUS_BAD_PARAM);
}

RIG_TEST(mkey_check, a_key_over_a_umem_starts_where_it_says_and_keeps_the_umem)
{
	struct key_spec k = {.len = 0x1000, .rights = ALL_RIGHTS, .mode = PRM_MKC_MODE_MTT};
	uint32_t umem = rig_umem(rig, 20, 2, 0);
	struct nm_seg seg;
	uint32_t index;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	key_mailbox(rig, &k);
	PRM_SET(create_mkey_in, rig->in, mkey_umem_valid, 1);
	PRM_SET(create_mkey_in, rig->in, mkey_umem_id, umem);
	PRM_SET64(create_mkey_in, rig->in, mkey_umem_offset, 0x800);
	cr_assert_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_OK, "%s", rig->why);
	index = PRM_GET(create_mkey_out, rig->out, mkey_index);
	cr_expect_eq(nm_mkey_segs((struct nm_mkey *)nm_obj_get(rig->nic, NM_OBJ_MKEY, index), 0x10,
				  8, &seg, 1),
		     1);
	cr_expect_eq(seg.addr, (uintptr_t)rig_page(rig, 20) + 0x810);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, umem), PRM_STATUS_RES_BUSY);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_MKEY, index), PRM_STATUS_OK);
	cr_expect_eq(rig_number(rig, PRM_CMD_DESTROY_UMEM, umem), PRM_STATUS_OK);
	key_mailbox(rig, &k);
	PRM_SET(create_mkey_in, rig->in, mkey_umem_valid, 1);
	PRM_SET(create_mkey_in, rig->in, mkey_umem_id, umem);
	cr_expect_eq(rig_command(rig, 0x110, 0x10), PRM_STATUS_BAD_RES, "the umem is gone");
}

RIG_TEST(mkey_check, query_returns_the_context_as_created)
{
	uint32_t pd, key = key_typical(rig, &pd);
	uint8_t mkc[PRM_mkc_SIZE];

	memcpy(mkc, PRM_CPTR(create_mkey_in, rig->in, mkc), sizeof(mkc));
	cr_assert_eq(rig_number(rig, PRM_CMD_QUERY_MKEY, key >> 8), PRM_STATUS_OK);
	cr_expect_eq(memcmp(PRM_CPTR(query_mkey_out, rig->out, mkc), mkc, sizeof(mkc)), 0);
}

RIG_TEST(mkey_check, what_is_not_modelled_or_senseless_is_refused)
{
	struct key_spec k = typical;

	k.pd = rig_alloc(rig, PRM_CMD_ALLOC_PD);
	k.mode = PRM_MKC_MODE_MTT;
	key_mailbox(rig, &k);
	PRM_SET(mkc, PRM_PTR(create_mkey_in, rig->in, mkc), access_mode_4_2, 1); /* SW_ICM */
	PRM_SET(mkc, PRM_PTR(create_mkey_in, rig->in, mkc), access_mode_1_0, 0);
	cr_expect_eq(rig_command(rig, 0x110 + 24, 0x10), PRM_STATUS_BAD_PARAM, "no such mode");
	key_mailbox(rig, &k);
	PRM_SET(mkc, PRM_PTR(create_mkey_in, rig->in, mkc), bsf_en, 1);
	cr_expect_eq(rig_command(rig, 0x110 + 24, 0x10), PRM_STATUS_BAD_PARAM);
	key_mailbox(rig, &k);
	PRM_SET(mkc, PRM_PTR(create_mkey_in, rig->in, mkc), length64, 1);
	cr_expect_eq(rig_command(rig, 0x110 + 24, 0x10), PRM_STATUS_BAD_PARAM);
	key_mailbox(rig, &k);
	PRM_SET(mkc, PRM_PTR(create_mkey_in, rig->in, mkc), log_page_size, 5);
	cr_expect_eq(rig_command(rig, 0x110 + 24, 0x10), PRM_STATUS_BAD_PARAM);
	k.pd = 0x777;
	cr_expect_eq(key_create(rig, &k), PRM_STATUS_BAD_RES);
	cr_expect_eq(rig->nic->table[NM_OBJ_MKEY].count, 0);
}
