/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.h - a source through which one thread reads many small things, about
 * in order: a few windows of the parent, each in one read that grows with
 * use. After its end it only passes reads on, and may be shared.
 */
#ifndef BFS_SOURCE_SWEEP_H
#define BFS_SOURCE_SWEEP_H

#include "source/source.h"

enum bfs_err bfs_source_sweep(struct bfs_source *parent,
			      struct bfs_source **ret_source,
			      struct bfs_diag *diag) BFS_MUST_CHECK;
/* Gives the windows back. The caller's reference stays. */
void bfs_source_sweep_end(struct bfs_source *source);

#endif
