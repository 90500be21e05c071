// SPDX-License-Identifier: BSD-3-Clause
/*
 * The bandwidth programs around their kernels.
 *
 * The exchange is that of upstream's examples: the server sends 16 times {u64 address, u32 rkey},
 * one for each message size, then each half sends QP number, GID and LID (hwt_connect). Their
 * client then writes and closes. Ours adds a control step for each size, in which the server checks
 * the bytes and answers how many are wrong, and which says how many sizes follow: a client that
 * closes before the last has ended early. With --upstream a server that sees no such step before
 * the close checks what their client writes: every buffer, 512 messages of the byte "buffer number
 * + 1".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_tests/common/hwt.h"
#include "hw_tests/common/oob.h"

#define MAGIC	      0x67646b32u /* "gdk2" */
#define GUARD_BYTES   65536u	  /* checked behind the messages: nobody may write there */
#define REMOTE_BYTES  12u	  /* of a struct hwt_remote on the wire */
#define ITERS_GPU     2048u
#define ITERS_CPU     512u
#define SLOTS_CPU     64u
#define UPSTREAM_SEED 0u
#define SERVER_ACCESS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING)

uint32_t hwt_size(uint32_t i)
{
	return i ? 32u << i : 1;
}

void hwt_fill(uint8_t *dst, size_t len, uint32_t seed, uint32_t buf)
{
	for (size_t i = 0; i < len; i++)
		dst[i] = hwt_pattern(seed, buf, i);
}

uint64_t hwt_count_wrong(const uint8_t *mem, size_t len, uint32_t seed, uint32_t buf)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < len; i++)
		wrong += mem[i] != hwt_pattern(seed, buf, i);
	return wrong;
}

/* ---- server ---- */

struct server {
	struct hwt h;
	struct hwt_mem buf[HWT_SIZES];
	uint64_t wrong;
	uint32_t runs, left; /* sizes checked; sizes that the client has announced */
};

static int server_buffers(struct server *s)
{
	for (uint32_t i = 0; i < HWT_SIZES; i++) {
		if (hwt_mem_host(&s->h, &s->buf[i], (size_t)HWT_SLOTS_MAX * hwt_size(i),
				 SERVER_ACCESS))
			return -1;
	}
	return 0;
}

static int server_announce(struct server *s)
{
	for (uint32_t i = 0; i < HWT_SIZES; i++) {
		uint64_t addr = (uintptr_t)s->buf[i].ptr;
		uint8_t wire[REMOTE_BYTES];

		memcpy(wire, &addr, sizeof(addr));
		memcpy(wire + sizeof(addr), &s->buf[i].mr->rkey, sizeof(uint32_t));
		if (oob_send(s->h.sock, wire, sizeof(wire), "buffer address and rkey"))
			return -1;
	}
	return 0;
}

/* Wrong bytes of one buffer, and bytes behind the messages that somebody wrote. */
static uint64_t server_check(struct server *s, uint32_t buf, uint32_t size, uint32_t slots,
			     uint32_t seed)
{
	const uint8_t *mem = s->buf[buf].ptr;
	size_t len = (size_t)size * slots, end = len + GUARD_BYTES;
	uint64_t wrong = hwt_count_wrong(mem, len, seed, buf);

	for (size_t i = len; i < end && i < s->buf[buf].size; i++)
		wrong += mem[i] != 0;
	if (wrong)
		printf("buffer %u: %llu of %zu bytes are wrong\n", buf, (unsigned long long)wrong,
		       len);
	s->wrong += wrong;
	s->runs++;
	return wrong;
}

/* Whether a control step is one of ours and lies within the buffers. */
static int server_check_run(const struct server *s, const struct hwt_run *run)
{
	uint64_t fit = 0;

	if (run->magic != MAGIC) {
		fprintf(stderr,
			"control step: %s: magic 0x%x, expected 0x%x: the client is not this "
			"program, or of another version\n",
			hwt_error_name(DOCA_ERROR_INVALID_VALUE), run->magic, MAGIC);
		return -1;
	}
	if (run->buf < HWT_SIZES && run->size)
		fit = s->buf[run->buf].size / run->size;
	if (run->slots && run->slots <= fit && run->left < HWT_SIZES)
		return 0;
	fprintf(stderr,
		"control step: %s: buffer %u, %u messages of %u bytes, %u sizes left; expected "
		"buffer 0..%u, 1..%llu messages, less than %u sizes\n",
		hwt_error_name(DOCA_ERROR_INVALID_VALUE), run->buf, run->slots, run->size,
		run->left, HWT_SIZES - 1, (unsigned long long)fit, HWT_SIZES);
	return -1;
}

static int server_run(struct server *s, const struct hwt_run *run)
{
	struct hwt_verdict verdict = {.magic = MAGIC};

	if (server_check_run(s, run))
		return -1;
	s->left = run->left;
	verdict.wrong = server_check(s, run->buf, run->size, run->slots, run->seed);
	return oob_send(s->h.sock, &verdict, sizeof(verdict), "verdict");
}

/* The client has closed. 0 when it had nothing left to do. */
static int server_closed(struct server *s)
{
	if (s->runs && !s->left)
		return 0;
	if (s->runs) {
		fprintf(stderr, "the client ended early: %u of %u sizes were checked\n", s->runs,
			s->runs + s->left);
		return -1;
	}
	if (!s->h.opt->upstream) {
		fprintf(stderr,
			"the client ended early: nothing was checked (if it is GPUNetIO's own "
			"example, start the server with --upstream)\n");
		return -1;
	}
	printf("the client closed: checking all buffers as upstream's client fills them\n");
	for (uint32_t i = 0; i < HWT_SIZES; i++)
		server_check(s, i, hwt_size(i), HWT_SLOTS_MAX, UPSTREAM_SEED);
	return 0;
}

static int server_serve(struct server *s)
{
	struct hwt_run run;
	int rc;

	for (;;) {
		rc = oob_recv_optional(s->h.sock, &run, sizeof(run),
				       "control step (does the client have as many QPs, -q?)");
		if (rc <= 0)
			break;
		if (server_run(s, &run))
			return -1;
	}
	return rc < 0 ? -1 : server_closed(s);
}

static int server_main(const struct hwt_options *opt)
{
	static struct server s;
	int rc = HWT_EXIT_SETUP;

	if (hwt_open(&s.h, opt) || server_buffers(&s) || hwt_create_qps(&s.h, opt->qps))
		goto out;
	s.h.sock = oob_accept((uint16_t)opt->port, opt->timeout_s * 1000);
	if (s.h.sock < 0 || server_announce(&s) || hwt_connect(&s.h))
		goto out;
	rc = server_serve(&s) || s.wrong ? HWT_EXIT_WRONG : HWT_EXIT_OK;
	if (s.runs)
		printf("server: %u buffers checked, %llu bytes wrong\n", s.runs,
		       (unsigned long long)s.wrong);
out:
	for (uint32_t i = 0; i < HWT_SIZES; i++)
		hwt_mem_free(&s.h, &s.buf[i]);
	hwt_close(&s.h);
	return rc;
}

/* ---- client ---- */

struct client {
	struct hwt h;
	struct hwt_remote remote[HWT_SIZES];
	struct hwt_status *status;
	int (*launch)(gdakit_stream stream, const struct bw_args *args);
	uint64_t wrong;
};

static int client_remotes(struct client *c)
{
	for (uint32_t i = 0; i < HWT_SIZES; i++) {
		uint8_t wire[REMOTE_BYTES];

		if (oob_recv(c->h.sock, wire, sizeof(wire),
			     "buffer address and rkey (has the server another client?)"))
			return -1;
		memcpy(&c->remote[i].addr, wire, sizeof(uint64_t));
		memcpy(&c->remote[i].rkey, wire + sizeof(uint64_t), sizeof(uint32_t));
	}
	return 0;
}

static int client_local(struct client *c, const struct hwt_run *run, struct hwt_mem *mem)
{
	size_t len = (size_t)run->size * run->slots;
	uint8_t *pattern;
	int rc;

	if (hwt_mem_gpu(&c->h, mem, len, IBV_ACCESS_LOCAL_WRITE))
		return -1;
	pattern = malloc(len);
	if (!pattern) {
		fprintf(stderr, "pattern of %zu bytes: %s\n", len, strerror(errno));
		return -1;
	}
	hwt_fill(pattern, len, run->seed, run->buf);
	rc = c->h.rt->copy(mem->ptr, pattern, len);
	free(pattern);
	if (rc)
		fprintf(stderr, "filling the buffer: %s\n", c->h.rt->error_string(rc));
	return rc ? -1 : 0;
}

/* One launch; its time in *ms. */
static int client_launch(struct client *c, const struct hwt_run *run, const struct hwt_mem *mem,
			 float *ms)
{
	const struct gdakit_rt *rt = c->h.rt;
	const struct hwt_remote *remote = &c->remote[run->buf];
	struct bw_args args = {
		.qps = c->h.qps_dev,
		.qp_count = c->h.qp_count,
		.threads = run->slots,
		.size = run->size,
		.iters = run->iters,
		.post_list = c->h.opt->post_list,
		.local = {(uintptr_t)mem->ptr, htobe32(mem->mr->lkey)},
		.remote = {remote->addr, htobe32(remote->rkey)},
		.status = c->status,
	};
	int rc;

	memset(c->status, 0, sizeof(*c->status));
	rc = rt->event_record(c->h.start, c->h.stream);
	if (!rc)
		rc = c->launch(c->h.stream, &args);
	if (!rc)
		rc = rt->event_record(c->h.stop, c->h.stream);
	if (rc) {
		fprintf(stderr, "kernel launch: %s\n", rt->error_string(rc));
		return -1;
	}
	if (hwt_wait_kernel(&c->h, "kernel") || hwt_check_status(&c->h, c->status, "kernel"))
		return -1;
	return rt->event_elapsed(ms, c->h.start, c->h.stop) ? -1 : 0;
}

static int client_verdict(struct client *c, const struct hwt_run *run, struct hwt_verdict *verdict)
{
	if (oob_send(c->h.sock, run, sizeof(*run), "control step") ||
	    oob_recv(c->h.sock, verdict, sizeof(*verdict),
		     "verdict (is the server upstream's? then --upstream)"))
		return -1;
	if (verdict->magic == MAGIC)
		return 0;
	fprintf(stderr, "verdict: magic 0x%x, expected 0x%x\n", verdict->magic, MAGIC);
	return -1;
}

static void client_row(const struct client *c, const struct hwt_run *run, float ms, uint64_t wrong)
{
	double seconds = (double)ms / 1e3;
	char text[24] = "-";

	if (!c->h.opt->upstream)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)wrong);
	printf("%-9u %-12u %-17.6f %-14.6f %s\n", run->size, run->iters,
	       (double)run->size * run->iters / seconds / 1e9, run->iters / seconds / 1e6, text);
}

static int client_run(struct client *c, const struct hwt_run *run)
{
	struct hwt_run warm_up = *run;
	struct hwt_verdict verdict = {0};
	struct hwt_mem mem = {0};
	float ms = 0;
	int rc;

	warm_up.iters = run->slots;
	rc = client_local(c, run, &mem);
	if (!rc)
		rc = client_launch(c, &warm_up, &mem, &ms);
	if (!rc)
		rc = client_launch(c, run, &mem, &ms);
	if (!rc && !c->h.opt->upstream)
		rc = client_verdict(c, run, &verdict);
	if (!rc)
		client_row(c, run, ms, verdict.wrong);
	c->wrong += verdict.wrong;
	hwt_mem_free(&c->h, &mem);
	return rc;
}

/* The smallest buffer for messages of that size; how many fit, if the options leave it open. */
static void choose_buffer(const struct hwt_options *opt, struct hwt_run *run)
{
	uint64_t fit;

	run->buf = 0;
	while (run->buf + 1 < HWT_SIZES && hwt_size(run->buf) < opt->size)
		run->buf++;
	run->size = opt->size;
	fit = (uint64_t)HWT_SLOTS_MAX * hwt_size(run->buf) / run->size;
	if (run->slots > fit)
		run->slots = (uint32_t)fit / HWT_SLOTS_MIN * HWT_SLOTS_MIN;
}

/* Size number i of what the options ask for; i is 0 where they name one size. */
static struct hwt_run plan(const struct client *c, uint32_t i)
{
	const struct hwt_options *opt = c->h.opt;
	bool gpu = c->h.rt->is_gpu;
	struct hwt_run run = {
		.magic = MAGIC,
		.buf = i,
		.size = hwt_size(i),
		.slots = gpu ? HWT_SLOTS_MAX : SLOTS_CPU,
		.seed = opt->seed,
		.iters = gpu ? ITERS_GPU : ITERS_CPU,
		.left = opt->size ? 0 : HWT_SIZES - 1 - i,
	};

	if (opt->slots)
		run.slots = opt->slots;
	if (opt->iters)
		run.iters = opt->iters;
	if (opt->size)
		choose_buffer(opt, &run);
	run.iters = (run.iters + run.slots - 1) / run.slots * run.slots;
	return run;
}

static int client_sweep(struct client *c)
{
	struct hwt_run run;
	uint32_t i = 0;

	do {
		run = plan(c, i++);
		if (client_run(c, &run))
			return -1;
	} while (run.left);
	return 0;
}

static void client_header(const struct client *c, const char *title)
{
	const struct hwt_options *opt = c->h.opt;
	enum doca_gpu_dev_verbs_nic_handler handler = c->h.qp[0]->nic_handler;
	struct hwt_run run = plan(c, 0);

	printf("%s: %u QP%s, %s scope, doorbell by %s\n", title, opt->qps, opt->qps > 1 ? "s" : "",
	       opt->scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP ? "warp" : "thread",
	       handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY ? "the CPU proxy"
								    : "the kernel");
	printf("kernel: %s\n", c->h.kernel_on);
	if (opt->iters && run.iters != opt->iters)
		printf("iterations rounded up to %u (a multiple of the %u messages in flight, "
		       "--slots)\n",
		       run.iters, run.slots);
	printf("#bytes    #iterations  BW average[GB/s]  MsgRate[Mpps]  #wrong\n");
}

/* Chooses the kernel that the options ask for. */
static int client_kernel(struct client *c, const char *title, const struct bw_kernels *cpu,
			 const struct bw_kernels *cuda)
{
	const struct bw_kernels *table = c->h.rt->is_gpu ? cuda : cpu;
	bool warp = c->h.opt->scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;

	if (!table) {
		fprintf(stderr, "%s: built without a kernel for the %s\n", title, c->h.rt->name);
		return -1;
	}
	c->launch = warp ? table->warp : table->thread;
	if (!c->launch)
		fprintf(stderr, "%s: there is no kernel in %s scope\n", title,
			warp ? "warp" : "thread");
	return c->launch ? 0 : -1;
}

static int client_main(const struct hwt_options *opt, const char *title,
		       const struct bw_kernels *cpu, const struct bw_kernels *cuda)
{
	static struct client c;
	int rc = HWT_EXIT_SETUP;

	if (hwt_open(&c.h, opt) || client_kernel(&c, title, cpu, cuda) ||
	    hwt_create_qps(&c.h, opt->qps))
		goto out;
	if (c.h.rt->host_alloc((void **)&c.status, sizeof(*c.status)))
		goto out;
	c.h.sock = oob_connect(opt->server, (uint16_t)opt->port, opt->timeout_s * 1000);
	if (c.h.sock < 0 || client_remotes(&c) || hwt_connect(&c.h))
		goto out;
	client_header(&c, title);
	rc = client_sweep(&c) || c.wrong ? HWT_EXIT_WRONG : HWT_EXIT_OK;
	printf("client: %s\n", rc	       ? "FAILED"
			       : opt->upstream ? "done, the server checks"
					       : "all bytes are right");
out:
	if (c.status)
		c.h.rt->host_free(c.status);
	hwt_close(&c.h);
	return rc;
}

int hwt_bw_main(const struct hwt_options *opt, const char *title, const struct bw_kernels *cpu,
		const struct bw_kernels *cuda)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	return opt->server ? client_main(opt, title, cpu, cuda) : server_main(opt);
}
