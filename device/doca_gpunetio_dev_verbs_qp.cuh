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
 *free when the WQE one lap earlier has completed.
 *
 * Order towards the NIC, PTX memory model: the WQE's stores are weak; a release fence by the thread
 * that publishes stands before the doorbell record and another before the doorbell. WQEs of other
 * threads come in through the acquire in mark_wqes_ready, and the fence carries them along. The
 * scope is the GPU when ring and record are in its memory (qp->mem_type), the system otherwise.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_QP_CUH
#define DOCA_GPUNETIO_DEV_VERBS_QP_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"
#include "doca_gpunetio_dev_verbs_cq.cuh"
#include "gdakit_wqe.cuh"

/* --- doorbells --- */

__device__ static __forceinline__ uint32_t gdakit_qp_nic_handler(struct doca_gpu_dev_verbs_qp *qp)
{
	return gdakit_ldg(&qp->nic_handler);
}

/* Release in front of a store that the NIC will act on. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void gdakit_qp_release(struct doca_gpu_dev_verbs_qp *qp)
{
	if (gdakit_ldg(&qp->mem_type) == DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU)
		doca_gpu_dev_verbs_fence_release<sync_scope>();
	else
		doca_gpu_dev_verbs_fence_release<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
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
	gdakit_st<uint32_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS>(
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
	gdakit_qp_release<sync_scope>(qp);
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
		gdakit_qp_release<sync_scope>(qp);
	doca_gpu_dev_common_write_db<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD>(
		db, doca_gpu_dev_verbs_prepare_db(qp, prod_index), code_opt);
}

#if defined(DOCA_GPUNETIO_VERBS_HAS_TMA_COPY)
/** Release, then write a WQE from shared memory (16-byte aligned) to the BlueFlame register. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_ring_bf(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
	gdakit_qp_release<sync_scope>(qp);
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
		gdakit_qp_release<sync_scope>(qp);
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
		gdakit_st<uint64_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS>(word, prod_idx);
	else
		gdakit_atomic_max<uint64_t, GDAKIT_RELAXED, GDAKIT_SCOPE_SYS>(word, prod_idx);
}

/* --- submit --- */

/* The ring itself needs at least GPU scope: the NIC reads what other threads wrote. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
constexpr enum doca_gpu_dev_verbs_sync_scope gdakit_ring_scope =
	sync_scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS
							 : DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;

/* Raise sq_wqe_pi and ring, under the lock so that neither record nor doorbell can go back. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope, bool has_dbr>
__device__ static __forceinline__ void gdakit_submit_locked(struct doca_gpu_dev_verbs_qp *qp,
							    uint64_t prod_index, uint32_t code_opt)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	/* somebody who saw our WQEs ready has rung or is ringing for them */
	if (doca_gpu_dev_verbs_load_relaxed<resource_sharing_mode>(&qp->sq_wqe_pi) >= prod_index)
		return;
	doca_gpu_dev_verbs_lock<resource_sharing_mode>(&qp->sq_lock);
	if (doca_gpu_dev_verbs_atomic_max<uint64_t, resource_sharing_mode>(
		    &qp->sq_wqe_pi, prod_index) < prod_index) {
		if (has_dbr)
			doca_gpu_dev_verbs_update_dbr<scope>(qp, static_cast<uint32_t>(prod_index),
							     code_opt);
		doca_gpu_dev_verbs_ring_db<scope>(qp, prod_index, code_opt);
	}
	doca_gpu_dev_verbs_unlock<resource_sharing_mode>(&qp->sq_lock);
}

/**
 * Announce all WQEs below `prod_index` with doorbell record and doorbell. Any number of threads may
 * call it as the sharing mode allows; only a caller that raises sq_wqe_pi rings.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
			     uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	gdakit_submit_locked<resource_sharing_mode, sync_scope, true>(qp, prod_index, code_opt);
}

/** The same for a QP whose NIC needs no doorbell record. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static inline void
doca_gpu_dev_verbs_submit_db_no_dbr(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
				    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	gdakit_submit_locked<resource_sharing_mode, sync_scope, false>(qp, prod_index, code_opt);
}

/**
 * Announce with the last WQE itself written to the BlueFlame register; `smem_wqe` is its copy in
 * shared memory, and the ring holds it too. The doorbell after it covers earlier WQEs, and a NIC
 * that took the BlueFlame write as a ring only. Without the copy engine (before sm_90) the doorbell
 * alone.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_bf(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
			     struct doca_gpu_dev_verbs_wqe *smem_wqe,
			     uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
#if defined(DOCA_GPUNETIO_VERBS_HAS_TMA_COPY)
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	doca_gpu_dev_verbs_lock<resource_sharing_mode>(&qp->sq_lock);
	if (doca_gpu_dev_verbs_atomic_max<uint64_t, resource_sharing_mode>(
		    &qp->sq_wqe_pi, prod_index) < prod_index) {
		doca_gpu_dev_verbs_update_dbr<scope>(qp, static_cast<uint32_t>(prod_index),
						     code_opt);
		doca_gpu_dev_verbs_ring_bf<scope>(qp, smem_wqe);
		doca_gpu_dev_verbs_ring_db<scope>(qp, prod_index, code_opt);
	}
	doca_gpu_dev_verbs_unlock<resource_sharing_mode>(&qp->sq_lock);
#else
	(void)smem_wqe;
	doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope>(qp, prod_index, code_opt);
#endif
}

/** The same by a whole warp, from a WQE anywhere; all lanes pass the same arguments. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_bf_warp(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
				  struct doca_gpu_dev_verbs_wqe *wqe,
				  uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;
	const uint32_t lane = gdakit_lane_id();
	unsigned int raised = 0;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	if (lane == 0) {
		doca_gpu_dev_verbs_lock<resource_sharing_mode>(&qp->sq_lock);
		raised = doca_gpu_dev_verbs_atomic_max<uint64_t, resource_sharing_mode>(
				 &qp->sq_wqe_pi, prod_index) < prod_index;
		if (raised)
			doca_gpu_dev_verbs_update_dbr<scope>(qp, static_cast<uint32_t>(prod_index),
							     code_opt);
	}
	raised = __shfl_sync(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK, raised, 0);
	if (raised)
		doca_gpu_dev_verbs_ring_bf_warp<scope>(qp, wqe);
	if (lane == 0) {
		if (raised)
			doca_gpu_dev_verbs_ring_db<scope>(qp, prod_index, code_opt);
		doca_gpu_dev_verbs_unlock<resource_sharing_mode>(&qp->sq_lock);
	}
	__syncwarp(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK);
}

/**
 * Announce through the host's proxy thread. The release is system-wide: a CPU thread stands between
 * us and the NIC. sq_wqe_pi is kept as well, with or without CPU_PROXY_UPDATE_PI.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
				uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	if (doca_gpu_dev_verbs_atomic_max<uint64_t, resource_sharing_mode>(
		    &qp->sq_wqe_pi, prod_index) >= prod_index)
		return;
	doca_gpu_dev_verbs_fence_release<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
	doca_gpu_dev_verbs_ring_proxy<resource_sharing_mode>(qp, prod_index);
}

/**
 * Announce all WQEs below `prod_index`, in the way that the QP was exported for. The template's
 * nic_handler only says what the caller expects: ringing a proxy's host word as a doorbell, or the
 * reverse, is never right.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
			  uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	const uint32_t handler = gdakit_qp_nic_handler(qp);

	if (handler & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY)
		doca_gpu_dev_verbs_submit_proxy<resource_sharing_mode, sync_scope>(qp, prod_index,
										   code_opt);
	else if (handler & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_NO_DBR)
		doca_gpu_dev_verbs_submit_db_no_dbr<resource_sharing_mode, sync_scope, qp_type>(
			qp, prod_index, code_opt);
	else
		doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope, qp_type>(
			qp, prod_index, code_opt);
}

/* --- slots --- */

/* The caller waits for WQE `idx`, and it may have been posted with SKIP_DB_RINGING: announce what
 * is ready. Nothing to do in a program that rings itself. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void gdakit_ring_unannounced(struct doca_gpu_dev_verbs_qp *qp,
							       uint64_t idx)
{
	if (doca_gpu_dev_verbs_load_relaxed<resource_sharing_mode>(&qp->sq_wqe_pi) > idx)
		return;
	uint64_t ready =
		gdakit_ld<uint64_t, GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>>(
			&qp->sq_ready_index);

	if (ready <= idx)
		return; /* not written yet, or a program that does not use sq_ready_index */
	doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>();
	doca_gpu_dev_verbs_submit<resource_sharing_mode>(qp, ready);
}

/* Wait for WQE `idx`, ringing for it if nobody did: 0 or -EIO. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int gdakit_qp_wait(struct doca_gpu_dev_verbs_qp *qp, uint64_t idx)
{
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	const bool collapsed = gdakit_cq_is_collapsed(cq);
	int status;

	while ((status = gdakit_cq_poll<resource_sharing_mode>(cq, idx, collapsed,
							       &qp->sq_wqe_pi)) == EBUSY) {
		gdakit_ring_unannounced<resource_sharing_mode>(qp, idx);
		gdakit_pause();
	}
	return status;
}

/**
 * Wait until the slot of WQE `wqe_idx` is free, that is until the WQE one lap earlier is done. 0,
 * or -EIO when the queue has failed (the slot may be used then, the NIC flushes what it gets).
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ int
doca_gpu_dev_verbs_wait_until_slot_available(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx)
{
	const uint16_t sq_wqe_num = gdakit_ldg(&qp->sq_wqe_num);

	if (wqe_idx < sq_wqe_num)
		return 0;
	return gdakit_qp_wait<resource_sharing_mode>(qp, wqe_idx - sq_wqe_num);
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
	uint64_t first = doca_gpu_dev_verbs_atomic_add<uint64_t, resource_sharing_mode>(
		&qp->sq_rsvd_index, count);

	if (count != 0 && !(code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK))
		doca_gpu_dev_verbs_wait_until_slot_available<resource_sharing_mode, qp_type>(
			qp, first + count - 1);
	return first;
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

/**
 * Publish indices from .. to on a ready counter, after all earlier ones: on return the counter is
 * to + 1 or more, and the WQEs of all earlier indices are visible to this thread.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>
__device__ static __forceinline__ void doca_gpu_dev_common_mark_wqes_ready(uint64_t &ready_index,
									   uint64_t from_wqe_idx,
									   uint64_t to_wqe_idx)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;
	constexpr bool by_cas =
		ready_mode == DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS ||
		(ready_mode == DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT && scope == GDAKIT_SCOPE_GPU);

	if constexpr (scope == GDAKIT_SCOPE_THREAD) {
		gdakit_st<uint64_t, GDAKIT_RELAXED, scope>(&ready_index, to_wqe_idx + 1);
	} else if constexpr (by_cas) {
		gdakit_fence_release<scope>();
		while (gdakit_atomic_cas<uint64_t, GDAKIT_RELAXED, scope>(
			       &ready_index, from_wqe_idx, to_wqe_idx + 1) != from_wqe_idx)
			gdakit_pause();
		gdakit_fence_acquire<scope>();
	} else {
		while (gdakit_ld<uint64_t, GDAKIT_RELAXED, scope>(&ready_index) != from_wqe_idx)
			gdakit_pause();
		gdakit_fence_acquire<scope>();
		/* the release comes after the acquire, so that it passes on what others wrote */
		gdakit_st<uint64_t, GDAKIT_RELEASE, scope>(&ready_index, to_wqe_idx + 1);
	}
}

/** The same on the QP's own counter. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode =
		  DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_mark_wqes_ready(struct doca_gpu_dev_verbs_qp *qp, uint64_t from_wqe_idx,
				   uint64_t to_wqe_idx)
{
	doca_gpu_dev_common_mark_wqes_ready<resource_sharing_mode, ready_mode>(
		qp->sq_ready_index, from_wqe_idx, to_wqe_idx);
}

#endif /* DOCA_GPUNETIO_DEV_VERBS_QP_CUH */
