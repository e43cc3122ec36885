/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room.h - what there is, and what is free: for df.
 */
#ifndef BFS_DAEMON_OPS_ROOM_H
#define BFS_DAEMON_OPS_ROOM_H

#include "tree/source.h"

#include <sys/statvfs.h>

/* 0 or -errno. */
int room_find(const struct src *src, struct statvfs *ret);

#endif
