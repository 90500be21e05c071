/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets and ports for the tests of links: a port that remembers what it was sent. */
#ifndef GDAKIT_TEST_LINK_PACKETS_H
#define GDAKIT_TEST_LINK_PACKETS_H

#include <string.h>
#include <unistd.h>

#include "emu/link/link.h"
#include "emu/nicmodel/roce_wire.h"

enum { SINK_MAX = 4096 };

struct sink {
	struct link_port port;
	uint32_t count;	  /* packets that came */
	uint32_t refused; /* diagnoses */
	uint32_t psn[SINK_MAX];
	uint32_t qpn[SINK_MAX];
	struct nm_packet last;
	uint8_t last_payload[NM_TRAIN_MAX];
	uint32_t pulled;       /* packets whose payload the receiver fetches */
	uint32_t lost;	       /* of them, those whose payload was gone */
	char why[NM_WHY_MAX];  /* of the last diagnosis */
	const void *last_base; /* where the payload lay */
};

/* A group that no other test has, wherever it runs: datagrams for groups reach every socket of the
 * machine. */
static inline void own_group(uint8_t gid[16])
{
	const uint8_t group[16] = {0xff,
				   0x12,
				   [12] = (uint8_t)(getpid() >> 24),
				   (uint8_t)(getpid() >> 16),
				   (uint8_t)(getpid() >> 8),
				   (uint8_t)getpid()};

	memcpy(gid, group, sizeof(group));
}

/* Does the packet come from another test? Links within one process have no strangers. */
static inline bool is_strangers(const struct sink *s, const struct nm_packet *pkt)
{
	uint8_t own[16];

	own_group(own);
	return s->port.fd >= 0 && pkt->hdr[5] == 0xff && pkt->hdr[6] == 0xff &&
	       pkt->hdr[7] == 0xff && memcmp(pkt->route.dgid, own, sizeof(own)) != 0;
}

static inline void sink_rx(void *ctx, struct nm_packet *pkt)
{
	struct sink *s = ctx;
	size_t off = 0;

	if (is_strangers(s, pkt))
		return;
	if (s->count < SINK_MAX) {
		s->psn[s->count] =
			(uint32_t)pkt->hdr[9] << 16 | (uint32_t)pkt->hdr[10] << 8 | pkt->hdr[11];
		s->qpn[s->count] =
			(uint32_t)pkt->hdr[5] << 16 | (uint32_t)pkt->hdr[6] << 8 | pkt->hdr[7];
	}
	s->count++;
	s->last = *pkt;
	s->last_base = pkt->niov ? pkt->payload[0].iov_base : NULL;
	if (pkt->pull) {
		s->pulled++;
		s->lost += pkt->pull(pkt, 0, s->last_payload, pkt->payload_len) != 0;
		return;
	}
	for (unsigned int i = 0; i < pkt->niov; i++) {
		memcpy(s->last_payload + off, pkt->payload[i].iov_base, pkt->payload[i].iov_len);
		off += pkt->payload[i].iov_len;
	}
}

static inline void sink_diag(void *ctx, const char *why)
{
	struct sink *s = ctx;

	s->refused++;
	strncpy(s->why, why, sizeof(s->why) - 1);
}

static inline int sink_attach(struct link *link, struct sink *s, const char **why)
{
	memset(s, 0, sizeof(*s));
	s->port = (struct link_port){.rx = sink_rx, .diag = sink_diag, .ctx = s, .fd = -1};
	return link->ops->attach(link, &s->port, why);
}

/* A datagram for a group. */
static inline struct nm_packet packet_to_group(const uint8_t gid[16], void *payload, uint32_t len)
{
	struct nm_packet pkt = {
		.hdr = {0x64, 0x40, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0, 0, 0, 9},
		.hdr_len = 20,
		.payload_len = len,
		.niov = len > 0,
		.payload = {{payload, len}},
	};

	memcpy(pkt.route.sgid, (uint8_t[16]){[10] = 0xff, 0xff, 127, 64, 0, 1}, 16);
	memcpy(pkt.route.dgid, gid, 16);
	return pkt;
}

/* A SEND ONLY to QP `qp` (16 bits) of a port, by its GID. */
static inline struct nm_packet packet_to(const struct link_port *to, uint16_t qp, uint32_t psn,
					 void *payload, uint32_t len)
{
	struct nm_packet pkt = {
		.route = {.udp_sport = 0xc000, .hop_limit = 64},
		.hdr = {0x04, 0x40, 0xff, 0xff, 0, to->id.slot, (uint8_t)(qp >> 8), (uint8_t)qp, 0,
			(uint8_t)(psn >> 16), (uint8_t)(psn >> 8), (uint8_t)psn},
		.hdr_len = NM_ROCE_BTH_LEN,
		.payload_len = len,
		.niov = len ? 1 : 0,
		.payload = {{payload, len}},
	};

	memcpy(pkt.route.dgid, to->id.gid, 16);
	return pkt;
}

#endif
