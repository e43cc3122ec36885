/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.c - texts of UTF-32 as Arrow's views of UTF-8.
 */
#include "view/arrow/text.h"

#include "base/bytes.h"

#include <string.h>

static uint8_t *put(uint8_t *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (uint8_t)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (uint8_t)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (uint8_t)(0xe0 | c >> 12);
		} else {
			*to++ = (uint8_t)(0xf0 | c >> 18);
			*to++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (uint8_t)(0x80 | (c & 0x3f));
	return to;
}

enum bfs_err bfs_arrow_utf8(const struct bfs_arrow_type *type,
			    const uint8_t *from, uint8_t *to, uint32_t *ret_len,
			    struct bfs_diag *diag)
{
	size_t n = type->src / 4;
	uint8_t *end = to;

	while (n && !(from[4 * n - 4] | from[4 * n - 3] | from[4 * n - 2] |
		      from[4 * n - 1]))
		n--;
	for (size_t i = 0; i < n; i++) {
		uint32_t c = type->swap == 1 ? bfs_le32(from + 4 * i)
					     : bfs_be32(from + 4 * i);

		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"a text has what is no character");
		end = put(end, c);
	}
	*ret_len = (uint32_t)(end - to);
	return BFS_OK;
}

void bfs_arrow_view(const struct bfs_arrow_type *type, const uint8_t *text,
		    uint32_t len, uint64_t i, uint8_t to[16])
{
	uint32_t slot_len = bfs_arrow_slot_len(type);

	memset(to, 0, 16);
	bfs_arrow_store(to, len, 4);
	if (len <= BFS_ARROW_INLINE) {
		if (len)
			memcpy(to + 4, text, len);
		return;
	}
	memcpy(to + 4, text, 4);
	bfs_arrow_store(to + 8, i / bfs_arrow_slots(slot_len), 4);
	bfs_arrow_store(to + 12, i % bfs_arrow_slots(slot_len) * slot_len, 4);
}
