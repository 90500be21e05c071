/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, one-sided operations: put, p, put_signal, p_signal, signal, get, and waiting for
 * them.
 *
 * Template parameters: who shares the QP (resource_sharing_mode), how the NIC is told (nic_handler,
 * see submit), and whether each thread acts alone or all 32 lanes of a warp call together
 * (exec_scope). Together, each lane brings its own arguments and gets its own ticket, and one
 * doorbell serves all.
 *
 * A ticket is the index of the operation's last WQE; when it completes, so have all earlier ones of
 * the QP. Addresses' keys are big endian. Sizes are in bytes, any size_t; messages are cut at 1 GiB
 * and an empty transfer posts a NOP. Local memory belongs to the NIC until the ticket completes.
 * Data that other threads wrote must be released to this thread first, and data in host memory
 * needs a system-wide release by the caller (fence_release<SYNC_SCOPE_SYS>).
 *
 * A failed queue does not block: operations on it post nothing, return at once, and wait() says
 * -EIO.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH
#define DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"
#include "doca_gpunetio_dev_verbs_cq.cuh"
#include "doca_gpunetio_dev_verbs_qp.cuh"

#define GDAKIT_CQ_UPDATE DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE

/* --- posting N WQEs --- */

/* Where WQE number `i` of an operation goes: its index and its slot. */
struct gdakit_slot {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_wqe *wqe;
	uint64_t idx;
	uint32_t i;
};

__device__ static __forceinline__ struct gdakit_slot
gdakit_slot_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t idx, uint32_t i)
{
	struct gdakit_slot slot;

	slot.qp = qp;
	slot.wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, static_cast<uint16_t>(idx));
	slot.idx = idx;
	slot.i = i;
	return slot;
}

/* Take `count` indices; false when the queue has failed: then their slots may still be the NIC's,
 * and nothing must be written there. The indices are to be marked ready all the same. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ bool
gdakit_reserve(struct doca_gpu_dev_verbs_qp *qp, uint32_t count, uint32_t code_opt, uint64_t *first)
{
	constexpr uint32_t skip_check = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK;

	*first = doca_gpu_dev_verbs_reserve_wq_slots<resource_sharing_mode>(qp, count, skip_check);
	return (code_opt & skip_check) ||
	       doca_gpu_dev_verbs_wait_until_slot_available<resource_sharing_mode>(
		       qp, *first + count - 1) == 0;
}

/* One thread posts `count` (at least 1) WQEs, in as many batches as the ring's depth asks for;
 * build(slot) fills each. Returns the last index. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post_thread(struct doca_gpu_dev_verbs_qp *qp,
							      uint32_t count, uint32_t code_opt,
							      Build build)
{
	const uint32_t depth = gdakit_ldg(&qp->sq_wqe_num);
	uint64_t first = 0;
	uint32_t batch = 0;

	for (uint32_t done = 0; done < count; done += batch) {
		batch = count - done < depth ? count - done : depth;
		const bool usable =
			gdakit_reserve<resource_sharing_mode>(qp, batch, code_opt, &first);

		for (uint32_t i = 0; usable && i < batch; i++)
			build(gdakit_slot_at(qp, first + i, done + i));
		doca_gpu_dev_verbs_mark_wqes_ready<resource_sharing_mode>(qp, first,
									  first + batch - 1);
		if (usable)
			doca_gpu_dev_verbs_submit<resource_sharing_mode,
						  DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU, nic_handler>(
				qp, first + batch, code_opt);
	}
	return first + batch - 1;
}

/*
 * All lanes of a warp post `count` (at least 1) WQEs each, those of lane 0 first; lane 0 reserves
 * and rings. Batches as above, so that a ring of 2 slots serves a warp too. Returns the calling
 * lane's last index. Shuffles do not order memory: the __syncwarp calls hand over the slots that
 * lane 0 saw free, and the WQEs that the lanes wrote.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post_warp(struct doca_gpu_dev_verbs_qp *qp,
							    uint32_t count, uint32_t code_opt,
							    Build build)
{
	constexpr uint32_t all = DOCA_GPUNETIO_VERBS_WARP_FULL_MASK;
	const uint32_t lane = gdakit_lane_id();
	const uint32_t depth = gdakit_ldg(&qp->sq_wqe_num);
	uint32_t end = count; /* of this lane's WQEs in the warp's sequence */
	uint64_t last = 0;

	for (uint32_t step = 1; step < DOCA_GPUNETIO_VERBS_WARP_SIZE; step *= 2) {
		uint32_t below = __shfl_up_sync(all, end, step);

		if (lane >= step)
			end += below;
	}
	const uint32_t begin = end - count;
	const uint32_t total = __shfl_sync(all, end, DOCA_GPUNETIO_VERBS_WARP_SIZE - 1);

	for (uint32_t done = 0; done < total;) {
		const uint32_t batch = total - done < depth ? total - done : depth;
		uint64_t first = 0;
		int usable = 0;

		if (lane == 0)
			usable = gdakit_reserve<resource_sharing_mode>(qp, batch, code_opt, &first);
		usable = __shfl_sync(all, usable, 0);
		first = __shfl_sync(all, static_cast<unsigned long long>(first), 0);
		__syncwarp(all);
		for (uint32_t seq = begin > done ? begin : done; seq < end && seq < done + batch;
		     seq++) {
			last = first + (seq - done);
			if (usable)
				build(gdakit_slot_at(qp, last, seq - begin));
		}
		__syncwarp(all);
		if (lane == 0) {
			doca_gpu_dev_verbs_mark_wqes_ready<resource_sharing_mode>(
				qp, first, first + batch - 1);
			if (usable)
				doca_gpu_dev_verbs_submit<resource_sharing_mode,
							  DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
							  nic_handler>(qp, first + batch, code_opt);
		}
		__syncwarp(all);
		done += batch;
	}
	return last;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post(struct doca_gpu_dev_verbs_qp *qp,
						       uint32_t count, uint32_t code_opt,
						       Build build)
{
	if constexpr (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return gdakit_post_warp<resource_sharing_mode, nic_handler>(qp, count, code_opt,
									    build);
	else
		return gdakit_post_thread<resource_sharing_mode, nic_handler>(qp, count, code_opt,
									      build);
}

/* --- what the WQEs hold --- */

/* Messages that `size` bytes need. An empty transfer needs one too: a NOP. */
__device__ static __forceinline__ uint32_t gdakit_chunk_count(size_t size)
{
	return size == 0 ? 1
			 : static_cast<uint32_t>(doca_gpu_dev_verbs_div_ceil_aligned_pow2(
				   size, DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT));
}

/* WRITE or READ of chunk slot.i of a transfer. */
__device__ static __forceinline__ void
gdakit_build_chunk(const struct gdakit_slot &slot, uint32_t opcode,
		   const struct doca_gpu_dev_verbs_addr &raddr,
		   const struct doca_gpu_dev_verbs_addr &laddr, size_t size)
{
	const uint64_t offset = static_cast<uint64_t>(slot.i)
				<< DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT;
	const uint64_t left = size - offset;
	const uint64_t bytes = left < DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE
				       ? left
				       : DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE;

	if (size == 0)
		doca_gpu_dev_verbs_wqe_prepare_nop(
			slot.qp, slot.wqe, static_cast<uint16_t>(slot.idx), GDAKIT_CQ_UPDATE);
	else
		doca_gpu_dev_verbs_wqe_prepare_write(
			slot.qp, slot.wqe, static_cast<uint16_t>(slot.idx), opcode,
			GDAKIT_CQ_UPDATE, 0, raddr.addr + offset, raddr.key, laddr.addr + offset,
			laddr.key, static_cast<uint32_t>(bytes));
}

/* 8-byte fetch-and-add. */
__device__ static __forceinline__ void
gdakit_build_signal(const struct gdakit_slot &slot, const struct doca_gpu_dev_verbs_addr &sig_raddr,
		    const struct doca_gpu_dev_verbs_addr &sig_laddr, uint64_t sig_val)
{
	doca_gpu_dev_verbs_wqe_prepare_atomic(
		slot.qp, slot.wqe, static_cast<uint16_t>(slot.idx),
		DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA, GDAKIT_CQ_UPDATE, sig_raddr.addr,
		sig_raddr.key, sig_laddr.addr, sig_laddr.key, sizeof(uint64_t), sig_val, 0);
}

template <typename T>
__device__ static __forceinline__ void
gdakit_build_value(const struct gdakit_slot &slot, const struct doca_gpu_dev_verbs_addr &raddr,
		   const T &value)
{
	static_assert(sizeof(T) <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE, "at most 28 bytes inline");
	struct gdakit_inline_words words = {{0, 0, 0, 0, 0, 0, 0}};

	memcpy(words.w, &value, sizeof(value));
	gdakit_wqe_write_inline(slot.qp, slot.wqe, static_cast<uint16_t>(slot.idx),
				GDAKIT_CQ_UPDATE, raddr.addr, raddr.key, words, sizeof(T));
}

__device__ static __forceinline__ void
gdakit_build_dump(const struct gdakit_slot &slot, const struct doca_gpu_dev_verbs_addr &daddr)
{
	doca_gpu_dev_verbs_wqe_prepare_dump(slot.qp, slot.wqe, static_cast<uint16_t>(slot.idx),
					    GDAKIT_CQ_UPDATE, daddr.addr, daddr.key, 1);
}

/* The template heads that all operations share. */
#define GDAKIT_TEMPLATE_SHARING                                                                    \
	enum doca_gpu_dev_verbs_resource_sharing_mode                                              \
		resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,             \
		enum doca_gpu_dev_verbs_nic_handler nic_handler =                                  \
			DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define GDAKIT_TEMPLATE_EXEC                                                                       \
	GDAKIT_TEMPLATE_SHARING, enum doca_gpu_dev_verbs_exec_scope exec_scope =                   \
					 DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define GDAKIT_CODE_OPT uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT

/* --- put --- */

/** Write `size` bytes from laddr to raddr. */
template <GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
		       struct doca_gpu_dev_verbs_addr laddr, size_t size,
		       doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	*out_ticket = gdakit_post<resource_sharing_mode, nic_handler, exec_scope>(
		qp, gdakit_chunk_count(size), code_opt, [&](const struct gdakit_slot &slot) {
			gdakit_build_chunk(slot, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, raddr,
					   laddr, size);
		});
}

template <GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
		       struct doca_gpu_dev_verbs_addr laddr, size_t size, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put<resource_sharing_mode, nic_handler, exec_scope>(
		qp, raddr, laddr, size, &ticket, code_opt);
}

template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_put_thread(struct doca_gpu_dev_verbs_qp *qp,
			      struct doca_gpu_dev_verbs_addr raddr,
			      struct doca_gpu_dev_verbs_addr laddr, size_t size,
			      doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_put<resource_sharing_mode, nic_handler,
			       DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(qp, raddr, laddr, size,
								      out_ticket, code_opt);
}

template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_put_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			    struct doca_gpu_dev_verbs_addr laddr, size_t size,
			    doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_put<resource_sharing_mode, nic_handler,
			       DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(qp, raddr, laddr, size,
								    out_ticket, code_opt);
}

/* --- p: a value inline --- */

/** Write `value` (trivially copyable, at most 28 bytes) to raddr. */
template <typename T, GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_p(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
		     T value, doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	*out_ticket = gdakit_post<resource_sharing_mode, nic_handler, exec_scope>(
		qp, 1, code_opt,
		[&](const struct gdakit_slot &slot) { gdakit_build_value(slot, raddr, value); });
}

template <typename T, GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void doca_gpu_dev_verbs_p(struct doca_gpu_dev_verbs_qp *qp,
							    struct doca_gpu_dev_verbs_addr raddr,
							    T value, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_p<T, resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, value,
										&ticket, code_opt);
}

template <typename T, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_p_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			    T value, doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_p<T, resource_sharing_mode, nic_handler,
			     DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(qp, raddr, value, out_ticket,
								    code_opt);
}

template <typename T, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_p_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			  T value, doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_p<T, resource_sharing_mode, nic_handler,
			     DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(qp, raddr, value, out_ticket,
								  code_opt);
}

/* --- put_signal, p_signal, signal --- */

/** Write as put() does, then add sig_val to the 8 bytes at sig_raddr (old value to sig_laddr). */
template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void doca_gpu_dev_verbs_put_signal(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
	doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	static_assert(sig_op == DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, "signals add");
	/* no message, no NOP: the signal itself is a WQE to wait for */
	const uint32_t chunks = size == 0 ? 0 : gdakit_chunk_count(size);

	*out_ticket = gdakit_post<resource_sharing_mode, nic_handler, exec_scope>(
		qp, chunks + 1, code_opt, [&](const struct gdakit_slot &slot) {
			if (slot.i < chunks)
				gdakit_build_chunk(slot, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
						   raddr, laddr, size);
			else
				gdakit_build_signal(slot, sig_raddr, sig_laddr, sig_val);
		});
}

template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void doca_gpu_dev_verbs_put_signal(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put_signal<sig_op, resource_sharing_mode, nic_handler, exec_scope>(
		qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, &ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_put_signal_thread(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
	doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_put_signal<sig_op, resource_sharing_mode, nic_handler,
				      DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
		qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_put_signal_warp(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
	doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_put_signal<sig_op, resource_sharing_mode, nic_handler,
				      DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(
		qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt);
}

/** p() followed by the signal. */
template <typename T, enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_p_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			    T value, struct doca_gpu_dev_verbs_addr sig_raddr,
			    struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
			    doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	static_assert(sig_op == DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, "signals add");

	*out_ticket = gdakit_post_thread<resource_sharing_mode, nic_handler>(
		qp, 2, code_opt, [&](const struct gdakit_slot &slot) {
			if (slot.i == 0)
				gdakit_build_value(slot, raddr, value);
			else
				gdakit_build_signal(slot, sig_raddr, sig_laddr, sig_val);
		});
}

template <typename T, enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_p_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			    T value, struct doca_gpu_dev_verbs_addr sig_raddr,
			    struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
			    GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_p_signal<T, sig_op, resource_sharing_mode, nic_handler>(
		qp, raddr, value, sig_raddr, sig_laddr, sig_val, &ticket, code_opt);
}

/** Add sig_val to the 8 bytes at sig_raddr; the old value comes to sig_laddr. */
template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_signal(struct doca_gpu_dev_verbs_qp *qp,
			  struct doca_gpu_dev_verbs_addr sig_raddr,
			  struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
			  doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	static_assert(sig_op == DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, "signals add");

	*out_ticket = gdakit_post<resource_sharing_mode, nic_handler, exec_scope>(
		qp, 1, code_opt, [&](const struct gdakit_slot &slot) {
			gdakit_build_signal(slot, sig_raddr, sig_laddr, sig_val);
		});
}

template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_EXEC>
__device__ static __forceinline__ void doca_gpu_dev_verbs_signal(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_signal<sig_op, resource_sharing_mode, nic_handler, exec_scope>(
		qp, sig_raddr, sig_laddr, sig_val, &ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_signal_thread(struct doca_gpu_dev_verbs_qp *qp,
				 struct doca_gpu_dev_verbs_addr sig_raddr,
				 struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
				 doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_signal<sig_op, resource_sharing_mode, nic_handler,
				  DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
		qp, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_signal_warp(struct doca_gpu_dev_verbs_qp *qp,
			       struct doca_gpu_dev_verbs_addr sig_raddr,
			       struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
			       doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	doca_gpu_dev_verbs_signal<sig_op, resource_sharing_mode, nic_handler,
				  DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(
		qp, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt);
}

/* --- waiting --- */

/**
 * Wait until the operation of `ticket` has completed: 0, or -EIO when it failed. Rings first for
 * WQEs that were posted with SKIP_DB_RINGING.
 */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp,
							      doca_gpu_dev_verbs_ticket_t ticket)
{
	return gdakit_qp_wait<resource_sharing_mode>(qp, ticket);
}

/** The same for everything that was posted on the QP so far. */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp)
{
	uint64_t posted =
		doca_gpu_dev_verbs_atomic_read<uint64_t, resource_sharing_mode>(&qp->sq_rsvd_index);

	return posted == 0 ? 0 : gdakit_qp_wait<resource_sharing_mode>(qp, posted - 1);
}

/** Order between operations of one QP: WRITEs and atomics of an RC queue execute in order anyway.
 */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_fence(struct doca_gpu_dev_verbs_qp *qp)
{
	(void)qp;
}

/* --- get --- */

/** Post a one-byte DUMP of daddr: when it completes, the data of all earlier READs is in place. */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_mcst(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
			doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	*out_ticket = gdakit_post_thread<resource_sharing_mode, nic_handler>(
		qp, 1, code_opt,
		[&](const struct gdakit_slot &slot) { gdakit_build_dump(slot, daddr); });
}

#define GDAKIT_TEMPLATE_GET                                                                        \
	enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED,           \
					  enum doca_gpu_dev_verbs_blocking_mode blocking_mode =    \
						  DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED

/**
 * Read `size` bytes from raddr to laddr; with mcst ENABLED followed by a DUMP of daddr, with
 * blocking ENABLED waited for. 0, or -EIO from the wait. In warp scope lane 0's ticket is the
 * DUMP's.
 */
template <GDAKIT_TEMPLATE_EXEC, GDAKIT_TEMPLATE_GET>
__device__ static inline int
doca_gpu_dev_verbs_get(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
		       struct doca_gpu_dev_verbs_addr laddr, size_t size,
		       struct doca_gpu_dev_verbs_addr daddr,
		       doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	constexpr bool is_warp = exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
	constexpr bool has_dump = mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED;
	/* a thread's DUMP follows its chunks; a warp's follows those of all lanes */
	const uint32_t chunks = gdakit_chunk_count(size);
	const uint32_t count = chunks + (has_dump && !is_warp ? 1 : 0);
	int status = 0;

	*out_ticket = gdakit_post<resource_sharing_mode, nic_handler, exec_scope>(
		qp, count, code_opt, [&](const struct gdakit_slot &slot) {
			if (slot.i < chunks)
				gdakit_build_chunk(slot, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ,
						   raddr, laddr, size);
			else
				gdakit_build_dump(slot, daddr);
		});
	if (is_warp && has_dump && gdakit_lane_id() == 0)
		doca_gpu_dev_verbs_mcst<resource_sharing_mode, nic_handler>(qp, daddr, out_ticket,
									    code_opt);
	if (blocking_mode == DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED)
		status = gdakit_qp_wait<resource_sharing_mode>(qp, *out_ticket);
	if (is_warp)
		__syncwarp(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK);
	return status;
}

template <GDAKIT_TEMPLATE_SHARING, GDAKIT_TEMPLATE_GET>
__device__ static inline int doca_gpu_dev_verbs_get_thread(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, struct doca_gpu_dev_verbs_addr daddr,
	doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	return doca_gpu_dev_verbs_get<resource_sharing_mode, nic_handler,
				      DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD, mcst_mode,
				      blocking_mode>(qp, raddr, laddr, size, daddr, out_ticket,
						     code_opt);
}

template <GDAKIT_TEMPLATE_SHARING, GDAKIT_TEMPLATE_GET>
__device__ static inline int
doca_gpu_dev_verbs_get_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			    struct doca_gpu_dev_verbs_addr laddr, size_t size,
			    struct doca_gpu_dev_verbs_addr daddr,
			    doca_gpu_dev_verbs_ticket_t *out_ticket, GDAKIT_CODE_OPT)
{
	return doca_gpu_dev_verbs_get<resource_sharing_mode, nic_handler,
				      DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP, mcst_mode,
				      blocking_mode>(qp, raddr, laddr, size, daddr, out_ticket,
						     code_opt);
}

/** Wait for a get(); with mcst ENABLED post a DUMP of daddr first. 0 or -EIO. */
template <GDAKIT_TEMPLATE_SHARING,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
__device__ static inline int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp,
							 struct doca_gpu_dev_verbs_addr daddr,
							 doca_gpu_dev_verbs_ticket_t ticket)
{
	if (mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED) {
		doca_gpu_dev_verbs_ticket_t dump;

		doca_gpu_dev_verbs_mcst<resource_sharing_mode, nic_handler>(qp, daddr, &dump);
		ticket = dump > ticket ? dump : ticket;
	}
	return gdakit_qp_wait<resource_sharing_mode>(qp, ticket);
}

/** The same for everything that was posted on the QP so far. */
template <GDAKIT_TEMPLATE_SHARING,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
__device__ static inline int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp,
							 struct doca_gpu_dev_verbs_addr daddr)
{
	uint64_t posted =
		doca_gpu_dev_verbs_atomic_read<uint64_t, resource_sharing_mode>(&qp->sq_rsvd_index);

	if (posted == 0)
		return 0;
	return doca_gpu_dev_verbs_get_wait<resource_sharing_mode, nic_handler, mcst_mode>(
		qp, daddr, posted - 1);
}

#endif /* DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH */
