/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rule has to say, and where it goes: text for people on stderr; a line of JSON and a test
 * case of JUnit in the files of a run, to which all its processes append. Guarded by the lock of
 * the NICs.
 */
#ifndef GDAKIT_CHECK_FINDING_H
#define GDAKIT_CHECK_FINDING_H

#include "emu/check/rules.h"

enum { FINDING_TEXT_MAX = 512, FINDING_WQE_MAX = 1024 };

struct finding {
	enum rule_number rule;
	const char *nic;	/* device name */
	uint32_t qpn, peer_qpn; /* 0: no QP is concerned, or no peer known */
	uint8_t st;		/* enum prm_qp_st */
	uint32_t cqn;		/* 0: no CQ */
	const char *what;	/* expected and found: a sentence */
	/* The WQE, if there is one: its bytes and their meaning. */
	bool has_wqe;
	uint16_t wqe_idx;
	uint32_t slot;
	const uint8_t *wqe;
	uint32_t wqe_len; /* bytes, up to FINDING_WQE_MAX */
	const char *wqe_text;
};

/* Files of a run, in the directory that `gdakit run` made for it. */
#define FINDINGS_JSON  "findings.jsonl"
#define FINDINGS_JUNIT "findings.xml"

struct findings {
	int json, junit; /* -1: none */
	int people;	 /* descriptor of stderr */
};

/* dir NULL: only for people. What cannot be opened is said there, and left out. */
void findings_open(struct findings *f, const char *dir, int people);
void findings_put(struct findings *f, const struct finding *finding);
void findings_close(struct findings *f);

/*
 * `RC QP 0x2a wqe[17]: RDMA WRITE s-- [rva ... rkey ...] [va ... len ... lkey ...]`: flags are s
 * (signalled), f (fenced), e (solicited). `wqe` begins with the control segment.
 */
void finding_wqe_text(char *text, size_t size, uint8_t st, uint32_t qpn, uint16_t wqe_idx,
		      const uint8_t *wqe, uint32_t len);

#endif
