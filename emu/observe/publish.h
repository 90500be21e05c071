/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC's counters in the files where support people look for them: ports/1/counters and
 * ports/1/hw_counters of its device in sysfs, which `gdakit run` has made writable directories.
 *
 * A device is one for all processes of a host, so the files hold sums. Each process owns a block of
 * `gdakit/blocks` beside `ports`, by a lock that the kernel takes back when the process dies; the
 * block goes on from what its last owner left, so nothing is lost or counted twice when a process
 * is killed. Not thread-safe.
 */
#ifndef GDAKIT_OBSERVE_PUBLISH_H
#define GDAKIT_OBSERVE_PUBLISH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu/nicmodel/nm.h"

/* Directories of a device, below class/infiniband/NAME, that processes write to. */
#define PUBLISH_BLOCKS_DIR "gdakit"
#define PUBLISH_BLOCKS	   PUBLISH_BLOCKS_DIR "/blocks"
#define PUBLISH_PORT	   "ports/1/"

/* A file of the port. */
struct publish_file {
	const char *path;  /* below ports/1 */
	size_t off;	   /* in struct nm_counters; SIZE_MAX: always 0 here */
	size_t minus;	   /* what is taken off it; SIZE_MAX: nothing */
	uint8_t shift;	   /* value >> shift is what the file says */
	const char *fixed; /* else what it always says, if not NULL */
};
enum { PUBLISH_FILES_MAX = 64 };
/* All of them; *count is at most PUBLISH_FILES_MAX. */
const struct publish_file *publish_files(unsigned int *count);

struct publisher {
	int fd; /* of the blocks; -1: nothing is published */
	dev_t dev;
	ino_t ino;
	uint32_t block;
	struct nm_counters base, last;
	uint64_t shown[PUBLISH_FILES_MAX];
	char dir[PATH_MAX]; /* class/infiniband/NAME */
};

/*
 * Takes a block. False: the device's files are not those of a `gdakit run` (real sysfs is never
 * written to), or cannot be written.
 */
bool publish_open(struct publisher *p, const char *sysfs, const char *device);
/* The NIC has counted so much since publish_open(). True if the files changed. */
bool publish_update(struct publisher *p, const struct nm_counters *now);
void publish_close(struct publisher *p);

#endif
