/* SPDX-License-Identifier: BSD-3-Clause */
/* What host and kernels of onesided hand each other. C, C++ and CUDA. */
#ifndef ONESIDED_KERNELS_H
#define ONESIDED_KERNELS_H

#include <stdint.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "gdakit_rt.h"

enum os_op {
	OS_PUT,		  /* put, poll the ticket */
	OS_PUT_WAIT,	  /* put without ticket, wait() for everything */
	OS_PUT_EXCLUSIVE, /* put by one thread that owns the QP */
	OS_PUT_CTA,	  /* put by the threads of one block */
	OS_PUT_LATE_RING, /* three puts that do not ring, then one that does */
	OS_P8,		  /* p of 1, 2, 4 and 8 bytes */
	OS_P16,
	OS_P32,
	OS_P64,
	OS_PUT_SIGNAL,
	OS_P_SIGNAL,
	OS_SIGNAL,
	OS_GET,
	OS_GET_BLOCKING,
	OS_WRITE_BF,	  /* WRITEs by hand, through the BlueFlame register, by one thread */
	OS_WRITE_BF_WARP, /* and by a warp together, a message a lane */
	OS_OPS
};

/* What a kernel found. Memory of rt->host_alloc(). */
struct os_result {
	uint32_t failed; /* calls whose completion was an error */
	int32_t error;	 /* what the poll gave */
};

/* Thread t works on message t (size bytes each) and on word t of the signals' return buffer. */
struct os_args {
	struct doca_gpu_dev_verbs_qp *qp;
	uint32_t threads, rounds;
	uint64_t size;
	uint64_t value; /* for p: what to write (plus t); for signals: what to add */
	struct doca_gpu_dev_verbs_addr local, remote;
	struct doca_gpu_dev_verbs_addr signal_local, signal_remote;
	struct os_result *result;
};

struct os_kernels {
	int (*launch)(enum os_op op, gdakit_stream stream, const struct os_args *args);
};

#endif
