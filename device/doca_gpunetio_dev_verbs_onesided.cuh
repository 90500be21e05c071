/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, one-sided operations: put, p, put_signal, p_signal, signal, get, and waiting for
 * them.
 *
 * Template parameters: who shares the QP (resource_sharing_mode), how the NIC is told (nic_handler,
 * see submit), and whether each thread acts alone or all 32 lanes of a warp call together
 * (exec_scope). Either way each lane brings its own arguments and gets its own ticket, and one
 * reservation and one doorbell serve all that call together for one QP (gdakit_post.cuh); warp
 * scope promises that all 32 do, thread scope finds out who does.
 *
 * A ticket is the index of the operation's last WQE; when it completes, so have all earlier ones of
 * the QP. Addresses' keys are big endian. Sizes are in bytes, any size_t; messages are cut at 1 GiB
 * and an empty transfer posts a NOP. Local memory belongs to the NIC until the ticket completes.
 * Data that other threads wrote must be released to this thread first. Data in host memory needs a
 * system-wide release: by code_opt GDAKIT_GPU_CODE_OPT_HOST_PAYLOAD, or by the caller
 * (fence_release<SYNC_SCOPE_SYS>).
 *
 * A failed queue does not block: operations on it post nothing, return at once, and wait() says
 * -EIO. An operation that finds no free slot for GDAKIT_STALL_LIMIT_NS makes the queue a failed
 * one.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH
#define DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"
#include "doca_gpunetio_dev_verbs_cq.cuh"
#include "doca_gpunetio_dev_verbs_qp.cuh"
#include "gdakit_post.cuh"

#define GDAKIT_CQ_UPDATE DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE

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
	return gdakit_qp_wait<resource_sharing_mode>(qp, ticket, gdakit_patience_default());
}

/** The same for everything that was posted on the QP so far. */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp)
{
	uint64_t posted = gdakit_load_state<resource_sharing_mode>(&qp->sq_rsvd_index);

	return posted == 0 ? 0
			   : gdakit_qp_wait<resource_sharing_mode>(qp, posted - 1,
								   gdakit_patience_default());
}

/** The same two until the clock of query_globaltimer() shows deadline_ns: 0, -EIO, or -ETIMEDOUT
 * with nothing changed. */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_wait_until(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket,
			      uint64_t deadline_ns)
{
	return gdakit_qp_wait<resource_sharing_mode>(qp, ticket,
						     gdakit_patience_until(deadline_ns));
}

template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_wait_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t deadline_ns)
{
	uint64_t posted = gdakit_load_state<resource_sharing_mode>(&qp->sq_rsvd_index);

	return posted == 0 ? 0
			   : gdakit_qp_wait<resource_sharing_mode>(
				     qp, posted - 1, gdakit_patience_until(deadline_ns));
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
 * DUMP's. With a deadline: not blocking, then get_wait_until().
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
	if (blocking_mode == DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED) {
		/* an exclusive queue has one user at a time: lane 0 waits for the last WQE of all
		 */
		constexpr bool is_alone =
			is_warp && resource_sharing_mode ==
					   DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
		uint64_t last = *out_ticket;

		if (is_alone && !has_dump)
			last = __shfl_sync(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK,
					   static_cast<unsigned long long>(last),
					   DOCA_GPUNETIO_VERBS_WARP_SIZE - 1);
		if (!is_alone || gdakit_lane_id() == 0)
			status = gdakit_qp_wait<resource_sharing_mode>(qp, last,
								       gdakit_patience_default());
		if (is_alone)
			status = __shfl_sync(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK, status, 0);
	}
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

/* Post a DUMP if asked to; returns what to wait for. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode>
__device__ static __forceinline__ uint64_t gdakit_dump_behind(struct doca_gpu_dev_verbs_qp *qp,
							      struct doca_gpu_dev_verbs_addr daddr,
							      doca_gpu_dev_verbs_ticket_t ticket)
{
	if (mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED) {
		doca_gpu_dev_verbs_ticket_t dump;

		doca_gpu_dev_verbs_mcst<resource_sharing_mode, nic_handler>(qp, daddr, &dump);
		ticket = dump > ticket ? dump : ticket;
	}
	return ticket;
}

#define GDAKIT_TEMPLATE_GET_WAIT                                                                   \
	GDAKIT_TEMPLATE_SHARING,                                                                   \
		enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED

/** Wait for a get(); with mcst ENABLED post a DUMP of daddr first. 0 or -EIO. */
template <GDAKIT_TEMPLATE_GET_WAIT>
__device__ static inline int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp,
							 struct doca_gpu_dev_verbs_addr daddr,
							 doca_gpu_dev_verbs_ticket_t ticket)
{
	ticket = gdakit_dump_behind<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr,
										   ticket);
	return gdakit_qp_wait<resource_sharing_mode>(qp, ticket, gdakit_patience_default());
}

/** The same for everything that was posted on the QP so far. */
template <GDAKIT_TEMPLATE_GET_WAIT>
__device__ static inline int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp,
							 struct doca_gpu_dev_verbs_addr daddr)
{
	uint64_t posted = gdakit_load_state<resource_sharing_mode>(&qp->sq_rsvd_index);

	if (posted == 0)
		return 0;
	return doca_gpu_dev_verbs_get_wait<resource_sharing_mode, nic_handler, mcst_mode>(
		qp, daddr, posted - 1);
}

/** The same two until the clock of query_globaltimer() shows deadline_ns: 0, -EIO, or -ETIMEDOUT;
 * a DUMP stays posted, so go on with wait_until(). */
template <GDAKIT_TEMPLATE_GET_WAIT>
__device__ static inline int doca_gpu_dev_verbs_get_wait_until(struct doca_gpu_dev_verbs_qp *qp,
							       struct doca_gpu_dev_verbs_addr daddr,
							       doca_gpu_dev_verbs_ticket_t ticket,
							       uint64_t deadline_ns)
{
	ticket = gdakit_dump_behind<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr,
										   ticket);
	return gdakit_qp_wait<resource_sharing_mode>(qp, ticket,
						     gdakit_patience_until(deadline_ns));
}

template <GDAKIT_TEMPLATE_GET_WAIT>
__device__ static inline int doca_gpu_dev_verbs_get_wait_until(struct doca_gpu_dev_verbs_qp *qp,
							       struct doca_gpu_dev_verbs_addr daddr,
							       uint64_t deadline_ns)
{
	uint64_t posted = gdakit_load_state<resource_sharing_mode>(&qp->sq_rsvd_index);

	if (posted == 0)
		return 0;
	return doca_gpu_dev_verbs_get_wait_until<resource_sharing_mode, nic_handler, mcst_mode>(
		qp, daddr, posted - 1, deadline_ns);
}

#endif /* DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH */
