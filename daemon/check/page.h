/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.h - --report: one page of HTML about all containers. It needs no server,
 * no script and nothing from elsewhere; its script only sorts and filters.
 *
 * Rows are put together by the threads, and go into a file without a name
 * beside the page. The page itself is written at the end and renamed: there is
 * the old one, or all of the new.
 */
#ifndef BFS_DAEMON_CHECK_PAGE_H
#define BFS_DAEMON_CHECK_PAGE_H

#include "check/told.h"
#include "opts/opts.h"

#include <stdio.h>

/* NULL, and a sentence in error, where the page could not be written. */
struct page *page_new(const struct opts *opts, char *error, size_t cap);
/* The row of a container. From any thread. */
void page_put_row(struct page *page, FILE *out,
		  const struct check_record *record);
/* Where rows go, in the order of the page; for the main thread. */
FILE *page_rows(struct page *page);
/* counts: of containers by verdict; size: of all that is stored. 0, or
 * -errno: then the old page is still there. */
int page_finish(struct page *page, const uint64_t counts[CHECK_N_VERDICTS],
		uint64_t size);
void page_free(struct page *page);	/* may be NULL */

#endif
