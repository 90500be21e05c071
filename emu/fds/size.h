/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of the NIC's own files under the program's RLIMIT_FSIZE, beyond which the kernel would end
 * the program by SIGXFSZ for what it did not do. Any thread.
 */
#ifndef GDAKIT_FDS_SIZE_H
#define GDAKIT_FDS_SIZE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct fds_growth {
	sigset_t before;
	bool pending; /* the program's own */
};

/* Between these two the calling thread gets EFBIG and no signal. Both keep errno. */
void fds_growth_begin(struct fds_growth *g);
void fds_growth_end(const struct fds_growth *g);

/*
 * As ftruncate() of an unnamed file, whose size is that of address space and not of a disk: up to
 * the hard limit, for which the soft one is lifted for the moment of the call. 0, or -1 with errno;
 * EFBIG: it is beyond the hard limit.
 */
int fds_set_size(int fd, off_t bytes);

#endif
