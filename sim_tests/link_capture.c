/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the ICRC true for the IP header that the kernel really makes? Captured frames are decoded from
 * their own Ethernet, IP and UDP headers, which checks the ICRC over them.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim_tests/link_packets.h"

static int open_capture(void)
{
	struct sockaddr_ll ll = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

	if (fd < 0 || ll.sll_ifindex == 0 || bind(fd, (struct sockaddr *)&ll, sizeof(ll))) {
		int err = errno;

		fprintf(stderr, "no capture on lo: %s\n", strerror(err));
		cr_skip_test("capturing needs root");
	}
	return fd;
}

/* The next captured frame between these two hosts; its length, or 0 if none comes. */
static size_t capture(int fd, uint8_t a, uint8_t b, uint8_t *frame, size_t cap)
{
	for (int tries = 0; tries < 100000; tries++) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&pfd, 1, 2000) <= 0)
			return 0;
		n = recv(fd, frame, cap, MSG_DONTWAIT);
		if (n >= 42 && frame[12] == 0x08 && frame[13] == 0 && frame[23] == 17 &&
		    frame[14 + 12] == 127 && frame[14 + 13] == a && frame[14 + 17] == b)
			return (size_t)n;
	}
	return 0;
}

Test(link_capture, the_icrc_is_true_for_the_headers_that_the_kernel_makes)
{
	static const uint32_t lens[] = {0, 1, 2, 3, 64, 1023, 4096};
	static uint8_t payload[4096], frame[NM_ROCE_FRAME_MAX + 64];
	const uint8_t a = (uint8_t)(60 + getpid() % 60), b = (uint8_t)(a + 60);
	char host_a[32], host_b[32], why[NM_WHY_MAX] = "";
	const char *reason = NULL;
	struct link *x, *y;
	static struct sink from, to;
	int fd = open_capture();

	snprintf(host_a, sizeof(host_a), "127.%u.77", a);
	snprintf(host_b, sizeof(host_b), "127.%u.77", b);
	x = link_udp_create(&(struct link_udp_config){.host = host_a}, &reason);
	y = link_udp_create(&(struct link_udp_config){.host = host_b}, &reason);
	cr_assert(x && y, "%s", reason);
	cr_assert_eq(sink_attach(x, &from, &reason), 0, "%s", reason);
	cr_assert_eq(sink_attach(y, &to, &reason), 0, "%s", reason);
	for (size_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
		struct nm_packet pkt = packet_to(&to.port, 0x55, (uint32_t)i, payload, lens[i / 2]),
				 back;
		size_t n;

		pkt.route.tclass = i & 1 ? 0x6a : 0;
		cr_assert_eq(x->ops->send(x, &from.port, &pkt), 0);
		cr_assert(x->ops->flush(x));
		n = capture(fd, a, b, frame, sizeof(frame));
		cr_assert_gt(n, 0, "the datagram was not captured");
		cr_assert_eq(nm_roce_decode(frame, n, &back, why), 0, "%s", why);
		cr_assert_eq(back.payload_len, lens[i / 2]);
		cr_assert_eq(back.hdr[11], i / 1 & 0xff);
		cr_assert_eq(back.route.tclass, pkt.route.tclass);
		/* On the loopback network each frame is seen going out and coming in. */
		n = capture(fd, a, b, frame, sizeof(frame));
		cr_assert_eq(nm_roce_decode(frame, n, &back, why), 0, "%s", why);
	}
	x->ops->detach(x, &from.port);
	y->ops->detach(y, &to.port);
	x->ops->destroy(x);
	y->ops->destroy(y);
	close(fd);
}
