/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * met.h - the faults met in a container, on its page. For view/html/ alone.
 */
#ifndef BFS_VIEW_HTML_MET_H
#define BFS_VIEW_HTML_MET_H

#include "view/kept.h"
#include "view/markup.h"

/* Puts blanks up to the next multiple of 4096 bytes of the page, then 4096
 * bytes: the first faults, or blanks where none was met. So the page has one
 * length, and whoever reads it by pages of memory sees no half of them. */
enum bfs_err bfs_html_faults(struct bfs_markup *page, struct bfs_file *file,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
