/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * terms.c - what the kernel offers, and what of it we want.
 */
#include "ops/terms.h"

#include "ops/through.h"

#include <linux/fuse.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAR_BACKGROUND 1024
/* What these are asked for, they do not pass on to the kernel. Those before
 * cannot be helped: look-ups in one directory wait for one another there. */
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 14) && \
	FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)
#define HELPS_OUT
#endif

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

#ifdef HELPS_OUT
/* This thread answers the first request next. */
static _Thread_local bool answers;

static void add_flags(struct iovec *iov, int count)
{
	const struct fuse_out_header *head = iov[0].iov_base;
	struct fuse_init_out *terms;

	answers = false;
	if (count != 2 || iov[0].iov_len != sizeof(*head) || head->error ||
	    iov[1].iov_len < offsetof(struct fuse_init_out, max_background))
		return;
	terms = iov[1].iov_base;
	terms->flags |= FUSE_PARALLEL_DIROPS;
}

static ssize_t answer(int device, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (answers)
		add_flags(iov, count);
	return writev(device, iov, count);
}

static ssize_t hear(int device, void *buf, size_t len, void *userdata)
{
	(void)userdata;
	return read(device, buf, len);
}
#endif

int terms_serve(struct fuse_session *session, int device)
{
#ifdef HELPS_OUT
	static const struct fuse_custom_io io = { .writev = answer,
						  .read = hear };

	return fuse_session_custom_io(session, &io, device);
#else
	char name[32];

	snprintf(name, sizeof(name), "/dev/fd/%d", device);
	return fuse_session_mount(session, name);
#endif
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
#ifdef HELPS_OUT
	answers = conn->want & FUSE_CAP_PARALLEL_DIROPS;
#endif
}
