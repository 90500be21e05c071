// SPDX-License-Identifier: BSD-3-Clause
/* Keys behind handles: windows, regions that are registered again, device memory. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "sim_tests/uverbs_rig.h"

/* ---- windows, device memory, rereg ---- */

static int alloc_mw(struct ur_dev *dev, uint32_t pd, uint8_t type,
		    struct ib_uverbs_alloc_mw_resp *resp)
{
	const struct ib_uverbs_alloc_mw in = {.pd_handle = pd, .mw_type = type};

	return ur_write(dev->fd, IB_USER_VERBS_CMD_ALLOC_MW, &in, sizeof(in), resp, sizeof(*resp),
			NULL, 0);
}

Test(uverbs_keys, a_window_is_a_free_key_of_its_pd)
{
	struct ib_uverbs_alloc_mw_resp mw = {0};
	struct ur_dev dev;
	struct ur_call c;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_expect_eq(alloc_mw(&dev, pd, 0, &mw), -EINVAL);
	cr_expect_eq(alloc_mw(&dev, pd, 3, &mw), -EINVAL);
	cr_expect_eq(alloc_mw(&dev, pd + 100, 1, &mw), -EINVAL);
	cr_assert_eq(alloc_mw(&dev, pd, 2, &mw), 0);
	cr_expect(mw.rkey != 0);
	cr_expect_eq(ur_pd_destroy(&dev, pd), -EBUSY);
	ur_begin(&c, UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_MW_HANDLE, mw.mw_handle);
	cr_expect_eq(ur_run(dev.fd, &c), 0);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0);
}

Test(uverbs_keys, a_region_keeps_its_keys_when_it_is_registered_again)
{
	struct ib_uverbs_rereg_mr in = {.flags = 4, .access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE};
	struct ib_uverbs_rereg_mr_resp out = {0};
	struct ib_uverbs_reg_mr_resp mr;
	struct ur_dev dev;
	uint32_t pd, other;

	ur_open(&dev);
	pd = ur_pd(&dev);
	other = ur_pd(&dev);
	cr_assert_eq(ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 4096, 0, &mr), 0);
	in.mr_handle = mr.mr_handle;
	cr_assert_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_REREG_MR, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     0);
	cr_expect_eq(out.lkey, mr.lkey);
	in.flags = 1 | 2;
	in.pd_handle = other;
	in.start = in.hca_va = (uintptr_t)dev.mem + 8192;
	in.length = 8192;
	cr_assert_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_REREG_MR, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     0);
	cr_expect_eq(out.rkey, mr.rkey);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0, "it is of the other PD by now");
	cr_expect_eq(ur_pd_destroy(&dev, other), -EBUSY);
	in.flags = 4;
	in.access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
	cr_expect_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_REREG_MR, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     -EINVAL);
	in.flags = 8;
	cr_expect_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_REREG_MR, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     -EINVAL);
}

static int dm_alloc(struct ur_dev *dev, uint64_t length, uint32_t align, uint32_t *handle,
		    uint16_t *page)
{
	struct ur_call c;
	uint64_t offset;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	ur_handle(&c, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	ur_in(&c, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length));
	ur_in(&c, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &align, sizeof(align));
	ur_out(&c, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &offset, sizeof(offset));
	ur_out(&c, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, page, sizeof(*page));
	ret = ur_run(dev->fd, &c);
	*handle = (uint32_t)ur_attr(&c, UVERBS_ATTR_ALLOC_DM_HANDLE)->data;
	return ret;
}

static int dm_free(struct ur_dev *dev, uint32_t handle)
{
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE);
	ur_handle(&c, UVERBS_ATTR_FREE_DM_HANDLE, handle);
	return ur_run(dev->fd, &c);
}

static int dm_reg(struct ur_dev *dev, uint32_t pd, uint32_t dm, uint64_t offset, uint64_t length,
		  uint32_t access, uint32_t *mr)
{
	struct ur_call c;
	uint32_t keys[2];
	int ret;

	ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	ur_handle(&c, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	ur_in(&c, UVERBS_ATTR_REG_DM_MR_OFFSET, &offset, sizeof(offset));
	ur_in(&c, UVERBS_ATTR_REG_DM_MR_LENGTH, &length, sizeof(length));
	ur_handle(&c, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd);
	ur_in(&c, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, &access, sizeof(access));
	ur_handle(&c, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm);
	ur_out(&c, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &keys[0], sizeof(keys[0]));
	ur_out(&c, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &keys[1], sizeof(keys[1]));
	ret = ur_run(dev->fd, &c);
	*mr = (uint32_t)ur_attr(&c, UVERBS_ATTR_REG_DM_MR_HANDLE)->data;
	return ret;
}

Test(uverbs_keys, device_memory_is_mapped_registered_and_given_back)
{
	const uint32_t zero_based = IB_UVERBS_ACCESS_ZERO_BASED, max = UV_MEMIC_PAGES / 2 * 4096;
	uint32_t pd, dm, other, mr;
	struct ur_dev dev;
	struct ur_call c;
	uint16_t page;
	uint8_t *mem;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_expect_eq(dm_alloc(&dev, 0, 0, &dm, &page), -EINVAL);
	cr_expect_eq(dm_alloc(&dev, max + 1, 0, &dm, &page), -EINVAL);
	cr_expect_eq(dm_alloc(&dev, 64, 7, &dm, &page), -EINVAL);
	cr_assert_eq(dm_alloc(&dev, 5000, 0, &dm, &page), 0);
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, dev.fd,
		   (off_t)(MLX5_IB_MMAP_DEVICE_MEM << 8 | page) * 4096);
	cr_assert_neq(mem, MAP_FAILED);
	cr_expect_eq(mem[0], 0);
	memset(mem, 0x55, 8192);
	cr_expect_eq(dm_reg(&dev, pd, dm, 0, 5000, 0, &mr), -EINVAL, "not zero-based");
	cr_expect_eq(dm_reg(&dev, pd, dm, 1, 5000, zero_based, &mr), -EINVAL);
	cr_expect_eq(dm_reg(&dev, pd, dm, UINT64_MAX, 2, zero_based, &mr), -EINVAL);
	cr_expect_eq(dm_reg(&dev, pd, dm, 0, 8, zero_based | IB_UVERBS_ACCESS_REMOTE_WRITE, &mr),
		     -EINVAL, "remote write without local write");
	cr_assert_eq(dm_reg(&dev, pd, dm, 100, 4900, zero_based, &mr), 0);
	cr_expect_eq(dm_free(&dev, dm), -EBUSY);
	ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_MR_HANDLE, mr);
	cr_expect_eq(ur_run(dev.fd, &c), 0);
	cr_expect_eq(dm_free(&dev, dm), 0);
	cr_assert_eq(dm_alloc(&dev, max, 0, &dm, &page), 0);
	cr_expect_eq(mem[0], 0, "what is given out again is empty");
	cr_assert_eq(dm_alloc(&dev, max, 0, &other, &page), 0);
	cr_expect_eq(dm_alloc(&dev, 64, 0, &other, &page), -ENOMEM, "all is given out");
	ur_close(&dev);
	ur_open(&dev);
	cr_expect_eq(dm_alloc(&dev, max, 0, &dm, &page), 0, "a context's end frees its own");
}

Test(uverbs_keys, what_needs_paging_or_a_gpu_is_refused_as_a_kernel_would)
{
	uint64_t zero = 0, length = 4096;
	uint32_t flags = 0, key, fd;
	struct ib_uverbs_sge sge = {0};
	struct ur_dev dev;
	struct ur_call c;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	ur_handle(&c, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd);
	ur_in(&c, UVERBS_ATTR_ADVISE_MR_ADVICE, &flags, sizeof(flags));
	ur_in(&c, UVERBS_ATTR_ADVISE_MR_FLAGS, &flags, sizeof(flags));
	ur_in(&c, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge));
	cr_expect_eq(ur_run(dev.fd, &c), -EOPNOTSUPP);
	for (int open = 0; open < 2; open++) {
		fd = open ? (uint32_t)dev.fd : 1000;
		ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
		ur_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
		ur_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd);
		ur_in(&c, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &zero, sizeof(zero));
		ur_in(&c, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &length, sizeof(length));
		ur_in(&c, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &zero, sizeof(zero));
		ur_in(&c, UVERBS_ATTR_REG_DMABUF_MR_FD, &fd, sizeof(fd));
		ur_in(&c, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &flags, sizeof(flags));
		ur_out(&c, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &key, sizeof(key));
		ur_out(&c, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &key, sizeof(key));
		cr_expect_eq(ur_run(dev.fd, &c), open ? -EOPNOTSUPP : -EBADF);
	}
}

#ifdef __x86_64__
static volatile uint8_t *map_op(struct ur_dev *dev, uint32_t dm, uint8_t op, int *ret)
{
	struct ur_call c;
	uint64_t offset = 0;
	uint16_t page = 0;

	ur_begin(&c, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR);
	ur_handle(&c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, dm);
	ur_in(&c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op));
	ur_out(&c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, &offset, sizeof(offset));
	ur_out(&c, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, &page, sizeof(page));
	*ret = ur_run(dev->fd, &c);
	return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
		    (off_t)(MLX5_IB_MMAP_DEVICE_MEM << 8 | (page & 0xff) | (page >> 8) << 16) *
			    4096);
}

enum { ROUNDS = 20 };

static void *increment_often(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		*(volatile uint8_t *)arg = 1;
	return NULL;
}

Test(uverbs_keys, stores_and_loads_act_on_device_memory_where_it_is_mapped_for_that)
{
	volatile uint8_t *mem, *more[2], *set;
	pthread_t thread[2];
	struct ur_dev dev;
	uint16_t page;
	uint32_t dm;
	int ret;

	ur_open(&dev);
	cr_assert_eq(dm_alloc(&dev, 8192, 0, &dm, &page), 0);
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, dev.fd,
		   (off_t)(MLX5_IB_MMAP_DEVICE_MEM << 8 | page) * 4096);
	map_op(&dev, dm, 2, &ret);
	cr_expect_eq(ret, -EOPNOTSUPP, "there are two operations");
	more[0] = map_op(&dev, dm, 0, &ret);
	cr_assert_eq(ret, 0);
	more[1] = map_op(&dev, dm, 0, &ret);
	set = map_op(&dev, dm, 1, &ret);
	cr_assert_eq(ret, 0);
	mem[5000] = 40;
	more[0][5000] = 2;
	cr_expect_eq(mem[5000], 42);
	cr_expect_eq(mem[5001], 0);
	cr_expect_eq(set[5000], 42);
	cr_expect_eq(mem[5000], 1);
	cr_expect_eq(more[0][5000], 1, "a load from where stores count");
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, increment_often,
					    (void *)(uintptr_t)&more[i][7]),
			     0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	cr_expect_eq(mem[7], 2 * ROUNDS);
}
#endif
