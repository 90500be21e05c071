/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of the vfio-user server, as a virtual machine would be one, and what it needs of the
 * protocol; the server serves it on a thread of its own. */
#ifndef GDAKIT_QEMU_CLIENT_H
#define GDAKIT_QEMU_CLIENT_H

#include <pthread.h>

#include "emu/qemu/vfu.h"

struct client {
	struct vfu *vfu;
	int fd, served; /* our end, and the server's until the thread has it */
	pthread_t thread;
	uint16_t id;
	uint8_t reply[VFU_BODY_MAX];
	size_t reply_len;
};

/* Connects, without a word. */
void client_open(struct client *c, struct vfu *v);
/* Hangs up and waits until the server has noticed. */
void client_close(struct client *c);
/* With the version agreed. */
void client_greet(struct client *c);

/* Sends raw bytes with descriptors (the caller's). */
void client_send(struct client *c, const void *bytes, size_t len, const int *fds, uint32_t nfds);
/* Sends a message and awaits its reply, in c->reply: 0, the errno of the reply, or -1: the server
 * hung up. */
int client_call(struct client *c, uint16_t command, const void *body, size_t len, const int *fds,
		uint32_t nfds);
/* One that asks for no reply. */
void client_post(struct client *c, uint16_t command, const void *body, size_t len);
/* True: the server has hung up, within some seconds. */
bool client_is_left(struct client *c);

int client_map(struct client *c, uint64_t addr, uint64_t len, int fd, uint64_t off, uint32_t flags);
int client_unmap(struct client *c, uint64_t addr, uint64_t len);
int client_read(struct client *c, uint32_t region, uint64_t off, void *buf, uint32_t len);
int client_write(struct client *c, uint32_t region, uint64_t off, const void *buf, uint32_t len);
/* SET_IRQS with DATA_EVENTFD and ACTION_TRIGGER; nfds 0: none any more. */
int client_vectors(struct client *c, uint32_t start, uint32_t count, const int *fds, uint32_t nfds);

#endif
