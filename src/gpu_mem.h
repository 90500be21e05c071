/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place where the library meets a GPU: memory that kernels reach, copies to it, and
 * mappings of host pages into it. Two implementations: the CUDA driver (gpu_mem_cuda.c) and plain
 * host memory (gpu_mem_host.c), where a kernel is code of the CPU and every address is a host
 * address.
 */
#ifndef GDAKIT_GPU_MEM_H
#define GDAKIT_GPU_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/doca_error.h"

struct gpu_mem;

/* One allocation of GPU memory. Owner: whoever called alloc; filled by it. */
struct gpu_mem_block {
	void *gpu;	       /* aligned address for kernels */
	void *cpu;	       /* the CPU's view, NULL if there is none */
	void *base;	       /* what the allocator gave */
	size_t size;	       /* bytes usable from gpu on */
	unsigned long mapping; /* handle of the CPU's view */
};

/* All functions are thread-safe for different blocks. mem is never NULL. Sizes are in bytes. */
struct gpu_mem_ops {
	const char *name;
	doca_error_t (*open)(struct gpu_mem *mem, const char *bus_id);
	void (*close)(struct gpu_mem *mem);
	doca_error_t (*alloc)(struct gpu_mem *mem, size_t size, size_t alignment,
			      struct gpu_mem_block *block);
	doca_error_t (*map_cpu)(struct gpu_mem *mem, struct gpu_mem_block *block);
	void (*free)(struct gpu_mem *mem, struct gpu_mem_block *block);
	/* ALREADY_EXIST: mapped before; *gpu is valid and there is nothing to unregister. */
	doca_error_t (*host_register)(struct gpu_mem *mem, void *addr, size_t size, bool is_io,
				      void **gpu);
	doca_error_t (*host_unregister)(struct gpu_mem *mem, void *addr);
	/* Whether a CPU access would fault because ptr lies in a GPU. */
	bool (*is_device_memory)(struct gpu_mem *mem, const void *ptr);
	/* Either address may be GPU or host memory; returns when done; may wait for kernels. */
	doca_error_t (*copy)(struct gpu_mem *mem, void *dst, const void *src, size_t size);
	/* GPU to host memory, without waiting for running kernels. */
	doca_error_t (*peek)(struct gpu_mem *mem, void *dst, const void *src, size_t size);
	doca_error_t (*fill)(struct gpu_mem *mem, void *dst, uint8_t byte, size_t size);
	doca_error_t (*dmabuf_fd)(struct gpu_mem *mem, void *gpu, size_t size, int *fd);
	doca_error_t (*sync)(struct gpu_mem *mem);
};

/* A GPU. Written by open only; then read by any thread. */
struct gpu_mem {
	const struct gpu_mem_ops *ops;
	int device;	  /* CUDA ordinal */
	void *context;	  /* its primary context, retained */
	void *stream;	  /* for peek; waits for nothing but itself */
	bool has_dmabuf;  /* dmabuf_fd may succeed */
	bool can_map_cpu; /* map_cpu may succeed */
	bool is_host;	  /* addresses are host addresses */
};

extern const struct gpu_mem_ops gpu_mem_host_ops;
extern const struct gpu_mem_ops gpu_mem_cuda_ops;

/*
 * Opens bus_id with the implementation that this machine has; "cpu" is host memory on any machine.
 */
doca_error_t gpu_mem_open(struct gpu_mem *mem, const char *bus_id);

/*
 * The GPU of calls that name none: the thread's current CUDA context, else host memory. There is no
 * close for it; nothing is retained.
 */
void gpu_mem_current(struct gpu_mem *mem);

#endif
