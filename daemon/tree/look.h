/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look.h - nodes held against the source as it is now.
 *
 * Failures are -errno. -ESTALE makes the kernel look the path up again, so it
 * is the answer wherever a node is no longer what its name stands for.
 */
#ifndef BFS_DAEMON_TREE_LOOK_H
#define BFS_DAEMON_TREE_LOOK_H

#include "daemon.h"

#include <limits.h>

/* A path that is freed where its variable ends. */
#define LOOK_PATH __attribute__((cleanup(look_free_path))) char *
void look_free_path(char **path);
/* Path of a node's file below the source, however long. 0 or -ENOMEM. */
int look_path(const struct daemon *daemon, struct node *node,
	      char **ret_path);
/* The same to be told: through containers, and with a name for the root. buf
 * takes PATH_MAX. */
void look_name(const struct daemon *daemon, struct node *node, char *buf);

/* Whether a node is the root over several SOURCEs: a folder of ours, which has
 * no descriptor. */
bool look_is_gathered(const struct daemon *daemon, const struct node *node);
/* Whether a node was found to be a mount of bloscfs: an empty directory. */
bool look_is_nested(struct daemon *daemon, struct node *node);
/* Errors that mean that a path leads elsewhere now become -ESTALE. */
int look_as_stale(int error);
/* What a source node is now. -ESTALE if its name stands for something
 * else. */
int look_again(struct daemon *daemon, struct node *node,
	       struct src_stat *ret_st);
/* The path of an entry of a folder of the source. 0 or -ENOMEM. */
int look_join(const struct daemon *daemon, struct node *parent,
	      const char *name, char **ret_path);
/* What name is in an open directory of the source; -ENOENT if hidden. On a
 * server there is no directory to open, nor for several SOURCEs, and dir_fd is
 * -1. */
int look_at(struct daemon *daemon, struct node *parent, int dir_fd,
	    const char *name, enum node_kind *ret_kind,
	    struct src_stat *ret_st);
enum node_kind look_kind(enum src_kind kind);
/* The container that an entry is, for a directory of another name beside it
 * (keep.h); -ENOENT where it is none. */
int look_beside(struct daemon *daemon, struct node *parent, int dir_fd,
		const char *name, const char *dir_name,
		struct src_stat *ret_st);

#endif
