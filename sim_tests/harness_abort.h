/* SPDX-License-Identifier: BSD-3-Clause */
/* The assertions that the harness uses, for fuzz targets: a false one ends the process. */
#ifndef GDAKIT_HARNESS_ABORT_H
#define GDAKIT_HARNESS_ABORT_H

#include <stdio.h>
#include <stdlib.h>

#define cr_assert(cond, ...)                                                                       \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s is false", __FILE__, __LINE__, #cond);          \
			fprintf(stderr, "\n" __VA_ARGS__);                                         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
#define cr_assert_eq(a, b, ...)	   cr_assert((a) == (b), __VA_ARGS__)
#define cr_assert_neq(a, b, ...)   cr_assert((a) != (b), __VA_ARGS__)
#define cr_assert_leq(a, b, ...)   cr_assert((a) <= (b), __VA_ARGS__)
#define cr_assert_fail(...)	   cr_assert(0, __VA_ARGS__)
#define cr_assert_not_null(p, ...) cr_assert((p) != NULL, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)	   cr_assert((a) == (b), __VA_ARGS__)
#define Test(suite, name)	   static inline void suite##_##name##_test(void)

#endif
