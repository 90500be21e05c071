/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares every structure of prm/layouts.h with the definitions in the packaged Linux headers
 * (mlx5_ifc.h).
 *
 * The header is read as text when the test runs: there, each u8 of a structure stands for one bit,
 * so names and array lengths are all it takes. Nothing of it is compiled in. Where our name is
 * another one, or the kernel has no such field, the tables below say so; a field that is missing
 * without being listed fails the test with a newer header and is reported with an older one.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <glob.h>
#include <stdlib.h>

#include "emu/nicmodel/prm_print.h"
#include "prm/prm.h"

static const struct {
	const char *ours, *kernels; /* NULL: several kernel structures share this shape */
} struct_names[] = {
	{"eth_cap", "per_protocol_networking_offload_caps"},
	{"roce_addr", "roce_addr_layout"},
	{"roce_address_in", "set_roce_address_in"},
	{"roce_address_out", "query_roce_address_out"},
	{"modify_qp_in", "rts2rts_qp_in"},
	{"general_obj_in", "general_obj_in_cmd_hdr"},
	{"general_obj_out", "general_obj_out_cmd_hdr"},
	{"mcg_in", "attach_to_mcg_in"},
	{"cmd_in", "destroy_qp_in"},
	{"cmd_out", "destroy_qp_out"},
	{"obj_in", NULL},
	{"obj_out", NULL},
	{"query_hca_cap_out", NULL}, /* its union of capabilities is larger than the answer */
};

static const struct {
	const char *layout, *ours, *kernels;
} field_names[] = {
	{"create_eq_in", "eq_context", "eq_context_entry"},
	{"query_eq_out", "eq_context", "eq_context_entry"},
	{"create_eq_out", "eqn", "eq_number"},
	{"create_mkey_in", "mkc", "memory_key_mkey_entry"},
	{"query_mkey_out", "mkc", "memory_key_mkey_entry"},
	{"create_rmp_in", "rmpc", "ctx"},
	{"modify_rmp_in", "rmpc", "ctx"},
	{"create_uctx_in", "cap", "uctx"},
	{"modify_cq_in", "field_select", "modify_field_select_resize_field_select"},
	{"eqe", "type", "event_type"},
	{"eqe", "sub_type", "event_sub_type"},
};

/* Not in the kernel's header; their source is rdma-core, DPDK, or the GPUNetIO host library. */
static const char *const not_in_kernel[] = {
	"ads.dei",
	"modify_qp_in.opt_param_mask_95_32",
	"cmd_hca_cap.rts2rts_qp_udp_sport",
	"qpc.send_dbr_mode",
	"qpc.dbr_umem_id",
	"cqc.dbr_umem_id",
	"cmd_hca_cap_2.log_reserved_qpn_granularity",
	"general_obj_in.log_obj_range",
	"cqc.always_armed_cq",
	"create_cq_in.cq_umem_offset",
	"create_cq_in.cq_umem_id",
	"create_rmp_in.pas", /* there a member of the wq */
	"create_mkey_in.mkey_index",
	"device_mem_cap.memic_increment_sizes", /* where rdma-core's tests look for them */
	"device_mem_cap.memic_test_and_set_sizes",
	"create_mkey_in.mkey_umem_id",
	"create_mkey_in.mkey_umem_offset",
	"create_umem_in.mtt",
	"query_qp_out.pas",
	"cmd_hca_cap.rts2rts_qp_dscp",
	"cmd_hca_cap_2.send_dbr_mode_no_dbr_ext",
	"eqe.cq_err_cqn",
	"eqe.number",
};

/* Where one of the headers has a narrower field, or an older one another name for the place. */
static const char *const changed_over_time[] = {"mkc.log_page_size",
						"cmd_hca_cap.relaxed_ordering_read"};

enum { MAX_FIELDS = 1024, NAME_MAX_ = 96, MAX_DEPTH = 16 };

struct kfield {
	char name[NAME_MAX_];
	uint32_t off, bits;
};

struct parser {
	const char *text;
	struct kfield field[MAX_FIELDS];
	uint32_t count;
};

static uint32_t struct_bits(const char *text, const char *type);

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static const char *word(const char *p, char *to)
{
	size_t n = 0;

	p = skip_space(p);
	while ((isalnum((unsigned char)*p) || *p == '_') && n < NAME_MAX_ - 1)
		to[n++] = *p++;
	to[n] = '\0';
	return p;
}

/* "[0x2][0x20]" -> 0x40; "[]" or "[0]" -> 0; nothing -> 1. */
static const char *dimensions(const char *p, uint32_t *product)
{
	*product = 1;
	while (*p == '[') {
		char *end;

		*product *= (uint32_t)strtoul(p + 1, &end, 0);
		p = end;
		while (*p && *p != ']')
			p++;
		p++;
	}
	return p;
}

/* Members from `p` up to the closing brace, the first at bit `off`. Returns what follows the brace.
 */
static const char *members(struct parser *ps, const char *p, bool is_union, uint32_t off,
			   uint32_t *bits, int depth)
{
	uint32_t at = off, widest = 0;

	cr_assert(depth < MAX_DEPTH);
	for (p = skip_space(p); *p && *p != '}'; p = skip_space(p)) {
		char kind[NAME_MAX_], name[NAME_MAX_];
		uint32_t width = 1, dims;

		p = word(p, kind);
		if (!strcmp(kind, "struct") || !strcmp(kind, "union")) {
			p = word(p, name);
			if (*skip_space(p) == '{') {
				p = members(ps, skip_space(p) + 1, !strcmp(kind, "union"), at,
					    &width, depth + 1);
			} else {
				width = struct_bits(ps->text, name);
			}
		}
		p = word(p, name);
		p = dimensions(p, &dims);
		p = skip_space(p);
		cr_assert_eq(*p, ';', "cannot read: %.60s", p);
		p++;
		width *= dims;
		if (name[0]) {
			cr_assert(ps->count < MAX_FIELDS);
			snprintf(ps->field[ps->count].name, NAME_MAX_, "%s", name);
			ps->field[ps->count].off = at;
			ps->field[ps->count++].bits = width;
		}
		if (!is_union)
			at += width;
		widest = widest > width ? widest : width;
	}
	*bits = is_union ? widest : at - off;
	return *p ? p + 1 : p;
}

static bool parse(struct parser *ps, const char *text, const char *type, uint32_t *bits)
{
	char head[2 * NAME_MAX_];
	const char *at;

	ps->text = text;
	ps->count = 0;
	for (int is_union = 0; is_union < 2; is_union++) {
		snprintf(head, sizeof(head), "%s %s {", is_union ? "union" : "struct", type);
		at = strstr(text, head);
		if (at) {
			members(ps, at + strlen(head), is_union, 0, bits, 0);
			return true;
		}
	}
	return false;
}

static uint32_t struct_bits(const char *text, const char *type)
{
	struct parser *ps = calloc(1, sizeof(*ps));
	uint32_t bits = 0;

	if (!parse(ps, text, type, &bits))
		bits = 0; /* defined in another header: only structures without us use it */
	free(ps);
	return bits;
}

/* Comments become spaces. */
static char *read_header(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text;
	size_t len;

	cr_assert_not_null(f);
	text = calloc(1, 8 << 20);
	len = fread(text, 1, (8 << 20) - 1, f);
	cr_assert(len > 100000 && len < (8 << 20) - 1, "%s: %zu bytes", path, len);
	fclose(f);
	for (char *p = text; (p = strstr(p, "/*"));) {
		char *end = strstr(p, "*/");

		cr_assert_not_null(end);
		memset(p, ' ', (size_t)(end + 2 - p));
	}
	return text;
}

static bool listed(const char *const *list, size_t n, const char *layout, const char *field)
{
	char name[2 * NAME_MAX_];

	snprintf(name, sizeof(name), "%s.%s", layout, field);
	while (n--) {
		if (!strcmp(list[n], name))
			return true;
	}
	return false;
}

static const char *kernel_struct(const char *ours)
{
	for (size_t n = 0; n < sizeof(struct_names) / sizeof(struct_names[0]); n++) {
		if (!strcmp(struct_names[n].ours, ours))
			return struct_names[n].kernels;
	}
	return ours;
}

static const char *kernel_field(const char *layout, const char *ours)
{
	for (size_t n = 0; n < sizeof(field_names) / sizeof(field_names[0]); n++) {
		if (!strcmp(field_names[n].layout, layout) && !strcmp(field_names[n].ours, ours))
			return field_names[n].kernels;
	}
	return ours;
}

static const struct kfield *find(const struct parser *ps, const char *name)
{
	for (uint32_t n = 0; n < ps->count; n++) {
		if (!strcmp(ps->field[n].name, name))
			return &ps->field[n];
	}
	return NULL;
}

static bool same(const struct prm_field *f, const struct kfield *k)
{
	if (f->kind == 'F')
		return k->off == f->off * 8 + 31 - f->hi && k->bits == (uint32_t)f->hi - f->lo + 1;
	/* A structure or array may be longer than the part that we name. */
	return k->off == f->off * 8 && (f->bytes == 0 || k->bits >= f->bytes * 8);
}

struct tally {
	uint32_t compared, absent;
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void compare_field(const struct prm_layout *l, const struct prm_field *f,
			  const struct parser *ps, struct tally *t)
{
	const struct kfield *k = find(ps, kernel_field(l->name, f->name));

	if (listed(not_in_kernel, LEN(not_in_kernel), l->name, f->name))
		return;
	if (listed(changed_over_time, LEN(changed_over_time), l->name, f->name) &&
	    (!k || !same(f, k)))
		return;
	/* create_uctx_in.cap is the first dword of the structure that the kernel names there. */
	if (k && f->kind == 'F' && k->bits > 32 && k->off == f->off * 8) {
		t->compared++;
		return;
	}
	if (!k) {
		t->absent++;
		fprintf(stderr, "  %s.%s: not in this header\n", l->name, f->name);
		return;
	}
	t->compared++;
	cr_expect(same(f, k),
		  "%s.%s: ours at 0x%x [%u:%u], %u bytes; the kernel's at bit 0x%x, %u bits",
		  l->name, f->name, f->off, f->hi, f->lo, f->bytes, k->off, k->bits);
}

static void compare(const char *path)
{
	char *text = read_header(path);
	struct parser *ps = calloc(1, sizeof(*ps));
	struct tally t = {0};
	size_t count;
	const struct prm_layout *all = prm_layouts(&count);

	for (size_t n = 0; n < count; n++) {
		const char *k = kernel_struct(all[n].name);
		char type[NAME_MAX_];
		uint32_t bits;

		if (!k)
			continue;
		snprintf(type, sizeof(type), "mlx5_ifc_%s_bits", k);
		cr_expect(parse(ps, text, type, &bits), "the header has no %s", type);
		for (uint32_t f = 0; f < all[n].nfields; f++)
			compare_field(&all[n], &all[n].fields[f], ps, &t);
	}
	fprintf(stderr, "%s: %u fields compared, %u not in this header\n", path, t.compared,
		t.absent);
	cr_expect(t.compared > 400, "only %u fields compared", t.compared);
	cr_expect(t.absent < 25, "%u fields are not in the header and not listed", t.absent);
	free(ps);
	free(text);
}

Test(prm_kernel_check, every_field_is_where_the_kernel_has_it)
{
	glob_t found;

	if (glob("/usr/src/linux-headers-*-common*/include/linux/mlx5/mlx5_ifc.h", 0, NULL, &found))
		cr_skip_test("no linux-headers-*-common package is installed (mlx5_ifc.h)");
	for (size_t n = 0; n < found.gl_pathc; n++)
		compare(found.gl_pathv[n]);
	globfree(&found);
}
