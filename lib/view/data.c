/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data.c - data.bin: the logical bytes of the frame.
 *
 * An array's items in C order without padding, or all chunks joined. Also
 * tells which of its bytes are holes.
 */
#include "base/bytes.h"
#include "base/moment.h"
#include "view/file.h"
#include "view/holes.h"
#include "view/numbers.h"
#include "view/view.h"

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

static size_t data_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	if (file->array->container->kind == BFS_KIND_EXPRESSION)
		return 0;
	ret_roots[0] = (struct bfs_root){ "data.bin", 0 };
	return 1;
}

static uint64_t holes_len(struct bfs_file *file)
{
	struct bfs_file_state *state = bfs_file_state(file);
	uint64_t mark = bfs_moment_mark(), holes;

	if (bfs_flag_get(&state->holes_known))
		return state->holes_len;
	if (bfs_moment_settle(mark, bfs_holes_count(file->array, &holes),
			      NULL) != BFS_OK)
		return 0;
	pthread_mutex_lock(&file->lock);
	if (!state->holes_known) {
		state->holes_len = holes;
		bfs_flag_set(&state->holes_known);
	}
	pthread_mutex_unlock(&file->lock);
	return holes;
}

void bfs_file_data_stat(struct bfs_file *file, struct bfs_attr *ret_attr)
{
	uint64_t len;

	ret_attr->blksize = bfs_file_blksize(file);
	ret_attr->claim = file->array->has_nd ? file->array->nd.array_len
					      : file->array->container->claim;
	if (bfs_array_len(file->array, &data_stream, &len, NULL) != BFS_OK)
		return;
	ret_attr->len = len;
	ret_attr->stored_len = len - bfs_min(len, holes_len(file));
}

/* An array's items are in another order than its chunks. */
static bool data_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)node;
	return !file->array->has_nd;
}

static void data_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	(void)node;
	bfs_file_data_stat(file, ret_attr);
}

/* Chunks of an array are scattered over the file: it is a hole as a whole,
 * or not at all. */
static uint64_t data_run(struct bfs_file *file, const struct bfs_node *node,
			 uint64_t off, uint64_t len, bool *ret_hole)
{
	struct bfs_container *container = file->array->container;
	uint64_t n, end;

	(void)node;
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

static enum bfs_err data_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	(void)node;
	return bfs_array_ready(file->array, &data_stream, diag);
}

static enum bfs_err data_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	(void)file;
	(void)node;
	(void)diag;
	ret_part->stream = data_stream;
	ret_part->off = off;
	ret_part->len = len;
	return BFS_OK;
}

const struct bfs_view bfs_view_data = {
	.name = "data",
	.on = true,
	.roots = data_roots,
	.keeps = data_keeps,
	.stat = data_stat,
	.open = data_open,
	.run = data_run,
	.part = data_part,
};
