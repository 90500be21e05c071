/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Static assertions for every structure and number in include/common: what GPUNetIO 2.0.1's
 * compiled headers gave. Included by one C, one C++ and one CUDA source, so that all three
 * languages agree. A failing line here means a broken ABI, never a reason to edit this file.
 */
#ifndef GDAKIT_LAYOUT_CHECK_H
#define GDAKIT_LAYOUT_CHECK_H

#include <stddef.h>
#include "common/doca_gpunetio_verbs_dev.h"

#ifdef __cplusplus
#define GDAKIT_ASSERT(x)  static_assert(x, #x)
#define GDAKIT_ALIGNOF(t) alignof(t)
#else
#define GDAKIT_ASSERT(x)  _Static_assert(x, #x)
#define GDAKIT_ALIGNOF(t) _Alignof(t)
#endif
#define GDAKIT_AT(type, field, offset) GDAKIT_ASSERT(offsetof(struct type, field) == (offset))
#define GDAKIT_SIZE(type, size, align)                                                             \
	GDAKIT_ASSERT(sizeof(type) == (size));                                                     \
	GDAKIT_ASSERT(GDAKIT_ALIGNOF(type) == (align))
#define GDAKIT_VAL(name, value) GDAKIT_ASSERT((unsigned long long)(name) == (value))

/* Device view of a CQ and of a QP */
GDAKIT_SIZE(struct doca_gpu_dev_verbs_cq, 64, 8);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_daddr, 0);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cq_num, 8);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_num, 12);
GDAKIT_AT(doca_gpu_dev_verbs_cq, dbrec, 16);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_ci, 24);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_mask, 32);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_size, 36);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_flags, 37);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_rsvd, 40);
GDAKIT_AT(doca_gpu_dev_verbs_cq, mem_type, 48);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_err_synd, 52);
GDAKIT_AT(doca_gpu_dev_verbs_cq, cqe_err_idx_inv, 56);

GDAKIT_SIZE(struct doca_gpu_dev_verbs_qp, 296, 8);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_rsvd_index, 0);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_ready_index, 8);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_wqe_pi, 16);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num, 24);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8, 28);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8_be, 32);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8_be_1ds, 36);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8_be_2ds, 40);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8_be_3ds, 44);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8_be_4ds, 48);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_num_shift8_be_5ds, 52);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_lock, 56);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_wqe_num, 60);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_wqe_mask, 62);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_wqe_daddr, 64);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_dbrec, 72);
GDAKIT_AT(doca_gpu_dev_verbs_qp, sq_db, 80);
GDAKIT_AT(doca_gpu_dev_verbs_qp, reserved1, 88);
GDAKIT_AT(doca_gpu_dev_verbs_qp, reserved2, 96);
GDAKIT_AT(doca_gpu_dev_verbs_qp, cq_sq, 160);
GDAKIT_AT(doca_gpu_dev_verbs_qp, reserved3, 224);
GDAKIT_AT(doca_gpu_dev_verbs_qp, nic_handler, 288);
GDAKIT_AT(doca_gpu_dev_verbs_qp, mem_type, 292);

/* Address and WQE views */
GDAKIT_SIZE(struct doca_gpu_dev_verbs_addr, 16, 8);
GDAKIT_AT(doca_gpu_dev_verbs_addr, addr, 0);
GDAKIT_AT(doca_gpu_dev_verbs_addr, key, 8);
GDAKIT_ASSERT(sizeof(doca_gpu_dev_verbs_ticket_t) == 8);
GDAKIT_SIZE(struct doca_gpu_dev_verbs_wqe, 64, 8);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, dseg1, 16);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, dseg3, 48);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, rw_rseg, 16);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, rw_dseg0, 32);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, rw_dseg1, 48);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, at_rseg, 16);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, at_seg, 32);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, at_dseg, 48);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, snd_dseg0, 16);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, snd_dseg2, 48);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, wait_dseg, 16);
GDAKIT_AT(doca_gpu_dev_verbs_wqe, padding0, 32);

/* Segments */
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, 16, 4);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, opmod_idx_opcode, 0);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, qpn_ds, 4);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, signature, 8);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, dci_stream_channel_id, 9);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, fm_ce_se, 11);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, signature_fm_ce_se, 8);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_ctrl_seg, imm, 12);
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_wqe_raddr_seg, 16, 1);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_raddr_seg, rkey, 8);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_raddr_seg, reserved, 12);
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_wqe_data_seg, 16, 1);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_data_seg, lkey, 4);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_data_seg, addr, 8);
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_wqe_atomic_seg, 16, 1);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_atomic_seg, compare, 8);
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_wqe_inl_data_seg, 4, 4);
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_wqe_wait_seg, 16, 1);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_wait_seg, max_index, 8);
GDAKIT_AT(doca_gpunetio_ib_mlx5_wqe_wait_seg, qpn_cqn, 12);
GDAKIT_SIZE(doca_gpu_dev_verbs_atomic_32_masked_fa_seg_t, 16, 1);
GDAKIT_SIZE(doca_gpu_dev_verbs_atomic_64_masked_fa_seg_t, 16, 1);
GDAKIT_SIZE(doca_gpu_dev_verbs_atomic_32_masked_cs_seg_t, 16, 1);
GDAKIT_SIZE(doca_gpu_dev_verbs_atomic_64_masked_cs_seg_t, 16, 1);

/* CQEs */
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_cqe64, 64, 8);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, wqe_id, 2);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, ml_path, 17);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, slid, 22);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, flags_rqpn, 24);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, vlan_info, 30);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, srqn_uidx, 32);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, imm_inval_pkey, 36);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, app, 40);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, byte_cnt, 44);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, timestamp, 48);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, sop_drop_qpn, 56);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, wqe_counter, 60);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, signature, 62);
GDAKIT_AT(doca_gpunetio_ib_mlx5_cqe64, op_own, 63);
GDAKIT_SIZE(struct doca_gpunetio_ib_mlx5_err_cqe_ex, 64, 4);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, srqn, 32);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, hw_err_synd, 52);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, hw_synd_type, 53);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, vendor_err_synd, 54);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, syndrome, 55);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, s_wqe_opcode_qpn, 56);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, wqe_counter, 60);
GDAKIT_AT(doca_gpunetio_ib_mlx5_err_cqe_ex, op_own, 63);

/* Versions and plain constants */
GDAKIT_VAL(DOCA_GPUNETIO_VERSION, 0x020000);
GDAKIT_VAL(DOCA_GPUNETIO_DEVICE_CODE_VERSION, 0x020000);
GDAKIT_VAL(DOCA_GPUNETIO_HOST_CODE_VERSION, 0x020000);
GDAKIT_VAL(DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION, 0x020000);
GDAKIT_VAL(DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION, 0x000200);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WARP_SIZE, 32);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK, 0xffffffff);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_PAGE_SIZE, 65536);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_CQE_CI_MASK, 0xffffff);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WQE_PI_MASK, 0xffff);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_SQ_SHIFT, 6);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MKEY_SWAPPED, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE, 28);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MLX5_CQE_OPCODE_SHIFT, 4);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_CQE_SIZE, 64);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT, 8);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE, 1ull << 30);
GDAKIT_VAL(DOCA_GPUNETIO_4_BYTE_ATOMIC_EXT_OPMOD, 0x08000000);
GDAKIT_VAL(DOCA_GPUNETIO_8_BYTE_ATOMIC_EXT_OPMOD, 0x09000000);
GDAKIT_ASSERT((unsigned)DOCA_GPUNETIO_IB_MLX5_INLINE_SEG == 0x80000000u);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_RCV_DBR, 0);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_SND_DBR, 1);

/* Opcodes */
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP, 0x00);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_INVAL, 0x01);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0x08);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM, 0x09);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, 0x0a);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_IMM, 0x0b);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_TSO, 0x0e);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT, 0x0f);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, 0x10);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS, 0x11);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA, 0x12);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, 0x14);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, 0x15);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_FMR, 0x19);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_LOCAL_INVAL, 0x1b);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_CONFIG_CMD, 0x1f);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_SET_PSV, 0x20);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_DUMP, 0x23);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_UMR, 0x25);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_TAG_MATCHING, 0x28);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_FLOW_TBL_ACCESS, 0x2c);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_OPCODE_MMO, 0x2f);

/* Control flags: built from ce << 2 and fm << 5 */
#define GDAKIT_CE(name) (DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CE_##name << 2)
#define GDAKIT_FM(name) (DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_##name << 5)
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0x08);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_ERROR_UPDATE, 0x00);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_FIRST_CQE_ERROR, 0x04);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_SOLICITED, 0x02);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FENCE, 0x40);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE, 0x20);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_STRONG_ORDERING, 0x60);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE_FENCE, 0x48);
GDAKIT_VAL(GDAKIT_CE(CQE_ALWAYS), 0x08);
GDAKIT_VAL(GDAKIT_CE(CQE_ON_FIRST_CQE_ERROR), 0x04);
GDAKIT_VAL(GDAKIT_CE(CQE_ON_CQE_ERROR), 0x00);
GDAKIT_VAL(GDAKIT_CE(CQE_AND_EQE), 0x0c);
GDAKIT_VAL(GDAKIT_FM(NO_FENCE), 0x00);
GDAKIT_VAL(GDAKIT_FM(INITIATOR_SMALL_FENCE), 0x20);
GDAKIT_VAL(GDAKIT_FM(FENCE), 0x40);
GDAKIT_VAL(GDAKIT_FM(STRONG_ORDERING), 0x60);
GDAKIT_VAL(GDAKIT_FM(FENCE_AND_INITIATOR_SMALL_FENCE), 0x80);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_CUSTOM, 0x100);

/* Policy enums */
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MEM_TYPE_AUTO, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MEM_TYPE_MAX, INT_MAX);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_QP_SQ, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD, 3);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_MAX, INT_MAX);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_MAX, INT_MAX);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, 6);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR, 10);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_TYPE_MAX, 11);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_GPU_SM, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_BF, 4);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_NO_DBR, 8);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING, 4);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI, 8);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_MAX, INT_MAX);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_DUMP, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_NODUMP, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_DUMP_AUTO, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MCST_DISABLED, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_MCST_ENABLED, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4, 4);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8, 8);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT, 0);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS, 1);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST, 2);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MIN, 3);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MAX, 4);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_ATOMIC_FA_CAS, 4);
GDAKIT_VAL(DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_WAIT, 2);

/* CQE opcodes */
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_OWNER_MASK, 1);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_REQ, 0);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_RESP_WR_IMM, 1);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND, 2);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND_IMM, 3);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND_INV, 4);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_RESIZE_CQ, 5);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_NO_PACKET, 6);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_SIG_ERR, 12);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR, 13);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR, 14);
GDAKIT_VAL(DOCA_GPUNETIO_IB_MLX5_CQE_INVALID, 15);

#endif /* GDAKIT_LAYOUT_CHECK_H */
