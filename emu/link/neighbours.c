// SPDX-License-Identifier: BSD-3-Clause
#include "emu/link/neighbours.h"

#include <stdio.h>

enum { LINE_MAX_LEN = 512 };

bool link_neighbour_parse(const char *line, uint16_t udp_port, struct link_neighbour *neighbour)
{
	unsigned int bytes[4], port, unread = 0;

	/* Number of the line, then the bound address: bytes as they lie in memory, port in host
	 * order. Behind it the peer's, the state, and the bytes not sent and not read. */
	if (sscanf(line, " %*u: %2x%2x%2x%2x:%4x %*x:%*x %*x %*x:%x", &bytes[0], &bytes[1],
		   &bytes[2], &bytes[3], &port, &unread) < 5)
		return false;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int swap = bytes[i];

		bytes[i] = bytes[3 - i];
		bytes[3 - i] = swap;
	}
#endif
	if (port != udp_port || bytes[0] != 127 || bytes[1] < LINK_HOST_A_MIN ||
	    bytes[1] > LINK_HOST_A_MAX || bytes[3] < 1 || bytes[3] > LINK_SLOTS)
		return false;
	neighbour->host = (struct link_host){(uint8_t)bytes[1], (uint8_t)bytes[2]};
	neighbour->slot = (uint8_t)(bytes[3] - 1);
	neighbour->waits = unread > 0;
	return true;
}

uint32_t link_neighbours(uint16_t udp_port, struct link_neighbour *list, uint32_t max)
{
	FILE *f = fopen("/proc/net/udp", "re");
	char line[LINE_MAX_LEN];
	uint32_t n = 0;

	if (!f)
		return 0;
	while (n < max && fgets(line, sizeof(line), f)) {
		if (link_neighbour_parse(line, udp_port, &list[n]))
			n++;
	}
	fclose(f);
	return n;
}
