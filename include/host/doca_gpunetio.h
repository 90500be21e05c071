/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU memory, and QPs that a GPU drives: everything between a created QP (doca_verbs.h) and the
 * struct doca_gpu_dev_verbs_qp that a kernel works with. Names, signatures and struct layouts are
 * those of DOCA GPUNetIO 2.0.
 *
 * Where the machine has no CUDA device, or the GPU is named "cpu", all memory kinds are host memory
 * and "GPU address" below means a host address; every call works the same.
 *
 * Errors: NULL, where nothing else is said, and an object of another GPU give INVALID_VALUE. A call
 * that fails leaves its results as they were, or NULL, and nothing behind; it can be made again.
 * DRIVER: rdma-core, the firmware or CUDA refused. NOT_FOUND: libibverbs or libmlx5 is missing.
 * What gives GPU memory and contexts back cannot fail: what CUDA then keeps is CUDA's.
 *
 * Threads: a struct doca_gpu may be used by any number of threads. A struct doca_gpu_verbs_qp
 * belongs to one thread at a time, except doca_gpu_verbs_cpu_proxy_progress(), which may run in
 * another one while the kernel works, between export and unexport. No function may be called with
 * an object that another thread is destroying.
 */
#ifndef DOCA_GPUNETIO_H
#define DOCA_GPUNETIO_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doca_error.h"
#include "../doca_gpunetio_config.h"
#include "../common/doca_gpunetio_verbs_def.h"

#ifdef __cplusplus
extern "C" {
#endif

struct doca_gpu;
struct doca_verbs_qp;
struct doca_verbs_cq;
struct doca_gpu_dev_verbs_qp;
struct doca_gpu_dev_verbs_cq;

enum doca_gpu_mem_type {
	DOCA_GPU_MEM_TYPE_GPU = 0,     /* GPU memory that the CPU cannot reach */
	DOCA_GPU_MEM_TYPE_GPU_CPU = 1, /* GPU memory that the CPU has mapped (GDRCopy) */
	DOCA_GPU_MEM_TYPE_CPU_GPU = 2, /* pinned CPU memory that the GPU has mapped */
};

/* An exported QP. Callers read the fields; only the library writes them. Layout is ABI. */
struct doca_gpu_verbs_qp {
	struct doca_gpu *gpu_dev;
	struct doca_verbs_qp *qp;
	uint64_t *cpu_db; /* where the proxy reads the producer index; NULL without a proxy */
	uint64_t sq_wqe_pi_last; /* last producer index the proxy rang */
	uint64_t *sq_db;	 /* host address of the UAR's doorbell register */
	__be32 *sq_dbrec;	 /* host address of the SQ doorbell record, when it lies there */
	bool cpu_proxy;		 /* a thread must call doca_gpu_verbs_cpu_proxy_progress() */
	uint32_t sq_num_shift8_be;
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
	struct doca_gpu_dev_verbs_qp *qp_cpu;	/* host image of the device handle */
	struct doca_gpu_dev_verbs_qp *qp_gpu;	/* device handle, once asked for */
	struct doca_gpu_dev_verbs_qp *qp_gpu_h; /* the same, as the CPU sees it; else NULL */
};

/* What doca_gpu_verbs_query_last_error() tells. The ints are valid if has_error. */
struct doca_gpu_verbs_qp_error_info {
	bool has_error;	     /* the QP is in the error state */
	int syndrome;	     /* of the first error completion found in the send CQ; 0 if none */
	int vendor_err_synd; /* likewise */
	int hw_err_synd;     /* likewise */
	int hw_synd_type;    /* likewise */
	int wqe_counter;     /* index of the WQE that it names, 0..65535 */
};

typedef void *doca_gpu_verbs_service_t;

/*
 * Opens the GPU at a PCI address ("0000:3b:00.0", the domain may be left out) or, by the name
 * "cpu", host memory in its place. The caller owns *gpu_dev and returns it with doca_gpu_destroy().
 * INVALID_VALUE: a NULL pointer. NOT_FOUND: no such GPU, or not a PCI address. NO_MEMORY.
 * INITIALIZATION: CUDA failed on that GPU. With DOCA_SDK_LIB_PATH set, the GPU and its memory are
 * the DOCA SDK's, and so are these calls' errors (docs/compatibility.md).
 */
doca_error_t doca_gpu_create(const char *gpu_bus_id, struct doca_gpu **gpu_dev);

/*
 * INVALID_VALUE: NULL, or memory from doca_gpu_mem_alloc() is still out (the object stays valid).
 */
doca_error_t doca_gpu_destroy(struct doca_gpu *gpu_dev);

/*
 * Allocates size bytes. alignment is a power of two, or 0 for the host's page size; GPU_CPU memory
 * is always aligned to 64 KiB at least. *memptr_gpu is the address for kernels and for
 * doca_gpu_mem_free(); *memptr_cpu is the CPU's view, NULL for DOCA_GPU_MEM_TYPE_GPU, where
 * memptr_cpu itself may be NULL. CPU_GPU memory comes zeroed, the others hold garbage. Without
 * GDRCopy, GPU_CPU falls back to CPU_GPU. INVALID_VALUE: an argument. NO_MEMORY: out of memory.
 * DRIVER: CUDA or GDRCopy refused.
 */
doca_error_t doca_gpu_mem_alloc(struct doca_gpu *gpu_dev, size_t size, size_t alignment,
				enum doca_gpu_mem_type mtype, void **memptr_gpu, void **memptr_cpu);

/* INVALID_VALUE: memptr_gpu did not come from doca_gpu_mem_alloc() on this GPU. */
doca_error_t doca_gpu_mem_free(struct doca_gpu *gpu, void *memptr_gpu);

/*
 * A dma-buf for [memptr_gpu, memptr_gpu + size), both page aligned. The caller closes *dmabuf_fd.
 * NOT_SUPPORTED: the GPU has no dma-buf, refuses this range, or the memory is host memory.
 */
doca_error_t doca_gpu_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size,
				int *dmabuf_fd);

/*
 * Makes a created QP usable from the GPU: fills the host image of its device handle and maps its
 * doorbell register. cq_sq is the QP's send CQ. The QP may be in any state.
 *
 * nic_handler: AUTO takes the GPU's own doorbell if the register can be mapped, else the CPU proxy.
 * send_dbr_mode_ext: NO_DBR_HW needs a QP created with NO_DBR_EXT; VALID_DBR and NO_DBR_SW_EMULATED
 * a QP created without. With the CPU proxy, and with NO_DBR_SW_EMULATED, the QP's doorbell record
 * must lie in host memory, for the proxy writes it. gpu_qp_umem_dev_ptr is not used.
 *
 * The caller owns *qp_out; doca_gpu_verbs_unexport_qp() comes before the QP or its UAR is destroyed
 * and after the proxy stopped. INVALID_VALUE: NULL, an unknown handler or mode, modes that
 * contradict, a queue without SQ or of more than 32768 slots. NOT_SUPPORTED: SW_EMULATED without a
 * CPU mapping of GPU memory. NO_MEMORY. DRIVER: the register cannot be mapped and the handler was
 * asked for by name.
 */
doca_error_t doca_gpu_verbs_export_qp(struct doca_gpu *gpu_dev, struct doca_verbs_qp *qp,
				      enum doca_gpu_dev_verbs_nic_handler nic_handler,
				      void *gpu_qp_umem_dev_ptr, struct doca_verbs_cq *cq_sq,
				      enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext,
				      struct doca_gpu_verbs_qp **qp_out);

/*
 * Undoes the export and frees qp and its device handle, unless that is part of a multi-QP export.
 */
doca_error_t doca_gpu_verbs_unexport_qp(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp *qp);

/*
 * The device handle to hand to a kernel. Made at the first call, then the same one again; it is the
 * library's and lives until unexport.
 */
doca_error_t doca_gpu_verbs_get_qp_dev(struct doca_gpu_verbs_qp *qp,
				       struct doca_gpu_dev_verbs_qp **qp_gpu);

/*
 * Device handles of num_qps QPs as one array (*out_qp_gpus)[i] for qps[i]. The array is freed with
 * doca_gpu_verbs_unexport_multi_qps_dev(), which comes before the QPs are unexported.
 * INVALID_VALUE: NULL, num_qps 0, a QP that already has a device handle or is there twice.
 * NO_MEMORY, DRIVER.
 */
doca_error_t doca_gpu_verbs_export_multi_qps_dev(struct doca_gpu *gpu_dev,
						 struct doca_gpu_verbs_qp **qps,
						 unsigned int num_qps,
						 struct doca_gpu_dev_verbs_qp **out_qp_gpus);
doca_error_t doca_gpu_verbs_unexport_multi_qps_dev(struct doca_gpu *gpu_dev,
						   struct doca_gpu_verbs_qp **qps,
						   unsigned int num_qps,
						   struct doca_gpu_dev_verbs_qp *qp_gpus);

/*
 * Whether the current GPU can map a doorbell register (db: its host address). Not cached: the
 * answer holds for this register now. NO_MEMORY: there is no answer.
 */
doca_error_t doca_gpu_verbs_can_gpu_register_uar(void *db, bool *out_can_register);

/*
 * Maps the doorbell register at host address sq_db for GPUs; counted, so that QPs may share one.
 * doca_gpu_verbs_unexport_uar() takes the address that export gave. DRIVER: CUDA refused; the
 * address is given back all the same.
 */
doca_error_t doca_gpu_verbs_export_uar(uint64_t *sq_db, uint64_t **uar_addr_gpu);
doca_error_t doca_gpu_verbs_unexport_uar(uint64_t *uar_addr_gpu);

/*
 * One step of the CPU proxy: if the kernel published a new producer index, writes the doorbell
 * record and rings. Never blocks. *out_progressed (may be NULL) says whether it rang. Several
 * threads may step the same QP; one of them rings. NOT_SUPPORTED: the QP has no proxy. BAD_STATE:
 * it has one that starts with doca_gpu_verbs_get_qp_dev(), which has not been called.
 */
doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp_cpu,
					       bool *out_progressed);

/*
 * A thread that steps every QP given to it. It backs off to short sleeps when nothing moves. A QP
 * leaves the service when it is unexported, or when the service is destroyed.
 * INVALID_VALUE: NULL. NOT_SUPPORTED: the QP has no proxy. ALREADY_EXIST: some service has it.
 * NO_MEMORY; OPERATING_SYSTEM: no thread.
 */
doca_error_t doca_gpu_verbs_create_service(doca_gpu_verbs_service_t *out_service);
doca_error_t doca_gpu_verbs_service_monitor_qp(doca_gpu_verbs_service_t service,
					       struct doca_gpu_verbs_qp *qp);
doca_error_t doca_gpu_verbs_destroy_service(doca_gpu_verbs_service_t service);

/* Asks the NIC for the QP's state and, in the error state, looks for the reason in its send CQ. */
doca_error_t doca_gpu_verbs_query_last_error(struct doca_gpu_verbs_qp *qp,
					     struct doca_gpu_verbs_qp_error_info *error_info);

/*
 * Prepares an exported QP for a new life after doca_verbs_qp_modify() took it to RST: indices,
 * lock, doorbell record, SQ and CQ memory, host and device handle. No kernel and no proxy may use
 * the QP. INVALID_VALUE: NULL. BAD_STATE: no device handle. DRIVER: CUDA.
 */
doca_error_t doca_gpu_verbs_reset_tracking_and_memory(struct doca_gpu_verbs_qp *qp_gverbs);

/*
 * Version words are major << 16 | minor << 8 | patch. The checks answer SUCCESS or NOT_SUPPORTED.
 */
doca_error_t doca_gpu_verbs_get_library_version(uint32_t *version);
doca_error_t doca_gpu_verbs_check_device_code_compatibility(uint32_t device_code_version);
doca_error_t doca_gpu_verbs_check_host_code_compatibility(uint32_t host_code_version);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GPUNETIO_H */
