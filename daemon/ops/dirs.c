/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dirs.c - directories: opendir, readdir, readdirplus.
 *
 * Offsets in a container's directory: "." is 0, ".." is 1, the entry at
 * position p is p + 2. Those in the source's directories are told in
 * folders.c.
 */
#include "ops/dirs.h"

#include "call.h"
#include "ops/control.h"
#include "ops/folders.h"
#include "ops/work.h"
#include "tree/opening.h"

#include <errno.h>

/* Entries come with their attributes, and so need nodes, as long as there are
 * few. With more they are for those alone who turn out to ask for them: whose
 * listing is followed by as many lookups in the directory. */
#define MAX_GUESSED 16384
#define MANY_LOOKUPS 16

void dirs_note_lookup(struct node *dir)
{
	atomic_fetch_add_explicit(&dir->n_asked, 1, memory_order_relaxed);
}

static uint32_t names_asked(const struct node *dir)
{
	return atomic_load_explicit(&dir->n_asked, memory_order_relaxed);
}

static bool wants_nodes(struct daemon *daemon, const struct handle *handle)
{
	uint64_t n_nodes, n_open, n_idle;

	tree_count(&daemon->tree, &n_nodes, &n_open, &n_idle);
	return n_nodes < MAX_GUESSED ||
	       names_asked(handle->node) - handle->names_asked >=
	       MANY_LOOKUPS;
}

/* Those who list a deep tree hold many folders open: the others are opened
 * for each request. */
static void let_go_if_scarce(struct daemon *daemon, struct handle *handle)
{
	if (atomic_load(&daemon->n_dirs) > daemon->max_dirs)
		handle_close_dir(daemon, handle);
}

static int open_any(struct daemon *daemon, struct node *node,
		    struct handle *handle)
{
	switch ((enum node_kind)node->kind) {
	case NODE_DIR:
		return folders_open(daemon, node, handle);
	case NODE_CONTAINER:
		return look_container(daemon, node, &handle->container);
	case NODE_ENTRY:
		return node->entry.attr.is_dir
			       ? look_container(daemon, node,
						&handle->container)
			       : -ENOTDIR;
	case NODE_CONTROL:
		return node->control.text ? -ENOTDIR : 0;
	case NODE_PLAIN:
	case NODE_LINK:
		break;
	}
	return -ENOTDIR;
}

static int open_dir(struct daemon *daemon, struct node *node,
		    struct handle *handle, struct fuse_file_info *fi)
{
	int status = open_any(daemon, node, handle);

	(void)fi;
	handle->names_asked = names_asked(node);
	if (!status)
		let_go_if_scarce(daemon, handle);
	return status;
}

static bool run_open(struct daemon *daemon, struct task *task)
{
	return handle_answer_open(daemon, task, open_dir);
}

void dirs_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_open, .deed = "open",
			     .id = id, .fi = *fi };

	work_do(fuse_req_userdata(req), &task);
}

/* A name, a number and a type are all that a plain listing tells. */
static void add_plain_entry(struct listing *list, const struct handle *handle,
			    const char *name, const struct entry *entry,
			    off_t next)
{
	struct fuse_entry_param param = { 0 };
	const struct container *container = handle->container;
	bool is_dir = bloscfs_is_dir(container->file, &entry->node);

	if (call_is_void())
		return;
	param.attr.st_ino = tree_ino(&container->st, NODE_ENTRY, entry->number);
	param.attr.st_mode = is_dir ? S_IFDIR : S_IFREG;
	reply_list_add(list, name, &param, next);
}

static void add_container_entry(struct daemon *daemon, struct listing *list,
				const struct handle *handle,
				const struct src_stat *st, const char *name,
				struct entry *entry, off_t next)
{
	struct fuse_entry_param param = { 0 };
	const struct container *container = handle->container;
	uint64_t id = 0, ino = 0, mark = bloscfs_mark();

	entry->number = bloscfs_node_id(container->file, &entry->node);
	entry->version = container->version;
	entry->keeps = bloscfs_keeps(container->file, &entry->node);
	if (!list->link) {
		add_plain_entry(list, handle, name, entry, next);
		return;
	}
	bloscfs_stat(container->file, &entry->node, &entry->attr);
	if (call_is_void())
		return;
	/* What cannot be told now is for the one who looks it up. */
	if (bloscfs_met(mark, NULL) != BLOSCFS_OK) {
		add_plain_entry(list, handle, name, entry, next);
		return;
	}
	if (tree_enter_entry(&daemon->tree, handle->node, name, entry, &id,
			     &ino) == 0)
		reply_param(daemon, id, &param);
	else
		ino = tree_ino(&container->st, NODE_ENTRY, entry->number);
	reply_attr_entry(daemon, &entry->attr, st, ino, &param.attr);
	reply_list_add(list, name, &param, next);
}

/* 0 or -errno. A name that cannot be told now comes with the next call, or
 * not at all: a listing is never shorter than it is. */
static int list_container(struct daemon *daemon, struct listing *list,
			  const struct handle *handle, off_t off)
{
	struct bloscfs_node dir = handle_entry(handle->node);
	char name[BLOSCFS_NAME_MAX + 1];
	struct src_stat st;
	struct entry entry;
	uint64_t ino, mark = bloscfs_mark();
	int status;
	bool open;

	/* Owner and rights are those of now. */
	tree_stat(&daemon->tree, tree_owner(handle->node), &st, &ino,
		  &open);
	if (!reply_list_dots(daemon, list, handle->node, &off))
		return 0;
	while (bloscfs_list(handle->container->file, &dir, (uint64_t)off - 2,
			    name, &entry.node) &&
	       bloscfs_met(mark, NULL) == BLOSCFS_OK) {
		if (call_is_void() || !reply_list_fits(list, name))
			return 0;
		off++;
		if (!tree_is_control(handle->node, name))
			add_container_entry(daemon, list, handle, &st, name,
					&entry, off);
		mark = bloscfs_mark();
	}
	status = -bloscfs_err_errno(bloscfs_met(mark, NULL));
	return list->len ? 0 : status;
}

/* Names alone: looking one up takes a snapshot. */
static void list_control(struct daemon *daemon, struct listing *list,
			 const struct handle *handle, off_t off)
{
	struct fuse_entry_param param = { .attr.st_mode = S_IFREG };
	const char *name;

	if (!reply_list_dots(daemon, list, handle->node, &off))
		return;
	for (;; off++) {
		name = control_list((size_t)off - 2);
		if (!name || !reply_list_fits(list, name))
			return;
		param.attr.st_ino = tree_control_ino((uint32_t)off - 2);
		reply_list_add(list, name, &param, off + 1);
	}
}

static bool run_list(struct daemon *daemon, struct task *task)
{
	struct handle *handle = handle_of(&task->fi);
	struct listing list;
	bool plus = task->flag;
	off_t off = task->off;
	int status = reply_list_start(&list, task->req, task->len, plus);

	list.link = plus && wants_nodes(daemon, handle);
	if (!status && handle->container) {
		if (off >= 0)
			status = list_container(daemon, &list, handle, off);
	} else if (!status && handle->node->kind == NODE_CONTROL) {
		if (off >= 0)
			list_control(daemon, &list, handle, off);
	} else if (!status && !handle->is_source_dir) {
		folders_list_nested(daemon, &list, handle, off);
	} else if (!status) {
		pthread_mutex_lock(&handle->lock);
		status = folders_list(daemon, &list, handle, off);
		let_go_if_scarce(daemon, handle);
		pthread_mutex_unlock(&handle->lock);
	}
	/* What was listed before it was stopped holds, and is an answer. */
	if (call_is_void() && (status || list.len == 0))
		return false;
	if (status)
		fuse_reply_err(task->req, -status);
	else
		reply_list_send(daemon, &list);
	return true;
}

static void list_dir(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
		     const struct fuse_file_info *fi, bool plus)
{
	struct task task = { .req = req, .run = run_list, .deed = "listing",
			     .id = id, .len = len, .off = off, .flag = plus,
			     .fi = *fi };

	work_do(fuse_req_userdata(req), &task);
}

void dirs_read(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
	       struct fuse_file_info *fi)
{
	list_dir(req, id, len, off, fi, false);
}

void dirs_read_plus(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
		    struct fuse_file_info *fi)
{
	list_dir(req, id, len, off, fi, true);
}
