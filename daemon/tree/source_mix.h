/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_mix.h - what the parts of a table are now, as one number: its columns
 * change where its index does not.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_MIX_H
#define BFS_DAEMON_TREE_SOURCE_MIX_H

#include "tree/source.h"

/* Of the files below an open directory, by their names, sizes and times. Of
 * more than some thousand files the others are not looked at. */
uint64_t source_mix(const struct src *src, int dir_fd);

#endif
