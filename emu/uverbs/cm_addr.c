// SPDX-License-Identifier: BSD-3-Clause
/*
 * IP addresses of the connection manager. A device of a simulated host has the IPv4 address of its
 * GID, 127.a.b.1. Any other address of the machine (that of an Ethernet port, 127.0.0.1) leads to
 * this machine, too: to the host on which somebody listens (cm_peer.c).
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/uverbs/cm.h"

void cm_device(unsigned int index, struct cm_device *dev)
{
	const char *host = getenv(UV_ENV_HOST);

	if (!host || !uv_identity_parse(&dev->id, host))
		uv_identity_of_block(&dev->id, UV_BLOCK_A_FIRST, 0);
	(void)uv_identity_of_nic(&dev->id, index); /* the launcher has claimed that block */
	dev->lid = dev->id.lid;
}

/* Does an interface of this machine have it? */
static bool is_local(const struct sockaddr *sa)
{
	struct ifaddrs *list, *i;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (i = list; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != sa->sa_family)
			continue;
		if (sa->sa_family == AF_INET)
			found = ((const struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr ==
				((const struct sockaddr_in *)sa)->sin_addr.s_addr;
		else
			found = !memcmp(&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr,
					&((const struct sockaddr_in6 *)sa)->sin6_addr,
					sizeof(struct in6_addr));
	}
	freeifaddrs(list);
	return found;
}

static void ipv4_of(uint32_t ip, const struct sockaddr *sa, struct cm_addr *addr)
{
	const uint8_t a = (uint8_t)(ip >> 16), b = (uint8_t)(ip >> 8);

	if (!ip) {
		addr->kind = CM_ADDR_ANY;
	} else if (ip >> 24 == 127 && a >= UV_BLOCK_A_FIRST && a <= UV_BLOCK_A_LAST) {
		addr->kind = CM_ADDR_HOST;
		addr->a = a;
		addr->b = b;
	} else if (ip >> 24 == 127 || is_local(sa)) {
		addr->kind = CM_ADDR_MACHINE;
	} else {
		addr->kind = CM_ADDR_ELSEWHERE;
	}
}

void cm_addr_of(const struct sockaddr *sa, struct cm_addr *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	*addr = (struct cm_addr){.kind = CM_ADDR_BAD};
	if (sa->sa_family == AF_INET) {
		addr->port = ntohs(in->sin_port);
		ipv4_of(ntohl(in->sin_addr.s_addr), sa, addr);
	} else if (sa->sa_family == AF_INET6) {
		addr->port = ntohs(in6->sin6_port);
		if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
			addr->kind = CM_ADDR_ANY;
		} else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			struct sockaddr_in v4 = {.sin_family = AF_INET};

			memcpy(&v4.sin_addr, in6->sin6_addr.s6_addr + 12, 4);
			ipv4_of(ntohl(v4.sin_addr.s_addr), (struct sockaddr *)&v4, addr);
		} else {
			addr->kind = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) || is_local(sa)
					     ? CM_ADDR_MACHINE
					     : CM_ADDR_ELSEWHERE;
		}
	}
}

int cm_device_of(const struct cm_addr *addr)
{
	struct cm_device dev;

	if (addr->kind == CM_ADDR_MACHINE)
		return 0;
	if (addr->kind != CM_ADDR_HOST)
		return -1;
	for (unsigned int i = 0; i < uv_nics(); i++) {
		cm_device(i, &dev);
		if (dev.id.a == addr->a && dev.id.b == addr->b)
			return (int)i;
	}
	return -1;
}

void cm_sockaddr_of(unsigned int device, uint16_t port, struct sockaddr_in6 *sa)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct cm_device dev;

	cm_device(device, &dev);
	memcpy(&in.sin_addr, dev.id.gid + 12, 4);
	memset(sa, 0, sizeof(*sa));
	memcpy(sa, &in, sizeof(in));
}

/* sin_port and sin6_port lie at the same place. */
static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	      "one port field for both families");

uint16_t cm_port(const struct sockaddr_in6 *sa)
{
	return ntohs(sa->sin6_port);
}

void cm_set_port(struct sockaddr_in6 *sa, uint16_t port)
{
	sa->sin6_port = htons(port);
}

socklen_t cm_addr_len(const struct sockaddr_in6 *sa)
{
	return sa->sin6_family == AF_INET    ? sizeof(struct sockaddr_in)
	       : sa->sin6_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					     : 0;
}
