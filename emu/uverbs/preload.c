// SPDX-License-Identifier: BSD-3-Clause
/*
 * libgdakit_uverbs.so, preloaded by `gdakit run`. It takes over ioctl(), and of its requests the
 * one that speaks to an RDMA device; and close() with its relatives, and of all descriptors those
 * of opened devices, and the NIC's own, which a program that closes everything does not mean; and
 * munmap(), to say what becomes of doorbells.
 * Everything else goes to the kernel at once, by a raw system call: this may run before
 * constructors, in a signal handler, or in a child of vfork(). (So close() is no cancellation point
 * here.)
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/uverbs/uv.h"

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...);
__attribute__((visibility("default"))) int close(int fd);
__attribute__((visibility("default"))) void *ibv_import_device(int cmd_fd);
__attribute__((visibility("default"))) int close_range(unsigned int first, unsigned int last,
						       int flags);
__attribute__((visibility("default"))) void closefrom(int low);
__attribute__((visibility("default"))) int munmap(void *addr, size_t len);

int close(int fd)
{
	if (fds_is_own(fd)) {
		errno = EBADF; /* as it would be without us */
		return -1;
	}
	uv_closing(fd);
	return (int)syscall(SYS_close, fd);
}

/* With flags nothing is closed now, or in a table of descriptors that is this thread's alone. */
int close_range(unsigned int first, unsigned int last, int flags)
{
	if (flags || first > last)
		return (int)syscall(SYS_close_range, first, last, flags);
	uv_closing_range(first, last);
	for (;;) {
		int next = first <= INT_MAX ? fds_next_own((int)first) : -1;
		unsigned int own = (unsigned int)next;

		if (next < 0 || own > last)
			return (int)syscall(SYS_close_range, first, last, 0);
		if (own > first && syscall(SYS_close_range, first, own - 1, 0))
			return -1;
		if (own == last)
			return 0;
		first = own + 1;
	}
}

int munmap(void *addr, size_t len)
{
	uv_unmapping(addr, len);
	return (int)syscall(SYS_munmap, addr, len);
}

/* Where the kernel or a container does not know close_range(): one by one. */
void closefrom(int low)
{
	struct rlimit limit;

	low = low < 0 ? 0 : low;
	if (!close_range((unsigned int)low, UINT_MAX, 0) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	for (int fd = low; fd < INT_MAX && (rlim_t)fd < limit.rlim_cur; fd++)
		close(fd);
}

/*
 * libibverbs would look for the character device behind the descriptor and find a memfd, which is
 * EINVAL and says nothing. Programs know EOPNOTSUPP as the answer of a device that cannot do it.
 */
void *ibv_import_device(int cmd_fd)
{
	uv_warn("ibv_import_device: a context cannot be imported by its descriptor (%d) under "
		"gdakit "
		"run: open the device again",
		cmd_fd);
	errno = EOPNOTSUPP;
	return NULL;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	/* Callers pass the number as an int as often as not: the kernel compares 32 bits. */
	if ((uint32_t)request == (uint32_t)RDMA_VERBS_IOCTL) {
		ret = uv_ioctl(fd, arg);
		if (ret != -ENOTTY) {
			if (ret >= 0)
				return ret;
			errno = -ret;
			return -1;
		}
	}
	return (int)syscall(SYS_ioctl, fd, request, arg);
}
