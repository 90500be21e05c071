/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>

#include "emu/nicmodel/prm_print.h"
#include "prm/prm.h"

#define ROW_F_(st, f, off, hi, lo) {#f, 'F', hi, lo, off, 4},
#define ROW_Q_(st, f, off)	   {#f, 'Q', 0, 0, off, 8},
#define ROW_B_(st, f, off, bytes)  {#f, 'B', 0, 0, off, bytes},
#define FIELD_ROWS_(st, size)                                                                      \
	static const struct prm_field fields_##st[] = {PRM_FIELDS_##st(ROW_F_, ROW_Q_, ROW_B_)};
PRM_STRUCTS(FIELD_ROWS_)

#define LAYOUT_ROW_(st, size)                                                                      \
	{#st, size, sizeof(fields_##st) / sizeof(fields_##st[0]), fields_##st},
static const struct prm_layout layouts[] = {PRM_STRUCTS(LAYOUT_ROW_)};

const struct prm_layout *prm_layouts(size_t *count)
{
	*count = sizeof(layouts) / sizeof(layouts[0]);
	return layouts;
}

const struct prm_layout *prm_layout_find(const char *name)
{
	for (size_t n = 0; n < sizeof(layouts) / sizeof(layouts[0]); n++) {
		if (!strcmp(layouts[n].name, name))
			return &layouts[n];
	}
	return NULL;
}

static bool all_zero(const uint8_t *p, size_t len)
{
	for (size_t n = 0; n < len; n++) {
		if (p[n])
			return false;
	}
	return true;
}

/* False: zero, nothing printed. */
static bool print_field(const struct prm_field *f, const uint8_t *p, const char *before, FILE *to)
{
	uint64_t value;

	if (f->kind == 'B') {
		if (all_zero(p, f->bytes))
			return false;
		fprintf(to, "%s%s=0x", before, f->name);
		for (uint32_t n = 0; n < f->bytes; n++)
			fprintf(to, "%02x", p[n]);
		return true;
	}
	value = f->kind == 'Q' ? prm_load64(p) : prm_get(p, 0, f->hi, f->lo);
	if (value)
		fprintf(to, "%s%s=0x%llx", before, f->name, (unsigned long long)value);
	return value != 0;
}

void prm_print(const struct prm_layout *layout, const void *buf, size_t len, FILE *to)
{
	const char *before = "";

	fprintf(to, "%s{", layout->name);
	for (uint32_t n = 0; n < layout->nfields; n++) {
		const struct prm_field *f = &layout->fields[n];

		if (f->off + (size_t)f->bytes > len)
			continue;
		if (print_field(f, (const uint8_t *)buf + f->off, before, to))
			before = ", ";
	}
	fputs("}", to);
}

/* Mask of the named bits of the byte at `off`. */
static uint8_t named_bits(const struct prm_layout *layout, uint32_t off)
{
	uint32_t mask = 0;

	for (uint32_t n = 0; n < layout->nfields; n++) {
		const struct prm_field *f = &layout->fields[n];

		if (off < f->off || off - f->off >= f->bytes)
			continue;
		if (f->kind != 'F')
			return 0xff;
		mask |= prm_mask(f->hi, f->lo) << f->lo >> (8 * (3 - (off - f->off)));
	}
	return (uint8_t)mask;
}

uint32_t prm_reserved_bits(const struct prm_layout *layout, const void *buf, size_t len)
{
	uint32_t count = 0;

	for (uint32_t off = 0; off < layout->size && off < len; off++)
		count += (uint32_t)__builtin_popcount(((const uint8_t *)buf)[off] &
						      ~named_bits(layout, off));
	return count;
}

const char *prm_wqe_name(uint8_t opcode)
{
#define WQE_(name)                                                                                 \
	{                                                                                          \
		PRM_WQE_##name, #name                                                              \
	}
	static const struct {
		uint8_t opcode;
		const char *name;
	} names[] = {
		WQE_(NOP),
		WQE_(SEND_INVAL),
		WQE_(RDMA_WRITE),
		WQE_(RDMA_WRITE_IMM),
		WQE_(SEND),
		WQE_(SEND_IMM),
		WQE_(TSO),
		WQE_(WAIT),
		WQE_(RDMA_READ),
		WQE_(ATOMIC_CS),
		WQE_(ATOMIC_FA),
		WQE_(ATOMIC_MASKED_CS),
		WQE_(ATOMIC_MASKED_FA),
		WQE_(LOCAL_INVAL),
		WQE_(DUMP),
		WQE_(UMR),
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].opcode == opcode)
			return names[i].name;
	return NULL;
}

const char *prm_qp_st_name(uint8_t st)
{
	static const char *const names[] = {
		[PRM_QP_ST_RC] = "RC",	 [PRM_QP_ST_UC] = "UC",	  [PRM_QP_ST_UD] = "UD",
		[PRM_QP_ST_XRC] = "XRC", [PRM_QP_ST_DCI] = "DCI", [PRM_QP_ST_RAW] = "RAW",
	};

	return st < sizeof(names) / sizeof(names[0]) && names[st] ? names[st] : "?";
}
