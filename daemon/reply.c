/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.c - node facts become struct stat and directory entries.
 */
#include "reply.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_TOUCHED 8

static _Thread_local struct {
	void *buf;
	size_t cap;
	bool touched;
	struct bloscfs_pieces *pieces;
} worker;

/* Buffers whose pages are all there. */
static _Atomic unsigned n_touched;

/* Faulting pages in one by one, at first use, costs more than all of it; but
 * of many workers few ever use them. */
static int make_buffer(size_t cap)
{
	bool touch = atomic_fetch_add(&n_touched, 1) < MAX_TOUCHED;
	void *buf = mmap(NULL, cap, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS |
			 (touch ? MAP_POPULATE : 0), -1, 0);

	if (buf == MAP_FAILED || !touch)
		atomic_fetch_sub(&n_touched, 1);
	if (buf == MAP_FAILED)
		return -ENOMEM;
	reply_thread_trim();
	worker.touched = touch;
	worker.buf = buf;
	worker.cap = cap;
	return 0;
}

int reply_thread_init(bool at_once)
{
	worker.pieces = bloscfs_pieces_new();
	if (!worker.pieces || (at_once && make_buffer(MAX_REQUEST))) {
		reply_thread_release();
		return -ENOMEM;
	}
	return 0;
}

void reply_thread_release(void)
{
	if (worker.pieces)
		bloscfs_pieces_free(worker.pieces);
	worker.pieces = NULL;
	reply_thread_trim();
}

void reply_thread_trim(void)
{
	if (worker.buf)
		munmap(worker.buf, worker.cap);
	if (worker.touched)
		atomic_fetch_sub(&n_touched, 1);
	worker.touched = false;
	worker.buf = NULL;
	worker.cap = 0;
}

void *reply_buffer(size_t len)
{
	if (len > worker.cap &&
	    make_buffer(len < MAX_REQUEST ? MAX_REQUEST : len))
		return NULL;
	return worker.buf;
}

struct bloscfs_pieces *reply_pieces(void)
{
	return worker.pieces;
}

static void set_owner(const struct daemon *daemon, const struct src_stat *st,
		      struct stat *attr)
{
	const struct opts *opts = daemon->opts;

	attr->st_uid = opts->has_uid ? opts->uid : st->uid;
	attr->st_gid = opts->has_gid ? opts->gid : st->gid;
	attr->st_mtim.tv_sec = st->mtime_sec;
	attr->st_mtim.tv_nsec = st->mtime_nsec;
	attr->st_atim = attr->st_ctim = attr->st_mtim;
}

static mode_t dir_mode(const struct daemon *daemon, mode_t bits)
{
	return S_IFDIR | (bits & ~daemon->opts->dmask & 07777);
}

/* Who may read a container's file may list and enter its directories. */
static mode_t frame_dir_mode(const struct daemon *daemon,
			     const struct src_stat *st)
{
	mode_t bits = src_read_bits(st);

	return dir_mode(daemon, bits | bits >> 2);
}

static mode_t file_mode(const struct daemon *daemon, mode_t mode)
{
	return S_IFREG | (mode & 0444 & ~daemon->opts->fmask);
}

void reply_attr_source(const struct daemon *daemon, enum node_kind kind,
		       const struct src_stat *st, uint64_t ino,
		       struct stat *ret_attr)
{
	struct stat *attr = ret_attr;

	memset(attr, 0, sizeof(*attr));
	attr->st_ino = ino;
	set_owner(daemon, st, attr);
	/* Directories have one link: how many folders they hold is not
	 * known, since containers count as folders here. */
	attr->st_nlink = 1;
	attr->st_blksize = 4096;
	switch (kind) {
	case NODE_DIR:
		attr->st_mode = dir_mode(daemon, st->mode & 0555);
		break;
	case NODE_FRAME:
	case NODE_ENTRY:
		attr->st_mode = frame_dir_mode(daemon, st);
		break;
	case NODE_PLAIN:
		attr->st_mode = file_mode(daemon, st->mode);
		attr->st_nlink = st->nlink;
		break;
	case NODE_LINK:
		attr->st_mode = S_IFLNK | 0777;
		attr->st_nlink = st->nlink;
		break;
	case NODE_CONTROL:	/* has attributes of its own */
		break;
	}
	if (kind == NODE_PLAIN || kind == NODE_LINK) {
		attr->st_size = (off_t)st->size;
		attr->st_blocks = (blkcnt_t)st->blocks;
		attr->st_blksize = (blksize_t)st->blksize;
	}
}

void reply_attr_entry(const struct daemon *daemon,
		      const struct bloscfs_attr *entry,
		      const struct src_stat *st, uint64_t ino,
		      struct stat *ret_attr)
{
	struct stat *attr = ret_attr;

	memset(attr, 0, sizeof(*attr));
	attr->st_ino = ino;
	set_owner(daemon, st, attr);
	attr->st_nlink = 1;
	attr->st_blksize = entry->blksize ? entry->blksize : 4096;
	if (entry->is_dir) {
		attr->st_mode = frame_dir_mode(daemon, st);
		return;
	}
	attr->st_mode = file_mode(daemon, src_read_bits(st));
	attr->st_size = (off_t)entry->size;
	attr->st_blocks = (blkcnt_t)(entry->stored / 512 +
				     (entry->stored % 512 != 0));
}

void reply_param(const struct daemon *daemon, uint64_t id,
		 struct fuse_entry_param *param)
{
	param->ino = id;
	param->generation = id >> 32;
	param->attr_timeout = daemon->timeout;
	param->entry_timeout = daemon->timeout;
}

int reply_list_start(struct listing *list, fuse_req_t req, size_t cap,
		     bool plus)
{
	*list = (struct listing){
		.req = req, .buf = reply_buffer(cap), .cap = cap,
		.plus = plus,
	};
	return list->buf ? 0 : -ENOMEM;
}

bool reply_list_fits(const struct listing *list, const char *name)
{
	size_t len = list->plus ?
		fuse_add_direntry_plus(list->req, NULL, 0, name, NULL, 0) :
		fuse_add_direntry(list->req, NULL, 0, name, NULL, 0);

	return len <= list->cap - list->len;
}

void reply_list_add(struct listing *list, const char *name,
		    const struct fuse_entry_param *param, off_t next)
{
	char *at = list->buf + list->len;
	size_t room = list->cap - list->len;

	if (list->plus)
		list->len += fuse_add_direntry_plus(list->req, at, room, name,
						    param, next);
	else
		list->len += fuse_add_direntry(list->req, at, room, name,
					       &param->attr, next);
}

static void forget_list(struct daemon *daemon, const struct listing *list)
{
	struct fuse_direntplus head;
	size_t at = 0;

	while (list->len - at > sizeof(head)) {
		memcpy(&head, list->buf + at, sizeof(head));
		if (head.entry_out.nodeid)
			tree_forget(&daemon->tree, head.entry_out.nodeid, 1);
		at += FUSE_DIRENTPLUS_SIZE(&head);
	}
}

void reply_list_send(struct daemon *daemon, const struct listing *list)
{
	int status = fuse_reply_buf(list->req, list->buf, list->len);

	/* An interrupted request: nobody heard of the nodes. */
	if (status == -ENOENT && list->plus)
		forget_list(daemon, list);
}
