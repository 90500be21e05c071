// SPDX-License-Identifier: BSD-3-Clause
/* perftest's flags, and the few that a GPU adds. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "hw_tests/common/hwt.h"
#include "hw_tests/common/oob.h"

enum { KEY_SEED = 1000, KEY_SLOTS, KEY_UPSTREAM };

#define BW  (HWT_PUT_BW | HWT_WRITE_BW)
#define ALL (BW | HWT_ONESIDED)

/* Which programs have an option that is not without effect there. */
static const struct {
	unsigned programs; /* enum hwt_program */
	struct argp_option option;
} options[] = {
	{ALL, {"ib-dev", 'd', "NAME", 0, "RDMA device (the first)", 0}},
	{BW,
	 {"size", 's', "BYTES", 0, "message size, at most 16777216 (a sweep from 1 B to 1 MiB)",
	  0}},
	{BW, {"all", 'a', 0, 0, "the sweep, by name", 0}},
	{BW,
	 {"iters", 'n', "N", 0,
	  "messages per size, rounded up to a multiple of --slots (2048 on a GPU, 512 on the CPU)",
	  0}},
	{BW, {"qp", 'q', "N", 0, "queue pairs, 1..64; both halves alike (1)", 0}},
	{ALL, {"gid-index", 'x', "N", 0, "GID index (0)", 0}},
	{BW, {"port", 'p', "N", 0, "TCP port of the exchange (2000)", 0}},
	{HWT_WRITE_BW, {"post_list", 'l', "N", 0, "requests per doorbell (8)", 0}},
	{ALL,
	 {"gpu", 'g', "ADDRESS", 0,
	  "GPU by PCI address, \"gpu\" (the first) or \"cpu\" (a GPU if there is one)", 0}},
	{HWT_PUT_BW, {"exec-scope", 'e', "SCOPE", 0, "thread (or 0), warp (or 1)", 0}},
	{HWT_WRITE_BW, {"exec-scope", 'e', "SCOPE", 0, "thread (or 0): it has no other", 0}},
	{ALL,
	 {"handler", 'H', "WHO", 0,
	  "who rings the doorbell, and how: auto, proxy, db, bf (BlueFlame), nodbr (no doorbell "
	  "record; "
	  "the NIC must be able to), nodbr-sw (the CPU keeps the record; GPU memory must be mapped "
	  "to it)",
	  0}},
	{BW,
	 {"timeout", 'T', "SECONDS", 0,
	  "limit of every wait: for the other half to come, to answer, for a kernel (120)", 0}},
	{HWT_ONESIDED, {"timeout", 'T', "SECONDS", 0, "limit of every wait for a kernel (120)", 0}},
	{BW, {"seed", KEY_SEED, "N", 0, "pattern of the bytes; 0: upstream's constant (1)", 0}},
	{BW,
	 {"slots", KEY_SLOTS, "N", 0,
	  "messages with memory of their own, a multiple of 32 up to 512; a size has at most what "
	  "fits into 512 MiB (512 on a GPU, 64 on the CPU)",
	  0}},
	{BW,
	 {"upstream", KEY_UPSTREAM, 0, 0,
	  "the other half is the GPUNetIO example. On the client: that server checks by itself, so "
	  "--seed 0 --slots 512 and every size. On the server: when the client closes, check all "
	  "buffers for what that client writes",
	  0}},
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

static uint32_t number(struct argp_state *state, const char *arg, const char *what, uint32_t min,
		       uint32_t max)
{
	char *end;
	unsigned long v = strtoul(arg, &end, 0);

	if (*end || end == arg || v < min || v > max)
		argp_error(state, "%s: '%s', expected %u..%u", what, arg, min, max);
	return (uint32_t)v;
}

struct name {
	const char *name;
	int value;
};

static const struct name scopes[] = {
	{"thread", DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD},
	{"0", DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD},
	{"warp", DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP},
	{"1", DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP},
	{NULL, 0},
};

static const struct handler {
	const char *name;
	enum doca_gpu_dev_verbs_nic_handler handler;
	enum doca_gpu_verbs_send_dbr_mode_ext dbr_mode;
} handlers[] = {
	{"auto", DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
	{"proxy", DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
	{"db", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
	{"bf", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
	{"nodbr", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW},
	{"nodbr-sw", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
	 DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED},
};

static int named(struct argp_state *state, const struct name *table, const char *arg,
		 const char *what)
{
	for (const struct name *n = table; n->name; n++) {
		if (!strcmp(n->name, arg))
			return n->value;
	}
	argp_error(state, "%s: '%s' is none of those that --help names", what, arg);
	return 0;
}

static void set_handler(struct argp_state *state, struct hwt_options *opt, const char *arg)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if (!strcmp(handlers[i].name, arg)) {
			opt->handler = handlers[i].handler;
			opt->dbr_mode = handlers[i].dbr_mode;
			return;
		}
	}
	argp_error(state, "-H: '%s' is none of those that --help names", arg);
}

/* What the options say together; the same on both halves, so that neither waits for the other. */
static void check_together(struct argp_state *state, const struct hwt_options *opt)
{
	uint32_t slots = opt->slots ? opt->slots : HWT_SLOTS_MIN;

	if (opt->program == HWT_WRITE_BW && opt->scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		argp_error(state, "-e: write_bw has no kernel in warp scope, only in thread scope");
	if (opt->size && opt->upstream)
		argp_error(state, "-s with --upstream: that server checks every size of the sweep");
	if ((uint64_t)opt->size * slots > HWT_BUFFER_BYTES)
		argp_error(state, "-s: '%u', expected 1..%u: %u messages must fit into %u bytes",
			   opt->size, HWT_BUFFER_BYTES / slots, slots, HWT_BUFFER_BYTES);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct hwt_options *opt = state->input;

	switch (key) {
	case 'd':
		opt->device = arg;
		break;
	case 's':
		opt->size = number(state, arg, "-s", 1, HWT_BUFFER_BYTES / HWT_SLOTS_MIN);
		break;
	case 'a':
		opt->size = 0;
		break;
	case 'n':
		opt->iters = number(state, arg, "-n", 1, 1u << 30);
		break;
	case 'q':
		opt->qps = number(state, arg, "-q", 1, HWT_QPS_MAX);
		break;
	case 'x':
		opt->gid_index = (int)number(state, arg, "-x", 0, 255);
		break;
	case 'p':
		opt->port = (int)number(state, arg, "-p", 1, 65535);
		break;
	case 'l':
		opt->post_list = number(state, arg, "-l", 1, HWT_SQ_DEPTH / 2);
		break;
	case 'g':
		opt->gpu = arg;
		break;
	case 'e':
		opt->scope = (enum doca_gpu_dev_verbs_exec_scope)named(state, scopes, arg, "-e");
		break;
	case 'H':
		set_handler(state, opt, arg);
		break;
	case 'T':
		opt->timeout_s = (int)number(state, arg, "-T", 1, 86400);
		break;
	case KEY_SEED:
		opt->seed = number(state, arg, "--seed", 0, UINT32_MAX);
		break;
	case KEY_SLOTS:
		opt->slots = number(state, arg, "--slots", HWT_SLOTS_MIN, HWT_SLOTS_MAX);
		if (opt->slots % HWT_SLOTS_MIN)
			argp_error(state, "--slots: '%s', expected a multiple of %u", arg,
				   HWT_SLOTS_MIN);
		break;
	case KEY_UPSTREAM:
		opt->upstream = true;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num || opt->program == HWT_ONESIDED)
			argp_error(state, "'%s' is too much", arg);
		opt->server = arg;
		break;
	case ARGP_KEY_END:
		check_together(state, opt);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void hwt_parse(struct hwt_options *opt, enum hwt_program program, int argc, char **argv,
	       const char *doc)
{
	struct argp_option list[OPTIONS + 1] = {0};
	struct argp argp = {list, parse, program == HWT_ONESIDED ? NULL : "[SERVER]", doc, 0, 0, 0};
	size_t n = 0;

	for (size_t i = 0; i < OPTIONS; i++) {
		if (options[i].programs & program)
			list[n++] = options[i].option;
	}
	*opt = (struct hwt_options){.program = program,
				    .qps = 1,
				    .post_list = 8,
				    .port = OOB_PORT_DEFAULT,
				    .timeout_s = 120,
				    .seed = 1};
	argp_parse(&argp, argc, argv, 0, 0, opt);
	if (!opt->upstream)
		return;
	/* What upstream's server checks: 512 slots of the byte "buffer number + 1". */
	opt->seed = 0;
	opt->slots = HWT_SLOTS_MAX;
}
