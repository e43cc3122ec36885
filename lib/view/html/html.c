/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html.c - index.html: a container as one page, which needs no script and loads
 * nothing from elsewhere. It is made when its size is asked for, and anew, as
 * long as before, when faults were met.
 */
#include "view/html/page.h"
#include "view/parts.h"
#include "view/view.h"

static size_t html_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "index.html", 0 };
	return 1;
}

static void html_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	size_t len;

	(void)node;
	if (bfs_kept_len(file, BFS_ROW_html, 0, bfs_html_make, &len, NULL) ==
	    BFS_OK)
		bfs_text_stat(len, ret_attr);
	ret_attr->renews = true;
}

static enum bfs_err html_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	size_t len;

	(void)node;
	return bfs_kept_len(file, BFS_ROW_html, 0, bfs_html_make, &len, diag);
}

static enum bfs_err html_fill(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	(void)node;
	return bfs_kept_copy(file, BFS_ROW_html, 0, bfs_html_make, off, buf,
			     len, diag);
}

const struct bfs_view bfs_view_html = {
	.name = "html",
	.groups = " web ",
	.n_texts = 1,
	.roots = html_roots,
	.stat = html_stat,
	.open = html_open,
	.fill = html_fill,
};
