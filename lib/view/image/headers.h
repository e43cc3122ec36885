/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headers.h - the texts of headers that name data.bin. For the row headers
 * alone.
 */
#ifndef BFS_VIEW_IMAGE_HEADERS_H
#define BFS_VIEW_IMAGE_HEADERS_H

#include "view/image/plain.h"

enum bfs_header {
	BFS_HEADER_NRRD,
	BFS_HEADER_META,
	BFS_HEADER_VRT,
	BFS_HEADER_ENVI,
	BFS_HEADER_N
};

/* The most bands of a VRT, whose text has some lines for each. */
#define BFS_HEADER_BANDS 4096

/* UNSUPPORTED, with a reason for info.json, where the format cannot say it. */
enum bfs_err bfs_header_judge(const struct bfs_plain *plain,
			      enum bfs_header which,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* The text of one that was judged so, owned by the caller (bfs_free). */
enum bfs_err bfs_header_text(const struct bfs_plain *plain,
			     enum bfs_header which, char **ret_text,
			     size_t *ret_len,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
