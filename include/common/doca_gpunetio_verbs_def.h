/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers and wire structures that the host library and the kernels share: version words, mlx5
 * opcodes, control-segment flags, WQE segments and CQEs, and the policy enums of the device API.
 *
 * Names and values are those of NVIDIA GPUNetIO 2.0.2's header of the same name, so that a program
 * written for it compiles unchanged. Layouts follow the mlx5 PRM (send queue WQE format, CQE
 * format). Fields typed __be* are big endian in memory. sim_tests/api pins every value.
 *
 * Valid as C17, C++17 and CUDA.
 */
#ifndef DOCA_GPUNETIO_VERBS_DEF_H
#define DOCA_GPUNETIO_VERBS_DEF_H

#include <limits.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Versions: one word, major << 16 | minor << 8 | patch. 2.0.2 is what NCCL 2.30 carries; GPUNetIO
 * 2.0.1 calls itself 2.0.0. */
#define DOCA_GPUNETIO_VERSION_MAJOR 2
#define DOCA_GPUNETIO_VERSION_MINOR 0
#define DOCA_GPUNETIO_VERSION_PATCH 2

#define DOCA_GPUNETIO_VERSION_MAJOR_SHIFT 16
#define DOCA_GPUNETIO_VERSION_MINOR_SHIFT 8
#define DOCA_GPUNETIO_VERSION_PATCH_SHIFT 0

#define GDAKIT_VERSION_WORD(major, minor, patch)                                                   \
	(((major) << DOCA_GPUNETIO_VERSION_MAJOR_SHIFT) |                                          \
	 ((minor) << DOCA_GPUNETIO_VERSION_MINOR_SHIFT) |                                          \
	 ((patch) << DOCA_GPUNETIO_VERSION_PATCH_SHIFT))

#define DOCA_GPUNETIO_VERSION                                                                      \
	GDAKIT_VERSION_WORD(DOCA_GPUNETIO_VERSION_MAJOR, DOCA_GPUNETIO_VERSION_MINOR,              \
			    DOCA_GPUNETIO_VERSION_PATCH)
#define DOCA_GPUNETIO_DEVICE_CODE_VERSION DOCA_GPUNETIO_VERSION
#define DOCA_GPUNETIO_HOST_CODE_VERSION	  DOCA_GPUNETIO_VERSION

#define DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION_MAJOR 2
#define DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION_MINOR 0
#define DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION_PATCH 0
#define DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION                                               \
	GDAKIT_VERSION_WORD(DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION_MAJOR,                    \
			    DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION_MINOR,                    \
			    DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION_PATCH)

#define DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION_MAJOR 2
#define DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION_MINOR 0
#define DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION_PATCH 0
#define DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION                                                 \
	GDAKIT_VERSION_WORD(DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION_MAJOR,                      \
			    DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION_MINOR,                      \
			    DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION_PATCH)

/* Small helpers that programs written for the original header use. */
#ifdef __GNUC__
#define TYPEOF(x) __typeof__(x)
#else
#define TYPEOF(x) decltype(x)
#endif
#define DOCA_GPUNETIO_VOLATILE(x) (*(volatile TYPEOF(x) *)&(x))
#ifndef ACCESS_ONCE
#define ACCESS_ONCE(x) (*(volatile TYPEOF(x) *)&(x))
#endif
#ifndef READ_ONCE
#define READ_ONCE(x) ACCESS_ONCE(x)
#endif
#ifndef WRITE_ONCE
#define WRITE_ONCE(x, v) (ACCESS_ONCE(x) = (v))
#endif

/* Device-side checks and prints; costs registers and branches, so off unless asked for. */
#ifndef DOCA_GPUNETIO_VERBS_ENABLE_DEBUG
#define DOCA_GPUNETIO_VERBS_ENABLE_DEBUG 0
#endif
#if DOCA_GPUNETIO_VERBS_ENABLE_DEBUG == 1
#include <assert.h>
#define DOCA_GPUNETIO_VERBS_ASSERT(x) assert(x)
#else
#define DOCA_GPUNETIO_VERBS_ASSERT(x)                                                              \
	do {                                                                                       \
	} while (0)
#endif

#define DOCA_GPUNETIO_VERBS_WARP_SIZE		    32
#define DOCA_GPUNETIO_VERBS_WARP_FULL_MASK	    0xffffffff
#define DOCA_GPUNETIO_VERBS_PAGE_SIZE		    65536 /* bytes; alignment of GPU allocations for the NIC */
#define DOCA_GPUNETIO_VERBS_CQE_CI_MASK		    0xFFFFFF /* a CQ consumer counter has 24 bits */
#define DOCA_GPUNETIO_VERBS_WQE_PI_MASK		    0xFFFF /* a WQE producer counter has 16 bits */
#define DOCA_GPUNETIO_IB_MLX5_WQE_SQ_SHIFT	    6	   /* log2 of a WQEBB's bytes */
#define DOCA_GPUNETIO_VERBS_MKEY_SWAPPED	    1 /* keys given to builders are big endian already */
#define DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE	    28 /* bytes inline in one WQEBB */
#define DOCA_GPUNETIO_VERBS_MLX5_CQE_OPCODE_SHIFT   4
#define DOCA_GPUNETIO_VERBS_CQE_SIZE		    64
#define DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT	    8
#define DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT 30 /* a message may hold 2^30 bytes */
#define DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE	    (1ULL << DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT)
#define DOCA_GPUNETIO_4_BYTE_ATOMIC_EXT_OPMOD	    0x08000000
#define DOCA_GPUNETIO_8_BYTE_ATOMIC_EXT_OPMOD	    0x09000000

/* WQE opcodes, low byte of the control segment's first word. */
enum {
	DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP = 0x00,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_INVAL = 0x01,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE = 0x08,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM = 0x09,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND = 0x0a,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_IMM = 0x0b,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_TSO = 0x0e,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT = 0x0f,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ = 0x10,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS = 0x11,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA = 0x12,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS = 0x14,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA = 0x15,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_FMR = 0x19,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_LOCAL_INVAL = 0x1b,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_CONFIG_CMD = 0x1f,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_SET_PSV = 0x20,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_DUMP = 0x23,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_UMR = 0x25,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_TAG_MATCHING = 0x28,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_FLOW_TBL_ACCESS = 0x2c,
	DOCA_GPUNETIO_IB_MLX5_OPCODE_MMO = 0x2f,
};

/* Control segment, "ce": when the WQE yields a CQE. */
enum {
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CE_CQE_ON_CQE_ERROR = 0x0,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CE_CQE_ON_FIRST_CQE_ERROR = 0x1,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CE_CQE_ALWAYS = 0x2,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CE_CQE_AND_EQE = 0x3,
};

/* Control segment, "fm": what the WQE waits for. */
enum {
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_NO_FENCE = 0x0,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_INITIATOR_SMALL_FENCE = 0x1,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_FENCE = 0x2,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_STRONG_ORDERING = 0x3,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_FENCE_AND_INITIATOR_SMALL_FENCE = 0x4,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FM_CUSTOM = 0x100,
};

/* Byte 11 of the control segment: fm in bits 7:5, ce in bits 3:2, solicited event in bit 1. */
enum doca_gpu_dev_verbs_wqe_ctrl_flags {
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_ERROR_UPDATE = 0x00,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_SOLICITED = 0x02,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_FIRST_CQE_ERROR = 0x04,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE = 0x08,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE = 0x20,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_FENCE = 0x40,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE_FENCE = 0x48,
	DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_STRONG_ORDERING = 0x60,
};

/* Words of a QP's doorbell record. */
enum {
	DOCA_GPUNETIO_IB_MLX5_RCV_DBR = 0,
	DOCA_GPUNETIO_IB_MLX5_SND_DBR = 1,
};

/* Where a ring and its doorbell record lie. Anything but GPU makes the device code release
 * system-wide before it rings. */
enum doca_gpu_dev_verbs_mem_type {
	DOCA_GPUNETIO_VERBS_MEM_TYPE_AUTO = 0,
	DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST = 1,
	DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU = 2,
	DOCA_GPUNETIO_VERBS_MEM_TYPE_MAX = INT_MAX
};

enum doca_gpu_verbs_send_dbr_mode_ext {
	DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR = 0,
	DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW = 1,
	DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED = 2,
};

enum doca_gpu_dev_verbs_qp_type {
	DOCA_GPUNETIO_VERBS_QP_SQ = 0,
};

/* Who takes part in one call: each thread for itself, or all 32 lanes of a warp together. */
enum doca_gpu_dev_verbs_exec_scope {
	DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD = 0,
	DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP = 1,
};

/* Reach of the fence that a call issues. */
enum doca_gpu_dev_verbs_sync_scope {
	DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS = 0,
	DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU = 1,
	DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA = 2,
	DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD = 3,
	DOCA_GPUNETIO_VERBS_SYNC_SCOPE_MAX = INT_MAX
};

/* Which threads may use one QP at the same time. */
enum doca_gpu_dev_verbs_resource_sharing_mode {
	DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE = 0,
	DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA = 1,
	DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU = 2,
	DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_MAX = INT_MAX
};

enum {
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY = 1 << 0,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_GPU_SM = 1 << 1,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_BF = 1 << 2,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_NO_DBR = 1 << 3,
};

/* Who tells the NIC about new WQEs, and how. */
enum doca_gpu_dev_verbs_nic_handler {
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO = 0,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY = 1,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB = 2,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF = 6,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR = 10,
	DOCA_GPUNETIO_VERBS_NIC_HANDLER_TYPE_MAX = 11,
};

/* Run-time options of the device functions; may be combined. */
enum doca_gpu_dev_verbs_gpu_code_opt {
	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT = 0,
	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE = 1 << 0,
	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK = 1 << 1,
	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING = 1 << 2,
	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI = 1 << 3,
	/* Not in upstream: memory that the NIC reads lies outside the GPU; release it system-wide
	 * (gdakit_release.cuh) */
	GDAKIT_GPU_CODE_OPT_HOST_PAYLOAD = 1 << 5,
	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_MAX = INT_MAX
};

enum doca_gpu_dev_verbs_signal_op {
	DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD = 0,
};

enum doca_gpu_dev_verbs_dump_mode {
	DOCA_GPUNETIO_VERBS_DUMP = 0,
	DOCA_GPUNETIO_VERBS_NODUMP = 1,
	DOCA_GPUNETIO_VERBS_DUMP_AUTO = 2,
};

enum doca_gpu_dev_verbs_blocking_mode {
	DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED = 0,
	DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED = 1,
};

/* Memory consistency after a READ: ENABLED adds a DUMP, a local read by the NIC that pushes the
 * data of earlier READs in front of it. */
enum doca_gpu_dev_verbs_mcst_mode {
	DOCA_GPUNETIO_VERBS_MCST_DISABLED = 0,
	DOCA_GPUNETIO_VERBS_MCST_ENABLED = 1,
};

/* How threads hand WQEs over in index order. */
enum doca_gpu_dev_verbs_qp_ready_mode {
	DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT = 0,
	DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS = 1,
	DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST = 2
};

enum doca_gpu_dev_verbs_atomic_ext_bytes {
	DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4 = 4,
	DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8 = 8
};

/* WQE sizes in 16-byte segments ("ds"). */
enum {
	DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_WAIT = 2,
	DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MIN = 3,
	DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MAX = 4,
	DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_ATOMIC_FA_CAS = 4,
};

enum {
	DOCA_GPUNETIO_IB_MLX5_INLINE_SEG = 0x80000000,
};

/* CQE opcodes (high nibble of the last byte) and the owner bit. */
enum {
	DOCA_GPUNETIO_IB_MLX5_CQE_OWNER_MASK = 1,
	DOCA_GPUNETIO_IB_MLX5_CQE_REQ = 0,
	DOCA_GPUNETIO_IB_MLX5_CQE_RESP_WR_IMM = 1,
	DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND = 2,
	DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND_IMM = 3,
	DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND_INV = 4,
	DOCA_GPUNETIO_IB_MLX5_CQE_RESIZE_CQ = 5,
	DOCA_GPUNETIO_IB_MLX5_CQE_NO_PACKET = 6,
	DOCA_GPUNETIO_IB_MLX5_CQE_SIG_ERR = 12,
	DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR = 13,
	DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR = 14,
	DOCA_GPUNETIO_IB_MLX5_CQE_INVALID = 15,
};

/* WQE segments, 16 bytes each but the inline header. Packed: alignment 1, as users embed them. */
struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg {
	__be32 opmod_idx_opcode; /* opmod << 24 | wqe_idx << 8 | opcode */
	__be32 qpn_ds;		 /* qpn << 8 | segments */
	union {
		struct {
			uint8_t signature;
			__be16 dci_stream_channel_id;
			uint8_t fm_ce_se;
		} __attribute__((__packed__));
		struct {
			__be32 signature_fm_ce_se;
		} __attribute__((__packed__));
	} __attribute__((__packed__));
	__be32 imm;
} __attribute__((__packed__)) __attribute__((__aligned__(4)));

struct doca_gpunetio_ib_mlx5_wqe_raddr_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
} __attribute__((__packed__));

struct doca_gpunetio_ib_mlx5_wqe_data_seg {
	__be32 byte_count; /* 0 means 2^31 to the NIC: never post it for an empty message */
	__be32 lkey;
	__be64 addr;
} __attribute__((__packed__));

struct doca_gpunetio_ib_mlx5_wqe_atomic_seg {
	__be64 swap_add;
	__be64 compare;
} __attribute__((__packed__));

struct doca_gpunetio_ib_mlx5_wqe_inl_data_seg {
	uint32_t byte_count; /* big endian; bit 31 marks inline */
};

struct doca_gpunetio_ib_mlx5_wqe_wait_seg {
	uint32_t resv[2];
	__be32 max_index;
	__be32 qpn_cqn;
} __attribute__((__packed__));

struct doca_gpunetio_ib_mlx5_tm_cqe {
	__be32 success;
	__be16 hw_phase_cnt;
	uint8_t rsvd0[12];
};

struct doca_gpunetio_ib_ibv_tmh {
	uint8_t opcode;
	uint8_t reserved[3];
	__be32 app_ctx;
	__be64 tag;
};

struct doca_gpunetio_ib_mlx5_cqe64 {
	union {
		struct {
			uint8_t rsvd0[2];
			__be16 wqe_id;
			uint8_t rsvd4[13];
			uint8_t ml_path;
			uint8_t rsvd20[4];
			__be16 slid;
			__be32 flags_rqpn;
			uint8_t hds_ip_ext;
			uint8_t l4_hdr_type_etc;
			__be16 vlan_info;
		};
		struct doca_gpunetio_ib_mlx5_tm_cqe tm_cqe;
		struct doca_gpunetio_ib_ibv_tmh tmh;
	};
	__be32 srqn_uidx;
	__be32 imm_inval_pkey;
	uint8_t app;
	uint8_t app_op;
	__be16 app_info;
	__be32 byte_cnt;
	__be64 timestamp;
	__be32 sop_drop_qpn;
	__be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own; /* opcode << 4 | owner; the NIC writes it last, with wqe_counter */
};

struct doca_gpunetio_ib_mlx5_err_cqe_ex {
	uint8_t rsvd0[32];
	__be32 srqn;
	uint8_t rsvd1[16];
	uint8_t hw_err_synd;
	uint8_t hw_synd_type;
	uint8_t vendor_err_synd;
	uint8_t syndrome;
	__be32 s_wqe_opcode_qpn;
	__be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

#ifdef __cplusplus
}
#endif

#include "gdakit_sdk_names.h"

#endif /* DOCA_GPUNETIO_VERBS_DEF_H */
