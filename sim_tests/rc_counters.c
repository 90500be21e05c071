/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: of the port, of each QP, of the counter set that a QP names. */
#include "sim_tests/harness.h"

#include <stdio.h>

#include "emu/nicmodel/roce.h"

static const struct nm_counters *of_qp(struct hx *h, const struct hx_qp *qp)
{
	struct nm_qp_info info;

	cr_assert_eq(nm_nic_qps(h->nic[qp->nic].nic, qp->qpn, &info, 1), 1);
	cr_assert_eq(info.qpn, qp->qpn);
	return info.counters;
}

static const struct nm_counters *of_port(struct hx *h, uint32_t nic)
{
	return nm_nic_counters(h->nic[nic].nic);
}

static uint16_t post(struct hx_pair *p, uint8_t opcode, uint32_t len)
{
	uint16_t idx = hx_post(p->a, &(struct hx_wr){.opcode = opcode,
						     .flags = HX_SIGNALED,
						     .raddr = p->bmem,
						     .rkey = p->bkey,
						     .nsge = 1,
						     .sge = {{p->amem, len, p->akey}}});

	hx_ring(p->a);
	return idx;
}

#define SAME(counters, field, want)                                                                \
	cr_expect_eq((counters)->field, (want), #field " is %llu",                                 \
		     (unsigned long long)(counters)->field)

HX_TEST(rc_counters, a_qp_counts_its_own_and_the_port_all)
{
	struct hx_pair p = hx_pair(h, NULL), other = hx_pair(h, NULL);

	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 3000));
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_READ, 2000));
	HX_OK(other.a->scq, post(&other, PRM_WQE_RDMA_WRITE, 8));
	cr_assert(hx_quiet(h));
	SAME(of_qp(h, p.a), tx_messages, 2);
	SAME(of_qp(h, p.a), tx_packets, 3 + 1);
	SAME(of_qp(h, p.a), rx_packets, of_qp(h, p.b)->tx_packets);
	SAME(of_qp(h, p.a), cqes_ok, 2);
	SAME(of_qp(h, p.a), tx_retransmits, 0);
	SAME(of_qp(h, p.b), rx_messages, 2);
	SAME(of_qp(h, p.b), rx_write_requests, 1);
	SAME(of_qp(h, p.b), rx_read_requests, 1);
	SAME(of_qp(h, p.b), rx_bytes,
	     3000 + 3 * ROCE_BTH_LEN + ROCE_RETH_LEN + ROCE_BTH_LEN + ROCE_RETH_LEN);
	SAME(of_qp(h, other.a), tx_messages, 1);
	SAME(of_port(h, 0), tx_messages, 3);
	SAME(of_port(h, 0), tx_packets, 3 + 1 + 1);
	SAME(of_port(h, 1), rx_write_requests, 2);
}

HX_TEST(rc_counters, a_lost_packet_shows_at_both_ends)
{
	struct hx_pair p = hx_pair(h, NULL);

	hx_drop(h, 0, ROCE_WRITE_MIDDLE, 1);
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 3000));
	cr_assert(hx_quiet(h));
	SAME(of_qp(h, p.b), out_of_sequence, 1);
	SAME(of_qp(h, p.a), packet_seq_err, 1);
	cr_expect_geq(of_qp(h, p.a)->tx_retransmits, 1);
	SAME(of_qp(h, p.a), local_ack_timeout_err, 0);
}

HX_TEST(rc_counters, a_receiver_that_is_not_ready_shows_at_both_ends)
{
	struct hx_pair p = hx_pair(h, &(struct hx_qp_attr){.rnr_retry = 1});

	post(&p, PRM_WQE_SEND, 8);
	HX_ERR(p.a->scq, PRM_SYND_RNR_RETRY_EXC, 0);
	SAME(of_qp(h, p.b), out_of_buffer, 2);
	SAME(of_qp(h, p.a), rnr_naks, 2);
	SAME(of_qp(h, p.a), rnr_nak_retry_err, 1);
	SAME(of_qp(h, p.a), cqes_rnr_retry_exc, 1);
	SAME(of_qp(h, p.a), cqes_ok, 0);
	SAME(of_qp(h, p.a), req_cqe_error, 1);
}

/* ---- counter sets ---- */

static uint32_t new_set(struct hx *h)
{
	memset(h->in, 0, 0x10);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_ALLOC_Q_COUNTER);
	cr_assert_eq(hx_command(h, 0, 0x10), PRM_STATUS_OK, "%s", h->why);
	return PRM_GET(alloc_q_counter_out, h->out, counter_set_id);
}

static void name_set(struct hx_qp *qp, uint32_t set)
{
	struct hx *h = qp->h;
	uint8_t *qpc = PRM_PTR(modify_qp_in, h->in, qpc);

	memset(h->in, 0, PRM_SIZE(modify_qp_in));
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_RTS2RTS_QP);
	PRM_SET(modify_qp_in, h->in, qpn, qp->qpn);
	PRM_SET(modify_qp_in, h->in, opt_param_mask, PRM_OPTPAR_COUNTER_SET);
	PRM_SET(qpc, qpc, counter_set_id, set);
	cr_assert_eq(hx_command(h, qp->nic, PRM_SIZE(modify_qp_in)), PRM_STATUS_OK, "%s", h->why);
}

static uint32_t rnr_errors(struct hx *h, uint32_t set)
{
	memset(h->in, 0, 0x20);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_QUERY_Q_COUNTER);
	PRM_SET(query_q_counter_in, h->in, counter_set_id, set);
	cr_assert_eq(hx_command(h, 0, 0x20), PRM_STATUS_OK, "%s", h->why);
	return PRM_GET(query_q_counter_out, h->out, rnr_nak_retry_err);
}

HX_TEST(rc_counters, a_set_counts_for_the_qps_that_name_it)
{
	const struct hx_qp_attr attr = {.rnr_retry = -1};
	struct hx_pair in = hx_pair(h, &attr), out = hx_pair(h, &attr);
	uint32_t set = new_set(h), unused = new_set(h);

	name_set(in.a, set);
	post(&in, PRM_WQE_SEND, 8);
	HX_ERR(in.a->scq, PRM_SYND_RNR_RETRY_EXC, 0);
	cr_expect_eq(rnr_errors(h, set), 1);
	cr_expect_eq(rnr_errors(h, unused), 0);
	cr_expect_eq(rnr_errors(h, 0), 0);
	post(&out, PRM_WQE_SEND, 8);
	HX_ERR(out.a->scq, PRM_SYND_RNR_RETRY_EXC, 0);
	cr_expect_eq(rnr_errors(h, set), 1);
	cr_expect_eq(rnr_errors(h, 0), 1, "those that name none");
}

HX_TEST(rc_counters, a_qp_outlives_its_set)
{
	struct hx_pair p = hx_pair(h, NULL);
	uint32_t set = new_set(h);

	name_set(p.a, set);
	memset(h->in, 0, 0x10);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_DEALLOC_Q_COUNTER);
	PRM_SET(obj_in, h->in, number, set);
	cr_assert_eq(hx_command(h, 0, 0x10), PRM_STATUS_OK, "%s", h->why);
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 8));
	SAME(of_qp(h, p.a), tx_messages, 1);
}

HX_TEST(rc_counters, qps_are_listed_by_number)
{
	struct nm_qp_info infos[8];
	struct hx_pair p = hx_pair(h, NULL), other = hx_pair(h, NULL);
	uint32_t n = nm_nic_qps(h->nic[0].nic, 0, infos, 8);

	cr_assert_eq(n, 2);
	cr_expect_eq(infos[0].qpn, p.a->qpn);
	cr_expect_eq(infos[0].remote_qpn, p.b->qpn);
	cr_expect_eq(infos[0].state, PRM_QP_RTS);
	cr_expect_eq(infos[1].qpn, other.a->qpn);
	cr_expect_eq(nm_nic_qps(h->nic[0].nic, infos[0].qpn + 1, infos, 8), 1);
	cr_expect_eq(nm_nic_qps(h->nic[0].nic, 0xffffff, infos, 8), 0);
	cr_expect_eq(nm_nic_qps(h->nic[0].nic, 0, infos, 1), 1);
}
