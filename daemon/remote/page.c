/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.c - one page of a store's listing, asked for.
 */
#include "remote/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEYS 1000		/* of one page: more S3 does not send */
#define FEW_KEYS 200
#define SMALL_LISTING (1 << 20)	/* room for a page of FEW_KEYS */

/* The address of one page. Parameters are sorted and coded, as signatures
 * want it. */
static char *page_address(const struct shelf *shelf, const char *prefix,
			  const char *token, const char *after, unsigned most)
{
	char *coded = url_encode(prefix, true), *address = NULL;
	char *at = token ? url_encode(token, true) : NULL;
	char *from = after ? url_encode(after, true) : NULL;

	if (coded && (at || !token) && (from || !after) &&
	    asprintf(&address, "%s/?%s%s%sdelimiter=%%2F&encoding-type=url&"
		     "list-type=2&max-keys=%u&prefix=%s%s%s", shelf->url.http,
		     at ? "continuation-token=" : "", at ? at : "",
		     at ? "&" : "", most, coded, from ? "&start-after=" : "",
		     from ? from : "") < 0)
		address = NULL;
	free(coded);
	free(at);
	free(from);
	return address;
}

int page_ask(struct shelf *shelf, const char *folder, const char *prefix,
	     const char *token, const char *after, struct page *ret_page,
	     char *why)
{
	bool wide = remote_charge(&shelf->remote, LISTING_CAP);
	bool small = !wide && remote_charge(&shelf->remote, SMALL_LISTING);
	size_t cap = wide ? LISTING_CAP : SMALL_LISTING;
	char *address = page_address(shelf, prefix, token, after,
				     wide ? MOST_KEYS : FEW_KEYS);
	char *xml = malloc(cap);
	struct response r;
	int status = -ENOMEM;

	if (address && xml) {
		remote_ask(&shelf->remote, &(struct request){
			.url = address, .s3 = true, .whole = true,
			.signer = shelf->remote.signer, .len = cap,
			.buf = xml }, &r);
		status = remote_errno(&r, false);
		strcpy(why, r.why);
		/* A bucket that is not there is not an empty one. */
		if (status == -ENOENT) {
			strcpy(why, "there is no such bucket");
			status = -EIO;
		}
		if (!status)
			status = listing_parse(xml, r.len, folder, ret_page,
					       why);
	}
	free(address);
	free(xml);
	if (wide || small)
		remote_give_back(&shelf->remote, cap);
	return status;
}

struct folder_entry page_entry(const struct listed *listed)
{
	return (struct folder_entry){
		.is_folder = listed->is_folder, .told = true,
		.size = listed->size, .modified = listed->modified,
		.identity = folder_identity(listed->tag, listed->modified),
	};
}
