/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lookup.h - names: the kernel's lookup.
 */
#ifndef BFS_DAEMON_OPS_LOOKUP_H
#define BFS_DAEMON_OPS_LOOKUP_H

#include "daemon.h"

void lookup_answer(fuse_req_t req, fuse_ino_t parent_id, const char *name);

#endif
