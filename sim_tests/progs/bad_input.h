/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bad_input: what the files of the program share. bad_input.c owns the rig and the driver;
 * bad_input_status.c says what of every status and event is provoked, and where; the others have
 * the scenarios by subject.
 */
#ifndef SIM_TESTS_PROGS_BAD_INPUT_H
#define SIM_TESTS_PROGS_BAD_INPUT_H

#include "sim_tests/progs/vp.h"

#define BI_BYTES 65536u /* of each buffer */
#define BI_LEN	 4096u	/* of an ordinary message */

enum {
	BI_WR_BAD = 0xbad0,   /* wr_id of the request that is spoiled */
	BI_WR_AFTER = 0xaf7e, /* of the one behind it */
	BI_WR_RECV = 0x7ecf,  /* of a receive */
};

#define BI_STATUS(name) (UINT32_C(1) << IBV_WC_##name)
#define BI_EVENT(name)	(UINT32_C(1) << IBV_EVENT_##name)

/* Two QPs of this process connected to each other: a asks, b answers. */
struct bi_pair {
	struct ibv_qp *a, *b;
	struct vp_cq a_cq, b_cq;
	struct ibv_srq *srq; /* b's, or NULL */
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah; /* UD: from a to b */
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
 * second be flushed. Each completion has its request's wr_id, its QP's number and, where public
 * reports of a ConnectX name one, the vendor syndrome.
 */
struct bi_case {
	const char *name;
	const char *reason; /* extended regular expression of the sentence that --verbose prints */
	void (*spoil)(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge);
	enum ibv_wc_status want, alt;
	bool b_fails; /* the responder ends in ERR too */
	/* That the QPs, CQs and SRQs of the scenario report, BI_EVENT(): these and no others. */
	uint32_t events;
	struct vp_qp_opts a_opts, b_opts;
	int (*run)(struct bi_rig *rig); /* replaces all of the above: 0 as expected, else -1 */
	uint32_t statuses;		/* BI_STATUS(), that run() must have met */
	enum ibv_wc_status
		recv_want; /* of the receive posted at b, IBV_WC_SUCCESS (0): none posted */
	uint32_t recv_len; /* of that receive */
	bool recv_bad_key;
};

/* A subject's scenarios. */
struct bi_subject {
	const struct bi_case *cases;
	size_t count;
};
extern const struct bi_subject bi_wr, bi_peers, bi_services, bi_shared, bi_keys, bi_limits;
extern const struct bi_subject bi_status; /* last: that nothing is left out */
extern const struct bi_subject *const bi_subjects[];
extern const size_t bi_subject_count;

/* Says on stdout why the running scenario fails, and gives -1. */
int bi_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int bi_pair_open(struct bi_rig *rig, struct bi_pair *pair, const struct vp_qp_opts *a_opts,
		 const struct vp_qp_opts *b_opts);
void bi_pair_close(struct bi_pair *pair);
/* bi_services.c: of another service, or with a shared receive queue of 8 WQEs at b. */
int bi_pair_of(struct bi_rig *rig, struct bi_pair *pair, enum ibv_qp_type type, bool shared);

/* A WRITE of BI_LEN bytes from src to dst, signaled. */
void bi_write_wr(struct bi_rig *rig, struct ibv_send_wr *wr, struct ibv_sge *sge);
/* Posts it at the victim's a. 0 or -1. */
int bi_post(struct bi_rig *rig, struct ibv_send_wr *wr);
/* A receive of len bytes of dst with wr_id BI_WR_RECV, at qp or, if not NULL, srq. 0 or -1. */
int bi_post_recv(struct bi_rig *rig, struct ibv_qp *qp, struct ibv_srq *srq, uint32_t len);

/* Awaits one completion of that status (or the alternative) and its vendor syndrome. 0 or -1. */
int bi_expect(struct vp_cq *cq, enum ibv_wc_status want, enum ibv_wc_status alt, const char *whose);
/* The same, of that request and QP. */
int bi_expect_wr(struct vp_cq *cq, const struct ibv_qp *qp, uint64_t wr_id, enum ibv_wc_status want,
		 enum ibv_wc_status alt, const char *whose);
int bi_expect_none(struct vp_cq *cq, const char *whose); /* as of now */
int bi_expect_state(struct ibv_qp *qp, enum ibv_qp_state want, const char *whose);
/* Of both ends of the victim. */
int bi_expect_states(struct bi_rig *rig, enum ibv_qp_state a, enum ibv_qp_state b);
/* Awaits that event about that object (a QP, CQ or SRQ; NULL: any). 0 or -1. */
int bi_expect_event(enum ibv_event_type want, const void *about);

/* bad_input_status.c: is this vendor syndrome one that is known for the status, or is none? */
bool bi_vendor_fits(enum ibv_wc_status status, uint32_t vendor, const char **known);

/* Gives back the memory key that the last scenario made for itself. */
void bi_drop_key(void);

/* The half that a scenario kills: serves one client and dies by SIGKILL when told. */
int bi_serve(struct bi_rig *rig);

#define BI_ALL_RIGHTS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)
#define BI_RUN(name_, reason_, statuses_, events_)                                                 \
	{                                                                                          \
		.name = #name_, .reason = (reason_), .run = name_, .statuses = (statuses_),        \
		.events = (events_)                                                                \
	}
#define BI_SUBJECT(cases_)                                                                         \
	{                                                                                          \
		(cases_), sizeof(cases_) / sizeof((cases_)[0])                                     \
	}

#endif
