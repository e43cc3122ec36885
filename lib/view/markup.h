/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * markup.h - texts of a container in XML and HTML: what could be read as
 * markup, ends a line, or turns the direction of what follows, is told from
 * it. Whatever the bytes were, what comes out is valid there.
 */
#ifndef BFS_VIEW_MARKUP_H
#define BFS_VIEW_MARKUP_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text in the making, in memory of a fixed length. */
struct bfs_markup {
	char *buf;
	size_t len, cap;	/* one byte is left for a NUL */
	bool full;		/* something did not fit */
};

/* Appends as printf does: words of ours, and numbers. */
void bfs_markup_put(struct bfs_markup *markup, const char *fmt, ...)
	BFS_PRINTF(2, 3);
/* Appends bytes of a file as text, between tags or quotes; at most max_len
 * bytes of it, and dots for the rest. What is not seen (text/seen.h) and
 * what is no UTF-8 become U+FFFD. */
void bfs_markup_text(struct bfs_markup *markup, const void *text, size_t len,
		     size_t max_len);
/* "12,345,678" */
void bfs_markup_count(struct bfs_markup *markup, uint64_t n);
/* "1.5 MiB" */
void bfs_markup_size(struct bfs_markup *markup, uint64_t n);

#endif
