/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opened.h - a container that is named on the command line, for the forms that
 * print and end.
 */
#ifndef BFS_DAEMON_CHECK_OPENED_H
#define BFS_DAEMON_CHECK_OPENED_H

#include "bloscfs.h"
#include "check/exit.h"
#include "opts/opts.h"

#include <stdbool.h>

struct far;

/* NULL, and stderr says why; but what is a folder and no container is only told
 * by *ret_is_folder, unless that is NULL. *ret_far is to be closed after the
 * container, and where there is none. */
struct bloscfs_file *info_open(const struct opts *opts, struct bloscfs *fs,
			       const char *path, struct far **ret_far,
			       bool *ret_is_folder);

typedef enum exit_code info_work(const struct opts *opts, struct bloscfs *fs);

/* Works with an instance of that many threads and those views; the worst of
 * what came of it and of writing. */
enum exit_code info_with_instance(const struct opts *opts, const char *views,
				  unsigned threads, info_work *work);

#endif
