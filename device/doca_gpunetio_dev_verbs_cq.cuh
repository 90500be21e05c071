/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, completion queue. Polling is by WQE index (a ticket), 64 bits that never wrap: every
 * WQE asks for a CQE, so WQE i's CQE is number i of the ring (plus cqe_rsvd after a QP reset).
 *
 * What is known lives in the CQ: WQEs below cqe_ci have completed, and WQEs from the first failed
 * one on have failed (an RC queue goes to the error state and flushes). Both only grow in
 * knowledge, so any thread may add to them and every waiter gets an answer, also one that comes a
 * lap late or whose own CQE has long been overwritten.
 *
 * The NIC stores the last four bytes of a CQE (wqe_counter, signature, op_own) in one piece and
 * last. No function here moves the CQ's consumer doorbell record: the CQ must ignore overruns.
 *
 * Status values: 0 complete, EBUSY not yet, -EIO failed, -ETIMEDOUT not yet and the time is over.
 * The owner bit is PRM "CQE ownership".
 *
 * Each wait has a twin *_until with a deadline: a value of query_globaltimer(), in nanoseconds. It
 * looks at least once, and when it says -ETIMEDOUT nothing has changed: wait again, or do something
 * else. Waits without deadline end after GDAKIT_STALL_LIMIT_NS.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_CQ_CUH
#define DOCA_GPUNETIO_DEV_VERBS_CQ_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

/** The CQ of a QP's send queue. */
__device__ static __forceinline__ struct doca_gpu_dev_verbs_cq *
doca_gpu_dev_verbs_qp_get_cq_sq(struct doca_gpu_dev_verbs_qp *qp)
{
	return &qp->cq_sq;
}

/** A 24-bit consumer index advanced by `increment`. */
__device__ static __forceinline__ uint32_t doca_gpu_dev_verbs_cqe_idx_inc_mask(uint32_t cqe_idx,
									       uint32_t increment)
{
	return (cqe_idx + increment) & DOCA_GPUNETIO_VERBS_CQE_CI_MASK;
}

#if DOCA_GPUNETIO_VERBS_ENABLE_DEBUG == 1
/** Print an error CQE; only built with DOCA_GPUNETIO_VERBS_ENABLE_DEBUG. */
__device__ static __forceinline__ void
doca_gpu_dev_verbs_cq_print_cqe_err(struct doca_gpunetio_ib_mlx5_cqe64 *cqe64)
{
	struct doca_gpunetio_ib_mlx5_err_cqe_ex *err =
		reinterpret_cast<struct doca_gpunetio_ib_mlx5_err_cqe_ex *>(cqe64);

	printf("error CQE: wqe_counter %u syndrome 0x%x vendor 0x%x hw 0x%x type 0x%x\n",
	       doca_gpu_dev_verbs_bswap16(err->wqe_counter), err->syndrome, err->vendor_err_synd,
	       err->hw_err_synd, err->hw_synd_type);
}
#endif

/* The last word of a CQE, taken apart. */
struct gdakit_cqe_tail {
	uint16_t wqe_counter;
	uint8_t opcode;
	uint8_t owner;
};

__device__ static __forceinline__ struct gdakit_cqe_tail gdakit_cqe_read_tail(uint8_t *cqe)
{
	uint32_t word = gdakit_ld<uint32_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS, true>(
		reinterpret_cast<uint32_t *>(cqe + 60));
	struct gdakit_cqe_tail tail;

	tail.wqe_counter = doca_gpu_dev_verbs_bswap16(static_cast<uint16_t>(word));
	tail.opcode =
		static_cast<uint8_t>(word >> (24 + DOCA_GPUNETIO_VERBS_MLX5_CQE_OPCODE_SHIFT));
	tail.owner = word >> 24 & DOCA_GPUNETIO_IB_MLX5_CQE_OWNER_MASK;
	return tail;
}

__device__ static __forceinline__ bool gdakit_cqe_is_error(uint8_t opcode)
{
	return opcode >= DOCA_GPUNETIO_IB_MLX5_CQE_SIG_ERR &&
	       opcode <= DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR;
}

/* Is WQE `idx` known to have failed? */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ bool gdakit_cq_failed(struct doca_gpu_dev_verbs_cq *cq,
							uint64_t idx)
{
	uint64_t inv = gdakit_load_state<resource_sharing_mode>(&cq->cqe_err_idx_inv);

	return inv != 0 && idx >= ~inv;
}

/* Note that WQE `idx` and all later ones failed, as `cqe` says. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void
gdakit_cq_set_failed(struct doca_gpu_dev_verbs_cq *cq, uint8_t *cqe, uint64_t idx, uint8_t opcode)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;

	doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
	/* bytes 52 to 55: hw_err_synd, hw_synd_type, vendor_err_synd, syndrome */
	uint32_t synd = gdakit_ld<uint32_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS, true>(
		reinterpret_cast<uint32_t *>(cqe + 52));
	uint64_t old = gdakit_atomic_max<uint64_t, GDAKIT_RELAXED, scope, true>(
		&cq->cqe_err_idx_inv, ~idx);

	if (old < ~idx)
		gdakit_st<uint32_t, GDAKIT_RELAXED, scope>(
			&cq->cqe_err_synd, synd >> 24 | (synd >> 16 & 0xff) << 8 |
						   static_cast<uint32_t>(opcode) << 28);
#if DOCA_GPUNETIO_VERBS_ENABLE_DEBUG == 1
	doca_gpu_dev_verbs_cq_print_cqe_err(
		reinterpret_cast<struct doca_gpunetio_ib_mlx5_cqe64 *>(cqe));
#endif
}

/*
 * Everything below `ci` has completed, as a CQE told this thread. The acquire makes what the NIC
 * wrote before that CQE visible here; the release hands it on to whoever reads cqe_ci instead of
 * the CQE.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void gdakit_cq_set_completed(struct doca_gpu_dev_verbs_cq *cq,
							       uint64_t ci)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;

	doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
	gdakit_raise<scope == GDAKIT_SCOPE_THREAD ? GDAKIT_RELAXED : GDAKIT_RELEASE, scope, true>(
		&cq->cqe_ci, ci);
}

/* No completion has come for the stall limit, and somebody had to go on without: nothing that is
 * not known to be complete will be waited for any more. The syndrome stays 0. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void gdakit_cq_give_up(struct doca_gpu_dev_verbs_cq *cq)
{
	uint64_t cqe_ci = gdakit_load_state<resource_sharing_mode>(&cq->cqe_ci);

	gdakit_raise<GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>, true>(
		&cq->cqe_err_idx_inv, ~cqe_ci);
}

__device__ static __forceinline__ uint8_t *gdakit_cq_slot(struct doca_gpu_dev_verbs_cq *cq,
							  uint64_t cqe_idx)
{
	return gdakit_ldg(&cq->cqe_daddr) +
	       (cqe_idx & (gdakit_ldg(&cq->cqe_num) - 1)) * DOCA_GPUNETIO_VERBS_CQE_SIZE;
}

/* Is it WQE `idx`'s CQE that was read from its slot? Only for idx < cqe_ci + cqe_num: one lap
 * further the owner bit would have the same value again. */
__device__ static __forceinline__ bool gdakit_cq_has(struct doca_gpu_dev_verbs_cq *cq, uint64_t idx,
						     struct gdakit_cqe_tail tail)
{
	const uint64_t cqe_idx = idx + gdakit_ldg(&cq->cqe_rsvd);
	const uint32_t cqe_num = gdakit_ldg(&cq->cqe_num);

	/* the counter guards against a stale slot whose owner bit happens to match */
	return tail.owner == ((cqe_idx & cqe_num) != 0) &&
	       tail.wqe_counter == static_cast<uint16_t>(idx) &&
	       tail.opcode != DOCA_GPUNETIO_IB_MLX5_CQE_INVALID;
}

/* WQE `idx` has failed: note the first that has. Its CQE is written, for CQEs come in order; the
 * later ones are flushes that do not say why. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __noinline__ void gdakit_cq_find_failed(struct doca_gpu_dev_verbs_cq *cq,
							  uint64_t idx)
{
	const uint64_t rsvd = gdakit_ldg(&cq->cqe_rsvd);
	uint64_t i = gdakit_load_state<resource_sharing_mode>(&cq->cqe_ci);

	doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
	for (; i <= idx; i++) {
		uint8_t *cqe = gdakit_cq_slot(cq, i + rsvd);
		struct gdakit_cqe_tail tail = gdakit_cqe_read_tail(cqe);

		if (gdakit_cq_has(cq, i, tail) && gdakit_cqe_is_error(tail.opcode)) {
			gdakit_cq_set_failed<resource_sharing_mode>(cq, cqe, i, tail.opcode);
			return;
		}
	}
}

/* What the slot of WQE `idx` says, as `tail` was read from it. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int
gdakit_cq_judge_slot(struct doca_gpu_dev_verbs_cq *cq, uint64_t idx, struct gdakit_cqe_tail tail)
{
	if (!gdakit_cq_has(cq, idx, tail))
		return EBUSY;
	if (gdakit_cqe_is_error(tail.opcode)) {
		gdakit_cq_find_failed<resource_sharing_mode>(cq, idx);
		return -EIO;
	}
	return 0;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int gdakit_cq_check_slot(struct doca_gpu_dev_verbs_cq *cq,
							   uint64_t idx)
{
	uint8_t *cqe = gdakit_cq_slot(cq, idx + gdakit_ldg(&cq->cqe_rsvd));

	return gdakit_cq_judge_slot<resource_sharing_mode>(cq, idx, gdakit_cqe_read_tail(cqe));
}

/* The caller wants a WQE more than a lap away from cqe_ci. Learn from the window's last and first
 * slot, so that a waiter does not depend on others to poll. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __noinline__ void gdakit_cq_catch_up(struct doca_gpu_dev_verbs_cq *cq,
						       uint64_t cqe_ci)
{
	const uint32_t cqe_num = gdakit_ldg(&cq->cqe_num);

	if (gdakit_cq_check_slot<resource_sharing_mode>(cq, cqe_ci + cqe_num - 1) == 0)
		gdakit_cq_set_completed<resource_sharing_mode>(cq, cqe_ci + cqe_num);
	else if (gdakit_cq_check_slot<resource_sharing_mode>(cq, cqe_ci) == 0)
		gdakit_cq_set_completed<resource_sharing_mode>(cq, cqe_ci + 1);
}

/*
 * Collapsed CQ: only CQE 0 exists and its 16-bit counter names the last WQE. It is extended to 64
 * bits downwards from sq_wqe_pi (nothing beyond it can have completed) where the caller has one
 * (pi > cqe_ci), else upwards from cqe_ci.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int
gdakit_cq_check_collapsed(struct doca_gpu_dev_verbs_cq *cq, uint64_t idx, uint64_t cqe_ci,
			  uint64_t *pi_ptr, uint8_t *cqe, struct gdakit_cqe_tail tail)
{
	if (tail.opcode == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID)
		return EBUSY;
	if (gdakit_cqe_is_error(tail.opcode)) {
		/* a flush may already have overwritten the first error: all that is not known to
		 * have completed counts as failed */
		gdakit_cq_set_failed<resource_sharing_mode>(cq, cqe, cqe_ci, tail.opcode);
		return -EIO;
	}
	uint64_t pi = pi_ptr != nullptr ? gdakit_load_state<resource_sharing_mode>(pi_ptr) : 0;
	uint64_t done; /* number of WQEs completed */

	if (pi > cqe_ci) {
		done = pi - static_cast<uint16_t>(pi - 1 - tail.wqe_counter);
		if (done <= cqe_ci || done > pi) /* the CQE is older, or newer than our pi */
			return EBUSY;
	} else {
		done = cqe_ci + static_cast<uint16_t>(tail.wqe_counter + 1 - cqe_ci);
		if (done - cqe_ci > gdakit_ldg(&cq->cqe_num))
			return EBUSY;
	}
	if (done > cqe_ci)
		gdakit_cq_set_completed<resource_sharing_mode>(cq, done);
	return idx < done ? 0 : EBUSY;
}

__device__ static __forceinline__ bool gdakit_cq_is_collapsed(struct doca_gpu_dev_verbs_cq *cq)
{
	return (gdakit_ldg(&cq->cqe_flags) & GDAKIT_CQE_FLAG_COLLAPSED) != 0;
}

/*
 * One look, for either kind of CQ; on success everything is acquired. The loads do not depend on
 * each other, so that a look costs one way to memory and back.
 *
 * A WQE beyond the CQ's window cannot complete soon: `nap_ns` gets the least time that the NIC
 * needs to come near (2 ns a WQE is faster than any), so that the many who wait for slots on a full
 * ring do not crowd the few whose turn it is.
 *
 * Who finds idx < cqe_ci acquires from the thread that saw the CQE, in the scope in which the QP is
 * shared; that thread has acquired from the system.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int gdakit_cq_poll(struct doca_gpu_dev_verbs_cq *cq, uint64_t idx,
						     bool collapsed, uint64_t *pi_ptr,
						     uint32_t *nap_ns)
{
	uint64_t cqe_ci = gdakit_load_state<resource_sharing_mode>(&cq->cqe_ci);
	uint64_t inv = gdakit_load_state<resource_sharing_mode>(&cq->cqe_err_idx_inv);
	uint8_t *cqe = collapsed ? gdakit_ldg(&cq->cqe_daddr)
				 : gdakit_cq_slot(cq, idx + gdakit_ldg(&cq->cqe_rsvd));
	struct gdakit_cqe_tail tail = gdakit_cqe_read_tail(cqe);

	if (idx < cqe_ci) {
		gdakit_fence_acquire<gdakit_sharing_scope<resource_sharing_mode>>();
		return 0;
	}
	if (inv != 0 && idx >= ~inv)
		return -EIO;
	if (collapsed)
		return gdakit_cq_check_collapsed<resource_sharing_mode>(cq, idx, cqe_ci, pi_ptr,
									cqe, tail);
	if (idx >= cqe_ci + gdakit_ldg(&cq->cqe_num)) {
		gdakit_cq_catch_up<resource_sharing_mode>(cq, cqe_ci);
		*nap_ns = idx - cqe_ci < 8192 ? 2 * static_cast<uint32_t>(idx - cqe_ci) : 2 * 8192;
		return EBUSY;
	}
	int status = gdakit_cq_judge_slot<resource_sharing_mode>(cq, idx, tail);

	if (status == 0)
		gdakit_cq_set_completed<resource_sharing_mode>(cq, idx + 1);
	return status;
}

/* Between two looks. */
__device__ static __forceinline__ void gdakit_nap(uint32_t nap_ns)
{
	if (nap_ns == 0)
		gdakit_pause();
	else
		gdakit_sleep_ns(nap_ns);
}

/* Poll until the answer is no longer EBUSY: 0, -EIO or -ETIMEDOUT. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, bool has_deadline>
__device__ static __forceinline__ int gdakit_cq_wait(struct doca_gpu_dev_verbs_cq *cq, uint64_t idx,
						     bool collapsed, uint64_t *pi_ptr,
						     struct gdakit_patience<has_deadline> patience)
{
	for (;;) {
		uint32_t nap_ns = 0;
		int status =
			gdakit_cq_poll<resource_sharing_mode>(cq, idx, collapsed, pi_ptr, &nap_ns);

		if (status != EBUSY)
			return status;
		if (gdakit_patience_is_over(patience))
			return -ETIMEDOUT;
		gdakit_nap(nap_ns);
	}
}

/** Has WQE `cons_index` completed? 0, EBUSY, or -EIO. Does not wait. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_poll_one_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
	uint32_t nap_ns = 0;

	return gdakit_cq_poll<resource_sharing_mode>(cq, cons_index, gdakit_cq_is_collapsed(cq),
						     nullptr, &nap_ns);
}

/**
 * Wait until WQE `cons_index` has completed or failed: 0 or -EIO. The WQE must have been announced
 * to the NIC (wait() rings for WQEs that were posted with SKIP_DB_RINGING, this function knows no
 * QP and cannot).
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_poll_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
	return gdakit_cq_wait<resource_sharing_mode>(cq, cons_index, gdakit_cq_is_collapsed(cq),
						     nullptr, gdakit_patience_default());
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_poll_cq_at_until(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index,
				    uint64_t deadline_ns)
{
	return gdakit_cq_wait<resource_sharing_mode>(cq, cons_index, gdakit_cq_is_collapsed(cq),
						     nullptr, gdakit_patience_until(deadline_ns));
}

/** Wait for WQE `cons_index` on a collapsed CQ, whether or not the CQ is marked so: 0 or -EIO. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_poll_cq_collapsed_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index)
{
	return gdakit_cq_wait<resource_sharing_mode>(doca_gpu_dev_verbs_qp_get_cq_sq(qp),
						     cons_index, true, &qp->sq_wqe_pi,
						     gdakit_patience_default());
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_poll_cq_collapsed_at_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index,
					      uint64_t deadline_ns)
{
	return gdakit_cq_wait<resource_sharing_mode>(doca_gpu_dev_verbs_qp_get_cq_sq(qp),
						     cons_index, true, &qp->sq_wqe_pi,
						     gdakit_patience_until(deadline_ns));
}

/** Wait for the next `count` completions after those known: 0 or -EIO. One poller at a time. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int doca_gpu_dev_verbs_poll_cq(struct doca_gpu_dev_verbs_cq *cq,
								 uint32_t count)
{
	if (count == 0)
		return 0;
	uint64_t cqe_ci = gdakit_load_state<resource_sharing_mode>(&cq->cqe_ci);

	return doca_gpu_dev_verbs_poll_cq_at<resource_sharing_mode, qp_type>(cq,
									     cqe_ci + count - 1);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_poll_cq_until(struct doca_gpu_dev_verbs_cq *cq, uint32_t count,
				 uint64_t deadline_ns)
{
	if (count == 0)
		return 0;
	uint64_t cqe_ci = gdakit_load_state<resource_sharing_mode>(&cq->cqe_ci);

	return doca_gpu_dev_verbs_poll_cq_at_until<resource_sharing_mode, qp_type>(
		cq, cqe_ci + count - 1, deadline_ns);
}

/**
 * Move the consumer index by `cqe_num` and, unless the CQ ignores overruns, its doorbell record;
 * returns the new 24-bit index. For programs that count CQEs themselves with one thread: it turns
 * cqe_ci into a 24-bit counter, so do not mix it with the functions above.
 */
template <bool is_overrun>
__device__ static __forceinline__ uint32_t
doca_gpu_dev_verbs_cq_update_dbrec(struct doca_gpu_dev_verbs_cq *cq, uint32_t cqe_num)
{
	uint32_t ci = doca_gpu_dev_verbs_cqe_idx_inc_mask(
		static_cast<uint32_t>(
			gdakit_ld<uint64_t, GDAKIT_RELAXED, GDAKIT_SCOPE_THREAD>(&cq->cqe_ci)),
		cqe_num);

	gdakit_st<uint64_t, GDAKIT_RELAXED, GDAKIT_SCOPE_THREAD>(&cq->cqe_ci, ci);
	if (!is_overrun)
		gdakit_st<uint32_t, GDAKIT_RELEASE, GDAKIT_SCOPE_SYS>(
			reinterpret_cast<uint32_t *>(cq->dbrec), doca_gpu_dev_verbs_bswap32(ci));
	return ci;
}

#endif /* DOCA_GPUNETIO_DEV_VERBS_CQ_CUH */
