/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: RMPs, SRQs and XRC SRQs are one object with one range of numbers. Their
 * numbers carry the process's prefix like QPNs, so that one of another process is not mistaken for
 * ours.
 *
 * A message of any QP takes the WQE at the head. Reading it may take time (a space that copies),
 * and then the read is the queue's own, not that QP's: whichever QP asks next finds it done, so the
 * end of a QP loses nothing.
 */
#ifndef GDAKIT_SRQ_H
#define GDAKIT_SRQ_H

#include "emu/nicmodel/rc.h"

enum nm_srq_kind { NM_SRQ_RMP, NM_SRQ_BASIC, NM_SRQ_XRC };

enum {
	NM_LOG_SRQ_MAX = 15,	   /* log_max_srq_sz */
	NM_LOG_SRQ_STRIDE_MIN = 4, /* srqc.log_rq_stride counts from 16 bytes */
	NM_LOG_SRQ_STRIDE_MAX = 11,
	NM_SRQ_NEXT_SEG = 16, /* bytes; at 2: index of the next WQE (PRM, SRQ WQE) */
};

struct nm_xrcd {
	struct nm_obj obj;
};

struct nm_srq {
	struct nm_obj obj;
	enum nm_srq_kind kind;
	struct nm_mem mem;
	struct nm_umem *umem, *dbr_umem;
	struct nm_dbr dbr; /* word 0: WQEs ever posted */
	struct nm_pd *pd;
	struct nm_cq *cq; /* XRC: where its receives complete; else NULL, the QP's does */
	struct nm_xrcd *xrcd;
	uint32_t pdn, user_index;
	uint8_t log_size;   /* WQEs */
	uint8_t log_stride; /* bytes */
	bool cyclic;	    /* ring order, and no next segment in a WQE */

	uint16_t posted, taken; /* counters */
	uint32_t head;	/* slot of the next WQE; beyond the ring: the last link was broken */
	uint16_t limit; /* an event is due when fewer are left; 0: not armed */
	bool dead;	/* unusable: SRQ_CATAS_ERROR was raised */
	bool fetching;	/* the read of the WQE at the head is under way */
	bool fetched;	/* and is done */
	struct rc_xfer xfer;
	uint8_t wqe[RC_RWQE_MAX];

	bool busy; /* on nic->busy_srqs: the record is to be looked at for the limit */
	struct nm_srq *busy_next;
	uint8_t ctx[PRM_rmpc_SIZE]; /* as created, for QUERY */
};

/* A limit was set: the event comes at once if fewer are posted. */
void nm_srq_arm(struct nm_srq *srq, uint16_t limit);
/* Ends its transfers; messages that hold one of its WQEs lose it and will be refused. Before
 * destroy. */
void nm_srq_detach(struct nm_srq *srq);

#endif
