/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepname.h - names of directories beside their containers (keep.h), as mere
 * strings.
 */
#ifndef BFS_DAEMON_TREE_KEEPNAME_H
#define BFS_DAEMON_TREE_KEEPNAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The largest number that such a name can have. */
#define KEEP_MAX_NUMBER 99

/* Bytes that a directory's name has more than its container's; 0 where a name
 * is not of that form. *ret_number: 1 for NAME.d, 2 for NAME.d%~2, ... */
size_t keep_suffix(const char *name, unsigned *ret_number);
/* The name of that number for the container `name`. False where there is no
 * room for it. */
bool keep_make_name(const char *name, unsigned number,
		    char ret_dir[NAME_MAX + 1]);

#endif
