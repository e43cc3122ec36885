/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h - the forms of the program that print and end.
 */
#ifndef BFS_DAEMON_CHECK_INFO_H
#define BFS_DAEMON_CHECK_INFO_H

#include "opts/opts.h"

/* Exit codes of the program. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* damage, or a mount that failed */
	EXIT_USAGE = 2,
	EXIT_SOURCE = 3,	/* no container, or not to be opened */
	EXIT_DIED = 4,		/* who served the mount was killed */
};

/* Prints info.json of each source; the worst exit code of all. */
enum exit_code info_print(const struct opts *opts);
/* Writes the files of a container that the words behind its path name. */
enum exit_code info_cat(const struct opts *opts);
/* Prints versions and what this build decodes. */
enum exit_code info_version(void);
void info_write_version(FILE *out);

#endif
