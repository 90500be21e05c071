/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of prm/layouts.h as data: to print a mailbox, to find reserved bits, to compare and to
 * fuzz. */
#ifndef GDAKIT_PRM_PRINT_H
#define GDAKIT_PRM_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct prm_field {
	const char *name;
	char kind; /* 'F' bits of a dword, 'Q' 64 bits, 'B' raw bytes or a nested structure */
	uint8_t hi, lo;
	uint32_t off;
	uint32_t bytes; /* 4, 8, or the length of 'B' (0: runs to the end of the buffer) */
};

struct prm_layout {
	const char *name;
	uint32_t size; /* bytes */
	uint32_t nfields;
	const struct prm_field *fields; /* in the order of layouts.h */
};

/* All structures, static. Thread-safe, as is everything here. */
const struct prm_layout *prm_layouts(size_t *count);
/* NULL: there is none of this name. */
const struct prm_layout *prm_layout_find(const char *name);

/*
 * One line: `name{field=0x1, ...}`, fields that are 0 left out, raw bytes as hex (all zero: left
 * out). Reads at most `len` bytes: fields beyond them are not printed.
 */
void prm_print(const struct prm_layout *layout, const void *buf, size_t len, FILE *to);

/* `RDMA_WRITE` for PRM_WQE_RDMA_WRITE and so on, as libmlx5 and the driver have it; NULL: no opcode
 * of a send WQE. */
const char *prm_wqe_name(uint8_t opcode);
/* `RC` for PRM_QP_ST_RC and so on; "?": no service type. */
const char *prm_qp_st_name(uint8_t st);

/* Bits that are set in the first min(len, size) bytes and that no field names. */
uint32_t prm_reserved_bits(const struct prm_layout *layout, const void *buf, size_t len);

#endif
