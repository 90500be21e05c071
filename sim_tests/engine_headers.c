/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The staged headers compile alone, as C and as C++, and lay structs and numbers out as
 * GPUNetIO 2.0 does: programs built for one run with the other. Compiled, never run.
 */
#include "doca_gpunetio_host.h"

#ifdef __cplusplus
#define SAME(a, b) static_assert((a) == (b), #a)
#else
#define SAME(a, b) _Static_assert((a) == (b), #a)
#endif
#define AT(type, member, offset) SAME(offsetof(struct type, member), offset)

SAME(sizeof(struct doca_gpu_verbs_qp), 88);
AT(doca_gpu_verbs_qp, qp, 8);
AT(doca_gpu_verbs_qp, cpu_db, 16);
AT(doca_gpu_verbs_qp, sq_wqe_pi_last, 24);
AT(doca_gpu_verbs_qp, sq_db, 32);
AT(doca_gpu_verbs_qp, sq_dbrec, 40);
AT(doca_gpu_verbs_qp, cpu_proxy, 48);
AT(doca_gpu_verbs_qp, sq_num_shift8_be, 52);
AT(doca_gpu_verbs_qp, send_dbr_mode_ext, 56);
AT(doca_gpu_verbs_qp, qp_cpu, 64);
AT(doca_gpu_verbs_qp, qp_gpu, 72);
AT(doca_gpu_verbs_qp, qp_gpu_h, 80);

SAME(sizeof(struct doca_gpu_verbs_qp_error_info), 24);
AT(doca_gpu_verbs_qp_error_info, has_error, 0);
AT(doca_gpu_verbs_qp_error_info, syndrome, 4);
AT(doca_gpu_verbs_qp_error_info, vendor_err_synd, 8);
AT(doca_gpu_verbs_qp_error_info, hw_err_synd, 12);
AT(doca_gpu_verbs_qp_error_info, hw_synd_type, 16);
AT(doca_gpu_verbs_qp_error_info, wqe_counter, 20);

SAME(sizeof(struct doca_gpu_verbs_qp_init_attr_hl), 56);
AT(doca_gpu_verbs_qp_init_attr_hl, ibpd, 8);
AT(doca_gpu_verbs_qp_init_attr_hl, sq_nwqe, 16);
AT(doca_gpu_verbs_qp_init_attr_hl, nic_handler, 20);
AT(doca_gpu_verbs_qp_init_attr_hl, mreg_type, 24);
AT(doca_gpu_verbs_qp_init_attr_hl, send_dbr_mode_ext, 28);
AT(doca_gpu_verbs_qp_init_attr_hl, cq_collapsed, 32);
AT(doca_gpu_verbs_qp_init_attr_hl, reserved3, 36);

SAME(sizeof(struct doca_gpu_verbs_qp_hl), 112);
AT(doca_gpu_verbs_qp_hl, cq_sq, 8);
AT(doca_gpu_verbs_qp_hl, cq_sq_umem_gpu_ptr, 16);
AT(doca_gpu_verbs_qp_hl, cq_sq_umem, 24);
AT(doca_gpu_verbs_qp_hl, cq_sq_umem_dbr_gpu_ptr, 32);
AT(doca_gpu_verbs_qp_hl, cq_sq_umem_dbr, 40);
AT(doca_gpu_verbs_qp_hl, qp, 48);
AT(doca_gpu_verbs_qp_hl, qp_umem_gpu_ptr, 56);
AT(doca_gpu_verbs_qp_hl, qp_umem, 64);
AT(doca_gpu_verbs_qp_hl, qp_umem_dbr_gpu_ptr, 72);
AT(doca_gpu_verbs_qp_hl, qp_umem_dbr, 80);
AT(doca_gpu_verbs_qp_hl, external_uar, 88);
AT(doca_gpu_verbs_qp_hl, nic_handler, 96);
AT(doca_gpu_verbs_qp_hl, send_dbr_mode_ext, 100);
AT(doca_gpu_verbs_qp_hl, qp_gverbs, 104);
SAME(sizeof(struct doca_gpu_verbs_qp_group_hl), 224);
AT(doca_gpu_verbs_qp_group_hl, qp_companion, 112);

SAME(sizeof(struct doca_verbs_gid), 16);
SAME(sizeof(struct mlx5_err_cqe_ex), 64);
AT(mlx5_err_cqe_ex, syndrome, 55);

SAME(DOCA_SUCCESS, 0);
SAME(DOCA_ERROR_INVALID_VALUE, 6);
SAME(DOCA_ERROR_NOT_FOUND, 16);
SAME(DOCA_ERROR_DRIVER, 21);
SAME(DOCA_ERROR_DEVICE_FATAL_ERROR, 31);
SAME(DOCA_GPU_MEM_TYPE_CPU_GPU, 2);
SAME(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX, 3);
SAME(DOCA_VERBS_QP_STATE_ERR, 4);
SAME(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH, 3);
SAME(DOCA_VERBS_MTU_SIZE_RAW_ETHERNET, 5);
SAME(DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, 2);
SAME(DOCA_VERBS_CQ_ENABLE_OVERRUN, 1);
SAME(DOCA_VERBS_SRQ_TYPE_CONTIGUOUS, 1);
SAME(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES, 3);
SAME(DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT, 1);
SAME(DOCA_VERBS_QP_ATTR_AH_ATTR, 1 << 14);
SAME(DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC, 1 << 16);
SAME(DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC, 1 << 17);
