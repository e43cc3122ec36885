/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskfault.h - what is wrong with files of the disk cache: counted, told
 * once, and taken away where it is damage.
 */
#ifndef BFS_DAEMON_REMOTE_DISKFAULT_H
#define BFS_DAEMON_REMOTE_DISKFAULT_H

#include "remote/diskcache_priv.h"

/* status: -errno of what failed. What is not there is no fault, nor what
 * another version has put there. No call with the cache's lock held. */

/* Counts a fault, and says whether it is the first of its kind. */
bool diskfault_is_first(struct diskcache *cache, bool *told);
/* A damaged file is removed. */
void diskfault_of_file(struct diskcache *cache, const char *name, int status);
void diskfault_of_stripe(struct diskcache *cache, const struct disk_id *id,
			 uint64_t number, int status);
/* Of a stripe that is read; damaged cells alone go. */
void diskfault_of_cells(struct diskcache *cache, const struct stripe *stripe,
			uint64_t off, uint64_t len, int status);

#endif
