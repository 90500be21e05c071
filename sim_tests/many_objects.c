// SPDX-License-Identifier: BSD-3-Clause
/*
 * Many pages, queues and keys: who is looked at, who is left alone, and what each of them keeps.
 * What is counted here is what makes the time that many of everything take; the times are
 * bench_scale's.
 */
#include "sim_tests/harness.h"

#include <malloc.h>

#include "emu/nicmodel/rc.h"

enum { PAGES = 40, QPS = 100, MS = 1000000 };

static struct nm_qp *model_qp(struct hx *h, const struct hx_qp *qp)
{
	return (struct nm_qp *)nm_obj_get(h->nic[qp->nic].nic, NM_OBJ_QP, qp->qpn);
}

static struct nm_uar *model_uar(struct hx *h, uint32_t page)
{
	return (struct nm_uar *)nm_obj_get(h->nic[0].nic, NM_OBJ_UAR, page);
}

/* A QP connected to itself, and 64 bytes for each WQE to write to their neighbours. */
struct own {
	struct hx_qp *qp;
	uint8_t *mem;
	uint32_t key;
};

static struct own own_qp(struct hx *h, uint32_t uar, struct hx_cq *cq, uint8_t *mem, uint32_t key)
{
	struct hx_qp_attr attr = {
		.log_sq = 4, .no_rq = true, .cq_snd = cq, .cq_rcv = cq, .uar = uar};
	struct own o = {.qp = hx_qp(h, 0, &attr), .mem = mem, .key = key};

	hx_connect(o.qp, o.qp);
	return o;
}

static void post(struct own *o)
{
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_WRITE,
			   .flags = HX_SIGNALED,
			   .raddr = o->mem + 64,
			   .rkey = o->key,
			   .nsge = 1,
			   .sge = {{o->mem, 8, o->key}}};

	hx_post(o->qp, &wr);
}

/* The record says what was posted; nobody rings. */
static void set_record(struct own *o)
{
	__atomic_store_n(&o->qp->dbr[1], htobe32(o->qp->sq_pi), __ATOMIC_RELEASE);
}

/* QPs on one page and one CQ. */
static struct hx_cq *many_on_a_page(struct hx *h, struct own *own, uint32_t n)
{
	struct hx_cq *cq = hx_cq(h, 0, 10);
	uint8_t *mem = hx_alloc(h, 4096);
	uint32_t key = hx_mkey(h, 0, h->nic[0].pd, mem, 4096, HX_ALL_RIGHTS);

	for (uint32_t i = 0; i < n; i++)
		own[i] = own_qp(h, h->nic[0].uar, cq, mem, key);
	cr_assert(hx_quiet(h));
	return cq;
}

static uint32_t completions(struct hx *h, struct hx_cq *cq)
{
	uint8_t cqe[64];
	uint32_t n = 0;

	cr_assert(hx_quiet(h));
	for (; hx_poll(cq, cqe); n++)
		cr_expect_eq(cqe_opcode(cqe), PRM_CQE_REQ, "syndrome 0x%x", cqe_syndrome(cqe));
	return n;
}

/* ---- pages ---- */

HX_TEST(many_objects, a_page_that_was_silent_for_long_is_served_within_a_millisecond)
{
	struct nm_nic *nic = h->nic[0].nic;
	struct hx_cq *cq = hx_cq(h, 0, 8);
	uint8_t *mem = hx_alloc(h, 4096), cqe[64];
	uint32_t key = hx_mkey(h, 0, h->nic[0].pd, mem, 4096, HX_ALL_RIGHTS);
	struct own own[PAGES];

	for (uint32_t i = 0; i < PAGES; i++)
		own[i] = own_qp(h, hx_new(h, 0, PRM_CMD_ALLOC_UAR), cq, mem, key);
	cr_expect_eq(nic->ncold, 0, "a page that was just put to use is hot");
	hx_run(h, 20 * MS);
	cr_expect_gt(nic->ncold, PAGES / 2, "silent pages are cold, %u are not", nic->nhot);
	for (uint32_t i = 0; i < PAGES; i++) {
		post(&own[i]);
		hx_ring(own[i].qp);
		cr_assert(hx_wait(cq, cqe, MS + MS / 4), "page %u", i);
		cr_expect_eq(cqe_qpn(cqe), own[i].qp->qpn);
		cr_expect(model_uar(h, own[i].qp->uar)->hot, "page %u rang", i);
	}
}

HX_TEST(many_objects, few_pages_are_looked_at_each_time_however_silent)
{
	struct nm_nic *nic = h->nic[0].nic;
	struct hx_pair p = hx_pair(h, NULL);

	(void)p;
	hx_run(h, 50 * MS);
	cr_expect_eq(nic->ncold, 0);
	cr_expect_gt(nic->nhot, 0);
}

HX_TEST(many_objects, a_page_without_queues_is_not_looked_at)
{
	struct nm_nic *nic = h->nic[0].nic;
	uint32_t before = nic->nhot + nic->ncold;
	struct own own[PAGES];
	uint8_t *mem = hx_alloc(h, 4096);
	struct hx_cq *cq = hx_cq(h, 0, 8);
	uint32_t key = hx_mkey(h, 0, h->nic[0].pd, mem, 4096, HX_ALL_RIGHTS);

	before = nic->nhot + nic->ncold;
	for (uint32_t i = 0; i < PAGES; i++)
		own[i] = own_qp(h, hx_new(h, 0, PRM_CMD_ALLOC_UAR), cq, mem, key);
	hx_run(h, 20 * MS);
	cr_expect_eq(nic->nhot + nic->ncold, before + PAGES);
	/* Every other one first, hot and cold alike. */
	for (uint32_t i = 0; i < PAGES; i++) {
		uint32_t k = i < PAGES / 2 ? 2 * i : 2 * (i - PAGES / 2) + 1;

		cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_QP, own[k].qp->qpn), PRM_STATUS_OK);
		cr_expect_eq(nic->nhot + nic->ncold, before + PAGES - 1 - i);
	}
}

/* ---- sweeps ---- */

HX_TEST(many_objects, rings_that_all_but_one_lost_are_all_made_good)
{
	struct own own[QPS];
	struct hx_cq *cq = many_on_a_page(h, own, QPS);

	for (uint32_t i = 0; i < QPS; i++) {
		post(&own[i]);
		set_record(&own[i]);
	}
	hx_ring(own[0].qp);
	cr_expect_eq(completions(h, cq), QPS);
}

/* Mapped records: one that has not changed costs no turn of its QP. */
Test(many_objects, a_sweep_leaves_silent_queues_alone)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct own own[QPS];
	struct hx_cq *cq = many_on_a_page(h, own, QPS);
	uint64_t turn_ns[QPS];

	for (uint32_t i = 0; i < QPS; i++)
		turn_ns[i] = model_qp(h, own[i].qp)->rc->now_ns;
	post(&own[QPS / 2]);
	hx_ring(own[QPS / 2].qp);
	cr_expect_eq(completions(h, cq), 1);
	for (uint32_t i = 0; i < QPS; i++)
		cr_expect_eq(model_qp(h, own[i].qp)->rc->now_ns != turn_ns[i], i == QPS / 2,
			     "QP %u", i);
	turn_ns[0] = model_qp(h, own[QPS / 2].qp)->rc->now_ns;
	post(&own[0]);
	hx_ring(own[0].qp);
	cr_expect_eq(completions(h, cq), 1);
	cr_expect_eq(model_qp(h, own[QPS / 2].qp)->rc->now_ns, turn_ns[0],
		     "what was read counts as silent");
	hx_close(h);
}

Test(many_objects, sweeps_that_find_nothing_come_the_later_the_more_there_is_to_sweep)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct own own[400];
	uint64_t few_ns;

	many_on_a_page(h, own, 10);
	post(&own[0]);
	hx_ring(own[0].qp);
	cr_assert(hx_quiet(h));
	few_ns = model_uar(h, h->nic[0].uar)->sweep_after_ns;
	many_on_a_page(h, own, 400);
	post(&own[0]);
	hx_ring(own[0].qp);
	cr_assert(hx_quiet(h));
	cr_expect_gt(model_uar(h, h->nic[0].uar)->sweep_after_ns, few_ns);
	cr_expect_leq(model_uar(h, h->nic[0].uar)->sweep_after_ns, (uint64_t)MS);
	hx_close(h);
}

HX_TEST(many_objects, a_queue_that_is_next_in_a_sweep_may_go)
{
	struct own own[QPS];
	struct hx_cq *cq = many_on_a_page(h, own, QPS);
	struct nm_uar *uar = model_uar(h, h->nic[0].uar);
	uint32_t gone = 0;

	for (uint32_t i = 0; i < QPS; i++) {
		post(&own[i]);
		set_record(&own[i]);
	}
	hx_ring(own[0].qp);
	for (uint32_t i = 0; i < 4 * QPS && !uar->sweeping; i++)
		hx_run(h, 1000);
	while (uar->sweeping && uar->sweep_qp < uar->nqps && gone < 10) {
		struct nm_qp *next = uar->qps[uar->sweep_qp].qp;

		cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_QP, next->obj.number), PRM_STATUS_OK);
		gone++;
	}
	cr_expect_geq(completions(h, cq) + gone, QPS);
}

/* The last of the page takes the place of one that goes, and is looked at nevertheless. */
HX_TEST(many_objects, a_queue_that_a_sweep_has_passed_may_go)
{
	struct own own[QPS];
	struct hx_cq *cq = many_on_a_page(h, own, QPS);
	struct nm_uar *uar = model_uar(h, h->nic[0].uar);
	uint32_t last;

	hx_ring(own[0].qp);
	for (uint32_t i = 0; i < 4 * QPS && !uar->sweeping; i++)
		hx_run(h, 1000);
	cr_assert(uar->sweeping && uar->sweep_qp > 1 && uar->sweep_qp < uar->nqps);
	last = uar->qps[uar->nqps - 1].qp->obj.number;
	cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_QP, uar->qps[1].qp->obj.number),
		     PRM_STATUS_OK);
	for (uint32_t i = 0; i < QPS; i++) {
		if (own[i].qp->qpn != last)
			continue;
		post(&own[i]);
		set_record(&own[i]);
	}
	cr_expect_eq(completions(h, cq), 1);
}

/* A program that waits for its requests keeps losing rings, and the NIC has nothing else to do. */
Test(many_objects, where_rings_are_lost_an_idle_nic_sweeps_at_once)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct own own[4];
	struct hx_cq *cq = many_on_a_page(h, own, 4);
	uint8_t cqe[64];

	for (int i = 0; i < 3; i++) {
		uint64_t began_ns = sim_now_ns(h->sim);

		for (int k = 0; k < 4; k++) {
			post(&own[k]);
			set_record(&own[k]);
		}
		hx_ring(own[0].qp);
		for (int k = 0; k < 4; k++)
			cr_assert(hx_wait(cq, cqe, MS));
		if (i == 0)
			cr_expect_gt(sim_now_ns(h->sim) - began_ns, 40000,
				     "nothing was lost here before");
		else
			cr_expect_lt(sim_now_ns(h->sim) - began_ns, 10000);
	}
	hx_close(h);
}

/* ---- lists ---- */

HX_TEST(many_objects, queues_leave_in_any_order_with_work_to_do)
{
	struct own own[QPS];
	struct hx_cq *cq = many_on_a_page(h, own, QPS);
	uint32_t left = 0;

	for (uint32_t i = 0; i < QPS; i++)
		post(&own[i]);
	for (uint32_t i = 0; i < QPS; i++)
		set_record(&own[i]);
	hx_ring(own[1].qp);
	hx_run(h, 1000);
	for (uint32_t i = 0; i < QPS; i += 2)
		cr_assert_eq(hx_destroy(h, 0, PRM_CMD_DESTROY_QP, own[i].qp->qpn), PRM_STATUS_OK);
	for (uint32_t i = 1; i < QPS; i += 2)
		left += completions(h, cq) > 0;
	cr_expect_gt(left, 0);
	for (uint32_t i = 1; i < QPS; i += 2) {
		post(&own[i]);
		hx_ring(own[i].qp);
		cr_expect_eq(completions(h, cq), 1, "QP %u", i);
	}
}

HX_TEST(many_objects, a_cq_that_dies_takes_its_own_qps_along_and_no_other)
{
	struct own own[QPS], other[3];
	struct hx_cq *small = hx_cq(h, 0, 2), *cq = many_on_a_page(h, own, QPS);

	for (int i = 0; i < 3; i++)
		other[i] = own_qp(h, h->nic[0].uar, small, own[0].mem, own[0].key);
	for (int n = 0; n < 6; n++)
		post(&other[0]); /* into a ring of 4 */
	hx_ring(other[0].qp);
	cr_assert(hx_quiet(h));
	for (int i = 0; i < 3; i++)
		cr_expect_eq(hx_query_state(other[i].qp), PRM_QP_ERR);
	for (uint32_t i = 0; i < QPS; i++) {
		cr_expect_eq(hx_query_state(own[i].qp), PRM_QP_RTS);
		post(&own[i]);
		hx_ring(own[i].qp);
	}
	cr_expect_eq(completions(h, cq), QPS);
}

/* ---- keys ---- */

Test(many_objects, a_keys_end_has_nobody_to_visit_where_memory_is_mapped)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct own own[QPS];
	struct hx_cq *cq = many_on_a_page(h, own, QPS);

	for (uint32_t i = 0; i < QPS; i++) {
		post(&own[i]);
		hx_ring(own[i].qp);
		hx_run(h, 100);
		cr_expect_null(h->nic[0].nic->key_xfers);
	}
	cr_expect_eq(completions(h, cq), QPS);
	hx_close(h);
}

Test(many_objects, a_keys_end_visits_the_transfers_under_way)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1, .copied = true});
	struct nm_nic *nic = h->nic[0].nic;
	struct own own[3];
	struct hx_cq *cq = many_on_a_page(h, own, 3);
	uint32_t under_way = 0;

	for (uint32_t i = 0; i < 3; i++) {
		post(&own[i]);
		hx_ring(own[i].qp);
	}
	for (int i = 0; i < 1000 && !nic->key_xfers; i++)
		hx_run(h, 100);
	for (struct nm_link *l = nic->key_xfers; l; l = l->next)
		under_way++;
	cr_assert(under_way > 0 && under_way <= 3 * 2, "%u", under_way);
	cr_assert(hx_quiet(h));
	cr_expect_null(nic->key_xfers, "what has ended is not there any more");
	cr_expect_eq(completions(h, cq), 3);
	hx_close(h);
}

Test(many_objects, a_command_that_changes_no_queue_is_no_work_for_the_nic)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct nm_nic *nic = h->nic[0].nic;
	uint8_t *mem = hx_alloc(h, 4096);
	struct hx_cq *cq;
	struct hx_qp *qp;
	uint32_t key;

	cr_assert(hx_quiet(h));
	key = hx_mkey(h, 0, h->nic[0].pd, mem, 4096, HX_ALL_RIGHTS);
	cr_expect_not(nm_nic_has_work(nic), "a key");
	hx_destroy(h, 0, PRM_CMD_DESTROY_MKEY, key >> 8);
	cr_expect_not(nm_nic_has_work(nic), "its end");
	cq = hx_cq(h, 0, 4);
	cr_expect(nm_nic_has_work(nic), "a queue, whose page may be new");
	hx_run(h, 1000);
	cr_expect_not(nm_nic_has_work(nic));
	qp = hx_qp(h, 0, &(struct hx_qp_attr){.cq_snd = cq, .cq_rcv = cq});
	hx_to_init(qp);
	hx_to_rtr(qp, qp);
	hx_run(h, 1000);
	cr_expect_not(nm_nic_has_work(nic));
	hx_to_rts(qp);
	cr_expect(nm_nic_has_work(nic), "a QP at RTS, whose WQEs may have been posted before");
	hx_close(h);
}

/* ---- memory ---- */

static size_t allocated(void)
{
	return mallinfo2().uordblks;
}

/* "Beside its rings": the NIC's copy of the send queue, and an entry for each of its WQEs. */
Test(many_objects, an_idle_qp_keeps_less_than_4_kib_beside_its_rings)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct own *own = hx_alloc(h, 1000 * sizeof(*own));
	size_t before, rings, each;

	many_on_a_page(h, own, 10);
	before = allocated();
	many_on_a_page(h, own, 1000);
	rings = 16 * (PRM_WQEBB_SIZE + sizeof(struct rc_swqe));
	each = (allocated() - before) / 1000;
	if (allocated() == before)
		cr_skip_test("this allocator does not count");
	cr_expect_lt(each - rings, 4096, "%zu bytes a QP, of them %zu for rings", each, rings);
	hx_close(h);
}

Test(many_objects, what_only_transfers_and_reads_need_is_not_there_before_them)
{
	struct hx *h = hx_open(&(struct hx_config){.seed = 1});
	struct hx_pair p = hx_pair(h, NULL);
	struct nm_rc *rc = model_qp(h, p.b)->rc;
	struct hx_wr wr = {.opcode = PRM_WQE_RDMA_READ,
			   .flags = HX_SIGNALED,
			   .raddr = p.bmem,
			   .rkey = p.bkey,
			   .nsge = 1,
			   .sge = {{p.amem, 64, p.akey}}};

	cr_expect_null(rc->resp.rds);
	cr_expect_null(rc->req.fetch.dma);
	cr_expect_null(rc->resp.bounce);
	HX_OK(p.a->scq, (hx_post(p.a, &wr), hx_ring(p.a), 0));
	cr_expect_not_null(rc->resp.rds, "the peer has answered a READ");
	cr_expect_null(rc->resp.bounce, "out of mapped memory");
	cr_expect_null(rc->resp.rd_xfer.dma);
	hx_close(h);
}
