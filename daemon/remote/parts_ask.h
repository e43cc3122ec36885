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
 * order changes. end_ms: when asking ends (remote_now_ms), which is begun with
 * *from, where there is such a name, and begins there the next time; owned by
 * the caller. 0: no listing at hand counts, and not to know of one is EIO. 0,
 * -EINTR, -ENOMEM or -EIO. */
int parts_ask(struct shelf *shelf, const char *folder, struct part *parts,
	      size_t n, char **from, int64_t end_ms);

#endif
