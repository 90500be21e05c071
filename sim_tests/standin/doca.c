/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The three libraries of a DOCA SDK, as far as the engine uses them; each call leaves a line on
 * stdout. COMMON, VERBS or GPUNETIO says which. VERSION is what the first says of itself;
 * WITHOUT_DMABUF leaves a function out.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define SDK(ret, name, args)                                                                       \
	__attribute__((visibility("default"))) ret name args;                                      \
	ret name args

#ifdef COMMON
SDK(const char *, doca_version_runtime, (void))
{
	return VERSION;
}
#endif

#ifdef VERBS
SDK(int, doca_verbs_standin, (void))
{
	return 0;
}
#endif

#ifdef GPUNETIO
int doca_verbs_standin(void); /* it needs the library before it */

struct gpu {
	char bus_id[32];
	int blocks;
};

SDK(int, doca_gpu_create, (const char *bus_id, void **gpu))
{
	struct gpu *g;

	if (getenv("STANDIN_SDK_REFUSES"))
		return 28; /* DOCA_ERROR_AUTHENTICATION: not one that the engine gives */
	g = calloc(1, sizeof(*g));
	if (!g)
		return 7;
	snprintf(g->bus_id, sizeof(g->bus_id), "%s", bus_id);
	printf("sdk create %s %d\n", bus_id, doca_verbs_standin());
	*gpu = g;
	return 0;
}

SDK(int, doca_gpu_mem_free, (void *gpu, void *memptr_gpu))
{
	struct gpu *g = gpu;

	g->blocks--;
	printf("sdk free\n");
	free(memptr_gpu);
	return 0;
}

SDK(int, doca_gpu_mem_alloc,
    (void *gpu, size_t size, size_t alignment, int mtype, void **memptr_gpu, void **memptr_cpu))
{
	struct gpu *g = gpu;

	printf("sdk alloc %zu %zu %d\n", size, alignment, mtype);
	if (size > 1 << 20)
		return 7; /* DOCA_ERROR_NO_MEMORY */
	*memptr_gpu = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
	if (memptr_cpu)
		*memptr_cpu = mtype ? *memptr_gpu : NULL;
	g->blocks++;
	return *memptr_gpu ? 0 : 7;
}

/*
 * Frees what it keeps through its own function: the engine exports one of that name, which must not
 * be found instead. (Where it would be, under a sanitizer, STANDIN_SDK_ALONE forgoes it.)
 */
SDK(int, doca_gpu_destroy, (void *gpu))
{
	struct gpu *g = gpu;

	printf("sdk destroy, %d blocks\n", g->blocks);
	if (!getenv("STANDIN_SDK_ALONE"))
		doca_gpu_mem_free(gpu, malloc(1));
	free(g);
	return 0;
}

#ifndef WITHOUT_DMABUF
SDK(int, doca_gpu_dmabuf_fd, (void *gpu, void *memptr_gpu, size_t size, int *fd))
{
	(void)gpu, (void)memptr_gpu;
	printf("sdk dmabuf %zu\n", size);
	*fd = 77;
	return 0;
}
#endif
#endif
