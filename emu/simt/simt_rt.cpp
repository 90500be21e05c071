/* SPDX-License-Identifier: BSD-3-Clause */
/* gdakit_rt on the executor, and the choice between it and a GPU. */
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "gdakit_rt.h"
#include "simt.h"

static constexpr size_t device_alignment = 65536; /* as GPU allocations for a NIC are */

static simt_stream *stream_of(gdakit_stream s)
{
	return static_cast<simt_stream *>(s);
}

static int cpu_probe(const char **why)
{
	if (why != nullptr)
		*why = "kernels run on the CPU";
	return SIMT_SUCCESS;
}

static int cpu_set_device(const char *)
{
	return SIMT_SUCCESS;
}

static int cpu_stream_create(gdakit_stream *stream)
{
	simt_stream *s = nullptr;
	int error = simt_stream_create(&s);

	*stream = s;
	return error;
}

static int cpu_stream_destroy(gdakit_stream stream)
{
	return simt_stream_destroy(stream_of(stream));
}

static int cpu_stream_synchronize(gdakit_stream stream)
{
	return simt_stream_synchronize(stream_of(stream));
}

static int cpu_stream_query(gdakit_stream stream)
{
	int error = simt_stream_query(stream_of(stream));

	return error == SIMT_ERR_NOT_READY ? (int)GDAKIT_RT_NOT_READY : error;
}

/* An event is a time stamp that its stream takes; whoever waits for it waits for the stream. */
struct cpu_event {
	simt_stream *stream;
	timespec when;
};

static int cpu_event_create(gdakit_event *event)
{
	*event = new (std::nothrow) cpu_event{};
	return *event != nullptr ? SIMT_SUCCESS : SIMT_ERR_NO_MEMORY;
}

static int cpu_event_destroy(gdakit_event event)
{
	delete static_cast<cpu_event *>(event);
	return SIMT_SUCCESS;
}

static int cpu_event_record(gdakit_event event, gdakit_stream stream)
{
	cpu_event *e = static_cast<cpu_event *>(event);

	e->stream = stream_of(stream);
	return simt_stream_host_call(
		e->stream,
		[](void *arg) {
			clock_gettime(CLOCK_MONOTONIC, &static_cast<cpu_event *>(arg)->when);
		},
		e);
}

static int cpu_event_synchronize(gdakit_event event)
{
	return simt_stream_synchronize(static_cast<cpu_event *>(event)->stream);
}

static int cpu_event_elapsed(float *ms, gdakit_event start, gdakit_event end)
{
	const timespec &a = static_cast<cpu_event *>(start)->when;
	const timespec &b = static_cast<cpu_event *>(end)->when;

	*ms = (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	return SIMT_SUCCESS;
}

static int cpu_mem_alloc(void **ptr, size_t size)
{
	if (size == 0 || size > SIZE_MAX - device_alignment)
		return SIMT_ERR_INVALID;
	/* aligned_alloc wants a multiple of the alignment */
	*ptr = aligned_alloc(device_alignment,
			     (size + device_alignment - 1) / device_alignment * device_alignment);
	return *ptr != nullptr ? SIMT_SUCCESS : SIMT_ERR_NO_MEMORY;
}

static int cpu_mem_free(void *ptr)
{
	free(ptr);
	return SIMT_SUCCESS;
}

static int cpu_host_alloc(void **ptr, size_t size)
{
	int error = cpu_mem_alloc(ptr, size);

	if (error == SIMT_SUCCESS)
		memset(*ptr, 0, size);
	return error;
}

static int cpu_copy(void *dst, const void *src, size_t size)
{
	memcpy(dst, src, size);
	return SIMT_SUCCESS;
}

static int cpu_fill(void *dst, int byte, size_t size)
{
	memset(dst, byte, size);
	return SIMT_SUCCESS;
}

extern "C" const struct gdakit_rt gdakit_rt_cpu = {
	"cpu",
	false,
	cpu_probe,
	cpu_set_device,
	cpu_stream_create,
	cpu_stream_destroy,
	cpu_stream_synchronize,
	cpu_stream_query,
	cpu_event_create,
	cpu_event_destroy,
	cpu_event_record,
	cpu_event_synchronize,
	cpu_event_elapsed,
	cpu_mem_alloc,
	cpu_mem_free,
	cpu_host_alloc,
	cpu_mem_free,
	cpu_copy,
	cpu_fill,
	simt_strerror,
};

const struct gdakit_rt *gdakit_rt_open(const char *which, const char **why)
{
	const bool automatic = which == nullptr || *which == '\0' || strcmp(which, "auto") == 0;
	const char *ignored;

	if (why == nullptr)
		why = &ignored;
	if (!automatic && strcmp(which, "cpu") == 0) {
		*why = "asked for";
		return &gdakit_rt_cpu;
	}
	if (!automatic && strcmp(which, "gpu") != 0) {
		*why = "expected cpu, gpu or auto";
		return nullptr;
	}
	if (&gdakit_rt_cuda == nullptr)
		*why = "built without nvcc";
	else if (gdakit_rt_cuda.probe(why) == 0)
		return &gdakit_rt_cuda;
	return automatic ? &gdakit_rt_cpu : nullptr;
}
