/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind doca_verbs.h. None has a lock: one thread uses an object at a time. Pointers
 * to other objects are borrowed from the caller unless a comment says "own".
 */
#ifndef GDAKIT_VERBS_H
#define GDAKIT_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/doca_verbs.h"
#include "rdma.h"

struct doca_verbs_umem {
	struct mlx5dv_devx_umem *devx; /* own */
	void *address;
	size_t size; /* bytes */
};

struct doca_verbs_uar {
	struct mlx5dv_devx_uar *devx; /* own */
	enum doca_verbs_uar_allocation_type type;
};

/* What ibv_query_device and QUERY_HCA_CAP say; a snapshot. */
struct doca_verbs_device_attr {
	uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_pd, max_ah;
	uint32_t max_srq, max_srq_wr, max_srq_sge;
	uint16_t max_pkeys;
	uint8_t phys_port_cnt;
	uint8_t max_qp_rd_atom, max_qp_init_rd_atom;
	uint8_t send_dbr_mode_no_dbr_ext;
	bool is_ethernet;
	bool has_rc;
	bool has_core_direct;
	bool has_rts2rts_dscp;
	uint32_t gid_table_size;
	uint32_t max_send_wqe_bytes, max_recv_wqe_bytes;
	uint32_t max_sq_wqebbs;
	uint16_t min_udp_sport, max_udp_sport; /* of RoCE v2 */
};

struct doca_verbs_ah_attr {
	struct doca_verbs_gid gid;
	enum doca_verbs_addr_type addr_type;
	uint32_t dlid;
	uint8_t sl, sgid_index, static_rate, hop_limit, traffic_class;
};

/* A place in a umem. */
struct umem_at {
	struct doca_verbs_umem *umem;
	uint64_t offset; /* bytes */
};

struct doca_verbs_cq_attr {
	uint32_t cq_size;
	void *cq_context;
	struct umem_at ring, dbr;
	struct doca_verbs_uar *external_uar;
	enum doca_verbs_cq_overrun cq_overrun;
	uint8_t cq_collapsed;
};

struct doca_verbs_qp_init_attr {
	struct ibv_pd *pd;
	struct doca_verbs_cq *send_cq, *receive_cq;
	struct doca_verbs_srq *srq;
	int sq_sig_all;
	uint32_t sq_wr, rq_wr, send_max_sges, receive_max_sges, max_inline_data;
	uint32_t user_index, qp_type;
	struct umem_at ring, dbr;
	struct doca_verbs_uar *external_uar;
	void *qp_context;
	uint8_t core_direct_master;
	enum doca_verbs_qp_send_dbr_mode send_dbr_mode;
	bool emulate_no_dbr_ext;
};

struct doca_verbs_qp_attr {
	enum doca_verbs_qp_state next_state, current_state;
	enum doca_verbs_mtu_size path_mtu;
	uint32_t rq_psn, sq_psn, dest_qp_num;
	int allow_remote_write, allow_remote_read;
	enum doca_verbs_qp_atomic_type allow_remote_atomic;
	struct doca_verbs_ah_attr *ah_attr;
	uint16_t pkey_index, port_num;
	uint16_t ack_timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
};

struct doca_verbs_srq_init_attr {
	uint32_t srq_wr, receive_max_sges;
	enum doca_verbs_srq_type type;
	struct ibv_pd *pd;
	struct umem_at ring;
};

/*
 * Memory of a queue: the caller's umems, or one buffer of the library's own that holds ring and
 * doorbell record and is registered as one umem.
 */
struct queue_memory {
	void *own_buffer;		  /* own; NULL with the caller's memory */
	struct doca_verbs_umem *own_umem; /* own */
	uint8_t *ring;
	uint32_t *dbr;
	uint32_t ring_umem_id, dbr_umem_id;
	uint64_t ring_offset, dbr_offset; /* in those umems */
};

struct doca_verbs_cq {
	struct mlx5dv_devx_obj *devx; /* own; NULL once a destroy got that far */
	struct queue_memory memory;
	struct doca_verbs_uar *uar;
	struct doca_verbs_uar *own_uar; /* own; NULL with an external one */
	uint32_t cqn;
	uint32_t entries;
	bool is_collapsed;
};

struct doca_verbs_srq {
	struct mlx5dv_devx_obj *devx; /* own; NULL once a destroy got that far */
	struct queue_memory memory;
	uint32_t srqn;
	uint32_t wqes;
	uint32_t wqe_bytes;
};

struct doca_verbs_qp {
	struct mlx5dv_devx_obj *devx; /* own; NULL once a destroy got that far */
	struct ibv_context *context;
	struct doca_verbs_qp_init_attr init; /* as created */
	struct doca_verbs_device_attr caps;
	struct queue_memory memory;
	struct doca_verbs_uar *uar;
	struct doca_verbs_uar *own_uar; /* own; NULL with an external one */
	uint32_t qpn;
	uint32_t sq_wqebbs;
	uint32_t sq_offset; /* bytes from memory.ring: the RQ comes first */
	uint32_t rq_wqes;
	uint32_t rwqe_bytes;
	/* What modify set last. */
	enum doca_verbs_qp_state state;
	uint16_t port_num;
	enum doca_verbs_addr_type addr_type;
	bool allow_write, allow_read;
	enum doca_verbs_qp_atomic_type allow_atomic;
};

/* Bits of doca_verbs_device_attr that need no firmware command. */
doca_error_t device_query_limits(struct ibv_context *context, struct doca_verbs_device_attr *attr);
/* All of it. */
doca_error_t device_query_all(struct ibv_context *context, struct doca_verbs_device_attr *attr);

/*
 * Finds or makes memory for a ring of ring_bytes and a doorbell record. external: the caller's
 * places (dbr may lie in the same umem), NULL umems for memory of the library's own, which comes
 * zeroed. INVALID_VALUE: one of the two missing, out of the umem's bounds, or misaligned.
 */
doca_error_t queue_memory_get(struct ibv_context *context, const char *what,
			      const struct umem_at *ring, const struct umem_at *dbr,
			      size_t ring_bytes, struct queue_memory *memory);
/* On failure all of it stays, for another try. */
doca_error_t queue_memory_put(struct queue_memory *memory);

/*
 * The first half of a destroy: the firmware's object, then the memory. What is gone is NULL, so a
 * destroy that failed can be called again and goes on.
 */
doca_error_t queue_drop(struct mlx5dv_devx_obj **devx, const char *what,
			struct queue_memory *memory);

/* Writes a CQ image: every entry reads as not yet written. */
void cq_init_ring(void *ring, uint32_t entries);

/* The doorbell page to use: the caller's, or a new one into *own. */
doca_error_t uar_get(struct ibv_context *context, struct doca_verbs_uar *external,
		     const enum doca_verbs_uar_allocation_type order[2],
		     struct doca_verbs_uar **uar, struct doca_verbs_uar **own);

/* QUERY_QP; raw_state is the firmware's. */
doca_error_t qp_query_context(struct doca_verbs_qp *qp, uint8_t *qpc, size_t qpc_size);

#endif
