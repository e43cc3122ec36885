/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit.h - the exit codes of the program.
 */
#ifndef BFS_DAEMON_CHECK_EXIT_H
#define BFS_DAEMON_CHECK_EXIT_H

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* damage, or a mount that failed */
	EXIT_USAGE = 2,
	EXIT_SOURCE = 3,	/* no container, or not to be opened */
	EXIT_DIED = 4,		/* who served the mount was killed */
};

#endif
