/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plain.c - files of the source that are no containers.
 */
#include "ops/plain.h"

#include "log/counters.h"
#include "tree/far.h"
#include "tree/look.h"
#include "tree/tell.h"
#include "tree/reopen.h"
#include "ops/reply.h"
#include "ops/through.h"
#include "ops/work.h"

#include <errno.h>
#include <unistd.h>

static int open_far(struct daemon *daemon, struct node *node,
		    const char *path, struct handle *handle,
		    struct fuse_file_info *fi)
{
	struct src_stat opened;
	int status = far_take(daemon->src.far, path, &handle->lent, &opened);

	if (status)
		return look_as_stale(status);
	handle->lent_size = opened.size;
	tree_update(&daemon->tree, node, &opened);
	fi->keep_cache = tree_note_open(&daemon->tree, node, &opened);
	return 0;
}

/* The kernel's pages are good as long as the file is the one they came
 * from. */
int plain_open(struct daemon *daemon, struct node *node,
	       struct handle *handle, struct fuse_file_info *fi)
{
	LOOK_PATH path = NULL;
	struct src_stat looked, opened;
	struct bloscfs_reopen way;
	int fd, status = look_again(daemon, node, &looked);

	if (!status)
		status = look_path(daemon, node, &path);
	if (status)
		return status;
	if (daemon->src.far)
		return open_far(daemon, node, path, handle, fi);
	fd = src_open_file(&daemon->src, -1, path, &opened);
	if (fd < 0)
		return look_as_stale(fd);
	status = src_same_content(&looked, &opened) ? -ENOMEM : -ESTALE;
	if (status == -ENOMEM &&
	    reopen_by_path(&daemon->src, path, &opened, &way)) {
		handle->file = bloscfs_fd_new(fd, &way);
		if (!handle->file)
			way.release(way.arg);
	}
	if (!handle->file) {
		close(fd);
		return status;
	}
	fi->keep_cache = tree_note_open(&daemon->tree, node, &opened);
	return through_open(daemon, node, handle->file, fi, &handle->through);
}

static bool read_far(fuse_req_t req, struct daemon *daemon,
		     const struct handle *handle, char *buf, size_t len,
		     off_t off)
{
	LOOK_PATH path = NULL;
	int status = look_path(daemon, handle->node, &path);

	if ((uint64_t)off >= handle->lent_size)
		len = 0;
	else if (len > handle->lent_size - (uint64_t)off)
		len = handle->lent_size - (uint64_t)off;
	if (!status && len)
		status = far_read(handle->lent, path, buf, len, off);
	if (call_is_void())
		return false;
	if (status) {
		fuse_reply_err(req, -status);
		return true;
	}
	counters_served(SERVED_PLAIN, len);
	fuse_reply_buf(req, buf, len);
	return true;
}

bool plain_read(fuse_req_t req, struct daemon *daemon,
		const struct handle *handle, size_t len, off_t off)
{
	int error, fd;
	char *buf = reply_buffer(len);
	size_t done = 0;
	ssize_t got = 1;

	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return true;
	}
	if (handle->lent)
		return read_far(req, daemon, handle, buf, len, off);
	fd = bloscfs_fd_take(handle->file);
	if (fd < 0) {
		fuse_reply_err(req, -fd);
		return true;
	}
	while (done < len && got > 0) {
		got = pread(fd, buf + done, len - done, off + (off_t)done);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			done += (size_t)got;
	}
	error = errno;
	bloscfs_fd_give(handle->file);
	if (got >= 0) {
		counters_served(SERVED_PLAIN, done);
		fuse_reply_buf(req, buf, done);
		return true;
	}
	look_tell_error(daemon, handle->node, "read", error);
	fuse_reply_err(req, error);
	return true;
}
