/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the command executor: one command under execution, and what its handlers share. */
#ifndef GDAKIT_NM_CMD_H
#define GDAKIT_NM_CMD_H

#include "emu/nicmodel/nm_obj.h"

/*
 * Syndromes are the vendor's and public only by accident, so every number here is a guess: stable,
 * in a range of its own, one for each kind of refusal. A program can only print them.
 */
#define NM_SYNDROMES(X)                                                                            \
	X(NONE, 0x000000, "no syndrome")                                                           \
	X(OPCODE, 0x6da001, "unknown or unsupported command")                                      \
	X(OP_MOD, 0x6da002, "unknown op_mod")                                                      \
	X(IN_LEN, 0x6da003, "input mailbox too short")                                             \
	X(OUT_LEN, 0x6da004, "output mailbox too short")                                           \
	X(PRIVILEGE, 0x6da005, "command of the driver only")                                       \
	X(NO_OBJECT, 0x6da006, "no such object, or another owner's")                               \
	X(IN_USE, 0x6da007, "object in use")                                                       \
	X(TABLE_FULL, 0x6da008, "no free number")                                                  \
	X(FIELD, 0x6da009, "field out of range")                                                   \
	X(PAGES, 0x6da00a, "page list too short")                                                  \
	X(RANGE, 0x6da00b, "outside of the umem")                                                  \
	X(STATE, 0x6da00c, "not in this state")                                                    \
	X(UNMODELLED, 0x6da00d, "not modelled")                                                    \
	X(MEMORY, 0x6da00e, "out of memory")                                                       \
	X(FAULT, 0x6da00f, "injected fault")                                                       \
	X(ADDRESS, 0x6da010, "address unreachable or misaligned")

#define NM_SYND_ENUM_(name, number, text) NM_SYND_##name = (number),
enum nm_syndrome { NM_SYNDROMES(NM_SYND_ENUM_) };

/* Text of a syndrome of this model, NULL for others. */
const char *nm_syndrome_text(uint32_t syndrome);

struct nm_cmd {
	struct nm_nic *nic;
	struct nm_space *space; /* of the addresses in the mailbox; may be NULL */
	uint16_t opcode, op_mod, uid;
	const char *name;
	const uint8_t *in; /* in_len bytes, at least the table's min_in */
	size_t in_len;
	uint8_t *out; /* out_len bytes, zeroed, at least the table's min_out */
	size_t out_len;
	uint32_t syndrome;
	char why[NM_WHY_MAX];
};

/* Records a refusal and returns `status`, so that a handler can end with it. */
uint8_t nm_cmd_fail(struct nm_cmd *c, uint8_t status, uint32_t syndrome, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The object `number` names, if the caller may use it; else NULL and *status is set (BAD_RES). What
 * a driver made for all (EQs, UAR pages, XRC domains) may be used by every context.
 */
struct nm_obj *nm_cmd_use(struct nm_cmd *c, enum nm_obj_type type, uint32_t number,
			  uint8_t *status);
/* Same, to modify, query or destroy it: its owner or the driver only. */
struct nm_obj *nm_cmd_own(struct nm_cmd *c, enum nm_obj_type type, uint32_t number,
			  uint8_t *status);
/* Enters the table and answers with the number (bits 23:0 of the third dword); on failure the
 * caller frees it. */
uint8_t nm_cmd_publish(struct nm_cmd *c, struct nm_obj *obj, enum nm_obj_type type);
uint8_t nm_cmd_no_memory(struct nm_cmd *c);
uint8_t nm_cmd_busy(struct nm_cmd *c, const struct nm_obj *obj);
/* Ends the object, unless something uses it. */
uint8_t nm_cmd_end(struct nm_cmd *c, enum nm_obj_type type, uint32_t number,
		   void (*end)(struct nm_obj *));

/* The unit of log_page_size in every context but the mkey's (PRM: log_pg_sz). */
enum {
	NM_LOG_ADAPTER_PAGE = 12,
	NM_LOG_PAGE_MAX = 52, /* more would leave no address bits */
};

/* Device memory is given out in units of 64 bytes (PRM: log_min_memic_alloc_size). */
enum { NM_LOG_MEMIC_UNIT = 6 };

/* Where a queue's memory is: a page list in the mailbox, or a window of a umem. */
struct nm_cmd_region {
	const char *what; /* for messages */
	bool umem_valid;
	uint32_t umem_id;
	uint64_t umem_off;
	size_t pas_off;	  /* of the page list in the mailbox */
	uint8_t log_page; /* absolute */
	uint64_t page_off;
	uint64_t len;
};
/* Fills `mem` and, if it is a window, takes a use of the umem into *umem. Returns a status. */
uint8_t nm_cmd_region(struct nm_cmd *c, const struct nm_cmd_region *r, struct nm_mem *mem,
		      struct nm_umem **umem);
/* Doorbell record: absolute address, or offset in a umem. */
uint8_t nm_cmd_dbr(struct nm_cmd *c, bool umem_valid, uint32_t umem_id, uint64_t addr,
		   struct nm_dbr *dbr, struct nm_umem **umem);
void nm_cmd_umem_put(struct nm_umem *umem); /* NULL is fine */

/* Gives back a use of a UAR page; the page ends with its last use if it was deallocated before. */
void nm_uar_put(struct nm_uar *uar);

/* End of one object, whoever asks: DESTROY commands, end of a user context, end of the NIC. */
void nm_pd_free(struct nm_obj *obj);
void nm_uar_free(struct nm_obj *obj);
void nm_plain_free(struct nm_obj *obj);
void nm_qcounter_free(struct nm_obj *obj);
void nm_umem_free(struct nm_obj *obj);
void nm_mkey_free(struct nm_obj *obj);
void nm_eq_free(struct nm_obj *obj);
void nm_cq_free(struct nm_obj *obj);
void nm_qp_free(struct nm_obj *obj);
void nm_srq_free(struct nm_obj *obj);
/*
 * Every object of `uid` in an order in which users go before what they use; all owners' if `all`.
 * What the driver's objects still use becomes the driver's instead.
 */
void nm_obj_free_owned(struct nm_nic *nic, uint16_t uid, bool all);

/* The data path's fields from qp->qpc, after a command changed it. */
void nm_qp_decode(struct nm_qp *qp);

typedef uint8_t (*nm_cmd_fn)(struct nm_cmd *c);

#define NM_CMD_HANDLERS(X)                                                                         \
	X(query_hca_cap)                                                                           \
	X(set_hca_cap)                                                                             \
	X(enable_hca)                                                                              \
	X(disable_hca)                                                                             \
	X(init_hca)                                                                                \
	X(teardown_hca)                                                                            \
	X(query_pages)                                                                             \
	X(manage_pages)                                                                            \
	X(query_adapter)                                                                           \
	X(query_issi)                                                                              \
	X(set_issi)                                                                                \
	X(query_special_contexts)                                                                  \
	X(mad_ifc)                                                                                 \
	X(query_vport_state)                                                                       \
	X(query_nic_vport_context)                                                                 \
	X(query_hca_vport_context)                                                                 \
	X(modify_hca_vport_context)                                                                \
	X(query_hca_vport_gid)                                                                     \
	X(query_hca_vport_pkey)                                                                    \
	X(query_roce_address)                                                                      \
	X(set_roce_address)                                                                        \
	X(access_reg)                                                                              \
	X(attach_to_mcg)                                                                           \
	X(detach_from_mcg)                                                                         \
	X(alloc_pd)                                                                                \
	X(dealloc_pd)                                                                              \
	X(alloc_uar)                                                                               \
	X(dealloc_uar)                                                                             \
	X(alloc_td)                                                                                \
	X(dealloc_td)                                                                              \
	X(alloc_q_counter)                                                                         \
	X(dealloc_q_counter)                                                                       \
	X(query_q_counter)                                                                         \
	X(create_general)                                                                          \
	X(destroy_general)                                                                         \
	X(create_rmp)                                                                              \
	X(create_srq)                                                                              \
	X(create_xrc_srq)                                                                          \
	X(modify_rmp)                                                                              \
	X(arm_rq)                                                                                  \
	X(arm_xrc_srq)                                                                             \
	X(query_rmp)                                                                               \
	X(query_srq)                                                                               \
	X(query_xrc_srq)                                                                           \
	X(destroy_rmp)                                                                             \
	X(destroy_srq)                                                                             \
	X(destroy_xrc_srq)                                                                         \
	X(alloc_xrcd)                                                                              \
	X(dealloc_xrcd)                                                                            \
	X(create_uctx)                                                                             \
	X(destroy_uctx)                                                                            \
	X(create_umem)                                                                             \
	X(destroy_umem)                                                                            \
	X(create_mkey)                                                                             \
	X(query_mkey)                                                                              \
	X(destroy_mkey)                                                                            \
	X(alloc_memic)                                                                             \
	X(dealloc_memic)                                                                           \
	X(create_eq)                                                                               \
	X(query_eq)                                                                                \
	X(destroy_eq)                                                                              \
	X(create_cq)                                                                               \
	X(query_cq)                                                                                \
	X(modify_cq)                                                                               \
	X(destroy_cq)                                                                              \
	X(create_qp)                                                                               \
	X(modify_qp)                                                                               \
	X(query_qp)                                                                                \
	X(destroy_qp)

#define NM_CMD_PROTO_(name) uint8_t nm_cmd_##name(struct nm_cmd *c);
NM_CMD_HANDLERS(NM_CMD_PROTO_)

/* cmd_general.c: QPNs in runs of 1 << NM_LOG_RESERVED_QPNS, past those that QPs get. */
enum {
	NM_LOG_RESERVED_QPNS = 7,
	NM_RESERVED_QPN_FIRST = 0xf000, /* bits 15:0 */
	NM_RESERVED_QPN_RUNS = (0x10000 - NM_RESERVED_QPN_FIRST) >> NM_LOG_RESERVED_QPNS,
};

/* cap.c */
struct nm_cap_row {
	uint8_t type; /* enum prm_cap_type */
	uint16_t off;
	uint8_t hi, lo;
	uint32_t value;
	const char *field;
	const char *source; /* why this value */
};
extern const struct nm_cap_row nm_cap_connectx7[];
extern const size_t nm_cap_connectx7_rows;
extern const struct nm_cap_row nm_cap_connectx8[]; /* beside those of a ConnectX-7 */
extern const size_t nm_cap_connectx8_rows;
/* Whether a queue may do without a doorbell record. */
bool nm_cap_has_no_dbr(const struct nm_nic *nic);

#endif
