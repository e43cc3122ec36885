/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attrs.c - see attrs.h.
 */
#include "ops/attrs.h"

#include "ops/control.h"
#include "ops/reply.h"
#include "ops/work.h"
#include "tree/look.h"
#include "tree/lost.h"
#include "tree/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* An entry of a former version may be there still, and have grown. */
static int find_entry_attr(struct daemon *daemon, struct node *node,
			   const struct src_stat *st, bool open, uint64_t ino,
			   struct stat *attr)
{
	struct bloscfs_attr entry = tree_entry_attr(&daemon->tree, node), now;
	uint64_t mark = bloscfs_mark();
	struct container *container;
	int status = 0;

	if (!tree_is_current(&daemon->tree, node)) {
		status = node->entry.keeps ?
			 look_container(daemon, node, &container) : -ESTALE;
		if (!status) {
			bloscfs_stat(container->file, &node->entry.node, &now);
			status = call_is_void() ? -EINTR :
				 -bloscfs_err_errno(bloscfs_met(mark, NULL));
			if (!status) {
				entry = now;
				tree_note_attr(&daemon->tree, node, &entry);
			}
			tree_put_container(&daemon->tree, container);
		}
	}
	if (status && (!open || call_is_void()))
		return status;
	reply_attr_entry(daemon, &entry, st, ino, attr);
	return 0;
}

int attrs_find(struct daemon *daemon, struct node *node,
	       struct stat *attr)
{
	struct src_stat st, last;
	uint64_t ino;
	bool open;
	int status;

	if (node->kind == NODE_CONTROL) {
		control_attr(daemon, node, attr);
		return 0;
	}
	if (node == daemon->tree.root)
		lost_look(&daemon->src, daemon->source);
	status = look_again(daemon, tree_owner(node), &st);
	tree_stat(&daemon->tree, node, &last, &ino, &open);
	if (status && (!open || call_is_void()))
		return status;
	if (status)
		st = last;
	if (node->kind != NODE_ENTRY) {
		reply_attr_source(daemon, (enum node_kind)node->kind, &st,
				  ino, attr);
		return 0;
	}
	return find_entry_attr(daemon, node, &st, open, ino, attr);
}

static bool run_getattr(struct daemon *daemon, struct task *task)
{
	struct node *node = tree_get(&daemon->tree, task->id);
	struct stat attr;
	int status = -ESTALE;

	if (node) {
		status = attrs_find(daemon, node, &attr);
		tree_put(&daemon->tree, node);
	}
	if (call_is_void())
		return false;
	if (status)
		fuse_reply_err(task->req, -status);
	else
		fuse_reply_attr(task->req, &attr, daemon->timeout);
	return true;
}

void attrs_get(fuse_req_t req, fuse_ino_t id,
	       struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_getattr, .deed = "stat",
			     .id = id };

	(void)fi;
	work_do(fuse_req_userdata(req), &task);
}

/* Whether the daemon itself may: nobody else gets in where the kernel leaves
 * the question to us. */
static int ask_source(struct daemon *daemon, struct node *node, int mask)
{
	LOOK_PATH path = NULL;
	int fd, status = look_path(daemon, tree_owner(node), &path);

	if (status || daemon->src.far || look_is_gathered(daemon, node))
		return status;
	fd = src_at(&daemon->src, -1, path, O_PATH);
	if (fd < 0)
		return look_as_stale(fd);
	/* A container's folders are passed by who may read it. */
	if (node->kind != NODE_DIR && node->kind != NODE_PLAIN)
		mask &= ~X_OK;
	if (faccessat(fd, "", mask, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
	    errno != ENOSYS && errno != EINVAL)
		status = -errno;
	close(fd);
	return status;
}

static int find_access(struct daemon *daemon, struct node *node, int mask)
{
	struct stat attr;
	int status = attrs_find(daemon, node, &attr);

	if (status)
		return status;
	if (mask & W_OK)
		return -EROFS;
	if (mask & X_OK && S_ISREG(attr.st_mode) && !(attr.st_mode & 0111))
		return -EACCES;
	return mask && node->kind != NODE_LINK &&
	       node->kind != NODE_CONTROL && !look_is_nested(daemon, node) ?
	       ask_source(daemon, node, mask) : 0;
}

static bool run_access(struct daemon *daemon, struct task *task)
{
	struct node *node = tree_get(&daemon->tree, task->id);
	int status = -ESTALE;

	if (node) {
		status = find_access(daemon, node, task->flag);
		tree_put(&daemon->tree, node);
	}
	if (call_is_void())
		return false;
	fuse_reply_err(task->req, -status);
	return true;
}

void attrs_access(fuse_req_t req, fuse_ino_t id, int mask)
{
	struct task task = { .req = req, .run = run_access, .deed = "access",
			     .id = id, .flag = mask };

	work_do(fuse_req_userdata(req), &task);
}
