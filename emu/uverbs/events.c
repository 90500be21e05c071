// SPDX-License-Identifier: BSD-3-Clause
/*
 * From EQEs to the descriptors that the program reads.
 *
 * An event file is a SOCK_SEQPACKET pair: one end is the program's, so read(), poll(), epoll and
 * O_NONBLOCK need no help; a message is a record. What does not fit into the socket waits in a
 * backlog, which the watcher thread flushes. The watcher also sees the program close its end: with
 * the asynchronous one a context ends, if close() of its command fd has not ended it before.
 *
 * libibverbs blocks in a destroy until it has acknowledged as many events as the destroy reports,
 * no more and no less. So a destroy takes the events of its object back out of the socket and
 * reports the rest. This needs the program's own end; its number is remembered and checked by
 * inode, for a duplicate kept here would hide that the program closed it.
 *
 * One lock guards all of this. It is taken on the NIC's thread, so nothing is called while it is
 * held.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/fds/thread.h"
#include "emu/uverbs/uv.h"

enum {
	BUCKETS = 256,
	RECORD_MAX = 8 + PRM_EQE_SIZE,
	SOCKET_BYTES = 1 << 20,
	MAX_FILES_POLLED = 1024
};

struct record {
	struct record *next;
	size_t len;
	uint8_t data[RECORD_MAX];
};

struct uv_event_file {
	struct uv_event_file *next;
	struct uv_ctx *ctx;
	enum uv_event_file_kind kind;
	uint32_t flags; /* enum mlx5_ib_uapi_devx_create_event_channel_flags */
	int ours;	/* -1: the program has closed its end */
	int theirs;	/* number at the time of creation */
	uint64_t dev, ino;
	struct record *backlog, **backlog_tail;
};

struct subscription {
	struct subscription *next;
	struct uv_event_file *file;
	const struct uv_obj *obj;
	uint16_t type;
	uint64_t cookie;
	uint8_t nic;   /* whose events */
	int signal_fd; /* ours; -1: records go to the file */
};

static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uv_event_file *files;
static struct subscription *subscriptions;
static struct uv_event_route *cqs[BUCKETS], *qps[BUCKETS], *srqs[BUCKETS];
static int wake_fd = -1; /* eventfd: the watcher is to look at the list again */

/* PRM event type -> enum ib_event_type (the ABI's numbers), for events about a QP (PRM, event
 * types). */
static const struct {
	uint8_t prm;
	uint32_t ib;
} qp_events[] = {
	{PRM_EVENT_WQ_CATAS_ERROR, 1},	{PRM_EVENT_WQ_INVAL_REQ_ERROR, 2},
	{PRM_EVENT_WQ_ACCESS_ERROR, 3}, {PRM_EVENT_COMM_EST, 4},
	{PRM_EVENT_SQ_DRAINED, 5},	{PRM_EVENT_PATH_MIG, 6},
	{PRM_EVENT_SRQ_LAST_WQE, 16},
};
/* The same for events about an SRQ. */
static const struct {
	uint8_t prm;
	uint32_t ib;
} srq_events[] = {
	{PRM_EVENT_SRQ_CATAS_ERROR, 14},
	{PRM_EVENT_SRQ_RQ_LIMIT, 15},
};
enum { IB_EVENT_CQ_ERR = 0 };

static void wake(void)
{
	const uint64_t one = 1;

	if (wake_fd >= 0)
		(void)!write(wake_fd, &one, sizeof(one));
}

/* ---- records ---- */

static bool send_record(struct uv_event_file *f, const void *data, size_t len)
{
	return send(f->ours, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len ||
	       errno != EAGAIN;
}

static bool append_backlog(struct uv_event_file *f, const void *data, size_t len)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	assert(len <= sizeof(r->data));
	r->len = len;
	memcpy(r->data, data, len);
	*f->backlog_tail = r;
	f->backlog_tail = &r->next;
	return true;
}

static bool put(struct uv_event_file *f, const void *data, size_t len)
{
	if (f->ours < 0)
		return false;
	if (!f->backlog && send_record(f, data, len))
		return true;
	if (!append_backlog(f, data, len))
		return false;
	wake();
	return true;
}

static void flush(struct uv_event_file *f)
{
	while (f->backlog && send_record(f, f->backlog->data, f->backlog->len)) {
		struct record *r = f->backlog;

		f->backlog = r->next;
		if (!f->backlog)
			f->backlog_tail = &f->backlog;
		free(r);
	}
}

/* The first 8 bytes of completion and asynchronous records are the user handle of the object. */
static bool is_about(const void *data, size_t len, uint64_t user_handle)
{
	return len >= sizeof(user_handle) && !memcmp(data, &user_handle, sizeof(user_handle));
}

/* Records of `user_handle` that nobody has read are taken back; returns how many. */
static uint32_t withdraw(struct uv_event_file *f, uint64_t user_handle)
{
	struct record *old = f->backlog;
	uint8_t data[RECORD_MAX];
	uint32_t taken = 0;
	struct stat st;
	ssize_t n;

	f->backlog = NULL;
	f->backlog_tail = &f->backlog;
	if (f->ours >= 0 && !fstat(f->theirs, &st) && st.st_dev == f->dev && st.st_ino == f->ino) {
		while ((n = recv(f->theirs, data, sizeof(data), MSG_DONTWAIT)) > 0) {
			if (is_about(data, (size_t)n, user_handle))
				taken++;
			else
				append_backlog(f, data, (size_t)n);
		}
	}
	while (old) {
		struct record *next = old->next;

		if (is_about(old->data, old->len, user_handle))
			taken++;
		else
			append_backlog(f, old->data, old->len);
		free(old);
		old = next;
	}
	if (f->ours >= 0)
		flush(f);
	return taken;
}

/* ---- event files ---- */

struct uv_event_file *uv_events_open(struct uv_ctx *ctx, enum uv_event_file_kind kind,
				     uint32_t flags, int *fd)
{
	struct uv_event_file *f = calloc(1, sizeof(*f));
	const int bytes = SOCKET_BYTES;
	int pair[2];
	struct stat st;

	if (!f)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(f);
		return NULL;
	}
	pair[0] = fds_own(pair[0]);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	fstat(pair[1], &st);
	f->ctx = ctx;
	f->kind = kind;
	f->flags = flags;
	f->ours = pair[0];
	f->theirs = *fd = pair[1];
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->backlog_tail = &f->backlog;
	pthread_mutex_lock(&event_lock);
	f->next = files;
	files = f;
	pthread_mutex_unlock(&event_lock);
	wake();
	return f;
}

struct uv_event_file *uv_events_find(struct uv_ctx *ctx, enum uv_event_file_kind kind, int fd)
{
	struct uv_event_file *f;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	pthread_mutex_lock(&event_lock);
	for (f = files; f; f = f->next)
		if (f->ctx == ctx && f->kind == kind && f->dev == st.st_dev && f->ino == st.st_ino)
			break;
	pthread_mutex_unlock(&event_lock);
	return f;
}

static void drop_subscriptions(bool (*match)(const struct subscription *s, const void *arg),
			       const void *arg)
{
	struct subscription **p = &subscriptions;

	while (*p) {
		struct subscription *s = *p;

		if (!match(s, arg)) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		if (s->signal_fd >= 0)
			fds_close(s->signal_fd);
		free(s);
	}
}

static bool subscribed_by_file(const struct subscription *s, const void *file)
{
	return s->file == file;
}

static bool subscribed_to_obj(const struct subscription *s, const void *obj)
{
	return s->obj == obj;
}

static void drop_backlog(struct uv_event_file *f)
{
	while (f->backlog) {
		struct record *r = f->backlog;

		f->backlog = r->next;
		free(r);
	}
	f->backlog_tail = &f->backlog;
}

/* Nothing can be read any more, or will be. Routes may still point here. */
static void hang_up(struct uv_event_file *f)
{
	if (f->ours < 0)
		return;
	/* The watcher's poll() may hold the socket open for a while yet; the program is to see it
	 * now. */
	shutdown(f->ours, SHUT_RDWR);
	fds_close(f->ours);
	f->ours = -1;
	drop_backlog(f);
	drop_subscriptions(subscribed_by_file, f);
}

void uv_events_hang_up(struct uv_ctx *ctx)
{
	pthread_mutex_lock(&event_lock);
	for (struct uv_event_file *f = files; f; f = f->next)
		if (f->ctx == ctx)
			hang_up(f);
	pthread_mutex_unlock(&event_lock);
}

void uv_events_forget(struct uv_ctx *ctx)
{
	pthread_mutex_lock(&event_lock);
	for (struct uv_event_file *f = files; f; f = f->next)
		if (f->ctx == ctx)
			f->ctx = NULL;
	pthread_mutex_unlock(&event_lock);
	wake();
}

/* ---- routes ---- */

static void add_route(struct uv_event_route **table, struct uv_event_route *route, uint32_t num)
{
	pthread_mutex_lock(&event_lock);
	route->num = num;
	route->nic = (uint8_t)uv_nic_index();
	route->next = table[num % BUCKETS];
	table[num % BUCKETS] = route;
	pthread_mutex_unlock(&event_lock);
}

static struct uv_event_route *find_route(struct uv_event_route *const *table, unsigned int nic,
					 uint32_t num)
{
	struct uv_event_route *r = table[num % BUCKETS];

	while (r && (r->num != num || r->nic != nic))
		r = r->next;
	return r;
}

static void remove_route(struct uv_event_route **table, struct uv_event_route *route,
			 uint32_t *comp_read, uint32_t *async_read)
{
	struct uv_event_route **p;

	*comp_read = *async_read = 0;
	pthread_mutex_lock(&event_lock);
	for (p = &table[route->num % BUCKETS]; *p && *p != route; p = &(*p)->next)
		;
	if (*p)
		*p = route->next;
	if (route->comp)
		*comp_read = route->comp_sent - withdraw(route->comp, route->user_handle);
	if (route->async)
		*async_read = route->async_sent - withdraw(route->async, route->user_handle);
	pthread_mutex_unlock(&event_lock);
}

void uv_events_add_cq(struct uv_event_route *route, uint32_t cqn)
{
	add_route(cqs, route, cqn);
}

void uv_events_add_qp(struct uv_event_route *route, uint32_t qpn)
{
	add_route(qps, route, qpn);
}

void uv_events_add_srq(struct uv_event_route *route, uint32_t srqn)
{
	add_route(srqs, route, srqn);
}

void uv_events_remove_cq(struct uv_event_route *route, uint32_t *comp_read, uint32_t *async_read)
{
	remove_route(cqs, route, comp_read, async_read);
}

void uv_events_remove_qp(struct uv_event_route *route, uint32_t *async_read)
{
	uint32_t none;

	remove_route(qps, route, &none, async_read);
}

void uv_events_remove_srq(struct uv_event_route *route, uint32_t *async_read)
{
	uint32_t none;

	remove_route(srqs, route, &none, async_read);
}

int uv_events_subscribe(struct uv_event_file *file, uint16_t type, const struct uv_obj *obj,
			uint64_t cookie, int signal_fd)
{
	struct subscription *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->file = file;
	s->type = type;
	s->obj = obj;
	s->cookie = cookie;
	s->nic = (uint8_t)uv_nic_index();
	s->signal_fd = signal_fd < 0 ? -1 : fds_own(fcntl(signal_fd, F_DUPFD_CLOEXEC, 0));
	if (signal_fd >= 0 && s->signal_fd < 0) {
		free(s);
		return -EBADF;
	}
	pthread_mutex_lock(&event_lock);
	s->next = subscriptions;
	subscriptions = s;
	pthread_mutex_unlock(&event_lock);
	return 0;
}

void uv_events_unsubscribe(const struct uv_obj *obj)
{
	pthread_mutex_lock(&event_lock);
	drop_subscriptions(subscribed_to_obj, obj);
	pthread_mutex_unlock(&event_lock);
}

/* ---- an EQE ---- */

static void put_async(struct uv_event_route *route, uint32_t ib_event)
{
	const struct ib_uverbs_async_event_desc desc = {.element = route->user_handle,
							.event_type = ib_event};

	if (route->async && put(route->async, &desc, sizeof(desc)))
		route->async_sent++;
}

/* An XRC target has a route for each of its handles. */
static void put_async_all(struct uv_event_route *const *table, unsigned int nic, uint32_t num,
			  uint32_t ib_event)
{
	for (struct uv_event_route *r = table[num % BUCKETS]; r; r = r->next)
		if (r->num == num && r->nic == nic)
			put_async(r, ib_event);
}

static void completion(unsigned int nic, uint32_t cqn)
{
	struct uv_event_route *route = find_route(cqs, nic, cqn);
	struct ib_uverbs_comp_event_desc desc;

	if (!route || !route->comp)
		return;
	desc.cq_handle = route->user_handle;
	if (put(route->comp, &desc, sizeof(desc)))
		route->comp_sent++;
}

static void asynchronous(unsigned int nic, uint8_t type, const uint8_t *eqe)
{
	struct uv_event_route *route;

	if (type == PRM_EVENT_CQ_ERROR) {
		route = find_route(cqs, nic, PRM_GET(eqe, eqe, cq_err_cqn));
		if (route)
			put_async(route, IB_EVENT_CQ_ERR);
		return;
	}
	for (size_t i = 0; i < sizeof(qp_events) / sizeof(qp_events[0]); i++)
		if (qp_events[i].prm == type)
			put_async_all(qps, nic, PRM_GET(eqe, eqe, number), qp_events[i].ib);
	for (size_t i = 0; i < sizeof(srq_events) / sizeof(srq_events[0]); i++)
		if (srq_events[i].prm == type)
			put_async_all(srqs, nic, PRM_GET(eqe, eqe, number), srq_events[i].ib);
}

static void devx(unsigned int nic, uint8_t type, uint32_t num, const uint8_t *eqe)
{
	const uint64_t one = 1;
	uint8_t record[RECORD_MAX];

	for (struct subscription *s = subscriptions; s; s = s->next) {
		if (s->nic != nic || s->type != type || (s->obj && s->obj->num != num))
			continue;
		if (s->signal_fd >= 0) {
			(void)!write(s->signal_fd, &one, sizeof(one));
			continue;
		}
		memcpy(record, &s->cookie, sizeof(s->cookie));
		memcpy(record + sizeof(s->cookie), eqe, PRM_EQE_SIZE);
		put(s->file, record,
		    s->file->flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA ? sizeof(s->cookie)
										: sizeof(record));
	}
}

int uv_events_put_answer(struct uv_event_file *file, uint64_t wr_id, const void *out, size_t len)
{
	struct iovec iov[2] = {{&wr_id, sizeof(wr_id)}, {(void *)out, len}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	int ret = -EAGAIN;

	pthread_mutex_lock(&event_lock);
	if (file->ours >= 0 && sendmsg(file->ours, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		ret = 0;
	pthread_mutex_unlock(&event_lock);
	return ret;
}

void uv_events_eqe(void *arg, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	uint8_t type = (uint8_t)PRM_GET(eqe, eqe, type);
	unsigned int nic = (unsigned int)(uintptr_t)arg;

	(void)eqn;
	(void)intr;
	pthread_mutex_lock(&event_lock);
	if (type == PRM_EVENT_COMP)
		completion(nic, PRM_GET(eqe, eqe, number));
	else
		asynchronous(nic, type, eqe);
	devx(nic, type,
	     type == PRM_EVENT_CQ_ERROR ? PRM_GET(eqe, eqe, cq_err_cqn) : PRM_GET(eqe, eqe, number),
	     eqe);
	pthread_mutex_unlock(&event_lock);
}

/* ---- the watcher ---- */

/* Files of contexts that have ended. */
static void free_orphans(void)
{
	struct uv_event_file **p = &files;

	while (*p) {
		struct uv_event_file *f = *p;

		if (f->ctx) {
			p = &f->next;
			continue;
		}
		*p = f->next;
		free(f);
	}
}

/* Fills the poll set; returns its size. Only this thread frees files, so the pointers stay good. */
static nfds_t collect(struct pollfd *set, struct uv_event_file **of)
{
	nfds_t n = 1;

	set[0] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	pthread_mutex_lock(&event_lock);
	free_orphans();
	for (struct uv_event_file *f = files; f && n < MAX_FILES_POLLED; f = f->next) {
		if (f->ours < 0)
			continue;
		of[n] = f;
		set[n++] = (struct pollfd){.fd = f->ours, .events = f->backlog ? POLLOUT : 0};
	}
	pthread_mutex_unlock(&event_lock);
	return n;
}

/* The memfd of a context: another thread may end it at any time, so no pointer. */
struct ends {
	bool yes;
	uint64_t dev, ino;
};

/* Says which context ends with this file, if one does. */
static struct ends look_at(struct uv_event_file *f, short revents)
{
	struct ends ends = {0};

	pthread_mutex_lock(&event_lock);
	if (f->ours >= 0 && (revents & (POLLHUP | POLLERR))) {
		hang_up(f);
		if (f->ctx && f->kind == UV_EVENTS_ASYNC && f->ctx->async == f)
			ends = (struct ends){true, f->ctx->dev, f->ctx->ino};
	} else if (f->ours >= 0 && (revents & POLLOUT)) {
		flush(f);
	}
	pthread_mutex_unlock(&event_lock);
	return ends;
}

static void *watch(void *arg)
{
	static struct pollfd set[MAX_FILES_POLLED];
	static struct uv_event_file *of[MAX_FILES_POLLED];
	uint64_t drain;

	(void)arg;
	for (;;) {
		nfds_t n = collect(set, of);
		struct ends ends = {0};

		if (poll(set, n, -1) < 0)
			continue;
		if (set[0].revents & POLLIN)
			(void)!read(wake_fd, &drain, sizeof(drain));
		/* A context that ends takes its other files with it: then the set is stale. */
		for (nfds_t i = 1; i < n && !ends.yes; i++)
			if (set[i].revents)
				ends = look_at(of[i], set[i].revents);
		if (ends.yes)
			uv_ctx_end(ends.dev, ends.ino);
	}
	return NULL;
}

int uv_events_start(void)
{
	pthread_t thread;
	int ret;

	if (wake_fd >= 0)
		return 0;
	wake_fd = fds_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (wake_fd < 0)
		return -errno;
	ret = nic_thread_start(&thread, "gdakit-events", 0, watch, NULL);
	if (ret) {
		fds_close(wake_fd);
		wake_fd = -1;
		return -ret;
	}
	pthread_detach(thread);
	return 0;
}

void uv_events_abandon(void)
{
	pthread_mutex_init(&event_lock, NULL);
	for (struct uv_event_file *f = files; f; f = f->next)
		if (f->ours >= 0)
			fds_close(f->ours);
	files = NULL;
	subscriptions = NULL;
	memset(cqs, 0, sizeof(cqs));
	memset(qps, 0, sizeof(qps));
	memset(srqs, 0, sizeof(srqs));
	if (wake_fd >= 0)
		fds_close(wake_fd);
	wake_fd = -1;
}
