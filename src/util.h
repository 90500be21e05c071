/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic that several files need. */
#ifndef GDAKIT_UTIL_H
#define GDAKIT_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { CACHE_LINE_SIZE = 64, DBR_SIZE = 8 }; /* bytes; a doorbell record is two big-endian words */

static inline bool is_pow2(uint64_t v)
{
	return v && (v & (v - 1)) == 0;
}

/* Smallest power of two >= v; v is 1..2^63. */
static inline uint64_t pow2_at_least(uint64_t v)
{
	return v <= 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(v - 1));
}

static inline unsigned int ilog2(uint64_t v)
{
	return 63 - (unsigned int)__builtin_clzll(v | 1);
}

static inline size_t align_up(size_t v, size_t alignment)
{
	return (v + alignment - 1) & ~(alignment - 1);
}

static inline size_t host_page_size(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size > 0 ? (size_t)size : 4096;
}

#endif
