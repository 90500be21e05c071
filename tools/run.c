// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit run: a claim, a child with its own view and environment, and a parent that is transparent
 * to signals and exit codes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/gdakit.h"

#define PRELOAD_NAME "libgdakit_uverbs.so"

/* ---- the preload library ---- */

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

bool find_preload(char path[PATH_MAX], bool quiet)
{
	/* In the build tree, beside us, and as installed. */
	static const char *const places[] = {"../emu/uverbs", ".", GDAKIT_PRELOAD_INSTALL,
					     "../lib"};
	char dir[PATH_MAX], full[PATH_MAX];

	if (!directory_of_self(dir))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(full, sizeof(full), "%s/%s/" PRELOAD_NAME, dir, places[i]) >=
		    (int)sizeof(full))
			continue;
		if (realpath(full, path))
			return true;
	}
	if (!quiet)
		complain(PRELOAD_NAME " is not in %s/%s, beside gdakit, or in %s/%s", dir,
			 places[0], dir, places[2]);
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

/* An instrumented library needs its runtime first of all, also in programs that are not
 * instrumented. */
static int set_preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD"), *runtime = GDAKIT_SANITIZER_RUNTIME;
	char list[3 * PATH_MAX];

	if (strpbrk(library, " :")) {
		complain("%s: the dynamic linker takes no path with spaces or colons", library);
		return -1;
	}
	snprintf(list, sizeof(list), "%s%s%s%s%s", runtime, *runtime ? ":" : "", library,
		 before && *before ? ":" : "", before ? before : "");
	/* Programs under test leak as they please. */
	if (*runtime && setenv("ASAN_OPTIONS", "detect_leaks=0", 0))
		return -1;
	return set_env("LD_PRELOAD", list);
}

static int set_environment(const struct run_options *o, const struct uv_identity *id,
			   const char *library)
{
	char host[32], nics[16];

	snprintf(host, sizeof(host), "127.%u.%u", id->a, id->b);
	snprintf(nics, sizeof(nics), "%u", o->nics);
	return set_env(UV_ENV_HOST, host) | set_env(UV_ENV_NICS, nics) |
	       set_env(UV_ENV_LINK_LAYER, o->ethernet ? "ethernet" : "infiniband") |
	       set_env(UV_ENV_VERBOSE, o->verbose ? "1" : "0") | set_env(UV_ENV_WIRE, o->wire) |
	       set_preload(library);
}

static _Noreturn void child(const struct run_options *o, const struct uv_identity *id,
			    const char *library, const char *scratch, const sigset_t *mask)
{
	const struct view view = {.id = *id, .nics = o->nics, .ethernet = o->ethernet};
	int err;

	if (view_enter(scratch, &view) || set_environment(o, id, library))
		_exit(EXIT_REFUSED);
	/* If we go, nobody is left to pass signals on, or to ask for the exit code. Not before the
	 * namespace: a change of credentials clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(o->argv[0], o->argv);
	err = errno;
	complain("%s: %s", o->argv[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC);
}

/* ---- the parent ---- */

/*
 * Waits for the child. Signals that somebody sent to us are for it; those of the terminal reach it
 * anyway, since it is in our process group. A stop stops us too, so that the shell sees it.
 */
static int attend(pid_t pid, const sigset_t *signals)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(signals, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			if (info.si_code != SI_KERNEL)
				kill(pid, info.si_signo);
			continue;
		}
		if (waitpid(pid, &status, WNOHANG | WUNTRACED) != pid)
			continue;
		if (WIFSTOPPED(status)) {
			raise(SIGSTOP);
			kill(pid, SIGCONT);
			continue;
		}
		return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
}

static int make_scratch(char path[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");

	/* An overlay's options are separated by commas and colons. */
	if (!tmp || !*tmp || strpbrk(tmp, ",:\\"))
		tmp = "/tmp";
	if (snprintf(path, PATH_MAX, "%s/gdakit-XXXXXX", tmp) < PATH_MAX && mkdtemp(path))
		return 0;
	complain("%s: %s", path, strerror(errno));
	return -1;
}

int run_program(const struct run_options *o)
{
	static const int forwarded[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
					SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
	char library[PATH_MAX], scratch[PATH_MAX];
	struct uv_identity id;
	sigset_t signals, before;
	pid_t pid;
	int code;

	if (!find_preload(library, false) || claim_host(o->host, o->nics, &id) ||
	    make_scratch(scratch))
		return EXIT_REFUSED;
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&signals, forwarded[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	pid = fork();
	if (pid < 0) {
		complain("fork: %s", strerror(errno));
		code = EXIT_REFUSED;
	} else if (!pid) {
		child(o, &id, library, scratch, &before);
	} else {
		code = attend(pid, &signals);
	}
	rmdir(scratch); /* only if the child did not come so far */
	return code;
}
