/* SPDX-License-Identifier: BSD-3-Clause */
/* gdakit show: how a record becomes text or JSON. One thread. */
#ifndef GDAKIT_TOOLS_SHOW_H
#define GDAKIT_TOOLS_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/nicmodel/prm_print.h"
#include "emu/observe/recording.h"

enum { SHOW_QPNS = 1 << 24, SHOW_NICS = 16 };

/* ---- show_out.c: one field after the other; as ` name=value` or as `,"name":value` ---- */

struct field_list; /* trace.h */
struct out {
	FILE *to;
	bool json;
	struct field_list *into; /* not NULL: fields are collected there, nothing is printed */
};

void out_number(struct out *o, const char *name, uint64_t value);
/* Hexadecimal in text. */
void out_hex(struct out *o, const char *name, uint64_t value);
/* Quoted and escaped as JSON wants it; in text as it is, what is no print character as `.`. */
void out_text(struct out *o, const char *name, const void *text, size_t len);
void out_word(struct out *o, const char *name, const char *text);
void out_bytes(struct out *o, const char *name, const void *bytes, size_t len);
/* The fields of a PRM structure that are not 0, structures within it likewise. */
void out_layout(struct out *o, const char *name, const struct prm_layout *layout, const void *buf,
		size_t len);
/* A group of fields: an object in JSON, a line of its own in text. */
void out_begin(struct out *o, const char *name);
void out_end(struct out *o);

/* ---- show_decode.c: what the bytes mean ---- */

const char *name_of_command(uint16_t opcode);	/* "unknown" if it is none */
const char *name_of_wqe(uint8_t opcode);	/* of the control segment */
const char *name_of_cqe(uint8_t opcode);	/* op_own >> 4 */
const char *name_of_syndrome(uint8_t syndrome); /* of an error CQE */
const char *name_of_state(uint32_t state);	/* enum prm_qp_state */
const char *name_of_event(uint8_t type);	/* of an EQE */
const char *name_of_packet(uint8_t bth_opcode);

/* The QP that a command names in its mailboxes; 0: none. */
uint32_t qpn_of_command(const struct rec_event *ev);

/* Service type of each QP, as its CREATE_QP said: the layout of its WQEs follows from it. */
struct qp_types {
	uint8_t *st; /* by QPN; 0xff: not known */
};
void learn_type(struct qp_types *types, const struct rec_event *ev);

/* The body of each kind of record. */
void decode(struct out *o, const struct qp_types *types, const struct rec_event *ev);

/*
 * The kinds of a list `cqe,fetch`, as 1 << enum rec_kind each. 0: `*bad` is the name that is none,
 * of `*bad_len` characters.
 */
uint32_t kinds_of(const char *list, const char **bad, size_t *bad_len);

/* ---- timeline.c: a picture of a send queue ---- */

struct timeline;
/* qpn 0: the queue of the first send WQE. NULL: no memory; free() ends it. */
struct timeline *timeline_new(uint32_t qpn);
void timeline_add(struct timeline *t, const struct rec_event *ev);
/* As SVG. False: no WQE was seen. */
bool timeline_draw(const struct timeline *t, FILE *f);

#endif
