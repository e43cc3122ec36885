/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layers.h - what sandbox.c puts together; for the files of this folder alone.
 * Each is one step that cannot be undone. 0 or -errno; -ENOSYS where the
 * kernel, or -EOPNOTSUPP where this build, does not have it.
 */
#ifndef BFS_DAEMON_SANDBOX_LAYERS_H
#define BFS_DAEMON_SANDBOX_LAYERS_H

#include "sandbox/sandbox.h"

/* The version of Landlock that the kernel has; 0: none. */
int fence_version(void);
int fence_close(const struct sandbox_terms *terms);
/* Whether another file may come in the place of this one, in the folder itself.
 * Not where it is a link to elsewhere, as to where services keep a list of
 * servers of names, nor where it is a mount, as in containers. The folder's
 * path has no links. */
bool fence_may_be_replaced(const char *file, const char *folder);

/* The library that makes the filter; NULL: not in this build. */
const char *calls_library(void);
int calls_close(const struct sandbox_terms *terms);
char *calls_name(int number);

/* *ret_kept: whether reading what others own is still permitted. */
int powers_drop(bool *ret_kept);

#endif
