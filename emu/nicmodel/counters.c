/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: their names, and whose they are. What counts does so where it happens (NM_COUNT). */
#include "emu/nicmodel/nm_obj.h"

#define ROW_(name, what) {#name, what, offsetof(struct nm_counters, name)},
const struct nm_counter_row nm_counter_rows[NM_NCOUNTERS] = {NM_COUNTERS(ROW_)};

void nm_qp_choose_set(struct nm_qp *qp)
{
	struct nm_nic *nic = qp->obj.nic;
	uint32_t id = PRM_GET(qpc, qp->qpc, counter_set_id);
	struct nm_qcounter *set =
		id ? (struct nm_qcounter *)nm_obj_get(nic, NM_OBJ_QCOUNTER, id) : NULL;

	qp->counter_set = set ? &set->counters : &nic->no_set;
}

void nm_qcounter_forget(struct nm_nic *nic, const struct nm_qcounter *set)
{
	const struct nm_table *t = &nic->table[NM_OBJ_QP];

	for (uint32_t i = 0; i < t->cap; i++) {
		struct nm_qp *qp = (struct nm_qp *)t->slot[i];

		if (qp && qp->counter_set == &set->counters)
			qp->counter_set = &nic->no_set;
	}
}

static const struct {
	uint8_t syndrome; /* enum prm_cqe_syndrome */
	size_t off;
} by_syndrome[] = {
	{PRM_SYND_LOCAL_LENGTH, offsetof(struct nm_counters, cqes_local_length)},
	{PRM_SYND_LOCAL_QP_OP, offsetof(struct nm_counters, cqes_local_qp_op)},
	{PRM_SYND_LOCAL_PROT, offsetof(struct nm_counters, cqes_local_prot)},
	{PRM_SYND_WR_FLUSH, offsetof(struct nm_counters, cqes_flush)},
	{PRM_SYND_MW_BIND, offsetof(struct nm_counters, cqes_mw_bind)},
	{PRM_SYND_BAD_RESP, offsetof(struct nm_counters, cqes_bad_resp)},
	{PRM_SYND_LOCAL_ACCESS, offsetof(struct nm_counters, cqes_local_access)},
	{PRM_SYND_REMOTE_INVAL_REQ, offsetof(struct nm_counters, cqes_remote_inval_req)},
	{PRM_SYND_REMOTE_ACCESS, offsetof(struct nm_counters, cqes_remote_access)},
	{PRM_SYND_REMOTE_OP, offsetof(struct nm_counters, cqes_remote_op)},
	{PRM_SYND_RETRY_EXC, offsetof(struct nm_counters, cqes_retry_exc)},
	{PRM_SYND_RNR_RETRY_EXC, offsetof(struct nm_counters, cqes_rnr_retry_exc)},
};

static size_t counter_of(uint8_t syndrome)
{
	for (size_t i = 0; i < sizeof(by_syndrome) / sizeof(by_syndrome[0]); i++)
		if (by_syndrome[i].syndrome == syndrome)
			return by_syndrome[i].off;
	return offsetof(struct nm_counters, cqes_other);
}

/* A CQE adds the same to whoever counts it. */
static void add_cqe(struct nm_counters *n, uint8_t opcode, uint8_t syndrome)
{
	bool flush = syndrome == PRM_SYND_WR_FLUSH;

	n->cqes++;
	if (opcode == PRM_CQE_REQ_ERR) {
		n->req_cqe_error++;
		n->req_cqe_flush_error += flush;
	} else if (opcode == PRM_CQE_RESP_ERR) {
		n->resp_cqe_error++;
		n->resp_cqe_flush_error += flush;
	} else {
		n->cqes_ok++;
		return;
	}
	++*(uint64_t *)((uint8_t *)n + counter_of(syndrome));
}

void nm_count_cqe(struct nm_nic *nic, uint32_t qpn, uint8_t opcode, uint8_t syndrome)
{
	struct nm_qp *qp = (struct nm_qp *)nm_obj_get(nic, NM_OBJ_QP, qpn);

	add_cqe(&nic->counters, opcode, syndrome);
	if (!qp)
		return;
	add_cqe(&qp->counters, opcode, syndrome);
	add_cqe(qp->counter_set, opcode, syndrome);
}

uint32_t nm_nic_qps(const struct nm_nic *nic, uint32_t from, struct nm_qp_info *infos, uint32_t max)
{
	const struct nm_table *t = &nic->table[NM_OBJ_QP];
	uint32_t n = 0;

	for (uint32_t i = from > t->first ? from - t->first : 0; i < t->cap && n < max; i++) {
		const struct nm_qp *qp = (const struct nm_qp *)t->slot[i];

		if (!qp)
			continue;
		infos[n++] = (struct nm_qp_info){.qpn = qp->obj.number,
						 .remote_qpn = qp->remote_qpn,
						 .st = qp->st,
						 .state = qp->state,
						 .counters = &qp->counters};
	}
	return n;
}
