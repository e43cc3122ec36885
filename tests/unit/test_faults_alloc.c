/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults_alloc.c - memory that is short: each allocation in turn, ours
 * and those of the libraries below us, for one sample of each container.
 *
 * malloc of this thread is ours in this program, where the C library and the
 * sanitizers let it; ours alone fail everywhere.
 */
#include "fault_samples.h"
#include "base/mem.h"

#include <inttypes.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
	!defined(__SANITIZE_THREAD__)
#define HAVE_MALLOC 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef HAVE_MALLOC
#endif
#endif

#ifdef HAVE_MALLOC
static _Thread_local struct {
	bool on;
	uint64_t at, n, n_hits;
} fault;

void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *p, size_t len);

static bool hits(void)
{
	bool hit = fault.on && ++fault.n == fault.at;

	if (hit)
		errno = ENOMEM;
	fault.n_hits += hit;
	return hit;
}

void *malloc(size_t len)
{
	return hits() ? NULL : __libc_malloc(len);
}

void *calloc(size_t n, size_t len)
{
	return hits() ? NULL : __libc_calloc(n, len);
}

void *realloc(void *p, size_t len)
{
	return hits() ? NULL : __libc_realloc(p, len);
}
#endif

#ifdef HAVE_MALLOC
static void arm(bool on)
{
	fault.on = on;
}

static void every_lack_of_memory_is_told_and_forgotten(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct walk walk = { .arm = arm, .fault = BLOSCFS_ERR_NOMEM };
		uint64_t n = 0, n_rounds = 0, n_hits;

		walk_learn(&samples[i]);
		do {
			n = samples_next(&samples[i], n, 24);
			memset(&fault, 0, sizeof(fault));
			fault.at = n;
			walk_round(&walk, &samples[i]);
			n_hits = fault.n_hits;
			n_rounds++;
		} while (n_hits);
		walk_unlearn(&samples[i]);
		print_message("# %s: %" PRIu64 " rounds, %" PRIu64 " calls "
			      "compared, %" PRIu64 " told of it\n",
			      samples[i].path, n_rounds, walk.n_calls,
			      walk.n_faults);
	}
}
#endif

static bool planned;		/* whether bfs_mem_fail_at is still to come */
static uint64_t plan_at;

/* Armed once: it counts from there, whoever allocates. */
static void arm_own(bool on)
{
	if (on && planned)
		bfs_mem_fail_at(plan_at);
	planned = planned && !on;
}

static void calm_own(void)
{
	bfs_mem_fail_at(0);
	planned = false;
}

static void each_allocation_of_ours_may_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct walk walk = { .arm = arm_own,
				     .calm = calm_own,
				     .fault = BLOSCFS_ERR_NOMEM };
		uint64_t n_before;

		walk_learn(&samples[i]);
		plan_at = 0;
		do {
			plan_at = samples_next(&samples[i], plan_at, 12);
			planned = true;
			n_before = walk.n_faults;
			walk_round(&walk, &samples[i]);
		} while (walk.n_faults > n_before || plan_at < 64);
		assert_true(walk.n_faults > 0);
		walk_unlearn(&samples[i]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_container_has_a_sample),
#ifdef HAVE_MALLOC
		cmocka_unit_test(every_lack_of_memory_is_told_and_forgotten),
#endif
		cmocka_unit_test(each_allocation_of_ours_may_fail),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, samples_make, samples_remove);
}
