/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seek.c - see seek.h.
 */
#include "ops/seek.h"

#include "ops/control.h"
#include "ops/handle.h"
#include "ops/work.h"

#include <errno.h>
#include <unistd.h>

/* What is no entry of a container: a plain file, or a snapshot. */
static void seek_whole(fuse_req_t req, const struct handle *handle, off_t off,
		       int whence)
{
	off_t to;
	int fd;

	if (handle->node->kind == NODE_CONTROL) {
		to = control_seek(handle->node, off, whence == SEEK_HOLE);
	} else if (handle->lent) {
		/* All data, and a hole at the end. */
		to = off < 0 || (uint64_t)off >= handle->lent_size ? -ENXIO :
		     whence == SEEK_DATA ? off : (off_t)handle->lent_size;
	} else {
		fd = bloscfs_fd_take(handle->file);
		to = fd < 0 ? fd : lseek(fd, off, whence);
		if (fd >= 0 && to < 0)
			to = -errno;
		if (fd >= 0)
			bloscfs_fd_give(handle->file);
	}
	if (to >= 0)
		fuse_reply_lseek(req, to);
	else
		fuse_reply_err(req, (int)-to);
}

static void seek_entry(struct daemon *daemon, const struct task *task,
		       struct handle *handle)
{
	struct container *container = handle_container(daemon, handle);
	enum bloscfs_err err;
	uint64_t to = 0;

	err = bloscfs_seek(container->file, &handle->node->entry.node,
			   (uint64_t)task->off, task->flag == SEEK_HOLE, &to,
			   NULL);
	tree_put_container(&daemon->tree, container);
	if (call_is_void())
		return;
	if (err == BLOSCFS_OK)
		fuse_reply_lseek(task->req, (off_t)to);
	else
		fuse_reply_err(task->req, err == BLOSCFS_ERR_RANGE ? ENXIO :
			       bloscfs_err_errno(err));
}

static bool run_lseek(struct daemon *daemon, struct task *task)
{
	struct handle *handle = handle_of(&task->fi);

	handle_ref(handle);
	if (handle->node->kind == NODE_ENTRY)
		seek_entry(daemon, task, handle);
	else
		seek_whole(task->req, handle, task->off, task->flag);
	handle_put(daemon, handle);
	return !call_is_void();
}

void seek_answer(fuse_req_t req, fuse_ino_t id, off_t off, int whence,
		 struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_lseek, .deed = "lseek",
			     .id = id, .off = off, .flag = whence, .fi = *fi };

	work_do(fuse_req_userdata(req), &task);
}
