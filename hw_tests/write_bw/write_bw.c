// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bandwidth of WQEs that a kernel writes itself: write_bw [options] on one side, write_bw [options]
 * HOST on the other. The server checks every byte. --help lists the options.
 */
#include "hw_tests/common/hwt.h"

GDAKIT_DECLARE_KERNELS(bw_kernels, write_bw);

int main(int argc, char **argv)
{
	struct hwt_options opt;

	hwt_parse(&opt, HWT_WRITE_BW, argc, argv,
		  "Bandwidth of WQEs written by a kernel; the server checks every byte.");
	return hwt_bw_main(&opt, "write", &write_bw_cpu, &write_bw_cuda);
}
