/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assets.h - what every page has alike: its style, and the script of the slice
 * browser. For view/html/ alone.
 *
 * A page permits these two texts by their digests, and no other: whoever
 * changes one puts its digest beside it, in base64, as a test finds out.
 */
#ifndef BFS_VIEW_HTML_ASSETS_H
#define BFS_VIEW_HTML_ASSETS_H

extern const char bfs_html_style[];
#define BFS_HTML_SCRIPT_PIECES 2
extern const char *const bfs_html_script[BFS_HTML_SCRIPT_PIECES];

#define BFS_HTML_STYLE_SHA256 \
	"g2ysDcSDCFw3B6UTxHDcBWn4SveP44jxlpTEGMz8YJs="
#define BFS_HTML_SCRIPT_SHA256 \
	"Jn5dYtIwNJMJax7vxeGqE9iaRPDslx8RMWNnZ6kmG90="

#endif
