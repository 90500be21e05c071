// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a program gets for its mistakes: bad_input [options] [SCENARIO...]
 *
 * Each scenario makes a pair of QPs, commits one mistake, and checks the completion's status,
 * vendor syndrome, wr_id and QP, the states of both QPs, the flush of what was posted behind it,
 * the asynchronous events (those that are due and no others), and that another pair of the process
 * (the witness) still moves data. "begin NAME reason=/RE/" and "end NAME" go to stderr around each,
 * so that a script finds the NIC's explanation between them. Ends with "N passed, N failed"; the
 * exit code is 0 only if nothing failed.
 *
 * bad_input -S -p PORT is the half that scenario peer_killed kills; with -P HOST that scenario
 * takes such a server, else it forks one.
 */
#include "sim_tests/progs/bad_input.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EVENTS_MAX 64

static struct bi_rig rig = {.port = 18600};
static const char *device;
static int gid_index;
static bool serve, list_only;
static const char *wanted[256];
static size_t wanted_count;

const struct bi_subject *const bi_subjects[] = {&bi_wr,	  &bi_peers,  &bi_services, &bi_shared,
						&bi_keys, &bi_limits, &bi_status};
const size_t bi_subject_count = sizeof(bi_subjects) / sizeof(bi_subjects[0]);

/* Of the scenario that runs. */
static uint32_t statuses_met, events_met;
static struct {
	enum ibv_event_type type;
	const void *about;
} events[EVENTS_MAX]; /* that were taken from the device and not expected yet */
static size_t event_count;

int bi_fail(const char *fmt, ...)
{
	va_list ap;

	printf("     ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return -1;
}

/* ---- pairs ---- */

int bi_pair_open(struct bi_rig *r, struct bi_pair *pair, const struct vp_qp_opts *a_opts,
		 const struct vp_qp_opts *b_opts)
{
	struct vp_qp_opts a = *a_opts, b = *b_opts;
	struct vp_dest a_dest, b_dest;

	a.send_wr = a.recv_wr = b.send_wr = b.recv_wr = 16;
	a.sges = b.sges = 2;
	memset(pair, 0, sizeof(*pair));
	if (vp_cq_open(&r->dev, &pair->a_cq, 64, false) ||
	    vp_cq_open(&r->dev, &pair->b_cq, 64, false))
		return -1;
	pair->a = vp_qp_open(r->pd, &pair->a_cq, &pair->a_cq, &a, NULL);
	pair->b = vp_qp_open(r->pd, &pair->b_cq, &pair->b_cq, &b, NULL);
	if (!pair->a || !pair->b)
		return -1;
	vp_qp_dest(&r->dev, pair->a, &a, &a_dest);
	vp_qp_dest(&r->dev, pair->b, &b, &b_dest);
	if (vp_qp_connect(&r->dev, pair->a, &a, &b_dest))
		return -1;
	return vp_qp_connect(&r->dev, pair->b, &b, &a_dest);
}

void bi_pair_close(struct bi_pair *pair)
{
	if (pair->a)
		ibv_destroy_qp(pair->a);
	if (pair->b)
		ibv_destroy_qp(pair->b);
	if (pair->ah)
		ibv_destroy_ah(pair->ah);
	if (pair->srq)
		ibv_destroy_srq(pair->srq);
	if (pair->xrcd)
		ibv_close_xrcd(pair->xrcd);
	vp_cq_close(&pair->a_cq);
	vp_cq_close(&pair->b_cq);
	memset(pair, 0, sizeof(*pair));
}

void bi_write_wr(struct bi_rig *r, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){(uintptr_t)r->src, BI_LEN, r->src_mr->lkey};
	*wr = (struct ibv_send_wr){.sg_list = sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_RDMA_WRITE,
				   .send_flags = IBV_SEND_SIGNALED};
	wr->wr.rdma.remote_addr = (uintptr_t)r->dst;
	wr->wr.rdma.rkey = r->dst_mr->rkey;
}

int bi_post(struct bi_rig *r, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	errno = ibv_post_send(r->victim.a, wr, &bad);
	return errno ? bi_fail("ibv_post_send: %s", strerror(errno)) : 0;
}

int bi_post_recv(struct bi_rig *r, struct ibv_qp *qp, struct ibv_srq *srq, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)r->dst, len, r->dst_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = BI_WR_RECV, .sg_list = &sge, .num_sge = 1}, *bad;

	errno = srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
	return errno ? bi_fail("posting a receive: %s", strerror(errno)) : 0;
}

/* ---- completions and states ---- */

static int next(struct vp_cq *cq, struct ibv_wc *wc, enum ibv_wc_status want,
		enum ibv_wc_status alt, const char *whose)
{
	const char *known;

	if (vp_next(cq, wc, VP_WAIT_MS) != 1)
		return bi_fail("no %s completion within %d ms, expected '%s'", whose, VP_WAIT_MS,
			       ibv_wc_status_str(want));
	if (wc->status != want && (!alt || wc->status != alt))
		return bi_fail("%s completion: '%s' (vendor 0x%x), expected '%s'", whose,
			       ibv_wc_status_str(wc->status), wc->vendor_err,
			       ibv_wc_status_str(want));
	if (wc->status && !bi_vendor_fits(wc->status, wc->vendor_err, &known))
		return bi_fail("%s completion: '%s' with vendor syndrome 0x%x, expected %s", whose,
			       ibv_wc_status_str(wc->status), wc->vendor_err, known);
	statuses_met |= UINT32_C(1) << wc->status;
	return 0;
}

int bi_expect(struct vp_cq *cq, enum ibv_wc_status want, enum ibv_wc_status alt, const char *whose)
{
	struct ibv_wc wc;

	return next(cq, &wc, want, alt, whose);
}

int bi_expect_wr(struct vp_cq *cq, const struct ibv_qp *qp, uint64_t wr_id, enum ibv_wc_status want,
		 enum ibv_wc_status alt, const char *whose)
{
	struct ibv_wc wc;

	if (next(cq, &wc, want, alt, whose))
		return -1;
	if (wc.wr_id == wr_id && wc.qp_num == qp->qp_num)
		return 0;
	return bi_fail("%s completion: wr_id 0x%llx of QP 0x%x, expected 0x%llx of QP 0x%x", whose,
		       (unsigned long long)wc.wr_id, wc.qp_num, (unsigned long long)wr_id,
		       qp->qp_num);
}

int bi_expect_none(struct vp_cq *cq, const char *whose)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(cq->cq, 1, &wc) == 0)
		return 0;
	return bi_fail("%s completion: '%s' of wr_id 0x%llx, expected none", whose,
		       ibv_wc_status_str(wc.status), (unsigned long long)wc.wr_id);
}

int bi_expect_states(struct bi_rig *r, enum ibv_qp_state a, enum ibv_qp_state b)
{
	return bi_expect_state(r->victim.a, a, "requester's") ||
			       bi_expect_state(r->victim.b, b, "responder's")
		       ? -1
		       : 0;
}

int bi_expect_state(struct ibv_qp *qp, enum ibv_qp_state want, const char *whose)
{
	int64_t end_us = vp_now_us() + VP_WAIT_MS * 1000;
	int state;

	do {
		state = vp_qp_state(qp);
		if (state == (int)want)
			return 0;
		poll(NULL, 0, 1);
	} while (vp_now_us() < end_us);
	return bi_fail("%s QP is in state %d, expected %d", whose, state, want);
}

/* The witness: every scenario ends with data through another pair of the same process. */
static int witness_works(void)
{
	static uint32_t seed;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	ssize_t at;

	vp_fill(rig.src, BI_LEN, ++seed);
	memset(rig.dst, 0, BI_LEN);
	bi_write_wr(&rig, &wr, &sge);
	errno = ibv_post_send(rig.witness.a, &wr, &bad);
	if (errno)
		return bi_fail("the other QPs of the process: ibv_post_send: %s", strerror(errno));
	if (bi_expect(&rig.witness.a_cq, IBV_WC_SUCCESS, 0, "other QP's"))
		return -1;
	at = vp_wrong(rig.dst, BI_LEN, seed);
	return at < 0 ? 0 : bi_fail("the other QPs of the process: byte %zd is wrong", at);
}

/* ---- one scenario ---- */

static int post_bad_receive(const struct bi_case *c)
{
	struct ibv_sge sge = {(uintptr_t)rig.dst, c->recv_len,
			      rig.dst_mr->lkey ^ (c->recv_bad_key ? 0x5a00 : 0)};
	struct ibv_recv_wr wr = {.wr_id = BI_WR_RECV, .sg_list = &sge, .num_sge = 1}, *bad;

	errno = ibv_post_recv(rig.victim.b, &wr, &bad);
	return errno ? bi_fail("ibv_post_recv: %s", strerror(errno)) : 0;
}

/* What an event is about: the union has pointers only. */
static const void *about(const struct ibv_async_event *event)
{
	return event->element.qp;
}

/* Takes what the device tells, for up to wait_ms; true: something came. */
static bool take_events(int wait_ms)
{
	struct pollfd p = {.fd = rig.dev.ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	bool came = false;

	while (event_count < EVENTS_MAX && poll(&p, 1, came ? 0 : wait_ms) > 0 &&
	       !ibv_get_async_event(rig.dev.ctx, &event)) {
		events[event_count].type = event.event_type;
		events[event_count].about = about(&event);
		event_count++;
		ibv_ack_async_event(&event);
		came = true;
	}
	return came;
}

int bi_expect_event(enum ibv_event_type want, const void *what)
{
	int64_t end_us = vp_now_us() + VP_WAIT_MS * 1000;
	bool again = true;

	for (take_events(0); again; again = take_events(100) || vp_now_us() < end_us) {
		for (size_t i = 0; i < event_count; i++) {
			if (events[i].type != want || (what && events[i].about != what))
				continue;
			events[i] = events[--event_count];
			events_met |= UINT32_C(1) << want;
			return 0;
		}
	}
	return bi_fail("no asynchronous event '%s' of that object", ibv_event_type_str(want));
}

/* All that were due have come, and nothing else has. */
static int check_met(const struct bi_case *c)
{
	take_events(0);
	if (event_count)
		return bi_fail("asynchronous event '%s', which is not due",
			       ibv_event_type_str(events[0].type));
	if (events_met != c->events)
		return bi_fail("events 0x%x were met, the table says 0x%x", events_met, c->events);
	if (c->statuses & ~statuses_met)
		return bi_fail("statuses 0x%x were met, the table says 0x%x", statuses_met,
			       c->statuses);
	return 0;
}

static int run_wr(const struct bi_case *c)
{
	struct bi_pair *v = &rig.victim;
	struct ibv_send_wr wr, after;
	struct ibv_sge sge, after_sge;

	if (bi_pair_open(&rig, v, &c->a_opts, &c->b_opts))
		return bi_fail("could not make a pair of QPs");
	if (c->recv_want && post_bad_receive(c))
		return -1;
	vp_fill(rig.src, BI_BYTES, 77);
	bi_write_wr(&rig, &wr, &sge);
	bi_write_wr(&rig, &after, &after_sge);
	after.send_flags = 0;
	after.wr_id = BI_WR_AFTER;
	wr.wr_id = BI_WR_BAD;
	c->spoil(&rig, &wr, &sge);
	wr.next = &after;
	if (bi_post(&rig, &wr) ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_BAD, c->want, c->alt, "requester's") ||
	    bi_expect_wr(&v->a_cq, v->a, BI_WR_AFTER, IBV_WC_WR_FLUSH_ERR, 0, "next request's"))
		return -1;
	if (c->recv_want && bi_expect_wr(&v->b_cq, v->b, BI_WR_RECV, c->recv_want, 0, "receive's"))
		return -1;
	for (uint32_t i = 0; i < 32; i++) {
		if ((c->events >> i & 1) && bi_expect_event((enum ibv_event_type)i, v->b))
			return -1;
	}
	return bi_expect_states(&rig, IBV_QPS_ERR, c->b_fails ? IBV_QPS_ERR : IBV_QPS_RTS);
}

static int run_case(const struct bi_case *c)
{
	int rc;

	fprintf(stderr, "begin %s reason=/%s/\n", c->name, c->reason ? c->reason : "");
	statuses_met = events_met = 0;
	event_count = 0;
	rc = c->run ? c->run(&rig) : run_wr(c);
	bi_drop_key();
	if (witness_works())
		rc = -1;
	if (!rc)
		rc = check_met(c);
	take_events(0);
	bi_pair_close(&rig.victim);
	fprintf(stderr, "end %s\n", c->name);
	printf("%s %s\n", rc ? "FAIL" : "PASS", c->name);
	return rc;
}

/* ---- set-up ---- */

static int buffer(uint8_t **buf, struct ibv_mr **mr)
{
	*buf = mmap(NULL, BI_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*buf == MAP_FAILED)
		return -1;
	*mr = ibv_reg_mr(rig.pd, *buf, BI_BYTES,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				 IBV_ACCESS_REMOTE_ATOMIC);
	return *mr ? 0 : -1;
}

static int set_up(void)
{
	static const struct vp_qp_opts defaults;

	if (vp_open(&rig.dev, device, gid_index))
		return -1;
	rig.pd = ibv_alloc_pd(rig.dev.ctx);
	rig.other_pd = ibv_alloc_pd(rig.dev.ctx);
	if (!rig.pd || !rig.other_pd || buffer(&rig.src, &rig.src_mr) ||
	    buffer(&rig.dst, &rig.dst_mr)) {
		perror("set-up");
		return -1;
	}
	return serve ? 0 : bi_pair_open(&rig, &rig.witness, &defaults, &defaults);
}

static int tear_down(void)
{
	int rc = 0;

	bi_pair_close(&rig.witness);
	if (ibv_dereg_mr(rig.src_mr) || ibv_dereg_mr(rig.dst_mr))
		rc = bi_fail("tear-down: ibv_dereg_mr: %s", strerror(errno));
	if (ibv_dealloc_pd(rig.pd) || ibv_dealloc_pd(rig.other_pd))
		rc = bi_fail("tear-down: ibv_dealloc_pd: %s", strerror(errno));
	vp_close(&rig.dev);
	return rc;
}

static bool is_wanted(const char *name)
{
	for (size_t i = 0; i < wanted_count; i++) {
		if (!strcmp(wanted[i], name))
			return true;
	}
	return wanted_count == 0;
}

/* The nth of all; NULL: there are fewer. */
static const struct bi_case *nth(size_t n)
{
	for (size_t s = 0; s < bi_subject_count; n -= bi_subjects[s++]->count) {
		if (n < bi_subjects[s]->count)
			return &bi_subjects[s]->cases[n];
	}
	return NULL;
}

static bool exists(const char *name)
{
	const struct bi_case *c;

	for (size_t i = 0; (c = nth(i)); i++) {
		if (!strcmp(c->name, name))
			return true;
	}
	return false;
}

static const struct argp_option options[] = {
	{"ib-dev", 'd', "NAME", 0, "RDMA device (the first)", 0},
	{"gid-index", 'x', "N", 0, "GID index (0)", 0},
	{"port", 'p', "N", 0, "TCP port for the peer that is killed (18600)", 0},
	{"serve", 'S', 0, 0, "be that peer", 0},
	{"peer", 'P', "HOST", 0, "where that peer runs (else a child of this process)", 0},
	{"list", 'l', 0, 0, "name the scenarios", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'd':
		device = arg;
		break;
	case 'x':
		gid_index = atoi(arg);
		break;
	case 'p':
		rig.port = atoi(arg);
		break;
	case 'S':
		serve = true;
		break;
	case 'P':
		rig.peer = arg;
		break;
	case 'l':
		list_only = true;
		break;
	case ARGP_KEY_ARG:
		if (wanted_count == sizeof(wanted) / sizeof(wanted[0]))
			argp_error(state, "more than %zu scenarios", wanted_count);
		wanted[wanted_count++] = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "[SCENARIO...]", "what mistakes give", 0,
					 0,	  0};
	uint32_t passed = 0, failed = 0;
	const struct bi_case *c;

	argp_parse(&argp, argc, argv, 0, 0, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; list_only && (c = nth(i)); i++)
		printf("%s\n", c->name);
	if (list_only)
		return 0;
	if (serve)
		return set_up() ? 2 : bi_serve(&rig);
	for (size_t i = 0; i < wanted_count; i++) {
		if (!exists(wanted[i])) {
			fprintf(stderr, "no scenario '%s'; -l names them\n", wanted[i]);
			return 2;
		}
	}
	if (set_up() || !rig.dst)
		return 2;
	for (size_t i = 0; (c = nth(i)); i++) {
		if (!is_wanted(c->name))
			continue;
		if (run_case(c))
			failed++;
		else
			passed++;
	}
	if (tear_down())
		failed++;
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
