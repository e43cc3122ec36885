/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.h - one file on a server: read by ranges, each of which must be of
 * the very object that was opened.
 *
 * Its head and tail are asked for at once when it is opened, since a container
 * tells there where all else lies, and kept. What was read lately and is small
 * is kept, too. Nothing is remembered of a request that failed.
 */
#ifndef BFS_DAEMON_REMOTE_OBJECT_H
#define BFS_DAEMON_REMOTE_OBJECT_H

#include "remote/ask.h"

struct object;

/* url is copied. has_tail: where all lies is told at the end, too, as in a
 * frame; not in a chunk. listed: folder_identity of what a listing that is
 * believed says is there, so that nothing is asked where the disk cache has the
 * ends of just that; 0: none does. 0, or -errno with the reason in why
 * (REMOTE_WHY_CAP): ENOENT, EACCES, EIO, ENOMEM, EINTR. */
int object_open(struct remote *remote, const char *url, bool s3, bool has_tail,
		uint64_t listed, struct object **ret_object, char *why);
/* Nobody may be reading. */
void object_close(struct object *object);
/* As in struct bloscfs_source. */
uint64_t object_wait_cost(const struct object *object);
/* Whether it may have been written since, by its server's clock. */
bool object_is_newer(const struct object *object, int64_t since_ms);
void object_get(const struct object *object, struct object_facts *ret_facts);

/* All len bytes at off, which lie within the size; or -errno: ESTALE where
 * the object is another by now, else as above. Any number of threads. */
int object_read(struct object *object, void *buf, size_t len, uint64_t off,
		char *why);
/* These will be read soon: asked for side by side, ahead of it, as far as
 * memory set aside for that goes. */
void object_want(struct object *object, const struct extent *extents,
		 size_t n);
/* Whether a range inside it is here, or in the disk cache. Does not wait for
 * the server. */
bool object_is_near(struct object *object, uint64_t off, uint64_t len);
/* Whether it is still the one that was opened: 0 or -ESTALE. Asks the server
 * once in fresh_ms at most; while that fails all stays as it is. Where it was
 * not known to be the same since since_ms (remote_now_ms), it is asked about in
 * any case: -ESTALE where that fails, -EINTR where the thread may not wait. */
int object_check(struct object *object, int64_t since_ms);

#endif
