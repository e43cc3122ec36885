/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon.h - what all parts of a running mount share. Set up before the
 * workers start; after that only the tree and what is atomic changes.
 */
#ifndef BFS_DAEMON_DAEMON_H
#define BFS_DAEMON_DAEMON_H

#define FUSE_USE_VERSION 35

#include "bloscfs.h"
#include "tree/containers.h"
#include "tree/enter.h"
#include "tree/entries.h"
#include "tree/nodes.h"
#include "opts/opts.h"
#include "tree/source.h"

#include <fuse_lowlevel.h>
#include <time.h>

/* The largest read the kernel asks for: 256 pages. */
#define MAX_REQUEST (1u << 20)

struct daemon {
	const struct opts *opts;
	const char *source;
	char *mountpoint;		/* absolute, without symlinks */
	bool made_point;		/* it is ours to remove */
	struct bloscfs *fs;
	struct src src;
	struct tree tree;
	char *write_dir;		/* of the disk cache; NULL */
	bool lies_in_store;		/* SOURCE does, in one of Zarr or N5 */
	bool in_store;			/* and so all files stay as they are */
	bool no_stores;			/* files in stores are no exception */
	double timeout;			/* of names and attributes, seconds */
	atomic_bool no_lists;		/* of rights (ACLs): modes say less */
	atomic_bool judges_lists;	/* of rights: the kernel does */
	atomic_bool reads_through;	/* plain files: the kernel, past us */
	uint64_t n_threads;		/* that decode at once */
	struct fuse_session *session;
	time_t started;			/* of the mount */
	struct work *work;		/* who decodes when (ops/work.h) */
	size_t max_idle;		/* containers kept open */
	unsigned max_workers;		/* as descriptors allow */
	unsigned max_dirs;		/* folders open between requests */
	atomic_uint n_dirs;
};

/* The operations (ops/ops.c); userdata is the struct daemon. */
extern const struct fuse_lowlevel_ops daemon_ops;

#endif
