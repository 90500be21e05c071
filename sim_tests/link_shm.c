/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared-memory link: between links of one process, and with processes that die or lie. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/link/route.h"
#include "emu/link/shm.h"
#include "emu/space/space.h"
#include "sim_tests/link_shm_rig.h"

TestSuite(link_shm, .init = name_all, .timeout = 60);

/* ---- packets ---- */

Test(link_shm, a_packet_arrives_with_its_payload_and_both_addresses)
{
	struct pair p = open_pair();
	uint8_t payload[4096];

	fill(payload, sizeof(payload), 1);
	for (uint32_t len = 0; len <= sizeof(payload); len += 585) {
		struct nm_packet pkt = packet_to(&p.b->port, 0x1234, len, payload, len);

		pkt.route.tclass = (uint8_t)(len & 0xfc);
		pkt.route.hop_limit = 7;
		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
		receive(p.x, p.y, p.b, len / 585 + 1);
		cr_assert_eq(p.b->last.payload_len, len);
		cr_assert_arr_eq(p.b->last_payload, payload, len);
		cr_assert_arr_eq(p.b->last.hdr, pkt.hdr, NM_ROCE_BTH_LEN);
		cr_assert_arr_eq(p.b->last.route.sgid, p.a->port.id.gid, 16);
		cr_assert_arr_eq(p.b->last.route.dgid, p.b->port.id.gid, 16);
		cr_assert_eq(p.b->last.route.slid, p.a->port.id.lid);
		cr_assert_eq(p.b->last.route.tclass, pkt.route.tclass);
		cr_assert_eq(p.b->last.route.hop_limit, 7);
		cr_assert_eq(p.b->last.route.udp_sport, 0xc000);
	}
	cr_assert_eq(((struct shm_link *)p.x)->udp->counters.sent, 0, "none went over UDP");
	close_pair(&p);
}

Test(link_shm, what_infiniband_headers_would_say_arrives)
{
	struct pair p = open_pair();
	struct nm_packet pkt = packet_to(&p.b->port, 7, 9, NULL, 0);

	pkt.route.no_grh = true;
	pkt.route.sl = 0xb;
	pkt.route.flow_label = 0xfffff;
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.b, 1);
	cr_assert(p.b->last.route.no_grh);
	cr_assert_eq(p.b->last.route.sl, 0xb);
	cr_assert_eq(p.b->last.route.flow_label, 0xfffff);
	close_pair(&p);
}

Test(link_shm, a_multicast_reaches_ports_of_all_hosts_with_its_gid)
{
	uint8_t group[16];
	struct pair p = open_pair();
	uint8_t payload[100] = {3};
	struct nm_packet pkt;

	own_group(group);
	pkt = packet_to_group(group, payload, sizeof(payload));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.a, 1);
	receive(p.x, p.y, p.b, 1);
	cr_assert_arr_eq(p.b->last.route.dgid, group, 16);
	close_pair(&p);
}

Test(link_shm, a_train_arrives_whole_and_large_stable_payload_is_pulled)
{
	struct pair p = open_pair();
	static uint8_t payload[NM_TRAIN_MAX];
	struct nm_packet pkt;

	fill(payload, sizeof(payload), 2);
	settle(&p);
	for (uint32_t i = 0; i < 4; i++) {
		pkt = write_to(&p.b->port, 2 + i, payload, NM_TRAIN_MAX - i);
		pkt.stable = i % 2 == 0;
		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
		receive(p.x, p.y, p.b, 2 + i);
		cr_assert_eq(p.b->last.segs, 64);
		cr_assert_eq(p.b->pulled, i / 2 + 1);
		cr_assert_eq(p.b->lost, 0);
		cr_assert_arr_eq(p.b->last_payload, payload, NM_TRAIN_MAX - i);
		memset(p.b->last_payload, 0, sizeof(payload));
	}
	close_pair(&p);
}

Test(link_shm, a_full_ring_pushes_back_and_nothing_is_lost_or_reordered)
{
	struct pair p = open_pair();
	static uint8_t payload[3000];
	uint32_t sent = 0, pushed_back = 0;

	while (sent < SINK_MAX) {
		uint32_t len = sent * 7 % sizeof(payload);
		struct nm_packet pkt = packet_to(&p.b->port, 1, sent, payload, len);
		int err = p.x->ops->send(p.x, &p.a->port, &pkt);

		if (err) {
			cr_assert_eq(err, -EAGAIN);
			pushed_back++;
			turn(p.x);
			turn(p.y);
		} else {
			sent++;
		}
	}
	receive(p.x, p.y, p.b, sent);
	cr_assert_gt(pushed_back, 3);
	for (uint32_t psn = 0; psn < sent; psn++)
		cr_assert_eq(p.b->psn[psn], psn);
	close_pair(&p);
}

static uint32_t qpn_of(const struct nm_packet *pkt)
{
	return (uint32_t)pkt->hdr[5] << 16 | (uint32_t)pkt->hdr[6] << 8 | pkt->hdr[7];
}

Test(link_shm, what_is_sent_is_taken_when_the_receiver_has_been_there_or_is_gone)
{
	struct pair p = open_pair();
	struct nm_packet pkt;
	uint64_t first;

	settle(&p);
	pkt = packet_to(&p.b->port, 1, 2, NULL, 0);
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	first = pkt.mark;
	cr_assert_neq(first, 0);
	turn(p.x);
	cr_assert_not(p.x->ops->taken(p.x, &p.a->port, &pkt.route, qpn_of(&pkt), first));
	receive(p.x, p.y, p.b, 2);
	cr_assert(p.x->ops->taken(p.x, &p.a->port, &pkt.route, qpn_of(&pkt), first));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	turn(p.x);
	cr_assert(p.x->ops->taken(p.x, &p.a->port, &pkt.route, qpn_of(&pkt), first));
	cr_assert_not(p.x->ops->taken(p.x, &p.a->port, &pkt.route, qpn_of(&pkt), pkt.mark));
	free_sink(p.b);
	free_link(p.y);
	turn(p.x);
	cr_assert(p.x->ops->taken(p.x, &p.a->port, &pkt.route, qpn_of(&pkt), pkt.mark));
	free_sink(p.a);
	free_link(p.x);
}

Test(link_shm, answers_come_the_other_way_and_hosts_of_one_process_meet_by_reference)
{
	struct pair p = open_pair();
	struct sink *c = make_sink(p.x);
	uint8_t payload[8] = "payload";
	struct nm_packet pkt = packet_to(&p.a->port, 1, 7, payload, sizeof(payload));

	cr_assert_eq(p.y->ops->send(p.y, &p.b->port, &pkt), 0);
	receive(p.y, p.x, p.a, 1);
	cr_assert_arr_eq(p.a->last.route.sgid, p.b->port.id.gid, 16);
	pkt = packet_to(&c->port, 1, 8, payload, sizeof(payload));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	cr_assert_eq(c->count, 1);
	cr_assert_eq(c->last_base, payload);
	pkt = packet_to(&c->port, 1, 9, payload, sizeof(payload));
	cr_assert_eq(p.y->ops->send(p.y, &p.b->port, &pkt), 0);
	receive(p.y, p.x, c, 2);
	cr_assert_eq(p.a->count, 1);
	free_sink(c);
	close_pair(&p);
}

Test(link_shm, a_lid_is_an_address_too)
{
	struct pair p = open_pair();
	struct nm_packet pkt = packet_to(&p.b->port, 1, 2, NULL, 0);

	memset(pkt.route.dgid, 0, 16);
	pkt.route.dlid = p.b->port.id.lid;
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.b, 1);
	cr_assert_eq(p.b->last.route.slid, p.a->port.id.lid);
	cr_assert_eq(p.b->last.route.dlid, p.b->port.id.lid);
	close_pair(&p);
}

Test(link_shm, payload_that_was_unmapped_is_an_error_of_the_send_and_others_go_on)
{
	struct pair p = open_pair();
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nm_packet pkt = packet_to(&p.b->port, 1, 0, gone, 64);

	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), -EFAULT);
	pkt = packet_to(&p.b->port, 1, 1, NULL, 0);
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.b, 1);
	cr_assert_eq(p.b->psn[0], 1);
	close_pair(&p);
}

/* ---- payload that is pulled ---- */

Test(link_shm, payload_that_is_gone_when_it_is_pulled_is_lost_and_the_next_comes_through_the_ring)
{
	struct pair p = open_pair();
	uint8_t *mem = mmap(NULL, NM_TRAIN_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	static uint8_t other[NM_TRAIN_MAX];
	struct nm_packet pkt;

	settle(&p);
	pkt = write_to(&p.b->port, 1, mem, NM_TRAIN_MAX);
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	cr_assert_eq(munmap(mem + NM_TRAIN_MAX / 2, NM_TRAIN_MAX / 2), 0);
	receive(p.x, p.y, p.b, 2);
	cr_assert_eq(p.b->pulled, 1);
	cr_assert_eq(p.b->lost, 1);
	cr_assert_eq(p.b->refused, 1, "and told");
	fill(other, sizeof(other), 5);
	pkt = write_to(&p.b->port, 2, other, sizeof(other));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.b, 3);
	cr_assert_eq(p.b->pulled, 1);
	cr_assert_arr_eq(p.b->last_payload, other, sizeof(other));
	munmap(mem, NM_TRAIN_MAX / 2);
	close_pair(&p);
}

Test(link_shm, payload_that_was_recalled_is_lost)
{
	struct pair p = open_pair();
	static uint8_t mem[NM_TRAIN_MAX];
	struct nm_packet pkt;

	settle(&p);
	pkt = write_to(&p.b->port, 1, mem, sizeof(mem));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	p.x->ops->recall(p.x, &p.a->port);
	memset(mem, 0xff, sizeof(mem));
	pkt = write_to(&p.b->port, 2, mem, sizeof(mem));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.b, 3);
	cr_assert_eq(p.b->pulled, 2);
	cr_assert_eq(p.b->lost, 1, "the first, not the second");
	close_pair(&p);
}

struct place_args {
	struct link_port *port;
	void *to;
	int rc;
};

static void pull_to(void *ctx, struct nm_packet *pkt)
{
	struct place_args *a = ctx;

	if (pkt->pull)
		a->rc = pkt->pull(pkt, 0, a->to, pkt->payload_len);
}

Test(link_shm, memory_that_cannot_be_written_is_the_receivers_fault_not_the_senders)
{
	struct pair p = open_pair();
	static uint8_t mem[NM_TRAIN_MAX];
	void *ro = mmap(NULL, sizeof(mem), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct place_args args = {.to = ro, .rc = 1};
	struct nm_packet pkt;

	settle(&p);
	p.b->port.rx = pull_to;
	p.b->port.ctx = &args;
	pkt = write_to(&p.b->port, 1, mem, sizeof(mem));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	for (int i = 0; i < 100 && args.rc == 1; i++) {
		turn(p.x);
		turn(p.y);
	}
	cr_assert_eq(args.rc, -EFAULT);
	p.b->port.rx = sink_rx;
	p.b->port.ctx = p.b;
	pkt = write_to(&p.b->port, 2, mem, sizeof(mem));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	receive(p.x, p.y, p.b, 2);
	cr_assert_eq(p.b->pulled, 1, "pulling goes on");
	close_pair(&p);
}

/* ---- who is not there ---- */

Test(link_shm, whom_shared_memory_does_not_reach_gets_datagrams)
{
	struct link *x = make_link_in(host_a, fabric, false);
	struct link *y = make_link_in(host_b, "another", false);
	struct sink *a = make_sink(x), *b = make_sink(y);
	struct nm_packet pkt = packet_to(&b->port, 1, 5, NULL, 0);

	cr_assert_eq(x->ops->send(x, &a->port, &pkt), 0);
	x->ops->flush(x);
	for (int i = 0; i < 100 && !b->count; i++) {
		struct pollfd pfd = {.fd = b->port.fd, .events = POLLIN};

		poll(&pfd, 1, 100);
		turn(y);
	}
	cr_assert_eq(b->count, 1);
	cr_assert_eq(((struct shm_link *)x)->udp->counters.sent, 1);
	cr_assert_eq(a->refused, 0, "nothing to complain about");
	free_sink(a);
	free_sink(b);
	free_link(x);
	free_link(y);
}

Test(link_shm, forced_it_loses_packets_for_whom_it_does_not_reach_and_says_so_once)
{
	struct pair p = open_pair();
	struct nm_packet pkt = packet_to(&p.b->port, 1, 5, NULL, 0);

	pkt.hdr[5] = 9; /* a slot that nobody has */
	for (int i = 0; i < 10; i++)
		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	turn(p.x);
	turn(p.y);
	cr_assert_eq(p.b->count, 0);
	cr_assert_eq(p.a->refused, 1);
	cr_assert(strstr(p.a->why, "no process listens there"), "%s", p.a->why);
	cr_assert_eq(p.x->counters.dropped, 10);
	close_pair(&p);
}

Test(link_shm, a_fabric_s_name_and_a_host_are_checked)
{
	static const char *const bad[] = {
		"", "a/b", "0123456789012345678901234567890123456789012345678", NULL};
	const char *why = NULL;

	for (int i = 0; bad[i]; i++)
		cr_assert_null(link_shm_create(
			&(struct link_shm_config){.host = host_a, .fabric = bad[i]}, &why));
	cr_assert_null(link_shm_create(&(struct link_shm_config){.host = "x"}, &why));
	cr_assert_not_null(why);
}

/* ---- sleep ---- */

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

Test(link_shm, who_sleeps_is_woken_and_who_does_not_is_not)
{
	struct pair p = open_pair();
	int fd = wake_fd_of(p.y);
	struct nm_packet pkt = packet_to(&p.b->port, 1, 5, NULL, 0);
	uint64_t count;

	settle(&p);
	while (read(fd, &count, sizeof(count)) > 0)
		;
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	p.x->ops->flush(p.x);
	cr_assert_not(readable(fd));
	cr_assert_not(p.y->ops->doze(p.y, true), "something has come: no sleep");
	receive(p.x, p.y, p.b, 2);
	cr_assert(p.y->ops->doze(p.y, true));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	cr_assert_not(readable(fd), "a packet is told with the flush");
	p.x->ops->flush(p.x);
	cr_assert(readable(fd));
	p.y->ops->doze(p.y, false);
	close_pair(&p);
}

Test(link_shm, a_first_packet_wakes_through_the_link_s_own_descriptor)
{
	struct pair p = open_pair();
	struct nm_packet pkt = packet_to(&p.b->port, 1, 5, NULL, 0);

	cr_assert(p.y->ops->doze(p.y, true));
	cr_assert_not(readable(p.y->fd));
	cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	p.x->ops->flush(p.x);
	cr_assert(readable(p.y->fd));
	receive(p.x, p.y, p.b, 1);
	close_pair(&p);
}

/* ---- processes that end ---- */

/* Sends without end, and takes what comes. An exit code: the child of a fork asserts nothing. */
static int be_a_peer(const struct link_port *to)
{
	static uint8_t payload[NM_TRAIN_MAX];
	static struct sink sink, *a = &sink;
	const char *why = NULL;
	struct link *x = try_make_link(host_a, fabric, true, &why);

	if (!x)
		return 1;
	if (sink_attach(x, a, &why))
		return 2;
	for (uint32_t psn = 0;; psn++) {
		struct nm_packet pkt =
			write_to(to, psn & 0xffffff, payload, psn * 4099 % NM_TRAIN_MAX);

		while (x->ops->send(x, &a->port, &pkt) == -EAGAIN)
			turn(x);
		if (psn % 16 == 0)
			turn(x);
	}
}

static void assert_runs(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, WNOHANG), 0, "the peer has ended: status 0x%x", status);
}

Test(link_shm, a_peer_that_is_killed_at_any_moment_leaves_nothing_behind)
{
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	unsigned int fds = count_fds();

	for (unsigned int round = 0; round < 30; round++) {
		uint32_t before = b->count;
		pid_t pid = fork();

		if (pid == 0)
			_exit(be_a_peer(&b->port));
		cr_assert_gt(pid, 0);
		while (((struct shm_link *)y)->nrx == 0) {
			turn(y);
			assert_runs(pid);
		}
		/* Some more packets in each round, so that each dies somewhere else. */
		while (b->count < before + 3 * round * round) {
			turn(y);
			assert_runs(pid);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		for (uint32_t i = 0; i < 16; i++) {
			struct nm_packet pkt = packet_to(&b->port, 1, i, NULL, 0);

			memcpy(pkt.route.dgid, b->last.route.sgid, 16);
			cr_assert_neq(y->ops->send(y, &b->port, &pkt), -EFAULT);
		}
		until_senders_are(y, 0);
		turn(y);
	}
	cr_assert_eq(count_fds(), fds);
	free_sink(b);
	free_link(y);
}

Test(link_shm, what_a_process_sent_before_it_ended_still_comes)
{
	struct pair p = open_pair();

	for (uint32_t i = 0; i < 10; i++) {
		struct nm_packet pkt = packet_to(&p.b->port, 1, i, NULL, 0);

		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	}
	turn(p.x);
	p.y->attention = true;
	p.y->ops->poll(p.y, 3);
	p.x->ops->detach(p.x, &p.a->port);
	p.a->port.link = NULL;
	until_senders_are(p.y, 0);
	cr_assert_eq(p.b->count, 10);
	close_pair(&p);
}

Test(link_shm, a_process_that_starts_again_in_the_same_slot_is_found_again)
{
	struct pair p = open_pair();

	for (uint32_t i = 0; i < 5; i++) {
		struct nm_packet pkt = packet_to(&p.b->port, 1, i, NULL, 0);

		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
		receive(p.x, p.y, p.b, 1);
		cr_assert_eq(p.b->psn[0], i);
		free_sink(p.b);
		turn(p.x); /* it notices */
		p.b = make_sink(p.y);
		cr_assert_eq(p.b->port.id.slot, 0);
	}
	close_pair(&p);
}

Test(link_shm, an_abandoned_link_no_longer_holds_its_name)
{
	struct link *x = make_link(host_a), *y = make_link(host_a);
	struct sink *a = make_sink(x), *b;

	link_shm_abandon(x);
	b = make_sink(y);
	cr_assert_eq(b->port.id.slot, 0);
	free_sink(b);
	free_link(y);
	free_sink(a);
	free_link(x);
}

/* ---- the ring's memory ---- */

enum { PEERS = 32, PEER_PACKETS = 2 * SHM_RING_BYTES / 1024 };

static uint64_t resident_shared_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "RssShmem: %lu", &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib;
}

static void send_and_receive(struct link *from, struct sink *a, struct link *to, struct sink *b,
			     uint32_t psn)
{
	static uint8_t payload[1024];
	struct nm_packet pkt = packet_to(&b->port, 1, psn, payload, sizeof(payload));

	cr_assert_eq(from->ops->send(from, &a->port, &pkt), 0);
	receive(from, to, b, b->count + 1);
}

Test(link_shm, rings_of_32_peers_that_keep_up_take_less_than_8_mib)
{
	struct link *y = make_link(host_b), *links[PEERS];
	struct sink *b = make_sink(y), *sinks[PEERS];
	uint64_t before = resident_shared_kib(), kib;

	for (unsigned int i = 0; i < PEERS; i++) {
		links[i] = make_link(host_a);
		sinks[i] = make_sink(links[i]);
	}
	for (uint32_t psn = 0; psn < PEER_PACKETS; psn++) {
		for (unsigned int i = 0; i < PEERS; i++) {
			send_and_receive(links[i], sinks[i], y, b, psn);
			send_and_receive(y, b, links[i], sinks[i], psn);
		}
	}
	/* Both ends are in this process. */
	kib = (resident_shared_kib() - before) / 2;
	cr_expect_lt(kib, 8 * 1024, "%lu KiB", (unsigned long)kib);
	cr_expect_gt(kib, 4 * 1024, "%lu KiB: they were not in use", (unsigned long)kib);
	for (unsigned int i = 0; i < PEERS; i++) {
		free_sink(sinks[i]);
		free_link(links[i]);
	}
	free_sink(b);
	free_link(y);
}

Test(link_shm, a_ring_whose_receiver_is_behind_is_used_to_its_end)
{
	struct pair p = open_pair();
	static uint8_t payload[1024];
	uint32_t sent = 0;

	for (int lap = 0; lap < 5; lap++) {
		for (;;) {
			struct nm_packet pkt = packet_to(&p.b->port, 1, sent, payload, 1024);

			if (p.x->ops->send(p.x, &p.a->port, &pkt))
				break;
			sent++;
		}
		cr_assert_geq(sent - p.b->count, SHM_RING_BYTES / 1100);
		/* Not all of it, so that the next lap begins with some behind. */
		p.x->ops->flush(p.x);
		p.y->attention = true;
		p.y->ops->poll(p.y, 64);
		p.y->ops->poll(p.y, 100 + 77 * (uint32_t)lap);
	}
	receive(p.x, p.y, p.b, sent);
	for (uint32_t psn = 0; psn < sent; psn++)
		cr_assert_eq(p.b->psn[psn], psn);
	close_pair(&p);
}

/* ---- two threads ---- */

enum { STREAM = 20000 };

static void *send_stream(void *arg)
{
	struct pair *p = arg;
	static uint8_t payload[64];

	for (uint32_t psn = 0; psn < STREAM;) {
		struct nm_packet pkt = packet_to(&p->b->port, 1, psn, payload, psn % 64);

		if (p->x->ops->send(p->x, &p->a->port, &pkt) == 0)
			psn++;
		if (psn % 32 == 0)
			turn(p->x);
	}
	turn(p->x);
	return NULL;
}

Test(link_shm, a_stream_between_threads_that_sleep_and_wake_loses_nothing)
{
	struct pair p = open_pair();
	struct timespec until;
	pthread_t thread;
	uint64_t count;

	pthread_create(&thread, NULL, send_stream, &p);
	while (p.b->count < STREAM) {
		struct pollfd pfds[2] = {{.fd = wake_fd_of(p.y), .events = POLLIN},
					 {.fd = p.y->fd, .events = POLLIN}};

		turn(p.y);
		if (p.b->count < STREAM && p.y->ops->doze(p.y, true)) {
			/* Longer than any test may take: a wake that is lost is seen. */
			poll(pfds, 2, 50000);
			p.y->ops->doze(p.y, false);
			if (read(pfds[0].fd, &count, sizeof(count)) < 0)
				cr_assert_eq(errno, EAGAIN);
		}
	}
	cr_assert_eq(p.b->count, STREAM);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	cr_assert_eq(pthread_timedjoin_np(thread, NULL, &until), 0);
	close_pair(&p);
}
