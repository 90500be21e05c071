/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gdakit trace-diff: what two recordings have in common, and what not.
 *
 * A recording is split into streams: the commands of a NIC, the WQEs of a queue, the packets of a
 * QP and direction, the CQEs of a CQ. Within a stream the order is the program's; between streams
 * it is a matter of time and is not compared. A stream of A is compared with the one of B that
 * plays the same role: records are aligned, and those that are paired compared field by field, by
 * the names that `gdakit show` prints.
 *
 * Numbers that the NIC or the machine gave out (QPNs, keys, UMEMs ...) are equal if they were given
 * out in paired commands or, where that was not seen, if they stand for each other everywhere.
 * Addresses are equal if they are equally far into the memory of equal keys. trace_roles.c has the
 * table of what a field is.
 *
 * One thread. Nothing in a recording is believed.
 */
#ifndef GDAKIT_TOOLS_TRACE_H
#define GDAKIT_TOOLS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/observe/recording.h"
#include "tools/show.h"

/* ---- trace_fields.c: the fields of a record ---- */

struct field {
	uint32_t name, text; /* offsets in chars */
	uint64_t number;     /* if is_number; text has it as well */
	bool is_number;
};

enum { FIELD_PREFIX_MAX = 192 };
struct field_list {
	struct field *v;
	uint32_t n, cap;
	char *chars;
	size_t len, chars_cap;
	char prefix[FIELD_PREFIX_MAX]; /* "in.body." */
	bool no_memory;		       /* something is missing */
};

void fields_clear(struct field_list *l); /* keeps its memory */
void fields_free(struct field_list *l);
void fields_number(struct field_list *l, const char *name, uint64_t value, bool hex);
/* What is no print character becomes `.`. */
void fields_text(struct field_list *l, const char *name, const void *text, size_t len);
void fields_bytes(struct field_list *l, const char *name, const void *bytes, size_t len);
void fields_push(struct field_list *l, const char *name);
void fields_pop(struct field_list *l);
const char *field_name(const struct field_list *l, const struct field *f);
const char *field_text(const struct field_list *l, const struct field *f);
/* NULL: no field of that name. Looks at v[hint] first. */
const struct field *field_find(const struct field_list *l, const char *name, uint32_t hint);

/* ---- trace_roles.c: what a field is ---- */

enum role {
	ROLE_EXACT,
	ROLE_IGNORED,
	ROLE_SET,     /* only whether it is 0 (numbers), or there (others) */
	ROLE_WORDS,   /* a sentence: its numbers do not count */
	ROLE_ADDRESS, /* in the memory of the key beside it */
	ROLE_PSN,     /* of a packet: distance from its stream's first */
	ROLE_NUMBER,  /* of an object: equal if it stands for the other everywhere */
};

/* Each kind of object has its numbers. */
enum space {
	SPACE_NONE,
	SPACE_QP,
	SPACE_CQ,
	SPACE_EQ,
	SPACE_PD,
	SPACE_UAR,
	SPACE_UMEM,
	SPACE_KEY,
	SPACE_PEER_KEY, /* a peer's may have the numbers of ours */
	SPACE_RQ,
	SPACE_XRCD,
	SPACE_UID,
	SPACE_COUNTERS,
	SPACE_PSN,
	SPACE_OTHER,
};

struct field_role {
	enum role role;
	enum space space; /* of ROLE_NUMBER */
	uint8_t shift;	  /* the number's lowest bit: 8 in a key */
};

struct field_role field_role(const struct rec_event *ev, const struct field_list *l,
			     const struct field *f);
/* The key beside an address, and whether it is a remote one. NULL: there is none. */
const struct field *field_key(const struct field_list *l, const struct field *f, bool *remote);
enum { KEY_SHIFT = 8 }; /* a key is an index and 8 bits of the program's choice */
/* What a record is about, as a word: `CREATE_QP`, `QUERY_HCA_CAP:0x41`, `RC_WRITE_only`. */
enum { WHAT_MAX = 64 };
void what_of(const struct rec_event *ev, const struct field_list *l, char what[WHAT_MAX]);
/* The kind of object that a command is about. */
enum space space_of_command(uint16_t opcode);
/* Is it in what the NIC answers to a command? */
bool field_is_answer(const struct field_list *l, const struct field *f);

/* ---- trace_load.c: a recording as streams ---- */

struct trace_record {
	struct rec_event ev; /* its bytes are this record's own */
	uint32_t seq;	     /* number in the file, from 0 */
	uint32_t what;	     /* hash of what_of() */
	uint64_t hash; /* of all that is ROLE_EXACT, ROLE_SET or ROLE_WORDS, of what, of a PSN's
			  distance */
};

struct stream {
	uint16_t nic, kind;
	uint8_t sub; /* parts of a kind: receive WQEs; requests, responses, acknowledgements */
	uint32_t number;
	uint32_t *records; /* indices in trace.records */
	uint32_t n, cap;
	uint32_t first_psn;
	bool paired;
};

struct key_base {
	uint32_t key, seq; /* from this record on */
	bool peer; /* a peer's key, whose region is not known: base is the first address used */
	uint64_t base, len;
};

struct trace {
	struct trace_record *records;
	uint32_t nrecords, records_cap;
	struct stream *streams;
	uint32_t nstreams, streams_cap;
	struct key_base *bases;
	uint32_t nbases, bases_cap;
	struct qp_types types;
	bool program; /* without what the NIC answered */
	bool complete;
};

/*
 * Reads all of f. `kinds` as of kinds_of(). `program`: without what the NIC answered, and without
 * the commands that no program gave (uid 0). 0, or -1 and the reason in why (REC_WHY_MAX bytes).
 */
int trace_load(struct trace *t, FILE *f, uint32_t kinds, bool program, char *why);
void trace_free(struct trace *t);
/* The fields of a record, into l, which is cleared first. */
void trace_fields(const struct trace *t, const struct trace_record *r, struct field_list *l);
/*
 * Where the memory of a key begins, for an address in a record. A remote key is one of this host's
 * if the address is in its region, else a peer's. False: not known.
 */
bool trace_base(const struct trace *t, uint32_t key, bool remote, uint32_t seq, uint64_t addr,
		uint64_t *base);

/* ---- trace_align.c ---- */

enum { ALIGN_NONE = UINT32_MAX };
/*
 * Which record of b each one of a is paired with: partner[i], or ALIGN_NONE. Only records about the
 * same are paired, in order. False: no memory.
 */
bool trace_align(const struct trace *ta, const struct stream *a, const struct trace *tb,
		 const struct stream *b, uint32_t *partner);

/* ---- trace_compare.c ---- */

enum only { IN_BOTH, ONLY_IN_A, ONLY_IN_B };

/* Equal differences, counted: the kind, what and field are the same, in commands the values too. */
struct difference {
	uint16_t kind;
	enum only only;
	char what[WHAT_MAX];
	char *field, *a, *b; /* IN_BOTH: its name, both values of the first one */
	uint64_t count;
	uint32_t seq_a, seq_b; /* of the first one */
	bool expected;
};

enum { DIFFERENCES_MAX = 4096 };
struct diff {
	struct difference *v;
	uint32_t n;
	uint64_t uncounted; /* beyond DIFFERENCES_MAX */
	uint64_t paired;    /* records compared */
	bool no_memory;
};

void trace_compare(struct trace *a, struct trace *b, struct diff *d);
void diff_free(struct diff *d);

#endif
