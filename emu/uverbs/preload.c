// SPDX-License-Identifier: BSD-3-Clause
/*
 * libgdakit_uverbs.so, preloaded by `gdakit run`. It takes over ioctl(), and of its requests the
 * one that speaks to an RDMA device; and close(), and of all descriptors those of opened devices.
 * Everything else goes to the kernel at once, by a raw system call: this may run before
 * constructors, in a signal handler, or in a child of vfork(). (So close() is no cancellation point
 * here.)
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/uverbs/uv.h"

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...);
__attribute__((visibility("default"))) int close(int fd);

int close(int fd)
{
	uv_closing(fd);
	return (int)syscall(SYS_close, fd);
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
