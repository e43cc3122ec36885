/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults_alloc.c - memory that is short: each allocation in turn, ours
 * and those of the libraries below us, for one sample of each container.
 *
 * malloc of this thread is ours in this program, where the C library and the
 * sanitizers let it; ours alone fail everywhere.
 */
#include "fault_walk.h"
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

static struct sample samples[] = {
	{ .path = "good-nd-structured.b2nd" },
	{ .path = "good-frame-vlmetalayers.b2frame" },
	{ .path = "good-frame-specials.b2frame" },
	{ .path = "good-frame-vlblocks.b2frame" },
	{ .path = "good-sparse-array.b2nd" },
	{ .path = "good-early-9c-usermeta.b2frame" },
	{ .path = "good-packed-a4-delta.b2packed" },
	{ .path = "good-blp3-array.blp" },
	{ .path = "good-blp2-sha512.blp" },
	{ .path = "good-dict-zstd.blosc2" },
	{ .path = "good-zlib-bitshuffle.blosc2" },
	{ .path = "good-store-single.b2z" },
	{ .path = "good-store.b2e" },
	{ .path = "bad-nd-shape.b2nd" },
};

#define N_SAMPLES (sizeof(samples) / sizeof(samples[0]))

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
			n += 1 + n / 24;
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
			plan_at += 1 + plan_at / 12;
			planned = true;
			n_before = walk.n_faults;
			walk_round(&walk, &samples[i]);
		} while (walk.n_faults > n_before || plan_at < 64);
		walk_unlearn(&samples[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_MALLOC
		cmocka_unit_test(every_lack_of_memory_is_told_and_forgotten),
#endif
		cmocka_unit_test(each_allocation_of_ours_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
