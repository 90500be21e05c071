// SPDX-License-Identifier: BSD-3-Clause
#include "sim_tests/qemu_client.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_S = 20 };

static void *serve(void *arg)
{
	struct client *c = arg;

	vfu_serve(c->vfu, c->served);
	return NULL;
}

void client_open(struct client *c, struct vfu *v)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int pair[2];

	memset(c, 0, sizeof(*c));
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	c->vfu = v;
	c->fd = pair[0];
	c->served = pair[1];
	cr_assert_eq(pthread_create(&c->thread, NULL, serve, c), 0);
}

void client_close(struct client *c)
{
	close(c->fd);
	pthread_join(c->thread, NULL);
}

void client_send(struct client *c, const void *bytes, size_t len, const int *fds, uint32_t nfds)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(VFU_FDS_MAX * 2 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds) {
		struct cmsghdr *m;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		m = CMSG_FIRSTHDR(&msg);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(m), fds, nfds * sizeof(int));
	}
	/* A server that hangs up in the middle is not the client's fault. */
	(void)!sendmsg(c->fd, &msg, MSG_NOSIGNAL);
}

static void send_message(struct client *c, uint16_t command, uint32_t flags, const void *body,
			 size_t len, const int *fds, uint32_t nfds)
{
	static uint8_t message[sizeof(struct vfu_header) + VFU_BODY_MAX];
	struct vfu_header head = {.id = ++c->id,
				  .command = command,
				  .size = (uint32_t)(sizeof(head) + len),
				  .flags = flags};

	cr_assert_leq(len, VFU_BODY_MAX);
	memcpy(message, &head, sizeof(head));
	if (len)
		memcpy(message + sizeof(head), body, len);
	client_send(c, message, head.size, fds, nfds);
}

int client_call(struct client *c, uint16_t command, const void *body, size_t len, const int *fds,
		uint32_t nfds)
{
	struct vfu_header head;

	send_message(c, command, 0, body, len, fds, nfds);
	if (recv(c->fd, &head, sizeof(head), MSG_WAITALL) != sizeof(head))
		return -1;
	cr_assert_eq(head.id, c->id);
	cr_assert_eq(head.command, command);
	cr_assert_eq(head.flags & VFU_TYPE_MASK, VFU_TYPE_REPLY);
	c->reply_len = head.size - sizeof(head);
	cr_assert_leq(c->reply_len, sizeof(c->reply));
	if (c->reply_len)
		cr_assert_eq(recv(c->fd, c->reply, c->reply_len, MSG_WAITALL),
			     (ssize_t)c->reply_len);
	if (!(head.flags & VFU_ERROR))
		return 0;
	cr_assert_eq(c->reply_len, 0, "an error is a header alone");
	cr_assert_neq(head.error, 0);
	return (int)head.error;
}

void client_post(struct client *c, uint16_t command, const void *body, size_t len)
{
	send_message(c, command, VFU_NO_REPLY, body, len, NULL, 0);
}

bool client_is_left(struct client *c)
{
	uint8_t byte;

	return recv(c->fd, &byte, 1, 0) == 0;
}

void client_greet(struct client *c)
{
	static const char hello[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":8}}";

	cr_assert_eq(client_call(c, VFU_VERSION, hello, sizeof(hello), NULL, 0), 0);
}

int client_map(struct client *c, uint64_t addr, uint64_t len, int fd, uint64_t off, uint32_t flags)
{
	struct {
		uint32_t argsz, flags;
		uint64_t off, addr, len;
	} m = {sizeof(m), flags, off, addr, len};

	return client_call(c, VFU_DMA_MAP, &m, sizeof(m), &fd, fd >= 0);
}

int client_unmap(struct client *c, uint64_t addr, uint64_t len)
{
	struct {
		uint32_t argsz, flags;
		uint64_t addr, len;
	} m = {sizeof(m), 0, addr, len};

	return client_call(c, VFU_DMA_UNMAP, &m, sizeof(m), NULL, 0);
}

struct access {
	uint64_t off;
	uint32_t region, len;
	uint8_t data[64];
};

int client_read(struct client *c, uint32_t region, uint64_t off, void *buf, uint32_t len)
{
	struct access a = {.off = off, .region = region, .len = len};
	int err = client_call(c, VFU_REGION_READ, &a, offsetof(struct access, data), NULL, 0);

	if (err)
		return err;
	cr_assert_eq(c->reply_len, offsetof(struct access, data) + len);
	memcpy(buf, c->reply + offsetof(struct access, data), len);
	return 0;
}

int client_write(struct client *c, uint32_t region, uint64_t off, const void *buf, uint32_t len)
{
	struct access a = {.off = off, .region = region, .len = len};

	cr_assert_leq(len, sizeof(a.data));
	memcpy(a.data, buf, len);
	return client_call(c, VFU_REGION_WRITE, &a, offsetof(struct access, data) + len, NULL, 0);
}

int client_vectors(struct client *c, uint32_t start, uint32_t count, const int *fds, uint32_t nfds)
{
	struct vfio_irq_set set = {.argsz = sizeof(set),
				   .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
				   .index = VFIO_PCI_MSIX_IRQ_INDEX,
				   .start = start,
				   .count = count};

	return client_call(c, VFU_SET_IRQS, &set, sizeof(set), fds, nfds);
}
