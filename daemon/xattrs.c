/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.c - what the library knows of an entry, as extended attributes.
 *
 * Files and folders of the source have none here. With -o noxattr the kernel
 * hears once that there are none at all, and does not ask again. Programs
 * that list files ask for labels and lists of rights on every one of them:
 * those are not looked for, and told to be of a kind that we have not.
 */
#include "xattrs.h"

#include "handle.h"
#include "look.h"
#include "opts.h"
#include "tree.h"
#include "work.h"

#include <errno.h>
#include <string.h>

#define USER "user."
#define OURS USER "bloscfs."

/* Longer than the names of any entry together. */
#define LIST_CAP 1024

/* Attributes of one entry, until given back. */
struct asking {
	struct node *node;
	struct frame *frame;
	struct bloscfs_node entry;
};

/* 0 or -errno; -ENODATA for what has no attributes. */
static int take(struct daemon *daemon, fuse_ino_t id, struct asking *ret)
{
	struct node *node;
	int status;

	if (daemon->opts->noxattr)
		return -ENOSYS;
	node = tree_get(&daemon->tree, id);
	if (!node)
		return -ESTALE;
	if (node->kind != NODE_FRAME && node->kind != NODE_ENTRY)
		status = -ENODATA;
	else
		status = look_frame(daemon, node, &ret->frame);
	if (status) {
		tree_put(&daemon->tree, node);
		return status;
	}
	ret->node = node;
	ret->entry = handle_entry(node);
	return 0;
}

static void give(struct daemon *daemon, struct asking *asking)
{
	tree_put_frame(&daemon->tree, asking->frame);
	tree_put(&daemon->tree, asking->node);
}

/* 0 if the name may be one of ours. */
static int judge_name(const struct daemon *daemon, const char *name)
{
	if (daemon->opts->noxattr)
		return -ENOSYS;
	if (strncmp(name, USER, strlen(USER)) != 0)
		return -EOPNOTSUPP;
	return strncmp(name, OURS, strlen(OURS)) == 0 ? 0 : -ENODATA;
}

/* Sends len bytes, or how many there are if nothing was to be filled. */
static void send(fuse_req_t req, const char *bytes, size_t len, size_t cap)
{
	if (cap == 0)
		fuse_reply_xattr(req, len);
	else if (len > cap)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, bytes, len);
}

static bool run_get(struct daemon *daemon, struct task *task)
{
	const char *name = task->name;
	char value[BLOSCFS_XATTR_MAX];
	struct asking asking;
	const char *have;
	size_t len = 0, i;
	uint64_t mark;
	int status = judge_name(daemon, name);

	if (!status)
		status = take(daemon, task->id, &asking);
	if (status && work_is_void())
		return false;
	if (status) {
		fuse_reply_err(task->req, -status);
		return true;
	}
	mark = bloscfs_mark();
	for (i = 0; bloscfs_xattr(asking.frame->file, &asking.entry, i, &have,
				  NULL, NULL); i++)
		if (strcmp(have, name) == 0)
			bloscfs_xattr(asking.frame->file, &asking.entry, i,
				      &have, value, &len);
	status = bloscfs_err_errno(bloscfs_met(mark, NULL));
	give(daemon, &asking);
	if (work_is_void())
		return false;
	if (status)
		fuse_reply_err(task->req, status);
	else if (len > 0)
		send(task->req, value, len, task->len);
	else
		fuse_reply_err(task->req, ENODATA);
	return true;
}

void xattrs_get(fuse_req_t req, fuse_ino_t id, const char *name, size_t cap)
{
	struct task task = { .req = req, .run = run_get, .deed = "getxattr",
			     .id = id, .name = name, .len = cap };

	work_do(fuse_req_userdata(req), &task);
}

static bool run_list(struct daemon *daemon, struct task *task)
{
	char value[BLOSCFS_XATTR_MAX], list[LIST_CAP];
	struct asking asking;
	const char *name;
	size_t len = 1, i, n, used = 0;
	uint64_t mark;
	bool whole;
	int status = take(daemon, task->id, &asking);

	if (status && work_is_void())
		return false;
	if (status == -ENODATA) {
		send(task->req, list, 0, task->len);
		return true;
	}
	if (status) {
		fuse_reply_err(task->req, -status);
		return true;
	}
	/* A chunk is not looked at to say that it can be asked: ls -l wants
	 * this list for each of a million. */
	whole = asking.node->kind == NODE_FRAME;
	mark = bloscfs_mark();
	for (i = 0; bloscfs_xattr(asking.frame->file, &asking.entry, i, &name,
				  whole ? value : NULL, whole ? &len : NULL);
	     i++) {
		n = strlen(name) + 1;
		if (len == 0 || n > sizeof(list) - used)
			continue;
		memcpy(list + used, name, n);
		used += n;
	}
	status = bloscfs_err_errno(bloscfs_met(mark, NULL));
	give(daemon, &asking);
	if (work_is_void())
		return false;
	if (status)
		fuse_reply_err(task->req, status);
	else
		send(task->req, list, used, task->len);
	return true;
}

void xattrs_list(fuse_req_t req, fuse_ino_t id, size_t cap)
{
	struct task task = { .req = req, .run = run_list,
			     .deed = "listxattr", .id = id, .len = cap };

	work_do(fuse_req_userdata(req), &task);
}
