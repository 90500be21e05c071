/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device API, operations with a local counter: when the operation on `qp` has completed, the NIC
 * adds counter_val to the 8 bytes at counter_raddr, without the GPU. That is work of a companion
 * QP: a WAIT for the last WQE's CQE, then a fetch-and-add; the companion is connected back to the
 * local NIC, and its CQ may be waited for like any other.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH
#define DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH

#include "doca_gpunetio_dev_verbs_onesided.cuh"

/* --- submit for several QPs --- */

/*
 * One QP after the other, in the caller's order. Each is locked alone, so two callers with the same
 * QPs in different order cannot block each other; no NIC needs them announced at one moment, a WAIT
 * holds a companion back by itself.
 */
template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_db_multi_qps_no_dbr(struct doca_gpu_dev_verbs_qp **qps,
					      uint64_t *prod_indices, GDAKIT_CODE_OPT)
{
	for (unsigned int i = 0; i < num_qps; i++)
		doca_gpu_dev_verbs_submit_db_no_dbr<resource_sharing_mode, sync_scope>(
			qps[i], prod_indices[i], code_opt);
}

template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_db_multi_qps(struct doca_gpu_dev_verbs_qp **qps, uint64_t *prod_indices,
				       GDAKIT_CODE_OPT)
{
	for (unsigned int i = 0; i < num_qps; i++)
		doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope>(
			qps[i], prod_indices[i], code_opt);
}

template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_proxy_multi_qps(struct doca_gpu_dev_verbs_qp **qps,
					  uint64_t *prod_indices)
{
	for (unsigned int i = 0; i < num_qps; i++)
		doca_gpu_dev_verbs_submit_proxy<resource_sharing_mode, sync_scope>(qps[i],
										   prod_indices[i]);
}

/** Each QP is announced in the way that it was exported for. */
template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode =
		  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_submit_multi_qps(struct doca_gpu_dev_verbs_qp **qps, uint64_t *prod_indices,
				    GDAKIT_CODE_OPT)
{
	for (unsigned int i = 0; i < num_qps; i++)
		doca_gpu_dev_verbs_submit<resource_sharing_mode, sync_scope, nic_handler>(
			qps[i], prod_indices[i], code_opt);
}

/* --- the operations --- */

/* WQE `ticket` of `qp` is posted: let the companion count it. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler>
__device__ static __forceinline__ void
gdakit_post_counter(struct doca_gpu_dev_verbs_qp *qp, uint64_t ticket,
		    struct doca_gpu_dev_verbs_qp *companion_qp,
		    const struct doca_gpu_dev_verbs_addr &counter_raddr,
		    const struct doca_gpu_dev_verbs_addr &counter_laddr, uint64_t counter_val,
		    uint32_t code_opt)
{
	struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
	/* the CQ may be older than the QP's indices: after a reset it goes on counting */
	const uint32_t cqe_idx = static_cast<uint32_t>(ticket + gdakit_ldg(&cq->cqe_rsvd));
	const uint32_t cqn = gdakit_ldg(&cq->cq_num);

	gdakit_post_thread<resource_sharing_mode, nic_handler>(
		companion_qp, 2, code_opt, [&](const struct gdakit_slot &slot) {
			if (slot.i == 0)
				doca_gpu_dev_verbs_wqe_prepare_wait(slot.qp, slot.wqe,
								    static_cast<uint16_t>(slot.idx),
								    GDAKIT_CQ_UPDATE, cqe_idx, cqn);
			else
				gdakit_build_signal(slot, counter_raddr, counter_laddr,
						    counter_val);
		});
}

#define GDAKIT_COUNTER_ARGS                                                                        \
	struct doca_gpu_dev_verbs_qp *companion_qp, struct doca_gpu_dev_verbs_addr counter_raddr,  \
		struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,                \
		GDAKIT_CODE_OPT
#define GDAKIT_COUNT(ticket)                                                                       \
	gdakit_post_counter<resource_sharing_mode, nic_handler>(                                   \
		qp, ticket, companion_qp, counter_raddr, counter_laddr, counter_val, code_opt)
/*
 * The operation itself is announced in any case: a companion whose ring is full of WAITs for WQEs
 * that nobody announced would have no slot for the next one for ever. SKIP_DB_RINGING is for the
 * companion alone.
 */
#define GDAKIT_MAIN_OPT                                                                            \
	(code_opt & ~static_cast<uint32_t>(DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING))

/** put() with a counter. */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_put_counter(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, GDAKIT_COUNTER_ARGS)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, &ticket,
								   GDAKIT_MAIN_OPT);
	GDAKIT_COUNT(ticket);
}

/** p() with a counter. */
template <typename T, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void
doca_gpu_dev_verbs_p_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
			     T value, GDAKIT_COUNTER_ARGS)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_p<T, resource_sharing_mode, nic_handler>(qp, raddr, value, &ticket,
								    GDAKIT_MAIN_OPT);
	GDAKIT_COUNT(ticket);
}

/** put_signal() with a counter. */
template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_put_signal_counter(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val, GDAKIT_COUNTER_ARGS)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put_signal<sig_op, resource_sharing_mode, nic_handler>(
		qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, &ticket, GDAKIT_MAIN_OPT);
	GDAKIT_COUNT(ticket);
}

/** signal() with a counter. */
template <enum doca_gpu_dev_verbs_signal_op sig_op, GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_signal_counter(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
	struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val, GDAKIT_COUNTER_ARGS)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_signal<sig_op, resource_sharing_mode, nic_handler>(
		qp, sig_raddr, sig_laddr, sig_val, &ticket, GDAKIT_MAIN_OPT);
	GDAKIT_COUNT(ticket);
}

/** get() with a counter. */
template <GDAKIT_TEMPLATE_SHARING>
__device__ static __forceinline__ void doca_gpu_dev_verbs_get_counter(
	struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
	struct doca_gpu_dev_verbs_addr laddr, size_t size, GDAKIT_COUNTER_ARGS)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_get<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, laddr,
								   &ticket, GDAKIT_MAIN_OPT);
	GDAKIT_COUNT(ticket);
}

#undef GDAKIT_COUNT
#undef GDAKIT_MAIN_OPT
#undef GDAKIT_COUNTER_ARGS

#endif /* DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH */
