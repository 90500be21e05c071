// SPDX-License-Identifier: BSD-3-Clause
/* gdakit run, gdakit doctor: arguments. */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu/nicmodel/nm.h"
#include "tools/gdakit.h"

const char *argp_program_version = "gdakit " GDAKIT_VERSION;

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("gdakit: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

enum { STACK_BYTES = 512 * 1024 };

/* ---- gdakit run ---- */

enum {
	KEY_LINK_LAYER = 256,
	KEY_NICS,
	KEY_NIC,
	KEY_HOST,
	KEY_WIRE,
	KEY_FABRIC,
	KEY_MODE,
	KEY_RECORD,
	KEY_PCAP,
	KEY_PAYLOAD,
	KEY_CHECK,
	KEY_CHECK_JSON,
	KEY_CHECK_JUNIT,
	KEY_CHECK_EXIT,
};

static const struct argp_option run_argp_options[] = {
	{.name = "verbose", .key = 'v', .doc = "Say on stderr what the device refuses, and why"},
	{.name = "link-layer",
	 .key = KEY_LINK_LAYER,
	 .arg = "LAYER",
	 .doc = "What the port says it is: ethernet (default) or infiniband"},
	{.name = "nic",
	 .key = KEY_NIC,
	 .arg = "NIC",
	 .doc = "What the devices are: connectx-7 (default) or connectx-8, whose send queues can "
		"do "
		"without a doorbell record"},
	{.name = "nics",
	 .key = KEY_NICS,
	 .arg = "N",
	 .doc = "Devices of the host, mlx5_0 and on: 1 (default) to 8"},
	{.name = "host",
	 .key = KEY_HOST,
	 .arg = "NAME",
	 .doc = "Which simulated host this is: a number, 127.a.b, or a name. Default: a free one"},
	{.name = "wire",
	 .key = KEY_WIRE,
	 .arg = "WIRE",
	 .doc = "What joins hosts: shm, shared memory between processes of this machine; udp, "
		"datagrams; auto (default), shm where it reaches and udp to all others; or local, "
		"nothing"},
	{.name = "fabric",
	 .key = KEY_FABRIC,
	 .arg = "NAME",
	 .doc = "Only programs of the same user and fabric share memory. Default: one a user"},
	{.name = "mode",
	 .key = KEY_MODE,
	 .arg = "MODE",
	 .doc = "How the program sees the device's files: namespace, hooks (needs no permission; "
		"not for static or Go programs), or auto (default): hooks where namespaces are "
		"refused"},
	{.name = "record",
	 .key = KEY_RECORD,
	 .arg = "FILE",
	 .doc = "Record what the NIC sees, for `gdakit show`. %p in FILE is the process id; "
		"without "
		"it the first process writes FILE, others FILE.PID"},
	{.name = "record-payload",
	 .key = KEY_PAYLOAD,
	 .arg = "BYTES",
	 .doc = "Bytes of each packet's payload in the recording: 128, up to 4096"},
	{.name = "pcap",
	 .key = KEY_PCAP,
	 .arg = "FILE",
	 .doc = "Write all packets, sent and received, as pcapng. FILE as for --record; mergecap "
		"joins several"},
	{.name = "check",
	 .key = KEY_CHECK,
	 .doc = "Hold what the program does with its queues against rules (docs/rules); say on "
		"stderr where one is broken, and exit with 99 then"},
	{.name = "check-json",
	 .key = KEY_CHECK_JSON,
	 .arg = "FILE",
	 .doc = "--check, with the findings in FILE, a JSON object a line"},
	{.name = "check-junit",
	 .key = KEY_CHECK_JUNIT,
	 .arg = "FILE",
	 .doc = "--check, with the findings in FILE as JUnit's XML"},
	{.name = "check-exit",
	 .key = KEY_CHECK_EXIT,
	 .arg = "CODE",
	 .doc = "--check, with this exit code in the place of 99: 0 to 255"},
	{0},
};

static bool parse_mode(const char *arg, enum run_mode *mode)
{
	static const char *const names[] = {
		[MODE_AUTO] = "auto", [MODE_NAMESPACE] = "namespace", [MODE_HOOKS] = "hooks"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) != 0)
			continue;
		*mode = (enum run_mode)i;
		return true;
	}
	return false;
}

static error_t run_parse(int key, char *arg, struct argp_state *state)
{
	struct run_options *o = state->input;

	switch (key) {
	case 'v':
		o->verbose = true;
		return 0;
	case KEY_LINK_LAYER:
		if (strcmp(arg, "ethernet") != 0 && strcmp(arg, "infiniband") != 0)
			argp_error(state, "--link-layer is '%s', expected ethernet or infiniband",
				   arg);
		o->ethernet = !strcmp(arg, "ethernet");
		return 0;
	case KEY_NIC:
		o->nic = uv_model_named(arg);
		if (!o->nic)
			argp_error(state, "--nic is '%s', expected connectx-7 or connectx-8", arg);
		return 0;
	case KEY_NICS:
		if (strlen(arg) != 1 || *arg < '1' || *arg > '0' + UV_MAX_NICS)
			argp_error(state, "--nics is '%s', expected 1 to %u", arg, UV_MAX_NICS);
		o->nics = (unsigned int)(*arg - '0');
		return 0;
	case KEY_HOST:
		if (claim_expects(arg))
			argp_error(state, "--host is '%s', expected %s", arg, claim_expects(arg));
		o->host = arg;
		return 0;
	case KEY_WIRE:
		if (strcmp(arg, "auto") != 0 && strcmp(arg, "shm") != 0 &&
		    strcmp(arg, "udp") != 0 && strcmp(arg, "local") != 0)
			argp_error(state, "--wire is '%s', expected auto, shm, udp or local", arg);
		o->wire = arg;
		return 0;
	case KEY_FABRIC:
		if (!*arg || strlen(arg) >= FABRIC_MAX || strchr(arg, '/'))
			argp_error(state, "--fabric is '%s', expected 1 to %d bytes and no slash",
				   arg, FABRIC_MAX - 1);
		o->fabric = arg;
		return 0;
	case KEY_MODE:
		if (!parse_mode(arg, &o->mode))
			argp_error(state, "--mode is '%s', expected namespace, hooks or auto", arg);
		return 0;
	case KEY_RECORD:
		o->record = arg;
		return 0;
	case KEY_PCAP:
		o->pcap = arg;
		return 0;
	case KEY_PAYLOAD:
		if (!*arg || strspn(arg, "0123456789") != strlen(arg) || strlen(arg) > 4 ||
		    atoi(arg) > NM_MTU_MAX)
			argp_error(state, "--record-payload is '%s', expected 0 to %d", arg,
				   NM_MTU_MAX);
		o->record_payload = arg;
		return 0;
	case KEY_CHECK_JSON:
		o->check_json = arg;
		o->check = true;
		return 0;
	case KEY_CHECK_JUNIT:
		o->check_junit = arg;
		o->check = true;
		return 0;
	case KEY_CHECK_EXIT:
		if (!*arg || strspn(arg, "0123456789") != strlen(arg) || strlen(arg) > 3 ||
		    atoi(arg) > 255)
			argp_error(state, "--check-exit is '%s', expected 0 to 255", arg);
		o->check_exit = atoi(arg);
		o->check = true;
		return 0;
	case KEY_CHECK:
		o->check = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->argv = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no program given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp run_argp = {
	.options = run_argp_options,
	.parser = run_parse,
	.args_doc = "[--] PROGRAM [ARGUMENT...]",
	.doc = "Runs PROGRAM on a simulated host that has a ConnectX-7 (mlx5_0), or several.\v"
	       "The exit code is PROGRAM's, 128 + N if signal N ended it, 125 if gdakit could not "
	       "start it, "
	       "126 or 127 if PROGRAM could not be executed or found, and with --check 99 if a "
	       "rule fired.\n\n"
	       "Where namespaces are refused, as in a default container, the device's files are "
	       "shown by path hooks, which is said in a line on stderr.\n\n"
	       "The NIC is in a library that LD_PRELOAD names: a program that clears it, or that "
	       "is "
	       "statically linked, finds a device that cannot be opened.",
};

static int main_run(int argc, char **argv)
{
	struct run_options o = {.ethernet = true,
				.nics = 1,
				.nic = uv_models,
				.wire = "auto",
				.check_exit = EXIT_FOUND};
	char user[FABRIC_MAX]; /* before a user namespace gives it another number */
	int ret;

	snprintf(user, sizeof(user), "u%u", (unsigned int)geteuid());
	o.fabric = user;
	/* In order: what follows PROGRAM is its own. */
	argp_parse(&run_argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	ret = run_program(&o);
	observe_finish();
	return check_finish(&o, ret);
}

/* ---- gdakit doctor ---- */

static const struct argp doctor_argp = {
	.doc = "Says whether `gdakit run` can work on this machine, and what is missing. Exit code "
	       "0 if it can.",
};

static int main_doctor(int argc, char **argv)
{
	argp_parse(&doctor_argp, argc, argv, 0, NULL, NULL);
	return doctor();
}

/* ---- gdakit ---- */

static const struct {
	const char *name, *doc;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "run a program on a host that has a ConnectX", main_run},
	{"stat", "show what the NICs of running programs count", main_stat},
	{"show", "print what `run --record` recorded", main_show},
	{"trace-diff", "compare two recordings", main_trace_diff},
	{"qemu", "run a command in a guest that has a ConnectX", main_qemu},
	{"doctor", "say what this machine lacks for it", main_doctor},
};
enum { NCOMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *f)
{
	fputs("Usage: gdakit COMMAND [OPTION...]\n\n", f);
	for (int i = 0; i < NCOMMANDS; i++)
		fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].doc);
	fputs("\n`gdakit COMMAND --help` describes one, `gdakit --version` says which gdakit this "
	      "is.\n",
	      f);
}

/* What the program gets again. */
struct rlimit stack_given;

/* Paths of PATH_MAX bytes lie on our stack. */
static bool get_stack(void)
{
	struct rlimit enough;

	if (getrlimit(RLIMIT_STACK, &stack_given) || stack_given.rlim_cur >= STACK_BYTES)
		return true;
	enough = (struct rlimit){STACK_BYTES, stack_given.rlim_max};
	if (stack_given.rlim_max >= STACK_BYTES && !setrlimit(RLIMIT_STACK, &enough))
		return true;
	complain("a stack of %llu KiB is not enough, %d KiB are (`ulimit -s`)",
		 (unsigned long long)stack_given.rlim_cur / 1024, STACK_BYTES / 1024);
	return false;
}

/* A full disk or a broken device must not look like success. */
static int close_output(int ret)
{
	int failed = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !failed)
		return ret;
	complain("standard output: %s", errno ? strerror(errno) : "not all was written");
	return ret ? ret : 1;
}

int main(int argc, char **argv)
{
	char name[64];

	tree_leave(argv);
	argp_err_exit_status = EXIT_USAGE;
	if (!get_stack())
		return EXIT_REFUSED;
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?")) {
		usage(stdout);
		return close_output(0);
	}
	if (!strcmp(argv[1], "--version")) {
		puts(argp_program_version);
		return close_output(0);
	}
	for (int i = 0; i < NCOMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "gdakit %s", commands[i].name);
		argv[1] = name;
		return close_output(commands[i].run(argc - 1, argv + 1));
	}
	complain("no command '%s'", argv[1]);
	usage(stderr);
	return EXIT_USAGE;
}
