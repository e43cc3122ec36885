/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - the entries of Zarr stores and of groups around them, which the
 * rows zarr, zarr2 and zarr3 show. For these rows alone.
 *
 * What is not said here is as in struct bfs_view. Nodes of zarr2 and zarr3
 * have entries of that version alone.
 */
#ifndef BFS_VIEW_ZARR_STORE_H
#define BFS_VIEW_ZARR_STORE_H

#include "text/json.h"
#include "view/view.h"

/* The folders of a store and of a group by these names; 0 where the array has
 * no version that the row shows. */
size_t bfs_zarr_roots(struct bfs_file *file, enum bfs_row row,
		      const char *store, const char *group,
		      struct bfs_root *ret_roots);
bool bfs_zarr_lookup(struct bfs_file *file, const struct bfs_node *dir,
		     const char *name, size_t name_len,
		     struct bfs_node *ret_node);
bool bfs_zarr_list(struct bfs_file *file, const struct bfs_node *dir,
		   uint64_t pos, char *name, struct bfs_node *ret_node);
bool bfs_zarr_is_dir(const struct bfs_node *node);
void bfs_zarr_stat(struct bfs_file *file, const struct bfs_node *node,
		   struct bfs_attr *ret_attr);
uint64_t bfs_zarr_run(struct bfs_file *file, const struct bfs_node *node,
		      uint64_t off, uint64_t len, bool *ret_hole);
enum bfs_err bfs_zarr_open(struct bfs_file *file, const struct bfs_node *node,
			   struct bfs_diag *diag);
enum bfs_err bfs_zarr_part(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, uint64_t len,
			   struct bfs_part *ret_part, struct bfs_diag *diag);

/* Writes a key whose value is true, or the reason where it is not "". */
void bfs_zarr_put_verdict(struct bfs_json *json, const char *key,
			  const char *why);
/* What info.json says of the row of one version (2 or 3): nothing of what is
 * no array, false where there is no store at all. */
void bfs_zarr_note(struct bfs_file *file, struct bfs_json *json,
		   const char *key, unsigned version);

#endif
