// SPDX-License-Identifier: BSD-3-Clause
#include "emu/observe/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct rec_file_header) == 40, "file header");
_Static_assert(sizeof(struct rec_head) == 24, "record head");
_Static_assert(sizeof(struct rec_text) == 8 && sizeof(struct rec_nic) == 56 &&
		       sizeof(struct rec_command) == 32 && sizeof(struct rec_doorbell) == 24 &&
		       sizeof(struct rec_dbr) == 16 && sizeof(struct rec_fetch) == 16 &&
		       sizeof(struct rec_packet) == 64 && sizeof(struct rec_cqe) == 80 &&
		       sizeof(struct rec_eqe) == 72 && sizeof(struct rec_state) == 8 &&
		       sizeof(struct rec_diagnosis) == 8 && sizeof(struct rec_end) == 8,
	       "no hidden padding: these are the format");

#define AT(st, f) offsetof(struct rec_##st, f)
static const struct rec_shape shapes[REC_KINDS] = {
	[REC_TEXT] = {"text", sizeof(struct rec_text), 2, {AT(text, key_len), AT(text, value_len)}},
	[REC_NIC] = {"nic", sizeof(struct rec_nic), 0, {0}},
	[REC_COMMAND] = {"command",
			 sizeof(struct rec_command),
			 3,
			 {AT(command, in_kept), AT(command, out_kept), AT(command, why_len)}},
	[REC_DOORBELL] = {"doorbell", sizeof(struct rec_doorbell), 0, {0}},
	[REC_DBR] = {"dbr", sizeof(struct rec_dbr), 0, {0}},
	[REC_FETCH] = {"fetch", sizeof(struct rec_fetch), 1, {AT(fetch, kept)}},
	[REC_TX] = {"tx",
		    sizeof(struct rec_packet),
		    2,
		    {AT(packet, hdr_len), AT(packet, payload_kept)}},
	[REC_RX] = {"rx",
		    sizeof(struct rec_packet),
		    2,
		    {AT(packet, hdr_len), AT(packet, payload_kept)}},
	[REC_CQE] = {"cqe", sizeof(struct rec_cqe), 0, {0}},
	[REC_EQE] = {"eqe", sizeof(struct rec_eqe), 0, {0}},
	[REC_STATE] = {"state", sizeof(struct rec_state), 0, {0}},
	[REC_DIAGNOSIS] = {"diagnosis", sizeof(struct rec_diagnosis), 1, {AT(diagnosis, len)}},
	[REC_END] = {"end", sizeof(struct rec_end), 0, {0}},
};

const struct rec_shape *rec_shape(unsigned int kind)
{
	return kind < REC_KINDS && shapes[kind].name ? &shapes[kind] : NULL;
}

struct recording {
	FILE *f;
	struct rec_file_header header;
	uint64_t off; /* of the next record, bytes in the file */
	int ended;    /* what next() answers from now on, if not 1 */
	bool complete;
	char why[REC_WHY_MAX];
	uint8_t *buf; /* REC_MAX bytes */
};

static bool read_header(struct recording *r, char *why)
{
	struct rec_file_header *h = &r->header;
	size_t n;

	errno = 0;
	n = fread(h, 1, sizeof(*h), r->f);
	if (ferror(r->f)) {
		snprintf(why, REC_WHY_MAX, "cannot be read: %s", strerror(errno));
		return false;
	}
	if (n != sizeof(*h) || memcmp(h->magic, REC_MAGIC, sizeof(h->magic)) != 0) {
		snprintf(why, REC_WHY_MAX,
			 "no recording: it does not begin with \"" REC_MAGIC
			 "\" and %zu bytes of header",
			 sizeof(*h));
		return false;
	}
	if (h->order != REC_ORDER) {
		snprintf(why, REC_WHY_MAX, "written on a machine of another byte order");
		return false;
	}
	if (h->version != REC_VERSION) {
		snprintf(why, REC_WHY_MAX, "format version %u, this gdakit reads version %u",
			 h->version, REC_VERSION);
		return false;
	}
	if (h->len < sizeof(*h) || h->len % REC_ALIGN) {
		snprintf(why, REC_WHY_MAX, "a header of %u bytes, expected %zu or more, by eights",
			 h->len, sizeof(*h));
		return false;
	}
	for (n = sizeof(*h); n < h->len; n++)
		if (getc(r->f) == EOF)
			break;
	r->off = h->len;
	return true;
}

struct recording *recording_open(FILE *f, char *why)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (r)
		r->buf = malloc(REC_MAX);
	if (!r || !r->buf) {
		snprintf(why, REC_WHY_MAX, "out of memory");
		free(r);
		return NULL;
	}
	r->f = f;
	r->ended = 1;
	if (!read_header(r, why)) {
		recording_close(r);
		return NULL;
	}
	return r;
}

const struct rec_file_header *recording_header(const struct recording *r)
{
	return &r->header;
}

bool recording_complete(const struct recording *r)
{
	return r->complete;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	free(r->buf);
	free(r);
}

static int bad(struct recording *r, const char *what, uint64_t got, uint64_t expected)
{
	snprintf(r->why, sizeof(r->why),
		 "byte %" PRIu64 ": %s is %" PRIu64 ", expected at most %" PRIu64, r->off, what,
		 got, expected);
	return r->ended = -EBADMSG;
}

/* Finds the blobs. The buffer holds the whole record. */
static int split(struct recording *r, struct rec_event *ev)
{
	const struct rec_shape *shape = rec_shape(ev->head.kind);
	uint32_t left = ev->head.len - (uint32_t)sizeof(ev->head);
	const uint8_t *p = r->buf;

	ev->name = shape ? shape->name : "unknown";
	if (!shape)
		return 1;
	if (shape->fixed > left)
		return bad(r, "the struct of a record", shape->fixed, left);
	ev->body = p;
	p += shape->fixed;
	left -= shape->fixed;
	for (unsigned int i = 0; i < shape->nblobs; i++) {
		uint32_t len;

		memcpy(&len, r->buf + shape->len_off[i], sizeof(len));
		if (len > left)
			return bad(r, "the length of data in a record", len, left);
		ev->blob[i] = p;
		ev->blob_len[i] = len;
		p += len;
		left -= len;
	}
	r->complete = ev->head.kind == REC_END;
	return 1;
}

int recording_next(struct recording *r, struct rec_event *ev, char *why)
{
	struct rec_head *head = &ev->head;
	size_t body;
	int ret;

	memset(ev, 0, sizeof(*ev));
	if (r->ended != 1) {
		snprintf(why, REC_WHY_MAX, "%s", r->why);
		return r->ended;
	}
	if (fread(head, 1, sizeof(*head), r->f) != sizeof(*head) || head->len == 0)
		return r->ended = 0;
	body = head->len - sizeof(*head);
	if (head->len < sizeof(*head) || head->len > REC_MAX || head->len % REC_ALIGN) {
		ret = bad(r, "the length of a record", head->len, REC_MAX);
	} else if (fread(r->buf, 1, body, r->f) != body) {
		return r->ended = 0; /* cut within the record */
	} else {
		ret = split(r, ev);
		r->off += head->len;
	}
	if (ret < 0)
		snprintf(why, REC_WHY_MAX, "%s", r->why);
	return ret;
}
