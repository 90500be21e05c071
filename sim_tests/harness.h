/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric of NICs for tests of the transport: everything is made by commands, WQEs are posted as
 * bytes and rung as programs do, completions are read from memory.
 *
 *     HX_TEST(rc_write, one_byte_arrives)
 *     {
 *             struct hx_pair p = hx_pair(h, NULL);
 *             ...
 *     }
 *
 * is one body and four tests: memory of the NICs mapped or copy-only, packets by reference or
 * serialised, where flows overtake each other and the order within a flow stays.
 */
#ifndef GDAKIT_HARNESS_H
#define GDAKIT_HARNESS_H

#ifdef HX_WITHOUT_CRITERION
#include "sim_tests/harness_abort.h"
#else
#include <criterion/criterion.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "emu/nicmodel/nm.h"
#include "emu/space/space.h"
#include "emu/world/sim.h"
#include "prm/prm.h"

enum {
	HX_ARENA = 64 << 20, /* bytes of program memory of one harness, zeroed */
	HX_PAGE = 4096,
	HX_DIAGNOSES = 64,
	HX_EVENTS = 64,
	HX_ALL_RIGHTS = 0x1f, /* enum nm_access */
};
enum { HX_LR = 1, HX_LW = 2, HX_RR = 4, HX_RW = 8, HX_A = 16 };
enum { HX_SIGNALED = 2 << 2, HX_FENCE = 2 << 5, HX_SOLICITED = 2 };

struct hx_config {
	uint32_t nics; /* 0: 2 */
	bool copied, serialise, infiniband;
	uint32_t seed;
	uint8_t port_mtu; /* 0: 5 */
	uint32_t drop_permille, dup_permille, reorder_permille;
	bool shuffle;
	bool trains; /* nobody watches packets or payload: no counts of them, no hx_drop() */
};

struct hx_nic {
	struct nm_nic *nic;
	uint32_t pd, uar, eqn;
	uint32_t packets[256]; /* sent, by BTH opcode */
	uint32_t acks, naks, rnrs;
	uint32_t drop[256]; /* how many of the next packets with this BTH opcode are lost */
	uint32_t dup[256];  /* sent twice */
	struct nm_fault fault;
};

struct hx_event {
	uint32_t nic, type, number; /* number: QPN or CQN */
};

struct hx {
	struct hx_config config;
	struct sim *sim;
	struct nm_space *space;
	uint8_t *arena;
	uint64_t arena_used;
	struct hx_nic nic[SIM_MAX_NICS];
	struct nm_observer observer[SIM_MAX_NICS];
	struct hx_observer_ctx {
		struct hx *h;
		uint32_t nic;
	} observer_ctx[SIM_MAX_NICS];
	uint32_t diagnoses;
	char diagnosis[HX_DIAGNOSES][NM_WHY_MAX]; /* the last ones, round robin */
	uint32_t events;			  /* asynchronous */
	struct hx_event event[HX_EVENTS];
	char why[NM_WHY_MAX]; /* of the last command */
	uint8_t in[0x110 + 8 * 4096];
	uint8_t out[0x1010];
};

/* Aborts the test if it cannot be made. */
struct hx *hx_open(const struct hx_config *config);
void hx_close(struct hx *h);
/* A diagnosis that holds this text was made. */
bool hx_diagnosed(const struct hx *h, const char *text);
uint32_t hx_event_count(const struct hx *h, uint32_t type, uint32_t number);

/* Zeroed program memory, page aligned. */
void *hx_alloc(struct hx *h, uint64_t len);
/* Fills with a pattern of that seed; compares. */
void hx_fill(void *p, uint64_t len, uint32_t seed);
bool hx_is(const void *p, uint64_t len, uint32_t seed);

/* The mailbox h->in was filled: status of the command. */
uint8_t hx_command(struct hx *h, uint32_t nic, size_t in_len);
uint32_t hx_new(struct hx *h, uint32_t nic, uint16_t opcode); /* PD, UAR */
/* Key over [p, p+len); iova is the address. */
uint32_t hx_mkey(struct hx *h, uint32_t nic, uint32_t pd, void *p, uint64_t len, uint8_t rights);
/* The same with its pages in reverse order: no two are neighbours in memory. */
uint32_t hx_mkey_reversed(struct hx *h, uint32_t nic, uint32_t pd, void *p, uint64_t len,
			  uint8_t rights);
/* A key that lists of other keys can be bound to, free: a memory window, or what
 * mlx5dv_create_mkey() makes. Room for so many entries. */
uint32_t hx_free_key(struct hx *h, uint32_t nic, uint32_t pd, uint32_t octwords);
uint8_t hx_destroy(struct hx *h, uint32_t nic, uint16_t opcode, uint32_t number);

struct hx_cq {
	struct hx *h;
	uint32_t nic, cqn, size, ci;
	uint8_t *ring; /* 64-byte CQEs */
	uint32_t *dbr;
	bool collapsed, oi;
};
struct hx_cq *hx_cq(struct hx *h, uint32_t nic, uint8_t log_size);
struct hx_cq *hx_cq_flags(struct hx *h, uint32_t nic, uint8_t log_size, bool collapsed, bool oi);

struct hx_qp_attr {
	uint8_t st; /* enum prm_qp_st; 0: RC */
	uint32_t qkey;
	uint8_t log_sq, log_rq; /* WQEBBs, entries; 0: 6, 4 */
	uint8_t log_rq_stride;	/* bytes; 0: 6 */
	bool no_rq, no_dbr, block_lb_mc;
	uint8_t mtu;	 /* 1..5; 0: 3 (1024) */
	uint8_t timeout; /* 0: 14 */
	bool timeout_never;
	int8_t retry, rnr_retry;  /* 0: 7; -1: 0 */
	uint8_t min_rnr;	  /* 0: 1 (10 us) */
	uint8_t log_sra, log_rra; /* 0: 2; 0xff: 0 */
	uint8_t log_ack_freq;
	uint8_t log_msg_max; /* 0: 30 */
	uint32_t sq_psn, rq_psn;
	bool no_rwe, no_rre, no_rae;
	struct hx_cq *cq_snd, *cq_rcv; /* NULL: new ones */
	uint8_t log_cq;		       /* 0: 8 */
	uint32_t pd, uar;	       /* 0: the NIC's */
	uint32_t srqn;		       /* not 0: instead of a receive queue */
	uint32_t xrcd;		       /* not 0: an XRC target, without a send queue */
};

struct hx_qp {
	struct hx *h;
	uint32_t nic, qpn, uar;
	struct hx_qp_attr attr;
	uint8_t *sq, *rq;
	uint32_t sq_size, rq_size; /* WQEBBs, entries */
	uint32_t *dbr;
	uint16_t sq_pi, rq_pi;
	uint16_t last_idx; /* first WQEBB of the last WQE */
	uint32_t bf;	   /* doorbell offset in the page, alternates */
	struct hx_cq *scq, *rcq;
};
struct hx_qp *hx_qp(struct hx *h, uint32_t nic, const struct hx_qp_attr *attr); /* in RESET */
uint8_t hx_to_init(struct hx_qp *qp);
uint8_t hx_to_rtr(struct hx_qp *qp, const struct hx_qp *peer);
uint8_t hx_to_rts(struct hx_qp *qp);
uint8_t hx_modify(struct hx_qp *qp, uint16_t opcode); /* 2ERR, 2RST */
void hx_connect(struct hx_qp *a, struct hx_qp *b);    /* both to RTS; may be the same */
uint8_t hx_query_state(struct hx_qp *qp);
void hx_to_ready(struct hx_qp *qp); /* a QP without a peer to RTS */
/* ATTACH_TO_MCG or DETACH_FROM_MCG. */
uint8_t hx_mcg(struct hx_qp *qp, uint16_t opcode, const uint8_t gid[16]);

/* Address vector of a datagram. */
struct hx_av {
	uint32_t qkey, dqpn;
	uint16_t rlid; /* Ethernet: UDP source port */
	uint8_t sl, tclass, hop_limit, sgid_index;
	bool compact; /* the first 16 bytes alone */
	bool grh;
	uint8_t rmac[6], rgid[16];
};
/* The one that leads to `peer`, by GID on Ethernet and by LID alone on InfiniBand. */
struct hx_av hx_av(const struct hx_qp *peer);

struct hx_sge {
	const void *addr;
	uint32_t len;
	uint32_t lkey;
};
struct hx_wr {
	uint8_t opcode;
	uint8_t flags; /* fm_ce_se */
	uint32_t imm;
	const void *raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint32_t wait_index, wait_cqn;
	uint32_t srqn;			  /* XRC: the peer's */
	uint64_t swap_mask, compare_mask; /* masked atomics */
	uint8_t opmod;
	const struct hx_av *av; /* UD */
	uint8_t nsge;
	struct hx_sge sge[60];
	const void *inline_data; /* an inline segment instead of SGEs */
	uint32_t inline_len;
	uint8_t ds;	 /* 0: as it is */
	const void *raw; /* these octowords behind the control segment, before all else */
	uint8_t raw_ow;
};
/* Writes the WQE at sq_pi, wrapping as libmlx5 does; returns its index. */
uint16_t hx_post(struct hx_qp *qp, const struct hx_wr *wr);
void hx_ring(struct hx_qp *qp);	   /* record, then the last WQE's first index */
void hx_ring_pi(struct hx_qp *qp); /* the producer index at 0x600, no record */
void hx_register(struct hx *h, uint32_t nic, uint32_t uar, uint32_t offset, uint32_t hi,
		 uint32_t lo);
uint16_t hx_recv(struct hx_qp *qp, const struct hx_sge *sge, uint8_t nsge); /* with its record */

/* The CQE at ci if the NIC has written it; consumes it. */
bool hx_poll(struct hx_cq *cq, uint8_t cqe[64]);
/* Runs until one comes; false: max_ns of virtual time passed. */
bool hx_wait(struct hx_cq *cq, uint8_t cqe[64], uint64_t max_ns);
bool hx_quiet(struct hx *h); /* runs until nothing moves */
void hx_run(struct hx *h, uint64_t ns);
/* The NIC's next n packets with this BTH opcode are lost. */
void hx_drop(struct hx *h, uint32_t nic, uint8_t bth_opcode, uint32_t n);

/* Fields of a CQE. */
static inline uint8_t cqe_opcode(const uint8_t *cqe)
{
	return cqe[63] >> 4;
}
static inline uint16_t cqe_idx(const uint8_t *cqe)
{
	return (uint16_t)(cqe[60] << 8 | cqe[61]);
}
static inline uint8_t cqe_wqe_opcode(const uint8_t *cqe)
{
	return cqe[56];
}
static inline uint32_t cqe_qpn(const uint8_t *cqe)
{
	return prm_load32(cqe + 56) & 0xffffff;
}
static inline uint8_t cqe_syndrome(const uint8_t *cqe)
{
	return cqe[55];
}
static inline uint8_t cqe_vendor(const uint8_t *cqe)
{
	return cqe[54];
}
static inline uint32_t cqe_imm(const uint8_t *cqe)
{
	return prm_load32(cqe + 36);
}
static inline uint32_t cqe_bytes(const uint8_t *cqe)
{
	return prm_load32(cqe + 44);
}

/* The next CQE is good and of this WQE. */
void hx_expect(struct hx_cq *cq, uint8_t opcode, uint16_t idx, const char *file, int line);
void hx_expect_error(struct hx_cq *cq, uint8_t opcode, uint8_t syndrome, uint16_t idx,
		     const char *file, int line);
#define HX_OK(cq, idx)	     hx_expect((cq), PRM_CQE_REQ, (idx), __FILE__, __LINE__)
#define HX_RECV(cq, op, idx) hx_expect((cq), (op), (idx), __FILE__, __LINE__)
#define HX_ERR(cq, synd, idx)                                                                      \
	hx_expect_error((cq), PRM_CQE_REQ_ERR, (synd), (idx), __FILE__, __LINE__)
#define HX_RECV_ERR(cq, synd, idx)                                                                 \
	hx_expect_error((cq), PRM_CQE_RESP_ERR, (synd), (idx), __FILE__, __LINE__)

/* Two connected QPs on two NICs, and a buffer with a key of all rights on each side. */
struct hx_pair {
	struct hx_qp *a, *b;
	uint8_t *amem, *bmem;
	uint32_t akey, bkey;
	uint64_t len;
};
struct hx_pair hx_pair(struct hx *h, const struct hx_qp_attr *attr);
struct hx_pair hx_pair_of(struct hx *h, const struct hx_qp_attr *a, const struct hx_qp_attr *b,
			  uint64_t len);

typedef void (*hx_body)(struct hx *h);
/* HX_SEED in the environment is added to the seed; HX_VERBOSE shows packets and diagnoses. */
void hx_with(const struct hx_config *config, hx_body body);

#define HX_TEST(suite, name)                                                                       \
	static void suite##_##name(struct hx *h);                                                  \
	Test(suite, name##_mapped_reference)                                                       \
	{                                                                                          \
		hx_with(&(struct hx_config){.seed = 1}, suite##_##name);                           \
	}                                                                                          \
	Test(suite, name##_mapped_serialised)                                                      \
	{                                                                                          \
		hx_with(&(struct hx_config){.seed = 2, .serialise = true, .shuffle = true},        \
			suite##_##name);                                                           \
	}                                                                                          \
	Test(suite, name##_copied_reference)                                                       \
	{                                                                                          \
		hx_with(&(struct hx_config){.seed = 3, .copied = true}, suite##_##name);           \
	}                                                                                          \
	Test(suite, name##_copied_serialised)                                                      \
	{                                                                                          \
		hx_with(                                                                           \
			&(struct hx_config){                                                       \
				.seed = 4, .copied = true, .serialise = true, .shuffle = true},    \
			suite##_##name);                                                           \
	}                                                                                          \
	static void suite##_##name(struct hx *h)

#endif
