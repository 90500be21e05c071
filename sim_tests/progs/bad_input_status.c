// SPDX-License-Identifier: BSD-3-Clause
/*
 * That nothing is left out: each enumerator of ibv_wc_status and ibv_event_type is met by a
 * scenario, or is named here with the reason why a ConnectX with these services does not give it.
 */
#include "sim_tests/progs/bad_input.h"

#include <stdio.h>
#include <string.h>

struct absent {
	uint32_t value;
	const char *why;
};

#define NO_RD "reliable datagrams (EE contexts, RD domains) do not exist on mlx5"
#define NO_TM "tag matching is not modelled, nor offered by the capabilities"
#define PORT_ "the simulated port never changes: it has no cable, subnet manager or address table"

static const struct absent absent_statuses[] = {
	{IBV_WC_LOC_EEC_OP_ERR, NO_RD},
	{IBV_WC_LOC_RDD_VIOL_ERR, NO_RD},
	{IBV_WC_REM_INV_RD_REQ_ERR, NO_RD},
	{IBV_WC_INV_EECN_ERR, NO_RD},
	{IBV_WC_INV_EEC_STATE_ERR, NO_RD},
	{IBV_WC_LOC_ACCESS_ERR,
	 "no public report has a ConnectX give it; a failed access at the responder is told to the "
	 "requester and by an event"},
	{IBV_WC_REM_ABORT_ERR,
	 "mlx5 gives it for page faults of a shared queue (ODP), which is not modelled"},
	{IBV_WC_FATAL_ERR, "libmlx5 has no syndrome for it"},
	{IBV_WC_RESP_TIMEOUT_ERR, "libmlx5 has no syndrome for it: a peer that is silent is "
				  "IBV_WC_RETRY_EXC_ERR"},
	{IBV_WC_GENERAL_ERR, "libmlx5's word for a syndrome that it does not know"},
	{IBV_WC_TM_ERR, NO_TM},
	{IBV_WC_TM_RNDV_INCOMPLETE, NO_TM},
};
static const struct absent absent_events[] = {
	{IBV_EVENT_SQ_DRAINED, "mlx5_ib has no command that leads to SQD"},
	{IBV_EVENT_PATH_MIG, "alternate paths are not modelled"},
	{IBV_EVENT_PATH_MIG_ERR, "alternate paths are not modelled"},
	{IBV_EVENT_DEVICE_FATAL, "the simulated device does not die without its process"},
	{IBV_EVENT_PORT_ACTIVE, PORT_},
	{IBV_EVENT_PORT_ERR, PORT_},
	{IBV_EVENT_LID_CHANGE, PORT_},
	{IBV_EVENT_PKEY_CHANGE, PORT_},
	{IBV_EVENT_SM_CHANGE, PORT_},
	{IBV_EVENT_CLIENT_REREGISTER, PORT_},
	{IBV_EVENT_GID_CHANGE, PORT_},
	{IBV_EVENT_WQ_FATAL,
	 "work queues of their own (ibv_create_wq) are Ethernet's, and refused"},
};

/*
 * Vendor syndromes that public reports of a ConnectX show. A status that is not here has none; 0x51
 * to 0x53 differ by what was wrong with the key.
 */
static const struct {
	enum ibv_wc_status status;
	uint8_t codes[3];
	const char *text;
} vendors[] = {
	{IBV_WC_LOC_PROT_ERR, {0x51, 0x52, 0x53}, "0x51, 0x52 or 0x53 (openucx/ucx, warp17)"},
	{IBV_WC_LOC_QP_OP_ERR, {0x68, 0xd6}, "0x68, or 0xd6 of a receive (openucx/ucx)"},
	{IBV_WC_WR_FLUSH_ERR, {0xf9}, "0xf9 (nvidia/nccl, linux-nvme/nvme-cli)"},
	{IBV_WC_REM_INV_REQ_ERR, {0x8a}, "0x8a (charmplusplus/charm, openucx/ucx)"},
	{IBV_WC_REM_ACCESS_ERR, {0x88}, "0x88 (openucx/ucx, ofiwg/libfabric)"},
	{IBV_WC_REM_OP_ERR, {0x89}, "0x89 (openucx/ucx)"},
	{IBV_WC_RETRY_EXC_ERR, {0x81, 0x83}, "0x81 or 0x83 (openucx/ucx, nvidia/nccl)"},
};

bool bi_vendor_fits(enum ibv_wc_status status, uint32_t vendor, const char **known)
{
	*known = "any";
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		if (vendors[i].status != status)
			continue;
		*known = vendors[i].text;
		for (size_t n = 0; n < sizeof(vendors[i].codes); n++)
			if (vendors[i].codes[n] && vendors[i].codes[n] == vendor)
				return true;
		return false;
	}
	return true;
}

/* What the tables of scenarios say they meet; run_case() holds each to it. */
static void provoked(uint32_t *statuses, uint32_t *events)
{
	*statuses = *events = 0;
	for (size_t s = 0; s < bi_subject_count; s++) {
		for (size_t i = 0; i < bi_subjects[s]->count; i++) {
			const struct bi_case *c = &bi_subjects[s]->cases[i];

			*statuses |= c->statuses | 1u << c->want | 1u << c->recv_want;
			*events |= c->events;
		}
	}
}

static const char *why_absent(const struct absent *table, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].value == value)
			return table[i].why;
	return NULL;
}

/* In exactly one of the two? */
static int judge(const char *kind, const char *name, bool met, const char *why)
{
	if (met && why)
		return bi_fail("%s '%s' is met by a scenario, but named as absent: %s", kind, name,
			       why);
	return met || why ? 0 : bi_fail("%s '%s': no scenario, and no reason", kind, name);
}

/* Both enumerations end where the library has no name any more. */
static int nothing_is_left_out(struct bi_rig *rig)
{
	uint32_t statuses, events;
	int rc = 0;

	(void)rig;
	provoked(&statuses, &events);
	for (uint32_t i = 0; i < 32; i++) {
		const char *name = ibv_wc_status_str((enum ibv_wc_status)i);

		if (i > IBV_WC_TM_RNDV_INCOMPLETE && !strcmp(name, "unknown"))
			break;
		if (judge("status", name, statuses >> i & 1,
			  why_absent(absent_statuses,
				     sizeof(absent_statuses) / sizeof(absent_statuses[0]), i)))
			rc = -1;
	}
	for (uint32_t i = 0; i < 32; i++) {
		const char *name = ibv_event_type_str((enum ibv_event_type)i);

		if (i > IBV_EVENT_WQ_FATAL && !strcmp(name, "unknown"))
			break;
		if (judge("event", name, events >> i & 1,
			  why_absent(absent_events,
				     sizeof(absent_events) / sizeof(absent_events[0]), i)))
			rc = -1;
	}
	return rc;
}

static const struct bi_case cases[] = {
	BI_RUN(nothing_is_left_out, NULL, 0, 0),
};
const struct bi_subject bi_status = BI_SUBJECT(cases);
