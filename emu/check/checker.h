/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker: an observer that holds what it sees against the rules (rules.h). It keeps a copy of
 * each WQE from its fetch to its completion. Guarded by the lock of the NICs.
 */
#ifndef GDAKIT_CHECK_CHECKER_H
#define GDAKIT_CHECK_CHECKER_H

#include "emu/check/finding.h"

struct checker;

/* Watches one NIC. NULL: no memory. `findings` is the caller's and outlives the checker. */
struct checker *checker_new(struct findings *findings, const char *nic_name);
/* To be added to the NIC by the caller. */
struct nm_observer *checker_observer(struct checker *c);
/*
 * The program ends: what was never rung, never read. The observer has been removed, the NIC is
 * still there. Says how often rules fired beyond what was printed, and frees the checker.
 */
void checker_end(struct checker *c, struct nm_nic *nic);
/* In the child of a fork: forgets, says nothing. */
void checker_abandon(struct checker *c);

#endif
