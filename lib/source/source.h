/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h - bytes at an offset: a file, a window of another source, memory,
 * callbacks.
 *
 * A source is shared by reference count and may be read by any number of
 * threads at once. It never changes its length: a file that shrinks gives
 * TRUNCATED or CHANGED, never other bytes silently.
 */
#ifndef BFS_SOURCE_SOURCE_H
#define BFS_SOURCE_SOURCE_H

#include "base/err.h"
#include "source/fds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What makes a file the same file (zeros for memory). */
struct bfs_source_id {
	uint64_t dev, ino;
	uint64_t len;		/* bytes, of the whole file */
	int64_t mtime_ns;
};

static inline bool bfs_source_same(const struct bfs_source_id *a,
				   const struct bfs_source_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->len == b->len &&
	       a->mtime_ns == b->mtime_ns;
}

struct bfs_source;

/* Bytes [off, off + len) of a source. */
struct bfs_range {
	uint64_t off, len;
};

struct bfs_source_ops {
	/* Reads exactly len bytes; [off, off + len) is inside the source. */
	enum bfs_err (*read)(struct bfs_source *s, uint64_t off, void *buf,
			     size_t len, struct bfs_diag *diag);
	/* CHANGED if the bytes behind it are no longer those opened. */
	enum bfs_err (*check)(struct bfs_source *s, struct bfs_diag *diag);
	/* Says that a range will be wanted soon; may be NULL. */
	void (*will_need)(struct bfs_source *s, uint64_t off, uint64_t len);
	/* Says what is about to be read, of sources that are told so: ranges
	 * in order, with gaps between them. NULL where is_told is false. */
	void (*will_read)(struct bfs_source *s, const struct bfs_range *ranges,
			  size_t n);
	/* Whether a range is read without the wait that wait_cost weighs. NULL:
	 * never. */
	bool (*is_near)(struct bfs_source *s, uint64_t off, uint64_t len);
	/* Nobody reads for now; may be NULL. */
	void (*rest)(struct bfs_source *s);
	void (*close)(struct bfs_source *s);
};

/* The head of every kind of source. */
struct bfs_source {
	const struct bfs_source_ops *ops;
	uint64_t len;			/* bytes */
	struct bfs_source_id id;
	bool decoded;			/* reading may decode large blocks */
	bool is_told;			/* wants to know before it is read */
	uint64_t wait_cost;		/* bytes that could come while one more
					 * read is waited for; 0: few */
	_Atomic uint32_t refs;
	/* Counters since opening; a window counts in its parent too. */
	_Atomic uint64_t n_reads;	/* bfs_source_read of some bytes */
	_Atomic uint64_t read_len;	/* bytes asked for */
};

/* A regular file by descriptor; the source owns fd from success on. */
enum bfs_err bfs_source_file(int fd, struct bfs_source **ret_source,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

/* Tells how a file's descriptor is opened again, so that it may be let go
 * between reads; how->arg is taken over. False for what is no file itself.
 * Before the source is shared. */
bool bfs_source_set_how(struct bfs_source *s, const struct bfs_fd_how *how);

/* Gives a file's pages back to the kernel behind those who read it, in steps
 * (source/behind.h). False without memory; nothing happens for what is no
 * file itself. Before the source is shared. */
bool bfs_source_drop_behind(struct bfs_source *s) BFS_MUST_CHECK;

/* Asked about each file of a directory before it is read, and again when the
 * file's change time differs. */
struct bfs_guard {
	bool (*may)(void *arg, int fd);	/* NULL: each may be read */
	void *arg;			/* outlives what it guards */
	bool drop_behind;		/* bfs_source_drop_behind of each */
};

/* bfs_fd_is_nameless of a file; false for all else. */
bool bfs_source_is_nameless(const struct bfs_source *s);

/* Sets a function that is asked about each name before the file system is:
 * where it returns true the name is left alone. NULL, as at first: all names
 * are looked at. For the whole process, before its first file is opened. */
void bfs_source_set_avoid(bool (*avoid)(int dirfd, const char *name));
/* Whether a name is left alone, as if nothing were there. */
bool bfs_source_avoids(int dirfd, const char *name);

/* A regular file of a directory by name, which must not be a symlink and
 * must not contain '/'. */
enum bfs_err bfs_source_member(int dirfd, const char *name,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same if the guard lets it pass, else CHANGED: it is not what the
 * directory was when the guard was set. */
enum bfs_err bfs_source_guarded(int dirfd, const char *name,
				const struct bfs_guard *guard,
				struct bfs_source **ret_source,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* [off, off + len) of another source, which it references. RANGE if that is
 * not inside the parent. */
enum bfs_err bfs_source_window(struct bfs_source *parent, uint64_t off,
			       uint64_t len, struct bfs_source **ret_source,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* Bytes in memory. Takes over buf (freed by bfs_free) if `own`. */
enum bfs_err bfs_source_memory(const void *buf, size_t len, bool own,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* What an errno that the system gave for a file becomes: which errors are of
 * the moment is decided here. deed: "open". */
enum bfs_err bfs_source_errno(int error, const char *deed, uint64_t off,
			      struct bfs_diag *diag);

struct bfs_source *bfs_source_ref(struct bfs_source *s);
/* NULL is fine. */
void bfs_source_unref(struct bfs_source *s);

/* Reads exactly len bytes. TRUNCATED when the range is not inside. */
enum bfs_err bfs_source_read(struct bfs_source *s, uint64_t off, void *buf,
			     size_t len, struct bfs_diag *diag) BFS_MUST_CHECK;

/* CHANGED when the file is not the one that was opened. */
enum bfs_err bfs_source_check(struct bfs_source *s,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

void bfs_source_will_need(struct bfs_source *s, uint64_t off, uint64_t len);

/* Nobody reads for now: what was kept for those who go on is given back. */
void bfs_source_rest(struct bfs_source *s);

/* What a source that is_told will be asked for: n ranges that lie inside it,
 * in any order; they are put in order and merged. For others: nothing. */
void bfs_source_will_read(struct bfs_source *s, struct bfs_range *ranges,
			  size_t n);

/* Whether a range inside it is read without the wait that wait_cost weighs. */
bool bfs_source_is_near(struct bfs_source *s, uint64_t off, uint64_t len);

static inline uint64_t bfs_source_len(const struct bfs_source *s)
{
	return s->len;
}

#endif
