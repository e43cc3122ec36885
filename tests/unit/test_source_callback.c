/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_source_callback.c - sources of the caller's own: opened and read like
 * files, told what will be read, closed once, left when a call is cancelled.
 */
#include "base/bytes.h"
#include "bloscfs.h"
#include "far_source.h"
#include "support/arrays.h"
#include "support/build2.h"
#include "support/frames.h"

#include <pthread.h>
#include <stdio.h>

#define N_THREADS 6

static struct bloscfs *fs;
static struct build big;	/* two chunks of many blocks */
static uint8_t *big_bytes;

static int set_up(void **state)
{
	(void)state;
	big_bytes = arrays_make_big(&big, BUILD_LZ4, 0);
	return bloscfs_new(NULL, &fs, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	bloscfs_free(fs);
	free(big.p);
	free(big_bytes);
	return 0;
}

static struct far *make_far(const void *p, size_t len)
{
	struct far *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->p = p;
	f->len = len;
	return f;
}

static struct bloscfs_file *open_far(struct far *f, struct bloscfs *with)
{
	struct bloscfs_source source = far_source(f);
	struct bloscfs_file *file;

	assert_int_equal(bloscfs_open_source(with, &source, "x.b2nd", &file,
					     NULL), BLOSCFS_OK);
	return file;
}

/* A range of data.bin. */
static enum bloscfs_err read_at(struct bloscfs_file *file, uint64_t off,
				void *buf, size_t len,
				struct bloscfs_diag *diag)
{
	struct bloscfs_node root = bloscfs_root(), node;
	size_t got = 0;
	enum bloscfs_err err;

	if (!bloscfs_lookup(file, &root, "data.bin", &node))
		return BLOSCFS_ERR_INVALID;
	err = bloscfs_read(file, &node, off, buf, len, &got, diag);
	if (err == BLOSCFS_OK)
		assert_int_equal(got, len);
	return err;
}

static void expect_at(struct bloscfs_file *file, uint64_t off, size_t len)
{
	uint8_t *buf = malloc(len);

	assert_non_null(buf);
	assert_int_equal(read_at(file, off, buf, len, NULL), BLOSCFS_OK);
	assert_memory_equal(buf, big_bytes + off, len);
	free(buf);
}

/* ---- reading --------------------------------------------------------- */

static void *read_pieces(void *arg)
{
	struct bloscfs_file *file = arg;

	for (size_t off = 0; off < 2 * ARRAYS_CHUNK; off += ARRAYS_CHUNK / 8)
		expect_at(file, off + 17, 70000);
	return NULL;
}

static void a_slow_source_is_read_by_many_threads_at_once(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_file *file = open_far(f, fs);
	pthread_t threads[N_THREADS];

	(void)state;
	f->delay_us = 30000;	/* others start meanwhile */
	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						read_pieces, file), 0);
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(atomic_load(&f->max_parallel) > 1);
	assert_int_equal(bloscfs_file_check(file, NULL), BLOSCFS_OK);
	bloscfs_close(file);
	assert_int_equal(atomic_load(&f->n_closed), 1);
	free(f);
}

static void a_source_that_is_refused_stays_the_callers(void **state)
{
	static const uint8_t nothing[1000] = "no container";
	struct far *f = make_far(nothing, sizeof(nothing));
	struct bloscfs_source source = far_source(f);
	struct bloscfs_diag diag = { 0 };
	struct bloscfs_file *file = NULL;
	const char *format = NULL;

	(void)state;
	assert_int_equal(bloscfs_probe_source(&source, NULL, &format, &diag),
			 BLOSCFS_ERR_NOT_FORMAT);
	assert_true(diag.text[0] != 0);
	assert_int_equal(bloscfs_open_source(fs, &source, NULL, &file, &diag),
			 BLOSCFS_ERR_NOT_FORMAT);
	source.read = NULL;
	assert_int_equal(bloscfs_open_source(fs, &source, NULL, &file, &diag),
			 BLOSCFS_ERR_INVALID);
	source = far_source(f);
	source.identity_len = 3;
	assert_int_equal(bloscfs_open_source(fs, &source, NULL, &file, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_open_source(fs, NULL, NULL, &file, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_null(file);
	assert_null(format);
	assert_int_equal(atomic_load(&f->n_closed), 0);
	free(f);
}

static void a_name_is_a_hint_as_for_files(void **state)
{
	struct build early = build_sample("good-early-9c.b2frame");
	struct far *f = make_far(early.p, early.len);
	struct bloscfs_source source = far_source(f);
	const char *format;

	(void)state;
	assert_int_equal(bloscfs_probe_source(&source, "a.b2frame", &format,
					      NULL), BLOSCFS_OK);
	assert_non_null(strstr(format, "early"));
	assert_int_equal(atomic_load(&f->n_closed), 0);
	free(f);
	free(early.p);
}

static void only_what_a_source_must_have_is_enough(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_source source = {
		.size = offsetof(struct bloscfs_source, check),
		.arg = f, .length = big.len, .read = far_read,
		.check = far_check, .will_need = far_told,
	};
	struct bloscfs_file *file;

	(void)state;
	/* What lies behind the size is not looked at. */
	assert_int_equal(bloscfs_open_source(fs, &source, NULL, &file, NULL),
			 BLOSCFS_OK);
	expect_at(file, 12345, 200000);
	bloscfs_close(file);
	assert_int_equal(atomic_load(&f->n_checks), 0);
	assert_int_equal(atomic_load(&f->n_told), 0);
	free(f);
}

/* ---- failing --------------------------------------------------------- */

static void a_phrase_of_the_source_reaches_the_reader(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_file *file = open_far(f, fs);
	struct bloscfs_diag diag = { 0 };
	uint8_t buf[100];

	(void)state;
	f->fail_text = "the store answered 403";
	f->fail_with = BLOSCFS_ERR_ACCESS;
	f->fail_at = 1;
	assert_int_equal(read_at(file, 0, buf, sizeof(buf), &diag),
			 BLOSCFS_ERR_ACCESS);
	assert_non_null(strstr(diag.text, "the store answered 403"));
	assert_int_equal(bloscfs_err_errno(diag.err), 13);
	/* What is no error of the moment is one of reading. */
	f->fail_with = BLOSCFS_ERR_CORRUPT;
	f->fail_at = 1;
	assert_int_equal(read_at(file, 0, buf, sizeof(buf), &diag),
			 BLOSCFS_ERR_IO);
	f->fail_with = (enum bloscfs_err)12345;
	f->fail_text = NULL;
	f->fail_at = 1;
	assert_int_equal(read_at(file, 0, buf, sizeof(buf), &diag),
			 BLOSCFS_ERR_IO);
	assert_true(diag.text[0] != 0);
	assert_int_equal(bloscfs_file_status(file, NULL), BLOSCFS_GOOD);
	expect_at(file, 0, 100);
	bloscfs_close(file);
	free(f);
}

static void a_change_is_told_before_a_byte_counts(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_file *file = open_far(f, fs);
	uint8_t buf[100];

	(void)state;
	expect_at(file, 0, 100);
	atomic_store(&f->changed, true);
	assert_int_equal(read_at(file, 9000000, buf, sizeof(buf), NULL),
			 BLOSCFS_ERR_CHANGED);
	assert_int_equal(bloscfs_file_check(file, NULL), BLOSCFS_ERR_CHANGED);
	atomic_store(&f->changed, false);
	expect_at(file, 9000000, 100);
	bloscfs_close(file);
	free(f);
}

/* More is promised than there is, and less. */
static void a_wrong_length_gives_no_wrong_byte(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_source source = far_source(f);
	struct bloscfs_file *file = NULL;
	uint8_t buf[100];

	(void)state;
	source.length += 1000;
	assert_int_equal(bloscfs_open_source(fs, &source, NULL, &file, NULL),
			 BLOSCFS_ERR_IO);
	source.length -= 1001;
	if (bloscfs_open_source(fs, &source, NULL, &file, NULL) ==
	    BLOSCFS_OK) {
		assert_int_equal(bloscfs_file_status(file, NULL),
				 BLOSCFS_DAMAGED);
		if (read_at(file, 0, buf, sizeof(buf), NULL) == BLOSCFS_OK)
			assert_memory_equal(buf, big_bytes, sizeof(buf));
		bloscfs_close(file);
	}
	free(f);
}

/* ---- cancelling ------------------------------------------------------ */

struct caller {
	struct bloscfs_file *file;
	struct bloscfs_call *call;
	enum bloscfs_err err;
};

static void *read_in_call(void *arg)
{
	struct caller *c = arg;
	uint8_t buf[100];

	bloscfs_call_start(c->call, NULL);
	c->err = read_at(c->file, 0, buf, sizeof(buf), NULL);
	bloscfs_call_end(c->call);
	return NULL;
}

static void a_cancelled_call_leaves_a_source_that_hangs(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct caller c = { open_far(f, fs), bloscfs_call_new(fs),
			    BLOSCFS_OK };
	pthread_t thread;

	(void)state;
	atomic_store(&f->hangs, true);
	assert_int_equal(pthread_create(&thread, NULL, read_in_call, &c), 0);
	while (!atomic_load(&f->n_hanging))
		far_sleep(1000);
	bloscfs_call_cancel(c.call);
	pthread_join(thread, NULL);
	assert_int_equal(c.err, BLOSCFS_ERR_CANCELLED);
	assert_int_equal(atomic_load(&f->n_hanging), 0);
	atomic_store(&f->hangs, false);
	expect_at(c.file, 0, 100);
	bloscfs_call_free(c.call);
	bloscfs_close(c.file);
	free(f);
}

static void a_call_is_over_when_its_time_is(void **state)
{
	struct bloscfs_call_limits limits = { .size = sizeof(limits),
					      .wall_ms = 20 };
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_file *file = open_far(f, fs);
	struct bloscfs_call *call = bloscfs_call_new(fs);
	uint8_t buf[100];

	(void)state;
	assert_int_equal(bloscfs_call_check(NULL), BLOSCFS_OK);
	atomic_store(&f->hangs, true);
	bloscfs_call_start(call, &limits);
	assert_int_equal(read_at(file, 0, buf, sizeof(buf), NULL),
			 BLOSCFS_ERR_TOO_MUCH);
	bloscfs_call_end(call);
	atomic_store(&f->hangs, false);
	expect_at(file, 0, 100);
	bloscfs_call_free(call);
	bloscfs_close(file);
	free(f);
}

/* Decoding ahead works for calls of its own, which closing ends. */
static void closing_ends_what_hangs_ahead(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs_options options = { .size = sizeof(options),
					   .threads = 2 };
	struct bloscfs *own;
	struct bloscfs_file *file;

	(void)state;
	assert_int_equal(bloscfs_new(&options, &own, NULL), BLOSCFS_OK);
	file = open_far(f, own);
	for (size_t i = 0; i < 4; i++)
		expect_at(file, i * 65536, 65536);
	atomic_store(&f->hangs, true);
	bloscfs_close(file);
	assert_int_equal(atomic_load(&f->n_parallel), 0);
	assert_int_equal(atomic_load(&f->n_closed), 1);
	bloscfs_free(own);
	free(f);
}

/* ---- being told ------------------------------------------------------ */

static void start_keeping(struct far *f)
{
	f->n_ranges = f->n_read_ranges = 0;
	f->keeps = true;
}

static bool was_told(const struct far *f, const struct bloscfs_range *r)
{
	for (size_t i = 0; i < f->n_ranges; i++)
		if (r->off >= f->ranges[i].off && r->off + r->len <=
		    f->ranges[i].off + f->ranges[i].len)
			return true;
	return false;
}

/* Blocks of the index tell where the rest lies: nobody can tell of them. */
static bool is_of_index(const struct bloscfs_range *r)
{
	return r->off >= bfs_be32(big.p + 0x0b) + bfs_be64(big.p + 0x27);
}

static void expect_all_told(const struct far *f)
{
	for (size_t i = 0; i < f->n_read_ranges; i++)
		if (!is_of_index(&f->read_ranges[i]) &&
		    !was_told(f, &f->read_ranges[i]))
			fail_msg("%llu bytes at %llu were not told",
				 (unsigned long long)f->read_ranges[i].len,
				 (unsigned long long)f->read_ranges[i].off);
}

/* One thread, which decodes nothing ahead. */
static struct bloscfs *lone_fs(void)
{
	struct bloscfs_options options = { .size = sizeof(options),
					   .threads = 1 };
	struct bloscfs *own;

	assert_int_equal(bloscfs_new(&options, &own, NULL), BLOSCFS_OK);
	return own;
}

static void what_a_read_needs_is_told_before_and_merged(void **state)
{
	struct far *f = make_far(big.p, big.len);
	struct bloscfs *own = lone_fs();
	struct bloscfs_file *file = open_far(f, own);
	size_t at = ARRAYS_CHUNK - 5 * ARRAYS_BLOCK;

	(void)state;
	/* The index is read when it is first needed. */
	expect_at(file, 0, 1);
	expect_at(file, 2 * ARRAYS_CHUNK - 1, 1);
	bloscfs_trim(own);
	/* Over the edge of the two chunks: two headers, then the blocks of
	 * either, which lie back to back in each. */
	start_keeping(f);
	expect_at(file, at, 10 * ARRAYS_BLOCK);
	assert_int_equal(f->n_ranges, 4);
	expect_all_told(f);
	assert_true(f->ranges[0].off < f->ranges[1].off);
	assert_true(f->ranges[2].off + f->ranges[2].len < f->ranges[3].off);
	/* What is there is not asked for, and neighbours of it are. */
	start_keeping(f);
	expect_at(file, at, 10 * ARRAYS_BLOCK);
	assert_int_equal(f->n_ranges, 0);
	assert_int_equal(f->n_read_ranges, 0);
	start_keeping(f);
	expect_at(file, at - ARRAYS_BLOCK, 3 * ARRAYS_BLOCK);
	assert_int_equal(f->n_ranges, 1);
	expect_all_told(f);
	bloscfs_close(file);
	bloscfs_free(own);
	free(f);
}

static void a_slice_of_tiles_is_told(void **state)
{
	struct build pond = build_sample("good-nd-pond.b2nd");
	struct far *f = make_far(pond.p, pond.len);
	struct bloscfs *own = lone_fs();
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_file *file = open_far(f, own), *near;
	uint8_t *a, *b;

	(void)state;
	assert_int_equal(bloscfs_facts(file, NULL, &facts, NULL), BLOSCFS_OK);
	assert_int_equal(facts.source_size, pond.len);
	assert_true(facts.is_tiled && facts.n_chunks > 1);
	a = malloc(facts.data_size);
	b = malloc(facts.data_size);
	start_keeping(f);
	assert_int_equal(read_at(file, 0, a, facts.data_size, NULL),
			 BLOSCFS_OK);
	assert_true(f->n_ranges > 1 && f->n_read_ranges > 1);
	expect_all_told(f);
	assert_int_equal(bloscfs_open_memory(own, pond.p, pond.len, NULL,
					     &near, NULL), BLOSCFS_OK);
	assert_int_equal(read_at(near, 0, b, facts.data_size, NULL),
			 BLOSCFS_OK);
	assert_memory_equal(a, b, facts.data_size);
	bloscfs_close(near);
	bloscfs_close(file);
	bloscfs_free(own);
	free(a);
	free(b);
	free(f);
	free(pond.p);
}

/* ---- identity -------------------------------------------------------- */

static bool goes_on(const char *identity, const char *later)
{
	struct far *f = make_far(big.p, big.len);
	struct far *g = make_far(big.p, big.len);
	struct bloscfs_file *older, *newer;
	bool same;

	f->identity = identity;
	g->identity = later;
	older = open_far(f, fs);
	newer = open_far(g, fs);
	bloscfs_remember(older);
	bloscfs_remember(newer);
	expect_at(older, 1000, 100);
	same = bloscfs_continues(newer, older, true);
	expect_at(newer, 1000, 100);
	bloscfs_close(newer);
	bloscfs_close(older);
	free(f);
	free(g);
	return same;
}

static void equal_identities_are_equal_bytes(void **state)
{
	(void)state;
	assert_true(goes_on("etag 1", "etag 1"));
	assert_false(goes_on("etag 1", "etag 2"));
	assert_false(goes_on(NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_source_is_read_by_many_threads_at_once),
		cmocka_unit_test(a_source_that_is_refused_stays_the_callers),
		cmocka_unit_test(a_name_is_a_hint_as_for_files),
		cmocka_unit_test(only_what_a_source_must_have_is_enough),
		cmocka_unit_test(a_phrase_of_the_source_reaches_the_reader),
		cmocka_unit_test(a_change_is_told_before_a_byte_counts),
		cmocka_unit_test(a_wrong_length_gives_no_wrong_byte),
		cmocka_unit_test(a_cancelled_call_leaves_a_source_that_hangs),
		cmocka_unit_test(a_call_is_over_when_its_time_is),
		cmocka_unit_test(closing_ends_what_hangs_ahead),
		cmocka_unit_test(what_a_read_needs_is_told_before_and_merged),
		cmocka_unit_test(a_slice_of_tiles_is_told),
		cmocka_unit_test(equal_identities_are_equal_bytes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
