/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the server: vfu_msg.c and vfu.c. */
#ifndef GDAKIT_VFU_PRIV_H
#define GDAKIT_VFU_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "emu/qemu/vfu.h"

struct vfu {
	struct vfu_config config;
	bool greeted; /* the version is agreed */

	pthread_mutex_t irq_lock;     /* leaf: nothing is called under it */
	int vectors[VFU_VECTORS_MAX]; /* eventfds of the client, -1: none */

	/* vfu.c */
	char path[108];
	int listener;
	int wake; /* eventfd: the thread is to look at `stop` */
	pthread_t thread;
	bool running;
	atomic_bool stop;
	struct vfu_reply reply;
	uint8_t body[VFU_BODY_MAX];
};

#endif
