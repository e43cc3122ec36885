/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.h - what --check prints of one container.
 */
#ifndef BFS_DAEMON_CHECK_LINES_H
#define BFS_DAEMON_CHECK_LINES_H

#include "check/told.h"

#include <stdio.h>

const char *check_verdict_name(enum check_verdict verdict);
/* The line of a container and those beside it: damage by its place, then
 * notes. */
void check_put_lines(FILE *out, const struct check_record *record);
/* All of it as one object of JSON. */
void check_put_json(FILE *out, const struct check_record *record);

#endif
