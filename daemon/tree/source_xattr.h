/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_xattr.h - extended attributes of what lies below SOURCE.
 *
 * All calls may run at once. Failures are -errno. A symlink is not followed.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_XATTR_H
#define BFS_DAEMON_TREE_SOURCE_XATTR_H

#include "tree/source.h"

/* Length of an extended attribute; -ENODATA where there are none. */
ssize_t src_get_xattr(const struct src *src, int base, const char *path,
		      const char *name, void *buf, size_t cap);
/* Length of their names, each with its NUL. */
ssize_t src_list_xattr(const struct src *src, int base, const char *path,
		       char *buf, size_t cap);
/* The first one for a file in an open directory that need not be one that we
 * may list; file is one component, or ".". -EOPNOTSUPP, too. */
ssize_t source_xattr_at(int dir_fd, const char *file, const char *name,
			void *buf, size_t cap);

#endif
