// SPDX-License-Identifier: BSD-3-Clause
/* The server's socket and thread. */
#include "emu/qemu/vfu.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/fds/thread.h"
#include "emu/qemu/vfu_priv.h"

enum {
	BACKLOG = 4,
	SEND_PATIENCE_S = 5, /* for a client that does not read its replies */
};

struct vfu *vfu_create(const struct vfu_config *config)
{
	struct vfu *v;

	if (!config->ops || config->vectors > VFU_VECTORS_MAX)
		return NULL;
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->config = *config;
	for (uint32_t i = 0; i < VFU_VECTORS_MAX; i++)
		v->vectors[i] = -1;
	pthread_mutex_init(&v->irq_lock, NULL);
	atomic_init(&v->stop, false);
	v->listener = -1;
	v->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (v->wake < 0) {
		pthread_mutex_destroy(&v->irq_lock);
		free(v);
		return NULL;
	}
	return v;
}

/* ---- one client ---- */

struct conn {
	struct vfu *v;
	int fd;
	int fds[VFU_FDS_MAX]; /* of the message that is being read */
	uint32_t nfds;
	const char *why; /* it ended for */
};

static void close_fds(struct conn *c)
{
	for (uint32_t i = 0; i < c->nfds; i++) {
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	}
	c->nfds = 0;
}

/* Descriptors beyond what a message may have are closed at once: it will not have the right
 * number. */
static void keep_fds(struct conn *c, struct msghdr *msg)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(msg); m; m = CMSG_NXTHDR(msg, m)) {
		size_t n;

		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
			continue;
		n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(m) + i * sizeof(int), sizeof(fd));
			if (c->nfds < VFU_FDS_MAX)
				c->fds[c->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* True: there is something to read, or the end of it. False: the server stops. */
static bool wait_readable(struct vfu *v, int fd)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = v->wake, .events = POLLIN}};

	while (!atomic_load(&v->stop)) {
		int n = poll(p, 2, -1);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0 && p[0].revents)
			return true;
	}
	return false;
}

/* Exactly `len` bytes; false: the client has gone, or the server stops. */
static bool receive(struct conn *c, void *buf, size_t len)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(VFU_FDS_MAX * sizeof(int))];
	} control;
	uint8_t *at = buf;

	while (len) {
		struct iovec iov = {.iov_base = at, .iov_len = len};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EAGAIN) {
			if (!wait_readable(c->v, c->fd))
				return false;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		keep_fds(c, &msg);
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool send_all(int fd, const void *buf, size_t len)
{
	const uint8_t *at = buf;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

_Static_assert(offsetof(struct vfu_reply, body) ==
		       offsetof(struct vfu_reply, head) + sizeof(struct vfu_header),
	       "a reply is sent as it lies there");

static bool serve_one(struct conn *c)
{
	struct vfu *v = c->v;
	struct vfu_message m = {.body = v->body, .fds = c->fds};
	bool go_on;

	if (!receive(c, &m.head, sizeof(m.head)))
		return false;
	c->why = vfu_header_fault(v, &m.head);
	if (c->why)
		return false;
	if (!receive(c, v->body, m.head.size - sizeof(m.head)))
		return false;
	m.nfds = c->nfds;
	go_on = vfu_execute(v, &m, &v->reply, &c->why);
	close_fds(c);
	if (go_on && !v->reply.none)
		go_on = send_all(c->fd, &v->reply.head, v->reply.head.size);
	return go_on;
}

void vfu_serve(struct vfu *v, int fd)
{
	struct timeval patience = {.tv_sec = SEND_PATIENCE_S};
	struct conn c = {.v = v, .fd = fd};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (serve_one(&c))
		;
	if (c.why && v->config.verbose)
		fprintf(stderr, "vfio-user: the connection ends: %s\n", c.why);
	close_fds(&c);
	vfu_forget_client(v);
	close(fd);
}

/* ---- one after the other ---- */

static void *server_thread(void *arg)
{
	struct vfu *v = arg;

	while (wait_readable(v, v->listener)) {
		int fd = accept4(v->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			vfu_serve(v, fd);
	}
	return NULL;
}

int vfu_listen(struct vfu *v, const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int err;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path); /* NOLINT: its length is checked */
	v->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (v->listener < 0)
		return -errno;
	if (bind(v->listener, (struct sockaddr *)&sun, sizeof(sun)) ||
	    listen(v->listener, BACKLOG)) {
		err = errno;
		close(v->listener);
		v->listener = -1;
		return -err;
	}
	memcpy(v->path, sun.sun_path, sizeof(v->path));
	err = nic_thread_start(&v->thread, "gdakit-vfu", 0, server_thread, v);
	v->running = err == 0;
	return -err;
}

void vfu_stop(struct vfu *v)
{
	const uint64_t one = 1;

	atomic_store(&v->stop, true);
	if (v->running && write(v->wake, &one, sizeof(one)) == sizeof(one))
		pthread_join(v->thread, NULL);
	v->running = false;
}

void vfu_destroy(struct vfu *v)
{
	if (!v)
		return;
	vfu_stop(v);
	if (v->listener >= 0)
		close(v->listener);
	if (v->path[0])
		unlink(v->path);
	for (uint32_t i = 0; i < VFU_VECTORS_MAX; i++) {
		if (v->vectors[i] >= 0)
			close(v->vectors[i]);
	}
	close(v->wake);
	pthread_mutex_destroy(&v->irq_lock);
	free(v);
}
