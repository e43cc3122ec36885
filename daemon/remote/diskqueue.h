/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskqueue.h - what the disk cache is to write, and the thread that does.
 */
#ifndef BFS_DAEMON_REMOTE_DISKQUEUE_H
#define BFS_DAEMON_REMOTE_DISKQUEUE_H

#include "remote/diskcache_priv.h"

struct diskjob {
	struct diskjob *next;
	struct disk_id id;	/* of a note: the address's digest */
	bool is_note;
	struct bloscfs *fs;	/* whose memory counts it; or NULL */
	uint64_t off, len;
	char bytes[];
};

/* Of so many bytes, which count as memory of the library where there is one
 * by now; NULL where that or memory itself is wanting. */
struct diskjob *diskqueue_make(const struct diskcache *cache, uint64_t len);
void diskqueue_free(struct diskjob *job);
/* Owns the job. Starts the thread. What finds no room is dropped. */
void diskqueue_put(struct diskcache *cache, struct diskjob *job);
/* Copies the note of an address that is not written yet, DISKNOTE_LEN bytes of
 * the last one; false where none waits. */
bool diskqueue_find_note(struct diskcache *cache, const uint8_t *address,
			 uint8_t *ret_bytes);
void diskqueue_count_dropped(struct diskcache *cache);

#endif
