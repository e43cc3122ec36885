/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_stores.h - for tests of the view zarr: arrays made here, opened with
 * it, and what is in their stores.
 */
#ifndef BFS_TEST_ZARR_STORES_H
#define BFS_TEST_ZARR_STORES_H

#include "base/bytes.h"
#include "support/build2.h"
#include "support/frames.h"
#include "view/dispatch.h"
#include "view/kept.h"
#include "view/zarr/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ZEROS (UINT64_C(0x81) << 56)
#define NAN_CHUNK (UINT64_C(0x82) << 56)
#define UNINIT (UINT64_C(0x84) << 56)

/* Opens with the views that matter here; b stays the caller's. */
static inline struct bfs_file *open_bytes(const struct build *b,
					  const char *name)
{
	struct bfs_diag diag = { 0 };
	struct bfs_source *source;
	struct bfs_file *file;

	assert_int_equal(bfs_source_memory(b->p, b->len, false, &source,
					   &diag), BFS_OK);
	assert_int_equal(frames_open_source(source,
					    "info,data,npy,zarr,zarr2,zarr3",
					    name, &file, &diag), BFS_OK);
	bfs_source_unref(source);
	return file;
}

static inline struct bfs_file *open_frame(struct build_frame *f,
					  struct build *b)
{
	memset(b, 0, sizeof(*b));
	build_frame_finish(f, b);
	return open_bytes(b, "x.b2nd");
}

static inline struct bfs_file *open_sample(const char *name,
					   struct build *b)
{
	*b = build_sample(name);
	return open_bytes(b, name);
}

static inline void close_file(struct bfs_file *file, struct build *b)
{
	bfs_file_free(file);
	free(b->p);
}

static inline bool has(struct bfs_file *file, const char *path)
{
	struct bfs_node node;

	return frames_find(file, path, &node);
}

/* A value of a JSON file in one line; "" where it is not there. */
static inline void value_of(struct bfs_file *file, const char *path,
			    const char *key, char text[512])
{
	struct json_object *obj = frames_json(file, path), *value;

	text[0] = '\0';
	if (json_object_object_get_ex(obj, key, &value))
		snprintf(text, 512, "%s", json_object_to_json_string_ext(
				 value, JSON_C_TO_STRING_PLAIN |
				 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(obj);
}

static inline void expect_json(struct bfs_file *file, const char *path,
			       const char *key, const char *want)
{
	char text[512];

	value_of(file, path, key, text);
	assert_string_equal(text, want);
}

/* (5, 7) in chunks of (4, 4), blocks of (2, 3), items "<i4"; chunks as these
 * entries say, or of bytes that differ. */
static inline struct bfs_file *open_grid(struct build *b,
					 const uint64_t *entries)
{
	struct build_frame f = { .chunksize = 96, .typesize = 4, .ndim = 2,
		.shape = { 5, 7 }, .chunkshape = { 4, 4 },
		.blockshape = { 2, 3 }, .dtype = "<i4" };
	uint8_t data[96];
	unsigned i;

	for (i = 0; i < 4; i++) {
		struct build_chunk c = { .typesize = 4, .blocksize = 24,
			.codec = BUILD_LZ4, .data = data, .len = 96 };

		build_fill(data, sizeof(data), i + 1);
		if (entries && entries[i])
			build_frame_special(&f, entries[i], 96);
		else
			build_frame_chunk(&f, &c);
	}
	return open_frame(&f, b);
}

/* One chunk of two zero items of this dtype. */
static inline struct bfs_file *open_dtype(struct build *b, const char *dtype,
					  unsigned typesize)
{
	struct build_frame f = { .chunksize = 2 * typesize,
		.typesize = typesize, .ndim = 1, .shape = { 2 },
		.chunkshape = { 2 }, .blockshape = { 2 }, .dtype = dtype };

	build_frame_special(&f, ZEROS, 2 * typesize);
	return open_frame(&f, b);
}

static inline void expect_same(const struct bfs_node *a,
			       const struct bfs_node *b)
{
	assert_int_equal(a->view, b->view);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->index, b->index);
}

static inline unsigned count(struct bfs_file *file, const char *path)
{
	char name[BFS_NAME_MAX + 1];
	struct bfs_node dir, node, found;
	unsigned n = 0;

	assert_true(frames_find(file, path, &dir));
	for (; bfs_file_list(file, &dir, n, name, &node); n++) {
		assert_true(bfs_file_lookup(file, &dir, name, strlen(name),
					    &found));
		expect_same(&node, &found);
	}
	assert_false(bfs_file_list(file, &dir, n + 1, name, &node));
	return n;
}

#endif
