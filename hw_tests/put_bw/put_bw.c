// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bandwidth of doca_gpu_dev_verbs_put(): put_bw [options] on one side, put_bw [options] HOST on the
 * other. The client's kernel puts, the server checks every byte. --help lists the options.
 */
#include "hw_tests/common/hwt.h"

GDAKIT_DECLARE_KERNELS(bw_kernels, put_bw);

int main(int argc, char **argv)
{
	struct hwt_options opt;

	hwt_parse(&opt, HWT_PUT_BW, argc, argv,
		  "Bandwidth of a kernel's put; the server checks every byte.");
	return hwt_bw_main(&opt, "put", &put_bw_cpu, &put_bw_cuda);
}
