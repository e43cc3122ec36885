/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - an open file or directory of the mount. It keeps what it was
 * opened on, whatever happens to the names meanwhile.
 */
#ifndef BFS_DAEMON_OPS_HANDLE_H
#define BFS_DAEMON_OPS_HANDLE_H

#include "daemon.h"
#include "ops/task.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

struct handle {
	atomic_uint refs;	/* the kernel's, and of requests under way */
	struct node *node;
	struct container *container; /* of what lies in a container; or NULL */
	struct bloscfs_fd *file;	/* of a plain file; or NULL */
	struct lent *lent;	/* of a plain file on a server; or NULL */
	uint64_t lent_size;
	struct through *through; /* of a plain file (ops/through.h); or NULL */
	bool is_source_dir;
	DIR *dir;		/* of a source's directory; NULL: let go */
	dev_t dir_dev;		/* which directory that is */
	ino_t dir_ino;
	off_t dir_off;		/* where dir stands */
	struct places *places;	/* of counted entries: for offsets; NULL: none
				 * yet */
	bool is_table;		/* entries of the container beside the folder
				 * come behind its own */
	bool has_end;		/* n_own is known */
	uint64_t n_own;		/* entries of the folder */
	uint32_t names_asked;	/* of the directory when it was opened */
	pthread_mutex_t lock;	/* guards container, stuck, dir and places */
	bool stuck;		/* what follows container is something else */
	struct handle *next, **at;	/* among all */
};

void handle_ref(struct handle *handle);
/* Frees it with the last reference. A request must hold one to touch the
 * handle after its reply: the kernel may let go at once. */
void handle_put(struct daemon *daemon, struct handle *handle);
/* Opens the task's node by open, which gives 0 or -errno, and answers with
 * the new handle. False: to be done again, nothing is open (task.h). */
typedef int handle_opener(struct daemon *daemon, struct node *node,
			  struct handle *handle, struct fuse_file_info *fi);
bool handle_answer_open(struct daemon *daemon, struct task *task,
			handle_opener *open);
/* What the kernel never released, once no worker runs any more. */
void handle_free_all(struct daemon *daemon);
/* Closes the directory of the source that it has open, if any; with its lock
 * held, or by the last who knows of it. */
void handle_close_dir(struct daemon *daemon, struct handle *handle);
struct handle *handle_of(const struct fuse_file_info *fi);
/* The opened container to read from, referenced: one that continues the one
 * that was opened, if there is such by now. */
struct container *handle_container(struct daemon *daemon,
				   struct handle *handle);
/* Moves on to what continues the container `last`, if the entry lives there
 * too; false if there is nothing else to read from. */
bool handle_follow(struct daemon *daemon, struct handle *handle,
		   const struct container *last);
/* The entry that a container's node or one within it stands for. */
struct bloscfs_node handle_entry(const struct node *node);

#endif
