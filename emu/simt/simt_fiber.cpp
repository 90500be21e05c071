/* SPDX-License-Identifier: BSD-3-Clause */
#include "simt_fiber.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace ctx = boost::context::detail;

namespace simt
{

/* A sanitizer's red zones and printf need more room than a plain kernel. */
static size_t stack_bytes()
{
	size_t kib = 128;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	kib = 512;
#endif
	const char *env = std::getenv("GDAKIT_SIMT_STACK_KIB");

	if (env != nullptr) {
		unsigned long v = std::strtoul(env, nullptr, 0);

		if (v >= 16 && v <= 65536)
			kib = v;
	}
	return kib * 1024;
}

static constexpr size_t guard_bytes = 4096;

static void stack_unmap(stack s)
{
#if defined(__SANITIZE_THREAD__)
	__tsan_destroy_fiber(s.tsan);
#endif
	munmap(s.base, s.size);
}

/* What ended threads left, for the next ones. Never destroyed: a thread may outlive main. */
static constexpr size_t depot_max = 1024;
static std::mutex depot_lock;

static std::vector<stack> &depot()
{
	static std::vector<stack> *stacks = new std::vector<stack>;

	return *stacks;
}

stack_pool::~stack_pool()
{
	std::lock_guard<std::mutex> guard(depot_lock);

	for (stack s : free_) {
		if (depot().size() < depot_max)
			depot().push_back(s);
		else
			stack_unmap(s);
	}
}

/* Take a share of the depot when our own run out: one lock for many stacks. */
static void depot_take(std::vector<stack> *free)
{
	std::lock_guard<std::mutex> guard(depot_lock);

	for (int i = 0; i < 64 && !depot().empty(); i++) {
		free->push_back(depot().back());
		depot().pop_back();
	}
}

stack stack_pool::get()
{
	stack s;

	if (free_.empty())
		depot_take(&free_);
	if (!free_.empty()) {
		s = free_.back();
		free_.pop_back();
		return s;
	}
	s.size = stack_bytes() + guard_bytes;
	s.base = mmap(nullptr, s.size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (s.base == MAP_FAILED)
		return stack{};
	if (mprotect(s.base, guard_bytes, PROT_NONE) != 0) {
		munmap(s.base, s.size);
		return stack{};
	}
#if defined(__SANITIZE_THREAD__)
	s.tsan = __tsan_create_fiber(0);
#endif
	return s;
}

void stack_pool::put(stack s)
{
#if defined(__SANITIZE_ADDRESS__)
	/* an abandoned fibre leaves its frames' red zones behind */
	ASAN_UNPOISON_MEMORY_REGION(static_cast<char *>(s.base) + guard_bytes,
				    s.size - guard_bytes);
#endif
	free_.push_back(s);
}

struct start_args {
	context *self;
	context *from;
	void (*entry)(void *);
	void *arg;
};

static void after_switch(context *self, context *from)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(self->asan_fake, &from->asan_bottom, &from->asan_size);
#else
	(void)self;
	(void)from;
#endif
}

static void before_switch(context *from, context *to, bool last)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(last ? nullptr : &from->asan_fake, to->asan_bottom,
				       to->asan_size);
#endif
#if defined(__SANITIZE_THREAD__)
	__tsan_switch_to_fiber(to->tsan, 0);
#endif
	(void)from;
	(void)to;
	(void)last;
}

static void trampoline(ctx::transfer_t t)
{
	/* the creator's copy lives on its stack: take it before the first switch back */
	start_args args = *static_cast<start_args *>(t.data);

	args.from->fctx = t.fctx;
	after_switch(args.self, args.from);
	args.entry(args.arg);
	std::abort(); /* entry ends with context_exit */
}

/* The first resume carries the start arguments, kept at the top of the fibre's own stack. */
void context_create(context *c, stack s, void (*entry)(void *), void *arg)
{
	char *top = static_cast<char *>(s.base) + s.size;
	start_args *args = new (top - 64) start_args{c, nullptr, entry, arg};

	c->stk = s;
	c->fctx = ctx::make_fcontext(reinterpret_cast<char *>(args), s.size - 64, trampoline);
	c->asan_fake = nullptr;
	c->asan_bottom = s.base;
	c->asan_size = s.size;
	c->tsan = s.tsan;
}

void context_adopt_thread(context *c)
{
#if defined(__SANITIZE_THREAD__)
	c->tsan = __tsan_get_current_fiber();
#else
	(void)c;
#endif
}

void context_switch(context *from, context *to)
{
	void *data = from;

	if (to->stk.base != nullptr) {
		/* only the first resume reads it */
		start_args *args = reinterpret_cast<start_args *>(
			static_cast<char *>(to->stk.base) + to->stk.size - 64);

		args->from = from;
		data = args;
	}
	before_switch(from, to, false);
	ctx::transfer_t t = ctx::jump_fcontext(to->fctx, data);

	/* we are resumed by the context that we switched to */
	to->fctx = t.fctx;
	after_switch(from, to);
}

void context_exit(context *from, context *to)
{
	before_switch(from, to, true);
	ctx::jump_fcontext(to->fctx, from);
	std::abort();
}

stack context_destroy(context *c)
{
	stack s = c->stk;

	*c = context{};
	return s;
}

} // namespace simt
