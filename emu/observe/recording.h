/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings: the file format (docs/recording.md) and its reader.
 *
 * A file is a header and then records, each a head, a struct of its kind, and the bytes that this
 * struct gives the lengths of, padded with zeros to a multiple of 8. Integers are little-endian. A
 * record of length 0, or the end of the file within a record, ends the recording: the process was
 * killed there.
 *
 * The reader takes a file as outside input: every length is checked before it is used, and nothing
 * beyond one record is held in memory. Not thread-safe.
 */
#ifndef GDAKIT_OBSERVE_RECORDING_H
#define GDAKIT_OBSERVE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	REC_VERSION = 1,
	REC_ORDER = 0x01020304,
	REC_ALIGN = 8,
	REC_MAX = 1 << 18,	 /* bytes of one record */
	REC_MAILBOX_MAX = 65536, /* bytes of a mailbox that are kept */
	REC_WQE_MAX = 4096,
	REC_BLOBS = 3,
	REC_WHY_MAX = 256,
};
#define REC_MAGIC "gdakrec"

struct rec_file_header {
	char magic[8];	       /* REC_MAGIC */
	uint32_t order;	       /* REC_ORDER as the writer's memory has it */
	uint16_t version;      /* REC_VERSION */
	uint16_t len;	       /* bytes of this header; records begin behind them */
	uint64_t realtime_ns;  /* the two clocks, read together */
	uint64_t monotonic_ns; /* the one that records use */
	uint32_t pid;
	uint32_t reserved;
};

enum rec_kind {
	REC_TEXT = 1,  /* a fact about the run: key, value */
	REC_NIC,       /* a NIC of this process, before its first event */
	REC_COMMAND,   /* a firmware command, executed: in, out, why it was refused */
	REC_DOORBELL,  /* a UAR register was taken */
	REC_DBR,       /* a doorbell record is read */
	REC_FETCH,     /* a WQE was fetched */
	REC_TX,	       /* a packet is sent */
	REC_RX,	       /* a packet arrived */
	REC_CQE,       /* written */
	REC_EQE,       /* written */
	REC_STATE,     /* a QP changed state */
	REC_DIAGNOSIS, /* what the NIC refuses, in a sentence */
	REC_END,       /* the process closed the recording */
	REC_KINDS
};

struct rec_head {
	uint32_t len;  /* bytes of the record, this head and padding included */
	uint16_t kind; /* enum rec_kind; readers skip what they do not know */
	uint16_t nic;  /* index of the NIC in its process */
	uint64_t time_ns;
	uint32_t tid; /* who was at work: the program's thread in a command, else the NIC's */
	uint32_t qpn; /* 0: none */
};

/* What an enum nm_verdict of a fault did to it. */
enum rec_fate { REC_PASSED, REC_DROPPED, REC_TWICE, REC_FAILED };

struct rec_text {
	uint32_t key_len, value_len; /* blobs: key, value */
};

struct rec_nic {
	char name[16]; /* zero padded */
	uint64_t node_guid;
	uint8_t gid[16];
	uint8_t mac[6];
	uint16_t device_id;
	uint16_t lid;
	uint8_t ethernet, port_mtu; /* 1..5: 256..4096 */
	uint32_t qpn_prefix;
};

struct rec_command {
	uint16_t opcode, uid;
	uint32_t status, syndrome;
	uint32_t in_len, out_len;	     /* bytes of the mailboxes */
	uint32_t in_kept, out_kept, why_len; /* blobs: their first bytes; a sentence */
};

struct rec_doorbell {
	uint32_t uar_page, offset;
	uint64_t value; /* of the big-endian register */
	uint32_t fate, reserved;
};

struct rec_dbr {
	uint64_t addr;
	uint32_t value; /* host order, if known: memory that can only be copied comes later */
	uint8_t known, reserved[3];
};

struct rec_fetch {
	uint16_t wqe_idx;
	uint8_t receive, reserved;
	uint32_t slot;
	uint32_t len, kept; /* blob: the WQE */
};

struct rec_packet {
	uint8_t sgid[16], dgid[16];
	uint16_t udp_sport, slid, dlid;
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
	uint32_t fate;
	uint32_t payload_len;
	uint32_t hdr_len, payload_kept; /* blobs: BTH and extension headers; payload */
	uint32_t gone;			/* 1: the payload's memory could not be read */
};

struct rec_cqe {
	uint32_t cqn, index, fate, reserved;
	uint8_t cqe[64];
};

struct rec_eqe {
	uint32_t eqn, fate;
	uint8_t eqe[64];
};

struct rec_state {
	uint32_t from, to; /* enum prm_qp_state */
};

struct rec_diagnosis {
	uint32_t len, reserved; /* blob: the sentence */
};

struct rec_end {
	uint64_t events; /* records before this one */
};

/* How a kind is laid out: bytes of its struct, and where in it the lengths of its blobs are. */
struct rec_shape {
	const char *name;
	uint16_t fixed;
	uint8_t nblobs;
	uint16_t len_off[REC_BLOBS];
};
/* NULL: a kind that this version does not know. */
const struct rec_shape *rec_shape(unsigned int kind);

/* One record, valid until the next call. */
struct rec_event {
	struct rec_head head;
	const char *name; /* of the kind; "unknown" */
	union {
		const void *body;
		const struct rec_text *text;
		const struct rec_nic *nic;
		const struct rec_command *command;
		const struct rec_doorbell *doorbell;
		const struct rec_dbr *dbr;
		const struct rec_fetch *fetch;
		const struct rec_packet *packet;
		const struct rec_cqe *cqe;
		const struct rec_eqe *eqe;
		const struct rec_state *state;
		const struct rec_diagnosis *diagnosis;
		const struct rec_end *end;
	}; /* NULL for an unknown kind */
	const uint8_t *blob[REC_BLOBS];
	uint32_t blob_len[REC_BLOBS];
};

struct recording;

/*
 * Reads the header. `f` stays the caller's and is read from where it stands. NULL: not a recording
 * that this version can read, said in why (REC_WHY_MAX bytes).
 */
struct recording *recording_open(FILE *f, char *why);
const struct rec_file_header *recording_header(const struct recording *r);
/*
 * 1: *ev is the next record; 0: the end; -EBADMSG: what follows is no record, said in why. After
 * an end or an error the answer stays the same.
 */
int recording_next(struct recording *r, struct rec_event *ev, char *why);
/* After the end: did the process close the recording, or was it killed? */
bool recording_complete(const struct recording *r);
void recording_close(struct recording *r);

#endif
