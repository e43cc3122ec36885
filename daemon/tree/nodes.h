/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.h - the nodes that the kernel knows, and the opened containers.
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
 * from version `since` on. Opened containers ("containers.h") belong to a node.
 *
 * parent, name, suffix, kind, id, entry and control of a node never change; the
 * other fields are guarded by the lock. All calls may run at once.
 */
#ifndef BFS_DAEMON_TREE_NODES_H
#define BFS_DAEMON_TREE_NODES_H

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
	NODE_FRAME,	/* a container's own directory */
	NODE_ENTRY,	/* a directory or file within a container */
	NODE_CONTROL,	/* the mount's own folder, or a snapshot in it */
};

#define CONTROL_FOLDER UINT32_MAX

struct control {
	uint32_t file;		/* which, or CONTROL_FOLDER */
	char *text;		/* owned by the node; NULL: the folder */
	size_t len;
	int64_t when;		/* seconds since 1970 */
};

struct frame;

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
			struct frame *frame;	/* NODE_FRAME; or NULL */
			uint32_t version;	/* NODE_FRAME, as ... */
			uint32_t since;		/* ... all this */
			uint32_t settled;	/* of the frame, plus 1 */
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
	size_t n_slots;
	uint32_t first_free;		/* 0: none */
	struct node **buckets;
	size_t n_buckets;		/* a power of two */
	size_t n_nodes;
	uint64_t *waiting;		/* a ring of TREE_WAITING ids */
	size_t next_waiting;
	struct frame *newest, *oldest;	/* idle frames */
	size_t n_idle, max_idle;
	size_t n_frames;		/* that are open, the idle too */
	size_t control_len;		/* of all snapshots */
	struct node *root;
	bool keeps;		/* directories are named as keep.h has it */
};

/* 0 or -ENOMEM. The root takes kind and st; it lives as long as the tree. */
int tree_init(struct tree *tree, enum node_kind kind,
	      const struct src_stat *st, size_t max_idle);
/* Nothing may be in use any more. */
void tree_release(struct tree *tree);

/* The node of an id, with a reference, or NULL (ESTALE). */
struct node *tree_get(struct tree *tree, uint64_t id);
void tree_put(struct tree *tree, struct node *node);
/* Counts an open file or directory; it holds a reference too. */
void tree_opened(struct tree *tree, struct node *node);
void tree_closed(struct tree *tree, struct node *node);
void tree_forget(struct tree *tree, uint64_t id, uint64_t n_lookups);
/* Counts a lookup of a node that the caller holds. */
void tree_looked_up(struct tree *tree, struct node *node);

/* What is known of a name: false if it has no node. */
bool tree_known(struct tree *tree, struct node *parent, const char *name,
		enum node_kind *ret_kind, struct src_stat *ret_st);
/* The node for an entry of a source directory as it was found to be, with
 * one lookup counted. An older node of the name that is something else is
 * left to those who have it open. *ret_id and *ret_ino are what to tell the
 * kernel. 0 or -ENOMEM. */
int tree_enter_source(struct tree *tree, struct node *parent,
		      const char *name, enum node_kind kind,
		      const struct src_stat *st, uint64_t *ret_id,
		      uint64_t *ret_ino);
/* The same for an entry within a container. -ESTALE if the container is at
 * another version by now. */
int tree_enter_entry(struct tree *tree, struct node *parent,
		     const char *name, const struct entry *entry,
		     uint64_t *ret_id, uint64_t *ret_ino);
/* The mount's own folder, or a new node for one snapshot of a file in it,
 * which takes over the text, on failure too. 0 or -ENOMEM. */
int tree_enter_control(struct tree *tree, struct node *parent,
		       const char *name, const struct control *control,
		       uint64_t *ret_id);
uint64_t tree_control_ino(uint32_t file);
/* How much there is of what. */
void tree_count(struct tree *tree, uint64_t *ret_nodes,
		uint64_t *ret_frames_open, uint64_t *ret_frames_idle);
/* The name is gone. */
void tree_drop(struct tree *tree, struct node *parent, const char *name);
/* A source node was found to be st now. */
void tree_update(struct tree *tree, struct node *node,
		 const struct src_stat *st);

/* Notes that a plain file is opened as st; whether it was the same when it
 * was opened last. */
bool tree_note_open(struct tree *tree, struct node *node,
		    const struct src_stat *st);

/* The container's node that an entry lies in; a NODE_FRAME itself. */
struct node *tree_container(struct node *node);
/* A copy of what the lock guards. */
void tree_stat(struct tree *tree, struct node *node, struct src_stat *ret_st,
	       uint64_t *ret_ino, bool *ret_open);
/* Whether an entry belongs to its container's present version. */
bool tree_is_current(struct tree *tree, struct node *entry);
/* An entry's attributes as they were last seen. */
struct bloscfs_attr tree_entry_attr(struct tree *tree, struct node *entry);
void tree_note_attr(struct tree *tree, struct node *entry,
		    const struct bloscfs_attr *attr);
/* Whether an entry's bytes are in this opening of its container. */
bool tree_holds(struct tree *tree, struct node *entry,
		const struct frame *frame);
/* Notes that an entry is opened at a version; whether it was the same when it
 * was opened last. */
bool tree_note_entry(struct tree *tree, struct node *entry, uint32_t version);

/* Path of a node below the source's root, "" for the root: through
 * containers too, by the names that they have in the source. 0 or
 * -ENAMETOOLONG. */
int tree_path(struct node *node, char *buf, size_t cap);
/* number: of an entry, else 0. */
/* The same however long it is, to be freed; NULL on no memory. */
char *tree_long_path(struct node *node);
uint64_t tree_ino(const struct src_stat *st, enum node_kind kind,
		  uint64_t number);

#endif
