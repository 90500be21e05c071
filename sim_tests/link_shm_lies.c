/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared-memory link and processes that lie to it. */
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_tests/link_shm_rig.h"

TestSuite(link_shm_lies, .init = name_all, .timeout = 60);

/* -1: nobody listens, or not to us. Without assertions: children of a fork have no framework. */
static int try_dial(const struct link_port *to)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct link_host host;
	int n, fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	link_host_of_gid(to->id.gid, &host);
	n = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1, "gdakit/%s/127.%u.%u/%u", fabric,
		     host.a, host.b, to->id.slot);
	if (!connect(fd, (struct sockaddr *)&sun,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return fd;
	close(fd);
	return -1;
}

static int dial(const struct link_port *to)
{
	int fd = try_dial(to);

	cr_assert_geq(fd, 0);
	return fd;
}

static ssize_t try_tell(int sock, const void *data, size_t len, int fd)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL);
}

static void tell(int sock, const void *data, size_t len, int fd)
{
	cr_assert_eq(try_tell(sock, data, len, fd), (ssize_t)len);
}

/* docs/wire.md */
struct hello {
	uint32_t magic, version;
	uint8_t a, b, slot, zero;
	uint32_t ring_bytes;
	uint64_t cookie_addr;
	uint8_t cookie[16];
};

static const struct hello good = {
	.magic = 0x67646173, .version = 2, .a = 64, .ring_bytes = SHM_RING_BYTES};

static int memfd(size_t len, bool sealed)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	cr_assert_eq(ftruncate(fd, (off_t)len), 0);
	if (sealed)
		cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return fd;
}

Test(link_shm_lies, greetings_that_are_none_are_refused)
{
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	size_t size = SHM_RING_HEAD + SHM_RING_BYTES;
	struct hello bad_version = good, bad_size = good, bad_host = good, bad_slot = good;
	const struct {
		const struct hello *hello;
		size_t len;
		int fd;
	} lies[] = {
		{&good, 3, memfd(size, true)},
		{&good, sizeof(good), -1},
		{&good, sizeof(good), memfd(size, false)},
		{&good, sizeof(good), memfd(size - 4096, true)},
		{&good, sizeof(good), eventfd(0, 0)},
		{&good, sizeof(good), open("/proc/self/exe", O_RDONLY)},
		{&bad_version, sizeof(good), memfd(size, true)},
		{&bad_size, sizeof(good), memfd(size, true)},
		{&bad_host, sizeof(good), memfd(size, true)},
		{&bad_slot, sizeof(good), memfd(size, true)},
	};
	unsigned int fds;

	bad_version.version = 9;
	bad_size.ring_bytes *= 2;
	bad_host.a = 255;
	bad_slot.slot = 254;
	fds = count_fds();
	for (uint32_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		int sock = dial(&b->port);

		tell(sock, lies[i].hello, lies[i].len, lies[i].fd);
		until_senders_are(y, 0);
		for (int tries = 0; tries < 100 && b->refused <= i; tries++)
			turn(y);
		cr_assert_eq(b->refused, i + 1, "lie %u", i);
		close(sock);
	}
	cr_assert_eq(count_fds(), fds, "descriptors that liars sent are closed");
	free_sink(b);
	free_link(y);
}

/* Only root can be two users here. */
Test(link_shm_lies, another_user_in_the_same_fabric_is_neither_heard_nor_spoken_to)
{
	enum { SOMEBODY = 1000 };
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	int fd = memfd(SHM_RING_HEAD + SHM_RING_BYTES, true), status;
	char byte;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("not root");
	pid = fork();
	if (!pid) {
		int sock;

		if (setuid(SOMEBODY))
			_exit(2);
		sock = try_dial(&b->port);
		if (sock < 0)
			_exit(3);
		/* Hung up on, without a welcome: before we can say a word, or after. */
		if (try_tell(sock, &good, sizeof(good), fd) < 0 && errno != EPIPE &&
		    errno != ECONNRESET)
			_exit(4);
		_exit(recv(sock, &byte, 1, 0) == 1);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		turn(y);
		cr_assert_eq(((struct shm_link *)y)->nrx, 0);
	}
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
	close(fd);
	free_sink(b);
	free_link(y);
}

/* A listener of another user under a peer's name: our packets are not shown to him. */
Test(link_shm_lies, a_peer_s_name_that_another_user_has_taken_is_not_connected_to)
{
	enum { SOMEBODY = 1000 };
	struct link *x = make_link(host_a), *y = make_link(host_b);
	struct sink *a = make_sink(x), *b = make_sink(y);
	struct nm_packet pkt = write_to(&b->port, 0, NULL, 0);

	if (geteuid() != 0)
		cr_skip_test("not root");
	/* Who listens is who the kernel says it was then: b's link does, as root, and we are not.
	 */
	cr_assert_eq(seteuid(SOMEBODY), 0);
	cr_expect_eq(x->ops->send(x, &a->port, &pkt), 0);
	turn(x);
	cr_assert_eq(seteuid(0), 0);
	turn(y);
	cr_expect_eq(b->count, 0);
	cr_expect_eq(((struct shm_link *)y)->nrx, 0);
	cr_expect_eq(a->refused, 1, "said once");
	free_sink(a);
	free_sink(b);
	free_link(x);
	free_link(y);
}

Test(link_shm_lies, garbage_in_the_ring_ends_the_connection_with_a_reason)
{
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	/* Cursor, then the entry's first words. */
	static const uint64_t lies[][3] = {
		{SHM_RING_BYTES + 8, 0, 0},
		{8, 0, 0},
		{UINT64_MAX, 0, 0},
		{4096, 4097, 0},
		{4096, UINT32_MAX - 7, 0},
		{4096, 64 | UINT64_C(70000) << 32, 0},
		{4096, 24, 0},
	};

	for (uint32_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		int sock = dial(&b->port), fd = memfd(SHM_RING_HEAD + SHM_RING_BYTES, true);
		uint64_t *ring = mmap(NULL, SHM_RING_HEAD + SHM_RING_BYTES, PROT_READ | PROT_WRITE,
				      MAP_SHARED, fd, 0);

		ring[SHM_RING_HEAD / 8] = lies[i][1];
		ring[SHM_RING_HEAD / 8 + 1] = lies[i][2];
		ring[0] = lies[i][0];
		tell(sock, &good, sizeof(good), fd);
		for (int tries = 0; tries < 100 && b->refused <= 2 * i + 1; tries++)
			turn(y);
		cr_assert_eq(((struct shm_link *)y)->nrx, 0, "lie %u", i);
		cr_assert(strstr(b->why, "disconnected"), "%s", b->why);
		cr_assert_eq(b->count, 0);
		munmap(ring, SHM_RING_HEAD + SHM_RING_BYTES);
		close(fd);
		close(sock);
	}
	free_sink(b);
	free_link(y);
}

/* A whole entry, of which the producer says that `written` bytes are there; packets that came of
 * it. */
static uint32_t taken_of(uint64_t written)
{
	const struct shm_entry e = {.len = 144, .payload_len = 100, .hdr_len = NM_ROCE_BTH_LEN};
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	int sock = dial(&b->port), fd = memfd(SHM_RING_HEAD + SHM_RING_BYTES, true);
	uint8_t *ring = mmap(NULL, SHM_RING_HEAD + SHM_RING_BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	uint32_t count;

	memcpy(ring + SHM_RING_HEAD, &e, sizeof(e));
	ring[SHM_RING_HEAD + sizeof(e)] = 4; /* SEND only */
	memcpy(ring, &written, sizeof(written));
	tell(sock, &good, sizeof(good), fd);
	for (int tries = 0; tries < 100 && !b->count; tries++)
		turn(y);
	count = b->count;
	munmap(ring, SHM_RING_HEAD + SHM_RING_BYTES);
	close(fd);
	close(sock);
	free_sink(b);
	free_link(y);
	return count;
}

Test(link_shm_lies, an_entry_that_is_not_all_there_is_not_taken)
{
	cr_assert_eq(taken_of(144), 1, "the entry is good");
	cr_assert_eq(taken_of(136), 0);
	cr_assert_eq(taken_of(40), 0);
}

/* A WRITE whose entry says that `piped` bytes of its payload are in the first pipe. */
static void put_piped(uint8_t *ring, uint32_t piped, const void *payload, uint32_t len)
{
	const struct shm_entry e = {.len = 24 + 32 + 16 + 8,
				    .payload_len = len,
				    .segs = (uint16_t)(len / 1024),
				    .seg_len = 1024,
				    .hdr_len = 28,
				    .pulls = 1,
				    .piped = 1};
	const struct shm_place place = {.addr = (uintptr_t)payload, .len = len};
	const uint32_t counts[SHM_PIPES] = {piped, 0};
	const uint64_t written = e.len;
	uint8_t *at = ring + SHM_RING_HEAD;

	memcpy(at, &e, sizeof(e));
	at[sizeof(e)] = 0x0a;
	memcpy(at + 56, &place, sizeof(place));
	memcpy(at + 72, counts, sizeof(counts));
	memcpy(ring, &written, sizeof(written));
}

static const struct {
	uint32_t magic, version;
} pipe_call = {.magic = 0x67646173, .version = 2};

Test(link_shm_lies, bytes_that_are_not_in_the_pipes_end_the_connection)
{
	static const struct {
		bool asks;
		uint32_t piped;
		const char *why;
	} lies[] = {
		{false, 16384, "pipes that there are not"},
		{true, 16384, "less into its pipes"},
		{true, 16385, "more in its pipes"},
	};
	static uint8_t payload[16384];
	size_t size = SHM_RING_HEAD + SHM_RING_BYTES;
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	unsigned int fds = count_fds();

	for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		int sock = dial(&b->port), fd = memfd(size, true);
		uint8_t *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		tell(sock, &good, sizeof(good), fd);
		until_senders_are(y, 1);
		if (lies[i].asks)
			tell(sock, &pipe_call, sizeof(pipe_call), -1);
		turn(y);
		put_piped(ring, lies[i].piped, payload, sizeof(payload));
		until_senders_are(y, 0);
		cr_assert(strstr(b->why, lies[i].why), "lie %u: %s", i, b->why);
		munmap(ring, size);
		close(fd);
		close(sock);
	}
	cr_assert_eq(count_fds(), fds);
	free_sink(b);
	free_link(y);
}

Test(link_shm_lies, pipes_are_given_once_and_to_those_who_have_greeted)
{
	struct link *y = make_link(host_b);
	struct sink *b = make_sink(y);
	unsigned int fds = count_fds();

	for (int greets = 0; greets < 2; greets++) {
		int sock = dial(&b->port), fd = memfd(SHM_RING_HEAD + SHM_RING_BYTES, true);

		if (greets) {
			tell(sock, &good, sizeof(good), fd);
			tell(sock, &pipe_call, sizeof(pipe_call), -1);
		}
		tell(sock, &pipe_call, sizeof(pipe_call), -1);
		for (int tries = 0; tries < 100 && b->refused <= (uint32_t)greets; tries++)
			turn(y);
		cr_assert(strstr(b->why, "something else"), "%s", b->why);
		close(fd);
		close(sock);
		until_senders_are(y, 0);
	}
	cr_assert_eq(count_fds(), fds);
	free_sink(b);
	free_link(y);
}

Test(link_shm_lies, a_consumer_that_spoils_its_cursor_is_left)
{
	struct pair p = open_pair();
	struct nm_packet pkt = packet_to(&p.b->port, 1, 5, NULL, 0);
	static uint8_t payload[4096];
	struct shm_rx *rx;

	settle(&p);
	rx = first_rx(&p);
	atomic_store(&rx->ring.head->tail, UINT64_MAX / 2);
	pkt = packet_to(&p.b->port, 1, 5, payload, sizeof(payload));
	for (int i = 0; i < 300 && !p.a->refused; i++)
		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
	cr_assert_eq(p.a->refused, 1);
	cr_assert(strstr(p.a->why, "spoilt"), "%s", p.a->why);
	until_senders_are(p.y, 0);
	close_pair(&p);
}
