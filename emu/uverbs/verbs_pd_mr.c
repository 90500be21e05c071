// SPDX-License-Identifier: BSD-3-Clause
/* Protection domains, memory regions and windows, address handles. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/uverbs/uv.h"

enum { PAGE_OFFSET_MASK = 0xfff, MKEY_ANY_QPN = 0xffffff };

/* flags of REREG_MR (ABI: enum ib_mr_rereg_flags) */
enum { REREG_TRANSLATION = 1, REREG_PD = 2, REREG_ACCESS = 4 };

static struct uv_obj *find(struct uv_ctx *ctx, uint32_t handle, enum uv_kind kind)
{
	struct uv_obj *obj = uv_obj_find(ctx, handle);

	if (obj && obj->kind == kind)
		return obj;
	uv_say("handle %u is not a %s of this context", handle, uv_kind_name(kind));
	return NULL;
}

/* ---- PD ---- */

int uv_w_alloc_pd(struct uv_req *req, const void *core_in, void *core_out)
{
	struct ib_uverbs_alloc_pd_resp *out = core_out;
	struct mlx5_ib_alloc_pd_resp drv = {0};
	struct uv_ctx *ctx = req->ctx;
	struct uv_obj *pd;
	int ret;

	(void)core_in;
	pd = uv_obj_new(ctx, UV_PD, sizeof(*pd), NULL, 0);
	if (!pd)
		return -ENOMEM;
	ret = uv_command_simple(ctx->uid, "ALLOC_PD", PRM_CMD_ALLOC_PD, 0, &pd->num);
	if (ret) {
		uv_obj_free(ctx, pd);
		return ret;
	}
	drv.pdn = pd->num;
	out->pd_handle = pd->handle;
	ret = uv_out(req, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
	if (ret)
		uv_obj_destroy(ctx, pd);
	return ret;
}

int uv_pd_destroy(struct uv_ctx *ctx, struct uv_obj *obj)
{
	return uv_command_simple(ctx->uid, "DEALLOC_PD", PRM_CMD_DEALLOC_PD, obj->num, NULL);
}

int uv_pd_query(struct uv_req *req)
{
	const struct uv_obj *pd = uv_obj(req, MLX5_IB_ATTR_QUERY_PD_HANDLE);

	return uv_out(req, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->num, sizeof(pd->num));
}

/* ---- MR ---- */

int uv_check_access(uint32_t access)
{
	const uint32_t known = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
			       IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
			       IB_UVERBS_ACCESS_OPTIONAL_RANGE | IB_UVERBS_ACCESS_HUGETLB;

	if (access & IB_UVERBS_ACCESS_ON_DEMAND)
		return uv_refuse(EOPNOTSUPP,
				 "REG_MR: access 0x%x: on-demand paging is not emulated", access);
	if (access & ~known)
		return uv_refuse(EINVAL, "REG_MR: access 0x%x, unknown bits 0x%x", access,
				 access & ~known);
	/* IBTA 10.6.6: who may write from afar may write locally. */
	if ((access & (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return uv_refuse(
			EINVAL,
			"REG_MR: access 0x%x has remote write or atomic without local write",
			access);
	return 0;
}

static int check_range(const struct uv_mr *mr)
{
	const uint32_t writes = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
				IB_UVERBS_ACCESS_REMOTE_ATOMIC;

	if (!mr->length)
		return uv_refuse(EINVAL, "REG_MR: length 0");
	if ((mr->start ^ mr->iova) & PAGE_OFFSET_MASK)
		return uv_refuse(EINVAL,
				 "REG_MR: address 0x%" PRIx64 " and iova 0x%" PRIx64
				 " differ in their page offset",
				 mr->start, mr->iova);
	if (mr->iova + mr->length - 1 < mr->iova)
		return uv_refuse(EINVAL, "REG_MR: iova 0x%" PRIx64 " length 0x%" PRIx64 " wraps",
				 mr->iova, mr->length);
	return uv_range_check(mr->start, mr->length, (mr->access & writes) != 0);
}

static void fill_mkc(const struct uv_mr *mr, const struct uv_pages *pages, uint32_t pdn,
		     uint8_t *mkc)
{
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_MTT);
	PRM_SET(mkc, mkc, lr, 1);
	PRM_SET(mkc, mkc, lw, !!(mr->access & IB_UVERBS_ACCESS_LOCAL_WRITE));
	PRM_SET(mkc, mkc, rr, !!(mr->access & IB_UVERBS_ACCESS_REMOTE_READ));
	PRM_SET(mkc, mkc, rw, !!(mr->access & IB_UVERBS_ACCESS_REMOTE_WRITE));
	PRM_SET(mkc, mkc, a, !!(mr->access & IB_UVERBS_ACCESS_REMOTE_ATOMIC));
	PRM_SET(mkc, mkc, relaxed_ordering_write,
		!!(mr->access & IB_UVERBS_ACCESS_RELAXED_ORDERING));
	PRM_SET(mkc, mkc, relaxed_ordering_read,
		!!(mr->access & IB_UVERBS_ACCESS_RELAXED_ORDERING));
	PRM_SET(mkc, mkc, qpn, MKEY_ANY_QPN);
	PRM_SET(mkc, mkc, mkey_7_0, mr->tag);
	PRM_SET(mkc, mkc, pd, pdn);
	PRM_SET64(mkc, mkc, start_addr, mr->iova);
	PRM_SET64(mkc, mkc, len, mr->length);
	PRM_SET(mkc, mkc, log_page_size, pages->shift);
	PRM_SET(mkc, mkc, translations_octword_size, (uint32_t)((pages->count + 1) / 2));
}

/* CREATE_MKEY for what *mr says, at that index if it is not 0; sets num and key. */
static int create_mkey(struct uv_ctx *ctx, struct uv_mr *mr, uint32_t pdn, uint32_t index)
{
	const struct uv_pages pages = uv_pages_of(mr->start, mr->length, mr->iova, UV_ANY_OFFSET);
	size_t len = PRM_create_mkey_in_SIZE + ((8 * pages.count + 15) & ~UINT64_C(15));
	uint8_t out[PRM_create_mkey_out_SIZE] = {0};
	uint8_t *in;
	int ret;

	in = calloc(1, len);
	if (!in)
		return -ENOMEM;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_MKEY);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	PRM_SET(create_mkey_in, in, mkey_index, index);
	fill_mkc(mr, &pages, pdn, PRM_PTR(create_mkey_in, in, mkc));
	PRM_SET(create_mkey_in, in, translations_octword_actual_size,
		(uint32_t)((pages.count + 1) / 2));
	uv_pages_fill(&pages, PRM_PTR(create_mkey_in, in, klm_pas_mtt));
	ret = uv_command(ctx->uid, "CREATE_MKEY", in, len, out, sizeof(out));
	free(in);
	if (ret)
		return ret;
	mr->obj.num = PRM_GET(create_mkey_out, out, mkey_index);
	mr->key = mr->obj.num << 8 | mr->tag;
	return 0;
}

/* A tag that changes: a stale key whose index lives again must miss. Guarded by nothing: any value
 * will do. */
uint8_t uv_next_tag(void)
{
	static uint32_t tag;

	return (uint8_t)__atomic_add_fetch(&tag, 1, __ATOMIC_RELAXED);
}

int uv_w_reg_mr(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_reg_mr *in = core_in;
	struct ib_uverbs_reg_mr_resp *out = core_out;
	struct uv_obj *pd = find(req->ctx, in->pd_handle, UV_PD);
	struct uv_mr *mr;
	int ret;

	if (!pd)
		return -EINVAL;
	mr = uv_obj_new(req->ctx, UV_MR, sizeof(*mr), &pd, 1);
	if (!mr)
		return -ENOMEM;
	mr->start = in->start;
	mr->length = in->length;
	mr->iova = in->hca_va;
	mr->access = in->access_flags;
	mr->tag = uv_next_tag();
	ret = uv_check_access(mr->access);
	if (!ret)
		ret = check_range(mr);
	if (!ret)
		ret = create_mkey(req->ctx, mr, pd->num, 0);
	if (ret) {
		uv_obj_free(req->ctx, &mr->obj);
		return ret;
	}
	out->mr_handle = mr->obj.handle;
	out->lkey = out->rkey = mr->key;
	return 0;
}

/* A region of device memory is the driver's own. */
int uv_mr_destroy(struct uv_ctx *ctx, struct uv_obj *obj)
{
	return uv_command_simple(obj->uses[1] ? 0 : ctx->uid, "DESTROY_MKEY", PRM_CMD_DESTROY_MKEY,
				 obj->num, NULL);
}

/*
 * A new mkey in the place of the old one, so that the keys which the program has given away stay.
 * (mlx5_ib changes the mkey with a UMR of its own; to the program it is the same.) It is made once
 * elsewhere first: what the NIC would refuse leaves the MR as it was.
 */
static int replace_mkey(struct uv_ctx *ctx, struct uv_mr *mr, struct uv_mr *want, uint32_t pdn)
{
	struct uv_mr trial = *want;
	int ret = create_mkey(ctx, &trial, pdn, 0);

	if (!ret)
		ret = uv_mr_destroy(ctx, &trial.obj);
	if (!ret)
		ret = uv_mr_destroy(ctx, &mr->obj);
	return ret ? ret : create_mkey(ctx, want, pdn, mr->obj.num);
}

int uv_w_rereg_mr(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_rereg_mr *in = core_in;
	struct ib_uverbs_rereg_mr_resp *out = core_out;
	struct uv_mr *mr = (struct uv_mr *)find(req->ctx, in->mr_handle, UV_MR);
	struct uv_mr want;
	struct uv_obj *pd;
	int ret;

	if (!mr)
		return -EINVAL;
	if (mr->obj.uses[1])
		return uv_refuse(EOPNOTSUPP, "REREG_MR: a region of device memory");
	if (!in->flags || (in->flags & ~(uint32_t)(REREG_TRANSLATION | REREG_PD | REREG_ACCESS)))
		return uv_refuse(EINVAL, "REREG_MR: flags 0x%x", in->flags);
	want = *mr;
	pd = in->flags & REREG_PD ? find(req->ctx, in->pd_handle, UV_PD) : mr->obj.uses[0];
	if (!pd)
		return -EINVAL;
	if (in->flags & REREG_ACCESS)
		want.access = in->access_flags;
	if (in->flags & REREG_TRANSLATION) {
		want.start = in->start;
		want.length = in->length;
		want.iova = in->hca_va;
	}
	ret = uv_check_access(want.access);
	if (!ret)
		ret = check_range(&want);
	if (!ret)
		ret = replace_mkey(req->ctx, mr, &want, pd->num);
	if (ret)
		return ret;
	mr->obj.uses[0]->users--;
	pd->users++;
	*mr = want;
	mr->obj.uses[0] = pd;
	out->lkey = out->rkey = mr->key;
	return 0;
}

int uv_mr_query(struct uv_req *req)
{
	const struct uv_mr *mr = (struct uv_mr *)uv_obj(req, UVERBS_ATTR_QUERY_MR_HANDLE);
	int ret;

	ret = uv_out(req, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->key, sizeof(mr->key));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->key, sizeof(mr->key));
	if (!ret)
		ret = uv_out(req, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->length,
			     sizeof(mr->length));
	return ret ? ret : uv_out(req, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->iova, sizeof(mr->iova));
}

/* As a kernel whose device has no on-demand paging: nothing to prefetch. */
int uv_mr_advise(struct uv_req *req)
{
	return uv_refuse(EOPNOTSUPP, "ADVISE_MR: advice %u is about on-demand paging",
			 (uint32_t)uv_in_u64(req, UVERBS_ATTR_ADVISE_MR_ADVICE, 0));
}

int uv_mr_reg_dmabuf(struct uv_req *req)
{
	int fd = (int)uv_in_u64(req, UVERBS_ATTR_REG_DMABUF_MR_FD, 0);

	if (fcntl(fd, F_GETFD) < 0)
		return uv_refuse(EBADF, "REG_DMABUF_MR: fd %d is not open", fd);
	return uv_refuse(EOPNOTSUPP, "REG_DMABUF_MR: memory behind a dma-buf is not emulated");
}

/* ---- MW: a key without memory until a WQE binds it to a part of an MR ---- */

enum { MW_TYPE_1 = 1, MW_TYPE_2 = 2, KLM_OCTWORDS = 4 /* entries come in 64 bytes */ };

/* mlx5_ib lets the device read for the window: what remote rights it gives, its binding says. */
static void fill_mw_mkc(uint8_t *mkc, uint32_t pdn, uint8_t type, uint32_t octwords, uint8_t tag)
{
	PRM_SET(mkc, mkc, free, 1);
	PRM_SET(mkc, mkc, umr_en, 1);
	PRM_SET(mkc, mkc, lr, 1);
	PRM_SET(mkc, mkc, access_mode_1_0, PRM_MKC_MODE_KLM);
	PRM_SET(mkc, mkc, en_rinval, type == MW_TYPE_2);
	PRM_SET(mkc, mkc, qpn, MKEY_ANY_QPN);
	PRM_SET(mkc, mkc, mkey_7_0, tag);
	PRM_SET(mkc, mkc, pd, pdn);
	PRM_SET(mkc, mkc, translations_octword_size, octwords);
}

int uv_w_alloc_mw(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_alloc_mw *in = core_in;
	struct ib_uverbs_alloc_mw_resp *out = core_out;
	uint8_t cmd[PRM_create_mkey_in_SIZE] = {0}, answer[PRM_create_mkey_out_SIZE] = {0};
	struct uv_obj *pd = find(req->ctx, in->pd_handle, UV_PD), *mw;
	struct mlx5_ib_alloc_mw drv = {0};
	uint8_t tag = uv_next_tag();
	int ret;

	if (!pd)
		return -EINVAL;
	if (in->mw_type != MW_TYPE_1 && in->mw_type != MW_TYPE_2)
		return uv_refuse(EINVAL, "ALLOC_MW: type %u, expected 1 or 2", in->mw_type);
	ret = uv_in(req, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv));
	if (ret && ret != -ENOENT)
		return ret;
	if (drv.comp_mask || drv.reserved1 || drv.reserved2)
		return uv_refuse(EOPNOTSUPP, "ALLOC_MW: comp_mask 0x%x, expected 0", drv.comp_mask);
	mw = uv_obj_new(req->ctx, UV_MW, sizeof(*mw), &pd, 1);
	if (!mw)
		return -ENOMEM;
	PRM_SET(cmd_in, cmd, opcode, PRM_CMD_CREATE_MKEY);
	PRM_SET(cmd_in, cmd, uid, req->ctx->uid);
	fill_mw_mkc(PRM_PTR(create_mkey_in, cmd, mkc), pd->num, in->mw_type,
		    drv.num_klms ? (drv.num_klms + KLM_OCTWORDS - 1u) / KLM_OCTWORDS * KLM_OCTWORDS
				 : KLM_OCTWORDS,
		    tag);
	ret = uv_command(req->ctx->uid, "CREATE_MKEY", cmd, sizeof(cmd), answer, sizeof(answer));
	if (ret) {
		uv_obj_free(req->ctx, mw);
		return ret;
	}
	mw->num = PRM_GET(create_mkey_out, answer, mkey_index);
	out->mw_handle = mw->handle;
	out->rkey = mw->num << 8 | tag;
	return 0;
}

int uv_mw_destroy(struct uv_ctx *ctx, struct uv_obj *obj)
{
	return uv_command_simple(ctx->uid, "DESTROY_MKEY", PRM_CMD_DESTROY_MKEY, obj->num, NULL);
}
