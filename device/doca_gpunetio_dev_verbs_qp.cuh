/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, send queue: reserve -> build -> mark ready -> submit.
 *
 *	idx = reserve_wq_slots(qp, n)		indices idx .. idx + n - 1 are ours
 *	wqe_prepare_*(qp, get_wqe_ptr(qp, i), i, ...)
 *	mark_wqes_ready(qp, idx, idx + n - 1)	in index order among all threads
 *	submit(qp, idx + n)			doorbell record, doorbell
 *
 * One CQE per WQEBB is assumed (flag CQ_UPDATE), and a CQ at least as deep as the ring: a slot is
 * free when the WQE one lap earlier has completed.
 *
 * Fences towards the NIC: gdakit_release.cuh. Who rings when many submit: gdakit_submit.cuh.
 *
 * No step waits for ever: all of them end when the queue fails or after GDAKIT_STALL_LIMIT_NS, and
 * those that wait have a twin *_until (see doca_gpunetio_dev_verbs_cq.cuh).
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_QP_CUH
#define DOCA_GPUNETIO_DEV_VERBS_QP_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"
#include "doca_gpunetio_dev_verbs_cq.cuh"
#include "gdakit_release.cuh"
#include "gdakit_wqe.cuh"

/* --- doorbells --- */

__device__ static __forceinline__ uint32_t gdakit_qp_nic_handler(struct doca_gpu_dev_verbs_qp *qp)
{
	return gdakit_ldg(&qp->nic_handler);
}

/** A doorbell record's value: the 16-bit producer index, big endian. */
__device__ static __forceinline__ __be32 doca_gpu_dev_verbs_prepare_dbr(uint32_t prod_index)
{
	return doca_gpu_dev_verbs_bswap32(prod_index & DOCA_GPUNETIO_VERBS_WQE_PI_MASK);
}

/** Store a doorbell record, without any fence. */
__device__ static __forceinline__ void doca_gpu_dev_common_update_dbr(uint32_t *dbrec,
								      uint32_t prod_index)
{
	gdakit_st<uint32_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS, true>(
		dbrec, doca_gpu_dev_verbs_prepare_dbr(prod_index));
}

/** Release, then store the send queue's doorbell record. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_update_dbr(struct doca_gpu_dev_verbs_qp *qp, uint32_t prod_index,
			      uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	uint32_t *dbrec = gdakit_ldg(&qp->sq_dbrec);

#if defined(DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE)
	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) {
		doca_gpu_dev_verbs_async_store_release(dbrec,
						       doca_gpu_dev_verbs_prepare_dbr(prod_index));
		return;
	}
#endif
	(void)code_opt;
	gdakit_release_to_nic<sync_scope>(qp);
	doca_gpu_dev_common_update_dbr(dbrec, prod_index);
}

/** A doorbell's value from be32(qpn << 8): producer index in bits 23:8 of the first word. */
__device__ static __forceinline__ __be64 doca_gpu_dev_common_prepare_db(uint32_t qpn_ds,
									uint64_t prod_index)
{
	/* the index has 16 bits there; more would run into the byte above */
	uint32_t pi = static_cast<uint32_t>(prod_index) & DOCA_GPUNETIO_VERBS_WQE_PI_MASK;

	return static_cast<uint64_t>(qpn_ds) << 32 |
	       doca_gpu_dev_verbs_bswap32(pi << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT);
}

/** Release, then store a doorbell value. For memory of the GPU; SYNC_SCOPE_SYS for any other. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_common_write_db(uint64_t *db_ptr, uint64_t db_val,
			     uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
#if defined(DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE)
	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) {
		doca_gpu_dev_verbs_async_store_release(db_ptr, db_val);
		return;
	}
#endif
	(void)code_opt;
	doca_gpu_dev_verbs_fence_release<sync_scope>();
	doca_gpu_dev_verbs_store_relaxed_mmio(db_ptr, db_val);
}

template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_common_ring_db(uint64_t *db_ptr, uint32_t qpn_ds, uint64_t prod_index,
			    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	doca_gpu_dev_common_write_db<sync_scope>(
		db_ptr, doca_gpu_dev_common_prepare_db(qpn_ds, prod_index), code_opt);
}

/** The value that ring_db() stores. */
__device__ static __forceinline__ __be64
doca_gpu_dev_verbs_prepare_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
	return doca_gpu_dev_common_prepare_db(gdakit_ldg(&qp->sq_num_shift8_be), prod_index);
}

/** Release, then ring: WQEs below `prod_index` are the NIC's. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_ring_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
			   uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	uint64_t *db = gdakit_ldg(&qp->sq_db);

	if (!(code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE))
		gdakit_release_to_nic<sync_scope>(qp);
	doca_gpu_dev_common_write_db<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD>(
		db, doca_gpu_dev_verbs_prepare_db(qp, prod_index), code_opt);
}

#if defined(DOCA_GPUNETIO_VERBS_HAS_TMA_COPY)
/** Release, then write a WQE from shared memory (16-byte aligned) to the BlueFlame register. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_ring_bf(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
	gdakit_release_to_nic<sync_scope>(qp);
	gdakit_bf_copy64(gdakit_ldg(&qp->sq_db), wqe_ptr);
}
#endif

/** The same from any memory, by lanes 0 to 7 of a warp that calls it together. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_ring_bf_warp(struct doca_gpu_dev_verbs_qp *qp,
				struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
	const uint32_t lane = gdakit_lane_id();
	uint64_t word;

	if (lane == 0)
		gdakit_release_to_nic<sync_scope>(qp);
	__syncwarp(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK);
	if (lane < 8) {
		memcpy(&word, wqe_ptr->inl_data + 8 * lane, sizeof(word));
		gdakit_bf_st64(gdakit_ldg(&qp->sq_db) + lane, word);
	}
	__syncwarp(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK);
}

/** Publish `prod_idx` to the host's proxy thread, which rings for us. Release before it. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_ring_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_idx)
{
	uint64_t *word = gdakit_ldg(&qp->sq_db);

	if (resource_sharing_mode == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE)
		gdakit_st<uint64_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS, true>(word, prod_idx);
	else
		gdakit_raise<GDAKIT_RELAXED, GDAKIT_SCOPE_SYS, true>(word, prod_idx);
}

#include "gdakit_submit.cuh"

/* --- slots --- */

/* The caller waits for WQE `idx`, and it may have been posted with SKIP_DB_RINGING: announce what
 * is ready. Nothing to do in a program that rings itself. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __noinline__ void gdakit_ring_unannounced(struct doca_gpu_dev_verbs_qp *qp,
							    uint64_t idx)
{
	if (gdakit_load_state<resource_sharing_mode>(&qp->sq_wqe_pi) > idx)
		return;
	uint64_t ready = gdakit_load_state<resource_sharing_mode>(&qp->sq_ready_index);

	if (ready <= idx)
		return; /* not written yet, or a program that does not use sq_ready_index */
	doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>();
	doca_gpu_dev_verbs_submit<resource_sharing_mode>(qp, ready);
}

/*
 * What to ring for on a collapsed CQ: all that is ready. A NIC that needs no record may have found
 * WQEs in the ring that nobody announced, and the only CQE then names one beyond sq_wqe_pi, which
 * says nothing until the index has caught up.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ uint64_t gdakit_announced_from(struct doca_gpu_dev_verbs_qp *qp,
								 uint64_t idx)
{
	uint64_t pi = gdakit_load_state<resource_sharing_mode>(&qp->sq_wqe_pi);

	return pi > idx ? pi : idx;
}

/* Wait for WQE `idx`, ringing for it if nobody did: 0, -EIO or -ETIMEDOUT. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, bool has_deadline>
__device__ static __forceinline__ int gdakit_qp_wait(struct doca_gpu_dev_verbs_qp *qp, uint64_t idx,
						     struct gdakit_patience<has_deadline> patience)
{
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	const bool collapsed = gdakit_cq_is_collapsed(cq);
	for (;;) {
		uint32_t nap_ns = 0;
		int status = gdakit_cq_poll<resource_sharing_mode>(cq, idx, collapsed,
								   &qp->sq_wqe_pi, &nap_ns);

		if (status != EBUSY)
			return status;
		/* seldom needed, so not in each turn */
		if (patience.turns % 32 == 0)
			gdakit_ring_unannounced<resource_sharing_mode>(
				qp, collapsed
					    ? gdakit_announced_from<resource_sharing_mode>(qp, idx)
					    : idx);
		if (gdakit_patience_is_over(patience))
			return -ETIMEDOUT;
		gdakit_nap(nap_ns);
	}
}

/* The same for the slot of WQE `wqe_idx`. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, bool has_deadline>
__device__ static __forceinline__ int
gdakit_qp_wait_for_slot(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx,
			struct gdakit_patience<has_deadline> patience)
{
	const uint16_t sq_wqe_num = gdakit_ldg(&qp->sq_wqe_num);

	if (wqe_idx < sq_wqe_num)
		return 0;
	int status = gdakit_qp_wait<resource_sharing_mode>(qp, wqe_idx - sq_wqe_num, patience);

	/* the caller will leave a hole in the ring, or write where the NIC may still read */
	if (!has_deadline && status == -ETIMEDOUT)
		gdakit_cq_give_up<resource_sharing_mode>(doca_gpu_dev_verbs_qp_get_cq_sq(qp));
	return status;
}

/**
 * Wait until the slot of WQE `wqe_idx` is free, that is until the WQE one lap earlier is done. 0,
 * or -EIO when the queue has failed (the slot may be used then, the NIC flushes what it gets).
 * After the stall limit -ETIMEDOUT, and the queue counts as failed from then on.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_wait_until_slot_available(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx)
{
	return gdakit_qp_wait_for_slot<resource_sharing_mode>(qp, wqe_idx,
							      gdakit_patience_default());
}

/** With a deadline; -ETIMEDOUT changes nothing. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_wait_until_slot_available_until(struct doca_gpu_dev_verbs_qp *qp,
						   uint64_t wqe_idx, uint64_t deadline_ns)
{
	return gdakit_qp_wait_for_slot<resource_sharing_mode>(qp, wqe_idx,
							      gdakit_patience_until(deadline_ns));
}

/**
 * Take `count` consecutive indices (count up to the ring's depth) and, unless
 * SKIP_AVAILABILITY_CHECK, wait until their slots are free. Returns the first.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ uint64_t
doca_gpu_dev_verbs_reserve_wq_slots(struct doca_gpu_dev_verbs_qp *qp, uint32_t count,
				    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	uint64_t first = gdakit_atomic_add<uint64_t, GDAKIT_RELAXED,
					   gdakit_sharing_scope<resource_sharing_mode>, true>(
		&qp->sq_rsvd_index, count);

	if (count != 0 && !(code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK))
		doca_gpu_dev_verbs_wait_until_slot_available<resource_sharing_mode, qp_type>(
			qp, first + count - 1);
	return first;
}

/* Take `count` indices if the next one is still `first`; returns the next one as it was. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ uint64_t gdakit_take_indices(struct doca_gpu_dev_verbs_qp *qp,
							       uint64_t first, uint32_t count)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;

	if constexpr (scope == GDAKIT_SCOPE_THREAD) {
		gdakit_st<uint64_t, GDAKIT_RELAXED, scope>(&qp->sq_rsvd_index, first + count);
		return first;
	} else {
		return gdakit_atomic_cas<uint64_t, GDAKIT_RELAXED, scope, true>(
			&qp->sq_rsvd_index, first, first + count);
	}
}

/**
 * The same with a deadline: the slots are waited for first and the indices taken after, so that
 * with any result but 0 (-EIO, -ETIMEDOUT) nothing is taken.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_reserve_wq_slots_until(struct doca_gpu_dev_verbs_qp *qp, uint32_t count,
					  uint64_t *first, uint64_t deadline_ns)
{
	uint64_t next = gdakit_load_state<resource_sharing_mode>(&qp->sq_rsvd_index);

	/* another turn only when another thread took indices, which is progress */
	do {
		*first = next;
		int status = count == 0 ? 0
					: gdakit_qp_wait_for_slot<resource_sharing_mode>(
						  qp, next + count - 1,
						  gdakit_patience_until(deadline_ns));

		if (status != 0)
			return status;
		next = gdakit_take_indices<resource_sharing_mode>(qp, *first, count);
	} while (next != *first);
	return 0;
}

/** Where WQE `wqe_idx` goes; the index may be cut to 16 bits. */
__device__ static __forceinline__ struct doca_gpu_dev_verbs_wqe *
doca_gpu_dev_verbs_get_wqe_ptr(struct doca_gpu_dev_verbs_qp *qp, uint16_t wqe_idx)
{
	return reinterpret_cast<struct doca_gpu_dev_verbs_wqe *>(
		gdakit_ldg(&qp->sq_wqe_daddr) +
		(static_cast<size_t>(wqe_idx & gdakit_ldg(&qp->sq_wqe_mask))
		 << DOCA_GPUNETIO_IB_MLX5_WQE_SQ_SHIFT));
}

/*
 * Wait for the turn of index `from` and pass it on to `to` + 1. `stop()` ends the waiting with what
 * it returns; then nothing is published. With `acquires`, the WQEs of earlier indices are visible
 * afterwards.
 *
 * Turns go round like a ticket lock's, and what a turn costs bounds the rate of a shared queue. So
 * those who are far away look rarely, and those who are next try to take the turn itself
 * (compare-and-swap) rather than look first. A turn of a warp's 32 WQEs takes more than 0.5 us on a
 * GPU of today, 4 ns a WQE is safely less.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode, bool is_global, bool acquires,
	  typename Stop>
__device__ static __forceinline__ int gdakit_mark_ready(uint64_t *ready_index, uint64_t from,
							uint64_t to, Stop stop)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;
	constexpr bool by_cas =
		ready_mode == DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS ||
		(ready_mode == DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT && scope == GDAKIT_SCOPE_GPU);

	if constexpr (scope == GDAKIT_SCOPE_THREAD) {
		gdakit_st<uint64_t, GDAKIT_RELAXED, scope>(ready_index, to + 1);
		return 0;
	} else {
		uint64_t seen;

		if constexpr (by_cas)
			gdakit_fence_release<scope>();
		for (;;) {
			if constexpr (by_cas)
				seen = gdakit_atomic_cas<uint64_t, GDAKIT_RELAXED, scope,
							 is_global>(ready_index, from, to + 1);
			else
				seen = gdakit_ld<uint64_t, GDAKIT_RELAXED, scope, is_global>(
					ready_index);
			if (seen == from)
				break;
			int status = stop();

			if (status != 0)
				return status;
			if (from - seen <= 2 * DOCA_GPUNETIO_VERBS_WARP_SIZE)
				gdakit_pause();
			else
				gdakit_sleep_ns(from - seen < 4096
							? 4 * static_cast<uint32_t>(from - seen)
							: 4 * 4096);
		}
		if constexpr (!by_cas) {
			/* the release comes after the acquire, so that it passes on what others
			 * wrote */
			gdakit_fence_acquire<scope>();
			gdakit_st<uint64_t, GDAKIT_RELEASE, scope, is_global>(ready_index, to + 1);
		} else if constexpr (acquires) {
			gdakit_fence_acquire<scope>();
		}
		return 0;
	}
}

/* Why a thread may stop waiting for its turn on `qp`: those before it do not come. They do come on
 * a failed queue, too, as long as they run; so the failure is asked for in each 1024th turn. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, bool has_deadline>
struct gdakit_turn_stop {
	struct doca_gpu_dev_verbs_cq *cq;
	uint64_t idx;
	struct gdakit_patience<has_deadline> patience;

	__device__ __forceinline__ int operator()()
	{
		if (gdakit_patience_is_over(patience)) {
			if (!has_deadline)
				gdakit_cq_give_up<resource_sharing_mode>(cq);
			return -ETIMEDOUT;
		}
		return patience.turns % 1024 == 0 &&
				       gdakit_cq_failed<resource_sharing_mode>(cq, idx)
			       ? -EIO
			       : 0;
	}
};

/**
 * Publish indices from .. to on a ready counter, after all earlier ones: on return the counter is
 * to + 1 or more, and the WQEs of all earlier indices are visible to this thread. 0, or -ETIMEDOUT
 * after the stall limit, with nothing published.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>
__device__ static __forceinline__ int doca_gpu_dev_common_mark_wqes_ready(uint64_t &ready_index,
									  uint64_t from_wqe_idx,
									  uint64_t to_wqe_idx)
{
	struct gdakit_patience<false> patience = gdakit_patience_default();

	return gdakit_mark_ready<resource_sharing_mode, ready_mode, false, true>(
		&ready_index, from_wqe_idx, to_wqe_idx,
		[&]() { return gdakit_patience_is_over(patience) ? -ETIMEDOUT : 0; });
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>
__device__ static __forceinline__ int
doca_gpu_dev_common_mark_wqes_ready_until(uint64_t &ready_index, uint64_t from_wqe_idx,
					  uint64_t to_wqe_idx, uint64_t deadline_ns)
{
	struct gdakit_patience<true> patience = gdakit_patience_until(deadline_ns);

	return gdakit_mark_ready<resource_sharing_mode, ready_mode, false, true>(
		&ready_index, from_wqe_idx, to_wqe_idx,
		[&]() { return gdakit_patience_is_over(patience) ? -ETIMEDOUT : 0; });
}

/**
 * The same on the QP's own counter: 0, or with nothing published -EIO (the queue has failed and
 * those before do not come) or -ETIMEDOUT (stall limit; the queue counts as failed from then on).
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode =
		  DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_mark_wqes_ready(struct doca_gpu_dev_verbs_qp *qp, uint64_t from_wqe_idx,
				   uint64_t to_wqe_idx)
{
	return gdakit_mark_ready<resource_sharing_mode, ready_mode, true, true>(
		&qp->sq_ready_index, from_wqe_idx, to_wqe_idx,
		gdakit_turn_stop<resource_sharing_mode, false>{doca_gpu_dev_verbs_qp_get_cq_sq(qp),
							       from_wqe_idx,
							       gdakit_patience_default()});
}

/** With a deadline; -ETIMEDOUT changes nothing, and the WQEs are still to be marked. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode =
		  DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_mark_wqes_ready_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t from_wqe_idx,
					 uint64_t to_wqe_idx, uint64_t deadline_ns)
{
	return gdakit_mark_ready<resource_sharing_mode, ready_mode, true, true>(
		&qp->sq_ready_index, from_wqe_idx, to_wqe_idx,
		gdakit_turn_stop<resource_sharing_mode, true>{doca_gpu_dev_verbs_qp_get_cq_sq(qp),
							      from_wqe_idx,
							      gdakit_patience_until(deadline_ns)});
}

#endif /* DOCA_GPUNETIO_DEV_VERBS_QP_CUH */
