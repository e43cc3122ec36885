/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.h - folders listed page by page, as somebody goes through them.
 */
#ifndef BFS_DAEMON_REMOTE_LIST_H
#define BFS_DAEMON_REMOTE_LIST_H

#include "remote/held.h"

/* Both with the shelf's lock held. */

/* Goes on until entry i is known, or the end. Leaves the lock while the server
 * is asked. 0, or -errno with the reason in why (REMOTE_WHY_CAP). */
int list_reach(struct shelf *shelf, struct held *held, uint64_t i, char *why);
/* Whether a page that came would hold what is called so, were it there. */
bool list_would_show(const struct held *held, const char *name);

#endif
