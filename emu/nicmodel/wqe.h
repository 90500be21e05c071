/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send WQEs: bytes of the ring to struct nm_wr.
 *
 * The NIC works on its own copy of the ring (one fetch of each WQEBB, as hardware does), of the
 * same size and wrapped in the same way: a WQE is a sequence of 16-byte octowords that may go on at
 * the start of the ring at any of them (PRM, WQE format).
 */
#ifndef GDAKIT_WQE_H
#define GDAKIT_WQE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

enum {
	NM_OCTOWORD = 16,
	NM_WQEBB_OCTOWORDS = 4,
	NM_INLINE_MAX = 1023,		/* bytes in one inline segment */
	NM_MSG_MAX_LOG = 30,		/* 1 GiB */
	NM_SGE_ZERO_MEANS = 0x80000000, /* byte_count 0 is 2 GiB */
};

/* fm_ce_se of the control segment (PRM, control segment). */
enum nm_fence { NM_FENCE_NONE, NM_FENCE_SMALL, NM_FENCE, NM_FENCE_STRONG, NM_FENCE_BOTH };
enum nm_ce { NM_CE_ERROR, NM_CE_FIRST_ERROR, NM_CE_ALWAYS, NM_CE_ALWAYS_EQE };

enum nm_wr_kind {
	NM_WR_UNKNOWN,
	NM_WR_NOP,
	NM_WR_DUMP,
	NM_WR_WAIT,
	NM_WR_UMR,
	NM_WR_SEND,
	NM_WR_WRITE,
	NM_WR_READ,
	NM_WR_ATOMIC,
};

/* Flags of the UMR control segment (PRM, UMR control segment). */
enum nm_umr_flag {
	NM_UMR_CHECK_QPN = 1 << 3,  /* the key must be this QP's */
	NM_UMR_XLT_OFFSET = 1 << 4, /* else octowords of a BSF stand in the offset's place */
	NM_UMR_NEED_FREE = 1 << 5,
	NM_UMR_NEED_LIVE = 1 << 6,
	NM_UMR_INLINE = 1 << 7, /* the translation is in the WQE */
};

/* Octowords of a UMR WQE: control, UMR control (3), mkey context (4), translation. */
enum { NM_UMR_CTRL_OW = 1, NM_UMR_MKC_OW = 4, NM_UMR_MKC_OWS = 4, NM_UMR_XLT_OW = 8 };

/* One send queue's copy. Guarded by the NIC's owner; the memory is the QP's. */
struct nm_sq_ring {
	uint8_t *base;
	uint32_t bbs; /* WQEBBs, a power of two */
	uint8_t st;   /* enum prm_qp_st: whose opcodes and segments */
};

/* Address vector of a datagram's WQE. Without `ext` only what stands before it is there. */
struct nm_av {
	uint32_t qkey, dqpn;
	uint16_t rlid; /* Ethernet: the UDP source port */
	uint8_t sl;    /* InfiniBand */
	bool ext;
	bool grh;
	uint8_t tclass, hop_limit, sgid_index;
	uint32_t flow_label; /* 20 bits */
	uint8_t rmac[6], rgid[16];
};

struct nm_wr {
	uint8_t opcode, opmod; /* as in the control segment */
	uint8_t kind;	       /* enum nm_wr_kind */
	bool imm_valid;
	bool inval;	   /* SEND that invalidates the peer's key `imm` */
	uint8_t ds;	   /* octowords, control segment included */
	uint8_t nbb;	   /* WQEBBs; at least 1 even if ds is 0 */
	uint8_t fence;	   /* enum nm_fence */
	uint8_t ce;	   /* enum nm_ce */
	bool se;	   /* solicited event */
	uint8_t data_ow;   /* octoword of the first data segment */
	uint8_t nsge;	   /* data segments, inline ones included */
	uint16_t wqe_idx;  /* of the first WQEBB, as expected by the queue */
	uint16_t idx_seen; /* as the control segment says */
	uint32_t qpn_seen;
	uint32_t imm;	   /* host order of the big-endian dword */
	uint32_t xrc_srqn; /* XRC: the peer's SRQ */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint64_t swap_mask, compare_mask; /* masked; fetch and add: where a carry stops */
	uint8_t atomic_bytes;		  /* 4 or 8 */
	uint32_t wait_index, wait_cqn;	  /* WAIT: for the CQE of this producer index */
	/* UMR: the key is `imm`. */
	uint8_t umr_flags;	  /* enum nm_umr_flag */
	uint16_t umr_octwords;	  /* of translation that follow, or that a data segment names */
	uint64_t umr_xlt_octword; /* where they go in the key's translation */
	uint64_t umr_mask;	  /* which fields change: enum nm_umr_mask */
	struct nm_av av;	  /* UD: SEND */
	uint64_t len;		  /* bytes of payload */
};

struct nm_sge {
	bool is_inline;
	uint8_t ow; /* inline: octoword of the segment, data begins 4 bytes into it */
	uint64_t va;
	uint32_t lkey;
	uint32_t len; /* bytes, up to 2 GiB */
};

static inline uint8_t *nm_wqe_octoword(const struct nm_sq_ring *ring, uint16_t wqe_idx, uint32_t ow)
{
	uint32_t at = ((uint32_t)wqe_idx * NM_WQEBB_OCTOWORDS + ow) &
		      (ring->bbs * NM_WQEBB_OCTOWORDS - 1);

	return ring->base + (uint64_t)at * NM_OCTOWORD;
}

/* WQEBBs that the WQE at wqe_idx claims; needs only its first octoword. At least 1. */
uint32_t nm_wqe_bbs(const struct nm_sq_ring *ring, uint16_t wqe_idx);
uint16_t nm_wqe_index(const struct nm_sq_ring *ring, uint16_t wqe_idx);

/*
 * Decodes the WQE whose WQEBBs are all in the ring copy. 0, or the syndrome (enum prm_cqe_syndrome)
 * that its completion reports, with a sentence in why (NM_WHY_MAX). wr's control fields are valid
 * in any case.
 */
uint8_t nm_wqe_decode(const struct nm_sq_ring *ring, uint16_t wqe_idx, struct nm_wr *wr, char *why);
/*
 * The data segment at octoword ow of a WQE that nm_wqe_decode() accepted; returns the octoword
 * behind it.
 */
uint32_t nm_wqe_sge(const struct nm_sq_ring *ring, const struct nm_wr *wr, uint32_t ow,
		    struct nm_sge *sge);
/* Copies inline bytes [off, off+len) of a segment out of the ring (they may wrap). */
void nm_wqe_inline(const struct nm_sq_ring *ring, const struct nm_wr *wr, const struct nm_sge *sge,
		   uint32_t off, void *to, uint32_t len);

#endif
