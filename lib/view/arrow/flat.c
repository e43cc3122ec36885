/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flat.c - FlatBuffers, written from front to back.
 */
#include "view/arrow/flat.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

/* Room for len bytes of zeros behind what there is, and where it begins. */
static size_t grow(struct bfs_flat *flat, size_t len)
{
	size_t at = flat->len;
	size_t cap = flat->cap;
	uint8_t *buf;

	if (flat->err != BFS_OK)
		return 0;
	if (len > BFS_FLAT_MAX - at) {
		flat->err = BFS_ERR_LIMIT;
		return 0;
	}
	while (cap < at + len)
		cap = cap ? 2 * cap : 1024;
	if (cap > flat->cap) {
		buf = bfs_realloc(flat->buf, cap);
		if (!buf) {
			flat->err = BFS_ERR_NOMEM;
			return 0;
		}
		flat->buf = buf;
		flat->cap = cap;
	}
	if (len)
		memset(flat->buf + at, 0, len);
	flat->len = at + len;
	return at;
}

/* Pads until the place `behind` bytes further on is a multiple of align. */
static void align_to(struct bfs_flat *flat, size_t behind, size_t align)
{
	size_t over = (flat->len + behind) % align;

	if (over)
		grow(flat, align - over);
}

void bfs_flat_init(struct bfs_flat *flat)
{
	*flat = (struct bfs_flat){ 0 };
	grow(flat, 4);
}

void bfs_flat_release(struct bfs_flat *flat)
{
	bfs_free(flat->buf);
	*flat = (struct bfs_flat){ 0 };
}

void bfs_flat_set(struct bfs_flat *flat, size_t at, uint64_t v, unsigned n)
{
	if (flat->err != BFS_OK)
		return;
	BFS_CHECK(bfs_inside(at, n, flat->len));
	for (unsigned i = 0; i < n; i++)
		flat->buf[at + i] = (uint8_t)(v >> 8 * i);
}

void bfs_flat_link(struct bfs_flat *flat, size_t from, size_t to)
{
	if (flat->err != BFS_OK)
		return;
	BFS_CHECK(to > from);
	bfs_flat_set(flat, from, to - from, 4);
}

void bfs_flat_root(struct bfs_flat *flat, size_t table)
{
	bfs_flat_link(flat, 0, table);
}

/* The vtable lies right before its table, whose slots come in falling order of
 * size behind the four bytes that lead back to the vtable: so each is aligned
 * where the first one is. */
size_t bfs_flat_table(struct bfs_flat *flat, const uint8_t *sizes, size_t n)
{
	size_t places[BFS_FLAT_SLOTS] = { 0 }, table_len = 4;
	size_t head_len = 4 + 2 * n, head, table;

	BFS_CHECK(n <= BFS_FLAT_SLOTS);
	for (size_t size = 8; size; size /= 2)
		for (size_t i = 0; i < n; i++)
			if (sizes[i] == size) {
				places[i] = table_len;
				table_len += size;
			}
	align_to(flat, head_len + 4, 8);
	head = grow(flat, head_len);
	table = grow(flat, table_len);
	bfs_flat_set(flat, head, head_len, 2);
	bfs_flat_set(flat, head + 2, table_len, 2);
	for (size_t i = 0; i < n; i++)
		bfs_flat_set(flat, head + 4 + 2 * i, places[i], 2);
	bfs_flat_set(flat, table, head_len, 4);
	return table;
}

size_t bfs_flat_slot(const struct bfs_flat *flat, size_t table, size_t i)
{
	size_t head;

	if (flat->err != BFS_OK)
		return 0;
	head = table - bfs_le32(flat->buf + table);
	return table + bfs_le16(flat->buf + head + 4 + 2 * i);
}

size_t bfs_flat_vector(struct bfs_flat *flat, size_t n, size_t size,
		       size_t align)
{
	uint64_t len;
	size_t at;

	align_to(flat, 0, 4);
	align_to(flat, 4, align);
	if (!bfs_mul(n, size, &len) || len > BFS_FLAT_MAX) {
		if (flat->err == BFS_OK)
			flat->err = BFS_ERR_LIMIT;
		return 0;
	}
	at = grow(flat, 4 + (size_t)len);
	bfs_flat_set(flat, at, n, 4);
	return at;
}

size_t bfs_flat_string(struct bfs_flat *flat, const void *text, size_t len)
{
	size_t at = bfs_flat_vector(flat, len, 1, 4);

	grow(flat, 1);
	if (flat->err == BFS_OK && len)
		memcpy(flat->buf + at + 4, text, len);
	return at;
}
