/* SPDX-License-Identifier: BSD-3-Clause */
/* What host and kernels of the bandwidth programs hand each other. C, C++ and CUDA. */
#ifndef HWT_BW_KERNELS_H
#define HWT_BW_KERNELS_H

#include <stdint.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "gdakit_rt.h"

/* What a kernel tells the host; memory of rt->host_alloc(). */
struct hwt_status {
	uint32_t failed; /* requests that completed in error */
	uint32_t thread; /* one of them */
	int32_t error;	 /* and what its poll returned */
	uint32_t reserved;
};

/*
 * Thread t sends message t of the buffers, again and again, until all threads together have sent
 * iters messages (a multiple of the number of threads). Warps take the QPs in turn.
 */
struct bw_args {
	struct doca_gpu_dev_verbs_qp *qps;
	uint32_t qp_count;
	uint32_t threads; /* a multiple of 32 */
	uint32_t size, iters;
	uint32_t post_list;			      /* write_bw: requests per doorbell */
	struct doca_gpu_dev_verbs_addr local, remote; /* of message 0 */
	struct hwt_status *status;
};

/* Each queues one kernel and returns 0 or the runtime's error. */
struct bw_kernels {
	int (*thread)(gdakit_stream stream, const struct bw_args *args);
	int (*warp)(gdakit_stream stream, const struct bw_args *args);
};

#endif
