/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_embed.c - stores inside one frame: keys that name bytes of
 * its decoded data, and maps of keys that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile_store.h"

#include <sys/resource.h>

#define NAME "x.b2e"

/* ---- MessagePack ----------------------------------------------------- */

static void put_str(struct build *b, const char *text, size_t len)
{
	build_byte(b, 0xda);
	build_be16(b, (unsigned)len);
	build_bytes(b, text, len);
}

static void put_key(struct build *b, const char *text)
{
	put_str(b, text, strlen(text));
}

static void put_map(struct build *b, uint32_t n)
{
	build_byte(b, 0xdf);
	build_be32(b, n);
}

static void put_u64(struct build *b, uint64_t v)
{
	build_byte(b, 0xcf);
	build_be64(b, v);
}

static void put_place(struct build *b, const char *key, uint64_t off,
		      uint64_t len)
{
	put_key(b, key);
	put_map(b, 2);
	put_key(b, "offset");
	put_u64(b, off);
	put_key(b, "length");
	put_u64(b, len);
}

/* The beginning of a map of n keys. */
static struct build begin_map(uint32_t n)
{
	struct build b = { 0 };

	put_map(&b, 2);
	put_key(&b, "current_offset");
	put_u64(&b, 0);
	put_key(&b, "embed_map");
	put_map(&b, n);
	return b;
}

/* ---- stores ---------------------------------------------------------- */

/* A frame over `heap` with this map of keys (NULL: none); frees both. */
static struct build make_store(struct build *heap, struct build *map)
{
	static const char version[] = "\x81\xa7version\1";
	const struct frame_layer metas[] = {
		{ "b2embed", 7, version, sizeof(version) - 1 },
	}, vlmetas[] = {
		{ "estore_metadata", 15, map ? map->p : NULL,
		  map ? map->len : 0 },
	};
	struct frame_input in = {
		.metas = metas, .n_metas = 1, .vlmetas = vlmetas,
		.n_vlmetas = map ? 1 : 0, .data = heap->p, .len = heap->len,
		.chunksize = 512, .blocksize = 128, .typesize = 1,
	};
	struct frame_bytes b = frames_build(&in);

	free(heap->p);
	if (map)
		free(map->p);
	return (struct build){ b.p, b.len, b.cap };
}

/* Two frames with a hole between them: where they lie. */
static struct build make_heap(uint64_t offs[2], uint64_t lens[2])
{
	static const uint8_t hole[400];
	struct build heap = { 0 };

	for (int i = 0; i < 2; i++) {
		struct build m = make_member(i ? "second" : "first");

		offs[i] = heap.len;
		lens[i] = m.len;
		build_bytes(&heap, m.p, m.len);
		build_bytes(&heap, hole, sizeof(hole));
		free(m.p);
	}
	return heap;
}

static struct build make_two(void)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(2);

	put_place(&map, "/grp/a", offs[0], lens[0]);
	put_place(&map, "/b", offs[1], lens[1]);
	return make_store(&heap, &map);
}

static void keys_are_entries_of_a_tree(void **state)
{
	struct build b = make_two();
	struct store s = open_store(&b, NAME);

	(void)state;
	expect_good(s.root->array);
	assert_string_equal(s.root->array->container->format, "b2e");
	expect_text(&s, "tree/grp/a", "first");
	expect_text(&s, "tree/b", "second");
	expect_no_entry(&s, "tree/a");
	list_store(&s);
	close_store(&s);
	free(b.p);
}

static void key_that_is_both_leaf_and_prefix_is_two_entries(void **state)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(2), b;
	struct store s;

	(void)state;
	put_place(&map, "/a", offs[0], lens[0]);
	put_place(&map, "/a/b", offs[1], lens[1]);
	b = make_store(&heap, &map);
	s = open_store(&b, NAME);
	expect_text(&s, "tree/a", "first");
	expect_text(&s, "tree/a%~2/b", "second");
	close_store(&s);
	free(b.p);
}

static void keys_that_are_paths_stay_inside(void **state)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(4), b;
	struct store s;

	(void)state;
	put_place(&map, "/../../etc/passwd", offs[0], lens[0]);
	put_place(&map, "//x", offs[0], lens[0]);
	put_place(&map, "no slash", offs[1], lens[1]);
	put_place(&map, "/new\nline", offs[1], lens[1]);
	b = make_store(&heap, &map);
	s = open_store(&b, NAME);
	expect_text(&s, "tree/%2E%2E/%2E%2E/etc/passwd", "first");
	expect_text(&s, "tree/%/x", "first");
	expect_text(&s, "tree/no slash", "second");
	expect_text(&s, "tree/new%0Aline", "second");
	list_store(&s);
	close_store(&s);
	free(b.p);
}

static void remote_keys_are_left_out(void **state)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(3), b;
	struct store s;

	(void)state;
	put_key(&map, "/far");
	put_map(&map, 2);
	put_key(&map, "urlbase");
	put_key(&map, "https://example.org");
	put_key(&map, "path");
	put_key(&map, "x");
	put_place(&map, "/near", offs[1], lens[1]);
	put_key(&map, "/odd");
	build_byte(&map, 0xc0);
	b = make_store(&heap, &map);
	s = open_store(&b, NAME);
	expect_text(&s, "tree/near", "second");
	expect_no_entry(&s, "tree/far");
	expect_no_entry(&s, "tree/odd");
	close_store(&s);
	free(b.p);
}

static void key_outside_the_data_is_refused_alone(void **state)
{
	static const struct { uint64_t off, len; } bad[] = {
		{ 0, 100000 }, { 100000, 1 }, { INT64_MAX, 1 },
		{ UINT64_MAX, 1 }, { 1, UINT64_MAX }, { INT64_MAX, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		uint64_t offs[2], lens[2];
		struct build heap = make_heap(offs, lens);
		struct build map = begin_map(2), b;
		struct store s;

		put_place(&map, "/bad", bad[i].off, bad[i].len);
		put_place(&map, "/good", offs[1], lens[1]);
		b = make_store(&heap, &map);
		s = open_store(&b, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "a key names");
		expect_text(&s, "tree/good", "second");
		expect_refused(&s, "tree/bad", BFS_ERR_CORRUPT, "a key names");
		close_store(&s);
		free(b.p);
	}
}

static void negative_place_is_refused_alone(void **state)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(1), b;
	struct store s;

	(void)state;
	put_place(&map, "/bad", 0, 10);
	/* offset as int64 */
	map.p[map.len - 9 - 9 - 9] = 0xd3;
	memset(map.p + map.len - 9 - 9 - 8, 0xff, 8);
	b = make_store(&heap, &map);
	s = open_store(&b, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "a key names bytes -1");
	expect_refused(&s, "tree/bad", BFS_ERR_CORRUPT, "a key names");
	close_store(&s);
	free(b.p);
}

static void key_of_no_frame_is_a_plain_file(void **state)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(2), b;
	struct store s;
	uint8_t zeros[300] = { 0 };

	(void)state;
	put_place(&map, "/hole", lens[0], 300);
	put_place(&map, "/none", 5, 0);
	b = make_store(&heap, &map);
	s = open_store(&b, NAME);
	expect_good(s.root->array);
	expect_entry(&s, "tree/hole", zeros, 300);
	expect_entry(&s, "tree/none", "", 0);
	close_store(&s);
	free(b.p);
}

static void map_that_is_none_leaves_the_data(void **state)
{
	static const struct { const char *p; size_t len; } maps[] = {
		{ "", 0 }, { "\xc1", 1 }, { "\x80", 1 }, { "\x93\1\2\3", 4 },
		{ "\x81\xa9" "embed_map\1", 12 },
		{ "\x81\xa9" "embed_map\x90", 12 },
		{ "\xdf\xff\xff\xff\xff", 5 }, { "\xdb\xff\xff\xff\xff", 5 },
		{ "not MessagePack at all", 22 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		uint64_t offs[2], lens[2];
		struct build heap = make_heap(offs, lens), map = { 0 }, b;
		struct store s;
		uint8_t *want = malloc(heap.len);
		size_t len = heap.len;

		assert_non_null(want);
		memcpy(want, heap.p, len);
		build_bytes(&map, maps[i].p, maps[i].len);
		b = make_store(&heap, &map);
		s = open_store(&b, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "map of keys");
		expect_entry(&s, "data.bin", want, len);
		list_store(&s);
		close_store(&s);
		free(want);
		free(b.p);
	}
}

static void map_that_breaks_off_leaves_the_data(void **state)
{
	uint64_t offs[2], lens[2];
	struct build map = begin_map(2), heap = make_heap(offs, lens);
	size_t whole;

	(void)state;
	put_place(&map, "/a", offs[0], lens[0]);
	put_place(&map, "/b", offs[1], lens[1]);
	free(heap.p);
	whole = map.len;
	for (size_t len = 0; len < whole; len++) {
		struct build cut = { 0 }, b;
		struct store s;

		heap = make_heap(offs, lens);
		build_bytes(&cut, map.p, len);
		b = make_store(&heap, &cut);
		s = open_store(&b, NAME);
		expect_blamed(s.root->array, BFS_DAMAGED, "map of keys");
		expect_no_entry(&s, "tree/a");
		close_store(&s);
		free(b.p);
	}
	free(map.p);
}

static void store_without_map_is_empty(void **state)
{
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens);
	struct build b = make_store(&heap, NULL);
	struct store s = open_store(&b, NAME);
	struct bfs_place place;

	(void)state;
	expect_good(s.root->array);
	assert_true(find_place(&s, "tree", &place));
	list_store(&s);
	close_store(&s);
	free(b.p);
}

static void map_that_cannot_be_decoded_leaves_the_data(void **state)
{
	struct build b = make_two();
	size_t trailer = b.len - bfs_be32(b.p + b.len - 22);
	size_t chunk = trailer + bfs_be32(b.p + trailer + 26) + 5;
	struct store s;

	(void)state;
	/* Zeros, two gibibytes of them. */
	patch_le(&b, chunk + 2, 5, 1);
	patch_le(&b, chunk + 4, 2147483615, 4);
	patch_le(&b, chunk + 12, 32, 4);
	patch_le(&b, chunk + 31, 0x10, 1);
	s = open_store(&b, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "2147483615 bytes");
	close_store(&s);
	patch_le(&b, chunk, 0, 1);
	s = open_store(&b, NAME);
	expect_blamed(s.root->array, BFS_DAMAGED, "version 0");
	close_store(&s);
	free(b.p);
}

static void heap_that_is_damaged_fails_where_it_is_touched(void **state)
{
	struct build b = make_two();
	size_t head = bfs_be32(b.p + 0x0b);
	struct bfs_place place;
	struct bfs_file *file;
	struct bfs_diag diag = { 0 };
	struct store s;

	(void)state;
	/* Chunk 0 of the heap, in which the first frame begins. */
	patch_le(&b, head + 12, 100000, 4);
	s = open_store(&b, NAME);
	assert_true(find_place(&s, "tree/grp/a", &place));
	if (bfs_nesting_take(s.tree, place.child, &file, &diag) == BFS_OK) {
		uint8_t byte;
		size_t n;

		assert_int_not_equal(bfs_file_read(file, &place.node, 0, &byte,
						   1, &n, &diag), BFS_OK);
		bfs_nesting_give(s.tree, place.child);
	}
	assert_true(diag.text[0] != '\0');
	expect_text(&s, "tree/b", "second");
	close_store(&s);
	free(b.p);
}

static void stores_in_stores_end_at_a_depth(void **state)
{
	struct build inner = make_member("text");
	struct bfs_place place = { 0, { .view = BFS_VIEW_ROOT } }, next;
	struct store s;
	unsigned depth;

	(void)state;
	for (int i = 0; i < BFS_NESTING_DEPTH + 4; i++) {
		struct build map = begin_map(1);

		put_place(&map, "/in", 0, inner.len);
		inner = make_store(&inner, &map);
	}
	s = open_store(&inner, NAME);
	for (depth = 0; depth < 100; depth++) {
		if (!bfs_nesting_lookup(s.tree, &place, "tree", 4, &next) ||
		    !bfs_nesting_lookup(s.tree, &next, "in", 2, &next))
			break;
		place = next;
	}
	assert_int_equal(depth, BFS_NESTING_DEPTH + 1);
	close_store(&s);
	free(inner.p);
}

static void many_keys_of_one_place_are_served(void **state)
{
	uint32_t n = 20000;
	uint64_t offs[2], lens[2];
	struct build heap = make_heap(offs, lens), map = begin_map(n), b;
	struct store s;
	char key[32];

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "/k%u", i);
		put_place(&map, key, offs[i % 2], lens[i % 2]);
	}
	b = make_store(&heap, &map);
	s = open_store(&b, NAME);
	expect_good(s.root->array);
	expect_text(&s, "tree/k0", "first");
	expect_text(&s, "tree/k19999", "second");
	close_store(&s);
	free(b.p);
}

static long most_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Each empty map is a byte here and a table of hundreds in a JSON tree; the
 * chunk that holds a million of them has a hundred bytes. */
static void map_of_a_million_empty_maps_takes_no_memory(void **state)
{
	static const char *const names[] = { "estore_metadata",
					     "__pack_tensor__" };
	uint32_t n = 999000;

	(void)state;
	for (int i = 0; i < 2; i++) {
		static const char version[] = "\x81\xa7version\1";
		struct frame_layer metas[] = {
			{ "b2embed", 7, version, sizeof(version) - 1 },
		}, vlmetas[1];
		struct build map = { 0 };
		struct frame_input in = {
			.metas = metas, .n_metas = i == 0,
			.vlmetas = vlmetas, .n_vlmetas = 1,
			.data = (const uint8_t *)"text", .len = 4,
			.chunksize = 4, .blocksize = 4, .typesize = 1,
		};
		struct frame_bytes b;
		struct build frame;
		struct store s;
		long before;

		build_byte(&map, 0xdd);
		build_be32(&map, n);
		for (uint32_t k = 0; k < n; k++)
			build_byte(&map, 0x80);
		vlmetas[0] = (struct frame_layer){ names[i], 15, map.p,
						   map.len };
		b = frames_build(&in);
		frame = (struct build){ b.p, b.len, b.cap };
		before = most_memory();
		s = open_store(&frame, NAME);
		expect_entry(&s, "data.bin", "text", 4);
		/* KiB; the sanitizers add to what is really taken. */
		assert_true(most_memory() - before < 400 << 10);
		close_store(&s);
		free(map.p);
		free(frame.p);
	}
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(keys_are_entries_of_a_tree),
		T(key_that_is_both_leaf_and_prefix_is_two_entries),
		T(keys_that_are_paths_stay_inside),
		T(remote_keys_are_left_out),
		T(key_outside_the_data_is_refused_alone),
		T(negative_place_is_refused_alone),
		T(key_of_no_frame_is_a_plain_file),
		T(map_that_is_none_leaves_the_data),
		T(map_that_breaks_off_leaves_the_data),
		T(store_without_map_is_empty),
		T(map_that_cannot_be_decoded_leaves_the_data),
		T(heap_that_is_damaged_fails_where_it_is_touched),
		T(stores_in_stores_end_at_a_depth),
		T(many_keys_of_one_place_are_served),
		T(map_of_a_million_empty_maps_takes_no_memory),
	};

	return cmocka_run_group_tests_name("container_embed", tests,
					   hostile_setup, hostile_teardown);
}
