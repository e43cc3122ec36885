/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts_ask.h - what a server has by now of objects that were read as parts of
 * a container.
 */
#ifndef BFS_DAEMON_REMOTE_PARTS_ASK_H
#define BFS_DAEMON_REMOTE_PARTS_ASK_H

#include "remote/shelf_priv.h"

/* A part as it was read. */
struct part {
	char *name;		/* below the folder, "/" between; owned */
	uint64_t size, identity;
	bool untold;		/* listings tell another identity of the same
				 * object, which alone is asked then */
	enum { PART_UNSURE, PART_SAME, PART_OTHER } now;
};

/* All that are UNSURE become SAME or OTHER, as far as the server answers; their
 * order changes. held: a listing at hand counts. 0, or -EINTR, -ENOMEM. */
int parts_ask(struct shelf *shelf, const char *folder, struct part *parts,
	      size_t n, bool held);

#endif
