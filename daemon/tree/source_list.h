/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_list.h - lists of rights (POSIX ACLs) of what lies below SOURCE.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_LIST_H
#define BFS_DAEMON_TREE_SOURCE_LIST_H

#include "tree/rights.h"

#include <sys/stat.h>

/* The rights that owner and mode tell, without a list. */
struct rights source_list_bare(const struct stat *st);
/* Adds the list of a file in an open directory, or of an open file. What may
 * not be read or is too long permits nothing that is unknown. 0 or -errno. */
int source_list_at(struct rights *rights, int dir_fd, const char *file);
int source_list_fd(struct rights *rights, int fd);

#endif
