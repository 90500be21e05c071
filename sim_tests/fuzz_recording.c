/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: a recording is a file that anybody may have written. Every byte that the reader
 * hands out is read, and each event is decoded as `gdakit show` does, to text, to JSON and into a
 * picture, and compared as `gdakit trace-diff` does.
 */
#include <stdio.h>
#include <stdlib.h>

#include <string.h>

#include "emu/observe/recording.h"
#include "tools/show.h"
#include "tools/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sum;

static void read_all(const void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)p)[i]);
}

static FILE *nowhere(void)
{
	static FILE *f;

	if (!f)
		f = fopen("/dev/null", "we");
	if (!f)
		abort();
	return f;
}

static void show(const struct rec_event *ev)
{
	static struct qp_types types;
	struct out text = {.json = false}, json = {.json = true};

	if (!types.st) {
		types.st = malloc(SHOW_QPNS);
		if (!types.st)
			abort();
		memset(types.st, 0xff, SHOW_QPNS);
	}
	learn_type(&types, ev);
	text.to = json.to = nowhere();
	decode(&text, &types, ev);
	decode(&json, &types, ev);
}

static bool load(struct trace *t, const uint8_t *data, size_t size)
{
	char why[REC_WHY_MAX] = "";
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	bool loaded;

	if (!f) {
		memset(t, 0, sizeof(*t));
		return false;
	}
	loaded = !trace_load(t, f, UINT32_MAX, data[size - 1] & 1, why);
	if (!loaded && !why[0])
		abort(); /* refused without a reason */
	fclose(f);
	return loaded;
}

/* With itself, which is no difference, and with its first half. */
static void trace_diff(const uint8_t *data, size_t size)
{
	struct trace a, b, half;
	struct diff same = {0}, other = {0};

	if (load(&a, data, size) && load(&b, data, size)) {
		trace_compare(&a, &b, &same);
		if (same.n && !same.no_memory)
			abort();
		if (load(&half, data, size / 2))
			trace_compare(&a, &half, &other);
		trace_free(&half);
		trace_free(&b);
	}
	trace_free(&a);
	diff_free(&same);
	diff_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct timeline *timeline = timeline_new(0);
	char why[REC_WHY_MAX] = "";
	struct recording *r;
	struct rec_event ev;
	FILE *f;
	int ret;

	f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	if (!timeline || !f) {
		free(timeline);
		return 0;
	}
	r = recording_open(f, why);
	while (r && (ret = recording_next(r, &ev, why)) == 1) {
		const struct rec_shape *shape = rec_shape(ev.head.kind);

		if (shape)
			read_all(ev.body, shape->fixed);
		for (unsigned int i = 0; i < REC_BLOBS; i++)
			read_all(ev.blob[i], ev.blob_len[i]);
		show(&ev);
		timeline_add(timeline, &ev);
	}
	timeline_draw(timeline, nowhere());
	free(timeline);
	if (!r && !why[0])
		abort(); /* refused without a reason */
	recording_close(r);
	fclose(f);
	trace_diff(data, size);
	return 0;
}
