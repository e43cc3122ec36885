/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.c - texts in MessagePack, as a table of python-blosc2 has them.
 */
#include "view/arrow/packed.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

/* Of a value: what it is, and how many bytes or items it has. */
enum packed { PACKED_OTHER, PACKED_TEXT, PACKED_LIST };

/* The head of a value at *at; what is cut off is OTHER. */
static enum packed take_head(const uint8_t *buf, size_t len, size_t *at,
			     uint64_t *ret_n)
{
	uint8_t mark = *at < len ? buf[*at] : 0xc1;
	unsigned width = 0;
	bool is_list = mark == 0xdc || mark == 0xdd || (mark & 0xf0) == 0x90;

	if (mark >= 0xd9 && mark <= 0xdb)
		width = 1U << (mark - 0xd9);
	else if (mark == 0xdc || mark == 0xdd)
		width = 2U << (mark - 0xdc);
	else if (!is_list && (mark & 0xe0) != 0xa0)
		return PACKED_OTHER;
	if (!bfs_inside(*at, 1 + width, len))
		return PACKED_OTHER;
	*ret_n = width ? 0 : mark & (is_list ? 0x0f : 0x1f);
	for (unsigned i = 0; i < width; i++)
		*ret_n = *ret_n << 8 | buf[*at + 1 + i];
	*at += 1 + width;
	if (!is_list && !bfs_inside(*at, *ret_n, len))
		return PACKED_OTHER;
	return is_list ? PACKED_LIST : PACKED_TEXT;
}

/* Allocates all of a stream (bfs_free). */
static enum bfs_err read_all(struct bfs_array *array,
			     const struct bfs_stream *stream,
			     uint8_t **ret_buf, size_t *ret_len,
			     struct bfs_diag *diag)
{
	enum bfs_err err;
	uint64_t len;
	uint8_t *buf;

	BFS_TRY(bfs_array_len(array, stream, &len, diag));
	if (len > BFS_ARROW_PACKED_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"more than %u bytes of texts that are decoded "
				"beforehand", BFS_ARROW_PACKED_MAX);
	buf = bfs_alloc((size_t)len + 1);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for texts");
	err = bfs_array_read(array, stream, 0, buf, (size_t)len, diag);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_buf = buf;
	*ret_len = (size_t)len;
	return BFS_OK;
}

enum bfs_err bfs_arrow_get_text(struct bfs_array *array, const char *name,
				char **ret_text, size_t *ret_len,
				struct bfs_diag *diag)
{
	const struct bfs_container *container = array->container;
	struct bfs_stream stream = { BFS_STREAM_VLMETA, 0 };
	size_t len, at = 0;
	uint64_t n;
	uint8_t *buf;

	while (stream.index < container->n_vlmetas &&
	       strcmp(container->vlmetas[stream.index].name, name) != 0)
		stream.index++;
	if (stream.index == container->n_vlmetas)
		return bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
				"there is no metalayer '%s'", name);
	BFS_TRY(read_all(array, &stream, &buf, &len, diag));
	if (take_head(buf, len, &at, &n) != PACKED_TEXT || at + n != len) {
		bfs_free(buf);
		return bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
				"the metalayer '%s' is no text", name);
	}
	memmove(buf, buf + at, (size_t)n);
	buf[n] = '\0';
	*ret_text = (char *)buf;
	*ret_len = (size_t)n;
	return BFS_OK;
}

/* ---- lists ----------------------------------------------------------- */

void bfs_arrow_list_release(struct bfs_arrow_list *list)
{
	bfs_free(list->joined);
	bfs_free(list->offsets);
	*list = (struct bfs_arrow_list){ 0 };
}

static bool grow(struct bfs_arrow_list *list)
{
	size_t cap = list->cap ? 2 * list->cap : 64;
	uint64_t *offsets;

	if (list->n + 1 < list->cap)
		return true;
	offsets = bfs_realloc(list->offsets, cap * sizeof(*offsets));
	if (!offsets)
		return false;
	list->offsets = offsets;
	list->cap = cap;
	return true;
}

/* The next value of a list, joined in place: what is joined is never longer
 * than what was read. */
static enum bfs_err take_item(struct bfs_arrow_list *list, const uint8_t *buf,
			      size_t len, size_t *at, struct bfs_diag *diag)
{
	uint64_t end = list->offsets[list->n], n;

	if (take_head(buf, len, at, &n) != PACKED_TEXT ||
	    !bfs_json_is_utf8(buf + *at, (size_t)n))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, *at,
				"its values are not all texts");
	memmove(list->joined + end, buf + *at, (size_t)n);
	*at += (size_t)n;
	if (!grow(list))
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for texts");
	list->offsets[++list->n] = end + n;
	return BFS_OK;
}

enum bfs_err bfs_arrow_get_list(struct bfs_array *array,
				struct bfs_arrow_list *ret_list,
				struct bfs_diag *diag)
{
	static const struct bfs_stream joined = { BFS_STREAM_JOINED, 0 };
	struct bfs_arrow_list list = { 0 };
	enum bfs_err err = BFS_OK;
	size_t len, at = 0;
	uint8_t *buf;
	uint64_t n;

	BFS_TRY(read_all(array, &joined, &buf, &len, diag));
	list.joined = (char *)buf;
	if (!grow(&list))
		err = bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for texts");
	else
		list.offsets[0] = 0;
	while (err == BFS_OK && at < len) {
		if (take_head(buf, len, &at, &n) != PACKED_LIST)
			err = bfs_fail(diag, BFS_ERR_UNSUPPORTED, at,
				       "its values are no lists of texts");
		for (; err == BFS_OK && n; n--)
			err = take_item(&list, buf, len, &at, diag);
	}
	if (err != BFS_OK) {
		bfs_arrow_list_release(&list);
		return err;
	}
	*ret_list = list;
	return BFS_OK;
}
