// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace.h"

enum { FIRST_FIELDS = 64, FIRST_CHARS = 4096 };

void fields_clear(struct field_list *l)
{
	l->n = 0;
	l->len = 0;
	l->prefix[0] = '\0';
	l->no_memory = false;
}

void fields_free(struct field_list *l)
{
	free(l->v);
	free(l->chars);
	*l = (struct field_list){0};
}

/* Room for `len` more characters; NULL: no memory. */
static char *more_chars(struct field_list *l, size_t len)
{
	size_t cap = l->chars_cap ? l->chars_cap : FIRST_CHARS;
	char *p;

	while (cap - l->len < len)
		cap *= 2;
	if (cap != l->chars_cap) {
		p = realloc(l->chars, cap);
		if (!p)
			return NULL;
		l->chars = p;
		l->chars_cap = cap;
	}
	p = l->chars + l->len;
	l->len += len;
	return p;
}

/* A field with its name and room for `len` characters of text and a NUL, returned. */
static char *add_field(struct field_list *l, const char *name, size_t len, struct field **f)
{
	size_t prefix = strlen(l->prefix), n = strlen(name) + 1;
	char *p;

	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : FIRST_FIELDS;
		struct field *v = realloc(l->v, cap * sizeof(*v));

		if (!v) {
			l->no_memory = true;
			return NULL;
		}
		l->v = v;
		l->cap = cap;
	}
	p = more_chars(l, prefix + n + len + 1);
	if (!p) {
		l->no_memory = true;
		return NULL;
	}
	*f = &l->v[l->n++];
	**f = (struct field){.name = (uint32_t)(p - l->chars)};
	memcpy(p, l->prefix, prefix);
	memcpy(p + prefix, name, n);
	(*f)->text = (*f)->name + (uint32_t)(prefix + n);
	p += prefix + n;
	p[len] = '\0';
	return p;
}

void fields_number(struct field_list *l, const char *name, uint64_t value, bool hex)
{
	char text[24];
	struct field *f;
	int n = snprintf(text, sizeof(text), hex ? "0x%" PRIx64 : "%" PRIu64, value);
	char *p = add_field(l, name, (size_t)n, &f);

	if (!p)
		return;
	memcpy(p, text, (size_t)n);
	f->is_number = true;
	f->number = value;
}

void fields_text(struct field_list *l, const char *name, const void *text, size_t len)
{
	const uint8_t *from = text;
	struct field *f;
	char *p = add_field(l, name, len, &f);

	for (size_t i = 0; p && i < len; i++)
		p[i] = from[i] >= 0x20 && from[i] < 0x7f ? (char)from[i] : '.';
}

void fields_bytes(struct field_list *l, const char *name, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;
	struct field *f;
	char *p = add_field(l, name, 2 * len, &f);

	for (size_t i = 0; p && i < len; i++) {
		p[2 * i] = digits[from[i] >> 4];
		p[2 * i + 1] = digits[from[i] & 0xf];
	}
}

void fields_push(struct field_list *l, const char *name)
{
	size_t n = strlen(l->prefix);

	if (n + strlen(name) + 2 > sizeof(l->prefix)) {
		l->no_memory = true;
		return;
	}
	snprintf(l->prefix + n, sizeof(l->prefix) - n, "%s.", name);
}

void fields_pop(struct field_list *l)
{
	size_t n = strlen(l->prefix);

	if (n)
		n--;
	while (n && l->prefix[n - 1] != '.')
		n--;
	l->prefix[n] = '\0';
}

const char *field_name(const struct field_list *l, const struct field *f)
{
	return l->chars + f->name;
}

const char *field_text(const struct field_list *l, const struct field *f)
{
	return l->chars + f->text;
}

const struct field *field_find(const struct field_list *l, const char *name, uint32_t hint)
{
	if (hint < l->n && !strcmp(l->chars + l->v[hint].name, name))
		return &l->v[hint];
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->chars + l->v[i].name, name))
			return &l->v[i];
	return NULL;
}
