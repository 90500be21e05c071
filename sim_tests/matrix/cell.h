/* SPDX-License-Identifier: BSD-3-Clause */
/* A cell of the matrix: its coordinates, its text, and its run. */
#ifndef MATRIX_CELL_H
#define MATRIX_CELL_H

#include <string>
#include <vector>

#include "sim_tests/matrix/matrix.h"

/* The values of each axis. */
constexpr uint32_t mx_threads[] = {1, 2, 32, 33, 64, 256, 1024};
constexpr uint8_t mx_log_depths[] = {1, 6, 15};
constexpr uint8_t mx_wraps[] = {0, 16, 24, 32, 48}; /* counters begin before 2^it; 0: at 0 */
constexpr uint32_t mx_seeds = 200;

enum mx_axis { MX_FUNCTION, MX_SCOPE, MX_SHARING, MX_THREADS, MX_DEPTH, MX_BELL, MX_WRAP, MX_AXES };

/* Indices into the axes; seed 1 to mx_seeds. */
struct mx_cell {
	uint32_t at[MX_AXES];
	uint32_t seed;
};

const std::vector<mx_function> &mx_table();
/* Number of values of an axis. */
uint32_t mx_axis_size(uint32_t axis);
/* Does the function have this scope, this sharing ...? */
bool mx_cell_exists(const mx_cell &cell);
/* "put warp gpu 64 2 proxy 24 17", as mx_cell_parse() takes it. */
std::string mx_cell_name(const mx_cell &cell);
/* False, with the reason on stderr. */
bool mx_cell_parse(const char *const words[MX_AXES + 1], mx_cell *cell);

struct mx_result {
	std::string wrong; /* empty: all is as it must be */
	uint64_t calls = 0;
	uint64_t switches = 0; /* of the executor */
	double seconds = 0;    /* of the kernel alone */
};
/* `stream`: where kernels run; one cell at a time. */
mx_result mx_cell_run(const mx_cell &cell, struct simt_stream *stream);

#endif
