/* SPDX-License-Identifier: BSD-3-Clause */
/* The attribute objects and the table behind them. */
#include <criterion/criterion.h>

#include "attr.h"
#include "host/doca_verbs.h"

#define ROUND_TRIP(object, prefix, value, in)                                                      \
	do {                                                                                       \
		cr_assert_eq(doca_verbs_##object##_set_##value(attr, in), DOCA_SUCCESS);           \
		cr_assert_eq(doca_verbs_##prefix##_get_##value(attr), in, #value);                 \
	} while (0)

static void *const P1 = (void *)0x1111222233334440;
static void *const P2 = (void *)0x2222333344445550;

Test(engine_attr, qp_init_values_come_back_unmixed)
{
	struct doca_verbs_qp_init_attr *attr;

	cr_assert_eq(doca_verbs_qp_init_attr_create(&attr), DOCA_SUCCESS);
	ROUND_TRIP(qp_init_attr, qp_init_attr, pd, (struct ibv_pd *)P1);
	ROUND_TRIP(qp_init_attr, qp_init_attr, send_cq, (struct doca_verbs_cq *)P2);
	ROUND_TRIP(qp_init_attr, qp_init_attr, receive_cq, (struct doca_verbs_cq *)P1);
	ROUND_TRIP(qp_init_attr, qp_init_attr, srq, (struct doca_verbs_srq *)P2);
	ROUND_TRIP(qp_init_attr, qp_init_attr, sq_sig_all, -7);
	ROUND_TRIP(qp_init_attr, qp_init_attr, sq_wr, 0xfffffff1u);
	ROUND_TRIP(qp_init_attr, qp_init_attr, rq_wr, 2u);
	ROUND_TRIP(qp_init_attr, qp_init_attr, send_max_sges, 3u);
	ROUND_TRIP(qp_init_attr, qp_init_attr, receive_max_sges, 4u);
	ROUND_TRIP(qp_init_attr, qp_init_attr, max_inline_data, 5u);
	ROUND_TRIP(qp_init_attr, qp_init_attr, user_index, 0xffffffu);
	ROUND_TRIP(qp_init_attr, qp_init_attr, qp_type, 0u);
	ROUND_TRIP(qp_init_attr, qp_init_attr, qp_context, P1);
	ROUND_TRIP(qp_init_attr, qp_init_attr, core_direct_master, 1);
	ROUND_TRIP(qp_init_attr, qp_init_attr, send_dbr_mode,
		   DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	ROUND_TRIP(qp_init_attr, qp_init_attr, emulate_no_dbr_ext, true);
	/* Neighbours of what was written last are untouched. */
	cr_assert_eq(doca_verbs_qp_init_attr_get_sq_wr(attr), 0xfffffff1u);
	cr_assert_eq(doca_verbs_qp_init_attr_get_core_direct_master(attr), 1);
	cr_assert_eq(doca_verbs_qp_init_attr_destroy(attr), DOCA_SUCCESS);
}

Test(engine_attr, qp_and_ah_values_come_back_unmixed)
{
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_gid gid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, back;

	cr_assert_eq(doca_verbs_qp_attr_create(&attr), DOCA_SUCCESS);
	ROUND_TRIP(qp_attr, qp_attr, next_state, DOCA_VERBS_QP_STATE_RTR);
	ROUND_TRIP(qp_attr, qp_attr, current_state, DOCA_VERBS_QP_STATE_INIT);
	ROUND_TRIP(qp_attr, qp_attr, path_mtu, DOCA_VERBS_MTU_SIZE_2K_BYTES);
	ROUND_TRIP(qp_attr, qp_attr, rq_psn, 0x123456u);
	ROUND_TRIP(qp_attr, qp_attr, sq_psn, 0x654321u);
	ROUND_TRIP(qp_attr, qp_attr, dest_qp_num, 0xabcdefu);
	ROUND_TRIP(qp_attr, qp_attr, allow_remote_write, 1);
	ROUND_TRIP(qp_attr, qp_attr, allow_remote_read, 0);
	ROUND_TRIP(qp_attr, qp_attr, allow_remote_atomic, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	ROUND_TRIP(qp_attr, qp_attr, ah_attr, (struct doca_verbs_ah_attr *)P1);
	ROUND_TRIP(qp_attr, qp_attr, pkey_index, 0xfff1);
	ROUND_TRIP(qp_attr, qp_attr, port_num, 2);
	ROUND_TRIP(qp_attr, qp_attr, ack_timeout, 14);
	ROUND_TRIP(qp_attr, qp_attr, retry_cnt, 7);
	ROUND_TRIP(qp_attr, qp_attr, rnr_retry, 6);
	ROUND_TRIP(qp_attr, qp_attr, min_rnr_timer, 12);
	cr_assert_eq(doca_verbs_qp_attr_destroy(attr), DOCA_SUCCESS);

	{
		struct doca_verbs_ah_attr *attr;

		cr_assert_eq(doca_verbs_ah_attr_create(P1, &attr), DOCA_SUCCESS);
		cr_assert_eq(doca_verbs_ah_attr_set_gid(attr, gid), DOCA_SUCCESS);
		ROUND_TRIP(ah_attr, ah, addr_type, DOCA_VERBS_ADDR_TYPE_IB_GRH);
		ROUND_TRIP(ah_attr, ah, dlid, 0xfffeu);
		ROUND_TRIP(ah_attr, ah, sl, 3);
		ROUND_TRIP(ah_attr, ah, sgid_index, 4);
		ROUND_TRIP(ah_attr, ah, static_rate, 5);
		ROUND_TRIP(ah_attr, ah, hop_limit, 255);
		ROUND_TRIP(ah_attr, ah, traffic_class, 0x60);
		back = doca_verbs_ah_get_gid(attr);
		cr_assert_arr_eq(back.raw, gid.raw, 16);
		cr_assert_eq(doca_verbs_ah_attr_destroy(attr), DOCA_SUCCESS);
	}
}

Test(engine_attr, null_objects_are_answered)
{
	cr_assert_eq(doca_verbs_qp_init_attr_create(NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_init_attr_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_init_attr_set_sq_wr(NULL, 1), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_init_attr_get_sq_wr(NULL), 0);
	cr_assert_null(doca_verbs_qp_init_attr_get_pd(NULL));
	cr_assert_eq(doca_verbs_qp_init_attr_get_sq_sig_all(NULL), -1);
	cr_assert_eq(doca_verbs_qp_attr_get_allow_remote_write(NULL), -1);
	cr_assert_eq(doca_verbs_qp_attr_get_allow_remote_read(NULL), -1);
	cr_assert_eq(doca_verbs_qp_attr_get_next_state(NULL), DOCA_VERBS_QP_STATE_RST);
	cr_assert_eq(doca_verbs_device_attr_get_max_qp(NULL), 0);
	cr_assert_eq(doca_verbs_ah_attr_create(NULL, NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_cq_attr_set_cq_size(NULL, 4), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_device_attr_get_is_qp_type_supported(NULL, 0),
		     DOCA_ERROR_INVALID_VALUE);
}

Test(engine_attr, values_outside_a_row_are_refused)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_srq_init_attr *srq;
	struct doca_verbs_cq_attr *cq;
	struct doca_verbs_qp_attr *qp;

	cr_assert_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_srq_init_attr_create(&srq), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_cq_attr_create(&cq), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_qp_attr_create(&qp), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_qp_init_attr_set_user_index(init, 0x1000000),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_init_attr_set_core_direct_master(init, 2),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_init_attr_set_pd(init, NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_init_attr_set_external_umem(init, NULL, 0),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_srq_init_attr_set_srq_wr(srq, 0), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_cq_attr_set_cq_collapsed(cq, 2), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_cq_attr_set_external_uar(cq, NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_attr_set_max_rd_atomic(qp, 0), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_attr_set_max_rd_atomic(qp, 12), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_qp_attr_set_max_rd_atomic(qp, 16), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_qp_attr_set_max_dest_rd_atomic(qp, 3), DOCA_ERROR_INVALID_VALUE);
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_srq_init_attr_destroy(srq);
	doca_verbs_cq_attr_destroy(cq);
	doca_verbs_qp_attr_destroy(qp);
}
