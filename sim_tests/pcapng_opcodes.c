/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a capture, to the file named as argument, with a packet of every opcode that the encoder
 * knows, of several lengths and of both IP versions, and some from NICs that use LIDs;
 * pcapng_check.py looks at it. The opcodes are printed, one a packet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nicmodel/roce_wire.h"
#include "emu/observe/pcapng.h"

enum address { IPV4, IPV6, LID, ADDRESSES };

static struct pcapng pcap;

static void route(struct nm_route *r, enum address how, uint32_t len)
{
	static const struct nm_route routes[ADDRESSES] = {
		[IPV4] = {.sgid = {[10] = 0xff, 0xff, 127, 64, 0, 1},
			  .dgid = {[10] = 0xff, 0xff, 127, 65, 0, 1},
			  .hop_limit = 64},
		[IPV6] = {.sgid = {0xfe, 0x80, [15] = 1},
			  .dgid = {0xfe, 0x80, [15] = 2},
			  .smac = {2, 0, 0, 0, 0, 1},
			  .dmac = {2, 0, 0, 0, 0, 2},
			  .hop_limit = 64},
		[LID] = {.slid = 0x4000, .dlid = 0x4100},
	};

	*r = routes[how];
	r->udp_sport = (uint16_t)(0xc000 + len);
}

/* Extension headers whose contents a decoder judges: lengths and syndromes that exist. */
static void fill(struct nm_packet *pkt, uint8_t opcode, uint32_t len)
{
	uint8_t *ext = pkt->hdr + NM_ROCE_BTH_LEN;
	uint8_t op = opcode & 0x1f;

	if (op == 0x06 || op == 0x0a || op == 0x0b || op == 0x0c)
		ext[14] = (uint8_t)(len >> 8), ext[15] = (uint8_t)len;
	if (op >= 0x0d && op <= 0x12)
		ext[0] = 0x1f;
}

static void write_one(uint8_t opcode, uint32_t len, enum address how)
{
	static uint8_t payload[NM_MTU_MAX];
	struct nm_packet pkt = {
		.hdr = {opcode, 0x40, 0xff, 0xff, 0, 0, 1, opcode, 0x80, 0, 0, 9},
		.hdr_len = (uint8_t)(NM_ROCE_BTH_LEN + nm_roce_ext_len(opcode)),
		.payload_len = len,
		.niov = 2,
		.payload = {{payload, len / 2}, {payload + len / 2, len - len / 2}},
	};

	for (uint32_t i = 0; i < len; i++)
		payload[i] = (uint8_t)(0xf3 + i * 31); /* begins like no EtherType */
	route(&pkt.route, how, len);
	fill(&pkt, opcode, len);
	if (pcapng_packet(&pcap, how == LID, len, how & 1 ? PCAPNG_INBOUND : PCAPNG_OUTBOUND, &pkt,
			  opcode == 4 ? "a comment" : NULL))
		exit(1);
	printf("0x%02x\n", opcode);
}

/* Only these carry data (IBTA 9.4). */
static bool has_payload(uint8_t opcode)
{
	uint8_t op = opcode & 0x1f;

	return opcode < 0xc0 && opcode != 0x81 && op != 0x0c && (op < 0x11 || op > 0x15);
}

int main(int argc, char **argv)
{
	static const uint32_t lens[] = {0, 1, 3, 4, 64, 1024, 4096};

	if (argc != 2 || pcapng_open(&pcap, argv[1], "pcapng_opcodes") ||
	    !pcapng_add(&pcap, "mlx5_0", "RoCE") || !pcapng_add(&pcap, "mlx5_1", "InfiniBand"))
		return 1;
	for (unsigned int op = 0; op < 256; op++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			if (nm_roce_ext_len((uint8_t)op) < 0 ||
			    (lens[i] && !has_payload((uint8_t)op)))
				continue;
			for (int how = IPV4; how < ADDRESSES; how++)
				write_one((uint8_t)op, lens[i], how);
		}
	}
	if (getenv("LEAVE_OPEN"))
		return 0; /* as a killed process does */
	pcapng_close(&pcap);
	return pcap.file.why[0] != '\0';
}
