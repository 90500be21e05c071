// SPDX-License-Identifier: BSD-3-Clause
/*
 * Atomic operations on mapped device memory (mlx5dv_dm_map_op_addr): a store of a byte to one page
 * adds to a byte of device memory, a load from another returns it and sets it to 1.
 *
 * No memory does that, so each access is made to fault. The pages that the program is told lie
 * beyond the end of the command descriptor's file: the kernel maps them and an access is SIGBUS.
 * The handler puts a page of memory in their place that holds what a load shall see, has the CPU
 * execute that one instruction (trap flag), takes what was stored, and puts the page back. One
 * access of the process at a time; of several threads that use one mapping, one may meet the
 * other's page of memory and go without an effect.
 *
 * Bytes only, as the capabilities say, and only where the trap flag is known (x86-64).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "emu/uverbs/uv.h"

enum { OP_INCREMENT, OP_TEST_AND_SET, OPS };
enum { PAGE = 4096, INDEX_LOW_BITS = 8, EXTENDED_SHIFT = 16 };

uint16_t uv_memic_op_page(uint8_t op, uint32_t page)
{
	return (uint16_t)((op + 1u) << INDEX_LOW_BITS | page);
}

#ifdef __x86_64__

enum { TRAP_FLAG = 0x100, ERR_WRITE = 2, FILES = 64, MAPS_CHUNK = 4096 };

/* Files whose op pages were given out, and the device memory behind each. Slots are written under
 * the lock and read by the handler. */
static struct {
	_Atomic uint64_t ino;
	_Atomic(uint8_t *) memory;
} files[FILES];
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int next_file;
static struct sigaction old_bus, old_trap;

/* The access under way: from the fault to the trap of one thread. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static struct {
	_Atomic pid_t tid;
	uint8_t *page;	 /* of the program */
	void *stash;	 /* where its mapping is meanwhile */
	uint8_t *target; /* byte of device memory that is added to; NULL: none */
	uint32_t offset;
	sigset_t mask;
} step;

/* ---- whose page is it ---- */

static uint64_t hex(const char **p)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

static void skip_field(const char **p)
{
	while (**p && **p != ' ')
		(*p)++;
	while (**p == ' ')
		(*p)++;
}

/* One line of /proc/self/maps: does it hold addr? Its file and the offset of addr in it. */
static bool line_holds(const char *p, uint64_t addr, uint64_t *ino, uint64_t *off)
{
	uint64_t start = hex(&p), end, first;

	if (*p++ != '-')
		return false;
	end = hex(&p);
	if (addr < start || addr >= end)
		return false;
	skip_field(&p);
	skip_field(&p);
	first = hex(&p);
	skip_field(&p);
	skip_field(&p);
	*ino = 0;
	while (*p >= '0' && *p <= '9')
		*ino = *ino * 10 + (uint64_t)(*p++ - '0');
	*off = first + (addr - start);
	return true;
}

/* Reads the file in pieces: the handler has a small stack and no allocator. */
static bool find_mapping(uint64_t addr, uint64_t *ino, uint64_t *off)
{
	char buf[MAPS_CHUNK + 1];
	size_t have = 0;
	bool found = false;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (!found && (n = read(fd, buf + have, MAPS_CHUNK - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)n;
		buf[have] = '\0';
		while (!found && (end = strchr(line, '\n'))) {
			*end = '\0';
			found = line_holds(line, addr, ino, off);
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == MAPS_CHUNK)
			have = 0; /* a line as long as that is nobody's we know */
	}
	close(fd);
	return found;
}

/* The byte of device memory that addr stands for, and the operation; NULL: none of ours. */
static uint8_t *byte_of(uint64_t addr, uint64_t *op)
{
	uint64_t ino, off, page;

	if (!find_mapping(addr, &ino, &off))
		return NULL;
	page = off / PAGE;
	*op = (page >> EXTENDED_SHIFT) - 1;
	if (*op >= OPS || (page >> INDEX_LOW_BITS & 0xff) != MLX5_IB_MMAP_DEVICE_MEM ||
	    (page & 0xff) >= UV_MEMIC_PAGES)
		return NULL;
	for (unsigned int i = 0; i < FILES; i++) {
		if (ino && atomic_load(&files[i].ino) == ino)
			return atomic_load(&files[i].memory) + (page & 0xff) * PAGE + off % PAGE;
	}
	return NULL;
}

/* ---- one access ---- */

static void pass_on(const struct sigaction *to, int sig, siginfo_t *info, void *uctx)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};

	if (to->sa_flags & SA_SIGINFO)
		to->sa_sigaction(sig, info, uctx);
	else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN)
		to->sa_handler(sig);
	else
		sigaction(sig, &dfl, NULL); /* the instruction faults again */
}

static bool lend_page(uint8_t *page)
{
	step.stash = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (step.stash == MAP_FAILED)
		return false;
	return mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, step.stash) != MAP_FAILED &&
	       mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

static void on_bus(int sig, siginfo_t *info, void *uctx)
{
	ucontext_t *uc = uctx;
	uint64_t addr = (uintptr_t)info->si_addr, op = 0;
	bool write = (uc->uc_mcontext.gregs[REG_ERR] & ERR_WRITE) != 0;
	int saved = errno;
	uint8_t *byte = info->si_code == BUS_ADRERR ? byte_of(addr, &op) : NULL;

	if (!byte) {
		errno = saved;
		pass_on(&old_bus, sig, info, uctx);
		return;
	}
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		usleep(1); /* for as long as another thread takes for one instruction */
	step.page = (uint8_t *)(uintptr_t)(addr / PAGE * PAGE);
	step.offset = (uint32_t)(addr % PAGE);
	step.target = write && op == OP_INCREMENT ? byte : NULL;
	if (!lend_page(step.page))
		_exit(128 + SIGBUS); /* out of mappings in the middle of an instruction */
	if (!write && op == OP_TEST_AND_SET)
		step.page[step.offset] = __atomic_exchange_n(byte, 1, __ATOMIC_SEQ_CST);
	else if (!write)
		step.page[step.offset] = __atomic_load_n(byte, __ATOMIC_SEQ_CST);
	step.mask = uc->uc_sigmask;
	sigfillset(&uc->uc_sigmask);
	sigdelset(&uc->uc_sigmask, SIGTRAP);
	sigdelset(&uc->uc_sigmask, SIGSEGV);
	sigdelset(&uc->uc_sigmask, SIGBUS);
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	atomic_store(&step.tid, gettid());
	errno = saved;
}

static void on_trap(int sig, siginfo_t *info, void *uctx)
{
	ucontext_t *uc = uctx;
	int saved = errno;

	if (atomic_load(&step.tid) != gettid()) {
		pass_on(&old_trap, sig, info, uctx);
		return;
	}
	if (step.target)
		__atomic_fetch_add(step.target, step.page[step.offset], __ATOMIC_SEQ_CST);
	if (mremap(step.stash, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, step.page) == MAP_FAILED)
		_exit(128 + SIGBUS);
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	uc->uc_sigmask = step.mask;
	atomic_store(&step.tid, 0);
	atomic_flag_clear_explicit(&busy, memory_order_release);
	errno = saved;
}

/* ---- giving pages out ---- */

bool uv_memic_ops(void)
{
	return true;
}

static void install(void)
{
	struct sigaction sa = {.sa_sigaction = on_bus,
			       .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

	sigaction(SIGBUS, &sa, &old_bus);
	sa.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &sa, &old_trap);
}

int uv_memic_op_map(const struct uv_ctx *ctx, uint8_t op, uint8_t *memory)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned int i;

	if (op >= OPS)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&files_lock);
	for (i = 0; i < FILES && atomic_load(&files[i].ino) != ctx->ino; i++)
		;
	if (i == FILES)
		i = next_file++ % FILES;
	atomic_store(&files[i].ino, 0);
	atomic_store(&files[i].memory, memory);
	atomic_store(&files[i].ino, ctx->ino);
	pthread_mutex_unlock(&files_lock);
	pthread_once(&once, install);
	return 0;
}

#else

bool uv_memic_ops(void)
{
	return false;
}

int uv_memic_op_map(const struct uv_ctx *ctx, uint8_t op, uint8_t *memory)
{
	(void)ctx;
	(void)op;
	(void)memory;
	return -EOPNOTSUPP;
}

#endif
