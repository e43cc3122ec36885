/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stores.h - the arrays that a table's columns lie in: the container's own, or
 * those of a store, or of a directory, opened by their keys.
 */
#ifndef BFS_VIEW_ARROW_STORES_H
#define BFS_VIEW_ARROW_STORES_H

#include "view/arrow/table.h"
#include "view/kept.h"

#define BFS_ARROW_STORES 4096

struct bfs_arrow_stores {
	struct bfs_array **list;	/* owned, and its arrays but a first
					 * one that is borrowed */
	size_t n, cap;
	bool borrows;
};

void bfs_arrow_stores_release(struct bfs_arrow_stores *stores);
/* Adds the container's own array, as the first one. */
enum bfs_err bfs_arrow_store_own(struct bfs_arrow_stores *stores,
				 struct bfs_array *array,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether a store has a key, such as `_cols/a`, with one of the endings that
 * its frames have, or none. */
bool bfs_arrow_has_key(struct bfs_file *file, const char *key);
/* Opens what lies under a key, and adds it. NOT_FORMAT where nothing is there
 * or no frame. */
enum bfs_err bfs_arrow_open_key(struct bfs_file *file,
				struct bfs_arrow_stores *stores,
				const char *key, size_t *ret_store,
				struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same of a folder of the table's directory that is a container: a column
 * of bcolz. */
enum bfs_err bfs_arrow_open_folder(struct bfs_file *file,
				   struct bfs_arrow_stores *stores,
				   const char *name, size_t *ret_store,
				   struct bfs_diag *diag) BFS_MUST_CHECK;
/* Closes the last one. */
void bfs_arrow_close_last(struct bfs_arrow_stores *stores);

/* All of the items of a store: their bytes, where they can be read. */
enum bfs_err bfs_arrow_store_len(const struct bfs_arrow_stores *stores,
				 size_t store, uint64_t *ret_len,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
/* That a store is a sound array, of at least n rows that can be read. */
enum bfs_err bfs_arrow_need_rows(const struct bfs_arrow_stores *stores,
				 size_t store, uint64_t n,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
/* A reader of them, of as long as they are there. */
struct bfs_arrow_reader bfs_arrow_reader(const struct bfs_arrow_stores *stores);

#endif
