/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_bloscpack.c - Bloscpack 1 to 3 and the form before them:
 * headers, offsets, checksums, unknown values; files as they were written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile_pack.h"

/* ---- files as they were written -------------------------------------- */

static void version_one_is_served(void **state)
{
	struct build b = make_v1();
	struct bfs_array *a;

	(void)state;
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	free(b.p);
}

static void form_of_eight_bytes_is_served(void **state)
{
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	build_bytes(&b, "blpk\3\0\0\0", 8);
	put_digit_chunks(&b, BFS_DIGEST_NONE, NULL);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	/* The number must be that of the chunks, to the end. */
	patch_le(&b, 4, 4, 4);
	expect_useless(&b, "x.blp", BFS_UNSUPPORTED, "version 4");
	patch_le(&b, 4, 0, 4);
	expect_useless(&b, "x.blp", BFS_DAMAGED, "version 0");
	free(b.p);
}

static void version_two_is_served_with_its_checksums(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	/* Known bytes of the file: where its chunks lie, an adler32. */
	assert_int_equal(bfs_le64(b.p + 0x20), 0x38);
	assert_int_equal(bfs_le64(b.p + 0x28), 0x65);
	assert_int_equal(bfs_le64(b.p + 0x30), 0x92);
	assert_memory_equal(b.p + 0x61, "\x89\x05\x4c\x51", 4);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	free(b.p);
}

static void version_three_is_served_with_its_metadata(void **state)
{
	struct build b = make_v3();
	struct bfs_array *a;

	(void)state;
	assert_int_equal(b.len, 280);
	assert_memory_equal(b.p + 0xe7, "\x2d\xb6\xf8\x5c", 4);
	a = open_pack(&b);
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, digits, 50);
	assert_int_equal(a->container->n_metas, 1);
	assert_string_equal(a->container->metas[0].name, "metadata");
	expect_stream(a, BFS_STREAM_META, 0, "{\"k\":\"v\"}", 9);
	bfs_array_close(a);
	free(b.p);
}

static void last_chunk_may_be_empty(void **state)
{
	static const uint8_t none[] = {
		2, 1, 0x13, 4, 0, 0, 0, 0, 1, 0, 0, 0, 16, 0, 0, 0,
		0xfe, 0x91, 0x39, 0x94,
	};
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	put_head(&b, 2, 0, BFS_DIGEST_CRC32, 13, 0, 6);
	for (unsigned n = 0; n < 5; n++)
		put_chunk(&b, digits + 13 * n, 13, 4, BFS_DIGEST_CRC32);
	build_bytes(&b, none, sizeof(none));
	a = open_pack(&b);
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, digits, 65);
	expect_stream(a, BFS_STREAM_CHUNK, 5, "", 0);
	assert_int_equal(a->container->n_chunks, 6);
	bfs_array_close(a);
	free(b.p);
}

static void empty_input_is_one_empty_chunk(void **state)
{
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	put_head(&b, 3, 0, BFS_DIGEST_NONE, 0, 0, 1);
	build_bytes(&b, "\2\1\x13\x8\0\0\0\0\1\0\0\0\x10\0\0\0", 16);
	a = open_pack(&b);
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, "", 0);
	bfs_array_close(a);
	free(b.p);
}

/* The chunks are served, and no bytes that they would make together. */
static void expect_chunks_alone(struct build *b, const char *word)
{
	struct bfs_array *a = open_pack(b);

	expect_blamed(a, BFS_DAMAGED, word);
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
	expect_stream(a, BFS_STREAM_CHUNK, 1, digits + 25, 25);
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT, word);
	bfs_array_close(a);
}

static void sizes_that_contradict_the_header_are_damage(void **state)
{
	static const struct { unsigned at; uint32_t v; } bad[] = {
		{ 8, 1 }, { 8, 24 }, { 8, INT32_MAX }, { 12, 0 }, { 12, 14 },
		{ 12, INT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_v2();

		patch_le(&b, bad[i].at, bad[i].v, 4);
		expect_chunks_alone(&b, "the file says");
		free(b.p);
	}
}

static void chunk_of_no_bytes_among_others_is_damage(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	/* Whatever the file's header knows. */
	patch_le(&b, 8, UINT64_MAX, 8);
	patch_le(&b, 0x65 + 4, 0, 4);
	a = open_pack(&b);
	expect_blamed(a, BFS_DAMAGED, "chunk of 0 bytes");
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
	expect_stream(a, BFS_STREAM_CHUNK, 2, digits + 50, 15);
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
		       "chunk of 0 bytes");
	bfs_array_close(a);
	free(b.p);
}

static void fewer_chunks_than_lie_there_are_damage(void **state)
{
	struct build b = make_v1();

	(void)state;
	patch_le(&b, 8, 2, 8);
	expect_chunks_alone(&b, "follow the last of 2 chunks");
	free(b.p);
	b = make_v2();
	patch_le(&b, 8, UINT64_MAX, 8);
	patch_le(&b, 16, 2, 8);
	expect_chunks_alone(&b, "unnamed");
	free(b.p);
}

static void all_nine_checksums_are_verified(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < BFS_N_DIGESTS; kind++) {
		size_t len = bfs_digest_len((enum bfs_digest_kind)kind);
		struct build b = { 0 };
		struct bfs_array *a;
		size_t at[3];

		put_head(&b, 3, 0, kind, 25, 15, 3);
		put_digit_chunks(&b, kind, at);
		a = open_pack(&b);
		expect_good(a);
		expect_digits(a);
		bfs_array_close(a);
		/* One bit of chunk 1's content. */
		b.p[at[1] + 20] ^= 4;
		a = open_pack(&b);
		expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
		expect_stream(a, BFS_STREAM_CHUNK, 2, digits + 50, 15);
		if (kind) {
			expect_failure(a, BFS_STREAM_CHUNK, 1,
				       BFS_ERR_CORRUPT, bfs_digest_name(
					(enum bfs_digest_kind)kind));
		}
		bfs_array_close(a);
		/* And one of its checksum. */
		b.p[at[1] + 20] ^= 4;
		if (kind) {
			b.p[at[1] + 41 + len - 1] ^= 1;
			a = open_pack(&b);
			expect_failure(a, BFS_STREAM_CHUNK, 1,
				       BFS_ERR_CORRUPT, "stored");
			bfs_array_close(a);
		}
		free(b.p);
	}
}

static void checksum_beyond_the_end_is_damage(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	b.len--;
	a = open_pack(&b);
	expect_blamed(a, BFS_DAMAGED, "");
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
	expect_stream(a, BFS_STREAM_CHUNK, 1, digits + 25, 25);
	expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_TRUNCATED, "cbytes");
	bfs_array_close(a);
	free(b.p);
}

/* ---- values that are not known --------------------------------------- */

static void unknown_sizes_are_found_in_the_chunks(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 8, UINT32_MAX, 4);
	patch_le(&b, 12, UINT32_MAX, 4);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	free(b.p);
}

static void unknown_number_without_offsets_is_found_by_walking(void **state)
{
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	put_head(&b, 3, 0, BFS_DIGEST_MD5, 25, -1, -1);
	put_digit_chunks(&b, BFS_DIGEST_MD5, NULL);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	/* The walk ends where there is no chunk; those found are served. */
	build_bytes(&b, "this is no chunk, and nothing like it", 37);
	expect_chunks_alone(&b, "");
	free(b.p);
}

static void unknown_number_with_offsets_is_found_from_the_first(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 16, UINT64_MAX, 8);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	free(b.p);
}

static void unknown_number_with_unset_offsets_skips_them(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 16, UINT64_MAX, 8);
	memset(b.p + 32, 0xff, 24);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	/* Words that are neither -1 nor a chunk. */
	patch_le(&b, 40, 12345, 8);
	expect_useless(&b, "x.blp", BFS_DAMAGED, "no chunk follows");
	free(b.p);
}

static void unset_offsets_are_walked_past(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 40, UINT64_MAX, 8);
	a = open_pack(&b);
	expect_good(a);
	expect_digits(a);
	bfs_array_close(a);
	free(b.p);
}

static void mebibytes_of_unset_offsets_are_passed_quickly(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;
	uint64_t reads;

	(void)state;
	patch_le(&b, 16, UINT64_MAX, 8);
	b.len = 32;
	while (b.len < 4 << 20)
		build_bytes(&b, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	put_digit_chunks(&b, BFS_DIGEST_ADLER32, NULL);
	a = open_pack(&b);
	expect_good(a);
	reads = a->container->source->n_reads;
	assert_true(reads < 1000);
	expect_digits(a);
	bfs_array_close(a);
	free(b.p);
}

/* ---- what a hostile one can claim ------------------------------------ */

static void file_cut_anywhere_opens_and_says_so(void **state)
{
	struct build whole[] = { make_v1(), make_v2(), make_v3() };

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (size_t len = 4; len < whole[i].len; len++) {
			struct build cut = { whole[i].p, len, 0 };
			struct bfs_array *a = open_pack(&cut);

			expect_blamed(a, BFS_DAMAGED, "");
			read_all_streams(a, 200);
			bfs_array_close(a);
		}
		free(whole[i].p);
	}
}

static void unknown_versions_and_options_are_unsupported(void **state)
{
	struct build b = make_v2();

	(void)state;
	patch_le(&b, 4, 4, 1);
	expect_useless(&b, "x.blp", BFS_UNSUPPORTED, "version 4");
	patch_le(&b, 4, 2, 1);
	patch_le(&b, 5, 3, 1);
	expect_useless(&b, "x.blp", BFS_UNSUPPORTED, "options 03");
	patch_le(&b, 4, 3, 1);
	patch_le(&b, 5, 0x81, 1);
	expect_useless(&b, "x.blp", BFS_UNSUPPORTED, "options 81");
	free(b.p);
}

static void unknown_checksum_is_damage(void **state)
{
	static const unsigned kinds[] = { 9, 10, 255 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = make_v2();

		patch_le(&b, 6, kinds[i], 1);
		expect_useless(&b, "x.blp", BFS_DAMAGED, "checksum");
		free(b.p);
	}
}

static void negative_sizes_are_damage(void **state)
{
	static const size_t places[] = { 8, 12 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct build b = make_v2();

		patch_le(&b, places[i], UINT32_MAX - 1, 4);
		expect_useless(&b, "x.blp", BFS_DAMAGED, "chunk size");
		free(b.p);
	}
}

static void more_offsets_than_the_file_has_are_damage(void **state)
{
	static const struct { uint64_t n, app; const char *word; } bad[] = {
		{ INT64_MAX, 0, "offsets do not fit" },
		{ INT64_MAX, 1, "room for" },
		{ INT64_MAX, INT64_MAX, "room for" },
		{ 3, INT64_MAX, "room for" },
		{ 3, INT64_MAX - 3, "offsets do not fit" },
		{ UINT64_C(1) << 61, 0, "offsets do not fit" },
		{ (UINT64_C(1) << 61) + 3, 0, "offsets do not fit" },
		{ 1000, 0, "offsets do not fit" },
		{ UINT64_MAX - 1, 0, "chunks" },
		{ 3, UINT64_MAX, "room for" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_v2();

		patch_le(&b, 4, 3, 1);
		patch_le(&b, 16, bad[i].n, 8);
		patch_le(&b, 24, bad[i].app, 8);
		expect_useless(&b, "x.blp", BFS_DAMAGED, bad[i].word);
		free(b.p);
	}
}

static void more_chunks_than_the_file_has_are_damage(void **state)
{
	static const uint64_t counts[] = { 4, 1000000, INT64_MAX };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = make_v1();
		struct bfs_array *a;

		patch_le(&b, 8, counts[i], 8);
		a = open_pack(&b);
		expect_blamed(a, BFS_DAMAGED, "no room for a chunk");
		assert_int_equal(a->container->n_chunks, 3);
		expect_stream(a, BFS_STREAM_CHUNK, 2, digits + 50, 15);
		expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_TRUNCATED,
			       "no room for a chunk");
		bfs_array_close(a);
		free(b.p);
	}
}

static void offset_outside_the_file_fails_alone(void **state)
{
	struct build b = make_v2();
	const uint64_t bad[] = { 0, 31, b.len, b.len - 1, b.len - 19,
				 INT64_MAX, UINT64_MAX - 1,
				 UINT64_C(1) << 63 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / 8; i++) {
		struct build c = build_copy(&b);
		struct bfs_array *a;

		patch_le(&c, 40, bad[i], 8);
		a = open_pack(&c);
		expect_blamed(a, BFS_DAMAGED, "would begin");
		expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
		expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT,
			       "would begin");
		expect_stream(a, BFS_STREAM_CHUNK, 2, digits + 50, 15);
		expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
			       "would begin");
		read_all_streams(a, 200);
		bfs_array_close(a);
		free(c.p);
	}
	free(b.p);
}

static void offset_at_no_chunk_fails_alone(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 40, 0x38 + 3, 8);
	a = open_pack(&b);
	expect_blamed(a, BFS_DAMAGED, "");
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
	expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT, "");
	expect_stream(a, BFS_STREAM_CHUNK, 2, digits + 50, 15);
	bfs_array_close(a);
	free(b.p);
}

static void offsets_may_go_backwards(void **state)
{
	struct build b = make_v2();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 8, UINT64_MAX, 8);
	patch_le(&b, 32, 0x92, 8);
	patch_le(&b, 48, 0x38, 8);
	a = open_pack(&b);
	expect_good(a);
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits + 50, 15);
	expect_stream(a, BFS_STREAM_CHUNK, 1, digits + 25, 25);
	expect_stream(a, BFS_STREAM_CHUNK, 2, digits, 25);
	assert_int_equal(a->container->nbytes, 65);
	bfs_array_close(a);
	free(b.p);
}

static void offsets_that_name_a_chunk_twice_are_damage(void **state)
{
	struct build b = make_v2();

	(void)state;
	patch_le(&b, 8, UINT64_MAX, 8);
	patch_le(&b, 48, 0x65, 8);
	expect_chunks_alone(&b, "share bytes");
	free(b.p);
}

static void offset_set_in_the_room_for_more_is_damage(void **state)
{
	struct build b = make_v3();

	(void)state;
	patch_le(&b, 0x9e + 16, 0xbe, 8);
	expect_chunks_alone(&b, "behind those of 2 chunks");
	free(b.p);
}

static void chunk_shorter_than_a_header_ends_the_walk(void **state)
{
	static const uint32_t lens[] = { 0, 1, 15, UINT32_MAX };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct build b = make_v1();
		struct bfs_array *a;

		patch_le(&b, 16 + 41 + 12, lens[i], 4);
		a = open_pack(&b);
		expect_blamed(a, BFS_DAMAGED, "cbytes");
		assert_int_equal(a->container->n_chunks, 1);
		expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
		bfs_array_close(a);
		free(b.p);
	}
}

static void chunk_of_a_later_version_ends_the_walk(void **state)
{
	struct build b = make_v1();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, 16 + 41, 6, 1);
	a = open_pack(&b);
	expect_blamed(a, BFS_DAMAGED, "version 6");
	assert_int_equal(a->container->n_chunks, 1);
	bfs_array_close(a);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(version_one_is_served),
		T(form_of_eight_bytes_is_served),
		T(version_two_is_served_with_its_checksums),
		T(version_three_is_served_with_its_metadata),
		T(last_chunk_may_be_empty),
		T(empty_input_is_one_empty_chunk),
		T(sizes_that_contradict_the_header_are_damage),
		T(chunk_of_no_bytes_among_others_is_damage),
		T(fewer_chunks_than_lie_there_are_damage),
		T(all_nine_checksums_are_verified),
		T(checksum_beyond_the_end_is_damage),
		T(unknown_sizes_are_found_in_the_chunks),
		T(unknown_number_without_offsets_is_found_by_walking),
		T(unknown_number_with_offsets_is_found_from_the_first),
		T(unknown_number_with_unset_offsets_skips_them),
		T(unset_offsets_are_walked_past),
		T(mebibytes_of_unset_offsets_are_passed_quickly),
		T(file_cut_anywhere_opens_and_says_so),
		T(unknown_versions_and_options_are_unsupported),
		T(unknown_checksum_is_damage),
		T(negative_sizes_are_damage),
		T(more_offsets_than_the_file_has_are_damage),
		T(more_chunks_than_the_file_has_are_damage),
		T(offset_outside_the_file_fails_alone),
		T(offset_at_no_chunk_fails_alone),
		T(offsets_may_go_backwards),
		T(offsets_that_name_a_chunk_twice_are_damage),
		T(offset_set_in_the_room_for_more_is_damage),
		T(chunk_shorter_than_a_header_ends_the_walk),
		T(chunk_of_a_later_version_ends_the_walk),
	};

	return cmocka_run_group_tests_name("container_bloscpack", tests,
					   hostile_setup, hostile_teardown);
}
