/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/link/route.h"
#include "emu/space/space.h"
#include "emu/link/neighbours.h"
#include "sim_tests/link_packets.h"

/* Blocks of their own, so that tests that run at the same time do not meet. */
static char host_a[32], host_b[32];

static void name_hosts(void)
{
	unsigned int n = (unsigned int)getpid();

	snprintf(host_a, sizeof(host_a), "127.%u.%u", 100 + n % 40, n / 40 % 256);
	snprintf(host_b, sizeof(host_b), "127.%u.%u", 140 + n % 40, n / 40 % 256);
}

TestSuite(link_udp, .init = name_hosts);

/* The C library's, unless the test says how many datagrams the socket still takes. */
static int room = -1;

int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int count, int flags)
{
	if (room == 0) {
		errno = EAGAIN;
		return -1;
	}
	if (room > 0) {
		if (count > (unsigned int)room)
			count = (unsigned int)room;
		room -= (int)count;
	}
	return (int)syscall(SYS_sendmmsg, fd, msgs, count, flags);
}

static struct link *make_link(const char *host)
{
	const char *why = NULL;
	struct link *link = link_udp_create(&(struct link_udp_config){.host = host,
								      .through_socket = true,
								      .guard = space_guarded},
					    &why);

	cr_assert_not_null(link, "%s", why);
	return link;
}

static struct sink *make_sink(struct link *link)
{
	struct sink *s = malloc(sizeof(*s));
	const char *why = NULL;

	cr_assert_eq(sink_attach(link, s, &why), 0, "%s: %s", why, strerror(errno));
	return s;
}

static void free_sink(struct sink *s)
{
	s->port.link->ops->detach(s->port.link, &s->port);
	free(s);
}

/* Datagrams on the loopback network are in the receiver's queue when the send returns, or soon
 * after. */
static void receive(struct link *link, struct sink *s, uint32_t count)
{
	for (int tries = 0; tries < 100 && s->count + s->refused < count; tries++) {
		struct pollfd pfd = {.fd = s->port.fd, .events = POLLIN};

		poll(&pfd, 1, 100);
		link->ops->poll(link, 64);
	}
	cr_assert_eq(s->count + s->refused, count);
}

Test(link_udp, a_host_block_is_checked)
{
	static const char *const bad[] = {"127.0.1",   "127.192.0", "127.64",	  "127.64.0.1",
					  "10.64.0",   "127.64.x",  "127.64.256", "",
					  "127.64.0 ", NULL};
	const char *why;

	for (int i = 0; bad[i]; i++) {
		why = NULL;
		cr_assert_null(link_udp_create(&(struct link_udp_config){.host = bad[i]}, &why),
			       "%s", bad[i]);
		cr_assert_not_null(why);
	}
	cr_assert_null(link_udp_create(&(struct link_udp_config){.host = NULL}, &why));
}

Test(link_udp, ports_of_one_host_take_slot_after_slot_also_from_several_links)
{
	struct link *x = make_link(host_a), *y = make_link(host_a);
	struct sink *s0 = make_sink(x), *s1 = make_sink(y), *s2 = make_sink(x);
	uint8_t gid[16];
	struct link_host host;

	cr_assert(link_host_parse(host_a, &host));
	link_host_gid(host, gid);
	cr_assert_eq(s0->port.id.slot, 0);
	cr_assert_eq(s1->port.id.slot, 1);
	cr_assert_eq(s2->port.id.slot, 2);
	cr_assert_arr_eq(s1->port.id.gid, gid, 16);
	cr_assert_eq(s1->port.id.lid, link_host_lid(host));
	free_sink(s1);
	s1 = make_sink(x);
	cr_assert_eq(s1->port.id.slot, 1, "a slot that was given back is found again");
	free_sink(s0);
	free_sink(s1);
	free_sink(s2);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, a_packet_arrives_with_its_payload_and_both_addresses)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b0 = make_sink(y), *b1 = make_sink(y);
	uint8_t payload[4096];

	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 29);
	for (uint32_t len = 0; len <= sizeof(payload); len += 585) {
		struct nm_packet pkt = packet_to(&b1->port, 0x1234, len, payload, len);

		pkt.route.tclass = (uint8_t)(len & 0xfc);
		cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
		cr_assert(x->ops->flush(x));
		receive(y, b1, len / 585 + 1);
		cr_assert_eq(b1->refused, 0);
		cr_assert_eq(b1->last.payload_len, len);
		cr_assert_arr_eq(b1->last_payload, payload, len);
		cr_assert_arr_eq(b1->last.hdr + 2, pkt.hdr + 2, NM_ROCE_BTH_LEN - 2);
		cr_assert_arr_eq(b1->last.route.sgid, a->port.id.gid, 16);
		cr_assert_arr_eq(b1->last.route.dgid, b1->port.id.gid, 16);
		cr_assert_eq(b1->last.route.slid, a->port.id.lid);
		cr_assert_eq(b1->last.route.tclass, pkt.route.tclass);
	}
	cr_assert_eq(b0->count, 0);
	free_sink(a);
	free_sink(b0);
	free_sink(b1);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, a_lid_is_an_address_too)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	struct nm_packet pkt = packet_to(&b->port, 1, 2, NULL, 0);

	memset(pkt.route.dgid, 0, 16);
	pkt.route.dlid = b->port.id.lid;
	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	x->ops->flush(x);
	receive(y, b, 1);
	cr_assert_eq(b->last.route.slid, a->port.id.lid);
	cr_assert_eq(b->last.route.dlid, b->port.id.lid);
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, a_multicast_reaches_ports_of_all_hosts_with_its_gid)
{
	uint8_t group[16];
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y), *c = make_sink(y);
	static uint8_t payload[NM_MTU_MAX] = {1, 2, 3};
	struct nm_packet pkt;

	own_group(group);
	pkt = packet_to_group(group, payload, sizeof(payload));
	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	x->ops->flush(x);
	receive(y, b, 1);
	receive(y, c, 1);
	receive(x, a, 1);
	cr_assert_eq(b->refused + c->refused, 0);
	cr_assert_arr_eq(c->last.route.dgid, group, 16);
	cr_assert_arr_eq(c->last.route.sgid, a->port.id.gid, 16);
	cr_assert_eq(c->last.hdr_len, 20);
	cr_assert_eq(c->last.payload_len, sizeof(payload));
	cr_assert_arr_eq(c->last_payload, payload, sizeof(payload));
	free_sink(a);
	free_sink(b);
	free_sink(c);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, the_kernels_list_of_sockets_is_read_line_by_line)
{
	static const struct {
		const char *line;
		bool ours;
	} rows[] = {
		{"  sl  local_address rem_address   st tx_queue rx_queue tr", false},
		{" 1234: 0500417F:12B7 00000000:0000 07 00000000:00000000 00:0", true},
		{" 1234: 0500417F:12B8 00000000:0000 07", false},
		{"  1: FE00417F:12B7 00000000:0000 07", false}, /* the launcher's claim */
		{"  1: 0000417F:12B7 00000000:0000 07", false},
		{"  1: 0500C07F:12B7 00000000:0000 07", false},
		{"  1: 0500007F:12B7 00000000:0000 07", false},
		{"  1: 0100A8C0:12B7 00000000:0000 07", false},
		{"  1: 0500", false},
		{"", false},
	};
	struct link_neighbour n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(link_neighbour_parse(rows[i].line, 4791, &n), rows[i].ours, "line %zu",
			     i);
	cr_assert(link_neighbour_parse(rows[1].line, 4791, &n));
	cr_assert_eq(n.host.a, 0x41);
	cr_assert_eq(n.host.b, 0);
	cr_assert_eq(n.slot, 4);
}

static bool taken(struct link *link, struct sink *from, const struct nm_packet *pkt, uint64_t mark)
{
	uint32_t dqpn = (uint32_t)pkt->hdr[5] << 16;

	return link->ops->taken(link, &from->port, &pkt->route, dqpn, mark);
}

/* The list of sockets is read again only after a while. */
static void until_taken(struct link *link, struct sink *from, const struct nm_packet *pkt)
{
	for (int tries = 0; tries < 100 && !taken(link, from, pkt, pkt->mark); tries++)
		usleep(10000);
	cr_assert(taken(link, from, pkt, pkt->mark));
}

Test(link_udp, what_is_sent_is_taken_when_the_receiver_has_read_it_or_is_gone)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	struct nm_packet pkt = packet_to(&b->port, 1, 0, NULL, 0);

	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	cr_assert(x->ops->flush(x));
	cr_assert_neq(pkt.mark, 0);
	cr_assert_not(taken(x, a, &pkt, pkt.mark));
	cr_assert(taken(x, a, &pkt, pkt.mark - 20000), "unread for long: somebody else's");
	receive(y, b, 1);
	until_taken(x, a, &pkt);
	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	cr_assert(x->ops->flush(x));
	free_sink(b);
	y->ops->destroy(y);
	until_taken(x, a, &pkt);
	free_sink(a);
	x->ops->destroy(x);
}

Test(link_udp, batches_arrive_complete_and_in_order)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	uint8_t payload[1024] = {0};

	for (uint32_t psn = 0; psn < 500; psn++) {
		struct nm_packet pkt = packet_to(&b->port, 1, psn, payload, sizeof(payload));

		cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	}
	cr_assert(x->ops->flush(x));
	receive(y, b, 500);
	for (uint32_t psn = 0; psn < 500; psn++)
		cr_assert_eq(b->psn[psn], psn);
	cr_assert_eq(y->counters.overflowed, 0);
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

struct heard {
	uint32_t calls, packets, len, acks;
	uint8_t bytes[NM_TRAIN_MAX];
	uint8_t opcodes[256];
	uint32_t next_psn;
};

/* Each train cut again: what was heard is what was sent. */
static void hear(void *ctx, struct nm_packet *pkt)
{
	struct heard *h = ctx;
	uint32_t n = pkt->segs > 1 ? pkt->segs : 1;

	h->calls++;
	for (uint32_t i = 0; i < n; i++) {
		struct nm_packet one = *pkt;

		if (n > 1)
			cr_assert(nm_train_segment(pkt, i, &one));
		cr_assert_eq(one.niov, 1);
		memcpy(h->bytes + h->len, one.payload[0].iov_base, one.payload_len);
		h->len += one.payload_len;
		h->opcodes[h->packets++] = one.hdr[0];
		h->acks += one.hdr[8] >> 7;
		cr_assert_eq((uint32_t)one.hdr[9] << 16 | (uint32_t)one.hdr[10] << 8 | one.hdr[11],
			     h->next_psn);
		h->next_psn = (h->next_psn + 1) & 0xffffff;
	}
}

Test(link_udp, a_train_comes_as_few_trains_whose_packets_are_those_that_were_sent)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	static struct heard heard = {.next_psn = 0xfffff0};
	static uint8_t payload[40 * 1024 + 100];
	struct nm_packet pkt = packet_to(&b->port, 1, 0xfffff0, payload, sizeof(payload));

	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 31 ^ i >> 9);
	pkt.hdr[8] |= 0x80;
	pkt.segs = 41;
	pkt.seg_len = 1024;
	b->port.rx = hear;
	b->port.ctx = &heard;
	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	cr_assert(x->ops->flush(x));
	for (int tries = 0; tries < 100 && heard.packets < 41; tries++) {
		struct pollfd pfd = {.fd = b->port.fd, .events = POLLIN};

		poll(&pfd, 1, 100);
		y->ops->poll(y, 64);
	}
	cr_assert_eq(heard.packets, 41);
	cr_assert_eq(heard.acks, 1);
	cr_assert_eq(heard.opcodes[0], 0x00);
	cr_assert_eq(heard.opcodes[20], 0x01);
	cr_assert_eq(heard.opcodes[40], 0x02);
	cr_assert_eq(heard.len, sizeof(payload));
	cr_assert_arr_eq(heard.bytes, payload, sizeof(payload));
	cr_assert_eq(y->counters.received, 41);
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, a_full_socket_pushes_back_and_nothing_is_lost_or_reordered)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	static uint8_t payload[4 * 1024];
	uint32_t sent = 0;
	int err = 0;

	room = 0;
	while (sent < 1000) {
		/* Each longer than the one before it: none is part of the same message. */
		struct nm_packet pkt = packet_to(&b->port, 1, sent, payload, 4 * (sent + 1));

		err = x->ops->send(x, &a->port, &pkt);
		if (err)
			break;
		sent++;
	}
	cr_assert_eq(err, -EAGAIN);
	cr_assert(a->port.blocked, "the thread must sleep until the socket can be written");
	room = 5;
	cr_assert_not(x->ops->flush(x), "some are left");
	cr_assert(a->port.blocked);
	receive(y, b, 5);
	room = -1;
	cr_assert(x->ops->flush(x));
	cr_assert_not(a->port.blocked);
	receive(y, b, sent);
	for (uint32_t psn = 0; psn < sent; psn++)
		cr_assert_eq(b->psn[psn], psn);
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, datagrams_lost_to_a_full_receive_buffer_are_counted)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	uint8_t payload[1024] = {0};
	int bytes = 8192;

	cr_assert_eq(setsockopt(b->port.fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
	for (uint32_t psn = 0; psn <= 100; psn++) {
		struct nm_packet pkt = packet_to(&b->port, 1, psn, payload, sizeof(payload));

		if (psn == 100) { /* with the buffer empty again: brings the count */
			while (y->ops->poll(y, 64))
				;
		}
		cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
		cr_assert(x->ops->flush(x));
	}
	for (int tries = 0; tries < 100 && b->psn[b->count - 1] != 100; tries++) {
		struct pollfd pfd = {.fd = b->port.fd, .events = POLLIN};

		poll(&pfd, 1, 100);
		y->ops->poll(y, 64);
	}
	cr_assert_gt(y->counters.overflowed, 0);
	cr_assert_eq(b->count + y->counters.overflowed, 101);
	cr_assert_eq(b->refused, 1, "and told, once");
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, ports_of_one_link_meet_by_reference_unless_told_otherwise)
{
	const char *why = NULL;
	struct link *x = link_udp_create(&(struct link_udp_config){.host = host_a}, &why);
	struct sink *a = make_sink(x), *b = make_sink(x);
	uint8_t payload[8] = "payload";
	struct nm_packet pkt = packet_to(&b->port, 1, 2, payload, sizeof(payload));

	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	cr_assert_eq(b->count, 1);
	cr_assert_eq(b->last_base, payload);
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
}

Test(link_udp, packets_for_nobody_and_for_dead_slots_vanish)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	struct nm_packet pkt = packet_to(&b->port, 1, 2, NULL, 0);

	free_sink(b);
	for (int i = 0; i < 200; i++) {
		cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
		x->ops->flush(x);
	}
	pkt.hdr[5] = 254; /* no such slot */
	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	cr_assert(x->ops->flush(x));
	free_sink(a);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, rubbish_from_elsewhere_is_refused_with_a_reason)
{
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(4791)};
	static uint8_t rubbish[9000];
	static const size_t lens[] = {0, 1, 15, 16, 17, 64, 4164, 4168, 9000};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&to.sin_addr,
	       (uint8_t[4]){127, y->ports->id.gid[13], y->ports->id.gid[14],
			    (uint8_t)(1 + b->port.id.slot)},
	       4);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		cr_assert_eq(sendto(fd, rubbish, lens[i], 0, (struct sockaddr *)&to, sizeof(to)),
			     (ssize_t)lens[i]);
	receive(y, b, sizeof(lens) / sizeof(lens[0]));
	cr_assert_eq(b->count, 0);
	cr_assert_eq(y->counters.malformed, sizeof(lens) / sizeof(lens[0]));
	close(fd);
	free_sink(b);
	y->ops->destroy(y);
}

Test(link_udp, payload_that_was_unmapped_is_an_error_of_the_send_and_others_go_on)
{
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nm_packet pkt = packet_to(&b->port, 1, 0, gone, 64);

	cr_assert_eq(x->ops->send(x, &a->port, &pkt), -EFAULT);
	pkt = packet_to(&b->port, 1, 1, NULL, 0);
	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	cr_assert(x->ops->flush(x));
	receive(y, b, 1);
	cr_assert_eq(b->psn[0], 1);
	free_sink(a);
	free_sink(b);
	x->ops->destroy(x);
	y->ops->destroy(y);
}

Test(link_udp, an_abandoned_link_no_longer_holds_its_slot)
{
	struct link *x = make_link(host_a), *y = make_link(host_a);
	struct sink *a = make_sink(x), *b;

	link_udp_abandon(x);
	b = make_sink(y);
	cr_assert_eq(b->port.id.slot, 0);
	free_sink(b);
	free_sink(a);
	x->ops->destroy(x);
	y->ops->destroy(y);
}
