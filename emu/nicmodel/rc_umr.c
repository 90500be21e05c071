/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UMR: a WQE changes a key (PRM, user-mode memory registration). Memory windows are bound and local
 * keys invalidated by it; libmlx5 and mlx5_ib have no other way.
 *
 *     control | UMR control 48 | mkey context 64 | translation entries, or a segment naming them
 *
 * It takes effect when the queue reaches it, before any later WQE; earlier WQEs may still wait for
 * their ACKs, and what of them has to be sent again then finds the key as it is by then, unless the
 * WQE has a fence (IBTA 10.8.3.3: local invalidate is not ordered behind unacknowledged sends).
 */
#include "emu/nicmodel/rc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	UMR_OCTWORD = 16,
	UMR_MASK_FREE = 29,
	UMR_MASK_LEN = 0,
	UMR_MASK_START = 6,
	UMR_MASK_PD = 7,
	UMR_ANY_QPN = 0xffffff
};

#define MKC_(f) PRM_mkc_##f##_OFF, PRM_mkc_##f##_HI, PRM_mkc_##f##_LO

/* Fields that a bit of the mask lets change (PRM, mkey_mask); the 64-bit ones follow in code. */
static const struct umr_field {
	uint8_t bit;
	uint16_t off;
	uint8_t hi, lo;
} umr_fields[] = {
	{UMR_MASK_LEN, MKC_(length64)},
	{1, MKC_(log_page_size)},
	{UMR_MASK_PD, MKC_(pd)},
	{8, MKC_(en_rinval)},
	{12, MKC_(bsf_en)},
	{13, MKC_(mkey_7_0)},
	{14, MKC_(qpn)},
	{17, MKC_(lr)},
	{18, MKC_(lw)},
	{19, MKC_(rr)},
	{20, MKC_(rw)},
	{21, MKC_(a)},
	{23, MKC_(small_fence_on_rdma_read_response)},
	{25, MKC_(relaxed_ordering_write)},
	{UMR_MASK_FREE, MKC_(free)},
	{47, MKC_(relaxed_ordering_read)},
};

static bool masked(const struct nm_wr *wr, unsigned int bit)
{
	return wr->umr_mask >> bit & 1;
}

static void fields_take(uint8_t *mkc, const uint8_t *given, const struct nm_wr *wr)
{
	for (size_t i = 0; i < sizeof(umr_fields) / sizeof(umr_fields[0]); i++) {
		const struct umr_field *f = &umr_fields[i];

		if (masked(wr, f->bit))
			prm_set(mkc, f->off, f->hi, f->lo, prm_get(given, f->off, f->hi, f->lo));
	}
	if (masked(wr, UMR_MASK_LEN))
		PRM_SET64(mkc, mkc, len, PRM_GET64(mkc, given, len));
	if (masked(wr, UMR_MASK_START))
		PRM_SET64(mkc, mkc, start_addr, PRM_GET64(mkc, given, start_addr));
}

/* NULL, or why this WQE may not change the key as it is. */
static const char *may_change(const struct nm_qp *qp, const struct nm_mkey *m,
			      const struct nm_wr *wr, const uint8_t *mkc)
{
	uint64_t len = PRM_GET64(mkc, mkc, len);

	if (!m->umr_en)
		return "it was created without umr_en";
	if (m->pdn != qp->pdn && !qp->service->any_pd)
		return "it belongs to another PD";
	if (PRM_GET(mkc, mkc, pd) != m->pdn && !qp->service->any_pd)
		return "a WQE of such a QP cannot move it to another PD";
	if (!nm_obj_get(qp->obj.nic, NM_OBJ_PD, PRM_GET(mkc, mkc, pd)))
		return "the PD that it is to move to does not exist";
	if ((wr->umr_flags & NM_UMR_NEED_FREE) && !m->free)
		return "it is bound, and only a free key may be bound";
	if ((wr->umr_flags & NM_UMR_NEED_LIVE) && m->free)
		return "it is free";
	if ((wr->umr_flags & NM_UMR_CHECK_QPN) && m->qpn != UMR_ANY_QPN && m->qpn != qp->obj.number)
		return "it is bound to another QP";
	/* With a check of the QP it is a local invalidate: once only. */
	if ((wr->umr_flags & NM_UMR_CHECK_QPN) && m->free)
		return "it is free already";
	/* Who binds gives the new low byte and names the key by any; who invalidates must know it.
	 */
	if (masked(wr, UMR_MASK_FREE) && PRM_GET(mkc, mkc, free) && m->tag != (wr->imm & 0xff))
		return "its low byte is another by now";
	if (PRM_GET(mkc, mkc, bsf_en))
		return "signature and encryption are not modelled";
	if (PRM_GET(mkc, mkc, length64) && m->mode != PRM_MKC_MODE_PA)
		return "length64 with a translation";
	if (len && PRM_GET64(mkc, mkc, start_addr) > UINT64_MAX - (len - 1))
		return "its range passes the end of the address space";
	if (wr->umr_octwords && (wr->umr_xlt_octword > m->xlt_octwords ||
				 wr->umr_octwords > m->xlt_octwords - wr->umr_xlt_octword))
		return "it has no room for so many translation entries";
	return NULL;
}

/* The list that the data segment names: 0, -EINPROGRESS, -EPERM with cause set. */
static int read_list(struct nm_qp *qp, uint8_t *cause)
{
	struct rc_req *req = &qp->rc->req;
	uint32_t len = req->wr.umr_octwords * (uint32_t)UMR_OCTWORD;
	struct nm_mkey *mkey;
	char why[NM_WHY_MAX];
	struct nm_sge sge;
	int rc;

	if (req->umr_list) {
		rc = rc_xfer_poll(&req->fill_xfer);
	} else {
		nm_wqe_sge(&req->ring, &req->wr, NM_UMR_XLT_OW, &sge);
		if (nm_mkey_check(qp->obj.nic, sge.lkey, sge.va, len, NM_ACC_LR, qp->pdn,
				  qp->obj.number, &mkey, why) != NM_KEY_OK) {
			nm_diagnose_wqe(qp->obj.nic, NM_DIAG_KEY, qp->obj.number, req->wr.wqe_idx,
					"WQE %u: %s", req->wr.wqe_idx, why);
			*cause = RC_CAUSE_LKEY;
			return -EPERM;
		}
		req->umr_list = malloc(len);
		rc = req->umr_list ? rc_xfer_key(qp, &req->fill_xfer, NM_DMA_GATHER, false, mkey,
						 sge.va, req->umr_list, len)
				   : -EFAULT;
	}
	if (rc == 0 || rc == -EINPROGRESS)
		return rc;
	nm_diagnose_wqe(qp->obj.nic, NM_DIAG_MEMORY, qp->obj.number, req->wr.wqe_idx,
			"WQE %u: the list that its data segment names cannot be read",
			req->wr.wqe_idx);
	*cause = RC_CAUSE_MEMORY;
	return -EPERM;
}

void rc_umr_drop(struct nm_qp *qp)
{
	free(qp->rc->req.umr_list);
	qp->rc->req.umr_list = NULL;
}

/* NULL, or why the new translation is none; the key is as it was then, but free. */
static const char *change(struct nm_qp *qp, struct nm_mkey *m, const uint8_t *mkc)
{
	const struct rc_req *req = &qp->rc->req;
	const struct nm_wr *wr = &req->wr;
	uint8_t *to = m->xlt + wr->umr_xlt_octword * UMR_OCTWORD;
	const char *why;

	for (uint32_t i = 0; i < wr->umr_octwords; i++)
		memcpy(to + (size_t)i * UMR_OCTWORD,
		       req->umr_list ? req->umr_list + (size_t)i * UMR_OCTWORD
				     : nm_wqe_octoword(&req->ring, wr->wqe_idx, NM_UMR_XLT_OW + i),
		       UMR_OCTWORD);
	nm_obj_get(qp->obj.nic, NM_OBJ_PD, m->pdn)->users--;
	memcpy(m->mkc, mkc, sizeof(m->mkc));
	nm_mkey_decode(m);
	nm_obj_get(qp->obj.nic, NM_OBJ_PD, m->pdn)->users++;
	why = nm_mkey_translate(m);
	if (why) {
		PRM_SET(mkc, m->mkc, free, 1);
		m->free = true;
	}
	/* What was under way through the key as it was: after this the memory may be another's. */
	nm_qp_forget_mkey(qp->obj.nic, m);
	return why;
}

int rc_umr(struct nm_qp *qp, uint8_t *cause)
{
	struct rc_req *req = &qp->rc->req;
	const struct nm_wr *wr = &req->wr;
	struct nm_mkey *m;
	uint8_t given[PRM_mkc_SIZE], mkc[PRM_mkc_SIZE];
	const char *why = "it does not exist";
	int rc;

	if (wr->nsge) {
		rc = read_list(qp, cause);
		if (rc)
			return rc;
	}
	static_assert(sizeof(given) == NM_UMR_MKC_OWS * UMR_OCTWORD,
		      "the context is four octowords");
	for (uint32_t i = 0; i < NM_UMR_MKC_OWS; i++)
		memcpy(given + (size_t)i * UMR_OCTWORD,
		       nm_wqe_octoword(&req->ring, wr->wqe_idx, NM_UMR_MKC_OW + i), UMR_OCTWORD);
	m = (struct nm_mkey *)nm_obj_get(qp->obj.nic, NM_OBJ_MKEY, wr->imm >> 8);
	if (m) {
		memcpy(mkc, m->mkc, sizeof(mkc));
		fields_take(mkc, given, wr);
		why = may_change(qp, m, wr, mkc);
		if (!why)
			why = change(qp, m, mkc);
	}
	rc_umr_drop(qp);
	if (!why)
		return 0;
	nm_diagnose_wqe(qp->obj.nic, NM_DIAG_UMR, qp->obj.number, wr->wqe_idx,
			"WQE %u: UMR of mkey 0x%x is refused: %s", wr->wqe_idx, wr->imm, why);
	*cause = RC_CAUSE_BIND;
	return -EPERM;
}
