/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlay.c - see overlay.h.
 */
#include "tree/overlay.h"

#include "tree/choice.h"
#include "tree/enter.h"
#include "tree/leave.h"
#include "tree/look.h"

#include <errno.h>
#include <string.h>

const char *overlay_name(const struct daemon *daemon, size_t i)
{
	return bloscfs_beside_name(daemon->fs, i);
}

bool overlay_may_have(const struct daemon *daemon, const char *name)
{
	const char *own;

	for (size_t i = 0; (own = overlay_name(daemon, i)); i++)
		if (strcmp(own, name) == 0)
			return true;
	return false;
}

/* Whether a folder is taken for what its index says. */
static int is_taken(struct daemon *daemon, struct node *folder,
		    const struct src_stat *st)
{
	LOOK_PATH path = NULL;
	bool taken, left = false;
	int status = 0;

	if (!st->index_mode || !bloscfs_dir_is_beside(st->index))
		return 0;
	status = look_path(daemon, folder, &path);
	if (!status && daemon->src.far)
		status = leave_far(daemon, folder, NULL, &left);
	if (status)
		return status;
	taken = !left && !leave_known(daemon, folder, path) &&
		choice_takes(&daemon->opts->choice,
			     bloscfs_dir_format(st->index), path);
	return taken;
}

int overlay_enter(struct daemon *daemon, struct node *folder,
		  struct node **ret_node)
{
	struct src_stat st;
	uint64_t id, ino;
	int status;

	if (!daemon->src.tables || folder->kind != NODE_DIR ||
	    look_is_nested(daemon, folder))
		return -ENOENT;
	status = look_again(daemon, folder, &st);
	if (!status)
		status = is_taken(daemon, folder, &st);
	if (status <= 0)
		return status ? status : -ENOENT;
	status = tree_enter_source(&daemon->tree, folder, TREE_BESIDE,
				   NODE_CONTAINER, &st, &id, &ino);
	if (status)
		return status;
	*ret_node = tree_get(&daemon->tree, id);
	/* The kernel has not heard of it. */
	tree_forget(&daemon->tree, id, 1);
	return *ret_node ? 0 : -ESTALE;
}
