/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The release rule: which fence stands between what the NIC will read (payload, WQEs, doorbell
 * record) and the store that makes it read (doorbell record, doorbell, a proxy's word). Every such
 * store in the device headers comes after a call of gdakit_release_to_nic(); nothing else decides a
 * scope.
 *
 *	ring and record		payload			who is told	fence
 *	GPU memory		GPU memory		NIC		.gpu
 *	GPU memory		anywhere else		NIC		.sys
 *	anywhere else		any			NIC		.sys
 *	any			any			host's proxy	.sys
 *
 * Ring and record: qp->mem_type, one for both; anything but MEM_TYPE_GPU (host, managed, not
 * said) counts as elsewhere. Payload: an address in a WQE is the NIC's (an iova), it does not tell
 * where memory lies; so the caller says it: sync_scope SYS in submit(), or code_opt
 * GDAKIT_GPU_CODE_OPT_HOST_PAYLOAD in put() and its kin. Then the poster itself releases .sys
 * before it hands its WQEs on, for the thread that rings may be another that does not know.
 *
 * Why, in the terms of the PTX memory model (ISA 8.5 ff., "Memory Consistency Model"):
 *
 * - WQE stores are weak. They are ordered before the doorbell (st.mmio.relaxed.sys; before PTX 8.2
 *   st.relaxed.sys) only as a *release pattern*: a fence.release or fence.acq_rel, then a strong
 *   store, in program order. The same pattern stands between record and doorbell.
 * - The thread that rings did not write most of the WQEs. Their writers reach it in *causality
 *   order*: each writer's fence.release and its read-modify-write of sq_ready_index are a release
 *   pattern; those operations form one chain, and *observation order* goes along a chain of
 *   read-modify-writes, so a load of any later value and a fence.acquire synchronise with all of
 *   them (this is why a plain store must not take part, see READY_MODE_LD_ST). Lanes of a warp hand
 *   over by bar.warp.sync, which orders memory among those who take part. Fences are cumulative:
 *   the ringer's release covers what it acquired. The edges inside have the scope of the sharing
 *   mode, .cta or .gpu, for both ends are in that scope (*morally strong*); the scopes of edges may
 *   differ along the path.
 * - The last edge leads to an agent that the model does not know. A scope is the set of threads
 *   that may observe; a NIC is in none of them, .sys names "all threads of host and devices". What
 *   a scope gives beyond the letter is where the stores have arrived when the fence is over. For
 *   .gpu that is the point of coherence of the GPU (its L2). A NIC reads GPU memory through that
 *   point (GPUDirect RDMA), and its read comes after the doorbell that follows the fence: .gpu is
 *   enough. Host memory lies behind another link; a store that L2 has passed on may still be under
 *   way when a doorbell, on its own way to the NIC, arrives. Only .sys waits for it. A proxy is a
 *   host thread: the model applies by its letter, and both ends must have .sys.
 * - The other direction, CQE to reader, is always acquired .sys: a CQE may lie in host memory and
 *   its writer is outside (doca_gpunetio_dev_verbs_cq.cuh).
 *
 * Per architecture: on sm_80 PTX has fence.acq_rel only; the primitives use it for acquire and for
 * release, which is stronger than asked and never weaker. From sm_90 (PTX 8.6) the one-sided
 * fence.release and fence.acquire are used. sm_100 adds st.async.release.sys and
 * st.async.mmio.release.sys: with code_opt ASYNC_STORE_RELEASE the store itself is the release
 * pattern, at .sys, which satisfies each line of the table without a fence. The table is the same
 * on all three: none of them lets a .gpu fence wait for host memory.
 */
#ifndef GDAKIT_RELEASE_CUH
#define GDAKIT_RELEASE_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

/* Whom the store that follows tells. */
enum gdakit_told { GDAKIT_TELL_NIC, GDAKIT_TELL_HOST };

/* `payload_scope`: SYS, or at most the GPU's. THREAD: the caller has released already, as far as
 * the GPU. `acquires` makes it an acquire of what this thread has loaded as well. */
template <enum doca_gpu_dev_verbs_sync_scope payload_scope, gdakit_told told = GDAKIT_TELL_NIC,
	  bool acquires = false>
__device__ static __forceinline__ void gdakit_release_to_nic(struct doca_gpu_dev_verbs_qp *qp)
{
	constexpr gdakit_scope near = gdakit_sync_scope<payload_scope>;

	if (told == GDAKIT_TELL_HOST || near == GDAKIT_SCOPE_SYS ||
	    gdakit_ldg(&qp->mem_type) != DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU) {
		if constexpr (acquires)
			gdakit_fence_acq_rel<GDAKIT_SCOPE_SYS>();
		else
			gdakit_fence_release<GDAKIT_SCOPE_SYS>();
	} else {
		if constexpr (acquires)
			gdakit_fence_acq_rel<near>();
		else
			gdakit_fence_release<near>();
	}
}

#endif /* GDAKIT_RELEASE_CUH */
