// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace.h"

/* ---- numbers that stand for each other ---- */

struct pair {
	uint64_t key; /* space << 56 | number; 0: free */
	uint64_t other;
};

/* Open addressing; from the numbers of one side to those of the other. */
struct names {
	struct pair *v;
	uint32_t n, cap; /* cap: a power of two */
};

struct comparison {
	struct trace *a, *b;
	struct diff *d;
	struct names ab, ba;
	struct field_list la, lb;
};

static struct pair *slot_of(const struct names *names, uint64_t key)
{
	uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (names->cap - 1);

	while (names->v[i].key && names->v[i].key != key)
		i = (i + 1) & (names->cap - 1);
	return &names->v[i];
}

static bool set_name(struct names *names, uint64_t key, uint64_t other)
{
	if (2 * names->n >= names->cap) {
		struct names more = {.cap = names->cap ? 2 * names->cap : 256};

		more.v = calloc(more.cap, sizeof(*more.v));
		if (!more.v)
			return false;
		for (uint32_t i = 0; i < names->cap; i++)
			if (names->v[i].key)
				*slot_of(&more, names->v[i].key) = names->v[i];
		more.n = names->n;
		free(names->v);
		*names = more;
	}
	names->n += !slot_of(names, key)->key;
	*slot_of(names, key) = (struct pair){key, other};
	return true;
}

static bool get_name(const struct names *names, uint64_t key, uint64_t *other)
{
	const struct pair *p = names->cap ? slot_of(names, key) : NULL;

	if (!p || !p->key)
		return false;
	*other = p->other;
	return true;
}

static uint64_t name_key(enum space space, uint64_t number)
{
	return (uint64_t)space << 56 | (number & (UINT64_MAX >> 8));
}

static void bind(struct comparison *c, enum space space, uint64_t a, uint64_t b)
{
	if (!set_name(&c->ab, name_key(space, a), b) || !set_name(&c->ba, name_key(space, b), a))
		c->d->no_memory = true;
}

enum { ANY_NUMBER = 0xffffff };

/* 0 and all ones are no numbers of objects. What was never seen before is believed, once. */
static bool same_number(struct comparison *c, enum space space, uint64_t a, uint64_t b)
{
	uint64_t other;

	if (!a || !b || a == ANY_NUMBER || b == ANY_NUMBER)
		return a == b;
	if (get_name(&c->ab, name_key(space, a), &other))
		return other == b;
	if (get_name(&c->ba, name_key(space, b), &other))
		return false;
	bind(c, space, a, b);
	return true;
}

/* What a command gave out: the first field of its output that is a number of its kind. */
static void bind_outputs(struct comparison *c, const struct trace_record *ra,
			 const struct trace_record *rb)
{
	static const char *const names[] = {"out.body.number", "out.body.mkey_index",
					    "out.body.eqn",    "out.body.uid",
					    "out.body.obj_id", "out.body.counter_set_id"};

	if (ra->ev.head.kind != REC_COMMAND || ra->ev.command->status || rb->ev.command->status)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct field *a = field_find(&c->la, names[i], 0);
		const struct field *b = field_find(&c->lb, names[i], 0);
		struct field_role role;

		if (!a || !b)
			continue;
		role = field_role(&ra->ev, &c->la, a);
		bind(c, role.space, a->number >> role.shift, b->number >> role.shift);
	}
}

/* ---- differences ---- */

static char *copy_of(const char *text)
{
	enum { LONGEST = 128 };
	char *p = strndup(text, LONGEST);

	if (p && strlen(text) > LONGEST)
		snprintf(p + LONGEST - 3, 4, "...");
	return p;
}

static bool is_same(const struct difference *d, const struct difference *like)
{
	if (d->kind != like->kind || d->only != like->only || strcmp(d->what, like->what) != 0)
		return false;
	if (d->only != IN_BOTH)
		return true;
	return !strcmp(d->field, like->field) &&
	       (d->kind != REC_COMMAND || (!strcmp(d->a, like->a) && !strcmp(d->b, like->b)));
}

/* Takes like's strings if it is a new one, of which there are enough in any case to be told. */
static void count_difference(struct diff *d, struct difference *like)
{
	struct difference *v;

	for (uint32_t i = 0; i < d->n; i++) {
		if (is_same(&d->v[i], like)) {
			d->v[i].count++;
			goto known;
		}
	}
	if (d->n == DIFFERENCES_MAX) {
		d->uncounted++;
		goto known;
	}
	v = realloc(d->v, (d->n + 1) * sizeof(*v));
	if (!v) {
		d->no_memory = true;
		goto known;
	}
	d->v = v;
	like->count = 1;
	d->v[d->n++] = *like;
	return;
known:
	free(like->field);
	free(like->a);
	free(like->b);
}

static void lone(struct comparison *c, const struct trace *t, const struct trace_record *r,
		 enum only only)
{
	struct difference like = {
		.kind = r->ev.head.kind, .only = only, .seq_a = r->seq, .seq_b = r->seq};

	trace_fields(t, r, &c->la);
	what_of(&r->ev, &c->la, like.what);
	count_difference(c->d, &like);
}

static void differ(struct comparison *c, const struct trace_record *ra,
		   const struct trace_record *rb, const char *name, const char *a, const char *b)
{
	struct difference like = {.kind = ra->ev.head.kind,
				  .only = IN_BOTH,
				  .field = copy_of(name),
				  .a = copy_of(a),
				  .b = copy_of(b),
				  .seq_a = ra->seq,
				  .seq_b = rb->seq};

	what_of(&ra->ev, &c->la, like.what);
	if (!like.field || !like.a || !like.b)
		c->d->no_memory = true;
	else
		count_difference(c->d, &like);
}

/* ---- fields ---- */

struct address {
	bool known;
	uint64_t offset;
};

static struct address address_of(const struct trace *t, const struct trace_record *r,
				 const struct field_list *l, const struct field *f)
{
	bool remote;
	const struct field *key = field_key(l, f, &remote);
	struct address at = {0};
	uint64_t base;

	if (!key ||
	    !trace_base(t, (uint32_t)key->number >> KEY_SHIFT, remote, r->seq, f->number, &base))
		return at;
	return (struct address){true, f->number - base};
}

static void compare_addresses(struct comparison *c, const struct trace_record *ra,
			      const struct trace_record *rb, const struct field *fa,
			      const struct field *fb)
{
	struct address a = address_of(c->a, ra, &c->la, fa);
	struct address b = address_of(c->b, rb, &c->lb, fb);
	char ta[32], tb[32];

	if (!a.known || !b.known || a.offset == b.offset)
		return;
	snprintf(ta, sizeof(ta), "%+" PRId64, (int64_t)a.offset);
	snprintf(tb, sizeof(tb), "%+" PRId64, (int64_t)b.offset);
	differ(c, ra, rb, field_name(&c->la, fa), ta, tb);
}

static bool same_words(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a >= '0' && *a <= '9')
			a++;
		while (*b >= '0' && *b <= '9')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

struct psn_bases {
	uint32_t a, b;
};

/* fa or fb may be NULL: a field of mailboxes that is 0 is left out. */
static void compare_field(struct comparison *c, const struct trace_record *ra,
			  const struct trace_record *rb, const struct field *fa,
			  const struct field *fb, struct psn_bases psn)
{
	const struct field_role role =
		fa ? field_role(&ra->ev, &c->la, fa) : field_role(&rb->ev, &c->lb, fb);
	const bool numbers = (!fa || fa->is_number) && (!fb || fb->is_number);
	const uint64_t a = fa ? fa->number : 0, b = fb ? fb->number : 0;
	const char *none = numbers ? "0" : "none";
	const char *ta = fa ? field_text(&c->la, fa) : none,
		   *tb = fb ? field_text(&c->lb, fb) : none;
	bool same = true;

	if (c->a->program && (fa ? field_is_answer(&c->la, fa) : field_is_answer(&c->lb, fb)))
		return;
	switch (role.role) {
	case ROLE_EXACT:
		same = numbers ? a == b : !strcmp(ta, tb);
		break;
	case ROLE_IGNORED:
		return;
	case ROLE_SET:
		same = numbers ? !a == !b : !fa == !fb;
		break;
	case ROLE_WORDS:
		same = same_words(ta, tb);
		break;
	case ROLE_ADDRESS:
		if (fa && fb)
			compare_addresses(c, ra, rb, fa, fb);
		return;
	case ROLE_PSN:
		same = ((a - psn.a - (b - psn.b)) & 0xffffff) == 0;
		break;
	case ROLE_NUMBER:
		same = same_number(c, role.space, a >> role.shift, b >> role.shift);
		break;
	}
	if (!same)
		differ(c, ra, rb, fa ? field_name(&c->la, fa) : field_name(&c->lb, fb), ta, tb);
}

static void compare_records(struct comparison *c, const struct trace_record *ra,
			    const struct trace_record *rb, struct psn_bases psn)
{
	trace_fields(c->a, ra, &c->la);
	trace_fields(c->b, rb, &c->lb);
	c->d->no_memory |= c->la.no_memory || c->lb.no_memory;
	bind_outputs(c, ra, rb);
	c->d->paired++;
	for (uint32_t i = 0; i < c->la.n; i++)
		compare_field(c, ra, rb, &c->la.v[i],
			      field_find(&c->lb, field_name(&c->la, &c->la.v[i]), i), psn);
	for (uint32_t i = 0; i < c->lb.n; i++)
		if (!field_find(&c->la, field_name(&c->lb, &c->lb.v[i]), i))
			compare_field(c, ra, rb, NULL, &c->lb.v[i], psn);
}

/* ---- streams ---- */

static void lone_records(struct comparison *c, const struct trace *t, const struct stream *s,
			 enum only only)
{
	for (uint32_t i = 0; i < s->n; i++)
		lone(c, t, &t->records[s->records[i]], only);
}

static void compare_streams(struct comparison *c, const struct stream *sa, const struct stream *sb)
{
	uint32_t *partner = calloc(sa->n, sizeof(*partner));
	struct psn_bases psn = {sa->first_psn, sb->first_psn};
	uint32_t next = 0; /* of b */

	if (!partner || !trace_align(c->a, sa, c->b, sb, partner)) {
		c->d->no_memory = true;
		free(partner);
		return;
	}
	for (uint32_t i = 0; i < sa->n; i++) {
		if (partner[i] == ALIGN_NONE) {
			lone(c, c->a, &c->a->records[sa->records[i]], ONLY_IN_A);
			continue;
		}
		for (; next < partner[i]; next++)
			lone(c, c->b, &c->b->records[sb->records[next]], ONLY_IN_B);
		next++;
		compare_records(c, &c->a->records[sa->records[i]],
				&c->b->records[sb->records[partner[i]]], psn);
	}
	for (; next < sb->n; next++)
		lone(c, c->b, &c->b->records[sb->records[next]], ONLY_IN_B);
	free(partner);
}

static enum space space_of_stream(const struct stream *s)
{
	return s->kind == REC_CQE ? SPACE_CQ : s->kind == REC_EQE ? SPACE_EQ : SPACE_QP;
}

/* The stream of b with the role of s: of the object that is known to be the same, else the next. */
static struct stream *partner_of(struct comparison *c, const struct stream *s)
{
	const enum space space = space_of_stream(s);
	uint64_t number, other;
	const bool known = get_name(&c->ab, name_key(space, s->number), &number);

	for (uint32_t i = 0; i < c->b->nstreams; i++) {
		struct stream *t = &c->b->streams[i];

		if (t->paired || t->nic != s->nic || t->kind != s->kind || t->sub != s->sub ||
		    !t->number != !s->number)
			continue;
		if (!s->number || (known && t->number == number) ||
		    (!known && !get_name(&c->ba, name_key(space, t->number), &other)))
			return t;
	}
	return NULL;
}

/* Commands first: they say which objects are the same. */
void trace_compare(struct trace *a, struct trace *b, struct diff *d)
{
	struct comparison c = {.a = a, .b = b, .d = d};

	for (unsigned int kind = 0; kind < REC_KINDS; kind++) {
		for (uint32_t i = 0; i < a->nstreams; i++) {
			struct stream *s = &a->streams[i], *t;

			if (s->kind != kind)
				continue;
			t = partner_of(&c, s);
			if (t) {
				t->paired = true;
				compare_streams(&c, s, t);
			} else {
				lone_records(&c, a, s, ONLY_IN_A);
			}
		}
		for (uint32_t i = 0; i < b->nstreams; i++)
			if (b->streams[i].kind == kind && !b->streams[i].paired)
				lone_records(&c, b, &b->streams[i], ONLY_IN_B);
	}
	free(c.ab.v);
	free(c.ba.v);
	fields_free(&c.la);
	fields_free(&c.lb);
}

void diff_free(struct diff *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		free(d->v[i].field);
		free(d->v[i].a);
		free(d->v[i].b);
	}
	free(d->v);
	*d = (struct diff){0};
}
