/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive WQE of a message. Where it comes from is behind struct rc_recv_ops; what is in it is
 * the same everywhere: a list of data segments, ended by a segment of key 0x100 and length 0 or by
 * its stride (PRM, receive WQE).
 */
#include "emu/nicmodel/rc.h"

#include <stdlib.h>

/* Room for the segments of a WQE of so many bytes; false: no memory. */
static bool make_room(struct rc_recv *recv, uint32_t len)
{
	uint32_t n = len / NM_OCTOWORD < RC_RECV_SGES ? len / NM_OCTOWORD : RC_RECV_SGES;
	struct rc_recv_sge *sges;

	if (n <= recv->sge_room)
		return true;
	sges = realloc(recv->sges, n * sizeof(*sges));
	if (!sges)
		return false;
	recv->sges = sges;
	recv->sge_room = n;
	return true;
}

void rc_recv_bind(struct nm_qp *qp, const struct rc_recv *to, const uint8_t *segs, uint32_t len)
{
	struct rc_recv *recv = &qp->rc->resp.recv;

	*recv = (struct rc_recv){.have = true,
				 .wqe_idx = to->wqe_idx,
				 .pdn = to->pdn,
				 .cq = to->cq,
				 .user_index = to->user_index,
				 .srq = to->srq,
				 .sges = recv->sges,
				 .sge_room = recv->sge_room};
	if (!make_room(recv, len))
		return; /* too short for any message */
	for (uint32_t off = 0; off + NM_OCTOWORD <= len && recv->nsge < RC_RECV_SGES;
	     off += NM_OCTOWORD) {
		const uint8_t *seg = segs + off;
		uint32_t count = prm_load32(seg) & 0x7fffffff;
		uint32_t lkey = prm_load32(seg + 4);

		if (count == 0 && lkey == PRM_LKEY_TERMINATOR)
			break;
		recv->sges[recv->nsge].len = count == 0 ? NM_SGE_ZERO_MEANS : count;
		recv->sges[recv->nsge].lkey = lkey;
		recv->sges[recv->nsge].va = prm_load64(seg + 8);
		recv->total += recv->sges[recv->nsge].len;
		recv->nsge++;
	}
}

int rc_recv_take(struct nm_qp *qp)
{
	return qp->rc->resp.recv.have ? 0 : qp->rc->recv_ops->take(qp);
}

/* ---- a QP without receive WQEs ---- */

static int none_take(struct nm_qp *qp)
{
	(void)qp;
	return -EAGAIN;
}

static void none_cancel(struct nm_qp *qp)
{
	(void)qp;
}

static void none_flush(struct nm_qp *qp, uint32_t *left)
{
	(void)qp;
	(void)left;
}

const struct rc_recv_ops rc_recv_none = {
	.take = none_take, .cancel = none_cancel, .flush = none_flush};
