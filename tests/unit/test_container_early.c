/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_early.c - frames of the betas and of the snapshots between
 * them: each form as it was written, and what a hostile one can claim.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "support/build2.h"

#include <stdlib.h>
#include <string.h>

#define NAME "x.b2frame"
#define NBYTES 10000
#define CHUNK 4000
#define CBYTES 898

static uint8_t data[NBYTES];

static int setup(void **state)
{
	build_fill(data, sizeof(data), 5);
	memset(data + 200, 7, sizeof(data) - 200);
	return hostile_setup(state);
}

/* ---- the forms ------------------------------------------------------- */

/* A chunk of version 4 that takes exactly cbytes. */
static void put_chunk(struct build *b, size_t off, size_t len, size_t cbytes)
{
	struct build_chunk c = { .data = data + off, .len = len,
				 .typesize = 4, .blocksize = (uint32_t)len,
				 .codec = BUILD_ZSTD };
	size_t start = b->len;

	build_chunk(b, &c);
	assert_true(b->len - start <= cbytes);
	while (b->len - start < cbytes)
		build_byte(b, 0);
	patch_le(b, start, 4, 1);
	patch_le(b, start + 12, cbytes, 4);
}

/* The data section of the samples: chunks of 4000, 4000 and 2000 bytes at 0,
 * 335 and 556; and their index. */
static void put_data(struct build *b)
{
	static const uint8_t index[] = {
		4, 1, 0x17, 8, 24, 0, 0, 0, 24, 0, 0, 0, 56, 0, 0, 0,
		0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0x4f, 1, 0, 0, 0, 0, 0, 0,
		0x2c, 2, 0, 0, 0, 0, 0, 0,
	};

	put_chunk(b, 0, CHUNK, 335);
	put_chunk(b, CHUNK, CHUNK, 221);
	put_chunk(b, 2 * CHUNK, NBYTES - 2 * CHUNK, 342);
	build_bytes(b, index, sizeof(index));
}

/* The fields that all have, up to the chunk size. */
static void put_head(struct build *b, unsigned first, unsigned flags,
		     uint32_t header_len)
{
	build_byte(b, first);
	build_bytes(b, "\xa8" "b2frame\0\xd2", 10);
	build_be32(b, header_len);
	build_byte(b, 0xcf);
	build_be64(b, header_len + CBYTES + 56);
	build_byte(b, 0xa4);
	build_byte(b, flags);
	build_bytes(b, first == 0x9d ? "\0\x95\0" : "\6\x95\0", 3);
	build_byte(b, 0xd3);
	build_be64(b, NBYTES);
	build_byte(b, 0xd3);
	build_be64(b, CBYTES);
	build_bytes(b, "\xd2\0\0\0\4\xd2\0\0\x0f\xa0", 10);
}

static struct build make_9a(void)
{
	struct build b = { 0 };

	put_head(&b, 0x9a, 0x24, 0x3d);
	build_bytes(&b, "\xd1\0\1\x80", 4);
	put_data(&b);
	return b;
}

static struct build make_9b(void)
{
	struct build b = { 0 };

	put_head(&b, 0x9b, 0x24, 0x40);
	build_bytes(&b, "\xd1\0\1\xd1\0\1\xc2", 7);
	put_data(&b);
	return b;
}

static struct build make_9c(void)
{
	struct build b = { 0 };

	put_head(&b, 0x9c, 0x24, 0x7d);
	build_bytes(&b, "\xd1\0\1\xd1\0\1\xc3", 7);
	build_bytes(&b, "\x93\xcd\0\x22\xde\0\2\xad" "my_metalayer1", 21);
	build_bytes(&b, "\xd2\0\0\0\x65\xa2m2\xd2\0\0\0\x76\xdc\0\2", 16);
	build_bytes(&b, "\xc6\0\0\0\x0cmy_content1\0", 17);
	build_bytes(&b, "\xc6\0\0\0\2\1\2", 7);
	put_data(&b);
	return b;
}

static void put_trailer(struct build *b, const char *marks, const void *meta,
			size_t len)
{
	struct build chunk = { 0 };
	size_t start = b->len;

	if (len > 0) {
		struct build_chunk c = { .data = meta, .len = len,
					 .typesize = 1, .codec = BUILD_RAW,
					 .blocksize = (uint32_t)len };

		build_chunk(&chunk, &c);
		patch_le(&chunk, 0, 4, 1);
	}
	build_bytes(b, marks, 3);
	build_be32(b, (uint32_t)chunk.len);
	build_bytes(b, chunk.p, chunk.len);
	build_byte(b, 0xce);
	build_be32(b, (uint32_t)(b->len - start + 22));
	build_bytes(b, "\xd8\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
	free(chunk.p);
}

static const char marks_beta2[] = "\x0d\0\xc6", marks_beta3[] = "\x94\1\xc6";

static struct build make_9d(const char *marks, const char *usermeta)
{
	struct build b = { 0 };

	put_head(&b, 0x9d, 0x21, 0x5c);
	build_bytes(&b, "\xd1\0\1\xd1\0\1\xc2", 7);
	build_bytes(&b, "\xd8\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
	build_bytes(&b, "\x93\xcd\0\7\xde\0\0\xdc\0\0", 10);
	put_data(&b);
	put_trailer(&b, marks, usermeta, strlen(usermeta));
	patch_be(&b, 0x10, b.len, 8);
	return b;
}

static void expect_data(struct bfs_array *a)
{
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	expect_stream(a, BFS_STREAM_CHUNK, 1, data + CHUNK, CHUNK);
	expect_stream(a, BFS_STREAM_CHUNK, 2, data + 2 * CHUNK,
		      NBYTES - 2 * CHUNK);
}

static struct bfs_array *open_good(const struct build *b)
{
	struct bfs_array *a = hostile_open(b, NAME);

	expect_good(a);
	assert_string_equal(a->container->ops->name, "early b2frame");
	expect_data(a);
	return a;
}

static void expect_meta(struct bfs_array *a, size_t i, const char *name,
			const void *want, size_t len)
{
	assert_true(i < a->container->n_metas);
	assert_string_equal(a->container->metas[i].name, name);
	expect_stream(a, BFS_STREAM_META, i, want, len);
}

static void form_of_ten_elements_is_served(void **state)
{
	struct build b = make_9a();
	struct bfs_array *a = open_good(&b);

	(void)state;
	bfs_array_close(a);
	free(b.p);
}

static void form_of_eleven_elements_is_served(void **state)
{
	struct build b = make_9b();
	struct bfs_array *a;

	(void)state;
	assert_int_equal(b.len, 1018);
	a = open_good(&b);
	assert_int_equal(a->container->n_metas, 0);
	bfs_array_close(a);
	free(b.p);
}

static void form_of_twelve_elements_is_served_with_metalayers(void **state)
{
	struct build b = make_9c();
	struct bfs_array *a = open_good(&b);

	(void)state;
	assert_int_equal(a->container->n_metas, 2);
	expect_meta(a, 0, "my_metalayer1", "my_content1", 12);
	expect_meta(a, 1, "m2", "\1\2", 2);
	bfs_array_close(a);
	free(b.p);
}

static void form_of_thirteen_elements_is_served(void **state)
{
	struct build b = make_9d(marks_beta3, "");
	struct bfs_array *a;

	(void)state;
	assert_int_equal(b.len, 0x434);
	a = open_good(&b);
	assert_int_equal(a->container->n_metas, 0);
	assert_int_equal(a->container->filters[0], 1);
	bfs_array_close(a);
	free(b.p);
}

static void usermeta_of_both_trailers_are_a_metalayer(void **state)
{
	static const char *const marks[] = { marks_beta2, marks_beta3 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct build b = make_9d(marks[i], "the user's own");
		struct bfs_array *a = open_good(&b);

		assert_int_equal(a->container->n_metas, 1);
		expect_meta(a, 0, "usermeta", "the user's own", 14);
		bfs_array_close(a);
		free(b.p);
	}
}

/* Snapshots of August 2019 counted a trailer of 30 bytes, whatever it had. */
static void usermeta_that_the_frame_length_leaves_out_are_found(void **state)
{
	struct build b = make_9b();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x10, b.len + 30, 8);
	put_trailer(&b, marks_beta2, "more than thirty bytes of notes", 31);
	a = open_good(&b);
	expect_meta(a, 0, "usermeta", "more than thirty bytes of notes", 31);
	bfs_array_close(a);
	free(b.p);
}

static void bytes_behind_the_frame_are_ignored(void **state)
{
	struct build b = make_9b();
	struct bfs_array *a;

	(void)state;
	build_bytes(&b, data, 777);
	a = open_good(&b);
	assert_int_equal(a->container->n_metas, 0);
	bfs_array_close(a);
	free(b.p);
}

static void frame_without_data_is_its_header_alone(void **state)
{
	struct build b = make_9b();
	struct bfs_array *a;

	(void)state;
	b.len = 64;
	patch_be(&b, 0x10, 64, 8);
	patch_be(&b, 0x1e, 0, 8);
	patch_be(&b, 0x27, 0, 8);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, "", 0);
	bfs_array_close(a);
	free(b.p);
}

static void chunk_size_of_zero_is_found_in_the_headers(void **state)
{
	struct build b = make_9b();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x35, 0, 4);
	a = open_good(&b);
	bfs_array_close(a);
	free(b.p);
}

static void pipeline_that_is_no_metalayer_is_hidden(void **state)
{
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	put_head(&b, 0x9c, 0x24, 0x67);
	build_bytes(&b, "\xd1\0\1\xd1\0\1\xc3", 7);
	build_bytes(&b, "\x93\xcd\0\x1d\xde\0\1\xb0_filter_pipeline", 24);
	build_bytes(&b, "\xd2\0\0\0\x60\xdc\0\1", 8);
	build_bytes(&b, "\xc6\0\0\0\2\x92\x92", 7);
	put_data(&b);
	a = open_good(&b);
	assert_int_equal(a->container->n_metas, 0);
	bfs_array_close(a);
	free(b.p);
}

/* ---- what a hostile one can claim ------------------------------------ */

typedef struct build make_fn(void);

static struct build make_9d_plain(void)
{
	return make_9d(marks_beta3, "note");
}

static make_fn *const forms[] = { make_9a, make_9b, make_9c, make_9d_plain };

#define N_FORMS (sizeof(forms) / sizeof(*forms))

/* Each form with n bytes at `at` changed opens and serves nothing. */
static void expect_all_useless(size_t at, uint64_t v, unsigned n,
			       const char *word)
{
	for (size_t i = 0; i < N_FORMS; i++) {
		struct build b = forms[i]();

		patch_be(&b, at, v, n);
		expect_useless(&b, NAME, BFS_DAMAGED, word);
		free(b.p);
	}
}

static void frame_cut_anywhere_opens_and_says_so(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FORMS; i++) {
		struct build b = forms[i]();

		for (size_t len = 10; len < b.len; len++) {
			struct build cut = { b.p, len, 0 };
			struct bfs_array *a = hostile_open(&cut, NAME);

			expect_blamed(a, BFS_DAMAGED, "");
			read_all_streams(a, 2000);
			bfs_array_close(a);
		}
		free(b.p);
	}
}

static void impossible_lengths_are_refused(void **state)
{
	(void)state;
	expect_all_useless(0x0b, 0, 4, "header length");
	expect_all_useless(0x0b, 0x3c, 4, "header length");
	expect_all_useless(0x0b, UINT32_MAX, 4, "header length");
	expect_all_useless(0x10, UINT64_MAX, 8, "frame length");
	expect_all_useless(0x10, 1, 8, "header length");
	expect_all_useless(0x1e, UINT64_MAX, 8, "nbytes");
	expect_all_useless(0x27, UINT64_MAX, 8, "cbytes");
	expect_all_useless(0x27, INT64_MAX, 8, "index would begin");
	expect_all_useless(0x27, 100000, 8, "index would begin");
}

static void header_length_of_an_older_form_is_refused(void **state)
{
	struct build b = make_9d_plain();

	(void)state;
	patch_be(&b, 0x0b, 0x51, 4);
	expect_useless(&b, NAME, BFS_DAMAGED, "header length");
	free(b.p);
	b = make_9b();
	patch_be(&b, 0x0b, 0x3f, 4);
	expect_useless(&b, NAME, BFS_DAMAGED, "header length");
	free(b.p);
}

static void impossible_sizes_are_refused(void **state)
{
	(void)state;
	expect_all_useless(0x30, 0, 4, "typesize");
	expect_all_useless(0x30, UINT32_MAX, 4, "typesize");
	expect_all_useless(0x35, UINT32_MAX, 4, "chunk size");
	expect_all_useless(0x35, UINT32_MAX - 1, 4, "chunk size");
	expect_all_useless(0x35, INT32_MAX, 4, "chunk size");
	expect_all_useless(0x35, 1, 4, "3 entries for 10000");
	expect_all_useless(0x1e, INT64_MAX, 8, "3 entries");
	expect_all_useless(0x1e, 20000, 8, "3 entries");
}

static void wrong_markers_are_refused(void **state)
{
	static const uint8_t marks[] = { 0x0a, 0x0f, 0x18, 0x1d, 0x26, 0x2f,
					 0x34 };

	(void)state;
	for (size_t i = 0; i < sizeof(marks); i++)
		expect_all_useless(marks[i], 0, 1, "markers");
}

static size_t entry_at(const struct build *b, unsigned n)
{
	return bfs_be32(b->p + 0x0b) + CBYTES + 32 + 8 * n;
}

/* There are no special chunks in these frames, but their entries are the
 * same numbers: those that mean nothing fail alone. */
static void chunk_outside_the_data_fails_alone(void **state)
{
	static const uint64_t entries[] = {
		CBYTES, CBYTES - 15, 100000, INT64_MAX, UINT64_MAX,
		UINT64_C(1) << 63,
	};

	(void)state;
	for (size_t i = 0; i < N_FORMS; i++)
		for (size_t k = 0; k < sizeof(entries) / 8; k++) {
			struct build b = forms[i]();
			struct bfs_array *a;

			patch_le(&b, entry_at(&b, 1), entries[k], 8);
			a = hostile_open(&b, NAME);
			expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
			expect_failure(a, BFS_STREAM_CHUNK, 1,
				       BFS_ERR_CORRUPT, k < 4 ?
				       "it would begin" : "its index entry");
			read_all_streams(a, 2000);
			bfs_array_close(a);
			free(b.p);
		}
}

static void index_that_is_no_chunk_is_refused(void **state)
{
	static const struct { unsigned at, n; uint64_t v; } bad[] = {
		{ 0, 1, 0 }, { 3, 1, 0 }, { 4, 4, 23 }, { 4, 4, 0 },
		{ 8, 4, 0 }, { 12, 4, 16 }, { 12, 4, INT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		for (size_t k = 0; k < N_FORMS; k++) {
			struct build b = forms[k]();

			patch_le(&b, entry_at(&b, 0) - 32 + bad[i].at,
				 bad[i].v, bad[i].n);
			expect_useless(&b, NAME, BFS_DAMAGED, "");
			free(b.p);
		}
}

static void metalayers_that_do_not_hold_leave_the_chunks(void **state)
{
	static const struct { unsigned at, n; uint64_t v; } bad[] = {
		{ 0x45, 2, 17 }, { 0x45, 2, 0xffff }, { 0x47, 1, 0xc0 },
		{ 0x47, 1, 0xbf }, { 0x56, 4, INT32_MAX }, { 0x56, 4, 0x40 },
		{ 0x66, 4, 100 }, { 0x66, 4, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_9c();
		struct bfs_array *a;

		patch_be(&b, bad[i].at, bad[i].v, bad[i].n);
		a = hostile_open(&b, NAME);
		expect_blamed(a, BFS_DAMAGED, "metalayer");
		/* One of them may have told another order of the data. */
		if (bad[i].at < 0x56)
			expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
				       "metalayer");
		else
			expect_data(a);
		expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
		read_all_streams(a, 2000);
		bfs_array_close(a);
		free(b.p);
	}
}

static void trailer_that_does_not_hold_leaves_the_chunks(void **state)
{
	static const struct { unsigned at, n; uint64_t v; const char *word; }
	bad[] = {
		{ 0, 1, 0x93, "markers" }, { 2, 1, 0, "markers" },
		{ 3, 4, 1000, "user metadata" },
		{ 3, 4, UINT32_MAX, "user metadata" },
		{ 3, 4, INT32_MAX, "user metadata" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_9d_plain();
		size_t at = entry_at(&b, 3);
		struct bfs_array *a;

		patch_be(&b, at + bad[i].at, bad[i].v, bad[i].n);
		a = hostile_open(&b, NAME);
		expect_blamed(a, BFS_DAMAGED, bad[i].word);
		expect_data(a);
		assert_int_equal(a->container->n_metas, 0);
		bfs_array_close(a);
		free(b.p);
	}
}

static void missing_trailer_leaves_the_chunks(void **state)
{
	struct build b = make_9d_plain();
	struct bfs_array *a;

	(void)state;
	b.len = entry_at(&b, 3);
	patch_be(&b, 0x10, b.len, 8);
	a = hostile_open(&b, NAME);
	expect_blamed(a, BFS_DAMAGED, "trailer is missing");
	expect_data(a);
	bfs_array_close(a);
	free(b.p);
}

static void trailer_length_cannot_point_before_the_index(void **state)
{
	static const uint32_t lens[] = { 0, 29, 500, UINT32_MAX };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct build b = make_9d_plain();
		struct bfs_array *a;

		patch_be(&b, b.len - 22, lens[i], 4);
		a = hostile_open(&b, NAME);
		expect_data(a);
		read_all_streams(a, 2000);
		bfs_array_close(a);
		free(b.p);
	}
}

static void usermeta_that_are_no_chunk_fail_alone(void **state)
{
	struct build b = make_9d_plain();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, entry_at(&b, 3) + 7 + 12, 1000, 4);
	a = hostile_open(&b, NAME);
	expect_data(a);
	expect_failure(a, BFS_STREAM_META, 0, BFS_ERR_TRUNCATED, "cbytes");
	bfs_array_close(a);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(form_of_ten_elements_is_served),
		T(form_of_eleven_elements_is_served),
		T(form_of_twelve_elements_is_served_with_metalayers),
		T(form_of_thirteen_elements_is_served),
		T(usermeta_of_both_trailers_are_a_metalayer),
		T(usermeta_that_the_frame_length_leaves_out_are_found),
		T(bytes_behind_the_frame_are_ignored),
		T(frame_without_data_is_its_header_alone),
		T(chunk_size_of_zero_is_found_in_the_headers),
		T(pipeline_that_is_no_metalayer_is_hidden),
		T(frame_cut_anywhere_opens_and_says_so),
		T(impossible_lengths_are_refused),
		T(header_length_of_an_older_form_is_refused),
		T(impossible_sizes_are_refused),
		T(wrong_markers_are_refused),
		T(chunk_outside_the_data_fails_alone),
		T(index_that_is_no_chunk_is_refused),
		T(metalayers_that_do_not_hold_leave_the_chunks),
		T(trailer_that_does_not_hold_leaves_the_chunks),
		T(missing_trailer_leaves_the_chunks),
		T(trailer_length_cannot_point_before_the_index),
		T(usermeta_that_are_no_chunk_fail_alone),
	};

	return cmocka_run_group_tests_name("container_early", tests, setup,
					   hostile_teardown);
}
