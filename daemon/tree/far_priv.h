/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far_priv.h - what far.c, far_object.c and far_folder.c share.
 */
#ifndef BFS_DAEMON_TREE_FAR_PRIV_H
#define BFS_DAEMON_TREE_FAR_PRIV_H

#include "tree/far.h"

#define FAR_N_VERDICTS 8192	/* of what was looked into */

struct far {
	struct shelf *shelf;
	int64_t started;
	uint32_t uid, gid;
	bool tables;		/* tables have something beside them */
	bool may_be_one;	/* SOURCE is a prefix with a container's name */
	/* Inodes that were looked into; the lowest bit: are containers. */
	_Atomic uint64_t verdicts[FAR_N_VERDICTS];
};

/* ---- far_object.c ---------------------------------------------------- */

/* What the store tells as a stat of ours. */
void far_convert(const struct far *far, const char *path,
		 const struct shelf_stat *from, struct src_stat *to);
/* A path's inode, and that of another content there. */
uint64_t far_number(const char *path, uint64_t identity);
/* Logs a failure of the shelf, but for what is usual. */
void far_tell(const char *path, const char *deed, int status,
	      const char *text);
/* A failure of the shelf as the library's; its reason is kept. */
enum bloscfs_err far_error(int status, const char *text,
			   struct bloscfs_diag *why);
/* An object as a source of the library's, which gives it back at its end. */
struct bloscfs_source far_source(struct lent *lent, uint64_t identity[2]);

/* ---- far_folder.c ---------------------------------------------------- */

/* Whether a folder has the index of a container: its size and time are the
 * stat's then, and its number. 0 or -errno. */
int far_find_index(struct far *far, const char *path,
		   struct src_stat *stat, char *why);
/* Opens the container that a folder is. */
enum bloscfs_err far_open_folder(struct far *far, struct bloscfs *fs,
				 const char *path,
				 struct bloscfs_file **ret_file,
				 struct bloscfs_diag *why);

#endif
