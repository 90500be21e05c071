// SPDX-License-Identifier: BSD-3-Clause
/* gdakit show: prints a recording. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/gdakit.h"
#include "tools/show.h"

enum { KEY_JSON = 256, KEY_QP, KEY_KIND, KEY_TIMELINE };

struct show {
	const char *path, *svg;
	struct timeline *timeline; /* for svg */
	bool json, by_qp;
	uint32_t qpn;
	uint32_t kinds; /* 1 << enum rec_kind; 0: all */
	char nic[SHOW_NICS][17];
	struct qp_types types;
};

static const struct argp_option show_options[] = {
	{.name = "qp", .key = KEY_QP, .arg = "QPN", .doc = "Only what concerns this QP"},
	{.name = "kind",
	 .key = KEY_KIND,
	 .arg = "KIND[,KIND...]",
	 .doc = "Only these: text, nic, command, doorbell, dbr, fetch, tx, rx, cqe, eqe, state, "
		"diagnosis, end"},
	{.name = "timeline",
	 .key = KEY_TIMELINE,
	 .arg = "SVG",
	 .doc = "Draw a send queue into this file instead: fetch, packets and CQE of each WQE, "
		"doorbells. The queue is --qp's, else the first one"},
	{.name = "json", .key = KEY_JSON, .doc = "A JSON object a line, with all bytes"},
	{0},
};

static void parse_kinds(struct show *s, const char *list, struct argp_state *state)
{
	const char *bad = "";
	size_t bad_len = 0;

	s->kinds = kinds_of(list, &bad, &bad_len);
	if (!s->kinds)
		argp_error(state, "--kind: there is no kind '%.*s'", (int)bad_len, bad);
}

static error_t show_parse(int key, char *arg, struct argp_state *state)
{
	struct show *s = state->input;
	char *end;

	switch (key) {
	case KEY_JSON:
		s->json = true;
		return 0;
	case KEY_QP:
		s->qpn = (uint32_t)strtoul(arg, &end, 0);
		s->by_qp = true;
		if (!*arg || *end)
			argp_error(state, "--qp is '%s', expected a number", arg);
		return 0;
	case KEY_TIMELINE:
		s->svg = arg;
		return 0;
	case KEY_KIND:
		parse_kinds(s, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (s->path)
			argp_error(state, "one FILE at a time");
		s->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no FILE given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp show_argp = {
	.options = show_options,
	.parser = show_parse,
	.args_doc = "FILE",
	.doc = "Prints what `gdakit run --record FILE` recorded, one event after the other, with "
	       "the PRM's field names. Fields that are 0 are left out of mailboxes.",
};

static bool wanted(const struct show *s, const struct rec_event *ev)
{
	if (s->kinds && (ev->head.kind >= REC_KINDS || !(s->kinds >> ev->head.kind & 1)))
		return false;
	if (!s->by_qp)
		return true;
	return ev->head.qpn == s->qpn ||
	       (ev->head.kind == REC_COMMAND && qpn_of_command(ev) == s->qpn);
}

/* Names of NICs, for the lines of their events. */
static void learn(struct show *s, const struct rec_event *ev)
{
	learn_type(&s->types, ev);
	if (ev->head.kind == REC_NIC && ev->head.nic < SHOW_NICS)
		snprintf(s->nic[ev->head.nic], sizeof(s->nic[0]), "%.16s", ev->nic->name);
}

static void print(const struct show *s, const struct rec_file_header *h, const struct rec_event *ev)
{
	const struct rec_head *head = &ev->head;
	const char *nic = head->nic < SHOW_NICS ? s->nic[head->nic] : "";
	int64_t at_ns = (int64_t)(head->time_ns - h->monotonic_ns);
	struct out o = {.to = stdout, .json = s->json};

	if (s->json) {
		printf("{\"time_ns\":%" PRId64 ",\"kind\":\"%s\"", at_ns, ev->name);
		out_word(&o, "nic", nic);
		out_number(&o, "tid", head->tid);
		out_number(&o, "qpn", head->qpn);
	} else {
		printf("%s%" PRId64 ".%09" PRId64 " %s %u %s", at_ns < 0 ? "-" : "",
		       (at_ns < 0 ? -at_ns : at_ns) / 1000000000,
		       (at_ns < 0 ? -at_ns : at_ns) % 1000000000, *nic ? nic : "-", head->tid,
		       ev->name);
		if (head->qpn)
			out_hex(&o, "qp", head->qpn);
	}
	decode(&o, &s->types, ev);
	fputs(s->json ? "}\n" : "\n", stdout);
}

static int show_all(struct show *s, struct recording *r)
{
	char why[REC_WHY_MAX] = "";
	struct rec_event ev;
	int ret;

	if (!s->json && !s->svg)
		printf("# process %u, format version %u\n", recording_header(r)->pid,
		       recording_header(r)->version);
	while ((ret = recording_next(r, &ev, why)) == 1) {
		learn(s, &ev);
		if (s->svg)
			timeline_add(s->timeline, &ev);
		else if (wanted(s, &ev))
			print(s, recording_header(r), &ev);
	}
	if (ret < 0) {
		complain("%s: %s", s->path, why);
		return 1;
	}
	if (!recording_complete(r) && !s->json && !s->svg)
		puts("# the recording was not closed: the process was killed, or still runs");
	return 0;
}

static int draw(const struct show *s)
{
	FILE *f = fopen(s->svg, "we");
	bool drawn = f && timeline_draw(s->timeline, f);

	if (!f || fclose(f)) {
		complain("%s: %s", s->svg, strerror(errno));
		return 1;
	}
	if (!drawn)
		complain("%s: no send WQE%s in it", s->path, s->by_qp ? " of this QP" : "");
	return !drawn;
}

int main_show(int argc, char **argv)
{
	struct show s = {0};
	char why[REC_WHY_MAX];
	struct recording *r;
	FILE *f;
	int ret = 1;

	argp_parse(&show_argp, argc, argv, 0, NULL, &s);
	f = fopen(s.path, "re");
	if (!f) {
		complain("%s: %s", s.path, strerror(errno));
		return 1;
	}
	s.types.st = malloc(SHOW_QPNS);
	s.timeline = timeline_new(s.by_qp ? s.qpn : 0);
	r = s.types.st && s.timeline ? recording_open(f, why) : NULL;
	if (r) {
		memset(s.types.st, 0xff, SHOW_QPNS);
		ret = show_all(&s, r);
		if (s.svg && !ret)
			ret = draw(&s);
	} else {
		complain("%s: %s", s.path, s.types.st && s.timeline ? why : "out of memory");
	}
	free(s.timeline);
	recording_close(r);
	free(s.types.st);
	fclose(f);
	return ret;
}
