/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: how processes find each other's memory, with a stranger at either end. He dials
 * our port and says what he likes, with descriptors of any kind; or he listens where we look for a
 * peer, and welcomes us. A step is a byte that says what, a byte that says with which descriptors,
 * and bytes that are XORed over a message that would be good. Whatever he does, no descriptor of
 * his stays open when he has gone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/link/route.h"
#include "emu/link/shm.h"
#include "emu/space/space.h"
#include "sim_tests/link_packets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STRANGERS = 4, KINDS = 7, FDS_MAX = 3, STEPS = 64, MESSAGE_MAX = 96 };

struct input {
	const uint8_t *at;
	size_t left;
};

static struct link *link_;
static struct sink sink;
static struct link_port his; /* where the stranger listens: another host's slot 0 */
static int listener = -1, dialled[STRANGERS], welcomed[STRANGERS], kinds[KINDS];
static char fabric[32];

static uint8_t take(struct input *in)
{
	uint8_t v = in->left ? *in->at : 0;

	in->at += in->left > 0;
	in->left -= in->left > 0;
	return v;
}

/* docs/wire.md */
static const struct {
	uint32_t magic, version;
	uint8_t a, b, slot, zero;
	uint32_t ring_bytes;
	uint64_t cookie_addr;
	uint8_t cookie[SHM_COOKIE];
} hello = {.magic = 0x67646173, .version = 2, .a = 64, .ring_bytes = SHM_RING_BYTES};
static const struct {
	uint32_t magic, version, can_pull, zero;
} welcome = {.magic = 0x67646173, .version = 2};

static const struct {
	uint32_t magic, version;
} pipe_call = {.magic = 0x67646173, .version = 2};

static int memory(size_t len, bool sealed)
{
	int fd = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)len) ||
	    (sealed && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)))
		abort();
	return fd;
}

/* A pipe that nobody empties. */
static int outlet(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		abort();
	return ends[1];
}

static socklen_t name_of(const struct link_port *port, struct sockaddr_un *sun)
{
	struct link_host host;
	int n;

	*sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	link_host_of_gid(port->id.gid, &host);
	n = snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1, "gdakit/%s/127.%u.%u/%u", fabric,
		     host.a, host.b, port->id.slot);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void setup(void)
{
	unsigned int n = (unsigned int)getpid();
	const uint8_t gid[16] = {[10] = 0xff, 0xff, 127, 120, (uint8_t)n, 1};
	struct sockaddr_un sun;
	const char *why = "";
	char host[32];
	socklen_t len;

	snprintf(host, sizeof(host), "127.%u.%u", 100 + n % 20, n / 20 % 256);
	snprintf(fabric, sizeof(fabric), "fuzz%u", n);
	link_ = link_shm_create(&(struct link_shm_config){.host = host,
							  .fabric = fabric,
							  .wake_fd = eventfd(0, EFD_NONBLOCK),
							  .forced = true,
							  .guard = space_guarded},
				&why);
	if (!link_ || sink_attach(link_, &sink, &why)) {
		fprintf(stderr, "fuzz_greeting: %s\n", why);
		abort();
	}
	memcpy(his.id.gid, gid, sizeof(gid));
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	len = name_of(&his, &sun);
	if (bind(listener, (struct sockaddr *)&sun, len) || listen(listener, 16))
		abort();
	kinds[0] = memory(SHM_RING_HEAD + SHM_RING_BYTES, true);
	kinds[1] = eventfd(0, EFD_NONBLOCK);
	kinds[2] = memory(4096, true);
	kinds[3] = memory(SHM_RING_HEAD + SHM_RING_BYTES, false);
	kinds[4] = open("/dev/null", O_RDWR | O_CLOEXEC);
	kinds[5] = memory(0, true);
	kinds[6] = outlet();
	signal(SIGPIPE, SIG_IGN); /* threads of a NIC block it */
	for (int i = 0; i < STRANGERS; i++)
		dialled[i] = welcomed[i] = -1;
}

/* With up to three descriptors, whose kinds `which` says. */
static void tell(int sock, struct input *in, const void *good, size_t len)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = {0};
	uint8_t message[MESSAGE_MAX] = {0}, which = take(in), count = which % (FDS_MAX + 1),
		changes = take(in);
	struct iovec iov = {message, changes & 0x80 ? changes & 0x3f : len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[FDS_MAX];

	memcpy(message, good, len);
	for (uint8_t i = 0; i < changes % 8; i++) {
		uint8_t at = take(in);

		message[at % sizeof(message)] ^= take(in);
	}
	which /= FDS_MAX + 1;
	for (uint8_t i = 0; i < count; i++, which /= KINDS)
		fds[i] = kinds[which % KINDS];
	if (count) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	(void)sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void dial(int *fd)
{
	struct sockaddr_un sun;
	socklen_t len = name_of(&sink.port, &sun);

	hang_up(fd);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connect(*fd, (struct sockaddr *)&sun, len))
		hang_up(fd);
}

static void turn(void)
{
	link_->ops->flush(link_);
	link_->attention = true;
	link_->ops->poll(link_, 64);
}

static void send_to_him(struct input *in)
{
	static uint8_t payload[16384];
	struct nm_packet pkt = packet_to(&his, 1, take(in), payload, take(in) * 64u);

	pkt.stable = true;
	(void)link_->ops->send(link_, &sink.port, &pkt);
}

static void step(struct input *in)
{
	uint8_t what = take(in), i = what / 8 % STRANGERS;

	switch (what % 8) {
	case 0:
		dial(&dialled[i]);
		break;
	case 1:
	case 2:
		if (dialled[i] < 0)
			dial(&dialled[i]);
		if (what & 0x80)
			tell(dialled[i], in, &pipe_call, sizeof(pipe_call));
		else
			tell(dialled[i], in, &hello, sizeof(hello));
		break;
	case 3:
		hang_up(&dialled[i]);
		break;
	case 4:
		send_to_him(in);
		break;
	case 5:
		if (welcomed[i] < 0)
			welcomed[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (welcomed[i] >= 0 && what & 0x80)
			tell(welcomed[i], in, &pipe_call, sizeof(pipe_call));
		else if (welcomed[i] >= 0)
			tell(welcomed[i], in, &welcome, sizeof(welcome));
		break;
	case 6:
		hang_up(&welcomed[i]);
		break;
	default:
		turn();
		break;
	}
}

/* How many are open, but for those of the sanitizers' symbolizer, which is started when they like;
 * `say`: and what they are. */
static unsigned int count_fds(bool say)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char what[128];
	unsigned int n = 0;
	ssize_t len;

	while ((entry = readdir(dir))) {
		len = readlinkat(dirfd(dir), entry->d_name, what, sizeof(what) - 1);
		what[len > 0 ? len : 0] = '\0';
		if (!strncmp(what, "pipe:", 5))
			continue;
		n++;
		if (say)
			fprintf(stderr, "%s: %s\n", entry->d_name, what);
	}
	closedir(dir);
	return n;
}

static void hang_up_all(void)
{
	int fd;

	for (int i = 0; i < STRANGERS; i++) {
		hang_up(&dialled[i]);
		hang_up(&welcomed[i]);
	}
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(fd);
	for (int i = 0; i < 4; i++)
		turn();
}

/* He has gone: nothing of his is left. */
static void all_end(unsigned int before)
{
	hang_up_all();
	if (((struct shm_link *)link_)->nrx || count_fds(false) != before) {
		fprintf(stderr, "fuzz_greeting: %u senders and %u descriptors more are left\n",
			((struct shm_link *)link_)->nrx, count_fds(true) - before);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	static unsigned int before;

	if (!link_) {
		const uint8_t a_packet[] = {4, 1, 1};

		setup();
		/* What is opened when it is first needed. */
		step(&(struct input){a_packet, sizeof(a_packet)});
		hang_up_all();
		before = count_fds(false);
	}
	for (int i = 0; i < STEPS && in.left; i++)
		step(&in);
	all_end(before);
	return 0;
}
