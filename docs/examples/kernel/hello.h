/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include "gdakit_rt.h"

struct hello_args {
	uint32_t *sums; /* one a block */
};
struct hello_kernels {
	int (*launch)(gdakit_stream stream, const struct hello_args *args);
};
#ifdef __cplusplus
extern "C" {
#endif
GDAKIT_DECLARE_KERNELS(hello_kernels, hello);
#ifdef __cplusplus
}
#endif
