/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_rights.h - rights of what lies below SOURCE.
 *
 * All calls may run at once. Failures are -errno.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_RIGHTS_H
#define BFS_DAEMON_TREE_SOURCE_RIGHTS_H

#include "tree/source.h"

/* src_stat with rights. known, if not NULL, is what was found at the path
 * before. */
int src_look(const struct src *src, int base, const char *path,
	     const struct src_stat *known, struct src_stat *ret_stat);
/* Adds the rights of an open file or directory to its stat. */
int src_look_fd(const struct src *src, int fd, struct src_stat *stat);
/* The rights of an open file. */
int src_rights_fd(int fd, struct rights *ret_rights);
/* Who may do what with a thing itself. */
struct rights src_rights(const struct src_stat *stat);
/* Who may read what a file or a directory holds as a container. */
struct rights src_content_rights(const struct src_stat *stat);

#endif
