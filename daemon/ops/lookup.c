/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lookup.c - names: what one leads to in a folder of the source, in a
 * container, or in the mount's own folder.
 */
#include "ops/lookup.h"

#include "ops/attrs.h"
#include "ops/control.h"
#include "ops/dirs.h"
#include "ops/handle.h"
#include "ops/reply.h"
#include "ops/within.h"
#include "ops/work.h"
#include "tree/keep.h"
#include "tree/look.h"
#include "tree/opening.h"
#include "tree/overlay.h"
#include "tree/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* "." and "..": a file handle is followed by number, without names. */
static int lookup_dots(struct daemon *daemon, struct node *node,
		       const char *name, struct fuse_entry_param *param)
{
	int status;

	if (name[1] && node->parent)
		node = node->parent;
	status = attrs_find(daemon, node, &param->attr);
	if (status)
		return status;
	tree_looked_up(&daemon->tree, node);
	reply_param(daemon, node->id, param);
	return 0;
}

static int lookup_in_source(struct daemon *daemon, struct node *parent,
			    const char *name, struct fuse_entry_param *param)
{
	LOOK_PATH path = NULL;
	enum node_kind kind;
	struct src_stat st;
	uint64_t id, ino;
	int dir_fd = -1, status = look_path(daemon, parent, &path);

	if (!status && look_is_nested(daemon, parent))
		status = -ENOENT;
	if (status)
		return status;
	/* Else there is no directory to open. */
	if (!daemon->src.far && !look_is_gathered(daemon, parent)) {
		dir_fd = src_at(&daemon->src, -1, path, O_PATH | O_DIRECTORY);
		if (dir_fd < 0)
			return look_as_stale(dir_fd);
	}
	status = keep_lookup(daemon, parent, dir_fd, name, &kind, &st);
	if (dir_fd >= 0)
		close(dir_fd);
	if (status == -ENOENT)
		tree_drop(&daemon->tree, parent, name);
	if (!status)
		status = tree_enter_source(&daemon->tree, parent, name, kind,
					   &st, &id, &ino);
	if (status)
		return status;
	reply_param(daemon, id, param);
	reply_attr_source(daemon, kind, &st, ino, &param->attr);
	return 0;
}

/* In a folder of the source, whose own entries come first. */
static int lookup_in_folder(struct daemon *daemon, struct node *parent,
			    const char *name, struct fuse_entry_param *param)
{
	int status = lookup_in_source(daemon, parent, name, param);

	return status == -ENOENT && !call_is_void() &&
	       overlay_may_have(daemon, name) ?
	       within_lookup_beside(daemon, parent, name, param) : status;
}

static bool run_lookup(struct daemon *daemon, struct task *task)
{
	struct fuse_entry_param param = { 0 };
	struct node *parent = tree_get(&daemon->tree, task->id);
	const char *name = task->name;
	int status = -ESTALE;

	if (parent && strlen(name) > NAME_MAX)
		status = -ENAMETOOLONG;
	else if (parent && (!strcmp(name, ".") || !strcmp(name, "..")))
		status = lookup_dots(daemon, parent, name, &param);
	else if (parent && (parent->kind == NODE_CONTROL ||
			    tree_is_control(parent, name)))
		status = control_lookup(daemon, parent, name, &param);
	else if (parent && (parent->kind == NODE_CONTAINER ||
			    parent->kind == NODE_ENTRY))
		status = within_lookup(daemon, parent, name, &param);
	else if (parent && parent->kind == NODE_DIR)
		status = lookup_in_folder(daemon, parent, name, &param);
	else if (parent)
		status = -ENOTDIR;
	if (parent && !call_is_void())
		dirs_note_lookup(parent);
	if (parent)
		tree_put(&daemon->tree, parent);
	if (call_is_void()) {
		if (!status)
			tree_forget(&daemon->tree, param.ino, 1);
		return false;
	}
	if (status)
		fuse_reply_err(task->req, -status);
	else if (fuse_reply_entry(task->req, &param) == -ENOENT)
		/* Interrupted: the kernel never heard of it. */
		tree_forget(&daemon->tree, param.ino, 1);
	return true;
}

void lookup_answer(fuse_req_t req, fuse_ino_t parent_id, const char *name)
{
	struct task task = { .req = req, .run = run_lookup, .deed = "lookup",
			     .id = parent_id, .name = name };

	work_do(fuse_req_userdata(req), &task);
}
