/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.c - the mount of a keeper, told from others at the same place.
 */
#include "mount/point.h"

#include "log/log.h"
#include "mount/mount.h"
#include "mount/unmount.h"

#include <string.h>

#define REASON_CAP 512

/* Not if it is gone, or covered by another's mount. */
static bool is_mounted(const struct point *point)
{
	struct mount_entry entry;

	return mount_find(point->path, &entry) && entry.major == point->major &&
	       entry.minor == point->minor &&
	       (!point->mount_id || entry.id == point->mount_id) &&
	       (!point->unique_id ||
		point->unique_id == mount_unique_id(point->path));
}

bool point_detach(const struct point *point, bool lazy)
{
	char reason[REASON_CAP];

	if (!is_mounted(point))
		return false;
	if (mount_detach(point->path, lazy, reason, sizeof(reason)) == 0)
		return true;
	if (lazy && is_mounted(point))
		log_msg(LEVEL_ERR, "cannot unmount: %s", reason);
	return false;
}

void point_know(struct point *point)
{
	struct mount_entry entry;

	if (mount_find(point->path, &entry)) {
		point->major = entry.major;
		point->minor = entry.minor;
		point->mount_id = entry.id;
	}
	point->unique_id = mount_unique_id(point->path);
}

void point_raise_readahead(const struct point *point, uint64_t len)
{
	int status;

	if (len == 0)
		return;
	status = mount_set_readahead(point->major, point->minor, len);
	if (status)
		log_msg(LEVEL_WARN, "the read-ahead stays at the kernel's "
			"default: %s", strerror(-status));
}
