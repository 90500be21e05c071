/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/space/space.h"

static struct nm_dma make_dma(bool to_space, void *local, void *mem, size_t len)
{
	return (struct nm_dma){
		.purpose = to_space ? NM_DMA_SCATTER : NM_DMA_GATHER,
		.to_space = to_space,
		.nsegs = 1,
		.segs = {{.addr = (uintptr_t)mem, .len = len}},
		.local = local,
		.len = len,
	};
}

static int submit(struct nm_dma *dma)
{
	return space_host()->ops->submit(space_host(), dma);
}

static void *gone_page(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(p != MAP_FAILED);
	munmap(p, 4096);
	return p;
}

Test(space_host, a_transfer_gathers_and_scatters_its_segments_in_order)
{
	uint8_t mem[64], local[24];
	struct nm_dma dma = {
		.nsegs = 3,
		.segs = {{(uintptr_t)mem + 40, 8},
			 {(uintptr_t)mem + 1, 12},
			 {(uintptr_t)mem + 16, 4}},
		.local = local,
		.len = 24,
	};

	for (unsigned int i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)i;
	cr_assert_eq(submit(&dma), 0);
	cr_assert_arr_eq(local, mem + 40, 8);
	cr_assert_arr_eq(local + 8, mem + 1, 12);
	cr_assert_arr_eq(local + 20, mem + 16, 4);
	memset(local, 0xee, sizeof(local));
	dma.to_space = true;
	cr_assert_eq(submit(&dma), 0);
	cr_assert_eq(mem[40], 0xee);
	cr_assert_eq(mem[12], 0xee);
	cr_assert_eq(mem[13], 13);
	cr_assert_eq(mem[19], 0xee);
	cr_assert_eq(mem[20], 20);
}

Test(space_host, map_returns_the_address_itself_but_not_for_null_or_a_wrapping_range)
{
	int x;
	struct nm_space *s = space_host();

	cr_assert_eq(s->ops->map(s, (uintptr_t)&x, sizeof(x), true), &x);
	cr_assert_null(s->ops->map(s, 0, 8, false));
	cr_assert_null(s->ops->map(s, UINT64_MAX - 4, 64, false));
}

Test(space_host, segments_that_do_not_add_up_are_refused)
{
	uint8_t mem[16], local[16];
	struct nm_dma dma = make_dma(false, local, mem, 16);

	dma.len = 8;
	cr_assert_eq(submit(&dma), -EINVAL);
	dma.len = 17;
	cr_assert_eq(submit(&dma), -EINVAL);
	dma.nsegs = NM_DMA_MAX_SEGS + 1;
	cr_assert_eq(submit(&dma), -EINVAL);
}

Test(space_host, memory_that_was_unmapped_is_an_error_and_not_a_crash)
{
	uint8_t local[4096] = {0};
	uint8_t *gone = gone_page();
	struct nm_dma dma = make_dma(true, local, gone, sizeof(local));

	cr_assert_eq(submit(&dma), -EFAULT);
	dma.to_space = false;
	cr_assert_eq(submit(&dma), -EFAULT);
	dma = make_dma(true, local, gone + 8, 8); /* the atomic path */
	cr_assert_eq(submit(&dma), -EFAULT);
	dma = make_dma(false, local, gone + 4, 4);
	cr_assert_eq(submit(&dma), -EFAULT);
}

static void *copy_with_all_blocked(void *arg)
{
	sigset_t all, now;
	uint8_t byte;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	cr_expect_eq(space_guarded_copy(&byte, (void *)4096, 1), -EFAULT);
	cr_expect_eq(space_guarded_copy(&byte, (void *)4096, 1), -EFAULT, "again");
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	cr_expect(sigismember(&now, SIGTERM) && sigismember(&now, SIGUSR1), "no others");
	return NULL;
}

Test(space_host, a_thread_that_blocks_all_signals_is_guarded_like_any_other)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, copy_with_all_blocked, NULL), 0);
	pthread_join(thread, NULL);
}

Test(space_host, an_address_that_no_memory_can_have_is_an_error)
{
	uint8_t local[64];
	struct nm_dma dma = make_dma(false, local, (void *)UINT64_C(0x8000000000000000), 64);

	cr_assert_eq(submit(&dma), -EFAULT);
	dma.segs[0].addr = UINT64_MAX - 10;
	cr_assert_eq(submit(&dma), -EFAULT);
}

Test(space_host, a_file_mapping_that_was_truncated_is_an_error)
{
	uint8_t local[64];
	int fd = memfd_create("t", 0);
	void *p;
	struct nm_dma dma;

	cr_assert_eq(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(p != MAP_FAILED);
	cr_assert_eq(ftruncate(fd, 0), 0);
	dma = make_dma(false, local, p, sizeof(local));
	cr_assert_eq(submit(&dma), -EFAULT); /* SIGBUS */
}

Test(space_host, read_only_memory_is_an_error_for_writes_alone)
{
	uint8_t local[64] = {0};
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nm_dma dma = make_dma(true, local, p, sizeof(local));

	cr_assert(p != MAP_FAILED);
	cr_assert_eq(submit(&dma), -EFAULT);
	dma.to_space = false;
	cr_assert_eq(submit(&dma), 0);
}

static sigjmp_buf program_jump;
static volatile sig_atomic_t program_faults;

static void program_handler(int sig)
{
	(void)sig;
	program_faults++;
	siglongjmp(program_jump, 1);
}

/* A fault of the program itself, as a program with its own handler may make on purpose. */
static void fault_in_program(void)
{
	volatile int *gone = gone_page();

	if (!sigsetjmp(program_jump, 1))
		*gone = 1;
}

Test(space_host, a_fault_of_the_program_goes_to_the_handler_it_had_before)
{
	uint8_t local[8];
	struct nm_dma dma = make_dma(false, local, gone_page(), 8);

	signal(SIGSEGV, program_handler);
	cr_assert_eq(submit(&dma), -EFAULT);
	cr_assert_eq(program_faults, 0);
	fault_in_program();
	cr_assert_eq(program_faults, 1);
	cr_assert_eq(submit(&dma), -EFAULT, "the guard stands after the program's fault");
}

static struct sigaction found;

static void chaining_handler(int sig, siginfo_t *info, void *uctx)
{
	program_faults++;
	if (found.sa_flags & SA_SIGINFO)
		found.sa_sigaction(sig, info, uctx);
}

Test(space_host, a_handler_installed_later_is_passed_on_to_after_renew)
{
	uint8_t local[8];
	struct nm_dma dma = make_dma(false, local, gone_page(), 8);

	cr_assert_eq(submit(&dma), -EFAULT);
	signal(SIGSEGV, program_handler);
	space_guard_renew();
	cr_assert_eq(submit(&dma), -EFAULT);
	cr_assert_eq(program_faults, 0);
	fault_in_program();
	cr_assert_eq(program_faults, 1);
}

Test(space_host, handlers_that_call_each_other_end_with_the_first_one)
{
	uint8_t local[8];
	struct nm_dma dma = make_dma(false, local, gone_page(), 8);
	struct sigaction act = {.sa_sigaction = chaining_handler,
				.sa_flags = SA_SIGINFO | SA_NODEFER};

	signal(SIGSEGV, program_handler); /* the first */
	cr_assert_eq(submit(&dma), -EFAULT);
	sigaction(SIGSEGV, &act, &found); /* found: the guard */
	space_guard_renew();
	cr_assert_eq(submit(&dma), -EFAULT);
	fault_in_program();
	cr_assert_eq(program_faults, 2, "the later one and then the first: %d", program_faults);
}

static void *fault_many_times(void *arg)
{
	uint8_t local[256], mem[256] = {1, 2, 3};

	for (int i = 0; i < 2000; i++) {
		struct nm_dma bad = make_dma(i & 1, local, arg, sizeof(local));
		struct nm_dma good = make_dma(false, local, mem, sizeof(mem));

		if (submit(&bad) != -EFAULT || submit(&good) != 0 || local[2] != 3)
			return (void *)1;
	}
	return NULL;
}

Test(space_host, threads_may_fault_at_the_same_time)
{
	pthread_t threads[4];
	uint8_t *gone = mmap(NULL, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fault_many_times, gone + 4096 * i);
	for (int i = 0; i < 4; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		cr_assert_null(failed);
	}
}

static uint64_t shared_word;
static uint32_t stop_writing;

static void *write_words(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop_writing, __ATOMIC_RELAXED)) {
		uint64_t v = 0;
		struct nm_dma dma = make_dma(true, &v, &shared_word, 8);

		submit(&dma);
		v = UINT64_MAX;
		submit(&dma);
	}
	return NULL;
}

Test(space_host, an_aligned_word_is_never_seen_torn)
{
	pthread_t thread;

	pthread_create(&thread, NULL, write_words, NULL);
	for (int i = 0; i < 100000; i++) {
		uint64_t v = 1;
		struct nm_dma dma = make_dma(false, &v, &shared_word, 8);

		submit(&dma);
		cr_assert(v == 0 || v == UINT64_MAX);
	}
	__atomic_store_n(&stop_writing, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

NM_MAY_FAULT static void add_one(void *arg)
{
	__atomic_fetch_add(*(uint64_t **)arg, 1, __ATOMIC_SEQ_CST);
}

Test(space_host, an_atomic_on_memory_that_may_not_be_written_is_an_error_and_not_a_crash)
{
	const struct nm_space_ops *ops = space_host()->ops;
	uint64_t *word =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(word, MAP_FAILED);
	cr_assert_eq(ops->guarded(add_one, &word), 0);
	cr_assert_eq(*word, 1);
	cr_assert_eq(mprotect(word, 4096, PROT_READ), 0);
	cr_assert_eq(ops->guarded(add_one, &word), -EFAULT);
	cr_assert_eq(*word, 1);
	munmap(word, 4096);
	cr_assert_eq(ops->guarded(add_one, &word), -EFAULT);
}
