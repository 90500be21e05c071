// SPDX-License-Identifier: BSD-3-Clause
/* Messages of the other end: bytes of another process, so nothing is believed. */
#include <string.h>

#include "emu/uverbs/cm.h"

/* IBTA 12.6.5 to 12.6.10, 12.11: room for private data in each message. What a connection request
 * has left behind the address header of Annex A11.4 is the program's. */
enum { IP_CM_HEADER = 36 };
static const struct {
	const char *name;
	uint16_t private_max; /* bytes */
} types[CM_MSG_TYPES] = {
	[CM_MSG_REQ] = {"REQ", 92 - IP_CM_HEADER},
	[CM_MSG_REP] = {"REP", 196},
	[CM_MSG_RTU] = {"RTU", 224},
	[CM_MSG_REJ] = {"REJ", 148},
	[CM_MSG_DREQ] = {"DREQ", 220},
	[CM_MSG_DREP] = {"DREP", 224},
	[CM_MSG_SIDR_REQ] = {"SIDR_REQ", 216 - IP_CM_HEADER},
	[CM_MSG_SIDR_REP] = {"SIDR_REP", 136},
};

const char *cm_msg_name(uint8_t type)
{
	return type < CM_MSG_TYPES ? types[type].name : "unknown";
}

uint32_t cm_msg_private_len(uint8_t type)
{
	return type < CM_MSG_TYPES ? types[type].private_max : 0;
}

static bool is_ip(const struct sockaddr_in6 *sa)
{
	return sa->sin6_family == AF_INET || sa->sin6_family == AF_INET6;
}

const char *cm_msg_wrong(const void *bytes, size_t len)
{
	struct cm_msg m;

	if (len != sizeof(m))
		return "its length is not that of a message";
	memcpy(&m, bytes, sizeof(m));
	if (m.magic != CM_MSG_MAGIC)
		return "it does not begin as a message does";
	if (m.version != CM_MSG_VERSION)
		return "it is of another version of gdakit";
	if (m.type >= CM_MSG_TYPES)
		return "its type is not known";
	if (m.private_len > types[m.type].private_max)
		return "it has more private data than its type may have";
	if (m.qpn > 0xffffff || m.psn > 0xffffff)
		return "a QP number or PSN has more than 24 bits";
	if (m.mtu < 1 || m.mtu > 5)
		return "its MTU is not one of 256 to 4096";
	if ((m.type == CM_MSG_REQ || m.type == CM_MSG_SIDR_REQ) &&
	    (!is_ip(&m.from) || !is_ip(&m.to)))
		return "its addresses are not IP addresses";
	return NULL;
}
