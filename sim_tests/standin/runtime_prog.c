/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine loads at run time, used: a GPU, memory of each kind, a dma-buf, and all of it
 * given back. Says what it got; runtime.sh knows what it must be. runtime_prog GPU
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "doca_gpunetio_host.h"
#include "src/cuda_driver.h"

static const char *where(void *ptr)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *symbol = driver ? dlsym(driver, "cuPointerGetAttribute") : NULL;
	cuda_result (*get)(void *, int, cuda_ptr);
	unsigned int type = 0;

	if (!symbol)
		return "no driver";
	memcpy(&get, &symbol, sizeof(get));
	get(&type, CUDA_POINTER_ATTR_MEMORY_TYPE, (cuda_ptr)ptr);
	return type == CUDA_MEMORY_TYPE_DEVICE ? "device" : "host";
}

static void use(struct doca_gpu *gpu, enum doca_gpu_mem_type mtype, const char *name)
{
	void *dev = NULL, *cpu = NULL;
	doca_error_t status = doca_gpu_mem_alloc(gpu, 1000, 0, mtype, &dev, &cpu);

	if (status != DOCA_SUCCESS) {
		printf("%s: error %d\n", name, status);
		return;
	}
	if (cpu)
		memset(cpu, 0x5a, 1000);
	printf("%s: %s, cpu %s\n", name, where(dev), cpu ? where(cpu) : "none");
	status = doca_gpu_mem_free(gpu, dev);
	if (status != DOCA_SUCCESS)
		printf("free: error %d\n", status);
}

int main(int argc, char **argv)
{
	struct doca_gpu *gpu = NULL;
	doca_error_t status;
	void *dev, *cpu;
	int fd = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	status = doca_gpu_create(argc > 1 ? argv[1] : "cpu", &gpu);
	if (status != DOCA_SUCCESS) {
		printf("create: error %d\n", status);
		return 1;
	}
	use(gpu, DOCA_GPU_MEM_TYPE_GPU, "GPU");
	use(gpu, DOCA_GPU_MEM_TYPE_GPU_CPU, "GPU_CPU");
	use(gpu, DOCA_GPU_MEM_TYPE_CPU_GPU, "CPU_GPU");
	/* More than any stand-in has. */
	status = doca_gpu_mem_alloc(gpu, 1ul << 40, 0, DOCA_GPU_MEM_TYPE_GPU, &dev, &cpu);
	printf("too much: error %d\n", status);
	status = doca_gpu_dmabuf_fd(gpu, gpu, 4096, &fd);
	printf("dmabuf: error %d, %d\n", status, fd);
	status = doca_gpu_destroy(gpu);
	printf("destroy: error %d\n", status);
	return 0;
}
