/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - tables: folders of columns that are containers themselves, of
 * python-blosc2 (CTable) in a directory or below a key of a store, and of bcolz
 * (a rootdir). See docs/formats/stores.md and docs/formats/bcolz.md.
 */
#ifndef BFS_CONTAINER_TABLE_H
#define BFS_CONTAINER_TABLE_H

#include "container/container.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Their names, and below keys of embed stores without their endings. */
#define BFS_TABLE_META "_meta"
#define BFS_TABLE_MARKS "_valid_rows"

/* Whether a folder `dir` of a store's names is a table. */
bool bfs_table_is_below(const struct bfs_container *store, uint32_t dir);

/* Opens such a table as a store of its own. source: where the members' offsets
 * lead, which is referenced. */
enum bfs_err bfs_table_open_below(const struct bfs_container *store,
				  uint32_t dir, struct bfs_source *source,
				  struct bfs_cache *cache,
				  struct bfs_container **ret_container,
				  struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
