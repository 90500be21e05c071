// SPDX-License-Identifier: BSD-3-Clause
#include "emu/observe/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/fds/thread.h"

enum {
	BACKLOG = 16,
	PEEK_US = 1000000,
	CALLER_US = 200000, /* how long one caller may keep the others waiting */
	BUSY_MS = 100,	    /* between two publications while something is counted */
	IDLE_MS = 1000,
	IDLE_TICKS = 10,
	STACK_BYTES = 256 * 1024,
	END_S = 2,
};

struct served {
	struct world_nic *n;
	uint8_t gid[16];
	struct publisher publisher;
};

struct stat_server {
	struct world *world;
	int fd;
	ino_t ino;
	_Atomic bool stop;
	_Atomic uint32_t nnics; /* of `nic`, complete ones */
	struct served nic[STAT_NICS];
	char host[16];
	char sysfs[PATH_MAX]; /* "": none */
	char command[STAT_COMMAND_MAX];
	pthread_t thread;
	struct stat_reply reply; /* the thread's */
};

/* ---- answers ---- */

struct snapshot {
	const struct served *served;
	uint32_t from_qpn;
	struct stat_reply *reply;
};

/* Under the NICs' lock. */
static void take_snapshot(void *arg)
{
	const struct snapshot *q = arg;
	struct stat_reply *r = q->reply;
	const struct nm_nic *nic = world_nic_model(q->served->n);
	const struct nm_config *config = nm_nic_config(nic);
	struct nm_qp_info infos[STAT_QPS];

	snprintf(r->device, sizeof(r->device), "%s", config->name);
	memcpy(r->gid, q->served->gid, sizeof(r->gid));
	r->ethernet = config->link_is_ethernet;
	r->counters = *nm_nic_counters(nic);
	r->nqps = nm_nic_qps(nic, q->from_qpn, infos, STAT_QPS);
	for (uint32_t i = 0; i < r->nqps; i++)
		r->qps[i] = (struct stat_qp){.qpn = infos[i].qpn,
					     .remote_qpn = infos[i].remote_qpn,
					     .st = infos[i].st,
					     .state = infos[i].state,
					     .counters = *infos[i].counters};
}

static bool answer(struct stat_server *s, int fd, const struct stat_request *q)
{
	struct stat_reply *r = &s->reply;
	struct snapshot shot = {.from_qpn = q->from_qpn, .reply = r};

	memset(r, 0, sizeof(*r));
	r->magic = STAT_MAGIC;
	r->version = STAT_VERSION;
	r->ncounters = NM_NCOUNTERS;
	r->pid = (uint32_t)getpid();
	r->nics = atomic_load(&s->nnics);
	memcpy(r->command, s->command, sizeof(r->command));
	if (q->nic < r->nics) {
		shot.served = &s->nic[q->nic];
		if (!world_peek(s->world, take_snapshot, &shot, PEEK_US))
			return false;
	}
	r->bytes = (uint32_t)(offsetof(struct stat_reply, qps) + r->nqps * sizeof(r->qps[0]));
	return send(fd, r, r->bytes, MSG_NOSIGNAL) == (ssize_t)r->bytes;
}

/* The kernel says who calls. */
static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* The program may have closed our descriptor and opened another socket under its number. */
static bool still_ours(const struct stat_server *s)
{
	struct stat st;

	return s->fd >= 0 && !fstat(s->fd, &st) && st.st_ino == s->ino;
}

static void serve(struct stat_server *s)
{
	const struct timeval patience = {.tv_usec = CALLER_US};
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	struct stat_request q;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (may_ask(fd) && !atomic_load(&s->stop) &&
	       recv(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) && q.magic == STAT_MAGIC &&
	       q.version == STAT_VERSION)
		if (!answer(s, fd, &q))
			break;
	syscall(SYS_close, fd);
}

/* ---- the thread ---- */

struct reading {
	struct world_nic *n;
	struct nm_counters counters;
};

static void read_counters(void *arg)
{
	struct reading *r = arg;

	r->counters = *nm_nic_counters(world_nic_model(r->n));
}

static bool publish_all(struct stat_server *s)
{
	bool changed = false;

	for (uint32_t i = 0; i < atomic_load(&s->nnics); i++) {
		struct reading r = {.n = s->nic[i].n};

		if (s->nic[i].publisher.fd >= 0 && world_peek(s->world, read_counters, &r, PEEK_US))
			changed |= publish_update(&s->nic[i].publisher, &r.counters);
	}
	return changed;
}

static void *stat_thread(void *arg)
{
	struct stat_server *s = arg;
	unsigned int quiet = 0;

	while (!atomic_load(&s->stop)) {
		struct pollfd pfd = {.fd = s->fd, .events = POLLIN};

		if (poll(&pfd, 1, quiet < IDLE_TICKS ? BUSY_MS : IDLE_MS) > 0) {
			if ((pfd.revents & ~POLLIN) || !still_ours(s))
				break; /* the program has closed it, or we end */
			serve(s);
			continue;
		}
		quiet = publish_all(s) ? 0 : quiet + 1;
	}
	return NULL;
}

/* ---- start and end ---- */

static bool bind_name(int fd, const char *host, unsigned int slot, bool with_pid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, STAT_PREFIX "%u/%s/%u",
			 (unsigned int)geteuid(), host, slot);

	if (with_pid)
		n += snprintf(a.sun_path + 1 + n, sizeof(a.sun_path) - 1 - (size_t)n, "-%d",
			      (int)getpid());
	return !bind(fd, (struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
}

static bool open_socket(struct stat_server *s, const char *host, unsigned int slot)
{
	struct stat st;

	s->fd = fds_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (s->fd < 0)
		return false;
	s->ino = fstat(s->fd, &st) ? 0 : st.st_ino;
	return (bind_name(s->fd, host, slot, false) || bind_name(s->fd, host, slot, true)) &&
	       !listen(s->fd, BACKLOG);
}

void stat_command_line(char *text, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
}

struct stat_server *stat_start(struct world *w, const char *host, const char *sysfs)
{
	struct stat_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->world = w;
	s->fd = -1;
	snprintf(s->sysfs, sizeof(s->sysfs), "%s", sysfs ? sysfs : "");
	stat_command_line(s->command, sizeof(s->command));
	snprintf(s->host, sizeof(s->host), "%s", host ? host : "local");
	return s;
}

/* The socket's name has the slot of the first NIC. */
static bool start(struct stat_server *s, struct world_nic *n)
{
	unsigned int slot = nm_nic_config(world_nic_model(n))->qpn_prefix >> 16;

	if (open_socket(s, s->host, slot) &&
	    !nic_thread_start(&s->thread, "gdakit-stat", STACK_BYTES, stat_thread, s))
		return true;
	if (s->fd >= 0)
		fds_close(s->fd);
	s->fd = -1;
	return false;
}

void stat_add(struct stat_server *s, struct world_nic *n)
{
	uint32_t i = atomic_load(&s->nnics);
	struct served *served = &s->nic[i];

	if (i == STAT_NICS)
		return;
	served->n = n;
	world_nic_gid(n, served->gid);
	served->publisher.fd = -1;
	if (s->sysfs[0])
		publish_open(&served->publisher, s->sysfs, nm_nic_config(world_nic_model(n))->name);
	if (i == 0 && !start(s, n)) {
		publish_close(&served->publisher);
		return;
	}
	atomic_store(&s->nnics, i + 1);
}

void stat_end(struct stat_server *s)
{
	struct timespec until;

	if (s->fd >= 0) {
		atomic_store(&s->stop, true);
		if (still_ours(s))
			shutdown(s->fd, SHUT_RDWR);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += END_S;
		if (pthread_timedjoin_np(s->thread, NULL, &until))
			return; /* it is stuck with the NIC's lock: what it uses stays */
		publish_all(s);
		if (still_ours(s))
			fds_close(s->fd);
	}
	for (uint32_t i = 0; i < atomic_load(&s->nnics); i++)
		publish_close(&s->nic[i].publisher);
	free(s);
}

void stat_abandon(struct stat_server *s)
{
	for (uint32_t i = 0; i < atomic_load(&s->nnics); i++)
		publish_close(&s->nic[i].publisher);
	if (still_ours(s))
		fds_close(s->fd);
	free(s);
}
