/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands and the main loop ask of completion and event queues. */
#ifndef GDAKIT_NM_CQ_H
#define GDAKIT_NM_CQ_H

#include "emu/nicmodel/nm_obj.h"

/* CQE64 offsets (PRM, completion queue entry formats). */
enum {
	PRM_CQE_FLAGS_RQPN = 24,
	PRM_CQE_SLID = 22,
	PRM_CQE_UIDX = 32,
	PRM_CQE_IMM = 36,
	PRM_CQE_BYTE_CNT = 44,
	PRM_CQE_TIMESTAMP = 48,
	PRM_CQE_VENDOR_SYND = 54,
	PRM_CQE_SYNDROME = 55,
	PRM_CQE_SOP_QPN = 56,
	PRM_CQE_WQE_COUNTER = 60,
	PRM_CQE_OP_OWN = 63,
};

/* EQE offsets (PRM, event queue entry format). */
enum {
	PRM_EQE_TYPE = 0x01,
	PRM_EQE_SUB_TYPE = 0x03,
	PRM_EQE_DATA = 0x20,
	PRM_EQE_CQ_ERR_SYNDROME = 0x2b,
	PRM_EQE_RES_TYPE = 0x34,
	PRM_EQE_NUMBER = 0x38, /* completion: CQN; QP events: QPN */
	PRM_EQE_OWNER = 0x3f,
};

/* After CREATE filled in geometry, memory and record: decides how entries are written. 0, -ENOMEM.
 */
int nm_cq_start(struct nm_cq *cq);
/* Before the struct is freed: ends transfers and leaves the main loop's list. */
void nm_cq_stop(struct nm_cq *cq);
bool nm_cqs_progress(struct nm_nic *nic); /* true if something moved */
/* When the next event that moderation holds back is due; UINT64_MAX: none is. */
uint64_t nm_cqs_held_until(const struct nm_nic *nic);
/*
 * MODIFY_CQ, resize: ends the ring with a RESIZE_CQ entry and goes on in `mem`, which becomes the
 * old one, for the caller to release. 0; -ENOSPC: the CQEs not consumed do not fit; -EFAULT: ring
 * or record are gone, or the queue is dead; -ENOMEM. Nothing has changed then but that the queue
 * may have died.
 */
int nm_cq_resize(struct nm_cq *cq, struct nm_mem *mem, uint8_t log_size);

int nm_eq_start(struct nm_eq *eq); /* 0, -ENOMEM */
void nm_eq_stop(struct nm_eq *eq);
bool nm_eqs_progress(struct nm_nic *nic);

#endif
