/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting the WQEs of an operation (included by doca_gpunetio_dev_verbs_onesided.cuh).
 *
 * A *group* is the lanes of a warp that post to one QP in one call. Its first lane reserves for
 * all, every lane writes its own WQEs, the first lane marks them ready and submits: one atomic on
 * each counter and one doorbell, however many lanes there are. Lanes post in the order of their
 * numbers, and each has its own ticket, as if they had called one after the other.
 *
 * In warp scope the group is the warp. In thread scope it is found: the lanes that the hardware
 * happens to run together (__activemask), as far as they name the same QP and options. Nothing is
 * assumed about convergence: lanes that come apart post in groups of their own, each complete by
 * itself, down to one lane. An exclusive QP has one thread and no group.
 *
 * Shuffles do not order memory: the __syncwarp calls hand over the slots that the first lane saw
 * free, and the WQEs that the lanes wrote. The last one also keeps the lanes together for their
 * next call.
 */
#ifndef GDAKIT_POST_CUH
#define GDAKIT_POST_CUH

#include "doca_gpunetio_dev_verbs_qp.cuh"

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
	       gdakit_qp_wait_for_slot<resource_sharing_mode>(qp, *first + count - 1,
							      gdakit_patience_default()) == 0;
}

/* Publish indices that are written (or, not `usable`, given up) and announce them. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
__device__ static __forceinline__ void gdakit_publish(struct doca_gpu_dev_verbs_qp *qp,
						      uint64_t first, uint32_t count, bool usable,
						      uint32_t code_opt)
{
	/* the thread that rings need not know where our payload lives */
	if (code_opt & GDAKIT_GPU_CODE_OPT_HOST_PAYLOAD)
		gdakit_release_to_nic<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(qp);
	int status = gdakit_mark_ready<resource_sharing_mode,
				       DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS, true, false>(
		&qp->sq_ready_index, first, first + count - 1,
		gdakit_turn_stop<resource_sharing_mode, false>{doca_gpu_dev_verbs_qp_get_cq_sq(qp),
							       first, gdakit_patience_default()});

	if (usable && status == 0)
		gdakit_submit_ready<resource_sharing_mode>(qp, first + count, code_opt);
}

/* --- one thread --- */

/* `count` (at least 1) WQEs, in as many batches as the ring's depth asks for; build(slot) fills
 * each. Returns the last index. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post_alone(struct doca_gpu_dev_verbs_qp *qp,
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
		gdakit_publish<resource_sharing_mode>(qp, first, batch, usable, code_opt);
	}
	return first + batch - 1;
}

/* --- a group --- */

/* Lanes that post together, and which part of the group's WQEs is the calling lane's. */
struct gdakit_group {
	uint32_t lanes; /* mask */
	uint32_t first_lane;
	uint32_t begin, end; /* of this lane, in the group's sequence */
	uint32_t total;
};

/* The parts, when each lane brings `count` WQEs. */
__device__ static __forceinline__ void gdakit_group_share_out(struct gdakit_group *g,
							      uint32_t count)
{
	const uint32_t lane = gdakit_lane_id();

	g->first_lane = static_cast<uint32_t>(__ffs(static_cast<int>(g->lanes))) - 1;
	g->begin = static_cast<uint32_t>(__popc(g->lanes & ((1u << lane) - 1))) * count;
	g->total = static_cast<uint32_t>(__popc(g->lanes)) * count;
	const uint32_t first_count = __shfl_sync(g->lanes, count, static_cast<int>(g->first_lane));

	if (__any_sync(g->lanes, count != first_count)) {
		g->begin = g->total = 0;
		for (uint32_t left = g->lanes; left != 0; left &= left - 1) {
			const uint32_t other =
				static_cast<uint32_t>(__ffs(static_cast<int>(left))) - 1;
			const uint32_t its = __shfl_sync(g->lanes, count, static_cast<int>(other));

			g->begin += other < lane ? its : 0;
			g->total += its;
		}
	}
	g->end = g->begin + count;
}

/* How many WQEs fit into a ring of `depth`, after the first `done`: those of whole lanes, so that
 * nothing of other groups comes between one call's, unless a lane alone has more. */
__device__ static __forceinline__ uint32_t gdakit_group_batch(const struct gdakit_group &g,
							      uint32_t done, uint32_t depth)
{
	if (g.total - done <= depth)
		return g.total - done;
	const bool fits = g.end > done && g.end - done <= depth;
	const uint32_t stop = __reduce_max_sync(g.lanes, fits ? g.end : 0u);

	return stop == 0 ? depth : stop - done;
}

/* The lanes that are here together with the same QP and options. */
__device__ static __forceinline__ uint32_t gdakit_group_find(struct doca_gpu_dev_verbs_qp *qp,
							     uint32_t code_opt)
{
	/* addresses of user space end below bit 57, options use the lowest 6 bits */
	const unsigned long long key = reinterpret_cast<unsigned long long>(qp) ^
				       static_cast<unsigned long long>(code_opt) << 57;

	return __match_any_sync(__activemask(), key);
}

/* `count` (at least 1) WQEs of each lane of the group, those of its first lane first. Batches as
 * above, so that a ring of 2 slots serves a warp too. Returns the calling lane's last index. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post_group(struct doca_gpu_dev_verbs_qp *qp,
							     uint32_t lanes, uint32_t count,
							     uint32_t code_opt, Build build)
{
	const uint32_t depth = gdakit_ldg(&qp->sq_wqe_num);
	struct gdakit_group g;
	uint64_t last = 0;

	g.lanes = lanes;
	gdakit_group_share_out(&g, count);
	const bool is_first = gdakit_lane_id() == g.first_lane;

	for (uint32_t done = 0; done < g.total;) {
		const uint32_t batch = gdakit_group_batch(g, done, depth);
		uint64_t taken = 0;
		int usable = 0;

		if (is_first)
			usable = gdakit_reserve<resource_sharing_mode>(qp, batch, code_opt, &taken);
		usable = __shfl_sync(g.lanes, usable, static_cast<int>(g.first_lane));
		const uint64_t first = __shfl_sync(g.lanes, static_cast<unsigned long long>(taken),
						   static_cast<int>(g.first_lane));

		__syncwarp(g.lanes);
		for (uint32_t seq = g.begin > done ? g.begin : done;
		     seq < g.end && seq < done + batch; seq++) {
			last = first + (seq - done);
			if (usable)
				build(gdakit_slot_at(qp, last, seq - g.begin));
		}
		__syncwarp(g.lanes);
		if (is_first)
			gdakit_publish<resource_sharing_mode>(qp, first, batch, usable, code_opt);
		__syncwarp(g.lanes);
		done += batch;
	}
	return last;
}

/* --- by execution scope --- */

/* Each thread for itself; those that call together are served together. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post_thread(struct doca_gpu_dev_verbs_qp *qp,
							      uint32_t count, uint32_t code_opt,
							      Build build)
{
	if constexpr (gdakit_sharing_scope<resource_sharing_mode> == GDAKIT_SCOPE_THREAD)
		return gdakit_post_alone<resource_sharing_mode>(qp, count, code_opt, build);
	else
		return gdakit_post_group<resource_sharing_mode>(qp, gdakit_group_find(qp, code_opt),
								count, code_opt, build);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope, typename Build>
__device__ static __forceinline__ uint64_t gdakit_post(struct doca_gpu_dev_verbs_qp *qp,
						       uint32_t count, uint32_t code_opt,
						       Build build)
{
	if constexpr (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return gdakit_post_group<resource_sharing_mode>(
			qp, DOCA_GPUNETIO_VERBS_WARP_FULL_MASK, count, code_opt, build);
	else
		return gdakit_post_thread<resource_sharing_mode, nic_handler>(qp, count, code_opt,
									      build);
}

#endif /* GDAKIT_POST_CUH */
