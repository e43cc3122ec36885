/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.h - the table of views: one row in rows.def and one file each. A view
 * shows an opened frame as virtual files below the frame's directory.
 *
 * Entries are values, not objects: (view, kind, index); nothing is stored
 * per chunk. A view tells names and exact sizes and splits a byte range into
 * literal bytes and ranges of streams, or makes its bytes itself; reading
 * and caching is array's.
 * See docs/architecture.md and the manual's list of entries.
 */
#ifndef BFS_VIEW_VIEW_H
#define BFS_VIEW_VIEW_H

#include "array/array.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_NAME_MAX 255	/* bytes of an entry's name, without NUL */
#define BFS_VIEW_ROOT 0xffff	/* the view of the frame's own directory */

/* One entry in a frame's directory. */
struct bfs_node {
	uint16_t view;		/* row number, or BFS_VIEW_ROOT */
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
};

/* A text made once when first needed, then kept with the file. */
struct bfs_text {
	char *buf;
	size_t len;
	enum bfs_err err;	/* when it could not be made */
	struct bfs_diag why;
	bool made;
};

enum bfs_text_slot {
	BFS_TEXT_INFO,
	BFS_TEXT_META,
	BFS_TEXT_VLMETA,
	BFS_TEXT_NPY,
	BFS_TEXT_MAP,
	BFS_TEXT_ZARR,		/* and behind it, one for each of zarr.h */
	BFS_N_TEXTS = BFS_TEXT_ZARR + 6
};

/* An opened container with its views. */
struct bfs_file {
	struct bfs_array *array;	/* owned */
	uint32_t views;			/* bit per row that is shown */
	char **meta_names;		/* as file names, n_metas */
	char **vlmeta_names;
	pthread_mutex_t lock;		/* guards texts until made */
	struct bfs_text texts[BFS_N_TEXTS];
};

/* A part of a virtual file: literal bytes (stay valid while the file is
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
	bool on;		/* shown by default */
	bool always;		/* and not to be left out */
	bool in_stores;		/* applies to stores of members too */
	/* The entries it puts into the frame's directory: at most 8. */
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
	 * most, when chunks are appended to the frame; NULL: none does. */
	bool (*keeps)(struct bfs_file *file, const struct bfs_node *node);
	/* Never fails: where a size cannot be known len stays 0, and then
	 * open does. */
	void (*stat)(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr);
	/* What open() answers. */
	enum bfs_err (*open)(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_diag *diag);
	/* Where the run of data or holes that off is in ends (<= length), and
	 * which of the two it is; NULL: all of the file is data. */
	uint64_t (*run)(struct bfs_file *file, const struct bfs_node *node,
			uint64_t off, uint64_t len, bool *ret_hole);
	/* Of a view whose files are made when they are read: exactly len
	 * bytes at off, both inside the file. NULL: it has parts. */
	enum bfs_err (*fill)(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint8_t *buf, size_t len, struct bfs_diag *diag);
	/* The part that begins at off (< its length), as long as it lasts
	 * or up to len. */
	enum bfs_err (*part)(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint64_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag);
};

#define BFS_VIEW_ROW(stem) extern const struct bfs_view bfs_view_##stem;
#include "view/rows.def"
#undef BFS_VIEW_ROW

extern const struct bfs_view *const bfs_views[];
extern const size_t bfs_n_views;

/* "info,data" to a bit per row; NULL or "" gives the default. INVALID names
 * the unknown word. */
enum bfs_err bfs_view_parse(const char *list, uint32_t *ret_views,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* Takes over array, also on failure. */
enum bfs_err bfs_file_new(struct bfs_array *array, uint32_t views,
			  struct bfs_file **ret_file,
			  struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_file_free(struct bfs_file *file);

/* The same calls as a row's, for any node including the root. */
bool bfs_file_lookup(struct bfs_file *file, const struct bfs_node *dir,
		     const char *name, size_t name_len,
		     struct bfs_node *ret_node);
bool bfs_file_list(struct bfs_file *file, const struct bfs_node *dir,
		   uint64_t pos, char *name, struct bfs_node *ret_node);
/* Shows a size that cannot be known as what headers claim, else 1: programs
 * take 0 for empty and do not open the file. */
void bfs_file_stat(struct bfs_file *file, const struct bfs_node *node,
		   struct bfs_attr *ret_attr);
bool bfs_file_is_dir(struct bfs_file *file, const struct bfs_node *node);
bool bfs_file_keeps(struct bfs_file *file, const struct bfs_node *node);
enum bfs_err bfs_file_open(struct bfs_file *file, const struct bfs_node *node,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The first byte at or after off that lies in a hole, or in data. The end of
 * the file counts as a hole; RANGE where there is nothing. */
enum bfs_err bfs_file_seek(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, bool hole, uint64_t *ret_off,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* Reads up to len bytes; *ret_len is short only at the end of the file. */
enum bfs_err bfs_file_read(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, void *buf, size_t len,
			   size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same as pieces; buf (len bytes) takes what must be gathered. */
enum bfs_err bfs_file_pin(struct bfs_file *file, const struct bfs_node *node,
			  uint64_t off, void *buf, size_t len,
			  struct bfs_pieces *ret_pieces,
			  struct bfs_diag *diag) BFS_MUST_CHECK;

/* The text of a slot, made by `make` when first asked for. */
enum bfs_err bfs_file_text(struct bfs_file *file, enum bfs_text_slot slot,
			   enum bfs_err (*make)(struct bfs_file *file,
						char **ret_text,
						size_t *ret_len,
						struct bfs_diag *diag),
			   const char **ret_text, size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
