// SPDX-License-Identifier: BSD-3-Clause
/* Queues as observers see them. */
#include "emu/nicmodel/rc.h"

bool nm_nic_sq(const struct nm_nic *nic, uint32_t qpn, struct nm_sq_view *view)
{
	const struct nm_qp *qp = (const struct nm_qp *)nm_obj_get(nic, NM_OBJ_QP, qpn);

	if (!qp || !qp->rc || !qp->has_sq)
		return false;
	*view = (struct nm_sq_view){
		.ring = qp->rc->req.flat,
		.record = qp->dbr.flat,
		.bbs = 1u << qp->log_sq_size,
		.pi = qp->rc->req.pi,
		.no_dbr = qp->no_dbr,
	};
	return true;
}

bool nm_nic_cq(const struct nm_nic *nic, uint32_t cqn, struct nm_cq_view *view)
{
	const struct nm_cq *cq = (const struct nm_cq *)nm_obj_get(nic, NM_OBJ_CQ, cqn);

	if (!cq)
		return false;
	*view = (struct nm_cq_view){
		.record = cq->dbr.flat,
		.producer = cq->producer,
		.collapsed = cq->collapsed,
		.overrun_ignore = cq->overrun_ignore,
	};
	return true;
}
