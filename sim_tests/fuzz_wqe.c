/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes at all as a send queue: the NIC must neither crash nor touch memory beside the keys.
 * Input: a byte for the fabric, one that says how the rest is meant: raw slots, or WQEs of five
 * bytes {opcode, ds, flags, remote, local} from which nearly right ones are made. A UMR is made of
 * them whole, over the key of a and two keys for lists, which data segments may name as well.
 */
#include "sim_tests/fuzz_fabric.h"

enum { RAW = 1, FIX_INDEX = 2, SHORT_WQE = 5 };

static uint32_t raw_slots(struct fuzz_fabric *f, const uint8_t *in, size_t len, bool fix)
{
	uint32_t slots;

	if (len > f->a->sq_size * 64)
		len = f->a->sq_size * 64;
	memcpy(f->a->sq, in, len);
	slots = (uint32_t)(len + 63) / 64;
	for (uint32_t slot = 0; fix && slot < slots; slot++) {
		f->a->sq[slot * 64 + 1] = 0;
		f->a->sq[slot * 64 + 2] = (uint8_t)slot;
	}
	return slots;
}

/* An octoword that is a data segment (near the key) or an inline one, by the byte. */
static void put_segment(struct fuzz_fabric *f, uint8_t *seg, uint8_t byte)
{
	if (byte & 0x80) {
		prm_store32(seg, 0x80000000u | (byte & 0x7f));
		return;
	}
	prm_store32(seg, byte & 0x40 ? byte * 64u : byte);
	prm_store32(seg + 4, byte % 8 == 5 ? (f->lists[0][byte >> 4 & 1] & ~0xffu) | byte >> 5
					   : f->key[0] ^ (byte == 0x3f));
	prm_store64(seg + 8, (byte % 8 == 5 ? 0 : (uintptr_t)f->mem[0]) + byte % 40 * 512u);
}

/* An entry of a list, or the head of an interleaved one. */
static void put_klm(struct fuzz_fabric *f, uint8_t *e, uint8_t byte)
{
	if (byte == 0xff) {
		prm_store32(e, 24);
		prm_store32(e + 4, 0x400);
		prm_store32(e + 8, 3);
		prm_store32(e + 12, 2);
		return;
	}
	prm_store32(e, byte & 0x40 ? byte * 16u : byte);
	prm_store32(e + 4, byte & 1 ? f->key[0] : f->lists[0][byte >> 1 & 1] & ~0xffu);
	prm_store64(e + 8, (byte & 1 ? (uintptr_t)f->mem[0] : 0) + byte % 40 * 512u);
}

static uint32_t put_umr(struct fuzz_fabric *f, uint8_t *wqe, const uint8_t *in)
{
	static const uint64_t masks[] = {UINT64_C(1) << 29, UINT64_C(1) << 29 | 1 << 13 | 1 << 14,
					 UINT64_C(1) << 29 | 0x3e0041, UINT64_MAX};
	uint32_t octwords = in[1] & 8 ? 4 : in[1] & 1;

	prm_store32(wqe + 12, (f->lists[0][in[1] >> 1 & 1] & ~0xffu) | (in[3] & 0x77));
	wqe[16] = in[2] & 0xf8;
	prm_store32(wqe + 20, octwords << 16 | (in[3] >> 6));
	prm_store64(wqe + 24, masks[in[1] >> 4 & 3]);
	memset(wqe + 32, 0, 96);
	PRM_SET(mkc, wqe + 64, free, in[3] >> 3 & 1);
	wqe[66] = in[4] | 0x7c;
	PRM_SET(mkc, wqe + 64, qpn, in[4] & 2 ? f->a->qpn : 0xffffff);
	PRM_SET(mkc, wqe + 64, pd, f->h->nic[0].pd);
	PRM_SET64(mkc, wqe + 64, len, (uint64_t)in[4] * 100);
	for (uint32_t i = 0; i < 4; i++)
		put_klm(f, wqe + 128 + 16 * (size_t)i, (uint8_t)(in[4] + 51 * i));
	return 12;
}

/* An address vector that leads to B, to its group or to nobody, long or short. */
static void put_av(struct fuzz_fabric *f, uint8_t *seg, uint8_t byte)
{
	prm_store32(seg, byte & 0x40 ? 0x80000000u : byte >> 5);
	prm_store32(seg + 8, (byte & 1 ? 0x80000000u : 0) | (byte & 2 ? 0xffffff : f->b->qpn));
	prm_store32(seg + 12, byte);
	memset(seg + 16, byte & 4 ? 0xee : 0, 16);
	if (byte & 2)
		memcpy(seg + 32, fuzz_group, sizeof(fuzz_group));
	else if (byte & 8)
		memset(seg + 32, byte, 16);
	else
		sim_gid(f->h->sim, 1, seg + 32);
}

static uint32_t short_wqes(struct fuzz_fabric *f, const uint8_t *in, size_t len)
{
	const uint32_t xrc = f->a->attr.st == PRM_QP_ST_XRC ? 16 : 0; /* bytes of its segment */
	uint32_t slot = 0;

	for (; len >= SHORT_WQE && slot < f->a->sq_size - 4; in += SHORT_WQE, len -= SHORT_WQE) {
		uint8_t *wqe = f->a->sq + (size_t)slot * 64;
		uint32_t ds = in[1] & 15;

		prm_store32(wqe, slot << 8 | in[0]);
		prm_store32(wqe + 4, f->a->qpn << 8 | ds);
		wqe[11] = in[2];
		if (xrc)
			prm_store32(wqe + 16, f->srq->number ^ (in[3] == 0xfe));
		prm_store64(wqe + 16 + xrc, (uintptr_t)f->mem[1] + in[3] % 40 * 512u);
		prm_store32(wqe + 24 + xrc, f->key[1] ^ (in[3] == 0xff));
		for (uint32_t ow = 2 + xrc / 16; ow < ds; ow++)
			put_segment(f, wqe + (size_t)ow * 16, (uint8_t)(in[4] + (ow - 2) * 37));
		if (f->a->attr.st == PRM_QP_ST_UD)
			put_av(f, wqe + 16, in[3]);
		if (in[0] == PRM_WQE_SEND_INVAL)
			prm_store32(wqe + 12, f->lists[1][in[3] & 1]);
		if (in[0] == PRM_WQE_UMR) {
			ds = put_umr(f, wqe, in);
			prm_store32(wqe + 4, f->a->qpn << 8 | ds);
		}
		slot += ds ? (ds + 3) / 4 : 1;
	}
	return slot;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_fabric f;

	if (size < 3)
		return 0;
	f = fuzz_open(data[0]);
	if (data[1] & RAW)
		f.a->sq_pi = (uint16_t)raw_slots(&f, data + 2, size - 2, data[1] & FIX_INDEX);
	else
		f.a->sq_pi = (uint16_t)short_wqes(&f, data + 2, size - 2);
	hx_ring(f.a);
	hx_run(f.h, 60 * SIM_US);
	fuzz_close(&f);
	return 0;
}
