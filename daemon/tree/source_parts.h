/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_parts.h - the rights of the parts of a container that is a directory.
 *
 * Parts change without a trace in their folder and are looked at again after a
 * while; how long that is depends on how much work it was.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_PARTS_H
#define BFS_DAEMON_TREE_SOURCE_PARTS_H

#include "tree/source.h"

/* Looks at the parts of the container in an open directory, and sets parts and
 * parts_until. 0 or -errno. */
int source_parts_scan(const struct src *src, int dir_fd,
		      struct src_stat *stat);
/* Whether what was found of known's parts still counts for stat, which has
 * none yet. */
bool source_parts_hold(const struct src_stat *known,
		       const struct src_stat *stat);

#endif
