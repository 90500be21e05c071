/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of the checker. Each has a number for ever and a page, docs/rules/Rnn.md. Thread-safe:
 * constant tables.
 */
#ifndef GDAKIT_CHECK_RULES_H
#define GDAKIT_CHECK_RULES_H

#include "emu/nicmodel/nm.h"

enum rule_number {
	RULE_NONE,
	RULE_WQE_INDEX = 1,
	RULE_WQE_QPN = 2,
	RULE_WQE = 3,
	RULE_SLOT_CHANGED = 4,
	RULE_PRODUCER = 5,
	RULE_NOT_RUNG = 6,
	RULE_RECORD_BEHIND = 7,
	RULE_DOORBELL_TARGET = 8,
	RULE_DOORBELL_PAGE = 9,
	RULE_DOORBELL_STATE = 10,
	RULE_NO_SIGNAL = 11,
	RULE_KEY = 12,
	RULE_MEMORY = 13,
	RULE_REMOTE_KEY = 14,
	RULE_REQUEST = 15,
	RULE_RESPONDER = 16,
	RULE_UMR = 17,
	RULE_RETRY = 18,
	RULE_RNR_RETRY = 19,
	RULE_Q_KEY = 20,
	RULE_CQ_OVERRUN = 21,
	RULE_CONSUMER_AHEAD = 22,
	RULE_CONSUMER_BACK = 23,
	RULE_ERROR_UNREAD = 24,
	RULE_SRQ = 25,
	RULE_REFUSED = 26,
	RULES
};

struct rule {
	const char *title;
	const char *hardware; /* what a ConnectX does then */
	const char *source;   /* of that: PRM, IBTA clause, file; or "guess" */
};

/* By number; entry 0 is empty. */
extern const struct rule rules[RULES];
/* The rule of a diagnosis; RULE_NONE: it is no fault of the program's. */
enum rule_number rule_of(enum nm_diag code);

#endif
