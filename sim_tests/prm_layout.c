/* SPDX-License-Identifier: BSD-3-Clause */
/* The PRM description is consistent in itself, and its accessors touch only their field. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "emu/nicmodel/prm_print.h"
#include "prm/prm.h"

static uint32_t field_end(const struct prm_field *f)
{
	return f->off + f->bytes;
}

static bool overlap(const struct prm_field *a, const struct prm_field *b)
{
	if (a->kind == 'F' && b->kind == 'F')
		return a->off == b->off && a->lo <= b->hi && b->lo <= a->hi;
	return a->off < field_end(b) && b->off < field_end(a) && a->bytes && b->bytes;
}

Test(prm_layout, every_field_lies_inside_its_structure)
{
	size_t count;
	const struct prm_layout *all = prm_layouts(&count);

	for (size_t n = 0; n < count; n++) {
		for (uint32_t f = 0; f < all[n].nfields; f++) {
			const struct prm_field *field = &all[n].fields[f];

			cr_expect(field_end(field) <= all[n].size, "%s.%s ends at 0x%x",
				  all[n].name, field->name, field_end(field));
			cr_expect(field->kind == 'B' || field->off % 4 == 0, "%s.%s at 0x%x",
				  all[n].name, field->name, field->off);
			cr_expect(field->kind != 'F' || (field->lo <= field->hi && field->hi < 32));
		}
	}
}

Test(prm_layout, no_two_fields_overlap)
{
	size_t count;
	const struct prm_layout *all = prm_layouts(&count);

	for (size_t n = 0; n < count; n++) {
		for (uint32_t a = 0; a < all[n].nfields; a++) {
			for (uint32_t b = 0; b < a; b++)
				cr_expect(!overlap(&all[n].fields[a], &all[n].fields[b]),
					  "%s: %s and %s", all[n].name, all[n].fields[a].name,
					  all[n].fields[b].name);
		}
	}
}

Test(prm_layout, setting_a_field_changes_its_bits_alone)
{
	uint8_t qpc[PRM_qpc_SIZE];

	memset(qpc, 0xff, sizeof(qpc));
	PRM_SET(qpc, qpc, remote_qpn, 0x123456);
	cr_expect_eq(prm_load32(qpc + 0x14), 0xff123456);
	cr_expect_eq(PRM_GET(qpc, qpc, remote_qpn), 0x123456);
	memset(qpc, 0, sizeof(qpc));
	PRM_SET(qpc, qpc, log_sq_size, 15);
	cr_expect_eq(prm_load32(qpc + 8), 15u << 11);
	PRM_SET64(qpc, qpc, dbr_addr, 0x1122334455667788);
	cr_expect_eq(qpc[0xa0], 0x11);
	cr_expect_eq(qpc[0xa7], 0x88);
}

Test(prm_layout, fields_of_a_whole_dword_work)
{
	uint8_t qpc[PRM_qpc_SIZE] = {0};

	PRM_SET(qpc, qpc, q_key, 0xffffffff);
	cr_expect_eq(PRM_GET(qpc, qpc, q_key), 0xffffffff);
}

Test(prm_layout, reserved_bits_are_counted_and_named_bits_are_not)
{
	const struct prm_layout *l = prm_layout_find("cmd_in");
	uint8_t in[16] = {0};

	cr_assert_not_null(l);
	PRM_SET(cmd_in, in, opcode, 0x500);
	cr_expect_eq(prm_reserved_bits(l, in, sizeof(in)), 0);
	in[4] = 0x81; /* above op_mod */
	in[12] = 0x01;
	cr_expect_eq(prm_reserved_bits(l, in, sizeof(in)), 3);
	cr_expect_eq(prm_reserved_bits(l, in, 8), 2, "bytes beyond the length do not count");
}

Test(prm_layout, printing_names_the_fields_that_are_set)
{
	uint8_t in[16] = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	PRM_SET(cmd_in, in, opcode, 0x500);
	PRM_SET(cmd_in, in, op_mod, 2);
	prm_print(prm_layout_find("cmd_in"), in, sizeof(in), to);
	fclose(to);
	cr_expect_str_eq(text, "cmd_in{opcode=0x500, op_mod=0x2}");
	free(text);
}

Test(prm_layout, printing_stops_at_the_end_of_the_buffer)
{
	uint8_t in[4] = {0x05, 0x00, 0x00, 0x01};
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	prm_print(prm_layout_find("cmd_in"), in, sizeof(in), to);
	fclose(to);
	cr_expect_str_eq(text, "cmd_in{opcode=0x500, uid=0x1}");
	free(text);
}

Test(prm_layout, an_unknown_structure_is_not_found)
{
	cr_expect_null(prm_layout_find("no_such"));
}
