/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC model: a ConnectX as a state machine that its owner drives.
 *
 *      commands            doorbells (memory)              packets
 *         |                       |                           |
 *   nm_nic_command        nm_nic_progress             nm_nic_receive
 *         |                       |                           |
 *         +--------> objects, queues, transport <-------------+
 *                      |          |        |
 *                  nm_space    link_send  event (EQE)
 *                  (memory)    (packets)  (interrupt)
 *
 * The model owns no thread, socket, file or clock, and holds no global state: a process may have as
 * many NICs as it likes. It is not thread-safe; the owner serialises every call on one NIC
 * (emu/world does that with one lock a world). It never blocks: what cannot be done now is resumed
 * by a later nm_nic_progress().
 */
#ifndef GDAKIT_NM_H
#define GDAKIT_NM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct nm_nic;
struct nm_space;

/* ------------------------------------------------------------------------------------------------
 * Memory. Every object that holds addresses names the space they belong to: memory of this process,
 * of another one, of a guest, of a GPU.
 */

/* Why a transfer is made: a space may order or batch by it, an observer shows it. */
enum nm_purpose {
	NM_DMA_WQE,	/* send or receive WQE fetch */
	NM_DMA_DBR,	/* doorbell record read */
	NM_DMA_GATHER,	/* payload out of memory */
	NM_DMA_SCATTER, /* payload into memory */
	NM_DMA_ATOMIC,	/* responder's read or write of an atomic target */
	NM_DMA_CQE,
	NM_DMA_EQE,
	NM_DMA_PURPOSES
};

struct nm_seg {
	uint64_t addr; /* bus address in the space */
	uint64_t len;  /* bytes */
};

enum { NM_DMA_MAX_SEGS = 64 };

/*
 * One scatter-gather transfer between `local` (the NIC's memory) and a space. The caller owns the
 * struct and `local`, and keeps both until submit or poll has returned something other than
 * -EINPROGRESS, or cancel has returned. Segments are moved in order, and a write's last segment
 * becomes visible last: a CQE is written as {body, last dword}.
 */
struct nm_dma {
	enum nm_purpose purpose;
	bool to_space; /* true: local to space; false: space to local */
	uint32_t nsegs;
	struct nm_seg segs[NM_DMA_MAX_SEGS];
	void *local;
	uint64_t len; /* sum of the segments, bytes */
	void *priv;   /* the space's own */
};

/*
 * For functions whose access may be left half-way (nm_space_ops.guarded): ThreadSanitizer's own
 * atomics hold a lock of its runtime while they access memory, and a fault there would keep it.
 */
#define NM_MAY_FAULT __attribute__((noinline, no_sanitize("thread")))

struct nm_space_ops {
	/*
	 * A pointer through which [addr, addr+len) may be read (and written, if `write`) directly
	 * for as long as the object that names the range lives; NULL where the space can only copy
	 * or the range is not wholly inside it.
	 */
	void *(*map)(struct nm_space *space, uint64_t addr, uint64_t len, bool write);
	/*
	 * memmove() from or to what map() returned: 0, or -EFAULT if that memory has gone since.
	 * NULL: it cannot go, memmove() does.
	 */
	int (*copy)(void *to, const void *from, size_t len);
	/*
	 * Runs fn(arg), which uses what map() returned with the CPU's own instructions (atomics):
	 * 0, or -EFAULT if that memory has gone or become read-only; fn was left at that access, so
	 * it must own nothing, and what it calls to access is marked NM_MAY_FAULT. NULL: it cannot
	 * go, fn is simply called.
	 */
	int (*guarded)(void (*fn)(void *arg), void *arg);
	/* 0 done; -EINPROGRESS: poll for it; -EFAULT: no such memory, some of it may have moved. */
	int (*submit)(struct nm_space *space, struct nm_dma *dma);
	int (*poll)(struct nm_space *space, struct nm_dma *dma); /* same codes as submit */
	/* After return neither `local` nor the space is touched for this transfer any more. */
	void (*cancel)(struct nm_space *space, struct nm_dma *dma);
};

struct nm_space {
	const struct nm_space_ops *ops;
	const char *name; /* for messages */
};

/* ------------------------------------------------------------------------------------------------
 * Packets: RoCEv2. What travels is the BTH with its extension headers as wire bytes, the payload by
 * reference, and the route; a link adds Ethernet, IP, UDP, pad and ICRC if it leaves the process
 * (roce.h has the encoder and decoder).
 */

struct nm_route {
	uint8_t sgid[16]; /* IPv4-mapped or IPv6 */
	uint8_t dgid[16];
	uint8_t smac[6];
	uint8_t dmac[6];
	uint16_t udp_sport;
	uint16_t dlid; /* InfiniBand link layer without GRH: dgid is all zero, route by LID */
	uint16_t slid;
	uint8_t sl;	/* InfiniBand */
	bool no_grh;	/* InfiniBand: it goes, or came, without one */
	uint8_t tclass; /* DSCP and ECN bits */
	uint8_t hop_limit;
	uint32_t flow_label; /* 20 bits; IPv6 only */
};

enum {
	NM_PKT_HDR_MAX = 64,
	NM_PKT_MAX_IOV = 32,
	NM_MTU_MAX = 4096,
	NM_TRAIN_SEGS = 64, /* packets of a train, at most */
	NM_TRAIN_MAX = 64 * 1024,
};

/*
 * A packet, or a train: consecutive packets of one message that travel through the model as one,
 * because the cost of a packet is in its handling. The header is what it would be if the path MTU
 * were as large as the payload (WRITE ONLY with its RETH, say), `segs` and `seg_len` say how a wire
 * cuts it; nm_train_segment() of roce_wire.h does. A NIC whose packets or payload somebody watches
 * neither makes trains nor takes one whole, so observers and faults meet what is on the wire.
 */
struct nm_packet {
	struct nm_route route;
	uint8_t hdr[NM_PKT_HDR_MAX]; /* BTH and extension headers, big endian */
	uint8_t hdr_len;	     /* bytes; a multiple of 4 */
	uint8_t niov;
	uint16_t segs;	      /* 0 or 1: one packet; else a train of so many */
	uint16_t seg_len;     /* train: payload of each packet but the last, bytes */
	bool stable;	      /* nobody may change the payload before it is acknowledged */
	uint32_t payload_len; /* bytes without pad; at most NM_MTU_MAX, of a train NM_TRAIN_MAX */
	struct iovec payload[NM_PKT_MAX_IOV];
	/*
	 * Received only. Not NULL: the pieces of `payload` are no pointers, this moves [off,
	 * off+len) of the payload to memory of this process. 0; -EFAULT: `to` cannot be written;
	 * -ENODATA: the bytes are gone, and with them the packet, as if the wire had lost it.
	 */
	int (*pull)(const struct nm_packet *pkt, uint32_t off, void *to, uint32_t len);
	void *pull_ctx; /* the link's own */
	/* Sent only: link_send says how to ask link_taken about it; 0: it is not to be asked. */
	uint64_t mark;
};

/* ------------------------------------------------------------------------------------------------
 * Observers and faults: one event type, met at the same points of the engine. Observers watch; the
 * fault hook may change what happens there. With neither, a point costs one test of a mask.
 *
 *   kind       verdicts   what a verdict does; any other one passes
 *   COMMAND    FAIL       not executed, status INT_ERR
 *   DOORBELL   DROP       the register is emptied, but nobody rang
 *   DMA        FAIL       nothing is moved, as if the memory were gone
 *   TX, RX     DROP, DUP  the packet is lost, or comes twice
 *   CQE, EQE   DROP       not written; the next one takes its slot
 *   FETCH, UNSENT, STATE, DIAGNOSIS: only watched, the hook is not asked
 *
 * The hook is asked first and may change packet, CQE and EQE; observers then see what it left. They
 * are told of what is dropped or failed, too: a packet on a bad wire was sent. For a command the
 * hook is asked before and observers are told after, with the answer.
 *
 * DMA: a transfer of a space that copies is met when it is submitted. Memory that is mapped is used
 * in place; each piece is met before it is touched, with `local` NULL: payload per packet and
 * segment, WQEs as they are fetched, each look at a doorbell record, each CQE and EQE, and an
 * atomic once (to_space) where a copying space has two transfers.
 *
 * While TX, RX or DMA is watched or asked, packets are single: there are no trains (nm_packet).
 */

enum nm_verdict {
	NM_PASS,
	NM_DROP, /* doorbell, packet, CQE, EQE: as if it had never been */
	NM_DUP,	 /* packet: twice */
	NM_FAIL, /* command: status INT_ERR; DMA: as if the memory were gone */
};

enum nm_event_kind {
	NM_EV_COMMAND,	 /* after a command: in, out, status and reason */
	NM_EV_DOORBELL,	 /* a UAR register was taken */
	NM_EV_FETCH,	 /* a WQE was fetched (send or receive) */
	NM_EV_DMA,	 /* memory is about to be read or written */
	NM_EV_TX,	 /* a packet is about to be sent */
	NM_EV_UNSENT,	 /* the link did not take the packet of the TX just before: it will come
			    again, or its memory is gone */
	NM_EV_RX,	 /* a packet arrived */
	NM_EV_CQE,	 /* a CQE is about to be written */
	NM_EV_EQE,	 /* an EQE is about to be written */
	NM_EV_STATE,	 /* a QP changed state */
	NM_EV_DIAGNOSIS, /* the NIC refuses or drops something: `why` says what was expected and
			    came */
	NM_EV_KINDS
};

/* What a diagnosis is about, for those who do not read sentences. */
enum nm_diag {
	NM_DIAG_DOORBELL_TARGET, /* a doorbell names a queue that does not exist */
	NM_DIAG_DOORBELL_PAGE,	 /* rung on a page that is not the queue's */
	NM_DIAG_DOORBELL_STATE,	 /* rung for a queue in RESET */
	NM_DIAG_DOORBELL_PLACE,	 /* a write where no register is */
	NM_DIAG_PRODUCER,	 /* doorbell or record beyond what the ring holds */
	NM_DIAG_WQE_INDEX,	/* a WQE with another index than the next one's: stale, misplaced */
	NM_DIAG_WQE_QPN,	/* with another queue's number */
	NM_DIAG_WQE,		/* that cannot be executed as it is */
	NM_DIAG_KEY,		/* a local key does not allow it */
	NM_DIAG_MEMORY,		/* registered memory, a ring or a record cannot be accessed */
	NM_DIAG_UMR,		/* a key cannot be changed as a WQE says */
	NM_DIAG_REQUEST_ACCESS, /* the peer's request: a remote key does not allow it */
	NM_DIAG_REQUEST_INVALID, /* it is none that the QP takes */
	NM_DIAG_REQUEST_OP,	 /* this side cannot do it: its receive WQE, its memory */
	NM_DIAG_REFUSED,	 /* the peer answered so */
	NM_DIAG_RETRY,		 /* the peer never answered */
	NM_DIAG_RNR_RETRY,	 /* the peer never had a receive WQE */
	NM_DIAG_NO_RECEIVE,	 /* no receive WQE for a message */
	NM_DIAG_RESPONSE,	 /* the response is not what was asked for */
	NM_DIAG_Q_KEY,		 /* a datagram with another Q_Key */
	NM_DIAG_CQ_OVERRUN,
	NM_DIAG_EQ_FULL,
	NM_DIAG_SRQ,	/* a shared receive queue is in error */
	NM_DIAG_ERROR,	/* a WQE completes in error: codes of its CQE */
	NM_DIAG_PACKET, /* a packet is not for us, or malformed: dropped */
	NM_DIAG_LOSS,	/* packets are missing, late or come again: recovered from */
	NM_DIAGS
};

/* In an event of a state: the QP is about to be destroyed. */
enum { NM_QP_GONE = 0xff };

struct nm_event {
	enum nm_event_kind kind;
	uint64_t time_ns;
	struct nm_nic *nic;
	uint32_t qpn; /* 0 where no QP is concerned, and for records and rings of CQEs and EQEs */
	union {
		struct {
			uint16_t opcode, uid;
			const void *in;
			size_t in_len;
			const void *out;
			size_t out_len;
			uint8_t status;
			uint32_t syndrome;
		} command;
		struct {
			uint32_t uar_page, offset;
			uint64_t value; /* as a big-endian 64-bit register: high dword first in
					   memory */
		} doorbell;
		struct {
			bool receive;
			uint16_t wqe_idx; /* counter of the first WQEBB, not masked by the ring size
					   */
			uint32_t slot;
			const void *wqe;
			size_t len; /* bytes */
		} fetch;
		struct {
			const struct nm_dma *dma;
			struct nm_space *space;
		} dma;
		struct nm_packet *packet; /* TX, UNSENT, RX; a fault hook may change it */
		struct {
			uint32_t cqn, index; /* producer counter, 24 bits */
			uint8_t *cqe;	     /* 64 bytes; a fault hook may change them */
		} cqe;
		struct {
			uint32_t eqn;
			uint8_t *eqe; /* 64 bytes */
		} eqe;
		struct {
			uint8_t from, to; /* enum prm_qp_state; NM_QP_GONE */
		} state;
		struct {
			enum nm_diag code;
			bool has_wqe;
			uint16_t wqe_idx; /* of a send WQE, as in fetch */
		} diagnosis;
	};
	const char *why;	 /* a sentence, or NULL; valid during the call only */
	enum nm_verdict verdict; /* of the hook, for observers: what became of it */
};

struct nm_observer {
	void *ctx;
	uint32_t mask; /* 1 << enum nm_event_kind */
	void (*event)(void *ctx, const struct nm_event *ev);
	struct nm_observer *next; /* the NIC's own */
};

struct nm_fault {
	void *ctx;
	uint32_t mask;
	enum nm_verdict (*at)(void *ctx, struct nm_event *ev);
};

/* ------------------------------------------------------------------------------------------------
 * The NIC
 */

struct nm_ops {
	void *ctx;
	/* Monotonic time. In a simulation it is virtual. */
	uint64_t (*now_ns)(void *ctx);
	/*
	 * Sends one packet; the payload is valid during the call only. 0; -EAGAIN: not now, the NIC
	 * tries again at a later progress; -EFAULT: payload in mapped memory has gone, nothing was
	 * sent. May deliver to another NIC of the same owner at once: nm_nic_receive() never sends,
	 * so this cannot recurse.
	 */
	int (*link_send)(void *ctx, struct nm_packet *pkt);
	/*
	 * A QP with packets that are not acknowledged lets go of its WQEs: the program may change
	 * the memory behind packets that were sent as `stable`. NULL: nothing is ever read later.
	 */
	void (*link_recall)(void *ctx);
	/*
	 * Has the other end taken the packet for `dqpn` that link_send marked? False only while it
	 * surely lies where the other end has not looked since. NULL: always.
	 */
	bool (*link_taken)(void *ctx, const struct nm_route *route, uint32_t dqpn, uint64_t mark);
	/* An EQE was written. `eqe` is 64 bytes. Called with the NIC busy: only note it and return.
	 */
	void (*event)(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe);
};

/* Where the device memory begins in the BAR, behind the UAR pages: its addresses count from there.
 */
#define NM_MEMIC_START UINT64_C(0x2000000)

/* What the port and the device are called. All numbers of one `gdakit run` tree are the same. */
struct nm_config {
	const char *name;   /* for messages, e.g. "mlx5_0" */
	uint16_t device_id; /* PCI device id: picks the capability profile, enum prm_device_id */
	uint64_t node_guid;
	uint8_t mac[6];
	uint16_t lid;
	bool link_is_ethernet; /* else InfiniBand */
	uint8_t port_mtu;      /* 1..5: 256..4096 */
	uint32_t qpn_prefix;   /* bits 23:16 of every QPN: the slot of this process */
	void *uar_base;	       /* memory of the UAR pages, uar_pages * 4096 bytes, page aligned; the
				  owner's */
	uint32_t uar_pages;
	uint32_t uar_first; /* lowest page that is handed out; 0: 1 */
	/*
	 * Every doorbell is handed over (nm_nic_doorbell): the pages are not looked at, and a
	 * doorbell record alone arms nothing, whoever writes it.
	 */
	bool doorbells_trapped;
	void *memic_base; /* device memory, memic_pages * 4096 bytes, page aligned; the owner's */
	uint32_t memic_pages; /* 0: the device has none */
	bool memic_ops; /* loads and stores act on it where a face says so: increment, test and set
			 */
};

/*
 * Creates a NIC. `config` is copied (not uar_base's memory), `ops` too. NULL with errno ENOMEM or
 * EINVAL (a reason is printed by the caller from *why, which may be NULL).
 */
struct nm_nic *nm_nic_create(const struct nm_config *config, const struct nm_ops *ops,
			     const char **why);
/* As it was created; lives as long as the NIC. */
const struct nm_config *nm_nic_config(const struct nm_nic *nic);
/*
 * As a reset of the function does: all objects end, and what commands have set is as it was when
 * the NIC was created. Nobody is told. Observers stay.
 */
void nm_nic_reset(struct nm_nic *nic);
/* Ends all transfers, frees all objects. Outstanding observers are not told. */
void nm_nic_destroy(struct nm_nic *nic);

/* Who issues a command, and whose memory its addresses mean. */
struct nm_cmd_ctx {
	uint16_t uid;		/* 0: privileged (a driver); else a user context from CREATE_UCTX */
	struct nm_space *space; /* for PAS and MTT lists in the mailbox */
};

/*
 * A CQ is armed by any change of the second word of its record (big endian). A face that makes CQs
 * for a program writes this word there before CREATE_CQ: no program ever writes it, so even a first
 * arm that is all zero is a change. Where the record is mapped any other word will do; where it is
 * only copied this one is assumed.
 */
#define NM_CQ_ARM_SENTINEL 0xffffffffu

enum { NM_WHY_MAX = 256 };

/*
 * Executes one firmware command, mailbox bytes in and out, as the PRM lays them out. `out` is
 * always filled with at least status and syndrome if out_len >= 8. Returns the status byte (0: OK).
 * `why` (NM_WHY_MAX bytes, may be NULL) receives a sentence when the status is not OK, else "". The
 * uid field in the mailbox is ignored: the context's uid counts. When a destroy command has
 * returned, the NIC touches the object's memory no more.
 */
uint8_t nm_nic_command(struct nm_nic *nic, const struct nm_cmd_ctx *ctx, const void *in,
		       size_t in_len, void *out, size_t out_len, char *why);

/*
 * Commands that come through a queue of the driver's end with an event once an EQ asks for it
 * (type 0x0a). Does one? To be asked before the command is executed: the one that makes such an EQ
 * is still polled for.
 */
bool nm_nic_command_events(const struct nm_nic *nic);
/* The event: the entries of the queue (1 << index) that are done. */
void nm_nic_command_done(struct nm_nic *nic, uint32_t entries);

/*
 * After commands: is there something for nm_nic_progress() to do that was not there before? Only
 * then need its owner wake up.
 */
bool nm_nic_has_work(const struct nm_nic *nic);

/*
 * A packet from the link. Valid during the call. Never sends; answers leave from the next progress.
 * Malformed or unexpected packets are dropped with a diagnosis.
 */
void nm_nic_receive(struct nm_nic *nic, struct nm_packet *pkt);

struct nm_progress {
	bool worked;	  /* something moved: call again soon */
	uint64_t next_ns; /* absolute time at which a timer needs a call; UINT64_MAX: none */
};

enum { NM_SLICE_NS = 20000 };

/*
 * Doorbells, WQEs, transfers, packets, timers, completions: up to about `budget_ns` of them (at
 * most NM_SLICE_NS is useful). To be called again at next_ns, after every packet, and now and then
 * for doorbells, which are only memory.
 */
struct nm_progress nm_nic_progress(struct nm_nic *nic, uint64_t budget_ns);

/*
 * A face that traps a doorbell write itself (QEMU) or sees it coming hands it over here instead of
 * leaving it in the register. `value` as in nm_event.doorbell.
 */
void nm_nic_doorbell(struct nm_nic *nic, uint32_t uar_page, uint32_t offset, uint64_t value);

/* The observer stays the caller's and must outlive the NIC or be removed. */
void nm_nic_add_observer(struct nm_nic *nic, struct nm_observer *obs);
void nm_nic_remove_observer(struct nm_nic *nic, struct nm_observer *obs);
/* At most one; NULL removes it. */
void nm_nic_set_fault(struct nm_nic *nic, struct nm_fault *fault);

/*
 * What is counted, for the whole port, for each QP and for each counter set that QPs name. Names
 * are those of hw_counters in sysfs where it has them (Linux, drivers/infiniband/hw/mlx5/counters.c
 * and the QUERY_Q_COUNTER command); packets and bytes of one QP are those that it sent and those
 * that were accepted for it. Bytes are those from BTH to the end of the payload.
 */
#define NM_COUNTERS(X)                                                                             \
	X(tx_packets, "packets sent")                                                              \
	X(tx_bytes, "bytes sent, BTH to payload")                                                  \
	X(rx_packets, "packets received")                                                          \
	X(rx_bytes, "bytes received, BTH to payload")                                              \
	X(tx_multicast_packets, "packets sent to a group, counted as packets too")                 \
	X(rx_multicast_packets, "packets received for a group, counted as packets too")            \
	X(tx_messages, "send WQEs that were done without an error")                                \
	X(rx_messages, "messages that the responder completed")                                    \
	X(tx_retransmits, "packets sent again")                                                    \
	X(out_of_sequence, "request packets ahead of the expected PSN")                            \
	X(packet_seq_err, "NAKs of a sequence error received")                                     \
	X(duplicate_request, "request packets received again")                                     \
	X(out_of_buffer, "messages that found no receive WQE")                                     \
	X(rnr_naks, "RNR NAKs received")                                                           \
	X(local_ack_timeout_err, "times that no answer came in time")                              \
	X(rnr_nak_retry_err, "RNR retries exceeded")                                               \
	X(implied_nak_seq_err, "READ or atomic responses that were lost")                          \
	X(req_cqe_error, "error CQEs of send queues")                                              \
	X(resp_cqe_error, "error CQEs of receive queues")                                          \
	X(req_cqe_flush_error, "flush CQEs of send queues")                                        \
	X(resp_cqe_flush_error, "flush CQEs of receive queues")                                    \
	X(req_remote_access_errors, "NAKs of a remote access error received")                      \
	X(req_remote_invalid_request, "NAKs of an invalid request received")                       \
	X(resp_remote_access_errors, "requests refused for their key, range or right")             \
	X(resp_local_length_error, "messages longer than their receive WQE")                       \
	X(rx_write_requests, "WRITE requests received")                                            \
	X(rx_read_requests, "READ requests received")                                              \
	X(rx_atomic_requests, "atomic requests received")                                          \
	X(doorbells, "doorbells taken")                                                            \
	X(wqes, "send WQEs fetched")                                                               \
	X(cqes, "CQEs written")                                                                    \
	X(cqes_ok, "CQEs without an error")                                                        \
	X(cqes_local_length, "CQEs, local length error")                                           \
	X(cqes_local_qp_op, "CQEs, local QP operation error")                                      \
	X(cqes_local_prot, "CQEs, local protection error")                                         \
	X(cqes_flush, "CQEs, flushed")                                                             \
	X(cqes_mw_bind, "CQEs, memory window bind error")                                          \
	X(cqes_bad_resp, "CQEs, bad response")                                                     \
	X(cqes_local_access, "CQEs, local access error")                                           \
	X(cqes_remote_inval_req, "CQEs, remote invalid request")                                   \
	X(cqes_remote_access, "CQEs, remote access error")                                         \
	X(cqes_remote_op, "CQEs, remote operation error")                                          \
	X(cqes_retry_exc, "CQEs, transport retries exceeded")                                      \
	X(cqes_rnr_retry_exc, "CQEs, RNR retries exceeded")                                        \
	X(cqes_other, "CQEs, another error")

#define NM_COUNTER_FIELD_(name, what) uint64_t name;
struct nm_counters {
	NM_COUNTERS(NM_COUNTER_FIELD_)
};
/* Name, description and place of each, in order. */
struct nm_counter_row {
	const char *name, *what;
	size_t off; /* in struct nm_counters */
};
#define NM_COUNTER_ONE_(name, what) +1
enum { NM_NCOUNTERS = 0 NM_COUNTERS(NM_COUNTER_ONE_) };
extern const struct nm_counter_row nm_counter_rows[NM_NCOUNTERS];

const struct nm_counters *nm_nic_counters(const struct nm_nic *nic);

/* A QP as statistics show it. The counters are the NIC's, and live as long as the QP. */
struct nm_qp_info {
	uint32_t qpn, remote_qpn;
	uint8_t st;    /* enum prm_qp_st */
	uint8_t state; /* enum prm_qp_state */
	const struct nm_counters *counters;
};
/*
 * A send queue, for who looks at it beside the NIC. `ring` and `record` are the program's memory,
 * which may be gone: NULL where the space only copies. Indices count WQEBBs.
 */
struct nm_sq_view {
	const uint8_t *ring;
	const volatile uint32_t *record; /* two big-endian words, the second is the send queue's */
	uint32_t bbs;
	uint16_t pi; /* as doorbells and record said */
	bool no_dbr; /* it has no record */
};
/* False: there is no such QP, or it has no send queue. */
bool nm_nic_sq(const struct nm_nic *nic, uint32_t qpn, struct nm_sq_view *view);
/* A completion queue likewise; indices have 24 bits. */
struct nm_cq_view {
	const volatile uint32_t *record; /* the first word is the consumer index */
	uint32_t producer;
	bool collapsed, overrun_ignore;
};
bool nm_nic_cq(const struct nm_nic *nic, uint32_t cqn, struct nm_cq_view *view);

/* The QPs with number `from` and above, by number: at most `max` of them; returns how many. */
uint32_t nm_nic_qps(const struct nm_nic *nic, uint32_t from, struct nm_qp_info *infos,
		    uint32_t max);

#endif
