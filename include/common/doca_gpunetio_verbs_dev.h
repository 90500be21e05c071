/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures that the host library fills and kernels use: the device view of a QP and its CQ, a
 * WQE, an address with its key. Sizes and offsets are those of NVIDIA GPUNetIO 2.0.1 and are ABI:
 * users index arrays of struct doca_gpu_dev_verbs_qp and host and device copy them bytewise.
 *
 * Two of upstream's reserved areas carry state of ours; both are right when zero, so a QP image
 * made by upstream's host library works as well.
 *
 * Valid as C17, C++17 and CUDA. sim_tests/api pins every offset.
 */
#ifndef DOCA_GPUNETIO_VERBS_DEV_H
#define DOCA_GPUNETIO_VERBS_DEV_H

#include "doca_gpunetio_verbs_def.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A WQE index that never wraps (64 bits): what put() and friends return, what wait() takes. */
typedef uint64_t doca_gpu_dev_verbs_ticket_t;

/* An address (or offset, for an MR with iova 0) with its lkey or rkey in big endian. */
struct doca_gpu_dev_verbs_addr {
	uint64_t addr;
	__be32 key;
};

/* Extended (masked) atomic segments, 16 bytes each. Byte order: see wqe_prepare_atomic_ext. */
typedef struct {
	uint32_t add_data;
	uint32_t field_boundary;
	uint64_t reserved;
} __attribute__((__packed__)) doca_gpu_dev_verbs_atomic_32_masked_fa_seg_t;

typedef struct {
	uint64_t add_data;
	uint64_t field_boundary;
} __attribute__((__packed__)) doca_gpu_dev_verbs_atomic_64_masked_fa_seg_t;

typedef struct {
	uint32_t swap_data;
	uint32_t compare_data;
	uint32_t swap_mask;
	uint32_t compare_mask;
} __attribute__((__packed__)) doca_gpu_dev_verbs_atomic_32_masked_cs_seg_t;

typedef struct {
	uint64_t swap;
	uint64_t compare;
} __attribute__((__packed__)) doca_gpu_dev_verbs_atomic_64_masked_cs_seg_t;

/* One WQEBB. */
struct doca_gpu_dev_verbs_wqe {
	union {
		struct {
			uint8_t inl_data[64];
		};
		struct {
			struct doca_gpunetio_ib_mlx5_wqe_data_seg dseg0;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg dseg1;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg dseg2;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg dseg3;
		};
		struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg rw_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_raddr_seg rw_rseg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg rw_dseg0;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg rw_dseg1;
		};
		struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg at_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_raddr_seg at_rseg;
			struct doca_gpunetio_ib_mlx5_wqe_atomic_seg at_seg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg at_dseg;
		};
		struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg snd_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg snd_dseg0;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg snd_dseg1;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg snd_dseg2;
		};
		struct {
			struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg wait_cseg;
			struct doca_gpunetio_ib_mlx5_wqe_wait_seg wait_dseg;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg padding0;
			struct doca_gpunetio_ib_mlx5_wqe_data_seg padding1;
		};
	};
} __attribute__((__aligned__(8)));

/* Bits of doca_gpu_dev_verbs_cq.cqe_flags. */
enum {
	GDAKIT_CQE_FLAG_COLLAPSED = 1 << 0, /* cc = 1: the NIC writes CQE 0 only */
};

/*
 * Device view of a completion queue. cqe_daddr, cqe_num, cqe_rsvd and cqe_flags do not change while
 * a kernel runs (they are read through the read-only cache). No member needs packing, so none is
 * packed and references to members are legal.
 */
struct doca_gpu_dev_verbs_cq {
	uint8_t *cqe_daddr; /* ring of cqe_num CQEs of 64 bytes */
	uint32_t cq_num;    /* CQN */
	uint32_t cqe_num;   /* depth, a power of two, at least the SQ's */
	__be32 *dbrec;	    /* doorbell record: consumer index */
	uint64_t cqe_ci;    /* WQEs below this index are known complete */
	uint32_t cqe_mask;
	uint8_t cqe_size;
	uint8_t cqe_flags; /* GDAKIT_CQE_FLAG_*; reserved (0) in upstream */
	uint8_t reserved1[2];
	uint64_t cqe_rsvd; /* added to a WQE index to get its CQE's: survives a QP reset */
	enum doca_gpu_dev_verbs_mem_type mem_type;
	/* Both reserved (0) in upstream. The first failed WQE index, complemented so that zero
	 * means none and an atomic maximum keeps the lowest index; and that CQE's syndrome | vendor
	 * syndrome << 8 | opcode << 28. A host reset of the QP must zero both. */
	uint32_t cqe_err_synd;
	uint64_t cqe_err_idx_inv;
} __attribute__((__aligned__(8)));

/*
 * Device view of a send queue. Indices are 64-bit WQE indices that never wrap; the NIC sees their
 * low 16 bits. 0 <= sq_wqe_pi <= sq_ready_index <= sq_rsvd_index in one-sided use.
 */
struct doca_gpu_dev_verbs_qp {
	uint64_t sq_rsvd_index;	 /* next index to reserve */
	uint64_t sq_ready_index; /* WQEs below it are written */
	uint64_t sq_wqe_pi;	 /* WQEs below it are announced to the NIC */
	uint32_t sq_num;	 /* QPN */
	uint32_t sq_num_shift8;
	uint32_t sq_num_shift8_be;
	uint32_t sq_num_shift8_be_1ds; /* be32(qpn << 8 | n segments) */
	uint32_t sq_num_shift8_be_2ds;
	uint32_t sq_num_shift8_be_3ds;
	uint32_t sq_num_shift8_be_4ds;
	uint32_t sq_num_shift8_be_5ds;
	int sq_lock;	       /* held around doorbell record and doorbell */
	uint16_t sq_wqe_num;   /* depth in WQEBBs, a power of two up to 32768 */
	uint16_t sq_wqe_mask;  /* sq_wqe_num - 1 */
	uint8_t *sq_wqe_daddr; /* ring */
	__be32 *sq_dbrec;      /* doorbell record, send word */
	uint64_t *sq_db;       /* doorbell register; the shared host word in CPU proxy mode */
	uint8_t reserved1[8];
	uint8_t reserved2[64];
	struct doca_gpu_dev_verbs_cq cq_sq;
	uint8_t reserved3[64];
	enum doca_gpu_dev_verbs_nic_handler nic_handler;
	enum doca_gpu_dev_verbs_mem_type mem_type; /* of ring and doorbell record together */
} __attribute__((__aligned__(8)));

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GPUNETIO_VERBS_DEV_H */
