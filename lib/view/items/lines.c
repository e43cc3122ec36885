/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.c - one value, one line.
 */
#include "view/items/lines.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"
#include "text/msgpack.h"

#include <inttypes.h>

#define MAX_LINE ((size_t)16 << 20)

/* ---- units ----------------------------------------------------------- */

enum bfs_err bfs_items_units(struct bfs_file *file, uint64_t n, bool in_blocks,
			     uint32_t *ret_n, struct bfs_diag *diag)
{
	struct bfs_chunk *chunk;
	struct bfs_span span;
	bool has_blocks;

	*ret_n = 1;
	if (!in_blocks)
		return BFS_OK;
	BFS_TRY(bfs_array_plan(file->array, n, &chunk, &span, diag));
	*ret_n = chunk->head.n_blocks;
	has_blocks = chunk->head.kind == BFS_CHUNK_VLBLOCKS;
	bfs_chunk_unref(chunk);
	if (!has_blocks)
		return bfs_diag_chunk(diag, bfs_fail(
				diag, BFS_ERR_CORRUPT, span.off,
				"a batch without blocks of its own"), n);
	return BFS_OK;
}

enum bfs_err bfs_items_unit(struct bfs_file *file, uint64_t n, uint32_t k,
			    bool in_blocks, struct bfs_items_range *ret_range,
			    struct bfs_diag *diag)
{
	const struct bfs_stream stream = { BFS_STREAM_CHUNK, n };
	struct bfs_chunk *chunk;
	struct bfs_span span;
	uint64_t len;

	*ret_range = (struct bfs_items_range){ .chunk = n,
					       .is_one = !in_blocks,
					       .has_head = in_blocks,
					       .is_whole = in_blocks };
	if (!in_blocks) {
		BFS_TRY(bfs_array_len(file->array, &stream, &len, diag));
		ret_range->len = (uint32_t)len;
		return BFS_OK;
	}
	BFS_TRY(bfs_array_plan(file->array, n, &chunk, &span, diag));
	ret_range->off = (uint32_t)bfs_chunk_block_off(chunk, k);
	ret_range->len = (uint32_t)bfs_chunk_block_len(chunk, k);
	bfs_chunk_unref(chunk);
	return BFS_OK;
}

/* ---- lines ----------------------------------------------------------- */

static enum bfs_err fail_at(const struct bfs_items_range *range, uint32_t at,
			    enum bfs_err err, struct bfs_diag *diag)
{
	const char *what = "a value of too many parts";

	if (err != BFS_ERR_LIMIT && err != BFS_ERR_NOMEM) {
		err = BFS_ERR_CORRUPT;
		what = "no list of values";
	}
	return bfs_diag_chunk(diag, bfs_fail(diag, err, range->off + at, "%s",
					     what), range->chunk);
}

/* The line of a value that is not shown. */
static enum bfs_err put_omitted(struct bfs_json *json, uint64_t len)
{
	bfs_json_release(json);
	bfs_json_init(json, MAX_LINE);
	json->one_line = true;
	bfs_json_object(json);
	bfs_json_key(json, "omitted");
	bfs_json_u64(json, len);
	bfs_json_object_end(json);
	return json->err;
}

/* One value; *more is whether the taker wants another. p is NULL where it is
 * too long to be read. */
static enum bfs_err put_line(const uint8_t *p, size_t len, uint32_t end,
			     bfs_items_take *take, void *arg, bool *more,
			     struct bfs_diag *diag)
{
	struct bfs_json json;
	char *text = NULL;
	size_t text_len;
	enum bfs_err err = BFS_ERR_LIMIT;

	bfs_json_init(&json, MAX_LINE);
	json.one_line = true;
	if (p && len <= BFS_ITEMS_MAX_VALUE)
		err = bfs_msgpack_to_json(p, len, NULL, &json);
	if (err == BFS_ERR_LIMIT)
		err = put_omitted(&json, len);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, &text, &text_len);
	bfs_json_release(&json);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "no memory for an item");
	*more = take(arg, text, text_len, end);
	bfs_free(text);
	return BFS_OK;
}

/* The head of a list: its length, and the values in it. */
static bool read_head(const uint8_t *p, size_t len, size_t *ret_len,
		      uint64_t *ret_n)
{
	if (len && p[0] >> 4 == 9) {
		*ret_len = 1;
		*ret_n = p[0] & 15;
	} else if (len >= 3 && p[0] == 0xdc) {
		*ret_len = 3;
		*ret_n = bfs_be16(p + 1);
	} else if (len >= 5 && p[0] == 0xdd) {
		*ret_len = 5;
		*ret_n = bfs_be32(p + 1);
	} else {
		return false;
	}
	return true;
}

static enum bfs_err put_lines(const struct bfs_items_range *range,
			      const uint8_t *buf, bfs_items_take *take,
			      void *arg, struct bfs_diag *diag)
{
	uint64_t left = UINT64_MAX;
	size_t at = 0, len;
	bool more = true;
	enum bfs_err err;

	if (range->has_head && !read_head(buf, range->len, &at, &left))
		return fail_at(range, 0, BFS_ERR_CORRUPT, diag);
	for (; more && left && at < range->len; left--) {
		err = bfs_msgpack_walk(buf + at, range->len - at, &len, NULL);
		if (err != BFS_OK)
			return fail_at(range, (uint32_t)at, err, diag);
		at += len;
		BFS_TRY(put_line(buf + at - len, len, (uint32_t)at, take, arg,
				 &more, diag));
	}
	if (more && (at != range->len || (range->is_whole && left)))
		return fail_at(range, (uint32_t)at, BFS_ERR_CORRUPT, diag);
	return BFS_OK;
}

enum bfs_err bfs_items_lines(struct bfs_file *file,
			     const struct bfs_items_range *range,
			     bfs_items_take *take, void *arg,
			     struct bfs_diag *diag)
{
	const struct bfs_stream stream = { BFS_STREAM_CHUNK, range->chunk };
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	bool more;

	if (range->is_one && range->len > BFS_ITEMS_MAX_VALUE)
		return put_line(NULL, range->len, range->len, take, arg, &more,
				diag);
	if (range->len > BFS_ITEMS_MAX_UNIT)
		return bfs_diag_chunk(diag, bfs_fail(
				diag, BFS_ERR_LIMIT, range->off,
				"a list of %" PRIu32 " bytes", range->len),
				range->chunk);
	buf = bfs_alloc(bfs_max(range->len, 1));
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for items");
	BFS_TRY(bfs_array_read(file->array, &stream, range->off, buf,
			       range->len, diag));
	if (range->is_one)
		return put_line(buf, range->len, range->len, take, arg, &more,
				diag);
	return put_lines(range, buf, take, arg, diag);
}
