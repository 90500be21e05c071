// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the kernel's UDP gives at best, for comparison with the NIC's: two processes, messages of 15
 * datagrams that the kernel cuts (UDP_SEGMENT) and joins (UDP_GRO), many a system call, no headers,
 * no checksum, nothing done with the bytes.
 *
 *   bench_udp [MESSAGES]
 *
 * A window of 32 messages, acknowledged by every eighth, so that none is lost. Prints
 * "bare UDP: R GB/s".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	DATAGRAM = 4112, /* a packet of the largest MTU */
	CUTS = 15,
	MESSAGE = DATAGRAM * CUTS,
	WINDOW = 32,
	BATCH = 8,
	WAIT_S = 10,
};

static uint8_t bytes[BATCH][65536];

static int open_socket(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval wait = {.tv_sec = WAIT_S};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, room = 64 << 20;

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)))
		return -1;
	setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return fd;
}

static int join(int fd, int peer)
{
	struct sockaddr_in to;
	socklen_t len = sizeof(to);

	return getsockname(peer, (struct sockaddr *)&to, &len) ||
	       connect(fd, (struct sockaddr *)&to, len);
}

static void prepare(struct mmsghdr *msgs, struct iovec *iov, size_t len)
{
	memset(msgs, 0, BATCH * sizeof(*msgs));
	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){bytes[i], len};
		msgs[i].msg_hdr.msg_iov = &iov[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
}

/* Takes all bytes, answers every eighth message. */
static int receive(int fd, uint64_t messages)
{
	uint64_t want = messages * MESSAGE, got = 0, told = 0;
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];

	while (got < want) {
		int n;

		prepare(msgs, iov, sizeof(bytes[0]));
		n = recvmmsg(fd, msgs, BATCH, MSG_WAITFORONE, NULL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 1;
		for (int i = 0; i < n; i++)
			got += msgs[i].msg_len;
		if (got - told >= (uint64_t)BATCH * MESSAGE || got == want) {
			told = got;
			if (send(fd, &got, sizeof(got), 0) < 0)
				return 1;
		}
	}
	return 0;
}

static int transmit(int fd, uint64_t messages)
{
	uint64_t sent = 0, told = 0;
	uint16_t cut = DATAGRAM;
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];

	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &(int){cut}, sizeof(int)))
		return -1;
	while (told < messages * MESSAGE) {
		uint64_t room = WINDOW - (sent - told / MESSAGE), left = messages - sent;
		unsigned int n = room < BATCH ? (unsigned int)room : BATCH;

		if (n > left)
			n = (unsigned int)left;
		if (n) {
			int done;

			prepare(msgs, iov, MESSAGE);
			done = sendmmsg(fd, msgs, n, 0);
			if (done < 0)
				return -1;
			sent += (unsigned int)done;
		}
		if (sent - told / MESSAGE > WINDOW - BATCH || sent == messages) {
			if (recv(fd, &told, sizeof(told), 0) != sizeof(told))
				return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t messages = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
	struct timespec from, to;
	int a = open_socket(), b = open_socket(), status;
	double seconds;
	pid_t pid;

	messages -= messages % BATCH;
	if (a < 0 || b < 0 || !messages || join(a, b) || join(b, a)) {
		perror("bench_udp");
		return 2;
	}
	pid = fork();
	if (!pid)
		_exit(receive(b, messages));
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (pid < 0 || transmit(a, messages)) {
		perror("bench_udp");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	printf("bare UDP: %.3f GB/s\n", (double)messages * MESSAGE / seconds / 1e9);
	return 0;
}
