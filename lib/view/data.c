/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data.c - data.bin: the logical bytes of the container (payload.h).
 */
#include "view/payload.h"
#include "view/view.h"

static size_t data_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	if (file->array->container->kind == BFS_KIND_EXPRESSION)
		return 0;
	ret_roots[0] = (struct bfs_root){ "data.bin", 0 };
	return 1;
}

/* A tiled array's items are in another order than its chunks. */
static bool data_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)node;
	return !file->array->has_nd;
}

static void data_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	(void)node;
	bfs_payload_stat(file, 0, ret_attr);
}

static uint64_t data_run(struct bfs_file *file, const struct bfs_node *node,
			 uint64_t off, uint64_t len, bool *ret_hole)
{
	(void)node;
	return bfs_payload_run(file, off, len, ret_hole);
}

static enum bfs_err data_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	(void)node;
	return bfs_payload_ready(file, diag);
}

static enum bfs_err data_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	(void)file;
	(void)node;
	(void)diag;
	bfs_payload_part(NULL, 0, off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_data = {
	.name = "data",
	.groups = " imaging tables web ",
	.on = true,
	.roots = data_roots,
	.keeps = data_keeps,
	.stat = data_stat,
	.open = data_open,
	.run = data_run,
	.part = data_part,
};
