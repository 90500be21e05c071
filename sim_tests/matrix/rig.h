/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC for a kernel on the executor: the model and its simulated fabric, and device handles over
 * its queues. The handles are made by hand and not by the host library, so that a queue can begin
 * at any index: its objects are put where they would be after so many WQEs.
 *
 *	nic 0: main ----> peer on nic 1		second ----> peer on nic 1
 *	       companion, connected to itself
 *
 * Everything runs on the caller's thread; mx_rig_poll() is what drives it (simt_attach). False
 * assumptions end the process (harness_abort.h).
 */
#ifndef MATRIX_RIG_H
#define MATRIX_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/doca_gpunetio_verbs_dev.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the NIC is told of new WQEs. */
enum mx_doorbell {
	MX_DB,	     /* record and register */
	MX_BF,	     /* the same, the register takes whole WQEs as well */
	MX_PROXY,    /* a host word, and the CPU rings */
	MX_NO_DBR,   /* register alone, the NIC needs no record */
	MX_EMULATED, /* register alone, and the CPU follows with record and register */
	MX_DOORBELLS
};

struct mx_rig_config {
	uint8_t log_depth; /* of the queues and their CQs: 1 to 15 */
	enum mx_doorbell doorbell;
	bool has_companion, has_second;
	bool collapsed; /* the main queue's CQ */
	uint64_t start; /* index of the first WQE of every queue */
	uint64_t rsvd;	/* CQEs that the CQ had before: its own position is start + rsvd */
	uint32_t seed; /* also chooses memory (mapped or copied) and wire (by reference or bytes) */
	uint64_t bytes; /* of `local` and of `remote` */
};

struct hx_qp;
struct mx_queue {
	struct doca_gpu_dev_verbs_qp dev;
	struct hx_qp *hx; /* NULL: not asked for */
	uint64_t proxy_word, proxy_last;
};

struct hx;
struct mx_rig {
	struct mx_rig_config config;
	struct hx *h;
	struct mx_queue main, companion, second;
	uint8_t *local, *remote; /* of nic 0 and of nic 1, page aligned, zero */
	uint32_t local_key;	 /* big endian; also as rkey of the companion */
	uint32_t remote_key;	 /* big endian */
	uint32_t rng;
	const char *fault; /* NULL, or what the proxy found wrong */
};

struct mx_rig *mx_rig_open(const struct mx_rig_config *config);
void mx_rig_close(struct mx_rig *rig);
/* A slice of work; how much was done. `rig`: a struct mx_rig. */
int mx_rig_poll(void *rig);
/* Runs until nothing moves; false: it does not come to rest. */
bool mx_rig_quiet(struct mx_rig *rig);
/* CQEs that the NIC has written for a queue since the start. */
uint32_t mx_rig_cqes(const struct mx_rig *rig, const struct mx_queue *queue);
/* What the NIC complained of last; NULL: nothing. */
const char *mx_rig_diagnosis(const struct mx_rig *rig);

#ifdef __cplusplus
}
#endif

#endif
