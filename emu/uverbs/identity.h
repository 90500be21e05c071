/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who the NICs of a simulated host are: everything is derived from a NIC's address block
 * 127.a.b.0/24, so that the launcher (sysfs files) and the NIC in the program (commands, packets)
 * agree without talking. A host with N NICs has N consecutive blocks, mlx5_0 the first.
 *
 *     GID[0]  ::ffff:127.a.b.1      MAC  02:00:7f:aa:bb:01      node GUID  EUI-64 of the MAC
 *     LID     aabb                  (a is in 64..126, so it is a unicast LID)
 *
 * 127.a.b.254:4791 is bound for as long as the host lives (of each block), 127.a.b.(1+s):4791 by
 * the process in slot s.
 */
#ifndef GDAKIT_UVERBS_IDENTITY_H
#define GDAKIT_UVERBS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "prm/enums.h"

enum {
	UV_GID_TABLE_LEN = 8, /* the least that a device has (PRM: gid_table_size 0) */
	UV_GIDS = 1,	      /* entries that hold one, from index 0 on */
};

enum {
	UV_ROCE_PORT = 4791,
	UV_CLAIM_BYTE = 254, /* last byte of the address that the launcher binds */
	UV_BLOCK_A_FIRST = 64,
	UV_BLOCK_A_LAST = 126,
	UV_PCI_VENDOR_ID = 0x15b3,
	UV_MAX_NICS = 8, /* of a host */
	UV_PCI_BUS =
		0xc1, /* of mlx5_0; mlx5_1 is on the next, each behind a root port of its own */
};

/*
 * What stands at /dev/infiniband/uverbsN: the full device. Without the preload ioctl() is not
 * answered and libibverbs turns to write(), which must fail there (ENOSPC): the null device would
 * take every command and answer it with zeroes.
 */
#define UV_NODE_PATH  "/dev/full"
#define UV_NODE_MAJOR 1
#define UV_NODE_MINOR 7

/* Directory of the nodes, and the name of one without its number, which is that of the NIC. */
#define UV_NODE_DIR  "/dev/infiniband"
#define UV_NODE_NAME "uverbs"
/* The connection manager's node, beside them. */
#define UV_CM_NODE_NAME "rdma_cm"
/* The interface that getifaddrs() shows for a device, and its number. */
#define UV_NETDEV_NAME "gdakit"

/* Environment of a `gdakit run` tree. */
#define UV_ENV_HOST	  "GDAKIT_HOST"	      /* "127.a.b", the block of mlx5_0 */
#define UV_ENV_NICS	  "GDAKIT_NICS"	      /* how many, 1 if it is not set */
#define UV_ENV_LINK_LAYER "GDAKIT_LINK_LAYER" /* "ethernet" or "infiniband" */
#define UV_ENV_NIC	  "GDAKIT_NIC" /* "connectx-7", also if it is not set, or "connectx-8" */
#define UV_ENV_VERBOSE	  "GDAKIT_VERBOSE" /* set and not "0": say what is refused */
#define UV_ENV_WIRE	  "GDAKIT_WIRE"	   /* "auto", "shm", "udp" or "local" */
#define UV_ENV_FABRIC	  "GDAKIT_FABRIC"  /* who has the same shares memory */

#define UV_ENV_RECORD  "GDAKIT_RECORD"	       /* where recordings go, if anywhere (absolute) */
#define UV_ENV_PCAP    "GDAKIT_PCAP"	       /* the same for packets */
#define UV_ENV_CHECK   "GDAKIT_CHECK"	       /* directory for findings, if it is checked */
#define UV_ENV_PAYLOAD "GDAKIT_RECORD_PAYLOAD" /* bytes of each packet that are recorded */

#define UV_FW_VER   "28.39.1002"
#define UV_BOARD_ID "GDAKIT0000001"
#define UV_DEV_NAME "mlx5_" /* and a number */

/* Which ConnectX the host's NICs are. */
struct uv_model {
	const char *name;     /* for people and in the environment */
	uint16_t device_id;   /* enum prm_device_id */
	const char *hca_type; /* as sysfs says it: "MT" and the device id in decimal */
};

static const struct uv_model uv_models[] = {
	{"connectx-7", PRM_DEVICE_CONNECTX7, "MT4129"},
	{"connectx-8", PRM_DEVICE_CONNECTX8, "MT4131"},
};

/* The one of that name, the first for NULL; NULL if there is none. */
static inline const struct uv_model *uv_model_named(const char *name)
{
	for (unsigned int i = 0; i < sizeof(uv_models) / sizeof(uv_models[0]); i++) {
		if (!name || !strcmp(name, uv_models[i].name))
			return &uv_models[i];
	}
	return NULL;
}

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

/* The block of NIC `index` of the host whose first one is *id. False: beyond 127.255. */
static inline bool uv_identity_of_nic(struct uv_identity *id, unsigned int index)
{
	unsigned int block = (unsigned int)id->a << 8 | id->b;

	if (block + index > 0xfeff)
		return false;
	uv_identity_of_block(id, (uint8_t)((block + index) >> 8), (uint8_t)(block + index));
	return true;
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
