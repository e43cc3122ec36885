/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - which request of the kernel is answered where. What is left after
 * names, attributes, bytes, directories and xattrs is here.
 *
 * Every request is answered exactly once. Nothing is held locked while the
 * source is read, a block decoded or a reply written.
 */
#include "ops/attrs.h"
#include "ops/dirs.h"
#include "ops/farewell.h"
#include "ops/handle.h"
#include "ops/lookup.h"
#include "ops/plain.h"
#include "ops/read.h"
#include "ops/room.h"
#include "ops/seek.h"
#include "ops/terms.h"
#include "ops/work.h"
#include "ops/xattrs.h"
#include "tree/look.h"
#include "tree/opening.h"
#include "tree/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static struct daemon *daemon_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void op_forget(fuse_req_t req, fuse_ino_t id, uint64_t n_lookups)
{
	farewell_heard();
	tree_forget(&daemon_of(req)->tree, id, n_lookups);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t n,
			    struct fuse_forget_data *forgets)
{
	farewell_heard();
	for (size_t i = 0; i < n; i++)
		tree_forget(&daemon_of(req)->tree, forgets[i].ino,
			    forgets[i].nlookup);
	fuse_reply_none(req);
}

static int read_link(struct daemon *daemon, struct node *node, char *buf)
{
	LOOK_PATH path = NULL;
	ssize_t len;
	int fd, status = look_path(daemon, node, &path);

	if (status)
		return status;
	fd = src_at(&daemon->src, -1, path, O_PATH);
	if (fd < 0)
		return look_as_stale(fd);
	len = readlinkat(fd, "", buf, PATH_MAX);
	/* No link any more is ENOENT here. */
	status = len < 0 ? (errno == ENOENT ? -ESTALE : -errno) : 0;
	close(fd);
	if (!status && len == PATH_MAX)
		return -ENAMETOOLONG;
	if (!status)
		buf[len] = '\0';
	return status;
}

static void op_readlink(fuse_req_t req, fuse_ino_t id)
{
	struct daemon *daemon = daemon_of(req);
	struct node *node = tree_get(&daemon->tree, id);
	char target[PATH_MAX];
	int status = -ESTALE;

	if (node) {
		status = node->kind == NODE_LINK ?
			 read_link(daemon, node, target) : -EINVAL;
		tree_put(&daemon->tree, node);
	}
	if (status)
		fuse_reply_err(req, -status);
	else
		fuse_reply_readlink(req, target);
}

static int open_entry(struct daemon *daemon, struct node *node,
		      struct handle *handle, struct fuse_file_info *fi)
{
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err;
	int status = look_container(daemon, node, &handle->container);

	if (status)
		return status;
	err = bloscfs_access(handle->container->file, &node->entry.node, &why);
	if (call_is_void())
		return -EINTR;
	if (err != BLOSCFS_OK) {
		look_tell_failure(daemon, node, "open",
				  bloscfs_err_errno(err), &why);
		return -bloscfs_err_errno(err);
	}
	/* A changed container has other nodes, and a grown one the same bytes
	 * and more, but the last page may end too early. */
	fi->keep_cache = tree_note_entry(&daemon->tree, node,
					 handle->container->version) &&
			 !node->entry.attr.renews;
	return 0;
}

static int open_node(struct daemon *daemon, struct node *node,
		     struct handle *handle, struct fuse_file_info *fi)
{
	if ((fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC)
		return -EROFS;
	switch ((enum node_kind)node->kind) {
	case NODE_PLAIN:
		return plain_open(daemon, node, handle, fi);
	case NODE_ENTRY:
		return node->entry.attr.is_dir ? -EISDIR :
		       open_entry(daemon, node, handle, fi);
	case NODE_CONTROL:
		/* A snapshot is what it is: its pages may stay. */
		fi->keep_cache = 1;
		return node->control.text ? 0 : -EISDIR;
	case NODE_DIR:
	case NODE_CONTAINER:
		return -EISDIR;
	case NODE_LINK:
		break;
	}
	return -ELOOP;
}

static bool run_open(struct daemon *daemon, struct task *task)
{
	return handle_answer_open(daemon, task, open_node);
}

static void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_open, .deed = "open",
			     .id = id, .fi = *fi };

	work_do(daemon_of(req), &task);
}

static void op_release(fuse_req_t req, fuse_ino_t id,
		       struct fuse_file_info *fi)
{
	(void)id;
	farewell_heard();
	handle_put(daemon_of(req), handle_of(fi));
	fuse_reply_err(req, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t id)
{
	struct statvfs st;
	int status = room_find(&daemon_of(req)->src, &st);

	(void)id;
	if (status) {
		fuse_reply_err(req, -status);
		return;
	}
	st.f_namemax = NAME_MAX;
	fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops daemon_ops = {
	.init = terms_agree,
	.lookup = lookup_answer,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = attrs_get,
	.readlink = op_readlink,
	.open = op_open,
	.read = read_answer,
	.release = op_release,
	.lseek = seek_answer,
	.access = attrs_access,
	.getxattr = xattrs_get,
	.listxattr = xattrs_list,
	.opendir = dirs_open,
	.readdir = dirs_read,
	.readdirplus = dirs_read_plus,
	.releasedir = op_release,
	.statfs = op_statfs,
};
