// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit show --timeline: a picture of one send queue. A row is a WQE: from its fetch to its
 * completion, with a mark for each packet that it sent; doorbells are lines through all rows.
 *
 * Packets are told from the PSN: a first or only packet with a new PSN begins the next WQE that
 * sends at all, one with a known PSN is that WQE's again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nicmodel/cq.h"
#include "emu/nicmodel/roce.h"
#include "tools/show.h"

enum {
	ROWS_MAX = 500,
	MARKS_MAX = 20000,
	BELLS_MAX = 2000,
	LEFT = 190, /* pixels: labels, the picture, durations */
	WIDTH = 900,
	RIGHT = 110,
	TOP = 50,
	ROW = 16,
};

struct row {
	uint16_t wqe_idx;
	uint8_t opcode;
	bool begun, done, error;
	uint32_t psn; /* of its first packet */
	uint64_t fetch_ns, cqe_ns;
};

struct mark {
	uint32_t row;
	uint64_t at_ns;
	bool again;
};

struct timeline {
	uint32_t qpn;			      /* 0: that of the first send WQE */
	uint32_t nrows, nmarks, nbells, next; /* next: row that the next new PSN begins */
	bool cut;
	uint64_t first_ns, last_ns;
	struct row row[ROWS_MAX];
	struct mark mark[MARKS_MAX];
	uint64_t bell_ns[BELLS_MAX];
};

struct timeline *timeline_new(uint32_t qpn)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (t)
		t->qpn = qpn;
	return t;
}

static void seen(struct timeline *t, uint64_t at_ns)
{
	if (!t->first_ns || at_ns < t->first_ns)
		t->first_ns = at_ns;
	if (at_ns > t->last_ns)
		t->last_ns = at_ns;
}

static void on_fetch(struct timeline *t, const struct rec_event *ev)
{
	struct row *row = &t->row[t->nrows];

	if (ev->fetch->receive || ev->blob_len[0] < 16)
		return;
	if (!t->qpn)
		t->qpn = ev->head.qpn;
	if (ev->head.qpn != t->qpn)
		return;
	if (t->nrows == ROWS_MAX) {
		t->cut = true;
		return;
	}
	*row = (struct row){.wqe_idx = ev->fetch->wqe_idx,
			    .opcode = ev->blob[0][3],
			    .fetch_ns = ev->head.time_ns};
	t->nrows++;
	seen(t, ev->head.time_ns);
}

static bool sends_nothing(uint8_t opcode)
{
	return opcode == PRM_WQE_NOP || opcode == PRM_WQE_DUMP || opcode == PRM_WQE_WAIT ||
	       opcode == PRM_WQE_UMR || opcode == PRM_WQE_LOCAL_INVAL;
}

/* The row of a request packet; nrows: none. */
static uint32_t row_of(struct timeline *t, const struct roce_bth *bth, bool *again)
{
	uint8_t op = bth->opcode & 0x1f;
	bool begins = op == ROCE_SEND_FIRST || op == ROCE_SEND_ONLY || op == ROCE_SEND_ONLY_IMM ||
		      op == ROCE_SEND_ONLY_INV || op == ROCE_WRITE_FIRST || op == ROCE_WRITE_ONLY ||
		      op == ROCE_WRITE_ONLY_IMM || op == ROCE_READ_REQUEST ||
		      op == ROCE_COMPARE_SWAP || op == ROCE_FETCH_ADD;
	uint32_t newest = t->nrows;

	for (uint32_t i = t->next; i-- > 0;) {
		if (!t->row[i].begun)
			continue;
		if (newest == t->nrows)
			newest = i;
		if (psn_diff(bth->psn, t->row[i].psn) < 0)
			continue;
		*again = i != newest || (begins && t->row[i].psn == bth->psn);
		if (!begins || t->row[i].psn == bth->psn)
			return i;
		break;
	}
	while (t->next < t->nrows && sends_nothing(t->row[t->next].opcode))
		t->next++;
	if (!begins || t->next == t->nrows)
		return t->nrows;
	t->row[t->next].begun = true;
	t->row[t->next].psn = bth->psn;
	return t->next++;
}

static void on_tx(struct timeline *t, const struct rec_event *ev)
{
	struct roce_bth bth;
	struct mark mark = {.at_ns = ev->head.time_ns};

	if (ev->head.qpn != t->qpn || ev->blob_len[0] < ROCE_BTH_LEN)
		return;
	roce_bth_get(ev->blob[0], &bth);
	if ((bth.opcode & 0x1f) >= ROCE_READ_RESP_FIRST && (bth.opcode & 0x1f) <= ROCE_ATOMIC_ACK)
		return; /* its responder's */
	mark.row = row_of(t, &bth, &mark.again);
	if (mark.row == t->nrows || t->nmarks == MARKS_MAX)
		return;
	t->mark[t->nmarks++] = mark;
	seen(t, mark.at_ns);
}

/* A completion is that of the WQE with its counter and of all before it. */
static void on_cqe(struct timeline *t, const struct rec_event *ev)
{
	const uint8_t *cqe = ev->cqe->cqe;
	uint8_t opcode = cqe[PRM_CQE_OP_OWN] >> 4;
	uint16_t idx = (uint16_t)(cqe[PRM_CQE_WQE_COUNTER] << 8 | cqe[PRM_CQE_WQE_COUNTER + 1]);
	uint32_t i = 0;

	if (ev->head.qpn != t->qpn || (opcode != PRM_CQE_REQ && opcode != PRM_CQE_REQ_ERR))
		return;
	while (i < t->nrows && (t->row[i].done || t->row[i].wqe_idx != idx))
		i++;
	if (i == t->nrows)
		return;
	t->row[i].error = opcode == PRM_CQE_REQ_ERR;
	for (;; i--) {
		if (t->row[i].done)
			break;
		t->row[i].done = true;
		t->row[i].cqe_ns = ev->head.time_ns;
		if (!i)
			break;
	}
	seen(t, ev->head.time_ns);
}

void timeline_add(struct timeline *t, const struct rec_event *ev)
{
	switch (ev->head.kind) {
	case REC_FETCH:
		on_fetch(t, ev);
		break;
	case REC_TX:
		on_tx(t, ev);
		break;
	case REC_CQE:
		on_cqe(t, ev);
		break;
	case REC_DOORBELL:
		if (ev->head.qpn && (!t->qpn || ev->head.qpn == t->qpn) && t->nbells < BELLS_MAX) {
			t->bell_ns[t->nbells++] = ev->head.time_ns;
			seen(t, ev->head.time_ns);
		}
		break;
	default:
		break;
	}
}

static double x_of(const struct timeline *t, uint64_t at_ns)
{
	uint64_t span = t->last_ns - t->first_ns;

	return LEFT + (double)(at_ns - t->first_ns) * WIDTH / (double)(span ? span : 1);
}

static void draw_row(const struct timeline *t, uint32_t i, FILE *f)
{
	const struct row *r = &t->row[i];
	uint64_t end_ns = r->done ? r->cqe_ns : t->last_ns;
	int y = TOP + (int)i * ROW;

	fprintf(f, "<text x=\"4\" y=\"%d\">%u %s</text>\n", y + 11, r->wqe_idx,
		name_of_wqe(r->opcode));
	fprintf(f,
		"<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>fetched "
		"at %.3f us</title></rect>\n",
		x_of(t, r->fetch_ns), y + 3, x_of(t, end_ns) - x_of(t, r->fetch_ns) + 0.5, ROW - 6,
		r->done ? "#dde3ea" : "#f6e3c5", (double)(r->fetch_ns - t->first_ns) / 1000);
	if (!r->done) {
		fprintf(f, "<text x=\"%d\" y=\"%d\">not completed</text>\n", LEFT + WIDTH + 8,
			y + 11);
		return;
	}
	fprintf(f, "<circle cx=\"%.2f\" cy=\"%d\" r=\"3\" fill=\"%s\"/>\n", x_of(t, r->cqe_ns),
		y + ROW / 2, r->error ? "#d62728" : "#2ca02c");
	fprintf(f, "<text x=\"%d\" y=\"%d\">%.2f us%s</text>\n", LEFT + WIDTH + 8, y + 11,
		(double)(r->cqe_ns - r->fetch_ns) / 1000, r->error ? ", error" : "");
}

static void draw_axis(const struct timeline *t, int height, FILE *f)
{
	for (int i = 0; i <= 5; i++)
		fprintf(f,
			"<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#eee\"/><text "
			"x=\"%d\" y=\"%d\">%.2f us</text>\n",
			LEFT + i * WIDTH / 5, TOP, LEFT + i * WIDTH / 5, height,
			LEFT + i * WIDTH / 5, TOP - 6,
			(double)(t->last_ns - t->first_ns) * i / 5000);
	for (uint32_t i = 0; i < t->nbells; i++)
		fprintf(f,
			"<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"#ff7f0e\" "
			"stroke-width=\"0.7\"/>\n",
			x_of(t, t->bell_ns[i]), TOP, x_of(t, t->bell_ns[i]), height);
}

bool timeline_draw(const struct timeline *t, FILE *f)
{
	int height = TOP + (int)t->nrows * ROW;

	if (!t->nrows)
		return false;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"monospace\" font-size=\"10\">\n<rect width=\"100%%\" "
		"height=\"100%%\" fill=\"white\"/>\n",
		LEFT + WIDTH + RIGHT, height + 10);
	fprintf(f,
		"<text x=\"4\" y=\"16\" font-size=\"13\">Send queue of QP 0x%06x%s: grey from "
		"fetch "
		"to CQE (green; red: error), blue packets (purple: sent again), orange "
		"doorbells</text>\n",
		t->qpn, t->cut ? ", its first WQEs" : "");
	draw_axis(t, height, f);
	for (uint32_t i = 0; i < t->nrows; i++)
		draw_row(t, i, f);
	for (uint32_t i = 0; i < t->nmarks; i++)
		fprintf(f, "<rect x=\"%.2f\" y=\"%d\" width=\"1.5\" height=\"%d\" fill=\"%s\"/>\n",
			x_of(t, t->mark[i].at_ns), TOP + (int)t->mark[i].row * ROW + 3, ROW - 6,
			t->mark[i].again ? "#9467bd" : "#1f77b4");
	fputs("</svg>\n", f);
	return true;
}
