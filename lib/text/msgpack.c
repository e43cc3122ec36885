/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.c - the bounded walk over MessagePack. Bytes that nobody has checked
 * come in; it reads every head once, without recursion or allocation.
 */
#include "text/msgpack.h"

#include "base/assert.h"
#include "base/bytes.h"

/* One head: a container has n_items, everything else skips bytes. */
struct head {
	bool is_container;
	uint64_t n_items;
	uint64_t skip;
};

static uint64_t read_be(struct bfs_cursor *c, unsigned width)
{
	switch (width) {
	case 1:
		return bfs_cursor_u8(c);
	case 2:
		return bfs_cursor_be16(c);
	case 4:
		return bfs_cursor_be32(c);
	default:
		return bfs_cursor_be64(c);
	}
}

/* Heads from 0xc0 to 0xdf. False for 0xc1, which has no meaning. */
static bool read_long_head(struct bfs_cursor *c, uint8_t tag, struct head *h)
{
	unsigned low = tag & 3;

	if (tag == 0xc1)
		return false;
	if (tag < 0xc4)			/* nil, false, true */
		return true;
	if (tag <= 0xc6)		/* bin */
		h->skip = read_be(c, 1U << low);
	else if (tag <= 0xc9)		/* ext: its type follows */
		h->skip = read_be(c, 1U << (tag - 0xc7)) + 1;
	else if (tag <= 0xcb)		/* float */
		h->skip = tag == 0xca ? 4 : 8;
	else if (tag <= 0xd3)		/* unsigned, signed */
		h->skip = 1U << low;
	else if (tag <= 0xd8)		/* fixext */
		h->skip = (1U << (tag - 0xd4)) + 1;
	else if (tag <= 0xdb)		/* str */
		h->skip = read_be(c, 1U << (tag - 0xd9));
	else {				/* array, map */
		h->is_container = true;
		h->n_items = read_be(c, tag & 1 ? 4 : 2);
		if (tag >= 0xde)
			h->n_items *= 2;
	}
	return true;
}

static bool read_head(struct bfs_cursor *c, struct head *h)
{
	uint8_t tag = bfs_cursor_u8(c);

	memset(h, 0, sizeof(*h));
	if (tag < 0x80 || tag >= 0xe0)
		return true;
	if (tag >= 0xc0)
		return read_long_head(c, tag, h);
	if (tag >= 0xa0) {
		h->skip = tag & 31;
		return true;
	}
	h->is_container = true;
	h->n_items = tag & 15;
	if (tag < 0x90)
		h->n_items *= 2;
	return true;
}

enum bfs_err bfs_msgpack_walk_within(const void *buf, size_t len,
				     unsigned max_depth, uint64_t *nodes_left,
				     size_t *ret_len, struct bfs_diag *diag)
{
	struct bfs_cursor c = bfs_cursor_init(buf, len);
	uint64_t todo[BFS_MSGPACK_DEPTH + 1] = { 1 };
	unsigned depth = 0;
	struct head h;
	size_t at;

	for (;;) {
		while (!todo[depth]) {
			if (!depth) {
				*ret_len = c.pos;
				return BFS_OK;
			}
			depth--;
		}
		todo[depth]--;
		at = c.pos;
		if (!read_head(&c, &h))
			return bfs_fail(diag, BFS_ERR_CORRUPT, at,
					"byte c1 means nothing in msgpack");
		/* Every item takes a byte at least. */
		if (c.failed || h.n_items > bfs_cursor_left(&c) ||
		    h.skip > bfs_cursor_left(&c))
			return bfs_fail(diag, BFS_ERR_TRUNCATED, at,
					"msgpack value goes beyond its end");
		if (!*nodes_left)
			return bfs_fail(diag, BFS_ERR_LIMIT, at,
					"more than %u msgpack values",
					BFS_MSGPACK_NODES);
		--*nodes_left;
		if (h.is_container) {
			if (depth == max_depth)
				return bfs_fail(diag, BFS_ERR_LIMIT, at,
						"msgpack nested deeper than %u",
						BFS_MSGPACK_DEPTH);
			BFS_CHECK(depth < BFS_MSGPACK_DEPTH);
			todo[++depth] = h.n_items;
		}
		(void)bfs_cursor_take(&c, h.skip);
	}
}

enum bfs_err bfs_msgpack_walk(const void *buf, size_t len, size_t *ret_len,
			      struct bfs_diag *diag)
{
	uint64_t nodes = BFS_MSGPACK_NODES;

	return bfs_msgpack_walk_within(buf, len, BFS_MSGPACK_DEPTH, &nodes,
				       ret_len, diag);
}
