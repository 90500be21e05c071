// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "prm/prm.h"
#include "tools/show.h"
#include "tools/trace.h"

static void begin_field(struct out *o, const char *name)
{
	fprintf(o->to, o->json ? ",\"%s\":" : " %s=", name);
}

void out_number(struct out *o, const char *name, uint64_t value)
{
	if (o->into) {
		fields_number(o->into, name, value, false);
		return;
	}
	begin_field(o, name);
	fprintf(o->to, "%" PRIu64, value);
}

/* JSON has no hexadecimal, and numbers above 2^53 do not survive many readers. */
void out_hex(struct out *o, const char *name, uint64_t value)
{
	if (o->into) {
		fields_number(o->into, name, value, true);
		return;
	}
	begin_field(o, name);
	if (o->json && value <= UINT64_C(1) << 53)
		fprintf(o->to, "%" PRIu64, value);
	else
		fprintf(o->to, o->json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, value);
}

static void put_char(struct out *o, uint8_t c)
{
	if (o->json && (c == '"' || c == '\\'))
		fprintf(o->to, "\\%c", c);
	else if (c >= 0x20 && c < 0x7f)
		fputc(c, o->to);
	else if (o->json)
		fprintf(o->to, "\\u%04x", c);
	else
		fputc('.', o->to);
}

void out_text(struct out *o, const char *name, const void *text, size_t len)
{
	if (o->into) {
		fields_text(o->into, name, text, len);
		return;
	}
	begin_field(o, name);
	if (o->json)
		fputc('"', o->to);
	for (size_t i = 0; i < len; i++)
		put_char(o, ((const uint8_t *)text)[i]);
	if (o->json)
		fputc('"', o->to);
}

void out_word(struct out *o, const char *name, const char *text)
{
	out_text(o, name, text, strlen(text));
}

void out_bytes(struct out *o, const char *name, const void *bytes, size_t len)
{
	if (o->into) {
		fields_bytes(o->into, name, bytes, len);
		return;
	}
	begin_field(o, name);
	if (o->json)
		fputc('"', o->to);
	for (size_t i = 0; i < len; i++)
		fprintf(o->to, "%02x", ((const uint8_t *)bytes)[i]);
	if (o->json)
		fputc('"', o->to);
}

void out_begin(struct out *o, const char *name)
{
	if (o->into) {
		fields_push(o->into, name);
		return;
	}
	fprintf(o->to, o->json ? ",\"%s\":{\"_\":0" : "\n\t%s", name);
}

void out_end(struct out *o)
{
	if (o->into)
		fields_pop(o->into);
	else if (o->json)
		fputc('}', o->to);
}

/* Fields that are a structure, by their names. */
static const struct {
	const char *field, *layout;
} nested[] = {
	{"qpc", "qpc"},
	{"cq_context", "cqc"},
	{"eq_context", "eqc"},
	{"mkc", "mkc"},
	{"umem", "umem"},
	{"rmpc", "rmpc"},
	{"wq", "wq"},
	{"roce_address", "roce_addr"},
	{"primary_address_path", "ads"},
	{"secondary_address_path", "ads"},
	{"nic_vport_context", "nic_vport_context"},
	{"hca_vport_context", "hca_vport_context"},
	{"query_adapter_struct", "query_adapter_param_block"},
};

static const struct prm_layout *layout_of_field(const char *field)
{
	for (size_t i = 0; i < sizeof(nested) / sizeof(nested[0]); i++)
		if (!strcmp(nested[i].field, field))
			return prm_layout_find(nested[i].layout);
	return NULL;
}

static bool all_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

static void out_field(struct out *o, const struct prm_field *f, const uint8_t *buf, size_t len)
{
	size_t bytes = f->kind == 'B' && !f->bytes ? len - f->off : f->bytes;
	const struct prm_layout *inner = f->kind == 'B' ? layout_of_field(f->name) : NULL;
	const uint8_t *p = buf + f->off;

	if (inner)
		out_layout(o, f->name, inner, p, bytes);
	else if (f->kind == 'B' && !all_zero(p, bytes))
		out_bytes(o, f->name, p, bytes);
	else if (f->kind == 'Q' && prm_load64(p))
		out_hex(o, f->name, prm_load64(p));
	else if (f->kind == 'F' && prm_get(p, 0, f->hi, f->lo))
		out_hex(o, f->name, prm_get(p, 0, f->hi, f->lo));
}

void out_layout(struct out *o, const char *name, const struct prm_layout *layout, const void *buf,
		size_t len)
{
	if (len > layout->size && layout->size && layout->fields[layout->nfields - 1].bytes)
		len = layout->size;
	if (all_zero(buf, len))
		return;
	if (o->into)
		fields_push(o->into, name);
	else
		fprintf(o->to, o->json ? ",\"%s\":{\"_\":\"%s\"" : " %s=%s{", name, layout->name);
	for (uint32_t i = 0; i < layout->nfields; i++) {
		const struct prm_field *f = &layout->fields[i];

		if (f->off <= len && f->bytes <= len - f->off)
			out_field(o, f, buf, len);
	}
	if (o->into)
		fields_pop(o->into);
	else
		fputs(o->json ? "}" : " }", o->to);
}
