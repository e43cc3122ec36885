/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_assert.c - a condition that does not hold ends the program, and says
 * which and where.
 */
#include "base/assert.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static int n_evaluated;

static bool evaluate(bool answer)
{
	n_evaluated++;
	return answer;
}

static void check_falsehood(void)
{
	BFS_CHECK(evaluate(1 + 1 == 3));
}

static void assert_falsehood(void)
{
	BFS_ASSERT(evaluate(1 + 1 == 3));
}

static void assert_held(void)
{
	BFS_ASSERT_HELD(&free_lock);
}

/* Runs it in a child of its own; returns the child's status, and what it wrote
 * to stderr in text. */
static int run_apart(void (*run)(void), char *text, size_t len)
{
	const struct rlimit no_core = { 0, 0 };
	int ends[2], status;
	ssize_t n, all = 0;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		signal(SIGABRT, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], STDERR_FILENO);
		run();
		_exit(42);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + all, len - 1 - (size_t)all)) > 0)
		all += n;
	text[all] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static bool was_aborted(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void check_that_fails_names_place_and_condition(void **state)
{
	char text[512];
	int status = run_apart(check_falsehood, text, sizeof(text));

	(void)state;
	assert_true(was_aborted(status));
	assert_non_null(strstr(text, "test_assert.c:"));
	assert_non_null(strstr(text, "1 + 1 == 3"));
}

static void check_that_holds_costs_one_look(void **state)
{
	(void)state;
	n_evaluated = 0;
	BFS_CHECK(evaluate(true));
	assert_int_equal(n_evaluated, 1);
}

static void assertion_is_on_unless_this_is_a_release(void **state)
{
	char text[512];
	int asserted = run_apart(assert_falsehood, text, sizeof(text));
	int held = run_apart(assert_held, text, sizeof(text));

	(void)state;
	n_evaluated = 0;
	BFS_ASSERT(evaluate(true));
#ifdef NDEBUG
	assert_true(WIFEXITED(asserted) && WEXITSTATUS(asserted) == 42);
	assert_true(WIFEXITED(held) && WEXITSTATUS(held) == 42);
	assert_int_equal(n_evaluated, 0);
#else
	assert_true(was_aborted(asserted));
	assert_true(was_aborted(held));
	assert_int_equal(n_evaluated, 1);
#endif
}

static void lock_that_is_held_stays_so(void **state)
{
	(void)state;
	pthread_mutex_lock(&free_lock);
	BFS_ASSERT_HELD(&free_lock);
	assert_int_equal(pthread_mutex_unlock(&free_lock), 0);
	assert_int_equal(pthread_mutex_trylock(&free_lock), 0);
	pthread_mutex_unlock(&free_lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_that_fails_names_place_and_condition),
		cmocka_unit_test(check_that_holds_costs_one_look),
		cmocka_unit_test(assertion_is_on_unless_this_is_a_release),
		cmocka_unit_test(lock_that_is_held_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
