/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device tests share: addresses in the toy NIC's keys, and running a kernel beside it. */
#ifndef DEVICE_RUN_H
#define DEVICE_RUN_H

#include <criterion/criterion.h>

#include "device_toy_nic.h"

static inline struct doca_gpu_dev_verbs_addr at_remote(const void *p)
{
	return doca_gpu_dev_verbs_addr{(uint64_t)p, htobe32(toy_nic::rkey)};
}

static inline struct doca_gpu_dev_verbs_addr at_local(const void *p)
{
	return doca_gpu_dev_verbs_addr{(uint64_t)p, htobe32(toy_nic::lkey)};
}

/* Run `kernel(args)` to its end; NICs are polled by the scheduler where the test attached them. */
template <typename... P, typename... A>
static void run_kernel(dim3 grid, dim3 block, uint64_t seed, void (*kernel)(P...), A... args)
{
	simt_launch_config cfg = {};

	cfg.grid = grid;
	cfg.block = block;
	cfg.seed = seed;
	cfg.watchdog_ms = 20000;
	cr_assert_eq(simt_stream_create(&cfg.stream), SIMT_SUCCESS);
	cr_assert_eq(simt_launch_kernel(cfg, kernel, args...), SIMT_SUCCESS);
	cr_assert_eq(simt_stream_synchronize(cfg.stream), SIMT_SUCCESS);
	simt_stream_destroy(cfg.stream);
}

static inline void expect_no_fault(const toy_nic &nic)
{
	cr_assert_eq(nic.faults.load(), 0, "%s", nic.first_fault.c_str());
}

#endif /* DEVICE_RUN_H */
