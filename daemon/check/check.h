/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - --check: decode all of every container and say how it is.
 */
#ifndef BFS_DAEMON_CHECK_CHECK_H
#define BFS_DAEMON_CHECK_CHECK_H

#include "check/info.h"
#include "opts/opts.h"

/* One line per container on stdout, a summary on stderr. */
enum exit_code check_run(const struct opts *opts);

#endif
