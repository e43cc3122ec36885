/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * utf8.c - whether stored texts are UTF-8, by the bytes that are read and no
 * more than three beside them.
 */
#include "view/arrow/utf8.h"

#include "base/bytes.h"
#include "text/json.h"

#define LONGEST 4			/* bytes of a character */
#define NEAR 1024			/* bytes between offsets that are read
					 * over */

/* Whether it is a byte of a character behind its first one. */
static bool is_behind(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Bytes of the character that this one begins, as far as it tells. */
static size_t length_of(uint8_t first)
{
	return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static enum bfs_err refuse(uint64_t off, struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_CORRUPT, off, "a text is no UTF-8");
}

static enum bfs_err read_at(const struct bfs_arrow_texts *texts, uint64_t off,
			    uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	return texts->reader->read(texts->reader->arg, texts->store, off, buf,
				   len, diag);
}

/* The character that lies on both sides of `at`, of which n bytes from there
 * on must be its. */
static enum bfs_err check_cut(const struct bfs_arrow_texts *texts, uint64_t at,
			      size_t n, struct bfs_diag *diag)
{
	uint64_t from = at - bfs_min(at - texts->span.start, LONGEST - 1);
	uint64_t end = at + bfs_min(texts->span.end - at, LONGEST - 1);
	size_t back = (size_t)(at - from), i = back, len;
	uint8_t near[2 * (LONGEST - 1)];

	if (!back)
		return refuse(at, diag);
	BFS_TRY(read_at(texts, from, near, (size_t)(end - from), diag));
	do
		i--;
	while (i && is_behind(near[i]));
	len = length_of(near[i]);
	if (i + len < back + n || len > (size_t)(end - from) - i ||
	    !bfs_json_is_utf8(near + i, len))
		return refuse(from + i, diag);
	return BFS_OK;
}

enum bfs_err bfs_arrow_read_texts(const struct bfs_arrow_texts *texts,
				  uint64_t off, uint8_t *buf, size_t len,
				  struct bfs_diag *diag)
{
	size_t first = 0, last = len;

	if (!len)
		return BFS_OK;
	BFS_TRY(read_at(texts, off, buf, len, diag));
	while (first < len && first < LONGEST - 1 && is_behind(buf[first]))
		first++;
	if (first)
		BFS_TRY(check_cut(texts, off, first, diag));
	if (first == len)
		return BFS_OK;
	/* Where the last character begins, if it is cut. */
	do
		last--;
	while (last > first && len - last < LONGEST && is_behind(buf[last]));
	if (length_of(buf[last]) > len - last)
		BFS_TRY(check_cut(texts, off + len, 1, diag));
	else
		last = len;
	if (!bfs_json_is_utf8(buf + first, last - first))
		return refuse(off + first, diag);
	return BFS_OK;
}

enum bfs_err bfs_arrow_check_begins(const struct bfs_arrow_texts *texts,
				    const struct bfs_arrow_type *type,
				    const uint8_t *offsets, size_t n,
				    uint8_t *scratch, struct bfs_diag *diag)
{
	size_t i = 0;

	while (i < n) {
		uint64_t from = bfs_arrow_load(type, offsets + 8 * i);
		uint64_t last = from, next = from;
		size_t end = i;

		/* The end of all is no text's beginning. */
		if (from == texts->span.end)
			break;
		while (next - last <= NEAR && next - from < BFS_ARROW_SCRATCH &&
		       next < texts->span.end) {
			last = next;
			if (++end == n)
				break;
			next = bfs_arrow_load(type, offsets + 8 * end);
		}
		BFS_TRY(read_at(texts, from, scratch, (size_t)(last - from) + 1,
				diag));
		for (; i < end; i++) {
			next = bfs_arrow_load(type, offsets + 8 * i);
			if (is_behind(scratch[next - from]))
				return refuse(next, diag);
		}
	}
	return BFS_OK;
}
