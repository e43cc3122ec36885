/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.h - facts of a container and of its chunks as extended attributes:
 * few and short, from headers alone.
 */
#ifndef BFS_VIEW_XATTR_H
#define BFS_VIEW_XATTR_H

#include "view/view.h"

#define BFS_XATTR_MAX 1024	/* bytes of a value */

/* Attribute i (0, 1, ...) of an entry; false at the end. An attribute that
 * does not apply has *ret_len 0. value holds BFS_XATTR_MAX bytes, or it and
 * ret_len are NULL: nothing but the name is given then. */
bool bfs_file_xattr(struct bfs_file *file, const struct bfs_node *node,
		    size_t i, const char **ret_name, char *value,
		    size_t *ret_len);

#endif
