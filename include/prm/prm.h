/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accessors for the big-endian structures of the Mellanox PRM.
 *
 * A structure is described once, in layouts.h, as a list of fields; this file turns the list into
 * constants, and the constants into get and set. A field of up to 32 bits lies inside one
 * big-endian dword and is named by the dword's byte offset and its highest and lowest bit (bit 0 is
 * the least significant), which is how the PRM prints its tables:
 *
 *     F(qpc, state, 0x00, 31, 28)     bits 31:28 of the dword at byte 0x00
 *     Q(qpc, dbr_addr, 0xa0)          64 bits at byte 0xa0
 *     B(ads, rgid_rip, 0x10, 16)      16 raw bytes (or a nested structure) at byte 0x10
 *
 *     PRM_SET(qpc, buf, state, 3); PRM_GET(qpc, buf, state); PRM_GET64(qpc, buf, dbr_addr);
 *     PRM_PTR(ads, buf, rgid_rip)
 *
 * Buffers need no alignment. Nothing here is thread-safe beyond what memory itself is.
 */
#ifndef GDAKIT_PRM_H
#define GDAKIT_PRM_H

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "prm/layouts.h"
#include "prm/enums.h"

#define PRM_F_CONST_(st, f, off, hi, lo)                                                           \
	PRM_##st##_##f##_OFF = (off), PRM_##st##_##f##_HI = (hi), PRM_##st##_##f##_LO = (lo),
#define PRM_Q_CONST_(st, f, off) PRM_##st##_##f##_OFF = (off),
#define PRM_B_CONST_(st, f, off, bytes)                                                            \
	PRM_##st##_##f##_OFF = (off), PRM_##st##_##f##_BYTES = (bytes),
#define PRM_STRUCT_CONST_(st, size)                                                                \
	enum {                                                                                     \
		PRM_##st##_SIZE = (size),                                                          \
		PRM_FIELDS_##st(PRM_F_CONST_, PRM_Q_CONST_, PRM_B_CONST_)                          \
	};
PRM_STRUCTS(PRM_STRUCT_CONST_)

static inline uint32_t prm_load32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline void prm_store32(void *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint64_t prm_load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void prm_store64(void *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t prm_mask(unsigned int hi, unsigned int lo)
{
	return (uint32_t)((UINT64_C(1) << (hi - lo + 1)) - 1);
}

static inline uint32_t prm_get(const void *buf, unsigned int off, unsigned int hi, unsigned int lo)
{
	return (prm_load32((const uint8_t *)buf + off) >> lo) & prm_mask(hi, lo);
}

/* A value wider than its field is a bug of the caller: it would change the neighbour. */
static inline void prm_set(void *buf, unsigned int off, unsigned int hi, unsigned int lo,
			   uint32_t v)
{
	uint32_t mask = prm_mask(hi, lo);
	uint8_t *p = (uint8_t *)buf + off;

	assert((v & ~mask) == 0);
	prm_store32(p, (prm_load32(p) & ~(mask << lo)) | ((v & mask) << lo));
}

#define PRM_SIZE(st) ((size_t)PRM_##st##_SIZE)
#define PRM_GET(st, buf, f)                                                                        \
	prm_get((buf), PRM_##st##_##f##_OFF, PRM_##st##_##f##_HI, PRM_##st##_##f##_LO)
#define PRM_SET(st, buf, f, v)                                                                     \
	prm_set((buf), PRM_##st##_##f##_OFF, PRM_##st##_##f##_HI, PRM_##st##_##f##_LO, (v))
#define PRM_GET64(st, buf, f)	 prm_load64((const uint8_t *)(buf) + PRM_##st##_##f##_OFF)
#define PRM_SET64(st, buf, f, v) prm_store64((uint8_t *)(buf) + PRM_##st##_##f##_OFF, (v))
#define PRM_PTR(st, buf, f)	 ((uint8_t *)(buf) + PRM_##st##_##f##_OFF)
#define PRM_CPTR(st, buf, f)	 ((const uint8_t *)(buf) + PRM_##st##_##f##_OFF)

#endif
