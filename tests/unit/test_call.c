/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_call.c - calls that are cancelled or may do no more: they end at the
 * next step, at whichever it is, nobody else suffers, and nothing that was
 * found out meanwhile is kept.
 */
#include "cache_blocks.h"

#include "array/priv.h"
#include "base/bytes.h"
#include "base/call.h"
#include "bloscfs.h"
#include "support/arrays.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void a_thread_without_a_call_is_never_stopped(void **state)
{
	(void)state;
	assert_null(bfs_call_now);
	assert_int_equal(bfs_call_check(NULL), BFS_OK);
	assert_int_equal(bfs_call_spend(UINT64_MAX, "all", NULL), BFS_OK);
	assert_int_equal(bfs_call_stopped(NULL), BFS_OK);
	assert_true(bfs_call_affords(UINT64_MAX));
}

static void a_limit_is_told_with_its_cause_and_lasts(void **state)
{
	struct bfs_diag diag = { .err = BFS_OK };
	struct bfs_call call;

	(void)state;
	bfs_call_init(&call);
	bfs_call_start(&call, 1000, 0, 0);
	bfs_call_enter(&call);
	assert_int_equal(bfs_call_spend(900, "reading", NULL), BFS_OK);
	assert_false(bfs_call_affords(101));
	assert_int_equal(bfs_call_spend(101, "decoding a block", &diag),
			 BFS_ERR_TOO_MUCH);
	assert_non_null(strstr(diag.text, "1000 bytes (max_request)"));
	assert_non_null(strstr(diag.text, "decoding a block takes 101"));
	assert_int_equal(bfs_err_errno(diag.err), EIO);
	assert_int_equal(bfs_call_spend(1, "reading", NULL),
			 BFS_ERR_TOO_MUCH);
	assert_int_equal(bfs_call_stopped(NULL), BFS_ERR_TOO_MUCH);
	bfs_call_start(&call, 1000, 0, 0);
	assert_int_equal(bfs_call_spend(1000, "reading", NULL), BFS_OK);
	/* What costs nothing is never too much. */
	assert_int_equal(bfs_call_spend(0, "reading", NULL), BFS_OK);
	assert_int_equal(bfs_call_spend(1, "reading", NULL),
			 BFS_ERR_TOO_MUCH);
	bfs_call_leave(NULL);
}

/* Until the thread has computed for longer than some call may. */
static void compute_for_ms(unsigned ms)
{
	clock_t end = clock() + (clock_t)ms * CLOCKS_PER_SEC / 1000;

	while (clock() < end)
		;
}

/* Steps until a call that has computed too long is told so. */
static unsigned count_blind_steps(uint64_t len)
{
	enum bfs_err err = BFS_OK;
	struct bfs_call call;
	unsigned n = 0;

	bfs_call_init(&call);
	bfs_call_start(&call, 0, 1, 0);
	bfs_call_enter(&call);
	assert_int_equal(bfs_call_check(NULL), BFS_OK);
	compute_for_ms(20);
	while (err == BFS_OK && n++ < 1000000)
		err = len ? bfs_call_spend(len, "decoding a block", NULL) :
			    bfs_call_check(NULL);
	assert_int_equal(err, BFS_ERR_TOO_MUCH);
	bfs_call_leave(NULL);
	return n;
}

static void steps_for_few_bytes_take_time_too(void **state)
{
	(void)state;
	assert_true(count_blind_steps(1 << 20) <= 1);
	assert_true(count_blind_steps(1) <= 64);
	assert_true(count_blind_steps(0) <= 64);
}

static void a_call_without_patience_does_not_wait_for_memory(void **state)
{
	static const struct {
		enum bfs_patience patience;
		bool little, much;
	} rows[] = {
		{ BFS_WAITS, true, true },
		{ BFS_WAITS_FOR_LITTLE, true, false },
		{ BFS_WAITS_NEVER, false, false },
	};
	struct bfs_call call;

	(void)state;
	bfs_call_init(&call);
	bfs_call_enter(&call);
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows) * 2; i++) {
		bool little = i % 2;
		bool may = little ? rows[i / 2].little : rows[i / 2].much;

		bfs_call_start(&call, 0, 0, 0);
		call.patience = rows[i / 2].patience;
		assert_int_equal(bfs_call_may_wait(little, NULL),
				 may ? BFS_OK : BFS_ERR_TOO_MUCH);
		assert_int_equal(call.would_wait, !may);
		assert_int_equal(bfs_call_stopped(NULL),
				 may ? BFS_OK : BFS_ERR_TOO_MUCH);
	}
	bfs_call_leave(NULL);
}

/* ---- waiting for a block --------------------------------------------- */

struct waiter {
	struct bfs_cache *cache;
	struct bfs_call call;
	struct bfs_cache_pin pin;
	enum bfs_cache_state is;
	enum bfs_err err;
};

static void *wait_for_block(void *arg)
{
	struct waiter *w = arg;
	struct bfs_cache_key key = make_key(1, 0);

	bfs_call_enter(&w->call);
	w->err = bfs_cache_get(w->cache, &key, 1000, &w->is, &w->pin, NULL);
	bfs_call_leave(NULL);
	return NULL;
}

static void start_waiter(struct waiter *w, struct bfs_cache *cache,
			 pthread_t *thread)
{
	uint64_t before = get_stats(cache).waits;

	w->cache = cache;
	bfs_call_init(&w->call);
	assert_int_equal(pthread_create(thread, NULL, wait_for_block, w), 0);
	while (get_stats(cache).waits == before)
		usleep(1000);
}

static void claim_block(struct bfs_cache *cache, struct bfs_cache_pin *pin)
{
	struct bfs_cache_key key = make_key(1, 0);
	enum bfs_cache_state is;

	assert_int_equal(bfs_cache_get(cache, &key, 1000, &is, pin, NULL),
			 BFS_OK);
	assert_int_equal(is, BFS_CACHE_CLAIMED);
}

static void who_waits_for_a_cancelled_one_takes_over(void **state)
{
	static const enum bfs_err reasons[] = { BFS_ERR_CANCELLED,
						BFS_ERR_TOO_MUCH };
	struct bfs_cache_key key = make_key(1, 0);

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(reasons); i++) {
		struct bfs_cache *cache = make_cache(MIB);
		struct bfs_cache_pin pin;
		struct waiter w;
		pthread_t thread;

		claim_block(cache, &pin);
		start_waiter(&w, cache, &thread);
		bfs_cache_abandon(cache, &pin, reasons[i], NULL);
		pthread_join(thread, NULL);
		assert_int_equal(w.err, BFS_OK);
		assert_int_equal(w.is, BFS_CACHE_CLAIMED);
		fill(&key, &w.pin);
		bfs_cache_commit(cache, &w.pin);
		bfs_cache_unpin(cache, &w.pin, false);
		assert_int_equal(use(cache, 0, 1000), BFS_CACHE_HIT);
		bfs_cache_free(cache);
	}
}

static void who_waits_can_be_cancelled(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 0);
	struct bfs_cache_pin pin;
	struct waiter w;
	pthread_t thread;

	(void)state;
	claim_block(cache, &pin);
	start_waiter(&w, cache, &thread);
	atomic_store(&w.call.cancelled, true);
	pthread_join(thread, NULL);
	assert_int_equal(w.err, BFS_ERR_CANCELLED);
	/* The one that decodes does not care. */
	fill(&key, &pin);
	bfs_cache_commit(cache, &pin);
	bfs_cache_unpin(cache, &pin, false);
	assert_int_equal(use(cache, 0, 1000), BFS_CACHE_HIT);
	bfs_cache_free(cache);
}

/* ---- an array that asks for far too much ----------------------------- */

#define THIN_LEN 256
#define THIN_CHUNK ((size_t)256 << 10)

/* (1, THIN_LEN) in chunks of (THIN_CHUNK, 1): each byte costs a block. */
static struct bfs_array *open_thin(struct bfs_engine *e, struct build *out)
{
	struct build_frame f = {
		.chunksize = THIN_CHUNK, .typesize = 1, .ndim = 2,
		.shape = { 1, THIN_LEN }, .chunkshape = { THIN_CHUNK, 1 },
		.blockshape = { THIN_CHUNK, 1 }, .dtype = "|u1",
	};
	uint8_t *data = calloc(1, THIN_CHUNK);

	assert_non_null(data);
	for (size_t i = 0; i < THIN_LEN; i++) {
		struct build_chunk c = { data, THIN_CHUNK, 1, THIN_CHUNK,
					 BUILD_LZ4, 0, 0, 0 };

		data[0] = (uint8_t)(i + 1);
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, out);
	free(data);
	return arrays_open(e, out->p, out->len);
}

static void a_request_decodes_no_more_than_it_may(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	struct bfs_array *a = open_thin(e, &out);
	struct bfs_engine_stats stats;
	struct bfs_diag diag = { .err = BFS_OK };
	struct bfs_call call;
	uint8_t got[THIN_LEN];

	(void)state;
	bfs_call_init(&call);
	bfs_call_start(&call, 8 * THIN_CHUNK, 0, 0);
	bfs_call_enter(&call);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, sizeof(got),
					&diag), BFS_ERR_TOO_MUCH);
	assert_non_null(strstr(diag.text, "max_request"));
	bfs_call_leave(NULL);
	bfs_pool_wait(e->pool);
	bfs_engine_get_stats(e, &stats);
	assert_true(stats.decoded_len <= 8 * THIN_CHUNK);
	/* Who may do more has all of it. */
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, sizeof(got),
					NULL), BFS_OK);
	for (size_t i = 0; i < sizeof(got); i++)
		assert_int_equal(got[i], (uint8_t)(i + 1));
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void a_block_that_is_too_dear_takes_no_memory(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	struct bfs_array *a = open_thin(e, &out);
	uint64_t before, n_misses;
	struct bfs_engine_stats stats;
	struct bfs_chunk *plan;
	struct bfs_call call;
	struct bfs_span span;
	uint8_t got;

	(void)state;
	/* A block of the index is decoded for the plan. */
	assert_int_equal(bfs_array_plan(a, 0, &plan, &span, NULL), BFS_OK);
	bfs_chunk_unref(plan);
	bfs_engine_get_stats(e, &stats);
	n_misses = stats.cache.misses;
	before = bfs_mem_used();
	bfs_call_init(&call);
	bfs_call_start(&call, THIN_CHUNK - 1, 0, 0);
	bfs_call_enter(&call);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, &got, 1, NULL),
			 BFS_ERR_TOO_MUCH);
	bfs_call_leave(NULL);
	bfs_engine_get_stats(e, &stats);
	assert_int_equal(stats.cache.misses, n_misses);
	assert_true(bfs_mem_used() - before < THIN_CHUNK);
	/* A block that is there costs nothing. */
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, &got, 1, NULL),
			 BFS_OK);
	bfs_call_start(&call, THIN_CHUNK - 1, 0, 0);
	bfs_call_enter(&call);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, &got, 1, NULL),
			 BFS_OK);
	bfs_call_leave(NULL);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void decoding_ahead_is_bounded_and_can_be_ended(void **state)
{
	struct bfs_engine *e = arrays_engine(2 * THIN_CHUNK * 8);
	struct build out = { 0 };
	struct bfs_array *a = open_thin(e, &out);
	struct bfs_engine_stats stats;
	uint64_t before;
	uint8_t got[4];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(bfs_array_read(a, &arrays_data, 4 * i, got,
						4, NULL), BFS_OK);
	bfs_pool_wait(e->pool);
	bfs_engine_get_stats(e, &stats);
	/* Half of the cache a step, and not all that might be wanted. */
	assert_true(stats.decoded_len < 128 * THIN_CHUNK);
	bfs_engine_cancel(e);
	before = stats.decoded_len;
	for (i = 20; i < 24; i++)
		assert_int_equal(bfs_array_read(a, &arrays_data, 4 * i, got,
						4, NULL), BFS_OK);
	bfs_pool_wait(e->pool);
	bfs_engine_get_stats(e, &stats);
	assert_true(stats.decoded_len - before <= 16 * THIN_CHUNK);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

/* ---- cancelled at every step ----------------------------------------- */

#define VIEWS "info,data,npy,chunks,meta,raw,lazy,blocks,zarr,table,map"
#define MAX_LISTED 12

static const char *const samples[] = {
	"good-b1-lz4-shuffle.blosc", "good-blp3-array.blp",
	"good-blp3-unknown.blp", "good-early-9c-usermeta.b2frame",
	"good-frame-varchunks.b2frame", "good-frame-vlmetalayers.b2frame",
	"good-frame-specials.b2frame", "good-nd-structured.b2nd",
	"good-packed-a2-sides.b2packed", "good-store.b2e", "good-store.b2z",
	"good-frame-index-bitshuffle.b2frame", "good-nd-caterva.b2nd",
};

static uint64_t mix(uint64_t sum, const void *p, size_t len)
{
	const uint8_t *bytes = p;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static uint64_t read_entry(struct bloscfs_file *file,
			   const struct bloscfs_node *node, uint64_t sum)
{
	static uint8_t buf[1 << 20];
	struct bloscfs_attr attr;
	enum bloscfs_err err;
	size_t len = 0;

	bloscfs_stat(file, node, &attr);
	sum = mix(sum, &attr.size, sizeof(attr.size));
	sum = mix(sum, &attr.stored, sizeof(attr.stored));
	err = bloscfs_access(file, node, NULL);
	sum = mix(sum, &err, sizeof(err));
	err = bloscfs_read(file, node, 0, buf, sizeof(buf), &len, NULL);
	sum = mix(sum, &err, sizeof(err));
	return mix(sum, buf, len);
}

/* A sum over names, sizes and bytes below a directory. */
static uint64_t walk(struct bloscfs_file *file, const struct bloscfs_node *dir,
		     uint64_t sum)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node, found;

	for (uint64_t i = 0; i < MAX_LISTED &&
	     bloscfs_list(file, dir, i, name, &node); i++) {
		sum = mix(sum, name, strlen(name));
		if (bloscfs_lookup(file, dir, name, &found))
			sum = mix(sum, "found", 5);
		sum = bloscfs_is_dir(file, &node) ? walk(file, &node, sum) :
						    read_entry(file, &node,
							       sum);
	}
	return sum;
}

static enum bloscfs_err open_sample(struct bloscfs *fs, const char *name,
				    struct bloscfs_file **ret_file)
{
	char path[512];
	enum bloscfs_err err;
	int fd;

	snprintf(path, sizeof(path), TEST_DATA_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	err = bloscfs_open(fs, fd, name, 0, 0, ret_file, NULL);
	if (err != BLOSCFS_OK)
		close(fd);
	return err;
}

static uint64_t sum_up(struct bloscfs *fs, struct bloscfs_file *file)
{
	struct bloscfs_node root = bloscfs_root();
	enum bloscfs_status is = bloscfs_file_status(file, NULL);

	(void)fs;
	return walk(file, &root, mix(1, &is, sizeof(is)));
}

/* Cancels at the n-th check; whether there was one. Then, by the same
 * opening where there is one, all is as it was. */
static bool try_cancelled(struct bloscfs *fs, const char *name, uint64_t n,
			  uint64_t want)
{
	struct bloscfs_file *file = NULL;
	enum bloscfs_err err;
	struct bfs_call call;
	bool stopped;

	bfs_call_init(&call);
	call.cancel_at = n;
	bfs_call_enter(&call);
	err = open_sample(fs, name, &file);
	if (err == BLOSCFS_OK)
		(void)sum_up(fs, file);
	stopped = bfs_call_stopped(NULL) != BFS_OK;
	bfs_call_leave(NULL);
	if (err != BLOSCFS_OK) {
		assert_int_equal(err, BLOSCFS_ERR_CANCELLED);
		assert_int_equal(open_sample(fs, name, &file), BLOSCFS_OK);
	}
	if (sum_up(fs, file) != want)
		fail_msg("%s: other facts after step %u was cancelled", name,
			 (unsigned)n);
	bloscfs_close(file);
	return stopped;
}

static void nothing_found_in_a_cancelled_call_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(samples); i++) {
		struct bloscfs_options options = { .size = sizeof(options),
						   .cache_size = 1 << 20,
						   .threads = 2,
						   .views = VIEWS };
		struct bloscfs_file *file;
		struct bloscfs *fs;
		uint64_t want, n = 1;

		assert_int_equal(bloscfs_new(&options, &fs, NULL), BLOSCFS_OK);
		assert_int_equal(open_sample(fs, samples[i], &file),
				 BLOSCFS_OK);
		want = sum_up(fs, file);
		bloscfs_close(file);
		while (try_cancelled(fs, samples[i], n, want))
			n += 1 + n / 16;
		assert_true(n > 8);
		bloscfs_free(fs);
	}
}

/* ---- the public interface -------------------------------------------- */

static void calls_of_the_interface_are_cancelled_and_end(void **state)
{
	struct bloscfs_call_limits limits = { .size = sizeof(limits),
					      .bytes = 1 << 20 };
	struct bloscfs_diag diag = { .err = BLOSCFS_OK };
	struct bloscfs_file *file = NULL;
	struct bloscfs_call *call;
	struct bloscfs *fs;

	(void)state;
	assert_int_equal(bloscfs_new(NULL, &fs, NULL), BLOSCFS_OK);
	call = bloscfs_call_new(fs);
	assert_non_null(call);
	bloscfs_call_cancel(call);
	bloscfs_call_start(call, &limits);
	assert_int_equal(open_sample(fs, samples[0], &file), BLOSCFS_OK);
	bloscfs_close(file);
	assert_int_equal(bloscfs_call_stopped(call, &diag), BLOSCFS_OK);
	bloscfs_call_cancel(call);
	assert_int_equal(open_sample(fs, samples[0], &file),
			 BLOSCFS_ERR_CANCELLED);
	assert_int_equal(bloscfs_call_stopped(call, &diag),
			 BLOSCFS_ERR_CANCELLED);
	assert_int_equal(bloscfs_err_errno(diag.err), EINTR);
	bloscfs_call_end(call);
	assert_int_equal(open_sample(fs, samples[0], &file), BLOSCFS_OK);
	bloscfs_close(file);
	bloscfs_cancel_all(fs);
	bloscfs_call_start(call, NULL);
	assert_int_equal(open_sample(fs, samples[0], &file),
			 BLOSCFS_ERR_CANCELLED);
	bloscfs_call_end(call);
	bloscfs_call_free(call);
	bloscfs_free(fs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_without_a_call_is_never_stopped),
		cmocka_unit_test(a_limit_is_told_with_its_cause_and_lasts),
		cmocka_unit_test(steps_for_few_bytes_take_time_too),
		cmocka_unit_test(
			a_call_without_patience_does_not_wait_for_memory),
		cmocka_unit_test_setup_teardown(
			who_waits_for_a_cancelled_one_takes_over, begin_test,
			end_test),
		cmocka_unit_test_setup_teardown(who_waits_can_be_cancelled,
						begin_test, end_test),
		cmocka_unit_test(a_request_decodes_no_more_than_it_may),
		cmocka_unit_test(a_block_that_is_too_dear_takes_no_memory),
		cmocka_unit_test(decoding_ahead_is_bounded_and_can_be_ended),
		cmocka_unit_test(nothing_found_in_a_cancelled_call_is_kept),
		cmocka_unit_test(calls_of_the_interface_are_cancelled_and_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
