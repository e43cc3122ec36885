/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_stat.h - what is known of one entry of SOURCE. Plain values.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_STAT_H
#define BFS_DAEMON_TREE_SOURCE_STAT_H

#include "tree/rights.h"

#include <stdbool.h>
#include <stdint.h>

/* What an entry of the source looks like in the mount. */
enum src_kind {
	SRC_HIDDEN,
	SRC_DIR,
	SRC_PLAIN,
	SRC_LINK,
	SRC_CONTAINER,	/* a container, shown as a directory */
};

/* A directory that may be a container has the size and time of its index,
 * which tell more of its content than its own. Rights are there after
 * src_look and src_look_fd ("tree/source_rights.h"). */
struct src_stat {
	uint64_t dev, ino, size, blocks;
	int64_t mtime_sec;
	uint32_t mtime_nsec;
	uint32_t mode, uid, gid, nlink, blksize;
	uint32_t index_mode;	/* of a directory's index; 0: has none */
	uint32_t index;		/* which index that is */
	uint32_t own_mtime_nsec;	/* a directory's own */
	int64_t own_mtime_sec;
	int64_t ctime_ns;
	const struct acl *acl;	/* its list of rights, or NULL */
	bool acl_hot;		/* ... which had changed just then */
	bool nested;		/* a mount of bloscfs: an empty directory */
	const struct rights *parts;	/* who may read a directory's parts */
	int64_t parts_until;	/* when they are looked at again, ns */
	uint64_t parts_mix;	/* of a table: what they are (source_mix.h) */
};

/* The same file. */
bool src_same_file(const struct src_stat *a, const struct src_stat *b);
/* The same file with the same content, as far as stat tells. */
bool src_same_content(const struct src_stat *a, const struct src_stat *b);
/* The same of a container: the rights of its parts, too. */
bool src_same_container(const struct src_stat *a, const struct src_stat *b);

/* A change so young may not show in a file's times. */
#define HOT_NS INT64_C(20000000)

/* Nanoseconds since 1970. */
int64_t src_now(void);
/* Whether the file had changed just before now: what it holds may not have
 * arrived yet, since a write is dated before its bytes are there. */
bool src_is_hot(const struct src_stat *stat, int64_t now);
/* The same owner and permissions, of the parts too. */
bool src_same_rights(const struct src_stat *a, const struct src_stat *b);

#endif
