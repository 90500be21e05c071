/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: bytes from the wire. The first byte picks the entry: a whole frame as it is, a
 * UDP payload as it is, or a UDP payload sealed with a good ICRC, so that what lies behind the
 * check is reached too. What decodes must encode again, to the same bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nicmodel/roce_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_roce: %s (%s)\n", what, why);
	abort();
}

/* Reads every byte that the packet claims to have. */
static void read_all(const struct nm_packet *pkt)
{
	volatile uint8_t sum = 0;

	expect(pkt->hdr_len >= NM_ROCE_BTH_LEN && pkt->hdr_len <= NM_PKT_HDR_MAX &&
		       pkt->hdr_len % 4 == 0,
	       "header length", "");
	expect(pkt->payload_len <= NM_MTU_MAX && pkt->niov <= 1, "payload length", "");
	for (uint32_t i = 0; i < pkt->payload_len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)pkt->payload[0].iov_base)[i]);
}

static void seal(const struct nm_roce_ip *ip, uint8_t *buf, size_t len)
{
	uint32_t icrc = nm_roce_icrc(ip, buf, len - NM_ROCE_ICRC_LEN);

	for (unsigned int i = 0; i < NM_ROCE_ICRC_LEN; i++)
		buf[len - NM_ROCE_ICRC_LEN + i] = (uint8_t)(icrc >> (8 * i));
}

static void try_udp(uint8_t *buf, size_t len, bool sealed, bool mgid)
{
	struct nm_roce_ip ip = {
		.df = true,
		.src = {[10] = 0xff, 0xff, 127, 64, 0, 1},
		.dst = {[10] = 0xff, 0xff, 127, 65, 0, 1},
		.sport = 0xc000,
		.dport = NM_ROCE_UDP_PORT,
		.mgid_in_header = mgid,
	};
	uint8_t again[NM_ROCE_UDP_PAYLOAD_MAX];
	char why[NM_WHY_MAX] = "";
	struct nm_packet pkt;
	int n;

	if (sealed && len >= NM_ROCE_BTH_LEN + NM_ROCE_ICRC_LEN)
		seal(&ip, buf, len);
	if (nm_roce_decode_udp(&ip, buf, len, &pkt, why)) {
		expect(why[0] != 0, "refused without a reason", "");
		return;
	}
	read_all(&pkt);
	n = nm_roce_encode_udp(&pkt, &ip, again, sizeof(again));
	expect(n == (int)len, "another length", why);
	/* Pad bytes and the ICRC over them may differ: senders write zeros, receivers take
	 * anything. */
	expect(memcmp(again, buf, pkt.hdr_len + pkt.payload_len) == 0, "other bytes", why);
}

static void try_frame(const uint8_t *frame, size_t len)
{
	uint8_t again[NM_ROCE_FRAME_MAX];
	char why[NM_WHY_MAX] = "";
	struct nm_packet pkt, back;
	int n;

	if (nm_roce_decode(frame, len, &pkt, why)) {
		expect(why[0] != 0, "refused without a reason", "");
		return;
	}
	read_all(&pkt);
	n = nm_roce_encode(&pkt, again, sizeof(again));
	if (n == -EINVAL)
		return; /* IPv6 with one address that is IPv4-mapped: no sender's route */
	expect(n > 0 && nm_roce_decode(again, (size_t)n, &back, why) == 0, "not again", why);
	expect(back.payload_len == pkt.payload_len && back.hdr_len == pkt.hdr_len, "changed", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 1)
		return 0;
	/* Exactly as long as the input, so that a byte too far is seen. */
	copy = malloc(size - 1 ? size - 1 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (data[0] % 3 == 0)
		try_frame(copy, size - 1);
	else
		try_udp(copy, size - 1, data[0] % 3 == 1, (data[0] & 0x80) != 0);
	free(copy);
	return 0;
}
