// SPDX-License-Identifier: BSD-3-Clause
/*
 * A small MPI program that checks what it gets: messages round a ring, reductions, and one-sided
 * puts, gets and sums, 1 B to 1 MiB. Each rank prints "rank N of M on HOST: ok" or what was wrong.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, SUMS = 64 };

static int rank, ranks;

static uint8_t pattern(int from, size_t len, size_t i)
{
	return (uint8_t)((i * 167) ^ (i >> 8) * 31 ^ (unsigned int)from * 97 ^ len * 13);
}

static void fill(uint8_t *buf, int from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = pattern(from, len, i);
}

static _Noreturn void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void wrong(const char *fmt, ...)
{
	va_list ap;

	printf("rank %d: ", rank);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

static void check(const uint8_t *buf, int from, size_t len, const char *what)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != pattern(from, len, i))
			wrong("%s of %zu bytes from rank %d: byte %zu is 0x%02x, expected 0x%02x",
			      what, len, from, i, buf[i], pattern(from, len, i));
}

static void ring(uint8_t *out, uint8_t *in)
{
	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	for (size_t len = 1; len <= MAX_BYTES; len = len * 3 + 1) {
		fill(out, rank, len);
		memset(in, 0, len);
		MPI_Sendrecv(out, (int)len, MPI_BYTE, next, 7, in, (int)len, MPI_BYTE, last, 7,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(in, last, len, "message");
	}
}

static void reductions(void)
{
	int64_t mine[SUMS], sum[SUMS];

	for (int i = 0; i < SUMS; i++)
		mine[i] = (int64_t)(rank + 1) * (i + 1);
	MPI_Allreduce(mine, sum, SUMS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < SUMS; i++)
		if (sum[i] != (int64_t)ranks * (ranks + 1) / 2 * (i + 1))
			wrong("sum %d is %lld", i, (long long)sum[i]);
}

/* Each rank owns a window: a counter, and room for the next rank's data. */
static void one_sided(uint8_t *out, uint8_t *in)
{
	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	const int64_t one = 1;
	uint8_t *window;
	int64_t before;
	MPI_Win win;

	MPI_Win_allocate(8 + MAX_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	memset(window, 0, 8 + MAX_BYTES);
	for (size_t len = 1; len <= MAX_BYTES; len = len * 7 + 1) {
		fill(out, rank, len);
		MPI_Win_fence(0, win);
		MPI_Put(out, (int)len, MPI_BYTE, next, 8, (int)len, MPI_BYTE, win);
		MPI_Win_fence(0, win);
		check(window + 8, last, len, "put");
		MPI_Get(in, (int)len, MPI_BYTE, next, 8, (int)len, MPI_BYTE, win);
		MPI_Win_fence(0, win);
		check(in, rank, len, "get");
	}
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < SUMS; i++) {
		MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	memcpy(&before, window, sizeof(before));
	if (rank == 0 && before != (int64_t)ranks * SUMS)
		wrong("counter is %lld, expected %d", (long long)before, ranks * SUMS);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	uint8_t *out = malloc(MAX_BYTES), *in = malloc(MAX_BYTES);
	const char *host = getenv("GDAKIT_HOST");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!out || !in)
		wrong("no memory");
	ring(out, in);
	reductions();
	one_sided(out, in);
	printf("rank %d of %d on %s: ok\n", rank, ranks, host ? host : "no simulated host");
	fflush(stdout);
	MPI_Finalize();
	free(out);
	free(in);
	return 0;
}
