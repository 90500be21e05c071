// SPDX-License-Identifier: BSD-3-Clause
/* The rules of the checker: what breaks one, and beside it what comes near and must not. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/check/checker.h"
#include "emu/nicmodel/roce.h"
#include "sim_tests/harness.h"

enum { BUFFER = 1 << 16, SQ_LOG = 3, SQ_BBS = 1 << SQ_LOG };

/* One checker on each of the two NICs, and what they found, by rule. */
struct watch {
	struct hx *h;
	char dir[32];
	struct findings findings;
	struct checker *checker[2];
	uint32_t found[RULES];
	char text[8192]; /* the findings as JSON */
};

static struct watch *watch_begin(struct hx *h)
{
	struct watch *w = calloc(1, sizeof(*w));

	cr_assert_not_null(w);
	w->h = h;
	snprintf(w->dir, sizeof(w->dir), "/tmp/check_rules.XXXXXX");
	cr_assert_not_null(mkdtemp(w->dir));
	findings_open(&w->findings, w->dir, -1);
	for (uint32_t i = 0; i < 2; i++) {
		w->checker[i] = checker_new(&w->findings, i ? "b" : "a");
		cr_assert_not_null(w->checker[i]);
		nm_nic_add_observer(h->nic[i].nic, checker_observer(w->checker[i]));
	}
	return w;
}

static void count(struct watch *w)
{
	char path[64], line[4096], name[16];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", w->dir, FINDINGS_JSON);
	f = fopen(path, "r");
	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		for (int rule = 1; rule < RULES; rule++) {
			snprintf(name, sizeof(name), "\"R%02d\"", rule);
			w->found[rule] += strstr(line, name) != NULL;
		}
		strncat(w->text, line, sizeof(w->text) - strlen(w->text) - 1);
	}
	fclose(f);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s", w->dir, FINDINGS_JUNIT);
	unlink(path);
	rmdir(w->dir);
}

/* Ends the watch: `rule` (RULE_NONE: no one) fired, `times`, and no other. */
static void watch_end(struct watch *w, enum rule_number rule, uint32_t times)
{
	for (uint32_t i = 0; i < 2; i++) {
		nm_nic_remove_observer(w->h->nic[i].nic, checker_observer(w->checker[i]));
		checker_end(w->checker[i], w->h->nic[i].nic);
	}
	findings_close(&w->findings);
	count(w);
	for (int i = 1; i < RULES; i++)
		cr_expect_eq(w->found[i], i == (int)rule ? times : 0, "R%02d fired %u times:\n%s",
			     i, w->found[i], w->text);
}

/* 100 bytes, signalled. */
static struct hx_wr write_wr(const struct hx_pair *p)
{
	return (struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
			      .flags = HX_SIGNALED,
			      .raddr = p->bmem,
			      .rkey = p->bkey,
			      .nsge = 1,
			      .sge = {{p->amem, 100, p->akey}}};
}

static uint8_t *slot(const struct hx_qp *qp, uint16_t idx)
{
	return qp->sq + (size_t)(idx & (qp->sq_size - 1)) * PRM_WQEBB_SIZE;
}

typedef void (*check_body)(struct watch *w, struct hx_pair p, struct hx_wr wr);

static void watched(struct hx *h, check_body body)
{
	struct watch *w = watch_begin(h);
	struct hx_pair p = hx_pair_of(h, &(struct hx_qp_attr){.log_sq = SQ_LOG}, NULL, BUFFER);

	body(w, p, write_wr(&p));
	free(w);
}

/* On mapped memory: the checker looks at rings and records. */
#define CHECK_TEST(name)                                                                           \
	static void name(struct watch *w, struct hx_pair p, struct hx_wr wr);                      \
	static void name##_watched(struct hx *h)                                                   \
	{                                                                                          \
		watched(h, name);                                                                  \
	}                                                                                          \
	Test(check_rules, name)                                                                    \
	{                                                                                          \
		hx_with(&(struct hx_config){.seed = 1}, name##_watched);                           \
	}                                                                                          \
	static void name(struct watch *w, struct hx_pair p, struct hx_wr wr)

CHECK_TEST(three_laps_of_a_ring_break_no_rule)
{
	for (uint32_t i = 0; i < 3 * SQ_BBS; i++) {
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, p.a->last_idx);
	}
	watch_end(w, RULE_NONE, 0);
}

CHECK_TEST(a_wqe_of_another_index_is_stale)
{
	hx_post(p.a, &wr);
	slot(p.a, 0)[2] = 7; /* the index, bits 8 to 23 of the first dword */
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	watch_end(w, RULE_WQE_INDEX, 1);
	cr_expect(strstr(w->text, "RDMA_WRITE s-- [rva "), "the WQE is shown: %s", w->text);
}

CHECK_TEST(a_wqe_of_another_qp_is_named)
{
	hx_post(p.a, &wr);
	slot(p.a, 0)[6] ^= 1; /* the QPN's last byte */
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	watch_end(w, RULE_WQE_QPN, 1);
}

CHECK_TEST(a_slot_written_before_its_completion_is_seen)
{
	wr.sge[0].len = BUFFER;
	hx_drop(w->h, 0, ROCE_WRITE_LAST, 1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(w->h, 100 * SIM_US); /* fetched, and not done */
	slot(p.a, 0)[20] ^= 0xff;
	HX_OK(p.a->scq, 0);
	watch_end(w, RULE_SLOT_CHANGED, 1);
}

CHECK_TEST(a_slot_written_after_its_completion_is_free)
{
	wr.sge[0].len = BUFFER;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	slot(p.a, 0)[20] ^= 0xff;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 1);
	watch_end(w, RULE_NONE, 0);
}

CHECK_TEST(an_unsignalled_slot_is_not_free_before_the_next_completion)
{
	wr.flags = 0;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(w->h, 100 * SIM_US); /* done, and nobody was told */
	slot(p.a, 0)[20] ^= 0xff;
	wr.flags = HX_SIGNALED;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 1);
	watch_end(w, RULE_SLOT_CHANGED, 1);
}

CHECK_TEST(a_producer_index_beyond_the_ring_is_refused)
{
	hx_post(p.a, &wr);
	p.a->dbr[1] = htobe32(SQ_BBS + 1);
	hx_register(w->h, 0, p.a->uar, PRM_UAR_BF, (uint32_t)PRM_WQE_RDMA_WRITE, p.a->qpn << 8 | 3);
	hx_run(w->h, 100 * SIM_US);
	p.a->dbr[1] = htobe32(1);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	watch_end(w, RULE_PRODUCER, 1);
}

CHECK_TEST(a_wqe_that_nobody_rang_for_is_found_at_the_end)
{
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	hx_post(p.a, &wr);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_NOT_RUNG, 1);
}

CHECK_TEST(a_record_that_nobody_rang_for_is_found_when_the_qp_is_destroyed)
{
	hx_post(p.a, &wr);
	p.a->dbr[1] = htobe32(1);
	hx_run(w->h, 100 * SIM_US);
	cr_assert_eq(hx_destroy(w->h, 0, PRM_CMD_DESTROY_QP, p.a->qpn), 0);
	watch_end(w, RULE_NOT_RUNG, 1);
	cr_expect(strstr(w->text, "1 WQEBBs were never rung for"), "%s", w->text);
}

/* Doorbell and command reach a device in the order in which they were written. */
CHECK_TEST(what_was_rung_before_the_qp_is_destroyed_was_rung)
{
	hx_post(p.a, &wr);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	cr_assert_eq(hx_destroy(w->h, 0, PRM_CMD_DESTROY_QP, p.a->qpn), 0);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_NONE, 0);
}

/* After a reset the ring still holds the WQEs of before: they are nobody's. */
CHECK_TEST(what_a_reset_left_in_the_ring_was_not_forgotten)
{
	for (uint32_t i = 0; i < 3; i++)
		hx_post(p.a, &wr);
	hx_ring(p.a);
	for (uint16_t i = 0; i < 3; i++)
		HX_OK(p.a->scq, i);
	cr_assert_eq(hx_modify(p.a, PRM_CMD_QP_2RST), 0);
	cr_assert_eq(hx_modify(p.b, PRM_CMD_QP_2RST), 0);
	memset(p.a->dbr, 0, 8);
	p.a->sq_pi = 0;
	hx_connect(p.a, p.b);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_OK(p.a->scq, 0);
	watch_end(w, RULE_NONE, 0);
}

/* The order of GPUNetIO: register, record, register. Only a record that never came is a fault. */
CHECK_TEST(a_doorbell_before_its_record_is_no_fault_if_the_record_follows)
{
	uint32_t pi;

	hx_post(p.a, &wr);
	pi = p.a->sq_pi;
	hx_register(w->h, 0, p.a->uar, PRM_UAR_BF, pi << 8, p.a->qpn << 8);
	HX_OK(p.a->scq, 0);
	p.a->dbr[1] = htobe32(pi);
	hx_register(w->h, 0, p.a->uar, PRM_UAR_BF, pi << 8, p.a->qpn << 8);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_NONE, 0);
}

CHECK_TEST(a_doorbell_without_its_record_is_found_at_the_end)
{
	hx_post(p.a, &wr);
	hx_register(w->h, 0, p.a->uar, PRM_UAR_BF, (uint32_t)p.a->sq_pi << 8, p.a->qpn << 8);
	HX_OK(p.a->scq, 0);
	watch_end(w, RULE_RECORD_BEHIND, 1);
}

CHECK_TEST(a_doorbell_for_nobody_is_said)
{
	(void)wr;
	hx_register(w->h, 0, p.a->uar, PRM_UAR_BF, 1 << 8, 0x7ffff << 8);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_DOORBELL_TARGET, 1);
}

static void post_lap(struct hx_qp *qp, struct hx_wr *wr, uint32_t signalled)
{
	for (uint32_t i = 0; i < SQ_BBS; i++) {
		wr->flags = i == signalled ? HX_SIGNALED : 0;
		hx_post(qp, wr);
	}
	hx_ring(qp);
}

CHECK_TEST(a_whole_ring_without_a_signal_can_never_be_free_again)
{
	post_lap(p.a, &wr, SQ_BBS);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_NO_SIGNAL, 1);
}

CHECK_TEST(one_signal_a_lap_is_enough)
{
	for (uint32_t lap = 0; lap < 3; lap++) {
		post_lap(p.a, &wr, SQ_BBS - 1);
		HX_OK(p.a->scq, p.a->last_idx);
	}
	watch_end(w, RULE_NONE, 0);
}

CHECK_TEST(a_key_that_does_not_reach_names_both_ranges)
{
	wr.sge[0].addr = p.amem + BUFFER - 99;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_LOCAL_PROT, 0);
	watch_end(w, RULE_KEY, 1);
	cr_expect(strstr(w->text, "covers ["), "%s", w->text);
}

CHECK_TEST(a_remote_key_fault_is_told_at_both_ends)
{
	wr.rkey ^= 0x100;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	HX_ERR(p.a->scq, PRM_SYND_REMOTE_ACCESS, 0);
	w->found[RULE_REFUSED] = UINT32_MAX; /* wraps to 0 with the one that is expected */
	watch_end(w, RULE_REMOTE_KEY, 1);
}

CHECK_TEST(an_error_that_nobody_reads_is_found_at_the_end)
{
	wr.sge[0].lkey ^= 0x100;
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(w->h, 100 * SIM_US);
	w->found[RULE_KEY] = UINT32_MAX;
	watch_end(w, RULE_ERROR_UNREAD, 1);
}

CHECK_TEST(a_consumer_index_beyond_the_producers_is_seen)
{
	p.a->scq->dbr[0] = htobe32(5);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_CONSUMER_AHEAD, 1);
}

CHECK_TEST(a_consumer_index_that_goes_back_is_seen)
{
	for (uint16_t i = 0; i < 4; i++) {
		hx_post(p.a, &wr);
		hx_ring(p.a);
		HX_OK(p.a->scq, i);
	}
	p.a->scq->dbr[0] = htobe32(1);
	hx_post(p.a, &wr);
	hx_ring(p.a);
	hx_run(w->h, 100 * SIM_US);
	watch_end(w, RULE_CONSUMER_BACK, 1);
}

CHECK_TEST(the_same_fault_many_times_is_written_twice)
{
	(void)wr;
	for (uint32_t i = 0; i < 10; i++) {
		hx_register(w->h, 0, p.a->uar, PRM_UAR_BF, 1 << 8, 0x7ffff << 8);
		hx_run(w->h, 100 * SIM_US);
	}
	watch_end(w, RULE_DOORBELL_TARGET, 2);
}
