/* SPDX-License-Identifier: BSD-3-Clause */
/* parity: what its host and its kernel agree on. */
#ifndef GDAKIT_PARITY_H
#define GDAKIT_PARITY_H

#include <stdint.h>

#include "gdakit_rt.h"

/* One call of the device API each. */
enum parity_op {
	PARITY_PUT,
	PARITY_PUT_EMPTY,
	PARITY_P4,
	PARITY_P8,
	PARITY_SIGNAL,
	PARITY_PUT_SIGNAL,
	PARITY_P_SIGNAL,
	PARITY_GET,
	PARITY_GET_WAIT,
	PARITY_WRITE,	   /* built and submitted by hand */
	PARITY_WRITE_LAST, /* the same on a collapsed CQ */
	PARITY_PUT_COUNTER,
	PARITY_P_COUNTER,
	PARITY_SIGNAL_COUNTER,
	PARITY_GET_COUNTER,
	PARITY_OPS
};

enum { PARITY_BYTES = 4096, PARITY_MESSAGE = 100 };
/* Places in the memory of each side. */
enum {
	PARITY_AT_DATA = 64,
	PARITY_AT_SIGNAL = 2048,
	PARITY_AT_COUNTER = 2056,
	PARITY_AT_OLD = 3072
};

struct doca_gpu_dev_verbs_qp;

struct parity_args {
	struct doca_gpu_dev_verbs_qp *qp, *companion;
	enum parity_op op;
	uint64_t remote, local;
	uint32_t rkey_be, lkey_be;
	uint64_t wqe_idx; /* of PARITY_WRITE_LAST: how many were posted before */
};

struct parity_kernels {
	int (*launch)(gdakit_stream stream, const struct parity_args *args);
};

#ifdef __cplusplus
extern "C" {
#endif
GDAKIT_DECLARE_KERNELS(parity_kernels, parity);
#ifdef __cplusplus
}
#endif

#endif
