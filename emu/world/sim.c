// SPDX-License-Identifier: BSD-3-Clause
#include "emu/world/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/link/link.h"
#include "emu/nicmodel/xorshift.h"
#include "emu/space/space.h"

enum {
	SIM_PAGE = 4096,
	SIM_UAR_PAGES_DEFAULT = 64,
	SIM_MEMIC_PAGES = 16,	/* device memory of each NIC */
	SIM_DEVICE_ID = 0x1021, /* ConnectX-7 */
	SIM_DELIVER_MAX = 8,	/* packets of one round */
};

/* How time moves: per round with work, and per idle round from the first to the longest step. */
#define SIM_STEP_NS	     (1 * SIM_US)
#define SIM_IDLE_STEP_MAX_NS (100 * SIM_US)

struct sim_nic {
	struct sim *sim;
	uint32_t index;
	struct nm_nic *nic;
	struct link_port port;
	uint8_t mac[6];
	void *uar;
	void *memic;
	char name[16];
};

struct sim {
	struct sim_config config;
	struct sim_nic nics[SIM_MAX_NICS];
	struct link *link;
	uint64_t now_ns;
	uint64_t idle_step_ns;
	uint64_t next_ns; /* earliest timer of the last round */
	uint32_t rng;
	bool untaken; /* nobody takes what is sent from the link, as it says when it is asked */
};

static uint64_t nic_now_ns(void *ctx)
{
	return ((struct sim_nic *)ctx)->sim->now_ns;
}

static int nic_link_send(void *ctx, struct nm_packet *pkt)
{
	struct sim_nic *n = ctx;

	pkt->mark = 1;
	return n->sim->link->ops->send(n->sim->link, &n->port, pkt);
}

static bool nic_link_taken(void *ctx, const struct nm_route *route, uint32_t dqpn, uint64_t mark)
{
	(void)route;
	(void)dqpn;
	(void)mark;
	return !((struct sim_nic *)ctx)->sim->untaken;
}

static void nic_event(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	struct sim_nic *n = ctx;

	if (n->sim->config.event)
		n->sim->config.event(n->sim->config.event_ctx, n->index, eqn, intr, eqe);
}

static void port_rx(void *ctx, struct nm_packet *pkt)
{
	nm_nic_receive(((struct sim_nic *)ctx)->nic, pkt);
}

static void port_diag(void *ctx, const char *why)
{
	fprintf(stderr, "sim: %s: %s\n", ((struct sim_nic *)ctx)->name, why);
}

static bool add_nic(struct sim *s, uint32_t index)
{
	struct sim_nic *n = &s->nics[index];
	const char *why = NULL;
	uint32_t pages = s->config.uar_pages ? s->config.uar_pages : SIM_UAR_PAGES_DEFAULT;
	struct nm_config config = {
		.name = n->name,
		.device_id = s->config.device_id ? s->config.device_id : SIM_DEVICE_ID,
		.node_guid = UINT64_C(0x0200000000000100) + index,
		.mac = {2, 0, 0, 0, 0, (uint8_t)(index + 1)},
		.link_is_ethernet = !s->config.infiniband,
		.port_mtu = s->config.port_mtu ? s->config.port_mtu : 5,
		.uar_pages = pages,
	};
	const struct nm_ops ops = {
		.ctx = n,
		.now_ns = nic_now_ns,
		.link_send = nic_link_send,
		.link_taken = nic_link_taken,
		.event = nic_event,
	};

	n->sim = s;
	n->index = index;
	snprintf(n->name, sizeof(n->name), "nic%u", index);
	n->port = (struct link_port){.rx = port_rx, .diag = port_diag, .ctx = n};
	if (s->link->ops->attach(s->link, &n->port, &why))
		goto failed;
	n->uar = aligned_alloc(SIM_PAGE, (size_t)pages * SIM_PAGE);
	if (!n->uar) {
		why = "no memory for UAR pages";
		goto failed;
	}
	memset(n->uar, 0, (size_t)pages * SIM_PAGE);
	n->memic = aligned_alloc(SIM_PAGE, (size_t)SIM_MEMIC_PAGES * SIM_PAGE);
	if (!n->memic) {
		why = "no device memory";
		goto failed;
	}
	memset(n->memic, 0, (size_t)SIM_MEMIC_PAGES * SIM_PAGE);
	config.memic_base = n->memic;
	config.memic_pages = SIM_MEMIC_PAGES;
	memcpy(n->mac, config.mac, sizeof(n->mac));
	config.uar_base = n->uar;
	config.lid = n->port.id.lid;
	config.qpn_prefix = (uint32_t)n->port.id.slot << 16;
	n->nic = nm_nic_create(&config, &ops, &why);
	if (n->nic)
		return true;
failed:
	fprintf(stderr, "sim: %s: %s\n", n->name, why ? why : strerror(errno));
	return false;
}

struct sim *sim_create(const struct sim_config *config)
{
	struct link_local_config link = {
		.serialise = config->serialise,
		.seed = config->seed,
		.drop_permille = config->drop_permille,
		.dup_permille = config->dup_permille,
		.reorder_permille = config->reorder_permille,
		.shuffle = config->shuffle,
		.queue_packets = config->queue_packets,
		.guard = space_guarded,
	};
	struct sim *s;

	if (config->nics < 1 || config->nics > SIM_MAX_NICS) {
		fprintf(stderr, "sim: %u NICs; expected 1 to %d\n", config->nics, SIM_MAX_NICS);
		errno = EINVAL;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->config = *config;
	s->rng = xorshift32_seed(config->seed, 2246822519u);
	s->now_ns = SIM_MS; /* not 0, so that "never" and "at the start" differ */
	s->idle_step_ns = SIM_STEP_NS;
	s->next_ns = UINT64_MAX;
	s->link = link_local_create(&link);
	if (!s->link) {
		free(s);
		return NULL;
	}
	for (uint32_t i = 0; i < config->nics; i++) {
		if (!add_nic(s, i)) {
			sim_destroy(s);
			return NULL;
		}
	}
	return s;
}

void sim_destroy(struct sim *s)
{
	for (uint32_t i = 0; i < s->config.nics; i++) {
		struct sim_nic *n = &s->nics[i];

		if (n->port.link)
			s->link->ops->detach(s->link, &n->port);
		if (n->nic)
			nm_nic_destroy(n->nic);
		free(n->uar);
		free(n->memic);
	}
	s->link->ops->destroy(s->link);
	free(s);
}

static struct sim_nic *get(struct sim *s, uint32_t index)
{
	assert(index < s->config.nics);
	return &s->nics[index];
}

struct nm_nic *sim_nic(struct sim *s, uint32_t index)
{
	return get(s, index)->nic;
}

void sim_gid(struct sim *s, uint32_t index, uint8_t gid[16])
{
	memcpy(gid, get(s, index)->port.id.gid, 16);
}

void sim_mac(struct sim *s, uint32_t index, uint8_t mac[6])
{
	memcpy(mac, get(s, index)->mac, 6);
}

uint16_t sim_lid(struct sim *s, uint32_t index)
{
	return get(s, index)->port.id.lid;
}

void *sim_uar(struct sim *s, uint32_t index, uint32_t page)
{
	uint32_t pages = s->config.uar_pages ? s->config.uar_pages : SIM_UAR_PAGES_DEFAULT;

	assert(page < pages);
	return (uint8_t *)get(s, index)->uar + (size_t)page * SIM_PAGE;
}

uint64_t sim_now_ns(struct sim *s)
{
	return s->now_ns;
}

/* Every NIC once, in a rotated order, then some packets. True if anything moved. */
static bool one_round(struct sim *s)
{
	uint32_t first = xorshift32(&s->rng) % s->config.nics;
	bool worked = false;

	s->next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < s->config.nics; i++) {
		struct sim_nic *n = &s->nics[(first + i) % s->config.nics];
		struct nm_progress p = nm_nic_progress(n->nic, NM_SLICE_NS);

		worked |= p.worked;
		if (p.next_ns < s->next_ns)
			s->next_ns = p.next_ns;
	}
	s->link->ops->flush(s->link);
	if (s->link->ops->poll(s->link, 1 + xorshift32(&s->rng) % SIM_DELIVER_MAX))
		worked = true;
	return worked;
}

/*
 * After work a microsecond has passed. Without, time goes to the next timer; but a doorbell is only
 * memory, and what a cond() function writes must be found, so no step is longer than a doorbell may
 * wait.
 */
static void advance(struct sim *s, bool worked, uint64_t limit_ns)
{
	uint64_t to;

	if (worked) {
		s->idle_step_ns = SIM_STEP_NS;
		to = s->now_ns + SIM_STEP_NS;
	} else {
		to = s->now_ns + s->idle_step_ns;
		if (s->next_ns > s->now_ns && s->next_ns < to)
			to = s->next_ns;
		if (s->idle_step_ns < SIM_IDLE_STEP_MAX_NS)
			s->idle_step_ns *= 2;
	}
	s->now_ns = to < limit_ns ? to : limit_ns;
}

bool sim_run_until(struct sim *s, bool (*cond)(void *arg), void *arg, uint64_t max_virtual_ns)
{
	uint64_t end = s->now_ns + max_virtual_ns;

	s->idle_step_ns = SIM_STEP_NS;
	for (;;) {
		bool worked;

		if (cond(arg))
			return true;
		if (s->now_ns >= end)
			return false;
		worked = one_round(s);
		advance(s, worked, end);
	}
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void sim_run_ns(struct sim *s, uint64_t virtual_ns)
{
	sim_run_until(s, never, NULL, virtual_ns);
}

bool sim_run_idle(struct sim *s, uint64_t quiet_ns, uint64_t max_virtual_ns)
{
	uint64_t end = s->now_ns + max_virtual_ns, last_work_ns = s->now_ns;

	s->idle_step_ns = SIM_STEP_NS;
	while (s->now_ns < end) {
		bool worked = one_round(s);

		if (worked)
			last_work_ns = s->now_ns;
		else if (s->now_ns - last_work_ns >= quiet_ns &&
			 (s->next_ns == UINT64_MAX || s->next_ns > s->now_ns + quiet_ns))
			return true;
		advance(s, worked, end);
	}
	return false;
}

void sim_unplug(struct sim *s, uint32_t index, bool unplugged)
{
	get(s, index)->port.unplugged = unplugged;
}

void sim_hold(struct sim *s, bool held)
{
	s->untaken = held;
}

uint64_t sim_link_packets(const struct sim *s)
{
	return s->link->counters.sent;
}

uint64_t sim_link_dropped(const struct sim *s)
{
	return s->link->counters.dropped;
}
