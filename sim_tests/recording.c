/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: what the recorder writes the reader gives back, and no file can hurt the reader. */
#include "sim_tests/harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/nicmodel/roce.h"
#include "emu/observe/recorder.h"

static char dir[] = "/tmp/gdakit-recording-XXXXXX";
static struct recorder recorder;

static void make_dir(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(recording, .init = make_dir, .fini = remove_dir);

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void attach(struct hx *h)
{
	static const uint8_t gid[16] = {[10] = 0xff, 0xff, 127, 64, 0, 1};

	for (uint32_t i = 0; i < 2; i++)
		nm_nic_add_observer(h->nic[i].nic,
				    recorder_add(&recorder, nm_nic_config(h->nic[i].nic), gid));
}

static void detach(struct hx *h)
{
	for (uint32_t i = 0; i < 2; i++)
		nm_nic_remove_observer(h->nic[i].nic, &recorder.nic[i].observer);
}

/* What was read: counts of each kind, and the last event of each. */
struct tally {
	uint32_t kinds[REC_KINDS];
	uint8_t cqe[64], wqe[16], payload[64];
	uint32_t payload_kept, payload_len, fates[4], errors;
	char why[REC_WHY_MAX];
	int end;
	bool complete;
};

static void count(struct tally *t, const struct rec_event *ev)
{
	t->kinds[ev->head.kind]++;
	switch (ev->head.kind) {
	case REC_CQE:
		memcpy(t->cqe, ev->cqe->cqe, 64);
		break;
	case REC_FETCH:
		if (!ev->fetch->receive)
			memcpy(t->wqe, ev->blob[0], sizeof(t->wqe));
		break;
	case REC_TX:
		t->fates[ev->packet->fate & 3]++;
		if (!ev->packet->payload_len)
			break;
		t->payload_len = ev->packet->payload_len;
		t->payload_kept = ev->blob_len[1];
		memcpy(t->payload, ev->blob[1], ev->blob_len[1] < 64 ? ev->blob_len[1] : 64);
		break;
	default:
		break;
	}
}

static struct tally read_file(const char *path)
{
	struct tally t = {0};
	FILE *f = fopen(path, "re");
	struct recording *r;
	struct rec_event ev;

	cr_assert_not_null(f, "%s", path);
	r = recording_open(f, t.why);
	cr_assert_not_null(r, "%s", t.why);
	cr_expect_eq(recording_header(r)->pid, (uint32_t)getpid());
	while ((t.end = recording_next(r, &ev, t.why)) == 1)
		count(&t, &ev);
	cr_expect_eq(recording_next(r, &ev, t.why), t.end, "an end stays one");
	t.complete = recording_complete(r);
	recording_close(r);
	fclose(f);
	return t;
}

static void write_once(struct hx_pair *p, uint32_t len)
{
	uint16_t idx;

	hx_fill(p->amem, len, 5);
	idx = hx_post(p->a, &(struct hx_wr){.opcode = PRM_WQE_RDMA_WRITE,
					    .flags = HX_SIGNALED,
					    .raddr = p->bmem,
					    .rkey = p->bkey,
					    .nsge = 1,
					    .sge = {{p->amem, len, p->akey}}});
	hx_ring(p->a);
	HX_OK(p->a->scq, idx);
	cr_assert(hx_quiet(p->a->h));
}

HX_TEST(recording, what_the_nic_saw_is_read_back)
{
	uint32_t packets = 0, sent = 0;
	struct tally t;
	struct hx_pair p;

	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 40), 0, "%s", recorder.file.why);
	attach(h);
	recorder_text(&recorder, "key", "value");
	recorder_libraries(&recorder);
	p = hx_pair(h, NULL);
	write_once(&p, 3000);
	for (unsigned int i = 0; i < 256; i++)
		sent += h->nic[0].packets[i] + h->nic[1].packets[i];
	detach(h);
	recorder_close(&recorder);
	t = read_file(in_dir("a.rec"));
	cr_expect_eq(t.end, 0, "%s", t.why);
	cr_expect(t.complete);
	cr_expect_gt(t.kinds[REC_TEXT], 2, "the key and the libraries");
	cr_expect_eq(t.kinds[REC_NIC], 2);
	cr_expect_geq(t.kinds[REC_COMMAND], 8, "keys, CQs, QPs, 3 transitions a QP");
	cr_expect_geq(t.kinds[REC_DOORBELL], 1);
	cr_expect_geq(t.kinds[REC_DBR], 1);
	cr_expect_eq(t.kinds[REC_FETCH], 1);
	cr_expect_eq(t.kinds[REC_CQE], 1);
	cr_expect_eq(t.kinds[REC_STATE], 6);
	packets = t.kinds[REC_TX];
	cr_expect_eq(packets, sent, "%u, the NICs sent %u", packets, sent);
	cr_expect_eq(t.kinds[REC_RX], sent);
	cr_expect_eq(t.cqe[63] >> 4, PRM_CQE_REQ);
	cr_expect_eq(t.wqe[3], PRM_WQE_RDMA_WRITE);
	cr_expect_eq(t.payload_len, 3000 - 2 * 1024);
	cr_expect_eq(t.payload_kept, 40, "as much as was asked for");
	cr_expect_eq(memcmp(t.payload, p.amem + 2048, 40), 0);
}

HX_TEST(recording, a_dropped_packet_is_there_and_says_so)
{
	struct tally t;
	struct hx_pair p;

	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 0), 0);
	attach(h);
	p = hx_pair(h, NULL);
	hx_drop(h, 0, ROCE_WRITE_ONLY, 1);
	write_once(&p, 64);
	detach(h);
	recorder_close(&recorder);
	t = read_file(in_dir("a.rec"));
	cr_expect_eq(t.fates[REC_DROPPED], 1);
	cr_expect_geq(t.kinds[REC_DIAGNOSIS], 1, "the time-out has its sentence");
}

/* What was not sent is not in the file: the point of UNSENT follows that of TX. */
Test(recording, a_packet_that_the_link_refused_is_not_there)
{
	const struct nm_config config = {.name = "n"};
	const uint8_t gid[16] = {0};
	struct nm_packet pkt = {.hdr_len = ROCE_BTH_LEN};
	struct nm_event ev = {.kind = NM_EV_TX, .packet = &pkt};
	struct nm_observer *obs;
	struct tally t;

	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 0), 0);
	obs = recorder_add(&recorder, &config, gid);
	obs->event(obs->ctx, &ev);
	ev.kind = NM_EV_UNSENT;
	obs->event(obs->ctx, &ev);
	obs->event(obs->ctx, &ev);
	ev.kind = NM_EV_TX;
	obs->event(obs->ctx, &ev);
	recorder_close(&recorder);
	t = read_file(in_dir("a.rec"));
	cr_expect_eq(t.kinds[REC_TX], 1);
	cr_expect_eq(t.end, 0, "%s", t.why);
	cr_expect(t.complete);
}

Test(recording, a_payload_whose_memory_is_gone_is_marked_and_the_file_goes_on)
{
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nm_packet pkt = {
		.hdr_len = ROCE_BTH_LEN, .payload_len = 64, .niov = 1, .payload = {{gone, 64}}};
	const struct nm_config config = {.name = "n"};
	const struct nm_event ev = {.kind = NM_EV_TX, .packet = &pkt};
	const uint8_t gid[16] = {0};
	struct nm_observer *obs;
	struct tally t;

	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 64), 0);
	obs = recorder_add(&recorder, &config, gid);
	obs->event(obs->ctx, &ev);
	recorder_close(&recorder);
	t = read_file(in_dir("a.rec"));
	cr_expect_eq(t.kinds[REC_TX], 1);
	cr_expect_eq(t.payload_kept, 0);
	cr_expect(t.complete);
}

/* ---- files and processes ---- */

Test(recording, a_killed_process_leaves_all_that_it_wrote)
{
	uint32_t texts = 0;
	FILE *f;
	struct recording *r;
	struct rec_event ev;
	char why[REC_WHY_MAX] = "";
	pid_t pid = fork();
	int status, ret;

	if (!pid) {
		if (recorder_open(&recorder, in_dir("a.rec"), 0))
			_exit(1);
		for (unsigned int i = 0; i < 30000; i++)
			recorder_text(&recorder, "some key",
				      "and a value of a few dozen bytes, say");
		raise(SIGKILL);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	f = fopen(in_dir("a.rec"), "re");
	r = recording_open(f, why);
	cr_assert_not_null(r, "%s", why);
	while ((ret = recording_next(r, &ev, why)) == 1)
		texts += ev.head.kind == REC_TEXT;
	cr_expect_eq(ret, 0, "%s", why);
	cr_expect_eq(texts, 30000, "%u", texts);
	cr_expect_not(recording_complete(r));
	recording_close(r);
	fclose(f);
}

Test(recording, a_second_process_takes_another_name)
{
	struct mapfile first, second, third;
	char expected[256];

	cr_assert_eq(mapfile_open(&first, in_dir("a.rec")), 0);
	cr_expect_str_eq(first.path, in_dir("a.rec"));
	cr_assert_eq(mapfile_open(&second, in_dir("a.rec")), 0, "%s", second.why);
	snprintf(expected, sizeof(expected), "%s/a.rec.%d", dir, (int)getpid());
	cr_expect_str_eq(second.path, expected);
	cr_assert_eq(mapfile_open(&third, in_dir("b%%.%p")), 0, "%s", third.why);
	snprintf(expected, sizeof(expected), "%s/b%%.%d", dir, (int)getpid());
	cr_expect_str_eq(third.path, expected);
	mapfile_close(&first);
	mapfile_close(&second);
	mapfile_close(&third);
}

Test(recording, a_full_disk_is_one_sentence_and_what_was_written_stays)
{
	const struct rlimit limit = {3 << 20, 3 << 20};
	static char value[60000];
	struct tally t;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	memset(value, 'x', sizeof(value) - 1);
	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 0), 0);
	for (unsigned int i = 0; i < 100; i++)
		recorder_text(&recorder, "key", value);
	recorder_close(&recorder);
	cr_expect_not_null(strstr(recorder.file.why, "no room for more"), "%s", recorder.file.why);
	t = read_file(in_dir("a.rec"));
	cr_expect_geq(t.kinds[REC_TEXT], (2 << 20) / 60100);
	cr_expect_eq(t.end, 0, "%s", t.why);
	cr_expect_not(t.complete);
}

Test(recording, a_disk_smaller_than_what_is_asked_for_at_once_is_used_to_its_last_pages)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	static char value[60000];
	struct tally t;

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	memset(value, 'x', sizeof(value) - 1);
	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 0), 0, "%s", recorder.file.why);
	for (unsigned int i = 0; i < 100; i++)
		recorder_text(&recorder, "key", value);
	recorder_close(&recorder);
	cr_expect_not_null(strstr(recorder.file.why, "no room for more"), "%s", recorder.file.why);
	t = read_file(in_dir("a.rec"));
	cr_expect_eq(t.kinds[REC_TEXT], (1 << 20) / 60100, "%u", (unsigned int)t.kinds[REC_TEXT]);
	cr_expect_eq(t.end, 0, "%s", t.why);
}

Test(recording, a_file_that_somebody_cuts_ends_the_recording_and_not_the_process)
{
	cr_assert_eq(recorder_open(&recorder, in_dir("a.rec"), 0), 0);
	recorder_text(&recorder, "key", "value");
	cr_assert_eq(truncate(in_dir("a.rec"), 0), 0);
	recorder_text(&recorder, "key", "value");
	cr_expect_not_null(strstr(recorder.file.why, "was cut"), "%s", recorder.file.why);
	recorder_text(&recorder, "key", "value");
	recorder_close(&recorder);
}

Test(recording, what_is_no_regular_file_is_refused)
{
	struct mapfile f;

	cr_expect_lt(mapfile_open(&f, "/dev/null"), 0);
	cr_expect_not_null(strstr(f.why, "not a regular file"), "%s", f.why);
	cr_expect_lt(mapfile_open(&f, "/no/such/directory/a.rec"), 0);
	cr_expect_not_null(strstr(f.why, "No such file"), "%s", f.why);
}

/* ---- the reader against files that nobody wrote ---- */

static int read_bytes(void *bytes, size_t len, char why[REC_WHY_MAX])
{
	FILE *f = fmemopen(bytes, len, "r");
	struct recording *r = recording_open(f, why);
	struct rec_event ev;
	int ret = -ENOENT;

	if (r)
		while ((ret = recording_next(r, &ev, why)) == 1)
			;
	recording_close(r);
	fclose(f);
	return ret;
}

/* A good file in memory. */
static size_t good_file(uint8_t *bytes, size_t cap)
{
	size_t n;
	FILE *f;

	cr_assert_eq(recorder_open(&recorder, in_dir("good.rec"), 0), 0);
	recorder_text(&recorder, "key", "value");
	recorder_text(&recorder, "another", "one");
	recorder_close(&recorder);
	f = fopen(in_dir("good.rec"), "re");
	n = fread(bytes, 1, cap, f);
	fclose(f);
	cr_assert_gt(n, sizeof(struct rec_file_header));
	return n;
}

Test(recording, every_cut_file_ends_without_an_error)
{
	static uint8_t bytes[4096];
	size_t n = good_file(bytes, sizeof(bytes));
	char why[REC_WHY_MAX];

	for (size_t len = 1; len < sizeof(struct rec_file_header); len++)
		cr_expect_eq(read_bytes(bytes, len, why), -ENOENT, "%zu", len);
	for (size_t len = sizeof(struct rec_file_header); len <= n; len++)
		cr_expect_eq(read_bytes(bytes, len, why), 0, "%zu: %s", len, why);
}

Test(recording, a_wrong_length_is_named)
{
	static uint8_t bytes[4096], broken[4096];
	size_t n = good_file(bytes, sizeof(bytes));
	static const uint32_t lens[] = {1, 8, 23, 25, REC_MAX + 8, UINT32_MAX};
	char why[REC_WHY_MAX];

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		memcpy(broken, bytes, n);
		memcpy(broken + sizeof(struct rec_file_header), &lens[i], 4);
		cr_expect_eq(read_bytes(broken, n, why), -EBADMSG, "%u", lens[i]);
		cr_expect_not_null(strstr(why, "byte 40"), "%s", why);
		/* The length of a blob. */
		memcpy(broken, bytes, n);
		memcpy(broken + sizeof(struct rec_file_header) + sizeof(struct rec_head), &lens[i],
		       4);
		if (lens[i] > 64)
			cr_expect_eq(read_bytes(broken, n, why), -EBADMSG, "%u", lens[i]);
	}
}

Test(recording, other_versions_and_orders_are_refused_by_name)
{
	static uint8_t bytes[4096];
	size_t n = good_file(bytes, sizeof(bytes));
	struct rec_file_header *h = (struct rec_file_header *)(void *)bytes;
	char why[REC_WHY_MAX];

	h->version = 9;
	cr_expect_eq(read_bytes(bytes, n, why), -ENOENT);
	cr_expect_not_null(strstr(why, "version 9"), "%s", why);
	h->version = REC_VERSION;
	h->order = __builtin_bswap32(REC_ORDER);
	cr_expect_eq(read_bytes(bytes, n, why), -ENOENT);
	cr_expect_not_null(strstr(why, "byte order"), "%s", why);
	h->order = REC_ORDER;
	h->magic[0] = 'x';
	cr_expect_eq(read_bytes(bytes, n, why), -ENOENT);
}

Test(recording, a_kind_of_a_later_version_is_passed_over)
{
	static uint8_t bytes[4096];
	size_t n = good_file(bytes, sizeof(bytes));
	const uint16_t kind = 999;
	char why[REC_WHY_MAX];

	memcpy(bytes + sizeof(struct rec_file_header) + 4, &kind, 2);
	cr_expect_eq(read_bytes(bytes, n, why), 0, "%s", why);
}
