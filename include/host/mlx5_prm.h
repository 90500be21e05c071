/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of the mlx5 programming interface that a program meets beside the library's own types: how
 * to read a queried QP context, a CQ's doorbell record and an error completion.
 */
#ifndef MLX5_PRM_H
#define MLX5_PRM_H

#include <linux/types.h>
#include <stdint.h>
#include <unistd.h>

#define MLX5_ADAPTER_PAGE_SHIFT 12

enum { MLX5_CQE_SIZE_64B = 0, MLX5_CQE_SIZE_128B = 1 };
enum { MLX5_CQC_CQE_SZ_BYTES_64 = 0 };

/* rq_type of a QP context. */
enum {
	MLX5_QPC_RQ_TYPE_REGULAR = 0,
	MLX5_QPC_RQ_TYPE_SRQ_RMP_XRC_SRQ_XRQ = 1,
	MLX5_QPC_RQ_TYPE_ZERO_SIZE_RQ = 3,
};

/* roce_version of a GID table entry. */
enum {
	MLX5_ROCE_ADDR_LAYOUT_ROCE_VERSION_VERSION_1_0 = 0,
	MLX5_ROCE_ADDR_LAYOUT_ROCE_VERSION_VERSION_1_5 = 1,
	MLX5_ROCE_ADDR_LAYOUT_ROCE_VERSION_VERSION_2_0 = 2,
};

/* mtu of a QP context; 0 means "not set yet". */
enum {
	MLX5_QPC_MTU_256_BYTES = 1,
	MLX5_QPC_MTU_512_BYTES = 2,
	MLX5_QPC_MTU_1K_BYTES = 3,
	MLX5_QPC_MTU_2K_BYTES = 4,
	MLX5_QPC_MTU_4K_BYTES = 5,
	MLX5_QPC_MTU_8K_BYTES = 6,
	MLX5_QPC_MTU_RAW_ETHERNET_QP = 7,
};

/* state of a QP context. */
enum {
	MLX5_QPC_STATE_RST = 0,
	MLX5_QPC_STATE_INIT = 1,
	MLX5_QPC_STATE_RTR = 2,
	MLX5_QPC_STATE_RTS = 3,
	MLX5_QPC_STATE_SQER = 4,
	MLX5_QPC_STATE_SQDRAINED = 5,
	MLX5_QPC_STATE_ERR = 6,
};

/* Words of a CQ's doorbell record. */
enum { MLX5_CQ_SET_CI = 0, MLX5_CQ_ARM_DB = 1 };

/* An error completion with all of its syndromes. Multi-byte fields are big-endian. */
struct mlx5_err_cqe_ex {
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

/* UAR type of mlx5dv_devx_alloc_uar: a non-cached page that nobody else gets. */
#ifndef MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED
#define MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED (1U << 31)
#endif

#endif /* MLX5_PRM_H */
