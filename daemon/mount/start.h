/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start.h - bloscfs SOURCE MOUNTPOINT, from checked options to the end.
 */
#ifndef BFS_DAEMON_MOUNT_START_H
#define BFS_DAEMON_MOUNT_START_H

#include "check/info.h"
#include "opts/opts.h"

enum exit_code start_mount(const struct opts *opts);

#endif
