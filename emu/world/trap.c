// SPDX-License-Identifier: BSD-3-Clause
/*
 * Doorbells that announce themselves, for a NIC that has been idle for a while.
 *
 * Looking at memory a thousand times a second is what "served within a millisecond" costs, and
 * where timers are virtual that is more than one percent of a core. So the thread of an idle NIC
 * write-protects the program's mappings of the UAR pages with userfaultfd(2), and sleeps: the store
 * that rings is held up by the kernel, the descriptor becomes readable, the thread takes the
 * protection away, and the store goes through. No signal is involved, and the NIC's own mapping of
 * the pages is another one, which stays writable.
 *
 * Which mappings those are is read from /proc/self/maps: every shared mapping of a file that also
 * lies in the NIC's UAR range. A page that is given out later comes with a command, which ends the
 * idleness.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/world/world_priv.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1 /* since Linux 5.11 */
#endif

enum { TRAP_MAX_FILES = 64, TRAP_RANGES_STEP = 64 };

struct mapping {
	uint64_t start, end;
	uint64_t dev, inode;
	bool shared_writable;
};

bool trap_init(struct trap *t)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};

	t->armed = false;
	t->nranges = 0;
	t->fd = fds_own(
		(int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
	if (t->fd < 0)
		return false;
	if (ioctl(t->fd, UFFDIO_API, &api)) {
		fds_close(t->fd);
		t->fd = -1;
		return false;
	}
	return true;
}

void trap_fini(struct trap *t)
{
	if (t->fd >= 0)
		fds_close(t->fd); /* unregisters, and lets go of whoever is held up */
	t->fd = -1;
	t->armed = false;
	free(t->ranges);
	t->ranges = NULL;
	t->cap = 0;
}

static bool parse_mapping(const char *line, struct mapping *m)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, perms, &offset, &major,
		   &minor, &inode) != 7)
		return false;
	m->start = start;
	m->end = end;
	m->dev = (uint64_t)major << 32 | minor;
	m->inode = inode;
	m->shared_writable = perms[1] == 'w' && perms[3] == 's';
	return true;
}

static bool inside_uars(const struct trap_uars *uars, unsigned int nuars, const struct mapping *m)
{
	for (unsigned int i = 0; i < nuars; i++) {
		if (m->start < uars[i].start + uars[i].len && m->end > uars[i].start)
			return true;
	}
	return false;
}

static bool known_file(const struct mapping *files, unsigned int nfiles, const struct mapping *m)
{
	for (unsigned int i = 0; i < nfiles; i++) {
		if (files[i].dev == m->dev && files[i].inode == m->inode)
			return true;
	}
	return false;
}

static bool protect(struct trap *t, const struct trap_uars *range, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = {.start = range->start, .len = range->len},
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(t->fd, UFFDIO_WRITEPROTECT, &wp) == 0;
}

/* For one range more. */
static bool room(struct trap *t)
{
	struct trap_uars *ranges;

	if (t->nranges < t->cap)
		return true;
	if (t->cap >= TRAP_MAX_RANGES)
		return false;
	ranges = realloc(t->ranges, (t->cap + TRAP_RANGES_STEP) * sizeof(*ranges));
	if (!ranges)
		return false;
	t->ranges = ranges;
	t->cap += TRAP_RANGES_STEP;
	return true;
}

static bool add_range(struct trap *t, const struct mapping *m)
{
	struct uffdio_register reg = {
		.range = {.start = m->start, .len = m->end - m->start},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct trap_uars *range;

	if (!room(t) || ioctl(t->fd, UFFDIO_REGISTER, &reg))
		return false;
	range = &t->ranges[t->nranges++];
	range->start = m->start;
	range->len = m->end - m->start;
	return protect(t, range, true);
}

/* One pass over the mappings of this process: the files under the NIC's UAR pages, or all other
 * mappings of them. */
static bool scan(struct trap *t, const struct trap_uars *uars, unsigned int nuars,
		 struct mapping *files, unsigned int *nfiles, bool collect)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool ok = maps != NULL;

	while (ok && fgets(line, sizeof(line), maps)) {
		struct mapping m;

		/* A GPU may hold UAR pages too, and its stores are seen by no page table of ours.
		 */
		if (strstr(line, "/dev/nvidia")) {
			ok = false;
			break;
		}
		if (!parse_mapping(line, &m) || !m.shared_writable || m.inode == 0)
			continue;
		if (inside_uars(uars, nuars, &m)) {
			if (!collect || known_file(files, *nfiles, &m))
				continue;
			ok = *nfiles < TRAP_MAX_FILES;
			if (ok)
				files[(*nfiles)++] = m;
		} else if (!collect && known_file(files, *nfiles, &m)) {
			ok = add_range(t, &m);
		}
	}
	if (maps)
		fclose(maps);
	return ok;
}

bool trap_arm(struct trap *t, const struct trap_uars *uars, unsigned int nuars)
{
	struct mapping files[TRAP_MAX_FILES];
	unsigned int nfiles = 0;

	if (t->fd < 0)
		return false;
	t->nranges = 0;
	t->armed = true;
	if (scan(t, uars, nuars, files, &nfiles, true) &&
	    scan(t, uars, nuars, files, &nfiles, false) && t->nranges)
		return true;
	trap_disarm(t);
	return false;
}

void trap_disarm(struct trap *t)
{
	struct uffd_msg msg;

	if (!t->armed)
		return;
	for (unsigned int i = 0; i < t->nranges; i++)
		protect(t, &t->ranges[i],
			false); /* fails where the program has unmapped it: fine */
	while (read(t->fd, &msg, sizeof(msg)) == sizeof(msg))
		; /* each is a store that may now go on; bounded by the program's threads */
	t->armed = false;
}
