/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_zarr_listed.c - which keys of a Zarr store are listed: all but
 * those of chunks that read as zeros without being stored, which are found by
 * name.
 */
#include "zarr_stores.h"

/* A cube of chunks of one item, as these say: a hole or NaN. */
static struct bfs_file *open_cube(struct build *b, const int64_t shape[3],
				  const uint8_t *is_hole)
{
	struct build_frame f = { .chunksize = 4, .typesize = 4, .ndim = 3,
		.shape = { shape[0], shape[1], shape[2] },
		.chunkshape = { 1, 1, 1 }, .blockshape = { 1, 1, 1 },
		.dtype = "<f4" };
	int64_t n = shape[0] * shape[1] * shape[2];

	for (int64_t i = 0; i < n; i++)
		build_frame_special(&f, !is_hole[i] ? NAN_CHUNK :
				    i % 2 ? ZEROS : UNINIT, 4);
	return open_frame(&f, b);
}

/* The names that a folder lists are those wanted, each with a space behind,
 * and lead back to themselves. */
static void expect_names(struct bfs_file *file, const char *path,
			 const char *want)
{
	char name[BFS_NAME_MAX + 1], got[4096] = "";
	struct bfs_node dir, node, found;

	assert_true(frames_find(file, path, &dir));
	for (uint64_t n = 0; bfs_file_list(file, &dir, n, name, &node); n++) {
		assert_true(bfs_file_lookup(file, &dir, name, strlen(name),
					    &found));
		expect_same(&node, &found);
		if (name[0] == '.' || !strcmp(name, "zarr.json"))
			continue;
		assert_true(strlen(got) + strlen(name) + 2 < sizeof(got));
		strcat(strcat(got, name), " ");
	}
	assert_string_equal(got, want);
}

static void keys_of_holes_are_found_and_not_listed(void **state)
{
	static const uint64_t entries[] = { ZEROS, NAN_CHUNK, UNINIT, 0 };
	struct build b;
	struct bfs_file *file = open_grid(&b, entries);

	(void)state;
	expect_names(file, "zarr", "c 0.1 1.1 ");
	expect_names(file, "zarr/c/0", "1 ");
	expect_names(file, "zarr/c/1", "1 ");
	expect_names(file, "zarr2", "0.1 1.1 ");
	expect_names(file, "zarr3/c/0", "1 ");
	expect_names(file, "dataset3.zarr/data/c/1", "1 ");
	assert_true(has(file, "zarr/0.0"));
	assert_true(has(file, "zarr/c/1/0"));
	frames_expect(file, "zarr/1.0", (uint8_t[64]){ 0 }, 64);
	close_file(file, &b);
}

static void a_store_whose_fill_value_is_null_lists_all(void **state)
{
	static const uint64_t entries[] = { ZEROS, ZEROS, UNINIT, 0 };
	struct build b;
	struct bfs_file *file = open_grid(&b, entries);

	(void)state;
	expect_json(file, "dataset.zarr/data/.zarray", "fill_value", "null");
	expect_names(file, "dataset.zarr/data", "c 0.0 0.1 1.0 1.1 ");
	expect_names(file, "dataset2.zarr/data", "0.0 0.1 1.0 1.1 ");
	expect_names(file, "zarr", "c 1.1 ");
	close_file(file, &b);
	/* Bytes that are too many for a text have none either. */
	file = open_dtype(&b, "|V5000", 5000);
	expect_json(file, "zarr/.zarray", "fill_value", "null");
	expect_names(file, "zarr", "0 ");
	close_file(file, &b);
	file = open_dtype(&b, "|V4000", 4000);
	expect_names(file, "zarr", "c ");
	close_file(file, &b);
}

static void folders_of_holes_alone_are_not_listed(void **state)
{
	static const int64_t shape[3] = { 2, 3, 2 };
	uint8_t is_hole[12];
	struct build b;
	struct bfs_file *file;

	(void)state;
	memset(is_hole, 1, sizeof(is_hole));
	is_hole[9] = 0;			/* 1.1.1 */
	file = open_cube(&b, shape, is_hole);
	expect_names(file, "zarr", "c 1.1.1 ");
	expect_names(file, "zarr/c", "1 ");
	expect_names(file, "zarr/c/1", "1 ");
	expect_names(file, "zarr/c/1/1", "1 ");
	expect_names(file, "zarr/c/0", "");
	expect_names(file, "zarr/c/0/2", "");
	assert_true(has(file, "zarr/c/0/2/1"));
	close_file(file, &b);
}

/* What one folder of a cube should list. */
static void want_names(const int64_t shape[3], const uint8_t *is_hole,
		       int64_t x, int64_t y, char want[4096])
{
	size_t len = 0;

	want[0] = 0;
	for (int64_t at = 0; at < shape[x < 0 ? 0 : y < 0 ? 1 : 2]; at++) {
		bool any = false;

		for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
			int64_t p[3] = { i / shape[2] / shape[1],
					 i / shape[2] % shape[1],
					 i % shape[2] };

			if (!is_hole[i] && (x < 0 || p[0] == x) &&
			    (y < 0 || p[1] == y) &&
			    p[x < 0 ? 0 : y < 0 ? 1 : 2] == at)
				any = true;
		}
		if (any)
			len += (size_t)snprintf(want + len, 4096 - len,
						"%d ", (int)at);
	}
}

static void any_pattern_of_holes_is_listed_right(void **state)
{
	static const int64_t shape[3] = { 4, 3, 5 };
	uint8_t is_hole[60];
	char want[4096], path[64];
	struct build b;

	(void)state;
	for (unsigned seed = 0; seed < 60; seed++) {
		struct bfs_file *file;

		build_fill(is_hole, sizeof(is_hole), seed + 1);
		for (size_t i = 0; i < sizeof(is_hole); i++)
			is_hole[i] = is_hole[i] % 64 >= seed;
		file = open_cube(&b, shape, is_hole);
		want_names(shape, is_hole, -1, -1, want);
		expect_names(file, "zarr/c", want);
		for (int x = 0; x < 4; x++) {
			want_names(shape, is_hole, x, -1, want);
			snprintf(path, sizeof(path), "zarr/c/%d", x);
			expect_names(file, path, want);
			for (int y = 0; y < 3; y++) {
				want_names(shape, is_hole, x, y, want);
				snprintf(path, sizeof(path), "zarr/c/%d/%d",
					 x, y);
				expect_names(file, path, want);
			}
		}
		close_file(file, &b);
	}
}

static void of_very_many_runs_all_chunks_with_data_are_listed(void **state)
{
	enum { N = 20000 };
	static const int64_t shape[3] = { 1, 2, N / 2 };
	static uint8_t is_hole[N];
	struct bfs_node dir, node;
	char name[BFS_NAME_MAX + 1];
	unsigned n = 0, n_holes = 0, last = 0, x, y;
	struct build b;
	struct bfs_file *file;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		is_hole[i] = i % 2;
	file = open_cube(&b, shape, is_hole);
	assert_true(frames_find(file, "zarr2", &dir));
	/* Behind its two files of metadata. */
	while (bfs_file_list(file, &dir, 2 + n, name, &node)) {
		unsigned at;

		assert_int_equal(sscanf(name, "0.%u.%u", &x, &y), 2);
		at = x * (N / 2) + y;
		assert_true(n == 0 || at > last);
		n_holes += is_hole[at];
		last = at;
		n++;
	}
	assert_int_equal(n - n_holes, N / 2);
	assert_true(n_holes < N / 2);
	close_file(file, &b);
}

static void millions_of_holes_cost_no_entry(void **state)
{
	static const int64_t shape[3] = { 3, 1000, 1000 };
	uint8_t *is_hole = malloc(3000000);
	struct build b;
	struct bfs_file *file;

	(void)state;
	assert_non_null(is_hole);
	memset(is_hole, 1, 3000000);
	file = open_cube(&b, shape, is_hole);
	expect_names(file, "zarr", "c ");
	expect_names(file, "zarr/c", "");
	assert_true(has(file, "zarr/2.999.999"));
	close_file(file, &b);
	is_hole[2999999] = 0;
	file = open_cube(&b, shape, is_hole);
	expect_names(file, "zarr", "c 2.999.999 ");
	expect_names(file, "zarr/c/2/999", "999 ");
	close_file(file, &b);
	free(is_hole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_holes_are_found_and_not_listed),
		cmocka_unit_test(a_store_whose_fill_value_is_null_lists_all),
		cmocka_unit_test(folders_of_holes_alone_are_not_listed),
		cmocka_unit_test(any_pattern_of_holes_is_listed_right),
		cmocka_unit_test(
			of_very_many_runs_all_chunks_with_data_are_listed),
		cmocka_unit_test(millions_of_holes_cost_no_entry),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
