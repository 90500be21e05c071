/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen and changed from outside the engine: counters, and each point with each verdict that
 * it honours. */
#include "sim_tests/harness.h"

static struct hx_wr write_wr(const struct hx_pair *p)
{
	return (struct hx_wr){
		.opcode = PRM_WQE_RDMA_WRITE,
		.flags = HX_SIGNALED,
		.raddr = p->bmem,
		.rkey = p->bkey,
		.nsge = 1,
		.sge = {{p->amem, 3000, p->akey}},
	};
}

static uint32_t q_counter(struct hx *h, uint32_t set, uint32_t off)
{
	memset(h->in, 0, 0x20);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_QUERY_Q_COUNTER);
	PRM_SET(query_q_counter_in, h->in, counter_set_id, set);
	cr_assert_eq(hx_command(h, 0, 0x20), PRM_STATUS_OK, "%s", h->why);
	return prm_load32(h->out + off);
}

HX_TEST(rc_observer, an_error_cqe_counts_once)
{
	struct hx_pair p = hx_pair(h, NULL);
	const struct nm_counters *a = nm_nic_counters(h->nic[0].nic);
	const struct nm_counters *b = nm_nic_counters(h->nic[1].nic);
	struct hx_wr wr = write_wr(&p);
	uint32_t set;

	memset(h->in, 0, 0x10);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_ALLOC_Q_COUNTER);
	cr_assert_eq(hx_command(h, 0, 0x10), PRM_STATUS_OK, "%s", h->why);
	set = PRM_GET(alloc_q_counter_out, h->out, counter_set_id);
	wr.rkey ^= 1;
	hx_post(p.a, &wr);
	hx_post(p.a, &wr);
	hx_post(p.a, &wr);
	hx_recv(p.b, &(struct hx_sge){p.bmem, 64, p.bkey}, 1);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 0);
	HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, 1);
	HX_ERR(p.a->scq, PRM_SYND_WR_FLUSH, 2);
	HX_RECV_ERR(p.b->rcq, PRM_SYND_WR_FLUSH, 0);
	cr_expect_eq(a->req_cqe_error, 3, "%llu", (unsigned long long)a->req_cqe_error);
	cr_expect_eq(a->req_cqe_flush_error, 2, "%llu", (unsigned long long)a->req_cqe_flush_error);
	cr_expect_eq(a->resp_cqe_error, 0);
	cr_expect_eq(a->cqes, 3);
	cr_expect_eq(b->resp_cqe_error, 1, "%llu", (unsigned long long)b->resp_cqe_error);
	cr_expect_eq(b->resp_cqe_flush_error, 1);
	cr_expect_eq(q_counter(h, set, PRM_query_q_counter_out_req_cqe_error_OFF), 3);
	cr_expect_eq(q_counter(h, set, PRM_query_q_counter_out_req_cqe_flush_error_OFF), 2);
}
