/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * row.h - what rows of the tables of options and of forms are; shared by the
 * files of this folder alone. The tables themselves stand in table.c.
 */
#ifndef BFS_DAEMON_OPTS_ROW_H
#define BFS_DAEMON_OPTS_ROW_H

#include "opts/opts.h"

#define DEFAULT_VIEWS "info,data,npy,chunks,meta"

enum opt_kind {
	OPT_FLAG,	/* bool */
	OPT_SIZE,	/* uint64_t, with K, M, G */
	OPT_COUNT,	/* uint64_t */
	OPT_NUMBER,	/* the same, 1 or more */
	OPT_SECONDS,	/* double */
	OPT_TEXT,	/* char *, owned */
	OPT_FORMATS,	/* a list with colons */
	OPT_RULE,	/* a glob, may be given more than once */
	OPT_FD,		/* int */
	OPT_MASK,	/* mode_t, octal */
	OPT_UMASK,	/* both masks */
	OPT_UID,
	OPT_GID,
	OPT_LEVEL,
	OPT_SANDBOX,
	OPT_SUBTYPE,	/* only our own name */
	OPT_FUSE,	/* handed to libfuse, with or without a value */
	OPT_FUSE_FLAG,	/* the same, and a bool of ours */
	OPT_IGNORED,	/* what mount(8) adds; without effect */
	OPT_GROUP,	/* no option: the name of those that follow */
};

struct opt {
	const char *name;
	const char *value;	/* how --help names it; NULL: takes none */
	enum opt_kind kind;
	size_t where;		/* in struct opts */
	const char *help;	/* NULL: not listed */
};

#define AT(member) offsetof(struct opts, member)

extern const struct opt opts_table[];
extern const size_t n_opts;

/* What is done instead of a mount: "--check" and so on. The last has no
 * name. */
struct form_name {
	const char *name;
	enum form form;
};

extern const struct form_name opts_forms[];

#endif
