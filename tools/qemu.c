// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit qemu: boots a guest with ConnectX functions and runs one command in it. QEMU and the guest
 * are what ci/setup-qemu has made; the functions are served by this process (emu/qemu).
 *
 * The guest has three serial lines: its console, what the command prints, and how it ended
 * (emu/qemu/guest-init). The command travels as a second archive behind the guest's root.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/qemu/hca.h"
#include "emu/world/world.h"
#include "tools/gdakit.h"

enum {
	NICS_MAX = 8,
	ARGS_MAX = 64,
	COPY_BYTES = 1 << 16,
	CONSOLE_TAIL = 4096,
	EXIT_TIMEOUT = 124, /* as timeout(1) */
};

enum { KEY_NICS = 256, KEY_ACCEL, KEY_MEMORY, KEY_SMP, KEY_TIMEOUT, KEY_CONSOLE, KEY_ETHERNET };

struct qemu_options {
	bool verbose, ethernet;
	const char *accel, *console;
	unsigned int nics, memory_mb, cpus, timeout_s;
	char **argv;
};

struct guest {
	const struct qemu_options *o;
	char cache[PATH_MAX]; /* what ci/setup-qemu made */
	char dir[64];	      /* of this run */
	struct world *world;
	struct hca *hcas[NICS_MAX];
	pid_t qemu;
};

/* ---- where things are ---- */

static bool find_cache(struct guest *g)
{
	const char *given = getenv("GDAKIT_QEMU_DIR"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	char image[PATH_MAX + 32];

	if (given)
		snprintf(g->cache, sizeof(g->cache), "%s", given);
	else if (xdg)
		snprintf(g->cache, sizeof(g->cache), "%s/gdakit/qemu", xdg);
	else
		snprintf(g->cache, sizeof(g->cache), "%s/.cache/gdakit/qemu", home ? home : "");
	snprintf(image, sizeof(image), "%s/guest/initramfs", g->cache);
	if (access(image, R_OK) == 0)
		return true;
	complain("no guest in %s: ci/setup-qemu makes it", g->cache);
	return false;
}

static void path_of(const struct guest *g, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", g->dir, name);
}

/* ---- the guest's root and its command ---- */

/* `newc`, as Documentation/driver-api/early-userspace/buffer-format.rst of the kernel has it. */
static void archive_entry(FILE *f, const char *name, unsigned int mode, const char *data,
			  size_t len)
{
	size_t name_len = strlen(name) + 1;

	fprintf(f, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 1u, mode, 0u, 0u,
		1u, 0u, (unsigned int)len, 0u, 0u, 0u, 0u, (unsigned int)name_len, 0u);
	fwrite(name, 1, name_len, f);
	for (size_t n = 110 + name_len; n % 4; n++)
		fputc(0, f);
	fwrite(data, 1, len, f);
	for (size_t n = len; n % 4; n++)
		fputc(0, f);
}

/* A script that becomes the command: each word in quotes of its own. */
static char *command_script(char **argv, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	fputs("#!/bin/sh\nexec", f);
	for (; *argv; argv++) {
		fputs(" '", f);
		for (const char *c = *argv; *c; c++) {
			if (*c == '\'')
				fputs("'\\''", f);
			else
				fputc(*c, f);
		}
		fputc('\'', f);
	}
	fputc('\n', f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static bool copy_file(FILE *to, const char *path)
{
	static char buf[COPY_BYTES];
	FILE *from = fopen(path, "re");
	size_t n;

	if (!from)
		return false;
	while ((n = fread(buf, 1, sizeof(buf), from)) > 0)
		fwrite(buf, 1, n, to);
	n = (size_t)ferror(from);
	fclose(from);
	return n == 0;
}

static bool make_initrd(const struct guest *g)
{
	char path[PATH_MAX], root[PATH_MAX + 32];
	char *script;
	size_t len = 0;
	FILE *f;
	bool ok;

	path_of(g, "initrd", path);
	snprintf(root, sizeof(root), "%s/guest/initramfs", g->cache);
	script = command_script(g->o->argv, &len);
	f = script ? fopen(path, "we") : NULL;
	ok = f && copy_file(f, root);
	if (ok) {
		archive_entry(f, "command", S_IFREG | 0755, script, len);
		archive_entry(f, "TRAILER!!!", 0, "", 0);
		ok = !ferror(f);
	}
	if (f && fclose(f))
		ok = false;
	free(script);
	if (!ok)
		complain("%s cannot be written: %s", path, strerror(errno));
	return ok;
}

/* ---- the functions ---- */

static bool start_nics(struct guest *g)
{
	const struct world_config config = {.wire = WORLD_WIRE_LOCAL, .verbose = g->o->verbose};
	const char *why = "";

	g->world = world_create(&config, &why);
	for (unsigned int i = 0; g->world && i < g->o->nics; i++) {
		const struct hca_config hca = {.world = g->world,
					       .index = i,
					       .ethernet = g->o->ethernet,
					       .verbose = g->o->verbose};
		char name[16], path[PATH_MAX];
		int err;

		g->hcas[i] = hca_create(&hca, &why);
		if (!g->hcas[i])
			break;
		snprintf(name, sizeof(name), "nic%u", i);
		path_of(g, name, path);
		err = hca_listen(g->hcas[i], path);
		if (err) {
			complain("%s: %s", path, strerror(-err));
			return false;
		}
	}
	if (g->world && g->hcas[g->o->nics - 1])
		return true;
	complain("no NIC: %s", why);
	return false;
}

static void end_nics(struct guest *g)
{
	for (unsigned int i = 0; i < NICS_MAX && g->hcas[i]; i++)
		hca_stop(g->hcas[i]);
	if (g->world)
		world_destroy(g->world);
	for (unsigned int i = 0; i < NICS_MAX && g->hcas[i]; i++)
		hca_destroy(g->hcas[i]);
}

/* ---- QEMU ---- */

struct args {
	char *argv[ARGS_MAX];
	unsigned int n;
};

static void add(struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct args *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (a->n + 1 < ARGS_MAX && vasprintf(&a->argv[a->n], fmt, ap) > 0)
		a->argv[++a->n] = NULL;
	va_end(ap);
}

static void add_pair(struct args *a, const char *option, const char *value)
{
	add(a, "%s", option);
	add(a, "%s", value);
}

/* In a root of its own, run by that root's loader: whatever this machine has plays no part. */
static void qemu_program(const struct guest *g, struct args *a)
{
	const char *root = g->cache;

	add(a, "%s/qemu/root/lib64/ld-linux-x86-64.so.2", root);
	add(a, "--library-path");
	add(a, "%s/qemu/root/usr/lib/x86_64-linux-gnu", root);
	add(a, "%s/qemu/root/usr/bin/qemu-system-x86_64", root);
	add(a, "-L");
	add(a, "%s/qemu/root/usr/share/qemu", root);
	add(a, "-L");
	add(a, "%s/qemu/root/usr/share/seabios", root);
	add(a, "-L");
	add(a, "%s/qemu/root/usr/lib/ipxe/qemu", root);
}

static void qemu_machine(const struct guest *g, struct args *a)
{
	const struct qemu_options *o = g->o;

	add_pair(a, "-machine", "q35,memory-backend=memory");
	add_pair(a, "-accel", o->accel);
	add_pair(a, "-cpu", "max");
	add(a, "-smp");
	add(a, "%u", o->cpus);
	add(a, "-m");
	add(a, "%uM", o->memory_mb);
	add(a, "-object");
	add(a, "memory-backend-memfd,id=memory,size=%uM,share=on", o->memory_mb);
	add(a, "-nodefaults");
	add_pair(a, "-display", "none");
	add(a, "-no-reboot");
	add(a, "-kernel");
	add(a, "%s/guest/vmlinuz", g->cache);
	add(a, "-initrd");
	add(a, "%s/initrd", g->dir);
	add_pair(a, "-append", "console=ttyS0 quiet loglevel=6 panic=-1");
	add(a, "-chardev");
	add(a, "file,id=console,path=%s/console", g->dir);
	add_pair(a, "-serial", "chardev:console");
	add_pair(a, "-chardev", "stdio,id=output,signal=off");
	add_pair(a, "-serial", "chardev:output");
	add(a, "-chardev");
	add(a, "file,id=status,path=%s/status", g->dir);
	add_pair(a, "-serial", "chardev:status");
	for (unsigned int i = 0; i < o->nics; i++) {
		add(a, "-device");
		add(a,
		    "{\"driver\":\"vfio-user-pci\",\"socket\":{\"path\":\"%s/nic%u\",\"type\":"
		    "\"unix\"}}",
		    g->dir, i);
	}
}

static void become_qemu(const struct guest *g, char **argv, const sigset_t *mask)
{
	char modules[PATH_MAX + 64];
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	snprintf(modules, sizeof(modules), "%s/qemu/root/usr/lib/x86_64-linux-gnu/qemu", g->cache);
	setenv("QEMU_MODULE_DIR", modules, 1);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	execv(argv[0], argv);
	complain("%s: %s", argv[0], strerror(errno));
	_exit(EXIT_NO_EXEC);
}

static bool start_qemu(struct guest *g, const sigset_t *mask)
{
	struct args a = {.n = 0};

	qemu_program(g, &a);
	qemu_machine(g, &a);
	fflush(NULL);
	g->qemu = fork();
	if (g->qemu == 0)
		become_qemu(g, a.argv, mask);
	for (unsigned int i = 0; i < a.n; i++)
		free(a.argv[i]);
	if (g->qemu > 0)
		return true;
	complain("QEMU cannot be started: %s", strerror(errno));
	return false;
}

/* Until QEMU has ended. 0, or the exit code that gdakit ends with instead. */
static int attend_qemu(const struct guest *g, const sigset_t *signals)
{
	struct timespec until;
	int status, ended = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += g->o->timeout_s;
	for (;;) {
		const struct timespec a_second = {.tv_sec = 1};
		struct timespec now;
		int sig = sigtimedwait(signals, NULL, &a_second);

		if (waitpid(g->qemu, &status, WNOHANG) == g->qemu)
			return ended;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (ended || (sig < 0 && now.tv_sec < until.tv_sec) || sig == SIGCHLD)
			continue;
		if (sig > 0) {
			ended = 128 + sig;
		} else {
			complain("the guest has not ended within %u s (--timeout)",
				 g->o->timeout_s);
			ended = EXIT_TIMEOUT;
		}
		kill(g->qemu, SIGKILL);
	}
}

/* ---- how it ended ---- */

static void show_console(const struct guest *g)
{
	static char tail[CONSOLE_TAIL + 1];
	char path[PATH_MAX];
	FILE *f;
	size_t n;

	path_of(g, "console", path);
	f = fopen(path, "re");
	if (!f)
		return;
	fseek(f, 0, SEEK_END);
	fseek(f, ftell(f) > CONSOLE_TAIL ? -CONSOLE_TAIL : -ftell(f), SEEK_END);
	n = fread(tail, 1, CONSOLE_TAIL, f);
	fclose(f);
	tail[n] = '\0';
	complain("the end of its console:\n%s", tail);
}

static int exit_code(const struct guest *g)
{
	char path[PATH_MAX];
	int code = -1;
	FILE *f;

	path_of(g, "status", path);
	f = fopen(path, "re");
	if (f && fscanf(f, "exit %d", &code) != 1)
		code = -1;
	if (f)
		fclose(f);
	if (code >= 0 && code <= 255)
		return code;
	complain("the guest ended without running the command");
	show_console(g);
	return EXIT_REFUSED;
}

static void keep_console(const struct guest *g)
{
	char path[PATH_MAX];
	FILE *f;

	if (!g->o->console)
		return;
	path_of(g, "console", path);
	f = fopen(g->o->console, "we");
	if (!f || !copy_file(f, path))
		complain("%s: the console cannot be kept: %s", g->o->console, strerror(errno));
	if (f)
		fclose(f);
}

static void clean_up(const struct guest *g)
{
	static const char *const names[] = {"initrd", "console", "status"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(g, names[i], path);
		unlink(path);
	}
	rmdir(g->dir);
}

static int run_guest(struct guest *g)
{
	sigset_t signals, before;
	int ret = EXIT_REFUSED;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	if (g->o->verbose)
		fprintf(stderr, "gdakit: a guest with %u NIC%s, accelerator %s\n", g->o->nics,
			g->o->nics == 1 ? "" : "s", g->o->accel);
	if (make_initrd(g) && start_nics(g) && start_qemu(g, &before)) {
		ret = attend_qemu(g, &signals);
		if (!ret)
			ret = exit_code(g);
		keep_console(g);
	}
	end_nics(g);
	return ret;
}

/* ---- arguments ---- */

static const struct argp_option options[] = {
	{.name = "verbose",
	 .key = 'v',
	 .doc = "Say on stderr which commands come and what is refused, and why"},
	{.name = "nics", .key = KEY_NICS, .arg = "N", .doc = "Functions: 1 (default) to 8"},
	{.name = "ethernet",
	 .key = KEY_ETHERNET,
	 .doc = "The ports say that they are Ethernet, not InfiniBand (not yet enough for the "
		"driver)"},
	{.name = "accel",
	 .key = KEY_ACCEL,
	 .arg = "ACCEL",
	 .doc = "What runs the guest's instructions: tcg (default) or kvm"},
	{.name = "memory", .key = KEY_MEMORY, .arg = "MB", .doc = "The guest's memory: 1024"},
	{.name = "cpus", .key = KEY_SMP, .arg = "N", .doc = "Its processors: 1"},
	{.name = "timeout",
	 .key = KEY_TIMEOUT,
	 .arg = "S",
	 .doc = "The guest is ended after so many seconds: 300"},
	{.name = "console",
	 .key = KEY_CONSOLE,
	 .arg = "FILE",
	 .doc = "Keep what the kernel prints in FILE"},
	{0},
};

static unsigned int number(struct argp_state *state, const char *option, const char *arg,
			   unsigned int min, unsigned int max)
{
	char *end;
	unsigned long v = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || v < min || v > max)
		argp_error(state, "--%s is '%s', expected %u to %u", option, arg, min, max);
	return (unsigned int)v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct qemu_options *o = state->input;

	switch (key) {
	case 'v':
		o->verbose = true;
		return 0;
	case KEY_NICS:
		o->nics = number(state, "nics", arg, 1, NICS_MAX);
		return 0;
	case KEY_ETHERNET:
		o->ethernet = true;
		return 0;
	case KEY_ACCEL:
		if (strcmp(arg, "tcg") != 0 && strcmp(arg, "kvm") != 0)
			argp_error(state, "--accel is '%s', expected tcg or kvm", arg);
		o->accel = arg;
		return 0;
	case KEY_MEMORY:
		o->memory_mb = number(state, "memory", arg, 256, 65536);
		return 0;
	case KEY_SMP:
		o->cpus = number(state, "cpus", arg, 1, 31);
		return 0;
	case KEY_TIMEOUT:
		o->timeout_s = number(state, "timeout", arg, 1, 86400);
		return 0;
	case KEY_CONSOLE:
		o->console = arg;
		return 0;
	case ARGP_KEY_ARGS:
		o->argv = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no command given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp qemu_argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] COMMAND [ARGUMENT...]",
	.doc = "Boots a guest with the kernel's own mlx5 driver on simulated ConnectX-7 functions, "
	       "and runs COMMAND in it.\vThe exit code is COMMAND's, 124 if the guest did not end "
	       "in time, 125 if gdakit could not run it. ci/setup-qemu gets QEMU and the guest.",
};

int main_qemu(int argc, char **argv)
{
	struct qemu_options o = {
		.accel = "tcg", .nics = 1, .memory_mb = 1024, .cpus = 1, .timeout_s = 300};
	struct guest g = {.o = &o, .dir = "/tmp/gdakit-qemu-XXXXXX"};
	int ret;

	argp_parse(&qemu_argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	if (!find_cache(&g))
		return EXIT_REFUSED;
	if (!mkdtemp(g.dir)) {
		complain("%s: %s", g.dir, strerror(errno));
		return EXIT_REFUSED;
	}
	ret = run_guest(&g);
	clean_up(&g);
	return ret;
}
