/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.h - index.html as a text. For view/html/ alone.
 */
#ifndef BFS_VIEW_HTML_PAGE_H
#define BFS_VIEW_HTML_PAGE_H

#include "view/kept.h"

/* For bfs_kept_text: the page of a container, of at most 512 KiB. Metalayers
 * are decoded for it, up to 4 MiB, and no data. */
enum bfs_err bfs_html_make(struct bfs_file *file, unsigned key, char **ret_text,
			   size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
