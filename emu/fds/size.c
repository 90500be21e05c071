// SPDX-License-Identifier: BSD-3-Clause
#include "emu/fds/size.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void only_xfsz(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
}

static bool is_pending(void)
{
	sigset_t pending;

	return !sigpending(&pending) && sigismember(&pending, SIGXFSZ) == 1;
}

void fds_growth_begin(struct fds_growth *g)
{
	int saved = errno;
	sigset_t set;

	only_xfsz(&set);
	pthread_sigmask(SIG_BLOCK, &set, &g->before);
	g->pending = is_pending();
	errno = saved;
}

void fds_growth_end(const struct fds_growth *g)
{
	static const struct timespec now = {0};
	int saved = errno;
	sigset_t set;

	only_xfsz(&set);
	if (!g->pending && is_pending())
		sigtimedwait(&set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &g->before, NULL);
	errno = saved;
}

int fds_set_size(int fd, off_t bytes)
{
	struct rlimit limit, lifted;
	struct fds_growth g;
	int ret, saved;

	fds_growth_begin(&g);
	ret = ftruncate(fd, bytes);
	if (ret && errno == EFBIG && !getrlimit(RLIMIT_FSIZE, &limit)) {
		lifted = (struct rlimit){limit.rlim_max, limit.rlim_max};
		setrlimit(RLIMIT_FSIZE, &lifted);
		ret = ftruncate(fd, bytes);
		saved = errno;
		setrlimit(RLIMIT_FSIZE, &limit);
		errno = saved;
	}
	fds_growth_end(&g);
	return ret;
}
