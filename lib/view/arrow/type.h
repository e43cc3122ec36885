/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * type.h - what values of a NumPy dtype are in Arrow, and how they become so.
 */
#ifndef BFS_VIEW_ARROW_TYPE_H
#define BFS_VIEW_ARROW_TYPE_H

#include "text/dtype.h"

/* Of Arrow's union Type (Schema.fbs), with its numbers. */
enum bfs_arrow_id {
	BFS_ARROW_INT = 2,
	BFS_ARROW_FLOAT = 3,
	BFS_ARROW_BOOL = 6,
	BFS_ARROW_DATE = 8,
	BFS_ARROW_TIMESTAMP = 10,
	BFS_ARROW_FIXED_BINARY = 15,
	BFS_ARROW_FIXED_LIST = 16,
	BFS_ARROW_DURATION = 18,
	BFS_ARROW_LARGE_UTF8 = 20,
	BFS_ARROW_UTF8_VIEW = 24,
};

enum bfs_arrow_unit { BFS_ARROW_S, BFS_ARROW_MS, BFS_ARROW_US, BFS_ARROW_NS };

#define BFS_ARROW_TEXT_MAX 16384	/* bytes of a text of fixed length */

/* How stored bytes become a value. */
enum bfs_arrow_way {
	BFS_ARROW_COPY,		/* as they are, or in the other order */
	BFS_ARROW_BITS,		/* a byte becomes a bit */
	BFS_ARROW_SCALE,	/* an integer of eight bytes, by a factor */
	BFS_ARROW_DAYS,		/* the same, as days in four bytes */
	BFS_ARROW_MONTHS,	/* months since 1970, as the day they begin */
	BFS_ARROW_VIEWS,	/* UTF-32, as views of UTF-8 (text.h) */
	BFS_ARROW_OFFSETS,	/* offsets of texts, of eight bytes (text.h) */
	BFS_ARROW_CODES,	/* numbers of a dictionary's values */
};

struct bfs_arrow_type {
	enum bfs_arrow_id id;
	unsigned bits;		/* of numbers */
	bool is_signed;
	enum bfs_arrow_unit unit;
	uint32_t width;		/* bytes of a value; 0 where it is a bit */
	enum bfs_arrow_way way;
	uint32_t src;		/* bytes of a value as it is stored */
	unsigned swap;		/* bytes that change their order together;
				 * 1: none */
	int64_t factor;
	uint32_t n_words;	/* of a dictionary */
	bool has_nat;		/* the least integer stands for no value */
	bool pairs;		/* two of them are a complex number */
};

/* Of an element of the dtype, without its sub-array. UNSUPPORTED with a reason
 * for info.json where Arrow has no such values. */
enum bfs_err bfs_arrow_type_get(const struct bfs_dtype *dtype,
				struct bfs_arrow_type *ret_type,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* An integer as it is stored, of type->src bytes (1 ... 8); and its low n bytes
 * as Arrow has them. */
uint64_t bfs_arrow_load(const struct bfs_arrow_type *type, const uint8_t *from);
void bfs_arrow_store(uint8_t *to, uint64_t v, size_t n);

/* Makes n values at `to` of the stored ones at `from`; of bits one byte of
 * eight values, of which the last may be less. UNSUPPORTED where a value has no
 * equal in Arrow's type. Not for texts, which text.h makes. */
enum bfs_err bfs_arrow_type_make(const struct bfs_arrow_type *type,
				 const uint8_t *from, size_t n, uint8_t *to,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
