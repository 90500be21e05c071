// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nicmodel/roce.h"
#include "emu/nicmodel/roce_wire.h"
#include "tools/trace.h"

enum { NO_TYPE = 0xff, PSN_MASK = 0xffffff, SUB_REQUEST = 0, SUB_RESPONSE, SUB_ACK };
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t hash_bytes(uint64_t hash, const void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const uint8_t *)p)[i]) * FNV_PRIME;
	return hash;
}

/* One more element: doubles *v when it is full. False: no memory. */
static bool grow(void **v, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? 2 * *cap : 64;
	void *p;

	if (n < *cap)
		return true;
	if (more < *cap)
		return false;
	p = realloc(*v, more * size);
	if (!p)
		return false;
	*v = p;
	*cap = more;
	return true;
}

#define GROW(v, n, cap) grow((void **)&(v), n, &(cap), sizeof(*(v)))

/* ---- where the memory of keys begins ---- */

/* The newest region of a key that has the address; of a peer's key the one that is known. */
static const struct key_base *find_base(const struct trace *t, uint32_t key, bool peer,
					uint32_t seq, uint64_t addr, bool anywhere)
{
	for (uint32_t i = t->nbases; i--;) {
		const struct key_base *k = &t->bases[i];

		if (k->key == key && k->seq <= seq && k->peer == peer &&
		    (anywhere || addr - k->base < k->len))
			return k;
	}
	return NULL;
}

bool trace_base(const struct trace *t, uint32_t key, bool remote, uint32_t seq, uint64_t addr,
		uint64_t *base)
{
	const struct key_base *k = find_base(t, key, false, seq, addr, !remote);

	if (!k && remote)
		k = find_base(t, key, true, seq, addr, true);
	if (k)
		*base = k->base;
	return k != NULL;
}

static bool add_base(struct trace *t, const struct key_base *base)
{
	if (!GROW(t->bases, t->nbases, t->bases_cap))
		return false;
	t->bases[t->nbases++] = *base;
	return true;
}

static uint64_t number_in(const struct field_list *l, const char *name)
{
	const struct field *f = field_find(l, name, 0);

	return f ? f->number : 0;
}

static bool learn_region(struct trace *t, const struct trace_record *r, const struct field_list *l)
{
	struct key_base base = {.key = (uint32_t)number_in(l, "out.body.mkey_index"),
				.seq = r->seq,
				.base = number_in(l, "in.body.mkc.start_addr"),
				.len = number_in(l, "in.body.mkc.length64")
					       ? UINT64_MAX
					       : number_in(l, "in.body.mkc.len")};

	if (r->ev.command->opcode != PRM_CMD_CREATE_MKEY || r->ev.command->status)
		return true;
	return add_base(t, &base);
}

/* A key of this host: its region. Of another one: the first address that was used with it. */
static bool learn_bases(struct trace *t, const struct trace_record *r, const struct field_list *l)
{
	uint64_t base;

	if (r->ev.head.kind == REC_COMMAND)
		return learn_region(t, r, l);
	for (uint32_t i = 0; i < l->n; i++) {
		const struct field *key, *f = &l->v[i];
		bool remote;

		if (field_role(&r->ev, l, f).role != ROLE_ADDRESS)
			continue;
		key = field_key(l, f, &remote);
		if (key &&
		    !trace_base(t, (uint32_t)key->number >> KEY_SHIFT, remote, r->seq, f->number,
				&base) &&
		    !add_base(t, &(struct key_base){.key = (uint32_t)key->number >> KEY_SHIFT,
						    .seq = r->seq,
						    .peer = remote,
						    .base = f->number}))
			return false;
	}
	return true;
}

/* ---- streams ---- */

static uint8_t sub_of(const struct rec_event *ev)
{
	uint8_t opcode;

	if (ev->head.kind == REC_FETCH)
		return ev->fetch->receive;
	if ((ev->head.kind != REC_TX && ev->head.kind != REC_RX) || ev->blob_len[0] < ROCE_BTH_LEN)
		return 0;
	opcode = ev->blob[0][0] & 0x1f;
	if (opcode == ROCE_ACK)
		return SUB_ACK;
	return opcode >= ROCE_READ_RESP_FIRST && opcode <= ROCE_ATOMIC_ACK ? SUB_RESPONSE
									   : SUB_REQUEST;
}

static uint32_t number_of(const struct rec_event *ev)
{
	switch (ev->head.kind) {
	case REC_CQE:
		return ev->cqe->cqn;
	case REC_EQE:
		return ev->eqe->eqn;
	case REC_COMMAND:
	case REC_NIC:
	case REC_DIAGNOSIS:
		return 0;
	default:
		return ev->head.qpn;
	}
}

/* How often these come is a matter of time: only what they say counts. */
static bool is_repeated(const struct stream *s)
{
	return s->kind == REC_DOORBELL || s->kind == REC_DBR || s->kind == REC_EQE ||
	       ((s->kind == REC_TX || s->kind == REC_RX) && s->sub == SUB_ACK);
}

static struct stream *stream_of(struct trace *t, const struct rec_event *ev)
{
	const uint32_t number = number_of(ev);
	const uint8_t sub = sub_of(ev);

	for (uint32_t i = 0; i < t->nstreams; i++) {
		struct stream *s = &t->streams[i];

		if (s->nic == ev->head.nic && s->kind == ev->head.kind && s->number == number &&
		    s->sub == sub)
			return s;
	}
	if (!GROW(t->streams, t->nstreams, t->streams_cap))
		return NULL;
	t->streams[t->nstreams] = (struct stream){
		.nic = ev->head.nic, .kind = ev->head.kind, .sub = sub, .number = number};
	return &t->streams[t->nstreams++];
}

/* ---- records ---- */

void trace_fields(const struct trace *t, const struct trace_record *r, struct field_list *l)
{
	struct out o = {.into = l};

	fields_clear(l);
	decode(&o, &t->types, &r->ev);
}

static uint64_t hash_words(uint64_t hash, const char *p)
{
	for (; *p; p++)
		if (*p < '0' || *p > '9')
			hash = hash_bytes(hash, p, 1);
	return hash;
}

static uint64_t hash_field(uint64_t hash, const struct rec_event *ev, const struct field_list *l,
			   const struct field *f)
{
	const struct field_role role = field_role(ev, l, f);

	if (role.role == ROLE_IGNORED || role.role > ROLE_WORDS)
		return hash;
	if (f->is_number && !f->number)
		return hash; /* as if it were not there */
	hash = hash_bytes(hash, field_name(l, f), strlen(field_name(l, f)));
	if (role.role == ROLE_EXACT)
		hash = hash_bytes(hash, field_text(l, f), strlen(field_text(l, f)));
	return role.role == ROLE_WORDS ? hash_words(hash, field_text(l, f)) : hash;
}

static void hash_record(const struct trace *t, struct trace_record *r, const struct field_list *l)
{
	char what[WHAT_MAX];
	uint64_t hash;

	what_of(&r->ev, l, what);
	hash = hash_bytes(FNV_START, what, strlen(what));
	r->what = (uint32_t)(hash ^ hash >> 32);
	for (uint32_t i = 0; i < l->n; i++)
		if (!t->program || !field_is_answer(l, &l->v[i]))
			hash = hash_field(hash, &r->ev, l, &l->v[i]);
	r->hash = hash;
}

/* The bytes of an event, which lie behind one another from its struct on, become the record's own.
 */
static bool take_bytes(struct trace_record *r)
{
	const uint8_t *from = r->ev.body;
	size_t len = r->ev.head.len - sizeof(r->ev.head);
	uint8_t *own = malloc(len ? len : 1);

	if (!own)
		return false;
	memcpy(own, from, len);
	r->ev.body = own;
	for (unsigned int i = 0; i < REC_BLOBS; i++)
		if (r->ev.blob[i])
			r->ev.blob[i] = own + (r->ev.blob[i] - from);
	return true;
}

static bool seen_before(const struct trace *t, const struct stream *s, const struct trace_record *r)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (t->records[s->records[i]].hash == r->hash)
			return true;
	return false;
}

static bool add_record(struct trace *t, const struct rec_event *ev, uint32_t seq,
		       struct field_list *l)
{
	struct trace_record r = {.ev = *ev, .seq = seq};
	const struct field *psn;
	struct stream *s;

	trace_fields(t, &r, l);
	if (l->no_memory || !learn_bases(t, &r, l))
		return false;
	hash_record(t, &r, l);
	s = stream_of(t, ev);
	if (!s)
		return false;
	psn = field_find(l, "psn", 0);
	if (psn && !s->n)
		s->first_psn = (uint32_t)psn->number;
	if (is_repeated(s) && seen_before(t, s, &r))
		return true;
	if (psn && !is_repeated(s)) {
		const uint32_t distance = ((uint32_t)psn->number - s->first_psn) & PSN_MASK;

		r.hash = hash_bytes(r.hash, &distance, sizeof(distance));
	}
	if (!GROW(t->records, t->nrecords, t->records_cap) || !GROW(s->records, s->n, s->cap) ||
	    !take_bytes(&r))
		return false;
	t->records[t->nrecords] = r;
	s->records[s->n++] = t->nrecords++;
	return true;
}

static bool wanted(const struct trace *t, const struct rec_event *ev, uint32_t kinds)
{
	if (ev->head.kind >= REC_KINDS || !ev->body || !(kinds >> ev->head.kind & 1))
		return false;
	return !t->program || ev->head.kind != REC_COMMAND || ev->command->uid;
}

int trace_load(struct trace *t, FILE *f, uint32_t kinds, bool program, char *why)
{
	struct field_list l = {0};
	struct recording *r;
	struct rec_event ev;
	uint32_t seq = 0;
	int ret = 0;

	*t = (struct trace){.program = program};
	r = recording_open(f, why);
	if (!r)
		return -1;
	t->types.st = malloc(SHOW_QPNS);
	if (t->types.st)
		memset(t->types.st, NO_TYPE, SHOW_QPNS);
	while (t->types.st && (ret = recording_next(r, &ev, why)) == 1) {
		learn_type(&t->types, &ev);
		if (!wanted(t, &ev, kinds) || add_record(t, &ev, seq, &l)) {
			seq++;
			continue;
		}
		ret = -ENOMEM;
		break;
	}
	if (!t->types.st || ret == -ENOMEM) {
		ret = -ENOMEM;
		snprintf(why, REC_WHY_MAX, "out of memory at record %u", seq);
	}
	t->complete = recording_complete(r);
	fields_free(&l);
	recording_close(r);
	return ret ? -1 : 0;
}

void trace_free(struct trace *t)
{
	for (uint32_t i = 0; i < t->nrecords; i++)
		free((void *)(uintptr_t)t->records[i].ev.body);
	for (uint32_t i = 0; i < t->nstreams; i++)
		free(t->streams[i].records);
	free(t->records);
	free(t->streams);
	free(t->bases);
	free(t->types.st);
	*t = (struct trace){0};
}
