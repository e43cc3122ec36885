/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * secrets.h - what texts that show metadata leave out: values whose keys say
 * that they are credentials (tokens, passwords, the source of a proxy).
 */
#ifndef BFS_VIEW_SECRETS_H
#define BFS_VIEW_SECRETS_H

#include "container/parts.h"

#include <stdbool.h>
#include <stddef.h>

/* Keys that hold credentials, up to a NULL: for what writes JSON. */
extern const char *const bfs_secret_keys[];

/* Whether a metalayer's name is such a key. */
bool bfs_secret_is_name(const struct bfs_meta *meta);
/* Whether bytes that cannot be taken apart may hold a credential. */
bool bfs_secret_is_in(const void *buf, size_t len);

#endif
