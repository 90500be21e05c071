// SPDX-License-Identifier: BSD-3-Clause
/*
 * A simulated host's identity is its address block 127.a.b.0/24. It is taken by binding one UDP
 * socket in it, so no file or daemon remembers who is who: the kernel forgets the claim with the
 * last process that holds it.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/gdakit.h"

enum {
	BLOCKS = (UV_BLOCK_A_LAST - UV_BLOCK_A_FIRST + 1) * 256,
	NAMED_FIRST =
		BLOCKS /
		2, /* names fall into the upper half, so that they seldom meet a host without one */
	HIGH_FD = 200, /* out of the way of programs that count their descriptors */
};

static int try_block(unsigned int n, struct uv_identity *id)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(UV_ROCE_PORT)};
	int fd, high;

	uv_identity_of_block(id, (uint8_t)(UV_BLOCK_A_FIRST + n / 256), (uint8_t)(n % 256));
	addr.sin_addr.s_addr =
		htonl(127u << 24 | (uint32_t)id->a << 16 | (uint32_t)id->b << 8 | UV_CLAIM_BYTE);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	high = fcntl(fd, F_DUPFD, HIGH_FD);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* FNV-1a: the same name is the same host on every machine. */
static unsigned int hash(const char *name)
{
	uint32_t h = 2166136261u;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619u;
	return h;
}

/* -1: `name` names no block in the range. */
static int block_of(const char *name)
{
	struct uv_identity id;
	unsigned long n;
	char *end;

	n = strtoul(name, &end, 10);
	if (*name >= '0' && *name <= '9' && !*end)
		return n < BLOCKS ? (int)n : -1;
	if (!strncmp(name, "127.", 4)) {
		if (!uv_identity_parse(&id, name) || id.a < UV_BLOCK_A_FIRST ||
		    id.a > UV_BLOCK_A_LAST)
			return -1;
		return (id.a - UV_BLOCK_A_FIRST) * 256 + id.b;
	}
	if (!isalpha((unsigned char)*name))
		return -1;
	return (int)(NAMED_FIRST + hash(name) % (BLOCKS - NAMED_FIRST));
}

const char *claim_expects(const char *name)
{
	static char text[128];

	if (block_of(name) >= 0)
		return NULL;
	snprintf(text, sizeof(text),
		 "a number below %d, 127.a.b with a from %d to %d, or a name that begins with a "
		 "letter",
		 BLOCKS, UV_BLOCK_A_FIRST, UV_BLOCK_A_LAST);
	return text;
}

int claim_host(const char *name, struct uv_identity *id)
{
	int n, fd;

	if (name) {
		n = block_of(name);
		assert(n >= 0); /* claim_expects() has passed it */
		fd = try_block((unsigned int)n, id);
		if (fd < 0)
			complain("host %s: 127.%u.%u.%u port %u: %s%s", name, id->a, id->b,
				 UV_CLAIM_BYTE, UV_ROCE_PORT, strerror(errno),
				 errno == EADDRINUSE ? " (is it running already?)" : "");
		return fd;
	}
	for (n = 1; n < NAMED_FIRST; n++) {
		fd = try_block((unsigned int)n, id);
		if (fd >= 0)
			return fd;
		if (errno != EADDRINUSE)
			break;
	}
	complain("no address block for this host: 127.%u.%u.%u port %u: %s", id->a, id->b,
		 UV_CLAIM_BYTE, UV_ROCE_PORT, strerror(errno));
	return -1;
}
