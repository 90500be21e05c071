/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WQE builders (included by doca_gpunetio_dev_verbs_qp.cuh). Each writes whole 16-byte segments
 * from registers; reserved bytes of the segments are zero. Segments after the WQE's last one keep
 * what the slot had.
 *
 * Addresses, lengths and values are in host order and swapped here; keys come big endian
 * (DOCA_GPUNETIO_VERBS_MKEY_SWAPPED), an immediate in wire order. `wqe_idx` is cut to 16 bits.
 * Formats: mlx5 PRM, "Send WQE segments". An empty data segment would mean 2 GiB to the NIC: post a
 * NOP.
 */
#ifndef GDAKIT_WQE_CUH
#define GDAKIT_WQE_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

/** One 16-byte segment, 16-byte aligned. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_store_wqe_seg(uint64_t *ptr,
									uint64_t *val)
{
	gdakit_st_wqe_seg(ptr, val[0], val[1]);
}

__device__ static __forceinline__ void *gdakit_wqe_seg(struct doca_gpu_dev_verbs_wqe *wqe,
						       unsigned int i)
{
	return wqe->inl_data + 16 * i;
}

/* Control segment. `opmod` stands in the top byte already. */
__device__ static __forceinline__ void gdakit_wqe_ctrl(struct doca_gpu_dev_verbs_qp *qp,
						       struct doca_gpu_dev_verbs_wqe *wqe,
						       uint32_t opmod, uint16_t wqe_idx,
						       uint32_t opcode, uint32_t ds,
						       uint32_t ctrl_flags, uint32_t imm)
{
	uint32_t first = doca_gpu_dev_verbs_bswap32(
		opmod | static_cast<uint32_t>(wqe_idx) << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT |
		opcode);
	/* be32(qpn << 8) has its low byte, the segment count, on top */
	uint32_t second = gdakit_ldg(&qp->sq_num_shift8_be) | ds << 24;

	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe, 0), static_cast<uint64_t>(second) << 32 | first,
			  static_cast<uint64_t>(imm) << 32 | ctrl_flags << 24);
}

__device__ static __forceinline__ void gdakit_wqe_raddr(struct doca_gpu_dev_verbs_wqe *wqe,
							uint64_t raddr, uint32_t rkey)
{
	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe, 1), doca_gpu_dev_verbs_bswap64(raddr), rkey);
}

/* Data segment at place `i`. */
__device__ static __forceinline__ void gdakit_wqe_data(struct doca_gpu_dev_verbs_wqe *wqe,
						       unsigned int i, uint64_t laddr,
						       uint32_t lkey, uint32_t bytes)
{
	uint32_t count = doca_gpu_dev_verbs_bswap32(
		bytes & ~static_cast<uint32_t>(DOCA_GPUNETIO_IB_MLX5_INLINE_SEG));

	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe, i), static_cast<uint64_t>(lkey) << 32 | count,
			  doca_gpu_dev_verbs_bswap64(laddr));
}

/** Does nothing; with CQ_UPDATE it completes after all earlier WQEs. */
__device__ static __forceinline__ void
doca_gpu_dev_verbs_wqe_prepare_nop(struct doca_gpu_dev_verbs_qp *qp,
				   struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
				   enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags)
{
	gdakit_wqe_ctrl(qp, wqe_ptr, 0, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP, 1, ctrl_flags,
			0);
}

/** RDMA WRITE (opcode RDMA_WRITE or RDMA_WRITE_IMM) of one piece of memory. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_write(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, const uint32_t opcode,
	enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint32_t immediate,
	const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0, const uint32_t lkey0,
	const uint32_t bytes0)
{
	gdakit_wqe_ctrl(qp, wqe_ptr, 0, wqe_idx, opcode, 3, ctrl_flags, immediate);
	gdakit_wqe_raddr(wqe_ptr, raddr, rkey);
	gdakit_wqe_data(wqe_ptr, 2, laddr0, lkey0, bytes0);
}

/** The same, gathered from two pieces. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_write(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, const uint32_t opcode,
	enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint32_t immediate,
	const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0, const uint32_t lkey0,
	const uint32_t bytes0, const uint64_t laddr1, const uint32_t lkey1, const uint32_t bytes1)
{
	gdakit_wqe_ctrl(qp, wqe_ptr, 0, wqe_idx, opcode, 4, ctrl_flags, immediate);
	gdakit_wqe_raddr(wqe_ptr, raddr, rkey);
	gdakit_wqe_data(wqe_ptr, 2, laddr0, lkey0, bytes0);
	gdakit_wqe_data(wqe_ptr, 3, laddr1, lkey1, bytes1);
}

/* Inline data: up to 28 bytes as seven little-endian words after the count. */
struct gdakit_inline_words {
	uint32_t w[7];
};

__device__ static __forceinline__ uint32_t gdakit_inline_ds(uint32_t bytes)
{
	return bytes <= 12 ? DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MIN
			   : DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MAX;
}

__device__ static __forceinline__ void
gdakit_wqe_write_inline(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe,
			uint16_t wqe_idx, uint32_t ctrl_flags, uint64_t raddr, uint32_t rkey,
			const struct gdakit_inline_words &data, uint32_t bytes)
{
	const uint32_t ds = gdakit_inline_ds(bytes);
	const uint32_t count = doca_gpu_dev_verbs_bswap32(
		bytes | static_cast<uint32_t>(DOCA_GPUNETIO_IB_MLX5_INLINE_SEG));
	const uint32_t *w = data.w;

	gdakit_wqe_ctrl(qp, wqe, 0, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, ds,
			ctrl_flags, 0);
	gdakit_wqe_raddr(wqe, raddr, rkey);
	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe, 2), static_cast<uint64_t>(w[0]) << 32 | count,
			  static_cast<uint64_t>(w[2]) << 32 | w[1]);
	if (ds == DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_RDMA_WRITE_INL_MAX)
		gdakit_st_wqe_seg(gdakit_wqe_seg(wqe, 3), static_cast<uint64_t>(w[4]) << 32 | w[3],
				  static_cast<uint64_t>(w[6]) << 32 | w[5]);
}

/** Inline RDMA WRITE of `bytes` (1 to 28) with the data still to come; it reads as zero until then.
 */
__device__ static __forceinline__ void doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
	const uint64_t raddr, const uint32_t rkey, const uint32_t bytes)
{
	const struct gdakit_inline_words zero = {{0, 0, 0, 0, 0, 0, 0}};

	gdakit_wqe_write_inline(qp, wqe_ptr, wqe_idx, ctrl_flags, raddr, rkey, zero, bytes);
}

/** The data of an inline WRITE whose header is there: a trivially copyable T of at most 28 bytes.
 */
template <typename T>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(struct doca_gpu_dev_verbs_qp *qp,
						   struct doca_gpu_dev_verbs_wqe *wqe_ptr, T data)
{
	static_assert(sizeof(T) <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE, "at most 28 bytes inline");
	struct gdakit_inline_words words = {{0, 0, 0, 0, 0, 0, 0}};

	(void)qp;
	memcpy(words.w, &data, sizeof(data));
	for (unsigned int i = 0; i < (sizeof(T) + 3) / 4; i++)
		gdakit_st_wqe_word(wqe_ptr->inl_data + 36 + 4 * i, words.w[i]);
}

/** Inline RDMA WRITE of `bytes` (1 to 28) read from `laddr`, a pointer that this thread can read.
 */
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_write_inl(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
	const uint64_t raddr, const uint32_t rkey, const uint64_t laddr, const uint32_t bytes)
{
	const uint8_t *src = reinterpret_cast<const uint8_t *>(laddr);
	struct gdakit_inline_words words = {{0, 0, 0, 0, 0, 0, 0}};

	DOCA_GPUNETIO_VERBS_ASSERT(bytes <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE);
	for (uint32_t i = 0; i < bytes && i < DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE; i++)
		words.w[i / 4] |= static_cast<uint32_t>(src[i]) << 8 * (i % 4);
	gdakit_wqe_write_inline(qp, wqe_ptr, wqe_idx, ctrl_flags, raddr, rkey, words, bytes);
}

/** RDMA READ into one piece of memory. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_read(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
	const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0, const uint32_t lkey0,
	const uint32_t bytes0)
{
	doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe_ptr, wqe_idx,
					     DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, ctrl_flags, 0,
					     raddr, rkey, laddr0, lkey0, bytes0);
}

/** The same, scattered to two pieces. */
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_read(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
	const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0, const uint32_t lkey0,
	const uint32_t bytes0, const uint64_t laddr1, const uint32_t lkey1, const uint32_t bytes1)
{
	doca_gpu_dev_verbs_wqe_prepare_write(
		qp, wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, ctrl_flags, 0, raddr,
		rkey, laddr0, lkey0, bytes0, laddr1, lkey1, bytes1);
}

/**
 * 8-byte atomic at `raddr`, the old value comes to `laddr`. ATOMIC_FA adds `compare_add`; ATOMIC_CS
 * stores `swap_add` where `compare_add` is found.
 */
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_atomic(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
	const uint16_t wqe_idx, const uint32_t opcode,
	enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint64_t raddr,
	const uint32_t rkey, const uint64_t laddr, const uint32_t lkey, const uint32_t bytes,
	const uint64_t compare_add, const uint64_t swap_add)
{
	const bool is_cs = opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS;

	gdakit_wqe_ctrl(qp, wqe_ptr, 0, wqe_idx, opcode,
			DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_ATOMIC_FA_CAS, ctrl_flags, 0);
	gdakit_wqe_raddr(wqe_ptr, raddr, rkey);
	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe_ptr, 2),
			  doca_gpu_dev_verbs_bswap64(is_cs ? swap_add : compare_add),
			  is_cs ? doca_gpu_dev_verbs_bswap64(compare_add) : 0);
	gdakit_wqe_data(wqe_ptr, 3, laddr, lkey, bytes);
}

/**
 * Masked atomic of 4 or 8 bytes: ATOMIC_MASKED_FA or ATOMIC_MASKED_CS. The 8-byte compare-and-swap
 * takes two WQEBBs (`wqe_ptr1` is the second, and index wqe_idx + 1 is used up without a CQE of its
 * own); all others ignore `wqe_ptr1`.
 *
 * add_data, swap_data and swap_mask are in host order; field_boundary, compare_data and
 * compare_mask are stored as given, so pass them big endian. That is GPUNetIO's interface, kept.
 */
template <enum doca_gpu_dev_verbs_atomic_ext_bytes bytes = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>
__device__ static __forceinline__ void doca_gpu_dev_verbs_wqe_prepare_atomic_ext(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr0,
	struct doca_gpu_dev_verbs_wqe *wqe_ptr1, const uint16_t wqe_idx, const uint32_t opcode,
	enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint64_t raddr,
	const uint32_t rkey, const uint64_t laddr, const uint32_t lkey, const uint64_t add_data,
	const uint64_t field_boundary, const uint64_t swap_data, const uint64_t compare_data,
	const uint64_t swap_mask, const uint64_t compare_mask)
{
	constexpr bool wide = bytes == DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8;
	const bool is_cs = opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS;
	uint64_t low, high;

	gdakit_wqe_ctrl(qp, wqe_ptr0,
			wide ? DOCA_GPUNETIO_8_BYTE_ATOMIC_EXT_OPMOD
			     : DOCA_GPUNETIO_4_BYTE_ATOMIC_EXT_OPMOD,
			wqe_idx, opcode, is_cs && wide ? 5 : 4, ctrl_flags, 0);
	gdakit_wqe_raddr(wqe_ptr0, raddr, rkey);
	if (is_cs && wide) {
		low = doca_gpu_dev_verbs_bswap64(swap_data);
		high = compare_data;
	} else if (is_cs) {
		low = compare_data << 32 |
		      doca_gpu_dev_verbs_bswap32(static_cast<uint32_t>(swap_data));
		high = compare_mask << 32 |
		       doca_gpu_dev_verbs_bswap32(static_cast<uint32_t>(swap_mask));
	} else if (wide) {
		low = doca_gpu_dev_verbs_bswap64(add_data);
		high = field_boundary;
	} else {
		low = field_boundary << 32 |
		      doca_gpu_dev_verbs_bswap32(static_cast<uint32_t>(add_data));
		high = 0;
	}
	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe_ptr0, 2), low, high);
	if (is_cs && wide) {
		gdakit_st_wqe_seg(gdakit_wqe_seg(wqe_ptr0, 3),
				  doca_gpu_dev_verbs_bswap64(swap_mask), compare_mask);
		gdakit_wqe_data(wqe_ptr1, 0, laddr, lkey, bytes);
	} else {
		gdakit_wqe_data(wqe_ptr0, 3, laddr, lkey, bytes);
	}
}

/** Hold the queue until CQE number `max_index` of CQ `qpn_cqn` has been written. */
__device__ static __forceinline__ void
doca_gpu_dev_verbs_wqe_prepare_wait(struct doca_gpu_dev_verbs_qp *qp,
				    struct doca_gpu_dev_verbs_wqe *wqe_ptr, uint16_t wqe_idx,
				    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
				    const uint32_t max_index, const uint32_t qpn_cqn)
{
	gdakit_wqe_ctrl(qp, wqe_ptr, 0, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT,
			DOCA_GPUNETIO_VERBS_WQE_SEG_CNT_WAIT, ctrl_flags, 0);
	gdakit_st_wqe_seg(gdakit_wqe_seg(wqe_ptr, 1), 0,
			  static_cast<uint64_t>(doca_gpu_dev_verbs_bswap32(qpn_cqn)) << 32 |
				  doca_gpu_dev_verbs_bswap32(max_index));
}

/** Local read by the NIC, nothing sent: it pushes the data of earlier READs in front of it. */
__device__ static inline void
doca_gpu_dev_verbs_wqe_prepare_dump(struct doca_gpu_dev_verbs_qp *qp,
				    struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
				    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
				    const uint64_t laddr, const uint32_t lkey, const uint32_t bytes)
{
	gdakit_wqe_ctrl(qp, wqe_ptr, 0, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_DUMP, 2, ctrl_flags,
			0);
	gdakit_wqe_data(wqe_ptr, 1, laddr, lkey, bytes);
}

#endif /* GDAKIT_WQE_CUH */
