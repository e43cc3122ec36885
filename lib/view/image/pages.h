/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pages.h - how a TIFF file of an array is laid out: a short head, a directory
 * for each page, all of the same form, and then the items. Directories are
 * computed where they are read, never stored. For the row tiff alone.
 *
 * TIFF 6.0 (Adobe, 1992), and BigTIFF (libtiff, 2007).
 */
#ifndef BFS_VIEW_IMAGE_PAGES_H
#define BFS_VIEW_IMAGE_PAGES_H

#include "view/image/plain.h"

#define BFS_PAGES_HEAD 384	/* bytes before the first directory, at most */

/* An array as a stack of pages. */
struct bfs_pages {
	uint64_t width, height;	/* of a page, 1 ... INT32_MAX */
	unsigned samples;	/* of a pixel: 1, 3 or 4 */
	uint64_t n;		/* pages */
	uint64_t page_len;	/* bytes */
	bool for_imagej;	/* ImageJ reads such items */
	/* What the dimensions before those of a page are to ImageJ: "" where
	 * it is not told of them. */
	char text[160];
};

/* One file of them. */
struct bfs_tiff_form {
	bool is_big;		/* BigTIFF */
	bool msb;		/* MM */
	unsigned size;		/* bytes of a sample */
	char kind;		/* of a sample: u, i or f */
	uint64_t n_dirs;	/* directories: of all pages, or of the first */
	uint64_t dirs_off;	/* where they begin */
	uint64_t first_len;	/* bytes of the first, which has a text */
	uint64_t dir_len;	/* and of each other */
	uint64_t data_off;	/* where the items begin */
	size_t head_len;	/* of head, that are not zero */
	uint8_t head[BFS_PAGES_HEAD];
	struct bfs_pages pages;
};

/* UNSUPPORTED, with a reason for info.json, where TIFF has none of it. */
enum bfs_err bfs_pages_cut(const struct bfs_plain *plain,
			   struct bfs_pages *ret_pages,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* Lays a file out with n_dirs directories; UNSUPPORTED where it would be too
 * long: one that is no BigTIFF, where a place that it names lies beyond
 * 4 GiB. */
enum bfs_err bfs_pages_lay(const struct bfs_plain *plain,
			   const struct bfs_pages *pages, bool is_big,
			   uint64_t n_dirs, struct bfs_tiff_form *ret_form,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The bytes at off (off + len <= data_off) before the items. */
void bfs_pages_fill(const struct bfs_tiff_form *form, uint64_t off,
		    uint8_t *buf, size_t len);

#endif
