// SPDX-License-Identifier: BSD-3-Clause
/*
 * How the NIC's thread sleeps.
 *
 * Doorbells are memory, so something has to look at them; but the programs that ring them spin on
 * their own completions, often on as many cores as there are. A thread that spins beside them takes
 * the core that the program needs to ring the next doorbell, for a whole time slice at a time;
 * yielding hands the core over for as long. A thread that sleeps on a timer is let in when it
 * wakes. So: look again for a few microseconds, in which a program on another core answers, then
 * sleep for half of the time since the last work. Short sleeps do not pay: where timers are
 * virtual, one costs some 15 us of processor time however short it is.
 *
 * With cores to spare the opposite holds: nobody wants the core on which this thread looks, and an
 * answer comes within the microsecond. So there it keeps looking for as long as a conversation's
 * next message takes. Whether there are is measured: by the CPUs that the process may use, and by
 * how late a yield comes back, which it does when somebody else wanted the core.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/world/world_priv.h"

enum {
	SPIN_NS = 3000,
	SPARE_CPUS = 4,		   /* two programs that spin, and their NICs */
	SPARE_SPIN_NS = 100000,	   /* after the last work */
	SPARE_LOOK_NS = 100000000, /* between two looks at the CPUs */
	YIELD_EVERY = 32,	   /* turns */
	YIELD_LATE_NS = 20000,
	CROWDED_MIN_NS = 20000000, /* no spinning after a yield came back late; doubled each time */
	CROWDED_MAX_NS = 1280000000,
	SLEEP_MIN_NS = 20000,
	SLEEP_MAX_NS = 800000, /* a doorbell is served within a millisecond */
	SLICE_NS = 100000,     /* the shortest that the scheduler grants */
	NICE_GAIN = 10,
	NICE_MIN = -20,
};

bool waiter_init(struct waiter *wt)
{
	wt->event_fd = fds_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	atomic_init(&wt->asleep, false);
	atomic_init(&wt->kicked, false);
	return wt->event_fd >= 0;
}

void waiter_fini(struct waiter *wt)
{
	fds_close(wt->event_fd);
	wt->event_fd = -1;
}

/*
 * Whoever kicks sets `kicked` and then looks at `asleep`; the thread sets `asleep` and then looks
 * at `kicked`. Both in the one total order of seq_cst, so at least one of them sees the other.
 */
void waiter_kick(struct waiter *wt)
{
	uint64_t one = 1;
	ssize_t n;

	atomic_store(&wt->kicked, true);
	if (!atomic_load(&wt->asleep))
		return;
	n = write(wt->event_fd, &one, sizeof(one));
	(void)n; /* EAGAIN: the counter is at its limit, so it is readable already */
}

bool waiter_sleep(struct waiter *wt, const struct waiter_fd *fds, unsigned int nfds,
		  uint64_t timeout_ns)
{
	struct pollfd pfds[WAITER_MAX_FDS + 1];
	struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000),
			      .tv_nsec = (long)(timeout_ns % 1000000000)};
	bool woken = true;
	uint64_t count;
	ssize_t n;

	assert(nfds <= WAITER_MAX_FDS);
	pfds[0] = (struct pollfd){.fd = wt->event_fd, .events = POLLIN};
	for (unsigned int i = 0; i < nfds; i++)
		pfds[i + 1] = (struct pollfd){
			.fd = fds[i].fd,
			.events = (short)(POLLIN | (fds[i].out ? POLLOUT : 0)),
		};
	atomic_store(&wt->asleep, true);
	if (!atomic_load(&wt->kicked))
		woken = ppoll(pfds, nfds + 1, &ts, NULL) > 0;
	if (woken && pfds[0].revents) {
		n = read(wt->event_fd, &count, sizeof(count));
		(void)n; /* only its readiness counts */
	}
	atomic_store(&wt->asleep, false);
	/* Read, not only written: what was stored before a kick is seen after this. */
	atomic_exchange(&wt->kicked, false);
	return woken;
}

/* ---- spinning ---- */

static unsigned int cpus_allowed(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

static void yield(void)
{
	sched_yield();
}

void spinner_init(struct spinner *s, uint64_t (*now_ns)(void))
{
	*s = (struct spinner){.now_ns = now_ns, .yield = yield, .cpus = cpus_allowed};
}

/* Gives the core to whoever wants it. False: somebody did. */
static bool came_back_at_once(struct spinner *s)
{
	uint64_t before_ns = s->now_ns(), after_ns;

	s->yield();
	after_ns = s->now_ns();
	if (after_ns - before_ns < YIELD_LATE_NS) {
		if (after_ns - s->crowded_until_ns > CROWDED_MAX_NS)
			s->penalty_ns = 0;
		return true;
	}
	s->penalty_ns = s->penalty_ns ? 2 * s->penalty_ns : CROWDED_MIN_NS;
	if (s->penalty_ns > CROWDED_MAX_NS)
		s->penalty_ns = CROWDED_MAX_NS;
	s->crowded_until_ns = after_ns + s->penalty_ns;
	return false;
}

bool spinner_turn(struct spinner *s, uint64_t idle_ns, uint64_t now_ns)
{
	if (idle_ns >= SPARE_SPIN_NS || now_ns < s->crowded_until_ns)
		return false;
	if (!s->looked_ns || now_ns - s->looked_ns >= SPARE_LOOK_NS) {
		s->looked_ns = now_ns;
		s->spare = s->cpus() >= SPARE_CPUS;
	}
	if (!s->spare)
		return false;
	if (++s->turns % YIELD_EVERY == 0)
		return came_back_at_once(s);
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
	return true;
}

uint64_t waiter_backoff_ns(uint64_t idle_ns)
{
	if (idle_ns < SPIN_NS)
		return 0;
	if (idle_ns / 2 < SLEEP_MIN_NS)
		return SLEEP_MIN_NS;
	return idle_ns / 2 < SLEEP_MAX_NS ? idle_ns / 2 : SLEEP_MAX_NS;
}

/* sched_setattr(2); glibc has no wrapper. Up to SCHED_ATTR_SIZE_VER0. */
struct thread_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* SCHED_OTHER: the time slice wanted, since Linux 6.12; ignored before
			      */
	uint64_t deadline_ns;
	uint64_t period_ns;
};

/*
 * A short slice means an early deadline: the scheduler lets a woken thread in sooner. A lower nice
 * value means the same more surely, but takes CAP_SYS_NICE or RLIMIT_NICE: with it, the worst
 * percent of a round trip between programs that spin on every core is a tenth of what it is
 * without. Still no real-time priority: a program must get its turn beside a NIC that has work
 * without end.
 */
void waiter_tune_thread(void)
{
	struct thread_attr attr = {.size = sizeof(attr)};
	int32_t nice;

	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) || attr.policy != SCHED_OTHER)
		return;
	nice = attr.nice;
	attr.size = sizeof(attr);
	attr.flags = 0;
	attr.runtime_ns = SLICE_NS;
	attr.nice = nice - NICE_GAIN < NICE_MIN ? NICE_MIN : nice - NICE_GAIN;
	if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0)
		return;
	attr.nice = nice;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
