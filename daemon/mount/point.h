/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.h - the mount of a keeper, told from others at the same place.
 */
#ifndef BFS_DAEMON_MOUNT_POINT_H
#define BFS_DAEMON_MOUNT_POINT_H

#include <stdbool.h>
#include <stdint.h>

struct point {
	const char *path;	/* borrowed */
	unsigned major, minor;	/* of the mount; 0:0 until known */
	/* 0 until known. Numbers of devices and mounts come again once a mount
	 * is gone; the unique one does not, where the kernel has it. */
	uint64_t mount_id;
	uint64_t unique_id;
	bool silent;	/* the folder that it lies in: it stays mounted */
};

/* Notes which mount is there now: of what the kernel knows by itself, since
 * nobody serves yet. */
void point_know(struct point *point);
/* Takes it away. False where it is gone, or covered by another's mount, or
 * still there, with the reason logged. */
bool point_detach(struct point *point, bool lazy);
/* To so many bytes; 0: leaves it. */
void point_raise_readahead(const struct point *point, uint64_t len);

#endif
