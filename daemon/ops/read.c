/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.c - bytes of open files: pinned blocks go out as they lie in the cache.
 */
#include "ops/read.h"

#include "log/counters.h"
#include "ops/control.h"
#include "ops/handle.h"
#include "ops/plain.h"
#include "ops/reply.h"
#include "ops/work.h"
#include "tree/tell.h"

/* More pieces than this are gathered; writev takes 1024 at most. */
#define MAX_PIECES 512
/* A reader that meets a writer so often in one request gives up. */
#define MAX_FOLLOWED 10

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

void read_answer(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
		 struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_read, .deed = "read",
			     .id = id, .len = len, .off = off,
			     .decodes = true, .fi = *fi };

	work_do(fuse_req_userdata(req), &task);
}
