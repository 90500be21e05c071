/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of queues share: engine_verbs.c and engine_modify.c. */
#ifndef GDAKIT_ENGINE_VERBS_H
#define GDAKIT_ENGINE_VERBS_H

#include <criterion/criterion.h>

#include "engine_fake.h"
#include "verbs.h"

/* Opcodes and places in mailboxes, from the PRM and not from the library's own description of it.
 */
enum {
	CREATE_CQ = 0x400,
	CREATE_QP = 0x500,
	RST2INIT = 0x502,
	INIT2RTR = 0x503,
	RTR2RTS = 0x504,
	RTS2RTS = 0x505,
	TO_ERR = 0x507,
	TO_RST = 0x50a,
	INIT2INIT = 0x50e,
	CREATE_RMP = 0x90c,
	QPC = 0x18,	   /* in a QP mailbox */
	PATH = QPC + 0x18, /* primary address path */
};

static inline void nothing_lives(void)
{
	cr_assert_eq(fake.objects, 0);
	cr_assert_eq(fake.umems, 0);
	cr_assert_eq(fake.uars, 0);
	cr_assert_eq(fake.ahs, 0);
	cr_assert_eq(fake.blocks, 0);
}

static inline struct doca_verbs_cq *make_cq(uint32_t size)
{
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_cq *cq = NULL;

	cr_assert_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, size);
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
	return cq;
}

static inline struct doca_verbs_qp_init_attr *qp_init(struct doca_verbs_cq *cq)
{
	struct doca_verbs_qp_init_attr *attr;

	cr_assert_eq(doca_verbs_qp_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_pd(attr, &fake_pd);
	doca_verbs_qp_init_attr_set_send_cq(attr, cq);
	doca_verbs_qp_init_attr_set_sq_wr(attr, 64);
	doca_verbs_qp_init_attr_set_send_max_sges(attr, 1);
	return attr;
}

static inline struct doca_verbs_qp *make_qp(struct doca_verbs_cq *cq)
{
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_qp *qp = NULL;

	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_destroy(attr);
	return qp;
}

static inline void drop_queues(struct doca_verbs_qp_init_attr *attr, struct doca_verbs_qp *qp,
			       struct doca_verbs_cq *cq)
{
	cr_assert_eq(doca_verbs_qp_init_attr_destroy(attr), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_qp_destroy(qp), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_cq_destroy(cq), DOCA_SUCCESS);
}

#endif
