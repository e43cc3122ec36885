/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pool.c - jobs, their bounds, threads that start late; and quotas.
 */
#include "base/pool.h"

#include "base/mem.h"
#include "base/cpus.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/groups.h"

static struct bfs_pool *make_pool(unsigned n_threads)
{
	struct bfs_pool *pool = NULL;

	assert_int_equal(bfs_pool_new(n_threads, &pool), BFS_OK);
	return pool;
}

static int end_test(void **state)
{
	(void)state;
	bfs_mem_fail_at(0);
	return bfs_mem_used() != 0;
}

/* How many threads this process has. */
static unsigned count_threads(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	unsigned n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "Threads: %u", &n);
	fclose(file);
	return n;
}

/* How many there are without a pool. Those of the test before were joined,
 * but the kernel may list them for a moment longer. */
static unsigned count_own_threads(void)
{
	static unsigned least = ~0u;
	struct timespec ms = { 0, 1000000 };
	unsigned n = count_threads();

	if (least == ~0u)
		least = n;
	for (int i = 0; n > least && i < 5000; i++) {
		nanosleep(&ms, NULL);
		n = count_threads();
	}
	return n;
}

static void count_up(void *arg)
{
	atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

static void every_job_runs_once(void **state)
{
	struct bfs_pool *pool = make_pool(3);
	_Atomic unsigned n = 0;
	unsigned i, n_taken = 0;

	(void)state;
	for (i = 0; i < 5000; i++)
		n_taken += bfs_pool_submit(pool, count_up, &n);
	bfs_pool_wait(pool);
	assert_int_equal(n, n_taken);
	assert_true(n_taken > 0);
	bfs_pool_free(pool);
}

static void free_finishes_what_is_queued(void **state)
{
	struct bfs_pool *pool = make_pool(1);
	_Atomic unsigned n = 0;
	unsigned i, n_taken = 0;

	(void)state;
	for (i = 0; i < 50; i++)
		n_taken += bfs_pool_submit(pool, count_up, &n);
	bfs_pool_free(pool);
	assert_int_equal(n_taken, 50);
	assert_int_equal(n, 50);
	bfs_pool_free(NULL);
}

struct gate {
	_Atomic bool open;
	_Atomic unsigned n_inside, n_done;
};

static void pass_gate(void *arg)
{
	struct timespec ms = { 0, 1000000 };
	struct gate *gate = arg;

	gate->n_inside++;
	while (!gate->open)
		nanosleep(&ms, NULL);
	gate->n_done++;
}

static void full_queue_refuses(void **state)
{
	struct bfs_pool *pool = make_pool(2);
	struct gate gate = { false, 0, 0 };
	unsigned n = 0;

	(void)state;
	while (bfs_pool_submit(pool, pass_gate, &gate)) {
		n++;
		assert_true(n < 100000);
	}
	assert_true(n >= 64);
	assert_int_equal(gate.n_done, 0);
	gate.open = true;
	bfs_pool_wait(pool);
	assert_int_equal(gate.n_done, n);
	assert_true(bfs_pool_submit(pool, pass_gate, &gate));
	bfs_pool_free(pool);
	assert_int_equal(gate.n_done, n + 1);
}

static void jobs_run_side_by_side(void **state)
{
	struct timespec ms = { 0, 1000000 };
	struct bfs_pool *pool = make_pool(4);
	struct gate gate = { false, 0, 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_true(bfs_pool_submit(pool, pass_gate, &gate));
	for (i = 0; gate.n_inside < 4 && i < 10000; i++)
		nanosleep(&ms, NULL);
	assert_int_equal(gate.n_inside, 4);
	gate.open = true;
	bfs_pool_free(pool);
}

static void threads_start_with_jobs_only(void **state)
{
	unsigned before = count_own_threads();
	struct bfs_pool *pool = make_pool(8);
	_Atomic unsigned n = 0;

	(void)state;
	assert_int_equal(count_threads(), before);
	assert_true(bfs_pool_submit(pool, count_up, &n));
	assert_int_equal(count_threads(), before + 1);
	bfs_pool_free(pool);
}

static void pool_made_before_a_fork_works_after_it(void **state)
{
	struct bfs_pool *pool = make_pool(2);
	_Atomic unsigned n = 0;
	int status;
	pid_t child;

	(void)state;
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool taken = bfs_pool_submit(pool, count_up, &n);

		bfs_pool_free(pool);
		_exit(taken && n == 1 ? 42 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	bfs_pool_free(pool);
}

static void note_mask(void *arg)
{
	sigset_t *mask = arg;

	pthread_sigmask(SIG_SETMASK, NULL, mask);
}

static void workers_take_no_signals(void **state)
{
	struct bfs_pool *pool = make_pool(1);
	sigset_t inside, mine;

	(void)state;
	sigemptyset(&inside);
	assert_true(bfs_pool_submit(pool, note_mask, &inside));
	bfs_pool_free(pool);
	assert_int_equal(sigismember(&inside, SIGTERM), 1);
	assert_int_equal(sigismember(&inside, SIGINT), 1);
	assert_int_equal(sigismember(&inside, SIGHUP), 1);
	assert_int_equal(sigismember(&inside, SIGUSR1), 1);
	assert_int_equal(sigismember(&inside, SIGSYS), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_int_equal(sigismember(&mine, SIGTERM), 0);
}

struct spawner {
	struct bfs_pool *pool;
	_Atomic unsigned n;
};

static void spawn(void *arg)
{
	struct spawner *s = arg;

	if (atomic_fetch_add(&s->n, 1) < 40)
		bfs_pool_submit(s->pool, spawn, s);
}

static void job_may_submit_another(void **state)
{
	struct spawner s = { make_pool(2), 0 };

	(void)state;
	assert_true(bfs_pool_submit(s.pool, spawn, &s));
	bfs_pool_wait(s.pool);
	assert_int_equal(s.n, 41);
	s.n = 0;
	assert_true(bfs_pool_submit(s.pool, spawn, &s));
	bfs_pool_free(s.pool);
	assert_int_equal(s.n, 41);
}

static void pool_without_memory_is_refused(void **state)
{
	struct bfs_pool *pool = NULL;
	uint64_t n;

	(void)state;
	for (n = 1; n <= 3; n++) {
		bfs_mem_fail_at(n);
		assert_int_equal(bfs_pool_new(2, &pool), BFS_ERR_NOMEM);
		assert_null(pool);
		assert_int_equal(bfs_mem_used(), 0);
	}
}

static void cpus_follow_the_affinity(void **state)
{
	cpu_set_t all, one;
	int first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_true(bfs_pool_cpus() >= 1);
	assert_true(bfs_pool_cpus() <= (unsigned)CPU_COUNT(&all));
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(bfs_pool_cpus(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static unsigned quota_of(const char *list)
{
	char path[100];

	return bfs_pool_quota(groups_list(list, path), groups_root);
}

static void quota_of_version_2_is_rounded_up(void **state)
{
	(void)state;
	groups_write("a/b/cpu.max", "150000 100000\n");
	assert_int_equal(quota_of("0::/a/b\n"), 2);
	groups_write("a/b/cpu.max", "200000 100000\n");
	assert_int_equal(quota_of("0::/a/b\n"), 2);
	groups_write("a/b/cpu.max", "1000 100000\n");
	assert_int_equal(quota_of("0::/a/b\n"), 1);
	groups_write("a/b/cpu.max", "max 100000\n");
	assert_int_equal(quota_of("0::/a/b\n"), 0);
}

static void quota_of_a_parent_counts(void **state)
{
	(void)state;
	groups_write("c/d/cpu.max", "max 100000\n");
	groups_write("c/cpu.max", "300000 100000\n");
	assert_int_equal(quota_of("0::/c/d\n"), 3);
	/* The path may be the host's, of which only the root is seen. */
	groups_write("cpu.max", "500000 100000\n");
	assert_int_equal(quota_of("0::/kept/out/of/sight\n"), 5);
	assert_int_equal(quota_of("0::/\n"), 5);
	assert_int_equal(quota_of("0::/c/d\n"), 3);
	groups_write("cpu.max", "max 100000\n");
}

static void quota_of_version_1_is_found(void **state)
{
	(void)state;
	groups_write("cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
	groups_write("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
	groups_write("cpu/y/cpu.cfs_quota_us", "50000\n");
	groups_write("cpu/y/cpu.cfs_period_us", "50000\n");
	groups_write("cpu/z/cpu.cfs_quota_us", "-1\n");
	groups_write("cpu/z/cpu.cfs_period_us", "100000\n");
	groups_write("cpuacct/y/cpu.cfs_quota_us", "1\n");
	assert_int_equal(quota_of("4:cpu,cpuacct:/x\n"), 3);
	assert_int_equal(quota_of("9:memory:/y\n4:cpu:/y\n1:name=q:/\n"), 1);
	assert_int_equal(quota_of("4:cpu:/z\n"), 0);
	assert_int_equal(quota_of("4:cpuacct:/y\n"), 0);
	assert_int_equal(quota_of("4:cpu:/y\n0::/a/b\n"), 1);
}

static void strange_quotas_are_passed_over(void **state)
{
	static const char *const texts[] = {
		"", "\n", "0 100000\n", "100000 0\n", "-5 100000\n",
		"words\n", "9223372036854775807 1\n",
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		groups_write("odd/cpu.max", texts[i]);
		assert_int_equal(quota_of("0::/odd\n"), 0);
	}
	assert_int_equal(quota_of(""), 0);
	assert_int_equal(quota_of("no colons\n::\n:\n1:cpu\n"), 0);
	assert_int_equal(bfs_pool_quota("/nowhere/at/all", groups_root), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_job_runs_once),
		TEST(free_finishes_what_is_queued),
		TEST(full_queue_refuses),
		TEST(jobs_run_side_by_side),
		TEST(threads_start_with_jobs_only),
		TEST(pool_made_before_a_fork_works_after_it),
		TEST(workers_take_no_signals),
		TEST(job_may_submit_another),
		TEST(pool_without_memory_is_refused),
		TEST(cpus_follow_the_affinity),
		TEST(quota_of_version_2_is_rounded_up),
		TEST(quota_of_a_parent_counts),
		TEST(quota_of_version_1_is_found),
		TEST(strange_quotas_are_passed_over),
	};

	count_own_threads();	/* before any other */
	return cmocka_run_group_tests(tests, groups_make, groups_remove);
}
