/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets as bytes: Ethernet, IPv4 or IPv6, UDP, BTH..., payload, pad, ICRC.
 *
 * Two levels: whole frames (serialising link, captures, TAP), and only the UDP payload for a socket
 * whose kernel makes the IP and UDP headers. The ICRC covers those headers, so for the second level
 * the caller says what the kernel will put there (docs/wire.md).
 *
 * Sources: IBTA Annex A17 (RoCEv2), IBTA vol. 1 chapter 9 (headers), the layout of facts common to
 * every RoCEv2 implementation (soft-RoCE in Linux computes the same ICRC; sim_tests/icrc_scapy.py
 * compares with scapy). Pure functions, safe from any thread.
 */
#ifndef GDAKIT_ROCE_WIRE_H
#define GDAKIT_ROCE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

enum {
	NM_ROCE_UDP_PORT = 4791,
	NM_ROCE_ETH_LEN = 14,
	NM_ROCE_IP4_LEN = 20,
	NM_ROCE_IP6_LEN = 40,
	NM_ROCE_UDP_LEN = 8,
	NM_ROCE_BTH_LEN = 12,
	NM_ROCE_ICRC_LEN = 4,
	NM_ROCE_GRH_LEN = 40,
	NM_ROCE_GID_LEN = 16,
	/* BTH to ICRC. */
	NM_ROCE_UDP_PAYLOAD_MAX = NM_PKT_HDR_MAX + NM_MTU_MAX + NM_ROCE_ICRC_LEN,
	NM_ROCE_FRAME_MAX =
		NM_ROCE_ETH_LEN + NM_ROCE_IP6_LEN + NM_ROCE_UDP_LEN + NM_ROCE_UDP_PAYLOAD_MAX,
};

/* The fields of the IP and UDP headers that are not computed from the rest. Addresses as GIDs. */
struct nm_roce_ip {
	bool v6; /* else IPv4, and src and dst are IPv4-mapped */
	uint8_t src[16];
	uint8_t dst[16];
	uint8_t tos;	     /* or traffic class; not covered by the ICRC */
	uint8_t ttl;	     /* or hop limit; not covered */
	uint32_t flow_label; /* IPv6, 20 bits; not covered */
	uint16_t id;	     /* IPv4 identification; covered */
	bool df;	     /* IPv4 don't fragment; covered */
	uint16_t sport;	     /* covered */
	uint16_t dport;	     /* covered */
	/* Decoding: a multicast has 16 bytes more of headers, its GID. */
	bool mgid_in_header;
};

/*
 * What a RoCEv2 NIC puts there: id 0, DF set, destination port 4791. IPv4 if both GIDs are
 * IPv4-mapped. -EINVAL if one is and the other is not, but for a multicast GID of IPv6: that goes
 * as IPv6, the source as the IPv4-mapped address that it is.
 */
int nm_roce_ip_from_route(const struct nm_route *route, struct nm_roce_ip *ip);

/* Would a packet of this route travel as IPv4? */
bool nm_roce_is_ipv4(const struct nm_route *route);
/* By its BTH, a multicast: a datagram for QP 0xffffff. `hdr` has at least a BTH. */
bool nm_roce_for_group(const uint8_t *hdr);
/* Multicast: ff00::/8, or the IPv4-mapped 224.0.0.0/4 that RoCEv2 over IPv4 uses. */
bool nm_roce_is_multicast(const uint8_t gid[16]);

/*
 * What a datagram's receiver finds before the payload: the IPv6 header; the IPv4 header behind 20
 * bytes of zero; InfiniBand: the GRH, or zeros if there was none (hardware leaves them as they
 * are). Source: IBTA 8.3, Annex A17.4.5.
 */
void nm_roce_grh(const struct nm_packet *pkt, bool ethernet, uint8_t grh[NM_ROCE_GRH_LEN]);

/* Bytes of the extension headers behind the BTH; -1: an opcode this NIC does not know. */
int nm_roce_ext_len(uint8_t bth_opcode);

/* Bytes from BTH to ICRC. */
size_t nm_roce_udp_payload_len(const struct nm_packet *pkt);

/*
 * Writes BTH, extension headers, payload (gathered), pad and ICRC; the pad count in the BTH is
 * set here. Returns the bytes written; -EINVAL: header or payload length outside of what a packet
 * may have; -ENOSPC: cap is too small. Reads the payload once, so that bytes and ICRC agree even
 * while a program changes them.
 */
int nm_roce_encode_udp(const struct nm_packet *pkt, const struct nm_roce_ip *ip, uint8_t *buf,
		       size_t cap);
/* A whole Ethernet frame, without FCS, from the packet's route. Same codes. */
int nm_roce_encode(const struct nm_packet *pkt, uint8_t *buf, size_t cap);

/*
 * Packet i of a train as one of its own, as it lies on the wire; the payload stays where it is.
 * False: the opcode is not one of a message that can be cut, or i is none of its packets.
 */
bool nm_train_segment(const struct nm_packet *train, uint32_t i, struct nm_packet *pkt);
/* Is the train what its fields say: a message's opcode, and lengths that agree? */
bool nm_train_ok(const struct nm_packet *train);
/* Bytes of a packet's, or all of a train's, headers and payload. */
uint32_t nm_roce_bytes(const struct nm_packet *pkt);

/*
 * The other direction. The packet's payload points into `buf`. 0, or -EBADMSG with a sentence
 * in why (NM_WHY_MAX bytes; may be NULL). Everything is bounded before it is read. The pad count
 * stays in the BTH.
 */
int nm_roce_decode_udp(const struct nm_roce_ip *ip, const uint8_t *buf, size_t len,
		       struct nm_packet *pkt, char *why);
int nm_roce_decode(const uint8_t *frame, size_t len, struct nm_packet *pkt, char *why);

/*
 * ICRC of a UDP payload `len` bytes long without its last four; as the little-endian dword on the
 * wire. `len` at least NM_ROCE_BTH_LEN.
 */
uint32_t nm_roce_icrc(const struct nm_roce_ip *ip, const uint8_t *buf, size_t len);

#endif
