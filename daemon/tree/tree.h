/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h - what a tree of nodes is made of: nodes (nodes.h) and the opened
 * containers (containers.h) that belong to some of them.
 *
 * A node is one name in one directory, of the source or within a container.
 * Its id is a slot of a table and that slot's generation, so an id never
 * comes back for another node. A node lives while the kernel remembers it,
 * something uses it (refs), or a child of it lives; and for a while after
 * that, since a file handle (NFS, open_by_handle_at) may still name it.
 *
 * A container's node carries a version that moves on when the file behind it
 * changes; entries below are made for one version and go stale with it. Where
 * the file has only grown, those that keep their bytes go on: they are good
 * from version `since` on.
 *
 * parent, name, suffix, kind, id, entry and control of a node never change; the
 * other fields are guarded by the lock.
 */
#ifndef BFS_DAEMON_TREE_TREE_H
#define BFS_DAEMON_TREE_TREE_H

#include "bloscfs.h"
#include "tree/choice.h"
#include "tree/source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum node_kind {
	NODE_DIR,
	NODE_PLAIN,
	NODE_LINK,
	NODE_CONTAINER,	/* a container's own directory */
	NODE_ENTRY,	/* a directory or file within a container */
	NODE_CONTROL,	/* the mount's own folder, or a snapshot in it */
};

/* The mount's own folder (ops/control.h). */
#define CONTROL_NAME ".bloscfs"
#define CONTROL_FOLDER UINT32_MAX

/* A name that no entry has, for the container beside a folder (overlay.h). */
#define TREE_BESIDE "/"

struct control {
	uint32_t file;		/* which, or CONTROL_FOLDER */
	char *text;		/* owned by the node; NULL: the folder */
	size_t len;
	int64_t when;		/* seconds since 1970 */
};

struct container;

struct entry {
	struct bloscfs_node node;
	struct bloscfs_attr attr;	/* sizes grow, under the lock */
	uint64_t number;	/* bloscfs_node_id */
	uint32_t version;	/* of the container's node */
	bool keeps;		/* bloscfs_keeps */
};

struct node {
	uint64_t id;
	uint64_t st_ino;
	uint64_t n_lookups;	/* that the kernel has not forgotten */
	uint32_t refs;		/* children and uses */
	uint32_t n_opens;
	struct node *parent;	/* NULL: the root */
	struct node *next;	/* in its bucket, while hashed */
	uint32_t hash;
	uint32_t opened;	/* NODE_ENTRY: at which version, plus 1 */
	bool hashed;		/* can be found by its name */
	bool waiting;		/* among those to be freed */
	uint8_t kind;		/* enum node_kind */
	uint8_t suffix;		/* bytes of name that the source's has not */
	_Atomic uint32_t n_asked;	/* names that were looked up in it */
	union {
		struct {			/* all other kinds */
			struct src_stat st;
			/* NODE_CONTAINER, down to inside. */
			struct container *container; /* the opened one; NULL */
			uint32_t version;	/* of the file, now */
			uint32_t since;		/* entries that keep are good */
			uint32_t settled;	/* opened last as, plus 1 */
			bool inside;		/* was closed with containers
						 * inside it known */
			struct verdict verdict;	/* NODE_DIR */
			/* NODE_PLAIN: when opened; NODE_DIR: when its own
			 * verdict was found; 0: never. */
			uint64_t opened_as;
		};
		struct entry entry;		/* NODE_ENTRY */
		struct control control;		/* NODE_CONTROL */
	};
	char name[];
};

struct slot {
	struct node *node;		/* NULL: free */
	uint32_t generation;
	uint32_t next_free;
};

/* Nodes kept after the kernel forgot them. */
#define TREE_WAITING 16384

struct tree {
	pthread_mutex_t lock;
	struct slot *slots;
	size_t n_slots, max_slots;	/* used once; that there is room for */
	uint32_t first_free;		/* 0: none */
	struct node **buckets;
	size_t n_buckets, max_buckets;
	size_t bucket_mask;		/* the least 2^k - 1 that names all */
	size_t most_moved;		/* names looked at in one step */
	size_t n_nodes, name_len;	/* bytes of all names */
	uint64_t *waiting;		/* a ring of TREE_WAITING ids */
	size_t next_waiting;
	struct container *newest, *oldest;	/* idle containers */
	size_t n_idle, max_idle;
	size_t n_containers;		/* that are open, the idle too */
	size_t control_len;		/* of all snapshots */
	struct bloscfs *fs;		/* is told told_len; may be NULL */
	size_t told_len;		/* memory of nodes */
	struct node *root;
	bool keeps;		/* directories are named as keep.h has it */
};

#endif
