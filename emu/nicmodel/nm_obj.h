/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the model: objects, and what its files offer each other.
 *
 *   cmd.c, cmd_*.c           mailboxes -> objects (table of commands)
 *   cap.c, cap_profile.c     QUERY_HCA_CAP (table of capabilities), SET_HCA_CAP
 *   cmd_hca.c                the function's own life: pages of the driver, reset
 *   prm_print.c              structures of the PRM as text
 *   obj.c                    numbers, owners, references
 *   mem.c                    page lists -> extents -> pointers or transfers; doorbell records
 *   mkey.c                   rights, bounds, translation
 *   mkey_list.c              keys over other keys
 *   cq.c, eq.c, ring.c       CQEs, arming, EQEs; entries on their way into a ring
 *   doorbell.c               UAR registers -> producer indices, arms
 *   srq.h                    shared receive queues, XRC domains
 *   wqe.c                    WQE bytes -> struct nm_wr
 *   qp.c                     states, the QP's turn
 *   rc_fetch.c               doorbell record and ring -> WQEs
 *   rc_req.c, rc_ack.c       requester: WQEs -> packets; ACKs, NAKs, responses, timers
 *   rc_data.c                requester: payload out of memory and back into it
 *   rc_wait.c                requester: WAIT for a CQE
 *   rc_sqd.c                 requester: the send queue drains
 *   rc_umr.c                 requester: keys bound and invalidated by WQEs
 *   rc_cpl.c                 completions, errors, flush
 *   rc_resp.c, rc_exec.c     responder: packets -> operations -> memory
 *   rc_recv.c                responder: the receive WQE of a message
 *   rc_rq.c, rc_srq.c        where it comes from: the QP's own queue, a shared one
 *   xrc.c                    responder: which shared queue a packet is for
 *   rc_atomic.c              responder: atomics
 *   rc_reply.c               responder: ACKs, NAKs, responses, replay
 *   unreliable.c             what UC and UD share; rc_*.c does the rest for them
 *   mcast.c                  multicast groups
 *   uc.c, ud.c               unreliable connection; datagrams
 *   service.c                what differs between transport services
 *   rc_link.c, rc_xfer.c     packets to and from the link; transfers of the transport
 *   roce.h, roce_ops.c       opcodes and their headers
 *   roce_wire.c              BTH and extension headers; whole frames
 *   crc32.c                  for the ICRC
 *   view.c                   queues as observers see them
 *   counters.c               of the port, of QPs, of counter sets
 *   nic.c                    create, progress, timers, observers
 *
 * Everything runs under the owner's lock (see nm.h); no function here is thread-safe.
 */
#ifndef GDAKIT_NM_OBJ_H
#define GDAKIT_NM_OBJ_H

#include "emu/nicmodel/nm.h"
#include "prm/prm.h"

/* ---- lists of which a member can leave at once ---- */

/* A member; `at` is what points to it, NULL while it is on no list. */
struct nm_link {
	struct nm_link *next, **at;
};

/* The struct whose `member` is *link; link may be NULL. */
#define NM_OF(link, type, member)                                                                  \
	((type *)(void *)((link) ? (uint8_t *)(link)-offsetof(type, member) : NULL))

/* Puts it before the first of a list. */
static inline void nm_link_add(struct nm_link **head, struct nm_link *link)
{
	assert(!link->at);
	link->next = *head;
	link->at = head;
	if (*head)
		(*head)->at = &link->next;
	*head = link;
}

/* Takes it off; on no list: nothing. */
static inline void nm_link_del(struct nm_link *link)
{
	if (!link->at)
		return;
	*link->at = link->next;
	if (link->next)
		link->next->at = link->at;
	*link = (struct nm_link){0};
}

/* ---- objects: numbers, owners, references (obj.c) ---- */

enum nm_obj_type {
	NM_OBJ_PD,
	NM_OBJ_UAR,
	NM_OBJ_TD,
	NM_OBJ_UCTX,
	NM_OBJ_UMEM,
	NM_OBJ_MKEY,
	NM_OBJ_EQ,
	NM_OBJ_CQ,
	NM_OBJ_QP,
	NM_OBJ_SRQ,
	NM_OBJ_XRCD,
	NM_OBJ_QCOUNTER,
	NM_OBJ_MEMIC,
	NM_OBJ_RESERVED_QPN, /* a run of QPNs that no QP gets (cmd_general.c) */
	NM_OBJ_TYPES
};

/*
 * Head of every object. The table of its type holds one reference; an object that uses another
 * holds one on it, so a destroy of something in use answers RES_BUSY (except a UAR page, which
 * leaves the table but lives as long as a queue uses it).
 */
struct nm_obj {
	enum nm_obj_type type;
	uint32_t number; /* pdn, page index, umem id, mkey index, eqn, cqn, qpn */
	uint16_t uid;	 /* owner; 0: privileged */
	uint32_t users;	 /* other objects that use this one */
	struct nm_nic *nic;
};

/* A dense table of one type: numbers from `first`, lowest free one next round-robin, so that a
 * number is not reused at once (a late packet for a dead QP must miss). */
struct nm_table {
	struct nm_obj **slot;
	uint32_t cap;	/* slots allocated */
	uint32_t first; /* number of slot 0 */
	uint32_t limit; /* most objects */
	uint32_t next;	/* where the search for a free slot begins */
	uint32_t count;
};

int nm_obj_add(struct nm_nic *nic, struct nm_obj *obj, enum nm_obj_type type,
	       uint16_t uid); /* 0, -ENOSPC, -ENOMEM */
/* With a number that was handed out before and is free: 0, -EEXIST, -ENOENT. */
int nm_obj_add_at(struct nm_nic *nic, struct nm_obj *obj, enum nm_obj_type type, uint16_t uid,
		  uint32_t number);
void nm_obj_remove(struct nm_nic *nic, struct nm_obj *obj); /* leaves the table; not freed */
/* NULL if there is none, or if `uid` may not name it (uid 0 may name all; a uid only its own). */
struct nm_obj *nm_obj_find(struct nm_nic *nic, enum nm_obj_type type, uint32_t number,
			   uint16_t uid);
/* Lookup from the data path: no owner check. */
struct nm_obj *nm_obj_get(const struct nm_nic *nic, enum nm_obj_type type, uint32_t number);

/* ---- memory of an object (mem.c) ---- */

struct nm_extent {
	uint64_t off;  /* offset in the region */
	uint64_t addr; /* bus address */
	uint64_t len;
	uint8_t *ptr; /* if the space maps it */
};

/* A region described by a page list: adjacent pages are merged, so most have one extent. */
struct nm_mem {
	struct nm_space *space;
	struct nm_extent *ext; /* sorted by off, without holes */
	uint32_t next;	       /* number of extents */
	uint64_t len;
	uint8_t *flat; /* pointer to the whole region if the space maps it and it is one extent */
};

/* Page list of a mailbox: big-endian addresses, low 12 bits are flags and ignored. Takes `len`
 * bytes from page_off in the first page. 0, -EINVAL (list too short), -ENOMEM. */
int nm_mem_init(struct nm_mem *mem, struct nm_space *space, const void *pas, uint32_t npas,
		uint8_t log_page, uint64_t page_off, uint64_t len);
/* A window of another region (umem): shares nothing, copies the extents. */
int nm_mem_window(struct nm_mem *mem, const struct nm_mem *of, uint64_t off, uint64_t len);
void nm_mem_fini(struct nm_mem *mem);
/* Pointer to [off, off+len) if it is mapped and contiguous, else NULL. */
void *nm_mem_ptr(const struct nm_mem *mem, uint64_t off, uint64_t len);
/* Appends the segments of [off, off+len) to segs; returns their number, or -E2BIG beyond max. */
int nm_mem_segs(const struct nm_mem *mem, uint64_t off, uint64_t len, struct nm_seg *segs,
		uint32_t max);
/* The same for as much of it as `max` segments hold: *took bytes. */
int nm_mem_part(const struct nm_mem *mem, uint64_t off, uint64_t len, struct nm_seg *segs,
		uint32_t max, uint64_t *took);

/* Starts a transfer, a point of NM_EV_DMA: codes of nm_space_ops.submit. qpn: 0 if no QP's. */
int nm_dma_start(struct nm_nic *nic, uint32_t qpn, struct nm_space *space, struct nm_dma *dma);

/* A doorbell record: two big-endian dwords. Mapped where possible, else read by transfer. */
struct nm_dbr {
	struct nm_space *space;
	uint64_t addr;
	volatile uint32_t *flat; /* NULL: copy-only */
	uint32_t cache[2];	 /* both words as they were last read, big endian */
	uint32_t incoming[2];	 /* where the transfer under way puts them */
	uint8_t asked;		 /* words (1 << word) that the transfer under way answers */
	uint8_t waiting;	 /* words asked for since it began: they need a later one */
	uint8_t ready;		 /* words that have been answered and not fetched */
	struct nm_dma *dma;	 /* NULL before the first transfer */
	bool busy;		 /* a read is under way */
};
int nm_dbr_init(struct nm_dbr *dbr, struct nm_space *space,
		uint64_t addr); /* 0, -EINVAL (alignment), -EFAULT */
/*
 * Word 0 or 1 in host order. Mapped: read now, 0 or -EFAULT. Copy-only: starts a read and returns
 * -EINPROGRESS until one that began after the first call has come in (call again), -EFAULT when the
 * record is gone.
 */
int nm_dbr_read(struct nm_nic *nic, struct nm_dbr *dbr, unsigned int word, uint32_t *value);
void nm_dbr_fini(struct nm_dbr *dbr); /* cancels a read under way */

/*
 * Entries on their way into a ring in memory that can only be copied to: CQEs and EQEs. Order is
 * kept; one transfer carries as many as fit. `done` is told of each entry once it is visible, or
 * failed.
 */
struct nm_ring_entry {
	struct nm_ring_entry *next;
	uint64_t off;	/* where in the region */
	uint32_t qpn;	/* CQE: whose */
	uint32_t index; /* producer counter of the entry */
	bool solicited;
	uint8_t bytes[64];
};

struct nm_ring_writer {
	struct nm_ring_entry *head, **tail;
	uint32_t in_flight; /* entries at the head that `dma` carries */
	struct nm_dma dma;
	uint8_t local[NM_DMA_MAX_SEGS / 2][64];
};

/* ---- simple objects ---- */

struct nm_pd {
	struct nm_obj obj;
};

/* A QP of a page as a sweep sees it: what it compares lies together, not in as many places as there
 * are QPs. */
struct nm_swept {
	const volatile uint32_t *record; /* of its SQ; NULL: its QP is to be looked at each time */
	struct nm_space *space;		 /* of the record */
	struct nm_qp *qp;
	uint32_t seen; /* the record as it was last read, big endian */
	bool asked;    /* it is going to be read: nothing to find */
};

struct nm_uar {
	struct nm_obj obj; /* number: page index from config.uar_base */
	uint8_t *page;	   /* 4096 bytes */
	bool freed;	   /* deallocated, but queues still use it */
	/* doorbell.c, all of it: queues on this page, and how it is looked at */
	struct nm_swept *qps; /* in no order */
	uint32_t nqps, qps_cap;
	struct nm_link *cqs;
	bool active, hot;	  /* some queue uses it; it is looked at each time */
	uint32_t place;		  /* among the hot or the cold ones */
	uint64_t rang_ns;	  /* when it last rang, or was first used */
	uint64_t sweep_ns;	  /* when its queues are swept by their records; 0: no ring since */
	bool sweeping;		  /* a sweep is under way: */
	uint32_t sweep_qp;	  /* the next ones it looks at: place in qps, */
	struct nm_link *sweep_cq; /* in the list */
	uint32_t swept, found;	  /* queues so far; and those that a lost ring was for */
	uint64_t sweep_after_ns;  /* from a ring to the next sweep */
	uint32_t losing;	  /* rings have been lost: so many sweeps more that need not wait */
};

struct nm_umem {
	struct nm_obj obj;
	struct nm_mem mem;
};

/* ---- device memory (cmd_memic.c) ---- */

struct nm_memic {
	struct nm_obj obj;
	uint64_t start; /* address in the BAR */
	uint64_t len;	/* bytes */
};

/* The memory itself, as a space whose addresses are the BAR's. */
struct nm_memic_space {
	struct nm_space space;
	uint8_t *base;
	uint64_t len; /* bytes */
};

void nm_memic_init(struct nm_nic *nic);
/* The allocation that holds all of [start, start+len); NULL: none does. */
struct nm_memic *nm_memic_find(struct nm_nic *nic, uint64_t start, uint64_t len);

/* ---- mkeys (mkey.c) ---- */

enum nm_access {
	NM_ACC_LR = 1 << 0,
	NM_ACC_LW = 1 << 1,
	NM_ACC_RR = 1 << 2,
	NM_ACC_RW = 1 << 3,
	NM_ACC_A = 1 << 4,
};

/*
 * An entry of a key over other keys (PRM, KLM): bytes [off, off+len) of the key are [va, va+len) of
 * `key`. In a list that repeats, va moves by `stride` each time.
 */
struct nm_klm {
	uint64_t off;
	uint64_t va;
	uint32_t key;
	uint32_t len; /* bytes */
	uint32_t stride;
};

struct nm_mkey {
	struct nm_obj obj; /* number: index; key = index << 8 | tag */
	uint8_t tag;
	uint8_t access; /* enum nm_access */
	uint8_t mode;	/* enum prm_mkc_access_mode */
	bool free;	/* bound to nothing: every access fails */
	bool length64;
	bool umr_en;	/* WQEs may change it */
	bool en_rinval; /* a SEND of the peer may invalidate it */
	bool any_pd;	/* the null key */
	uint32_t pdn;
	uint32_t qpn; /* 0xffffff: any */
	uint64_t start;
	uint64_t len;
	struct nm_mem mem;	/* modes MTT, MEMIC */
	struct nm_space *space; /* of its addresses: as its creator's */
	struct nm_umem *umem;
	struct nm_memic *memic; /* mode MEMIC */
	/* What WQEs change: translation entries as in the mailbox, and what they say (KLM, KSM). */
	uint8_t *xlt;
	uint32_t xlt_octwords; /* room, 16 bytes each */
	struct nm_klm *klm;    /* sorted by off, none is empty */
	uint32_t nklm;
	uint64_t klm_len;	   /* bytes they describe, one round */
	uint32_t klm_rounds;	   /* how often they repeat; 1 in a plain list */
	uint8_t mkc[PRM_mkc_SIZE]; /* as it is, for QUERY_MKEY */
};

/* The key that ibv_alloc_null_mr() gives: below the numbers of the table, so it costs a use of a
 * key that is there nothing. */
#define NM_NULL_MKEY 0x300u
/* Who asks by no PD and may use keys of every one: the driver's QP of type UMR. */
#define NM_PDN_ANY UINT32_MAX

enum nm_key_fault {
	NM_KEY_OK,
	NM_KEY_UNKNOWN, /* no such index */
	NM_KEY_TAG,	/* index exists, low byte differs */
	NM_KEY_FREE,
	NM_KEY_PD,
	NM_KEY_QPN,
	NM_KEY_RIGHT,
	NM_KEY_BOUNDS,
	NM_KEY_LIST, /* a list of keys ends too early, or nests too deep */
};

/*
 * May [va, va+len) be used through `key` with all rights of `need`, by a QP of PD pdn? On OK *mkey
 * is set. Else `why` (NM_WHY_MAX) gets a sentence with both sides: "mkey 0x1234 covers [0x10000,
 * 0x20000), access at 0x20010 length 64 for remote write". A length of 0 is always OK and *mkey is
 * NULL (IBTA C9-88).
 */
enum nm_key_fault nm_mkey_check(struct nm_nic *nic, uint32_t key, uint64_t va, uint64_t len,
				uint8_t need, uint32_t pdn, uint32_t qpn, struct nm_mkey **mkey,
				char *why);
/* Segments of a checked range; -E2BIG beyond max. */
int nm_mkey_segs(const struct nm_mkey *mkey, uint64_t va, uint64_t len, struct nm_seg *segs,
		 uint32_t max);
/*
 * Segments of the beginning of a checked range: as much as fits into `max` and lies in one space.
 * Returns their number, 0 if there is none (a key of a list is gone); *took bytes in *space.
 */
uint32_t nm_mkey_part(const struct nm_mkey *mkey, uint64_t va, uint64_t len, struct nm_seg *segs,
		      uint32_t max, uint64_t *took, struct nm_space **space);
/* Space of the memory behind va; NULL if a key of a list is gone. */
struct nm_space *nm_mkey_space(const struct nm_mkey *mkey, uint64_t va);
/* Pointer to a checked range if mapped and contiguous, else NULL. */
void *nm_mkey_ptr(const struct nm_mkey *mkey, uint64_t va, uint64_t len);
/*
 * A peer's SEND with invalidate, received by a QP of PD pdn: 0, or -EPERM with a sentence (not this
 * QP's, free already, not to be invalidated from afar).
 */
int nm_mkey_invalidate(struct nm_nic *nic, uint32_t key, uint32_t pdn, uint32_t qpn, char *why);
/* The fields of the data path from m->mkc. */
void nm_mkey_decode(struct nm_mkey *m);
/* The key's translation from m->xlt: NULL, or what is wrong with it. */
const char *nm_mkey_translate(struct nm_mkey *m);

void nm_null_mkey_init(struct nm_nic *nic);

/* Keys over other keys (mkey_list.c). */
enum { NM_KLM_DEPTH = 4 }; /* how deep they nest: max_indirection */
static inline bool nm_mkey_is_list(const struct nm_mkey *mkey)
{
	return mkey->mode == PRM_MKC_MODE_KLM || mkey->mode == PRM_MKC_MODE_KSM;
}
/* nm_mkey.klm from m->xlt; NULL, or what is wrong with the entries. */
const char *nm_klm_decode(struct nm_mkey *m);
/* The entry that holds va, as a piece that begins there; false beyond the list's end. */
bool nm_klm_piece(const struct nm_mkey *mkey, uint64_t va, struct nm_klm *piece);
/* Does the list, or one it names, name that key? */
bool nm_klm_names(const struct nm_mkey *list, const struct nm_mkey *mkey);

/* ---- event queues (eq.c) ---- */

struct nm_eq {
	struct nm_obj obj;
	struct nm_mem mem;
	uint8_t log_size;
	bool overrun_ignore;
	uint32_t producer, consumer; /* 24 bits */
	uint32_t intr;
	uint64_t event_mask; /* which asynchronous types */
	struct nm_uar *uar;
	struct nm_ring_writer *writer; /* copy-only ring; NULL when mapped or without a ring */
	struct nm_eq *busy_next;
	bool busy;
	uint8_t eqc[PRM_eqc_SIZE];
};

/* Completion event for one CQ; asynchronous events go to the EQs whose mask has the type. */
void nm_eq_completion(struct nm_nic *nic, uint32_t eqn, uint32_t cqn);
/* About a QP or an SRQ. For NM CQ errors: cqn and syndrome. */
void nm_eq_qp_event(struct nm_nic *nic, uint8_t type, uint32_t qpn);
void nm_eq_srq_event(struct nm_nic *nic, uint8_t type, uint32_t srqn);
void nm_eq_cq_error(struct nm_nic *nic, uint32_t cqn, uint8_t syndrome);
void nm_eq_doorbell(struct nm_nic *nic, uint32_t value); /* eqn << 24 | ci */
bool nm_eq_progress(struct nm_eq *eq); /* pending writes; true if something moved */

/* ---- completion queues (cq.c) ---- */

struct nm_cq {
	struct nm_obj obj;
	struct nm_mem mem;
	struct nm_umem *umem, *dbr_umem;
	struct nm_uar *uar;
	struct nm_link uar_link;
	struct nm_link *snd_qps, *rcv_qps; /* QPs that complete here: nm_qp.snd_link, rcv_link */
	struct nm_dbr dbr;		   /* word 0 consumer index, word 1 arm */
	uint8_t log_size;
	uint8_t cqe_sz; /* bytes: 64 or 128 */
	bool collapsed, overrun_ignore, always_armed;
	struct nm_eq *eq;
	uint32_t eqn;
	uint32_t producer; /* 24 bits used; counts also when collapsed */
	uint8_t arm_state; /* enum prm_cq_st or 0 */
	uint32_t arm_seen; /* last arm word seen, to find a change */
	uint32_t last_notified, last_solicited;
	bool dead;	     /* overrun or access violation */
	bool doomed;	     /* dead, and the QPs are still to be told: nm_cq_progress does */
	bool arm_pending;    /* the record of a copy-only space is being read for an arm */
	bool arm_again;	     /* and an arm came since that read began */
	uint32_t visible;    /* like producer: entries that the program can see */
	uint32_t consumer;   /* as last read from the record, 24 bits */
	bool consumer_stale; /* copy-only: the record is to be read before overrun is declared */
	uint32_t last_se;    /* index after the last visible CQE that is solicited or an error */
	bool any_se;
	struct nm_ring_writer *writer; /* copy-only ring; NULL when mapped */
	struct nm_cq *busy_next;
	bool busy;	       /* on nic->busy_cqs */
	struct nm_qp *waiters; /* rc_wait.c: QPs whose WAIT names this CQ */
	/* moderation, as the context says; nothing is held back if a period or count is 0 */
	uint64_t mod_period_ns;
	uint32_t mod_count;
	bool mod_from_cqe, mod_break;
	uint32_t held;	   /* CQEs whose event waits; not 0: on nic->held_cqs */
	uint64_t fired_ns; /* of the last event */
	uint64_t held_until_ns;
	struct nm_cq *held_next;
	uint8_t cqc[PRM_cqc_SIZE];
};

/* What a completion says; cq.c lays out the CQE. */
struct nm_cqe {
	uint8_t opcode; /* enum prm_cqe_opcode */
	bool solicited;
	uint32_t qpn;
	uint32_t user_index; /* 24 bits */
	uint8_t wqe_opcode;  /* requester */
	uint16_t wqe_counter;
	uint32_t byte_cnt;
	uint32_t imm; /* as on the wire, host order of the big-endian dword */
	uint32_t src_qpn;
	uint8_t src_flags;	      /* the byte above src_qpn: GRH, SL */
	uint16_t slid;		      /* InfiniBand, UD */
	uint8_t syndrome, vendor_err; /* error opcodes */
};

/*
 * Appends one CQE: body first, then its last dword in one store. May fire the completion event.
 * -ENOSPC: overrun (the CQ is dead, the event was raised; the next nm_nic_progress() calls
 * nm_qp_cq_died(), the caller need not), -EFAULT likewise, -ENOMEM likewise. Otherwise 0, also when
 * the write is still under way in a copy-only space (order is kept).
 */
int nm_cq_push(struct nm_cq *cq, const struct nm_cqe *cqe);
/*
 * Drops CQEs of a QP that still wait for a copy-only space (after 2RST and DESTROY none may
 * appear). One that is being written is waited for, but not long: then the CQ dies.
 */
void nm_cq_forget_qp(struct nm_cq *cq, uint32_t qpn);
/* An arm doorbell (UAR + 0x20), or a sweep of the page: looks at the record and fires if due. */
void nm_cq_check_arm(struct nm_cq *cq);
/* An arm whose word (sn, command, consumer index) came with the doorbell. */
void nm_cq_arm(struct nm_cq *cq, uint32_t word);
bool nm_cq_progress(struct nm_cq *cq); /* pending writes; true if something moved */

/* ---- counters (counters.c) ---- */

/* What QPs count together: those whose context names it. */
struct nm_qcounter {
	struct nm_obj obj;
	struct nm_counters counters;
};

/* ---- queue pairs ---- */

struct nm_srq;	   /* srq.h */
struct nm_xrcd;	   /* srq.h */
struct nm_rc;	   /* transport state: rc.h */
struct nm_service; /* of one type of QP: rc.h */

struct nm_qp {
	struct nm_obj obj;
	uint8_t st;			  /* enum prm_qp_st */
	const struct nm_service *service; /* its row in service.c */
	uint8_t state;			  /* enum prm_qp_state; written by qp.c alone */
	uint32_t pdn; /* NM_PDN_ANY: keys of every PD (nm_service.any_pd), and `pd` is NULL */
	uint32_t user_index;
	struct nm_pd *pd;
	struct nm_cq *cq_snd, *cq_rcv; /* may be NULL (no SQ / nothing is received here) */
	struct nm_srq *srq;	       /* shared receive queue; NULL with XRC: each packet says */
	struct nm_xrcd *xrcd;	       /* XRC target's domain; else NULL */
	struct nm_uar *uar;	       /* NULL: no queue that is rung */
	uint32_t uar_place;	       /* among those of the page */
	struct nm_link snd_link, rcv_link; /* of cq_snd, of cq_rcv */
	bool no_dbr;			   /* send_dbr_mode NO_DBR_EXT */
	struct nm_mem mem;		   /* RQ at 0, SQ behind it */
	struct nm_umem *umem, *dbr_umem;
	struct nm_dbr dbr; /* word 0 RQ, word 1 SQ */
	/* geometry */
	bool has_sq, has_rq, uses_srq;
	uint32_t sq_off;		    /* bytes into mem */
	uint8_t log_sq_size;		    /* WQEBBs */
	uint8_t log_rq_size, rq_stride_log; /* entries; log2 bytes */
	uint8_t rq_type;
	/* The context as the commands left it: address path, timeouts, rights, psn... QUERY_QP
	 * starts from it. */
	uint8_t qpc[PRM_qpc_SIZE];
	/* decoded from qpc at each modify, for the data path */
	uint32_t mtu; /* bytes */
	uint32_t remote_qpn;
	uint32_t qkey; /* UD */
	uint8_t retry_count, rnr_retry, ack_timeout, min_rnr_nak, log_ack_req_freq;
	uint32_t max_rd_atomic, max_dest_rd_atomic; /* counts */
	bool rre, rwe, rae;
	uint8_t log_msg_max;
	struct nm_counters counters;
	struct nm_counters *counter_set;  /* of the set that the context names, or the NIC's */
	struct nm_route route;		  /* source and destination */
	struct nm_rc *rc;		  /* transport; allocated with the QP */
	struct nm_qp *run_next, **run_at; /* nic.c: list of QPs with work, and what points here */
	bool runnable;
	uint64_t timer_ns;   /* nic.c: absolute; UINT64_MAX when not armed */
	uint32_t timer_slot; /* nic.c: place in the heap */
};

/* ---- what the transport offers the commands (qp.c, rc_*.c) ---- */

int nm_qp_attach(
	struct nm_qp *qp); /* after CREATE_QP filled the struct: allocates rc, 0 or -ENOMEM */
/*
 * The state machine: enters `to` (the command checked that the transition is legal and refreshed
 * the decoded fields). RST clears indices and forgets packets; RTR starts the responder at
 * next_rcv_psn; RTS the requester at next_send_psn, from the doorbell record; ERR flushes.
 */
void nm_qp_enter(struct nm_qp *qp, uint8_t to);
/* Before a command takes the QP away: sees what was rung until then, sends the ACK that is due. */
void nm_qp_acknowledge(struct nm_qp *qp);
/* The same, and tells observers that it is about to be destroyed. */
void nm_qp_leave(struct nm_qp *qp);
/* Ends transfers and packets; after it the QP touches no memory. Before destroy. */
void nm_qp_detach(struct nm_qp *qp);
/* Counters that live in the transport, into a qpc for QUERY_QP. */
void nm_qp_fill_query(const struct nm_qp *qp, void *qpc);
/*
 * Before a key (or the region below it) is destroyed: transfers of any QP through it end (their
 * WQEs or requests fail as if the key were gone).
 */
void nm_qp_forget_mkey(struct nm_nic *nic, struct nm_mkey *mkey);
/* A CQE became visible, or the CQ is about to go: QPs whose WAIT names it look again. */
void nm_cq_wake_waiters(struct nm_cq *cq);
/* The CQ died: every QP on it goes to ERR with event WQ_CATAS_ERROR; likewise an XRC SRQ. */
void nm_qp_cq_died(struct nm_cq *cq);
void nm_srqs_cq_died(const struct nm_cq *cq);
/* SRQs whose record is read for their limit; true if something moved. */
bool nm_srqs_progress(struct nm_nic *nic);

/*
 * The data path's turn (nic.c calls it off the run list, where the QP no longer is): works until
 * there is nothing to do or nm_now() >= deadline_ns; it begins at now_ns. True if something moved.
 * What needs another turn (out of time, a transfer or a push-back to poll for) calls
 * nm_qp_schedule() again before it returns.
 */
bool nm_qp_progress(struct nm_qp *qp, uint64_t now_ns, uint64_t deadline_ns);
/* The QP's timer (nm_qp_timer_set) expired; it is disarmed by now. */
void nm_qp_timer(struct nm_qp *qp, uint64_t now_ns);
/* nm_nic_receive() of nm.h is the transport's too. */

/* ---- multicast groups (mcast.c) ---- */

struct nm_mcast;
void nm_mcast_forget_qp(struct nm_qp *qp); /* before it ends */
/* Walks the QPs attached to a group: *at is NULL at first. False: no more. */
bool nm_mcast_next(const struct nm_nic *nic, const uint8_t gid[16], struct nm_mcast **at,
		   struct nm_qp **qp);

/* ---- doorbells (doorbell.c; also nm_nic_doorbell of nm.h) ---- */

/* CREATE puts a queue on the page that it names, DESTROY takes it off; the page is looked at as
 * long as it has one. */
int nm_uar_reserve_qp(struct nm_uar *uar); /* room for one more: 0, -ENOMEM */
void nm_uar_add_qp(struct nm_qp *qp);
void nm_uar_remove_qp(struct nm_qp *qp);
/* Takes what was rung before a command, as a doorbell and the command arrive in order on PCIe: the
 * registers of the QP's page, and the QP's record. */
void nm_uar_take(struct nm_qp *qp);
/* Its SQ's record is to be read; was read, or the QP begins anew. */
void nm_uar_ask_record(struct nm_qp *qp);
void nm_uar_saw_record(struct nm_qp *qp);
void nm_uar_add_cq(struct nm_cq *cq);
void nm_uar_remove_cq(struct nm_cq *cq);
bool nm_doorbell_poll(struct nm_nic *nic, uint64_t now_ns,
		      uint64_t *next_ns); /* true if one rang */

/* The set that the QP's context names now. */
void nm_qp_choose_set(struct nm_qp *qp);
/* Before a set is freed: its QPs count for none. */
void nm_qcounter_forget(struct nm_nic *nic, const struct nm_qcounter *set);
/* A CQE of that QP was written. */
void nm_count_cqe(struct nm_nic *nic, uint32_t qpn, uint8_t opcode, uint8_t syndrome);

/* ---- the NIC ---- */

enum { NM_CAP_TYPES = 0x30 };
/* cap.c, cmd_hca.c: forget what the driver has set or given. */
void nm_caps_reset(struct nm_nic *nic);
void nm_pages_reset(struct nm_nic *nic);

struct nm_nic {
	struct nm_config config;
	struct nm_ops ops;
	char name[16];
	struct nm_table table[NM_OBJ_TYPES];
	struct nm_mkey null_mkey; /* of every PD; in no table */
	struct nm_memic_space memic;
	/* cmd_hca.c: pages that the driver has given */
	uint64_t *pages;
	uint32_t npages;
	uint8_t *set_cap[NM_CAP_TYPES]; /* cap.c: as the driver has set them; NULL: it has not */
	uint32_t port_cap_mask; /* InfiniBand: IBTA PortInfo.CapabilityMask, as the driver set it */
	uint8_t gid[16];	/* roce address table: one entry, index 0 */
	bool gid_valid;
	struct nm_mcast *mcasts; /* mcast.c */
	uint32_t nmcasts;
	struct nm_observer *observers;
	struct nm_fault *fault;
	uint32_t point_mask; /* union of observer and fault masks */
	struct nm_counters counters;
	struct nm_counters no_set; /* of the QPs that name no counter set, or one that is gone */
	/* doorbell.c: pages that some queue uses. Each array has room for all pages. */
	struct nm_uar **hot_uars, **cold_uars;
	uint32_t nhot, ncold, next_cold;
	bool new_queue;			    /* one was put on a page since the last progress */
	uint64_t cold_ns;		    /* up to when the cold ones have been looked at */
	bool idle;			    /* the last round had nothing to do */
	struct nm_qp *run_head, **run_tail; /* QPs with work */
	uint32_t nrun;			    /* how many */
	struct nm_packet tx;		    /* the one that is being made and sent */
	struct nm_cq *busy_cqs;	   /* cq.c: CQs with pending writes, arms to read, deaths to tell */
	struct nm_cq *held_cqs;	   /* cq.c: CQs whose event moderation holds back */
	struct nm_eq *busy_eqs;	   /* eq.c: likewise */
	struct nm_srq *busy_srqs;  /* rc_srq.c: whose limit is to be looked at */
	struct nm_link *key_xfers; /* rc_xfer.c: transfers under way that a key's end ends */
	/* rc_atomic.c: QPs with an atomic on copied memory; the first one executes its */
	struct nm_qp *atomic_first, *atomic_last;
	/* nic.c: heap of QPs by timer_ns; as many slots as there are QPs, so arming cannot fail */
	struct nm_qp **timers;
	uint32_t ntimers, timer_cap;
};

static inline uint64_t nm_now(const struct nm_nic *nic)
{
	return nic->ops.now_ns(nic->ops.ctx);
}

/* Adds to a counter of the QP and of its set. */
static inline void nm_count_qp_at(struct nm_qp *qp, size_t off, uint64_t n)
{
	*(uint64_t *)((uint8_t *)&qp->counters + off) += n;
	*(uint64_t *)((uint8_t *)qp->counter_set + off) += n;
}
#define NM_COUNT_QP(qp, field, n) nm_count_qp_at((qp), offsetof(struct nm_counters, field), (n))

/* And of the port. */
static inline void nm_count_at(struct nm_qp *qp, size_t off, uint64_t n)
{
	*(uint64_t *)((uint8_t *)&qp->obj.nic->counters + off) += n;
	nm_count_qp_at(qp, off, n);
}
#define NM_COUNT(qp, field, n) nm_count_at((qp), offsetof(struct nm_counters, field), (n))

/* A point of the engine: observers see it, the fault hook may answer other than NM_PASS. */
static inline bool nm_watched(const struct nm_nic *nic, enum nm_event_kind kind)
{
	return (nic->point_mask & (1u << kind)) != 0;
}
enum nm_verdict nm_point(struct nm_nic *nic, struct nm_event *ev);
/* The two halves of nm_point, where the fault must be asked before and observers told after. */
enum nm_verdict nm_fault_at(struct nm_nic *nic, struct nm_event *ev);
void nm_observe(struct nm_nic *nic, struct nm_event *ev);
/*
 * The point of NM_EV_DMA for what is moved through a pointer: to be called before [off, off+len) of
 * a region, or a checked range of a key, is read or written. 0, or -EFAULT: the fault hook wants
 * that memory gone.
 */
int nm_touch_mem_watched(struct nm_nic *nic, uint32_t qpn, enum nm_purpose purpose, bool to_space,
			 const struct nm_mem *mem, uint64_t off, uint64_t len);
int nm_touch_key_watched(struct nm_nic *nic, uint32_t qpn, enum nm_purpose purpose, bool to_space,
			 const struct nm_mkey *mkey, uint64_t va, uint64_t len);
static inline int nm_touch_mem(struct nm_nic *nic, uint32_t qpn, enum nm_purpose purpose,
			       bool to_space, const struct nm_mem *mem, uint64_t off, uint64_t len)
{
	if (!nm_watched(nic, NM_EV_DMA))
		return 0;
	return nm_touch_mem_watched(nic, qpn, purpose, to_space, mem, off, len);
}
static inline int nm_touch_key(struct nm_nic *nic, uint32_t qpn, enum nm_purpose purpose,
			       bool to_space, const struct nm_mkey *mkey, uint64_t va, uint64_t len)
{
	if (!nm_watched(nic, NM_EV_DMA))
		return 0;
	return nm_touch_key_watched(nic, qpn, purpose, to_space, mkey, va, len);
}
/* The NIC refuses or drops something: one sentence for the observers. */
void nm_diagnose(struct nm_nic *nic, enum nm_diag code, uint32_t qpn, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* About a WQE of the QP's send queue. */
void nm_diagnose_wqe(struct nm_nic *nic, enum nm_diag code, uint32_t qpn, uint16_t wqe_idx,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* ---- scheduling (nic.c) ---- */

void nm_qp_schedule(struct nm_qp *qp);	     /* has work: progress will serve it; idempotent */
void nm_qp_schedule_first(struct nm_qp *qp); /* before all that wait for their turn */
void nm_qp_unschedule(struct nm_qp *qp);
/* Arms (or moves) the QP's only timer, absolute time; UINT64_MAX disarms. Cannot fail. */
void nm_qp_timer_set(struct nm_qp *qp, uint64_t at_ns);
int nm_timer_reserve(struct nm_nic *nic, uint32_t qps); /* room for that many timers: 0, -ENOMEM */

#endif
