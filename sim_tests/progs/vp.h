/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the verbs programs of this folder share: device, RC queue pairs, completions, patterns.
 * Plain libibverbs and nothing of gdakit, so the programs run on a ConnectX as well.
 *
 * Functions print the reason of a failure to stderr. One thread.
 */
#ifndef SIM_TESTS_PROGS_VP_H
#define SIM_TESTS_PROGS_VP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VP_WAIT_MS 20000 /* how long a completion may take before the test gives up */

struct vp_dev {
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/* A CQ, polled or slept on. chan is NULL when polled. */
struct vp_cq {
	struct ibv_cq *cq;
	struct ibv_comp_channel *chan;
	uint64_t events; /* taken from the channel */
};

/* What the two ends of a connection tell each other; goes over the wire as it is. */
struct vp_dest {
	uint32_t qpn, psn, lid, mtu;
	uint8_t gid[16];
};

/* Zero values: timeout 14 (67 ms), retry 7, rnr_retry 7, min_rnr_timer 1, all remote rights, port's
 * MTU. */
struct vp_qp_opts {
	uint32_t send_wr, recv_wr, sges, inline_len; /* at least 1, 1, 1, 0 are asked for */
	bool strict; /* take the next four as they are, also when 0 */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	int access;   /* IBV_ACCESS_REMOTE_*; -1: none */
	uint32_t psn; /* first PSN of our send queue */
	uint32_t mtu; /* enum ibv_mtu, 0: the port's active MTU */
};

/* Opens the device of that exact name (NULL: the first), port 1. 0 or -1. */
int vp_open(struct vp_dev *dev, const char *name, int gid_index);
void vp_close(struct vp_dev *dev);

/* event: with a completion channel, armed. 0 or -1. */
int vp_cq_open(struct vp_dev *dev, struct vp_cq *cq, int depth, bool event);
void vp_cq_close(struct vp_cq *cq);
/* Next completion of cq: 1, or 0 when none came within timeout_ms, or -1. */
int vp_next(struct vp_cq *cq, struct ibv_wc *wc, int timeout_ms);

/* A QP in INIT. cap (may be NULL) receives what was granted. */
struct ibv_qp *vp_qp_open(struct ibv_pd *pd, struct vp_cq *send_cq, struct vp_cq *recv_cq,
			  const struct vp_qp_opts *opts, struct ibv_qp_cap *cap);
void vp_qp_dest(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		struct vp_dest *out);
/* INIT to RTR, towards dest. 0 or -1. */
int vp_qp_ready(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		const struct vp_dest *dest);
/* INIT to RTS, towards dest. 0 or -1. */
int vp_qp_connect(struct vp_dev *dev, struct ibv_qp *qp, const struct vp_qp_opts *opts,
		  const struct vp_dest *dest);
/* State as the NIC tells it (enum ibv_qp_state), or -1. */
int vp_qp_state(struct ibv_qp *qp);

/* Byte at position i of the pattern of seed. Neighbours, seeds and page-shifted copies differ. */
static inline uint8_t vp_pattern(uint32_t seed, size_t i)
{
	return (uint8_t)((i * 167) ^ (i >> 8) * 31 ^ (i >> 16) * 59 ^ seed * 97);
}

void vp_fill(uint8_t *buf, size_t len, uint32_t seed);
/* Position of the first byte that is not the pattern's, or -1. */
ssize_t vp_wrong(const uint8_t *buf, size_t len, uint32_t seed);
/* Position of the first byte that is not value, or -1. */
ssize_t vp_not(const uint8_t *buf, size_t len, uint8_t value);

int64_t vp_now_us(void);

#endif
