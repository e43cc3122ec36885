/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_packed.c - the packed super-chunks of the 2.0 alphas, with
 * and without their delta, and what a hostile one can claim.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "staged_source.h"
#include "support/build2.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)400)
#define NBYTES ((size_t)1000)
#define N_CHUNKS 3

static uint8_t data[NBYTES];
static uint8_t reference[CHUNK];

static int setup(void **state)
{
	build_fill(data, sizeof(data), 11);
	build_fill(reference, sizeof(reference), 12);
	return hostile_setup(state);
}

static size_t chunk_len(unsigned n)
{
	return n == N_CHUNKS - 1 ? NBYTES - 2 * CHUNK : CHUNK;
}

/* The header with everything but positions and sums; `first` is where chunks
 * begin: 96, or 120 in the form of a5. */
static void put_head(struct build *b, size_t first, unsigned filters)
{
	static const uint8_t zeros[120];

	build_bytes(b, zeros, first);
	b->p[4] = 1;
	if (first == 96) {
		b->p[6] = 5;
		patch_le(b, 8, filters, 2);
	} else {
		b->p[5] = 5;
		b->p[8] = 4;
		memset(b->p + 80, 0xaa, 40);
	}
}

/* Table and sums, from where the n data chunks lie. */
static void put_table(struct build *b, size_t first, const uint64_t *offs,
		      unsigned n, size_t nbytes)
{
	size_t table = b->len;

	for (unsigned i = 0; i < n; i++)
		build_le64(b, offs[i]);
	patch_le(b, 16, n, 8);
	patch_le(b, 24, first + 8 * n + nbytes, 8);
	patch_le(b, 32, b->len, 8);
	patch_le(b, 72, table, 8);
}

static struct build make_a4(unsigned version)
{
	struct build b = { 0 };
	uint64_t offs[N_CHUNKS];

	put_head(&b, 96, 1);
	for (unsigned n = 0; n < N_CHUNKS; n++) {
		offs[n] = b.len;
		/* One stored plain, the others as streams. */
		if (n == 1)
			build_plain(&b, version, 4, data + CHUNK, CHUNK);
		else
			build_stored(&b, version, false, 4,
				     data + n * CHUNK, chunk_len(n));
	}
	put_table(&b, 96, offs, N_CHUNKS, NBYTES);
	return b;
}

static struct build make_plain_a4(void)
{
	return make_a4(3);
}

static struct build make_a5(void)
{
	struct build b = { 0 };
	uint64_t offs[N_CHUNKS];

	put_head(&b, 120, 0);
	for (unsigned n = 0; n < N_CHUNKS; n++) {
		offs[n] = b.len;
		build_stored(&b, 3, true, 4, data + n * CHUNK, chunk_len(n));
		/* The sixth slot is whatever was in memory. */
		b.p[offs[n] + 21] = 0xbb;
	}
	put_table(&b, 120, offs, N_CHUNKS, NBYTES);
	return b;
}

/* Slot 0 is delta: the reference is added to chunks that are not plain. */
static struct build make_delta(size_t ref_len)
{
	struct build b = { 0 };
	uint64_t offs[N_CHUNKS];
	uint8_t diff[CHUNK];

	put_head(&b, 96, 3);
	patch_le(&b, 40, b.len, 8);
	build_plain(&b, 3, 4, reference, ref_len);
	for (unsigned n = 0; n < N_CHUNKS; n++) {
		const uint8_t *from = data + n * CHUNK;

		offs[n] = b.len;
		for (size_t i = 0; i < chunk_len(n); i++)
			diff[i] = (uint8_t)(from[i] -
					    (i < ref_len ? reference[i] : 0));
		if (n == 1)
			build_plain(&b, 3, 4, from, CHUNK);
		else
			build_stored(&b, 3, false, 4, diff, chunk_len(n));
	}
	put_table(&b, 96, offs, N_CHUNKS, NBYTES + ref_len);
	return b;
}

static struct build make_whole_delta(void)
{
	return make_delta(CHUNK);
}

static struct bfs_array *open_good(const struct build *b)
{
	struct bfs_array *a = hostile_open(b, NULL);

	expect_good(a);
	assert_string_equal(a->container->format, "packed super-chunk");
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	for (unsigned n = 0; n < N_CHUNKS; n++)
		expect_stream(a, BFS_STREAM_CHUNK, n, data + n * CHUNK,
			      chunk_len(n));
	return a;
}

/* ---- the forms ------------------------------------------------------- */

static void form_of_a2_to_a4_is_served(void **state)
{
	(void)state;
	for (unsigned version = 2; version <= 3; version++) {
		struct build b = make_a4(version);
		struct bfs_array *a = open_good(&b);

		assert_string_equal(a->container->format_detail, "a2 to a4");
		bfs_array_close(a);
		free(b.p);
	}
}

static void form_of_a5_is_served(void **state)
{
	struct build b = make_a5();
	struct bfs_array *a = open_good(&b);

	(void)state;
	assert_string_equal(a->container->format_detail, "a5");
	assert_int_equal(a->container->typesize, 4);
	bfs_array_close(a);
	free(b.p);
}

static void delta_adds_the_reference_to_what_is_not_plain(void **state)
{
	static const size_t lens[] = { CHUNK, 300, 1 };

	(void)state;
	/* Shorter references leave the rest as it is. */
	for (int i = 0; i < 3; i++) {
		struct build b = make_delta(lens[i]);
		struct bfs_array *a = open_good(&b);
		struct bfs_stream s = { BFS_STREAM_CHUNK, 0 };
		uint8_t got[100];

		assert_int_equal(bfs_array_read(a, &s, 250, got, 100, NULL),
				 BFS_OK);
		assert_memory_equal(got, data + 250, 100);
		bfs_array_close(a);
		free(b.p);
	}
}

static void side_chunks_are_metalayers(void **state)
{
	static const char *const names[] = { "codec", "metadata",
					     "userdata" };
	struct build b = { 0 };
	struct bfs_array *a;
	uint64_t off;

	(void)state;
	put_head(&b, 96, 0);
	for (unsigned i = 0; i < 3; i++) {
		patch_le(&b, 48 + 8 * i, b.len, 8);
		build_plain(&b, 3, 1, names[i], strlen(names[i]));
	}
	off = b.len;
	build_plain(&b, 3, 4, data, CHUNK);
	put_table(&b, 96, &off, 1, CHUNK + 5 + 8 + 8);
	a = hostile_open(&b, NULL);
	expect_good(a);
	assert_int_equal(a->container->n_metas, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(a->container->metas[i].name, names[i]);
		expect_stream(a, BFS_STREAM_META, i, names[i],
			      strlen(names[i]));
	}
	bfs_array_close(a);
	free(b.p);
}

static void super_chunk_without_chunks_is_its_header(void **state)
{
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	put_head(&b, 96, 1);
	put_table(&b, 96, NULL, 0, 0);
	assert_int_equal(b.len, 96);
	a = hostile_open(&b, NULL);
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, "", 0);
	bfs_array_close(a);
	free(b.p);
}

/* ---- what is no super-chunk ------------------------------------------ */

typedef struct build make_fn(void);

static make_fn *const forms[] = { make_plain_a4, make_a5, make_whole_delta };

#define N_FORMS (sizeof(forms) / sizeof(*forms))

/* Changes n bytes at `at` of one form, or of each. */
static void expect_form_not_taken(make_fn *form, size_t at, uint64_t v,
				  unsigned n)
{
	struct build b = form();
	struct bfs_array *a = NULL;

	patch_le(&b, at, v, n);
	assert_int_equal(hostile_try(b.p, b.len, NULL, &a, NULL),
			 BFS_ERR_NOT_FORMAT);
	free(b.p);
}

static void expect_not_taken(size_t at, uint64_t v, unsigned n)
{
	for (size_t i = 0; i < N_FORMS; i++)
		expect_form_not_taken(forms[i], at, v, n);
}

static void header_that_contradicts_the_file_is_not_taken(void **state)
{
	static const uint64_t counts[] = {
		4, UINT64_MAX, INT64_MAX, UINT64_C(1) << 61,
		UINT64_C(1) << 60, (UINT64_C(1) << 61) + 3,
	};

	(void)state;
	expect_not_taken(0, 1, 1);
	expect_not_taken(3, 1, 1);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		expect_not_taken(16, counts[i], 8);
	expect_not_taken(24, 95, 8);
	expect_not_taken(24, UINT64_MAX, 8);
	expect_not_taken(32, 0, 8);
	expect_not_taken(32, UINT64_MAX, 8);
	expect_not_taken(72, 0, 8);
	expect_not_taken(72, UINT64_MAX - 23, 8);
	expect_not_taken(4, 6, 1);
	expect_not_taken(8, 0xffff, 2);
	expect_form_not_taken(make_plain_a4, 10, 1, 2);
	expect_form_not_taken(make_plain_a4, 12, 1, 4);
	expect_form_not_taken(make_a5, 8, 0, 4);
	expect_form_not_taken(make_a5, 6, 1, 2);
}

static void file_cut_anywhere_is_not_taken(void **state)
{
	struct build b = make_plain_a4();
	struct bfs_array *a = NULL;

	(void)state;
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(hostile_try(b.p, len, NULL, &a, NULL),
				 BFS_ERR_NOT_FORMAT);
	free(b.p);
}

/* ---- what a hostile one can claim ------------------------------------ */

static size_t table_at(const struct build *b)
{
	return (size_t)bfs_le64(b->p + 72);
}

static void position_outside_the_chunks_fails_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FORMS; i++) {
		struct build b = forms[i]();
		const uint64_t bad[] = { 0, 95, table_at(&b) - 15,
					 table_at(&b), b.len, INT64_MAX,
					 UINT64_MAX, UINT64_MAX - 100 };

		for (size_t k = 0; k < sizeof(bad) / 8; k++) {
			struct build c = build_copy(&b);
			struct bfs_array *a;

			patch_le(&c, table_at(&c) + 8, bad[k], 8);
			a = hostile_open(&c, NULL);
			expect_blamed(a, BFS_DAMAGED, "would begin");
			expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
			expect_failure(a, BFS_STREAM_CHUNK, 1,
				       BFS_ERR_CORRUPT, "would begin");
			expect_failure(a, BFS_STREAM_DATA, 0,
				       BFS_ERR_CORRUPT, "would begin");
			read_all_streams(a, 2000);
			bfs_array_close(a);
			free(c.p);
		}
		free(b.p);
	}
}

static void overlapping_chunks_are_damage(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FORMS; i++) {
		struct build b = forms[i]();
		struct bfs_array *a;

		/* Two positions of one chunk. */
		patch_le(&b, table_at(&b) + 8,
			 bfs_le64(b.p + table_at(&b)), 8);
		a = hostile_open(&b, NULL);
		expect_blamed(a, BFS_DAMAGED, "overlap");
		expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
		read_all_streams(a, 2000);
		bfs_array_close(a);
		free(b.p);
	}
}

static void chunk_that_runs_into_the_table_fails_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FORMS; i++) {
		struct build b = forms[i]();
		size_t last = (size_t)bfs_le64(b.p + table_at(&b) + 16);
		struct bfs_array *a;

		patch_le(&b, last + 12, table_at(&b) - last + 1, 4);
		a = hostile_open(&b, NULL);
		expect_blamed(a, BFS_DAMAGED, "cbytes");
		expect_stream(a, BFS_STREAM_CHUNK, 1, data + CHUNK, CHUNK);
		expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_TRUNCATED,
			       "cbytes");
		bfs_array_close(a);
		free(b.p);
	}
}

static void chunk_of_a_later_version_is_damage(void **state)
{
	struct build b = make_plain_a4();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 96, 5, 1);
	a = hostile_open(&b, NULL);
	expect_blamed(a, BFS_DAMAGED, "version 5");
	expect_stream(a, BFS_STREAM_CHUNK, 1, data + CHUNK, CHUNK);
	bfs_array_close(a);
	free(b.p);
}

static void nbytes_that_does_not_count_the_chunks_is_damage(void **state)
{
	static const uint64_t sums[] = { 96, 1119, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < N_FORMS; i++)
		for (size_t k = 0; k < 3; k++) {
			struct build b = forms[i]();
			struct bfs_array *a;

			patch_le(&b, 24, sums[k], 8);
			a = hostile_open(&b, NULL);
			expect_blamed(a, BFS_DAMAGED, "nbytes");
			expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
				       "nbytes");
			expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
			bfs_array_close(a);
			free(b.p);
		}
}

static void side_chunk_outside_the_file_is_left_out(void **state)
{
	static const uint64_t bad[] = { 1, 95, 100000, INT64_MAX, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < N_FORMS; i++)
		for (size_t k = 0; k < sizeof(bad) / 8; k++) {
			struct build b = forms[i]();
			struct bfs_array *a;

			patch_le(&b, 56, bad[k], 8);
			a = hostile_open(&b, NULL);
			expect_blamed(a, BFS_DAMAGED, "would begin");
			expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
				       "would begin");
			expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
			for (size_t m = 0; m < a->container->n_metas; m++)
				assert_string_not_equal(
					a->container->metas[m].name,
					"metadata");
			bfs_array_close(a);
			free(b.p);
		}
}

/* ---- the reference --------------------------------------------------- */

static void delta_without_reference_fails_where_it_is_needed(void **state)
{
	static const uint64_t bad[] = { 0, 8, 95, 100000, INT64_MAX,
					UINT64_MAX };

	(void)state;
	for (size_t k = 0; k < sizeof(bad) / 8; k++) {
		struct build b = make_whole_delta();
		struct bfs_array *a;

		patch_le(&b, 40, bad[k], 8);
		a = hostile_open(&b, NULL);
		expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_CORRUPT,
			       "delta reference");
		/* The plain one needs none. */
		expect_stream(a, BFS_STREAM_CHUNK, 1, data + CHUNK, CHUNK);
		bfs_array_close(a);
		free(b.p);
	}
}

static void reference_that_is_no_chunk_fails_where_it_is_needed(void **state)
{
	static const struct { unsigned at, n; uint64_t v; } bad[] = {
		{ 0, 1, 0 }, { 4, 4, 401 }, { 12, 4, 100000 },
		{ 12, 4, UINT32_MAX },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
		struct build b = make_whole_delta();
		struct bfs_stream s = { BFS_STREAM_CHUNK, 2 };
		struct bfs_diag diag = { 0 };
		struct bfs_array *a;
		uint8_t byte;

		patch_le(&b, 96 + bad[k].at, bad[k].v, bad[k].n);
		a = hostile_open(&b, NULL);
		expect_blamed(a, BFS_DAMAGED, "");
		assert_int_not_equal(bfs_array_read(a, &s, 0, &byte, 1,
						    &diag), BFS_OK);
		assert_true(diag.text[0] != '\0');
		expect_stream(a, BFS_STREAM_CHUNK, 1, data + CHUNK, CHUNK);
		bfs_array_close(a);
		free(b.p);
	}
}

/* A reference of 400 MiB in 1.6 MiB of LZ4: matches of 255 on 255. */
static void put_bomb(struct build *b, uint32_t len)
{
	size_t start = b->len, stream, n;

	build_bytes(b, "\3\1\x30\4", 4);
	build_le32(b, len);
	build_le32(b, len);
	build_le32(b, 0);
	build_le32(b, 20);
	stream = b->len;
	build_le32(b, 0);
	/* One literal, then a match at distance 1; then five literals. */
	build_bytes(b, "\x1f\0\1\0", 4);
	n = len - 1 - 5 - 4 - 15;
	for (; n >= 255; n -= 255)
		build_byte(b, 255);
	build_byte(b, (unsigned)n);
	build_bytes(b, "\x50\0\0\0\0\0", 6);
	patch_le(b, stream, b->len - stream - 4, 4);
	patch_le(b, start + 12, b->len - start, 4);
}

static void reference_that_is_a_bomb_takes_no_memory(void **state)
{
	uint32_t len = UINT32_C(400) << 20;
	struct build b = { 0 };
	struct bfs_array *a;
	uint64_t off;

	(void)state;
	put_head(&b, 96, 3);
	patch_le(&b, 40, b.len, 8);
	put_bomb(&b, len);
	off = b.len;
	build_stored(&b, 3, false, 4, data, CHUNK);
	put_table(&b, 96, &off, 1, CHUNK + len);
	a = hostile_open(&b, NULL);
	expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_LIMIT,
		       "delta reference");
	bfs_array_close(a);
	free(b.p);
}

static struct staged stage;

/* While the reference's bytes are read, the file becomes another. */
static enum bfs_err change_reference(uint64_t off, uint8_t *buf, size_t len)
{
	const uint64_t from = 96 + 16, end = 96 + 16 + CHUNK;

	/* The header, of which the plan is made, is still the old one. */
	if (off < from || off + len > end)
		return BFS_OK;
	for (size_t i = 0; i < len; i++)
		buf[i] ^= 0x55;
	stage.changed = true;
	return BFS_OK;
}

static void reference_that_changes_while_it_is_read_adds_nothing(void **state)
{
	struct build b = make_whole_delta();
	struct bfs_stream s = { BFS_STREAM_CHUNK, 0 };
	struct bfs_container *container;
	struct bfs_array *a;
	uint8_t got[CHUNK];

	(void)state;
	staged_begin(&stage, b.p, b.len);
	assert_int_equal(bfs_container_open(&stage.base, NULL, NULL,
					    NULL, &container, NULL), BFS_OK);
	assert_int_equal(bfs_array_open(hostile_engine, container, &a, NULL),
			 BFS_OK);
	stage.act = change_reference;
	assert_int_equal(bfs_array_read(a, &s, 0, got, CHUNK, NULL),
			 BFS_ERR_CHANGED);
	assert_true(stage.changed);
	/* Nor is it kept for later. */
	stage.act = NULL;
	stage.changed = false;
	assert_int_equal(bfs_array_read(a, &s, 0, got, CHUNK, NULL), BFS_OK);
	assert_memory_equal(got, data, CHUNK);
	bfs_array_close(a);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(form_of_a2_to_a4_is_served),
		T(form_of_a5_is_served),
		T(delta_adds_the_reference_to_what_is_not_plain),
		T(side_chunks_are_metalayers),
		T(super_chunk_without_chunks_is_its_header),
		T(header_that_contradicts_the_file_is_not_taken),
		T(file_cut_anywhere_is_not_taken),
		T(position_outside_the_chunks_fails_alone),
		T(overlapping_chunks_are_damage),
		T(chunk_that_runs_into_the_table_fails_alone),
		T(chunk_of_a_later_version_is_damage),
		T(nbytes_that_does_not_count_the_chunks_is_damage),
		T(side_chunk_outside_the_file_is_left_out),
		T(delta_without_reference_fails_where_it_is_needed),
		T(reference_that_is_no_chunk_fails_where_it_is_needed),
		T(reference_that_is_a_bomb_takes_no_memory),
		T(reference_that_changes_while_it_is_read_adds_nothing),
	};

	return cmocka_run_group_tests_name("container_packed", tests, setup,
					   hostile_teardown);
}
