/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reopen.h - the way back to a file of the source whose descriptor was let go.
 */
#ifndef BFS_DAEMON_TREE_REOPEN_H
#define BFS_DAEMON_TREE_REOPEN_H

#include "bloscfs.h"
#include "tree/source.h"

/* Leads to path as long as what lies there is st. src must outlive it. False
 * on no memory. */
bool reopen_by_path(const struct src *src, const char *path,
		    const struct src_stat *st,
		    struct bloscfs_reopen *ret_way);

#endif
