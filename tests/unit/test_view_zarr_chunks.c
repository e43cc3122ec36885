/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_zarr_chunks.c - the chunks of Zarr stores hold the items of
 * data.bin, in the array's own grid or in one made for joined arrays.
 */
#include "zarr_stores.h"

#include <inttypes.h>

static uint64_t seed = 4711;

static uint64_t draw(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1;
	return (seed >> 33) % below;
}

/* ---- bytes ----------------------------------------------------------- */

/* The chunk at `at` as data.bin (items of array z in C order) has it. */
static uint8_t *cut_chunk(const struct bfs_zarr *z, const uint8_t *data,
			  const uint64_t *at)
{
	uint64_t size = z->dtype.unit_size, i, pos[BFS_ZARR_DIMS] = { 0 };
	uint8_t *chunk = calloc(1, z->chunk_len);
	unsigned d;

	assert_non_null(chunk);
	for (i = 0; i < z->chunk_len / size; i++) {
		uint64_t item = 0;
		bool inside = true;

		for (d = 0; d < z->n; d++) {
			uint64_t p = at[d] * z->chunk[d] + pos[d];

			inside &= p < z->shape[d];
			item = item * z->shape[d] + p;
		}
		if (inside)
			memcpy(chunk + i * size, data + item * size, size);
		for (d = z->n; d-- > 0;) {
			if (++pos[d] < z->chunk[d])
				break;
			pos[d] = 0;
		}
	}
	return chunk;
}

static void expect_ranges(struct bfs_file *file, const char *path,
			  const uint8_t *want, size_t len)
{
	struct bfs_node node;
	struct bfs_attr attr;
	uint8_t *buf = malloc(len + 1);
	size_t n;

	frames_expect(file, path, want, len);
	assert_true(frames_find(file, path, &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, len);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t off = draw(len);
		size_t wanted = 1 + (size_t)draw(len);

		assert_int_equal(bfs_file_read(file, &node, off, buf, wanted,
					       &n, NULL), BFS_OK);
		assert_int_equal(n, bfs_min(wanted, len - off));
		assert_memory_equal(buf, want + off, n);
	}
	free(buf);
}

/* Every chunk under both of its keys, against data.bin. */
static void check_chunks(struct bfs_file *file)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);
	uint64_t at[BFS_ZARR_DIMS] = { 0 }, n;
	size_t len;
	uint8_t *data = frames_read(file, "data.bin", &len);

	assert_non_null(z);
	for (n = 0; n < z->n_chunks; n++) {
		char two[256] = "zarr/", three[256] = "zarr/c";
		uint8_t *want = cut_chunk(z, data, at);
		unsigned d;

		if (!z->n)
			strcat(two, "0");
		for (d = 0; d < z->n; d++) {
			sprintf(two + strlen(two), "%s%" PRIu64,
				d ? "." : "", at[d]);
			sprintf(three + strlen(three), "/%" PRIu64, at[d]);
		}
		expect_ranges(file, two, want, z->chunk_len);
		if (!z->v3_why[0])
			frames_expect(file, three, want, z->chunk_len);
		free(want);
		for (d = z->n; d-- > 0;) {
			if (++at[d] < z->grid[d])
				break;
			at[d] = 0;
		}
	}
	free(data);
}

static void chunks_are_in_order_c_with_zeros_beyond_the_array(void **state)
{
	struct build b;
	struct bfs_file *file = open_grid(&b, NULL);
	size_t len;
	uint8_t *got = frames_read(file, "zarr/1.1", &len);

	(void)state;
	/* One row of three items, all else lies outside. */
	assert_int_equal(len, 64);
	for (size_t i = 12; i < len; i++)
		assert_int_equal(got[i], 0);
	free(got);
	check_chunks(file);
	close_file(file, &b);
}

static void make_random(struct build_frame *f)
{
	uint64_t n_chunks = 1, items = 1;
	uint8_t *data;
	unsigned d;

	f->ndim = 1 + (unsigned)draw(4);
	f->typesize = 1 + (uint32_t)draw(9);
	f->dtype = "?";
	for (d = 0; d < f->ndim; d++) {
		f->shape[d] = 1 + (int64_t)draw(9);
		f->chunkshape[d] = 1 + (int32_t)draw(7);
		f->blockshape[d] = 1 + (int32_t)draw(
			(uint64_t)f->chunkshape[d]);
		n_chunks *= bfs_div_up((uint64_t)f->shape[d],
				       (uint64_t)f->chunkshape[d]);
		items *= bfs_div_up((uint64_t)f->chunkshape[d],
				    (uint64_t)f->blockshape[d]) *
			 (uint64_t)f->blockshape[d];
	}
	f->chunksize = (int64_t)(items * f->typesize);
	data = malloc((size_t)f->chunksize);
	while (n_chunks-- > 0) {
		struct build_chunk c = { .data = data,
			.len = (size_t)f->chunksize, .typesize = f->typesize,
			.codec = BUILD_LZ4 };

		c.blocksize = f->typesize;
		for (d = 0; d < f->ndim; d++)
			c.blocksize *= (uint32_t)f->blockshape[d];
		build_fill(data, c.len, (uint32_t)draw(1000000));
		build_frame_chunk(f, &c);
	}
	free(data);
}

static void chunks_of_random_arrays_hold_the_items_of_data(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 150; i++) {
		struct build_frame f = { 0 };
		struct build b;
		struct bfs_file *file;

		make_random(&f);
		file = open_frame(&f, &b);
		check_chunks(file);
		close_file(file, &b);
	}
}

static void chunks_of_samples_hold_the_items_of_data(void **state)
{
	static const char *const names[] = { "good-nd-2.15.2.b2nd",
		"good-nd-big-endian.b2nd", "good-nd-caterva.b2nd",
		"good-nd-ndcell.b2nd", "good-nd-ndlz.b2nd",
		"good-nd-ndmean.b2nd", "good-nd-shrunk.b2nd",
		"good-nd-structured.b2nd", "good-nd-zero-chunk.b2nd",
		"good-nd0.b2nd", "good-nd16.b2nd", "good-blp3-array.blp",
		"good-blp3-array-big-endian.blp",
		"good-blp3-array-structured.blp" };

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(names); i++) {
		struct build b;
		struct bfs_file *file = open_sample(names[i], &b);

		check_chunks(file);
		close_file(file, &b);
	}
}

static void chunks_of_zeros_are_holes_and_others_are_not(void **state)
{
	static const uint64_t entries[] = { ZEROS, NAN_CHUNK, UNINIT, 0 };
	static const char *const keys[] = { "zarr/0.0", "zarr/0.1",
		"zarr/1.0", "dataset.zarr/data/c/1/1" };
	static const uint64_t stored[] = { 0, 64, 0, 64 };
	struct build b;
	struct bfs_file *file = open_grid(&b, entries);
	uint64_t off;

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(keys); i++) {
		struct bfs_node node;
		struct bfs_attr attr;

		assert_true(frames_find(file, keys[i], &node));
		bfs_file_stat(file, &node, &attr);
		assert_int_equal(attr.len, 64);
		assert_int_equal(attr.stored_len, stored[i]);
		assert_int_equal(bfs_file_seek(file, &node, 3, false, &off,
					       NULL),
				 stored[i] ? BFS_OK : BFS_ERR_RANGE);
	}
	check_chunks(file);
	close_file(file, &b);
}

static void an_array_without_dimensions_is_one_chunk(void **state)
{
	struct build b;
	struct bfs_file *file = open_sample("good-nd0.b2nd", &b);

	(void)state;
	expect_json(file, "zarr/.zarray", "shape", "[]");
	expect_json(file, "zarr/.zarray", "chunks", "[]");
	expect_json(file, "zarr/zarr.json", "dimension_names", "[]");
	assert_true(has(file, "zarr/0"));
	assert_true(has(file, "zarr/c"));
	assert_false(has(file, "zarr/1"));
	assert_false(has(file, "zarr/c/0"));
	assert_int_equal(count(file, "zarr"), 3 + 2);
	close_file(file, &b);
}

static void an_array_without_items_has_no_keys(void **state)
{
	struct build b;
	struct bfs_file *file = open_sample("good-nd-zero-dim.b2nd", &b);

	(void)state;
	assert_int_equal(count(file, "zarr"), 3);
	assert_false(has(file, "zarr/c"));
	assert_false(has(file, "zarr/0.0"));
	close_file(file, &b);
}

static void damage_in_a_chunk_fails_its_key_alone(void **state)
{
	struct build_frame f = { .chunksize = 8, .typesize = 1, .ndim = 1,
		.shape = { 16 }, .chunkshape = { 8 }, .blockshape = { 8 },
		.dtype = "|u1" };
	struct build_chunk c = { .typesize = 1, .blocksize = 8,
		.data = (const uint8_t *)"abcdefgh", .len = 8 };
	struct bfs_file *file;
	struct bfs_node node;
	struct build b;
	uint8_t buf[8];
	size_t n;

	(void)state;
	build_frame_chunk(&f, &c);
	f.data.p[4] ^= 1;	/* one byte more than there are */
	build_frame_chunk(&f, &c);
	file = open_frame(&f, &b);
	assert_true(frames_find(file, "zarr/0", &node));
	assert_false(bfs_file_read(file, &node, 0, buf, 8, &n, NULL) ==
		     BFS_OK);
	frames_expect(file, "zarr/1", "abcdefgh", 8);
	close_file(file, &b);
}

/* ---- arrays without a grid of their own ------------------------------ */

static void an_array_in_order_f_says_so_in_both_versions(void **state)
{
	struct build b;
	struct bfs_file *file = open_sample("good-blp3-array-fortran.blp",
					    &b);
	size_t len;
	uint8_t *data = frames_read(file, "data.bin", &len);

	(void)state;
	expect_json(file, "zarr/.zarray", "order", "\"F\"");
	expect_json(file, "zarr/zarr.json", "codecs",
		     "[{\"name\":\"transpose\",\"configuration\":"
		     "{\"order\":[2,1,0]}},{\"name\":\"bytes\","
		     "\"configuration\":{\"endian\":\"little\"}}]");
	frames_expect(file, "zarr/0.0.0", data, len);
	free(data);
	close_file(file, &b);
}

/* An array of joined chunks, as far as grids and metadata need one. */
struct fake {
	struct bfs_file file;
	struct bfs_array array;
	struct bfs_container container;
};

static void make_fake(struct fake *fake, unsigned ndim, const int64_t *shape,
		      uint32_t typesize, bool fortran)
{
	memset(fake, 0, sizeof(*fake));
	fake->file.array = &fake->array;
	fake->array.container = &fake->container;
	fake->container.typesize = typesize;
	fake->container.array = (struct bfs_array_meta){ .present = true,
							 .linear = true,
							 .fortran = fortran,
							 .ndim = ndim };
	for (unsigned d = 0; d < ndim; d++)
		fake->container.array.shape[d] = shape[d];
}

/* Whether the items of chunk n are those that lie where it says, in that
 * order, and the places without an item come last. */
static void check_place(const struct bfs_zarr *z, uint64_t n)
{
	uint64_t at[BFS_ZARR_DIMS], pos[BFS_ZARR_DIMS] = { 0 };
	uint64_t off, len, next, size = z->dtype.unit_size, i, left = n;
	unsigned d, k;

	bfs_zarr_place(z, n, &off, &len);
	assert_true(len > 0 && len <= z->chunk_len);
	next = off;
	for (d = z->n; d-- > 0; left /= z->grid[d])
		at[d] = left % z->grid[d];
	for (i = 0; i < z->chunk_len / size; i++) {
		uint64_t item = 0;
		bool inside = true;

		for (k = 0; k < z->n; k++) {
			d = z->fortran ? z->n - 1 - k : k;
			inside &= at[d] * z->chunk[d] + pos[d] < z->shape[d];
			item = item * z->shape[d] + at[d] * z->chunk[d] +
			       pos[d];
		}
		if (inside) {
			assert_int_equal(item * size, next);
			next += size;
		}
		for (k = z->n; k-- > 0;) {
			d = z->fortran ? z->n - 1 - k : k;
			if (++pos[d] < z->chunk[d])
				break;
			pos[d] = 0;
		}
	}
	assert_int_equal(next, off + len);
}

static void joined_arrays_are_cut_into_runs_of_bounded_length(void **state)
{
	static const struct {
		unsigned ndim;
		int64_t shape[4];
	} cases[] = {
		{ 0, { 0 } }, { 1, { 1 } }, { 1, { 300000 } },
		{ 2, { 1, 200000 } }, { 2, { 200000, 1 } },
		{ 2, { 3, 100000 } }, { 3, { 7, 100, 333 } },
		{ 4, { 2, 1, 70000, 3 } }, { 3, { 1, 1, 1 } },
		{ 3, { 65536, 2, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < 2 * BFS_ARRAY_LEN(cases); i++) {
		uint64_t all = 0, off, len;
		struct bfs_zarr *z;
		struct fake fake;

		make_fake(&fake, cases[i / 2].ndim, cases[i / 2].shape, 3,
			  i % 2);
		fake.container.chunksize = 65536;
		assert_int_equal(bfs_zarr_new(&fake.file, &z, NULL),
				 BFS_OK);
		assert_true(z->chunk_len <= 65536 + 3);
		for (uint64_t n = 0; n < z->n_chunks; n++) {
			bfs_zarr_place(z, n, &off, &len);
			all += len;
			if (n < 3 || n + 3 > z->n_chunks)
				check_place(z, n);
		}
		len = 3;
		for (unsigned d = 0; d < z->n; d++)
			len *= z->shape[d];
		assert_int_equal(all, len);
		bfs_zarr_free(z);
	}
}

static void hostile_shapes_of_joined_arrays_stay_in_bounds(void **state)
{
	unsigned n_good = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		int64_t shape[16];
		unsigned ndim = (unsigned)draw(17);
		struct bfs_zarr *z;
		struct fake fake;
		enum bfs_err err;

		for (unsigned d = 0; d < ndim; d++)
			shape[d] = draw(3) ? (int64_t)draw(4) :
				(int64_t)(INT64_MAX >> draw(63));
		make_fake(&fake, ndim, shape, 1 + (uint32_t)draw(INT32_MAX),
			  draw(2));
		fake.container.chunksize = (int64_t)draw(INT32_MAX) - 1;
		err = bfs_zarr_new(&fake.file, &z, NULL);
		if (err != BFS_OK) {
			assert_int_equal(err, BFS_ERR_UNSUPPORTED);
			continue;
		}
		n_good++;
		assert_true(z->n_chunks <= BFS_ZARR_CHUNKS);
		assert_true(z->chunk_len <= (UINT64_C(4) << 20) +
					    z->dtype.itemsize);
		bfs_zarr_free(z);
	}
	print_message("# %u of them are shapes\n", n_good);
	assert_true(n_good > 1000);
}

static void the_last_chunk_of_a_joined_array_is_padded(void **state)
{
	/* 100 rows of 1000 bytes: 65 go into a chunk of 64 KiB. */
	static const char pack[] = "\x93\xa5numpy\x92\x64\xcc\xfa\xa3<i4";
	const struct frame_layer vlmetas[] = {
		FRAME_LAYER("__pack_tensor__", pack) };
	struct frame_input in = { .vlmetas = vlmetas, .n_vlmetas = 1,
		.data = frames_pattern, .len = sizeof(frames_pattern),
		.chunksize = 32768, .blocksize = 512, .typesize = 4 };
	struct frame_bytes bytes = frames_build(&in);
	struct build b = { .p = bytes.p, .len = bytes.len };
	struct bfs_file *file = open_bytes(&b, "x.b2frame");
	struct bfs_node node;
	uint8_t *want = calloc(1, 65000);

	(void)state;
	expect_json(file, "zarr/.zarray", "shape", "[100,250]");
	expect_json(file, "zarr/.zarray", "chunks", "[65,250]");
	memcpy(want, frames_pattern + 65000, 35000);
	expect_ranges(file, "zarr/0.0", frames_pattern, 65000);
	expect_ranges(file, "zarr/1.0", want, 65000);
	expect_ranges(file, "zarr/c/1/0", want, 65000);
	assert_false(frames_find(file, "zarr/2.0", &node));
	free(want);
	close_file(file, &b);
}

/* ["numpy", [1000], [["a", "<i4"], ["b", "<f8", [12]]]]: 100 bytes each. */
static void a_packed_tensor_of_records_is_an_array(void **state)
{
	static const char pack[] = "\x93\xa5numpy\x91\xcd\x03\xe8\x92"
		"\x92\xa1" "a\xa3<i4" "\x93\xa1" "b\xa3<f8\x91\x0c";
	const struct frame_layer vlmetas[] = {
		FRAME_LAYER("__pack_tensor__", pack) };
	struct frame_input in = { .vlmetas = vlmetas, .n_vlmetas = 1,
		.data = frames_pattern, .len = sizeof(frames_pattern),
		.chunksize = 32768, .blocksize = 512, .typesize = 100 };
	struct frame_bytes bytes = frames_build(&in);
	struct build b = { .p = bytes.p, .len = bytes.len };
	struct bfs_file *file = open_bytes(&b, "x.b2frame");
	size_t len;
	uint8_t *npy = frames_read(file, "data.npy", &len);

	(void)state;
	assert_non_null(strstr((char *)npy + 10, "'descr': [('a', '<i4'), "
			       "('b', '<f8', (12,))]"));
	assert_non_null(strstr((char *)npy + 10, "'shape': (1000,)"));
	assert_memory_equal(npy + len - sizeof(frames_pattern), frames_pattern,
			    sizeof(frames_pattern));
	free(npy);
	close_file(file, &b);
}

/* Records in records, and items that are arrays of two dimensions. */
static void a_packed_tensor_of_nested_records_is_an_array(void **state)
{
	static const char pack[] = "\x93\xa5numpy\x92\x0a\x64\x92"
		"\x92\xa1" "a\x92\x92\xa1x\xa3<i2\x92\xa1y\xa3>i2"
		"\x93\xa1" "b\xa3<f8\x92\x03\x04";
	const struct frame_layer vlmetas[] = {
		FRAME_LAYER("__pack_tensor__", pack) };
	struct frame_input in = { .vlmetas = vlmetas, .n_vlmetas = 1,
		.data = frames_pattern, .len = sizeof(frames_pattern),
		.chunksize = 32768, .blocksize = 512, .typesize = 100 };
	struct frame_bytes bytes = frames_build(&in);
	struct build b = { .p = bytes.p, .len = bytes.len };
	struct bfs_file *file = open_bytes(&b, "x.b2frame");
	size_t len;
	uint8_t *npy = frames_read(file, "data.npy", &len);

	(void)state;
	assert_non_null(strstr((char *)npy + 10, "'descr': [('a', [('x', '<i2'"
			       "), ('y', '>i2')]), ('b', '<f8', (3, 4))]"));
	assert_non_null(strstr((char *)npy + 10, "'shape': (10, 100)"));
	assert_memory_equal(npy + len - sizeof(frames_pattern), frames_pattern,
			    sizeof(frames_pattern));
	free(npy);
	close_file(file, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			chunks_are_in_order_c_with_zeros_beyond_the_array),
		cmocka_unit_test(
			chunks_of_random_arrays_hold_the_items_of_data),
		cmocka_unit_test(chunks_of_samples_hold_the_items_of_data),
		cmocka_unit_test(chunks_of_zeros_are_holes_and_others_are_not),
		cmocka_unit_test(an_array_without_dimensions_is_one_chunk),
		cmocka_unit_test(an_array_without_items_has_no_keys),
		cmocka_unit_test(damage_in_a_chunk_fails_its_key_alone),
		cmocka_unit_test(an_array_in_order_f_says_so_in_both_versions),
		cmocka_unit_test(
			joined_arrays_are_cut_into_runs_of_bounded_length),
		cmocka_unit_test(
			hostile_shapes_of_joined_arrays_stay_in_bounds),
		cmocka_unit_test(the_last_chunk_of_a_joined_array_is_padded),
		cmocka_unit_test(a_packed_tensor_of_records_is_an_array),
		cmocka_unit_test(
			a_packed_tensor_of_nested_records_is_an_array),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
