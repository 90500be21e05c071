/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world for tests: NICs, a link and a clock, all driven by one seed on the caller's thread.
 *
 *     struct sim *s = sim_create(&(struct sim_config){ .nics = 2, .serialise = true, .seed = 7 });
 *     nm_nic_command(sim_nic(s, 0), ...);
 *     ... post WQEs, ring sim_uar(s, 0, page) ...
 *     cr_assert(sim_run_until(s, cqe_is_there, cq, 10 * SIM_MS));
 *     sim_destroy(s);
 *
 * Time is virtual: it moves by a microsecond for a round in which something happened and jumps to
 * the next timer when nothing did, so a test of a 500 ms timeout takes no time. The same seed gives
 * the same run. Nothing here is thread-safe.
 */
#ifndef GDAKIT_SIM_H
#define GDAKIT_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

#define SIM_US UINT64_C(1000)
#define SIM_MS UINT64_C(1000000)
#define SIM_S  UINT64_C(1000000000)

enum { SIM_MAX_NICS = 16 };

struct sim;

/* All zero but `nics` is a good configuration: by reference, nothing lost. */
struct sim_config {
	uint16_t device_id; /* of all NICs; 0: a ConnectX-7 */
	uint32_t nics;	    /* 1..SIM_MAX_NICS */
	uint32_t seed;
	bool serialise;	    /* packets become bytes with ICRC and back, one at a time */
	bool infiniband;    /* link layer of the ports; default Ethernet */
	uint8_t port_mtu;   /* 1..5; 0: 5 (4096) */
	uint32_t uar_pages; /* of each NIC; 0: 64 */
	/* With `serialise` only. Chances in 1/1000 per packet. */
	uint32_t drop_permille;
	uint32_t dup_permille;
	bool shuffle; /* flows overtake each other; order within a flow (route and destination QP)
			 stays */
	uint32_t reorder_permille; /* a packet overtakes others of its own flow: not what a good
				      network does */
	uint32_t queue_packets;	   /* before link_send answers -EAGAIN; 0: 256 */
	/* Called when a NIC writes an EQE. May be NULL. */
	void (*event)(void *ctx, uint32_t nic_index, uint32_t eqn, uint32_t intr,
		      const uint8_t *eqe);
	void *event_ctx;
};

/* NULL with errno EINVAL or ENOMEM, the reason on stderr. */
struct sim *sim_create(const struct sim_config *config);
void sim_destroy(struct sim *s);

struct nm_nic *sim_nic(struct sim *s, uint32_t index);
/* What the link knows the NIC by. gid: 16 bytes; each NIC has its own, and its own LID and QPN bits
 * 23:16. */
void sim_gid(struct sim *s, uint32_t index, uint8_t gid[16]);
void sim_mac(struct sim *s, uint32_t index, uint8_t mac[6]);
uint16_t sim_lid(struct sim *s, uint32_t index);
/* First byte of a UAR page (4096 bytes). */
void *sim_uar(struct sim *s, uint32_t index, uint32_t page);

uint64_t sim_now_ns(struct sim *s);
/* Rounds until cond(arg) holds (tested before the first round and after each); false:
 * max_virtual_ns passed. */
bool sim_run_until(struct sim *s, bool (*cond)(void *arg), void *arg, uint64_t max_virtual_ns);
/* Rounds for so long, whatever happens. */
void sim_run_ns(struct sim *s, uint64_t virtual_ns);
/* Rounds until no NIC and no packet moves and no timer is due within quiet_ns; false:
 * max_virtual_ns passed. */
bool sim_run_idle(struct sim *s, uint64_t quiet_ns, uint64_t max_virtual_ns);

/* Cuts a NIC off (its packets and those for it vanish), or joins it again. */
void sim_unplug(struct sim *s, uint32_t index, bool unplugged);
/* The link says of all that is sent from now on that no receiver has taken it (nm_ops.link_taken).
 * With sim_unplug() that is a receiver whose processor is taken away. */
void sim_hold(struct sim *s, bool held);
/* Packets that the link has carried, and lost on purpose. */
uint64_t sim_link_packets(const struct sim *s);
uint64_t sim_link_dropped(const struct sim *s);

#endif
