/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.h - what stands behind an option's name.
 */
#ifndef BFS_DAEMON_OPTS_VALUE_H
#define BFS_DAEMON_OPTS_VALUE_H

#include "opts/row.h"

/* One reading of a command line. */
struct parse {
	struct opts *opts;
	char *error;
	size_t error_cap;
	bool umask_set, fmask_set, dmask_set;
	mode_t umask;
};

/* Puts value (NULL where the option takes none) into parse->opts. False: it is
 * no value for this option. */
bool opts_take_value(struct parse *parse, const struct opt *opt,
		     const char *value);
/* Adds "name" or "name=value" to what libfuse gets. 0 or -ENOMEM. */
int opts_hand_on(struct opts *opts, const char *name, const char *value);

#endif
