/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_facts.c - facts about containers as values: the same as info.json says,
 * of every sample and of every container inside one.
 */
#include "bloscfs.h"
#include "base/bytes.h"
#include "support/frames.h"
#include "support/sample_place.h"
#include "text/json_read.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bloscfs *fs;
static size_t n_outer, n_inner, n_arrays, n_stores, n_damaged;

static int set_up(void **state)
{
	return frames_setup(state) || bloscfs_new(NULL, &fs, NULL);
}

static int tear_down(void **state)
{
	bloscfs_free(fs);
	return frames_teardown(state);
}

/* ---- what info.json says --------------------------------------------- */

static const char *whose;		/* the sample, for messages */

static struct bfs_document *read_info(struct bloscfs_file *file,
				      const struct bloscfs_node *dir)
{
	static char buf[65536];
	struct bfs_document *doc = NULL;
	struct bloscfs_node node;
	size_t len;

	if (!bloscfs_lookup(file, dir, "info.json", &node) ||
	    bloscfs_read(file, &node, 0, buf, sizeof(buf), &len, NULL) ||
	    bfs_json_read(buf, len, &doc, NULL))
		fail_msg("%s: info.json cannot be read", whose);
	return doc;
}

static void same_text(const struct bfs_value *v, const char *text)
{
	if (!bfs_value_is(v, BFS_VALUE_STRING) ||
	    v->s.len != strlen(text) || strcmp(v->s.text, text) != 0)
		fail_msg("%s: %s is '%s'", whose, v ? v->key : "?", text);
}

/* Null, and what is left out, is what is not known. */
static void same_number(const struct bfs_value *info, const char *key,
			uint64_t number)
{
	const struct bfs_value *v = bfs_value_get(info, key);
	uint64_t told = BLOSCFS_NOT_KNOWN;

	if (bfs_value_is(v, BFS_VALUE_UINT))
		told = v->u;
	else if (bfs_value_is(v, BFS_VALUE_INT))
		told = (uint64_t)v->i;
	else if (v && v->kind != BFS_VALUE_NULL)
		fail_msg("%s: %s is no number", whose, key);
	if (told != number)
		fail_msg("%s: %s is %llu, not %llu", whose, key,
			 (unsigned long long)told, (unsigned long long)number);
}

static void same_dims(const struct bfs_value *info, const char *key,
		      bool there, const int64_t *dims, uint32_t n)
{
	const struct bfs_value *v = bfs_value_get(info, key);

	assert_int_equal(bfs_value_is(v, BFS_VALUE_ARRAY), there);
	if (!there)
		return;
	assert_int_equal(v->n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(bfs_value_at(v, i)->i, dims[i]);
	for (uint32_t i = n; i < BLOSCFS_MAX_DIM; i++)
		assert_int_equal(dims[i], 0);
}

static void same_status(const struct bfs_value *info,
			const struct bloscfs_facts *facts)
{
	static const char *const names[] = { "good", "damaged", "unsupported" };
	const struct bfs_value *error = bfs_value_get(info, "error");

	same_text(bfs_value_get(info, "status"), names[facts->status]);
	assert_int_equal(!error, facts->status == BLOSCFS_GOOD);
	assert_int_equal(facts->why.err != BLOSCFS_OK, error != NULL);
	if (error && !strstr(error->s.text, facts->why.text))
		fail_msg("%s: '%s' is not in '%s'", whose, facts->why.text,
			 error->s.text);
	n_damaged += facts->status != BLOSCFS_GOOD;
}

static void same_filters(const struct bfs_value *info,
			 const struct bloscfs_facts *facts)
{
	const struct bfs_value *names = bfs_value_get(info, "filters");
	const struct bfs_value *metas = bfs_value_get(info, "filters_meta");

	assert_true(bfs_value_is(names, BFS_VALUE_ARRAY));
	assert_int_equal(names->n, facts->n_filters);
	for (uint32_t i = 0; i < facts->n_filters; i++) {
		same_text(bfs_value_at(names, i), facts->filters[i].name);
		assert_int_equal(facts->filters[i].meta,
				 metas ? bfs_value_at(metas, i)->i : 0);
		assert_true(facts->filters[i].id != 0);
	}
}

static void same_codec(const struct bfs_value *info,
		       const struct bloscfs_facts *facts)
{
	if (facts->codec[0])
		same_text(bfs_value_get(info, "codec"), facts->codec);
	else
		assert_int_equal(bfs_value_get(info, "codec")->kind,
				 BFS_VALUE_NULL);
	same_number(info, "clevel", facts->clevel < 0 ? BLOSCFS_NOT_KNOWN :
					(uint64_t)facts->clevel);
	same_filters(info, facts);
}

static void same_dtype(struct bloscfs_file *file,
		       const struct bloscfs_node *dir,
		       const struct bfs_value *info,
		       const struct bloscfs_facts *facts)
{
	const struct bfs_value *v = bfs_value_get(info, "dtype");
	char text[9000];
	size_t len;

	if (!bfs_value_is(v, BFS_VALUE_STRING)) {
		assert_int_equal(facts->dtype_len, 0);
		assert_int_equal(bloscfs_dtype(file, dir, text, sizeof(text),
					       &len, NULL),
				 BLOSCFS_ERR_RANGE);
		return;
	}
	assert_int_equal(bloscfs_dtype(file, dir, text, sizeof(text), &len,
				       NULL), BLOSCFS_OK);
	same_text(v, text);
	assert_int_equal(len, facts->dtype_len);
	assert_int_equal(len, strlen(text));
	assert_int_equal(strncmp(text, facts->dtype, strlen(facts->dtype)), 0);
	if (len < sizeof(facts->dtype))
		assert_string_equal(text, facts->dtype);
	else
		assert_true(strlen(facts->dtype) > sizeof(facts->dtype) - 5);
}

static void same_array(struct bloscfs_file *file,
		       const struct bloscfs_node *dir,
		       const struct bfs_value *info,
		       const struct bloscfs_facts *facts)
{
	const struct bfs_value *order = bfs_value_get(info, "order");

	same_dims(info, "shape", facts->is_array, facts->shape, facts->ndim);
	same_dims(info, "chunkshape", facts->is_tiled, facts->chunk_shape,
		  facts->ndim);
	same_dims(info, "blockshape", facts->is_tiled, facts->block_shape,
		  facts->ndim);
	same_dtype(file, dir, info, facts);
	assert_int_equal(facts->order,
			 order ? *order->s.text : facts->is_array ? 'C' : 0);
	n_arrays += facts->is_array;
}

/* The facts of the container that has this folder. */
static void same_facts(struct bloscfs_file *file,
		       const struct bloscfs_node *dir)
{
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bfs_document *doc = read_info(file, dir);
	const struct bfs_value *info = bfs_document_root(doc);
	const struct bfs_value *detail = bfs_value_get(info, "format_detail");

	assert_int_equal(bloscfs_facts(file, dir, &facts, NULL), BLOSCFS_OK);
	assert_int_equal(facts.size, sizeof(facts));
	same_text(bfs_value_get(info, "format"), facts.format);
	assert_string_equal(detail ? detail->s.text : "",
			    facts.format_detail);
	same_text(bfs_value_get(info, "kind"), bloscfs_kind_name(facts.kind));
	same_status(info, &facts);
	same_number(info, "size", facts.data_size);
	same_number(info, "nbytes", facts.nbytes);
	same_number(info, "cbytes", facts.cbytes);
	same_number(info, "nchunks", facts.n_chunks);
	same_number(info, "fetched", facts.n_fetched);
	same_number(info, "chunksize", facts.chunksize < 0 ?
		    BLOSCFS_NOT_KNOWN : (uint64_t)facts.chunksize);
	same_number(info, "blocksize", facts.blocksize);
	same_number(info, "typesize", facts.typesize);
	same_number(info, "metalayers", facts.n_metas);
	same_number(info, "vlmetalayers", facts.n_vlmetas);
	assert_int_equal(facts.has_vlblocks,
			 bfs_value_get(info, "vlblocks") != NULL);
	same_codec(info, &facts);
	same_array(file, dir, info, &facts);
	n_stores += facts.kind == BLOSCFS_KIND_STORE;
	bfs_document_free(doc);
}

/* ---- all samples ----------------------------------------------------- */

/* A folder, which belongs to the container `child`, and what is below it. */
static void walk(struct bloscfs_file *file, const struct bloscfs_node *dir,
		 uint32_t child, unsigned depth)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node;

	assert_true(depth < 32);
	if (dir->child != child || depth == 0) {
		n_inner += depth > 0;
		same_facts(file, dir);
	}
	for (uint64_t pos = 0; pos < 4096 &&
	     bloscfs_list(file, dir, pos, name, &node); pos++)
		if (bloscfs_is_dir(file, &node) && strcmp(name, "chunks"))
			walk(file, &node, dir->child, depth + 1);
}

static int take_sample(const char *path, const struct stat *st, int type,
		       struct FTW *at)
{
	struct bloscfs_node root = bloscfs_root();
	struct bloscfs_file *file;

	(void)st;
	(void)at;
	if (type == FTW_D && !sample_is_container_dir(path))
		return 0;
	if (sample_open(fs, path, &file, NULL) != BLOSCFS_OK)
		return 0;
	whose = path;
	n_outer++;
	walk(file, &root, 0, 0);
	bloscfs_close(file);
	return 0;
}

static void facts_are_those_of_info_json(void **state)
{
	(void)state;
	assert_int_equal(nftw(TEST_DATA_DIR, take_sample, 16, FTW_PHYS), 0);
	print_message("# %zu samples, %zu containers inside, %zu arrays, "
		      "%zu stores, %zu damaged\n", n_outer, n_inner, n_arrays,
		      n_stores, n_damaged);
	assert_true(n_outer > 130);
	assert_true(n_inner >= 5);
	assert_true(n_arrays >= 20);
	assert_true(n_stores >= 3);
	assert_true(n_damaged >= 10);
}

static void facts_decode_nothing(void **state)
{
	struct bloscfs_stats before = { .size = sizeof(before) };
	struct bloscfs_stats after = { .size = sizeof(after) };
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_file *file =
		sample_open_data(fs, "good-nd-structured.b2nd");

	(void)state;
	bloscfs_stats_get(fs, &before);
	assert_int_equal(bloscfs_facts(file, NULL, &facts, NULL), BLOSCFS_OK);
	bloscfs_stats_get(fs, &after);
	assert_int_equal(after.decoded, before.decoded);
	/* At most a block of the index. */
	assert_true(after.cache_misses - before.cache_misses <= 1);
	assert_true(facts.is_array && facts.is_tiled);
	assert_int_equal(facts.kind, BLOSCFS_KIND_ARRAY);
	bloscfs_close(file);
}

static void facts_fit_a_program_of_another_time(void **state)
{
	struct {
		struct bloscfs_facts facts;
		char later[32];
	} big = { .later = "later" };
	struct bloscfs_facts facts;
	struct bloscfs_file *file = sample_open_data(fs, "good-nd16.b2nd");

	(void)state;
	memset(&facts, 0x5a, sizeof(facts));
	facts.size = offsetof(struct bloscfs_facts, kind);
	assert_int_equal(bloscfs_facts(file, NULL, &facts, NULL), BLOSCFS_OK);
	assert_string_equal(facts.format, "b2nd");
	for (size_t i = facts.size; i < sizeof(facts); i++)
		assert_int_equal(((uint8_t *)&facts)[i], 0x5a);
	big.facts.size = sizeof(big);
	assert_int_equal(bloscfs_facts(file, NULL, &big.facts, NULL),
			 BLOSCFS_OK);
	assert_int_equal(big.facts.ndim, 16);
	for (size_t i = 0; i < sizeof(big.later); i++)
		assert_int_equal(big.later[i], 0);
	bloscfs_close(file);
}

static void a_dtype_is_cut_between_characters(void **state)
{
	struct bloscfs_file *file =
		sample_open_data(fs, "good-nd-structured.b2nd");
	struct bloscfs_diag diag = { 0 };
	char whole[1024], cut[8];
	size_t len, n;

	(void)state;
	assert_int_equal(bloscfs_dtype(file, NULL, whole, sizeof(whole), &len,
				       NULL), BLOSCFS_OK);
	assert_true(len >= sizeof(cut));
	assert_int_equal(bloscfs_dtype(file, NULL, cut, sizeof(cut), &n,
				       NULL), BLOSCFS_OK);
	assert_int_equal(n, len);
	assert_int_equal(strlen(cut), sizeof(cut) - 1);
	assert_memory_equal(cut, whole, sizeof(cut) - 1);
	assert_int_equal(bloscfs_dtype(file, NULL, NULL, 0, &n, NULL),
			 BLOSCFS_OK);
	assert_int_equal(bloscfs_dtype(file, NULL, NULL, 1, &n, &diag),
			 BLOSCFS_ERR_INVALID);
	bloscfs_close(file);
}

static void facts_of_no_container_are_refused(void **state)
{
	struct bloscfs_node node = { .child = 7 };
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_file *file = sample_open_data(fs, "good-nd16.b2nd");
	struct bloscfs_diag diag = { 0 };

	(void)state;
	assert_int_equal(bloscfs_facts(file, &node, &facts, &diag),
			 BLOSCFS_ERR_INVALID);
	assert_null(facts.format);
	assert_int_equal(diag.err, BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_facts(NULL, &node, &facts, NULL),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_facts(file, NULL, NULL, NULL),
			 BLOSCFS_ERR_INVALID);
	assert_string_equal(bloscfs_kind_name(99), "unknown");
	bloscfs_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_those_of_info_json),
		cmocka_unit_test(facts_decode_nothing),
		cmocka_unit_test(facts_fit_a_program_of_another_time),
		cmocka_unit_test(a_dtype_is_cut_between_characters),
		cmocka_unit_test(facts_of_no_container_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
