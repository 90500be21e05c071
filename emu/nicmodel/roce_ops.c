// SPDX-License-Identifier: BSD-3-Clause
/* What each BTH opcode is: whose service's, which headers it has (IBTA table 38). */
#include "emu/nicmodel/roce.h"

#define WIRE(name_, flags_, ext_)                                                                  \
	{                                                                                          \
		.flags = (flags_), .hdr_len = ROCE_BTH_LEN + (ext_), .name = name_                 \
	}
#define WIRE_OF(st_, name_, flags_, ext_)                                                          \
	{                                                                                          \
		.flags = (flags_), .hdr_len = ROCE_BTH_LEN + (ext_), .name = name_, .st = (st_)    \
	}
#define UC_(name_, flags_, ext_) WIRE_OF(PRM_QP_ST_UC, "UC " name_, flags_, ext_)
#define UD_(name_, flags_, ext_) WIRE_OF(PRM_QP_ST_UD, "UD " name_, flags_, ext_)

/* A request and a response of XRC: as RC's, the request with one header more. */
#define XRC_REQ(name_, flags_, ext_)                                                               \
	{                                                                                          \
		.flags = (flags_) | RF_XRC, .hdr_len = ROCE_BTH_LEN + ROCE_XRC_LEN + (ext_),       \
		.st = PRM_QP_ST_XRC, .name = "XRC " name_                                          \
	}
#define XRC_RESP(name_, flags_, ext_)                                                              \
	{                                                                                          \
		.flags = (flags_) | RF_RESP, .hdr_len = ROCE_BTH_LEN + (ext_),                     \
		.st = PRM_QP_ST_XRC, .name = "XRC " name_                                          \
	}

const struct roce_op roce_ops[ROCE_OPCODES] = {
	[ROCE_SEND_FIRST] = WIRE("SEND first", RF_SEND | RF_FIRST | RF_PAYLOAD, 0),
	[ROCE_SEND_MIDDLE] = WIRE("SEND middle", RF_SEND | RF_PAYLOAD, 0),
	[ROCE_SEND_LAST] = WIRE("SEND last", RF_SEND | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_SEND_LAST_IMM] = WIRE("SEND last with immediate",
				    RF_SEND | RF_LAST | RF_IMM | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_SEND_ONLY] = WIRE("SEND only", RF_SEND | RF_FIRST | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_SEND_ONLY_IMM] =
		WIRE("SEND only with immediate", RF_SEND | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD,
		     ROCE_IMM_LEN),
	[ROCE_WRITE_FIRST] = WIRE("WRITE first", RF_WRITE | RF_FIRST | RF_PAYLOAD, ROCE_RETH_LEN),
	[ROCE_WRITE_MIDDLE] = WIRE("WRITE middle", RF_WRITE | RF_PAYLOAD, 0),
	[ROCE_WRITE_LAST] = WIRE("WRITE last", RF_WRITE | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_WRITE_LAST_IMM] = WIRE("WRITE last with immediate",
				     RF_WRITE | RF_LAST | RF_IMM | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_WRITE_ONLY] =
		WIRE("WRITE only", RF_WRITE | RF_FIRST | RF_LAST | RF_PAYLOAD, ROCE_RETH_LEN),
	[ROCE_WRITE_ONLY_IMM] = WIRE("WRITE only with immediate",
				     RF_WRITE | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD,
				     ROCE_RETH_LEN + ROCE_IMM_LEN),
	[ROCE_READ_REQUEST] = WIRE("READ request", RF_READ | RF_FIRST | RF_LAST, ROCE_RETH_LEN),
	[ROCE_READ_RESP_FIRST] =
		WIRE("READ response first", RF_RESP | RF_READ | RF_FIRST | RF_AETH | RF_PAYLOAD,
		     ROCE_AETH_LEN),
	[ROCE_READ_RESP_MIDDLE] = WIRE("READ response middle", RF_RESP | RF_READ | RF_PAYLOAD, 0),
	[ROCE_READ_RESP_LAST] =
		WIRE("READ response last", RF_RESP | RF_READ | RF_LAST | RF_AETH | RF_PAYLOAD,
		     ROCE_AETH_LEN),
	[ROCE_READ_RESP_ONLY] =
		WIRE("READ response only",
		     RF_RESP | RF_READ | RF_FIRST | RF_LAST | RF_AETH | RF_PAYLOAD, ROCE_AETH_LEN),
	[ROCE_ACK] = WIRE("ACK", RF_RESP | RF_AETH, ROCE_AETH_LEN),
	[ROCE_ATOMIC_ACK] = WIRE("atomic ACK", RF_RESP | RF_ATOMIC | RF_AETH,
				 ROCE_AETH_LEN + ROCE_ATOMIC_ACK_LEN),
	[ROCE_COMPARE_SWAP] =
		WIRE("compare and swap", RF_ATOMIC | RF_FIRST | RF_LAST, ROCE_ATOMIC_LEN),
	[ROCE_FETCH_ADD] = WIRE("fetch and add", RF_ATOMIC | RF_FIRST | RF_LAST, ROCE_ATOMIC_LEN),
	[ROCE_MASKED_COMPARE_SWAP] = WIRE("masked compare and swap", RF_ATOMIC | RF_FIRST | RF_LAST,
					  ROCE_MASKED_ATOMIC_LEN),
	[ROCE_MASKED_FETCH_ADD] = WIRE("masked fetch and add", RF_ATOMIC | RF_FIRST | RF_LAST,
				       ROCE_MASKED_ATOMIC_LEN),
	[ROCE_SEND_LAST_INV] = WIRE("SEND last with invalidate",
				    RF_SEND | RF_LAST | RF_INV | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_SEND_ONLY_INV] =
		WIRE("SEND only with invalidate",
		     RF_SEND | RF_FIRST | RF_LAST | RF_INV | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_BASE_UC + ROCE_SEND_FIRST] = UC_("SEND first", RF_SEND | RF_FIRST | RF_PAYLOAD, 0),
	[ROCE_BASE_UC + ROCE_SEND_MIDDLE] = UC_("SEND middle", RF_SEND | RF_PAYLOAD, 0),
	[ROCE_BASE_UC + ROCE_SEND_LAST] = UC_("SEND last", RF_SEND | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_BASE_UC + ROCE_SEND_LAST_IMM] = UC_(
		"SEND last with immediate", RF_SEND | RF_LAST | RF_IMM | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_BASE_UC + ROCE_SEND_ONLY] =
		UC_("SEND only", RF_SEND | RF_FIRST | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_BASE_UC + ROCE_SEND_ONLY_IMM] =
		UC_("SEND only with immediate", RF_SEND | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD,
		    ROCE_IMM_LEN),
	[ROCE_BASE_UC + ROCE_WRITE_FIRST] =
		UC_("WRITE first", RF_WRITE | RF_FIRST | RF_PAYLOAD, ROCE_RETH_LEN),
	[ROCE_BASE_UC + ROCE_WRITE_MIDDLE] = UC_("WRITE middle", RF_WRITE | RF_PAYLOAD, 0),
	[ROCE_BASE_UC + ROCE_WRITE_LAST] = UC_("WRITE last", RF_WRITE | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_BASE_UC + ROCE_WRITE_LAST_IMM] =
		UC_("WRITE last with immediate", RF_WRITE | RF_LAST | RF_IMM | RF_PAYLOAD,
		    ROCE_IMM_LEN),
	[ROCE_BASE_UC + ROCE_WRITE_ONLY] =
		UC_("WRITE only", RF_WRITE | RF_FIRST | RF_LAST | RF_PAYLOAD, ROCE_RETH_LEN),
	[ROCE_BASE_UC + ROCE_WRITE_ONLY_IMM] = UC_(
		"WRITE only with immediate", RF_WRITE | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD,
		ROCE_RETH_LEN + ROCE_IMM_LEN),
	[ROCE_BASE_UD + ROCE_SEND_ONLY] =
		UD_("SEND only", RF_SEND | RF_FIRST | RF_LAST | RF_PAYLOAD, ROCE_DETH_LEN),
	[ROCE_BASE_UD + ROCE_SEND_ONLY_IMM] =
		UD_("SEND only with immediate", RF_SEND | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD,
		    ROCE_DETH_LEN + ROCE_IMM_LEN),

	[ROCE_BASE_XRC + ROCE_SEND_FIRST] =
		XRC_REQ("SEND first", RF_SEND | RF_FIRST | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_SEND_MIDDLE] = XRC_REQ("SEND middle", RF_SEND | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_SEND_LAST] = XRC_REQ("SEND last", RF_SEND | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_SEND_LAST_IMM] = XRC_REQ(
		"SEND last with immediate", RF_SEND | RF_LAST | RF_IMM | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_BASE_XRC + ROCE_SEND_ONLY] =
		XRC_REQ("SEND only", RF_SEND | RF_FIRST | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_SEND_ONLY_IMM] =
		XRC_REQ("SEND only with immediate",
			RF_SEND | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_BASE_XRC + ROCE_WRITE_FIRST] =
		XRC_REQ("WRITE first", RF_WRITE | RF_FIRST | RF_PAYLOAD, ROCE_RETH_LEN),
	[ROCE_BASE_XRC + ROCE_WRITE_MIDDLE] = XRC_REQ("WRITE middle", RF_WRITE | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_WRITE_LAST] =
		XRC_REQ("WRITE last", RF_WRITE | RF_LAST | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_WRITE_LAST_IMM] =
		XRC_REQ("WRITE last with immediate", RF_WRITE | RF_LAST | RF_IMM | RF_PAYLOAD,
			ROCE_IMM_LEN),
	[ROCE_BASE_XRC + ROCE_WRITE_ONLY] =
		XRC_REQ("WRITE only", RF_WRITE | RF_FIRST | RF_LAST | RF_PAYLOAD, ROCE_RETH_LEN),
	[ROCE_BASE_XRC + ROCE_WRITE_ONLY_IMM] = XRC_REQ(
		"WRITE only with immediate", RF_WRITE | RF_FIRST | RF_LAST | RF_IMM | RF_PAYLOAD,
		ROCE_RETH_LEN + ROCE_IMM_LEN),
	[ROCE_BASE_XRC + ROCE_READ_REQUEST] =
		XRC_REQ("READ request", RF_READ | RF_FIRST | RF_LAST, ROCE_RETH_LEN),
	[ROCE_BASE_XRC + ROCE_READ_RESP_FIRST] = XRC_RESP(
		"READ response first", RF_READ | RF_FIRST | RF_AETH | RF_PAYLOAD, ROCE_AETH_LEN),
	[ROCE_BASE_XRC + ROCE_READ_RESP_MIDDLE] =
		XRC_RESP("READ response middle", RF_READ | RF_PAYLOAD, 0),
	[ROCE_BASE_XRC + ROCE_READ_RESP_LAST] = XRC_RESP(
		"READ response last", RF_READ | RF_LAST | RF_AETH | RF_PAYLOAD, ROCE_AETH_LEN),
	[ROCE_BASE_XRC + ROCE_READ_RESP_ONLY] =
		XRC_RESP("READ response only", RF_READ | RF_FIRST | RF_LAST | RF_AETH | RF_PAYLOAD,
			 ROCE_AETH_LEN),
	[ROCE_BASE_XRC + ROCE_ACK] = XRC_RESP("ACK", RF_AETH, ROCE_AETH_LEN),
	[ROCE_BASE_XRC + ROCE_ATOMIC_ACK] =
		XRC_RESP("atomic ACK", RF_ATOMIC | RF_AETH, ROCE_AETH_LEN + ROCE_ATOMIC_ACK_LEN),
	[ROCE_BASE_XRC + ROCE_COMPARE_SWAP] =
		XRC_REQ("compare and swap", RF_ATOMIC | RF_FIRST | RF_LAST, ROCE_ATOMIC_LEN),
	[ROCE_BASE_XRC + ROCE_FETCH_ADD] =
		XRC_REQ("fetch and add", RF_ATOMIC | RF_FIRST | RF_LAST, ROCE_ATOMIC_LEN),
	[ROCE_BASE_XRC + ROCE_SEND_LAST_INV] = XRC_REQ(
		"SEND last with invalidate", RF_SEND | RF_LAST | RF_INV | RF_PAYLOAD, ROCE_IMM_LEN),
	[ROCE_BASE_XRC + ROCE_SEND_ONLY_INV] =
		XRC_REQ("SEND only with invalidate",
			RF_SEND | RF_FIRST | RF_LAST | RF_INV | RF_PAYLOAD, ROCE_IMM_LEN),
};
