// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw_tests/common/oob.h"

static int ends[2];

static void setup(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	oob_set_timeout(5000);
}

static void teardown(void)
{
	close(ends[0]);
	close(ends[1]);
}

TestSuite(oob, .init = setup, .fini = teardown, .timeout = 30);

static void *drip(void *arg)
{
	const char *text = arg;

	for (size_t i = 0; i < strlen(text); i++)
		cr_assert_eq(send(ends[1], text + i, 1, 0), 1);
	return NULL;
}

static void *sender(void *arg)
{
	cr_expect_eq(oob_send(ends[1], arg, 4 << 20, "big"), 0);
	return NULL;
}

Test(oob, a_message_that_arrives_byte_by_byte_is_received_whole)
{
	char text[] = "0123456789abcdef", got[sizeof(text)] = "";
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, drip, text), 0);
	cr_expect_eq(oob_recv(ends[0], got, 16, "text"), 0);
	cr_expect_str_eq(got, text);
	pthread_join(thread, NULL);
}

Test(oob, a_message_longer_than_the_socket_buffer_is_sent_whole)
{
	static char big[4 << 20], got[4 << 20];
	pthread_t thread;

	memset(big, 0x5a, sizeof(big));
	cr_assert_eq(pthread_create(&thread, NULL, sender, big), 0);
	cr_expect_eq(oob_recv(ends[0], got, sizeof(got), "big"), 0);
	cr_expect_arr_eq(got, big, sizeof(big));
	pthread_join(thread, NULL);
}

Test(oob, a_peer_that_closes_within_a_message_is_an_error)
{
	char got[8];

	cr_assert_eq(send(ends[1], "abc", 3, 0), 3);
	shutdown(ends[1], SHUT_WR);
	cr_expect_eq(oob_recv(ends[0], got, 8, "eight bytes"), -1);
}

Test(oob, a_peer_that_closes_before_an_optional_message_is_none)
{
	char got[8];

	shutdown(ends[1], SHUT_WR);
	cr_expect_eq(oob_recv_optional(ends[0], got, 8, "eight bytes"), 0);
}

Test(oob, an_optional_message_is_received)
{
	char got[8];

	cr_assert_eq(send(ends[1], "01234567", 8, 0), 8);
	cr_expect_eq(oob_recv_optional(ends[0], got, 8, "eight bytes"), 1);
	cr_expect_arr_eq(got, "01234567", 8);
}

Test(oob, a_silent_peer_is_given_up)
{
	char got;

	oob_set_timeout(50);
	cr_expect_eq(oob_recv(ends[0], &got, 1, "nothing"), -1);
	cr_expect_eq(oob_recv_optional(ends[0], &got, 1, "nothing"), -1);
}

Test(oob, swap_sends_mine_and_receives_theirs)
{
	uint32_t mine = 7, theirs = 0, other = 9;

	cr_assert_eq(send(ends[1], &other, sizeof(other), 0), (ssize_t)sizeof(other));
	cr_expect_eq(oob_swap(ends[0], &mine, &theirs, sizeof(mine), "number"), 0);
	cr_expect_eq(theirs, 9u);
	cr_assert_eq(recv(ends[1], &other, sizeof(other), 0), (ssize_t)sizeof(other));
	cr_expect_eq(other, 7u);
}

/* A socket on a free port of 127.0.0.1; nobody listens there yet. */
static int bound(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*port = ntohs(sa.sin_port);
	return fd;
}

Test(oob, a_server_that_nobody_runs_is_given_up)
{
	uint16_t port;
	int fd = bound(&port);

	cr_expect_eq(oob_connect("127.0.0.1", port, 50), -1);
	close(fd);
}

Test(oob, a_connection_blocks_again_once_it_is_made)
{
	uint16_t port;
	int listener = bound(&port), fd;

	cr_assert_eq(listen(listener, 1), 0);
	fd = oob_connect("127.0.0.1", port, 5000);
	cr_assert_geq(fd, 0);
	cr_expect_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
	close(listener);
}
