/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - containers of many objects that are read, by the folders that they
 * are: which objects were read as their parts, held against what the server
 * has now (shelf.h: shelf_turn and what follows it).
 */
#ifndef BFS_DAEMON_REMOTE_PARTS_H
#define BFS_DAEMON_REMOTE_PARTS_H

#include "remote/shelf_priv.h"

/* Once nobody uses the shelf. */
void parts_release(struct shelf *shelf);

#endif
