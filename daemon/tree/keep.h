/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep.h - the option keep: what is a container stays what it is in the
 * source, and its directory lies beside it as NAME.d, or as NAME.d%~2, ... up
 * to %~99 where the source shows entries of the names before. A name that has
 * no room for that has no directory.
 */
#ifndef BFS_DAEMON_TREE_KEEP_H
#define BFS_DAEMON_TREE_KEEP_H

#include "daemon.h"

#include <limits.h>

/* As look_at, for a name that need not be the source's. Without the option
 * the same as that. */
int keep_lookup(struct daemon *daemon, struct node *parent, int dir_fd,
		const char *name, enum node_kind *ret_kind,
		struct src_stat *ret_st);
/* The name of the directory of an entry that is a container. 0, -ENOENT where
 * there is none, or another error. */
int keep_name(struct daemon *daemon, struct node *parent, int dir_fd,
	      const char *name, char ret_dir[NAME_MAX + 1]);
/* The directory of an entry of the source, which was found to be st: its name
 * and what it is. -ENOENT where there is none; with other errors, too, there
 * is a name. */
int keep_find(struct daemon *daemon, struct node *parent, int dir_fd,
	      const char *name, const struct src_stat *st,
	      char ret_dir[NAME_MAX + 1], struct src_stat *ret_st);

#endif
