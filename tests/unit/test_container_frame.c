/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_frame.c - what the header, the metalayers and the trailer of
 * a hostile frame can claim, one test for each claim: it opens, says what is
 * wrong with it, serves what is not touched, and takes no memory for numbers
 * that no bytes stand behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile_frame.h"

#include <unistd.h>

/* ---- what is right --------------------------------------------------- */

static void frame_serves_chunks_data_and_metalayers(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a = hostile_open(&b, NAME);

	(void)state;
	expect_good(a);
	for (unsigned n = 0; n < N_CHUNKS; n++)
		expect_chunk(a, n);
	expect_stream(a, BFS_STREAM_DATA, 0, data, sizeof(data));
	expect_stream(a, BFS_STREAM_META, 0, "\x93\1\2\3", 4);
	expect_stream(a, BFS_STREAM_VLMETA, 0, "\xa5hello", 6);
	bfs_array_close(a);
	free(b.p);
}

/* ---- the header ------------------------------------------------------ */

static void frame_cut_anywhere_opens_and_serves_what_is_there(void **state)
{
	struct build b = make_frame();
	size_t first = header_len(&b) + STORED;

	(void)state;
	for (size_t len = 10; len < b.len; len++) {
		struct build cut = { b.p, len, 0 };
		struct bfs_array *a = hostile_open(&cut, NAME);

		expect_blamed(a, BFS_DAMAGED, len < 87 ?
			      "ends inside the frame header" : "only");
		assert_true(len >= first || a->container->n_chunks == 0);
		read_all_streams(a, 2000);
		bfs_array_close(a);
	}
	free(b.p);
}

static void impossible_header_length_is_refused(void **state)
{
	static const struct patch patches[] = {
		{ 0x0b, 4, 0, "header length 0 " },
		{ 0x0b, 4, 86, "header length 86 " },
		{ 0x0b, 4, 100000, "header length 100000 " },
		{ 0x0b, 4, UINT32_MAX, "header length" },
	};
	struct build b = make_frame();

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_DAMAGED);
	/* Inside what the frame claims, but more than anybody writes. */
	patch_be(&b, 0x0b, 17 << 20, 4);
	patch_be(&b, 0x10, 18 << 20, 8);
	expect_useless(&b, NAME, BFS_DAMAGED, "header length");
	free(b.p);
}

static void frame_longer_than_its_file_serves_what_is_there(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x10, b.len + 1000, 8);
	a = hostile_open(&b, NAME);
	expect_blamed(a, BFS_DAMAGED, "are there");
	for (unsigned n = 0; n < N_CHUNKS; n++)
		expect_chunk(a, n);
	expect_stream(a, BFS_STREAM_META, 0, "\x93\1\2\3", 4);
	read_all_streams(a, 4096);
	bfs_array_close(a);
	free(b.p);
}

static void frame_of_exbibytes_is_refused(void **state)
{
	static const struct patch patches[] = {
		{ 0x10, 8, UINT64_MAX, "frame length" },
		{ 0x10, 8, UINT64_C(1) << 63, "frame length" },
	};

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_DAMAGED);
}

static void negative_or_unbacked_sizes_are_refused(void **state)
{
	static const struct patch patches[] = {
		{ 0x1e, 8, UINT64_MAX, "nbytes" },
		{ 0x1e, 8, UINT64_C(1) << 63, "nbytes" },
		{ 0x27, 8, UINT64_MAX, "cbytes" },
		{ 0x27, 8, UINT64_C(1) << 63, "cbytes" },
		{ 0x27, 8, INT64_MAX, "cbytes" },
		{ 0x27, 8, 100000, "cbytes" },
	};

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_DAMAGED);
}

static void stale_cbytes_of_an_empty_frame_are_legal(void **state)
{
	struct build b = build_sample("good-frame-empty.b2frame");
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x27, 12345, 8);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, "", 0);
	bfs_array_close(a);
	free(b.p);
}

static void impossible_typesize_is_refused(void **state)
{
	static const struct patch patches[] = {
		{ 0x30, 4, 0, "typesize 0" },
		{ 0x30, 4, UINT32_MAX, "typesize -1" },
		{ 0x30, 4, UINT32_C(1) << 31, "typesize -" },
	};

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_DAMAGED);
}

static void impossible_chunk_size_is_refused(void **state)
{
	static const struct patch patches[] = {
		{ 0x3a, 4, UINT32_MAX, "chunk size -1" },
		{ 0x3a, 4, UINT32_MAX - 1, "chunk size -2" },
		{ 0x3a, 4, UINT32_C(1) << 31, "chunk size" },
		{ 0x3a, 4, INT32_MAX, "chunk size" },
		/* Possible, but not with this many entries. */
		{ 0x3a, 4, 1, "3 entries" },
		{ 0x3a, 4, 2000, "3 entries" },
	};

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_DAMAGED);
}

static void index_with_other_than_nchunks_entries_is_refused(void **state)
{
	static const struct patch patches[] = {
		{ 0x1e, 8, 3 * CHUNK + 1, "3 entries for 4" },
		{ 0x1e, 8, 2 * CHUNK, "3 entries for 2" },
		{ 0x1e, 8, INT64_MAX, "3 entries" },
	};

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_DAMAGED);
}

static void newer_formats_are_unsupported(void **state)
{
	static const struct patch patches[] = {
		{ 0, 1, 0x9f, "newer" },
		{ 0, 1, 0xdc, "newer" },
		{ 0x19, 1, 0x14, "newer" },
		{ 0x1a, 1, 2, "frame type 2" },
	};

	(void)state;
	EXPECT_ALL_USELESS(patches, BFS_UNSUPPORTED);
}

static void wrong_markers_and_slots_are_refused(void **state)
{
	static const uint8_t marks[] = { 0x0a, 0x0f, 0x18, 0x1d, 0x26, 0x2f,
					 0x34, 0x39, 0x3e, 0x41, 0x45 };
	static const struct patch slots[] = {
		{ 0x46, 1, 7, "7 filter slots" },
		{ 0x1a, 1, 1, "without its directory" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(marks); i++) {
		struct patch p = { marks[i], 1, 0, "markers" };

		expect_all_useless(&p, 1, BFS_DAMAGED);
	}
	EXPECT_ALL_USELESS(slots, BFS_DAMAGED);
}

/* ---- metalayers ------------------------------------------------------ */

/* What concerns one section leaves the chunks alone. A header whose table of
 * metalayers is lost may have held another order of the data. */
static void expect_chunks_alone(struct build *b, const char *word,
				size_t n_metas, size_t n_vlmetas, bool joined)
{
	struct bfs_array *a = hostile_open(b, NAME);

	expect_blamed(a, BFS_DAMAGED, word);
	if (joined)
		expect_stream(a, BFS_STREAM_DATA, 0, data, sizeof(data));
	else
		expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT, word);
	for (size_t i = 0; i < sizeof(data) / CHUNK; i++)
		expect_stream(a, BFS_STREAM_CHUNK, i, data + i * CHUNK, CHUNK);
	assert_int_equal(a->container->n_metas, n_metas);
	assert_int_equal(a->container->n_vlmetas, n_vlmetas);
	read_all_streams(a, 4096);
	bfs_array_close(a);
	free(b->p);
}

static void too_many_metalayers_are_refused_and_chunks_served(void **state)
{
	static const unsigned counts[] = { 17, 0xffff };
	static const unsigned vlcounts[] = { 8193, 0xffff };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct build b = make_frame();

		patch_be(&b, 0x5c, counts[i], 2);
		expect_chunks_alone(&b, "metalayers, more than 16", 0, 1,
				    false);
		b = make_frame();
		patch_be(&b, trailer_at(&b) + 7, vlcounts[i], 2);
		expect_chunks_alone(&b, "metalayers, more than 8192", 1, 0,
				    true);
	}
}

static void more_metalayers_than_bytes_are_refused(void **state)
{
	struct build b = make_frame();

	(void)state;
	patch_be(&b, 0x5c, 16, 2);
	expect_chunks_alone(&b, "entry 1 of the table", 1, 1, false);
	b = make_frame();
	patch_be(&b, trailer_at(&b) + 7, 8192, 2);
	expect_chunks_alone(&b, "entry 1 of the table", 1, 1, true);
}

static void size_of_the_metalayer_index_is_ignored(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x59, 0xffff, 2);
	patch_be(&b, trailer_at(&b) + 4, 0, 2);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_stream(a, BFS_STREAM_META, 0, "\x93\1\2\3", 4);
	expect_stream(a, BFS_STREAM_VLMETA, 0, "\xa5hello", 6);
	bfs_array_close(a);
	free(b.p);
}

static void metalayer_name_that_does_not_fit_is_refused(void **state)
{
	static const uint8_t marks[] = { 0xbf, 0xc0, 0x9f, 0xdb, 0x00 };

	(void)state;
	for (size_t i = 0; i < sizeof(marks); i++) {
		struct build b = make_frame();

		patch_be(&b, 0x5e, marks[i], 1);
		expect_chunks_alone(&b, "entry 0 of the table", 0, 1, false);
		b = make_frame();
		patch_be(&b, trailer_at(&b) + 9, marks[i], 1);
		expect_chunks_alone(&b, "entry 0 of the table", 1, 0, true);
	}
}

static void metalayer_value_outside_its_section_is_left_out(void **state)
{
	static const uint32_t offs[] = { INT32_MAX, UINT32_MAX, 0, 0x57, 500,
					 0x6a - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(offs) / sizeof(*offs); i++) {
		struct build b = make_frame();

		patch_be(&b, 0x63, offs[i], 4);
		expect_chunks_alone(&b, "'lay'", 0, 1, true);
		b = make_frame();
		patch_be(&b, trailer_at(&b) + 14, offs[i], 4);
		expect_chunks_alone(&b, "'vl1'", 1, 0, true);
	}
}

static void metalayer_value_longer_than_its_section_is_left_out(void **state)
{
	static const uint32_t lens[] = { 1000, INT32_MAX, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct build b = make_frame();
		size_t value = bfs_be32(b.p + 0x63);

		patch_be(&b, value + 1, lens[i], 4);
		expect_chunks_alone(&b, "'lay'", 0, 1, true);
		b = make_frame();
		value = trailer_at(&b) + bfs_be32(b.p + trailer_at(&b) + 14);
		patch_be(&b, value + 1, lens[i], 4);
		expect_chunks_alone(&b, "'vl1'", 1, 0, true);
	}
}

static void metalayers_may_share_their_value(void **state)
{
	static const struct frame_layer metas[] = {
		FRAME_LAYER("a", "one"), FRAME_LAYER("b", "two"),
	};
	struct frame_input in = {
		.metas = metas, .n_metas = 2, .data = data, .len = CHUNK,
		.chunksize = CHUNK, .blocksize = CHUNK, .typesize = 4,
	};
	struct build b = as_build(frames_build(&in));
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x68, bfs_be32(b.p + 0x61), 4);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_stream(a, BFS_STREAM_META, 0, "one", 3);
	expect_stream(a, BFS_STREAM_META, 1, "one", 3);
	bfs_array_close(a);
	free(b.p);
}

static size_t vlmeta_chunk_at(const struct build *b)
{
	return trailer_at(b) + bfs_be32(b->p + trailer_at(b) + 14) + 5;
}

static void vlmetalayer_that_reaches_into_the_end_of_the_trailer_is_told(
	void **state)
{
	struct build b = make_frame();
	size_t at = vlmeta_chunk_at(&b);
	uint32_t room = (uint32_t)(b.len - 23 - at);

	(void)state;
	for (uint32_t len = room; len <= room + 23; len++) {
		struct bfs_array *a;

		patch_be(&b, at - 4, len, 4);
		a = hostile_open(&b, NAME);
		if (len == room)
			expect_good(a);
		else
			expect_blamed(a, BFS_DAMAGED, "does not hold");
		expect_stream(a, BFS_STREAM_DATA, 0, data, sizeof(data));
		bfs_array_close(a);
	}
	free(b.p);
}

static void vlmetalayer_chunk_longer_than_its_value_fails_alone(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, vlmeta_chunk_at(&b) + 4, 7, 4);
	patch_le(&b, vlmeta_chunk_at(&b) + 12, 39, 4);
	a = hostile_open(&b, NAME);
	expect_failure(a, BFS_STREAM_VLMETA, 0, BFS_ERR_TRUNCATED, "cbytes");
	expect_stream(a, BFS_STREAM_DATA, 0, data, sizeof(data));
	bfs_array_close(a);
	free(b.p);
}

static void vlmetalayer_of_gibibytes_is_served_in_pieces(void **state)
{
	struct bfs_stream s = { BFS_STREAM_VLMETA, 0 };
	struct build b = make_frame();
	uint8_t got[16] = { 1 }, zeros[16] = { 0 };
	struct bfs_array *a;
	uint64_t len = 0;

	(void)state;
	/* Special kind 1: zeros, as many as a chunk can have. */
	patch_le(&b, vlmeta_chunk_at(&b) + 2, 5, 1);
	patch_le(&b, vlmeta_chunk_at(&b) + 4, 2147483615, 4);
	patch_le(&b, vlmeta_chunk_at(&b) + 12, 32, 4);
	patch_le(&b, vlmeta_chunk_at(&b) + 31, 0x10, 1);
	a = hostile_open(&b, NAME);
	assert_int_equal(bfs_array_len(a, &s, &len, NULL), BFS_OK);
	assert_int_equal(len, 2147483615);
	assert_int_equal(bfs_array_read(a, &s, len - 16, got, 16, NULL),
			 BFS_OK);
	assert_memory_equal(got, zeros, 16);
	bfs_array_close(a);
	free(b.p);
}

static void listing_escapes_names_that_are_paths(void **state)
{
	static const struct frame_layer metas[] = {
		FRAME_LAYER("..", "1"), FRAME_LAYER("../../etc/passwd", "2"),
		FRAME_LAYER("", "3"), FRAME_LAYER("a\0b", "4"),
		FRAME_LAYER("\xff\xfe", "5"), FRAME_LAYER("..", "6"),
		FRAME_LAYER("new\nline", "7"), FRAME_LAYER(".", "8"),
	};
	struct frame_input in = {
		.metas = metas, .n_metas = 8, .data = data, .len = CHUNK,
		.chunksize = CHUNK, .blocksize = CHUNK, .typesize = 4,
	};
	struct build b = as_build(frames_build(&in));
	struct bfs_file *file = hostile_file(&b, NAME);
	char name[BFS_NAME_MAX + 1], seen[8][BFS_NAME_MAX + 1];
	struct bfs_node dir, node;
	unsigned n;

	(void)state;
	assert_true(frames_find(file, "meta", &dir));
	for (n = 0; bfs_file_list(file, &dir, n, name, &node); n++) {
		assert_true(n < 8);
		assert_null(strchr(name, '/'));
		assert_string_not_equal(name, ".");
		assert_string_not_equal(name, "..");
		for (const char *p = name; *p; p++)
			assert_true((uint8_t)*p >= 0x20);
		for (unsigned i = 0; i < n; i++)
			assert_string_not_equal(name, seen[i]);
		strcpy(seen[n], name);
	}
	assert_int_equal(n, 8);
	bfs_file_free(file);
	free(b.p);
}

/* ---- the trailer ----------------------------------------------------- */

static void impossible_trailer_length_leaves_the_chunks(void **state)
{
	static const uint32_t lens[] = { 0, 24, 100000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct build b = make_frame();

		patch_be(&b, b.len - 22, lens[i], 4);
		expect_chunks_alone(&b, "trailer length", 1, 0, true);
	}
}

static void trailer_inside_the_header_is_refused(void **state)
{
	struct build b = make_frame();
	uint32_t len = (uint32_t)(b.len - header_len(&b)) + 1;

	(void)state;
	patch_be(&b, b.len - 22, len, 4);
	expect_chunks_alone(&b, "trailer length", 1, 0, true);
}

static void trailer_with_wrong_markers_leaves_the_chunks(void **state)
{
	struct build b = make_frame();

	(void)state;
	patch_be(&b, b.len - 23, 0, 1);
	expect_chunks_alone(&b, "trailer has wrong markers", 1, 0, true);
	b = make_frame();
	patch_be(&b, b.len - 18, 0, 1);
	expect_chunks_alone(&b, "trailer has wrong markers", 1, 0, true);
	b = make_frame();
	patch_be(&b, trailer_at(&b), 0x93, 1);
	expect_chunks_alone(&b, "trailer has wrong markers", 1, 0, true);
}

static void trailer_that_begins_in_the_index_is_refused(void **state)
{
	struct build b = make_frame();
	size_t at = index_at(&b) + 40;

	(void)state;
	/* Entries that look like the beginning of a trailer. */
	memcpy(b.p + at, "\x94\1\x93\xcd\0\6\xde\0\0\xdc\0\0\0\0\0\0", 16);
	patch_be(&b, b.len - 22, b.len - at, 4);
	expect_useless(&b, NAME, BFS_DAMAGED, "where only 40");
	free(b.p);
}

/* ---- where the frame lies -------------------------------------------- */

static void frame_in_a_window_shows_nothing_beyond_it(void **state)
{
	struct build b = make_frame(), host = { 0 };
	uint8_t secret[4096], *buf = malloc(65536);
	struct bfs_source *whole = NULL, *window = NULL;
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	(void)state;
	assert_non_null(buf);
	memset(secret, 0xee, sizeof(secret));
	/* All lengths lie: only the window's end holds them back. */
	patch_be(&b, 0x10, 1 << 20, 8);
	patch_le(&b, header_len(&b) + 4, 8000, 4);
	patch_le(&b, header_len(&b) + 12, 8032, 4);
	build_bytes(&host, secret, sizeof(secret));
	build_bytes(&host, b.p, b.len);
	build_bytes(&host, secret, sizeof(secret));
	assert_int_equal(bfs_source_memory(host.p, host.len, false, &whole,
					   NULL), BFS_OK);
	assert_int_equal(bfs_source_window(whole, sizeof(secret), b.len,
					   &window, NULL), BFS_OK);
	bfs_source_unref(whole);
	assert_int_equal(bfs_container_open(window, NAME, NULL, NULL, &f, NULL),
			 BFS_OK);
	bfs_source_unref(window);
	assert_int_equal(bfs_array_open(hostile_engine, f, &a, NULL), BFS_OK);
	expect_blamed(a, BFS_DAMAGED, "are there");
	expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_TRUNCATED, "cbytes");
	expect_failure(a, BFS_STREAM_RAW_CHUNK, 0, BFS_ERR_TRUNCATED,
		       "cbytes");
	expect_chunk(a, 1);
	read_all_streams(a, 65536);
	bfs_array_close(a);
	free(host.p);
	free(b.p);
	free(buf);
}

static void file_that_changes_under_the_frame_is_reported(void **state)
{
	char path[] = "/tmp/bloscfs-frame-XXXXXX";
	struct build b = make_frame();
	int fd = mkstemp(path);
	struct bfs_source *source = NULL;
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, b.p, b.len), b.len);
	assert_int_equal(bfs_source_file(dup(fd), &source, NULL), BFS_OK);
	assert_int_equal(bfs_container_open(source, NAME, NULL, NULL, &f, NULL),
			 BFS_OK);
	bfs_source_unref(source);
	assert_int_equal(bfs_array_open(hostile_engine, f, &a, NULL), BFS_OK);
	expect_chunk(a, 0);
	assert_int_equal(ftruncate(fd, (off_t)header_len(&b) + 500), 0);
	expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CHANGED, "");
	bfs_array_close(a);
	close(fd);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frame_serves_chunks_data_and_metalayers),
		T(frame_cut_anywhere_opens_and_serves_what_is_there),
		T(impossible_header_length_is_refused),
		T(frame_longer_than_its_file_serves_what_is_there),
		T(frame_of_exbibytes_is_refused),
		T(negative_or_unbacked_sizes_are_refused),
		T(stale_cbytes_of_an_empty_frame_are_legal),
		T(impossible_typesize_is_refused),
		T(impossible_chunk_size_is_refused),
		T(index_with_other_than_nchunks_entries_is_refused),
		T(newer_formats_are_unsupported),
		T(wrong_markers_and_slots_are_refused),
		T(too_many_metalayers_are_refused_and_chunks_served),
		T(more_metalayers_than_bytes_are_refused),
		T(size_of_the_metalayer_index_is_ignored),
		T(metalayer_name_that_does_not_fit_is_refused),
		T(metalayer_value_outside_its_section_is_left_out),
		T(metalayer_value_longer_than_its_section_is_left_out),
		T(metalayers_may_share_their_value),
		T(vlmetalayer_that_reaches_into_the_end_of_the_trailer_is_told),
		T(vlmetalayer_chunk_longer_than_its_value_fails_alone),
		T(vlmetalayer_of_gibibytes_is_served_in_pieces),
		T(listing_escapes_names_that_are_paths),
		T(impossible_trailer_length_leaves_the_chunks),
		T(trailer_inside_the_header_is_refused),
		T(trailer_with_wrong_markers_leaves_the_chunks),
		T(trailer_that_begins_in_the_index_is_refused),
		T(frame_in_a_window_shows_nothing_beyond_it),
		T(file_that_changes_under_the_frame_is_reported),
	};

	return cmocka_run_group_tests_name("container_frame", tests, setup,
					   hostile_teardown);
}
