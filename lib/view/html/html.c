/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html.c - index.html: a container as one page, which needs no script and loads
 * nothing from elsewhere. It is made when its size is asked for.
 */
#include "view/html/page.h"
#include "view/parts.h"
#include "view/view.h"

static enum bfs_err get_page(struct bfs_file *file, const char **ret_text,
			     size_t *ret_len, struct bfs_diag *diag)
{
	return bfs_kept_text(file, BFS_ROW_html, 0, bfs_html_make, ret_text,
			     ret_len, diag);
}

static size_t html_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "index.html", 0 };
	return 1;
}

static void html_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	const char *text;
	size_t len;

	(void)node;
	if (get_page(file, &text, &len, NULL) == BFS_OK)
		bfs_text_stat(len, ret_attr);
}

const struct bfs_view bfs_view_html = {
	.name = "html",
	.groups = " web ",
	.n_texts = 1,
	.roots = html_roots,
	.stat = html_stat,
	.text = get_page,
};
