/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capabilities of a ConnectX-8, which has all that is modelled, are pinned in
 * sim_tests/cap_pins.txt: a program that finds one gone skips what needs it, and says nothing. The
 * other way about, a capability that comes new must be entered there.
 */
#include <stdio.h>
#include <string.h>

#include "emu/nicmodel/prm_print.h"
#include "sim_tests/cmd_rig.h"

static const struct {
	const char *layout;
	enum prm_cap_type type;
} types[] = {
	{"cmd_hca_cap", PRM_CAP_GENERAL}, {"cmd_hca_cap_2", PRM_CAP_GENERAL_2},
	{"atomic_caps", PRM_CAP_ATOMIC},  {"roce_cap", PRM_CAP_ROCE},
	{"qos_cap", PRM_CAP_QOS},	  {"device_mem_cap", PRM_CAP_DEVICE_MEMORY},
};

enum { TYPES = sizeof(types) / sizeof(types[0]), PINS_MAX = 512, NAME = 64 };

struct pin {
	char layout[NAME], field[NAME];
	uint64_t value;
};

static uint32_t read_pins(struct pin *pins)
{
	FILE *f = fopen(GDAKIT_SOURCE_DIR "/sim_tests/cap_pins.txt", "re");
	char line[256];
	uint32_t n = 0;

	cr_assert_not_null(f, "sim_tests/cap_pins.txt");
	while (fgets(line, sizeof(line), f)) {
		unsigned long long value;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		cr_assert_lt(n, PINS_MAX);
		cr_assert_eq(sscanf(line, "%63s %63s %llx", pins[n].layout, pins[n].field, &value),
			     3, "not understood: %s", line);
		pins[n++].value = value;
	}
	fclose(f);
	return n;
}

static const uint8_t *query(struct rig *rig, enum prm_cap_type type)
{
	rig_begin(rig, PRM_CMD_QUERY_HCA_CAP, (uint16_t)(type << 1 | 1));
	cr_assert_eq(rig_command(rig, 0x10, 0x1010), PRM_STATUS_OK, "%s", rig->why);
	return PRM_CPTR(query_hca_cap_out, rig->out, capability);
}

static uint64_t value_of(const uint8_t *cap, const struct prm_field *f)
{
	return f->kind == 'Q' ? prm_load64(cap + f->off) : prm_get(cap, f->off, f->hi, f->lo);
}

static const struct pin *pin_of(const struct pin *pins, uint32_t n, const char *layout,
				const char *field)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(pins[i].layout, layout) && !strcmp(pins[i].field, field))
			return &pins[i];
	return NULL;
}

RIG_TEST(cap_pins, every_capability_has_its_pinned_value_and_no_other_is_told)
{
	static struct pin pins[PINS_MAX];
	uint32_t count = read_pins(pins), seen = 0;

	for (size_t t = 0; t < TYPES; t++) {
		const struct prm_layout *l = prm_layout_find(types[t].layout);
		const uint8_t *cap = query(rig, types[t].type);

		cr_assert_not_null(l, "%s", types[t].layout);
		for (uint32_t i = 0; i < l->nfields; i++) {
			const struct prm_field *f = &l->fields[i];
			const struct pin *pin = pin_of(pins, count, l->name, f->name);

			if (f->kind == 'B')
				continue;
			seen += pin != NULL;
			cr_expect_eq(value_of(cap, f), pin ? pin->value : 0,
				     "%s %s %#lx: pinned %#lx", l->name, f->name, value_of(cap, f),
				     pin ? pin->value : 0);
		}
	}
	cr_expect_eq(seen, count, "%u pins name no field", count - seen);
}
