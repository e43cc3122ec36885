/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.c - extended attributes: what the library knows of an entry, what
 * plain files and folders of the source have (user.*), and lists of rights.
 *
 * With -o noxattr the kernel hears once that there are none at all, and does
 * not ask again.
 */
#include "ops/xattrs.h"

#include "ops/handle.h"
#include "tree/look.h"
#include "tree/opening.h"
#include "opts/opts.h"
#include "ops/reply.h"
#include "tree/source_xattr.h"
#include "tree/nodes.h"
#include "ops/work.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>

#define USER "user."
#define OURS USER "bloscfs."

/* Longer than the names of any entry together. */
#define LIST_CAP 1024

/* Attributes of one entry, until given back. */
struct asking {
	struct node *node;
	struct container *container;
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
	if (node->kind != NODE_CONTAINER && node->kind != NODE_ENTRY)
		status = -ENODATA;
	else
		status = look_container(daemon, node, &ret->container);
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
	tree_put_container(&daemon->tree, asking->container);
	tree_put(&daemon->tree, asking->node);
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
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

static bool is_source(const struct node *node)
{
	return node->kind == NODE_PLAIN || node->kind == NODE_DIR;
}

/* The list of rights that a node is shown with, from what is known of it. */
static size_t find_list(struct daemon *daemon, struct node *node, void *buf)
{
	bool open, is_dir = node->kind == NODE_DIR ||
			    node->kind == NODE_CONTAINER;
	struct rights rights;
	struct src_stat st;
	uint64_t ino;

	if (node->kind == NODE_CONTROL || node->kind == NODE_LINK)
		return 0;
	if (node->kind == NODE_ENTRY)
		is_dir = node->entry.attr.is_dir;
	tree_stat(&daemon->tree, node, &st, &ino, &open);
	rights = reply_rights(daemon, (enum node_kind)node->kind, is_dir,
			      &st);
	return rights_to_xattr(&rights, buf);
}

/* Length of a source's own attribute, or -errno. */
static ssize_t read_source(struct daemon *daemon, struct node *node,
			   const char *name, void *buf, size_t cap)
{
	LOOK_PATH path = NULL;
	ssize_t len = look_is_nested(daemon, node) ? -ENODATA :
		      look_path(daemon, node, &path);

	if (len == 0 && (daemon->src.far || look_is_gathered(daemon, node)))
		return name ? -ENODATA : 0;
	if (len == 0)
		len = name ? src_get_xattr(&daemon->src, -1, path, name, buf,
					   cap) :
			     src_list_xattr(&daemon->src, -1, path, buf, cap);
	return len < 0 ? look_as_stale((int)len) : len;
}

static void get_source(fuse_req_t req, struct daemon *daemon,
		       struct node *node, const char *name, size_t cap)
{
	char *buf = reply_buffer(cap ? cap : 1);
	ssize_t len = buf ? read_source(daemon, node, name, buf, cap) :
			    -ENOMEM;

	if (len < 0)
		fuse_reply_err(req, (int)-len);
	else
		send(req, buf, (size_t)len, cap);
}

/* status: an errno, or 0; bytes: NULL where there is no such attribute. False
 * where the request is to be begun anew. */
static bool answer(struct task *task, int status, const char *bytes,
		   size_t len)
{
	if (call_is_void())
		return false;
	if (!status && !bytes)
		status = ENODATA;
	if (status)
		fuse_reply_err(task->req, status);
	else
		send(task->req, bytes, len, task->len);
	return true;
}

static bool run_get(struct daemon *daemon, struct task *task)
{
	const char *name = task->name;
	char value[BLOSCFS_XATTR_MAX];
	struct asking asking;
	const char *have;
	size_t len = 0, i;
	uint64_t mark;
	int status = take(daemon, task->id, &asking);

	if (status && call_is_void())
		return false;
	if (status) {
		fuse_reply_err(task->req, -status);
		return true;
	}
	mark = bloscfs_mark();
	for (i = 0; bloscfs_xattr(asking.container->file, &asking.entry, i,
				  &have, NULL, NULL);
	     i++)
		if (strcmp(have, name) == 0)
			bloscfs_xattr(asking.container->file, &asking.entry, i,
				      &have, value, &len);
	status = bloscfs_err_errno(bloscfs_met(mark, NULL));
	give(daemon, &asking);
	return answer(task, status, len > 0 ? value : NULL, len);
}

/* Whether nobody needs an answer about lists of rights: an entry has none, and
 * the kernel judges by none. A program that lists a million chunks then asks
 * about the first alone. */
static bool is_idle(struct daemon *daemon, const struct node *node,
		    const char *name)
{
	return node->kind == NODE_ENTRY && !begins(name, USER) &&
	       !atomic_load(&daemon->judges_lists);
}

static void get_of(fuse_req_t req, struct daemon *daemon, struct node *node,
		   const char *name, size_t cap)
{
	char list[RIGHTS_XATTR_MAX];
	struct task task;
	size_t len = 0;

	if (begins(name, USER) && is_source(node)) {
		get_source(req, daemon, node, name, cap);
	} else if (begins(name, OURS)) {
		task = (struct task){ .req = req, .run = run_get,
				      .deed = "getxattr",
				      .id = node->id, .name = name,
				      .len = cap };
		work_do(daemon, &task);
	} else if (!strcmp(name, RIGHTS_DEFAULT) && node->kind == NODE_DIR) {
		get_source(req, daemon, node, name, cap);
	} else {
		if (!strcmp(name, RIGHTS_ACCESS))
			len = find_list(daemon, node, list);
		if (len > 0)
			send(req, list, len, cap);
		else
			fuse_reply_err(req, is_idle(daemon, node, name) ?
				       EOPNOTSUPP : ENODATA);
	}
}

void xattrs_get(fuse_req_t req, fuse_ino_t id, const char *name, size_t cap)
{
	struct daemon *daemon = fuse_req_userdata(req);
	struct node *node;

	/* Programs that list files ask each for labels. What is never there
	 * is told without a look. */
	if (daemon->opts->noxattr)
		fuse_reply_err(req, ENOSYS);
	else if (begins(name, "security.") || begins(name, "trusted."))
		fuse_reply_err(req, ENODATA);
	else if (!begins(name, USER) && strcmp(name, RIGHTS_ACCESS) &&
		 strcmp(name, RIGHTS_DEFAULT))
		fuse_reply_err(req, EOPNOTSUPP);
	else if (!(node = tree_get(&daemon->tree, id)))
		fuse_reply_err(req, ESTALE);
	else {
		get_of(req, daemon, node, name, cap);
		tree_put(&daemon->tree, node);
	}
}

/* Keeps the names that the mount has, too; their length together. */
static size_t keep_names(char *names, size_t len)
{
	size_t kept = 0, n;

	for (size_t at = 0; at < len; at += n) {
		n = strnlen(names + at, len - at) + 1;
		if (at + n > len)
			break;
		if (!begins(names + at, USER) &&
		    strcmp(names + at, RIGHTS_DEFAULT))
			continue;
		memmove(names + kept, names + at, n);
		kept += n;
	}
	return kept;
}

static void list_source(fuse_req_t req, struct daemon *daemon,
			struct node *node, size_t cap)
{
	char list[RIGHTS_XATTR_MAX];
	char *names = reply_buffer(XATTR_LIST_MAX + sizeof(RIGHTS_ACCESS));
	ssize_t len = names ? read_source(daemon, node, NULL, names,
					  XATTR_LIST_MAX) : -ENOMEM;
	size_t used;

	if (len == -ENODATA)
		len = 0;
	if (len < 0) {
		fuse_reply_err(req, (int)-len);
		return;
	}
	used = keep_names(names, (size_t)len);
	if (find_list(daemon, node, list)) {
		memcpy(names + used, RIGHTS_ACCESS, sizeof(RIGHTS_ACCESS));
		used += sizeof(RIGHTS_ACCESS);
	}
	send(req, names, used, cap);
}

static bool run_list(struct daemon *daemon, struct task *task)
{
	char value[BLOSCFS_XATTR_MAX], list[LIST_CAP], acl[RIGHTS_XATTR_MAX];
	struct asking asking;
	const char *name;
	size_t len = 1, i, n, used = 0;
	uint64_t mark;
	bool whole;
	int status = take(daemon, task->id, &asking);

	if (status && call_is_void())
		return false;
	if (status == -ENODATA) {
		send(task->req, list, 0, task->len);
		return true;
	}
	if (status) {
		fuse_reply_err(task->req, -status);
		return true;
	}
	if (find_list(daemon, asking.node, acl)) {
		memcpy(list, RIGHTS_ACCESS, sizeof(RIGHTS_ACCESS));
		used = sizeof(RIGHTS_ACCESS);
	}
	/* A chunk is not looked at to say that it can be asked: ls -l wants
	 * this list for each of a million. */
	whole = asking.node->kind == NODE_CONTAINER ||
		asking.node->entry.attr.is_dir;
	mark = bloscfs_mark();
	for (i = 0;
	     bloscfs_xattr(asking.container->file, &asking.entry, i, &name,
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
	return answer(task, status, list, used);
}

void xattrs_list(fuse_req_t req, fuse_ino_t id, size_t cap)
{
	struct daemon *daemon = fuse_req_userdata(req);
	struct task task = { .req = req, .run = run_list,
			     .deed = "listxattr", .id = id, .len = cap };
	struct node *node = daemon->opts->noxattr ? NULL :
			    tree_get(&daemon->tree, id);

	if (node && is_source(node))
		list_source(req, daemon, node, cap);
	else
		work_do(daemon, &task);
	if (node)
		tree_put(&daemon->tree, node);
}
