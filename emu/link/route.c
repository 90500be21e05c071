// SPDX-License-Identifier: BSD-3-Clause
#include "emu/link/route.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "emu/nicmodel/roce_wire.h"

/* The second half of a GID, in memory order. Whole words: each packet's address passes here. */
static uint64_t gid_low(struct link_host host)
{
	return htobe64(UINT64_C(0xffff7f000001) | (uint64_t)host.a << 16 | (uint64_t)host.b << 8);
}

void link_host_gid(struct link_host host, uint8_t gid[16])
{
	uint64_t low = gid_low(host);

	memset(gid, 0, 8);
	memcpy(gid + 8, &low, sizeof(low));
}

uint16_t link_host_lid(struct link_host host)
{
	return (uint16_t)(host.a << 8 | host.b);
}

bool link_host_of_gid(const uint8_t gid[16], struct link_host *host)
{
	uint64_t high, low;

	memcpy(&high, gid, sizeof(high));
	memcpy(&low, gid + 8, sizeof(low));
	host->a = gid[13];
	host->b = gid[14];
	return high == 0 && low == gid_low(*host);
}

bool link_host_parse(const char *text, struct link_host *host)
{
	unsigned int a, b;
	int end = -1;

	if (!text || sscanf(text, "127.%3u.%3u%n", &a, &b, &end) != 2 || end < 0 || text[end])
		return false;
	if (a < LINK_HOST_A_MIN || a > LINK_HOST_A_MAX || b > 255)
		return false;
	host->a = (uint8_t)a;
	host->b = (uint8_t)b;
	return true;
}

bool link_is_multicast(const struct nm_packet *pkt)
{
	return pkt->hdr_len >= 12 && nm_roce_for_group(pkt->hdr) &&
	       nm_roce_is_multicast(pkt->route.dgid);
}

bool link_host_of_route(const struct nm_route *route, struct link_host *host)
{
	static const uint8_t none[16];

	if (memcmp(route->dgid, none, sizeof(none)) != 0)
		return link_host_of_gid(route->dgid, host);
	host->a = (uint8_t)(route->dlid >> 8);
	host->b = (uint8_t)route->dlid;
	return host->a >= LINK_HOST_A_MIN && host->a <= LINK_HOST_A_MAX;
}

bool link_destination(const struct nm_packet *pkt, struct link_host *host, uint8_t *slot)
{
	if (pkt->hdr_len < 12)
		return false;
	*slot = pkt->hdr[5]; /* BTH.DQPN 23:16 */
	return link_host_of_route(&pkt->route, host);
}

void link_complete_route(struct nm_route *route, struct link_host src, struct link_host dst)
{
	link_host_gid(src, route->sgid);
	route->slid = link_host_lid(src);
	if (nm_roce_is_multicast(route->dgid))
		return;
	link_host_gid(dst, route->dgid);
	route->dlid = link_host_lid(dst);
}
