/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * within.c - see within.h.
 */
#include "ops/within.h"

#include "call.h"
#include "ops/handle.h"
#include "ops/reply.h"
#include "tree/opening.h"
#include "tree/overlay.h"
#include "tree/tell.h"

#include <errno.h>

int within_lookup(struct daemon *daemon, struct node *parent,
		  const char *name, struct fuse_entry_param *param)
{
	struct bloscfs_node dir = handle_entry(parent);
	struct bloscfs_diag why = { .chunk = -1 };
	struct entry entry;
	struct container *container;
	struct src_stat st;
	uint64_t id, ino, container_ino, mark;
	enum bloscfs_err err;
	bool open;
	int status = look_container(daemon, parent, &container);

	if (status)
		return status;
	status = -ENOENT;
	mark = bloscfs_mark();
	if (bloscfs_lookup(container->file, &dir, name, &entry.node)) {
		bloscfs_stat(container->file, &entry.node, &entry.attr);
		status = call_is_void() ? -EINTR : 0;
	}
	if (!status) {
		entry.number = bloscfs_node_id(container->file,
					       &entry.node);
		entry.version = container->version;
		entry.keeps = bloscfs_keeps(container->file, &entry.node);
	}
	err = call_is_void() ? BLOSCFS_OK : bloscfs_met(mark, &why);
	if (err != BLOSCFS_OK) {
		status = -bloscfs_err_errno(err);
		look_tell_failure(daemon, parent, "lookup", -status, &why);
	}
	if (!status)
		status = tree_enter_entry(&daemon->tree, parent, name, &entry,
					  &id, &ino);
	if (!status) {
		/* Owner and rights may have changed since it was opened. */
		tree_stat(&daemon->tree, tree_owner(parent), &st,
			  &container_ino, &open);
		reply_param(daemon, id, param);
		reply_attr_entry(daemon, &entry.attr, &st, ino, &param->attr);
	}
	tree_put_container(&daemon->tree, container);
	return status;
}

int within_lookup_beside(struct daemon *daemon, struct node *folder,
			 const char *name, struct fuse_entry_param *param)
{
	struct node *node;
	int status = overlay_enter(daemon, folder, &node);

	if (status)
		return status;
	status = within_lookup(daemon, node, name, param);
	tree_put(&daemon->tree, node);
	return status;
}
