// SPDX-License-Identifier: BSD-3-Clause
/* The face's completion queues beyond creation, and the pages of the command file. */
#include <endian.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim_tests/uverbs_rig.h"

enum { PAGE = 4096, CQES = 64, NEW_RING = 32768, CLOCK_TRIES = 2000 };

static int resize(struct ur_dev *dev, uint32_t cq, uint32_t cqe, uint32_t cqe_size, uint32_t *got)
{
	struct ib_uverbs_resize_cq in = {.cq_handle = cq, .cqe = cqe};
	struct ib_uverbs_resize_cq_resp out = {0};
	struct mlx5_ib_resize_cq drv = {.buf_addr = (uintptr_t)dev->mem + NEW_RING,
					.cqe_size = (uint16_t)cqe_size};
	int ret = ur_write(dev->fd, IB_USER_VERBS_CMD_RESIZE_CQ, &in, sizeof(in), &out, sizeof(out),
			   &drv, sizeof(drv));

	*got = out.cqe;
	return ret;
}

Test(uverbs_cq, resizing_ends_the_old_ring_and_tells_the_new_size)
{
	uint32_t cq, cqn, cqe;
	struct ur_dev dev;

	ur_open(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 0, -1, &cq, &cqn), 0);
	cr_assert_eq(resize(&dev, cq, 100, 64, &cqe), 0);
	cr_expect_eq(cqe, 127);
	cr_expect_eq(dev.mem[63] >> 4, PRM_CQE_RESIZE_CQ, "the first entry of the old ring");
	cr_expect_eq(resize(&dev, cq, 127, 64, &cqe), 0, "to what it is");
	cr_expect_eq(resize(&dev, cq, 0, 64, &cqe), -EINVAL);
	cr_expect_eq(resize(&dev, cq, 1u << 30, 64, &cqe), -EINVAL);
	cr_expect_eq(resize(&dev, cq, 10, 128, &cqe), -EINVAL, "entries keep their size");
	cr_expect_eq(resize(&dev, cq + 100, 10, 64, &cqe), -EINVAL, "no such queue");
}

Test(uverbs_cq, a_command_file_has_a_clock_that_goes_and_a_way_to_make_time_of_it)
{
	const struct mlx5_ib_clock_info *info;
	const volatile uint64_t *clock;
	uint64_t before, after = 0;
	struct ur_dev dev;

	ur_open(&dev);
	clock = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev.fd,
		     (off_t)(MLX5_IB_MMAP_CORE_CLOCK << 8) * PAGE);
	info = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev.fd,
		    (off_t)(MLX5_IB_MMAP_CLOCK_INFO << 8) * PAGE);
	cr_assert_neq((const void *)clock, MAP_FAILED);
	cr_assert_neq((const void *)info, MAP_FAILED);
	before = be64toh(*clock);
	cr_expect_neq(before, 0, "from the start");
	for (int n = 0; n < CLOCK_TRIES && after <= before; n++) {
		usleep(1000);
		after = be64toh(*clock);
	}
	cr_expect_gt(after, before);
	cr_expect_leq((after - info->cycles) * info->mult >> info->shift,
		      (uint64_t)CLOCK_TRIES * 1000000000, "both count the same cycles");
	cr_expect_leq(info->nsec / 1000000000, (uint64_t)time(NULL) + 1, "wall-clock time");
	cr_expect_geq(info->nsec / 1000000000 + 100, (uint64_t)time(NULL));
	ur_close(&dev);
	before = be64toh(*clock);
	usleep(5000);
	cr_expect_eq(be64toh(*clock), before, "nobody writes to it after the end");
}

Test(uverbs_cq, a_var_is_a_page_of_its_own_and_comes_back)
{
	uint64_t offset = 0, first = 0;
	uint32_t length, id, handle;
	struct ur_dev dev;
	struct ur_call c;
	uint8_t *p;

	ur_open(&dev);
	for (int n = 0; n < 200; n++) {
		ur_begin(&c, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC);
		ur_handle(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0);
		ur_out(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, 8);
		ur_out(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &length, 4);
		ur_out(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &id, 4);
		cr_assert_eq(ur_run(dev.fd, &c), 0, "turn %d", n);
		handle = (uint32_t)ur_attr(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE)->data;
		p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, dev.fd, (off_t)offset);
		cr_assert_neq((void *)p, MAP_FAILED);
		p[length - 1] = 1;
		munmap(p, length);
		cr_expect(n == 0 || offset == first);
		first = offset;
		ur_begin(&c, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY);
		ur_handle(&c, MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, handle);
		cr_assert_eq(ur_run(dev.fd, &c), 0);
	}
}
