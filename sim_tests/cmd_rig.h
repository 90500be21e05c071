/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC on a bench: no link, a clock that stands still until told, events noted. For the tests of
 * commands, keys and completion queues; each runs on a mapped and on a copy-only space.
 */
#ifndef GDAKIT_CMD_RIG_H
#define GDAKIT_CMD_RIG_H

#include <criterion/criterion.h>

#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/cq.h"

enum { RIG_UAR_PAGES = 16, RIG_MEM_PAGES = 64, RIG_PAGE = 4096, RIG_EVENTS = 64, RIG_MAX_PAS = 64 };

struct rig {
	struct nm_nic *nic;
	struct nm_space *space;
	bool copied;
	uint64_t now_ns;
	uint8_t *uar;	 /* RIG_UAR_PAGES pages */
	uint8_t *memory; /* RIG_MEM_PAGES pages, zeroed: what a program would register */
	uint32_t events; /* EQEs told so far */
	struct {
		uint32_t eqn, intr;
		uint8_t eqe[64];
	} event[RIG_EVENTS];
	uint32_t diagnoses;
	char diagnosis[NM_WHY_MAX]; /* the last one */
	struct nm_observer observer;
	/* the last command */
	uint8_t in[0x110 + 8 * RIG_MAX_PAS];
	uint8_t out[0x1010];
	char why[NM_WHY_MAX];
	uint16_t uid; /* used by rig_command */
};

void rig_open(struct rig *rig, bool copied);
void rig_open_config(struct rig *rig, bool copied, void (*change)(struct nm_config *config));
void rig_close(struct rig *rig);

/* Clears the input mailbox and sets its opcode and op_mod. */
void rig_begin(struct rig *rig, uint16_t opcode, uint16_t op_mod);
/* Executes the mailbox with these lengths; returns the status. */
uint8_t rig_command(struct rig *rig, size_t in_len, size_t out_len);
/* Commands that are an opcode and a number. */
uint8_t rig_number(struct rig *rig, uint16_t opcode, uint32_t number);
uint32_t rig_out_number(const struct rig *rig);

/* These assert success and return the object's number. */
uint32_t rig_alloc(struct rig *rig,
		   uint16_t opcode); /* PD, UAR, transport domain, counter set, UCTX */
/* `pages` pages of rig->memory from page `first`; the umem starts page_off bytes into the first. */
uint32_t rig_umem(struct rig *rig, uint32_t first, uint32_t pages, uint32_t page_off);
uint32_t rig_eq(struct rig *rig, uint64_t mask); /* without a ring */

struct rig_cq {
	uint8_t log_size;
	uint8_t cqe_sz; /* cqc.cqe_sz */
	bool collapsed, oi;
	uint32_t ring_page; /* page of rig->memory; the record is in page `dbr_page` at byte 0 */
	uint32_t dbr_page;
};
/* Puts the mailbox together, to be changed and executed by the caller; CREATE_CQ with a page list.
 */
void rig_cq_mailbox(struct rig *rig, const struct rig_cq *cq, uint32_t eqn, uint32_t uar);
uint32_t rig_cq(struct rig *rig,
		const struct rig_cq *cq); /* with an EQ and a UAR page of its own */
struct nm_cq *rig_cq_of(struct rig *rig, uint32_t cqn);

/* CREATE_QP: 64 send WQEBBs behind 16 receive WQEs of 64 bytes, on a page list in rig->memory. */
void rig_qp_mailbox(struct rig *rig, uint32_t pd, uint32_t uar, uint32_t cqn, uint32_t ring_page,
		    uint32_t dbr_page);
struct rig_qp {
	uint32_t pd, uar, cqn, qpn;
};
void rig_qp(struct rig *rig,
	    struct rig_qp *qp); /* with all it needs; uses pages 0 to 7 of rig->memory */

/* Runs the NIC until nothing moves for a while; transfers under way end. */
void rig_settle(struct rig *rig);

static inline uint8_t *rig_page(struct rig *rig, uint32_t page)
{
	return rig->memory + (size_t)page * RIG_PAGE;
}

/* One body, two tests. */
#define RIG_TEST(suite, name)                                                                      \
	static void name##_body(struct rig *rig);                                                  \
	Test(suite, name##_mapped)                                                                 \
	{                                                                                          \
		struct rig *rig = calloc(1, sizeof(*rig));                                         \
		rig_open(rig, false);                                                              \
		name##_body(rig);                                                                  \
		rig_close(rig);                                                                    \
	}                                                                                          \
	Test(suite, name##_copied)                                                                 \
	{                                                                                          \
		struct rig *rig = calloc(1, sizeof(*rig));                                         \
		rig_open(rig, true);                                                               \
		name##_body(rig);                                                                  \
		rig_close(rig);                                                                    \
	}                                                                                          \
	static void name##_body(struct rig *rig)

#endif
