/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dispatch.h - the table of views, and the entries of an opened container
 * whatever view they belong to.
 *
 * Nodes come from callers and are checked here and in the rows.
 */
#ifndef BFS_VIEW_DISPATCH_H
#define BFS_VIEW_DISPATCH_H

#include "view/view.h"

extern const struct bfs_view *const bfs_views[];
extern const size_t bfs_n_views;

/* "info,data" to a bit per row; a word may be a group of views, or "all". NULL
 * or "" gives the default. INVALID names the unknown word. */
enum bfs_err bfs_view_parse(const char *list, uint32_t *ret_views,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* An opened container with its views, freed by bfs_file_free (kept.h). Takes
 * over array, also on failure. */
enum bfs_err bfs_file_new(struct bfs_array *array, uint32_t views,
			  struct bfs_file **ret_file,
			  struct bfs_diag *diag) BFS_MUST_CHECK;

/* The same calls as a row's, for any node including the root. */
bool bfs_file_lookup(struct bfs_file *file, const struct bfs_node *dir,
		     const char *name, size_t name_len,
		     struct bfs_node *ret_node);
bool bfs_file_list(struct bfs_file *file, const struct bfs_node *dir,
		   uint64_t pos, char *name, struct bfs_node *ret_node);
/* Shows a size that cannot be known as what headers claim, else 1: programs
 * take 0 for empty and do not open the file. */
void bfs_file_stat(struct bfs_file *file, const struct bfs_node *node,
		   struct bfs_attr *ret_attr);
bool bfs_file_is_dir(struct bfs_file *file, const struct bfs_node *node);
bool bfs_file_keeps(struct bfs_file *file, const struct bfs_node *node);
enum bfs_err bfs_file_open(struct bfs_file *file, const struct bfs_node *node,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The first byte at or after off that lies in a hole, or in data. The end of
 * the file counts as a hole; RANGE where there is nothing. */
enum bfs_err bfs_file_seek(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, bool hole, uint64_t *ret_off,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The row that a node belongs to; NULL where it is not shown. */
const struct bfs_view *bfs_file_row(const struct bfs_file *file,
				    const struct bfs_node *node);
/* As bfs_file_stat, with a length of 0 where it cannot be known. */
void bfs_file_stat_known(struct bfs_file *file, const struct bfs_node *node,
			 struct bfs_attr *ret_attr);

/* Reads up to len bytes; *ret_len is short only at the end of the file. */
enum bfs_err bfs_file_read(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, void *buf, size_t len,
			   size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same as pieces; buf (len bytes) takes what must be gathered. */
enum bfs_err bfs_file_pin(struct bfs_file *file, const struct bfs_node *node,
			  uint64_t off, void *buf, size_t len,
			  struct bfs_pieces *ret_pieces,
			  struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
