/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of an mlx5 device, made through DevX: memory regions for rings (UMEM), doorbell pages
 * (UAR), completion queues, RC queue pairs, shared receive queues, address and device attributes.
 * Names, signatures and values are those of DOCA GPUNetIO 2.0; layouts and rules are those of the
 * mlx5 PRM.
 *
 * What holds for every function:
 * - A NULL object or a NULL output pointer gives INVALID_VALUE; a getter that returns a value gives
 * 0 (or NULL, or the first enum value; exceptions are marked) for a NULL object.
 * - Objects are created by *_create, owned by the caller and given back with *_destroy. An object
 * must not be destroyed while another one uses it: umem and UAR outlive their queues, a CQ its QPs.
 * - A *_create that fails leaves nothing behind and its result as it was, or NULL. A *_destroy that
 * fails (DRIVER, say because another object uses this one) keeps the object, and can be called
 * again.
 * - A setter keeps pointers, never copies what they point to. Values that depend on the device are
 *   checked where they are used, by *_create or doca_verbs_qp_modify().
 * - No object may be used by two threads at once; different objects may.
 * - DRIVER means that rdma-core or the firmware refused; DOCA_GPUNETIO_LOG=3 prints errno, status
 * and syndrome. NOT_FOUND means that libibverbs or libmlx5 is missing or too old.
 */
#ifndef DOCA_VERBS_H
#define DOCA_VERBS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doca_error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;
struct ibv_pd;

struct doca_verbs_qp_init_attr;
struct doca_verbs_qp_attr;
struct doca_verbs_qp;
struct doca_verbs_cq_attr;
struct doca_verbs_cq;
struct doca_verbs_srq;
struct doca_verbs_srq_init_attr;
struct doca_verbs_ah_attr;
struct doca_verbs_umem;
struct doca_verbs_uar;
struct doca_verbs_device_attr;

#define DOCA_VERBS_QP_TYPE_RC 0x0

enum doca_verbs_qp_state {
	DOCA_VERBS_QP_STATE_RST = 0x0,
	DOCA_VERBS_QP_STATE_INIT = 0x1,
	DOCA_VERBS_QP_STATE_RTR = 0x2,
	DOCA_VERBS_QP_STATE_RTS = 0x3,
	DOCA_VERBS_QP_STATE_ERR = 0x4,
};

enum doca_verbs_addr_type {
	DOCA_VERBS_ADDR_TYPE_IPv4,	/* RoCE, GID is an IPv4-mapped address */
	DOCA_VERBS_ADDR_TYPE_IPv6,	/* RoCE, GID is an IPv6 address */
	DOCA_VERBS_ADDR_TYPE_IB_GRH,	/* InfiniBand across subnets */
	DOCA_VERBS_ADDR_TYPE_IB_NO_GRH, /* InfiniBand, LID only */
};

enum doca_verbs_mtu_size {
	DOCA_VERBS_MTU_SIZE_256_BYTES = 0x0,
	DOCA_VERBS_MTU_SIZE_512_BYTES = 0x1,
	DOCA_VERBS_MTU_SIZE_1K_BYTES = 0x2,
	DOCA_VERBS_MTU_SIZE_2K_BYTES = 0x3,
	DOCA_VERBS_MTU_SIZE_4K_BYTES = 0x4,
	DOCA_VERBS_MTU_SIZE_RAW_ETHERNET = 0x5, /* only ever reported */
};

enum doca_verbs_uar_allocation_type {
	DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME = 0,
	DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE = 1,	       /* may be shared by the process */
	DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED = 2, /* a page of its own */
};

/* ENABLE: the NIC overwrites completions that nobody consumed instead of failing the CQ. */
enum doca_verbs_cq_overrun {
	DOCA_VERBS_CQ_DISABLE_OVERRUN = 0,
	DOCA_VERBS_CQ_ENABLE_OVERRUN = 1,
};

enum doca_verbs_srq_type {
	DOCA_VERBS_SRQ_TYPE_LINKED_LIST, /* WQEs name their successor */
	DOCA_VERBS_SRQ_TYPE_CONTIGUOUS,	 /* a plain ring */
};

enum doca_verbs_qp_atomic_type {
	DOCA_VERBS_QP_ATOMIC_MODE_NONE = 0x0,
	DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC = 0x1,
	DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES = 0x3
};

/* NO_DBR_EXT: the doorbell alone carries the producer index; no doorbell record. */
enum doca_verbs_qp_send_dbr_mode {
	DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID = 0x0,
	DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT = 0x1,
};

/* Mask of doca_verbs_qp_modify(). */
#define DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE (1 << 0)
#define DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ  (1 << 1)
#define DOCA_VERBS_QP_ATTR_PKEY_INDEX	      (1 << 2)
#define DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER      (1 << 3)
#define DOCA_VERBS_QP_ATTR_PORT_NUM	      (1 << 4)
#define DOCA_VERBS_QP_ATTR_NEXT_STATE	      (1 << 5)
#define DOCA_VERBS_QP_ATTR_CURRENT_STATE      (1 << 6)
#define DOCA_VERBS_QP_ATTR_PATH_MTU	      (1 << 7)
#define DOCA_VERBS_QP_ATTR_RQ_PSN	      (1 << 8)
#define DOCA_VERBS_QP_ATTR_SQ_PSN	      (1 << 9)
#define DOCA_VERBS_QP_ATTR_DEST_QP_NUM	      (1 << 10)
#define DOCA_VERBS_QP_ATTR_ACK_TIMEOUT	      (1 << 11)
#define DOCA_VERBS_QP_ATTR_RETRY_CNT	      (1 << 12)
#define DOCA_VERBS_QP_ATTR_RNR_RETRY	      (1 << 13)
#define DOCA_VERBS_QP_ATTR_AH_ATTR	      (1 << 14)
#define DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC   (1 << 16)
#define DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC (1 << 17)

#define DOCA_VERBS_GID_BYTE_LENGTH   16
#define DOCA_VERBS_DMABUF_INVALID_FD 0xFFFFFFFF

struct doca_verbs_gid {
	uint8_t raw[DOCA_VERBS_GID_BYTE_LENGTH]; /* network order */
};

/* ---- QP init attributes ---- */

doca_error_t doca_verbs_qp_init_attr_create(struct doca_verbs_qp_init_attr **attr);
doca_error_t doca_verbs_qp_init_attr_destroy(struct doca_verbs_qp_init_attr *attr);

/*
 * Protection domain (needed), send CQ (needed with sq_wr), receive CQ (needed with rq_wr or srq).
 */
doca_error_t doca_verbs_qp_init_attr_set_pd(struct doca_verbs_qp_init_attr *attr,
					    struct ibv_pd *pd);
struct ibv_pd *doca_verbs_qp_init_attr_get_pd(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_send_cq(struct doca_verbs_qp_init_attr *attr,
						 struct doca_verbs_cq *send_cq);
struct doca_verbs_cq *
doca_verbs_qp_init_attr_get_send_cq(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_receive_cq(struct doca_verbs_qp_init_attr *attr,
						    struct doca_verbs_cq *receive_cq);
struct doca_verbs_cq *
doca_verbs_qp_init_attr_get_receive_cq(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_srq(struct doca_verbs_qp_init_attr *attr,
					     struct doca_verbs_srq *srq);
struct doca_verbs_srq *doca_verbs_qp_init_attr_get_srq(const struct doca_verbs_qp_init_attr *attr);
/*
 * Kept and returned by the query; every WQE says itself whether it wants a completion. Getter: -1.
 */
doca_error_t doca_verbs_qp_init_attr_set_sq_sig_all(struct doca_verbs_qp_init_attr *attr,
						    int sq_sig_all);
int doca_verbs_qp_init_attr_get_sq_sig_all(const struct doca_verbs_qp_init_attr *attr);
/* Queue sizes in work requests, and what the largest of them carries (inline in bytes). */
doca_error_t doca_verbs_qp_init_attr_set_sq_wr(struct doca_verbs_qp_init_attr *attr,
					       uint32_t sq_wr);
uint32_t doca_verbs_qp_init_attr_get_sq_wr(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_rq_wr(struct doca_verbs_qp_init_attr *attr,
					       uint32_t rq_wr);
uint32_t doca_verbs_qp_init_attr_get_rq_wr(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_send_max_sges(struct doca_verbs_qp_init_attr *attr,
						       uint32_t send_max_sges);
uint32_t doca_verbs_qp_init_attr_get_send_max_sges(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_receive_max_sges(struct doca_verbs_qp_init_attr *attr,
							  uint32_t receive_max_sges);
uint32_t doca_verbs_qp_init_attr_get_receive_max_sges(const struct doca_verbs_qp_init_attr *attr);
doca_error_t doca_verbs_qp_init_attr_set_max_inline_data(struct doca_verbs_qp_init_attr *attr,
							 uint32_t max_inline_data);
uint32_t doca_verbs_qp_init_attr_get_max_inline_data(const struct doca_verbs_qp_init_attr *attr);
/* A 24-bit number that completions of this QP carry. More bits: INVALID_VALUE. */
doca_error_t doca_verbs_qp_init_attr_set_user_index(struct doca_verbs_qp_init_attr *attr,
						    uint32_t user_index);
uint32_t doca_verbs_qp_init_attr_get_user_index(const struct doca_verbs_qp_init_attr *attr);
/* DOCA_VERBS_QP_TYPE_RC is the only type. */
doca_error_t doca_verbs_qp_init_attr_set_qp_type(struct doca_verbs_qp_init_attr *attr,
						 uint32_t qp_type);
uint32_t doca_verbs_qp_init_attr_get_qp_type(const struct doca_verbs_qp_init_attr *attr);
/*
 * Memory for the ring (RQ first, then SQ) and for the doorbell record (8 bytes: RQ word, SQ word),
 * as umem and byte offset; both or neither. Offsets: ring 64-byte aligned, record 8-byte aligned.
 */
doca_error_t doca_verbs_qp_init_attr_set_external_umem(struct doca_verbs_qp_init_attr *attr,
						       struct doca_verbs_umem *external_umem,
						       uint64_t external_umem_offset);
doca_error_t doca_verbs_qp_init_attr_get_external_umem(const struct doca_verbs_qp_init_attr *attr,
						       struct doca_verbs_umem **external_umem,
						       uint64_t *external_umem_offset);
doca_error_t doca_verbs_qp_init_attr_set_external_dbr_umem(struct doca_verbs_qp_init_attr *attr,
							   struct doca_verbs_umem *external_umem,
							   uint64_t external_umem_offset);
/* A doorbell page to share; without one the QP allocates its own. */
doca_error_t doca_verbs_qp_init_attr_set_external_uar(struct doca_verbs_qp_init_attr *attr,
						      struct doca_verbs_uar *external_uar);
doca_error_t doca_verbs_qp_init_attr_get_external_uar(const struct doca_verbs_qp_init_attr *attr,
						      struct doca_verbs_uar **external_uar);
/* A word of the caller's. */
doca_error_t doca_verbs_qp_init_attr_set_qp_context(struct doca_verbs_qp_init_attr *attr,
						    void *qp_context);
void *doca_verbs_qp_init_attr_get_qp_context(const struct doca_verbs_qp_init_attr *attr);
/* 0 or 1: the QP executes WAIT WQEs (CORE-Direct master). */
doca_error_t doca_verbs_qp_init_attr_set_core_direct_master(struct doca_verbs_qp_init_attr *attr,
							    uint8_t core_direct_master);
uint8_t doca_verbs_qp_init_attr_get_core_direct_master(const struct doca_verbs_qp_init_attr *attr);
doca_error_t
doca_verbs_qp_init_attr_set_send_dbr_mode(struct doca_verbs_qp_init_attr *attr,
					  enum doca_verbs_qp_send_dbr_mode send_dbr_mode);
enum doca_verbs_qp_send_dbr_mode
doca_verbs_qp_init_attr_get_send_dbr_mode(const struct doca_verbs_qp_init_attr *attr);
/*
 * A mark for the caller's data path: rings like NO_DBR_EXT on an ordinary QP. Not with NO_DBR_EXT.
 */
doca_error_t doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(struct doca_verbs_qp_init_attr *attr,
							    bool emulate_no_dbr_ext);
bool doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(const struct doca_verbs_qp_init_attr *attr);

/* ---- QP attributes, for modify and query ---- */

doca_error_t doca_verbs_qp_attr_create(struct doca_verbs_qp_attr **attr);
doca_error_t doca_verbs_qp_attr_destroy(struct doca_verbs_qp_attr *attr);

doca_error_t doca_verbs_qp_attr_set_next_state(struct doca_verbs_qp_attr *attr,
					       enum doca_verbs_qp_state next_state);
enum doca_verbs_qp_state doca_verbs_qp_attr_get_next_state(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_current_state(struct doca_verbs_qp_attr *attr,
						  enum doca_verbs_qp_state current_state);
enum doca_verbs_qp_state
doca_verbs_qp_attr_get_current_state(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_path_mtu(struct doca_verbs_qp_attr *attr,
					     enum doca_verbs_mtu_size path_mtu);
enum doca_verbs_mtu_size doca_verbs_qp_attr_get_path_mtu(const struct doca_verbs_qp_attr *attr);
/* 24-bit numbers; modify drops higher bits of a PSN and refuses them in dest_qp_num. */
doca_error_t doca_verbs_qp_attr_set_rq_psn(struct doca_verbs_qp_attr *attr, uint32_t rq_psn);
uint32_t doca_verbs_qp_attr_get_rq_psn(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_sq_psn(struct doca_verbs_qp_attr *attr, uint32_t sq_psn);
uint32_t doca_verbs_qp_attr_get_sq_psn(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_dest_qp_num(struct doca_verbs_qp_attr *attr,
						uint32_t dest_qp_num);
uint32_t doca_verbs_qp_attr_get_dest_qp_num(const struct doca_verbs_qp_attr *attr);
/*
 * Rights of the peer. 0 or not 0; getters give -1 for NULL. Atomics have no mask bit: see modify.
 */
doca_error_t doca_verbs_qp_attr_set_allow_remote_write(struct doca_verbs_qp_attr *attr,
						       int allow_remote_write);
int doca_verbs_qp_attr_get_allow_remote_write(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_allow_remote_read(struct doca_verbs_qp_attr *attr,
						      int allow_remote_read);
int doca_verbs_qp_attr_get_allow_remote_read(const struct doca_verbs_qp_attr *attr);
doca_error_t
doca_verbs_qp_attr_set_allow_remote_atomic(struct doca_verbs_qp_attr *attr,
					   enum doca_verbs_qp_atomic_type allow_atomic_type);
enum doca_verbs_qp_atomic_type
doca_verbs_qp_attr_get_allow_remote_atomic(const struct doca_verbs_qp_attr *attr);
/* Must stay alive until modify or query has returned. */
doca_error_t doca_verbs_qp_attr_set_ah_attr(struct doca_verbs_qp_attr *attr,
					    struct doca_verbs_ah_attr *ah_attr);
struct doca_verbs_ah_attr *doca_verbs_qp_attr_get_ah_attr(const struct doca_verbs_qp_attr *attr);
/* Ports count from 1. */
doca_error_t doca_verbs_qp_attr_set_pkey_index(struct doca_verbs_qp_attr *attr,
					       uint16_t pkey_index);
uint16_t doca_verbs_qp_attr_get_pkey_index(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_port_num(struct doca_verbs_qp_attr *attr, uint16_t port_num);
uint16_t doca_verbs_qp_attr_get_port_num(const struct doca_verbs_qp_attr *attr);
/* ack_timeout 0..31: 4.096 us << value, 0 = never. retry_cnt, rnr_retry 0..7 (rnr 7 = for ever).
 * min_rnr_timer 0..31: IBTA code of the delay asked from the peer. */
doca_error_t doca_verbs_qp_attr_set_ack_timeout(struct doca_verbs_qp_attr *attr,
						uint16_t ack_timeout);
uint16_t doca_verbs_qp_attr_get_ack_timeout(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_retry_cnt(struct doca_verbs_qp_attr *attr, uint16_t retry_cnt);
uint16_t doca_verbs_qp_attr_get_retry_cnt(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_rnr_retry(struct doca_verbs_qp_attr *attr, uint16_t rnr_retry);
uint16_t doca_verbs_qp_attr_get_rnr_retry(const struct doca_verbs_qp_attr *attr);
doca_error_t doca_verbs_qp_attr_set_min_rnr_timer(struct doca_verbs_qp_attr *attr,
						  uint16_t min_rnr_timer);
uint16_t doca_verbs_qp_attr_get_min_rnr_timer(const struct doca_verbs_qp_attr *attr);
/* Outstanding READs and atomics, as initiator and as target: a power of two. */
doca_error_t doca_verbs_qp_attr_set_max_rd_atomic(struct doca_verbs_qp_attr *attr,
						  uint8_t max_rd_atomic);
doca_error_t doca_verbs_qp_attr_set_max_dest_rd_atomic(struct doca_verbs_qp_attr *attr,
						       uint8_t max_dest_rd_atomic);

/* ---- Address attributes ---- */

doca_error_t doca_verbs_ah_attr_create(struct ibv_context *context,
				       struct doca_verbs_ah_attr **attr);
doca_error_t doca_verbs_ah_attr_destroy(struct doca_verbs_ah_attr *attr);

/* The peer's GID, how to read it, and its LID (16 bits) on InfiniBand. */
doca_error_t doca_verbs_ah_attr_set_gid(struct doca_verbs_ah_attr *attr, struct doca_verbs_gid gid);
struct doca_verbs_gid doca_verbs_ah_get_gid(const struct doca_verbs_ah_attr *attr);
doca_error_t doca_verbs_ah_attr_set_addr_type(struct doca_verbs_ah_attr *attr,
					      enum doca_verbs_addr_type addr_type);
enum doca_verbs_addr_type doca_verbs_ah_get_addr_type(const struct doca_verbs_ah_attr *attr);
doca_error_t doca_verbs_ah_attr_set_dlid(struct doca_verbs_ah_attr *attr, uint32_t dlid);
uint32_t doca_verbs_ah_get_dlid(const struct doca_verbs_ah_attr *attr);
/* Service level 0..15, index into the local GID table, static rate 0..15 (0 = full), and the IP
 * header's hop limit and traffic class. */
doca_error_t doca_verbs_ah_attr_set_sl(struct doca_verbs_ah_attr *attr, uint8_t sl);
uint8_t doca_verbs_ah_get_sl(const struct doca_verbs_ah_attr *attr);
doca_error_t doca_verbs_ah_attr_set_sgid_index(struct doca_verbs_ah_attr *attr, uint8_t sgid_index);
uint8_t doca_verbs_ah_get_sgid_index(const struct doca_verbs_ah_attr *attr);
doca_error_t doca_verbs_ah_attr_set_static_rate(struct doca_verbs_ah_attr *attr,
						uint8_t static_rate);
uint8_t doca_verbs_ah_get_static_rate(const struct doca_verbs_ah_attr *attr);
doca_error_t doca_verbs_ah_attr_set_hop_limit(struct doca_verbs_ah_attr *attr, uint8_t hop_limit);
uint8_t doca_verbs_ah_get_hop_limit(const struct doca_verbs_ah_attr *attr);
doca_error_t doca_verbs_ah_attr_set_traffic_class(struct doca_verbs_ah_attr *attr,
						  uint8_t traffic_class);
uint8_t doca_verbs_ah_get_traffic_class(const struct doca_verbs_ah_attr *attr);

/* ---- QP ---- */

/*
 * Creates an RC QP in state RST. The SQ holds the next power of two of sq_wr times the largest WQE
 * in 64-byte blocks; an RQ (rq_wr) lies before it in the same ring memory. INVALID_VALUE:
 * contradicting or impossible attributes, external memory too small or misaligned. NOT_SUPPORTED:
 * NO_DBR_EXT on a device without it. NO_MEMORY. DRIVER.
 */
doca_error_t doca_verbs_qp_create(struct ibv_context *context,
				  struct doca_verbs_qp_init_attr *init_attr,
				  struct doca_verbs_qp **qp);
doca_error_t doca_verbs_qp_destroy(struct doca_verbs_qp *qp);

/*
 * Moves the QP. The next state is next_state if NEXT_STATE is in the mask, else the current one,
 * which is current_state if CURRENT_STATE is in the mask, else the last state set through this
 * handle. Besides those two bits a transition takes:
 *
 *   RST->INIT   all of PKEY_INDEX PORT_NUM ALLOW_REMOTE_WRITE ALLOW_REMOTE_READ
 *   INIT->INIT  any of those
 *   INIT->RTR   all of RQ_PSN DEST_QP_NUM PATH_MTU AH_ATTR MIN_RNR_TIMER;
 *               any of PKEY_INDEX ALLOW_REMOTE_WRITE ALLOW_REMOTE_READ MAX_DEST_RD_ATOMIC
 *   RTR->RTS    all of SQ_PSN ACK_TIMEOUT RETRY_CNT RNR_RETRY;
 *               any of MIN_RNR_TIMER ALLOW_REMOTE_WRITE MAX_QP_RD_ATOMIC
 *   RTS->RTS    any of ALLOW_REMOTE_WRITE ALLOW_REMOTE_READ MIN_RNR_TIMER AH_ATTR
 *   any->ERR, any->RST   none
 *
 * Atomics are allowed from any transition whose attributes have allow_remote_atomic set.
 * INVALID_VALUE: another transition, a mask with a bit missing or too many, a value out of range.
 * DRIVER: the firmware refused, or no route to the peer's MAC address.
 */
doca_error_t doca_verbs_qp_modify(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr,
				  int attr_mask);

/*
 * Reads the QP back from the NIC. An ah_attr set in attr is filled too. A send queue error reads as
 * ERR, a drained queue as RTS. Before RTR path_mtu is 256 bytes unless the NIC reports another.
 */
doca_error_t doca_verbs_qp_query(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr,
				 struct doca_verbs_qp_init_attr *init_attr);

/* Rings: address, number of 64-byte blocks (SQ) or of WQEs (RQ), bytes of an RQ WQE. */
void doca_verbs_qp_get_wq(const struct doca_verbs_qp *qp, void **sq_buf, uint32_t *sq_num_entries,
			  void **rq_buf, uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes);
/* The doorbell record: word 0 RQ, word 1 SQ. */
void *doca_verbs_qp_get_dbr_addr(const struct doca_verbs_qp *qp);
/* The doorbell register for this QP's doorbell mode. */
void *doca_verbs_qp_get_uar_addr(const struct doca_verbs_qp *qp);
uint32_t doca_verbs_qp_get_qpn(const struct doca_verbs_qp *qp);
enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_get_send_dbr_mode(const struct doca_verbs_qp *qp);
bool doca_verbs_qp_get_emulate_no_dbr_ext(const struct doca_verbs_qp *qp);

/* ---- CQ ---- */

doca_error_t doca_verbs_cq_attr_create(struct doca_verbs_cq_attr **attr);
doca_error_t doca_verbs_cq_attr_destroy(struct doca_verbs_cq_attr *attr);

/* Entries of 64 bytes: a power of two, at most the device's max_cqe. */
doca_error_t doca_verbs_cq_attr_set_cq_size(struct doca_verbs_cq_attr *attr, uint32_t cq_size);
/* A word of the caller's. */
doca_error_t doca_verbs_cq_attr_set_cq_context(struct doca_verbs_cq_attr *attr, void *cq_context);
/*
 * Memory for the ring (64-byte aligned) and the doorbell record (8 bytes: consumer index, arm),
 * both or neither. The caller marks every entry invalid first: op_own = 0xF1. Memory of the
 * library's own is prepared so.
 */
doca_error_t doca_verbs_cq_attr_set_external_umem(struct doca_verbs_cq_attr *attr,
						  struct doca_verbs_umem *external_umem,
						  uint64_t external_umem_offset);
doca_error_t doca_verbs_cq_attr_set_external_dbr_umem(struct doca_verbs_cq_attr *attr,
						      struct doca_verbs_umem *external_umem,
						      uint64_t external_umem_offset);
doca_error_t doca_verbs_cq_attr_set_external_uar(struct doca_verbs_cq_attr *attr,
						 struct doca_verbs_uar *external_uar);
doca_error_t doca_verbs_cq_attr_set_cq_overrun(struct doca_verbs_cq_attr *attr,
					       enum doca_verbs_cq_overrun overrun);
/* 0 or 1: every completion goes to slot 0. */
doca_error_t doca_verbs_cq_attr_set_cq_collapsed(struct doca_verbs_cq_attr *attr, uint8_t cc);

/* INVALID_VALUE: attributes. NO_MEMORY. DRIVER. */
doca_error_t doca_verbs_cq_create(struct ibv_context *context, struct doca_verbs_cq_attr *attr,
				  struct doca_verbs_cq **cq);
doca_error_t doca_verbs_cq_destroy(struct doca_verbs_cq *cq);
void doca_verbs_cq_get_wq(struct doca_verbs_cq *cq, void **cq_buf, uint32_t *cq_num_entries,
			  uint8_t *cq_entry_size);
void doca_verbs_cq_get_dbr_addr(struct doca_verbs_cq *cq, uint64_t **uar_db_reg, uint32_t **ci_dbr,
				uint32_t **arm_dbr);
uint32_t doca_verbs_cq_get_cqn(const struct doca_verbs_cq *cq);

/* ---- SRQ ---- */

doca_error_t doca_verbs_srq_init_attr_create(struct doca_verbs_srq_init_attr **attr);
doca_error_t doca_verbs_srq_init_attr_destroy(struct doca_verbs_srq_init_attr *attr);

/* Both at least 1. */
doca_error_t doca_verbs_srq_init_attr_set_srq_wr(struct doca_verbs_srq_init_attr *attr,
						 uint32_t srq_wr);
uint32_t doca_verbs_srq_init_attr_get_srq_wr(const struct doca_verbs_srq_init_attr *attr);
doca_error_t doca_verbs_srq_init_attr_set_receive_max_sges(struct doca_verbs_srq_init_attr *attr,
							   uint32_t receive_max_sges);
uint32_t doca_verbs_srq_init_attr_get_receive_max_sges(const struct doca_verbs_srq_init_attr *attr);
doca_error_t doca_verbs_srq_init_attr_set_type(struct doca_verbs_srq_init_attr *attr,
					       enum doca_verbs_srq_type srq_type);
enum doca_verbs_srq_type
doca_verbs_srq_init_attr_get_type(const struct doca_verbs_srq_init_attr *attr);
doca_error_t doca_verbs_srq_init_attr_set_pd(struct doca_verbs_srq_init_attr *attr,
					     struct ibv_pd *pd);
struct ibv_pd *doca_verbs_srq_init_attr_get_pd(const struct doca_verbs_srq_init_attr *attr);
/* One umem holds the ring and, at its cache-line aligned end, the doorbell record. */
doca_error_t doca_verbs_srq_init_attr_set_external_umem(struct doca_verbs_srq_init_attr *attr,
							struct doca_verbs_umem *external_umem,
							uint64_t external_umem_offset);
doca_error_t doca_verbs_srq_init_attr_get_external_umem(const struct doca_verbs_srq_init_attr *attr,
							struct doca_verbs_umem **external_umem,
							uint64_t *external_umem_offset);

/*
 * A shared receive queue (an RMP of the PRM). With memory of the library's own a linked list is
 * chained here; external memory is the caller's to chain. NOT_SUPPORTED: more WRs or SGEs than the
 * device has.
 */
doca_error_t doca_verbs_srq_create(struct ibv_context *context,
				   struct doca_verbs_srq_init_attr *attr,
				   struct doca_verbs_srq **srq);
doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *srq);
uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *srq);
void doca_verbs_srq_get_wq(const struct doca_verbs_srq *srq, void **srq_buf,
			   uint32_t *srq_num_entries, uint32_t *rwqe_size_bytes);
void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *srq);

/* ---- Device attributes ---- */

/* A snapshot; the caller frees it. */
doca_error_t doca_verbs_query_device(struct ibv_context *context,
				     struct doca_verbs_device_attr **attr);
doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_qp(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_qp_wr(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_sge(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_cq(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_cqe(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_mr(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_pd(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_ah(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_srq(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_srq_wr(const struct doca_verbs_device_attr *attr);
uint32_t doca_verbs_device_attr_get_max_srq_sge(const struct doca_verbs_device_attr *attr);
uint16_t doca_verbs_device_attr_get_max_pkeys(const struct doca_verbs_device_attr *attr);
uint8_t
doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(const struct doca_verbs_device_attr *attr);
uint8_t doca_verbs_device_attr_get_max_qp_rd_atom(const struct doca_verbs_device_attr *attr);
uint8_t doca_verbs_device_attr_get_max_qp_init_rd_atom(const struct doca_verbs_device_attr *attr);
/* RC: SUCCESS or NOT_SUPPORTED. Another type: INVALID_VALUE. */
doca_error_t
doca_verbs_device_attr_get_is_qp_type_supported(const struct doca_verbs_device_attr *attr,
						uint32_t qp_type);

/* ---- Memory for queues ---- */

/*
 * Registers [address, address + size) for queues of this device. access_flags: enum
 * ibv_access_flags. dmabuf_id: -1 for plain memory, else a dma-buf whose bytes from dmabuf_offset
 * on are meant and that may be closed afterwards; address is then what the getters and the queues
 * report. INVALID_VALUE: NULL, size 0, an end beyond the address space, dmabuf_id below -1.
 * NO_MEMORY. NOT_SUPPORTED: dma-buf with an rdma-core too old. DRIVER.
 */
doca_error_t doca_verbs_umem_create(struct ibv_context *context, void *address, size_t size,
				    uint32_t access_flags, int dmabuf_id, size_t dmabuf_offset,
				    struct doca_verbs_umem **umem_obj);
doca_error_t doca_verbs_umem_destroy(struct doca_verbs_umem *umem_obj);
doca_error_t doca_verbs_umem_get_id(const struct doca_verbs_umem *umem_obj, uint32_t *umem_id);
doca_error_t doca_verbs_umem_get_size(const struct doca_verbs_umem *umem_obj, size_t *umem_size);
doca_error_t doca_verbs_umem_get_address(const struct doca_verbs_umem *umem_obj,
					 void **umem_address);

/* ---- Doorbell pages ---- */

/* INVALID_VALUE: unknown type. DRIVER: the type cannot be had here. */
doca_error_t doca_verbs_uar_create(struct ibv_context *context,
				   enum doca_verbs_uar_allocation_type allocation_type,
				   struct doca_verbs_uar **uar_obj);
doca_error_t doca_verbs_uar_destroy(struct doca_verbs_uar *uar_obj);
doca_error_t doca_verbs_uar_id_get(const struct doca_verbs_uar *uar, uint32_t *id);
/* The doorbell register (8 bytes; BlueFlame: 64), and the one for QPs without doorbell record. */
doca_error_t doca_verbs_uar_reg_addr_get(const struct doca_verbs_uar *uar_obj, void **reg_addr);
doca_error_t doca_verbs_uar_dbr_less_addr_get(const struct doca_verbs_uar *uar_obj,
					      void **dbr_less_addr);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_VERBS_H */
