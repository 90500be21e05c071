// SPDX-License-Identifier: BSD-3-Clause
/*
 * The connection manager's part of the preload. write(), because rdma_ucm takes its commands so;
 * and getifaddrs(), which shows an interface a device: programs look among the machine's interfaces
 * for addresses that rdma_bind_addr() can bind, and pass over the loopback, where the devices'
 * addresses really are.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/uverbs/cm.h"

#define VISIBLE __attribute__((visibility("default")))

/* open() and its twins; `next` of the same name. A mode that is not given is not looked at. */
#define DEFINE_OPEN(name)                                                                          \
	VISIBLE int name(const char *path, int flags, ...);                                        \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		static _Atomic(int (*)(const char *, int, ...)) next;                              \
		mode_t mode = 0;                                                                   \
		va_list ap;                                                                        \
                                                                                                   \
		if (flags & (O_CREAT | __O_TMPFILE)) {                                             \
			va_start(ap, flags);                                                       \
			mode = va_arg(ap, mode_t);                                                 \
			va_end(ap);                                                                \
		}                                                                                  \
		if (!next)                                                                         \
			next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);           \
		return opened(path, next(path, flags, mode));                                      \
	}

static int opened(const char *path, int fd)
{
	if (fd < 0 || strncmp(path, UV_NODE_DIR, sizeof(UV_NODE_DIR) - 1) != 0)
		return fd;
	if (!strcmp(path, CM_NODE))
		cm_opened(fd);
	uv_node_opened(fd, path);
	return fd;
}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

VISIBLE ssize_t write(int fd, const void *buf, size_t len);
VISIBLE int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
VISIBLE int getifaddrs(struct ifaddrs **list);
VISIBLE void freeifaddrs(struct ifaddrs *list);

ssize_t write(int fd, const void *buf, size_t len)
{
	const int before = errno;
	ssize_t ret = cm_write(fd, buf, len);

	if (ret == -ENOTTY) {
		errno = before;
		return syscall(SYS_write, fd, buf, len);
	}
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

/* A channel that has not been written to is still the node, which epoll would not take. */
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD)
		(void)cm_channel(fd);
	return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

/* One of ours, at the end of the list; `entry` comes first, so that a program's pointer is ours. */
struct interface {
	struct ifaddrs entry;
	struct sockaddr_in addr, mask;
	char name[IF_NAMESIZE];
};

static struct ifaddrs *interface(unsigned int device)
{
	struct interface *i = calloc(1, sizeof(*i));
	struct cm_device dev;

	if (!i)
		return NULL;
	cm_device(device, &dev);
	i->addr.sin_family = i->mask.sin_family = AF_INET;
	memcpy(&i->addr.sin_addr, dev.id.gid + 12, 4);
	i->mask.sin_addr.s_addr = htonl(0xffffff00);
	snprintf(i->name, sizeof(i->name), UV_NETDEV_NAME "%u", device % UV_MAX_NICS);
	i->entry.ifa_name = i->name;
	i->entry.ifa_flags = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
	i->entry.ifa_addr = (struct sockaddr *)&i->addr;
	i->entry.ifa_netmask = (struct sockaddr *)&i->mask;
	return &i->entry;
}

int getifaddrs(struct ifaddrs **list)
{
	int (*next)(struct ifaddrs **) = (int (*)(struct ifaddrs **))dlsym(RTLD_NEXT, "getifaddrs");
	struct ifaddrs **tail = list;
	int ret = next ? next(list) : -1;

	if (ret || !getenv(UV_ENV_HOST))
		return ret;
	while (*tail)
		tail = &(*tail)->ifa_next;
	for (unsigned int i = 0; i < uv_nics() && (*tail = interface(i)); i++)
		tail = &(*tail)->ifa_next;
	return 0;
}

/* glibc frees a list as one block, which begins with its first entry; ours are blocks of their own.
 */
void freeifaddrs(struct ifaddrs *list)
{
	void (*next)(struct ifaddrs *) =
		(void (*)(struct ifaddrs *))dlsym(RTLD_NEXT, "freeifaddrs");
	struct ifaddrs **p = &list, *ours;

	while (*p && strncmp((*p)->ifa_name, UV_NETDEV_NAME, strlen(UV_NETDEV_NAME)) != 0)
		p = &(*p)->ifa_next;
	ours = *p;
	*p = NULL;
	while (ours) {
		struct ifaddrs *i = ours;

		ours = i->ifa_next;
		free(i);
	}
	if (list && next)
		next(list);
}
