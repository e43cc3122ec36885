/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npyview.c - data.npy: the array of the container behind a NumPy header.
 *
 * Only for containers that are sound arrays. An array of Python objects or of
 * items without bytes has none, because no header can describe its bytes.
 */
#include "text/dtype.h"
#include "view/payload.h"
#include "view/view.h"

static enum bfs_err make_header(struct bfs_file *file, unsigned key,
				char **ret_text, size_t *ret_len,
				struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_array_meta *meta = &container->array;
	uint64_t shape[BFS_MAX_DIM] = { 0 };
	uint8_t *header;

	(void)key;
	BFS_TRY(bfs_payload_check_items(file, diag));
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
	return bfs_kept_text(file, BFS_ROW_npyview, 0, make_header, ret_header,
			     ret_len, diag);
}

static size_t npy_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	const char *header;
	size_t len;

	if (!bfs_payload_is_array(file))
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
	size_t len;

	(void)node;
	if (check_there(file, NULL) == BFS_OK &&
	    get_header(file, &header, &len, NULL) == BFS_OK)
		bfs_payload_stat(file, len, ret_attr);
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
	return bfs_payload_ready(file, diag);
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
	bfs_payload_part(header, head_len, off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_npyview = {
	.name = "npy",
	.groups = " tables ",
	.on = true,
	.n_texts = 1,
	.roots = npy_roots,
	.stat = npy_stat,
	.open = npy_open,
	.part = npy_part,
};
