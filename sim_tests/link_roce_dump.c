/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints RoCEv2 frames in hex, a line each, for the checks in icrc_scapy.py. */
#include <stdio.h>
#include <string.h>

#include "emu/nicmodel/roce_wire.h"

/* `kind`: IPv4, IPv6, an IPv6 group from an IPv4 address, InfiniBand without a GRH. */
enum kind { V4, V6, GROUP, NO_GRH, KINDS };

static void dump(uint8_t opcode, uint32_t len, enum kind kind)
{
	static uint8_t payload[NM_MTU_MAX], frame[NM_ROCE_FRAME_MAX];
	struct nm_packet pkt = {
		.route = {.smac = {2, 0, 0, 0, 0, 1},
			  .dmac = {2, 0, 0, 0, 0, 2},
			  .udp_sport = (uint16_t)(0xc000 + len),
			  .tclass = opcode,
			  .hop_limit = 64},
		.hdr = {opcode, 0x40, 0xff, 0xff, 0, 0, 1, opcode, 0x80, 0, 0, 9},
		.hdr_len = (uint8_t)(NM_ROCE_BTH_LEN + nm_roce_ext_len(opcode)),
		.payload_len = len,
		.niov = 1,
		.payload = {{payload, len}},
	};
	int n;

	for (uint32_t i = 0; i < len; i++)
		payload[i] = (uint8_t)(i * 31 + opcode);
	pkt.route.no_grh = kind == NO_GRH;
	pkt.route.sl = kind == NO_GRH ? 9 : 0;
	if (kind == V6) {
		memcpy(pkt.route.sgid, (uint8_t[16]){0xfe, 0x80, [15] = 1}, 16);
		memcpy(pkt.route.dgid, (uint8_t[16]){0xfe, 0x80, [15] = 2}, 16);
	} else {
		memcpy(pkt.route.sgid, (uint8_t[16]){[10] = 0xff, 0xff, 127, 64, 0, 1}, 16);
		memcpy(pkt.route.dgid, (uint8_t[16]){[10] = 0xff, 0xff, 127, 65, 0, 1}, 16);
	}
	if (kind == GROUP)
		memcpy(pkt.route.dgid, (uint8_t[16]){0xff, 0x12, [15] = 7}, 16);
	n = nm_roce_encode(&pkt, frame, sizeof(frame));
	for (int i = 0; i < n; i++)
		printf("%02x", frame[i]);
	putchar('\n');
}

int main(void)
{
	static const uint32_t lens[] = {0, 1, 3, 4, 64, 255, 1024, 4096};

	for (unsigned int op = 0; op < 256; op++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			if (nm_roce_ext_len((uint8_t)op) < 0)
				continue;
			for (enum kind kind = V4; kind < KINDS; kind++)
				dump((uint8_t)op, lens[i], kind);
		}
	}
	return 0;
}
