/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dirs.c - directories: opendir, readdir, readdirplus.
 *
 * Offsets in a container's directory: "." is 0, ".." is 1, the entry at
 * position p is p + 2. In the source's directories they are the source's own;
 * with keep, entry n is at 2n and the directory beside it at 2n + 1.
 */
#include "ops/dirs.h"

#include "ops/control.h"
#include "ops/handle.h"
#include "tree/far.h"
#include "tree/keep.h"
#include "tree/look.h"
#include "tree/opening.h"
#include "tree/places.h"
#include "ops/reply.h"
#include "ops/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Also where it was let go: it must be the same directory then. */
static int open_source_dir(struct daemon *daemon, struct node *node,
			   struct handle *handle)
{
	LOOK_PATH path = NULL;
	struct src_stat st;
	struct stat dir;
	int fd, status = look_path(daemon, node, &path);

	if (!status && look_is_nested(daemon, node))
		/* Nothing to open; but is it still there? */
		return look_again(daemon, node, &st);
	if (status)
		return status;
	if (daemon->src.far) {
		handle->is_source_dir = true;
		return look_again(daemon, node, &st);
	}
	fd = src_at(&daemon->src, -1, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return look_as_stale(fd);
	if (fstat(fd, &dir) < 0)
		status = -errno;
	else if (handle->is_source_dir && (handle->dir_dev != dir.st_dev ||
					   handle->dir_ino != dir.st_ino))
		status = -ESTALE;
	else if (!(handle->dir = fdopendir(fd)))
		status = -ENOMEM;
	if (status) {
		close(fd);
		return status;
	}
	handle->is_source_dir = true;
	handle->dir_dev = dir.st_dev;
	handle->dir_ino = dir.st_ino;
	handle->dir_off = 0;
	atomic_fetch_add(&daemon->n_dirs, 1);
	return 0;
}

static int open_dir(struct daemon *daemon, struct node *node,
		    struct handle *handle)
{
	switch ((enum node_kind)node->kind) {
	case NODE_DIR:
		return open_source_dir(daemon, node, handle);
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

static bool run_open(struct daemon *daemon, struct task *task)
{
	struct node *node = tree_get(&daemon->tree, task->id);
	struct handle *handle = NULL;
	bool is_void;
	int status = -ESTALE;

	if (node) {
		handle = handle_new(daemon, node);
		status = handle ? open_dir(daemon, node, handle) : -ENOMEM;
		if (handle)
			handle->names_asked = names_asked(node);
		if (!status)
			let_go_if_scarce(daemon, handle);
		tree_put(&daemon->tree, node);
	}
	task->fi.fh = (uintptr_t)handle;
	is_void = call_is_void();
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

void dirs_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct task task = { .req = req, .run = run_open, .deed = "open",
			     .id = id, .fi = *fi };

	work_do(fuse_req_userdata(req), &task);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* "." and "..": a number and a type, nothing that the kernel would keep. */
static void add_dots(struct daemon *daemon, struct listing *list,
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

/* status: of the look at it. What cannot be looked at is listed without a
 * type. */
static void add_found(struct daemon *daemon, struct listing *list,
		      const struct handle *handle, const char *name,
		      int status, enum node_kind kind,
		      const struct src_stat *st, off_t next, bool told)
{
	struct fuse_entry_param param = { 0 };
	uint64_t id = 0, ino = 0;

	if (status) {
		param.attr.st_ino = UINT64_MAX;
		reply_list_add(list, name, &param, next);
		return;
	}
	if (list->link && told &&
	    tree_enter_source(&daemon->tree, handle->node, name, kind, st,
			      &id, &ino) == 0)
		reply_param(daemon, id, &param);
	else
		ino = tree_ino(st, kind, 0);
	reply_attr_source(daemon, kind, st, ino, &param.attr);
	reply_list_add(list, name, &param, next);
}

static void add_source_entry(struct daemon *daemon, struct listing *list,
			     const struct handle *handle, const char *name,
			     off_t next)
{
	enum node_kind kind = NODE_PLAIN;
	struct src_stat st = { 0 };
	int status = look_at(daemon, handle->node, dirfd(handle->dir), name,
			     &kind, &st);

	if (status != -ENOENT && !call_is_void())
		add_found(daemon, list, handle, name, status, kind, &st,
			  next, true);
}

/* Entry and directory beside it; off is 2n, or 2n + 1 for that alone. False
 * where not all of it was added. */
static bool add_pair(struct daemon *daemon, struct listing *list,
		     const struct handle *handle, const char *name, off_t off)
{
	enum node_kind kind = NODE_PLAIN;
	struct src_stat st = { 0 }, dir_st = { 0 };
	char dir[NAME_MAX + 1];
	off_t next = (off | 1) + 1;
	int fd = dirfd(handle->dir), beside = -ENOENT;
	int status = look_at(daemon, handle->node, fd, name, &kind, &st);

	if (!status && !call_is_void())
		beside = keep_find(daemon, handle->node, fd, name, &st, dir,
				   &dir_st);
	if (call_is_void())
		return false;
	if (status != -ENOENT && !(off & 1))
		add_found(daemon, list, handle, name, status, kind, &st,
			  beside == -ENOENT ? next : next - 1, true);
	if (beside == -ENOENT)
		return true;
	if (!reply_list_fits(list, dir))
		return false;
	add_found(daemon, list, handle, dir, beside, NODE_CONTAINER, &dir_st,
		  next, true);
	return true;
}

/* A mount of bloscfs. */
static void list_nested(struct daemon *daemon, struct listing *list,
			const struct handle *handle, off_t off)
{
	static const char *const dots[] = { ".", ".." };

	for (; off >= 0 && off < 2; off++) {
		if (!reply_list_fits(list, dots[off]))
			return;
		add_dots(daemon, list, handle->node, dots[off], off + 1);
	}
}

/* Goes to the entry of an offset, from the last known place before it. 0 or
 * -errno. */
static int go_to(struct handle *handle, off_t off)
{
	uint64_t wanted = (uint64_t)off / 2, number;
	const struct dirent *entry;
	off_t place;

	if (!handle->places) {
		handle->places = malloc(sizeof(*handle->places));
		if (!handle->places)
			return -ENOMEM;
		places_reset(handle->places);
	}
	/* Begun anew, what was counted may have changed. */
	if (off == 0)
		places_reset(handle->places);
	places_find(handle->places, wanted, &number, &place);
	if (place != handle->dir_off)
		seekdir(handle->dir, place);
	handle->dir_off = place;
	while (number < wanted) {
		errno = 0;
		entry = readdir(handle->dir);
		if (!entry)
			return -errno;
		handle->dir_off = entry->d_off;
		places_note(handle->places, ++number, entry->d_off);
	}
	return 0;
}

/* With keep. False: it comes again with the next call. */
static bool add_kept(struct daemon *daemon, struct listing *list,
		     const struct handle *handle, const char *name,
		     off_t *off)
{
	uint64_t number = (uint64_t)*off / 2;

	/* The one that it was beside is gone. */
	if (places_differ(handle->places, number, name))
		*off &= ~(off_t)1;
	places_name(handle->places, number, name);
	if (!(*off & 1) && !reply_list_fits(list, name))
		return false;
	if (is_dots(name))
		add_dots(daemon, list, handle->node, name, *off + 2);
	else if (!tree_is_control(handle->node, name) &&
		 !add_pair(daemon, list, handle, name, *off))
		return false;
	*off = (*off | 1) + 1;
	return !call_is_void();
}

/* With the handle's lock held. 0 or -errno. */
static int list_kept(struct daemon *daemon, struct listing *list,
		     struct handle *handle, off_t off)
{
	const struct dirent *entry;
	int status = 0;

	if (off < 0)
		return -EINVAL;
	if (!handle->dir)
		status = open_source_dir(daemon, handle->node, handle);
	if (!status)
		status = go_to(handle, off);
	while (!status) {
		errno = 0;
		entry = readdir(handle->dir);
		if (!entry)
			return list->len ? 0 : -errno;
		if (!add_kept(daemon, list, handle, entry->d_name, &off)) {
			seekdir(handle->dir, handle->dir_off);
			return 0;
		}
		handle->dir_off = entry->d_off;
		places_note(handle->places, (uint64_t)off / 2, entry->d_off);
	}
	return status;
}

/* With the handle's lock held. 0 or -errno. */
static int list_source(struct daemon *daemon, struct listing *list,
		       struct handle *handle, off_t off)
{
	struct dirent *entry;
	int status = 0;

	if (!handle->dir)
		status = open_source_dir(daemon, handle->node, handle);
	if (status)
		return status;
	if (off != handle->dir_off)
		seekdir(handle->dir, off);
	handle->dir_off = off;
	for (;;) {
		errno = 0;
		entry = readdir(handle->dir);
		if (!entry)
			return list->len ? 0 : -errno;
		if (!reply_list_fits(list, entry->d_name)) {
			/* It comes again with the next call. */
			seekdir(handle->dir, handle->dir_off);
			return 0;
		}
		if (is_dots(entry->d_name))
			add_dots(daemon, list, handle->node, entry->d_name,
				 entry->d_off);
		else if (!tree_is_control(handle->node, entry->d_name))
			add_source_entry(daemon, list, handle, entry->d_name,
					 entry->d_off);
		if (call_is_void()) {
			seekdir(handle->dir, handle->dir_off);
			return 0;
		}
		handle->dir_off = entry->d_off;
	}
}

/* Offsets as in a container's directory. 0 or -errno. */
static int list_far(struct daemon *daemon, struct listing *list,
		    const struct handle *handle, off_t off)
{
	static const char *const dots[] = { ".", ".." };
	LOOK_PATH path = NULL;
	char name[NAME_MAX + 1];
	enum src_kind kind;
	struct src_stat st;
	int status = look_path(daemon, handle->node, &path);

	for (; !status && off < 2; off++) {
		if (!reply_list_fits(list, dots[off]))
			return 0;
		add_dots(daemon, list, handle->node, dots[off], off + 1);
	}
	while (!status) {
		status = far_list(daemon->src.far, daemon->src.choice, path,
				  (uint64_t)off - 2, name, &kind, &st);
		if (status == -ENOENT)
			return 0;
		if (status < 0 || call_is_void())
			break;
		if (!reply_list_fits(list, name))
			return 0;
		off++;
		if (src_hides(name) || tree_is_control(handle->node, name))
			continue;
		/* Who wants more of what is not known yet looks it up. */
		add_found(daemon, list, handle, name, 0, look_kind(kind),
			  &st, off, status == 0);
		status = 0;
	}
	return list->len ? 0 : status;
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
	static const char *const dots[] = { ".", ".." };
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
	for (; off < 2; off++) {
		if (!reply_list_fits(list, dots[off]))
			return 0;
		add_dots(daemon, list, handle->node, dots[off], off + 1);
	}
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
	static const char *const dots[] = { ".", ".." };
	struct fuse_entry_param param = { .attr.st_mode = S_IFREG };
	const char *name;

	for (;; off++) {
		name = off < 2 ? dots[off] : control_list((size_t)off - 2);
		if (!name || !reply_list_fits(list, name))
			return;
		if (off < 2) {
			add_dots(daemon, list, handle->node, name, off + 1);
			continue;
		}
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
		list_nested(daemon, &list, handle, off);
	} else if (!status) {
		pthread_mutex_lock(&handle->lock);
		status = daemon->src.far ?
			 (off < 0 ? -EINVAL :
				    list_far(daemon, &list, handle, off)) :
			 daemon->opts->keep ?
			 list_kept(daemon, &list, handle, off) :
			 list_source(daemon, &list, handle, off);
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
