/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_packmeta.c - the metadata section of Bloscpack 3: what it
 * says of NumPy arrays, and what a hostile one can claim. Whatever it is,
 * chunks and their bytes are served.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile_pack.h"
#include "support/frames.h"

#include <stdio.h>
#include <zlib.h>

/* The section: numbers of its header, and what is stored. */
struct meta {
	const void *p;
	size_t len;		/* stored */
	unsigned digest, codec;
	uint32_t size;		/* 0: len */
	uint32_t max;		/* 0: twice as much room */
};

/* One chunk of 24 bytes behind the section. */
static struct build make_pack(const struct meta *m)
{
	struct build b = { 0 };
	uint32_t max = m->max ? m->max : (uint32_t)(2 * m->len);
	size_t at;

	put_head(&b, 3, 2, BFS_DIGEST_NONE, 24, 24, 1);
	build_bytes(&b, "JSON\0\0\0\0\0", 9);
	build_byte(&b, m->digest);
	build_byte(&b, m->codec);
	build_byte(&b, 6);
	build_le32(&b, m->size ? m->size : (uint32_t)m->len);
	build_le32(&b, max);
	build_le32(&b, (uint32_t)m->len);
	build_le64(&b, 0);
	at = b.len;
	build_bytes(&b, m->p, m->len);
	if (m->digest < BFS_N_DIGESTS) {
		struct build sum = { 0 };

		build_bytes(&sum, b.p + at, m->len);
		put_digest(&sum, 0, m->digest);
		while (b.len - at < max)
			build_byte(&b, 0);
		if (sum.len > m->len)
			build_bytes(&b, sum.p + m->len,
				    sum.len - m->len);
		free(sum.p);
	}
	put_chunk(&b, digits, 24, 4, BFS_DIGEST_NONE);
	return b;
}

static void expect_bytes(struct bfs_array *a)
{
	expect_stream(a, BFS_STREAM_DATA, 0, digits, 24);
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 24);
}

static size_t deflate_to(uint8_t *dst, size_t room, const void *p, size_t len)
{
	uLongf n = room;

	assert_int_equal(compress2(dst, &n, p, len, 9), Z_OK);
	return n;
}

/* ---- what is right --------------------------------------------------- */

static void metadata_are_served_under_all_checksums_and_codecs(void **state)
{
	static const char json[] = "{\"dtype\": \"'<i4'\", \"shape\": [2, 3],"
				   "\"order\": \"C\", \"container\": "
				   "\"numpy\", \"more\": [1, 2.5, null]}";
	uint8_t zip[256];
	size_t zip_len = deflate_to(zip, sizeof(zip), json, sizeof(json) - 1);

	(void)state;
	for (unsigned k = 0; k < BFS_N_DIGESTS; k++) {
		for (unsigned codec = 0; codec < 2; codec++) {
			struct meta m = { .p = codec ? (void *)zip :
						       (void *)json,
					  .len = codec ? zip_len :
							 sizeof(json) - 1,
					  .size = sizeof(json) - 1,
					  .digest = k, .codec = codec };
			struct build b = make_pack(&m);
			struct bfs_array *a = open_pack(&b);

			expect_good(a);
			expect_bytes(a);
			expect_stream(a, BFS_STREAM_META, 0, json,
				      sizeof(json) - 1);
			assert_true(a->container->array.present);
			bfs_array_close(a);
			free(b.p);
		}
	}
}

static struct build make_json(const char *json)
{
	struct meta m = { .p = json, .len = strlen(json),
			  .digest = BFS_DIGEST_ADLER32 };

	return make_pack(&m);
}

/* data.npy has this text in its header and the bytes behind it. */
static void expect_npy(const char *json, const char *want)
{
	struct build b = make_json(json);
	struct bfs_file *file = hostile_file(&b, "x.blp");
	uint8_t *npy;
	size_t n;

	npy = frames_read(file, "data.npy", &n);
	if (!strstr((char *)npy + 10, want))
		fail_msg("%s gives %s", json, npy + 10);
	assert_int_equal(n, 128 + 24);
	assert_memory_equal(npy + 128, digits, 24);
	free(npy);
	bfs_file_free(file);
	free(b.p);
}

static void arrays_of_numpy_are_offered_as_npy(void **state)
{
	(void)state;
	expect_npy("{\"dtype\":\"'<i4'\",\"shape\":[2,3],\"order\":\"C\","
		   "\"container\":\"numpy\"}",
		   "{'descr': '<i4', 'fortran_order': False, "
		   "'shape': (2, 3), }");
	expect_npy("{\"dtype\":\"'<i4'\",\"shape\":[2,3],\"order\":\"F\","
		   "\"container\":\"numpy\"}",
		   "{'descr': '<i4', 'fortran_order': True, "
		   "'shape': (2, 3), }");
	expect_npy("{\"dtype\":\"'>i2'\",\"shape\":[12],\"order\":\"C\","
		   "\"container\":\"numpy\"}",
		   "{'descr': '>i2', 'fortran_order': False, "
		   "'shape': (12,), }");
	/* Before 0.7.2 the type was the JSON itself. */
	expect_npy("{\"dtype\":\"<f8\",\"shape\":[3],\"order\":\"C\","
		   "\"container\":\"numpy\"}", "'descr': '<f8'");
}

static void arrays_of_records_are_offered_as_npy(void **state)
{
	(void)state;
	expect_npy("{\"dtype\":\"[('a', '<i4'), ('b', '<f8')]\",\"shape\":[2],"
		   "\"order\":\"C\",\"container\":\"numpy\"}",
		   "'descr': [('a', '<i4'), ('b', '<f8')]");
	expect_npy("{\"dtype\":[[\"a\",\"<i4\"],[\"b\",\"<f8\"]],"
		   "\"shape\":[2],\"order\":\"C\",\"container\":\"numpy\"}",
		   "'descr': [('a', '<i4'), ('b', '<f8')]");
}

/* ---- what is no array ------------------------------------------------ */

static void expect_no_npy(const char *json)
{
	struct build b = make_json(json);
	struct bfs_file *file = hostile_file(&b, "x.blp");
	struct bfs_node node;

	expect_good(file->array);
	expect_bytes(file->array);
	if (frames_find(file, "data.npy", &node))
		fail_msg("an array by %.80s", json);
	frames_expect(file, "meta/metadata", json, strlen(json));
	bfs_file_free(file);
	free(b.p);
}

#define NUMPY(dtype, shape) \
	"{\"dtype\":" dtype ",\"shape\":" shape \
	",\"order\":\"C\",\"container\":\"numpy\"}"

static void shape_that_does_not_fill_the_data_is_no_array(void **state)
{
	(void)state;
	expect_no_npy(NUMPY("\"'<i4'\"", "[7]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[5]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[0]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[-2,-3]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[9223372036854775807]"));
}

static void shape_whose_product_overflows_is_no_array(void **state)
{
	(void)state;
	expect_no_npy(NUMPY("\"'<i4'\"", "[4294967296,4294967296,6]"));
	/* 2^62 + 6 items of 4 bytes would be 24 again. */
	expect_no_npy(NUMPY("\"'<i4'\"", "[4611686018427387910]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[99999999999999999999999]"));
	expect_no_npy(NUMPY("\"'<i4'\"",
			    "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,6]"));
}

static void metadata_of_other_types_are_no_array(void **state)
{
	(void)state;
	expect_no_npy("[]");
	expect_no_npy("{}");
	expect_no_npy("null");
	expect_no_npy("no JSON");
	expect_no_npy("{\"dtype\"");
	expect_no_npy(NUMPY("1", "[6]"));
	expect_no_npy(NUMPY("null", "[6]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "6"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[\"6\"]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "[6.0]"));
	expect_no_npy(NUMPY("\"'<i4'\"", "{\"0\":6}"));
	expect_no_npy("{\"dtype\":\"'<i4'\",\"shape\":[6],\"order\":\"A\","
		      "\"container\":\"numpy\"}");
	expect_no_npy("{\"dtype\":\"'<i4'\",\"shape\":[6],\"order\":\"C\","
		      "\"container\":\"other\"}");
}

static void dtype_of_objects_or_nonsense_is_no_array(void **state)
{
	(void)state;
	expect_no_npy(NUMPY("\"'|O'\"", "[6]"));
	expect_no_npy(NUMPY("\"'|O4'\"", "[6]"));
	expect_no_npy(NUMPY("\"'|O8'\"", "[3]"));
	expect_no_npy(NUMPY("\"'|V0'\"", "[6]"));
	expect_no_npy(NUMPY("\"'<U4611686018427387905'\"", "[6]"));
	expect_no_npy(NUMPY("\"what('<i4')\"", "[6]"));
	expect_no_npy(NUMPY("\"\"", "[6]"));
}

static void json_nested_without_end_is_no_array(void **state)
{
	struct build b = { 0 };

	(void)state;
	for (int i = 0; i < 50000; i++)
		build_byte(&b, '[');
	build_byte(&b, 0);
	expect_no_npy((char *)b.p);
	free(b.p);
}

/* A parser's memory for so many values would be gibibytes. */
static void json_of_mebibytes_is_bytes_alone(void **state)
{
	static const char tail[] = "0],\"dtype\":\"'<i4'\",\"shape\":[6],"
				   "\"order\":\"C\",\"container\":\"numpy\"}";
	size_t len = 6 << 20;
	struct build json = { 0 }, b;
	uint8_t *zip = malloc(len);
	struct meta m = { .p = zip, .digest = BFS_DIGEST_CRC32, .codec = 1 };
	struct bfs_array *a;

	(void)state;
	assert_non_null(zip);
	build_bytes(&json, "{\"x\":[", 6);
	while (json.len < len)
		build_bytes(&json, "[],", 3);
	build_bytes(&json, tail, sizeof(tail) - 1);
	m.len = deflate_to(zip, len, json.p, json.len);
	m.size = (uint32_t)json.len;
	assert_true(m.len < 65536);
	b = make_pack(&m);
	a = open_pack(&b);
	expect_good(a);
	expect_bytes(a);
	assert_false(a->container->array.present);
	expect_stream(a, BFS_STREAM_META, 0, json.p, json.len);
	bfs_array_close(a);
	free(json.p);
	free(zip);
	free(b.p);
}

/* ---- what a hostile section can claim -------------------------------- */

/* The section is damaged, but its end is known. */
static void expect_section_alone(const struct build *b,
				 enum bfs_status status, const char *word)
{
	struct bfs_array *a = open_pack(b);

	expect_blamed(a, status, word);
	expect_bytes(a);
	assert_int_equal(a->container->n_metas, 0);
	bfs_array_close(a);
}

#define AT_DIGEST (32 + 9)
#define AT_CODEC (32 + 10)
#define AT_SIZE (32 + 12)
#define AT_MAX (32 + 16)
#define AT_STORED (32 + 20)

static void metadata_that_do_not_match_their_checksum_are_refused(
	void **state)
{
	struct build b = make_json("{\"k\":\"v\"}");

	(void)state;
	b.p[64] ^= 1;
	expect_section_alone(&b, BFS_DAMAGED, "adler32");
	free(b.p);
}

static void section_that_ends_beyond_the_file_is_useless(void **state)
{
	static const uint32_t lens[] = { 1000, INT32_MAX, UINT32_MAX };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = make_json("{\"k\":\"v\"}");

		patch_le(&b, AT_MAX, lens[i], 4);
		expect_useless(&b, "x.blp", BFS_DAMAGED, "beyond the file");
		free(b.p);
	}
}

static void section_with_more_stored_than_room_is_useless(void **state)
{
	static const uint32_t lens[] = { 19, 1000, UINT32_MAX };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = make_json("{\"k\":\"v\"}");

		patch_le(&b, AT_STORED, lens[i], 4);
		expect_useless(&b, "x.blp", BFS_DAMAGED, "in room for");
		free(b.p);
	}
}

static void section_with_an_unknown_checksum_is_useless(void **state)
{
	struct build b = make_json("{\"k\":\"v\"}");

	(void)state;
	patch_le(&b, AT_DIGEST, 9, 1);
	expect_useless(&b, "x.blp", BFS_DAMAGED, "checksum 9");
	free(b.p);
}

static void section_in_an_unknown_codec_is_unsupported(void **state)
{
	struct build b = make_json("{\"k\":\"v\"}");

	(void)state;
	patch_le(&b, AT_CODEC, 2, 1);
	expect_section_alone(&b, BFS_UNSUPPORTED, "codec 2");
	free(b.p);
}

static void plain_metadata_of_two_lengths_are_refused(void **state)
{
	static const uint32_t lens[] = { 0, 8, 10, 1000 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct build b = make_json("{\"k\":\"v\"}");

		patch_le(&b, AT_SIZE, lens[i], 4);
		expect_section_alone(&b, BFS_DAMAGED, "is stored in");
		free(b.p);
	}
}

static void metadata_that_decompress_to_another_length_are_refused(
	void **state)
{
	static const uint32_t lens[] = { 1, 999, 1001, 1 << 20 };
	uint8_t raw[1000], zip[100];
	struct meta m = { .p = zip, .codec = 1 };

	(void)state;
	memset(raw, ' ', sizeof(raw));
	m.len = deflate_to(zip, sizeof(zip), raw, sizeof(raw));
	for (int i = 0; i < 4; i++) {
		struct build b;

		m.size = lens[i];
		b = make_pack(&m);
		expect_section_alone(&b, BFS_DAMAGED, "does not decompress");
		free(b.p);
	}
}

static void metadata_of_gibibytes_are_over_a_limit(void **state)
{
	static const uint32_t lens[] = { (16 << 20) + 1, INT32_MAX,
					 UINT32_MAX };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = make_json("{\"k\":\"v\"}");

		patch_le(&b, AT_CODEC, 1, 1);
		patch_le(&b, AT_SIZE, lens[i], 4);
		expect_section_alone(&b, BFS_DAMAGED, "bytes of metadata");
		free(b.p);
	}
}

static void metadata_of_nothing_are_nothing(void **state)
{
	struct meta m = { .p = "", .max = 10 };
	struct build b = make_pack(&m);
	struct bfs_array *a = open_pack(&b);

	(void)state;
	expect_good(a);
	expect_bytes(a);
	expect_stream(a, BFS_STREAM_META, 0, "", 0);
	bfs_array_close(a);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(metadata_are_served_under_all_checksums_and_codecs),
		T(arrays_of_numpy_are_offered_as_npy),
		T(arrays_of_records_are_offered_as_npy),
		T(shape_that_does_not_fill_the_data_is_no_array),
		T(shape_whose_product_overflows_is_no_array),
		T(metadata_of_other_types_are_no_array),
		T(dtype_of_objects_or_nonsense_is_no_array),
		T(json_nested_without_end_is_no_array),
		T(json_of_mebibytes_is_bytes_alone),
		T(metadata_that_do_not_match_their_checksum_are_refused),
		T(section_that_ends_beyond_the_file_is_useless),
		T(section_with_more_stored_than_room_is_useless),
		T(section_with_an_unknown_checksum_is_useless),
		T(section_in_an_unknown_codec_is_unsupported),
		T(plain_metadata_of_two_lengths_are_refused),
		T(metadata_that_decompress_to_another_length_are_refused),
		T(metadata_of_gibibytes_are_over_a_limit),
		T(metadata_of_nothing_are_nothing),
	};

	return cmocka_run_group_tests_name("container_packmeta", tests,
					   hostile_setup, hostile_teardown);
}
