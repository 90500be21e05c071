/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fibres with guarded stacks, over Boost.Context's C-level switch, with the annotations that
 * AddressSanitizer and ThreadSanitizer need. A fibre lives on the OS thread that made it.
 */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include <cstddef>
#include <vector>
#include <boost/context/detail/fcontext.hpp>

namespace simt
{

struct stack {
	void *base = nullptr; /* lowest address, the guard page */
	size_t size = 0;      /* with the guard page */
	void *tsan = nullptr; /* ThreadSanitizer's view of it; costly to make, so it stays with the
				 stack */
};

/* Stacks are expensive to map, so each OS thread keeps those it is done with, and leaves them to
 * the process when it ends. */
class stack_pool
{
      public:
	~stack_pool();
	/* base == nullptr when the system has no memory or no map entries left */
	stack get();
	void put(stack s);

      private:
	std::vector<stack> free_;
};

/* Either side of a switch: the scheduler (no stack of ours) or a fibre. */
struct context {
	boost::context::detail::fcontext_t fctx = nullptr;
	stack stk;
	void *asan_fake = nullptr;
	const void *asan_bottom = nullptr;
	size_t asan_size = 0;
	void *tsan = nullptr; /* whom ThreadSanitizer sees running */
};

/* Prepare `c` to run entry(arg) on `s` at its first resume. entry must not return: it ends with
 * context_exit. */
void context_create(context *c, stack s, void (*entry)(void *arg), void *arg);
/* The scheduler's side, once per OS thread that resumes fibres. */
void context_adopt_thread(context *c);
/* Run `to` until it switches back to `from`. */
void context_switch(context *from, context *to);
/* Last switch of a fibre; does not return. */
[[noreturn]] void context_exit(context *from, context *to);
/* Take its stack from a fibre that exited or is abandoned. */
stack context_destroy(context *c);

} // namespace simt

#endif /* SIMT_FIBER_H */
