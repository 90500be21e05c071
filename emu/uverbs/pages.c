// SPDX-License-Identifier: BSD-3-Clause
/*
 * Pages of the command file that are no doorbells. Their offsets are the uAPI's (rdma/mlx5-abi.h,
 * enum mlx5_ib_mmap_cmd: the command in bits 15:8 of the page number), or told by the call that
 * gives them out.
 *
 *   CORE_CLOCK  the device's free-running clock, two big-endian words, high word first. The NIC's
 *               thread writes it each time it looks for work.
 *   CLOCK_INFO  how to make wall-clock time of it, struct mlx5_ib_clock_info; as a driver's time
 *               counter it starts right and is not disciplined afterwards
 *   VARs        doorbell pages for virtio queues, which the model does not have: memory
 */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "emu/uverbs/face.h"

enum {
	PAGE = 4096,
	MMAP_CMD_SHIFT = 8, /* of a page number */
	CLOCK_PAGE = MLX5_IB_MMAP_CORE_CLOCK << MMAP_CMD_SHIFT,
	CLOCK_INFO_PAGE = MLX5_IB_MMAP_CLOCK_INFO << MMAP_CMD_SHIFT | MLX5_IB_CLOCK_INFO_V1,
	VAR_FIRST_PAGE = 16 << MMAP_CMD_SHIFT, /* past every command */
	VARS = 64,			       /* bits of uv_ctx.vars */
	VAR_FIRST_ID = 0x10000,		       /* page numbers of the device that no UAR has */
};

static_assert(VAR_FIRST_PAGE + VARS <= UV_MEMFD_BYTES / PAGE, "the file holds every page");

/* ---- clocks ---- */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The model's clock counts nanoseconds (device_frequency_khz), so a cycle is one. */
static void fill_clock_info(struct mlx5_ib_clock_info *info)
{
	info->cycles = now_ns(CLOCK_MONOTONIC);
	info->nsec = now_ns(CLOCK_REALTIME);
	info->mult = 1;
	info->mask = UINT64_MAX;
	info->overflow_period = (uint64_t)INT64_MAX; /* half of the mask */
}

static void *map(int memfd, size_t page)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, (off_t)page * PAGE);

	return p == MAP_FAILED ? NULL : p;
}

void uv_pages_start(struct uv_ctx *ctx, int memfd)
{
	struct mlx5_ib_clock_info *info = map(memfd, CLOCK_INFO_PAGE);
	uint64_t *clock = map(memfd, CLOCK_PAGE);

	if (info)
		fill_clock_info(info);
	if (info && clock && uv_clock_add(clock))
		ctx->clock_page = clock;
	else if (clock)
		munmap(clock, PAGE);
	if (info)
		munmap(info, PAGE);
}

void uv_pages_stop(struct uv_ctx *ctx)
{
	if (!ctx->clock_page)
		return;
	uv_clock_remove(ctx->clock_page);
	munmap(ctx->clock_page, PAGE);
	ctx->clock_page = NULL;
}

/* ---- VAR ---- */

int uv_var_alloc(struct uv_req *req)
{
	const uint32_t length = PAGE;
	struct uv_ctx *ctx = req->ctx;
	unsigned int slot = 0;
	uint64_t offset;
	struct uv_obj *var;
	int ret;

	while (slot < VARS && ctx->vars & UINT64_C(1) << slot)
		slot++;
	if (slot == VARS)
		return uv_refuse(ENOSPC, "VAR_OBJ_ALLOC: this context has all of its %u", VARS);
	var = uv_obj_new(ctx, UV_VAR, sizeof(*var), NULL, 0);
	if (!var)
		return -ENOMEM;
	ctx->vars |= UINT64_C(1) << slot;
	var->num = VAR_FIRST_ID + slot;
	offset = (uint64_t)(VAR_FIRST_PAGE + slot) * PAGE;
	ret = uv_out(req, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	if (!ret)
		ret = uv_out(req, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	if (!ret)
		ret = uv_out(req, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &var->num, sizeof(var->num));
	if (!ret)
		ret = uv_set_handle(req, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, var->handle);
	if (ret)
		uv_obj_destroy(ctx, var);
	return ret;
}

int uv_var_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	ctx->vars &= ~(UINT64_C(1) << (obj->num - VAR_FIRST_ID));
	return 0;
}
