/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cache_threads.c - the block cache in the hands of many threads: one
 * decode of a key, waiting, failing, and content that is right throughout.
 *
 * Asserts of cmocka work in the first thread only, so the others count what
 * is wrong.
 */
#include "cache_blocks.h"

#include <pthread.h>
#include <stdatomic.h>

#define N_THREADS 8
#define N_KEYS 12

struct hammer {
	struct bfs_cache *cache;
	size_t len;
	unsigned n_keys;
	unsigned n_rounds;
	unsigned fail_in;	/* one decode in so many fails; 0: none */
	_Atomic unsigned decoding[64];
	_Atomic unsigned n_done[64];
	_Atomic unsigned n_claims, n_errors, n_wrong;
	_Atomic uint64_t seed;
};

static void decode(struct hammer *h, unsigned k,
		   const struct bfs_cache_key *key, struct bfs_cache_pin *pin,
		   uint64_t *seed)
{
	struct bfs_diag diag = { .off = k, .text = "made to fail" };
	bool fails = h->fail_in && !draw(seed, h->fail_in);

	h->n_claims++;
	h->n_wrong += atomic_fetch_add(&h->decoding[k], 1) != 0;
	if (!draw(seed, 4))
		pause_ms(1);
	fill(key, pin);
	atomic_fetch_sub(&h->decoding[k], 1);
	if (fails) {
		bfs_cache_abandon(h->cache, pin, BFS_ERR_CORRUPT, &diag);
		return;
	}
	h->n_done[k]++;
	bfs_cache_commit(h->cache, pin);
	h->n_wrong += !is_filled(key, pin);
	bfs_cache_unpin(h->cache, pin, !draw(seed, 3));
}

static void *hammer_keys(void *arg)
{
	struct hammer *h = arg;
	uint64_t seed = atomic_fetch_add(&h->seed, 1000) + 77;
	unsigned i;

	for (i = 0; i < h->n_rounds; i++) {
		unsigned k = (unsigned)draw(&seed, h->n_keys);
		struct bfs_cache_key key = make_key(3, k);
		struct bfs_cache_pin pin;
		struct bfs_diag diag = { 0 };
		enum bfs_cache_state is;
		size_t len = h->len + k * 100;
		bool patient = draw(&seed, 4);
		enum bfs_err err = (patient ? bfs_cache_get : bfs_cache_try)(
			h->cache, &key, len, &is, &pin, &diag);

		if (err) {
			h->n_errors++;
			h->n_wrong += err != BFS_ERR_CORRUPT ||
				      diag.err != err || diag.off != k ||
				      strcmp(diag.text, "made to fail") != 0;
		} else if (is == BFS_CACHE_CLAIMED) {
			decode(h, k, &key, &pin, &seed);
		} else if (is == BFS_CACHE_HIT) {
			h->n_wrong += pin.len != len || !is_filled(&key, &pin);
			bfs_cache_unpin(h->cache, &pin, !draw(&seed, 5));
		} else {
			h->n_wrong += patient;
		}
		if (!draw(&seed, 500))
			bfs_cache_trim(h->cache);
	}
	return NULL;
}

static void run_hammer(struct hammer *h, void *(*run)(void *))
{
	pthread_t threads[N_THREADS];
	unsigned i;

	for (i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, h), 0);
	for (i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(h->n_wrong, 0);
	assert_int_equal(get_stats(h->cache).misses, h->n_claims);
	/* The last blocks may be beyond the budget until then. */
	bfs_cache_settle(h->cache);
	assert_true(get_stats(h->cache).held_len <=
		    get_stats(h->cache).budget_len);
}

/* Everybody asks for key after key at once; nothing leaves in between. */
static void *ask_in_order(void *arg)
{
	struct hammer *h = arg;
	uint64_t seed = atomic_fetch_add(&h->seed, 1000) + 77;
	unsigned k;

	for (k = 0; k < h->n_keys; k++) {
		struct bfs_cache_key key = make_key(3, k);
		struct bfs_cache_pin pin;
		enum bfs_cache_state is;

		if (bfs_cache_get(h->cache, &key, h->len, &is, &pin, NULL)) {
			h->n_wrong++;
		} else if (is == BFS_CACHE_CLAIMED) {
			decode(h, k, &key, &pin, &seed);
		} else {
			h->n_wrong += !is_filled(&key, &pin);
			bfs_cache_unpin(h->cache, &pin, false);
		}
	}
	return NULL;
}

static void each_key_is_decoded_once(void **state)
{
	struct hammer h = { .len = 50000, .n_keys = 64, .seed = 1 };
	unsigned k;

	(void)state;
	h.cache = make_cache(16 * MIB);
	run_hammer(&h, ask_in_order);
	for (k = 0; k < h.n_keys; k++)
		assert_int_equal(h.n_done[k], 1);
	assert_int_equal(h.n_claims, 64);
	bfs_cache_free(h.cache);
}

static void threads_agree_though_decodes_fail_and_blocks_leave(void **state)
{
	static const struct { size_t len; uint64_t budget; } runs[] = {
		{ 60000, 200000 }, { 60000, MIB }, { 10, 3000 }, { 5, MIB },
		{ 400000, 300000 },
	};
	unsigned i, n_errors = 0;

	(void)state;
	for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct hammer h = { .len = runs[i].len, .n_keys = N_KEYS,
				    .n_rounds = 400, .fail_in = 4,
				    .seed = i + 1 };

		h.cache = make_cache(runs[i].budget);
		run_hammer(&h, hammer_keys);
		n_errors += h.n_errors;
		bfs_cache_free(h.cache);
	}
	assert_true(n_errors > 0);	/* they did meet failures */
}

struct waiter {
	struct bfs_cache *cache;
	uint64_t n;
	struct bfs_cache_pin pin;
	struct bfs_diag diag;
	enum bfs_cache_state is;
	enum bfs_err err;
	_Atomic bool done;
	pthread_t thread;
};

static void *wait_for_block(void *arg)
{
	struct waiter *w = arg;
	struct bfs_cache_key key = make_key(1, w->n);

	w->err = bfs_cache_get(w->cache, &key, 5000, &w->is, &w->pin,
			       &w->diag);
	w->done = true;
	return NULL;
}

static void start_waiter(struct waiter *w, struct bfs_cache *cache, uint64_t n)
{
	uint64_t before = get_stats(cache).waits;

	memset(w, 0, sizeof(*w));
	w->cache = cache;
	w->n = n;
	assert_int_equal(pthread_create(&w->thread, NULL, wait_for_block, w),
			 0);
	while (get_stats(cache).waits == before)
		pause_ms(1);
}

static void waiters_get_the_error_and_its_diagnosis(void **state)
{
	struct bfs_diag diag = { .off = 1234, .text = "ends early" };
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 1);
	struct bfs_cache_pin pin;
	enum bfs_cache_state is;
	struct waiter w[4];
	unsigned i;

	(void)state;
	assert_int_equal(bfs_cache_get(cache, &key, 5000, &is, &pin, NULL), 0);
	for (i = 0; i < 4; i++)
		start_waiter(&w[i], cache, 1);
	bfs_cache_abandon(cache, &pin, BFS_ERR_TRUNCATED, &diag);
	for (i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].err, BFS_ERR_TRUNCATED);
		assert_int_equal(w[i].diag.err, BFS_ERR_TRUNCATED);
		assert_int_equal(w[i].diag.off, 1234);
		assert_string_equal(w[i].diag.text, "ends early");
		assert_null(w[i].pin.data);
	}
	assert_int_equal(use(cache, 1, 5000), BFS_CACHE_CLAIMED);
	bfs_cache_free(cache);
}

static void waiters_get_the_error_without_memory_too(void **state)
{
	struct bfs_diag diag = { .off = 5, .text = "gone" };
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 1);
	struct bfs_cache_pin pin;
	enum bfs_cache_state is;
	struct waiter w;

	(void)state;
	assert_int_equal(bfs_cache_get(cache, &key, 5000, &is, &pin, NULL), 0);
	start_waiter(&w, cache, 1);
	bfs_mem_fail_at(1);
	bfs_cache_abandon(cache, &pin, BFS_ERR_IO, &diag);
	pthread_join(w.thread, NULL);
	assert_int_equal(w.err, BFS_ERR_IO);
	assert_int_equal(w.diag.err, BFS_ERR_IO);
	bfs_cache_free(cache);
}

static void nobody_waits_for_another_block(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key one = make_key(1, 1), two = make_key(1, 2);
	struct bfs_cache_pin pin1, pin2;
	enum bfs_cache_state is;
	struct waiter w1, w2;
	uint64_t n;

	(void)state;
	assert_int_equal(bfs_cache_get(cache, &one, 5000, &is, &pin1, NULL),
			 0);
	assert_int_equal(bfs_cache_get(cache, &two, 5000, &is, &pin2, NULL),
			 0);
	start_waiter(&w1, cache, 1);
	start_waiter(&w2, cache, 2);
	/* With two blocks in flight all else goes on, */
	for (n = 10; n < 1000; n++)
		use(cache, n, 5000);
	bfs_cache_trim(cache);
	/* and the second is ready while the first is not. */
	fill(&two, &pin2);
	bfs_cache_commit(cache, &pin2);
	pthread_join(w2.thread, NULL);
	assert_int_equal(w2.is, BFS_CACHE_HIT);
	assert_false(w1.done);
	fill(&one, &pin1);
	bfs_cache_commit(cache, &pin1);
	pthread_join(w1.thread, NULL);
	assert_true(is_filled(&one, &w1.pin));
	assert_true(is_filled(&two, &w2.pin));
	bfs_cache_unpin(cache, &w1.pin, false);
	bfs_cache_unpin(cache, &w2.pin, false);
	bfs_cache_unpin(cache, &pin1, false);
	bfs_cache_unpin(cache, &pin2, false);
	bfs_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_key_is_decoded_once),
		TEST(threads_agree_though_decodes_fail_and_blocks_leave),
		TEST(waiters_get_the_error_and_its_diagnosis),
		TEST(waiters_get_the_error_without_memory_too),
		TEST(nobody_waits_for_another_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
