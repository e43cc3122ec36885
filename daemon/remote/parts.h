/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - containers of many objects that are read, by the folders that they
 * are: which objects were read as their parts, held against what the server
 * has now.
 *
 * A folder's turn is how often parts of it were found to be others: what was
 * read before must not be mixed with what comes after.
 */
#ifndef BFS_DAEMON_REMOTE_PARTS_H
#define BFS_DAEMON_REMOTE_PARTS_H

#include "remote/shelf_priv.h"

/* A part as it was read. */
struct part {
	char *name;		/* below the folder, "/" between; owned */
	uint64_t size, identity;
	bool untold;		/* listings tell another identity of the same
				 * object, which alone is asked then */
	enum { PART_UNSURE, PART_SAME, PART_OTHER } now;
};

/* What the server has in place of these by now, as far as it tells: all that
 * are UNSURE become SAME or OTHER, where it answers. held: a listing at hand
 * counts. 0, or -EINTR, -ENOMEM. */
int parts_ask(struct shelf *shelf, const char *folder, struct part *parts,
	      size_t n, bool held);
/* Once nobody uses the shelf. */
void parts_release(struct shelf *shelf);

#endif
