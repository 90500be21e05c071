/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen and changed from outside the engine: counters, and each point with each verdict that
 * it honours. */
#include "sim_tests/harness.h"

#include <stdio.h>

#include "emu/nicmodel/roce.h"

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
	cr_expect_eq(q_counter(h, 0, PRM_query_q_counter_out_req_cqe_error_OFF), 3);
	cr_expect_eq(q_counter(h, 0, PRM_query_q_counter_out_req_cqe_flush_error_OFF), 2);
}

/* ---- a watcher on each NIC: what it saw, and one thing that it changes ---- */

enum { ALL_KINDS = (1 << NM_EV_KINDS) - 1, MAX_BYTES = 1024 };

struct watch {
	struct nm_observer observer;
	struct nm_fault fault;
	uint32_t seen[NM_EV_KINDS], asked[NM_EV_KINDS];
	uint32_t pieces[NM_DMA_PURPOSES][2]; /* [to_space] */
	uint64_t bytes[NM_DMA_PURPOSES][2];
	uint32_t rx[256]; /* by BTH opcode */
	uint64_t lo, hi;  /* payload that is met lies in here; 0: anywhere */
	uint8_t fetched[MAX_BYTES];
	struct nm_event last[NM_EV_KINDS];
	char why[NM_WHY_MAX];
	/* The verdict at the next `left` points of this kind (and purpose and direction, or BTH
	 * opcode). */
	enum nm_event_kind kind;
	enum nm_verdict verdict;
	uint32_t left;
	enum nm_purpose purpose;
	bool to_space;
	uint8_t opcode;
};

static struct watch watch[2];

static void on_dma(struct watch *w, const struct nm_event *ev)
{
	const struct nm_dma *dma = ev->dma.dma;
	uint64_t len = 0;

	cr_assert_not_null(ev->dma.space);
	cr_assert(dma->nsegs >= 1);
	for (uint32_t i = 0; i < dma->nsegs; i++) {
		len += dma->segs[i].len;
		if (dma->purpose == NM_DMA_GATHER || dma->purpose == NM_DMA_SCATTER ||
		    dma->purpose == NM_DMA_ATOMIC)
			cr_assert(!w->hi || (dma->segs[i].addr >= w->lo &&
					     dma->segs[i].addr + dma->segs[i].len <= w->hi));
	}
	cr_assert_eq(len, dma->len);
	w->pieces[dma->purpose][dma->to_space]++;
	w->bytes[dma->purpose][dma->to_space] += len;
}

static void on_point(void *ctx, const struct nm_event *ev)
{
	struct watch *w = ctx;

	w->seen[ev->kind]++;
	w->last[ev->kind] = *ev;
	if (ev->kind == NM_EV_DMA)
		on_dma(w, ev);
	if (ev->kind == NM_EV_RX)
		w->rx[ev->packet->hdr[0]]++;
	if (ev->kind == NM_EV_FETCH) {
		cr_assert(ev->fetch.len <= MAX_BYTES);
		memcpy(w->fetched, ev->fetch.wqe, ev->fetch.len);
	}
	if (ev->kind == NM_EV_DIAGNOSIS)
		snprintf(w->why, sizeof(w->why), "%s", ev->why);
}

static enum nm_verdict on_fault(void *ctx, struct nm_event *ev)
{
	struct watch *w = ctx;

	w->asked[ev->kind]++;
	if (ev->kind != w->kind || !w->left)
		return NM_PASS;
	if (ev->kind == NM_EV_DMA &&
	    (ev->dma.dma->purpose != w->purpose || ev->dma.dma->to_space != w->to_space))
		return NM_PASS;
	if ((ev->kind == NM_EV_TX || ev->kind == NM_EV_RX) && ev->packet->hdr[0] != w->opcode)
		return NM_PASS;
	w->left--;
	return w->verdict;
}

static void watch_all(struct hx *h)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct watch *w = &watch[i];

		w->observer = (struct nm_observer){.ctx = w, .mask = ALL_KINDS, .event = on_point};
		w->fault = (struct nm_fault){.ctx = w, .mask = ALL_KINDS, .at = on_fault};
		nm_nic_add_observer(h->nic[i].nic, &w->observer);
		nm_nic_set_fault(h->nic[i].nic, &w->fault);
	}
}

static void strike(uint32_t nic, enum nm_event_kind kind, enum nm_verdict verdict)
{
	watch[nic].kind = kind;
	watch[nic].verdict = verdict;
	watch[nic].left = 1;
}

static void strike_dma(uint32_t nic, enum nm_purpose purpose, bool to_space)
{
	strike(nic, NM_EV_DMA, NM_FAIL);
	watch[nic].purpose = purpose;
	watch[nic].to_space = to_space;
}

static void strike_packet(uint32_t nic, enum nm_event_kind kind, enum nm_verdict verdict,
			  uint8_t opcode)
{
	strike(nic, kind, verdict);
	watch[nic].opcode = opcode;
}

static struct hx_pair watched_pair(struct hx *h)
{
	struct hx_pair p = hx_pair(h, NULL);

	hx_quiet(h);
	hx_fill(p.amem, 8192, 1);
	watch_all(h);
	return p;
}

/* An event queue whose ring is memory of the program, for all asynchronous events. */
static uint8_t *event_ring(struct hx *h, uint32_t nic)
{
	uint8_t *ring = hx_alloc(h, HX_PAGE);
	uint8_t *eqc = PRM_PTR(create_eq_in, h->in, eq_context);

	memset(h->in, 0, 0x118);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_CREATE_EQ);
	PRM_SET(eqc, eqc, log_eq_size, 6);
	PRM_SET(eqc, eqc, uar_page, h->nic[nic].uar);
	PRM_SET64(create_eq_in, h->in, event_bitmask, 0xffffffff);
	prm_store64(PRM_PTR(create_eq_in, h->in, pas), (uintptr_t)ring);
	cr_assert_eq(hx_command(h, nic, 0x118), PRM_STATUS_OK, "%s", h->why);
	return ring;
}

static uint16_t post(struct hx_pair *p, uint8_t opcode, uint32_t len)
{
	struct hx_wr wr = write_wr(p);
	uint16_t idx;

	wr.opcode = opcode;
	wr.swap_add = 5;
	wr.sge[0].len = len;
	idx = hx_post(p->a, &wr);
	hx_ring(p->a);
	return idx;
}

/* ---- DMA ---- */

static uint64_t moved(uint32_t nic, enum nm_purpose purpose, bool to_space)
{
	return watch[nic].bytes[purpose][to_space];
}

HX_TEST(rc_observer, payload_is_met_where_it_is_read_and_where_it_is_written)
{
	struct hx_pair p = watched_pair(h);

	watch[0].lo = (uintptr_t)p.amem;
	watch[0].hi = (uintptr_t)p.amem + p.len;
	watch[1].lo = (uintptr_t)p.bmem;
	watch[1].hi = (uintptr_t)p.bmem + p.len;
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 3000));
	cr_expect_eq(moved(0, NM_DMA_GATHER, false), 3000);
	cr_expect_eq(moved(1, NM_DMA_SCATTER, true), 3000);
	cr_expect_eq(watch[1].pieces[NM_DMA_SCATTER][true], 3, "once a packet");
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_READ, 2000));
	cr_expect_eq(moved(1, NM_DMA_GATHER, false), 2000);
	cr_expect_eq(moved(0, NM_DMA_SCATTER, true), 2000);
	cr_expect_eq(watch[0].last[NM_EV_DMA].nic, h->nic[0].nic);
	hx_recv(p.b, &(struct hx_sge){p.bmem, 1000, p.bkey}, 1);
	HX_OK(p.a->scq, post(&p, PRM_WQE_SEND, 1000));
	cr_expect_eq(moved(0, NM_DMA_GATHER, false), 4000);
	cr_expect_eq(moved(1, NM_DMA_SCATTER, true), 4000);
	cr_expect_eq(moved(0, NM_DMA_ATOMIC, true), 0);
}

HX_TEST(rc_observer, an_atomic_is_met_at_its_word)
{
	struct hx_pair p = watched_pair(h);

	watch[1].lo = (uintptr_t)p.bmem;
	watch[1].hi = (uintptr_t)p.bmem + 8;
	HX_OK(p.a->scq, post(&p, PRM_WQE_ATOMIC_FA, 8));
	cr_expect_eq(moved(1, NM_DMA_ATOMIC, true), 8);
	cr_expect_eq(moved(1, NM_DMA_ATOMIC, false), h->config.copied ? 8 : 0);
}

HX_TEST(rc_observer, rings_and_records_are_met)
{
	struct hx_pair p = watched_pair(h);

	hx_recv(p.b, &(struct hx_sge){p.bmem, 3000, p.bkey}, 1);
	HX_OK(p.a->scq, post(&p, PRM_WQE_SEND, 100));
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_expect_eq(moved(0, NM_DMA_WQE, false), 64);
	cr_expect_eq(moved(1, NM_DMA_WQE, false), 64);
	cr_expect(moved(0, NM_DMA_DBR, false) >= 4);
	cr_expect(moved(1, NM_DMA_DBR, false) >= 4);
	cr_expect_eq(moved(0, NM_DMA_CQE, true), 64);
	cr_expect_eq(moved(1, NM_DMA_CQE, true), 64);
}

HX_TEST(rc_observer, an_event_is_met_on_its_way_into_its_ring)
{
	uint8_t *ring = event_ring(h, 1);
	struct hx_pair p = watched_pair(h);

	p.bkey ^= 1;
	hx_post(p.a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
				     .raddr = p.bmem,
				     .rkey = p.bkey,
				     .nsge = 1,
				     .sge = {{p.amem, 8, p.akey}}});
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 0);
	hx_quiet(h);
	cr_expect_eq(moved(1, NM_DMA_EQE, true), 64);
	cr_expect_eq(ring[1], PRM_EVENT_WQ_ACCESS_ERROR);
	cr_expect_eq(watch[1].seen[NM_EV_EQE], 2, "the ring and the queue without one");
}

HX_TEST(rc_observer, payload_that_is_gone_at_the_requester_is_a_protection_error)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(0, NM_DMA_GATHER, false);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, post(&p, PRM_WQE_RDMA_WRITE, 3000));
	cr_expect_eq(watch[0].left, 0);
}

HX_TEST(rc_observer, payload_that_is_gone_at_the_responder_is_an_access_error)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(1, NM_DMA_SCATTER, true);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, post(&p, PRM_WQE_RDMA_WRITE, 3000));
	cr_expect_eq(p.bmem[0], 0, "nothing was moved");
	cr_expect_eq(hx_query_state(p.b), PRM_QP_ERR);
}

HX_TEST(rc_observer, what_a_read_wants_is_gone)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(1, NM_DMA_GATHER, false);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, post(&p, PRM_WQE_RDMA_READ, 3000));
	cr_expect(hx_is(p.amem, 3000, 1), "nothing arrived");
}

HX_TEST(rc_observer, where_a_read_lands_is_gone)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(0, NM_DMA_SCATTER, true);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, post(&p, PRM_WQE_RDMA_READ, 3000));
}

HX_TEST(rc_observer, where_a_message_lands_is_gone)
{
	struct hx_pair p = watched_pair(h);

	hx_recv(p.b, &(struct hx_sge){p.bmem, 3000, p.bkey}, 1);
	strike_dma(1, NM_DMA_SCATTER, true);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_OP, post(&p, PRM_WQE_SEND, 3000));
	HX_RECV_ERR(p.b->rcq, PRM_SYND_LOCAL_PROT, 0);
}

HX_TEST(rc_observer, an_atomic_whose_word_is_gone_changes_nothing)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(1, NM_DMA_ATOMIC, true);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, post(&p, PRM_WQE_ATOMIC_FA, 8));
	cr_expect_eq(p.bmem[0], 0);
}

HX_TEST(rc_observer, a_send_ring_that_is_gone_ends_the_qp)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(0, NM_DMA_WQE, false);
	post(&p, PRM_WQE_RDMA_WRITE, 8);
	hx_run(h, SIM_MS);
	cr_expect_eq(hx_query_state(p.a), PRM_QP_ERR);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_WQ_CATAS_ERROR, p.a->qpn), 1);
	cr_expect_eq(p.bmem[0], 0);
}

HX_TEST(rc_observer, a_receive_ring_that_is_gone_refuses_the_message)
{
	struct hx_pair p = watched_pair(h);

	hx_recv(p.b, &(struct hx_sge){p.bmem, 3000, p.bkey}, 1);
	strike_dma(1, NM_DMA_WQE, false);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_OP, post(&p, PRM_WQE_SEND, 100));
}

HX_TEST(rc_observer, a_record_that_is_gone_ends_the_qp)
{
	struct hx_pair p = watched_pair(h);

	strike_dma(0, NM_DMA_DBR, false);
	post(&p, PRM_WQE_RDMA_WRITE, 8);
	hx_run(h, SIM_MS);
	cr_expect_eq(hx_query_state(p.a), PRM_QP_ERR);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_WQ_CATAS_ERROR, p.a->qpn), 1);
}

HX_TEST(rc_observer, a_completion_ring_that_is_gone_ends_its_qps)
{
	struct hx_pair p = watched_pair(h);
	uint8_t cqe[64];

	strike_dma(0, NM_DMA_CQE, true);
	post(&p, PRM_WQE_RDMA_WRITE, 8);
	hx_run(h, SIM_MS);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_CQ_ERROR, p.a->scq->cqn), 1);
	cr_expect_eq(hx_query_state(p.a), PRM_QP_ERR);
	cr_expect_not(hx_poll(p.a->scq, cqe));
}

HX_TEST(rc_observer, an_event_ring_that_is_gone_loses_the_event)
{
	uint8_t *ring = event_ring(h, 1);
	struct hx_pair p = watched_pair(h);

	p.bkey ^= 1;
	strike_dma(1, NM_DMA_EQE, true);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, post(&p, PRM_WQE_RDMA_WRITE, 8));
	hx_quiet(h);
	cr_expect_eq(ring[1], 0);
	cr_expect(hx_diagnosed(h, "its ring is unreachable"));
}

/* ---- doorbells and fetches ---- */

HX_TEST(rc_observer, a_dropped_doorbell_was_never_rung)
{
	struct hx_pair p = watched_pair(h);
	uint64_t doorbells = nm_nic_counters(h->nic[0].nic)->doorbells;
	uint8_t cqe[64];

	strike(0, NM_EV_DOORBELL, NM_DROP);
	post(&p, PRM_WQE_RDMA_WRITE, 3000);
	hx_run(h, SIM_MS);
	cr_expect_eq(watch[0].seen[NM_EV_DOORBELL], 1);
	cr_expect_eq(watch[0].last[NM_EV_DOORBELL].qpn, p.a->qpn);
	cr_expect_eq(watch[0].last[NM_EV_DOORBELL].doorbell.uar_page, h->nic[0].uar);
	cr_expect_eq((uint32_t)watch[0].last[NM_EV_DOORBELL].doorbell.value >> 8, p.a->qpn);
	cr_expect_eq(nm_nic_counters(h->nic[0].nic)->doorbells, doorbells);
	cr_expect_eq(watch[0].seen[NM_EV_FETCH], 0);
	cr_assert_not(hx_poll(p.a->scq, cqe));
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
}

HX_TEST(rc_observer, a_fetch_shows_the_bytes_that_were_posted)
{
	struct hx_pair p = watched_pair(h);

	hx_recv(p.b, &(struct hx_sge){p.bmem, 3000, p.bkey}, 1);
	strike(0, NM_EV_FETCH, NM_DROP);
	strike(1, NM_EV_FETCH, NM_FAIL);
	HX_OK(p.a->scq, post(&p, PRM_WQE_SEND, 100));
	for (uint32_t i = 0; i < 2; i++) {
		cr_expect_eq(watch[i].seen[NM_EV_FETCH], 1);
		cr_expect_eq(watch[i].last[NM_EV_FETCH].fetch.receive, i);
		cr_expect_eq(watch[i].last[NM_EV_FETCH].fetch.wqe_idx, 0);
		cr_expect_eq(watch[i].asked[NM_EV_FETCH], 0, "only watched");
	}
	cr_expect_arr_eq(watch[0].fetched, p.a->sq, 64);
	cr_expect_arr_eq(watch[1].fetched, p.b->rq, 64);
}

/* ---- packets ---- */

HX_TEST(rc_observer, a_packet_dropped_before_the_link_comes_again)
{
	struct hx_pair p = watched_pair(h);
	const struct nm_counters *n = nm_nic_counters(h->nic[0].nic);

	strike_packet(0, NM_EV_TX, NM_DROP, ROCE_WRITE_ONLY);
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 100));
	cr_expect_eq(watch[1].rx[ROCE_WRITE_ONLY], 1, "the link never had the first");
	cr_expect_eq(n->local_ack_timeout_err, 1);
	cr_expect(hx_is(p.bmem, 100, 1));
}

HX_TEST(rc_observer, what_the_link_did_not_take_is_said_to_be_unsent)
{
	struct hx_pair p = hx_pair_of(h, NULL, NULL, 1 << 20);
	uint64_t before = sim_link_packets(h->sim);
	uint32_t sent;
	struct hx_wr wr = write_wr(&p);

	watch_all(h);
	wr.sge[0].len = 1 << 20;
	for (unsigned int i = 0; i < 2; i++)
		hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	HX_OK(p.a->scq, 1);
	cr_assert(hx_quiet(h));
	sent = watch[0].seen[NM_EV_TX] + watch[1].seen[NM_EV_TX] - watch[0].seen[NM_EV_UNSENT] -
	       watch[1].seen[NM_EV_UNSENT];
	cr_expect_eq(sent, sim_link_packets(h->sim) - before, "%u", sent);
	cr_expect_eq(watch[0].asked[NM_EV_UNSENT], 0, "only watched");
}

HX_TEST(rc_observer, a_packet_sent_twice_is_executed_once)
{
	struct hx_pair p = watched_pair(h);

	strike_packet(0, NM_EV_TX, NM_DUP, ROCE_FETCH_ADD);
	HX_OK(p.a->scq, post(&p, PRM_WQE_ATOMIC_FA, 8));
	hx_quiet(h);
	cr_expect_eq(watch[1].rx[ROCE_FETCH_ADD], 2);
	cr_expect_eq(nm_nic_counters(h->nic[1].nic)->duplicate_request, 1);
	cr_expect_eq(nm_nic_counters(h->nic[1].nic)->rx_atomic_requests, 1);
}

HX_TEST(rc_observer, a_packet_dropped_on_arrival_comes_again)
{
	struct hx_pair p = watched_pair(h);

	strike_packet(1, NM_EV_RX, NM_DROP, ROCE_WRITE_ONLY);
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 100));
	cr_expect_eq(watch[1].rx[ROCE_WRITE_ONLY], 2);
	cr_expect_eq(nm_nic_counters(h->nic[1].nic)->rx_write_requests, 1);
	cr_expect_eq(nm_nic_counters(h->nic[0].nic)->local_ack_timeout_err, 1);
}

HX_TEST(rc_observer, a_packet_doubled_on_arrival_is_executed_once)
{
	struct hx_pair p = watched_pair(h);

	strike_packet(1, NM_EV_RX, NM_DUP, ROCE_FETCH_ADD);
	HX_OK(p.a->scq, post(&p, PRM_WQE_ATOMIC_FA, 8));
	hx_quiet(h);
	cr_expect_eq(watch[1].rx[ROCE_FETCH_ADD], 1, "one came over the link");
	cr_expect_eq(nm_nic_counters(h->nic[1].nic)->duplicate_request, 1);
	cr_expect_eq(nm_nic_counters(h->nic[1].nic)->rx_atomic_requests, 1);
}

/* ---- CQEs and EQEs ---- */

HX_TEST(rc_observer, a_dropped_completion_leaves_its_slot_to_the_next)
{
	struct hx_pair p = watched_pair(h);
	uint16_t second;
	uint8_t cqe[64];

	strike(0, NM_EV_CQE, NM_DROP);
	post(&p, PRM_WQE_RDMA_WRITE, 100);
	hx_run(h, SIM_MS);
	cr_expect_eq(watch[0].seen[NM_EV_CQE], 1);
	cr_assert_not(hx_poll(p.a->scq, cqe));
	second = post(&p, PRM_WQE_RDMA_WRITE, 100);
	HX_OK(p.a->scq, second);
	cr_expect_eq(p.a->scq->ci, 1);
	cr_expect_eq(watch[0].last[NM_EV_CQE].cqe.cqn, p.a->scq->cqn);
	cr_expect_eq(watch[0].last[NM_EV_CQE].cqe.index, 0);
	cr_expect_eq(watch[0].last[NM_EV_CQE].qpn, p.a->qpn);
}

HX_TEST(rc_observer, a_dropped_event_is_not_told)
{
	struct hx_pair p = watched_pair(h);

	p.bkey ^= 1;
	strike(1, NM_EV_EQE, NM_DROP);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, post(&p, PRM_WQE_RDMA_WRITE, 8));
	hx_quiet(h);
	cr_expect_eq(watch[1].seen[NM_EV_EQE], 1);
	cr_expect_eq(watch[1].last[NM_EV_EQE].eqe.eqn, h->nic[1].eqn);
	cr_expect_eq(hx_event_count(h, PRM_EVENT_WQ_ACCESS_ERROR, p.b->qpn), 0);
}

/* ---- states, commands, diagnoses ---- */

HX_TEST(rc_observer, each_change_of_state_is_met)
{
	struct hx_qp *a, *b;

	watch_all(h);
	a = hx_qp(h, 0, NULL);
	b = hx_qp(h, 1, NULL);
	strike(0, NM_EV_STATE, NM_FAIL);
	hx_connect(a, b);
	cr_expect_eq(watch[0].seen[NM_EV_STATE], 3, "INIT, RTR, RTS");
	cr_expect_eq(watch[0].last[NM_EV_STATE].state.from, PRM_QP_RTR);
	cr_expect_eq(watch[0].last[NM_EV_STATE].state.to, PRM_QP_RTS);
	cr_expect_eq(watch[0].last[NM_EV_STATE].qpn, a->qpn);
	cr_expect_eq(watch[0].asked[NM_EV_STATE], 0, "only watched");
	hx_modify(a, PRM_CMD_QP_2ERR);
	cr_expect_eq(watch[0].last[NM_EV_STATE].state.to, PRM_QP_ERR);
}

HX_TEST(rc_observer, a_failed_command_does_nothing)
{
	watch_all(h);
	strike(0, NM_EV_COMMAND, NM_FAIL);
	memset(h->in, 0, 0x10);
	PRM_SET(cmd_in, h->in, opcode, PRM_CMD_ALLOC_PD);
	cr_expect_eq(hx_command(h, 0, 0x10), PRM_STATUS_INT_ERR);
	cr_expect_eq(watch[0].last[NM_EV_COMMAND].command.opcode, PRM_CMD_ALLOC_PD);
	cr_expect_eq(watch[0].last[NM_EV_COMMAND].command.status, PRM_STATUS_INT_ERR);
	cr_expect_eq(PRM_GET(obj_out, h->out, number), 0);
	cr_expect_eq(hx_command(h, 0, 0x10), PRM_STATUS_OK, "%s", h->why);
	cr_expect_eq(PRM_GET(obj_out, h->out, number), h->nic[0].pd + 1, "none was made before");
	cr_expect_eq(watch[0].seen[NM_EV_COMMAND], 2);
	cr_expect_eq(watch[0].last[NM_EV_COMMAND].command.status, PRM_STATUS_OK);
}

HX_TEST(rc_observer, a_diagnosis_says_why)
{
	struct hx_pair p = watched_pair(h);

	strike(1, NM_EV_DIAGNOSIS, NM_DROP);
	p.bkey ^= 1;
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, post(&p, PRM_WQE_RDMA_WRITE, 8));
	cr_expect(watch[1].seen[NM_EV_DIAGNOSIS] > 0);
	cr_expect_not_null(strstr(watch[1].why, "is refused"), "%s", watch[1].why);
	cr_expect_eq(watch[1].asked[NM_EV_DIAGNOSIS], 0, "only watched");
}

/* ---- verdicts that mean nothing ---- */

static enum nm_verdict nonsense(void *ctx, struct nm_event *ev)
{
	static const enum nm_verdict verdicts[NM_EV_KINDS] = {
		[NM_EV_COMMAND] = NM_DROP, [NM_EV_DOORBELL] = NM_FAIL, [NM_EV_DMA] = NM_DROP,
		[NM_EV_TX] = NM_FAIL,	   [NM_EV_RX] = NM_FAIL,       [NM_EV_CQE] = NM_FAIL,
		[NM_EV_EQE] = NM_DUP,	   [NM_EV_FETCH] = NM_DROP,    [NM_EV_STATE] = NM_FAIL,
	};

	(*(uint32_t *)ctx)++;
	return verdicts[ev->kind];
}

HX_TEST(rc_observer, a_verdict_that_a_point_does_not_know_passes)
{
	uint32_t asked = 0;
	struct nm_fault fault = {.ctx = &asked, .mask = ALL_KINDS, .at = nonsense};
	struct hx_pair p;

	nm_nic_set_fault(h->nic[0].nic, &fault);
	nm_nic_set_fault(h->nic[1].nic, &fault);
	p = hx_pair(h, NULL);
	hx_fill(p.amem, 3000, 1);
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_WRITE, 3000));
	cr_expect(hx_is(p.bmem, 3000, 1));
	HX_OK(p.a->scq, post(&p, PRM_WQE_RDMA_READ, 3000));
	HX_OK(p.a->scq, post(&p, PRM_WQE_ATOMIC_FA, 8));
	hx_recv(p.b, &(struct hx_sge){p.bmem, 3000, p.bkey}, 1);
	HX_OK(p.a->scq, post(&p, PRM_WQE_SEND, 3000));
	HX_RECV(p.b->rcq, PRM_CQE_RESP_SEND, 0);
	cr_expect_eq(h->nic[0].rnrs + h->nic[1].rnrs + h->nic[0].naks + h->nic[1].naks, 0);
	cr_expect(asked > 0);
	nm_nic_set_fault(h->nic[0].nic, NULL);
	nm_nic_set_fault(h->nic[1].nic, NULL);
}

/* ---- the fabric of these tests itself ---- */

struct trace {
	struct nm_observer observer;
	uint32_t n;
	uint64_t packets[1024]; /* QPN and PSN */
};

static void on_packet(void *ctx, const struct nm_event *ev)
{
	struct trace *t = ctx;

	cr_assert(t->n < 1024);
	t->packets[t->n++] = (uint64_t)(prm_load32(ev->packet->hdr + 4) & 0xffffff) << 32 |
			     (prm_load32(ev->packet->hdr + 8) & 0xffffff);
}

/* The next packet of this QP from *at on; UINT64_MAX: no more. */
static uint64_t next_of(const struct trace *t, uint32_t *at, uint32_t qpn)
{
	while (*at < t->n) {
		uint64_t packet = t->packets[(*at)++];

		if (packet >> 32 == qpn)
			return packet;
	}
	return UINT64_MAX;
}

HX_TEST(rc_observer, serialised_packets_of_two_flows_are_shuffled_those_of_one_are_not)
{
	static struct trace sent, came;
	struct hx_pair p[2] = {hx_pair_of(h, NULL, NULL, 1 << 16),
			       hx_pair_of(h, NULL, NULL, 1 << 16)};
	bool moved;

	sent.observer =
		(struct nm_observer){.ctx = &sent, .mask = 1u << NM_EV_TX, .event = on_packet};
	came.observer =
		(struct nm_observer){.ctx = &came, .mask = 1u << NM_EV_RX, .event = on_packet};
	nm_nic_add_observer(h->nic[0].nic, &sent.observer);
	nm_nic_add_observer(h->nic[1].nic, &came.observer);
	p[1].a->bf ^= 0x100; /* a register of its own: both are rung at once */
	for (uint32_t i = 0; i < 10; i++)
		for (uint32_t f = 0; f < 2; f++)
			post(&p[f], PRM_WQE_RDMA_WRITE, 9000);
	for (uint16_t i = 0; i < 10; i++)
		for (uint32_t f = 0; f < 2; f++)
			HX_OK(p[f].a->scq, i);
	cr_assert_eq(sent.n, came.n);
	for (uint32_t f = 0; f < 2; f++) {
		uint32_t s = 0, c = 0;

		for (uint32_t i = 0; i <= sent.n; i++)
			cr_assert_eq(next_of(&sent, &s, p[f].b->qpn),
				     next_of(&came, &c, p[f].b->qpn), "within a flow");
	}
	moved = memcmp(sent.packets, came.packets, sent.n * sizeof(sent.packets[0])) != 0;
	cr_expect_eq(moved, h->config.serialise);
}
