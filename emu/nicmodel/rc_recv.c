/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive queue: no doorbell register, the record says how many WQEs were ever posted (PRM, receive
 * queue). A WQE is a list of data segments, ended by a segment of key 0x100 and length 0 or by its
 * stride.
 */
#include "emu/nicmodel/rc.h"

#include <string.h>

/* rq_pi from the record: 0, -EINPROGRESS, -EFAULT. */
static int read_producer(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t word;
	int rc = nm_dbr_read(qp->obj.nic, &qp->dbr, 0, &word);

	if (rc)
		return rc;
	if ((uint16_t)(word - resp->rq_ci) > 1u << qp->log_rq_size) {
		nm_diagnose(qp->obj.nic, qp->obj.number,
			    "the record says %u receive WQEs were posted, but %u are consumed and "
			    "the ring "
			    "holds %u: ignored",
			    word & 0xffff, resp->rq_ci, 1u << qp->log_rq_size);
		return 0;
	}
	resp->rq_pi = (uint16_t)word;
	return 0;
}

static int fetch(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	uint32_t slot = resp->rq_ci & ((1u << qp->log_rq_size) - 1);
	uint32_t len = 1u << qp->rq_stride_log;
	uint64_t off = (uint64_t)slot << qp->rq_stride_log;
	const void *ptr;
	int rc;

	if (resp->recv.fetching) {
		rc = rc_xfer_poll(&resp->rq_xfer);
	} else {
		ptr = nm_mem_ptr(&qp->mem, off, len);
		if (ptr)
			return rc_ring_copy(qp, ptr, off, resp->rwqe, len);
		rc = rc_xfer_ring(qp, &resp->rq_xfer, off, resp->rwqe, len);
	}
	resp->recv.fetching = rc == -EINPROGRESS;
	return rc;
}

static void parse(struct nm_qp *qp)
{
	struct rc_resp *resp = &qp->rc->resp;
	struct rc_recv *recv = &resp->recv;
	uint32_t max = (1u << qp->rq_stride_log) / NM_OCTOWORD;

	*recv = (struct rc_recv){.have = true, .wqe_idx = resp->rq_ci};
	for (uint32_t i = 0; i < max && recv->nsge < RC_RECV_SGES; i++) {
		const uint8_t *seg = resp->rwqe + (size_t)i * NM_OCTOWORD;
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
	struct rc_resp *resp = &qp->rc->resp;
	int rc;

	if (resp->recv.have)
		return 0;
	if (!qp->has_rq)
		return -EAGAIN;
	if (resp->rq_ci == resp->rq_pi) {
		rc = read_producer(qp);
		if (rc)
			return rc == -EINPROGRESS ? rc : -EBADMSG;
		if (resp->rq_ci == resp->rq_pi)
			return -EAGAIN;
	}
	rc = fetch(qp);
	if (rc)
		return rc == -EINPROGRESS ? rc : -EBADMSG;
	if (nm_watched(qp->obj.nic, NM_EV_FETCH)) {
		struct nm_event ev = {
			.kind = NM_EV_FETCH,
			.qpn = qp->obj.number,
			.fetch = {.receive = true,
				  .wqe_idx = resp->rq_ci,
				  .slot = resp->rq_ci & ((1u << qp->log_rq_size) - 1),
				  .wqe = resp->rwqe,
				  .len = 1u << qp->rq_stride_log},
		};
		nm_observe(qp->obj.nic, &ev);
	}
	parse(qp);
	resp->rq_ci++;
	return 0;
}
