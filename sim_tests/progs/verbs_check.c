// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every RC opcode between two processes, every byte checked.
 *
 *   server: verbs_check [options]          client: verbs_check [options] HOST
 *
 * Both halves walk the same table of cases. For each one the server lays out its memory and posts
 * its receives, the client posts the operation and waits for its completions, then each half checks
 * its own memory (the message, and guard bytes around it) and its own completions. Both print a
 * line per case and end with "N passed, N failed"; the exit code is 0 only if nothing failed.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hw_tests/common/oob.h"
#include "sim_tests/progs/vp.h"

#define QPS_MAX	      16
#define REGION_BYTES  (2u << 20) /* memory of one QP */
#define OFFSET	      4099u	 /* where a message starts in its region: not aligned to anything */
#define ATOMIC_OFFSET 4096u
#define GUARD_BYTES   64u
#define GUARD	      0xa5
#define DEPTH	      128
#define SGES	      4
#define INLINE_BYTES  220
#define CASES_MAX     512
#define BIG	      (1u << 20)
#define PSN_START     0xffffe0u /* the first cases wrap it */

enum op { WRITE, WRITE_IMM, READ, SEND, SEND_IMM, FETCH_ADD, CMP_SWAP, OPS };

struct op_info {
	const char *name;
	enum ibv_wr_opcode wr;
	enum ibv_wc_opcode wc;
	bool consumes_recv, has_imm, atomic;
	enum ibv_wc_opcode recv_wc;
};

static const struct op_info op_table[OPS] = {
	[WRITE] = {"WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, false, false, false, 0},
	[WRITE_IMM] = {"WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true, true,
		       false, IBV_WC_RECV_RDMA_WITH_IMM},
	[READ] = {"READ", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, false, false, false, 0},
	[SEND] = {"SEND", IBV_WR_SEND, IBV_WC_SEND, true, false, false, IBV_WC_RECV},
	[SEND_IMM] = {"SEND_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, true, false,
		      IBV_WC_RECV},
	[FETCH_ADD] = {"FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, false, false,
		       true, 0},
	[CMP_SWAP] = {"CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, false, false, true,
		      0},
};

struct check {
	enum op op;
	uint32_t size;	/* bytes of one message */
	uint32_t count; /* messages back to back, the last one signaled */
	uint32_t sges;	/* scatter-gather entries at both ends */
	bool inline_data;
	bool late;    /* the receive is posted after the send */
	bool all_qps; /* on every QP at once, else on one of them */
	uint32_t qp;
	uint64_t start, operand, compare; /* atomics */
};

struct end {
	struct ibv_qp *qp;
	uint8_t *mem; /* REGION_BYTES */
	uint64_t remote_addr;
	uint32_t remote_rkey;
	struct vp_cq send_cq, recv_cq;
};

/* The TCP message each half sends at each step, so that a half that lost its place is noticed. */
struct step {
	uint32_t case_idx, phase;
	uint32_t failed;
	char text[116];
};

static struct {
	const char *device, *server;
	int qps, gid_index, port;
	uint32_t mtu;
	bool event, verbose;
} opt = {.qps = 4, .gid_index = 0, .port = 18515};

static struct vp_dev dev;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static uint8_t *memory;
static struct end ends[QPS_MAX];
static struct check cases[CASES_MAX];
static uint32_t case_count, inline_max;
static int sock = -1;
static char complaint[116]; /* of the case that runs, empty: none yet */

/* ---- the table of cases ---- */

static struct check *add(enum op op, uint32_t size)
{
	struct check *c = &cases[case_count];

	if (case_count == CASES_MAX)
		abort();
	*c = (struct check){.op = op,
			    .size = size,
			    .count = 1,
			    .sges = 1,
			    .qp = case_count % (uint32_t)opt.qps};
	case_count++;
	return c;
}

static void build_sizes(uint32_t mtu)
{
	const uint32_t sizes[] = {0, 1, mtu - 1, mtu, mtu + 1, 65536, 65537, BIG + 3};

	for (enum op op = WRITE; op <= SEND_IMM; op++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			add(op, sizes[i]);
			if (sizes[i] >= SGES)
				add(op, sizes[i])->sges = SGES;
		}
	}
}

static void build_inline(void)
{
	const uint32_t sizes[] = {0, 1, 12, 28, 60, inline_max};
	const enum op ops[] = {WRITE, WRITE_IMM, SEND, SEND_IMM};

	for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			if (sizes[i] <= inline_max)
				add(ops[o], sizes[i])->inline_data = true;
		}
		if (inline_max >= 61) {
			struct check *c = add(ops[o], 61);

			c->inline_data = true;
			c->sges = 3;
		}
	}
}

static void build_atomics(void)
{
	static const struct {
		enum op op;
		uint64_t start, operand, compare;
		uint32_t count;
	} rows[] = {
		{FETCH_ADD, 41, 1, 0, 1},
		{FETCH_ADD, 0xffffffffffffffff, 2, 0, 1},
		{FETCH_ADD, 0x00000000ffffffff, 1, 0, 1},
		{FETCH_ADD, 1000, 7, 0, 40},
		{CMP_SWAP, 0x0123456789abcdef, 0xfedcba9876543210, 0x0123456789abcdef, 1},
		{CMP_SWAP, 0x0123456789abcdef, 0xfedcba9876543210, 0x0123456789abcdee, 1},
		{CMP_SWAP, 0, 0xffffffffffffffff, 0, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check *c = add(rows[i].op, 8);

		c->start = rows[i].start;
		c->operand = rows[i].operand;
		c->compare = rows[i].compare;
		c->count = rows[i].count;
	}
}

static void build_special(uint32_t mtu)
{
	for (enum op op = WRITE; op <= SEND_IMM; op++) {
		add(op, 257)->count = 100;
		add(op, mtu + 1)->count = 20;
		add(op, 65537)->all_qps = true;
	}
	add(SEND, mtu + 1)->late = true;
	add(SEND_IMM, 1)->late = true;
	add(WRITE_IMM, 2 * mtu)->late = true;
}

/* ---- complaints ---- */

__attribute__((format(printf, 1, 2))) static void complain(const char *fmt, ...)
{
	va_list ap;

	if (complaint[0])
		return; /* the first one tells most */
	va_start(ap, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
}

static uint32_t seed_of(uint32_t case_idx, uint32_t qp)
{
	return case_idx * 5 + qp + 1;
}

static uint32_t imm_of(uint32_t case_idx, uint32_t i)
{
	return 0xc0de0000u ^ case_idx << 8 ^ i;
}

static uint32_t first_qp(const struct check *c)
{
	return c->all_qps ? 0 : c->qp;
}

static uint32_t end_qp(const struct check *c)
{
	return c->all_qps ? (uint32_t)opt.qps : c->qp + 1;
}

/* ---- memory ---- */

static uint8_t *message(const struct check *c, struct end *e)
{
	return e->mem + (op_table[c->op].atomic ? ATOMIC_OFFSET : OFFSET);
}

static size_t message_len(const struct check *c)
{
	return (size_t)c->size * (op_table[c->op].atomic ? 1 : c->count);
}

/* Pattern, atomic start value or guard bytes; guard bytes around it in any case. */
static void lay_out(const struct check *c, struct end *e, uint32_t seed, bool source)
{
	uint8_t *m = message(c, e);
	size_t len = message_len(c);

	memset(m - GUARD_BYTES, GUARD, len + 2 * GUARD_BYTES);
	if (source && op_table[c->op].atomic)
		memcpy(m, &c->start, sizeof(c->start));
	else if (source)
		vp_fill(m, len, seed);
}

static void check_guards(const struct check *c, struct end *e)
{
	uint8_t *m = message(c, e);
	ssize_t at = vp_not(m - GUARD_BYTES, GUARD_BYTES, GUARD);

	if (at >= 0)
		complain("byte %zd before the message was changed to 0x%02x", GUARD_BYTES - at,
			 m[at - (ssize_t)GUARD_BYTES]);
	at = vp_not(m + message_len(c), GUARD_BYTES, GUARD);
	if (at >= 0)
		complain("byte %zd after the message was changed to 0x%02x", at,
			 m[message_len(c) + (size_t)at]);
}

static void check_bytes(const struct check *c, struct end *e, uint32_t seed)
{
	uint8_t *m = message(c, e);
	ssize_t at = vp_wrong(m, message_len(c), seed);

	if (at >= 0)
		complain("byte %zd of %zu is 0x%02x, expected 0x%02x", at, message_len(c), m[at],
			 vp_pattern(seed, (size_t)at));
	check_guards(c, e);
}

/* Splits [addr, addr + len) into c->sges entries of unequal length; returns how many. */
static int scatter(const struct check *c, uint8_t *addr, uint32_t len, struct ibv_sge *sge)
{
	uint32_t n = c->sges, done = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len - done : i == 0 ? 1 : (len - done) / (n - i + 1);

		sge[i] = (struct ibv_sge){(uintptr_t)addr + done, part, mr->lkey};
		done += part;
	}
	return len ? (int)n : 0;
}

/* ---- completions ---- */

static bool take(struct vp_cq *cq, struct ibv_wc *wc, const char *side)
{
	int n = vp_next(cq, wc, VP_WAIT_MS);

	if (n == 1 && wc->status == IBV_WC_SUCCESS)
		return true;
	if (n == 1)
		complain("%s completion: status %s, vendor 0x%x", side,
			 ibv_wc_status_str(wc->status), wc->vendor_err);
	else
		complain("no %s completion within %d ms", side, VP_WAIT_MS);
	return false;
}

static void check_nothing_left(struct end *e)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(e->send_cq.cq, 1, &wc) > 0)
		complain("a send completion too many: wr_id %llu", (unsigned long long)wc.wr_id);
	if (ibv_poll_cq(e->recv_cq.cq, 1, &wc) > 0)
		complain("a receive completion too many: wr_id %llu", (unsigned long long)wc.wr_id);
}

/* ---- client ---- */

static int post_one(const struct check *c, struct end *e, uint32_t case_idx, uint32_t i)
{
	const struct op_info *op = &op_table[c->op];
	size_t offset = op->atomic ? 0 : (size_t)i * c->size;
	struct ibv_sge sge[SGES];
	struct ibv_send_wr wr = {
		.wr_id = i,
		.sg_list = sge,
		.num_sge = scatter(c, message(c, e) + offset, c->size, sge),
		.opcode = op->wr,
		.send_flags = (i + 1 == c->count || op->atomic ? IBV_SEND_SIGNALED : 0) |
			      (c->inline_data ? IBV_SEND_INLINE : 0),
		.imm_data = op->has_imm ? htobe32(imm_of(case_idx, i)) : 0,
	};
	struct ibv_send_wr *bad;
	uint64_t remote = e->remote_addr + (op->atomic ? ATOMIC_OFFSET : OFFSET) + offset;

	if (op->atomic) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = e->remote_rkey;
		wr.wr.atomic.compare_add = c->op == FETCH_ADD ? c->operand : c->compare;
		wr.wr.atomic.swap = c->operand;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = e->remote_rkey;
	}
	errno = ibv_post_send(e->qp, &wr, &bad);
	if (errno)
		complain("ibv_post_send: %s", strerror(errno));
	return errno;
}

static void check_old_value(const struct check *c, struct end *e, uint32_t i)
{
	uint64_t old, want = c->start + (c->op == FETCH_ADD ? i * c->operand : 0);

	memcpy(&old, message(c, e), sizeof(old));
	if (old != want)
		complain("atomic %u returned 0x%llx, expected 0x%llx", i, (unsigned long long)old,
			 (unsigned long long)want);
}

static void check_send_wc(const struct check *c, const struct ibv_wc *wc, uint32_t wr_id,
			  struct end *e)
{
	const struct op_info *op = &op_table[c->op];

	if (wc->opcode != op->wc || wc->wr_id != wr_id || wc->qp_num != e->qp->qp_num)
		complain("send completion: opcode %d wr_id %llu qpn 0x%x, expected %d %u 0x%x",
			 wc->opcode, (unsigned long long)wc->wr_id, wc->qp_num, op->wc, wr_id,
			 e->qp->qp_num);
	if ((c->op == READ || op->atomic) && wc->byte_len != c->size)
		complain("send completion: byte_len %u, expected %u", wc->byte_len, c->size);
}

/* Atomics return to one place, so each is awaited before the next; all others go back to back. */
static void client_post(const struct check *c, struct end *e, uint32_t case_idx)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < c->count && !complaint[0]; i++) {
		if (post_one(c, e, case_idx, i) || !op_table[c->op].atomic)
			continue;
		if (take(&e->send_cq, &wc, "send")) {
			check_send_wc(c, &wc, i, e);
			check_old_value(c, e, i);
		}
	}
}

static void client_finish(const struct check *c, struct end *e, uint32_t seed)
{
	struct ibv_wc wc;

	if (!op_table[c->op].atomic && !complaint[0] && take(&e->send_cq, &wc, "send"))
		check_send_wc(c, &wc, c->count - 1, e);
	if (complaint[0])
		return;
	if (!op_table[c->op].atomic)
		check_bytes(c, e, seed);
	else
		check_guards(c, e);
	check_nothing_left(e);
}

/* ---- server ---- */

static void server_post(const struct check *c, struct end *e)
{
	if (!op_table[c->op].consumes_recv)
		return;
	for (uint32_t i = 0; i < c->count; i++) {
		struct ibv_sge sge[SGES];
		struct ibv_recv_wr *bad, wr = {.wr_id = i, .sg_list = sge};

		if (c->op != WRITE_IMM)
			wr.num_sge = scatter(c, message(c, e) + (size_t)i * c->size, c->size, sge);
		errno = ibv_post_recv(e->qp, &wr, &bad);
		if (errno)
			complain("ibv_post_recv: %s", strerror(errno));
	}
}

static void server_receive(const struct check *c, struct end *e, uint32_t case_idx)
{
	const struct op_info *op = &op_table[c->op];
	struct ibv_wc wc;

	for (uint32_t i = 0; op->consumes_recv && i < c->count; i++) {
		if (!take(&e->recv_cq, &wc, "receive"))
			return;
		if (wc.opcode != op->recv_wc || wc.wr_id != i || wc.byte_len != c->size ||
		    wc.qp_num != e->qp->qp_num)
			complain(
				"receive completion %u: opcode %d wr_id %llu byte_len %u qpn 0x%x, "
				"expected %d %u %u 0x%x",
				i, wc.opcode, (unsigned long long)wc.wr_id, wc.byte_len, wc.qp_num,
				op->recv_wc, i, c->size, e->qp->qp_num);
		if (!!(wc.wc_flags & IBV_WC_WITH_IMM) != op->has_imm)
			complain("receive completion %u: flags 0x%x", i, wc.wc_flags);
		if (op->has_imm && be32toh(wc.imm_data) != imm_of(case_idx, i))
			complain("receive completion %u: immediate 0x%x, expected 0x%x", i,
				 be32toh(wc.imm_data), imm_of(case_idx, i));
	}
}

static void check_final_value(const struct check *c, struct end *e)
{
	uint64_t want = c->op == FETCH_ADD	 ? c->start + c->count * c->operand
			: c->start == c->compare ? c->operand
						 : c->start;
	uint64_t value;

	memcpy(&value, message(c, e), sizeof(value));
	if (value != want)
		complain("atomic left 0x%llx, expected 0x%llx", (unsigned long long)value,
			 (unsigned long long)want);
}

static void server_check(const struct check *c, struct end *e, uint32_t case_idx, uint32_t seed)
{
	server_receive(c, e, case_idx);
	if (complaint[0])
		return;
	if (op_table[c->op].atomic) {
		check_final_value(c, e);
		check_guards(c, e);
	} else {
		check_bytes(c, e, seed);
	}
	check_nothing_left(e);
}

/* ---- one case, both halves ---- */

enum { PHASE_READY, PHASE_POSTED, PHASE_DONE, PHASE_VERDICT };

/* Meets the other half. 0, or -1: it is gone or elsewhere, nothing more can be tested. */
static int meet(uint32_t case_idx, uint32_t phase, struct step *theirs)
{
	struct step mine = {.case_idx = case_idx, .phase = phase, .failed = complaint[0] != 0};

	memcpy(mine.text, complaint, sizeof(mine.text));
	if (oob_swap(sock, &mine, theirs, sizeof(mine), "a step"))
		return -1;
	if (theirs->case_idx == case_idx && theirs->phase == phase)
		return 0;
	fprintf(stderr, "out of step: here case %u phase %u, the peer is at case %u phase %u\n",
		case_idx, phase, theirs->case_idx, theirs->phase);
	return -1;
}

static int run_client(const struct check *c, uint32_t idx, struct step *verdict)
{
	uint32_t q;

	for (q = first_qp(c); q < end_qp(c); q++)
		lay_out(c, &ends[q], seed_of(idx, q), c->op != READ && !op_table[c->op].atomic);
	if (meet(idx, PHASE_READY, verdict))
		return -1;
	for (q = first_qp(c); q < end_qp(c); q++)
		client_post(c, &ends[q], idx);
	if (c->late && meet(idx, PHASE_POSTED, verdict))
		return -1;
	for (q = first_qp(c); q < end_qp(c); q++)
		client_finish(c, &ends[q], seed_of(idx, q));
	if (meet(idx, PHASE_DONE, verdict))
		return -1;
	return meet(idx, PHASE_VERDICT, verdict);
}

static int run_server(const struct check *c, uint32_t idx, struct step *verdict)
{
	uint32_t q;

	for (q = first_qp(c); q < end_qp(c); q++) {
		lay_out(c, &ends[q], seed_of(idx, q), c->op == READ || op_table[c->op].atomic);
		if (!c->late)
			server_post(c, &ends[q]);
	}
	if (meet(idx, PHASE_READY, verdict))
		return -1;
	if (c->late) {
		if (meet(idx, PHASE_POSTED, verdict))
			return -1;
		for (q = first_qp(c); q < end_qp(c); q++)
			server_post(c, &ends[q]);
	}
	if (meet(idx, PHASE_DONE, verdict))
		return -1;
	/* A client that failed may not have sent: then receives would only run into the time limit.
	 */
	for (q = first_qp(c); q < end_qp(c) && !verdict->failed; q++)
		server_check(c, &ends[q], idx, seed_of(idx, q));
	return meet(idx, PHASE_VERDICT, verdict);
}

static void describe(const struct check *c, char *out, size_t len)
{
	snprintf(out, len, "%s %u B%s%s%s", op_table[c->op].name, c->size,
		 c->inline_data ? " inline" : "", c->late ? " late receive" : "",
		 c->all_qps ? " all QPs" : "");
	if (c->count > 1)
		snprintf(out + strlen(out), len - strlen(out), " x%u", c->count);
	if (c->sges > 1)
		snprintf(out + strlen(out), len - strlen(out), " %u SGEs", c->sges);
}

/* Runs the table; stops at the first failure of the transport, whose QP is then in error. */
static int run_cases(uint32_t *passed, uint32_t *failed)
{
	for (uint32_t idx = 0; idx < case_count; idx++) {
		struct check *c = &cases[idx];
		struct step verdict = {0};
		char name[80];
		int rc;

		complaint[0] = 0;
		describe(c, name, sizeof(name));
		rc = opt.server ? run_client(c, idx, &verdict) : run_server(c, idx, &verdict);
		if (!rc && !verdict.failed && !complaint[0]) {
			(*passed)++;
			printf("PASS %-36s qp %u\n", name, c->qp);
			continue;
		}
		(*failed)++;
		verdict.text[sizeof(verdict.text) - 1] = 0;
		printf("FAIL %-36s qp %u: here: %s; peer: %s\n", name, c->qp,
		       complaint[0] ? complaint : "ok",
		       rc		? "lost"
		       : verdict.failed ? verdict.text
					: "ok");
		for (uint32_t q = first_qp(c); q < end_qp(c); q++)
			rc |= vp_qp_state(ends[q].qp) != IBV_QPS_RTS;
		if (rc)
			return -1;
	}
	return 0;
}

/* ---- set-up ---- */

static int connect_end(struct end *e, const struct vp_qp_opts *opts)
{
	struct hello {
		struct vp_dest dest;
		uint64_t addr;
		uint32_t rkey, qps;
	} mine = {.addr = (uintptr_t)e->mem, .rkey = mr->rkey, .qps = (uint32_t)opt.qps}, theirs;

	vp_qp_dest(&dev, e->qp, opts, &mine.dest);
	if (oob_swap(sock, &mine, &theirs, sizeof(mine), "queue pair"))
		return -1;
	if (theirs.qps != (uint32_t)opt.qps || theirs.dest.mtu != mine.dest.mtu) {
		fprintf(stderr,
			"the peer has %u QPs and MTU code %u, this half %d and %u: give both the "
			"same options\n",
			theirs.qps, theirs.dest.mtu, opt.qps, mine.dest.mtu);
		return -1;
	}
	e->remote_addr = theirs.addr;
	e->remote_rkey = theirs.rkey;
	return vp_qp_connect(&dev, e->qp, opts, &theirs.dest);
}

static int set_up(void)
{
	struct vp_qp_opts opts = {.send_wr = DEPTH,
				  .recv_wr = DEPTH,
				  .sges = SGES,
				  .inline_len = INLINE_BYTES,
				  .psn = PSN_START,
				  .mtu = opt.mtu};
	size_t bytes = (size_t)REGION_BYTES * (size_t)opt.qps;
	struct ibv_qp_cap cap;

	if (vp_open(&dev, opt.device, opt.gid_index))
		return -1;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pd = ibv_alloc_pd(dev.ctx);
	if (memory == MAP_FAILED || !pd)
		return -1;
	mr = ibv_reg_mr(pd, memory, bytes,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr) {
		perror("ibv_reg_mr");
		return -1;
	}
	for (int q = 0; q < opt.qps; q++) {
		struct end *e = &ends[q];

		e->mem = memory + (size_t)q * REGION_BYTES;
		if (vp_cq_open(&dev, &e->send_cq, DEPTH, opt.event) ||
		    vp_cq_open(&dev, &e->recv_cq, DEPTH, opt.event))
			return -1;
		e->qp = vp_qp_open(pd, &e->send_cq, &e->recv_cq, &opts, &cap);
		if (!e->qp)
			return -1;
		inline_max =
			cap.max_inline_data < INLINE_BYTES ? cap.max_inline_data : INLINE_BYTES;
		if (connect_end(e, &opts))
			return -1;
	}
	return 0;
}

/* An asynchronous event during correct work is an error of the NIC. */
static uint32_t unexpected_events(void)
{
	struct pollfd p = {.fd = dev.ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	if (poll(&p, 1, 0) <= 0 || ibv_get_async_event(dev.ctx, &event))
		return 0;
	printf("FAIL asynchronous event: %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
	return 1;
}

static uint32_t tear_down(void)
{
	uint32_t failed = 0;

	for (int q = 0; q < opt.qps; q++) {
		if (ends[q].qp && ibv_destroy_qp(ends[q].qp))
			failed++;
		vp_cq_close(&ends[q].send_cq);
		vp_cq_close(&ends[q].recv_cq);
	}
	if (mr && ibv_dereg_mr(mr))
		failed++;
	if (pd && ibv_dealloc_pd(pd))
		failed++;
	vp_close(&dev);
	if (failed)
		printf("FAIL tear-down: %u objects could not be destroyed\n", failed);
	return failed;
}

static const struct argp_option options[] = {
	{"ib-dev", 'd', "NAME", 0, "RDMA device (the first)", 0},
	{"qp", 'q', "N", 0, "queue pairs, 1..16 (4)", 0},
	{"gid-index", 'x', "N", 0, "GID index (0)", 0},
	{"port", 'p', "N", 0, "TCP port (18515)", 0},
	{"mtu", 'm', "BYTES", 0, "path MTU (the port's)", 0},
	{"events", 'e', 0, 0, "sleep on completion events", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'd':
		opt.device = arg;
		break;
	case 'q':
		opt.qps = atoi(arg);
		if (opt.qps < 1 || opt.qps > QPS_MAX)
			argp_error(state, "-q %s: 1..%d expected", arg, QPS_MAX);
		break;
	case 'x':
		opt.gid_index = atoi(arg);
		break;
	case 'p':
		opt.port = atoi(arg);
		break;
	case 'm':
		for (opt.mtu = IBV_MTU_256; opt.mtu <= IBV_MTU_4096 && 128 << opt.mtu != atoi(arg);
		     opt.mtu++)
			;
		if (opt.mtu > IBV_MTU_4096)
			argp_error(state, "-m %s: 256, 512, 1024, 2048 or 4096 expected", arg);
		break;
	case 'e':
		opt.event = true;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		opt.server = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "[SERVER]", "RC verbs, every byte checked",
					 0,	  0,	 0};
	uint32_t passed = 0, failed = 0, mtu;

	argp_parse(&argp, argc, argv, 0, 0, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	sock = opt.server ? oob_connect(opt.server, (uint16_t)opt.port, 20000)
			  : oob_accept((uint16_t)opt.port, 60000);
	if (sock < 0 || set_up())
		return 2;
	mtu = 128u << (opt.mtu ? opt.mtu : (uint32_t)dev.port.active_mtu);
	printf("MTU %u, %d QPs, %s, inline up to %u\n", mtu, opt.qps,
	       opt.event ? "events" : "polling", inline_max);
	build_sizes(mtu);
	build_inline();
	build_atomics();
	build_special(mtu);
	if (run_cases(&passed, &failed))
		printf("stopped: %u cases were not run\n", case_count - passed - failed);
	failed += unexpected_events();
	failed += tear_down();
	printf("%u passed, %u failed\n", passed, failed);
	return failed || passed != case_count;
}
