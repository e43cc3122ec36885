/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listing.h - one page of what lies below a prefix of a bucket, as S3 tells it
 * (ListObjectsV2, with encoding-type=url).
 *
 * A page is a stranger's XML: bounded in size, depth and texts; document types
 * and entities are refused.
 */
#ifndef BFS_DAEMON_REMOTE_LISTING_H
#define BFS_DAEMON_REMOTE_LISTING_H

#include "remote/request.h"

#define LISTING_CAP (8 << 20)	/* bytes of one page */

/* An object, or a folder of them. name is the last component, as the store
 * has it: any bytes but NUL and "/". */
struct listed {
	char *name;		/* owned by the page */
	bool is_folder;
	uint64_t size;
	int64_t modified;	/* seconds since 1970, as the store says */
	char tag[REMOTE_TAG_CAP];
};

struct page {
	struct listed *entries;
	size_t n;
	char *next;		/* token of the page behind; NULL: none */
};

/* xml: a page; folder: the prefix whose entries are wanted, as bytes, "" or
 * ending in "/". What does not lie right below it is left out. 0, -ENOMEM,
 * or -EIO with a reason in why (REMOTE_WHY_CAP). */
int listing_parse(const char *xml, size_t len, const char *folder,
		  struct page *ret_page, char *why);
void listing_release(struct page *page);

#endif
