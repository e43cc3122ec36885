/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plain.h - an opened container as an array of plain numbers, which is what
 * the formats of images hold; or why it is none. For the rows tiff, nifti and
 * headers.
 *
 * All products that go out fit: `len` is at most INT64_MAX.
 */
#ifndef BFS_VIEW_IMAGE_PLAIN_H
#define BFS_VIEW_IMAGE_PLAIN_H

#include "text/dtype.h"
#include "view/kept.h"

/* Those of the array, and those of a sub-array that its items are. */
#define BFS_PLAIN_DIMS (BFS_MAX_DIM + BFS_DTYPE_MAXDIM)
#define BFS_PLAIN_WHY BFS_DIAG_TEXT	/* bytes of a reason, with its NUL */

struct bfs_plain {
	char kind;		/* u, i, f or c; of truth values u */
	bool big;		/* big-endian, of items of several bytes */
	unsigned size;		/* bytes of an item: 1, 2, 4, 8 or 16 */
	unsigned n;		/* dimensions */
	uint64_t shape[BFS_PLAIN_DIMS];	/* items, each at least 1 */
	uint64_t n_items;
	uint64_t len;		/* bytes of the payload */
	bool fortran;		/* items are in order F */
};

/* UNSUPPORTED, with a reason for info.json, where there can be no image of
 * it: items that are no numbers, none at all, too many. */
enum bfs_err bfs_plain_get(const struct bfs_file *file,
			   struct bfs_plain *ret_plain,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* A file of head_len bytes and the payload behind them (payload.h): its
 * attributes, and what open() answers. CORRUPT where the payload has not the
 * length that the shape says; its size is not known then. */
void bfs_plain_stat(struct bfs_file *file, const struct bfs_plain *plain,
		    uint64_t head_len, struct bfs_attr *ret_attr);
enum bfs_err bfs_plain_ready(struct bfs_file *file,
			     const struct bfs_plain *plain,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

/* What info.json says below `key`: true where `why` is empty, else `why`. */
void bfs_plain_put(struct bfs_json *json, const char *key, const char *why);

/* Writes the low `n` bytes (1 ... 8) of v in an order of bytes. */
void bfs_plain_store(uint8_t *p, uint64_t v, unsigned n, bool big);

#endif
