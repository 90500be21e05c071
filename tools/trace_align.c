// SPDX-License-Identifier: BSD-3-Clause
/*
 * Which records of two streams belong together: the alignment with the least cost, where equal
 * records cost nothing, records about the same that differ cost one, and a record without a partner
 * costs one (so that a pair that differs is better than two records without partners, and two
 * records about different things never are a pair).
 *
 * What is equal at both ends is taken off first. If a table for the rest would be too large,
 * records are paired by their places.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/trace.h"

enum { CELLS_MAX = 16 << 20 };
enum step { STEP_PAIR, STEP_A, STEP_B };

struct sides {
	const struct trace *ta, *tb;
	const uint32_t *a, *b; /* what is left of the streams */
	uint32_t n, m;
};

static const struct trace_record *at_a(const struct sides *s, uint32_t i)
{
	return &s->ta->records[s->a[i]];
}

static const struct trace_record *at_b(const struct sides *s, uint32_t j)
{
	return &s->tb->records[s->b[j]];
}

/* Fills `steps`, row by row, with how the best way to each cell arrives there. */
static void fill(const struct sides *s, uint32_t *above, uint8_t *steps)
{
	for (uint32_t j = 0; j <= s->m; j++)
		above[j] = j;
	memset(steps, STEP_B, s->m + 1);
	for (uint32_t i = 1; i <= s->n; i++) {
		uint8_t *row = steps + (size_t)i * (s->m + 1);
		uint32_t diagonal = above[0];

		above[0] = i;
		row[0] = STEP_A;
		for (uint32_t j = 1; j <= s->m; j++) {
			const struct trace_record *a = at_a(s, i - 1), *b = at_b(s, j - 1);
			uint32_t best = above[j] + 1, old = above[j];

			row[j] = STEP_A;
			if (above[j - 1] + 1 < best) {
				best = above[j - 1] + 1;
				row[j] = STEP_B;
			}
			if (a->what == b->what && diagonal + (a->hash != b->hash) <= best) {
				best = diagonal + (a->hash != b->hash);
				row[j] = STEP_PAIR;
			}
			diagonal = old;
			above[j] = best;
		}
	}
}

static bool align_table(const struct sides *s, uint32_t *partner)
{
	const size_t width = (size_t)s->m + 1;
	uint32_t *above = malloc(width * sizeof(*above));
	uint8_t *steps = malloc(width * (s->n + 1));
	uint32_t i = s->n, j = s->m;

	if (above && steps) {
		fill(s, above, steps);
		while (i || j) {
			switch (steps[i * width + j]) {
			case STEP_PAIR:
				partner[--i] = --j;
				break;
			case STEP_A:
				partner[--i] = ALIGN_NONE;
				break;
			default:
				j--;
				break;
			}
		}
	}
	i = above && steps;
	free(above);
	free(steps);
	return i;
}

static void align_places(const struct sides *s, uint32_t *partner)
{
	for (uint32_t i = 0; i < s->n; i++)
		partner[i] =
			i < s->m && at_a(s, i)->what == at_b(s, i)->what ? i : (uint32_t)ALIGN_NONE;
}

bool trace_align(const struct trace *ta, const struct stream *a, const struct trace *tb,
		 const struct stream *b, uint32_t *partner)
{
	struct sides s = {ta, tb, a->records, b->records, a->n, b->n};
	uint32_t front = 0;

	while (s.n && s.m && at_a(&s, 0)->hash == at_b(&s, 0)->hash) {
		partner[front] = front;
		front++;
		s.a++;
		s.b++;
		s.n--;
		s.m--;
	}
	while (s.n && s.m && at_a(&s, s.n - 1)->hash == at_b(&s, s.m - 1)->hash) {
		partner[front + s.n - 1] = front + s.m - 1;
		s.n--;
		s.m--;
	}
	if ((s.n + 1ull) * (s.m + 1ull) > CELLS_MAX)
		align_places(&s, partner + front);
	else if (!align_table(&s, partner + front))
		return false;
	for (uint32_t i = front; i < front + s.n; i++)
		if (partner[i] != ALIGN_NONE)
			partner[i] += front;
	return true;
}
