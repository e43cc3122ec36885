/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * farewell.c - see farewell.h. A lost answer harms nobody: the kernel does not
 * read one to a release, and to a forget there is none.
 */
#include "ops/farewell.h"

#include "ops/handle.h"
#include "tree/nodes.h"

#include <linux/fuse.h>

static _Thread_local bool heard;

void farewell_expect(void)
{
	heard = false;
}

void farewell_heard(void)
{
	heard = true;
}

static void release(struct daemon *daemon, const struct fuse_release_in *in)
{
	const struct fuse_file_info fi = { .fh = in->fh };

	handle_put(daemon, handle_of(&fi));
}

static void forget_all(struct daemon *daemon, const void *body, size_t len)
{
	const struct fuse_batch_forget_in *in = body;
	const struct fuse_forget_one *one = (const void *)(in + 1);
	size_t most = (len - sizeof(*in)) / sizeof(*one);

	for (size_t i = 0; i < in->count && i < most; i++)
		tree_forget(&daemon->tree, one[i].nodeid, one[i].nlookup);
}

void farewell_settle(struct daemon *daemon, const void *request, size_t len)
{
	const struct fuse_in_header *head = request;
	const void *body = head + 1;

	if (heard || len < sizeof(*head))
		return;
	len -= sizeof(*head);
	if ((head->opcode == FUSE_RELEASE || head->opcode == FUSE_RELEASEDIR) &&
	    len >= sizeof(struct fuse_release_in))
		release(daemon, body);
	else if (head->opcode == FUSE_FORGET &&
		 len >= sizeof(struct fuse_forget_in))
		tree_forget(&daemon->tree, head->nodeid,
			    ((const struct fuse_forget_in *)body)->nlookup);
	else if (head->opcode == FUSE_BATCH_FORGET &&
		 len >= sizeof(struct fuse_batch_forget_in))
		forget_all(daemon, body, len);
}
