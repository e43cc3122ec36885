/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h - SOURCE: what lies at a path below it.
 *
 * SOURCE is opened once, before mounting; every later access starts at that
 * descriptor and stays below it: no symlink is followed, no FIFO or device
 * is opened, no mount of bloscfs entered. Paths are relative, without "." and
 * "..". "" is the root.
 * All calls but src_open and src_close may run at once.
 */
#ifndef BFS_DAEMON_TREE_SOURCE_H
#define BFS_DAEMON_TREE_SOURCE_H

#include "tree/sides.h"
#include "tree/source_stat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct choice;
struct far;

struct src {
	const struct choice *choice;	/* what is a container for us */
	struct far *far;	/* SOURCE is on a server; else NULL */
	int root_fd;		/* a directory; -1: on a server, or several */
	char *file;		/* the one container in it; NULL: a tree */
	struct sides sides;	/* of several */
	bool plain_walk;	/* the kernel has no openat2 */
	bool tables;		/* tables have something beside them */
	int64_t parts_ns;	/* how long rights of parts are believed */
};

/* path is a directory or a regular file. 0 or -errno. For several see
 * sides.h. */
int src_open(struct src *src, const char *path);
void src_close(struct src *src);

/* A descriptor, or -errno. base is -1 for the root, or a directory's. -EXDEV
 * for a mount of bloscfs and what lies in one: they are not entered. */
int src_at(const struct src *src, int base, const char *path, int flags);
/* Opens a regular file for reading, and says which it is. */
int src_open_file(const struct src *src, int base, const char *path,
		  struct src_stat *ret_stat);
/* Opens a directory for listing, and says which it is. */
int src_open_dir(const struct src *src, int base, const char *path,
		 struct src_stat *ret_stat);
int src_stat(const struct src *src, int base, const char *path,
	     struct src_stat *ret_stat);
/* The directory that path's last component lies in: base or the root itself,
 * or a new descriptor. *ret_name points into path, or at ".". */
int src_parent(const struct src *src, int base, const char *path,
	       const char **ret_name);
/* Closes what src_parent opened. */
void src_leave(const struct src *src, int base, int parent);
/* Whether a name is never shown. */
bool src_hides(const char *name);
/* The kind of what lies at path, whose stat is given. What may be a
 * container is opened and looked into; what we may not read is none. */
int src_kind(const struct src *src, int base, const char *path,
	     const struct src_stat *stat, enum src_kind *ret_kind);
/* The kind of what is left as it is, whatever it holds. */
enum src_kind src_plain_kind(const struct src_stat *stat);

#endif
