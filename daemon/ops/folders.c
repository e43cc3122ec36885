/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folders.c - see folders.h.
 *
 * With keep, entry n of a folder is at the offset 2n and the directory beside
 * it at 2n + 1; on a server, and of several SOURCEs, they are 2n + 2 and
 * 2n + 3, behind the dots. In a table they are counted alike, and what stands
 * beside it comes as further entries; on a server at the offset of the first
 * entry that is not there, and at the next. Else offsets are the folder's own.
 */
#include "ops/folders.h"

#include "call.h"
#include "ops/within.h"
#include "tree/far.h"
#include "tree/keep.h"
#include "tree/leave.h"
#include "tree/look.h"
#include "tree/overlay.h"
#include "tree/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How offsets are meant is found out once. 0 or -errno. */
static int note_table(struct daemon *daemon, struct node *node,
		      struct handle *handle)
{
	struct node *beside;
	int status = -ENOENT;

	if (!handle->is_source_dir)
		status = overlay_enter(daemon, node, &beside);
	if (!status) {
		handle->is_table = true;
		tree_put(&daemon->tree, beside);
	}
	return status == -ENOENT ? 0 : status;
}

int folders_open(struct daemon *daemon, struct node *node,
		 struct handle *handle)
{
	LOOK_PATH path = NULL;
	struct src_stat st;
	struct stat dir;
	int fd, status = look_path(daemon, node, &path);

	if (!status && look_is_nested(daemon, node))
		/* Nothing to open; but is it still there? */
		return look_again(daemon, node, &st);
	if (!status)
		status = note_table(daemon, node, handle);
	if (status)
		return status;
	if (daemon->src.far || look_is_gathered(daemon, node)) {
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

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
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
	int fd = handle->dir ? dirfd(handle->dir) : -1, beside = -ENOENT;
	int status = look_at(daemon, handle->node, fd, name, &kind, &st);

	if (!status && !call_is_void() && daemon->opts->keep)
		beside = keep_find(daemon, handle->node, fd, name, &st, dir,
				   &dir_st);
	if (call_is_void())
		return false;
	/* One of several SOURCEs that is gone is listed as what it is. */
	if ((status != -ENOENT || !handle->dir) && !(off & 1))
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
void folders_list_nested(struct daemon *daemon, struct listing *list,
			 const struct handle *handle, off_t off)
{
	if (off >= 0)
		(void)reply_list_dots(daemon, list, handle->node, &off);
}

/* ---- what stands beside a table -------------------------------------- */

/* Whether the folder has an entry of that name itself. */
static bool has_own(struct daemon *daemon, const struct handle *handle,
		    const char *name)
{
	int fd = handle->dir ? dirfd(handle->dir) : -1;
	enum node_kind kind;
	struct src_stat st;

	return look_at(daemon, handle->node, fd, name, &kind, &st) != -ENOENT;
}

/* Entry i of those. False where it does not fit, or the request was stopped;
 * *off moves on where it was added. */
static bool add_beside(struct daemon *daemon, struct listing *list,
		       const struct handle *handle, const char *name,
		       off_t next)
{
	struct fuse_entry_param param = { 0 };

	if (!reply_list_fits(list, name))
		return false;
	if (has_own(daemon, handle, name) ||
	    within_lookup_beside(daemon, handle->node, name, &param) ||
	    call_is_void())
		return !call_is_void();
	if (!list->link) {
		tree_forget(&daemon->tree, param.ino, 1);
		param.ino = 0;
	}
	reply_list_add(list, name, &param, next);
	return true;
}

/* From entry i on, at the offset of that one. */
static void list_beside(struct daemon *daemon, struct listing *list,
			const struct handle *handle, uint64_t i, off_t off,
			off_t step)
{
	const char *name;

	while (handle->is_table && !call_is_void() &&
	       (name = overlay_name(daemon, (size_t)i++)) &&
	       add_beside(daemon, list, handle, name, off + step))
		off += step;
}

/* ---- counted entries -------------------------------------------------- */

static void note_end(struct handle *handle, uint64_t number)
{
	if (!handle->has_end && !errno) {
		handle->has_end = true;
		handle->n_own = number;
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
	if (off == 0) {
		places_reset(handle->places);
		handle->has_end = false;
	}
	places_find(handle->places, wanted, &number, &place);
	if (place != handle->dir_off)
		seekdir(handle->dir, place);
	handle->dir_off = place;
	while (number < wanted) {
		errno = 0;
		entry = readdir(handle->dir);
		if (!entry) {
			note_end(handle, number);
			return -errno;
		}
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
		reply_list_add_dots(daemon, list, handle->node, name, *off + 2);
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
		status = folders_open(daemon, handle->node, handle);
	if (!status)
		status = go_to(handle, off);
	while (!status) {
		errno = 0;
		entry = readdir(handle->dir);
		if (!entry) {
			status = -errno;
			note_end(handle, (uint64_t)off / 2);
			if (!status)
				list_beside(daemon, list, handle,
					    (uint64_t)off / 2 - handle->n_own,
					    off, 2);
			return list->len ? 0 : status;
		}
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
		status = folders_open(daemon, handle->node, handle);
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
			reply_list_add_dots(daemon, list, handle->node,
					    entry->d_name, entry->d_off);
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

/* With keep a listing tells which folders are containers, and asks for a page
 * of each. */
static enum src_kind kind_of_folder(struct daemon *daemon,
				    const struct handle *handle,
				    const char *name)
{
	LOOK_PATH path = NULL;
	struct src_stat st;

	return look_join(daemon, handle->node, name, &path) ||
	       far_look(daemon->src.far, path, &st) ? SRC_DIR :
	       far_kind(daemon->src.far, daemon->src.choice, path, &st);
}

/* Of an entry, at an even offset, and with keep of the directory beside it, at
 * the odd one behind. False where not all of it was added. */
static bool add_far(struct daemon *daemon, struct listing *list,
		    const struct handle *handle, const char *name,
		    enum src_kind kind, const struct src_stat *st, bool left,
		    bool told, off_t off)
{
	bool keep = daemon->opts->keep;
	off_t next = (off | 1) + 1;
	char dir[NAME_MAX + 1];
	int beside = -ENOENT;

	if (!reply_list_fits(list, name))
		return false;
	if (src_hides(name) || tree_is_control(handle->node, name))
		return true;
	if (keep && kind == SRC_DIR && !left)
		kind = kind_of_folder(daemon, handle, name);
	if (keep && kind == SRC_CONTAINER)
		beside = keep_name(daemon, handle->node, -1, name, dir);
	if (call_is_void())
		return false;
	/* Who wants more of what is not known yet looks it up. */
	if (!(off & 1))
		add_found(daemon, list, handle, name, 0,
			  look_kind(keep ? src_plain_kind(st) : kind), st,
			  beside == -ENOENT ? next : next - 1, told);
	if (beside == -ENOENT)
		return true;
	if (!reply_list_fits(list, dir))
		return false;
	add_found(daemon, list, handle, dir, beside, NODE_CONTAINER, st, next,
		  told);
	return true;
}

/* Behind the last entry, whose number is not known: the first that is not there
 * has two offsets, that of the one behind it is the end. 0 or -errno. */
static int end_far(struct daemon *daemon, struct listing *list,
		   const struct handle *handle, const char *path, off_t off)
{
	char name[NAME_MAX + 1];
	enum src_kind kind;
	struct src_stat st;
	uint64_t number = (uint64_t)off / 2 - 1;
	int status = 0;

	if (!handle->is_table)
		return 0;
	if (number)
		status = far_list(daemon->src.far, daemon->src.choice, path,
				  number - 1, name, &kind, &st);
	if (status >= 0)
		list_beside(daemon, list, handle, off & 1, off, 1);
	return status >= 0 || status == -ENOENT ? 0 : status;
}

/* Entry n is at the offset 2n + 2. 0 or -errno. */
static int list_far(struct daemon *daemon, struct listing *list,
		    const struct handle *handle, off_t off)
{
	LOOK_PATH path = NULL;
	char name[NAME_MAX + 1];
	enum src_kind kind;
	struct src_stat st;
	bool left;
	int status = look_path(daemon, handle->node, &path);

	if (!status)
		status = leave_far(daemon, handle->node, NULL, &left);
	if (!status && !reply_list_dots(daemon, list, handle->node, &off))
		return 0;
	while (!status) {
		status = far_list(daemon->src.far, daemon->src.choice, path,
				  (uint64_t)off / 2 - 1, name, &kind, &st);
		if (status == -ENOENT)
			return end_far(daemon, list, handle, path, off);
		if (status >= 0 && left)
			kind = src_plain_kind(&st);
		if (status < 0 || call_is_void() ||
		    !add_far(daemon, list, handle, name, kind, &st,
			     left, status == 0, off))
			break;
		off = (off | 1) + 1;
		status = 0;
	}
	return list->len || status > 0 ? 0 : status;
}

/* Of several SOURCEs number n is at the offset 2n + 2. 0 or -errno. */
static int list_gathered(struct daemon *daemon, struct listing *list,
			 const struct handle *handle, off_t off)
{
	const struct src *src = &daemon->src;
	const char *name;

	if (off < 0)
		return -EINVAL;
	if (!reply_list_dots(daemon, list, handle->node, &off))
		return 0;
	for (; (size_t)off / 2 - 1 < src->sides.n; off = (off | 1) + 1) {
		name = src->sides.list[off / 2 - 1].name;
		if (src_hides(name) || tree_is_control(handle->node, name))
			continue;
		if (!reply_list_fits(list, name) ||
		    !add_pair(daemon, list, handle, name, off))
			break;
	}
	return 0;
}

int folders_list(struct daemon *daemon, struct listing *list,
		 struct handle *handle, off_t off)
{
	if (daemon->src.far)
		return off < 0 ? -EINVAL : list_far(daemon, list, handle, off);
	if (look_is_gathered(daemon, handle->node))
		return list_gathered(daemon, list, handle, off);
	return daemon->opts->keep || handle->is_table ?
	       list_kept(daemon, list, handle, off) :
	       list_source(daemon, list, handle, off);
}
