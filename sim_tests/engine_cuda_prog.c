/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's GPU memory on a real GPU: engine_cuda_prog PCI_ADDRESS. Each kind is allocated,
 * filled, copied and read back; prints what the GPU offers. Exit code 0: as expected; 1: a
 * sentence; 77: no GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_driver.h"
#include "gpu.h"

enum { BYTES = 100000, SKIPPED = 77 };

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static uint8_t image[BYTES], back[BYTES];

static void try_kind(struct doca_gpu *gpu, enum doca_gpu_mem_type kind, const char *name)
{
	struct gpu_mem *mem = &gpu->mem;
	uint8_t *cpu = NULL;
	void *dev = NULL;

	CHECK(doca_gpu_mem_alloc(gpu, BYTES, 65536, kind, &dev, (void **)&cpu) == DOCA_SUCCESS);
	CHECK((uintptr_t)dev % 65536 == 0);
	CHECK((cpu == NULL) == (kind == DOCA_GPU_MEM_TYPE_GPU));
	CHECK(mem->ops->is_device_memory(mem, dev) ==
	      (kind == DOCA_GPU_MEM_TYPE_GPU ||
	       (kind == DOCA_GPU_MEM_TYPE_GPU_CPU && mem->can_map_cpu)));
	CHECK(!mem->ops->is_device_memory(mem, image));
	for (size_t i = 0; i < BYTES; i++)
		image[i] = (uint8_t)(i * 31 + (size_t)kind);
	CHECK(mem->ops->fill(mem, dev, 0x11, BYTES) == DOCA_SUCCESS);
	CHECK(mem->ops->copy(mem, dev, image, BYTES - 1) == DOCA_SUCCESS);
	CHECK(mem->ops->copy(mem, back, dev, BYTES) == DOCA_SUCCESS);
	CHECK(memcmp(back, image, BYTES - 1) == 0 && back[BYTES - 1] == 0x11);
	if (cpu) {
		CHECK(mem->ops->sync(mem) == DOCA_SUCCESS);
		CHECK(memcmp(cpu, image, BYTES - 1) == 0);
		cpu[5] = 0x99;
		__sync_synchronize();
		CHECK(mem->ops->copy(mem, back, dev, 16) == DOCA_SUCCESS && back[5] == 0x99);
	}
	if (kind != DOCA_GPU_MEM_TYPE_CPU_GPU) {
		memset(back, 0, BYTES);
		CHECK(mem->ops->peek(mem, back, dev, BYTES) == DOCA_SUCCESS);
		CHECK(memcmp(back + 6, image + 6, BYTES - 7) == 0);
	}
	printf("%s: ok at %p\n", name, dev);
	CHECK(doca_gpu_mem_free(gpu, dev) == DOCA_SUCCESS);
}

static void *other_thread(void *arg)
{
	/* A thread without a current context: the primary one is used. */
	try_kind(arg, DOCA_GPU_MEM_TYPE_GPU, "GPU, from another thread");
	return NULL;
}

int main(int argc, char **argv)
{
	bool can_map;
	struct doca_gpu *gpu;
	pthread_t thread;
	void *dev, *page;
	int fd = -1;

	if (argc != 2) {
		fprintf(stderr, "usage: %s PCI_ADDRESS\n", argv[0]);
		return 1;
	}
	if (!cuda_get()) {
		printf("no CUDA device\n");
		return SKIPPED;
	}
	CHECK(doca_gpu_create("ff:1f.7", &gpu) == DOCA_ERROR_NOT_FOUND);
	CHECK(doca_gpu_create(argv[1], &gpu) == DOCA_SUCCESS);
	CHECK(!gpu->mem.is_host);
	printf("dma-buf %d, GDRCopy %d\n", gpu->mem.has_dmabuf, gpu->mem.can_map_cpu);
	try_kind(gpu, DOCA_GPU_MEM_TYPE_GPU, "GPU");
	try_kind(gpu, DOCA_GPU_MEM_TYPE_GPU_CPU, "GPU_CPU");
	try_kind(gpu, DOCA_GPU_MEM_TYPE_CPU_GPU, "CPU_GPU");
	CHECK(pthread_create(&thread, NULL, other_thread, gpu) == 0);
	pthread_join(thread, NULL);

	CHECK(doca_gpu_mem_alloc(gpu, 65536, 65536, DOCA_GPU_MEM_TYPE_GPU, &dev, NULL) ==
	      DOCA_SUCCESS);
	if (doca_gpu_dmabuf_fd(gpu, dev, 65536, &fd) == DOCA_SUCCESS) {
		printf("dma-buf: ok\n");
		close(fd);
	} else {
		printf("dma-buf: refused\n");
	}
	CHECK(doca_gpu_mem_free(gpu, dev) == DOCA_SUCCESS);

	/* A page of ordinary memory is no doorbell page; which answer a driver gives is its own
	 * affair. */
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK(uar_can_map(&gpu->mem, page, &can_map) == DOCA_SUCCESS);
	printf("ordinary page as doorbell page: %s\n", can_map ? "mapped" : "refused");
	CHECK(doca_gpu_destroy(gpu) == DOCA_SUCCESS);
	printf("engine: GPU memory ok\n");
	return 0;
}
