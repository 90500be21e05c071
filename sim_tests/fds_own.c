// SPDX-License-Identifier: BSD-3-Clause
/* The NIC's own descriptors: marks that follow the process. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/fds/size.h"
#include "emu/fds/thread.h"

static int open_one(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

Test(fds_own, an_own_descriptor_has_a_high_number_and_is_marked)
{
	int low = open_one(), fd = fds_own(low);

	cr_assert(fd >= 512 && is_open(fd) && !is_open(low));
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_assert(fds_is_own(fd) && !fds_is_own(low));
	cr_assert_eq(fds_next_own(0), fd);
	cr_assert_eq(fds_next_own(fd), fd);
	cr_assert_eq(fds_next_own(fd + 1), -1);
	errno = EBUSY;
	fds_close(fd);
	cr_assert_eq(errno, EBUSY);
	cr_assert(!is_open(fd) && !fds_is_own(fd));
	cr_assert_eq(fds_next_own(0), -1);
}

Test(fds_own, marks_in_other_words_are_found_in_order)
{
	int fds[130];

	for (int i = 0; i < 130; i++)
		cr_assert((fds[i] = fds_own(open_one())) >= 512);
	for (int i = 0, at = -1; i < 130; i++) {
		at = fds_next_own(at + 1);
		cr_assert_eq(at, fds[i]);
	}
	cr_assert_eq(fds_next_own(fds[129] + 1), -1);
}

Test(fds_own, where_no_high_number_is_free_the_low_one_is_marked)
{
	struct rlimit limit;
	int fd, low;

	cr_assert(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 64;
	cr_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	low = open_one();
	errno = 0;
	fd = fds_own(low);
	cr_assert(fd == low && is_open(fd) && fds_is_own(fd) && errno == 0);
}

Test(fds_own, a_failed_open_passes_through)
{
	errno = EMFILE;
	cr_assert(fds_own(-1) == -1 && errno == EMFILE);
	fds_close(-1);
	cr_assert(!fds_is_own(-1) && !fds_is_own(1 << 20));
}

Test(fds_own, a_forked_child_owns_nothing_until_it_marks_its_own)
{
	int fd = fds_own(open_one()), status;
	pid_t pid = fork();

	if (!pid) {
		int mine;

		if (fds_is_own(fd) || fds_next_own(0) != -1)
			_exit(1);
		mine = fds_own(open_one());
		_exit(fds_is_own(fd) || fds_next_own(0) != mine ? 2 : 0);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert(fds_is_own(fd));
}

static void *look(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

Test(fds_own, a_thread_of_the_nic_takes_faults_and_no_signal_of_the_program)
{
	const size_t stacks[] = {0, 256 * 1024, 1 /* too small for any: the default */};

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		sigset_t mask, ours;
		pthread_t thread;

		cr_assert_eq(nic_thread_start(&thread, "gdakit-test", stacks[i], look, &mask), 0);
		pthread_join(thread, NULL);
		cr_expect(!sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGBUS));
		cr_expect(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1));
		pthread_sigmask(SIG_SETMASK, NULL, &ours);
		cr_expect(!sigismember(&ours, SIGTERM), "the caller's is as it was");
	}
}

static void *look_at_scheduling(void *arg)
{
	struct sched_param *param = arg;
	int policy;

	return pthread_getschedparam(pthread_self(), &policy, param) ? NULL : param + policy;
}

Test(nic_thread, it_stands_above_a_program_of_real_time_which_may_poll_for_ever)
{
	struct sched_param mine = {.sched_priority = 10}, seen[8];
	int highest = sched_get_priority_max(SCHED_FIFO);
	pthread_t thread;
	void *policy;

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &mine))
		cr_skip_test("real-time scheduling is not permitted");
	for (size_t stack = 0; stack <= 65536; stack += 65536) {
		cr_assert_eq(
			nic_thread_start(&thread, "gdakit-test", stack, look_at_scheduling, seen),
			0);
		pthread_join(thread, &policy);
		cr_expect_eq((struct sched_param *)policy - seen, SCHED_FIFO);
		cr_expect_eq(seen->sched_priority, 11, "%d", seen->sched_priority);
	}
	mine.sched_priority = highest;
	cr_assert_eq(pthread_setschedparam(pthread_self(), SCHED_FIFO, &mine), 0);
	cr_assert_eq(nic_thread_start(&thread, "gdakit-test", 0, look_at_scheduling, seen), 0);
	pthread_join(thread, &policy);
	cr_expect_eq(seen->sched_priority, highest, "there is nothing above the highest");
}

/* What a child with this limit finds: 0 or the errno of fds_set_size(); a signal is a failure. */
static int size_under(rlim_t soft, rlim_t hard)
{
	const struct rlimit limit = {soft, hard};
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		int fd = memfd_create("test", MFD_CLOEXEC), ret;
		struct rlimit after;
		struct stat st;

		setrlimit(RLIMIT_FSIZE, &limit);
		ret = fds_set_size(fd, 65536) ? errno : 0;
		getrlimit(RLIMIT_FSIZE, &after);
		if (after.rlim_cur != soft || (!ret && (fstat(fd, &st) || st.st_size != 65536)))
			ret = 255;
		_exit(ret);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

Test(fds_size, a_limit_of_file_sizes_is_lifted_or_an_error_and_never_a_signal)
{
	cr_expect_eq(size_under(65536, 65536), 0);
	cr_expect_eq(size_under(100, RLIM_INFINITY), 0);
	cr_expect_eq(size_under(0, 65536), 0);
	cr_expect_eq(size_under(100, 65535), EFBIG);
	cr_expect_eq(size_under(0, 0), EFBIG);
}

Test(fds_size, the_programs_own_signal_stays_pending)
{
	struct fds_growth g;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_kill(pthread_self(), SIGXFSZ);
	fds_growth_begin(&g);
	fds_growth_end(&g);
	sigpending(&set);
	cr_expect(sigismember(&set, SIGXFSZ));
}
