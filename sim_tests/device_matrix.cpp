// SPDX-License-Identifier: BSD-3-Clause
/*
 * device_matrix			  the sample: each pair of values of two axes is in some
 * cell device_matrix sample PART		  one of PART of its cells device_matrix all COUNT
 * [FIRST]	  COUNT cells of the whole matrix, spread evenly over it device_matrix cell NAME ...
 * SEED	  one cell, as a failure names it, and its speed device_matrix list
 * the axes and the number of cells
 */
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unistd.h>

#include "sim_tests/matrix/cell.h"

static constexpr uint32_t failures_max = 3;

/* The cell under way, for whoever looks at a dead process. */
static char current[128];

static void on_abort(int)
{
	ssize_t ignored = write(STDERR_FILENO, current, strlen(current));

	(void)ignored;
}

struct tally {
	uint64_t cells = 0, failed = 0, calls = 0;
	double seconds = 0;
	struct simt_stream *stream = nullptr;

	void run(const mx_cell &cell)
	{
		if (failed >= failures_max)
			return; /* each may have taken a watchdog's time */
		snprintf(current, sizeof(current), "in cell %s\n", mx_cell_name(cell).c_str());
		mx_result result = mx_cell_run(cell, stream);

		cells++;
		calls += result.calls;
		seconds += result.seconds;
		if (result.wrong.empty())
			return;
		failed++;
		printf("FAIL device_matrix cell %s: %s\n", mx_cell_name(cell).c_str(),
		       result.wrong.c_str());
		fflush(stdout);
	}
	int end() const
	{
		if (failed >= failures_max)
			printf("the rest was not run\n");
		printf("%llu cells, %llu calls in %.1f s of kernels, %llu cells failed\n",
		       (unsigned long long)cells, (unsigned long long)calls, seconds,
		       (unsigned long long)failed);
		return failed != 0;
	}
};

/* --- the whole matrix, by number --- */

static uint64_t matrix_size()
{
	uint64_t n = mx_seeds;

	for (uint32_t axis = 0; axis < MX_AXES; axis++)
		n *= mx_axis_size(axis);
	return n;
}

static mx_cell cell_at(uint64_t number)
{
	mx_cell cell;

	for (uint32_t axis = 0; axis < MX_AXES; axis++) {
		cell.at[axis] = static_cast<uint32_t>(number % mx_axis_size(axis));
		number /= mx_axis_size(axis);
	}
	cell.seed = 1 + static_cast<uint32_t>(number % mx_seeds);
	return cell;
}

/* The `i`th of an order that is spread evenly: steps of a prime that no axis has as a factor. */
static mx_cell spread_cell(uint64_t i)
{
	return cell_at(i * 2654435761u % matrix_size());
}

static uint64_t existing_cells()
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < matrix_size() / mx_seeds; i++)
		n += mx_cell_exists(cell_at(i));
	return n * mx_seeds;
}

/* --- the sample --- */

/* All pairs of values of two axes in a cell, as numbers. */
static void pairs_of(const mx_cell &cell, std::vector<uint32_t> *pairs)
{
	pairs->clear();
	for (uint32_t a = 0; a < MX_AXES; a++)
		for (uint32_t b = a + 1; b < MX_AXES; b++)
			pairs->push_back(((a * MX_AXES + b) * 64 + cell.at[a]) * 64 + cell.at[b]);
}

/* Greedy: first those cells that have many new pairs, then fewer. */
static std::vector<mx_cell> sample()
{
	const uint64_t n = matrix_size() / mx_seeds;
	std::vector<mx_cell> cells, chosen;
	std::vector<uint32_t> pairs;
	std::set<uint32_t> covered;

	for (uint64_t i = 0; i < n; i++) {
		mx_cell cell = cell_at(i * 2654435761u % n);

		cell.seed = 1 + mx_hash(static_cast<uint32_t>(i), 77) % mx_seeds;
		if (mx_cell_exists(cell))
			cells.push_back(cell);
	}
	for (uint32_t least = MX_AXES * (MX_AXES - 1) / 2; least > 0; least--)
		for (const mx_cell &cell : cells) {
			uint32_t fresh = 0;

			pairs_of(cell, &pairs);
			for (uint32_t p : pairs)
				fresh += covered.count(p) == 0;
			if (fresh < least)
				continue;
			covered.insert(pairs.begin(), pairs.end());
			chosen.push_back(cell);
		}
	return chosen;
}

/* Cells that have found something once. */
static const char *const found[][MX_AXES + 1] = {
	{"p_signal", "thread", "gpu", "33", "2", "no_dbr", "24", "115"},
	{"put_collapsed", "thread", "gpu", "1", "2", "no_dbr", "16", "15"},
	{"put_collapsed", "thread", "exclusive", "2", "2", "no_dbr", "24", "43"},
	{"signal_counter", "thread", "gpu", "2", "2", "db", "32", "193"},
	{"p_counter", "thread", "cta", "64", "32768", "no_dbr", "0", "85"},
	{"get_blocking", "warp", "exclusive", "1024", "32768", "no_dbr", "16", "196"},
	{"put_signal_counter", "thread", "cta", "33", "32768", "bf", "32", "134"},
};

/* --- commands --- */

static int run_sample(tally *t, uint32_t part)
{
	std::vector<mx_cell> cells = sample();

	for (const auto &words : found) {
		mx_cell cell;

		if (!mx_cell_parse(words, &cell))
			return 2;
		if (part <= 1)
			t->run(cell);
	}
	for (size_t i = 0; i < cells.size(); i++) {
		mx_cell cell = cells[i];

		if (part > 1 && i % part != 0)
			continue;
		t->run(cell);
		/* and under another seed: another interleaving, memory, wire, way to wait */
		cell.seed = cell.seed % mx_seeds + 1;
		t->run(cell);
	}
	return t->end();
}

static int run_all(tally *t, uint64_t count, uint64_t first)
{
	for (uint64_t i = first; t->cells < count && i < matrix_size(); i++) {
		mx_cell cell = spread_cell(i);

		if (mx_cell_exists(cell))
			t->run(cell);
	}
	return t->end();
}

static int run_cell(tally *t, const char *const *words)
{
	mx_cell cell;

	if (!mx_cell_parse(words, &cell))
		return 2;
	mx_result result = mx_cell_run(cell, t->stream);

	printf("%s: %s\n%llu calls in %.3f s: %.0f a second, %.1f switches a call\n",
	       mx_cell_name(cell).c_str(), result.wrong.empty() ? "good" : result.wrong.c_str(),
	       (unsigned long long)result.calls, result.seconds,
	       static_cast<double>(result.calls) / result.seconds,
	       static_cast<double>(result.switches) / static_cast<double>(result.calls));
	return !result.wrong.empty();
}

static int list()
{
	for (const mx_function &f : mx_table())
		printf("%s%s%s\n", f.name, f.scopes[0] ? " thread" : "",
		       f.scopes[1] ? " warp" : "");
	printf("%zu functions, %llu cells with all seeds, %zu in the sample\n", mx_table().size(),
	       (unsigned long long)existing_cells(), sample().size());
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "sample";
	tally t;

	signal(SIGABRT, on_abort);
	if (simt_stream_create(&t.stream) != SIMT_SUCCESS)
		return 2;
	if (strcmp(command, "sample") == 0)
		return run_sample(&t, argc > 2 ? (uint32_t)strtoul(argv[2], nullptr, 0) : 1);
	if (strcmp(command, "all") == 0 && argc > 2)
		return run_all(&t, strtoull(argv[2], nullptr, 0),
			       argc > 3 ? strtoull(argv[3], nullptr, 0) : 0);
	if (strcmp(command, "cell") == 0 && argc == 2 + MX_AXES + 1)
		return run_cell(&t, argv + 2);
	if (strcmp(command, "list") == 0)
		return list();
	fprintf(stderr, "usage: device_matrix [sample PART | all COUNT [FIRST] | list |\n"
			"       cell FUNCTION SCOPE SHARING THREADS DEPTH DOORBELL WRAP SEED]\n");
	return 2;
}
