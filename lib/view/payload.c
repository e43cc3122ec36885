/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * payload.c - the logical bytes of a container: their length, which of them
 * are holes, and whether they are values of an array.
 */
#include "view/payload.h"

#include "base/bytes.h"
#include "base/moment.h"
#include "text/dtype.h"
#include "view/holes.h"
#include "view/parts.h"

#include <string.h>

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

/* ---- as an array ----------------------------------------------------- */

bool bfs_payload_is_array(const struct bfs_file *file)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_array_meta *meta = &container->array;

	return meta->present && meta->ndim <= BFS_MAX_DIM &&
	       container->kind != BFS_KIND_EXPRESSION &&
	       (file->array->has_nd || meta->linear);
}

/* "O", with a byte order before and a size behind, or spelt out. */
static bool is_object(const char *text, size_t len)
{
	if (len == 6 && memcmp(text, "object", 6) == 0)
		return true;
	if (len > 0 && strchr("<>|=", text[0])) {
		text++;
		len--;
	}
	if (!len || text[0] != 'O')
		return false;
	for (size_t i = 1; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

enum bfs_err bfs_payload_check_items(const struct bfs_file *file,
				     struct bfs_diag *diag)
{
	const struct bfs_array_meta *meta = &file->array->container->array;
	struct bfs_dtype dtype;
	uint64_t itemsize;
	enum bfs_err err;

	if (!meta->dtype)
		return BFS_OK;
	if (is_object(meta->dtype, meta->dtype_len))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"an array of objects holds no values");
	err = bfs_dtype_parse(meta->dtype, meta->dtype_len, &dtype, NULL);
	if (err != BFS_OK)	/* opaque items then */
		return bfs_err_passes(err) ? err : BFS_OK;
	itemsize = dtype.itemsize;
	bfs_dtype_release(&dtype);
	if (!itemsize)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"an array whose items have no bytes");
	return BFS_OK;
}

/* ---- as bytes -------------------------------------------------------- */

static uint64_t holes_len(struct bfs_file *file)
{
	uint64_t mark = bfs_moment_mark(), holes;

	if (bfs_kept_has(&file->holes_known))
		return file->holes_len;
	if (bfs_moment_settle(mark, bfs_holes_count(file->array, &holes),
			      NULL) != BFS_OK)
		return 0;
	bfs_kept_publish(file, &file->holes_known, &file->holes_len, &holes,
			 sizeof(holes));
	return holes;
}

enum bfs_err bfs_payload_ready(struct bfs_file *file, struct bfs_diag *diag)
{
	return bfs_array_ready(file->array, &data_stream, diag);
}

void bfs_payload_stat(struct bfs_file *file, size_t head_len,
		      struct bfs_attr *ret_attr)
{
	uint64_t len;

	ret_attr->blksize = bfs_file_blksize(file);
	ret_attr->claim = file->array->has_nd ? file->array->nd.array_len
					      : file->array->container->claim;
	ret_attr->claim += head_len;
	if (bfs_array_len(file->array, &data_stream, &len, NULL) != BFS_OK ||
	    (head_len && len > INT64_MAX - head_len))
		return;
	ret_attr->len = head_len + len;
	ret_attr->stored_len = head_len + len - bfs_min(len, holes_len(file));
}

void bfs_payload_part(const void *head, size_t head_len, uint64_t off,
		      uint64_t len, struct bfs_part *ret_part)
{
	if (off < head_len) {
		ret_part->bytes = (const char *)head + off;
		ret_part->len = bfs_min(len, head_len - off);
		return;
	}
	ret_part->stream = data_stream;
	ret_part->off = off - head_len;
	ret_part->len = len;
}

/* The chunks of a tiled array are scattered over its items: it is a hole as a
 * whole, or not at all. */
uint64_t bfs_payload_run(struct bfs_file *file, uint64_t off, uint64_t len,
			 bool *ret_hole)
{
	struct bfs_container *container = file->array->container;
	uint64_t n, end;

	*ret_hole = file->array->has_nd && holes_len(file) == UINT64_MAX;
	if (file->array->has_nd ||
	    bfs_container_chunk_at(container, off, &n, NULL) != BFS_OK)
		return len;
	bfs_holes_run(container, n, ret_hole, &n);
	if (bfs_container_chunk_off(container, n, &end, NULL) != BFS_OK ||
	    end <= off)
		return len;
	return bfs_min(end, len);
}
