/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host hands the kernels. C, C++ and CUDA. */
#include <stdbool.h>
#include <stdint.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "gdakit_rt.h"

struct player {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_addr remote; /* the other's flag */
	uint64_t *flag;			       /* one's own, written by the NIC */
	uint64_t rounds;
	bool serves;
	uint64_t *error; /* of both players: not 0 when one of them has failed */
};

struct pingpong_kernels {
	int (*play)(gdakit_stream stream, const struct player *p);
};
#ifdef __cplusplus
extern "C" {
#endif
GDAKIT_DECLARE_KERNELS(pingpong_kernels, pingpong);
#ifdef __cplusplus
}
#endif
