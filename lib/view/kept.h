/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept.h - an opened container with its views, and what these find out once
 * and keep as long as it is open: texts, and one state of a view's own.
 *
 * What is kept is worked out without a lock, published under the container's
 * lock by whoever comes first, and never changes from then on (but for texts
 * that tell faults, which are read under that lock); the flag that says so is
 * read and written atomically. An error of the moment (moment.h),
 * and whatever came out beside one, is never kept.
 */
#ifndef BFS_VIEW_KEPT_H
#define BFS_VIEW_KEPT_H

#include "view/verdict.h"
#include "view/view.h"

#include <pthread.h>

/* A text that a view made, or why it cannot be made. */
struct bfs_text {
	bool made;
	enum bfs_err err;
	char *buf;		/* owned */
	size_t len;
	struct bfs_diag *why;	/* owned; when err is not OK */
	uint64_t edition;	/* of what it tells (bfs_kept_copy) */
};

/* What one view keeps. */
struct bfs_keep {
	bool known;		/* a state was looked for */
	enum bfs_err err;
	void *state;		/* the view's own, freed by its release */
	struct bfs_diag *why;	/* owned; when err is not OK */
	struct bfs_text *texts;	/* as many as the row says */
};

/* An opened container with its views. */
struct bfs_file {
	struct bfs_array *array;	/* owned */
	uint32_t views;			/* bit per row that is shown */
	const struct bfs_view *const *rows;
	size_t n_rows;
	pthread_mutex_t lock;		/* guards all below until published */
	struct bfs_keep *slots;		/* n_rows, owned */
	struct bfs_text *texts;		/* of all rows, owned */
	bool judged;			/* facts.c */
	struct bfs_verdict verdict;
	bool holes_known;		/* payload.c */
	uint64_t holes_len;		/* bytes of data.bin, at most */
};

/* With room for what `rows` keep. Takes over array, also on failure. */
enum bfs_err bfs_kept_new(struct bfs_array *array, uint32_t views,
			  const struct bfs_view *const *rows, size_t n_rows,
			  struct bfs_file **ret_file,
			  struct bfs_diag *diag) BFS_MUST_CHECK;
/* Frees what was kept, and closes the array. */
void bfs_file_free(struct bfs_file *file);

/* Whether a view is shown. */
static inline bool bfs_file_shows(const struct bfs_file *file, size_t row)
{
	return row < file->n_rows && file->views >> row & 1;
}

/* The text `key` of a view, made by `make` when first asked for: by several
 * threads at once perhaps, of which one wins. It stays while the container is
 * open. Why it cannot be made is kept as well. */
enum bfs_err bfs_kept_text(struct bfs_file *file, enum bfs_row row,
			   unsigned key,
			   enum bfs_err (*make)(struct bfs_file *file,
						unsigned key, char **ret_text,
						size_t *ret_len,
						struct bfs_diag *diag),
			   const char **ret_text, size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The same for a text that tells the faults met: it is made anew when more are
 * known, and has one length for good. Only its bytes can be had, copied. */
enum bfs_err bfs_kept_len(struct bfs_file *file, enum bfs_row row,
			  unsigned key,
			  enum bfs_err (*make)(struct bfs_file *file,
					       unsigned key, char **ret_text,
					       size_t *ret_len,
					       struct bfs_diag *diag),
			  size_t *ret_len,
			  struct bfs_diag *diag) BFS_MUST_CHECK;
enum bfs_err bfs_kept_copy(struct bfs_file *file, enum bfs_row row,
			   unsigned key,
			   enum bfs_err (*make)(struct bfs_file *file,
						unsigned key, char **ret_text,
						size_t *ret_len,
						struct bfs_diag *diag),
			   uint64_t off, uint8_t *buf, size_t len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The state of a view, found by `find` in the same way. For what headers in
 * memory tell; one that reads the source checks for itself that it has not
 * changed. */
enum bfs_err bfs_kept_state(struct bfs_file *file, enum bfs_row row,
			    enum bfs_err (*find)(struct bfs_file *file,
						 void **ret_state,
						 struct bfs_diag *diag),
			    const void **ret_state,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* For members of the container itself: copies len bytes that were found out
 * to where they are kept and sets their flag, unless another thread was
 * faster. */
void bfs_kept_publish(struct bfs_file *file, bool *flag, void *kept,
		      const void *found, size_t len);
/* Whether what the flag belongs to may be read. */
static inline bool bfs_kept_has(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

#endif
