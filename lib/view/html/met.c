/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * met.c - which chunks of a container failed when they were read, and why: as
 * many as fit into a fixed part of the page, then how many there are.
 */
#include "view/html/met.h"

#include "array/faults.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

#define put bfs_markup_put
#define PART_LEN 4096		/* bytes; a page of memory */
#define MAX_REASON 120		/* bytes of a reason that are shown */
/* Of one row, and what follows the last: each byte of a reason may take six. */
#define ROW_LEN (6 * MAX_REASON + 160)
#define END_LEN 256

/* Blanks up to `len` bytes of the page. */
static void pad(struct bfs_markup *page, size_t len)
{
	if (page->full || page->len >= len || len >= page->cap) {
		page->full = true;
		return;
	}
	memset(page->buf + page->len, ' ', len - page->len);
	page->buf[len - 1] = '\n';
	page->buf[len] = 0;
	page->len = len;
}

static void put_fault(struct bfs_markup *page, const struct bfs_diag *why)
{
	put(page, "<tr><th>");
	if (why->chunk >= 0) {
		put(page, "chunk ");
		bfs_markup_count(page, (uint64_t)why->chunk);
	} else {
		put(page, "a metalayer");
	}
	put(page, "</th><td>");
	bfs_markup_text(page, why->text, strlen(why->text), MAX_REASON);
	put(page, ", at byte ");
	bfs_markup_count(page, why->off);
	put(page, "</td></tr>\n");
}

static void put_known(struct bfs_markup *page,
		      const struct bfs_faults_known *known, size_t end)
{
	size_t n = 0;

	put(page, "<h2 class=\"bad\">Faults met</h2>\n<p class=\"lead\">");
	if (known->n)
		bfs_markup_count(page, known->n);
	put(page, "%s chunk%s could not be read since this file was opened.</p>"
	    "\n<table>\n", !known->more ? "" : known->n ? " and more" :
	    "some", known->n == 1 && !known->more ? "" : "s");
	for (; n < known->n_told && end - page->len > ROW_LEN + END_LEN; n++)
		put_fault(page, &known->told[n]);
	put(page, "</table>\n");
	if (n < known->n || known->more) {
		put(page, "<p class=\"lead\">The first ");
		bfs_markup_count(page, n);
		put(page, " are told; <code>bloscfs --check</code> finds all."
		    "</p>\n");
	}
}

enum bfs_err bfs_html_faults(struct bfs_markup *page, struct bfs_file *file,
			     struct bfs_diag *diag)
{
	size_t start = (page->len / PART_LEN + 1) * PART_LEN;
	struct bfs_faults_known known;

	pad(page, start);
	BFS_TRY(bfs_faults_copy(&file->array->faults, &known, diag));
	bfs_free(known.all);
	if (known.n || known.more)
		put_known(page, &known, start + PART_LEN);
	pad(page, start + PART_LEN);
	return BFS_OK;
}
