/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/nicmodel/crc32.h"
#include "emu/nicmodel/roce_wire.h"

static const uint8_t gid_a[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [13] = 64, [15] = 1};
static const uint8_t gid_b[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [13] = 65, [15] = 1};
static const uint8_t gid6_a[16] = {0xfe, 0x80, [8] = 2, [15] = 1};
static const uint8_t gid6_b[16] = {0xfe, 0x80, [8] = 2, [15] = 2};

static struct nm_packet make_packet(uint8_t opcode, void *payload, uint32_t len, bool v6)
{
	struct nm_packet pkt = {
		.route = {.smac = {2, 0, 0, 0, 0, 1},
			  .dmac = {2, 0, 0, 0, 0, 2},
			  .udp_sport = 0xc123,
			  .tclass = 0x68,
			  .hop_limit = 61,
			  .flow_label = v6 ? 0xabcde : 0},
		.hdr = {opcode, 0x40, 0xff, 0xff, 0, 0, 0x01, 0x23, 0x80, 0, 0, 9},
		.hdr_len = (uint8_t)(NM_ROCE_BTH_LEN + nm_roce_ext_len(opcode)),
		.payload_len = len,
		.niov = len ? 1 : 0,
		.payload = {{payload, len}},
	};

	memcpy(pkt.route.sgid, v6 ? gid6_a : gid_a, 16);
	memcpy(pkt.route.dgid, v6 ? gid6_b : gid_b, 16);
	for (unsigned int i = NM_ROCE_BTH_LEN; i < pkt.hdr_len; i++)
		pkt.hdr[i] = (uint8_t)(i * 7);
	return pkt;
}

static void fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 31 + 5);
}

static void round_trip(uint8_t opcode, uint32_t len, bool v6)
{
	uint8_t payload[NM_MTU_MAX], frame[NM_ROCE_FRAME_MAX];
	struct nm_packet pkt = make_packet(opcode, payload, len, v6), back;
	char why[NM_WHY_MAX] = "";
	int n;

	fill(payload, sizeof(payload));
	n = nm_roce_encode(&pkt, frame, sizeof(frame));
	cr_assert_gt(n, 0);
	cr_assert_eq(nm_roce_decode(frame, (size_t)n, &back, why), 0, "op %02x len %u: %s", opcode,
		     len, why);
	cr_assert_eq(back.hdr_len, pkt.hdr_len);
	cr_assert_eq(back.hdr[1], pkt.hdr[1] | (-len & 3) << 4, "the pad count is in the BTH");
	back.hdr[1] = pkt.hdr[1];
	cr_assert_arr_eq(back.hdr, pkt.hdr, pkt.hdr_len);
	cr_assert_eq(back.payload_len, len);
	if (len)
		cr_assert_arr_eq(back.payload[0].iov_base, payload, len);
	cr_assert_arr_eq(&back.route, &pkt.route, sizeof(pkt.route));
}

Test(roce_wire, every_opcode_comes_back_as_it_was_sent)
{
	unsigned int known = 0;

	for (unsigned int op = 0; op < 256; op++) {
		if (nm_roce_ext_len((uint8_t)op) < 0)
			continue;
		known++;
		round_trip((uint8_t)op, 0, false);
		round_trip((uint8_t)op, 5, false);
		round_trip((uint8_t)op, 256, true);
	}
	cr_assert_geq(known, 23 + 12 + 2 + 1, "RC, UC, UD and the CNP");
}

Test(roce_wire, every_length_around_the_mtu_and_the_pad_comes_back)
{
	static const uint32_t lens[] = {0, 1, 2, 3, 4, 255, 256, 1023, 1025, 4093, 4095, 4096};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		round_trip(0x0a, lens[i], false);
		round_trip(0x0a, lens[i], true);
	}
}

/*
 * A known answer: IBTA Annex A17 has no example packet; this one was computed by hand with zlib's
 * crc32 over the masked bytes. sim_tests/icrc_scapy.py compares many more with scapy.
 */
Test(roce_wire, the_icrc_of_an_ack_is_the_one_computed_elsewhere)
{
	struct nm_packet pkt = make_packet(0x11, NULL, 0, false);
	uint8_t frame[NM_ROCE_FRAME_MAX];
	int n = nm_roce_encode(&pkt, frame, sizeof(frame));
	static const uint8_t icrc[4] = {0x08, 0xa8, 0x09, 0xe5};

	cr_assert_eq(n, 14 + 20 + 8 + 12 + 4 + 4);
	cr_assert_arr_eq(frame + n - 4, icrc, 4, "%02x %02x %02x %02x", frame[n - 4], frame[n - 3],
			 frame[n - 2], frame[n - 1]);
}

Test(roce_wire, both_ways_to_compute_the_crc_agree)
{
	uint8_t buf[300];

	fill(buf, sizeof(buf));
	cr_assert_eq(nm_crc32(0, "123456789", 9), 0xcbf43926u, "the polynomial's check value");
	cr_assert_eq(nm_crc32_tables(0, "123456789", 9), 0xcbf43926u);
	for (size_t len = 0; len < 280; len++) {
		uint32_t crc = nm_crc32(7, buf + len % 9, len);

		cr_assert_eq(nm_crc32_tables(7, buf + len % 9, len), crc);
		cr_assert_eq(nm_crc32_tables(nm_crc32_tables(7, buf + len % 9, len / 3),
					     buf + len % 9 + len / 3, len - len / 3),
			     crc, "in pieces");
	}
}

Test(roce_wire, what_a_router_may_change_is_not_covered_by_the_icrc)
{
	uint8_t payload[64] = {1}, frame[NM_ROCE_FRAME_MAX];
	struct nm_packet pkt = make_packet(0x0a, payload, sizeof(payload), true), back;
	int n = nm_roce_encode(&pkt, frame, sizeof(frame));
	char why[NM_WHY_MAX];

	frame[14 + 1] ^= 0x3f; /* traffic class and flow label */
	frame[14 + 3] ^= 0xff;
	frame[14 + 7]--;	   /* hop limit */
	frame[14 + 40 + 6] = 0x55; /* UDP checksum */
	frame[14 + 48 + 4] = 0xc0; /* FECN, BECN */
	cr_assert_eq(nm_roce_decode(frame, (size_t)n, &back, why), 0, "%s", why);
}

Test(roce_wire, any_other_changed_bit_is_found)
{
	uint8_t payload[61], frame[NM_ROCE_FRAME_MAX];
	struct nm_packet pkt = make_packet(0x0a, payload, sizeof(payload), false), back;
	int n;

	fill(payload, sizeof(payload));
	n = nm_roce_encode(&pkt, frame, sizeof(frame));
	for (int byte = 14; byte < n; byte++) {
		bool uncovered = byte == 14 + 1 || byte == 14 + 8 || byte == 14 + 10 ||
				 byte == 14 + 11 || byte == 14 + 20 + 6 || byte == 14 + 20 + 7 ||
				 byte == 14 + 28 + 4;

		for (int bit = 0; bit < 8 && !uncovered; bit++) {
			char why[NM_WHY_MAX] = "";

			frame[byte] ^= (uint8_t)(1 << bit);
			cr_assert_eq(nm_roce_decode(frame, (size_t)n, &back, why), -EBADMSG,
				     "byte %d bit %d", byte, bit);
			cr_assert(why[0]);
			frame[byte] ^= (uint8_t)(1 << bit);
		}
	}
}

Test(roce_wire, every_truncation_is_refused)
{
	uint8_t payload[64] = {1}, frame[NM_ROCE_FRAME_MAX];

	for (int v6 = 0; v6 < 2; v6++) {
		struct nm_packet pkt = make_packet(0x0b, payload, sizeof(payload), v6), back;
		int n = nm_roce_encode(&pkt, frame, sizeof(frame));

		for (int len = 0; len < n; len++)
			cr_assert_eq(nm_roce_decode(frame, (size_t)len, &back, NULL), -EBADMSG);
		memset(frame + n, 0, 10); /* a short frame's Ethernet padding is not the packet's */
		cr_assert_eq(nm_roce_decode(frame, (size_t)n + 10, &back, NULL), 0);
	}
}

/* Seals a UDP payload of any content with a good ICRC and decodes it. */
static int decode_sealed(uint8_t *buf, size_t len, char *why)
{
	struct nm_roce_ip ip = {.df = true, .sport = 1, .dport = NM_ROCE_UDP_PORT};
	struct nm_packet pkt;
	uint32_t icrc;

	memcpy(ip.src, gid_a, 16);
	memcpy(ip.dst, gid_b, 16);
	icrc = nm_roce_icrc(&ip, buf, len - 4);
	for (int i = 0; i < 4; i++)
		buf[len - 4 + (size_t)i] = (uint8_t)(icrc >> (8 * i));
	return nm_roce_decode_udp(&ip, buf, len, &pkt, why);
}

Test(roce_wire, malformed_packets_with_a_good_icrc_are_refused_with_a_reason)
{
	static const struct {
		uint8_t opcode, byte1;
		size_t len;
		const char *reason;
	} bad[] = {
		{0x15, 0, 16, "opcode 0x15"},	      {0xff, 0, 64, "opcode 0xff"},
		{0x04, 1, 16, "transport version 1"}, {0x0a, 0, 28, "28 bytes of headers"},
		{0x14, 0, 40, "40 bytes of headers"}, {0x04, 0x10, 16, "pad count 1"},
		{0x0a, 0x30, 32, "pad count 3"},      {0x04, 0, 16 + 4100, "4100 bytes"},
		{0x04, 0, 18, "multiple of 4"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t buf[NM_ROCE_UDP_PAYLOAD_MAX] = {bad[i].opcode, bad[i].byte1};
		char why[NM_WHY_MAX] = "";

		cr_assert_eq(decode_sealed(buf, bad[i].len, why), -EBADMSG);
		cr_assert(strstr(why, bad[i].reason), "expected \"%s\", got \"%s\"", bad[i].reason,
			  why);
	}
}

Test(roce_wire, a_packet_that_no_wire_can_carry_is_not_encoded)
{
	uint8_t payload[NM_MTU_MAX + 4], frame[NM_ROCE_FRAME_MAX + 64];
	struct nm_packet pkt = make_packet(0x04, payload, 16, false);

	cr_assert_eq(nm_roce_encode(&pkt, frame, 50), -ENOSPC);
	cr_assert_eq(nm_roce_encode(&pkt, frame, 10), -ENOSPC);
	pkt.payload[0].iov_len = 15;
	cr_assert_eq(nm_roce_encode(&pkt, frame, sizeof(frame)), -EINVAL);
	pkt = make_packet(0x04, payload, NM_MTU_MAX + 1, false);
	cr_assert_eq(nm_roce_encode(&pkt, frame, sizeof(frame)), -EINVAL);
	pkt = make_packet(0x04, payload, 16, false);
	pkt.hdr_len = 13;
	cr_assert_eq(nm_roce_encode(&pkt, frame, sizeof(frame)), -EINVAL);
	pkt = make_packet(0x04, payload, 16, false);
	memcpy(pkt.route.dgid, gid6_b, 16);
	cr_assert_eq(nm_roce_encode(&pkt, frame, sizeof(frame)), -EINVAL, "IPv4 to IPv6");
}

Test(roce_wire, a_gathered_payload_is_the_same_packet)
{
	uint8_t payload[100], one[NM_ROCE_FRAME_MAX], many[NM_ROCE_FRAME_MAX];
	struct nm_packet pkt = make_packet(0x04, payload, sizeof(payload), false);
	int n;

	fill(payload, sizeof(payload));
	n = nm_roce_encode(&pkt, one, sizeof(one));
	pkt.niov = 3;
	pkt.payload[0] = (struct iovec){payload, 1};
	pkt.payload[1] = (struct iovec){payload + 1, 0};
	pkt.payload[2] = (struct iovec){payload + 1, 99};
	cr_assert_eq(nm_roce_encode(&pkt, many, sizeof(many)), n);
	cr_assert_arr_eq(one, many, (size_t)n);
}
