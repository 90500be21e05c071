/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU memory, on host memory and on a CUDA driver that the test plays. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "engine_fake.h"
#include "gpu.h"

static void use_cuda(void)
{
	memset(&fake_cuda, 0, sizeof(fake_cuda));
	fake_cuda.has_dmabuf = true;
	cuda_inject(&fake_cuda_ops, &fake_gdr_ops);
}

static void cuda_is_clean(void)
{
	cr_assert_eq(fake_cuda.allocations, 0);
	cr_assert_eq(fake_cuda.registrations, 0);
	cr_assert_eq(fake_cuda.mappings, 0);
	cr_assert_eq(fake_cuda.contexts, 0);
	cr_assert_eq(fake_cuda.streams, 0);
	cr_assert_eq(fake_cuda.depth, 0, "every push has its pop");
	cr_assert_eq(fake.blocks, 0);
}

Test(engine_gpu, host_memory_takes_a_pci_address_or_cpu)
{
	static const char *const good[] = {"cpu", "0000:3b:00.0", "3b:00.0", "00:01", "0000:3b:00"};
	static const char *const bad[] = {"",	     "gpu",   "3b",	"3b:00.0.0",
					  "3b:zz.0", ":00.0", "3b:00.", "1:2:3:4.0"};
	struct doca_gpu *gpu;

	cr_assert_eq(doca_gpu_create(NULL, &gpu), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_create("cpu", NULL), DOCA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(doca_gpu_create(good[i], &gpu), DOCA_SUCCESS, "%s", good[i]);
		cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(doca_gpu_create(bad[i], &gpu), DOCA_ERROR_NOT_FOUND, "\"%s\"", bad[i]);
}

static void check_kinds(struct doca_gpu *gpu)
{
	static const size_t alignments[] = {0, 1, 64, 4096, 65536};

	for (int kind = DOCA_GPU_MEM_TYPE_GPU; kind <= DOCA_GPU_MEM_TYPE_CPU_GPU; kind++) {
		for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++) {
			size_t want = alignments[i] ? alignments[i] : 4096;
			void *dev = NULL, *cpu = (void *)1;

			cr_assert_eq(doca_gpu_mem_alloc(gpu, 1000, alignments[i],
							(enum doca_gpu_mem_type)kind, &dev, &cpu),
				     DOCA_SUCCESS);
			if (kind == DOCA_GPU_MEM_TYPE_CPU_GPU)
				cr_assert_eq((uintptr_t)cpu % want, 0, "alignment %zu", want);
			else
				cr_assert_eq((uintptr_t)dev % want, 0, "alignment %zu", want);
			if (kind == DOCA_GPU_MEM_TYPE_GPU)
				cr_assert_null(cpu);
			else
				memset(cpu, 0x5a, 1000);
			cr_assert_eq(doca_gpu_destroy(gpu), DOCA_ERROR_INVALID_VALUE,
				     "a GPU with memory out stays");
			cr_assert_eq(doca_gpu_mem_free(gpu, (char *)dev + 1),
				     DOCA_ERROR_INVALID_VALUE);
			cr_assert_eq(doca_gpu_mem_free(gpu, dev), DOCA_SUCCESS);
			cr_assert_eq(doca_gpu_mem_free(gpu, dev), DOCA_ERROR_INVALID_VALUE,
				     "twice");
		}
	}
}

static void check_arguments(struct doca_gpu *gpu)
{
	void *dev, *cpu;

	cr_assert_eq(doca_gpu_mem_alloc(NULL, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &dev, NULL),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 0, 0, DOCA_GPU_MEM_TYPE_GPU, &dev, NULL),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 1, 3, DOCA_GPU_MEM_TYPE_GPU, &dev, NULL),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 1, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &dev, NULL),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 1, 0, (enum doca_gpu_mem_type)3, &dev, &cpu),
		     DOCA_ERROR_INVALID_VALUE);
}

Test(engine_gpu, host_memory_serves_every_kind)
{
	struct doca_gpu *gpu;
	void *dev, *cpu;
	int fd;

	cr_assert_eq(doca_gpu_create("cpu", &gpu), DOCA_SUCCESS);
	check_kinds(gpu);
	check_arguments(gpu);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 64, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &dev, &cpu),
		     DOCA_SUCCESS);
	cr_assert_eq(dev, cpu, "one address for both");
	cr_assert_eq(doca_gpu_dmabuf_fd(gpu, dev, 64, &fd), DOCA_ERROR_NOT_SUPPORTED);
	cr_assert_eq(doca_gpu_mem_free(gpu, dev), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
}

Test(engine_gpu, cuda_serves_every_kind_and_gives_everything_back, .init = use_cuda)
{
	struct doca_gpu *gpu;

	cr_assert_eq(doca_gpu_create("0000:99:00.0", &gpu), DOCA_ERROR_NOT_FOUND);
	cr_assert_eq(doca_gpu_create("0000:17:00.0", &gpu), DOCA_SUCCESS);
	check_kinds(gpu);
	check_arguments(gpu);
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	cuda_is_clean();
}

Test(engine_gpu, cuda_without_gdrcopy_gives_pinned_memory, .init = use_cuda)
{
	struct doca_gpu *gpu;
	void *dev, *cpu;

	cuda_inject(&fake_cuda_ops, NULL);
	cr_assert_eq(doca_gpu_create("0000:17:00.0", &gpu), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 100, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &dev, &cpu),
		     DOCA_SUCCESS);
	cr_assert_eq(fake_cuda.registrations, 1);
	cr_assert_neq(dev, cpu);
	cr_assert_eq(doca_gpu_mem_free(gpu, dev), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	cuda_is_clean();
}

Test(engine_gpu, pinned_memory_takes_no_more_than_was_asked_for, .init = use_cuda)
{
	struct doca_gpu *gpu;
	void *dev, *cpu;

	fake.fail_kinds = FAKE_MEMORY;
	cr_assert_eq(doca_gpu_create("0000:17:00.0", &gpu), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 1 << 20, 65536, DOCA_GPU_MEM_TYPE_CPU_GPU, &dev, &cpu),
		     DOCA_SUCCESS);
	cr_assert_leq(fake.largest_block, (1 << 20) + 65536, "not once for each byte of alignment");
	cr_assert_eq(doca_gpu_mem_free(gpu, dev), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	cuda_is_clean();
}

Test(engine_gpu, cpu_is_host_memory_even_with_cuda, .init = use_cuda)
{
	struct doca_gpu *gpu;

	cr_assert_eq(doca_gpu_create("cpu", &gpu), DOCA_SUCCESS);
	cr_assert(gpu->mem.is_host);
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	cuda_is_clean();
}

Test(engine_gpu, dmabuf_of_cuda_memory, .init = use_cuda)
{
	struct doca_gpu *gpu;
	void *dev;
	int fd = -1;

	cr_assert_eq(doca_gpu_create("0000:17:00.0", &gpu), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_mem_alloc(gpu, 4096, 4096, DOCA_GPU_MEM_TYPE_GPU, &dev, NULL),
		     DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_dmabuf_fd(gpu, dev, 4096, &fd), DOCA_SUCCESS);
	cr_assert_geq(fd, 0);
	close(fd);
	gpu->mem.has_dmabuf = false;
	cr_assert_eq(doca_gpu_dmabuf_fd(gpu, dev, 4096, &fd), DOCA_ERROR_NOT_SUPPORTED);
	cr_assert_eq(doca_gpu_mem_free(gpu, dev), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
}

Test(engine_gpu, a_register_on_the_host_is_its_own_gpu_address)
{
	static uint64_t page[512] __attribute__((aligned(4096)));
	uint64_t *gpu;
	bool can = false;

	cr_assert_eq(doca_gpu_verbs_can_gpu_register_uar(NULL, &can), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_can_gpu_register_uar(page, &can), DOCA_SUCCESS);
	cr_assert(can);
	cr_assert_eq(doca_gpu_verbs_export_uar(&page[256], &gpu), DOCA_SUCCESS);
	cr_assert_eq(gpu, &page[256]);
	cr_assert_eq(doca_gpu_verbs_unexport_uar(gpu), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_unexport_uar(gpu), DOCA_ERROR_INVALID_VALUE);
}

Test(engine_gpu, registers_of_one_page_share_one_counted_mapping, .init = use_cuda)
{
	static uint64_t page[512] __attribute__((aligned(4096)));
	uint64_t *a, *b, *c;
	struct gpu_mem mem;

	cr_assert_eq(gpu_mem_open(&mem, "0000:17:00.0"), DOCA_SUCCESS);
	cr_assert_eq(uar_map(&mem, &page[256], &a), DOCA_SUCCESS);
	cr_assert_eq(uar_map(&mem, &page[256], &b), DOCA_SUCCESS);
	cr_assert_eq(uar_map(&mem, &page[288], &c), DOCA_SUCCESS);
	cr_assert_eq(fake_cuda.registrations, 1);
	cr_assert_eq(fake_cuda.last_register_flags, 7, "portable, mapped, I/O memory");
	cr_assert_eq(a, b);
	cr_assert_eq(c, a + 32);
	cr_assert_neq(a, &page[256], "the GPU has its own address for it");
	cr_assert_eq(uar_unmap(&page[256]), DOCA_ERROR_INVALID_VALUE, "a host address");
	cr_assert_eq(uar_unmap(a), DOCA_SUCCESS);
	cr_assert_eq(uar_unmap(b), DOCA_SUCCESS);
	cr_assert_eq(fake_cuda.registrations, 1);
	cr_assert_eq(uar_unmap(c), DOCA_SUCCESS);
	mem.ops->close(&mem);
	cuda_is_clean();
}

Test(engine_gpu, a_register_that_cuda_refuses_is_asked_for_every_time, .init = use_cuda)
{
	static uint64_t page[512] __attribute__((aligned(4096)));
	struct gpu_mem mem;
	uint64_t *gpu;
	bool can;

	cr_assert_eq(gpu_mem_open(&mem, "0000:17:00.0"), DOCA_SUCCESS);
	fake_cuda.refuses_io = true;
	cr_assert_eq(uar_can_map(&mem, page, &can), DOCA_SUCCESS);
	cr_assert_not(can);
	cr_assert_eq(uar_map(&mem, page, &gpu), DOCA_ERROR_DRIVER);
	fake_cuda.refuses_io = false;
	cr_assert_eq(uar_can_map(&mem, page, &can), DOCA_SUCCESS);
	cr_assert(can, "no answer is kept");
	mem.ops->close(&mem);
	cuda_is_clean();
}
