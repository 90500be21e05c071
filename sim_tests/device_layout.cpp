/* SPDX-License-Identifier: BSD-3-Clause */
/* The ABI of the structures that host and kernels share; sim_tests/api pins their offsets. */
#include <criterion/criterion.h>

#include "common/doca_gpunetio_verbs_dev.h"

Test(device_layout, an_array_of_qps_has_upstreams_stride)
{
	struct doca_gpu_dev_verbs_qp qps[2] = {};

	cr_assert_eq(reinterpret_cast<char *>(&qps[1]) - reinterpret_cast<char *>(&qps[0]), 296);
}

Test(device_layout, a_reference_to_an_index_can_be_bound)
{
	struct doca_gpu_dev_verbs_qp qp = {};
	uint64_t &ready = qp.sq_ready_index;

	ready = 7;
	cr_assert_eq(qp.sq_ready_index, 7);
}

Test(device_layout, a_qp_image_of_upstreams_host_library_means_no_error_and_no_flags)
{
	/* upstream leaves its reserved bytes zero */
	struct doca_gpu_dev_verbs_cq cq = {};

	cr_assert_eq(cq.cqe_flags, 0);
	cr_assert_eq(cq.cqe_err_idx_inv, 0);
}
