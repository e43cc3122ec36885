/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmocka.h - stands in for cmocka where there is none for the CPU of the
 * test: as much of it as the tests that are built here call. Prints TAP.
 */
#ifndef CROSS_CMOCKA_H
#define CROSS_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
};

#define cmocka_unit_test(fn) { #fn, fn }
#define cmocka_run_group_tests(tests, set_up, tear_down)                     \
	cross_run(tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)

/* Where a test that failed goes on: at its end. */
static jmp_buf cross_end;

__attribute__((noreturn, format(printf, 3, 4)))
static inline void cross_fail(const char *file, int line, const char *text,
			      ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, text);
	vprintf(text, args);
	va_end(args);
	printf("\n");
	longjmp(cross_end, 1);
}

#define fail_msg(...) cross_fail(__FILE__, __LINE__, __VA_ARGS__)
#define cross_need(ok, ...)                                                  \
	do {                                                                 \
		if (!(ok))                                                   \
			fail_msg(__VA_ARGS__);                               \
	} while (0)

#define assert_true(x) cross_need(x, "%s", #x)
#define assert_false(x) cross_need(!(x), "not to be: %s", #x)
#define assert_null(p) cross_need(!(p), "not NULL: %s", #p)
#define assert_non_null(p) cross_need(p, "NULL: %s", #p)
#define assert_ptr_equal(p, q) cross_need((p) == (q), "%s, %s", #p, #q)
#define assert_int_equal(a, b)                                               \
	cross_equal(__FILE__, __LINE__, #a, (uintmax_t)(a), (uintmax_t)(b))
#define assert_in_range(x, least, most)                                      \
	cross_need((uintmax_t)(x) >= (uintmax_t)(least) &&                   \
		   (uintmax_t)(x) <= (uintmax_t)(most), "%s is %" PRIuMAX,   \
		   #x, (uintmax_t)(x))
#define assert_string_equal(a, b)                                            \
	cross_need(!strcmp(a, b), "\"%s\", not \"%s\"", a, b)
#define assert_memory_equal(p, q, len)                                       \
	cross_same(__FILE__, __LINE__, p, q, len)

static inline void cross_equal(const char *file, int line, const char *what,
			       uintmax_t got, uintmax_t want)
{
	if (got != want)
		cross_fail(file, line, "%s is %" PRIuMAX ", not %" PRIuMAX,
			   what, got, want);
}

static inline void cross_same(const char *file, int line, const void *p,
			      const void *q, size_t len)
{
	const unsigned char *got = p, *want = q;

	for (size_t i = 0; i < len; i++)
		if (got[i] != want[i])
			cross_fail(file, line, "byte %zu of %zu is %02x, not "
				   "%02x", i, len, got[i], want[i]);
}

/* Returns how many failed. */
static inline int cross_run(const struct CMUnitTest *tests, size_t n,
			    int (*set_up)(void **state),
			    int (*tear_down)(void **state))
{
	void *state = NULL;
	volatile int n_failed = 0;

	printf("1..%zu\n", n);
	if (set_up && set_up(&state)) {
		printf("Bail out! Nothing is set up.\n");
		return 1;
	}
	for (volatile size_t i = 0; i < n; i++) {
		volatile int failed = 1;

		if (!setjmp(cross_end)) {
			tests[i].run(&state);
			failed = 0;
		}
		printf("%sok %zu - %s\n", failed ? "not " : "", i + 1,
		       tests[i].name);
		fflush(stdout);
		n_failed += failed;
	}
	return tear_down && tear_down(&state) ? n_failed + 1 : n_failed;
}

#endif
