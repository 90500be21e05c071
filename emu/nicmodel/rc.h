/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable connection: what one QP keeps for its transport.
 *
 *   requester (rc_req.c, rc_ack.c)          responder (rc_resp.c, rc_exec.c, rc_reply.c)
 *
 *   ring -> fetch -> decode -> packets      packets -> PSN, sequence -> operation -> memory
 *   ACKs, responses -> una -> CQEs          replies <- ack, nak, reads and atomics to answer
 *
 * nm_nic_receive() only changes state and memory; everything that is sent leaves from
 * nm_qp_progress(), so a link may deliver at once and even a QP connected to itself cannot recurse.
 *
 * The requester names its WQEs by sequence numbers that run freely:
 *
 *        tail          una_seq        cur         head
 *   -------|--------------|------------|-----------|----->
 *    done  | acknowledged,| sent, maybe| decoded,  | not fetched
 *          | data arriving| to be sent | not sent  |
 *                           again
 *
 * A WQE with a syndrome stops `cur`; its error CQE is written when it is the oldest, and then the
 * QP goes to ERR. Transfers of copy-only spaces are state (struct rc_xfer): whoever needs one
 * returns -EINPROGRESS up to nm_qp_progress() and is called again.
 *
 * Guarded by the NIC's owner, like everything here.
 */
#ifndef GDAKIT_RC_H
#define GDAKIT_RC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nicmodel/nm_obj.h"
#include "emu/nicmodel/roce.h"
#include "emu/nicmodel/wqe.h"

enum {
	RC_WINDOW = 512,       /* PSNs of SEND and WRITE in flight */
	RC_ACK_EVERY = 128,    /* at least so often an ACK is asked for: a quarter of the window */
	RC_PSN_SPAN = 1 << 23, /* PSNs that may be outstanding at all (IBTA 9.7.1) */
	RC_CHUNK = 64 * 1024,  /* bytes of a message that a copy-only space delivers at once */
	RC_TURN = 64,	       /* packets, WQEs or operations in one go before others have a turn */
	RC_FETCH_BBS = 16,     /* WQEBBs fetched at once */
	RC_QUEUE_MAX = 1024,   /* packets that wait for a copy-only space; two windows */
	RC_RECV_SGES = 64,
	RC_RNR_NONE = 0xff,
	RC_RWQE_MAX = 2048, /* bytes of a receive WQE: the largest stride that the field can say */
};

enum {
	RC_LINK_RETRY_NS = 1000,
	RC_REFETCH_NS = 1000,	      /* between two looks at a WQE that is not there yet */
	RC_REFETCH_LIMIT_NS = 100000, /* rings in host memory can trail the doorbell */
	RC_ERR_RQ_POLL_NS = 1000000,  /* receive WQEs posted in ERR ring no doorbell */
	RC_TIMEOUT_FACTOR = 2,	      /* IBTA 9.7.6.1.3: a time-out lies between T and 4 T */
};

/* Transfer between the NIC's memory and a region or key; one user each. */
struct rc_xfer {
	struct nm_dma *dma; /* while busy */
	struct nm_space *space;
	struct nm_mkey *mkey; /* NULL: a ring */
	struct nm_qp *qp;
	struct nm_link link; /* while busy, with a key: of nic->key_xfers */
	bool busy;
	bool lost; /* the key was destroyed under it, or means other memory by now */
	/* What of a key comes after the part under way. */
	uint32_t left;
	uint64_t va;
	uint8_t *local;
};

/* A send WQE between its decoding and its completion. */
struct rc_swqe {
	uint64_t len;
	uint32_t first_psn;
	uint32_t npsn; /* 0: sends nothing */
	uint16_t wqe_idx;
	uint8_t nbb, opcode, kind, ce, fence;
	bool se;
	bool issued;	  /* READ, atomic: counts against max_rd_atomic */
	bool executed;	  /* UMR: has changed its key; not again when packets before it are */
	uint16_t landing; /* scatters of its response under way */
	uint8_t syndrome; /* not 0: fails */
	uint8_t cause;	  /* enum rc_cause */
};

/* Why an error CQE is written; rc_cpl.c has syndrome, vendor code and source for each. */
enum rc_cause {
	RC_CAUSE_NONE,
	RC_CAUSE_FLUSH,
	RC_CAUSE_WQE,	 /* malformed */
	RC_CAUSE_LENGTH, /* message too long */
	RC_CAUSE_LKEY,	 /* key refused */
	RC_CAUSE_MEMORY, /* key fine, memory gone */
	RC_CAUSE_BIND,	 /* a key may not be changed so */
	RC_CAUSE_RETRY,
	RC_CAUSE_RNR_RETRY,
	RC_CAUSE_NAK_INV_REQ,
	RC_CAUSE_NAK_ACCESS,
	RC_CAUSE_NAK_OP,
	RC_CAUSE_BAD_RESP,
	RC_CAUSE_RECV_LENGTH,
	RC_CAUSE_RECV_LKEY,
	RC_CAUSE_RECV_WQE,
	RC_CAUSE_RECV_INV_REQ,
	RC_CAUSE_RECV_ACCESS,
	RC_CAUSE_RECV_INVALIDATE,
	RC_CAUSES
};
struct rc_error {
	uint8_t syndrome, vendor_err;
	const char *source;
};
extern const struct rc_error rc_errors[RC_CAUSES];

/* Where in a WQE's data list a byte of its message is. */
struct rc_cursor {
	uint32_t ow;	  /* octoword of the segment that holds it */
	uint64_t off;	  /* of the message */
	uint64_t seg_off; /* of the message, where that segment begins */
};

struct rc_req {
	struct nm_sq_ring ring; /* the NIC's copy */
	const uint8_t *flat;	/* the program's ring, if mapped */
	uint16_t pi;		/* producer, WQEBBs */
	uint16_t fetched;	/* WQEBBs before it are in the copy */
	uint16_t next_idx;	/* first WQEBB of the next WQE to decode */
	uint16_t ci;		/* first WQEBB that is not done */
	bool db_seen;		/* the doorbell record is to be read */
	bool db_reading;	/* that read is under way */
	bool db_again;		/* and a ring came since it began */
	bool sweep;		/* no_dbr: look for WQEs that nobody rang for */
	bool sweep_again;	/* and from the start: a sweep came during a peek */
	uint64_t refetch_since; /* 0: no WQE is awaited */
	uint64_t refetch_ns;
	struct rc_xfer fetch;
	uint16_t fetch_bbs; /* under way */
	uint8_t peek[NM_OCTOWORD];
	bool peeking; /* the fetch transfer is a peek */

	struct rc_swqe *wq; /* ring.bbs entries */
	uint32_t tail, una_seq, cur, head;
	uint32_t rd_out;   /* READs and atomics issued and not done */
	uint32_t una;	   /* oldest PSN not acknowledged */
	uint32_t snd_psn;  /* next to send */
	uint32_t max_psn;  /* one beyond the highest that was ever sent */
	uint32_t next_psn; /* of the next WQE to be decoded */
	uint32_t sqd_seq;  /* SQD: no WQE from here on may begin */
	bool sqd_drained;
	bool flushing; /* in ERR: WQEs become flush CQEs */
	bool error_reported;

	struct nm_wr wr; /* of cur */
	bool wr_valid;
	uint32_t wr_seq;
	struct rc_cursor gather;
	/* copy-only, or too many pieces: the message passes through a buffer */
	bool through_bounce;
	uint8_t *bounce; /* RC_CHUNK bytes, allocated when first needed */
	uint64_t bounce_off;
	uint32_t bounce_len, bounce_want, bounce_moving;
	struct rc_cursor fill;
	struct rc_xfer fill_xfer; /* or of the list that a UMR's data segment names */
	uint8_t *umr_list;	  /* being read; else NULL */

	/* READ and atomic responses */
	struct nm_wr rwr;
	bool rwr_valid;
	uint32_t rwr_seq;
	struct rc_cursor scatter;
	struct rc_landing *landings, **landings_tail, *landings_free;
	uint32_t nlandings;
	struct rc_xfer land_xfer;

	struct nm_cq *waiting_on; /* WAIT: on its list of waiters */
	struct nm_qp *wait_next;

	uint8_t retry_left, rnr_left;
	bool progressed;	/* una moved: the timer starts again */
	bool implied;		/* an implied NAK was answered by going back; until una moves */
	uint64_t deadline_ns;	/* retransmission; 0: not running */
	uint64_t sent_mark;	/* nm_packet.mark of the last request; 0: none */
	bool held;		/* it has been said that the other end does not take what is sent */
	uint64_t rnr_until_ns;	/* 0: not waiting */
	uint8_t rnr_timer;	/* set by receive, taken by progress */
	uint64_t link_retry_ns; /* 0: the link is open */
};

/* Part of a response on its way into a copy-only space. */
struct rc_landing {
	struct rc_landing *next;
	uint32_t seq; /* its WQE */
	uint32_t lkey;
	uint64_t va;
	uint32_t len;
	uint8_t bytes[NM_MTU_MAX];
};

/* Operands of an atomic; the plain ones are the masked ones with trivial masks. */
struct rc_atomic {
	bool add;
	uint32_t bytes;
	uint64_t operand; /* what is added or swapped in */
	uint64_t compare;
	uint64_t swap_mask;
	uint64_t compare_mask; /* add: where a carry stops */
};

/* One request packet that the responder accepted: it is executed at once or queued. */
struct rc_op {
	struct rc_op *next;
	const struct roce_op *info;
	uint8_t opcode;
	bool se, ackreq;
	uint8_t prev_open; /* rc_resp.open before this packet */
	uint8_t stage;
	bool moving;	 /* the scatter transfer is this operation's */
	const char *bad; /* refused: what is wrong with its headers; NULL: fine */
	uint32_t psn, npsn;
	uint32_t imm, rkey, dma_len;
	uint32_t message; /* unreliable: which one it belongs to */
	uint32_t src_qpn;
	uint8_t cqe_flags; /* UD: the byte above the source QPN */
	uint16_t slid;	   /* UD, InfiniBand */
	uint32_t srqn;	   /* XRC: the queue that it is for */
	uint32_t pdn;	   /* of the remote key */
	uint64_t va;
	struct rc_atomic atomic;
	uint32_t len;	  /* bytes to be placed: what stands before the payload, payload */
	uint32_t pre_len; /* UD: the GRH; else 0 */
	uint8_t pre[40];
	uint32_t done;		     /* of them placed */
	const struct nm_packet *pkt; /* while it is being received */
	uint8_t *bytes;		     /* else: own copy of the payload */
	uint32_t room;		     /* bytes of that copy, NM_MTU_MAX at least */
};

/* A READ or atomic that may have to be answered again. */
struct rc_rd {
	bool valid, pending, replay, atomic;
	uint32_t psn, npsn;
	uint32_t from_psn; /* where the answer under way begins */
	uint32_t cur_psn;
	uint32_t end_psn;
	uint64_t va;
	uint32_t rkey, len;
	uint32_t pdn;
	uint32_t msn;
	uint64_t result;
};

/* The receive WQE that is bound to the message under way, and whom its completion tells. */
struct rc_recv {
	bool have;
	uint16_t wqe_idx; /* what the CQE's wqe_counter says */
	uint32_t pdn;	  /* of its keys */
	struct nm_cq *cq;
	uint32_t user_index;
	struct nm_srq *srq; /* whose it is; NULL: the QP's own */
	uint8_t nsge, sge;
	uint32_t sge_off;
	uint64_t total, got;
	struct rc_recv_sge {
		uint64_t va;
		uint32_t lkey, len;
	} * sges; /* stays with the QP; room for as many as one has had, at most RC_RECV_SGES */
	uint32_t sge_room;
};

/*
 * Where a QP's receive WQEs come from. All functions are of one QP; one that receives nothing has
 * them, too.
 */
struct rc_recv_ops {
	/* Binds the next one (rc_recv_bind): codes of rc_recv_take(). */
	int (*take)(struct nm_qp *qp);
	/* The QP ends the transfers that are its own. */
	void (*cancel)(struct nm_qp *qp);
	/* The QP is in ERR: completes what will not be used, at most *left of them. */
	void (*flush)(struct nm_qp *qp, uint32_t *left);
};
extern const struct rc_recv_ops rc_recv_none;	/* rc_recv.c */
extern const struct rc_recv_ops rc_recv_own;	/* rc_rq.c: the QP's own queue */
extern const struct rc_recv_ops rc_recv_shared; /* rc_srq.c */

struct rc_resp {
	uint32_t epsn; /* expected */
	uint32_t xpsn; /* everything before it is executed */
	uint32_t msn;
	uint8_t open; /* RF_SEND or RF_WRITE while a message is incomplete */
	bool established;
	bool dead;     /* a fatal NAK is due or sent */
	bool silent;   /* out of sequence or RNR: no NAK until the expected PSN comes */
	bool overflow; /* packets were dropped because the queue was full */
	bool ack_due;
	bool nak_due;
	uint8_t nak_syndrome;
	uint32_t nak_psn;
	uint8_t cause; /* enum rc_cause, of the fatal NAK */
	uint8_t event; /* EQE type if no receive WQE is bound */
	/* unreliable: messages begun, and the one whose packets are dropped */
	uint32_t message, lost_message;
	bool lost_valid;

	/* WRITE under way */
	uint64_t w_va, w_len;
	uint32_t w_rkey;
	uint64_t w_left;

	struct rc_recv recv;
	uint32_t srqn;	    /* shared queue: the QP's, with XRC the message's */
	bool recv_lost;	    /* the queue was destroyed that a message under way has its WQE from */
	bool last_wqe_told; /* in ERR: that none of its WQEs is held any more */
	uint16_t rq_ci, rq_pi; /* rc_rq.c, as all up to rq_xfer */
	bool rq_fetching;
	uint8_t *rwqe; /* one stride */
	struct rc_xfer rq_xfer;

	struct rc_op *queue, **queue_tail, *queue_free;
	uint32_t nqueue;
	struct rc_xfer xfer;	   /* of the operation at the queue's head */
	struct nm_qp *atomic_next; /* rc_atomic.c: whose turn is after this QP's */
	bool atomic_queued;

	struct rc_rd *rds; /* max_dest_rd_atomic entries, or NULL before the first READ or atomic */
	uint32_t nrds, rd_next;
	uint8_t *bounce;		  /* of the READ that is being answered */
	uint32_t bounce_psn, bounce_npsn; /* PSNs it holds; npsn 0: nothing */
	uint32_t bounce_rd;		  /* of which entry */
	struct rc_xfer rd_xfer;
	uint64_t flush_poll_ns; /* in ERR: next look at the RQ's record */
};

/*
 * What is a transport service's own. Hooks that a service does not have are NULL where a comment
 * says so. `request` and `respond` are the send and the receive queue's turns; the rest of a turn
 * (order, states) is qp.c's and the same for all.
 */
struct nm_service {
	const char *name;
	uint8_t opcode_base; /* what its BTH opcodes add to the reliable connection's */
	bool reliable;	     /* acknowledged and repeated; else a packet that is sent is done */
	bool connected;	     /* has one peer and hears only it */
	uint32_t fatal;	     /* unreliable: set of enum rc_cause that are the receive WQE's fault */
	uint8_t wqe_st;	     /* enum prm_qp_st whose WQEs it takes */
	bool driver_only;    /* not for a user context */
	bool any_pd;	     /* its WQEs may change keys of every PD, and move them to another */
	bool srq_by_packet;  /* each request names the shared queue it is for: XRC */
	/* The packet of a SEND or WRITE at byte `off`: 0; -EAGAIN, -EINPROGRESS; -EPERM: failed. */
	int (*send)(struct nm_qp *qp, struct rc_swqe *w, uint64_t off);
	void (*request)(struct nm_qp *qp);
	void (*respond)(struct nm_qp *qp);
	void (*reply)(struct nm_qp *qp);   /* may be NULL */
	void (*timeout)(struct nm_qp *qp); /* may be NULL */
	/* A packet of this service for this QP, in a state that receives. */
	void (*receive)(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);
	/* rc_refuse() told why the request with this PSN is not executed. */
	void (*refused)(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause);
	/* Each time before a request is executed: 0, or it was refused. May be NULL. */
	int (*admit)(struct nm_qp *qp, struct rc_op *op);
	/* A request needs a receive WQE and there is none. */
	void (*not_ready)(struct nm_qp *qp, const struct rc_op *op);
};
/* The row of an enum prm_qp_st; NULL: not modelled. */
const struct nm_service *nm_service_of(uint8_t st);

struct nm_rc {
	struct nm_qp *qp;
	uint64_t now_ns;      /* of this turn */
	uint64_t deadline_ns; /* when the turn is to end */
	bool fatal;   /* the CQ died or a ring is unreadable: ERR with an event at the next turn */
	bool moved;   /* something happened in this turn */
	bool polling; /* a transfer is to be polled for */
	const struct rc_recv_ops *recv_ops;
	struct rc_req req;
	struct rc_resp resp;
};

/* ---- rc_xfer.c ---- */

/* From or to mapped memory of a space: 0, -EFAULT. */
int rc_copy(const struct nm_space *space, void *to, const void *from, uint32_t len);
/* Is a mapped piece (of at least a byte) still there? */
bool rc_there(const struct nm_space *space, const void *ptr, uint32_t len);
/* [off, off+len) of a ring, mapped at `from`, to the NIC's memory: 0, -EFAULT. */
int rc_ring_copy(struct nm_qp *qp, const struct nm_mem *ring, const void *from, uint64_t off,
		 void *to, uint32_t len);
/* Before a piece of a checked key, mapped at ptr, travels by reference: 0, -EFAULT. */
int rc_touch_gather(struct nm_qp *qp, const struct nm_mkey *mkey, uint64_t va, const void *ptr,
		    uint32_t len);
/*
 * Payload [off, off+len) of a packet, or of `bytes` if not NULL, to mapped memory: 0, -EFAULT;
 * -ENODATA: see nm_packet.pull.
 */
int rc_copy_payload(const struct nm_space *space, void *to, const struct nm_packet *pkt,
		    const void *bytes, uint32_t off, uint32_t len);

/*
 * Moves len bytes between `local` and [va, va+len) of a checked key, or [off, off+len) of a ring.
 * 0, -EINPROGRESS (call rc_xfer_poll), -EFAULT. `local` must live until then.
 */
int rc_xfer_key(struct nm_qp *qp, struct rc_xfer *x, enum nm_purpose purpose, bool to_space,
		struct nm_mkey *mkey, uint64_t va, void *local, uint32_t len);
int rc_xfer_ring(struct nm_qp *qp, struct rc_xfer *x, const struct nm_mem *ring, uint64_t off,
		 void *local, uint32_t len);
int rc_xfer_poll(struct rc_xfer *x);
void rc_xfer_cancel(struct rc_xfer *x);

/* ---- rc_fetch.c: producer index, ring copy ---- */

/* A doorbell named a producer candidate for the SQ. */
void rc_req_candidate(struct nm_qp *qp, uint16_t index, const char *from);
/*
 * After a ring, or for a sweep of the page: the record (the slots, without a record) is to be read
 * as it is from now on. A read under way does not count.
 */
void rc_req_look(struct nm_qp *qp, bool sweep);
/* Reads the doorbell record if a ring or a sweep asked for it. 0, -EINPROGRESS. */
int rc_req_dbr(struct nm_qp *qp);
/* The WQE at next_idx is wholly in the copy: 0; -EAGAIN: nothing posted, or wait; -EINPROGRESS;
 * -EFAULT. */
int rc_req_fetch(struct nm_qp *qp);

/* ---- rc_data.c: the requester's side of payload ---- */

/*
 * Payload [off, off + *n) of cur's message into the packet; *n becomes one MTU where a train's
 * would have too many pieces. 0, -EINPROGRESS, or -EPERM with cause set.
 */
int rc_gather(struct nm_qp *qp, uint64_t off, uint32_t *n, uint8_t *cause);
/* Are all data segments of the WQE usable with `need`? */
bool rc_check_sges(struct nm_qp *qp, const struct nm_wr *wr, uint8_t need, uint8_t *cause);
void rc_gather_reset(struct nm_qp *qp);
/* Response bytes to the message offset off of the WQE seq. False: cause is set. */
bool rc_scatter(struct nm_qp *qp, uint32_t seq, uint64_t off, const struct nm_packet *pkt,
		const void *bytes, uint32_t len, uint8_t *cause);
bool rc_landings_run(struct nm_qp *qp); /* true: some are still under way */
void rc_landings_drop(struct nm_qp *qp);

/* ---- rc_req.c ---- */

void rc_req_start(struct nm_qp *qp, uint32_t psn);
int rc_send_data(struct nm_qp *qp, struct rc_swqe *w, uint64_t off); /* nm_service.send */
void rc_req_run(struct nm_qp *qp);
/* The send queue's turn, by packets of one service: `step` sends one, 0: go on. */
void rc_req_turn(struct nm_qp *qp, int (*step)(struct nm_qp *qp));
int rc_req_step(struct nm_qp *qp);
/* Marks a WQE as failed; it reports when it is the oldest. */
void rc_req_fail(struct nm_qp *qp, uint32_t seq, uint8_t cause);
/* Send position := oldest unacknowledged PSN. */
void rc_req_seek(struct nm_qp *qp);

/* ---- rc_sqd.c ---- */

/* Into SQD: what has begun goes on, nothing else begins. */
void rc_sqd_enter(struct nm_qp *qp);
void rc_sqd_leave(struct nm_qp *qp);	   /* back to RTS */
bool rc_sqd_holds(const struct nm_qp *qp); /* cur may not begin */
void rc_sqd_check(struct nm_qp *qp);	   /* tells once when all that had begun is done */
bool rc_sqd_drained(const struct nm_qp *qp);

/* ---- rc_wait.c ---- */

/* 0: the CQE is there; -EAGAIN: the QP is on the CQ's list; -EPERM: no such CQ. */
int rc_wait(struct nm_qp *qp, uint32_t cqn, uint32_t index);
void rc_wait_end(struct nm_qp *qp);

/* ---- rc_umr.c ---- */

/* cur is a UMR: 0: the key is changed; -EINPROGRESS; -EPERM with cause set. */
int rc_umr(struct nm_qp *qp, uint8_t *cause);
void rc_umr_drop(struct nm_qp *qp); /* the list that is being read */

/* ---- rc_cpl.c ---- */

/* CQEs of the oldest WQEs, in order, up to one that failed. */
void rc_complete_good(struct nm_qp *qp);
/* And of that one; then the QP is in ERR (UC, UD: SQER). Only from nm_qp_progress(). */
void rc_complete(struct nm_qp *qp);
void rc_flush_run(struct nm_qp *qp);
/* In SQER: of the send queue alone. */
void rc_flush_sends(struct nm_qp *qp);
/* From SQER to RTS: what was taken from the ring is flushed, the next WQE begins anew. */
void rc_sqer_leave(struct nm_qp *qp);
void rc_tell_error(struct nm_qp *qp, const char *queue, uint16_t wqe_idx, uint8_t cause,
		   const char *to);
void rc_push(struct nm_cq *cq, const struct nm_cqe *cqe); /* NULL: nowhere */
void rc_push_recv_error(struct nm_qp *qp, struct nm_cq *cq, uint32_t user_index, uint16_t wqe_idx,
			uint8_t cause);
/* Of the WQE that is bound, which it is no longer then. */
void rc_fail_recv(struct nm_qp *qp, uint8_t cause);

/* ---- rc_ack.c ---- */

void rc_ack_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);
/* Is a train of so many READ responses, from this PSN on, the next of one READ? */
bool rc_ack_takes(const struct nm_qp *qp, uint32_t psn, uint32_t segs);
/* At the start of a turn: waits that are over, and an RNR NAK's that begins. */
void rc_begin_waits(struct nm_qp *qp);
void rc_timeout(struct nm_qp *qp);

/* ---- rc_resp.c, rc_exec.c, rc_recv.c, rc_rq.c, rc_reply.c ---- */

void rc_resp_start(struct nm_qp *qp, uint32_t psn);
void rc_resp_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);
void rc_resp_run(struct nm_qp *qp);
/* The first packet of a connection in RTR: an event. */
void rc_established(struct nm_qp *qp);
void rc_op_parse(const struct nm_qp *qp, const struct nm_packet *pkt, const struct roce_bth *bth,
		 struct rc_op *op);
/* Behind what waits, with a copy of the payload. False: no room. */
bool rc_enqueue(struct nm_qp *qp, const struct rc_op *op);
void rc_dequeue(struct nm_qp *qp); /* the oldest */
void rc_refused(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause);
void rc_not_ready(struct nm_qp *qp, const struct rc_op *op);
void rc_resp_drop(struct nm_qp *qp); /* queued operations and transfers */
/* 0 done, -EINPROGRESS, -ECANCELED: a NAK is due instead, -ENODATA: see nm_packet.pull. */
int rc_exec(struct nm_qp *qp, struct rc_op *op);
/* rc_atomic.c: operands from the header behind va and rkey; execution as rc_exec(). */
void rc_atomic_parse(struct rc_atomic *a, uint8_t opcode, const uint8_t *hdr);
int rc_exec_atomic(struct nm_qp *qp, struct rc_op *op);
/* The QP has no atomic under way any more: the next one may begin. */
void rc_atomic_leave(struct nm_qp *qp);
/* The next entry for a response; NULL: too many are outstanding, a NAK is due. */
struct rc_rd *rc_rd_take(struct nm_qp *qp, const struct rc_op *op);
/* Binds a receive WQE: 0, -EINPROGRESS, -EAGAIN (none posted), -EBADMSG (malformed). */
int rc_recv_take(struct nm_qp *qp);
/*
 * For rc_recv_ops.take: the list of data segments [segs, segs+len) belongs to the message from now
 * on. `to` has wqe_idx, pdn, cq and user_index.
 */
void rc_recv_bind(struct nm_qp *qp, const struct rc_recv *to, const uint8_t *segs, uint32_t len);
void rc_reply_run(struct nm_qp *qp);
void rc_reply_leave(struct nm_qp *qp); /* before it leaves RTR or RTS by a command */
/* The error is told to this side's program: by the receive WQE it hit, or else by an event; ERR. */
void rc_report_fatal(struct nm_qp *qp);
void rc_refuse(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* ---- unreliable.c, uc.c, ud.c ---- */

void ur_request(struct nm_qp *qp);
void ur_respond(struct nm_qp *qp);
void ur_refused(struct nm_qp *qp, uint32_t psn, uint8_t nak, uint8_t cause);
void ur_not_ready(struct nm_qp *qp, const struct rc_op *op);
void ur_accept(struct nm_qp *qp, struct rc_op *op);	/* executes or queues it */
void ur_lose(struct nm_qp *qp, const struct rc_op *op); /* its message */
void uc_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);
int ud_send(struct nm_qp *qp, struct rc_swqe *w, uint64_t off);
void ud_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);
/* ---- xrc.c ---- */

int xrc_admit(struct nm_qp *qp, struct rc_op *op);
void xrc_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);

/* ---- rc_link.c ---- */

void rc_receive(struct nm_qp *qp, struct nm_packet *pkt, const struct roce_bth *bth);

/* 0, or -EAGAIN: the link is full, try again later; -EFAULT: the payload's memory is gone. */
int rc_send(struct nm_qp *qp);
/* Starts a single packet in nic->tx; returns the place of the first extension header. */
uint8_t *rc_packet(struct nm_qp *qp, uint8_t opcode, bool se, uint32_t payload_len, bool ackreq,
		   uint32_t psn);

/*
 * Of `left` bytes of a message from here on: how many may travel as one train (or packet), if at
 * most `window` PSNs may. A train leaves with rc_train() after rc_packet().
 */
uint32_t rc_train_len(const struct nm_qp *qp, uint64_t left, uint32_t window);
void rc_train(struct nm_qp *qp);
/* PSNs of the packet or train in nic->tx. */
static inline uint32_t rc_tx_psns(const struct nm_qp *qp)
{
	return qp->obj.nic->tx.segs ? qp->obj.nic->tx.segs : 1;
}

/* ---- qp.c ---- */

bool rc_turn_over(const struct nm_qp *qp, uint32_t steps); /* looks at the clock now and then */
void rc_error_enter(struct nm_qp *qp);			   /* the transport's own way to ERR */

static inline bool rc_is_rd(const struct rc_swqe *w)
{
	return w->kind == NM_WR_READ || w->kind == NM_WR_ATOMIC;
}

static inline struct rc_swqe *rc_swqe_at(struct rc_req *req, uint32_t seq)
{
	return &req->wq[seq & (req->ring.bbs - 1)];
}

#endif
