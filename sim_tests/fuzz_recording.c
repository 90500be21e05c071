/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: a recording is a file that anybody may have written. Every byte that the reader
 * hands out is read, and each event is decoded as `gdakit show` does, to text, to JSON and into a
 * picture.
 */
#include <stdio.h>
#include <stdlib.h>

#include <string.h>

#include "emu/observe/recording.h"
#include "tools/show.h"

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
	return 0;
}
