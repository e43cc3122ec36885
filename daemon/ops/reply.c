/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.c - node facts become struct stat and directory entries.
 */
#include "ops/reply.h"

#include "invariant.h"
#include "tree/source_rights.h"

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

struct rights reply_rights(const struct daemon *daemon, enum node_kind kind,
			   bool is_dir, const struct src_stat *st)
{
	const struct opts *opts = daemon->opts;
	struct rights_cut cut = {
		.has_uid = opts->has_uid, .uid = opts->uid,
		.has_gid = opts->has_gid, .gid = opts->gid,
		.mask = is_dir ? opts->dmask : opts->fmask,
	};
	bool in_container = kind == NODE_CONTAINER || kind == NODE_ENTRY;
	struct rights rights = in_container ? src_content_rights(st) :
					  src_rights(st);

	if (in_container)
		rights = is_dir ? rights_of_folder(&rights) :
				  rights_of_file(&rights);
	rights = rights_cut(&rights, &cut);
	return atomic_load_explicit(&daemon->no_lists, memory_order_relaxed) ?
	       rights_without_acl(&rights) : rights;
}

static void set_rights(const struct daemon *daemon, enum node_kind kind,
		       bool is_dir, const struct src_stat *st,
		       struct stat *attr)
{
	struct rights rights = reply_rights(daemon, kind, is_dir, st);

	attr->st_uid = rights.uid;
	attr->st_gid = rights.gid;
	attr->st_mode = (is_dir ? S_IFDIR : S_IFREG) | rights.mode;
	attr->st_mtim.tv_sec = st->mtime_sec;
	attr->st_mtim.tv_nsec = st->mtime_nsec;
	/* A folder that is no container has no other's time. */
	if (kind == NODE_DIR) {
		attr->st_mtim.tv_sec = st->own_mtime_sec;
		attr->st_mtim.tv_nsec = st->own_mtime_nsec;
	}
	attr->st_atim = attr->st_ctim = attr->st_mtim;
}

void reply_attr_source(const struct daemon *daemon, enum node_kind kind,
		       const struct src_stat *st, uint64_t ino,
		       struct stat *ret_attr)
{
	struct stat *attr = ret_attr;

	memset(attr, 0, sizeof(*attr));
	attr->st_ino = ino;
	set_rights(daemon, kind, kind == NODE_DIR || kind == NODE_CONTAINER, st,
		   attr);
	/* Directories have one link: how many folders they hold is not
	 * known, since containers count as folders here. */
	attr->st_nlink = 1;
	attr->st_blksize = 4096;
	if (kind == NODE_LINK)
		attr->st_mode = S_IFLNK | 0777;
	if (kind == NODE_PLAIN || kind == NODE_LINK) {
		attr->st_nlink = st->nlink;
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
	set_rights(daemon, NODE_ENTRY, entry->is_dir, st, attr);
	attr->st_nlink = 1;
	attr->st_blksize = entry->blksize ? entry->blksize : 4096;
	if (entry->is_dir)
		return;
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
	/* Who adds has asked whether it fits. */
	INVARIANT(list->len <= list->cap);
}

/* "." and "..": a number and a type, nothing that the kernel would keep. */
void reply_list_add_dots(struct daemon *daemon, struct listing *list,
			 struct node *node, const char *name, off_t next)
{
	struct fuse_entry_param param = { .attr.st_mode = S_IFDIR };
	struct src_stat st;
	bool open;
	uint64_t ino;

	if (name[1] && node->parent)
		node = node->parent;
	tree_stat(&daemon->tree, node, &st, &ino, &open);
	param.attr.st_ino = ino;
	reply_list_add(list, name, &param, next);
}

bool reply_list_dots(struct daemon *daemon, struct listing *list,
		     struct node *node, off_t *off)
{
	static const char *const dots[] = { ".", ".." };

	INVARIANT(*off >= 0);
	for (; *off < 2; ++*off) {
		if (!reply_list_fits(list, dots[*off]))
			return false;
		reply_list_add_dots(daemon, list, node, dots[*off], *off + 1);
	}
	return true;
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
