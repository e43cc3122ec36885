/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.h - the command line: one table of options, which parsing and --help
 * share. Parsing touches no file and prints nothing.
 */
#ifndef BFS_DAEMON_OPTS_H
#define BFS_DAEMON_OPTS_H

#include "tree/choice.h"
#include "log/log.h"
#include "sandbox/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum form {
	FORM_MOUNT,
	FORM_CHECK,
	FORM_INFO,
	FORM_CAT,
	FORM_UNMOUNT,
	FORM_VERSION,
	FORM_HELP,
};

struct opts {
	enum form form;
	char **words;		/* what is no option; points into argv */
	size_t n_words;
	bool foreground;
	const char *help_of;	/* --help=; points into argv; NULL: in short */
	bool fake;		/* as mount -f: all but the mount */

	uint64_t cache_size;		/* these two as in bloscfs_options */
	uint64_t max_memory;
	uint64_t max_request;	/* bytes read and decoded; 0: any */
	uint64_t readahead;
	uint64_t threads;
	uint64_t jobs;		/* of --check; 0: as many as CPUs */
	bool json;		/* of --check and --info */
	char *report;		/* of --check; a file */
	bool force;		/* of --cat: to a terminal, too */
	char *views;
	struct choice choice;	/* formats, include, exclude */
	bool keep;		/* directories lie beside their containers */

	bool has_uid, has_gid;
	uid_t uid;
	gid_t gid;
	mode_t fmask, dmask;

	double attr_timeout;	/* seconds; negative: the default */
	bool immutable;
	bool noxattr;
	bool drop_behind;	/* as in bloscfs_options */
	uint64_t offset, length;

	enum log_level log_level;
	char *log_file;
	bool syslog;
	enum sandbox_mode sandbox;
	bool restart;
	uint64_t idle_timeout;	/* seconds; 0: never */
	bool mkdir;		/* the mount point, if it is not there */
	int notify_fd;		/* -1: none */

	double connect_timeout, read_timeout;	/* seconds */
	uint64_t fetch_whole;	/* bytes */
	char *ca_file;
	char *catalog;
	bool no_sign;
	char *disk_cache;
	uint64_t disk_cache_size;

	char *fsname;
	bool allow_other, allow_root, auto_unmount;
	char *fuse;		/* libfuse's own options, comma between */
};

/* Whether a program of this name is called by mount(8), as mount.bloscfs. */
bool opts_is_helper(const char *argv0);
/* 0, or -EINVAL with one sentence in error, or -ENOMEM. The texts in opts
 * are freed by opts_release, after failure too. */
int opts_parse(struct opts *opts, int argc, char **argv, char *error,
	       size_t error_cap);
void opts_release(struct opts *opts);
/* One line "name=value", where a control byte or backslash is spelt \xHH. */
void opts_write_text(FILE *out, const char *name, const char *text);
/* Such a line for each option that has a value. Mounts only. */
void opts_write(const struct opts *opts, FILE *out);
/* How many words of a mount are SOURCEs; the last one is MOUNTPOINT. */
static inline size_t opts_n_sources(const struct opts *opts)
{
	return opts->n_words - 1;
}
/* The text of --help; name: of an option, of a group of them, "all", or NULL.
 * False: there is no such. */
bool opts_help(FILE *out, const char *name);

#endif
