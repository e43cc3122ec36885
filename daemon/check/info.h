/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h - the forms of the program that print and end.
 */
#ifndef BFS_DAEMON_CHECK_INFO_H
#define BFS_DAEMON_CHECK_INFO_H

#include "check/exit.h"
#include "opts/opts.h"

#include <stdio.h>

/* Prints info.json of each source, and of the containers in one that is a
 * folder; the worst exit code of all. */
enum exit_code info_print(const struct opts *opts);
/* Writes the files of a container that the words behind its path name. */
enum exit_code info_cat(const struct opts *opts);
/* Prints versions and what this build decodes. */
enum exit_code info_version(void);
void info_write_version(FILE *out);

#endif
