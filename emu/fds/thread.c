// SPDX-License-Identifier: BSD-3-Clause
#include "emu/fds/thread.h"

#include <errno.h>
#include <signal.h>

static int start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	int err = EINVAL;

	if (stack_bytes) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, stack_bytes);
		err = pthread_create(thread, &attr, run, arg);
		pthread_attr_destroy(&attr);
	}
	return err ? pthread_create(thread, NULL, run, arg) : 0;
}

int nic_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
		     void *arg)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
	sigset_t blocked, before;
	int err;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	err = start(thread, stack_bytes, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(*thread, name);
	return err;
}
