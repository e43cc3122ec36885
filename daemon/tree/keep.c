/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep.c - directories beside their containers. Nothing is stored: a name that
 * is looked up tells its container.
 */
#include "tree/keep.h"

#include "tree/far.h"
#include "tree/keepname.h"
#include "tree/look.h"

#include <errno.h>
#include <string.h>

/* A name may be too long for the source, and not for us. */
static bool is_absent(int status)
{
	return status == -ENOENT || status == -ENAMETOOLONG;
}

/* 1 where the source shows an entry of that name, 0 where not, or -errno. */
static int is_taken(const struct daemon *daemon, struct node *parent,
		    int dir_fd, const char *name)
{
	LOOK_PATH path = NULL;
	struct src_stat st;
	int status = 0;

	if (daemon->src.far)
		status = look_join(daemon, parent, name, &path);
	if (!status)
		status = src_stat(&daemon->src, dir_fd, path ? path : name,
				  &st);

	if (status)
		return is_absent(status) ? 0 : status;
	return src_plain_kind(&st) != SRC_HIDDEN;
}

/* Whether the source has all names before number. 0 or -errno. */
static int need_taken(struct daemon *daemon, struct node *parent, int dir_fd,
		      const char *name, unsigned number)
{
	char dir[NAME_MAX + 1];
	int taken;

	for (unsigned i = 1; i < number; i++) {
		if (!keep_make_name(name, i, dir))
			return -ENOENT;
		taken = is_taken(daemon, parent, dir_fd, dir);
		if (taken <= 0)
			return taken ? taken : -ENOENT;
	}
	return 0;
}

int keep_lookup(struct daemon *daemon, struct node *parent, int dir_fd,
		const char *name, enum node_kind *ret_kind,
		struct src_stat *ret_st)
{
	char container[NAME_MAX + 1];
	unsigned number;
	size_t len;
	int status = look_at(daemon, parent, dir_fd, name, ret_kind, ret_st);

	if (!is_absent(status) || !daemon->opts->keep)
		return status;
	len = keep_suffix(name, &number);
	if (!len)
		return status;
	len = strlen(name) - len;
	memcpy(container, name, len);
	container[len] = '\0';
	if (tree_is_control(parent, container))
		return status;
	status = need_taken(daemon, parent, dir_fd, container, number);
	if (!status)
		status = look_beside(daemon, parent, dir_fd, container, name,
				     ret_st);
	if (!status)
		*ret_kind = NODE_CONTAINER;
	return status;
}

/* What the listing that somebody is in the midst of tells needs no answer of
 * the server. */
static int is_listed(const struct daemon *daemon, struct node *parent,
		     const char *name)
{
	LOOK_PATH folder = NULL;
	struct shelf_stat stat;
	int status = look_path(daemon, parent, &folder);

	return status ? -1 : shelf_listed(far_shelf(daemon->src.far), folder,
					  name, &stat);
}

int keep_name(struct daemon *daemon, struct node *parent, int dir_fd,
	      const char *name, char ret_dir[NAME_MAX + 1])
{
	unsigned number = 0;
	int taken;

	do {
		if (++number > KEEP_MAX_NUMBER ||
		    !keep_make_name(name, number, ret_dir))
			return -ENOENT;
		taken = daemon->src.far ?
			is_listed(daemon, parent, ret_dir) : -1;
		if (taken == -1)
			taken = is_taken(daemon, parent, dir_fd, ret_dir);
	} while (taken > 0);
	return taken;
}

int keep_find(struct daemon *daemon, struct node *parent, int dir_fd,
	      const char *name, const struct src_stat *st,
	      char ret_dir[NAME_MAX + 1], struct src_stat *ret_st)
{
	int status;

	/* Nothing else can be one. */
	if (!S_ISREG(st->mode) && !st->index_mode)
		return -ENOENT;
	status = keep_name(daemon, parent, dir_fd, name, ret_dir);
	return status ? status : look_beside(daemon, parent, dir_fd, name,
					     ret_dir, ret_st);
}
