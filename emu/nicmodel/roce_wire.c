// SPDX-License-Identifier: BSD-3-Clause
#include "emu/nicmodel/roce_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/nicmodel/crc32.h"

/* Extension headers (IBTA vol. 1, 9.2 to 9.3); sizes in bytes. */
enum {
	RETH = 16,
	ATOMICETH = 28,
	AETH = 4,
	ATOMICACKETH = 8,
	IMMDT = 4,
	IETH = 4,
	DETH = 8,
	XRCETH = 4,
	CNP_RESERVED = 16,     /* Annex A17.9.3 */
	MASKED_ATOMICETH = 48, /* ours, see roce.h */
};

enum {
	BTH_UC = 0x20,
	BTH_UD = 0x60,
	BTH_XRC = 0xa0,
	BTH_CNP = 0x81,
};

enum {
	GRH_NEXT_BTH = 0x1b, /* IBTA 8.3.4 */
	/*
	 * InfiniBand in RoCEv2: what the headers that are not there would say lies in the reserved
	 * bits of the BTH's byte 4, which the ICRC does not cover (docs/wire.md).
	 */
	BTH4_SL = 0x0f,
	BTH4_NO_GRH = 0x10,
};

/* Bytes behind the BTH, plus 1, so that a row left out (0) is an unknown opcode. IBTA vol. 1,
 * table 38. */
static const uint8_t ext_len_plus1[256] = {
	[0x00] = 1,			  /* SEND first */
	[0x01] = 1,			  /* SEND middle */
	[0x02] = 1,			  /* SEND last */
	[0x03] = 1 + IMMDT,		  /* SEND last with immediate */
	[0x04] = 1,			  /* SEND only */
	[0x05] = 1 + IMMDT,		  /* SEND only with immediate */
	[0x06] = 1 + RETH,		  /* WRITE first */
	[0x07] = 1,			  /* WRITE middle */
	[0x08] = 1,			  /* WRITE last */
	[0x09] = 1 + IMMDT,		  /* WRITE last with immediate */
	[0x0a] = 1 + RETH,		  /* WRITE only */
	[0x0b] = 1 + RETH + IMMDT,	  /* WRITE only with immediate */
	[0x0c] = 1 + RETH,		  /* READ request */
	[0x0d] = 1 + AETH,		  /* READ response first */
	[0x0e] = 1,			  /* READ response middle */
	[0x0f] = 1 + AETH,		  /* READ response last */
	[0x10] = 1 + AETH,		  /* READ response only */
	[0x11] = 1 + AETH,		  /* ACK */
	[0x12] = 1 + AETH + ATOMICACKETH, /* atomic ACK */
	[0x13] = 1 + ATOMICETH,		  /* compare and swap */
	[0x14] = 1 + ATOMICETH,		  /* fetch and add */
	[0x16] = 1 + IETH,		  /* SEND last with invalidate */
	[0x17] = 1 + IETH,		  /* SEND only with invalidate */
	[BTH_UC + 0x00] = 1,
	[BTH_UC + 0x01] = 1,
	[BTH_UC + 0x02] = 1,
	[BTH_UC + 0x03] = 1 + IMMDT,
	[BTH_UC + 0x04] = 1,
	[BTH_UC + 0x05] = 1 + IMMDT,
	[BTH_UC + 0x06] = 1 + RETH,
	[BTH_UC + 0x07] = 1,
	[BTH_UC + 0x08] = 1,
	[BTH_UC + 0x09] = 1 + IMMDT,
	[BTH_UC + 0x0a] = 1 + RETH,
	[BTH_UC + 0x0b] = 1 + RETH + IMMDT,
	[BTH_UD + 0x04] = 1 + DETH,
	[BTH_UD + 0x05] = 1 + DETH + IMMDT,
	[BTH_XRC + 0x00] = 1 + XRCETH,
	[BTH_XRC + 0x01] = 1 + XRCETH,
	[BTH_XRC + 0x02] = 1 + XRCETH,
	[BTH_XRC + 0x03] = 1 + XRCETH + IMMDT,
	[BTH_XRC + 0x04] = 1 + XRCETH,
	[BTH_XRC + 0x05] = 1 + XRCETH + IMMDT,
	[BTH_XRC + 0x06] = 1 + XRCETH + RETH,
	[BTH_XRC + 0x07] = 1 + XRCETH,
	[BTH_XRC + 0x08] = 1 + XRCETH,
	[BTH_XRC + 0x09] = 1 + XRCETH + IMMDT,
	[BTH_XRC + 0x0a] = 1 + XRCETH + RETH,
	[BTH_XRC + 0x0b] = 1 + XRCETH + RETH + IMMDT,
	[BTH_XRC + 0x0c] = 1 + XRCETH + RETH,
	[BTH_XRC + 0x0d] = 1 + AETH,
	[BTH_XRC + 0x0e] = 1,
	[BTH_XRC + 0x0f] = 1 + AETH,
	[BTH_XRC + 0x10] = 1 + AETH,
	[BTH_XRC + 0x11] = 1 + AETH,
	[BTH_XRC + 0x12] = 1 + AETH + ATOMICACKETH,
	[BTH_XRC + 0x13] = 1 + XRCETH + ATOMICETH,
	[BTH_XRC + 0x14] = 1 + XRCETH + ATOMICETH,
	[BTH_XRC + 0x16] = 1 + XRCETH + IETH,
	[BTH_XRC + 0x17] = 1 + XRCETH + IETH,
	[BTH_CNP] = 1 + CNP_RESERVED,
	[0xc0] = 1 + MASKED_ATOMICETH, /* masked compare and swap, see roce.h */
	[0xc1] = 1 + MASKED_ATOMICETH, /* masked fetch and add */
};

int nm_roce_ext_len(uint8_t bth_opcode)
{
	return (int)ext_len_plus1[bth_opcode] - 1;
}

/*
 * What the packets of a message are, by bits 4:0 of the opcode that it has as one packet (or run of
 * packets): first, and last. Between them lie middle ones. 0xff: not a message of packets.
 */
enum { CUT_NONE = 0xff, OP_CLASS = 0xe0, OP_CODE = 0x1f };

static const struct {
	uint8_t first, middle, last;
} cuts[OP_CODE + 1] = {
	[0x00] = {0x00, 0x01, 0x01},
	[0x01] = {0x01, 0x01, 0x01},
	[0x02] = {0x01, 0x01, 0x02},
	[0x03] = {0x01, 0x01, 0x03},
	[0x04] = {0x00, 0x01, 0x02},
	[0x05] = {0x00, 0x01, 0x03},
	[0x06] = {0x06, 0x07, 0x07},
	[0x07] = {0x07, 0x07, 0x07},
	[0x08] = {0x07, 0x07, 0x08},
	[0x09] = {0x07, 0x07, 0x09},
	[0x0a] = {0x06, 0x07, 0x08},
	[0x0b] = {0x06, 0x07, 0x09},
	[0x0c] = {CUT_NONE, CUT_NONE, CUT_NONE},
	[0x0d] = {0x0d, 0x0e, 0x0e},
	[0x0e] = {0x0e, 0x0e, 0x0e},
	[0x0f] = {0x0e, 0x0e, 0x0f},
	[0x10] = {0x0d, 0x0e, 0x0f},
	[0x11] = {CUT_NONE, CUT_NONE, CUT_NONE},
	[0x12] = {CUT_NONE, CUT_NONE, CUT_NONE},
	[0x13] = {CUT_NONE, CUT_NONE, CUT_NONE},
	[0x14] = {CUT_NONE, CUT_NONE, CUT_NONE},
	[0x15] = {CUT_NONE, CUT_NONE, CUT_NONE},
	[0x16] = {0x01, 0x01, 0x16},
	[0x17] = {0x00, 0x01, 0x16},
	[0x18 ... OP_CODE] = {CUT_NONE, CUT_NONE, CUT_NONE},
};

bool nm_train_ok(const struct nm_packet *train)
{
	uint64_t before = (uint64_t)(train->segs - 1u) * train->seg_len, sum = 0;
	uint8_t op = train->hdr[0];

	if (train->segs < 2 || train->segs > NM_TRAIN_SEGS || train->seg_len > NM_MTU_MAX ||
	    train->seg_len % 4 || train->payload_len > NM_TRAIN_MAX ||
	    train->payload_len <= before || train->payload_len > before + train->seg_len)
		return false;
	if (cuts[op & OP_CODE].first == CUT_NONE || nm_roce_ext_len(op) < 0 ||
	    train->hdr_len != NM_ROCE_BTH_LEN + nm_roce_ext_len(op) ||
	    nm_roce_ext_len((op & OP_CLASS) | cuts[op & OP_CODE].middle) < 0)
		return false;
	if (train->niov > NM_PKT_MAX_IOV)
		return false;
	for (unsigned int i = 0; i < train->niov; i++) {
		if (train->payload[i].iov_len > NM_TRAIN_MAX)
			return false;
		sum += train->payload[i].iov_len;
	}
	return sum == train->payload_len;
}

/* [off, off+len) of the train's payload. */
static void cut_payload(const struct nm_packet *train, uint32_t off, uint32_t len,
			struct nm_packet *pkt)
{
	pkt->niov = 0;
	pkt->payload_len = len;
	for (unsigned int i = 0; i < train->niov && len; i++) {
		size_t have = train->payload[i].iov_len, n;

		if (off >= have) {
			off -= (uint32_t)have;
			continue;
		}
		n = have - off < len ? have - off : len;
		pkt->payload[pkt->niov].iov_base = (uint8_t *)train->payload[i].iov_base + off;
		pkt->payload[pkt->niov++].iov_len = n;
		len -= (uint32_t)n;
		off = 0;
	}
}

bool nm_train_segment(const struct nm_packet *train, uint32_t i, struct nm_packet *pkt)
{
	uint8_t group = train->hdr[0] & OP_CLASS, code = train->hdr[0] & OP_CODE, op;
	bool first = i == 0, last = i + 1 == train->segs;
	uint32_t off = i * train->seg_len, psn, len;
	int common, own;

	if (i >= train->segs || cuts[code].first == CUT_NONE)
		return false;
	op = group | (first ? cuts[code].first : last ? cuts[code].last : cuts[code].middle);
	/* What every packet has (XRCETH) comes first, then what only this one has. */
	common = nm_roce_ext_len(group | cuts[code].middle);
	own = nm_roce_ext_len(op) - common;
	if (common < 0 || own < 0 || NM_ROCE_BTH_LEN + common + own > train->hdr_len)
		return false;
	len = last ? train->payload_len - off : train->seg_len;
	pkt->route = train->route;
	pkt->segs = 0;
	pkt->seg_len = 0;
	pkt->stable = train->stable;
	pkt->pull = train->pull;
	pkt->pull_ctx = train->pull_ctx;
	memcpy(pkt->hdr, train->hdr, NM_ROCE_BTH_LEN + (size_t)common);
	memcpy(pkt->hdr + NM_ROCE_BTH_LEN + common,
	       first ? train->hdr + NM_ROCE_BTH_LEN + common : train->hdr + train->hdr_len - own,
	       (size_t)own);
	pkt->hdr_len = (uint8_t)(NM_ROCE_BTH_LEN + common + own);
	pkt->hdr[0] = op;
	psn = ((uint32_t)train->hdr[9] << 16 | (uint32_t)train->hdr[10] << 8 | train->hdr[11]) + i;
	pkt->hdr[9] = (uint8_t)(psn >> 16);
	pkt->hdr[10] = (uint8_t)(psn >> 8);
	pkt->hdr[11] = (uint8_t)psn;
	pkt->hdr[1] = (uint8_t)((pkt->hdr[1] & ~0x30u) | (-len & 3) << 4);
	if (!last) {
		pkt->hdr[1] &= 0x7f; /* solicited event */
		pkt->hdr[8] &= 0x7f; /* request for an ACK */
	}
	cut_payload(train, off, len, pkt);
	return true;
}

uint32_t nm_roce_bytes(const struct nm_packet *pkt)
{
	uint8_t group = pkt->hdr[0] & OP_CLASS, code = pkt->hdr[0] & OP_CODE;
	uint32_t bytes = pkt->hdr_len + pkt->payload_len;

	if (pkt->segs < 2)
		return bytes;
	bytes = pkt->payload_len + pkt->segs * NM_ROCE_BTH_LEN;
	bytes += (uint32_t)nm_roce_ext_len(group | cuts[code].first);
	bytes += (pkt->segs - 2u) * (uint32_t)nm_roce_ext_len(group | cuts[code].middle);
	return bytes + (uint32_t)nm_roce_ext_len(group | cuts[code].last);
}

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static unsigned int get16(const uint8_t *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

static bool is_mapped4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static void set_mapped4(uint8_t gid[16], const uint8_t addr[4])
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, addr, 4);
}

bool nm_roce_is_ipv4(const struct nm_route *route)
{
	return is_mapped4(route->sgid) && is_mapped4(route->dgid);
}

bool nm_roce_for_group(const uint8_t *hdr)
{
	return (hdr[0] == BTH_UD + 0x04 || hdr[0] == BTH_UD + 0x05) &&
	       (hdr[5] & hdr[6] & hdr[7]) == 0xff;
}

bool nm_roce_is_multicast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (is_mapped4(gid) && (gid[12] & 0xf0) == 0xe0);
}

int nm_roce_ip_from_route(const struct nm_route *route, struct nm_roce_ip *ip)
{
	bool src4 = is_mapped4(route->sgid), dst4 = is_mapped4(route->dgid);

	if (src4 != dst4 && !(src4 && nm_roce_is_multicast(route->dgid)))
		return -EINVAL;
	*ip = (struct nm_roce_ip){
		.v6 = !(src4 && dst4),
		.tos = route->tclass,
		.ttl = route->hop_limit,
		.flow_label = route->flow_label & 0xfffff,
		.df = true,
		.sport = route->udp_sport,
		.dport = NM_ROCE_UDP_PORT,
	};
	memcpy(ip->src, route->sgid, 16);
	memcpy(ip->dst, route->dgid, 16);
	return 0;
}

static size_t ip_len(const struct nm_roce_ip *ip)
{
	return ip->v6 ? NM_ROCE_IP6_LEN : NM_ROCE_IP4_LEN;
}

/* RFC 1071 over a header whose checksum field is zero, or to verify one over the whole header: 0.
 */
static uint16_t ip4_checksum(const uint8_t *hdr)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < NM_ROCE_IP4_LEN; i += 2)
		sum += get16(hdr + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* IP (checksum left 0) and UDP headers for a UDP payload of `len` bytes. Returns their length. */
static size_t write_ip_udp(const struct nm_roce_ip *ip, size_t len, uint8_t *p)
{
	size_t udp_len = NM_ROCE_UDP_LEN + len;
	uint8_t *udp = p + ip_len(ip);

	assert(udp_len + NM_ROCE_IP6_LEN <= UINT16_MAX);
	if (ip->v6) {
		p[0] = (uint8_t)(0x60 | ip->tos >> 4);
		p[1] = (uint8_t)(ip->tos << 4 | ((ip->flow_label >> 16) & 0xf));
		put16(p + 2, ip->flow_label & 0xffff);
		put16(p + 4, (unsigned int)udp_len);
		p[6] = 17; /* UDP */
		p[7] = ip->ttl;
		memcpy(p + 8, ip->src, 16);
		memcpy(p + 24, ip->dst, 16);
	} else {
		p[0] = 0x45;
		p[1] = ip->tos;
		put16(p + 2, (unsigned int)(NM_ROCE_IP4_LEN + udp_len));
		put16(p + 4, ip->id);
		put16(p + 6, ip->df ? 0x4000 : 0);
		p[8] = ip->ttl;
		p[9] = 17;
		put16(p + 10, 0);
		memcpy(p + 12, ip->src + 12, 4);
		memcpy(p + 16, ip->dst + 12, 4);
	}
	put16(udp, ip->sport);
	put16(udp + 2, ip->dport);
	put16(udp + 4, (unsigned int)udp_len);
	put16(udp + 6, 0);
	return ip_len(ip) + NM_ROCE_UDP_LEN;
}

/*
 * The ICRC treats what a router may change as ones: traffic class, flow label, TTL, IP and UDP
 * checksums, and the BTH byte with FECN and BECN; eight bytes of ones stand where InfiniBand
 * has its LRH (Annex A17.3.3).
 */
uint32_t nm_roce_icrc(const struct nm_roce_ip *ip, const uint8_t *buf, size_t len)
{
	uint8_t pseudo[8 + NM_ROCE_IP6_LEN + NM_ROCE_UDP_LEN + NM_ROCE_BTH_LEN];
	uint8_t *p = pseudo + 8;
	size_t n;
	uint32_t crc;

	assert(len >= NM_ROCE_BTH_LEN);
	memset(pseudo, 0xff, 8);
	n = write_ip_udp(ip, len + NM_ROCE_ICRC_LEN, p);
	if (ip->v6) {
		p[0] = 0x6f;
		p[1] = p[2] = p[3] = 0xff;
		p[7] = 0xff;
	} else {
		p[1] = 0xff;
		p[8] = 0xff;
		put16(p + 10, 0xffff);
	}
	put16(p + n - 2, 0xffff);
	memcpy(p + n, buf, NM_ROCE_BTH_LEN);
	p[n + 4] = 0xff;
	crc = nm_crc32(0, pseudo, 8 + n + NM_ROCE_BTH_LEN);
	return nm_crc32(crc, buf + NM_ROCE_BTH_LEN, len - NM_ROCE_BTH_LEN);
}

static uint32_t pad_len(uint32_t payload_len)
{
	return -payload_len & 3;
}

size_t nm_roce_udp_payload_len(const struct nm_packet *pkt)
{
	return (size_t)pkt->hdr_len + pkt->payload_len + pad_len(pkt->payload_len) +
	       NM_ROCE_ICRC_LEN;
}

static bool lengths_ok(const struct nm_packet *pkt)
{
	size_t sum = 0;

	if (pkt->hdr_len < NM_ROCE_BTH_LEN || pkt->hdr_len > NM_PKT_HDR_MAX || pkt->hdr_len % 4 ||
	    pkt->payload_len > NM_MTU_MAX || pkt->niov > NM_PKT_MAX_IOV)
		return false;
	for (unsigned int i = 0; i < pkt->niov; i++) {
		if (pkt->payload[i].iov_len > NM_MTU_MAX - sum)
			return false;
		sum += pkt->payload[i].iov_len;
	}
	return sum == pkt->payload_len;
}

int nm_roce_encode_udp(const struct nm_packet *pkt, const struct nm_roce_ip *ip, uint8_t *buf,
		       size_t cap)
{
	uint32_t pad = pad_len(pkt->payload_len);
	size_t len = nm_roce_udp_payload_len(pkt);
	uint8_t *p = buf;
	uint32_t icrc;

	if (!lengths_ok(pkt))
		return -EINVAL;
	if (len > cap)
		return -ENOSPC;
	memcpy(p, pkt->hdr, pkt->hdr_len);
	p[1] = (uint8_t)((p[1] & ~0x30u) | pad << 4);
	p[4] |= (uint8_t)((pkt->route.sl & BTH4_SL) | (pkt->route.no_grh ? BTH4_NO_GRH : 0));
	p += pkt->hdr_len;
	for (unsigned int i = 0; i < pkt->niov; i++) {
		memcpy(p, pkt->payload[i].iov_base, pkt->payload[i].iov_len);
		p += pkt->payload[i].iov_len;
	}
	memset(p, 0, pad);
	p += pad;
	icrc = nm_roce_icrc(ip, buf, len - NM_ROCE_ICRC_LEN);
	p[0] = (uint8_t)icrc;
	p[1] = (uint8_t)(icrc >> 8);
	p[2] = (uint8_t)(icrc >> 16);
	p[3] = (uint8_t)(icrc >> 24);
	return (int)len;
}

void nm_roce_grh(const struct nm_packet *pkt, bool ethernet, uint8_t grh[NM_ROCE_GRH_LEN])
{
	uint8_t hdr[NM_ROCE_IP6_LEN + NM_ROCE_UDP_LEN];
	size_t len = nm_roce_udp_payload_len(pkt);
	const struct nm_route *route = &pkt->route;
	struct nm_roce_ip ip;

	memset(grh, 0, NM_ROCE_GRH_LEN);
	if (route->no_grh || nm_roce_ip_from_route(route, &ip))
		return;
	ip.v6 |= !ethernet;
	write_ip_udp(&ip, len, hdr);
	if (!ip.v6) {
		put16(hdr + 10, ip4_checksum(hdr));
		memcpy(grh + NM_ROCE_GRH_LEN - NM_ROCE_IP4_LEN, hdr, NM_ROCE_IP4_LEN);
		return;
	}
	memcpy(grh, hdr, NM_ROCE_IP6_LEN);
	if (!ethernet) { /* BTH to ICRC follow at once */
		put16(grh + 4, (unsigned int)len);
		grh[6] = GRH_NEXT_BTH;
	}
}

int nm_roce_encode(const struct nm_packet *pkt, uint8_t *buf, size_t cap)
{
	struct nm_roce_ip ip;
	size_t head;
	int n;

	if (nm_roce_ip_from_route(&pkt->route, &ip) || !lengths_ok(pkt))
		return -EINVAL;
	head = NM_ROCE_ETH_LEN + ip_len(&ip) + NM_ROCE_UDP_LEN;
	if (cap < head)
		return -ENOSPC;
	n = nm_roce_encode_udp(pkt, &ip, buf + head, cap - head);
	if (n < 0)
		return n;
	memcpy(buf, pkt->route.dmac, 6);
	memcpy(buf + 6, pkt->route.smac, 6);
	put16(buf + 12, ip.v6 ? 0x86dd : 0x0800);
	write_ip_udp(&ip, (size_t)n, buf + NM_ROCE_ETH_LEN);
	if (!ip.v6)
		put16(buf + NM_ROCE_ETH_LEN + 10, ip4_checksum(buf + NM_ROCE_ETH_LEN));
	return (int)head + n;
}

static int reject(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int reject(char *why, const char *fmt, ...)
{
	va_list args;

	if (why) {
		va_start(args, fmt);
		vsnprintf(why, NM_WHY_MAX, fmt, args);
		va_end(args);
	}
	return -EBADMSG;
}

static int check_icrc(const struct nm_roce_ip *ip, const uint8_t *buf, size_t len, char *why)
{
	const uint8_t *p = buf + len - NM_ROCE_ICRC_LEN;
	uint32_t came =
		(uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	uint32_t expected = nm_roce_icrc(ip, buf, len - NM_ROCE_ICRC_LEN);

	if (came == expected)
		return 0;
	return reject(why, "ICRC 0x%08x in a packet of %zu bytes whose ICRC is 0x%08x", came, len,
		      expected);
}

int nm_roce_decode_udp(const struct nm_roce_ip *ip, const uint8_t *buf, size_t len,
		       struct nm_packet *pkt, char *why)
{
	size_t hdr_len, body, pad;
	int ext;

	if (len < NM_ROCE_BTH_LEN + NM_ROCE_ICRC_LEN || len > NM_ROCE_UDP_PAYLOAD_MAX)
		return reject(why, "UDP payload of %zu bytes; a RoCEv2 packet has %d to %d", len,
			      NM_ROCE_BTH_LEN + NM_ROCE_ICRC_LEN, NM_ROCE_UDP_PAYLOAD_MAX);
	if (len % 4)
		return reject(why, "UDP payload of %zu bytes is not a multiple of 4", len);
	if (check_icrc(ip, buf, len, why))
		return -EBADMSG;
	if (buf[1] & 0xf)
		return reject(why, "BTH transport version %u; expected 0", buf[1] & 0xfu);
	ext = nm_roce_ext_len(buf[0]);
	if (ext < 0)
		return reject(why, "BTH opcode 0x%02x is none that this NIC knows", buf[0]);
	hdr_len = NM_ROCE_BTH_LEN + (size_t)ext;
	if (ip->mgid_in_header && nm_roce_for_group(buf))
		hdr_len += NM_ROCE_GID_LEN;
	if (len < hdr_len + NM_ROCE_ICRC_LEN)
		return reject(
			why, "BTH opcode 0x%02x has %zu bytes of headers; the packet has %zu bytes",
			buf[0], hdr_len, len - NM_ROCE_ICRC_LEN);
	body = len - hdr_len - NM_ROCE_ICRC_LEN;
	pad = (buf[1] >> 4) & 3;
	if (pad > body)
		return reject(why, "BTH pad count %zu with a payload of %zu bytes", pad, body);
	if (body - pad > NM_MTU_MAX)
		return reject(why, "payload of %zu bytes; the largest MTU is %d", body - pad,
			      NM_MTU_MAX);
	assert(hdr_len <= NM_PKT_HDR_MAX);
	memset(&pkt->route, 0, sizeof(pkt->route));
	memcpy(pkt->route.sgid, ip->src, 16);
	memcpy(pkt->route.dgid, ip->dst, 16);
	pkt->route.tclass = ip->tos;
	pkt->route.hop_limit = ip->ttl;
	pkt->route.flow_label = ip->flow_label;
	pkt->route.udp_sport = ip->sport;
	pkt->route.sl = buf[4] & BTH4_SL;
	pkt->route.no_grh = (buf[4] & BTH4_NO_GRH) != 0;
	memcpy(pkt->hdr, buf, hdr_len);
	pkt->hdr[4] &= (uint8_t) ~(BTH4_SL | BTH4_NO_GRH);
	pkt->hdr_len = (uint8_t)hdr_len;
	pkt->payload_len = (uint32_t)(body - pad);
	pkt->segs = 0;
	pkt->seg_len = 0;
	pkt->stable = false;
	pkt->pull = NULL;
	pkt->niov = pkt->payload_len ? 1 : 0;
	pkt->payload[0].iov_base = (void *)(uintptr_t)(buf + hdr_len);
	pkt->payload[0].iov_len = pkt->payload_len;
	return 0;
}

/* `len` bytes from the IPv4 header on; sets *len to what the header says. */
static int decode_ip4(const uint8_t *p, size_t *len, struct nm_roce_ip *ip, char *why)
{
	size_t total;

	if (*len < NM_ROCE_IP4_LEN || p[0] != 0x45)
		return reject(
			why,
			"IPv4 header: %zu bytes, first byte 0x%02x; expected 20 without options",
			*len, *len ? p[0] : 0u);
	total = get16(p + 2);
	if (total < NM_ROCE_IP4_LEN + NM_ROCE_UDP_LEN || total > *len)
		return reject(why, "IPv4 total length %zu in a frame with %zu bytes", total, *len);
	if (get16(p + 6) & 0x3fff)
		return reject(why, "IPv4 fragment (0x%04x)", get16(p + 6));
	if (ip4_checksum(p) != 0)
		return reject(why, "IPv4 header checksum 0x%04x is wrong", get16(p + 10));
	if (p[9] != 17)
		return reject(why, "IPv4 protocol %u; expected UDP (17)", p[9]);
	ip->v6 = false;
	ip->tos = p[1];
	ip->id = (uint16_t)get16(p + 4);
	ip->df = (p[6] & 0x40) != 0;
	ip->ttl = p[8];
	set_mapped4(ip->src, p + 12);
	set_mapped4(ip->dst, p + 16);
	*len = total;
	return 0;
}

static int decode_ip6(const uint8_t *p, size_t *len, struct nm_roce_ip *ip, char *why)
{
	size_t body;

	if (*len < NM_ROCE_IP6_LEN || p[0] >> 4 != 6)
		return reject(why, "IPv6 header: %zu bytes, version %u", *len,
			      *len ? p[0] >> 4 : 0u);
	body = get16(p + 4);
	if (body < NM_ROCE_UDP_LEN || body > *len - NM_ROCE_IP6_LEN)
		return reject(why, "IPv6 payload length %zu in a frame with %zu bytes", body, *len);
	if (p[6] != 17)
		return reject(why, "IPv6 next header %u; expected UDP (17)", p[6]);
	ip->v6 = true;
	ip->tos = (uint8_t)(p[0] << 4 | p[1] >> 4);
	ip->flow_label = (p[1] & 0xfu) << 16 | get16(p + 2);
	ip->ttl = p[7];
	memcpy(ip->src, p + 8, 16);
	memcpy(ip->dst, p + 24, 16);
	*len = NM_ROCE_IP6_LEN + body;
	return 0;
}

int nm_roce_decode(const uint8_t *frame, size_t len, struct nm_packet *pkt, char *why)
{
	struct nm_roce_ip ip = {0};
	const uint8_t *p = frame + NM_ROCE_ETH_LEN, *udp;
	size_t left, udp_len;
	unsigned int type;
	int err;

	if (len < NM_ROCE_ETH_LEN)
		return reject(why, "Ethernet frame of %zu bytes", len);
	left = len - NM_ROCE_ETH_LEN;
	type = get16(frame + 12);
	if (type == 0x0800)
		err = decode_ip4(p, &left, &ip, why);
	else if (type == 0x86dd)
		err = decode_ip6(p, &left, &ip, why);
	else
		err = reject(why, "ethertype 0x%04x; expected IPv4 or IPv6", type);
	if (err)
		return err;
	udp = p + ip_len(&ip);
	left -= ip_len(&ip);
	udp_len = get16(udp + 4);
	ip.sport = (uint16_t)get16(udp);
	ip.dport = (uint16_t)get16(udp + 2);
	if (ip.dport != NM_ROCE_UDP_PORT)
		return reject(why, "UDP destination port %u; expected %d", ip.dport,
			      NM_ROCE_UDP_PORT);
	if (udp_len != left)
		return reject(why, "UDP length %zu in an IP payload of %zu bytes", udp_len, left);
	err = nm_roce_decode_udp(&ip, udp + NM_ROCE_UDP_LEN, left - NM_ROCE_UDP_LEN, pkt, why);
	if (err)
		return err;
	memcpy(pkt->route.dmac, frame, 6);
	memcpy(pkt->route.smac, frame + 6, 6);
	return 0;
}
