/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype.h - NumPy dtypes as text: parsed with limits, never evaluated.
 *
 * What comes in is a string from a file (docs/formats/b2nd.md, dtype); what
 * goes out is the item size and the descr of a .npy header.
 */
#ifndef BFS_TEXT_DTYPE_H
#define BFS_TEXT_DTYPE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_DTYPE_DEPTH 16
#define BFS_DTYPE_FIELDS 4096
#define BFS_DTYPE_MAXDIM 16

struct bfs_dtype_field;

/* One parsed dtype; owned, release with bfs_dtype_release. */
struct bfs_dtype {
	char kind;		/* b i u f c S U M m V, or 'T' = fields */
	char order;		/* '<', '>' or '|' */
	uint64_t itemsize;	/* bytes, of one item with its sub-array */
	uint64_t unit_size;	/* bytes, of one element of a sub-array */
	char unit[24];		/* of M and m, "[ns]" or "" */
	unsigned align;		/* bytes, where fields are aligned */
	unsigned n_dims;	/* of a sub-array: ('<i4', (2, 3)) */
	uint64_t dims[BFS_DTYPE_MAXDIM];
	struct bfs_dtype_field *fields;	/* kind 'T' */
	size_t n_fields;
};

struct bfs_dtype_field {
	char *name;		/* UTF-8 */
	char *title;		/* or NULL */
	uint64_t off;		/* bytes from the item's start */
	struct bfs_dtype type;
};

/* Parses text of len bytes. UNSUPPORTED for what is no dtype we know (free
 * text of C programs, objects), CORRUPT for what breaks the limits. */
enum bfs_err bfs_dtype_parse(const char *text, size_t len,
			     struct bfs_dtype *ret_dtype,
			     struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_dtype_release(struct bfs_dtype *dtype);
/* Whether text is a dtype that holds Python objects, anywhere. */
enum bfs_err bfs_dtype_has_object(const char *text, size_t len,
				  bool *ret_has) BFS_MUST_CHECK;

/* What the items of an array of n_dims dimensions are shown as: the dtype of
 * the text (release it), or '|V<typesize>' where the text is NULL, no dtype, of
 * another item size, or cannot be expressed in order F. *fortran is cleared
 * where order C means the same. UNSUPPORTED for Python objects and items
 * without bytes. */
enum bfs_err bfs_dtype_of_items(const char *text, size_t len,
				uint64_t typesize, unsigned n_dims,
				bool *fortran, struct bfs_dtype *ret_dtype,
				struct bfs_diag *diag) BFS_MUST_CHECK;
/* Whether a list of fields can express it: ascending, without overlap. */
bool bfs_dtype_is_listable(const struct bfs_dtype *dtype);

/* The value of 'descr' in a .npy header, as Python text (bfs_free). A dtype
 * whose fields overlap or run backwards becomes '|V<itemsize>'. The dims of
 * an outermost sub-array are left out: they belong to the shape. *ret_wide:
 * names need more than Latin-1, so the header must be of version 3.0. The bytes
 * handed over are UTF-8 either way. */
enum bfs_err bfs_dtype_descr(const struct bfs_dtype *dtype, char **ret_text,
			     bool *ret_wide) BFS_MUST_CHECK;

/* Builds a whole .npy header: magic, version, text, padded to a multiple of
 * 64, for items as bfs_dtype_of_items has them. `fortran`: fortran_order
 * True. */
enum bfs_err bfs_npy_header(const char *dtype_text, size_t dtype_len,
			    uint64_t typesize, unsigned n_dims,
			    const uint64_t *shape, bool fortran,
			    uint8_t **ret_header, size_t *ret_len,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
