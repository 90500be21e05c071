// SPDX-License-Identifier: BSD-3-Clause
/* The face's shared receive queues, XRC domains and what shares them. */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_tests/uverbs_rig.h"

enum {
	SRQ_RING = 16384,
	SRQ_DBR = SRQ_RING - 64,
	LIMIT = 2, /* enum ib_srq_attr_mask */
	MAX_WR = 1,
	EVENT_SRQ_LIMIT = 15,
	EVENT_LAST_WQE = 16,
};

struct srq {
	uint32_t handle, number, max_wr, max_sge;
};

static int create(struct ur_dev *dev, uint32_t pd, uint32_t type, uint32_t max_wr, uint32_t max_sge,
		  const uint32_t *xrcd, const uint32_t *cq, struct srq *srq)
{
	struct mlx5_ib_create_srq drv = {.buf_addr = (uintptr_t)dev->mem + SRQ_RING,
					 .db_addr = (uintptr_t)dev->mem + SRQ_DBR};
	struct mlx5_ib_create_srq_resp resp = {0};
	uint64_t user_handle = 0x51;
	uint32_t limit = 0;
	struct ur_call c;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	ur_handle(&c, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	ur_handle(&c, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd);
	if (xrcd)
		ur_handle(&c, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, *xrcd);
	if (cq)
		ur_handle(&c, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, *cq);
	ur_in(&c, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &user_handle, 8);
	ur_in(&c, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &max_wr, 4);
	ur_in(&c, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &max_sge, 4);
	ur_in(&c, UVERBS_ATTR_CREATE_SRQ_LIMIT, &limit, 4);
	ur_in(&c, UVERBS_ATTR_CREATE_SRQ_TYPE, &type, 4);
	ur_out(&c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr, 4);
	ur_out(&c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge, 4);
	ur_out(&c, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->number, 4);
	ur_in(&c, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv));
	ur_out(&c, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	ret = ur_run(dev->fd, &c);
	if (ret)
		return ret;
	cr_expect_eq(resp.srqn, srq->number);
	srq->handle = (uint32_t)ur_attr(&c, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data;
	return 0;
}

static int destroy(struct ur_dev *dev, uint32_t handle, uint32_t *events)
{
	struct ib_uverbs_destroy_srq_resp resp = {0};
	struct ur_call c;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_SRQ_HANDLE, handle);
	ur_out(&c, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
	ret = ur_run(dev->fd, &c);
	*events = resp.events_reported;
	return ret;
}

static int modify(struct ur_dev *dev, uint32_t handle, uint32_t mask, uint32_t value)
{
	struct ib_uverbs_modify_srq in = {
		.srq_handle = handle, .attr_mask = mask, .max_wr = value, .srq_limit = value};

	return ur_write(dev->fd, IB_USER_VERBS_CMD_MODIFY_SRQ, &in, sizeof(in), NULL, 0, NULL, 0);
}

static struct ib_uverbs_query_srq_resp query(struct ur_dev *dev, uint32_t handle)
{
	struct ib_uverbs_query_srq in = {.srq_handle = handle};
	struct ib_uverbs_query_srq_resp out = {0};

	cr_assert_eq(ur_write(dev->fd, IB_USER_VERBS_CMD_QUERY_SRQ, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     0);
	return out;
}

static uint32_t next_event(struct ur_dev *dev)
{
	struct pollfd p = {.fd = dev->async_fd, .events = POLLIN};
	struct ib_uverbs_async_event_desc desc = {0};

	cr_assert_eq(poll(&p, 1, 10000), 1, "an event was due");
	cr_assert_eq(read(dev->async_fd, &desc, sizeof(desc)), (ssize_t)sizeof(desc));
	cr_expect_eq(desc.element, 0x51);
	return desc.event_type;
}

Test(uverbs_srq, sizes_are_rounded_as_the_driver_does_and_asked_back)
{
	struct ib_uverbs_query_srq_resp q;
	struct ur_dev dev;
	struct srq srq;
	uint32_t events;

	ur_open(&dev);
	cr_assert_eq(create(&dev, ur_pd(&dev), IB_UVERBS_SRQT_BASIC, 100, 3, NULL, NULL, &srq), 0);
	cr_expect_eq(srq.max_wr, 127);
	cr_expect_eq(srq.max_sge, 3);
	cr_assert_eq(modify(&dev, srq.handle, LIMIT, 0), 0);
	q = query(&dev, srq.handle);
	cr_expect_eq(q.max_wr, 127);
	cr_expect_eq(q.max_sge, 3);
	cr_expect_eq(q.srq_limit, 0);
	cr_expect_eq(destroy(&dev, srq.handle, &events), 0);
	cr_expect_eq(events, 0);
	cr_expect_eq(destroy(&dev, srq.handle, &events), -ENOENT);
}

Test(uverbs_srq, what_it_cannot_be_is_refused)
{
	struct ur_dev dev;
	struct srq srq;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_expect_eq(create(&dev, pd, IB_UVERBS_SRQT_TM, 10, 1, NULL, NULL, &srq), -EOPNOTSUPP);
	cr_expect_eq(create(&dev, pd, 7, 10, 1, NULL, NULL, &srq), -EOPNOTSUPP);
	cr_expect_eq(create(&dev, pd, IB_UVERBS_SRQT_BASIC, 1 << 20, 1, NULL, NULL, &srq), -EINVAL);
	cr_expect_eq(create(&dev, pd, IB_UVERBS_SRQT_BASIC, 10, 32, NULL, NULL, &srq), -EINVAL);
	cr_expect_eq(create(&dev, pd, IB_UVERBS_SRQT_XRC, 10, 1, NULL, NULL, &srq), -EINVAL,
		     "XRC without a domain");
	cr_assert_eq(create(&dev, pd, IB_UVERBS_SRQT_BASIC, 10, 1, NULL, NULL, &srq), 0);
	cr_expect_eq(modify(&dev, srq.handle, MAX_WR, 100), -EINVAL, "no resize");
	cr_expect_eq(modify(&dev, srq.handle, LIMIT, 16), -EINVAL, "15 fit");
	cr_expect_eq(modify(&dev, srq.handle + 99, LIMIT, 1), -EINVAL);
	cr_expect_eq(ur_pd_destroy(&dev, pd), -EBUSY);
}

Test(uverbs_srq, a_limit_that_is_not_met_is_an_event_that_destroy_counts_if_it_was_read)
{
	struct ur_dev dev;
	struct srq srq;
	uint32_t events;

	ur_open(&dev);
	cr_assert_eq(create(&dev, ur_pd(&dev), IB_UVERBS_SRQT_BASIC, 10, 1, NULL, NULL, &srq), 0);
	cr_assert_eq(modify(&dev, srq.handle, LIMIT, 5), 0);
	cr_expect_eq(next_event(&dev), EVENT_SRQ_LIMIT);
	cr_assert_eq(modify(&dev, srq.handle, LIMIT, 5), 0);
	cr_expect_eq(destroy(&dev, srq.handle, &events), 0);
	cr_expect_eq(events, 1, "the second was not read");
}

/* ---- XRC ---- */

static int open_xrcd(struct ur_dev *dev, int fd, int oflags, uint32_t *handle)
{
	struct ib_uverbs_open_xrcd in = {.fd = (uint32_t)fd, .oflags = (uint32_t)oflags};
	struct ib_uverbs_open_xrcd_resp out = {0};
	int ret = ur_write(dev->fd, IB_USER_VERBS_CMD_OPEN_XRCD, &in, sizeof(in), &out, sizeof(out),
			   NULL, 0);

	*handle = out.xrcd_handle;
	return ret;
}

static int close_xrcd(struct ur_dev *dev, uint32_t handle)
{
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_XRCD_HANDLE, handle);
	return ur_run(dev->fd, &c);
}

static int target(struct ur_dev *dev, uint32_t xrcd, uint32_t *handle, uint32_t *qpn)
{
	struct mlx5_ib_create_qp drv = {.uidx = 0xffffff};
	struct mlx5_ib_create_qp_resp resp = {0};
	struct ib_uverbs_qp_cap cap = {0};
	uint32_t type = IB_UVERBS_QPT_XRC_TGT;
	uint64_t user_handle = 0x51;
	struct ur_call c;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	ur_handle(&c, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	ur_handle(&c, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, xrcd);
	ur_in(&c, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user_handle, 8);
	ur_in(&c, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	ur_in(&c, UVERBS_ATTR_CREATE_QP_TYPE, &type, 4);
	ur_out(&c, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	ur_out(&c, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn, 4);
	ur_in(&c, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv));
	ur_out(&c, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	ret = ur_run(dev->fd, &c);
	*handle = (uint32_t)ur_attr(&c, UVERBS_ATTR_CREATE_QP_HANDLE)->data;
	return ret;
}

static int open_qp(struct ur_dev *dev, uint32_t xrcd, uint32_t qpn, uint32_t *handle)
{
	struct ib_uverbs_open_qp in = {.user_handle = 0x51,
				       .pd_handle = xrcd,
				       .qpn = qpn,
				       .qp_type = IB_UVERBS_QPT_XRC_TGT};
	struct ib_uverbs_create_qp_resp out = {0};
	int ret = ur_write(dev->fd, IB_USER_VERBS_CMD_OPEN_QP, &in, sizeof(in), &out, sizeof(out),
			   NULL, 0);

	*handle = out.qp_handle;
	return ret;
}

static int destroy_qp(struct ur_dev *dev, uint32_t handle)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_QP_HANDLE, handle);
	ur_out(&c, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	return ur_run(dev->fd, &c);
}

static int to_state(struct ur_dev *dev, uint32_t handle, uint8_t state, uint32_t mask)
{
	struct ib_uverbs_modify_qp in = {.qp_handle = handle,
					 .attr_mask = mask | UV_QP_STATE,
					 .qp_state = state,
					 .port_num = 1};

	return ur_write(dev->fd, IB_USER_VERBS_CMD_MODIFY_QP, &in, sizeof(in), NULL, 0, NULL, 0);
}

static int temporary_file(void)
{
	char path[] = "/tmp/gdakit-xrcd-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	return fd;
}

Test(uverbs_srq, a_domain_is_shared_by_its_file_and_lives_until_all_have_closed_it)
{
	int fd = temporary_file(), other = temporary_file();
	uint32_t a, b, c, cq, cqn, pd, events;
	struct ur_dev one, two;
	struct srq srq;

	ur_open(&one);
	ur_open(&two);
	cr_expect_eq(open_xrcd(&one, fd, 0, &a), -EAGAIN, "no O_CREAT");
	cr_assert_eq(open_xrcd(&one, fd, O_CREAT, &a), 0);
	cr_expect_eq(open_xrcd(&two, fd, O_CREAT | O_EXCL, &b), -EINVAL);
	cr_assert_eq(open_xrcd(&two, fd, 0, &b), 0);
	cr_assert_eq(open_xrcd(&two, other, O_CREAT, &c), 0);
	cr_expect_eq(open_xrcd(&two, 9999, O_CREAT, &c), -EBADF);
	pd = ur_pd(&two);
	cr_assert_eq(ur_cq(&two, 0, 0, -1, &cq, &cqn), 0);
	cr_assert_eq(create(&two, pd, IB_UVERBS_SRQT_XRC, 10, 1, &b, &cq, &srq), 0);
	cr_expect_eq(close_xrcd(&two, b), -EBUSY);
	cr_expect_eq(close_xrcd(&one, a), 0);
	cr_expect_eq(open_xrcd(&one, fd, 0, &a), 0, "the other one keeps it");
	cr_expect_eq(close_xrcd(&one, a), 0);
	cr_expect_eq(destroy(&two, srq.handle, &events), 0);
	cr_expect_eq(close_xrcd(&two, b), 0);
	cr_expect_eq(open_xrcd(&one, fd, 0, &a), -EAGAIN, "it is gone");
	close(fd);
	close(other);
}

Test(uverbs_srq, a_target_has_handles_in_several_contexts_and_each_hears_of_it)
{
	uint32_t a, b, h1, h2, qpn;
	int fd = temporary_file();
	struct ur_dev one, two;

	ur_open(&one);
	ur_open(&two);
	cr_assert_eq(open_xrcd(&one, fd, O_CREAT, &a), 0);
	cr_assert_eq(open_xrcd(&two, fd, O_CREAT, &b), 0);
	cr_assert_eq(target(&one, a, &h1, &qpn), 0);
	cr_expect_eq(open_qp(&two, b, qpn + 1, &h2), -EINVAL);
	cr_assert_eq(open_qp(&two, b, qpn, &h2), 0);
	cr_expect_eq(close_xrcd(&two, b), -EBUSY);
	cr_expect_eq(to_state(&two, h2, UV_QPS_ERR, 0), -EINVAL, "not from RESET");
	cr_assert_eq(to_state(&two, h2, UV_QPS_INIT, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS),
		     0);
	cr_assert_eq(to_state(&two, h2, UV_QPS_ERR, 0), 0);
	cr_expect_eq(next_event(&one), EVENT_LAST_WQE);
	cr_expect_eq(next_event(&two), EVENT_LAST_WQE);
	cr_expect_eq(destroy_qp(&one, h1), 0);
	cr_expect_eq(to_state(&two, h2, UV_QPS_ERR, 0), 0, "it lives on");
	/* The context's end gives back the last handle, and with it QP and domain. */
	ur_close(&two);
	cr_expect_eq(open_qp(&one, a, qpn, &h1), -EINVAL);
	cr_expect_eq(close_xrcd(&one, a), 0);
	close(fd);
}
