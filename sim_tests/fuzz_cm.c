/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: commands of the connection manager from a program without sense, and messages
 * of a peer without one. The input is a list of steps: a byte that says what, and bytes for it.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/uverbs/cm.h"

enum { CHANNELS = 2, STEPS = 64, PORT = 7000, COMMANDS = RDMA_USER_CM_CMD_JOIN_MCAST + 2 };

struct input {
	const uint8_t *at;
	size_t left;
};

static void take(struct input *in, void *to, size_t len)
{
	size_t n = len < in->left ? len : in->left;

	memset(to, 0, len);
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
}

/* A name that a listener of this process may have, so that a stranger finds it. */
static int visit(uint16_t port)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "gdakit-cm/%u/127.98.1/%x/%u",
			 (unsigned int)geteuid(), RDMA_PS_TCP, port);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (connect(fd, (struct sockaddr *)&sa,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Identifiers, ports and addresses are drawn from a few, or nothing would ever meet. */
static void steer(uint32_t cmd, uint8_t *body, uint32_t first, const uint8_t *bits)
{
	uint32_t id = first + bits[0] % 4;
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htobe16(PORT + bits[1] % 2),
				 .sin_addr.s_addr = htobe32(127u << 24 | 98u << 16 | 1u << 8 | 1)};

	switch (cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		((struct rdma_ucm_create_id *)body)->ps = bits[2] & 3 ? RDMA_PS_TCP : RDMA_PS_UDP;
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
		((struct rdma_ucm_bind_ip *)body)->id = id;
		memcpy(&((struct rdma_ucm_bind_ip *)body)->addr, &sa, sizeof(sa));
		break;
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		((struct rdma_ucm_resolve_ip *)body)->id = id;
		memcpy(&((struct rdma_ucm_resolve_ip *)body)->dst_addr, &sa, sizeof(sa));
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		((struct rdma_ucm_connect *)body)->id = id;
		((struct rdma_ucm_connect *)body)->conn_param.valid |= 1;
		break;
	case RDMA_USER_CM_CMD_ACCEPT:
		((struct rdma_ucm_accept *)body)->id = id;
		break;
	case RDMA_USER_CM_CMD_LISTEN:
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
	case RDMA_USER_CM_CMD_DISCONNECT:
	case RDMA_USER_CM_CMD_REJECT:
	case RDMA_USER_CM_CMD_NOTIFY:
		memcpy(body, &id, sizeof(id));
		break;
	default:
		memcpy(body + 8, &id, sizeof(id));
		break;
	}
}

static const uint16_t sizes[COMMANDS] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = sizeof(struct rdma_ucm_create_id),
	[RDMA_USER_CM_CMD_DESTROY_ID] = sizeof(struct rdma_ucm_destroy_id),
	[RDMA_USER_CM_CMD_BIND_IP] = sizeof(struct rdma_ucm_bind_ip),
	[RDMA_USER_CM_CMD_RESOLVE_IP] = sizeof(struct rdma_ucm_resolve_ip),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = sizeof(struct rdma_ucm_resolve_route),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = sizeof(struct rdma_ucm_query),
	[RDMA_USER_CM_CMD_CONNECT] = sizeof(struct rdma_ucm_connect),
	[RDMA_USER_CM_CMD_LISTEN] = sizeof(struct rdma_ucm_listen),
	[RDMA_USER_CM_CMD_ACCEPT] = sizeof(struct rdma_ucm_accept),
	[RDMA_USER_CM_CMD_REJECT] = sizeof(struct rdma_ucm_reject),
	[RDMA_USER_CM_CMD_DISCONNECT] = sizeof(struct rdma_ucm_disconnect),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = sizeof(struct rdma_ucm_init_qp_attr),
	[RDMA_USER_CM_CMD_GET_EVENT] = sizeof(struct rdma_ucm_get_event),
	[RDMA_USER_CM_CMD_SET_OPTION] = sizeof(struct rdma_ucm_set_option),
	[RDMA_USER_CM_CMD_NOTIFY] = sizeof(struct rdma_ucm_notify),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = sizeof(struct rdma_ucm_join_ip_mcast),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = sizeof(struct rdma_ucm_destroy_id),
	[RDMA_USER_CM_CMD_MIGRATE_ID] = sizeof(struct rdma_ucm_migrate_id),
	[RDMA_USER_CM_CMD_QUERY] = sizeof(struct rdma_ucm_query),
	[RDMA_USER_CM_CMD_BIND] = sizeof(struct rdma_ucm_bind),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = sizeof(struct rdma_ucm_resolve_addr),
	[RDMA_USER_CM_CMD_JOIN_MCAST] = sizeof(struct rdma_ucm_join_mcast),
};

static void do_command(struct input *in, const int *channels, uint32_t first)
{
	_Alignas(8) uint8_t frame[8 + 400] = {0}, out[1024];
	struct rdma_ucm_cmd_hdr hdr = {.out = sizeof(out)};
	uint64_t response = (uintptr_t)out;
	uint8_t bits[6];

	take(in, bits, sizeof(bits));
	hdr.cmd = bits[3] % COMMANDS;
	hdr.in = bits[4] == 0xff ? bits[5] : sizes[hdr.cmd];
	take(in, frame + 8, bits[4] & 0x3f);
	if (!(bits[4] & 0x40)) {
		memcpy(frame + 8 + (hdr.cmd == RDMA_USER_CM_CMD_CREATE_ID ? 8 : 0), &response,
		       sizeof(response));
		steer(hdr.cmd, frame + 8, first, bits);
	}
	memcpy(frame, &hdr, sizeof(hdr));
	(void)cm_write(channels[bits[5] % CHANNELS], frame, 8 + (size_t)hdr.in);
}

static void do_message(struct input *in, int *peer)
{
	struct cm_msg m = {.magic = CM_MSG_MAGIC, .version = CM_MSG_VERSION, .mtu = 5};
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htobe32(127u << 24 | 98u << 16 | 1u << 8 | 1)};
	uint8_t bits[4], raw[64];

	take(in, bits, sizeof(bits));
	if (*peer < 0 || (bits[0] & 0xf0) == 0xf0) {
		if (*peer >= 0)
			close(*peer);
		*peer = visit(PORT + (bits[1] & 1));
	}
	if (*peer < 0)
		return;
	m.type = bits[0] & 0xf;
	m.private_len = bits[2];
	memcpy(&m.from, &sa, sizeof(sa));
	memcpy(&m.to, &sa, sizeof(sa));
	take(in, raw, sizeof(raw));
	for (size_t i = 0; bits[3] & 1 && i < sizeof(raw); i++)
		((uint8_t *)&m)[i] ^= raw[i];
	(void)!send(*peer, &m, bits[3] & 2 ? sizeof(m) : sizeof(m) - bits[3] % 3, MSG_NOSIGNAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	int channels[CHANNELS], peer = -1;
	uint32_t first = 0;

	setenv(UV_ENV_HOST, "127.98.1", 1);
	for (int i = 0; i < CHANNELS; i++) {
		struct rdma_ucm_create_id_resp resp = {0};
		struct {
			struct rdma_ucm_cmd_hdr hdr;
			struct rdma_ucm_create_id c;
		} create = {{RDMA_USER_CM_CMD_CREATE_ID, sizeof(create.c), sizeof(resp)},
			    {.uid = 1, .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP}};

		channels[i] = open(UV_NODE_PATH, O_RDWR | O_CLOEXEC);
		cm_opened(channels[i]);
		if (cm_write(channels[i], &create, sizeof(create)) < 0)
			abort();
		fcntl(channels[i], F_SETFL, O_NONBLOCK);
		if (!first)
			first = resp.id;
	}
	for (int i = 0; i < STEPS && in.left; i++) {
		uint8_t what;

		take(&in, &what, 1);
		if (what & 3)
			do_command(&in, channels, first);
		else
			do_message(&in, &peer);
	}
	if (peer >= 0)
		close(peer);
	for (int i = 0; i < CHANNELS; i++)
		close(channels[i]);
	/* The thread takes the identifiers down: the next input finds none of them. */
	for (bool left = true; left;) {
		pthread_mutex_lock(&cm_lock);
		left = cm_files != NULL;
		pthread_mutex_unlock(&cm_lock);
		usleep(50);
	}
	return 0;
}
