// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where datagrams go: address handles, of which the NIC knows nothing (the library writes them into
 * each WQE and only wants the destination's MAC), and multicast groups.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/uverbs/uv.h"

enum {
	SL_MAX = 15,
	MLID_FIRST = 0xc000, /* IBTA 4.1.3; 0xffff is the permissive LID */
	MLID_LAST = 0xfffe,
};

static bool is_multicast(const uint8_t gid[16])
{
	static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

	return gid[0] == 0xff ||
	       (!memcmp(gid, v4_prefix, sizeof(v4_prefix)) && (gid[12] & 0xf0) == 0xe0);
}

/* RFC 1112, RFC 2464: a group's MAC follows from its address; any other GID has its port's. */
static void gid_to_mac(const uint8_t gid[16], uint8_t mac[6])
{
	if (!is_multicast(gid)) {
		uv_gid_to_mac(gid, mac);
	} else if (gid[0] == 0xff) {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, gid + 12, 4);
	} else {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = gid[13] & 0x7f;
		memcpy(mac + 4, gid + 14, 2);
	}
}

static int check_attr(const struct ib_uverbs_ah_attr *attr)
{
	if (attr->port_num != UV_PORT)
		return uv_refuse(EINVAL, "CREATE_AH: port %u, expected %u", attr->port_num,
				 UV_PORT);
	if (attr->sl > SL_MAX)
		uv_say("CREATE_AH: service level %u is above %u: the driver makes %u of it",
		       attr->sl, SL_MAX, attr->sl & SL_MAX);
	if (uv_link_is_ethernet() && !attr->is_global)
		return uv_refuse(EINVAL, "CREATE_AH: no GRH, but the port is RoCE");
	return attr->is_global ? uv_check_sgid("CREATE_AH", attr->grh.sgid_index) : 0;
}

int uv_w_create_ah(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_create_ah *in = core_in;
	struct ib_uverbs_create_ah_resp *out = core_out;
	struct mlx5_ib_create_ah_resp drv = {.response_length = sizeof(drv)};
	struct uv_obj *pd = uv_obj_find(req->ctx, in->pd_handle), *ah;
	int ret;

	if (!pd || pd->kind != UV_PD)
		return uv_refuse(EINVAL, "CREATE_AH: handle %u is not a protection domain",
				 in->pd_handle);
	ret = check_attr(&in->attr);
	if (ret)
		return ret;
	ah = uv_obj_new(req->ctx, UV_AH, sizeof(*ah), &pd, 1);
	if (!ah)
		return -ENOMEM;
	out->ah_handle = ah->handle;
	gid_to_mac(in->attr.grh.dgid, drv.dmac);
	ret = uv_out(req, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
	if (ret)
		uv_obj_free(req->ctx, ah);
	return ret;
}

int uv_ah_destroy(struct uv_ctx *ctx, struct uv_obj *obj)
{
	(void)ctx;
	(void)obj;
	return 0;
}

/* ---- groups ---- */

struct uv_group {
	struct uv_group *next;
	uint8_t gid[16];
};

static int check_group(struct uv_req *req, const char *command,
		       const struct ib_uverbs_attach_mcast *in, struct uv_qp **qp)
{
	*qp = (struct uv_qp *)uv_obj_find(req->ctx, in->qp_handle);
	if (!*qp || (*qp)->obj.kind != UV_QP)
		return uv_refuse(EINVAL, "%s: handle %u is not a queue pair", command,
				 in->qp_handle);
	if ((*qp)->type != IB_UVERBS_QPT_UD)
		return uv_refuse(EINVAL, "%s: QP 0x%x is not of type UD", command, (*qp)->obj.num);
	if (!is_multicast(in->gid))
		return uv_refuse(EINVAL, "%s: the GID begins with 0x%02x, a group's with 0xff",
				 command, in->gid[0]);
	if (!uv_link_is_ethernet() && (in->mlid < MLID_FIRST || in->mlid > MLID_LAST))
		return uv_refuse(EINVAL, "%s: LID 0x%04x, expected 0x%04x to 0x%04x", command,
				 in->mlid, MLID_FIRST, MLID_LAST);
	return 0;
}

static int mcg_command(struct uv_ctx *ctx, const char *name, uint16_t opcode,
		       const struct uv_qp *qp, const uint8_t gid[16])
{
	uint8_t in[PRM_mcg_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};

	PRM_SET(cmd_in, in, opcode, opcode);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	PRM_SET(mcg_in, in, qpn, qp->obj.num);
	memcpy(PRM_PTR(mcg_in, in, multicast_gid), gid, 16);
	return uv_command(ctx->uid, name, in, sizeof(in), out, sizeof(out));
}

static struct uv_group **find_group(struct uv_qp *qp, const uint8_t gid[16])
{
	struct uv_group **at = &qp->groups;

	while (*at && memcmp((*at)->gid, gid, sizeof((*at)->gid)) != 0)
		at = &(*at)->next;
	return at;
}

int uv_w_attach_mcast(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_attach_mcast *in = core_in;
	struct uv_group *group;
	struct uv_qp *qp;
	int ret = check_group(req, "ATTACH_MCAST", in, &qp);

	(void)core_out;
	if (ret)
		return ret;
	if (*find_group(qp, in->gid))
		return 0;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	ret = mcg_command(req->ctx, "ATTACH_TO_MCG", PRM_CMD_ATTACH_TO_MCG, qp, in->gid);
	if (ret) {
		free(group);
		return ret;
	}
	memcpy(group->gid, in->gid, sizeof(group->gid));
	group->next = qp->groups;
	qp->groups = group;
	return 0;
}

int uv_w_detach_mcast(struct uv_req *req, const void *core_in, void *core_out)
{
	/* Same layout as for attaching. */
	const struct ib_uverbs_attach_mcast *in = core_in;
	struct uv_group **at, *group;
	struct uv_qp *qp;
	int ret = check_group(req, "DETACH_MCAST", in, &qp);

	(void)core_out;
	if (ret)
		return ret;
	at = find_group(qp, in->gid);
	if (!*at)
		return uv_refuse(EINVAL, "DETACH_MCAST: QP 0x%x is not in this group", qp->obj.num);
	ret = mcg_command(req->ctx, "DETACH_FROM_MCG", PRM_CMD_DETACH_FROM_MCG, qp, in->gid);
	if (ret)
		return ret;
	group = *at;
	*at = group->next;
	free(group);
	return 0;
}

void uv_groups_forget(struct uv_qp *qp)
{
	while (qp->groups) {
		struct uv_group *group = qp->groups;

		qp->groups = group->next;
		free(group);
	}
}
