/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole lives of the library's objects, from creation to destruction, for programs that let one
 * call below the library fail at a time: engine_failures.c (rdma-core, CUDA and the allocator
 * played) and engine_failures_prog.c (real rdma-core). A scenario knows nothing of failures. Each
 * call of the library is told to the program, which may ask for a second try; that must succeed.
 */
#ifndef GDAKIT_ENGINE_SCENARIOS_H
#define GDAKIT_ENGINE_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>

#include "host/doca_gpunetio_high_level.h"
#include "host/doca_verbs.h"

enum { SCENARIO_DEPTH = 16 };

struct scenario_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	const char *gpu_name; /* for doca_gpu_create() */
	/* The port's own address, to which QPs are connected. */
	enum doca_verbs_addr_type addr_type;
	struct doca_verbs_gid gid;
	uint32_t dlid;
	bool has_no_dbr; /* queues without doorbell record */
	bool maps_gpu_memory;
	bool has_dmabuf;
};

/* What a scenario makes. Zero is the default. */
struct scenario_variant {
	enum doca_gpu_dev_verbs_nic_handler handler;
	enum doca_gpu_verbs_send_dbr_mode_ext ext;
	enum doca_gpu_verbs_mem_reg_type reg_type;
	bool collapsed;
};

struct scenario {
	const char *name;
	void (*run)(const struct scenario_device *d, const struct scenario_variant *v);
	bool has_variants; /* else the default is all there is */
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* Runs a scenario in all its variants that the device can do: once(ctx, scenario, variant). */
void scenario_each_variant(const struct scenario *s, const struct scenario_device *d,
			   void (*once)(void *ctx, const struct scenario *s,
					const struct scenario_variant *v),
			   void *ctx);

/*
 * The program's: before and after a call, with its text; after says whether to call again. What
 * does not hold is the program's to report.
 */
void scenario_before(const char *call);
bool scenario_after(const char *call, doca_error_t status);
void scenario_expect(bool holds, const char *what);

#endif
