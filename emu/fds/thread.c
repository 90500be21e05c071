// SPDX-License-Identifier: BSD-3-Clause
#include "emu/fds/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>

/* A program of real time that polls would keep its NIC from the processor, which a device does not
 * need: so the thread is one above it, where that is allowed. False: there is nothing to do. */
static bool above_the_program(pthread_attr_t *attr)
{
	struct sched_param param;
	int policy;

	if (pthread_getschedparam(pthread_self(), &policy, &param) ||
	    (policy != SCHED_FIFO && policy != SCHED_RR) ||
	    param.sched_priority >= sched_get_priority_max(policy))
		return false;
	param.sched_priority++;
	pthread_attr_setschedpolicy(attr, policy);
	pthread_attr_setschedparam(attr, &param);
	pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
	return true;
}

static int start_once(pthread_t *thread, size_t stack_bytes, bool above, void *(*run)(void *),
		      void *arg)
{
	pthread_attr_t attr;
	int err = EPERM;

	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	if (!above || above_the_program(&attr))
		err = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return err;
}

static int start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg)
{
	if (stack_bytes && (!start_once(thread, stack_bytes, true, run, arg) ||
			    !start_once(thread, stack_bytes, false, run, arg)))
		return 0;
	if (!start_once(thread, 0, true, run, arg))
		return 0;
	return start_once(thread, 0, false, run, arg);
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
