/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator, pthread_create and dlopen as the program under test calls them: the linker sends
 * its calls here (--wrap), so that each can be told to fail, and counts what is not yet given back.
 * Calls of shared libraries do not come through here; tsearch() allocates there and is wrapped
 * itself.
 */
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine_fake.h"

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
void *__real_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
void *__real_dlopen(const char *name, int flags);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void __wrap_free(void *memory);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
void *__wrap_dlopen(const char *name, int flags);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

static bool refused(const char *call)
{
	if (!fake_fails(FAKE_MEMORY, call))
		return false;
	errno = ENOMEM;
	return true;
}

static void note(size_t size)
{
	if ((fake.fail_kinds & FAKE_MEMORY) && size > fake.largest_block)
		fake.largest_block = size;
}

static void *counted(void *memory)
{
	if (memory)
		__atomic_add_fetch(&fake.blocks, 1, __ATOMIC_RELAXED);
	return memory;
}

void *__wrap_malloc(size_t size)
{
	note(size);
	return refused("malloc") ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	note(count * size);
	return refused("calloc") ? NULL : counted(__real_calloc(count, size));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	int rc;

	note(size);
	/* AddressSanitizer asserts where the C library says no. Either way *memory is what it was.
	 */
	if (refused("posix_memalign") || alignment > (size_t)1 << 40)
		return ENOMEM;
	rc = __real_posix_memalign(memory, alignment, size);
	if (rc == 0)
		counted(*memory);
	return rc;
}

void __wrap_free(void *memory)
{
	if (memory)
		__atomic_sub_fetch(&fake.blocks, 1, __ATOMIC_RELAXED);
	__real_free(memory);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	if (fake_fails(FAKE_THREAD, "pthread_create"))
		return EAGAIN;
	return __real_pthread_create(thread, attr, fn, arg);
}

void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
	return refused("tsearch") ? NULL : __real_tsearch(key, root, compare);
}

void *__wrap_dlopen(const char *name, int flags)
{
	return fake.no_libraries ? NULL : __real_dlopen(name, flags);
}

/* The main thread is the test's. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (gettid() != getpid())
		__atomic_add_fetch(&fake.naps, 1, __ATOMIC_RELAXED);
	return __real_nanosleep(time, left);
}
