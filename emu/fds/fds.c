// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/fds/fds.h"

enum {
	HIGH_FD = 512, /* below the usual limit of 1024, above what programs reach or name */
	FDS_KNOWN = 4096,
	WORDS = FDS_KNOWN / 64,
};

static _Atomic uint64_t owned[WORDS];
static _Atomic pid_t owner; /* the process whose descriptors these are */
static pthread_mutex_t owner_lock = PTHREAD_MUTEX_INITIALIZER;

/* Past the preload's close(), which refuses what the NIC owns. ThreadSanitizer has to see it: the
 * descriptor's number comes back in another thread. There is no preload in its programs. */
static void close_raw(int fd)
{
#ifdef __SANITIZE_THREAD__
	close(fd);
#else
	syscall(SYS_close, fd);
#endif
}

/* The first in a process forgets what its parent owned. */
static void become_owner(void)
{
	pid_t me = getpid();

	if (atomic_load(&owner) == me)
		return;
	pthread_mutex_lock(&owner_lock);
	if (atomic_load(&owner) != me) {
		for (int i = 0; i < WORDS; i++)
			atomic_store(&owned[i], 0);
		atomic_store(&owner, me);
	}
	pthread_mutex_unlock(&owner_lock);
}

int fds_own(int fd)
{
	int high, saved = errno;

	if (fd < 0)
		return fd;
	become_owner();
	high = fd < HIGH_FD ? fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD) : -1;
	if (high >= 0) {
		close_raw(fd);
		fd = high;
	}
	if (fd < FDS_KNOWN)
		atomic_fetch_or(&owned[fd / 64], UINT64_C(1) << fd % 64);
	errno = saved;
	return fd;
}

void fds_close(int fd)
{
	int saved = errno;

	if (fd < 0)
		return;
	/* First, or another thread's new descriptor of this number would lose its mark. */
	if (fd < FDS_KNOWN)
		atomic_fetch_and(&owned[fd / 64], ~(UINT64_C(1) << fd % 64));
	close_raw(fd);
	errno = saved;
}

int fds_next_own(int fd)
{
	if (fd < 0)
		fd = 0;
	for (int w = fd / 64; w < WORDS; w++) {
		uint64_t word = atomic_load_explicit(&owned[w], memory_order_relaxed);

		if (w == fd / 64)
			word &= UINT64_MAX << fd % 64;
		if (word)
			return getpid() == atomic_load(&owner) ? w * 64 + __builtin_ctzll(word)
							       : -1;
	}
	return -1;
}

bool fds_is_own(int fd)
{
	return fd >= 0 && fd < FDS_KNOWN &&
	       atomic_load_explicit(&owned[fd / 64], memory_order_relaxed) >> fd % 64 & 1 &&
	       getpid() == atomic_load(&owner);
}
