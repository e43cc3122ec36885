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
	bool helper;	/* called by mount(8) */
	bool sloppy;	/* which wants unknown options ignored */
	bool umask_set, fmask_set, dmask_set;
	mode_t umask;
};

/* Puts value (NULL where the option takes none) into parse->opts. False: it is
 * no value for this option. */
bool opts_take_value(struct parse *parse, const struct opt *opt,
		     const char *value);
/* The option's name, or the form's with its "--", that is almost the same;
 * NULL: none is. */
const char *opts_guess(const char *name, size_t len);
/* Whether name[0 .. len) is a word of mount(8), or of others that read fstab.
 * False but for helpers, as the next. */
bool helper_has(const struct parse *parse, const char *name, size_t len);
/* Whether mount(8) wants to hear of no unknown one. */
bool helper_passes_over(const struct parse *parse, const char *name,
			size_t len);
/* Letters as mount(8) gives them; *i moves on over an argument used. 0, or
 * -EINVAL with a sentence. */
int helper_letters(struct parse *parse, int argc, char **argv, int *i);
/* Adds "name" or "name=value" to what libfuse gets. 0 or -ENOMEM. */
int opts_hand_on(struct opts *opts, const char *name, const char *value);

#endif
