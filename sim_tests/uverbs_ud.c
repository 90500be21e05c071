// SPDX-License-Identifier: BSD-3-Clause
/* UC and UD by verbs: transitions and their attributes, address handles, multicast groups. */
#include <string.h>

#include "sim_tests/uverbs_rig.h"

static const uint8_t group[16] = {0xff, 0x12, 0xa0, 0x1b, [15] = 7};

struct made {
	struct ur_dev dev;
	uint32_t pd, cq, qp, qpn;
};

static void make(struct made *m, uint8_t type)
{
	uint32_t cqn;

	ur_open(&m->dev);
	m->pd = ur_pd(&m->dev);
	cr_assert_eq(ur_cq(&m->dev, 0, 1, -1, &m->cq, &cqn), 0);
	cr_assert_eq(ur_qp_of(&m->dev, type, m->pd, m->cq, 2, &m->qp, &m->qpn), 0);
}

static int modify(struct made *m, uint8_t to, uint32_t mask)
{
	struct ib_uverbs_modify_qp q = {.qp_handle = m->qp,
					.qp_state = to,
					.attr_mask = mask | UV_QP_STATE,
					.port_num = 1,
					.path_mtu = 3,
					.sq_psn = 0x45,
					.qkey = 0x123};

	q.dest.is_global = 1;
	q.dest.port_num = 1;
	memcpy(q.dest.dgid, uv_identity()->gid, 16);
	return ur_write(m->dev.fd, IB_USER_VERBS_CMD_MODIFY_QP, &q, sizeof(q), NULL, 0, NULL, 0);
}

/* IBTA table 94: what each step of each service needs, and what it does not know. */
static const struct {
	uint8_t type, to;
	uint32_t required, foreign;
} steps[] = {
	{IB_UVERBS_QPT_UC, UV_QPS_INIT, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS, UV_QP_QKEY},
	{IB_UVERBS_QPT_UC, UV_QPS_RTR, UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN,
	 UV_QP_MIN_RNR_TIMER},
	{IB_UVERBS_QPT_UC, UV_QPS_RTS, UV_QP_SQ_PSN, UV_QP_TIMEOUT},
	{IB_UVERBS_QPT_UD, UV_QPS_INIT, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_QKEY, UV_QP_ACCESS},
	{IB_UVERBS_QPT_UD, UV_QPS_RTR, 0, UV_QP_AV},
	{IB_UVERBS_QPT_UD, UV_QPS_RTS, UV_QP_SQ_PSN, UV_QP_RETRY_CNT},
};

Test(uverbs_ud, a_transition_takes_what_its_service_needs_and_nothing_else)
{
	struct made m;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (i % 3 == 0)
			make(&m, steps[i].type);
		for (uint32_t bit = 1; bit < UV_QP_RATE_LIMIT; bit <<= 1) {
			if (steps[i].required & bit)
				cr_expect_eq(modify(&m, steps[i].to, steps[i].required & ~bit),
					     -EINVAL, "step %zu without 0x%x", i, bit);
		}
		cr_expect_eq(modify(&m, steps[i].to, steps[i].required | steps[i].foreign), -EINVAL,
			     "step %zu with 0x%x", i, steps[i].foreign);
		cr_assert_eq(modify(&m, steps[i].to, steps[i].required), 0, "step %zu", i);
		if (i % 3 == 2)
			ur_close(&m.dev);
	}
}

Test(uverbs_ud, a_qkey_and_a_psn_come_back_from_a_query)
{
	struct ib_uverbs_query_qp in = {0};
	struct ib_uverbs_query_qp_resp r = {0};
	struct made m;

	make(&m, IB_UVERBS_QPT_UD);
	for (size_t i = 3; i < 6; i++)
		cr_assert_eq(modify(&m, steps[i].to, steps[i].required), 0);
	in.qp_handle = m.qp;
	cr_assert_eq(ur_write(m.dev.fd, IB_USER_VERBS_CMD_QUERY_QP, &in, sizeof(in), &r, sizeof(r),
			      NULL, 0),
		     0);
	cr_expect_eq(r.qkey, 0x123);
	cr_expect_eq(r.sq_psn, 0x45);
	cr_expect_eq(r.qp_state, UV_QPS_RTS);
	ur_close(&m.dev);
}

/* ---- address handles ---- */

static int create_ah(struct made *m, const struct ib_uverbs_ah_attr *attr, uint8_t mac[6])
{
	struct ib_uverbs_create_ah in = {.pd_handle = m->pd, .attr = *attr};
	struct mlx5_ib_create_ah_resp drv = {0};
	struct ib_uverbs_create_ah_resp out;
	struct ur_call c;
	uint32_t cmd = IB_USER_VERBS_CMD_CREATE_AH;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	ur_in(&c, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
	ur_out(&c, UVERBS_ATTR_CORE_OUT, &out, sizeof(out));
	ur_in(&c, UVERBS_ATTR_WRITE_CMD, &cmd, sizeof(cmd));
	ur_out(&c, UVERBS_ATTR_UHW_OUT, &drv, sizeof(drv));
	ret = ur_run(m->dev.fd, &c);
	memcpy(mac, drv.dmac, 6);
	return ret;
}

Test(uverbs_ud, an_address_handle_is_checked_and_tells_the_mac)
{
	static const uint8_t mac_v6[6] = {0x33, 0x33, 0, 0, 0, 7};
	static const uint8_t mac_v4[6] = {0x01, 0x00, 0x5e, 1, 2, 3};
	static const uint8_t group_v4[16] = {[10] = 0xff, [11] = 0xff, 239, 0x81, 2, 3};
	struct ib_uverbs_ah_attr attr = {.is_global = 1, .port_num = 1}, bad;
	uint8_t mac[6], own[6];
	struct made m;

	make(&m, IB_UVERBS_QPT_UD);
	memcpy(attr.grh.dgid, uv_identity()->gid, 16);
	cr_assert_eq(create_ah(&m, &attr, mac), 0);
	uv_gid_to_mac(uv_identity()->gid, own);
	cr_expect_arr_eq(mac, own, 6);
	memcpy(attr.grh.dgid, group, 16);
	cr_assert_eq(create_ah(&m, &attr, mac), 0);
	cr_expect_arr_eq(mac, mac_v6, 6);
	memcpy(attr.grh.dgid, group_v4, 16);
	cr_assert_eq(create_ah(&m, &attr, mac), 0);
	cr_expect_arr_eq(mac, mac_v4, 6);
	bad = attr;
	bad.port_num = 2;
	cr_expect_eq(create_ah(&m, &bad, mac), -EINVAL);
	bad = attr;
	bad.is_global = 0;
	cr_expect_eq(create_ah(&m, &bad, mac), -EINVAL);
	bad = attr;
	bad.grh.sgid_index = 99;
	cr_expect_eq(create_ah(&m, &bad, mac), -EINVAL);
	bad = attr;
	bad.sl = 16;
	cr_expect_eq(create_ah(&m, &bad, mac), 0, "the driver takes the low bits of it");
	bad.grh.sgid_index = 1;
	cr_expect_eq(create_ah(&m, &bad, mac), -ENODATA, "an entry without a GID");
	m.pd = m.qp;
	cr_expect_eq(create_ah(&m, &attr, mac), -EINVAL, "no protection domain");
	ur_close(&m.dev);
}

/* ---- groups ---- */

static int mcast(struct made *m, uint32_t cmd, const uint8_t gid[16])
{
	struct ib_uverbs_attach_mcast in = {.qp_handle = m->qp, .mlid = 0xc001};

	memcpy(in.gid, gid, 16);
	return ur_write(m->dev.fd, cmd, &in, sizeof(in), NULL, 0, NULL, 0);
}

static int destroy(struct made *m)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_QP_HANDLE, m->qp);
	ur_out(&c, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	return ur_run(m->dev.fd, &c);
}

Test(uverbs_ud, a_qp_in_a_group_is_EBUSY)
{
	struct made m;

	make(&m, IB_UVERBS_QPT_UD);
	cr_assert_eq(mcast(&m, IB_USER_VERBS_CMD_ATTACH_MCAST, group), 0);
	cr_expect_eq(mcast(&m, IB_USER_VERBS_CMD_ATTACH_MCAST, group), 0, "twice is once");
	cr_expect_eq(destroy(&m), -EBUSY);
	cr_assert_eq(mcast(&m, IB_USER_VERBS_CMD_DETACH_MCAST, group), 0);
	cr_expect_eq(mcast(&m, IB_USER_VERBS_CMD_DETACH_MCAST, group), -EINVAL, "it has left");
	cr_expect_eq(destroy(&m), 0);
	ur_close(&m.dev);
}

Test(uverbs_ud, only_datagram_qps_join_and_only_groups)
{
	struct made m;

	make(&m, IB_UVERBS_QPT_RC);
	cr_expect_eq(mcast(&m, IB_USER_VERBS_CMD_ATTACH_MCAST, group), -EINVAL);
	ur_close(&m.dev);
	make(&m, IB_UVERBS_QPT_UD);
	cr_expect_eq(mcast(&m, IB_USER_VERBS_CMD_ATTACH_MCAST, uv_identity()->gid), -EINVAL);
	m.qp = m.pd;
	cr_expect_eq(mcast(&m, IB_USER_VERBS_CMD_ATTACH_MCAST, group), -EINVAL);
	ur_close(&m.dev);
}

/* What was joined ends with its context. */
Test(uverbs_ud, a_context_that_ends_leaves_its_groups)
{
	struct made m;

	for (uint32_t i = 0; i < 3; i++) {
		make(&m, IB_UVERBS_QPT_UD);
		cr_assert_eq(mcast(&m, IB_USER_VERBS_CMD_ATTACH_MCAST, group), 0);
		ur_close(&m.dev);
	}
}
