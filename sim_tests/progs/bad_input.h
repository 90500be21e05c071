/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bad_input: what the two files of the program share. bad_input.c owns the rig and the driver,
 * bad_input_cases.c the table of scenarios.
 */
#ifndef SIM_TESTS_PROGS_BAD_INPUT_H
#define SIM_TESTS_PROGS_BAD_INPUT_H

#include "sim_tests/progs/vp.h"

#define BI_BYTES 65536u /* of each buffer */
#define BI_LEN	 4096u	/* of an ordinary message */

/* Two QPs of this process connected to each other: a asks, b answers. */
struct bi_pair {
	struct ibv_qp *a, *b;
	struct vp_cq a_cq, b_cq;
};

struct bi_rig {
	struct vp_dev dev;
	struct ibv_pd *pd, *other_pd;
	uint8_t *src, *dst;
	struct ibv_mr *src_mr, *dst_mr; /* all rights */
	struct bi_pair victim, witness;
	const char *peer; /* host of a server to be killed, or NULL */
	int port;
};

/*
 * A scenario is one work request, correct but for what spoil() changes, followed by a correct one.
 * The first must complete with want (or, where hardware's answer is not settled, with alt), the
 * second be flushed.
 */
struct bi_case {
	const char *name;
	const char *reason; /* extended regular expression of the sentence that --verbose prints */
	void (*spoil)(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge);
	enum ibv_wc_status want, alt;
	bool b_fails;		   /* the responder ends in ERR too */
	enum ibv_event_type event; /* that b reports; IBV_EVENT_CQ_ERR (0): none required */
	struct vp_qp_opts a_opts, b_opts;
	int (*run)(struct bi_rig *rig); /* replaces all of the above: 0 as expected, else -1 */
	enum ibv_wc_status
		recv_want; /* of the receive posted at b, IBV_WC_SUCCESS (0): none posted */
	uint32_t recv_len; /* of that receive */
	bool recv_bad_key;
};

extern const struct bi_case bi_cases[];
extern const size_t bi_case_count;

/* Says on stdout why the running scenario fails, and gives -1. */
int bi_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int bi_pair_open(struct bi_rig *rig, struct bi_pair *pair, const struct vp_qp_opts *a_opts,
		 const struct vp_qp_opts *b_opts);
void bi_pair_close(struct bi_pair *pair);

/* A WRITE of BI_LEN bytes from src to dst, signaled. */
void bi_write_wr(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge);
/* Awaits one completion of that status (or the alternative). 0 or -1. */
int bi_expect(struct vp_cq *cq, enum ibv_wc_status want, enum ibv_wc_status alt, const char *whose);
int bi_expect_state(struct ibv_qp *qp, enum ibv_qp_state want, const char *whose);

/* Gives back the memory key that the last scenario made for itself. */
void bi_drop_key(void);

/* The half that a scenario kills: serves one client and dies by SIGKILL when told. */
int bi_serve(struct bi_rig *rig);

#endif
