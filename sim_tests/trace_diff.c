// SPDX-License-Identifier: BSD-3-Clause
/* gdakit trace-diff: what counts as a difference between two recordings, and what does not. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prm/prm.h"
#include "tools/trace.h"

/* ---- recordings, made by hand ---- */

struct tape {
	uint8_t bytes[1 << 16];
	size_t len;
};

/* What may be chosen, and what may not. */
struct run {
	uint32_t qpn, cqn, mkey, remote_qpn, rkey, uid;
	uint64_t local, remote; /* where memory begins */
	uint32_t psn, rings, wqes;
	uint32_t log_sq_size, bytes; /* must be the same */
	uint64_t offset;
};

static const struct run usual = {.qpn = 0x100,
				 .cqn = 0x80,
				 .mkey = 0x101,
				 .remote_qpn = 0x200,
				 .rkey = 0x33301,
				 .uid = 1,
				 .local = 0x10000,
				 .remote = 0x900000,
				 .psn = 7,
				 .rings = 1,
				 .wqes = 3,
				 .log_sq_size = 7,
				 .bytes = 64,
				 .offset = 128};
static const struct run another_day = {.qpn = 0x177,
				       .cqn = 0x99,
				       .mkey = 0x505,
				       .remote_qpn = 0x201,
				       .rkey = 0x77702,
				       .uid = 4,
				       .local = 0x7f0000,
				       .remote = 0x123000,
				       .psn = 0xfffff0,
				       .rings = 3,
				       .wqes = 3,
				       .log_sq_size = 7,
				       .bytes = 64,
				       .offset = 128};

static void put(struct tape *t, const void *p, size_t len)
{
	cr_assert(t->len + len <= sizeof(t->bytes));
	if (len)
		memcpy(t->bytes + t->len, p, len);
	t->len += len;
}

static void begin(struct tape *t, uint16_t version)
{
	const struct rec_file_header h = {
		.magic = REC_MAGIC, .order = REC_ORDER, .version = version, .len = sizeof(h)};

	t->len = 0;
	put(t, &h, sizeof(h));
}

static void record(struct tape *t, enum rec_kind kind, uint32_t qpn, const void *body,
		   const void *blob0, uint32_t len0, const void *blob1, uint32_t len1)
{
	static const uint8_t zeros[REC_ALIGN];
	const struct rec_shape *shape = rec_shape(kind);
	const uint32_t len = sizeof(struct rec_head) + shape->fixed + len0 + len1;
	const uint32_t padding = -len % REC_ALIGN;
	const struct rec_head head = {.len = len + padding, .kind = (uint16_t)kind, .qpn = qpn};

	put(t, &head, sizeof(head));
	put(t, body, shape->fixed);
	put(t, blob0, len0);
	put(t, blob1, len1);
	put(t, zeros, padding);
}

static void command(struct tape *t, const struct run *run, uint16_t opcode, uint8_t *in,
		    uint32_t in_len, uint8_t *out, uint32_t out_len)
{
	const struct rec_command c = {.opcode = opcode,
				      .uid = (uint16_t)run->uid,
				      .in_len = in_len,
				      .out_len = out_len,
				      .in_kept = in_len,
				      .out_kept = out_len};

	PRM_SET(cmd_in, in, opcode, opcode);
	PRM_SET(cmd_in, in, uid, run->uid);
	record(t, REC_COMMAND, 0, &c, in, in_len, out, out_len);
}

static void create_cq(struct tape *t, const struct run *run)
{
	uint8_t in[PRM_SIZE(create_cq_in)] = {0}, out[PRM_SIZE(obj_out)] = {0};

	PRM_SET(obj_out, out, number, run->cqn);
	command(t, run, PRM_CMD_CREATE_CQ, in, sizeof(in), out, sizeof(out));
}

static void create_mkey(struct tape *t, const struct run *run, uint32_t mkey)
{
	uint8_t in[PRM_SIZE(create_mkey_in)] = {0}, out[PRM_SIZE(create_mkey_out)] = {0};
	uint8_t *mkc = PRM_PTR(create_mkey_in, in, mkc);

	PRM_SET64(mkc, mkc, start_addr, run->local);
	PRM_SET64(mkc, mkc, len, 4096);
	PRM_SET(create_mkey_out, out, mkey_index, mkey >> 8);
	command(t, run, PRM_CMD_CREATE_MKEY, in, sizeof(in), out, sizeof(out));
}

static void create_qp(struct tape *t, const struct run *run)
{
	uint8_t in[PRM_SIZE(create_qp_in)] = {0}, out[PRM_SIZE(obj_out)] = {0};
	uint8_t *qpc = PRM_PTR(create_qp_in, in, qpc);

	PRM_SET(qpc, qpc, log_sq_size, run->log_sq_size);
	PRM_SET(qpc, qpc, cqn_snd, run->cqn);
	PRM_SET(obj_out, out, number, run->qpn);
	command(t, run, PRM_CMD_CREATE_QP, in, sizeof(in), out, sizeof(out));
}

static void ring(struct tape *t, const struct run *run, uint32_t index)
{
	const struct rec_doorbell b = {.offset = 0x800,
				       .value = (uint64_t)index << 40 | (uint64_t)run->qpn << 8};

	record(t, REC_DOORBELL, run->qpn, &b, NULL, 0, NULL, 0);
}

static void wqe(struct tape *t, const struct run *run, uint16_t index, uint32_t lkey)
{
	uint8_t w[64] = {0};
	const struct rec_fetch f = {
		.wqe_idx = index, .slot = index, .len = sizeof(w), .kept = sizeof(w)};

	prm_store32(w, (uint32_t)index << 8 | PRM_WQE_RDMA_WRITE);
	prm_store32(w + 4, run->qpn << 8 | 3);
	w[8] = (uint8_t)run->psn;      /* reserved: nobody's business */
	prm_store32(w + 12, run->psn); /* an immediate that a WRITE does not carry */
	prm_store64(w + 16, run->remote + run->offset);
	prm_store32(w + 24, run->rkey);
	prm_store32(w + 32, run->bytes);
	prm_store32(w + 36, lkey);
	prm_store64(w + 40, run->local + run->offset);
	record(t, REC_FETCH, run->qpn, &f, w, sizeof(w), NULL, 0);
}

static void packet(struct tape *t, const struct run *run, enum rec_kind kind, uint32_t psn)
{
	uint8_t bth[28] = {0x0a, 0, 0xff, 0xff};
	const struct rec_packet p = {.hdr_len = sizeof(bth), .payload_len = run->bytes};

	prm_store32(bth + 4, run->remote_qpn);
	prm_store32(bth + 8, (run->psn + psn) & 0xffffff);
	prm_store64(bth + 12, run->remote + run->offset);
	prm_store32(bth + 20, run->rkey);
	prm_store32(bth + 24, run->bytes);
	record(t, kind, run->qpn, &p, bth, sizeof(bth), NULL, 0);
}

static void end(struct tape *t)
{
	const struct rec_end e = {0};

	record(t, REC_END, 0, &e, NULL, 0, NULL, 0);
}

static void set_up(struct tape *t, const struct run *run)
{
	begin(t, REC_VERSION);
	create_cq(t, run);
	create_mkey(t, run, run->mkey);
	create_qp(t, run);
}

static void play(struct tape *t, const struct run *run)
{
	set_up(t, run);
	for (uint32_t i = 0; i < run->rings; i++)
		ring(t, run, i + 1);
	for (uint32_t i = 0; i < run->wqes; i++) {
		wqe(t, run, (uint16_t)i, run->mkey);
		packet(t, run, REC_TX, i);
	}
	end(t);
}

static void load(struct trace *trace, const struct tape *t, bool program)
{
	FILE *f = fmemopen((void *)(uintptr_t)t->bytes, t->len, "r");
	char why[REC_WHY_MAX] = "";

	cr_assert_not_null(f);
	cr_assert_eq(trace_load(trace, f, ~0u, program, why), 0, "%s", why);
	fclose(f);
}

static void compare_as(struct diff *d, const struct tape *a, const struct tape *b, bool program)
{
	struct trace ta, tb;

	memset(d, 0, sizeof(*d));
	load(&ta, a, program);
	load(&tb, b, program);
	trace_compare(&ta, &tb, d);
	cr_assert_not(d->no_memory);
	trace_free(&ta);
	trace_free(&tb);
}

static void compare(struct diff *d, const struct tape *a, const struct tape *b)
{
	compare_as(d, a, b, false);
}

static void expect_field(const struct difference *d, const char *what, const char *field,
			 const char *a, const char *b, uint64_t count)
{
	cr_assert_eq(d->only, IN_BOTH);
	cr_expect_str_eq(d->what, what);
	cr_expect_str_eq(d->field, field);
	cr_expect_str_eq(d->a, a);
	cr_expect_str_eq(d->b, b);
	cr_expect_eq(d->count, count);
}

static struct tape a, b;
static struct diff diff;

/* ---- what counts ---- */

Test(trace_diff, a_recording_equals_itself)
{
	play(&a, &usual);
	compare(&diff, &a, &a);
	cr_expect_eq(diff.n, 0);
	cr_expect_eq(diff.paired, 3 + 1 + 2 * usual.wqes + 1);
	diff_free(&diff);
}

Test(trace_diff, numbers_addresses_keys_psns_and_rings_may_differ)
{
	play(&a, &usual);
	play(&b, &another_day);
	compare(&diff, &a, &b);
	cr_expect_eq(diff.n, 0, "%s %s", diff.n ? diff.v[0].what : "",
		     diff.n ? diff.v[0].field : "");
	diff_free(&diff);
}

Test(trace_diff, one_field_of_a_command_is_told_with_its_name_and_values)
{
	struct run run = another_day;

	run.log_sq_size = 11;
	play(&a, &usual);
	play(&b, &run);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 1);
	expect_field(&diff.v[0], "CREATE_QP", "in.body.qpc.log_sq_size", "0x7", "0xb", 1);
	cr_expect_eq(diff.v[0].seq_a, 2);
	diff_free(&diff);
}

Test(trace_diff, a_field_that_is_0_in_one_of_them_is_told)
{
	struct run run = usual;

	run.log_sq_size = 0;
	play(&a, &run);
	play(&b, &usual);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 1);
	expect_field(&diff.v[0], "CREATE_QP", "in.body.qpc.log_sq_size", "0", "0x7", 1);
	diff_free(&diff);
}

Test(trace_diff, the_same_difference_of_many_wqes_is_told_once_and_counted)
{
	struct run run = another_day;

	run.bytes = 32;
	play(&a, &usual);
	play(&b, &run);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 3); /* the WQE; the packet's RETH and payload */
	expect_field(&diff.v[0], "RDMA_WRITE", "data0.bytes", "64", "32", 3);
	expect_field(&diff.v[1], "RC_WRITE_only", "dma_len", "64", "32", 3);
	expect_field(&diff.v[2], "RC_WRITE_only", "payload_len", "64", "32", 3);
	diff_free(&diff);
}

Test(trace_diff, another_place_in_the_memory_of_a_key_is_a_difference)
{
	play(&a, &usual);
	set_up(&b, &another_day);
	ring(&b, &another_day, 1);
	for (uint32_t i = 0; i < usual.wqes; i++) {
		struct run run = another_day;

		run.offset += i == 1 ? 8 : 0;
		wqe(&b, &run, (uint16_t)i, run.mkey);
		packet(&b, &another_day, REC_TX, i);
	}
	end(&b);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 2);
	/* where a peer's memory begins is not known: it is counted from the first access */
	expect_field(&diff.v[0], "RDMA_WRITE", "raddr.va", "+0", "+8", 1);
	expect_field(&diff.v[1], "RDMA_WRITE", "data0.va", "+128", "+136", 1);
	diff_free(&diff);
}

Test(trace_diff, a_number_must_stand_for_the_same_object_everywhere)
{
	struct run run = another_day;

	set_up(&a, &usual);
	create_mkey(&a, &usual, 0x901);
	wqe(&a, &usual, 0, usual.mkey);
	wqe(&a, &usual, 1, 0x901);
	set_up(&b, &run);
	create_mkey(&b, &run, 0x902);
	wqe(&b, &run, 0, run.mkey);
	wqe(&b, &run, 1, run.mkey);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 1);
	expect_field(&diff.v[0], "RDMA_WRITE", "data0.lkey", "0x901", "0x505", 1);
	diff_free(&diff);
}

Test(trace_diff, a_peers_key_may_have_the_number_of_one_of_ours)
{
	struct run run = another_day;

	run.rkey = usual.rkey;
	run.mkey = usual.mkey;
	set_up(&a, &usual);
	create_mkey(&a, &usual, usual.rkey); /* the peer's number, but here */
	set_up(&b, &run);
	create_mkey(&b, &run, 0x70001);
	for (uint16_t i = 0; i < 2; i++) {
		wqe(&a, &usual, i, usual.mkey);
		wqe(&b, &run, i, run.mkey);
	}
	compare(&diff, &a, &b);
	cr_expect_eq(diff.n, 0, "%s %s", diff.n ? diff.v[0].what : "",
		     diff.n ? diff.v[0].field : "");
	diff_free(&diff);
}

Test(trace_diff, what_a_peer_asks_for_is_in_our_region_whatever_its_keys_numbers)
{
	struct run in = usual, run = another_day;

	run.rkey = run.mkey; /* the peer's key has the number of ours */
	in.remote = in.local;
	in.rkey = in.mkey;
	set_up(&a, &usual);
	wqe(&a, &usual, 0, usual.mkey);
	packet(&a, &in, REC_RX, 0);
	set_up(&b, &run);
	wqe(&b, &run, 0, run.mkey);
	run.remote = run.local;
	packet(&b, &run, REC_RX, 0);
	compare(&diff, &a, &b);
	cr_expect_eq(diff.n, 0, "%s %s", diff.n ? diff.v[0].what : "",
		     diff.n ? diff.v[0].field : "");
	diff_free(&diff);
}

Test(trace_diff, a_remote_key_of_this_host_has_its_region)
{
	struct run run = usual;

	run.remote = run.local;
	run.rkey = run.mkey;
	set_up(&a, &run);
	wqe(&a, &run, 0, run.mkey);
	set_up(&b, &run);
	run.offset += 4;
	wqe(&b, &run, 0, run.mkey);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 2);
	expect_field(&diff.v[0], "RDMA_WRITE", "raddr.va", "+128", "+132", 1);
	diff_free(&diff);
}

Test(trace_diff, a_record_that_is_missing_is_told_and_shifts_nothing)
{
	play(&a, &usual);
	set_up(&b, &another_day);
	create_cq(&b, &(struct run){.cqn = 0x200, .uid = another_day.uid});
	ring(&b, &another_day, 1);
	for (uint32_t i = 0; i < usual.wqes; i++)
		wqe(&b, &another_day, (uint16_t)i, another_day.mkey);
	packet(&b, &another_day, REC_TX, 0);
	packet(&b, &another_day, REC_TX, 2);
	end(&b);
	compare(&diff, &a, &b);
	cr_assert_eq(diff.n, 2);
	cr_expect_eq(diff.v[0].only, ONLY_IN_B);
	cr_expect_str_eq(diff.v[0].what, "CREATE_CQ");
	cr_expect_eq(diff.v[1].only, ONLY_IN_A);
	cr_expect_str_eq(diff.v[1].what, "RC_WRITE_only");
	cr_expect_eq(diff.v[1].count, 1);
	diff_free(&diff);
}

Test(trace_diff, packets_of_the_other_direction_are_another_stream)
{
	set_up(&a, &usual);
	packet(&a, &usual, REC_TX, 0);
	packet(&a, &usual, REC_RX, 0);
	set_up(&b, &another_day);
	packet(&b, &another_day, REC_RX, 0);
	packet(&b, &another_day, REC_TX, 0);
	compare(&diff, &a, &b);
	cr_expect_eq(diff.n, 0);
	diff_free(&diff);
}

Test(trace_diff, of_the_program_neither_answers_nor_the_systems_commands_count)
{
	struct run system = usual;
	uint8_t in[PRM_SIZE(cmd_in)] = {0}, out[32] = {0};

	system.uid = 0;
	play(&a, &usual);
	set_up(&b, &another_day);
	create_cq(&b, &system);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_ISSI);
	command(&b, &another_day, PRM_CMD_QUERY_ISSI, in, sizeof(in), out, sizeof(out));
	set_up(&a, &usual);
	out[10] = 1;
	command(&a, &usual, PRM_CMD_QUERY_ISSI, in, sizeof(in), out, sizeof(out));
	compare_as(&diff, &a, &b, true);
	cr_expect_eq(diff.n, 0);
	diff_free(&diff);
	compare(&diff, &a, &b);
	cr_expect_eq(diff.n, 2);
	diff_free(&diff);
}

Test(trace_diff, streams_too_long_for_a_table_are_paired_by_place)
{
	struct run run = usual;
	struct trace ta, tb;

	set_up(&a, &usual);
	set_up(&b, &usual);
	for (uint32_t i = 0; i < 300; i++) {
		run.bytes = 2 * i + 1;
		wqe(&a, &run, (uint16_t)i, run.mkey);
		run.bytes = 2 * i + 2;
		wqe(&b, &run, (uint16_t)i, run.mkey);
	}
	load(&ta, &a, false);
	load(&tb, &b, false);
	/* the same WQEs again and again: 6,000 on each side */
	for (struct trace *t = &ta; t; t = t == &ta ? &tb : NULL) {
		struct stream *s = &t->streams[t->nstreams - 1];
		const uint32_t n = s->n;

		cr_assert_eq(n, 300);
		s->records = realloc(s->records, 20 * n * sizeof(*s->records));
		cr_assert_not_null(s->records);
		for (uint32_t i = n; i < 20 * n; i++)
			s->records[i] = s->records[i % n];
		s->n = 20 * n;
	}
	memset(&diff, 0, sizeof(diff));
	trace_compare(&ta, &tb, &diff);
	cr_assert_eq(diff.n, 1);
	expect_field(&diff.v[0], "RDMA_WRITE", "data0.bytes", "1", "2", 6000);
	diff_free(&diff);
	trace_free(&ta);
	trace_free(&tb);
}

/* ---- the command ---- */

static char dir[] = "/tmp/gdakit-trace-XXXXXX";

static void make_dir(void)
{
	cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
	char line[64];

	snprintf(line, sizeof(line), "rm -r %s", dir);
	cr_assert_eq(system(line), 0);
}

TestSuite(trace_diff_command, .init = make_dir, .fini = remove_dir);

static void save(const char *name, const void *p, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	cr_assert_not_null(f);
	cr_assert_eq(fwrite(p, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
}

/* Exit code of `gdakit trace-diff ARGUMENTS` in the directory; what it says is in `said`. */
static char said[4096];
static int run_command(const char *arguments)
{
	char line[512];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "cd %s && " GDAKIT " trace-diff %s 2>&1", dir, arguments);
	f = popen(line, "r");
	cr_assert_not_null(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	return WEXITSTATUS(pclose(f));
}

static void save_both(void)
{
	struct run run = another_day;

	run.log_sq_size = 11;
	play(&a, &usual);
	play(&b, &run);
	save("a", a.bytes, a.len);
	save("b", b.bytes, b.len);
}

Test(trace_diff_command, exit_codes_are_0_1_and_2)
{
	save_both();
	cr_expect_eq(run_command("a a"), 0, "%s", said);
	cr_expect_eq(run_command("a b"), 1, "%s", said);
	cr_expect_not_null(strstr(said, "command CREATE_QP in.body.qpc.log_sq_size: 0x7 | 0xb"));
	cr_expect_eq(run_command("a missing"), 2, "%s", said);
	cr_expect_eq(run_command("a ."), 2, "%s", said);
	cr_expect_eq(run_command("--kind fetch,tx a b"), 0, "%s", said);
	cr_expect_eq(run_command("--json a b"), 1, "%s", said);
	cr_expect_not_null(strstr(said, "{\"kind\":\"command\",\"what\":\"CREATE_QP\",\"field\":"
					"\"in.body.qpc.log_sq_size\",\"a\":\"0x7\",\"b\":\"0xb\""));
}

Test(trace_diff_command, a_cut_file_is_compared_as_far_as_it_goes)
{
	save_both();
	save("a", a.bytes, a.len);
	save("cut", a.bytes, a.len - 40); /* the end, and half of a packet */
	cr_expect_eq(run_command("a cut"), 1, "%s", said);
	cr_expect_not_null(strstr(said, "tx RC_WRITE_only: only in A"), "%s", said);
	cr_expect_not_null(strstr(said, "cut was not closed"), "%s", said);
	cr_expect_eq(run_command("cut cut"), 0, "%s", said);
	save("unclosed", a.bytes, a.len - sizeof(struct rec_head) - sizeof(struct rec_end));
	cr_expect_eq(run_command("a unclosed"), 1, "that only one was closed is a difference: %s",
		     said);
}

Test(trace_diff_command, what_is_no_recording_is_said)
{
	uint8_t lie[8] = {0x19, 0, 0, 0, 3, 0, 0, 0};

	save_both();
	begin(&b, REC_VERSION + 1);
	save("version", b.bytes, b.len);
	cr_expect_eq(run_command("a version"), 2);
	cr_expect_not_null(strstr(said, "format version 2"), "%s", said);
	save("text", "hello", 5);
	cr_expect_eq(run_command("text a"), 2);
	cr_expect_not_null(strstr(said, "no recording"), "%s", said);
	begin(&b, REC_VERSION);
	put(&b, lie, sizeof(lie));
	put(&b, usual.qpn ? a.bytes : NULL, 64);
	save("lie", b.bytes, b.len);
	cr_expect_eq(run_command("lie a"), 2);
	cr_expect_not_null(strstr(said, "the length of a record"), "%s", said);
}

Test(trace_diff_command, a_difference_that_is_expected_is_none)
{
	static const char right[] =
		"# all of them\n"
		"command CREATE_QP in.body.qpc.log_sq_size: 0x7 | *  # a reason\n"
		"? state *  # or not\n";
	static const char wrong[] = "command CREATE_QP in.body.qpc.log_sq_size: 0x8 | 0xb\n";

	save_both();
	save("right", right, sizeof(right) - 1);
	save("wrong", wrong, sizeof(wrong) - 1);
	cr_expect_eq(run_command("--expect right a b"), 0, "%s", said);
	cr_expect_eq(run_command("--expect right a a"), 1, "%s", said);
	cr_expect_not_null(strstr(said, "expected, but not there: command CREATE_QP"), "%s", said);
	cr_expect_eq(run_command("--expect wrong a b"), 1, "%s", said);
	cr_expect_eq(run_command("--expect missing a b"), 2, "%s", said);
}
