/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_filter_nd.c - the filters that store a block of an array cell by cell.
 *
 * Random blocks of every number of dimensions are put into cells here by the
 * definition, item by item, and must come back; the original writer's own
 * chunks decode, and what cannot be undone is refused before it is tried.
 * Memory lies against inaccessible pages. BFS_TEST_SEED repeats a run.
 */
#include "filter/filter.h"

#include "chunk/plan.h"

#include "support/guard.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_LEN ((size_t)1 << 20)
#define MAX_DIM 8

static struct guard src_guard, dst_guard;
static uint8_t *plain, *coded;
static uint64_t seed, rng;

static uint32_t draw(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 32) % below;
}

/* A block and the array around it. */
struct block {
	unsigned ndim;
	int32_t shape[MAX_DIM];
	uint32_t typesize;
	size_t len;
	uint32_t side[MAX_DIM];		/* of a cell */
};

static struct bfs_filter_job job_of(const struct block *b, uint8_t meta)
{
	return (struct bfs_filter_job){
		.len = b->len, .typesize = b->typesize > 255 ? 1 : b->typesize,
		.frame_typesize = b->typesize, .meta = meta, .version = 5,
		.ndim = (uint8_t)b->ndim, .blockshape = b->shape,
	};
}

/* Whether the item at p stands before that at q in the cells' order: by their
 * cells first, then by their places. */
static bool comes_before(const struct block *b, const uint32_t *p,
			 const uint32_t *q)
{
	for (unsigned i = 0; i < b->ndim; i++)
		if (p[i] / b->side[i] != q[i] / b->side[i])
			return p[i] / b->side[i] < q[i] / b->side[i];
	for (unsigned i = 0; i < b->ndim; i++)
		if (p[i] != q[i])
			return p[i] < q[i];
	return false;
}

static const struct block *sorted;	/* for qsort */
static uint32_t (*places)[MAX_DIM];	/* of every item */

static int compare(const void *x, const void *y)
{
	const uint32_t *p = places[*(const uint32_t *)x];
	const uint32_t *q = places[*(const uint32_t *)y];

	return comes_before(sorted, p, q) ? -1 : comes_before(sorted, q, p);
}

/* Fills plain, and coded with the items of plain in the cells' order. */
static void encode(const struct block *b)
{
	const size_t n = b->len / b->typesize;
	uint32_t *order = calloc(n, sizeof(*order));

	places = calloc(n, sizeof(*places));
	assert_non_null(places);
	assert_non_null(order);
	for (size_t k = 0; k < n; k++) {
		size_t rest = k;

		order[k] = (uint32_t)k;
		for (unsigned i = b->ndim; i-- > 0;) {
			places[k][i] = (uint32_t)(rest % (size_t)b->shape[i]);
			rest /= (size_t)b->shape[i];
		}
	}
	sorted = b;
	qsort(order, n, sizeof(*order), compare);
	for (size_t i = 0; i < b->len; i++)
		plain[i] = (uint8_t)draw(256);
	for (size_t k = 0; k < n; k++)
		memcpy(coded + k * b->typesize, plain + order[k] * b->typesize,
		       b->typesize);
	free(order);
	free(places);
}

static void expect_back(const struct bfs_filter *f, const struct block *b,
			uint8_t meta)
{
	struct bfs_filter_job job = job_of(b, meta);
	struct bfs_diag diag = { .text = "" };

	if (f->check(&job, &diag) != BFS_OK)
		fail_msg("%s: %s (seed %llu)", f->name, diag.text,
			 (unsigned long long)seed);
	for (int at_end = 0; at_end < 2; at_end++) {
		uint8_t *src = at_end ? guard_tail(&src_guard, b->len) :
					guard_head(&src_guard, b->len);

		job.src = src;
		job.dst = at_end ? guard_tail(&dst_guard, b->len) :
				   guard_head(&dst_guard, b->len);
		memcpy(src, coded, b->len);
		memset(job.dst, 0x5a, b->len);
		bfs_filter_undo(f, &job);
		if (memcmp(job.dst, plain, b->len) != 0)
			fail_msg("%s: %u dimensions, typesize %u, meta %u: "
				 "other bytes (seed %llu)", f->name, b->ndim,
				 b->typesize, meta, (unsigned long long)seed);
		assert_memory_equal(src, coded, b->len);
	}
}

static void draw_block(struct block *b)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 8, 12, 16, 300 };
	static const uint32_t most[] = { 600, 40, 14, 8, 5, 4, 3, 3 };

	b->ndim = 1 + draw(MAX_DIM);
	b->typesize = sizes[draw(BFS_ARRAY_LEN(sizes))];
	b->len = b->typesize;
	for (unsigned i = 0; i < b->ndim; i++) {
		b->shape[i] = 1 + (int32_t)draw(most[b->ndim - 1]);
		b->len *= (size_t)b->shape[i];
	}
	assert_true(b->len <= MAX_LEN * 4);
}

static void ndcell_comes_back(void **unused)
{
	unsigned n_done = 0;

	(void)unused;
	for (int i = 0; i < 500; i++) {
		struct block b;
		uint8_t meta;
		struct bfs_filter_job job;

		draw_block(&b);
		meta = (uint8_t)(1 + draw(b.ndim > 2 ? 5 : 40));
		job = job_of(&b, meta);
		if (b.len > MAX_LEN ||
		    bfs_filter_ndcell.check(&job, NULL) != BFS_OK)
			continue;	/* cells bigger than the block */
		for (unsigned k = 0; k < b.ndim; k++)
			b.side[k] = meta;
		encode(&b);
		expect_back(&bfs_filter_ndcell, &b, meta);
		n_done++;
	}
	assert_true(n_done > 100);
}

static void ndmean_comes_back(void **unused)
{
	unsigned n_done = 0;

	(void)unused;
	for (int i = 0; i < 500; i++) {
		struct block b;
		uint8_t meta = (uint8_t)(1 + draw(draw(4) ? 6 : 127));
		struct bfs_filter_job job;

		draw_block(&b);
		job = job_of(&b, meta);
		if (b.len > MAX_LEN ||
		    bfs_filter_ndmean.check(&job, NULL) != BFS_OK)
			continue;	/* in no order that is known */
		for (unsigned k = 0; k < b.ndim; k++)
			b.side[k] = b.shape[k] < meta ? (uint32_t)b.shape[k] :
							meta;
		encode(&b);
		expect_back(&bfs_filter_ndmean, &b, meta);
		n_done++;
	}
	assert_true(n_done > 100);
}

/* The example of the format's description. */
static void ndcell_undoes_6_by_7_in_cells_of_4(void **unused)
{
	static const uint8_t cells[] = {
		0, 1, 2, 3, 7, 8, 9, 10, 14, 15, 16, 17, 21, 22, 23, 24,
		4, 5, 6, 11, 12, 13, 18, 19, 20, 25, 26, 27,
		28, 29, 30, 31, 35, 36, 37, 38, 32, 33, 34, 39, 40, 41,
	};
	struct block b = {
		.ndim = 2, .shape = { 6, 7 }, .typesize = 1, .len = 42,
	};

	(void)unused;
	assert_int_equal(sizeof(cells), b.len);
	for (unsigned i = 0; i < 42; i++) {
		plain[i] = (uint8_t)i;
		coded[i] = cells[i];
	}
	expect_back(&bfs_filter_ndcell, &b, 4);
}

/* ---- whole chunks ---- */

static enum bfs_err decode_vector(const char *name,
				  const struct bfs_codec_env *env,
				  uint8_t *ret_data, size_t len,
				  struct bfs_diag *diag)
{
	const struct vector *v = vector_find(name);
	struct bfs_scratch *scratch = bfs_scratch_new();
	struct bfs_source *source;
	struct bfs_chunk *chunk;
	enum bfs_err err;
	uint8_t *p;
	size_t p_len;

	assert_non_null(v);
	assert_non_null(scratch);
	p = vector_chunk(v, &p_len);
	assert_int_equal(bfs_source_memory(p, p_len, false, &source, NULL),
			 BFS_OK);
	err = bfs_chunk_open(source, 0, p_len, (uint32_t)len, env, &chunk,
			     diag);
	if (err == BFS_OK) {
		err = bfs_chunk_read_all(chunk, source, 0, ret_data, scratch,
					 diag);
		bfs_chunk_unref(chunk);
	}
	bfs_source_unref(source);
	bfs_scratch_free(scratch);
	free(p);
	return err;
}

static void ndcell_written_by_the_library_is_undone(void **unused)
{
	static const struct bfs_codec_env env = {
		.typesize = 1, .ndim = 2, .blockshape = { 8, 14 },
	};
	uint8_t got[112];

	(void)unused;
	assert_int_equal(decode_vector("ndcell", &env, got, sizeof(got), NULL),
			 BFS_OK);
	for (unsigned y = 0; y < 8; y++)
		for (unsigned x = 0; x < 14; x++)
			assert_int_equal(got[y * 14 + x],
					 (y / 4 * 4 + x / 4) * 16 +
					 (y % 4 == 3));
}

static void ndmean_written_by_the_library_is_undone(void **unused)
{
	static const struct bfs_codec_env env = {
		.typesize = 4, .ndim = 2, .blockshape = { 4, 8 },
	};
	static const uint8_t means[2][4] = {
		{ 0x00, 0x00, 0x58, 0x41 }, { 0x00, 0x00, 0x8c, 0x41 },
	};
	uint8_t got[128];

	(void)unused;
	assert_int_equal(decode_vector("ndmean", &env, got, sizeof(got), NULL),
			 BFS_OK);
	for (unsigned i = 0; i < 32; i++)
		assert_memory_equal(got + 4 * i, means[i % 8 / 4], 4);
}

static void a_chunk_without_its_array_is_unsupported(void **unused)
{
	static const struct bfs_codec_env none;
	struct bfs_diag diag = { .text = "" };
	uint8_t got[128];

	(void)unused;
	assert_int_equal(decode_vector("ndcell", &none, got, 112, &diag),
			 BFS_ERR_UNSUPPORTED);
	assert_string_equal(diag.text, "ndcell needs the array around the "
				       "chunk");
	assert_int_equal(decode_vector("ndmean", &none, got, 128, &diag),
			 BFS_ERR_UNSUPPORTED);
	assert_string_equal(diag.text, "ndmean needs the array around the "
				       "chunk");
}

/* ---- what cannot be undone ---- */

static void expect_refusal(const struct bfs_filter *f, const struct block *b,
			   uint8_t meta, enum bfs_err want, const char *text)
{
	struct bfs_filter_job job = job_of(b, meta);
	struct bfs_diag diag = { .text = "" };

	assert_int_equal(f->check(&job, &diag), want);
	assert_string_equal(diag.text, text);
	assert_int_equal(f->check(&job, NULL), want);
}

static void shapes_that_are_not_the_block_are_refused(void **unused)
{
	static const struct block blocks[] = {
		{ 2, { 4, 4 }, 4, 63, { 0 } },
		{ 2, { 4, 4 }, 4, 65, { 0 } },
		{ 2, { 4, 0 }, 4, 64, { 0 } },
		{ 2, { -4, -4 }, 4, 64, { 0 } },
		{ 2, { 4, 4 }, 4, 0, { 0 } },
		{ 1, { 0 }, 4, 0, { 0 } },
		{ 4, { 65536, 65536, 65536, 65536 }, 1, 0, { 0 } },
		{ 3, { 65536, 65536, 65536 }, 65536, 0, { 0 } },
		{ 8, { INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 1, 1, 1,
		       1 }, 4, 64, { 0 } },
	};
	char text[BFS_DIAG_TEXT];

	(void)unused;
	for (size_t i = 0; i < BFS_ARRAY_LEN(blocks); i++) {
		snprintf(text, sizeof(text), "ndcell: the array's block shape "
			 "does not make up %zu bytes", blocks[i].len);
		expect_refusal(&bfs_filter_ndcell, &blocks[i], 2,
			       BFS_ERR_CORRUPT, text);
		memcpy(text, "ndmean", 6);
		expect_refusal(&bfs_filter_ndmean, &blocks[i], 2,
			       BFS_ERR_CORRUPT, text);
	}
}

static void too_many_dimensions_are_unsupported(void **unused)
{
	static const int32_t shape[16] = {
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	};
	struct bfs_filter_job job = {
		.len = 4, .typesize = 4, .frame_typesize = 4, .meta = 1,
		.ndim = 8, .blockshape = shape,
	};

	(void)unused;
	assert_int_equal(bfs_filter_ndcell.check(&job, NULL), BFS_OK);
	assert_int_equal(bfs_filter_ndmean.check(&job, NULL), BFS_OK);
	for (job.ndim = 9; job.ndim <= 16; job.ndim++) {
		assert_int_equal(bfs_filter_ndcell.check(&job, NULL),
				 BFS_ERR_UNSUPPORTED);
		assert_int_equal(bfs_filter_ndmean.check(&job, NULL),
				 BFS_ERR_UNSUPPORTED);
	}
}

static void cells_bigger_than_the_block_are_refused(void **unused)
{
	static const struct block b = { 2, { 4, 5 }, 4, 80, { 0 } };
	static const struct block deep = {
		8, { 2, 2, 2, 2, 2, 2, 2, 2 }, 1, 256, { 0 },
	};
	struct bfs_filter_job job = job_of(&b, 4);

	(void)unused;
	assert_int_equal(bfs_filter_ndcell.check(&job, NULL), BFS_OK);
	expect_refusal(&bfs_filter_ndcell, &b, 5, BFS_ERR_CORRUPT,
		       "ndcell: cells of side 5 in a block of 80 bytes");
	expect_refusal(&bfs_filter_ndcell, &b, 0, BFS_ERR_CORRUPT,
		       "ndcell: cells of side 0 in a block of 80 bytes");
	expect_refusal(&bfs_filter_ndcell, &deep, 255, BFS_ERR_CORRUPT,
		       "ndcell: cells of side 255 in a block of 256 bytes");
	job = job_of(&deep, 2);
	assert_int_equal(bfs_filter_ndcell.check(&job, NULL), BFS_OK);
}

static void ndmean_takes_sides_from_1_to_127(void **unused)
{
	static const struct block b = { 2, { 4, 5 }, 4, 80, { 0 } };

	(void)unused;
	for (unsigned meta = 0; meta < 256; meta++) {
		struct bfs_filter_job job = job_of(&b, (uint8_t)meta);

		/* Side 4 is that of both dimensions, 6 of none. */
		assert_int_equal(bfs_filter_ndmean.check(&job, NULL),
				 meta < 1 || meta > 127 ?
				 BFS_ERR_CORRUPT : BFS_OK);
	}
	expect_refusal(&bfs_filter_ndmean, &b, 0, BFS_ERR_CORRUPT,
		       "ndmean: cells of side 0");
	expect_refusal(&bfs_filter_ndmean, &b, 255, BFS_ERR_CORRUPT,
		       "ndmean: cells of side -1");
}

static void ndmean_in_no_known_order_is_unsupported(void **unused)
{
	static const struct block b = { 3, { 3, 4, 8 }, 4, 384, { 0 } };

	(void)unused;
	for (unsigned meta = 1; meta < 12; meta++) {
		struct bfs_filter_job job = job_of(&b, (uint8_t)meta);

		assert_int_equal(bfs_filter_ndmean.check(&job, NULL),
				 meta > 3 && meta < 8 ?
				 BFS_ERR_UNSUPPORTED : BFS_OK);
	}
	expect_refusal(&bfs_filter_ndmean, &b, 5, BFS_ERR_UNSUPPORTED,
		       "ndmean: cells of side 5 in blocks of 3 along the "
		       "first dimension");
}

/* No writer makes one; it must stay inside its buffers all the same. */
static void a_block_of_another_length_is_left_alone(void **unused)
{
	struct block b = {
		.ndim = 2, .shape = { 8, 8 }, .typesize = 4, .len = 100,
	};
	struct bfs_filter_job job = job_of(&b, 4);

	(void)unused;
	job.src = guard_tail(&src_guard, b.len);
	job.dst = guard_tail(&dst_guard, b.len);
	memset(guard_tail(&src_guard, b.len), 0x77, b.len);
	memset(job.dst, 0x5a, b.len);
	bfs_filter_undo(&bfs_filter_ndcell, &job);
	assert_memory_equal(job.dst, job.src, b.len);
	memset(job.dst, 0x5a, b.len);
	bfs_filter_undo(&bfs_filter_ndmean, &job);
	assert_memory_equal(job.dst, job.src, b.len);
}

static int set_up(void **unused)
{
	(void)unused;
	guard_open(&src_guard, MAX_LEN);
	guard_open(&dst_guard, MAX_LEN);
	plain = malloc(MAX_LEN);
	coded = malloc(MAX_LEN);
	return plain && coded ? 0 : -1;
}

static int tear_down(void **unused)
{
	(void)unused;
	guard_close(&src_guard);
	guard_close(&dst_guard);
	free(plain);
	free(coded);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ndcell_comes_back),
		cmocka_unit_test(ndmean_comes_back),
		cmocka_unit_test(ndcell_undoes_6_by_7_in_cells_of_4),
		cmocka_unit_test(ndcell_written_by_the_library_is_undone),
		cmocka_unit_test(ndmean_written_by_the_library_is_undone),
		cmocka_unit_test(a_chunk_without_its_array_is_unsupported),
		cmocka_unit_test(shapes_that_are_not_the_block_are_refused),
		cmocka_unit_test(too_many_dimensions_are_unsupported),
		cmocka_unit_test(cells_bigger_than_the_block_are_refused),
		cmocka_unit_test(ndmean_takes_sides_from_1_to_127),
		cmocka_unit_test(ndmean_in_no_known_order_is_unsupported),
		cmocka_unit_test(a_block_of_another_length_is_left_alone),
	};
	const char *given = getenv("BFS_TEST_SEED");

	seed = given ? strtoull(given, NULL, 10)
		     : (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	rng = seed ? seed : 1;
	/* In TAP nothing may come before the line with its version. */
	fprintf(stderr, "BFS_TEST_SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests_name("filter nd", tests, set_up,
					   tear_down);
}
