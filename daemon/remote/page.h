/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.h - one page of a store's listing, asked for.
 */
#ifndef BFS_DAEMON_REMOTE_PAGE_H
#define BFS_DAEMON_REMOTE_PAGE_H

#include "remote/listing.h"
#include "remote/shelf_priv.h"

/* Asks for a page: what is right below folder among what begins with prefix;
 * token: the page behind another, or NULL; after: only what sorts behind that
 * key, where the store can, or NULL. Where its memory would be in the
 * way, for a small one, whose memory counts where it may: names are needed all
 * the same. 0, or -errno with the reason in why (REMOTE_WHY_CAP). */
int page_ask(struct shelf *shelf, const char *folder, const char *prefix,
	     const char *token, const char *after, struct page *ret_page,
	     char *why);
struct folder_entry page_entry(const struct listed *listed);

#endif
