/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe.h - a file of the disk cache: the cells of one range of an object,
 * as far as they are there.
 *
 *      0  16  "bloscfs stripe\r\n"
 *     16   4  version
 *     24   8  number of the stripe in its object
 *     32  32  the object (a digest of its identity)
 *    120   8  seal of the 120 bytes before
 *    128  8n  seals of the n cells; 0: the cell is not there
 *   4096      the cells, each at its own place; the object's last is shorter
 *
 * All of these are the same whoever writes them, and a cell's seal is written
 * behind the cell. So several processes may write one file at once, and each
 * may be killed at any instant: what is there is whole, or does not match its
 * seal. Nothing is ever synced.
 */
#ifndef BFS_DAEMON_REMOTE_STRIPE_H
#define BFS_DAEMON_REMOTE_STRIPE_H

#include "remote/seal.h"

#include <sys/types.h>

#define STRIPE_VERSION 1
#define STRIPE_HEAD 4096
#define STRIPE_CELL 4096
#define STRIPE_CELLS 496	/* with the header a page */
#define STRIPE_LEN ((uint64_t)STRIPE_CELLS * STRIPE_CELL)
#define STRIPE_NAME_CAP (DIGEST_TEXT + 24)

/* One content of one object. */
struct disk_id {
	uint8_t name[DIGEST_LEN];
	uint64_t size;
};

struct stripe {
	int fd;
	const struct disk_id *id;
	uint64_t number;
	int64_t used;		/* when it was, in seconds since 1970 */
	bool fresh;		/* this very opening has made its header */
	struct seal seal;
	uint64_t sums[STRIPE_CELLS];
};

/* Its name in the folder. */
void stripe_name(const struct disk_id *id, uint64_t number, char *ret_name);

/* dir is the folder's descriptor; id is borrowed. To write, what is not there
 * is made. 0, or -errno: ENOENT, EBADMSG where the file is damaged or no file,
 * ENOTSUP where its version is another. */
int stripe_open(int dir, const struct disk_id *id, uint64_t number,
		bool write, struct stripe *ret_stripe);
void stripe_close(struct stripe *stripe);

/* How far cells from off on, where one begins, are there or are not, up to
 * end. A few that are there between others that are not do not count. All
 * offsets are the object's. */
uint64_t stripe_run(const struct stripe *stripe, uint64_t off, uint64_t end,
		    bool *ret_there);
/* Cells that are there; len ends with one, or with the object. -EBADMSG where
 * one does not match or was cut off: those count as not there from then on,
 * and *ret_good bytes before the first of them hold. */
int stripe_read(struct stripe *stripe, uint64_t off, uint64_t len,
		void *buf, uint64_t *ret_good);
/* Makes it so in the file, too. */
void stripe_forget(int dir, const struct stripe *stripe, uint64_t off,
		   uint64_t len);
/* Writes those cells that are not there yet, and adds their bytes. */
int stripe_write(struct stripe *stripe, uint64_t off, uint64_t len,
		 const void *bytes, uint64_t *ret_written);
/* Notes that it is used, at most every few seconds. */
void stripe_touch(const struct stripe *stripe);

/* pread until the file's end, if that is before len: the length, or -errno.
 * pwrite of all len bytes: 0 or -errno. */
ssize_t disk_read_all(int fd, void *buf, size_t len, uint64_t off);
int disk_write_all(int fd, const void *bytes, size_t len, uint64_t off);
/* A regular file in the folder, never what a link names. flags as open's;
 * 0 or -errno, EBADMSG where it is no such file. */
int disk_open_file(int dir, const char *name, int flags, int *ret_fd,
		   int64_t *ret_used);
void disk_touch(int fd, int64_t used);

#endif
