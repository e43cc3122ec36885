/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile_store.h - for tests: small frames as members of stores, and a
 * store's entries by their paths.
 */
#ifndef HOSTILE_STORE_H
#define HOSTILE_STORE_H

#include "base/bytes.h"
#include "support/build2.h"
#include "support/frames.h"
#include "view/nesting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A frame whose data is the text. */
static inline struct build make_member(const char *text)
{
	struct frame_input in = {
		.data = (const uint8_t *)text, .len = strlen(text),
		.chunksize = strlen(text), .blocksize = strlen(text),
		.typesize = 1,
	};
	struct frame_bytes b = frames_build(&in);

	return (struct build){ b.p, b.len, b.cap };
}

struct store {
	struct bfs_nesting *tree;
	struct bfs_file *root;
};

static inline struct store open_store(const struct build *b, const char *name)
{
	struct store s;

	s.root = hostile_file(b, name);
	assert_int_equal(bfs_nesting_new(hostile_engine, s.root->views, s.root,
					 &s.tree, NULL),
			 BFS_OK);
	return s;
}

static inline void close_store(struct store *s)
{
	bfs_nesting_free(s->tree);
}

static inline bool find_place(struct store *s, const char *path,
			      struct bfs_place *ret_place)
{
	struct bfs_place at = { 0, { .view = BFS_VIEW_ROOT } };

	while (*path) {
		size_t len = strcspn(path, "/");

		if (!bfs_nesting_lookup(s->tree, &at, path, len, &at))
			return false;
		path += len + (path[len] == '/');
	}
	*ret_place = at;
	return true;
}

/* The entry at a path has exactly this content. */
static inline void expect_entry(struct store *s, const char *path,
				const void *want, size_t len)
{
	struct bfs_diag diag = { 0 };
	struct bfs_place place;
	struct bfs_file *file;
	uint8_t *got = malloc(len + 1);
	struct bfs_attr attr;
	enum bfs_err err;
	size_t n = 0;

	assert_non_null(got);
	if (!find_place(s, path, &place))
		fail_msg("no %s", path);
	err = bfs_nesting_take(s->tree, place.child, &file, &diag);
	assert_int_equal(err, BFS_OK);
	bfs_file_stat(file, &place.node, &attr);
	err = bfs_file_read(file, &place.node, 0, got, len + 1, &n, &diag);
	if (err != BFS_OK)
		print_message("# %s: %s\n", path, diag.text);
	assert_int_equal(err, BFS_OK);
	assert_int_equal(n, len);
	assert_int_equal(attr.len, len);
	assert_memory_equal(got, want, len);
	bfs_nesting_give(s->tree, place.child);
	free(got);
}

/* The frame at a path has this text as its data. */
static inline void expect_text(struct store *s, const char *path,
			       const char *want)
{
	char data_path[600];

	snprintf(data_path, sizeof(data_path), "%s/data.bin", path);
	expect_entry(s, data_path, want, strlen(want));
}

/* The member at a path is listed, but cannot be opened. */
static inline void expect_refused(struct store *s, const char *path,
				  enum bfs_err want, const char *word)
{
	struct bfs_diag diag = { 0 };
	struct bfs_place place;
	struct bfs_file *file;
	enum bfs_err err;
	uint8_t byte;
	size_t n;

	if (!find_place(s, path, &place))
		fail_msg("no %s", path);
	assert_int_equal(bfs_nesting_take(s->tree, place.child, &file, &diag),
			 BFS_OK);
	err = bfs_file_open(file, &place.node, &diag);
	if (err != want || !strstr(diag.text, word))
		print_message("# %s: %s\n", bfs_err_name(err), diag.text);
	assert_int_equal(err, want);
	assert_non_null(strstr(diag.text, word));
	assert_int_not_equal(bfs_file_read(file, &place.node, 0, &byte, 1, &n,
					   NULL), BFS_OK);
	bfs_nesting_give(s->tree, place.child);
}

static inline void expect_no_entry(struct store *s, const char *path)
{
	struct bfs_place place;

	if (find_place(s, path, &place))
		fail_msg("there is %s", path);
}

/* Lists everything; names must be names, and found again. */
static inline unsigned list_all(struct store *s, const struct bfs_place *dir,
				unsigned depth)
{
	char name[BFS_NAME_MAX + 1];
	struct bfs_place place, found;
	unsigned n = 0;

	if (depth > 40)
		return 0;
	for (uint64_t pos = 0;
	     bfs_nesting_list(s->tree, dir, pos, name, &place); pos++) {
		struct bfs_file *file;
		struct bfs_attr attr;

		assert_true(name[0] && !strchr(name, '/') &&
			    strcmp(name, ".") && strcmp(name, ".."));
		assert_true(bfs_nesting_lookup(s->tree, dir, name, strlen(name),
					       &found));
		assert_int_equal(found.child, place.child);
		assert_int_equal(found.node.view, place.node.view);
		assert_int_equal(found.node.kind, place.node.kind);
		assert_int_equal(found.node.index, place.node.index);
		n++;
		if (bfs_nesting_take(s->tree, place.child, &file, NULL))
			continue;
		bfs_file_stat(file, &place.node, &attr);
		bfs_nesting_give(s->tree, place.child);
		if (attr.is_dir)
			n += list_all(s, &place, depth + 1);
	}
	return n;
}

static inline unsigned list_store(struct store *s)
{
	struct bfs_place root = { 0, { .view = BFS_VIEW_ROOT } };

	return list_all(s, &root, 0);
}

#endif
