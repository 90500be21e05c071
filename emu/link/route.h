/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of simulated hosts. Host (a, b) owns 127.a.b.0/24: GID ::ffff:127.a.b.1, LID a << 8 |
 * b, and slot s of it is 127.a.b.(1 + s). LIDs below 0xc000 are unicast (IBTA vol. 1, 4.1.3), so a
 * is 1 to 191.
 */
#ifndef GDAKIT_LINK_ROUTE_H
#define GDAKIT_LINK_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

enum {
	LINK_HOST_A_MIN = 1,
	LINK_HOST_A_MAX = 191,
	LINK_SLOTS = 253, /* 127.a.b.1 to .253 */
};

struct link_host {
	uint8_t a, b;
};

void link_host_gid(struct link_host host, uint8_t gid[16]);
uint16_t link_host_lid(struct link_host host);
/* False: not the GID of a simulated host. */
bool link_host_of_gid(const uint8_t gid[16], struct link_host *host);
/* "127.64.0": false if it is anything else or out of range. */
bool link_host_parse(const char *text, struct link_host *host);

/* For every NIC that can be reached; the NICs know who is in the group. */
bool link_is_multicast(const struct nm_packet *pkt);
/* The host that a connected QP's packets go to: by GID, or by LID where the GID is all zero. */
bool link_host_of_route(const struct nm_route *route, struct link_host *host);
/* Where any other packet goes: host by GID, or by LID where the GID is all zero; slot by BTH.DQPN
 * 23:16. */
bool link_destination(const struct nm_packet *pkt, struct link_host *host, uint8_t *slot);
/*
 * Makes a route whole as the receiver sees it: both GIDs and both LIDs, whichever of them the
 * sender routed by. A multicast GID and its LID stay.
 */
void link_complete_route(struct nm_route *route, struct link_host src, struct link_host dst);

#endif
