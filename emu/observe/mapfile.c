// SPDX-License-Identifier: BSD-3-Clause
#include "emu/fds/fds.h"
#include "emu/fds/size.h"
#include "emu/observe/mapfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NAME_TRIES = 1000,
	MAP_BYTES = 2 * MAPFILE_WINDOW, /* an entry may cross the end of a window */
	LEAST_STEP = 4096,		/* of what is asked for on a disk that is nearly full */
};

static int failed(struct mapfile *f, int err, const char *what)
{
	if (!f->why[0])
		snprintf(f->why, sizeof(f->why), "%s: %s%s%s", f->path, what, err ? ": " : "",
			 err ? strerror(err) : "");
	return err ? -err : -EINVAL;
}

bool mapfile_name(char path[PATH_MAX], const char *pattern, bool *each)
{
	size_t n = 0;

	*each = false;
	for (const char *p = pattern; *p; p++) {
		int len = 1;

		if (n >= PATH_MAX - 16)
			return false;
		if (p[0] == '%' && p[1] == 'p') {
			len = snprintf(path + n, PATH_MAX - n, "%d", (int)getpid());
			*each = true;
			p++;
		} else {
			p += p[0] == '%' && p[1] == '%';
			path[n] = *p;
		}
		n += (size_t)len;
	}
	path[n] = '\0';
	return n > 0;
}

/* A new file, or an empty one of ours. -1 with errno: EEXIST: try the next name. */
static int create(const char *path)
{
	struct stat st;
	int fd = fds_own(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		/* Whoever holds the lock writes here; what has bytes was another run's. */
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_size == 0)
			return fd;
		errno = EEXIST;
	} else {
		errno = ENOTSUP;
	}
	fds_close(fd);
	return -1;
}

static int create_first(struct mapfile *f, const char *base, bool each)
{
	int fd = create(base);

	for (unsigned int i = each ? 1 : 0; fd < 0 && errno == EEXIST && i < NAME_TRIES; i++) {
		char tail[32];

		if (each)
			snprintf(tail, sizeof(tail), ".%u", i);
		else if (i == 0)
			snprintf(tail, sizeof(tail), ".%d", (int)getpid());
		else
			snprintf(tail, sizeof(tail), ".%d.%u", (int)getpid(), i);
		if (snprintf(f->path, sizeof(f->path), "%s%s", base, tail) >=
		    (int)sizeof(f->path)) {
			errno = ENAMETOOLONG;
			break;
		}
		fd = create(f->path);
	}
	return fd;
}

int mapfile_open(struct mapfile *f, const char *pattern)
{
	char base[PATH_MAX];
	struct stat st;
	bool each;

	memset(f, 0, sizeof(*f));
	f->fd = -1;
	if (!mapfile_name(base, pattern, &each))
		return failed(f, ENAMETOOLONG, "its name");
	memcpy(f->path, base, sizeof(f->path));
	f->fd = create_first(f, base, each);
	if (f->fd < 0 && errno == ENOTSUP)
		return failed(f, 0, "it is not a regular file: what is recorded is mapped");
	if (f->fd < 0 || fstat(f->fd, &st))
		return failed(f, errno, "cannot be made");
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

/* Asks for the bytes from `off` on: MAP_BYTES, or the pages that are left. 0 if `len` bytes behind
 * pos are among them. */
static int allocate(struct mapfile *f, uint64_t off, size_t len)
{
	struct fds_growth growth;
	uint64_t end = off;
	int err = 0, ret;

	fds_growth_begin(&growth);
	for (uint64_t step = MAP_BYTES; step >= LEAST_STEP && end < off + MAP_BYTES; step /= 2) {
		ret = posix_fallocate(f->fd, (off_t)end, (off_t)step);
		if (!ret)
			end += step;
		else
			err = ret;
		if (ret && ret != ENOSPC && ret != EFBIG && ret != EDQUOT)
			break;
	}
	fds_growth_end(&growth);
	f->end = end;
	return f->pos + len <= end ? 0 : err;
}

/* Maps the window that holds pos. */
static int move_window(struct mapfile *f, size_t len)
{
	uint64_t off = f->pos & ~(uint64_t)(MAPFILE_WINDOW - 1);
	void *map;
	int err;

	err = allocate(f, off, len);
	if (err)
		return failed(f, err, "no room for more");
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, (off_t)off);
	if (map == MAP_FAILED)
		return failed(f, errno, "cannot be mapped");
	if (f->map)
		munmap(f->map, MAP_BYTES);
	f->map = map;
	f->map_off = off;
	return 0;
}

void *mapfile_reserve(struct mapfile *f, size_t len)
{
	assert(len <= MAPFILE_RESERVE_MAX);
	if (f->fd < 0 || f->why[0])
		return NULL;
	if ((!f->map || f->pos - f->map_off >= MAPFILE_WINDOW || f->pos + len > f->end) &&
	    move_window(f, len))
		return NULL;
	return f->map + (f->pos - f->map_off);
}

void mapfile_commit(struct mapfile *f, size_t len)
{
	assert(f->map && f->pos + len <= f->end);
	f->pos += len;
}

void *mapfile_rewind(struct mapfile *f, size_t len)
{
	assert(f->map && f->pos - f->map_off >= len);
	f->pos -= len;
	return f->map + (f->pos - f->map_off);
}

uint64_t mapfile_room(const struct mapfile *f)
{
	return f->map ? f->end - f->pos : 0;
}

/* The program may have closed our descriptor and opened another file under its number. */
static bool still_ours(const struct mapfile *f)
{
	struct stat st;

	return f->fd >= 0 && !fstat(f->fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino;
}

void mapfile_close(struct mapfile *f)
{
	if (f->map)
		munmap(f->map, MAP_BYTES);
	f->map = NULL;
	if (still_ours(f)) {
		if (ftruncate(f->fd, (off_t)f->pos))
			failed(f, errno, "cannot be cut to its length");
		fds_close(f->fd);
	}
	f->fd = -1;
}

void mapfile_abandon(struct mapfile *f)
{
	if (f->map)
		munmap(f->map, MAP_BYTES);
	f->map = NULL;
	if (still_ours(f))
		fds_close(f->fd);
	f->fd = -1;
}
