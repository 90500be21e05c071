/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ports of any simulated host there are on this machine: their sockets are bound to loopback
 * addresses, and the kernel lists those. A multicast needs to know, and who gets no answer.
 */
#ifndef GDAKIT_LINK_NEIGHBOURS_H
#define GDAKIT_LINK_NEIGHBOURS_H

#include "emu/link/route.h"

enum { LINK_NEIGHBOURS_MAX = 256 };

struct link_neighbour {
	struct link_host host;
	uint8_t slot;
	bool waits; /* datagrams lie there that it has not read */
};

/* A line of /proc/net/udp: a port bound to UDP port `udp_port`? */
bool link_neighbour_parse(const char *line, uint16_t udp_port, struct link_neighbour *neighbour);
/* Fills at most `max`; returns their number, 0 also if the list cannot be read. Takes some 50 us.
 */
uint32_t link_neighbours(uint16_t udp_port, struct link_neighbour *list, uint32_t max);

#endif
