// SPDX-License-Identifier: BSD-3-Clause
/*
 * Event channels of the connection manager: descriptors of /dev/infiniband/rdma_cm, to which
 * librdmacm writes commands. The table of commands is here; what they do is in cm_id.c and
 * cm_query.c.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/uverbs/cm.h"

enum { IN_MAX = 512, OUT_MAX = 1024, PIPE_BYTES = 1 << 20, KNOWN = 256 };

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;
struct cm_id *cm_ids;
struct cm_file *cm_files;

/*
 * Inodes of the channels, to be read without the lock: write() may be called in a signal handler
 * of a thread that holds it. `many`: there were more channels than places.
 */
static _Atomic uint64_t known[KNOWN];
static _Atomic bool many;

/* Descriptors of the node that are not channels yet, plus 1. */
static _Atomic int opened[KNOWN];

static void know(uint64_t ino, uint64_t instead)
{
	for (int i = 0; i < KNOWN; i++) {
		uint64_t was = instead;

		if (atomic_compare_exchange_strong(&known[i], &was, ino))
			return;
	}
	if (ino)
		many = true;
}

static bool is_opened(int fd)
{
	for (int i = 0; i < KNOWN; i++)
		if (opened[i] == fd + 1)
			return true;
	return false;
}

static bool may_be_channel(const struct stat *st, int fd)
{
	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(UV_NODE_MAJOR, UV_NODE_MINOR) && is_opened(fd);
	if (!S_ISFIFO(st->st_mode))
		return false;
	for (int i = 0; i < KNOWN; i++)
		if (known[i] == st->st_ino)
			return true;
	return many;
}

void cm_file_forget(const struct cm_file *file)
{
	know(0, file->ino);
}

/* ---- events ---- */

static void put(struct cm_file *file, struct cm_event *ev)
{
	*file->tail = ev;
	file->tail = &ev->next;
	/* A full pipe is readable all the same; its reader finds the rest of the list
	 * (cm_get_event). */
	(void)!write(file->signal, "", 1);
}

static struct cm_event *event_new(struct cm_id *id, const struct rdma_ucm_event_resp *with)
{
	struct cm_event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return NULL; /* as when a MAD is lost */
	ev->id = id;
	if (with)
		ev->resp = *with;
	ev->resp.uid = id->uid;
	ev->resp.id = id->handle;
	return ev;
}

void cm_event_put(struct cm_id *id, uint32_t type, int32_t status,
		  const struct rdma_ucm_event_resp *with)
{
	struct cm_event *ev;

	if (!id->uid)
		return; /* a request that nobody has accepted: its acceptance will fail */
	ev = event_new(id, with);
	if (!ev)
		return;
	ev->resp.event = type;
	ev->resp.status = (uint32_t)status;
	put(id->file, ev);
}

void cm_event_put_request(struct cm_id *listener, struct cm_id *fresh,
			  const struct rdma_ucm_event_resp *with)
{
	struct cm_event *ev = event_new(listener, with);

	if (!ev)
		return;
	ev->fresh = fresh;
	ev->resp.id = fresh->handle;
	ev->resp.event = CM_CONNECT_REQUEST;
	put(listener->file, ev);
}

void cm_event_put_group(struct cm_id *id, struct cm_mcast *group,
			const struct rdma_ucm_event_resp *with)
{
	struct cm_event *ev = event_new(id, with);

	if (!ev)
		return;
	ev->resp.uid = group->uid;
	ev->resp.id = group->handle;
	ev->resp.event = CM_MULTICAST_JOIN;
	put(id->file, ev);
}

static bool is_file(const struct cm_file *file, int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == file->dev && st.st_ino == file->ino;
}

/* One byte of the pipe, if there is one: an event less can be had. */
static void take_signal(const struct cm_file *file, int fd)
{
	char byte;
	int flags;

	if (!is_file(file, fd))
		return;
	flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	(void)!read(fd, &byte, 1);
	fcntl(fd, F_SETFL, flags);
}

/* Unlinks the events about id; with `to` they go there, else they are freed. */
static void remove_events(struct cm_id *id, int fd, struct cm_file *to)
{
	struct cm_file *file = id->file;
	struct cm_event **p = &file->head;

	while (*p) {
		struct cm_event *ev = *p;

		if (ev->id != id) {
			p = &ev->next;
			continue;
		}
		*p = ev->next;
		ev->next = NULL;
		take_signal(file, fd);
		if (to) {
			put(to, ev);
			continue;
		}
		if (ev->fresh)
			cm_id_free(ev->fresh);
		free(ev);
	}
	file->tail = p;
}

void cm_events_drop(struct cm_file *file)
{
	while (file->head) {
		struct cm_event *ev = file->head;

		file->head = ev->next;
		if (ev->fresh)
			cm_id_free(ev->fresh);
		free(ev);
	}
	file->tail = &file->head;
}

void cm_events_withdraw(struct cm_id *id, int fd)
{
	remove_events(id, fd, NULL);
}

void cm_events_move(struct cm_id *id, int fd, struct cm_file *to)
{
	remove_events(id, fd, to);
}

static void count_report(const struct cm_event *ev)
{
	for (struct cm_mcast *m = ev->id->groups; m; m = m->next)
		if (m->handle == ev->resp.id && ev->resp.event == CM_MULTICAST_JOIN) {
			m->events_reported++;
			return;
		}
	ev->id->events_reported++;
}

/* Waits as the descriptor says, without the lock; then takes the first event. */
static int get_event(struct cm_file *file, int fd, struct rdma_ucm_event_resp *resp)
{
	struct cm_event *ev;
	char byte;

	for (;;) {
		if (read(fd, &byte, 1) != 1)
			return errno ? -errno : -EBADF;
		pthread_mutex_lock(&cm_lock);
		ev = file->head;
		if (ev) {
			file->head = ev->next;
			if (!file->head)
				file->tail = &file->head;
			count_report(ev);
			*resp = ev->resp;
			if (ev->fresh)
				ev->fresh->listen_id = NULL;
			free(ev);
		}
		pthread_mutex_unlock(&cm_lock);
		if (ev)
			return 0;
	}
}

/* ---- channels ---- */

struct cm_file *cm_file_of_fd(int fd)
{
	for (struct cm_file *f = cm_files; f; f = f->next)
		if (is_file(f, fd))
			return f;
	return NULL;
}

static struct cm_file *open_file(int fd)
{
	struct cm_file *file = calloc(1, sizeof(*file));
	int ends[2], flags = fcntl(fd, F_GETFD), status = fcntl(fd, F_GETFL);
	struct stat st;

	if (!file || pipe2(ends, O_CLOEXEC)) {
		free(file);
		return NULL;
	}
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	fcntl(ends[0], F_SETFL, status & O_NONBLOCK);
	fstat(ends[0], &st);
	ends[1] = fds_own(ends[1]);
	if (cm_watch(ends[1], CM_WATCH_FILE, 0) ||
	    dup3(ends[0], fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0) {
		close(ends[0]);
		cm_watched_close(ends[1]);
		free(file);
		return NULL;
	}
	close(ends[0]);
	*file = (struct cm_file){
		.next = cm_files, .signal = ends[1], .dev = st.st_dev, .ino = st.st_ino};
	file->tail = &file->head;
	cm_files = file;
	know(file->ino, 0);
	return file;
}

/* ---- commands ---- */

static const struct command {
	const char *name;
	size_t in, out; /* bytes; 0 out: none */
	int (*handler)(struct cm_cmd *cmd, const void *in);
} commands[] = {
#define COMMAND(name_, in_, out_, handler_)                                                        \
	[RDMA_USER_CM_CMD_##name_] = {#name_, sizeof(struct in_), out_, handler_}
	COMMAND(CREATE_ID, rdma_ucm_create_id, sizeof(struct rdma_ucm_create_id_resp),
		cm_create_id),
	COMMAND(DESTROY_ID, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id_resp),
		cm_destroy_id),
	COMMAND(BIND_IP, rdma_ucm_bind_ip, 0, cm_bind_ip),
	COMMAND(RESOLVE_IP, rdma_ucm_resolve_ip, 0, cm_resolve_ip),
	COMMAND(RESOLVE_ROUTE, rdma_ucm_resolve_route, 0, cm_resolve_route),
	COMMAND(QUERY_ROUTE, rdma_ucm_query,
		offsetof(struct rdma_ucm_query_route_resp, ibdev_index), cm_query_route),
	COMMAND(CONNECT, rdma_ucm_connect, 0, cm_connect),
	COMMAND(LISTEN, rdma_ucm_listen, 0, cm_listen),
	COMMAND(ACCEPT, rdma_ucm_accept, 0, cm_accept),
	COMMAND(REJECT, rdma_ucm_reject, 0, cm_reject),
	COMMAND(DISCONNECT, rdma_ucm_disconnect, 0, cm_disconnect),
	COMMAND(INIT_QP_ATTR, rdma_ucm_init_qp_attr, sizeof(struct ib_uverbs_qp_attr),
		cm_init_qp_attr),
	COMMAND(GET_EVENT, rdma_ucm_get_event, offsetof(struct rdma_ucm_event_resp, reserved),
		NULL),
	COMMAND(SET_OPTION, rdma_ucm_set_option, 0, cm_set_option),
	COMMAND(NOTIFY, rdma_ucm_notify, 0, cm_notify),
	COMMAND(JOIN_IP_MCAST, rdma_ucm_join_ip_mcast, sizeof(struct rdma_ucm_create_id_resp),
		cm_join_ip_mcast),
	COMMAND(LEAVE_MCAST, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id_resp),
		cm_leave_mcast),
	COMMAND(MIGRATE_ID, rdma_ucm_migrate_id, sizeof(struct rdma_ucm_migrate_resp),
		cm_migrate_id),
	COMMAND(QUERY, rdma_ucm_query, sizeof(struct rdma_ucm_query_path_resp), cm_query),
	COMMAND(BIND, rdma_ucm_bind, 0, cm_bind),
	COMMAND(RESOLVE_ADDR, rdma_ucm_resolve_addr, 0, cm_resolve_addr),
	COMMAND(JOIN_MCAST, rdma_ucm_join_mcast, sizeof(struct rdma_ucm_create_id_resp),
		cm_join_mcast),
#undef COMMAND
};
enum { NCOMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* Structures that grew: programs built before have shorter ones (rdma_ucm_ece at the end). */
static size_t least(uint32_t cmd)
{
	if (cmd == RDMA_USER_CM_CMD_CONNECT)
		return offsetof(struct rdma_ucm_connect, ece);
	if (cmd == RDMA_USER_CM_CMD_ACCEPT)
		return offsetof(struct rdma_ucm_accept, ece);
	return commands[cmd].in;
}

/*
 * Where the response goes: the structures that have one name it in their first 8 bytes, or, if
 * they name the program's identifier first, in the second.
 */
static uint64_t response_of(uint32_t cmd, const uint8_t *in)
{
	uint64_t addr;

	memcpy(&addr, in + (cmd == RDMA_USER_CM_CMD_CREATE_ID ? 8 : 0), sizeof(addr));
	return addr;
}

static int execute(struct cm_file *file, int fd, const struct rdma_ucm_cmd_hdr *hdr,
		   const uint8_t *in)
{
	const struct command *c = &commands[hdr->cmd];
	_Alignas(8) uint8_t out[OUT_MAX] = {0};
	struct cm_cmd cmd = {.fd = fd, .file = file, .name = c->name, .out = out};
	int ret;

	if (c->out && hdr->out < c->out)
		return uv_refuse(ENOSPC, "rdma_cm %s: room for %u bytes of answer, it has %zu",
				 c->name, hdr->out, c->out);
	cmd.out_len = c->out ? (hdr->out < OUT_MAX ? hdr->out : OUT_MAX) : 0;
	if (!c->handler) {
		ret = get_event(file, fd, (struct rdma_ucm_event_resp *)out);
	} else {
		pthread_mutex_lock(&cm_lock);
		ret = c->handler(&cmd, in);
		pthread_mutex_unlock(&cm_lock);
		cm_thread_wake();
	}
	if (ret || !cmd.out_len)
		return ret;
	return uv_copy_out(response_of(hdr->cmd, in), out, cmd.out_len);
}

void cm_opened(int fd)
{
	for (int i = 0; i < KNOWN; i++) {
		int none = 0;

		if (is_opened(fd) || atomic_compare_exchange_strong(&opened[i], &none, fd + 1))
			return;
	}
}

/* Is fd a channel, or opened to be one? Then it is one afterwards: 1; 0: it is not; -errno. */
int cm_channel(int fd)
{
	struct cm_file *file;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) || !may_be_channel(&st, fd))
		return 0;
	pthread_mutex_lock(&cm_lock);
	file = cm_file_of_fd(fd);
	if (!file && S_ISCHR(st.st_mode)) {
		err = cm_thread_start();
		file = err ? NULL : open_file(fd);
		if (!file && !err)
			err = -ENOMEM;
		for (int i = 0; i < KNOWN; i++) {
			int was = fd + 1;

			atomic_compare_exchange_strong(&opened[i], &was, 0);
		}
	}
	pthread_mutex_unlock(&cm_lock);
	return err ? err : file != NULL;
}

ssize_t cm_write(int fd, const void *buf, size_t len)
{
	_Alignas(8) uint8_t in[IN_MAX] = {0};
	struct rdma_ucm_cmd_hdr hdr;
	struct cm_file *file;
	int err;

	/* Cheap for every other write(): commands have a size between these. */
	if (len < sizeof(hdr) || len > sizeof(hdr) + IN_MAX)
		return -ENOTTY;
	err = cm_channel(fd);
	if (err <= 0)
		return err ? err : -ENOTTY;
	pthread_mutex_lock(&cm_lock);
	file = cm_file_of_fd(fd);
	pthread_mutex_unlock(&cm_lock);
	if (!file)
		return -ENOTTY;
	if (uv_copy_in(&hdr, (uintptr_t)buf, sizeof(hdr)))
		return -EFAULT;
	if (hdr.cmd >= NCOMMANDS || !commands[hdr.cmd].name)
		return uv_refuse(ENOSYS, "rdma_cm: command %u is none that is emulated", hdr.cmd);
	if (hdr.in + sizeof(hdr) > len || hdr.in < least(hdr.cmd))
		return uv_refuse(EINVAL,
				 "rdma_cm %s: %u bytes follow, of %zu written, expected %zu",
				 commands[hdr.cmd].name, hdr.in, len, commands[hdr.cmd].in);
	if (uv_copy_in(in, (uintptr_t)buf + sizeof(hdr), hdr.in))
		return -EFAULT;
	err = execute(file, fd, &hdr, in);
	return err ? err : (ssize_t)len;
}

void cm_abandon(void)
{
	pthread_mutex_init(&cm_lock, NULL);
	/* Our copies of the descriptors would keep the parent's connections alive. Its memory is
	 * left alone: the parent's thread may have been changing it. */
	for (struct cm_id *id = cm_ids; id; id = id->next) {
		if (id->listener >= 0)
			fds_close(id->listener);
		if (id->peer >= 0)
			fds_close(id->peer);
	}
	for (struct cm_file *f = cm_files; f; f = f->next) {
		fds_close(f->signal);
		cm_file_forget(f);
	}
	cm_ids = NULL;
	cm_files = NULL;
	cm_thread_abandon();
}
