/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leave.h - whether an entry of the source is left as it is, whatever it
 * holds (choice.h), as far as the folders above it and its path tell.
 */
#ifndef BFS_DAEMON_TREE_LEAVE_H
#define BFS_DAEMON_TREE_LEAVE_H

#include "daemon.h"

/* Looks at the folder, open as dir_fd, where it has changed. *ret_ever: the
 * folder's files were left once, so that what is known of them may be wrong.
 * 0 or -errno. */
int leave_look(struct daemon *daemon, struct node *folder, int dir_fd,
	       const char *name, bool *ret_left, bool *ret_ever);
/* The same on a server: its listing tells, asked for once in a while. name
 * NULL: what holds for all that is in the folder. */
int leave_far(struct daemon *daemon, struct node *folder, const char *name,
	      bool *ret_left);
/* The same by what is known of the folder. */
bool leave_known(struct daemon *daemon, struct node *folder,
		 const char *path);

#endif
