/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host program needs of the machine that runs its kernels, so that one program runs them on
 *a GPU or on the CPU, as chosen when it starts. C and C++.
 *
 *	const struct gdakit_rt *rt = gdakit_rt_open(getenv("GDAKIT_DEVICE"), &why);
 *	const struct put_kernels *k = GDAKIT_PICK(rt, put_kernels);
 *	k->launch(stream, &args);
 *
 * Functions return 0 or a code of the back end; rt->error_string explains it.
 */
#ifndef GDAKIT_RT_H
#define GDAKIT_RT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *gdakit_stream; /* NULL: the default stream */
typedef void *gdakit_event;

enum { GDAKIT_RT_NOT_READY = -1 };

struct gdakit_rt {
	const char *name; /* "cpu" or "cuda" */
	bool is_gpu;
	/* Whether a device is there and usable; `why` gets a sentence when not. */
	int (*probe)(const char **why);
	/* By PCI address ("0000:17:00.0"), or NULL for the first. The CPU takes any. */
	int (*set_device)(const char *bus_id);
	int (*stream_create)(gdakit_stream *stream);
	int (*stream_destroy)(gdakit_stream stream);
	int (*stream_synchronize)(gdakit_stream stream);
	int (*stream_query)(gdakit_stream stream); /* 0, GDAKIT_RT_NOT_READY, or an error */
	int (*event_create)(gdakit_event *event);
	int (*event_destroy)(gdakit_event event);
	int (*event_record)(gdakit_event event, gdakit_stream stream);
	int (*event_synchronize)(gdakit_event event);
	/* Milliseconds between two recorded, finished events. */
	int (*event_elapsed)(float *ms, gdakit_event start, gdakit_event end);
	/* Memory of the device; 64 KiB aligned. */
	int (*mem_alloc)(void **ptr, size_t size);
	int (*mem_free)(void *ptr);
	/* Host memory that kernels reach under the same address: flags, results. Zeroed. */
	int (*host_alloc)(void **ptr, size_t size);
	int (*host_free)(void *ptr);
	/* Any direction; finished on return. */
	int (*copy)(void *dst, const void *src, size_t size);
	int (*fill)(void *dst, int byte, size_t size);
	const char *(*error_string)(int error);
};

extern const struct gdakit_rt gdakit_rt_cpu;
/* Linked in only where nvcc built it. */
extern const struct gdakit_rt gdakit_rt_cuda __attribute__((weak));

/**
 * Choose where kernels run: "cpu", "gpu", or NULL, "" or "auto" for the GPU where one is usable and
 * the CPU otherwise. NULL when that is not to be had; `why` (may be NULL) then gets a sentence, and
 * in the automatic case says why it is the CPU.
 */
const struct gdakit_rt *gdakit_rt_open(const char *which, const char **why);

/*
 * A kernel source defines `const struct TYPE GDAKIT_KERNELS(NAME) = {...}` (gdakit_kernel.h): a
 * table of launch functions, once for each back end. The host declares both with
 * GDAKIT_DECLARE_KERNELS(TYPE, NAME) and takes one with GDAKIT_PICK: NULL where the source was not
 * built for that back end.
 */
#define GDAKIT_DECLARE_KERNELS(type, name)                                                         \
	extern const struct type name##_cpu __attribute__((weak));                                 \
	extern const struct type name##_cuda __attribute__((weak))
#define GDAKIT_PICK(rt, name) ((rt)->is_gpu ? &name##_cuda : &name##_cpu)

#ifdef __cplusplus
}
#endif

#endif /* GDAKIT_RT_H */
