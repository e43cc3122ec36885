/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_nd.c - tiling against a model that places every item by itself.
 */
#include "array/nd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PADDING 0xee
#define GUARD 32

/* Shapes as a file has them, and the decoded chunks one after the other. */
struct model {
	unsigned ndim;
	int64_t shape[BFS_ND_MAX];
	int32_t chunk[BFS_ND_MAX];
	int32_t block[BFS_ND_MAX];
	uint64_t typesize;
	uint64_t n_items;	/* of the array */
	uint64_t chunk_items, block_items;
	uint64_t n_chunks, n_blocks;
	uint8_t *chunks;
	uint8_t *array;		/* in C order */
};

static uint64_t seed = 12345;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* Where the item with this index is: chunk number and item in the chunk. */
static void place_item(const struct model *m, const uint64_t *index,
		       uint64_t *ret_chunk, uint64_t *ret_item)
{
	uint64_t chunk = 0, block = 0, item = 0;
	unsigned d;

	for (d = 0; d < m->ndim; d++) {
		uint64_t s = (uint64_t)m->shape[d], c = (uint64_t)m->chunk[d];
		uint64_t b = (uint64_t)m->block[d], p = index[d] % c;

		chunk = chunk * ((s + c - 1) / c) + index[d] / c;
		block = block * ((c + b - 1) / b) + p / b;
		item = item * b + p % b;
	}
	*ret_chunk = chunk;
	*ret_item = block * m->block_items + item;
}

static void count_model(struct model *m)
{
	unsigned d;

	m->n_items = m->block_items = m->n_chunks = m->n_blocks = 1;
	for (d = 0; d < m->ndim; d++) {
		uint64_t s = (uint64_t)m->shape[d], c = (uint64_t)m->chunk[d];
		uint64_t b = (uint64_t)m->block[d];

		m->n_items *= s;
		m->block_items *= b;
		m->n_chunks *= (s + c - 1) / c;
		m->n_blocks *= (c + b - 1) / b;
	}
	m->chunk_items = m->n_blocks * m->block_items;
}

static void fill_model(struct model *m)
{
	uint64_t index[BFS_ND_MAX] = { 0 }, i, k, chunk, item;
	uint64_t size = m->typesize;
	unsigned d;

	m->array = malloc(m->n_items * size + 1);
	m->chunks = malloc(m->n_chunks * m->chunk_items * size + 1);
	assert_non_null(m->array);
	assert_non_null(m->chunks);
	memset(m->chunks, PADDING, m->n_chunks * m->chunk_items * size);
	for (i = 0; i < m->n_items; i++) {
		for (k = 0; k < size; k++)
			m->array[i * size + k] = (uint8_t)draw(256);
		place_item(m, index, &chunk, &item);
		memcpy(m->chunks + (chunk * m->chunk_items + item) * size,
		       m->array + i * size, size);
		for (d = m->ndim; d-- > 0;) {
			if (++index[d] < (uint64_t)m->shape[d])
				break;
			index[d] = 0;
		}
	}
}

static void free_model(struct model *m)
{
	free(m->array);
	free(m->chunks);
}

static void init_nd(const struct model *m, struct bfs_nd *nd)
{
	assert_int_equal(bfs_nd_init(m->ndim, m->shape, m->chunk, m->block,
				     m->typesize, nd, NULL), BFS_OK);
	assert_int_equal(nd->array_len, m->n_items * m->typesize);
	assert_int_equal(nd->chunk_len, m->chunk_items * m->typesize);
	assert_int_equal(nd->block_len, m->block_items * m->typesize);
	assert_int_equal(nd->n_chunks, m->n_chunks);
	assert_int_equal(nd->n_blocks, m->n_blocks);
	assert_true(nd->n >= 1 && nd->n <= BFS_ND_MAX + 1);
}

/* Counts each byte that the piece says it covers, and checks its bounds. */
static void mark_piece(const struct bfs_nd *nd, const struct bfs_nd_piece *p,
		       uint8_t *marks, uint64_t len)
{
	uint64_t at[BFS_ND_MAX + 1] = { 0 };
	uint64_t src, dst, i;
	unsigned d;

	assert_true(p->chunk < nd->n_chunks && p->block < nd->n_blocks);
	assert_true(p->n <= nd->n);
	for (;;) {
		src = p->src_off;
		dst = p->dst_off;
		for (d = 0; d < p->n; d++) {
			src += at[d] * p->src_stride[d];
			dst += at[d] * p->dst_stride[d];
		}
		assert_true(p->run > 0);
		assert_true(src + p->run <= nd->block_len);
		assert_true(dst + p->run <= len);
		for (i = 0; i < p->run; i++)
			marks[dst + i]++;
		for (d = p->n; d > 0; d--) {
			if (++at[d - 1] < p->count[d - 1])
				break;
			at[d - 1] = 0;
		}
		if (!d)
			return;
	}
}

/* Reads [off, off + len) and compares; the range may pass the array's end. */
static void check_range(const struct model *m, const struct bfs_nd *nd,
			uint64_t off, uint64_t len)
{
	uint64_t have = off > nd->array_len ? 0 : nd->array_len - off, i;
	uint8_t *out, *marks;
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;

	have = have < len ? have : len;
	out = malloc(have + 2 * GUARD);
	marks = calloc(1, have + 1);
	assert_non_null(out);
	assert_non_null(marks);
	memset(out, 0xa5, have + 2 * GUARD);
	/* What a walk leaves unset may not matter. */
	memset(&walk, 0x77, sizeof(walk));
	memset(&piece, 0x77, sizeof(piece));
	bfs_nd_walk_init(&walk, nd, off, len);
	while (bfs_nd_walk_next(&walk, &piece)) {
		mark_piece(nd, &piece, marks, have);
		bfs_nd_copy(&piece, m->chunks + piece.chunk * nd->chunk_len +
			    piece.block * nd->block_len, out + GUARD);
	}
	assert_false(bfs_nd_walk_next(&walk, &piece));
	for (i = 0; i < have; i++)
		assert_int_equal(marks[i], 1);
	if (have)
		assert_memory_equal(out + GUARD, m->array + off, have);
	for (i = 0; i < GUARD; i++) {
		assert_int_equal(out[i], 0xa5);
		assert_int_equal(out[GUARD + have + i], 0xa5);
	}
	free(out);
	free(marks);
}

/* What chunk n holds in C order: items, and zeros beyond the array. */
static uint8_t *make_tile(const struct model *m, uint64_t n, uint64_t *ret_len)
{
	uint64_t first[BFS_ND_MAX], at[BFS_ND_MAX] = { 0 }, items = 1, i, item;
	uint64_t size = m->typesize;
	uint8_t *tile;
	unsigned d;
	bool inside;

	for (d = m->ndim; d-- > 0;) {
		uint64_t c = (uint64_t)m->chunk[d];
		uint64_t grid = ((uint64_t)m->shape[d] + c - 1) / c;

		first[d] = n % grid * c;
		n /= grid;
		items *= c;
	}
	tile = calloc(items, size);
	assert_non_null(tile);
	for (i = 0; i < items; i++) {
		inside = true;
		item = 0;
		for (d = 0; d < m->ndim; d++) {
			uint64_t p = first[d] + at[d];

			inside &= p < (uint64_t)m->shape[d];
			item = item * (uint64_t)m->shape[d] + p;
		}
		if (inside)
			memcpy(tile + i * size, m->array + item * size, size);
		for (d = m->ndim; d-- > 0;) {
			if (++at[d] < (uint64_t)m->chunk[d])
				break;
			at[d] = 0;
		}
	}
	*ret_len = items * size;
	return tile;
}

/* Reads [off, off + len) of one chunk and compares. Only items are written,
 * each once, and only blocks that hold some are asked for. */
static void check_tile_range(const struct model *m, const struct bfs_nd *nd,
			     uint64_t n, const uint8_t *want, uint64_t off,
			     uint64_t len)
{
	uint64_t have = off > nd->tile_len ? 0 : nd->tile_len - off, i;
	bool all = true;
	uint8_t *out, *marks;
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;

	have = have < len ? have : len;
	out = calloc(1, have + GUARD);
	marks = calloc(1, have + 1);
	assert_non_null(out);
	assert_non_null(marks);
	memset(&walk, 0x77, sizeof(walk));
	memset(&piece, 0x77, sizeof(piece));
	bfs_nd_walk_init_tile(&walk, nd, n, off, len);
	while (bfs_nd_walk_next(&walk, &piece)) {
		assert_int_equal(piece.chunk, n);
		mark_piece(nd, &piece, marks, have);
		bfs_nd_copy(&piece, m->chunks + n * nd->chunk_len +
			    piece.block * nd->block_len, out);
	}
	if (have)
		assert_memory_equal(out, want + off, have);
	for (i = 0; i < have; i++) {
		assert_true(marks[i] <= 1);
		all &= marks[i];
		/* A byte that is no zero came from somewhere. */
		assert_true(marks[i] || !want[off + i]);
	}
	for (i = 0; i < GUARD; i++)
		assert_int_equal(out[have + i], 0);
	if (have == nd->tile_len)
		assert_int_equal(all, bfs_nd_tile_is_whole(nd, n));
	free(out);
	free(marks);
}

static void check_tiles(const struct model *m, const struct bfs_nd *nd)
{
	unsigned i;

	for (i = 0; i < 3 && nd->n_chunks; i++) {
		uint64_t n = i ? draw(nd->n_chunks) : nd->n_chunks - 1, len;
		uint8_t *want = make_tile(m, n, &len);
		uint64_t off = draw(len);

		assert_int_equal(nd->tile_len, len);
		check_tile_range(m, nd, n, want, 0, len);
		check_tile_range(m, nd, n, want, 0, UINT64_MAX);
		check_tile_range(m, nd, n, want, len, 7);
		check_tile_range(m, nd, n, want, off, draw(len - off + 1));
		check_tile_range(m, nd, n, want, off,
				 1 + draw(3 * m->typesize));
		free(want);
	}
}

static void check_model(struct model *m, unsigned n_ranges)
{
	struct bfs_nd nd;
	unsigned i;

	count_model(m);
	fill_model(m);
	init_nd(m, &nd);
	check_range(m, &nd, 0, nd.array_len);
	check_range(m, &nd, 0, UINT64_MAX);
	check_range(m, &nd, nd.array_len, 5);
	check_range(m, &nd, UINT64_MAX, UINT64_MAX);
	for (i = 0; i < n_ranges && nd.array_len; i++) {
		uint64_t off = draw(nd.array_len);

		check_range(m, &nd, off, draw(nd.array_len - off + 1));
		check_range(m, &nd, off, 1 + draw(3 * m->typesize));
	}
	check_tiles(m, &nd);
	free_model(m);
}

static uint64_t draw_typesize(void)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33,
		40, 65 };

	return sizes[draw(sizeof(sizes) / sizeof(sizes[0]))];
}

/* Extents that often equal each other, so that dimensions merge. */
static void draw_dim(struct model *m, unsigned d, int32_t most)
{
	int32_t s = 1 + (int32_t)draw((uint64_t)most);

	m->shape[d] = s;
	m->chunk[d] = draw(3) ? 1 + (int32_t)draw((uint64_t)most + 2) : s;
	m->block[d] = draw(3) ? 1 + (int32_t)draw((uint64_t)most + 2) :
				m->chunk[d];
}

static void walk_agrees_with_a_model_of_items(void **state)
{
	unsigned i, d;

	(void)state;
	for (i = 0; i < 3000; i++) {
		static const int32_t most[] = { 1, 40, 9, 6, 4, 3 };
		struct model m = { .ndim = (unsigned)draw(6),
			.typesize = draw_typesize() };

		for (d = 0; d < m.ndim; d++)
			draw_dim(&m, d, most[m.ndim]);
		check_model(&m, 6);
	}
}

static void walk_agrees_in_up_to_sixteen_dimensions(void **state)
{
	unsigned i, d;

	(void)state;
	for (i = 0; i < 200; i++) {
		struct model m = { .ndim = 6 + (unsigned)draw(11),
			.typesize = 1 + draw(4) };

		for (d = 0; d < m.ndim; d++) {
			m.shape[d] = 1;
			m.chunk[d] = 1;
			m.block[d] = 1;
		}
		/* A few dimensions of more than one, anywhere. */
		for (d = 0; d < 5; d++)
			draw_dim(&m, (unsigned)draw(m.ndim), 3);
		check_model(&m, 5);
	}
}

static void check_numbers(const struct bfs_nd *nd, uint64_t item,
			  uint64_t chunk, uint64_t item_in_chunk)
{
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;

	bfs_nd_walk_init(&walk, nd, item * 4, 4);
	assert_true(bfs_nd_walk_next(&walk, &piece));
	assert_int_equal(piece.chunk, chunk);
	assert_int_equal(piece.block * nd->block_len + piece.src_off,
			 item_in_chunk * 4);
	assert_int_equal(piece.n, 0);
	assert_int_equal(piece.run, 4);
	assert_int_equal(piece.dst_off, 0);
	assert_false(bfs_nd_walk_next(&walk, &piece));
}

static void worked_example_in_two_dimensions(void **state)
{
	struct model m = { .ndim = 2, .shape = { 5, 7 }, .chunk = { 4, 4 },
		.block = { 2, 3 }, .typesize = 4 };
	struct bfs_nd nd;

	(void)state;
	count_model(&m);
	init_nd(&m, &nd);
	assert_int_equal(nd.chunk_len, 96);
	assert_int_equal(nd.block_len, 24);
	assert_int_equal(nd.n_chunks, 4);
	check_numbers(&nd, 2 * 7 + 5, 1, 13);
	check_numbers(&nd, 3 * 7 + 3, 0, 21);
	check_numbers(&nd, 4 * 7 + 6, 3, 2);
	check_numbers(&nd, 1 * 7 + 4, 1, 3);
	check_model(&m, 50);
}

static void worked_example_in_three_dimensions(void **state)
{
	struct model m = { .ndim = 3, .shape = { 3, 5, 4 },
		.chunk = { 2, 3, 3 }, .block = { 2, 2, 2 }, .typesize = 4 };
	struct bfs_nd nd;

	(void)state;
	count_model(&m);
	init_nd(&m, &nd);
	assert_int_equal(nd.chunk_len, 128);
	assert_int_equal(nd.n_chunks, 8);
	check_numbers(&nd, (1 * 5 + 2) * 4 + 3, 1, 20);
	check_numbers(&nd, (2 * 5 + 4) * 4 + 1, 6, 3);
	check_numbers(&nd, (0 * 5 + 3) * 4 + 2, 2, 8);
	check_model(&m, 50);
}

static void whole_blocks_in_a_row_are_one_run_each(void **state)
{
	int64_t shape[] = { 64, 100, 3 };
	int32_t chunk[] = { 16, 100, 3 }, block[] = { 4, 100, 3 };
	struct bfs_nd nd;
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;
	unsigned n = 0;

	(void)state;
	assert_int_equal(bfs_nd_init(3, shape, chunk, block, 8, &nd, NULL),
			 BFS_OK);
	assert_int_equal(nd.n, 1);
	bfs_nd_walk_init(&walk, &nd, 3, nd.array_len - 3);
	for (; bfs_nd_walk_next(&walk, &piece); n++) {
		assert_int_equal(piece.n, 0);
		assert_int_equal(piece.run, n ? 9600 : 9597);
		assert_int_equal(piece.chunk, n / 4);
		assert_int_equal(piece.block, n % 4);
	}
	assert_int_equal(n, 16);
}

static void dimensions_with_padding_stay_apart(void **state)
{
	int64_t shape[] = { 4, 5 };
	int32_t chunk[] = { 4, 5 }, block[] = { 4, 6 };
	struct bfs_nd nd;

	(void)state;
	assert_int_equal(bfs_nd_init(2, shape, chunk, block, 2, &nd, NULL),
			 BFS_OK);
	assert_int_equal(nd.n, 2);
	assert_int_equal(nd.shape[1], 10);
	assert_int_equal(nd.block[1], 12);
	assert_int_equal(nd.chunk_len, 48);
}

static void array_without_dimensions_is_one_item(void **state)
{
	struct model m = { .ndim = 0, .typesize = 12 };
	struct bfs_nd nd;

	(void)state;
	count_model(&m);
	init_nd(&m, &nd);
	assert_int_equal(nd.n_chunks, 1);
	assert_int_equal(nd.n_blocks, 1);
	check_model(&m, 10);
}

static void array_of_no_items_yields_nothing(void **state)
{
	static const int64_t shapes[][2] = { { 0, 5 }, { 5, 0 }, { 0, 0 } };
	static const int32_t tiles[][2] = { { 2, 2 }, { 0, 0 }, { 0, 2 } };
	struct bfs_nd nd;
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;
	unsigned i, k;

	(void)state;
	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++) {
			assert_int_equal(bfs_nd_init(2, shapes[i], tiles[k],
						     tiles[k], 4, &nd, NULL),
					 BFS_OK);
			assert_int_equal(nd.array_len, 0);
			assert_int_equal(nd.n_chunks, 0);
			bfs_nd_walk_init(&walk, &nd, 0, UINT64_MAX);
			assert_false(bfs_nd_walk_next(&walk, &piece));
		}
}

static void range_of_a_huge_array_is_found(void **state)
{
	int64_t shape[] = { INT64_C(1) << 31, INT64_C(1) << 29 };
	int32_t chunk[] = { 1 << 20, 1 << 9 }, block[] = { 1 << 10, 1 << 5 };
	struct bfs_nd nd;
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;

	(void)state;
	assert_int_equal(bfs_nd_init(2, shape, chunk, block, 8, &nd, NULL),
			 BFS_OK);
	assert_int_equal(nd.array_len, UINT64_C(1) << 63);
	bfs_nd_walk_init(&walk, &nd, nd.array_len - 3, 100);
	assert_true(bfs_nd_walk_next(&walk, &piece));
	assert_int_equal(piece.chunk, nd.n_chunks - 1);
	assert_int_equal(piece.block, nd.n_blocks - 1);
	assert_int_equal(piece.src_off, nd.block_len - 3);
	assert_int_equal(piece.run, 3);
	assert_false(bfs_nd_walk_next(&walk, &piece));
}

static enum bfs_err try_init(unsigned ndim, int64_t s, int32_t c, int32_t b,
			     uint64_t typesize)
{
	int64_t shape[BFS_ND_MAX + 1];
	int32_t chunk[BFS_ND_MAX + 1], block[BFS_ND_MAX + 1];
	struct bfs_nd nd;
	struct bfs_diag diag = { 0 };
	enum bfs_err err;
	unsigned d;

	for (d = 0; d <= BFS_ND_MAX; d++) {
		shape[d] = s;
		chunk[d] = c;
		block[d] = b;
	}
	memset(&nd, 0x5a, sizeof(nd));
	err = bfs_nd_init(ndim, shape, chunk, block, typesize, &nd, &diag);
	if (err != BFS_OK) {
		assert_int_equal(nd.n, 0x5a5a5a5a);
		assert_int_equal(diag.err, err);
		assert_true(diag.text[0] != 0);
	}
	return err;
}

static void hostile_shapes_are_refused(void **state)
{
	(void)state;
	assert_int_equal(try_init(16, 2, 2, 2, 1), BFS_OK);
	assert_int_equal(try_init(17, 1, 1, 1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, -1, 1, 1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, 1, -1, 1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, 1, 1, -1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, 0, -1, 1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, 5, 0, 1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, 5, 1, 0, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, 5, 1, 1, 0), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(0, 0, 0, 0, 0), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(1, 5, 1, 1, UINT64_MAX), BFS_ERR_CORRUPT);
	/* Products: of the array, of a chunk, of a block, of the padding. */
	assert_int_equal(try_init(16, INT64_C(1) << 32, 1, 1, 1),
			 BFS_ERR_CORRUPT);
	assert_int_equal(try_init(1, INT64_MAX, 1, 1, 4), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(3, 1, INT32_MAX, 1, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(3, 1, 1, INT32_MAX, 1), BFS_ERR_CORRUPT);
	assert_int_equal(try_init(2, INT64_C(3) << 30, INT32_MAX,
				  INT32_MAX - 1, 1), BFS_ERR_CORRUPT);
	/* A zero does not excuse what could not be counted otherwise. */
	assert_int_equal(try_init(4, 0, INT32_MAX, INT32_MAX, 1),
			 BFS_ERR_CORRUPT);
}

static void random_shapes_never_break_the_arithmetic(void **state)
{
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;
	struct bfs_nd nd;
	unsigned i, d, k, n_good = 0;

	(void)state;
	for (i = 0; i < 20000; i++) {
		int64_t shape[BFS_ND_MAX];
		int32_t chunk[BFS_ND_MAX], block[BFS_ND_MAX];
		unsigned ndim = (unsigned)draw(BFS_ND_MAX + 1);

		for (d = 0; d < ndim; d++) {
			shape[d] = (int64_t)draw(1ULL << (1 + draw(52) / ndim));
			chunk[d] = (int32_t)draw(1U << (1 + draw(31) / ndim));
			block[d] = (int32_t)draw(1U << (1 + draw(31) / ndim));
		}
		if (bfs_nd_init(ndim, shape, chunk, block, 1 + draw(300), &nd,
				NULL) != BFS_OK || !nd.array_len)
			continue;
		n_good++;
		bfs_nd_walk_init(&walk, &nd, draw(nd.array_len), 1 << 20);
		for (k = 0; k < 50 && bfs_nd_walk_next(&walk, &piece); k++) {
			assert_true(piece.chunk < nd.n_chunks);
			assert_true(piece.block < nd.n_blocks);
			assert_true(piece.src_off + piece.run <= nd.block_len);
			assert_true(piece.dst_off + piece.run <= 1 << 20);
		}
	}
	assert_true(n_good > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk_agrees_with_a_model_of_items),
		cmocka_unit_test(walk_agrees_in_up_to_sixteen_dimensions),
		cmocka_unit_test(worked_example_in_two_dimensions),
		cmocka_unit_test(worked_example_in_three_dimensions),
		cmocka_unit_test(whole_blocks_in_a_row_are_one_run_each),
		cmocka_unit_test(dimensions_with_padding_stay_apart),
		cmocka_unit_test(array_without_dimensions_is_one_item),
		cmocka_unit_test(array_of_no_items_yields_nothing),
		cmocka_unit_test(range_of_a_huge_array_is_found),
		cmocka_unit_test(hostile_shapes_are_refused),
		cmocka_unit_test(random_shapes_never_break_the_arithmetic),
	};

	return cmocka_run_group_tests_name("nd", tests, NULL, NULL);
}
