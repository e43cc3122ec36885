/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h - texts of UTF-32 as Arrow's views of UTF-8: a view of 16 bytes each,
 * which holds short texts, and a slot of fixed length each for longer ones. So
 * all places are known, whatever the texts are.
 */
#ifndef BFS_VIEW_ARROW_TEXT_H
#define BFS_VIEW_ARROW_TEXT_H

#include "view/arrow/type.h"

#define BFS_ARROW_INLINE 12		/* bytes of a text in its view */
/* Slots of one buffer, in which offsets are of 31 bits: a multiple of 64. As
 * few as there can be where no text needs one. */
static inline uint64_t bfs_arrow_slots(uint32_t slot_len)
{
	uint64_t n = slot_len ? (UINT64_C(1) << 30) / slot_len / 64 * 64 : 0;

	return n ? n : 64;
}

/* Bytes of a slot; 0 where all texts fit into their views. */
static inline uint32_t bfs_arrow_slot_len(const struct bfs_arrow_type *type)
{
	return type->way == BFS_ARROW_VIEWS && type->src > BFS_ARROW_INLINE ?
	       type->src : 0;
}

/* A text of type->src bytes as UTF-8, at `to`, which holds as many: each of its
 * characters takes at most four. UNSUPPORTED where one is none. */
enum bfs_err bfs_arrow_utf8(const struct bfs_arrow_type *type,
			    const uint8_t *from, uint8_t *to, uint32_t *ret_len,
			    struct bfs_diag *diag) BFS_MUST_CHECK;
/* The view of a text of UTF-8 whose slot is number i of the column. */
void bfs_arrow_view(const struct bfs_arrow_type *type, const uint8_t *text,
		    uint32_t len, uint64_t i, uint8_t to[16]);

#endif
