// SPDX-License-Identifier: BSD-3-Clause
/*
 * The guard: memory faults inside a NIC's copy end the copy, not the process.
 *
 * A thread that is about to touch foreign memory saves its registers (sigsetjmp without the mask:
 * no system call) and raises a flag; the handler jumps back if the flag of its own thread is up,
 * and otherwise passes the fault on. The mask is put back by the handler, on the rare way out.
 */
#include "emu/space/space.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

/* initial-exec: the handler must not enter the allocator for a thread's first access. */
#define GUARD_TLS static _Thread_local __attribute__((tls_model("initial-exec")))

GUARD_TLS sigjmp_buf *guard_jump;
GUARD_TLS unsigned int chain_depth;
GUARD_TLS bool faults_pass; /* this thread does not block them, as far as we know */

static const int guard_signals[] = {SIGSEGV, SIGBUS};

enum { GUARD_SIGNALS = sizeof(guard_signals) / sizeof(guard_signals[0]) };

/*
 * Whom a fault that is not ours goes to. `first` was there before the guard, `latest` is what the
 * program installed over it. Written under install_lock into a slot nobody reads yet, then
 * published: the handler may run at any time. Replaced slots are kept, as a handler may still be
 * reading one.
 */
struct guard_chain {
	struct sigaction first;
	_Atomic(const struct sigaction *) latest;
	struct sigaction kept[8];
	unsigned int next_kept;
};

static struct guard_chain chains[GUARD_SIGNALS];
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t install_once = PTHREAD_ONCE_INIT;

static unsigned int signal_index(int sig)
{
	return sig == guard_signals[0] ? 0 : 1;
}

static void fall_back_to_default(int sig)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};

	/* The instruction runs again on return and the kernel ends the process with the true cause.
	 */
	sigaction(sig, &dfl, NULL);
}

static void pass_on(int sig, siginfo_t *info, void *uctx)
{
	struct guard_chain *chain = &chains[signal_index(sig)];
	const struct sigaction *to = atomic_load_explicit(&chain->latest, memory_order_acquire);

	/*
	 * The program's handler may itself call what it found when it was installed, which is this
	 * one: the second time round the fault goes to whoever was first.
	 */
	if (!to || chain_depth > 0)
		to = &chain->first;
	if (to->sa_handler == SIG_IGN && info->si_code <= 0)
		return; /* sent by kill(): may be ignored; a true fault may not */
	if (to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN) {
		fall_back_to_default(sig);
		if (info->si_code <= 0)
			raise(sig); /* no instruction will fault again */
		return;
	}
	chain_depth++;
	if (to->sa_flags & SA_SIGINFO)
		to->sa_sigaction(sig, info, uctx);
	else
		to->sa_handler(sig);
	chain_depth--;
}

static void on_fault(int sig, siginfo_t *info, void *uctx)
{
	sigjmp_buf *jump = guard_jump;

	if (jump && info->si_code > 0) {
		guard_jump = NULL;
		/* Whoever called this handler may have blocked signals that SA_NODEFER did not. */
		pthread_sigmask(SIG_SETMASK, &((ucontext_t *)uctx)->uc_sigmask, NULL);
		siglongjmp(*jump, 1);
	}
	pass_on(sig, info, uctx);
}

/* Under install_lock. */
static void install_one(unsigned int idx, bool initial)
{
	struct guard_chain *chain = &chains[idx];
	struct sigaction now,
		ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

	if (sigaction(guard_signals[idx], NULL, &now))
		return;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
		return;
	if (initial) {
		chain->first = now;
	} else {
		struct sigaction *slot = &chain->kept[chain->next_kept++ % 8];

		*slot = now;
		atomic_store_explicit(&chain->latest, slot, memory_order_release);
	}
	sigemptyset(&ours.sa_mask);
	sigaction(guard_signals[idx], &ours, NULL);
}

static void install_first(void)
{
	pthread_mutex_lock(&install_lock);
	for (unsigned int i = 0; i < GUARD_SIGNALS; i++)
		install_one(i, true);
	pthread_mutex_unlock(&install_lock);
}

void space_guard_renew(void)
{
	pthread_once(&install_once, install_first);
	pthread_mutex_lock(&install_lock);
	for (unsigned int i = 0; i < GUARD_SIGNALS; i++)
		install_one(i, false);
	pthread_mutex_unlock(&install_lock);
}

/*
 * A thread of the program that calls us may have blocked all signals, as threads of servers do. A
 * fault whose signal is blocked ends the process, so nobody relies on that. Once a thread: to look
 * each time would be a system call.
 */
static void let_faults_pass(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	for (unsigned int i = 0; i < GUARD_SIGNALS; i++)
		sigaddset(&faults, guard_signals[i]);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
	faults_pass = true;
}

int space_guarded(void (*fn)(void *arg), void *arg)
{
	sigjmp_buf jump;

	pthread_once(&install_once, install_first);
	if (!faults_pass)
		let_faults_pass();
	if (sigsetjmp(jump, 0))
		return -EFAULT; /* the handler has lowered the flag */
	guard_jump = &jump;
	/* The compiler must not move fn's accesses out of the guarded stretch. */
	atomic_signal_fence(memory_order_seq_cst);
	fn(arg);
	atomic_signal_fence(memory_order_seq_cst);
	guard_jump = NULL;
	return 0;
}

struct copy_args {
	void *dst;
	const void *src;
	size_t len;
};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESSES_ARE_WATCHED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ADDRESSES_ARE_WATCHED
#endif

#ifdef ADDRESSES_ARE_WATCHED
/* The sanitizer's memmove() looks at its shadow of an address before the address is touched, and
 * ends the program where there is none; here a wrong address is to be met by the processor. */
typedef uint64_t __attribute__((may_alias, aligned(1))) any_word;

static __attribute__((noinline, no_sanitize("address", "undefined"))) void
move_bytes(void *dst, const void *src, size_t len)
{
	const bool backwards = (uintptr_t)dst - (uintptr_t)src < len;
	const size_t words = len / sizeof(any_word), tail = words * sizeof(any_word);
	volatile any_word *d = dst;
	const volatile any_word *s = src;
	volatile uint8_t *db = dst;
	const volatile uint8_t *sb = src;

	for (size_t i = len; backwards && i > 0; i--)
		db[i - 1] = sb[i - 1];
	for (size_t i = 0; !backwards && i < words; i++)
		d[i] = s[i];
	for (size_t i = tail; !backwards && i < len; i++)
		db[i] = sb[i];
}
#else
#define move_bytes memmove
#endif

static void copy_fn(void *arg)
{
	const struct copy_args *a = arg;

	move_bytes(a->dst, a->src, a->len); /* a program may send itself what overlaps */
}

int space_guarded_copy(void *dst, const void *src, size_t len)
{
	struct copy_args args = {.dst = dst, .src = src, .len = len};

	return space_guarded(copy_fn, &args);
}
