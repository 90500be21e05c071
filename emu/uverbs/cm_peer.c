// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sockets of the connection manager. A port of a simulated host is an abstract Unix socket, named
 * after user, host, port space and port: bind() makes it unique, and the kernel takes it back when
 * the process goes. Each connection is one SOCK_SEQPACKET connection, for as long as either end
 * wants to hear of the other.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/fds/thread.h"
#include "emu/uverbs/cm.h"

enum { PORT_TRIES = 64, ACCEPTS = 64, MESSAGES = 16, EVENTS = 64, AGAIN_MS = 5 };
enum { WAKE = CM_WATCHES }; /* in the keys of epoll, behind enum cm_watch */

static int epoll_fd = -1, wake_fd = -1;
static uint32_t port_seed;

/* ---- names ---- */

static socklen_t name_of(struct sockaddr_un *sa, uint8_t a, uint8_t b, uint16_t ps, uint16_t port)
{
	int n;

	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "gdakit-cm/%u/127.%u.%u/%x/%u",
		     (unsigned int)geteuid(), a, b, ps, port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int claim(uint16_t ps, uint16_t port)
{
	struct sockaddr_un sa;
	struct cm_device dev;
	socklen_t len;
	int fd, err;

	cm_device(0, &dev);
	len = name_of(&sa, dev.id.a, dev.id.b, ps, port);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&sa, len))
		return fds_own(fd);
	err = errno;
	fds_close(fd);
	return -err;
}

int cm_port_claim(uint16_t ps, uint16_t *port, int *fd)
{
	const uint32_t range = CM_PORT_LAST - CM_PORT_FIRST + 1;

	if (*port) {
		*fd = claim(ps, *port);
		return *fd < 0 ? *fd : 0;
	}
	for (int i = 0; i < PORT_TRIES; i++) {
		port_seed = port_seed * 1664525 + 1013904223 + (uint32_t)getpid();
		*port = (uint16_t)(CM_PORT_FIRST + (port_seed >> 8) % range);
		*fd = claim(ps, *port);
		if (*fd >= 0)
			return 0;
		if (*fd != -EADDRINUSE)
			return *fd;
	}
	return -EADDRNOTAVAIL;
}

/* ---- connecting ---- */

static int connect_to(uint8_t a, uint8_t b, uint16_t ps, uint16_t port)
{
	struct sockaddr_un sa;
	socklen_t len = name_of(&sa, a, b, ps, port);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&sa, len))
		return fds_own(fd);
	err = errno;
	fds_close(fd);
	return -err;
}

/* A host's later devices have the blocks behind its first, which names it. */
static int connect_host(uint8_t a, uint8_t b, uint16_t ps, uint16_t port)
{
	int fd = -ECONNREFUSED;

	for (unsigned int i = 0, block = (unsigned int)a << 8 | b; i < UV_MAX_NICS && fd < 0; i++)
		fd = connect_to((uint8_t)((block - i) >> 8), (uint8_t)(block - i), ps, port);
	return fd;
}

/* Any host of this machine on which somebody listens there: our own, else the first one found. */
static int connect_machine(uint16_t ps, uint16_t port)
{
	unsigned int uid, a, b, name_ps, name_port;
	struct cm_device dev;
	char *line = NULL;
	size_t cap = 0;
	int fd;
	FILE *f;

	cm_device(0, &dev);
	fd = connect_to(dev.id.a, dev.id.b, ps, port);
	if (fd >= 0)
		return fd;
	f = fopen("/proc/net/unix", "re");
	if (!f)
		return fd;
	while (fd < 0 && getline(&line, &cap, f) > 0) {
		const char *name = strstr(line, "@gdakit-cm/");

		if (name &&
		    sscanf(name, "@gdakit-cm/%u/127.%3u.%3u/%x/%u", &uid, &a, &b, &name_ps,
			   &name_port) == 5 &&
		    uid == geteuid() && name_ps == ps && name_port == port)
			fd = connect_to((uint8_t)a, (uint8_t)b, ps, port);
	}
	free(line);
	fclose(f);
	return fd;
}

int cm_peer_connect(const struct cm_addr *to, uint16_t ps)
{
	return to->kind == CM_ADDR_HOST ? connect_host(to->a, to->b, ps, to->port)
					: connect_machine(ps, to->port);
}

int cm_peer_send(int fd, const struct cm_msg *msg)
{
	return send(fd, msg, sizeof(*msg), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*msg) ? 0
											: -errno;
}

/* ---- the thread ---- */

uint64_t cm_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Identifiers that wait for a listener try again; false: there is none. */
static bool try_again(void)
{
	bool waiting = false;

	for (struct cm_id *id = cm_ids; id; id = id->next) {
		if (id->give_up_ns)
			cm_try_connect(id);
		waiting |= id->give_up_ns != 0;
	}
	return waiting;
}

/* A message, checked: 1; 0: none now; -1: the other end is gone, or talks nonsense. */
static int receive(int fd, struct cm_msg *msg)
{
	uint8_t bytes[sizeof(*msg) + 1];
	const char *wrong;
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	wrong = cm_msg_wrong(bytes, (size_t)n);
	if (wrong) {
		uv_say("rdma_cm: a message of %zd bytes from another process: %s: hung up", n,
		       wrong);
		return -1;
	}
	memcpy(msg, bytes, sizeof(*msg));
	return 1;
}

/* Abstract names are open to everyone on the machine. */
static bool same_user(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) && cred.uid == geteuid();
}

/* Visitors of a listener that have not said what they want; each must do so at once. */
static void serve_listener(struct cm_id *id)
{
	struct cm_msg msg;
	int fd, got;

	for (int i = 0; i < ACCEPTS; i++) {
		struct pollfd p = {.events = POLLIN};

		fd = fds_own(accept4(id->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
		if (fd < 0)
			return;
		if (!same_user(fd)) {
			fds_close(fd);
			continue;
		}
		/* connect() and the request's send() follow each other in cm_connect(). */
		p.fd = fd;
		(void)poll(&p, 1, 100);
		got = receive(fd, &msg);
		if (got == 1 && (msg.type == CM_MSG_REQ || msg.type == CM_MSG_SIDR_REQ))
			cm_on_request(id, fd, &msg);
		else
			fds_close(fd);
	}
}

static void serve_peer(struct cm_id *id)
{
	struct cm_msg msg;
	int got = 1;

	for (int i = 0; i < MESSAGES && got == 1 && id->peer >= 0; i++) {
		got = receive(id->peer, &msg);
		if (got == 1)
			cm_on_message(id, &msg);
		else if (got < 0)
			cm_on_hangup(id);
	}
}

static struct cm_id *id_of_handle(uint32_t handle)
{
	struct cm_id *id = cm_ids;

	while (id && id->handle != handle)
		id = id->next;
	return id;
}

/* The channel's reader is gone: so are its identifiers (rdma_ucm's close). */
static void close_file(struct cm_file *file)
{
	struct cm_file **p = &cm_files;
	struct cm_id *id, *next;

	cm_events_drop(file);
	for (id = cm_ids; id; id = next) {
		next = id->next;
		if (id->file == file)
			cm_id_free(id);
	}
	while (*p && *p != file)
		p = &(*p)->next;
	if (*p)
		*p = file->next;
	cm_file_forget(file);
	cm_watched_close(file->signal);
	free(file);
}

static void serve(uint64_t key)
{
	const uint32_t which = (uint32_t)key;
	struct cm_id *id;

	switch (key >> 32) {
	case WAKE:
		break;
	case CM_WATCH_FILE:
		for (struct cm_file *f = cm_files; f; f = f->next)
			if ((uint32_t)f->signal == which) {
				/* Its number may have gone from a file to the next meanwhile. */
				struct pollfd p = {.fd = f->signal};

				if (poll(&p, 1, 0) == 1)
					close_file(f);
				break;
			}
		break;
	case CM_WATCH_LISTENER:
		id = id_of_handle(which);
		if (id && id->listener_on)
			serve_listener(id);
		break;
	case CM_WATCH_PEER:
		id = id_of_handle(which);
		if (id && id->peer >= 0)
			serve_peer(id);
		break;
	}
}

/*
 * epoll and not poll(): while a thread sleeps in poll(), the kernel holds the sockets that it was
 * given, so a port whose socket another thread closes would stay taken until the sleeper is awake.
 */
static int watch(int fd, uint32_t what, uint32_t which, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u64 = (uint64_t)what << 32 | which};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int cm_watch(int fd, enum cm_watch what, uint32_t handle)
{
	if (what == CM_WATCH_FILE) /* its reader's end is reported unasked */
		return watch(fd, what, (uint32_t)fd, 0);
	return watch(fd, what, handle, EPOLLIN);
}

void cm_watched_close(int fd)
{
	/* In so many words: a copy in a child that was just forked would keep it watched. */
	(void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	fds_close(fd);
}

static void *cm_main(void *arg)
{
	struct epoll_event ready[EVENTS];
	bool waiting;
	uint64_t count;
	int n;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&cm_lock);
		waiting = try_again();
		pthread_mutex_unlock(&cm_lock);
		n = epoll_wait(epoll_fd, ready, EVENTS, waiting ? AGAIN_MS : -1);
		if (n < 0)
			continue;
		(void)!read(wake_fd, &count, sizeof(count));
		pthread_mutex_lock(&cm_lock);
		for (int i = 0; i < n; i++)
			serve(ready[i].data.u64);
		pthread_mutex_unlock(&cm_lock);
	}
	return NULL;
}

static int open_watch(void)
{
	int err;

	epoll_fd = fds_own(epoll_create1(EPOLL_CLOEXEC));
	wake_fd = fds_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (epoll_fd >= 0 && wake_fd >= 0 && !watch(wake_fd, WAKE, 0, EPOLLIN))
		return 0;
	err = errno;
	cm_thread_abandon();
	return -err;
}

int cm_thread_start(void)
{
	static bool registered;
	pthread_t thread;
	int ret;

	if (wake_fd >= 0)
		return 0;
	ret = open_watch();
	if (ret)
		return ret;
	if (!registered)
		pthread_atfork(NULL, NULL, cm_abandon);
	registered = true;
	ret = nic_thread_start(&thread, "gdakit-cm", 0, cm_main, NULL);
	if (ret) {
		cm_thread_abandon();
		return -ret;
	}
	pthread_detach(thread);
	return 0;
}

void cm_thread_wake(void)
{
	const uint64_t one = 1;

	(void)!write(wake_fd, &one, sizeof(one));
}

void cm_thread_abandon(void)
{
	fds_close(epoll_fd);
	fds_close(wake_fd);
	epoll_fd = wake_fd = -1;
}
