/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring tests' kernels on a GPU, against the toy NIC as a host thread: rings, CQ, doorbell
 * record and register in pinned host memory, the QP's own state in GPU memory. Needs nvcc to build
 * and a GPU to run (exit 77 without one). Prints a line for each case.
 */
#include <cstdlib>
#include <new>

#include "device_ring_kernels.cuh"
#include "device_toy_nic.h"

/* The toy's driver can attach itself to the CPU executor, which is not linked here. */
int simt_attach(simt_poll_fn, void *)
{
	abort();
}

int simt_detach(simt_poll_fn, void *)
{
	abort();
}

typedef void (*put_kernel_fn)(put_args);

static const struct gdakit_rt *const rt = &gdakit_rt_cuda;

static void must(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, rt->error_string(error));
	exit(1);
}

template <typename T>
static T *host_array(size_t n)
{
	void *p = nullptr;

	must(rt->host_alloc(&p, n * sizeof(T)), "host_alloc");
	return static_cast<T *>(p);
}

/* A toy NIC in pinned memory, and the device view of its QP in GPU memory. */
struct gpu_nic {
	toy_nic *nic;
	struct doca_gpu_dev_verbs_qp *qp;

	gpu_nic(uint32_t depth, uint64_t start, enum doca_gpu_dev_verbs_nic_handler handler)
	    : nic(new (host_array<toy_nic>(1)) toy_nic(depth, start, handler))
	{
		void *p = nullptr;

		nic->qp.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
		nic->qp.sq_wqe_daddr = host_array<uint8_t>(depth * 64);
		nic->qp.cq_sq.cqe_daddr = host_array<uint8_t>(depth * 64);
		for (uint32_t i = 0; i < depth; i++)
			nic->cqe(i)[63] = 0xf1;
		must(rt->mem_alloc(&p, sizeof(nic->qp)), "mem_alloc");
		qp = static_cast<struct doca_gpu_dev_verbs_qp *>(p);
		must(rt->copy(qp, &nic->qp, sizeof(nic->qp)), "copy");
	}

	~gpu_nic()
	{
		rt->mem_free(qp);
		rt->host_free(nic->qp.sq_wqe_daddr);
		rt->host_free(nic->qp.cq_sq.cqe_daddr);
		nic->~toy_nic();
		rt->host_free(nic);
	}
};

static int run_case(const char *name, put_kernel_fn kernel, dim3 grid, dim3 block, uint32_t ops,
		    uint32_t depth, uint64_t start, enum doca_gpu_dev_verbs_nic_handler handler)
{
	const uint32_t size = 24, threads = grid.x * block.x;
	const size_t bytes = (size_t)threads * ops * size;
	uint8_t *local = host_array<uint8_t>(bytes), *remote = host_array<uint8_t>(bytes);
	uint32_t *failed = host_array<uint32_t>(1);
	gpu_nic g(depth, start, handler);
	toy_nic *nic = g.nic;
	struct doca_gpu_dev_verbs_qp after;
	gdakit_stream stream;

	for (size_t i = 0; i < bytes; i++)
		local[i] = (uint8_t)(i * 7 + i / 251);
	must(rt->stream_create(&stream), "stream_create");
	{
		toy_driver driver(nic, true);

		must(GDAKIT_LAUNCH(kernel, grid, block, 0, stream,
				   put_args{g.qp, local, remote, htobe32(toy_nic::rkey),
					    htobe32(toy_nic::lkey), ops, size, failed}),
		     "launch");
		must(rt->stream_synchronize(stream), "kernel");
	}
	must(rt->copy(&after, g.qp, sizeof(after)), "copy back");
	must(rt->stream_destroy(stream), "stream_destroy");
	bool same = memcmp(local, remote, bytes) == 0;
	bool counted = nic->next - start == (uint64_t)threads * ops &&
		       after.sq_rsvd_index == nic->next && after.sq_ready_index == nic->next &&
		       after.sq_wqe_pi == nic->next && after.cq_sq.cqe_ci == nic->next;
	bool ok = same && counted && *failed == 0 && nic->faults == 0;

	printf("%s %s depth %u start %llu handler %d: %llu WQEs, %llu doorbells%s%s%s\n",
	       ok ? "ok  " : "FAIL", name, depth, (unsigned long long)start, (int)handler,
	       (unsigned long long)(nic->next - start), (unsigned long long)nic->rung,
	       same ? "" : ", data differs", counted ? "" : ", counters differ",
	       nic->faults != 0 ? (", " + nic->first_fault).c_str() : "");
	fflush(stdout);
	rt->host_free(local);
	rt->host_free(remote);
	rt->host_free(failed);
	return ok ? 0 : 1;
}

/* All operations once; the memory they touch is the host's. */
static int run_operations(const char *name, void (*kernel)(struct doca_gpu_dev_verbs_qp *,
							   ops_memory *, uint32_t, uint32_t, int *))
{
	gpu_nic g(64, 65500, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	ops_memory *m = host_array<ops_memory>(1);
	int *status = host_array<int>(32);
	gdakit_stream stream;
	bool ok;

	for (uint64_t i = 0; i < 64; i++)
		m->data[i] = 0x1111111111110000 + i;
	must(rt->stream_create(&stream), "stream_create");
	{
		toy_driver driver(g.nic, true);

		must(GDAKIT_LAUNCH(kernel, 1, 32, 0, stream, g.qp, m, htobe32(toy_nic::rkey),
				   htobe32(toy_nic::lkey), status),
		     "launch");
		must(rt->stream_synchronize(stream), "kernel");
	}
	must(rt->stream_destroy(stream), "stream_destroy");
	ok = m->counter == 32 * 1001001 && g.nic->faults == 0;
	for (uint64_t t = 0; t < 32; t++)
		ok = ok && status[t] == 0 && m->remote[t] == 0x1111111111114242 &&
		     m->values[t] == t * 3 + 1 && m->fetched[t] == t * 3 + 1;
	printf("%s operations, %s: %llu WQEs%s%s\n", ok ? "ok  " : "FAIL", name,
	       (unsigned long long)(g.nic->next - 65500), g.nic->faults != 0 ? ", " : "",
	       g.nic->first_fault.c_str());
	rt->host_free(m);
	rt->host_free(status);
	return ok ? 0 : 1;
}

int main()
{
	const char *why = "";
	int failures = 0;
	const struct {
		const char *name;
		put_kernel_fn kernel;
		uint32_t blocks, threads, ops;
	} cases[] = {
		{"thread, exclusive", put_kernel<EXCLUSIVE, THREAD>, 1, 1, 300},
		{"thread, block", put_kernel<CTA, THREAD>, 1, 96, 10},
		{"thread, gpu", put_kernel<GPU, THREAD>, 4, 64, 10},
		{"warp, exclusive", put_kernel<EXCLUSIVE, WARP>, 1, 32, 20},
		{"warp, block", put_kernel<CTA, WARP>, 1, 128, 8},
		{"warp, gpu", put_kernel<GPU, WARP>, 4, 64, 8},
	};

	if (rt->probe(&why) != 0) {
		printf("SKIP: %s\n", why);
		return 77;
	}
	must(rt->set_device(nullptr), "set_device");
	for (const auto &c : cases)
		for (uint32_t depth : {2u, 64u, 1024u})
			for (uint64_t start : {(uint64_t)0, (uint64_t)65536 - 40})
				for (auto handler : {DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
						     DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY})
					failures += run_case(c.name, c.kernel, c.blocks, c.threads,
							     c.ops, depth, start, handler);
	failures += run_operations("thread scope", all_operations<THREAD>);
	failures += run_operations("warp scope", all_operations<WARP>);
	printf("%d failures\n", failures);
	return failures != 0;
}
