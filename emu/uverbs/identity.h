/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who a simulated host is: everything is derived from its address block 127.a.b.0/24, so that the
 * launcher (sysfs files) and the NIC in the program (commands, packets) agree without talking.
 *
 *     GID[0]  ::ffff:127.a.b.1      MAC  02:00:7f:aa:bb:01      node GUID  EUI-64 of the MAC
 *     LID     aabb                  (a is in 64..126, so it is a unicast LID)
 *
 * 127.a.b.254:4791 is bound for as long as the host lives, 127.a.b.(1+s):4791 by the process in
 * slot s.
 */
#ifndef GDAKIT_UVERBS_IDENTITY_H
#define GDAKIT_UVERBS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	UV_ROCE_PORT = 4791,
	UV_CLAIM_BYTE = 254, /* last byte of the address that the launcher binds */
	UV_BLOCK_A_FIRST = 64,
	UV_BLOCK_A_LAST = 126,
	UV_PCI_DEVICE_ID = 0x1021, /* ConnectX-7 */
	UV_PCI_VENDOR_ID = 0x15b3,
};

/*
 * What stands at /dev/infiniband/uverbs0: the full device. Without the preload ioctl() is not
 * answered and libibverbs turns to write(), which must fail there (ENOSPC): the null device would
 * take every command and answer it with zeroes.
 */
#define UV_NODE_PATH  "/dev/full"
#define UV_NODE_MAJOR 1
#define UV_NODE_MINOR 7

/* Environment of a `gdakit run` tree. */
#define UV_ENV_HOST	  "GDAKIT_HOST"	      /* "127.a.b" */
#define UV_ENV_LINK_LAYER "GDAKIT_LINK_LAYER" /* "ethernet" or "infiniband" */
#define UV_ENV_VERBOSE	  "GDAKIT_VERBOSE"    /* set and not "0": say what is refused */
#define UV_ENV_WIRE	  "GDAKIT_WIRE"	      /* "udp" or "local" */

#define UV_FW_VER   "28.39.1002"
#define UV_BOARD_ID "GDAKIT0000001"
#define UV_DEV_NAME "mlx5_0"
#define UV_PCI_BDF  "0000:c1:00.0"

struct uv_identity {
	uint8_t a, b; /* block 127.a.b */
	uint8_t gid[16];
	uint8_t mac[6];
	uint64_t node_guid; /* host order */
	uint16_t lid;
};

/* MAC of the port that owns a GID: embedded IPv4 -> 02:00:ip, else what EUI-64 hides in
 * bytes 8..15. */
static inline void uv_gid_to_mac(const uint8_t gid[16], uint8_t mac[6])
{
	static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	if (!memcmp(gid, v4_prefix, sizeof(v4_prefix))) {
		mac[0] = 0x02;
		mac[1] = 0x00;
		memcpy(mac + 2, gid + 12, 4);
		return;
	}
	mac[0] = gid[8] ^ 0x02;
	memcpy(mac + 1, gid + 9, 2);
	memcpy(mac + 3, gid + 13, 3);
}

static inline void uv_identity_of_block(struct uv_identity *id, uint8_t a, uint8_t b)
{
	const uint8_t gid[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, a, b, 1};
	uint64_t guid = 0;
	uint8_t eui[8];

	id->a = a;
	id->b = b;
	memcpy(id->gid, gid, sizeof(gid));
	uv_gid_to_mac(gid, id->mac);
	eui[0] = id->mac[0];
	eui[1] = id->mac[1];
	eui[2] = id->mac[2];
	eui[3] = 0xff;
	eui[4] = 0xfe;
	eui[5] = id->mac[3];
	eui[6] = id->mac[4];
	eui[7] = id->mac[5];
	for (unsigned int i = 0; i < sizeof(eui); i++)
		guid = guid << 8 | eui[i];
	id->node_guid = guid;
	id->lid = (uint16_t)(a << 8 | b);
}

/* "127.a.b" with a in [1, 254]; false if the text is anything else. */
static inline bool uv_identity_parse(struct uv_identity *id, const char *text)
{
	unsigned int a, b;
	int end = 0;

	if (sscanf(text, "127.%3u.%3u%n", &a, &b, &end) != 2 || text[end] != '\0')
		return false;
	if (a < 1 || a > 254 || b > 255)
		return false;
	uv_identity_of_block(id, (uint8_t)a, (uint8_t)b);
	return true;
}

#endif
