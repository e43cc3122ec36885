/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lost.h - whether SOURCE is still where it was, for the log. A mount goes on
 * with what it has opened: nobody would see that another folder stands there.
 */
#ifndef BFS_DAEMON_TREE_LOST_H
#define BFS_DAEMON_TREE_LOST_H

#include "tree/source.h"

/* Looks, at most once in a few seconds, and tells what changed. source: its
 * path. Nothing for what is on a server. From any thread. */
void lost_look(struct src *src, const char *source);

#endif
