/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sides.h - several SOURCEs side by side: the root of the mount is a folder of
 * ours with an entry for each, and the first name of a path tells which.
 *
 * Of equal names the second is NAME%~2, the third NAME%~3. What a SOURCE is
 * called, and where it is, never changes after the start; whether it is still
 * there is found at each look at its entry.
 */
#ifndef BFS_DAEMON_TREE_SIDES_H
#define BFS_DAEMON_TREE_SIDES_H

#include "tree/source_stat.h"

#include <stdatomic.h>
#include <stddef.h>

struct side {
	char *given;	/* its own name */
	char *name;	/* the entry's */
	size_t name_len;
	char *real;	/* its path, absolute and without symlinks */
	char *file;	/* a file in fd; NULL: fd is it */
	int fd;
	bool shares;	/* fd, with a file named before it */
	uint64_t dev, ino;	/* of fd */
	int above;	/* the folder that fd lies in, O_PATH; -1: none */
	bool lies_in_store;	/* as daemon.h has it */
	atomic_int state;	/* what was told of it last */
};

struct sides {
	struct side *list;
	size_t n;		/* 0: there is but one SOURCE */
	int64_t made;		/* the mount, seconds since 1970 */
};

/* What one of them holds. */
void sides_release(struct side *side);
void sides_close(struct sides *sides);

/* Whose entry a path begins with, and what of the path is behind it; NULL where
 * it is nobody's. */
struct side *sides_find(const struct sides *sides, const char *path,
			const char **ret_rest);
/* Goes on from its descriptor: that, and in *path what is left; or -errno. */
int sides_enter(const struct sides *sides, const char **path);
/* The descriptor that its entry lies in, and its name there, "." for that
 * itself; or -errno where it is removed (-ENOENT) or another has taken its
 * place (-ESTALE), which is told once. */
int sides_look(const struct sides *sides, const char *path,
	       const char **ret_name);
/* Whether a descriptor is one of theirs. */
bool sides_own(const struct sides *sides, int fd);
/* By which name a path is judged: the last one, without a number of ours. */
const char *sides_hint(const struct sides *sides, const char *path);
/* The root. */
void sides_stat(const struct sides *sides, struct src_stat *ret_stat);
/* Descriptors that all of them hold. */
size_t sides_count_fds(const struct sides *sides);
size_t sides_count_lost(const struct sides *sides);
/* All real paths, with a colon between, to be freed: for the table of mounts.
 * A colon or backslash in one has a backslash before it; what would be too long
 * for the table is counted instead. NULL on no memory. */
char *sides_text(const struct sides *sides);

#endif
