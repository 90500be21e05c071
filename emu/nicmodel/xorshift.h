/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generator behind everything that is seeded: shuffled links, slow spaces, simulated worlds.
 * Its numbers are part of what a seed means, so all use this one.
 */
#ifndef GDAKIT_XORSHIFT_H
#define GDAKIT_XORSHIFT_H

#include <stdint.h>

/* State for a seed. Users with different multipliers (odd) do not walk in step from one seed. */
static inline uint32_t xorshift32_seed(uint32_t seed, uint32_t multiplier)
{
	uint32_t state = seed * multiplier + 1;

	return state ? state : 1; /* 0 is the one fixed point */
}

/* Marsaglia's xorshift32. The state must not be 0; not thread-safe. */
static inline uint32_t xorshift32(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

#endif
