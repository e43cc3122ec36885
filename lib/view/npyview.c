/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npyview.c - data.npy: the array of the frame behind a NumPy header.
 *
 * Only for frames that are sound arrays. An array of Python objects or of
 * items without bytes has none, because no header can describe its bytes.
 */
#include "base/bytes.h"
#include "text/dtype.h"
#include "view/file.h"
#include "view/view.h"

#include <string.h>

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

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

enum bfs_err bfs_file_check_items(const struct bfs_file *file,
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

static enum bfs_err make_header(struct bfs_file *file, char **ret_text,
				size_t *ret_len, struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_array_meta *meta = &container->array;
	uint64_t shape[BFS_MAX_DIM] = { 0 };
	uint8_t *header;

	BFS_TRY(bfs_file_check_items(file, diag));
	for (unsigned i = 0; i < meta->ndim; i++) {
		if (meta->shape[i] < 0)
			return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
					"a shape below zero");
		shape[i] = (uint64_t)meta->shape[i];
	}
	BFS_TRY(bfs_npy_header(meta->dtype, meta->dtype_len,
			       container->typesize, meta->ndim, shape,
			       meta->fortran, &header, ret_len, diag));
	*ret_text = (char *)header;
	return BFS_OK;
}

static enum bfs_err get_header(struct bfs_file *file, const char **ret_header,
			       size_t *ret_len, struct bfs_diag *diag)
{
	return bfs_file_text(file, BFS_TEXT_NPY, make_header, ret_header,
			     ret_len, diag);
}

bool bfs_file_is_array(const struct bfs_file *file)
{
	const struct bfs_array_meta *meta = &file->array->container->array;

	return meta->present && meta->ndim <= BFS_MAX_DIM &&
	       file->array->container->kind != BFS_KIND_EXPRESSION &&
	       (file->array->has_nd || meta->linear);
}

static size_t npy_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	const char *header;
	size_t len;

	if (!bfs_file_is_array(file))
		return 0;
	if (get_header(file, &header, &len, NULL) == BFS_ERR_UNSUPPORTED)
		return 0;
	ret_roots[0] = (struct bfs_root){ "data.npy", 0 };
	return 1;
}

/* A node may come from a caller that never saw the entry. */
static enum bfs_err check_there(struct bfs_file *file, struct bfs_diag *diag)
{
	struct bfs_root root;

	if (!npy_roots(file, &root))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return BFS_OK;
}

static void npy_stat(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr)
{
	const char *header;
	uint64_t len;
	size_t head_len;

	(void)node;
	ret_attr->blksize = bfs_file_blksize(file);
	if (check_there(file, NULL) != BFS_OK ||
	    get_header(file, &header, &head_len, NULL) != BFS_OK)
		return;
	bfs_file_data_stat(file, ret_attr);
	ret_attr->claim += head_len;
	if (bfs_array_len(file->array, &data_stream, &len, NULL) != BFS_OK)
		return;
	if (len > INT64_MAX - head_len) {
		ret_attr->len = 0;
		return;
	}
	ret_attr->len += head_len;
	ret_attr->stored_len += head_len;
}

static enum bfs_err npy_open(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_diag *diag)
{
	const char *header;
	size_t len;

	(void)node;
	BFS_TRY(check_there(file, diag));
	BFS_TRY(get_header(file, &header, &len, diag));
	return bfs_array_ready(file->array, &data_stream, diag);
}

static enum bfs_err npy_part(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint64_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag)
{
	const char *header;
	size_t head_len;

	(void)node;
	BFS_TRY(get_header(file, &header, &head_len, diag));
	if (off < head_len) {
		ret_part->bytes = header + off;
		ret_part->len = bfs_min(len, head_len - off);
		return BFS_OK;
	}
	ret_part->stream = data_stream;
	ret_part->off = off - head_len;
	ret_part->len = len;
	return BFS_OK;
}

const struct bfs_view bfs_view_npyview = {
	.name = "npy",
	.on = true,
	.roots = npy_roots,
	.stat = npy_stat,
	.open = npy_open,
	.part = npy_part,
};
