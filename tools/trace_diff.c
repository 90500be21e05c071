// SPDX-License-Identifier: BSD-3-Clause
/* gdakit trace-diff: arguments, the list of what is expected, and what is said. */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/gdakit.h"
#include "tools/trace.h"

enum { EXIT_EQUAL = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };
enum { KEY_JSON = 256, KEY_KIND, KEY_PROGRAM, KEY_EXPECT, LINE_MAX_ = 512 };

#define KIND_BIT(kind) (1u << (kind))
/* The rest is about the run (text, end) or a matter of time (dbr). */
static const uint32_t default_kinds =
	KIND_BIT(REC_NIC) | KIND_BIT(REC_COMMAND) | KIND_BIT(REC_DOORBELL) | KIND_BIT(REC_FETCH) |
	KIND_BIT(REC_TX) | KIND_BIT(REC_RX) | KIND_BIT(REC_CQE) | KIND_BIT(REC_EQE) |
	KIND_BIT(REC_STATE) | KIND_BIT(REC_DIAGNOSIS);
static const uint32_t program_kinds =
	KIND_BIT(REC_COMMAND) | KIND_BIT(REC_DOORBELL) | KIND_BIT(REC_FETCH);

struct expectation {
	char *pattern;
	uint32_t line;
	bool may, seen; /* may: need not be there */
};

struct trace_diff {
	const char *path[2], *expect;
	unsigned int paths;
	bool json, program;
	uint32_t kinds;
	struct expectation *expected;
	uint32_t nexpected;
	struct trace trace[2];
	struct diff diff;
};

static const struct argp_option trace_diff_options[] = {
	{.name = "kind",
	 .key = KEY_KIND,
	 .arg = "KIND[,KIND...]",
	 .doc = "Only these: nic, command, doorbell, dbr, fetch, tx, rx, cqe, eqe, state, "
		"diagnosis"},
	{.name = "program",
	 .key = KEY_PROGRAM,
	 .doc = "Only what the program asked of the NIC: its own commands without the answers, "
		"doorbells, WQEs"},
	{.name = "expect",
	 .key = KEY_EXPECT,
	 .arg = "FILE",
	 .doc = "Differences that are no difference: a line each, as they are printed, with * for "
		"what may be anything, `?` before one that need not be there, # before a reason. "
		"One that is not there is a difference"},
	{.name = "json", .key = KEY_JSON, .doc = "As one JSON object"},
	{0},
};

static void parse_kinds(struct trace_diff *t, const char *list, struct argp_state *state)
{
	const char *bad = "";
	size_t bad_len = 0;

	t->kinds = kinds_of(list, &bad, &bad_len);
	if (!t->kinds)
		argp_error(state, "--kind: there is no kind '%.*s'", (int)bad_len, bad);
}

static error_t trace_diff_parse(int key, char *arg, struct argp_state *state)
{
	struct trace_diff *t = state->input;

	switch (key) {
	case KEY_JSON:
		t->json = true;
		return 0;
	case KEY_PROGRAM:
		t->program = true;
		return 0;
	case KEY_EXPECT:
		t->expect = arg;
		return 0;
	case KEY_KIND:
		parse_kinds(t, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (t->paths == 2)
			argp_error(state, "two recordings, not more");
		t->path[t->paths++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (t->paths != 2)
			argp_error(state, "two recordings are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp trace_diff_argp = {
	.options = trace_diff_options,
	.parser = trace_diff_parse,
	.args_doc = "A B",
	.doc = "Compares what two programs did to the NIC, as `gdakit run --record` recorded it, "
	       "field by field. Addresses, keys and other numbers need not be the same but must "
	       "mean the same; time does not count.\n\nExit code: 0 no difference, 1 there are, 2 "
	       "a "
	       "recording cannot be read.",
};

/* ---- what is expected ---- */

static bool add_expectation(struct trace_diff *t, char *line, uint32_t number)
{
	struct expectation *v, e = {.line = number};
	char *reason = strchr(line, '#');
	size_t n;

	if (reason)
		*reason = '\0';
	line += strspn(line, " \t");
	for (n = strlen(line); n && strchr(" \t\r\n", line[n - 1]); n--)
		line[n - 1] = '\0';
	if (!*line)
		return true;
	if (*line == '?') {
		e.may = true;
		line += 1 + strspn(line + 1, " \t");
	}
	e.pattern = strdup(line);
	v = e.pattern ? realloc(t->expected, (t->nexpected + 1) * sizeof(*v)) : NULL;
	if (!v) {
		free(e.pattern);
		return false;
	}
	t->expected = v;
	v[t->nexpected++] = e;
	return true;
}

static int read_expectations(struct trace_diff *t)
{
	FILE *f = t->expect ? fopen(t->expect, "re") : NULL;
	char line[LINE_MAX_];
	uint32_t number = 0;
	int ret = 0;

	if (!t->expect)
		return 0;
	if (!f) {
		complain("%s: %s", t->expect, strerror(errno));
		return -1;
	}
	while (!ret && fgets(line, sizeof(line), f)) {
		number++;
		if (!strchr(line, '\n') && !feof(f)) {
			complain("%s: line %u is longer than %d characters", t->expect, number,
				 LINE_MAX_ - 2);
			ret = -1;
		} else if (!add_expectation(t, line, number)) {
			complain("out of memory");
			ret = -1;
		}
	}
	if (ferror(f)) {
		complain("%s: %s", t->expect, strerror(errno));
		ret = -1;
	}
	fclose(f);
	return ret;
}

static const char *const only_in[] = {[ONLY_IN_A] = "only in A", [ONLY_IN_B] = "only in B"};

/* As it is printed, and as an expectation is compared with. */
static void describe(const struct difference *d, char text[LINE_MAX_])
{
	const char *kind = rec_shape(d->kind)->name;

	if (d->only == IN_BOTH)
		snprintf(text, LINE_MAX_, "%s %s %s: %s | %s", kind, d->what, d->field, d->a, d->b);
	else
		snprintf(text, LINE_MAX_, "%s %s: %s", kind, d->what, only_in[d->only]);
}

static void mark_expected(struct trace_diff *t)
{
	char text[LINE_MAX_];

	for (uint32_t i = 0; i < t->diff.n; i++) {
		describe(&t->diff.v[i], text);
		for (uint32_t j = 0; j < t->nexpected; j++) {
			if (fnmatch(t->expected[j].pattern, text, FNM_NOESCAPE) != 0)
				continue;
			t->expected[j].seen = true;
			t->diff.v[i].expected = true;
		}
	}
}

/* ---- what is said ---- */

struct verdict {
	uint64_t differences, expected, absent;
	bool closed_differs;
};

static struct verdict judge(const struct trace_diff *t)
{
	struct verdict v = {.closed_differs = t->trace[0].complete != t->trace[1].complete};

	v.differences = t->diff.uncounted;
	for (uint32_t i = 0; i < t->diff.n; i++) {
		if (t->diff.v[i].expected)
			v.expected++;
		else
			v.differences++;
	}
	for (uint32_t i = 0; i < t->nexpected; i++)
		v.absent += !t->expected[i].may && !t->expected[i].seen;
	return v;
}

static void say_difference(const struct difference *d)
{
	char text[LINE_MAX_];

	describe(d, text);
	if (d->only == IN_BOTH)
		printf("%s  (%" PRIu64 " time%s, first in A's record %u and B's %u)\n", text,
		       d->count, d->count == 1 ? "" : "s", d->seq_a, d->seq_b);
	else
		printf("%s  (%" PRIu64 " time%s, first in record %u)\n", text, d->count,
		       d->count == 1 ? "" : "s", d->only == ONLY_IN_A ? d->seq_a : d->seq_b);
}

static void say(const struct trace_diff *t, const struct verdict *v)
{
	for (uint32_t i = 0; i < t->diff.n; i++)
		if (!t->diff.v[i].expected)
			say_difference(&t->diff.v[i]);
	for (uint32_t i = 0; i < t->nexpected; i++)
		if (!t->expected[i].may && !t->expected[i].seen)
			printf("expected, but not there: %s  (%s, line %u)\n",
			       t->expected[i].pattern, t->expect, t->expected[i].line);
	if (t->diff.uncounted)
		printf("and %" PRIu64 " more\n", t->diff.uncounted);
	for (int i = 0; i < 2; i++)
		if (!t->trace[i].complete)
			printf("# %s was not closed: the process was killed, or still runs\n",
			       t->path[i]);
	printf("# %" PRIu64 " pairs of records compared, %" PRIu64 " difference%s", t->diff.paired,
	       v->differences, v->differences == 1 ? "" : "s");
	if (t->expect)
		printf(", %" PRIu64 " expected, %" PRIu64 " expected but not there", v->expected,
		       v->absent);
	puts("");
}

static void say_json_difference(struct out *o, const struct difference *d)
{
	printf("{\"kind\":\"%s\"", rec_shape(d->kind)->name);
	out_word(o, "what", d->what);
	if (d->only == IN_BOTH) {
		out_word(o, "field", d->field);
		out_word(o, "a", d->a);
		out_word(o, "b", d->b);
	} else {
		out_word(o, "only", d->only == ONLY_IN_A ? "A" : "B");
	}
	out_number(o, "count", d->count);
	if (d->only != ONLY_IN_B)
		out_number(o, "record_a", d->seq_a);
	if (d->only != ONLY_IN_A)
		out_number(o, "record_b", d->seq_b);
	printf(",\"expected\":%s}", d->expected ? "true" : "false");
}

static void say_json(const struct trace_diff *t, const struct verdict *v, bool equal)
{
	struct out o = {.to = stdout, .json = true};
	const char *comma = "";

	printf("{\"equal\":%s", equal ? "true" : "false");
	for (int i = 0; i < 2; i++) {
		out_word(&o, i ? "b" : "a", t->path[i]);
		printf(",\"%s_closed\":%s", i ? "b" : "a", t->trace[i].complete ? "true" : "false");
	}
	out_number(&o, "pairs", t->diff.paired);
	out_number(&o, "uncounted", t->diff.uncounted);
	out_number(&o, "unexpected", v->differences);
	printf(",\"differences\":[");
	for (uint32_t i = 0; i < t->diff.n; i++) {
		fputs(comma, stdout);
		comma = ",";
		say_json_difference(&o, &t->diff.v[i]);
	}
	printf("],\"absent\":[");
	comma = "";
	for (uint32_t i = 0; i < t->nexpected; i++) {
		if (t->expected[i].may || t->expected[i].seen)
			continue;
		printf("%s{\"line\":%u", comma, t->expected[i].line);
		out_word(&o, "pattern", t->expected[i].pattern);
		putchar('}');
		comma = ",";
	}
	puts("]}");
}

/* ---- */

static int load(struct trace_diff *t, int i)
{
	char why[REC_WHY_MAX] = "";
	FILE *f = fopen(t->path[i], "re");
	int ret;

	if (!f) {
		complain("%s: %s", t->path[i], strerror(errno));
		return -1;
	}
	ret = trace_load(&t->trace[i], f, t->kinds, t->program, why);
	if (ret)
		complain("%s: %s", t->path[i], why);
	fclose(f);
	return ret;
}

static int compare(struct trace_diff *t)
{
	struct verdict v;
	bool equal;

	trace_compare(&t->trace[0], &t->trace[1], &t->diff);
	if (t->diff.no_memory) {
		complain("out of memory");
		return EXIT_TROUBLE;
	}
	mark_expected(t);
	v = judge(t);
	equal = !v.differences && !v.absent && !v.closed_differs;
	if (t->json)
		say_json(t, &v, equal);
	else
		say(t, &v);
	return equal ? EXIT_EQUAL : EXIT_DIFFERENT;
}

int main_trace_diff(int argc, char **argv)
{
	struct trace_diff t = {0};
	int ret = EXIT_TROUBLE;

	argp_parse(&trace_diff_argp, argc, argv, 0, NULL, &t);
	if (!t.kinds)
		t.kinds = t.program ? program_kinds : default_kinds;
	if (!read_expectations(&t) && !load(&t, 0) && !load(&t, 1))
		ret = compare(&t);
	for (uint32_t i = 0; i < t.nexpected; i++)
		free(t.expected[i].pattern);
	free(t.expected);
	trace_free(&t.trace[0]);
	trace_free(&t.trace[1]);
	diff_free(&t.diff);
	return ret;
}
