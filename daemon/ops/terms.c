/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * terms.c - what the kernel offers, and what of it we want.
 */
#include "ops/terms.h"

#include "ops/through.h"

#include <stdlib.h>
#include <string.h>

#define FAR_BACKGROUND 1024

/* Where the kernel judges by modes it is to judge by lists of rights as well;
 * where it cannot, or may not ask for them, modes say less. */
static void ask_for_lists(struct daemon *daemon, struct fuse_conn_info *conn)
{
	const struct opts *opts = daemon->opts;
	bool judges = opts->allow_other ||
		      (opts->fuse &&
		       strstr(opts->fuse, "default_permissions"));
	bool can = !opts->noxattr && conn->capable & FUSE_CAP_POSIX_ACL;

	if (judges && can)
		conn->want |= FUSE_CAP_POSIX_ACL;
	atomic_store(&daemon->no_lists, opts->noxattr || (judges && !can));
	atomic_store(&daemon->judges_lists, judges && can);
}

/* What was asked of the connection; libfuse's session does not know it. */
static struct fuse_conn_info_opts *asked;

bool terms_take(struct fuse_args *args)
{
	free(asked);
	asked = fuse_parse_conn_info_opts(args);
	return asked != NULL;
}

/* Of libfuse's options, with commas between; 0: not among them. */
static unsigned max_read_of(const char *options)
{
	static const char name[] = "max_read=";
	const char *end;

	for (; options; options = *end ? end + 1 : NULL) {
		end = options + strcspn(options, ",");
		if (strncmp(options, name, strlen(name)) == 0)
			return (unsigned)strtoul(options + strlen(name), NULL,
						 10);
	}
	return 0;
}

/* READDIRPLUS always: dirs.c knows better than the kernel's guesses which
 * entries are worth a node. No splicing: replies come from cached
 * blocks, where it only costs. Direct reads one by one: who waits for those
 * that the kernel sends in the background cannot be interrupted. Export: file
 * handles, by which NFS finds what the kernel has forgotten. */
void terms_agree(void *userdata, struct fuse_conn_info *conn)
{
	struct daemon *daemon = userdata;

	conn->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS_AUTO |
				  FUSE_CAP_ASYNC_DIO |
				  FUSE_CAP_SPLICE_READ |
				  FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
	conn->want |= conn->capable & (FUSE_CAP_READDIRPLUS |
				       FUSE_CAP_PARALLEL_DIROPS |
				       FUSE_CAP_EXPORT_SUPPORT);
	ask_for_lists(daemon, conn);
	through_ask(daemon, conn);
	if (daemon->opts->immutable)
		conn->want |= conn->capable & FUSE_CAP_CACHE_SYMLINKS;
	conn->max_write = MAX_REQUEST;
	/* Reads ahead count as such. A server that hangs has as many of them as
	 * there are readers of its files, and the kernel would send no others
	 * before these end. */
	if (daemon->src.far && !conn->max_background)
		conn->max_background = FAR_BACKGROUND;
	/* It must be what the mount was given. */
	conn->max_read = max_read_of(daemon->opts->fuse);
	fuse_apply_conn_info_opts(asked, conn);
}
