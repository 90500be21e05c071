/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, launches as seen from the host, and the portable run-time table over them. */
#include <criterion/criterion.h>
#include <atomic>
#include <cstring>
#include <sched.h>

#include "gdakit_kernel.h"

static simt_launch_config shape(dim3 grid, dim3 block, simt_stream *s)
{
	simt_launch_config cfg = {};

	cfg.grid = grid;
	cfg.block = block;
	cfg.stream = s;
	return cfg;
}

/* Kernel and host take turns through one word: odd is the kernel's, even the host's. */
static void persistent(uint32_t *mailbox, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		while (gdakit_load_acquire_sys(mailbox) != 2 * i + 1)
			;
		gdakit_store_release_sys(mailbox, 2 * i + 2);
	}
}

Test(simt_streams, a_persistent_kernel_is_fed_by_its_host)
{
	simt_stream *s;
	uint32_t mailbox = 0;

	cr_assert_eq(simt_stream_create(&s), SIMT_SUCCESS);
	cr_assert_eq(simt_launch_kernel(shape(1, 1, s), persistent, &mailbox, 100u), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_query(s), SIMT_ERR_NOT_READY, "the kernel waits for us");
	for (uint32_t i = 0; i < 100; i++) {
		__atomic_store_n(&mailbox, 2 * i + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&mailbox, __ATOMIC_ACQUIRE) != 2 * i + 2)
			sched_yield();
	}
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_query(s), SIMT_SUCCESS);
	simt_stream_destroy(s);
}

Test(simt_streams, kernels_of_two_streams_run_side_by_side)
{
	simt_stream *a, *b;
	uint32_t mailbox = 0;

	cr_assert_eq(simt_stream_create(&a), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_create(&b), SIMT_SUCCESS);
	/* each waits for the other */
	cr_assert_eq(simt_launch_kernel(shape(1, 1, a), persistent, &mailbox, 50u), SIMT_SUCCESS);
	auto other = +[](uint32_t *m, uint32_t rounds) {
		for (uint32_t i = 0; i < rounds; i++) {
			while (gdakit_load_acquire_sys(m) != 2 * i)
				;
			gdakit_store_release_sys(m, 2 * i + 1);
		}
	};
	cr_assert_eq(simt_launch_kernel(shape(1, 1, b), other, &mailbox, 50u), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(a), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(b), SIMT_SUCCESS);
	cr_assert_eq(mailbox, 100);
	simt_stream_destroy(a);
	simt_stream_destroy(b);
}

static void append(uint32_t *log, uint32_t *n, uint32_t value)
{
	log[(*n)++] = value;
}

Test(simt_streams, launches_of_one_stream_keep_their_order)
{
	simt_stream *s;
	uint32_t log[20], n = 0;

	cr_assert_eq(simt_stream_create(&s), SIMT_SUCCESS);
	for (uint32_t i = 0; i < 20; i++)
		cr_assert_eq(simt_launch_kernel(shape(1, 1, s), append, log, &n, i), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(s), SIMT_SUCCESS);
	for (uint32_t i = 0; i < 20; i++)
		cr_assert_eq(log[i], i);
	simt_stream_destroy(s);
}

Test(simt_streams, bad_shapes_are_refused)
{
	auto nop = +[](uint32_t *) {};
	uint32_t *none = nullptr;

	cr_assert_eq(simt_launch_kernel(shape(0, 1, nullptr), nop, none), SIMT_ERR_INVALID);
	cr_assert_eq(simt_launch_kernel(shape(1, 0, nullptr), nop, none), SIMT_ERR_INVALID);
	cr_assert_eq(simt_launch_kernel(shape(1, 1025, nullptr), nop, none), SIMT_ERR_INVALID);
	cr_assert_eq(simt_launch_kernel(shape(1, dim3(64, 64), nullptr), nop, none),
		     SIMT_ERR_INVALID);
	cr_assert_eq(simt_launch_kernel(shape(dim3(65536, 65536, 65536), 1, nullptr), nop, none),
		     SIMT_ERR_INVALID);
	cr_assert_eq(simt_stream_create(nullptr), SIMT_ERR_INVALID);
	cr_assert_eq(simt_stream_destroy(nullptr), SIMT_ERR_INVALID);
}

static void fill_ids(uint32_t *out, uint32_t base)
{
	out[threadIdx.x] = base + threadIdx.x;
}

Test(simt_streams, the_portable_table_allocates_launches_and_times)
{
	const char *why;
	const struct gdakit_rt *rt = gdakit_rt_open("cpu", &why);
	gdakit_stream s;
	gdakit_event start, end;
	uint32_t *out;
	float ms = -1;

	cr_assert_not_null(rt);
	cr_assert_eq(rt->stream_create(&s), 0);
	cr_assert_eq(rt->event_create(&start), 0);
	cr_assert_eq(rt->event_create(&end), 0);
	cr_assert_eq(rt->host_alloc(reinterpret_cast<void **>(&out), 64 * sizeof(*out)), 0);
	cr_assert_eq(out[5], 0);
	cr_assert_eq(rt->event_record(start, s), 0);
	cr_assert_eq(GDAKIT_LAUNCH(fill_ids, 1, 64, 0, s, out, 100), 0);
	cr_assert_eq(rt->event_record(end, s), 0);
	cr_assert_eq(rt->event_synchronize(end), 0);
	cr_assert_eq(rt->event_elapsed(&ms, start, end), 0);
	cr_assert_geq(ms, 0.0f);
	cr_assert_eq(out[63], 163);
	cr_assert_eq(rt->stream_query(s), 0);
	rt->host_free(out);
	rt->event_destroy(start);
	rt->event_destroy(end);
	cr_assert_eq(rt->stream_destroy(s), 0);
}

Test(simt_streams, an_unknown_device_name_is_refused_with_the_choices)
{
	const char *why = nullptr;

	cr_assert_null(gdakit_rt_open("tpu", &why));
	cr_assert_not_null(strstr(why, "cpu, gpu or auto"));
	cr_assert_not_null(gdakit_rt_open(nullptr, &why));
}
