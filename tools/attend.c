// SPDX-License-Identifier: BSD-3-Clause
/* Waiting for the program: signals, stops, and the exit code. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/gdakit.h"

void attend_signals(sigset_t *signals)
{
	/* Ours, if anybody's: a fault of this process, and those nobody can wait for. */
	static const int left[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL, SIGTRAP,
				   SIGABRT, SIGSYS, SIGKILL, SIGSTOP};

	sigfillset(signals);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		sigdelset(signals, left[i]);
}

/* Those that a terminal sends to a whole process group: so the program has them already. */
static bool from_terminal(const siginfo_t *info)
{
	static const int of_terminals[] = {SIGINT,  SIGQUIT, SIGTSTP, SIGTTIN,
					   SIGTTOU, SIGHUP,  SIGCONT, SIGWINCH};

	if (info->si_code != SI_KERNEL)
		return false;
	for (size_t i = 0; i < sizeof(of_terminals) / sizeof(of_terminals[0]); i++)
		if (info->si_signo == of_terminals[i])
			return true;
	return false;
}

static void pass_on(pid_t pid, const siginfo_t *info)
{
	/* SIGPIPE and SIGXFSZ for what gdakit itself wrote are from itself. */
	if (from_terminal(info) || (info->si_code == SI_USER && info->si_pid == getpid()))
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(pid, info->si_signo, info->si_value);
	else
		kill(pid, info->si_signo);
}

/* Whether the process is stopped, and not by a debugger. False where /proc does not say. */
static bool is_stopped(pid_t pid)
{
	char path[32], text[512];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	state = strrchr(text, ')'); /* a name may hold one, too */
	return state && !strncmp(state, ") T", 3);
}

/* Continues `launcher` as soon as the program is stopped no more; again and again, since that may
 * be before the launcher has stopped. Ended by the launcher. */
static _Noreturn void wake(pid_t launcher, pid_t pid)
{
	static const struct timespec pause = {.tv_nsec = 20000000};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == launcher) {
		if (!is_stopped(pid))
			kill(launcher, SIGCONT);
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

/*
 * The program has stopped: so do we, for a shell to see it; until somebody continues us, and with
 * us the program, or somebody continues or ends the program itself, which a stopped process does
 * not notice.
 */
static void stop_too(pid_t pid)
{
	static const struct timespec now = {0};
	pid_t launcher = getpid(), waker = fork();
	sigset_t cont;

	if (!waker)
		wake(launcher, pid);
	if (waker < 0)
		return; /* nobody would wake us */
	raise(SIGSTOP);
	kill(waker, SIGKILL);
	waitpid(waker, NULL, 0);
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	sigtimedwait(&cont, NULL, &now);
	if (is_stopped(pid))
		kill(pid, SIGCONT);
}

int attend(pid_t pid, const sigset_t *signals)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(signals, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			pass_on(pid, &info);
			continue;
		}
		if (waitpid(pid, &status, WNOHANG | WUNTRACED) != pid)
			continue;
		if (!WIFSTOPPED(status))
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		stop_too(pid);
	}
}
