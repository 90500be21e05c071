/* SPDX-License-Identifier: BSD-3-Clause */
/* gdakit_rt on the CUDA runtime; compiled by nvcc where there is one. */
#include <cuda_runtime.h>

#include "gdakit_rt.h"

/* A failing call leaves a sticky copy of its error: take it away, we return it. */
static int taken(cudaError_t error)
{
	if (error != cudaSuccess)
		(void)cudaGetLastError();
	return static_cast<int>(error);
}

static int rt_probe(const char **why)
{
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	if (error == cudaSuccess && count == 0)
		error = cudaErrorNoDevice;
	if (why != nullptr)
		*why = error == cudaSuccess ? "a CUDA device is there" : cudaGetErrorString(error);
	return taken(error);
}

static int rt_set_device(const char *bus_id)
{
	int device = 0;
	cudaError_t error = cudaSuccess;

	if (bus_id != nullptr)
		error = cudaDeviceGetByPCIBusId(&device, bus_id);
	if (error == cudaSuccess)
		error = cudaSetDevice(device);
	if (error == cudaSuccess)
		error = cudaFree(
			nullptr); /* make the context now, not in the first measured call */
	return taken(error);
}

static int rt_stream_create(gdakit_stream *stream)
{
	return taken(cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t *>(stream),
					       cudaStreamNonBlocking));
}

static int rt_stream_destroy(gdakit_stream stream)
{
	cudaError_t error = cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
	cudaError_t destroyed = cudaStreamDestroy(static_cast<cudaStream_t>(stream));

	return taken(error != cudaSuccess ? error : destroyed);
}

static int rt_stream_synchronize(gdakit_stream stream)
{
	return taken(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

static int rt_stream_query(gdakit_stream stream)
{
	cudaError_t error = cudaStreamQuery(static_cast<cudaStream_t>(stream));

	return error == cudaErrorNotReady ? static_cast<int>(GDAKIT_RT_NOT_READY) : taken(error);
}

static int rt_event_create(gdakit_event *event)
{
	return taken(cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t *>(event),
					      cudaEventBlockingSync));
}

static int rt_event_destroy(gdakit_event event)
{
	return taken(cudaEventDestroy(static_cast<cudaEvent_t>(event)));
}

static int rt_event_record(gdakit_event event, gdakit_stream stream)
{
	return taken(cudaEventRecord(static_cast<cudaEvent_t>(event),
				     static_cast<cudaStream_t>(stream)));
}

static int rt_event_synchronize(gdakit_event event)
{
	return taken(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
}

static int rt_event_elapsed(float *ms, gdakit_event start, gdakit_event end)
{
	return taken(cudaEventElapsedTime(ms, static_cast<cudaEvent_t>(start),
					  static_cast<cudaEvent_t>(end)));
}

/* cudaMalloc aligns to 256 bytes only, but gives large blocks on 64 KiB and more; small ones are
 * rounded up to such a block. */
static int rt_mem_alloc(void **ptr, size_t size)
{
	const size_t page = 2u << 20;

	return taken(cudaMalloc(ptr, (size + page - 1) / page * page));
}

static int rt_mem_free(void *ptr)
{
	return taken(cudaFree(ptr));
}

static int rt_host_alloc(void **ptr, size_t size)
{
	cudaError_t error = cudaHostAlloc(ptr, size, cudaHostAllocMapped | cudaHostAllocPortable);

	if (error == cudaSuccess)
		error = cudaMemset(*ptr, 0, size);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	return taken(error);
}

static int rt_host_free(void *ptr)
{
	return taken(cudaFreeHost(ptr));
}

static int rt_copy(void *dst, const void *src, size_t size)
{
	return taken(cudaMemcpy(dst, src, size, cudaMemcpyDefault));
}

static int rt_fill(void *dst, int byte, size_t size)
{
	cudaError_t error = cudaMemset(dst, byte, size);

	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	return taken(error);
}

static const char *rt_error_string(int error)
{
	return cudaGetErrorString(static_cast<cudaError_t>(error));
}

extern "C" const struct gdakit_rt gdakit_rt_cuda = {
	"cuda",
	true,
	rt_probe,
	rt_set_device,
	rt_stream_create,
	rt_stream_destroy,
	rt_stream_synchronize,
	rt_stream_query,
	rt_event_create,
	rt_event_destroy,
	rt_event_record,
	rt_event_synchronize,
	rt_event_elapsed,
	rt_mem_alloc,
	rt_mem_free,
	rt_host_alloc,
	rt_host_free,
	rt_copy,
	rt_fill,
	rt_error_string,
};
