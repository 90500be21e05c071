/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How `gdakit stat` asks the processes of `gdakit run`: each answers on a socket of its own, in the
 * abstract namespace, so that no daemon and no file is needed and nothing is left of a killed one.
 *
 *     @gdakit-stat/UID/127.a.b/SLOT      UID: effective user; SLOT: bits 23:16 of its QPNs; where
 *                                        that name is taken, SLOT-PID
 *
 * SOCK_SEQPACKET: a request is answered by one message about a NIC and STAT_QPS of its QPs; a
 * caller asks on from the last QPN. Both are of one machine and one version of this file. The
 * process that answers takes the caller's word for nothing: its user is the kernel's, numbers are
 * bounded.
 */
#ifndef GDAKIT_OBSERVE_STAT_H
#define GDAKIT_OBSERVE_STAT_H

#include <stdint.h>

#include "emu/nicmodel/nm.h"
#include "emu/observe/publish.h"
#include "emu/world/world.h"

#define STAT_PREFIX "gdakit-stat/"
enum {
	STAT_MAGIC = 0x67647374,
	STAT_VERSION = 1,
	STAT_QPS = 32,
	STAT_COMMAND_MAX = 256,
	STAT_NICS = 16,
};

struct stat_request {
	uint32_t magic, version;
	uint32_t nic;	   /* index in the process */
	uint32_t from_qpn; /* QPs from this number on */
};

struct stat_qp {
	uint32_t qpn, remote_qpn;
	uint8_t st, state, reserved[6];
	struct nm_counters counters;
};

struct stat_reply {
	uint32_t magic, version;
	uint32_t bytes;	    /* of this message */
	uint32_t ncounters; /* NM_NCOUNTERS of who answers */
	uint32_t pid;
	uint32_t nics; /* of the process; a request beyond them has no name */
	char device[16];
	uint8_t gid[16];
	uint8_t ethernet, reserved[7];
	char command[STAT_COMMAND_MAX]; /* of the process, with its first arguments */
	struct nm_counters counters;	/* of the NIC */
	uint32_t nqps, reserved2;
	struct stat_qp qps[STAT_QPS];
};

struct stat_server;

/*
 * Answers for the NICs of a world, from a thread of its own, and publishes their counters
 * (publish.h) into the sysfs at `sysfs` if it is not NULL. `host`: "127.a.b". NULL: no socket, no
 * thread.
 */
struct stat_server *stat_start(struct world *w, const char *host, const char *sysfs);
/* One more NIC. */
void stat_add(struct stat_server *s, struct world_nic *n);
/* Publishes for the last time, ends the thread. */
void stat_end(struct stat_server *s);
/* The program and its arguments, with spaces between, as far as they fit in `size` bytes. */
void stat_command_line(char *text, size_t size);
/* In the child of a fork. */
void stat_abandon(struct stat_server *s);

#endif
