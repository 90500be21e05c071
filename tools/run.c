// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit run: a claim, a child with its own view and environment, and a parent that is transparent
 * to signals and exit codes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/paths/paths.h"
#include "tools/gdakit.h"

/* ---- the preload libraries ---- */

static bool directory_of_self(char dir[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

bool find_preload(enum preload which, char path[PATH_MAX], bool quiet)
{
	static const struct {
		const char *name, *built; /* in the build tree, from the folder of gdakit */
	} libraries[] = {
		[PRELOAD_UVERBS] = {"libgdakit_uverbs.so", "../emu/uverbs"},
		[PRELOAD_PATHS] = {PATHS_LIBRARY, "../emu/paths"},
	};
	/* In the build tree, beside us, and as installed. */
	const char *const places[] = {libraries[which].built, ".", GDAKIT_PRELOAD_INSTALL,
				      "../lib"};
	char dir[PATH_MAX], full[PATH_MAX];

	if (!directory_of_self(dir))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(full, sizeof(full), "%s/%s/%s", dir, places[i],
			     libraries[which].name) >= (int)sizeof(full))
			continue;
		if (realpath(full, path))
			return true;
	}
	if (!quiet)
		complain("%s is not in %s/%s, beside gdakit, or in %s/%s", libraries[which].name,
			 dir, places[0], dir, places[2]);
	return false;
}

/* ---- the child ---- */

static int set_env(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return 0;
	complain("%s: %s", name, strerror(errno));
	return -1;
}

/* What a program is started with. */
struct start {
	const struct run_options *o;
	struct uv_identity id;
	char library[PATH_MAX];
	char paths[PATH_MAX]; /* the second library and the tree that it shows; "": no hooks */
	char root[PATH_MAX];
	char tools[PATH_MAX];
	sigset_t mask;
	pid_t parent; /* who attends to the program */
};

/*
 * A program built with -fsanitize=address insists on its runtime being the first library, which it
 * needs not: nothing in ours is what it replaces, but for calls that ours passes on. What the user
 * says comes last and wins. Where ours is instrumented: programs under test leak as they please.
 */
static int set_sanitizer(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	char *list;
	int ret;

	if (*GDAKIT_SANITIZER_RUNTIME)
		return before ? 0 : set_env("ASAN_OPTIONS", "detect_leaks=0");
	if (asprintf(&list, "verify_asan_link_order=0%s%s", before ? ":" : "",
		     before ? before : "") < 0)
		return -1;
	ret = set_env("ASAN_OPTIONS", list);
	free(list);
	return ret;
}

/* An instrumented library needs its runtime first of all, also in programs that are not
 * instrumented. */
static int set_preload(const struct start *s)
{
	const char *before = getenv("LD_PRELOAD"), *runtime = GDAKIT_SANITIZER_RUNTIME;
	char list[4 * PATH_MAX];

	if (strpbrk(s->library, " :") || strpbrk(s->paths, " :")) {
		complain("%s: the dynamic linker takes no path with spaces or colons", s->library);
		return -1;
	}
	snprintf(list, sizeof(list), "%s%s%s%s%s%s%s", runtime, *runtime ? ":" : "", s->library,
		 *s->paths ? ":" : "", s->paths, before && *before ? ":" : "",
		 before ? before : "");
	return set_env("LD_PRELOAD", list) | set_sanitizer();
}

static int set_tree(const struct start *s)
{
	char path[PATH_MAX + 8];

	if (!*s->paths)
		return 0;
	snprintf(path, sizeof(path), "%s/sys", s->root);
	/* The second is libibverbs' own way to look elsewhere. */
	return set_env(PATHS_ENV_ROOT, s->root) | set_env("SYSFS_PATH", path);
}

/* The folder of tools that stand in for those which ask the kernel; "": there is none. Asked before
 * the namespace, in which /proc names our file by a path that it does not have there. */
static void find_tools(char folder[PATH_MAX])
{
	static const char *const places[] = {"../libexec/gdakit", GDAKIT_LIBEXEC_INSTALL};
	char dir[PATH_MAX], full[PATH_MAX];

	for (size_t i = 0; directory_of_self(dir) && i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(full, sizeof(full), "%s/%s", dir, places[i]) < (int)sizeof(full) &&
		    realpath(full, folder) && !strchr(folder, ':'))
			return;
	}
	*folder = '\0';
}

/* They are first in PATH. */
static int set_path(const struct start *s)
{
	const char *before = getenv("PATH");
	char *list;
	int ret;

	if (!before || !*s->tools)
		return 0;
	if (asprintf(&list, "%s:%s", s->tools, before) < 0)
		return -1;
	ret = set_env("PATH", list);
	free(list);
	return ret;
}

static int set_environment(const struct start *s)
{
	const struct run_options *o = s->o;
	char host[32], nics[16];

	snprintf(host, sizeof(host), "127.%u.%u", s->id.a, s->id.b);
	snprintf(nics, sizeof(nics), "%u", o->nics);
	return set_env(UV_ENV_HOST, host) | set_env(UV_ENV_NICS, nics) |
	       set_env(UV_ENV_LINK_LAYER, o->ethernet ? "ethernet" : "infiniband") |
	       set_env(UV_ENV_NIC, o->nic->name) | set_env(UV_ENV_VERBOSE, o->verbose ? "1" : "0") |
	       set_env(UV_ENV_WIRE, o->wire) | set_env(UV_ENV_FABRIC, o->fabric) | set_path(s) |
	       set_preload(s) | set_tree(s);
}

static _Noreturn void execute(const struct start *s)
{
	int err;

	if (set_environment(s))
		_exit(EXIT_REFUSED);
	/* If we go, nobody is left to pass signals on, or to ask for the exit code. Not before the
	 * namespace: a change of credentials clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->parent) /* we went before that */
		_exit(EXIT_REFUSED);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	setrlimit(RLIMIT_STACK, &stack_given);
	execvp(s->o->argv[0], s->o->argv);
	err = errno;
	complain("%s: %s", s->o->argv[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC);
}

/* ---- the parent ---- */

/*
 * A directory to mount on, in the program's own view and only until that is complete: so an
 * existing one will do, and there is nothing to be left behind by whoever is killed. The view shows
 * parts of /dev and /sys, and an overlay's options are separated by commas and colons.
 */
static const char *find_scratch(void)
{
	static const char *const others[] = {"/tmp", "/var/tmp", "/run", "/mnt"};
	const char *tmp = getenv("TMPDIR");
	struct stat st;

	if (tmp && *tmp == '/' && !strpbrk(tmp, ",:\\") && strncmp(tmp, "/dev", 4) != 0 &&
	    strncmp(tmp, "/sys", 4) != 0 && !stat(tmp, &st) && S_ISDIR(st.st_mode))
		return tmp;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!stat(others[i], &st) && S_ISDIR(st.st_mode))
			return others[i];
	return "/";
}

/* ---- with namespaces ---- */

static _Noreturn void child_in_namespace(const struct start *s, int report)
{
	const struct view view = {
		.id = s->id, .nics = s->o->nics, .ethernet = s->o->ethernet, .model = s->o->nic};
	char why[VIEW_WHY_MAX] = "";

	if (view_enter(find_scratch(), &view, why)) {
		(void)!write(report, why, sizeof(why));
		_exit(EXIT_REFUSED);
	}
	execute(s);
}

/* Whether the child got its view. If so the pipe is closed by what it executes, with nothing in
 * it. */
static bool has_view(int report, char why[VIEW_WHY_MAX])
{
	ssize_t n;

	do
		n = read(report, why, VIEW_WHY_MAX);
	while (n < 0 && errno == EINTR);
	return n != VIEW_WHY_MAX;
}

/* The exit code; or -1: there is no such view here, the reason is in `why`. */
static int run_in_namespace(const struct start *s, const sigset_t *signals, char why[VIEW_WHY_MAX])
{
	int report[2], code;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC)) {
		complain("pipe: %s", strerror(errno));
		return EXIT_REFUSED;
	}
	pid = fork();
	if (!pid)
		child_in_namespace(s, report[1]);
	close(report[1]);
	if (pid < 0) {
		complain("fork: %s", strerror(errno));
		code = EXIT_REFUSED;
	} else if (has_view(report[0], why)) {
		code = attend(pid, signals);
	} else {
		waitpid(pid, NULL, 0);
		code = -1;
	}
	close(report[0]);
	return code;
}

/* ---- with hooks ---- */

static int run_with_hooks(struct start *s, const sigset_t *signals)
{
	const struct view view = {
		.id = s->id, .nics = s->o->nics, .ethernet = s->o->ethernet, .model = s->o->nic};
	int lock, code = EXIT_REFUSED;
	pid_t pid;

	if (!find_preload(PRELOAD_PATHS, s->paths, false))
		return EXIT_REFUSED;
	lock = tree_create(s->root, &view);
	if (lock < 0)
		return EXIT_REFUSED;
	pid = fork();
	if (!pid) {
		/* For what the hook of socket() does not see, where it costs the program nothing.
		 */
		view_refuse_netlink(false);
		execute(s);
	}
	if (pid < 0)
		complain("fork: %s", strerror(errno));
	else
		code = attend(pid, signals);
	tree_remove(s->root, lock);
	return code;
}

int run_program(const struct run_options *o)
{
	char why[VIEW_WHY_MAX] = "";
	struct start s = {.o = o};
	sigset_t signals;
	int code = -1;

	attend_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &s.mask);
	if (!find_preload(PRELOAD_UVERBS, s.library, false) || observe_prepare(o) ||
	    check_prepare(o) || claim_host(o->host, o->nics, &s.id))
		return EXIT_REFUSED;
	find_tools(s.tools);
	s.parent = getpid();
	if (o->mode != MODE_HOOKS)
		code = run_in_namespace(&s, &signals, why);
	if (code >= 0)
		return code;
	if (o->mode == MODE_NAMESPACE) {
		complain("%s (`gdakit doctor` says what this machine lacks)", why);
		return EXIT_REFUSED;
	}
	if (o->mode == MODE_AUTO)
		complain("no namespace here (%s): path hooks instead; `gdakit doctor` says what "
			 "that costs",
			 why);
	return run_with_hooks(&s, &signals);
}
