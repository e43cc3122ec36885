/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.c - the mount of a keeper, told from others at the same place.
 */
#include "mount/point.h"

#include "log/log.h"
#include "mount/ask.h"
#include "mount/mount.h"
#include "mount/unmount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REASON_CAP 512
#define ANSWER_MS 5000
#define AGAIN_MS 500

static bool is_listed(const struct point *point,
		      const struct mount_entry *entry)
{
	return entry->major == point->major && entry->minor == point->minor &&
	       (!point->mount_id || entry->id == point->mount_id);
}

/* Whether the folder that it lies in does: else whoever goes there waits. */
static bool answers(struct point *point)
{
	struct mount_entry entry;
	char *above, *slash;
	int status = 0;

	if (mount_find(point->path, &entry) && is_listed(point, &entry))
		above = strdup(point->path);
	else
		above = point->mount_id ?
			mount_find_moved(point->mount_id, point->major,
					 point->minor) : NULL;
	slash = above ? strrchr(above, '/') : NULL;
	if (slash && slash > above) {
		*slash = '\0';
		status = ask_answers(above, point->silent ? AGAIN_MS :
							    ANSWER_MS);
	}
	free(above);
	if (status == -ETIMEDOUT && !point->silent)
		log_msg(LEVEL_ERR, "cannot unmount: the folder that the mount "
			"point lies in does not answer");
	point->silent = status == -ETIMEDOUT;
	return !point->silent;
}

/* Not if it is gone, or covered by another's mount. A folder where nothing is
 * mounted any more is not touched: that has an automounter mount anew. */
static bool is_mounted(const struct point *point, const char *path)
{
	struct mount_entry entry;

	if (mount_find(path, &entry))
		return is_listed(point, &entry) &&
		       (!point->unique_id ||
			point->unique_id == mount_unique_id(path));
	/* Where there is no table, the unique number is as good. */
	return point->unique_id && !mount_has_table() &&
	       point->unique_id == mount_unique_id(path);
}

/* The folder that it is on, or one above, may have another name by now. */
static char *find_path(const struct point *point)
{
	char *path;

	if (is_mounted(point, point->path))
		return strdup(point->path);
	path = point->mount_id ? mount_find_moved(point->mount_id,
						  point->major, point->minor) :
				 NULL;
	if (path && is_mounted(point, path))
		return path;
	free(path);
	return NULL;
}

bool point_detach(struct point *point, bool lazy)
{
	char reason[REASON_CAP], *path = answers(point) ? find_path(point) :
							  NULL;
	bool detached;

	if (!path)
		return false;
	detached = mount_detach(path, lazy, reason, sizeof(reason)) == 0;
	if (!detached && lazy && is_mounted(point, path))
		log_msg(LEVEL_ERR, "cannot unmount: %s", reason);
	free(path);
	return detached;
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
