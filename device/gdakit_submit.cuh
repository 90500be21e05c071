/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, send queue: telling the NIC (included by doca_gpunetio_dev_verbs_qp.cuh).
 *
 * Many threads submit at one time on a shared queue. Nobody waits for the lock: who comes while
 * another rings leaves its request and goes, and the holder rings once for all who came meanwhile.
 * So the cost of a doorbell is not multiplied by the number of threads, and no thread spins.
 *
 *	sq_wqe_pi	WQEs below it were asked to be announced: announced, or about to be
 *	sq_ready_index	the same for put() and its kin, who ask with it (they need no second word)
 *	sq_lock		0: nobody rings. n: somebody does, and n - 1 requests came since it looked
 *
 * A request is published first and counted in sq_lock next, with a release. All operations on
 * sq_lock are read-modify-writes, so they have one order: either the request comes before the
 * holder's attempt to leave, which then fails (the count is not 1) and with its acquire finds the
 * request; or it comes after, finds 0 and is the holder itself. No request is lost.
 *
 * Record, doorbell and a proxy's word are stored by the holder only, with an index read under the
 * lock: they never go back.
 *
 * A holder serves others for a few rounds at most. Then it opens the lock for whoever comes next
 * and goes on only if nobody does.
 *
 * On a queue that has failed nothing is announced: its ring may have slots that were never written.
 */
#ifndef GDAKIT_SUBMIT_CUH
#define GDAKIT_SUBMIT_CUH

/* The ring itself needs at least GPU scope: the NIC reads what other threads wrote. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
constexpr enum doca_gpu_dev_verbs_sync_scope gdakit_ring_scope =
	sync_scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS
							 : DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;

/* How a queue is announced. */
enum gdakit_ring_way { GDAKIT_RING_RECORD_AND_DB, GDAKIT_RING_DB, GDAKIT_RING_PROXY };

/* The way that the QP was exported for. */
__device__ static __forceinline__ enum gdakit_ring_way
gdakit_qp_ring_way(struct doca_gpu_dev_verbs_qp *qp)
{
	const uint32_t handler = gdakit_qp_nic_handler(qp);

	if (handler & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY)
		return GDAKIT_RING_PROXY;
	return handler & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_NO_DBR ? GDAKIT_RING_DB
								     : GDAKIT_RING_RECORD_AND_DB;
}

/* Raise sq_wqe_pi; returns what it was. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ uint64_t gdakit_raise_pi(struct doca_gpu_dev_verbs_qp *qp,
							   uint64_t prod_index)
{
	return gdakit_atomic_max<uint64_t, GDAKIT_RELAXED,
				 gdakit_sharing_scope<resource_sharing_mode>, true>(&qp->sq_wqe_pi,
										    prod_index);
}

/* Announce what is below `prod_index`; by the holder of the lock, who has just loaded the index. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void
gdakit_ring_held(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, enum gdakit_ring_way way)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;

	/* acquires the WQEs of all who asked, through the index */
	if (way == GDAKIT_RING_PROXY)
		gdakit_release_to_nic<scope, GDAKIT_TELL_HOST, true>(qp);
	else
		gdakit_release_to_nic<scope, GDAKIT_TELL_NIC, true>(qp);
	gdakit_raise<GDAKIT_RELAXED, gdakit_sharing_scope<resource_sharing_mode>, true>(
		&qp->sq_wqe_pi, prod_index);
	if (way == GDAKIT_RING_PROXY) {
		doca_gpu_dev_verbs_ring_proxy<resource_sharing_mode>(qp, prod_index);
		return;
	}
	if (way == GDAKIT_RING_RECORD_AND_DB)
		doca_gpu_dev_common_update_dbr(gdakit_ldg(&qp->sq_dbrec),
					       static_cast<uint32_t>(prod_index));
	doca_gpu_dev_verbs_ring_db<scope>(qp, prod_index);
}

/* --- the lock --- */

/* Rounds that a holder serves others before it lets one of them take over. */
constexpr uint32_t gdakit_ring_rounds = 4;

/* Count a request; true: the caller is the holder now. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ bool gdakit_ring_enter(struct doca_gpu_dev_verbs_qp *qp)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;

	if (gdakit_atomic_add<int, GDAKIT_RELEASE, scope, true>(&qp->sq_lock, 1) != 0)
		return false;
	gdakit_fence_acquire<scope>();
	return true;
}

/* Leave if nobody came since the holder looked; returns the count, which is 1 in that case. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ int gdakit_ring_leave(struct doca_gpu_dev_verbs_qp *qp)
{
	return gdakit_atomic_cas<int, GDAKIT_RELEASE, gdakit_sharing_scope<resource_sharing_mode>,
				 true>(&qp->sq_lock, 1, 0);
}

/* Requests came and the lock is still held: take them on. False: another thread does. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ bool gdakit_ring_go_on(struct doca_gpu_dev_verbs_qp *qp,
							 uint32_t round, int asked)
{
	constexpr gdakit_scope scope = gdakit_sharing_scope<resource_sharing_mode>;

	if (round % gdakit_ring_rounds == 0) {
		/* whoever comes now is the holder; our own request makes it look once more */
		gdakit_atomic_exch<int, GDAKIT_RELEASE, scope, true>(&qp->sq_lock, 0);
		return gdakit_ring_enter<resource_sharing_mode>(qp);
	}
	gdakit_atomic_add<int, GDAKIT_RELAXED, scope, true>(&qp->sq_lock, 1 - asked);
	gdakit_fence_acquire<scope>();
	return true;
}

/* Serve who came while we rang, until nobody has or another takes over. Apart, for it is seldom
 * needed and would fill the callers' code. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __noinline__ void gdakit_serve_others(struct doca_gpu_dev_verbs_qp *qp,
							uint64_t rung, enum gdakit_ring_way way,
							int asked)
{
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);

	for (uint32_t round = 1; asked != 1; round++) {
		if (!gdakit_ring_go_on<resource_sharing_mode>(qp, round, asked))
			return;
		uint64_t pi = gdakit_load_state<resource_sharing_mode>(&qp->sq_wqe_pi);
		uint64_t ready = gdakit_load_state<resource_sharing_mode>(&qp->sq_ready_index);
		uint64_t wanted = ready > pi ? ready : pi;

		if (wanted != rung && !gdakit_cq_failed<resource_sharing_mode>(cq, wanted - 1)) {
			gdakit_ring_held<resource_sharing_mode, sync_scope>(qp, wanted, way);
			rung = wanted;
		}
		asked = gdakit_ring_leave<resource_sharing_mode>(qp);
	}
}

/* The end of holding the lock. `rung`: the index that we announced last, or ~0. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void
gdakit_ring_for_others(struct doca_gpu_dev_verbs_qp *qp, uint64_t rung, enum gdakit_ring_way way)
{
	int asked = gdakit_ring_leave<resource_sharing_mode>(qp);

	if (asked != 1)
		gdakit_serve_others<resource_sharing_mode, sync_scope>(qp, rung, way, asked);
}

/* One owner: no lock, and the stores themselves may release (ASYNC_STORE_RELEASE). Such a store may
 * still be under way when the lock of a shared queue goes to another, so it is for owners only. */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void
gdakit_ring_alone(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, enum gdakit_ring_way way,
		  uint32_t code_opt)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;
	constexpr auto owner = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;

	if (gdakit_raise_pi<owner>(qp, prod_index) >= prod_index)
		return;
	if (way == GDAKIT_RING_PROXY) {
		gdakit_release_to_nic<scope, GDAKIT_TELL_HOST>(qp);
		doca_gpu_dev_verbs_ring_proxy<owner>(qp, prod_index);
		return;
	}
	if (way == GDAKIT_RING_RECORD_AND_DB)
		doca_gpu_dev_verbs_update_dbr<scope>(qp, static_cast<uint32_t>(prod_index),
						     code_opt);
	doca_gpu_dev_verbs_ring_db<scope>(qp, prod_index, code_opt);
}

/* --- submit --- */

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void gdakit_submit(struct doca_gpu_dev_verbs_qp *qp,
						     uint64_t prod_index, enum gdakit_ring_way way,
						     uint32_t code_opt)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	if constexpr (gdakit_sharing_scope<resource_sharing_mode> == GDAKIT_SCOPE_THREAD) {
		gdakit_ring_alone<sync_scope>(qp, prod_index, way, code_opt);
	} else {
		/* the request carries the caller's WQEs to whoever rings */
		gdakit_release_to_nic<scope>(qp);
		if (gdakit_raise_pi<resource_sharing_mode>(qp, prod_index) >= prod_index ||
		    !gdakit_ring_enter<resource_sharing_mode>(qp))
			return;
		uint64_t pi = gdakit_load_state<resource_sharing_mode>(&qp->sq_wqe_pi);
		bool failed = gdakit_cq_failed<resource_sharing_mode>(
			doca_gpu_dev_verbs_qp_get_cq_sq(qp), pi - 1);

		if (!failed)
			gdakit_ring_held<resource_sharing_mode, sync_scope>(qp, pi, way);
		gdakit_ring_for_others<resource_sharing_mode, sync_scope>(qp, failed ? ~0ull : pi,
									  way);
	}
}

/* Announce what is ready: for a caller who has marked its own WQEs, up to `prod_index`, ready. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void gdakit_submit_ready(struct doca_gpu_dev_verbs_qp *qp,
							   uint64_t prod_index, uint32_t code_opt)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
	const enum gdakit_ring_way way = gdakit_qp_ring_way(qp);

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	if constexpr (gdakit_sharing_scope<resource_sharing_mode> == GDAKIT_SCOPE_THREAD) {
		gdakit_ring_alone<scope>(qp, prod_index, way, code_opt);
	} else {
		if (!gdakit_ring_enter<resource_sharing_mode>(qp))
			return;
		uint64_t pi = gdakit_load_state<resource_sharing_mode>(&qp->sq_wqe_pi);
		uint64_t ready = gdakit_load_state<resource_sharing_mode>(&qp->sq_ready_index);
		bool failed = gdakit_cq_failed<resource_sharing_mode>(
			doca_gpu_dev_verbs_qp_get_cq_sq(qp), ready - 1);

		/* who has raised sq_wqe_pi beyond us rings, or has */
		bool rings = pi < ready && !failed;

		if (rings)
			gdakit_ring_held<resource_sharing_mode, scope>(qp, ready, way);
		gdakit_ring_for_others<resource_sharing_mode, scope>(qp, rings ? ready : ~0ull,
								     way);
	}
}

/**
 * Announce all WQEs below `prod_index` with doorbell record and doorbell. Any number of threads may
 * call it as the sharing mode allows. On return they are announced, or another thread is about to.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
			     uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
	gdakit_submit<resource_sharing_mode, sync_scope>(qp, prod_index, GDAKIT_RING_RECORD_AND_DB,
							 code_opt);
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
	gdakit_submit<resource_sharing_mode, sync_scope>(qp, prod_index, GDAKIT_RING_DB, code_opt);
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
	gdakit_submit<resource_sharing_mode, sync_scope>(qp, prod_index, GDAKIT_RING_PROXY,
							 code_opt);
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
	gdakit_submit<resource_sharing_mode, sync_scope>(qp, prod_index, gdakit_qp_ring_way(qp),
							 code_opt);
}

/* --- submit with BlueFlame --- */

/* Ask for `prod_index`; true when the caller is the one to announce it, and nothing beyond it was
 * asked for. Otherwise the doorbell alone is enough, and has been or will be rung. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ bool gdakit_bf_enter(struct doca_gpu_dev_verbs_qp *qp,
						       uint64_t prod_index)
{
	constexpr enum doca_gpu_dev_verbs_sync_scope scope = gdakit_ring_scope<sync_scope>;

	if constexpr (gdakit_sharing_scope<resource_sharing_mode> == GDAKIT_SCOPE_THREAD) {
		return gdakit_raise_pi<resource_sharing_mode>(qp, prod_index) < prod_index;
	} else {
		gdakit_release_to_nic<scope>(qp);
		if (gdakit_raise_pi<resource_sharing_mode>(qp, prod_index) >= prod_index ||
		    !gdakit_ring_enter<resource_sharing_mode>(qp))
			return false;
		uint64_t pi = gdakit_load_state<resource_sharing_mode>(&qp->sq_wqe_pi);

		bool failed = gdakit_cq_failed<resource_sharing_mode>(
			doca_gpu_dev_verbs_qp_get_cq_sq(qp), pi - 1);

		if (pi == prod_index && !failed)
			return true;
		if (!failed)
			gdakit_ring_held<resource_sharing_mode, sync_scope>(
				qp, pi, GDAKIT_RING_RECORD_AND_DB);
		gdakit_ring_for_others<resource_sharing_mode, sync_scope>(
			qp, failed ? ~0ull : pi, GDAKIT_RING_RECORD_AND_DB);
		return false;
	}
}

/* The doorbell behind the BlueFlame write, and the end. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope>
__device__ static __forceinline__ void gdakit_bf_leave(struct doca_gpu_dev_verbs_qp *qp,
						       uint64_t prod_index)
{
	doca_gpu_dev_verbs_ring_db<gdakit_ring_scope<sync_scope>>(qp, prod_index);
	if constexpr (gdakit_sharing_scope<resource_sharing_mode> != GDAKIT_SCOPE_THREAD)
		gdakit_ring_for_others<resource_sharing_mode, sync_scope>(
			qp, prod_index, GDAKIT_RING_RECORD_AND_DB);
}

/**
 * Announce with the last WQE itself written to the BlueFlame register; `smem_wqe` is its copy in
 * shared memory, and the ring holds it too. The doorbell after it covers earlier WQEs, and a NIC
 * that took the BlueFlame write as a ring only. Without the copy engine (before sm_90), and when
 * another thread is ringing, the doorbell alone.
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
	if (!gdakit_bf_enter<resource_sharing_mode, sync_scope>(qp, prod_index))
		return;
	doca_gpu_dev_verbs_update_dbr<scope>(qp, static_cast<uint32_t>(prod_index));
	doca_gpu_dev_verbs_ring_bf<scope>(qp, smem_wqe);
	gdakit_bf_leave<resource_sharing_mode, sync_scope>(qp, prod_index);
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
	unsigned int holds = 0;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return;
	if (lane == 0) {
		holds = gdakit_bf_enter<resource_sharing_mode, sync_scope>(qp, prod_index);
		if (holds)
			doca_gpu_dev_verbs_update_dbr<scope>(qp, static_cast<uint32_t>(prod_index));
	}
	holds = __shfl_sync(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK, holds, 0);
	if (holds) {
		doca_gpu_dev_verbs_ring_bf_warp<scope>(qp, wqe);
		if (lane == 0)
			gdakit_bf_leave<resource_sharing_mode, sync_scope>(qp, prod_index);
	}
	__syncwarp(DOCA_GPUNETIO_VERBS_WARP_FULL_MASK);
}

#endif /* GDAKIT_SUBMIT_CUH */
