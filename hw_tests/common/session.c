// SPDX-License-Identifier: BSD-3-Clause
/* One session: kernel runtime, GPU, RDMA device, memory. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hw_tests/common/hwt.h"
#include "hw_tests/common/oob.h"

#define GPU_DIR	     "/proc/driver/nvidia/gpus" /* one folder per GPU, named by its PCI address */
#define GPU_DRIVER   "/dev/nvidiactl"
#define PAGE_BYTES   4096u
#define WAIT_STEP_US 50

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return -1;
}

static int fail_rt(struct hwt *h, const char *what, int error)
{
	return fail(what, h->rt->error_string(error));
}

/* PCI address of the first GPU, in out. */
static int first_gpu(char *out, size_t len)
{
	DIR *dir = opendir(GPU_DIR);
	struct dirent *entry;

	out[0] = 0;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && (!out[0] || strcmp(entry->d_name, out) < 0))
			snprintf(out, len, "%.*s", (int)len - 1, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return out[0] ? 0 : fail(GPU_DIR, "no GPU found there; name one with -g");
}

/* The CUDA runtime speaks of its driver's version where there is no driver, hence no GPU, at all.
 */
static int fail_rt_open(const struct hwt *h, const char *why)
{
	char what[96];

	snprintf(what, sizeof(what), "-g %.64s", h->opt->gpu ? h->opt->gpu : "auto");
	if (access(GPU_DRIVER, F_OK) && access(GPU_DIR, F_OK))
		why = "no NVIDIA GPU on this machine (-g cpu runs the kernels on the CPU)";
	return fail(what, why);
}

static int open_gpu(struct hwt *h)
{
	bool cpu = h->opt->gpu && !strcmp(h->opt->gpu, "cpu");
	bool named = h->opt->gpu && strcmp(h->opt->gpu, "gpu") != 0;
	const char *why = NULL;
	char address[64] = "cpu";
	doca_error_t error;
	int rc;

	h->rt = gdakit_rt_open(cpu ? "cpu" : h->opt->gpu ? "gpu" : "auto", &why);
	if (!h->rt)
		return fail_rt_open(h, why);
	if (h->rt->is_gpu && named)
		snprintf(address, sizeof(address), "%s", h->opt->gpu);
	else if (h->rt->is_gpu && first_gpu(address, sizeof(address)))
		return -1;
	rc = h->rt->set_device(h->rt->is_gpu ? address : NULL);
	if (rc)
		return fail_rt(h, address, rc);
	error = doca_gpu_create(address, &h->gpu);
	if (error)
		return hwt_check("doca_gpu_create", error);
	if (h->rt->is_gpu)
		snprintf(h->kernel_on, sizeof(h->kernel_on), "GPU %s", address);
	else
		snprintf(h->kernel_on, sizeof(h->kernel_on), "CPU (emu/simt)");
	rc = h->rt->stream_create(&h->stream);
	if (!rc)
		rc = h->rt->event_create(&h->start);
	if (!rc)
		rc = h->rt->event_create(&h->stop);
	return rc ? fail_rt(h, "stream and events", rc) : 0;
}

static int open_nic(struct hwt *h)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	for (int i = 0; list && i < n && !h->ctx; i++) {
		if (h->opt->device && strcmp(ibv_get_device_name(list[i]), h->opt->device) != 0)
			continue;
		h->ctx = ibv_open_device(list[i]);
		if (!h->ctx)
			fail(ibv_get_device_name(list[i]), strerror(errno));
		break;
	}
	if (list)
		ibv_free_device_list(list);
	if (!h->ctx)
		return fail(h->opt->device ? h->opt->device : "RDMA device",
			    "not found (gdakit run gives every program one)");
	h->pd = ibv_alloc_pd(h->ctx);
	if (!h->pd)
		return fail("ibv_alloc_pd", strerror(errno));
	if (ibv_query_port(h->ctx, 1, &h->port))
		return fail("ibv_query_port", strerror(errno));
	if (ibv_query_gid(h->ctx, 1, h->opt->gid_index, &h->gid))
		return fail("ibv_query_gid", strerror(errno));
	return 0;
}

int hwt_open(struct hwt *h, const struct hwt_options *opt)
{
	memset(h, 0, sizeof(*h));
	h->opt = opt;
	h->sock = -1;
	oob_set_timeout(opt->timeout_s * 1000);
	return open_gpu(h) ? -1 : open_nic(h);
}

static void close_qps(struct hwt *h)
{
	if (h->proxy)
		doca_gpu_verbs_destroy_service(h->proxy);
	if (h->qps_dev)
		doca_gpu_verbs_unexport_multi_qps_dev(h->gpu, h->gverbs, h->qp_count, h->qps_dev);
	for (uint32_t i = 0; i < h->qp_count; i++)
		doca_gpu_verbs_destroy_qp_hl(h->qp[i]);
	h->qp_count = 0;
}

void hwt_close(struct hwt *h)
{
	close_qps(h);
	if (h->sock >= 0)
		close(h->sock);
	if (h->start)
		h->rt->event_destroy(h->start);
	if (h->stop)
		h->rt->event_destroy(h->stop);
	if (h->stream)
		h->rt->stream_destroy(h->stream);
	if (h->pd && ibv_dealloc_pd(h->pd))
		fail("ibv_dealloc_pd", strerror(errno));
	if (h->ctx)
		ibv_close_device(h->ctx);
	if (h->gpu && doca_gpu_destroy(h->gpu))
		fail("doca_gpu_destroy", "memory is still allocated");
}

static size_t whole_pages(size_t size)
{
	return (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

int hwt_mem_host(struct hwt *h, struct hwt_mem *mem, size_t size, int access)
{
	*mem = (struct hwt_mem){.size = whole_pages(size)};
	mem->ptr = mmap(NULL, mem->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->ptr == MAP_FAILED) {
		mem->ptr = NULL;
		return fail("memory", strerror(errno));
	}
	mem->mr = ibv_reg_mr(h->pd, mem->ptr, mem->size, access);
	return mem->mr ? 0 : fail("ibv_reg_mr", strerror(errno));
}

/* By dma-buf where the GPU gives one, else by address (host memory, or a peer-memory driver). */
static struct ibv_mr *register_gpu(struct hwt *h, const struct hwt_mem *mem, int access)
{
	struct ibv_mr *mr = NULL;
	int fd;

	if (!doca_gpu_dmabuf_fd(h->gpu, mem->ptr, mem->size, &fd)) {
		mr = ibv_reg_dmabuf_mr(h->pd, 0, mem->size, (uintptr_t)mem->ptr, fd, access);
		close(fd);
	}
	return mr ? mr : ibv_reg_mr(h->pd, mem->ptr, mem->size, access);
}

int hwt_mem_gpu(struct hwt *h, struct hwt_mem *mem, size_t size, int access)
{
	doca_error_t error;

	*mem = (struct hwt_mem){.size = whole_pages(size), .on_gpu = true};
	error = doca_gpu_mem_alloc(h->gpu, mem->size, PAGE_BYTES, DOCA_GPU_MEM_TYPE_GPU, &mem->ptr,
				   NULL);
	if (error)
		return hwt_check("doca_gpu_mem_alloc", error);
	mem->mr = register_gpu(h, mem, access);
	return mem->mr ? 0 : fail("registering GPU memory", strerror(errno));
}

void hwt_mem_free(struct hwt *h, struct hwt_mem *mem)
{
	if (mem->mr && ibv_dereg_mr(mem->mr))
		fail("ibv_dereg_mr", strerror(errno));
	if (mem->ptr && mem->on_gpu)
		doca_gpu_mem_free(h->gpu, mem->ptr);
	else if (mem->ptr)
		munmap(mem->ptr, mem->size);
	memset(mem, 0, sizeof(*mem));
}

int hwt_wait_kernel(struct hwt *h, const char *what)
{
	struct timespec now, end, step = {.tv_nsec = WAIT_STEP_US * 1000};
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += h->opt->timeout_s;
	for (;;) {
		rc = h->rt->stream_query(h->stream);
		if (rc != GDAKIT_RT_NOT_READY)
			return rc ? fail_rt(h, what, rc) : 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec)
			break;
		nanosleep(&step, NULL);
	}
	fprintf(stderr, "%s: the kernel did not end within %d s: a completion is missing\n", what,
		h->opt->timeout_s);
	fflush(NULL);
	_exit(HWT_EXIT_HUNG);
}

int hwt_check_status(struct hwt *h, const struct hwt_status *status, const char *what)
{
	struct doca_gpu_verbs_qp_error_info info;

	if (!status->failed)
		return 0;
	fprintf(stderr,
		"%s: %u requests completed in error, among them one of thread %u (poll gave %d: "
		"%s)\n",
		what, status->failed, status->thread, status->error,
		strerror(status->error < 0 ? -status->error : status->error));
	for (uint32_t i = 0; i < h->qp_count; i++) {
		memset(&info, 0, sizeof(info));
		if (!doca_gpu_verbs_query_last_error(h->gverbs[i], &info) && info.has_error)
			fprintf(stderr, "%s: QP 0x%x: syndrome 0x%x, vendor 0x%x, WQE %d\n", what,
				doca_verbs_qp_get_qpn(h->qp[i]->qp), info.syndrome,
				info.vendor_err_synd, info.wqe_counter);
	}
	return -1;
}
