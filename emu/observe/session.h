/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What watches the NICs of one process: its recording, its packet capture, and what `gdakit stat`
 * and sysfs show of it. One session a process; a face starts it when it has made its first NIC and
 * ends it when the process does.
 */
#ifndef GDAKIT_OBSERVE_SESSION_H
#define GDAKIT_OBSERVE_SESSION_H

#include "emu/world/world.h"

struct session;

struct session_config {
	const char *record;	 /* pattern of mapfile_open(); NULL or "": no recording */
	const char *pcap;	 /* likewise */
	const char *check;	 /* directory for what the checker finds; NULL or "": no checker */
	uint32_t record_payload; /* bytes of each packet's payload in the recording */
	const char *version;	 /* of gdakit */
	const char *host;	 /* "127.a.b", or NULL */
	const char *sysfs;	 /* root of the sysfs in which counters are published, or NULL */
	/* A sentence for the user, whatever the run's verbosity. May be called under the NICs'
	 * lock. */
	void (*say)(const char *sentence);
};

/* Every NIC of the session is of world `w`. Strings are used in the call only. NULL: no memory. */
struct session *session_start(struct world *w, const struct session_config *config);
/* Watches a NIC from now on. Not from within the world. */
void session_add(struct session *s, struct world_nic *n);
/* Takes the observers away and closes the files, with a word about what went wrong. */
void session_end(struct session *s);
/* In the child of a fork, instead of session_end(). */
void session_abandon(struct session *s);

#endif
