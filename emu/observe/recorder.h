/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a recording (recording.h): an observer of every NIC of a process. Nothing is buffered:
 * what was recorded is in the file when the observer returns. Guarded by the lock of the NICs.
 */
#ifndef GDAKIT_OBSERVE_RECORDER_H
#define GDAKIT_OBSERVE_RECORDER_H

#include "emu/nicmodel/nm.h"
#include "emu/observe/mapfile.h"
#include "emu/observe/recording.h"

enum { RECORDER_NICS = 16 };

struct recorder_nic {
	struct nm_observer observer; /* to be added to its NIC */
	struct recorder *recorder;
	uint16_t index;
};

struct recorder {
	struct mapfile file;
	uint32_t payload_max; /* bytes of a packet's payload that are kept */
	uint64_t events;
	uint64_t libraries; /* loads of this process when they were written; 0: never */
	uint64_t tx_at;	    /* where the last record begins, if it is a TX; else UINT64_MAX */
	unsigned int nnics;
	struct recorder_nic nic[RECORDER_NICS];
};

/* 0, or -errno with file.why. See mapfile_open() for the pattern. */
int recorder_open(struct recorder *r, const char *pattern, uint32_t payload_max);
/* A fact about the run; values are cut at 64 KiB. */
void recorder_text(struct recorder *r, const char *key, const char *value);
/* `library`: "PATH BUILD-ID" of each file that is mapped into this process, unless none came since
 * the last call. */
void recorder_libraries(struct recorder *r);
/* Writes who the NIC is; returns its observer, NULL: there are too many. */
struct nm_observer *recorder_add(struct recorder *r, const struct nm_config *config,
				 const uint8_t gid[16]);
/* The observers have been removed. file.why says what went wrong in all that time, if anything. */
void recorder_close(struct recorder *r);

#endif
