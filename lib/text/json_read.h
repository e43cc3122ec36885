/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_read.h - a parser of JSON as Python writes it: NaN, Infinity and
 * -Infinity are numbers. Both allocations that a text within the limits of
 * depth and size needs are made before it is parsed.
 */
#ifndef BFS_TEXT_JSON_READ_H
#define BFS_TEXT_JSON_READ_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_JSON_MAX_DEPTH 32		/* of arrays and objects */
#define BFS_JSON_MAX_LEN ((size_t)64 << 20)

enum bfs_value_kind {
	BFS_VALUE_NULL,
	BFS_VALUE_BOOL,
	BFS_VALUE_INT,		/* fits an int64_t */
	BFS_VALUE_UINT,		/* fits a uint64_t only */
	BFS_VALUE_DOUBLE,	/* all other numbers */
	BFS_VALUE_STRING,
	BFS_VALUE_ARRAY,
	BFS_VALUE_OBJECT,
};

/* A value. Members of objects and items of arrays are lists, in the order of
 * the text. */
struct bfs_value {
	enum bfs_value_kind kind;
	bool shadowed;			/* a later member has the same key */
	uint32_t n;			/* members or items */
	union {
		bool truth;
		int64_t i;
		uint64_t u;
		double d;
		struct {
			const char *text;	/* escapes undone; ends in NUL.
						 * Not checked to be UTF-8 */
			size_t len;
		} s;
		const struct bfs_value *first;
	};
	const char *key;		/* of a member; as a string */
	size_t key_len;
	const struct bfs_value *next;
	const char *raw;		/* the value as it is in the text */
	size_t raw_len;
};

/* A text with its values; all stay until it is freed. */
struct bfs_document;

/* One value, with white space around it at most. CORRUPT with the place and
 * the reason, LIMIT beyond the bounds, NOMEM. */
enum bfs_err bfs_json_read(const void *text, size_t len,
			   struct bfs_document **ret_document,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_document_free(struct bfs_document *document);	/* NULL is fine */
const struct bfs_value *bfs_document_root(const struct bfs_document *document);

/* For calls below: v may be NULL, which is of no kind. */
static inline bool bfs_value_is(const struct bfs_value *v,
				enum bfs_value_kind kind)
{
	return v && v->kind == kind;
}

/* The last member of that name of an object, or NULL. */
const struct bfs_value *bfs_value_get(const struct bfs_value *v,
				      const char *key);
/* The i-th item of an array, or NULL. */
const struct bfs_value *bfs_value_at(const struct bfs_value *v, size_t i);

/* The value as JSON without white space, NUL-terminated (bfs_free); NULL
 * without memory. */
char *bfs_value_compact(const struct bfs_value *v,
			size_t *ret_len) BFS_MUST_CHECK;

#endif
