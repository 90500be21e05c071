// SPDX-License-Identifier: BSD-3-Clause
/*
 * A simulated host's identity is its address block 127.a.b.0/24, or as many consecutive ones as it
 * has NICs. One is taken by binding a UDP socket in it, so no file or daemon remembers who is who:
 * the kernel forgets the claim with the last process that holds it.
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

/* The socket that holds block n, or -1 with errno. */
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

/* Blocks n to n + nics - 1, or none. The number of those that were free; *id is the first one, or,
 * after a failure, the one that was not. */
static unsigned int try_blocks(unsigned int n, unsigned int nics, struct uv_identity *id)
{
	int fds[UV_MAX_NICS], err;
	unsigned int i;

	assert(nics <= UV_MAX_NICS);
	for (i = 0; i < nics && n + i < BLOCKS; i++) {
		fds[i] = try_block(n + i, id);
		if (fds[i] < 0)
			break;
	}
	if (i == nics) {
		uv_identity_of_block(id, (uint8_t)(UV_BLOCK_A_FIRST + n / 256), (uint8_t)(n % 256));
		return i;
	}
	err = n + i < BLOCKS ? errno : ERANGE;
	for (unsigned int k = 0; k < i; k++)
		close(fds[k]);
	errno = err;
	return i;
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

static int refuse(const char *name, unsigned int nics, const struct uv_identity *id)
{
	const char *why = errno == EADDRINUSE ? " (is it running already?)" : "";

	if (errno == ERANGE)
		complain("host %s: %u NICs take blocks beyond the last, 127.%u.255", name, nics,
			 UV_BLOCK_A_LAST);
	else
		complain("host %s: 127.%u.%u.%u port %u: %s%s", name, id->a, id->b, UV_CLAIM_BYTE,
			 UV_ROCE_PORT, strerror(errno), why);
	return -1;
}

int claim_host(const char *name, unsigned int nics, struct uv_identity *id)
{
	unsigned int n, got;

	if (name) {
		assert(block_of(name) >= 0); /* claim_expects() has passed it */
		got = try_blocks((unsigned int)block_of(name), nics, id);
		return got == nics ? 0 : refuse(name, nics, id);
	}
	for (n = 1; n + nics <= NAMED_FIRST; n += got + 1) {
		got = try_blocks(n, nics, id);
		if (got == nics)
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	complain("no address blocks for this host's %u NICs: 127.%u.%u.%u port %u: %s", nics, id->a,
		 id->b, UV_CLAIM_BYTE, UV_ROCE_PORT, strerror(errno));
	return -1;
}
