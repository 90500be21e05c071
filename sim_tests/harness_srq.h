/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues for tests of the transport: a list of WQEs that is kept as libraries keep
 * it. */
#ifndef GDAKIT_HARNESS_SRQ_H
#define GDAKIT_HARNESS_SRQ_H

#include "sim_tests/harness.h"

enum { HX_SRQ_STRIDE = 64, HX_XRC_USER_INDEX = 0xdef000 };

struct hx_srq_attr {
	uint16_t create;  /* PRM_CMD_CREATE_RMP (0), _SRQ, _XRC_SRQ */
	uint8_t log_size; /* 0: 3 */
	bool cyclic;
	uint32_t pd; /* 0: the NIC's */
	uint32_t xrcd;
	struct hx_cq *cq;
};

struct hx_srq {
	struct hx *h;
	uint32_t nic, number;
	struct hx_srq_attr attr;
	uint8_t *ring;
	uint32_t *dbr;
	uint32_t size;
	uint32_t head, tail; /* of the list of free WQEs; the one at the tail is never posted */
	uint16_t posted;
};

/* Fills h->in for CREATE; returns the mailbox's length. */
size_t hx_srq_mailbox(struct hx *h, uint32_t nic, const struct hx_srq_attr *attr, void *ring,
		      void *dbr);
struct hx_srq *hx_srq(struct hx *h, uint32_t nic, const struct hx_srq_attr *attr);
/* Posts at the head of the free list; returns the WQE's index. */
uint16_t hx_srq_recv(struct hx_srq *srq, const struct hx_sge *sge, uint8_t nsge);
void hx_srq_free(struct hx_srq *srq, uint16_t idx); /* a completed WQE */
void hx_srq_link(struct hx_srq *srq, uint32_t idx, uint16_t next);
uint8_t hx_srq_arm(struct hx_srq *srq, uint16_t limit);
uint8_t hx_srq_destroy(struct hx_srq *srq);
/* state and limit as QUERY tells them */
void hx_srq_query(struct hx_srq *srq, uint32_t *state, uint32_t *limit);

#endif
