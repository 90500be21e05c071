/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that grows at its end and is readable up to the last entry whatever becomes of the
 * process: entries are written into a shared mapping of the file, which is the kernel's once
 * written, so neither SIGKILL nor exec() loses one. Room is asked of the file system ahead, so a
 * full disk is an error and no SIGBUS. What lies behind the last entry is zero until the file is
 * closed, which cuts it off.
 *
 * Guarded by the caller (an observer runs under its NIC's lock).
 */
#ifndef GDAKIT_OBSERVE_MAPFILE_H
#define GDAKIT_OBSERVE_MAPFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	MAPFILE_WINDOW = 1 << 20,      /* bytes that are mapped and asked for at once */
	MAPFILE_RESERVE_MAX = 1 << 18, /* of one entry */
	MAPFILE_WHY_MAX = 256 + PATH_MAX,
};

struct mapfile {
	int fd; /* -1: not open */
	dev_t dev;
	ino_t ino;
	uint8_t *map;
	uint64_t map_off; /* bytes before the window */
	uint64_t end;	  /* bytes that the file system has room for */
	uint64_t pos;	  /* bytes written */
	char path[PATH_MAX];
	char why[MAPFILE_WHY_MAX]; /* the first thing that went wrong; "": nothing */
};

/*
 * The file name of this process: `%p` in the pattern is its pid, `%%` a `%`. False: too long.
 * *each is set if the pattern names a file for each process.
 */
bool mapfile_name(char path[PATH_MAX], const char *pattern, bool *each);

/*
 * Makes the file of this process and locks it (flock) for as long as it is open. A name without
 * `%p` is taken by the first process; the others, and a process that opens a second one, get the
 * first free of `name.PID`, `name.PID.1`... 0, or -errno with f->why.
 */
int mapfile_open(struct mapfile *f, const char *pattern);

/*
 * Room for an entry of at most `len` bytes (up to MAPFILE_RESERVE_MAX), zeroed; NULL: it cannot be
 * had, f->why says why, and never again. Aligned to 4 if all entries are multiples of 4, to 8 if
 * of 8.
 */
void *mapfile_reserve(struct mapfile *f, size_t len);
/* The last `reserve` holds an entry of `len` bytes. */
void mapfile_commit(struct mapfile *f, size_t len);
/* Takes the last `len` bytes back, which must have been committed last; returns where they are:
 * they are the caller's to clear. */
void *mapfile_rewind(struct mapfile *f, size_t len);
/* Bytes behind the last entry that are mapped and allocated. */
uint64_t mapfile_room(const struct mapfile *f);

/* Ends the file, with a sentence in f->why if it is given; it keeps what is in it. */
void mapfile_close(struct mapfile *f);
/* In the child of a fork: the file is the parent's. */
void mapfile_abandon(struct mapfile *f);

#endif
