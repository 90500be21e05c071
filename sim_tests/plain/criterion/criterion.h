/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for Criterion where Criterion does not run: it maps an arena at a fixed address, which
 * ThreadSanitizer's memory layout does not allow. The same tests, each in a forked child, one after
 * the other; only what our tests use is here. Found before the real header when the build is made
 * for ThreadSanitizer.
 */
#ifndef GDAKIT_PLAIN_CRITERION_H
#define GDAKIT_PLAIN_CRITERION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAIN_FAILED = 1, PLAIN_SKIPPED = 77 };

struct plain_options {
	void (*init)(void);
	void (*fini)(void);
	double timeout; /* seconds; 0: none but ctest's */
	int signal, exit_code;
	bool disabled;
	const char *description;
};

struct plain_test {
	const char *suite, *name; /* name NULL: options of the suite */
	void (*fn)(void);
	struct plain_options options;
	struct plain_test *next;
};

/* One program, one file with tests or several: the list is shared by weak linkage. */
__attribute__((weak)) struct plain_test *plain_tests;

static inline void plain_add(struct plain_test *test)
{
	test->next = plain_tests;
	plain_tests = test;
}

static inline void plain_check(bool ok, const char *file, int line, const char *expr,
			       const char *fmt, ...)
{
	va_list args;

	if (ok)
		return;
	fprintf(stderr, "%s:%d: assertion failed: %s ", file, line, expr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(PLAIN_FAILED);
}

#define PLAIN_REGISTER_(id, suite_, name_, fn_, ...)                                               \
	static struct plain_test id = {.suite = suite_,                                            \
				       .name = name_,                                              \
				       .fn = fn_,                                                  \
				       .options = {__VA_ARGS__},                                   \
				       .next = NULL};                                              \
	__attribute__((constructor)) static void id##_add(void)                                    \
	{                                                                                          \
		plain_add(&id);                                                                    \
	}

#define Test(suite, name, ...)                                                                     \
	static void suite##_##name##_impl(void);                                                   \
	PLAIN_REGISTER_(suite##_##name##_test, #suite, #name, suite##_##name##_impl, __VA_ARGS__)  \
	static void suite##_##name##_impl(void)
#define TestSuite(suite, ...)                                                                      \
	PLAIN_REGISTER_(suite##_suite, #suite, NULL, NULL, __VA_ARGS__)                            \
	struct plain_test

#define cr_assert(cond, ...)		plain_check(!!(cond), __FILE__, __LINE__, #cond, "" __VA_ARGS__)
#define cr_expect(cond, ...)		cr_assert(cond, __VA_ARGS__)
#define cr_assert_not(cond, ...)	cr_assert(!(cond), __VA_ARGS__)
#define cr_assert_eq(a, b, ...)		cr_assert((a) == (b), __VA_ARGS__)
#define cr_assert_neq(a, b, ...)	cr_assert((a) != (b), __VA_ARGS__)
#define cr_assert_lt(a, b, ...)		cr_assert((a) < (b), __VA_ARGS__)
#define cr_assert_leq(a, b, ...)	cr_assert((a) <= (b), __VA_ARGS__)
#define cr_assert_gt(a, b, ...)		cr_assert((a) > (b), __VA_ARGS__)
#define cr_assert_geq(a, b, ...)	cr_assert((a) >= (b), __VA_ARGS__)
#define cr_expect_not(cond, ...)	cr_assert_not(cond, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)	cr_assert_neq(a, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)		cr_assert_lt(a, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)	cr_assert_leq(a, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)		cr_assert_gt(a, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)	cr_assert_geq(a, b, __VA_ARGS__)
#define cr_expect_null(p, ...)		cr_assert_null(p, __VA_ARGS__)
#define cr_expect_not_null(p, ...)	cr_assert_not_null(p, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)	cr_assert_arr_eq(a, b, n, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)		cr_assert((a) == (b), __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)	cr_assert(strcmp(a, b) == 0, __VA_ARGS__)
#define cr_assert_null(p, ...)		cr_assert((p) == NULL, __VA_ARGS__)
#define cr_assert_not_null(p, ...)	cr_assert((p) != NULL, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)	cr_assert(strcmp(a, b) == 0, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)	cr_assert(strcmp(a, b) != 0, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)	cr_assert(memcmp(a, b, n) == 0, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, n, ...) cr_assert(memcmp(a, b, n) != 0, __VA_ARGS__)
#define cr_assert_fail(...)		plain_check(false, __FILE__, __LINE__, "fail", "" __VA_ARGS__)
#define cr_fatal(...)			cr_assert_fail(__VA_ARGS__)
#define cr_skip_test(...)                                                                          \
	do {                                                                                       \
		fprintf(stderr, "skipped: " __VA_ARGS__);                                          \
		fputc('\n', stderr);                                                               \
		_exit(PLAIN_SKIPPED);                                                              \
	} while (0)
#define cr_log_info(...)                                                                           \
	do {                                                                                       \
		fprintf(stderr, "" __VA_ARGS__);                                                   \
		fputc('\n', stderr);                                                               \
	} while (0)

static inline const struct plain_options *plain_suite_options(const char *suite)
{
	for (const struct plain_test *t = plain_tests; t; t = t->next) {
		if (!t->name && strcmp(t->suite, suite) == 0)
			return &t->options;
	}
	return NULL;
}

static inline void plain_run(const struct plain_test *t)
{
	const struct plain_options *suite = plain_suite_options(t->suite);

	alarm((unsigned int)t->options.timeout);
	if (suite && suite->init)
		suite->init();
	if (t->options.init)
		t->options.init();
	t->fn();
	if (t->options.fini)
		t->options.fini();
	if (suite && suite->fini)
		suite->fini();
	exit(0);
}

static inline bool plain_as_expected(const struct plain_test *t, int status)
{
	if (WIFSIGNALED(status))
		return t->options.signal == WTERMSIG(status);
	return t->options.signal == 0 && WEXITSTATUS(status) == t->options.exit_code;
}

__attribute__((weak)) int main(void)
{
	unsigned int passing = 0, failing = 0, crashing = 0, skipped = 0;

	for (const struct plain_test *t = plain_tests; t; t = t->next) {
		int status = 0;
		pid_t pid;

		if (!t->name || t->options.disabled)
			continue;
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			plain_run(t);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		if (plain_as_expected(t, status)) {
			passing++;
			continue;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == PLAIN_SKIPPED) {
			skipped++;
			continue;
		}
		failing++;
		crashing += WIFSIGNALED(status);
		fprintf(stderr, "[FAIL] %s::%s: %s %d\n", t->suite, t->name,
			WIFSIGNALED(status) ? "signal" : "exit code",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	fprintf(stderr,
		"[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: %u | "
		"Skipped: %u\n",
		passing + failing + skipped, passing, failing, crashing, skipped);
	return failing ? 1 : 0;
}

#endif
