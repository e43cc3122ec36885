/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - the answers to the kernel's requests, directories' apart (dirs.c).
 *
 * Every request is answered exactly once. Nothing is held locked while the
 * source is read, a block decoded or a reply written.
 */
#include "ops/control.h"
#include "log/counters.h"
#include "ops/dirs.h"
#include "ops/handle.h"
#include "tree/keep.h"
#include "log/log.h"
#include "tree/look.h"
#include "tree/opening.h"
#include "tree/tell.h"
#include "ops/plain.h"
#include "ops/reply.h"
#include "ops/seek.h"
#include "ops/terms.h"
#include "ops/work.h"
#include "ops/xattrs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* More pieces than this are gathered; writev takes 1024 at most. */
#define MAX_PIECES 512
/* A reader that meets a writer so often in one request gives up. */
#define MAX_FOLLOWED 10

static struct daemon *daemon_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

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

/* Who has a file open keeps its attributes, whatever its name stands for by
 * now. */
static int find_attr(struct daemon *daemon, struct node *node,
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

/* "." and "..": a file handle is followed by number, without names. */
static int lookup_dots(struct daemon *daemon, struct node *node,
		       const char *name, struct fuse_entry_param *param)
{
	int status;

	if (name[1] && node->parent)
		node = node->parent;
	status = find_attr(daemon, node, &param->attr);
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
	int dir_fd, status = look_path(daemon, parent, &path);

	if (!status && look_is_nested(daemon, parent))
		status = -ENOENT;
	if (status)
		return status;
	if (daemon->src.far) {
		status = look_far(daemon, parent, name, &kind, &st);
	} else {
		dir_fd = src_at(&daemon->src, -1, path,
				O_PATH | O_DIRECTORY);
		if (dir_fd < 0)
			return look_as_stale(dir_fd);
		status = keep_lookup(daemon, parent, dir_fd, name, &kind,
				     &st);
		close(dir_fd);
	}
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

static int lookup_in_container(struct daemon *daemon, struct node *parent,
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
		status = lookup_in_container(daemon, parent, name, &param);
	else if (parent && parent->kind == NODE_DIR)
		status = lookup_in_source(daemon, parent, name, &param);
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

static void op_lookup(fuse_req_t req, fuse_ino_t parent_id, const char *name)
{
	struct task task = { .req = req, .run = run_lookup, .deed = "lookup",
			     .id = parent_id, .name = name };

	work_do(daemon_of(req), &task);
}

static void op_forget(fuse_req_t req, fuse_ino_t id, uint64_t n_lookups)
{
	tree_forget(&daemon_of(req)->tree, id, n_lookups);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t n,
			    struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < n; i++)
		tree_forget(&daemon_of(req)->tree, forgets[i].ino,
			    forgets[i].nlookup);
	fuse_reply_none(req);
}

static bool run_getattr(struct daemon *daemon, struct task *task)
{
	struct node *node = tree_get(&daemon->tree, task->id);
	struct stat attr;
	int status = -ESTALE;

	if (node) {
		status = find_attr(daemon, node, &attr);
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

static void op_getattr(fuse_req_t req, fuse_ino_t id,
		       struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_getattr, .deed = "stat",
			     .id = id };

	(void)fi;
	work_do(daemon_of(req), &task);
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
					 handle->container->version);
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
	struct node *node = tree_get(&daemon->tree, task->id);
	struct handle *handle = NULL;
	bool is_void;
	int status = -ESTALE;

	if (node) {
		handle = handle_new(daemon, node);
		status = handle ? open_node(daemon, node, handle, &task->fi) :
				  -ENOMEM;
		tree_put(&daemon->tree, node);
	}
	task->fi.fh = (uintptr_t)handle;
	is_void = call_is_void();
	/* An interrupted open is never released by the kernel. */
	if (is_void)
		status = -EINTR;
	else if (status)
		fuse_reply_err(task->req, -status);
	else if (fuse_reply_open(task->req, &task->fi) == -ENOENT)
		status = -EINTR;
	if (status && handle)
		handle_put(daemon, handle);
	return !is_void;
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
	handle_put(daemon_of(req), handle_of(fi));
	fuse_reply_err(req, 0);
}

static enum bloscfs_err send_gathered(fuse_req_t req,
				      const struct handle *handle,
				      const struct container *container,
				      void *buf, size_t len, off_t off,
				      struct bloscfs_diag *why)
{
	size_t got;
	enum bloscfs_err err = bloscfs_read(container->file,
					    &handle->node->entry.node,
					    (uint64_t)off, buf, len, &got,
					    why);

	if (err == BLOSCFS_OK && !call_is_void()) {
		counters_served(SERVED_CONTAINER, got);
		fuse_reply_buf(req, buf, got);
	}
	return err;
}

static size_t count_bytes(const struct iovec *iov, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

static enum bloscfs_err send_pieces(fuse_req_t req, const struct handle *handle,
				    const struct container *container,
				    void *buf, size_t len, off_t off,
				    struct bloscfs_diag *why)
{
	struct bloscfs_pieces *pieces = reply_pieces();
	const struct iovec *iov;
	size_t n;
	enum bloscfs_err err;

	err = bloscfs_pin(container->file, &handle->node->entry.node,
			  (uint64_t)off, buf, len, pieces, &iov, &n, why);
	if (err != BLOSCFS_OK)
		return err;
	if (n <= MAX_PIECES && !call_is_void()) {
		counters_served(SERVED_CONTAINER, count_bytes(iov, n));
		fuse_reply_iov(req, iov, (int)n);
	}
	bloscfs_unpin(container->file, pieces);
	return n <= MAX_PIECES ? BLOSCFS_OK :
	       send_gathered(req, handle, container, buf, len, off, why);
}

/* An old opening that is too short for a file which has grown since: a short
 * answer would become zeros. */
static bool ends_too_early(struct daemon *daemon, const struct handle *handle,
			   struct container *container, uint64_t end)
{
	struct bloscfs_attr attr, last;

	if (!atomic_load(&container->replaced))
		return false;
	bloscfs_stat(container->file, &handle->node->entry.node, &attr);
	last = tree_entry_attr(&daemon->tree, handle->node);
	return attr.size < end && attr.size < last.size;
}

/* A source that has only grown is read on from its next opening. */
static enum bloscfs_err read_container(fuse_req_t req, struct daemon *daemon,
				       struct handle *handle, void *buf,
				       size_t len, off_t off,
				       struct bloscfs_diag *why)
{
	enum bloscfs_err err = BLOSCFS_ERR_CHANGED;
	struct container *container;
	bool again = true;

	for (int i = 0; i < MAX_FOLLOWED && again; i++) {
		container = handle_container(daemon, handle);
		err = ends_too_early(daemon, handle, container,
				     (uint64_t)off + len) ?
		      BLOSCFS_ERR_CHANGED :
		      send_pieces(req, handle, container, buf, len, off, why);
		again = err == BLOSCFS_ERR_CHANGED &&
			handle_follow(daemon, handle, container);
		tree_put_container(&daemon->tree, container);
	}
	return err;
}

/* False where it was stopped, and is not answered. */
static bool read_entry(fuse_req_t req, struct daemon *daemon,
		       struct handle *handle, size_t len, off_t off)
{
	struct bloscfs_diag why = { .chunk = -1 };
	enum bloscfs_err err = BLOSCFS_ERR_NOMEM;
	void *buf = reply_buffer(len);

	if (buf)
		err = read_container(req, daemon, handle, buf, len, off, &why);
	if (call_is_void())
		return false;
	if (err == BLOSCFS_OK)
		return true;
	look_tell_failure(daemon, handle->node, "read",
			  bloscfs_err_errno(err), &why);
	fuse_reply_err(req, bloscfs_err_errno(err));
	return true;
}

static bool run_read(struct daemon *daemon, struct task *task)
{
	struct handle *handle = handle_of(&task->fi);
	fuse_req_t req = task->req;
	bool done = true;

	handle_ref(handle);
	if (handle->node->kind == NODE_ENTRY)
		done = read_entry(req, daemon, handle, task->len, task->off);
	else if (handle->node->kind == NODE_CONTROL)
		control_read(req, handle->node, task->len, task->off);
	else
		done = plain_read(req, daemon, handle, task->len, task->off);
	handle_put(daemon, handle);
	return done;
}

static void op_read(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
		    struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_read, .deed = "read",
			     .id = id, .len = len, .off = off,
			     .decodes = true, .fi = *fi };

	work_do(daemon_of(req), &task);
}

/* Whether the daemon itself may: nobody else gets in where the kernel leaves
 * the question to us. */
static int ask_source(struct daemon *daemon, struct node *node, int mask)
{
	LOOK_PATH path = NULL;
	int fd, status = look_path(daemon, tree_owner(node), &path);

	if (status || daemon->src.far)
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
	int status = find_attr(daemon, node, &attr);

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

static void op_access(fuse_req_t req, fuse_ino_t id, int mask)
{
	struct task task = { .req = req, .run = run_access, .deed = "access",
			     .id = id, .flag = mask };

	work_do(daemon_of(req), &task);
}

static void op_statfs(fuse_req_t req, fuse_ino_t id)
{
	struct statvfs st;

	(void)id;
	if (daemon_of(req)->src.far) {
		st = (struct statvfs){ .f_bsize = 4096, .f_frsize = 4096 };
	} else if (fstatvfs(daemon_of(req)->src.root_fd, &st) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	/* Nothing can be added here. */
	st.f_bfree = st.f_bavail = 0;
	st.f_ffree = st.f_favail = 0;
	st.f_namemax = NAME_MAX;
	fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops daemon_ops = {
	.init = terms_agree,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.lseek = seek_answer,
	.access = op_access,
	.getxattr = xattrs_get,
	.listxattr = xattrs_list,
	.opendir = dirs_open,
	.readdir = dirs_read,
	.readdirplus = dirs_read_plus,
	.releasedir = op_release,
	.statfs = op_statfs,
};
