/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.h - what a view is: one row in rows.def, and one file or folder. A
 * view shows an opened container as virtual files below the container's
 * directory.
 *
 * Entries are values, not objects: (view, kind, index); nothing is stored
 * per chunk. A view tells names and exact sizes and splits a byte range into
 * literal bytes and ranges of streams, or makes its bytes itself; reading
 * and caching is array's. Rows call the files below them (kept, parts,
 * payload, facts), never one another and never dispatch.
 * See docs/architecture.md and the manual's list of entries.
 */
#ifndef BFS_VIEW_VIEW_H
#define BFS_VIEW_VIEW_H

#include "array/array.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_NAME_MAX 255	/* bytes of an entry's name, without NUL */
#define BFS_MAX_ROOTS 8		/* entries of one view */

/* A view's number: BFS_ROW_data is the row of data.c. */
enum bfs_row {
#define BFS_VIEW_ROW(stem) BFS_ROW_##stem,
#include "view/rows.def"
#undef BFS_VIEW_ROW
	BFS_N_ROWS
};

_Static_assert(BFS_N_ROWS <= 32, "views are bits of 32");

#define BFS_VIEW_ROOT 0xffff	/* of the container's own directory */

struct bfs_file;
struct bfs_json;

/* One entry in a container's directory. */
struct bfs_node {
	uint16_t view;		/* enum bfs_row, or BFS_VIEW_ROOT */
	uint16_t kind;		/* the view's own, 0 ... 15 */
	uint64_t index;		/* the view's own */
};

struct bfs_attr {
	bool is_dir;
	uint64_t len;		/* bytes; 0 for directories */
	uint64_t claim;		/* what headers say where the row leaves len
				 * 0, because it cannot be known */
	uint64_t stored_len;	/* bytes that are not holes */
	uint32_t blksize;
	bool renews;		/* the same number of other bytes, once more
				 * faults are known */
};

/* A part of a virtual file: literal bytes (stay valid while the container is
 * open), a range of a stream, or what the row's fill makes. */
struct bfs_part {
	bool made;			/* by fill */
	const void *bytes;		/* NULL: stream */
	struct bfs_stream stream;
	uint64_t off;			/* in the stream */
	uint64_t len;
};

struct bfs_root {
	const char *name;
	uint16_t kind;
};

struct bfs_view {
	const char *name;	/* in views=LIST */
	/* Words that stand for several views there, of which it is one: with a
	 * space before and behind each. NULL: none but "all". */
	const char *groups;
	bool on;		/* shown by default */
	bool always;		/* and not to be left out */
	bool in_stores;		/* applies to stores of members too */
	/* Of a store: what the view's directory of kind 0 and index 0 holds
	 * stands in the container's own, behind all other entries. */
	bool spread;
	/* Texts that it keeps (bfs_kept_text), by keys from 0. */
	unsigned n_texts;
	/* The entries it puts into the container's directory: at most
	 * BFS_MAX_ROOTS. */
	size_t (*roots)(struct bfs_file *file, struct bfs_root *ret_roots);
	/* Below a directory entry `dir` of this view; NULL without any. */
	bool (*lookup)(struct bfs_file *file, const struct bfs_node *dir,
		       const char *name, size_t name_len,
		       struct bfs_node *ret_node);
	/* The entry at position pos (0 ...) of a directory; false at the end.
	 * name holds BFS_NAME_MAX + 1 bytes. Constant time. */
	bool (*list)(struct bfs_file *file, const struct bfs_node *dir,
		     uint64_t pos, char *name, struct bfs_node *ret_node);
	/* Whether an entry is a directory; NULL: stat tells. For views of
	 * many entries, whose sizes would have to be looked for. */
	bool (*is_dir)(const struct bfs_node *node);
	/* Whether an entry keeps the bytes it has, with more behind them at
	 * most, when chunks are appended to the container; NULL: none does. */
	bool (*keeps)(struct bfs_file *file, const struct bfs_node *node);
	/* Whether an entry is one chunk, and which: it has the chunk's facts
	 * as attributes. NULL: none is. */
	bool (*is_chunk)(const struct bfs_node *node, uint64_t *ret_n);
	/* Never fails: where a size cannot be known len stays 0, and then
	 * open does. */
	void (*stat)(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr);
	/* Of a view whose one file is a text: that text. Such a view has
	 * neither open nor part. NULL of all others. */
	enum bfs_err (*text)(struct bfs_file *file, const char **ret_text,
			     size_t *ret_len, struct bfs_diag *diag);
	/* What open() answers. */
	enum bfs_err (*open)(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_diag *diag);
	/* Where the run of data or holes that off is in ends (<= length), and
	 * which of the two it is; NULL: all of the file is data. */
	uint64_t (*run)(struct bfs_file *file, const struct bfs_node *node,
			uint64_t off, uint64_t len, bool *ret_hole);
	/* Of a view whose files, or some parts of them, are made when they are
	 * read: exactly len bytes at off, both inside the file. NULL: nothing
	 * is made. */
	enum bfs_err (*fill)(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint8_t *buf, size_t len, struct bfs_diag *diag);
	/* The part that begins at off (< its length), as long as it lasts
	 * or up to len; one that is to be made says so. NULL: all of the file
	 * is made by fill. */
	enum bfs_err (*part)(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint64_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag);
	/* What info.json says of this view where it is on: a key and its
	 * value, or nothing. NULL: nothing. */
	void (*note)(struct bfs_file *file, struct bfs_json *json);
	/* Frees what the view found out and kept (bfs_kept_state); state is
	 * not NULL. */
	void (*release)(void *state);
};

#define BFS_VIEW_ROW(stem) extern const struct bfs_view bfs_view_##stem;
#include "view/rows.def"
#undef BFS_VIEW_ROW

#endif
