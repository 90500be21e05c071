/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host hands the kernel. C, C++ and CUDA. */
#include <stdint.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "gdakit_rt.h"

struct first_put_args {
	struct doca_gpu_dev_verbs_qp *qp; /* the queue pair, as kernels see it */
	struct doca_gpu_dev_verbs_addr local, remote;
	uint32_t bytes;
	int *result; /* 0, or -EIO */
};

struct first_put_kernels {
	int (*launch)(gdakit_stream stream, const struct first_put_args *args);
};
#ifdef __cplusplus
extern "C" {
#endif
GDAKIT_DECLARE_KERNELS(first_put_kernels, first_put);
#ifdef __cplusplus
}
#endif
