// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu/world/world_priv.h"

enum { VERBOSE_QUIET_NS = 1000000000 };

/* One write a line, so that lines of several processes do not mix. */
static void emit(const struct verbose *v, const char *text)
{
	char line[VERBOSE_LINE_MAX + 96];
	int len = snprintf(line, sizeof(line), "gdakit: %s: %s\n", v->name, text);
	ssize_t n;

	if (len >= (int)sizeof(line))
		len = (int)sizeof(line) - 1;
	n = write(v->fd, line, (size_t)len);
	(void)n; /* nobody to tell */
}

static void emit_repeats(const struct verbose *v, struct verbose_line *line)
{
	char text[VERBOSE_LINE_MAX + 48];

	if (!line->repeats)
		return;
	snprintf(text, sizeof(text), "%s (%" PRIu64 " more like this)", line->text, line->repeats);
	line->repeats = 0;
	emit(v, text);
}

static void say(struct verbose *v, const char *text)
{
	uint64_t now_ns = v->now_ns(v->now_ctx);
	struct verbose_line *line;

	for (unsigned int i = 0; i < VERBOSE_RECENT; i++) {
		line = &v->recent[i];
		if (strncmp(line->text, text, sizeof(line->text) - 1) != 0)
			continue;
		line->repeats++;
		if (now_ns - line->printed_ns >= VERBOSE_QUIET_NS) {
			emit_repeats(v, line);
			line->printed_ns = now_ns;
		}
		return;
	}
	line = &v->recent[v->next];
	v->next = (v->next + 1) % VERBOSE_RECENT;
	emit_repeats(v, line);
	snprintf(line->text, sizeof(line->text), "%s", text);
	line->printed_ns = now_ns;
	emit(v, text);
}

void verbose_print(struct verbose *v, uint32_t qpn, const char *why)
{
	char text[VERBOSE_LINE_MAX];

	if (qpn)
		snprintf(text, sizeof(text), "QP 0x%06x: %s", qpn, why);
	else
		snprintf(text, sizeof(text), "%s", why);
	say(v, text);
}

void verbose_settle(struct verbose *v, bool all)
{
	uint64_t now_ns = v->now_ns(v->now_ctx);

	for (unsigned int i = 0; i < VERBOSE_RECENT; i++) {
		struct verbose_line *line = &v->recent[i];

		if (line->repeats && (all || now_ns - line->printed_ns >= VERBOSE_QUIET_NS)) {
			emit_repeats(v, line);
			line->printed_ns = now_ns;
		}
	}
}

static void on_event(void *ctx, const struct nm_event *ev)
{
	struct verbose *v = ctx;
	char text[VERBOSE_LINE_MAX];

	if (ev->kind == NM_EV_DIAGNOSIS) {
		verbose_print(v, ev->qpn, ev->why ? ev->why : "refused, without a reason");
	} else if (ev->kind == NM_EV_COMMAND && ev->command.status) {
		snprintf(text, sizeof(text),
			 "command 0x%03x refused: %s (status 0x%02x, syndrome 0x%08x)",
			 ev->command.opcode, ev->why && ev->why[0] ? ev->why : "no reason given",
			 ev->command.status, ev->command.syndrome);
		verbose_print(v, ev->qpn, text);
	}
}

void verbose_init(struct verbose *v, const char *name, int fd, uint64_t (*now_ns)(void *ctx),
		  void *now_ctx)
{
	memset(v, 0, sizeof(*v));
	v->name = name;
	v->fd = fd;
	v->now_ns = now_ns;
	v->now_ctx = now_ctx;
	v->observer.ctx = v;
	v->observer.mask = 1u << NM_EV_DIAGNOSIS | 1u << NM_EV_COMMAND;
	v->observer.event = on_event;
}
