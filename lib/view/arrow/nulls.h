/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nulls.h - which stored values stand for none.
 */
#ifndef BFS_VIEW_ARROW_NULLS_H
#define BFS_VIEW_ARROW_NULLS_H

#include "view/arrow/type.h"

enum bfs_arrow_rule {
	BFS_ARROW_ALL,		/* all values are there */
	BFS_ARROW_NAT,		/* the least integer of eight bytes is none */
	BFS_ARROW_NAN,		/* a float that is no number is none */
	BFS_ARROW_NEGATIVE,	/* a code below 0 is none */
	BFS_ARROW_SAME,		/* a value that is this one is none */
	BFS_ARROW_MARKED,	/* a mark in another array: 0 is none */
};

struct bfs_arrow_nulls {
	enum bfs_arrow_rule rule;
	bool by_row;		/* a row is none if all its values are */
	uint8_t *same;		/* owned; as it is stored, type->src bytes, of
				 * a text with offsets same_len bytes */
	size_t same_len;
	size_t marks;			/* the store that has them */
};

/* Whether n values as they are stored (type->src bytes each), one after
 * another, hold one that is there. Not for texts with offsets, nor for
 * marks. */
bool bfs_arrow_is_there(const struct bfs_arrow_nulls *nulls,
			const struct bfs_arrow_type *type, const uint8_t *from,
			uint64_t n);

#endif
