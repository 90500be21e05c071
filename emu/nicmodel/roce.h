/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The InfiniBand transport headers that RoCEv2 carries: BTH and its extensions, as bytes of
 * nm_packet.hdr. Layouts and opcodes: IBTA 1.4 chapter 9. Frames (Ethernet, IP, UDP, ICRC) are the
 * link's business.
 */
#ifndef GDAKIT_ROCE_H
#define GDAKIT_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "prm/prm.h"

/* BTH opcodes of the reliable connection, IBTA table 38; the other services add a base. */
enum roce_opcode {
	ROCE_SEND_FIRST = 0x00,
	ROCE_SEND_MIDDLE = 0x01,
	ROCE_SEND_LAST = 0x02,
	ROCE_SEND_LAST_IMM = 0x03,
	ROCE_SEND_ONLY = 0x04,
	ROCE_SEND_ONLY_IMM = 0x05,
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_LAST_IMM = 0x09,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_WRITE_ONLY_IMM = 0x0b,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_RESP_FIRST = 0x0d,
	ROCE_READ_RESP_MIDDLE = 0x0e,
	ROCE_READ_RESP_LAST = 0x0f,
	ROCE_READ_RESP_ONLY = 0x10,
	ROCE_ACK = 0x11,
	ROCE_ATOMIC_ACK = 0x12,
	ROCE_COMPARE_SWAP = 0x13,
	ROCE_FETCH_ADD = 0x14,
	ROCE_SEND_LAST_INV = 0x16,
	ROCE_SEND_ONLY_INV = 0x17,
	/* Of the range left to manufacturers, with a header of our own: ConnectX's is not public.
	 */
	ROCE_MASKED_COMPARE_SWAP = 0xc0,
	ROCE_MASKED_FETCH_ADD = 0xc1,
	ROCE_OPCODES = 0x100,
};

/* Header sizes in bytes. */
enum {
	ROCE_BTH_LEN = 12,
	ROCE_RETH_LEN = 16,
	ROCE_AETH_LEN = 4,
	ROCE_ATOMIC_LEN = 28,
	ROCE_ATOMIC_ACK_LEN = 8,
	ROCE_MASKED_ATOMIC_LEN =
		48, /* va 8, rkey 4, bytes 4, swap or add, compare, swap mask, compare mask */
	ROCE_IMM_LEN = 4,
	ROCE_DETH_LEN = 8,
	ROCE_XRC_LEN = 4, /* bits 23:0: number of the SRQ */
};

/* What the opcodes of another service have on top. */
enum { ROCE_BASE_RC = 0x00, ROCE_BASE_UC = 0x20, ROCE_BASE_UD = 0x60, ROCE_BASE_XRC = 0xa0 };

/* AETH syndrome: bits 6:5 say what it is, bits 4:0 credits, RNR timer or NAK code (IBTA 9.7.5.2.1).
 */
enum {
	ROCE_AETH_ACK = 0x1f, /* credits 31: not limited */
	ROCE_AETH_RNR = 0x20,
	ROCE_NAK_SEQ = 0x60,
	ROCE_NAK_INV_REQ = 0x61,
	ROCE_NAK_ACCESS = 0x62,
	ROCE_NAK_OP = 0x63,
	ROCE_NAK_INV_RD = 0x64,
	ROCE_AETH_KIND = 0x60,
};

enum { ROCE_PKEY = 0xffff, ROCE_PSN_MASK = 0xffffff, ROCE_QPN_MULTICAST = 0xffffff };

/* What a received opcode is. */
enum roce_flags {
	RF_SEND = 1 << 0,
	RF_WRITE = 1 << 1,
	RF_READ = 1 << 2,
	RF_ATOMIC = 1 << 3,
	RF_FIRST = 1 << 4, /* FIRST or ONLY */
	RF_LAST = 1 << 5,  /* LAST or ONLY */
	RF_IMM = 1 << 6,
	RF_INV = 1 << 7,
	RF_RESP = 1 << 8, /* for the requester: ACK, READ response, atomic ACK */
	RF_AETH = 1 << 9,
	RF_PAYLOAD = 1 << 10,
	RF_XRC = 1 << 12, /* an XRCETH follows the BTH */
};

struct roce_op {
	uint16_t flags;	 /* enum roce_flags; 0: no such opcode */
	uint8_t hdr_len; /* BTH and extension headers, bytes */
	uint8_t st;	 /* enum prm_qp_st: whose it is */
	const char *name;
};
extern const struct roce_op roce_ops[ROCE_OPCODES];

struct roce_bth {
	uint8_t opcode;
	bool se, ackreq;
	uint8_t pad, tver;
	uint16_t pkey;
	uint32_t dqpn; /* 24 bits */
	uint32_t psn;  /* 24 bits */
};

/* Writes 12 bytes. The migration bit is set, as ConnectX does. */
static inline void roce_bth_put(uint8_t *h, uint8_t opcode, bool se, uint32_t payload_len,
				uint32_t dqpn, bool ackreq, uint32_t psn)
{
	h[0] = opcode;
	h[1] = (uint8_t)((se ? 0x80u : 0u) | 0x40u | ((0u - payload_len) & 3u) << 4);
	h[2] = ROCE_PKEY >> 8;
	h[3] = ROCE_PKEY & 0xff;
	prm_store32(h + 4, dqpn & 0xffffff);
	prm_store32(h + 8, (ackreq ? 0x80000000u : 0u) | (psn & ROCE_PSN_MASK));
}

static inline void roce_bth_set_dqpn(uint8_t *h, uint32_t dqpn)
{
	prm_store32(h + 4, dqpn & 0xffffff);
}

static inline void roce_bth_get(const uint8_t *h, struct roce_bth *bth)
{
	uint32_t last = prm_load32(h + 8);

	bth->opcode = h[0];
	bth->se = (h[1] & 0x80) != 0;
	bth->pad = (h[1] >> 4) & 3;
	bth->tver = h[1] & 0xf;
	bth->pkey = (uint16_t)(h[2] << 8 | h[3]);
	bth->dqpn = prm_load32(h + 4) & 0xffffff;
	bth->ackreq = (last & 0x80000000u) != 0;
	bth->psn = last & ROCE_PSN_MASK;
}

static inline void roce_reth_put(uint8_t *h, uint64_t va, uint32_t rkey, uint32_t len)
{
	prm_store64(h, va);
	prm_store32(h + 8, rkey);
	prm_store32(h + 12, len);
}

static inline void roce_aeth_put(uint8_t *h, uint8_t syndrome, uint32_t msn)
{
	prm_store32(h, (uint32_t)syndrome << 24 | (msn & 0xffffff));
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & ROCE_PSN_MASK;
}

/* a - b in the 24-bit circle: negative if a is behind b (IBTA 9.7.1, half of the space each way).
 */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
