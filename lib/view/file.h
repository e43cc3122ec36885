/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - what the views of one opened container find out once and keep:
 * texts, names in order, the verdict, holes. For view/ and api.c alone.
 *
 * What is found out later than at opening is worked out without a lock,
 * published under the file's lock by whoever comes first, and never changes
 * from then on; the flag that says so is read and written atomically.
 */
#ifndef BFS_VIEW_FILE_H
#define BFS_VIEW_FILE_H

#include "view/facts.h"
#include "view/view.h"

/* The most entries of an index that are looked at to judge a file. */
#define BFS_SCAN_CHUNKS UINT64_C(65536)

/* A file name and the metalayer that has it. */
struct bfs_name {
	const char *text;
	size_t index;
};

struct bfs_zarr;

/* A struct bfs_file is always the head of one of these. */
struct bfs_file_state {
	struct bfs_file file;
	struct bfs_name *meta_order;	/* by bytes of the name */
	struct bfs_name *vlmeta_order;
	bool judged;
	struct bfs_verdict verdict;
	bool holes_known;
	uint64_t holes_len;		/* bytes of data.bin, at most */
	bool zarr_known;
	struct bfs_zarr *zarr;		/* owned; NULL: not to be shown so */
};

static inline struct bfs_file_state *bfs_file_state(struct bfs_file *file)
{
	return (struct bfs_file_state *)file;
}

/* What is published with the first and read with the second. */
static inline void bfs_flag_set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static inline bool bfs_flag_get(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* Keeps a text, or the failure to make one, unless another thread was
 * faster; takes over buf. mark: of before it was made (moment.h). What came
 * out beside an error of the moment is not kept: that error is returned. Else
 * gives what is kept. why is filled where err is none. */
enum bfs_err bfs_text_keep(struct bfs_file *file, struct bfs_text *text,
			   uint64_t mark, enum bfs_err err, char *buf,
			   size_t len, struct bfs_diag *why,
			   const char **ret_text,
			   size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* False when nothing is kept yet. */
bool bfs_text_kept(const struct bfs_text *text, enum bfs_err *ret_err,
		   const char **ret_text, size_t *ret_len,
		   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The metalayer with this file name. */
bool bfs_name_find(const struct bfs_name *order, size_t n, const char *name,
		   size_t name_len, size_t *ret_index);

/* The text of info.json, NUL-terminated. */
enum bfs_err bfs_info_text(struct bfs_file *file, const char **ret_text,
			   size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* Block size of the frame's files for stat. */
uint32_t bfs_file_blksize(const struct bfs_file *file);
/* Size and holes of data.bin (data.c). */
void bfs_file_data_stat(struct bfs_file *file, struct bfs_attr *ret_attr);
/* Whether the frame is a sound array (npyview.c). */
bool bfs_file_is_array(const struct bfs_file *file);
/* UNSUPPORTED where the items of the array cannot be shown as values: Python
 * objects, items without bytes. */
enum bfs_err bfs_file_check_items(const struct bfs_file *file,
				  struct bfs_diag *diag) BFS_MUST_CHECK;
/* Fills the attributes of a text of len bytes. */
void bfs_text_stat(size_t len, struct bfs_attr *ret_attr);

#endif
