/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC that is not one: the functions of nm.h with just enough behind them to test who calls them,
 * when, and from which thread. Linked instead of the model.
 *
 * UAR page 0, first 8 bytes: a doorbell. Taken by exchange; DOORBELL_SEND sends a packet to the
 * peer. A packet with a payload byte 0 above zero is answered with one less: two fakes play
 * ping-pong.
 */
#ifndef GDAKIT_TEST_FAKE_NIC_H
#define GDAKIT_TEST_FAKE_NIC_H

#include <stdatomic.h>

#include "emu/nicmodel/nm.h"

enum { FAKE_DOORBELL_COUNT = 1, FAKE_DOORBELL_SEND = 2 };

struct nm_nic {
	struct nm_config config;
	struct nm_ops ops;
	struct nm_observer *observer;
	/* Set by the test before use, under the world's lock or before the thread runs. */
	struct nm_route peer;
	uint32_t peer_qpn;
	uint64_t timer_ns;	  /* absolute; 0: none */
	_Atomic bool always_busy; /* each progress burns its budget */
	/* What happened. */
	_Atomic uint32_t inside; /* calls under way: more than one is a bug of the world */
	_Atomic uint32_t overlaps;
	_Atomic uint32_t doorbells, received, sent, commands, progresses, timers, early_timers;
	_Atomic uint64_t served_ns;
	struct nm_counters counters; /* its commands send nothing */
	uint8_t answer[4096];	     /* payload to send, and its length; 0: none */
	uint32_t answer_len;
};

#endif
