/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.c - map.svg: the chunks of a container as rows of cells, coloured by
 * how well they are compressed and of what kind they are.
 */
#include "base/mem.h"
#include "view/map/cells.h"
#include "view/map/svg.h"
#include "view/parts.h"
#include "view/view.h"

static enum bfs_err make_map(struct bfs_file *file, unsigned key,
			     char **ret_text, size_t *ret_len,
			     struct bfs_diag *diag)
{
	struct bfs_grid l = bfs_map_grid(file->array);
	size_t len = bfs_map_len(&l);
	struct bfs_facts facts;
	enum bfs_err err;
	char *buf;

	(void)key;
	BFS_TRY(bfs_file_find_facts(file, &facts, diag));
	buf = bfs_alloc(len + 1);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for a map");
	err = bfs_map_draw(file->array, &facts, &l, buf, len, diag);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_text = buf;
	*ret_len = len;
	return BFS_OK;
}

static size_t map_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "map.svg", 0 };
	return 1;
}

/* The length is that of any map of so many chunks. */
static void map_stat(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr)
{
	struct bfs_grid l = bfs_map_grid(file->array);

	(void)node;
	bfs_text_stat(bfs_map_len(&l), ret_attr);
	ret_attr->renews = true;
}

static enum bfs_err map_open(struct bfs_file *file, const struct bfs_node *node,
			     struct bfs_diag *diag)
{
	size_t len;

	(void)node;
	return bfs_kept_len(file, BFS_ROW_map, 0, make_map, &len, diag);
}

static enum bfs_err map_fill(struct bfs_file *file, const struct bfs_node *node,
			     uint64_t off, uint8_t *buf, size_t len,
			     struct bfs_diag *diag)
{
	(void)node;
	return bfs_kept_copy(file, BFS_ROW_map, 0, make_map, off, buf, len,
			     diag);
}

const struct bfs_view bfs_view_map = {
	.name = "map",
	.groups = " web ",
	.n_texts = 1,
	.roots = map_roots,
	.stat = map_stat,
	.open = map_open,
	.fill = map_fill,
};
