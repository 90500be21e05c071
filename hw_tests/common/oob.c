// SPDX-License-Identifier: BSD-3-Clause
#include "hw_tests/common/oob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_RETRY_MS 20
#define LATE		 "the peer did not answer in time"

static int timeout_ms_all = 60000;

void oob_set_timeout(int timeout_ms)
{
	timeout_ms_all = timeout_ms > 0 ? timeout_ms : 1;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits for events until the deadline: 1 ready, 0 too late, -1 errno. */
static int wait_fd(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		int64_t left = deadline_ms - now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n >= 0)
			return n;
		if (errno != EINTR)
			return -1;
	}
}

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int oob_accept(uint16_t port, int timeout_ms)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1, fd = -1, n;
	int lfd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (lfd < 0) {
		perror("oob: socket");
		return -1;
	}
	setsockopt(lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(lfd, (struct sockaddr *)&sa, sizeof(sa)) || listen(lfd, 1)) {
		fprintf(stderr, "oob: cannot listen on port %u: %s\n", port, strerror(errno));
		goto out;
	}
	printf("listening on port %u\n", port);
	fflush(stdout);
	n = wait_fd(lfd, POLLIN, now_ms() + timeout_ms);
	if (n > 0)
		fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
	if (n == 0)
		fprintf(stderr, "oob: no client on port %u within %d ms\n", port, timeout_ms);
	else if (fd < 0)
		fprintf(stderr, "oob: accept on port %u: %s\n", port, strerror(errno));
	else
		no_delay(fd);
out:
	close(lfd);
	return fd;
}

/* The end of a connect() that goes on by itself: 0 or errno. */
static int await_connect(int fd, int64_t deadline_ms)
{
	int n = wait_fd(fd, POLLOUT, deadline_ms), error = 0;
	socklen_t len = sizeof(error);

	if (n == 0)
		return ETIMEDOUT;
	return n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error;
}

/* One attempt, ended by the deadline too: the descriptor, or -1 with errno. */
static int try_connect(const struct addrinfo *to, int64_t deadline_ms)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, to->ai_addr, to->ai_addrlen))
		error = errno == EINPROGRESS ? await_connect(fd, deadline_ms) : errno;
	if (!error && fcntl(fd, F_SETFL, 0))
		error = errno;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

int oob_connect(const char *host, uint16_t port, int timeout_ms)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *res;
	int64_t deadline_ms = now_ms() + timeout_ms;
	char service[8];
	int fd, rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &res);
	if (rc) {
		fprintf(stderr, "oob: host '%s': %s\n", host, gai_strerror(rc));
		return -1;
	}
	for (;;) {
		fd = try_connect(res, deadline_ms);
		if (fd >= 0)
			break;
		rc = errno;
		if (rc != ECONNREFUSED || now_ms() >= deadline_ms) {
			fprintf(stderr, "oob: cannot reach a server at %s:%u within %d ms: %s\n",
				host, port, timeout_ms, strerror(rc));
			break;
		}
		poll(NULL, 0, CONNECT_RETRY_MS);
	}
	freeaddrinfo(res);
	if (fd >= 0)
		no_delay(fd);
	return fd;
}

/* Moves len bytes in one direction. The number moved; less than len: closed, late or failed. */
static size_t transfer(int fd, void *buf, size_t len, int out, const char **why)
{
	int64_t deadline_ms = now_ms() + timeout_ms_all;
	size_t done = 0;
	ssize_t n;
	int rc;

	*why = NULL;
	while (done < len) {
		rc = wait_fd(fd, out ? POLLOUT : POLLIN, deadline_ms);
		if (rc <= 0) {
			*why = rc ? strerror(errno) : LATE;
			break;
		}
		n = out ? send(fd, (char *)buf + done, len - done, MSG_NOSIGNAL)
			: recv(fd, (char *)buf + done, len - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*why = n ? strerror(errno) : "the peer closed the connection";
			break;
		}
		done += (size_t)n;
	}
	return done;
}

static int complain(const char *verb, const char *what, size_t done, size_t len, const char *why)
{
	fprintf(stderr, "oob: %s %s: %zu of %zu bytes, then: %s\n", verb, what, done, len, why);
	return -1;
}

int oob_send(int fd, const void *buf, size_t len, const char *what)
{
	const char *why;
	size_t done = transfer(fd, (void *)buf, len, 1, &why);

	return done == len ? 0 : complain("sending", what, done, len, why);
}

int oob_recv(int fd, void *buf, size_t len, const char *what)
{
	const char *why;
	size_t done = transfer(fd, buf, len, 0, &why);

	return done == len ? 0 : complain("receiving", what, done, len, why);
}

int oob_recv_optional(int fd, void *buf, size_t len, const char *what)
{
	const char *why;
	size_t done;
	char byte;
	int rc = wait_fd(fd, POLLIN, now_ms() + timeout_ms_all);

	if (rc <= 0)
		return complain("receiving", what, 0, len, rc ? strerror(errno) : LATE);
	if (recv(fd, &byte, 1, MSG_PEEK) <= 0)
		return 0;
	done = transfer(fd, buf, len, 0, &why);
	return done == len ? 1 : complain("receiving", what, done, len, why);
}

int oob_swap(int fd, const void *mine, void *theirs, size_t len, const char *what)
{
	if (oob_send(fd, mine, len, what))
		return -1;
	return oob_recv(fd, theirs, len, what);
}
