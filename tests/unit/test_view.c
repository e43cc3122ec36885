/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view.c - the views of one opened container: names, lookups, listings,
 * sizes and ranges; over frames built byte by byte, and over the samples.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "support/frames.h"
#include "container/nametree.h"
#include "view/dispatch.h"
#include "view/kept.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_WHOLE (UINT64_C(8) << 20)	/* bytes of an entry read whole */

/* ---- names ----------------------------------------------------------- */

static void names_are_escaped_and_numbered(void **state)
{
	static const struct {
		const char *raw;
		size_t len, nth;
		const char *want;
	} cases[] = {
		{ "plain", 5, 1, "plain" },
		{ "plain", 5, 0, "plain" },
		{ "", 0, 1, "%" },
		{ ".", 1, 1, "%2E" },
		{ "..", 2, 1, "%2E%2E" },
		{ "...", 3, 1, "..." },
		{ ".a", 2, 1, ".a" },
		{ "a\0b", 3, 1, "a%00b" },
		{ "\x1f\x20\x7e\x7f\x80\xff", 6, 1, "%1F ~%7F\x80\xff" },
		{ "%2F", 3, 1, "%252F" },
		{ "a", 1, 2, "a%~2" },
		{ "", 0, 12, "%%~12" },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		char *got = bfs_name_escape(cases[i].raw, cases[i].len,
					    cases[i].nth);

		assert_string_equal(got, cases[i].want);
		bfs_free(got);
	}
}

static void metalayers_are_found_under_their_file_names(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);
	char path[300];

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(frames_meta_files); i++) {
		snprintf(path, sizeof(path), "meta/%s", frames_meta_files[i]);
		frames_expect(file, path, frames_metas[i].p,
			      frames_metas[i].len);
	}
	for (size_t i = 0; i < BFS_ARRAY_LEN(frames_vlmeta_files); i++) {
		snprintf(path, sizeof(path), "vlmeta/%s",
			 frames_vlmeta_files[i]);
		frames_expect(file, path, frames_vlmetas[i].p,
			     frames_vlmetas[i].len);
	}
	frames_close(file, &bytes);
}

static void lookups_take_whole_names_only(void **state)
{
	static const char *const wrong[] = {
		"", "nosuch", "meta/plai", "meta/plainx", "meta/a/b",
		"meta/.", "meta/..", "meta/50%", "meta/auth_token/x",
		"data.bin/x", "vlmeta/plain", "chunks/0", "chunks/000000000",
		"chunks/00000000000", "chunks/0000000004",
		"chunks/-000000001", "chunks/000000000a", "chunks/ 000000001",
		"chunks/18446744073709551616", "chunks/99999999999999999999",
		"chunks/0000000000 ", "data.npy", "info",
	};
	struct bfs_node dir = frames_root(), node;
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);

	(void)state;
	for (size_t i = 1; i < BFS_ARRAY_LEN(wrong); i++)
		assert_false(frames_find(file, wrong[i], &node));
	assert_false(bfs_file_lookup(file, &dir, "", 0, &node));
	assert_true(frames_find(file, "chunks", &dir));
	assert_false(bfs_file_lookup(file, &dir, "", 0, &node));
	assert_true(frames_find(file, "chunks/0000000003", &node));
	assert_int_equal(node.index, 3);
	frames_close(file, &bytes);
}

static void thousands_of_metalayers_are_named_and_found(void **state)
{
	enum { N = 8000 };
	struct frame_layer *layers = calloc(N, sizeof(*layers));
	char (*names)[16] = calloc(N, sizeof(*names));
	struct frame_input in = { .vlmetas = layers, .n_vlmetas = N,
			    .typesize = 1 };
	struct bfs_node dir, node;
	struct bfs_file *file;
	struct frame_bytes bytes;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		layers[i].name_len = (size_t)sprintf(names[i], "n%u", i / 4);
		layers[i].name = names[i];
		layers[i].p = "\x01";
		layers[i].len = 1;
	}
	bytes = frames_build(&in);
	file = frames_open(&bytes);
	assert_true(frames_find(file, "vlmeta", &dir));
	for (unsigned i = 0; i < N; i++) {
		char name[BFS_NAME_MAX + 1], want[32];

		assert_true(bfs_file_list(file, &dir, i, name, &node));
		snprintf(want, sizeof(want), i % 4 ? "n%u%%~%u" : "n%u",
			 i / 4, i % 4 + 1);
		assert_string_equal(name, want);
		assert_true(bfs_file_lookup(file, &dir, name, strlen(name),
					    &node));
		assert_int_equal(node.index, i);
	}
	frames_close(file, &bytes);
	free(layers);
	free(names);
}

static void a_list_of_views_is_parsed(void **state)
{
	struct bfs_diag diag = { 0 };
	struct bfs_file *file;
	struct bfs_node node;
	struct bfs_source *source;
	struct frame_bytes bytes;
	uint32_t all, views;

	(void)state;
	assert_int_equal(bfs_view_parse(NULL, &all, &diag), BFS_OK);
	assert_int_equal(bfs_view_parse("", &views, &diag), BFS_OK);
	assert_int_equal(all, views);
	assert_int_equal(bfs_view_parse("meta,npy,info,data,chunks", &views,
					&diag), BFS_OK);
	assert_int_equal(all, views);
	assert_int_equal(bfs_view_parse("info,nosuch", &views, &diag),
			 BFS_ERR_INVALID);
	assert_non_null(strstr(diag.text, "nosuch"));
	assert_int_equal(bfs_view_parse("info,", &views, &diag),
			 BFS_ERR_INVALID);
	assert_int_equal(bfs_view_parse("inf", &views, &diag),
			 BFS_ERR_INVALID);
	assert_int_equal(bfs_view_parse("imaging", &all, &diag), BFS_OK);
	assert_int_equal(bfs_view_parse("info,data,tiff,nifti,headers", &views,
					&diag), BFS_OK);
	assert_int_equal(all, views);
	assert_int_equal(bfs_view_parse("web,tables,all", &all, &diag), BFS_OK);
	assert_int_equal(all, (UINT32_C(1) << bfs_n_views) - 1);
	assert_int_equal(bfs_view_parse("imagin", &views, &diag),
			 BFS_ERR_INVALID);
	assert_int_equal(bfs_view_parse(" ", &views, &diag), BFS_ERR_INVALID);
	file = frames_open_grid(&bytes, frames_array_meta,
				FRAMES_ARRAY_META_LEN, NULL);
	assert_true(frames_find(file, "info.json", &node));
	bfs_file_free(file);
	assert_int_equal(bfs_source_memory(bytes.p, bytes.len, false, &source,
					   &diag), BFS_OK);
	assert_int_equal(frames_open_source(source, "npy", NULL, &file, &diag),
			 BFS_OK);
	assert_false(bfs_file_open(file, &node, &diag) == BFS_OK);
	assert_false(frames_find(file, "info.json", &node));
	assert_true(frames_find(file, "data.npy", &node));
	bfs_source_unref(source);
	frames_close(file, &bytes);
}

/* ---- walking all entries --------------------------------------------- */

typedef void visit_fn(struct bfs_file *file, const struct bfs_node *node,
		      void *arg);

/* Calls visit for every entry; checks that listing is the same from any
 * position and that what is listed is found. */
static void walk(struct bfs_file *file, const struct bfs_node *dir,
		 visit_fn *visit, void *arg)
{
	char name[BFS_NAME_MAX + 1], again[BFS_NAME_MAX + 1];
	struct bfs_node node, found;
	struct bfs_attr attr;
	uint64_t n = 0;

	while (n < 1000 && bfs_file_list(file, dir, n, name, &node)) {
		assert_true(strlen(name) > 0 && !strchr(name, '/'));
		assert_string_not_equal(name, ".");
		assert_string_not_equal(name, "..");
		assert_true(bfs_file_lookup(file, dir, name, strlen(name),
					    &found));
		assert_int_equal(found.view, node.view);
		assert_int_equal(found.kind, node.kind);
		assert_int_equal(found.index, node.index);
		assert_true(bfs_file_list(file, dir, n / 2, again, &found));
		assert_true(n / 2 == n || strcmp(name, again) != 0);
		bfs_file_stat(file, &node, &attr);
		assert_int_equal(bfs_file_is_dir(file, &node), attr.is_dir);
		if (attr.is_dir)
			walk(file, &node, visit, arg);
		else
			visit(file, &node, arg);
		n++;
	}
	assert_true(n == 1000 || !bfs_file_list(file, dir, n + 7, name,
						&node));
}

static void check_size(struct bfs_file *file, const struct bfs_node *node,
		       void *arg)
{
	struct bfs_diag diag = { 0 };
	struct bfs_attr attr;
	uint64_t at = 0;
	size_t n, *n_read = arg;
	uint8_t *buf;

	bfs_file_stat(file, node, &attr);
	assert_true(attr.stored_len <= attr.len);
	assert_true(attr.blksize >= 4096 && attr.blksize <= 1048576 &&
		    !(attr.blksize & (attr.blksize - 1)));
	if (bfs_file_open(file, node, &diag) != BFS_OK) {
		assert_true(diag.text[0] != 0);
		return;
	}
	buf = malloc(1 << 20);
	if (attr.len > MAX_WHOLE)
		at = attr.len - MAX_WHOLE;
	for (n = 1; n > 0; at += n) {
		if (bfs_file_read(file, node, at, buf, 1 << 20, &n, &diag))
			break;		/* damage inside */
		*n_read += n;
	}
	if (n == 0)
		assert_int_equal(at, attr.len);
	assert_true(at <= attr.len);
	free(buf);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void check_pins(struct bfs_file *file, const struct bfs_node *node,
		       void *arg)
{
	enum { MOST = 200000 };
	struct bfs_pieces pieces;
	struct bfs_attr attr;
	uint8_t *want = malloc(MOST), *buf = malloc(MOST);
	uint32_t *seed = arg;

	bfs_file_stat(file, node, &attr);
	for (int i = 0; i < 12; i++) {
		uint64_t off = next_random(seed) % (attr.len + 3);
		size_t len = next_random(seed) %
			     (i % 2 ? MOST : 700) + 1, n = 0, at = 0;
		enum bfs_err err;

		if (i == 0)
			off = 0;
		err = bfs_file_read(file, node, off, want, len, &n, NULL);
		assert_int_equal(bfs_file_pin(file, node, off, buf, len,
					      &pieces, NULL), err);
		if (err != BFS_OK) {
			assert_int_equal(pieces.n, 0);
			continue;
		}
		for (size_t k = 0; k < pieces.n; k++) {
			assert_true(at + pieces.iov[k].iov_len <= n);
			assert_memory_equal(pieces.iov[k].iov_base, want + at,
					    pieces.iov[k].iov_len);
			at += pieces.iov[k].iov_len;
		}
		assert_int_equal(at, n);
		bfs_array_release(file->array, &pieces);
	}
	free(want);
	free(buf);
}

static void every_entry_is_as_long_as_it_says(void **state)
{
	struct bfs_node dir = frames_root();
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);
	size_t n_read = 0;

	(void)state;
	walk(file, &dir, check_size, &n_read);
	assert_true(n_read > 2 * sizeof(frames_pattern));
	frames_close(file, &bytes);
	file = frames_open_grid(&bytes, frames_array_meta,
				FRAMES_ARRAY_META_LEN, NULL);
	n_read = 0;
	walk(file, &dir, check_size, &n_read);
	assert_true(n_read > 4 * 96 + 2 * 140);
	frames_close(file, &bytes);
}

static void pieces_hold_the_same_bytes_as_reads(void **state)
{
	struct bfs_node dir = frames_root();
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);
	uint32_t seed = 1;

	(void)state;
	walk(file, &dir, check_pins, &seed);
	frames_close(file, &bytes);
	file = frames_open_grid(&bytes, frames_array_meta,
				FRAMES_ARRAY_META_LEN, NULL);
	walk(file, &dir, check_pins, &seed);
	frames_close(file, &bytes);
}

/* The default, and what has one entry per frame. */
static const char sample_views[] = "info,data,npy,chunks,meta,table,map";
static int n_samples;

static int visit_sample(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	struct bfs_node dir = frames_root();
	struct bfs_source *source;
	struct bfs_file *file;
	struct bfs_diag diag;
	uint32_t seed = 7;
	size_t n_read = 0;
	int fd;

	if (type != FTW_F || st->st_size > 16 << 20)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(bfs_source_file(fd, &source, &diag), BFS_OK);
	if (frames_open_source(source, sample_views, path + ftw->base, &file,
			       &diag) == BFS_OK) {
		walk(file, &dir, check_size, &n_read);
		walk(file, &dir, check_pins, &seed);
		json_object_put(frames_json(file, "info.json"));
		if (!file->array->container->is_store) {
			json_object_put(frames_json(file, "meta.json"));
			json_object_put(frames_json(file, "vlmeta.json"));
		}
		bfs_file_free(file);
		n_samples++;
	}
	bfs_source_unref(source);
	return 0;
}

static void every_entry_of_every_sample_holds(void **state)
{
	const char *dir = getenv("BLOSCFS_TEST_DATA");

	(void)state;
	n_samples = 0;
	assert_int_equal(nftw(dir ? dir : TEST_DATA_DIR, visit_sample, 16,
			      FTW_PHYS), 0);
	assert_true(n_samples > 0);
}

/* Of fixed metalayers, and of a name that ends like a number. */
static void equal_names_have_keys_as_their_files_have_names(void **state)
{
	static const struct frame_layer layers[] = {
		FRAME_LAYER("n1", "\x01"), FRAME_LAYER("n1", "\x02"),
		FRAME_LAYER("n1%~2", "\x03"), FRAME_LAYER("n1", "\x04"),
	};
	enum { N = BFS_ARRAY_LEN(layers) };
	struct frame_input in = { .metas = layers, .n_metas = N,
				  .typesize = 1 };
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open(&bytes);
	struct json_object *meta = frames_json(file, "meta.json");
	struct bfs_node node;
	char path[64];

	(void)state;
	assert_int_equal(json_object_object_length(meta), N);
	json_object_object_foreach(meta, key, value) {
		size_t len;
		uint8_t *held;

		snprintf(path, sizeof(path), "meta/%s", key);
		assert_true(frames_find(file, path, &node));
		held = frames_read(file, path, &len);
		assert_int_equal(len, 1);
		assert_int_equal(held[0], json_object_get_int(value));
		free(held);
	}
	json_object_put(meta);
	frames_close(file, &bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_escaped_and_numbered),
		cmocka_unit_test(
			metalayers_are_found_under_their_file_names),
		cmocka_unit_test(lookups_take_whole_names_only),
		cmocka_unit_test(
			thousands_of_metalayers_are_named_and_found),
		cmocka_unit_test(a_list_of_views_is_parsed),
		cmocka_unit_test(every_entry_is_as_long_as_it_says),
		cmocka_unit_test(pieces_hold_the_same_bytes_as_reads),
		cmocka_unit_test(every_entry_of_every_sample_holds),
		cmocka_unit_test(
			equal_names_have_keys_as_their_files_have_names),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
