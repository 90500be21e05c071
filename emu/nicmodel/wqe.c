/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/nicmodel/wqe.h"

#include <stdio.h>
#include <string.h>

#include "prm/prm.h"

/* Control segment (PRM, control segment format): byte offsets within the first octoword. */
enum { CTRL_OPMOD = 0, CTRL_QPN_DS = 4, CTRL_FM_CE_SE = 11, CTRL_IMM = 12 };

#define ST_(name) (1u << PRM_QP_ST_##name)
#define ANY_	  0xffff

/* Segments behind the control segment, per opcode, and who may send it (PRM, send WQE
 * construction; IBTA table 37). */
static const struct wqe_format {
	uint8_t opcode;
	uint8_t kind;	   /* enum nm_wr_kind */
	uint8_t fixed;	   /* octowords before the data segments, control segment included */
	uint16_t services; /* set of enum prm_qp_st */
	bool imm;
	bool may_inline;
	const char *name;
} formats[] = {
	{PRM_WQE_NOP, NM_WR_NOP, 1, ANY_, false, false, "NOP"},
	{PRM_WQE_WAIT, NM_WR_WAIT, 2, ANY_, false, false, "WAIT"},
	{PRM_WQE_UMR, NM_WR_UMR, NM_UMR_XLT_OW, ST_(RC) | ST_(UC) | ST_(UMR), false, false, "UMR"},
	{PRM_WQE_DUMP, NM_WR_DUMP, 1, ANY_, false, false, "DUMP"},
	{PRM_WQE_RDMA_WRITE, NM_WR_WRITE, 2, ST_(RC) | ST_(UC) | ST_(XRC), false, true,
	 "RDMA WRITE"},
	{PRM_WQE_RDMA_WRITE_IMM, NM_WR_WRITE, 2, ST_(RC) | ST_(UC) | ST_(XRC), true, true,
	 "RDMA WRITE with immediate"},
	{PRM_WQE_SEND, NM_WR_SEND, 1, ST_(RC) | ST_(UC) | ST_(UD) | ST_(XRC), false, true, "SEND"},
	{PRM_WQE_SEND_IMM, NM_WR_SEND, 1, ST_(RC) | ST_(UC) | ST_(UD) | ST_(XRC), true, true,
	 "SEND with immediate"},
	{PRM_WQE_SEND_INVAL, NM_WR_SEND, 1, ST_(RC) | ST_(XRC), false, true,
	 "SEND with invalidate"},
	{PRM_WQE_RDMA_READ, NM_WR_READ, 2, ST_(RC) | ST_(XRC), false, false, "RDMA READ"},
	{PRM_WQE_ATOMIC_CS, NM_WR_ATOMIC, 3, ST_(RC) | ST_(XRC), false, false, "compare and swap"},
	{PRM_WQE_ATOMIC_FA, NM_WR_ATOMIC, 3, ST_(RC) | ST_(XRC), false, false, "fetch and add"},
	/* One octoword more for compare and swap of 8 bytes. */
	{PRM_WQE_ATOMIC_MASKED_CS, NM_WR_ATOMIC, 3, ST_(RC), false, false,
	 "masked compare and swap"},
	{PRM_WQE_ATOMIC_MASKED_FA, NM_WR_ATOMIC, 3, ST_(RC), false, false, "masked fetch and add"},
};

static const struct wqe_format *format_of(uint8_t opcode, uint8_t st)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].opcode == opcode && (formats[i].services & (1u << st)))
			return &formats[i];
	}
	return NULL;
}

uint32_t nm_wqe_bbs(const struct nm_sq_ring *ring, uint16_t wqe_idx)
{
	uint32_t ds = nm_wqe_octoword(ring, wqe_idx, 0)[CTRL_QPN_DS + 3] & 0x3f;

	return ds == 0 ? 1 : (ds + NM_WQEBB_OCTOWORDS - 1) / NM_WQEBB_OCTOWORDS;
}

uint16_t nm_wqe_index(const struct nm_sq_ring *ring, uint16_t wqe_idx)
{
	return (uint16_t)(prm_load32(nm_wqe_octoword(ring, wqe_idx, 0)) >> 8);
}

uint32_t nm_wqe_sge(const struct nm_sq_ring *ring, const struct nm_wr *wr, uint32_t ow,
		    struct nm_sge *sge)
{
	const uint8_t *seg = nm_wqe_octoword(ring, wr->wqe_idx, ow);
	uint32_t count = prm_load32(seg);

	sge->is_inline = (count & (uint32_t)PRM_INLINE_SEG) != 0;
	sge->ow = (uint8_t)ow;
	if (sge->is_inline) {
		sge->len = count & NM_INLINE_MAX;
		sge->lkey = 0;
		sge->va = 0;
		return ow + (4 + sge->len + NM_OCTOWORD - 1) / NM_OCTOWORD;
	}
	sge->len = count == 0 ? NM_SGE_ZERO_MEANS : count;
	sge->lkey = prm_load32(seg + 4);
	sge->va = prm_load64(seg + 8);
	return ow + 1;
}

void nm_wqe_inline(const struct nm_sq_ring *ring, const struct nm_wr *wr, const struct nm_sge *sge,
		   uint32_t off, void *to, uint32_t len)
{
	uint8_t *out = to;
	uint32_t at = 4 + off; /* bytes from the segment's first */

	while (len > 0) {
		const uint8_t *ow = nm_wqe_octoword(ring, wr->wqe_idx, sge->ow + at / NM_OCTOWORD);
		uint32_t skip = at % NM_OCTOWORD;
		uint32_t n = NM_OCTOWORD - skip < len ? NM_OCTOWORD - skip : len;

		memcpy(out, ow + skip, n);
		out += n;
		at += n;
		len -= n;
	}
}

static uint8_t decode_data(const struct nm_sq_ring *ring, const struct wqe_format *format,
			   struct nm_wr *wr, char *why)
{
	uint32_t ow = wr->data_ow;

	while (ow < wr->ds) {
		struct nm_sge sge;

		ow = nm_wqe_sge(ring, wr, ow, &sge);
		if (ow > wr->ds) {
			snprintf(why, NM_WHY_MAX,
				 "WQE %u: an inline segment of %u bytes ends at octoword %u, but "
				 "ds is %u",
				 wr->wqe_idx, sge.len, ow, wr->ds);
			return PRM_SYND_LOCAL_QP_OP;
		}
		if (sge.is_inline && !format->may_inline) {
			snprintf(why, NM_WHY_MAX,
				 "WQE %u: inline data in a %s, which takes a scatter list",
				 wr->wqe_idx, format->name);
			return PRM_SYND_LOCAL_QP_OP;
		}
		wr->len += sge.len;
		wr->nsge++;
	}
	if (wr->kind == NM_WR_ATOMIC && wr->len != wr->atomic_bytes) {
		snprintf(why, NM_WHY_MAX,
			 "WQE %u: a %s returns %u bytes, its data segments hold %llu", wr->wqe_idx,
			 format->name, wr->atomic_bytes, (unsigned long long)wr->len);
		return PRM_SYND_LOCAL_QP_OP;
	}
	return 0;
}

static void decode_ctrl(const uint8_t *ctrl, uint16_t wqe_idx, struct nm_wr *wr)
{
	uint32_t head = prm_load32(ctrl);
	uint32_t qpn_ds = prm_load32(ctrl + CTRL_QPN_DS);
	uint8_t flags = ctrl[CTRL_FM_CE_SE];

	*wr = (struct nm_wr){
		.opcode = (uint8_t)head,
		.opmod = (uint8_t)(head >> 24),
		.idx_seen = (uint16_t)(head >> 8),
		.qpn_seen = qpn_ds >> 8,
		.ds = qpn_ds & 0x3f,
		.fence = flags >> 5,
		.ce = (flags >> 2) & 3,
		.se = (flags & 2) != 0,
		.imm = prm_load32(ctrl + CTRL_IMM),
		.wqe_idx = wqe_idx,
	};
	wr->nbb =
		wr->ds == 0 ? 1 : (uint8_t)((wr->ds + NM_WQEBB_OCTOWORDS - 1) / NM_WQEBB_OCTOWORDS);
}

/* opmod of the masked atomics: 8 | log2(bytes) - 2. */
enum { OPMOD_MASKED_4 = 8, OPMOD_MASKED_8 = 9 };

static void decode_masked(const struct nm_sq_ring *ring, struct nm_wr *wr)
{
	const uint8_t *seg = nm_wqe_octoword(ring, wr->wqe_idx, 2);
	const uint8_t *masks = nm_wqe_octoword(ring, wr->wqe_idx, 3);
	bool cs = wr->opcode == PRM_WQE_ATOMIC_MASKED_CS;

	if (wr->atomic_bytes == 4) {
		wr->swap_add = prm_load32(seg);
		wr->compare = cs ? prm_load32(seg + 4) : 0;
		wr->swap_mask = cs ? prm_load32(seg + 8) : 0;
		wr->compare_mask = prm_load32(seg + (cs ? 12 : 4));
		return;
	}
	wr->swap_add = prm_load64(seg);
	wr->compare = cs ? prm_load64(seg + 8) : 0;
	wr->swap_mask = cs ? prm_load64(masks) : 0;
	wr->compare_mask = prm_load64(cs ? masks + 8 : seg + 8);
	wr->data_ow += cs;
}

static uint8_t decode_atomic(const struct nm_sq_ring *ring, struct nm_wr *wr, char *why)
{
	const uint8_t *seg = nm_wqe_octoword(ring, wr->wqe_idx, wr->data_ow - 1u);

	wr->atomic_bytes = 8;
	if (wr->opcode == PRM_WQE_ATOMIC_CS || wr->opcode == PRM_WQE_ATOMIC_FA) {
		wr->swap_add = prm_load64(seg);
		wr->compare = prm_load64(seg + 8);
		return 0;
	}
	if (wr->opmod != OPMOD_MASKED_4 && wr->opmod != OPMOD_MASKED_8) {
		snprintf(why, NM_WHY_MAX,
			 "WQE %u: masked atomic with operation modifier %u, expected %u (4 bytes) "
			 "or %u (8 "
			 "bytes)",
			 wr->wqe_idx, wr->opmod, OPMOD_MASKED_4, OPMOD_MASKED_8);
		return PRM_SYND_LOCAL_QP_OP;
	}
	wr->atomic_bytes = wr->opmod == OPMOD_MASKED_4 ? 4 : 8;
	decode_masked(ring, wr);
	return 0;
}

/* Only the form that waits for a CQ (operation modifier 0) is modelled. */
static uint8_t decode_wait(const struct nm_sq_ring *ring, struct nm_wr *wr, char *why)
{
	const uint8_t *seg = nm_wqe_octoword(ring, wr->wqe_idx, 1);

	if (wr->opmod != 0) {
		snprintf(why, NM_WHY_MAX,
			 "WQE %u: WAIT with operation modifier %u, expected 0 (a CQ)", wr->wqe_idx,
			 wr->opmod);
		return PRM_SYND_LOCAL_QP_OP;
	}
	wr->wait_index = prm_load32(seg + 8) & 0xffffff;
	wr->wait_cqn = prm_load32(seg + 12) & 0xffffff;
	return 0;
}

enum { AV_EXT = INT32_MIN, AV_GRH = 1 << 30 };

/* Address vector behind the control segment (PRM, UD address vector): 16 bytes, or 48 if its bit
 * says so. */
static uint8_t decode_av(const struct nm_sq_ring *ring, struct nm_wr *wr, char *why)
{
	const uint8_t *seg = nm_wqe_octoword(ring, wr->wqe_idx, 1);
	struct nm_av *av = &wr->av;
	uint32_t ext_dqpn = wr->ds < 2 ? 0 : prm_load32(seg + 8);
	uint32_t octowords = ext_dqpn & (uint32_t)AV_EXT ? 3 : 1;
	uint32_t grh;

	if (wr->ds < 1 + octowords) {
		snprintf(why, NM_WHY_MAX,
			 "WQE %u: ds is %u, a datagram with an address vector of %u bytes takes at "
			 "least %u",
			 wr->wqe_idx, wr->ds, octowords * NM_OCTOWORD, 1 + octowords);
		return PRM_SYND_LOCAL_QP_OP;
	}
	av->qkey = prm_load32(seg);
	av->dqpn = ext_dqpn & 0xffffff;
	av->sl = seg[12] & 0xf;
	av->rlid = (uint16_t)(seg[14] << 8 | seg[15]);
	av->ext = octowords == 3;
	wr->data_ow = (uint8_t)(wr->data_ow + octowords);
	if (!av->ext)
		return 0;
	seg = nm_wqe_octoword(ring, wr->wqe_idx, 2);
	memcpy(av->rmac, seg + 4, sizeof(av->rmac));
	av->tclass = seg[10];
	av->hop_limit = seg[11];
	grh = prm_load32(seg + 12);
	av->grh = (grh & AV_GRH) != 0;
	av->sgid_index = (uint8_t)(grh >> 20);
	av->flow_label = grh & 0xfffff;
	memcpy(av->rgid, nm_wqe_octoword(ring, wr->wqe_idx, 3), sizeof(av->rgid));
	return 0;
}

/*
 * Translation entries stand behind the mkey context, or a data segment names them. A block of
 * signature or encryption (BSF) behind them is not modelled.
 */
static uint8_t decode_umr(const struct nm_sq_ring *ring, struct nm_wr *wr, char *why)
{
	const uint8_t *ctrl = nm_wqe_octoword(ring, wr->wqe_idx, NM_UMR_CTRL_OW);
	const uint8_t *more = nm_wqe_octoword(ring, wr->wqe_idx, NM_UMR_CTRL_OW + 1);
	uint32_t sizes = prm_load32(ctrl + 4);
	uint32_t need = NM_UMR_XLT_OW;
	struct nm_sge sge;

	wr->umr_flags = ctrl[0];
	wr->umr_octwords = (uint16_t)(sizes >> 16);
	wr->umr_mask = prm_load64(ctrl + 8);
	if (wr->umr_flags & NM_UMR_XLT_OFFSET) {
		wr->umr_xlt_octword = (uint64_t)prm_load32(more) << 16 | (sizes & 0xffff);
	} else if (sizes & 0xffff) {
		snprintf(why, NM_WHY_MAX, "WQE %u: a UMR with signature or encryption (BSF)",
			 wr->wqe_idx);
		return PRM_SYND_LOCAL_QP_OP;
	}
	if (wr->umr_flags & NM_UMR_INLINE)
		need += wr->umr_octwords;
	else if (wr->umr_octwords)
		need++;
	if (wr->ds < need) {
		snprintf(why, NM_WHY_MAX,
			 "WQE %u: ds is %u, a UMR with %u octowords of translation%s takes %u",
			 wr->wqe_idx, wr->ds, wr->umr_octwords,
			 wr->umr_flags & NM_UMR_INLINE ? " in it" : "", need);
		return PRM_SYND_LOCAL_QP_OP;
	}
	if ((wr->umr_flags & NM_UMR_INLINE) || !wr->umr_octwords)
		return 0;
	nm_wqe_sge(ring, wr, NM_UMR_XLT_OW, &sge);
	if (sge.is_inline || sge.len < wr->umr_octwords * (uint32_t)NM_OCTOWORD) {
		snprintf(why, NM_WHY_MAX,
			 "WQE %u: its data segment has %u bytes, %u octowords of translation were "
			 "to be there",
			 wr->wqe_idx, sge.len, wr->umr_octwords);
		return PRM_SYND_LOCAL_QP_OP;
	}
	wr->nsge = 1;
	return 0;
}

/* Octowords between the control segment and those of the opcode, in a WQE that sends (PRM: XRC
 * segment). */
static uint8_t prefix_of(const struct nm_sq_ring *ring, const struct wqe_format *format)
{
	return ring->st == PRM_QP_ST_XRC && format->kind >= NM_WR_SEND ? 1 : 0;
}

uint8_t nm_wqe_decode(const struct nm_sq_ring *ring, uint16_t wqe_idx, struct nm_wr *wr, char *why)
{
	const struct wqe_format *format;
	uint8_t prefix, fixed;
	const uint8_t *seg;

	decode_ctrl(nm_wqe_octoword(ring, wqe_idx, 0), wqe_idx, wr);
	format = format_of(wr->opcode, ring->st);
	if (!format) {
		snprintf(why, NM_WHY_MAX, "WQE %u: opcode 0x%02x is not one of this queue's",
			 wqe_idx, wr->opcode);
		return PRM_SYND_LOCAL_QP_OP;
	}
	wr->kind = format->kind;
	wr->imm_valid = format->imm;
	prefix = prefix_of(ring, format);
	fixed = (uint8_t)(format->fixed + prefix);
	wr->data_ow = fixed;
	/* A NOP may carry any ds with old segments behind it: cancelled work. */
	if (wr->kind == NM_WR_NOP && wr->ds >= 1)
		return 0;
	if (wr->ds < fixed) {
		snprintf(why, NM_WHY_MAX, "WQE %u: ds is %u, a %s takes at least %u", wqe_idx,
			 wr->ds, format->name, fixed);
		return PRM_SYND_LOCAL_QP_OP;
	}
	wr->inval = wr->opcode == PRM_WQE_SEND_INVAL;
	if (wr->kind == NM_WR_WAIT)
		return decode_wait(ring, wr, why);
	if (wr->kind == NM_WR_SEND && ring->st == PRM_QP_ST_UD && decode_av(ring, wr, why))
		return PRM_SYND_LOCAL_QP_OP;
	if (wr->kind == NM_WR_UMR)
		return decode_umr(ring, wr, why);
	if (prefix)
		wr->xrc_srqn = prm_load32(nm_wqe_octoword(ring, wqe_idx, 1)) & 0xffffff;
	if (format->fixed >= 2) {
		seg = nm_wqe_octoword(ring, wqe_idx, 1u + prefix);
		wr->raddr = prm_load64(seg);
		wr->rkey = prm_load32(seg + 8);
	}
	if (wr->kind == NM_WR_ATOMIC && decode_atomic(ring, wr, why))
		return PRM_SYND_LOCAL_QP_OP;
	return decode_data(ring, format, wr, why);
}
