/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/world/sim.h"
#include "sim_tests/world_fake_nic.h"

static bool has_received(void *arg)
{
	return atomic_load(&((struct nm_nic *)arg)->received) >= 100;
}

static void join(struct sim *s, uint32_t from, uint32_t to)
{
	struct nm_nic *nic = sim_nic(s, from);

	sim_gid(s, to, nic->peer.dgid);
	nic->peer_qpn = sim_nic(s, to)->config.qpn_prefix;
}

static void ring(struct sim *s, uint32_t index, uint64_t value)
{
	memcpy(sim_uar(s, index, 0), &value, sizeof(value));
}

static uint64_t play(const struct sim_config *config)
{
	struct sim *s = sim_create(config);
	uint64_t end;

	cr_assert_not_null(s);
	join(s, 0, 1);
	join(s, 1, 0);
	ring(s, 0, FAKE_DOORBELL_SEND);
	cr_assert(sim_run_until(s, has_received, sim_nic(s, 0), SIM_S));
	end = sim_now_ns(s);
	sim_destroy(s);
	return end;
}

Test(sim, nics_exchange_packets_over_both_kinds_of_link)
{
	play(&(struct sim_config){.nics = 2});
	play(&(struct sim_config){.nics = 2, .serialise = true});
}

Test(sim, the_same_seed_is_the_same_run)
{
	struct sim_config config = {.nics = 3, .serialise = true, .shuffle = true, .seed = 5};
	uint64_t first = play(&config);

	cr_assert_eq(play(&config), first);
}

Test(sim, time_is_virtual_and_a_timer_is_met_exactly)
{
	struct sim *s = sim_create(&(struct sim_config){.nics = 1});
	uint64_t at = sim_now_ns(s) + 500 * SIM_MS + 123;

	sim_nic(s, 0)->timer_ns = at;
	sim_run_ns(s, 500 * SIM_MS);
	cr_assert_eq(atomic_load(&sim_nic(s, 0)->timers), 0);
	cr_assert_eq(sim_now_ns(s), at - 123);
	sim_run_ns(s, 123);
	sim_run_ns(s, 1);
	cr_assert_eq(atomic_load(&sim_nic(s, 0)->timers), 1);
	sim_destroy(s);
}

static bool never(void *arg)
{
	++*(int *)arg;
	return false;
}

Test(sim, a_wait_for_what_never_comes_ends_in_time)
{
	struct sim *s = sim_create(&(struct sim_config){.nics = 1});
	uint64_t start = sim_now_ns(s);
	int asked = 0;

	cr_assert(!sim_run_until(s, never, &asked, 3 * SIM_S));
	cr_assert_eq(sim_now_ns(s), start + 3 * SIM_S);
	cr_assert_gt(asked, 10000, "a doorbell waits at most 100 us, also in a long idle time");
	sim_destroy(s);
}

Test(sim, idle_is_reached_when_nothing_moves)
{
	struct sim *s = sim_create(&(struct sim_config){.nics = 2, .serialise = true});

	join(s, 0, 1);
	join(s, 1, 0);
	ring(s, 0, FAKE_DOORBELL_SEND);
	cr_assert(sim_run_idle(s, SIM_MS, SIM_S));
	cr_assert_eq(atomic_load(&sim_nic(s, 0)->received), 100);
	cr_assert_eq(sim_link_packets(s), 201);
	sim_destroy(s);
}

Test(sim, an_unplugged_nic_is_unreachable)
{
	struct sim *s = sim_create(&(struct sim_config){.nics = 2, .serialise = true});

	join(s, 0, 1);
	sim_unplug(s, 1, true);
	ring(s, 0, FAKE_DOORBELL_SEND);
	cr_assert(sim_run_idle(s, SIM_MS, SIM_S));
	cr_assert_eq(atomic_load(&sim_nic(s, 1)->received), 0);
	cr_assert_eq(sim_link_dropped(s), 1);
	sim_destroy(s);
}

Test(sim, identities_differ_and_wrong_numbers_are_refused)
{
	struct sim *s = sim_create(&(struct sim_config){.nics = 2});
	uint8_t x[16], y[16];

	sim_gid(s, 0, x);
	sim_gid(s, 1, y);
	cr_assert_arr_neq(x, y, 16);
	cr_assert_neq(sim_lid(s, 0), sim_lid(s, 1));
	sim_mac(s, 0, x);
	sim_mac(s, 1, y);
	cr_assert_arr_neq(x, y, 6);
	sim_destroy(s);
	cr_assert_null(sim_create(&(struct sim_config){.nics = 0}));
	cr_assert_null(sim_create(&(struct sim_config){.nics = SIM_MAX_NICS + 1}));
}
