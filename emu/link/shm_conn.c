// SPDX-License-Identifier: BSD-3-Clause
/*
 * How processes of one machine find each other: a port listens on an abstract Unix socket whose
 * name is made of fabric, host and slot, so that there is no daemon and nothing on a file system,
 * and so that the kernel takes everything back when a process ends.
 *
 * A sender connects and greets, with the memory of a ring; packets may follow at once. The receiver
 * welcomes it, with its status page and the eventfd that wakes it. The connection is one direction:
 * answers come over one that the other side makes. Its end is the end of the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "emu/fds/fds.h"
#include "emu/link/shm.h"

enum {
	SHM_MAGIC = 0x67646173,
	SHM_VERSION = 2,
	SHM_BACKLOG = 128,
	SHM_EVENTS = 32,
	SHM_PAGE = 4096,
	SHM_FDS = 2, /* of one message, at most */
};

struct shm_hello {
	uint32_t magic, version;
	uint8_t a, b, slot, zero;
	uint32_t ring_bytes;
	uint64_t cookie_addr;
	uint8_t cookie[SHM_COOKIE];
};

struct shm_welcome {
	uint32_t magic, version;
	uint32_t can_pull;
	uint32_t zero;
};

/* Asks for pipes; and the answer, which brings their ends. */
struct shm_pipe_call {
	uint32_t magic, version;
};
static const struct shm_pipe_call pipe_call = {.magic = SHM_MAGIC, .version = SHM_VERSION};

void shm_say(const struct shm_port *port, const char *fmt, ...)
{
	char why[NM_WHY_MAX];
	va_list ap;

	if (!port->outer->diag)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	port->outer->diag(port->outer->ctx, why);
}

/* ---- sockets ---- */

static socklen_t name_of(const struct shm_link *sl, struct link_host host, uint8_t slot,
			 struct sockaddr_un *sun)
{
	int n;

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	n = snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1, "gdakit/%s/127.%u.%u/%u",
		     sl->fabric, host.a, host.b, slot);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

void shm_watch_add(struct shm_link *sl, struct shm_watch *watch)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = watch};

	(void)epoll_ctl(sl->epoll_fd, EPOLL_CTL_ADD, watch->fd, &ev);
}

void shm_watch_end(struct shm_link *sl, struct shm_watch *watch)
{
	if (watch->fd < 0)
		return;
	(void)epoll_ctl(sl->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	fds_close(watch->fd);
	watch->fd = -1;
}

static int send_with_fds(int sock, const void *data, size_t len, const int *fds, unsigned int nfds)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(SHM_FDS * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(nfds * sizeof(int))};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len ? 0 : -errno;
}

/* Bytes, 0 at the end of the connection, or -errno. Descriptors beyond `max` are closed. */
static ssize_t recv_with_fds(int sock, void *data, size_t len, int *fds, unsigned int max,
			     unsigned int *nfds)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(SHM_FDS * sizeof(int))];
	} control = {0};
	struct iovec iov = {data, len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*nfds = 0;
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (*nfds < max)
				fds[(*nfds)++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

static void close_all(const int *fds, unsigned int nfds)
{
	for (unsigned int i = 0; i < nfds; i++)
		close(fds[i]);
}

int shm_listen(struct shm_link *sl, struct shm_port *port, const char **why)
{
	struct sockaddr_un sun;
	socklen_t len = name_of(sl, port->host, port->outer->id.slot, &sun);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	port->listener = (struct shm_watch){.kind = SHM_LISTENER, .fd = -1};
	if (fd < 0) {
		*why = "no Unix socket for the shared-memory link";
		return -errno;
	}
	if (bind(fd, (struct sockaddr *)&sun, len) || listen(fd, SHM_BACKLOG)) {
		err = -errno;
		*why = "the name of the shared-memory link's socket cannot be bound";
		close(fd);
		return err;
	}
	port->listener.fd = fds_own(fd);
	shm_watch_add(sl, &port->listener);
	return 0;
}

static bool same_user(int sock, pid_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return false;
	*pid = cred.pid;
	return cred.uid == geteuid();
}

/* ---- the sender's side ---- */

static int greet(struct shm_link *sl, struct shm_tx *tx, int sock, int ring_fd)
{
	const struct shm_port *port = tx->from->priv;
	struct shm_hello hello = {
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.a = port->host.a,
		.b = port->host.b,
		.slot = tx->from->id.slot,
		.ring_bytes = SHM_RING_BYTES,
		.cookie_addr = (uintptr_t)sl->cookie,
	};

	memcpy(hello.cookie, sl->cookie, sizeof(hello.cookie));
	return send_with_fds(sock, &hello, sizeof(hello), &ring_fd, 1);
}

int shm_connect(struct shm_link *sl, struct shm_tx *tx)
{
	struct sockaddr_un sun;
	socklen_t len = name_of(sl, tx->host, tx->slot, &sun);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ring_fd, err = 0;
	pid_t pid;

	if (sock < 0)
		return -errno;
	if (connect(sock, (struct sockaddr *)&sun, len)) {
		err = -errno;
		close(sock);
		return err;
	}
	ring_fd = same_user(sock, &pid) ? shm_ring_create() : -EACCES;
	if (ring_fd < 0) {
		close(sock);
		return ring_fd;
	}
	err = shm_ring_map(&tx->ring, ring_fd);
	if (!err) {
		err = greet(sl, tx, sock, ring_fd);
		if (err)
			shm_ring_unmap(&tx->ring);
	}
	close(ring_fd);
	if (err) {
		close(sock);
		return err;
	}
	tx->watch.fd = fds_own(sock);
	tx->welcomed = tx->can_pull = tx->told = false;
	tx->wake_fd = -1;
	tx->status = NULL;
	tx->pull_failures = tx->pull_pause = 0;
	tx->outlet = (struct shm_outlet){.asked = false};
	shm_watch_add(sl, &tx->watch);
	return 0;
}

void shm_tx_close(struct shm_link *sl, struct shm_tx *tx)
{
	struct shm_tx **at = &sl->dirty;

	if (!tx->ring.head)
		return;
	while (*at && *at != tx)
		at = &(*at)->dirty_next;
	if (*at)
		*at = tx->dirty_next;
	tx->dirty = false;
	shm_watch_end(sl, &tx->watch);
	shm_tx_no_pipes(tx);
	shm_ring_unmap(&tx->ring);
	if (tx->status)
		munmap((void *)(uintptr_t)tx->status, SHM_PAGE);
	tx->status = NULL;
	fds_close(tx->wake_fd);
	tx->wake_fd = -1;
}

void shm_wake(const struct shm_tx *tx)
{
	uint64_t one = 1;
	ssize_t n = write(tx->wake_fd, &one, sizeof(one));

	(void)n; /* EAGAIN: it is readable already */
}

/* A page of memory that cannot shrink under us. */
static const struct shm_status *map_status(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size < SHM_PAGE ||
	    fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return NULL;
	p = mmap(NULL, SHM_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static bool is_pipe_call(const void *message, ssize_t len)
{
	return len == (ssize_t)sizeof(pipe_call) &&
	       memcmp(message, &pipe_call, sizeof(pipe_call)) == 0;
}

void shm_ask_pipes(struct shm_tx *tx)
{
	tx->outlet.asked = true;
	(void)send(tx->watch.fd, &pipe_call, sizeof(pipe_call), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* True: there may be more. */
static bool serve_tx(struct shm_link *sl, struct shm_tx *tx)
{
	struct shm_welcome welcome;
	int fds[SHM_FDS];
	unsigned int nfds;
	ssize_t n = recv_with_fds(tx->watch.fd, &welcome, sizeof(welcome), fds, SHM_FDS, &nfds);

	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (is_pipe_call(&welcome, n) && nfds == SHM_PIPES && tx->outlet.asked &&
	    !tx->outlet.open) {
		shm_tx_take_pipes(tx, fds);
		return true;
	}
	if (n == (ssize_t)sizeof(welcome) && welcome.magic == SHM_MAGIC &&
	    welcome.version == SHM_VERSION && nfds == 2 && !tx->welcomed) {
		tx->status = map_status(fds[0]);
		close(fds[0]);
		/* A write to it must not hold us up, whatever it is. */
		if (tx->status && !fcntl(fds[1], F_SETFL, O_NONBLOCK)) {
			tx->wake_fd = fds_own(fds[1]);
			tx->can_pull = welcome.can_pull != 0;
			tx->welcomed = true;
			shm_wake(tx); /* for what was shown before we could wake it */
			return true;
		}
		close(fds[1]);
	} else {
		close_all(fds, nfds);
	}
	shm_tx_close(sl, tx);
	return false;
}

/* ---- the receiver's side ---- */

static void serve_listener(struct shm_link *sl, struct shm_port *port)
{
	for (unsigned int i = 0; i < SHM_BACKLOG; i++) {
		int fd = accept4(port->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct shm_rx *rx;
		pid_t pid;

		if (fd < 0)
			return;
		rx = sl->nrx < SHM_RX_MAX && same_user(fd, &pid) ? calloc(1, sizeof(*rx)) : NULL;
		if (!rx) {
			close(fd);
			continue;
		}
		rx->watch = (struct shm_watch){.kind = SHM_RX, .fd = fds_own(fd)};
		rx->to = port;
		rx->pid = pid;
		for (unsigned int p = 0; p < SHM_PIPES; p++)
			rx->pipes[p] = -1;
		rx->next = sl->rx;
		sl->rx = rx;
		sl->nrx++;
		shm_watch_add(sl, &rx->watch);
	}
}

void shm_rx_close(struct shm_link *sl, struct shm_rx *rx, const char *why)
{
	if (rx->watch.fd < 0)
		return;
	if (why) {
		sl->link.counters.malformed++;
		shm_say(rx->to, "a process (%d) of host 127.%u.%u sends %s: disconnected",
			(int)rx->pid, rx->host.a, rx->host.b, why);
	}
	shm_watch_end(sl, &rx->watch);
	shm_rx_no_pipes(rx);
	sl->dead_rx = true;
}

void shm_reap(struct shm_link *sl)
{
	struct shm_rx **at = &sl->rx;

	if (!sl->dead_rx)
		return;
	sl->dead_rx = false;
	while (*at) {
		struct shm_rx *rx = *at;

		if (rx->watch.fd >= 0) {
			at = &rx->next;
			continue;
		}
		*at = rx->next;
		shm_ring_unmap(&rx->ring);
		free(rx);
		sl->nrx--;
	}
}

static const char *take_hello(struct shm_rx *rx, const struct shm_hello *hello, int ring_fd)
{
	if (hello->magic != SHM_MAGIC || hello->version != SHM_VERSION)
		return "a greeting of another version";
	if (hello->ring_bytes != SHM_RING_BYTES || hello->slot >= LINK_SLOTS ||
	    hello->a < LINK_HOST_A_MIN || hello->a > LINK_HOST_A_MAX)
		return "a greeting with a ring size or an address that is none";
	if (shm_ring_map(&rx->ring, ring_fd))
		return "a ring that is not sealed memory of the right size";
	rx->host = (struct link_host){.a = hello->a, .b = hello->b};
	rx->cookie_addr = hello->cookie_addr;
	memcpy(rx->cookie, hello->cookie, sizeof(rx->cookie));
	rx->greeted = true;
	return NULL;
}

static void give_pipes(struct shm_rx *rx)
{
	int outlets[SHM_PIPES];

	if (!shm_rx_make_pipes(rx, outlets))
		return; /* no answer is one: it tells the places alone */
	(void)send_with_fds(rx->watch.fd, &pipe_call, sizeof(pipe_call), outlets, SHM_PIPES);
	close_all(outlets, SHM_PIPES);
}

/* True: there may be more. */
static bool serve_rx(struct shm_link *sl, struct shm_rx *rx)
{
	struct shm_welcome welcome = {.magic = SHM_MAGIC, .version = SHM_VERSION};
	int fds[SHM_FDS], ours[2] = {sl->status_fd, sl->wake_fd};
	const char *why = "something else than a greeting";
	struct shm_hello hello;
	unsigned int nfds;
	ssize_t n = recv_with_fds(rx->watch.fd, &hello, sizeof(hello), fds, SHM_FDS, &nfds);

	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n <= 0) {
		/* It has ended: what it sent before still counts, as on a wire. */
		close_all(fds, nfds);
		if (rx->greeted)
			shm_drain(sl, rx, UINT32_MAX);
		shm_rx_close(sl, rx, NULL);
		return false;
	}
	if (is_pipe_call(&hello, n) && nfds == 0 && rx->greeted && rx->pipes[0] < 0) {
		give_pipes(rx);
		return true;
	}
	if (n == (ssize_t)sizeof(hello) && nfds == 1 && !rx->greeted)
		why = take_hello(rx, &hello, fds[0]);
	close_all(fds, nfds);
	if (why) {
		shm_rx_close(sl, rx, why);
		return false;
	}
	welcome.can_pull = shm_can_pull(rx);
	if (!welcome.can_pull)
		shm_say(rx->to,
			"process %d cannot be read with process_vm_readv: its payload comes "
			"through the ring, in two copies",
			(int)rx->pid);
	/* One that has ended since is seen at the end of its socket. */
	(void)send_with_fds(rx->watch.fd, &welcome, sizeof(welcome), ours, 2);
	return true;
}

void shm_serve(struct shm_link *sl)
{
	struct epoll_event events[SHM_EVENTS];
	int n = epoll_wait(sl->epoll_fd, events, SHM_EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct shm_watch *watch = events[i].data.ptr;

		if (watch->fd < 0)
			continue; /* closed meanwhile */
		switch (watch->kind) {
		case SHM_LISTENER:
			serve_listener(sl, (struct shm_port *)watch);
			break;
		case SHM_TX:
			while (serve_tx(sl, (struct shm_tx *)watch))
				; /* three times at most: a further message ends it */
			break;
		case SHM_RX:
			while (serve_rx(sl, (struct shm_rx *)watch))
				; /* likewise */
			break;
		}
	}
	shm_reap(sl);
}
