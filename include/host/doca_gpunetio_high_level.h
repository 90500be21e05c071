/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call from a protection domain to an exported QP: GPU-resident CQ, SQ and doorbell records, a
 * UAR, an RC QP without RQ, and its export. Layouts are ABI.
 */
#ifndef DOCA_GPUNETIO_HIGH_LEVEL_H
#define DOCA_GPUNETIO_HIGH_LEVEL_H

#include "doca_gpunetio.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_pd;
struct doca_verbs_umem;
struct doca_verbs_uar;

/* How the queues' memory reaches the NIC. */
enum doca_gpu_verbs_mem_reg_type {
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT = 0,	   /* dma-buf, else the plain address */
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF = 1,  /* dma-buf or fail */
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM = 2, /* the plain address or fail */
	DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX,
};

struct doca_gpu_verbs_qp_init_attr_hl {
	struct doca_gpu *gpu_dev;
	struct ibv_pd *ibpd;
	uint16_t sq_nwqe; /* 1..32768; rounded up to a power of two in place */
	uint8_t reserved1[2];
	enum doca_gpu_dev_verbs_nic_handler nic_handler; /* AUTO, CPU_PROXY, GPU_SM_DB, GPU_SM_BF */
	enum doca_gpu_verbs_mem_reg_type mreg_type;
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
	bool cq_collapsed; /* the CQ shows only the newest completion, in slot 0 */
	uint8_t reserved2[3];
	uint8_t reserved3[16];
} __attribute__((__aligned__(8))) __attribute__((__packed__));

/*
 * Everything made for one QP. Callers use qp (to connect it) and qp_gverbs (to hand it to kernels).
 */
struct doca_gpu_verbs_qp_hl {
	struct doca_gpu *gpu_dev;

	struct doca_verbs_cq *cq_sq;
	void *cq_sq_umem_gpu_ptr;
	struct doca_verbs_umem *cq_sq_umem;
	void *cq_sq_umem_dbr_gpu_ptr;
	struct doca_verbs_umem *cq_sq_umem_dbr;

	struct doca_verbs_qp *qp;
	void *qp_umem_gpu_ptr;
	struct doca_verbs_umem *qp_umem;
	void *qp_umem_dbr_gpu_ptr;
	struct doca_verbs_umem *qp_umem_dbr;
	struct doca_verbs_uar *external_uar;

	enum doca_gpu_dev_verbs_nic_handler nic_handler; /* the one that AUTO became */
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;

	struct doca_gpu_verbs_qp *qp_gverbs;
};

/*
 * A main QP and the companion whose WAIT and atomic WQEs report its progress; one UAR serves both.
 */
struct doca_gpu_verbs_qp_group_hl {
	struct doca_gpu_verbs_qp_hl qp_main;
	struct doca_gpu_verbs_qp_hl qp_companion;
};

/*
 * Creates a QP in state RST; connect it with doca_verbs_qp_modify(). The caller owns *qp and
 * returns it with doca_gpu_verbs_destroy_qp_hl() when no kernel and no proxy uses it any more.
 * INVALID_VALUE: NULL, sq_nwqe out of range, an unknown handler, mode or registration type.
 * NOT_SUPPORTED: a mode that the NIC or the GPU lacks. NO_MEMORY. DRIVER: rdma-core, firmware or
 * CUDA. On error nothing is left behind, unless the firmware refuses the clean-up as well: it then
 * keeps its queue, and the library that queue's memory.
 */
doca_error_t doca_gpu_verbs_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					 struct doca_gpu_verbs_qp_hl **qp);
doca_error_t doca_gpu_verbs_destroy_qp_hl(struct doca_gpu_verbs_qp_hl *qp);

/* The same for a group. GPU_SM_BF is refused: two QPs cannot share a BlueFlame register. */
doca_error_t doca_gpu_verbs_create_qp_group_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					       struct doca_gpu_verbs_qp_group_hl **qpg);
doca_error_t doca_gpu_verbs_destroy_qp_group_hl(struct doca_gpu_verbs_qp_group_hl *qpg);

/*
 * Device handles of num_elems QPs as one array in GPU memory. The QPs must be of one GPU and must
 * not use NO_DBR_SW_EMULATED, whose proxy needs doca_gpu_verbs_export_multi_qps_dev(). The handles
 * are copies: a kernel must not mix them with handles of doca_gpu_verbs_get_qp_dev().
 */
doca_error_t doca_gpu_verbs_qp_flat_list_create_hl(struct doca_gpu_verbs_qp_hl **qp_list,
						   uint32_t num_elems,
						   struct doca_gpu_dev_verbs_qp **qp_gpu);
doca_error_t doca_gpu_verbs_qp_flat_list_destroy_hl(struct doca_gpu_dev_verbs_qp *qp_gpu);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GPUNETIO_HIGH_LEVEL_H */
