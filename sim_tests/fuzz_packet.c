/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any packets at all, to a QP that has work outstanding: the NIC must neither crash nor touch
 * memory beside the keys. Input: a byte for the fabric, then packets of {flags, opcode, PSN offset,
 * header byte count (its high bit: more than an MTU is a train), payload length / 4, header bytes}.
 */
#include "sim_tests/fuzz_fabric.h"

#include "emu/nicmodel/roce.h"

enum {
	FIX_ADDRESS = 1,
	FIX_PSN = 2,
	FIX_LENGTH = 4,
	TO_A = 8,
	FIX_KEY = 16,
	FIX_SERVICE = 32, /* the opcode is one of the QP's own service */
	TO_GROUP = 64,
};

enum { FUZZ_MTU = 256 };

static void outstanding(struct fuzz_fabric *f)
{
	static const uint8_t opcodes[] = {PRM_WQE_RDMA_READ, PRM_WQE_ATOMIC_FA, PRM_WQE_RDMA_WRITE,
					  PRM_WQE_RDMA_READ};

	for (uint32_t i = 0; i < 4; i++) {
		struct hx_wr wr = {
			.opcode = opcodes[i],
			.flags = HX_SIGNALED,
			.srqn = f->srq ? f->srq->number : 0,
			.raddr = f->mem[1] + FUZZ_MARGIN,
			.rkey = f->key[1],
			.nsge = 1,
			.sge = {{f->mem[0] + FUZZ_MARGIN, i == 1 ? 8 : 1000, f->key[0]}}};

		hx_post(f->a, &wr);
	}
	hx_ring(f->a);
	sim_unplug(f->h->sim, 1, true);
	hx_run(f->h, 3 * SIM_US);
}

static size_t one_packet(struct fuzz_fabric *f, const uint8_t *in, size_t len)
{
	static uint8_t payload[NM_MTU_MAX + 64];
	static const uint8_t bases[] = {ROCE_BASE_RC, ROCE_BASE_UC, ROCE_BASE_UD, ROCE_BASE_XRC};
	struct nm_packet pkt = {0};
	uint8_t flags = in[0], opcode = in[1];
	uint32_t to = flags & TO_A ? 0 : 1;
	size_t hdr = in[3] % (NM_PKT_HDR_MAX + 1), n;
	uint32_t psn;

	pkt.payload_len = in[4] * 4u;
	n = len - 5 < hdr ? len - 5 : hdr;
	memcpy(pkt.hdr, in + 5, n);
	pkt.hdr_len = (uint8_t)hdr;
	if (flags & FIX_SERVICE)
		opcode = (uint8_t)(bases[f->a->attr.st] + opcode % 0x18);
	pkt.hdr[0] = opcode;
	if (flags & FIX_LENGTH && roce_ops[opcode].flags)
		pkt.hdr_len = roce_ops[opcode].hdr_len;
	if (flags & FIX_ADDRESS) {
		prm_store32(pkt.hdr + 4, to ? f->b->qpn : f->a->qpn);
		pkt.hdr[2] = 0xff;
		pkt.hdr[3] = 0xff;
		sim_gid(f->h->sim, !to, pkt.route.sgid);
		sim_gid(f->h->sim, to, pkt.route.dgid);
	}
	if (flags & FIX_PSN) {
		psn = (uint32_t)(int8_t)in[2];
		prm_store32(pkt.hdr + 8, (psn & 0xffffff) | (in[2] & 0x80000000u));
	}
	if (flags & FIX_KEY && f->a->attr.st == PRM_QP_ST_UD) {
		prm_store32(pkt.hdr + 12, 0); /* the Q_Key */
	} else if (flags & FIX_KEY) {
		uint8_t *ext = pkt.hdr + ROCE_BTH_LEN;

		if (f->a->attr.st == PRM_QP_ST_XRC) {
			prm_store32(ext, f->srq->number);
			ext += ROCE_XRC_LEN;
		}
		prm_store64(ext, (uintptr_t)f->mem[1] + in[2] % 32 * 512);
		prm_store32(ext + 8, f->key[1]);
		prm_store32(ext + 12, in[3] * 16u);
	}
	if (flags & TO_GROUP) {
		roce_bth_set_dqpn(pkt.hdr, ROCE_QPN_MULTICAST);
		memcpy(pkt.route.dgid, fuzz_group, sizeof(fuzz_group));
	}
	if (pkt.payload_len > FUZZ_MTU && in[3] & 0x80) {
		pkt.segs = (uint16_t)((pkt.payload_len + FUZZ_MTU - 1) / FUZZ_MTU);
		pkt.seg_len = in[3] & 0x40 ? FUZZ_MTU : 4 * FUZZ_MTU;
	}
	if (pkt.payload_len) {
		pkt.niov = 1;
		pkt.payload[0] = (struct iovec){payload, pkt.payload_len};
	}
	nm_nic_receive(f->h->nic[to].nic, &pkt);
	if (flags & 0x80)
		hx_run(f->h, 2 * SIM_US);
	return 5 + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_fabric f;
	size_t at = 1;

	if (size < 1)
		return 0;
	f = fuzz_open(data[0]);
	if (f.a->attr.st == PRM_QP_ST_RC)
		outstanding(&f);
	for (uint32_t i = 0; i < 64 && at + 5 <= size; i++)
		at += one_packet(&f, data + at, size - at);
	hx_run(f.h, 20 * SIM_US);
	fuzz_close(&f);
	return 0;
}
